/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints of one adapter that have an EVD of another open adapter for the events of their connections, as those of dapltest's
 * limit tests do. "a" is the adapter of the EVD and "b" that of the endpoints, two instances of the one of OPENDAT_TEST_IA, or else
 * of soft0. Both ends of each connection are in this process.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"
#include "tests/harness/sanitizer.h"

enum { SECONDS = 20000000, QLEN = 64 };

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, dto, conn, requests;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
};

static struct side a, b;

static void opens(struct side *side)
{
	memset(side, 0, sizeof(*side));
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &side->async, &side->ia));
	SUCCEEDS(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &side->attr, 0, NULL));
	SUCCEEDS(dat_pz_create(side->ia, &side->pz));
	SUCCEEDS(dat_evd_create(side->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &side->dto));
	SUCCEEDS(dat_evd_create(side->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &side->conn));
	SUCCEEDS(dat_evd_create(side->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &side->requests));
	SUCCEEDS(dat_psp_create_any(side->ia, &side->qual, side->requests, DAT_PSP_CONSUMER_FLAG, &side->psp));
}

/* Frees what opens() made, and closes: so nothing else of the adapter is left, and nothing uses an EVD of it. */
static void closes(struct side *side)
{
	SUCCEEDS(dat_psp_free(side->psp));
	SUCCEEDS(dat_evd_free(side->requests));
	SUCCEEDS(dat_evd_free(side->conn));
	SUCCEEDS(dat_evd_free(side->dto));
	SUCCEEDS(dat_pz_free(side->pz));
	SUCCEEDS(dat_ia_close(side->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void open_both(void)
{
	opens(&a);
	opens(&b);
}

static void close_both(void)
{
	closes(&b);
	closes(&a);
}

static DAT_EP_HANDLE endpoint(struct side *side, DAT_EVD_HANDLE conn)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	SUCCEEDS(dat_ep_create(side->ia, side->pz, side->dto, side->dto, conn, NULL, &ep));
	return ep;
}

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	if (!differs)
		SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, &event, &more));
	return event;
}

