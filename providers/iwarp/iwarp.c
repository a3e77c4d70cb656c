/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is particular to iWARP: private data that keep their length; no way for a receiver to ask a sender
 * for patience; and a connect that may sleep in the kernel.
 */
#include "iwarp.h"
#include <rdma/siw-abi.h>
#include <unistd.h>

/* siw adds 4 bytes of its own to a length of 8 bits, and so goes wrong above 251. */
enum { PDATA_BYTES = 248 };

enum { SIW_VENDOR = 0x626d74 };

static bool iw_rejected_by_consumer(int status)
{
	/*
	 * The status is an errno that drivers choose differently (siw: ECONNRESET for the peer's
	 * rejection, ECONNREFUSED for a mismatch): the consumer's word alone tells.
	 */
	return status != 0;
}

static void iw_tune(struct ibv_qp_attr *attr, int *mask)
{
	(void)attr, (void)mask; /* the device takes a queue pair through its states by itself */
}

/* By whatever name: `rdma link add` gives a device any. */
static bool is_siw(const struct rdma_ia *ia)
{
	return ia->dev.vendor_id == SIW_VENDOR;
}

/*
 * The answer to an RDMA Read is a write by the peer, as the protocol has it, and some devices want the
 * sink of a read to have that right. siw does not.
 */
static bool sinks_want_write(const struct rdma_ia *ia)
{
	return ia->opt.read_sink && !is_siw(ia);
}

static int iw_access(const struct rdma_ia *ia, int access)
{
	if ((access & IBV_ACCESS_LOCAL_WRITE) && sinks_want_write(ia))
		access |= IBV_ACCESS_REMOTE_WRITE;
	return ia->windows ? access | IBV_ACCESS_MW_BIND : access;
}

/*
 * siw (Linux 6.1) says that it has no limit, and counts a region's pages in an int: 2^44 bytes have 0 of
 * 4 KiB, and it registers nothing for them. It keeps the pages in lists of 512, and those in an array that the
 * kernel's allocator has to give in one piece, which is 1024 pages long at most: more is refused, with a
 * warning in the kernel's log. A region that begins amid a page has one more.
 */
static uint64_t iw_longest_region(const struct rdma_ia *ia)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t listed = 1024 * page / sizeof(void *) * 512 - 1;

	if (!is_siw(ia))
		return UINT64_MAX;
	return ((listed < INT32_MAX ? listed : INT32_MAX) - 1) * page;
}

/* Entries of a CQ of siw on so many pages, of which the last holds its control word alone. */
static int entries_of(uint64_t pages, uint64_t page)
{
	return pages > 1 ? (int)((pages - 1) * page / sizeof(struct siw_cqe)) : 1;
}

/*
 * libsiw takes a queue with the key SIW_INVAL_UOBJ_KEY for none. But a key is the offset at which
 * the queue is mapped, and so it may be this one: page 144, where pages have 4 KiB. The kernel gives
 * a queue the first gap that is large enough; once that begins there no CQ, queue pair or SRQ can be
 * made any more, until one before it goes. So a CQ that nobody uses lies across, from the page
 * before on. It gets its place by others in front of it that go again: the device has just been
 * opened, and all is gap.
 */
static struct ibv_cq *iw_plug(struct rdma_ia *ia)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = SIW_INVAL_UOBJ_KEY / page - 1;
	struct ibv_cq *filler[16], *plug = NULL;
	int n = 0;

	if (!is_siw(ia))
		return NULL;
	for (; before && n < 16; n++) {
		uint64_t pages = 1;

		/* entries come in powers of two */
		for (uint64_t next = 2; next <= before; next = next * 2 - 1)
			pages = next;
		filler[n] = ibv_create_cq(ia->verbs, entries_of(pages, page), NULL, NULL, 0);
		if (!filler[n])
			break;
		before -= pages;
	}
	if (!before)
		plug = ibv_create_cq(ia->verbs, entries_of(2, page), NULL, NULL, 0);
	while (n)
		ibv_destroy_cq(filler[--n]);
	return plug;
}

const struct rdma_kind iw_kind = {
	.name = "iwarp",
	.transport = IBV_TRANSPORT_IWARP,
	.shown = "iWARP",
	.max_private_data = PDATA_BYTES,
	.connect_blocks = true,
	.reads_overtaken = true, /* a write is complete when it is sent, a read when it is answered */
	.impatient = true,
	.solicited_unknown = true, /* siw 6.1 tells of no receive as a solicited one */
	.rejected_by_consumer = iw_rejected_by_consumer,
	.tune = iw_tune,
	.access = iw_access,
	.greets = is_siw,
	.holds = is_siw, /* other devices settle by RFC 6581 which side sends first */
	.crossed = is_siw, /* siw 6.1 */
	.fails_alike = is_siw, /* siw 6.1: a TCP connection that is gone, most of all */
	.pipes = is_siw, /* siw 6.1: its doorbell sends without MSG_NOSIGNAL */
	.writes_linger = is_siw, /* siw 6.1: it looks first, and does not wait */
	.plug = iw_plug,
	.longest_region = iw_longest_region,
	.reads_unchecked = is_siw, /* siw 6.1: bounds and key only */
	.reads_unfenced = is_siw, /* siw 6.1: nothing of the queue goes on after one */
};
