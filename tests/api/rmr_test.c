/* SPDX-License-Identifier: BSD-2-Clause */
/* RMRs: bind, rebind, unbind, free, and which accesses their contexts allow meanwhile. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"

#define SIZE   ((size_t)16384)
#define REMOTE (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* b binds windows to `target`, and a accesses it through them. */
static struct api_pair pair;
static struct api_buf buf, target;
static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	api_open();
	api_pair_make(&pair, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	target = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
}

static DAT_RETURN bind_window(DAT_LMR_TRIPLET seg, DAT_MEM_PRIV_FLAGS privileges, uint64_t cookie,
			      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return dat_rmr_bind(rmr, &seg, privileges, pair.b.ep, api_cookie(cookie), flags, context);
}

/* Binds, and waits for the completion of the bind. */
static DAT_RMR_CONTEXT bound(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_RMR_CONTEXT context = 0;

	REQUIRE_DAT(bind_window(api_seg(&target, offset, length), privileges, 4, 0, &context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	return context;
}

static DAT_RMR_TRIPLET to(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = context,
				  .segment_length = length,
				  .target_address = (DAT_VADDR)(uintptr_t)target.mem + offset };
}

static void want_reach(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	memset(target.mem, 0, SIZE);
	api_fill(buf.mem, length, 6);
	REQUIRE_DAT(
		api_write(pair.a.ep, api_seg(&buf, 0, length), to(context, offset, length), 1, 0),
		DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, length);
	memset(buf.mem, 0, length);
	REQUIRE_DAT(
		api_read(pair.a.ep, api_seg(&buf, 0, length), to(context, offset, length), 2, 0),
		DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, length);
	CHECK_EQ_INT(api_mismatch(buf.mem, length, 6), -1);
	/*
	 * the write has arrived when the read after it completes; over iWARP, its own completion does
	 * not show that
	 */
	CHECK_EQ_INT(api_mismatch(target.mem + offset, length, 6), -1);
}

/*
 * Checks that an access is refused: the connection breaks, nothing is written. Then connects again.
 */
static void want_no_reach(DAT_RMR_CONTEXT context, size_t offset, size_t length, bool write)
{
	memset(target.mem, 0, SIZE);
	memset(buf.mem, 0x77, SIZE);
	if (write)
		REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 0, length),
				      to(context, offset, length), 3, 0),
			    DAT_SUCCESS);
	else
		REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, length),
				     to(context, offset, length), 3, 0),
			    DAT_SUCCESS);
	API_REFUSED(&pair.a, 3);
	API_CONN_OVER(pair.b.connect, pair.b.ep);
	for (size_t i = 0; i < SIZE; i++)
		REQUIRE(target.mem[i] == 0);
	REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
	api_pair_connect(&pair);
}

static void query_tells_ia_pz_and_the_last_bind(void)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;

	REQUIRE_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == api.ia && param.pz_handle == api.pz);
	context = bound(100, 1000, REMOTE);
	REQUIRE_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.rmr_context, context);
	CHECK_EQ_INT(param.mem_priv, REMOTE);
	CHECK_EQ_INT(param.lmr_triplet.lmr_context, target.lmr_context);
	CHECK_EQ_INT(param.lmr_triplet.virtual_address, (uintptr_t)target.mem + 100);
	CHECK_EQ_INT(param.lmr_triplet.segment_length, 1000);
	for (int bit = 1; bit < DAT_RMR_FIELD_ALL; bit <<= 1)
		CHECK_DAT(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)bit, &param), DAT_SUCCESS);
	CHECK_DAT(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL + 1), &param),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
	CHECK(dat_rmr_create(api.pz, NULL) != DAT_SUCCESS);
}

static void bound_window_lets_the_peer_in_within_its_bounds(void)
{
	DAT_RMR_CONTEXT context = bound(1000, 5000, REMOTE);

	want_reach(context, 1000, 5000);
	want_reach(context, 1003, 17);
	if (api_declares("rmr_bounds", "unchecked")) {
		want_reach(context, 999, 100); /* otherwise the attribute is untrue */
		return;
	}
	want_no_reach(context, 999, 100, true);
	want_no_reach(context, 5990, 11, true);
	want_no_reach(context, 5990, 11, false);
	want_reach(context, 5990, 10);
}

