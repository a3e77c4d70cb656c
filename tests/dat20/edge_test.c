/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of DAT 2.0 over soft0, or over another line of it: two endpoints of one process are connected and exchange data by
 * each kind of transfer. What differs from DAT 1.2 is looked at: attributes, events, return values,
 * the state of an SRQ, calls with more arguments, and calls that are not served.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <dat2/dat_ib_extensions.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"

#define SIZE	65536
#define SECONDS	10000000

/* One end of a connection, with the memory that it sends from and receives to. */
struct end {
	DAT_EVD_HANDLE dto, conn;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	char memory[SIZE];
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, requests;
static DAT_PZ_HANDLE pz;
static struct end near_end, far_end;
/* Returns the next event of an EVD, which has to be of this kind. */
static void next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted, DAT_EVENT *event)
{
	DAT_COUNT more;

	memset(event, 0xa5, sizeof(*event));
	SUCCEEDS(dat_evd_wait(evd, SECONDS, 1, event, &more));
	if (event->event_number == wanted && event->evd_handle == evd)
		return;
	printf("# event 0x%x, not 0x%x\n", event->event_number, wanted);
	differs = 1;
}

/* ------------------------------------------------------------------ the tests */

static int opens(void)
{
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia));
	if (differs)
		return 0;
	SUCCEEDS(dat_pz_create(ia, &pz));
	report("an adapter of an SDK plugin opens for DAT 2.0");
	return 1;
}

/* The attributes that programs look for, in their order, with the values over soft0; "": any. */
static const char *const names[][2] = {
	{ "DAT_IB_PROVIDER_NAME", "soft" },
	{ "DAT_IB_DEVICE_NAME", "soft" },
	{ "DAT_IB_CONNECTIVITY_MODE", "DIRECT" },
	{ "DAT_IB_RDMA_READ", "TRUE" },
	{ "DAT_IB_NODE_GUID", "0000:0000:0000:0000" },
	{ "DAT_IB_GID", "" },
	{ "DAT_IB_TRANSPORT_MTU", "4096" },
	{ "DAT_IB_PORT_STATUS", "ACTIVE" },
	{ "DAT_IB_PORT_NUMBER", "1" },
	{ "DAT_EXTENSION_INTERFACE", "TRUE" },
	{ "DAT_IB_FETCH_AND_ADD", "TRUE" },
	{ "DAT_IB_CMP_AND_SWAP", "TRUE" },
	{ "DAT_IB_IMMED_DATA", "TRUE" },
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Returns true if the text is the adapter's address as an IPv6 address of groups of four digits. */
static int is_gid_of_adapter(const char *text)
{
	char address[INET6_ADDRSTRLEN] = "::ffff:";
	struct in6_addr parsed, gid;
	DAT_IA_ATTR attr;

	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	if (attr.ia_address_ptr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)attr.ia_address_ptr)->sin_addr, address + 7, INET_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)attr.ia_address_ptr)->sin6_addr, address, sizeof(address));
	return strlen(text) == 39 && inet_pton(AF_INET6, text, &gid) == 1 && inet_pton(AF_INET6, address, &parsed) == 1 &&
	       memcmp(&gid, &parsed, sizeof(gid)) == 0;
}

static void named(const DAT_PROVIDER_ATTR *provider)
{
	DAT_NAMED_ATTR *attr = provider->provider_specific_attr;
	int i, n = provider->num_provider_specific_attr;

	expect(n >= NAMES, "there are fewer named attributes than programs look for");
	for (i = 0; i < n && i < NAMES; i++) {
		if (strcmp(attr[i].name, names[i][0]) == 0 && (!*names[i][1] || strcmp(attr[i].value, names[i][1]) == 0))
			continue;
		printf("# attribute %d is %s=%s, not %s=%s\n", i, attr[i].name, attr[i].value, names[i][0], names[i][1]);
		differs = 1;
	}
	for (; i < n; i++)
		expect(attr[i].name != NULL && attr[i].value != NULL, "a named attribute has no name or no value");
	expect(n > NAMES && strcmp(attr[n - 1].name, "allow") == 0, "the adapter's own attributes do not follow");
	expect(n > 5 && is_gid_of_adapter(attr[5].value), "the GID is not the adapter's address");
}

