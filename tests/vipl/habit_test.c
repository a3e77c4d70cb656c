/* SPDX-License-Identifier: BSD-2-Clause */
/* What existing programs do and rely on that the architecture does not promise. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct side a, b;

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

/* Registers the block of a side again, with a protection tag of the program's. Returns the tag. */
static VIP_PROTECTION_HANDLE own_tag(struct side *s)
{
	size_t size = (size_t)(buffer(s, SLOTS) - s->block);
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_TRUE };

	REQUIRE_VIP(VipDeregisterMem(s->nic, s->block, s->handle), VIP_SUCCESS);
	s->handle = 0;
	REQUIRE_VIP(VipCreatePtag(s->nic, &mem.Ptag), VIP_SUCCESS);
	REQUIRE_VIP(VipRegisterMem(s->nic, s->block, size, &mem, &s->handle), VIP_SUCCESS);
	return mem.Ptag;
}

static void open_tagless_vi(struct side *s)
{
	s->attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
				       .EnableRdmaWrite = VIP_TRUE };
	side_create_vi(s);
}

static void open_nics(void)
{
	side_open(&a);
	side_open(&b);
}

static void a_message_passes(void)
{
	buffer(&b, 1)[0] = 'm';
	post_send(&b, 1, 8);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(buffer(&a, 0)[0], 'm');
}

static void a_vi_without_a_tag_uses_memory_that_has_one(void)
{
	own_tag(&a);
	open_tagless_vi(&a);
	/* on the other side, the tag comes after the VI */
	open_tagless_vi(&b);
	own_tag(&b);
	post_recv(&a, 0, 64);
	sides_connect(&a, &b);
	a_message_passes();
}

/* The VI has used no memory before it connects. */
static void a_vi_without_a_tag_connects_with_that_of_the_memory(void)
{
	VIP_DESCRIPTOR *d;

	open_tagless_vi(&a);
	own_tag(&a);
	open_tagless_vi(&b);
	sides_connect(&a, &b);
	buffer(&b, 1)[0] = 'w';
	d = prepare_rdma(&b, 1, 8, VIP_CONTROL_OP_RDMAWRITE, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE);
	CHECK_EQ_INT(buffer(&a, 3)[0], 'w');
	post_recv(&a, 0, 64);
	a_message_passes();
}

/* A client tries to connect until its server is there, and registers its memory meanwhile. */
static void an_attempt_that_fails_does_not_settle_the_tag(void)
{
	union address local, remote;

	open_tagless_vi(&a);
	open_tagless_vi(&b);
	address_make(&b, "me", &local);
	address_make(&a, "nobody", &remote);
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), &b.remote), VIP_NO_MATCH);
	own_tag(&b);
	post_recv(&b, 0, 64);
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), &b.remote), VIP_NO_MATCH);
	sides_connect(&a, &b);
	post_recv(&a, 0, 64);
	a_message_passes();
	post_send(&a, 2, 64);
	expect_send(&a, 2, VIP_STATUS_OP_SEND);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
}

static void a_vi_without_a_tag_keeps_to_the_first_that_it_meets(void)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	VIP_DESCRIPTOR *d;
	VIP_MEM_HANDLE other;
	const char *said;

	open_tagless_vi(&a);
	open_tagless_vi(&b);
	REQUIRE_VIP(VipCreatePtag(a.nic, &mem.Ptag), VIP_SUCCESS);
	REQUIRE_VIP(VipRegisterMem(a.nic, buffer(&a, 4), 64, &mem, &other), VIP_SUCCESS);
	post_recv(&a, 0, 64);
	check_stderr_begin();
	for (int i = 0; i < 2; i++) {
		d = prepare(&a, 1, 64);
		d->DS[0].Local.Data.Address = buffer(&a, 4);
		d->DS[0].Local.Handle = other;
		REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	}
	said = check_stderr_end();
	REQUIRE_HAS_STR(said, "without a protection tag");
	CHECK(strstr(strstr(said, "without a") + 1, "without a") == NULL);
	sides_connect(&a, &b);
	a_message_passes();
	for (int i = 0; i < 2; i++)
		expect_recv(&a, 1, VIP_STATUS_OP_RECEIVE | VIP_STATUS_PROTECTION_ERROR);
	CHECK_VIP(VipDeregisterMem(a.nic, buffer(&a, 4), other), VIP_SUCCESS);
}

