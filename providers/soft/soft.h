/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The soft provider's private objects and what its files call of each other.
 *
 * Its own locks, in the order of <datp/provider.h>: poll lock of an EVD (or soft_cq.lock of the
 * null queue) > EP > execution lock (shared, see shm.h) > { soft_ia.lock, SRQ } > EVD. soft_ia.lock
 * guards the tables of ports, peers and memory; nobody waits for a peer while holding it. The lock
 * over the process's IAs, under which a socket is opened and listed in one step for fork(), comes
 * before it: ia.h.
 */
#ifndef SOFT_H
#define SOFT_H

#include "shm.h"
#include "copying.h"
#include "find.h"
#include "index_pool.h"
#include "posted.h"
#include "process.h"
#include <datp/bias.h>
#include <datp/fork.h>
#include <datp/timer.h>
#include <limits.h>
#include <pthread.h>
#include <sys/types.h>
#include <sys/uio.h>

#define SOFT_DTOS_MAX  (1 << 20) /* of an endpoint's queue */
#define SOFT_PDATA_MAX	   256
#define SOFT_CREDITS	   128 /* eager messages that a connection may have without a receive */
#define SOFT_EAGER_MIN	   64
#define SOFT_EAGER_DEFAULT 65536
#define SOFT_EAGER_MAX	   (1u << 20)
#define SOFT_SLOTS	   256u /* of each adapter; none says that it has more */
#define SOFT_EAGER_SURE	   6144 /* up to this length two copies are no slower than the kernel's one */
#define SOFT_PORT_MAX	   65536
#define SOFT_SHARE_BUCKETS 64
#define SOFT_REALM_MAX	   31

struct soft_ia;
struct soft_ep;
struct soft_socket;

/* A peer's endpoint, as the peer describes it in a message. */
struct soft_remote_ep {
	uint32_t index, gen;
	uint32_t my_sender_id; /* ours in its rings */
	struct soft_ref port, ring, request;
	struct soft_layout layout; /* of the port */
};

/*
 * Our own arena: one memfd. Other IAs of this process use it at the same addresses,
 * so it lives until the last of them lets go. arena.c
 */
struct soft_arena {
	int fd;
	_Atomic uint32_t refs;
	_Atomic uint32_t lock; /* a leaf */
	struct soft_mr *own;   /* that of the IA, which others in this process may use after its end; mr.c */
	uint64_t file_len;     /* the file's length; constant */
	uint64_t size;	       /* the part of it in use; lock, as all below */
	struct soft_extent *extents;
	struct soft_block *free[3][48]; /* by kind and log2 of the size */
	void *mapped;			/* the extent that small pieces are cut from */
	struct soft_ref cut;
	struct soft_ring_record *rings; /* of every piece that is a ring, or was one; the IA's lock */
};

/*
 * What a piece is for. A piece that is given back serves its own kind again, because a peer that
 * has not yet heard of the end of a connection may write to an old ring or port once more, and must
 * find a ring or port there.
 */
enum soft_kind { SOFT_KIND_RING, SOFT_KIND_PORT, SOFT_KIND_OTHER };

/*
 * What this process knows of a piece that is a ring, where no peer writes. It stays as long as the arena, because peers know the
 * ring longer than a queue has it. cq.c
 */
struct soft_ring_record {
	struct soft_ring *ring;
	uint32_t mask;
	struct soft_cq *cq; /* that has the ring; NULL: it was given back. soft_ia.lock */
	struct soft_ring_record *next;
};

/* A piece of the arena. */
struct soft_mem {
	void *addr;
	struct soft_ref ref;
	uint64_t size;
	enum soft_kind kind;
	bool used_before;  /* it holds what its last user left */
	uint64_t position; /* of a ring: the position at which its next user continues; positions never restart */
	struct soft_ring_record *record; /* of a ring, once it has had a user */
};

/* A skipped cell: a peer has reserved it and did not publish it in time, so it is out of use. */
struct soft_skipped {
	struct soft_peer *peer; /* counted; NULL if its sender ID is that of no peer */
	uint64_t position;	/* which the peer has reserved */
};

#define SOFT_SKIPPED_MAX  64u /* of one ring */
#define SOFT_SKIPPED_EACH 16u /* of one peer in it */

