/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 4 of opendat-tutorial(7): the client sends a message, the server sends it back in capitals.
 *
 *	./step4_send soft0 server
 *	./step4_send soft0 client
 */
#include "tutorial.h"

#include <ctype.h>

#define HALF (SIZE / 2)			/* the first half of the buffer is sent, the second receives */

static void post_receive(struct side *s)
{
	DAT_LMR_TRIPLET where = segment(s, HALF, HALF);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	MUST(dat_ep_post_recv(s->ep, 1, &where, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The memory of a send belongs to the adapter until its completion has been dequeued. */
static void send_text(struct side *s, size_t length)
{
	DAT_LMR_TRIPLET what = segment(s, 0, length);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	MUST(dat_ep_post_send(s->ep, 1, &what, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	complete(s->request_evd, "waiting for the send");
}

int main(int argc, char **argv)
{
	int server = is_server(argc, argv);
	static struct side side;
	size_t length;

	open_side(&side, argv[1]);
	post_receive(&side);		/* before the connection, so that no message finds no receive */
	establish(&side, server, argc > 3 ? argv[3] : NULL);

	if (server) {
		length = complete(side.recv_evd, "waiting for a message");
		for (size_t i = 0; i < length; i++)
			side.buffer[i] = (unsigned char)toupper(side.buffer[HALF + i]);
		send_text(&side, length);
	} else {
		strcpy((char *)side.buffer, "hello, server");
		send_text(&side, strlen("hello, server"));
		length = complete(side.recv_evd, "waiting for a message");
		printf("the server answers: %.*s\n", (int)length, (char *)side.buffer + HALF);
		MUST(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
	expect(side.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	close_side(&side);
	return 0;
}
