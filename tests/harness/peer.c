/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers: processes forked off a test. Invariant: a peer never outlives its test, and no failure that it
 * found is lost. Its failures travel over a pipe as "line<TAB>file<TAB>text" lines when it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

#include "internal.h"

#define PEERS 64

struct peer {
	pid_t pid;			/* 0: this slot is free */
	int sync;			/* this side's end of the socket pair for check_put() and check_get() */
	int verdict;			/* read end of the pipe with the peer's failures */
};

/* Used from the test's own thread only; a peer starts with an empty table of its own. */
static struct peer peers[PEERS];
static int parent_sync = -1;		/* in a peer: its end of the pair */

/* In sanitized programs; a peer leaves without running the sanitizer's own hook for exit(). */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static int leaks_are_ignored;
int __lsan_is_turned_off(void);

/* A leak checker of a sanitizer calls it before it looks for leaks. */
int __lsan_is_turned_off(void)
{
	return leaks_are_ignored;
}

void check_ignore_leaks(void)
{
	leaks_are_ignored = true;
#ifdef VALGRIND_CLO_CHANGE
	VALGRIND_CLO_CHANGE("--leak-check=no");
#endif
}

static struct peer *peer_find(pid_t pid)
{
	for (int i = 0; i < PEERS; i++)
		if (peers[i].pid == pid)
			return &peers[i];
	return NULL;
}

static void peer_forget(struct peer *peer)
{
	close(peer->sync);
	close(peer->verdict);
	*peer = (struct peer){ 0 };
}

/* Sends the failures beyond the first `known`, which the peer inherited from its parent. */
static void send_failures(int fd, unsigned int known)
{
	CU_pFailureRecord failure = CU_get_failure_list();

	for (; failure && known; known--)
		failure = failure->pNext;
	for (; failure; failure = failure->pNext)
		dprintf(fd, "%u\t%s\t%s\n", failure->uiLineNumber, failure->strFileName,
			failure->strCondition);
}

/*
 * Whether leaks of a child that is forked now can be found. If there are other threads, the sanitizer takes for a leak what only
 * they point to, because the child does not have them. A directory has two links and one for each of its folders.
 */
static bool leaks_can_be_found(void)
{
	struct stat tasks;

	return __lsan_do_recoverable_leak_check && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 1;
}

static _Noreturn void be_peer(void (*run)(void *arg), void *arg, int verdict, pid_t parent, bool find_leaks)
{
	unsigned int known = CU_get_number_of_failure_records();
	CU_pTest test = CU_get_current_test();
	jmp_buf here;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	check_claim_thread();
	test->pJumpBuf = &here;
	if (!setjmp(here))
		run(arg);
	if (find_leaks && __lsan_do_recoverable_leak_check())
		CHECK_FAIL("the peer leaks memory: see the log");
	send_failures(verdict, known);
	fflush(NULL);
	_exit(EXIT_SUCCESS);
}

pid_t check_fork(void (*run)(void *arg), void *arg)
{
	struct peer *peer = peer_find(0);
	pid_t parent = getpid(), pid;
	bool find_leaks = leaks_can_be_found();
	int sync[2], verdict[2];

	REQUIRE(peer != NULL);
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sync) == 0);
	REQUIRE(pipe2(verdict, O_CLOEXEC) == 0);
	fflush(NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < PEERS; i++)
			if (peers[i].pid)
				peer_forget(&peers[i]);
		close(sync[0]);
		close(verdict[0]);
		parent_sync = sync[1];
		be_peer(run, arg, verdict[1], parent, find_leaks);
	}
	close(sync[1]);
	close(verdict[1]);
	*peer = (struct peer){ .pid = pid, .sync = sync[0], .verdict = verdict[0] };
	return pid;
}

/* Makes the peer's failures, one a line, this test's. */
static void take_failures(char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *number = strsep(&line, "\t"), *file = strsep(&line, "\t");

		check_fail(false, file ? file : "?", (unsigned int)atoi(number), "in a peer: %s",
			   line ? line : "?");
	}
}

/*
 * Reads the peer's failures until it has ended, or kills it at the deadline. The pipe is read all the time, so
 * that a peer with many failures does not block. The end of the pipe is noticed at once, but a grandchild may
 * keep it open, so waitpid() is called from time to time as well.
 */
