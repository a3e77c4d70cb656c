/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The properties of devices: the only table of the quirks that no verbs call reports. What can be
 * found out by a trial is not in here. Invariant: all other files ask for a quirk by its name, and
 * never for a vendor.
 */
#include "rdma_devices.h"
#include "rdma.h"
#include <datp/options.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 32 };

/* ------------------------------------------------------------------ the quirks and their names */

#define SHOWN "quirk." /* the prefix of the name among the adapter's attributes */

struct quirk {
	const char *shown;
	bool iwarp_only; /* the workaround makes sense over TCP only */
	const char *what;
};

static const struct quirk quirks[RDMA_QUIRKS] = {
	[RDMA_DEAF_START] = { SHOWN "deaf_start", true,
			      "its passive side does not read its socket for an instant after the handshake" },
	[RDMA_EARLY_FATAL] = { SHOWN "early_fatal", true,
			       "its active side treats a message that arrives with the reply as an "
			       "error" },
	[RDMA_CROSSED_READS] = { SHOWN "crossed_reads", true,
				 "its reply to a connection request has the two numbers of RDMA "
				 "Reads exchanged" },
	[RDMA_READS_UNCHECKED] = { SHOWN "reads_unchecked", true,
				   "it executes RDMA Reads whatever rights the memory has" },
	[RDMA_FENCE_READS] = { SHOWN "fence_reads", true,
			       "its send queue hangs at an RDMA Read with a fence" },
	[RDMA_ERRORS_ALIKE] = { SHOWN "errors_alike", true,
				"every failed request has the same status, whatever the reason" },
	[RDMA_SIGPIPE] = { SHOWN "sigpipe", true,
			   "a post may raise SIGPIPE, and a post that returns -1 has been "
			   "accepted" },
	[RDMA_WRITES_LINGER] = { SHOWN "writes_linger", true,
				 "data may still arrive in a region that has just been deregistered" },
	[RDMA_REGION_LIMIT] = { SHOWN "region_limit", false,
				"a region may not be as long as the device reports" },
	[RDMA_QUEUE_KEY] = { SHOWN "queue_key", true,
			     "one key of a queue means that there is no queue" },
	[RDMA_WRITE_SINKS] = { SHOWN "write_sinks", true,
			       "memory that an RDMA Read goes to needs the right of remote write" },
	[RDMA_NO_SOLICITED] = { SHOWN "no_solicited", false,
				"it reports no message as solicited" },
	[RDMA_NO_LAST_WQE] = { SHOWN "no_last_wqe", false,
			       "it does not report when a queue pair in error has taken its last "
			       "shared receive" },
	[RDMA_LOOSE_WINDOWS] = { SHOWN "loose_windows", false,
				 "a memory window gives access to the whole region" },
	[RDMA_INLINE_MTU] = { SHOWN "inline_mtu", false,
			      "inline data may be no longer than the path's MTU" },
	[RDMA_WRITES_UNFENCED] = { SHOWN "writes_unfenced", true,
				   "an RDMA Write with a fence may overtake an earlier RDMA Read" },
	[RDMA_READS_UNFENCED] = { SHOWN "reads_unfenced", true,
				  "an RDMA Read with a fence may begin before an earlier RDMA Read is done" },
	[RDMA_READS_UNSAID] = { SHOWN "reads_unsaid", true,
				"a side does not learn how many RDMA Reads its peer allows" },
	[RDMA_SHORT_FLUSHED] = { SHOWN "short_flushed", true,
				 "a receive that is too short for its message may be flushed" },
	[RDMA_CONNECT_BLOCKS] = { SHOWN "connect_blocks", true,
				  "a call that connects may sleep until TCP is connected" },
};

const char *rdma_quirk_shown(enum rdma_quirk quirk)
{
	return quirks[quirk].shown;
}

static const char *name_of(enum rdma_quirk quirk)
{
	return quirks[quirk].shown + sizeof(SHOWN) - 1;
}

_Static_assert(RDMA_QUIRKS <= 32, "a set of them is a uint32_t");

/* ------------------------------------------------------------------ the devices and their quirks */

#define ONE(quirk) (UINT32_C(1) << RDMA_##quirk)

/*
 * siw (Linux 6.1) reports no limit, and counts the pages of a region in an int: for 2^44 bytes it
 * counts 0 pages of 4 KiB, and registers nothing. It keeps the pages in lists of 512, and the lists
 * in an array that the kernel's allocator has to provide in one piece, which is at most 1024 pages
 * long: more is refused, with a warning in the kernel's log. A region that begins within a page has
 * one page more.
 */
static uint64_t siw_region(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t listed = 1024 * page / sizeof(void *) * 512 - 1;

	return ((listed < INT32_MAX ? listed : INT32_MAX) - 1) * page;
}

/* Linux, drivers/infiniband/hw/cxgb4/mem.c, mr_exceeds_hw_limits(): a T5 refuses 8 GiB. */
static uint64_t t5_region(void)
{
	return (UINT64_C(8) << 30) - 1;
}

