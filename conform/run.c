/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the tests in children and turns their reports (judge.c) into verdicts. Invariant: whatever a
 * child does, every clause that its test names has a verdict afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clauses.h"
#include "conform.h"
#include "report.h"
#include "run.h"

#define MAX_JOBS  64
#define MAX_IDS	  64
#define LINE_SIZE 4096
#define MAX_FAILURES 10	/* that are reported for one clause */

/* A running child. */
struct child {
	const struct conform_test *test;	/* NULL: the slot is free */
	pid_t pid;
	int fd;			/* its lines come from here; -1: no more will come */
	int noise_fd;		/* memfd with its stdout and stderr */
	uint64_t deadline;
	unsigned int bound_s;	/* how long it may take */
	bool late;		/* killed because it took too long */
	bool ended;		/* it reported its end */
	bool closing;		/* the test was over */
	bool unserved;		/* the server had ended */
	bool stopped;		/* it was ended, because the time for the run was over */
	int current;		/* index of the clause it is about; -1: all of them */
	bool about_used;
	bool checked; /* a check was made before any ABOUT(): by the setup, or the test has no ABOUT() */
	bool touched[MAX_IDS];	/* a check was made, or it does not apply */
	bool na[MAX_IDS];
	bool failed[MAX_IDS];	/* in this test */
	bool whole;		/* the test ran to its end, or found that it does not apply */
	char line[LINE_SIZE];
	size_t used;
};

static struct child children[MAX_JOBS];
static bool server_gone;

void run_no_memory(void)
{
	static const char text[] = "datconform: out of memory; close other programs, raise the limit "
				   "('ulimit -v'), or give fewer --jobs\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)	/* stdio may need memory, too */
		_exit(3);
	_exit(3);
}

static char *copy(const char *text)
{
	char *own = strdup(text ? text : "");

	if (!own)
		run_no_memory();
	return own;
}

static int id_count(const struct conform_test *test)
{
	int n = 0;

	while (test->ids[n])
		n++;
	return n;
}

/*
 * Adds a failure to a clause. Only the first ones are kept, because a loop may find the same one a
 * thousand times.
 */
static void fail_clause(struct clause *clause, const char *at, const char *call,
			const char *expected, const char *got)
{
	struct failure *failure, **last = &clause->failures;
	int n = 0;

	clause->verdict = FAILED;
	for (; *last; last = &(*last)->next)
		n++;
	if (n >= MAX_FAILURES)
		return;
	failure = calloc(1, sizeof(*failure));
	if (!failure)
		run_no_memory();
	failure->at = copy(at);
	failure->call = copy(call);
	failure->expected = copy(expected);
	failure->got = copy(got);
	*last = failure;
}

/* The clauses that a line is about: one of the test's, or all of them. */
#define EACH_CURRENT(child, i) \
	for (int i = 0; (child)->test->ids[i]; i++) \
		if ((child)->current < 0 || (child)->current == i)

static void about(struct child *child, const char *id)
{
	for (int i = 0; child->test->ids[i]; i++)
		if (!strcmp(child->test->ids[i], id)) {
			child->current = i;
			child->about_used = true;
			return;
		}
	fprintf(stderr, "datconform: %s: ABOUT(\"%s\") is not one of the test's clauses\n",
		child->test->file, id);
	exit(3);
}

static char *field(char **rest)
{
	char *start = *rest ? *rest : (char *)"", *tab = strchr(start, '\t');

	*rest = tab ? tab + 1 : NULL;
	if (tab)
		*tab = '\0';
	return start;
}

static void take_failure(struct child *child, char *rest)
{
	const char *at = field(&rest), *call = field(&rest), *expected = field(&rest),
		   *got = field(&rest);

	EACH_CURRENT(child, i) {
		child->touched[i] = child->failed[i] = true;
		fail_clause(clause_find(child->test->ids[i]), at, call, expected, got);
	}
}