/* The consumer's end of a ring. cq.c */
struct soft_cq {
	struct soft_ia *ia;
	struct soft_mem mem;
	struct soft_ring *ring; /* poll lock, as the mask; without the lock see soft_cq_look() */
	uint32_t mask;
	uintptr_t both;	       /* ring and mask in one word, for readers without a lock */
	_Atomic uint64_t head; /* poll lock; a hint without it */
	struct datp_evd *evd;  /* NULL: the IA's null queue, for endpoints without an EVD */
	_Atomic uint32_t lock; /* the null queue's poll lock */
	_Atomic bool armed;    /* DATP_ARM_CNO: arrivals are reported to libdatp */
	bool polled;	       /* the ring says SOFT_NOTIFY_POLLED. Poll lock */
	/* The cell that the answer to the next message will probably get, or NULL. Written under the poll lock. */
	_Atomic(const struct soft_cell *) answer;
	/* `since_armed`: eighths of a lap since the queue was armed; at `polled_after` it counts as polled. Poll lock. */
	uint32_t since_armed, polled_after;
	/*
	 * `late`: the cell at the head is reserved and not published; then its position, and until
	 * when its sender is waited for (soft_bound_over()), and for how long. Poll lock; skip.c
	 */
	_Atomic bool late; /* a hint without the lock */
	uint64_t late_position, late_until, late_looked, late_allowed;
	uint32_t late_sender; /* its sender ID; 0: no peer is waited for */
	bool late_place;      /* a message is waited for, not a cell: place.c */
	struct soft_skipped skipped[SOFT_SKIPPED_MAX]; /* Poll lock; skip.c */
	uint32_t skipped_count;
	_Atomic uint32_t announcing; /* threads of this process that may have reserved a cell here with sender ID 0 */
	_Atomic uint32_t empty_looks; /* the fast path's looks that found nothing; approximate */
	/*
	 * `waited`: at the last look the queue was not empty, and its head was at `waited_head`.
	 * `lost`: a port said at two looks in a row that it is on the ready list. Service
	 * thread; lost.c
	 */
	bool waited, lost;
	uint64_t waited_head;
	/* What the poll under way has done for requests of peers, in bytes, and how much is enough. Poll lock; polling.c */
	uint64_t moved, enough;
	uint32_t resume; /* where the next poll begins with the ready list: an entry that the last one has left, or 0. Poll lock */
	bool searches;	      /* the next poll searches for ports that may not be on the ready list, from this one on. Poll lock */
	uint32_t search_from;
	bool place_hidden;     /* the cell at the head is hidden: its message waits. Poll lock; place.c */
	uint32_t place_sender; /* a sender ID of the peer that it waits for. Poll lock */
	uint64_t place_put_off; /* the position after the last cell that was hidden for the progress thread. Poll lock */
	bool place_held;       /* by the service thread, which could not have the EP lock. Poll lock; a hint without it */
	_Atomic bool again;    /* the service thread is to take what is there */
	_Atomic bool turn;     /* a hint: the next poll lets the service thread have the poll lock first. polling.c */
	bool closing;	       /* the service thread leaves it alone; soft_ia.lock */
	uint32_t busy;	       /* the service thread uses it, so it must not be freed; soft_ia.lock */
	uint32_t round;	       /* the last round of the service thread that saw it; soft_ia.lock */
	struct soft_cq *next, **prev; /* soft_ia.lock */
};

struct soft_evd {
	struct datp_evd base;
	struct datp_bias poll_bias; /* of the poll lock */
	struct soft_cq cq;
};

struct soft_lmr {
	struct datp_lmr base;
};

struct soft_rmr {
	struct datp_rmr base;
	uint32_t index; /* its index in the table of regions; constant */
};

struct soft_pz {
	struct datp_pz base;
	uint32_t id;
	/* the length of the longest region that has ever been in it: a peer has written no more bytes at once. mr.c */
	_Atomic uint64_t longest;
};

/* How long waits for a peer have taken lately, and when that was looked at; see soft_spend_locked(). soft_ia.lock */
struct soft_spent {
	uint64_t eighths; /* of a millisecond */
	uint64_t looked;
};

