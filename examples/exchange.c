/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange: a complete uDAPL program. Two processes connect and move data in every way there is:
 * send and receive, RDMA write, RDMA read, and both through a memory window (RMR). Whoever gets
 * data checks each byte.
 *
 *	cc exchange.c $(pkg-config --cflags --libs dat) -o exchange
 *	./exchange [ADAPTER]		(soft0, unless one is named; 'datctl list' prints them)
 *
 * How to read it: begin at the end. main() forks; the child is the server, which owns the memory
 * that RDMA goes to, and the parent is the client, which starts each transfer. server() and
 * client() are the two halves of one conversation, in the same five steps. What stands above them
 * are the small pieces they are made of.
 *
 * A real program would handle errors. This one names the call that failed and stops; the other
 * process then sees the connection break, and stops too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

#define SIZE 65536			/* bytes of each transfer */
#define PATIENCE (10 * 1000000u)	/* how long to wait for an event, in microseconds */

/* ----------------------------------------------------------------- when something goes wrong */

static const char *me = "client";

static void stop(const char *fmt, ...)
{
	char why[256], line[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	fflush(stdout);
	/* In one write: server and client have the same stderr, and may both stop at this moment. */
	snprintf(line, sizeof(line), "exchange (%s): %s\n", me, why);
	fputs(line, stderr);
	exit(1);
}

/* Every DAT call returns a DAT_RETURN; dat_strerror() knows its name. */
static void must(DAT_RETURN ret, const char *call)
{
	const char *type = "an unknown error", *detail = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &detail);
	stop("%s: %s %s", call, type, detail);
}

#define MUST(call) must((call), #call)

/* -------------------------------------------------- one side: adapter, queues, endpoint, memory */

/* Registered memory. The adapter knows it as `local` in our requests, as `remote` in the peer's. */
struct memory {
	unsigned char *byte;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
};

/* What the peer has to know to reach our memory. Sent as it is: both run on one host. */
struct place {
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
};

struct side {
	DAT_IA_HANDLE ia;		/* the adapter */
	DAT_PZ_HANDLE pz;		/* ties endpoints to the memory they may use */
	DAT_EVD_HANDLE async_evd;	/* event queues: errors of the adapter itself, */
	DAT_EVD_HANDLE cr_evd;		/* requests for a connection, */
	DAT_EVD_HANDLE conn_evd;	/* connections made and ended, */
	DAT_EVD_HANDLE recv_evd;	/* messages that arrived, */
	DAT_EVD_HANDLE request_evd;	/* and what we asked for and is done */
	DAT_EP_HANDLE ep;		/* the endpoint: our end of the connection */

	struct memory out;		/* what we send and write */
	struct memory in;		/* what we receive and read */
	struct memory shared;		/* what the peer may write and read */
	struct memory window;		/* the same, but only while the window is open */
	struct memory note_out;		/* short messages between the steps */
	struct memory note_in;
};

static void register_memory(struct side *s, struct memory *m, size_t size,
			    DAT_MEM_PRIV_FLAGS rights)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN length;
	DAT_VADDR address;

	m->size = size;
	m->byte = calloc(1, size);
	if (m->byte == NULL)
		stop("no memory");
	region.for_va = m->byte;
	MUST(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, size, s->pz, rights, &m->lmr,
			    &m->local, &m->remote, &length, &address));
}

static void release_memory(struct memory *m)
{
	MUST(dat_lmr_free(m->lmr));
	free(m->byte);
}

static void open_side(struct side *s, const char *adapter)
{
	const DAT_MEM_PRIV_FLAGS ours =
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	memset(s, 0, sizeof(*s));
	MUST(dat_ia_open((DAT_NAME_PTR)adapter, 8, &s->async_evd, &s->ia));
	MUST(dat_pz_create(s->ia, &s->pz));

	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->cr_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &s->conn_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->recv_evd));
	MUST(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			    &s->request_evd));
	MUST(dat_ep_create(s->ia, s->pz, s->recv_evd, s->request_evd, s->conn_evd, NULL, &s->ep));

	register_memory(s, &s->out, SIZE, ours);
	register_memory(s, &s->in, SIZE, ours);
	register_memory(s, &s->shared, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	register_memory(s, &s->window, SIZE, ours);
	register_memory(s, &s->note_out, sizeof(struct place), ours);
	register_memory(s, &s->note_in, sizeof(struct place), ours);
}

