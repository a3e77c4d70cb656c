/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal interrupts the system call that asks the kernel whether a peer lives, which does not wait. It does live. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/peer.h"
#include "providers/soft/process.h"

static bool interrupts; /* the test's own thread alone asks with it */
static pid_t asker;

/* In place of the C library's. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (!interrupts || timeout || gettid() != asker)
		return (int)syscall(SYS_poll, fds, n, timeout);
	errno = EINTR;
	return -1;
}

static struct api_offer offer;
static struct api_end end;

static void serve(void *arg)
{
	DAT_EVD_HANDLE cr;
	struct api_end own;

	(void)arg;
	api_open();
	cr = api_evd(8, DAT_EVD_CR_FLAG);
	api_end_make(&own, NULL);
	api_offer_make(&offer, cr, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr), own.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(own.connect, own.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
}

static void peer_lives_although_the_question_is_interrupted(void)
{
	pid_t pid = check_fork(serve, NULL);
	struct soft_peer *peer;

	api_open();
	api_end_make(&end, NULL);
	check_get(pid, &offer, sizeof(offer));
	api_connect_to(&end, &offer.address, offer.qual);
	peer = soft_ep((struct datp_ep *)datp_object(end.ep, DATP_EP))->peer;
	asker = gettid();
	interrupts = true;
	CHECK(!soft_process_has_ended(&peer->process));
	CHECK(!soft_peer_lost(peer));
	interrupts = false;
	check_kill(pid);
	API_CONN_OVER(end.connect, end.ep);
}

static const struct check_test tests[] = {
	CHECK_TEST(peer_lives_although_the_question_is_interrupted),
	CHECK_END
};

static const struct check_suite suite = { .name = "questions that are interrupted", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
