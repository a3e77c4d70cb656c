/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the rate of this machine's time stamp counter in kHz, which is also the rate in an emulated guest. Compiled and run by
 * `lab`. Invariant: a busy machine does not falsify the rate. The counter and the clock are read as a pair several times, and the
 * pair with the shortest time between its readings is used.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

enum { PAIRS = 50, SPAN_MS = 100 };

struct sample {
	uint64_t tsc, ns;
};

static struct sample take(void)
{
	struct sample best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = __rdtsc(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		after = __rdtsc();
		if (after - before >= least)
			continue;
		least = after - before;
		best.tsc = before + least / 2;
		best.ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	}
	return best;
}

int main(void)
{
	struct timespec span = { .tv_nsec = SPAN_MS * 1000000L };
	struct sample first = take(), last;

	nanosleep(&span, NULL);
	last = take();
	printf("%llu\n",
	       (unsigned long long)((last.tsc - first.tsc) * 1000000 / (last.ns - first.ns)));
	return 0;
}
