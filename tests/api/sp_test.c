/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service points and connection requests: PSPs of both kinds, RSPs, backlog, handoff, dup_connect.
 */
#include <string.h>

#include "api.h"

static DAT_EVD_HANDLE cr_evd;
static struct api_buf buf;

static void setup(void)
{
	api_open();
	cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
}

static struct api_end new_end(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	return end;
}

static DAT_CR_PARAM cr_query(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static void established(const struct api_end *a, const struct api_end *b)
{
	API_CONN(b->connect, b->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(a->connect, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void exchange(const struct api_end *a, const struct api_end *b)
{
	REQUIRE_DAT(api_recv(b->ep, &buf, 0, 64, 51), DAT_SUCCESS);
	REQUIRE_DAT(api_send(a->ep, &buf, 4096, 64, 52, 0), DAT_SUCCESS);
	API_DTO(b->recv, b->ep, 51, DAT_DTO_SUCCESS, 64);
	API_DTO(a->request, a->ep, 52, DAT_DTO_SUCCESS, 64);
}

static void psp_tells_what_it_was_made_with(void)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_PSP_PARAM param;

	REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia && param.evd_handle == cr_evd);
	CHECK_EQ_INT(param.conn_qual, qual);
	CHECK_EQ_INT(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	for (int bit = 1; bit < DAT_PSP_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)0x10, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_DAT(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_psp_free(psp), DAT_INVALID_HANDLE);
}

static void psp_create_refuses_bad_arguments(void)
{
	DAT_EVD_HANDLE dto = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_PSP_HANDLE psp;

	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, (DAT_PSP_FLAGS)8, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK(dat_psp_create(api.ia, qual, dto, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS);
	CHECK_DAT(dat_psp_create_any(api.ia, NULL, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_create_any(api.ia, &qual, cr_evd, (DAT_PSP_FLAGS)8, &psp),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_create_any(api.ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
}

static void provider_endpoints_are_made_as_the_provider_says(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	CHECK_DAT(dat_psp_create_any(api.ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  api.prov.ep_creator == DAT_PSP_CREATES_EP_ALWAYS ? DAT_MODEL_NOT_SUPPORTED
								   : DAT_SUCCESS);
	CHECK_DAT(dat_psp_create_any(api.ia, &qual, cr_evd, DAT_PSP_PROVIDER_FLAG, &psp),
		  api.prov.ep_creator == DAT_PSP_CREATES_EP_NEVER ? DAT_MODEL_NOT_SUPPORTED
								  : DAT_SUCCESS);
}

static void taken_qualifier_is_in_use_until_freed(void)
{
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	struct api_end end = new_end();
	DAT_PSP_HANDLE psp, second;
	DAT_RSP_HANDLE rsp;

	REQUIRE_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
		  DAT_CONN_QUAL_IN_USE);
	CHECK_DAT(dat_rsp_create(api.ia, qual, end.ep, cr_evd, &rsp), DAT_CONN_QUAL_IN_USE);
	API_STATE(end.ep, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	REQUIRE_DAT(dat_rsp_create(api.ia, qual, end.ep, cr_evd, &rsp), DAT_SUCCESS);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
		  DAT_CONN_QUAL_IN_USE);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	CHECK_DAT(dat_psp_create(api.ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
		  DAT_SUCCESS);
}

static void qualifier_is_any_number_of_64_bits(void)
{
	static const DAT_CONN_QUAL quals[] = { UINT64_C(0x123456789abcdef0), UINT64_C(77) << 35,
					       UINT64_MAX - 4711, UINT64_C(0x100000000) };

	for (size_t i = 0; i < sizeof(quals) / sizeof(*quals); i++) {
		struct api_end a = new_end(), b = new_end();
		DAT_PSP_HANDLE psp;
		DAT_EVENT event;

		REQUIRE_DAT(dat_psp_create(api.ia, quals[i], cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
			    DAT_SUCCESS);
		REQUIRE_DAT(api_connect(a.ep, quals[i]), DAT_SUCCESS);
		API_EVENT(cr_evd, &event);
		CHECK_EQ_INT(event.event_data.cr_arrival_event_data.conn_qual, quals[i]);
		CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp);
		REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0,
					  NULL),
			    DAT_SUCCESS);
		established(&a, &b);
		REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	}
}

static void create_any_gives_distinct_unprivileged_qualifiers(void)
{
	DAT_CONN_QUAL quals[100];
	DAT_PSP_PARAM param;

	for (int i = 0; i < 100; i++) {
		DAT_PSP_HANDLE psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);

		CHECK(quals[i] >= 1 && quals[i] <= 65535);
		REQUIRE_DAT(dat_psp_query(psp, DAT_PSP_FIELD_CONN_QUAL, &param), DAT_SUCCESS);
		CHECK_EQ_INT(param.conn_qual, quals[i]);
		for (int k = 0; k < i; k++)
			CHECK(quals[k] != quals[i]);
	}
}

static void psp_makes_a_request_of_each_connect(void)
{
	struct api_end ends[10];
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE crs[10];

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	for (int i = 0; i < 10; i++) {
		ends[i] = new_end();
		REQUIRE_DAT(api_connect(ends[i].ep, qual), DAT_SUCCESS);
	}
	for (int i = 0; i < 10; i++) {
		crs[i] = api_cr(cr_evd);
		for (int k = 0; k < i; k++)
			CHECK(crs[k] != crs[i]);
	}
	for (int i = 0; i < 10; i++)
		REQUIRE_DAT(dat_cr_reject(crs[i]), DAT_SUCCESS);
	for (int i = 0; i < 10; i++)
		API_CONN(ends[i].connect, ends[i].ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	REQUIRE_DAT(dat_ep_reset(ends[0].ep), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(ends[0].ep, qual), DAT_SUCCESS);
	api_cr(cr_evd);
}

static void psps_of_one_evd_are_told_apart(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL one, two;
	DAT_PSP_HANDLE first = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &one);
	DAT_PSP_HANDLE second = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &two);
	DAT_EVENT event;

	REQUIRE_DAT(api_connect(a.ep, two), DAT_SUCCESS);
	API_EVENT(cr_evd, &event);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == second);
	REQUIRE_DAT(api_connect(b.ep, one), DAT_SUCCESS);
	API_EVENT(cr_evd, &event);
	CHECK(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == first);
}

#define GIVES_UP_MS 10000u /* siw gives up a request after so long, whatever its timeout: opendat-iwarp(7) */

/* Returns the first endpoint that has got a connection event, with the event, or NULL. */
static struct api_end *one_told(struct api_end *ends, int n, DAT_EVENT *event)
{
	for (int i = 0; i < n; i++)
		if (dat_evd_dequeue(ends[i].connect, event) == DAT_SUCCESS)
			return &ends[i];
	return NULL;
}

/*
 * The backlog is the queue of the CR EVD: requests that do not fit are refused, and the EVD does not overflow.
 * The transport decides which one is refused, because attempts overtake each other over iWARP.
 */
static void connects_beyond_the_backlog_are_refused(void)
{
	DAT_EVD_HANDLE small = api_evd(2, DAT_EVD_CR_FLAG);
	struct api_end *ends, *refused;
	DAT_EVD_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	uint64_t began;

	REQUIRE_DAT(dat_evd_query(small, DAT_EVD_FIELD_EVD_QLEN, &param), DAT_SUCCESS);
	if (param.evd_qlen > 300)
		check_skip("the provider's shortest queue is long");
	api_listen(small, DAT_PSP_CONSUMER_FLAG, &qual);
	ends = api_memory(sizeof(*ends) * ((size_t)param.evd_qlen + 1));
	began = check_now_ms();
	for (int i = 0; i <= param.evd_qlen; i++) {
		ends[i] = new_end();
		REQUIRE_DAT(api_connect(ends[i].ep, qual), DAT_SUCCESS);
	}
	REQUIRE_SOON((refused = one_told(ends, param.evd_qlen + 1, &event)) != NULL);
	if (event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE && check_now_ms() - began >= GIVES_UP_MS)
		check_skip("the machine is so busy that siw has given up the first request before the last one was made");
	CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK(one_told(ends, param.evd_qlen + 1, &event) == NULL);
	API_EMPTY(api.async);
	api_cr(small); /* one more request fits again */
	REQUIRE_DAT(dat_ep_reset(refused->ep), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(refused->ep, qual), DAT_SUCCESS);
	for (int i = 0; i < param.evd_qlen; i++)
		REQUIRE_DAT(dat_cr_reject(api_cr(small)), DAT_SUCCESS);
	API_CONN(refused->connect, refused->ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	API_QUIET(api.async);
}

static void request_names_its_peer_and_is_gone_when_answered(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;
	DAT_EP_PARAM ep;
	DAT_CR_HANDLE cr;
	char hello[] = "hello";

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), qual, api_patience(), 6, hello, 0, 0),
		    DAT_SUCCESS);
	memset(hello, 0, sizeof(hello)); /* the data have been copied */
	cr = api_cr(cr_evd);
	param = cr_query(cr);
	CHECK(param.local_ep_handle == DAT_HANDLE_NULL);
	REQUIRE_EQ_INT(param.private_data_size, 6);
	CHECK_EQ_MEM(param.private_data, "hello", 6);
	REQUIRE_DAT(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &ep), DAT_SUCCESS);
	CHECK_EQ_INT(param.remote_port_qual, ep.local_port_qual);
	for (int bit = 1; bit < DAT_CR_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_cr_query(cr, (DAT_CR_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	/* Calls that are refused leave the request pending. */
	CHECK_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cr_accept(cr, b.ep, 5, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_cr_accept(cr, b.ep, -1, hello), DAT_INVALID_PARAMETER);
	CHECK_EQ_MEM(cr_query(cr).private_data, "hello", 6);
	REQUIRE_DAT(dat_cr_accept(cr, b.ep, 0, NULL), DAT_SUCCESS);
	established(&a, &b);
	CHECK_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cr_accept(cr, b.ep, 0, NULL), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cr_reject(cr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_cr_handoff(cr, qual), DAT_INVALID_HANDLE);
}

static void queued_request_survives_the_free_of_its_psp(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	DAT_EVENT event;

	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	API_EVENT(cr_evd, &event);
	REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL),
		    DAT_SUCCESS);
	established(&a, &b);
	exchange(&a, &b);
}

/*
 * Returns whether the event means that the request was refused. The kernel's connection manager for
 * iWARP drops a request whose listener is just being closed, so the active side is notified only
 * when its device gives up: see the caveats of opendat-iwarp(7).
 */
static bool is_refused(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
	       number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	       (number == DAT_CONNECTION_EVENT_UNREACHABLE &&
		api_declares("transport", "iWARP"));
}

static void free_of_a_psp_amid_connects_loses_none_of_them(void)
{
	for (int round = 0; round < 30; round++) {
		struct api_end a = new_end();
		DAT_CONN_QUAL qual;
		DAT_PSP_HANDLE psp = api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
		DAT_EVENT event, request;
		DAT_COUNT nmore;

		REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
		REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
		if (dat_evd_wait(cr_evd, 20000, 1, &request, &nmore) == DAT_SUCCESS)
			REQUIRE_DAT(
				dat_cr_reject(request.event_data.cr_arrival_event_data.cr_handle),
				DAT_SUCCESS);
		API_EVENT(a.connect, &event);
		CHECK(is_refused(event.event_number));
		api_end_free(&a);
	}
}

/*
 * Returns a request with an endpoint of the provider, which is unconfigured, is modified, and then
 * accepted.
 */
static DAT_CR_HANDLE provider_request(const struct api_end *a, DAT_EP_HANDLE *ep)
{
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;

	if (api.prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		check_skip("the provider creates no endpoints for PSPs");
	api_listen(cr_evd, DAT_PSP_PROVIDER_FLAG, &qual);
	REQUIRE_DAT(api_connect(a->ep, qual), DAT_SUCCESS);
	cr = api_cr(cr_evd);
	*ep = cr_query(cr).local_ep_handle;
	REQUIRE(*ep != DAT_HANDLE_NULL);
	return cr;
}

static void providers_endpoint_comes_unconfigured(void)
{
	struct api_end a = new_end();
	DAT_HANDLE_TYPE type;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	provider_request(&a, &ep);
	API_STATE(ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	REQUIRE_DAT(dat_get_handle_type(ep, &type), DAT_SUCCESS);
	CHECK_EQ_INT(type, DAT_HANDLE_TYPE_EP);
	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.pz_handle == DAT_HANDLE_NULL && param.recv_evd_handle == DAT_HANDLE_NULL);
	CHECK(param.request_evd_handle == DAT_HANDLE_NULL &&
	      param.connect_evd_handle == DAT_HANDLE_NULL);
	CHECK(param.remote_ia_address_ptr != NULL);
}

static void providers_endpoint_is_configured_and_accepted(void)
{
	struct api_end a = new_end(), b = { .recv = api_evd(8, DAT_EVD_DTO_FLAG),
					    .request = api_evd(8, DAT_EVD_DTO_FLAG),
					    .connect = api_evd(8, DAT_EVD_CONNECTION_FLAG) };
	DAT_CR_HANDLE cr = provider_request(&a, &b.ep);
	DAT_EP_PARAM param = { .pz_handle = api.pz,
			       .recv_evd_handle = b.recv,
			       .request_evd_handle = b.request,
			       .connect_evd_handle = b.connect };
	struct api_end other = new_end();

	CHECK_DAT(dat_ep_free(b.ep), DAT_INVALID_STATE);
	CHECK(dat_cr_accept(cr, other.ep, 0, NULL) != DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_modify(b.ep,
				  DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					  DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					  DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				  &param),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	established(&a, &b);
	exchange(&a, &b);
	exchange(&b, &a);
	CHECK_DAT(dat_ep_free(b.ep), DAT_SUCCESS);
	API_CONN_OVER(a.connect, a.ep);
}

static void rejected_providers_endpoint_goes_back(void)
{
	struct api_end a = new_end();
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr = provider_request(&a, &ep);

	REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK_DAT(dat_ep_free(ep), DAT_INVALID_HANDLE);
}

static DAT_RSP_HANDLE reserve(const struct api_end *end, DAT_CONN_QUAL qual)
{
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_rsp_create(api.ia, qual, end->ep, cr_evd, &rsp), DAT_SUCCESS);
	API_STATE(end->ep, DAT_EP_STATE_RESERVED);
	return rsp;
}

static void rsp_tells_what_it_was_made_with_and_gives_its_endpoint_back(void)
{
	struct api_end end = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_RSP_HANDLE rsp = reserve(&end, qual), second;
	DAT_RSP_PARAM param;

	REQUIRE_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia && param.evd_handle == cr_evd && param.ep_handle == end.ep);
	CHECK_EQ_INT(param.conn_qual, qual);
	CHECK_DAT(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_rsp_create(api.ia, api_free_qual(cr_evd), end.ep, cr_evd, &second),
		  DAT_INVALID_STATE);
	CHECK_DAT(dat_ep_free(end.ep), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	API_STATE(end.ep, DAT_EP_STATE_UNCONNECTED);
	CHECK_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_rsp_free(rsp), DAT_INVALID_HANDLE);
	rsp = reserve(&end, qual);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	CHECK_DAT(dat_rsp_create(api.ia, qual, end.ep, cr_evd, NULL), DAT_INVALID_PARAMETER);
	api_end_free(&end);
}

static void rsp_connects_its_endpoint_once(void)
{
	struct api_end a = new_end(), b = new_end(), late = new_end(), other = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_RSP_HANDLE rsp = reserve(&b, qual);
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_RSP_PARAM param;
	DAT_EVENT event;

	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	API_EVENT(cr_evd, &event);
	arrival = &event.event_data.cr_arrival_event_data;
	CHECK(arrival->sp_handle.rsp_handle == rsp);
	CHECK_EQ_INT(arrival->conn_qual, qual);
	CHECK(cr_query(arrival->cr_handle).local_ep_handle == b.ep);
	API_STATE(b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	REQUIRE_DAT(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ep_handle == b.ep && param.conn_qual == qual);
	REQUIRE_DAT(api_connect(late.ep, qual), DAT_SUCCESS);
	API_CONN(late.connect, late.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK(dat_cr_accept(arrival->cr_handle, other.ep, 0, NULL) != DAT_SUCCESS);
	API_STATE(other.ep, DAT_EP_STATE_UNCONNECTED);
	REQUIRE_DAT(dat_cr_accept(arrival->cr_handle, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	established(&a, &b);
	REQUIRE_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	CHECK_DAT(dat_rsp_free(rsp), DAT_INVALID_HANDLE);
	exchange(&a, &b);
}

/*
 * Programs may expect that a used RSP frees itself, so it holds neither its EVD nor its endpoint.
 */
static void used_up_rsp_that_nobody_frees_is_in_nobodys_way(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual = api_free_qual(evd);
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_rsp_create(api.ia, qual, b.ep, evd, &rsp), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(evd)), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	api_end_free(&b);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
}

static void rejected_reserved_endpoint_can_be_used_again(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);

	reserve(&b, qual);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(cr_evd)), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	API_STATE(b.ep, DAT_EP_STATE_UNCONNECTED);
	API_EMPTY(b.connect);
	REQUIRE_DAT(dat_ep_reset(a.ep), DAT_SUCCESS);
	reserve(&b, qual);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	established(&a, &b);
}

/* Some providers create the endpoint then, others refuse. */
static void rsp_without_an_endpoint_gets_one_or_is_declined(void)
{
	struct api_end a = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_RSP_HANDLE rsp;
	DAT_RETURN ret = DAT_GET_TYPE(dat_rsp_create(api.ia, qual, DAT_HANDLE_NULL, cr_evd, &rsp));

	if (ret != DAT_SUCCESS) {
		CHECK(ret == DAT_INVALID_HANDLE || ret == DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	CHECK(cr_query(api_cr(cr_evd)).local_ep_handle != DAT_HANDLE_NULL);
}

static void freed_rsp_refuses(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);

	REQUIRE_DAT(dat_rsp_free(reserve(&b, qual)), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void request_handed_off_comes_to_the_other_service_point(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_EVD_HANDLE other_evd = api_evd(8, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL one, two;
	DAT_CR_HANDLE cr, handed;
	DAT_CR_PARAM param;
	DAT_RETURN ret;
	char hello[] = "hello";

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &one);
	api_listen(other_evd, DAT_PSP_CONSUMER_FLAG, &two);
	REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), one, api_patience(), 6, hello, 0, 0),
		    DAT_SUCCESS);
	cr = api_cr(cr_evd);
	ret = DAT_GET_TYPE(dat_cr_handoff(cr, api_free_qual(cr_evd)));
	CHECK(ret == DAT_INVALID_PARAMETER);
	cr_query(cr);
	REQUIRE_DAT(dat_cr_handoff(cr, two), DAT_SUCCESS);
	CHECK_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	handed = api_cr(other_evd);
	param = cr_query(handed);
	REQUIRE_EQ_INT(param.private_data_size, 6);
	CHECK_EQ_MEM(param.private_data, "hello", 6);
	API_EMPTY(a.connect);
	REQUIRE_DAT(dat_cr_accept(handed, b.ep, 0, NULL), DAT_SUCCESS);
	established(&a, &b);
	exchange(&a, &b);
}

static void duplicate_goes_where_the_first_connect_went(void)
{
	struct api_end c = new_end(), d = new_end();
	struct api_pair pair;
	char hello[] = "again";
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	api_pair_make(&pair, NULL);
	REQUIRE_DAT(
		dat_ep_dup_connect(c.ep, pair.a.ep, api_patience(), 6, hello, DAT_QOS_BEST_EFFORT),
		DAT_SUCCESS);
	API_STATE(c.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	cr = api_cr(pair.cr_evd);
	param = cr_query(cr);
	CHECK_EQ_INT(param.private_data_size, 6);
	CHECK_EQ_MEM(param.private_data, hello, 6);
	REQUIRE_DAT(dat_cr_accept(cr, d.ep, 0, NULL), DAT_SUCCESS);
	established(&c, &d);
	exchange(&c, &d);
	exchange(&pair.a, &pair.b);
}

static void duplicate_fails_as_a_connect_does_and_leaves_the_first_alone(void)
{
	struct api_end c = new_end();
	struct api_pair pair;
	char hello[] = "again";

	api_pair_make(&pair, NULL);
	CHECK_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, 0, 0, NULL, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, 1000, -1, hello, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, 1000, 5, NULL, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_dup_connect(pair.a.ep, pair.a.ep, 1000, 0, NULL, 0), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, api_patience(), 0, NULL, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(pair.cr_evd)), DAT_SUCCESS);
	API_CONN(c.connect, c.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	REQUIRE_DAT(dat_ep_reset(c.ep), DAT_SUCCESS);
	/* Nobody answers. On a busy machine the time may pass before the request is sent, so it is not awaited. */
	REQUIRE_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, 50000, 0, NULL, 0), DAT_SUCCESS);
	API_CONN(c.connect, c.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	REQUIRE_DAT(dat_ep_reset(c.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_dup_connect(c.ep, pair.a.ep, api_patience(), 0, NULL, 0), DAT_SUCCESS);
	API_CONN(c.connect, c.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	API_STATE(pair.a.ep, DAT_EP_STATE_CONNECTED);
	exchange(&pair.a, &pair.b);
}

static void passive_end_cannot_be_duplicated(void)
{
	struct api_end c = new_end();
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	CHECK(dat_ep_dup_connect(c.ep, pair.b.ep, 100000, 0, NULL, 0) != DAT_SUCCESS);
	API_STATE(c.ep, DAT_EP_STATE_UNCONNECTED);
	exchange(&pair.a, &pair.b);
}

/*
 * The active side has given up. The request can still be queried, and both answers to it are
 * accepted.
 */
static void stale_request_can_be_queried_and_rejected(void)
{
	struct api_end a = new_end();
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), qual, 20000, 4, (char[]){ "old" }, 0, 0),
		    DAT_SUCCESS);
	cr = api_cr(cr_evd);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	CHECK_EQ_MEM(cr_query(cr).private_data, "old", 4);
	CHECK_DAT(dat_cr_reject(cr), DAT_SUCCESS);
	API_QUIET(a.connect);
}

