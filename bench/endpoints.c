/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What many connected endpoints cost: N pairs in one process, whose completions all go to two EVDs,
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
#include <time.h>

#include <dat/udat.h>

#define SAMPLES 10
#define PATIENCE_US 60000000

static struct {
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, cr, recv, request;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_LMR_CONTEXT context;
	char *memory;
} it;

static void ok(DAT_RETURN ret, const char *what)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "endpoints: %s: %s %s\n", what, major, minor);
	exit(1);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Memory of this process that is its own, and its share of what it shares. */
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

static void evd(DAT_COUNT length, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *out)
{
	ok(dat_evd_create(it.ia, length, DAT_HANDLE_NULL, flags, out), "dat_evd_create");
}

static void open_ia(const char *name, int n)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN length;
	DAT_VADDR address;

	ok(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &it.async, &it.ia), "dat_ia_open");
	ok(dat_ia_query(it.ia, &it.async, DAT_IA_FIELD_ALL, &it.attr, 0, NULL), "dat_ia_query");
	ok(dat_pz_create(it.ia, &it.pz), "dat_pz_create");
	evd(2 * n + 8, DAT_EVD_CONNECTION_FLAG, &it.conn);
	evd(n + 8, DAT_EVD_CR_FLAG, &it.cr);
	evd(4 * n + 8, DAT_EVD_DTO_FLAG, &it.recv);
	evd(4 * n + 8, DAT_EVD_DTO_FLAG, &it.request);
	ok(dat_psp_create_any(it.ia, &it.qual, it.cr, DAT_PSP_CONSUMER_FLAG, &it.psp),
	   "dat_psp_create_any");
	it.memory = calloc(1, 4096);
	region.for_va = it.memory;
	ok(dat_lmr_create(it.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, it.pz, DAT_MEM_PRIV_ALL_FLAG,
			  &lmr, &it.context, &rmr, &length, &address), "dat_lmr_create");
}

static DAT_EVENT next(DAT_EVD_HANDLE from, const char *what)
{
	DAT_COUNT more;
	DAT_EVENT event;

	ok(dat_evd_wait(from, PATIENCE_US, 1, &event, &more), what);
	return event;
}

static void connect_pair(DAT_EP_HANDLE *active, DAT_EP_HANDLE *passive)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = 4096,
		.max_rdma_size = 4096, .qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = 2, .max_request_dtos = 2, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EVENT event;

	ok(dat_ep_create(it.ia, it.pz, it.recv, it.request, it.conn, &attr, active),
	   "dat_ep_create");
	ok(dat_ep_create(it.ia, it.pz, it.recv, it.request, it.conn, &attr, passive),
	   "dat_ep_create");
	ok(dat_ep_connect(*active, it.attr.ia_address_ptr, it.qual, PATIENCE_US, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	event = next(it.cr, "a connection request");
	ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, *passive, 0, NULL),
	   "dat_cr_accept");
	for (int side = 0; side < 2; side++)
		if (next(it.conn, "a connection").event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "a connection");
}

static void take(DAT_EVD_HANDLE from)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(from, &event) != DAT_SUCCESS)
		;
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "a transfer");
}

#define BUSY 16		/* pairs that have traffic, whatever there are: what is in the caches is alike */

/* Some of the pairs in turn. Returns the nanoseconds a completion took. */
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

		ok(dat_ep_post_recv(passive[at], 1, &to, cookie, 0), "dat_ep_post_recv");
		ok(dat_ep_post_send(active[at], 1, &from, cookie, 0), "dat_ep_post_send");
		take(it.recv);
		take(it.request);
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
	open_ia(argv[1], n);
	connect_pair(&active[0], &passive[0]);
	transfer_ns(active, passive, 1, rounds);	/* touches all that one pair needs */
	before = memory_bytes();
	for (int i = 1; i < n; i++)
		connect_pair(&active[i], &passive[i]);
	after = memory_bytes();
	for (int sample = 0; sample < SAMPLES; sample++) {
		ns = transfer_ns(active, passive, n, rounds);
		best = ns < best ? ns : best;
		ns = empty_ns(rounds);
		empty = ns < empty ? ns : empty;
	}
	printf("%.1f %.1f %.0f\n", best, empty, n > 1 ? (after - before) / (n - 1) / 2 : 0);
	ok(dat_ia_close(it.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(active);
	free(passive);
	free(it.memory);
	return 0;
}
