/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path of DAT 2.0 over a plugin with functions of its own for it, over one whose functions the SDK has generated,
 * and over one of SDK 0.7, for which libdatp converts: a program cannot tell them apart. Two endpoints of this process
 * exchange data, and all fields of each event are looked at, and what is around them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/report20.h"

#define SIZE	16384
#define SECONDS	10000000

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, conn, requests, receives, cr;
static DAT_EP_HANDLE active, passive;
static DAT_LMR_CONTEXT context;
static DAT_RMR_CONTEXT target_context;
static char memory[SIZE] __attribute__((aligned(4096)));
static void report_of(const char *plugin, const char *what)
{
	char name[160];

	snprintf(name, sizeof(name), "%s: %s", plugin, what);
	report(name);
}

#define IS(call, type, subtype) returns(call, ERROR(type, subtype), #call)

static DAT_LMR_TRIPLET segment(unsigned int at, DAT_SEG_LENGTH length)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(unsigned long)(memory + at), length, context };
}

static DAT_RMR_TRIPLET target(unsigned int at, DAT_SEG_LENGTH length)
{
	return (DAT_RMR_TRIPLET){ (DAT_VADDR)(unsigned long)(memory + at), length, target_context };
}

/* Polls for the completion of an operation, and looks at all of its event. */
static void completes(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_DTOS operation, DAT_UINT64 cookie, DAT_SEG_LENGTH length)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	DAT_RETURN ret;
	long tries = 0;

	memset(&event, 0xa5, sizeof(event));
	dto = &event.event_data.dto_completion_event_data;
	do {
		ret = dat_evd_dequeue(evd, &event);
		if (ret == DAT_QUEUE_EMPTY && tries++ > 1000)
			usleep(1000);
	} while (ret == DAT_QUEUE_EMPTY && tries < 11000);
	returns(ret, DAT_SUCCESS, "dat_evd_dequeue");
	expect(event.event_number == DAT_DTO_COMPLETION_EVENT && event.evd_handle == evd, "the event is another one");
	expect(dto->ep_handle == ep && dto->user_cookie.as_64 == cookie, "it is about another operation");
	expect(dto->status == DAT_DTO_SUCCESS, "it has failed");
	expect(dto->operation == operation, "the operation has another name");
	expect(dto->transfered_length == length, "the length is wrong");
	expect(dto->rmr_context == 0, "the RMR context is not 0");
	expect(event.event_extension_data[0] == 0xa5a5a5a5a5a5a5a5u, "what is behind it is written");
}

static void is_empty(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	returns(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, "dat_evd_dequeue of an empty queue");
}

/* ------------------------------------------------------------------ set-up */

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, &event, &more));
	return event;
}

static void create(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;

	SUCCEEDS(dat_pz_create(ia, &pz));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr));
	SUCCEEDS(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &requests));
	SUCCEEDS(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &receives));
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
				&context, &target_context, NULL, NULL));
	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &active));
	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &passive));
}

