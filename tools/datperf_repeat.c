/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf --repeat: one result from several measurements of the same test.
 *
 * Invariant: the values of a result are those of one measurement, the one in the middle, so that
 * they belong together; only `low`, `high`, `verified` and the histogram are about all of them.
 */
#include "config.h"

#include <stdlib.h>

#include "cli.h"
#include "datperf.h"

double perf_value(enum perf_test test, const struct perf_result *result)
{
	if (test == PERF_CONNECT_RATE)
		return result->rate_per_s;
	return perf_methods[test].latency ? result->lat_us_median : result->bw_MBps;
}

int repeat_begin(struct perf_repeat *repeat, const struct perf_options *opt)
{
	*repeat = (struct perf_repeat){ .times = opt->repeat > 1 ? opt->repeat : 1 };
	if (repeat->times == 1)
		return 0;
	repeat->result = calloc(repeat->times, sizeof(*repeat->result));
	if (repeat->result == NULL) {
		cli_error("no memory for %u results; give fewer to --repeat", repeat->times);
		return -1;
	}
	if (!opt->histogram)
		return 0;
	repeat->hist = hist_create();
	return repeat->hist != NULL ? 0 : -1;
}

void repeat_end(struct perf_repeat *repeat)
{
	free(repeat->result);
	free(repeat->hist);
}

/* Compares by `low`, to which repeat_test() copies the value of each test, because qsort() passes no context. */
static int by_value(const void *a, const void *b)
{
	const struct perf_result *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

/* Returns the result of all measurements, which are sorted by their value, `low`. */
static struct perf_result middle(const struct perf_repeat *repeat)
{
	struct perf_result result = repeat->result[(repeat->times - 1) / 2];

	result.low = repeat->result[0].low;
	result.high = repeat->result[repeat->times - 1].low;
	for (uint32_t i = 0; i < repeat->times; i++)
		result.verified &= repeat->result[i].verified;
	if (result.hist != NULL && repeat->hist != NULL)
		result.hist = repeat->hist;
	return result;
}

/* Repeats a test. The result is that of the median; of an even number of measurements, the lower one in the middle. */
int repeat_test(struct perf_repeat *repeat, struct perf_session *s, const struct perf_spec *spec,
		struct perf_result *result)
{
	if (repeat->hist != NULL)
		hist_clear(repeat->hist);
	for (uint32_t i = 0; i < repeat->times; i++) {
		if (session_test(s, spec, result) != 0)
			return -1;
		result->low = result->high = perf_value(spec->test, result);
		if (repeat->times == 1)
			return 0;
		repeat->result[i] = *result;
		if (repeat->hist != NULL && result->hist != NULL)
			hist_join(repeat->hist, result->hist);
	}
	qsort(repeat->result, repeat->times, sizeof(*repeat->result), by_value);
	*result = middle(repeat);
	return 0;
}
