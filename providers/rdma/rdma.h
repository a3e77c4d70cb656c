/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the verbs transport share: their private objects, and what ib and iwarp differ in.
 *
 * LOCKS, in the order of <datp/provider.h>: rdma_ia.cq_lock > poll lock of an EVD (or of the IA's sink)
 * > EP > SRQ. The leaves are rdma_ia.lock (the IA mutex: who has which connection), qp_lock and mr_lock
 * (tables), rmr_lock (the ranges of RMRs), and the lock that fork() waits for (rdma_fork.c). No upcall
 * to libdatp is made with one of them held.
 * The poll lock of an EVD and the EP lock are biased; rdma_bias.h is how their owner takes them.
 */
#ifndef RDMA_H
#define RDMA_H

#include <datp/bias.h>
#include <datp/provider.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#define RDMA_SGE_MAX	  32  /* what a post can hold on its stack */
#define RDMA_CQ_MAX	  16  /* CQs of one EVD, where a CQ cannot grow */
#define RDMA_CQ_SPARE	  (1 << 20) /* entries that an IA's CQs may have beyond what they need, where they cannot */
#define RDMA_KNOCKS	  12  /* writes of nothing on a new connection; see rdma_late.c */
/* requests of our own on a send queue: those, a greeting, a drain's marker */
#define RDMA_SPARE_WR	  (RDMA_KNOCKS + 2)
#define RDMA_PDATA_MAX	  256 /* what any transport can carry */
#define RDMA_TAKERS	  4096 /* buckets of endpoints with an SRQ */
#define RDMA_MR_BUCKETS	  65536
#define RDMA_REJECT_BYTES 4
#define RDMA_TRAILER	  4 /* bytes behind padded private data */

struct rdma_ia;
struct rdma_ep;
struct rdma_range;
struct rdma_conn;
struct rdma_part;

/* What ib and iwarp differ in. */
struct rdma_kind {
	const char *name; /* of the provider, as it calls itself in messages */
	enum ibv_transport_type transport;
	const char *shown;	   /* of the transport, to the administrator */
	uint32_t max_private_data; /* of a consumer */
	uint32_t request_bytes;	   /* that a request carries, padded; 0: the exact length is carried */
	uint32_t reply_bytes;	   /* likewise, of an accept */
	bool three_way;		   /* the active side confirms the reply (rdma_establish) */
	bool connect_blocks;	   /* rdma_connect may sleep for minutes: not on the service thread */
	bool reads_overtaken;	   /* later requests may complete before an earlier read */
	bool impatient; /* a message that finds no receive ends the connection */
	bool solicited_unknown;	   /* no device tells of solicited messages in particular */
	/* what the status of a REJECTED event says: that a consumer has rejected, or may have */
	bool (*rejected_by_consumer)(int status);
	/* the last touch to the attributes of a transition, after librdmacm has filled them */
	void (*tune)(struct ibv_qp_attr *attr, int *mask);
	/* the rights that memory needs besides those asked for */
	int (*access)(const struct rdma_ia *ia, int access);
	/* whether the active side has to greet and knock: see rdma_late.c. NULL: never */
	bool (*greets)(const struct rdma_ia *ia);
	/* whether the passive side has to let the active side send first: see rdma_hold.c. NULL: no */
	bool (*holds)(const struct rdma_ia *ia);
	/* whether an answer's two numbers of reads are the wrong way round. NULL: no */
	bool (*crossed)(const struct rdma_ia *ia);
	/* whether the device serves a read whatever rights its memory has. NULL: no */
	bool (*reads_unchecked)(const struct rdma_ia *ia);
	/* whether the device chokes on a read that is fenced. NULL: no */
	bool (*reads_unfenced)(const struct rdma_ia *ia);
	/* whether all that goes wrong in sending is an error of the queue pair to it. NULL: no */
	bool (*fails_alike)(const struct rdma_ia *ia);
	/* whether a post may raise SIGPIPE: see rdma_pipe.c. NULL: no */
	bool (*pipes)(const struct rdma_ia *ia);
	/* whether what arrives may be written for an instant when its region has gone. NULL: no */
	bool (*writes_linger)(const struct rdma_ia *ia);
	/* bytes of a region, whatever the device says. NULL: what it says */
	uint64_t (*longest_region)(const struct rdma_ia *ia);
	/*
	 * A CQ that keeps a place which no other object may have; on a device that has just been
	 * opened. NULL, and where it returns that: none
	 */
	struct ibv_cq *(*plug)(struct rdma_ia *ia);
};

/* ------------------------------------------------------------------ descriptors */

/* One that a forked child must not keep; see rdma_fork.c. */
struct rdma_held {
	struct rdma_held *next, **prev;
	int fd;
};

/* ------------------------------------------------------------------ completion queues */

struct rdma_cq {
	struct ibv_cq *cq;
	uint32_t size, used; /* entries, and those promised to queue pairs (the IA's cq_lock) */
	uint32_t spare; /* entries of `size` that come from the IA's cq_spare (its cq_lock) */
};

/*
 * The CQs of one EVD, on one completion channel. More than one only where the device cannot resize: then
 * endpoints are on the newest one, `home`, from when they are connected on. CQs come and go under the cq_lock and
 * the poll lock.
 */
struct rdma_cqset {
	struct rdma_ia *ia;
	_Atomic uint32_t *poll_lock;
	struct datp_evd *evd; /* NULL: the IA's sink, for endpoints without an EVD */
	struct ibv_comp_channel *channel;
	struct rdma_held held; /* its descriptor */
	struct rdma_cq cq[RDMA_CQ_MAX]; /* those that are there have a `cq` */
	struct rdma_cq *home;
	struct ibv_cq *one; /* the only CQ; one that is empty for ever if there are several, or none */
	uint32_t live;	    /* how many there are */
	struct datp_watch *watch; /* on the channel; poll lock */
	bool armed;		  /* an event is to come, or is in the channel (poll lock) */
	bool armed_solicited;	  /* ... but only a solicited one */
	bool stopping;		  /* the watch must not be added any more (poll lock) */
	/*
	 * A sleeper has seen the channel readable. relaxed: a hint between the sleeper and the same
	 * thread's next call
	 */
	_Atomic bool fired;
	_Atomic bool solicited; /* what is polled next may have been solicited */
	bool queued; /* this poll has queued an event: what follows goes behind it (poll lock) */
	uint32_t drains;	/* endpoints that wait for their last request (poll lock) */
	/* endpoints with an SRQ that receive here, by queue pair number; NULL: none so far (poll lock) */
	struct rdma_ep **takers;
};

struct rdma_evd {
	struct datp_evd base;
	struct datp_bias bias; /* of the poll lock, where there is a CQ */
	struct rdma_cqset set;
	/* eventfd: wakes a sleeper who watches the channel too; -1: none yet (poll lock) */
	_Atomic int wake_fd;
	_Atomic bool rung; /* it has been written since it was last read */
};

/* ------------------------------------------------------------------ memory */

struct rdma_pz {
	struct datp_pz base;
	struct ibv_pd *pd;
};

struct rdma_lmr {
	struct datp_lmr base;
	struct ibv_mr *mr;
	bool windows; /* they can be bound to it */
	/*
	 * While it is registered: its context, and above that which life of this piece of memory it is; else
	 * 0. So it tells a registration from all others. Written under the IA's mr_lock, read without; see
	 * rdma_lmr_get()
	 */
	_Atomic uint64_t life;
	_Atomic(struct rdma_lmr *) next; /* in its bucket */
};

/* What a bind has opened, by a window or else by a registration. The IA's rmr_lock, once it is listed. */
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
	/* of the bind that it goes by, and of those that have not completed (the IA's rmr_lock) */
	struct rdma_range *ranges;
};

