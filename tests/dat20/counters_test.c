/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of the extensions: calls, objects, connections and events of an adapter, which are always counted, and posts and
 * dequeues, which are if the line says counters=on. Two endpoints of this process connect and exchange a few messages.
 * Usage: counters_test [PLAIN COUNTED], two adapters of which the second one counts.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "tests/dat20/report20.h"

#define SIZE	4096
#define PATIENCE_US	60000000
#define MESSAGE	100
#define ATOMIC_TOO ((DAT_MEM_PRIV_FLAGS)((int)DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC))

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, conn, requests, receives, cr;
static DAT_EP_HANDLE active, passive;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static DAT_IA_ATTR attr;
static DAT_LMR_CONTEXT context;
static DAT_RMR_CONTEXT target_context;
static DAT_LMR_HANDLE lmr;
static char memory[SIZE] __attribute__((aligned(4096)));

static void report_of(const char *name, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", name, what);
	report(text);
}

/* Expects a counter of an object to have this value. */
static void counts(DAT_HANDLE object, int counter, DAT_UINT64 wanted, const char *name)
{
	DAT_UINT64 value = 77;

	returns(dat_ib_query_counters(object, counter, &value, 0), DAT_SUCCESS, name);
	if (value == wanted)
		return;
	printf("# %s is %llu, not %llu\n", name, (unsigned long long)value, (unsigned long long)wanted);
	differs = 1;
}
#define COUNTS(object, counter, wanted) counts(object, counter, wanted, #counter)

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	SUCCEEDS(dat_evd_wait(evd, PATIENCE_US, 1, &event, &more));
	return event;
}

