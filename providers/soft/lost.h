/* SPDX-License-Identifier: BSD-2-Clause */
/* News of one peer that another peer has taken away. */
#ifndef SOFT_LOST_H
#define SOFT_LOST_H

#include "soft.h"

#define SOFT_LOST_LOOK_MS 500u /* what is taken away is found within two such times */

/* A peer has come: if there are several, there are looks from now on, and it may leave before the first. soft_ia.lock */
void soft_lost_begin_locked(struct soft_ia *ia);

/* Whether to look: there are peers that can take away from each other, or there were a moment ago. Service thread. */
bool soft_lost_watches(struct soft_ia *ia);

/* Looks, if it is time for it again. Service thread. */
void soft_lost_look(struct soft_ia *ia);

#endif