static void connects(struct side *side, DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
	SUCCEEDS(dat_ep_connect(active, side->attr.ia_address_ptr, side->qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	if (differs)
		return;
	SUCCEEDS(dat_cr_accept(next(side->requests).event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
}

/* Takes the events of this number of two endpoints, which come in either order. */
static void come(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE one, DAT_EP_HANDLE other)
{
	DAT_EP_HANDLE first = DAT_HANDLE_NULL;

	for (int i = 0; i < 2; i++) {
		DAT_EVENT event = next(evd);
		DAT_EP_HANDLE ep = event.event_data.connect_event_data.ep_handle;

		expect(event.event_number == number, "another event comes");
		expect(event.evd_handle == evd, "the event names another EVD");
		expect((ep == one || ep == other) && ep != first, "the event is of another endpoint");
		first = ep;
	}
}

static void is_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	expect(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY, "there is one more event");
}

static DAT_EVD_HANDLE conn_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { 0 };

	SUCCEEDS(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param.connect_evd_handle;
}

static DAT_RETURN gets(DAT_EP_HANDLE ep, DAT_EVD_HANDLE conn)
{
	DAT_EP_PARAM param = { .connect_evd_handle = conn };

	return dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param);
}

static void awaits(DAT_EP_HANDLE ep, DAT_EP_STATE wanted)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	for (int i = 0; !differs && i < SECONDS / 1000 && state != wanted; i++) {
		SUCCEEDS(dat_ep_get_status(ep, &state, NULL, NULL));
		if (state != wanted)
			usleep(1000);
	}
	expect(state == wanted, "the endpoint does not get to its state");
}

/* Connects two endpoints, and waits for their states: their events are left on the EVD. */
static void are_connected(struct side *side, DAT_EP_HANDLE active, DAT_EP_HANDLE passive)
{
	connects(side, active, passive);
	awaits(active, DAT_EP_STATE_CONNECTED);
	awaits(passive, DAT_EP_STATE_CONNECTED);
}

/* ------------------------------------------------------------------ events */

static void events_of_both_come(void)
{
	DAT_EP_HANDLE own[2], other[2];

	open_both();
	for (int i = 0; i < 2; i++) {
		own[i] = endpoint(&a, a.conn);
		other[i] = endpoint(&b, a.conn);
	}
	connects(&a, own[0], own[1]);
	come(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, own[0], own[1]);
	connects(&b, other[0], other[1]);
	come(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, other[0], other[1]);
	SUCCEEDS(dat_ep_disconnect(other[0], DAT_CLOSE_ABRUPT_FLAG));
	come(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, other[0], other[1]);
	SUCCEEDS(dat_ep_disconnect(own[1], DAT_CLOSE_ABRUPT_FLAG));
	come(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, own[0], own[1]);
	is_empty(a.conn);
	is_empty(b.conn);
	for (int i = 0; i < 2; i++) {
		SUCCEEDS(dat_ep_free(own[i]));
		SUCCEEDS(dat_ep_free(other[i]));
	}
	close_both();
	report("one EVD has the events of endpoints of two adapters");
}

static void cno_is_triggered(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { .instance_data = NULL, .proxy_agent_func = NULL };
	DAT_EVD_HANDLE evd, woken = DAT_HANDLE_NULL;
	DAT_EP_HANDLE one, two;
	DAT_CNO_HANDLE cno;

	open_both();
	SUCCEEDS(dat_cno_create(a.ia, none, &cno));
	SUCCEEDS(dat_evd_create(a.ia, QLEN, cno, DAT_EVD_CONNECTION_FLAG, &evd));
	one = endpoint(&b, evd);
	two = endpoint(&b, evd);
	connects(&b, one, two);
	for (int i = 0; i < 2 && !differs; i++) {
		SUCCEEDS(dat_cno_wait(cno, SECONDS, &woken));
		expect(woken == evd, "the CNO names another EVD");
	}
	come(evd, DAT_CONNECTION_EVENT_ESTABLISHED, one, two);
	SUCCEEDS(dat_ep_free(one));
	awaits(two, DAT_EP_STATE_DISCONNECTED);
	SUCCEEDS(dat_ep_free(two));
	SUCCEEDS(dat_evd_free(evd));
	SUCCEEDS(dat_cno_free(cno));
	close_both();
	report("its CNO is triggered");
}

/* ------------------------------------------------------------------ the calls of an endpoint */

static void is_told_and_changed(void)
{
	DAT_EVD_HANDLE freed;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	open_both();
	SUCCEEDS(dat_evd_create(a.ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &freed));
	SUCCEEDS(dat_evd_free(freed));
	ep = endpoint(&b, a.conn);
	expect(conn_of(ep) == a.conn, "a query tells another EVD");
	SUCCEEDS(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	SUCCEEDS(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect(conn_of(ep) == a.conn, "a change to the same EVD is one to another");
	SUCCEEDS(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	expect(conn_of(ep) == a.conn, "a change of another EVD changes this one");
	returns(gets(ep, freed), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN), "a change to a freed EVD");
	returns(gets(ep, a.requests), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN), "a change to one for requests");
	expect(conn_of(ep) == a.conn, "a change that is refused is made");
	SUCCEEDS(gets(ep, b.conn));
	expect(conn_of(ep) == b.conn, "the EVD is not the adapter's own");
	SUCCEEDS(gets(ep, a.conn));
	SUCCEEDS(gets(ep, DAT_HANDLE_NULL));
	expect(conn_of(ep) == DAT_HANDLE_NULL, "the endpoint still has an EVD");
	SUCCEEDS(dat_ep_free(ep));
	close_both();
	report("dat_ep_query tells it, and dat_ep_modify changes it");
}

static void others_are_refused(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	open_both();
	returns(dat_ep_create(b.ia, b.pz, a.dto, b.dto, b.conn, NULL, &ep),
		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV), "another adapter's EVD for receives");
	returns(dat_ep_create(b.ia, b.pz, b.dto, a.dto, b.conn, NULL, &ep),
		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST), "another adapter's EVD for requests");
	returns(dat_ep_create(b.ia, b.pz, b.dto, b.dto, a.requests, NULL, &ep),
		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN), "another adapter's EVD without the flag");
	returns(dat_ep_create(b.ia, b.pz, b.dto, b.dto, a.pz, NULL, &ep),
		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN), "another adapter's PZ");
	expect(ep == DAT_HANDLE_NULL, "a call that was refused has written a handle");
	close_both();
	report("EVDs of another adapter for completions, or without the flag for connections, are refused");
}

