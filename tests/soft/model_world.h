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
	char out[POSTS], in[POSTS]; /* payloads, one byte each */
	_Atomic uint32_t lock;	    /* of what follows, as an EVD's */
	uint32_t done;		    /* completions so far, of receives and requests */
	uint32_t received;	    /* of receives */
	uint8_t status[2 * POSTS];
	uint32_t got[POSTS];	    /* with an SRQ: the receive that each message of this endpoint has come to */
};

/* An SRQ, and the service thread of its process. */
struct shared {
	struct soft_srq srq;
	struct datp_wqe recv[POSTS];
	uint32_t done;			  /* receives that have completed, as bits; b.lock */
	_Atomic uint32_t jobs;		  /* of the service thread */
	void (*call)(void *arg), *call_arg; /* srq.lock */
};

struct world {
	struct soft_ia *ia;
	struct soft_peer peer[3]; /* [n] has the name n + 1 */
	struct side a, b;
	struct side c, d;	   /* another two, connected; their completions come to the queues of a and b */
	struct shared shared;	   /* where the receives of b and d are, if there is an SRQ */
	struct side *order[POSTS]; /* whose receives have completed at b's queue; b.lock, as the next */
	uint32_t ordered;
	uint32_t next[2];	   /* the number of each sender's next message */
	uint32_t taken;
	bool lost;		    /* what the provider is told of it once somebody has died */
	bool stops;		    /* whoever waits for the peer may give up */
	int copying;		    /* threads that are at a copy */
	_Atomic uint32_t no_region; /* what the receives are in is no more */
	/*
	 * Under an attack, or NULL: what is copied to or from our memory; and which connection fails. Regions are looked at
	 * then as the provider does.
	 */
	void (*copies)(const struct soft_list *local, bool write, uint64_t len);
	void (*fails)(struct soft_ep *ep);
};

extern struct world world;

/* Set-ups. */
void world_open_ring(void);
/* Here the tail may be set back by a sender that comes late, while another is ahead of it. */
void world_open_ring_of_two(void);
void world_open_pair(void);
/* The same of two processes, which have slots: for messages beyond a cell, up to WORLD_MIDDLE. */
void world_open_processes(void);
/* Two connections between the same processes, a to b and c to d. */
void world_open_two(void);
/* The same, and b and d take their receives from one SRQ. */
void world_open_shared(void);
/* One of these with rings of two cells, so that an event of a message may find no cell. */
void world_open_narrow(void (*set_up)(void));
void world_close(void);

/* Every order of a scenario's steps. */
void world_explore(const struct model_scenario *scenario);

/* A consumer's calls. */
void world_post(struct side *side, bool recv, const char *payload, uint64_t len);
/* The same of a registered segment, by way of the plugin's own data path if it is plain. */
void world_post_plain(struct side *side, bool recv, const char *payload, uint64_t len);
/* A receive for whichever of b and d comes first. */
void world_post_shared(const char *payload, uint64_t len);
/* The service thread of b and d: it does what it is called and rung for, until world_over(). */
void world_serve(void);
void world_over(void);
/* One poll of the queue. What is returned has been counted by us, what was queued by model_wqe_done(). */
void world_poll(struct side *side);
uint32_t world_completed(struct side *side);
void world_sleep_until(struct side *side, uint32_t done);

#endif
