/* SPDX-License-Identifier: BSD-2-Clause */
/* Every call of the API reaches its slot unchanged, and no bad handle does. */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "registry_env.h"

struct mock mock;

#include "dispatch_calls.h"

#define NCALLS	(sizeof(calls) / sizeof(calls[0]))
#define FAILED	(DAT_CLASS_ERROR | DAT_QUEUE_FULL)

/* Returns the provider's object behind an open IA, which mocks accept as an object of any type. */
static DAT_HANDLE object_of(DAT_IA_HANDLE ia)
{
	DAT_IA_HANDLE object;

	REQUIRE_EQ_INT(dats_get_ia_handle((uintptr_t)ia, &object), DAT_SUCCESS);
	return object;
}

static bool takes_ia(const struct call *c)
{
	return c->subtype == DAT_INVALID_HANDLE_IA;
}

static bool takes_any(const struct call *c)
{
	return c->subtype == DAT_INVALID_HANDLE1;
}

static void arrives(const struct call *c, DAT_HANDLE handle, DAT_HANDLE object)
{
	mock.slot = -1;
	CHECK_EQ_INT(c->call(handle), FAILED);
	if (mock.slot != c->slot || mock.nwords != c->nwords + 1) {
		CHECK_FAIL("%s came to slot %d with %u words", c->name, mock.slot, mock.nwords);
		return;
	}
	CHECK_EQ_INT(mock.words[0], (uintptr_t)object);
	if (memcmp(&mock.words[1], c->words, c->nwords * sizeof(mock.words[0])))
		CHECK_FAIL("%s came with other arguments", c->name);
}

TEST_WITH(every_call_reaches_its_slot_with_its_arguments, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = object_of(ia);
	size_t i;

	CHECK_EQ_INT(NCALLS, 66);
	mock.answer = FAILED;
	for (i = 0; i < NCALLS; i++) {
		if (takes_ia(&calls[i]) || takes_any(&calls[i]))
			arrives(&calls[i], ia, object);
		/* A call accepts the provider's pointer to an IA in the place of the handle. */
		arrives(&calls[i], object, object);
	}
}

static void is_refused(const struct call *c, DAT_HANDLE handle, const char *what)
{
	DAT_RETURN rc;

	mock.slot = -1;
	rc = c->call(handle);
	if (rc != (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | c->subtype) || mock.slot != -1)
		CHECK_FAIL("%s: %s gave %#x", c->name, what, rc);
}

