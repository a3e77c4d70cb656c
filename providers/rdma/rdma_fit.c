/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How deep and how wide the queues of an endpoint are. The limits that a device reports are for short requests: with some, the
 * number that fits depends on the segments (irdma, mlx5, bnxt_re), and a receive queue may be shorter than a send queue. No verbs
 * call reports that, so it is found by a trial. Invariant: what the program asks for is never lowered.
 */
#include "rdma_fit.h"
#include "rdma_qp.h"
#include <errno.h>
#include <string.h>

bool rdma_may_be_too_large(int error)
{
	return !error || error == EINVAL || error == ENOMEM || error == E2BIG;
}

int rdma_read_segments(const struct rdma_ia *ia)
{
	return ia->dev.max_sge_rd > 0 ? ia->dev.max_sge_rd : 1;
}

int32_t rdma_request_wrs(const struct rdma_ia *ia)
{
	return rdma_count((int64_t)ia->dev.max_qp_wr - RDMA_SPARE_WR);
}

/*
 * Returns how many work requests a send queue for these attributes needs. Any request may be a read that is split into as
 * many parts as possible.
 */
static int64_t wrs_of(const struct datp_ep_attr *attr, int read_sge)
{
	return (int64_t)attr->max_request_dtos * rdma_read_pieces(attr->max_rdma_read_iov, read_sge);
}

uint32_t rdma_send_depth(const struct datp_ep_attr *attr, int read_sge)
{
	return (uint32_t)wrs_of(attr, read_sge) + RDMA_SPARE_WR;
}

static uint32_t largest(int32_t a, int32_t b, int32_t c)
{
	int32_t most = a > b ? a : b;

	most = most > c ? most : c;
	return most > 0 ? (uint32_t)most : 1;
}

void rdma_fit_cap(const struct datp_ep_attr *attr, int read_sge, struct ibv_qp_cap *cap)
{
	*cap = (struct ibv_qp_cap){
		.max_send_wr = rdma_send_depth(attr, read_sge),
		.max_recv_wr = (uint32_t)attr->max_recv_dtos,
		.max_send_sge = largest(attr->max_request_iov, attr->max_rdma_read_iov, attr->max_rdma_write_iov),
		.max_recv_sge = largest(attr->max_recv_iov, 1, 1),
	};
}

/* ------------------------------------------------------------------ trials */

/* Returns true if a queue pair has been accepted that was as deep and as wide as this one. */
static bool is_known(struct rdma_ia *ia, const struct ibv_qp_cap *cap)
{
	const struct ibv_qp_cap *known = &ia->accepted;
	bool is;

	datp_lock(&ia->qp_lock);
	is = cap->max_send_wr <= known->max_send_wr && cap->max_send_sge <= known->max_send_sge &&
	     cap->max_recv_wr <= known->max_recv_wr && cap->max_recv_sge <= known->max_recv_sge;
	datp_unlock(&ia->qp_lock);
	return is;
}

static void now_known(struct rdma_ia *ia, const struct ibv_qp_cap *cap)
{
	datp_lock(&ia->qp_lock);
	ia->accepted = *cap;
	datp_unlock(&ia->qp_lock);
}

/* Returns true if a queue pair for these attributes need not be tried. */
static bool is_taken(struct rdma_ia *ia, const struct datp_ep_attr *attr)
{
	struct ibv_qp_cap cap;

	rdma_fit_cap(attr, rdma_read_segments(ia), &cap);
	return is_known(ia, &cap);
}

/* Returns false if the device refuses a queue pair for these attributes as too deep or too wide. */
static bool takes(struct rdma_ia *ia, const struct datp_ep_attr *attr, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_qp_cap wanted;
	struct ibv_qp *qp;

	rdma_fit_cap(attr, rdma_read_segments(ia), &wanted);
	init.cap = wanted;
	errno = 0;
	qp = ibv_create_qp(ia->pd, &init);
	if (!qp)
		return !rdma_may_be_too_large(errno);
	ibv_destroy_qp(qp);
	now_known(ia, &wanted);
	return true;
}

