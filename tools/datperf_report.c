/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's results on stdout: a table, JSON, or comma-separated values.
 *
 * Invariant: what a test does not measure, or verify, is null in JSON, nothing in CSV, and a dash in
 * the table.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "datperf.h"

/*
 * Returns the word for a right or wrong result, or `none` if no message was sent, so that no data
 * could be wrong.
 */
static const char *verdict(const struct perf_spec *spec, const struct perf_result *result,
			   const char *right, const char *wrong, const char *none)
{
	if (spec->test == PERF_CONNECT_RATE)
		return none;
	return result->verified ? right : wrong;
}

static void json_number(const char *name, double value, int decimals)
{
	if (isfinite(value))
		printf(", \"%s\": %.*f", name, decimals, value);
	else
		printf(", \"%s\": null", name);
}

/*
 * The number of ranges up to the 99.9th percentile, each wider than the one before; one more has
 * the rest.
 */
#define RANGES 20
#define STEP 1.02	/* each range is at least this much wider */

/* Calls `line` for each range of latencies, in us, that has samples in it. */
static void each_range(const struct perf_result *result, unsigned int one_way,
		       void (*line)(double from, double to, uint64_t n, uint64_t all))
{
	const struct perf_hist *hist = result->hist;
	double from = hist->min_ns, counted = 0, most = hist_quantile(hist, 0.999), all = hist->max_ns + 1.0;
	double step = fmax(pow(most / fmax(from, 1), 1.0 / RANGES), STEP);
	double scale = 1e3 * one_way;

	while (from < all) {
		double to = from <= most ? fmin(fmax(from * step, from + 1), all) : all;
		uint64_t n = hist_between(hist, counted, to);

		if (n > 0)
			line(from / scale, to / scale, n, hist->count);
		from = counted = to;
	}
}

static void bar(double from, double to, uint64_t n, uint64_t all)
{
	static const char hashes[] = "##################################################";
	int length = (int)((double)n / (double)all * (double)(sizeof(hashes) - 1) + 0.5);

	printf("  %10.3f to %10.3f us  %10" PRIu64 "  %.*s\n", from, to, n, length, hashes);
}

static void json_range(double from, double to, uint64_t n, uint64_t all)
{
	(void)to, (void)all;
	printf("[%.3f, %" PRIu64 "], ", from, n);
}

static void json(const struct perf_options *opt, const struct perf_spec *spec,
		 const struct perf_result *result)
{
	const struct perf_method *method = &perf_methods[spec->test];

	printf("{\"test\": \"%s\", \"ia\": ", method->name);
	cli_json_string(opt->ia);
	printf(", \"size\": %" PRIu64 ", \"iters\": %" PRIu32, spec->size, result->iters);
	json_number("lat_us_median", result->lat_us_median, 3);
	json_number("lat_us_p99", result->lat_us_p99, 3);
	json_number("bw_MBps", result->bw_MBps, 1);
	json_number("rate_per_s", result->rate_per_s, 1);
	if (opt->repeat > 0) {
		printf(", \"repeat\": %" PRIu32, opt->repeat);
		json_number("low", result->low, 3);
		json_number("high", result->high, 3);
	}
	printf(", \"window\": %" PRIu32 ", \"eps\": %" PRIu32 ", \"threads\": %" PRIu32
	       ", \"bidirectional\": %s, \"wait\": %s, \"memory\": \"%s\", \"api\": \"%s\"", spec->window,
	       spec->eps, spec->threads, spec->both ? "true" : "false",
	       spec->wait ? "true" : "false", perf_memory_names[spec->memory], opt->vipl ? "vipl" : opt->api);
	if (opt->histogram && result->hist != NULL) {
		printf(", \"histogram\": [");
		each_range(result, method->one_way, json_range);
		printf("[%.3f, 0]]", (result->hist->max_ns + 1) / 1e3 / method->one_way);
	}
	printf(", \"verified\": %s}\n", verdict(spec, result, "true", "false", "null"));
}

/* Writes a quoted text, in which quotes are doubled, as spreadsheets expect it. */
static void csv_text(const char *text)
{
	char *shown = cli_escape(text);

	putchar('"');
	for (const char *c = shown; *c != '\0'; c++)
		printf(*c == '"' ? "\"\"" : "%c", *c);
	putchar('"');
	free(shown);
}

