/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Realms: processes of one host that were started in different ones do not meet, although they
 * listen at the same connection qualifier of the same address.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api.h"

static DAT_CONN_QUAL qual;
static DAT_EVD_HANDLE cr_evd;
static struct api_end end;

static void open_in(const char *realm)
{
	REQUIRE(setenv("DAT_SOFT_REALM", realm, 1) == 0);
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
}

static void listen_here(void)
{
	DAT_PSP_HANDLE psp;

	REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
}

/* Listens until it is told to end. No request may arrive. */
static void listen_elsewhere(void *arg)
{
	open_in(arg);
	listen_here();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	API_EMPTY(cr_evd);
	api_close();
}

static void meets_nobody(const char *mine, char *theirs)
{
	pid_t peer;

	qual = UINT64_C(0x7b7b000000000000) + (DAT_CONN_QUAL)getpid();
	peer = check_fork(listen_elsewhere, theirs);
	check_await(peer);
	open_in(mine);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	/* the qualifier can be used in this realm too */
	listen_here();
	check_signal(peer);
	check_join(peer);
	api_close();
}

static void listener_of_another_realm_is_not_there(void)
{
	meets_nobody("check-a", (char[]){ "check-b" });
}

static void realm_and_none_do_not_meet(void)
{
	meets_nobody("", (char[]){ "check-b" });
	meets_nobody("check-b", (char[]){ "" });
}

static const struct check_test tests[] = { CHECK_TEST(listener_of_another_realm_is_not_there),
					   CHECK_TEST(realm_and_none_do_not_meet), CHECK_END };

static const struct check_suite realm = { .name = "realm", .teardown = api_close, .tests = tests };

CHECK_SUITES(&realm);
