/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections that the peer ends as soon as it has them, as dtestcm of dapl2-utils does: the side that has accepted them hears
 * that each was established, and then that it is over; and all of them were established before the first is over, because the
 * peer has waited for that. The peer closes its adapter as well, so its hang-up and its messages come at once.
 *
 * Then connections that the peer makes in turn, each when the one before is established: the requests and the connections come in
 * that order if they have one EVD. And messages that are sent at once, which the peer gets from endpoints that are connected.
 * The adapter is that of OPENDAT_TEST_IA, or else soft0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/adapter20.h"

enum { CONNECTIONS = 40, ROUNDS = 100, SECONDS = 20000000 };

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, requests, dto, conn;
static DAT_EP_HANDLE eps[CONNECTIONS];
static int talk, failed, tests; /* failed: the present test */
static char memory[CONNECTIONS];
static DAT_LMR_CONTEXT context;

enum way { AT_ONCE, IN_TURN, WITH_MESSAGES };

/* What the peer is told. */
struct order {
	DAT_CONN_QUAL qual;
	enum way way;
};

static void must(DAT_RETURN got, const char *what)
{
	if (got == DAT_SUCCESS)
		return;
	printf("# %s returned 0x%08x\nnot ok 1 - the calls succeed\n", what, got);
	exit(1);
}

#define MUST(call) must(call, #call)

