/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes that are connected by programs of DAT 2.0, and talk over a socket beside that: the parent orders, and the child
 * does it. Each has these objects.
 */
#ifndef DAT20_PAIR20_H
#define DAT20_PAIR20_H

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"

enum { SECONDS = 20000000, RECEIVES = 8 };

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, requests; /* `dto` is of all operations */
	DAT_PSP_HANDLE psp;
} my;

static int talk; /* the socket to the other process, which keeps the bounds of messages */

static inline void put(const void *what, size_t size)
{
	if (write(talk, what, size) != (ssize_t)size)
		exit(98);
}

static inline void get(void *what, size_t size)
{
	if (read(talk, what, size) != (ssize_t)size)
		exit(97);
}

static inline DAT_DTO_COOKIE cookie_of(DAT_UINT64 value)
{
	return (DAT_DTO_COOKIE){ .as_64 = value };
}

static inline void wait_for(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_COUNT more;

	memset(event, 0xa5, sizeof(*event));
	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, event, &more));
}

/* Opens the adapter and makes what a process needs besides memory and endpoints. `operations`: what completes on my.dto. */
static inline void pair_open(int operations)
{
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &my.async, &my.ia));
	if (differs)
		exit(96);
	SUCCEEDS(dat_pz_create(my.ia, &my.pz));
	SUCCEEDS(dat_evd_create(my.ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)operations, &my.dto));
	SUCCEEDS(dat_evd_create(my.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &my.conn));
	SUCCEEDS(dat_evd_create(my.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &my.requests));
}

/* Makes an endpoint for messages of up to `size` bytes, with receives of its own unless there is an SRQ. */
static inline DAT_EP_HANDLE pair_endpoint(DAT_PZ_HANDLE pz, DAT_SRQ_HANDLE srq, size_t size)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = size,
			     .max_rdma_size = size,
			     .max_recv_dtos = srq ? 0 : RECEIVES,
			     .max_request_dtos = 16,
			     .max_recv_iov = 1,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 4,
			     .max_rdma_read_out = 4,
			     .max_rdma_read_iov = 1,
			     .max_rdma_write_iov = 2 };

	if (srq)
		SUCCEEDS(dat_ep_create_with_srq(my.ia, pz, my.dto, my.dto, my.conn, srq, &attr, &ep));
	else
		SUCCEEDS(dat_ep_create(my.ia, pz, my.dto, my.dto, my.conn, &attr, &ep));
	return ep;
}

static inline void pair_established(void)
{
	DAT_EVENT event;

	wait_for(my.conn, &event);
	expect(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "there is no connection");
}

/* The parent has been told by put() that this process waits for its request. */
static inline void pair_accept(DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	wait_for(my.requests, &event);
	SUCCEEDS(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	pair_established();
}

static inline void pair_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	SUCCEEDS(dat_ia_query(my.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	SUCCEEDS(dat_ep_connect(ep, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	pair_established();
}

/* Frees the endpoint, and drops its events. */
static inline void pair_end(DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	SUCCEEDS(dat_ep_free(ep));
	while (dat_evd_dequeue(my.dto, &event) == DAT_SUCCESS || dat_evd_dequeue(my.conn, &event) == DAT_SUCCESS)
		;
}

/* The child's last order. */
static inline void pair_leave(void)
{
	SUCCEEDS(dat_ia_close(my.ia, DAT_CLOSE_ABRUPT_FLAG));
	exit(differs);
}

/* Closes the adapter after the child has been given its last order, and reports. Returns the exit status of the program. */
static inline int pair_over(pid_t child)
{
	int status = 1;

	SUCCEEDS(dat_ia_close(my.ia, DAT_CLOSE_ABRUPT_FLAG));
	waitpid(child, &status, 0);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child has found differences");
	report("both sides close their adapters");
	printf("1..%d\n", tests);
	return failed != 0;
}

#endif
