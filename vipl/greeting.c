/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns greetings. On iWARP whoever asks for a connection has to be the first to send: what comes
 * with the reply to the request breaks the connection. The VI architecture knows no such rule. So
 * the library of the one who asks sends a header, before anything of the program's, into a receive
 * that the library of the other has posted for it, before any of the program's. Invariant: an
 * accepted VI whose peer greets is `held`, that is, has no request posted, until the greeting has
 * come or the connection is over.
 *
 * A greeting is the operation behind the last of a queue's ring, and on its way it is EARLY: see
 * work.c.
 */
#include <string.h>

#include "impl.h"

enum { GREETING_MS = 10000, LOOK_MS = 20 };	/* for peers that do not keep their word */

static DAT_LMR_TRIPLET head_of(const struct vi *vi, const struct op *op)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = vi->heads_context,
		.virtual_address = (uintptr_t)op->head,
		.segment_length = sizeof(*op->head),
	};
}

/* Before anything else is posted to the endpoint. */
DAT_RETURN greeting_expect_locked(struct vi *vi)
{
	struct op *op = greeting_op(&vi->recvq);
	DAT_LMR_TRIPLET iov = head_of(vi, op);
	DAT_RETURN ret = dat_ep_post_recv(vi->ep, 1, &iov, op_cookie(op, true),
					  DAT_COMPLETION_DEFAULT_FLAG);

	/* relaxed: whoever posts has heard of the connection, which is made after this */
	if (ret == DAT_SUCCESS)
		atomic_store_explicit(&vi->held, true, memory_order_relaxed);
	return ret;
}

/* The program has not heard of the connection yet. If this fails, the connection does. */
void greeting_send_locked(struct vi *vi)
{
	struct op *op = greeting_op(&vi->sendq);
	DAT_LMR_TRIPLET iov = head_of(vi, op);

	*op->head = (struct wire_head){ .kind = WIRE_GREETING };
	dat_ep_post_send(vi->ep, 1, &iov, op_cookie(op, true), DAT_COMPLETION_SUPPRESS_FLAG);
}

/* The work's lock is held. It may have been flushed. */
void greeting_come_locked(struct vi *vi)
{
	/* relaxed: what was received, and what may be sent now, is uDAPL's to order */
	atomic_store_explicit(&vi->held, false, memory_order_relaxed);
}

/* Waits until requests may be posted. No lock is held: the greeting may have to be fetched. */
void greeting_await(struct vi *vi)
{
	uint64_t until = now_ms() + GREETING_MS;
	struct work *w = vi->recvq.work;

	pthread_mutex_lock(&w->lock);
	/* relaxed: it is cleared under this lock, or with the connection */
	while (atomic_load_explicit(&vi->held, memory_order_relaxed) && now_ms() < until)
		if (!work_poll_locked(w))
			work_wait_locked(w, now_ms() + LOOK_MS);
	pthread_mutex_unlock(&w->lock);
	atomic_store_explicit(&vi->held, false, memory_order_relaxed);
}