/* Another IA that this one shares memory with, or this one itself. peer.c */
struct soft_peer {
	struct soft_ia *ia;
	uint64_t id[2]; /* of the remote IA */
	uint32_t sender_id;	/* 1..65535: one of its sender IDs in our rings */
	/*
	 * Our sender ID in its rings, for connections that we accept; 0 before there is a liveness socket. One
	 * that comes with a connection request is valid only when the peer has seen our answer;
	 * until then only that connection uses it. soft_ia.lock
	 */
	uint32_t my_sender_id;
	uint32_t sender_ids; /* how many it has in our rings; soft_ia.lock */
	struct soft_process process;
	struct datp_watch *end_watch; /* of the end of that process; NULL: there is no handle of it, or it is this process */
	bool self;	       /* the same IA or another of this process: copy with memcpy */
	bool cma;	       /* the kernel lets us copy to and from its memory */
	_Atomic uint32_t dead; /* its sockets have hung up: it touches no memory any more */
	bool reclaimed;	       /* and soft_cqs_reclaim() has been called for it; soft_ia.lock */
	bool orphaned;	       /* its connections may have no liveness socket; soft_ia.lock. liveness.c */
	int arena_fd;
	struct soft_arena *arena; /* if it is an IA of this process, else NULL */
	struct soft_map *maps;	  /* soft_ia.lock */
	struct soft_header *header;
	struct soft_mr *mr;
	struct soft_mr *regions; /* what its segments are checked against: its `own` if it is an IA of this process, else `mr` */
	void *slots;
	uint32_t slot_count, slot_size; /* as they were mapped; the peer could change its own copy */
	struct soft_mem mailbox_mem; /* our mailbox to it; made under mailbox_making, before the first connection that needs it */
	struct soft_mailbox *mailbox;
	_Atomic uint32_t mailbox_making; /* held for a moment, also by the service thread; before soft_ia.lock and the arena's */
	/* One question at a time. Its holder waits for the peer, so the service thread never takes it. Before soft_ia.lock */
	_Atomic uint32_t mailbox_lock;
	bool mailbox_asked;	       /* a question has been left there unanswered, when nobody waits any more. mailbox_lock */
	uint64_t mailbox_waited; /* for answers, in milliseconds; soft_bounce_waited(). Written under mailbox_lock */
	struct soft_mailbox *asks;    /* its mailbox to us, or NULL; the bounce thread's lock */
	/* Our bounce thread copies for it, or may have done: each completion looks at that; see soft_bounce_passed() */
	_Atomic bool bounces;
	/* its regions that we map; written under share_lock, a leaf */
	struct soft_share *_Atomic shares[SOFT_SHARE_BUCKETS];
	_Atomic uint32_t share_lock;
	_Atomic uint64_t share_room; /* how many bytes of it are mapped there */
	_Atomic uint64_t share_ends; /* counts how often mappings were taken out of `shares`; written under share_lock */
	uint32_t share_count; /* of these, with those of regions that cannot be mapped; share_lock */
	struct soft_search search; /* for the files of its regions; find.c */
	struct soft_copier *copier_left; /* that the peer has held up too long; copier.c. Progress thread */
	struct soft_spent ends; /* by ends of connections; teardown.c */
	struct soft_spent late; /* by rings in which it has reserved cells; skip.c */
	struct soft_spent places; /* by rings in which it executes a message; place.c */
	struct soft_retired *retired; /* memory that it may still write to when it continues; port.c; soft_ia.lock */
	struct soft_ring_record **rings; /* of this IA, that it was told of by any connection, each once; cq.c; soft_ia.lock */
	uint32_t ring_count;
	uint32_t users;		      /* references: endpoints, sockets, waits; soft_ia.lock */
	uint64_t walk;		      /* the latest walk over its queues, by number; quiesce.c; soft_ia.lock */
	uint32_t walk_looks;	      /* how many of its requests that has looked at; soft_ia.lock */
	struct soft_socket *sockets;  /* its liveness sockets; soft_ia.lock */
	struct soft_socket *accepted; /* over which this side has accepted, and the RTU has not been read; soft_ia.lock */
	struct soft_peer *next;	      /* soft_ia.lock */
};

/* A message's payload, wherever it is. */
struct soft_payload {
	const unsigned char *data;
	uint64_t len;
	struct soft_slot *slot; /* to be given back when the payload has been read; NULL: it is in the cell */
	bool solicited;
};

