/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge of endpoints, connections and shared receive queues.
 */
#include "dat20.h"
#include "providers/common/base/cancel.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/ep.h"

/* ------------------------------------------------------------------ attributes */

/* The attributes that have the same type in both APIs. */
#define EP_ATTRS(X)											\
	X(max_recv_dtos) X(max_request_dtos) X(max_recv_iov) X(max_request_iov) X(max_rdma_read_in)	\
	X(max_rdma_read_out) X(srq_soft_hw) X(max_rdma_read_iov) X(max_rdma_write_iov)			\
	X(ep_transport_specific_count) X(ep_transport_specific) X(ep_provider_specific_count)		\
	X(ep_provider_specific)

/*
 * Leaves out max_message_size and max_rdma_size, so that the endpoint gets the adapter's maximum,
 * which 0 stands for. Existing programs request smaller sizes than they post later, and the library
 * that they were written for does not enforce the sizes. sizes_keep() stores what was requested,
 * for dat_ep_query().
 */
static DAT_EP_ATTR attr_in(const DAT20_EP_ATTR *from)
{
	DAT_EP_ATTR to = {
		.service_type = (DAT_SERVICE_TYPE)from->service_type,
		.qos = from->qos,
		.recv_completion_flags = (DAT_COMPLETION_FLAGS)from->recv_completion_flags,
		.request_completion_flags = (DAT_COMPLETION_FLAGS)from->request_completion_flags,
	};

#define X(name) to.name = from->name;
	EP_ATTRS(X)
#undef X
	return to;
}

static void attr_out(DAT20_EP_ATTR *to, const DAT_EP_ATTR *from)
{
	to->service_type = (DAT20_SERVICE_TYPE)from->service_type;
	to->max_message_size = dat20_length(from->max_message_size);
	to->max_rdma_size = dat20_length(from->max_rdma_size);
	to->qos = from->qos;
	to->recv_completion_flags = (DAT20_COMPLETION_FLAGS)from->recv_completion_flags;
	to->request_completion_flags = (DAT20_COMPLETION_FLAGS)from->request_completion_flags;
#define X(name) to->name = from->name;
	EP_ATTRS(X)
#undef X
}

/* The fields of the two sizes, and each by itself */
#define MESSAGE_SIZE DAT20_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE
#define RDMA_SIZE DAT20_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE
#define SIZES (MESSAGE_SIZE | RDMA_SIZE)

/*
 * Returns whether the adapter of `handle`, an IA or an endpoint, supports the requested sizes among `fields`. Returns true if the
 * handle is not live, because the slot beneath then refuses the call.
 */
static bool sizes_fit(void *handle, enum datp_type type, const DAT20_EP_ATTR *attr, DAT20_EP_PARAM_MASK fields)
{
	struct datp_obj *obj = obj_get(NULL, handle, type);
	const struct datp_ia_attr *can;

	if (!obj || !attr)
		return true;
	can = ia_attr(obj->ia);
	return (!(fields & MESSAGE_SIZE) || attr->max_message_size <= can->max_message_size) &&
	       (!(fields & RDMA_SIZE) || attr->max_rdma_size <= can->max_rdma_size);
}

/*
 * Stores the requested sizes among `fields`, of an endpoint that no other thread uses meanwhile, and limits the endpoint's own to
 * 32 bits, because the length in a completion of 2.0 has 32 bits.
 */
static void sizes_keep(struct datp_ep *ep, const DAT20_EP_ATTR *attr, DAT20_EP_PARAM_MASK fields)
{
	datp_lock(&ep->lock);
	ep->attr.max_message_size = dat20_length(ep->attr.max_message_size);
	ep->attr.max_rdma_size = dat20_length(ep->attr.max_rdma_size);
	if (attr && fields & MESSAGE_SIZE)
		ep_priv(ep)->asked_message = attr->max_message_size;
	if (attr && fields & RDMA_SIZE)
		ep_priv(ep)->asked_rdma = attr->max_rdma_size;
	datp_unlock(&ep->lock);
}

