/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that is stopped, where the kernel does not copy between processes, so that a thread of the peer would have to. The
 * connection ends at the bound, and a line of the log names the process that does not answer.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define SIZE 65536

static struct api_end end;
static struct api_buf buf;
static struct api_offer offer;

/* Offers memory, accepts one connection, and is then stopped and killed. */
static void target(void *arg)
{
	DAT_EVD_HANDLE cr_evd;

	(void)arg;
	api_open_as((char *)"soft-hasty-bounce");
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(2, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

static void peer_that_does_not_answer_is_named_in_the_log(void)
{
	pid_t peer = check_fork(target, NULL);
	char who[64];
	bool said;

	snprintf(who, sizeof(who), "process %d does not answer", (int)peer);
	check_get(peer, &offer, sizeof(offer));
	api_open_as((char *)"soft-hasty-bounce");
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_connect_to(&end, &offer.address, offer.qual);
	check_await(peer);
	check_stderr_begin();
	check_stop(peer);
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, SIZE), api_offer_part(&offer, 0, SIZE), 1, 0), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	said = check_stderr_holds(who);
	check_stderr_end();
	CHECK(said);
	check_kill(peer);
}

static const struct check_test tests[] = { CHECK_TEST(peer_that_does_not_answer_is_named_in_the_log), CHECK_END };

static const struct check_suite silent = {
	.name = "peer that does not answer",
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&silent);
