/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers: sizes, segments, order, depth, late receives, completion flags, flushes and faults.
 * The same tests run with the remote side in this process and in another.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "remote.h"

#define KB ((size_t)1024)
#define MB ((size_t)1 << 20)

static struct api_end local;
static struct api_buf buf;

static void open_both(bool forked, const DAT_EP_ATTR *attr)
{
	remote_start(forked);
	api_open();
	remote_open(attr);
	api_end_make(&local, attr);
	buf = api_buf(8 * MB, DAT_MEM_PRIV_ALL_FLAG);
	remote_pair(&local);
}

static void one_process(void)
{
	open_both(false, NULL);
}

static void two_processes(void)
{
	open_both(true, NULL);
}

static void two_processes_apart(void)
{
	api_skip_where_threads_copy();
	open_both(true, NULL);
}

static void end(void)
{
	api_close();
	remote_stop();
}

/*
 * Starts again with other endpoints. Their peer has to be forked before this process opens its IA.
 */
static void again_with(const DAT_EP_ATTR *attr)
{
	bool forked = remote.forked;

	api_close();
	remote_stop();
	open_both(forked, attr);
}

static void reconnect(void)
{
	DAT_EVENT event;

	REQUIRE_DAT(dat_ep_reset(local.ep), DAT_SUCCESS);
	REQUIRE_DAT(remote_reset(), DAT_SUCCESS);
	while (dat_evd_dequeue(local.request, &event) == DAT_SUCCESS)
		;
	remote_pair(&local);
}

static void message(size_t size, uint64_t seed)
{
	api_fill(buf.mem, size, seed);
	remote_clear(0, size + 8);
	REQUIRE_DAT(remote_recv(0, size, seed, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, size, seed, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, seed, DAT_DTO_SUCCESS, size);
	API_DTO(local.request, local.ep, seed, DAT_DTO_SUCCESS, size);
	CHECK_EQ_INT(remote_mismatch(0, size, seed), -1);
}

static void messages_of_many_sizes_arrive_whole(void)
{
	static const size_t sizes[] = { 0,     1,     7,     8,	     9,	   63,	   64,	  65,
					255,   256,   1000,  4095,   4096, 4097,   8192,  10000,
					65535, 65536, 65537, MB - 1, MB,   MB + 1, 4 * MB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i] <= api.attr.max_message_size)
			message(sizes[i], i + 1);
}

/* Providers have special code for short messages, by their length. */
static void short_messages_of_every_size_arrive_whole(void)
{
	for (size_t size = 0; size <= 160; size++)
		message(size, size + 1);
}

