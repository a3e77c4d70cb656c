/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of endpoints, and what follows from them for the EVDs. Invariant: the attributes of an
 * endpoint are complete, within what the IA can do, and what dat_ep_query says; an EVD is held once
 * for each stream to it.
 */
#include "ep.h"

enum {
	DEFAULT_DTOS = 1024,
	DEFAULT_IOV = 8,
	DEFAULT_READS = 16,
};

static int32_t smaller(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

/* 0 is the default; negative or beyond the limit is wrong. */
static bool resolve_count(int32_t *value, int32_t usual, int32_t limit)
{
	if (*value == 0)
		*value = smaller(usual, limit);
	return *value >= 0 && *value <= limit;
}

static bool resolve_size(uint64_t *value, uint64_t limit)
{
	if (*value == 0)
		*value = limit;
	return *value <= limit;
}

/* At most one way to notify. */
static bool flags_ok(unsigned int flags, unsigned int allowed)
{
	return !(flags & ~allowed) && !(flags & (flags - 1));
}

enum datp_err ep_attr_resolve(struct datp_ia *ia, struct datp_ep_attr *attr, bool srq)
{
	const struct datp_ia_attr *can = ia_attr(ia);
	const struct datp_ep_attr asked = *attr;
	const unsigned int request =
		DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG;

	if (attr->service_type != DAT_SERVICE_TYPE_RC)
		return DATP_ERR_PARAM;
	if (attr->qos != DAT_QOS_BEST_EFFORT)
		return DATP_ERR_MODEL;
	if (!flags_ok((unsigned int)attr->recv_flags,
		      request | DAT_COMPLETION_SOLICITED_WAIT_FLAG) ||
	    !flags_ok((unsigned int)attr->request_flags, request))
		return DATP_ERR_PARAM;
	if (srq)
		attr->max_recv_iov = 0;		/* the SRQ's counts */
	if (attr->srq_soft_hw == 0)
		attr->srq_soft_hw = DAT_HW_DEFAULT;
	if (!resolve_size(&attr->max_message_size, can->max_message_size) ||
	    !resolve_size(&attr->max_rdma_size, can->max_rdma_size) ||
	    !resolve_count(&attr->max_recv_dtos, DEFAULT_DTOS, can->max_dto_per_ep) ||
	    !resolve_count(&attr->max_request_dtos, DEFAULT_DTOS, can->max_dto_per_ep) ||
	    !resolve_count(&attr->max_recv_iov, DEFAULT_IOV, can->max_iov_per_dto) ||
	    !resolve_count(&attr->max_request_iov, DEFAULT_IOV, can->max_iov_per_dto) ||
	    !resolve_count(&attr->max_rdma_read_in, DEFAULT_READS, can->max_rdma_read_per_ep_in) ||
	    !resolve_count(&attr->max_rdma_read_out, DEFAULT_READS,
			   can->max_rdma_read_per_ep_out) ||
	    !resolve_count(&attr->max_rdma_read_iov, DEFAULT_IOV, can->max_iov_per_rdma_read) ||
	    !resolve_count(&attr->max_rdma_write_iov, DEFAULT_IOV, can->max_iov_per_rdma_write) ||
	    attr->srq_soft_hw < DAT_HW_DEFAULT)
		return DATP_ERR_PARAM;
	return ia->ops->ep_fit(ia, attr, &asked);
}

/* ------------------------------------------------------------------ streams */

static enum evd_stream stream_of(unsigned int flags)
{
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return STREAM_SOLICITED;
	return flags & DAT_COMPLETION_UNSIGNALLED_FLAG ? STREAM_UNSIGNALLED : STREAM_EVERY;
}

enum evd_stream ep_recv_stream(const struct datp_ep_attr *attr)
{
	return stream_of((unsigned int)attr->recv_flags);
}

enum evd_stream ep_request_stream(const struct datp_ep_attr *attr)
{
	return stream_of((unsigned int)attr->request_flags);
}

/* One stream to one EVD. */
static enum datp_err attach(struct datp_ia *ia, struct datp_evd *evd, enum evd_stream stream,
			    unsigned int flags, DAT_EVD_FLAGS need, enum datp_err bad)
{
	if (!evd)
		return DATP_OK;
	if (!obj_hold(ia, evd, DATP_EVD))
		return bad;
	if (!(evd->flags & need)) {
		obj_drop(evd);
		return bad;
	}
	if (!evd_attach(evd, stream, flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG)) {
		obj_drop(evd);
		return DATP_ERR_PARAM;
	}
	return DATP_OK;
}

static void detach(struct datp_evd *evd, enum evd_stream stream)
{
	evd_detach(evd, stream);
	obj_drop(evd);
}

enum datp_err ep_streams_attach(const struct datp_ep *ep)
{
	struct datp_ia *ia = ep->obj.ia;
	const struct datp_ep_attr *attr = &ep->attr;
	enum datp_err err;

	err = attach(ia, ep->recv_evd, ep_recv_stream(attr), (unsigned int)attr->recv_flags,
		     DAT_EVD_DTO_FLAG, DATP_ERR_HANDLE_EVD_RECV);
	if (err)
		return err;
	err = attach(ia, ep->request_evd, ep_request_stream(attr),
		     (unsigned int)attr->request_flags, DAT_EVD_DTO_FLAG,
		     DATP_ERR_HANDLE_EVD_REQUEST);
	if (err)
		goto detach_recv;
	err = attach(ia, ep->connect_evd, STREAM_OTHER, 0, DAT_EVD_CONNECTION_FLAG,
		     DATP_ERR_HANDLE_EVD_CONN);
	if (err)
		goto detach_request;
	return DATP_OK;

detach_request:
	detach(ep->request_evd, ep_request_stream(attr));
detach_recv:
	detach(ep->recv_evd, ep_recv_stream(attr));
	return err;
}

void ep_streams_detach(const struct datp_ep *ep)
{
	detach(ep->connect_evd, STREAM_OTHER);
	detach(ep->request_evd, ep_request_stream(&ep->attr));
	detach(ep->recv_evd, ep_recv_stream(&ep->attr));
}
