/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the queues of a VI: rings of operations, completed in any order and popped in the order of
 * posting. Invariant: the operations between head and tail are in the queue; an operation that is
 * not DONE stays there, so that its slot is not used for another.
 *
 * A post holds vi->lock and moves the tail; a pop holds the work's lock and moves the head.
 */
#include <stdlib.h>

#include "impl.h"

static uint32_t round_up(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

/*
 * Returns the size of a VI's registered memory, for queues that have rings of that size, and a
 * greeting each: slots of SEND_SLOT bytes for requests, then slots of RECV_SLOT bytes for receives.
 */
size_t heads_size(uint32_t size)
{
	return ((size_t)size + 1) * (SEND_SLOT + RECV_SLOT);
}

static struct wire_head *head_at(const struct queue *q, uint32_t size, uint32_t i)
{
	size_t at = q->recv ? ((size_t)size + 1) * SEND_SLOT + (size_t)i * RECV_SLOT :
			      (size_t)i * SEND_SLOT;

	return (void *)(q->vi->heads + at);
}

static int queue_make_ring(struct queue *q)
{
	uint32_t size = round_up(q->depth);

	/* the last operation is for a greeting */
	q->ops = aligned_alloc(_Alignof(struct op), ((size_t)size + 1) * sizeof(*q->ops));
	if (q->ops == NULL)
		return -1;
	q->mask = size - 1;
	for (uint32_t i = 0; i <= size; i++)
		q->ops[i] = (struct op){
			.queue = q,
			.head = head_at(q, size, i),
			.phase = OP_DONE,
		};
	return 0;
}

/*
 * Returns the number of events that a queue can have on its EVD: a request may be two operations
 * (post.c), and there may be a greeting.
 */
uint32_t queue_events(const struct queue *q)
{
	return (q->recv ? q->depth : 2 * q->depth) + (q->vi->nic->greets ? 1 : 0);
}

VIP_RETURN queue_open(struct queue *q, struct vi *vi, bool recv, struct cq *cq)
{
	struct nic *nic = vi->nic;
	VIP_RETURN ret = VIP_SUCCESS;
	int own;

	q->vi = vi;
	q->recv = recv;
	q->depth = nic->depth;
	if (queue_make_ring(q))
		return VIP_ERROR_RESOURCE;
	if (cq == NULL) {
		q->work = &q->own;
		if (work_open(&q->own, nic, NULL, queue_events(q)))
			ret = VIP_ERROR_RESOURCE;
	} else {
		q->work = &cq->work;
		own = cancel_off();
		pthread_mutex_lock(&nic->lock);
		ret = cq_use(cq, queue_events(q));
		pthread_mutex_unlock(&nic->lock);
		cancel_restore(own);
	}
	if (ret != VIP_SUCCESS) {
		free(q->ops);
		q->ops = NULL;
	}
	return ret;
}

/* Closes a queue. It is empty, and the endpoint is freed. */
void queue_close(struct queue *q)
{
	struct nic *nic = q->vi->nic;
	struct cq *cq = q->work->cq;

	if (cq == NULL) {
		work_close(&q->own);
	} else {
		cq_forget(cq, q->vi);
		pthread_mutex_lock(&nic->lock);
		cq->users--;
		cq->reserved -= queue_events(q);
		pthread_mutex_unlock(&nic->lock);
	}
	free(q->ops);
}

uint32_t queue_length(struct queue *q)
{
	/* relaxed: a snapshot; another thread may post meanwhile */
	return atomic_load_explicit(&q->tail, memory_order_relaxed) -
	       atomic_load_explicit(&q->head, memory_order_relaxed);
}

bool queue_empty(struct queue *q)
{
	return queue_length(q) == 0;
}

/* Returns the first operation in the queue, or NULL if it is empty. */
struct op *queue_head_locked(struct queue *q)
{
	/* relaxed: written under this lock; acquire: the operations before the tail are filled in */
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (head == atomic_load_explicit(&q->tail, memory_order_acquire))
		return NULL;
	return &q->ops[head & q->mask];
}

static bool done(struct op *op)
{
	/* relaxed: DONE is written under the lock that is held here */
	return atomic_load_explicit(&op->phase, memory_order_relaxed) == OP_DONE;
}

/* Returns whether the first descriptor of the queue is completed, and takes events off the EVD only until it is. */
bool queue_ready_locked(struct queue *q)
{
	struct op *op = queue_head_locked(q);

	while (op != NULL && !done(op))
		if (!work_poll_locked(q->work))
			return false;
	return op != NULL;
}

/*
 * Takes the first descriptor if it is completed, and takes events off the EVD only until it is.
 * Returns VIP_NOT_DONE if it is not completed, and VIP_DESCRIPTOR_ERROR if it has failed or, with
 * *descriptor NULL, if the queue is empty.
 */
VIP_RETURN queue_pop_locked(struct queue *q, VIP_DESCRIPTOR **descriptor)
{
	struct op *op = queue_head_locked(q);
	bool failed;

	*descriptor = NULL;
	if (op == NULL)
		return VIP_DESCRIPTOR_ERROR;
	if (!queue_ready_locked(q))
		return VIP_NOT_DONE;
	*descriptor = op->descriptor;
	failed = op->status & VIP_STATUS_ERROR_MASK;
	/* release: the slot was read before a post may write to it; relaxed: under the lock */
	atomic_store_explicit(&q->head,
			      atomic_load_explicit(&q->head, memory_order_relaxed) + 1,
			      memory_order_release);
	return failed ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}

/*
 * Returns whether an operation of a queue that does not survive a flush is staged. vi->lock is held, so none becomes staged
 * meanwhile; the work's lock is not needed.
 */
bool queue_has_staged(struct queue *q)
{
	/* all relaxed: only threads that hold vi->lock make an operation staged; one that is popped is not */
	for (uint32_t i = atomic_load_explicit(&q->head, memory_order_relaxed);
	     i != atomic_load_explicit(&q->tail, memory_order_relaxed); i++)
		if (atomic_load_explicit(&q->ops[i & q->mask].phase, memory_order_relaxed) == OP_STAGED)
			return true;
	return false;
}

/* Makes the receives of a queue survive an attempt to connect: those that are flushed, and those that are completed. */
void queue_begin_attempt(struct queue *q)
{
	pthread_mutex_lock(&q->work->lock);
	/* relaxed: read under this lock */
	atomic_store_explicit(&q->survive, true, memory_order_relaxed);
	q->holds = true;
	pthread_mutex_unlock(&q->work->lock);
}

/*
 * Ends an attempt to connect. The held receives have the first messages of the connection if that stands; otherwise they are
 * staged again. vi->lock is held.
 */
void queue_end_attempt(struct queue *q, bool stands)
{
	pthread_mutex_lock(&q->work->lock);
	/* relaxed: read under this lock */
	atomic_store_explicit(&q->survive, false, memory_order_relaxed);
	q->holds = false;
	/* in the order of their messages, because uDAPL completes receives in the order in which they were posted */
	for (uint32_t i = q->head; i != q->tail; i++) {
		struct op *op = &q->ops[i & q->mask];

		/* both relaxed: under both locks */
		if (atomic_load_explicit(&op->phase, memory_order_relaxed) != OP_HELD)
			continue;
		if (stands)
			op_release_locked(op);
		else
			atomic_store_explicit(&op->phase, OP_STAGED, memory_order_relaxed);
	}
	pthread_mutex_unlock(&q->work->lock);
}

/*
 * Counts the posted operations as taken, because uDAPL will not complete them. Both locks are held.
 */
static void forget_outstanding(struct queue *q)
{
	atomic_store_explicit(&q->taken, atomic_load_explicit(&q->given, memory_order_relaxed),
			      memory_order_relaxed);
}

/* Stages the operations again whose endpoint is reset or freed, and those that are held. vi->lock is held. */
void queue_restage(struct queue *q)
{
	pthread_mutex_lock(&q->work->lock);
	for (uint32_t i = q->head; i != q->tail; i++)
		if (!done(&q->ops[i & q->mask]))
			/* relaxed: under both locks */
			atomic_store_explicit(&q->ops[i & q->mask].phase, OP_STAGED,
					      memory_order_relaxed);
	forget_outstanding(q);
	pthread_mutex_unlock(&q->work->lock);
}

static void flush_locked(struct queue *q, bool posted_too)
{
	for (uint32_t i = q->head; i != q->tail; i++) {
		struct op *op = &q->ops[i & q->mask];

		if (done(op) || (!posted_too && atomic_load_explicit(&op->phase,
					memory_order_relaxed) != OP_STAGED))
			continue;
		op_finish_locked(op, VIP_STATUS_DESC_FLUSHED_ERROR);
	}
	if (posted_too)
		forget_outstanding(q);
}

/*
 * Flushes the operations that are not posted to uDAPL, and with `posted_too` all operations.
 * vi->lock is held.
 */
void queue_flush(struct queue *q, bool posted_too)
{
	pthread_mutex_lock(&q->work->lock);
	flush_locked(q, posted_too);
	pthread_mutex_unlock(&q->work->lock);
}

/* Flushes the operations that are not posted to uDAPL. Returns false if the lock cannot be had within `ms` milliseconds. */
bool queue_flush_within(struct queue *q, unsigned int ms)
{
	if (!lock_within(&q->work->lock, ms))
		return false;
	flush_locked(q, false);
	pthread_mutex_unlock(&q->work->lock);
	return true;
}

/*
 * Waits until uDAPL has completed all operations of a queue whose connection is over. The flushes
 * are under way already; the bound is for providers that lose some.
 */
void queue_drain(struct queue *q, uint64_t until)
{
	struct work *w = q->work;

	pthread_mutex_lock(&w->lock);
	while (queue_outstanding(q) > 0 && now_ms() < until)
		if (!work_poll_locked(w))
			work_wait_locked(w, now_ms() + 10);
	pthread_mutex_unlock(&w->lock);
}
