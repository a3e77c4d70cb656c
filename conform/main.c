/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datconform: the command line. Exit status: 0 no failure, 1 failures, 2 wrong usage, 3 it could
 * not be run.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clauses.h"
#include "conform.h"
#define REMOTE_PLAIN
#include "remote.h"
#include "report.h"
#include "run.h"
#include "tools/other_api.h"

#define MAX_COLUMNS 32
/* A report names the API if it is not that of the command's name. */
#define API_LABEL (API_MAJOR == 1 ? "" : " (uDAPL " API_NAME ")")

static struct {
	struct run_options run;
	const char *only[64];
	int only_count;
	const char *json, *junit, *html;
	bool list, coverage, strict, tap, server;
	const char *api;
	const char *connect;
	char label[128];	/* of the run, in reports */
	int port;		/* -1: not given */
	char **results;		/* JSON files for more columns of the page */
	int result_count;
} options = { .port = -1, .api = API_NAME, .run = { .jobs = 2, .patience_ms = 5000 } };

static struct {
	struct column columns[MAX_COLUMNS];
	int count;
	const char *not_all;	/* why some tests have no result; NULL: all have one */
	bool unwritten;		/* a report, or part of it, was not written; the others still are */
} output;

static const char usage[] =
	"usage: datconform --ia NAME [options]       test an adapter against the clauses of uDAPL\n"
	"       datconform --ia NAME --server        be the other side of clauses that have two sides\n"
	"       datconform --ia NAME --connect ADDRESS [options]    test those, with that server\n"
	"       datconform --list | --coverage       print the clauses; print how many have a test\n"
	"       datconform --html FILE RESULT.json...  compare results that --json wrote\n"
	"\n"
	"  --ia NAME         adapter, as in dat.conf\n"
	"  --api VERSION     1.2, or 2.0: as a program of that version of uDAPL (1.2)\n"
	"  --only GLOB       clauses whose id or function matches (may be repeated)\n"
	"  --json FILE       write the verdicts as JSON (-: on standard output, the summary on standard error)\n"
	"  --junit FILE      ... as JUnit XML\n"
	"  --html FILE       ... as a page; JSON results named after the options become further columns\n"
	"  --tap             ... as TAP on standard output, instead of the summary\n"
	"  --jobs N          tests that run at a time (2)\n"
	"  --timeout SECONDS a test that takes longer is a hang (six times the patience)\n"
	"  --deadline SECONDS the tests are ended after this time, and the reports say what is left\n"
	"  --patience SECONDS an event that takes longer is taken as missing (5)\n"
	"  --port N          where --server listens (19751; 0: any free port); --connect takes HOST:PORT\n"
	"  --verbose         pass the provider's own messages through to standard error\n"
	"  --version         print the version\n"
	"  --coverage        with --strict: fails if a clause that must hold has neither test nor reason\n";

static _Noreturn void bad_usage(const char *word)
{
	if (word)
		fprintf(stderr, "datconform: %s\n", word);
	fputs("Try 'datconform --help'.\n", stderr);
	exit(2);
}

enum {
	IA,
	API,
	ONLY,
	JSON,
	JUNIT,
	HTML,
	TAP,
	JOBS,
	TIMEOUT,
	DEADLINE,
	PATIENCE,
	SERVER,
	CONNECT,
	PORT,
	VERBOSE,
	LIST,
	COVERAGE,
	STRICT,
	PRINT_VERSION,
	HELP
};

static const struct option names[] = {
	{ "ia", required_argument, NULL, IA },
	{ "api", required_argument, NULL, API },
	{ "only", required_argument, NULL, ONLY },
	{ "json", required_argument, NULL, JSON },
	{ "junit", required_argument, NULL, JUNIT },
	{ "html", required_argument, NULL, HTML },
	{ "tap", no_argument, NULL, TAP },
	{ "jobs", required_argument, NULL, JOBS },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "deadline", required_argument, NULL, DEADLINE },
	{ "patience", required_argument, NULL, PATIENCE },
	{ "server", no_argument, NULL, SERVER },
	{ "connect", required_argument, NULL, CONNECT },
	{ "port", required_argument, NULL, PORT },
	{ "verbose", no_argument, NULL, VERBOSE },
	{ "list", no_argument, NULL, LIST },
	{ "coverage", no_argument, NULL, COVERAGE },
	{ "strict", no_argument, NULL, STRICT },
	{ "version", no_argument, NULL, PRINT_VERSION },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static unsigned int number(const char *text, const char *name, unsigned int least,
			   unsigned int most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || n < least || n > most) {
		fprintf(stderr, "datconform: --%s needs a number from %u to "
				"%u\n", name, least, most);
		exit(2);
	}
	return (unsigned int)n;
}