/* The program does not know that the VI uses its tag. */
static void the_tag_may_go_before_the_vi_that_took_it_on(void)
{
	VIP_PROTECTION_HANDLE ptag = own_tag(&a);
	VIP_VI_ATTRIBUTES attr;
	VIP_DESCRIPTOR *d;

	open_tagless_vi(&a);
	post_recv(&a, 0, 64);
	REQUIRE_VIP(VipQueryVi(a.vi, NULL, &attr, NULL, NULL), VIP_SUCCESS);
	CHECK(attr.Ptag == NULL);
	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_ERROR_RESOURCE);
	REQUIRE_VIP(VipDeregisterMem(a.nic, a.block, a.handle), VIP_SUCCESS);
	a.handle = 0;
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_INVALID_PARAMETER);
	attr.Ptag = ptag;
	CHECK_VIP(VipSetViAttributes(a.vi, &attr), VIP_INVALID_PTAG);
}

/* The VI takes the next tag that it meets, which is the NIC's only one then. */
static void a_vi_without_a_tag_takes_on_another_when_its_own_is_destroyed(void)
{
	VIP_PROTECTION_HANDLE ptag = own_tag(&a);

	open_tagless_vi(&a);
	open_tagless_vi(&b);
	post_recv(&a, 0, 64);
	sides_connect(&a, &b);
	a_message_passes();
	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	own_tag(&a);
	CHECK_VIP(VipDestroyPtag(a.nic, ptag), VIP_SUCCESS);
	post_recv(&a, 0, 64);
	sides_connect(&a, &b);
	a_message_passes();
}

static void open_connected(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
	sides_connect(&a, &b);
}

/* Posts a receive into the last buffer that is longer than the rest of its region; with `second`, another segment follows. */
static void post_recv_beyond(unsigned int slot, uint32_t second)
{
	VIP_DESCRIPTOR *d = prepare(&a, slot, 0x40000000);

	d->DS[0].Local.Data.Address = buffer(&a, SLOTS) - 100;
	if (second > 0) {
		d->CS.SegCount = 2;
		d->DS[1] = d->DS[0];
		d->DS[1].Local.Data.Address = buffer(&a, 5);
		d->DS[1].Local.Length = second;
	}
	REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
}

static void a_receive_may_reach_beyond_its_region(void)
{
	post_recv_beyond(0, 0);
	post_recv_beyond(2, 50);
	memset(buffer(&b, 1), 'x', 100);
	for (unsigned int slot = 0; slot <= 2; slot += 2) {
		post_send(&b, 1, 100);
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
		expect_recv(&a, slot, VIP_STATUS_OP_RECEIVE);
		CHECK_EQ_INT(descriptor(&a, slot)->CS.Length, 100);
		CHECK_EQ_MEM(buffer(&a, SLOTS) - 100, buffer(&b, 1), 100);
		memset(buffer(&a, SLOTS) - 100, 0, 100);
	}
}

/* The rest of the message is not written to the next segment either. */
static void a_message_that_reaches_beyond_the_region_fails(void)
{
	post_recv_beyond(0, 50);
	memset(buffer(&b, 1), 'x', 120);
	post_send(&b, 1, 120);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_PROTECTION_ERROR);
	CHECK_EQ_INT(buffer(&a, 5)[0], 0);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
}

/* Posts a receive with a segment that begins beyond the region; if not `alone`, behind a valid segment of 100 bytes. */
static void post_recv_begun_beyond(unsigned int slot, bool alone)
{
	VIP_DESCRIPTOR *d = prepare(&a, slot, 100);
	VIP_DESCRIPTOR_SEGMENT *beyond = &d->DS[alone ? 0 : 1];

	if (!alone) {
		d->CS.SegCount = 2;
		d->DS[1] = d->DS[0];
	}
	beyond->Local.Data.Address = buffer(&a, SLOTS) + 4096;
	beyond->Local.Length = 50;
	REQUIRE_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
}

static void a_segment_of_a_receive_may_begin_beyond_its_region(void)
{
	VIP_DESCRIPTOR *d;

	post_recv_begun_beyond(0, false);
	post_recv_begun_beyond(2, false);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
	memset(buffer(&b, 1), 'x', 120);
	post_send(&b, 1, 100);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 100);
	post_send(&b, 1, 120);
	expect_recv(&a, 2, VIP_STATUS_OP_RECEIVE | VIP_STATUS_PROTECTION_ERROR);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
}

static void a_receive_that_is_all_beyond_its_region_takes_no_data(void)
{
	post_recv_begun_beyond(0, true);
	post_recv_begun_beyond(2, true);
	post_send(&b, 1, 0);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	post_send(&b, 1, 1);
	expect_recv(&a, 2, VIP_STATUS_OP_RECEIVE | VIP_STATUS_PROTECTION_ERROR);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
}

/* The receive is posted before there is a connection. */
static void so_may_one_that_waits_for_the_connection(void)
{
	VIP_DESCRIPTOR *d;

	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	post_recv_beyond(0, 0);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_NOT_DONE);
	sides_connect(&a, &b);
	post_send(&b, 1, 100);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
}

