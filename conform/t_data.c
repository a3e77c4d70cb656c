/* SPDX-License-Identifier: BSD-2-Clause */
/* The four posts of dat_ep_post_*: which are refused, what completes, where the data goes, and in which order. */
#include <string.h>

#include "kit.h"

#define DEFAULT	 DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIG	 DAT_COMPLETION_UNSIGNALLED_FLAG
#define COUNT	 16

/* A connected pair with memory on both sides: local belongs to a, remote to b. */
struct field {
	struct kit_pair p;
	struct kit_buf local, remote;
};

static void lay_out(struct field *f, const DAT_EP_ATTR *attr)
{
	kit_pair(&f->p, attr);
	f->local = kit_buf_a(65536, KIT_REMOTE);
	f->remote = kit_buf_b(65536, KIT_REMOTE);
}

/* The requests, so that one test checks a rule of all of them. `local` is the place of the local segment. */
enum op { SEND, WRITE, READ, OPS };

static DAT_RETURN post(struct field *f, enum op op, size_t at, size_t size, uint64_t cookie,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET seg = kit_seg(&f->local, at, size);
	DAT_RMR_TRIPLET target = kit_target(&f->remote, at, size);

	switch (op) {
	case SEND: return dat_ep_post_send(f->p.a.ep, 1, &seg, kit_cookie(cookie), flags);
	case WRITE: return kit_write(f->p.a.ep, seg, target, cookie, flags);
	default: return kit_read(f->p.a.ep, seg, target, cookie, flags);
	}
}

static void done(struct field *f, uint64_t cookie)
{
	kit_dto(f->p.a.request, f->p.a.ep, cookie, DAT_DTO_SUCCESS);
}

static void recvs(struct field *f, int n)
{
	for (int i = 1; i <= n; i++)
		MUST_RET(kit_recv(f->p.b.ep, &f->remote, 0, 4096, (uint64_t)i), DAT_SUCCESS);
}

CLAUSE_EACH("EP_SEND-01", "EP_SEND-10", "EP_SEND-21", "EP_RECV-01", "EP_RECV-11", "EP_RECV-18",
	    "EP_RECV-22", "EP_RDMA_WRITE-01", "EP_RDMA_WRITE-11", "EP_RDMA_WRITE-13",
	    "EP_RDMA_WRITE-18", "EP_RDMA_READ-01", "EP_RDMA_READ-12", "EP_RDMA_READ-13",
	    "EP_CREATE-13")
{
	static const uint64_t cookies[] = { 0, 1, 1, 0xfedcba9876543210, ~0ull };
	static const size_t sizes[] = { 0, 1, 1000, 65536, 64 };
	struct field f;
	DAT_DTO_COMPLETION_EVENT_DATA data;

	lay_out(&f, NULL);
	for (int i = 0; i < 5; i++) {
		DAT_VLEN size =
			sizes[i] < t.attr.max_message_size ? sizes[i] : t.attr.max_message_size;

		kit_buf_fill(&f.local, 0, size, (unsigned int)i);
		ABOUT("EP_RECV-01");
		MUST_RET(kit_recv(f.p.b.ep, &f.remote, 0, size, cookies[i]), DAT_SUCCESS);
		ABOUT("EP_SEND-01");
		MUST_RET(kit_send(f.p.a.ep, &f.local, 0, size, cookies[i], DEFAULT), DAT_SUCCESS);
		ABOUT("EP_RECV-11");
		data = kit_dto(f.p.b.recv, f.p.b.ep, cookies[i], DAT_DTO_SUCCESS);
		CHECK_NUM(data.transfered_length, size);
		CHECK_THAT(kit_buf_filled(&f.remote, 0, size, (unsigned int)i));
		ABOUT("EP_RECV-18");
		CHECK_NUM(data.status, DAT_DTO_SUCCESS);
		ABOUT("EP_RECV-22");
		CHECK_THAT(data.user_cookie.as_64 == cookies[i]);
		ABOUT("EP_SEND-10");
		data = kit_dto(f.p.a.request, f.p.a.ep, cookies[i], DAT_DTO_SUCCESS);
		ABOUT("EP_SEND-21");
		CHECK_THAT(data.user_cookie.as_64 == cookies[i]);
		ABOUT("EP_SEND-10");
		CHECK_THAT(data.ep_handle == f.p.a.ep);
		if (!size)
			continue;
		ABOUT("EP_RDMA_WRITE-01");
		MUST_RET(post(&f, WRITE, 0, size, cookies[i], DEFAULT), DAT_SUCCESS);
		ABOUT("EP_RDMA_WRITE-11");
		data = kit_dto(f.p.a.request, f.p.a.ep, cookies[i], DAT_DTO_SUCCESS);
		CHECK_THAT(data.ep_handle == f.p.a.ep);
		ABOUT("EP_RDMA_WRITE-18");
		CHECK_THAT(data.user_cookie.as_64 == cookies[i]);
		ABOUT("EP_RDMA_READ-01");
		MUST_RET(post(&f, READ, 0, size, cookies[i], DEFAULT), DAT_SUCCESS);
		ABOUT("EP_RDMA_READ-12");
		data = kit_dto(f.p.a.request, f.p.a.ep, cookies[i], DAT_DTO_SUCCESS);
		CHECK_NUM(data.transfered_length, size);
		ABOUT("EP_RDMA_READ-13");
		CHECK_THAT(data.user_cookie.as_64 == cookies[i]);
	}
	ABOUT("EP_RDMA_WRITE-13");
	kit_empty(f.p.b.recv);
	kit_empty(f.p.b.request);
	kit_empty(f.p.b.connect);
	ABOUT("EP_CREATE-13");
	kit_empty(f.p.a.recv);
	kit_empty(f.p.a.connect);
	kit_empty(f.p.a.request);
}