static void take_line(struct child *child, char *line)
{
	char *rest = line;
	const char *kind = field(&rest);

	switch (kind[0]) {
	case 'A':
		about(child, rest ? rest : "");
		break;
	case 'C':
		if (child->current < 0)
			child->checked = true;
		else
			child->touched[child->current] = true;
		break;
	case 'F':
		take_failure(child, rest);
		break;
	case 'N':
		child->whole = true;
		for (int i = 0; child->test->ids[i]; i++) {
			if (child->touched[i] && child->current != i)
				continue;
			child->touched[i] = child->na[i] = true;
			free(clause_find(child->test->ids[i])->attribute);
			clause_find(child->test->ids[i])->attribute = copy(rest);
		}
		break;
	case 'O':
		EACH_CURRENT(child, i) {
			free(clause_find(child->test->ids[i])->outcome);
			clause_find(child->test->ids[i])->outcome = copy(rest);
		}
		break;
	case 'B':
		child->whole = true;
		break;
	case 'T':
		child->closing = true;
		break;
	case 'X':
		child->unserved = true;
		break;
	case 'E':
		child->ended = true;
		break;
	default:
		break;
	}
}

static void take_bytes(struct child *child, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n') {
			child->line[child->used] = '\0';
			make_printable(child->line);
			take_line(child, child->line);
			child->used = 0;
		} else if (child->used < LINE_SIZE - 1) {
			child->line[child->used++] = bytes[i];
		}
	}
}

/*
 * Finds the line of the child's output that names the cause: a sanitizer's SUMMARY if there is one,
 * and the first of several, because the others may be its consequences. Otherwise it is the last line
 * that is not blank, which an assertion or the C library has written.
 */
static void noise_line(struct child *child, char *text, size_t size)
{
	static const char summary[] = "SUMMARY: ";
	bool starts = true; /* a line begins here; the rest of one that is longer than `line` is not a line */
	/*
	 * A process that the provider has left behind may write for ever, so reads only what is there
	 * now.
	 */
	off_t end = lseek(child->noise_fd, 0, SEEK_END);
	int fd = dup(child->noise_fd);
	FILE *noise = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	text[0] = '\0';
	if (!noise) {
		if (fd >= 0)
			close(fd);
		return;
	}
	rewind(noise);
	while (ftello(noise) < end && fgets(line, sizeof(line), noise)) {
		bool whole = strchr(line, '\n');

		if (starts && line[strspn(line, " \t\r\n")])
			snprintf(text, size, "%.*s", (int)strcspn(line, "\r\n"), line);
		if (starts && !strncmp(line, summary, sizeof(summary) - 1))
			break;
		starts = whole;
	}
	fclose(noise);
	make_printable(text);
}

/*
 * Describes how the child ended, in one line that begins with the cause: a hang, a signal or an exit
 * status.
 */
static void describe_end(struct child *child, int status, char *text, size_t size)
{
	char noise[512], how[128];

	noise_line(child, noise, sizeof(noise));
	if (child->late)
		snprintf(how, sizeof(how), "a hang: killed after %u s", child->bound_s);
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "a crash: signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(how, sizeof(how), "the process exited with status "
					   "%d", WEXITSTATUS(status));
	snprintf(text, size, "%s%s%s", how, noise[0] ? ". " : "", noise);
}

static void judge_end(struct child *child, int status)
{
	char got[800], where[200];
	const char *about_id =
		child->current < 0 ? child->test->ids[0] : child->test->ids[child->current];

	describe_end(child, status, got, sizeof(got));
	snprintf(where, sizeof(where), "%s%s",
		 child->closing ? "closing the IA after the test of " : "the test of ", about_id);
	/* A sanitizer reports at exit, after the test has reported its end. */
	if (!child->ended || child->late || !WIFEXITED(status) || WEXITSTATUS(status))
		EACH_CURRENT(child, i) {
			child->touched[i] = child->failed[i] = true;
			fail_clause(clause_find(child->test->ids[i]), child->test->file, where,
				    "an end", got);
		}
	/* The results of the other clauses are unknown, so they do not pass. */
	for (int i = 0; child->test->ids[i] && !child->whole; i++)
		if (child->touched[i] && !child->failed[i] && !child->na[i])
			fail_clause(clause_find(child->test->ids[i]), child->test->file, where,
				    "the test reaches its end",
				    child->ended ? "it ended at a failure of another clause" : got);
	for (int i = 0; child->test->ids[i]; i++)
		if (!child->touched[i] && (child->about_used || !child->checked))
			fail_clause(clause_find(child->test->ids[i]), child->test->file, where,
				    "the test reaches this clause",
				    child->ended ? "it ended before, or checked nothing" : got);
}