/* The thread that executes requests in place of the service thread. progress.c */
struct soft_progress {
	pthread_t thread;
	_Atomic(pthread_t) self; /* set by that thread itself; 0 while there is none */
	bool runs;		/* service thread */
	_Atomic bool stop, left; /* `left`: the tick has it try again */
	_Atomic uint32_t bell;	/* a futex */
};

/* What was being executed under a port's execution lock when soft_exec_look() was called. exec.h */
struct soft_exec_watch {
	const struct soft_ep *ep;
	struct soft_port *port;
	uint64_t exec_lock;
	uint32_t at_work;
};

/* What a thread of this process does for another adapter of it, if it began before a mark; quiesce.h. */
struct soft_other_work {
	const struct soft_ep *ep; /* of the other adapter; NULL: the connection is not with another adapter of this process */
	uint32_t since;		  /* soft_work_mark() */
};

/* The teardown of a connection, which waits until the peer has released both execution locks. teardown.c */
struct soft_teardown {
	struct soft_exec_watch watch[2];
	struct soft_other_work other; /* awaited without a deadline, as threads of this adapter are */
	uint64_t until, looked; /* the deadline of this wait; bound.h */
	DAT_EVENT_NUMBER peer_event; /* the event for the peer; 0: none */
	DAT_EVENT_NUMBER why;  /* the event for libdatp; 0: none */
	bool deliver;	       /* complete the receives that were filled */
	uint32_t bind;	       /* the flush waits for accesses through this bind or a later one; withheld.c */
	uint32_t binds_since;  /* the mark of when these binds failed, or 0 */
	bool waits;	       /* it is in soft_ia.teardowns; service thread, as all but the above */
	struct soft_ep *next;
};

/* An unexpected message: it came before a receive was posted. EP lock. */
struct soft_unexpected {
	struct soft_unexpected *next;
	struct soft_payload payload;
	unsigned char data[SOFT_INLINE]; /* of a payload that came in the cell */
};

/* The region in which a segment was found valid for an endpoint. It holds for that PZ and until a region ends. mr.h */
struct soft_known {
	uint32_t context;
	uint64_t ends; /* soft_ia.mr_ends at that time */
	const struct datp_pz *pz;
	uint64_t addr, len;
};

/*
 * How long a completion is withheld until the accesses have ended that the program would be told are over: withheld.c. `last`:
 * those that went on have lost their right, and the rest of the time is for the piece under way. EP lock; `until` is read
 * without it as a hint.
 */
struct soft_wait {
	uint64_t until; /* 0: nothing is withheld */
	uint32_t since; /* soft_work_mark() at the first look; 0: there was none */
	bool last;
};

/*
 * The region of the peer that two short RDMA requests of a connection in a row were for, so far as it is mapped here: it is noted.
 * After one request there is only its context. The bounds and rights are copied from words that the peer writes, and checked
 * against the mapping. They hold for this connection, while the context is that of the region, and until a mapping of the peer
 * ends: soft_near_holds(). Windows are not noted, because each bind changes what they open, and contexts repeat.
 */
struct soft_near {
	uint32_t context;	  /* of the last short request; 0: none */
	uint32_t rights;	  /* DAT_MEM_PRIV_REMOTE_*: what this side may do with it; 0: it is not noted */
	uint64_t addr, len;	  /* in the peer's address space */
	uint64_t here;		  /* how far it is mapped from there; before it is noted this is a guess, for prefetching */
	const struct soft_mr *mr; /* the region in the peer's table */
	uint64_t ends;		  /* soft_peer.share_ends when it was noted; UINT64_MAX: before that */
	uint64_t word;		  /* the execution lock as a short request has left it */
};

/* What the service thread owes an endpoint: owed.c. */
enum soft_owed {
	SOFT_OWED_REVOKED = 1 << 0, /* the call that ends a connection whose peer has lost its right */
	SOFT_OWED_DRAINED = 1 << 1, /* the call that ends a graceful disconnect */
	SOFT_OWED_SRQ = 1 << 2,	    /* a look at its SRQ */
};

struct soft_owed_end {
	uint32_t gen; /* of the connection; 0: none */
	DAT_EVENT_NUMBER peer_event, why;
	bool only_failing;
};

