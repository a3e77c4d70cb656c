/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bounce path: a thread of an IA, its bounce thread, copies between its own process's memory
 * and the mailboxes of peers that the kernel does not let in (containers, Yama, seccomp). The locks
 * that it takes are never held by a thread that waits for another process, so two processes may ask
 * each other at the same time.
 *
 * An honest asker has checked rights and bounds, and holds the execution lock of the connection,
 * exactly as if it copied itself. The bounce thread does not trust what a hostile asker writes into
 * its mailbox: a question names no address, but a request that is posted on an open connection of
 * that peer. The bounce thread finds out as the request's target or initiator which memory that is
 * and whether it is read or written, and checks it against what no peer can write to: the private
 * table of regions (mr.c), the PZ of the endpoint, and the connection that the endpoint has.
 *
 * Invariant: when the program learns that a receive or a request has completed, the bounce thread accesses its memory no more,
 * whatever the peer has said, and when: see soft_bounce_passed().
 */
#define _GNU_SOURCE
#include "bounce.h"
#include "bound.h"
#include "mr.h"
#include "peer.h"
#include "request.h"
#include "run.h"
#include "send.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BOUNCE_SPIN 200
#define BOUNCE_YIELDS 100 /* for those who wait for the lock, which they only take and release */
#define BOUNCE_LOOK_NS                                                                             \
	50000000L /* the interval at which a sleeping asker checks whether the peer is alive */
/*
 * The bounce thread sleeps no longer than this before it looks by itself. Each peer maps the word on which it sleeps, and can move
 * it to a word of its own (FUTEX_CMP_REQUEUE), where no wake-up reaches it: neither another peer's nor that of soft_bounce_stop().
 */
#define BOUNCE_SLEEP_NS 500000000L

struct soft_bounce {
	struct soft_ia *ia;
	pthread_t thread;
	_Atomic uint32_t lock;
	_Atomic uint32_t awaited; /* threads in soft_bounce_quiesce(): the bounce thread lets them have the lock first */
	struct soft_peer *clients[SOFT_PORT_MAX / 64]; /* lock */
	unsigned int count;			       /* lock */
	_Atomic uint32_t context; /* of the target, by which the piece under way is looked up and copied; 0: none */
	bool cma; /* the kernel allows copies within this process: faults are errors, not signals */
	_Atomic bool stop;
};

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns false after the time-out. */
static bool futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0) == 0 ||
	       errno != ETIMEDOUT;
}

/* What this process asks a peer's bounce thread for: the pieces of a request. */
struct ask {
	struct soft_peer *peer;
	const struct soft_right *right;
	bool write;
	uint64_t until, looked; /* for the present piece; see soft_bound_over() */
	uint64_t late_ms;	/* how long those pieces have taken that took more than a part of the bound */
};

/*
 * Waits for the answer. Returns 0, ESRCH if the peer has died, or ETIMEDOUT if it does not answer
 * before the deadline.
 */
static int ask_wait(struct ask *ask)
{
	const struct timespec look = { 0, BOUNCE_LOOK_NS };
	struct soft_mailbox *b = ask->peer->mailbox;

	for (unsigned int i = 0;; i++) {
		/* acquire: makes the data and the error that the bounce thread wrote visible */
		if (atomic_load_explicit(&b->state, memory_order_acquire) == SOFT_MAILBOX_DONE)
			return 0;
		if (i <= BOUNCE_SPIN)
			continue;
		/* the peer may end the sleep again and again, so the time is checked each time */
		if (!futex_wait(&b->state, SOFT_MAILBOX_ASKED, &look) && soft_peer_lost(ask->peer))
			return ESRCH;
		if (soft_bound_over(&ask->until, &ask->looked))
			return ETIMEDOUT;
	}
}

/*
 * The same, with the bound from now on. Pieces that take long have one bound together: a peer that runs answers most of them
 * sooner, also where its bounce thread serves many others on a busy machine.
 */
