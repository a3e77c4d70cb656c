/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's figures: from samples to a median, and from results to lines on stdout.
 *
 * Invariant: a figure that a test does not measure is null in JSON and a dash in the table.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "datperf.h"

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The smallest sample that `percent` of all samples do not exceed. `sorted` is not empty. */
static uint32_t percentile(const uint32_t *sorted, uint32_t count, unsigned int percent)
{
	uint64_t rank = ((uint64_t)count * percent + 99) / 100;

	return sorted[rank > 0 ? rank - 1 : 0];
}

void stats_latency(uint32_t *sample_ns, uint32_t count, unsigned int one_way,
		   struct perf_result *result)
{
	qsort(sample_ns, count, sizeof(*sample_ns), compare);
	result->lat_us_median = percentile(sample_ns, count, 50) / 1e3 / one_way;
	result->lat_us_p99 = percentile(sample_ns, count, 99) / 1e3 / one_way;
}

static void json_number(const char *name, double value, int decimals)
{
	if (isfinite(value))
		printf(", \"%s\": %.*f", name, decimals, value);
	else
		printf(", \"%s\": null", name);
}

void report_json(const char *ia, const struct perf_spec *spec, const struct perf_result *result)
{
	printf("{\"test\": \"%s\", \"ia\": ", perf_methods[spec->test].name);
	cli_json_string(ia);
	printf(", \"size\": %" PRIu64 ", \"iters\": %" PRIu32, spec->size, spec->iters);
	json_number("lat_us_median", result->lat_us_median, 3);
	json_number("lat_us_p99", result->lat_us_p99, 3);
	json_number("bw_MBps", result->bw_MBps, 1);
	json_number("rate_per_s", result->rate_per_s, 1);
	printf(", \"verified\": %s}\n", result->verified ? "true" : "false");
	fflush(stdout);
}

static void cell(double value, int width, int decimals)
{
	if (isfinite(value))
		printf("  %*.*f", width, decimals, value);
	else
		printf("  %*s", width, "-");
}

void report_head(const char *ia)
{
	char *shown = cli_escape(ia);

	printf("%s: latency is one way (a read's: post to completion), 1 MB = 10^6 bytes\n\n",
	       shown);
	free(shown);
	printf("%-12s  %9s  %9s  %9s  %10s  %12s  %s\n", "test", "bytes", "us median", "us p99",
	       "MB/s", "per second", "data");
	fflush(stdout);
}

void report_line(const struct perf_spec *spec, const struct perf_result *result)
{
	printf("%-12s  %9" PRIu64, perf_methods[spec->test].name, spec->size);
	cell(result->lat_us_median, 9, 2);
	cell(result->lat_us_p99, 9, 2);
	cell(result->bw_MBps, 10, 1);
	cell(result->rate_per_s, 12, 0);
	printf("  %s\n", result->verified ? "verified" : "WRONG");
	fflush(stdout);
}
