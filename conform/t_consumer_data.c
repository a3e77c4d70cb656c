/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs depend on beyond the specification's text: endpoints' attributes, transfers, regions, limits. */
#include <string.h>

#include "kit.h"

#define DEFAULT	 DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG

/* Creates a pair with these attributes; NULL is passed on, and not replaced by the kit's own. */
static void pair_of(struct kit_pair *p, const DAT_EP_ATTR *attr)
{
	struct kit_end *ends[] = { &p->a, &p->b };

	for (int i = 0; i < 2; i++) {
		ends[i]->recv = kit_evd(64, DAT_EVD_DTO_FLAG);
		ends[i]->request = kit_evd(64, DAT_EVD_DTO_FLAG);
		ends[i]->connect = kit_evd(8, DAT_EVD_CONNECTION_FLAG);
		MUST_RET(dat_ep_create(t.ia, t.pz, ends[i]->recv, ends[i]->request,
				       ends[i]->connect, attr, &ends[i]->ep),
			 DAT_SUCCESS);
	}
	p->cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	p->psp = kit_psp(p->cr_evd, &p->qual);
	kit_pair_connect(p);
}

static size_t least(size_t a, DAT_VLEN b)
{
	return a < b ? a : (size_t)b;
}

CLAUSE("CONSUMER-41")
{
	size_t size = least(65536, t.attr.max_rdma_size);
	struct kit_buf local = kit_buf(65536, KIT_REMOTE), remote = kit_buf(65536, KIT_REMOTE);
	DAT_EP_ATTR attr;
	struct kit_pair p;

	memset(&attr, 0, sizeof(attr));
	attr.max_recv_dtos = attr.max_request_dtos = 8;
	pair_of(&p, &attr);
	MUST_RET(kit_recv(p.b.ep, &remote, 0, 24, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &local, 0, 24, 2, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS).transfered_length, 24);
	kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	kit_fill(local.mem, size, 3);
	MUST_RET(kit_write(p.a.ep, kit_seg(&local, 0, size), kit_target(&remote, 0, size), 3, DEFAULT),
		 DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 3, DAT_DTO_SUCCESS);
	memset(local.mem, 0, size);
	MUST_RET(kit_read(p.a.ep, kit_seg(&local, 0, size), kit_target(&remote, 0, size), 4, DEFAULT),
		 DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 4, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(local.mem, size, 3));
}

CLAUSE("CONSUMER-42")
{
	enum { DEEP = 40 };
	size_t size = least(1 << 20, t.attr.max_message_size);
	struct kit_buf from = kit_buf(size, KIT_LOCAL), to = kit_buf(size, KIT_LOCAL);
	struct kit_pair p;

	pair_of(&p, NULL);
	kit_fill(from.mem, size, 4);
	for (uint64_t n = 0; n < DEEP; n++)
		MUST_RET(kit_recv(p.b.ep, &to, 0, size, n), DAT_SUCCESS);
	for (uint64_t n = 0; n < DEEP; n++)
		MUST_RET(kit_send(p.a.ep, &from, 0, n % 20 ? 64 : size, n, DEFAULT), DAT_SUCCESS);
	for (uint64_t n = 0; n < DEEP; n++) {
		CHECK_NUM(kit_dto(p.b.recv, p.b.ep, n, DAT_DTO_SUCCESS).transfered_length,
			  n % 20 ? 64 : size);
		kit_dto(p.a.request, p.a.ep, n, DAT_DTO_SUCCESS);
	}
	CHECK_THAT(kit_filled(to.mem, size, 4));
}

