/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a peer that can be mapped here, so that no system call is needed to access it. */
#ifndef SOFT_SHARE_H
#define SOFT_SHARE_H

#include "soft.h"
#include "xfer.h"

/* A list of a peer's buffers at the addresses where they are mapped here, with references to those mappings. */
struct soft_reach {
	struct soft_list list;
	struct soft_share *held[SOFT_MAX_IOV];
	int n;
};

/*
 * Returns true if all buffers of a peer's list can be accessed here, and writes their addresses here
 * to `reach`. The list must name its regions (soft_list.sge). The first use of a region maps it, which
 * takes a few system calls; whether that succeeded is remembered. write: the buffers will be written.
 * The caller holds the execution lock of the connection, and has checked rights and bounds.
 */
bool soft_share_reach(struct soft_peer *peer, const struct soft_list *remote, bool write,
		      struct soft_reach *reach);
void soft_share_leave(struct soft_reach *reach);

/*
 * The same for one buffer. Returns its address here, and *held for soft_share_leave_one(); returns NULL if it cannot be
 * accessed here. The parameter `share` must not be off.
 */
unsigned char *soft_share_one(struct soft_peer *peer, const struct datp_rge *buffer, bool write, struct soft_share **held);
void soft_share_leave_one(struct soft_share *held);

/* Returns false if this context, which the program has passed, cannot open memory that is mapped here. A hint. */
static inline bool soft_share_may(const struct soft_peer *peer, uint32_t context)
{
	const struct soft_mr *mr = &peer->mr[SOFT_MR_INDEX(context)];

	/* relaxed, both: soft_share_one() looks again when the access has been checked */
	return peer->ia->want_share != SOFT_SHARE_OFF && SOFT_MR_INDEX(context) < SOFT_MR_COUNT &&
	       (atomic_load_explicit(&mr->priv, memory_order_relaxed) & SOFT_MR_FILE ||
		atomic_load_explicit(&mr->lmr, memory_order_relaxed));
}

/* Unmaps the regions that no longer exist. Service thread. */
void soft_shares_sweep(struct soft_ia *ia);
/* Unmaps all regions of a peer that nobody uses any more. */
void soft_shares_drop(struct soft_peer *peer);

#endif
