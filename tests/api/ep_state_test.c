/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each call does in each state of an endpoint. Invariant: the tables here are the
 * specification's; a refused call leaves the state as it was.
 *
 * No call of the API keeps an endpoint in COMPLETION_PENDING, so this state has no row. A message that waits
 * for its receive keeps an endpoint in DISCONNECT_PENDING, so this state has a row where messages wait.
 */
#include <string.h>

#include "api.h"

#define SIZE ((size_t)1 << 20)

enum state { UNC, RES, PAS, TEN, ACT, CON, DPN, DIS, STATES };

static const struct {
	const char *name;
	DAT_EP_STATE value;
} states[STATES] = {
	[UNC] = { "UNCONNECTED", DAT_EP_STATE_UNCONNECTED },
	[RES] = { "RESERVED", DAT_EP_STATE_RESERVED },
	[PAS] = { "PASSIVE_CONNECTION_PENDING", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING },
	[TEN] = { "TENTATIVE_CONNECTION_PENDING", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING },
	[ACT] = { "ACTIVE_CONNECTION_PENDING", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING },
	[CON] = { "CONNECTED", DAT_EP_STATE_CONNECTED },
	[DPN] = { "DISCONNECT_PENDING", DAT_EP_STATE_DISCONNECT_PENDING },
	[DIS] = { "DISCONNECTED", DAT_EP_STATE_DISCONNECTED },
};

/* The endpoint under test, and the objects that keep it in its state. */
static struct {
	DAT_EP_HANDLE ep;
	struct api_end end; /* its EVDs; none in TEN */
	struct api_pair pair;
	DAT_CR_HANDLE cr;
} now;

static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static struct api_pair bystander; /* another connection, for dup_connect */
static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	api_open();
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	api_pair_make(&bystander, NULL);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
}

static DAT_CONN_QUAL reserve(void)
{
	DAT_CONN_QUAL qual = api_free_qual(cr_evd);
	DAT_RSP_HANDLE rsp;

	REQUIRE_DAT(dat_rsp_create(api.ia, qual, now.ep, cr_evd, &rsp), DAT_SUCCESS);
	return qual;
}

/* Lets another endpoint connect to a service point, and returns the request. */
static DAT_CR_HANDLE request_arrives(DAT_CONN_QUAL qual)
{
	struct api_end active;

	api_end_make(&active, NULL);
	REQUIRE_DAT(api_connect(active.ep, qual), DAT_SUCCESS);
	return api_cr(cr_evd);
}

