/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A writer that is in the middle of a write through the window of an RMR, for tests of what is withheld meanwhile. All endpoints
 * are in this process, so a test writes into the writer's port what a process has begun that is stopped there.
 */
#ifndef SOFT_WRITER_H
#define SOFT_WRITER_H

#include "api.h"
#include "providers/soft/soft.h"

#define LONG_MS	 3000u /* nobody may be held up so long */
#define SHORT_MS 200u
#define RIGHTS	 ((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
#define SIZE	 ((size_t)1 << 20)
#define LONG	 ((size_t)400000) /* a message that waits in its sender's queue */

extern struct api_pair pair, writer; /* pair.a is the peer that invalidates; this side has pair.b and writer.b */
extern struct api_buf buf;
extern DAT_RMR_HANDLE rmr;
extern DAT_RMR_CONTEXT context; /* of the last bind */
extern DAT_LMR_TRIPLET where;	/* what the RMR is bound to */
extern struct soft_ia *adapter;	/* that of this side */
extern uint64_t began;		/* what at_once() counts from, in milliseconds */
extern uint64_t withheld_from;	/* the bound begins no earlier */

struct soft_ep *soft_of(const struct api_end *one);

/* Opens an adapter with this bound, with both pairs connected, and binds the RMR over pair.b. */
void open_with(uint32_t patience_ms);
/* The same where the adapter is open and `pair` is connected. */
void open_rest(uint32_t patience_ms);
void bind_rmr(const struct api_end *over, uint64_t cookie);
void post_receives(uint64_t first, uint64_t last); /* of pair.b */

void writer_begins(void); /* with a write through the RMR */
void writer_begins_with(DAT_RMR_CONTEXT into);
/* Puts another request into its queue. `seg` is the segment of a write, or NULL. */
void writer_posts(const struct soft_sqe *request, const struct datp_sge *seg);
void writer_ends(void);
/* Returns whether the writer has a right to access memory. When it loses that, this side's port is exchanged. */
bool writer_may_write(void);

/* A message of 8 bytes that invalidates the RMR has been executed into the oldest receive of pair.b. */
void invalidation_arrives(void);
/* The same, and the receive is withheld because the writer has begun. */
void begin_withheld(void);

void at_once(const char *what); /* it has not waited since the last call */
void nothing_comes(DAT_EVD_HANDLE evd);
/* The service thread works: a connection request that nobody answers times out. */
void service_goes_on(void);
/* Nobody has looked until the bound was over, because this process was stopped: the writer, which lives, may be within a piece. */
void nobody_looks_in_time(struct soft_ep *ep, struct soft_wait *wait);
void last_piece_was_awaited(void);

#endif