struct device {
	const char *name;
	enum ibv_transport_type transport;
	uint32_t vendor;	  /* as ibv_query_device() reports it; 0 means any */
	uint32_t part, part_mask; /* likewise, the bits in the mask */
	/* the quirks of the device, and those of more general lines that it does not have */
	uint32_t has, lacks;
	uint64_t (*longest_region)(void);
	bool bell_writes; /* the driver's post of a request ends in a write() */
};

/* All lines that match are used, the more general ones first. */
static const struct device devices[] = {
	{
		.name = "all of iWARP",
		.transport = IBV_TRANSPORT_IWARP,
		/*
		 * The answer to an RDMA Read is a write by the peer (RFC 5040, 5.2), and irdma,
		 * cxgb4 and erdma require that its sink has the right to remote writes. No iWARP
		 * driver is known to raise IBV_EVENT_QP_LAST_WQE_REACHED. A message that is too long
		 * for its receive ends the stream (RFC 5041, 7), and the hardware may have no
		 * completion with an error for that. rdma_connect() blocks over siw; a device that is
		 * not known is taken for one like that, which only costs a thread for each attempt.
		 */
		.has = ONE(WRITE_SINKS) | ONE(NO_LAST_WQE) | ONE(SHORT_FLUSHED) | ONE(CONNECT_BLOCKS),
	},
	{
		.name = "siw",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x626d74,
		/*
		 * all seen with Linux 6.1; 6.12 has them too, according to its source and the tests
		 */
		.has = ONE(DEAF_START) | /* rdma_timer.c */
		       ONE(EARLY_FATAL) | /* rdma_defer.c; hardware negotiates it by RFC 6581 */
		       ONE(CROSSED_READS) |
		       ONE(READS_UNCHECKED) | /* it checks bounds and key only */
		       ONE(FENCE_READS) |
		       ONE(ERRORS_ALIKE) |  /* most often for a TCP connection that has ended */
		       ONE(SIGPIPE) |	    /* its doorbell sends without MSG_NOSIGNAL */
		       ONE(WRITES_LINGER) | /* rdma_mr_settle() */
		       ONE(REGION_LIMIT) | ONE(QUEUE_KEY) | /* iw_reserve_key() */
		       ONE(NO_SOLICITED),
		.lacks = ONE(WRITE_SINKS) | ONE(SHORT_FLUSHED),
		.longest_region = siw_region,
		.bell_writes = true,
	},
	{
		.name = "Chelsio",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x1425,
		/*
		 * rdma-core, providers/cxgb4/qp.c, c4iw_post_send(): only a send has its fence told to
		 * the device (FW_RI_READ_FENCE_FLAG).
		 * Linux, drivers/infiniband/hw/cxgb4/cm.c, c4iw_connect(): the firmware connects.
		 */
		.has = ONE(WRITES_UNFENCED) | ONE(READS_UNFENCED),
		.lacks = ONE(CONNECT_BLOCKS),
	},
	{
		.name = "Chelsio T5",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x1425,
		.part = 0x5000, /* the PCI device: 0x54xx, and 0x64xx for a T6 */
		.part_mask = 0xf000,
		.has = ONE(REGION_LIMIT),
		.longest_region = t5_region,
	},
	{
		.name = "Intel",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x8086,
		/* Linux, drivers/infiniband/hw/irdma/cm.c, irdma_connect(): it sends the SYN, and returns */
		.lacks = ONE(CONNECT_BLOCKS),
	},
	{
		.name = "Marvell FastLinQ",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x1077,
		/* Linux, drivers/infiniband/hw/qedr/qedr_iw_cm.c, qedr_iw_connect(): the firmware connects */
		.lacks = ONE(CONNECT_BLOCKS),
	},
	{
		.name = "Alibaba erdma",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x1ded,
		/*
		 * Linux, drivers/infiniband/hw/erdma/erdma_cm.c, erdma_cm_upcall(): a request shows the
		 * maximum of the device, and a reply shows 0; erdma_connect(): its socket is O_NONBLOCK.
		 */
		.has = ONE(READS_UNSAID),
		.lacks = ONE(CONNECT_BLOCKS),
	},
	{
		.name = "HiSilicon hns",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x19e5,
		/* rdma-core, providers/hns/hns_roce_u_hw_v2.c, check_inl_data_len() */
		.has = ONE(INLINE_MTU),
	},
	{
		.name = "rxe",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0xffffff,
		/*
		 * It checks an access through a window against the whole region (Linux 6.1 and
		 * 6.12), and does not raise IBV_EVENT_QP_LAST_WQE_REACHED (6.1), though the
		 * InfiniBand specification has both. The event of 6.12 is not waited for either:
		 * rxe leaves what it has completed in the CQ when a queue pair is destroyed.
		 */
		.has = ONE(LOOSE_WINDOWS) | ONE(NO_LAST_WQE),
		.bell_writes = true,
	},
	{
		.name = "QLogic qib, Omni-Path",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x1175,
		/* rdma-core, providers/ipathverbs/verbs.c and providers/hfi1verbs/verbs.c: ibv_cmd_post_send() */
		.bell_writes = true,
	},
};

