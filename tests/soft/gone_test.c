/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process unmaps memory that it has registered and offered to its peer. That is its own error, and
 * hardware would not notice it. Here the transfer fails and the connection breaks, and neither process
 * crashes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"

#define SIZE ((size_t)256 << 10)

static struct api_end end;
static struct api_buf buf;
static struct api_offer theirs;
static pid_t peer;

static struct api_buf gone_buf(void)
{
	void *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct api_buf gone;

	REQUIRE(mem != MAP_FAILED);
	gone = api_buf_in(api.pz, mem, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	/* the addresses stay reserved; otherwise the next mapping might get them */
	REQUIRE(mmap(mem, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem);
	return gone;
}

/* The connection breaks, and the peer goes on until it is told to end. */
static void lose_memory(void *arg)
{
	DAT_EVD_HANDLE cr_evd;
	struct api_buf gone;
	struct api_offer offer;

	(void)arg;
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	gone = gone_buf();
	api_offer_make(&offer, cr_evd, &gone);
	REQUIRE_DAT(api_recv(end.ep, &gone, 0, SIZE, 7), DAT_SUCCESS);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
	API_CONN_OVER(end.connect, end.ep);
	api_close();
}

static void meet(void)
{
	peer = check_fork(lose_memory, NULL);
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	check_get(peer, &theirs, sizeof(theirs));
	api_connect_to(&end, &theirs.address, theirs.qual);
}

static void want_the_error(void)
{
	DAT_EVENT event;

	API_EVENT(end.request, &event);
	CHECK_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_signal(peer);
	check_join(peer);
}

static void write_into_it_fails(void)
{
	meet();
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, SIZE), theirs.target, 1, 0), DAT_SUCCESS);
	want_the_error();
}

static void short_write_into_it_fails(void)
{
	meet();
	theirs.target.segment_length = 8;
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, 8), theirs.target, 1, 0), DAT_SUCCESS);
	want_the_error();
}

static void read_out_of_it_fails(void)
{
	meet();
	REQUIRE_DAT(api_read(end.ep, api_seg(&buf, 0, SIZE), theirs.target, 1, 0), DAT_SUCCESS);
	want_the_error();
}

static void long_send_to_a_receive_in_it_fails(void)
{
	meet();
	REQUIRE_DAT(api_send(end.ep, &buf, 0, SIZE, 1, 0), DAT_SUCCESS);
	want_the_error();
}

static int use_bounce(void)
{
	return setenv("OPENDAT_TEST_IA", "soft-bounce", 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(write_into_it_fails), CHECK_TEST(short_write_into_it_fails),
	CHECK_TEST(read_out_of_it_fails), CHECK_TEST(long_send_to_a_receive_in_it_fails), CHECK_END
};

static const struct check_suite gone = { .name = "memory that is taken away",
					 .teardown = api_close,
					 .tests = tests };

static const struct check_suite gone_bounced = {
	.name = "memory that is taken away, by the bounce path",
	.init = use_bounce,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&gone, &gone_bounced);
