/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datconform: the command line. Exit status: 0 no failure, 1 failures, 2 wrong usage, 3 it could
 * not be run.
 */
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clauses.h"
#include "conform.h"
#include "report.h"
#include "run.h"

#define MAX_COLUMNS 32

static struct {
	struct run_options run;
	const char *only[64];
	int only_count;
	const char *json, *junit, *html;
	bool list, coverage, strict, tap;
	char **results;		/* JSON files for more columns of the page */
	int result_count;
} options = { .run = { .jobs = 2, .bound_s = 30, .patience_ms = 5000 } };

static const char usage[] =
	"usage: datconform --ia NAME [options]       run the clauses of uDAPL 1.2 on an adapter\n"
	"       datconform --list | --coverage       what clauses there are; how many have a test\n"
	"       datconform --html FILE RESULT.json...  compare results that --json wrote\n"
	"\n"
	"  --ia NAME         adapter, as in dat.conf\n"
	"  --only GLOB       clauses whose id or function matches (may be repeated)\n"
	"  --json FILE       write the verdicts as JSON       (- is standard output)\n"
	"  --junit FILE      ... as JUnit XML\n"
	"  --html FILE       ... as a page; JSON results named behind the options become further columns\n"
	"  --tap             ... as TAP on standard output, instead of the summary\n"
	"  --jobs N          tests at a time (2)\n"
	"  --timeout SECONDS a test that takes longer hangs (30)\n"
	"  --patience SECONDS an event that takes longer does not come (5)\n"
	"  --verbose         let what the provider prints through to standard error\n"
	"  --coverage        with --strict: fails if a clause that must hold has neither test nor reason\n";

static _Noreturn void bad_usage(const char *word)
{
	if (word)
		fprintf(stderr, "datconform: %s\n", word);
	fputs(usage, stderr);
	exit(2);
}

enum {
	IA,
	ONLY,
	JSON,
	JUNIT,
	HTML,
	TAP,
	JOBS,
	TIMEOUT,
	PATIENCE,
	VERBOSE,
	LIST,
	COVERAGE,
	STRICT,
	HELP
};

static const struct option names[] = {
	{ "ia", required_argument, NULL, IA },
	{ "only", required_argument, NULL, ONLY },
	{ "json", required_argument, NULL, JSON },
	{ "junit", required_argument, NULL, JUNIT },
	{ "html", required_argument, NULL, HTML },
	{ "tap", no_argument, NULL, TAP },
	{ "jobs", required_argument, NULL, JOBS },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "patience", required_argument, NULL, PATIENCE },
	{ "verbose", no_argument, NULL, VERBOSE },
	{ "list", no_argument, NULL, LIST },
	{ "coverage", no_argument, NULL, COVERAGE },
	{ "strict", no_argument, NULL, STRICT },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static unsigned int number(const char *text, const char *name)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || !n || n > 3600) {
		fprintf(stderr, "datconform: --%s wants a number from 1 to 3600, not \"%s\"\n",
			name, text);
		exit(2);
	}
	return (unsigned int)n;
}

static void take_option(int which)
{
	switch (which) {
	case IA: options.run.ia_name = optarg; break;
	case ONLY:
		if (options.only_count == 64)
			bad_usage("too many --only");
		options.only[options.only_count++] = optarg;
		break;
	case JSON: options.json = optarg; break;
	case JUNIT: options.junit = optarg; break;
	case HTML: options.html = optarg; break;
	case TAP: options.tap = true; break;
	case JOBS: options.run.jobs = number(optarg, "jobs"); break;
	case TIMEOUT: options.run.bound_s = number(optarg, "timeout"); break;
	case PATIENCE: options.run.patience_ms = number(optarg, "patience") * 1000; break;
	case VERBOSE: options.run.verbose = true; break;
	case LIST: options.list = true; break;
	case COVERAGE: options.coverage = true; break;
	case STRICT: options.strict = true; break;
	case HELP:
		fputs(usage, stdout);
		exit(0);
	default: bad_usage(NULL);
	}
}

