/* SPDX-License-Identifier: BSD-2-Clause */
/* What the model checker's scenarios are about: the ring of an EVD, or two connected endpoints of one process. */
#ifndef TESTS_SOFT_MODEL_WORLD_H
#define TESTS_SOFT_MODEL_WORLD_H

#include "tests/soft/model.h"

#include "check.h"
#include "providers/soft/soft.h"

#define CELLS 4
#define POSTS 4

#define WORLD_MIDDLE 128

struct soft_list;

struct side {
	struct soft_ep ep;
	struct soft_evd evd;
	struct datp_wqe recv[POSTS], request[POSTS];
	char out[POSTS]; /* payloads, one byte each */
	alignas(uint64_t) char in[POSTS]; /* a short write of 8 bytes to the first one is one store */
	_Atomic uint32_t lock;	    /* of what follows, as an EVD's */
	uint32_t done;		    /* completions so far, of receives and requests */
	uint32_t received;	    /* completions of receives only */
	uint8_t status[2 * POSTS];
	uint32_t got[POSTS];	    /* with an SRQ: the receive that each message of this endpoint has come to */
};

/* An SRQ, and the service thread of its process. */
struct shared {
	struct soft_srq srq;
	struct datp_wqe recv[POSTS];
	uint32_t done;			  /* a bit for each receive that has completed; b.lock */
	_Atomic uint32_t jobs;		  /* what the service thread has to do: JOB_... */
	void (*call)(void *arg), *call_arg; /* srq.lock */
};

struct world {
	struct soft_ia *ia;
	struct soft_peer peer[3]; /* [n] has the name n + 1 */
	struct side a, b;
	struct side c, d;	   /* another connected pair; c's completions go to a's queue, and d's to b's */
	struct soft_pz pz;	   /* of all regions and endpoints */
	struct shared shared;	   /* where the receives of b and d are, if there is an SRQ */
	/* The sides whose receives have completed at b's queue, in that order, and how many receives that were. b.lock. */
	struct side *order[POSTS];
	uint32_t ordered;
	uint32_t next[2];	   /* the number of each sender's next message */
	uint32_t taken;
	bool lost;		    /* the provider is told that the peer is lost, once a thread has died */
	bool stops;		    /* a thread may be stopped for longer than the bound, so the other side may give up */
	bool overtakes;		    /* a request has completed before one that was posted earlier */
	int copying;		    /* the number of threads that are copying */
	const void *gone; /* this byte is not mapped any more at the side that accesses it */
	_Atomic uint32_t no_region; /* the region of the receives has been deregistered */
	/*
	 * Called in place of a copy to or from our memory, and when a connection fails. Both are NULL except under an attack.
	 * If they are set, regions are checked by the provider's own code.
	 */
	void (*copies)(const struct soft_list *local, bool write, uint64_t len);
	void (*fails)(struct soft_ep *ep);
};

extern struct world world;

/* Set-ups. */
void world_open_ring(void);
/* The ring has two cells only, so a sender that is late may write a tail that is older than another sender's. */
void world_open_ring_of_two(void);
void world_open_pair(void);
/* The same between two processes. These have slots, so messages up to WORLD_MIDDLE may be eager, though longer than a cell. */
void world_open_processes(void);
/* Two connections between the same processes, a to b and c to d. */
void world_open_two(void);
/* The same, and b and d take their receives from one SRQ. */
void world_open_shared(void);
/* One of these with rings of two cells, so that an event of a message may find no cell. */
void world_open_narrow(void (*set_up)(void));
void world_close(void);

/* Runs a scenario in every order of its steps. */
void world_explore(const struct model_scenario *scenario);

/* Posts as a consumer does. */
void world_post(struct side *side, bool recv, const char *payload, uint64_t len);
/* The same with a registered segment; if the operation is plain, by the plugin's fast path. */
void world_post_plain(struct side *side, bool recv, const char *payload, uint64_t len);
/* Posts an RDMA write by the plugin's fast path. Returns false if it is not plain; then nothing is posted. */
bool world_write(struct side *side, const char *from, const char *to, uint64_t len, unsigned int flags);
/* A receive for whichever of b and d comes first. */
void world_post_shared(const char *payload, uint64_t len);
/*
 * The service thread of b and d: makes the calls that the provider has requested, and serves b's queue when it is woken.
 * Returns after world_over().
 */
void world_serve(void);
void world_over(void);
/* Polls the queue once, and counts what the poll returns. What it queues instead, model_wqe_done() counts. */
void world_poll(struct side *side);
uint32_t world_completed(struct side *side);
void world_sleep_until(struct side *side, uint32_t done);

#endif
