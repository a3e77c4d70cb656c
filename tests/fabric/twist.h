/* SPDX-License-Identifier: BSD-2-Clause */
/* What the providers ask of verbs, rdma_cm and the kernel, and what they hear, is watched and twisted: the switches. */
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
	_Atomic int timers;	 /* queue pairs that were told a time for "receiver not ready" */
	_Atomic int idle_timers; /* ... of 0, which means two thirds of a second */
	_Atomic bool twisted;	 /* the end of a connection arrives as UNREACHABLE */
	_Atomic int stale;	 /* so many rejections arrive as "stale connection" */
	/* after the next request the thread that takes events waits at a gate */
	_Atomic bool shuts, shut;
	sem_t gate;
	void (*_Atomic at_halt)(void);	/* is called once, before a queue pair is stopped */
	_Atomic bool early;		/* the next address that is found is an early message of the peer, as siw says it */
	_Atomic bool full;		/* the process has no descriptor left for another eventfd */
	_Atomic int fails;		/* the next request to complete has this enum ibv_wc_status; 0: its own */
	_Atomic bool unknown;		/* the device is none that we know, and says that it has windows */
	_Atomic int vendor;		/* the device is of this one; 0: of its own */
	_Atomic bool no_query;		/* the driver cannot be asked for the state of a queue pair */
	_Atomic bool no_bind;		/* the driver cannot bind the windows that it makes */
	_Atomic bool reads_unsaid;	/* it does not say how many RDMA Reads its queue pairs can have together */
	_Atomic uint64_t message;	/* its port says that a message has so many bytes, less one; 0: what it says */
	_Atomic unsigned int deepest;	/* its receive queues have so many places, which it does not say; 0: no limit */
	/* paths have an MTU of 256, and the driver refuses to inline more than that */
	_Atomic bool inline_mtu;
	_Atomic int reads;		/* the device can have so many RDMA Reads of a queue pair; 0: as many as it has */
	_Atomic int places;		/* a queue pair of the device has so many; 0: as many as it has */
	_Atomic int read_sge;		/* one read of the device goes into so many segments; 0: as many as it has */
	_Atomic int max_cqe;		/* as the device says; 0: as many as it has */
	_Atomic int entries;		/* a completion queue of the device has so many; 0: as many as it has */
	_Atomic bool no_solicited;	/* the device cannot be asked to tell of solicited messages only */
	/* the device takes the first segment of a list that is there, whatever the number of them: so many were not empty */
	_Atomic int first_segments;
	/*
	 * The device completes a request before its bytes are on the wire; those go with the next disconnect, and are lost if the
	 * queue pair is stopped before that. For one queue pair at a time
	 */
	_Atomic bool lazy;
	_Atomic int late_ms; /* completions are not to be found before so much time has passed, or this is 0 again */
	/*
	 * The device ignores the fence of an RDMA Write, and has got so many of those while RDMA Reads of this process, whose
	 * number is `reading`, had not completed
	 */
	_Atomic bool unfenced;
	_Atomic int overtaken, reading;
	_Atomic int loses; /* so many completions of flushed operations are lost next, as by a queue that has no room */
	/*
	 * Completions of a queue pair that has been destroyed: the device takes them out of its queues; or the driver would touch
	 * freed memory when it finds one, and so many have been found
	 */
	_Atomic bool cleans;
	_Atomic int trapped;
	_Atomic int accepts;		/* requests that have been answered */
	_Atomic int says_reads;		/* so many reads less one a peer asks for and grants, as it seems; 0: what it says */
	/* the numbers of reads that this process has asked for last, and answered with last; of those that it serves, `in` */
	_Atomic int asked_in, asked_out, answered_in, answered_out;
	/*
	 * The next look at what the device tells finds this, an enum ibv_event_type + 1. An event of a queue pair is about the
	 * last one whose request has been answered
	 */
	_Atomic int tells;
	_Atomic bool unconfirmed; /* what the active side confirms a connection by gets lost */
	_Atomic unsigned int rights;	/* that the last region was registered with */
	_Atomic bool large_keys;	/* both keys of each region have their highest bit set */
	_Atomic bool old_kernel;	/* it lets a child of fork() take over registered pages */
	_Atomic int regions;		/* that have been registered */
	sem_t reached, open;		/* of a late bell, or a slow attempt */
	_Atomic bool never_connects;	/* the next rdma_connect stays there, which `reached` tells */
	_Atomic int ports_taken;	/* so many times rdma_connect finds that another socket has its local port */
	_Atomic int connector;		/* the thread that has called rdma_connect last */
	_Atomic bool no_srq;		/* the device has no shared receive queues */
	_Atomic bool no_srq_resize;	/* ... or cannot resize them */
	_Atomic bool no_windows;	/* it says that it has none */
	_Atomic bool windows_unmade;	/* it says that it has, and its driver makes none */
	_Atomic int sge;		/* a request has so many segments at most; 0: as many as the device has */
	_Atomic bool needs_receives;	/* a queue pair without any is refused */
	_Atomic int inlines;		/* a queue pair that is to inline so many bytes is refused; 0: no limit */
	_Atomic int resize_fails;	/* the resize of a completion queue fails with this errno; 0: it does not */
	_Atomic uint64_t longest;	/* a longer region is refused; 0: no limit */
	_Atomic int says;		/* enum twist_refusal: what a driver returns that refuses a post */
	/* what otherwise is counted in first_segments, and in trapped, ends the program */
	_Atomic bool first_fatal, dead_fatal;
	_Atomic uint64_t cut_off_ms;	/* when it was cancelled; then `open` */
} twist;

enum twist_refusal { TWIST_ERRNO, TWIST_MINUS, TWIST_MINUS_ONE };

/* Of each thread. */
extern __thread struct twist_here {
	bool lazy_bell;		    /* the next writing to the kernel is put off */
	bool doorbell_fails;	    /* the next writing to the kernel does */
	bool late_bell;		    /* the next write is held up until `open`, which `reached` tells */
	void (*before_bell)(void);  /* is called once, before the next write */
	void (*before_sleep)(void); /* is called once, before it sleeps */
	bool slow_to_connect;	    /* the next look for an address is held up likewise */
	int sleeps;
	int chain; /* requests that went to the device together, the last time */
	int takes; /* the device takes so many of the next chain that is longer, and refuses the others; 0: all */
	int says;  /* ... which its driver returns then */
	int refuses; /* the driver refuses the next post, and returns this; 0: it does not */
	int dies;    /* the same, and the queue pair has just got into error */
} twist_here;

/* ------------------------------------------------------------------ between the files of this library */

/* Returns true unless the environment's TWIST_DEVICE names another device: then this one stays as it is. */
bool twist_means(const struct ibv_context *verbs);
/* Ends the program: it has done what some device does not stand. */
_Noreturn void twist_trap(const char *what);
/* Returns what the driver returns where that of rxe and siw has returned `rc`. */
int twist_says(int rc);
/* Returns false, and sets errno, if the driver refuses such a queue pair. */
bool twist_grants_qp(const struct ibv_qp_init_attr *attr);

#endif