/* The room in one CQ for all that an SRQ's receives complete there, whichever endpoints take them. */
struct rdma_share {
	struct rdma_share *next;
	struct rdma_cqset *set;
	struct rdma_cq *cq;
	uint32_t need, endpoints;
};

struct rdma_srq {
	struct datp_srq base;
	struct ibv_srq *srq;
	uint32_t size;		   /* that it can be resized to in place */
	pthread_mutex_t lock;	   /* outside the IA's cq_lock */
	struct rdma_share *shares; /* one for each set of CQs (lock) */
};

/* ------------------------------------------------------------------ connections */

/* A receive that was posted before there was a queue pair to post it to. */
struct rdma_staged {
	struct rdma_staged *next;
	struct datp_wqe *wqe;
	struct datp_pz *pz; /* that its memory was checked against */
	int n;
	struct ibv_sge sge[];
};

/*
 * One attempt to connect or one connection: an rdma_cm_id and the endpoint that it is for. Ids are
 * single use, so an endpoint has a new one of these each time. Destroyed on the service thread only,
 * which is also the only one that reads events.
 */
struct rdma_conn {
	struct rdma_ia *ia; /* NULL: closed meanwhile (workers' lock in rdma_conn.c) */
	struct rdma_conn *next, **prev;
	struct rdma_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_ep *ep; /* NULL: it is not the endpoint's any more (IA mutex) */
	/*
	 * The op that has begun it is still at it (IA mutex). An event may come before that has returned:
	 * the service thread waits, and so does who takes it from the endpoint. So the op has it to itself,
	 * and what it has written without the mutex is there for those.
	 */
	bool making;
	bool busy;	    /* the service thread is handling an event of it (IA mutex) */
	bool working;	    /* a worker is at it, or its result is on its way (IA mutex) */
	bool connecting;    /* ... and `worker` may be in rdma_connect (IA mutex) */
	pthread_t worker;
	struct timespec handshake; /* until then it is not cancelled (IA mutex) */
	bool held;	    /* detached, and not retired yet (IA mutex) */
	bool dead;	    /* to be destroyed (IA mutex) */
	bool active;
	bool ended; /* its end has been told, and no event follows on that; the service thread's, then the mutex's */
	/* it has been accepted, and not ended; the op's that does that, then the service thread's or the mutex's */
	bool answered;
	/* the service thread's; late accepts, and what nobody has any more: IA mutex */
	bool established;
	bool greeting;	  /* ... but not shown as such before the peer answers; the service thread's */
	uint64_t due_ns;  /* of the next knock, or of a late accept; 0: none (IA mutex) */
	int knocks;	  /* so far (IA mutex) */
	int tries;	  /* resolutions; the service thread's */
	int part;	  /* of its private data that has been sent: 1, 2; the service thread's */
	struct rdma_conn_param param;
	unsigned char pdata[RDMA_PDATA_MAX]; /* as on the wire */
	/* of what goes in parts, and later what came with the answer; `whole_len` 0: nothing */
	unsigned char whole[RDMA_PDATA_MAX];
	uint32_t whole_len;
};

