/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an administrator may allow although the standard forbids it: one EVD for completions that notify
 * and for completions that do not. By default this is refused, with a message that names cause and remedy.
 */
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"

#define DEFAULT	  DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIG	  DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG

enum { SIZE = 8192, HALF = SIZE / 2 };

static struct api_pair pair;
static struct api_buf buf;

static void setup_strict(void)
{
	unsetenv("DAT_ALLOW");
	api_open();
}

static void setup_allowed(void)
{
	setenv("DAT_ALLOW", "mixed_completions", 1);
	api_open();
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
}

static void teardown(void)
{
	api_close();
	unsetenv("DAT_ALLOW");
}

static DAT_RETURN create(DAT_EVD_HANDLE dtos, DAT_EVD_HANDLE connect, DAT_COMPLETION_FLAGS recv,
			 DAT_COMPLETION_FLAGS request, DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = recv, .request_completion_flags = request };

	return dat_ep_create(api.ia, api.pz, dtos, dtos, connect, &attr, ep);
}

/* Makes an endpoint whose receives and requests complete on one EVD. */
static void end_on_one(struct api_end *end, DAT_EVD_HANDLE dtos, DAT_COMPLETION_FLAGS recv,
		       DAT_COMPLETION_FLAGS request)
{
	end->recv = end->request = dtos;
	end->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(create(dtos, end->connect, recv, request, &end->ep), DAT_SUCCESS);
}

/* Connects two ends that each have such an EVD. */
static void meet(DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request)
{
	end_on_one(&pair.a, api_evd(64, DAT_EVD_DTO_FLAG), recv, request);
	end_on_one(&pair.b, api_evd(64, DAT_EVD_DTO_FLAG), recv, request);
	api_pair_meet(&pair);
}

static DAT_RETURN write_a(uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, HALF, 64), cookie, flags);
}

/* Returns the words that dat_ia_query() returns in the attribute "allow". */
static const char *shown(void)
{
	for (int i = 0; i < api.prov.num_provider_specific_attr; i++)
		if (!strcmp(api.prov.provider_specific_attr[i].name, "allow"))
			return api.prov.provider_specific_attr[i].value;
	return "";
}

/* ------------------------------------------------------------------ the default */

static void nothing_is_allowed_unless_asked_for(void)
{
	CHECK_EQ_STR(shown(), "none");
}

static void mixed_completions_are_refused_by_default_and_the_message_names_the_remedy(void)
{
	DAT_EVD_HANDLE dtos = api_evd(64, DAT_EVD_DTO_FLAG);
	char which[32];
	DAT_EP_HANDLE ep;
	const char *text;

	snprintf(which, sizeof(which), "%p", (void *)dtos);
	check_stderr_begin();
	CHECK_DAT(create(dtos, DAT_HANDLE_NULL, DEFAULT, UNSIG, &ep), DAT_INVALID_PARAMETER);
	text = check_stderr_end();
	CHECK(strstr(text, "DAT_COMPLETION_UNSIGNALLED_FLAG"));
	CHECK(strstr(text, "DAT_COMPLETION_DEFAULT_FLAG"));
	CHECK(strstr(text, which));
	CHECK(strstr(text, "request_evd_handle"));
	CHECK(strstr(text, "allow=mixed_completions"));
	CHECK(strstr(text, "DAT_ALLOW=mixed_completions"));
	/* once, so that a program that repeats the call does not fill the log */
	check_stderr_begin();
	CHECK_DAT(create(dtos, DAT_HANDLE_NULL, DEFAULT, UNSIG, &ep), DAT_INVALID_PARAMETER);
	CHECK_EQ_STR(check_stderr_end(), "");
}

static void unknown_word_keeps_the_adapter_from_opening_and_the_nearest_is_named(void)
{
	static const char *const words[] = { "mixed_completion", "mixed_completions,nonsense",
					     "mixed_completions,", "mixed" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		const char *text;

		setenv("DAT_ALLOW", words[i], 1);
		check_stderr_begin();
		CHECK_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_INVALID_PARAMETER);
		text = check_stderr_end();
		CHECK(strstr(text, "DAT_ALLOW"));
		CHECK(strstr(text, "he words are: mixed_completions (see dat.conf(5))"));
		CHECK((strstr(text, "did you mean mixed_completions? The") != NULL) == !i);
	}
}