/* The attributes of an adapter that is not open; the handle is good for one call. */
static void asks_without_opening(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	DAT_HANDLE query = NULL, second = NULL;

	memset(&attr, 0xa5, sizeof(attr));
	SUCCEEDS(dat_ib_open_query(adapter, &query, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	expect(query != NULL, "the query has no handle");
	expect(strcmp(attr.adapter_name, adapter) == 0 && attr.max_eps > 0, "the query returns no attributes");
	named(&provider);
	SUCCEEDS(dat_ib_open_query(adapter, &second, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL));
	expect(second != query, "two queries have one handle");
	returns(dat_ia_close(query, DAT_CLOSE_ABRUPT_FLAG), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA),
		"dat_ia_close() of a query");
	SUCCEEDS(dat_ib_close_query(query));
	returns(dat_ib_close_query(query), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA), "a second close");
	SUCCEEDS(dat_ib_close_query(second));
	returns(dat_ib_close_query(ia), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA), "the close of an open adapter");
	report("the attributes can be had without opening the adapter");

	query = NULL;
	returns(dat_ib_open_query("nobody", &query, 0, NULL, 0, NULL),
		ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED), "a name that is not there");
	returns(dat_ib_open_query(adapter, NULL, 0, NULL, 0, NULL), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4),
		"a query without a place for the handle");
	returns(dat_ib_open_query(adapter, &query, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6), "a query without a place for the attributes");
	expect(query == NULL, "a query that failed has a handle");
	report("a query with a wrong argument names it");
}

static void queries(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE found = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;

	memset(&attr, 0xa5, sizeof(attr));
	memset(&provider, 0xa5, sizeof(provider));
	SUCCEEDS(dat_ia_query(ia, &found, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	expect(found == async, "the query names another async EVD");
	expect(strcmp(attr.adapter_name, adapter) == 0, "the adapter has another name");
	expect(attr.max_message_size == UINT32_MAX, "a size beyond 32 bits is not the largest of 32 bits");
	expect(attr.zb_supported == DAT_FALSE, "zero-based addresses are promised");
	expect(attr.extension_supported == DAT_EXTENSION_IB, "no extensions are promised");
	expect(attr.extension_version == DAT_IB_EXTENSION_VERSION, "the extensions have another version");
	expect(provider.dapl_version_major == 2 && provider.dapl_version_minor == 0, "the version is not 2.0");
	expect(provider.rmr_scope_supported == DAT_RMR_SCOPE_PZ, "RMRs have another scope than the PZ");
	named(&provider);
	returns(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), "a mask with a bit too many");
	report("the attributes are those of 2.0");
}

static void make_end(struct end *end)
{
	DAT_REGION_DESCRIPTION region = { .for_va = end->memory };
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_rdma_size = 16,	/* fewer than the receives that are posted below */
			     .max_recv_dtos = 8,
			     .max_request_dtos = 8,
			     .max_recv_iov = 2,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 4,
			     .max_rdma_read_out = 4,
			     .max_rdma_read_iov = 1,
			     .max_rdma_write_iov = 1 };
	DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_IB_EVD_EXTENSION_FLAG;

	SUCCEEDS(dat_evd_create(ia, 32, DAT_HANDLE_NULL, flags, &end->dto));
	SUCCEEDS(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->conn));
	SUCCEEDS(dat_ep_create(ia, pz, end->dto, end->dto, end->conn, &attr, &end->ep));
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz,
				DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA, &end->lmr,
				&end->context, &end->remote, NULL, NULL));
}