static void stale_request_on_an_rsp_fails_the_accept(void)
{
	struct api_end a = new_end(), b = new_end();
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_CR_HANDLE cr;

	if (api_declares("accept", "unconfirmed"))
		check_skip("the accepting side does not learn whether the other side is still there");
	reserve(&b, qual);
	REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), qual, 20000, 0, NULL, 0, 0), DAT_SUCCESS);
	cr = api_cr(cr_evd);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	REQUIRE_DAT(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

static void lost_request_event_costs_the_peer_only_its_connect(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_end a = new_end();
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp = api_listen(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_connect(a.ep, api_address(), qual, 200000, 0, NULL, 0, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	API_EVENT(a.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
	      event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	      event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
}

static const struct check_test tests[] = {
	CHECK_TEST(psp_tells_what_it_was_made_with),
	CHECK_TEST(psp_create_refuses_bad_arguments),
	CHECK_TEST(provider_endpoints_are_made_as_the_provider_says),
	CHECK_TEST(taken_qualifier_is_in_use_until_freed),
	CHECK_TEST(qualifier_is_any_number_of_64_bits),
	CHECK_TEST(create_any_gives_distinct_unprivileged_qualifiers),
	CHECK_TEST(psp_makes_a_request_of_each_connect),
	CHECK_TEST(psps_of_one_evd_are_told_apart),
	CHECK_TEST(connects_beyond_the_backlog_are_refused),
	CHECK_TEST(request_names_its_peer_and_is_gone_when_answered),
	CHECK_TEST(queued_request_survives_the_free_of_its_psp),
	CHECK_TEST(free_of_a_psp_amid_connects_loses_none_of_them),
	CHECK_TEST(providers_endpoint_comes_unconfigured),
	CHECK_TEST(providers_endpoint_is_configured_and_accepted),
	CHECK_TEST(rejected_providers_endpoint_goes_back),
	CHECK_TEST(rsp_tells_what_it_was_made_with_and_gives_its_endpoint_back),
	CHECK_TEST(rsp_connects_its_endpoint_once),
	CHECK_TEST(used_up_rsp_that_nobody_frees_is_in_nobodys_way),
	CHECK_TEST(rejected_reserved_endpoint_can_be_used_again),
	CHECK_TEST(rsp_without_an_endpoint_gets_one_or_is_declined),
	CHECK_TEST(freed_rsp_refuses),
	CHECK_TEST(request_handed_off_comes_to_the_other_service_point),
	CHECK_TEST(duplicate_goes_where_the_first_connect_went),
	CHECK_TEST(duplicate_fails_as_a_connect_does_and_leaves_the_first_alone),
	CHECK_TEST(passive_end_cannot_be_duplicated),
	CHECK_TEST(stale_request_can_be_queried_and_rejected),
	CHECK_TEST(stale_request_on_an_rsp_fails_the_accept),
	CHECK_TEST(lost_request_event_costs_the_peer_only_its_connect),
	CHECK_END
};

static const struct check_suite sp = {
	.name = "service points",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&sp);
