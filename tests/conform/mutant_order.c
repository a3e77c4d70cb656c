/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutants that break the order of memory: requests, of one segment each, are held and posted at
 * another time. Invariant: what is held is posted in its own order, and once.
 */
#include <time.h>

#include "mutant.h"

#define HELD_MAX 64

struct request {
	bool is_send;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET to;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
};

static struct request held[HELD_MAX];
static int held_count;
static DAT_RMR_TRIPLET last_target;

/* So long that whoever polls meanwhile sees what is there. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static DAT_RETURN post(struct request *r)
{
	if (r->is_send)
		return NEXT(dat_ep_post_send)(r->ep, 1, &r->seg, r->cookie, r->flags);
	return NEXT(dat_ep_post_rdma_write)(r->ep, 1, &r->seg, r->cookie, &r->to, r->flags);
}

static void release(void)
{
	for (int i = 0; i < held_count; i++)
		post(&held[i]);
	held_count = 0;
}

static DAT_RETURN hold(const struct request *r)
{
	if (held_count == HELD_MAX)
		return ERROR(DAT_INSUFFICIENT_RESOURCES);
	held[held_count++] = *r;
	return DAT_SUCCESS;
}

/* The last 8 bytes land before the rest does. */
static void post_tail(const struct request *r)
{
	struct request tail = *r;
	DAT_VLEN rest = r->seg.segment_length - 8;

	tail.seg.virtual_address += rest;
	tail.to.target_address += rest;
	tail.seg.segment_length = tail.to.segment_length = 8;
	tail.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	post(&tail);
	pause_a_little();
}

/* A send is done before its data is taken: another request completes in its name. */
static DAT_RETURN complete_early(struct request *r)
{
	DAT_RMR_TRIPLET none = last_target;
	DAT_RETURN ret;

	none.segment_length = 0;
	ret = NEXT(dat_ep_post_rdma_write)(r->ep, 0, NULL, r->cookie, &none, r->flags);
	r->flags = DAT_COMPLETION_SUPPRESS_FLAG;
	return ret == DAT_SUCCESS ? hold(r) : ret;
}

static DAT_RETURN take(struct request *r)
{
	DAT_RETURN ret;

	if (is("suppressed_late") && (r->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		return hold(r);
	if (is("write_waits_for_look") && !r->is_send)
		return hold(r);
	if (is("send_done_early")) {
		release();
		if (r->is_send)
			return complete_early(r);
	}
	if (is("write_tail_first") && !r->is_send && r->seg.segment_length > 8)
		post_tail(r);
	ret = post(r);
	if (is("suppressed_late") && held_count) {
		pause_a_little();
		release();
	}
	return ret;
}

bool order_takes_send(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RETURN *ret)
{
	struct request r = { .is_send = true, .ep = ep, .cookie = cookie, .flags = flags };

	if (n != 1)
		return false;
	r.seg = *iov;
	*ret = take(&r);
	return true;
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				  DAT_COMPLETION_FLAGS flags)
{
	struct request r = { .ep = ep, .cookie = cookie, .flags = flags };

	if (n != 1)
		return NEXT(dat_ep_post_rdma_write)(ep, n, iov, cookie, to, flags);
	r.seg = *iov;
	r.to = last_target = *to;
	return take(&r);
}

void order_look(void)
{
	if (is("write_waits_for_look"))
		release();
}
