/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo: a server with many clients. One EVD receives everything, so one thread waits in one place:
 * connection requests, connections, completions. It serves 16 clients at most.
 *
 *	./echo soft0 3			(serves three clients, then ends)
 *	./step4_send soft0 client	(is a client)
 */
#include "tutorial.h"

enum { TEXT = 256, CLIENTS = SIZE / TEXT };

/* One client's endpoint and its text, which at any time either is received or is sent back. */
struct client {
	DAT_EP_HANDLE ep;
	size_t text;			/* where in the buffer of `side` the text is */
	int receiving;			/* the open request is the receive, not the send */
	int open;			/* requests whose completion has not come: 0 or 1 */
	int ended;			/* the connection has ended */
};

static struct side side;
static struct client client[CLIENTS];
static DAT_EVD_HANDLE evd;		/* of all clients, for events of every kind */

static void post_receive(struct client *c)
{
	DAT_LMR_TRIPLET where = segment(&side, c->text, TEXT);
	DAT_DTO_COOKIE cookie = { .as_ptr = c };

	c->receiving = 1;
	c->open = 1;
	MUST(dat_ep_post_recv(c->ep, 1, &where, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void admit(struct client *c, DAT_CR_HANDLE cr)
{
	MUST(dat_ep_create(side.ia, side.pz, evd, evd, evd, NULL, &c->ep));
	/* Connection events carry no cookie, but the endpoint has a place for a pointer. */
	MUST(dat_set_consumer_context(c->ep, (DAT_CONTEXT){ .as_ptr = c }));
	post_receive(c);
	MUST(dat_cr_accept(cr, c->ep, 0, NULL));
}

/* An endpoint is freed when its connection has ended and no completion is still to come. */
static int free_client(struct client *c)
{
	if (!c->ended || c->open)
		return 0;
	MUST(dat_ep_free(c->ep));
	return 1;
}

/* A received text goes back; when it has been sent, the next one may come. */
static int completed(struct client *c, const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	DAT_LMR_TRIPLET what = segment(&side, c->text, done->transfered_length);

	c->open = 0;
	if (done->status != DAT_DTO_SUCCESS)
		return free_client(c);		/* flushed, because the connection has ended */
	if (c->receiving) {
		c->receiving = 0;
		c->open = 1;
		MUST(dat_ep_post_send(c->ep, 1, &what, done->user_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	} else {
		post_receive(c);
	}
	return 0;
}

/* Returns how many clients have gone with this event: 0 or 1. */
static int handle(DAT_EVENT_DATA *data, DAT_EVENT_NUMBER number)
{
	static size_t admitted;
	DAT_CONTEXT context;
	struct client *c;

	if (number == DAT_DTO_COMPLETION_EVENT)
		return completed(data->dto_completion_event_data.user_cookie.as_ptr,
				 &data->dto_completion_event_data);
	if (number == DAT_CONNECTION_REQUEST_EVENT) {
		if (admitted == CLIENTS)
			exit(1);		/* a server that is in use rejects the request */
		c = &client[admitted];
		c->text = admitted++ * TEXT;
		admit(c, data->cr_arrival_event_data.cr_handle);
	}
	if (number == DAT_CONNECTION_REQUEST_EVENT || number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;

	/* Disconnected, broken, or never established. */
	MUST(dat_get_consumer_context(data->connect_event_data.ep_handle, &context));
	c = context.as_ptr;
	c->ended = 1;
	return free_client(c);
}

int main(int argc, char **argv)
{
	int to_serve = argc > 2 ? atoi(argv[2]) : 1;
	DAT_EVENT event;
	DAT_COUNT more;

	open_side(&side, argc > 1 ? argv[1] : "soft0");
	MUST(dat_evd_create(side.ia, 256, DAT_HANDLE_NULL,
			    DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &evd));
	MUST(dat_psp_create(side.ia, PORT, evd, DAT_PSP_CONSUMER_FLAG, &side.psp));
	printf("listening at %d\n", PORT);
	fflush(stdout);
	while (to_serve > 0) {
		MUST(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		to_serve -= handle(&event.event_data, event.event_number);
	}
	MUST(dat_psp_free(side.psp));
	side.psp = DAT_HANDLE_NULL;
	MUST(dat_evd_free(evd));
	close_side(&side);
	return 0;
}
