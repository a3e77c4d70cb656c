/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switches of twist, a library that stands between the providers and verbs, rdma_cm and the kernel. It counts calls, and
 * changes calls and their results, to imitate other devices and drivers. A switch that is 0 or false changes nothing.
 */
#ifndef FABRIC_TWIST_H
#define FABRIC_TWIST_H

#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern struct twist {
	_Atomic int timers;	 /* count: queue pairs that were given an RNR timer */
	_Atomic int idle_timers; /* count: those whose RNR timer has the value 0, which means 655 ms */
	_Atomic bool twisted;	 /* the end of a connection arrives as UNREACHABLE */
	_Atomic int stale;	 /* this many of the next rejections arrive with the reason "stale connection" */
	/* `shuts`: after the next connection request, the next rdma_get_cm_event() waits for `gate`; `shut` is set until then */
	_Atomic bool shuts, shut;
	sem_t gate;
	void (*_Atomic at_halt)(void);	/* called once, before the next queue pair goes to the error state */
	/* the next resolved address arrives as UNREACHABLE with -EINVAL, which is how siw reports an early message of the peer */
	_Atomic bool early;
	_Atomic bool full;		/* the process has no descriptor left for another eventfd */
	_Atomic bool no_pd;		/* the device has no protection domain left */
	_Atomic int fails;		/* the next completion of a request has this enum ibv_wc_status; 0: its own */
	_Atomic bool unknown;		/* the device has a vendor that the providers do not know, and reports windows */
	_Atomic int vendor;		/* the device reports this vendor id; 0: its own */
	_Atomic bool no_query;		/* the driver cannot be asked for the state of a queue pair */
	_Atomic bool no_bind;		/* the driver cannot bind the windows that it makes */
	_Atomic bool reads_unsaid;	/* the device does not report how many RDMA Reads all its queue pairs can have together */
	_Atomic uint64_t message;	/* the port reports a longest message of this value less one; 0: its own */
	_Atomic int deepest; /* no attribute has this limit: a queue pair with more receives is refused with E2BIG; 0: no limit */
	_Atomic uint64_t wide; /* likewise: one whose send queue takes more bytes is refused with ENOMEM; 0: no limit */
	/* paths have an MTU of 256, and the driver refuses to inline more than that */
	_Atomic bool inline_mtu;
	_Atomic int reads;		/* the device reports this many RDMA Reads for a queue pair; 0: its own number */
	_Atomic int places;		/* the device reports this many work requests for a queue pair; 0: its own number */
	_Atomic int read_sge;		/* the device reports this many segments for an RDMA Read; 0: its own number */
	_Atomic int max_cqe;		/* the device reports this many entries for a completion queue; 0: its own number */
	_Atomic int entries;		/* a completion queue with more entries is refused; 0: no limit */
	_Atomic bool no_solicited;	/* the driver refuses to notify of solicited messages only */
	/* count: posts of no segments whose list has a first entry that is not empty; some drivers read that entry all the same */
	_Atomic int first_segments;
	/*
	 * The device completes a message that its request carries at once, and sends it after this time, or before the next
	 * rdma_disconnect(). It loses the message if the queue pair goes to the error state before that. 0: it does not
	 */
	_Atomic int held_ms;
	_Atomic int late_ms; /* a poll finds a completion only after this time, or when this is 0 again */
	/*
	 * `unfenced`: the device ignores the fence of an RDMA Write. `overtaken` counts such requests that were posted while RDMA
	 * Reads of this process had not completed; `reading` is the number of those reads.
	 */
	_Atomic bool unfenced;
	_Atomic bool unfenced_reads; /* the same for an RDMA Read */
	_Atomic int overtaken, reading;
	_Atomic int flush_late_ms; /* the same for flushed completions only */
	_Atomic int flush;	   /* enum twist_flush: which flushed completions the device does not report */
	_Atomic int dead_post;	   /* a post to a queue pair in the error state is refused with this errno; 0: it is not */
	_Atomic int dead_refused;  /* count: such posts */
	_Atomic int loses; /* this many of the next flushed completions are lost, as if the completion queue had no room */
	/*
	 * `trapped` counts completions that are left in a completion queue when their queue pair is destroyed, and would be polled
	 * after that: some drivers access freed memory then. `cleans`: the driver removes them from the completion queue.
	 */
	_Atomic bool cleans;
	_Atomic int trapped;
	_Atomic int traffic;		/* the traffic class plus one of the last queue pair that got the address of its peer */
	_Atomic int gid;		/* the index plus one of the GID that this queue pair got */
	_Atomic bool route_lost;	/* the next route that is found arrives as one that was not found in time */
	_Atomic int routes, route_ms;	/* count: calls of rdma_resolve_route(); the time that the last one was given */
	_Atomic bool resolve_fails;	/* the next rdma_resolve_addr() fails with ENETUNREACH */
	_Atomic bool accept_fails;	/* the next rdma_accept() fails with EINVAL */
	_Atomic int accepts;		/* count: connection requests that were accepted */
	_Atomic bool serves_none;	/* queue pairs serve no RDMA Reads */
	_Atomic int says_reads;		/* peers seem to ask for and grant this many RDMA Reads less one; 0: their own numbers */
	/* the numbers of RDMA Reads in the last rdma_connect() and the last rdma_accept(): `in` as target, `out` as initiator */
	_Atomic int asked_in, asked_out, answered_in, answered_out;
	/*
	 * The next call of ibv_get_async_event() returns this event, an enum ibv_event_type + 1. If it is about a queue pair, it is
	 * about the one of the last rdma_accept().
	 */
	_Atomic int tells;
	/*
	 * The call that returns this event first posts `reached`, and waits until a thread destroys the queue pair. That thread
	 * waits until the event is acknowledged, as verbs does. `late_stops` counts calls of ibv_modify_qp() in between.
	 */
	_Atomic bool told_late;
	_Atomic int late_stops;
	/*
	 * The device reports by IBV_EVENT_COMM_EST that a connection has been confirmed to the passive side, or, if that was
	 * lost, that its peer in this process has posted a request.
	 */
	_Atomic bool comm_est;
	/* The device reports by IBV_EVENT_QP_LAST_WQE_REACHED that a stopped queue pair takes no more receives of its SRQ */
	_Atomic bool last_wqe;
	_Atomic int last_told; /* count: such events that the program has acknowledged */
	/* The device reports a failed request by IBV_EVENT_QP_FATAL first, and the poll that would find its completion does not */
	_Atomic bool fatal_first;
	_Atomic int fatal_told; /* count: such events */
	_Atomic bool extra_event; /* each event of a completion channel comes once more, after the next arming */
	_Atomic int extra_events; /* count: such events */
	_Atomic bool unconfirmed; /* the active side's confirmation of a connection is lost */
	_Atomic unsigned int rights;	/* the access flags of the last registration */
	_Atomic int keys;		/* enum twist_keys: which keys of regions and windows have their highest bit set */
	_Atomic bool old_kernel;	/* as before Linux 5.12: a child of fork() may take over registered pages */
	_Atomic int regions;		/* count: registrations */
	sem_t reached, open;		/* `reached` is posted when a held-up call begins to wait for `open` */
	_Atomic bool never_connects;	/* the next rdma_connect() posts `reached` and never returns */
	_Atomic int ports_taken;	/* this many of the next rdma_connect() fail because another socket has the local port */
	_Atomic int connector;		/* the thread that called rdma_connect() last */
	_Atomic bool no_srq;		/* the device has no shared receive queues */
	_Atomic bool no_srq_resize;	/* the device cannot resize shared receive queues */
	_Atomic bool no_windows;	/* the device reports no memory windows */
	_Atomic bool windows_unmade;	/* the device reports memory windows, and its driver cannot allocate one */
	_Atomic int sge;		/* a request has this many segments at most; 0: as many as the device has */
	_Atomic bool no_errno;		/* a queue pair is refused without an errno */
	_Atomic bool needs_receives;	/* a queue pair without a receive queue is refused */
	_Atomic int inlines;		/* a queue pair that is to inline this many bytes or more is refused; 0: no limit */
	_Atomic int inlines_told;	/* a queue pair inlines this many bytes less one; 0: as many as it is asked for */
	_Atomic int uncopied;		/* count: chains whose inline data `no_inline_copy` did not copy */
	_Atomic bool no_inline_copy;	/* the driver ignores the flag for inline data, and the device reads the memory later */
	_Atomic int resize_fails;	/* the resize of a completion queue fails with this errno; 0: it does not */
	_Atomic uint64_t longest;	/* a longer region is refused; 0: no limit */
	_Atomic int says;		/* enum twist_refusal: how the driver returns the error of a refused post */
	/* `first_fatal`: what first_segments counts ends the program; `dead_fatal`: so does what `trapped` counts */
	_Atomic bool first_fatal, dead_fatal;
	/*
	 * A device can be reset: TWIST_RESET in the environment names a FIFO, and a byte in it resets the devices that are open.
	 * The program gets IBV_EVENT_DEVICE_FATAL. From then on posts are taken and never complete, and most calls fail with EIO.
	 */
	_Atomic bool resets;
	_Atomic uint64_t cut_off_ms;	/* when a thread in `never_connects` was cancelled, which posts `open` */
} twist;