/* An event channel; outlives its IA while a worker's id is on it. */
struct rdma_channel {
	struct rdma_event_channel *channel;
	struct rdma_held held; /* its descriptor */
	_Atomic uint32_t refs;
};

/*
 * What is to be done late on the passive side. WAITS, CALLED: the request to connect has been accepted towards the
 * consumer only; see rdma_late.c. HOLDS: the peer has its answer, and requests are kept; see rdma_hold.c.
 */
enum rdma_late { LATE_NOT, LATE_WAITS, LATE_CALLED, LATE_HOLDS };

/* A request that is kept until the peer has sent something. */
struct rdma_kept {
	struct rdma_kept *next;
	struct ibv_send_wr wr;
	struct ibv_sge sge[];
};

/*
 * The memory that the last segment of a kind was in, and a segment in it for the device. What was found
 * of an LMR (its PZ, its rights, its range) holds while `life` is its life: that takes one look.
 */
struct rdma_window {
	const struct rdma_lmr *lmr; /* never NULL */
	uint64_t life;
	int64_t begin; /* not negative, nor is then where a good segment begins: it cannot wrap around */
	uint64_t end;
	struct ibv_sge sge;
};

/*
 * The slots that the next posts take: free ones that lie in a row. The run is over when `next` is `stop`, and
 * is followed by all posts until then.
 */
struct rdma_run {
	struct datp_wqe *next, *stop;
};

