/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The private objects that the files of the verbs transport share, and the differences between ib and iwarp.
 *
 * LOCKS, in the order of <datp/provider.h>: rdma_ia.cq_lock > poll lock of an EVD (or of the IA's null queue) > EP > SRQ.
 * The leaves are rdma_ia.lock (the IA mutex, for the owners of connections), qp_lock (a table), rmr_lock
 * (the ranges of RMRs), and the lock that fork() waits for (<datp/fork.h>). No upcall to libdatp is made while one of
 * them is held. The poll lock of an EVD and the EP lock are biased (<datp/bias.h>).
 */
#ifndef RDMA_H
#define RDMA_H

#include <datp/bias.h>
#include <datp/fork.h>
#include <datp/lmr_table.h>
#include <datp/provider.h>
#include <datp/timer.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "rdma_devices.h"

#define RDMA_SGE_MAX	  32  /* the segments for which a post has room on its stack */
#define RDMA_CQ_MAX	  16  /* the most CQs of one EVD: another is created if none can grow any more */
#define RDMA_CQ_SPARE	  (1 << 20) /* entries that the CQs of an IA may have beyond what they need, in the same case */
#define RDMA_NUDGES	  12  /* RDMA Writes of length 0 on a new connection; see rdma_timer.c */
/* the provider's own requests on a send queue: these writes, an RTR message, and the marker of a drain */
#define RDMA_SPARE_WR	  (RDMA_NUDGES + 2)
/* the RDMA Reads of a connection in each direction, if no side can know the other's limit: the default of libdatp */
#define RDMA_READS_USUAL  16
#define RDMA_PDATA_MAX	  256 /* what any transport can carry */
#define RDMA_QPN_BUCKETS  4096 /* buckets of endpoints with an SRQ */
#define RDMA_REJECT_BYTES 4
#define RDMA_TRAILER	  4 /* the bytes that end padded private data */
#define RDMA_PROVIDER_ATTRS 7 /* as many as rdma_named_fill() adds */

struct rdma_ia;
struct rdma_ep;
struct rdma_range;
struct rdma_conn;
struct rdma_part;

/* The differences between ib and iwarp. */
struct rdma_kind {
	const char *name; /* the provider's name in messages */
	enum ibv_transport_type transport;
	const char *shown;	   /* the transport's name in messages to the administrator */
	uint32_t max_private_data; /* the bytes that a consumer may send */
	/* bytes that a request carries, padded; 0 if it carries the exact length */
	uint32_t request_bytes;
	uint32_t reply_bytes;	   /* likewise for an accept */
	uint32_t reject_bytes;	   /* likewise for a rejection, behind its word */
	bool has_rtu;		   /* the active side answers the reply by an RTU (rdma_establish) */
	bool attempts_linger;	   /* destroying an attempt may sleep until the peer has answered */
	bool reads_overtaken;	   /* requests may complete before an earlier read */
	bool impatient; /* a message without a posted receive breaks the connection */
	/* returns true if the status of a REJECTED event means that a consumer has rejected, or may have */
	bool (*rejected_by_consumer)(int status);
	/* adjusts the attributes of a transition of the queue pair, after librdmacm has filled them */
	void (*tune)(struct ibv_qp_attr *attr, int *mask);
	/*
	 * Makes a CQ that occupies a key which no other queue may get, on a device that has just been opened and that
	 * has the quirk "queue_key". Returns NULL if it cannot; the pointer is NULL if the kind needs none
	 */
	struct ibv_cq *(*reserve_key)(struct rdma_ia *ia);
};

/* ------------------------------------------------------------------ completion queues */

/* The use of a CQ by a queue pair. */
enum rdma_use { RDMA_RECEIVES, RDMA_REQUESTS };

struct rdma_cq {
	struct ibv_cq *cq;
	uint32_t size, used; /* entries, and those promised to queue pairs (the IA's cq_lock) */
	uint32_t spare; /* entries of `size` that come from the IA's cq_spare (its cq_lock) */
	bool settled;	/* receives are on it that cannot move to another CQ (the IA's cq_lock) */
	bool requests_only; /* it takes no receives; written before any thread polls it */
};

/*
 * The CQs of one EVD, on one completion channel. There is more than one only if a CQ cannot grow as far as it has to.
 * `home` has, by enum rdma_use, the CQs that newly connected endpoints use: one for both uses, unless requests have a
 * CQ of their own. CQs are created and destroyed under the cq_lock and the poll lock.
 */
struct rdma_cqset {
	struct rdma_ia *ia;
	_Atomic uint32_t *poll_lock;
	struct datp_evd *evd; /* NULL: the IA's null queue, for endpoints without an EVD */
	struct ibv_comp_channel *channel;
	struct datp_fork_fd fork_fd; /* its descriptor */
	struct rdma_cq cq[RDMA_CQ_MAX]; /* an entry in use has a `cq` */
	struct rdma_cq *home[2];
	/* the only CQ; if there are several or none, a CQ that is always empty */
	struct ibv_cq *one;
	uint32_t live;	    /* the number of CQs */
	struct datp_watch *watch; /* on the channel; poll lock */
	bool armed;		  /* an event will come, or is in the channel (poll lock) */
	bool armed_solicited;	  /* that event comes only for a solicited completion (poll lock) */
	bool stopping;		  /* the watch must not be added any more (poll lock) */
	/* the device is gone, so nothing comes through the channel any more. relaxed: a thread that looks too soon looks again */
	_Atomic bool gone;
	/*
	 * A sleeper has seen the channel readable. relaxed: a hint between the sleeper and the same
	 * thread's next call
	 */
	_Atomic bool fired;
	_Atomic bool solicited; /* the completions that are polled next may be of solicited messages */
	/* this poll has queued an event, so later ones are queued behind it (poll lock) */
	bool queued;
	uint32_t drains;	/* endpoints that wait for their last request (poll lock) */
	/* endpoints with an SRQ that receive here, by queue pair number; NULL: none so far (poll lock) */
	struct rdma_ep **qpn_table;
};

struct rdma_evd {
	struct datp_evd base;
	struct datp_bias bias; /* of the poll lock, where there is a CQ */
	struct rdma_cqset set;
	/* eventfd: wakes a sleeper, which watches the channel, too; -1: none yet (poll lock) */
	_Atomic int wake_fd;
	_Atomic bool rung; /* it has been written since it was last read */
};

/* ------------------------------------------------------------------ memory */

struct rdma_pz {
	struct datp_pz base;
	struct ibv_pd *pd;
};

struct rdma_lmr {
	union {
		struct datp_lmr base;
		struct datp_known_lmr known; /* in the IA's table, by the device's key */
	};
	struct ibv_mr *mr;
	bool windows; /* memory windows can be bound to it */
};

/*
 * A range that a bind has opened, by a memory window or by a registration. Guarded by the IA's rmr_lock once it is
 * listed.
 */
struct rdma_range {
	struct rdma_range *next;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	uint32_t key;
	bool written; /* peers may write to it */
	bool bound;   /* its bind has completed */
};

struct rdma_rmr {
	struct datp_rmr base;
	/* the ranges of the bind that is in effect, and of the binds that have not completed (the IA's rmr_lock) */
	struct rdma_range *ranges;
};

/* The entries of one CQ that are reserved for the completions of an SRQ's receives, whichever endpoints take them. */
struct rdma_srq_cqes {
	struct rdma_srq_cqes *next;
	struct rdma_cqset *set;
	struct rdma_cq *cq;
	uint32_t need, endpoints;
};

struct rdma_srq {
	struct datp_srq base;
	struct ibv_srq *srq;
	uint32_t size;		    /* a resize up to this length leaves the queue as it is */
	pthread_mutex_t lock;	    /* taken before the IA's cq_lock */
	struct rdma_srq_cqes *cqes; /* one for each set of CQs (lock) */
};

/* ------------------------------------------------------------------ connections */

/* A receive that was posted before the endpoint had a queue pair. */
struct rdma_staged {
	struct rdma_staged *next;
	struct datp_wqe *wqe;
	struct datp_pz *pz; /* the PZ that its memory was checked against */
	int n;
	struct ibv_sge sge[];
};

/*
 * One attempt to connect or one connection: an rdma_cm_id and its endpoint. Ids are for single use, so an endpoint
 * gets a new one of these for each attempt. Only the service thread destroys them, which is also the only thread that
 * reads events.
 */
struct rdma_conn {
	struct rdma_ia *ia; /* NULL: closed meanwhile (workers' lock in rdma_conn.c) */
	struct rdma_conn *next, **prev;
	struct rdma_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_ep *ep; /* NULL if it does not belong to an endpoint any more (IA mutex) */
	/*
	 * The op that has started the attempt has not returned yet (IA mutex). An event may come before it returns:
	 * the service thread waits then, and so does a thread that detaches this from the endpoint. So the op has
	 * exclusive access, and may write fields without the mutex.
	 */
	bool making;
	bool busy;	    /* the service thread is handling one of its events (IA mutex) */
	/* a worker thread is busy with it, or has a result that is not delivered yet (IA mutex) */
	bool working;
	bool told;	    /* the service thread is to deliver the result, and the worker is done (workers_lock) */
	int result;	    /* of rdma_connect(): an errno, or 0 */
	bool connecting;    /* the worker thread, `worker`, may be in rdma_connect (IA mutex) */
	pthread_t worker;
	uint64_t handshake_us; /* it is not cancelled before this time (IA mutex) */
	bool detached;	    /* from its endpoint, and not retired yet: the thread that has detached it does that (IA mutex) */
	bool dead;	    /* to be destroyed (IA mutex) */
	bool active;
	/* its end has been reported, and no further event is. Used by the service thread, later under the mutex */
	bool ended;
	/*
	 * it has been accepted, and has not ended. Used by the op that accepts, then by the service thread, or under
	 * the mutex
	 */
	bool answered;
	/*
	 * Only the service thread uses it, without the mutex; for deferred accepts, and once the connection has no endpoint any
	 * more, it is used under the IA mutex.
	 */
	bool established;
	DAT_EVENT_NUMBER fails; /* the attempt has failed within its op, and has this event; 0: it has not. Written by the op */
	/* it has been disconnected, and the event of its end is still to come. Only used by the service thread */
	bool hung_up;
	/*
	 * it is connected, but is not reported before the peer answers the RTR message. Only used by the service thread
	 */
	bool rtr_pending;
	/*
	 * the time of the next nudge, of a deferred accept, of a repeated request, of the report of a failure, or of
	 * giving up the wait for its end; once it is detached, the time to cancel its worker;
	 * 0: none (IA mutex)
	 */
	uint64_t due_us;
	/*
	 * when the wait for the peer ends: for its RTU after an accept, or for the end of a connection that no
	 * endpoint has any more; 0: nothing is waited for (IA mutex)
	 */
	uint64_t limit_us;
	int nudges;	  /* the number so far (IA mutex) */
	/*
	 * Only the service thread uses the next four. How often the address was resolved, and later how often the request
	 * was sent again
	 */
	uint32_t tries;
	uint32_t routes;  /* how often its route was looked up in vain */
	bool asks;	  /* `due_us` is the time of its repeated request */
	uint64_t asked_us; /* when its latest request was sent; 0: none was */
	int part;	  /* which part of its private data was sent last: 1 or 2; 0: it has no parts */
	struct rdma_conn_param param;
	unsigned char pdata[RDMA_PDATA_MAX]; /* as on the wire */
	/* private data that are sent in parts, and later those of the answer; `whole_len` 0: none */
	unsigned char whole[RDMA_PDATA_MAX];
	uint32_t whole_len;
};

/* An event channel. It outlives its IA while the id of a worker is on it. */
struct rdma_channel {
	struct rdma_event_channel *channel;
	struct datp_fork_fd fork_fd; /* its descriptor */
	_Atomic uint32_t refs;
};

/*
 * Why requests cannot go to the device yet. ACCEPT, ACCEPT_CALLED: the program has accepted, and the peer has not been
 * answered yet; see rdma_timer.c. FIRST_MESSAGE: the peer has been answered, and requests are deferred until its first
 * message. FENCED: they are deferred behind an RDMA Write whose fence the device ignores. For both see rdma_defer.c.
 */
enum rdma_deferral { DEFER_NONE, DEFER_ACCEPT, DEFER_ACCEPT_CALLED, DEFER_FIRST_MESSAGE, DEFER_FENCED };

/* A deferred request: it is kept until it may go to the device. */
struct rdma_deferred {
	struct rdma_deferred *next;
	struct ibv_send_wr wr;
	struct ibv_sge sge[];
};

/*
 * The LMR of the last segment of a kind, and a segment in it for the device. The PZ, rights and range of the LMR that
 * were found are valid as long as its `registration` has not changed, which takes one load to check.
 */
struct rdma_lmr_cache {
	const struct rdma_lmr *lmr; /* never NULL */
	uint64_t registration;
	/* not negative, so the beginning of a valid segment is not negative either, and sums do not wrap around */
	int64_t begin;
	uint64_t end;
	struct ibv_sge sge;
};

/*
 * A span: consecutive free slots, which the next posts take. All posts take their slots from it until it is used up,
 * when `next` equals `stop`.
 */
struct rdma_span {
	struct datp_wqe *next, *stop;
};

struct rdma_ep {
	struct datp_ep base;
	struct datp_bias bias; /* of the EP lock */
	struct ibv_qp *qp;
	/* the driver's functions of that queue pair, kept here to save a load; or post_whole() in place of the first */
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	/* 0: none. Completions with other numbers belong to earlier queue pairs (EP lock) */
	uint32_t qpn;
	struct rdma_ep *next, **prev; /* in the IA's list (its qp_lock) */
	struct rdma_ep *next_qpn;     /* in its bucket of recv_set->qpn_table (that one's poll lock) */
	struct rdma_cq *send_cq, *recv_cq;
	struct rdma_cqset *send_set, *recv_set;
	uint32_t send_need, recv_need; /* the entries of those CQs that the queue pair may use */
	uint32_t max_inline;
	int read_sge; /* the number of segments that one read of the device can have */
	uint32_t unsignaled, signal_every; /* suppressed posts since the last signaled one, and their limit */
	bool ready;			   /* receives go to the queue pair (EP lock) */
	bool rtr_heard;			   /* the RTR message has been answered, and ESTABLISHED will follow (EP lock) */
	bool over; /* the connection is over: posts are accepted and ignored (EP lock) */
	uint8_t deferral; /* enum rdma_deferral (EP lock) */
	bool up;   /* ESTABLISHED has been queued: completions may be shown (EP lock) */
	/* `up`, and no request waits for the first message, so a receive can take the fast path (EP lock) */
	bool heard;
	uint64_t defer_until_us; /* until then requests are deferred, while `deferral` is DEFER_FIRST_MESSAGE (EP lock) */
	struct rdma_deferred *deferred, **deferred_tail; /* EP lock */
	bool broken; /* a request has failed, and the connection is about to end (EP lock) */
	bool failed; /* a request has failed, so later ones do not succeed (EP lock) */
	bool draining;
	/*
	 * in a stopped queue pair: the number of receives, and the last request, whose completions are still to come
	 * (EP lock)
	 */
	uint32_t owed;
	/* its wr_id without the low bits; NULL if it has completed, or may never complete */
	const void *owed_last;
	bool last_taken; /* the device says that it takes no more receives of the SRQ (EP lock) */
	struct rdma_staged *staged, **staged_tail; /* EP lock */
	struct datp_node *early, **early_tail;	  /* receives that have completed before `up` (EP lock) */
	/* by index in the ring: the request is complete, but some request before it is not (EP lock) */
	unsigned char *overtook;
	/*
	 * the number of requests that overtook, plus one if `failed`, stopped or DEFER_FENCED; completions take the fast
	 * path only if it is 0 (EP lock)
	 */
	uint32_t overtaking;
	/*
	 * For rdma_fast.h, all under the EP lock. Prepared work requests of one segment, by enum datp_op, of which a
	 * post writes only the fields that differ; `long_wr` is for data that are not inline. The segments are in the
	 * caches.
	 */
	struct ibv_send_wr wr[DATP_BIND], long_wr, *bad;
	struct ibv_recv_wr recv_wr, *bad_recv;
	/* the LMR of the last segment that a request reads, and of the last that one writes */
	struct rdma_lmr_cache source, sink;
	struct rdma_span requests, receives;
	/*
	 * By enum datp_op. `longest` is the longest segment that the fast path may post: the smaller one of the limits in
	 * the endpoint's attributes and in a segment. `quick` is the longest that it may post by wr[]. Both are 0 while
	 * the operation must not go directly to the queue pair, such as a request while the endpoint is not CONNECTED.
	 */
	uint64_t longest[DATP_BIND], quick[DATP_BIND];
	/* the numbers of reads that the program asked for, while the attributes show the negotiated ones (EP lock) */
	int32_t asked_in, asked_out;
	/*
	 * the peer serves no read, and the device would keep one for ever; written before the connection is established (EP lock)
	 */
	bool readless;
	bool agreed; /* the attributes show the negotiated numbers (EP lock) */
	struct rdma_conn *conn;			  /* IA mutex */
};

struct rdma_sp {
	struct datp_sp base;
	struct rdma_cm_id *id;
};

struct rdma_cr {
	struct datp_cr base;
	struct rdma_cm_id *id;
	struct rdma_conn_param offer; /* what the active side asked for */
};

/*
 * The default of the longest message that is posted inline: a cache line, for which every device has room in a work
 * request. The device, or its driver, then has no memory to look up and fetch.
 */
#define RDMA_INLINE 64

/* How RMRs are made if the device has no memory windows or these are unreliable: emulated, or by its windows if it has any. */
enum rdma_rmrs { RDMA_RMR_EMULATE, RDMA_RMR_DEVICE };

/* The parameters of an adapter in dat.conf. */
struct rdma_options {
	char where[256]; /* netdev, address, host name or verbs device */
	int port;	 /* of a verbs device, from 1; 0: any */
	uint32_t resolve_ms, resolve_tries;
	uint32_t route_ms, route_tries; /* the same for a route; 0: as for an address */
	int gid;	 /* the index of the GID that connections have; -1: that of the address */
	uint32_t roce;	 /* enum rdma_roce: the version that connections must have */
	uint32_t late_ms; /* how long an accept waits for the first receive, if it has to */
	uint32_t handshake_ms; /* how long a peer may take to confirm an accept, and to answer the end of a connection */
	uint32_t hold_ms; /* how long the passive side's requests wait for the peer's first message, if they have to */
	uint32_t inline_bytes;
	bool marks;   /* packets get `tos` as their type of service, and not the host's default */
	uint32_t tos;
	uint32_t rmr; /* enum rdma_rmrs */
	uint32_t quirks_on, quirks_off; /* by rdma_quirk_bit(): what dat.conf switches */
};

struct rdma_ia {
	struct datp_ia base;
	const struct rdma_kind *kind;
	struct rdma_options opt;
	struct ibv_context *verbs;
	struct datp_fork_fd cmd, async; /* its descriptors */
	uint8_t port;
	struct ibv_device_attr dev;
	struct ibv_port_attr port_attr;
	struct ibv_pd *pd; /* the PD of endpoints without a PZ; no memory is registered in it */
	/* RMRs are memory windows of type 1; relaxed: a bind that finds that there are none sets it to false */
	_Atomic bool windows;
	uint32_t quirks;   /* by rdma_quirk_bit(): those that are on */
	_Atomic bool solicited_unknown; /* the device cannot report solicited messages only */
	_Atomic bool deaf; /* a message has said that the device cannot be armed for completions */
	/* an id that is bound to the address; it always gets the event of the device's removal */
	struct rdma_cm_id *bound;
	struct rdma_channel *channel;
	struct datp_watch *cm_watch, *async_watch;
	struct datp_timer timer; /* of rdma_timer.c */
	_Atomic bool lost; /* the device is gone, and reports nothing more. Written by the service thread */
	bool link_down; /* a message has said so. Only used by the service thread */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* a connection is not busy any more; CLOCK_MONOTONIC */
	struct rdma_conn *conns;
	struct rdma_part *parts; /* only used by the service thread */
	bool reaping; /* a call to destroy dead connections is queued (IA mutex) */
	pthread_mutex_t cq_lock; /* guards the sizes of CQs; taken before the poll locks */
	bool rigid, asked_to_grow; /* the device cannot resize a CQ; that has been tried (cq_lock) */
	uint32_t cq_spare; /* entries that CQs of a rigid device may still have beyond what they need (cq_lock) */
	_Atomic uint32_t rmr_lock; /* a leaf: what is listed in RMRs */
	_Atomic bool lingers; /* a message has said that rdma_mr_settle() cannot wait */
	struct ibv_cq *key_cq; /* what rdma_kind.reserve_key() has returned; or NULL */
	struct rdma_cqset null_set; /* the null queue: the CQs of endpoints without an EVD */
	_Atomic uint32_t null_lock;
	_Atomic uint32_t qp_lock; /* a leaf */
	struct rdma_ep *eps;	  /* the endpoints that have a queue pair (qp_lock) */
	struct ibv_qp_cap accepted; /* the device has taken a queue pair that deep and wide (qp_lock) */
	struct datp_lmr_table lmrs;
	DAT_NAMED_ATTR named[13 + RDMA_QUIRKS];
	int named_count;
	char named_text[4][64];
	/* rdma_named.c */
	DAT_NAMED_ATTR provider_attr[RDMA_PROVIDER_ATTRS];
	char provider_text[RDMA_PROVIDER_ATTRS][48];
	char quirk_text[RDMA_QUIRKS][128];
};

static inline struct rdma_ia *rdma_ia(struct datp_ia *ia)
{
	return (struct rdma_ia *)ia;
}

/*
 * Returns the error of a verbs call that is not a post, or 0. Drivers return its number, or -1 with the number in errno, or the
 * number as a negative one, without errno (bnxt when it resizes a CQ).
 */
static inline int rdma_verbs_err(int rc)
{
	if (rc == -1)
		return errno != 0 ? errno : EIO;
	return rc < 0 ? -rc : rc;
}

/* Returns true if that quirk is on. dat.conf decides, or else the table of devices. */
static inline bool rdma_has(const struct rdma_ia *ia, enum rdma_quirk quirk)
{
	return (ia->quirks & rdma_quirk_bit(quirk)) != 0;
}

/* Returns true if RMRs are emulated when windows are missing or cannot be relied on. */
static inline bool rdma_emulates(const struct rdma_ia *ia)
{
	return ia->opt.rmr == RDMA_RMR_EMULATE;
}

static inline bool rdma_has_windows(const struct rdma_ia *ia)
{
	return atomic_load_explicit(&ia->windows, memory_order_relaxed);
}

static inline struct rdma_ep *rdma_ep(struct datp_ep *ep)
{
	return (struct rdma_ep *)ep;
}

static inline struct rdma_ia *rdma_ep_ia(struct rdma_ep *ep)
{
	return (struct rdma_ia *)ep->base.obj.ia;
}

/* Returns true if requests are deferred instead of being posted. EP lock. */
static inline bool rdma_defers_locked(const struct rdma_ep *ep)
{
	return ep->deferral >= DEFER_FIRST_MESSAGE;
}

static inline struct rdma_evd *rdma_evd(struct datp_evd *evd)
{
	return (struct rdma_evd *)evd;
}

/* ------------------------------------------------------------------ counts */

/* Converts a count of the device to an attribute of the standard, which is limited to its type. */
static inline int32_t rdma_count(int64_t n)
{
	return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static inline int32_t rdma_least(int64_t a, int64_t b)
{
	return rdma_count(a < b ? a : b);
}

#endif