/* Reads what is there now. At the end of the pipe, the descriptor becomes -1. */
static void listen_to(struct child *child)
{
	char bytes[8192];
	ssize_t got;

	while (child->fd >= 0 && (got = read(child->fd, bytes, sizeof(bytes))) >= 0) {
		if (got > 0) {
			take_bytes(child, bytes, (size_t)got);
			continue;
		}
		close(child->fd);
		child->fd = -1;
	}
}

/*
 * Returns true if the test's own process has ended. The pipe does not show it: a provider may close
 * descriptors that are not its own, or leave a process behind that has them open.
 */
static bool has_ended(const struct child *child)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == child->pid;
}

static const char no_server[] = "the server had ended", no_time[] = "the time for the run was over";
static const char *left; /* why the last of the tests without a result has none; NULL: there is no such test */

/* Marks the clauses of a test as untested. Another test of such a clause may have passed. */
static void leave_untested(const struct conform_test *test, const char *why)
{
	left = why;
	for (int i = 0; test->ids[i]; i++) {
		struct clause *clause = clause_find(test->ids[i]);

		clause->unserved = true;
		if (!clause->failures)
			clause->verdict = UNTESTED;
		clause->reason = why;
	}
}

static void conclude(struct child *child)
{
	int status = 0;

	kill(-child->pid, SIGKILL);	/* ends its peers; its number stays valid, because it has not been waited for yet */
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	listen_to(child);
	if (child->unserved) {
		leave_untested(child->test, no_server);
		server_gone = true;
	} else if (child->stopped) {
		leave_untested(child->test, no_time);
	} else {
		judge_end(child, status);
	}
	for (int i = 0; child->test->ids[i] && !child->unserved && !child->stopped; i++) {
		struct clause *clause = clause_find(child->test->ids[i]);

		if (clause->failures)
			clause->verdict = FAILED;
		else if (clause->unserved)
			clause->verdict = UNTESTED;
		else if (child->na[i] && clause->verdict == UNTESTED)
			clause->verdict = NOT_APPLICABLE;
		else if (!child->na[i])
			clause->verdict = PASSED;
	}
	if (child->fd >= 0)
		close(child->fd);
	close(child->noise_fd);
	child->test = NULL;
}

static void child_main(const struct conform_test *test, const struct run_options *options,
		       int report_fd, int noise_fd)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!options->verbose)
		dup2(noise_fd, STDERR_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	t.ia_name = options->ia_name;
	t.patience_ms = options->patience_ms;
	t.quiet_ms = options->patience_ms > 5000 ? options->patience_ms / 200 : 25;
	t.server = options->server;
	judge_child(test, report_fd);
	exit(0);
}

static void launch(struct child *child, const struct conform_test *test,
		   const struct run_options *options)
{
	int pair[2];

	memset(child, 0, sizeof(*child));
	child->current = -1;
	child->noise_fd = memfd_create("noise", MFD_CLOEXEC);
	if (child->noise_fd < 0 || pipe2(pair, O_CLOEXEC)) {
		perror("datconform");
		exit(3);
	}
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0) {
		perror("datconform: fork");
		exit(3);
	}
	if (child->pid == 0) {
		close(pair[0]);
		child_main(test, options, pair[1], child->noise_fd);
	}
	setpgid(child->pid, child->pid);
	close(pair[1]);
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	child->fd = pair[0];
	child->test = test;
	child->bound_s = options->bound_s;
	child->deadline = judge_now_ms() + options->bound_s * 1000ull;
}

/*
 * Waits until one of the children has reported something or its time is over; concludes those that
 * have ended.
 */
static int attend(unsigned int jobs)
{
	struct pollfd polls[MAX_JOBS];
	struct child *of[MAX_JOBS];
	int count = 0, done = 0, wait_ms = 100;

	for (unsigned int i = 0; i < jobs; i++)
		if (children[i].test) {
			polls[count] = (struct pollfd){ .fd = children[i].fd, .events = POLLIN };
			of[count++] = &children[i];
			if (children[i].fd < 0)
				wait_ms = 1;	/* it is about to end */
		}
	if (poll(polls, (nfds_t)count, wait_ms) < 0)
		return 0;
	for (int i = 0; i < count; i++) {
		listen_to(of[i]);
		if (judge_now_ms() > of[i]->deadline && !of[i]->late) {
			of[i]->late = true;
			kill(-of[i]->pid, SIGKILL);
		}
		if (has_ended(of[i])) {
			conclude(of[i]);
			done++;
		}
	}
	return done;
}

