/* SPDX-License-Identifier: BSD-2-Clause */
/* The quirks of devices, by name. rdma_has() in rdma.h tells whether a device has one. */
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
	RDMA_QUIRKS /* how many there are */
};

static inline uint32_t rdma_quirk_bit(enum rdma_quirk quirk)
{
	return UINT32_C(1) << quirk;
}

/*
 * The value of quirk= in dat.conf: names with commas between them, each with a minus in front or
 * without. A later word overrides an earlier one. DATP_ERR_PARAM: a name is not known; why[size] has
 * a message with the nearest one.
 */
enum datp_err rdma_quirks_take(struct rdma_options *opt, const char *names, char *why, size_t size);
/*
 * Finds out which quirks the adapter has, once its device has been queried and its kind is known.
 * Returns false, after a message, if dat.conf asks for one that devices of this kind cannot have.
 */
bool rdma_quirks_find(struct rdma_ia *ia);
/*
 * Whether a quirk is on, or off because dat.conf says so: false is neither, which needs no mention. Writes which
 * of both, why, and what it is.
 */
bool rdma_quirk_show(const struct rdma_ia *ia, enum rdma_quirk quirk, char *text, size_t size);
/* The name of that attribute: "quirk." and the quirk's name. */
const char *rdma_quirk_shown(enum rdma_quirk quirk);
/* Bytes of the longest region, whatever the device says. */
uint64_t rdma_longest_region(const struct rdma_ia *ia);

#endif
