/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns greetings. On iWARP the active side of a connection has to be the first to send, because a
 * message that follows the reply to its request at once breaks the connection. The VI architecture
 * has no such rule. So the library of the active side sends a header before any message of the
 * program's, and that of the passive side posts a receive for it before any of the program's.
 * Invariant: an accepted VI whose peer greets has `awaits_greeting` set, so that it posts no request, until the
 * greeting has come or the connection is over.
 *
 * A greeting's struct op is the one behind the ring of a queue, and its cookie has the bit EARLY
 * (work.c).
 */
#include <string.h>

#include "impl.h"

enum { GREETING_MS = 10000, LOOK_MS = 20 };	/* bounds, for peers that do not greet */

static DAT_LMR_TRIPLET head_of(const struct vi *vi, const struct op *op)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = vi->heads_context,
		.virtual_address = (uintptr_t)op->head,
		.segment_length = sizeof(*op->head),
	};
}

/*
 * Posts the receive for the greeting. It is the first operation of the endpoint. It is counted as the others are, so that the VI
 * is not closed while a thread has its completion in hand.
 */
DAT_RETURN greeting_expect_locked(struct vi *vi)
{
	struct op *op = greeting_op(&vi->recvq);
	DAT_LMR_TRIPLET iov = head_of(vi, op);
	DAT_RETURN ret;

	count_given(&vi->recvq, 1);
	ret = dat_ep_post_recv(vi->ep, 1, &iov, op_cookie(op, true), DAT_COMPLETION_DEFAULT_FLAG);
	/* relaxed: a thread that posts has seen the connection, which is made after this */
	if (ret == DAT_SUCCESS)
		atomic_store_explicit(&vi->awaits_greeting, true, memory_order_relaxed);
	else
		count_given(&vi->recvq, -1u);
	return ret;
}

/*
 * Sends the greeting, before the program sees the connection. A failure here also breaks the
 * connection. It is counted, as its receive is; so its completion is not suppressed.
 */
void greeting_send_locked(struct vi *vi)
{
	struct op *op = greeting_op(&vi->sendq);
	DAT_LMR_TRIPLET iov = head_of(vi, op);

	*op->head = (struct wire_head){ .kind = WIRE_GREETING };
	count_given(&vi->sendq, 1);
	if (dat_ep_post_send(vi->ep, 1, &iov, op_cookie(op, true), DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
		count_given(&vi->sendq, -1u);
}

/* Allows requests, because the greeting has come or was flushed. The work's lock is held. */
void greeting_come_locked(struct vi *vi)
{
	/* relaxed: uDAPL orders what was received, and what may be sent now */
	atomic_store_explicit(&vi->awaits_greeting, false, memory_order_relaxed);
}

/*
 * Waits until requests may be posted. No lock is held, because this thread may have to take the
 * greeting off the EVD.
 */
void greeting_await(struct vi *vi)
{
	uint64_t until = now_ms() + GREETING_MS;
	struct work *w = vi->recvq.work;

	pthread_mutex_lock(&w->lock);
	/* relaxed: it is cleared under this lock, or with the connection */
	while (atomic_load_explicit(&vi->awaits_greeting, memory_order_relaxed) && now_ms() < until)
		if (!work_poll_locked(w))
			work_wait_locked(w, now_ms() + LOOK_MS);
	pthread_mutex_unlock(&w->lock);
	atomic_store_explicit(&vi->awaits_greeting, false, memory_order_relaxed);
}
