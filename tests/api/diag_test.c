/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What level debug reports about refused calls: each refused post, each attribute for which dat_ep_create
 * returns DAT_INVALID_PARAMETER, and what all other calls are refused for: a handle, an argument, a state, an object
 * that is in use. ep_test tests that nothing is printed by default.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

enum { SIZE = 8192, HALF = SIZE / 2 };

static struct api_pair pair;
static struct api_buf buf;

static void setup_debug(void)
{
	setenv("DAT_LOG", "debug", 1);
	api_open();
}

static void meet(void)
{
	DAT_EP_ATTR attr = { .max_message_size = 1024, .max_rdma_size = 2048 };

	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, &attr);
}

/*
 * Checks that the call is refused, with this type if it is not 0, and that the message contains
 * both texts.
 */
#define CHECK_DIAG(call, type, one, two)                                                           \
	do {                                                                                       \
		DAT_RETURN ret_;                                                                   \
		const char *text_;                                                                 \
		check_stderr_begin();                                                              \
		ret_ = (call);                                                                     \
		text_ = check_stderr_end();                                                        \
		CHECK(ret_ != DAT_SUCCESS);                                                        \
		if ((int)(type) != 0)                                                                         \
			CHECK_DAT(ret_, type);                                                     \
		if (!strstr(text_, one) || !strstr(text_, two))                                    \
			fprintf(stderr, "# said: %s\n", text_);                                             \
		CHECK(strstr(text_, one) && strstr(text_, two));                                   \
	} while (0)

/* ------------------------------------------------------------------ posts */

static DAT_RETURN send_of(DAT_LMR_TRIPLET seg)
{
	return dat_ep_post_send(pair.a.ep, 1, &seg, api_cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
}

static void refused_send_says_what_was_wrong_with_its_length(void)
{
	meet();
	CHECK_DIAG(send_of(api_seg(&buf, 0, 1025)), DAT_INVALID_PARAMETER, "dat_ep_post_send",
		   "1025 bytes; the endpoint's max_message_size (max_mtu_size) is 1024");
}

static void refused_write_says_what_was_wrong_with_its_lengths(void)
{
	meet();
	CHECK_DIAG(api_write(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, HALF, 32), 1, 0),
		   DAT_LENGTH_ERROR, "dat_ep_post_rdma_write", "64 bytes here, 32 there");
	CHECK_DIAG(api_read(pair.a.ep, api_seg(&buf, 0, 32), api_target(&buf, HALF, 64), 1, 0),
		   DAT_LENGTH_ERROR, "dat_ep_post_rdma_read", "32 bytes here, 64 there");
}

static void refused_post_names_the_segment_that_no_region_covers(void)
{
	DAT_LMR_TRIPLET seg, beyond;

	meet();
	seg = api_seg(&buf, 0, 64);
	seg.lmr_context = 0x7ffffff0;
	/* the adapter chooses the error */
	CHECK_DIAG(send_of(seg), 0, "segment 0 (lmr_context 0x7ffffff0",
		   "no region of this adapter has that lmr_context");
	beyond = api_seg(&buf, SIZE - 32, 64);
	CHECK_DIAG(dat_ep_post_recv(pair.a.ep, 1, &beyond, api_cookie(1), 0),
		   0, "dat_ep_post_recv", "it reaches beyond its region (8192 bytes at 0x");
	beyond.virtual_address -= SIZE;
	beyond.segment_length = 2 * SIZE;
	CHECK_DIAG(dat_ep_post_recv(pair.b.ep, 1, &beyond, api_cookie(1), 0), 0, "dat_ep_post_recv",
		   "by 32 bytes at its beginning and 8160 at its end");
}

static void refused_post_says_what_was_wrong_with_counts_and_flags(void)
{
	DAT_LMR_TRIPLET seg;

	meet();
	seg = api_seg(&buf, 0, 64);
	CHECK_DIAG(dat_ep_post_send(pair.a.ep, 1000, &seg, api_cookie(1), 0), DAT_INVALID_PARAMETER,
		   "1000 segments", "the endpoint takes 0 to");
	CHECK_DIAG(dat_ep_post_recv(pair.a.ep, 1, NULL, api_cookie(1), 0), DAT_INVALID_PARAMETER,
		   "1 segments", "their list is NULL");
	CHECK_DIAG(dat_ep_post_send(pair.b.ep, 1, &seg, api_cookie(1),
				    DAT_COMPLETION_UNSIGNALLED_FLAG),
		   DAT_INVALID_PARAMETER, "completion flags", "the endpoint's own flags");
}

