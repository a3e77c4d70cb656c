/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages between two processes that both poll, in both directions at once, so that they are copied by both sides:
 * of any length, in pieces that are cut where the lists of segments are not, for receives that are early or late.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define MESSAGES 24u
#define DEPTH	 4u
#define SEGMENTS 3u
#define LONGEST	 ((size_t)1000000)

static struct {
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	struct api_buf in, out;
	unsigned int sent, received, posted, completed;
} my;

/* The same on both sides. */
static size_t length_of(unsigned int n)
{
	unsigned int seed = n * 2654435761u;

	return n % 8 == 7 ? 70000u + n : (size_t)rand_r(&seed) % LONGEST + 1;
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
	my.in = api_buf(DEPTH * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	my.out = api_buf(DEPTH * LONGEST, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, my.dto, my.dto, my.connect, &attr, &my.ep), DAT_SUCCESS);
}

/* Message n's place, cut at odd addresses. */
static void cut(const struct api_buf *buf, unsigned int n, size_t length, size_t first, DAT_LMR_TRIPLET *segs)
{
	size_t at = n % DEPTH * LONGEST, a = length * first / 11, b = length / 2;

	segs[0] = api_seg(buf, at, a);
	segs[1] = api_seg(buf, at + a, b);
	segs[2] = api_seg(buf, at + a + b, length - a - b);
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
	api_fill(my.out.mem + my.sent % DEPTH * LONGEST, length, my.sent);
	cut(&my.out, my.sent, length, 4, segs);
	REQUIRE_DAT(dat_ep_post_send(my.ep, SEGMENTS, segs, api_cookie(MESSAGES + my.sent++), 0), DAT_SUCCESS);
}

static bool take(void)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *done;
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
	CHECK_EQ_INT(api_mismatch(my.in.mem + my.received % DEPTH * LONGEST, length_of(my.received), my.received), -1);
	my.received++;
	return true;
}

/* Posts now more and now less than there is room for; each message in its time. */
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
	check_await(CHECK_PARENT); /* it has all that we sent */
	api_close();
}

static void long_messages_arrive_whole_and_in_order(void)
{
	pid_t other = check_fork(other_side, NULL);
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

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

static const struct check_test tests[] = { CHECK_TEST(long_messages_arrive_whole_and_in_order), CHECK_END };

static const struct check_suite messages = { .name = "long messages", .teardown = api_close, .tests = tests };

CHECK_SUITES(&messages);
