/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages between two processes that both poll, in both directions at once, so that both sides copy each of them. They
 * have any length, the pieces end at other places than the segments, receives are posted early or late, and the memory on
 * either side is mapped by the other side or not.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define MESSAGES 24u
#define DEPTH	 4u
#define SEGMENTS 3u
#define LONGEST	 ((size_t)1000000)

#define AREA (DEPTH * LONGEST)

/* Where the messages of a side are. Bit s of `shared`: segment s is in the memory file. */
struct place {
	struct api_buf own, file;
	unsigned int shared;
};

static struct {
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	struct place in, out;
	unsigned char whole[LONGEST];
	unsigned int sent, received, posted, completed;
} my;

static unsigned int in_shared, out_shared; /* the same in both processes */

/* Returns the length of message n, which is the same on both sides. */
static size_t length_of(unsigned int n)
{
	unsigned int seed = n * 2654435761u;

	return n % 8 == 7 ? 70000u + n : (size_t)rand_r(&seed) % LONGEST + 1;
}

static void place_make(struct place *place, unsigned int shared)
{
	int fd = memfd_create("long", MFD_CLOEXEC);
	void *file;

	REQUIRE(fd >= 0 && ftruncate(fd, AREA) == 0);
	file = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(file != MAP_FAILED);
	close(fd);
	place->shared = shared;
	place->own = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	place->file = api_buf_in(api.pz, file, AREA, DAT_MEM_PRIV_ALL_FLAG);
}

static void open_side(void)
{
	DAT_EP_ATTR attr = {
		.max_recv_dtos = DEPTH, .max_request_dtos = DEPTH, .max_recv_iov = SEGMENTS, .max_request_iov = SEGMENTS
	};

	memset(&my, 0, sizeof(my));
	api_open();
	my.dto = api_evd(4 * DEPTH, DAT_EVD_DTO_FLAG);
	my.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	place_make(&my.in, in_shared);
	place_make(&my.out, out_shared);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.dto, my.dto, my.connect, &attr, &my.ep), DAT_SUCCESS);
}

static void close_side(void)
{
	api_close();
	if (my.in.file.mem)
		munmap(my.in.file.mem, AREA);
	if (my.out.file.mem)
		munmap(my.out.file.mem, AREA);
	my.in.file.mem = my.out.file.mem = NULL;
}

/* Cuts the memory of message n into segments, at odd addresses. */
static void cut(const struct place *place, unsigned int n, size_t length, size_t first, DAT_LMR_TRIPLET *segs)
{
	size_t a = length * first / 11, b = length / 2, sizes[SEGMENTS] = { a, b, length - a - b };
	size_t at = n % DEPTH * LONGEST;

	for (unsigned int i = 0; i < SEGMENTS; i++) {
		segs[i] = api_seg(place->shared & 1u << i ? &place->file : &place->own, at, sizes[i]);
		at += sizes[i];
	}
}

/* Copies a message's segments to my.whole, or back. */
static void copy_whole(const DAT_LMR_TRIPLET *segs, size_t length, bool out)
{
	unsigned char *whole = my.whole;

	for (unsigned int i = 0; i < SEGMENTS && length; i++) {
		size_t step = segs[i].segment_length < length ? segs[i].segment_length : length;
		void *memory = (void *)(uintptr_t)segs[i].virtual_address;

		memcpy(out ? memory : whole, out ? whole : memory, step);
		whole += step;
		length -= step;
	}
}

static void post_receive(void)
{
	DAT_LMR_TRIPLET segs[SEGMENTS];

	if (my.posted == MESSAGES || my.posted - my.received == DEPTH)
		return;
	cut(&my.in, my.posted, LONGEST, 1, segs);
	REQUIRE_DAT(dat_ep_post_recv(my.ep, SEGMENTS, segs, api_cookie(my.posted++), 0), DAT_SUCCESS);
}

static void post_send(void)
{
	DAT_LMR_TRIPLET segs[SEGMENTS];
	size_t length = length_of(my.sent);

	if (my.sent == MESSAGES || my.sent - my.completed == DEPTH)
		return;
	cut(&my.out, my.sent, length, 4, segs);
	api_fill(my.whole, length, my.sent);
	copy_whole(segs, length, true);
	REQUIRE_DAT(dat_ep_post_send(my.ep, SEGMENTS, segs, api_cookie(MESSAGES + my.sent++), 0), DAT_SUCCESS);
}

static bool take(void)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *done;
	DAT_LMR_TRIPLET segs[SEGMENTS];
	DAT_EVENT event;

	if (dat_evd_dequeue(my.dto, &event) != DAT_SUCCESS)
		return false;
	done = &event.event_data.dto_completion_event_data;
	REQUIRE_EQ_INT(done->status, DAT_DTO_SUCCESS);
	if (done->user_cookie.as_64 >= MESSAGES) {
		CHECK_EQ_INT(done->user_cookie.as_64 - MESSAGES, my.completed);
		CHECK_EQ_INT(done->transfered_length, length_of(my.completed));
		my.completed++;
		return true;
	}
	CHECK_EQ_INT(done->user_cookie.as_64, my.received);
	REQUIRE_EQ_INT(done->transfered_length, length_of(my.received));
	cut(&my.in, my.received, LONGEST, 1, segs);
	copy_whole(segs, length_of(my.received), false);
	CHECK_EQ_INT(api_mismatch(my.whole, length_of(my.received), my.received), -1);
	my.received++;
	return true;
}

/* Posts receives and sends at random moments, until all messages have been exchanged. */
static void exchange(unsigned int seed)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (my.received < MESSAGES || my.completed < MESSAGES) {
		REQUIRE(check_now_ms() < until);
		if (rand_r(&seed) % 4 == 0)
			post_receive();
		if (rand_r(&seed) % 4 == 0)
			post_send();
		for (int i = 0; i < 50; i++) {
			if (take()) {
				until = check_now_ms() + check_patience_ms();
				break;
			}
			sched_yield();
		}
	}
}

static void other_side(void *arg)
{
	DAT_CONN_QUAL qual;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	open_side();
	REQUIRE_DAT(api_connect(my.ep, qual), DAT_SUCCESS);
	API_CONN(my.connect, my.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	exchange(2);
	check_await(CHECK_PARENT); /* the peer has received all messages */
	close_side();
}

static void both_ways(unsigned int from, unsigned int into)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	pid_t other;

	out_shared = from;
	in_shared = into;
	other = check_fork(other_side, NULL);
	open_side();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	(void)api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	check_put(other, &qual, sizeof(qual));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), my.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(my.connect, my.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	exchange(1);
	check_signal(other);
	check_join(other);
}

#define ALL 7u

static void long_messages_arrive_whole_and_in_order(void)
{
	both_ways(0, 0);
}

static void long_messages_of_a_memory_file_arrive_whole(void)
{
	both_ways(ALL, 0);
}

static void long_messages_arrive_whole_in_a_memory_file(void)
{
	both_ways(0, ALL);
}

static void long_messages_of_both_kinds_of_memory_arrive_whole(void)
{
	both_ways(ALL - 1, ALL - 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(long_messages_arrive_whole_and_in_order),
	CHECK_TEST(long_messages_of_a_memory_file_arrive_whole),
	CHECK_TEST(long_messages_arrive_whole_in_a_memory_file),
	CHECK_TEST(long_messages_of_both_kinds_of_memory_arrive_whole),
	CHECK_END,
};

static const struct check_suite messages = { .name = "long messages", .teardown = close_side, .tests = tests };

CHECK_SUITES(&messages);
