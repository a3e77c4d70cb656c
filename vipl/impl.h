/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of libvipl share: its objects, and which lock guards what.
 *
 * A NIC is an open IA with two threads: the keeper (keeper.c) looks after connections, and has helpers (helper.c); the herald
 * (herald.c) calls the program's handlers, and is replaced when it is held up. A VI is an endpoint with two queues. The
 * completions of a queue come over a struct work, its own or that of a completion queue.
 *
 * Lock order: all_nics > nic->lock > vi->lock > work->lock > nic->mem_lock, herald.lock. None is
 * held while a handler runs, or while a thread sleeps in uDAPL.
 *
 * A thread executes copies in uDAPL while it posts, with vi->lock, and while it takes completions, with work->lock. A peer can
 * hold up such a copy for as long as it lives (SECURITY.md). So neither the keeper nor a thread that has nic->lock waits for
 * either lock: they use vi_reach(), and try again later. Nor does the keeper call uDAPL for an endpoint of a VI, which can execute
 * copies, too: helpers do (helper.c). There are two exceptions: a greeting, which only adapters need whose copies no thread
 * executes, and the end of the process (leave.c). No thread that has nic->mem_lock or herald.lock waits for a copy.
 */
#ifndef VIPL_IMPL_H
#define VIPL_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <dat/udat.h>

/* Only the functions of the interface are exported. */
#pragma GCC visibility push(default)
#include "vipl.h"
#pragma GCC visibility pop

#include "rules.h"
#include "wire.h"

enum {
	VI_MAGIC = 0x56495649,
	CQ_MAGIC = 0x43514351,
	MAX_SEGMENTS = 31,		/* of a descriptor, without the header */
	DEFAULT_DEPTH = 1024,		/* descriptors of a queue */
	MAX_WAITING = 64,		/* clients that wait at one discriminator */
	DEAD_VIS = 64,			/* destroyed VIs whose handles are refused */
	MEM_BUCKETS = 256,
	MEM_CACHE = 8,			/* a power of two */
	PROBES = 4,			/* connection qualifiers for one discriminator */
	SEND_SLOT = 128,		/* bytes of a request's header and of the data of a short send */
	RECV_SLOT = 64,			/* bytes of a receive's header and of the data of a short receive */
};

/* A protection tag; all under nic->mem_lock. */
struct ptag {
	struct ptag *next;
	DAT_PZ_HANDLE pz;
	unsigned int users;		/* VIs and memory whose attributes name it */
	unsigned int regions;		/* the memory among them */
	unsigned int adopters;		/* VIs without a tag of their own that have adopted it */
	bool destroyed;			/* the program has destroyed it; the last adopter frees it */
};