static void is_in_use(void)
{
	DAT_EP_HANDLE ep;

	open_both();
	ep = endpoint(&b, a.conn);
	returns(dat_evd_free(a.conn), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE), "a free of the EVD");
	returns(dat_ia_close(a.ia, DAT_CLOSE_GRACEFUL_FLAG), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE),
		"a graceful close of its adapter");
	SUCCEEDS(dat_ep_free(ep));
	close_both();
	report("the EVD and its adapter are in use as long as the endpoint has it");
}

static void is_freed_connected(void)
{
	DAT_EP_HANDLE one, two;

	open_both();
	one = endpoint(&b, a.conn);
	two = endpoint(&b, a.conn);
	are_connected(&b, one, two);
	SUCCEEDS(dat_ep_free(two));
	come(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, one, two);
	come(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, one, two);
	is_empty(a.conn);
	SUCCEEDS(dat_ep_free(one));
	close_both();
	report("an endpoint that is freed while it is connected leaves its events there");
}

static void is_reset(void)
{
	DAT_EP_HANDLE one, two;
	DAT_EVENT event;

	open_both();
	one = endpoint(&b, a.conn);
	two = endpoint(&b, a.conn);
	for (int i = 0; i < 2; i++) {
		are_connected(&b, one, two);
		SUCCEEDS(dat_ep_disconnect(one, DAT_CLOSE_ABRUPT_FLAG));
		awaits(two, DAT_EP_STATE_DISCONNECTED);
		SUCCEEDS(dat_ep_reset(one));
		event = next(a.conn);
		expect(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED &&
		       event.event_data.connect_event_data.ep_handle == two, "an event of the other endpoint is lost");
		SUCCEEDS(dat_ep_reset(two));
		is_empty(a.conn);
	}
	SUCCEEDS(dat_ep_free(one));
	SUCCEEDS(dat_ep_free(two));
	close_both();
	report("the reset of an endpoint removes its events from there, and those of no other one");
}

/* ------------------------------------------------------------------ the end of either adapter */

static void its_adapter_is_closed(void)
{
	DAT_EP_HANDLE one, two, idle;

	open_both();
	one = endpoint(&b, a.conn);
	two = endpoint(&b, a.conn);
	idle = endpoint(&b, a.conn);
	are_connected(&b, one, two);
	SUCCEEDS(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	expect(conn_of(one) == DAT_HANDLE_NULL && conn_of(idle) == DAT_HANDLE_NULL, "an endpoint has an EVD that was freed");
	SUCCEEDS(dat_ep_disconnect(one, DAT_CLOSE_ABRUPT_FLAG));
	awaits(two, DAT_EP_STATE_DISCONNECTED);
	SUCCEEDS(dat_ep_reset(one));
	SUCCEEDS(dat_ep_reset(two));
	SUCCEEDS(gets(one, b.conn));
	SUCCEEDS(gets(two, b.conn));
	connects(&b, one, two);
	come(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, one, two);
	SUCCEEDS(dat_ep_disconnect(two, DAT_CLOSE_ABRUPT_FLAG));
	come(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED, one, two);
	SUCCEEDS(dat_ep_free(idle));
	SUCCEEDS(dat_ep_free(one));
	SUCCEEDS(dat_ep_free(two));
	closes(&b);
	report("when its adapter is closed abruptly, the endpoint has no EVD, and goes on");
}

static void endpoints_adapter_is_closed(void)
{
	DAT_EP_HANDLE one, two;

	open_both();
	one = endpoint(&b, a.conn);
	two = endpoint(&b, a.conn);
	are_connected(&b, one, two);
	SUCCEEDS(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG));
	come(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, one, two);
	come(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED, one, two);
	is_empty(a.conn);
	one = endpoint(&a, a.conn);
	two = endpoint(&a, a.conn);
	connects(&a, one, two);
	come(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, one, two);
	SUCCEEDS(dat_ep_free(one));
	SUCCEEDS(dat_ep_free(two));
	closes(&a);
	report("when the endpoint's adapter is closed abruptly, the end of the connection comes on the EVD, which is used further");
}

