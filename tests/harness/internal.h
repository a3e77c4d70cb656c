/* SPDX-License-Identifier: BSD-2-Clause */
/* What the harness' own files share. */
#ifndef CHECK_INTERNAL_H
#define CHECK_INTERNAL_H

#include <setjmp.h>
#include <sys/types.h>

#include "check.h"

/* What the process that runs the tests tells the one that watches over it. */
enum check_event { EVENT_START, EVENT_ALIVE, EVENT_PASS, EVENT_FAIL, EVENT_SKIP };

struct check_report {
	int test;			/* index into the plan */
	enum check_event event;
};

/* One test of the plan. */
struct check_entry {
	const struct check_suite *suite;
	const struct check_test *test;
	char *name;			/* "suite: sentence" */
};

struct check_plan {
	struct check_entry *entries;	/* in the order in which they run */
	int total;
};

/* runner.c: runs the plan from a given test on, in this process; reports go to report_fd unless it is -1. */
int check_run_plan(const struct check_plan *plan, int first, int report_fd);

/* assert.c: notes which thread runs the test: a fatal failure in it ends the test by a longjmp(). */
void check_claim_thread(void);

/* peer.c: ends what is left of the test's peers; returns how many there were. */
int check_peers_end(void);

/* notes.c: makes the memory for notes, which all processes of a test share; called before the process that watches them forks. */
void check_notes_begin(void);
/* notes.c: forgets all notes, when a test starts. */
void check_notes_clear(void);
/* notes.c: notes a failure. Any process and thread of the test may call it. */
void check_note(const char *file, unsigned int line, const char *text);
/* notes.c: prints all notes as TAP comments. */
void check_notes_print(void);
/* notes.c: prints, as TAP comments, where the threads of a process and of its children are, if there is a debugger. */
void check_print_threads(pid_t pid);

/* util.c: undoes what check_tmpdir() and check_stderr_begin() left. */
void check_util_end(void);

#endif /* CHECK_INTERNAL_H */
