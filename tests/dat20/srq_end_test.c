/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The asynchronous error by which the end of an endpoint with an SRQ is reported in DAT 2.0. Programs wait for it before they free
 * such an endpoint, so each end has one, however many endpoints end before the program takes an event; and none is left of an
 * endpoint that has been reset or freed. Both ends of each connection are in this process, and the passive one has the SRQ. The
 * adapter is that of OPENDAT_TEST_IA, or else soft0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"

enum { SECONDS = 20000000, PAIRS = 100, TIMES = 100 };

struct pair {
	DAT_EP_HANDLE active, passive;
	int told; /* how often the end of the passive one was reported as an asynchronous error */
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, requests, conn, dto;
static DAT_PZ_HANDLE pz;
static DAT_SRQ_HANDLE srq;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static DAT_IA_ATTR attr;

static int opens(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };

	async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia));
	if (differs)
		return 0;
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	SUCCEEDS(dat_pz_create(ia, &pz));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	SUCCEEDS(dat_evd_create(ia, 4 * PAIRS, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	SUCCEEDS(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
	SUCCEEDS(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_srq_create(ia, pz, &srq_attr, &srq));
	return !differs;
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	if (!differs) {
		SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, &event, &more));
		expect(event.event_number == wanted, "another event comes");
	}
	return event;
}

static void none_is_left(const char *when)
{
	DAT_EVENT event;

	returns(dat_evd_dequeue(async, &event), ERROR(DAT_QUEUE_EMPTY, 0), when);
}

static void make(struct pair *pair)
{
	DAT_EP_ATTR how = { .service_type = DAT_SERVICE_TYPE_RC,
			    .max_request_dtos = 1,
			    .max_recv_iov = 1,
			    .max_request_iov = 1 };

	memset(pair, 0, sizeof(*pair));
	SUCCEEDS(dat_ep_create_with_srq(ia, pz, dto, dto, conn, srq, &how, &pair->passive));
	how.max_recv_dtos = 1;
	SUCCEEDS(dat_ep_create(ia, pz, dto, dto, conn, &how, &pair->active));
}

static void connects(const struct pair *pair)
{
	if (differs)
		return;
	SUCCEEDS(dat_ep_connect(pair->active, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	SUCCEEDS(dat_cr_accept(next(requests, DAT_CONNECTION_REQUEST_EVENT).event_data.cr_arrival_event_data.cr_handle,
			       pair->passive, 0, NULL));
	for (int i = 0; i < 2; i++)
		next(conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* Ends the connections, and waits until the program is told so, by the events about connections. */
static void end(const struct pair *pairs, int n)
{
	if (differs)
		return;
	for (int i = 0; i < n; i++)
		SUCCEEDS(dat_ep_disconnect(pairs[i].active, DAT_CLOSE_ABRUPT_FLAG));
	for (int i = 0; i < 2 * n; i++)
		next(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* Takes the asynchronous error about an end, which is that of one of the pairs. */
static void take_end(struct pair *pairs, int n)
{
	DAT_EVENT event = next(async, DAT_ASYNC_ERROR_EP_BROKEN);
	int i;

	if (differs)
		return;
	for (i = 0; i < n && pairs[i].passive != event.event_data.asynch_error_event_data.dat_handle;)
		i++;
	expect(i < n, "the event names another endpoint");
	expect(event.event_data.asynch_error_event_data.reason == DAT_EP_TRANSFER_TO_ERROR, "the event has another reason");
	expect(event.evd_handle == async, "the event names another EVD");
	if (i < n)
		pairs[i].told++;
}

static void reset(const struct pair *pair)
{
	SUCCEEDS(dat_ep_reset(pair->active));
	SUCCEEDS(dat_ep_reset(pair->passive));
}

static void free_both(const struct pair *pair)
{
	SUCCEEDS(dat_ep_free(pair->active));
	SUCCEEDS(dat_ep_free(pair->passive));
}

/* More of them end than the asynchronous EVD is long. */
static void every_end_is_told(void)
{
	static struct pair pairs[PAIRS];

	for (int i = 0; i < PAIRS && !differs; i++) {
		make(&pairs[i]);
		connects(&pairs[i]);
	}
	none_is_left("the asynchronous EVD while all are connected");
	end(pairs, PAIRS);
	for (int i = 0; i < PAIRS && !differs; i++)
		take_end(pairs, PAIRS);
	for (int i = 0; i < PAIRS && !differs; i++)
		expect(pairs[i].told == 1, "an end is told twice, and another one never");
	none_is_left("the asynchronous EVD after all ends");
	for (int i = 0; i < PAIRS; i++)
		free_both(&pairs[i]);
	report("each end is told, though the program takes no event before the last one");
}

/* The program takes no event of all these connections, which one pair has one after the other. */
static void one_end_at_a_time(void)
{
	struct pair pair;

	make(&pair);
	for (int i = 0; i < TIMES && !differs; i++) {
		if (i)
			reset(&pair);
		connects(&pair);
		end(&pair, 1);
	}
	take_end(&pair, 1);
	none_is_left("the asynchronous EVD after the last end");
	free_both(&pair);
	report("an endpoint that is connected again and again has one event at most");
}

static void reset_removes_it(void)
{
	struct pair pair;

	make(&pair);
	connects(&pair);
	end(&pair, 1);
	reset(&pair);
	none_is_left("the asynchronous EVD after the reset");
	connects(&pair);
	none_is_left("the asynchronous EVD after the next connection has begun");
	end(&pair, 1);
	take_end(&pair, 1);
	free_both(&pair);
	report("no end is told of an endpoint that has been reset, until its next connection ends");
}

static void free_removes_it(void)
{
	struct pair pairs[3];

	for (int i = 0; i < 3; i++) {
		make(&pairs[i]);
		connects(&pairs[i]);
	}
	end(pairs, 3);
	free_both(&pairs[1]);
	for (int i = 0; i < 2; i++)
		take_end(pairs, 3);
	expect(pairs[0].told == 1 && pairs[1].told == 0 && pairs[2].told == 1, "the end of the freed endpoint is told");
	none_is_left("the asynchronous EVD after the ends of the others");
	free_both(&pairs[0]);
	free_both(&pairs[2]);
	report("no end is told of an endpoint that has been freed, and that of each other one is");
}

static void closes(void)
{
	SUCCEEDS(dat_srq_free(srq));
	SUCCEEDS(dat_psp_free(psp));
	SUCCEEDS(dat_evd_free(dto));
	SUCCEEDS(dat_evd_free(conn));
	SUCCEEDS(dat_evd_free(requests));
	SUCCEEDS(dat_pz_free(pz));
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	report("nothing is left behind");
}

int main(void)
{
	if (!adapter_choose())
		return 99;
	if (!opens()) {
		report("the adapter opens");
		return 1;
	}
	adapter_chosen_end();
	every_end_is_told();
	one_end_at_a_time();
	reset_removes_it();
	free_removes_it();
	closes();
	printf("1..%d\n", tests);
	return failed != 0;
}
