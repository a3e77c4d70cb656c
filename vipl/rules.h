/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of the VI Architecture that could not be confirmed, because its text is not available:
 * each is in one place, to be corrected here if it is wrong. vipl(7) lists them, by these names.
 */
#ifndef VIPL_RULES_H
#define VIPL_RULES_H

#include <stdbool.h>

#include "vipl.h"

/* UNCONNECTED SEND: a request on a VI that is not connected is flushed. */
#define RULE_UNCONNECTED_SEND	VIP_STATUS_DESC_FLUSHED_ERROR

/* RDMA READ: needs a reliable level. */
static inline bool rule_level_has_rdma_read(VIP_RELIABILITY_LEVEL level)
{
	return level != VIP_SERVICE_UNRELIABLE;
}

/* ERRORS: at a reliable level a descriptor that fails breaks the connection; else it does not. */
static inline bool rule_error_breaks(VIP_RELIABILITY_LEVEL level)
{
	return level != VIP_SERVICE_UNRELIABLE;
}

/* DESTROY: a VI has to be idle, and its queues empty; completed descriptors count, too. */
#define RULE_DESTROY_BUSY	VIP_ERROR_RESOURCE

/* WAITS ON A COMPLETION QUEUE: a program cannot wait on a queue that has a completion queue. */
#define RULE_WAIT_WITH_CQ	VIP_INVALID_PARAMETER

/* IDLE DISCONNECT: succeeds, and flushes the receives that are posted. */
#define RULE_IDLE_DISCONNECT	VIP_SUCCESS

/* ATTRIBUTES: the attributes of a VI can be changed only while it is idle. */
#define RULE_ATTRIBUTES_BUSY	VIP_INVALID_STATE

/*
 * RDMA RIGHTS: a VI that does not enable an RDMA operation refuses it to its peer. The peer's library refuses it, because uDAPL
 * has such rights for memory only; see SECURITY.md.
 */
#define RULE_RDMA_REFUSED	VIP_STATUS_RDMA_PROT_ERROR

/*
 * Three rules are not values, but the way in which a file works.
 *
 * DISCONNECT (attempt.c): VipDisconnect() completes all posted descriptors as flushed, and the VI
 * is idle when it returns; the peer's VI is then in the error state, and has to be disconnected
 * too.
 *
 * ORDER (queue.c): the descriptors of a queue come back in the order in which they were posted.
 *
 * LEAST SIZE (nic.c): the requirement that a NIC supports messages of at least 32 KiB is left to
 * the adapter.
 */

#endif
