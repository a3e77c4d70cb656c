/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: posts, use by endpoints, counts, watermarks, resize, and what happens to the
 * receives of an endpoint that ends.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "api.h"

#define DEPTH 10

static DAT_SRQ_HANDLE srq;
static struct api_buf buf;
static DAT_EVD_HANDLE cr_evd;
static DAT_CONN_QUAL qual;

/* Senders are plain endpoints; receivers share the queue. */
static struct {
	struct api_end from, to;
} links[3];

static void setup(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = DEPTH,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	api_open();
	if (!api.prov.srq_supported)
		check_skip("the provider has no SRQs");
	buf = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
}

static void make_receiver(struct api_end *end, DAT_COMPLETION_FLAGS recv_flags)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = recv_flags };

	api_end_make_shared(end, srq, &attr);
}

static void join(int i)
{
	REQUIRE_DAT(api_connect(links[i].from.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), links[i].to.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(links[i].to.connect, links[i].to.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(links[i].from.connect, links[i].from.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void links_make(int count)
{
	for (int i = 0; i < count; i++) {
		api_end_make(&links[i].from, NULL);
		make_receiver(&links[i].to, DAT_COMPLETION_DEFAULT_FLAG);
		join(i);
	}
}

static DAT_RETURN post(uint64_t cookie, size_t size)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, 4096 * (size_t)(cookie % 64), size);

	return dat_srq_post_recv(srq, size ? 1 : 0, size ? &seg : NULL, api_cookie(cookie));
}

static void post_many(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		REQUIRE_DAT(post(n, 4096), DAT_SUCCESS);
}

static void send_msg(int i, size_t size, uint64_t seed)
{
	api_fill(buf.mem + 512 * 1024, size, seed);
	REQUIRE_DAT(api_send(links[i].from.ep, &buf, 512 * 1024, size, seed, 0), DAT_SUCCESS);
	API_DTO(links[i].from.request, links[i].from.ep, seed, DAT_DTO_SUCCESS, size);
}

static DAT_SRQ_PARAM query(void)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
	return param;
}

static void want_counts(DAT_COUNT available, DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param = query();

	if (param.available_dto_count != DAT_VALUE_UNKNOWN)
		CHECK_EQ_INT(param.available_dto_count, available);
	if (param.outstanding_dto_count != DAT_VALUE_UNKNOWN)
		CHECK_EQ_INT(param.outstanding_dto_count, outstanding);
}

static void query_tells_what_it_was_made_with(void)
{
	DAT_SRQ_PARAM param = query();

	CHECK(param.ia_handle == api.ia && param.pz_handle == api.pz);
	CHECK_EQ_INT(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	CHECK(param.max_recv_dtos >= DEPTH && param.max_recv_iov >= 2);
	CHECK_EQ_INT(param.low_watermark, DAT_SRQ_LW_DEFAULT);
	want_counts(0, 0);
	for (int bit = 1; bit < DAT_SRQ_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0x100, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	API_EMPTY(api.async);
}

static void create_refuses_bad_arguments(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = DEPTH, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE made;

	CHECK_DAT(dat_srq_create(api.ia, api.pz, NULL, &made), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, NULL), DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = 0;
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, &made), DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = -5;
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, &made), DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = api.attr.max_recv_per_srq + 1;
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, &made), DAT_INVALID_PARAMETER);
	attr.max_recv_dtos = DEPTH;
	attr.max_recv_iov = api.attr.max_iov_segments_per_dto + 1;
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, &made), DAT_INVALID_PARAMETER);
}

