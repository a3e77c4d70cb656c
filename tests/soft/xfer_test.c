/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways of copying: every alignment and length, lists that are cut anywhere, and the order in which the bytes of a write
 * become visible to a thread that polls the last of them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/guard_word.h"
#include "providers/soft/xfer.h"

#define ROOM	  65536
#define GUARD	  0xee
#define LENGTH_UP 40u

/* Shared with forked peers, at the same address, so that this process sees what the kernel writes to a peer's memory. */
static struct shared {
	unsigned char memory[ROOM];
	_Atomic uint32_t taken, stop;
} * shared;
static unsigned char source[ROOM];

static void memory_map(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	REQUIRE(shared != MAP_FAILED);
	for (size_t i = 0; i < ROOM; i++)
		source[i] = (unsigned char)(i * 7 + i / 251 + 1);
}

static void memory_unmap(void)
{
	munmap(shared, sizeof(*shared));
}

/* The ways of copying. `to` is in shared memory. */
static int by_memcpy(pid_t pid, struct soft_list *to, struct soft_list *from, uint64_t len,
		     bool ordered)
{
	(void)pid;
	soft_copy_list(to, from, len, ordered);
	return 0;
}

static int by_writev(pid_t pid, struct soft_list *to, struct soft_list *from, uint64_t len,
		     bool ordered)
{
	return soft_cma(pid, true, ordered, from, to, len);
}

/* Copies as the target copies a write that has waited. */
static int by_readv(pid_t pid, struct soft_list *to, struct soft_list *from, uint64_t len,
		    bool ordered)
{
	return soft_cma(pid, false, ordered, to, from, len);
}

typedef int way_fn(pid_t pid, struct soft_list *to, struct soft_list *from, uint64_t len,
		   bool ordered);
static way_fn *const ways[] = { by_memcpy, by_writev, by_readv };

static void need_copies(void)
{
	if (!soft_xfer_allowed())
		check_skip("the kernel does not let us copy between processes");
}

/* ------------------------------------------------------------------ the right bytes */

static void check_guards(size_t at, size_t len)
{
	for (size_t i = 1; i <= 16; i++) {
		REQUIRE_EQ_INT(shared->memory[at - i], GUARD);
		REQUIRE_EQ_INT(shared->memory[at + len + i - 1], GUARD);
	}
}

static void one_length(way_fn *way, size_t to_at, size_t from_at, size_t len, bool ordered)
{
	struct soft_list to, from;

	memset(shared->memory, GUARD, 256);
	soft_list_one(&to, (uintptr_t)&shared->memory[64 + to_at], len);
	soft_list_one(&from, (uintptr_t)&source[from_at], len);
	REQUIRE_EQ_INT(way(getpid(), &to, &from, len, ordered), 0);
	REQUIRE_EQ_MEM(&shared->memory[64 + to_at], &source[from_at], len);
	check_guards(64 + to_at, len);
}

static void every_alignment_and_length_moves_just_those_bytes(void)
{
	need_copies();
	for (size_t way = 0; way < 3; way++)
		for (size_t to = 0; to < 16; to++)
			for (size_t from = 0; from < 8; from += way ? 3 : 1)
				for (size_t len = way ? 1 : 0; len <= LENGTH_UP; len++) {
					one_length(ways[way], to, from, len, true);
					one_length(ways[way], to, from, len, false);
				}
}

/* Cuts `len` bytes into as many pieces as the list takes, some of them empty. */
static void list_cut(struct soft_list *list, unsigned char *at, size_t len, unsigned int *seed)
{
	list->n = list->at = 0;
	list->right = NULL;
	while (len) {
		size_t step = (size_t)rand_r(seed) % (len / 2 + 2);

		if (list->n == SOFT_MAX_IOV - 1 || step > len)
			step = len;
		list->iov[list->n++] = (struct iovec){ at, step };
		at += step;
		len -= step;
	}
}

