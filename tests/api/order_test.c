/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory order: what programs that poll on memory rely on. The target polls and makes no DAT call
 * meanwhile, and the initiator makes none after its post. A fault here would be silent corruption, so
 * every round compares all bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "meet.h"

#define MB   ((size_t)1 << 20)
#define AREA (4 * MB)

static DAT_RMR_TRIPLET at(size_t offset, size_t length)
{
	return api_offer_part(&my.theirs, offset, length);
}

/*
 * A plain load, as in programs: there is no fence on the reader's side, but the compiler must load
 * again.
 */
static uint64_t load(const void *where, size_t size)
{
	uint64_t word = 0;

	if (size == 8 && !((uintptr_t)where & 7))
		return *(const volatile uint64_t *)where;
	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)((const volatile unsigned char *)where)[i] << 8 * i;
	return word;
}

/* Polls. Both sides may share one processor, so it yields from time to time. */
static void poll_until(const void *where, size_t size, uint64_t value)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	for (unsigned int spins = 1; load(where, size) != value; spins++) {
		if (spins % 256)
			continue;
		nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		if (check_now_ms() > until)
			REQUIRE_FAIL("the data did not land in time");
	}
}

/*
 * Makes the rounds. The target reports that it is ready for a round, and so that it has seen the
 * last one.
 */
static void initiate(void (*target)(void *), int rounds, void (*post)(int k), void (*reap)(int k))
{
	meet_start(target, AREA);
	for (int k = 0; k < rounds; k++) {
		check_await(my.peer);
		if (k)
			reap(k - 1);
		post(k);
		/* no DAT call from here on until the target has seen it */
	}
	check_await(my.peer);
	reap(rounds - 1);
	check_signal(my.peer);
	check_join(my.peer);
}

static void target_done(void)
{
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

static void reap_write(int k)
{
	API_DTO(my.end.request, my.end.ep, (uint64_t)k, DAT_DTO_SUCCESS, API_ANY_LENGTH);
}

/* One write a round, of every size at every alignment. */
static const size_t sizes[] = { 1,  2,	 7,    8,    9,	   12,	 15,	16,    17,     24, 31,
				64, 100, 1000, 4096, 4097, 8195, 65536, 65543, 300001, MB };
#define ALIGNMENTS 9
#define WRITES	   ((int)(sizeof(sizes) / sizeof(*sizes)) * ALIGNMENTS)

static size_t size_of(int k)
{
	return sizes[k / ALIGNMENTS];
}

static size_t align_of(int k)
{
	return (size_t)(k % ALIGNMENTS);
}

/*
 * Fills the source of a write. The target polls on the last byte, which is never 0, its value
 * before.
 */
static void make_write(unsigned char *mem, int k)
{
	api_fill(mem, size_of(k), (uint64_t)k);
	mem[size_of(k) - 1] = (unsigned char)(k % 255 + 1);
}

static void poll_last_bytes(void *arg)
{
	unsigned char *want = malloc(MB);

	(void)arg;
	REQUIRE(want != NULL);
	meet_accept(AREA);
	for (int k = 0; k < WRITES; k++) {
		unsigned char *mem = my.buf.mem + 4096 + align_of(k);
		size_t size = size_of(k);

		memset(mem - 8, 0, size + 16);
		make_write(want, k);
		check_signal(CHECK_PARENT);
		poll_until(mem + size - 1, 1, want[size - 1]);
		/* immediately after the poll, all of the data have arrived */
		if (memcmp(mem, want, size))
			CHECK_EQ_MEM(mem, want, size);
		CHECK(load(mem - 8, 8) == 0 && load(mem + size, 8) == 0);
	}
	free(want);
	target_done();
}

static void post_any_write(int k)
{
	size_t from = (size_t)(k % 2) * 2 * MB + (size_t)k % 5;

	make_write(my.buf.mem + from, k);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, from, size_of(k)),
			      at(4096 + align_of(k), size_of(k)), (uint64_t)k, 0),
		    DAT_SUCCESS);
}

static void last_byte_of_a_write_tells_that_all_of_it_has_landed(void)
{
	initiate(poll_last_bytes, WRITES, post_any_write, reap_write);
}

/*
 * A word at the end of the write announces it, as in benchmarks and MPI libraries, which wait until
 * it differs from its former value. If this library stores the word, it becomes visible as a whole,
 * so that its value can be used at once. If the kernel or a driver copies, that depends on the
 * instruction: `rep movsb` may be interrupted between any two bytes, and copies upwards.
 */
#define WORDS 600

static size_t word_size(int k)
{
	static const size_t some[] = { 8, 16, 24, 64, 128, 1024, 4096, 8192, 65536, 512 * 1024 };

	return some[k % (int)(sizeof(some) / sizeof(*some))];
}

/*
 * Returns the word of a round. Each of its bytes differs from 0, and from that of the round before.
 */
static uint64_t word_of(int k)
{
	return UINT64_C(0x0101010101010101) * (uint64_t)(k % 255 + 1);
}

