/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the plan through CUnit and prints one TAP line for each test. Invariant: every test of the plan that this
 * process takes up gets exactly one result line, also when its suite's initialiser fails, which CUnit by
 * itself does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static struct {
	const struct check_plan *plan;
	FILE *tap;			/* the program's stdout; fd 1 leads to stderr */
	int report_fd;
	int next;			/* the test that CUnit will start next */
	int current;			/* the one that runs */
	const char *skip_reason;	/* set when the current test skipped itself */
	bool broken;			/* a suite's cleanup failed */
} runner;

static void report(int test, enum check_event event)
{
	struct check_report what = { .test = test, .event = event };

	/* If the write fails the watcher has gone, and this process must not outlive it. */
	if (runner.report_fd >= 0 && write(runner.report_fd, &what, sizeof(what)) < 0)
		_exit(EXIT_FAILURE);
}

static void print_failure(CU_pFailureRecord failure)
{
	fprintf(runner.tap, "# %s:%u: ", failure->strFileName ? failure->strFileName : "?",
		failure->uiLineNumber);
	for (const char *c = failure->strCondition ? failure->strCondition : "?"; *c; c++)
		fputc(*c == '\n' ? ' ' : *c, runner.tap);
	fputc('\n', runner.tap);
}

/* Prints the result before the report, because the watcher prints a result for each test without a report. */
static void print_result(int test, CU_pFailureRecord failures)
{
	const char *name = runner.plan->entries[test].name;

	fprintf(runner.tap, "%sok %d - %s", failures ? "not " : "", test + 1, name);
	if (!failures && runner.skip_reason)
		fprintf(runner.tap, " # SKIP %s", runner.skip_reason);
	fputc('\n', runner.tap);
	for (CU_pFailureRecord f = failures; f; f = f->pNext)
		print_failure(f);
	fflush(runner.tap);
	report(test, failures ? EVENT_FAIL : runner.skip_reason ? EVENT_SKIP : EVENT_PASS);
}

static void test_start(const CU_pTest test, const CU_pSuite suite)
{
	(void)test;
	(void)suite;
	runner.current = runner.next++;
	runner.skip_reason = NULL;
	check_notes_clear();
	report(runner.current, EVENT_START);
}

void check_alive(void)
{
	report(runner.current, EVENT_ALIVE);
}

static void test_complete(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failures)
{
	(void)test;
	(void)suite;
	print_result(runner.current, failures);
}

/* CUnit skips the tests of such a suite without a result, so each of them is reported as failed here. */
static void suite_init_failed(const CU_pSuite suite)
{
	const struct check_suite *failed = runner.plan->entries[runner.next].suite;
	char file[] = "suite initialiser", text[] = "failed: the test did not run";
	CU_FailureRecord record = { .strFileName = file, .strCondition = text };

	(void)suite;
	runner.skip_reason = NULL;
	while (runner.next < runner.plan->total && runner.plan->entries[runner.next].suite == failed)
		print_result(runner.next++, &record);
}

static void suite_cleanup_failed(const CU_pSuite suite)
{
	fprintf(runner.tap, "# %s: the suite's cleanup failed\n", suite->pName);
	runner.broken = true;
}

/* Calls the suite's setup itself, because CUnit could not catch a fatal failure in its own setup function. */
static void run_current(void)
{
	const struct check_entry *entry = &runner.plan->entries[runner.current];

	check_claim_thread();
	if (entry->suite->setup)
		entry->suite->setup();
	entry->test->run();
}

/* CUnit calls this without its jump buffer, so a fatal failure in the teardown ends only the teardown. */
static void tear_down(void)
{
	const struct check_suite *suite = runner.plan->entries[runner.current].suite;
	CU_pTest test = CU_get_current_test();
	jmp_buf *outer = test->pJumpBuf;
	jmp_buf here;
	unsigned int failures;

	test->pJumpBuf = &here;
	if (suite->teardown && !setjmp(here))
		suite->teardown();
	failures = CU_get_number_of_failure_records();
	if (check_peers_end() && failures == CU_get_number_of_failure_records() && !runner.skip_reason)
		CHECK_FAIL("the test ended without joining its peers");
	check_util_end();
	test->pJumpBuf = outer;
}

void check_skip(const char *reason)
{
	runner.skip_reason = reason;
	longjmp(*CU_get_current_test()->pJumpBuf, 1);
}

static void add_tests(const struct check_plan *plan, int first)
{
	const struct check_suite *last = NULL;
	CU_pSuite suite = NULL;

	for (int i = first; i < plan->total; i++) {
		const struct check_entry *entry = &plan->entries[i];

		if (entry->suite != last)
			suite = CU_add_suite_with_setup_and_teardown(entry->suite->name, entry->suite->init,
								     entry->suite->cleanup, NULL,
								     tear_down);
		last = entry->suite;
		if (!suite || !CU_add_test(suite, entry->test->name, run_current)) {
			fprintf(stderr, "CUnit takes no test %s: %s\n", entry->name, CU_get_error_msg());
			exit(EXIT_FAILURE);
		}
	}
}

int check_run_plan(const struct check_plan *plan, int first, int report_fd)
{
	runner.plan = plan;
	runner.next = first;
	runner.report_fd = report_fd;
	runner.tap = fdopen(dup(STDOUT_FILENO), "w");
	if (!runner.tap || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    CU_initialize_registry() != CUE_SUCCESS) {
		perror("cannot start the tests");
		return EXIT_FAILURE;
	}
	CU_set_error_action(CUEA_IGNORE);
	CU_set_test_start_handler(test_start);
	CU_set_test_complete_handler(test_complete);
	CU_set_suite_init_failure_handler(suite_init_failed);
	CU_set_suite_cleanup_failure_handler(suite_cleanup_failed);
	add_tests(plan, first);
	CU_run_all_tests();
	CU_cleanup_registry();
	fclose(runner.tap);
	return runner.broken ? EXIT_FAILURE : EXIT_SUCCESS;
}