static void lists_cut_anywhere_move_all_bytes(void)
{
	unsigned int seed = 1;

	need_copies();
	for (int n = 0; n < 3000; n++) {
		size_t len = 1 + (size_t)rand_r(&seed) % (n % 10 ? 200 : 30000);
		size_t at = 64 + (size_t)rand_r(&seed) % 64;
		struct soft_list to, from;

		memset(shared->memory, GUARD, at + len + 64);
		/* an ordered write has one destination, others may have many */
		if (n & 1)
			soft_list_one(&to, (uintptr_t)&shared->memory[at], len);
		else
			list_cut(&to, &shared->memory[at], len, &seed);
		list_cut(&from, source, len, &seed);
		REQUIRE_EQ_INT(ways[n % 3](getpid(), &to, &from, len, n & 1), 0);
		REQUIRE_EQ_MEM(&shared->memory[at], source, len);
		check_guards(at, len);
	}
}

static void ranges_of_one_buffer_may_overlap(void)
{
	struct soft_list to, from;

	memcpy(shared->memory, source, 1000);
	soft_list_one(&to, (uintptr_t)&shared->memory[8], 900);
	soft_list_one(&from, (uintptr_t)shared->memory, 900);
	soft_copy_list(&to, &from, 900, false);
	CHECK_EQ_MEM(&shared->memory[8], source, 900);
}

static void scatter_and_gather_stop_at_the_length(void)
{
	struct datp_sge sge[3];
	unsigned char back[64];

	memset(shared->memory, GUARD, 256);
	for (uint64_t i = 0; i < 3; i++)
		sge[i] = (struct datp_sge){ .addr = (uintptr_t)&shared->memory[32 * (i + 1)],
					    .len = 10 + i };
	soft_scatter(sge, 3, source, 25);
	CHECK_EQ_MEM(&shared->memory[32], source, 10);
	CHECK_EQ_MEM(&shared->memory[64], source + 10, 11);
	CHECK_EQ_MEM(&shared->memory[96], source + 21, 4);
	CHECK_EQ_INT(shared->memory[100], GUARD);
	memset(back, GUARD, sizeof(back));
	soft_gather(back, sge, 3, 25);
	CHECK_EQ_MEM(back, source, 25);
	CHECK_EQ_INT(back[25], GUARD);
}

/* ------------------------------------------------------------------ their order */

struct poll {
	size_t at, len;
	uint32_t rounds;
};

/* In round n all bytes get the value n. Waits for the last byte, and checks all others. */
static void poll_on_last_byte(const struct poll *poll)
{
	unsigned char *last = &shared->memory[poll->at + poll->len - 1];

	for (uint32_t n = 1; n <= poll->rounds; n++) {
		while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != (unsigned char)n) {
			if (atomic_load(&shared->stop))
				return;
			sched_yield();
		}
		for (size_t i = 0; i < poll->len; i++)
			REQUIRE_EQ_INT(shared->memory[poll->at + i], (unsigned char)n);
		atomic_store(&shared->taken, n);
	}
}

static void polling_peer(void *arg)
{
	poll_on_last_byte(arg);
}

static void *polling_thread(void *arg)
{
	poll_on_last_byte(arg);
	return NULL;
}

static void write_rounds(way_fn *way, pid_t pid, const struct poll *poll)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	static unsigned char bytes[ROOM];

	for (uint32_t n = 1; n <= poll->rounds; n++) {
		struct soft_list to, from;

		memset(bytes, (int)(n & 0xff), poll->len);
		soft_list_one(&to, (uintptr_t)&shared->memory[poll->at], poll->len);
		soft_list_one(&from, (uintptr_t)bytes, poll->len);
		REQUIRE_EQ_INT(way(pid, &to, &from, poll->len, true), 0);
		while (atomic_load(&shared->taken) != n && check_now_ms() < until)
			sched_yield();
		REQUIRE_EQ_INT(atomic_load(&shared->taken), n);
	}
}

/* Places where the last byte is the last or the first of a word, or between; within a page, and across pages. */
static const struct poll polls[] = {
	{ 64, 8, 200 },	   { 64, 4096, 200 },	{ 65, 4096, 200 },   { 67, 1021, 200 },
	{ 4090, 12, 200 }, { 4000, 40000, 60 }, { 4093, 20001, 60 }, { 71, 2, 200 },
};