static int ask_wait_in_time(struct ask *ask)
{
	const struct soft_ia *ia = ask->peer->ia;
	const uint64_t began = soft_now_ms(), until = soft_bound(ia);
	uint64_t took;
	int error;

	ask->until = until;
	ask->looked = began;
	error = ask_wait(ask);
	(void)soft_bound_over(&ask->until, &ask->looked);
	took = ask->looked - began - (ask->until - until); /* not what this process was stopped */
	if (took > soft_bound_call(ia))
		ask->late_ms += took;
	return error;
}

/* Returns the bounce thread's result of a copy. A peer writes it, so it becomes no value that has another meaning here. */
static int bounce_error(int32_t said)
{
	return !said || said == ESRCH ? said : EFAULT;
}

bool soft_bounce_owes(const struct soft_peer *peer)
{
	/*
	 * Only with a question of ours in the mailbox does its state count, because the peer can write any state there at any
	 * time. acquire: an answer that came late comes after all that the bounce thread has written to the mailbox
	 */
	return peer->mailbox_asked &&
	       atomic_load_explicit(&peer->mailbox->state, memory_order_acquire) == SOFT_MAILBOX_ASKED;
}

/* Copies one mailbox: `len` bytes from `offset` on. */
static int ask_piece(struct ask *ask, bool ordered, struct soft_list *local, uint64_t offset, uint64_t len)
{
	struct soft_peer *peer = ask->peer;
	struct soft_mailbox *b = peer->mailbox;
	struct soft_list data;
	int error;

	/* the bounce thread has not answered the last question, and this does not wait for it again */
	if (soft_bounce_owes(peer))
		return ETIMEDOUT;
	soft_list_one(&data, (uintptr_t)b->data, len);
	if (ask->write)
		soft_copy_list(&data, local, len, false);
	b->port = ask->right->port;
	b->gen = ask->right->gen;
	b->seq = ask->right->seq;
	b->initiator = ask->right->initiator;
	b->offset = offset;
	b->len = len;
	/* release: publishes the question; the bounce thread acquires it */
	atomic_store_explicit(&b->state, SOFT_MAILBOX_ASKED, memory_order_release);
	atomic_fetch_add_explicit(&peer->header->bounce_bell, 1, memory_order_release);
	futex_wake(&peer->header->bounce_bell);
	error = ask_wait_in_time(ask);
	peer->mailbox_asked = error == ETIMEDOUT;
	if (error == ETIMEDOUT)
		return error; /* the mailbox still belongs to the bounce thread */
	if (!error) {
		error = bounce_error(SOFT_ONCE(b->error));
		if (!error && !ask->write)
			soft_copy_list(local, &data, len, ordered);
	}
	atomic_store_explicit(&b->state, SOFT_MAILBOX_IDLE, memory_order_relaxed);
	return error;
}

int soft_bounce_ask(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
		    const struct soft_right *right, uint64_t len)
{
	struct ask ask = { .peer = peer, .right = right, .write = write };
	uint64_t offset = 0, began;
	int error = 0;

	datp_lock(&peer->mailbox_lock);
	began = soft_now_ms();
	while (offset != len && !error) {
		uint64_t step = len - offset < SOFT_MAILBOX_SIZE ? len - offset : SOFT_MAILBOX_SIZE;

		error = ask_piece(&ask, ordered && offset + step == len, local, offset, step);
		offset += step;
		if (!error && offset != len && ask.late_ms >= peer->ia->patience_ms)
			error = ETIMEDOUT;
	}
	/* relaxed: see soft_bounce_waited() */
	__atomic_store_n(&peer->mailbox_waited, peer->mailbox_waited + (soft_now_ms() - began), __ATOMIC_RELAXED);
	datp_unlock(&peer->mailbox_lock);
	return error;
}

/* ---- the answering side ---- */