static void post_refuses_what_a_receive_would(void)
{
	struct api_buf other = api_buf_in(api_pz(), buf.mem, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf ro = api_buf_in(api.pz, buf.mem, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET segs[64];
	DAT_COUNT most = query().max_recv_iov;

	for (int i = 0; i < 64; i++)
		segs[i] = api_seg(&buf, (size_t)i * 10, 10);
	if (most < 64)
		CHECK_DAT(dat_srq_post_recv(srq, most + 1, segs, api_cookie(1)),
			  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_post_recv(srq, -1, segs, api_cookie(1)), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_post_recv(srq, 1, NULL, api_cookie(1)), DAT_INVALID_PARAMETER);
	segs[0] = api_seg(&buf, buf.size - 10, 5000);
	CHECK_DAT(dat_srq_post_recv(srq, 1, segs, api_cookie(1)), DAT_INVALID_PARAMETER);
	segs[0] = api_seg(&other, 0, 10);
	CHECK_DAT(dat_srq_post_recv(srq, 1, segs, api_cookie(1)), DAT_PROTECTION_VIOLATION);
	segs[0] = api_seg(&ro, 0, 10);
	CHECK_DAT(dat_srq_post_recv(srq, 1, segs, api_cookie(1)), DAT_PRIVILEGES_VIOLATION);
	want_counts(0, 0);
}

static void queue_takes_as_many_as_it_says(void)
{
	DAT_COUNT depth = query().max_recv_dtos;

	for (DAT_COUNT n = 0; n < depth; n++)
		REQUIRE_DAT(post((uint64_t)n, 64), DAT_SUCCESS);
	CHECK_DAT(post(0, 64), DAT_INSUFFICIENT_RESOURCES);
	want_counts(depth, depth);
	CHECK_DAT(dat_srq_free(srq), DAT_SUCCESS); /* posted receives do not prevent it */
	CHECK_DAT(dat_srq_free(srq), DAT_INVALID_HANDLE);
}

static void counts_follow_a_buffer_through_its_life(void)
{
	links_make(1);
	post_many(1, 3);
	want_counts(3, 3);
	send_msg(0, 100, 1);
	REQUIRE_SOON(query().available_dto_count != 3);
	want_counts(2, 3); /* taken, completed, not yet reaped */
	API_DTO(links[0].to.recv, links[0].to.ep, 1, DAT_DTO_SUCCESS, 100);
	want_counts(2, 2);
}

static void messages_of_several_endpoints_share_the_buffers(void)
{
	int got[3] = { 0 };

	links_make(3);
	post_many(1, 9);
	for (uint64_t round = 0; round < 3; round++)
		for (int i = 0; i < 3; i++)
			send_msg(i, 100 + round, 10 * round + (uint64_t)i);
	for (int i = 0; i < 3; i++) {
		for (uint64_t round = 0; round < 3; round++) {
			DAT_DTO_COMPLETION_EVENT_DATA *dto;
			DAT_EVENT event;

			API_EVENT(links[i].to.recv, &event);
			dto = &event.event_data.dto_completion_event_data;
			CHECK(dto->ep_handle == links[i].to.ep);
			CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
			CHECK_EQ_INT(dto->transfered_length,
				     100 + round); /* the order of its own sends */
			CHECK_EQ_INT(api_mismatch(buf.mem + 4096 * (dto->user_cookie.as_64 % 64),
						  100 + round, 10 * round + (uint64_t)i),
				     -1);
			got[i]++;
		}
		API_EMPTY(links[i].to.recv);
	}
	CHECK(got[0] == 3 && got[1] == 3 && got[2] == 3);
	want_counts(0, 0);
}

static void message_waits_for_a_buffer(void)
{
	api_skip_where_nothing_waits();
	links_make(1);
	REQUIRE_DAT(api_send(links[0].from.ep, &buf, 0, 64, 1, 0), DAT_SUCCESS);
	API_QUIET(links[0].to.recv);
	REQUIRE_DAT(post(5, 64), DAT_SUCCESS);
	API_DTO(links[0].to.recv, links[0].to.ep, 5, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(post(6, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(links[0].from.ep, &buf, 0, 0, 2, 0), DAT_SUCCESS);
	API_DTO(links[0].to.recv, links[0].to.ep, 6, DAT_DTO_SUCCESS, 0);
}

static void large_messages_go_through_it_as_well(void)
{
	struct api_buf big = api_buf(4 << 20, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = api_seg(&big, 0, 2 << 20);

	links_make(1);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(7)), DAT_SUCCESS);
	api_fill(big.mem + (2 << 20), 2 << 20, 7);
	REQUIRE_DAT(api_send(links[0].from.ep, &big, 2 << 20, 2 << 20, 1, 0), DAT_SUCCESS);
	API_DTO(links[0].to.recv, links[0].to.ep, 7, DAT_DTO_SUCCESS, 2 << 20);
	API_DTO(links[0].from.request, links[0].from.ep, 1, DAT_DTO_SUCCESS, 2 << 20);
	CHECK_EQ_INT(api_mismatch(big.mem, 2 << 20, 7), -1);
}

/* A program that has posted receives need not take its events before they are filled. */
static void large_message_is_taken_though_nobody_looks_at_the_events(void)
{
	struct api_buf big = api_buf(4 << 20, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = api_seg(&big, 0, 2 << 20);

	links_make(1);
	post_many(1, 2);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(7)), DAT_SUCCESS);
	api_fill(big.mem + (2 << 20), 2 << 20, 7);
	send_msg(0, 64, 11);
	send_msg(0, 64, 12);
	REQUIRE_DAT(api_send(links[0].from.ep, &big, 2 << 20, 2 << 20, 13, 0), DAT_SUCCESS);
	API_DTO(links[0].from.request, links[0].from.ep, 13, DAT_DTO_SUCCESS, 2 << 20);
	/* over iWARP the send completes before the receive does */
	CHECK_SOON(api_mismatch(big.mem, 2 << 20, 7) == -1);
	API_DTO(links[0].to.recv, links[0].to.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(links[0].to.recv, links[0].to.ep, 2, DAT_DTO_SUCCESS, 64);
	API_DTO(links[0].to.recv, links[0].to.ep, 7, DAT_DTO_SUCCESS, 2 << 20);
}

static void graceful_disconnect_ends_though_nobody_looks_at_the_events(void)
{
	struct api_buf big = api_buf(4 << 20, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = api_seg(&big, 0, 2 << 20);

	api_skip_where_nothing_waits();
	links_make(1);
	REQUIRE_DAT(api_send(links[0].from.ep, &big, 2 << 20, 2 << 20, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(links[0].from.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(7)), DAT_SUCCESS);
	API_CONN(links[0].to.connect, links[0].to.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(links[0].from.connect, links[0].from.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_DTO(links[0].from.request, links[0].from.ep, 1, DAT_DTO_SUCCESS, 2 << 20);
	API_DTO(links[0].to.recv, links[0].to.ep, 7, DAT_DTO_SUCCESS, 2 << 20);
}

static void endpoint_of_a_queue_posts_no_receives_of_its_own(void)
{
	DAT_RETURN ret;

	make_receiver(&links[0].to, DAT_COMPLETION_DEFAULT_FLAG);
	ret = DAT_GET_TYPE(api_recv(links[0].to.ep, &buf, 0, 64, 1));
	CHECK(ret == DAT_INVALID_PARAMETER || ret == DAT_INVALID_STATE);
	want_counts(0, 0);
}

static void create_of_an_endpoint_needs_attributes_and_ignores_the_recv_iov(void)
{
	DAT_EVD_HANDLE dto = api_evd(8, DAT_EVD_DTO_FLAG),
		       connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_ATTR attr = { .max_recv_iov = 1000000, .max_request_dtos = 7, .max_request_iov = 2 };
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	CHECK_DAT(dat_ep_create_with_srq(api.ia, api.pz, dto, dto, connect, srq, NULL, &ep),
		  DAT_INVALID_PARAMETER);
	REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, dto, dto, connect, srq, &attr, &ep),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.srq_handle == srq);
	CHECK(param.ep_attr.max_request_dtos >= 7 && param.ep_attr.max_request_iov >= 2);
	CHECK_DAT(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &param), DAT_INVALID_PARAMETER);
	attr = (DAT_EP_ATTR){ .max_rdma_read_iov = api.attr.max_iov_segments_per_rdma_read + 1 };
	CHECK_DAT(dat_ep_create_with_srq(api.ia, api.pz, dto, dto, connect, srq, &attr, &ep),
		  DAT_INVALID_PARAMETER);
}

/* The cost of an endpoint depends on what it sends, and not on what others may receive. */
static void many_endpoints_share_a_long_queue_and_one_evd(void)
{
	enum { MANY = 100, LONG = 8192 };
	DAT_SRQ_ATTR attr = { .max_recv_dtos = LONG, .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EVD_HANDLE dto_evd = api_evd(LONG, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR each = { 0 };
	DAT_SRQ_HANDLE queue;
	DAT_EP_HANDLE ep[MANY];

	if (api.attr.max_recv_per_srq < LONG || api.attr.max_ep_per_srq < MANY)
		check_skip("the provider has no such queues");
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &queue), DAT_SUCCESS);
	for (int i = 0; i < MANY; i++)
		REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, dto_evd, dto_evd, DAT_HANDLE_NULL,
						   queue, &each, &ep[i]),
			    DAT_SUCCESS);
	for (int i = 0; i < MANY; i++)
		CHECK_DAT(dat_ep_free(ep[i]), DAT_SUCCESS);
	CHECK_DAT(dat_srq_free(queue), DAT_SUCCESS);
}

static void free_is_refused_while_an_endpoint_is_associated(void)
{
	links_make(1);
	CHECK_DAT(dat_srq_free(srq), DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE);
	REQUIRE_DAT(dat_ep_disconnect(links[0].from.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(links[0].to.connect, links[0].to.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_DAT(dat_srq_free(srq), DAT_INVALID_STATE);
	REQUIRE_DAT(dat_ep_free(links[0].to.ep), DAT_SUCCESS);
	CHECK_DAT(dat_srq_free(srq), DAT_SUCCESS);
}

static void end_of_an_endpoint_leaves_the_buffers_to_the_others(void)
{
	links_make(2);
	post_many(1, 4);
	REQUIRE_DAT(dat_ep_disconnect(links[0].to.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(links[0].to.connect, links[0].to.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_QUIET(links[0].to.recv);
	want_counts(4, 4);
	send_msg(1, 100, 9);
	API_DTO(links[1].to.recv, links[1].to.ep, 1, DAT_DTO_SUCCESS, 100);
	/* The association survives a reset. */
	API_CONN(links[0].from.connect, links[0].from.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(dat_ep_reset(links[0].to.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(links[0].from.ep), DAT_SUCCESS);
	join(0);
	send_msg(0, 50, 3);
	API_DTO(links[0].to.recv, links[0].to.ep, 2, DAT_DTO_SUCCESS, 50);
}

static void unconnected_endpoint_takes_nothing(void)
{
	make_receiver(&links[0].to, DAT_COMPLETION_DEFAULT_FLAG);
	post_many(1, 3);
	want_counts(3, 3);
	API_QUIET(links[0].to.recv);
}

static void completions_notify_though_the_endpoint_is_unsignalled(void)
{
	struct api_waiter waiter;

	api_end_make(&links[0].from, NULL);
	make_receiver(&links[0].to, DAT_COMPLETION_UNSIGNALLED_FLAG);
	join(0);
	post_many(1, 1);
	api_wait_start(&waiter, links[0].to.recv, 1);
	send_msg(0, 64, 1);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
}

static void solicited_endpoint_is_woken_by_solicited_messages(void)
{
	struct api_waiter waiter;

	api_skip_where_any_message_wakes();
	api_end_make(&links[0].from, NULL);
	make_receiver(&links[0].to, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	join(0);
	post_many(1, 2);
	api_wait_start(&waiter, links[0].to.recv, 1);
	send_msg(0, 64, 1);
	CHECK(!api_wait_done(&waiter));
	REQUIRE_DAT(api_send(links[0].from.ep, &buf, 0, 64, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		    DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	CHECK_EQ_INT(waiter.nmore, 1);
}

/* The PZ of the queue applies to its receives, that of the endpoint to all other operations. */
static void endpoint_of_another_zone_is_taken_where_the_provider_says_so(void)
{
	DAT_PZ_HANDLE pz = api_pz();
	struct api_buf other = api_buf_in(pz, api_memory(4096), 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct api_end *to = &links[0].to;
	DAT_EP_ATTR attr = { 0 };
	DAT_RETURN ret;

	to->recv = api_evd(8, DAT_EVD_DTO_FLAG);
	to->request = api_evd(8, DAT_EVD_DTO_FLAG);
	to->connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	ret = dat_ep_create_with_srq(api.ia, pz, to->recv, to->request, to->connect, srq, &attr,
				     &to->ep);
	if (!api.prov.srq_ep_pz_difference_supported) {
		CHECK_DAT(ret, DAT_INVALID_PARAMETER);
		return;
	}
	REQUIRE_DAT(ret, DAT_SUCCESS);
	api_end_make(&links[0].from, NULL);
	join(0);
	post_many(1, 1);
	send_msg(0, 100, 1);
	API_DTO(to->recv, to->ep, 1, DAT_DTO_SUCCESS, 100);
	CHECK_EQ_INT(api_mismatch(buf.mem + 4096, 100, 1), -1);
	REQUIRE_DAT(api_write(links[0].from.ep, api_seg(&buf, 512 * 1024, 100),
			      api_target(&other, 0, 100), 2, 0),
		    DAT_SUCCESS);
	API_DTO(links[0].from.request, links[0].from.ep, 2, DAT_DTO_SUCCESS, 100);
	/* over iWARP a write completes when it has been sent */
	CHECK_SOON(api_mismatch(other.mem, 100, 1) == -1);
}

static void want_low_watermark(void)
{
	DAT_EVENT event;

	API_EVENT(api.async, &event);
	CHECK((event.event_number & 0x8000) != 0);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == srq);
	CHECK_EQ_INT(event.event_data.asynch_error_event_data.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
}

static void need_watermarks(void)
{
	if (!api.prov.srq_watermarks_supported)
		check_skip("the provider has no watermarks");
}

static void low_watermark_is_told_once_a_setting(void)
{
	need_watermarks();
	links_make(1);
	post_many(1, 5);
	REQUIRE_DAT(dat_srq_set_lw(srq, 3), DAT_SUCCESS);
	CHECK_EQ_INT(query().low_watermark, 3);
	API_EMPTY(api.async);
	send_msg(0, 64, 1);
	send_msg(0, 64, 2);
	API_DTO(links[0].to.recv, links[0].to.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(links[0].to.recv, links[0].to.ep, 2, DAT_DTO_SUCCESS, 64);
	API_QUIET(api.async); /* the mark is three, and three are not fewer */
	send_msg(0, 64, 3);
	API_DTO(links[0].to.recv, links[0].to.ep, 3, DAT_DTO_SUCCESS, 64);
	want_low_watermark();
	send_msg(0, 64, 4);
	API_DTO(links[0].to.recv, links[0].to.ep, 4, DAT_DTO_SUCCESS, 64);
	API_QUIET(api.async);
	REQUIRE_DAT(dat_srq_set_lw(srq, 3), DAT_SUCCESS);
	want_low_watermark(); /* fewer are left already */
}

static void low_watermark_can_be_replaced_and_taken_away(void)
{
	need_watermarks();
	links_make(1);
	post_many(1, 5);
	CHECK_DAT(dat_srq_set_lw(srq, query().max_recv_dtos + 1), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_set_lw(srq, -3), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(dat_srq_set_lw(srq, 5), DAT_SUCCESS);
	REQUIRE_DAT(dat_srq_set_lw(srq, 1), DAT_SUCCESS);
	send_msg(0, 64, 1);
	API_DTO(links[0].to.recv, links[0].to.ep, 1, DAT_DTO_SUCCESS, 64);
	API_QUIET(api.async);
	REQUIRE_DAT(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT), DAT_SUCCESS);
	for (uint64_t n = 2; n <= 5; n++) {
		send_msg(0, 64, n);
		API_DTO(links[0].to.recv, links[0].to.ep, n, DAT_DTO_SUCCESS, 64);
	}
	API_QUIET(api.async);
}

static void resize_keeps_buffers_and_refuses_what_does_not_fit(void)
{
	DAT_COUNT depth;

	links_make(1);
	post_many(1, 5);
	REQUIRE_DAT(dat_srq_resize(srq, 100), DAT_SUCCESS);
	depth = query().max_recv_dtos;
	CHECK(depth >= 100);
	post_many(6, 100);
	want_counts(100, 100);
	CHECK_DAT(dat_srq_resize(srq, 50), DAT_INVALID_STATE);
	CHECK_DAT(dat_srq_resize(srq, 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_resize(srq, -1), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_srq_resize(srq, api.attr.max_recv_per_srq + 1), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(query().max_recv_dtos, depth);
	for (uint64_t n = 1; n <= 100; n++) {
		send_msg(0, 64, n);
		API_DTO(links[0].to.recv, links[0].to.ep, n, DAT_DTO_SUCCESS, 64);
	}
	CHECK_DAT(dat_srq_resize(srq, DEPTH), DAT_SUCCESS);
	CHECK(query().max_recv_dtos >= DEPTH);
	if (!api.prov.srq_watermarks_supported)
		return;
	REQUIRE_DAT(dat_srq_set_lw(srq, 5), DAT_SUCCESS);
	CHECK_DAT(dat_srq_resize(srq, 4), DAT_INVALID_STATE);
}

static void resize_counts_what_was_completed_but_not_reaped(void)
{
	links_make(1);
	post_many(1, 5);
	send_msg(0, 64, 1);
	send_msg(0, 64, 2);
	CHECK_DAT(dat_srq_resize(srq, 4), DAT_INVALID_STATE);
	API_DTO(links[0].to.recv, links[0].to.ep, 1, DAT_DTO_SUCCESS, 64);
	API_DTO(links[0].to.recv, links[0].to.ep, 2, DAT_DTO_SUCCESS, 64);
	CHECK_DAT(dat_srq_resize(srq, 3), DAT_SUCCESS);
}

static void recv_query_counts_what_the_endpoint_holds(void)
{
	DAT_COUNT count = -7, span = -7;

	if (!api.prov.ep_recv_info_supported)
		check_skip("the provider does not count an endpoint's receives");
	links_make(1);
	post_many(1, 3);
	REQUIRE_DAT(dat_ep_recv_query(links[0].to.ep, &count, &span), DAT_SUCCESS);
	CHECK(count == 0 || count == DAT_VALUE_UNKNOWN);
	for (uint64_t n = 0; n < 3; n++)
		REQUIRE_DAT(api_recv(links[0].from.ep, &buf, 0, 64, n), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_recv_query(links[0].from.ep, &count, &span), DAT_SUCCESS);
	CHECK(count == 3 || count == DAT_VALUE_UNKNOWN);
	CHECK(span >= count || span == DAT_VALUE_UNKNOWN);
	CHECK_DAT(dat_ep_recv_query(links[0].from.ep, NULL, &span), DAT_SUCCESS);
	CHECK_DAT(dat_ep_recv_query(links[0].from.ep, &count, NULL), DAT_SUCCESS);
	REQUIRE_DAT(api_send(links[0].to.ep, &buf, 4096, 64, 1, 0), DAT_SUCCESS);
	API_DTO(links[0].from.recv, links[0].from.ep, 0, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(dat_ep_recv_query(links[0].from.ep, &count, &span), DAT_SUCCESS);
	CHECK(count == 2 || count == DAT_VALUE_UNKNOWN);
}

static void want_soft_watermark(DAT_EP_HANDLE ep)
{
	DAT_EVENT event;

	API_EVENT(api.async, &event);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == ep);
	CHECK_EQ_INT(event.event_data.asynch_error_event_data.reason,
		     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

/* Receives that the endpoint took and whose completions have not been reaped count as held. */
static void soft_watermark_is_told_once_a_setting(void)
{
	need_watermarks();
	links_make(1);
	post_many(1, 8);
	REQUIRE_DAT(dat_ep_set_watermark(links[0].to.ep, 1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	send_msg(0, 64, 1);
	API_QUIET(api.async);
	send_msg(0, 64, 2);
	want_soft_watermark(links[0].to.ep);
	send_msg(0, 64, 3);
	API_QUIET(api.async);
	REQUIRE_DAT(dat_ep_set_watermark(links[0].to.ep, 1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
	want_soft_watermark(links[0].to.ep);
	CHECK_DAT(dat_ep_set_watermark(links[0].to.ep, -9, DAT_WATERMARK_INFINITE),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_set_watermark(links[0].to.ep, DAT_WATERMARK_INFINITE, -9),
		  DAT_INVALID_PARAMETER);
}

static void hard_watermark_breaks_the_connection(void)
{
	need_watermarks();
	api_end_make(&links[0].from, NULL);
	make_receiver(&links[0].to, DAT_COMPLETION_DEFAULT_FLAG);
	REQUIRE_DAT(dat_ep_set_watermark(links[0].to.ep, DAT_WATERMARK_INFINITE, 1), DAT_SUCCESS);
	join(0);
	post_many(1, 8);
	send_msg(0, 64, 1);
	API_QUIET(links[0].to.connect);
	REQUIRE_DAT(api_send(links[0].from.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	API_CONN(links[0].to.connect, links[0].to.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN_OVER(links[0].from.connect, links[0].from.ep);
	API_EMPTY(api.async);
}

/*
 * One thread posts all the time, the other from time to time, and the other one takes the completions.
 */
#define MESSAGES  600
#define SOMETIMES 10

static _Atomic int posted, taken;

static void post_one(int n)
{
	CHECK_DAT(post((uint64_t)n, 64), DAT_SUCCESS);
	atomic_fetch_add(&posted, 1);
}

/* It leaves room for one receive of the other thread. */
static void *posts_most(void *arg)
{
	(void)arg;
	for (int n = 0; n < MESSAGES; n++) {
		if (n % SOMETIMES == 0)
			continue;
		while (atomic_load(&posted) - atomic_load(&taken) >= DEPTH - 1)
			sched_yield();
		post_one(n);
	}
	return NULL;
}

static uint64_t take(int i, uint64_t sent)
{
	DAT_EVENT event;

	API_DTO(links[i].from.request, links[i].from.ep, sent, DAT_DTO_SUCCESS, 16);
	API_EVENT(links[i].to.recv, &event);
	REQUIRE(event.event_number == DAT_DTO_COMPLETION_EVENT);
	REQUIRE(event.event_data.dto_completion_event_data.ep_handle == links[i].to.ep);
	REQUIRE_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	return event.event_data.dto_completion_event_data.user_cookie.as_64;
}

static void two_threads_post_what_one_of_them_takes(void)
{
	static bool seen[MESSAGES];
	pthread_t thread;
	uint64_t cookie;

	memset(seen, 0, sizeof(seen));
	atomic_store(&posted, 0);
	links_make(2);
	REQUIRE(pthread_create(&thread, NULL, posts_most, NULL) == 0);
	for (int n = 0; n < MESSAGES; n++) {
		if (n % SOMETIMES == 0)
			post_one(n);
		CHECK_SOON(atomic_load(&posted) > n);
		REQUIRE_DAT(api_send(links[n & 1].from.ep, &buf, 512 * 1024, 16, (uint64_t)n, 0), DAT_SUCCESS);
		cookie = take(n & 1, (uint64_t)n);
		REQUIRE(cookie < MESSAGES && !seen[cookie]);
		seen[cookie] = true;
		atomic_fetch_add(&taken, 1);
	}
	pthread_join(thread, NULL);
	want_counts(0, 0);
	API_EMPTY(links[0].to.recv);
	API_EMPTY(links[1].to.recv);
}

static const struct check_test tests[] = {
	CHECK_TEST(query_tells_what_it_was_made_with),
	CHECK_TEST(create_refuses_bad_arguments),
	CHECK_TEST(post_refuses_what_a_receive_would),
	CHECK_TEST(queue_takes_as_many_as_it_says),
	CHECK_TEST(counts_follow_a_buffer_through_its_life),
	CHECK_TEST(messages_of_several_endpoints_share_the_buffers),
	CHECK_TEST(message_waits_for_a_buffer),
	CHECK_TEST(large_messages_go_through_it_as_well),
	CHECK_TEST(large_message_is_taken_though_nobody_looks_at_the_events),
	CHECK_TEST(graceful_disconnect_ends_though_nobody_looks_at_the_events),
	CHECK_TEST(endpoint_of_a_queue_posts_no_receives_of_its_own),
	CHECK_TEST(create_of_an_endpoint_needs_attributes_and_ignores_the_recv_iov),
	CHECK_TEST(many_endpoints_share_a_long_queue_and_one_evd),
	CHECK_TEST(two_threads_post_what_one_of_them_takes),
	CHECK_TEST(free_is_refused_while_an_endpoint_is_associated),
	CHECK_TEST(end_of_an_endpoint_leaves_the_buffers_to_the_others),
	CHECK_TEST(unconnected_endpoint_takes_nothing),
	CHECK_TEST(completions_notify_though_the_endpoint_is_unsignalled),
	CHECK_TEST(solicited_endpoint_is_woken_by_solicited_messages),
	CHECK_TEST(endpoint_of_another_zone_is_taken_where_the_provider_says_so),
	CHECK_TEST(low_watermark_is_told_once_a_setting),
	CHECK_TEST(low_watermark_can_be_replaced_and_taken_away),
	CHECK_TEST(resize_keeps_buffers_and_refuses_what_does_not_fit),
	CHECK_TEST(resize_counts_what_was_completed_but_not_reaped),
	CHECK_TEST(recv_query_counts_what_the_endpoint_holds),
	CHECK_TEST(soft_watermark_is_told_once_a_setting),
	CHECK_TEST(hard_watermark_breaks_the_connection),
	CHECK_END
};

static const struct check_suite srqs = {
	.name = "srq",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&srqs);
