/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of what stands in a port. Both sides can write to that memory, and a peer that has gone
 * wrong may do so at any time: what is checked is a copy of our own, and the copy is what is used.
 */
#ifndef SOFT_REQUEST_H
#define SOFT_REQUEST_H

#include "soft.h"
#include <string.h>

struct soft_request {
	uint8_t op, solicited, turn;
	uint32_t n, msg;
	uint64_t len;
	struct datp_rge remote;
	uint32_t bind_priv, bind_lmr, bind_life;
	struct datp_sge sge[SOFT_MAX_IOV];
};

/* Where a message goes. */
struct soft_sink {
	uint32_t n;
	struct datp_sge sge[SOFT_MAX_IOV];
};

/* False: so many are not there. `stride` is what an entry has, `head` what stands before them. */
static inline bool soft_sge_copy(struct datp_sge *to, const struct datp_sge *from, uint32_t n,
				 uint32_t stride, size_t head)
{
	if (n > SOFT_MAX_IOV || head + n * sizeof *from > stride)
		return false;
	memcpy(to, from, n * sizeof *from);
	/* a compiler does not go back to the original from here on: it may have changed */
	__asm__ volatile("" : : : "memory");
	return true;
}

/* False: it makes no sense. */
static inline bool soft_request_copy(struct soft_request *r, const struct soft_sqe *e,
				     const struct soft_layout *layout)
{
	r->op = SOFT_ONCE(e->op);
	r->solicited = SOFT_ONCE(e->solicited);
	r->turn = SOFT_ONCE(e->turn);
	r->n = SOFT_ONCE(e->n);
	r->msg = SOFT_ONCE(e->msg);
	r->len = SOFT_ONCE(e->len);
	r->remote = e->remote;
	r->bind_priv = e->bind_priv;
	r->bind_lmr = e->bind_lmr;
	r->bind_life = e->bind_life;
	return soft_sge_copy(r->sge, e->sge, r->n, layout->sq_stride, sizeof *e);
}

static inline bool soft_sink_copy(struct soft_sink *sink, const struct soft_desc *desc,
				  const struct soft_layout *layout)
{
	sink->n = SOFT_ONCE(desc->n);
	return soft_sge_copy(sink->sge, desc->sge, sink->n, layout->rq_stride, sizeof *desc);
}

/* A result, as the other side says. */
static inline uint8_t soft_status(uint8_t said)
{
	return said <= DAT_DTO_ERR_PARTIAL_PACKET ? said : DAT_DTO_ERR_TRANSPORT;
}

static inline uint64_t soft_sge_room(const struct datp_sge *sge, int n)
{
	uint64_t room = 0;

	for (int i = 0; i < n; i++)
		room += sge[i].len;
	return room;
}

#endif
