/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of endpoints.
 */
#include "dat12.h"
#include "providers/common/core/diag.h"
#include "providers/common/core/ep.h"

/* The attributes that the core has: X(the core's name, the standard's name). */
#define EP_ATTRS(X)								\
	X(service_type, service_type) X(max_message_size, max_message_size)	\
	X(max_rdma_size, max_rdma_size) X(qos, qos)				\
	X(recv_flags, recv_completion_flags) X(request_flags, request_completion_flags)	\
	X(max_recv_dtos, max_recv_dtos) X(max_request_dtos, max_request_dtos)	\
	X(max_recv_iov, max_recv_iov) X(max_request_iov, max_request_iov)	\
	X(max_rdma_read_in, max_rdma_read_in) X(max_rdma_read_out, max_rdma_read_out)	\
	X(srq_soft_hw, srq_soft_hw) X(max_rdma_read_iov, max_rdma_read_iov)	\
	X(max_rdma_write_iov, max_rdma_write_iov)

static void attr_in(struct datp_ep_attr *attr, const DAT_EP_ATTR *from)
{
#define X(name, dat_name) attr->name = from->dat_name;
	EP_ATTRS(X)
#undef X
}

static void attr_out(DAT_EP_ATTR *to, const struct datp_ep_attr *attr)
{
#define X(name, dat_name) to->dat_name = attr->name;
	EP_ATTRS(X)
#undef X
	to->ep_transport_specific_count = 0;
	to->ep_transport_specific = NULL;
	to->ep_provider_specific_count = 0;
	to->ep_provider_specific = NULL;
}

/* No named attributes of endpoints are known. */
static bool named_attrs_ok(const DAT_EP_ATTR *attr)
{
	return attr->ep_transport_specific_count == 0 && attr->ep_provider_specific_count == 0;
}

static enum datp_err create(struct datp_ia *ia, struct ep_new *what, const DAT_EP_ATTR *attr,
			    DAT_EP_HANDLE *ep_handle)
{
	struct datp_ep *ep;
	enum datp_err err;

	if (attr) {
		if (!named_attrs_ok(attr)) {
			core_log(4,
				 "%s: no endpoint with attributes of its own for transport or "
				 "provider: none is known; ep_transport_specific_count is %d, "
				 "ep_provider_specific_count is %d, and both have to be 0",
				 ia->name, (int)attr->ep_transport_specific_count,
				 (int)attr->ep_provider_specific_count);
			return DATP_ERR_PARAM;
		}
		attr_in(&what->attr, attr);
	}
	err = ep_attr_resolve(ia, &what->attr, what->with_srq);
	if (err)
		return err;
	err = ep_create(ia, what, &ep);
	if (!err)
		*ep_handle = ep;
	return err;
}

/* Logs that a pointer is NULL that must not be, and returns the error. */
static DAT_RETURN pointer_missing(struct datp_ia *ia, const char *call, const char *name,
				  int position)
{
	core_log(4, "%s: %s: %s is NULL", ia->name, call, name);
	return dat12_arg(position);
}

/* Returns whether a handle names a live object of this type, or is null. */
static bool named(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type)
{
	return handle == DAT_HANDLE_NULL || obj_get(ia, handle, type);
}

/* Returns whether a handle names an EVD that may be one for connections, or is null. */
static bool names_conn_evd(struct datp_ia *ia, DAT_EVD_HANDLE handle)
{
	return named(ia, handle, DATP_EVD) || loan_possible(ia, handle);
}

/*
 * Checks the handles before the other arguments. They are checked again when references to the
 * objects are taken.
 */
static enum datp_err handles_check(struct datp_ia *ia, const struct ep_new *what)
{
	if (!ia)
		return DATP_ERR_HANDLE_IA;
	if (!named(ia, what->pz, DATP_PZ))
		return DATP_ERR_HANDLE_PZ;
	if (!named(ia, what->recv_evd, DATP_EVD))
		return DATP_ERR_HANDLE_EVD_RECV;
	if (!named(ia, what->request_evd, DATP_EVD))
		return DATP_ERR_HANDLE_EVD_REQUEST;
	if (!names_conn_evd(ia, what->connect_evd))
		return DATP_ERR_HANDLE_EVD_CONN;
	if (what->with_srq && !obj_get(ia, what->srq, DATP_SRQ))
		return DATP_ERR_HANDLE_SRQ;
	return DATP_OK;
}

DAT_RETURN dat12_ep_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct ep_new what = {
		.pz = pz,
		.recv_evd = recv_evd,
		.request_evd = request_evd,
		.connect_evd = connect_evd,
		.state = DAT_EP_STATE_UNCONNECTED,
	};
	enum datp_err err = handles_check(ia, &what);

	if (!err && !ep_handle)
		return pointer_missing(ia, "dat_ep_create", "ep_handle", 7);
	return datp_ret(err ? err : create(ia, &what, attr, ep_handle));
}