struct rdma_ep {
	struct datp_ep base;
	struct datp_bias bias; /* of the EP lock */
	struct ibv_qp *qp;
	/* the driver's, of that queue pair: one look less on the way */
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	uint32_t qpn; /* 0: none. Completions of other numbers are of the past (EP lock) */
	struct rdma_ep *next, **prev; /* in the IA's list (its qp_lock) */
	struct rdma_ep *next_taker;   /* in its bucket of recv_set->takers (that one's poll lock) */
	struct rdma_cq *send_cq, *recv_cq;
	struct rdma_cqset *send_set, *recv_set;
	uint32_t send_need, recv_need; /* entries of those: what the queue pair can complete */
	uint32_t max_inline;
	int read_sge; /* segments that one read of the device takes */
	uint32_t unsignaled, signal_every; /* suppressed posts since the last that was signaled */
	bool ready;			   /* receives go to the queue pair (EP lock) */
	bool over; /* the connection is: accept posts and leave them alone (EP lock) */
	uint8_t late; /* enum rdma_late (EP lock) */
	bool up;   /* ESTABLISHED has been queued: completions may be shown (EP lock) */
	bool heard; /* `up`, and no request waits for the first message: a receive is plain (EP lock) */
	uint64_t hold_ns; /* until then requests are kept, while `late` is LATE_HOLDS (EP lock) */
	struct rdma_kept *kept, **kept_end; /* EP lock */
	bool broken; /* a request has failed, and the end is on its way (EP lock) */
	bool failed; /* a request has: what is behind it does not succeed (EP lock) */
	bool draining;
	struct rdma_staged *staged, **staged_end; /* EP lock */
	struct datp_node *early, **early_end;	  /* receives complete before `up` (EP lock) */
	unsigned char *overtook; /* by place in the ring: complete, but not all before it (EP lock) */
	uint32_t overtaking;	 /* how many of those there are, and one more if `failed` (EP lock) */
	/*
	 * Of rdma_fast.h, all under the EP lock. Work requests of one segment, of which only what differs is
	 * written, by enum datp_op; `long_wr` is for what is not inlined. The segments are in the windows.
	 */
	struct ibv_send_wr wr[DATP_BIND], long_wr, *bad;
	struct ibv_recv_wr recv_wr, *bad_recv;
	struct rdma_window source, sink; /* that is read, that is written */
	struct rdma_run requests, receives;
	/*
	 * The longest segment of a plain operation, by enum datp_op: what the attributes allow and a
	 * segment can be; and the longest that is posted as wr[] stands. 0 while the operation is not to
	 * go straight to the queue pair: requests while the endpoint is not CONNECTED, for one.
	 */
	uint64_t longest[DATP_BIND], quick[DATP_BIND];
	/* reads that the consumer asked for, while its attributes show what has been agreed (EP lock) */
	int32_t asked_in, asked_out;
	bool agreed; /* they do (EP lock) */
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
 * Messages up to here are handed to the device along with the request unless dat.conf says otherwise: a
 * cache line, which every device has room for in a request as it is. The device, or its driver, then has
 * no memory to look up and fetch.
 */
#define RDMA_INLINE 64

/* What dat.conf says about an adapter. */
struct rdma_options {
	char where[256]; /* netdev, address, host name or verbs device */
	int port;	 /* of a verbs device, from 1; 0: any */
	int resolve_ms, resolve_tries;
	int late_ms; /* how long an accept waits for the first receive, where it may have to */
	int hold_ms; /* how long the passive side's requests wait for the peer's first message, where they may have to */
	uint32_t inline_bytes;
	bool emulate_rmr; /* where there are no windows, or none to rely on */
	bool read_sink;	  /* iWARP: read sinks get remote write */
};

struct rdma_ia {
	struct datp_ia base;
	const struct rdma_kind *kind;
	struct rdma_options opt;
	struct ibv_context *verbs;
	struct rdma_held cmd, async; /* its descriptors */
	uint8_t port;
	struct ibv_device_attr dev;
	struct ibv_port_attr port_attr;
	struct ibv_pd *pd; /* of endpoints without a PZ: no memory is in it */
	bool windows;	   /* RMRs are memory windows of type 1 */
	bool greets;	   /* an active side begins with a greeting */
	bool bells;	   /* a post that returns -1 has been taken, and the kernel has not been told of it */
	_Atomic bool solicited_unknown; /* the device does not tell of solicited messages in particular */
	_Atomic bool deaf; /* it has been said that it does not tell of completions */
	bool holds;	   /* a passive side lets the peer send first */
	bool crossed;	   /* an answer's two numbers of reads are the wrong way round */
	struct rdma_cm_id *bound; /* to the address; hears of the device's removal, whatever else there is */
	struct rdma_channel *channel;
	struct datp_watch *cm_watch, *async_watch;
	struct datp_watch *timer_watch; /* of rdma_late.c; NULL: nothing is done late */
	int timer_fd;
	uint64_t timer_ns; /* when it fires; 0: not at all (IA mutex) */
	bool lost; /* the device is gone; the service thread's */
	bool link_down; /* so it has been said; the service thread's */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* a connection is not busy any more; CLOCK_MONOTONIC */
	struct rdma_conn *conns;
	struct rdma_part *parts; /* the service thread's */
	bool reaping; /* a call to destroy dead ones is on its way (IA mutex) */
	pthread_mutex_t cq_lock; /* outside the poll locks: sizes of CQs */
	bool rigid, asked_to_grow; /* the device cannot resize a CQ; that has been tried (cq_lock) */
	uint32_t cq_spare; /* entries that CQs of a rigid device may still have beyond what they need (cq_lock) */
	_Atomic uint32_t mr_lock; /* a leaf */
	_Atomic uint32_t rmr_lock; /* a leaf: what is listed in RMRs */
	_Atomic bool lingers; /* it has been said that rdma_mr_settle() cannot */
	struct ibv_cq *plug; /* or NULL */
	struct rdma_cqset sink;
	_Atomic uint32_t sink_lock;
	_Atomic uint32_t qp_lock; /* a leaf */
	struct rdma_ep *eps;	  /* that have a queue pair (qp_lock) */
	_Atomic(struct rdma_lmr *) *lmrs; /* by context (written under mr_lock) */
	DAT_NAMED_ATTR named[12];
	int named_count;
	char named_text[4][64];
};

static inline struct rdma_ia *rdma_ia(struct datp_ia *ia)
{
	return (struct rdma_ia *)ia;
}

static inline struct rdma_ep *rdma_ep(struct datp_ep *ep)
{
	return (struct rdma_ep *)ep;
}

static inline struct rdma_ia *rdma_ep_ia(struct rdma_ep *ep)
{
	return (struct rdma_ia *)ep->base.obj.ia;
}

static inline struct rdma_evd *rdma_evd(struct datp_evd *evd)
{
	return (struct rdma_evd *)evd;
}

/* The sizes of the objects and every op but ia_open: those of all verbs providers. */
#define RDMA_OPS                                                                                   \
	.traits = DATP_TRAIT_SRQ_BIASED,                                                           \
	.ia_size = sizeof(struct rdma_ia), .pz_size = sizeof(struct rdma_pz),                      \
	.evd_size = sizeof(struct rdma_evd), .ep_size = sizeof(struct rdma_ep),                    \
	.lmr_size = sizeof(struct rdma_lmr), .rmr_size = sizeof(struct rdma_rmr),                  \
	.srq_size = sizeof(struct rdma_srq), .sp_size = sizeof(struct rdma_sp),                    \
	.cr_size = sizeof(struct rdma_cr), .ia_close = rdma_ia_close, .ia_query = rdma_ia_query,   \
	.pz_create = rdma_pz_create, .pz_free = rdma_pz_free, .lmr_create = rdma_lmr_create,       \
	.lmr_free = rdma_lmr_free, .lmr_find = rdma_lmr_find, .rmr_create = rdma_rmr_create,       \
	.rmr_free = rdma_rmr_free, .evd_create = rdma_evd_create, .evd_resize = rdma_evd_resize,   \
	.evd_free = rdma_evd_free, .evd_poll = rdma_evd_poll, .evd_arm = rdma_evd_arm,             \
	.evd_sleep = rdma_evd_sleep, .evd_wake = rdma_evd_wake, .srq_create = rdma_srq_create,     \
	.srq_resize = rdma_srq_resize, .srq_free = rdma_srq_free,                                  \
	.srq_post_recv = rdma_srq_post_recv,                                                       \
	.ep_create = rdma_ep_create, .ep_modify = rdma_ep_modify, .ep_reset = rdma_ep_reset,       \
	.ep_free = rdma_ep_free, .ep_recv_query = rdma_ep_recv_query, .ep_fit = rdma_ep_fit,       \
	.post_send = rdma_post_send, .post_recv = rdma_post_recv,                                  \
	.post_rdma_write = rdma_post_rdma_write, .post_rdma_read = rdma_post_rdma_read,            \
	.rmr_bind = rdma_rmr_bind, .rmr_done = rdma_rmr_done,                                      \
	.sp_listen = rdma_sp_listen, .sp_close = rdma_sp_close,                                    \
	.ep_connect = rdma_ep_connect, .cr_accept = rdma_cr_accept, .cr_reject = rdma_cr_reject,   \
	.cr_free = rdma_cr_free, .cr_move = rdma_cr_move, .ep_disconnect = rdma_ep_disconnect

/* ------------------------------------------------------------------ rdma_ia.c, rdma_device.c */

/* `kinds`: NULL-terminated; the device's transport chooses one. */
enum datp_err rdma_ia_open(struct datp_ia *ia, const char *params,
			   const struct rdma_kind *const *kinds);
void rdma_ia_close(struct datp_ia *ia);
void rdma_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr);

