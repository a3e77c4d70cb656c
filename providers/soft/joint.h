/* SPDX-License-Identifier: BSD-2-Clause */
/* One long copy by both sides of a connection at once, in pieces. */
#ifndef SOFT_JOINT_H
#define SOFT_JOINT_H

#include "xfer.h"

#ifndef SOFT_JOINT_MIN /* the model checker has smaller ones */
#define SOFT_JOINT_MIN	     (64u << 10) /* shorter ones are done before anybody has come */
#define SOFT_JOINT_QUARTERS  (512u << 10) /* from here on in four pieces or more, else in two */
#define SOFT_JOINT_PIECE_MAX (512u << 10)
/* The first of two is so much longer than half: who copies the other one has to be called first. */
#define SOFT_JOINT_START    (8u << 10)
#define SOFT_JOINT_PATIENCE 1000 /* so often the holder looks whether the helper has finished */
#endif

/* Whether there are pieces that nobody has taken. A hint. */
bool soft_joint_wanted(const struct soft_port *ip);

/* ---- who holds the engine of `ip` ---- */

/* Offers the copy of the request at position `seq`, which is len bytes long. */
void soft_joint_open(struct soft_port *ip, uint32_t seq, uint64_t len);

enum soft_joint_end {
	SOFT_JOINT_DONE, /* all pieces are */
	SOFT_JOINT_LOST, /* the peer is gone, and nobody of it copies any more */
	SOFT_JOINT_LEFT, /* the other side holds the engine now, and finishes the request */
};

/*
 * After soft_joint_copy(), with what that returned: nobody comes to help any more. Waits a moment
 * for who is at a piece yet, and then leaves the rest to it.
 */
enum soft_joint_end soft_joint_settle(struct soft_port *ip, int error);
/* Of a copy whose pieces are done: whether one of them failed. */
bool soft_joint_failed(const struct soft_port *ip);

/* ---- the other side ---- */

/*
 * False: nobody of the other side holds the engine for this connection, or nobody wants help. Else
 * the holding lasts until soft_joint_leave(). initiator: we are. The caller looks afterwards
 * whether the connection is still open, and the regions still live.
 */
bool soft_joint_enter(struct soft_port *ip, uint32_t gen, bool initiator);
/* False: no pieces are left. *seq: the request whose they are, which may be another in a moment. */
bool soft_joint_offered(const struct soft_port *ip, uint32_t *seq);
/* True: the engine has been left to us, with the request at sq_done, of which all is copied. */
bool soft_joint_leave(struct soft_port *ip, uint32_t gen, bool initiator);

/* ---- both ---- */

/*
 * Copies pieces of request `seq`, a send, `limit` of them at most, as long as there are any. The
 * lists are the whole message's. 0 or an errno, which has been noted for soft_joint_failed().
 */
int soft_joint_copy(struct soft_port *ip, uint32_t seq, uint64_t len, struct soft_peer *peer,
		    bool initiator, const struct soft_list *local, const struct soft_list *remote,
		    unsigned int limit);

#endif
