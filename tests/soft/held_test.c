/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are held where they enter the kernel for a copy, behind the check of their right: by a tracer that stops them at
 * system calls, as strace(1) does, or by a filter that asks another process. When such a peer goes on, it copies one piece at
 * most, as opendat-soft(7) says. Meanwhile it holds up nobody.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/xfer.h"

#define SIZE	((size_t)4 * SOFT_CMA_PIECE)
#define CALM_MS 200 /* the peer makes no further copy within this time, so it makes none */
#define THEIRS	0x11
#define MINE	0x4d

static char adapter[] = "soft-hasty";
static struct api_end end;
static struct api_buf buf;
static bool filtered; /* the peer has the filter */

static void open_side(int byte)
{
	api_open_as(adapter);
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	memset(buf.mem, byte, SIZE);
}

/* ------------------------------------------------------------------ the peer */

/* From here on, a copy into another process has to be allowed by who listens. Returns the descriptor for that, or -1. */
static int ask_for_each_copy(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(rules) / sizeof(rules[0]), .filter = rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void peer(void *arg)
{
	struct api_offer there;
	DAT_EVENT event;
	int listener = -1;

	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof(there));
	open_side(THEIRS);
	api_connect_to(&end, &there.address, there.qual);
	if (filtered)
		listener = ask_for_each_copy();
	check_put(CHECK_PARENT, &listener, sizeof(listener));
	check_await(CHECK_PARENT);
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, SIZE), api_offer_part(&there, 0, SIZE), 1, 0), DAT_SUCCESS);
	API_EVENT(end.request, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* Connects with the peer. *listener becomes its descriptor. */
static pid_t meet(int *listener)
{
	pid_t other = check_fork(peer, NULL);
	struct api_offer here;
	DAT_EVD_HANDLE cr_evd;

	open_side(MINE);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&here, cr_evd, &buf);
	check_put(other, &here, sizeof(here));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_get(other, listener, sizeof(*listener));
	return other;
}

static void leave_out(pid_t other, const char *why)
{
	check_kill(other);
	check_skip(why);
}

/* ------------------------------------------------------------------ this side, while the peer is held and afterwards */

static void take_the_memory_back(void)
{
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	memset(buf.mem, MINE, SIZE);
}

/* The peer has gone on, and its request has failed. */
static void one_piece_has_come(pid_t other)
{
	size_t come = 0;

	check_await(other);
	for (size_t i = 0; i < SIZE; i++)
		come += buf.mem[i] != MINE;
	CHECK(come <= SOFT_CMA_PIECE);
	check_signal(other);
	check_join(other);
}

/* ------------------------------------------------------------------ a tracer */

/* Lets the process run until it enters this system call, and leaves it there. */
static void run_to_call(pid_t pid, unsigned long number)
{
	struct __ptrace_syscall_info info;
	int status, deliver = 0;

	for (;;) {
		REQUIRE(ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)deliver) == 0);
		REQUIRE(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
		deliver = 0;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			if (status >> 16 == 0)
				deliver = WSTOPSIG(status);
			continue;
		}
		REQUIRE(ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) > 0);
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == number)
			return;
	}
}

static void peer_that_a_tracer_holds_copies_at_most_one_piece_later(void)
{
	int listener, status;
	pid_t other;

	filtered = false;
	other = meet(&listener);
	if (ptrace(PTRACE_SEIZE, other, NULL, (void *)PTRACE_O_TRACESYSGOOD))
		leave_out(other, "the system does not allow a process to trace its child");
	REQUIRE(ptrace(PTRACE_INTERRUPT, other, NULL, NULL) == 0);
	REQUIRE(waitpid(other, &status, __WALL) == other && WIFSTOPPED(status));
	check_signal(other);
	run_to_call(other, SYS_process_vm_writev);
	take_the_memory_back();
	REQUIRE(ptrace(PTRACE_DETACH, other, NULL, NULL) == 0);
	one_piece_has_come(other);
}

/* ------------------------------------------------------------------ a filter */

/* Waits for the next copy that the filter asks about, for `ms` milliseconds, or for ever if that is negative. */
static bool asked(int listener, int ms, struct seccomp_notif *question)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };

	memset(question, 0, sizeof(*question));
	return poll(&fd, 1, ms) == 1 && fd.revents & POLLIN && ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, question) == 0;
}

static void allow(int listener, const struct seccomp_notif *question)
{
	struct seccomp_notif_resp answer = { .id = question->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	REQUIRE(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
}

/* Returns this process's own descriptor of the same file, or -1. */
static int descriptor_of(pid_t pid, int fd)
{
	int handle = (int)syscall(SYS_pidfd_open, pid, 0), mine = (int)syscall(SYS_pidfd_getfd, handle, fd, 0);

	close(handle);
	return mine;
}

static void peer_that_a_filter_holds_copies_at_most_one_piece_later(void)
{
	struct seccomp_notif question;
	int theirs, listener = -1;
	pid_t other;

	filtered = true;
	other = meet(&theirs);
	if (theirs >= 0)
		listener = descriptor_of(other, theirs);
	if (listener < 0)
		leave_out(other, "the system has no filters that ask another process, or does not allow them");
	check_signal(other);
	REQUIRE(asked(listener, (int)check_patience_ms(), &question));
	take_the_memory_back();
	do
		allow(listener, &question);
	while (asked(listener, CALM_MS, &question));
	one_piece_has_come(other);
	close(listener);
}

/* The kernel copies between these processes only if it is soft0 that connects them. */
static int over_soft(void)
{
	return unsetenv("OPENDAT_TEST_IA");
}

static const struct check_test tests[] = {
	CHECK_TEST(peer_that_a_tracer_holds_copies_at_most_one_piece_later),
	CHECK_TEST(peer_that_a_filter_holds_copies_at_most_one_piece_later),
	CHECK_END
};
static const struct check_suite suite = { .name = "held", .init = over_soft, .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
