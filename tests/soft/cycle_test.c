/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resources are given back: shared memory, file descriptors, slots and names, over very many connections, also if the other
 * side is killed. And very many connections at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/soft.h"

#define CYCLES 300
#define MANY   3000
#define KILLS  8
#define RESTS  1000u /* so many others are freed before an index is used again; a few more are */

/* The plugin's own object behind a handle. */
static struct soft_ia *soft_of(DAT_EP_HANDLE ep)
{
	return soft_ia(((struct datp_ep *)ep)->obj.ia);
}

static uint32_t names_used(struct soft_ia *ia)
{
	uint32_t count = 0;

	datp_lock(&ia->lock);
	for (uint32_t i = 0; i < SOFT_PORT_MAX; i++)
		count += ia->sender_id_used[i];
	datp_unlock(&ia->lock);
	return count;
}

static uint32_t slots_busy(const struct soft_ia *ia)
{
	const unsigned char *at = ia->slot_mem.addr;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ia->slot_count; i++) {
		const struct soft_slot *slot = (const void *)at;

		count += atomic_load(&slot->busy) != 0;
		at += sizeof(*slot) + ia->slot_size;
	}
	return count;
}

/* ------------------------------------------------------------------ over and over */

/* What walks over the endpoints of an adapter does not take longer for each endpoint that there has ever been. */
static void indexes_of_endpoints_that_are_gone_are_used_again(void)
{
	static uint32_t last[RESTS]; /* the indexes that have been used last */
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	struct soft_ia *ia = NULL;
	uint32_t open = 0;
	DAT_EP_HANDLE ep;

	for (uint32_t n = 0; n < 8 * RESTS; n++) {
		uint32_t index;

		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, evd, evd, evd, NULL, &ep), DAT_SUCCESS);
		ia = soft_of(ep);
		index = ((struct soft_ep *)ep)->index;
		for (uint32_t i = 0; i < RESTS && i < n; i++)
			if (last[i] == index)
				REQUIRE_FAIL("endpoint %u has an index that was used only a moment before", n);
		last[n % RESTS] = index;
		if (n % RESTS == 0) {
			open++; /* it stays */
			continue;
		}
		REQUIRE_DAT(dat_ep_free(ep), DAT_SUCCESS);
	}
	CHECK(ia->port_next <= open + 2 * RESTS);
}

static void one_cycle(struct api_buf *buf)
{
	static struct api_pair pair;

	api_pair_make(&pair, NULL);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, buf, 0, 8000, n), DAT_SUCCESS);
	/* more messages than receives, so that some that are never received occupy slots */
	for (uint64_t n = 0; n < 8; n++)
		REQUIRE_DAT(api_send(pair.a.ep, buf, 0, n % 2 ? 5000 : 50, n, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, 50);
	api_disconnect(&pair);
	CHECK_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
	api_end_free(&pair.a);
	api_end_free(&pair.b);
	CHECK_DAT(dat_evd_free(pair.cr_evd), DAT_SUCCESS);
}

static void nothing_grows_over_many_connections(void)
{
	struct api_buf buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	uint64_t arena = 0;
	struct api_end end;
	struct soft_ia *ia;
	int fds = 0;

	api_end_make(&end, NULL);
	ia = soft_of(end.ep);
	for (int i = 0; i < CYCLES; i++) {
		one_cycle(&buf);
		if (i == 10) {
			arena = ia->arena->size;
			fds = api_descriptors();
		}
	}
	CHECK_EQ_INT(ia->arena->size, arena);
	/* sockets of the last connections may still be hanging up */
	REQUIRE_SOON(api_descriptors() <= fds);
	CHECK(names_used(ia) <= 4);
	CHECK_EQ_INT(slots_busy(ia), 0);
}

/*
 * The tables of an IA have room for everything there can be, and use memory only for what there is, however often it is opened. A
 * program that allocates in between keeps malloc() from returning the freed tables to the kernel, so that it would reuse them.
 */