/*
 * Posts until a post is refused because the queue is full. The queue must hold as many posts as the endpoint reports, and the
 * refusal must be DAT_INSUFFICIENT_RESOURCES.
 */
static void fill_queue(enum op op, bool receive)
{
	DAT_EP_ATTR attr = kit_attr();
	struct field f;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_EP_PARAM param;
	int n = 0, depth;

	lay_out(&f, &attr);
	MUST_RET(dat_ep_query(f.p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
	depth = receive ? param.ep_attr.max_recv_dtos : param.ep_attr.max_request_dtos;
	for (; n < 100000; n++) {
		/* Messages of the largest size, for which there is no receive, stay in the queue. */
		ret = receive ? kit_recv(f.p.a.ep, &f.local, 0, 64, 1)
			      : post(&f, op, 0, op == SEND ? attr.max_message_size : 64, 1,
				     DEFAULT);
		if (ret != DAT_SUCCESS)
			break;
	}
	CHECK_THAT(n >= depth);
	if (ret == DAT_SUCCESS)
		judge_outcome("the queue has no end");
	CHECK_RET_IN(ret, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
}

CLAUSE_ACTIVE("EP_SEND-02") { fill_queue(SEND, false); }
CLAUSE_ACTIVE("EP_RDMA_WRITE-02") { fill_queue(WRITE, false); }
CLAUSE_ACTIVE("EP_RDMA_READ-02") { fill_queue(READ, false); }
CLAUSE_ACTIVE("EP_RECV-02") { fill_queue(SEND, true); }

static DAT_RETURN post_iov(struct field *f, enum op op, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   size_t size)
{
	DAT_RMR_TRIPLET target = kit_target(&f->remote, 0, size);

	switch (op) {
	case SEND: return dat_ep_post_send(f->p.a.ep, n, iov, kit_cookie(1), DEFAULT);
	case WRITE:
		return dat_ep_post_rdma_write(f->p.a.ep, n, iov, kit_cookie(1), &target, DEFAULT);
	default: return dat_ep_post_rdma_read(f->p.a.ep, n, iov, kit_cookie(1), &target, DEFAULT);
	}
}

/* A post is refused with one byte beyond the region at either end, or one segment too many, and has no effect. */
static void bad_segments(enum op op, bool receive)
{
	struct field f;
	DAT_LMR_TRIPLET iov[256], *one = &iov[0];
	DAT_EP_PARAM param;
	DAT_COUNT most;

	lay_out(&f, NULL);
	MUST_RET(dat_ep_query(f.p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
	most = receive ? param.ep_attr.max_recv_iov : op == SEND ? param.ep_attr.max_request_iov :
		op == WRITE ? param.ep_attr.max_rdma_write_iov : param.ep_attr.max_rdma_read_iov;
	for (int i = 0; i < 256; i++)
		iov[i] = kit_seg(&f.local, (size_t)i, 1);
#define POST(n, size) (receive ? dat_ep_post_recv(f.p.a.ep, n, iov, kit_cookie(1), DEFAULT) : \
				 post_iov(&f, op, n, iov, size))
	*one = kit_seg(&f.local, f.local.size - 63, 64);
	CHECK_RET(POST(1, 64), DAT_INVALID_PARAMETER);
	*one = kit_seg(&f.local, (size_t)-1, 64);
	CHECK_RET(POST(1, 64), DAT_INVALID_PARAMETER);
	*one = kit_seg(&f.local, 0, 1);
	CHECK_RET(POST(-1, 1), DAT_INVALID_PARAMETER);
	if (most < 256)
		CHECK_RET(POST(most + 1, (size_t)most + 1), DAT_INVALID_PARAMETER);
#undef POST
	kit_empty(f.p.a.request);
	kit_empty(f.p.a.recv);
	CHECK_NUM(kit_state(f.p.a.ep), DAT_EP_STATE_CONNECTED);
}

CLAUSE_ACTIVE("EP_SEND-03") { bad_segments(SEND, false); }
CLAUSE_ACTIVE("EP_RDMA_WRITE-03") { bad_segments(WRITE, false); }
CLAUSE_ACTIVE("EP_RDMA_READ-03") { bad_segments(READ, false); }
CLAUSE_ACTIVE("EP_RECV-03") { bad_segments(SEND, true); }

CLAUSE_ACTIVE("EP_SEND-04")
{
	DAT_EP_ATTR attr = kit_attr();
	struct field f;
	DAT_EP_PARAM param;

	attr.max_message_size = 4096;
	lay_out(&f, &attr);
	MUST_RET(dat_ep_query(f.p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param), DAT_SUCCESS);
	NEEDS(param.ep_attr.max_message_size < 65536, "max_message_size: more than was asked for");
	CHECK_RET_IN(post(&f, SEND, 0, param.ep_attr.max_message_size + 1, 1, DEFAULT),
		     DAT_INVALID_PARAMETER, DAT_LENGTH_ERROR);
}

/*
 * UNCONNECTED, RESERVED, ACTIVE and PASSIVE: the states before a connection; t_disc.c has
 * DISCONNECT_PENDING.
 */
static void wrong_states(enum op op)
{
	struct field f;
	struct kit_pair spare;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;

	lay_out(&f, NULL);
	kit_pair_unconnected(&spare, NULL);
	f.p.a = spare.a;
	CHECK_RET(post(&f, op, 0, 8, 1, DEFAULT), DAT_INVALID_STATE);
	qual = kit_unused_qual();
	MUST_RET(dat_rsp_create(t.ia, qual, spare.b.ep, spare.cr_evd, &rsp), DAT_SUCCESS);
	f.p.a = spare.b;
	CHECK_RET(post(&f, op, 0, 8, 1, DEFAULT), DAT_INVALID_STATE);
	MUST_RET(kit_connect(spare.a.ep, qual), DAT_SUCCESS);
	f.p.a = spare.a;
	CHECK_RET(post(&f, op, 0, 8, 1, DEFAULT), DAT_INVALID_STATE);
	kit_cr(spare.cr_evd);
	f.p.a = spare.b;
	CHECK_RET(post(&f, op, 0, 8, 1, DEFAULT), DAT_INVALID_STATE);
	kit_empty(spare.a.request);
	kit_empty(spare.b.request);
}

CLAUSE("EP_SEND-06") { wrong_states(SEND); }
CLAUSE("EP_RDMA_WRITE-05") { wrong_states(WRITE); }
CLAUSE("EP_RDMA_READ-05") { wrong_states(READ); }

CLAUSE_EACH("EP_RECV-07", "EP_RECV-10")
{
	struct kit_pair p;
	struct kit_buf of_a = kit_buf_a(64, KIT_LOCAL), of_b = kit_buf_b(64, KIT_LOCAL);
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL qual = kit_unused_qual();

	ABOUT("EP_RECV-07");
	kit_pair_unconnected(&p, NULL);
	CHECK_RET(kit_recv(p.a.ep, &of_a, 0, 8, 1), DAT_SUCCESS);
	MUST_RET(dat_rsp_create(kit_ia_b(), qual, p.b.ep, p.cr_evd, &rsp), DAT_SUCCESS);
	CHECK_RET(kit_recv(p.b.ep, &of_b, 0, 8, 1), DAT_SUCCESS);
	MUST_RET(kit_connect(p.a.ep, qual), DAT_SUCCESS);
	CHECK_RET(kit_recv(p.a.ep, &of_a, 0, 8, 2), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	CHECK_RET(kit_recv(p.b.ep, &of_b, 0, 8, 2), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	CHECK_RET(kit_recv(p.b.ep, &of_b, 0, 8, 3), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	kit_conn(p.b.connect, p.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_RET(kit_recv(p.a.ep, &of_a, 0, 8, 3), DAT_SUCCESS);
	ABOUT("EP_RECV-10");
	CHECK_RET(kit_recv(p.b.ep, &of_b, 0, 0, 4), DAT_SUCCESS);
	for (int i = 1; i <= 4; i++) {
		MUST_RET(kit_send(p.a.ep, &of_a, 0, i == 4 ? 0 : 8, (uint64_t)i, DEFAULT),
			 DAT_SUCCESS);
		CHECK_NUM(kit_dto(p.b.recv, p.b.ep, (uint64_t)i, DAT_DTO_SUCCESS).transfered_length,
			  i == 4 ? 0 : 8);
	}
	ABOUT("EP_RECV-07");
	kit_disconnect(&p);
	CHECK_RET(kit_recv(p.a.ep, &of_a, 0, 8, 5), DAT_SUCCESS);
}

CLAUSE_EACH("EP_SEND-09", "EP_RDMA_READ-27")
{
	struct field f;
	DAT_RMR_TRIPLET target;

	lay_out(&f, NULL);
	target = kit_target(&f.remote, 0, 0);
	ABOUT("EP_SEND-09");
	MUST_RET(kit_recv(f.p.b.ep, &f.remote, 0, 64, 1), DAT_SUCCESS);
	MUST_RET(kit_send(f.p.a.ep, &f.local, 0, 0, 2, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(kit_dto(f.p.b.recv, f.p.b.ep, 1, DAT_DTO_SUCCESS).transfered_length, 0);
	done(&f, 2);
	ABOUT("EP_RDMA_READ-27");
	CHECK_RET(dat_ep_post_rdma_read(f.p.a.ep, 0, NULL, kit_cookie(3), &target, DEFAULT),
		  DAT_SUCCESS);
	done(&f, 3);
}

/*
 * Memory of another protection zone, or without the privilege, is refused at once or by the
 * completion, never by both.
 */
static void bad_memory(enum op op, bool receive, bool other_pz, DAT_MEM_PRIV_FLAGS priv,
		       DAT_RETURN sync)
{
	struct field f;
	DAT_RETURN ret;

	if (other_pz)
		NEEDS(t.prov.pz_support == DAT_PZ_UNIQUE, "pz_support");
	lay_out(&f, NULL);
	recvs(&f, 1);
	f.local = kit_buf_in(other_pz ? kit_pz() : t.pz, 4096, priv);
	ret = receive ? kit_recv(f.p.a.ep, &f.local, 0, 64, 9) : post(&f, op, 0, 64, 9, DEFAULT);
	CHECK_RET_IN(ret, sync, DAT_SUCCESS);
	if (ret != DAT_SUCCESS) {
		kit_empty(f.p.a.request);
		kit_empty(f.p.a.recv);
		CHECK_NUM(kit_state(f.p.a.ep), DAT_EP_STATE_CONNECTED);
	} else if (!receive) {
		kit_dto(f.p.a.request, f.p.a.ep, 9, DAT_DTO_ERR_LOCAL_PROTECTION);
	}
}

static void other_zone(enum op op, bool receive)
{
	bad_memory(op, receive, true, KIT_LOCAL, DAT_PROTECTION_VIOLATION);
}

CLAUSE_ACTIVE("EP_SEND-07") { other_zone(SEND, false); }
CLAUSE_ACTIVE("EP_RDMA_WRITE-07") { other_zone(WRITE, false); }
CLAUSE_ACTIVE("EP_RDMA_READ-07") { other_zone(READ, false); }
CLAUSE_ACTIVE("EP_RECV-05") { other_zone(SEND, true); }
CLAUSE_ACTIVE("EP_CREATE-12") { other_zone(SEND, false); }
CLAUSE_ACTIVE("LMR_CREATE-18") { other_zone(WRITE, false); }
CLAUSE_ACTIVE("EP_RDMA_READ-08")
{
	bad_memory(READ, false, false, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_PRIVILEGES_VIOLATION);
}
CLAUSE_ACTIVE("EP_RECV-06")
{
	bad_memory(SEND, true, false, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_PRIVILEGES_VIOLATION);
}

/*
 * Posts from memory without LOCAL_READ. InfiniBand allows that, and programs do it, so the post may
 * be refused, complete with a protection error or succeed; which of them is recorded. When the LMR
 * has been freed, a post with its context must fail.
 */
static void no_local_read(enum op op)
{
	struct field f;
	DAT_RETURN ret;

	lay_out(&f, NULL);
	recvs(&f, 2);
	f.local = kit_buf(4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ret = post(&f, op, 0, 64, 9, DEFAULT);
	CHECK_RET_IN(ret, DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS);
	if (ret == DAT_SUCCESS) {
		DAT_EVENT event = kit_event(f.p.a.request);
		DAT_DTO_COMPLETION_STATUS status =
			event.event_data.dto_completion_event_data.status;

		CHECK_THAT(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_LOCAL_PROTECTION);
		judge_outcome("completes with %d", (int)status);
		if (status != DAT_DTO_SUCCESS)
			return;
	}
	MUST_RET(dat_lmr_free(f.local.lmr), DAT_SUCCESS);
	ret = post(&f, op, 0, 64, 10, DEFAULT);
	CHECK_RET_IN(ret, DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER,
		     DAT_SUCCESS);
	if (ret == DAT_SUCCESS)
		kit_dto(f.p.a.request, f.p.a.ep, 10, DAT_DTO_ERR_LOCAL_PROTECTION);
}

CLAUSE_ACTIVE("EP_SEND-08", "LMR_FREE-07") { no_local_read(SEND); }
CLAUSE_ACTIVE("EP_RDMA_WRITE-08") { no_local_read(WRITE); }

CLAUSE_ACTIVE("EP_RDMA_READ-06", "EP_RDMA_WRITE-06")
{
	struct field f;

	lay_out(&f, NULL);
	ABOUT("EP_RDMA_READ-06");
	CHECK_RET(
		kit_read(f.p.a.ep, kit_seg(&f.local, 0, 10), kit_target(&f.remote, 0, 20), 1, DEFAULT),
		DAT_LENGTH_ERROR);
	ABOUT("EP_RDMA_WRITE-06");
	CHECK_RET(
		kit_write(f.p.a.ep, kit_seg(&f.local, 0, 20), kit_target(&f.remote, 0, 10), 1, DEFAULT),
		DAT_LENGTH_ERROR);
	kit_empty(f.p.a.request);
}

/* Transfers `bytes` bytes through a list of segments with the odd lengths sizes[]. */
static void scatter(enum op op, size_t bytes)
{
	static const size_t sizes[] = { 17, 256, 100 };
	struct field f;
	DAT_LMR_TRIPLET iov[3];
	DAT_RMR_TRIPLET target;
	unsigned char whole[400];
	size_t at = 0, left = bytes;

	kit_needs_segments(3);
	MUST(bytes <= sizeof(whole));
	lay_out(&f, NULL);
	memset(f.local.mem, 0xee, 4096);
	kit_fill(whole, bytes, 5);
	kit_buf_fill(&f.remote, 0, bytes, 5);
	for (int i = 0; i < 3; i++)
		iov[i] = kit_seg(&f.local, 500 * (size_t)i + 1, sizes[i]);
	if (op == READ) {
		target = kit_target(&f.remote, 0, bytes);
		MUST_RET(dat_ep_post_rdma_read(f.p.a.ep, 3, iov, kit_cookie(1), &target, DEFAULT),
			 DAT_SUCCESS);
		done(&f, 1);
	} else {
		kit_exchange(&f.p.a, &f.p.b);	/* on iWARP b must not be the first to send */
		MUST_RET(dat_ep_post_recv(f.p.a.ep, 3, iov, kit_cookie(1), DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_send(f.p.b.ep, &f.remote, 0, bytes, 2, DEFAULT), DAT_SUCCESS);
		CHECK_NUM(kit_dto(f.p.a.recv, f.p.a.ep, 1, DAT_DTO_SUCCESS).transfered_length,
			  bytes);
	}
	for (int i = 0; i < 3; i++) {
		unsigned char *seg = f.local.mem + 500 * i + 1;
		size_t in = left < sizes[i] ? left : sizes[i];
		bool untouched = true;

		CHECK_THAT(!memcmp(seg, whole + at, in));
		CHECK_NUM(seg[-1], 0xee);
		for (size_t b = in; b <= sizes[i]; b++)
			untouched &= seg[b] == 0xee;
		CHECK_THAT(untouched);
		at += in;
		left -= in;
	}
}

CLAUSE_ACTIVE("EP_RDMA_READ-14", "EP_RDMA_READ-15")
{ scatter(READ, 373); scatter(READ, 20); scatter(READ, 17); }
CLAUSE_ACTIVE("EP_RECV-14") { scatter(SEND, 373); scatter(SEND, 20); scatter(SEND, 5); }

CLAUSE_ACTIVE("EP_SEND-11", "EP_RDMA_WRITE-12", "EP_SEND-23", "EP_RDMA_READ-23")
{
	static const size_t out[] = { 100, 1, 250 };
	struct field f;
	DAT_LMR_TRIPLET iov[3], kept[3], in[2];
	DAT_RMR_TRIPLET target;
	unsigned char whole[351];
	size_t at = 0;

	kit_needs_segments(3);
	lay_out(&f, NULL);
	kit_fill(f.local.mem, 4096, 6);
	for (int i = 0; i < 3; i++) {
		iov[i] = kit_seg(&f.local, 700 * (size_t)i + 3, out[i]);
		memcpy(whole + at, f.local.mem + 700 * i + 3, out[i]);
		at += out[i];
	}
	memcpy(kept, iov, sizeof(iov));
	in[0] = kit_seg(&f.remote, 0, 200);
	in[1] = kit_seg(&f.remote, 1000, 200);
	ABOUT("EP_SEND-11");
	MUST_RET(dat_ep_post_recv(f.p.b.ep, 2, in, kit_cookie(1), DEFAULT), DAT_SUCCESS);
	MUST_RET(dat_ep_post_send(f.p.a.ep, 3, iov, kit_cookie(2), DEFAULT), DAT_SUCCESS);
	if (t.prov.iov_ownership_on_return == DAT_IOV_CONSUMER)
		memset(iov, 0xff, sizeof(iov));
	CHECK_NUM(kit_dto(f.p.b.recv, f.p.b.ep, 1, DAT_DTO_SUCCESS).transfered_length, 351);
	done(&f, 2);
	CHECK_THAT(kit_buf_is(&f.remote, 0, whole, 200) && kit_buf_is(&f.remote, 1000, whole + 200, 151));
	ABOUT("EP_SEND-23");
	if (t.prov.iov_ownership_on_return == DAT_IOV_PROVIDER_NOMOD)
		CHECK_THAT(!memcmp(kept, iov, sizeof(iov)));
	CHECK_THAT(kit_buf_is(&f.remote, 0, whole, 200)); /* although the list has changed since */
	memcpy(iov, kept, sizeof(iov));
	ABOUT("EP_RDMA_WRITE-12");
	target = kit_target(&f.remote, 2000, 351);
	MUST_RET(dat_ep_post_rdma_write(f.p.a.ep, 3, iov, kit_cookie(3), &target, DEFAULT),
		 DAT_SUCCESS);
	done(&f, 3);
	CHECK_THAT(kit_buf_is(&f.remote, 2000, whole, 351));
	ABOUT("EP_RDMA_READ-23");
	kit_buf_fill(&f.remote, 0, 351, 8);
	target = kit_target(&f.remote, 0, 351);
	MUST_RET(dat_ep_post_rdma_read(f.p.a.ep, 3, iov, kit_cookie(4), &target, DEFAULT),
		 DAT_SUCCESS);
	if (t.prov.iov_ownership_on_return == DAT_IOV_CONSUMER)
		memset(iov, 0xff, sizeof(iov));
	done(&f, 4);
	CHECK_THAT(kit_filled(f.local.mem + 3, 100, 8));
}

CLAUSE_EACH("EP_RECV-15", "EP_SEND-12")
{
	struct field f;

	lay_out(&f, NULL);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < COUNT; i++)
			MUST_RET(kit_recv(f.p.b.ep, &f.remote, 64 * (size_t)i, 64, (uint64_t)i),
				 DAT_SUCCESS);
		for (int i = 0; i < COUNT; i++) {
			kit_buf_set(&f.local, 64 * (size_t)i, 1, (unsigned char)(round * COUNT + i));
			MUST_RET(kit_send(f.p.a.ep, &f.local, 64 * (size_t)i, 64, (uint64_t)i,
					  DEFAULT),
				 DAT_SUCCESS);
		}
		for (uint64_t i = 0; i < COUNT; i++) {
			unsigned char mark = (unsigned char)(round * COUNT + (int)i);

			ABOUT("EP_RECV-15");
			kit_dto(f.p.b.recv, f.p.b.ep, i, DAT_DTO_SUCCESS);
			ABOUT("EP_SEND-12");
			CHECK_THAT(kit_buf_is(&f.remote, 64 * i, &mark, 1));
			done(&f, i);
		}
	}
	ABOUT("EP_RECV-15");
	kit_empty(f.p.b.recv);
}

/* Short and long messages alternate, and arrive in the order of the sends, whichever way each of them takes. */
CLAUSE_EACH("EP_SEND-12", "GEN-13")
{
	struct field f;
	size_t longest = kit_attr().max_message_size < 40000 ? kit_attr().max_message_size : 40000;

	lay_out(&f, NULL);
	for (int i = 0; i < COUNT; i++)
		MUST_RET(kit_recv(f.p.b.ep, &f.remote, 0, longest, (uint64_t)i), DAT_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		MUST_RET(kit_send(f.p.a.ep, &f.local, 0, (size_t)i * 7919 % longest + 1, (uint64_t)i,
				  DEFAULT),
			 DAT_SUCCESS);
	for (int i = 0; i < COUNT; i++)
		CHECK_NUM(kit_dto(f.p.b.recv, f.p.b.ep, (uint64_t)i, DAT_DTO_SUCCESS)
				  .transfered_length,
			  (size_t)i * 7919 % longest + 1);
	for (uint64_t i = 0; i < COUNT; i++)
		done(&f, i);
}

CLAUSE_EACH("EP_SEND-19", "EP_RDMA_READ-26", "EP_MODIFY-21")
{
	size_t longest = t.attr.max_rdma_size < 65536 ? t.attr.max_rdma_size : 65536;
	struct field f;

	lay_out(&f, NULL);
	recvs(&f, 4);
	ABOUT("EP_SEND-19");
	for (uint64_t i = 0; i < 12; i++)
		MUST_RET(post(&f, (enum op)(i % OPS), 4096 * (size_t)i, 4096, i, DEFAULT),
			 DAT_SUCCESS);
	for (uint64_t i = 0; i < 12; i++)
		done(&f, i);
	ABOUT("EP_RDMA_READ-26");
	for (uint64_t i = 0; i < 6; i++)
		MUST_RET(post(&f, i % 2 ? WRITE : READ, 0, i % 2 ? 8 : longest, i, DEFAULT),
			 DAT_SUCCESS);
	for (uint64_t i = 0; i < 6; i++)
		done(&f, i);
	ABOUT("EP_MODIFY-21");
	recvs(&f, 3);
	CHECK_RET(post(&f, SEND, 0, 8, 1, SUPPRESS), DAT_SUCCESS);
	CHECK_RET(post(&f, SEND, 0, 8, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG), DAT_SUCCESS);
	CHECK_RET(post(&f, SEND, 0, 8, 3, DAT_COMPLETION_BARRIER_FENCE_FLAG), DAT_SUCCESS);
	done(&f, 2);
	done(&f, 3);
}

CLAUSE_EACH("EP_SEND-14", "EP_RDMA_READ-17", "EP_RDMA_WRITE-16", "EP_SEND-20")
{
	static const char *const about[OPS] = { "EP_SEND-14", "EP_RDMA_WRITE-16",
						"EP_RDMA_READ-17" };
	struct field f;

	lay_out(&f, NULL);
	for (enum op op = SEND; op < OPS; op++) {
		ABOUT(about[op]);
		if (op == SEND)
			recvs(&f, 10);
		kit_buf_fill(op == READ ? &f.remote : &f.local, 0, 4096, (unsigned int)op);
		for (int i = 0; i < 9; i++)
			MUST_RET(post(&f, op, 64 * (size_t)i, 64, 1, SUPPRESS), DAT_SUCCESS);
		MUST_RET(post(&f, op, 640, 64, 2, DEFAULT), DAT_SUCCESS);
		done(&f, 2);
		kit_empty(f.p.a.request);
		if (op == SEND) {
			ABOUT("EP_SEND-20");
			for (uint64_t i = 1; i <= 10; i++)
				kit_dto(f.p.b.recv, f.p.b.ep, i, DAT_DTO_SUCCESS);
		}
		if (op == WRITE)
			kit_exchange(&f.p.a, &f.p.b);	/* the writes have arrived before this message */
		CHECK_THAT(op == SEND || kit_buf_filled(op == READ ? &f.local : &f.remote, 0, 9 * 64, op));
	}
}

CLAUSE_EACH("EP_RDMA_WRITE-14", "EP_SEND-17", "EP_RDMA_READ-21", "EP_SEND-16")
{
	struct field f;

	lay_out(&f, NULL);
	for (unsigned int i = 1; i <= 20; i++) {
		ABOUT("EP_RDMA_WRITE-14");
		kit_buf_fill(&f.local, 0, 8192, i);
		MUST_RET(kit_recv(f.p.b.ep, &f.remote, 60000, 8, i), DAT_SUCCESS);
		MUST_RET(post(&f, WRITE, 0, 8192, 1, DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_send(f.p.a.ep, &f.local, 0, 8, 2, DEFAULT), DAT_SUCCESS);
		kit_dto(f.p.b.recv, f.p.b.ep, i, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_buf_filled(&f.remote, 0, 8192, i));
		done(&f, 1);
		done(&f, 2);
		/* Reads from the peer, and sends the same memory back: with a fence, the peer gets what it had. */
		ABOUT("EP_SEND-17");
		kit_buf_fill(&f.remote, 20000, 64, 100 + i);
		MUST_RET(kit_recv(f.p.b.ep, &f.remote, 30000, 64, i), DAT_SUCCESS);
		MUST_RET(post(&f, READ, 20000, 64, 3, DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_send(f.p.a.ep, &f.local, 20000, 64, 4,
				  DAT_COMPLETION_BARRIER_FENCE_FLAG),
			 DAT_SUCCESS);
		kit_dto(f.p.b.recv, f.p.b.ep, i, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_buf_filled(&f.remote, 30000, 64, 100 + i));
		done(&f, 3);
		done(&f, 4);
		ABOUT("EP_RDMA_READ-21");
		kit_buf_set(&f.local, 20000, 64, 0);
		MUST_RET(post(&f, READ, 20000, 64, 5, DEFAULT), DAT_SUCCESS);
		MUST_RET(kit_write(f.p.a.ep, kit_seg(&f.local, 20000, 64),
				   kit_target(&f.remote, 40000, 64), 6, DAT_COMPLETION_BARRIER_FENCE_FLAG),
			 DAT_SUCCESS);
		done(&f, 5);
		done(&f, 6);
		kit_exchange(&f.p.a, &f.p.b);	/* arrives after the write, which may be complete before it arrives */
		CHECK_THAT(kit_buf_filled(&f.remote, 40000, 64, 100 + i));
	}
	ABOUT("EP_SEND-16");
	recvs(&f, 1);
	MUST_RET(post(&f, SEND, 0, 8, 7, DAT_COMPLETION_SOLICITED_WAIT_FLAG), DAT_SUCCESS);
	kit_dto(f.p.b.recv, f.p.b.ep, 1, DAT_DTO_SUCCESS);
	done(&f, 7);
}

CLAUSE_PASSIVE("EP_RECV-21")
{
	struct field f;
	DAT_EVENT event;
	DAT_COUNT nmore;

	lay_out(&f, NULL);
	MUST_RET(post(&f, SEND, 0, 64, 1, DEFAULT), DAT_SUCCESS);
	if (dat_evd_wait(f.p.b.connect, 4 * t.quiet_ms * 1000, 1, &event, &nmore) == DAT_SUCCESS) {
		if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
			NEEDS(judge_breaks_are_sure(), "broken");
		judge_outcome("the connection breaks");
		CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
		return;
	}
	judge_outcome("the message waits");
	MUST_RET(kit_recv(f.p.b.ep, &f.remote, 0, 64, 2), DAT_SUCCESS);
	kit_dto(f.p.b.recv, f.p.b.ep, 2, DAT_DTO_SUCCESS);
	CHECK_NUM(kit_state(f.p.b.ep), DAT_EP_STATE_CONNECTED);
}

/* With many more reads at a time than the peer serves, the connection breaks, or the reads are held back. */
CLAUSE_EACH("EP_RDMA_READ-25")
{
	DAT_EP_ATTR attr = kit_attr();
	struct field f;
	int good = 0;

	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	lay_out(&f, &attr);
	for (uint64_t i = 0; i < 12; i++)
		MUST_RET(post(&f, READ, 0, 4096, i, DEFAULT), DAT_SUCCESS);
	for (uint64_t i = 0; i < 12; i++) {
		DAT_EVENT event = kit_event(f.p.a.request);

		good += event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	}
	judge_outcome(good == 12 ? "all are done" : "the connection breaks");
	CHECK_THAT(good == 12 || kit_state(f.p.a.ep) == DAT_EP_STATE_DISCONNECTED);
}

/* Flags that a post may not have. */
static void unsignalled_rules(struct field *f, struct field *u, enum op op, const char *id)
{
	ABOUT(id);
	CHECK_RET(post(f, op, 0, 8, 1, UNSIG), DAT_INVALID_PARAMETER);
	kit_empty(f->p.a.request);
	CHECK_RET(post(u, op, 0, 8, 1, UNSIG), DAT_SUCCESS);
	CHECK_SOON(dat_evd_dequeue(u->p.a.request, &(DAT_EVENT){ 0 }) == DAT_SUCCESS);
}

static void lay_out_unsignalled(struct field *u)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.recv_completion_flags = attr.request_completion_flags = UNSIG;
	lay_out(u, &attr);
}

CLAUSE_EACH("EP_SEND-13", "EP_RDMA_WRITE-15", "EP_RDMA_READ-16", "EP_RECV-16", "EP_RECV-17",
	    "EP_RDMA_READ-20")
{
	struct field f, u;
	DAT_LMR_TRIPLET seg;

	lay_out(&f, NULL);
	lay_out_unsignalled(&u);
	seg = kit_seg(&u.remote, 0, 64);
	ABOUT("EP_RECV-16");
	CHECK_RET(dat_ep_post_recv(u.p.b.ep, 1, &seg, kit_cookie(1), UNSIG), DAT_SUCCESS);
	seg = kit_seg(&f.remote, 0, 64);
	CHECK_RET(dat_ep_post_recv(f.p.b.ep, 1, &seg, kit_cookie(1), UNSIG), DAT_INVALID_PARAMETER);
	ABOUT("EP_RECV-17");
	CHECK_RET(dat_ep_post_recv(f.p.b.ep, 1, &seg, kit_cookie(1), SUPPRESS),
		  DAT_INVALID_PARAMETER);
	CHECK_RET(dat_ep_post_recv(f.p.b.ep, 1, &seg, kit_cookie(1),
				   DAT_COMPLETION_BARRIER_FENCE_FLAG),
		  DAT_INVALID_PARAMETER);
	unsignalled_rules(&f, &u, SEND, "EP_SEND-13");
	unsignalled_rules(&f, &u, WRITE, "EP_RDMA_WRITE-15");
	unsignalled_rules(&f, &u, READ, "EP_RDMA_READ-16");
	ABOUT("EP_RDMA_READ-20");
	CHECK_RET_IN(post(&f, READ, 0, 8, 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		     DAT_INVALID_PARAMETER, DAT_SUCCESS);
}

CLAUSE_PASSIVE("EP_RECV-20", "EVD_WAIT-17")
{
	struct field u;
	struct kit_waiter w;
	DAT_LMR_TRIPLET seg;
	DAT_EVENT event;
	DAT_COUNT nmore;

	lay_out_unsignalled(&u);
	seg = kit_seg(&u.remote, 0, 64);
	ABOUT("EVD_WAIT-17");
	CHECK_RET(dat_evd_wait(u.p.b.recv, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	ABOUT("EP_RECV-20");
	MUST_RET(dat_ep_post_recv(u.p.b.ep, 1, &seg, kit_cookie(1), UNSIG), DAT_SUCCESS);
	kit_wait_start(&w, u.p.b.recv, 1);
	MUST_RET(post(&u, SEND, 0, 8, 1, UNSIG), DAT_SUCCESS);
	CHECK_THAT(kit_still_waits(&w));
	MUST_RET(kit_recv(u.p.b.ep, &u.remote, 0, 64, 2), DAT_SUCCESS);
	MUST_RET(post(&u, SEND, 0, 8, 2, DEFAULT), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	kit_dto(u.p.b.recv, u.p.b.ep, 2, DAT_DTO_SUCCESS);
	kit_dto(u.p.a.request, u.p.a.ep, 1, DAT_DTO_SUCCESS);
	kit_dto(u.p.a.request, u.p.a.ep, 2, DAT_DTO_SUCCESS);
}

CLAUSE_ACTIVE("EP_RDMA_READ-19", "EVD_WAIT-25", "EVD_WAIT-17")
{
	struct field u;
	struct kit_waiter w;
	DAT_EVENT event;
	DAT_COUNT nmore;

	lay_out_unsignalled(&u);
	ABOUT("EVD_WAIT-17");
	CHECK_RET(dat_evd_wait(u.p.a.request, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	CHECK_RET(dat_evd_wait(u.p.a.request, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ABOUT("EP_RDMA_READ-19");
	kit_wait_start(&w, u.p.a.request, 1);
	MUST_RET(post(&u, READ, 0, 8, 3, UNSIG), DAT_SUCCESS);
	CHECK_THAT(kit_still_waits(&w));
	ABOUT("EVD_WAIT-25");
	MUST_RET(post(&u, READ, 0, 8, 4, UNSIG), DAT_SUCCESS);
	CHECK_THAT(kit_still_waits(&w));
	MUST_RET(post(&u, READ, 0, 8, 5, DEFAULT), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	CHECK_NUM(w.nmore, 2);
	ABOUT("EP_RDMA_READ-19");
	CHECK_NUM(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
}

CLAUSE_PASSIVE("EP_RECV-19", "EP_SEND-15")
{
	DAT_EP_ATTR attr = kit_attr();
	struct field f;
	struct kit_waiter w;
	DAT_COUNT nmore;
	DAT_EVENT event;

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	lay_out(&f, &attr);
	recvs(&f, 3);
	ABOUT("EP_RECV-19");
	CHECK_RET(dat_evd_wait(f.p.b.recv, 0, 2, &event, &nmore), DAT_INVALID_STATE);
	kit_wait_start(&w, f.p.b.recv, 1);
	for (uint64_t i = 1; i <= 2; i++)
		MUST_RET(post(&f, SEND, 0, 8, i, DEFAULT), DAT_SUCCESS);
	if (judge_solicited_are_known())
		CHECK_THAT(kit_still_waits(&w));
	ABOUT("EP_SEND-15");
	MUST_RET(post(&f, SEND, 0, 8, 3, DAT_COMPLETION_SOLICITED_WAIT_FLAG), DAT_SUCCESS);
	kit_wait_end(&w);
	CHECK_RET(w.ret, DAT_SUCCESS);
	ABOUT("EP_RECV-19");
	NEEDS(judge_solicited_are_known(), "solicited");
	CHECK_NUM(w.nmore, 2);
}

/* A peer that posts no receives must not block a post. */
CLAUSE_ACTIVE("EP_SEND-22", "EP_RDMA_WRITE-19", "EP_RDMA_READ-24", "EP_RECV-23")
{
	struct field f;
	uint64_t start;

	lay_out(&f, NULL);
	start = judge_now_ms();
	for (uint64_t i = 0; i < 4; i++) {
		ABOUT("EP_SEND-22");
		MUST_RET(kit_send(f.p.a.ep, &f.local, 0, kit_attr().max_message_size, i, DEFAULT),
			 DAT_SUCCESS);
		ABOUT("EP_RECV-23");
		MUST_RET(kit_recv(f.p.a.ep, &f.local, 0, 64, i), DAT_SUCCESS);
		ABOUT("EP_RDMA_WRITE-19");
		MUST_RET(post(&f, WRITE, 0, 64, i, DEFAULT), DAT_SUCCESS);
		ABOUT("EP_RDMA_READ-24");
		MUST_RET(post(&f, READ, 0, 64, i, DEFAULT), DAT_SUCCESS);
	}
	CHECK_THAT(judge_now_ms() - start < t.patience_ms);
}