static void connect_them(const DAT_IA_ATTR *attr)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	SUCCEEDS(dat_psp_create_any(ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_ep_connect(active, attr->ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	event = next(cr);
	if (differs)
		return;
	SUCCEEDS(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
	for (int side = 0; side < 2; side++)
		expect(next(conn).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "there is no connection");
}

static int opens(const char *name)
{
	DAT_IA_ATTR attr;

	async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &async, &ia));
	if (differs)
		return 0;
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	create();
	if (!differs)
		connect_them(&attr);
	return !differs;
}

/* ------------------------------------------------------------------ the tests */

static const DAT_DTO_COOKIE first = { .as_64 = 0x1122334455667788u }, second = { .as_64 = 0x99 };

/* A message of `n` segments, with receives of as many. The sender's completion may be suppressed. */
static void send_one(int n, DAT_COMPLETION_FLAGS flags, DAT_SEG_LENGTH length)
{
	DAT_LMR_TRIPLET out[2] = { segment(0, length), segment(4096, length) };
	DAT_LMR_TRIPLET in[2] = { segment(8192, length), segment(12288, length) };

	memset(memory, 0, SIZE);
	memset(memory, 0x5a, length);
	memset(memory + 4096, 0x6b, length);
	SUCCEEDS(dat_ep_post_recv(passive, n, in, first, DAT_COMPLETION_DEFAULT_FLAG));
	SUCCEEDS(dat_ep_post_send(active, n, out, second, flags));
	completes(receives, passive, DAT_DTO_RECEIVE, first.as_64, (DAT_SEG_LENGTH)n * length);
	if (flags == DAT_COMPLETION_DEFAULT_FLAG)
		completes(requests, active, DAT_DTO_SEND, second.as_64, (DAT_SEG_LENGTH)n * length);
	else
		is_empty(requests);
	is_empty(receives);
	expect(memcmp(memory, memory + 8192, length) == 0, "the data have not arrived");
	expect(n < 2 || memcmp(memory + 4096, memory + 12288, length) == 0, "the second part has not arrived");
}

static void rdma(void)
{
	DAT_LMR_TRIPLET local = segment(0, 100), sink = segment(4096, 80);
	DAT_RMR_TRIPLET written = target(8192, 100), read = target(8192, 80);

	memset(memory, 0, SIZE);
	memset(memory, 0x7c, 100);
	SUCCEEDS(dat_ep_post_rdma_write(active, 1, &local, first, &written, DAT_COMPLETION_DEFAULT_FLAG));
	completes(requests, active, DAT_DTO_RDMA_WRITE, first.as_64, 100);
	expect(memcmp(memory, memory + 8192, 100) == 0 && memory[8192 + 100] == 0, "the data have not been written");
	SUCCEEDS(dat_ep_post_rdma_read(active, 1, &sink, second, &read, DAT_COMPLETION_DEFAULT_FLAG));
	completes(requests, active, DAT_DTO_RDMA_READ, second.as_64, 80);
	expect(memcmp(memory, memory + 4096, 80) == 0 && memory[4096 + 80] == 0, "the data have not been read");
	is_empty(requests);
}

/* Values of 2.0, whose subtypes have other numbers than those of 1.2. */
static void refusals(void)
{
	DAT_LMR_TRIPLET local = segment(0, 8), outside = segment(SIZE - 4, 8);
	DAT_RMR_TRIPLET shorter = target(0, 4);
	DAT_EVENT event;

	IS(dat_ep_post_send(active, -1, &local, first, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	IS(dat_ep_post_send(active, 1, NULL, first, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	IS(dat_ep_post_send(active, 1000, &local, first, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	returns(DAT_GET_TYPE(dat_ep_post_send(active, 1, &local, first, (DAT_COMPLETION_FLAGS)0x100)), DAT_INVALID_PARAMETER,
		"a post with a flag that there is not");
	returns(DAT_GET_TYPE(dat_ep_post_recv(passive, 1, &local, first, DAT_COMPLETION_SUPPRESS_FLAG)), DAT_INVALID_PARAMETER,
		"a suppressed receive");
	IS(dat_ep_post_rdma_write(active, 1, &local, first, NULL, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	IS(dat_ep_post_rdma_read(active, 1, &local, first, NULL, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	IS(dat_ep_post_rdma_write(active, 1, &local, first, &shorter, 0), DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	returns(DAT_GET_TYPE(dat_ep_post_recv(passive, 1, &outside, first, 0)), DAT_INVALID_PARAMETER, "memory outside the LMR");
	IS(dat_evd_dequeue(requests, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	IS(dat_evd_dequeue(conn, &event), DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	is_empty(requests);
	is_empty(receives);
}

/* The state of the endpoint is a subtype that 2.0 numbers otherwise. */
static void unconnected(void)
{
	DAT_LMR_TRIPLET local = segment(0, 8);
	DAT_EP_HANDLE ep;

	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &ep));
	IS(dat_ep_post_send(ep, 1, &local, first, 0), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
	SUCCEEDS(dat_ep_free(ep));
}

static void over(const char *name)
{
	if (!opens(name)) {
		report_of(name, "two endpoints are connected");
		return;
	}
	report_of(name, "two endpoints are connected");
	for (int i = 0; i < 100; i++)
		send_one(1, DAT_COMPLETION_DEFAULT_FLAG, 64);
	report_of(name, "a hundred short messages");
	send_one(1, DAT_COMPLETION_SUPPRESS_FLAG, 64);
	report_of(name, "a message whose sender wants no completion");
	send_one(1, DAT_COMPLETION_DEFAULT_FLAG, 4000);
	report_of(name, "a message that is not short");
	send_one(2, DAT_COMPLETION_DEFAULT_FLAG, 64);
	report_of(name, "a message of two segments");
	rdma();
	report_of(name, "an RDMA Write and an RDMA Read");
	refusals();
	report_of(name, "refused calls return values of 2.0");
	unconnected();
	report_of(name, "a post on an endpoint without a connection");
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	report_of(name, "it closes");
}

/* ------------------------------------------------------------------ at level debug */

/* The child: at level debug it dequeues into no event, twice. Its stderr is that of the caller. */
static int dequeues_nothing(const char *name)
{
	DAT_EVD_HANDLE evd;

	is_child = 1;
	setenv("DAT_LOG", "debug", 1);
	if (!opens(name))
		return 1;
	SUCCEEDS(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	for (int i = 0; i < 2; i++)
		IS(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	is_empty(evd);
	return differs;
}

/* A process of its own, because the level is read once. */
static void refused_dequeue(const char *name)
{
	const char *refused = "dat_evd_dequeue is refused", *cause = "event is NULL", *found;
	FILE *said = tmpfile();
	char text[65536];
	int status = 1;
	pid_t child;

	fflush(stdout);
	child = said ? fork() : -1;
	if (child == 0) {
		dup2(fileno(said), STDERR_FILENO);
		status = dequeues_nothing(name);
		fflush(stdout);
		_exit(status);
	}
	expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child has failed");
	text[said && !fseek(said, 0, SEEK_SET) ? fread(text, 1, sizeof(text) - 1, said) : 0] = '\0';
	found = strstr(text, refused);
	expect(found && strstr(found, cause), "no message names the argument");
	expect(!found || !strstr(found + 1, refused), "it comes twice");
	if (said)
		fclose(said);
	report_of(name, "at level debug a dequeue says once that its event is NULL");
}

int main(void)
{
	static const char *const plugins[][2] = { { "own", SOFT_PLUGIN }, { "generated", GENERATED_PLUGIN },
						  { "converted", CONVERTED_PLUGIN } };
	char conf[] = "/tmp/opendat-fast-XXXXXX";
	int fd = mkstemp(conf);

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; fd >= 0 && i < 3; i++)
		if (dprintf(fd, "%s u2.0 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n", plugins[i][0], plugins[i][1]) < 0)
			fd = -1;
	if (fd < 0) {
		printf("Bail out! cannot write %s\n", conf);
		return 99;
	}
	close(fd);
	setenv("DAT_OVERRIDE", conf, 1);
	for (int i = 0; i < 3; i++)
		refused_dequeue(plugins[i][0]);
	for (int i = 0; i < 3; i++)
		over(plugins[i][0]);
	unlink(conf);
	printf("1..%d\n", tests);
	return failed > 0;
}
