/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the user if registered memory does not survive a fork on this kernel. Invariant: the message
 * is printed once in a process. The descriptors of adapters are in the list of <datp/fork.h>;
 * librdmacm's own context of each device is not, because a child that opens an adapter needs it, and
 * it keeps no connection.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "rdma_fork.h"

#if HAVE_DECL_IBV_IS_FORK_INITIALIZED
/*
 * Since Linux 5.12 a fork copies registered pages. Before that, the first of parent and child that
 * writes to such a page gets a new one: if that is the parent, the device continues to use the old
 * page, which the parent does not see any more. ibv_fork_init() prevents this, but is not called
 * here: it has to come before the first registration of the process, and a child cannot access
 * registered memory at all after it, so the user decides.
 */
void rdma_fork_check(const struct rdma_ia *ia)
{
	static _Atomic bool told;

	/* relaxed: it only decides which thread prints the message */
	if (ibv_is_fork_initialized() != IBV_FORK_DISABLED ||
	    atomic_exchange_explicit(&told, true, memory_order_relaxed))
		return;
	datp_log(2,
		 "%s: on this kernel, data that arrive after a fork may be lost: if this process "
		 "forks, set RDMAV_FORK_SAFE=1 in its environment, or use Linux 5.12 or later",
		 ia->base.name);
}
#else
void rdma_fork_check(const struct rdma_ia *ia)
{
	(void)ia;
}
#endif