CLAUSE("CONSUMER-43")
{
	struct kit_buf buf = kit_buf(8192, KIT_REMOTE);
	DAT_EP_ATTR attr = kit_attr();
	struct kit_waiter w;
	struct kit_pair p;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	pair_of(&p, &attr);
	kit_wait_start(&w, p.a.request, 1);
	MUST_RET(kit_write(p.a.ep, kit_seg(&buf, 0, 64), kit_target(&buf, 4096, 64), 3, DEFAULT),
		 DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
}

/*
 * Fills the queue twice. Only the last request has a completion, which frees the entries of all
 * requests before it.
 */
CLAUSE("CONSUMER-44")
{
	enum { MANY = 49996 };
	struct kit_buf buf = kit_buf(8192, KIT_REMOTE);
	DAT_EP_ATTR attr = kit_attr();
	DAT_EP_HANDLE ep;
	struct kit_pair p;

	NEEDS(t.attr.max_dto_per_ep >= MANY + 1, "max_dto_per_ep");
	attr.max_request_dtos = MANY + 1;
	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_ep_create(t.ia, t.pz, p.a.recv, p.a.request, p.a.connect, &attr, &ep),
		 DAT_SUCCESS);
	p.a.ep = ep;
	kit_pair_connect(&p);
	for (int round = 0; round < 2; round++) {
		for (int n = 0; n < MANY; n++)
			if (kit_write(ep, kit_seg(&buf, 0, 8), kit_target(&buf, 4096, 8), 1,
				      SUPPRESS) != DAT_SUCCESS)
				MUST_NOT_COME_HERE("a suppressed post", "DAT_SUCCESS",
						   "a refusal of number %d", n);
		MUST_RET(kit_write(ep, kit_seg(&buf, 0, 8), kit_target(&buf, 4096, 8), 2, DEFAULT),
			 DAT_SUCCESS);
		kit_dto(p.a.request, ep, 2, DAT_DTO_SUCCESS);
		kit_empty(p.a.request);
	}
}

CLAUSE("CONSUMER-45")
{
	struct kit_pair p;

	kit_pair(&p, NULL);
	MUST_RET(dat_ep_post_recv(p.b.ep, 0, NULL, kit_cookie(1), DEFAULT), DAT_SUCCESS);
	MUST_RET(dat_ep_post_send(p.a.ep, 0, NULL, kit_cookie(2), DEFAULT), DAT_SUCCESS);
	CHECK_NUM(kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS).transfered_length, 0);
	kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
}

CLAUSE("CONSUMER-46")
{
	struct kit_buf from = kit_buf(4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
		       to = kit_buf(4096, KIT_LOCAL);
	struct kit_pair p;

	kit_pair(&p, NULL);
	kit_fill(from.mem, 100, 3);
	MUST_RET(kit_recv(p.b.ep, &to, 0, 100, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &from, 0, 100, 2, DEFAULT), DAT_SUCCESS);
	kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_filled(to.mem, 100, 3));
}

static DAT_RETURN create_region(void *mem, DAT_VLEN size, struct kit_buf *made)
{
	DAT_REGION_DESCRIPTION region = { .for_va = mem };
	DAT_VADDR address;
	DAT_VLEN registered;

	return dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, size, t.pz, KIT_REMOTE,
			      &made->lmr, &made->context, &made->rmr_context, &registered,
			      &address);
}

CLAUSE("CONSUMER-47")
{
	static char mem[64];
	struct kit_buf made;

	CHECK_RET(create_region(mem, 0, &made), DAT_LENGTH_ERROR);
	CHECK_RET(create_region(NULL, 0, &made), DAT_LENGTH_ERROR);
}

CLAUSE("CONSUMER-48")
{
	struct kit_buf all = kit_buf(8192, KIT_REMOTE), one, two;
	struct kit_pair p;

	kit_pair(&p, NULL);
	for (size_t i = 0; i < 20; i++) {
		one = kit_region(t.pz, all.mem + i, 100 + i, KIT_REMOTE);
		two = kit_region(t.pz, all.mem + i, 100 + i, KIT_REMOTE);
		CHECK_THAT(one.context && two.context && one.rmr_context && two.rmr_context);
		CHECK_THAT(one.context != two.context);
		/* The remaining region still covers the memory of the freed one. */
		CHECK_RET(dat_lmr_free(i % 2 ? one.lmr : two.lmr), DAT_SUCCESS);
		if (i % 2)
			one = two;
		kit_fill(one.mem, 100 + i, (unsigned int)i);
		MUST_RET(kit_write(p.a.ep, kit_seg(&one, 0, 100 + i),
				   kit_target(&all, 4096, 100 + i), i, DEFAULT),
			 DAT_SUCCESS);
		kit_dto(p.a.request, p.a.ep, i, DAT_DTO_SUCCESS);
		CHECK_SOON(kit_filled(all.mem + 4096, 100 + i, (unsigned int)i));
	}
}