static int open_and_create(const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &async, &ia));
	if (differs)
		return 0;
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	SUCCEEDS(dat_pz_create(ia, &pz));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr));
	SUCCEEDS(dat_evd_create(ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG), &requests));
	SUCCEEDS(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &receives));
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, ATOMIC_TOO, DAT_VA_TYPE_VA, &lmr, &context,
				&target_context, NULL, NULL));
	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &active));
	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &passive));
	SUCCEEDS(dat_psp_create_any(ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	return !differs;
}

static DAT_LMR_TRIPLET piece(unsigned int at, DAT_SEG_LENGTH length)
{
	return (DAT_LMR_TRIPLET){ (DAT_VADDR)(unsigned long)(memory + at), length, context };
}

/* An attempt that is rejected, and one that is accepted. Receives are posted first, as iWARP wants. */
static void connect_them(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET sink = piece(1024, 512);
	DAT_EP_HANDLE refused;
	DAT_EVENT event;

	SUCCEEDS(dat_ep_create(ia, pz, receives, requests, conn, NULL, &refused));
	SUCCEEDS(dat_ep_connect(refused, attr.ia_address_ptr, qual, PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	event = next(cr);
	SUCCEEDS(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	expect(next(conn).event_number == DAT_CONNECTION_EVENT_PEER_REJECTED, "the attempt is not rejected");
	SUCCEEDS(dat_ep_free(refused));
	for (int i = 0; i < 3; i++)
		SUCCEEDS(dat_ep_post_recv(passive, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	SUCCEEDS(dat_ep_connect(active, attr.ia_address_ptr, qual, PATIENCE_US, 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	event = next(cr);
	SUCCEEDS(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
	for (int side = 0; side < 2; side++)
		expect(next(conn).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "there is no connection");
}

/* Three messages, a write and a read. */
static void exchange(void)
{
	DAT_RMR_TRIPLET there = { (DAT_VADDR)(unsigned long)(memory + 2048), 64, target_context };
	DAT_LMR_TRIPLET source = piece(0, MESSAGE), sixty = piece(512, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 2 };

	for (int i = 0; i < 3; i++) {
		SUCCEEDS(dat_ep_post_send(active, 1, &source, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		(void)next(requests);
		(void)next(receives);
	}
	SUCCEEDS(dat_ep_post_rdma_write(active, 1, &sixty, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	(void)next(requests);
	SUCCEEDS(dat_ep_post_rdma_read(active, 1, &sixty, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	(void)next(requests);
}

static void is_empty(DAT_EVD_HANDLE evd, int times)
{
	DAT_EVENT event;

	for (int i = 0; i < times; i++)
		returns(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, "dat_evd_dequeue");
}

/* ------------------------------------------------------------------ what is always counted */

static void adapter_counters(void)
{
	COUNTS(ia, DCNT_IA_PZ_CREATE, 1);
	COUNTS(ia, DCNT_IA_PZ_FREE, 0);
	COUNTS(ia, DCNT_IA_LMR_CREATE, 1);
	COUNTS(ia, DCNT_IA_EVD_CREATE, 5); /* with the asynchronous one */
	COUNTS(ia, DCNT_IA_EP_CREATE, 3);
	COUNTS(ia, DCNT_IA_EP_FREE, 1);
	COUNTS(ia, DCNT_IA_PSP_CREATE, 0);
	COUNTS(ia, DCNT_IA_PSP_CREATE_ANY, 1);
	COUNTS(ia, DCNT_IA_CM_LISTEN, 1);
	COUNTS(ia, DCNT_IA_SP_CR, 2);
	COUNTS(ia, DCNT_IA_SP_CR_ACCEPTED, 1);
	COUNTS(ia, DCNT_IA_SP_CR_REJECTED, 1);
	COUNTS(ia, DCNT_IA_CM_REQ_TX, 2);
	COUNTS(ia, DCNT_IA_CM_REQ_RX, 2);
	COUNTS(ia, DCNT_IA_CM_USER_REJ_RX, 1);
	COUNTS(ia, DCNT_IA_CM_ACTIVE_EST, 1);
	COUNTS(ia, DCNT_IA_CM_PASSIVE_EST, 1);
	COUNTS(ia, DCNT_IA_CM_ERR, 0);
	COUNTS(ia, DCNT_IA_LNK_ERR_RCV, 0);
}

static void connection_counters(void)
{
	COUNTS(active, DCNT_EP_CONNECT, 1);
	COUNTS(passive, DCNT_EP_CONNECT, 0);
	COUNTS(active, DCNT_EP_DISCONNECT, 0);
	COUNTS(conn, DCNT_EVD_CONN_CALLBACK, 3);
	SUCCEEDS(dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG));
	for (int side = 0; side < 2; side++)
		expect(next(conn).event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "the connection does not end");
	COUNTS(active, DCNT_EP_DISCONNECT, 1);
	COUNTS(passive, DCNT_EP_DISCONNECT, 0);
	COUNTS(conn, DCNT_EVD_CONN_CALLBACK, 5);
	COUNTS(ia, DCNT_IA_CM_DREQ_TX, 1);
	COUNTS(ia, DCNT_IA_CM_DREQ_RX, 1);
}

/* Reads all counters of an object by one call, and resets one counter and all. A reset returns the value and sets it to 0. */
static void all_counters_at_once(void)
{
	DAT_UINT64 all[DCNT_IA_ALL_COUNTERS + 1], one = 0;

	all[DCNT_IA_ALL_COUNTERS] = 0xa5;
	SUCCEEDS(dat_ib_query_counters(ia, DCNT_IA_ALL_COUNTERS, all, 0));
	expect(all[DCNT_IA_LMR_CREATE] == 1 && all[DCNT_IA_SP_CR] == 2 && all[DCNT_IA_DIAG_ERR_SQ_TREE] == 0,
	       "one of the array is another");
	expect(all[DCNT_IA_ALL_COUNTERS] == 0xa5, "the array is longer");
	SUCCEEDS(dat_ib_query_counters(ia, DCNT_IA_SP_CR, &one, 1));
	expect(one == 2, "a reset does not give the value");
	COUNTS(ia, DCNT_IA_SP_CR, 0);
	COUNTS(ia, DCNT_IA_CM_REQ_RX, 2);
	SUCCEEDS(dat_ib_query_counters(ia, DCNT_IA_ALL_COUNTERS, all, 1));
	COUNTS(ia, DCNT_IA_LMR_CREATE, 0);
	SUCCEEDS(dat_lmr_free(lmr));
	COUNTS(ia, DCNT_IA_LMR_FREE, 1);
	SUCCEEDS(dat_ib_query_counters(active, DCNT_EP_ALL_COUNTERS, all, 1));
	expect(all[DCNT_EP_CONNECT] == 1, "the endpoint's array is another");
	COUNTS(active, DCNT_EP_CONNECT, 0);
}

/* A service point whose creation fails is counted neither as created nor as freed. */
static void failed_service_points(void)
{
	DAT_PSP_HANDLE second;

	returns(DAT_GET_TYPE(dat_psp_create(ia, qual, cr, DAT_PSP_CONSUMER_FLAG, &second)), DAT_CONN_QUAL_IN_USE,
		"dat_psp_create of a qualifier that is in use");
	COUNTS(ia, DCNT_IA_PSP_CREATE, 0);
	COUNTS(ia, DCNT_IA_PSP_FREE, 0);
	COUNTS(ia, DCNT_IA_CM_LISTEN, 1);
}

static atomic_int is_over;

static void *create_points(void *unused)
{
	DAT_CONN_QUAL other;
	DAT_PSP_HANDLE one;

	(void)unused;
	for (int i = 0; i < 2000; i++)
		if (dat_psp_create_any(ia, &other, cr, DAT_PSP_CONSUMER_FLAG, &one) == DAT_SUCCESS)
			(void)dat_psp_free(one);
	is_over = 1;
	return NULL;
}

/*
 * Resets DCNT_IA_PSP_CREATE while another thread calls dat_psp_create_any(), which has a counter of its own. The reset counter
 * stays 0.
 */
static void reset_during_calls(void)
{
	DAT_UINT64 value, most = 0;
	pthread_t thread;

	is_over = 0;
	if (pthread_create(&thread, NULL, create_points, NULL)) {
		expect(0, "there is no thread");
		return;
	}
	while (!is_over) {
		SUCCEEDS(dat_ib_query_counters(ia, DCNT_IA_PSP_CREATE, &value, 1));
		most = value > most ? value : most;
	}
	pthread_join(thread, NULL);
	if (!most)
		return;
	printf("# DCNT_IA_PSP_CREATE has been %llu\n", (unsigned long long)most);
	differs = 1;
}

static void refusals(void)
{
	DAT_UINT64 value;

	returns(dat_ib_query_counters(ia, DCNT_IA_ALL_COUNTERS + 1, &value, 0), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		"a counter that there is not");
	returns(dat_ib_query_counters(active, -1, &value, 0), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), "one below 0");
	returns(dat_ib_query_counters(conn, 0, NULL, 0), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4), "no place for it");
	returns(DAT_GET_TYPE(dat_ib_query_counters(pz, 0, &value, 0)), DAT_INVALID_HANDLE, "a PZ");
	returns(dat_extension_op(ia, DAT_IB_START_COUNTERS_OP, 0), ERROR(DAT_NOT_IMPLEMENTED, 0), "to start one");
}

/* Prints into a file in place of stdout, and looks at the lines. */
static void prints(void)
{
	FILE *to = tmpfile();
	char text[4096] = "";
	int own;

	fflush(stdout);
	own = dup(STDOUT_FILENO);
	if (!to || own < 0) {
		expect(0, "no file to print into");
		return;
	}
	dup2(fileno(to), STDOUT_FILENO);
	returns(dat_ib_print_counters(conn, DCNT_EVD_ALL_COUNTERS, 0), DAT_SUCCESS, "dat_ib_print_counters");
	returns(dat_ib_print_counters(ia, DCNT_IA_SP_CR, 1), DAT_SUCCESS, "dat_ib_print_counters of one, with a reset");
	fflush(stdout);
	dup2(own, STDOUT_FILENO);
	close(own);
	rewind(to);
	text[fread(text, 1, sizeof(text) - 1, to)] = '\0';
	fclose(to);
	expect(!strncmp(text, "DCNT_EVD_WAIT ", 14), "the first counter is not the first line");
	expect(strstr(text, "\nDCNT_EVD_CONN_CALLBACK 3\nDCNT_EVD_DTO_CALLBACK 0\nDCNT_IA_SP_CR 2\n") != NULL,
	       "there are other lines");
	COUNTS(ia, DCNT_IA_SP_CR, 0);
	COUNTS(ia, DCNT_IA_CM_REQ_RX, 2);
}

/* ------------------------------------------------------------------ what moves data */

/* `on`: it is counted; else each of these is 0. */
static void data_counters(int on)
{
	COUNTS(active, DCNT_EP_POST_SEND, on ? 3 : 0);
	COUNTS(active, DCNT_EP_POST_SEND_DATA, on ? 3 * MESSAGE : 0);
	COUNTS(active, DCNT_EP_POST_WRITE, on ? 1 : 0);
	COUNTS(active, DCNT_EP_POST_WRITE_DATA, on ? 64 : 0);
	COUNTS(active, DCNT_EP_POST_READ, on ? 1 : 0);
	COUNTS(active, DCNT_EP_POST_READ_DATA, on ? 64 : 0);
	COUNTS(active, DCNT_EP_POST_RECV, 0);
	COUNTS(passive, DCNT_EP_POST_RECV, on ? 3 : 0);
	COUNTS(passive, DCNT_EP_POST_RECV_DATA, on ? 3 * 512 : 0);
	COUNTS(passive, DCNT_EP_RECV, on ? 3 : 0);
	COUNTS(passive, DCNT_EP_RECV_DATA, on ? 3 * MESSAGE : 0);
	COUNTS(active, DCNT_EP_RECV, 0);
	is_empty(receives, 2);
	COUNTS(receives, DCNT_EVD_WAIT, on ? 3 : 0);
	COUNTS(receives, DCNT_EVD_DEQUEUE, on ? 2 : 0);
	COUNTS(receives, DCNT_EVD_DEQUEUE_NOT_FOUND, on ? 2 : 0);
	COUNTS(receives, DCNT_EVD_DEQUEUE_FOUND, 0);
}

static void writes_immediate(int on)
{
	DAT_RMR_TRIPLET there = { (DAT_VADDR)(unsigned long)(memory + 2048), 64, target_context };
	DAT_LMR_TRIPLET source = piece(0, 64), sink = piece(1024, 512);
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };
	DAT_EVENT event;
	int tries = 0;

	SUCCEEDS(dat_ep_post_recv(passive, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	SUCCEEDS(dat_ib_post_rdma_write_immed(active, 1, &source, cookie, &there, 5, DAT_COMPLETION_DEFAULT_FLAG));
	(void)next(requests);
	while (dat_evd_dequeue(receives, &event) != DAT_SUCCESS && tries++ < 60000)
		usleep(1000);
	COUNTS(active, DCNT_EP_POST_WRITE_IMM, on ? 1 : 0);
	COUNTS(active, DCNT_EP_POST_WRITE_IMM_DATA, on ? 64 : 0);
	COUNTS(passive, DCNT_EP_RECV_RDMA_IMM, on ? 1 : 0);
	COUNTS(passive, DCNT_EP_RECV_RDMA_IMM_DATA, on ? 64 : 0);
	COUNTS(receives, DCNT_EVD_DEQUEUE_FOUND, on ? 1 : 0);
}

static int promises(const char *name)
{
	DAT_PROVIDER_ATTR provider;

	SUCCEEDS(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
	for (int i = 0; i < provider.num_provider_specific_attr; i++)
		if (!strcmp(provider.provider_specific_attr[i].name, name))
			return !strcmp(provider.provider_specific_attr[i].value, "TRUE");
	return 0;
}

static void swaps_and_adds(int on)
{
	DAT_RMR_TRIPLET word = { (DAT_VADDR)(unsigned long)(memory + 2048), 8, target_context };
	DAT_DTO_COOKIE cookie = { .as_64 = 4 };
	DAT_LMR_TRIPLET old = piece(512, 8);

	SUCCEEDS(dat_ib_post_cmp_and_swap(active, 1, 2, &old, cookie, &word, DAT_COMPLETION_DEFAULT_FLAG));
	(void)next(requests);
	for (int i = 0; i < 2; i++) {
		SUCCEEDS(dat_ib_post_fetch_and_add(active, 5, &old, cookie, &word, DAT_COMPLETION_DEFAULT_FLAG));
		(void)next(requests);
	}
	COUNTS(active, DCNT_EP_POST_CMP_SWAP, on ? 1 : 0);
	COUNTS(active, DCNT_EP_POST_FETCH_ADD, on ? 2 : 0);
	COUNTS(passive, DCNT_EP_POST_FETCH_ADD, 0);
}

static DAT_RMR_CONTEXT bound(DAT_RMR_HANDLE rmr, DAT_EP_HANDLE over)
{
	DAT_MEM_PRIV_FLAGS rights = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	DAT_LMR_TRIPLET segment = piece(3072, 512);
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };
	DAT_RMR_CONTEXT rmr_context = 0;

	SUCCEEDS(dat_rmr_bind(rmr, lmr, &segment, rights, DAT_VA_TYPE_VA, over, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			      &rmr_context));
	expect(next(requests).event_number == DAT_RMR_BIND_COMPLETION_EVENT, "the RMR is not bound");
	return rmr_context;
}

/* Those posts that only some adapters have: a send that invalidates is a send, and a read into an RMR is a read. */
static void names_an_rmr(int on)
{
	int sends = promises("OPENDAT_SEND_WITH_INVALIDATE"), reads = promises("OPENDAT_RDMA_READ_TO_RMR");
	DAT_RMR_TRIPLET from = { (DAT_VADDR)(unsigned long)(memory + 2048), 80, target_context };
	DAT_RMR_TRIPLET to = { (DAT_VADDR)(unsigned long)(memory + 3072), 80, 0 };
	DAT_LMR_TRIPLET source = piece(0, MESSAGE), sink = piece(1024, 512);
	DAT_DTO_COOKIE cookie = { .as_64 = 6 };
	DAT_RMR_HANDLE rmr;

	SUCCEEDS(dat_rmr_create(pz, &rmr));
	if (sends) {
		SUCCEEDS(dat_ep_post_recv(passive, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		SUCCEEDS(dat_ep_post_send_with_invalidate(active, 1, &source, cookie, DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
							  bound(rmr, passive)));
		(void)next(requests);
		(void)next(receives);
	}
	if (reads) {
		to.rmr_context = bound(rmr, active);
		SUCCEEDS(dat_ep_post_rdma_read_to_rmr(active, &to, cookie, &from, DAT_COMPLETION_DEFAULT_FLAG));
		(void)next(requests);
	}
	COUNTS(active, DCNT_EP_POST_SEND, on ? 3 + sends : 0);
	COUNTS(active, DCNT_EP_POST_SEND_DATA, on ? (3 + sends) * MESSAGE : 0);
	COUNTS(passive, DCNT_EP_RECV, on ? 3 + sends : 0);
	COUNTS(passive, DCNT_EP_RECV_DATA, on ? (3 + sends) * MESSAGE : 0);
	COUNTS(active, DCNT_EP_POST_READ, on ? 1 + reads : 0);
	COUNTS(active, DCNT_EP_POST_READ_DATA, on ? 64 + 80 * reads : 0);
	SUCCEEDS(dat_rmr_free(rmr));
}

static void test_adapter(const char *name, int on)
{
	if (!open_and_create(name)) {
		report_of(name, "it opens");
		return;
	}
	expect(promises(DAT_IB_ATTR_COUNTERS), "no named attribute says that there are counters");
	connect_them();
	report_of(name, "it opens and connects");
	adapter_counters();
	report_of(name, "objects and connections are counted");
	failed_service_points();
	report_of(name, "a service point that fails is not counted");
	exchange();
	data_counters(on);
	report_of(name, on ? "posts and events are counted" : "posts and events are not counted");
	if (attr.extension_supported == DAT_EXTENSION_IB) {
		writes_immediate(on);
		report_of(name, "so are writes with immediate data");
	}
	if (promises(DAT_IB_ATTR_FETCH_AND_ADD)) {
		swaps_and_adds(on);
		report_of(name, "so are atomics");
	}
	names_an_rmr(on);
	report_of(name, "so are the posts that name an RMR");
	refusals();
	report_of(name, "what is no counter is refused");
	if (on) {
		prints();
		report_of(name, "counters are printed");
	}
	connection_counters();
	report_of(name, "the end of a connection is counted");
	if (!on) {
		all_counters_at_once();
		report_of(name, "all are read at once, and reset");
		reset_during_calls();
		report_of(name, "a counter that is reset during a call does not count backwards");
	}
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

int main(int argc, char **argv)
{
	static const char *names[] = { "plain", "counted" };
	char conf[] = "/tmp/opendat-counters-XXXXXX";
	int fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3) {
		test_adapter(argv[1], 0);
		test_adapter(argv[2], 1);
		goto end;
	}
	fd = mkstemp(conf);
	if (fd < 0 || dprintf(fd, "plain u1.2 nonthreadsafe default %s opendat.1.0 \"counters=off\" \"\"\n"
				  "counted u1.2 nonthreadsafe default %s opendat.1.0 \"counters=on eager_limit=1024\" \"\"\n"
				  "wrong u1.2 nonthreadsafe default %s opendat.1.0 \"counters=yes\" \"\"\n",
			      SOFT_PLUGIN, SOFT_PLUGIN, SOFT_PLUGIN) < 0) {
		printf("Bail out! cannot write %s\n", conf);
		return 99;
	}
	close(fd);
	setenv("DAT_OVERRIDE", conf, 1);
	test_adapter(names[0], 0);
	test_adapter(names[1], 1);
	async = DAT_HANDLE_NULL;
	expect(dat_ia_open("wrong", 8, &async, &ia) != DAT_SUCCESS, "it opens");
	report("another value of counters= is refused");
	unlink(conf);
end:
	printf("1..%d\n", tests);
	return failed > 0;
}
