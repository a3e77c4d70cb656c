/* SPDX-License-Identifier: BSD-2-Clause */
/* A VI that is not connected, and the results of wrong descriptors. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct side a, b;
static atomic_int post_errors, overruns, ends;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	if (what->ErrorCode == VIP_ERROR_POST_DESC &&
	    what->ResourceCode == VIP_RESOURCE_DESCRIPTOR)
		atomic_fetch_add(&post_errors, 1);
	if (what->ErrorCode == VIP_ERROR_VI_OVERRUN && what->ResourceCode == VIP_RESOURCE_VI &&
	    what->ViHandle == a.vi)
		atomic_fetch_add(&overruns, 1);
	if (what->ErrorCode == VIP_ERROR_CONN_LOST && what->ViHandle == a.vi)
		atomic_fetch_add(&ends, 1);
}

static void open_one(void)
{
	side_open_vi(&a);
	atomic_store(&post_errors, 0);
	atomic_store(&overruns, 0);
	atomic_store(&ends, 0);
	REQUIRE_VIP(VipErrorCallback(a.nic, NULL, on_error), VIP_SUCCESS);
}

static void open_connected(void)
{
	open_one();
	side_open_vi(&b);
	sides_connect(&a, &b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

static void attributes_are_checked(void)
{
	VIP_VI_ATTRIBUTES attr = a.attr;
	VIP_VI_HANDLE vi = &a;

	attr.ReliabilityLevel = 0;
	CHECK_VIP(VipCreateVi(a.nic, &attr, NULL, NULL, &vi), VIP_INVALID_RELIABILITY_LEVEL);
	attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY;
	CHECK_VIP(VipCreateVi(a.nic, &attr, NULL, NULL, &vi), VIP_INVALID_RELIABILITY_LEVEL);
	attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
	CHECK_VIP(VipCreateVi(a.nic, &attr, NULL, NULL, &vi), VIP_INVALID_RDMAREAD);
	attr = a.attr;
	attr.MaxTransferSize = a.nic_attr.MaxTransferSize + 1;
	CHECK_VIP(VipCreateVi(a.nic, &attr, NULL, NULL, &vi), VIP_INVALID_MTU);
	attr = a.attr;
	attr.Ptag = &a;
	CHECK_VIP(VipCreateVi(a.nic, &attr, NULL, NULL, &vi), VIP_INVALID_PTAG);
	CHECK_VIP(VipCreateVi(a.nic, NULL, NULL, NULL, &vi), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipCreateVi(a.nic, &a.attr, NULL, NULL, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipCreateVi(NULL, &a.attr, NULL, NULL, &vi), VIP_INVALID_PARAMETER);
	CHECK(vi == &a);
}

static void a_query_tells_state_attributes_and_queues(void)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_BOOLEAN send_empty, recv_empty;
	VIP_VI_STATE state;

	post_recv(&a, 0, 8);
	REQUIRE_VIP(VipQueryVi(a.vi, &state, &attr, &send_empty, &recv_empty), VIP_SUCCESS);
	CHECK_EQ_INT(state, VIP_STATE_IDLE);
	CHECK_EQ_INT(attr.ReliabilityLevel, VIP_SERVICE_RELIABLE_DELIVERY);
	CHECK_EQ_INT(attr.MaxTransferSize, a.nic_attr.MaxTransferSize);
	CHECK_EQ_INT(send_empty, VIP_TRUE);
	CHECK_EQ_INT(recv_empty, VIP_FALSE);
	CHECK_VIP(VipQueryVi(NULL, &state, NULL, NULL, NULL), VIP_INVALID_PARAMETER);
}

static void user_data_are_kept(void)
{
	CHECK(VipGetUserData(a.vi) == NULL);
	VipSetUserData(a.vi, &b);
	CHECK(VipGetUserData(a.vi) == &b);
	VipSetUserData(NULL, &b);
	CHECK(VipGetUserData(NULL) == NULL);
}

static void an_empty_queue_has_no_descriptor(void)
{
	VIP_DESCRIPTOR *d = descriptor(&a, 0);

	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK(d == NULL);
	CHECK_VIP(VipSendDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipRecvWait(a.vi, VIP_INFINITE, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipSendWait(a.vi, VIP_INFINITE, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipRecvDone(a.vi, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRecvDone(NULL, &d), VIP_INVALID_PARAMETER);
}

static void a_pending_receive_is_not_done_and_waits_time_out(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 8);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
	CHECK_VIP(VipRecvWait(a.vi, 0, &d), VIP_TIMEOUT);
	CHECK_VIP(VipRecvWait(a.vi, 20, &d), VIP_TIMEOUT);
}

static void a_send_on_an_idle_vi_is_flushed(void)
{
	post_send(&a, 0, 8);
	expect_send(&a, 0, VIP_STATUS_OP_SEND | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_IDLE);
}

static void disconnecting_an_idle_vi_flushes_its_receives(void)
{
	post_recv(&a, 0, 8);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
}

static void a_vi_with_descriptors_is_not_destroyed(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 8);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_SUCCESS);
	CHECK_VIP(VipDestroyVi(a.vi), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_INVALID_PARAMETER);
	a.vi = NULL;
}

static void a_full_queue_takes_no_more(void)
{
	VIP_DESCRIPTOR *d = prepare(&a, 0, 8);
	VIP_ULONG depth = a.nic_attr.MaxDescriptorsPerQueue;

	for (VIP_ULONG i = 0; i < depth; i++)
		REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	/* The return value reports it each time, the error handler once. */
	CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_ERROR_RESOURCE);
	REQUIRE_SOON(atomic_load(&overruns) == 1);
	CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_ERROR_RESOURCE);
	/* errors are reported in order */
	VipPostSend(a.vi, (void *)((char *)d + 8), a.handle);
	REQUIRE_SOON(atomic_load(&post_errors) == 1);
	CHECK_EQ_INT(atomic_load(&overruns), 1);
	side_drain(&a);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	for (VIP_ULONG i = 0; i < depth; i++)
		REQUIRE_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipPostRecv(a.vi, prepare(&a, 0, 8), a.handle), VIP_SUCCESS);
}

