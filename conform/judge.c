/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens in the process of one test: it runs until its end, or until a MUST...() fails. Every
 * finding is written immediately as one line to the process that collects the verdicts, so that a
 * crash loses nothing.
 *
 * The lines have fields separated by tabs. "A id": what follows is about this clause. "C": a check was
 * made. "F file:line call expected got": a check failed. "N attribute": the clause is not applicable.
 * "O text": the outcome. "B": the body has reached its end. "T": the test is over, and the IA gets
 * closed. "X": the server has gone. "E": the end.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "kit.h"
#include "remote.h"

struct conform t;

static struct {
	const struct conform_test *test;
	int fd;
	bool checked;		/* "C" was sent since the last "A" */
	char site[128];		/* where the test called the checking helper, or "" */
	pid_t peer;
	bool is_peer;
	bool asked;		/* whether it was checked that the server is still there */
	bool closing;		/* the test is over, so a failure must not jump */
	jmp_buf over;		/* where a failed MUST...() jumps to */
} judge = { .fd = -1 };

/* One write for each line, because a peer shares the pipe. */
static void report_line(const char *format, ...)
{
	char line[2048];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (size > (int)sizeof(line) - 2)
		size = (int)sizeof(line) - 2;
	for (int i = 0; i < size; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[size++] = '\n';
	while (write(judge.fd, line, (size_t)size) < 0 && errno == EINTR)
		;
}

static _Noreturn void leave(void)
{
	if (judge.is_peer || judge.closing)
		_exit(1);
	longjmp(judge.over, 1);
}

void judge_about(const char *id)
{
	judge.checked = false;
	judge.site[0] = '\0';
	report_line("A\t%s", id);
}

void judge_needs(bool there, const char *attribute)
{
	if (there)
		return;
	report_line("N\t%s", attribute);
	leave();
}

void judge_outcome(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report_line("O\t%s", text);
}

void judge_site(const char *file, int line)
{
	snprintf(judge.site, sizeof(judge.site), "%s:%d", file, line);
}

static void made_a_check(void)
{
	if (judge.checked)
		return;
	judge.checked = true;
	report_line("C");
}

/*
 * Ends the test if the server has ended, and with it the other side: the failure is not the
 * provider's, and the result that the test would have had is unknown.
 */
static void leave_unserved(void)
{
	int fd;

	judge.asked = true;
	if (!t.server.ss_family)
		return;
	fd = remote_dial(&t.server, t.patience_ms);
	if (fd < 0) {
		report_line("X");
		_exit(1);
	}
	close(fd);
}

void judge_fail(bool fatal, const char *file, int line, const char *call, const char *expected,
		const char *format, ...)
{
	char got[512], at[256];
	va_list args;

	va_start(args, format);
	vsnprintf(got, sizeof(got), format, args);
	va_end(args);
	if (fatal || !judge.asked)
		leave_unserved();
	made_a_check();
	snprintf(at, sizeof(at), "%s%s%s:%d", judge.site, judge.site[0] ? " in " : "", file, line);
	report_line("F\t%s\t%s\t%s\t%s", at, call, expected, got);
	if (fatal)
		leave();
}

void judge_true(bool ok, bool fatal, const char *text, const char *file, int line)
{
	if (ok)
		made_a_check();
	else
		judge_fail(fatal, file, line, text, "true", "false");
}

void judge_num(long long got, long long want, bool fatal, const char *text, const char *file,
	       int line)
{
	char expected[64];

	if (got == want) {
		made_a_check();
		return;
	}
	snprintf(expected, sizeof(expected), "%lld (0x%llx)", want, (unsigned long long)want);
	judge_fail(fatal, file, line, text, expected, "%lld (0x%llx)", got,
		   (unsigned long long)got);
}

/* Returns the type's name, from the values of the standard: dat_strerror() is itself under test. */
const char *judge_ret_name(DAT_RETURN ret)
{
	static const char *const names[] = {
		"DAT_SUCCESS", "DAT_ABORT", "DAT_CONN_QUAL_IN_USE", "DAT_INSUFFICIENT_RESOURCES",
		"DAT_INTERNAL_ERROR", "DAT_INVALID_HANDLE", "DAT_INVALID_PARAMETER",
		"DAT_INVALID_STATE", "DAT_LENGTH_ERROR", "DAT_MODEL_NOT_SUPPORTED",
		"DAT_PROVIDER_NOT_FOUND", "DAT_PRIVILEGES_VIOLATION", "DAT_PROTECTION_VIOLATION",
		"DAT_QUEUE_EMPTY", "DAT_QUEUE_FULL", "DAT_TIMEOUT_EXPIRED",
		"DAT_PROVIDER_ALREADY_REGISTERED", "DAT_PROVIDER_IN_USE", "DAT_INVALID_ADDRESS",
		"DAT_INTERRUPTED_CALL", "DAT_CONN_QUAL_UNAVAILABLE",
#if API_MAJOR == 2
		"DAT_RESERVED_LMR", "DAT_PORT_IN_USE", "DAT_COMM_NOT_SUPPORTED",
#endif
	};
	size_t type = DAT_GET_TYPE(ret) >> 16;

	if (DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED))
		return "DAT_NOT_IMPLEMENTED";
	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "a return value of an "
								       "unknown type";
}

void judge_ret(DAT_RETURN got, DAT_RETURN want, bool fatal, const char *call, const char *file,
	       int line)
{
	if (DAT_GET_TYPE(got) == DAT_GET_TYPE(want))
		made_a_check();
	else
		judge_fail(fatal, file, line, call, judge_ret_name(want), "%s (0x%08x)",
			   judge_ret_name(got), got);
}