static void csv_number(double value, int decimals)
{
	putchar(',');
	if (isfinite(value))
		printf("%.*f", decimals, value);
}

static void csv(const struct perf_options *opt, const struct perf_spec *spec,
		const struct perf_result *result)
{
	printf("%s,", perf_methods[spec->test].name);
	csv_text(opt->ia);
	printf(",%" PRIu64 ",%" PRIu32, spec->size, result->iters);
	csv_number(result->lat_us_median, 3);
	csv_number(result->lat_us_p99, 3);
	csv_number(result->bw_MBps, 1);
	csv_number(result->rate_per_s, 1);
	printf(",%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%s,%s,%s",
	       verdict(spec, result, "true", "false", ""), spec->window, spec->eps, spec->threads,
	       spec->both ? "true" : "false", spec->wait ? "true" : "false",
	       perf_memory_names[spec->memory]);
	if (opt->repeat > 0) {
		printf(",%" PRIu32, opt->repeat);
		csv_number(result->low, 3);
		csv_number(result->high, 3);
	}
	putchar('\n');
}

static void cell(double value, int width, int decimals)
{
	if (isfinite(value))
		printf("  %*.*f", width, decimals, value);
	else
		printf("  %*s", width, "-");
}

static void line(const struct perf_options *opt, const struct perf_spec *spec,
		 const struct perf_result *result)
{
	const struct perf_method *method = &perf_methods[spec->test];

	printf("%-12s  %9" PRIu64, method->name, spec->size);
	cell(result->lat_us_median, 9, 2);
	cell(result->lat_us_p99, 9, 2);
	cell(result->bw_MBps, 10, 1);
	cell(result->rate_per_s, 12, 0);
	if (opt->repeat > 0) {
		cell(result->low, 10, 2);
		cell(result->high, 10, 2);
	}
	printf("  %s\n", verdict(spec, result, "verified", "WRONG", "-"));
	if (opt->histogram && result->hist != NULL)
		each_range(result, method->one_way, bar);
}

/* Writes the settings that differ from the defaults. */
static void settings(const struct perf_spec *spec)
{
	uint32_t threads = spec->threads > 0 ? spec->threads : 1;

	if (spec->eps > 1 || threads > 1)
		printf("endpoints: %" PRIu32 ", threads: %" PRIu32 ", on each side\n",
		       spec->eps > threads ? spec->eps : threads, threads);
	if (spec->both)
		printf("both sides at once; the results are their sum\n");
	if (spec->wait)
		printf("both sides sleep for their events\n");
	if (spec->memory != PERF_PRIVATE)
		printf("memory: %s\n", perf_memory_names[spec->memory]);
}

void report_head(const struct perf_options *opt)
{
	char *shown;

	if (opt->form == PERF_CSV)
		printf("test,ia,size,iters,lat_us_median,lat_us_p99,bw_MBps,rate_per_s,verified,"
		       "window,eps,threads,bidirectional,wait,memory%s\n",
		       opt->repeat > 0 ? ",repeat,low,high" : "");
	if (opt->form == PERF_TABLE) {
		shown = cli_escape(opt->ia);
		printf("%s: latency is one way (a read's: post to completion), 1 MB = 10^6 "
		       "bytes\n", shown);
		free(shown);
		settings(&opt->spec);
		if (opt->repeat > 0)
			printf("the one in the middle of %" PRIu32 " measurements; lowest and highest: us, MB/s "
			       "or per second\n", opt->repeat);
		putchar('\n');
		printf("%-12s  %9s  %9s  %9s  %10s  %12s%s  %s\n", "test", "bytes", "us median",
		       "us p99", "MB/s", "per second", opt->repeat > 0 ? "      lowest     highest" : "",
		       "data");
	}
	fflush(stdout);
}

void report_result(const struct perf_options *opt, const struct perf_spec *spec,
		   const struct perf_result *result)
{
	if (opt->form == PERF_JSON)
		json(opt, spec, result);
	else if (opt->form == PERF_CSV)
		csv(opt, spec, result);
	else
		line(opt, spec, result);
	fflush(stdout);
}
