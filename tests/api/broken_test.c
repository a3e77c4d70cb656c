/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is printed by default about a connection that has broken: which operation of this side has failed, and why; and about a
 * connection request whose listener has ended before it answered.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { SIZE = 8192, HALF = SIZE / 2 };

static struct api_pair pair;
static struct api_buf buf;

static void setup_default(void)
{
	unsetenv("DAT_LOG");
	api_open();
}

/* A message that is too long for its receive breaks the connection. */
static void break_a_connection(void)
{
	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 63, 2), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 64, 3), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_ERR_LOCAL_LENGTH, API_ANY_LENGTH);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
	api_end_free(&pair.a);
	api_end_free(&pair.b);
}

static int lines_with(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void operation_that_breaks_a_connection_is_told_by_default(void)
{
	const char *text;

	if (api_over_verbs())
		check_skip("the device chooses the status");
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	check_stderr_begin();
	break_a_connection();
	text = check_stderr_end();
	CHECK(strstr(text, "the receive of this side failed with DAT_DTO_ERR_LOCAL_LENGTH: its segments are too short"));
	CHECK(strstr(text, "; post segments as long as the message"));
	/* neither the flush, nor the side of which no operation has failed */
	CHECK_EQ_INT(lines_with(text, "\n"), 1);
}

static void program_that_provokes_errors_is_told_a_few_times(void)
{
	int lines;

	if (api_over_verbs())
		check_skip("the device chooses the status");
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	check_stderr_begin();
	for (int i = 0; i < 10; i++)
		break_a_connection();
	lines = lines_with(check_stderr_end(), "of this side failed with");
	/* three in each interval of ten seconds, of which this may have seen two, and the test before has used one */
	CHECK(lines >= 1 && lines <= 6);
}

static const struct check_test default_tests[] = {
	CHECK_TEST(operation_that_breaks_a_connection_is_told_by_default),
	CHECK_TEST(program_that_provokes_errors_is_told_a_few_times),
	CHECK_END
};

static const struct check_suite by_default = {
	.name = "broken", .setup = setup_default, .teardown = api_close, .tests = default_tests,
};

/* ------------------------------------------------------------------ requests */

static void have_a_request(void *arg)
{
	struct api_offer offer;
	DAT_EVD_HANDLE cr_evd;

	(void)arg;
	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	(void)api_cr(cr_evd);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void server_that_ends_with_a_request_is_not_taken_for_none(void)
{
	struct api_offer theirs;
	struct api_end end;
	const char *text;
	pid_t peer;

	unsetenv("DAT_LOG");
	peer = check_fork(have_a_request, NULL);
	api_open();
	if (api_over_verbs())
		check_skip("the device reports the same of both");
	api_end_make(&end, NULL);
	check_get(peer, &theirs, sizeof(theirs));
	check_stderr_begin();
	REQUIRE_DAT(api_offer_connect(end.ep, &theirs, api_patience()), DAT_SUCCESS);
	check_await(peer);
	check_kill(peer);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	text = check_stderr_end();
	CHECK(strstr(text, "the other side has ended the request without an answer"));
	CHECK(!strstr(text, "nobody listens there"));
}

static const struct check_test request_tests[] = { CHECK_TEST(server_that_ends_with_a_request_is_not_taken_for_none), CHECK_END };

static const struct check_suite requests = { .name = "requests", .teardown = api_close, .tests = request_tests };

CHECK_SUITES(&by_default, &requests);