/* The words of dat.conf. False: said what is wrong. */
bool rdma_options_parse(struct rdma_ia *ia, const char *params);
/* The address, verbs device and port that the options name; opens the device. */
enum datp_err rdma_device_open(struct rdma_ia *ia);
void rdma_device_close(struct rdma_ia *ia);

/* ------------------------------------------------------------------ rdma_fork.c */

/* What a thread was to pthread_cancel() before it was kept from that. */
struct rdma_cancel {
	int state, type;
};

/*
 * Between these two the process does not fork: what is opened is listed in one step with that, and what is
 * closed is taken off the list. Nor is the thread cancelled. May be nested, each with an `own` of its own.
 */
void rdma_fork_hold(struct rdma_cancel *own);
void rdma_fork_release(const struct rdma_cancel *own);
void rdma_fork_list(struct rdma_held *held, int fd);
void rdma_fork_unlist(struct rdma_held *held);

/* ------------------------------------------------------------------ rdma_pipe.c */

/* From here on SIGPIPE does not end the program, unless the program itself wants that. Any thread. */
void rdma_pipe_guard(void);

/* ------------------------------------------------------------------ rdma_cq.c */

enum datp_err rdma_cqset_init(struct rdma_cqset *set, struct rdma_ia *ia, struct datp_evd *evd,
			      _Atomic uint32_t *poll_lock, uint32_t size);
void rdma_cqset_fini(struct rdma_cqset *set);
/* A CQ with room for `need` completions more, which are the caller's until they are given back. */
enum datp_err rdma_cqset_reserve(struct rdma_cqset *set, uint32_t need, struct rdma_cq **cq);
void rdma_cqset_release(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t need);
/* Whether it is the CQ that new endpoints are on. */
bool rdma_cqset_is_home(struct rdma_cqset *set, const struct rdma_cq *cq);
/* The same for `more` in this very CQ. False: it cannot be had. */
bool rdma_cqset_extend(struct rdma_cqset *set, struct rdma_cq *cq, uint32_t more);
/* The service thread sees to completions until the count of drains is 0 again. */
void rdma_cqset_watch(struct rdma_cqset *set, int drains);
bool rdma_cqset_arm(struct rdma_cqset *set, bool solicited);
/* Delivers all that has been completed. No lock held. */
void rdma_cqset_drain(struct rdma_cqset *set);

enum datp_err rdma_evd_create(struct datp_evd *evd, int32_t qlen);
enum datp_err rdma_evd_resize(struct datp_evd *evd, int32_t qlen);
void rdma_evd_free(struct datp_evd *evd);
bool rdma_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only);
int rdma_evd_sleep(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline);
void rdma_evd_wake(struct datp_evd *evd);

/* ------------------------------------------------------------------ rdma_poll.c */

/*
 * Polls; at most n completions go to `out`, what needs no event or shall not be returned (`out` NULL)
 * is done on the spot. Poll lock.
 */
int rdma_cqset_poll(struct rdma_cqset *set, struct datp_completion *out, int n);
/* The same for one; `wc` has been polled already. */
int rdma_cqset_poll_on(struct rdma_cqset *set, const struct ibv_wc *wc, struct datp_completion *out);
int rdma_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n);
/* Queues ESTABLISHED, and behind it what came before. No lock held. */
void rdma_established_show(struct rdma_ep *ep, const void *pdata, uint32_t len);

/* ------------------------------------------------------------------ rdma_post.c */

enum datp_err rdma_post_send(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err rdma_post_recv(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err rdma_post_rdma_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n,
				   const struct datp_rge *remote);
enum datp_err rdma_post_rdma_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote);
enum datp_err rdma_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
				 const struct datp_sge *iov, int n);
/* A request that moves nothing and completes after all before it. `wr_id` as it is. EP lock. */
int rdma_post_marker(struct rdma_ep *ep, uint64_t wr_id, bool signaled);
/* A request as it stands, a read in as many pieces as it takes. EP lock. */
enum datp_err rdma_post_request(struct rdma_ep *ep, struct ibv_send_wr *wr);
/* A read of nothing, which the peer's device answers. EP lock. */
bool rdma_post_greeting(struct rdma_ep *ep);
/* What the driver has said of a post that is not 0, as an errno; 0: the device has it all the same. */
int rdma_post_said(const struct rdma_ia *ia, int rc);
/* A post that has been checked is refused with that errno. DATP_OK: its connection is over, and it is flushed. EP lock. */
enum datp_err rdma_post_error_locked(struct rdma_ep *ep, const struct datp_wq *wq, int err);