/* The thread sanitizer does not know that the byte is a part of the word that was stored. */
static void in_process(way_fn *way)
{
	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer knows a byte by its own address only");
	for (size_t i = 0; i < sizeof(polls) / sizeof(*polls); i++) {
		struct poll poll = polls[i];
		pthread_t thread;

		memset(shared, 0, sizeof(*shared));
		REQUIRE(pthread_create(&thread, NULL, polling_thread, &poll) == 0);
		write_rounds(way, getpid(), &poll);
		atomic_store(&shared->stop, 1);
		pthread_join(thread, NULL);
	}
}

static void last_byte_is_seen_last_by_another_thread(void)
{
	in_process(by_memcpy);
}

static void last_byte_is_seen_last_of_what_the_target_fetches(void)
{
	need_copies();
	in_process(by_readv);
}

static void last_byte_is_seen_last_by_another_process(void)
{
	need_copies();
	for (size_t i = 0; i < sizeof(polls) / sizeof(*polls); i++) {
		struct poll poll = polls[i];
		pid_t peer;

		memset(shared, 0, sizeof(*shared));
		peer = check_fork(polling_peer, &poll);
		write_rounds(by_writev, peer, &poll);
		check_join(peer);
	}
}

/* ------------------------------------------------------------------ copies that fail */

static void memory_that_is_not_there_is_a_fault(void)
{
	unsigned char *hole =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct soft_list to, from;

	need_copies();
	REQUIRE(hole != MAP_FAILED);
	munmap(hole + 4096, 4096);
	for (int ordered = 0; ordered < 2; ordered++) {
		soft_list_one(&to, (uintptr_t)hole, 3 * 4096);
		soft_list_one(&from, (uintptr_t)source, 3 * 4096);
		CHECK_EQ_INT(soft_cma(getpid(), true, ordered, &from, &to, 3 * 4096), EFAULT);
		soft_list_one(&to, (uintptr_t)shared->memory, 3 * 4096);
		soft_list_one(&from, (uintptr_t)hole, 3 * 4096);
		CHECK_EQ_INT(soft_cma(getpid(), false, ordered, &to, &from, 3 * 4096), EFAULT);
	}
	munmap(hole, 4096);
	munmap(hole + 2 * 4096, 4096);
}

static void leave_at_once(void *arg)
{
	(void)arg;
}

static void process_that_is_gone_is_found_missing(void)
{
	pid_t peer = check_fork(leave_at_once, NULL);
	struct soft_list to, from;

	need_copies();
	check_join(peer);
	soft_list_one(&to, (uintptr_t)shared->memory, 64);
	soft_list_one(&from, (uintptr_t)source, 64);
	CHECK_EQ_INT(soft_cma(peer, true, true, &from, &to, 64), ESRCH);
	CHECK(!soft_xfer_probe(peer, (uintptr_t)source, 0));
}

static void probe_wants_the_value_that_is_expected(void)
{
	uint64_t value = 0x123456789abcdef;

	need_copies();
	CHECK(soft_xfer_probe(getpid(), (uintptr_t)&value, value));
	CHECK(!soft_xfer_probe(getpid(), (uintptr_t)&value, value + 1));
	CHECK(!soft_xfer_probe(getpid(), 8, value));
	CHECK(!soft_xfer_probe(0, (uintptr_t)&value, value));
}

/* ------------------------------------------------------------------ rights */

static const _Atomic uint32_t word = 5;
static const struct soft_right granted = { .open = &word, .gen = 5 }, gone = { .open = &word, .gen = 4 };

