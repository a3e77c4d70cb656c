/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory: the table that peers check their accesses against, and our own checks. */
#ifndef SOFT_MR_H
#define SOFT_MR_H

#include "soft.h"

enum datp_err soft_mr_init(struct soft_ia *ia);
void soft_mr_fini(struct soft_ia *ia);

#define SOFT_MR_WRITES (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* Looks at the memory first: what is not there is refused. soft_lmr_add() does not. */
enum datp_err soft_lmr_create(struct datp_lmr *lmr, const void *cookie);
enum datp_err soft_lmr_add(struct datp_lmr *lmr, bool shared);
void soft_lmr_free(struct datp_lmr *lmr);
struct datp_lmr *soft_lmr_find(struct datp_ia *ia, uint32_t context);
enum datp_err soft_rmr_create(struct datp_rmr *rmr);
void soft_rmr_free(struct datp_rmr *rmr);

/* What the bind has to know of the window's RMR and region; the rest is the caller's. EP lock. */
void soft_rmr_prepare(struct soft_ia *ia, struct soft_rmr *rmr, const struct datp_lmr *lmr,
		      struct soft_sqe *e);
/*
 * Executes a bind: the old context dies, and the new one (if the length is not 0) lives. Engine
 * held.
 */
void soft_mr_bind(struct soft_mr *table, struct soft_sqe *e, uint32_t pz);

/*
 * Waits until no access of the peers, or of ours to them, that may have begun before this call is
 * still going on. copies: nor one of ours to our own memory, when a message is received; then no EP
 * lock is held.
 */
void soft_mr_quiesce(struct soft_ia *ia, bool copies);

/* Checks of a local list; `sink`: it will be written to. */
enum datp_err soft_mr_check_iov(const struct soft_mr *table, uint32_t pz,
				const struct datp_sge *iov, int n, bool sink);
/* Of a remote range: rights, bounds and zone. */
bool soft_mr_check_remote(const struct soft_mr *table, uint32_t pz, const struct datp_rge *remote,
			  uint32_t need);

#endif
