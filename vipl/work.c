/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes completions off an EVD and completes the operations of queues with them. Invariant: only
 * the holder of work->lock takes events off the EVD, and while there is a leader only the leader.
 *
 * A cookie is the address of a struct op. Its alignment leaves six bits: EARLY, if the completion
 * is of a part that precedes the operation's last one; and the endpoint's generation, by which a
 * late completion of a former endpoint is recognized and ignored.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "impl.h"

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Returns the time at which a timeout that begins now expires; UINT64_MAX for one that never does, or only after the largest
 * time.
 */
uint64_t deadline_ms(VIP_ULONG timeout)
{
	uint64_t now = now_ms();

	if (timeout == VIP_INFINITE || timeout == UINT32_MAX || timeout > UINT64_MAX - now)
		return UINT64_MAX;
	return now + timeout;
}

/*
 * Takes a lock whose holder may never release it. Returns false if it cannot be taken within `ms`
 * milliseconds.
 */
bool lock_within(pthread_mutex_t *lock, unsigned int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_mutex_timedlock(lock, &until) == 0;
}

void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/*
 * Waits for a condition. Returns false if the time has expired. It is inlined because a thread may
 * be cancelled in it: a frame of its own would never return, and the address sanitizer would take
 * it for live.
 */
static inline __attribute__((always_inline)) bool
wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	struct timespec at = {
		.tv_sec = (time_t)(until / 1000),
		.tv_nsec = (long)(until % 1000) * 1000000,
	};

	if (until == UINT64_MAX)
		return pthread_cond_wait(cond, lock) == 0;
	return pthread_cond_timedwait(cond, lock, &at) != ETIMEDOUT;
}

/* The same for threads that cannot be cancelled here. Returns false if the time has expired. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
	return wait_until(cond, lock, until);
}

/*
 * As cond_wait_until(), for a thread that disabled its cancellation: `own` is what cancel_off()
 * returned. If the thread is cancelled here, undo() runs with the lock held and has to release it.
 */
void cond_nap(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until, int own,
	      const struct undo *undo)
{
	pthread_cleanup_push(undo->function, undo->arg);
	pthread_setcancelstate(own, &own);
	wait_until(cond, lock, until);
	pthread_setcancelstate(own, &own);
	pthread_cleanup_pop(0);
}

int work_open(struct work *w, struct nic *nic, struct cq *cq, uint32_t events)
{
	w->nic = nic;
	w->cq = cq;
	if (dat_evd_create(nic->ia, (DAT_COUNT)events, DAT_HANDLE_NULL,
			   (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG),
			   &w->evd) != DAT_SUCCESS)
		return -1;
	pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->moved);
	return 0;
}

/*
 * Closes a work. No endpoint uses its EVD any more, and what threads have waited for is completed. Its lock and condition
 * variable remain usable, as its memory does: a call that began before may still take the lock.
 */
void work_close(struct work *w)
{
	pthread_mutex_lock(&w->lock);
	notices_forget_locked(w, NULL);
	pthread_mutex_unlock(&w->lock);
	herald_unwatch(w);
	dat_evd_free(w->evd);
}

/*
 * Wakes the threads that wait for completions, because an operation has completed without an event
 * on the EVD.
 */
void work_wake_locked(struct work *w)
{
	DAT_EVENT event;

	if (w->waiters)
		pthread_cond_broadcast(&w->moved);
	if (!w->leader)
		return;
	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = w->evd;
	/* If the EVD is full, its events wake the leader. */
	dat_evd_post_se(w->evd, &event);
}

/*
 * Writes the status of a descriptor, by memcpy(), because a descriptor that failed may be
 * misaligned.
 */
static void write_status(struct op *op, uint32_t status)
{
	if (op->writable)
		memcpy((char *)op->descriptor + offsetof(VIP_CONTROL_SEGMENT, Status), &status,
		       sizeof(status));
}

/* Completes an operation. The program gets the descriptor back when it is popped. */
void op_finish_locked(struct op *op, uint32_t status)
{
	struct queue *q = op->queue;
	struct work *w = q->work;

	status |= op->kind | VIP_STATUS_DONE;
	op->status = status;
	write_status(op, status);
	/* relaxed: a thread acts on DONE only while it holds this lock */
	atomic_store_explicit(&op->phase, OP_DONE, memory_order_relaxed);
	if (w->cq != NULL)
		cq_push_locked(w->cq, q->vi, q->recv);
	if (w->waiters || w->leader)
		work_wake_locked(w);
	if (w->notices != NULL)
		herald_wake(w->nic);
}