/* ------------------------------------------------------------------ what is said */

/* Reads what a file has, up to the first NUL. */
static int has_line(int said, const char *words, const char *more)
{
	static char text[1 << 16];
	ssize_t n = pread(said, text, sizeof(text) - 1, 0);

	if (n < 0)
		n = 0;
	text[n] = 0;
	for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		*end = 0;
		if (strstr(at, words) && strstr(at, more))
			return 1;
		*end = '\n';
	}
	printf("# no line has \"%s\" and \"%s\"\n", words, more);
	return 0;
}

static int child_is_told(void)
{
	int said = memfd_create("said", 0);
	char handle[32];
	DAT_EP_HANDLE ep;

	is_child = 1;
	setenv("DAT_LOG", "debug", 1);
	if (said < 0 || dup2(said, STDERR_FILENO) < 0)
		return 1;
	open_both();
	ep = endpoint(&b, a.conn);
	snprintf(handle, sizeof(handle), "(%p)", ep);
	returns(dat_evd_free(a.conn), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE), "a free of the EVD");
	expect(has_line(said, "dat_evd_free is refused", "1 endpoint of another open adapter") &&
		       has_line(said, "dat_evd_free is refused", handle),
	       "nobody is told who uses the EVD");
	SUCCEEDS(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	expect(has_line(said, "1 endpoint of another open adapter had for connection events", "close this adapter last"),
	       "nobody is told that the endpoint has lost its EVD");
	SUCCEEDS(dat_ep_free(ep));
	closes(&b);
	return differs;
}

static void the_user_is_told(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child_is_told());
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child says no");
	report("who uses the EVD is told, and that an endpoint has lost it");
}

/* ------------------------------------------------------------------ fork */

enum { FORKS = 60, LENDERS = 4 };

static _Atomic int forks_over;

/* Takes a loan and ends it, all the time. There are several such threads, so that mostly one of them has the lock of all loans. */
static void *lends(void *arg)
{
	DAT_RETURN ret = DAT_SUCCESS;

	while (!atomic_load(&forks_over) && ret == DAT_SUCCESS) {
		ret = gets(arg, a.conn);
		if (ret == DAT_SUCCESS)
			ret = gets(arg, DAT_HANDLE_NULL);
	}
	returns(ret, DAT_SUCCESS, "a loan or its end");
	return NULL;
}

/* The parent had a loan, and perhaps a thread that was making one. */
static int child_has_loans_of_its_own(void)
{
	DAT_EP_HANDLE ep;

	is_child = 1;
	alarm(SECONDS / 1000000);
	open_both();
	ep = endpoint(&b, a.conn);
	expect(conn_of(ep) == a.conn, "the child's endpoint has another EVD");
	SUCCEEDS(dat_ep_free(ep));
	close_both();
	return differs;
}

