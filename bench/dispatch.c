/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost that libdat adds to a call of its provider: makes the same call N times, through libdat or
 * directly through the provider's table.
 *
 *	dispatch IA dequeue|post libdat|direct N
 *
 * The call dequeues from an empty EVD, or posts a receive that is refused because of its arguments.
 * To count the instructions of one call, run this twice under `valgrind --tool=callgrind`, with two
 * values of N: the difference of the two counts, divided by the difference of the two N, is the
 * number. It prints nothing.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

static struct {
	const DAT_PROVIDER *provider;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
} it;

static void dequeue(bool direct, long n)
{
	DAT_EVENT event;

	for (long i = 0; i < n; i++) {
		if (direct)
			it.provider->evd_dequeue_func(it.evd, &event);
		else
			dat_evd_dequeue(it.evd, &event);
	}
}

static void post(bool direct, long n)
{
	DAT_LMR_TRIPLET segment = { .segment_length = 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };

	for (long i = 0; i < n; i++) {
		if (direct)
			it.provider->ep_post_recv_func(it.ep, -1, &segment, cookie, 0);
		else
			dat_ep_post_recv(it.ep, -1, &segment, cookie, 0);
	}
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	bool direct;

	if (argc != 5) {
		fprintf(stderr, "usage: dispatch IA dequeue|post libdat|direct N\n");
		return 2;
	}
	direct = !strcmp(argv[3], "direct");
	if (dat_ia_open(argv[1], 8, &async, &ia) != DAT_SUCCESS ||
	    dat_pz_create(ia, &pz) != DAT_SUCCESS ||
	    dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &it.evd) != DAT_SUCCESS ||
	    dat_ep_create(ia, pz, it.evd, it.evd, DAT_HANDLE_NULL, NULL, &it.ep) != DAT_SUCCESS)
		return 1;
	it.provider = *(const DAT_PROVIDER **)it.evd;
	(strcmp(argv[2], "post") ? dequeue : post)(direct, atol(argv[4]));
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}
