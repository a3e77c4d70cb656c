/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers: their order among thousands, beside a plain list that is searched; what is guaranteed after a cancel, also of a
 * timer that is firing; and after a fork.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"
#include "providers/common/core/timer.h"

#define MANY 10000

static struct datp_ia *ia;
static _Atomic int ran, gate;

static void open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;
	char name[] = "null0";

	ran = gate = 0;
	REQUIRE(null_load() != NULL);
	REQUIRE_DAT(null_registry.table->ia_open_func(name, 8, &async, &handle), DAT_SUCCESS);
	ia = handle;
}

static void close_ia(void)
{
	if (ia)
		CHECK_EQ_INT(ia_close(ia, true), DATP_OK);
	ia = NULL;
	null_unload();
}

static void count(void *arg)
{
	(void)arg;
	ran++;
}

/* ------------------------------------------------------------------ the order */

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static struct datp_timer pool[500];

static uint64_t earliest(void)
{
	uint64_t least = 0;

	for (int i = 0; i < 500; i++)
		if (timer_when(&pool[i]) && (!least || timer_when(&pool[i]) < least))
			least = timer_when(&pool[i]);
	return least;
}

/* Any timer may be removed: the root, an only child, the first and the last of many siblings. */
static void first_is_the_earliest_whatever_is_added_and_removed(void)
{
	struct timers timers = { NULL };

	memset(pool, 0, sizeof(pool));
	for (int i = 0; i < 100000; i++) {
		struct datp_timer *one = draw(8) || !timers.first ? &pool[draw(500)] : timers.first;

		if (timer_when(one))
			timers_remove(&timers, one);
		else
			timers_add(&timers, one, draw(300)); /* many are equal; 0 is one of them */
		REQUIRE((timers.first ? timer_when(timers.first) : 0) == earliest());
	}
	while (timers.first) {
		CHECK(timer_when(timers.first) == earliest());
		timers_remove(&timers, timers.first);
	}
	CHECK(earliest() == 0);
}

/* The service thread alone writes these. */
static uint64_t last;
static int early, disorder;

static void in_order(void *arg)
{
	uint64_t when = *(uint64_t *)arg;

	early += datp_clock_us() < when;
	disorder += when < last;
	last = when;
	ran++;
}

/* Half of them are cancelled, among them the earliest, and a fifth is moved; all others fire, none early, and in order. */
static void thousands_fire_in_order(void)
{
	struct datp_timer *timers = calloc(MANY, sizeof(*timers));
	uint64_t *when = calloc(MANY, sizeof(*when)), base = datp_clock_us() + 300000;
	int left = 0;

	REQUIRE(timers && when);
	last = 0;
	early = disorder = 0;
	for (int i = 0; i < MANY; i++) {
		when[i] = base + draw(200000);
		datp_timer_set(ia, &timers[i], when[i], in_order, &when[i]);
	}
	for (int i = 0; i < MANY; i += 5) {
		when[i] = base + draw(200000);
		datp_timer_set(ia, &timers[i], when[i], in_order, &when[i]);
	}
	for (int i = 0; i < MANY; i++)
		if (i % 2)
			left++;
		else if (!datp_timer_cancel(ia, &timers[i]))
			left++; /* this machine is so slow that it has fired */
	REQUIRE_SOON(ran == left);
	for (int i = 0; i < MANY; i++)
		CHECK(!datp_timer_cancel(ia, &timers[i]));
	CHECK_EQ_INT(early, 0);
	CHECK_EQ_INT(disorder, 0);
	free(timers);
	free(when);
}

/* ------------------------------------------------------------------ one timer for many deadlines */

static void timer_that_is_set_by_a_time_keeps_an_earlier_one(void)
{
	static struct datp_timer timer;
	uint64_t hour = datp_clock_us() + 3600000000u;

	datp_timer_set_by(ia, &timer, hour, count, NULL);
	CHECK(timer_when(&timer) == hour);
	datp_timer_set_by(ia, &timer, hour + 1, count, NULL);
	CHECK(timer_when(&timer) == hour);
	datp_timer_set_by(ia, &timer, hour - 1, count, NULL);
	CHECK(timer_when(&timer) == hour - 1);
	datp_timer_set_by(ia, &timer, datp_clock_us() + 1000, count, NULL);
	REQUIRE_SOON(ran == 1);
	/* it has fired, so it is not set any more, and a late time is taken */
	datp_timer_set_by(ia, &timer, hour, count, NULL);
	CHECK(datp_timer_cancel(ia, &timer));
	CHECK_EQ_INT(ran, 1);
}

