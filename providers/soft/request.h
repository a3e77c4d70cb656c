/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of the requests and receives in a port. Both sides can write to that memory, and a faulty
 * peer may do so at any time: so a request is copied, and the copy is both checked and used.
 */
#ifndef SOFT_REQUEST_H
#define SOFT_REQUEST_H

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

/* Copies a request. Returns false if an entry cannot have as many segments as it says. */
static inline bool soft_request_copy(struct soft_request *r, const struct soft_sqe *e,
				     const struct soft_layout *layout)
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
	return soft_sge_copy(r->sge, e->sge, r->n, layout->sq_stride, sizeof *e);
}

/* Copies the list of a receive; returns as soft_request_copy(). */
static inline bool soft_sink_copy(struct soft_sink *sink, const struct soft_desc *desc,
				  const struct soft_layout *layout)
{
	sink->n = SOFT_ONCE(desc->n);
	return soft_sge_copy(sink->sge, desc->sge, sink->n, layout->rq_stride, sizeof *desc);
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
