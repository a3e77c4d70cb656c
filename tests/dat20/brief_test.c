/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections that the peer ends as soon as it has them, as dtestcm of dapl2-utils does: the side that has accepted them hears
 * that each was established, and then that it is over. The peer closes its adapter as well, so its hang-up and its messages come
 * at once. The adapter is that of OPENDAT_TEST_IA, or else soft0.
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
static int talk, failed;

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
	MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto));
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

static void peer(void)
{
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	while (read(talk, &qual, sizeof(qual)) == (ssize_t)sizeof(qual)) {
		open_side();
		make_eps();
		MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
		for (int i = 0; i < CONNECTIONS; i++)
			MUST(dat_ep_connect(eps[i], attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
					    DAT_CONNECT_DEFAULT_FLAG));
		for (int i = 0; i < CONNECTIONS; i++)
			if (next_event(conn).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
				exit(2);
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

/* Collects the events of a round. Of each connection there have to be two, in their order. */
static void hears_of_each(void)
{
	int state[CONNECTIONS] = { 0 }, over = 0;

	while (over < CONNECTIONS) {
		DAT_EVENT event = next_event(conn);
		int *its = &state[number_of(event.event_data.connect_event_data.ep_handle)];

		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED && *its == 0) {
			*its = 1;
			continue;
		}
		over++;
		if (*its == 1 && (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
				  event.event_number == DAT_CONNECTION_EVENT_BROKEN))
			continue;
		printf("# event 0x%x of a connection that has had %d\n", event.event_number, *its);
		failed = 1;
	}
}

int main(void)
{
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	int status = 1;
	pid_t pid;

	if (!adapter_choose())
		return 99;
	pid = adapter_fork(SOCK_SEQPACKET, &talk);
	if (pid < 0)
		return 99;
	if (pid == 0)
		peer();
	open_side();
	MUST(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int round = 0; round < ROUNDS && !failed; round++) {
		make_eps();
		if (write(talk, &qual, sizeof(qual)) != (ssize_t)sizeof(qual))
			failed = 1;
		for (int i = 0; i < CONNECTIONS; i++)
			MUST(dat_cr_accept(next_event(requests).event_data.cr_arrival_event_data.cr_handle, eps[i], 0, NULL));
		hears_of_each();
		for (int i = 0; i < CONNECTIONS; i++)
			MUST(dat_ep_free(eps[i]));
	}
	printf("%sok 1 - a connection that ends at once was established\n", failed ? "not " : "");
	close(talk);
	waitpid(pid, &status, 0);
	printf("%sok 2 - and so the peer has found\n1..2\n", status ? "not " : "");
	adapter_chosen_end();
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return failed || status;
}
