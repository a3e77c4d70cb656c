/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Biased locks with real threads: which thread becomes the owner, what revokes the bias, and that no two threads hold
 * the lock at once. tests/soft/model_bias_test.c tries every order of the steps.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "check.h"
#include "providers/common/base/bias.h"
#include "providers/common/base/lock.h"

#define SECTIONS 200 /* critical sections in a row: enough for the bias */

static struct datp_bias bias;
static _Atomic uint32_t lock;
static uint64_t guarded;

static void set_up(void)
{
	lock = LOCK_FREE;
	guarded = 0;
	datp_bias_init(&bias);
}

static void needs_biases(void)
{
	if (bias.enough == UINT32_MAX)
		check_skip("no biased locks: no membarrier() here, or the thread sanitizer, which does not know it");
}

static void section(void)
{
	bool biased = datp_bias_lock(&bias, &lock);

	guarded++;
	datp_bias_unlock(&bias, &lock, biased);
}

static void sections(int n)
{
	for (int i = 0; i < n; i++)
		section();
}

static void plain_section(void)
{
	datp_lock(&lock);
	guarded++;
	datp_unlock(&lock);
}

static void *another_sections(void *arg)
{
	(void)arg;
	sections(SECTIONS);
	return NULL;
}

static void *another_plain_section(void *arg)
{
	(void)arg;
	plain_section();
	return NULL;
}

static void in_another_thread(void *(*run)(void *))
{
	pthread_t thread;

	REQUIRE_EQ_INT(pthread_create(&thread, NULL, run, NULL), 0);
	pthread_join(thread, NULL);
}

static void thread_that_comes_again_and_again_becomes_the_owner(void)
{
	needs_biases();
	sections(SECTIONS);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	CHECK(bias.owner == datp_thread());
	CHECK_EQ_INT(guarded, SECTIONS);
	CHECK(!datp_trylock(&lock));
}

static void another_thread_takes_it_away(void)
{
	needs_biases();
	sections(SECTIONS);
	in_another_thread(another_plain_section);
	CHECK_EQ_INT(lock, LOCK_FREE);
	CHECK_EQ_INT(bias.owner, 0);
	CHECK_EQ_INT(guarded, SECTIONS + 1);
	sections(2 * SECTIONS);
	CHECK_EQ_INT(lock, LOCK_BIASED);
}

static void owner_takes_it_as_any_lock_too(void)
{
	needs_biases();
	sections(SECTIONS);
	plain_section();
	CHECK_EQ_INT(lock, LOCK_FREE);
	sections(SECTIONS);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	CHECK_EQ_INT(guarded, 2 * SECTIONS + 1);
}

static void only_the_first_owner_becomes_it_again(void)
{
	needs_biases();
	sections(SECTIONS);
	in_another_thread(another_sections);
	CHECK_EQ_INT(lock, LOCK_FREE);
	CHECK_EQ_INT(guarded, 2 * SECTIONS);
}

static void lock_of_a_thread_that_has_ended_is_free(void)
{
	needs_biases();
	in_another_thread(another_sections);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	plain_section();
	CHECK_EQ_INT(lock, LOCK_FREE);
	CHECK_EQ_INT(guarded, SECTIONS + 1);
}

static void without_its_bias_it_is_a_lock_as_any(void)
{
	sections(SECTIONS);
	datp_bias_fini(&bias, &lock);
	CHECK_EQ_INT(lock, LOCK_FREE);
	sections(SECTIONS);
	CHECK_EQ_INT(lock, LOCK_FREE);
	plain_section();
	CHECK_EQ_INT(guarded, 2 * SECTIONS + 1);
}

static _Atomic bool inside;

static void *another_stays_inside(void *arg)
{
	struct timespec a_while = { .tv_nsec = 50000000 };
	bool biased;

	(void)arg;
	sections(SECTIONS);
	biased = datp_bias_lock(&bias, &lock);
	inside = true;
	nanosleep(&a_while, NULL);
	guarded = 0;
	datp_bias_unlock(&bias, &lock, biased);
	return NULL;
}

static void revoking_thread_waits_for_the_owner_to_leave(void)
{
	pthread_t thread;

	inside = false;
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, another_stays_inside, NULL), 0);
	CHECK_SOON(inside);
	plain_section();
	CHECK_EQ_INT(guarded, 1);
	pthread_join(thread, NULL);
}

static void a_try_takes_a_lock_that_nobody_holds(void)
{
	CHECK(datp_bias_trylock(&lock));
	CHECK(!datp_bias_trylock(&lock));
	datp_unlock(&lock);
	needs_biases();
	in_another_thread(another_sections);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	CHECK(datp_bias_trylock(&lock));
	CHECK_EQ_INT(bias.owner, 0);
	CHECK(!datp_bias_trylock(&lock));
	datp_unlock(&lock);
	CHECK_EQ_INT(lock, LOCK_FREE);
}

static void a_try_of_the_owner_takes_it_too(void)
{
	needs_biases();
	sections(SECTIONS);
	CHECK(datp_bias_trylock(&lock));
	datp_unlock(&lock);
	CHECK_EQ_INT(lock, LOCK_FREE);
}

static _Atomic bool leaves;

static void *another_stays_until_it_may_leave(void *arg)
{
	bool biased;

	(void)arg;
	sections(SECTIONS);
	biased = datp_bias_lock(&bias, &lock);
	inside = true;
	while (!leaves)
		check_nap();
	CHECK(biased);
	datp_bias_unlock(&bias, &lock, biased);
	section();
	CHECK_EQ_INT(lock, LOCK_BIASED);
	return NULL;
}