static void close_side(struct side *s)
{
	MUST(dat_ep_free(s->ep));
	MUST(dat_evd_free(s->request_evd));
	MUST(dat_evd_free(s->recv_evd));
	MUST(dat_evd_free(s->conn_evd));
	MUST(dat_evd_free(s->cr_evd));
	release_memory(&s->out);
	release_memory(&s->in);
	release_memory(&s->shared);
	release_memory(&s->window);
	release_memory(&s->note_out);
	release_memory(&s->note_in);
	MUST(dat_pz_free(s->pz));
	MUST(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ------------------------------------------------------------------------- waiting for events */

static DAT_EVENT wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, const char *what)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), what);
	if (event.event_number != expected)
		stop("%s: event 0x%x instead of 0x%x", what, event.event_number, expected);
	return event;
}

/* A DTO is a transfer: a send, a receive, an RDMA write or read. */
static void wait_for_dto(DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_STATUS expected, const char *what)
{
	DAT_EVENT event = wait_for(evd, DAT_DTO_COMPLETION_EVENT, what);
	DAT_DTO_COMPLETION_STATUS status = event.event_data.dto_completion_event_data.status;

	if (status != expected)
		stop("%s: completed with status %d instead of %d", what, status, expected);
}

/* ------------------------------------------------------------------------------ moving data */

static const DAT_DTO_COOKIE no_cookie;	/* comes back in the completion; not needed here */

static DAT_LMR_TRIPLET mine(const struct memory *m)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = m->local,
		.virtual_address = (DAT_VADDR)(uintptr_t)m->byte,
		.segment_length = m->size,
	};
}

static DAT_RMR_TRIPLET yours(struct place there)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = there.key,
		.target_address = there.address,
		.segment_length = SIZE,
	};
}

