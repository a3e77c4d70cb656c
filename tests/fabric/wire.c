/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side of a conversation that uses each kind of message between two hosts: private data both ways, rejection, send and receive,
 * RDMA Write and Read, and a graceful disconnect. This file is built twice, as wire12 over our libdat and, with WIRE_DAT2, as
 * wire20 over OFED's libdat2. The test is whether the two interoperate. Both sides have the same machine type.
 */
#include <stdint.h>
#ifdef WIRE_DAT2
#include <dat2/udat.h>
#else
#include <dat/udat.h>
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AREA	 65536 /* the length in bytes of the areas for RDMA Writes and Reads */
#define MESSAGE	 64
#define MESSAGES 4
#define PATIENCE (60 * 1000000u)

enum { TO_WRITE = 0x11, TO_READ = 0x77 };

/* The contents of a message. The first one of each side states its key and addresses. */
struct message {
	uint32_t key, step;
	uint64_t written, read;
};

/*
 * In this order: buffers of incoming messages, one outgoing message, the area that the peer writes, the area that it reads, and the
 * local area of this side's own Writes and Reads.
 */
struct memory {
	unsigned char in[MESSAGES][MESSAGE];
	unsigned char out[MESSAGE];
	unsigned char written[AREA];
	unsigned char read[AREA];
	unsigned char local[AREA];
};

static struct memory mem __attribute__((aligned(4096)));
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, request_evd;
static DAT_PZ_HANDLE pz;
static DAT_EP_HANDLE ep;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_key;
static DAT_RMR_CONTEXT rmr_key;
static unsigned heard;

static void stop(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void must(DAT_RETURN ret, const char *call)
{
	const char *type = "?", *detail = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &detail);
	stop("%s: %s %s", call, type, detail);
}

#define MUST(call) must((call), #call)

static void open_side(const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = &mem };
	DAT_VLEN length;
	DAT_VADDR address;

	MUST(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async_evd, &ia));
	MUST(dat_pz_create(ia, &pz));
	MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
	MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &recv_evd));
	MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &request_evd));
	MUST(dat_ep_create(ia, pz, recv_evd, request_evd, conn_evd, NULL, &ep));
#ifdef WIRE_DAT2
	MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), pz,
			    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &lmr_key, &rmr_key,
			    &length, &address));
#else
	MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_key, &rmr_key, &length, &address));
#endif
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, const char *what)
{
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), what);
	return event;
}

static void completed(DAT_EVD_HANDLE evd, const char *what)
{
	DAT_EVENT event = next(evd, what);

	if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		stop("%s: event 0x%x, status %d", what, event.event_number,
		     event.event_data.dto_completion_event_data.status);
}

static DAT_LMR_TRIPLET piece(void *at, size_t size)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = lmr_key,
				  .virtual_address = (uintptr_t)at,
				  .segment_length = size };
}

static const DAT_DTO_COOKIE cookie;