/* Registered memory; all under nic->mem_lock. */
struct mem {
	struct mem *next;		/* of its bucket */
	VIP_MEM_HANDLE handle;
	uintptr_t base;
	uint64_t length;
	struct ptag *ptag;
	VIP_MEM_ATTRIBUTES attr;	/* as given */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

/*
 * What a post needs to know of a region: a copy, which is valid as long as the NIC's epoch is the
 * same.
 */
struct mem_view {
	VIP_MEM_HANDLE handle;		/* 0: none */
	DAT_LMR_CONTEXT context;
	uintptr_t base;
	uint64_t length;
	struct ptag *ptag;
};

/* A handler of the program that waits for a completion, on the list of a struct work. */
struct notice {
	struct notice *next;
	struct queue *queue;		/* the queue whose descriptor the handler gets; NULL: it gets an entry of the CQ */
	void *context;
	VIP_VI_HANDLER on_descriptor;
	VIP_CQ_HANDLER on_entry;
};

/* A notice whose completion has been taken, so that its handler can be called. */
struct call {
	struct notice *notice;		/* freed by whoever calls the handler */
	struct vi *vi;
	VIP_DESCRIPTOR *descriptor;
	bool recv;
};

/*
 * The source of completions: an EVD. One thread at a time takes events off it. While a thread
 * sleeps in dat_evd_wait() it is the leader, and the other threads only look at the completions
 * that the leader has taken.
 */
struct work {
	struct nic *nic;
	struct cq *cq;			/* the CQ that contains it; NULL: a queue contains it */
	DAT_EVD_HANDLE evd;
	pthread_mutex_t lock;
	pthread_cond_t moved;		/* something was completed, or the leader has left */
	bool leader;			/* all below: lock */
	unsigned int waiters;
	_Atomic bool copying;		/* hand_over() uses memory of the program; written under lock, see wait_for_copies() */
	struct notice *notices;		/* oldest first */
	struct work *next_watched;	/* herald.lock */
	bool watched;			/* herald.lock */
	bool looked;			/* a thread looks for a completion; herald.lock */
};

enum op_phase {
	OP_STAGED,			/* a receive that is not posted to uDAPL yet */
	OP_POSTED,
	OP_HELD,			/* a receive that uDAPL has completed during an attempt to connect: attempt.c */
	OP_DONE
};

enum {
	REACH_MS = 2,			/* for so long the keeper waits for a lock */
	RETRY_MS = 10,			/* after that it tries again what it could not do, see vi_reach() */
};

/* A descriptor in a queue. Its address, 64 bytes aligned, is the cookie: see work.c. */
struct op {
	_Alignas(64) VIP_DESCRIPTOR *descriptor;
	struct queue *queue;		/* fixed */
	struct wire_head *head;		/* fixed: its header, in registered memory */
	VIP_MEM_HANDLE handle;
	_Atomic uint32_t phase;		/* HELD and DONE: written under the work's lock; others: vi->lock */
	union {
		uint32_t status;	/* work's lock */
		uint32_t held_length;	/* of a held receive: the length of its message; work's lock */
	};
	union {
		uint32_t early;		/* of a request: why its first part failed (the write that precedes a send); work's lock */
		uint32_t epoch;		/* of a kept receive: the NIC's epoch when its memory was looked up */
	};
	uint32_t kind;			/* VIP_STATUS_OP_ bits */
	uint32_t length;		/* bytes, of a request or a kept receive */
	bool writable;			/* the descriptor is in registered memory: its status may be written */
	bool cut;			/* uDAPL got less memory than the descriptor says: post.c */
	bool kept;			/* a receive whose data arrive after its header: keep_short() */
	uint8_t held_status;		/* of a held receive: what uDAPL said of it, a DAT_DTO_COMPLETION_STATUS; work's lock */
	VIP_MEM_HANDLE to_handle;	/* of a kept receive: where its data go */
	uint8_t *to;
};

struct queue {
	struct vi *vi;
	struct work *work;
	struct work own;
	struct op *ops;			/* a ring, and after it one operation for a greeting */
	uint32_t depth;
	uint32_t mask;
	bool recv;
	/* Flushed operations become OP_STAGED again, for the next connection. Work's lock, except in leave.c. */
	_Atomic bool survive;
	bool holds;			/* receives that uDAPL completes become OP_HELD; work's lock */
	bool overrun;			/* vi->lock: the program has been told that it is full */
	_Atomic uint32_t tail;		/* written under vi->lock */
	_Atomic uint32_t head;		/* written under the work's lock */
	_Atomic uint32_t given;		/* operations posted to uDAPL, a greeting's receive too; written under vi->lock */
	_Atomic uint32_t taken;		/* completions of them; written under the work's lock */
};

enum peer_step { PEER_NONE, PEER_WAITS, PEER_PAUSES, PEER_DIALS, PEER_ACCEPTS };

/* The address of a VI: that of its host, and a discriminator. VIP_NET_ADDRESS in a fixed size. */
struct net_addr {
	uint8_t host[16];
	uint8_t disc[MAX_DISC];
	uint8_t host_len;
	uint8_t disc_len;
};

/* A connection to a peer that is being set up; vi->lock. */
struct peering {
	enum peer_step step;
	struct net_addr local;
	struct net_addr remote;
	uint64_t until;			/* milliseconds */
	uint64_t dial_at;
	unsigned int probe;
	bool parts;			/* the attempt has been given up, and the event of its end is to come */
	DAT_CR_HANDLE cr;		/* a request of the peer's that is to be accepted; DAT_HANDLE_NULL: none */
	struct wire_hello hello;	/* of that request */
	VIP_RETURN mismatch;		/* of a request that was refused because of its attributes; VIP_SUCCESS: there was none */
	bool cancelled;
	bool has_result;
	VIP_RETURN result;
};

struct vi {
	_Atomic uint32_t magic;		/* VI_MAGIC until it is destroyed; cleared under lock, read without it by vi_get() */
	struct nic *nic;
	struct vi *next;		/* nic->lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* state, outcome or up */
	VIP_VI_STATE state;		/* this and all below: lock; zeroed when the memory is reused */
	bool busy;			/* a thread connects or disconnects the VI */
	bool feeding;			/* receives are posted to uDAPL at once, not staged */
	bool closing;			/* VipDisconnect() is running */
	_Atomic bool helped;		/* a helper makes calls of uDAPL for it: helper.c; the keeper reads this without lock */
	bool up;			/* uDAPL has a connection */
	bool broken;			/* the connection did not end by a VipDisconnect() of either side */
	bool leaving;			/* disconnected because the process exits; used by the keeper only */
	/* The memory of a kept receive was deregistered before its message came: the keeper breaks the connection. */
	_Atomic bool violated;
	_Atomic bool awaits_greeting;	/* requests wait for the peer's greeting: greeting.c */
	DAT_EVENT_NUMBER outcome;	/* the event that ended the attempt; 0: none yet */
	enum wire_verdict verdict;
	_Atomic uint8_t generation;	/* of the endpoint, for cookies; written under lock */
	DAT_EP_HANDLE ep;
	VIP_VI_ATTRIBUTES attr;
	struct ptag *ptag;
	struct ptag *uses;		/* the same as ptag; NULL while ptag can still change, see `adopts` */
	bool adopts;			/* its attributes name no tag, so ptag is an adopted one */
	bool guessed;			/* it has adopted the tag for an attempt to connect, not for memory that it uses */
	bool warned;			/* memory of another tag has been reported to the program */
	VIP_VI_ATTRIBUTES remote;	/* the peer's, while connected */
	struct peering peer;
	_Atomic bool peers;		/* peer.step is not PEER_NONE; written under lock */
	void *user_data;
	struct queue sendq;
	struct queue recvq;
	uint8_t *heads;			/* a head for each op: fixed; heads_size() bytes */
	DAT_LMR_HANDLE heads_lmr;
	DAT_LMR_CONTEXT heads_context;
	uint32_t epoch;			/* of the cache */
	struct mem_view cache[MEM_CACHE];
};

struct cq_entry {
	struct vi *vi;
	bool recv;
};

struct cq {
	_Atomic uint32_t magic;		/* CQ_MAGIC until it is destroyed; cleared under both locks, see cq_exists() */
	struct cq *next;		/* nic->lock */
	struct work work;
	unsigned int users;		/* queues; nic->lock */
	uint32_t reserved;		/* events of the EVD that queues have reserved; nic->lock */
	struct cq_entry *ring;		/* all below: work.lock */
	uint32_t size;
	uint32_t first;
	uint32_t count;
	bool overrun;			/* the loss of an entry has been reported, and there has been no room since then */
};

/* A connection qualifier at which this NIC listens, for all discriminators that hash to it. */
struct door {
	struct door *next;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
};

/* A client's connection request. It is on its listener's list until VipConnectWait() returns it. */
struct conn {
	struct conn *next;
	DAT_CR_HANDLE cr;
	struct wire_hello hello;
	struct net_addr remote;
	uint64_t stale_at;		/* milliseconds: when the client gives up */
	bool busy;			/* VipConnectAccept() or VipConnectReject() uses it */
};

struct listener {
	struct listener *next;
	uint8_t disc[MAX_DISC];
	uint8_t disc_len;
	pthread_cond_t arrived;
	struct conn *conns;
	unsigned int count;
	unsigned int waiters;
};

struct async_error {
	struct async_error *next;
	VIP_ERROR_DESCRIPTOR what;
	bool normal;			/* a normal end, which the library's own handler does not print */
};

struct herald {
	pthread_mutex_t lock;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE bell;		/* a software event on it wakes the herald */
	pthread_cond_t changed;		/* the `looked` of a work */
	struct herald_thread *threads;	/* all; used by herald_start(), then by the keeper only, then by herald_stop() */
	/* the herald; written by herald_start() and by the keeper only; this and all below: lock */
	struct herald_thread *thread;
	bool guarded;			/* the keeper calls herald_guard() again and again */
	bool stop;
	bool woken;			/* herald_wake() has posted to `bell`, and the herald has not looked yet */
	struct work *watched;
	struct async_error *errors;
	struct async_error **last_error;
	VIP_ERROR_HANDLER handler;
	void *context;
};

/* Verdicts that clients have not read yet, the oldest first: answer.c. */
struct answers {
	pthread_mutex_t lock;		/* a leaf */
	struct answer *first;
	struct answer **last;
	unsigned int count;
};

struct nic {
	struct nic *next;		/* all_nics */
	pid_t owner;			/* the process that opened it, not its children */
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR ia_attr;
	DAT_PZ_HANDLE nobody;		/* a zone that never has memory, for endpoints that lead to no VI: answer.c */
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE cm_evd;		/* connection requests, connections, and what wakes the keeper */
	DAT_CNO_HANDLE cno;
	pthread_t keeper;
	struct late *late;		/* this and late_at: used by the keeper only, see keeper.c */
	uint64_t late_at;
	struct helper *helpers;		/* used by the keeper only, and when that has ended by keeper_stop() */
	_Atomic bool stop;
	_Atomic bool leaving;		/* the process exits: leave.c */
	struct herald herald;
	struct answers answers;
	VIP_NIC_ATTRIBUTES attr;
	uint8_t address[16];
	struct sockaddr_storage sockaddr;
	uint32_t depth;
	bool read_needs_write;		/* the sink of an RDMA read needs the right REMOTE_WRITE */
	bool greets;			/* the active side of a connection has to send first: greeting.c */
	bool has_driver;		/* posts may call the driver, whose write() is a cancellation point */
	bool extended_returns;
	bool short_addresses;		/* VIPL_SAFE_REMOTE_ADDR */
	_Atomic bool violated;		/* a VI is `violated` */

