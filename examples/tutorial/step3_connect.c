/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 3 of opendat-tutorial(7): two processes connect and disconnect. establish() in tutorial.h is
 * the first half of the step; the second half, the end of a connection, is here.
 *
 *	./step3_connect soft0 server
 *	./step3_connect soft0 client
 */
#include "tutorial.h"

int main(int argc, char **argv)
{
	int server = is_server(argc, argv);
	static struct side side;

	open_side(&side, argv[1]);
	establish(&side, server, argc > 3 ? argv[3] : NULL);
	printf("connected\n");

	/* One side asks for the end. Both sides get the event, and both endpoints are disconnected. */
	if (!server)
		MUST(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(side.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	printf("disconnected\n");

	close_side(&side);
	return 0;
}