static void message_smaller_than_its_receive_leaves_the_rest_alone(void)
{
	remote_fill(0, 64 * KB, 9);
	REQUIRE_DAT(remote_recv(0, 64 * KB, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(api_send(local.ep, &buf, 0, 0, 2, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_SUCCESS, 0);
	CHECK_EQ_INT(remote_mismatch(0, 64 * KB, 9), -1);
}

/*
 * Returns when earlier writes have arrived at the target. Over iWARP, a write completes when it has been sent; a
 * read after it is answered when the write has arrived.
 */
static void await_landing(DAT_RMR_TRIPLET at)
{
	REQUIRE_DAT(api_read(local.ep, api_seg(&buf, 4 * MB, at.segment_length), at, 1, 0), DAT_SUCCESS);
	API_DTO(local.request, local.ep, 1, DAT_DTO_SUCCESS, at.segment_length);
}

/* A message is gathered from three segments, in order. */
static void segments_are_gathered_in_order(void)
{
	DAT_LMR_TRIPLET iov[3] = { api_seg(&buf, 0, 100), api_seg(&buf, 5000, 1),
				   api_seg(&buf, 200, 3000) };
	DAT_RMR_TRIPLET to = remote_target(64 * KB, 3101);
	unsigned char *all = malloc(3101);

	REQUIRE(all != NULL);
	api_fill(all, 3101, 4);
	memcpy(buf.mem, all, 100);
	memcpy(buf.mem + 5000, all + 100, 1);
	memcpy(buf.mem + 200, all + 101, 3000);
	free(all);
	REQUIRE_DAT(remote_recv(0, 4096, 1, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_post_send(local.ep, 3, iov, api_cookie(2), 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_SUCCESS, 3101);
	CHECK_EQ_INT(remote_mismatch(0, 3101, 4), -1);
	API_DTO(local.request, local.ep, 2, DAT_DTO_SUCCESS, 3101);
	REQUIRE_DAT(dat_ep_post_rdma_write(local.ep, 3, iov, api_cookie(3), &to, 0), DAT_SUCCESS);
	API_DTO(local.request, local.ep, 3, DAT_DTO_SUCCESS, 3101);
	await_landing(to);
	CHECK_EQ_INT(remote_mismatch(64 * KB, 3101, 4), -1);
}

/*
 * Checks a message that was scattered over three segments: it fills them one after the other. The
 * rest of the segments is unchanged, and so are the 8 bytes after each.
 */
static void check_scattered(const unsigned char *want, size_t size)
{
	static const struct {
		size_t at, length;
	} places[3] = { { 1000, 10 }, { 100, 300 }, { 5000, 1000 } };
	size_t done = 0;

	for (int i = 0; i < 3; i++) {
		size_t here = size - done < places[i].length ? size - done : places[i].length;

		CHECK_EQ_MEM(buf.mem + places[i].at, want + done, here);
		for (size_t k = here; k < places[i].length + 8; k++)
			REQUIRE(buf.mem[places[i].at + k] == 0xee);
		done += here;
	}
}

static void data_is_scattered_in_order(void)
{
	static const size_t sizes[] = { 0, 1, 10, 11, 200, 310, 311, 1310 };
	DAT_LMR_TRIPLET iov[3] = { api_seg(&buf, 1000, 10), api_seg(&buf, 100, 300),
				   api_seg(&buf, 5000, 1000) };
	unsigned char *want = malloc(1310);

	REQUIRE(want != NULL);
	api_fill(want, 1310, 6);
	remote_fill(0, 1310, 6);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		DAT_RMR_TRIPLET from = remote_target(0, sizes[i]);

		memset(buf.mem, 0xee, 8192);
		REQUIRE_DAT(dat_ep_post_recv(local.ep, 3, iov, api_cookie(i), 0), DAT_SUCCESS);
		REQUIRE_DAT(remote_send(0, sizes[i], 1, 0), DAT_SUCCESS);
		API_DTO(local.recv, local.ep, i, DAT_DTO_SUCCESS, sizes[i]);
		REMOTE_DTO(REMOTE_EVD_REQUEST, 1, DAT_DTO_SUCCESS, sizes[i]);
		check_scattered(want, sizes[i]);
		if (!sizes[i])
			continue;
		memset(buf.mem, 0xee, 8192);
		REQUIRE_DAT(dat_ep_post_rdma_read(local.ep, 3, iov, api_cookie(i), &from, 0),
			    DAT_SUCCESS);
		API_DTO(local.request, local.ep, i, DAT_DTO_SUCCESS, sizes[i]);
		check_scattered(want, sizes[i]);
	}
	free(want);
}

/* Programs put a header before their data, and a provider may have a fast path for two segments. */
static void short_messages_fill_two_segments(void)
{
	DAT_LMR_TRIPLET iov[2] = { api_seg(&buf, 100, 16), api_seg(&buf, 200, 40) };
	unsigned char want[56];
	DAT_EVENT event;

	api_fill(want, sizeof(want), 6);
	remote_fill(0, sizeof(want), 6);
	for (size_t size = 0; size <= sizeof(want); size++) {
		size_t first = size < 16 ? size : 16;

		memset(buf.mem, 0xee, 512);
		REQUIRE_DAT(dat_ep_post_recv(local.ep, 2, iov, api_cookie(size), 0), DAT_SUCCESS);
		REQUIRE_DAT(remote_send(0, size, 1, 0), DAT_SUCCESS);
		REMOTE_DTO(REMOTE_EVD_REQUEST, 1, DAT_DTO_SUCCESS, size);
		REQUIRE_SOON(dat_evd_dequeue(local.recv, &event) == DAT_SUCCESS);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.transfered_length, size);
		CHECK_EQ_MEM(buf.mem + 100, want, first);
		CHECK_EQ_MEM(buf.mem + 200, want + first, size - first);
		for (size_t i = 0; i < 512; i++)
			if (i < 100 || (i >= 100 + first && i < 200) || i >= 200 + size - first)
				REQUIRE(buf.mem[i] == 0xee);
	}
}

static void large_data_is_scattered_in_order(void)
{
	DAT_LMR_TRIPLET iov[3] = { api_seg(&buf, 3, 300001), api_seg(&buf, 4 * MB, 1),
				   api_seg(&buf, 2 * MB + 5, 700000) };
	size_t size = 300001 + 1 + 700000 - 77;
	unsigned char *want = malloc(size);
	DAT_RMR_TRIPLET from = remote_target(1, size);

	REQUIRE(want != NULL);
	api_fill(want, size, 6);
	remote_fill(1, size, 6);
	for (int read = 0; read < 2; read++) {
		memset(buf.mem, 0xee, 5 * MB);
		if (read) {
			REQUIRE_DAT(dat_ep_post_rdma_read(local.ep, 3, iov, api_cookie(1), &from, 0),
				    DAT_SUCCESS);
			API_DTO(local.request, local.ep, 1, DAT_DTO_SUCCESS, size);
		} else {
			REQUIRE_DAT(dat_ep_post_recv(local.ep, 3, iov, api_cookie(1), 0),
				    DAT_SUCCESS);
			REQUIRE_DAT(remote_send(1, size, 1, 0), DAT_SUCCESS);
			API_DTO(local.recv, local.ep, 1, DAT_DTO_SUCCESS, size);
		}
		CHECK_EQ_MEM(buf.mem + 3, want, 300001);
		CHECK_EQ_MEM(buf.mem + 4 * MB, want + 300001, 1);
		CHECK_EQ_MEM(buf.mem + 2 * MB + 5, want + 300002, size - 300002);
		CHECK(buf.mem[2] == 0xee && buf.mem[3 + 300001] == 0xee);
		CHECK(buf.mem[4 * MB - 1] == 0xee && buf.mem[4 * MB + 1] == 0xee);
		CHECK(buf.mem[2 * MB + 4] == 0xee);
		CHECK(buf.mem[2 * MB + 5 + 700000 - 77] == 0xee);
	}
	free(want);
}

static void too_many_segments_are_refused(void)
{
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET *iov;
	DAT_COUNT most;

	REQUIRE_DAT(dat_ep_query(local.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	most = param.ep_attr.max_recv_iov > param.ep_attr.max_request_iov
		       ? param.ep_attr.max_recv_iov
		       : param.ep_attr.max_request_iov;
	REQUIRE(most > 0 && most < 100000);
	iov = api_memory(sizeof(*iov) * (size_t)(most + 1));
	for (DAT_COUNT i = 0; i <= most; i++)
		iov[i] = api_seg(&buf, (size_t)i, 1);
	CHECK_DAT(
		dat_ep_post_send(local.ep, param.ep_attr.max_request_iov + 1, iov, api_cookie(1), 0),
		DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_recv(local.ep, param.ep_attr.max_recv_iov + 1, iov, api_cookie(1), 0),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_send(local.ep, -1, iov, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_recv(local.ep, -1, iov, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_send(local.ep, 1, NULL, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_recv(local.ep, 1, NULL, api_cookie(1), 0), DAT_INVALID_PARAMETER);
	/* As many segments as the attribute says are accepted. */
	REQUIRE_DAT(remote_recv(0, 4096, 1, 0), DAT_SUCCESS);
	CHECK_DAT(dat_ep_post_send(local.ep, param.ep_attr.max_request_iov, iov, api_cookie(2), 0),
		  DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_SUCCESS, (DAT_VLEN)param.ep_attr.max_request_iov);
	API_DTO(local.request, local.ep, 2, DAT_DTO_SUCCESS, (DAT_VLEN)param.ep_attr.max_request_iov);
}

static void receive_posted_late_takes_the_message_that_waits(void)
{
	static const size_t sizes[] = { 0, 64, 4096, 65536, MB };

	api_skip_where_nothing_waits();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		api_fill(buf.mem, sizes[i], i);
		REQUIRE_DAT(api_send(local.ep, &buf, 0, sizes[i], i, 0), DAT_SUCCESS);
		REMOTE_QUIET(REMOTE_EVD_RECV);
		REQUIRE_DAT(remote_recv(0, sizes[i], 100 + i, 0), DAT_SUCCESS);
		REMOTE_DTO(REMOTE_EVD_RECV, 100 + i, DAT_DTO_SUCCESS, sizes[i]);
		CHECK_EQ_INT(remote_mismatch(0, sizes[i], i), -1);
		API_DTO(local.request, local.ep, i, DAT_DTO_SUCCESS, sizes[i]);
	}
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

/*
 * Sends far more messages than the EVD and any ring hold, small and large mixed, to a receiver that
 * is slow.
 */
static void many_messages_to_a_slow_receiver_keep_their_order(void)
{
	enum { N = 3000, DEPTH = 64 };
	DAT_EP_ATTR attr = { .max_recv_dtos = DEPTH, .max_request_dtos = DEPTH };
	uint64_t sent = 0, reaped = 0, got = 0;

	api_skip_where_nothing_waits();
	again_with(&attr);
	for (uint64_t i = 0; i < DEPTH; i++)
		memcpy(buf.mem + i * 16 * KB, &i, sizeof(i));
	while (got < N) {
		DAT_EVENT event;

		while (sent < N) {
			size_t at = sent % DEPTH * 16 * KB;

			memcpy(buf.mem + at, &sent, sizeof(sent));
			if (api_send(local.ep, &buf, at, sent % 7 ? 8 + sent % 100 : 9 * KB, sent,
				     0) != DAT_SUCCESS)
				break;
			sent++;
		}
		REQUIRE_DAT(remote_recv_many(8, 10 * KB, got), DAT_SUCCESS);
		for (uint64_t n = 0; n < 8; n++, got++) {
			REMOTE_DTO(REMOTE_EVD_RECV, got, DAT_DTO_SUCCESS,
				   got % 7 ? 8 + got % 100 : 9 * KB);
		}
		while (dat_evd_dequeue(local.request, &event) == DAT_SUCCESS) {
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64,
				     reaped);
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.status,
				     DAT_DTO_SUCCESS);
			reaped++;
		}
	}
	while (reaped < N)
		API_DTO(local.request, local.ep, reaped++, DAT_DTO_SUCCESS, API_ANY_LENGTH);
	API_EMPTY(local.request);
}

static void completions_of_all_kinds_come_in_posting_order(void)
{
	enum { ROUNDS = 20 };
	DAT_EP_ATTR attr = { .max_request_dtos = 4 * ROUNDS, .max_recv_dtos = ROUNDS };
	uint64_t n = 0;

	again_with(&attr);
	REQUIRE_DAT(remote_recv_many(ROUNDS, 4096, 0), DAT_SUCCESS);
	for (int round = 0; round < ROUNDS; round++) {
		size_t size = round % 3 ? 64 : 256 * KB;

		REQUIRE_DAT(
			api_write(local.ep, api_seg(&buf, 0, size), remote_target(MB, size), n++, 0),
			DAT_SUCCESS);
		REQUIRE_DAT(api_send(local.ep, &buf, 0, 100, n++, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_read(local.ep, api_seg(&buf, MB, size), remote_target(2 * MB, size),
				     n++, 0),
			    DAT_SUCCESS);
	}
	for (uint64_t k = 0; k < n; k++)
		API_DTO(local.request, local.ep, k, DAT_DTO_SUCCESS, API_ANY_LENGTH);
	for (uint64_t k = 0; k < ROUNDS; k++)
		REMOTE_DTO(REMOTE_EVD_RECV, k, DAT_DTO_SUCCESS, 100);
}

static void exactly_the_asked_depth_is_honoured(void)
{
	DAT_EP_ATTR attr = { .max_request_dtos = 10, .max_recv_dtos = 10 };
	DAT_COUNT depth, recvs = 0, sends = 0;
	DAT_EP_PARAM param;

	api_skip_where_nothing_waits();
	again_with(&attr);
	REQUIRE_DAT(dat_ep_query(local.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	depth = param.ep_attr.max_request_dtos;
	CHECK(depth >= 10 && param.ep_attr.max_recv_dtos >= 10);
	while (sends <= depth && api_send(local.ep, &buf, 0, MB, (uint64_t)sends, 0) == DAT_SUCCESS)
		sends++;
	CHECK_EQ_INT(sends, depth);
	CHECK_DAT(api_send(local.ep, &buf, 0, MB, 0, 0), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DAT(api_write(local.ep, api_seg(&buf, 0, 8), remote_target(0, 8), 0, 0),
		  DAT_INSUFFICIENT_RESOURCES);
	while (recvs <= param.ep_attr.max_recv_dtos &&
	       api_recv(local.ep, &buf, 4 * MB, 64, (uint64_t)recvs) == DAT_SUCCESS)
		recvs++;
	CHECK_EQ_INT(recvs, param.ep_attr.max_recv_dtos);
	CHECK_DAT(api_recv(local.ep, &buf, 4 * MB, 64, 0), DAT_INSUFFICIENT_RESOURCES);
	/* A post is possible again as soon as a completion is reaped. */
	REQUIRE_DAT(remote_recv(0, MB, 1, 0), DAT_SUCCESS);
	REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_SUCCESS, MB);
	API_DTO(local.request, local.ep, 0, DAT_DTO_SUCCESS, MB);
	CHECK_DAT(api_send(local.ep, &buf, 0, 64, 99, 0), DAT_SUCCESS);
	CHECK_DAT(api_send(local.ep, &buf, 0, 64, 99, 0), DAT_INSUFFICIENT_RESOURCES);
}

static void message_too_long_for_the_endpoint_is_refused(void)
{
	DAT_EP_ATTR attr = { .max_message_size = 1000, .max_rdma_size = 2000 };

	again_with(&attr);
	CHECK_DAT(api_send(local.ep, &buf, 0, 1001, 1, 0), DAT_INVALID_PARAMETER);
	CHECK(api_write(local.ep, api_seg(&buf, 0, 2001), remote_target(0, 2001), 1, 0) != DAT_SUCCESS);
	CHECK(api_read(local.ep, api_seg(&buf, 0, 2001), remote_target(0, 2001), 1, 0) != DAT_SUCCESS);
	API_EMPTY(local.request);
	message(1000, 3);
}

static void message_too_long_for_its_receive_is_a_length_error(void)
{
	static const size_t sizes[] = { 20, 5000, MB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		DAT_EVENT event;

		remote_fill(0, 2 * MB, 8);
		REQUIRE_DAT(remote_recv(0, sizes[i] / 2, 1, 0), DAT_SUCCESS);
		REQUIRE_DAT(api_send(local.ep, &buf, 0, sizes[i], 2, 0), DAT_SUCCESS);
		REMOTE_DTO(REMOTE_EVD_RECV, 1, DAT_DTO_ERR_LOCAL_LENGTH, API_ANY_LENGTH);
		REMOTE_CONN(DAT_CONNECTION_EVENT_BROKEN);
		API_CONN_OVER(local.connect, local.ep);
		/* The send of a small message may have completed already. */
		API_EVENT(local.request, &event);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, 2);
		/* Nothing was written after the receive's memory. */
		remote_fill(0, sizes[i] / 2, 8);
		CHECK_EQ_INT(remote_mismatch(0, 2 * MB, 8), -1);
		reconnect();
	}
}

static void rdma_of_many_sizes_moves_both_ways(void)
{
	static const size_t sizes[] = { 1,  2,	3,    7,    8,	  9,	 15, 16,
					17, 64, 1000, 4096, 4097, 65536, MB, 4 * MB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t size = sizes[i], at = i % 5;

		if (size > api.attr.max_rdma_size)
			break;
		api_fill(buf.mem, size, i);
		remote_clear(0, size + 16);
		REQUIRE_DAT(api_write(local.ep, api_seg(&buf, 0, size), remote_target(at, size), i, 0),
			    DAT_SUCCESS);
		API_DTO(local.request, local.ep, i, DAT_DTO_SUCCESS, size);
		memset(buf.mem, 0xee, size + 16);
		REQUIRE_DAT(api_read(local.ep, api_seg(&buf, at, size), remote_target(at, size), i, 0),
			    DAT_SUCCESS);
		API_DTO(local.request, local.ep, i, DAT_DTO_SUCCESS, size);
		CHECK_EQ_INT(api_mismatch(buf.mem + at, size, i), -1);
		CHECK(buf.mem[at + size] == 0xee);
		/* the write has landed as well: see await_landing() */
		CHECK_EQ_INT(remote_mismatch(at, size, i), -1);
	}
	REMOTE_QUIET(REMOTE_EVD_RECV); /* the target gets no event */
	REMOTE_QUIET(REMOTE_EVD_CONNECT);
}

static void rdma_of_nothing_succeeds(void)
{
	REQUIRE_DAT(dat_ep_post_rdma_write(local.ep, 0, NULL, api_cookie(1),
					   (DAT_RMR_TRIPLET[]){ remote_target(0, 0) }, 0),
		    DAT_SUCCESS);
	API_DTO(local.request, local.ep, 1, DAT_DTO_SUCCESS, 0);
	REQUIRE_DAT(dat_ep_post_rdma_read(local.ep, 0, NULL, api_cookie(2),
					  (DAT_RMR_TRIPLET[]){ remote_target(0, 0) }, 0),
		    DAT_SUCCESS);
	API_DTO(local.request, local.ep, 2, DAT_DTO_SUCCESS, 0);
}

static void rdma_longer_than_its_other_side_is_a_length_error(void)
{
	CHECK_DAT(api_write(local.ep, api_seg(&buf, 0, 20), remote_target(0, 10), 1, 0),
		  DAT_LENGTH_ERROR);
	CHECK_DAT(api_read(local.ep, api_seg(&buf, 0, 10), remote_target(0, 20), 1, 0),
		  DAT_LENGTH_ERROR);
	CHECK_DAT(dat_ep_post_rdma_write(local.ep, 1, (DAT_LMR_TRIPLET[]){ api_seg(&buf, 0, 8) },
					 api_cookie(1), NULL, 0),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_ep_post_rdma_read(local.ep, 1, (DAT_LMR_TRIPLET[]){ api_seg(&buf, 0, 8) },
					api_cookie(1), NULL, 0),
		  DAT_INVALID_PARAMETER);
	API_EMPTY(local.request);
	API_STATE(local.ep, DAT_EP_STATE_CONNECTED);
}

/*
 * Checks that an operation with a bad target fails, breaks the connection on both sides, and
 * changes no memory.
 */
static void want_remote_fault(DAT_RMR_TRIPLET at, bool write)
{
	size_t size = at.segment_length;
	DAT_RETURN ret;

	memset(buf.mem, 0x77, size);
	ret = write ? api_write(local.ep, api_seg(&buf, 0, size), at, 3, 0)
		    : api_read(local.ep, api_seg(&buf, 0, size), at, 3, 0);
	REQUIRE_DAT(ret, DAT_SUCCESS);
	API_REFUSED(&local, 3);
	REMOTE_CONN_OVER();
	CHECK_EQ_INT(remote_mismatch(0, MB, 5), -1);
	reconnect();
}

static void rdma_against_bounds_rights_or_zone_is_a_remote_access_error(void)
{
	DAT_RMR_TRIPLET at = remote_target(64 * KB, 64);

	remote_fill(0, MB, 5);
	for (int write = 0; write < 2; write++) {
		at = remote_target(64 * KB, 64);
		at.rmr_context =
			remote_lmr(64 * KB, 4096,
				   write ? DAT_MEM_PRIV_READ_FLAG : DAT_MEM_PRIV_WRITE_FLAG, false);
		if (write || !api_declares("read_right", "unchecked"))
			want_remote_fault(at, write);
		at.rmr_context = remote_lmr(64 * KB, 4096, DAT_MEM_PRIV_ALL_FLAG, true);
		want_remote_fault(at, write);
		at.rmr_context = remote_lmr(64 * KB, 4096, DAT_MEM_PRIV_ALL_FLAG, false);
		at.target_address = remote.mem + 64 * KB + 4096 + 4096;
		want_remote_fault(at, write);
		at.target_address = remote.mem + 64 * KB - 4096;
		want_remote_fault(at, write);
		at.target_address = UINT64_MAX - 10;
		want_remote_fault(at, write);
		at = remote_target(64 * KB, 64);
		at.rmr_context = remote_lmr(64 * KB, 4096, DAT_MEM_PRIV_ALL_FLAG, false);
		REQUIRE_DAT(remote_lmr_free(), DAT_SUCCESS);
		want_remote_fault(at, write);
		at.rmr_context = 0;
		want_remote_fault(at, write);
	}
}

static void rdma_through_a_window_works_until_it_is_freed(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET at = remote_target(MB, 64);

	remote_fill(0, MB, 5);
	REQUIRE_DAT(remote_bind(MB, 4096,
				DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				&context),
		    DAT_SUCCESS);
	at.rmr_context = context;
	api_fill(buf.mem, 64, 2);
	REQUIRE_DAT(api_write(local.ep, api_seg(&buf, 0, 64), at, 1, 0), DAT_SUCCESS);
	API_DTO(local.request, local.ep, 1, DAT_DTO_SUCCESS, 64);
	await_landing(at);
	CHECK_EQ_INT(remote_mismatch(MB, 64, 2), -1);
	REQUIRE_DAT(remote_rmr_free(), DAT_SUCCESS);
	want_remote_fault(at, true);
}

/* The waiter is asleep when the message comes, and the other side wakes it. */
static void message_wakes_a_waiter(void)
{
	static const size_t some[] = { 0, 64, 5000, MB };

	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct api_waiter waiter;

		remote_fill(0, some[i], i);
		REQUIRE_DAT(api_recv(local.ep, &buf, 0, MB, i), DAT_SUCCESS);
		api_wait_start(&waiter, local.recv, 1);
		REQUIRE_DAT(remote_send(0, some[i], i, 0), DAT_SUCCESS);
		api_wait_end(&waiter);
		CHECK_DAT(waiter.ret, DAT_SUCCESS);
		CHECK_EQ_INT(waiter.event.event_data.dto_completion_event_data.transfered_length,
			     some[i]);
		CHECK_EQ_INT(api_mismatch(buf.mem, some[i], i), -1);
		REMOTE_DTO(REMOTE_EVD_REQUEST, i, DAT_DTO_SUCCESS, some[i]);
	}
}

static void message_wakes_a_waiter_on_a_cno(void)
{
	static const size_t some[] = { 0, 64, 5000, MB };
	DAT_CNO_HANDLE cno = api_cno();

	REQUIRE_DAT(dat_evd_modify_cno(local.recv, cno), DAT_SUCCESS);
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct api_waiter waiter;

		REQUIRE_DAT(api_recv(local.ep, &buf, 0, MB, i), DAT_SUCCESS);
		api_cno_wait_start(&waiter, cno);
		REQUIRE_DAT(remote_send(0, some[i], i, 0), DAT_SUCCESS);
		api_wait_end(&waiter);
		CHECK_DAT(waiter.ret, DAT_SUCCESS);
		CHECK(waiter.hint == local.recv);
		API_DTO(local.recv, local.ep, i, DAT_DTO_SUCCESS, some[i]);
		REMOTE_DTO(REMOTE_EVD_REQUEST, i, DAT_DTO_SUCCESS, some[i]);
	}
}

/* The depth of reads limits how many are executed at a time, not how many are posted. */
static void more_reads_than_the_depth_take_turns(void)
{
	DAT_EP_ATTR attr = { .max_rdma_read_in = 1,
			     .max_rdma_read_out = 1,
			     .max_request_dtos = 20 };

	again_with(&attr);
	remote_fill(0, 20 * 64 * KB, 3);
	for (uint64_t n = 0; n < 20; n++)
		REQUIRE_DAT(api_read(local.ep, api_seg(&buf, n * 64 * KB, 64 * KB),
				     remote_target(n * 64 * KB, 64 * KB), n, 0),
			    DAT_SUCCESS);
	for (uint64_t n = 0; n < 20; n++)
		API_DTO(local.request, local.ep, n, DAT_DTO_SUCCESS, 64 * KB);
	CHECK_EQ_INT(api_mismatch(buf.mem, 20 * 64 * KB, 3), -1);
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_of_many_sizes_arrive_whole),
	CHECK_TEST(short_messages_of_every_size_arrive_whole),
	CHECK_TEST(message_smaller_than_its_receive_leaves_the_rest_alone),
	CHECK_TEST(segments_are_gathered_in_order),
	CHECK_TEST(data_is_scattered_in_order),
	CHECK_TEST(short_messages_fill_two_segments),
	CHECK_TEST(large_data_is_scattered_in_order),
	CHECK_TEST(too_many_segments_are_refused),
	CHECK_TEST(receive_posted_late_takes_the_message_that_waits),
	CHECK_TEST(many_messages_to_a_slow_receiver_keep_their_order),
	CHECK_TEST(completions_of_all_kinds_come_in_posting_order),
	CHECK_TEST(exactly_the_asked_depth_is_honoured),
	CHECK_TEST(message_too_long_for_the_endpoint_is_refused),
	CHECK_TEST(message_too_long_for_its_receive_is_a_length_error),
	CHECK_TEST(rdma_of_many_sizes_moves_both_ways),
	CHECK_TEST(rdma_of_nothing_succeeds),
	CHECK_TEST(rdma_longer_than_its_other_side_is_a_length_error),
	CHECK_TEST(rdma_against_bounds_rights_or_zone_is_a_remote_access_error),
	CHECK_TEST(rdma_through_a_window_works_until_it_is_freed),
	CHECK_TEST(message_wakes_a_waiter),
	CHECK_TEST(message_wakes_a_waiter_on_a_cno),
	CHECK_TEST(more_reads_than_the_depth_take_turns),
	CHECK_END
};

static const struct check_suite inside = {
	.name = "data in one process",
	.setup = one_process,
	.teardown = end,
	.tests = tests,
};

static const struct check_suite between = {
	.name = "data between processes",
	.setup = two_processes,
	.teardown = end,
	.tests = tests,
};

/* This suite is the last one, because the effect of its initialiser cannot be undone. */
static const struct check_suite apart = {
	.name = "data between processes that may not copy",
	.setup = two_processes_apart,
	.teardown = end,
	.tests = tests,
	.init = api_forbid_copies,
};

CHECK_SUITES(&inside, &between, &apart);
