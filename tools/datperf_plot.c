/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's picture: latency and bandwidth over the size, drawn by gnuplot from the results of this
 * run and of earlier ones, which --json wrote.
 *
 * A file may contain several runs, one after the other, without a mark between them. The sizes of a run
 * ascend, and its windows are all the defaults, or all the same; a result that breaks this belongs to
 * another run.
 *
 * Invariant: a curve is what one run measured with one test, its points in the order of size.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "datperf.h"

#define COLOURS 8	/* of gnuplot's "podo"; after that many the lines and the points change */

struct point {
	size_t run;		/* 0: this one, then the files */
	char ia[128];
	enum perf_test test;
	char how[128];		/* the options that differ from the defaults */
	size_t curve;		/* in the order of their beginning */
	uint64_t size;
	uint32_t window;
	double value;		/* us or MB/s */
	double low, high;	/* of its repetitions; the value itself if there are none */
};

struct curve {
	size_t last;		/* point */
	bool usual, one;	/* its windows are the defaults; they are all the same */
	size_t number, alike;	/* its number among the curves that would have the same name */
};

static struct {
	struct point *point;
	size_t count, room;
	struct curve *curve;
	size_t curves, curve_room;
	size_t runs;
	char **files;
} plot;

/* Returns the array with room for one more, or NULL. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
	void *more;

	if (count < *room)
		return array;
	more = realloc(array, (*room * 2 + 64) * size);
	if (more == NULL)
		cli_error("no memory for %zu points of a picture", *room * 2 + 64);
	else
		*room = *room * 2 + 64;
	return more;
}

static bool same_settings(const struct point *x, const struct point *y)
{
	return x->run == y->run && x->test == y->test && strcmp(x->ia, y->ia) == 0 &&
	       strcmp(x->how, y->how) == 0;
}

static bool usual_window(const struct point *point)
{
	return point->window == perf_window(point->test, point->size);
}

static bool goes_on(const struct curve *curve, const struct point *point)
{
	const struct point *last = &plot.point[curve->last];

	return point->size > last->size && ((curve->usual && usual_window(point)) ||
					    (curve->one && point->window == last->window));
}

static int begin_curve(void)
{
	struct curve *more = grown(plot.curve, plot.curves, &plot.curve_room, sizeof(*more));

	if (more == NULL)
		return -1;
	plot.curve = more;
	plot.curve[plot.curves++] = (struct curve){ .last = plot.count, .usual = true, .one = true };
	return 0;
}

/* Chooses the curve of the next point: the latest one with its settings, or a new one. */
static int choose_curve(struct point *point)
{
	struct curve *curve;
	size_t i = plot.curves;

	while (i > 0 && !same_settings(&plot.point[plot.curve[i - 1].last], point))
		i--;
	if (i == 0 || !goes_on(&plot.curve[i - 1], point)) {
		if (begin_curve() != 0)
			return -1;
		i = plot.curves;
	}
	curve = &plot.curve[i - 1];
	if (curve->last != plot.count && plot.point[curve->last].window != point->window)
		curve->one = false;
	if (!usual_window(point))
		curve->usual = false;
	curve->last = plot.count;
	point->curve = i - 1;
	return 0;
}

static int add(struct point *point)
{
	struct point *more;

	if (point->test == PERF_CONNECT_RATE || point->size == 0 || !isfinite(point->value))
		return 0;
	more = grown(plot.point, plot.count, &plot.room, sizeof(*more));
	if (more == NULL)
		return -1;
	plot.point = more;
	if (choose_curve(point) != 0)
		return -1;
	plot.point[plot.count++] = *point;
	return 0;
}

static void describe(struct point *point, unsigned long eps, unsigned long threads, bool both,
		     bool wait, const char *memory, const char *api)
{
	char some[32] = "", more[32] = "", kind[24] = "", which[16] = "";

	if (eps > 1)
		snprintf(some, sizeof(some), ", %lu eps", eps);
	if (threads > 1)
		snprintf(more, sizeof(more), ", %lu threads", threads);
	if (strcmp(memory, perf_memory_names[PERF_PRIVATE]) != 0)
		snprintf(kind, sizeof(kind), ", %.16s", memory);
	if (strcmp(api, "1.2") != 0)
		snprintf(which, sizeof(which), ", API %.8s", api);
	snprintf(point->how, sizeof(point->how), "%s%s%s%s%s%s", which, some, more,
		 both ? ", both ways" : "", wait ? ", waiting" : "", kind);
}

