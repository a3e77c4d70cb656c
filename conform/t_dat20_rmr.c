/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts of DAT 2.0 that name an RMR: sends that invalidate one of the peer's, and RDMA Reads into one of this side's. No
 * provider needs to have them. OFED's library has no functions for them, and a program that names these would not start
 * there, so they are called through the provider's table.
 */
#define API_PLAIN
#include <string.h>

#include "kit.h"

#include <dat2/udat_redirection.h>

#define SIZE	4096
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG
#define RIGHTS	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))

/* a sends and reads; b binds the RMR, except for reads, whose RMR is a's. Both are in this process. */
static struct {
	struct kit_pair p;
	struct kit_buf here, there;
	DAT_RMR_HANDLE rmr;
} r;

static DAT_RETURN invalidate(DAT_RMR_CONTEXT context, size_t length, uint64_t cookie, DAT_BOOLEAN flag)
{
	DAT_LMR_TRIPLET message = kit_seg(&r.here, 0, length);

	return DAT_HANDLE_TO_PROVIDER(r.p.a.ep)->ep_post_send_with_invalidate_func(r.p.a.ep, 1, &message, kit_cookie(cookie),
										   DEFAULT, flag, context);
}

static DAT_RETURN read_into(DAT_RMR_CONTEXT context, size_t at, size_t length, uint64_t cookie)
{
	DAT_RMR_TRIPLET sink = kit_target(&r.here, at, length), from = kit_target(&r.there, 0, length);

	sink.rmr_context = context;
	return DAT_HANDLE_TO_PROVIDER(r.p.a.ep)->ep_post_rdma_read_to_rmr_func(r.p.a.ep, &sink, kit_cookie(cookie), &from,
									       DEFAULT);
}

static void end(struct kit_end *end)
{
	DAT_EP_ATTR attr = kit_attr();

	end->recv = end->request = kit_evd(64, (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG));
	MUST_RET(dat_ep_create(t.ia, t.pz, end->recv, end->request, end->connect, &attr, &end->ep), DAT_SUCCESS);
}

static void connect_pair(struct kit_pair *pair)
{
	kit_pair_unconnected(pair, NULL);
	end(&pair->a);
	end(&pair->b);
	kit_pair_connect(pair);
}

static void lay(void)
{
	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	connect_pair(&r.p);
	r.here = kit_buf(SIZE, KIT_REMOTE);
	r.there = kit_buf(SIZE, KIT_REMOTE);
	MUST_RET(dat_rmr_create(t.pz, &r.rmr), DAT_SUCCESS);
}

