/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of the requests and receives in a port. Both sides can write to that memory, and a faulty
 * peer may do so at any time: so a request is copied, and the copy is both checked and used. The segments of this
 * side come from private memory (posted.h).
 */
#ifndef SOFT_REQUEST_H
#define SOFT_REQUEST_H

#include "bounce.h"
#include "soft.h"
#include <string.h>

struct soft_request {
	uint8_t op, solicited, has_place;
	uint32_t n, msg;
	uint64_t len;
	struct datp_rge remote;
	uint32_t bind_priv, bind_lmr, bind_gen;
	union {
		uint32_t imm, rmr;
	};
	uint64_t operand, swap;
	struct datp_sge sge[SOFT_MAX_IOV];
};

/* The list of a receive: where its message goes. */
struct soft_sink {
	uint32_t n;
	struct datp_sge sge[SOFT_MAX_IOV];
};

/*
 * Copies a list of n segments out of an entry of `stride` bytes, where `head` bytes precede it.
 * Returns false if an entry cannot have n segments.
 */
static inline bool soft_sge_copy(struct datp_sge *to, const struct datp_sge *from, uint32_t n,
				 uint32_t stride, size_t head)
{
	if (n > SOFT_MAX_IOV || head + n * sizeof *from > stride)
		return false;
	memcpy(to, from, n * sizeof *from);
	/* from here on the compiler must not read the original, because the peer may have changed it */
	__asm__ volatile("" : : : "memory");
	return true;
}

/* Copies what a request has beside its list. */
static inline void soft_request_head(struct soft_request *r, const struct soft_sqe *e)
{
	r->op = SOFT_ONCE(e->op);
	r->solicited = SOFT_ONCE(e->solicited);
	r->has_place = SOFT_ONCE(e->has_place);
	r->n = SOFT_ONCE(e->n);
	r->msg = SOFT_ONCE(e->msg);
	r->len = SOFT_ONCE(e->len);
	r->remote = e->remote;
	r->bind_priv = e->bind_priv;
	r->bind_lmr = e->bind_lmr;
	r->bind_gen = e->bind_gen;
	r->imm = e->imm;
	r->operand = e->operand;
	r->swap = e->swap;
	/* from here on the compiler must not read the original, because the peer may have changed it */
	__asm__ volatile("" : : : "memory");
}

/* Copies a request. Returns false if an entry cannot have as many segments as it says. */
static inline bool soft_request_copy(struct soft_request *r, const struct soft_sqe *e,
				     const struct soft_layout *layout)
{
	soft_request_head(r, e);
	return soft_sge_copy(r->sge, e->sge, r->n, layout->sq_stride, sizeof *e);
}

/* Copies the list of a receive; returns as soft_request_copy(). */
static inline bool soft_sink_copy(struct soft_sink *sink, const struct soft_desc *desc,
				  const struct soft_layout *layout)
{
	sink->n = SOFT_ONCE(desc->n);
	return soft_sge_copy(sink->sge, desc->sge, sink->n, layout->rq_stride, sizeof *desc);
}

/* What the private list of this side's request at `seq` is marked with. */
static inline __attribute__((always_inline)) uint64_t soft_request_tag(const struct soft_ep *ep, uint32_t seq)
{
	/* relaxed: constant while the connection lasts */
	return SOFT_POSTED_TAG(atomic_load_explicit(&ep->gen, memory_order_relaxed), seq);
}

/* Notes that this side's request at `seq`, before which all have completed, has completed. EP lock. */
static inline __attribute__((always_inline)) void soft_sq_reaped(struct soft_ep *ep, uint32_t seq)
{
	/* relaxed: soft_posted_put() releases it */
	__atomic_store_n(&ep->sq_reaped, seq + 1, __ATOMIC_RELAXED);
	soft_bounce_passed(ep, SOFT_BOUNCE_REQUEST(seq));
}

