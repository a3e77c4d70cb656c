/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two adapters of one process that are connected with each other. A thread works for the first one and writes into memory of the
 * second one. It takes longer than the bound that there is for peers, because its source is under userfaultfd(2). The region is not
 * freed before the thread is done, whatever the execution lock says, which every peer of either adapter can write to; nor does the
 * connection end. A thread of the same adapter that writes without a pause is waited for once.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

enum { LEN = TRAP_LEN, QUIET_MS = 300 }; /* three times the bound of the adapters */

static struct other {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr, connect, dto;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_RMR_TRIPLET memory;
} other;

static unsigned char memory[LEN];
static DAT_LMR_HANDLE source_lmr;
static DAT_LMR_TRIPLET source;
static _Atomic bool freed;

/* Registers memory, and returns where it is for a peer. */
static DAT_LMR_TRIPLET region_make(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, unsigned char *at, DAT_LMR_HANDLE *lmr,
				   DAT_RMR_TRIPLET *remote)
{
	DAT_REGION_DESCRIPTION region = { .for_va = at };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN len;
	DAT_VADDR addr;

	REQUIRE_DAT(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, pz, DAT_MEM_PRIV_ALL_FLAG, lmr, &context, &rmr_context,
				   &len, &addr),
		    DAT_SUCCESS);
	if (remote)
		*remote = (DAT_RMR_TRIPLET){ .rmr_context = rmr_context, .target_address = (uintptr_t)at, .segment_length = LEN };
	return (DAT_LMR_TRIPLET){ .lmr_context = context, .virtual_address = (uintptr_t)at, .segment_length = LEN };
}

static void other_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	memset(&other, 0, sizeof(other));
	REQUIRE_DAT(dat_ia_open((char *)"soft-hasty", 8, &async, &other.ia), DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_create(other.ia, &other.pz), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_create(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &other.cr), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_create(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &other.connect), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_create(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &other.dto), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(other.ia, other.pz, other.dto, other.dto, other.connect, NULL, &other.ep), DAT_SUCCESS);
	(void)region_make(other.ia, other.pz, memory, &other.lmr, &other.memory);
	REQUIRE_DAT(dat_psp_create_any(other.ia, &victim.qual, other.cr, DAT_PSP_CONSUMER_FLAG, &other.psp), DAT_SUCCESS);
}