DAT_RETURN dat20_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
			   DAT_EVD_HANDLE connect_evd, const DAT20_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR wanted;
	DAT_RETURN ret;

	if (!sizes_fit(ia, DATP_IA, attr, SIZES))
		return dat20_arg(6);
	if (attr)
		wanted = attr_in(attr);
	ret = dat20_beneath(ia)->ep_create_func(ia, pz, recv_evd, request_evd, connect_evd, attr ? &wanted : NULL, ep);
	if (ret == DAT_SUCCESS)
		sizes_keep(*ep, attr, SIZES);
	return dat20_ret(ret);
}

DAT_RETURN dat20_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
				    const DAT20_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR wanted;
	DAT_RETURN ret;

	if (!sizes_fit(ia, DATP_IA, attr, SIZES))
		return dat20_arg(7);
	if (attr)
		wanted = attr_in(attr);
	ret = dat20_beneath(ia)->ep_create_with_srq_func(ia, pz, recv_evd, request_evd, connect_evd, srq,
							 attr ? &wanted : NULL, ep);
	if (ret == DAT_SUCCESS)
		sizes_keep(*ep, attr, SIZES);
	return dat20_ret(ret);
}

/* ------------------------------------------------------------------ query and modify */

/* Replaces the adapter's sizes by the requested ones, if there are any. `ep` is live. */
static void sizes_out(DAT20_EP_ATTR *to, struct datp_ep *ep)
{
	datp_lock(&ep->lock);
	if (ep_priv(ep)->asked_message)
		to->max_message_size = dat20_length(ep_priv(ep)->asked_message);
	if (ep_priv(ep)->asked_rdma)
		to->max_rdma_size = dat20_length(ep_priv(ep)->asked_rdma);
	datp_unlock(&ep->lock);
}

DAT_RETURN dat20_ep_query(DAT_EP_HANDLE ep, DAT20_EP_PARAM_MASK mask, DAT20_EP_PARAM *param)
{
	DAT_EP_PARAM found;
	DAT_RETURN ret;

	if (mask & ~DAT20_EP_FIELD_ALL)
		return dat20_arg(2);
	ret = dat20_beneath(ep)->ep_query_func(ep, DAT_EP_FIELD_ALL, param ? &found : NULL);
	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	*param = (DAT20_EP_PARAM){ .ia_handle = found.ia_handle,
				   .ep_state = (DAT20_EP_STATE)found.ep_state,
				   .local_ia_address_ptr = found.local_ia_address_ptr,
				   .local_port_qual = found.local_port_qual,
				   .remote_ia_address_ptr = found.remote_ia_address_ptr,
				   .remote_port_qual = found.remote_port_qual,
				   .pz_handle = found.pz_handle,
				   .recv_evd_handle = found.recv_evd_handle,
				   .request_evd_handle = found.request_evd_handle,
				   .connect_evd_handle = found.connect_evd_handle,
				   .srq_handle = found.srq_handle };
	attr_out(&param->ep_attr, &found.ep_attr);
	sizes_out(&param->ep_attr, ep);
	return DAT_SUCCESS;
}

/*
 * Converts a mask. From the local address to the SRQ, each field's bit is one higher in 2.0,
 * because the bit of the communicator is before them.
 */
static DAT_EP_PARAM_MASK fields_in(DAT20_EP_PARAM_MASK mask)
{
	DAT20_EP_PARAM_MASK attrs = mask & DAT20_EP_FIELD_EP_ATTR_ALL;
	DAT20_EP_PARAM_MASK first = mask & (DAT20_EP_FIELD_IA_HANDLE | DAT20_EP_FIELD_EP_STATE);
	DAT20_EP_PARAM_MASK moved = mask & ~(DAT20_EP_FIELD_EP_ATTR_ALL | first);

	return attrs | first | moved >> 1;
}

_Static_assert(DAT20_EP_FIELD_EP_ATTR_ALL == DAT_EP_FIELD_EP_ATTR_ALL &&
		       DAT20_EP_FIELD_SRQ_HANDLE == DAT_EP_FIELD_SRQ_HANDLE << 1 &&
		       DAT20_EP_FIELD_LOCAL_IA_ADDRESS_PTR == DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR << 1,
	       "the masks of both APIs differ by the bit of the communicator");