int plot_add(const char *ia, const char *api, const struct perf_spec *spec, const struct perf_result *result)
{
	struct point point = {
		.test = spec->test, .size = spec->size, .window = spec->window,
		.value = perf_value(spec->test, result), .low = result->low, .high = result->high,
	};

	snprintf(point.ia, sizeof(point.ia), "%s", ia);
	describe(&point, spec->eps, spec->threads, spec->both, spec->wait,
		 perf_memory_names[spec->memory], api);
	return add(&point);
}

/* Returns the text or number after a member's name, in a line that report_result() wrote. */
static const char *member(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at != NULL ? at + strlen(name) : NULL;
}

/* Reads the settings of a result. Files of earlier versions do not have them. */
static void read_settings(const char *line, struct point *point)
{
	const char *eps = member(line, "\"eps\": "), *threads = member(line, "\"threads\": ");
	const char *memory = member(line, "\"memory\": \""), *window = member(line, "\"window\": ");
	const char *api = member(line, "\"api\": \"");
	char kind[16] = "private", which[16] = "1.2";

	point->window = window != NULL ? (uint32_t)strtoul(window, NULL, 10)
				       : perf_window(point->test, point->size);

	if (memory != NULL)
		snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(memory, "\""), memory);
	if (api != NULL)
		snprintf(which, sizeof(which), "%.*s", (int)strcspn(api, "\""), api);
	describe(point, eps != NULL ? strtoul(eps, NULL, 10) : 1,
		 threads != NULL ? strtoul(threads, NULL, 10) : 1,
		 strstr(line, "\"bidirectional\": true") != NULL,
		 strstr(line, "\"wait\": true") != NULL, kind, which);
}

/* Returns a member's number, or `otherwise` if the line has no such member or it is null. */
static double read_number(const char *line, const char *name, double otherwise)
{
	const char *value = member(line, name);

	return value != NULL && *value != 'n' ? strtod(value, NULL) : otherwise;
}

static bool read_point(const char *line, struct point *point)
{
	const char *test = member(line, "{\"test\": \""), *ia = member(line, "\"ia\": \"");
	const char *size = member(line, "\"size\": ");
	int i;

	if (test == NULL || ia == NULL || size == NULL)
		return false;
	for (i = 0; i < PERF_TESTS; i++)
		if (strncmp(test, perf_methods[i].name, strcspn(test, "\"")) == 0 &&
		    strlen(perf_methods[i].name) == strcspn(test, "\""))
			break;
	if (i == PERF_TESTS)
		return false;
	point->test = (enum perf_test)i;
	snprintf(point->ia, sizeof(point->ia), "%.*s", (int)strcspn(ia, "\""), ia);
	point->size = strtoull(size, NULL, 10);
	point->value = read_number(line, perf_methods[i].latency ? "\"lat_us_median\": "
								   : "\"bw_MBps\": ", NAN);
	point->low = read_number(line, "\"low\": ", point->value);
	point->high = read_number(line, "\"high\": ", point->value);
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
	if (status == 0 && (ferror(file) || number == 0)) {
		cli_error("%s: %s; name a file that datperf --json wrote", name,
			  ferror(file) ? strerror(errno) : "it is empty");
		status = -1;
	}
	free(line);
	fclose(file);
	return status;
}

static int picture_error(const char *name, int error)
{
	cli_error("--plot: %s cannot be written: %s; name a file in another folder, or make room "
		  "there", name, strerror(error));
	return -1;
}

/* Checks whether the picture's file can be created, or written to. Leaves it unchanged. */
static int try_picture(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool fresh = fd >= 0;

	if (!fresh && errno == EEXIST)
		fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return picture_error(name, errno);
	close(fd);
	if (fresh)
		unlink(name);
	return 0;
}

/*
 * Called before anything is measured: checks that a picture can be drawn, and reads the earlier
 * results.
 */