static void a_try_leaves_the_owner_that_is_inside_its_bias(void)
{
	pthread_t thread;

	needs_biases();
	inside = leaves = false;
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, another_stays_until_it_may_leave, NULL), 0);
	CHECK_SOON(inside);
	CHECK(!datp_bias_trylock(&lock));
	CHECK_EQ_INT(lock, LOCK_BIASED);
	CHECK(bias.owner != 0);
	leaves = true;
	pthread_join(thread, NULL);
	CHECK_EQ_INT(guarded, SECTIONS + 1);
}

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void be_refused(void *arg)
{
	int64_t from;
	int error;

	(void)arg;
	set_up();
	sections(SECTIONS);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	error = check_forbid((const int[]){ SYS_membarrier, SYS_nanosleep, SYS_clock_nanosleep }, 3);
	check_put(CHECK_PARENT, &error, sizeof(error));
	if (error)
		return;
	from = clock_ns();
	in_another_thread(another_plain_section);
	CHECK(clock_ns() - from >= 1000000); /* a store takes much less */
	CHECK_EQ_INT(lock, LOCK_FREE);
	CHECK_EQ_INT(guarded, SECTIONS + 1);
}

static void where_fences_are_forbidden_later_on_time_passes_instead(void)
{
	pid_t peer;
	int error;

	needs_biases();
	peer = check_fork(be_refused, NULL);
	check_get(peer, &error, sizeof(error));
	check_join(peer);
	REQUIRE(!error || error == EINVAL);
	if (error)
		check_skip("whoever runs this has no filters of system calls");
}

static _Atomic bool over;

static void *grants_and_revocations(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		bias.enough = 1;
		sections(2);
		plain_section();
	}
	return NULL;
}

static void child_of_its_own(void *arg)
{
	(void)arg;
	set_up();
	sections(SECTIONS);
	CHECK_EQ_INT(lock, LOCK_BIASED);
	plain_section();
	CHECK_EQ_INT(lock, LOCK_FREE);
}

#define CHILDREN 300

/* A child may open an adapter again, and then has locks of its own. */
static void child_that_is_forked_at_any_time_has_biased_locks(void)
{
	pthread_t thread;

	needs_biases();
	atomic_store(&over, false);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, grants_and_revocations, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		check_join(check_fork(child_of_its_own, NULL));
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}

#define THREADS 3
#define ROUNDS	100000

static void *mix_sections(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		if (arg || i % 1000 == 0)
			section();
		else if (i % 1500 == 0)
			plain_section();
	return NULL;
}

static _Atomic bool mixed;

static void *mix_tries(void *arg)
{
	uint64_t *taken = arg;

	while (!atomic_load(&mixed)) {
		if (!datp_bias_trylock(&lock))
			continue;
		guarded++;
		++*taken;
		datp_unlock(&lock);
	}
	return NULL;
}

/* The owner takes it all the time, another thread from time to time, and a third one tries. */
static void none_is_inside_with_one_who_tries(void)
{
	pthread_t thread[THREADS];
	uint64_t now_and_then = 0, taken = 0;

	for (int i = 0; i < ROUNDS; i++)
		now_and_then += i % 1000 == 0 || i % 1500 == 0;
	atomic_store(&mixed, false);
	REQUIRE_EQ_INT(pthread_create(&thread[0], NULL, mix_sections, &bias), 0);
	REQUIRE_EQ_INT(pthread_create(&thread[1], NULL, mix_sections, NULL), 0);
	REQUIRE_EQ_INT(pthread_create(&thread[2], NULL, mix_tries, &taken), 0);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	atomic_store(&mixed, true);
	pthread_join(thread[2], NULL);
	CHECK_EQ_INT(guarded, ROUNDS + now_and_then + taken);
}

/* One thread takes the lock all the time, two from time to time. */
static void none_is_inside_with_another(void)
{
	pthread_t thread[THREADS];
	uint64_t now_and_then = 0;

	for (int i = 0; i < ROUNDS; i++)
		now_and_then += i % 1000 == 0 || i % 1500 == 0;
	for (int i = 0; i < THREADS; i++)
		REQUIRE_EQ_INT(pthread_create(&thread[i], NULL, mix_sections, i ? NULL : &bias), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ_INT(guarded, ROUNDS + (THREADS - 1) * now_and_then);
}

static const struct check_test tests[] = {
	CHECK_TEST(thread_that_comes_again_and_again_becomes_the_owner),
	CHECK_TEST(another_thread_takes_it_away),
	CHECK_TEST(owner_takes_it_as_any_lock_too),
	CHECK_TEST(only_the_first_owner_becomes_it_again),
	CHECK_TEST(lock_of_a_thread_that_has_ended_is_free),
	CHECK_TEST(without_its_bias_it_is_a_lock_as_any),
	CHECK_TEST(revoking_thread_waits_for_the_owner_to_leave),
	CHECK_TEST(where_fences_are_forbidden_later_on_time_passes_instead),
	CHECK_TEST(child_that_is_forked_at_any_time_has_biased_locks),
	CHECK_TEST(none_is_inside_with_another),
	CHECK_TEST(a_try_takes_a_lock_that_nobody_holds),
	CHECK_TEST(a_try_of_the_owner_takes_it_too),
	CHECK_TEST(a_try_leaves_the_owner_that_is_inside_its_bias),
	CHECK_TEST(none_is_inside_with_one_who_tries),
	CHECK_END
};

static void tear_down(void)
{
	datp_bias_fini(&bias, &lock);
}

static const struct check_suite biased = { .name = "libdatp biased locks",
					   .setup = set_up,
					   .teardown = tear_down,
					   .tests = tests };

CHECK_SUITES(&biased);