static void post_messages(void)
{
	for (unsigned i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET to = piece(mem.in[i], MESSAGE);

		MUST(dat_ep_post_recv(ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void post_step(uint32_t step)
{
	struct message message = { .key = rmr_key,
				   .step = step,
				   .written = (uintptr_t)mem.written,
				   .read = (uintptr_t)mem.read };
	DAT_LMR_TRIPLET from = piece(mem.out, MESSAGE);

	memcpy(mem.out, &message, sizeof(message));
	MUST(dat_ep_post_send(ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void send_step(uint32_t step)
{
	post_step(step);
	completed(request_evd, "send");
}

static struct message await_step(uint32_t step)
{
	struct message message;

	completed(recv_evd, "receive");
	memcpy(&message, mem.in[heard++], sizeof(message));
	if (message.step != step)
		stop("message %u instead of %u", message.step, step);
	return message;
}

static void fill(unsigned char *area, unsigned char seed)
{
	for (size_t i = 0; i < AREA; i++)
		area[i] = (unsigned char)(seed + i * 13 + (i >> 8));
}

static void check(const unsigned char *area, unsigned char seed, const char *what)
{
	for (size_t i = 0; i < AREA; i++) {
		if (area[i] != (unsigned char)(seed + i * 13 + (i >> 8)))
			stop("%s: byte %zu is wrong", what, i);
	}
	printf("%s: %d bytes\n", what, AREA);
}

static DAT_RMR_TRIPLET theirs(const struct message *there, uint64_t address)
{
#ifdef WIRE_DAT2
	return (DAT_RMR_TRIPLET){ .rmr_context = there->key,
				  .virtual_address = address,
				  .segment_length = AREA };
#else
	return (DAT_RMR_TRIPLET){ .rmr_context = there->key,
				  .target_address = address,
				  .segment_length = AREA };
#endif
}

/* The text ends at the first NUL or at the end of the private data, because InfiniBand pads private data with zeros. */
static void print_private(const char *what, const void *data, DAT_COUNT size)
{
	printf("%s: %d bytes: %.*s\n", what, size, size > 0 ? (int)size : 0,
	       size > 0 ? (const char *)data : "");
}

/* For the client: the server's area that it may write to. */
static DAT_RMR_TRIPLET target;

static void client_talks(void)
{
	DAT_LMR_TRIPLET local = piece(mem.local, AREA);
	DAT_RMR_TRIPLET remote;
	struct message there;

	send_step(1);
	there = await_step(2);
	fill(mem.local, TO_WRITE);
	remote = target = theirs(&there, there.written);
	MUST(dat_ep_post_rdma_write(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	completed(request_evd, "RDMA write");
	send_step(3);
	await_step(4);
	remote = theirs(&there, there.read);
	MUST(dat_ep_post_rdma_read(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	completed(request_evd, "RDMA read");
	check(mem.local, TO_READ, "read");
	send_step(5);
	await_step(6);
	/* The side that sends last disconnects, because over siw the peer's disconnect may overtake the completion of a send. */
	send_step(7);
}

static void server_talks(void)
{
	DAT_LMR_TRIPLET local = piece(mem.local, AREA);
	DAT_RMR_TRIPLET remote;
	struct message there = await_step(1);

	send_step(2);
	await_step(3);
	check(mem.written, TO_WRITE, "written");
	fill(mem.read, TO_READ);
	send_step(4);
	await_step(5);
	/* The server writes and reads too, so that the client is the target of both. */
	fill(mem.local, TO_READ);
	remote = theirs(&there, there.written);
	MUST(dat_ep_post_rdma_write(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	completed(request_evd, "RDMA write");
	memset(mem.local, 0, AREA);
	MUST(dat_ep_post_rdma_read(ep, 1, &local, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG));
	completed(request_evd, "RDMA read");
	check(mem.local, TO_READ, "read back");
	/* The client's end may be quicker than the completion of this message, so only the answer to it counts. */
	post_step(6);
	await_step(7);
}

/* Waits until the connection ends. Returns the event, which is DISCONNECTED or BROKEN. */
static DAT_EVENT_NUMBER end_of(void)
{
	DAT_EVENT event = next(conn_evd, "end");

	if (event.event_number != DAT_CONNECTION_EVENT_BROKEN &&
	    event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		stop("the connection ended with event 0x%x", event.event_number);
	printf("%s\n", event.event_number == DAT_CONNECTION_EVENT_BROKEN ? "broken"
									 : "disconnected");
	return event.event_number;
}

/* The device is removed: the connection ends, and then the adapter reports the loss. */
static void lose(void)
{
	DAT_EVENT event;

	end_of();
	event = next(async_evd, "loss of the device");
	if (event.event_number != DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		stop("asynchronous event 0x%x", event.event_number);
	printf("device lost\n");
}

/* `how`: serve, reject, or lose */
static void serve(DAT_CONN_QUAL qual, char *text, const char *how)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_EVENT event;

	MUST(dat_psp_create(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	printf("listening\n");
	fflush(stdout);
	event = next(cr_evd, "request");
	arrival = &event.event_data.cr_arrival_event_data;
	MUST(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param));
	print_private("requested with", param.private_data, param.private_data_size);
	if (!strcmp(how, "reject")) {
#ifdef WIRE_DAT2
		MUST(dat_cr_reject(arrival->cr_handle, (DAT_COUNT)strlen(text), text));
#else
		MUST(dat_cr_reject(arrival->cr_handle));
#endif
		MUST(dat_psp_free(psp));
		return;
	}
	post_messages();
	MUST(dat_cr_accept(arrival->cr_handle, ep, (DAT_COUNT)strlen(text), text));
	event = next(conn_evd, "establishment");
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		stop("accepted, and then event 0x%x", event.event_number);
	server_talks();
	if (!strcmp(how, "lose"))
		lose();
	else if (end_of() != DAT_CONNECTION_EVENT_DISCONNECTED)
		stop("the client's disconnect is no disconnect here");
	(void)dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
	MUST(dat_psp_free(psp));
}

/* Keeps the connection until something else ends it, and then the adapter until standard input ends. */
static void hold(void)
{
	char byte;

	printf("holding\n");
	end_of();
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

/* Writes until a write fails because the connection ends. Each write that was posted completes. */
static void stream(void)
{
	DAT_LMR_TRIPLET local = piece(mem.local, AREA);
	DAT_EVENT event;

	printf("streaming\n");
	while (dat_ep_post_rdma_write(ep, 1, &local, cookie, &target,
				      DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS) {
		event = next(request_evd, "completion of a write");
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;
	}
}

static void connect_to(const char *host, DAT_CONN_QUAL qual, char *text, const char *then)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const DAT_CONNECTION_EVENT_DATA *connection;
	DAT_EVENT event;

	if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
		stop("%s is not an address", host);
	post_messages();
	MUST(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&at, qual, PATIENCE, (DAT_COUNT)strlen(text),
			    text, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = next(conn_evd, "connection");
	connection = &event.event_data.connect_event_data;
	switch (event.event_number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		printf("peer rejected\n");
		if (connection->private_data_size)
			print_private("rejected with", connection->private_data, connection->private_data_size);
		return;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		printf("non-peer rejected\n");
		return;
	default:
		stop("connect: event 0x%x", event.event_number);
	}
	print_private("accepted with", connection->private_data, connection->private_data_size);
	client_talks();
	if (!then) {
		MUST(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
		if (end_of() != DAT_CONNECTION_EVENT_DISCONNECTED)
			stop("our disconnect is no disconnect");
	} else if (!strcmp(then, "hold")) {
		hold();
	} else {
		stream();
		if (!strcmp(then, "lose"))
			lose();
		else
			end_of();
	}
}

/*
 * The conversation is over. wire20 does not close its adapter, because OFED's library sometimes crashes there in a race with a
 * thread of its own, which has nothing to do with this test.
 */
static _Noreturn void finish(void)
{
#ifdef WIRE_DAT2
	fflush(stdout);
	_exit(0);
#else
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	exit(0);
#endif
}

int main(int argc, char **argv)
{
	if (argc < 5)
		stop("usage: wire ADAPTER serve|reject|lose QUAL TEXT\n"
		     "       wire ADAPTER ADDRESS QUAL TEXT [hold|stream|lose]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_side(argv[1]);
	if (!strcmp(argv[2], "serve") || !strcmp(argv[2], "reject") || !strcmp(argv[2], "lose"))
		serve(strtoull(argv[3], NULL, 0), argv[4], argv[2]);
	else
		connect_to(argv[2], strtoull(argv[3], NULL, 0), argv[4], argc > 5 ? argv[5] : NULL);
	finish();
}