static void right_that_is_gone_moves_nothing(void)
{
	char from[64] = "new", to[64] = "old";
	struct iovec l = { from, sizeof(from) }, r = { to, sizeof(to) };
	uint64_t aligned = 1;

	CHECK_EQ_INT(soft_guard_copy(&gone, getpid(), true, &l, 1, &r, 1), -1);
	CHECK_EQ_INT(errno, ECANCELED);
	CHECK(!soft_guard_move(&gone, to, from, sizeof(to)));
	CHECK(!soft_guard_store(&gone, &aligned, 2, 8));
	CHECK(!soft_guard_word(gone.open, gone.gen, &aligned, 2));
	CHECK_EQ_STR(to, "old");
	CHECK_EQ_INT(aligned, 1);
	CHECK(soft_guard_move(&granted, to, from, sizeof(to)));
	CHECK_EQ_STR(to, "new");
	CHECK(soft_guard_word(granted.open, granted.gen, &aligned, 2));
	CHECK_EQ_INT(aligned, 2);
}

static void stores_have_their_size(void)
{
	for (unsigned int size = 1; size <= 8; size *= 2) {
		uint64_t to = UINT64_MAX, want = UINT64_MAX, value = 0x1122334455667788;

		memcpy(&want, &value, size);
		CHECK(soft_guard_store(&granted, &to, value, size));
		CHECK_EQ_INT(to == want, true);
	}
}

/* Copies between two places of `room` at these offsets. */
static void granted_move(unsigned char *room, size_t to, size_t from, size_t len)
{
	unsigned char *d = room + 64 + to;

	memset(room, GUARD, to + len + 128);
	REQUIRE(soft_guard_move(&granted, d, source + from, len));
	REQUIRE_EQ_MEM(d, source + from, len);
	for (size_t i = 1; i <= 64; i++)
		REQUIRE(d[-(ptrdiff_t)i] == GUARD && d[len + i - 1] == GUARD);
}

static void granted_copies_move_just_those_bytes(void)
{
	static const size_t long_ones[] = { 2047, 2048, 2049, 2111, 2112, 4096, 5000, 16384, 32001 };
	unsigned char *room = shared->memory;

	for (size_t to = 0; to <= 65; to++)
		for (size_t from = 0; from < 64; from += 13) {
			for (size_t len = 0; len <= 260; len += to % 4 ? 7 : 1)
				granted_move(room, to, from, len);
			for (size_t i = 0; i < sizeof(long_ones) / sizeof(*long_ones); i++)
				granted_move(room, to, from, long_ones[i]);
		}
}

/* Returns the shortest of many times that a copy takes, in nanoseconds. */
static double granted_cost(unsigned char *to, const unsigned char *from, size_t len)
{
	double least = 1e18;

	for (int n = 0; n < 400; n++) {
		struct timespec begin, end;
		double took;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		REQUIRE(soft_guard_move(&granted, to, from, len));
		clock_gettime(CLOCK_MONOTONIC, &end);
		took = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
		least = took < least ? took : least;
	}
	return least;
}

/* On some processors a string instruction is slow for certain offsets of source and destination within a page. */
static void place_within_a_page_does_not_make_a_copy_slow(void)
{
	enum { LEN = 32768 };
	static unsigned char from[LEN + 4096];
	unsigned char *page = (unsigned char *)(((uintptr_t)from + 4095) & ~(uintptr_t)4095);
	double same;

	if (!soft_guard_is_atomic())
		check_skip("it is the C library that copies");
	memset(from, 1, sizeof(from)); /* until then all its pages are the zero page, so that it is always in the cache */
	same = granted_cost(shared->memory, page, LEN);
	for (size_t ahead = 1; ahead < 64; ahead += 7) {
		double is = granted_cost(shared->memory + ahead, page, LEN);

		CHECK(is < 6 * same);
	}
}

static void ring(int number)
{
	(void)number;
}