/* The next plain post begins a new one. EP lock. */
static inline void rdma_run_end(struct rdma_run *run)
{
	run->stop = run->next;
}

/*
 * An op has been given a slot, the next one of the run if that is not over; upon an error libdatp takes it
 * back. EP lock.
 */
static inline enum datp_err rdma_run_follow(struct rdma_run *run, enum datp_err err)
{
	if (err)
		rdma_run_end(run);
	else if (run->next != run->stop)
		run->next++;
	return err;
}

/* The driver refuses what has just been put into the ring. EP lock, which it gives up. */
DAT_RETURN rdma_plain_refused_locked(struct datp_ep *ep, struct datp_wq *wq, int rc, bool biased);

/*
 * What the low bits of a work request's id say; the rest is an address. FOREIGN: a receive that was
 * posted when the endpoint had another PZ.
 */
enum {
	RDMA_ID_WQE = 0,
	RDMA_ID_DRAIN = 1,
	RDMA_ID_SRQ = 2,
	RDMA_ID_OURS = 3, /* nobody waits for it */
	RDMA_ID_FOREIGN = 4,
	RDMA_ID_GREETING = 5,
	RDMA_ID_MASK = 7
};

/* ------------------------------------------------------------------ counts of the device's */

/* As an attribute of the standard. */
static inline int32_t rdma_count(int64_t n)
{
	return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

static inline int32_t rdma_least(int64_t a, int64_t b)
{
	return rdma_count(a < b ? a : b);
}

/* ------------------------------------------------------------------ rdma_qp.c */

/* Of how many reads of the device one of so many segments is made. */
static inline int rdma_read_pieces(int segments, int read_sge)
{
	return (segments + read_sge - 1) / read_sge;
}

/* Requests of a program that a queue pair holds beside our own. */
int32_t rdma_request_places(const struct rdma_ia *ia);
enum datp_err rdma_ep_fit(struct datp_ia *ia, struct datp_ep_attr *attr, const struct datp_ep_attr *asked);
enum datp_err rdma_ep_create(struct datp_ep *ep);
enum datp_err rdma_ep_modify(struct datp_ep *ep, const struct datp_ep *next);
enum datp_err rdma_ep_reset(struct datp_ep *ep);
void rdma_ep_free(struct datp_ep *ep);
enum datp_err rdma_ep_recv_query(struct datp_ep *ep, int32_t *allocated, int32_t *span);
/* There is a queue pair that has never been connected. */
enum datp_err rdma_qp_ensure(struct rdma_ep *ep);
/* To INIT, and the staged receives to the queue pair. errno-like; 0 is good. */
int rdma_qp_begin(struct rdma_ep *ep, struct rdma_cm_id *id);
int rdma_qp_begin_locked(struct rdma_ep *ep, struct rdma_cm_id *id);
/*
 * Plain operations may go straight to the queue pair from now on: receives once it is ready for them,
 * requests while the endpoint is CONNECTED. EP lock.
 */
void rdma_plain_begin_locked(struct rdma_ep *ep);
/* They may not any more. EP lock. */
void rdma_plain_requests_end_locked(struct rdma_ep *ep);
void rdma_plain_end_locked(struct rdma_ep *ep);
/* To RTR and RTS, with the numbers of reads in each direction. */
int rdma_qp_connect(struct rdma_ep *ep, struct rdma_cm_id *id, uint8_t reads_in, uint8_t reads_out);
/*
 * The attributes show how many reads have been agreed, until the endpoint is reset; but those of an
 * endpoint with an SRQ, which the standard wants to stay as they were asked for. EP lock.
 */
void rdma_qp_agreed_locked(struct rdma_ep *ep, int32_t reads_in, int32_t reads_out);
/* To ERR: nobody touches a posted buffer any more. */
void rdma_qp_stop(struct rdma_ep *ep);
/* Likewise, and its connection ends soon, as broken. Of a connected endpoint. EP lock. */
void rdma_qp_stop_locked(struct rdma_ep *ep);
/* Whether the queue pair is in error. Maybe: its device does not say. Any lock. */
enum rdma_dead { RDMA_ALIVE, RDMA_DEAD, RDMA_MAYBE } rdma_qp_is_dead(const struct rdma_ep *ep);
/* The device says that it has found an error: takes the receive that tells of it. No lock held. */
void rdma_qp_failed(struct rdma_ep *ep);

/* ------------------------------------------------------------------ rdma_mr.c, rdma_mw.c, rdma_srq.c */

enum datp_err rdma_pz_create(struct datp_pz *pz);
void rdma_pz_free(struct datp_pz *pz);
enum datp_err rdma_lmr_create(struct datp_lmr *lmr, const void *cookie);
void rdma_lmr_free(struct datp_lmr *lmr);
/*
 * When this returns, nothing is written any more to a region that has been deregistered before. May take
 * milliseconds where the device itself does not wait. With any locks but the IA mutex.
 */
void rdma_mr_settle(struct rdma_ia *ia);
struct datp_lmr *rdma_lmr_find(struct datp_ia *ia, uint32_t lmr_context);
struct rdma_lmr *rdma_lmr_find_locked(struct rdma_ia *ia, uint32_t context);

static inline _Atomic(struct rdma_lmr *) *rdma_lmr_bucket(struct rdma_ia *ia, uint32_t context)
{
	/* rxe counts in the high bytes, others in the low ones */
	return &ia->lmrs[(context ^ context >> 8) % RDMA_MR_BUCKETS];
}

/*
 * The LMR of a context, or NULL; no lock on the way that is usual. LMRs are type-stable memory, so one that
 * goes away meanwhile leads astray at worst, into another bucket: nothing found is asked again with the lock.
 */
static inline struct rdma_lmr *rdma_lmr_get(struct rdma_ia *ia, uint32_t context)
{
	/* acquire: pairs with the release that publishes an LMR, and with that of its life */
	struct rdma_lmr *lmr =
		atomic_load_explicit(rdma_lmr_bucket(ia, context), memory_order_acquire);

	for (int steps = 0; lmr && steps < 64; steps++) {
		if ((uint32_t)atomic_load_explicit(&lmr->life, memory_order_acquire) == context)
			return lmr;
		lmr = atomic_load_explicit(&lmr->next, memory_order_acquire);
	}
	return rdma_lmr_find_locked(ia, context);
}
int rdma_access(const struct rdma_ia *ia, DAT_MEM_PRIV_FLAGS priv);
/* Says why memory could not be registered. */
enum datp_err rdma_mr_error(const struct rdma_ia *ia, uint64_t len, int err);

enum datp_err rdma_rmr_create(struct datp_rmr *rmr);
void rdma_rmr_free(struct datp_rmr *rmr);
enum datp_err rdma_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context);
bool rdma_rmr_done(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good);

