/* SPDX-License-Identifier: BSD-2-Clause */
/* How deep and how wide the queues of an endpoint are: what its attributes need, and what the device takes. */
#ifndef RDMA_FIT_H
#define RDMA_FIT_H

#include "rdma.h"

/*
 * Returns true if a queue pair that the device refuses with this errno may be too large for it. The caller has set errno to 0
 * before, because the driver of mthca gives no reason.
 */
bool rdma_may_be_too_large(int error);
/* Returns how many segments one read may have on this device. */
int rdma_read_segments(const struct rdma_ia *ia);
/* Returns how many work requests of a program a queue pair can hold, beside the provider's own. */
int32_t rdma_request_wrs(const struct rdma_ia *ia);
/* Returns the length of a send queue for these attributes. rdma_ep_fit() has checked that the device has queues of that length. */
uint32_t rdma_send_depth(const struct datp_ep_attr *attr, int read_sge);
/* Sets what a queue pair for these attributes needs, with receives of its own. */
void rdma_fit_cap(const struct datp_ep_attr *attr, int read_sge, struct ibv_qp_cap *cap);
enum datp_err rdma_ep_fit(struct datp_ia *ia, struct datp_ep_attr *attr, const struct datp_ep_attr *asked);

#endif