	pthread_mutex_t lock;		/* all below, up to mem_lock; its holder does not wait for a peer, see above */
	struct vi *vis;
	struct vi *dead_vis;		/* destroyed; their memory stays, because a late event may still name one of them */
	struct vi *last_dead;		/* the one that was destroyed last */
	unsigned int dead_count;	/* beyond DEAD_VIS the oldest one's memory is reused */
	struct cq *cqs;
	struct cq *dead_cqs;
	struct door *doors;
	struct listener *listeners;
	struct conn *conns;		/* returned by VipConnectWait(), not answered yet */
	unsigned int ns_users;

	pthread_mutex_t mem_lock;	/* ptags, mems; ptag->users */
	struct ptag own_ptag;
	struct ptag *ptags;
	struct mem *mems[MEM_BUCKETS];
	VIP_MEM_HANDLE last_private;
	_Atomic uint32_t mem_epoch;	/* changes with each registration that ends or changes */
};

/*
 * A thread can be cancelled where it waits in a Vip...Wait(), or while it connects, and nowhere
 * else. Calls that hold a lock across a possible cancellation point disable cancellation meanwhile.
 */
struct undo {
	void (*function)(void *arg);
	void *arg;
};

static inline int cancel_off(void)
{
	int own;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &own);
	return own;
}

