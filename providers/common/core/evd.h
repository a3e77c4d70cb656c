/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues and CNOs, as seen from inside libdatp.
 *
 * An EVD is a list of nodes which are embedded in the objects that the events are about: a posted
 * operation, an endpoint, a connection request, or a note from the EVD's own store (software and asynchronous events, and the
 * events that freed endpoints leave in DAT 2.0). So queueing never allocates and never overflows, except for notes of the store.
 */
#ifndef EVD_H
#define EVD_H

#include "core.h"
#include <datp/fork.h>

/* ------------------------------------------------------------------ nodes */

enum node_kind { NODE_DTO, NODE_CONN, NODE_CR, NODE_SOFT, NODE_ASYNC, NODE_LEFT, NODE_SRQ_END };

enum { NODE_QUEUED = 1 };	/* datp_node.flags: the node is on a list (EVD lock) */

/*
 * A software or asynchronous event, or one of a connection whose endpoint has been freed. From the EVD's store, to which it returns
 * when it is taken; except SRQ_END, the asynchronous error about the end of an endpoint with an SRQ, which is embedded in that
 * endpoint.
 */
struct evd_note {
	struct datp_node node;
	void *about;		/* SOFT: the consumer's pointer; others: the object's handle */
	int32_t reason;		/* ASYNC, SRQ_END */
};

struct evd_store {
	struct evd_store *next;
	struct evd_note notes[];
};

/* An event about a connection; embedded in its endpoint, and written before it is queued. */
struct conn_note {
	struct datp_node node;
	struct datp_ep *ep;
	const void *pdata;	/* the endpoint's data */
	uint32_t pdata_len;
};

/* ------------------------------------------------------------------ EVD */

/*
 * How the DTO streams of an EVD notify: all in the same way, and as EVERY if a stream of other
 * events (of connections, or of connection requests) feeds the EVD too. With
 * ALLOW_MIXED_COMPLETIONS all but SOLICITED can be mixed, and each completion notifies as its own
 * stream does.
 */
enum evd_stream {
	STREAM_EVERY,
	STREAM_UNSIGNALLED,
	STREAM_SOLICITED,
	STREAM_OTHER,
	STREAM_COUNT
};

struct evd_priv {
	_Atomic uint64_t conn_events; /* of connections, queued so far */
	_Atomic uint32_t lock;		/* the EVD lock; guards all below unless said otherwise */
	struct datp_node *first, **last;
	uint32_t qlen;			/* the length that evd_query returns */
	/* where completions are inserted that are being moved to the list: before what has been queued since; or NULL */
	struct datp_node **drain_at;
	uint32_t crs;			/* connection requests on the list */
	struct evd_note *spare;		/* unused notes, through node.next */
	struct evd_note *left_spare;	/* those that were made for events LEFT */
	uint32_t left;			/* how many were made for these: qlen at most */
	struct evd_store *stores;
	uint32_t notes;			/* in all stores, without those for events LEFT */
	uint32_t streams[STREAM_COUNT];
	bool explicit_threshold;	/* a stream asked for EVD_THRESHOLD explicitly */
	bool disabled, unwaitable;
	bool dead;			/* being freed: waiters leave with ABORT */
	bool gone; /* poll lock: the transport's queue must not be accessed any more */
	bool notified;			/* a notifying event has come since the wait began */
	uint32_t threshold;		/* of the waiter */
	_Atomic uint32_t wakers;	/* threads that wake the waiter, without the lock; changed under the lock */
	/* the waiter has checked the queue, and sleeps; set under the EVD lock */
	_Atomic bool asleep;
	_Atomic uint32_t own_bell; /* what `bell` points to unless the transport says otherwise */
	struct datp_timer arm_timer;	/* set while an arming is owed; not once the EVD is dead */
	struct loan *loans;		/* to endpoints of other IAs (the loans lock) */
	struct datp_cno *cno;		/* with a reference */
	/* CNO lock of `cno`: */
	struct datp_evd *cno_next;	/* on the list of EVDs with triggers */
	bool cno_listed;
	uint32_t triggers;		/* events passed to the CNO that it has not reported yet */
};

static inline struct evd_priv *evd_priv(struct datp_evd *evd)
{
	return OBJ_PRIV(struct evd_priv, evd);
}

/*
 * Whether the EVD is being freed, or its place is not published again yet. It is an error of the program that it calls a function
 * for the EVD meanwhile, and the function must change nothing. EVD lock.
 */
