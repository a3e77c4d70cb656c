/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of clauses with the result of a run for each, and the table of readings. They are made
 * from the .tsv files at build time; only the process that runs datconform writes to them, never the
 * children that run the tests.
 */
#ifndef CONFORM_CLAUSES_H
#define CONFORM_CLAUSES_H

#include <stdbool.h>
#include <stddef.h>

enum verdict {
	UNTESTED,	/* no test, not selected, or a written reason */
	PASSED,
	FAILED,
	NOT_APPLICABLE	/* an attribute of the provider declares the feature absent */
};

struct failure {
	struct failure *next;
	char *at;	/* file:line of the check */
	char *call;	/* what was called or compared */
	char *expected;
	char *got;
};

struct clause {
	const char *id;
	const char *function;
	const char *kind;
	const char *text;
	const char *how;	/* to test it */
	const char *optional;	/* "no", or what lets a provider opt out */
	const char *strength;	/* must, should, may, undefined */
	const char *source;
	const char *reason;	/* why no black-box test can exist; NULL: one can */
	const char *mended;	/* why the test departs from the wording of the page; or NULL */
	const char *lifted;	/* why it does not hold in this API, and so is neither run nor counted; NULL: it holds */
	int tests;		/* how many test bodies name it */
	bool two_sided;		/* one of them has its other side in another process */
	bool selected;
	bool left_out;		/* it would be selected if it were not lifted */
	bool unserved;		/* the server had ended when one of its tests needed it */
	enum verdict verdict;
	char *attribute;	/* NOT_APPLICABLE: which attribute says so */
	char *outcome;		/* which of several accepted outcomes occurred */
	struct failure *failures;
};

extern struct clause clauses[];
extern const int clause_count;

/*
 * A question that the specification leaves open or answers in two ways, and how this suite reads
 * it.
 */
struct ambiguity {
	const char *id;		/* "AMB-07" */
	const char *where;
	const char *question;
	const char *reading;
	bool selected;
};

extern struct ambiguity ambiguities[];
extern const int ambiguity_count;

struct clause *clause_find(const char *id);
const char *verdict_name(enum verdict verdict);
int clause_tally(enum verdict verdict);	/* how many selected clauses have this verdict */

#endif /* CONFORM_CLAUSES_H */
