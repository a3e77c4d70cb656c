/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection zones, LMRs and RMRs. */
#include <string.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"

static const DAT_PROVIDER *dat;
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd;
static DAT_EP_HANDLE ep;
static char memory[4096];

static void open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "null0";

	ia = DAT_HANDLE_NULL;
	memset(&null_counts, 0, sizeof(null_counts));
	dat = null_load();
	REQUIRE(dat != NULL);
	REQUIRE_DAT(dat->ia_open_func(name, 8, &async, &ia), DAT_SUCCESS);
	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
}

static void close_ia(void)
{
	if (ia)
		CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(null_counts.lmrs + null_counts.rmrs + null_counts.pzs, 0);
	null_unload();
}

static DAT_RETURN register_as(DAT_MEM_TYPE type, void *what, DAT_VLEN len, DAT_PZ_HANDLE in,
			      DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
			      DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN size;

	region.for_va = what;
	return dat->lmr_create_func(ia, type, region, len, in, priv, lmr, lmr_context, rmr_context,
				    &size, &address);
}

static DAT_LMR_HANDLE make_lmr(DAT_PZ_HANDLE in, DAT_MEM_PRIV_FLAGS priv, DAT_LMR_CONTEXT *context)
{
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr = NULL;

	REQUIRE_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, sizeof(memory), in, priv, &lmr,
				context, &rmr_context),
		    DAT_SUCCESS);
	return lmr;
}

/* ------------------------------------------------------------------ PZ */

static void a_pz_in_use_is_not_freed(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr = make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &context);
	DAT_RMR_HANDLE rmr;

	CHECK_DAT(dat->pz_free_func(pz), DAT_INVALID_STATE | DAT_INVALID_STATE_PZ_IN_USE);
	CHECK_DAT(dat->lmr_free_func(lmr), DAT_SUCCESS);
	REQUIRE_DAT(dat->rmr_create_func(pz, &rmr), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz), DAT_INVALID_STATE | DAT_INVALID_STATE_PZ_IN_USE);
	CHECK_DAT(dat->rmr_free_func(rmr), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz), DAT_INVALID_HANDLE);
}

