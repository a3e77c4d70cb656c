/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 5 of opendat-tutorial(7): the client writes into the server's memory and reads it back. The
 * server only says where its memory is, and waits for the message that says that the client is done.
 *
 *	./step5_rdma soft0 server
 *	./step5_rdma soft0 client
 */
#include "tutorial.h"

/* The layout of the buffer: what is exchanged by messages, the source of writes, the target of RDMA. */
enum { NOTE = 0, SOURCE = 1024, TARGET = 2048, BYTES = 1024 };

/* What a peer must know to reach memory. Both sides are of one byte order here. */
struct place {
	DAT_VADDR address;
	DAT_RMR_CONTEXT key;
};

static const DAT_DTO_COOKIE no_cookie;

static void post_note(struct side *s)
{
	DAT_LMR_TRIPLET note = segment(s, NOTE, sizeof(struct place));

	MUST(dat_ep_post_recv(s->ep, 1, &note, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The note travels in the second kilobyte, because the first one is posted for receives. */
static void send_note(struct side *s, const struct place *place)
{
	DAT_LMR_TRIPLET note = segment(s, SOURCE, sizeof(*place));

	memcpy(s->buffer + SOURCE, place, sizeof(*place));
	MUST(dat_ep_post_send(s->ep, 1, &note, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	complete(s->request_evd, "send");
}

static void serve(struct side *s)
{
	struct place here = { (DAT_VADDR)(uintptr_t)(s->buffer + TARGET), s->remote_key };

	complete(s->recv_evd, "the client's greeting");	/* over iWARP the client sends first */
	post_note(s);
	send_note(s, &here);
	complete(s->recv_evd, "the client's last message");	/* what was written before it is here */
	printf("the client wrote: %s\n", (char *)s->buffer + TARGET);
}

static void use(struct side *s)
{
	DAT_LMR_TRIPLET mine = segment(s, SOURCE, BYTES);
	DAT_RMR_TRIPLET yours;
	struct place there = { 0, 0 };

	send_note(s, &there);
	complete(s->recv_evd, "the server's address");
	memcpy(&there, s->buffer + NOTE, sizeof(there));
	yours = (DAT_RMR_TRIPLET){ .rmr_context = there.key, .target_address = there.address,
				   .segment_length = BYTES };

	strcpy((char *)s->buffer + SOURCE, "written by RDMA");
	MUST(dat_ep_post_rdma_write(s->ep, 1, &mine, no_cookie, &yours, DAT_COMPLETION_DEFAULT_FLAG));
	complete(s->request_evd, "RDMA write");

	memset(s->buffer + SOURCE, 0, BYTES);
	MUST(dat_ep_post_rdma_read(s->ep, 1, &mine, no_cookie, &yours, DAT_COMPLETION_DEFAULT_FLAG));
	complete(s->request_evd, "RDMA read");
	printf("read back: %s\n", (char *)s->buffer + SOURCE);

	send_note(s, &there);		/* tells the server that its memory holds the data */
}

int main(int argc, char **argv)
{
	int server = is_server(argc, argv);
	static struct side side;

	open_side(&side, argv[1]);
	post_note(&side);
	establish(&side, server, argc > 3 ? argv[3] : NULL);
	if (server) {
		serve(&side);
		MUST(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
	} else {
		use(&side);
	}
	expect(side.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	close_side(&side);
	return 0;
}
