/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA Reads and Writes that the other side does not allow, because of rights, bounds or the protection zone. */
#include "kit.h"

#define DEFAULT	 DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG

#define NO_READ	 (DAT_MEM_PRIV_ALL_FLAG & ~DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define NO_WRITE (DAT_MEM_PRIV_ALL_FLAG & ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

enum op { READ, WRITE };

/* Posts the operation at side a: 64 bytes between its memory, which it fills, and `remote` of side b. */
static struct kit_buf post(const struct kit_pair *p, enum op op, const struct kit_buf *remote, size_t offset,
			   DAT_COMPLETION_FLAGS flags)
{
	struct kit_buf local = kit_buf_a(4096, KIT_REMOTE);
	DAT_LMR_TRIPLET seg = kit_seg(&local, 0, 64);
	DAT_RMR_TRIPLET target = kit_target(remote, offset, 64);

	kit_buf_fill(&local, 0, 4096, 1);
	MUST_RET(op == WRITE ? kit_write(p->a.ep, seg, target, 1, flags) : kit_read(p->a.ep, seg, target, 1, flags),
		 DAT_SUCCESS);
	return local;
}

/* The access completes with REMOTE_ACCESS, the connection breaks, no byte moves. */
static void remote_fault(enum op op, bool other_pz, DAT_MEM_PRIV_FLAGS priv, size_t offset, DAT_COMPLETION_FLAGS flags)
{
	struct kit_buf remote;
	struct kit_pair p;

	kit_pair(&p, NULL);
	remote = kit_buf_in(other_pz ? kit_pz_b() : kit_pz_of(t.b_remote), 4096, priv);
	if (!remote.rmr_context) /* no remote privilege at all: use an invalid key */
		remote.rmr_context = remote.context ? remote.context : 0x7fffff01;
	kit_buf_fill(&remote, 0, 4096, 2);
	post(&p, op, &remote, offset, flags);
	kit_remote_access(&p, 1, op == WRITE);
	CHECK_THAT(kit_buf_filled(&remote, 0, 4096, 2));
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_DISCONNECTED);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_DISCONNECTED);
}

/*
 * An attribute excuses a device only for what it does: a read that is not checked succeeds. If the device refuses it, as another
 * kernel's may, the attribute is out of date.
 */
static void unchecked_read(void)
{
	struct kit_buf local, remote;
	struct kit_pair p;
	DAT_EVENT event;

	kit_pair(&p, NULL);
	remote = kit_buf_in(kit_pz_of(t.b_remote), 4096, NO_READ);
	kit_buf_fill(&remote, 0, 4096, 2);
	local = post(&p, READ, &remote, 0, DEFAULT);
	event = kit_event(p.a.request);
	judge_outcome("the adapter declares that reads are not checked, and a read completes with %d",
		      (int)event.event_data.dto_completion_event_data.status);
	MUST_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
	MUST_NUM(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	MUST(kit_buf_filled(&local, 0, 64, 2));
}

CLAUSE_EACH("EP_RDMA_READ-09")
{
	if (!judge_reads_are_checked())
		unchecked_read();
	NEEDS_READ_RIGHT();
	remote_fault(READ, false, NO_READ, 0, DEFAULT);
}
CLAUSE_EACH("EP_RDMA_READ-10") { NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
			    remote_fault(READ, true, KIT_REMOTE, 0, DEFAULT); }
CLAUSE_EACH("EP_RDMA_READ-11") { remote_fault(READ, false, KIT_REMOTE, 4096 - 63, DEFAULT); }
CLAUSE_EACH("EP_RDMA_READ-18") { remote_fault(READ, false, KIT_REMOTE, 4096 - 63, SUPPRESS); }
CLAUSE_EACH("EP_RDMA_WRITE-09") { NEEDS_WRITE_RIGHT();
			     remote_fault(WRITE, false, NO_WRITE, 0, DEFAULT); }
CLAUSE_EACH("EP_RDMA_WRITE-10") { remote_fault(WRITE, false, KIT_REMOTE, 4096 - 63, DEFAULT); }
CLAUSE_EACH("EP_RDMA_WRITE-10") { remote_fault(WRITE, false, KIT_REMOTE, (size_t)-1, DEFAULT); }
CLAUSE_EACH("EP_RDMA_WRITE-10", "PZ_CREATE-05")
{
	NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	remote_fault(WRITE, true, KIT_REMOTE, 0, DEFAULT);
}
CLAUSE_EACH("LMR_CREATE-13") { NEEDS_WRITE_RIGHT();
			  remote_fault(WRITE, false, KIT_LOCAL, 0, DEFAULT); }