static uint64_t poll_until_changed(const void *where, uint64_t old)
{
	uint64_t until = check_now_ms() + check_patience_ms(), word;

	for (unsigned int spins = 1; (word = load(where, 8)) == old; spins++) {
		if (spins % 256)
			continue;
		nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		if (check_now_ms() > until)
			REQUIRE_FAIL("the data did not land in time");
	}
	return word;
}

static bool library_copies; /* not the kernel, nor a driver */

static bool is_beginning(uint64_t word, uint64_t whole)
{
	for (int bits = 8; bits < 64; bits += 8)
		if (word == (whole & UINT64_MAX >> (64 - bits)))
			return true;
	return false;
}

static uint64_t poll_until_written(const void *where, uint64_t whole)
{
	uint64_t word = poll_until_changed(where, 0);

	while (word != whole && !library_copies && is_beginning(word, whole))
		word = poll_until_changed(where, word);
	return word;
}

static void poll_last_words(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (int k = 0; k < WORDS; k++) {
		size_t size = word_size(k), words = size / 8;
		const uint64_t *mem = (uint64_t *)(void *)my.buf.mem;

		memset(my.buf.mem, 0, size);
		check_signal(CHECK_PARENT);
		REQUIRE_EQ_INT(poll_until_written(my.buf.mem + size - 8, word_of(k)), word_of(k));
		for (size_t w = 0; w < words; w++)
			REQUIRE_EQ_INT(mem[w], word_of(k));
	}
	target_done();
}

static void post_words(int k)
{
	size_t size = word_size(k), from = (size_t)(k % 2) * 2 * MB;
	uint64_t *mem = (uint64_t *)(void *)(my.buf.mem + from);

	for (size_t w = 0; w < size / 8; w++)
		mem[w] = word_of(k);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, from, size), at(0, size), (uint64_t)k, 0),
		    DAT_SUCCESS);
}

static void last_word_of_a_write_tells_that_all_of_it_has_landed(void)
{
	initiate(poll_last_words, WORDS, post_words, reap_write);
}

/*
 * Many writes, of all sizes and from many addresses, then a flag: when the flag has arrived, all of
 * them have.
 */
#define BURSTS 60
#define BURST  24

static size_t burst_size(int k, int i)
{
	return i % 8 == 3 ? 40000 + (size_t)k : 1 + (size_t)((k * 7 + i * 13) % 300);
}

static size_t burst_place(int i)
{
	return 4096 + (size_t)i * 65536 + (size_t)i % 7;
}

static void poll_flag_after_burst(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (int k = 0; k < BURSTS; k++) {
		for (int i = 0; i < BURST; i++)
			memset(my.buf.mem + burst_place(i), 0, burst_size(k, i));
		check_signal(CHECK_PARENT);
		poll_until(my.buf.mem, 8, (uint64_t)k + 1);
		for (int i = 0; i < BURST; i++)
			REQUIRE_EQ_INT(api_mismatch(my.buf.mem + burst_place(i), burst_size(k, i),
						    (uint64_t)(k * BURST + i)),
				       -1);
	}
	target_done();
}

static void post_burst(int k)
{
	uint64_t flag = (uint64_t)k + 1;

	for (int i = 0; i < BURST; i++) {
		size_t size = burst_size(k, i);

		api_fill(my.buf.mem + burst_place(i), size, (uint64_t)(k * BURST + i));
		REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, burst_place(i), size),
				      at(burst_place(i), size), 0, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	}
	memcpy(my.buf.mem + (k % 2) * 8, &flag, 8);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, (size_t)(k % 2) * 8, 8), at(0, 8),
			      (uint64_t)k, 0),
		    DAT_SUCCESS);
}

static void flag_tells_that_all_earlier_writes_have_landed(void)
{
	initiate(poll_flag_after_burst, BURSTS, post_burst, reap_write);
}

/*
 * A send, then a write: when the write is visible, the receive event can be dequeued at the first
 * try.
 */
#define SENDS 300

static size_t send_size(int k)
{
	static const size_t some[] = { 8, 64, 1000, 4096, 20000, 300000 };

	return some[k % 6];
}

static void poll_flag_after_send(void *arg)
{
	DAT_EVENT event;

	(void)arg;
	meet_accept(AREA);
	for (int k = 0; k < SENDS; k++) {
		DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, MB, MB, (uint64_t)k), DAT_SUCCESS);
		check_signal(CHECK_PARENT);
		poll_until(my.buf.mem, 8, (uint64_t)k + 1);
		REQUIRE_DAT(dat_evd_dequeue(my.end.recv, &event), DAT_SUCCESS);
		CHECK_EQ_INT(dto->user_cookie.as_64, k);
		CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
		CHECK_EQ_INT(dto->transfered_length, send_size(k));
		REQUIRE_EQ_INT(api_mismatch(my.buf.mem + MB, send_size(k), (uint64_t)k), -1);
	}
	target_done();
}