/* ------------------------------------------------------------------ cancelling while it fires */

struct owned {
	struct datp_timer timer;
	int alive; /* 0 after the cancel: the callback must not see that */
};

static _Atomic int dead_seen;

static void looks_and_sets_itself(void *arg)
{
	struct owned *own = arg;

	if (!own->alive)
		dead_seen++;
	datp_timer_set(ia, &own->timer, datp_clock_us(), looks_and_sets_itself, own);
	if (!own->alive)
		dead_seen++;
	ran++;
}

/* The timer fires all the time, and sets itself; the memory is used for something else right after the cancel. */
static void cancel_meets_a_timer_that_fires(void)
{
	struct owned own;

	dead_seen = 0;
	for (int i = 0; i < 2000; i++) {
		int before = ran;

		memset(&own, 0, sizeof(own));
		own.alive = 1;
		datp_timer_set(ia, &own.timer, datp_clock_us(), looks_and_sets_itself, &own);
		if (i % 2)
			REQUIRE_SOON(ran > before + (int)draw(3));
		datp_timer_cancel(ia, &own.timer);
		CHECK(timer_when(&own.timer) == 0);
		memset(&own, 0, sizeof(own));
	}
	CHECK_EQ_INT(dead_seen, 0);
}

static void frees_itself(void *arg)
{
	struct owned *own = arg;

	CHECK(!datp_timer_cancel(ia, &own->timer));
	free(own);
	ran++;
}

static void callback_may_free_its_timer(void)
{
	for (int i = 0; i < 100; i++) {
		struct owned *own = calloc(1, sizeof(*own));

		REQUIRE(own != NULL);
		datp_timer_set(ia, &own->timer, datp_clock_us(), frees_itself, own);
	}
	REQUIRE_SOON(ran == 100);
}

static void cancels_the_other(void *arg)
{
	gate += datp_timer_cancel(ia, arg);
	ran++;
}

/* Both are due in the same round, and the first cancels the second. */
static void callback_cancels_another_timer_that_is_due(void)
{
	static struct datp_timer first, second;
	uint64_t soon = datp_clock_us() + 5000;

	datp_timer_set(ia, &second, soon + 1, count, NULL);
	datp_timer_set(ia, &first, soon, cancels_the_other, &second);
	REQUIRE_SOON(ran >= 1);
	CHECK_EQ_INT(gate, 1);
	usleep(20000);
	CHECK_EQ_INT(ran, 1);
}

/* ------------------------------------------------------------------ fork */

/* A child has none of its parent's IAs, and its own have timers; those of the parent fire in the parent, once. */
static void timer_fires_in_the_parent_alone(void)
{
	static struct datp_timer timer;
	int status = -1;
	pid_t child;

	datp_timer_set(ia, &timer, datp_clock_us() + 200000, count, NULL);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		static struct datp_timer own;
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE handle;
		char name[] = "null0";
		int bad = 0;

		usleep(400000);
		bad |= ran != 0;
		bad |= null_registry.table->ia_open_func(name, 8, &async, &handle) == DAT_SUCCESS ? 0 : 2;
		if (!bad) {
			ia = handle;
			datp_timer_set(ia, &own, datp_clock_us() + 1000, count, NULL);
			for (int i = 0; i < 5000 && !ran; i++)
				usleep(1000);
			bad |= ran == 1 ? 0 : 4;
		}
		_exit(bad);
	}
	REQUIRE_SOON(ran == 1);
	CHECK_EQ_INT(waitpid(child, &status, 0), child);
	CHECK_EQ_INT(status, 0);
	CHECK_EQ_INT(ran, 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(first_is_the_earliest_whatever_is_added_and_removed),
	CHECK_TEST(thousands_fire_in_order),
	CHECK_TEST(timer_that_is_set_by_a_time_keeps_an_earlier_one),
	CHECK_TEST(cancel_meets_a_timer_that_fires),
	CHECK_TEST(callback_may_free_its_timer),
	CHECK_TEST(callback_cancels_another_timer_that_is_due),
	CHECK_TEST(timer_fires_in_the_parent_alone),
	CHECK_END
};

static const struct check_suite suite = { .name = "libdatp timers", .setup = open_ia, .teardown = close_ia, .tests = tests };

CHECK_SUITES(&suite);