/* The receive has to be there before the message: post it early, wait for it later. */
static void post_receive(struct side *s, struct memory *m)
{
	DAT_LMR_TRIPLET segment = mine(m);

	MUST(dat_ep_post_recv(s->ep, 1, &segment, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void receive(struct side *s)
{
	wait_for_dto(s->recv_evd, DAT_DTO_SUCCESS, "receive");
}

static void post_send(struct side *s, struct memory *m)
{
	DAT_LMR_TRIPLET segment = mine(m);

	MUST(dat_ep_post_send(s->ep, 1, &segment, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_out(struct side *s, struct memory *m)
{
	post_send(s, m);
	wait_for_dto(s->request_evd, DAT_DTO_SUCCESS, "send");
}

static void post_write(struct side *s, struct place there)
{
	DAT_LMR_TRIPLET source = mine(&s->out);
	DAT_RMR_TRIPLET target = yours(there);

	MUST(dat_ep_post_rdma_write(s->ep, 1, &source, no_cookie, &target,
				    DAT_COMPLETION_DEFAULT_FLAG));
}

static void rdma_write(struct side *s, struct place there)
{
	post_write(s, there);
	wait_for_dto(s->request_evd, DAT_DTO_SUCCESS, "RDMA write");
}

static void rdma_read(struct side *s, struct place there)
{
	DAT_LMR_TRIPLET target = mine(&s->in);
	DAT_RMR_TRIPLET source = yours(there);

	MUST(dat_ep_post_rdma_read(s->ep, 1, &target, no_cookie, &source,
				   DAT_COMPLETION_DEFAULT_FLAG));
	wait_for_dto(s->request_evd, DAT_DTO_SUCCESS, "RDMA read");
}

/*
 * The connection ends because of a write that is not allowed. The side that notices it gets BROKEN;
 * the other side may only see that its peer has gone.
 */
static void wait_for_the_end(struct side *s)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(s->conn_evd, PATIENCE, 1, &event, &more));
	if (event.event_number != DAT_CONNECTION_EVENT_BROKEN &&
	    event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		stop("end of the connection: event 0x%x", event.event_number);
}

/* Opens `length` bytes of the window to the peer, under a new key. Length 0 closes it. */
static struct place bind_window(struct side *s, DAT_RMR_HANDLE rmr, DAT_VLEN length)
{
	const DAT_MEM_PRIV_FLAGS theirs =
		DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	DAT_LMR_TRIPLET segment = mine(&s->window);
	struct place here;
	DAT_EVENT event;

	memset(&here, 0, sizeof(here));
	here.address = segment.virtual_address;
	segment.segment_length = length;
	MUST(dat_rmr_bind(rmr, &segment, theirs, s->ep, no_cookie, DAT_COMPLETION_DEFAULT_FLAG,
			  &here.key));
	event = wait_for(s->request_evd, DAT_RMR_BIND_COMPLETION_EVENT, "RMR bind");
	if (event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
		stop("RMR bind: completed with status %d",
		     event.event_data.rmr_completion_event_data.status);
	return here;
}

/* ------------------------------------------------------------------------------- data, notes */

/* Each step has data of its own, which differ from all others in every byte. */
enum step { SEND = 1, REPLY, WRITE, READ, RMR_WRITE, RMR_READ, REFUSED };

static unsigned char data(enum step step, size_t i)
{
	return (unsigned char)(i * 167 + (i >> 8) * 13 + (size_t)step * 31);
}

static void fill(struct memory *m, enum step step)
{
	for (size_t i = 0; i < m->size; i++)
		m->byte[i] = data(step, i);
}

static void check(const struct memory *m, enum step step, const char *what)
{
	for (size_t i = 0; i < m->size; i++)
		if (m->byte[i] != data(step, i))
			stop("%s: byte %zu is 0x%02x and should be 0x%02x", what, i, m->byte[i],
			     data(step, i));
}

/* Sends a note, which says that the peer may go on, and with which memory. The two sides take turns, so one receive is enough. */
static void send_note(struct side *s, struct place place)
{
	memcpy(s->note_out.byte, &place, sizeof(place));
	send_out(s, &s->note_out);
}

static struct place await_note(struct side *s)
{
	struct place place;

	receive(s);
	memcpy(&place, s->note_in.byte, sizeof(place));
	post_receive(s, &s->note_in);
	return place;
}

static const struct place nowhere;

/* ------------------------------------------------------------------------------- the server */

static void accept_client(struct side *s, int pipe_to_client)
{
	struct place here = { s->shared.remote, (DAT_VADDR)(uintptr_t)s->shared.byte };
	DAT_CONN_QUAL port;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	/* Any free port will do. The client has to hear of it by some other way than uDAPL. */
	MUST(dat_psp_create_any(s->ia, &port, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	if (write(pipe_to_client, &port, sizeof(port)) != sizeof(port))
		stop("the client is gone");

	/* Where our memory is travels with the answer, as its private data. */
	event = wait_for(s->cr_evd, DAT_CONNECTION_REQUEST_EVENT, "connection request");
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, sizeof(here),
			   &here));
	wait_for(s->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "accept");
	MUST(dat_psp_free(psp));
}

static void server(struct side *s, int pipe_to_client)
{
	DAT_RMR_HANDLE rmr;

	post_receive(s, &s->in);
	post_receive(s, &s->note_in);
	accept_client(s, pipe_to_client);

	/* 1. Send and receive. */
	receive(s);
	check(&s->in, SEND, "what the client sent");
	fill(&s->out, REPLY);
	send_out(s, &s->out);

	/* 2. RDMA write: when the note is here, so is all that was written before it. */
	await_note(s);
	check(&s->shared, WRITE, "what the client wrote");

	/* 3. RDMA read: the client takes it without our doing. */
	fill(&s->shared, READ);
	send_note(s, nowhere);

	/* 4. The same two through a window. */
	await_note(s);
	MUST(dat_rmr_create(s->pz, &rmr));
	send_note(s, bind_window(s, rmr, SIZE));
	await_note(s);
	check(&s->window, RMR_WRITE, "what the client wrote through the window");
	fill(&s->window, RMR_READ);
	send_note(s, nowhere);

	/* 5. The window closes. The client tries it again: that breaks the connection, and leaves
	 * no trace in the memory. The end may be quicker than the completion of our last note. */
	await_note(s);
	bind_window(s, rmr, 0);
	memcpy(s->note_out.byte, &nowhere, sizeof(nowhere));
	post_send(s, &s->note_out);
	wait_for_the_end(s);
	check(&s->window, RMR_READ, "memory behind the closed window");
	MUST(dat_rmr_free(rmr));
}

/* ------------------------------------------------------------------------------- the client */

static struct place connect_to_server(struct side *s, int pipe_from_server)
{
	struct place there;
	DAT_CONN_QUAL port;
	DAT_IA_ATTR attr;
	DAT_EVENT event;

	if (read(pipe_from_server, &port, sizeof(port)) != sizeof(port))
		stop("the server ended before it listened");

	/* The server uses the same adapter, so its address is ours. */
	MUST(dat_ia_query(s->ia, &s->async_evd, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			  DAT_PROVIDER_FIELD_NONE, NULL));
	MUST(dat_ep_connect(s->ep, attr.ia_address_ptr, port, PATIENCE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = wait_for(s->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "connect");
	if (event.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof(there))
		stop("connect: the server's private data are too short");
	memcpy(&there, event.event_data.connect_event_data.private_data, sizeof(there));
	return there;
}

static void passed(const char *what)
{
	printf("PASS  %s\n", what);
	fflush(stdout);
}

static void client(struct side *s, int pipe_from_server)
{
	struct place shared, window;

	post_receive(s, &s->in);
	post_receive(s, &s->note_in);
	shared = connect_to_server(s, pipe_from_server);
	passed("connect         the server's private data name its memory");

	fill(&s->out, SEND);
	send_out(s, &s->out);
	receive(s);
	check(&s->in, REPLY, "what the server sent");
	passed("send, receive   65536 bytes there and 65536 back");

	fill(&s->out, WRITE);
	rdma_write(s, shared);
	send_note(s, nowhere);
	await_note(s);
	passed("RDMA write      65536 bytes into the server's memory");

	rdma_read(s, shared);
	check(&s->in, READ, "what was read from the server");
	passed("RDMA read       65536 bytes out of the server's memory");

	send_note(s, nowhere);
	window = await_note(s);
	fill(&s->out, RMR_WRITE);
	rdma_write(s, window);
	send_note(s, nowhere);
	await_note(s);
	passed("RMR bind        65536 bytes written through the window");
	rdma_read(s, window);
	check(&s->in, RMR_READ, "what was read through the window");
	passed("RMR bind        65536 bytes read through the window");

	send_note(s, nowhere);
	await_note(s);
	fill(&s->out, REFUSED);
	printf("NOTE  the window is closed now; a warning about the broken connection belongs to the next step\n");
	fflush(stdout);
	/* Where a write is complete when it has been sent (iWARP), its completion tells nothing yet. */
	post_write(s, window);
	wait_for(s->request_evd, DAT_DTO_COMPLETION_EVENT, "RDMA write");
	wait_for_the_end(s);
}

/* ------------------------------------------------------------------------------------- both */

int main(int argc, char **argv)
{
	const char *adapter = argc > 1 ? argv[1] : "soft0";
	struct side side;
	int pipe_fds[2], status;
	pid_t child;

	/* Fork first: what a process opened through uDAPL is not its child's to use. */
	if (pipe(pipe_fds) != 0 || (child = fork()) < 0) {
		perror("exchange");
		return 1;
	}
	if (child == 0) {
		me = "server";
		close(pipe_fds[0]);
		open_side(&side, adapter);
		server(&side, pipe_fds[1]);
		close_side(&side);
		return 0;
	}
	close(pipe_fds[1]);
	open_side(&side, adapter);
	client(&side, pipe_fds[0]);
	close_side(&side);

	if (waitpid(child, &status, 0) != child || status != 0)
		stop("the server failed");
	passed("RMR unbind      the closed window refuses the next write, and nothing changed");
	printf("All bytes were checked by the side that got them.\n");
	return 0;
}
