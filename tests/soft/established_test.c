/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that polls its memory sees what its client has written, and posts, while its endpoint is COMPLETION_PENDING. The
 * post finds by itself that there is a connection. Invariant: the server's service thread does nothing from before the accept
 * until after the post, so nobody else can have found it.
 *
 * libdatp's loop calls the epoll_wait() below.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define PLACE 64u /* where the client's data are written */

enum post { SEND, WRITE };

static _Atomic bool held;    /* the service thread does not return from epoll_wait() */
static _Atomic bool waiting; /* the service thread is in epoll_wait() */
static struct api_end end;
static struct api_buf buf;

static struct {
	DAT_CONN_QUAL qual;
	enum post post;
	struct {
		DAT_RMR_CONTEXT context;
		DAT_VADDR addr;
	} server, client;
} told;

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	long n;

	atomic_store(&waiting, true);
	n = syscall(SYS_epoll_pwait, fd, events, max, timeout, NULL, 0);
	atomic_store(&waiting, false);
	while (atomic_load(&held))
		check_nap();
	return (int)n;
}

static void side_open(void)
{
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf((size_t)4 * PLACE, DAT_MEM_PRIV_ALL_FLAG);
	memset(buf.mem, 0, (size_t)4 * PLACE);
}

static _Atomic unsigned char *byte(size_t place)
{
	return (_Atomic unsigned char *)&buf.mem[place];
}

static bool byte_comes(size_t place)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (!atomic_load(byte(place)) && check_now_ms() < until)
		check_nap();
	return atomic_load(byte(place));
}

/* Stops the service thread after it has handled the request, so that it reads no message that comes from now on. */
static void hold(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	while (!atomic_load(&waiting) && check_now_ms() < until)
		check_nap();
	REQUIRE(atomic_load(&waiting));
	atomic_store(&held, true);
}

static DAT_RMR_TRIPLET target(DAT_RMR_CONTEXT context, DAT_VADDR addr)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = context, .target_address = addr, .segment_length = 1 };
}

/* ------------------------------------------------------------------ the client */

static void client(void *arg)
{
	(void)arg;
	side_open();
	told.client.context = buf.rmr_context;
	told.client.addr = (DAT_VADDR)(uintptr_t)&buf.mem[PLACE];
	check_put(CHECK_PARENT, &told.client, sizeof(told.client));
	check_get(CHECK_PARENT, &told, sizeof(told));
	REQUIRE_DAT(api_recv(end.ep, &buf, (size_t)2 * PLACE, PLACE, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(end.ep, told.qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	buf.mem[0] = 1;
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, 1), target(told.server.context, told.server.addr), 2, 0),
		    DAT_SUCCESS);
	if (told.post == SEND)
		API_DTO(end.recv, end.ep, 1, DAT_DTO_SUCCESS, 1);
	else
		CHECK(byte_comes(PLACE));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* ------------------------------------------------------------------ the server */

static DAT_RETURN answer(void)
{
	if (told.post == SEND)
		return api_send(end.ep, &buf, 0, 1, 3, 0);
	return api_write(end.ep, api_seg(&buf, 0, 1), target(told.client.context, told.client.addr), 3, 0);
}

static void post_upon_data(enum post post)
{
	pid_t peer = check_fork(client, NULL);
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE cr_evd;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	side_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &told.qual);
	check_get(peer, &told.client, sizeof(told.client));
	told.post = post;
	told.server.context = buf.rmr_context;
	told.server.addr = (DAT_VADDR)(uintptr_t)&buf.mem[PLACE];
	check_put(peer, &told, sizeof(told));
	cr = api_cr(cr_evd);
	buf.mem[0] = 1;
	hold();
	REQUIRE_DAT(dat_cr_accept(cr, end.ep, 0, NULL), DAT_SUCCESS);
	REQUIRE(byte_comes(PLACE));
	REQUIRE_DAT(dat_ep_query(end.ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_state, DAT_EP_STATE_COMPLETION_PENDING);
	CHECK_DAT(answer(), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 3, DAT_DTO_SUCCESS, 1);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	atomic_store(&held, false);
	check_await(peer);
	/* the message that the service thread reads now has no further effect */
	CHECK_DAT(dat_evd_dequeue(end.connect, &event), DAT_QUEUE_EMPTY);
	check_signal(peer);
	check_join(peer);
}

static void send_upon_data_of_the_peer_finds_the_connection_by_itself(void)
{
	post_upon_data(SEND);
}

static void write_upon_data_of_the_peer_finds_the_connection_by_itself(void)
{
	post_upon_data(WRITE);
}

static void forget(void)
{
	atomic_store(&held, false);
	api_close();
}

static const struct check_test tests[] = { CHECK_TEST(send_upon_data_of_the_peer_finds_the_connection_by_itself),
					   CHECK_TEST(write_upon_data_of_the_peer_finds_the_connection_by_itself),
					   CHECK_END };

static const struct check_suite established = { .name = "established", .teardown = forget, .tests = tests };

CHECK_SUITES(&established);
