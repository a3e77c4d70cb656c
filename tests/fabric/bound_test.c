/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits that a program meets over a device: those of the device, ports, addresses, the number of RDMA Reads that a connection
 * request can carry, and over iWARP which side may send first. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA
 * names.
 */
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meet.h"
#include "twist.h"

/* ------------------------------------------------------------------ the device's limits */

/*
 * Returns true if `device` is the one that the adapter uses, and stores its port. The attribute "device" has the form
 * "rxe0 port 1".
 */
static bool is_ours(struct ibv_device *device, uint8_t *port)
{
	const char *value = api_transport("device"), *name = ibv_get_device_name(device);
	size_t len = strlen(name);
	unsigned int number;

	if (!value || strncmp(value, name, len) || sscanf(value + len, " port %u", &number) != 1)
		return false;
	*port = (uint8_t)number;
	return true;
}

static DAT_COUNT count_of(int64_t n)
{
	return n > INT_MAX ? INT_MAX : (DAT_COUNT)n;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Checks that the adapter offers all of the device's objects except at most 16, which the provider may need for itself. */
static void check_most(int has, int device)
{
	if (has > device || has < device - 16)
		CHECK_FAIL("%d of the device's %d", has, device);
}

static void check_names(const struct ibv_device_attr *dev)
{
	unsigned int major = 0, minor = 0;
	char vendor[16];

	sscanf(dev->fw_ver, "%u.%u", &major, &minor);
	snprintf(vendor, sizeof(vendor), "0x%06x", dev->vendor_id);
	CHECK_EQ_STR(api.attr.vendor_name, vendor);
	CHECK_EQ_INT(api.attr.hardware_version_major, dev->hw_ver);
	CHECK_EQ_INT(api.attr.hardware_version_minor, dev->vendor_part_id);
	CHECK_EQ_INT(api.attr.firmware_version_major, major);
	CHECK_EQ_INT(api.attr.firmware_version_minor, minor);
}

static void check_objects(const struct ibv_device_attr *dev)
{
	CHECK_EQ_INT(api.attr.max_eps, dev->max_qp);
	CHECK_EQ_INT(api.attr.max_lmrs, dev->max_mr);
	CHECK_EQ_INT(api.attr.max_rmrs,
		     api_declares("rmr", "memory windows") ? dev->max_mw : dev->max_mr);
	check_most(api.attr.max_pzs, dev->max_pd);
	check_most(api.attr.max_evds, dev->max_cq);
	/* an EVD may have several CQs */
	CHECK(api.attr.max_evd_qlen >= dev->max_cqe);
	CHECK_EQ_INT(api.attr.max_evd_qlen % dev->max_cqe, 0);
	CHECK_EQ_INT(api.prov.srq_supported, dev->max_srq > 0);
	CHECK_EQ_INT(api.attr.max_srqs, dev->max_srq);
	CHECK_EQ_INT(api.attr.max_ep_per_srq, dev->max_qp);
	check_most(api.attr.max_recv_per_srq, least(dev->max_srq_wr, dev->max_cqe));
}

/* siw reports no limit for the length of a region, but keeps its pages in a list of limited length. */
static uint64_t longest_region(const struct ibv_device_attr *dev)
{
	const uint64_t pages = (1 << 28) - 2;

	return api_declares("transport", "iWARP") ? pages * (uint64_t)sysconf(_SC_PAGESIZE) :
						    dev->max_mr_size;
}

static void check_transfers(const struct ibv_device_attr *dev, uint32_t message)
{
	/* The provider keeps segments on the stack, at most 32. A receive may go to an SRQ, so the SRQ's limit counts too. */
	int segments = least(dev->max_sge, 32);

	check_most(api.attr.max_dto_per_ep, dev->max_qp_wr);
	CHECK_EQ_INT(api.attr.max_iov_segments_per_dto, least(segments, dev->max_srq_sge));
	CHECK_EQ_INT(api.attr.max_iov_segments_per_rdma_write, segments);
	/* If the device takes fewer segments for a read, the provider splits the read. */
	CHECK_EQ_INT(api.attr.max_iov_segments_per_rdma_read, segments);
	CHECK_EQ_INT(api.attr.max_lmr_block_size, longest_region(dev));
	CHECK_EQ_INT(api.attr.max_message_size, message);
	CHECK_EQ_INT(api.attr.max_rdma_size, message);
	CHECK_EQ_INT(api.attr.max_rdma_read_per_ep_in, dev->max_qp_rd_atom);
	CHECK_EQ_INT(api.attr.max_rdma_read_per_ep_out, dev->max_qp_init_rd_atom);
	CHECK_EQ_INT(api.attr.max_rdma_read_in, dev->max_res_rd_atom ? dev->max_res_rd_atom
								     : count_of((int64_t)dev->max_qp_rd_atom * dev->max_qp));
	CHECK_EQ_INT(api.attr.max_rdma_read_out,
		     count_of((int64_t)dev->max_qp_init_rd_atom * dev->max_qp));
}

static void check_limits(struct ibv_context *verbs, uint8_t port)
{
	struct ibv_device_attr dev;
	struct ibv_port_attr at;

	REQUIRE_EQ_INT(ibv_query_device(verbs, &dev), 0);
	REQUIRE_EQ_INT(ibv_query_port(verbs, port, &at), 0);
	check_names(&dev);
	check_objects(&dev);
	/* A message must fit into one segment, whose length has 31 bits. */
	check_transfers(&dev, at.max_msg_sz < INT32_MAX ? at.max_msg_sz : INT32_MAX);
}

/* All limits are compared, because a provider that states constants instead would be wrong for some device. */
static void limits_are_those_of_the_device(void)
{
	struct ibv_device **list;
	int count, seen = 0;

	api_open();
	REQUIRE((list = ibv_get_device_list(&count)) != NULL);
	for (int i = 0; i < count; i++) {
		struct ibv_context *verbs;
		uint8_t port;

		if (!is_ours(list[i], &port))
			continue;
		REQUIRE((verbs = ibv_open_device(list[i])) != NULL);
		check_limits(verbs, port);
		ibv_close_device(verbs);
		seen++;
	}
	ibv_free_device_list(list);
	CHECK_EQ_INT(seen, 1);
}

/* ------------------------------------------------------------------ asynchronous events of the device */

/*
 * Delivers the asynchronous event `what`, and expects `number` on the async EVD. The provider polls the device for such events when
 * a peer disconnects.
 */
static void hears(int what, DAT_EVENT_NUMBER number)
{
	struct api_pair pair;
	DAT_EVENT event;

	api_pair_make(&pair, NULL);
	atomic_store(&twist.tells, what + 1);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* The provider may poll the device earlier for another reason. The loss of the device then breaks this connection. */
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_EVENT(api.async, &event);
	CHECK_EQ_INT(event.event_number, number);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == api.ia);
}