struct soft_ep {
	struct datp_ep base;
	struct datp_bias bias; /* of the EP lock */
	uint32_t index;	      /* of our port in the table; the peer knows the port by it */
	_Atomic uint32_t gen; /* of the connection; written under the EP lock */
	struct soft_mem port_mem;
	struct soft_port *port;
	struct soft_layout layout; /* of the port; it changes only with the port */
	/*
	 * Of the same sizes as the port's queues. The slots are written under the EP lock, and read without it by
	 * soft_request_own() and soft_receive_own(); the rings change only while there is no connection. With an SRQ `receives`
	 * has one slot, for the receive that was taken last. `requests` has no slots until the first request that may go into
	 * the port's queue, because many endpoints post none.
	 */
	struct soft_posted_ring receives, requests;

	/* The connection; EP lock. `open`: between establishment and the end. */
	bool open;
	_Atomic uint32_t
		accepting;   /* passive side: the generation, from the reply until the peer is connected; else 0 */
	/*
	 * Threads that may be reporting the connection: they have seen that the peer is connected, or have told the peer that
	 * this side is.
	 */
	_Atomic uint32_t establishing;
	struct soft_known known[2]; /* of the last short segment that was read, and of the last that was written to. EP lock */
	bool failing;	     /* an operation has failed: nothing more is executed, the teardown follows */
	/* Graceful disconnect: the teardown begins when the last request is done. Read without the lock as a hint. */
	bool draining;
	bool draining_done;  /* and the service thread has been asked to begin it */
	_Atomic bool tearing_down; /* a thread is tearing the connection down */
	bool stale; /* the accepted request's sender had gone; the failure will be reported */
	struct soft_peer *peer;	 /* also soft_ia.lock */
	struct soft_port *rport; /* the peer's port and its two rings; also soft_ia.lock */
	struct soft_ring *rring, *rrequest;
	uint32_t rmask;		    /* of rring */
	struct soft_layout rlayout; /* of its port */
	uint32_t rindex, rgen;
	uint32_t my_sender_id; /* ours in the peer's rings */
	/* the cell that our next message will probably get; NULL if a message has come since our last */
	const struct soft_cell *next_cell;
	uint32_t msg;	    /* messages sent */
	uint32_t credit;    /* the peer's `delivered`, as last read */
	uint32_t credits;   /* eager messages that the peer may still have to deliver: SOFT_CREDITS, or 0 if none may be eager */
	/* `busy` of the slot of our last message that had one: 0 when the peer has read it; or NULL */
	const _Atomic uint32_t *last_unread;
	/*
	 * [initiator]: requests of that direction are left for the next poll, because a call has done enough of them. Then the
	 * port is on the ready list, or the progress thread has it
	 */
	bool rest[2];
	/* what any thread has done for requests of the peer, in bytes, until a poll has counted that; waits for it count as well */
	uint64_t moved;
	/* requests up to the last that we executed as initiator, or that has completed. Behind sq_reaped only while a bind waits */
	uint32_t executed;
	uint32_t places;    /* requests up to the last one whose place a cell keeps */
	/*
	 * requests before port->sq_done that are completed to the consumer. Written under the EP lock by soft_sq_reaped(), read
	 * without it by soft_request_own()
	 */
	uint32_t sq_reaped;
	/*
	 * The latest posts of the request queue were so many that soft_next_done() has completed without an event, and whose slots
	 * it has not given back. EP lock
	 */
	uint32_t silent;
	/* messages whose receives have completed; written and read as sq_reaped, by soft_recv_count() and soft_receive_own() */
	uint32_t in_msg;
	/*
	 * The last RDMA request of this connection that took the general way could have been a short one (exec_short.h), or
	 * none has. EP lock; read without it as a hint.
	 */
	_Atomic bool maps;
	struct soft_near near; /* EP lock */
	/*
	 * The latest value of soft_port.announced, or of what this side has executed itself. With
	 * an SRQ: the places of the messages before it have been reached, as far as cells keep them.
	 */
	uint32_t announced;
	/*
	 * Work is deferred until the next message has been taken: a request of the peer waits for a
	 * buffer of our SRQ, or the messages of `announced` come behind that message. Or a receive is
	 * withheld (withheld.c).
	 */
	bool deferred;
	bool place_expired; /* a message of this connection has held up the ring as long as the bound: none does any more */
	struct soft_unexpected *unexpected, **unexpected_tail;
	uint32_t unexpected_count;

