/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Biased locks, in every order of their steps that C11 allows: libdatp's own lock.c and bias.c, and
 * the inlined half of <datp/bias.h>, or the shorter one that the verbs providers have; see model.h
 * for how, and for what is not tried. A lock is biased at the second acquisition in a row here. What it guards is
 * watched: two threads that are inside at once are an error, and so is one that is not woken.
 */
#include "tests/soft/model.h"

#include "check.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>

static _Atomic uint32_t guard;

/* The same as in <datp/provider.h>, except that the atomics are the model's. All other locks are the model's own. */
void datp_lock_slow(_Atomic uint32_t *word);
void datp_unlock_slow(_Atomic uint32_t *word);

static void word_lock(_Atomic uint32_t *word)
{
	uint32_t zero = 0;

	if (word != &guard)
		model_lock(word);
	else if (!atomic_compare_exchange_strong_explicit(word, &zero, 1, memory_order_acquire, memory_order_relaxed))
		datp_lock_slow(word);
}

static void word_unlock(_Atomic uint32_t *word)
{
	if (word != &guard)
		model_unlock(word);
	else if (atomic_exchange_explicit(word, 0, memory_order_release) == 2)
		datp_unlock_slow(word);
}

static bool word_trylock(_Atomic uint32_t *word)
{
	uint32_t zero = 0;

	return atomic_compare_exchange_strong_explicit(word, &zero, 1, memory_order_acquire, memory_order_relaxed);
}

static long kernel(long number, ...)
{
	_Atomic uint32_t *word;
	uint32_t seen;
	va_list args;
	int op;

	if (number == SYS_membarrier) {
		if (model_self() >= 0)
			model_fence_everybody();
		return 0;
	}
	va_start(args, number);
	word = va_arg(args, _Atomic uint32_t *);
	op = va_arg(args, int);
	seen = va_arg(args, uint32_t);
	va_end(args);
	op &= ~FUTEX_PRIVATE_FLAG;
	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET)
		model_futex_wait(word, seen);
	else
		model_futex_wake(word, seen != 1); /* the argument after the operation is the number of threads to wake */
	return 0;
}

#undef datp_lock
#undef datp_unlock
#undef datp_trylock
#undef syscall
#define datp_lock(word)	  word_lock(word)
#define datp_unlock(word) word_unlock(word)
#define syscall		  kernel
#define datp_trylock(word) word_trylock(word)
#define datp_thread()	  ((uintptr_t)model_self() + 2)
#define DATP_WORDS_IN_C
#define LOCK_SPINS	  0
#define BIAS_ENOUGH	  1u
#define BIAS_ENOUGH_MAX	  1u
#define BIAS_SPINS	  0
#include "providers/common/base/lock.c"
#include "providers/common/base/bias.c" /* NOLINT: the test looks at its internals */

static struct datp_bias bias;
static uint32_t guarded;
static uint32_t tried; /* how often a try has taken the lock. Guarded, too */
static bool quick; /* the owner takes the lock by datp_bias_enter(), as the fast path of the verbs providers does */

static void touch(void)
{
	uint32_t is = guarded;

	model_read(&guarded);
	model_pause();
	model_write(&guarded);
	guarded = is + 1;
}

/* Returns false if the thread is not the owner of the bias, or the bias is being revoked. */
static bool as_quick_owner(void)
{
	uintptr_t self = datp_thread_again();

	if (!datp_bias_is(&bias, self))
		return false;
	if (!datp_bias_enter(&bias, self)) {
		datp_bias_unlock(&bias, &guard, true);
		return false;
	}
	touch();
	if (!datp_bias_leave(&bias))
		datp_bias_left_slow(&bias);
	return true;
}

static void as_owner(void)
{
	bool biased;

	if (quick && as_quick_owner())
		return;
	biased = datp_bias_lock(&bias, &guard);
	touch();
	datp_bias_unlock(&bias, &guard, biased);
}

static void as_anybody(void)
{
	datp_lock(&guard);
	touch();
	datp_unlock(&guard);
}

/* Takes it only if it is free, and never sleeps. */
static void as_one_who_tries(void)
{
	if (!datp_bias_trylock(&guard))
		return;
	touch();
	tried++;
	datp_unlock(&guard);
}

static void tries_twice(void)
{
	as_one_who_tries();
	as_one_who_tries();
}

static void owner_twice(void)
{
	as_owner();
	as_owner();
}

static void owner_three_times(void)
{
	owner_twice();
	as_owner();
}

static void owner_four_times(void)
{
	owner_three_times();
	as_owner();
}

