/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a peer that can be mapped here, too, so that no system call is needed to reach it. */
#ifndef SOFT_SHARE_H
#define SOFT_SHARE_H

#include "soft.h"
#include "xfer.h"

/* A list of a peer's buffers as seen from here, and what it holds meanwhile. */
struct soft_reach {
	struct soft_list list;
	struct soft_share *held[SOFT_MAX_IOV];
	int n;
};

/*
 * Whether all buffers of a list that names its regions can be reached here. The first use of a
 * region maps it, which takes a few system calls; whether that worked is remembered. write: they
 * will be written to. The engine of the connection is held, and rights and bounds were checked.
 */
bool soft_share_reach(struct soft_peer *peer, const struct soft_list *remote, bool write,
		      struct soft_reach *reach);
void soft_share_leave(struct soft_peer *peer, struct soft_reach *reach);

/* Unmaps what belongs to regions that are no more. Service thread. */
void soft_shares_sweep(struct soft_ia *ia);
/* All of them, of a peer that nobody uses any more. */
void soft_shares_drop(struct soft_peer *peer);

#endif
