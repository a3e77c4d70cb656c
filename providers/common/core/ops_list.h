/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of all ops of struct datp_ops, in two lists. Invariant: every slot is in one of them,
 * or ops.c does not compile; a slot that is appended to the struct is also appended here.
 */
#ifndef OPS_LIST_H
#define OPS_LIST_H

/*
 * The required ops. evd_poll is among them although an EVD without completions never calls it,
 * because the data path, inlined in the plugin, calls it without a test.
 */
/* clang-format off */
#define REQUIRED_OPS(X)                                                                            \
	X(ia_open) X(ia_close) X(ia_query)                                                         \
	X(lmr_create) X(lmr_free) X(lmr_find)                                                      \
	X(evd_poll)                                                                                \
	X(ep_create) X(ep_free)                                                                    \
	X(post_send) X(post_recv) X(post_rdma_write) X(post_rdma_read)                             \
	X(sp_listen) X(sp_close)                                                                   \
	X(ep_connect) X(cr_accept) X(cr_reject) X(cr_free) X(ep_disconnect)

/* The ops with a default, and its name. */
#define OPTIONAL_OPS(X)                                                                            \
	X(pz_create, default_pz_create) X(pz_free, default_pz_free)                                \
	X(rmr_create, default_rmr_create) X(rmr_free, default_rmr_free)                            \
	X(rmr_bind, default_rmr_bind)                                                              \
	X(evd_create, default_evd_create)                                                          \
	X(evd_resize, default_evd_create) /* the same nothing */                                   \
	X(evd_free, default_evd_free) X(evd_pending, default_evd_pending)                          \
	X(evd_arm, default_evd_arm) X(evd_sleep, default_evd_sleep) X(evd_wake, default_evd_wake)  \
	X(srq_create, default_srq_create) X(srq_resize, default_srq_number)                        \
	X(srq_free, default_srq_free) X(srq_post_recv, default_srq_post_recv)                      \
	X(srq_query, default_srq_query) X(srq_set_lw, default_srq_number)                          \
	X(ep_modify, default_ep_modify) X(ep_reset, default_ep_reset)                              \
	X(ep_recv_query, default_ep_recv_query) X(ep_set_watermark, default_ep_set_watermark)      \
	X(cr_move, default_cr_move) X(rmr_done, default_rmr_done) X(ep_fit, default_ep_fit)     \
	X(ext_query, default_ext_query) X(post_write_imm, default_post_write_imm)                  \
	X(post_atomic, default_post_atomic)                                                        \
	X(post_lock, datp_post_lock) X(post_unlock, datp_post_unlock)                              \
	X(cr_reject_with, default_cr_reject_with)                                                  \
	X(post_send_invalidate, default_post_send_invalidate)                                      \
	X(post_read_rmr, default_post_read_rmr)

/* The objects a plugin may extend, with the public head that its own struct starts with. */
#define SIZED_OBJECTS(X)                                                                           \
	X(ia, struct datp_ia) X(pz, struct datp_pz) X(evd, struct datp_evd) X(ep, struct datp_ep)  \
	X(lmr, struct datp_lmr) X(rmr, struct datp_rmr) X(srq, struct datp_srq)                    \
	X(sp, struct datp_sp) X(cr, struct datp_cr)
/* clang-format on */

#endif
