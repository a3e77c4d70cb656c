/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrappers and threads: a wait that is cancelled, and a handle that is freed by another thread. */
#include <pthread.h>
#include <time.h>

#include "registry_env.h"

extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia);

#define SOFT   "soft0 u1.2 nonthreadsafe default ./.libs/libdatsoft.so opendat.1.0 \"\" \"\"\n"
#define WATCH(name, beneath) \
	name " u1.2 nonthreadsafe default ./.libs/watch.so mine.1.0 \"" beneath "\" \"\"\n"
#define CONF   SOFT WATCH("inner", "soft0") WATCH("outer", "inner")

static DAT_EVD_HANDLE evd;
static DAT_CNO_HANDLE cno;
static bool waits_for_cno;
static int cancel_type;

static DAT_RETURN wait(DAT_TIMEOUT timeout)
{
	DAT_COUNT more;
	DAT_EVENT event;
	DAT_EVD_HANDLE which;

	return waits_for_cno ? dat_cno_wait(cno, timeout, &which)
			     : dat_evd_wait(evd, timeout, 1, &event, &more);
}

static bool settings_are_kept(void)
{
	int type, state;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	pthread_setcanceltype(cancel_type, &type);
	return state == PTHREAD_CANCEL_ENABLE && type == cancel_type;
}

/* Waits until it is cancelled. If anything else ends it, the thread that joins it gets what that was. */
static void *waiter(void *arg)
{
	static DAT_RETURN ret;
	int type, state;

	(void)arg;
	pthread_setcanceltype(cancel_type, &type);
	do
		ret = wait(200);
	while (DAT_GET_TYPE(ret) == (waits_for_cno ? DAT_QUEUE_EMPTY : DAT_TIMEOUT_EXPIRED) &&
	       settings_are_kept());
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return &ret;
}

/* Takes so long without a call into the kernel: one that yields the processor takes as long as others keep it. */
static void spin_ns(uint64_t ns)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((uint64_t)(now.tv_sec - begin.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec <
	       (uint64_t)begin.tv_nsec + ns);
}

static void cancel_waits(int type)
{
	DAT_IA_HANDLE ia = open_or_fail("outer");
	DAT_OS_WAIT_PROXY_AGENT none = DAT_OS_WAIT_PROXY_AGENT_NULL;
	pthread_t thread;
	void *end;

	cancel_type = type;
	REQUIRE_DAT(dat_cno_create(ia, none, &cno), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
		    DAT_SUCCESS);
	for (int i = 0; i < 200; i++) {
		waits_for_cno = i & 1;
		REQUIRE_EQ_INT(pthread_create(&thread, NULL, waiter, NULL), 0);
		spin_ns((uint64_t)i * 5000);	/* anywhere in it */
		REQUIRE_EQ_INT(pthread_cancel(thread), 0);
		REQUIRE_EQ_INT(pthread_join(thread, &end), 0);
		if (end != PTHREAD_CANCELED)
			REQUIRE_FAIL("the wait ended with %#x", *(DAT_RETURN *)end);
	}
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

TEST_WITH(hooks_are_not_cancelled_and_the_wait_beneath_is, CONF)
{
	cancel_waits(PTHREAD_CANCEL_DEFERRED);
}

TEST_WITH(hooks_are_not_cancelled_at_any_instant_either, CONF)
{
	cancel_waits(PTHREAD_CANCEL_ASYNCHRONOUS);
}

/* libdat has read the handle's first word already when another thread frees the object. */
TEST_WITH(an_object_freed_on_the_way_through_is_an_invalid_handle, CONF)
{
	DAT_IA_HANDLE ia = open_or_fail("outer"), object;
	const DAT_PROVIDER *freed = NULL, *table;
	DAT_RSP_PARAM param;

	REQUIRE_DAT(dats_get_ia_handle((uintptr_t)ia, &object), DAT_SUCCESS);
	table = *(const DAT_PROVIDER **)object;
	CHECK_DAT(table->rsp_free_func(&freed), DAT_INVALID_HANDLE);
	CHECK_DAT(table->rsp_query_func(&freed, 0, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(table->evd_free_func(&freed), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* The adapter beneath is open without the wrapper too, and one EVD takes the errors of both. */
TEST_WITH(an_evd_of_the_unwrapped_adapter_stays_unwrapped, CONF)
{
	DAT_IA_HANDLE plain = open_or_fail("soft0"), ia;
	DAT_EVD_HANDLE mine, seen;
	DAT_EVD_PARAM param;

	REQUIRE_DAT(dat_evd_create(plain, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG, &mine),
		    DAT_SUCCESS);
	seen = mine;
	REQUIRE_DAT(dat_ia_open("outer", 8, &seen, &ia), DAT_SUCCESS);
	CHECK_DAT(dat_ia_query(ia, &seen, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK(seen == mine);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_evd_query(mine, DAT_EVD_FIELD_EVD_FLAGS, &param), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(mine), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(plain, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static const struct check_test tests[] = {
	CHECK_TEST(hooks_are_not_cancelled_and_the_wait_beneath_is),
	CHECK_TEST(hooks_are_not_cancelled_at_any_instant_either),
	CHECK_TEST(an_object_freed_on_the_way_through_is_an_invalid_handle),
	CHECK_TEST(an_evd_of_the_unwrapped_adapter_stays_unwrapped),
	CHECK_END
};

static const struct check_suite wrap = { .name = "wrap", .tests = tests };
CHECK_SUITES(&wrap);