enum datp_err rdma_srq_create(struct datp_srq *srq);
enum datp_err rdma_srq_resize(struct datp_srq *srq, int32_t max_recv_dtos);
void rdma_srq_free(struct datp_srq *srq);
/* As rdma_cqset_reserve, for what an endpoint of it receives; undone by the release with the same set. */
enum datp_err rdma_srq_reserve(struct datp_srq *srq, struct rdma_cqset *set, struct rdma_cq **cq);
void rdma_srq_release(struct datp_srq *srq, struct rdma_cqset *set);
/* An endpoint with an SRQ has got a queue pair, or has lost it; between a reserve and the release. No lock held. */
void rdma_taker_add(struct rdma_ep *ep);
void rdma_taker_remove(struct rdma_ep *ep);
/* Which of those that receive here has this queue pair; NULL: none. Poll lock. */
struct rdma_ep *rdma_taker_find_locked(const struct rdma_cqset *set, uint32_t qpn);

/* ------------------------------------------------------------------ rdma_cm.c, rdma_conn.c */

enum datp_err rdma_sp_listen(struct datp_sp *sp);
void rdma_sp_close(struct datp_sp *sp);
enum datp_err rdma_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param);
enum datp_err rdma_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
			     uint32_t len);
void rdma_cr_reject(struct datp_cr *cr);
void rdma_cr_free(struct datp_cr *cr);
enum datp_err rdma_cr_move(struct datp_cr *from, struct datp_cr *to);
void rdma_ep_disconnect(struct datp_ep *ep, enum datp_close how);

/* Events of the channel. Service thread. */
void rdma_cm_event(void *arg, uint32_t events);
/* A failed request: ends the connection soon. EP lock. */
void rdma_ep_break_locked(struct rdma_ep *ep);
/* The same for whatever other reason. Any lock. */
void rdma_ep_break(struct rdma_ep *ep);
/* The last request before a graceful end is complete. EP lock. */
void rdma_ep_drained_locked(struct rdma_ep *ep);
/* A message has come before the confirmation: it will do for one. EP lock. */
void rdma_ep_heard_locked(struct rdma_ep *ep);
/* Ends the connection of an endpoint from the service thread. */
void rdma_ep_lost(struct rdma_ep *ep, DAT_EVENT_NUMBER why);

/* Of an id that has no events yet. With an endpoint, the caller has it to itself until rdma_conn_made(). */
struct rdma_conn *rdma_conn_new(struct rdma_ia *ia, struct rdma_ep *ep, struct rdma_cm_id *id);
void rdma_conn_made(struct rdma_conn *conn);
/*
 * Takes it away from its endpoint, if there is one: none of its events is being handled any more. Then
 * rdma_conn_retire().
 */
struct rdma_conn *rdma_conn_detach(struct rdma_ep *ep);
/* It is not needed any more: disconnect it, once it is established if that is to come, or destroy it, soon. */
void rdma_conn_retire(struct rdma_conn *conn);
/* One that nobody has any more is established now. Service thread. */
void rdma_conn_confirmed(struct rdma_conn *conn);
void rdma_conn_dead(struct rdma_conn *conn);
/* An id that belongs to no connection. */
void rdma_id_drop(struct rdma_ia *ia, struct rdma_cm_id *id);
void rdma_conns_fini(struct rdma_ia *ia);
/*
 * rdma_connect, on a thread of its own where it may block. Returns an errno; with a thread,
 * rdma_connect_result() gets it on the service thread. Service thread.
 */