/* Each reason for a refusal is printed once, whether the return values of the posts are the same or not. */
static void each_cause_is_told_once(void)
{
	DAT_LMR_TRIPLET seg, unknown;

	meet();
	seg = api_seg(&buf, SIZE - 32, 64);
	unknown = api_seg(&buf, 0, 64);
	unknown.lmr_context = 0x7ffffff0;
	CHECK_DIAG(send_of(unknown), 0, "dat_ep_post_send", "has that lmr_context");
	CHECK_DIAG(send_of(seg), 0, "dat_ep_post_send", "it reaches beyond its region");
	check_stderr_begin();
	CHECK(send_of(seg) != DAT_SUCCESS);
	CHECK_EQ_STR(check_stderr_end(), "");
	/* These three posts are refused with the same return value, each for a reason of its own. */
	CHECK_DIAG(dat_ep_post_send(pair.a.ep, 1000, &seg, api_cookie(1), 0), DAT_INVALID_PARAMETER, "dat_ep_post_send",
		   "1000 segments");
	CHECK_DIAG(dat_ep_post_send(pair.a.ep, 1, NULL, api_cookie(1), 0), DAT_INVALID_PARAMETER, "dat_ep_post_send",
		   "their list is NULL");
	CHECK_DIAG(dat_ep_post_send(pair.a.ep, 1, &seg, api_cookie(1), 0x8000), DAT_INVALID_PARAMETER, "dat_ep_post_send",
		   "completion flags 0x8000");
}

static void refused_receive_of_an_srq_says_what_was_wrong(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET seg[2], beyond;
	DAT_SRQ_HANDLE srq;

	if (!api.prov.srq_supported)
		check_skip("the adapter has no SRQs");
	meet();
	seg[0] = seg[1] = api_seg(&buf, 0, 64);
	beyond = api_seg(&buf, SIZE - 32, 64);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	CHECK_DIAG(dat_srq_post_recv(srq, 1000, seg, api_cookie(1)), DAT_INVALID_PARAMETER,
		   "dat_srq_post_recv", "1000 segments; the SRQ takes 0 to");
	CHECK_DIAG(dat_srq_post_recv(srq, 1, &beyond, api_cookie(1)), 0, "dat_srq_post_recv",
		   "it reaches beyond its region");
	while (dat_srq_post_recv(srq, 1, seg, api_cookie(1)) == DAT_SUCCESS)
		;
	CHECK_DIAG(dat_srq_post_recv((DAT_SRQ_HANDLE)api.pz, 1, seg, api_cookie(1)), DAT_INVALID_HANDLE,
		   "dat_srq_post_recv", "is not an SRQ");
	CHECK_DAT(dat_srq_free(srq), DAT_SUCCESS);
}

static void refused_bind_says_what_was_wrong(void)
{
	DAT_PZ_HANDLE other = api_pz();
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_HANDLE rmr;

	meet();
	seg = api_seg(&buf, SIZE - 32, 64);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	CHECK_DIAG(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.a.ep, api_cookie(1), 0, &context), 0,
		   "dat_rmr_bind on the RMR", "it reaches beyond its region");
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_create(other, &rmr), DAT_SUCCESS);
	CHECK_DIAG(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.a.ep, api_cookie(1), 0, &context), 0,
		   "dat_rmr_bind on the RMR", "are in different protection zones");
	CHECK_DIAG(dat_rmr_bind((DAT_RMR_HANDLE)api.pz, &seg, 0, pair.a.ep, api_cookie(1), 0, &context),
		   DAT_INVALID_HANDLE, "dat_rmr_bind", "there is no RMR at");
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

static void refused_post_names_a_handle_that_is_no_endpoint(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%p", (void *)api.pz);
	CHECK_DIAG(dat_ep_post_send((DAT_EP_HANDLE)api.pz, 0, NULL, api_cookie(1), 0),
		   DAT_INVALID_HANDLE, "is not an endpoint", text);
}

static void post_that_is_taken_says_nothing(void)
{
	meet();
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, HALF, 64, 2), DAT_SUCCESS);
	check_stderr_begin();
	CHECK_DAT(send_of(api_seg(&buf, 0, 64)), DAT_SUCCESS);
	CHECK(!strstr(check_stderr_end(), "refused"));
	API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, 64);
}

