/* SPDX-License-Identifier: BSD-2-Clause */
/* The receiving half of an endpoint: matching what arrives with what is posted. */
#ifndef SOFT_RECV_H
#define SOFT_RECV_H

#include "soft.h"

/* Everything that can be done for the receives of this endpoint now. EP lock. */
void soft_recv_progress(struct soft_ep *ep);
/* The end: what the engine had filled before the port was closed. EP lock. */
void soft_recv_flush(struct soft_ep *ep);
/* Engine, as the target: a waiting send takes a buffer of our SRQ. EP lock, engine held. */
bool soft_srq_pull(struct soft_ep *ep, struct soft_port *from, struct soft_sqe *e, uint8_t *status);
/* Completes requests that the peer or we executed. EP lock. */
void soft_sq_reap(struct soft_ep *ep);

/* Ops. */
int soft_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n);
enum datp_err soft_post_recv(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);

/* Polls a queue of ours into libdatp's lists: takes its poll lock. */
void soft_cq_drain(struct soft_cq *cq);
/* Frees what the ring still holds, as nobody polls it any more. */
void soft_cq_discard(struct soft_cq *cq);
/* Frees the parked messages. EP lock. */
void soft_recv_discard(struct soft_ep *ep);

#endif
