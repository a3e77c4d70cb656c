/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs of DAT 2.0 rely on, and the rules of 1.2 do not say: each was seen in a program of OFED's, or in what the
 * library did that those were written for. Both ends of each connection are in this process. The adapter is that of
 * OPENDAT_TEST_IA, or else soft0. edge_test has the rules that need no connection of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"

enum { SIZE = 65536, SECONDS = 20000000, MANY = 1000, PAIRS = 4, RECEIVES = 8, SAID = 48 };

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, requests;
static DAT_PZ_HANDLE pz;
static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static DAT_IA_ATTR attr;
static DAT_PROVIDER_ATTR provider;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT local;
static char memory[SIZE];
/* One end of a connection. */
struct end {
	DAT_EVD_HANDLE dto, conn;
	DAT_EP_HANDLE ep;
};

static void next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted, DAT_EVENT *event)
{
	DAT_COUNT more;

	memset(event, 0xa5, sizeof(*event));
	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, event, &more));
	if (event->event_number == wanted)
		return;
	printf("# event 0x%x, not 0x%x\n", event->event_number, wanted);
	differs = 1;
}

/* dto_length: of the EVD for completions */
static void make_end(struct end *end, DAT_SRQ_HANDLE srq, DAT_COUNT dto_length)
{
	DAT_EP_ATTR how = { .service_type = DAT_SERVICE_TYPE_RC,
			    .max_recv_dtos = srq == DAT_HANDLE_NULL ? RECEIVES : 0,
			    .max_request_dtos = RECEIVES,
			    .max_recv_iov = 1,
			    .max_request_iov = 1 };

	SUCCEEDS(dat_evd_create(ia, dto_length, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->dto));
	SUCCEEDS(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->conn));
	if (srq == DAT_HANDLE_NULL)
		SUCCEEDS(dat_ep_create(ia, pz, end->dto, end->dto, end->conn, &how, &end->ep));
	else
		SUCCEEDS(dat_ep_create_with_srq(ia, pz, end->dto, end->dto, end->conn, srq, &how, &end->ep));
}

static void free_end(struct end *end)
{
	SUCCEEDS(dat_ep_free(end->ep));
	SUCCEEDS(dat_evd_free(end->dto));
	SUCCEEDS(dat_evd_free(end->conn));
}

