/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tutorial.h: what the steps of opendat-tutorial(7) share. Each function is explained in the step
 * that introduces it: must() in step 1, open_side() in step 2, establish() in step 3, segment() and
 * complete() in step 4.
 */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#define _POSIX_C_SOURCE 200112L		/* for getaddrinfo(), where the compiler is strict about C11 */

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#define PORT 4711			/* the connection qualifier that the server listens at */
#define PATIENCE 10000000u		/* the longest wait for an event, in microseconds */
#define SIZE 4096			/* bytes of each side's buffer */

/* ------------------------------------------------------------------------ step 1: errors */

/* Ends the program with the names of the error unless the call succeeded. */
static inline void must(DAT_RETURN ret, const char *call)
{
	const char *type = "an unknown error", *detail = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &detail);
	fprintf(stderr, "%s: %s %s\n", call, type, detail);
	exit(1);
}

#define MUST(call) must((call), #call)

/* ------------------------------------------------- step 2: the objects of one side */

struct side {
	DAT_IA_HANDLE ia;		/* the adapter */
	DAT_PZ_HANDLE pz;		/* endpoints reach only the memory of their protection zone */
	DAT_EVD_HANDLE async_evd;	/* receives errors of the adapter itself */
	DAT_EVD_HANDLE cr_evd;		/* receives connection requests */
	DAT_EVD_HANDLE conn_evd;	/* receives the beginning and the end of the connection */
	DAT_EVD_HANDLE recv_evd;	/* receives completions of receives */
	DAT_EVD_HANDLE request_evd;	/* receives completions of sends and of RDMA */
	DAT_EP_HANDLE ep;		/* this end of the connection */
	DAT_PSP_HANDLE psp;		/* where the server listens, from step 3 on */
	DAT_LMR_HANDLE lmr;		/* the registration of `buffer` */
	DAT_LMR_CONTEXT local_key;	/* names `buffer` in requests of this side */
	DAT_RMR_CONTEXT remote_key;	/* names `buffer` in RDMA requests of the peer */
	unsigned char buffer[SIZE];
};

/* The side is all zeros before. */
static inline void open_side(struct side *s, const char *adapter)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN length;

	MUST(dat_ia_open((DAT_NAME_PTR)adapter, 8, &s->async_evd, &s->ia));
	MUST(dat_pz_create(s->ia, &s->pz));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->cr_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &s->conn_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->recv_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->request_evd));
	MUST(dat_ep_create(s->ia, s->pz, s->recv_evd, s->request_evd, s->conn_evd, NULL, &s->ep));
	region.for_va = s->buffer;
	MUST(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, s->pz, DAT_MEM_PRIV_ALL_FLAG,
			    &s->lmr, &s->local_key, &s->remote_key, &length, &address));
}

/* Objects are freed before those that they were made from, and the adapter is closed last. */
static inline void close_side(struct side *s)
{
	if (s->psp != DAT_HANDLE_NULL)
		MUST(dat_psp_free(s->psp));
	MUST(dat_ep_free(s->ep));
	MUST(dat_lmr_free(s->lmr));
	MUST(dat_evd_free(s->request_evd));
	MUST(dat_evd_free(s->recv_evd));
	MUST(dat_evd_free(s->conn_evd));
	MUST(dat_evd_free(s->cr_evd));
	MUST(dat_pz_free(s->pz));
	MUST(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ------------------------------------------------------------------- step 3: events, connections */

/* Waits for the next event of the EVD, which has to be the one that is expected. */
static inline DAT_EVENT expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, const char *what)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), what);
	if (event.event_number != expected) {
		fprintf(stderr, "%s: event 0x%x in place of 0x%x\n", what, event.event_number, expected);
		exit(1);
	}
	return event;
}

/* Connects to PORT of `host`, or of this adapter itself if `host` is NULL. */
static inline void connect_to(struct side *s, const char *host)
{
	struct addrinfo hints, *found = NULL;
	DAT_IA_ADDRESS_PTR address;
	DAT_IA_ATTR attr;

	MUST(dat_ia_query(s->ia, &s->async_evd, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			  DAT_PROVIDER_FIELD_NONE, NULL));
	address = attr.ia_address_ptr;
	if (host != NULL) {
		memset(&hints, 0, sizeof(hints));
		hints.ai_family = AF_INET;
		if (getaddrinfo(host, NULL, &hints, &found) != 0) {
			fprintf(stderr, "%s: the host is not known\n", host);
			exit(1);
		}
		address = found->ai_addr;
	}
	MUST(dat_ep_connect(s->ep, address, PORT, PATIENCE, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	if (found != NULL)
		freeaddrinfo(found);
}

/* The server's half: listens, and accepts the first request. A second call finds the listener there. */
static inline void accept_client(struct side *s)
{
	DAT_EVENT event;

	if (s->psp == DAT_HANDLE_NULL) {
		MUST(dat_psp_create(s->ia, PORT, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp));
		printf("listening at %d\n", PORT);
		fflush(stdout);
	}
	event = expect(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT, "waiting for a request");
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL));
}

/* Returns once the two endpoints are connected. */
static inline void establish(struct side *s, int server, const char *host)
{
	if (server)
		accept_client(s);
	else
		connect_to(s, host);
	expect(s->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "waiting for the connection");
}

/* ------------------------------------------------------------------- step 4: segments, completions */

/* A segment is a piece of registered memory: the key of its LMR, an address and a length. */
static inline DAT_LMR_TRIPLET segment(struct side *s, size_t offset, size_t length)
{
	DAT_LMR_TRIPLET segment;

	memset(&segment, 0, sizeof(segment));
	segment.lmr_context = s->local_key;
	segment.virtual_address = (DAT_VADDR)(uintptr_t)(s->buffer + offset);
	segment.segment_length = length;
	return segment;
}

/* Waits for the completion of a request, and returns how many bytes it moved. */
static inline size_t complete(DAT_EVD_HANDLE evd, const char *what)
{
	DAT_EVENT event = expect(evd, DAT_DTO_COMPLETION_EVENT, what);
	DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;

	if (done->status != DAT_DTO_SUCCESS) {
		fprintf(stderr, "%s: status %d\n", what, done->status);
		exit(1);
	}
	return (size_t)done->transfered_length;
}

/* ------------------------------------------------------------------------ the command line */

/* ADAPTER server | ADAPTER client [HOST]. Returns whether this process is the server. */
static inline int is_server(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "server") == 0)
		return 1;
	if ((argc == 3 || argc == 4) && strcmp(argv[2], "client") == 0)
		return 0;
	fprintf(stderr, "usage: %s ADAPTER server | %s ADAPTER client [HOST]\n", argv[0], argv[0]);
	exit(2);
}

#endif