int plot_begin(const struct perf_options *opt)
{
	if (system("command -v gnuplot >/dev/null 2>&1") != 0) {
		cli_error("--plot needs gnuplot, which is not installed; install it, for example "
			  "with 'apt-get install gnuplot-nox', or keep the results with --json");
		return CLI_FAILED;
	}
	plot.files = opt->results;
	for (plot.runs = 1; opt->results != NULL && opt->results[plot.runs - 1] != NULL; plot.runs++)
		if (read_file(opt->results[plot.runs - 1], plot.runs) != 0)
			return CLI_FAILED;
	return try_picture(opt->plot) == 0 ? CLI_OK : CLI_FAILED;
}

static int by_curve(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int ia = strcmp(x->ia, y->ia);

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->test != y->test)
		return x->test < y->test ? -1 : 1;
	if (ia != 0 || x->curve != y->curve)
		return ia != 0 ? ia : x->curve < y->curve ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

static bool same_curve(const struct point *x, const struct point *y)
{
	return x->curve == y->curve;
}

/*
 * Adds a window that was chosen to the name of a curve. Which ones were chosen is known only when a
 * curve is complete.
 */
static void name_windows(void)
{
	for (size_t i = 0; i < plot.count; i++) {
		struct point *point = &plot.point[i];
		size_t length = strlen(point->how);

		if (!plot.curve[point->curve].usual)
			snprintf(point->how + length, sizeof(point->how) - length,
				 ", window %" PRIu32, point->window);
	}
}

/* Gives each curve its name. The points still have the order in which they came. */
static void name_curves(void)
{
	name_windows();
	for (size_t i = 0; i < plot.curves; i++) {
		struct curve *curve = &plot.curve[i];

		for (size_t k = 0; k < plot.curves; k++) {
			bool alike = same_settings(&plot.point[curve->last],
						   &plot.point[plot.curve[k].last]);

			curve->alike += alike;
			curve->number += alike && k <= i;
		}
	}
}

/* Writes a string of gnuplot's, in which no character has a special meaning. */
static void quote(FILE *to, const char *text)
{
	char *shown = cli_escape(text);

	for (const char *c = shown; *c != '\0'; c++)
		fprintf(to, *c == '\'' ? "''" : "%c", *c);
	free(shown);
}

/* Returns whether a file's name is this one, or ends with this name after a folder. */
static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length >= tail && strcmp(name + length - tail, end) == 0 &&
	       (length == tail || name[length - tail - 1] == '/');
}

/*
 * Returns the last part of a file's name, with enough folders that no other file's name ends in the
 * same way.
 */
static const char *short_name(const char *name)
{
	const char *end = name + strlen(name);
	bool alone = false;

	while (end > name && !alone) {
		while (end > name && end[-1] == '/')
			end--;
		while (end > name && end[-1] != '/')
			end--;
		alone = true;
		for (size_t i = 0; i + 1 < plot.runs; i++)
			if (strcmp(plot.files[i], name) != 0 && ends_in(plot.files[i], end))
				alone = false;
	}
	return end;
}

/*
 * Returns whether a curve's name has to say which run it belongs to. The points are sorted, with
 * this run's first.
 */
static bool several_runs(void)
{
	return plot.runs > 2 || plot.point[0].run == 0;
}

static void title(FILE *to, const struct point *point)
{
	const struct curve *curve = &plot.curve[point->curve];
	const char *by = " (";

	fprintf(to, "'");
	quote(to, point->ia);
	fprintf(to, " %s", perf_methods[point->test].name);
	quote(to, point->how);
	if (point->run > 0 && several_runs()) {
		fprintf(to, "%s", by);
		quote(to, short_name(plot.files[point->run - 1]));
		by = ", ";
	}
	if (curve->alike > 1) {
		fprintf(to, "%srun %zu", by, curve->number);
		by = ", ";
	}
	fprintf(to, "%s'", by[0] == ',' ? ")" : "");
}

/* Returns whether a curve of the panel begins with this point. */
static bool begins_curve(size_t i, bool latency)
{
	return perf_methods[plot.point[i].test].latency == latency &&
	       (i == 0 || !same_curve(&plot.point[i - 1], &plot.point[i]));
}

static size_t curves_of(bool latency)
{
	size_t n = 0;

	for (size_t i = 0; i < plot.count; i++)
		n += begins_curve(i, latency);
	return n;
}

/*
 * Writes the ranges of a panel's axes, because gnuplot complains about a range made from a single
 * value.
 */