static void a_destroyed_vi_is_refused_and_its_memory_used_again(void)
{
	enum { MADE = 300, KEPT = 64 };
	static VIP_VI_HANDLE vi[MADE];
	unsigned int different = 0;

	for (int i = 0; i < MADE; i++) {
		bool seen = false;

		REQUIRE_VIP(VipCreateVi(a.nic, &a.attr, NULL, NULL, &vi[i]), VIP_SUCCESS);
		CHECK_VIP(VipQueryVi(vi[i], NULL, NULL, NULL, NULL), VIP_SUCCESS);
		CHECK(VipGetUserData(vi[i]) == NULL);
		VipSetUserData(vi[i], &a);
		for (int j = 0; j < i; j++)
			seen |= vi[j] == vi[i];
		different += !seen;
		for (int j = i - 1; j >= 0 && j >= i - KEPT; j--)
			CHECK_VIP(VipDestroyVi(vi[j]), VIP_INVALID_PARAMETER);
		CHECK_VIP(VipDestroyVi(vi[i]), VIP_SUCCESS);
	}
	CHECK(different < 2 * KEPT);
}

static void a_misaligned_descriptor_is_told_of(void)
{
	VIP_DESCRIPTOR *d = prepare(&a, 0, 0), *got;
	VIP_DESCRIPTOR *off = (void *)((char *)d + 8);

	REQUIRE_VIP(VipPostRecv(a.vi, off, a.handle), VIP_SUCCESS);
	CHECK_VIP(VipRecvWait(a.vi, check_patience_ms(), &got), VIP_DESCRIPTOR_ERROR);
	CHECK(got == off);
	CHECK_EQ_INT(off->CS.Status, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DONE |
					     VIP_STATUS_FORMAT_ERROR);
	REQUIRE_SOON(atomic_load(&post_errors) == 1);
	off = (void *)((char *)d + 1);
	REQUIRE_VIP(VipPostSend(a.vi, off, a.handle), VIP_SUCCESS);
	CHECK_VIP(VipSendDone(a.vi, &got), VIP_DESCRIPTOR_ERROR);
	REQUIRE_SOON(atomic_load(&post_errors) == 2);
}

