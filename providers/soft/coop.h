/* SPDX-License-Identifier: BSD-2-Clause */
/* One long copy, executed by both sides of a connection at once, in pieces. */
#ifndef SOFT_COOP_H
#define SOFT_COOP_H

#include "xfer.h"

#ifndef SOFT_COOP_MIN /* the model checker has smaller ones */
#define SOFT_COOP_MIN	    (64u << 10)	 /* a shorter copy is done before the other side has come */
#define SOFT_COOP_QUARTERS  (512u << 10) /* from this length on there are four pieces or more, else two */
#define SOFT_COOP_PIECE_MAX (512u << 10)
/*
 * The first of two pieces is this much longer than half, because the side that copies the second one begins later: it has
 * to notice the copy first.
 */
#define SOFT_COOP_START	    (8u << 10)
#define SOFT_COOP_PATIENCE  1000 /* how often the holder looks whether the helper has finished */
#endif

/* Returns true if there are pieces that nobody has taken. The answer may be out of date when it is used. */
bool soft_coop_wanted(const struct soft_port *ip);

/* ---- the holder of the execution lock of `ip` ---- */

/* Offers the copy of the request at position `seq`, which is len bytes long. */
void soft_coop_open(struct soft_port *ip, uint32_t seq, uint64_t len);

enum soft_coop_end {
	SOFT_COOP_DONE, /* all pieces are done */
	SOFT_COOP_LOST, /* the peer is gone, and none of its threads copies any more */
	SOFT_COOP_LEFT, /* the other side holds the execution lock now, and finishes the request */
};

/*
 * The holder calls this after soft_coop_copy(), with the result of that call. From then on no piece
 * is taken. If a helper is still copying a piece, this waits a moment for it, and then leaves the
 * execution lock to the helper.
 */
enum soft_coop_end soft_coop_settle(struct soft_port *ip, int error);
/* Returns true if one of the pieces of a finished copy has failed. */
bool soft_coop_failed(const struct soft_port *ip);

/* ---- the other side ---- */

/*
 * Joins a copy of the other side. Returns false if the other side does not hold the execution lock
 * for this connection, or wants no help. If it returns true, the other side keeps the execution lock
 * until soft_coop_leave().
 * initiator: this side is the initiator. The caller checks after this that the connection is still
 * open and the regions are valid.
 */
bool soft_coop_enter(struct soft_port *ip, uint32_t gen, bool initiator);
/* Returns false if no pieces are left. *seq is the request that they belong to, which may change at any time. */
bool soft_coop_offered(const struct soft_port *ip, uint32_t *seq);
/*
 * Ends the help. Returns true if this side holds the execution lock now. Then it has to finish the
 * request at sq_done, whose pieces have all been copied.
 */
bool soft_coop_leave(struct soft_port *ip, uint32_t gen, bool initiator);

/* ---- both ---- */

/*
 * Copies pieces of request `seq`, a send, at most `limit` of them, until none is left. The lists
 * are those of the whole message. Returns 0 or an errno, which soft_coop_failed() reports, too.
 */
int soft_coop_copy(struct soft_port *ip, uint32_t seq, uint64_t len, struct soft_peer *peer,
		   bool initiator, const struct soft_list *local, const struct soft_list *remote,
		   unsigned int limit);

#endif
