/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of one peer that another peer has overwritten. */
#ifndef SOFT_LOST_H
#define SOFT_LOST_H

#include "soft.h"

#define SOFT_LOST_LOOK_MS 500u /* what is overwritten is found within two such intervals */

/*
 * The caller has added a peer. If there are several now, soft_lost_look() is due from now on, and still is if one
 * of them leaves before the first call. soft_ia.lock
 */
void soft_lost_begin_locked(struct soft_ia *ia);

/* Returns true if the IA has to look: there are several peers, or there were a moment ago. Service thread. */
bool soft_lost_watches(struct soft_ia *ia);

/* Looks, if the interval is over. Service thread. */
void soft_lost_look(struct soft_ia *ia);

/* Serves the ports of queues that are marked (soft_cq.lost). Service thread. */
void soft_lost_find(struct soft_ia *ia);

#endif