static inline bool evd_is_over_locked(const struct datp_evd *evd)
{
	/* relaxed: a program that frees the EVD meanwhile may get either result */
	return atomic_load_explicit(&evd->obj.tag, memory_order_relaxed) != DATP_TAG(DATP_EVD) ||
	       OBJ_PRIV(const struct evd_priv, evd)->dead;
}

/* The threads to wake once the EVD lock is released. */
struct evd_wakeup {
	bool waiter;
	struct datp_cno *cno;
	bool agent;
};

/* EVD lock held for all of these. */
void evd_append_locked(struct datp_evd *evd, struct datp_node *node);
/* Removes the node that *at points to, and returns it. */
struct datp_node *evd_unlink_locked(struct datp_evd *evd, struct datp_node **at);
/* Finds whom an event that has just been queued wakes: adds to *wakeup, for evd_wake(). */
void evd_notify_locked(struct datp_evd *evd, struct evd_wakeup *wakeup);
/* Returns a note that has been taken from the list to its store, if it is from one. */
void evd_note_give_locked(struct evd_priv *priv, struct evd_note *note);

/*
 * Wakes the threads in *wakeup. EVD lock not held. soon: the caller holds other locks, so the service
 * thread calls the consumer's agent.
 */
void evd_wake(struct datp_evd *evd, const struct evd_wakeup *wakeup, bool soon);
/* Appends a node and wakes those who wait for it. Takes the EVD lock and, inside, the CNO lock. */
void evd_post(struct datp_evd *evd, struct datp_node *node, bool notify);
/* Removes a node from the list, if it is still there. */
void evd_unpost(struct datp_evd *evd, struct datp_node *node);
/* Removes the queued events of an endpoint. The poll lock is held if the endpoint has completions on the EVD. */
void evd_purge_ep(struct datp_evd *evd, const struct datp_ep *ep);
/* Queues the embedded note of an endpoint, which is not queued, on the IA's async EVD, if it has one. No lock after SRQ held. */
void evd_post_srq_end(struct datp_ia *ia, struct evd_note *note);
/* Removes the embedded notes of the endpoints of an IA from its async EVD, which the IA gives up. Async lock. */
void evd_purge_srq_ends(struct datp_evd *evd, const struct datp_ia *ia);
/*
 * Makes the queued events about an endpoint's connection independent of the endpoint, which is being freed. This is its EVD for
 * them, and nothing queues more.
 */
void evd_keep_events(struct datp_evd *evd, struct datp_ep *ep);
/* Moves what the transport has completed to the list. Poll lock held. */
void evd_drain_locked(struct datp_evd *evd);
/* The same if there may be completions; takes the poll lock. */
void evd_progress(struct datp_evd *evd);
/*
 * Arms the transport for new completions if there is a CNO; if ever more completions come, the service thread does so later. No
 * lock held.
 */
void evd_rearm(struct datp_evd *evd);
/* Wakes the EVD's waiter so that it checks again. EVD lock not held. */
void evd_wake_waiter(struct datp_evd *evd);
/* Releases the EVD lock, and then wakes the waiter. The EVD is not freed before this returns. */
void evd_wake_held_unlock(struct datp_evd *evd);

/*
 * A stream of events from an endpoint or service point begins or ends. Returns false if it cannot
 * share the EVD with the others; *clash, which may be NULL, is then the stream in its way, or
 * `stream` if the EVD's own software events are.
 */
bool evd_attach(struct datp_evd *evd, enum evd_stream stream, bool explicit_threshold,
		enum evd_stream *clash);
void evd_detach(struct datp_evd *evd, enum evd_stream stream);
/* Returns true if there is room for another connection request. */
bool evd_takes_cr(struct datp_evd *evd);

enum datp_err evd_free(struct datp_evd *evd);
enum datp_err evd_resize(struct datp_evd *evd, int32_t qlen);
enum datp_err evd_modify_cno(struct datp_evd *evd, DAT_CNO_HANDLE cno);
enum datp_err evd_enable(struct datp_evd *evd, bool on);
enum datp_err evd_set_waitable(struct datp_evd *evd, bool on);
enum datp_err evd_post_soft(struct datp_evd *evd, void *pointer);
/*
 * How an edge takes events: pop_locked moves the first one from the queue into `event`, and returns
 * false if the queue is empty. EVD lock held.
 */
struct evd_want {
	bool (*pop_locked)(struct datp_evd *evd, void *event);
	void *event;
};
enum datp_err evd_wait(struct datp_evd *evd, uint32_t timeout, int32_t threshold,
		       const struct evd_want *want, int32_t *nmore);
uint32_t evd_state(struct datp_evd *evd);	/* DAT_EVD_STATE */