static void a_descriptor_outside_of_registered_memory_is_not_touched(void)
{
	VIP_DESCRIPTOR *wild = (void *)64, *got;

	REQUIRE_VIP(VipPostRecv(a.vi, wild, a.handle), VIP_SUCCESS);
	CHECK_VIP(VipRecvDone(a.vi, &got), VIP_DESCRIPTOR_ERROR);
	CHECK(got == wild);
	REQUIRE_VIP(VipPostSend(a.vi, wild, 0xDEAD0001), VIP_SUCCESS);
	CHECK_VIP(VipSendDone(a.vi, &got), VIP_DESCRIPTOR_ERROR);
	REQUIRE_SOON(atomic_load(&post_errors) == 2);
	CHECK_VIP(VipPostSend(a.vi, NULL, a.handle), VIP_INVALID_PARAMETER);
}

/* The descriptor's first segment is in registered memory, and its second one beyond it. */
static void segments_of_a_descriptor_are_in_registered_memory_too(void)
{
	VIP_MEM_ATTRIBUTES mem = { .Ptag = NULL };
	VIP_DESCRIPTOR *d = prepare(&a, 0, 8), *got;
	VIP_MEM_HANDLE handle;

	d->DS[1] = d->DS[0];
	REQUIRE_VIP(VipRegisterMem(a.nic, d, sizeof(d->CS) + sizeof(d->DS[0]), &mem, &handle),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipPostRecv(a.vi, d, handle), VIP_SUCCESS);
	CHECK_VIP(VipRecvDone(a.vi, &got), VIP_NOT_DONE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	d->CS.SegCount = 2;
	REQUIRE_VIP(VipPostRecv(a.vi, d, handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_PROTECTION_ERROR);
	CHECK_VIP(VipDeregisterMem(a.nic, d, handle), VIP_SUCCESS);
}

static void recv_fails(VIP_DESCRIPTOR *d, uint32_t status)
{
	REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | status);
}

static void segments_are_checked_when_they_are_posted(void)
{
	VIP_DESCRIPTOR *d = prepare(&a, 0, 64);

	d->DS[0].Local.Handle = 0;
	recv_fails(d, VIP_STATUS_PROTECTION_ERROR);
	d = prepare(&a, 0, 64);
	d->CS.SegCount = 0xFFFF;
	recv_fails(d, VIP_STATUS_FORMAT_ERROR);
	d = prepare(&a, 0, 64);
	d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
	recv_fails(d, VIP_STATUS_FORMAT_ERROR);
	CHECK_EQ_INT(atomic_load(&post_errors), 0);
}

/* A post checks the handle of a receive's memory, but not the address, because hardware checks that only when it writes there. */
static void a_receive_outside_of_its_region_is_accepted(void)
{
	uint8_t *outside[] = { a.block - 1, buffer(&a, SLOTS) };
	VIP_DESCRIPTOR *got;

	for (size_t i = 0; i < 2; i++) {
		VIP_DESCRIPTOR *d = prepare(&a, 0, 64);

		d->DS[0].Local.Data.Address = outside[i];
		REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
		CHECK_VIP(VipRecvDone(a.vi, &got), VIP_NOT_DONE);
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	}
}

static void memory_of_another_tag_is_refused(void)
{
	static uint8_t memory[64];
	VIP_DESCRIPTOR *d = prepare(&a, 0, 64);
	VIP_MEM_ATTRIBUTES mem = { .Ptag = NULL };
	VIP_PROTECTION_HANDLE ptag;
	VIP_MEM_HANDLE handle;

	post_recv(&a, 1, 64);	/* so that the VI, which has no tag, takes that of the block */
	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	side_drain(&a);
	REQUIRE_VIP(VipCreatePtag(a.nic, &ptag), VIP_SUCCESS);
	mem.Ptag = ptag;
	REQUIRE_VIP(VipRegisterMem(a.nic, memory, 64, &mem, &handle), VIP_SUCCESS);
	d->DS[0].Local = (VIP_DATA_SEGMENT){ .Data.Address = memory, .Handle = handle,
					     .Length = 64 };
	recv_fails(d, VIP_STATUS_PROTECTION_ERROR);
	mem.Ptag = NULL;
	REQUIRE_VIP(VipSetMemAttributes(a.nic, memory, handle, &mem), VIP_SUCCESS);
	REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipDeregisterMem(a.nic, memory, handle), VIP_SUCCESS);
	recv_fails(d, VIP_STATUS_PROTECTION_ERROR);
}

