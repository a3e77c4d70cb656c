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
void soft_share_leave(struct soft_peer *peer, struct soft_reach *reach);

/* Unmaps the regions that no longer exist. Service thread. */
void soft_shares_sweep(struct soft_ia *ia);
/* Unmaps all regions of a peer that nobody uses any more. */
void soft_shares_drop(struct soft_peer *peer);

#endif
