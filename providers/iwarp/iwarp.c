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
	.rejected_by_consumer = iw_rejected_by_consumer,
	.tune = iw_tune,
	.plug = iw_plug,
};