	/* Establishment; soft_ia.lock for the pointer. */
	struct soft_socket *socket;
	struct soft_cr *cr;

	int32_t soft_mark, hard_mark;	       /* watermarks; -1: none. EP lock */
	struct soft_ep *srq_next;	       /* stalled on its SRQ; SRQ lock */
	bool srq_stalled;		       /* SRQ lock */

	/* generation of the connection whose peer has lost the right to touch our memory, because it did not answer */
	_Atomic uint32_t revoked;
	uint32_t at_work;	/* odd: a thread of ours executes requests. EP lock; see exec.h */
	uint32_t work_mark;	/* the last mark when that thread began. EP lock; see exec.h */
	/*
	 * Generation of the connection for which our bounce thread copies, or 0. Peers cannot write
	 * to it, so the bounce thread relies on it; bounce.c
	 */
	_Atomic uint32_t bounce_gen;
	/* The receive or the request whose memory our bounce thread accesses, as SOFT_BOUNCE_*() in bounce.h say; or 0 */
	_Atomic uint64_t bounce_serves;
	struct soft_out *end_msg; /* memory for telling the peer of the end, from soft_ep_open() on; soft_ia.lock */
	struct soft_teardown teardown; /* belongs to the thread that has set `tearing_down` */
	/* The connection to the peer is over; our teardown is put off until this time, or 0. EP lock; without it a hint */
	uint64_t put_off;
	DAT_EVENT_NUMBER put_off_why, put_off_event; /* what is reported here, and what the peer is told, or 0 */
	/*
	 * [side] `waited`: at the last look the port said that it was on a ready list.
	 * `listed`: it was found there. Service thread; lost.c
	 */
	struct {
		bool waited, listed;
	} look[2];
	struct soft_wait bind_wait; /* of a bind, for accesses through the old window to end. EP lock */
	/*
	 * withheld.c: a receive whose message has arrived and has invalidated a window. It completes when no access
	 * through that window goes on. EP lock
	 */
	struct {
		struct datp_wqe *wqe; /* NULL: none */
		struct datp_rmr *rmr;
		struct soft_wait wait;
		uint64_t len;
		uint32_t context;
		bool solicited;
	} withheld;
	/* strict.c, EP lock: the request `rnr_seq` has found no receive, and may wait until then; 0: none */
	uint64_t rnr_until;
	uint32_t rnr_seq;
	uint32_t suppressed; /* strict.c: how many requests have suppressed completions since the last that has not. EP lock */
	/* unready.c: a message that has found no receive may wait. Written under the EP lock */
	_Atomic bool unready;
	/*
	 * The peer's message `unready_msg` may wait until `unready_until`, which is moved on by time in which nobody looked;
	 * 0: none waits. The message to the user has been printed for the connection `unready_told`. EP lock
	 */
	uint64_t unready_until, unready_looked;
	uint32_t unready_msg, unready_told;
	struct soft_copying copying; /* copying.h says who accesses it */
	uint32_t owed;		     /* enum soft_owed; soft_ia.lock */
	struct soft_owed_end owed_end; /* soft_ia.lock */
	_Atomic uint32_t to_execute;   /* what the progress thread is to execute: progress.c. EP lock; a hint without it */
};

struct soft_srq {
	struct datp_srq base;
	struct soft_srqe *ring; /* posted and not taken; SRQ lock */
	uint32_t mask, posted, taken;
	int32_t low;				/* armed low watermark, 0: none */
	struct soft_ep *stalled, **stalled_tail; /* endpoints that found it empty, oldest first */
};

struct soft_srqe {
	struct datp_wqe *wqe;
	int n;
	struct datp_sge sge[SOFT_MAX_IOV];
};

struct soft_sp {
	struct datp_sp base;
	int fd;
	struct datp_fork_fd fork_fd;
	struct datp_watch *watch;      /* NULL: it rests, or is being closed; soft_ia.lock */
	struct soft_sp *next_resting; /* soft_ia.resting */
};