static void creates(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = near_end.memory };
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	make_end(&near_end);
	make_end(&far_end);
	report("endpoints and regions are made with the flags of extensions");

	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
				&lmr, NULL, NULL, NULL, NULL));
	SUCCEEDS(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	expect(param.va_type == DAT_VA_TYPE_VA && param.length == SIZE && param.pz_handle == pz, "the region is another");
	SUCCEEDS(dat_lmr_free(lmr));
	returns(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB,
			       &lmr, NULL, NULL, NULL, NULL), ERROR(DAT_NOT_IMPLEMENTED, 0), "a zero-based region");
	returns(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA,
			       NULL, NULL, NULL, NULL, NULL), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8),
		"a region without a place for its handle");
	report("a region needs no place for what the program does not want");
}

/* The sizes that dat_ep_query() returns are the requested ones; 0 stands for the adapter's. */
static void has_sizes(DAT_EP_HANDLE ep, DAT_SEG_LENGTH message, DAT_SEG_LENGTH rdma)
{
	DAT_EP_PARAM param;

	SUCCEEDS(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	expect(param.ep_attr.max_message_size == message, "the size of messages is not the one requested");
	expect(param.ep_attr.max_rdma_size == rdma, "the size of RDMA transfers is not the one requested");
}

static void modifies(void)
{
	DAT_EP_PARAM param = { .ep_attr = { .max_message_size = 4000, .max_rdma_size = 32, .max_recv_dtos = 12 } };

	SUCCEEDS(dat_ep_modify(near_end.ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	has_sizes(near_end.ep, 4000, 16);
	SUCCEEDS(dat_ep_modify(near_end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param));
	has_sizes(near_end.ep, 4000, 32);
	param.ep_attr.max_message_size = 0;
	SUCCEEDS(dat_ep_modify(near_end.ep, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, &param));
	has_sizes(near_end.ep, UINT32_MAX, 32);
	SUCCEEDS(dat_ep_query(near_end.ep, DAT_EP_FIELD_ALL, &param));
	expect(param.ep_attr.max_recv_dtos >= 12, "the endpoint holds fewer receives than what was asked for");
	report("the sizes of an endpoint are modified");
}

/* What an empty queue returns, which programs compare as a whole. */
static void tells_of_nothing(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	returns(dat_evd_dequeue(near_end.dto, &event), DAT_QUEUE_EMPTY, "an EVD of completions without any");
	returns(dat_evd_dequeue(near_end.conn, &event), ERROR(DAT_QUEUE_EMPTY, 0), "any other EVD without events");
	returns(dat_evd_wait(near_end.dto, 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED, "a wait for completions");
	returns(dat_evd_wait(near_end.conn, 1000, 1, &event, &more), ERROR(DAT_TIMEOUT_EXPIRED, 0), "any other wait");
	returns(dat_evd_wait(near_end.dto, 1000, 0, &event, &more), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		"a threshold of 0");
	report("an empty queue of completions returns its value without the class");
}

static void connects(void)
{
	DAT_CONN_QUAL qual = 0;
	DAT_IA_ATTR attr;
	DAT_PSP_HANDLE psp;
	DAT_EP_PARAM param;
	DAT_EVENT event;

	SUCCEEDS(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
	SUCCEEDS(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	SUCCEEDS(dat_ep_connect(near_end.ep, attr.ia_address_ptr, qual, SECONDS, 5, "hello", DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG));
	next_event(requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp, "another service point");
	expect(event.event_data.cr_arrival_event_data.conn_qual == qual, "another qualifier");
	expect(event.event_data.cr_arrival_event_data.truncate_flag == DAT_FALSE, "private data were cut");
	SUCCEEDS(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, far_end.ep, 0, NULL));
	next_event(near_end.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	next_event(far_end.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	SUCCEEDS(dat_ep_query(far_end.ep, DAT_EP_FIELD_ALL, &param));
	expect(param.ep_state == DAT_EP_STATE_CONNECTED && param.pz_handle == pz, "the endpoint says otherwise");
	expect(param.ep_attr.max_recv_dtos >= 8, "the endpoint holds less than what was asked for");
	expect(param.ep_attr.max_rdma_size == 16, "the size of RDMA transfers is another than what was asked for");
	expect(param.ep_attr.max_message_size == UINT32_MAX, "the size of messages is not the adapter's");
	returns(dat_ep_connect(near_end.ep, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED),
		"a second connect");
	SUCCEEDS(dat_psp_free(psp));
	param.ep_attr.max_rdma_size = 64;
	returns(dat_ep_modify(near_end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, &param),
		ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_CONNECTED), "another size while connected");
	has_sizes(near_end.ep, UINT32_MAX, 32);
	report("two endpoints connect");
}

static DAT_LMR_TRIPLET piece(const struct end *end, size_t offset, DAT_SEG_LENGTH length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)(end->memory + offset),
				  .segment_length = length,
				  .lmr_context = end->context };
}

static void completes(const struct end *end, DAT_DTOS operation, DAT_SEG_LENGTH length, DAT_UINT64 cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	next_event(end->dto, DAT_DTO_COMPLETION_EVENT, &event);
	dto = &event.event_data.dto_completion_event_data;
	expect(dto->ep_handle == end->ep, "the endpoint is another");
	expect(dto->status == DAT_DTO_SUCCESS, "it failed");
	expect(dto->operation == operation, "the operation is another");
	expect(dto->transfered_length == length, "the length is another");
	expect(dto->user_cookie.as_64 == cookie, "the cookie is another");
}

static void moves_data(void)
{
	DAT_LMR_TRIPLET two[2] = { piece(&near_end, 0, 100), piece(&near_end, 1000, 200) };
	DAT_LMR_TRIPLET into = piece(&far_end, 0, SIZE / 2), whole = piece(&near_end, 0, SIZE);
	DAT_RMR_TRIPLET target = { .virtual_address = (DAT_VADDR)(uintptr_t)far_end.memory,
				   .segment_length = SIZE,
				   .rmr_context = far_end.remote };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	memset(near_end.memory, 'n', SIZE);
	memset(far_end.memory, 'f', SIZE);
	SUCCEEDS(dat_ep_post_recv(far_end.ep, 1, &into, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	cookie.as_64 = 2;
	SUCCEEDS(dat_ep_post_send(near_end.ep, 2, two, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	completes(&near_end, DAT_DTO_SEND, 300, 2);
	completes(&far_end, DAT_DTO_RECEIVE, 300, 1);
	expect(far_end.memory[299] == 'n' && far_end.memory[300] == 'f', "the message is another");
	report("a message of two segments arrives");

	cookie.as_64 = 3;
	SUCCEEDS(dat_ep_post_rdma_write(near_end.ep, 1, &whole, cookie, &target, DAT_COMPLETION_DEFAULT_FLAG));
	completes(&near_end, DAT_DTO_RDMA_WRITE, SIZE, 3);
	expect(memcmp(near_end.memory, far_end.memory, SIZE) == 0, "the memory is another");
	report("an RDMA write may be larger than what the endpoint's attribute asked for");

	far_end.memory[5] = 'r';
	cookie.as_64 = 4;
	SUCCEEDS(dat_ep_post_rdma_read(near_end.ep, 1, &whole, cookie, &target, DAT_COMPLETION_DEFAULT_FLAG));
	completes(&near_end, DAT_DTO_RDMA_READ, SIZE, 4);
	expect(near_end.memory[5] == 'r', "the memory is another");
	returns(dat_ep_post_send(near_end.ep, -1, two, cookie, 0), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		"a negative number of segments");
	returns(dat_ep_post_send(near_end.ep, 1 << 20, two, cookie, 0), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2),
		"far too many segments");
	report("an RDMA read brings them back");
}

/* Two segments of 2 GiB, which are one region of memory that is not there: the check is of the lengths alone. */
static void limits_a_message(void)
{
	size_t length = (size_t)1 << 31;
	DAT_REGION_DESCRIPTION where = { .for_va = mmap(NULL, length, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
	DAT_LMR_TRIPLET halves[2] = { { 0 }, { 0 } };
	DAT_DTO_COOKIE cookie = { .as_64 = 9 };
	DAT_LMR_HANDLE lmr;

	expect(where.for_va != MAP_FAILED, "2 GiB of addresses cannot be had");
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, where, length, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
				&halves[0].lmr_context, NULL, NULL, NULL));
	halves[0].virtual_address = (DAT_VADDR)(uintptr_t)where.for_va;
	halves[0].segment_length = (DAT_SEG_LENGTH)length;
	halves[1] = halves[0];
	returns(dat_ep_post_send(near_end.ep, 2, halves, cookie, 0), ERROR(DAT_LENGTH_ERROR, 0), "a message of 4 GiB");
	SUCCEEDS(dat_lmr_free(lmr));
	munmap(where.for_va, length);
	report("a message whose length an event cannot tell is refused");
}

static void binds(void)
{
	DAT_LMR_TRIPLET part = piece(&far_end, 64, 64), from = piece(&near_end, 0, 64), other = part;
	DAT_RMR_TRIPLET target = { .virtual_address = part.virtual_address, .segment_length = 64 };
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	other.lmr_context = near_end.context;
	SUCCEEDS(dat_rmr_create(pz, &rmr));
	returns(dat_rmr_bind(rmr, far_end.lmr, &other, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, far_end.ep, cookie, 0,
			     &target.rmr_context), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3),
		"a context of another region than the handle's");
	returns(dat_rmr_bind(rmr, far_end.lmr, &part, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, far_end.ep, cookie, 0,
			     &target.rmr_context), ERROR(DAT_NOT_IMPLEMENTED, 0), "a zero-based window");
	returns(dat_rmr_bind(rmr, far_end.lmr, &part, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, far_end.ep, cookie, 0, NULL),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9), "no place for the context");
	SUCCEEDS(dat_rmr_bind(rmr, far_end.lmr, &part, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, far_end.ep, cookie, 0,
			      &target.rmr_context));
	next_event(far_end.dto, DAT_RMR_BIND_COMPLETION_EVENT, &event);
	expect(event.event_data.rmr_completion_event_data.rmr_handle == rmr, "the event names another RMR");
	SUCCEEDS(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	expect(param.lmr_triplet.segment_length == 64 && param.rmr_scope == DAT_RMR_SCOPE_PZ, "the query says otherwise");
	near_end.memory[0] = 'w';
	SUCCEEDS(dat_ep_post_rdma_write(near_end.ep, 1, &from, cookie, &target, 0));
	completes(&near_end, DAT_DTO_RDMA_WRITE, 64, 5);
	expect(far_end.memory[64] == 'w', "nothing was written");
	part.segment_length = 0;
	SUCCEEDS(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &part, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA, far_end.ep, cookie, 0,
			      &target.rmr_context));
	next_event(far_end.dto, DAT_RMR_BIND_COMPLETION_EVENT, &event);
	SUCCEEDS(dat_rmr_free(rmr));
	report("an RMR is bound by the region's handle, and unbound without");
}

static void refuses(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	const struct dat_provider *table = DAT_HANDLE_TO_PROVIDER(near_end.ep);
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM cno_param;
	DAT_EP_ATTR datagrams = { .service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD };
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;
	int op;

	SUCCEEDS(dat_srq_create(ia, pz, &attr, &srq));
	SUCCEEDS(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	expect(param.srq_state == DAT_SRQ_STATE_OPERATIONAL, "an SRQ is in another state");
	SUCCEEDS(dat_srq_free(srq));
	SUCCEEDS(dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	SUCCEEDS(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &cno_param));
	expect(cno_param.proxy_type == DAT_PROXY_TYPE_AGENT, "a CNO has another proxy");
	SUCCEEDS(dat_cno_free(cno));
	report("an SRQ and a CNO have the states of 2.0");

	returns(table->rmr_create_for_ep_func(pz, &rmr), ERROR(DAT_MODEL_NOT_SUPPORTED, 0), "an RMR of an endpoint");
	returns(dat_extension_op(ia, DAT_IB_START_COUNTERS_OP), ERROR(DAT_NOT_IMPLEMENTED, 0), "a call of an extension");
	for (op = DAT_IB_UD_SEND_OP; op <= DAT_IB_UD_AH_FREE_OP; op++) {
		if (op == DAT_IB_QUERY_COUNTERS_OP || op == DAT_IB_PRINT_COUNTERS_OP)
			continue;
		returns(dat_extension_op(near_end.ep, op, 0, 0, 0, 0, 0), ERROR(DAT_NOT_IMPLEMENTED, 0),
			"a datagram, the start of a counter, a collective");
	}
	returns(dat_extension_op(near_end.ep, 0x7ff), ERROR(DAT_NOT_IMPLEMENTED, 0), "a call that no extension has");
	returns(dat_ep_create(ia, pz, near_end.dto, near_end.dto, near_end.conn, &datagrams, &ep),
		ERROR(DAT_INVALID_PARAMETER, 0), "an endpoint for datagrams");
	returns(dat_evd_free(near_end.dto), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE), "the EVD in use");
	returns(dat_ep_free(pz), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), "a handle of another kind");
	report("what is not served is refused, with the subtypes of 2.0");
}

/* The number asked for is one above the limit, which the warning names. stderr is a file. */
static void names_the_limit(DAT_RETURN ret, const char *object, const char *name, DAT_COUNT limit, const char *limit_name)
{
	char words[256], text[4096] = "";

	returns(DAT_GET_TYPE(ret), DAT_INVALID_PARAMETER, "more than the adapter's limit");
	expect(pread(STDERR_FILENO, text, sizeof(text) - 1, 0) >= 0, "the messages can be read");
	snprintf(words, sizeof(words), ": no %s with %s %d: the adapter has a limit of %d (%s)", object, name, (int)limit + 1,
		 (int)limit, limit_name);
	if (!strstr(text, words))
		printf("# said: %s\n", text);
	expect(strstr(text, words) != NULL, words);
}

static void names_limits(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq, none;
	DAT_IA_ATTR can;
	DAT_EVD_HANDLE evd;
	FILE *messages = tmpfile();
	int kept = dup(STDERR_FILENO);

	if (messages == NULL || kept < 0 || dup2(fileno(messages), STDERR_FILENO) < 0) {
		expect(0, "stderr can be caught");
		goto end;
	}
	SUCCEEDS(dat_ia_query(ia, &evd, DAT_IA_ALL, &can, 0, NULL));
	SUCCEEDS(dat_srq_create(ia, pz, &attr, &srq));
	names_the_limit(dat_evd_create(ia, can.max_evd_qlen + 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd), "EVD",
			"evd_min_qlen", can.max_evd_qlen, "max_evd_qlen");
	names_the_limit(dat_srq_resize(srq, can.max_recv_per_srq + 1), "SRQ", "max_recv_dtos", can.max_recv_per_srq,
			"max_recv_per_srq");
	attr.max_recv_iov = can.max_iov_segments_per_dto + 1;
	names_the_limit(dat_srq_create(ia, pz, &attr, &none), "SRQ", "max_recv_iov", can.max_iov_segments_per_dto,
			"max_iov_segments_per_dto");
	SUCCEEDS(dat_srq_free(srq));
	dup2(kept, STDERR_FILENO);
end:
	if (kept >= 0)
		close(kept);
	if (messages != NULL)
		fclose(messages);
	report("a number beyond the limit of the adapter is named by default");
}

static void ends(void)
{
	DAT_EVENT event;

	SUCCEEDS(dat_ep_disconnect(near_end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	next_event(near_end.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	next_event(far_end.conn, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	returns(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA), "a second close");
	report("the connection ends, and the adapter closes");
}

int main(void)
{
	if (!adapter_choose())
		return 99;
	if (!opens()) {
		report("an adapter of an SDK plugin opens for DAT 2.0");
		adapter_chosen_end();
		return 1;
	}
	adapter_chosen_end();
	queries();
	asks_without_opening();
	creates();
	modifies();
	tells_of_nothing();
	connects();
	moves_data();
	limits_a_message();
	binds();
	refuses();
	names_limits();
	ends();
	printf("1..%d\n", tests);
	return failed != 0;
}