static void opening_again_touches_only_what_is_used(void)
{
	long pages = (long)(SOFT_MR_COUNT * sizeof(void *)) / sysconf(_SC_PAGESIZE);
	struct rusage before, after;
	void *kept[8];

	for (int i = 0; i < 8; i++) {
		kept[i] = malloc(65536);
		getrusage(RUSAGE_SELF, &before);
		api_close();
		api_open();
		getrusage(RUSAGE_SELF, &after);
		CHECK(after.ru_minflt - before.ru_minflt < pages);
	}
	for (int i = 0; i < 8; i++)
		free(kept[i]);
}

/* ------------------------------------------------------------------ killed */

static void victim(void *arg)
{
	struct api_end end;
	DAT_CONN_QUAL qual;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	api_open();
	api_end_make(&end, NULL);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(CHECK_PARENT);
	pause();
}

/* The killed process has not taken messages that are in slots of ours, some of them of connections that had already ended. */
static void slots_and_names_of_the_killed_come_back(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 64 };
	struct api_end end, spare;
	pid_t victims[KILLS];
	DAT_EVD_HANDLE cr_evd;
	struct api_buf buf;
	struct soft_ia *ia;
	DAT_CONN_QUAL qual;
	int fds = 0;

	for (int i = 0; i < KILLS; i++)
		victims[i] = check_fork(victim, NULL);
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	api_end_make(&end, &attr);
	api_end_make(&spare, NULL);
	ia = soft_of(end.ep);
	for (int i = 0; i < KILLS; i++) {
		check_put(victims[i], &qual, sizeof(qual));
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		check_await(victims[i]);
		for (uint64_t n = 0; n < 50; n++)
			REQUIRE_DAT(
				api_send(end.ep, &buf, 0, 8000, n, DAT_COMPLETION_SUPPRESS_FLAG),
				DAT_SUCCESS);
		if (i % 2)
			REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		check_kill(victims[i]);
		API_CONN_OVER(end.connect, end.ep);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
		REQUIRE_SOON(slots_busy(ia) == 0);
		REQUIRE_SOON(names_used(ia) == 0);
		if (!i)
			fds = api_descriptors();
	}
	REQUIRE_SOON(api_descriptors() <= fds);
}

/* ------------------------------------------------------------------ many */

static DAT_EP_HANDLE ep[2][MANY];

static void many_endpoints_make(DAT_EP_HANDLE *eps, DAT_EVD_HANDLE dto, DAT_EVD_HANDLE connect)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 2, .max_request_dtos = 2 };

	for (int i = 0; i < MANY; i++)
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, dto, dto, connect, &attr, &eps[i]),
			    DAT_SUCCESS);
}

/* Takes `count` completions, and says how many were receives. */
static int completions(DAT_EVD_HANDLE dto, int count)
{
	int receives = 0;

	for (int i = 0; i < count; i++) {
		DAT_EVENT event;

		API_EVENT(dto, &event);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		receives += event.event_data.dto_completion_event_data.user_cookie.as_64 == 1;
	}
	return receives;
}