struct soft_cr {
	struct datp_cr base;
	struct soft_socket *socket; /* NULL: the active side has gone away; soft_ia.lock */
	struct soft_peer *peer;	    /* counted */
	struct soft_remote_ep remote;
};

/* Which memory of peers is mapped: none; only memory that the peer cannot take away; also memory that it can. */
enum soft_sharing { SOFT_SHARE_OFF, SOFT_SHARE_ON, SOFT_SHARE_UNSEALED };

/* What memory is while it is registered: private, as it was before, or shared (memory=shared). */
enum soft_memory { SOFT_MEMORY_PRIVATE, SOFT_MEMORY_SHARED };

struct soft_ia {
	struct datp_ia base;
	_Atomic uint32_t lock;
	struct soft_arena *arena;
	struct soft_mem header_mem, mr_mem, slot_mem;
	struct soft_header *header;
	uint64_t id[2];
	/* part of our listeners' names: an address, or "*" for all of this host */
	char key[64];
	/* the IAs of this host that we meet have this realm; "": they have none */
	char realm[SOFT_REALM_MAX + 1];
	bool want_cma;
	bool strict;		    /* see strict.h */
	_Atomic bool unready;	    /* an endpoint is marked as `unready`: the tick looks at it; unready.c */
	uint64_t unready_next;	    /* when it looks again; 0: it has not begun. Service thread */
	uint32_t want_share;	 /* enum soft_sharing */
	uint32_t want_memory;	 /* enum soft_memory */
	bool converts;		 /* it is counted in convert.c */
	_Atomic uint32_t shares; /* regions of peers that are mapped */
	bool shares_wait; /* some of regions that have ended were in use: the tick looks again; share.c. Service thread */
	/* up to eager_sure a message is sent eagerly, up to eager_limit where soft_is_eager() says so */
	uint32_t eager_limit, eager_sure;
	int service_fd; /* an eventfd that no other process has; ia.c */
	struct soft_sp *resting; /* listeners that are not watched now; soft_ia.lock. listener.c */
	struct datp_timer rest;
	/* incoming connections that are not established yet; pending.c */
	struct datp_timer pending;
	uint32_t silent;       /* connections that have sent nothing yet */
	struct soft_crowd *crowds; /* the processes of those that are not established; soft_ia.lock */
	uint64_t walks;		   /* over the queues of all connections; quiesce.c; soft_ia.lock */
	uint32_t crowded;	   /* how many connections these have; soft_ia.lock */
	uint32_t handshake_ms; /* how long they may be silent */
	struct soft_finders finders; /* find.c */
	struct soft_probe *probes; /* of the processes at their other ends; probe.c. Service thread */
	struct datp_timer resume;  /* resumes the sockets that have waited for these; probe.c */
	/* closed to accept and drop a connection when there are no descriptors left; service thread */
	int spare_fd;
	struct datp_watch *service_watch;
	uint32_t round; /* of the service thread over the queues */
	_Atomic uint32_t late; /* rings whose next sender is waited for; skip.c */
	struct soft_cq null_cq; /* of endpoints without an EVD */

	/* Regions. mr.c */
	struct soft_mr *mr;	/* the table that peers see, and can write to */
	struct soft_mr *own;	/* a copy without the windows in private memory, for our own accesses */
	_Atomic uint64_t mr_ends; /* counts the regions that have ended */
	struct datp_lmr **lmrs; /* by index; soft_ia.lock for writing */
	_Atomic uint32_t *mr_gen; /* last generation used, by index */
	struct soft_index_pool mr_pool; /* soft_ia.lock */
	_Atomic uint32_t mr_used; /* indices below it may be in use; written under ia.lock, only grows */
	int maps_fd; /* for queries about the process's mappings, or -1; pages.c */

	/* Ports. port.c */
	struct soft_ep *_Atomic *ports; /* by index; SOFT_PORT_MAX */
	_Atomic uint32_t next_gen;	/* of connections */
	_Atomic uint32_t port_next; /* above all indices ever used; written under soft_ia.lock */
	struct soft_index_pool port_pool; /* soft_ia.lock */