static void parent_is_forked(void)
{
	DAT_EP_HANDLE changed[LENDERS], constant;
	pthread_t thread[LENDERS];

/* these sanitizers have locks and threads of their own, which such a child finds as the parent's threads left them */
#if THREAD_SANITIZER || ADDRESS_SANITIZER
	printf("ok %d - a child that is forked while loans are made # SKIP the sanitizer hangs in such a child, or ends it\n",
	       ++tests);
	return;
#endif
	open_both();
	constant = endpoint(&b, a.conn);
	for (int i = 0; i < LENDERS; i++) {
		changed[i] = endpoint(&b, DAT_HANDLE_NULL);
		if (pthread_create(&thread[i], NULL, lends, changed[i]))
			abort();
	}
	for (int i = 0; i < FORKS && !differs; i++) {
		int status = 1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child_has_loans_of_its_own());
		expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child has no loans, or hangs");
	}
	atomic_store(&forks_over, 1);
	for (int i = 0; i < LENDERS; i++) {
		pthread_join(thread[i], NULL);
		SUCCEEDS(dat_ep_free(changed[i]));
	}
	expect(conn_of(constant) == a.conn, "a loan of the parent has ended");
	SUCCEEDS(dat_ep_free(constant));
	close_both();
	report("a child that is forked while loans are made has loans of its own");
}

/* ------------------------------------------------------------------ a race */

static struct {
	DAT_EVD_HANDLE _Atomic evd;
	_Atomic int over, rounds, made;
} race;

/* Checks the result of a call that names an EVD whose adapter may be closed by now. */
static int is_made(DAT_RETURN ret, const char *what)
{
	if (ret != DAT_SUCCESS)
		returns(ret, ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN), what);
	return ret == DAT_SUCCESS;
}

static DAT_EP_HANDLE racing_endpoint(void)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	is_made(dat_ep_create(b.ia, b.pz, b.dto, b.dto, atomic_load(&race.evd), NULL, &ep), "a creation");
	return ep;
}

static void race_round(int round)
{
	DAT_EP_HANDLE one = racing_endpoint(), two = racing_endpoint();

	if (one != DAT_HANDLE_NULL && two != DAT_HANDLE_NULL) {
		is_made(gets(one, atomic_load(&race.evd)), "a change");
		are_connected(&b, one, two);
		if (round % 2) {
			SUCCEEDS(dat_ep_disconnect(one, DAT_CLOSE_ABRUPT_FLAG));
			awaits(two, DAT_EP_STATE_DISCONNECTED);
			SUCCEEDS(dat_ep_reset(two));
			is_made(gets(two, atomic_load(&race.evd)), "a change after a reset");
		}
		conn_of(one);
		atomic_fetch_add(&race.made, 1);
	}
	if (one != DAT_HANDLE_NULL)
		SUCCEEDS(dat_ep_free(one));
	if (two != DAT_HANDLE_NULL)
		SUCCEEDS(dat_ep_free(two));
}

static void *races(void *arg)
{
	for (int round = 0; !atomic_load(&race.over) && !differs; round++) {
		race_round(round);
		atomic_store(&race.rounds, round);
	}
	atomic_store(&race.over, 1);
	return arg;
}

static void adapters_are_closed_meanwhile(void)
{
	int closes_made = strcmp(adapter, "soft0") == 0 ? 60 : 12;
	pthread_t thread;

	opens(&b);
	for (int i = 0; i < closes_made && !atomic_load(&race.over); i++) {
		int from = atomic_load(&race.rounds);

		opens(&a);
		atomic_store(&race.evd, a.conn);
		if (i == 0 && pthread_create(&thread, NULL, races, NULL))
			abort();
		/* at some point of a round, which differs from one time to the next */
		while (!atomic_load(&race.over) && atomic_load(&race.rounds) < from + 2)
			usleep(100);
		usleep((useconds_t)(i * 37 % 400));
		SUCCEEDS(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
	}
	atomic_store(&race.over, 1);
	pthread_join(thread, NULL);
	expect(atomic_load(&race.made) > 0, "no connection was made");
	closes(&b);
	report("the adapter of the EVD can be closed at any time of its use");
}

int main(void)
{
	if (!adapter_choose())
		return 99;
	the_user_is_told();
	events_of_both_come();
	cno_is_triggered();
	is_told_and_changed();
	others_are_refused();
	is_in_use();
	is_freed_connected();
	is_reset();
	its_adapter_is_closed();
	endpoints_adapter_is_closed();
	parent_is_forked();
	adapters_are_closed_meanwhile();
	adapter_chosen_end();
	printf("1..%d\n", tests);
	return failed != 0;
}