/* What a question is about, as copies, because the peer may change the originals at any time. */
struct question {
	uint32_t port, gen, seq;
	bool initiator; /* the asker is the request's initiator */
	uint64_t offset, len;
	/* from the endpoint and its connection */
	struct soft_port *ip, *tp; /* the initiator's and the target's port */
	struct soft_layout il, tl;
	uint32_t pz;
	struct soft_ep *ep; /* NULL until it is found */
	/* the result */
	struct soft_request r;
	struct soft_sink sink;
	struct soft_list ours;
	bool write, ordered; /* `write`: to our memory */
};

/*
 * Finds the connection that the question names. Returns false if the asker does not have it.
 * bounce->lock held, so the peer stays.
 */
static bool question_connection(const struct soft_bounce *bounce, const struct soft_peer *asker,
				struct question *q)
{
	struct soft_ia *ia = bounce->ia;
	struct soft_ep *ep;
	bool good;

	if (q->port >= SOFT_PORT_MAX || !q->gen)
		return false;
	datp_lock(&ia->lock);
	ep = atomic_load_explicit(&ia->ports[q->port], memory_order_relaxed);
	/* sequentially consistent: see teardown_begin(); it also acquires the connection as it was set up */
	good = ep && ep->peer == asker && ep->rport && atomic_load(&ep->bounce_gen) == q->gen;
	if (good) {
		q->ip = q->initiator ? ep->rport : ep->port;
		q->tp = q->initiator ? ep->port : ep->rport;
		q->il = q->initiator ? ep->rlayout : ep->layout;
		q->tl = q->initiator ? ep->layout : ep->rlayout;
		q->pz = soft_pz_id(ep->base.pz);
		q->ep = ep;
	}
	datp_unlock(&ia->lock);
	return good;
}

/* Says which receive or request of this side is accessed, before it is checked that it has not completed. */
static void question_serves(const struct question *q, uint64_t what)
{
	/* sequentially consistent, as the loads of the counts that follow: see soft_bounce_await() */
	atomic_store(&q->ep->bounce_serves, what);
}

/* Copies the request that the question names. Returns false if it is not posted, or done already. */
static bool question_request(struct question *q)
{
	/* acquire, both: make the content of the request visible */
	uint32_t done = atomic_load_explicit(&q->ip->sq_done, memory_order_acquire);
	uint32_t posted = atomic_load_explicit(&q->ip->sq_posted, memory_order_acquire);

	if (!q->initiator)
		question_serves(q, SOFT_BOUNCE_REQUEST(q->seq));
	return q->seq - done < posted - done && posted - done <= q->il.sq_mask + 1 &&
	       (q->initiator ? soft_request_copy(&q->r, soft_port_sqe(q->ip, &q->il, q->seq), &q->il) :
			       soft_request_own(&q->r, q->ep, q->seq)) &&
	       q->offset <= q->r.len && q->len <= q->r.len - q->offset;
}

/* Finds our memory as the request's target: a receive, or what the remote part of the request names. */
static bool question_target(struct soft_bounce *bounce, struct question *q)
{
	struct datp_rge remote = q->r.remote;
	struct datp_sge whole = { .addr = remote.addr, .len = q->r.len };

	q->write = !soft_is_read(q->r.op);
	q->ordered = (q->r.op == DATP_RDMA_WRITE || q->r.op == DATP_WRITE_IMM) && q->offset + q->len == q->r.len;
	if (q->r.op == DATP_SEND || q->r.op == DATP_SEND_INVALIDATE) {
		question_serves(q, SOFT_BOUNCE_RECEIVE(q->r.msg));
		if (!soft_receive_own(&q->sink, q->ep, q->r.msg) ||
		    q->r.len > soft_sge_bytes(q->sink.sge, (int)q->sink.n) ||
		    !soft_mr_owns_segments(bounce->ia, q->pz, q->sink.sge, q->sink.n, true))
			return false;
		soft_list_sge(&q->ours, q->sink.sge, (int)q->sink.n);
		return true;
	}
	remote.len = q->r.len;
	/* release: what was copied by an earlier context comes before; see soft_bounce_await_window() */
	atomic_store_explicit(&bounce->context, remote.rmr_context, memory_order_release);
	if (!soft_mr_owns_target(bounce->ia, q->pz, &remote,
				 q->write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
					    DAT_MEM_PRIV_REMOTE_READ_FLAG))
		return false;
	soft_list_sge(&q->ours, &whole, 1);
	return true;
}

