/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that gives itself rights: it writes over the victim's table of regions, which all peers can write to, and leaves its
 * request for the victim to execute. The victim executes what its own record allows, and nothing else.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <datp/ext.h>

#include "api.h"
#include "hostile.h"

enum { SIZE = 4096, RIGHTS = DAT_MEM_PRIV_ALL_FLAG, PATIENCE = 5000 };
enum { SELF_SIZE = 65536 };
enum { OURS = 0x77, THEIRS = 0xee };

/* A request to `good`, which the victim has offered, and one to `bad`, for which the peer forges the right. */
struct plan {
	uint32_t op;
	uint32_t good, bad;
	uint64_t good_at, bad_at;
};

static struct api_end end;
static struct api_pair pair;
static struct api_buf open, secret;

/* ------------------------------------------------------------------ the peer */

static void *theirs(const struct hostile *h, const struct soft_ref *ref)
{
	return h->their_at + ref->extent + ref->offset;
}

/* Leaves a request to the victim, and returns how it has ended. */
static uint8_t leave(struct hostile *h, uint32_t op, uint32_t context, uint64_t at)
{
	struct soft_port *port = h->own.port, *their = theirs(h, &h->theirs.port_ref);
	struct soft_ring *ring = theirs(h, &h->theirs.ring_ref);
	uint32_t seq = atomic_load(&port->sq_posted);
	struct soft_sqe *e = soft_port_sqe(port, &h->own.layout, seq);
	bool word = op == DATP_FETCH_ADD;
	uint64_t until = check_now_ms() + PATIENCE;

	atomic_store(&port->exec_lock, (uint64_t)1 << 32);
	e->op = (uint8_t)op;
	e->n = 1;
	e->len = word ? sizeof(uint64_t) : SIZE;
	e->operand = 1;
	e->remote = (struct datp_rge){ context, 0, at, e->len };
	e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, e->len };
	atomic_store(&port->sq_posted, seq + 1);
	atomic_store(&port->waits, 1);
	atomic_store(&their->ready_link[SOFT_SIDE_RECV].queued, 1);
	atomic_store(&their->ready_link[SOFT_SIDE_RECV].next, 0);
	atomic_store(&ring->ready_list, (h->theirs.my_port << 1) + 1);
	while (atomic_load(&port->sq_done) == seq && check_now_ms() < until)
		usleep(1000);
	REQUIRE(atomic_load(&port->sq_done) == seq + 1);
	return e->status;
}

/* Makes the entry of the table say that the peer may do everything with the memory. */
static void forge(struct hostile *h, const struct plan *plan)
{
	const struct soft_header *header = theirs(h, &h->theirs.intro.header);
	struct soft_mr *mr = (struct soft_mr *)theirs(h, &header->mr) + SOFT_MR_INDEX(plan->bad);
	struct soft_port *their = theirs(h, &h->theirs.port_ref);

	atomic_store(&mr->priv, RIGHTS | DATP_MEM_PRIV_REMOTE_ATOMIC);
	atomic_store(&mr->pz, their->pz);
	atomic_store(&mr->addr, plan->bad_at);
	atomic_store(&mr->len, SIZE);
}

static void attack(void *arg)
{
	DAT_CONN_QUAL qual;
	struct plan plan;
	struct hostile h;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, qual);
	check_get(CHECK_PARENT, &plan, sizeof(plan));
	memset(hostile_data, THEIRS, SIZE);
	/* DAT 1.2 gives nobody the right to an atomic operation */
	CHECK_EQ_INT(leave(&h, plan.op == DATP_FETCH_ADD ? DATP_RDMA_WRITE : plan.op, plan.good, plan.good_at), DAT_DTO_SUCCESS);
	forge(&h, &plan);
	memset(hostile_data, THEIRS, SIZE);
	CHECK_EQ_INT(leave(&h, plan.op, plan.bad, plan.bad_at), DAT_DTO_ERR_REMOTE_ACCESS);
	for (size_t i = 0; i < SIZE; i++)
		if (hostile_data[i] != THEIRS) {
			CHECK_FAIL("byte %zu has been read", i);
			break;
		}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static struct api_buf region(DAT_PZ_HANDLE pz, int rights)
{
	void *mem = api_memory(SIZE);

	memset(mem, OURS, SIZE);
	return api_buf_in(pz, mem, SIZE, (DAT_MEM_PRIV_FLAGS)rights);
}

