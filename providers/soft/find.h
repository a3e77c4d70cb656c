/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file behind a region of a peer. */
#ifndef SOFT_FIND_H
#define SOFT_FIND_H

#include <stdbool.h>
#include <stdint.h>

struct soft_finder;
struct soft_search_spent;
struct soft_ia;
struct soft_peer;

/* The search for the regions of one peer. */
struct soft_search {
	_Atomic uint32_t lock; /* of what follows; before soft_finders.lock */
	struct soft_finder *finder;
	bool awaited;		/* a thread waits for the finder, and takes its answer if that comes in time */
	uint64_t answered_us;	/* when the finder was seen to have an answer, which nobody has taken; or 0 */
	uint64_t waited_us;	/* how long calls have waited for its searches. Read without the lock: soft_peer_waited() */
};

/* The finders of an adapter, with those that were left behind when their peers went, and what processes have used up. */
struct soft_finders {
	_Atomic uint32_t lock; /* a leaf */
	struct soft_finder *first;
	struct soft_search_spent *spent;
};

/* A region that is looked for: what the peer has mapped, shared, at a range of its addresses. */
struct soft_sought {
	uint32_t context;
	uint64_t addr, len;
	int flags; /* O_RDWR or O_RDONLY */
};

enum soft_find_end { SOFT_FOUND, SOFT_FOUND_NONE, SOFT_FIND_LATER };

/*
 * Opens the file of a region, if it may be mapped here: *fd, and *offset is the place of the range in the file. Returns
 * SOFT_FIND_LATER if that is not known yet: ask again when the region is accessed again. How long this waits is limited, for all
 * calls together, by the budget of the peer's process.
 */
enum soft_find_end soft_find(struct soft_peer *peer, const struct soft_sought *sought, int *fd, uint64_t *offset);
/* No connection has the peer any more: ends its search. */
void soft_find_fini(struct soft_peer *peer);
/* The adapter is closed, and has no peers any more. */
void soft_finders_fini(struct soft_ia *ia);

#endif