/* Finds our memory as the initiator: the local part of the request. */
static bool question_source(const struct soft_ia *ia, struct question *q)
{
	q->write = soft_is_read(q->r.op);
	q->ordered = false;
	if (q->r.len > soft_sge_bytes(q->r.sge, (int)q->r.n) ||
	    !soft_mr_owns_segments(ia, q->pz, q->r.sge, q->r.n, q->write))
		return false;
	soft_list_sge(&q->ours, q->r.sge, (int)q->r.n);
	return true;
}

/* Finds out which memory the question is about. Returns false if the asker has no right to it. bounce->lock held. */
static bool question_understand(struct soft_bounce *bounce, const struct soft_peer *asker,
				const struct soft_mailbox *b, struct question *q)
{
	*q = (struct question){ .port = SOFT_ONCE(b->port),
				.gen = SOFT_ONCE(b->gen),
				.seq = SOFT_ONCE(b->seq),
				.initiator = SOFT_ONCE(b->initiator) != 0,
				.offset = SOFT_ONCE(b->offset),
				.len = SOFT_ONCE(b->len) };
	if (q->len > SOFT_MAILBOX_SIZE || !question_connection(bounce, asker, q) ||
	    !question_request(q))
		return false;
	if (!soft_is_message(q->r.op) && q->r.op != DATP_RDMA_WRITE && !soft_is_read(q->r.op))
		return false;
	if (!(q->initiator ? question_target(bounce, q) : question_source(bounce->ia, q)))
		return false;
	soft_list_skip(&q->ours, q->offset);
	return true;
}

/* Copies between our memory and the mailbox. The ranges have been checked. Returns 0 or an errno. */
static int bounce_copy(const struct soft_bounce *bounce, struct soft_list *ours,
		       struct soft_list *data, uint64_t len, bool write, bool ordered)
{
	/* an attempt that fails has used up a part of its lists, and then all of it is copied again */
	struct soft_list ours_tried = *ours, data_tried = *data;
	int error = ENOSYS;

	if (bounce->cma)
		error = soft_cma(getpid(), write, ordered, &data_tried, &ours_tried, len);
	if (error != ENOSYS && error != EPERM)
		return error;
	if (write)
		soft_copy_list(ours, data, len, ordered);
	else
		soft_copy_list(data, ours, len, false);
	return 0;
}

/* Answers a question. bounce->lock held, for which soft_bounce_quiesce() waits. */
static void bounce_serve_locked(struct soft_bounce *bounce, const struct soft_peer *asker)
{
	struct soft_mailbox *b = asker->asks;
	struct soft_list data;
	struct question q;

	if (question_understand(bounce, asker, b, &q)) {
		soft_list_one(&data, (uintptr_t)b->data, q.len);
		b->error = bounce_copy(bounce, &q.ours, &data, q.len, q.write, q.ordered);
	} else {
		/*
		 * Memory without a right to it is answered like memory that does not exist. But that this side has ended the
		 * connection is no error of the request: the asker is about to hear of the end.
		 */
		b->error = q.ep ? EFAULT : ESRCH;
	}
	/* release: comes after all accesses to our memory; soft_bounce_await() acquires it */
	if (q.ep)
		atomic_store_explicit(&q.ep->bounce_serves, 0, memory_order_release);
	/* release: as above; soft_bounce_await_window() acquires it */
	atomic_store_explicit(&bounce->context, 0, memory_order_release);
	/* release: publishes the data and the error; ask_wait() acquires them */
	atomic_store_explicit(&b->state, SOFT_MAILBOX_DONE, memory_order_release);
	futex_wake(&b->state);
}

