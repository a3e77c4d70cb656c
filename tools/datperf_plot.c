/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's picture: latency and bandwidth over the size, drawn by gnuplot from the results of this
 * run and of earlier ones, which --json wrote.
 *
 * Invariant: a curve is what one run measured with one test, its points in the order of size.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

struct point {
	size_t run;		/* 0: this one, then the files */
	char ia[128];
	enum perf_test test;
	char how[128];		/* what is not as it is by default */
	uint64_t size;
	double value;		/* us or MB/s */
};

static struct {
	struct point *point;
	size_t count, room;
	size_t runs;
	char **files;
} plot;

static int add(const struct point *point)
{
	struct point *more;

	if (point->test == PERF_CONNECT_RATE || point->size == 0 || !isfinite(point->value))
		return 0;
	if (plot.count == plot.room) {
		plot.room = plot.room * 2 + 64;
		more = realloc(plot.point, plot.room * sizeof(*more));
		if (more == NULL) {
			cli_error("no memory for %zu points of a picture", plot.room);
			return -1;
		}
		plot.point = more;
	}
	plot.point[plot.count++] = *point;
	return 0;
}

static void describe(struct point *point, unsigned long eps, unsigned long threads, bool both,
		     bool wait, const char *memory)
{
	char some[32] = "", more[32] = "", kind[24] = "";

	if (eps > 1)
		snprintf(some, sizeof(some), ", %lu eps", eps);
	if (threads > 1)
		snprintf(more, sizeof(more), ", %lu threads", threads);
	if (strcmp(memory, perf_memory_names[PERF_PRIVATE]) != 0)
		snprintf(kind, sizeof(kind), ", %.16s", memory);
	snprintf(point->how, sizeof(point->how), "%s%s%s%s%s", some, more,
		 both ? ", both ways" : "", wait ? ", waiting" : "", kind);
}

int plot_add(const char *ia, const struct perf_spec *spec, const struct perf_result *result)
{
	struct point point = {
		.test = spec->test, .size = spec->size,
		.value = perf_methods[spec->test].latency ? result->lat_us_median : result->bw_MBps,
	};

	snprintf(point.ia, sizeof(point.ia), "%s", ia);
	describe(&point, spec->eps, spec->threads, spec->both, spec->wait,
		 perf_memory_names[spec->memory]);
	return add(&point);
}

/* The text or number behind a member's name, in a line that report_result() wrote. */
static const char *member(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at != NULL ? at + strlen(name) : NULL;
}

/* Files of earlier versions have none of them. */
static void read_settings(const char *line, struct point *point)
{
	const char *eps = member(line, "\"eps\": "), *threads = member(line, "\"threads\": ");
	const char *memory = member(line, "\"memory\": \"");
	char kind[16] = "private";

	if (memory != NULL)
		snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(memory, "\""), memory);
	describe(point, eps != NULL ? strtoul(eps, NULL, 10) : 1,
		 threads != NULL ? strtoul(threads, NULL, 10) : 1,
		 strstr(line, "\"bidirectional\": true") != NULL,
		 strstr(line, "\"wait\": true") != NULL, kind);
}

static bool read_point(const char *line, struct point *point)
{
	const char *test = member(line, "{\"test\": \""), *ia = member(line, "\"ia\": \"");
	const char *size = member(line, "\"size\": "), *value;
	int i;

	if (test == NULL || ia == NULL || size == NULL)
		return false;
	for (i = 0; i < PERF_TESTS; i++)
		if (strncmp(test, perf_methods[i].name, strcspn(test, "\"")) == 0 &&
		    strlen(perf_methods[i].name) == strcspn(test, "\""))
			break;
	if (i == PERF_TESTS)
		return false;
	value = member(line, perf_methods[i].latency ? "\"lat_us_median\": " : "\"bw_MBps\": ");
	point->test = (enum perf_test)i;
	snprintf(point->ia, sizeof(point->ia), "%.*s", (int)strcspn(ia, "\""), ia);
	point->size = strtoull(size, NULL, 10);
	point->value = value != NULL && *value != 'n' ? strtod(value, NULL) : NAN;
	read_settings(line, point);
	return true;
}

static int read_file(const char *name, size_t run)
{
	FILE *file = fopen(name, "re");
	struct point point = { .run = run };
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	int status = 0;

	if (file == NULL) {
		cli_error("%s: %s; name a file that datperf --json wrote", name, strerror(errno));
		return -1;
	}
	while (status == 0 && getline(&line, &room, file) >= 0) {
		number++;
		if (!read_point(line, &point)) {
			cli_error("%s:%u: no result; name a file that datperf --json wrote", name,
				  number);
			status = -1;
		} else {
			status = add(&point);
		}
	}
	free(line);
	fclose(file);
	return status;
}

/* Asked before anything is measured: a picture can be drawn, and the earlier results read. */
int plot_begin(const struct perf_options *opt)
{
	if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
		cli_error("--plot needs gnuplot, which is not here; install it, for example with "
			  "'apt-get install gnuplot-nox', or keep the results with --json");
		return CLI_FAILED;
	}
	plot.files = opt->results;
	for (plot.runs = 1; opt->results != NULL && opt->results[plot.runs - 1] != NULL; plot.runs++)
		if (read_file(opt->results[plot.runs - 1], plot.runs) != 0)
			return CLI_FAILED;
	return CLI_OK;
}