int rdma_conn_connect(struct rdma_conn *conn);
void rdma_connect_result(struct rdma_conn *conn, int err);
/* The id's connection, marked as being handled; `ep`: whose it is, NULL: nobody's any more. Service thread. */
struct rdma_conn *rdma_conn_enter(struct rdma_ia *ia, struct rdma_cm_id *id, struct rdma_ep **ep);
void rdma_conn_leave(struct rdma_conn *conn);
struct rdma_channel *rdma_channel_new(void);
void rdma_channel_put(struct rdma_channel *channel);

/* ------------------------------------------------------------------ rdma_late.c */

enum datp_err rdma_timer_open(struct rdma_ia *ia);
void rdma_timer_close(struct rdma_ia *ia);
/* An accepted request: true if the peer is to be answered later, and ESTABLISHED is on its way. */
bool rdma_late_begin(struct rdma_conn *conn, struct rdma_ep *ep);
/* Answers now, if that is still to be done. EP lock. */
void rdma_late_accept_locked(struct rdma_ep *ep);
void rdma_late_accept(struct rdma_ep *ep);
/* A receive has been staged: answers soon. EP lock. */
void rdma_late_receive_locked(struct rdma_ep *ep);
/* A request is about to be posted: answers before it. EP lock. */
void rdma_late_request_locked(struct rdma_ep *ep);
/* The peer has answered the greeting: the program hears of the connection now. Service thread. */
void rdma_ep_greeted(struct datp_ep *ep);
/* An active side has greeted: knocks a few times. */
void rdma_knock_begin(struct rdma_conn *conn);

/* When the timer of a passive side's connection is to fire; EP lock. */
void rdma_due_locked(struct rdma_ep *ep, uint32_t ms);
uint64_t rdma_now_ns(void);

/* ------------------------------------------------------------------ rdma_hold.c */

/* The peer is about to be answered: requests are kept from now on, if they have to be. EP lock. */
void rdma_hold_begin_locked(struct rdma_ep *ep);
/* A request that is to be posted later; with its segments. EP lock; `late` is LATE_HOLDS. */
enum datp_err rdma_hold_keep_locked(struct rdma_ep *ep, const struct ibv_send_wr *wr);
/* Requests go to the device from now on, those that have been kept first. EP lock. */
void rdma_hold_end_locked(struct rdma_ep *ep);
/* A request is about to be posted: ends the wait if it has lasted long enough. EP lock. */
void rdma_hold_look_locked(struct rdma_ep *ep);
/* The timer has fired. Service thread, no lock held. */
void rdma_hold_timer(struct rdma_ep *ep);
/* Those that have been kept are libdatp's to flush. EP lock. */
void rdma_hold_forget_locked(struct rdma_ep *ep);

/* ------------------------------------------------------------------ rdma_wire.c */

/* The port that stands for a connection qualifier; 0: none does. */
uint16_t rdma_wire_port(uint64_t qual);
enum rdma_message { RDMA_REQUEST, RDMA_REPLY };
/* Private data as it goes onto the wire: sets private_data, its length, and the retry count. */
void rdma_wire_pack(const struct rdma_kind *kind, enum rdma_message what, const void *data,
		    uint32_t len, unsigned char wire[RDMA_PDATA_MAX], struct rdma_conn_param *param);
/* How much of what came is the consumer's. */
uint32_t rdma_wire_length(const struct rdma_kind *kind, enum rdma_message what,
			  const struct rdma_conn_param *param);
/* Whether something behind that is no padding: the consumer is not given all that was sent. */
bool rdma_wire_is_cut(const struct rdma_kind *kind, enum rdma_message what,
		      const struct rdma_conn_param *param);
/* Data beyond what a request holds go in two of them, numbered 1 and 2. */
bool rdma_wire_in_parts(const struct rdma_kind *kind, uint32_t len);
void rdma_wire_pack_part(const struct rdma_kind *kind, const unsigned char *data, uint32_t len,
			 int part, unsigned char wire[RDMA_PDATA_MAX]);
/* 0: it is no part. */
int rdma_wire_part(const struct rdma_kind *kind, const struct rdma_conn_param *param,
		   uint32_t *total);
/* The rejection of a first part, which asks for the second. */
void rdma_wire_more(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_more(const struct rdma_conn_param *param);
/* The word in front of a rejection's data, which tells it from the transport's own. */
void rdma_wire_reject(unsigned char word[RDMA_REJECT_BYTES]);
bool rdma_wire_is_reject(const struct rdma_conn_param *param);

/* ------------------------------------------------------------------ rdma_parts.c */

enum rdma_parts {
	RDMA_PARTS_NONE, /* a request like any other */
	RDMA_PARTS_MORE, /* a first part, kept */
	RDMA_PARTS_WHOLE, /* the second part: here is the whole */
	RDMA_PARTS_BAD	 /* a second part without the first, or no memory */
};

enum rdma_parts rdma_parts_join(struct rdma_ia *ia, const struct rdma_cm_event *event,
				unsigned char whole[RDMA_PDATA_MAX], uint32_t *len);
void rdma_parts_fini(struct rdma_ia *ia);

/* ------------------------------------------------------------------ rdma_async.c */

void rdma_async_event(void *arg, uint32_t events);
/* The device is gone: everybody is told, once. Service thread. */
void rdma_device_lost(struct rdma_ia *ia);

#endif
