/* SPDX-License-Identifier: BSD-2-Clause */
/* The ops that all verbs providers share. */
#ifndef RDMA_OPS_H
#define RDMA_OPS_H

#include "rdma.h"
#include "rdma_cm.h"
#include "rdma_end.h"
#include "rdma_cq.h"
#include "rdma_fit.h"
#include "rdma_ia.h"
#include "rdma_mr.h"
#include "rdma_mw.h"
#include "rdma_poll.h"
#include "rdma_post.h"
#include "rdma_qp.h"
#include "rdma_srq.h"

/* The sizes of the objects and every op but ia_open: those of all verbs providers. */
#define RDMA_OPS                                                                                   \
	.traits = DATP_TRAIT_SRQ_BIASED,                                                           \
	.ia_size = sizeof(struct rdma_ia), .pz_size = sizeof(struct rdma_pz),                      \
	.evd_size = sizeof(struct rdma_evd), .ep_size = sizeof(struct rdma_ep),                    \
	.lmr_size = sizeof(struct rdma_lmr), .rmr_size = sizeof(struct rdma_rmr),                  \
	.srq_size = sizeof(struct rdma_srq), .sp_size = sizeof(struct rdma_sp),                    \
	.cr_size = sizeof(struct rdma_cr), .ia_close = rdma_ia_close, .ia_query = rdma_ia_query,   \
	.pz_create = rdma_pz_create, .pz_free = rdma_pz_free, .lmr_create = rdma_lmr_create,       \
	.lmr_free = rdma_lmr_free, .lmr_table = offsetof(struct rdma_ia, lmrs), .rmr_create = rdma_rmr_create,       \
	.rmr_free = rdma_rmr_free, .evd_create = rdma_evd_create, .evd_resize = rdma_evd_resize,   \
	.evd_free = rdma_evd_free, .evd_poll = rdma_evd_poll, .evd_arm = rdma_evd_arm,             \
	.evd_sleep = rdma_evd_sleep, .evd_wake = rdma_evd_wake, .srq_create = rdma_srq_create,     \
	.srq_resize = rdma_srq_resize, .srq_free = rdma_srq_free,                                  \
	.srq_post_recv = rdma_srq_post_recv,                                                       \
	.ep_create = rdma_ep_create, .ep_modify = rdma_ep_modify, .ep_reset = rdma_ep_reset,       \
	.ep_free = rdma_ep_free, .ep_recv_query = rdma_ep_recv_query, .ep_fit = rdma_ep_fit,       \
	.post_send = rdma_post_send, .post_recv = rdma_post_recv,                                  \
	.post_rdma_write = rdma_post_rdma_write, .post_rdma_read = rdma_post_rdma_read,            \
	.rmr_bind = rdma_rmr_bind, .rmr_done = rdma_rmr_done,                                      \
	.sp_listen = rdma_sp_listen, .sp_close = rdma_sp_close,                                    \
	.ep_connect = rdma_ep_connect, .cr_accept = rdma_cr_accept, .cr_reject = rdma_cr_reject,   \
	.cr_reject_with = rdma_cr_reject_with,                                                     \
	.cr_free = rdma_cr_free, .cr_move = rdma_cr_move, .ep_disconnect = rdma_ep_disconnect,   \
	.ext_query = rdma_ext_query, .post_write_imm = rdma_post_write_imm,                        \
	.post_atomic = rdma_post_atomic,                                                           \
	.post_lock = rdma_any_post_lock, .post_unlock = rdma_any_post_unlock

#endif
