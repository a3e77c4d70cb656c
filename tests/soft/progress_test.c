/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of another process that fall to an adapter's own thread, because no thread of its program polls: long messages to an
 * SRQ, and an RDMA Read and Write behind one that waits for a buffer. All are executed, in order, without a call of this side.
 */
#include <string.h>

#include "api.h"

/* more than the thread copies in one piece, and not a multiple of it */
enum { LEN = 700001, MESSAGES = 8, ROOM = MESSAGES * LEN };

static struct api_end end;
static struct api_buf buf;

static unsigned char pattern(size_t i, unsigned int seed)
{
	return (unsigned char)(i * 7 + i / 251 + seed);
}

static void fill(unsigned char *mem, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		mem[i] = pattern(i, seed);
}

static bool holds(const unsigned char *mem, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != pattern(i, seed))
			return false;
	return true;
}

/* ------------------------------------------------------------------ the peer */

/* Sends messages of 700,001 bytes and of 8 in turn; then one that finds no buffer, with a read and a write behind it. */
static void peer(void *arg)
{
	struct api_offer there;

	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof there);
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4 * LEN, DAT_MEM_PRIV_ALL_FLAG);
	fill(buf.mem, LEN, 1);
	fill(buf.mem + LEN, LEN, 2);
	api_connect_to(&end, &there.address, there.qual);
	for (int i = 0; i < MESSAGES; i++) {
		REQUIRE_DAT(api_send(end.ep, &buf, 0, i % 2 ? 8 : LEN, (DAT_UINT64)i, 0), DAT_SUCCESS);
		API_DTO(end.request, end.ep, (DAT_UINT64)i, DAT_DTO_SUCCESS, i % 2 ? 8 : LEN);
	}
	REQUIRE_DAT(api_send(end.ep, &buf, LEN, LEN, 20, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_read(end.ep, api_seg(&buf, 2 * LEN, LEN), api_offer_part(&there, 0, LEN), 21, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, LEN, LEN), api_offer_part(&there, LEN, LEN), 22, 0), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	API_DTO(end.request, end.ep, 20, DAT_DTO_SUCCESS, LEN);
	API_DTO(end.request, end.ep, 21, DAT_DTO_SUCCESS, LEN);
	API_DTO(end.request, end.ep, 22, DAT_DTO_SUCCESS, LEN);
	CHECK(holds(buf.mem + 2 * LEN, LEN, 3));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* ------------------------------------------------------------------ the test */

static DAT_SRQ_HANDLE srq;
static struct api_buf target;

static void post(int i)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, (size_t)i * LEN, LEN);

	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie((DAT_UINT64)i)), DAT_SUCCESS);
}

static pid_t peer_meets(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = MESSAGES, .max_recv_iov = 1 };
	DAT_EP_ATTR end_attr = { .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };
	pid_t pid = check_fork(peer, NULL);
	DAT_EVD_HANDLE cr_evd;
	struct api_offer here;

	api_open();
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	api_end_make_shared(&end, srq, &end_attr);
	buf = api_buf(ROOM, DAT_MEM_PRIV_ALL_FLAG);
	target = api_buf(2 * LEN, DAT_MEM_PRIV_ALL_FLAG);
	fill(target.mem, LEN, 3);
	for (int i = 0; i < MESSAGES; i++)
		post(i);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&here, cr_evd, &target);
	check_put(pid, &here, sizeof here);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	return pid;
}

static void requests_are_executed_though_nobody_polls(void)
{
	pid_t pid = peer_meets();

	/* the last message waits for a buffer, and the read and the write for it */
	check_await(pid);
	CHECK(target.mem[LEN] == 0);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < MESSAGES; i++) {
		API_DTO(end.recv, end.ep, (DAT_UINT64)i, DAT_DTO_SUCCESS, i % 2 ? 8 : LEN);
		CHECK(holds(buf.mem + (size_t)i * LEN, i % 2 ? 8 : LEN, 1));
	}
	post(0);
	check_await(pid);
	CHECK(holds(target.mem + LEN, LEN, 2));
	API_DTO(end.recv, end.ep, 0, DAT_DTO_SUCCESS, LEN);
	CHECK(holds(buf.mem, LEN, 2));
	check_signal(pid);
	check_join(pid);
	api_close();
}

static const struct check_test tests[] = { CHECK_TEST(requests_are_executed_though_nobody_polls), CHECK_END };

static const struct check_suite suite = { .name = "progress", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