static void pz_arguments_are_checked(void)
{
	DAT_PZ_PARAM param;
	DAT_PZ_HANDLE other;

	CHECK_DAT(dat->pz_create_func(pz, &other), DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_DAT(dat->pz_create_func(ia, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->pz_query_func(pz, (DAT_PZ_PARAM_MASK)2, &param), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->pz_query_func(pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->pz_query_func(ia, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

static void more_pzs_than_the_ia_has_is_insufficient_resources(void)
{
	DAT_PZ_HANDLE more;

	for (int i = 1; i < 8; i++)
		CHECK_DAT(dat->pz_create_func(ia, &more), DAT_SUCCESS);
	CHECK_DAT(dat->pz_create_func(ia, &more), DAT_INSUFFICIENT_RESOURCES);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
	CHECK_DAT(dat->pz_create_func(ia, &more), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ LMR */

static void an_lmr_shows_what_was_asked_and_what_was_registered(void)
{
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	REQUIRE_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory + 3, 1001, pz, DAT_MEM_PRIV_ALL_FLAG,
				&lmr, &lmr_context, &rmr_context),
		    DAT_SUCCESS);
	CHECK(lmr_context != 0);
	CHECK(rmr_context != 0);
	REQUIRE_DAT(dat->lmr_query_func(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == ia);
	CHECK_EQ_INT(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	CHECK(param.region_desc.for_va == memory + 3);
	CHECK_EQ_INT(param.length, 1001);
	CHECK(param.pz_handle == pz);
	CHECK_EQ_INT(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ_INT(param.lmr_context, lmr_context);
	CHECK_EQ_INT(param.rmr_context, rmr_context);
	CHECK(param.registered_address <= (uintptr_t)memory + 3);
	CHECK(param.registered_address + param.registered_size >= (uintptr_t)memory + 3 + 1001);
	CHECK_DAT(dat->lmr_query_func(lmr, (DAT_LMR_PARAM_MASK)0x400, &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->lmr_query_func(lmr, DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->lmr_query_func(pz, DAT_LMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

static void without_remote_rights_the_rmr_context_is_zero(void)
{
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context = 99;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	REQUIRE_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, (DAT_MEM_PRIV_FLAGS)0x11, &lmr,
				&lmr_context, &rmr_context),
		    DAT_SUCCESS);
	CHECK_EQ_INT(rmr_context, 0);
	CHECK_DAT(dat->lmr_query_func(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.rmr_context, 0);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			      &lmr, &lmr_context, &rmr_context),
		  DAT_SUCCESS);
	CHECK(rmr_context != 0);
}

static void an_empty_lmr_is_a_length_error(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 0, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_LENGTH_ERROR);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, NULL, 0, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_LENGTH_ERROR);
}

static void lmr_arguments_are_checked(void)
{
	DAT_LMR_HANDLE lmr = (DAT_LMR_HANDLE)0x55;
	DAT_LMR_CONTEXT context;

	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, NULL, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, UINT64_MAX, pz, DAT_MEM_PRIV_ALL_FLAG,
			      &lmr, &context, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, (DAT_MEM_PRIV_FLAGS)0x100, &lmr,
			      &context, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(register_as((DAT_MEM_TYPE)3, memory, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
			      NULL),
		  DAT_MODEL_NOT_SUPPORTED);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, ia, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_PZ);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, DAT_MEM_PRIV_ALL_FLAG, NULL,
			      &context, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(register_as(DAT_MEM_TYPE_LMR, pz, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &context,
			      NULL),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_LMR);
	CHECK(lmr == (DAT_LMR_HANDLE)0x55);
	CHECK_EQ_INT(null_counts.lmrs, 0);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS); /* no failed call has left a reference to it */
}

static void a_registration_that_fails_leaves_nothing(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	null_counts.lmr_answer = DATP_ERR_REGION;
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY_REGION);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
}

static int answer_of_a_registration(enum datp_err err)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	null_counts.lmr_answer = (int)err;
	return (int)register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
				&context, NULL);
}

static void a_registration_that_fails_names_the_argument(void)
{
	const int bad = (int)(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);

	CHECK_EQ_INT(answer_of_a_registration(DATP_ERR_BAD_MEMORY), bad | DAT_INVALID_ARG3);
	CHECK_EQ_INT(answer_of_a_registration(DATP_ERR_BAD_LENGTH), bad | DAT_INVALID_ARG4);
	CHECK_EQ_INT(answer_of_a_registration(DATP_ERR_BAD_PRIV), bad | DAT_INVALID_ARG6);
	/* A plugin built with SDK 0.3 or older names the argument by its position, which the consumer gets unchanged. */
	CHECK_EQ_INT(answer_of_a_registration(DATP_ERR_OLD_ARG3), bad | DAT_INVALID_ARG3);
	CHECK_EQ_INT(answer_of_a_registration(DATP_ERR_OLD_ARG10), bad | DAT_INVALID_ARG10);
}

static void too_many_lmrs_end_in_insufficient_resources(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;

	for (int i = 0; i < 100; i++)
		make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &context);
	CHECK_DAT(register_as(DAT_MEM_TYPE_VIRTUAL, memory, 8, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr,
			      &context, NULL),
		  DAT_INSUFFICIENT_RESOURCES);
}

static void an_lmr_of_an_lmr_covers_it_and_outlives_it(void)
{
	DAT_LMR_CONTEXT context, child_context;
	DAT_LMR_HANDLE lmr = make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &context), child;
	DAT_LMR_PARAM param;
	DAT_PZ_HANDLE other;

	REQUIRE_DAT(dat->pz_create_func(ia, &other), DAT_SUCCESS);
	REQUIRE_DAT(register_as(DAT_MEM_TYPE_LMR, lmr, 1, other, DAT_MEM_PRIV_LOCAL_READ_FLAG,
				&child, &child_context, NULL),
		    DAT_SUCCESS);
	CHECK(child_context != context);
	CHECK_DAT(dat->lmr_free_func(lmr), DAT_SUCCESS);
	REQUIRE_DAT(dat->lmr_query_func(child, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.registered_address == (uintptr_t)memory);
	CHECK_EQ_INT(param.registered_size, sizeof(memory));
	CHECK(param.pz_handle == other);
	CHECK(param.region_desc.for_lmr_handle == lmr);
	CHECK_DAT(dat->lmr_free_func(child), DAT_SUCCESS);
}

static void the_cookie_of_shared_memory_is_kept(void)
{
	char cookie[DAT_LMR_COOKIE_SIZE] = "same", copy[DAT_LMR_COOKIE_SIZE];
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	DAT_LMR_PARAM param;
	DAT_LMR_HANDLE lmr;

	cookie[39] = 'x';
	memcpy(copy, cookie, sizeof(copy));
	region.for_shared_memory.virtual_address = memory;
	region.for_shared_memory.shared_memory_id = &cookie;
	REQUIRE_DAT(dat->lmr_create_func(ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64, pz,
					 DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
		    DAT_SUCCESS);
	memset(cookie, 0, sizeof(cookie));
	CHECK_DAT(dat->lmr_query_func(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.region_desc.for_shared_memory.virtual_address == memory);
	CHECK_EQ_MEM(*param.region_desc.for_shared_memory.shared_memory_id, copy, sizeof(copy));
	region.for_shared_memory.shared_memory_id = NULL;
	CHECK_DAT(dat->lmr_create_func(ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64, pz,
				       DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
		  DAT_INVALID_PARAMETER);
}

static void a_freed_lmr_is_invalid(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr = make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &context);

	CHECK_DAT(dat->lmr_free_func(lmr), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_free_func(lmr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->lmr_free_func(pz), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(null_counts.lmrs, 0);
}

static void sync_checks_its_segments(void)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET segments[2];

	make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &context);
	memset(segments, 0, sizeof(segments));
	for (int i = 0; i < 2; i++) {
		segments[i].lmr_context = context;
		segments[i].virtual_address = (uintptr_t)memory;
		segments[i].segment_length = sizeof(memory);
	}
	CHECK_DAT(dat->lmr_sync_rdma_read_func(ia, segments, 2), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_sync_rdma_write_func(ia, segments, 2), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_sync_rdma_write_func(ia, NULL, 0), DAT_SUCCESS);
	segments[1].virtual_address++;
	CHECK_DAT(dat->lmr_sync_rdma_read_func(ia, segments, 2), DAT_INVALID_PARAMETER);
	segments[1].virtual_address -= 2;
	CHECK_DAT(dat->lmr_sync_rdma_write_func(ia, segments, 2), DAT_INVALID_PARAMETER);
	segments[1].virtual_address = UINT64_MAX;
	CHECK_DAT(dat->lmr_sync_rdma_write_func(ia, segments, 2), DAT_INVALID_PARAMETER);
	segments[1] = segments[0];
	segments[1].lmr_context = 200;
	CHECK_DAT(dat->lmr_sync_rdma_read_func(ia, segments, 2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->lmr_sync_rdma_read_func(ia, NULL, 1), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->lmr_sync_rdma_read_func(pz, segments, 1), DAT_INVALID_HANDLE);
}

/* ------------------------------------------------------------------ RMR */

static struct {
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET where;
} bound;

static void connect_ep(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	DAT_EVENT event;

	REQUIRE_DAT(dat->ep_connect_func(ep, (DAT_IA_ADDRESS_PTR)&address, 1, DAT_TIMEOUT_INFINITE,
					 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->evd_dequeue_func(evd, &event), DAT_SUCCESS);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void open_and_prepare_a_bind(void)
{
	open_ia();
	REQUIRE_DAT(dat->evd_create_func(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evd),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->ep_create_func(ia, pz, evd, evd, evd, NULL, &ep), DAT_SUCCESS);
	REQUIRE_DAT(dat->rmr_create_func(pz, &bound.rmr), DAT_SUCCESS);
	memset(&bound.where, 0, sizeof(bound.where));
	bound.lmr = make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &bound.where.lmr_context);
	bound.where.virtual_address = (uintptr_t)memory + 16;
	bound.where.segment_length = 128;
	connect_ep();
}

static DAT_RETURN bind_rmr(DAT_MEM_PRIV_FLAGS priv, DAT_COMPLETION_FLAGS flags,
			   DAT_RMR_CONTEXT *context)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 4711 };

	return dat->rmr_bind_func(bound.rmr, &bound.where, priv, ep, cookie, flags, context);
}

static DAT_RETURN bind_plain(DAT_RMR_CONTEXT *context)
{
	return bind_rmr(DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_COMPLETION_DEFAULT_FLAG, context);
}

static void expect_bind_event(DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event;

	REQUIRE_DAT(dat->evd_dequeue_func(evd, &event), DAT_SUCCESS);
	CHECK_EQ_INT(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK(event.event_data.rmr_completion_event_data.rmr_handle == bound.rmr);
	CHECK_EQ_INT(event.event_data.rmr_completion_event_data.user_cookie.as_64, 4711);
	CHECK_EQ_INT(event.event_data.rmr_completion_event_data.status, status);
}

static void a_bind_completes_and_is_seen_in_a_query(void)
{
	DAT_RMR_CONTEXT first, second;
	DAT_RMR_PARAM param;

	REQUIRE_DAT(bind_plain(&first), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	REQUIRE_DAT(dat->rmr_query_func(bound.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == ia);
	CHECK(param.pz_handle == pz);
	CHECK_EQ_INT(param.lmr_triplet.lmr_context, bound.where.lmr_context);
	CHECK_EQ_INT(param.lmr_triplet.virtual_address, bound.where.virtual_address);
	CHECK_EQ_INT(param.lmr_triplet.segment_length, 128);
	CHECK_EQ_INT(param.mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	CHECK_EQ_INT(param.rmr_context, first);
	REQUIRE_DAT(bind_plain(&second), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	CHECK(first != second);
}

static void want_unbound_and_free_the_lmr(void)
{
	DAT_RMR_PARAM param;

	REQUIRE_DAT(dat->rmr_query_func(bound.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.lmr_triplet.lmr_context, 0);
	CHECK_EQ_INT(param.rmr_context, 0);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void an_rmr_that_a_peer_has_invalidated_is_unbound(void)
{
	struct datp_wqe receive = { .ep = (struct datp_ep *)ep, .op = DATP_RECV };
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, context + 1);
	datp_recv_invalidate(&receive, NULL, context);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_INVALID_STATE | DAT_INVALID_STATE_LMR_IN_USE);
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, context);
	/* an event of 1.2 has no place for it */
	CHECK_EQ_INT(receive.post_flags, 0);
	want_unbound_and_free_the_lmr();
}

/* A transport may report the receive before it reports the bind. */
static void a_bind_that_a_peer_has_invalidated_completes_unbound(void)
{
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	null_counts.bind_invalidated = true;
	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	null_counts.bind_invalidated = false;
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	want_unbound_and_free_the_lmr();
}

/* A transport may know that a bind has ended when it completes, and report the receive that says why after that. */
static void a_bind_that_has_ended_when_it_completes_is_invalidated_after_that(void)
{
	struct datp_wqe receive = { .ep = (struct datp_ep *)ep, .op = DATP_RECV };
	DAT_RMR_CONTEXT first, second, third;
	DAT_RMR_PARAM param;

	REQUIRE_DAT(bind_plain(&first), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	null_counts.bind_ended = true;
	REQUIRE_DAT(bind_plain(&second), DAT_SUCCESS);
	null_counts.bind_ended = false;
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, second + 1);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_INVALID_STATE | DAT_INVALID_STATE_LMR_IN_USE);
	REQUIRE_DAT(bind_plain(&third), DAT_SUCCESS);
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	/* a later bind has taken its place */
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, second);
	REQUIRE_DAT(dat->rmr_query_func(bound.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.rmr_context, third);
	null_counts.bind_ended = true;
	REQUIRE_DAT(bind_plain(&second), DAT_SUCCESS);
	null_counts.bind_ended = false;
	expect_bind_event(DAT_RMR_BIND_SUCCESS);
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, second);
	want_unbound_and_free_the_lmr();
}

static void a_peer_invalidates_no_rmr_that_was_freed(void)
{
	struct datp_wqe receive = { .ep = (struct datp_ep *)ep, .op = DATP_RECV };
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	CHECK_DAT(dat->rmr_free_func(bound.rmr), DAT_SUCCESS);
	datp_recv_invalidate(&receive, (struct datp_rmr *)bound.rmr, context);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void rmr_query_and_free_check_their_arguments(void)
{
	DAT_RMR_PARAM param;

	CHECK_DAT(dat->rmr_query_func(bound.rmr, (DAT_RMR_PARAM_MASK)0x20, &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->rmr_query_func(bound.rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->rmr_query_func(pz, DAT_RMR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->rmr_free_func(pz), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->rmr_create_func(ia, &bound.rmr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->rmr_create_func(pz, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->rmr_free_func(bound.rmr), DAT_SUCCESS);
	CHECK_DAT(dat->rmr_free_func(bound.rmr), DAT_INVALID_HANDLE);
}

static void a_bound_lmr_is_not_freed_until_unbound(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_INVALID_STATE | DAT_INVALID_STATE_LMR_IN_USE);
	bound.where.segment_length = 0;
	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
	CHECK_DAT(dat->rmr_query_func(bound.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
}

static void binding_elsewhere_releases_the_lmr(void)
{
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	make_lmr(pz, DAT_MEM_PRIV_ALL_FLAG, &bound.where.lmr_context);
	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void freeing_a_bound_rmr_unbinds_it(void)
{
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_plain(&context), DAT_SUCCESS);
	CHECK_DAT(dat->rmr_free_func(bound.rmr), DAT_SUCCESS);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void a_bind_checks_handles(void)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context = 77;

	CHECK_DAT(dat->rmr_bind_func(pz, &bound.where, DAT_MEM_PRIV_NONE_FLAG, ep, cookie,
				     DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_RMR);
	CHECK_DAT(dat->rmr_bind_func(bound.rmr, &bound.where, DAT_MEM_PRIV_NONE_FLAG, pz, cookie,
				     DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP);
	CHECK_DAT(dat->rmr_bind_func(bound.rmr, NULL, DAT_MEM_PRIV_NONE_FLAG, ep, cookie,
				     DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(bind_plain(NULL), DAT_INVALID_PARAMETER);
	bound.where.lmr_context = 250;
	CHECK_DAT(bind_plain(&context), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(context, 77);
}

static void a_bind_checks_flags_and_privileges(void)
{
	DAT_RMR_CONTEXT context;

	CHECK_DAT(
		bind_rmr(DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG, &context),
		DAT_INVALID_PARAMETER);
	CHECK_DAT(bind_rmr(DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
			   &context),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(bind_rmr((DAT_MEM_PRIV_FLAGS)0x40, DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INVALID_PARAMETER);
	make_lmr(pz, DAT_MEM_PRIV_REMOTE_READ_FLAG, &bound.where.lmr_context);
	CHECK_DAT(bind_rmr(DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_PRIVILEGES_VIOLATION);
	CHECK_DAT(bind_rmr(DAT_MEM_PRIV_NONE_FLAG, DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_SUCCESS);
}

static void a_bind_beyond_its_lmr_is_invalid_parameter(void)
{
	DAT_RMR_CONTEXT context;

	bound.where.segment_length = sizeof(memory);
	CHECK_DAT(bind_plain(&context), DAT_INVALID_PARAMETER);
	bound.where.virtual_address = (uintptr_t)memory;
	CHECK_DAT(bind_plain(&context), DAT_SUCCESS);
	bound.where.segment_length = UINT64_MAX;
	CHECK_DAT(bind_plain(&context), DAT_INVALID_PARAMETER);
}

static void a_bind_across_pzs_is_a_protection_violation(void)
{
	DAT_RMR_CONTEXT context;
	DAT_PZ_HANDLE other;

	REQUIRE_DAT(dat->pz_create_func(ia, &other), DAT_SUCCESS);
	make_lmr(other, DAT_MEM_PRIV_ALL_FLAG, &bound.where.lmr_context);
	CHECK_DAT(bind_plain(&context), DAT_PROTECTION_VIOLATION);
	REQUIRE_DAT(dat->rmr_create_func(other, &bound.rmr), DAT_SUCCESS);
	CHECK_DAT(bind_plain(&context), DAT_PROTECTION_VIOLATION);
}

static void a_suppressed_bind_makes_no_event(void)
{
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	CHECK_DAT(bind_rmr(DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_COMPLETION_SUPPRESS_FLAG, &context),
		  DAT_SUCCESS);
	CHECK_DAT(dat->evd_dequeue_func(evd, &event), DAT_QUEUE_EMPTY);
}

static void a_bind_that_the_transport_refuses_changes_nothing(void)
{
	DAT_RMR_CONTEXT context = 5;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	DAT_EVENT event;

	null_counts.bind_answer = DATP_ERR_CREDITS;
	CHECK_DAT(bind_plain(&context), DAT_INSUFFICIENT_RESOURCES);
	CHECK_EQ_INT(context, 5);
	CHECK_DAT(dat->evd_dequeue_func(evd, &event), DAT_QUEUE_EMPTY);
	CHECK_DAT(dat->ep_get_status_func(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	CHECK_EQ_INT(request_idle, DAT_TRUE);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

/* A transport without windows registers the memory when it binds. */
static void a_bind_whose_memory_cannot_be_registered_names_its_own_arguments(void)
{
	DAT_RMR_CONTEXT context = 5;

	null_counts.bind_answer = DATP_ERR_BAD_MEMORY;
	CHECK_EQ_INT(bind_plain(&context),
		     DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	null_counts.bind_answer = DATP_ERR_BAD_LENGTH;
	CHECK_EQ_INT(bind_plain(&context),
		     DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	null_counts.bind_answer = DATP_ERR_BAD_PRIV;
	CHECK_EQ_INT(bind_plain(&context),
		     DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	/* an error that is about no argument of a bind */
	null_counts.bind_answer = DATP_ERR_BAD_QLEN;
	CHECK_EQ_INT(bind_plain(&context), DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(context, 5);
}

static void a_bind_on_an_endpoint_that_is_not_connected_is_invalid_state(void)
{
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(dat->ep_create_func(ia, pz, evd, evd, evd, NULL, &ep), DAT_SUCCESS);
	CHECK_DAT(bind_plain(&context), DAT_INVALID_STATE);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void a_bind_on_a_disconnected_endpoint_is_flushed(void)
{
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	REQUIRE_DAT(dat->ep_disconnect_func(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat->evd_dequeue_func(evd, &event), DAT_SUCCESS);
	REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_DAT(bind_plain(&context), DAT_SUCCESS);
	expect_bind_event(DAT_DTO_ERR_FLUSHED);
	CHECK_DAT(dat->lmr_free_func(bound.lmr), DAT_SUCCESS);
}

static void a_bind_needs_an_evd_that_takes_bind_events(void)
{
	DAT_EVD_FLAGS dto_only = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	DAT_RMR_CONTEXT context;
	DAT_EVD_HANDLE dto;

	REQUIRE_DAT(dat->evd_create_func(ia, 8, DAT_HANDLE_NULL, dto_only, &dto), DAT_SUCCESS);
	REQUIRE_DAT(dat->ep_create_func(ia, pz, dto, dto, evd, NULL, &ep), DAT_SUCCESS);
	connect_ep();
	CHECK_DAT(bind_plain(&context), DAT_INVALID_PARAMETER);
	REQUIRE_DAT(dat->ep_create_func(ia, pz, dto, DAT_HANDLE_NULL, evd, NULL, &ep), DAT_SUCCESS);
	connect_ep();
	CHECK_DAT(bind_plain(&context), DAT_SUCCESS);
}

static const struct check_test pz_lmr_tests[] = {
	CHECK_TEST(a_pz_in_use_is_not_freed),
	CHECK_TEST(pz_arguments_are_checked),
	CHECK_TEST(more_pzs_than_the_ia_has_is_insufficient_resources),
	CHECK_TEST(an_lmr_shows_what_was_asked_and_what_was_registered),
	CHECK_TEST(without_remote_rights_the_rmr_context_is_zero),
	CHECK_TEST(an_empty_lmr_is_a_length_error),
	CHECK_TEST(lmr_arguments_are_checked),
	CHECK_TEST(a_registration_that_fails_leaves_nothing),
	CHECK_TEST(a_registration_that_fails_names_the_argument),
	CHECK_TEST(too_many_lmrs_end_in_insufficient_resources),
	CHECK_TEST(an_lmr_of_an_lmr_covers_it_and_outlives_it),
	CHECK_TEST(the_cookie_of_shared_memory_is_kept),
	CHECK_TEST(a_freed_lmr_is_invalid),
	CHECK_TEST(sync_checks_its_segments),
	CHECK_END
};

static const struct check_test rmr_tests[] = {
	CHECK_TEST(a_bind_completes_and_is_seen_in_a_query),
	CHECK_TEST(an_rmr_that_a_peer_has_invalidated_is_unbound),
	CHECK_TEST(a_bind_that_a_peer_has_invalidated_completes_unbound),
	CHECK_TEST(a_bind_that_has_ended_when_it_completes_is_invalidated_after_that),
	CHECK_TEST(a_peer_invalidates_no_rmr_that_was_freed),
	CHECK_TEST(rmr_query_and_free_check_their_arguments),
	CHECK_TEST(a_bound_lmr_is_not_freed_until_unbound),
	CHECK_TEST(binding_elsewhere_releases_the_lmr),
	CHECK_TEST(freeing_a_bound_rmr_unbinds_it),
	CHECK_TEST(a_bind_checks_handles),
	CHECK_TEST(a_bind_checks_flags_and_privileges),
	CHECK_TEST(a_bind_beyond_its_lmr_is_invalid_parameter),
	CHECK_TEST(a_bind_across_pzs_is_a_protection_violation),
	CHECK_TEST(a_suppressed_bind_makes_no_event),
	CHECK_TEST(a_bind_that_the_transport_refuses_changes_nothing),
	CHECK_TEST(a_bind_whose_memory_cannot_be_registered_names_its_own_arguments),
	CHECK_TEST(a_bind_on_an_endpoint_that_is_not_connected_is_invalid_state),
	CHECK_TEST(a_bind_on_a_disconnected_endpoint_is_flushed),
	CHECK_TEST(a_bind_needs_an_evd_that_takes_bind_events),
	CHECK_END
};

static const struct check_suite pz_lmr = {
	.name = "libdatp pz and lmr", .setup = open_ia, .teardown = close_ia, .tests = pz_lmr_tests
};
static const struct check_suite rmr = { .name = "libdatp rmr",
					.setup = open_and_prepare_a_bind,
					.teardown = close_ia,
					.tests = rmr_tests };

CHECK_SUITES(&pz_lmr, &rmr);