/* EINVAL_FULL: for a queue that is full the driver returns EINVAL */
enum twist_refusal { TWIST_ERRNO, TWIST_MINUS, TWIST_MINUS_ONE, TWIST_EINVAL_FULL };

/*
 * NEVER_SQ: requests that are posted in the error state. PART: every second flushed receive. BY_ASYNC: it reports the completions
 * of a queue pair that has failed by itself, but only after the next ibv_get_async_event().
 */
enum twist_flush { TWIST_FLUSH_ALL, TWIST_FLUSH_NEVER_SQ, TWIST_FLUSH_PART, TWIST_FLUSH_BY_ASYNC };

enum twist_keys { TWIST_KEYS_OWN, TWIST_KEYS_RANDOM, TWIST_KEYS_LARGE };

/* A write that tells the kernel of a request, to be made later. */
struct twist_bell {
	int fd;
	size_t size;
	unsigned char bytes[256];
};

/* The switches of each thread. A write() rings the doorbell: it tells the kernel of a request. */
extern __thread struct twist_here {
	struct twist_bell *keep;    /* the next write goes here, and is made later; for `held_ms` */
	bool doorbell_fails;	    /* the next write fails with ENOTCONN */
	bool late_bell;		    /* the next write posts `reached` and waits for `open` */
	void (*before_bell)(void);  /* called once, before the next write */
	void (*before_sleep)(void); /* called once, before the thread sleeps next in ppoll() */
	bool slow_to_connect;	    /* the next rdma_resolve_addr() posts `reached` and waits for `open` */
	int sleeps; /* count: calls of ppoll() */
	int chain; /* the length of the last chain of requests that was posted */
	int takes; /* the device takes only this many of the requests of the next longer chain; 0: all */
	int says;  /* what the driver returns for the rest of that chain */
	int refuses; /* the driver refuses the next post and returns this; 0: it takes the post */
	bool dies;   /* the queue pair of the next post goes to the error state just before it */
} twist_here;

