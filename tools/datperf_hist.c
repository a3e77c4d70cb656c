/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's samples: counted in bins, so that a run may be of any length.
 *
 * Invariant: a bin is at most a thousandth of its value wide; up to 2 us it is one nanosecond.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

#define SUB_BITS 10
#define SUB (1u << SUB_BITS)			/* bins for each doubling */
#define BINS ((32 - SUB_BITS + 1) * SUB)	/* for all values of 32 bits */

/* Creates the bins, and writes to them, so that no page fault falls into a sample. */
struct perf_hist *hist_create(void)
{
	struct perf_hist *hist = malloc(sizeof(*hist) + BINS * sizeof(hist->bin[0]));

	if (hist == NULL)
		cli_error("no memory for the samples; end other programs or give fewer --iters");
	else
		hist_clear(hist);
	return hist;
}

void hist_clear(struct perf_hist *hist)
{
	memset(hist, 0, sizeof(*hist) + BINS * sizeof(hist->bin[0]));
	hist->min_ns = UINT32_MAX;
}

void hist_add(struct perf_hist *hist, uint64_t took)
{
	uint32_t ns = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
	unsigned int shift = 0;

	if (ns >= 2 * SUB)
		shift = 31 - (unsigned int)__builtin_clz(ns) - SUB_BITS;
	hist->bin[shift * SUB + (ns >> shift)]++;
	hist->count++;
	if (ns < hist->min_ns)
		hist->min_ns = ns;
	if (ns > hist->max_ns)
		hist->max_ns = ns;
}

/* Adds the samples of `with`. */
void hist_join(struct perf_hist *hist, const struct perf_hist *with)
{
	for (uint32_t bin = 0; bin < BINS; bin++)
		hist->bin[bin] += with->bin[bin];
	hist->count += with->count;
	if (with->min_ns < hist->min_ns)
		hist->min_ns = with->min_ns;
	if (with->max_ns > hist->max_ns)
		hist->max_ns = with->max_ns;
}

/* Returns the smallest value of a bin. */
static uint64_t bin_start(uint32_t bin)
{
	unsigned int shift = bin < 2 * SUB ? 0 : bin / SUB - 1;

	return (uint64_t)(bin - shift * SUB) << shift;
}

/*
 * Returns the smallest value that this fraction (0 to 1) of all samples does not exceed. There has
 * to be a sample.
 */
double hist_quantile(const struct perf_hist *hist, double part)
{
	uint64_t seen = 0;
	uint32_t bin = 0;

	while (bin < BINS - 1 && (double)(seen += hist->bin[bin]) < part * (double)hist->count)
		bin++;
	return (double)(bin_start(bin) + bin_start(bin + 1) - 1) / 2;
}

/* Returns the number of samples from `from` on and below `to`, to the nearest bin. */
uint64_t hist_between(const struct perf_hist *hist, double from, double to)
{
	uint64_t n = 0;

	for (uint32_t bin = 0; bin < BINS && (double)bin_start(bin) < to; bin++)
		if ((double)bin_start(bin) >= from)
			n += hist->bin[bin];
	return n;
}