static void open_side(void)
{
	async = DAT_HANDLE_NULL;
	MUST(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia));
	MUST(dat_pz_create(ia, &pz));
	MUST(dat_evd_create(ia, CONNECTIONS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	MUST(dat_evd_create(ia, 2 * CONNECTIONS, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	MUST(dat_evd_create(ia, 2 * CONNECTIONS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
}

static DAT_LMR_TRIPLET byte_of(int i)
{
	DAT_VADDR at = (DAT_VADDR)(uintptr_t)&memory[i];

	return (DAT_LMR_TRIPLET){ .virtual_address = at, .segment_length = 1, .lmr_context = context };
}

static void register_memory(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;

	MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			    DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, &lmr, &context, NULL,
			    NULL, NULL));
}

static void make_eps(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		MUST(dat_ep_create(ia, pz, dto, dto, conn, NULL, &eps[i]));
}

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(evd, SECONDS, 1, &event, &more));
	return event;
}

static void peer_connects(int i, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	MUST(dat_ep_connect(eps[i], attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void peer_is_connected(void)
{
	if (next_event(conn).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		exit(2);
}

static void peer_posts_receives(void)
{
	register_memory();
	for (int i = 0; i < CONNECTIONS; i++) {
		DAT_LMR_TRIPLET sink = byte_of(i);

		MUST(dat_ep_post_recv(eps[i], 1, &sink, (DAT_DTO_COOKIE){ .as_64 = (DAT_UINT64)i }, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/* Polls, so that it sees a message as early as it can. */
static void peer_gets_messages(void)
{
	DAT_EP_STATE state;
	DAT_EVENT event;

	for (int i = 0; i < CONNECTIONS; i++) {
		while (dat_evd_dequeue(dto, &event) != DAT_SUCCESS)
			;
		MUST(dat_ep_get_status(event.event_data.dto_completion_event_data.ep_handle, &state, NULL, NULL));
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS || state != DAT_EP_STATE_CONNECTED)
			exit(3);
	}
}

static void peer(void)
{
	struct order order;

	while (read(talk, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
		open_side();
		make_eps();
		if (order.way == WITH_MESSAGES)
			peer_posts_receives();
		for (int i = 0; i < CONNECTIONS; i++) {
			peer_connects(i, order.qual);
			if (order.way == IN_TURN)
				peer_is_connected();
		}
		if (order.way == WITH_MESSAGES)
			peer_gets_messages();
		for (int i = 0; i < CONNECTIONS && order.way != IN_TURN; i++)
			peer_is_connected();
		for (int i = 0; i < CONNECTIONS; i++)
			MUST(dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
		MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	exit(0);
}

static int number_of(DAT_EP_HANDLE ep)
{
	int i = 0;

	while (i < CONNECTIONS - 1 && eps[i] != ep)
		i++;
	return i;
}

static void differs(const char *what, const DAT_EVENT *event)
{
	if (!failed)
		printf("# event 0x%x %s\n", event->event_number, what);
	failed = 1;
}

static void accepts(const DAT_EVENT *event, int i)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		MUST(dat_cr_accept(event->event_data.cr_arrival_event_data.cr_handle, eps[i], 0, NULL));
	else
		differs("is not a request", event);
}

static void sends(int i)
{
	DAT_LMR_TRIPLET source = byte_of(i);

	MUST(dat_ep_post_send(eps[i], 1, &source, (DAT_DTO_COOKIE){ .as_64 = 0 }, DAT_COMPLETION_SUPPRESS_FLAG));
}

/* Collects the events of a round. Of each connection there have to be two, the first ones of all before the second of any. */
static void hears_of_each(enum way way, int established)
{
	int state[CONNECTIONS] = { 0 }, over = 0;

	for (int i = 0; i < established; i++)
		state[i] = 1;
	while (over < CONNECTIONS) {
		DAT_EVENT event = next_event(conn);
		int i = number_of(event.event_data.connect_event_data.ep_handle);

		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED && !state[i]) {
			state[i] = 1;
			established++;
			if (way == WITH_MESSAGES)
				sends(i);
			continue;
		}
		over++;
		if (!state[i] ||
		    (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED && event.event_number != DAT_CONNECTION_EVENT_BROKEN))
			differs("of a connection is not the one that is due", &event);
		else if (established != CONNECTIONS)
			differs("comes before all are established", &event);
	}
}

static void goes_round(struct order order)
{
	make_eps();
	if (write(talk, &order, sizeof(order)) != (ssize_t)sizeof(order))
		failed = 1;
	for (int i = 0; i < CONNECTIONS && !failed; i++) {
		DAT_EVENT event = next_event(requests);

		accepts(&event, i);
		if (order.way != IN_TURN || failed)
			continue;
		event = next_event(conn);
		if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			differs("is not the first of its connection", &event);
	}
	if (!failed)
		hears_of_each(order.way, order.way == IN_TURN ? CONNECTIONS : 0);
	for (int i = 0; i < CONNECTIONS; i++)
		MUST(dat_ep_free(eps[i]));
}

/* Returns 0, or 1 if a round has failed. */
static int many_rounds(struct order order, int rounds, const char *what)
{
	failed = 0;
	for (int round = 0; round < rounds && !failed; round++)
		goes_round(order);
	printf("%sok %d - %s\n", failed ? "not " : "", ++tests, what);
	return failed;
}

int main(void)
{
	struct order order = { .way = AT_ONCE };
	DAT_EVD_HANDLE separate;
	DAT_PSP_HANDLE psp;
	int status = 1, bad;
	pid_t pid;

	if (!adapter_choose())
		return 99;
	pid = adapter_fork(SOCK_SEQPACKET, &talk);
	if (pid < 0)
		return 99;
	if (pid == 0)
		peer();
	open_side();
	register_memory();
	MUST(dat_psp_create_any(ia, &order.qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	bad = many_rounds(order, ROUNDS, "connections that end at once were established, all of them before");
	order.way = WITH_MESSAGES;
	bad += many_rounds(order, ROUNDS / 4, "a message that is sent at once arrives");
	MUST(dat_psp_free(psp));
	separate = conn;
	MUST(dat_evd_create(ia, 4 * CONNECTIONS, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &conn));
	MUST(dat_evd_free(separate));
	requests = conn;
	MUST(dat_psp_create_any(ia, &order.qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	order.way = IN_TURN;
	bad += many_rounds(order, ROUNDS / 4, "requests and connections that follow from each other come in their order");
	close(talk);
	waitpid(pid, &status, 0);
	printf("%sok %d - and so the peer has found\n1..%d\n", status ? "not " : "", tests + 1, tests + 1);
	adapter_chosen_end();
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return bad || status;
}
