/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notify: RDMA writes with a notification. The client writes records into a ring in the server's
 * memory and sends a short message after each: when the message has arrived, so has the record. The
 * server's message back is a credit, which says that the slot is free again.
 *
 *	./notify soft0 server
 *	./notify soft0 client
 */
#include "tutorial.h"

enum { SLOT = 256, SLOTS = 8, RING = SIZE / 2, RECORDS = 1000 };

/* The first half of the buffer: notes received, then the note to send, then the record to write. */
enum { NOTE_IN = 0, NOTE_OUT = 512, RECORD = 1024 };

struct note {
	DAT_UINT64 address;		/* of the ring: in the server's first note */
	DAT_UINT32 key;
	DAT_UINT32 number;		/* which record was written, or was taken out */
};

static const DAT_DTO_COOKIE no_cookie;

static void post_note(struct side *s, unsigned number)
{
	DAT_LMR_TRIPLET where = segment(s, NOTE_IN + number % SLOTS * sizeof(struct note),
					sizeof(struct note));

	MUST(dat_ep_post_recv(s->ep, 1, &where, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Notes arrive in the order in which their receives were posted. */
static struct note take_note(struct side *s, unsigned number)
{
	struct note note;

	complete(s->recv_evd, "waiting for a note");
	memcpy(&note, s->buffer + NOTE_IN + number % SLOTS * sizeof(note), sizeof(note));
	post_note(s, number);
	return note;
}

static void send_note(struct side *s, struct note note)
{
	DAT_LMR_TRIPLET what = segment(s, NOTE_OUT, sizeof(note));

	memcpy(s->buffer + NOTE_OUT, &note, sizeof(note));
	MUST(dat_ep_post_send(s->ep, 1, &what, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	complete(s->request_evd, "waiting for a send");
}

static void serve(struct side *s)
{
	struct note note = { .address = (DAT_UINT64)(uintptr_t)(s->buffer + RING), .key = s->remote_key };

	take_note(s, 0);		/* the client's greeting */
	send_note(s, note);
	for (unsigned i = 0; i < RECORDS; i++) {
		unsigned char *slot = s->buffer + RING + i % SLOTS * SLOT;

		note = take_note(s, i + 1);
		if (note.number != i || slot[0] != i % 251 || slot[SLOT - 1] != i % 251)
			exit(1);
		send_note(s, note);	/* the slot is free again */
	}
	printf("%d records arrived\n", RECORDS);
}

/* The write needs no completion of its own: the send behind it completes after it. */
static void write_record(struct side *s, struct note ring, unsigned number)
{
	DAT_LMR_TRIPLET record = segment(s, RECORD, SLOT);
	DAT_RMR_TRIPLET slot = { .rmr_context = ring.key, .segment_length = SLOT,
				 .target_address = ring.address + number % SLOTS * SLOT };

	memset(s->buffer + RECORD, (int)(number % 251), SLOT);
	MUST(dat_ep_post_rdma_write(s->ep, 1, &record, no_cookie, &slot,
				    DAT_COMPLETION_SUPPRESS_FLAG));
	send_note(s, (struct note){ .number = number });
}

static void fill(struct side *s)
{
	struct note ring;

	send_note(s, (struct note){ .number = 0 });
	ring = take_note(s, 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		if (i >= SLOTS / 2)
			take_note(s, i - SLOTS / 2 + 1);	/* a credit for a slot used before */
		write_record(s, ring, i);
	}
	for (unsigned i = RECORDS - SLOTS / 2; i < RECORDS; i++)
		take_note(s, i + 1);
	printf("%d records written\n", RECORDS);
}

int main(int argc, char **argv)
{
	int server = is_server(argc, argv);
	static struct side side;

	open_side(&side, argv[1]);
	for (unsigned i = 0; i < SLOTS; i++)
		post_note(&side, i);
	establish(&side, server, argc > 3 ? argv[3] : NULL);
	if (server)
		serve(&side);
	else
		fill(&side);
	if (!server)
		MUST(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect(side.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	close_side(&side);
	return 0;
}