static inline void cancel_restore(int own)
{
	pthread_setcancelstate(own, &own);
}

/* nic.c */
struct nic *nic_get(VIP_NIC_HANDLE handle);
void nic_visit(bool (*visit)(struct nic *nic, void *arg), void *arg);
void nic_visit_within(bool (*visit)(struct nic *nic, void *arg), void *arg, unsigned int ms);
const char *nic_find(const char *device, char *name, size_t size);	/* names.c */

/* mem.c */
void mem_init(void);
struct ptag *ptag_get(struct nic *nic, VIP_PROTECTION_HANDLE handle);
void ptag_put(struct nic *nic, struct ptag *ptag);
struct ptag *ptag_adopt(struct nic *nic, VIP_MEM_HANDLE handle);
struct ptag *ptag_adopt_likely(struct nic *nic);
void ptag_abandon(struct nic *nic, struct ptag *ptag);
bool ptag_is_destroyed(struct nic *nic, const struct ptag *ptag);
bool mem_look_up(struct nic *nic, VIP_MEM_HANDLE handle, struct mem_view *view);
bool mem_is_at(struct nic *nic, VIP_MEM_HANDLE handle, const struct ptag *ptag, const void *at,
	       uint64_t length);
void mem_free_all(struct nic *nic);

/* work.c */
uint64_t now_ms(void);
uint64_t deadline_ms(VIP_ULONG timeout);
int work_open(struct work *w, struct nic *nic, struct cq *cq, uint32_t events);
void work_close(struct work *w);
bool work_poll_locked(struct work *w);
void work_wait_locked(struct work *w, uint64_t until);
void work_wake_locked(struct work *w);
void op_finish_locked(struct op *op, uint32_t status);
void op_release_locked(struct op *op);