/* A post caches the region of its memory, and must not use the cache after that is deregistered. */
static void memory_that_is_deregistered_is_refused_at_once(void)
{
	static uint8_t memory[9][64];
	VIP_MEM_ATTRIBUTES mem = { .Ptag = NULL };
	VIP_MEM_HANDLE handle[9];

	for (int i = 0; i < 9; i++)
		REQUIRE_VIP(VipRegisterMem(a.nic, memory[i], 64, &mem, &handle[i]), VIP_SUCCESS);
	for (int i = 0; i < 9; i++) {
		VIP_DESCRIPTOR *d = prepare(&a, 0, 64);

		d->DS[0].Local.Data.Address = memory[i];
		d->DS[0].Local.Handle = handle[i];
		REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
		CHECK_VIP(VipDeregisterMem(a.nic, memory[i], handle[i]), VIP_SUCCESS);
		recv_fails(d, VIP_STATUS_PROTECTION_ERROR);
	}
}

static void a_vi_moves_to_another_tag(void)
{
	VIP_VI_ATTRIBUTES attr = a.attr;
	VIP_PROTECTION_HANDLE ptag;
	VIP_DESCRIPTOR *d;

	REQUIRE_VIP(VipCreatePtag(a.nic, &ptag), VIP_SUCCESS);
	attr.Ptag = ptag;
	post_recv(&a, 1, 8);
	CHECK_VIP(VipSetViAttributes(a.vi, &attr), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	side_drain(&a);
	CHECK_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_ERROR_RESOURCE);
	/* now the descriptor itself is in memory with another tag */
	REQUIRE_VIP(VipPostRecv(a.vi, prepare(&a, 0, 8), a.handle), VIP_SUCCESS);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK(d == descriptor(&a, 0));
	CHECK_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_SUCCESS);
}

static void a_bad_send_breaks_a_reliable_connection(void)
{
	VIP_DESCRIPTOR *d = prepare(&a, 0, 64);

	post_recv(&a, 1, 8);
	d->DS[0].Local.Handle = 0;
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	expect_send(&a, 0, VIP_STATUS_OP_SEND | VIP_STATUS_PROTECTION_ERROR);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_ERROR);
	expect_recv(&a, 1, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
	post_send(&a, 2, 8);
	expect_send(&a, 2, VIP_STATUS_OP_SEND | VIP_STATUS_DESC_FLUSHED_ERROR);
}

static void a_message_beyond_max_transfer_size_is_refused(void)
{
	VIP_VI_ATTRIBUTES attr = a.attr;

	attr.MaxTransferSize = 100;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &attr), VIP_SUCCESS);
	recv_fails(prepare(&a, 0, 101), VIP_STATUS_LENGTH_ERROR);
}

