/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of DAT 2.0 by which programs choose, and the InfiniBand extensions that the
 * attributes promise: RDMA Writes with immediate data, compare-and-swap, fetch-and-add.
 */
#define API_PLAIN
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#include <dat2/dat_ib_extensions.h>

#define SIZE	4096
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

/* Attributes. */

CLAUSE("D20-30")
{
	static const char *const names[] = {
		"DAT_IB_PROVIDER_NAME", "DAT_IB_DEVICE_NAME", "DAT_IB_CONNECTIVITY_MODE", "DAT_IB_RDMA_READ",
		"DAT_IB_NODE_GUID", "DAT_IB_GID", "DAT_IB_TRANSPORT_MTU", "DAT_IB_PORT_STATUS", "DAT_IB_PORT_NUMBER",
		"DAT_EXTENSION_INTERFACE", DAT_IB_ATTR_FETCH_AND_ADD, DAT_IB_ATTR_CMP_AND_SWAP, DAT_IB_ATTR_IMMED_DATA,
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!judge_named(&t.prov, names[i]))
			CHECK_FAIL("the named attributes", names[i], "no attribute of this name, or NULL");
	CHECK_NUM(t.prov.num_provider_specific_attr >= (DAT_COUNT)(sizeof(names) / sizeof(names[0])), true);
	for (DAT_COUNT i = 0; i < t.prov.num_provider_specific_attr; i++)
		CHECK_THAT(t.prov.provider_specific_attr[i].name && t.prov.provider_specific_attr[i].value);
}

CLAUSE("D20-31")
{
	const char *mtu = judge_named(&t.prov, "DAT_IB_TRANSPORT_MTU");
	char *end = NULL;
	long bytes;

	MUST(mtu != NULL);
	bytes = strtol(mtu, &end, 10);
	CHECK_THAT(end != mtu && !*end && bytes >= 256);
	CHECK_THAT(judge_promises("DAT_IB_RDMA_READ"));
}

CLAUSE("D20-32")
{
	bool any = judge_promises(DAT_IB_ATTR_IMMED_DATA) || judge_promises(DAT_IB_ATTR_FETCH_AND_ADD) ||
		   judge_promises(DAT_IB_ATTR_CMP_AND_SWAP);

	CHECK_NUM(t.attr.extension_supported, any ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE);
	CHECK_NUM(t.attr.extension_version, DAT_IB_EXTENSION_VERSION);
}

CLAUSE("D20-33")
{
	struct kit_end end;

	kit_end(&end, NULL);
	CHECK_NUM(DAT_GET_TYPE(dat_extension_op(end.ep, 0x7ff)), DAT_GET_TYPE(DAT_NOT_IMPLEMENTED));
	CHECK_NUM(DAT_GET_TYPE(dat_extension_op(t.ia, DAT_IB_COLLECTIVE_SET_CLOCK_OP)), DAT_GET_TYPE(DAT_NOT_IMPLEMENTED));
}

CLAUSE_BARE("D20-34")
{
	DAT_HANDLE query = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	memset(&prov, 0, sizeof(prov));
	MUST_RET(dat_ib_open_query(t.ia_name, &query, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov), DAT_SUCCESS);
	CHECK_THAT(query != DAT_HANDLE_NULL);
	CHECK_THAT(attr.max_eps > 0 && attr.max_message_size > 0);
	CHECK_THAT(judge_named(&prov, "DAT_IB_PROVIDER_NAME") != NULL);
	CHECK_RET(dat_ib_close_query(query), DAT_SUCCESS);
}

/* Transfers of the extensions. Side b has the memory, and the receives that they take. */

static struct {
	struct kit_pair p;
	struct kit_buf here, there;
} x;

