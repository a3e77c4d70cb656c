/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 6 of opendat-tutorial(7): what goes wrong, how a program hears of it, and how it goes on. A
 * receive that is shorter than its message breaks the connection; both sides reset and connect again.
 *
 *	./step6_errors soft0 server
 *	./step6_errors soft0 client
 */
#include "tutorial.h"

static const DAT_DTO_COOKIE no_cookie;

static void post_receive(struct side *s, size_t length)
{
	DAT_LMR_TRIPLET where = segment(s, SIZE / 2, length);

	MUST(dat_ep_post_recv(s->ep, 1, &where, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct side *s, size_t length)
{
	DAT_LMR_TRIPLET what = segment(s, 0, length);

	MUST(dat_ep_post_send(s->ep, 1, &what, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_DTO_COMPLETION_STATUS status_of(DAT_EVD_HANDLE evd, const char *what)
{
	return expect(evd, DAT_DTO_COMPLETION_EVENT, what).event_data.dto_completion_event_data.status;
}

/* Nobody listens yet: the outcome of dat_ep_connect() is an event, and a reset allows another try. */
static void connect_in_vain(struct side *s)
{
	connect_to(s, NULL);
	expect(s->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "connecting to nobody");
	printf("nobody listens yet\n");
	MUST(dat_ep_reset(s->ep));
}

/* Nothing comes: a wait with a bound ends with a timeout, which is no failure of the program. */
static void wait_in_vain(struct side *s)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(s->recv_evd, 50000, 1, &event, &more);

	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		printf("no message within 50 ms\n");
	else
		must(ret, "dat_evd_wait");
}

/* Each request that was open when the connection broke completes, as failed or as flushed. */
static void break_it(struct side *s, int server)
{
	DAT_DTO_COMPLETION_STATUS first, second;

	if (server) {
		first = status_of(s->recv_evd, "the receive that is too short");
		second = status_of(s->recv_evd, "the receive behind it");
		printf("too short a receive: %s, the one behind it: %s\n",
		       first == DAT_DTO_ERR_LOCAL_LENGTH ? "length error" : "another status",
		       second == DAT_DTO_ERR_FLUSHED ? "flushed" : "another status");
	} else {
		post_send(s, 64);
		status_of(s->request_evd, "the send");	/* its status depends on the transport */
	}
}

/* The connection ends: the side whose receive failed gets BROKEN, the peer BROKEN or DISCONNECTED. */
static void wait_for_end(struct side *s)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(s->conn_evd, PATIENCE, 1, &event, &more));
	printf("%s\n", event.event_number == DAT_CONNECTION_EVENT_BROKEN ? "broken" : "ended");
	MUST(dat_ep_reset(s->ep));
}

int main(int argc, char **argv)
{
	int server = is_server(argc, argv);
	static struct side side;

	open_side(&side, argv[1]);
	if (server) {
		connect_in_vain(&side);
		wait_in_vain(&side);
		post_receive(&side, 16);
	}
	post_receive(&side, 64);
	establish(&side, server, argc > 3 ? argv[3] : NULL);
	break_it(&side, server);
	if (!server)
		status_of(side.recv_evd, "the client's own receive");
	wait_for_end(&side);

	post_receive(&side, 64);	/* a reset endpoint is as good as a new one */
	establish(&side, server, argc > 3 ? argv[3] : NULL);
	if (!server)
		post_send(&side, 64);
	if (status_of(server ? side.recv_evd : side.request_evd, "the same once more") != DAT_DTO_SUCCESS)
		return 1;
	printf("connected again, and the message came through\n");
	if (server)
		MUST(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(side.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	close_side(&side);
	return 0;
}