static uint32_t status_of(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS:
		return 0;
	case DAT_DTO_ERR_FLUSHED:
		return VIP_STATUS_DESC_FLUSHED_ERROR;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return VIP_STATUS_LENGTH_ERROR;
	case DAT_DTO_ERR_LOCAL_EP:
		return VIP_STATUS_FORMAT_ERROR;
	case DAT_DTO_ERR_LOCAL_PROTECTION:
		return VIP_STATUS_PROTECTION_ERROR;
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return VIP_STATUS_RDMA_PROT_ERROR;
	case DAT_DTO_ERR_REMOTE_RESPONDER:
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return VIP_STATUS_REMOTE_DESC_ERROR;
	case DAT_DTO_ERR_PARTIAL_PACKET:
		return VIP_STATUS_PARTIAL_ERROR;
	default:
		return VIP_STATUS_TRANSPORT_ERROR;
	}
}

/*
 * Marks a VI whose peer has sent to memory of a kept receive that is deregistered. A device would
 * break the connection immediately; here the keeper breaks it, because vi->lock comes before the
 * lock that is held.
 */
static __attribute__((noinline)) uint32_t violation(struct vi *vi)
{
	atomic_store_explicit(&vi->violated, true, memory_order_relaxed);
	/* release: see vi_break_violated() */
	atomic_store_explicit(&vi->nic->violated, true, memory_order_release);
	keeper_wake(vi->nic);
	return VIP_STATUS_PROTECTION_ERROR;
}

/*
 * Copies the data of a kept receive to the program's memory. Returns the status bits of an error,
 * or 0.
 */