static void ranges(FILE *to, bool latency)
{
	double min = INFINITY, max = 0;
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < plot.count; i++) {
		const struct point *point = &plot.point[i];

		if (perf_methods[point->test].latency != latency)
			continue;
		min = fmin(min, point->low);
		max = fmax(max, point->high);
		least = point->size < least ? point->size : least;
		most = point->size > most ? point->size : most;
	}
	if (least == most)
		fprintf(to, "set xrange [%" PRIu64 "/2.0:%" PRIu64 "*2.0]\n", least, most);
	else
		fprintf(to, "set xrange [*:*]\n");
	fprintf(to, latency ? "set logscale y\n" : "unset logscale y\n");
	if (!latency)
		fprintf(to, "set yrange [0:%s]\n", max > 0 ? "*" : "1");
	else if (min == max)
		fprintf(to, "set yrange [%.6f:%.6f]\n", min / 2, max * 2);
}

/*
 * Writes the points of all curves, as one data block each, which is named by the position of its first point.
 * gnuplot 6 reads no points from the script ('-') within a multiplot; 5 and 6 both know data blocks.
 */
static void data_blocks(FILE *to)
{
	for (size_t i = 0; i < plot.count; i++) {
		if (i == 0 || !same_curve(&plot.point[i - 1], &plot.point[i]))
			fprintf(to, "$curve%zu << end\n", i);
		fprintf(to, "%" PRIu64 " %.4f %.4f %.4f\n", plot.point[i].size, plot.point[i].value,
			plot.point[i].low, plot.point[i].high);
		if (i + 1 == plot.count || !same_curve(&plot.point[i], &plot.point[i + 1]))
			fprintf(to, "end\n");
	}
}

/* Returns true if a measurement of the curve that begins with this point was repeated, with other results. */
static bool has_spread(size_t i)
{
	size_t first = i;

	for (; i < plot.count && same_curve(&plot.point[first], &plot.point[i]); i++)
		if (plot.point[i].low < plot.point[i].high)
			return true;
	return false;
}

/* Draws the range from the lowest to the highest of the repetitions: a band, or a bar if there is one size only. */
static void spread(FILE *to, const char *by, size_t i, size_t colour)
{
	bool one = i + 1 == plot.count || !same_curve(&plot.point[i], &plot.point[i + 1]);

	if (one)
		fprintf(to, "%s$curve%zu using 1:2:3:4 with yerrorbars lt %zu lw 1.5 ps 0 notitle", by, i, colour);
	else
		fprintf(to, "%s$curve%zu using 1:3:4 with filledcurves lt %zu fs transparent solid 0.25 "
			"noborder notitle", by, i, colour);
}

/* Writes one of the two panels: its axes, then its curves. */
static void panel(FILE *to, bool latency, const char *name, const char *axis)
{
	static const int points[] = { 7, 5, 9, 13 };	/* discs, squares, triangles, diamonds */
	const char *by = "plot ";
	size_t curve = 0;

	fprintf(to, "set title '%s'\nset ylabel '%s'\n", name, axis);
	ranges(to, latency);
	for (size_t i = 0; i < plot.count; i++) {
		size_t lap = curve / COLOURS % (sizeof(points) / sizeof(points[0]));

		if (!begins_curve(i, latency))
			continue;
		curve++;
		if (has_spread(i)) {
			spread(to, by, i, curve);
			by = ", ";
		}
		fprintf(to, "%s$curve%zu using 1:2 with linespoints lt %zu lw 1.5 pt %d dt %zu ps 0.5 title ",
			by, i, curve, points[lap], lap + 1);
		title(to, &plot.point[i]);
		by = ", ";
	}
	fprintf(to, "\n");
}

/* Writes the adapters of all curves, each once: "ib0, soft0". */
static void adapters(FILE *to)
{
	const char *before = "";

	for (size_t i = 0; i < plot.count; i++) {
		size_t k = 0;

		while (k < i && strcmp(plot.point[k].ia, plot.point[i].ia) != 0)
			k++;
		if (k < i)
			continue;
		fprintf(to, "%s", before);
		quote(to, plot.point[i].ia);
		before = ", ";
	}
}

/*
 * Writes what the picture shows, and where and when it was made: "soft0, measured on HOST,
 * 2026-01-31, OpenDAT 0.1". Files of results do not contain the place, so for these it says where
 * it was drawn.
 */
