/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An atomic operation of this side on a word of a peer that is mapped here. exec.c has checked it, and leaves to the target what
 * this cannot execute.
 */
#include "exec.h"
#include "guard.h"
#include "request.h"
#include "share.h"

bool soft_exec_atomic(struct soft_peer *peer, const struct soft_right *right, const struct soft_request *r,
		      const struct datp_rge *word, struct soft_sqe *e)
{
	uint64_t value = r->operand;
	struct soft_share *share;
	unsigned char *at;
	bool done;

	/* acquire: as in soft_xfer() */
	if (peer->ia->want_share == SOFT_SHARE_OFF || atomic_load_explicit(&peer->dead, memory_order_acquire))
		return false;
	at = soft_share_one(peer, word, true, &share);
	if (!at)
		return false;
	done = r->op == DATP_FETCH_ADD ? soft_guard_fetch_add(right, (uint64_t *)(void *)at, &value) :
					 soft_guard_cmp_swap(right, (uint64_t *)(void *)at, &value, r->swap);
	soft_share_leave_one(share);
	e->old = value;
	return done;
}
