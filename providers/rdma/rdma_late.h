/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done later: late accepts, greetings and knocks, repeated requests. */
#ifndef RDMA_LATE_H
#define RDMA_LATE_H

#include "rdma.h"

enum datp_err rdma_timer_open(struct rdma_ia *ia);
void rdma_timer_close(struct rdma_ia *ia);
/* An accepted request: true if the peer is to be answered later, and ESTABLISHED is on its way. */
bool rdma_late_begin(struct rdma_conn *conn, struct rdma_ep *ep);
/* Answers now, if that is still to be done. EP lock. */
void rdma_late_accept_locked(struct rdma_ep *ep);
void rdma_late_accept(struct rdma_ep *ep);
/* A receive has been staged: answers soon. EP lock. */
void rdma_late_receive_locked(struct rdma_ep *ep);
/* A request is about to be posted: answers before it. EP lock. */
void rdma_late_request_locked(struct rdma_ep *ep);
/* The peer has answered the greeting: the program hears of the connection now. Service thread. */
void rdma_ep_greeted(struct datp_ep *ep);
/* The active side's request is sent again by rdma_ask() then; and is not. */
void rdma_ask_later(struct rdma_conn *conn, uint32_t ms);
void rdma_ask_forget(struct rdma_conn *conn);
/* An active side has greeted: knocks a few times. */
void rdma_knock_begin(struct rdma_conn *conn);

/* When the timer of the endpoint's connection is to fire. Takes the IA mutex. */
void rdma_due_locked(struct rdma_ep *ep, uint32_t ms);
uint64_t rdma_now_ns(void);

#endif
