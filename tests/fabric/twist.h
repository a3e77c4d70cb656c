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
	_Atomic int idle_timers; /* ... of the value 0, which means 655 ms */
	_Atomic bool twisted;	 /* the end of a connection arrives as UNREACHABLE */
	_Atomic int stale;	 /* this many of the next rejections arrive with the reason "stale connection" */
	/* `shuts`: after the next connection request, the next rdma_get_cm_event() waits for `gate`; `shut` is set until then */
	_Atomic bool shuts, shut;
	sem_t gate;
	void (*_Atomic at_halt)(void);	/* called once, before the next queue pair goes to the error state */
	/* the next resolved address arrives as UNREACHABLE with -EINVAL, which is how siw reports an early message of the peer */
	_Atomic bool early;
	_Atomic bool full;		/* the process has no descriptor left for another eventfd */
	_Atomic bool no_timer;		/* ... for a timer */
	_Atomic bool no_pd;		/* the device has no protection domain left */
	_Atomic int fails;		/* the next completion of a request has this enum ibv_wc_status; 0: its own */
	_Atomic bool unknown;		/* the device has a vendor that the providers do not know, and reports windows */
	_Atomic int vendor;		/* the device reports this vendor id; 0: its own */
	_Atomic bool no_query;		/* the driver cannot be asked for the state of a queue pair */
	_Atomic bool no_bind;		/* the driver cannot bind the windows that it makes */
	_Atomic bool reads_unsaid;	/* the device does not report how many RDMA Reads all its queue pairs can have together */
	_Atomic uint64_t message;	/* the port reports a longest message of this value less one; 0: its own */
	_Atomic unsigned int deepest;	/* a queue pair with more receives is refused, as no attribute tells; 0: no limit */
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
	 * The device completes a request before its bytes are on the wire. They are sent at the next disconnect, and are lost if
	 * the queue pair goes to the error state before that. For one queue pair at a time.
	 */
	_Atomic bool lazy;
	_Atomic int late_ms; /* a poll finds a completion only after this time, or when this is 0 again */
	/*
	 * `unfenced`: the device ignores the fence of an RDMA Write. `overtaken` counts such writes that were posted while RDMA
	 * Reads of this process had not completed; `reading` is the number of those reads.
	 */
	_Atomic bool unfenced;
	_Atomic int overtaken, reading;
	_Atomic int loses; /* this many of the next flushed completions are lost, as if the completion queue had no room */
	/*
	 * `trapped` counts completions that are left in a completion queue when their queue pair is destroyed, and would be polled
	 * after that: some drivers access freed memory then. `cleans`: the driver removes them from the completion queue.
	 */
	_Atomic bool cleans;
	_Atomic int trapped;
	_Atomic int accepts;		/* count: connection requests that were accepted */
	_Atomic int says_reads;		/* peers seem to ask for and grant this many RDMA Reads less one; 0: their own numbers */
	/* the numbers of RDMA Reads in the last rdma_connect() and the last rdma_accept(): `in` as target, `out` as initiator */
	_Atomic int asked_in, asked_out, answered_in, answered_out;
	/*
	 * The next call of ibv_get_async_event() returns this event, an enum ibv_event_type + 1. If it is about a queue pair, it is
	 * about the one of the last rdma_accept().
	 */
	_Atomic int tells;
	_Atomic bool unconfirmed; /* the active side's confirmation of a connection is lost */
	_Atomic unsigned int rights;	/* the access flags of the last registration */
	_Atomic bool large_keys;	/* both keys of each region have their highest bit set */
	_Atomic bool old_kernel;	/* as before Linux 5.12: a child of fork() may take over registered pages */
	_Atomic int regions;		/* count: registrations */
	sem_t reached, open;		/* `reached` is posted when a held-up call begins to wait for `open` */
	_Atomic bool never_connects;	/* the next rdma_connect() posts `reached` and never returns */
	_Atomic int ports_taken;	/* this many of the next rdma_connect() fail because another socket has the local port */
	_Atomic int connector;		/* the thread that called rdma_connect() last */
	_Atomic bool no_srq;		/* the device has no shared receive queues */
	_Atomic bool no_srq_resize;	/* ... or cannot resize them */
	_Atomic bool no_windows;	/* the device reports no memory windows */
	_Atomic bool windows_unmade;	/* the device reports memory windows, and its driver cannot allocate one */
	_Atomic int sge;		/* a request has this many segments at most; 0: as many as the device has */
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
	_Atomic uint64_t cut_off_ms;	/* when a thread in `never_connects` was cancelled, which posts `open` */
} twist;

enum twist_refusal { TWIST_ERRNO, TWIST_MINUS, TWIST_MINUS_ONE };

/* The switches of each thread. A write() rings the doorbell: it tells the kernel of a request. */
extern __thread struct twist_here {
	bool lazy_bell;		    /* a write is kept back, to be made later; for `lazy` */
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
	int dies;    /* the same, and the queue pair has gone to the error state just before */
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
struct ibv_qp *twist_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
			       struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *));

#endif
