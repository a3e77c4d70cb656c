/* SPDX-License-Identifier: BSD-2-Clause */
/* The executor of a direction: executes an initiator's queued requests, on the side that comes second. */
#ifndef SOFT_EXEC_H
#define SOFT_EXEC_H

#include "soft.h"

struct soft_request;
struct soft_right;

/*
 * Executes what can be executed now of the requests of `ep` (initiator) or of its peer (otherwise).
 * Returns true if something was executed. If the other side holds the execution lock it returns at
 * once, and the other side goes round again. EP lock held.
 */
bool soft_exec_run(struct soft_ep *ep, bool initiator);

/*
 * As soft_exec_run() of the initiator, for a thread that has taken the execution lock itself: executes what is in the
 * queue, and releases the lock. EP lock held, between soft_work_begin() and soft_work_end().
 */
void soft_exec_go_on(struct soft_ep *ep);

/*
 * Leaves the rest of these requests to the next poll of the queue that gets this direction's
 * completions, or to the progress thread if nobody polls. EP lock, open.
 */
void soft_exec_later(struct soft_ep *ep, bool initiator);

/*
 * Executes an atomic operation of this side on a word of the peer that is mapped here; the old value goes into the request `e`.
 * Returns false if the word is not mapped, or if the right is lost. Execution lock held, the operation has been checked.
 */
bool soft_exec_atomic(struct soft_peer *peer, const struct soft_right *right, const struct soft_request *r,
		      const struct datp_rge *word, struct soft_sqe *e);

/*
 * Called after soft_exec_run() for the send with number `msg`, posted at `seq`: if this side has
 * not executed it, a cell keeps its place among the target's messages from now on. Otherwise a later
 * message over another endpoint could overtake it. EP lock.
 */
void soft_exec_keep_place(struct soft_ep *ep, uint32_t seq, uint32_t msg);

/*
 * Marks tell accesses apart: whoever has made a context invalid, and then calls soft_work_mark(), need not wait for an access whose
 * soft_ep.work_mark is that mark or a later one. Builtins, as below.
 */
extern uint32_t soft_last_mark;

/* Never 0. Sequentially consistent: comes after what the caller has made invalid. */
static inline uint32_t soft_work_mark(void)
{
	uint32_t mark = __atomic_add_fetch(&soft_last_mark, 1, __ATOMIC_SEQ_CST);

	return mark ? mark : __atomic_add_fetch(&soft_last_mark, 1, __ATOMIC_SEQ_CST);
}

static inline void soft_work_note(struct soft_ep *ep)
{
	/*
	 * acquire: the checks of this access find what was made invalid before the mark. release: whoever finds the mark finds the
	 * access before this one ended
	 */
	__atomic_store_n(&ep->work_mark, __atomic_load_n(&soft_last_mark, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

/*
 * Note the begin and the end of an access to memory for this endpoint by a thread of this process: soft_ep.at_work is odd
 * in between. Only this process can write that word. The functions use the compiler's builtins, because the model checker
 * replaces C11's atomics in these files, and this word is not shared. EP lock.
 */
static inline void soft_work_begin(struct soft_ep *ep)
{
	soft_work_note(ep);
	/*
	 * Sequentially consistent, as the loads of the checks that follow: either those find what
	 * the caller of soft_exec_look() has done, or soft_exec_look() finds this.
	 */
	__atomic_store_n(&ep->at_work, ep->at_work + 1, __ATOMIC_SEQ_CST);
}

/*
 * The same for a thread whose next step is to take the execution lock, by a sequentially consistent compare-exchange. Its
 * release comes after this store, and the sequentially consistent loads of the checks come after it. So a thread that reads
 * the lock before this word finds this, if it finds the lock held; and one that reads this word alone, after it has forced a full
 * fence on all threads (share.c), finds this, or the checks find what it has done. Without the lock the caller accesses nothing
 * before it calls soft_work_begin().
 */
static inline void soft_work_begin_with_lock(struct soft_ep *ep)
{
	soft_work_note(ep);
	__atomic_store_n(&ep->at_work, ep->at_work + 1, __ATOMIC_RELAXED);
}

static inline void soft_work_end(struct soft_ep *ep)
{
	/* release: comes after all accesses to the memory */
	__atomic_store_n(&ep->at_work, ep->at_work + 1, __ATOMIC_RELEASE);
}

/*
 * The parts of soft_exec_wait(), for a thread that must not wait: soft_exec_look() notes what
 * is under way, soft_exec_own_works() returns true if a thread of this process still works on that,
 * and soft_exec_let_go() if the holder has released the execution lock since, according to the shared words.
 */
void soft_exec_look(struct soft_exec_watch *watch, const struct soft_ep *ep, struct soft_port *port);
bool soft_exec_own_works(const struct soft_exec_watch *watch);
bool soft_exec_let_go(const struct soft_exec_watch *watch);

/* What soft_exec_wait_for() waits for. */
struct soft_exec_for {
	const uint32_t *past;		/* see soft_exec_wait(); or NULL */
	const struct soft_freed *freed; /* the accesses to this alone, if they are those of this process; NULL: all */
	bool initiator;			/* with `freed`: this side is the initiator, whose port it is */
};

/* As soft_exec_wait_for(), for what was under way when `watch` was noted. *looked: see soft_bound_over(). */
bool soft_exec_await(const struct soft_exec_watch *watch, struct soft_peer *peer, const struct soft_exec_for *what, uint64_t *until,
		     uint64_t *looked);

/*
 * As soft_exec_wait(), but a thread of this process that copies something else than what is being freed is not waited for: the peer
 * could hold up that copy without end. The caller has executed a full fence after it has made the context invalid.
 */
bool soft_exec_wait_for(struct soft_ep *ep, struct soft_port *port, struct soft_peer *peer, const struct soft_exec_for *what,
			uint64_t until);

/*
 * Waits until the present holder of this port's execution lock, a thread of this process or of the peer, has released it,
 * and until every thread of this process that copied for the endpoint at the time of the call has finished. The
 * wait also ends when all requests before `past`, a position in the port's queue, are done. Returns true if nobody
 * touches the memory any more, or if the kernel says that the peer has died; returns false if the peer lives and
 * has not released it at the time `until` (soft_bound()). The caller holds no lock that the holder may take, and
 * not soft_ia.lock.
 */
static inline bool soft_exec_wait(struct soft_ep *ep, struct soft_port *port, struct soft_peer *peer,
				  const uint32_t *past, uint64_t until)
{
	return soft_exec_wait_for(ep, port, peer, &(struct soft_exec_for){ .past = past }, until);
}

/* Takes the execution lock back from a peer that has died, perhaps while holding it. No thread of this process holds it. */
void soft_exec_take_back(struct soft_port *port);

#endif