/* ------------------------------------------------------------------ endpoints */

static DAT_RETURN create(const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
			     (DAT_EP_ATTR *)attr, &ep);
}

static void each_wrong_attribute_of_an_endpoint_is_named(void)
{
#define CHECK_ATTR(member, number)                                                                 \
	CHECK_DIAG(create(&(DAT_EP_ATTR){ .member = (number) }), DAT_INVALID_PARAMETER,            \
		   "no endpoint with " #member, #number)
	CHECK_ATTR(max_recv_dtos, -7);
	CHECK_ATTR(max_request_dtos, -7);
	CHECK_ATTR(max_recv_iov, -7);
	CHECK_ATTR(max_request_iov, -7);
	CHECK_ATTR(max_rdma_read_in, -7);
	CHECK_ATTR(max_rdma_read_out, -7);
	CHECK_ATTR(max_rdma_read_iov, -7);
	CHECK_ATTR(max_rdma_write_iov, -7);
	CHECK_ATTR(srq_soft_hw, -7);
	CHECK_ATTR(recv_completion_flags, 1);
	CHECK_ATTR(request_completion_flags, 2);
	CHECK_ATTR(service_type, 5);
	CHECK_DIAG(create(&(DAT_EP_ATTR){ .max_message_size = UINT64_MAX }), DAT_INVALID_PARAMETER,
		   "no endpoint with max_message_size 18446744073709551615", "(max_message_size)");
	CHECK_DIAG(create(&(DAT_EP_ATTR){ .max_rdma_size = UINT64_MAX }), DAT_INVALID_PARAMETER,
		   "no endpoint with max_rdma_size 18446744073709551615", "(max_rdma_size)");
	CHECK_DIAG(create(&(DAT_EP_ATTR){ .ep_transport_specific_count = 3 }),
		   DAT_INVALID_PARAMETER, "no endpoint with attributes of its own",
		   "ep_transport_specific_count is 3");
}

static void wrong_evd_or_pointer_of_an_endpoint_is_named(void)
{
	DAT_EVD_HANDLE soft = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE ep;

	CHECK_DIAG(dat_ep_create(api.ia, api.pz, soft, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep),
		   DAT_INVALID_HANDLE, "as recv_evd_handle", "without DAT_EVD_DTO_FLAG");
	CHECK_DIAG(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				 NULL, NULL),
		   DAT_INVALID_PARAMETER, "dat_ep_create", "ep_handle is NULL");
}

/* ------------------------------------------------------------------ adapters */

static void wrong_argument_of_an_open_is_named(void)
{
	DAT_EVD_HANDLE async = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_IA_HANDLE ia;

	CHECK_DIAG(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_INVALID_HANDLE, "could not open it: DAT_INVALID_HANDLE",
		   "; async_evd_handle of the call is the argument that is wrong");
	async = DAT_HANDLE_NULL;
	CHECK_DIAG(dat_ia_open(api_ia_name(), -1, &async, &ia), DAT_INVALID_PARAMETER, "could not open it: DAT_INVALID_PARAMETER",
		   "; async_evd_min_qlen of the call is the argument that is wrong");
}

/* ------------------------------------------------------------------ other calls */

static const char *pointer_text(const void *pointer)
{
	static char text[32];

	snprintf(text, sizeof(text), "%p", pointer);
	return text;
}

static void refused_service_point_names_the_flag_that_its_evd_lacks(void)
{
	DAT_EVD_HANDLE dto = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	CHECK_DIAG(dat_psp_create(api.ia, 1, dto, DAT_PSP_CONSUMER_FLAG, &psp), DAT_INVALID_HANDLE, "dat_psp_create is refused",
		   "is an EVD without DAT_EVD_CR_FLAG (its evd_flags are 0x20)");
	CHECK_DIAG(dat_psp_create_any(api.ia, &qual, dto, DAT_PSP_CONSUMER_FLAG, &psp), DAT_INVALID_HANDLE,
		   "dat_psp_create_any is refused", pointer_text(dto));
	CHECK_DIAG(dat_psp_create(api.ia, 1, api_evd(8, DAT_EVD_CR_FLAG), 5, &psp), DAT_INVALID_PARAMETER, "psp_flags is 0x5",
		   "dat_psp_create(3)");
}

