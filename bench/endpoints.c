/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of many connected endpoints: N pairs in one process, whose completions all go to two EVDs,
 * and of which some have traffic.
 *
 *	endpoints IA N [ROUNDS]
 *
 * prints, on one line, the nanoseconds to take a completion (post of a send of 8 bytes, its two
 * completions, the next receive: divided by two), the nanoseconds to find an EVD empty, and the
 * bytes of memory an endpoint has. The figures are the best of several samples.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pair.h"

#define SAMPLES 10

/* Returns the bytes of this process's memory (Pss): its private memory, and its share of shared memory. */
static double memory_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	unsigned long kib = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pss: %lu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return (double)kib * 1024;
}

#define BUSY 16		/* the pairs that have traffic, for any N, so that the caches hold as much in each case */

/* Sends over some of the pairs, one after the other. Returns the nanoseconds per completion. */
static double transfer_ns(DAT_EP_HANDLE *active, DAT_EP_HANDLE *passive, int n, int rounds)
{
	DAT_LMR_TRIPLET from = { .lmr_context = it.context,
				 .virtual_address = (DAT_VADDR)(uintptr_t)it.memory,
				 .segment_length = 8 };
	DAT_LMR_TRIPLET to = from;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	double begin = now_ns();

	to.virtual_address += 64;
	for (int i = 0; i < rounds; i++) {
		int at = (int)((long)(i % BUSY) * n / BUSY);

		pair_ok(dat_ep_post_recv(passive[at], 1, &to, cookie, 0), "dat_ep_post_recv");
		pair_ok(dat_ep_post_send(active[at], 1, &from, cookie, 0), "dat_ep_post_send");
		pair_take(it.recv);
		pair_take(it.request);
	}
	return (now_ns() - begin) / rounds / 2;
}

static double empty_ns(int rounds)
{
	double begin = now_ns();
	DAT_EVENT event;

	for (int i = 0; i < rounds; i++)
		dat_evd_dequeue(it.recv, &event);
	return (now_ns() - begin) / rounds;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0, rounds = argc > 3 ? atoi(argv[3]) : 20000;
	double best = 1e18, empty = 1e18, before, after, ns;
	DAT_EP_HANDLE *active, *passive;

	if (n < 1 || rounds < 1) {
		fprintf(stderr, "usage: endpoints IA N [ROUNDS]\n");
		return 2;
	}
	active = calloc((size_t)n, sizeof(*active));
	passive = calloc((size_t)n, sizeof(*passive));
	pair_open(argv[1], n, 4096);
	pair_connect(&active[0], &passive[0], 4096, 2);
	transfer_ns(active, passive, 1, rounds);	/* so that everything which one pair needs is mapped */
	before = memory_bytes();
	for (int i = 1; i < n; i++)
		pair_connect(&active[i], &passive[i], 4096, 2);
	after = memory_bytes();
	for (int sample = 0; sample < SAMPLES; sample++) {
		ns = transfer_ns(active, passive, n, rounds);
		best = ns < best ? ns : best;
		ns = empty_ns(rounds);
		empty = ns < empty ? ns : empty;
	}
	printf("%.1f %.1f %.0f\n", best, empty, n > 1 ? (after - before) / (n - 1) / 2 : 0);
	pair_close();
	free(active);
	free(passive);
	return 0;
}