CLAUSE("CONSUMER-49")
{
	struct kit_buf one = kit_buf(4096, KIT_REMOTE), two = kit_buf(4096, KIT_REMOTE);
	struct kit_pair p;

	kit_pair(&p, NULL);
	MUST_RET(kit_recv(p.b.ep, &one, 0, 100, 1), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(one.lmr), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(two.lmr), DAT_SUCCESS);
	CHECK_NUM(kit_state(p.b.ep), DAT_EP_STATE_CONNECTED);
}

/* Posts until the queue is full, reaps one completion, and posts again, as benchmarks do. */
CLAUSE("CONSUMER-50")
{
	enum { DEPTH = 16, ALL = 200 };
	struct kit_buf buf = kit_buf(16384, KIT_REMOTE);
	DAT_EP_ATTR attr = kit_attr();
	int posted = 0, reaped = 0, refused = 0;
	struct kit_pair p;

	NEEDS(t.attr.max_dto_per_ep >= DEPTH, "max_dto_per_ep");
	attr.max_request_dtos = DEPTH;
	pair_of(&p, &attr);
	while (reaped < ALL) {
		DAT_RETURN ret = DAT_SUCCESS;

		while (posted < ALL && ret == DAT_SUCCESS) {
			ret = kit_write(p.a.ep, kit_seg(&buf, 0, 4096),
					kit_target(&buf, 8192, 4096), (uint64_t)posted, DEFAULT);
			posted += ret == DAT_SUCCESS;
		}
		if (ret != DAT_SUCCESS) {
			MUST_RET(ret, DAT_INSUFFICIENT_RESOURCES);
			CHECK_NUM(posted - reaped, DEPTH);
			refused++;
		}
		kit_dto(p.a.request, p.a.ep, (uint64_t)reaped++, DAT_DTO_SUCCESS);
	}
	CHECK_THAT(refused > 0);
}

/* Checks that the call succeeds or is refused with DAT_INSUFFICIENT_RESOURCES. */
static void want_clean(DAT_RETURN ret)
{
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

CLAUSE("CONSUMER-51")
{
	enum { ZONES = 5000, QUEUES = 1000, ENDS = 200, REGIONS = 5000 };
	DAT_EVD_HANDLE evd, dto = kit_evd(64, DAT_EVD_DTO_FLAG);
	struct kit_buf buf = kit_buf(4096, KIT_LOCAL), made;
	DAT_EP_ATTR attr = kit_attr();
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	for (int i = 0; i < ENDS && ret == DAT_SUCCESS; i++)
		ret = dat_ep_create(t.ia, t.pz, dto, dto, DAT_HANDLE_NULL, &attr, &ep);
	want_clean(ret);
	ret = DAT_SUCCESS;
	for (int i = 0; i < REGIONS && ret == DAT_SUCCESS; i++)
		ret = create_region(buf.mem, 64, &made);
	want_clean(ret);
	ret = DAT_SUCCESS;
	for (int i = 0; i < ZONES && ret == DAT_SUCCESS; i++)
		ret = dat_pz_create(t.ia, &pz);
	want_clean(ret);
	ret = DAT_SUCCESS;
	for (int i = 0; i < QUEUES && ret == DAT_SUCCESS; i++)
		ret = dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd);
	want_clean(ret);
}

/* Programs keep contexts in signed variables, with -1 or 0 for none. */
CLAUSE("CONSUMER-59")
{
	struct kit_buf buf;
	int large = 0;

	for (int i = 0; i < 20; i++) {
		buf = kit_buf(4096, KIT_REMOTE);
		large += buf.context >= 0x80000000u || buf.rmr_context >= 0x80000000u;
	}
	CHECK_NUM(large, 0);
}