static void free_of_a_zone_in_use_names_its_users(void)
{
	DAT_PZ_HANDLE pz = api_pz();
	DAT_RMR_HANDLE rmr[3];
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep), DAT_SUCCESS);
	CHECK_DIAG(dat_pz_free(pz), DAT_INVALID_STATE, "1 endpoint (", pointer_text(ep));
	for (int i = 0; i < 3; i++)
		REQUIRE_DAT(dat_rmr_create(pz, &rmr[i]), DAT_SUCCESS);
	CHECK_DIAG(dat_pz_free(pz), DAT_INVALID_STATE, "1 endpoint (", "3 RMRs (");
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	CHECK_DIAG(dat_pz_free(pz), DAT_INVALID_STATE, ": 3 RMRs (", "use it: free what uses it first");
	for (int i = 0; i < 3; i++)
		CHECK_DAT(dat_rmr_free(rmr[i]), DAT_SUCCESS);
	CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
}

static int cno_data;

static void free_of_an_evd_or_a_cno_in_use_names_its_users(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { 0 }, half = { .instance_data = &cno_data };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	CHECK_DIAG(dat_cno_create(api.ia, half, &cno), DAT_INVALID_PARAMETER, "dat_cno_create is refused", "no proxy_agent_func");
	REQUIRE_DAT(dat_cno_create(api.ia, none, &cno), DAT_SUCCESS);
	CHECK_DIAG(dat_cno_modify_agent(cno, half), DAT_INVALID_PARAMETER, "dat_cno_modify_agent", "no proxy_agent_func");
	REQUIRE_DAT(dat_evd_create(api.ia, 8, cno, DAT_EVD_CR_FLAG, &evd), DAT_SUCCESS);
	REQUIRE_DAT(dat_psp_create_any(api.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), DAT_SUCCESS);
	CHECK_DIAG(dat_evd_free(evd), DAT_INVALID_STATE, "1 PSP (", pointer_text(psp));
	CHECK_DIAG(dat_cno_free(cno), DAT_INVALID_STATE, "1 EVD (", pointer_text(evd));
	CHECK_DAT(dat_psp_free(psp), DAT_SUCCESS);
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DAT(dat_cno_free(cno), DAT_SUCCESS);
	CHECK_DIAG(dat_evd_free(api.async), DAT_INVALID_STATE, "dat_evd_free is refused",
		   "asynchronous errors of an open adapter");
}

static void free_of_a_region_in_use_names_its_window(void)
{
	DAT_RMR_CONTEXT context;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_HANDLE rmr;

	meet();
	seg = api_seg(&buf, 0, 64);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.a.ep, api_cookie(1), 0, &context), DAT_SUCCESS);
	API_BIND(pair.a.request, rmr, 1, DAT_DTO_SUCCESS);
	CHECK_DIAG(dat_lmr_free(buf.lmr), DAT_INVALID_STATE, "1 RMR (", pointer_text(rmr));
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

static void graceful_close_names_what_is_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz[2];
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_SUCCESS);
	for (int i = 0; i < 2; i++)
		REQUIRE_DAT(dat_pz_create(ia, &pz[i]), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(ia, pz[0], DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep), DAT_SUCCESS);
	CHECK_DIAG(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE, "1 endpoint (", "2 protection zones (");
	CHECK_DIAG(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE, pointer_text(ep),
		   "are open: free them first, or close with DAT_CLOSE_ABRUPT_FLAG");
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
	CHECK_DAT(dat_pz_free(pz[0]), DAT_SUCCESS);
	CHECK_DIAG(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE, ": 1 protection zone (", "is open: free");
	CHECK_DAT(dat_pz_free(pz[1]), DAT_SUCCESS);
	/* the EVD of asynchronous errors, which the open made, is not one of the program's */
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void wrong_state_of_an_endpoint_is_named_with_the_way_out(void)
{
	DAT_EVD_HANDLE cr = api_evd(8, DAT_EVD_CR_FLAG);
	struct sockaddr_in address = { .sin_family = AF_INET };
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep), DAT_SUCCESS);
	CHECK_DIAG(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE, "is in DAT_EP_STATE_UNCONNECTED",
		   "no connection to end");
	REQUIRE_DAT(dat_rsp_create(api.ia, api_free_qual(cr), ep, cr, &rsp), DAT_SUCCESS);
	CHECK_DIAG(dat_ep_free(ep), DAT_INVALID_STATE, "is in DAT_EP_STATE_RESERVED", "free the RSP");
	CHECK_DIAG(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&address, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0), DAT_INVALID_STATE,
		   "is in DAT_EP_STATE_RESERVED, and DAT_EP_STATE_UNCONNECTED is needed", "free the RSP");
	CHECK_DAT(dat_rsp_free(rsp), DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(ep), DAT_SUCCESS);
}

