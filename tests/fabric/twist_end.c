/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a device ends a queue pair: messages that it has completed and not sent yet, posts to a queue pair in the error state, and
 * flushed completions that are missing or late. Invariant: what this file remembers of a queue pair is never taken for a later
 * queue pair with the same number.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "twist.h"

uint64_t twist_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ messages that are completed and not sent yet */

enum { QUEUES = 256, MADE = 32, WIRE_MS = 50, LOOK_MS = 1 };

/* A completion that this file reports before the kernel has completed the message. It is forgotten when both flags are true. */
struct made {
	struct ibv_wc wc;
	bool given; /* a poll has found it */
	bool real;  /* the kernel has completed the message, and its completion has been dropped */
};

/* A queue pair with messages that it holds back, or with requests that the kernel has not completed. */
static struct queue {
	struct ibv_qp *qp; /* NULL: a free place; &was: it is destroyed, and the kernel's completions are still in the CQ */
	uint32_t qpn;
	const struct ibv_cq *cq; /* of its requests */
	/*
	 * `open`: the kernel has not yet completed the request whose wr_id is `last`, and the provider gets that completion.
	 * `untold`: the last request is unsignaled, so nobody knows whether it is done. While either is true no completion is made
	 * up, because it would overtake these requests.
	 */
	bool open, untold;
	uint64_t last;
	bool held; /* the doorbell has not been rung since due_ms was set */
	uint64_t due_ms;
	struct twist_bell bell;
	struct made made[MADE];
	unsigned int count;
} queues[QUEUES];

static struct ibv_qp was;

/*
 * `lock` guards all of the above; `begun` is signalled when a doorbell is held back. `teller` is the process that has the thread
 * send_in_time(): a forked child has to start that thread again. That thread may hold `lock` at any time, so fork() takes it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static pid_t teller;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * The queue pairs are the parent's, and so is the thread that waits for `begun`. The C library counts that thread as a waiter, and
 * the second pthread_cond_signal() would wait for ever for it to wake up.
 */