/* Returns the peer, which is connected. */
static pid_t victim_opens(void)
{
	pid_t attacker = check_fork(attack, NULL);
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	open = region(api.pz, RIGHTS);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	check_put(attacker, &qual, sizeof(qual));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	return attacker;
}

/* The polls execute what the peer leaves. */
static void *poll_on(void *arg)
{
	const atomic_bool *over = arg;
	DAT_EVENT event;

	while (!atomic_load(over))
		(void)dat_evd_dequeue(end.recv, &event);
	return NULL;
}

static void be_attacked(pid_t attacker, const struct plan *plan)
{
	atomic_bool over = false;
	pthread_t poller;

	check_put(attacker, plan, sizeof(*plan));
	REQUIRE(pthread_create(&poller, NULL, poll_on, &over) == 0);
	check_await(attacker);
	atomic_store(&over, true);
	pthread_join(poller, NULL);
	for (size_t i = 0; i < SIZE; i++)
		if (secret.mem[i] != OURS) {
			CHECK_FAIL("byte %zu has been overwritten", i);
			break;
		}
	check_signal(attacker);
	check_join(attacker);
}

/* The peer asks for this operation on a region with these rights, in the zone of the endpoint or in another one. */
static void region_is_attacked(uint32_t op, int rights, bool beside)
{
	pid_t attacker = victim_opens();
	struct plan plan = { .op = op, .good = open.rmr_context, .good_at = (uintptr_t)open.mem };

	secret = region(beside ? api_pz() : api.pz, rights);
	plan.bad = secret.lmr_context;
	plan.bad_at = (uintptr_t)secret.mem;
	be_attacked(attacker, &plan);
}

static void region_without_the_right_is_not_read(void)
{
	region_is_attacked(DATP_RDMA_READ, RIGHTS & ~DAT_MEM_PRIV_REMOTE_READ_FLAG, false);
}

static void region_without_the_right_is_not_written(void)
{
	region_is_attacked(DATP_RDMA_WRITE, RIGHTS & ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG, false);
}

static void word_without_the_right_is_not_changed(void)
{
	region_is_attacked(DATP_FETCH_ADD, DAT_MEM_PRIV_ALL_FLAG, false);
}

static void region_of_another_zone_is_not_read(void)
{
	region_is_attacked(DATP_RDMA_READ, RIGHTS, true);
}

static void region_of_another_zone_is_not_written(void)
{
	region_is_attacked(DATP_RDMA_WRITE, RIGHTS, true);
}

static DAT_RMR_CONTEXT bound(struct api_buf *buf, size_t length, int rights)
{
	DAT_LMR_TRIPLET segment = api_seg(buf, 0, length);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &segment, (DAT_MEM_PRIV_FLAGS)rights, end.ep, api_cookie(1), 0, &context), DAT_SUCCESS);
	API_BIND(end.request, rmr, 1, DAT_DTO_SUCCESS);
	return context;
}