static DAT_RMR_CONTEXT bound(struct kit_end *over, const struct kit_buf *buf, size_t at, size_t length)
{
	DAT_LMR_TRIPLET segment = kit_seg(buf, at, length);
	DAT_RMR_COOKIE cookie = { .as_64 = 4 };
	DAT_RMR_CONTEXT context = 0;

	MUST_RET(dat_rmr_bind(r.rmr, buf->lmr, &segment, RIGHTS, DAT_VA_TYPE_VA, over->ep, cookie, DEFAULT, &context),
		 DAT_SUCCESS);
	MUST_NUM(kit_event(over->request).event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	return context;
}

static void lay_invalidation(void)
{
	lay();
	NEEDS(DAT_GET_TYPE(invalidate(0, 8, 1, DAT_TRUE)) != DAT_MODEL_NOT_SUPPORTED,
	      "dat_ep_post_send_with_invalidate: DAT_MODEL_NOT_SUPPORTED");
}

static DAT_RETURN write_through(struct kit_pair *pair, DAT_RMR_CONTEXT context, uint64_t cookie)
{
	DAT_LMR_TRIPLET from = kit_seg(&r.here, 1024, 16);
	DAT_RMR_TRIPLET to = kit_target(&r.there, 512, 16);

	to.rmr_context = context;
	return dat_ep_post_rdma_write(pair->a.ep, 1, &from, kit_cookie(cookie), &to, DEFAULT);
}

static void want_received(uint64_t cookie, DAT_DTOS operation, DAT_RMR_CONTEXT context)
{
	DAT_EVENT event = kit_event(r.p.b.recv);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	CHECK_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_THAT(dto->ep_handle == r.p.b.ep);
	CHECK_NUM(dto->user_cookie.as_64, cookie);
	CHECK_NUM(dto->status, DAT_DTO_SUCCESS);
	CHECK_NUM(dto->operation, operation);
	CHECK_NUM(dto->rmr_context, context);
}

CLAUSE("D20-50", "D20-51", "D20-52")
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;

	lay_invalidation();
	ABOUT("D20-50");
	context = bound(&r.p.b, &r.there, 512, 64);
	MUST_RET(kit_recv(r.p.b.ep, &r.there, 2048, 64, 7), DAT_SUCCESS);
	kit_fill(r.here.mem, 48, 1);
	MUST_RET(invalidate(context, 48, 8, DAT_TRUE), DAT_SUCCESS);
	want_received(7, DAT_DTO_RECEIVE_WITH_INVALIDATE, context);
	CHECK_THAT(kit_filled(r.there.mem + 2048, 48, 1));
	kit_dto(r.p.a.request, r.p.a.ep, 8, DAT_DTO_SUCCESS);
	CHECK_RET(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_NUM(param.rmr_context, 0);
	ABOUT("D20-52");
	context = bound(&r.p.b, &r.there, 512, 64);
	MUST_RET(kit_recv(r.p.b.ep, &r.there, 2048, 64, 9), DAT_SUCCESS);
	MUST_RET(invalidate(context, 48, 10, DAT_FALSE), DAT_SUCCESS);
	want_received(9, DAT_DTO_RECEIVE, 0);
	kit_dto(r.p.a.request, r.p.a.ep, 10, DAT_DTO_SUCCESS);
	MUST_RET(write_through(&r.p, context, 11), DAT_SUCCESS);
	kit_dto(r.p.a.request, r.p.a.ep, 11, DAT_DTO_SUCCESS);
	ABOUT("D20-51");
	MUST_RET(kit_recv(r.p.b.ep, &r.there, 2048, 64, 12), DAT_SUCCESS);
	MUST_RET(invalidate(context, 48, 13, DAT_TRUE), DAT_SUCCESS);
	memset(r.there.mem + 512, 0, 16);
	kit_fill(r.here.mem + 1024, 16, 3);
	MUST_RET(write_through(&r.p, context, 14), DAT_SUCCESS);
	kit_dto(r.p.a.request, r.p.a.ep, 13, DAT_DTO_SUCCESS);
	kit_dto(r.p.a.request, r.p.a.ep, 14, DAT_DTO_ERR_REMOTE_ACCESS);
	CHECK_THAT(!kit_filled(r.there.mem + 512, 16, 3));
}

/* The RMR was bound over another connection. */
CLAUSE("D20-53")
{
	DAT_RMR_CONTEXT context;
	struct kit_pair other;

	lay_invalidation();
	connect_pair(&other);
	context = bound(&other.b, &r.there, 512, 64);
	MUST_RET(kit_recv(r.p.b.ep, &r.there, 2048, 64, 20), DAT_SUCCESS);
	MUST_RET(invalidate(context, 48, 21, DAT_TRUE), DAT_SUCCESS);
	kit_dto(r.p.a.request, r.p.a.ep, 21, DAT_DTO_ERR_REMOTE_ACCESS);
	MUST_RET(write_through(&other, context, 22), DAT_SUCCESS);
	kit_dto(other.a.request, other.a.ep, 22, DAT_DTO_SUCCESS);
}

static void lay_read(void)
{
	lay();
	NEEDS(DAT_GET_TYPE(read_into(0, 0, 8, 1)) != DAT_MODEL_NOT_SUPPORTED,
	      "dat_ep_post_rdma_read_to_rmr: DAT_MODEL_NOT_SUPPORTED");
	kit_fill(r.there.mem, 100, 5);
	memset(r.here.mem, 0xa5, SIZE);
}

CLAUSE("D20-54")
{
	DAT_DTO_COMPLETION_EVENT_DATA done;
	DAT_RMR_CONTEXT context;

	lay_read();
	context = bound(&r.p.a, &r.here, 1000, 200);
	MUST_RET(read_into(context, 1100, 100, 30), DAT_SUCCESS);
	done = kit_dto(r.p.a.request, r.p.a.ep, 30, DAT_DTO_SUCCESS);
	CHECK_NUM(done.operation, DAT_DTO_RDMA_READ);
	CHECK_NUM(done.transfered_length, 100);
	CHECK_THAT(kit_filled(r.here.mem + 1100, 100, 5) && r.here.mem[1099] == 0xa5 && r.here.mem[1200] == 0xa5);
}

/* A provider that cannot tell when the read is posted completes it with an error. */
static void want_refused(DAT_RETURN ret, uint64_t cookie)
{
	if (ret == DAT_SUCCESS)
		kit_dto(r.p.a.request, r.p.a.ep, cookie, DAT_DTO_ERR_LOCAL_PROTECTION);
	for (size_t i = 0; i < SIZE; i++)
		MUST(r.here.mem[i] == 0xa5);
}

CLAUSE("D20-55")
{
	DAT_RMR_CONTEXT context;

	lay_read();
	context = bound(&r.p.a, &r.here, 1000, 200);
	want_refused(read_into(context, 1101, 100, 40), 40);
}

CLAUSE("D20-55")
{
	DAT_RMR_CONTEXT context;

	lay_read();
	context = bound(&r.p.a, &r.here, 1000, 200);
	(void)bound(&r.p.a, &r.here, 1000, 100);
	want_refused(read_into(context, 1100, 100, 41), 41);
}
