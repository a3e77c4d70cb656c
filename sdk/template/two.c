/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes exchange data over an adapter: they connect, send, write and read each other's memory,
 * and disconnect. The receiver checks each byte. If the adapter connects endpoints of one process only,
 * as its attribute `reach` says, two threads do that instead.
 *
 *	./two ADAPTER		exit status 0: all is well; 1: it is not, and stderr says what
 *
 * It is a first test of a wire, small enough to be followed in a debugger. Run datconform after it. The
 * child or the second thread is the server, the parent the client; both execute the same steps, in
 * conversation().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

#define SIZE	 65536 /* bytes of the longest transfer, if the adapter has no limit below */
#define PATIENCE (10 * 1000000u) /* for an event, in microseconds */

/* Each side has its own, whether it is a process or a thread. */
#define OWN static _Thread_local

OWN const char *me = "client";
static const char *adapter;

static _Noreturn void stop(const char *what, const char *why, const char *more)
{
	fprintf(stderr, "two (%s): %s: %s %s\n", me, what, why, more);
	_exit(1);
}

static void must(DAT_RETURN ret, const char *call)
{
	const char *type = "an unknown error", *detail = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &detail);
	stop(call, type, detail);
}

#define MUST(call) must((call), #call)

/* ------------------------------------------------------------------ what each side has */

/* Memory that the peer may write and read. It is sent in binary form, because both sides are one program. */
struct target {
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
};

OWN DAT_IA_HANDLE ia;
OWN DAT_PZ_HANDLE pz;
OWN DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, request_evd;
OWN DAT_EP_HANDLE ep;
OWN DAT_IA_ATTR attr;
OWN DAT_LMR_HANDLE lmr;
OWN DAT_LMR_CONTEXT local;
OWN struct target here, there;
OWN size_t size; /* of each of these four, which are one region */
OWN unsigned char *out, *in, *shared, *copy;

static size_t at_most(size_t a, unsigned long long b)
{
	return a < b ? a : (size_t)b;
}

/* Opens the adapter for a moment, to look at its attributes. */
static bool stays_in_process(void)
{
	bool stays = false;

	MUST(dat_ia_open((DAT_NAME_PTR)adapter, 8, &async_evd, &ia));
	MUST(dat_ia_query(ia, &async_evd, DAT_IA_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	for (DAT_COUNT i = 0; i < attr.num_transport_attr; i++)
		if (!strcmp(attr.transport_attr[i].name, "reach") &&
		    !strcmp(attr.transport_attr[i].value, "process"))
			stays = true;
	MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	async_evd = DAT_HANDLE_NULL;
	return stays;
}

static void set_up(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN length;
	DAT_VADDR address;

	MUST(dat_ia_open((DAT_NAME_PTR)adapter, 8, &async_evd, &ia));
	MUST(dat_ia_query(ia, &async_evd, DAT_IA_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	size = at_most(at_most(SIZE, attr.max_mtu_size), attr.max_rdma_size);
	MUST(dat_pz_create(ia, &pz));
	MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
	MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &recv_evd));
	MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &request_evd));
	MUST(dat_ep_create(ia, pz, recv_evd, request_evd, conn_evd, NULL, &ep));
	out = calloc(4, size);
	if (!out)
		stop("memory", "there is none", "");
	in = out + size;
	shared = in + size;
	copy = shared + size;
	region.for_va = out;
	MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 4 * size, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, &local, &here.key, &length, &address));
	here.address = (DAT_VADDR)(uintptr_t)shared;
}

static void tear_down(void)
{
	MUST(dat_ep_free(ep));
	MUST(dat_lmr_free(lmr));
	free(out);
	MUST(dat_evd_free(request_evd));
	MUST(dat_evd_free(recv_evd));
	MUST(dat_evd_free(conn_evd));
	MUST(dat_evd_free(cr_evd));
	MUST(dat_pz_free(pz));
	MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ------------------------------------------------------------------ events and data */

static DAT_EVENT wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char *what)
{
	char came[32];
	DAT_EVENT event;
	DAT_COUNT more;

	must(dat_evd_wait(evd, PATIENCE, 1, &event, &more), what);
	snprintf(came, sizeof(came), "0x%x", event.event_number);
	if (event.event_number != number)
		stop(what, "another event came:", came);
	return event;
}

static void wait_for_dto(DAT_EVD_HANDLE evd, size_t length, const char *what)
{
	DAT_EVENT event = wait_for(evd, DAT_DTO_COMPLETION_EVENT, what);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	char text[64];

	snprintf(text, sizeof(text), "%d, with %llu bytes of %zu", dto->status,
		 (unsigned long long)dto->transfered_length, length);
	if (dto->status != DAT_DTO_SUCCESS || dto->transfered_length != length)
		stop(what, "it completed with status", text);
}

static DAT_LMR_TRIPLET segment(const unsigned char *at, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = local,
				  .virtual_address = (DAT_VADDR)(uintptr_t)at,
				  .segment_length = length };
}

/* Returns byte i of a transfer. Each transfer has a number, and its own contents. */
static unsigned char byte(int number, size_t i)
{
	return (unsigned char)(i * 167 + (i >> 8) * 13 + (size_t)number * 31);
}

static void fill(unsigned char *to, int number, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = byte(number, i);
}