void judge_ret_in(DAT_RETURN got, const DAT_RETURN *wanted, const char *call, const char *file,
		  int line)
{
	char expected[512] = "";
	size_t used = 0;

	for (const DAT_RETURN *want = wanted; *want != CONFORM_END; want++) {
		if (DAT_GET_TYPE(got) == DAT_GET_TYPE(*want)) {
			judge_outcome("%s", judge_ret_name(got));
			made_a_check();
			return;
		}
		used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s",
					 want == wanted ? "" : " or ", judge_ret_name(*want));
	}
	judge_fail(false, file, line, call, expected, "%s (0x%08x)", judge_ret_name(got), got);
}

void judge_refused(DAT_RETURN got, const char *call, const char *file, int line)
{
	if (DAT_GET_TYPE(got) != DAT_SUCCESS &&
	    DAT_GET_TYPE(got) != DAT_GET_TYPE(DAT_NOT_IMPLEMENTED)) {
		judge_outcome("%s", judge_ret_name(got));
		made_a_check();
	} else {
		judge_fail(false, file, line, call, "a refusal", "%s", judge_ret_name(got));
	}
}

uint64_t judge_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void judge_nap(void)
{
	struct timespec step = { .tv_nsec = 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL);
}

int peer_start(void (*run)(int fd))
{
	int pair[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	judge.peer = fork();
	MUST(judge.peer >= 0);
	if (judge.peer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		judge.is_peer = true;
		close(pair[0]);
		run(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	return pair[0];
}

void peer_tell(int fd, const void *data, size_t size)
{
	MUST(send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size);
}

void peer_hear(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		ssize_t got = 0;

		if (poll(&one, 1, (int)t.patience_ms) == 1)
			got = recv(fd, at, size, 0);
		if (got <= 0)
			MUST_NOT_COME_HERE("peer_hear()", "word from the peer process", "%s",
					   got < 0 ? strerror(errno) : "nothing, or its end");
		at += got;
		size -= (size_t)got;
	}
}

void peer_kill(void)
{
	if (judge.peer <= 0)
		return;
	kill(judge.peer, SIGKILL);
	waitpid(judge.peer, NULL, 0);
	judge.peer = 0;
}

void judge_leave_to_parent(void)
{
	judge.is_peer = true;
	close(judge.fd);
	judge.fd = -1;
}

/* Returns true if the attribute has this name, and a value. A provider may leave out either. */
static bool is_named(const DAT_NAMED_ATTR *attr, const char *name)
{
	return attr->name && attr->value && !strcmp(attr->name, name);
}

static bool declares(const char *name, const char *value)
{
	for (DAT_COUNT i = 0; i < t.attr.num_transport_attr; i++)
		if (is_named(&t.attr.transport_attr[i], name) && !strcmp(t.attr.transport_attr[i].value, value))
			return true;
	return false;
}

bool judge_reaches(void)
{
	return !declares("reach", "process");
}

bool judge_refusals_are_told(void)
{
	return !declares("refused_access", "ends");
}

bool judge_accepts_are_confirmed(void)
{
	return !declares("accept", "unconfirmed");
}

bool judge_reads_are_checked(void)
{
	return !declares("read_right", "unchecked");
}

bool judge_writes_are_checked(void)
{
	return !declares("write_right", "unchecked");
}

bool judge_solicited_are_known(void)
{
	return !declares("solicited", "unknown");
}

bool judge_breaks_are_sure(void)
{
	return !declares("broken", "unsure");
}

bool judge_short_receives_are_told(void)
{
	return !declares("short_receive", "flushed");
}

const char *judge_named(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	for (DAT_COUNT i = 0; i < attr->num_provider_specific_attr; i++)
		if (is_named(&attr->provider_specific_attr[i], name))
			return attr->provider_specific_attr[i].value;
	return NULL;
}

bool judge_promises(const char *name)
{
	const char *value = judge_named(&t.prov, name);

	return value && !strcmp(value, "TRUE");
}

bool judge_allows(const char *word)
{
	size_t length = strlen(word);

	for (DAT_COUNT i = 0; i < t.prov.num_provider_specific_attr; i++) {
		const char *at = t.prov.provider_specific_attr[i].value;

		if (!is_named(&t.prov.provider_specific_attr[i], "allow"))
			continue;
		for (; *at; at += strcspn(at, ","), at += *at == ',')
			if (strcspn(at, ",") == length && !strncmp(at, word, length))
				return true;
	}
	return false;
}

static void body(void)
{
	bool two_sided = judge.test->sides == ACTIVE || judge.test->sides == PASSIVE;

	if (two_sided)
		remote_start();
	if (judge.test->sides != BARE)
		kit_open();
	if (two_sided)
		remote_meet();
	t.b_remote = judge.test->sides == ACTIVE && judge_reaches();
	t.a_remote = judge.test->sides == PASSIVE && judge_reaches();
	judge.test->run();
	report_line("B");
}

static void teardown(void)
{
	report_line("T");
	judge.closing = true;
	peer_kill();
	kit_close();
	remote_end();
}

void judge_child(const struct conform_test *test, int report_fd)
{
	judge.test = test;
	judge.fd = report_fd;
	if (!test->ids[1])
		judge_about(test->ids[0]);
	if (!setjmp(judge.over))
		body();
	teardown();
	report_line("E");
}