static inline uint32_t hand_over(struct op *op, uint64_t length)
{
	struct work *w = op->queue->work;
	struct vi *vi = op->queue->vi;
	uint32_t epoch, fault = 0;

	if (length > op->length)
		return VIP_STATUS_LENGTH_ERROR;
	/* relaxed, and the compiler keeps the order: wait_for_copies() has this thread execute the fence between both */
	atomic_store_explicit(&w->copying, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* acquire: pairs with epoch_end_locked() */
	epoch = atomic_load_explicit(&vi->nic->mem_epoch, memory_order_acquire);
	if (__builtin_expect(epoch != op->epoch, 0) &&
	    !mem_is_at(vi->nic, op->to_handle, vi->uses, op->to, op->length))
		fault = violation(vi);
	else
		copy_short(op->to, op->head + 1, length);
	/* release: the copy is over before the memory is deregistered */
	atomic_store_explicit(&w->copying, false, memory_order_release);
	return fault;
}

/*
 * Handles a receive that a message has completed; the header says of which kind the message is.
 * Returns status bits.
 */
static uint32_t received(struct op *op, uint64_t length)
{
	VIP_CONTROL_SEGMENT *cs = &op->descriptor->CS;
	const struct wire_head *head = op->head;
	uint32_t fault;

	if (length < sizeof(*head))
		return VIP_STATUS_TRANSPORT_ERROR;
	length -= sizeof(*head);
	fault = op->kept && length > 0 ? hand_over(op, length) : 0;
	if (fault)
		return fault;
	cs->Length = (uint32_t)length;
	if (head->kind == WIRE_WRITTEN) {
		op->kind = VIP_STATUS_OP_REMOTE_RDMA_WRITE;
		cs->Length = head->length;
	}
	if (!(head->flags & WIRE_IMMEDIATE))
		return 0;
	cs->ImmediateData = head->immediate;
	return VIP_STATUS_IMMEDIATE;
}

/* Completes a receive as uDAPL has. */
static inline void op_received_locked(struct op *op, DAT_DTO_COMPLETION_STATUS said, uint64_t length)
{
	uint32_t status = status_of(said);

	/*
	 * the message is longer than the part that is in the region, so a device would write beyond
	 * the region
	 */
	if (status == VIP_STATUS_LENGTH_ERROR && op->cut)
		status = VIP_STATUS_PROTECTION_ERROR;
	if (status == 0)
		status = received(op, length);
	op_finish_locked(op, status);
}

/*
 * Keeps a receive from the program that uDAPL has completed during an attempt to connect. It may be a message of a peer that
 * does not accept.
 */
static void op_hold_locked(struct op *op, const DAT_DTO_COMPLETION_EVENT_DATA *event)
{
	op->held_status = (uint8_t)event->status;
	op->held_length = (uint32_t)event->transfered_length;
	/* relaxed: a thread acts on HELD only while it holds this lock */
	atomic_store_explicit(&op->phase, OP_HELD, memory_order_relaxed);
}

/* Completes a held receive, because its message is one of the connection that stands. */
void op_release_locked(struct op *op)
{
	op_received_locked(op, (DAT_DTO_COMPLETION_STATUS)op->held_status, op->held_length);
}

static void request_completed_locked(struct op *op, uint32_t status)
{
	if (op->early != 0)
		status = op->early;
	if (status == 0)
		op->descriptor->CS.Length = op->length;
	op_finish_locked(op, status);
}

static void op_completed_locked(struct op *op, const DAT_DTO_COMPLETION_EVENT_DATA *event)
{
	struct queue *q = op->queue;
	bool early = event->user_cookie.as_64 & COOKIE_EARLY;

	/* the operation itself is still posted */
	if (early && op != greeting_op(q)) {
		if (op->early == 0)
			op->early = status_of(event->status);
		return;
	}
	/* relaxed: the thread that waits for it (queue_drain) looks under this lock */
	atomic_store_explicit(&q->taken, atomic_load_explicit(&q->taken, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (early) {
		if (q->recv)
			greeting_come_locked(q->vi);
		return;
	}
	/* relaxed: set under this lock, or in leave.c before there was anything to flush */
	if (event->status == DAT_DTO_ERR_FLUSHED && atomic_load_explicit(&q->survive, memory_order_relaxed))
		/* relaxed: the next thread to look holds vi->lock, after queue_drain() */
		atomic_store_explicit(&op->phase, OP_STAGED, memory_order_relaxed);
	else if (q->holds)
		op_hold_locked(op, event);
	else if (q->recv)
		op_received_locked(op, event->status, event->transfered_length);
	else
		request_completed_locked(op, status_of(event->status));
}

static void work_event_locked(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct op *op;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return;
	op = (struct op *)(uintptr_t)(dto->user_cookie.as_64 & ~(uint64_t)COOKIE_BITS);
	if ((op_cookie(op, false).as_64 & COOKIE_BITS) ==
	    (dto->user_cookie.as_64 & COOKIE_BITS & ~(uint64_t)COOKIE_EARLY))
		op_completed_locked(op, dto);
}

/* Takes one event off the EVD. Returns false if there is none, or if there is a leader. */
bool work_poll_locked(struct work *w)
{
	DAT_EVENT event;

	if (w->leader || dat_evd_dequeue(w->evd, &event) != DAT_SUCCESS)
		return false;
	work_event_locked(&event);
	if (w->waiters)
		pthread_cond_broadcast(&w->moved);
	return true;
}

static DAT_TIMEOUT sleep_us(uint64_t until)
{
	uint64_t now = now_ms();

	if (until == UINT64_MAX)
		return DAT_TIMEOUT_INFINITE;
	if (until <= now)
		return 0;
	return until - now > 1000000 ? 1000000000u : (DAT_TIMEOUT)(until - now) * 1000;
}

/* Other threads, and the herald, take the events that the leader has left on the EVD. */
static void stop_leading_locked(struct work *w)
{
	w->leader = false;
	if (w->waiters)
		pthread_cond_broadcast(&w->moved);
	if (w->notices != NULL)
		herald_wake(w->nic);
}

static void leader_cancelled(void *arg)
{
	struct work *w = arg;

	pthread_mutex_lock(&w->lock);
	stop_leading_locked(w);
	pthread_mutex_unlock(&w->lock);
}

/*
 * Sleeps after a dat_evd_wait() that has failed, as it does at once on an adapter that has failed, and in a child of the process
 * that has opened the NIC. Otherwise a thread that waits would call it again and again.
 */
static void nap(DAT_RETURN ret, DAT_TIMEOUT us)
{
	struct timespec rest = { .tv_nsec = (us < RETRY_MS * 1000 ? (long)us : RETRY_MS * 1000L) * 1000 };

	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED && DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
		nanosleep(&rest, NULL);
}

/* The leader sleeps without a lock, and may be cancelled meanwhile. */
static void lead_locked(struct work *w, uint64_t until)
{
	DAT_TIMEOUT us = sleep_us(until);
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	w->leader = true;
	pthread_mutex_unlock(&w->lock);
	pthread_cleanup_push(leader_cancelled, w);
	ret = dat_evd_wait(w->evd, us, 1, &event, &more);
	nap(ret, us);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&w->lock);
	if (ret == DAT_SUCCESS)
		work_event_locked(&event);
	stop_leading_locked(w);
}

/* The cancelled thread may have been the one that was woken, so it wakes the others. */
static void waiter_cancelled(void *arg)
{
	struct work *w = arg;

	w->waiters--;
	pthread_cond_broadcast(&w->moved);
	pthread_mutex_unlock(&w->lock);
}

/*
 * Sleeps until there may be a completion, or the time expires. A thread that is cancelled here
 * releases the lock and stops leading.
 */
void work_wait_locked(struct work *w, uint64_t until)
{
	if (!w->leader) {
		lead_locked(w, until);
		return;
	}
	w->waiters++;
	pthread_cleanup_push(waiter_cancelled, w);
	wait_until(&w->moved, &w->lock, until);
	pthread_cleanup_pop(0);
	w->waiters--;
}
