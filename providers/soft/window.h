/* SPDX-License-Identifier: BSD-2-Clause */
/* What the RMRs of an IA are bound to, as their owner has posted it. */
#ifndef SOFT_WINDOW_H
#define SOFT_WINDOW_H

#include "mr.h"

enum datp_err soft_windows_init(struct soft_ia *ia);
void soft_windows_fini(struct soft_ia *ia);

/*
 * A bind of the RMR is going to be posted as `wqe`, and `range` is what it opens by this context:
 * from here on that counts, too. Length 0: an unbind. Fails if there is no memory. EP lock.
 */
enum datp_err soft_window_post(struct soft_rmr *rmr, const struct datp_wqe *wqe, uint32_t context,
			       const struct soft_range *range);
/*
 * The bind that was posted as `wqe` has been executed, and nobody who has a right to is any more at
 * what it replaces: that counts no longer, and the mover is not at it. EP lock.
 */
void soft_window_settle(struct soft_ia *ia, const struct datp_wqe *wqe);
/* The bind with this context has come to nothing. */
void soft_window_forget(struct soft_ia *ia, uint32_t context);
/* The RMR goes: nothing counts. Its index may not be given to another yet. */
void soft_window_close(struct soft_rmr *rmr);

/* What a context opens, by what no peer can write to. False: nothing. */
bool soft_window_get(struct soft_ia *ia, uint32_t context, struct soft_range *range);

#endif
