/* SPDX-License-Identifier: BSD-2-Clause */
/* The quirks of devices, by name. rdma_has() in rdma.h returns whether a device has one. */
#ifndef RDMA_DEVICES_H
#define RDMA_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <datp/provider.h>

struct rdma_ia;
struct rdma_options;

/* rdma_devices.c has the name and the description of each. */
enum rdma_quirk {
	RDMA_DEAF_START,
	RDMA_EARLY_FATAL,
	RDMA_CROSSED_READS,
	RDMA_READS_UNCHECKED,
	RDMA_FENCE_READS,
	RDMA_ERRORS_ALIKE,
	RDMA_SIGPIPE,
	RDMA_WRITES_LINGER,
	RDMA_REGION_LIMIT,
	RDMA_QUEUE_KEY,
	RDMA_WRITE_SINKS,
	RDMA_NO_SOLICITED,
	RDMA_NO_LAST_WQE,
	RDMA_LOOSE_WINDOWS,
	RDMA_INLINE_MTU,
	RDMA_WRITES_UNFENCED,
	RDMA_READS_UNFENCED,
	RDMA_READS_UNSAID,
	RDMA_SHORT_FLUSHED,
	RDMA_CONNECT_BLOCKS,
	RDMA_QUIRKS /* their number */
};

static inline uint32_t rdma_quirk_bit(enum rdma_quirk quirk)
{
	return UINT32_C(1) << quirk;
}

/*
 * Takes the value of quirk= in dat.conf: names with commas between them; a minus before a name
 * switches that quirk off. A later word overrides an earlier one. Returns DATP_ERR_PARAM if a name
 * is not known; why[size] has a message with the nearest one.
 */
enum datp_err rdma_quirks_take(struct rdma_options *opt, const char *names, char *why, size_t size);
/*
 * Finds out which quirks the adapter has, once its device has been queried and its kind is known.
 * Returns false, after a message, if dat.conf asks for one that devices of this kind cannot have.
 */
bool rdma_quirks_find(struct rdma_ia *ia);
/*
 * Writes whether a quirk is on or off, why, and what it is. Returns false if there is nothing to tell: it is off, and
 * the device does not have it.
 */
bool rdma_quirk_show(const struct rdma_ia *ia, enum rdma_quirk quirk, char *text, size_t size);
/* Returns the name of the adapter's attribute for it: "quirk." and the quirk's name. */
const char *rdma_quirk_shown(enum rdma_quirk quirk);
/* Returns the bytes of the longest region that the device registers, or UINT64_MAX if no limit is known. */
uint64_t rdma_longest_region(const struct rdma_ia *ia);
/* Returns true if a post of a request ends in a write(), which is a cancellation point. */
bool rdma_bell_writes(const struct rdma_ia *ia);

#endif