static bool peer_end(struct peer *peer, uint64_t deadline, char **text, int *status)
{
	struct pollfd fd = { .fd = peer->verdict, .events = POLLIN };
	size_t size = 0;
	FILE *all = open_memstream(text, &size);
	bool gone = false;
	char chunk[4096];

	for (;;) {
		if (!gone && waitpid(peer->pid, status, WNOHANG) == peer->pid)
			gone = true;
		if (poll(&fd, 1, gone ? 0 : 10) > 0) {
			ssize_t got = read(peer->verdict, chunk, sizeof(chunk));

			if (got > 0) {
				fwrite(chunk, 1, (size_t)got, all);
				continue;
			}
			fd.fd = -1;
		}
		if (gone || check_now_ms() > deadline)
			break;
		if (fd.fd < 0)
			check_nap();
	}
	if (!gone) {
		kill(peer->pid, SIGKILL);
		waitpid(peer->pid, status, 0);
	}
	fclose(all);
	peer_forget(peer);
	return gone;
}

void check_join_at(pid_t pid, const char *file, unsigned int line)
{
	struct peer *peer = peer_find(pid);
	char *failures = NULL;
	int status = 0;
	bool gone;

	if (pid <= 0 || !peer) {
		check_fail(true, file, line, "%d is no peer of this test", (int)pid);
		return;
	}
	gone = peer_end(peer, check_now_ms() + check_patience_ms(), &failures, &status);
	take_failures(failures);
	free(failures);
	if (!gone)
		check_fail(false, file, line, "the peer did not end in time: killed");
	else if (WIFSIGNALED(status))
		check_fail(false, file, line, "the peer died of signal %d (%s)", WTERMSIG(status),
			   strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		check_fail(false, file, line, "the peer left with status %d", WEXITSTATUS(status));
}

void check_kill(pid_t pid)
{
	struct peer *peer = peer_find(pid);

	REQUIRE(pid > 0 && peer != NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	peer_forget(peer);
}

/* kill() returns while threads of the peer still run, the longer the busier the machine is. */
void check_stop(pid_t pid)
{
	int status;

	REQUIRE(pid > 0 && peer_find(pid) != NULL);
	REQUIRE(kill(pid, SIGSTOP) == 0);
	REQUIRE(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

/* A test that failed early leaves its peers waiting. They are killed at once, and their failures are reported. */
int check_peers_end(void)
{
	int left = 0;

	for (int i = 0; i < PEERS; i++) {
		char *failures = NULL;

		if (!peers[i].pid)
			continue;
		left++;
		peer_end(&peers[i], check_now_ms() + 1, &failures, &(int){ 0 });
		take_failures(failures);
		free(failures);
	}
	return left;
}

static int sync_fd(pid_t pid)
{
	struct peer *peer = pid > 0 ? peer_find(pid) : NULL;

	return peer ? peer->sync : pid == CHECK_PARENT ? parent_sync : -1;
}

void check_put_at(pid_t to, const void *buf, size_t size, const char *file, unsigned int line)
{
	ssize_t sent = send(sync_fd(to), buf, size, MSG_NOSIGNAL);

	if (sent != (ssize_t)size)
		check_fail(true, file, line, "the other process is gone: %s", strerror(errno));
}

/* Writes how a peer has ended that has closed its socket, or nothing if it goes on. It remains to be joined. */
static const char *how_it_ended(pid_t pid, char *text, size_t size)
{
	uint64_t until = check_now_ms() + 1000;
	siginfo_t info = { 0 };

	*text = '\0';
	while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid &&
	       check_now_ms() < until)
		check_nap();
	if (info.si_pid && info.si_code == CLD_EXITED)
		snprintf(text, size, ": its exit status is %d", info.si_status);
	else if (info.si_pid)
		snprintf(text, size, ": it was killed by signal %d, %s", info.si_status, strsignal(info.si_status));
	return text;
}

void check_get_at(pid_t from, void *buf, size_t size, const char *file, unsigned int line)
{
	uint64_t deadline = check_now_ms() + check_patience_ms();
	struct pollfd fd = { .fd = sync_fd(from), .events = POLLIN };
	char *at = buf, how[80];

	while (size) {
		uint64_t now = check_now_ms();
		int ready = now < deadline ? poll(&fd, 1, (int)(deadline - now)) : 0;
		ssize_t got = 0;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			check_fail(true, file, line, "nothing came from the other process in time");
		if (ready > 0)
			got = recv(fd.fd, at, size, 0);
		if (ready < 0 || got <= 0)
			check_fail(true, file, line, "the other process is gone%s", how_it_ended(from, how, sizeof(how)));
		at += got;
		size -= (size_t)got;
	}
}
