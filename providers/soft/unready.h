/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that find no receive for a long time. The library prints a message on the side that has not posted the receive. If
 * the sender's adapter is strict, the send fails (strict.h).
 */
#ifndef SOFT_UNREADY_H
#define SOFT_UNREADY_H

#include "soft.h"

/* How long a message waits, in milliseconds; on hardware: the RNR timer multiplied by the number of retries. */
#define SOFT_UNREADY_MS 1000
#define SOFT_UNREADY_LOOK_MS 100u /* how often the service thread looks at a message that waits */

#ifndef soft_unready_watch /* the model checker has no messages to the user */
/*
 * Called when a message on this connection has found no receive: one that the peer has sent here, or, on a strict adapter,
 * one that this side has sent. From now on the service thread checks the connection as long as a message waits. EP lock.
 */
void soft_unready_watch(struct soft_ep *ep);
#endif

/* Returns true if a message may wait, so that soft_unready_look() is due within SOFT_UNREADY_LOOK_MS. Service thread. */
bool soft_unready_watches(struct soft_ia *ia);
/* Checks the messages that wait, if the interval is over. Service thread. */
void soft_unready_look(struct soft_ia *ia);

#endif
