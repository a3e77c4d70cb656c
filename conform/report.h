/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of a run, and their formats. Every function writes to a stream that the caller owns.
 */
#ifndef CONFORM_REPORT_H
#define CONFORM_REPORT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * For text from others: control characters, and bytes that are not UTF-8, become question marks.
 * Tabs stay.
 */
void make_printable(char *text);

void report_list(FILE *out);
void report_readings(FILE *out);	/* of what the specification leaves open */
void report_coverage(FILE *out);
void report_text(FILE *out);	/* failures, tallies, and the last line */
void report_tap(FILE *out);
void report_json(FILE *out, const char *ia_name);
const char *report_suite(void);	/* the version of this program */
const char *report_date(void);	/* of today, as 2026-01-31 */
void report_junit(FILE *out, const char *ia_name);

/* A column of the page: the verdicts of one run. */
struct column {
	char *title;
	char *provider, *suite, *date;	/* NULL: the file does not say */
	struct cell {
		char verdict;	/* passed, failed, not applicable, untested by first letter; 0: not in that run */
		char *detail;
	} *cells;		/* as many as there are clauses */
};

/* The run that has just been made. */
void column_of_run(struct column *column, const char *ia_name);
/* A run that --json wrote; returns false after a message on stderr if the file is not one. */
bool column_of_json(struct column *column, const char *path);
void column_free(struct column *column);
void report_html(FILE *out, const struct column *columns, int count);

#endif /* CONFORM_REPORT_H */