static void in_child(void)
{
	memset(queues, 0, sizeof(queues));
	pthread_cond_init(&begun, NULL);
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void prepare_for_fork(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

static struct queue *queue_of_locked(const struct ibv_qp *qp)
{
	for (int i = 0; i < QUEUES; i++)
		if (queues[i].qp == qp)
			return &queues[i];
	return NULL;
}

/* Rings the doorbell, so that the messages are sent now. Returns false if there was none to ring. */
static bool ring_locked(struct queue *q)
{
	ssize_t (*real)(int, const void *, size_t);
	bool held = q->held;

	*(void **)&real = dlsym(RTLD_NEXT, "write");
	q->held = false;
	return held && real(q->bell.fd, q->bell.bytes, q->bell.size) > 0;
}

/* A thread that never ends: rings each doorbell that has been held back for its time. */
static void *send_in_time(void *arg)
{
	struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	(void)arg;
	for (;;) {
		bool any = false;

		pthread_mutex_lock(&lock);
		for (int i = 0; i < QUEUES; i++) {
			if (queues[i].held && queues[i].due_ms <= twist_now_ms())
				ring_locked(&queues[i]);
			any |= queues[i].held;
		}
		if (!any)
			pthread_cond_wait(&begun, &lock);
		pthread_mutex_unlock(&lock);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void hold_locked(struct queue *q)
{
	pthread_t thread;

	if (!q->held)
		q->due_ms = twist_now_ms() + (uint64_t)atomic_load(&twist.held_ms);
	q->held = true;
	if (teller != getpid() && !pthread_create(&thread, NULL, send_in_time, NULL)) {
		teller = getpid();
		pthread_detach(thread);
	}
	pthread_cond_signal(&begun);
}

/*
 * Returns true if the device can complete the request before it is sent. The memory is the program's again then, so the request
 * must carry its data.
 */
static bool can_wait_locked(const struct queue *q, const struct ibv_send_wr *wr)
{
	return !wr->next && (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_RDMA_WRITE) &&
	       (wr->send_flags & (IBV_SEND_SIGNALED | IBV_SEND_INLINE | IBV_SEND_FENCE)) ==
		       (IBV_SEND_SIGNALED | IBV_SEND_INLINE) &&
	       !q->open && !q->untold && q->count < MADE;
}

static void count_locked(struct queue *q, const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		q->untold = !(wr->send_flags & IBV_SEND_SIGNALED);
		if (q->untold)
			continue;
		q->open = true;
		q->last = wr->wr_id;
	}
}

int twist_post_held(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, twist_post_fn *real)
{
	struct queue *q;
	int rc;

	pthread_mutex_lock(&lock);
	q = queue_of_locked(qp);
	if (!q)
		q = queue_of_locked(NULL);
	if (!q) {
		pthread_mutex_unlock(&lock);
		return real(qp, wr, bad);
	}
	if (q->qp != qp)
		*q = (struct queue){ .qp = qp, .qpn = qp->qp_num, .cq = qp->send_cq };
	if (!can_wait_locked(q, wr)) {
		ring_locked(q);
		rc = real(qp, wr, bad);
		if (!rc)
			count_locked(q, wr);
		pthread_mutex_unlock(&lock);
		return rc;
	}
	twist_here.keep = &q->bell;
	rc = real(qp, wr, bad);
	/* NULL: the doorbell has been kept */
	if (!rc && !twist_here.keep) {
		q->made[q->count++].wc =
			(struct ibv_wc){ .wr_id = wr->wr_id, .status = IBV_WC_SUCCESS, .qp_num = qp->qp_num };
		hold_locked(q);
	}
	twist_here.keep = NULL;
	pthread_mutex_unlock(&lock);
	return rc;
}

bool twist_keeps(int fd, const void *data, size_t size)
{
	struct twist_bell *bell = twist_here.keep;

	if (!bell || size > sizeof(bell->bytes))
		return false;
	bell->fd = fd;
	bell->size = size;
	memcpy(bell->bytes, data, size);
	twist_here.keep = NULL;
	return true;
}

/* Forgets the made-up completions that are over, and a queue pair that is destroyed when it has no others. */
static void tidy_locked(struct queue *q)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < q->count; i++)
		if (!q->made[i].given || !q->made[i].real)
			q->made[left++] = q->made[i];
	memset(&q->made[left], 0, (q->count - left) * sizeof(*q->made));
	q->count = left;
	if (q->qp == &was && !left)
		*q = (struct queue){ 0 };
}

int twist_poll_made(const struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int found = 0;

	if (!atomic_load(&twist.held_ms))
		return 0;
	pthread_mutex_lock(&lock);
	for (int k = 0; k < QUEUES; k++) {
		struct queue *q = &queues[k];

		for (unsigned int i = 0; q->qp && q->cq == cq && i < q->count && found < n; i++)
			if (!q->made[i].given) {
				wc[found++] = q->made[i].wc;
				q->made[i].given = true;
			}
		tidy_locked(q);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static bool is_made_locked(struct queue *q, const struct ibv_wc *wc)
{
	bool given = false;

	for (unsigned int i = 0; i < q->count && !given; i++)
		if (q->made[i].wc.wr_id == wc->wr_id && !q->made[i].real)
			given = q->made[i].real = true;
	if (!given && q->last == wc->wr_id)
		q->open = false;
	tidy_locked(q);
	return given;
}

bool twist_has_made(const struct ibv_cq *cq, const struct ibv_wc *wc)
{
	bool given = false;

	if (!atomic_load(&twist.held_ms))
		return false;
	pthread_mutex_lock(&lock);
	/* completions of an earlier queue pair with this number come first */
	for (int old = 1; old >= 0 && !given; old--)
		for (int i = 0; i < QUEUES && !given; i++)
			if (queues[i].qp && (queues[i].qp == &was) == old && queues[i].qpn == wc->qp_num && queues[i].cq == cq)
				given = is_made_locked(&queues[i], wc);
	pthread_mutex_unlock(&lock);
	return given;
}

void twist_cq_goes(const struct ibv_cq *cq)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < QUEUES; i++)
		if (queues[i].qp == &was && queues[i].cq == cq)
			queues[i] = (struct queue){ 0 };
	pthread_mutex_unlock(&lock);
}

void twist_send_all(void)
{
	struct timespec pause = { .tv_nsec = WIRE_MS * 1000000L };
	bool any = false;

	if (!atomic_load(&twist.held_ms))
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < QUEUES; i++)
		any |= ring_locked(&queues[i]);
	pthread_mutex_unlock(&lock);
	if (any)
		nanosleep(&pause, NULL);
}

/* Drops the kept doorbell when the queue pair is stopped: the device resets the connection, so its messages are lost. */
static void lose(const struct ibv_qp *qp)
{
	struct queue *q;

	pthread_mutex_lock(&lock);
	q = queue_of_locked(qp);
	if (q)
		q->held = false;
	pthread_mutex_unlock(&lock);
}