static int by_curve(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int ia = strcmp(x->ia, y->ia);

	if (ia == 0)
		ia = strcmp(x->how, y->how);

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->test != y->test)
		return x->test < y->test ? -1 : 1;
	return ia != 0 ? ia : (x->size > y->size) - (x->size < y->size);
}

static bool same_curve(const struct point *x, const struct point *y)
{
	return x->run == y->run && x->test == y->test && strcmp(x->ia, y->ia) == 0 &&
	       strcmp(x->how, y->how) == 0;
}

/* A string of gnuplot's, in which nothing of the text means anything. */
static void quote(FILE *to, const char *text)
{
	char *shown = cli_escape(text);

	for (const char *c = shown; *c != '\0'; c++)
		fprintf(to, *c == '\'' ? "''" : "%c", *c);
	free(shown);
}

static void title(FILE *to, const struct point *point)
{
	const char *slash;

	fprintf(to, "'");
	quote(to, point->ia);
	fprintf(to, " %s", perf_methods[point->test].name);
	quote(to, point->how);
	if (point->run > 0 && plot.runs > 2) {
		slash = strrchr(plot.files[point->run - 1], '/');
		fprintf(to, " (");
		quote(to, slash != NULL ? slash + 1 : plot.files[point->run - 1]);
		fprintf(to, ")");
	}
	fprintf(to, "'");
}

/* One of the two panels: its axes, then its curves, then their points. */
static void panel(FILE *to, bool latency, const char *name, const char *axis)
{
	const char *by = "plot ";
	size_t i;

	fprintf(to, "set title '%s'\nset ylabel '%s'\n", name, axis);
	fprintf(to, latency ? "set logscale y\n" : "unset logscale y\nset yrange [0:*]\n");
	for (i = 0; i < plot.count; i++) {
		if (perf_methods[plot.point[i].test].latency != latency ||
		    (i > 0 && same_curve(&plot.point[i - 1], &plot.point[i])))
			continue;
		fprintf(to, "%s'-' using 1:2 with linespoints lw 1.5 pt 7 ps 0.5 title ", by);
		title(to, &plot.point[i]);
		by = ", ";
	}
	fprintf(to, "\n");
	for (i = 0; i < plot.count; i++) {
		if (perf_methods[plot.point[i].test].latency != latency)
			continue;
		fprintf(to, "%" PRIu64 " %.4f\n", plot.point[i].size, plot.point[i].value);
		if (i + 1 == plot.count || !same_curve(&plot.point[i], &plot.point[i + 1]))
			fprintf(to, "e\n");
	}
}

static size_t count_of(bool latency)
{
	size_t n = 0;

	for (size_t i = 0; i < plot.count; i++)
		n += perf_methods[plot.point[i].test].latency == latency;
	return n;
}

static void script(FILE *to, const char *name)
{
	bool svg = strcmp(strrchr(name, '.'), ".svg") == 0, lat = count_of(true) > 0;
	bool both = lat && count_of(false) > 0;

	fprintf(to, "set encoding utf8\nset terminal %s\nset output '",
		svg ? (both ? "svg size 1200,560 font 'sans-serif,12' background 'white'"
			    : "svg size 700,560 font 'sans-serif,12' background 'white'")
		    : (both ? "pngcairo size 1200,560" : "pngcairo size 700,560"));
	quote(to, name);
	/* colours that most people can tell apart, also in print */
	fprintf(to, "'\nset colorsequence podo\nset key below noenhanced\nset grid\n"
		    "set logscale x 2\n"
		    "set xlabel 'size of a message (bytes)' offset 0,0.6\nset format x '%%.0b%%B'\n");
	if (both)
		fprintf(to, "set multiplot layout 1,2\n");
	if (lat)
		panel(to, true, "Latency (median)", "us");
	if (both || !lat)
		panel(to, false, "Bandwidth", "MB/s (1 MB = 10^6 bytes)");
	if (both)
		fprintf(to, "unset multiplot\n");
}

int plot_end(const struct perf_options *opt)
{
	FILE *gnuplot;
	int status;

	if (plot.count == 0) {
		cli_error("there is nothing to draw: no result has a size; take --sweep, or other "
			  "RESULTS");
		return CLI_FAILED;
	}
	qsort(plot.point, plot.count, sizeof(plot.point[0]), by_curve);
	signal(SIGPIPE, SIG_IGN);	/* its exit status tells more */
	gnuplot = popen("gnuplot", "we");
	if (gnuplot == NULL) {
		cli_error("gnuplot: %s", strerror(errno));
		return CLI_FAILED;
	}
	script(gnuplot, opt->plot);
	status = pclose(gnuplot);
	free(plot.point);
	if (status == 0)
		return CLI_OK;
	cli_error("gnuplot failed; see what it said, and whether %s can be written", opt->plot);
	return CLI_FAILED;
}