/* Nothing is printed if a connection ends as the program requests. */
static void a_normal_end_prints_nothing(void)
{
	check_stderr_begin();
	post_recv(&a, 0, 64);
	REQUIRE_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
	/* all messages are printed before a NIC is closed */
	side_close(&b);
	side_close(&a);
	CHECK_EQ_STR(check_stderr_end(), "");
}

/* Programs request a connection until the server is there. */
static void a_server_that_is_not_there_yet_prints_nothing(void)
{
	union address local, remote;

	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	address_make(&b, "client", &local);
	address_make(&b, "late server", &remote);
	check_stderr_begin();
	CHECK_VIP(VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), NULL),
		  VIP_NO_MATCH);
	server_start(&a, "late server");
	client_connect(&b, "late server");
	server_join(&a);
	CHECK_EQ_STR(check_stderr_end(), "");
}

/* The second server finds its first qualifier in use, and listens at the next one. */
static void two_servers_of_one_discriminator_print_nothing(void)
{
	union address local, remote = { .bytes = { 0 } };
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	address_make(&a, "twice", &local);
	check_stderr_begin();
	CHECK_VIP(VipConnectWait(a.nic, &local.net, 0, &remote.net, &attr, &conn), VIP_TIMEOUT);
	CHECK_VIP(VipConnectWait(b.nic, &local.net, 0, &remote.net, &attr, &conn), VIP_TIMEOUT);
	CHECK_EQ_STR(check_stderr_end(), "");
}

/* The library never keeps a send back until the peer has a receive, so no send is deferred. */
static void no_send_is_deferred(void)
{
	VIP_BOOLEAN deferred = VIP_TRUE;

	CHECK_VIP(VipPostDeferredSends(b.vi, VIP_TRUE, &deferred), VIP_SUCCESS);
	CHECK_EQ_INT(deferred, VIP_FALSE);
	CHECK_VIP(VipPostDeferredSends(NULL, VIP_TRUE, &deferred), VIP_INVALID_PARAMETER);
}

static void there_are_no_tags_on_completion_queues(void)
{
	VIP_EVENT_HANDLE event;
	VIP_CQ_HANDLE cq;

	REQUIRE_VIP(VipCreateCQ(a.nic, 4, &cq), VIP_SUCCESS);
	CHECK_VIP(VipAddTagCQ(cq, &event, 1, 0), VIP_ERROR_NOT_SUPPORTED);
	CHECK_VIP(VipAddTagCQ(NULL, &event, 1, 0), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRemoveTagCQ(cq, NULL, 1), VIP_ERROR_NOT_SUPPORTED);
	CHECK_VIP(VipRemoveTagCQ(NULL, NULL, 1), VIP_INVALID_PARAMETER);
	REQUIRE_VIP(VipDestroyCQ(cq), VIP_SUCCESS);
}

/* Programs keep MaxTransferSize in an int, halve it and align it. */
static void the_largest_transfer_fits_into_an_int(void)
{
	int most = (int)a.nic_attr.MaxTransferSize;

	CHECK(most > 0);
	CHECK_EQ_INT(most, a.nic_attr.MaxTransferSize);
	CHECK_EQ_INT(most % 4096, 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(a_vi_without_a_tag_uses_memory_that_has_one),
	CHECK_TEST(a_vi_without_a_tag_connects_with_that_of_the_memory),
	CHECK_TEST(an_attempt_that_fails_does_not_settle_the_tag),
	CHECK_TEST(a_vi_without_a_tag_keeps_to_the_first_that_it_meets),
	CHECK_TEST(the_tag_may_go_before_the_vi_that_took_it_on),
	CHECK_TEST(a_vi_without_a_tag_takes_on_another_when_its_own_is_destroyed),
	CHECK_TEST(the_largest_transfer_fits_into_an_int),
	CHECK_END,
};
static const struct check_suite habit = {
	.name = "habit", .setup = open_nics, .teardown = close_sides, .tests = tests
};

static const struct check_test connected_tests[] = {
	CHECK_TEST(a_receive_may_reach_beyond_its_region),
	CHECK_TEST(a_message_that_reaches_beyond_the_region_fails),
	CHECK_TEST(a_segment_of_a_receive_may_begin_beyond_its_region),
	CHECK_TEST(a_receive_that_is_all_beyond_its_region_takes_no_data),
	CHECK_TEST(so_may_one_that_waits_for_the_connection),
	CHECK_TEST(a_normal_end_prints_nothing),
	CHECK_TEST(a_server_that_is_not_there_yet_prints_nothing),
	CHECK_TEST(two_servers_of_one_discriminator_print_nothing),
	CHECK_TEST(no_send_is_deferred),
	CHECK_TEST(there_are_no_tags_on_completion_queues),
	CHECK_END,
};
static const struct check_suite connected = {
	.name = "habit", .setup = open_connected, .teardown = close_sides, .tests = connected_tests
};

CHECK_SUITES(&habit, &connected);