static struct kit_buf atomic_buf(void)
{
	return kit_buf(SIZE, (DAT_MEM_PRIV_FLAGS)((int)KIT_REMOTE | DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
}

/* Makes one end anew, with an EVD for all that its endpoint completes, events of the extensions as well. */
static void extend(struct kit_end *end)
{
	int flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_IB_EVD_EXTENSION_FLAG;
	DAT_EP_ATTR attr = kit_attr();

	end->recv = end->request = kit_evd(64, (DAT_EVD_FLAGS)flags);
	MUST_RET(dat_ep_create(t.ia, t.pz, end->recv, end->request, end->connect, &attr, &end->ep), DAT_SUCCESS);
}

static void lay_extended(const char *attribute)
{
	NEEDS(judge_promises(attribute), attribute);
	kit_pair_unconnected(&x.p, NULL);
	extend(&x.p.a);
	extend(&x.p.b);
	kit_pair_connect(&x.p);
	x.here = atomic_buf();
	x.there = atomic_buf();
}

/* Checks the next event of one end, which has to be of the extension; returns what the extension says. */
static DAT_IB_EXTENSION_EVENT_DATA want_extended(struct kit_end *end, uint64_t cookie, DAT_IB_EXT_TYPE type, int operation,
						 size_t length)
{
	DAT_EVENT event = kit_event(end->request);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	DAT_IB_EXTENSION_EVENT_DATA data;

	MUST_NUM(event.event_number, DAT_IB_DTO_EVENT);
	memcpy(&data, event.event_extension_data, sizeof(data));
	CHECK_THAT(dto->ep_handle == end->ep);
	CHECK_NUM(dto->user_cookie.as_64, cookie);
	CHECK_NUM(dto->status, DAT_DTO_SUCCESS);
	CHECK_NUM(dto->transfered_length, length);
	CHECK_NUM(dto->operation, operation);
	CHECK_NUM(data.type, type);
	CHECK_NUM(data.status, DAT_OP_SUCCESS);
	return data;
}

CLAUSE("D20-40", "D20-41")
{
	DAT_LMR_TRIPLET from;
	DAT_RMR_TRIPLET to;

	lay_extended(DAT_IB_ATTR_IMMED_DATA);
	ABOUT("D20-40");
	from = kit_seg(&x.here, 0, 1000);
	to = kit_target(&x.there, 0, 1000);
	kit_fill(x.here.mem, 1000, 1);
	MUST_RET(kit_recv(x.p.b.ep, &x.there, 2048, 64, 7), DAT_SUCCESS);
	MUST_RET(dat_ib_post_rdma_write_immed(x.p.a.ep, 1, &from, kit_cookie(8), &to, 0x12345678, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(want_extended(&x.p.b, 7, DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_IB_DTO_RECV_IMMED, 1000).val.immed.data, 0x12345678);
	CHECK_THAT(kit_filled(x.there.mem, 1000, 1));
	want_extended(&x.p.a, 8, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, 1000);
	/* without data, the immediate data come all the same */
	MUST_RET(kit_recv(x.p.b.ep, &x.there, 2048, 64, 9), DAT_SUCCESS);
	MUST_RET(dat_ib_post_rdma_write_immed(x.p.a.ep, 0, NULL, kit_cookie(10), &to, 0xfedcba98, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(want_extended(&x.p.b, 9, DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_IB_DTO_RECV_IMMED, 0).val.immed.data, 0xfedcba98);
	want_extended(&x.p.a, 10, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, 0);
	ABOUT("D20-41");
	MUST_RET(kit_recv(x.p.b.ep, &x.there, 2048, 64, 11), DAT_SUCCESS);
	MUST_RET(dat_ib_post_rdma_write_immed(x.p.a.ep, 1, &from, kit_cookie(12), &to, 5, DAT_COMPLETION_SUPPRESS_FLAG),
		 DAT_SUCCESS);
	want_extended(&x.p.b, 11, DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_IB_DTO_RECV_IMMED, 1000);
	kit_quiet(x.p.a.request);
	/* an ordinary message after it is an ordinary event */
	MUST_RET(kit_recv(x.p.b.ep, &x.there, 2048, 64, 13), DAT_SUCCESS);
	MUST_RET(kit_send(x.p.a.ep, &x.here, 0, 64, 14, DEFAULT), DAT_SUCCESS);
	kit_dto(x.p.b.recv, x.p.b.ep, 13, DAT_DTO_SUCCESS);
	kit_dto(x.p.a.request, x.p.a.ep, 14, DAT_DTO_SUCCESS);
}

CLAUSE("D20-46")
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = kit_attr();
	DAT_LMR_TRIPLET from, into;
	DAT_RMR_TRIPLET to;
	DAT_SRQ_HANDLE srq;

	NEEDS(t.prov.srq_supported, "srq_supported");
	NEEDS(judge_promises(DAT_IB_ATTR_IMMED_DATA), DAT_IB_ATTR_IMMED_DATA);
	kit_pair_unconnected(&x.p, NULL);
	extend(&x.p.a);
	extend(&x.p.b);
	MUST_RET(dat_srq_create(t.ia, t.pz, &srq_attr, &srq), DAT_SUCCESS);
	MUST_RET(dat_ep_create_with_srq(t.ia, t.pz, x.p.b.recv, x.p.b.request, x.p.b.connect, srq, &attr, &x.p.b.ep),
		 DAT_SUCCESS);
	x.here = atomic_buf();
	x.there = atomic_buf();
	into = kit_seg(&x.there, 2048, 64);
	MUST_RET(dat_srq_post_recv(srq, 1, &into, kit_cookie(50)), DAT_SUCCESS);
	kit_pair_connect(&x.p);
	from = kit_seg(&x.here, 0, 100);
	to = kit_target(&x.there, 0, 100);
	MUST_RET(dat_ib_post_rdma_write_immed(x.p.a.ep, 1, &from, kit_cookie(51), &to, 0x12345678, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(want_extended(&x.p.b, 50, DAT_IB_RDMA_WRITE_IMMED_DATA, DAT_IB_DTO_RECV_IMMED, 100).val.immed.data, 0x12345678);
	want_extended(&x.p.a, 51, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, 100);
}

static uint64_t word_at(const struct kit_buf *buf, size_t offset)
{
	uint64_t word;

	memcpy(&word, buf->mem + offset, sizeof(word));
	return word;
}

static void word_set(const struct kit_buf *buf, size_t offset, uint64_t word)
{
	memcpy(buf->mem + offset, &word, sizeof(word));
}

/* Returns the value that the word had before. */
static uint64_t swap(uint64_t compared, uint64_t swapped, uint64_t cookie)
{
	DAT_LMR_TRIPLET old = kit_seg(&x.here, 64, 8);
	DAT_RMR_TRIPLET word = kit_target(&x.there, 512, 8);

	MUST_RET(dat_ib_post_cmp_and_swap(x.p.a.ep, compared, swapped, &old, kit_cookie(cookie), &word, DEFAULT), DAT_SUCCESS);
	want_extended(&x.p.a, cookie, DAT_IB_CMP_AND_SWAP, DAT_IB_DTO_CMP_SWAP, 8);
	return word_at(&x.here, 64);
}

CLAUSE("D20-42")
{
	lay_extended(DAT_IB_ATTR_CMP_AND_SWAP);
	word_set(&x.there, 512, UINT64_C(0x1122334455667788));
	CHECK_THAT(swap(1, 2, 20) == UINT64_C(0x1122334455667788));
	CHECK_THAT(word_at(&x.there, 512) == UINT64_C(0x1122334455667788));
	CHECK_THAT(swap(UINT64_C(0x1122334455667788), 77, 21) == UINT64_C(0x1122334455667788));
	CHECK_NUM(word_at(&x.there, 512), 77);
	kit_empty(x.p.b.recv);
}

CLAUSE("D20-43")
{
	DAT_LMR_TRIPLET old;
	DAT_RMR_TRIPLET word;

	lay_extended(DAT_IB_ATTR_FETCH_AND_ADD);
	old = kit_seg(&x.here, 64, 8);
	word = kit_target(&x.there, 512, 8);
	word_set(&x.there, 512, UINT64_C(0xffffffff));
	for (uint64_t i = 0; i < 3; i++) {
		MUST_RET(dat_ib_post_fetch_and_add(x.p.a.ep, 3, &old, kit_cookie(30 + i), &word, DEFAULT), DAT_SUCCESS);
		want_extended(&x.p.a, 30 + i, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, 8);
		CHECK_THAT(word_at(&x.here, 64) == UINT64_C(0xffffffff) + 3 * i);
	}
	CHECK_THAT(word_at(&x.there, 512) == UINT64_C(0xffffffff) + 9);
	kit_empty(x.p.b.recv);
}

/* A region without the right to atomic operations. */
CLAUSE("D20-44")
{
	struct kit_buf without;
	DAT_LMR_TRIPLET old;
	DAT_RMR_TRIPLET word;
	DAT_EVENT event;

	lay_extended(DAT_IB_ATTR_FETCH_AND_ADD);
	without = kit_buf(SIZE, KIT_REMOTE);
	old = kit_seg(&x.here, 64, 8);
	word = kit_target(&without, 512, 8);
	word_set(&without, 512, 5);
	MUST_RET(dat_ib_post_fetch_and_add(x.p.a.ep, 1, &old, kit_cookie(40), &word, DEFAULT), DAT_SUCCESS);
	event = kit_event(x.p.a.request);
	CHECK_THAT(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	CHECK_NUM(word_at(&without, 512), 5);
}

/* An extension that the attributes do not promise is refused at once. */
CLAUSE("D20-45")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_REMOTE);
	DAT_LMR_TRIPLET segment = kit_seg(&buf, 64, 8);
	DAT_RMR_TRIPLET target = kit_target(&buf, 512, 8);
	struct kit_pair p;

	NEEDS(t.attr.extension_supported == DAT_EXTENSION_NONE, "extension_supported");
	kit_pair(&p, NULL);
	CHECK_NUM(DAT_GET_TYPE(dat_ib_post_fetch_and_add(p.a.ep, 1, &segment, kit_cookie(1), &target, DEFAULT)),
		  DAT_GET_TYPE(DAT_NOT_IMPLEMENTED));
	CHECK_NUM(DAT_GET_TYPE(dat_ib_post_rdma_write_immed(p.a.ep, 1, &segment, kit_cookie(1), &target, 5, DEFAULT)),
		  DAT_GET_TYPE(DAT_NOT_IMPLEMENTED));
	kit_exchange(&p.a, &p.b);
}
