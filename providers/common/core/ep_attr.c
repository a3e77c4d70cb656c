/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of endpoints, and their consequences for the EVDs. Invariant: the attributes of an
 * endpoint are complete, within what the IA can do, and what dat_ep_query says; an EVD is held once
 * for each stream to it.
 */
#include "diag.h"
#include "ep.h"

enum {
	DEFAULT_DTOS = 1024,
	DEFAULT_IOV = 8,
	DEFAULT_READS = 16,
	LIKE_DTOS = 4096, /* the longest queues that a peer's attributes can ask for */
};

static int32_t smaller(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

/*
 * The owner of the endpoint. Errors in a peer's attributes are not logged, because the peer could
 * fill the log, and use up the capacity of log_once().
 */
struct wish {
	struct datp_ia *ia;
	bool of_peer;
};

/* A wrong argument is the programmer's error, so it is logged at level debug only. */
static bool wrong(const struct wish *wish, const char *name, long long value, const char *right)
{
	if (!wish->of_peer)
		core_log(4, "%s: no endpoint with %s %lld: %s", wish->ia->name, name, value, right);
	return false;
}

static bool too_much(const struct wish *wish, const struct limited *what, uint64_t asked)
{
	if (!wish->of_peer)
		diag_too_much(wish->ia, what, asked);
	return false;
}

/* 0 means the default; a negative value, or one beyond the limit, is wrong. */
static bool resolve_count(const struct wish *wish, int32_t *value, int32_t usual,
			  const struct limited *what)
{
	int32_t limit = (int32_t)what->limit;

	if (*value == 0)
		*value = smaller(usual, limit);
	if (*value > limit)
		return too_much(wish, what, (uint64_t)*value);
	return *value >= 0 ||
	       wrong(wish, what->name, *value, "give 0 for the default, or a number");
}

static bool resolve_size(const struct wish *wish, uint64_t *value, const struct limited *what)
{
	if (*value == 0)
		*value = what->limit;
	return *value <= what->limit || too_much(wish, what, *value);
}

/* An attribute and its limit, which have one name in the core. */
#define LIMITED(attr, can, limit_name) \
	&(struct limited) { "endpoint", #attr, #limit_name, (uint64_t)(can) }

static bool resolve_sizes(const struct wish *wish, struct datp_ep_attr *attr)
{
	const struct datp_ia_attr *can = ia_attr(wish->ia);

	return resolve_size(wish, &attr->max_message_size,
			    LIMITED(max_message_size, can->max_message_size, max_message_size)) &&
	       resolve_size(wish, &attr->max_rdma_size,
			    LIMITED(max_rdma_size, can->max_rdma_size, max_rdma_size));
}

static bool resolve_queues(const struct wish *wish, struct datp_ep_attr *attr)
{
	const struct datp_ia_attr *can = ia_attr(wish->ia);
	int32_t most = can->max_dto_per_ep, iov = can->max_iov_per_dto;

	return resolve_count(wish, &attr->max_recv_dtos, DEFAULT_DTOS,
			     LIMITED(max_recv_dtos, most, max_dto_per_ep)) &&
	       resolve_count(wish, &attr->max_request_dtos, DEFAULT_DTOS,
			     LIMITED(max_request_dtos, most, max_dto_per_ep)) &&
	       resolve_count(wish, &attr->max_recv_iov, DEFAULT_IOV,
			     LIMITED(max_recv_iov, iov, max_iov_segments_per_dto)) &&
	       resolve_count(wish, &attr->max_request_iov, DEFAULT_IOV,
			     LIMITED(max_request_iov, iov, max_iov_segments_per_dto));
}

static bool resolve_rdma(const struct wish *wish, struct datp_ep_attr *attr)
{
	const struct datp_ia_attr *can = ia_attr(wish->ia);

	return resolve_count(wish, &attr->max_rdma_read_in, DEFAULT_READS,
			     LIMITED(max_rdma_read_in, can->max_rdma_read_per_ep_in,
				     max_rdma_read_per_ep_in)) &&
	       resolve_count(wish, &attr->max_rdma_read_out, DEFAULT_READS,
			     LIMITED(max_rdma_read_out, can->max_rdma_read_per_ep_out,
				     max_rdma_read_per_ep_out)) &&
	       resolve_count(wish, &attr->max_rdma_read_iov, DEFAULT_IOV,
			     LIMITED(max_rdma_read_iov, can->max_iov_per_rdma_read,
				     max_iov_segments_per_rdma_read)) &&
	       resolve_count(wish, &attr->max_rdma_write_iov, DEFAULT_IOV,
			     LIMITED(max_rdma_write_iov, can->max_iov_per_rdma_write,
				     max_iov_segments_per_rdma_write));
}

/* Only one kind of notification may be given. */
static bool flags_ok(unsigned int flags, unsigned int allowed)
{
	return !(flags & ~allowed) && !(flags & (flags - 1));
}

/* Checks the attributes that are neither counts nor sizes. */
static bool resolve_kinds(const struct wish *wish, const struct datp_ep_attr *attr)
{
	const unsigned int request =
		DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_EVD_THRESHOLD_FLAG;

	if (attr->service_type != DAT_SERVICE_TYPE_RC)
		return wrong(wish, "service_type", attr->service_type,
			     "there is DAT_SERVICE_TYPE_RC only");
	if (!flags_ok((unsigned int)attr->recv_flags, request | DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return wrong(
			wish, "recv_completion_flags", attr->recv_flags,
			"give 0 or one of DAT_COMPLETION_UNSIGNALLED_FLAG, "
			"DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG");
	if (!flags_ok((unsigned int)attr->request_flags, request))
		return wrong(wish, "request_completion_flags", attr->request_flags,
			     "give 0 or one of DAT_COMPLETION_UNSIGNALLED_FLAG, "
			     "DAT_COMPLETION_EVD_THRESHOLD_FLAG");
	return attr->srq_soft_hw >= DAT_HW_DEFAULT || attr->srq_soft_hw == 0 ||
	       wrong(wish, "srq_soft_hw", attr->srq_soft_hw,
		     "give 0 for DAT_HW_DEFAULT, or a number");
}

static enum datp_err resolve(const struct wish *wish, struct datp_ep_attr *attr, bool srq)
{
	const struct datp_ep_attr asked = *attr;

	if (attr->qos != DAT_QOS_BEST_EFFORT && attr->service_type == DAT_SERVICE_TYPE_RC) {
		wrong(wish, "qos", attr->qos, "there is DAT_QOS_BEST_EFFORT only");
		return DATP_ERR_MODEL;
	}
	if (!resolve_kinds(wish, attr))
		return DATP_ERR_PARAM;
	if (srq)
		attr->max_recv_iov = 0;		/* the SRQ has its own */
	if (attr->srq_soft_hw == 0)
		attr->srq_soft_hw = DAT_HW_DEFAULT;
	if (!resolve_sizes(wish, attr) || !resolve_queues(wish, attr) || !resolve_rdma(wish, attr))
		return DATP_ERR_PARAM;
	return wish->ia->ops->ep_fit(wish->ia, attr, &asked);
}

enum datp_err ep_attr_resolve(struct datp_ia *ia, struct datp_ep_attr *attr, bool srq)
{
	return resolve(&(struct wish){ ia, false }, attr, srq);
}

enum datp_err ep_attr_resolve_like(struct datp_ia *ia, struct datp_ep_attr *attr)
{
	attr->max_recv_dtos = smaller(attr->max_recv_dtos, LIKE_DTOS);
	attr->max_request_dtos = smaller(attr->max_request_dtos, LIKE_DTOS);
	return resolve(&(struct wish){ ia, true }, attr, false);
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

/* Attaches one stream to one EVD. `part` is the standard's name for that EVD of the endpoint. */
static enum datp_err attach(struct datp_ia *ia, struct datp_evd *evd, const char *part,
			    enum evd_stream stream, unsigned int flags, DAT_EVD_FLAGS need,
			    enum datp_err bad)
{
	enum evd_stream clash;

	if (!evd)
		return DATP_OK;
	if (!obj_hold(ia, evd, DATP_EVD))
		return bad;
	if (!(evd->flags & need)) {
		core_log(4, "%s: no endpoint with the EVD %p as %s: it was created without %s",
			 ia->name, (void *)evd, part,
			 need & DAT_EVD_DTO_FLAG ? "DAT_EVD_DTO_FLAG" : "DAT_EVD_CONNECTION_FLAG");
		obj_drop(evd);
		return bad;
	}
	if (!evd_attach(evd, stream, flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG, &clash)) {
		diag_mixed(evd, part, stream, clash);
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

enum datp_err ep_conn_attach(struct datp_ia *ia, struct datp_evd *evd)
{
	return attach(ia, evd, "connect_evd_handle", STREAM_OTHER, 0, DAT_EVD_CONNECTION_FLAG, DATP_ERR_HANDLE_EVD_CONN);
}

void ep_conn_detach(struct datp_evd *evd)
{
	detach(evd, STREAM_OTHER);
}

enum datp_err ep_streams_attach(const struct datp_ep *ep)
{
	struct datp_ia *ia = ep->obj.ia;
	const struct datp_ep_attr *attr = &ep->attr;
	enum datp_err err;

	err = attach(ia, ep->recv_evd, "recv_evd_handle", ep_recv_stream(attr),
		     (unsigned int)attr->recv_flags, DAT_EVD_DTO_FLAG, DATP_ERR_HANDLE_EVD_RECV);
	if (err)
		return err;
	err = attach(ia, ep->request_evd, "request_evd_handle", ep_request_stream(attr),
		     (unsigned int)attr->request_flags, DAT_EVD_DTO_FLAG,
		     DATP_ERR_HANDLE_EVD_REQUEST);
	if (err)
		goto detach_recv;
	err = ep_conn_attach(ia, ep->connect_evd);
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
	ep_conn_detach(ep->connect_evd);
	detach(ep->request_evd, ep_request_stream(&ep->attr));
	detach(ep->recv_evd, ep_recv_stream(&ep->attr));
}