static void heading(FILE *to)
{
	bool here = plot.count > 0;
	char host[256] = "", date[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	for (size_t i = 0; i < plot.count; i++)
		here &= plot.point[i].run == 0;
	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
		strcpy(host, "this host");
	if (localtime_r(&now, &tm) != NULL)
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	fputc('\'', to);
	adapters(to);
	fprintf(to, ", %s on ", here ? "measured" : "drawn");
	quote(to, host);
	fprintf(to, ", %s, OpenDAT %s'", date, PACKAGE_VERSION);
}

static void script(FILE *to, const char *name)
{
	bool svg = strcmp(strrchr(name, '.'), ".svg") == 0;
	size_t lat = curves_of(true), bw = curves_of(false), most = lat > bw ? lat : bw;
	bool both = lat > 0 && bw > 0;
	/* the names may have a line each below the axes, which keep their size below the heading */
	size_t width = both ? 1200 : 700, height = 610 + (most > 4 ? (most - 4) * 19 : 0);

	fprintf(to, "set encoding utf8\nset terminal %s size %zu,%zu%s\n", svg ? "svg" : "pngcairo",
		width, height, svg ? " font 'sans-serif,12' background 'white'" : "");
	/* colours that most people can tell apart, also in print */
	fprintf(to, "set colorsequence podo\nset key below noenhanced\nset grid\n"
		    "set logscale x 2\n"
		    "set xlabel \"size of a message (bytes)\\n\" offset 0,0.3\n"	/* keeps a distance from the names */
		    "set format x '%%.0b%%B'\n");
	data_blocks(to);
	fprintf(to, "set multiplot layout 1,%d title ", both ? 2 : 1);
	heading(to);
	fprintf(to, " noenhanced\n");
	if (lat > 0)
		panel(to, true, "Latency (median)", "latency (us, one way; of a read: post to completion)");
	if (bw > 0)
		panel(to, false, "Bandwidth", "bandwidth (MB/s, 1 MB = 10^6 bytes)");
	fprintf(to, "unset multiplot\n");
}

/*
 * Runs gnuplot with the script; *pid is its process. Returns the descriptor that its picture comes
 * from, or -1. The script is UTF-8, and in another locale gnuplot warns of characters that it cannot
 * convert.
 */
static int gnuplot_start(FILE *commands, pid_t *pid)
{
	char *argv[] = { (char *)"env", (char *)"LC_ALL=C.UTF-8", (char *)"gnuplot", NULL };
	posix_spawn_file_actions_t actions;
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(commands), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (error == 0)
		return fds[0];
	close(fds[0]);
	errno = error;
	return -1;
}

/* Writes the whole picture to the file, or reports why not; gnuplot does not notice a full disk. */
static int picture_write(int from, const char *name)
{
	FILE *file = fopen(name, "we");
	char some[16384];
	ssize_t got;
	int error = file == NULL ? errno : 0;

	while ((got = read(from, some, sizeof(some))) > 0)
		if (error == 0 && fwrite(some, 1, (size_t)got, file) != (size_t)got)
			error = errno;
	if (file != NULL && fclose(file) != 0 && error == 0)
		error = errno;
	return error == 0 ? 0 : picture_error(name, error);
}

static int draw(FILE *commands, const char *name)
{
	int status = 0, result, from;
	pid_t pid;

	script(commands, name);
	rewind(commands);
	from = gnuplot_start(commands, &pid);
	if (from < 0) {
		cli_error("gnuplot: %s", strerror(errno));
		return -1;
	}
	result = picture_write(from, name);
	close(from);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		return result;
	cli_error("gnuplot failed, and %s is not a picture; see its messages", name);
	return -1;
}

int plot_end(const struct perf_options *opt)
{
	FILE *commands;
	int status;

	if (plot.count == 0) {
		cli_error("there is nothing to draw: no result has a size; use --sweep, or other "
			  "RESULTS");
		return CLI_FAILED;
	}
	name_curves();
	qsort(plot.point, plot.count, sizeof(plot.point[0]), by_curve);
	/* in memory: the disk may be full */
	commands = fdopen(memfd_create("datperf", MFD_CLOEXEC), "w+");
	if (commands == NULL) {
		cli_error("no memory for gnuplot's input: %s", strerror(errno));
		return CLI_FAILED;
	}
	status = draw(commands, opt->plot);
	fclose(commands);
	free(plot.point);
	free(plot.curve);
	return status == 0 ? CLI_OK : CLI_FAILED;
}