static void wrong_argument_is_named_with_its_value_and_limit(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG), bad;
	DAT_COUNT more, qlen = api.attr.max_evd_qlen;
	DAT_EVENT event;
	char limit[64];

	snprintf(limit, sizeof(limit), "1 to %d (the adapter's max_evd_qlen)", (int)qlen);
	CHECK_DIAG(dat_evd_create(api.ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &bad), DAT_INVALID_PARAMETER,
		   "evd_min_qlen is 0", limit);
	CHECK_DIAG(dat_evd_create(api.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, NULL), DAT_INVALID_PARAMETER, "dat_evd_create",
		   "evd_handle is NULL");
	CHECK_DIAG(dat_evd_create(api.ia, 8, (DAT_CNO_HANDLE)api.pz, DAT_EVD_DTO_FLAG, &bad), DAT_INVALID_HANDLE, "cno_handle",
		   "another type (protection zone instead of CNO)");
	CHECK_DIAG(dat_evd_wait(evd, 0, 1000000, &event, &more), DAT_INVALID_PARAMETER, "threshold is 1000000",
		   "(the EVD's evd_qlen)");
	REQUIRE_DAT(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	CHECK_DIAG(dat_evd_wait(evd, 0, 1, &event, &more), DAT_INVALID_STATE, "dat_evd_wait is refused",
		   "dat_evd_clear_unwaitable()");
}

static void wrong_argument_of_a_cno_call_is_named(void)
{
	DAT_OS_WAIT_PROXY_AGENT none = { 0 };
	DAT_CNO_HANDLE cno;

	CHECK_DIAG(dat_cno_create(api.ia, none, NULL), DAT_INVALID_PARAMETER, "dat_cno_create is refused", "cno_handle is NULL");
	CHECK_DIAG(dat_cno_create((DAT_IA_HANDLE)api.pz, none, &cno), DAT_INVALID_HANDLE, "dat_cno_create", "");
	CHECK_DIAG(dat_cno_modify_agent((DAT_CNO_HANDLE)api.pz, none), DAT_INVALID_HANDLE, "dat_cno_modify_agent is refused",
		   "another type (protection zone instead of CNO)");
}