/* Ends the tests that run. attend() concludes them. */
static void stop(unsigned int jobs)
{
	for (unsigned int i = 0; i < jobs; i++)
		if (children[i].test && !children[i].stopped && !has_ended(&children[i])) {
			children[i].stopped = true;
			kill(-children[i].pid, SIGKILL);
		}
}

static bool wanted(const struct conform_test *test, const struct run_options *options)
{
	if (options->server.ss_family && test->sides != ACTIVE && test->sides != PASSIVE)
		return false;
	for (int i = 0; test->ids[i]; i++)
		if (clause_find(test->ids[i])->selected)
			return true;
	return false;
}

const char *run_all(const struct run_options *options)
{
	uint64_t end = options->deadline_s ? judge_now_ms() + options->deadline_s * 1000ull : UINT64_MAX;
	const struct conform_test *const *next = __start_conform_tests;
	unsigned int jobs = options->jobs < MAX_JOBS ? options->jobs : MAX_JOBS, running = 0;
	int total = 0, done = 0;
	bool over = false;

	for (const struct conform_test *const *at = next; at < __stop_conform_tests; at++)
		total += wanted(*at, options);
	while (done < total) {
		over = judge_now_ms() >= end;
		if (over)
			stop(jobs);
		for (unsigned int i = 0; i < jobs && running < jobs; i++) {
			if (children[i].test)
				continue;
			while (next < __stop_conform_tests && !wanted(*next, options))
				next++;
			if (next == __stop_conform_tests)
				break;
			if (server_gone || over) {
				leave_untested(*next++, server_gone ? no_server : no_time);
				done++;
				i--;
				continue;
			}
			if (id_count(*next) > MAX_IDS)
				abort();
			launch(&children[i], *next, options);
			running++;
			if (options->progress)
				options->progress(done, total, (*next)->ids[0]);
			next++;
		}
		int ended = attend(jobs);

		done += ended;
		running -= (unsigned int)ended;
	}
	if (options->progress)
		options->progress(done, total, NULL);
	return left;
}

static char provider[DAT_NAME_MAX_LENGTH + 32];

const char *run_provider(void)
{
	return provider;
}

/* In the child: reports the provider's name and version through the pipe. */
static void provider_tell(DAT_IA_HANDLE ia, int to)
{
	DAT_PROVIDER_ATTR attr;
	char text[sizeof(provider)];
	int n;

	memset(&attr, 0, sizeof(attr));
	if (dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr) != DAT_SUCCESS)
		return;
	n = snprintf(text, sizeof(text), "%.*s %u.%u", (int)sizeof(attr.provider_name),
		     attr.provider_name, attr.provider_version_major, attr.provider_version_minor);
	(void)!write(to, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static _Noreturn void probe_child(const struct run_options *options, const char *name, int to)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	alarm(options->bound_s);
	ret = dat_ia_open((char *)options->ia_name, 8, &async, &ia);
	if (ret == DAT_SUCCESS) {
		provider_tell(ia, to);
		_exit(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS);
	}
	fprintf(stderr, "datconform: dat_ia_open(\"%s\"): %s (0x%08x)\n", name, judge_ret_name(ret),
		ret);
	_exit(2);
}

bool run_probe(const struct run_options *options)
{
	char name[DAT_NAME_MAX_LENGTH];
	int status = 0, ends[2];
	ssize_t got;
	pid_t pid;

	snprintf(name, sizeof(name), "%s", options->ia_name);
	make_printable(name);

	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) < 0) {
		perror("datconform: pipe");
		return false;
	}
	pid = fork();
	if (pid < 0) {
		perror("datconform: fork");
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	if (pid == 0)
		probe_child(options, name, ends[1]);
	close(ends[1]);
	do
		got = read(ends[0], provider, sizeof(provider) - 1);
	while (got < 0 && errno == EINTR);
	provider[got > 0 ? got : 0] = '\0';
	make_printable(provider);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		fprintf(stderr,
			"datconform: opening and closing \"%s\" ended with signal %d (%s)\n",
			name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		fprintf(stderr, "datconform: \"%s\" opens, but does not close\n", name);
	return WIFEXITED(status) && WEXITSTATUS(status) != 2;
}