static void anybody_twice(void)
{
	as_anybody();
	as_anybody();
}

static void ender(void)
{
	datp_bias_fini(&bias, &guard);
	as_anybody();
}

static uint32_t wanted;
static bool granted; /* the lock is biased to the first thread from the beginning */

static void begin(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		list.bucket[i] = NULL;
	if (!granted)
		return;
	atomic_store(&guard, LOCK_BIASED);
	atomic_store(&bias.owner, 2);
	bias.first = 2;
	bias.lock = &guard;
	*bucket_of(&guard) = &bias;
}

static void end(void)
{
	model_require(guarded == wanted + tried);
}

static void explore_one(const char *name, uint32_t touches, unsigned int budget, void (*a)(void), void (*b)(void), void (*c)(void))
{
	const struct model_scenario scenario = { name, begin, { a, b, c }, end, 0, budget };

	model_reset();
	atomic_init(&guard, 0);
	guarded = tried = 0;
	wanted = touches;
	datp_bias_init(&bias);
	model_keep(&bias, sizeof(bias));
	model_keep(&guarded, sizeof(guarded));
	model_keep(&tried, sizeof(tried));
	model_keep((void *)&guard, sizeof(guard));
	model_watch(&guard, sizeof(guard), "guard");
	model_watch(&bias.owner, sizeof(bias.owner), "owner");
	model_watch(&bias.inside, sizeof(bias.inside), "inside");
	CHECK(model_explore(&scenario));
	fprintf(stderr, "# %s%s: %llu states\n", name, quick ? ", the short way" : "",
		(unsigned long long)model_states());
	CHECK(model_states() > 100);
}

static void explore(const char *name, uint32_t touches, unsigned int budget, void (*a)(void), void (*b)(void), void (*c)(void))
{
	quick = false;
	explore_one(name, touches, budget, a, b, c);
	quick = true;
	explore_one(name, touches, budget, a, b, c);
}

static void owner_and_another_are_never_inside_together(void)
{
	explore("an owner, and one who revokes", 5, 0, owner_three_times, anybody_twice, NULL);
}

static void two_revoke_at_once(void)
{
	explore("an owner, and two who revoke", 5, 3, owner_three_times, as_anybody, as_anybody);
}

static void three_sleepers_on_the_lock_are_woken(void)
{
	explore("no bias, three who sleep", 3, 0, as_anybody, as_anybody, as_anybody);
}

static void only_one_becomes_the_owner(void)
{
	explore("two would-be owners", 6, 4, owner_three_times, owner_three_times, NULL);
}

static void late_owner_speaks_for_no_other_thread(void)
{
	granted = true;
	explore("an owner, a would-be owner, and one who revokes", 5, 3, as_owner, owner_three_times, as_anybody);
	granted = false;
}

static void owner_comes_back_after_a_revocation(void)
{
	explore("an owner that becomes it twice", 6, 4, owner_four_times, anybody_twice, NULL);
}

static void lock_whose_bias_ends_is_one_as_any(void)
{
	explore("the end", 4, 0, owner_three_times, ender, NULL);
}

static void owner_and_one_who_tries_are_never_inside_together(void)
{
	explore("an owner, and one who tries", 3, 0, owner_three_times, tries_twice, NULL);
	granted = true;
	explore("an owner from the beginning, and one who tries", 3, 0, owner_three_times, tries_twice, NULL);
	granted = false;
}

static void one_who_tries_and_one_who_revokes_get_on(void)
{
	granted = true;
	explore("an owner, one who tries, and one who revokes", 3, 3, owner_twice, as_one_who_tries, as_anybody);
	explore("an owner, and two who try", 2, 3, owner_twice, as_one_who_tries, as_one_who_tries);
	granted = false;
}

static const struct check_test tests[] = {
	CHECK_TEST(owner_and_another_are_never_inside_together),
	CHECK_TEST(two_revoke_at_once),
	CHECK_TEST(three_sleepers_on_the_lock_are_woken),
	CHECK_TEST(only_one_becomes_the_owner),
	CHECK_TEST(late_owner_speaks_for_no_other_thread),
	CHECK_TEST(owner_comes_back_after_a_revocation),
	CHECK_TEST(lock_whose_bias_ends_is_one_as_any),
	CHECK_TEST(owner_and_one_who_tries_are_never_inside_together),
	CHECK_TEST(one_who_tries_and_one_who_revokes_get_on),
	CHECK_END
};

static const struct check_suite biased = { .name = "bias model", .tests = tests };

CHECK_SUITES(&biased);