static void window_gives_only_the_rights_it_was_bound_with(void)
{
	DAT_RMR_CONTEXT context = bound(0, 4096, DAT_MEM_PRIV_REMOTE_READ_FLAG);

	want_no_reach(context, 0, 64, true);
	context = bound(0, 4096, DAT_MEM_PRIV_NONE_FLAG);
	want_no_reach(context, 0, 64, true);
	if (api_declares("read_right", "unchecked"))
		return;
	context = bound(0, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	want_no_reach(context, 0, 64, false);
	context = bound(0, 4096, DAT_MEM_PRIV_NONE_FLAG);
	want_no_reach(context, 0, 64, false);
}

/* Memory that is registered only for reading, and that no process can write, can still be read through a window. */
static void range_of_memory_that_cannot_be_written_is_read_through_a_window(void)
{
	unsigned char *mem =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_RMR_TRIPLET from = { .segment_length = 4096 };
	DAT_RMR_CONTEXT none;
	struct api_buf ro;

	REQUIRE(mem != MAP_FAILED);
	api_fill(mem, SIZE, 9);
	REQUIRE(mprotect(mem, SIZE, PROT_READ) == 0);
	ro = api_buf_in(api.pz, mem, SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	REQUIRE_DAT(bind_window(api_seg(&ro, 0, 4096), DAT_MEM_PRIV_REMOTE_READ_FLAG, 1, 0,
				&from.rmr_context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 1, DAT_RMR_BIND_SUCCESS);
	from.target_address = (DAT_VADDR)(uintptr_t)mem;
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, 4096), from, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 4096);
	CHECK_EQ_INT(api_mismatch(buf.mem, 4096, 9), -1);
	CHECK_DAT(bind_window(api_seg(&ro, 0, 4096), REMOTE, 3, 0, &none), DAT_PRIVILEGES_VIOLATION);
	REQUIRE_DAT(bind_window(api_seg(&ro, 0, 0), 0, 4, 0, &none), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 0, 4096), from, 5, 0), DAT_SUCCESS);
	API_REFUSED(&pair.a, 5);
	CHECK_DAT(dat_lmr_free(ro.lmr), DAT_SUCCESS);
	munmap(mem, SIZE);
}

static void each_bind_has_a_new_context_and_the_old_one_is_dead(void)
{
	DAT_RMR_CONTEXT first = bound(0, 4096, REMOTE), second = bound(0, 4096, REMOTE);

	CHECK(first != 0 && second != 0 && first != second);
	want_reach(second, 0, 4096);
	want_no_reach(first, 0, 64, true);
	want_reach(second, 0, 64);
	want_no_reach(first, 0, 64, false);
}

static void bind_of_length_zero_unbinds(void)
{
	DAT_RMR_CONTEXT old = bound(0, 4096, REMOTE), none;

	CHECK_DAT(dat_lmr_free(target.lmr), DAT_INVALID_STATE);
	want_reach(old, 0, 100);
	REQUIRE_DAT(bind_window(api_seg(&target, 0, 0), REMOTE, 5, 0, &none), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	want_no_reach(old, 0, 64, true);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
}

static void rebind_elsewhere_lets_the_region_go(void)
{
	struct api_buf other = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_CONTEXT context;

	bound(0, 4096, REMOTE);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_INVALID_STATE);
	REQUIRE_DAT(bind_window(api_seg(&other, 0, 4096), REMOTE, 5, 0, &context), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(other.lmr), DAT_INVALID_STATE);
}

static void free_unbinds(void)
{
	DAT_RMR_CONTEXT context = bound(0, 4096, REMOTE);

	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	want_no_reach(context, 0, 64, true);
	CHECK_DAT(dat_rmr_free(rmr), DAT_INVALID_HANDLE);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
}

