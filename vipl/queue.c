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

int queue_open(struct queue *q, struct vi *vi, bool recv, struct cq *cq)
{
	struct nic *nic = vi->nic;
	int err, own;

	q->vi = vi;
	q->recv = recv;
	q->depth = nic->depth;
	if (queue_make_ring(q))
		return -1;
	if (cq == NULL) {
		q->work = &q->own;
		err = work_open(&q->own, nic, NULL, queue_events(q));
	} else {
		q->work = &cq->work;
		own = cancel_off();
		pthread_mutex_lock(&nic->lock);
		err = cq_use(cq, queue_events(q));
		pthread_mutex_unlock(&nic->lock);
		cancel_restore(own);
	}
	if (err) {
		free(q->ops);
		q->ops = NULL;
	}
	return err;
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
	while (!done(op))
		if (!work_poll_locked(q->work))
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

void queue_set_survive(struct queue *q, bool survive)
{
	pthread_mutex_lock(&q->work->lock);
	/* relaxed: read under this lock */
	atomic_store_explicit(&q->survive, survive, memory_order_relaxed);
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

/* Stages the operations again whose endpoint is freed. vi->lock is held. */
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

/*
 * Flushes the operations that are not posted to uDAPL, and with `posted_too` all operations.
 * vi->lock is held.
 */
void queue_flush(struct queue *q, bool posted_too)
{
	pthread_mutex_lock(&q->work->lock);
	for (uint32_t i = q->head; i != q->tail; i++) {
		struct op *op = &q->ops[i & q->mask];

		if (done(op) || (!posted_too && atomic_load_explicit(&op->phase,
					memory_order_relaxed) != OP_STAGED))
			continue;
		op_finish_locked(op, VIP_STATUS_DESC_FLUSHED_ERROR);
	}
	if (posted_too)
		forget_outstanding(q);
	pthread_mutex_unlock(&q->work->lock);
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
