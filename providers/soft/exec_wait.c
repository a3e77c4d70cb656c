/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for accesses to end. A thread that closes a port or frees memory notes the holder of a direction's
 * execution lock and what this process's own threads are copying at that time. It waits until that holder has
 * released the lock and these copies are over, except those that do not access what it frees (copying.h). exec.c
 * takes and releases that lock, and copies.
 */
#include "exec.h"
#include "bound.h"
#include "copying.h"
#include "peer.h"
#include "providers/common/base/pause.h"

#ifndef EXEC_LOOK /* the model checker checks more often */
#define EXEC_LOOK 64 /* rounds between checks whether the holder is alive */
#endif

uint32_t soft_last_mark = 1;

/* The bits of the lock word that may change while one holder keeps the lock. */
#define EXEC_SAME_HOLDING (SOFT_EXEC_AGAIN | SOFT_EXEC_TARGET | SOFT_EXEC_HELPED)

void soft_exec_look(struct soft_exec_watch *watch, const struct soft_ep *ep, struct soft_port *port)
{
	watch->ep = ep;
	watch->port = port;
	/* sequentially consistent, both: after the caller's store that forbids new accesses; see soft_work_begin() */
	watch->exec_lock = atomic_load(&port->exec_lock);
	watch->at_work = __atomic_load_n(&ep->at_work, __ATOMIC_SEQ_CST);
}

bool soft_exec_own_works(const struct soft_exec_watch *watch)
{
	/* acquire: makes the writes of that thread visible */
	return watch->at_work & 1 &&
	       __atomic_load_n(&watch->ep->at_work, __ATOMIC_ACQUIRE) == watch->at_work;
}

bool soft_exec_let_go(const struct soft_exec_watch *watch)
{
	/* acquire: makes the writes of the holder visible */
	uint64_t word = atomic_load_explicit(&watch->port->exec_lock, memory_order_acquire);

	return !(watch->exec_lock & SOFT_EXEC_HELD) || !(word & SOFT_EXEC_HELD) ||
	       ((word ^ watch->exec_lock) & ~(uint64_t)EXEC_SAME_HOLDING);
}

bool soft_exec_await(const struct soft_exec_watch *watch, struct soft_peer *peer, const struct soft_exec_for *what, uint64_t *until,
		     uint64_t *looked)
{
	const uint32_t *past = what->past;

	for (unsigned int i = 1;; i++) {
		bool initiator, spared = what->freed && soft_copying_spares(&watch->ep->copying, what->freed, &initiator);
		bool own = !spared && soft_exec_own_works(watch);

		/* that thread holds this execution lock, or helps the peer with the same copy */
		if (spared && initiator == what->initiator)
			return true;
		if (!own && soft_exec_let_go(watch))
			return true;
		/* acquire: makes visible what was done for the requests before that position */
		if (!own && past &&
		    (int32_t)(atomic_load_explicit(&watch->port->sq_done, memory_order_acquire) - *past) >= 0)
			return true;
		/* the kernel knows whether the process exists, whatever the shared words say */
		if (!own && i % EXEC_LOOK == 0 && soft_peer_lost(peer))
			return true;
		/*
		 * That for a thread of this process has no bound, because it would still access the memory. The clock is read each
		 * time, because each nap may be long on a busy machine
		 */
		if (!own && soft_bound_over(until, looked))
			return soft_peer_lost(peer);
		pause_briefly(i);
	}
}

bool soft_exec_wait_for(struct soft_ep *ep, struct soft_port *port, struct soft_peer *peer, const struct soft_exec_for *what,
			uint64_t until)
{
	struct soft_exec_watch watch;
	uint64_t looked = soft_now_ms();

	soft_exec_look(&watch, ep, port);
	return soft_exec_await(&watch, peer, what, &until, &looked);
}

void soft_exec_take_back(struct soft_port *port)
{
	uint64_t word = atomic_load_explicit(&port->exec_lock, memory_order_relaxed);

	/* a target that holds the lock of a port of ours is the peer, which has died; acquire: makes visible what it had written */
	for (unsigned int tries = SOFT_TRIES; tries && (word & SOFT_EXEC_HELD) && (word & SOFT_EXEC_TARGET);
	     tries--)
		if (atomic_compare_exchange_weak_explicit(
			    &port->exec_lock, &word, SOFT_EXEC_NEXT(word, SOFT_EXEC_GEN(word)),
			    memory_order_acq_rel, memory_order_relaxed))
			return;
}