/* The same for windows: a good one, and one with these rights to a part of its region. */
static void window_is_attacked(uint32_t op, int rights, size_t length)
{
	pid_t attacker = victim_opens();
	struct plan plan = { .op = op, .good_at = (uintptr_t)open.mem };

	secret = region(api.pz, RIGHTS);
	plan.good = bound(&open, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	plan.bad = bound(&secret, length, rights);
	plan.bad_at = (uintptr_t)secret.mem;
	be_attacked(attacker, &plan);
}

static void window_without_the_right_is_not_read(void)
{
	window_is_attacked(DATP_RDMA_READ, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, SIZE);
}

static void window_without_the_right_is_not_written(void)
{
	window_is_attacked(DATP_RDMA_WRITE, DAT_MEM_PRIV_REMOTE_READ_FLAG, SIZE);
}

static void word_in_a_window_without_the_right_is_not_changed(void)
{
	window_is_attacked(DATP_FETCH_ADD, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, SIZE);
}

static void window_is_not_stretched(void)
{
	window_is_attacked(DATP_RDMA_WRITE, DAT_MEM_PRIV_ALL_FLAG, SIZE / 2);
}

/* ------------------------------------------------------------------ a connection of the victim with itself */

/* What the peer looks for in the victim's arena, and what it writes there. */
struct aim {
	DAT_CONN_QUAL qual;
	uint64_t receive, secret;
};

/* Moves the victim's receive to the secret, and stretches the region over all memory. */
static void misdirect(void *arg)
{
	const struct soft_header *header;
	struct hostile h;
	struct aim aim;
	uint64_t *words;
	size_t first, last, found = 0;

	(void)arg;
	check_get(CHECK_PARENT, &aim, sizeof(aim));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, aim.qual);
	check_await(CHECK_PARENT);
	header = theirs(&h, &h.theirs.intro.header);
	first = (header->mr.extent + header->mr.offset) / sizeof(*words);
	last = first + SOFT_MR_COUNT * sizeof(struct soft_mr) / sizeof(*words);
	words = (uint64_t *)(void *)h.their_at;
	for (size_t i = 0; i + 1 < h.their_size / sizeof(*words); i++) {
		bool table = i >= first && i < last;

		if (words[i] != aim.receive || words[i + 1] != SELF_SIZE)
			continue;
		words[i] = table ? 0 : aim.secret;
		if (table)
			words[i + 1] = UINT64_MAX >> 1;
		found++;
	}
	CHECK_EQ_INT(found, 2);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void message_to_oneself_stays_in_its_region(void)
{
	static unsigned char beside[SELF_SIZE];
	struct aim aim = { .secret = (uintptr_t)beside };
	struct api_buf in, out;
	pid_t attacker = check_fork(misdirect, NULL);
	DAT_EVD_HANDLE cr_evd;

	api_open();
	api_end_make(&end, NULL);
	in = api_buf(SELF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	out = api_buf(SELF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	memset(out.mem, THEIRS, SELF_SIZE);
	memset(beside, OURS, SELF_SIZE);
	aim.receive = (uintptr_t)in.mem;
	memset(&pair, 0, sizeof(pair));
	api_pair_make(&pair, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &aim.qual);
	check_put(attacker, &aim, sizeof(aim));
	REQUIRE_DAT(api_recv(pair.b.ep, &in, 0, SELF_SIZE, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(attacker);
	check_await(attacker);
	REQUIRE_DAT(api_send(pair.a.ep, &out, 0, SELF_SIZE, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION, API_ANY_LENGTH);
	for (size_t i = 0; i < SELF_SIZE; i++)
		if (beside[i] != OURS) {
			CHECK_FAIL("byte %zu has been overwritten", i);
			break;
		}
	check_signal(attacker);
	check_join(attacker);
}

static int over_soft(void)
{
	return unsetenv("OPENDAT_TEST_IA");
}

static const struct check_test tests[] = {
	CHECK_TEST(region_without_the_right_is_not_read),
	CHECK_TEST(region_without_the_right_is_not_written),
	CHECK_TEST(word_without_the_right_is_not_changed),
	CHECK_TEST(region_of_another_zone_is_not_read),
	CHECK_TEST(region_of_another_zone_is_not_written),
	CHECK_TEST(window_without_the_right_is_not_read),
	CHECK_TEST(window_without_the_right_is_not_written),
	CHECK_TEST(word_in_a_window_without_the_right_is_not_changed),
	CHECK_TEST(window_is_not_stretched),
	CHECK_TEST(message_to_oneself_stays_in_its_region),
	CHECK_END
};
static const struct check_suite suite = { .name = "rights", .init = over_soft, .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
