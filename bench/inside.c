/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream of messages between two endpoints of one process, both served by one thread. The bandwidth beside that of
 * `bare memcpy` shows what a message costs besides the copy of its data.
 *
 *	inside IA SIZE BUFFERS
 *
 * prints MB/s (10^6), the best of several samples. Each side uses BUFFERS buffers of SIZE bytes, one after the other.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/pair.h"

#define SAMPLES 10
#define BYTES	((size_t)256 << 20) /* in each sample */

static DAT_LMR_TRIPLET part(size_t index, size_t size)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = it.context, .segment_length = size,
		.virtual_address = (DAT_VADDR)(uintptr_t)it.memory + index * size,
	};
}

/* Message i goes from buffer (i modulo n) to buffer n + (i modulo n). */
static double stream_mbps(DAT_EP_HANDLE from, DAT_EP_HANDLE to, size_t size, size_t n)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	size_t iters = BYTES / size;
	double begin = now_ns();

	for (size_t i = 0; i < iters; i++) {
		DAT_LMR_TRIPLET out = part(i % n, size), in = part(n + i % n, size);

		pair_ok(dat_ep_post_recv(to, 1, &in, cookie, 0), "dat_ep_post_recv");
		pair_ok(dat_ep_post_send(from, 1, &out, cookie, 0), "dat_ep_post_send");
		pair_take(it.recv);
		pair_take(it.request);
	}
	return (double)(iters * size) / (now_ns() - begin) * 1e3;
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? (size_t)atol(argv[2]) : 0;
	size_t n = argc > 3 ? (size_t)atol(argv[3]) : 0; /* the number of buffers of each side */
	DAT_EP_HANDLE active, passive;
	double best = 0;

	if (size < 1 || size > BYTES || n < 1) {
		fprintf(stderr, "usage: inside IA SIZE BUFFERS\n");
		return 2;
	}
	pair_open(argv[1], 1, 2 * n * size);
	pair_connect(&active, &passive, size, 2);
	for (int sample = 0; sample < SAMPLES; sample++) {
		double mbps = stream_mbps(active, passive, size, n);

		best = mbps > best ? mbps : best;
	}
	printf("%.1f\n", best);
	pair_close();
	return 0;
}
