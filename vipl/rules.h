/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules that no text at hand confirms: what the VI Architecture is believed to ask for, each in
 * one place, to be changed here if it turns out otherwise. vipl(7) lists them, by these names.
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

/* DESTROY: a VI has to be idle, and its queues empty, of completed descriptors too. */
#define RULE_DESTROY_BUSY	VIP_ERROR_RESOURCE

/* WAITS ON A COMPLETION QUEUE: a queue that has one is waited for there, and nowhere else. */
#define RULE_WAIT_WITH_CQ	VIP_INVALID_PARAMETER

/* IDLE DISCONNECT: succeeds, and flushes the receives that are posted. */
#define RULE_IDLE_DISCONNECT	VIP_SUCCESS

/* ATTRIBUTES: those of a VI change while it is idle only. */
#define RULE_ATTRIBUTES_BUSY	VIP_INVALID_STATE

/* RDMA RIGHTS: a VI that does not enable an RDMA operation refuses it to its peer. */
#define RULE_RDMA_REFUSED	VIP_STATUS_RDMA_PROT_ERROR

/*
 * Three that are no value but the way a file works.
 *
 * DISCONNECT (attempt.c): VipDisconnect() completes what is posted as flushed, and the VI is idle
 * when it returns; the peer's VI is in the error state then, and has to be disconnected too.
 *
 * ORDER (queue.c): the descriptors of a queue come back in the order in which they were posted.
 *
 * LEAST SIZE (nic.c): that a NIC takes messages of 32 KiB at least is left to the adapter.
 */

#endif