/* Answers the question of client `i`, if there is such a client and it asks. */
static void client_serve(struct soft_bounce *bounce, unsigned int i)
{
	const struct soft_peer *asker;

	/* whoever waits for a copy under way waits for one piece, and not for those of all clients */
	for (unsigned int n = 0; n < BOUNCE_YIELDS && atomic_load_explicit(&bounce->awaited, memory_order_relaxed); n++)
		sched_yield();
	datp_lock(&bounce->lock);
	asker = i < bounce->count ? bounce->clients[i] : NULL;
	/* acquire: makes the question visible */
	if (asker && atomic_load_explicit(&asker->asks->state, memory_order_acquire) == SOFT_MAILBOX_ASKED)
		bounce_serve_locked(bounce, asker);
	datp_unlock(&bounce->lock);
}

static void *bounce_run(void *arg)
{
	struct soft_bounce *bounce = arg;
	_Atomic uint32_t *bell = &bounce->ia->header->bounce_bell;
	const struct timespec look = { 0, BOUNCE_SLEEP_NS };

	while (!atomic_load_explicit(&bounce->stop, memory_order_acquire)) {
		/* acquire: makes every question visible that was asked before the word was counted up */
		uint32_t seen = atomic_load_explicit(bell, memory_order_acquire);
		unsigned int i;

		/* downwards: when a client leaves, the last one takes its place, and has been looked at by then */
		datp_lock(&bounce->lock);
		i = bounce->count;
		datp_unlock(&bounce->lock);
		while (i)
			client_serve(bounce, --i);
		(void)futex_wait(bell, seen, &look);
	}
	return NULL;
}

static enum datp_err bounce_start(struct soft_ia *ia)
{
	struct soft_bounce *bounce = calloc(1, sizeof *bounce);

	if (!bounce)
		return DATP_ERR_MEMORY;
	bounce->ia = ia;
	bounce->cma = soft_xfer_allowed();
	if (soft_run(&bounce->thread, bounce_run, bounce)) {
		free(bounce);
		return DATP_ERR_DEVICE;
	}
	/* sequentially consistent, as the load of `dead` below: see soft_bounce_leave() */
	atomic_store(&ia->bounce, bounce);
	return DATP_OK;
}

/* Has each completion of the peer's connections look at what the bounce thread serves, from now on. Service thread. */
static void completions_look(struct soft_peer *peer)
{
	/*
	 * relaxed, both: only this thread writes it, and the fence has all threads see it, or the bounce thread what they have
	 * counted before; see soft_bounce_passed()
	 */
	if (atomic_load_explicit(&peer->bounces, memory_order_relaxed))
		return;
	atomic_store_explicit(&peer->bounces, true, memory_order_relaxed);
	datp_bias_fence();
}

enum datp_err soft_bounce_serve(struct soft_ia *ia, struct soft_peer *peer,
				const struct soft_ref *mailbox)
{
	struct soft_mailbox *asks = soft_peer_map(peer, mailbox, sizeof *asks);
	/* relaxed, here and below: this thread has started it */
	enum datp_err err = atomic_load_explicit(&ia->bounce, memory_order_relaxed) ?
				    DATP_OK :
				    bounce_start(ia);
	struct soft_bounce *bounce = atomic_load_explicit(&ia->bounce, memory_order_relaxed);
	bool kept = false;

	if (err || !asks) {
		soft_peer_unmap(peer, asks);
		return err ? err : DATP_ERR_MEMORY;
	}
	completions_look(peer);
	datp_lock(&bounce->lock);
	if (atomic_load(&peer->dead)) {
		err = DATP_ERR_DEVICE;
	} else if (peer->asks) {
		err = DATP_OK;
	} else if (bounce->count == sizeof bounce->clients / sizeof *bounce->clients) {
		err = DATP_ERR_DEVICE;
	} else {
		peer->asks = asks;
		kept = true;
		bounce->clients[bounce->count++] = peer;
	}
	datp_unlock(&bounce->lock);
	if (!kept)
		soft_peer_unmap(peer, asks);
	/* the peer may have asked already */
	atomic_fetch_add_explicit(&ia->header->bounce_bell, 1, memory_order_release);
	futex_wake(&ia->header->bounce_bell);
	return err;
}

