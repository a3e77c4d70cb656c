/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A listener whose backlog is full because its process does not accept: a connection attempt is retried
 * until its timeout expires, and succeeds when there is room.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/sock.h"

#define QUAL	  4711
#define CROWD_MAX 16
#define SHORT_US  100000

static struct api_end end;
static int listener = -1, crowd[CROWD_MAX];
static int crowd_size;

static void listener_name(struct sockaddr_storage *name, socklen_t *len)
{
	const char *realm = getenv("DAT_SOFT_REALM");

	*len = soft_listener_name(name, realm ? realm : "", "*", QUAL);
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	REQUIRE(fd >= 0);
	return fd;
}

/* Fills the backlog with other connections. */
static void setup(void)
{
	struct sockaddr_storage name;
	socklen_t len;

	api_open();
	api_end_make(&end, NULL);
	listener_name(&name, &len);
	listener = new_socket();
	REQUIRE(bind(listener, (struct sockaddr *)&name, len) == 0);
	REQUIRE(listen(listener, 0) == 0);
	for (crowd_size = 0; crowd_size < CROWD_MAX; crowd_size++) {
		crowd[crowd_size] = new_socket();
		if (connect(crowd[crowd_size], (struct sockaddr *)&name, len) < 0)
			break;
	}
	REQUIRE(crowd_size < CROWD_MAX && errno == EAGAIN);
	close(crowd[crowd_size]);
}

static void stop_listening(void)
{
	if (listener >= 0)
		close(listener);
	listener = -1;
	while (crowd_size)
		close(crowd[--crowd_size]);
}

static void teardown(void)
{
	stop_listening();
	api_close();
}

static void connect_to_it(DAT_TIMEOUT timeout)
{
	REQUIRE_DAT(dat_ep_connect(end.ep, api_address(), QUAL, timeout, 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
}

static int let_in(void)
{
	int fd = -1;

	REQUIRE_SOON((fd = accept(listener, NULL, NULL)) >= 0);
	return fd;
}

static void attempt_that_is_not_let_in_times_out(void)
{
	int files = api_descriptors();

	connect_to_it(SHORT_US);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	API_STATE(end.ep, DAT_EP_STATE_DISCONNECTED);
	REQUIRE_SOON(api_descriptors() == files);
}

static void attempt_that_waits_is_let_in(void)
{
	struct soft_msg msg;
	int fd = -1;

	connect_to_it(api_patience());
	API_QUIET(end.connect);
	for (int i = 0; i < crowd_size; i++)
		close(let_in());
	fd = let_in();
	REQUIRE_SOON(recv(fd, &msg, sizeof(msg), 0) == (ssize_t)sizeof(msg));
	CHECK_EQ_INT(msg.type, SOFT_MSG_REQ);
	CHECK_EQ_INT(msg.qual, QUAL);
	msg.type = SOFT_MSG_REJ;
	msg.why = DAT_CONNECTION_EVENT_PEER_REJECTED;
	REQUIRE(send(fd, &msg, sizeof(msg), MSG_NOSIGNAL) == (ssize_t)sizeof(msg));
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	close(fd);
}

static void listener_that_goes_away_has_refused(void)
{
	connect_to_it(api_patience());
	API_QUIET(end.connect);
	stop_listening();
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void attempt_that_is_given_up_leaves_nothing_behind(void)
{
	int files = api_descriptors();

	connect_to_it(api_patience());
	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_SOON(api_descriptors() == files);
	REQUIRE_DAT(dat_ep_free(end.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, NULL,
				  &end.ep),
		    DAT_SUCCESS);
	connect_to_it(api_patience());
	/* the teardown closes the IA while the attempt waits */
}

static const struct check_test tests[] = {
	CHECK_TEST(attempt_that_is_not_let_in_times_out),
	CHECK_TEST(attempt_that_waits_is_let_in),
	CHECK_TEST(listener_that_goes_away_has_refused),
	CHECK_TEST(attempt_that_is_given_up_leaves_nothing_behind),
	CHECK_END
};

static const struct check_suite retry = {
	.name = "connect retry", .setup = setup, .teardown = teardown, .tests = tests
};

CHECK_SUITES(&retry);