#define COOKIE_EARLY	1u
#define COOKIE_BITS	63u

static inline DAT_DTO_COOKIE op_cookie(const struct op *op, bool early)
{
	/* relaxed: it changes only while no operation of this VI is posted to uDAPL */
	uint64_t generation = atomic_load_explicit(&op->queue->vi->generation,
						   memory_order_relaxed);
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = (uintptr_t)op | (generation & 31u) << 1 | (early ? COOKIE_EARLY : 0);
	return cookie;
}

bool lock_within(pthread_mutex_t *lock, unsigned int ms);
void cond_init(pthread_cond_t *cond);
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until);
void cond_nap(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until, int own,
	      const struct undo *undo);

/*
 * Copies `size` bytes, which is from `step` to 2 * `step`, by two copies that may overlap: without a call of memcpy(). Most
 * short messages are of such sizes.
 */
static inline __attribute__((always_inline)) void copy_ends(void *to, const void *from, size_t size,
							    size_t step)
{
	uint8_t first[16], last[16];

	memcpy(first, from, step);
	memcpy(last, (const uint8_t *)from + size - step, step);
	memcpy(to, first, step);
	memcpy((uint8_t *)to + size - step, last, step);
}

static inline __attribute__((always_inline)) void copy_short(void *to, const void *from, size_t size)
{
	if (size - 8 <= 8)
		copy_ends(to, from, size, 8);
	else if (size - 16 <= 16)
		copy_ends(to, from, size, 16);
	else
		memcpy(to, from, size);
}

/* queue.c */
size_t heads_size(uint32_t size);
VIP_RETURN queue_open(struct queue *q, struct vi *vi, bool recv, struct cq *cq);
void queue_close(struct queue *q);
uint32_t queue_events(const struct queue *q);

/*
 * Returns how many operations are posted to uDAPL. The caller holds vi->lock, or no thread posts.
 */
static inline uint32_t queue_outstanding(const struct queue *q)
{
	/*
	 * relaxed: completions that are taken meanwhile make the number smaller; a thread that waits
	 * for that holds the work's lock
	 */
	return atomic_load_explicit(&q->given, memory_order_relaxed) -
	       atomic_load_explicit(&q->taken, memory_order_relaxed);
}