static void forget_queue(const struct ibv_qp *qp)
{
	struct queue *q;

	pthread_mutex_lock(&lock);
	q = queue_of_locked(qp);
	if (q) {
		q->qp = &was;
		q->held = false;
		for (unsigned int i = 0; i < q->count; i++)
			q->made[i].given = true;
		tidy_locked(q);
	}
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ queue pairs in the error state */

enum { NUMBERS = 1 << 16, IDS = 512 };

/*
 * A bit for each queue pair that is known to be in the error state. The index is the last 16 bits of its number, in which all queue
 * pairs that exist at the same time differ. siw does not report the state, so a bit is set when this process stops the queue pair,
 * or is told that its connection has ended.
 */
static _Atomic uint64_t dead[NUMBERS / 64];
/* Likewise, a bit for each queue pair that this process has stopped. */
static _Atomic uint64_t halted[NUMBERS / 64];

/* The queue pairs of the last connections. `lock` guards them. */
static struct {
	const struct rdma_cm_id *id;
	uint32_t qpn;
} ids[IDS];
static unsigned int next_id;

static uint64_t bit_of(uint32_t qpn)
{
	return UINT64_C(1) << (qpn % 64);
}

static _Atomic uint64_t *word_of(_Atomic uint64_t *bits, uint32_t qpn)
{
	return &bits[qpn % NUMBERS / 64];
}

static bool has(_Atomic uint64_t *bits, uint32_t qpn)
{
	return (atomic_load(word_of(bits, qpn)) & bit_of(qpn)) != 0;
}

void twist_qp_begins(const struct ibv_qp *qp)
{
	atomic_fetch_and(word_of(dead, qp->qp_num), ~bit_of(qp->qp_num));
	atomic_fetch_and(word_of(halted, qp->qp_num), ~bit_of(qp->qp_num));
}

void twist_qp_goes(const struct ibv_qp *qp)
{
	forget_queue(qp);
	/* another queue pair may get the number, and an event of this connection is not about that */
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < IDS; i++)
		if (ids[i].qpn == qp->qp_num)
			ids[i].id = NULL;
	pthread_mutex_unlock(&lock);
}

void twist_qp_halts(const struct ibv_qp *qp)
{
	atomic_fetch_or(word_of(dead, qp->qp_num), bit_of(qp->qp_num));
	atomic_fetch_or(word_of(halted, qp->qp_num), bit_of(qp->qp_num));
	lose(qp);
}

bool twist_is_halted(uint32_t qpn)
{
	return has(halted, qpn);
}

void twist_id_has(const struct rdma_cm_id *id, uint32_t qpn)
{
	pthread_mutex_lock(&lock);
	ids[next_id % IDS].id = id;
	ids[next_id++ % IDS].qpn = qpn;
	pthread_mutex_unlock(&lock);
}

/* Searches from the last connection backwards, because the memory of an rdma_cm_id is used again for another. */
static uint32_t id_qpn_locked(const struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (ids[(next_id - 1 - i) % IDS].id == id)
			return ids[(next_id - 1 - i) % IDS].qpn;
	return 0;
}

uint32_t twist_id_qpn(const struct rdma_cm_id *id)
{
	uint32_t qpn;

	pthread_mutex_lock(&lock);
	qpn = id_qpn_locked(id);
	pthread_mutex_unlock(&lock);
	return qpn;
}

/*
 * Sets the bit before another thread can have the queue pair destroyed. siw gives its number to the next one at once, which would
 * be taken for dead.
 */
void twist_id_ends(const struct rdma_cm_id *id)
{
	uint32_t qpn;

	pthread_mutex_lock(&lock);
	qpn = id_qpn_locked(id);
	if (qpn)
		atomic_fetch_or(word_of(dead, qpn), bit_of(qpn));
	pthread_mutex_unlock(&lock);
}

bool twist_has_ended(uint32_t qpn)
{
	return has(dead, qpn);
}

bool twist_is_dead(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_query_qp");
	if (real(qp, &attr, IBV_QP_STATE, &init) || attr.qp_state == IBV_QPS_RESET)
		return twist_has_ended(qp->qp_num);
	/* a queue pair whose connection the peer has ended is not in the error state before this side puts it there */
	return attr.qp_state == IBV_QPS_ERR || attr.qp_state == IBV_QPS_SQE || attr.qp_state == IBV_QPS_SQD;
}

/* ------------------------------------------------------------------ flushed completions */

enum { REMEMBERED = 1 << 16 };

/* wr_id of receives, and of requests that were posted in the error state, each in the place of its hash; 0: none */
static _Atomic uint64_t receives[REMEMBERED], late_requests[REMEMBERED];

static _Atomic uint64_t *place_of(_Atomic uint64_t *table, uint64_t wr_id)
{
	return &table[(wr_id * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
}

void twist_posts_receives(const struct ibv_recv_wr *wr)
{
	for (; wr; wr = wr->next)
		atomic_store(place_of(receives, wr->wr_id), wr->wr_id);
}

void twist_posts_requests(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	bool never = atomic_load(&twist.flush) == TWIST_FLUSH_NEVER_SQ && twist_is_dead(qp);

	for (; wr; wr = wr->next)
		atomic_store(place_of(late_requests, wr->wr_id), never ? wr->wr_id : 0);
}

static bool is_receive(const struct ibv_wc *wc)
{
	return atomic_load(place_of(receives, wc->wr_id)) == wc->wr_id;
}

bool twist_flush_is_lost(const struct ibv_wc *wc)
{
	static _Atomic unsigned int flushed;

	if (wc->status != IBV_WC_WR_FLUSH_ERR)
		return false;
	switch (atomic_load(&twist.flush)) {
	case TWIST_FLUSH_NEVER_SQ:
		return atomic_load(place_of(late_requests, wc->wr_id)) == wc->wr_id;
	case TWIST_FLUSH_PART:
		return is_receive(wc) && atomic_fetch_add(&flushed, 1) % 2;
	default:
		return false;
	}
}