/* The word "none", which the attribute shows, is accepted as well. */
static void none_allows_nothing(void)
{
	api_close();
	setenv("DAT_ALLOW", "none", 1);
	api_open();
	CHECK_EQ_STR(shown(), "none");
	unsetenv("DAT_ALLOW");
}

static void line_with_none_or_no_word_allows_nothing(void)
{
	static char *const lines[] = { (char *)"soft-none", (char *)"soft-no-word" };

	if (api_over_verbs())
		check_skip("the lines are of soft0");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		api_close();
		api_open_as(lines[i]);
		CHECK_EQ_STR(shown(), "none");
	}
}

/* ------------------------------------------------------------------ allowed */

static void what_is_allowed_is_shown(void)
{
	CHECK_EQ_STR(shown(), "mixed_completions");
}

static void receives_wake_and_unsignalled_requests_do_not(void)
{
	struct api_waiter waiter;

	meet(DEFAULT, UNSIG);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, 9), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, 10), DAT_SUCCESS);
	api_wait_start(&waiter, pair.a.request, 1);
	REQUIRE_DAT(write_a(1, UNSIG), DAT_SUCCESS);
	REQUIRE_DAT(write_a(2, UNSIG), DAT_SUCCESS);
	REQUIRE_DAT(write_a(3, SUPPRESS), DAT_SUCCESS);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	/* a receive wakes the waiter, which then gets the completions before it */
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 0, 64, 4, DEFAULT), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 9, DAT_DTO_SUCCESS, 64);
	API_EMPTY(pair.a.request);
	/* a request that is posted with the default flag wakes it as well */
	api_wait_start(&waiter, pair.a.request, 1);
	REQUIRE_DAT(write_a(5, DEFAULT), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 5);
}

static void cno_triggers_for_a_receive_and_not_for_an_unsignalled_request(void)
{
	DAT_CNO_HANDLE cno = api_cno();
	struct api_waiter waiter;

	end_on_one(&pair.a, api_evd_cno(64, DAT_EVD_DTO_FLAG, cno), DEFAULT, UNSIG);
	end_on_one(&pair.b, api_evd(64, DAT_EVD_DTO_FLAG), DEFAULT, UNSIG);
	api_pair_meet(&pair);
	REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, 9), DAT_SUCCESS);
	api_cno_wait_start(&waiter, cno);
	REQUIRE_DAT(write_a(1, UNSIG), DAT_SUCCESS);
	usleep(API_QUIET_MS * 1000);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_send(pair.b.ep, &buf, 0, 64, 4, DEFAULT), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK(waiter.hint == pair.a.request);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 9, DAT_DTO_SUCCESS, 64);
}

/*
 * The progress engine of such programs: all completions of both kinds come by dequeue, each exactly
 * once.
 */
static void dequeue_takes_both_kinds(void)
{
	enum { N = 200 };
	unsigned char seen[2][N] = { { 0 } };

	meet(DEFAULT, UNSIG);
	for (uint64_t n = 0; n < N; n++) {
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 64, N + n), DAT_SUCCESS);
		REQUIRE_DAT(api_recv(pair.a.ep, &buf, HALF, 64, N + n), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, n, UNSIG), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.b.ep, &buf, 0, 64, n, UNSIG), DAT_SUCCESS);
		for (int taken = 0; taken < 4;) {
			DAT_EVENT event;
			const DAT_DTO_COMPLETION_EVENT_DATA *dto =
				&event.event_data.dto_completion_event_data;
			bool a = dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS;

			if (!a)
				REQUIRE_SOON(dat_evd_dequeue(pair.b.request, &event) == DAT_SUCCESS ||
					     (a = dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS));
			CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
			REQUIRE(dto->user_cookie.as_64 % N == n);
			seen[!a][n]++;
			taken++;
		}
		CHECK_EQ_INT(seen[0][n], 2);
		CHECK_EQ_INT(seen[1][n], 2);
	}
}