/* ------------------------------------------------------------------ between the files of this library */

/* Returns true if this device is to be changed: TWIST_DEVICE in the environment names it, or is not set. */
bool twist_means(const struct ibv_context *verbs);
/* Ends the program, because it has done what crashes the driver of another device. */
_Noreturn void twist_trap(const char *what);
/* Returns what the imitated driver returns for a post, where the driver of rxe or siw has returned `rc`: see `says`. */
int twist_says(int rc);
/* Returns false, and sets errno, if the imitated driver refuses such a queue pair. */
bool twist_grants_qp(const struct ibv_qp_init_attr *attr);
/* The time of a clock that never goes back. */
uint64_t twist_now_ms(void);
struct ibv_qp *twist_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
			       struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *));
/* For `keys`: the key that the device shows for one of its own, and the other way round. */
uint32_t twist_key_shown(uint32_t key);
uint32_t twist_key_real(uint32_t key);
/* Replaces keys by the device's own until twist_keys_restore(). `rkey` may be NULL. */
void twist_keys_replace(struct ibv_sge *list, int n, uint32_t *rkey);
void twist_keys_restore(void);

/* twist_end.c. For `held_ms`: posts by `real`, or makes the completion of the message up at once. */
typedef int twist_post_fn(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int twist_post_held(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, twist_post_fn *real);
/* Keeps a write that tells the kernel of a request. Returns false if it is no such write. */
bool twist_keeps(int fd, const void *data, size_t size);
/* Polls the completions that have been made up. Returns how many it has stored. */
int twist_poll_made(const struct ibv_cq *cq, int n, struct ibv_wc *wc);
/* Returns true for the kernel's completion of a request whose completion was made up: the provider has it already. */
bool twist_has_made(const struct ibv_cq *cq, const struct ibv_wc *wc);
/* A completion queue is about to be destroyed. */
void twist_cq_goes(const struct ibv_cq *cq);
/* Sends all that is held back. */
void twist_send_all(void);
/* A queue pair has been created, is about to be stopped or to be destroyed. */
void twist_qp_begins(const struct ibv_qp *qp);
void twist_qp_halts(const struct ibv_qp *qp);
void twist_qp_goes(const struct ibv_qp *qp);
/* A connection is asked for or accepted for this queue pair, and has ended. */
void twist_id_has(const struct rdma_cm_id *id, uint32_t qpn);
void twist_id_ends(const struct rdma_cm_id *id);
/* Returns the number of the queue pair of the connection, or 0 if it is not known. */
uint32_t twist_id_qpn(const struct rdma_cm_id *id);
/* Returns true if this process has stopped the queue pair, or has been told that its connection has ended. */
bool twist_has_ended(uint32_t qpn);
/* Returns true if the queue pair is in the error state, as far as anybody can know. */
bool twist_is_dead(struct ibv_qp *qp);
/* Returns true if this process has put the queue pair there. */
bool twist_is_halted(uint32_t qpn);
/* Record what is posted, for twist_flush_is_lost(). */
void twist_posts_receives(const struct ibv_recv_wr *wr);
void twist_posts_requests(struct ibv_qp *qp, const struct ibv_send_wr *wr);
/* Returns true if the device does not report this completion. */
bool twist_flush_is_lost(const struct ibv_wc *wc);

/*
 * twist_event.c. Makes up an asynchronous event about the queue pair, and wakes the threads that sleep on the descriptor of
 * such events.
 */
void twist_tell(uint32_t qpn, enum ibv_event_type type);
/* Returns true if there is an event that is made up; it is acknowledged by twist_ack(), which returns false for others. */
bool twist_told(struct ibv_context *verbs, struct ibv_async_event *event);
bool twist_ack(const struct ibv_async_event *event);
/* Returns what ibv_get_async_event() of verbs returns. */
int twist_real_event(struct ibv_context *verbs, struct ibv_async_event *event);
/* Returns true if the device has been reset since it was opened. */
bool twist_is_reset(const struct ibv_context *verbs);
/* A queue pair has been created, or is about to be destroyed; a completion queue is about to be armed. */
void twist_event_begins(struct ibv_qp *qp);
void twist_event_goes(const struct ibv_qp *qp);
void twist_armed(const struct ibv_cq *cq);
/* Called before and after a call of verbs that passes the descriptor of the device or of the channel (NULL: none) to the kernel. */
void twist_bare_begin(struct ibv_context *verbs, struct ibv_comp_channel *channel);
void twist_bare_end(struct ibv_context *verbs, struct ibv_comp_channel *channel);

#endif