/* Counts operations before they are posted to uDAPL; with -1 one that uDAPL has refused. vi->lock is held. */
static inline void count_given(struct queue *q, uint32_t more)
{
	/* relaxed: vi->lock is held, and the operation is posted to uDAPL only after this */
	atomic_store_explicit(&q->given,
			      atomic_load_explicit(&q->given, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

uint32_t queue_length(struct queue *q);	/* descriptors that are posted and not taken by the program */
bool queue_empty(struct queue *q);
struct op *queue_head_locked(struct queue *q);
bool queue_ready_locked(struct queue *q);
VIP_RETURN queue_pop_locked(struct queue *q, VIP_DESCRIPTOR **descriptor);
bool queue_flush_within(struct queue *q, unsigned int ms);
bool queue_has_staged(struct queue *q);
void queue_begin_attempt(struct queue *q);
void queue_end_attempt(struct queue *q, bool stands);
void queue_restage(struct queue *q);
void queue_flush(struct queue *q, bool posted_too);
void queue_drain(struct queue *q, uint64_t until);

/* vi.c */
/*
 * Returns whether the VI is not destroyed. With vi->lock held, it stays so while its state or its queues keep it: a call that
 * has come from vi_get() asks again under the lock, because another thread may have destroyed the VI meanwhile.
 */
static inline bool vi_exists(const struct vi *vi)
{
	/* relaxed: the lock, or the way in which the program got the handle, makes what belongs to the VI visible */
	return atomic_load_explicit(&vi->magic, memory_order_relaxed) == VI_MAGIC;
}

/*
 * Returns the VI of a handle, or NULL if it is not a VI's or the VI was destroyed. The memory of a
 * VI is reused only for another VI of its NIC, and only after DEAD_VIS others have been destroyed,
 * so the handle of a destroyed VI is refused until then. Until then its lock can be taken, too.
 */
static inline struct vi *vi_get(VIP_VI_HANDLE handle)
{
	struct vi *vi = handle;

	return vi != NULL && vi_exists(vi) ? vi : NULL;
}

int vi_renew_ep_locked(struct vi *vi);
void vi_refresh_ep_locked(struct vi *vi);
int vi_ready_ep_locked(struct vi *vi);
bool vi_adopt_locked(struct vi *vi, VIP_MEM_HANDLE handle, bool first);
VIP_RETURN vi_check_attr(const struct nic *nic, VIP_VI_ATTRIBUTES *attr);

/* post.c */
void post_staged_locked(struct vi *vi);
uint64_t vi_break_violated(struct nic *nic);

/* greeting.c */
static inline struct op *greeting_op(const struct queue *q)
{
	return &q->ops[q->mask + 1];
}

DAT_RETURN greeting_expect_locked(struct vi *vi);
void greeting_send_locked(struct vi *vi);
void greeting_come_locked(struct vi *vi);
void greeting_await(struct vi *vi);

/* cq.c */
/*
 * Returns whether the completion queue is not destroyed. With nic->lock or work.lock held, it stays so: a call that
 * has come from cq_get() asks again under one of them, because another thread may have destroyed the queue meanwhile.
 */
static inline bool cq_exists(const struct cq *cq)
{
	/* relaxed: the lock, or the way in which the program got the handle, makes what belongs to the queue visible */
	return atomic_load_explicit(&cq->magic, memory_order_relaxed) == CQ_MAGIC;
}

/*
 * Returns the completion queue of a handle, or NULL if it is not a completion queue's or the queue was destroyed. The
 * memory of a destroyed queue, and so its lock, stays until its NIC is closed.
 */
static inline struct cq *cq_get(VIP_CQ_HANDLE handle)
{
	struct cq *cq = handle;

	return cq != NULL && cq_exists(cq) ? cq : NULL;
}

void cq_push_locked(struct cq *cq, struct vi *vi, bool recv);
bool cq_ready_locked(struct cq *cq);
bool cq_pop_locked(struct cq *cq, struct cq_entry *entry);
void cq_forget(struct cq *cq, const struct vi *vi);
VIP_RETURN cq_use(struct cq *cq, uint32_t events);	/* nic->lock */

/* herald.c, notify.c */
int herald_start(struct nic *nic);
void herald_stop(struct nic *nic);
void herald_wake(struct nic *nic);
uint64_t herald_guard(struct nic *nic);
void herald_watch(struct work *w);
void herald_unwatch(struct work *w);
void herald_error(struct nic *nic, struct vi *vi, struct cq *cq, VIP_DESCRIPTOR *descriptor,
		  VIP_RESOURCE_CODE resource, VIP_ERROR_CODE code);
void herald_end(struct vi *vi, bool normal);
bool herald_may_take(struct herald_thread *self);
bool notice_take(struct work *w, struct herald_thread *self, struct call *call);
void call_make(const struct nic *nic, const struct call *call);
void notices_forget_locked(struct work *w, const struct queue *q);

/* thread.c */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

/* keeper.c */
int keeper_start(struct nic *nic);
void keeper_stop(struct nic *nic);
void keeper_wake(struct nic *nic);
bool vi_reach(struct vi *vi);
void keeper_free_all(struct nic *nic);

/* helper.c */
bool helper_start_locked(struct vi *vi, void (*act_locked)(struct vi *vi));
static inline bool is_helped(const struct vi *vi)
{
	/* relaxed: under vi->lock, or a hint for the keeper, which alone starts helpers */
	return atomic_load_explicit(&vi->helped, memory_order_relaxed);
}
void helpers_reap(struct nic *nic);
void helpers_end(struct nic *nic);

/* leave.c */
void leave_nic(struct nic *nic);

/* attempt.c */
VIP_RETURN vi_begin(struct vi *vi);
void vi_give_up(struct vi *vi);
void vi_settle(struct vi *vi);
void vi_feed_locked(struct vi *vi);
DAT_RETURN vi_dial_locked(struct vi *vi, const struct net_addr *local, const struct net_addr *remote,
			  unsigned int probe, uint64_t until, bool peer);
bool vi_outcome(struct vi *vi, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, const void *data, size_t size);
void vi_stand_locked(struct vi *vi);
void vi_part_locked(struct vi *vi);
void vi_call_off(struct vi *vi);
VIP_RETURN outcome_meaning(const struct vi *vi);

/* connect.c */
VIP_RETURN attr_compare(const VIP_VI_ATTRIBUTES *mine, const VIP_VI_ATTRIBUTES *theirs);
DAT_RETURN vi_accept_locked(struct vi *vi, DAT_CR_HANDLE cr, const struct wire_hello *theirs);

/* listen.c */
DAT_CONN_QUAL door_qual(const uint8_t *disc, size_t length, unsigned int probe);
struct door *door_open_locked(struct nic *nic, const uint8_t *disc, size_t length);
void listen_request(struct nic *nic, DAT_CR_HANDLE cr);
void listen_answer(struct nic *nic, DAT_CR_HANDLE cr, enum wire_verdict verdict,
		   const VIP_VI_ATTRIBUTES *attr);
void listen_free_all(struct nic *nic);

/* answer.c */
void answers_init(struct answers *a);
bool answer_begin(struct nic *nic, DAT_CR_HANDLE cr, void *data, size_t size);
void answer_end(struct nic *nic, DAT_EP_HANDLE ep);
uint64_t answers_run(struct nic *nic);
void answers_free_all(struct nic *nic);

/* peer.c */
bool peer_request(struct nic *nic, DAT_CR_HANDLE cr, const struct wire_hello *hello,
		  const struct net_addr *remote);
uint64_t peer_run(struct nic *nic);

/* complain.c */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* hosts.c */
bool hosts_check(const struct nic *nic);
bool hosts_by_name(const struct nic *nic, const char *name, VIP_ULONG *index, struct net_addr *addr);
bool hosts_by_address(const struct nic *nic, const struct net_addr *addr, char *name, size_t size);

/* address.c */
bool net_addr_read(const struct nic *nic, const VIP_NET_ADDRESS *address, struct net_addr *addr);
void net_addr_write(const struct net_addr *addr, VIP_NET_ADDRESS *address, bool keep_short);
bool net_addr_is_here(const struct nic *nic, const struct net_addr *addr);
void net_addr_of_sockaddr(const struct sockaddr *sa, struct net_addr *addr);
void net_addr_to_sockaddr(const struct net_addr *addr, struct sockaddr_storage *sa);
bool same_host(const struct nic *nic, const struct net_addr *a, const struct net_addr *b);

#endif