static void enter_tentative(void)
{
	DAT_CR_PARAM param;
	DAT_CONN_QUAL qual;

	if (api.prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		check_skip("the provider creates no endpoints for PSPs");
	api_listen(cr_evd, DAT_PSP_PROVIDER_FLAG, &qual);
	now.cr = request_arrives(qual);
	REQUIRE_DAT(dat_cr_query(now.cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
	now.ep = param.local_ep_handle;
}

static void enter_pair(bool pending)
{
	api_pair_make(&now.pair, NULL);
	now.end = now.pair.a;
	now.ep = now.end.ep;
	if (!pending)
		return;
	/* The peer has no receive for this message, so the graceful disconnect cannot finish. */
	REQUIRE_DAT(api_send(now.ep, &buf, 0, SIZE, 77, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(now.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void enter(enum state state)
{
	DAT_CONN_QUAL qual;

	memset(&now, 0, sizeof(now));
	if (state == CON || state == DPN || state == DIS) {
		enter_pair(state == DPN);
		if (state == DIS)
			api_disconnect(&now.pair);
	} else if (state == TEN) {
		enter_tentative();
	} else {
		api_end_make(&now.end, NULL);
		now.ep = now.end.ep;
		if (state == RES || state == PAS) {
			qual = reserve();
			now.cr = state == PAS ? request_arrives(qual) : NULL;
		} else if (state == ACT) {
			api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
			REQUIRE_DAT(api_connect(now.ep, qual), DAT_SUCCESS);
			now.cr = api_cr(cr_evd);
		}
	}
	API_STATE(now.ep, states[state].value);
}

/*
 * Ends DISCONNECT_PENDING, because a message that waits for its receive is sent repeatedly, and a dozen of
 * such messages at once would use all of the time of a small machine with rxe.
 */
static void leave(enum state state)
{
	if (state == DPN)
		REQUIRE_DAT(dat_ep_disconnect(now.pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* Returns whether the state lasts long enough to be tested. */
static bool lasts(int state)
{
	return state != DPN || !api_nothing_waits();
}

/* The calls. */
static DAT_RETURN do_connect(void)
{
	return api_connect(now.ep, bystander.qual);
}

static DAT_RETURN do_dup_connect(void)
{
	return dat_ep_dup_connect(now.ep, bystander.a.ep, api_patience(), 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN do_dup_of_it(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	return dat_ep_dup_connect(end.ep, now.ep, api_patience(), 0, NULL, DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN do_rsp_create(void)
{
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(api.ia, api_free_qual(cr_evd), now.ep, cr_evd, &rsp);
}

static DAT_RETURN do_accept(void)
{
	DAT_CONN_QUAL qual;

	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	return dat_cr_accept(request_arrives(qual), now.ep, 0, NULL);
}

static DAT_RETURN do_post_recv(void)
{
	DAT_EP_PARAM param = { .pz_handle = api.pz };

	if (!now.end.ep)
		REQUIRE_DAT(dat_ep_modify(now.ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
	return api_recv(now.ep, &buf, 0, 64, 1);
}

static DAT_RETURN do_post_send(void)
{
	return api_send(now.ep, &buf, 0, 64, 1, 0);
}

static DAT_RETURN do_post_write(void)
{
	return api_write(now.ep, api_seg(&buf, 0, 64), api_target(&buf, 4096, 64), 1, 0);
}

static DAT_RETURN do_post_read(void)
{
	return api_read(now.ep, api_seg(&buf, 0, 64), api_target(&buf, 4096, 64), 1, 0);
}

static DAT_RETURN do_bind(void)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, 0, 64);
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, now.ep, api_cookie(1), 0,
			    &context);
}

static DAT_RETURN do_disconnect_abrupt(void)
{
	return dat_ep_disconnect(now.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN do_disconnect_graceful(void)
{
	return dat_ep_disconnect(now.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN do_reset(void)
{
	return dat_ep_reset(now.ep);
}

static DAT_RETURN do_free(void)
{
	return dat_ep_free(now.ep);
}

static DAT_RETURN do_query(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(now.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN do_get_status(void)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	return dat_ep_get_status(now.ep, &state, &recv_idle, &request_idle);
}

static DAT_RETURN do_set_watermark(void)
{
	DAT_RETURN ret =
		dat_ep_set_watermark(now.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE);

	return api.prov.srq_watermarks_supported ? ret : DAT_SUCCESS;
}

static DAT_RETURN do_recv_query(void)
{
	DAT_COUNT count, span;
	DAT_RETURN ret = dat_ep_recv_query(now.ep, &count, &span);

	return api.prov.ep_recv_info_supported ? ret : DAT_SUCCESS;
}

/*
 * Makes a call in each state, in the order of enum state: '+' succeeds, '-' is DAT_INVALID_STATE,
 * '!' is any failure.
 */
static void hold_table(DAT_RETURN (*call)(void), const char *row)
{
	for (int s = UNC; s < STATES; s++) {
		DAT_RETURN ret;

		if (!lasts(s))
			continue;
		enter((enum state)s);
		ret = DAT_GET_TYPE(call());
		if (row[s] == '+' && ret != DAT_SUCCESS)
			CHECK_FAIL("in %s: got 0x%x, wanted DAT_SUCCESS", states[s].name,
				   (unsigned int)ret);
		if (row[s] == '-' && ret != DAT_INVALID_STATE)
			CHECK_FAIL("in %s: got 0x%x, wanted DAT_INVALID_STATE", states[s].name,
				   (unsigned int)ret);
		if (row[s] == '!' && ret == DAT_SUCCESS)
			CHECK_FAIL("in %s: got DAT_SUCCESS, wanted a failure", states[s].name);
		if (row[s] != '+')
			API_STATE(now.ep, states[s].value);
		leave((enum state)s);
	}
}

/*						 U R P T A C D D
 *						 N E A E C O P I
 *						 C S S N T N N S */
#define ROW(call, row)                                                                             \
	static void call##_in_each_state(void)                                                     \
	{                                                                                          \
		hold_table(do_##call, row);                                                        \
	}

ROW(connect, "+-------")
ROW(dup_connect, "+-------")
ROW(dup_of_it, "-----+--")
ROW(rsp_create, "+-------")
ROW(accept, "+!!!!!!!")
ROW(post_recv, "++++++++")
ROW(post_send, "-----+-+")
ROW(post_write, "-----+-+")
ROW(post_read, "-----+-+")
ROW(bind, "-----+-+")
ROW(disconnect_abrupt, "----++++")
ROW(disconnect_graceful, "----++++")
ROW(reset, "+------+")
ROW(free, "+---++++")
ROW(query, "++++++++")
ROW(get_status, "++++++++")
ROW(set_watermark, "++++++++")
ROW(recv_query, "++++++++")

/* Calls dat_ep_modify() in each state, for one parameter, which is set to its present value. */
static void hold_modify(DAT_EP_PARAM_MASK mask, const char *row, DAT_RETURN refusal)
{
	for (int s = UNC; s < STATES; s++) {
		DAT_EP_PARAM param;
		DAT_RETURN ret, want = row[s] == '+' ? DAT_SUCCESS : refusal;

		if (!lasts(s))
			continue;
		enter((enum state)s);
		REQUIRE_DAT(dat_ep_query(now.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
		ret = DAT_GET_TYPE(dat_ep_modify(now.ep, mask, &param));
		if (ret != want)
			CHECK_FAIL("parameter 0x%llx in %s: got 0x%x, wanted 0x%x",
				   (unsigned long long)mask, states[s].name, (unsigned int)ret,
				   (unsigned int)want);
		leave((enum state)s);
	}
}

static void modify_never_takes_what_is_not_the_consumers(void)
{
	static const DAT_EP_PARAM_MASK fixed[] = { DAT_EP_FIELD_IA_HANDLE,
						   DAT_EP_FIELD_EP_STATE,
						   DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
						   DAT_EP_FIELD_LOCAL_PORT_QUAL,
						   DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
						   DAT_EP_FIELD_REMOTE_PORT_QUAL,
						   DAT_EP_FIELD_SRQ_HANDLE,
						   UINT64_C(1) << 40,
						   UINT64_C(0x800) };

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		hold_modify(fixed[i], "--------", DAT_INVALID_PARAMETER);
}

static void modify_of_the_zone_in_each_state(void)
{
	hold_modify(DAT_EP_FIELD_PZ_HANDLE, "+--+----", DAT_INVALID_STATE);
}

static void modify_of_the_evds_in_each_state(void)
{
	hold_modify(DAT_EP_FIELD_RECV_EVD_HANDLE, "++++----", DAT_INVALID_STATE);
	hold_modify(DAT_EP_FIELD_REQUEST_EVD_HANDLE, "++++----", DAT_INVALID_STATE);
	hold_modify(DAT_EP_FIELD_CONNECT_EVD_HANDLE, "++++----", DAT_INVALID_STATE);
}

static void modify_of_attributes_in_each_state(void)
{
	static const DAT_EP_PARAM_MASK attrs[] = {
		DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE,
		DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
		DAT_EP_FIELD_EP_ATTR_QOS,
		DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
		DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
	};

	for (size_t i = 0; i < sizeof(attrs) / sizeof(*attrs); i++)
		hold_modify(attrs[i], "++++----", DAT_INVALID_STATE);
}

static const struct check_test tests[] = { CHECK_TEST(connect_in_each_state),
					   CHECK_TEST(dup_connect_in_each_state),
					   CHECK_TEST(dup_of_it_in_each_state),
					   CHECK_TEST(rsp_create_in_each_state),
					   CHECK_TEST(accept_in_each_state),
					   CHECK_TEST(post_recv_in_each_state),
					   CHECK_TEST(post_send_in_each_state),
					   CHECK_TEST(post_write_in_each_state),
					   CHECK_TEST(post_read_in_each_state),
					   CHECK_TEST(bind_in_each_state),
					   CHECK_TEST(disconnect_abrupt_in_each_state),
					   CHECK_TEST(disconnect_graceful_in_each_state),
					   CHECK_TEST(reset_in_each_state),
					   CHECK_TEST(free_in_each_state),
					   CHECK_TEST(query_in_each_state),
					   CHECK_TEST(get_status_in_each_state),
					   CHECK_TEST(set_watermark_in_each_state),
					   CHECK_TEST(recv_query_in_each_state),
					   CHECK_TEST(modify_never_takes_what_is_not_the_consumers),
					   CHECK_TEST(modify_of_the_zone_in_each_state),
					   CHECK_TEST(modify_of_the_evds_in_each_state),
					   CHECK_TEST(modify_of_attributes_in_each_state),
					   CHECK_END };

static const struct check_suite ep_states = {
	.name = "ep states",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&ep_states);
