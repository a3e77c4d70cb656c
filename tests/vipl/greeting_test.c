/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection whose peer has announced a greeting and not sent it, over an adapter whose active side has to send
 * first. The peer does not use libvipl. The victim is the test itself.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foe.h"

enum { HOLD_MS = 300, WILL_GREET = 8 }; /* WIRE_WILL_GREET: vipl/wire.h */

static struct side s;
static pid_t peer;
static pthread_t waiter;
static bool waits;

/* ------------------------------------------------------------------ the thread that loses the processor */

/* The thread that waits has taken a flush off the queue; it handles it after HOLD_MS, or when the VI is disconnected. */
static struct {
	_Atomic bool waits;
	_Atomic bool has_event;
	_Atomic bool goes_on;
	_Atomic bool disconnected;
} slow;

static void hold(void)
{
	uint64_t until = check_now_ms() + HOLD_MS;

	atomic_store(&slow.has_event, true);
	while (!atomic_load(&slow.disconnected) && check_now_ms() < until)
		check_nap();
	atomic_store(&slow.goes_on, true);
}

/* Replaces libdat's, also for libvipl. */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *more)
{
	static _Atomic(DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *)) real;
	DAT_RETURN ret;

	if (!atomic_load(&real))
		atomic_store(&real, (DAT_RETURN (*)(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *, DAT_COUNT *))
					    dlsym(RTLD_NEXT, "dat_evd_wait"));
	atomic_store(&slow.waits, true);
	ret = atomic_load(&real)(evd, timeout, threshold, event, more);
	if (ret == DAT_SUCCESS && event->event_number == DAT_DTO_COMPLETION_EVENT && !atomic_load(&slow.has_event))
		hold();
	return ret;
}

static void *wait_for_completions(void *arg)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	(void)arg;
	VipCQWait(s.cq, VIP_INFINITE, &vi, &recv);
	return NULL;
}

/* ------------------------------------------------------------------ the peer */

static void promise_a_greeting(void *arg)
{
	(void)arg;
	check_get(CHECK_PARENT, &mtu, sizeof(mtu));
	foe_open();
	ask_as_client("victim", "victim", WILL_GREET);
	REQUIRE_EQ_INT(verdict(), 1);
	check_await(CHECK_PARENT);
}

/* ------------------------------------------------------------------ the victim */

static void write_conf(void)
{
	char path[PATH_MAX], text[2 * PATH_MAX + 256];

	REQUIRE(getcwd(path, sizeof(path)) != NULL);
	snprintf(text, sizeof(text),
		 "soft0 u1.2 nonthreadsafe default %.4000s/.libs/libdatsoft.so opendat.1.0 \"\" \"\"\n"
		 "active-first u1.2 nonthreadsafe default %.4000s/.libs/odd.so opendat.1.0 \"soft0 active-first\" \"\"\n",
		 path, path);
	check_write("dat.conf", text);
	snprintf(path, sizeof(path), "%s/dat.conf", check_tmpdir());
	setenv("DAT_OVERRIDE", path, 1);
}

static void accept_a_promise(void)
{
	union address remote = { .bytes = { 0 } };
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	address_make(&s, "victim", &s.local);
	REQUIRE_VIP(VipConnectWait(s.nic, &s.local.net, 0, &remote.net, &s.remote, &conn), VIP_TIMEOUT);
	REQUIRE_VIP(VipQueryVi(s.vi, NULL, &attr, NULL, NULL), VIP_SUCCESS);
	mtu = (uint32_t)attr.MaxTransferSize;
	check_put(peer, &mtu, sizeof(mtu));
	REQUIRE_VIP(VipConnectWait(s.nic, &s.local.net, check_patience_ms(), &remote.net, &s.remote, &conn), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectAccept(conn, s.vi), VIP_SUCCESS);
}

static void begin(void)
{
	write_conf();
	setenv("OPENDAT_TEST_IA", "soft0", 1);
	peer = check_fork(promise_a_greeting, NULL);
	setenv("OPENDAT_TEST_IA", "active-first", 1);
	side_open(&s);
	REQUIRE_VIP(VipCreateCQ(s.nic, 64, &s.cq), VIP_SUCCESS);
	s.attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	side_create_vi(&s);
	accept_a_promise();
	REQUIRE(pthread_create(&waiter, NULL, wait_for_completions, NULL) == 0);
	waits = true;
	REQUIRE_SOON(atomic_load(&slow.waits));
}

static void end(void)
{
	atomic_store(&slow.disconnected, true);
	if (waits) {
		pthread_cancel(waiter);
		pthread_join(waiter, NULL);
	}
	waits = false;
	if (peer > 0)
		check_kill(peer);
	peer = 0;
	side_close(&s);
}

/* Afterwards the program may destroy the VI, and with it what a thread uses that handles the flush. */
static void a_disconnect_waits_for_the_flush_of_a_greeting(void)
{
	CHECK_VIP(VipDisconnect(s.vi), VIP_SUCCESS);
	CHECK(atomic_load(&slow.goes_on));
	atomic_store(&slow.disconnected, true);
	REQUIRE_SOON(atomic_load(&slow.has_event));
	CHECK_VIP(VipDestroyVi(s.vi), VIP_SUCCESS);
	s.vi = NULL;
}

static const struct check_test tests[] = { CHECK_TEST(a_disconnect_waits_for_the_flush_of_a_greeting), CHECK_END };
static const struct check_suite greeting = { .name = "greeting", .setup = begin, .teardown = end, .tests = tests };

CHECK_SUITES(&greeting);