static void connect_the_two(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	api_open_as((char *)"soft-hasty");
	api_end_make(&victim.end, NULL);
	other_open();
	REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_wait(other.cr, api_patience(), 1, &event, &more), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, other.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void *write_to_other(void *arg)
{
	(void)arg;
	CHECK_DAT(dat_ep_post_rdma_write(victim.end.ep, 1, &source, api_cookie(1), &other.memory, DAT_COMPLETION_DEFAULT_FLAG),
		  DAT_SUCCESS);
	return NULL;
}

static void *free_region(void *arg)
{
	(void)arg;
	CHECK_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	atomic_store(&freed, true);
	return NULL;
}

static void *end_connection(void *arg)
{
	(void)arg;
	CHECK_DAT(dat_ep_disconnect(other.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	atomic_store(&freed, true);
	return NULL;
}

/* Does what a third process can do that is connected with the first adapter. */
static void lock_is_said_to_be_free(void)
{
	_Atomic uint64_t *lock = &((struct soft_ep *)victim.end.ep)->port->exec_lock;
	uint64_t word = atomic_load(lock);

	CHECK(word & SOFT_EXEC_HELD);
	atomic_store(lock, SOFT_EXEC_NEXT(word, SOFT_EXEC_GEN(word)));
}

/* A thread writes to the region, and another one frees it, or ends the connection. */
static void call_during_a_write(void *(*call)(void *arg), bool lies)
{
	pthread_t writes, frees;

	connect_the_two();
	memset(memory, 0x55, sizeof(memory));
	source = region_make(api.ia, api.pz, trap_at(), &source_lmr, NULL);
	if (!trap_set())
		check_skip(TRAP_NONE);
	atomic_store(&freed, false);
	REQUIRE(pthread_create(&writes, NULL, write_to_other, NULL) == 0);
	trap_await();
	if (lies)
		lock_is_said_to_be_free();
	REQUIRE(pthread_create(&frees, NULL, call, NULL) == 0);
	for (uint64_t until = check_now_ms() + QUIET_MS; check_now_ms() < until; check_nap())
		CHECK(!atomic_load(&freed));
	CHECK_EQ_INT(memory[LEN - 1], 0x55);
	trap_release();
	REQUIRE(pthread_join(writes, NULL) == 0);
	REQUIRE(pthread_join(frees, NULL) == 0);
	CHECK_EQ_INT(memory[LEN - 1], 0);
	if (!lies && call == free_region)
		API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, LEN);
	REQUIRE_DAT(dat_ia_close(other.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api_close();
}

static void region_is_not_freed_before_a_thread_has_written_there(void)
{
	call_during_a_write(free_region, false);
}

static void region_is_not_freed_whatever_the_execution_lock_says(void)
{
	call_during_a_write(free_region, true);
}

static void connection_does_not_end_before_a_thread_has_written_there(void)
{
	call_during_a_write(end_connection, false);
}

/* ------------------------------------------------------------------ a thread that writes without a pause */

enum { LONG = 4 << 20, FEW = 200 };

static struct {
	struct api_pair pair;
	struct api_buf buf;
	_Atomic uint32_t writes;
	_Atomic bool over;
} busy;

static void *write_without_pause(void *arg)
{
	DAT_LMR_TRIPLET from = api_seg(&busy.buf, 0, LONG);
	DAT_RMR_TRIPLET to = api_target(&busy.buf, LONG, LONG);

	(void)arg;
	while (!atomic_load(&busy.over)) {
		REQUIRE_DAT(dat_ep_post_rdma_write(busy.pair.a.ep, 1, &from, api_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_SUCCESS);
		API_DTO(busy.pair.a.request, busy.pair.a.ep, 1, DAT_DTO_SUCCESS, LONG);
		atomic_fetch_add(&busy.writes, 1);
	}
	return NULL;
}

static void end_of_a_window_waits_once_for_a_thread_that_writes_without_a_pause(void)
{
	struct api_pair pair = { 0 };
	DAT_LMR_TRIPLET range;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	pthread_t writes;
	uint32_t before;

	memset(&busy, 0, sizeof(busy));
	api_open_as((char *)"soft0");
	api_pair_make(&busy.pair, NULL);
	api_pair_make(&pair, NULL);
	busy.buf = api_buf(2 * LONG, DAT_MEM_PRIV_ALL_FLAG);
	victim.buf = api_buf(LEN, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE(pthread_create(&writes, NULL, write_without_pause, NULL) == 0);
	REQUIRE_SOON(atomic_load(&busy.writes) > 0);
	for (uint64_t i = 0; i < 2; i++) { /* the second one ends what the first one has bound */
		range = api_seg(&victim.buf, 0, i ? 0 : LEN);
		before = atomic_load(&busy.writes);
		REQUIRE_DAT(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, pair.a.ep, api_cookie(i),
					 DAT_COMPLETION_DEFAULT_FLAG, &context),
			    DAT_SUCCESS);
		API_BIND(pair.a.request, rmr, i, DAT_RMR_BIND_SUCCESS);
		CHECK(atomic_load(&busy.writes) - before < FEW);
	}
	before = atomic_load(&busy.writes);
	REQUIRE_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	CHECK(atomic_load(&busy.writes) - before < FEW);
	atomic_store(&busy.over, true);
	REQUIRE(pthread_join(writes, NULL) == 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(region_is_not_freed_before_a_thread_has_written_there),
	CHECK_TEST(region_is_not_freed_whatever_the_execution_lock_says),
	CHECK_TEST(connection_does_not_end_before_a_thread_has_written_there),
	CHECK_TEST(end_of_a_window_waits_once_for_a_thread_that_writes_without_a_pause),
	CHECK_END
};

static const struct check_suite suite = { .name = "two adapters of one process", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