static void take_options(int argc, char **argv)
{
	int which;

	while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
		take_option(which);
	options.results = argv + optind;
	options.result_count = argc - optind;
	if (options.result_count && !options.html)
		bad_usage("results are compared on a page: name it with --html");
	if (options.result_count > MAX_COLUMNS - 1)
		bad_usage("too many results for one page");
	if (!options.run.ia_name && !options.list && !options.coverage && !options.result_count)
		bad_usage("which adapter? --ia NAME");
}

/* Every test has to be of clauses that there are. */
static void count_tests(void)
{
	for (const struct conform_test *const *at = __start_conform_tests;
	     at < __stop_conform_tests; at++)
		for (int i = 0; (*at)->ids[i]; i++) {
			struct clause *clause = clause_find((*at)->ids[i]);

			if (!clause) {
				fprintf(stderr, "datconform: %s tests %s, which is no clause\n",
					(*at)->file, (*at)->ids[i]);
				exit(3);
			}
			clause->tests++;
		}
}

static bool wanted(const char *id, const char *function)
{
	for (int o = 0; o < options.only_count; o++)
		if (!fnmatch(options.only[o], id, 0) || !fnmatch(options.only[o], function, 0))
			return true;
	return !options.only_count;
}

static void select_clauses(void)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++) {
		clauses[i].selected = wanted(clauses[i].id, clauses[i].function);
		n += clauses[i].selected;
	}
	for (int i = 0; i < ambiguity_count; i++) {
		ambiguities[i].selected = wanted(ambiguities[i].id, ambiguities[i].where);
		n += options.list && ambiguities[i].selected;
	}
	if (!n)
		bad_usage("no clause has an id or function like that: see --list");
}

static int neither_test_nor_reason(void)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++)
		if (!strcmp(clauses[i].strength, "must") && !clauses[i].tests &&
		    !clauses[i].reason) {
			printf("neither test nor reason: %s\n", clauses[i].id);
			n++;
		}
	return n;
}

static void progress(int done, int total, const char *id)
{
	if (id)
		fprintf(stderr, "\r\033[K%d of %d, %d failed: %s", done, total,
			clause_tally(FAILED), id);
	else
		fprintf(stderr, "\r\033[K");
	fflush(stderr);
}

static FILE *open_out(const char *path)
{
	FILE *out = !strcmp(path, "-") ? stdout : fopen(path, "w");

	if (!out) {
		perror(path);
		exit(3);
	}
	return out;
}

static void close_out(FILE *out, const char *path)
{
	if (fflush(out) || ferror(out)) {
		perror(path);
		exit(3);
	}
	if (out != stdout)
		fclose(out);
}

static void write_page(void)
{
	struct column columns[MAX_COLUMNS];
	int count = 0;
	FILE *out;

	memset(columns, 0, sizeof(columns));
	if (options.run.ia_name && column_of_run(&columns[count], options.run.ia_name))
		count++;
	for (int i = 0; i < options.result_count; i++, count++)
		if (!column_of_json(&columns[count], options.results[i]))
			exit(3);
	out = open_out(options.html);
	report_html(out, columns, count);
	close_out(out, options.html);
	for (int i = 0; i < count; i++)
		column_free(&columns[i]);
}

static void write_reports(void)
{
	FILE *out;

	if (options.json) {
		out = open_out(options.json);
		report_json(out, options.run.ia_name);
		close_out(out, options.json);
	}
	if (options.junit) {
		out = open_out(options.junit);
		report_junit(out, options.run.ia_name);
		close_out(out, options.junit);
	}
	if (options.tap)
		report_tap(stdout);
	else
		report_text(stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	take_options(argc, argv);
	count_tests();
	select_clauses();
	if (options.list) {
		report_list(stdout);
		report_readings(stdout);
	}
	if (options.coverage) {
		int missing = options.strict ? neither_test_nor_reason() : 0;

		report_coverage(stdout);
		if (missing)
			return 1;
	}
	if (options.run.ia_name) {
		if (!options.tap && isatty(STDERR_FILENO))
			options.run.progress = progress;
		if (!run_probe(&options.run))
			return 3;
		run_all(&options.run);
		write_reports();
	}
	if (options.html)
		write_page();
	return clause_tally(FAILED) ? 1 : 0;
}