void soft_bounce_leave(struct soft_ia *ia, struct soft_peer *peer)
{
	/*
	 * sequentially consistent: for a peer whose death we know, either we see the bounce thread
	 * here, or the bounce thread that is being started sees the death
	 */
	struct soft_bounce *bounce = atomic_load(&ia->bounce);

	if (!bounce)
		return;
	datp_lock(&bounce->lock);
	for (unsigned int i = 0; i < bounce->count; i++)
		if (bounce->clients[i] == peer)
			bounce->clients[i--] = bounce->clients[--bounce->count];
	peer->asks = NULL;
	datp_unlock(&bounce->lock);
}

void soft_bounce_quiesce(struct soft_ia *ia)
{
	/* sequentially consistent: see mr_owned(). A bounce thread that starts later sees what our caller has done */
	struct soft_bounce *bounce = atomic_load(&ia->bounce);

	if (!bounce)
		return;
	/* relaxed, both: a hint to the bounce thread */
	atomic_fetch_add_explicit(&bounce->awaited, 1, memory_order_relaxed);
	datp_lock(&bounce->lock);
	datp_unlock(&bounce->lock);
	atomic_fetch_sub_explicit(&bounce->awaited, 1, memory_order_relaxed);
}

void soft_bounce_await_window(struct soft_ia *ia, uint32_t context)
{
	struct soft_bounce *bounce = atomic_load(&ia->bounce); /* as in soft_bounce_quiesce() */

	/*
	 * The bounce thread stores a context before it looks for the record, under windows_lock, which the caller has taken to
	 * drop the record. If the lookup comes second, it finds nothing. If it comes first, the lock makes that store visible
	 * here, and this load finds the context, or what the bounce thread has stored since then. acquire: that came after the
	 * piece
	 */
	if (bounce && atomic_load_explicit(&bounce->context, memory_order_acquire) == context)
		soft_bounce_quiesce(ia);
}

void soft_bounce_await(struct soft_ep *ep, uint64_t what)
{
	/*
	 * Sequentially consistent, all, as in question_serves() and the checks behind it: either the bounce thread finds the
	 * count, and refuses, or this finds what it serves. The counts are written once more, because soft_recv_count() and
	 * soft_sq_reaped() write them relaxed. An honest peer says that an operation is done when it has the answer, so there
	 * is nothing to wait for.
	 */
	__atomic_store_n(&ep->in_msg, ep->in_msg, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ep->sq_reaped, ep->sq_reaped, __ATOMIC_SEQ_CST);
	while (atomic_load(&ep->bounce_serves) == what)
		soft_bounce_quiesce(soft_ia(ep->base.obj.ia));
}

void soft_bounce_stop(struct soft_ia *ia)
{
	/* relaxed: all other threads have left the IA */
	struct soft_bounce *bounce = atomic_load_explicit(&ia->bounce, memory_order_relaxed);

	if (!bounce)
		return;
	atomic_store_explicit(&bounce->stop, true, memory_order_release);
	atomic_fetch_add_explicit(&ia->header->bounce_bell, 1, memory_order_release);
	futex_wake(&ia->header->bounce_bell);
	pthread_join(bounce->thread, NULL);
	free(bounce);
	atomic_store_explicit(&ia->bounce, NULL, memory_order_relaxed);
}