/* ------------------------------------------------------------------ CNO */

/* What a CNO calls. `call` is NULL if there is no agent. */
struct cno_agent {
	void *data;
	void (*call)(void *data, DAT_HANDLE evd);
};

/* The descriptor of a CNO that has one; its file descriptor is in `fork_fd`. The CNO lock guards it. */
struct cno_fd {
	struct datp_fork_fd fork_fd; /* set at creation */
	bool readable;
	bool orphaned; /* the last EVD was freed, or the CNO ends, and cno_poll() has not reported it */
};

struct datp_cno {
	struct datp_obj obj;		/* `users` counts its EVDs and its waiters */
	_Atomic uint32_t lock;		/* the CNO lock; guards all below */
	_Atomic uint32_t bell;		/* counts triggers; waiters sleep on it */
	_Atomic uint32_t waiters;
	bool dead;			/* being destroyed: waiters return a NULL EVD */
	uint32_t orphaned;		/* counts how often the last EVD was freed */
	uint32_t evds;
	struct datp_evd *first, *last;	/* EVDs with triggers, linked by evd_priv.cno_next */
	/* armed, or with a NULL function; that of a CNO with a descriptor is cno_fd_proxy() */
	struct cno_agent agent;
	struct cno_agent due;		/* fired and not yet called */
	struct datp_evd *due_evd;
	struct cno_fd fd;
};

/* Makes a CNO that is not published. */
enum datp_err cno_new(struct datp_ia *ia, struct cno_agent agent, struct datp_cno **out);
enum datp_err cno_create(struct datp_ia *ia, struct cno_agent agent, struct datp_cno **out);
enum datp_err cno_free(struct datp_cno *cno);
enum datp_err cno_wait(DAT_CNO_HANDLE handle, uint32_t timeout, struct datp_evd **out);
/*
 * Takes the next trigger without sleeping; returns DATP_ERR_QUEUE_EMPTY, and sets *out to NULL, if there is
 * none. *out is NULL on success if the last EVD was freed.
 */
enum datp_err cno_poll(struct datp_cno *cno, struct datp_evd **out);
void cno_set_agent(struct datp_cno *cno, struct cno_agent agent);
struct cno_agent cno_agent(struct datp_cno *cno);

/* Adds a trigger for an event of the EVD. Returns true if the agent has to be called. EVD lock held. */
bool cno_trigger(struct datp_cno *cno, struct datp_evd *evd);
void cno_attach(struct datp_cno *cno, struct datp_evd *evd);
/*
 * Takes an EVD off its CNO. freed: the EVD is being freed, and if it was the last one, the waiters
 * return. Returns true if the agent has to be called.
 */
bool cno_detach(struct datp_cno *cno, struct datp_evd *evd, bool freed);
void cno_wake_waiters(struct datp_cno *cno);
/* Calls a fired agent: at once (no lock held), or soon on the service thread. */
void cno_call_agent(void *cno);
void cno_call_agent_soon(struct datp_cno *cno);

/* cno_fd.c: CNOs with a descriptor */
enum datp_err cno_fd_create(struct datp_ia *ia, int *fd, struct datp_cno **out);
/* Closes the descriptor of a CNO that no EVD uses any more. No lock held. */
void cno_fd_close(struct datp_cno *cno);
/* Returns the descriptor, or -1 if the CNO has none. Takes the CNO lock. */
int cno_fd(struct datp_cno *cno);
void cno_fd_proxy(void *data, DAT_HANDLE evd);
static inline bool cno_has_fd_locked(const struct datp_cno *cno)
{
	return cno->agent.call == cno_fd_proxy;
}
/* Makes the descriptor readable. evd: the EVD that triggers; NULL: the last one was freed, or the CNO ends. */
void cno_fd_raise_locked(struct datp_cno *cno, struct datp_evd *evd);
/* Makes it unreadable if the CNO has nothing left to report. */
void cno_fd_settle_locked(struct datp_cno *cno);

/* Converts a deadline in microseconds of CLOCK_MONOTONIC to the kernel's form. */
static inline struct timespec deadline_of(uint64_t until)
{
	return (struct timespec){ .tv_sec = (time_t)(until / 1000000),
				  .tv_nsec = (long)(until % 1000000) * 1000 };
}

#define NO_DEADLINE UINT64_MAX

/* Returns the deadline of a wait that begins now. */
static inline uint64_t deadline_from(uint32_t timeout)
{
	return timeout == DAT_TIMEOUT_INFINITE ? NO_DEADLINE : datp_clock_us() + timeout;
}

#endif