static void take_option(int which)
{
	switch (which) {
	case IA: options.run.ia_name = optarg; break;
	case API:
		if (strcmp(optarg, "1.2") && strcmp(optarg, "2.0"))
			bad_usage("--api is 1.2 or 2.0");
		options.api = optarg;
		break;
	case ONLY:
		if (options.only_count == 64)
			bad_usage("too many --only");
		options.only[options.only_count++] = optarg;
		break;
	case JSON: options.json = optarg; break;
	case JUNIT: options.junit = optarg; break;
	case HTML: options.html = optarg; break;
	case TAP: options.tap = true; break;
	case JOBS: options.run.jobs = number(optarg, "jobs", 1, 64); break;
	case TIMEOUT: options.run.bound_s = number(optarg, "timeout", 1, 3600); break;
	case DEADLINE: options.run.deadline_s = number(optarg, "deadline", 1, 86400); break;
	case PATIENCE: options.run.patience_ms = number(optarg, "patience", 1, 600) * 1000; break;
	case SERVER: options.server = true; break;
	case CONNECT: options.connect = optarg; break;
	case PORT: options.port = (int)number(optarg, "port", 0, 65535); break;
	case VERBOSE: options.run.verbose = true; break;
	case LIST: options.list = true; break;
	case COVERAGE: options.coverage = true; break;
	case STRICT: options.strict = true; break;
	case PRINT_VERSION:
		printf("datconform (OpenDAT) %s\n", PACKAGE_VERSION);
		exit(0);
	case HELP:
		fputs(usage, stdout);
		exit(0);
	default: bad_usage(NULL);
	}
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

static void take_options(int argc, char **argv)
{
	int which;

	while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
		take_option(which);
	options.results = argv + optind;
	options.result_count = argc - optind;
	if (strcmp(options.api, API_NAME))
		return;	/* the program for the other API checks the rest */
	if (options.result_count && !options.html)
		bad_usage("words after the options are JSON results to compare: name the page with --html FILE");
	if (options.result_count > MAX_COLUMNS - 1)
		bad_usage("too many results for one page");
	if (!options.run.ia_name && (options.server || options.connect || (!options.list &&
	    !options.coverage && !options.result_count)))
		bad_usage("no adapter is given: give --ia NAME");
	if (is_stdout(options.json) + is_stdout(options.junit) + is_stdout(options.html) +
		    options.tap > 1)
		bad_usage("standard output can have one report only: give the others a file");
	if (options.server && options.connect)
		bad_usage("--server and --connect cannot be combined; give one of them");
	if (options.port >= 0 && !options.server)
		bad_usage("--port is for --server; give --connect an address with a port");
	snprintf(options.label, sizeof(options.label), "%s%s%s%s",
		 options.run.ia_name ? options.run.ia_name : "", API_LABEL,
		 options.connect ? " with " : "", options.connect ? options.connect : "");
	make_printable(options.label);
	if (!options.run.bound_s)
		options.run.bound_s = 6 * options.run.patience_ms / 1000;
}

/* Counts the tests of each clause. Every test has to name existing clauses. */
static void count_tests(void)
{
	for (const struct conform_test *const *at = __start_conform_tests;
	     at < __stop_conform_tests; at++)
		for (int i = 0; (*at)->ids[i]; i++) {
			struct clause *clause = clause_find((*at)->ids[i]);

			if (!clause) {
				fprintf(stderr, "datconform: %s tests %s, which is not a clause\n",
					(*at)->file, (*at)->ids[i]);
				exit(3);
			}
			clause->tests++;
			clause->two_sided |= (*at)->sides == ACTIVE || (*at)->sides == PASSIVE;
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
		bool takes_part = wanted(clauses[i].id, clauses[i].function) &&
				  (!options.connect || clauses[i].two_sided);

		clauses[i].selected = takes_part && !clauses[i].lifted;
		clauses[i].left_out = takes_part && clauses[i].lifted;
		n += options.list ? takes_part : clauses[i].selected;
	}
	for (int i = 0; i < ambiguity_count; i++) {
		ambiguities[i].selected = wanted(ambiguities[i].id, ambiguities[i].where);
		n += options.list && ambiguities[i].selected;
	}
	if (!n) {
		fputs("datconform: no clause has an id or function that matches: see "
		      "--list\n", stderr);
		exit(2);
	}
}

static int neither_test_nor_reason(void)
{
	int n = 0;

	for (int i = 0; i < clause_count; i++)
		if (!strcmp(clauses[i].strength, "must") && !clauses[i].tests &&
		    !clauses[i].reason && !clauses[i].lifted) {
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

static void cannot_write(const char *path)
{
	fprintf(stderr, "datconform: %s: %s\n", path, strerror(errno));
	output.unwritten = true;
}

/*
 * Checks, before the run, that a report can be written, so that the run is not in vain. Leaves no
 * file behind.
 */
static void check_out(const char *path)
{
	struct stat there;
	bool is_new;
	int fd;

	if (!path || is_stdout(path))
		return;
	is_new = lstat(path, &there) != 0;
	if (!is_new && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600);
	if (fd < 0) {
		cannot_write(path);
		exit(3);
	}
	close(fd);
	if (is_new)
		unlink(path);
}

static FILE *open_out(const char *path)
{
	FILE *out = is_stdout(path) ? stdout : fopen(path, "w");

	if (!out)
		cannot_write(path);
	return out;
}

static void close_out(FILE *out, const char *path)
{
	if (!out)
		return;
	if (fflush(out) || ferror(out) || (out != stdout && fclose(out)))
		cannot_write(out == stdout ? "standard output" : path);
}

/* Reads the columns of other runs before this run, whose column comes first. */
static void read_results(void)
{
	output.count = options.run.ia_name ? 1 : 0;
	for (int i = 0; i < options.result_count; i++)
		if (!column_of_json(&output.columns[output.count++], options.results[i]))
			exit(3);
}

static void write_page(void)
{
	FILE *out;

	if (options.run.ia_name)
		column_of_run(&output.columns[0], options.label);
	out = open_out(options.html);
	if (out)
		report_html(out, output.columns, output.count);
	close_out(out, options.html);
	for (int i = 0; i < output.count; i++)
		column_free(&output.columns[i]);
}

/* Writes the reports. The summary comes last, and never between the lines of a report. */
static void write_reports(void)
{
	bool taken = is_stdout(options.json) || is_stdout(options.junit) || is_stdout(options.html);
	FILE *out;

	if (options.json) {
		out = open_out(options.json);
		if (out)
			report_json(out, options.label);
		close_out(out, options.json);
	}
	if (options.junit) {
		out = open_out(options.junit);
		if (out)
			report_junit(out, options.label);
		close_out(out, options.junit);
	}
	if (options.html)
		write_page();
	if (options.tap)
		report_tap(stdout);
	else
		report_text(taken ? stderr : stdout);
}

/* Checks that the server is there, has this version, and has an adapter that opens. */
static bool probe_server(void)
{
	static unsigned char bytes[REMOTE_BYTES];
	struct remote_message answer, bye = { .step = STEP_BYE };
	unsigned int bound_ms = 4 * options.run.patience_ms;
	const char *wrong = "";
	bool good = false;
	int fd;

	if (!remote_resolve(options.connect, &options.run.server))
		return false;
	fd = remote_dial(&options.run.server, bound_ms);
	if (fd < 0) {
		perror("datconform: --connect");
		return false;
	}
	good = remote_hello(fd, bound_ms, &answer, bytes, &wrong);
	if (!good)
		fprintf(stderr, "datconform: the server: %s\n", wrong);
	else if (remote_put(fd, &bye))
		remote_get(fd, &answer, bytes, (int)bound_ms);
	close(fd);
	return good;
}

/*
 * Keeps the descriptors 0 to 2 occupied: a pipe of this program that got one of these numbers would
 * be lost. If standard output was closed, its number is opened for reading only, so that a write to it
 * still fails.
 */
static void hold_standard_files(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY) != fd)
			exit(3);
}

/* Becomes the program that is compiled for the other API. */
static _Noreturn void become_other(char **argv)
{
	const char *path = other_api_exec("datconform", options.api, argv);

	fprintf(stderr, "datconform: --api %s needs the program %s: %s; install the package that datconform is from again\n",
		options.api, path, strerror(errno));
	exit(3);
}

int main(int argc, char **argv)
{
	hold_standard_files();
	take_options(argc, argv);
	if (strcmp(options.api, API_NAME))
		become_other(argv);
	if (options.server) {
		/* the clauses break connections on purpose, and a library that warns of that would fill the server's log */
		setenv("DAT_LOG", "error", 0);
		return remote_host(options.run.ia_name,
				   options.port >= 0 ? (unsigned int)options.port : REMOTE_PORT,
				   4 * options.run.patience_ms / 1000);
	}
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
	check_out(options.json);
	check_out(options.junit);
	check_out(options.html);
	read_results();
	if (options.run.ia_name) {
		if (!options.tap && isatty(STDERR_FILENO))
			options.run.progress = progress;
		if (!run_probe(&options.run) || (options.connect && !probe_server()))
			return 3;
		output.not_all = run_all(&options.run);
		write_reports();
		if (output.not_all)
			fprintf(stderr, "datconform: some tests have no result: %s\n", output.not_all);
	} else if (options.html) {
		write_page();
	}
	close_out(stdout, "");
	return output.unwritten || output.not_all ? 3 : clause_tally(FAILED) ? 1 : 0;
}
