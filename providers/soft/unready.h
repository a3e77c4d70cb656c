/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that find no receive for a long time. The side that has not posted it is told, and the adapter of the sender, if it
 * is strict, lets the message fail (strict.h).
 */
#ifndef SOFT_UNREADY_H
#define SOFT_UNREADY_H

#include "soft.h"

/* How long a message waits, in milliseconds; on hardware: the RNR timer multiplied by the number of retries. */
#define SOFT_UNREADY_MS 1000
#define SOFT_UNREADY_LOOK_MS 100u /* how often the service thread looks at a message that waits */

#ifndef soft_unready_watch /* the model checker has no messages to the user */
/*
 * A message on this connection has found no receive: one of the peer here, or, on a strict adapter, one of this side there. The
 * service thread looks at it from now on, as long as one waits. EP lock.
 */
void soft_unready_watch(struct soft_ep *ep);
#endif

/* Returns true if a message may wait, so that soft_unready_look() is due within SOFT_UNREADY_LOOK_MS. Service thread. */
bool soft_unready_watches(struct soft_ia *ia);
/* Looks, if the interval is over. Service thread. */
void soft_unready_look(struct soft_ia *ia);

#endif