/* The library breaks the connection itself, and tells of it as of any other end. */
static void a_connection_that_a_bad_send_breaks_is_told_of(void)
{
	VIP_DESCRIPTOR *d = prepare(&a, 0, 64);

	d->DS[0].Local.Handle = 0;
	REQUIRE_VIP(VipPostSend(a.vi, d, a.handle), VIP_SUCCESS);
	REQUIRE_SOON(atomic_load(&ends) == 1);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	side_drain(&a);
	/* errors are reported in order, so this one comes after a second report of the end */
	VipPostSend(a.vi, (void *)((char *)d + 8), a.handle);
	REQUIRE_SOON(atomic_load(&post_errors) == 1);
	CHECK_EQ_INT(atomic_load(&ends), 1);
	side_drain(&a);
}

/* Posts a receive whose memory is deregistered before its message comes. The keeper breaks the connection, or the device does. */
static void a_connection_that_a_gone_receive_breaks_is_told_of(void)
{
	static uint8_t memory[64];
	VIP_MEM_ATTRIBUTES mem = { .Ptag = NULL };
	VIP_DESCRIPTOR *d = prepare(&a, 0, 32), *got;
	VIP_MEM_HANDLE handle;

	REQUIRE_VIP(VipRegisterMem(a.nic, memory, sizeof(memory), &mem, &handle), VIP_SUCCESS);
	d->DS[0].Local.Data.Address = memory;
	d->DS[0].Local.Handle = handle;
	REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	REQUIRE_VIP(VipDeregisterMem(a.nic, memory, handle), VIP_SUCCESS);
	post_send(&b, 1, 32);
	CHECK_VIP(VipRecvWait(a.vi, check_patience_ms(), &got), VIP_DESCRIPTOR_ERROR);
	REQUIRE_SOON(atomic_load(&ends) == 1);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
}

static const struct check_test alone_tests[] = {
	CHECK_TEST(attributes_are_checked),
	CHECK_TEST(a_query_tells_state_attributes_and_queues),
	CHECK_TEST(user_data_are_kept),
	CHECK_TEST(an_empty_queue_has_no_descriptor),
	CHECK_TEST(a_pending_receive_is_not_done_and_waits_time_out),
	CHECK_TEST(a_send_on_an_idle_vi_is_flushed),
	CHECK_TEST(disconnecting_an_idle_vi_flushes_its_receives),
	CHECK_TEST(a_vi_with_descriptors_is_not_destroyed),
	CHECK_TEST(a_full_queue_takes_no_more),
	CHECK_TEST(a_destroyed_vi_is_refused_and_its_memory_used_again),
	CHECK_TEST(a_misaligned_descriptor_is_told_of),
	CHECK_TEST(a_descriptor_outside_of_registered_memory_is_not_touched),
	CHECK_TEST(segments_of_a_descriptor_are_in_registered_memory_too),
	CHECK_TEST(segments_are_checked_when_they_are_posted),
	CHECK_TEST(a_receive_outside_of_its_region_is_accepted),
	CHECK_TEST(memory_of_another_tag_is_refused),
	CHECK_TEST(memory_that_is_deregistered_is_refused_at_once),
	CHECK_TEST(a_vi_moves_to_another_tag),
	CHECK_TEST(a_message_beyond_max_transfer_size_is_refused),
	CHECK_END,
};
static const struct check_suite alone = {
	.name = "vi", .setup = open_one, .teardown = close_sides, .tests = alone_tests
};

static const struct check_test connected_tests[] = {
	CHECK_TEST(a_bad_send_breaks_a_reliable_connection),
	CHECK_TEST(a_connection_that_a_bad_send_breaks_is_told_of),
	CHECK_TEST(a_connection_that_a_gone_receive_breaks_is_told_of),
	CHECK_END,
};
static const struct check_suite connected = {
	.name = "vi", .setup = open_connected, .teardown = close_sides, .tests = connected_tests
};

CHECK_SUITES(&alone, &connected);
