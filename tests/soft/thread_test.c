/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that cannot start threads, and a peer whose copies the kernel refuses. The peer would ask
 * for a copy by a bounce thread, which does not exist. The connection fails, or ends.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

static struct api_end end;
static DAT_EVD_HANDLE cr_evd;

static void open_side(struct api_offer *offer)
{
	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(offer, cr_evd, NULL);
}

static void accept_one(void)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
}

/* From here on the process cannot start threads. That cannot be undone. */
static void forbid_threads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS), /* clone3(): the C library falls back to clone() */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	/* for all threads, because the service thread starts the bounce thread */
	REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) ==
		0);
}

static void connect_without_threads(void *arg)
{
	struct api_offer mine, theirs;

	(void)arg;
	open_side(&mine);
	forbid_threads();
	check_get(CHECK_PARENT, &theirs, sizeof(theirs));
	check_stderr_begin();
	REQUIRE_DAT(api_offer_connect(end.ep, &theirs, api_patience()), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	check_stderr_end();
	api_close();
}

static void connect_without_threads_fails(void)
{
	pid_t peer = check_fork(connect_without_threads, NULL);
	struct api_offer mine;

	open_side(&mine);
	check_put(peer, &mine, sizeof(mine));
	accept_one();
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	check_join(peer);
}

static void accept_without_threads(void *arg)
{
	struct api_offer mine;

	(void)arg;
	open_side(&mine);
	forbid_threads();
	check_put(CHECK_PARENT, &mine, sizeof(mine));
	check_stderr_begin();
	accept_one();
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_stderr_end();
	check_await(CHECK_PARENT);
	api_close();
}

static void accept_without_threads_breaks_the_connection(void)
{
	pid_t peer = check_fork(accept_without_threads, NULL);
	struct api_offer mine, theirs;

	open_side(&mine);
	check_get(peer, &theirs, sizeof(theirs));
	REQUIRE_DAT(api_offer_connect(end.ep, &theirs, api_patience()), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_signal(peer);
	check_join(peer);
}

static int use_bounce(void)
{
	return setenv("OPENDAT_TEST_IA", "soft-bounce", 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(connect_without_threads_fails),
	CHECK_TEST(accept_without_threads_breaks_the_connection), CHECK_END
};

static const struct check_suite threads = {
	.name = "no thread to copy with", .init = use_bounce, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&threads);