/* Keeps the list of the request that is put into the port's queue at `seq`, before it is published there. EP lock. */
static inline __attribute__((always_inline)) void soft_request_keep(struct soft_ep *ep, uint32_t seq, uint8_t op, uint64_t len,
								    const struct datp_sge *iov, uint32_t n)
{
	struct soft_posted *p = soft_posted_at(&ep->requests, seq);

	/* release, both: as in soft_posted_put() */
	__atomic_store_n(&p->op, op, __ATOMIC_RELEASE);
	__atomic_store_n(&p->len, len, __ATOMIC_RELEASE);
	soft_posted_put(p, soft_request_tag(ep, seq), iov, n);
}

/* Returns true if this side has put a request into the port's queue at `seq`. EP lock. */
static inline bool soft_request_is_kept(const struct soft_ep *ep, uint32_t seq)
{
	return ep->requests.slots && soft_posted_at(&ep->requests, seq)->tag == soft_request_tag(ep, seq);
}

/* Returns true if this side's request at `seq` has completed, so that its memory is not accessed any more. No lock. */
static inline bool soft_request_completed(const struct soft_ep *ep, uint32_t seq)
{
	/*
	 * Comes after the caller's loads of a slot that was used again, which acquire; see soft_posted_put(). Sequentially
	 * consistent for the bounce thread: see soft_bounce_await()
	 */
	return (int32_t)(seq - __atomic_load_n(&ep->sq_reaped, __ATOMIC_SEQ_CST)) < 0;
}

/*
 * As soft_request_copy(), of a request of this side: the operation, the length and the list are those that this side has posted,
 * whatever the port says. Returns false also if the request has completed. No lock.
 */
static inline bool soft_request_own(struct soft_request *r, const struct soft_ep *ep, uint32_t seq)
{
	const struct soft_posted *own = soft_posted_find(&ep->requests, seq);

	if (!own)
		return false;
	soft_request_head(r, soft_port_sqe(ep->port, &ep->layout, seq));
	if (!soft_posted_get(own, soft_request_tag(ep, seq), r->sge, SOFT_MAX_IOV, &r->n))
		return false;
	r->op = __atomic_load_n(&own->op, __ATOMIC_ACQUIRE);
	r->len = __atomic_load_n(&own->len, __ATOMIC_ACQUIRE);
	return !soft_request_completed(ep, seq);
}

/*
 * Copies the list of the receive that this side has posted for message number `msg`. Returns false if this side has posted no
 * such receive, or if the receive has completed. An endpoint with an SRQ has no receives of its own. No lock.
 */
static inline bool soft_receive_own(struct soft_sink *sink, const struct soft_ep *ep, uint32_t msg)
{
	uint32_t seq = ep->layout.rq_base + msg;

	return !ep->layout.srq &&
	       soft_posted_get(soft_posted_at(&ep->receives, seq), SOFT_POSTED_TAG(0, seq), sink->sge, SOFT_MAX_IOV, &sink->n) &&
	       /* sequentially consistent: as in soft_request_completed() */
	       (int32_t)(msg - __atomic_load_n(&ep->in_msg, __ATOMIC_SEQ_CST)) >= 0;
}

/*
 * Executes an atomic operation on the word of this process that the request names. Returns the old value. It uses the
 * compiler's builtins, because the word is the program's and has no atomic type. It is sequentially consistent, as the
 * atomics of a program are by default.
 */
#ifndef soft_request_atomic
static inline uint64_t soft_request_atomic(const struct soft_request *r)
{
	uint64_t *word = (uint64_t *)(uintptr_t)r->remote.addr;
	uint64_t old = r->operand;

	if (r->op == DATP_FETCH_ADD)
		return __atomic_fetch_add(word, r->operand, __ATOMIC_SEQ_CST);
	(void)__atomic_compare_exchange_n(word, &old, r->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
#endif

/* Returns the result that the other side has stored, or DAT_DTO_ERR_TRANSPORT if there is no such result. */
static inline uint8_t soft_status(uint8_t said)
{
	return said <= DAT_DTO_ERR_PARTIAL_PACKET ? said : DAT_DTO_ERR_TRANSPORT;
}

static inline uint64_t soft_sge_bytes(const struct datp_sge *sge, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += sge[i].len;
	return bytes;
}

#endif