static void queue_that_fails_is_told_of(void)
{
	api_open();
	hears(IBV_EVENT_CQ_ERR, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	hears(IBV_EVENT_SRQ_ERR, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	hears(IBV_EVENT_DEVICE_FATAL, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	API_EMPTY(api.async);
}

/* ------------------------------------------------------------------ ports and addresses */

/* Listens at a long qualifier and returns it. Its port, one of the higher ones, may be in use, so several are tried. */
static DAT_CONN_QUAL long_qualifier(DAT_EVD_HANDLE cr_evd)
{
	DAT_CONN_QUAL qual = UINT64_C(0x500000000);
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	do {
		ret = dat_psp_create(api.ia, ++qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	} while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && qual < UINT64_C(0x500000040));
	REQUIRE_DAT(ret, DAT_SUCCESS);
	return qual;
}

/* The provider maps long qualifiers to 32001 ports, as other DAT libraries do. The first service point at a port has it. */
static void qualifiers_that_meet_at_one_port_are_in_use(void)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	qual = long_qualifier(cr_evd);
	CHECK_DAT(dat_psp_create(api.ia, qual + 32001, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	CHECK_DAT(dat_psp_create(api.ia, qual % 32001 + 33534, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
}

/* Port 0 means any port: the kernel would choose one that no peer knows. */
static void qualifier_0_is_refused(void)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	struct api_end end;

	api_open();
	api_end_make(&end, NULL);
	CHECK_DAT(dat_psp_create(api.ia, 0, api_evd(8, DAT_EVD_CR_FLAG), DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_UNAVAILABLE);
	CHECK(psp == DAT_HANDLE_NULL);
	CHECK_DAT(api_connect(end.ep, 0), DAT_INVALID_PARAMETER);
	API_STATE(end.ep, DAT_EP_STATE_UNCONNECTED);
}

/* The guest's networks have a prefix of 24 bits. Over rxe the request would be broadcast, and no host would answer it. */
static void broadcast_address_of_a_network_is_refused_at_once(void)
{
	struct sockaddr_in to;
	struct api_end end;

	api_open();
	memcpy(&to, api_address(), sizeof(to));
	to.sin_addr.s_addr |= htonl(0xff);
	api_end_make(&end, NULL);
	CHECK_DAT(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&to, 4711, api_patience(), 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		  DAT_INVALID_ADDRESS | DAT_INVALID_ADDRESS_MALFORMED);
	API_STATE(end.ep, DAT_EP_STATE_UNCONNECTED);
}

/* For a connection to the own host there is no better address than the host's own, so advice about addresses would mislead. */
static void failed_attempt_to_reach_this_host_is_told_without_advice_about_addresses(void)
{
	struct api_end end;
	const char *said;

	api_open();
	api_end_make(&end, NULL);
	atomic_store(&twist.early, true);
	check_stderr_begin();
	REQUIRE_DAT(api_connect(end.ep, 4712), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "this host's own");
	CHECK(!strstr(said, "give an address"));
	CHECK(api_declares("transport", "iWARP") == (strstr(said, "hold_ms") != NULL));
}

/* ------------------------------------------------------------------ iWARP */

/*
 * Keeps an rdma_cm_id on the device. librdmacm queries a device's limits only once while the device is in use, so it keeps the real
 * number of reads when the test changes what the device reports.
 */
static void hold_device(void)
{
	struct rdma_event_channel *channel;
	struct sockaddr_in at;
	struct rdma_cm_id *id;

	api_open();
	memcpy(&at, api_address(), sizeof(at));
	at.sin_port = 0;
	REQUIRE((channel = rdma_create_event_channel()) != NULL);
	REQUIRE_EQ_INT(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_bind_addr(id, (struct sockaddr *)&at), 0);
	api_close();
}

/*
 * The number of reads has 8 bits in a connection request, and its largest value means "as many as the device can". The low 8 bits
 * of 1000 are 232, more than librdmacm knows this device to have, so librdmacm would refuse such a request.
 */
static void device_may_have_more_reads_than_a_request_can_ask_for(void)
{
	struct api_pair pair;
	struct api_end plain;
	DAT_EP_PARAM param;

	hold_device();
	atomic_store(&twist.reads, 1000);
	api_open();
	CHECK_EQ_INT(api.attr.max_rdma_read_per_ep_in, 1000);
	api_end_make(&plain, NULL);
	REQUIRE_DAT(dat_ep_query(plain.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	param.ep_attr.max_rdma_read_in = param.ep_attr.max_rdma_read_out = 1000;
	my.buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, &param.ep_attr);
	api_pair_works(&pair, &my.buf);
}

static void accept_alone(DAT_EVD_HANDLE cr_evd, DAT_CONN_QUAL qual, const struct api_end *end,
			 int answers)
{
	struct api_end other;

	api_end_make(&other, NULL);
	REQUIRE_DAT(api_connect(other.ep, qual), DAT_SUCCESS);
	atomic_store(&twist.accepts, 0);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end->ep, 0, NULL), DAT_SUCCESS);
	CHECK_EQ_INT(atomic_load(&twist.accepts), answers);
	API_CONN(end->connect, end->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * The accept of an endpoint with a receive queue of its own is sent when the first receive is posted. An endpoint with an SRQ has
 * no post of its own to wait for, so its accept is sent at once.
 */
static void only_an_endpoint_of_its_own_receives_is_accepted_late(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR with = { 0 };
	struct api_end plain, shared;
	DAT_EVD_HANDLE cr_evd;
	DAT_SRQ_HANDLE srq;
	DAT_CONN_QUAL qual;

	api_open();
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	api_end_make(&plain, NULL);
	accept_alone(cr_evd, qual, &plain, 0);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	api_end_make_shared(&shared, srq, &with);
	accept_alone(cr_evd, qual, &shared, 1);
}

/* ------------------------------------------------------------------ peers that do not say how many reads they serve */

static void reads_asked(struct api_end *end, int in, int out)
{
	DAT_EP_ATTR attr = { 0 };

	attr.max_rdma_read_in = in;
	attr.max_rdma_read_out = out;
	api_end_make(end, &attr);
}

/* Posts more reads than a side serves at a time, each long enough that several are outstanding together. */
static void reads_work(const struct api_end *end, const struct api_buf *buf)
{
	enum { READS = 40, BYTES = 16384 };

	for (uint64_t i = 0; i < READS; i++)
		REQUIRE_DAT(api_read(end->ep, api_seg(buf, 0, BYTES), api_target(buf, BYTES, BYTES), i, 0),
			    DAT_SUCCESS);
	for (uint64_t i = 0; i < READS; i++)
		API_DTO(end->request, end->ep, i, DAT_DTO_SUCCESS, BYTES);
}

/*
 * Connects two endpoints that offer to serve `in` reads at once (0: the default) and ask to make as many as the device can.
 * On each side the peer's message is changed, so that the peer seems to offer `said` reads. Then both sides read.
 */
static void reads_that_seem(int said, int in)
{
	struct api_buf buf;
	struct api_pair pair;

	atomic_store(&twist.says_reads, said + 1);
	api_open();
	buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	reads_asked(&pair.a, in, api.attr.max_rdma_read_per_ep_out);
	reads_asked(&pair.b, in, api.attr.max_rdma_read_per_ep_out);
	api_pair_meet(&pair);
	CHECK(atomic_load(&twist.asked_out) > 1 && atomic_load(&twist.answered_out) > 1);
	CHECK(atomic_load(&twist.asked_out) <= atomic_load(&twist.answered_in));
	CHECK(atomic_load(&twist.answered_out) <= atomic_load(&twist.asked_in));
	/* A peer may be connected by another process, so each side must do with 16, the number that all providers assume. */
	CHECK(atomic_load(&twist.asked_out) <= 16 && atomic_load(&twist.asked_in) >= 16);
	CHECK(atomic_load(&twist.answered_out) <= 16 && atomic_load(&twist.answered_in) >= 16);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 64, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 64);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
	reads_work(&pair.a, &buf);
	reads_work(&pair.b, &buf);
	api_close();
}

/* erdma shows the maximum of the device in a request, and 0 in a reply. */
static void no_side_reads_more_than_a_peer_serves_that_says_nothing_of_it(void)
{
	reads_that_seem(UINT8_MAX, 1);
	reads_that_seem(0, 1);
	reads_that_seem(0, 0);
}

/* ------------------------------------------------------------------ peers that serve no reads */

/* Connects two endpoints, each of which seems to the other to serve no reads. */
static void pair_without_reads(struct api_pair *pair)
{
	DAT_EP_PARAM param;

	atomic_store(&twist.says_reads, 0 + 1);
	api_open();
	api_pair_make(pair, NULL);
	for (int i = 0; i < 2; i++) {
		REQUIRE_DAT(dat_ep_query(i ? pair->b.ep : pair->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
		CHECK_EQ_INT(param.ep_attr.max_rdma_read_out, 0);
	}
}

/* A uDAPL program may ask for no reads and serve them nevertheless: OpenDAT's endpoints do. */
static void read_from_a_peer_that_offers_none_is_executed_if_it_serves_one(void)
{
	struct api_pair pair;
	struct api_buf buf;

	pair_without_reads(&pair);
	buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	reads_work(&pair.a, &buf);
	reads_work(&pair.b, &buf);
}

/* Without an answer, the read and all requests behind it would wait for ever. */
static void read_from_a_peer_that_serves_none_breaks_the_connection(void)
{
	struct api_pair pair;
	struct api_buf buf;

	atomic_store(&twist.serves_none, true);
	pair_without_reads(&pair);
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, 64), api_target(&buf, 4096, 64), 1, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER, API_ANY_LENGTH);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
}

/* siw would keep the read for ever, and everything behind it. */
static void read_that_the_device_would_keep_breaks_the_connection(void)
{
	struct api_pair pair;
	struct api_buf buf;

	pair_without_reads(&pair);
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_read(pair.b.ep, api_seg(&buf, 0, 64), api_target(&buf, 4096, 64), 1, 0), DAT_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

static const struct check_test unsaid_tests[] = {
	CHECK_TEST(no_side_reads_more_than_a_peer_serves_that_says_nothing_of_it),
	CHECK_END
};

static const struct check_test ib_tests[] = {
	CHECK_TEST(read_from_a_peer_that_offers_none_is_executed_if_it_serves_one),
	CHECK_TEST(read_from_a_peer_that_serves_none_breaks_the_connection),
	CHECK_END
};

static const struct check_test iw_tests[] = {
	CHECK_TEST(read_that_the_device_would_keep_breaks_the_connection),
	CHECK_TEST(device_may_have_more_reads_than_a_request_can_ask_for),
	CHECK_TEST(only_an_endpoint_of_its_own_receives_is_accepted_late),
	CHECK_END
};

static const struct check_test all_tests[] = {
	CHECK_TEST(limits_are_those_of_the_device),
	CHECK_TEST(queue_that_fails_is_told_of),
	CHECK_TEST(qualifiers_that_meet_at_one_port_are_in_use),
	CHECK_TEST(qualifier_0_is_refused),
	CHECK_TEST(broadcast_address_of_a_network_is_refused_at_once),
	CHECK_TEST(failed_attempt_to_reach_this_host_is_told_without_advice_about_addresses),
	CHECK_END
};

static void forget_switches(void)
{
	atomic_store(&twist.reads, 0);
	atomic_store(&twist.tells, 0);
	atomic_store(&twist.says_reads, 0);
	atomic_store(&twist.serves_none, false);
	api_close();
}

/* This suite is for an adapter that has quirk=reads_unsaid. */
static const struct check_suite unsaid_bounds = {
	.name = "bound of reads unsaid",
	.teardown = forget_switches,
	.tests = unsaid_tests,
};

static const struct check_suite ib_bounds = {
	.name = "ib bound",
	.teardown = forget_switches,
	.tests = ib_tests,
};

static const struct check_suite iw_bounds = {
	.name = "iw bound",
	.teardown = forget_switches,
	.tests = iw_tests,
};

static const struct check_suite all_bounds = {
	.name = "any bound",
	.teardown = forget_switches,
	.tests = all_tests,
};

CHECK_SUITES(&ib_bounds, &iw_bounds, &all_bounds, &unsaid_bounds);