static void post_send_and_flag(int k)
{
	uint64_t flag = (uint64_t)k + 1;

	api_fill(my.buf.mem + MB, send_size(k), (uint64_t)k);
	memcpy(my.buf.mem, &flag, 8);
	REQUIRE_DAT(
		api_send(my.end.ep, &my.buf, MB, send_size(k), 1000, DAT_COMPLETION_SUPPRESS_FLAG),
		DAT_SUCCESS);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, 0, 8), at(0, 8), (uint64_t)k, 0),
		    DAT_SUCCESS);
}

static void write_after_send_shows_when_the_receive_event_is_there(void)
{
	initiate(poll_flag_after_send, SENDS, post_send_and_flag, reap_write);
}

/* Writes, then a send: when the receive completes, the writes have arrived. */
static void wait_for_send_after_writes(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (int k = 0; k < SENDS; k++) {
		memset(my.buf.mem + MB, 0, send_size(k));
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, (uint64_t)k), DAT_SUCCESS);
		check_signal(CHECK_PARENT);
		API_DTO(my.end.recv, my.end.ep, (uint64_t)k, DAT_DTO_SUCCESS, 8);
		REQUIRE_EQ_INT(api_mismatch(my.buf.mem + MB, send_size(k), (uint64_t)k), -1);
	}
	target_done();
}

static void post_write_and_send(int k)
{
	api_fill(my.buf.mem + MB, send_size(k), (uint64_t)k);
	REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, MB, send_size(k)), at(MB, send_size(k)),
			      1000, DAT_COMPLETION_SUPPRESS_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, 8, (uint64_t)k, 0), DAT_SUCCESS);
}

static void receive_completes_after_earlier_writes_have_landed(void)
{
	initiate(wait_for_send_after_writes, SENDS, post_write_and_send, reap_write);
}

/*
 * After the completion, the buffer is the sender's again; the data that were sent do not change any
 * more.
 */
#define REUSES 400

static void collect_reused(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (uint64_t n = 0; n < 16; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, n * 65536, 65536, n), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	for (uint64_t k = 0; k < REUSES; k++) {
		size_t size = 8 + k * 331 % 40000;

		API_DTO(my.end.recv, my.end.ep, k, DAT_DTO_SUCCESS, size);
		REQUIRE_EQ_INT(api_mismatch(my.buf.mem + k % 16 * 65536, size, k), -1);
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, k % 16 * 65536, 65536, k + 16),
			    DAT_SUCCESS);
	}
	target_done();
}

static void completion_gives_the_buffer_back(void)
{
	meet_start(collect_reused, AREA);
	if (api_declares("transport", "iWARP"))
		check_kill(my.peer);
	api_skip_where_nothing_waits(); /* the peer may not have posted its receive yet */
	check_await(my.peer);
	for (uint64_t k = 0; k < REUSES; k++) {
		size_t size = 8 + k * 331 % 40000;

		api_fill(my.buf.mem, size, k);
		REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, size, k, 0), DAT_SUCCESS);
		API_DTO(my.end.request, my.end.ep, k, DAT_DTO_SUCCESS, size);
	}
	check_await(my.peer);
	check_signal(my.peer);
	check_join(my.peer);
}

/* A read brings what the target stored before it sent its notification. */
static void store_and_tell(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (int k = 0; k < SENDS; k++) {
		api_fill(my.buf.mem, send_size(k), (uint64_t)k);
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
	}
	target_done();
}

static void read_brings_what_was_stored_before(void)
{
	meet_start(store_and_tell, AREA);
	for (int k = 0; k < SENDS; k++) {
		check_await(my.peer);
		REQUIRE_DAT(api_read(my.end.ep, api_seg(&my.buf, 0, send_size(k)),
				     at(0, send_size(k)), (uint64_t)k, 0),
			    DAT_SUCCESS);
		reap_write(k);
		REQUIRE_EQ_INT(api_mismatch(my.buf.mem, send_size(k), (uint64_t)k), -1);
		check_signal(my.peer);
	}
	check_await(my.peer);
	check_signal(my.peer);
	check_join(my.peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(last_byte_of_a_write_tells_that_all_of_it_has_landed),
	CHECK_TEST(last_word_of_a_write_tells_that_all_of_it_has_landed),
	CHECK_TEST(flag_tells_that_all_earlier_writes_have_landed),
	CHECK_TEST(write_after_send_shows_when_the_receive_event_is_there),
	CHECK_TEST(receive_completes_after_earlier_writes_have_landed),
	CHECK_TEST(completion_gives_the_buffer_back),
	CHECK_TEST(read_brings_what_was_stored_before),
	CHECK_END
};

static const struct check_suite order = {
	.name = "order",
	.teardown = api_close,
	.tests = tests,
};

static int forbid_copies(void)
{
	library_copies = true;
	return api_forbid_copies();
}

/* This suite is the last one, because the effect of its initialiser cannot be undone. */
static const struct check_suite apart = {
	.name = "order where the kernel does not copy",
	.setup = api_skip_where_threads_copy,
	.teardown = api_close,
	.tests = tests,
	.init = forbid_copies,
};

CHECK_SUITES(&order, &apart);