static bool fits(const struct device *device, const struct rdma_ia *ia)
{
	return device->transport == ia->kind->transport &&
	       (!device->vendor || device->vendor == ia->dev.vendor_id) &&
	       (ia->dev.vendor_part_id & device->part_mask) == device->part;
}

enum { DEVICES = sizeof(devices) / sizeof(*devices) };

/*
 * Returns the line that decides about a quirk: the last one that matches and names it; NULL if
 * there is none.
 */
static const struct device *source_of(const struct rdma_ia *ia, enum rdma_quirk quirk)
{
	const struct device *source = NULL;

	for (int i = 0; i < DEVICES; i++)
		if (fits(&devices[i], ia) &&
		    ((devices[i].has | devices[i].lacks) & rdma_quirk_bit(quirk)))
			source = &devices[i];
	return source;
}

bool rdma_bell_writes(const struct rdma_ia *ia)
{
	bool writes = false;

	for (int i = 0; i < DEVICES; i++)
		writes |= fits(&devices[i], ia) && devices[i].bell_writes;
	return writes;
}

bool rdma_quirks_find(struct rdma_ia *ia)
{
	bool good = true;

	ia->quirks = 0;
	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++) {
		const struct device *source = source_of(ia, i);
		uint32_t bit = rdma_quirk_bit(i);

		if (source && (source->has & bit))
			ia->quirks |= bit;
		if (!(ia->opt.quirks_on & bit) || !quirks[i].iwarp_only ||
		    ia->kind->transport == IBV_TRANSPORT_IWARP)
			continue;
		datp_log(
			1,
			"%s: dat.conf asks for quirk=%s, which is for iWARP devices only, and "
			"verbs device %s is %s",
			ia->base.name, name_of(i), ibv_get_device_name(ia->verbs->device),
			ia->kind->shown);
		good = false;
	}
	ia->quirks = (ia->quirks | ia->opt.quirks_on) & ~ia->opt.quirks_off;
	return good;
}

/*
 * If dat.conf has switched the quirk on, the limit that is known for one device is used for any
 * device, and the device's own if that is lower.
 */
uint64_t rdma_longest_region(const struct rdma_ia *ia)
{
	const struct device *source = source_of(ia, RDMA_REGION_LIMIT);
	uint64_t own = source && source->longest_region ? source->longest_region() : UINT64_MAX;
	bool asked = ia->opt.quirks_on & rdma_quirk_bit(RDMA_REGION_LIMIT);

	if (!rdma_has(ia, RDMA_REGION_LIMIT))
		return UINT64_MAX;
	return asked && t5_region() < own ? t5_region() : own;
}

bool rdma_quirk_show(const struct rdma_ia *ia, enum rdma_quirk quirk, char *text, size_t size)
{
	const struct device *source = source_of(ia, quirk);
	uint32_t bit = rdma_quirk_bit(quirk);
	bool asked = ((ia->opt.quirks_on | ia->opt.quirks_off) & bit) != 0;

	if (!rdma_has(ia, quirk) && !(source && (source->has & bit)))
		return false;
	snprintf(text, size, "%s, by %s: %s", rdma_has(ia, quirk) ? "on" : "off",
		 asked || !source ? "dat.conf" : source->name, quirks[quirk].what);
	return true;
}

/* ------------------------------------------------------------------ words of dat.conf */

static void say_unknown(const char *name, char *why, size_t size)
{
	const char *known[RDMA_QUIRKS + 1] = { NULL }, *nearest;

	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++)
		known[i] = name_of(i);
	nearest = datp_nearest(name, known);
	snprintf(why, size, "quirk=%s in dat.conf is not known; %s%s%sdat.conf(5) lists all", name,
		 nearest ? "did you mean " : "", nearest ? nearest : "", nearest ? "? " : "");
}

static enum datp_err take_name(struct rdma_options *opt, const char *name, char *why, size_t size)
{
	bool off = name[0] == '-';

	name += off;
	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++) {
		uint32_t bit = rdma_quirk_bit(i);

		if (strcmp(name, name_of(i)))
			continue;
		opt->quirks_on = off ? opt->quirks_on & ~bit : opt->quirks_on | bit;
		opt->quirks_off = off ? opt->quirks_off | bit : opt->quirks_off & ~bit;
		return DATP_OK;
	}
	say_unknown(name, why, size);
	return DATP_ERR_PARAM;
}

enum datp_err rdma_quirks_take(struct rdma_options *opt, const char *names, char *why, size_t size)
{
	enum datp_err err = DATP_OK;

	for (const char *end; !err; names = end + 1) {
		char name[NAME_MAX_BYTES];

		end = names + strcspn(names, ",");
		snprintf(name, sizeof(name), "%.*s", (int)(end - names), names);
		err = take_name(opt, name, why, size);
		if (!*end)
			break;
	}
	return err;
}
