/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clients that wait for `datctl ping --server`: whose turn it is, and when a silent one loses it. The test has its own calls of
 * DAT: a CR is an address and whether it is of a ping, and a wait for an event lasts as long as its timeout, without any time.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "tools/cli.h"
#include "tools/ping.h"

struct cr {
	struct sockaddr_in address;
	bool ping;
	bool rejected;
};

static struct cr crs[100];
static unsigned int cr_count;
static struct ping_queue queue;
static struct ping_end end;
static uint64_t waited_us;
static int come;	/* requests that come while the server waits */

/* ------------------------------------------------------------------ what the queue calls */

DAT_RETURN (dat_cr_query)(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct cr *it = (struct cr *)cr;

	(void)mask;
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&it->address;
	param->private_data = it->ping ? it : NULL;
	return DAT_SUCCESS;
}

DAT_RETURN (dat_cr_reject)(DAT_CR_HANDLE cr)
{
	((struct cr *)cr)->rejected = true;
	return DAT_SUCCESS;
}

bool ping_place_unpack(const void *data, DAT_COUNT size, struct ping_place *place)
{
	(void)size;
	(void)place;
	return data != NULL;
}

void cli_error(const char *fmt, ...)
{
	(void)fmt;
}

static struct cr *new_cr(const char *from)
{
	struct cr *cr = &crs[cr_count++];

	*cr = (struct cr){ .address.sin_family = AF_INET, .ping = true };
	REQUIRE(cr_count <= sizeof(crs) / sizeof(crs[0]) && inet_pton(AF_INET, from, &cr->address.sin_addr) == 1);
	return cr;
}

DAT_RETURN (dat_evd_dequeue)(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	(void)evd;
	if (come == 0)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	come--;
	event->event_data.cr_arrival_event_data.cr_handle = (DAT_CR_HANDLE)new_cr("192.0.2.9");
	return DAT_SUCCESS;
}

DAT_RETURN (dat_evd_wait)(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *more)
{
	(void)evd;
	(void)threshold;
	(void)event;
	(void)more;
	waited_us += timeout;
	return DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED;
}

/* ------------------------------------------------------------------ the clients */

static void empty(void)
{
	memset(&queue, 0, sizeof(queue));
	memset(&end, 0, sizeof(end));
	end.patience = 10000000;
	end.queue = &queue;
	cr_count = 0;
	waited_us = 0;
	come = 0;
}

static struct cr *comes(const char *from)
{
	struct cr *cr = new_cr(from);

	ping_queue_add(&queue, (DAT_CR_HANDLE)cr);
	return cr;
}

/* Whose turn it is, or NULL. */
static struct cr *next(void)
{
	DAT_CR_HANDLE cr;

	return ping_queue_next(&queue, &cr) ? (struct cr *)cr : NULL;
}

/* Waits for a client that is silent. Returns whether it loses its turn. */
static bool silent(void)
{
	DAT_EVENT event;
	bool lost = false;

	waited_us = 0;
	CHECK_EQ_INT(DAT_GET_TYPE(ping_queue_await(&end, DAT_HANDLE_NULL, &event, &lost)), DAT_TIMEOUT_EXPIRED);
	return lost;
}

/* ------------------------------------------------------------------ tests */

static void clients_of_one_address_come_in_their_order(void)
{
	struct cr *first = comes("192.0.2.1"), *second = comes("192.0.2.1"), *third = comes("192.0.2.1");

	CHECK(next() == first);
	CHECK(next() == second);
	CHECK(next() == third);
	CHECK(next() == NULL);
}

static void addresses_take_turns(void)
{
	struct cr *many[4], *one, *other;

	for (int i = 0; i < 4; i++)
		many[i] = comes("192.0.2.1");
	CHECK(next() == many[0]);
	one = comes("192.0.2.2");
	CHECK(next() == one);
	one = comes("192.0.2.2");
	other = comes("192.0.2.3");
	CHECK(next() == other);
	CHECK(next() == many[1]);
	CHECK(next() == one);
	CHECK(next() == many[2]);
	CHECK(next() == many[3]);
}

static void address_has_16_places_of_64(void)
{
	struct cr *last;
	char from[32];

	for (int i = 0; i < 64; i++) {
		snprintf(from, sizeof(from), "192.0.2.%d", i / 16);
		last = comes(from);
		CHECK(!last->rejected);
		if (i % 16 == 15 && i < 63)
			CHECK(comes(from)->rejected);
	}
	CHECK(comes("192.0.2.99")->rejected);
	CHECK(next() == &crs[0]);
	CHECK(!comes("192.0.2.99")->rejected);
}

static void what_is_no_ping_does_not_wait(void)
{
	struct cr *cr = new_cr("192.0.2.1");

	cr->ping = false;
	ping_queue_add(&queue, (DAT_CR_HANDLE)cr);
	CHECK(cr->rejected);
	CHECK(next() == NULL);
}

static void silent_client_keeps_its_turn_if_nobody_waits(void)
{
	comes("192.0.2.1");
	(void)next();
	CHECK(!silent());
	CHECK_EQ_INT(waited_us, end.patience);
}

static void silent_client_loses_its_turn_if_others_wait(void)
{
	comes("192.0.2.1");
	(void)next();
	come = 1;
	CHECK(silent());
	CHECK_EQ_INT(waited_us, 2000000);
	/* it is the turn of that one now, and two others wait */
	(void)next();
	come = 2;
	CHECK(silent());
	CHECK_EQ_INT(waited_us, 1000000);
}

/* What a client says before that does not give it the same time again. */
static void silence_counts_in_all(void)
{
	comes("192.0.2.1");
	(void)next();
	end.patience = 1500000;
	CHECK(!silent());
	come = 1;
	end.patience = 10000000;
	CHECK(silent());
	CHECK_EQ_INT(waited_us, 500000);
}

static const struct check_test tests[] = {
	CHECK_TEST(clients_of_one_address_come_in_their_order),
	CHECK_TEST(addresses_take_turns),
	CHECK_TEST(address_has_16_places_of_64),
	CHECK_TEST(what_is_no_ping_does_not_wait),
	CHECK_TEST(silent_client_keeps_its_turn_if_nobody_waits),
	CHECK_TEST(silent_client_loses_its_turn_if_others_wait),
	CHECK_TEST(silence_counts_in_all),
	CHECK_END
};
static const struct check_suite suite = { .name = "clients of datctl ping", .setup = empty, .tests = tests };

CHECK_SUITES(&suite);
