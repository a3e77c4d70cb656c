/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main() of every test program: makes the plan, runs it in a child process, and watches over that.
 * Invariant: as many results are counted as tests were planned; a child that crashed, left or hung is
 * charged to the test it was in, and another one goes on behind that test.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

/* The results of the plan that the watcher has received so far. */
struct tally {
	int next;			/* the first test without a result */
	bool in_test;			/* that test has started */
	int passed, failed, skipped;
	bool broken;			/* something failed that is not a part of any test */
};

static void sentence(char *text)
{
	for (; *text; text++)
		if (*text == '_')
			*text = ' ';
}

static bool wanted(const struct check_entry *entry, const char *filter)
{
	return !filter || strstr(entry->name, filter) || strstr(entry->test->name, filter);
}

static void plan_add(struct check_plan *plan, const struct check_suite *suite,
		     const struct check_test *test, const char *filter)
{
	struct check_entry entry = { .suite = suite, .test = test };

	if (asprintf(&entry.name, "%s: %s", suite->name, test->name) < 0)
		abort();
	sentence(entry.name + strlen(suite->name));
	if (!wanted(&entry, filter)) {
		free(entry.name);
		return;
	}
	plan->entries = reallocarray(plan->entries, (size_t)plan->total + 1, sizeof(entry));
	if (!plan->entries)
		abort();
	plan->entries[plan->total++] = entry;
}

static void plan_make(struct check_plan *plan, const char *filter)
{
	for (const struct check_suite *const *suite = check_suites; *suite; suite++)
		for (const struct check_test *test = (*suite)->tests; test->name; test++)
			plan_add(plan, *suite, test, filter);
}

static void plan_free(struct check_plan *plan)
{
	for (int i = 0; i < plan->total; i++)
		free(plan->entries[i].name);
	free(plan->entries);
}

static unsigned int watchdog_ms(void)
{
	const char *text = getenv("CHECK_WATCHDOG");
	int seconds = text ? atoi(text) : 0;

	return (unsigned int)(seconds > 0 ? seconds : 60) * 1000;
}

static void tally_count(struct tally *tally, const struct check_report *what)
{
	if (what->event == EVENT_START) {
		tally->in_test = true;
		return;
	}
	if (what->event == EVENT_ALIVE)
		return;
	tally->in_test = false;
	tally->next = what->test + 1;
	tally->passed += what->event == EVENT_PASS;
	tally->failed += what->event == EVENT_FAIL;
	tally->skipped += what->event == EVENT_SKIP;
}

/* Counts the next test as failed, because the child has ended in it or before it. */
static void tally_fail(struct tally *tally, const struct check_plan *plan, const char *why)
{
	printf("not ok %d - %s\n# %s%s\n", tally->next + 1, plan->entries[tally->next].name, why,
	       tally->in_test ? "" : ", before the test began");
	check_notes_print();
	tally->in_test = false;
	tally->next++;
	tally->failed++;
}

/*
 * Counts reports. Returns true when the child has ended, false when it has been silent for too long. The end
 * of the pipe is noticed at once, but a process that the child left behind may keep the pipe open, so
 * waitpid() is called from time to time as well. (A pidfd would show both, but valgrind does not support it.)
 */
static bool watch(struct tally *tally, int reports, pid_t child, int *status)
{
	struct pollfd fd = { .fd = reports, .events = POLLIN };
	uint64_t deadline = check_now_ms() + watchdog_ms();
	struct check_report what;
	bool gone = false;

	for (;;) {
		/* waitpid() comes before the read, so that all reports of a child that has died are read */
		if (!gone && waitpid(child, status, WNOHANG) == child)
			gone = true;
		if (poll(&fd, 1, gone ? 0 : 100) > 0) {
			if (read(reports, &what, sizeof(what)) == sizeof(what)) {
				tally_count(tally, &what);
				deadline = check_now_ms() + watchdog_ms();
				continue;
			}
			fd.fd = -1;
		}
		if (gone)
			return true;
		if (check_now_ms() > deadline)
			return false;
		if (fd.fd < 0)
			check_nap();
	}
}

static void describe_end(char *text, size_t size, bool hung, int status)
{
	if (hung)
		snprintf(text, size, "no end after %u s: killed", watchdog_ms() / 1000);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "the program died of signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "the program left with status %d", WEXITSTATUS(status));
}

static _Noreturn void be_child(const struct check_plan *plan, int first, int report_fd, pid_t watcher)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watcher)
		_exit(EXIT_FAILURE);
	exit(check_run_plan(plan, first, report_fd));
}

/* Runs the plan from the first test without a result until the child ends. */
static void run_child(struct tally *tally, const struct check_plan *plan)
{
	pid_t watcher = getpid(), child;
	int reports[2], status = 0;
	char why[128];
	bool ended;

	fflush(stdout);
	if (pipe2(reports, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		perror("cannot start the tests");
		exit(EXIT_FAILURE);
	}
	if (child == 0) {
		close(reports[0]);
		be_child(plan, tally->next, reports[1], watcher);
	}
	close(reports[1]);
	ended = watch(tally, reports[0], child, &status);
	close(reports[0]);
	if (ended && status == 0 && !tally->in_test && tally->next == plan->total)
		return;
	describe_end(why, sizeof(why), !ended, status);
	if (tally->next < plan->total) {
		tally_fail(tally, plan, why);
	} else {
		printf("# %s, after the last test\n", why);
		tally->broken = true;
	}
	if (!ended) {
		check_print_threads(child);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
}

static int run_watched(const struct check_plan *plan)
{
	struct tally tally = { 0 };

	printf("1..%d\n", plan->total);
	check_notes_begin();
	while (tally.next < plan->total)
		run_child(&tally, plan);
	if (tally.passed + tally.failed + tally.skipped != plan->total) {
		printf("# %d tests were planned, %d ran\n", plan->total,
		       tally.passed + tally.failed + tally.skipped);
		tally.broken = true;
	}
	return tally.failed || tally.broken ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int list(const struct check_plan *plan)
{
	for (int i = 0; i < plan->total; i++)
		printf("%s\n", plan->entries[i].name);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct check_plan plan = { 0 };
	const char *filter = NULL;
	bool fork_child = true, only_list = false;
	int result;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--list"))
			only_list = true;
		else if (!strcmp(argv[i], "--no-fork"))
			fork_child = false;
		else if (argv[i][0] != '-' && !filter)
			filter = argv[i];
		else {
			fprintf(stderr, "usage: %s [--list] [--no-fork] [FILTER]\n", argv[0]);
			return 2;
		}
	}
	plan_make(&plan, filter);
	if (!plan.total) {
		fprintf(stderr, "no test matches \"%s\": --list shows them all\n", filter ? filter : "");
		return 2;
	}
	if (only_list) {
		result = list(&plan);
	} else if (fork_child) {
		result = run_watched(&plan);
	} else {
		printf("1..%d\n", plan.total);	/* for debuggers: without a watcher, and so without a limit of time */
		fflush(stdout);
		result = check_run_plan(&plan, 0, -1);
	}
	plan_free(&plan);
	return result;
}