TEST_WITH(a_bad_handle_is_refused_by_every_call, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_IA_HANDLE closed = open_or_fail("a");
	static uintptr_t zeroes[4];
	DAT_HANDLE object = object_of(ia);
	DAT_HANDLE variable = object;
	size_t i;

	REQUIRE_EQ_INT(dat_ia_close(closed, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	for (i = 0; i < NCALLS; i++) {
		is_refused(&calls[i], DAT_HANDLE_NULL, "NULL");
		is_refused(&calls[i], (DAT_HANDLE)3, "3");
		is_refused(&calls[i], closed, "a closed IA");
		is_refused(&calls[i], (DAT_HANDLE)65535, "65535");
		is_refused(&calls[i], (DAT_HANDLE)((uintptr_t)object + 4), "a misaligned handle");
		is_refused(&calls[i], (DAT_HANDLE)((uintptr_t)object | 1), "an odd handle");
		is_refused(&calls[i], &variable, "the address of a handle");
		is_refused(&calls[i], zeroes, "zeroes");
		is_refused(&calls[i], (DAT_HANDLE)(uintptr_t)calls[i].name, "a string");
		if (!takes_ia(&calls[i]) && !takes_any(&calls[i]))
			is_refused(&calls[i], ia, "an IA");
	}
	CHECK_DAT(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_DEFAULT),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_DAT(dat_ia_close(&variable, DAT_CLOSE_DEFAULT),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_DAT(dat_ia_close((DAT_IA_HANDLE)4711, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE);
}

/*
 * Returns true for the calls of the data path, which expect that a pointer points to mapped memory.
 */
static bool is_data_path(const struct call *c)
{
	return strstr(c->name, "_post_recv") || strstr(c->name, "_post_send") ||
	       strstr(c->name, "_post_rdma") || !strcmp(c->name, "dat_evd_dequeue") ||
	       !strcmp(c->name, "dat_rmr_bind");
}

static void unmapped_is_refused(const char *what, DAT_HANDLE handle)
{
	int fast = 0;
	size_t i;

	for (i = 0; i < NCALLS; i++) {
		if (is_data_path(&calls[i]))
			fast++;
		else
			is_refused(&calls[i], handle, what);
	}
	CHECK_EQ_INT(fast, 7);
}

TEST_WITH(a_handle_that_points_at_nothing_is_refused_off_the_data_path, LINE("a", "plain"))
{
	char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_IA_HANDLE ia = open_or_fail("a");

	REQUIRE(page != MAP_FAILED && munmap(page + 4096, 4096) == 0);
	unmapped_is_refused("an unmapped page", page + 4096);
	REQUIRE_EQ_INT(mprotect(page, 4096, PROT_NONE), 0);
	unmapped_is_refused("an unreadable page", page + 64);
	unmapped_is_refused("no address at all", (DAT_HANDLE)0xdeadbeefdeadbee8);
	CHECK_DAT(dat_ia_close(page, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/* A page that had an object is not read directly any more when its IA has been closed. */
TEST_WITH(a_page_that_goes_with_its_adapter_is_forgotten, LINE("a", "plain"))
{
	DAT_HANDLE *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
	DAT_IA_HANDLE ia = open_or_fail("a"), other = open_or_fail("a");
	DAT_EVD_PARAM param;

	REQUIRE(page != MAP_FAILED);
	page[0] = (DAT_HANDLE)mock.vtable;
	CHECK_EQ_INT(dat_evd_query(page, 0, &param), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	REQUIRE_EQ_INT(munmap(page, 4096), 0);
	CHECK_DAT(dat_evd_query(page, 0, &param), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(dat_ia_close(other, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/* If the kernel refuses to read for the process, a handle is expected to point to mapped memory. */
static void refuse_reads(void)
{
	if (check_forbid((const int[]){ SYS_process_vm_readv }, 1))
		check_skip("this kernel does not filter system calls");
}

TEST_WITH(handles_work_where_the_kernel_refuses_to_read, LINE("a", "plain"))
{
	static uintptr_t zeroes[4];
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = object_of(ia);

	refuse_reads();
	mock.answer = FAILED;
	for (size_t i = 0; i < NCALLS; i++) {
		arrives(&calls[i], object, object);
		is_refused(&calls[i], zeroes, "zeroes");
	}
}

TEST_WITH(out_of_scope_and_async_exists_are_no_evds, LINE("a", "plain"))
{
	size_t i;

	open_or_fail("a");
	open_or_fail("a");
	for (i = 0; i < NCALLS; i++) {
		if (strncmp(calls[i].name, "dat_evd_", 8) || takes_ia(&calls[i]))
			continue;
		is_refused(&calls[i], DAT_EVD_ASYNC_EXISTS, "DAT_EVD_ASYNC_EXISTS");
		is_refused(&calls[i], DAT_EVD_OUT_OF_SCOPE, "DAT_EVD_OUT_OF_SCOPE");
	}
}

TEST_WITH(objects_of_a_closed_adapter_are_refused, LINE("a", "plain"))
{
	struct mock_object stale;
	DAT_IA_HANDLE ia = open_or_fail("a");
	size_t i;

	/* The memory is not overwritten: only the vtable shows that the provider has gone. */
	stale.vtable = mock.vtable;
	REQUIRE_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	for (i = 0; i < NCALLS; i++)
		is_refused(&calls[i], &stale, "an object of a provider that is gone");
}

TEST_WITH(a_slot_left_empty_is_not_implemented, LINE("a", "null_slots"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = object_of(ia);
	size_t i;

	for (i = 0; i < NCALLS; i++) {
		CHECK_EQ_INT(calls[i].call(object), DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
		if (takes_ia(&calls[i]) || takes_any(&calls[i]))
			CHECK_EQ_INT(calls[i].call(ia), DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
	}
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/*
 * The likely provider has the calls that the fast path makes without a test; a provider without them must
 * not become it.
 */
TEST_WITH(a_provider_that_can_only_dequeue_does_that, LINE("a", "only_dequeue") LINE("b", "own_vtable"))
{
	DAT_HANDLE object = object_of(open_or_fail("a"));
	DAT_IA_HANDLE b = open_or_fail("b");
	int round;
	size_t i;

	mock.answer = FAILED;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < NCALLS; i++) {
			if (!strcmp(calls[i].name, "dat_evd_dequeue"))
				arrives(&calls[i], object, object);
			else if (is_data_path(&calls[i]))
				CHECK_EQ_INT(calls[i].call(object),
					     DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
		}
		/* the likely provider is removed, and another is chosen */
		if (!round)
			CHECK_EQ_INT(dat_ia_close(b, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	}
}

TEST_WITH(two_providers_at_a_time_are_told_apart, LINE("a", "plain") LINE("b", "own_vtable"))
{
	DAT_HANDLE a = object_of(open_or_fail("a"));
	DAT_HANDLE b = object_of(open_or_fail("b"));
	size_t i;

	mock.answer = FAILED;
	for (i = 0; i < NCALLS; i++) {
		arrives(&calls[i], a, a);
		arrives(&calls[i], b, b);
	}
}

TEST_WITH(an_ia_handle_translates_both_ways, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = mock.object;
	DAT_IA_HANDLE h;

	CHECK_EQ_INT(dats_get_ia_handle((uintptr_t)ia, &h), DAT_SUCCESS);
	CHECK(h == object);
	CHECK_EQ_INT(dats_get_ia_handle((uintptr_t)object, &h), DAT_SUCCESS);
	CHECK(h == ia);
	CHECK_DAT(dats_get_ia_handle(0, &h), DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_DAT(dats_get_ia_handle((uintptr_t)&h, &h),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_DAT(dats_get_ia_handle((uintptr_t)ia, NULL), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(dat_ia_close(object, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_DAT(dats_get_ia_handle((uintptr_t)object, &h), DAT_INVALID_HANDLE);
}

/*
 * Makes one query: the IA, which the provider fills in as its own pointer, is returned as the
 * handle.
 */
#define QUERY_TRANSLATES(obj, OBJ)								\
do {												\
	DAT_##OBJ##_PARAM param;								\
												\
	memset(&param, 0, sizeof(param));							\
	param.ia_handle = object;								\
	CHECK_EQ_INT(dat_##obj##_query(object, DAT_##OBJ##_FIELD_IA_HANDLE, &param), DAT_SUCCESS); \
	CHECK(param.ia_handle == ia);								\
	param.ia_handle = object;								\
	CHECK_EQ_INT(dat_##obj##_query(object, 0, &param), DAT_SUCCESS);			\
	CHECK(param.ia_handle == object);							\
} while (0)

TEST_WITH(queries_give_the_consumer_s_ia_handle, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = mock.object;

	QUERY_TRANSLATES(ep, EP);
	QUERY_TRANSLATES(evd, EVD);
	QUERY_TRANSLATES(cno, CNO);
	QUERY_TRANSLATES(lmr, LMR);
	QUERY_TRANSLATES(rmr, RMR);
	QUERY_TRANSLATES(psp, PSP);
	QUERY_TRANSLATES(rsp, RSP);
	QUERY_TRANSLATES(pz, PZ);
	QUERY_TRANSLATES(srq, SRQ);
}

TEST_WITH(asynchronous_errors_give_the_consumer_s_ia_handle, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_HANDLE object = mock.object;
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_ASYNC_ERROR_IA_CATASTROPHIC;
	event.event_data.asynch_error_event_data.dat_handle = object;
	CHECK_EQ_INT(dat_evd_dequeue(object, &event), DAT_SUCCESS);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == ia);
	event.event_data.asynch_error_event_data.dat_handle = object;
	CHECK_EQ_INT(dat_evd_wait(object, 0, 1, &event, &more), DAT_SUCCESS);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == ia);
	/* The other handles and events are passed unchanged. */
	event.event_data.asynch_error_event_data.dat_handle = &event;
	CHECK_EQ_INT(dat_evd_dequeue(object, &event), DAT_SUCCESS);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == &event);
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = object;
	CHECK_EQ_INT(dat_evd_dequeue(object, &event), DAT_SUCCESS);
	CHECK(event.event_data.software_event_data.pointer == object);
}

static const struct check_test dispatch_tests[] = {
	CHECK_TEST(every_call_reaches_its_slot_with_its_arguments),
	CHECK_TEST(a_bad_handle_is_refused_by_every_call),
	CHECK_TEST(a_handle_that_points_at_nothing_is_refused_off_the_data_path),
	CHECK_TEST(a_page_that_goes_with_its_adapter_is_forgotten),
	CHECK_TEST(handles_work_where_the_kernel_refuses_to_read),
	CHECK_TEST(out_of_scope_and_async_exists_are_no_evds),
	CHECK_TEST(objects_of_a_closed_adapter_are_refused),
	CHECK_TEST(a_slot_left_empty_is_not_implemented),
	CHECK_TEST(a_provider_that_can_only_dequeue_does_that),
	CHECK_TEST(two_providers_at_a_time_are_told_apart),
	CHECK_TEST(an_ia_handle_translates_both_ways),
	CHECK_TEST(queries_give_the_consumer_s_ia_handle),
	CHECK_TEST(asynchronous_errors_give_the_consumer_s_ia_handle),
	CHECK_END
};

static const struct check_suite dispatch = { .name = "dispatch", .tests = dispatch_tests };
CHECK_SUITES(&dispatch);