DAT_RETURN dat20_ep_modify(DAT_EP_HANDLE ep, DAT20_EP_PARAM_MASK mask, const DAT20_EP_PARAM *param)
{
	DAT_EP_PARAM change;
	DAT_RETURN ret;

	if (mask & (~DAT20_EP_FIELD_ALL | DAT20_EP_FIELD_COMM))
		return dat20_arg(2);
	if (!param || !sizes_fit(ep, DATP_EP, &param->ep_attr, mask))
		return dat20_arg(3);
	change = (DAT_EP_PARAM){ .pz_handle = param->pz_handle,
				 .recv_evd_handle = param->recv_evd_handle,
				 .request_evd_handle = param->request_evd_handle,
				 .connect_evd_handle = param->connect_evd_handle,
				 .ep_attr = attr_in(&param->ep_attr) };
	ret = dat20_beneath(ep)->ep_modify_func(ep, fields_in(mask), &change);
	if (ret == DAT_SUCCESS)
		sizes_keep(ep, &param->ep_attr, mask);
	return dat20_ret(ret);
}

DAT_RETURN dat20_ep_get_status(DAT_EP_HANDLE ep, DAT20_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	DAT_EP_STATE found;
	DAT_RETURN ret = dat20_beneath(ep)->ep_get_status_func(ep, &found, recv_idle, request_idle);

	if (ret == DAT_SUCCESS && state)
		*state = (DAT20_EP_STATE)found;
	return dat20_ret(ret);
}

/* ------------------------------------------------------------------ connections */

/*
 * Multipathing is not supported: both flags for it become the flag of 1.2, which the slot beneath
 * refuses.
 */
DAT_RETURN dat20_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			    DAT_COUNT pdata_size, const DAT_PVOID pdata, DAT_QOS qos, DAT20_CONNECT_FLAGS flags)
{
	unsigned int more = (unsigned int)flags & (unsigned int)DAT20_CONNECT_MULTIPATH_REQUIRED_FLAG;
	unsigned int others = (unsigned int)flags & ~(unsigned int)DAT20_CONNECT_MULTIPATH_REQUIRED_FLAG;

	return dat20_ret(dat20_beneath(ep)->ep_connect_func(
		ep, address, qual, timeout, pdata_size, pdata, qos,
		(DAT_CONNECT_FLAGS)(more ? others | DAT_CONNECT_MULTIPATH_FLAG : others)));
}

/*
 * If the transport cannot send private data with a rejection, the call is refused and the request is
 * kept, because a program that sends private data would wait in vain for the peer to act on them.
 */
DAT_RETURN dat20_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT pdata_size, const DAT_PVOID pdata)
{
	struct datp_cr *cr = obj_get(NULL, handle, DATP_CR);
	struct cancel cancel;
	enum datp_err err;
	uint32_t most;

	if (!cr)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_CR));
	most = ia_priv(cr->obj.ia)->ext.max_reject_data;
	if (pdata_size > 0 && !most)
		return dat20_error(DAT20_MODEL_NOT_SUPPORTED);
	if (pdata_size < 0 || (uint32_t)pdata_size > most)
		return dat20_arg(2);
	if (pdata_size && !pdata)
		return dat20_arg(3);
	cancel_off(&cancel);
	err = cr_reject(cr, pdata, (uint32_t)pdata_size);
	cancel_restore(&cancel);
	return dat20_ret(datp_ret(err));
}

/* ------------------------------------------------------------------ SRQs */

DAT_RETURN dat20_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT20_SRQ_PARAM *param)
{
	DAT_SRQ_PARAM found;
	DAT_RETURN ret = dat20_beneath(srq)->srq_query_func(srq, mask, param ? &found : NULL);

	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	*param = (DAT20_SRQ_PARAM){ .ia_handle = found.ia_handle,
				    .srq_state = found.srq_state == DAT_SRQ_STATE_OPERATIONAL ?
							 DAT20_SRQ_STATE_OPERATIONAL :
							 DAT20_SRQ_STATE_ERROR,
				    .pz_handle = found.pz_handle,
				    .max_recv_dtos = found.max_recv_dtos,
				    .max_recv_iov = found.max_recv_iov,
				    .low_watermark = found.low_watermark,
				    .available_dto_count = found.available_dto_count,
				    .outstanding_dto_count = found.outstanding_dto_count };
	return DAT_SUCCESS;
}