DAT_RETURN dat12_ep_create_with_srq(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				    DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				    DAT_EP_HANDLE *ep_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct ep_new what = {
		.pz = pz,
		.recv_evd = recv_evd,
		.request_evd = request_evd,
		.connect_evd = connect_evd,
		.srq = srq,
		.with_srq = true,
		.state = DAT_EP_STATE_UNCONNECTED,
	};
	enum datp_err err;

	if (ia && !ia_attr(ia)->srq_supported)
		return datp_ret(DATP_ERR_MODEL);
	err = handles_check(ia, &what);
	if (!err && !attr)
		return pointer_missing(ia, "dat_ep_create_with_srq", "ep_attributes", 7);
	if (!err && !ep_handle)
		return pointer_missing(ia, "dat_ep_create_with_srq", "ep_handle", 8);
	return datp_ret(err ? err : create(ia, &what, attr, ep_handle));
}

/* ------------------------------------------------------------------ query and modify */

/* Fills in all fields. The addresses stay valid as long as the IA and the endpoint exist. */
static void param_out(DAT_EP_PARAM *param, struct datp_ep *ep)
{
	struct datp_ia *ia = ep->obj.ia;

	param->ia_handle = ia_shown(ia);
	datp_lock(&ep->lock);
	param->ep_state = (DAT_EP_STATE)ep_state(ep);
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
	param->local_port_qual = ep->local_port;
	param->remote_ia_address_ptr =
		ep->remote_address.ss_family ? (DAT_IA_ADDRESS_PTR)&ep->remote_address : NULL;
	param->remote_port_qual = ep->remote_port;
	param->pz_handle = ep->pz;
	param->recv_evd_handle = ep->recv_evd;
	param->request_evd_handle = ep->request_evd;
	param->connect_evd_handle = ep_conn_evd_locked(ep);
	param->srq_handle = ep->srq;
	attr_out(&param->ep_attr, &ep->attr);
	datp_unlock(&ep->lock);
}

DAT_RETURN dat12_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (mask & ~DAT_EP_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param_out(param, ep);
	return DAT_SUCCESS;
}

#define TRANSPORT_ATTRS                                                                            \
	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR)
#define PROVIDER_ATTRS                                                                             \
	(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

#define FIXED                                                                                      \
	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |      \
	 DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |                       \
	 DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_SRQ_HANDLE)

/* Returns the core's bits for those of a mask. */
static uint32_t fields_in(DAT_EP_PARAM_MASK mask)
{
	uint32_t fields = 0;

#define FIELD(DAT_NAME, field)                                                                     \
	if (mask & DAT_EP_FIELD_##DAT_NAME)                                                        \
		fields |= 1u << (field);
#define X(NAME, name) FIELD(EP_ATTR_##NAME, EP_FIELD_##NAME)
	FIELD(PZ_HANDLE, EP_FIELD_PZ)
	FIELD(RECV_EVD_HANDLE, EP_FIELD_RECV_EVD)
	FIELD(REQUEST_EVD_HANDLE, EP_FIELD_REQUEST_EVD)
	FIELD(CONNECT_EVD_HANDLE, EP_FIELD_CONNECT_EVD)
	EP_ATTR_FIELDS(X)
#undef X
#undef FIELD
	return fields;
}

DAT_RETURN dat12_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	struct ep_change change = { .fields = fields_in(mask) };

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (!param)
		return dat12_arg(3);
	/* fields that are not asked for may have any value */
	if (((mask & TRANSPORT_ATTRS) && param->ep_attr.ep_transport_specific_count != 0) ||
	    ((mask & PROVIDER_ATTRS) && param->ep_attr.ep_provider_specific_count != 0))
		return dat12_arg(3);
	if (mask & (~DAT_EP_FIELD_ALL | FIXED))
		return dat12_arg(2);
	change.pz = param->pz_handle;
	change.recv_evd = param->recv_evd_handle;
	change.request_evd = param->request_evd_handle;
	change.connect_evd = param->connect_evd_handle;
	attr_in(&change.attr, &param->ep_attr);
	return datp_ret(ep_modify(ep, &change));
}

DAT_RETURN dat12_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	bool recv, request;
	int now;

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	ep_status(ep, &now, &recv, &request);
	/* programs that want only one of the three pass NULL for the others */
	if (state)
		*state = (DAT_EP_STATE)now;
	if (recv_idle)
		*recv_idle = recv ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = request ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	int32_t n = -1, m = -1;
	enum datp_err err;

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	err = ep->obj.ia->ops->ep_recv_query(ep, &n, &m);
	if (err)
		return datp_ret(err);
	if (allocated)
		*allocated = n < 0 ? DAT_VALUE_UNKNOWN : n;
	if (span)
		*span = m < 0 ? DAT_VALUE_UNKNOWN : m;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (!ia_attr(ep->obj.ia)->srq_watermarks)
		return datp_ret(DATP_ERR_MODEL);
	if (soft < DAT_WATERMARK_INFINITE)
		return dat12_arg(2);
	if (hard < DAT_WATERMARK_INFINITE)
		return dat12_arg(3);
	return datp_ret(ep->obj.ia->ops->ep_set_watermark(ep, soft, hard));
}

/* ------------------------------------------------------------------ the end */

DAT_RETURN dat12_ep_reset(DAT_EP_HANDLE handle)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	return datp_ret(ep ? ep_reset(ep) : DATP_ERR_HANDLE_EP);
}

DAT_RETURN dat12_ep_free(DAT_EP_HANDLE handle)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	return datp_ret(ep ? ep_free(ep) : DATP_ERR_HANDLE_EP);
}
