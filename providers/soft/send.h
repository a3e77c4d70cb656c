/* SPDX-License-Identifier: BSD-2-Clause */
/* The requesting half of an endpoint: the post ops. */
#ifndef SOFT_SEND_H
#define SOFT_SEND_H

#include "soft.h"

enum datp_err soft_slots_init(struct soft_ia *ia);
/*
 * Those that a peer has not given back and never will: nothing of it is left, and nobody sends to
 * it.
 */
void soft_slots_reclaim(struct soft_ia *ia, const struct soft_peer *peer);

enum datp_err soft_post_send(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			     int n);
enum datp_err soft_post_rdma_write(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n,
				   const struct datp_rge *remote);
enum datp_err soft_post_rdma_read(struct datp_ep *ep, struct datp_wqe *wqe,
				  const struct datp_sge *iov, int n, const struct datp_rge *remote);
enum datp_err soft_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
			    struct datp_lmr *lmr, uint64_t addr, uint64_t len,
			    DAT_MEM_PRIV_FLAGS priv, uint32_t *context);

#endif
