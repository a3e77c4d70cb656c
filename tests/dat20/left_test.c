/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event whose endpoint has been freed, over a wrapper: another adapter's endpoint may have its memory by then, and must not
 * become one of the wrapper's. Usage: left_test WRAPPED PLAIN, two lines of one provider; or left_test FAILING, a line of the fault
 * wrapper whose attempts fail, which they do once, also if the endpoint is freed then. wrapped.sh runs it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/report20.h"

#define SECONDS 10000000
#define MANY	8192 /* memory is used again only when there is no fresh one */

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, cr;
};

static void opens(struct side *side, const char *name)
{
	side->async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &side->async, &side->ia));
	SUCCEEDS(dat_pz_create(side->ia, &side->pz));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &side->dto));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &side->conn));
	SUCCEEDS(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &side->cr));
}

static DAT_EP_HANDLE endpoint(struct side *side)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	SUCCEEDS(dat_ep_create(side->ia, side->pz, side->dto, side->dto, side->conn, NULL, &ep));
	return ep;
}

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, &event, &more));
	return event;
}

static void connects(struct side *side, DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	SUCCEEDS(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	SUCCEEDS(dat_psp_create_any(side->ia, &qual, side->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_ep_connect(active, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	SUCCEEDS(dat_cr_accept(next(side->cr).event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
}

/* Returns the handle of an endpoint that has been freed while it was connected. */
static DAT_EP_HANDLE frees_one(struct side *side)
{
	DAT_EP_HANDLE active = endpoint(side), passive = endpoint(side);

	connects(side, active, passive);
	for (int i = 0; i < 2; i++)
		expect(next(side->conn).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "there is no connection");
	SUCCEEDS(dat_ep_free(passive));
	return passive;
}

static void awaits_connected(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	for (int i = 0; !differs && i < SECONDS / 1000 && state != DAT_EP_STATE_CONNECTED; i++) {
		usleep(1000);
		SUCCEEDS(dat_ep_get_status(ep, &state, NULL, NULL));
	}
}

/* A program that never takes the events of endpoints that it frees has as many of them as the EVD is long. */
static void keeps_no_more_than_its_length(struct side *side)
{
	DAT_EVD_PARAM param = { 0 };
	DAT_EVENT event;
	int n = 0;

	SUCCEEDS(dat_evd_query(side->conn, DAT_EVD_FIELD_ALL, &param));
	for (int i = 0; !differs && i < param.evd_qlen; i++) {
		DAT_EP_HANDLE active = endpoint(side), passive = endpoint(side);

		connects(side, active, passive);
		awaits_connected(active);
		awaits_connected(passive);
		SUCCEEDS(dat_ep_free(active));
		SUCCEEDS(dat_ep_free(passive));
	}
	while (dat_evd_dequeue(side->conn, &event) == DAT_SUCCESS)
		n++;
	expect(n == param.evd_qlen, "there are not as many events as the EVD is long");
	report("events of freed endpoints do not pile up");
}

/* The wrapper ends the connection beneath, and the event of that end stays in the EVD when the endpoint is freed. */
static int attempt_fails_once(const char *name)
{
	struct side side;
	DAT_EP_HANDLE active, passive;
	DAT_EVENT event;
	int of_active = 0;

	opens(&side, name);
	active = endpoint(&side);
	passive = endpoint(&side);
	connects(&side, active, passive);
	do {
		event = next(side.conn);
		of_active += event.event_data.connect_event_data.ep_handle == active;
	} while (!differs && event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE);
	SUCCEEDS(dat_ep_free(active));
	/* the passive side's events are two, and its end is the last of all */
	while (!differs && !(event.event_data.connect_event_data.ep_handle == passive &&
			     event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)) {
		event = next(side.conn);
		of_active += event.event_data.connect_event_data.ep_handle == active;
	}
	while (dat_evd_wait(side.conn, SECONDS / 100, 1, &event, &(DAT_COUNT){ 0 }) == DAT_SUCCESS)
		of_active += event.event_data.connect_event_data.ep_handle == active;
	expect(of_active == 1, "the attempt has another outcome after its endpoint is freed");
	SUCCEEDS(dat_ia_close(side.ia, DAT_CLOSE_ABRUPT_FLAG));
	report("an attempt that fails has one outcome");
	printf("1..%d\n", tests);
	return failed != 0;
}

int main(int argc, char **argv)
{
	static DAT_EP_HANDLE others[MANY];
	DAT_EP_HANDLE freed;
	struct side wrapped, plain;
	DAT_EP_STATE state;
	int n = 0;

	if (argc == 2)
		return attempt_fails_once(argv[1]);
	if (argc != 3)
		return 99;
	opens(&wrapped, argv[1]);
	opens(&plain, argv[2]);
	freed = frees_one(&wrapped);
	while (!differs && n < MANY && !(n && others[n - 1] == freed))
		others[n++] = endpoint(&plain);
	expect(n && others[n - 1] == freed, "no endpoint has the memory of the one that was freed");
	report("a connection, and an endpoint of another adapter in the memory of one that was freed");
	for (int i = 0; i < 2; i++)
		expect(next(wrapped.conn).event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "the end is not told");
	report("the end of a freed endpoint is told");
	SUCCEEDS(dat_ia_close(wrapped.ia, DAT_CLOSE_ABRUPT_FLAG));
	SUCCEEDS(dat_ep_get_status(others[n - 1], &state, NULL, NULL));
	SUCCEEDS(dat_ia_close(plain.ia, DAT_CLOSE_ABRUPT_FLAG));
	report("an endpoint in its memory is not affected");
	opens(&plain, argv[2]);
	keeps_no_more_than_its_length(&plain);
	SUCCEEDS(dat_ia_close(plain.ia, DAT_CLOSE_ABRUPT_FLAG));
	printf("1..%d\n", tests);
	return failed != 0;
}