static void connections_over(DAT_EVD_HANDLE connect)
{
	for (int i = 0; i < MANY; i++) {
		DAT_EVENT event;

		API_EVENT(connect, &event);
		REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
}

static void many_peer(void *arg)
{
	DAT_EVD_HANDLE cr_evd, dto, connect;
	struct api_buf buf;
	DAT_CONN_QUAL qual;

	(void)arg;
	api_open();
	cr_evd = api_evd(MANY, DAT_EVD_CR_FLAG);
	dto = api_evd(2 * MANY, DAT_EVD_DTO_FLAG);
	connect = api_evd(2 * MANY, DAT_EVD_CONNECTION_FLAG);
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	many_endpoints_make(ep[1], dto, connect);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	check_put(CHECK_PARENT, &qual, sizeof(qual));
	for (int i = 0; i < MANY; i++) {
		REQUIRE_DAT(api_recv(ep[1][i], &buf, 0, 128, 1), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), ep[1][i], 0, NULL), DAT_SUCCESS);
		API_CONN(connect, ep[1][i], DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	CHECK_EQ_INT(completions(dto, MANY), MANY);
	for (int i = 0; i < MANY; i++)
		REQUIRE_DAT(api_send(ep[1][i], &buf, 0, 100, 2, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	connections_over(connect);
	api_close();
}

/* All connections share one ring, and fill it. Then all endpoints end at once. */
static void many_connections_of_two_processes_share_their_queues(void)
{
	pid_t peer = check_fork(many_peer, NULL);
	DAT_EVD_HANDLE dto, connect;
	struct api_buf buf;
	DAT_CONN_QUAL qual;
	int fds;

	check_get(peer, &qual, sizeof(qual));
	api_open();
	fds = api_descriptors();
	dto = api_evd(2 * MANY, DAT_EVD_DTO_FLAG);
	connect = api_evd(2 * MANY, DAT_EVD_CONNECTION_FLAG);
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	many_endpoints_make(ep[0], dto, connect);
	for (int i = 0; i < MANY; i++) {
		REQUIRE_DAT(api_recv(ep[0][i], &buf, 0, 128, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_connect(ep[0][i], qual), DAT_SUCCESS);
		API_CONN(connect, ep[0][i], DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	CHECK(api_descriptors() < fds + 16);
	for (int i = 0; i < MANY; i++)
		REQUIRE_DAT(api_send(ep[0][i], &buf, 0, 100, 2, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	CHECK_EQ_INT(completions(dto, MANY), MANY);
	for (int i = 0; i < MANY; i++)
		REQUIRE_DAT(dat_ep_disconnect(ep[0][i], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	connections_over(connect);
	check_join(peer);
}

/* ------------------------------------------------------------------ no descriptors */

static uint64_t cpu_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static void starved_peer(void *arg)
{
	struct rlimit limit, none;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	struct api_end end;
	uint64_t cpu;

	(void)arg;
	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	api_end_make(&end, NULL);
	check_stderr_begin();
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = (rlim_t)(dup(0)); /* the number of the next descriptor, which the limit forbids */
	close((int)none.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &none);
	cpu = cpu_ms();
	check_put(CHECK_PARENT, &qual, sizeof(qual));
	check_await(CHECK_PARENT);
	/* the service thread does not spin because of the connection that it cannot accept */
	CHECK(cpu_ms() - cpu < 150);
	CHECK_DAT(api_connect(end.ep, qual), DAT_INSUFFICIENT_RESOURCES);
	CHECK_EQ_INT(api_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	setrlimit(RLIMIT_NOFILE, &limit);
	check_stderr_end();
	check_signal(CHECK_PARENT);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN_OVER(end.connect, end.ep);
	api_close();
}

static void listener_without_descriptors_refuses_and_recovers(void)
{
	const struct timespec while_it_may_spin = { 0, 200000000 };
	pid_t peer = check_fork(starved_peer, NULL);
	DAT_CONN_QUAL qual;
	struct api_end end;

	check_get(peer, &qual, sizeof(qual));
	api_open();
	api_end_make(&end, NULL);
	for (int i = 0; i < 3; i++) {
		REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	}
	nanosleep(&while_it_may_spin, NULL);
	check_signal(peer);
	check_await(peer);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	check_join(peer);
}

static const struct check_test alone[] = {
	CHECK_TEST(nothing_grows_over_many_connections),
	CHECK_TEST(indexes_of_endpoints_that_are_gone_are_used_again),
	CHECK_TEST(opening_again_touches_only_what_is_used), CHECK_END
};

static const struct check_test together[] = {
	CHECK_TEST(slots_and_names_of_the_killed_come_back),
	CHECK_TEST(many_connections_of_two_processes_share_their_queues),
	CHECK_TEST(listener_without_descriptors_refuses_and_recovers), CHECK_END
};

static const struct check_suite cycles = {
	.name = "cycle", .setup = api_open, .teardown = api_close, .tests = alone
};
static const struct check_suite peers = { .name = "cycle of peers",
					  .teardown = api_close,
					  .tests = together };

CHECK_SUITES(&cycles, &peers);