/* Halves those of the fields that the program has left to us. Returns false if there is nothing to halve. */
static bool halve(int32_t *const *fields, const int32_t *asked, int n)
{
	bool some = false;

	for (int i = 0; i < n; i++)
		if (!asked[i] && *fields[i] > 1) {
			*fields[i] /= 2;
			some = true;
		}
	return some;
}

/* Makes the queues narrower, or shorter where they have one segment only. Returns false if the program has asked for all that. */
static bool thinner(struct datp_ep_attr *attr, const struct datp_ep_attr *asked)
{
	int32_t *const segments[] = { &attr->max_request_iov, &attr->max_rdma_read_iov, &attr->max_rdma_write_iov,
				      &attr->max_recv_iov };
	const int32_t asked_segments[] = { asked->max_request_iov, asked->max_rdma_read_iov, asked->max_rdma_write_iov,
					   asked->max_recv_iov };
	int32_t *const depths[] = { &attr->max_request_dtos, &attr->max_recv_dtos };
	const int32_t asked_depths[] = { asked->max_request_dtos, asked->max_recv_dtos };

	return halve(segments, asked_segments, 4) || halve(depths, asked_depths, 2);
}

/*
 * Lowers what the program has left to us until the device takes a queue pair of that kind. If it takes none, the attributes stay as
 * they are, and the creation of the endpoint reports that.
 */
static void fit_device(struct rdma_ia *ia, struct datp_ep_attr *attr, const struct datp_ep_attr *asked)
{
	struct datp_ep_attr thin = *attr;
	struct ibv_cq *cq;

	if (!thinner(&thin, asked) || is_taken(ia, attr))
		return;
	thin = *attr;
	cq = ibv_create_cq(ia->verbs, 1, NULL, NULL, 0);
	if (!cq)
		return;
	while (!takes(ia, &thin, cq))
		if (!thinner(&thin, asked)) {
			thin = *attr;
			break;
		}
	ibv_destroy_cq(cq);
	*attr = thin;
}

/* ------------------------------------------------------------------ attributes */

static void say_too_many(const struct rdma_ia *ia, const struct datp_ep_attr *attr, int64_t need)
{
	int32_t most = rdma_request_wrs(ia), each = rdma_read_segments(ia);

	datp_log(2,
		 "%s: max_request_dtos %d with max_rdma_read_iov %d takes %lld work requests of a "
		 "send queue of verbs device %s, which has %d, because one of its reads goes into %d "
		 "segment%s: ask for at most %d requests, or %d segments",
		 ia->base.name, attr->max_request_dtos, attr->max_rdma_read_iov, (long long)need,
		 ibv_get_device_name(ia->verbs->device), most, each, each == 1 ? "" : "s",
		 most / rdma_read_pieces(attr->max_rdma_read_iov, each),
		 most / attr->max_request_dtos * each);
}

enum datp_err rdma_ep_fit(struct datp_ia *base, struct datp_ep_attr *attr,
			  const struct datp_ep_attr *asked)
{
	struct rdma_ia *ia = rdma_ia(base);
	int32_t most = rdma_request_wrs(ia);
	int each = rdma_read_segments(ia);
	int32_t fits;
	int64_t need;

	if (attr->max_request_dtos < 1)
		return DATP_ERR_PARAM; /* the device has no requests at all */
	/*
	 * attributes that the program leaves to us are lowered, the segments first, because few
	 * programs read into many
	 */
	if (!asked->max_rdma_read_iov)
		attr->max_rdma_read_iov = rdma_least((int64_t)(most / attr->max_request_dtos) * each,
						     attr->max_rdma_read_iov);
	if (!asked->max_request_dtos) {
		fits = rdma_least(most / rdma_read_pieces(attr->max_rdma_read_iov, each),
				  attr->max_request_dtos);
		attr->max_request_dtos = fits ? fits : 1;
	}
	need = wrs_of(attr, each);
	if (need > most) {
		say_too_many(ia, attr, need);
		return DATP_ERR_PARAM;
	}
	fit_device(ia, attr, asked);
	return DATP_OK;
}