static void refused_dequeue_names_its_argument_once(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVENT event;

	CHECK_DIAG(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER, "dat_evd_dequeue is refused", "event is NULL");
	check_stderr_begin();
	CHECK_DAT(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	CHECK_EQ_STR(check_stderr_end(), "");
	CHECK_DIAG(dat_evd_dequeue((DAT_EVD_HANDLE)api.pz, &event), DAT_INVALID_HANDLE, "dat_evd_dequeue is refused",
		   "another type (protection zone instead of EVD)");
}

static void *wait_for_an_event(void *evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	CHECK_DAT(dat_evd_wait((DAT_EVD_HANDLE)evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_SUCCESS);
	return NULL;
}

/*
 * libdatp remembers each cause that it has reported. If causes of level debug shared a table with those of warnings, a hundred
 * of them would fill it, and the warning would not be printed.
 */
static void warning_comes_after_a_hundred_causes_at_level_debug(void)
{
	enum { CAUSES = 100 };
	DAT_EP_ATTR attr = { .max_message_size = 64, .max_rdma_size = 64, .max_recv_dtos = INT32_MAX };
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	check_stderr_begin();
	for (int i = 0; i < CAUSES; i++)
		CHECK_DAT(dat_evd_dequeue(api_evd(1, DAT_EVD_DTO_FLAG), NULL), DAT_INVALID_PARAMETER);
	check_stderr_end();
	evd = api_evd(1, DAT_EVD_DTO_FLAG);
	CHECK_DIAG(dat_ep_create(api.ia, api.pz, evd, evd, DAT_HANDLE_NULL, &attr, &ep), 0, "max_recv_dtos 2147483647",
		   "the adapter has a limit of");
}

static void dequeue_beside_a_waiter_is_refused_with_the_reason(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event, wake = { .event_number = DAT_SOFTWARE_EVENT };
	const char *text;
	pthread_t thread;

	REQUIRE_EQ_INT(pthread_create(&thread, NULL, wait_for_an_event, evd), 0);
	check_stderr_begin();
	while (DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY)
		sched_yield();
	text = check_stderr_end();
	CHECK(strstr(text, "dat_evd_dequeue is refused") && strstr(text, "another thread waits at this EVD"));
	CHECK_DAT(dat_evd_post_se(evd, &wake), DAT_SUCCESS);
	CHECK_EQ_INT(pthread_join(thread, NULL), 0);
}

/* Such a handle reaches no provider, so libdat reports it. */
static void freed_handle_is_named_with_the_call(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG), async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz = api_pz();
	DAT_IA_HANDLE ia;
	DAT_EVENT event;

	CHECK_DAT(dat_pz_free(pz), DAT_SUCCESS);
	CHECK_DIAG(dat_pz_free(pz), DAT_INVALID_HANDLE, "libdat", "dat_pz_free: ");
	CHECK_DIAG(dat_pz_free(pz), DAT_INVALID_HANDLE, pointer_text(pz), "it may have been freed");
	CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
	CHECK_DIAG(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE, "dat_evd_dequeue: ", pointer_text(evd));
	CHECK_DIAG(dat_ep_post_send((DAT_EP_HANDLE)evd, 0, NULL, api_cookie(1), 0), DAT_INVALID_HANDLE, "dat_ep_post_send: ",
		   pointer_text(evd));
	CHECK_DIAG(dat_ep_free(DAT_HANDLE_NULL), DAT_INVALID_HANDLE, "dat_ep_free: ", "DAT_HANDLE_NULL");
	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DIAG(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE, "dat_ia_close: ", pointer_text(ia));
	CHECK_DIAG(dat_pz_create(ia, &pz), DAT_INVALID_HANDLE, "dat_pz_create: ", pointer_text(ia));
}

/* A program expects these results, so they are not reported. */
static void timeout_and_empty_queue_say_nothing(void)
{
	DAT_EVD_HANDLE evd = api_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVENT event;
	DAT_COUNT more;

	check_stderr_begin();
	CHECK_DAT(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	CHECK_EQ_STR(check_stderr_end(), "");
}

static const struct check_test debug_tests[] = {
	CHECK_TEST(refused_send_says_what_was_wrong_with_its_length),
	CHECK_TEST(refused_write_says_what_was_wrong_with_its_lengths),
	CHECK_TEST(refused_post_names_the_segment_that_no_region_covers),
	CHECK_TEST(refused_post_says_what_was_wrong_with_counts_and_flags),
	CHECK_TEST(each_cause_is_told_once),
	CHECK_TEST(refused_receive_of_an_srq_says_what_was_wrong),
	CHECK_TEST(refused_bind_says_what_was_wrong),
	CHECK_TEST(refused_post_names_a_handle_that_is_no_endpoint),
	CHECK_TEST(post_that_is_taken_says_nothing),
	CHECK_TEST(each_wrong_attribute_of_an_endpoint_is_named),
	CHECK_TEST(wrong_evd_or_pointer_of_an_endpoint_is_named),
	CHECK_TEST(wrong_argument_of_an_open_is_named),
	CHECK_TEST(refused_service_point_names_the_flag_that_its_evd_lacks),
	CHECK_TEST(free_of_a_zone_in_use_names_its_users),
	CHECK_TEST(free_of_an_evd_or_a_cno_in_use_names_its_users),
	CHECK_TEST(free_of_a_region_in_use_names_its_window),
	CHECK_TEST(graceful_close_names_what_is_open),
	CHECK_TEST(wrong_state_of_an_endpoint_is_named_with_the_way_out),
	CHECK_TEST(wrong_argument_is_named_with_its_value_and_limit),
	CHECK_TEST(wrong_argument_of_a_cno_call_is_named),
	CHECK_TEST(refused_dequeue_names_its_argument_once),
	CHECK_TEST(dequeue_beside_a_waiter_is_refused_with_the_reason),
	CHECK_TEST(freed_handle_is_named_with_the_call),
	CHECK_TEST(timeout_and_empty_queue_say_nothing),
	/* the last one, because the process prints no new cause at level debug after it */
	CHECK_TEST(warning_comes_after_a_hundred_causes_at_level_debug),
	CHECK_END
};

static const struct check_suite debug = {
	.name = "debug", .setup = setup_debug, .teardown = api_close, .tests = debug_tests,
};

CHECK_SUITES(&debug);