/* Solicited events need an EVD of their own, because a device filters by them for a whole queue. */
static void solicited_receives_still_want_an_evd_of_their_own(void)
{
	DAT_EVD_HANDLE dtos = api_evd(64, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep;
	const char *text;

	check_stderr_begin();
	CHECK_DAT(create(dtos, DAT_HANDLE_NULL, SOLICITED, DEFAULT, &ep), DAT_INVALID_PARAMETER);
	text = check_stderr_end();
	CHECK(strstr(text, "DAT_COMPLETION_SOLICITED_WAIT_FLAG"));
	CHECK(strstr(text, "an EVD of their own"));
	CHECK(!strstr(text, "allow="));
	CHECK_DAT(create(dtos, DAT_HANDLE_NULL, SOLICITED, UNSIG, &ep), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(create(dtos, DAT_HANDLE_NULL, DEFAULT, UNSIG, &ep), DAT_SUCCESS);
	CHECK_DAT(dat_ep_create(api.ia, api.pz, dtos, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				&(DAT_EP_ATTR){ .recv_completion_flags = SOLICITED }, &ep),
		  DAT_INVALID_PARAMETER);
}

static void endpoint_may_be_modified_into_a_mixture(void)
{
	DAT_EVD_HANDLE shared = api_evd(64, DAT_EVD_DTO_FLAG);
	DAT_EP_PARAM param = { .ep_attr.request_completion_flags = UNSIG };
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(create(shared, DAT_HANDLE_NULL, DEFAULT, DEFAULT, &ep), DAT_SUCCESS);
	CHECK_DAT(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param),
		  DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_attr.request_completion_flags, UNSIG);
	CHECK_EQ_INT(param.ep_attr.recv_completion_flags, DEFAULT);
}

static void connection_events_go_with_unsignalled_requests(void)
{
	DAT_EVD_HANDLE all = api_evd(64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	struct api_waiter waiter;
	DAT_EVENT event;

	pair.a = (struct api_end){ all, all, all, DAT_HANDLE_NULL };
	REQUIRE_DAT(create(all, all, DEFAULT, UNSIG, &pair.a.ep), DAT_SUCCESS);
	end_on_one(&pair.b, api_evd(64, DAT_EVD_DTO_FLAG), DEFAULT, DEFAULT);
	api_pair_meet(&pair);
	REQUIRE_DAT(write_a(1, UNSIG), DAT_SUCCESS);
	/* it wakes no waiter, so the test polls for it */
	REQUIRE_SOON(dat_evd_dequeue(all, &event) == DAT_SUCCESS);
	CHECK_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	api_wait_start(&waiter, all, 1);
	REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct check_test strict_tests[] = {
	CHECK_TEST(nothing_is_allowed_unless_asked_for),
	CHECK_TEST(mixed_completions_are_refused_by_default_and_the_message_names_the_remedy),
	CHECK_TEST(unknown_word_keeps_the_adapter_from_opening_and_the_nearest_is_named),
	CHECK_TEST(none_allows_nothing),
	CHECK_TEST(line_with_none_or_no_word_allows_nothing),
	CHECK_END
};

static const struct check_test allowed_tests[] = {
	CHECK_TEST(what_is_allowed_is_shown),
	CHECK_TEST(receives_wake_and_unsignalled_requests_do_not),
	CHECK_TEST(cno_triggers_for_a_receive_and_not_for_an_unsignalled_request),
	CHECK_TEST(dequeue_takes_both_kinds),
	CHECK_TEST(solicited_receives_still_want_an_evd_of_their_own),
	CHECK_TEST(endpoint_may_be_modified_into_a_mixture),
	CHECK_TEST(connection_events_go_with_unsignalled_requests),
	CHECK_END
};

static const struct check_suite strict = {
	.name = "by default", .setup = setup_strict, .teardown = teardown, .tests = strict_tests,
};

static const struct check_suite allowed = {
	.name = "allow=mixed_completions", .setup = setup_allowed, .teardown = teardown,
	.tests = allowed_tests,
};

CHECK_SUITES(&strict, &allowed);