static void receive(const struct end *end)
{
	DAT_LMR_TRIPLET sink = { .virtual_address = (DAT_VADDR)(uintptr_t)memory, .segment_length = 64, .lmr_context = local };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	SUCCEEDS(dat_ep_post_recv(end->ep, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Returns the request of an endpoint that connects, with these private data. */
static DAT_CR_HANDLE request(const struct end *active, const void *data, DAT_COUNT size)
{
	DAT_EVENT event;

	SUCCEEDS(dat_ep_connect(active->ep, attr.ia_address_ptr, qual, SECONDS, size, (DAT_PVOID)(uintptr_t)data,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	next_event(requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static void connect_ends(const struct end *active, const struct end *passive)
{
	DAT_EVENT event;

	SUCCEEDS(dat_cr_accept(request(active, NULL, 0), passive->ep, 0, NULL));
	next_event(active->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	next_event(passive->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static int opens(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };

	async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia));
	if (differs)
		return 0;
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	SUCCEEDS(dat_pz_create(ia, &pz));
	SUCCEEDS(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	SUCCEEDS(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz,
				DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA, &lmr, &local, NULL,
				NULL, NULL));
	report("a region takes the right to atomics, whether the device has them or not");
	return 1;
}

/* ------------------------------------------------------------------ values and masks */

static void is_bare(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { .instance_data = NULL, .proxy_agent_func = NULL };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	SUCCEEDS(dat_cno_create(ia, none, &cno));
	returns(dat_cno_wait(cno, 1000, &evd), DAT_QUEUE_EMPTY, "a wait for a CNO");
	SUCCEEDS(dat_cno_free(cno));
	report("a wait for a CNO that times out returns its value without the class");
}

static void takes_any_mask(void)
{
	DAT_PROVIDER_ATTR provider_part;
	DAT_IA_ATTR part;

	for (int bit = 0; bit < 38; bit++)
		SUCCEEDS(dat_ia_query(ia, NULL, (DAT_IA_ATTR_MASK)1 << bit, &part, 0, NULL));
	for (int bit = 0; bit < 31; bit++)
		SUCCEEDS(dat_ia_query(ia, NULL, 0, NULL, (DAT_PROVIDER_ATTR_MASK)1 << bit, &provider_part));
	SUCCEEDS(dat_ia_query(ia, NULL, 0, NULL, 0, NULL));
	returns(dat_ia_query(ia, NULL, 0, NULL, (DAT_PROVIDER_ATTR_MASK)1 << 31, &provider_part),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5), "a bit too many for the provider");
	expect(provider.num_provider_specific_attr >= 13, "there are fewer named attributes than OFED's");
	for (int i = 0; i < provider.num_provider_specific_attr; i++)
		expect(provider.provider_specific_attr[i].value != NULL, "a named attribute has no value");
	report("each bit of the masks can be asked for");
}

static void may_be_null(void)
{
	const char *major = NULL;
	struct end end;

	make_end(&end, DAT_HANDLE_NULL, 8);
	SUCCEEDS(dat_ep_get_status(end.ep, NULL, NULL, NULL));
	SUCCEEDS(dat_strerror(ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), &major, NULL));
	expect(major && strcmp(major, "DAT_INVALID_HANDLE") == 0, "the error has another name");
	free_end(&end);
	report("programs need not take what they do not want");
}

static void tells_idle(void)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;
	struct end end;

	make_end(&end, DAT_HANDLE_NULL, 8);
	SUCCEEDS(dat_ep_get_status(end.ep, &state, &recv_idle, &request_idle));
	expect(state == DAT_EP_STATE_UNCONNECTED && recv_idle == DAT_TRUE && request_idle == DAT_TRUE,
	       "an endpoint without operations is not idle");
	receive(&end);
	receive(&end);
	SUCCEEDS(dat_ep_get_status(end.ep, &state, &recv_idle, &request_idle));
	expect(recv_idle == DAT_FALSE && request_idle == DAT_TRUE, "an endpoint with receives is idle");
	free_end(&end);
	report("an endpoint is idle if it has nothing to do, as the standard says");
}

static void holds_what_was_asked(void)
{
	static const DAT_COUNT lengths[] = { 1, 2, 3, 7, 100, 1000, 6000 };
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		SUCCEEDS(dat_evd_create(ia, lengths[i], DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_IB_EVD_EXTENSION_FLAG, &evd));
		SUCCEEDS(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		expect(param.evd_qlen >= lengths[i], "an EVD holds less than what was asked for");
		SUCCEEDS(dat_evd_free(evd));
	}
	report("an EVD holds at least as many events as were asked for");
}

static void sizes_have_32_bits(void)
{
	expect(attr.max_message_size > 0 && attr.max_rdma_size > 0 && attr.max_lmr_block_size > 0, "a size is 0");
	if (strcmp(adapter, "soft0") == 0)
		expect(attr.max_message_size == UINT32_MAX && attr.max_rdma_size == UINT32_MAX &&
			       attr.max_lmr_block_size == UINT32_MAX, "a size beyond 32 bits has lost its upper half");
	report("sizes beyond 32 bits show the largest number of 32 bits");
}

/* ------------------------------------------------------------------ connections */

static void ends_in_order(void)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = RECEIVES, .max_recv_iov = 1 };
	struct end active[PAIRS], passive[PAIRS];
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	SUCCEEDS(dat_srq_create(ia, pz, &srq_attr, &srq));
	for (int i = 0; i < PAIRS; i++) {
		make_end(&active[i], DAT_HANDLE_NULL, 8);
		make_end(&passive[i], srq, 8);
		connect_ends(&active[i], &passive[i]);
	}
	returns(dat_evd_dequeue(async, &event), ERROR(DAT_QUEUE_EMPTY, 0), "the asynchronous EVD while all are connected");
	for (int i = PAIRS - 1; i >= 0; i--) {
		SUCCEEDS(dat_ep_disconnect(active[i].ep, DAT_CLOSE_ABRUPT_FLAG));
		next_event(active[i].conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		next_event(passive[i].conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	}
	for (int i = PAIRS - 1; i >= 0; i--) {
		next_event(async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
		expect(event.event_data.asynch_error_event_data.dat_handle == passive[i].ep,
		       "the end of another endpoint is told");
	}
	returns(dat_evd_dequeue(async, &event), ERROR(DAT_QUEUE_EMPTY, 0), "the asynchronous EVD after that");
	for (int i = 0; i < PAIRS; i++) {
		free_end(&active[i]);
		free_end(&passive[i]);
	}
	SUCCEEDS(dat_srq_free(srq));
	report("the end of each endpoint with an SRQ is told once more, in its order");
}

/* The server changes the private data where they are, and accepts with them. */
static void data_are_the_programs(void)
{
	struct end active, passive;
	char said[SAID], *there;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	for (int i = 0; i < SAID; i++)
		said[i] = (char)(i + 1);
	make_end(&active, DAT_HANDLE_NULL, 8);
	make_end(&passive, DAT_HANDLE_NULL, 8);
	cr = request(&active, said, SAID);
	SUCCEEDS(dat_cr_query(cr, (DAT_CR_PARAM_MASK)DAT_CSP_FIELD_ALL, &param));
	there = param.private_data;
	expect(param.private_data_size == SAID && memcmp(there, said, SAID) == 0, "the private data are others");
	for (int i = 0; i < SAID && !differs; i++)
		there[i] = (char)(there[i] + 100);
	SUCCEEDS(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	expect(param.private_data == there && there[0] == 101, "the private data are not where they were");
	SUCCEEDS(dat_cr_accept(cr, passive.ep, SAID, there));
	next_event(passive.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	next_event(active.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	there = event.event_data.connect_event_data.private_data;
	expect(event.event_data.connect_event_data.private_data_size == SAID, "the answer has another size");
	for (int i = 0; i < SAID && !differs; i++)
		expect(there[i] == (char)(i + 101), "the answer is another");
	SUCCEEDS(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
	next_event(passive.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	free_end(&active);
	free_end(&passive);
	report("the private data of a request can be changed where they are, and accepted with");
}

static void region_goes_first(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_TRIPLET sink = { .virtual_address = (DAT_VADDR)(uintptr_t)memory, .segment_length = 64 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	struct end active, passive;
	DAT_LMR_HANDLE own;
	DAT_EVENT event;

	make_end(&active, DAT_HANDLE_NULL, 8);
	make_end(&passive, DAT_HANDLE_NULL, 8);
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &own,
				&sink.lmr_context, NULL, NULL, NULL));
	SUCCEEDS(dat_ep_post_recv(passive.ep, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	connect_ends(&active, &passive);
	SUCCEEDS(dat_lmr_free(own));
	SUCCEEDS(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
	next_event(passive.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	next_event(passive.dto, DAT_DTO_COMPLETION_EVENT, &event);
	expect(event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED, "the receive is not flushed");
	free_end(&active);
	free_end(&passive);
	report("a region may be freed while receives into it are posted");
}

/* As dtestcm has it: many endpoints, all of whose completions go to EVDs that were made for one event. */
static void short_evds_suffice(void)
{
	int n = attr.max_eps > 2 * MANY ? MANY : 100;
	struct end active, passive, crowd;
	DAT_EP_HANDLE *eps = calloc((size_t)n, sizeof(*eps));
	DAT_EP_ATTR how = { .service_type = DAT_SERVICE_TYPE_RC,
			    .max_recv_dtos = 1,
			    .max_request_dtos = 1,
			    .max_recv_iov = 1,
			    .max_request_iov = 1 };
	DAT_EVENT event;

	if (!eps)
		exit(99);
	SUCCEEDS(dat_evd_create(ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &crowd.dto));
	SUCCEEDS(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &crowd.conn));
	for (int i = 0; i < n && !differs; i++)
		SUCCEEDS(dat_ep_create(ia, pz, crowd.dto, crowd.dto, crowd.conn, &how, &eps[i]));
	for (int i = 0; i < n && !differs; i++)
		SUCCEEDS(dat_ep_free(eps[i]));
	SUCCEEDS(dat_evd_free(crowd.dto));
	SUCCEEDS(dat_evd_free(crowd.conn));
	free(eps);

	make_end(&active, DAT_HANDLE_NULL, 1);
	make_end(&passive, DAT_HANDLE_NULL, 1);
	for (int i = 0; i < RECEIVES; i++)
		receive(&passive);
	connect_ends(&active, &passive);
	SUCCEEDS(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
	next_event(passive.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	for (int i = 0; i < RECEIVES; i++)
		next_event(passive.dto, DAT_DTO_COMPLETION_EVENT, &event);
	returns(dat_evd_dequeue(async, &event), ERROR(DAT_QUEUE_EMPTY, 0), "the asynchronous EVD");
	free_end(&active);
	free_end(&passive);
	report("an EVD that was made for one event holds those of all its endpoints");
}

/* ------------------------------------------------------------------ rejections */

/* Connects and is rejected with these data, which arrive. */
static void rejected_with(const char *said, DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EP_STATE state;
	struct end active;
	DAT_EVENT event;

	make_end(&active, DAT_HANDLE_NULL, 8);
	SUCCEEDS(dat_cr_reject(request(&active, NULL, 0), size, (DAT_PVOID)(uintptr_t)said));
	next_event(active.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	data = &event.event_data.connect_event_data;
	if (data->private_data_size != size) {
		printf("# %d bytes arrive with a rejection, not %d\n", data->private_data_size, size);
		differs = 1;
	} else if (size) {
		expect(memcmp(data->private_data, said, (size_t)size) == 0, "other data arrive with a rejection");
	} else {
		expect(data->private_data == NULL, "a rejection without private data has some");
	}
	SUCCEEDS(dat_ep_get_status(active.ep, &state, NULL, NULL));
	expect(state == DAT_EP_STATE_DISCONNECTED, "a rejected endpoint is in another state");
	SUCCEEDS(dat_ep_reset(active.ep));
	/* the next rejection, without data, must not show those of the last */
	SUCCEEDS(dat_cr_reject(request(&active, NULL, 0), 0, NULL));
	next_event(active.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	expect(data->private_data_size == 0 && data->private_data == NULL, "a rejection has the private data of another");
	free_end(&active);
}

static void rejects_with_data(void)
{
	char said[512];
	/* over iWARP the word of versions takes 4 bytes of what private data may have */
	DAT_COUNT most = provider.max_private_data_size - (strncmp(adapter, "iwarp", 5) == 0 ? 4 : 0);
	struct end active;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	memset(said, 0, sizeof(said));
	rejected_with(said, 0);
	rejected_with(said, 8); /* zeros are data, too */
	for (size_t i = 0; i < sizeof(said); i++)
		said[i] = (char)(i + 1);
	rejected_with(said, 1);
	rejected_with(said, SAID);
	rejected_with(said, most);
	report("the private data of a rejection arrive, in their length");

	make_end(&active, DAT_HANDLE_NULL, 8);
	cr = request(&active, NULL, 0);
	returns(dat_cr_reject(cr, most + 1, said), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), "too many private data");
	returns(dat_cr_reject(cr, -1, said), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), "a negative size");
	returns(dat_cr_reject(cr, 8, NULL), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), "no private data of that size");
	SUCCEEDS(dat_cr_reject(cr, 4, said));
	returns(dat_cr_reject(cr, 4, said), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR), "a second rejection");
	next_event(active.conn, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	free_end(&active);
	report("private data that a rejection cannot have are refused, and the request is kept");
}

int main(void)
{
	if (!adapter_choose())
		return 99;
	if (!opens()) {
		report("the adapter opens");
		return 1;
	}
	adapter_chosen_end();
	is_bare();
	takes_any_mask();
	may_be_null();
	tells_idle();
	holds_what_was_asked();
	sizes_have_32_bits();
	ends_in_order();
	data_are_the_programs();
	region_goes_first();
	short_evds_suffice();
	rejects_with_data();
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	report("the adapter closes");
	printf("1..%d\n", tests);
	return failed != 0;
}