static void bind_refuses_what_the_region_does_not_cover(void)
{
	struct api_buf ro = api_buf_in(api.pz, target.mem, SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	struct api_buf gone = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;

	CHECK_DAT(bind_window(api_seg(&target, 0, SIZE + 8192), REMOTE, 1, 0, &context),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(bind_window(api_seg(&target, (size_t)-8192, 64), REMOTE, 1, 0, &context),
		  DAT_INVALID_PARAMETER);
	ret = bind_window(api_seg(&ro, 0, 64), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 1, 0, &context);
	CHECK_DAT(ret, DAT_PRIVILEGES_VIOLATION);
	CHECK_DAT(bind_window(api_seg(&target, 0, 64), (DAT_MEM_PRIV_FLAGS)0x100, 1, 0, &context),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat_lmr_free(gone.lmr), DAT_SUCCESS);
	CHECK(bind_window(api_seg(&gone, 0, 64), REMOTE, 1, 0, &context) != DAT_SUCCESS);
	CHECK_DAT(dat_rmr_bind(rmr, NULL, REMOTE, pair.b.ep, api_cookie(1), 0, &context),
		  DAT_INVALID_PARAMETER);
	API_EMPTY(pair.b.request);
	API_STATE(pair.b.ep, DAT_EP_STATE_CONNECTED);
}

static void bind_refuses_a_mixture_of_zones(void)
{
	DAT_PZ_HANDLE pz = api_pz();
	struct api_buf other = api_buf_in(pz, target.mem, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = api_seg(&target, 0, 64), other_seg = api_seg(&other, 0, 64);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE alien;

	REQUIRE_DAT(dat_rmr_create(pz, &alien), DAT_SUCCESS);
	CHECK_DAT(dat_rmr_bind(rmr, &other_seg, REMOTE, pair.b.ep, api_cookie(1), 0, &context),
		  DAT_PROTECTION_VIOLATION);
	CHECK_DAT(dat_rmr_bind(alien, &seg, REMOTE, pair.b.ep, api_cookie(1), 0, &context),
		  DAT_PROTECTION_VIOLATION);
	CHECK_DAT(dat_rmr_bind(alien, &other_seg, REMOTE, pair.b.ep, api_cookie(1), 0, &context),
		  DAT_PROTECTION_VIOLATION);
	API_EMPTY(pair.b.request);
}

static void bind_needs_a_connection_and_is_flushed_after_it(void)
{
	DAT_LMR_TRIPLET seg = api_seg(&target, 0, 64);
	DAT_RMR_CONTEXT context;
	struct api_end end;

	api_end_make(&end, NULL);
	CHECK_DAT(dat_rmr_bind(rmr, &seg, REMOTE, end.ep, api_cookie(1), 0, &context),
		  DAT_INVALID_STATE);
	api_disconnect(&pair);
	REQUIRE_DAT(bind_window(seg, REMOTE, 6, 0, &context), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 6, DAT_RMR_BIND_FAILURE);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS); /* no window was bound */
}

static void suppressed_bind_completes_silently(void)
{
	DAT_RMR_CONTEXT context;

	REQUIRE_DAT(bind_window(api_seg(&target, 0, 4096), REMOTE, 1, DAT_COMPLETION_SUPPRESS_FLAG,
				&context),
		    DAT_SUCCESS);
	REQUIRE_DAT(bind_window(api_seg(&target, 0, 4096), REMOTE, 0xfedcba9876543210, 0, &context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 0xfedcba9876543210, DAT_RMR_BIND_SUCCESS);
	API_QUIET(pair.b.request);
	want_reach(context, 0, 4096);
}

static void unsignalled_bind_needs_the_endpoint_to_be_so(void)
{
	DAT_RMR_CONTEXT context;

	CHECK_DAT(bind_window(api_seg(&target, 0, 4096), REMOTE, 1, DAT_COMPLETION_UNSIGNALLED_FLAG,
			      &context),
		  DAT_INVALID_PARAMETER);
	API_EMPTY(pair.b.request);
}

/* The context may be sent without waiting for the bind, because the send is executed after it. */
static void bind_is_done_before_what_is_posted_after_it(void)
{
	for (uint32_t i = 0; i < 200; i++) {
		DAT_RMR_CONTEXT context;
		uint32_t got;

		REQUIRE_DAT(api_recv(pair.a.ep, &buf, 0, 64, i), DAT_SUCCESS);
		REQUIRE_DAT(bind_window(api_seg(&target, 0, 4096), REMOTE, i,
					DAT_COMPLETION_SUPPRESS_FLAG, &context),
			    DAT_SUCCESS);
		memcpy(target.mem + 8192, &context, sizeof(context));
		REQUIRE_DAT(api_send(pair.b.ep, &target, 8192, sizeof(context), i,
				     DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
		API_DTO(pair.a.recv, pair.a.ep, i, DAT_DTO_SUCCESS, sizeof(context));
		memcpy(&got, buf.mem, sizeof(got));
		REQUIRE_EQ_INT(got, context);
		memcpy(buf.mem + 100, &i, sizeof(i));
		REQUIRE_DAT(api_write(pair.a.ep, api_seg(&buf, 100, 4), to(got, 16, 4), i, 0),
			    DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, 4);
		/* over iWARP a write completes when it has been sent */
		REQUIRE_SOON(memcmp(target.mem + 16, &i, sizeof(i)) == 0);
	}
}

#define AREA   ((size_t)1 << 20)
#define WRITES 8

static void unbind_amid_writes(const struct api_buf *area, const struct api_buf *from)
{
	DAT_LMR_TRIPLET all = api_seg(area, 0, AREA);
	DAT_RMR_TRIPLET window = { .segment_length = AREA, .target_address = all.virtual_address };
	DAT_RMR_CONTEXT none;

	memset(area->mem, 0, AREA);
	REQUIRE_DAT(bind_window(all, REMOTE, 4, 0, &window.rmr_context), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	for (uint64_t n = 0; n < WRITES; n++)
		REQUIRE_DAT(api_write(pair.a.ep, api_seg(from, 0, AREA), window, n, 0),
			    DAT_SUCCESS);
	REQUIRE_SOON(*(volatile unsigned char *)area->mem == 0x77);
	all.segment_length = 0;
	REQUIRE_DAT(bind_window(all, REMOTE, 5, 0, &none), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	memset(area->mem, 0x11, AREA);
}

static void unbound_window_is_written_through_no_more(void)
{
	struct api_buf area = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	struct api_buf from = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	DAT_EVENT event;

	memset(from.mem, 0x77, AREA);
	for (int round = 0; round < 6; round++) {
		unbind_amid_writes(&area, &from);
		/* ends the connection, if a refused write has not ended it */
		CHECK_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(pair.b.connect, pair.b.ep);
		API_CONN_OVER(pair.a.connect, pair.a.ep);
		for (int n = 0; n < WRITES; n++)
			API_EVENT(pair.a.request, &event);
		/* each byte equals the one before it */
		REQUIRE_EQ_INT(area.mem[0], 0x11);
		REQUIRE(memcmp(area.mem + 1, area.mem, AREA - 1) == 0);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		api_pair_connect(&pair);
	}
}

#define BINDS 400

/*
 * Binds and unbinds the one window again and again, and waits for each completion. Each thread uses
 * an endpoint of its own.
 */
static void *bind_again_and_again(void *arg)
{
	const struct api_end *end = arg;
	DAT_RMR_CONTEXT context;

	for (uint64_t n = 0; n < BINDS; n++) {
		DAT_LMR_TRIPLET seg = api_seg(&target, n % 4 * 4096, n % 5 ? 4096 : 0);

		REQUIRE_DAT(dat_rmr_bind(rmr, &seg, REMOTE, end->ep, api_cookie(n), 0, &context),
			    DAT_SUCCESS);
		API_BIND(end->request, rmr, n, DAT_RMR_BIND_SUCCESS);
	}
	return NULL;
}

static void window_is_bound_by_two_threads_at_once(void)
{
	struct api_pair other;
	pthread_t threads[2];

	api_pair_make(&other, NULL);
	REQUIRE(pthread_create(&threads[0], NULL, bind_again_and_again, &pair.b) == 0);
	REQUIRE(pthread_create(&threads[1], NULL, bind_again_and_again, &other.b) == 0);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
	/* the next bind is the valid one, whichever was the last before it */
	want_reach(bound(0, 4096, REMOTE), 0, 4096);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
}

/*
 * A request of b fails, and an unbind is posted before the endpoint shows that its connection is over, or just
 * when it does. The unbind then has no effect, and the RMR is freed first.
 */
static void unbind_behind_a_failure(void)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x12345,
				    .target_address = 4096,
				    .segment_length = 64 };
	DAT_RMR_CONTEXT none = 99;
	DAT_EVENT event;

	REQUIRE_DAT(api_read(pair.b.ep, api_seg(&buf, 0, 64), nowhere, 7, 0), DAT_SUCCESS);
	API_EVENT(pair.b.request, &event);
	REQUIRE_DAT(bind_window(api_seg(&target, 0, 0), REMOTE, 5, 0, &none), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_FAILURE);
	if (dat_lmr_free(target.lmr) != DAT_SUCCESS) {
		REQUIRE_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
		REQUIRE_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
	}
}

/*
 * The peer of another endpoint cannot access the memory through a former context of the window any
 * more.
 */
static void region_is_gone_though_its_unbind_was_flushed(void)
{
	DAT_RMR_CONTEXT old = bound(0, 4096, REMOTE);
	struct api_pair other;
	DAT_EVENT event;

	api_pair_make(&other, NULL);
	unbind_behind_a_failure();
	memset(target.mem, 0, SIZE);
	memset(buf.mem, 0x77, 64);
	REQUIRE_DAT(api_write(other.a.ep, api_seg(&buf, 0, 64), to(old, 0, 64), 8, 0), DAT_SUCCESS);
	API_EVENT(other.a.request, &event); /* over iWARP a write completes when it has been sent */
	API_CONN_OVER(other.a.connect, other.a.ep);
	for (size_t i = 0; i < 64; i++)
		REQUIRE(target.mem[i] == 0);
}

static void want_bound(DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
	DAT_RMR_PARAM param;

	REQUIRE_DAT(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.rmr_context, context);
	CHECK_EQ_INT(param.lmr_triplet.lmr_context, target.lmr_context);
	CHECK_EQ_INT(param.lmr_triplet.virtual_address, (uintptr_t)target.mem + offset);
	CHECK_EQ_INT(param.lmr_triplet.segment_length, length);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_INVALID_STATE);
}

/*
 * Checks that the window has not changed, for the peer of another endpoint too, and can be bound on
 * that endpoint.
 */
static void want_unchanged(DAT_RMR_CONTEXT old, struct api_buf *elsewhere, const struct api_pair *other)
{
	want_bound(old, 0, 4096);
	CHECK_DAT(dat_lmr_free(elsewhere->lmr), DAT_SUCCESS);
	pair = *other;
	want_reach(old, 0, 4096);
	old = bound(4096, 100, REMOTE);
	want_bound(old, 4096, 100);
	want_reach(old, 4096, 100);
}

static void bind_that_fails_changes_nothing(void)
{
	struct api_buf elsewhere = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_CONTEXT old = bound(0, 4096, REMOTE), context;
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x12345,
				    .target_address = 4096,
				    .segment_length = 64 };
	struct api_pair other;
	DAT_EVENT event;

	api_pair_make(&other, NULL);
	REQUIRE_DAT(api_read(pair.b.ep, api_seg(&buf, 0, 64), nowhere, 7, 0), DAT_SUCCESS);
	REQUIRE_DAT(bind_window(api_seg(&elsewhere, 0, 4096), REMOTE, 5, 0, &context), DAT_SUCCESS);
	API_EVENT(pair.b.request, &event);
	API_EVENT(pair.b.request, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	/* also over iWARP, where the bind may have overtaken the read */
	CHECK(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS);
	want_unchanged(old, &elsewhere, &other);
}

static void bind_after_the_end_changes_nothing(void)
{
	struct api_buf elsewhere = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_CONTEXT old = bound(0, 4096, REMOTE), context;
	struct api_pair other;

	api_pair_make(&other, NULL);
	api_disconnect(&pair);
	REQUIRE_DAT(bind_window(api_seg(&elsewhere, 0, 4096), REMOTE, 5, 0, &context), DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 5, DAT_RMR_BIND_FAILURE);
	want_unchanged(old, &elsewhere, &other);
}

/* When its endpoint is freed, a bind holds none of its objects any more. */
static void bind_goes_with_its_endpoint(void)
{
	DAT_RMR_CONTEXT context;

	for (int n = 0; n < 3; n++)
		REQUIRE_DAT(bind_window(api_seg(&target, 0, 4096), REMOTE, 5, 0, &context),
			    DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(pair.b.ep), DAT_SUCCESS);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
}

static const struct check_test tests[] = {
	CHECK_TEST(query_tells_ia_pz_and_the_last_bind),
	CHECK_TEST(bound_window_lets_the_peer_in_within_its_bounds),
	CHECK_TEST(window_gives_only_the_rights_it_was_bound_with),
	CHECK_TEST(range_of_memory_that_cannot_be_written_is_read_through_a_window),
	CHECK_TEST(each_bind_has_a_new_context_and_the_old_one_is_dead),
	CHECK_TEST(bind_of_length_zero_unbinds),
	CHECK_TEST(rebind_elsewhere_lets_the_region_go),
	CHECK_TEST(free_unbinds),
	CHECK_TEST(bind_refuses_what_the_region_does_not_cover),
	CHECK_TEST(bind_refuses_a_mixture_of_zones),
	CHECK_TEST(bind_needs_a_connection_and_is_flushed_after_it),
	CHECK_TEST(suppressed_bind_completes_silently),
	CHECK_TEST(unsignalled_bind_needs_the_endpoint_to_be_so),
	CHECK_TEST(bind_is_done_before_what_is_posted_after_it),
	CHECK_TEST(unbound_window_is_written_through_no_more),
	CHECK_TEST(window_is_bound_by_two_threads_at_once),
	CHECK_TEST(region_is_gone_though_its_unbind_was_flushed),
	CHECK_TEST(bind_that_fails_changes_nothing),
	CHECK_TEST(bind_after_the_end_changes_nothing),
	CHECK_TEST(bind_goes_with_its_endpoint),
	CHECK_END
};

static const struct check_suite rmrs = {
	.name = "rmr",
	.setup = setup,
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&rmrs);
