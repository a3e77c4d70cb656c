/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs of endpoints in one process: pair.h. */
#include "bench/pair.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_US 60000000

/* What differs between the APIs. */
#ifdef BENCH_API_20
#define ADDRESSES      DAT_VA_TYPE_VA,
#define REMOTE_ADDRESS virtual_address
#else
#define ADDRESSES
#define REMOTE_ADDRESS target_address
#endif

struct pair_ia it;

void pair_ok(DAT_RETURN ret, const char *what)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "bench: %s: %s %s\n", what, major, minor);
	exit(1);
}

double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void evd(int length, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *out)
{
	pair_ok(dat_evd_create(it.ia, length, DAT_HANDLE_NULL, flags, out), "dat_evd_create");
}

void pair_open(const char *name, int n, size_t size)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_VLEN length;
	DAT_VADDR address;

	pair_ok(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &it.async, &it.ia), "dat_ia_open");
	pair_ok(dat_ia_query(it.ia, &it.async, DAT_IA_FIELD_ALL, &it.attr, 0, NULL), "dat_ia_query");
	pair_ok(dat_pz_create(it.ia, &it.pz), "dat_pz_create");
	evd(2 * n + 8, DAT_EVD_CONNECTION_FLAG, &it.conn);
	evd(n + 8, DAT_EVD_CR_FLAG, &it.cr);
	evd(4 * n + 64, DAT_EVD_DTO_FLAG, &it.recv);
	evd(4 * n + 64, DAT_EVD_DTO_FLAG, &it.request);
	pair_ok(dat_psp_create_any(it.ia, &it.qual, it.cr, DAT_PSP_CONSUMER_FLAG, &it.psp),
		"dat_psp_create_any");
	size = (size + 4095) & ~(size_t)4095;
	it.memory = aligned_alloc(4096, size);
	if (!it.memory)
		pair_ok(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES, "memory");
	memset(it.memory, 1, size);
	region.for_va = it.memory;
	pair_ok(dat_lmr_create(it.ia, DAT_MEM_TYPE_VIRTUAL, region, size, it.pz,
			       DAT_MEM_PRIV_ALL_FLAG, ADDRESSES &lmr, &it.context, &it.target, &length,
			       &address),
		"dat_lmr_create");
}

DAT_LMR_TRIPLET pair_segment(size_t offset, size_t size)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = it.context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)it.memory + offset,
				  .segment_length = size };
}

DAT_RMR_TRIPLET pair_target(size_t offset, size_t size)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = it.target,
				  .REMOTE_ADDRESS = (DAT_VADDR)(uintptr_t)it.memory + offset,
				  .segment_length = size };
}

void pair_close(void)
{
	pair_ok(dat_ia_close(it.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(it.memory);
}

static DAT_EVENT next(DAT_EVD_HANDLE from, const char *what)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_ok(dat_evd_wait(from, PATIENCE_US, 1, &event, &more), what);
	return event;
}

void pair_connect(DAT_EP_HANDLE *active, DAT_EP_HANDLE *passive, size_t size, int depth)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC, .max_message_size = size,
		.max_rdma_size = size, .qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = depth, .max_request_dtos = depth, .max_recv_iov = 1,
		.max_request_iov = 1,
	};
	DAT_EVENT event;

	pair_ok(dat_ep_create(it.ia, it.pz, it.recv, it.request, it.conn, &attr, active),
		"dat_ep_create");
	pair_ok(dat_ep_create(it.ia, it.pz, it.recv, it.request, it.conn, &attr, passive),
		"dat_ep_create");
	pair_ok(dat_ep_connect(*active, it.attr.ia_address_ptr, it.qual, PATIENCE_US, 0, NULL,
			       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
	event = next(it.cr, "a connection request");
	pair_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, *passive, 0, NULL),
		"dat_cr_accept");
	for (int side = 0; side < 2; side++)
		if (next(it.conn, "a connection").event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			pair_ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "a connection");
}

void pair_take(DAT_EVD_HANDLE from)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(from, &event) != DAT_SUCCESS)
		;
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		pair_ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "a transfer");
}
