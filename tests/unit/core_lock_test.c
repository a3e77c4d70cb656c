/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks without a bias: a thread that sleeps on one gets its turn before the holder can take the lock again. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "providers/common/base/lock.h"
#include "providers/common/base/turn.h"

#define TURNS	50
#define TURN_MS 100 /* for how long a thread is awaited */
#define GIVE_MS 3   /* and one that does not sleep */

static _Atomic uint32_t lock;
static _Atomic pid_t sleeper;
static _Atomic bool leaves;
static _Atomic int taken;

static void *take_and_keep(void *arg)
{
	sleeper = gettid();
	datp_lock(&lock);
	while (!leaves)
		check_nap();
	datp_unlock(&lock);
	return arg;
}

static void sleeper_gets_the_lock_before_its_holder_takes_it_again(void)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_t thread;
		uint64_t began;
		bool passed_by;

		sleeper = 0;
		leaves = false;
		datp_lock(&lock);
		REQUIRE_EQ_INT(pthread_create(&thread, NULL, take_and_keep, NULL), 0);
		CHECK_SOON(sleeper && lock == LOCK_SLEPT_ON && check_sleeps(sleeper));
		began = check_now_ms();
		datp_unlock_in_turn(&lock);
		passed_by = datp_trylock(&lock);
		/* the bound may pass on a very busy machine, before the sleeper gets a processor */
		CHECK(!passed_by || check_now_ms() - began >= TURN_MS);
		if (passed_by)
			datp_unlock(&lock);
		leaves = true;
		pthread_join(thread, NULL);
		CHECK_EQ_INT(lock, LOCK_FREE);
	}
}

static void *take_and_leave(void *arg)
{
	sleeper = gettid();
	datp_lock(&lock);
	datp_unlock(&lock);
	return arg;
}

/* It has had its turn, and may have released the lock before anybody looks. */
static void sleeper_that_leaves_at_once_is_awaited_no_longer(void)
{
	uint64_t waited = 0;

	for (int i = 0; i < TURNS; i++) {
		pthread_t thread;
		uint64_t began;

		sleeper = 0;
		datp_lock(&lock);
		REQUIRE_EQ_INT(pthread_create(&thread, NULL, take_and_leave, NULL), 0);
		CHECK_SOON(sleeper && lock == LOCK_SLEPT_ON && check_sleeps(sleeper));
		began = check_now_ms();
		datp_unlock_in_turn(&lock);
		waited += check_now_ms() - began;
		pthread_join(thread, NULL);
	}
	CHECK(waited < TURNS * TURN_MS / 2);
}

static void nobody_is_awaited_if_nobody_sleeps(void)
{
	datp_lock(&lock);
	datp_unlock_in_turn(&lock);
	CHECK_EQ_INT(lock, LOCK_FREE);
	lock = LOCK_SLEPT_ON; /* so it is while the last one that has slept holds it */
	datp_unlock_in_turn(&lock);
	CHECK_EQ_INT(lock, LOCK_FREE);
}

/* It has had its turn when it has the lock, and comes again when it has tried in vain once more. */
static void nobody_is_awaited_who_has_had_a_turn(void)
{
	uint64_t began = check_now_ms();

	for (int i = 0; i < TURNS; i++) {
		datp_turn_want(&lock);
		CHECK(datp_turn_is_wanted(&lock));
		datp_turn_had(&lock);
		CHECK(!datp_turn_is_wanted(&lock));
		datp_turn_give(&lock);
	}
	CHECK(check_now_ms() - began < TURNS * GIVE_MS);
}

static void thread_that_does_not_come_is_awaited_once(void)
{
	uint64_t began = check_now_ms();

	datp_turn_want(&lock);
	datp_turn_give(&lock);
	CHECK(check_now_ms() - began >= GIVE_MS - 1);
	CHECK(!datp_turn_is_wanted(&lock));
}

static void *want_and_take(void *arg)
{
	while (!leaves) {
		if (datp_trylock(&lock)) {
			datp_turn_had(&lock);
			atomic_fetch_add(&taken, 1);
			datp_unlock(&lock);
		} else {
			datp_turn_want(&lock);
		}
		check_nap();
	}
	return arg;
}

/* The holder has the lock nearly all the time, and the other thread does not sleep on it. */
static void thread_that_tries_gets_the_lock(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	pthread_t thread;

	leaves = false;
	taken = 0;
	datp_lock(&lock);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, want_and_take, NULL), 0);
	while (taken < TURNS && check_now_ms() < until) {
		check_nap();
		datp_unlock(&lock);
		datp_turn_give(&lock);
		datp_lock(&lock);
	}
	CHECK_EQ_INT(taken >= TURNS, 1);
	datp_unlock(&lock);
	leaves = true;
	pthread_join(thread, NULL);
	datp_turn_had(&lock);
}

static const struct check_test tests[] = { CHECK_TEST(sleeper_gets_the_lock_before_its_holder_takes_it_again),
					   CHECK_TEST(sleeper_that_leaves_at_once_is_awaited_no_longer),
					   CHECK_TEST(nobody_is_awaited_if_nobody_sleeps),
					   CHECK_TEST(nobody_is_awaited_who_has_had_a_turn),
					   CHECK_TEST(thread_that_does_not_come_is_awaited_once),
					   CHECK_TEST(thread_that_tries_gets_the_lock), CHECK_END };

static const struct check_suite suite = { .name = "libdatp locks", .tests = tests };

CHECK_SUITES(&suite);