	_Atomic uint32_t slot_next;   /* where to look for a free slot (a hint) */
	_Atomic uint32_t slots_active; /* slots in use: a power of 2, which grows */
	uint32_t slot_count, slot_size; /* as in `shared`, which a peer can overwrite */
	struct soft_cq *cqs;
	struct soft_peer *peers;
	struct soft_peer **peer_of_sender_id; /* by sender ID; SOFT_PORT_MAX */
	uint8_t *sender_id_used;	      /* sender IDs given out, also those of connection attempts */
	uint32_t sender_id_hint;
	struct soft_socket *sockets;
	struct soft_sp
		*requesting;	   /* the service thread is passing a request to it; soft_ia.lock */
	_Atomic bool watching;	   /* watermarks are armed: every arrival wakes the service thread */
	_Atomic uint32_t draining; /* endpoints in a graceful disconnect */
	_Atomic uint32_t next_qual, next_pz;
	struct soft_bounce *_Atomic bounce; /* service thread; NULL before it is needed */
	struct soft_progress progress;
	struct soft_copier *copier; /* progress thread */
	struct soft_ia *next; /* the next IA of this process; ia.c's lock */

	uint32_t patience_ms; /* how long a peer is waited for; bound.h */
	struct datp_timer tick; /* for work that waits without occupying the service thread; tick.c */
	uint64_t lost_next; /* when the service thread looks for lost events again. Service thread; lost.c */
	unsigned int lost_looks; /* looks still to make after all peers but one have gone. soft_ia.lock */
	struct soft_ep *teardowns; /* endpoints whose teardown waits; service thread */
	/* Something is owed to an endpoint, or to the adapter, which is a look at its queues: owed.c. soft_ia.lock */
	bool owes, owes_serve;
	bool owes_now; /* the service thread is trying again. Service thread */
	_Atomic uint32_t put_off;    /* endpoints whose teardown is put off */
	/* binds and receives that wait for accesses through a window, at most one of each for an endpoint */
	_Atomic uint32_t binds_wait;
	/* what RMRs are bound to, by index: window.c */
	_Atomic uint32_t windows_lock; /* nothing else is locked under it */
	struct soft_binding **windows, *windows_spare; /* windows_lock */
	uint64_t binds; /* the number of binds posted; windows_lock */
	bool invalidable; /* peers may invalidate windows: the program is one of DAT 2.0. Constant while open */
};

/*
 * Prefetches a line for writing, so that the store to it does not wait for another CPU. On x86 the
 * builtin prefetches for reading, because compilers do not know whether the CPU can do better; to a
 * CPU that cannot, this instruction is a no-op.
 */
static inline void soft_own(const void *line)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/*
 * A compare-exchange of a word that others write is tried this many times. Processes that keep to
 * the protocol never come near it, because a try fails only if another process has succeeded; a
 * peer that does not keep to it could make the loop endless.
 */
#ifndef SOFT_TRIES
#define SOFT_TRIES 1000u
#endif

/* Reads what a peer may change exactly once, however often the value is used. */
#define SOFT_ONCE(what) (*(const volatile __typeof__(what) *)&(what))

/* Keeps the compiler from moving stores across this point, for speed only; it orders nothing for other threads. */
static inline void soft_in_order(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * A full fence. The thread sanitizer does not model fences, and gcc warns where one is inlined, so
 * under it this is a function (cq.c).
 */
#ifdef __SANITIZE_THREAD__
void soft_fence(void);
#else
static inline void soft_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#endif

static inline struct soft_ia *soft_ia(struct datp_ia *ia)
{
	return (struct soft_ia *)ia;
}

static inline struct soft_ep *soft_ep(struct datp_ep *ep)
{
	return (struct soft_ep *)ep;
}

static inline struct soft_evd *soft_evd(struct datp_evd *evd)
{
	return (struct soft_evd *)evd;
}

static inline struct soft_srq *soft_srq(struct datp_srq *srq)
{
	return (struct soft_srq *)srq;
}

static inline uint32_t soft_pz_id(const struct datp_pz *pz)
{
	return pz ? ((const struct soft_pz *)pz)->id : 0;
}

static inline uint64_t soft_pz_longest(const struct datp_pz *pz)
{
	/* relaxed: before a peer could write to a region it was registered, and that write was before what is looked at here */
	return pz ? atomic_load_explicit(&((const struct soft_pz *)pz)->longest, memory_order_relaxed) : 0;
}
#endif
