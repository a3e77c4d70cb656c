/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's clocks: the system's, and a quicker one for the time of a single round trip, because the
 * time that it takes to read the system's clock would be a large part of the result.
 *
 * Invariant: ticks are the processor's time stamp only if the kernel itself uses it as the clock, so
 * that it advances steadily and at one rate on all CPUs; otherwise ticks are nanoseconds.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "datperf.h"

#define CALIBRATE_NS UINT64_C(10000000)

struct moment {
	uint64_t ns, tick;
};

/* Set before there are threads. */
static bool stamped;		/* ticks are the processor's */
static uint64_t ns_per_tick;	/* times 2^32 */

uint64_t perf_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
static uint64_t stamp(void)
{
	return __builtin_ia32_rdtsc();
}

static bool kernel_uses_stamp(void)
{
	static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	FILE *file = fopen(path, "re");
	char name[16] = "";
	bool uses = file != NULL && fgets(name, sizeof(name), file) != NULL &&
		    strcmp(name, "tsc\n") == 0;

	if (file != NULL)
		fclose(file);
	return uses;
}
#else
static uint64_t stamp(void)
{
	return 0;
}

static bool kernel_uses_stamp(void)
{
	return false;
}
#endif

/* Reads both clocks at one time: the quickest of a few readings. */
static struct moment moment_now(void)
{
	struct moment best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = stamp(), ns = perf_now_ns(), after = stamp();

		if (after - before < least) {
			least = after - before;
			best = (struct moment){ ns, before + least / 2 };
		}
	}
	return best;
}

void clock_begin(void)
{
	struct moment from, to;

	if (!kernel_uses_stamp())
		return;
	from = moment_now();
	do
		to = moment_now();
	while (to.ns - from.ns < CALIBRATE_NS);
	ns_per_tick = (uint64_t)(((unsigned __int128)(to.ns - from.ns) << 32) / (to.tick - from.tick));
	stamped = true;
}

uint64_t clock_ticks(void)
{
	return stamped ? stamp() : perf_now_ns();
}

uint64_t clock_ns(uint64_t ticks)
{
	return stamped ? (uint64_t)(((unsigned __int128)ticks * ns_per_tick) >> 32) : ticks;
}
