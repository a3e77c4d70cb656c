/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The properties of iWARP: private data keep their length; there is no RNR retry; and the kernel
 * keeps an attempt until the peer has answered.
 */
#include "iwarp.h"
#include <rdma/siw-abi.h>
#include <unistd.h>

/* siw adds 4 bytes of its own to a length that it keeps in 8 bits, which overflows above 251. */
enum { PDATA_BYTES = 248 };

static bool iw_rejected_by_consumer(int status)
{
	/*
	 * The status is an errno that drivers choose differently (siw: ECONNRESET for the peer's
	 * rejection, ECONNREFUSED for a mismatch): so only the word that the consumer's side sends
	 * is reliable.
	 */
	return status != 0;
}

static void iw_tune(struct ibv_qp_attr *attr, int *mask)
{
	(void)attr, (void)mask; /* the device takes a queue pair through its states by itself */
}

/*
 * Returns the number of entries of a siw CQ that takes this many pages, of which the last holds
 * only its control word.
 */
static int entries_of(uint64_t pages, uint64_t page)
{
	return pages > 1 ? (int)((pages - 1) * page / sizeof(struct siw_cqe)) : 1;
}

/*
 * libsiw treats a queue with the key SIW_INVAL_UOBJ_KEY as missing. But a key is the offset at
 * which the queue is mapped, so a queue may get this key: page 144, with pages of 4 KiB. The kernel
 * gives a queue the first gap that is large enough; once the first gap begins there, no CQ, queue
 * pair or SRQ can be created until an earlier one is destroyed. So an unused CQ occupies that
 * offset, from the page before on. To get it there, other CQs fill the offsets before it and are
 * destroyed afterwards; this works because the device has just been opened and has no other queues.
 */
static struct ibv_cq *iw_reserve_key(struct rdma_ia *ia)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), before = SIW_INVAL_UOBJ_KEY / page - 1;
	struct ibv_cq *filler[16], *key_cq = NULL;
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
		key_cq = ibv_create_cq(ia->verbs, entries_of(2, page), NULL, NULL, 0);
	while (n)
		ibv_destroy_cq(filler[--n]);
	return key_cq;
}

const struct rdma_kind iw_kind = {
	.name = "iwarp",
	.transport = IBV_TRANSPORT_IWARP,
	.shown = "iWARP",
	.max_private_data = PDATA_BYTES,
	.attempts_linger = true,
	.reads_overtaken = true, /* a write is complete when it is sent, a read when it is answered */
	.impatient = true,
	.rejected_by_consumer = iw_rejected_by_consumer,
	.tune = iw_tune,
	.reserve_key = iw_reserve_key,
};