/* Signals interrupt the copies, which are then begun again. */
static void copies_that_are_interrupted_are_whole(void)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	enum { SIZE = 3 * 16384 + 5 };
	static unsigned char from[SIZE], to[SIZE];
	struct iovec l = { from, SIZE }, r = { to, SIZE };

	signal(SIGALRM, ring);
	REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (unsigned int round = 0; round < 3000; round++) {
		memset(from, (int)(round % 251), SIZE);
		if (round % 2)
			CHECK(soft_guard_move(&granted, to, from, SIZE));
		else
			CHECK_EQ_INT(soft_guard_copy(&granted, getpid(), true, &l, 1, &r, 1), SIZE);
		REQUIRE(memcmp(from, to, SIZE) == 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void operations_need_the_right(void)
{
	uint64_t shared_word = 5, value = 3;

	CHECK(!soft_guard_fetch_add(&gone, &shared_word, &value));
	value = 5;
	CHECK(!soft_guard_cmp_swap(&gone, &shared_word, &value, 9));
	CHECK_EQ_INT(shared_word, 5);
	value = 3;
	CHECK(soft_guard_fetch_add(&granted, &shared_word, &value));
	CHECK(value == 5 && shared_word == 8);
	value = 7;
	CHECK(soft_guard_cmp_swap(&granted, &shared_word, &value, 9));
	CHECK(value == 8 && shared_word == 8);
	CHECK(soft_guard_cmp_swap(&granted, &shared_word, &value, 9));
	CHECK(value == 8 && shared_word == 9);
}

/* Two threads add until they have met MEETINGS times. After ADDITIONS they give up: on this machine they never meet. */
enum { MEETINGS = 20000, ADDITIONS = 4000000 };

struct adder {
	uint64_t *counter, made;
};

static _Atomic int meetings;

/* Half of the additions are compare-and-swaps. */
static void *add_often(void *arg)
{
	struct adder *adder = arg;
	uint64_t seen = 0, value, mine = 0;

	while (adder->made < ADDITIONS && atomic_load(&meetings) < MEETINGS) {
		if (++adder->made % 2) {
			value = 1;
			CHECK(soft_guard_fetch_add(&granted, adder->counter, &value));
		} else {
			do {
				value = seen;
				CHECK(soft_guard_cmp_swap(&granted, adder->counter, &seen, value + 1));
			} while (seen != value);
		}
		if (value != mine)
			atomic_fetch_add(&meetings, 1);
		mine = seen = value + 1;
	}
	return NULL;
}

/* Signals interrupt the operations of two threads; each is made once. */
static void operations_that_are_interrupted_are_made_once(void)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	uint64_t counter = 0;
	struct adder one = { &counter, 0 }, two = { &counter, 0 };
	pthread_t other;

	signal(SIGALRM, ring);
	REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
	REQUIRE(pthread_create(&other, NULL, add_often, &one) == 0);
	add_often(&two);
	pthread_join(other, NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK_EQ_INT(counter, one.made + two.made);
}

static const struct check_test tests[] = {
	CHECK_TEST(every_alignment_and_length_moves_just_those_bytes),
	CHECK_TEST(lists_cut_anywhere_move_all_bytes),
	CHECK_TEST(ranges_of_one_buffer_may_overlap),
	CHECK_TEST(scatter_and_gather_stop_at_the_length),
	CHECK_TEST(last_byte_is_seen_last_by_another_thread),
	CHECK_TEST(last_byte_is_seen_last_of_what_the_target_fetches),
	CHECK_TEST(last_byte_is_seen_last_by_another_process),
	CHECK_TEST(memory_that_is_not_there_is_a_fault),
	CHECK_TEST(process_that_is_gone_is_found_missing),
	CHECK_TEST(probe_wants_the_value_that_is_expected),
	CHECK_TEST(right_that_is_gone_moves_nothing),
	CHECK_TEST(stores_have_their_size),
	CHECK_TEST(granted_copies_move_just_those_bytes),
	CHECK_TEST(place_within_a_page_does_not_make_a_copy_slow),
	CHECK_TEST(copies_that_are_interrupted_are_whole),
	CHECK_TEST(operations_need_the_right),
	CHECK_TEST(operations_that_are_interrupted_are_made_once),
	CHECK_END
};

static const struct check_suite xfer = {
	.name = "xfer", .setup = memory_map, .teardown = memory_unmap, .tests = tests
};

CHECK_SUITES(&xfer);
