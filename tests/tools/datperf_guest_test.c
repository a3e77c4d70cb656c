/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which clients a datperf server rejects because others of their address were silent. Time stands still here: the test says how
 * late it is. Each test has addresses of its own, because what is counted lasts.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "tools/cli.h"
#include "tools/datperf.h"

#define MINUTE_NS UINT64_C(60000000000)

static uint64_t now_ns = MINUTE_NS;

uint64_t perf_now_ns(void)
{
	return now_ns;
}

static const struct sockaddr *client(const char *text)
{
	static struct sockaddr_in address;

	address = (struct sockaddr_in){ .sin_family = AF_INET };
	REQUIRE(inet_pton(AF_INET, text, &address.sin_addr) == 1);
	return (const struct sockaddr *)&address;
}

static void are_silent(const char *text, int count)
{
	for (int i = 0; i < count; i++)
		guest_silent(client(text));
}

static void three_silent_clients_are_forgiven(void)
{
	are_silent("192.0.2.1", 3);
	CHECK(guest_welcome(client("192.0.2.1")));
}

static void after_four_silent_clients_the_address_is_rejected_and_no_other(void)
{
	are_silent("192.0.2.2", 4);
	CHECK(!guest_welcome(client("192.0.2.2")));
	CHECK(guest_welcome(client("192.0.2.3")));
}

static void one_is_forgotten_each_minute(void)
{
	are_silent("192.0.2.4", 4);
	now_ns += MINUTE_NS - 1;
	CHECK(!guest_welcome(client("192.0.2.4")));
	now_ns++;
	CHECK(guest_welcome(client("192.0.2.4")));
	are_silent("192.0.2.4", 1);
	CHECK(!guest_welcome(client("192.0.2.4")));
}

static void all_are_forgotten_after_some_minutes(void)
{
	are_silent("192.0.2.5", 4);
	now_ns += 4 * MINUTE_NS;
	are_silent("192.0.2.5", 3);
	CHECK(guest_welcome(client("192.0.2.5")));
	are_silent("192.0.2.5", 1);
	CHECK(!guest_welcome(client("192.0.2.5")));
}

/* A long time after the first of them, the minute of the next ones is a whole one. */
static void a_minute_begins_with_the_first_that_counts(void)
{
	are_silent("192.0.2.6", 1);
	now_ns += 100 * MINUTE_NS + 1;
	are_silent("192.0.2.6", 4);
	now_ns += MINUTE_NS - 1;
	CHECK(!guest_welcome(client("192.0.2.6")));
}

static void time_that_clients_take_counts_as_silent_ones(void)
{
	const uint64_t patience = 10;

	for (int i = 0; i < 39; i++)
		guest_spent(client("192.0.2.7"), 1, patience);
	CHECK(guest_welcome(client("192.0.2.7")));
	guest_spent(client("192.0.2.7"), 1, patience);
	CHECK(!guest_welcome(client("192.0.2.7")));
	/* one client may take longer than the patience, because a large memory takes time to fill */
	guest_spent(client("192.0.2.8"), 45, patience);
	CHECK(!guest_welcome(client("192.0.2.8")));
	guest_spent(client("192.0.2.9"), 0, patience);
	CHECK(guest_welcome(client("192.0.2.9")));
}

static void time_that_does_not_count_yet_is_forgotten_as_well(void)
{
	are_silent("192.0.2.10", 3);
	guest_spent(client("192.0.2.10"), 9, 10);
	now_ns += 3 * MINUTE_NS;
	guest_spent(client("192.0.2.10"), 1, 10);
	are_silent("192.0.2.10", 3);
	CHECK(!guest_welcome(client("192.0.2.10")));
	now_ns += 5 * MINUTE_NS;
	guest_spent(client("192.0.2.10"), 9, 10);
	now_ns += MINUTE_NS;
	guest_spent(client("192.0.2.10"), 9, 10);
	are_silent("192.0.2.10", 3);
	CHECK(guest_welcome(client("192.0.2.10")));
}

static void many_addresses_do_not_overflow(void)
{
	char text[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "198.51.%d.%d", i / 250, i % 250);
		are_silent(text, 4);
		CHECK(!guest_welcome(client(text)));
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(three_silent_clients_are_forgiven),
	CHECK_TEST(after_four_silent_clients_the_address_is_rejected_and_no_other),
	CHECK_TEST(one_is_forgotten_each_minute),
	CHECK_TEST(all_are_forgotten_after_some_minutes),
	CHECK_TEST(a_minute_begins_with_the_first_that_counts),
	CHECK_TEST(time_that_clients_take_counts_as_silent_ones),
	CHECK_TEST(time_that_does_not_count_yet_is_forgotten_as_well),
	CHECK_TEST(many_addresses_do_not_overflow),
	CHECK_END
};
static const struct check_suite suite = { .name = "silent clients of datperf", .tests = tests };

CHECK_SUITES(&suite);