static void check(const unsigned char *got, int number, size_t length, const char *what)
{
	char text[64];

	for (size_t i = 0; i < length; i++) {
		snprintf(text, sizeof(text), "%zu is 0x%02x and should be 0x%02x", i, got[i],
			 byte(number, i));
		if (got[i] != byte(number, i))
			stop(what, "byte", text);
	}
}

/* ------------------------------------------------------------------ transfers */

static const DAT_DTO_COOKIE no_cookie;

static void post_receive(void)
{
	DAT_LMR_TRIPLET into = segment(in, size);

	MUST(dat_ep_post_recv(ep, 1, &into, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void say(int number, size_t length)
{
	DAT_LMR_TRIPLET from = segment(out, length);

	fill(out, number, length);
	MUST(dat_ep_post_send(ep, 1, &from, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	wait_for_dto(request_evd, length, "send");
}

/* The next receive is posted before the answer, so that the peer always finds one. */
static void hear(int number, size_t length)
{
	wait_for_dto(recv_evd, length, "receive");
	check(in, number, length, "receive");
	post_receive();
}

static void rdma(bool write, int number)
{
	DAT_LMR_TRIPLET mine = segment(write ? out : copy, size);
	DAT_RMR_TRIPLET yours = { .rmr_context = there.key,
				  .target_address = there.address,
				  .segment_length = size };

	if (write) {
		fill(out, number, size);
		MUST(dat_ep_post_rdma_write(ep, 1, &mine, no_cookie, &yours,
					    DAT_COMPLETION_DEFAULT_FLAG));
		wait_for_dto(request_evd, size, "RDMA write");
	} else {
		MUST(dat_ep_post_rdma_read(ep, 1, &mine, no_cookie, &yours,
					   DAT_COMPLETION_DEFAULT_FLAG));
		wait_for_dto(request_evd, size, "RDMA read");
		check(copy, number, size, "RDMA read");
	}
}

/* ------------------------------------------------------------------ the conversation */

/* Takes the peer's key and address from the private data of its request or answer. */
static void remember(const void *pdata, DAT_COUNT length)
{
	if (length < (DAT_COUNT)sizeof(there))
		stop("private data", "they are too short", "");
	memcpy(&there, pdata, sizeof(there));
}

static void be_found(int to_client)
{
	DAT_CR_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;

	MUST(dat_psp_create_any(ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	if (write(to_client, &qual, sizeof(qual)) != sizeof(qual))
		stop("connect", "the client is gone", "");
	cr = wait_for(cr_evd, DAT_CONNECTION_REQUEST_EVENT, "connection request")
		     .event_data.cr_arrival_event_data.cr_handle;
	MUST(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	remember(param.private_data, param.private_data_size);
	MUST(dat_cr_accept(cr, ep, sizeof(here), &here));
	wait_for(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "accept");
	MUST(dat_psp_free(psp));
}

static void find(int from_server)
{
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	if (read(from_server, &qual, sizeof(qual)) != sizeof(qual))
		stop("connect", "the server ended before it listened", "");
	MUST(dat_ep_connect(ep, attr.ia_address_ptr, qual, PATIENCE, sizeof(here), &here,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = wait_for(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "connect");
	data = &event.event_data.connect_event_data;
	remember(data->private_data, data->private_data_size);
}

static void conversation(bool client)
{
	const size_t lengths[] = { 1, 0, size / 3, size };
	int number = 0;

	for (int i = 0; i < 4; i++) {
		number++;
		client ? say(number, lengths[i]) : hear(number, lengths[i]);
		client ? hear(number, lengths[i]) : say(number, lengths[i]);
	}
	/* Each side writes into the other's memory, reports that by a message, and checks what has been written here. */
	rdma(true, 11 + client);
	say(21, 1);
	hear(21, 1);
	check(shared, 11 + !client, size, "what the peer wrote");
	/* Each side reads back from the peer what it has written there. */
	rdma(false, 11 + client);
	say(22, 1);
	hear(22, 1);
	if (client)
		MUST(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	wait_for(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnect");
}

/* Everything that one side does. */
static void talk(bool client, int fd)
{
	set_up();
	post_receive();
	if (client)
		find(fd);
	else
		be_found(fd);
	conversation(client);
	tear_down();
}

static void *server_thread(void *fd)
{
	me = "server";
	talk(false, *(int *)fd);
	return NULL;
}

static void talk_in_process(int fds[2])
{
	pthread_t server;

	if (pthread_create(&server, NULL, server_thread, &fds[1]))
		stop("threads", "there is none", "");
	talk(true, fds[0]);
	pthread_join(server, NULL);
}

static void talk_to_child(int fds[2])
{
	int status;
	pid_t child = fork();

	if (child < 0)
		stop("fork", "it failed", "");
	if (!child)
		me = "server";
	close(fds[!child ? 0 : 1]);
	talk(child != 0, fds[child ? 0 : 1]);
	if (!child)
		exit(0);
	if (waitpid(child, &status, 0) != child || status)
		stop("the end", "the server failed", "");
}

int main(int argc, char **argv)
{
	int fds[2];
	bool inside;

	if (argc != 2) {
		fprintf(stderr, "usage: two ADAPTER\n");
		return 1;
	}
	adapter = argv[1];
	inside = stays_in_process();
	if (pipe(fds))
		stop("pipe", "it failed", "");
	if (inside)
		talk_in_process(fds);
	else
		talk_to_child(fds);
	printf("two %s talked over %s, and every byte was right\n", inside ? "threads" : "processes", adapter);
	return 0;
}
