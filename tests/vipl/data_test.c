/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends, receives, and RDMA between two VIs of one process. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct side a, b;

static void open_sides(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
}

static void open_connected(void)
{
	open_sides();
	sides_connect(&a, &b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

static void a_message_arrives_whole(void)
{
	post_recv(&a, 0, SLOT_SIZE);
	memset(buffer(&b, 1), 'x', 1000);
	post_send(&b, 1, 1000);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(descriptor(&b, 1)->CS.Length, 1000);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 1000);
	CHECK_EQ_MEM(buffer(&a, 0), buffer(&b, 1), 1000);
	CHECK_EQ_INT(buffer(&a, 0)[1000], 0);
}

static void an_empty_message_arrives(void)
{
	post_recv(&a, 0, 0);
	post_send(&b, 1, 0);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 0);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
}

static void immediate_data_come_with_a_send(void)
{
	VIP_DESCRIPTOR *d = prepare(&b, 1, 8);

	post_recv(&a, 0, 8);
	d->CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE;
	d->CS.ImmediateData = 0x12345678;
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.ImmediateData, 0x12345678);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 8);
}

static void two_segments_are_gathered_and_scattered(void)
{
	VIP_DESCRIPTOR *s = prepare(&b, 1, 100), *r = prepare(&a, 0, 30);

	for (int i = 0; i < SLOT_SIZE; i++)
		buffer(&b, 1)[i] = (uint8_t)i;
	s->CS.SegCount = r->CS.SegCount = 2;
	s->DS[1].Local = s->DS[0].Local;
	s->DS[1].Local.Data.Address = buffer(&b, 1) + 100;
	s->DS[1].Local.Length = 50;
	r->DS[1].Local = r->DS[0].Local;
	r->DS[1].Local.Data.Address = buffer(&a, 1);
	r->DS[1].Local.Length = 200;
	REQUIRE_VIP(VipPostRecv(a.vi, r, a.handle), VIP_SUCCESS);
	REQUIRE_VIP(VipPostSend(b.vi, s, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(r->CS.Length, 150);
	CHECK_EQ_MEM(buffer(&a, 0), buffer(&b, 1), 30);
	CHECK_EQ_MEM(buffer(&a, 1), buffer(&b, 1) + 30, 120);
}

/* Messages of all lengths around the limit up to which the library copies. Their buffer can be reused after the post. */
static void short_messages_arrive_whole(void)
{
	for (uint32_t length = 2; length < 140; length++) {
		VIP_DESCRIPTOR *s = prepare(&b, 1, length / 2);

		for (uint32_t i = 0; i < length; i++)
			buffer(&b, 1)[i] = (uint8_t)(i + length);
		s->CS.SegCount = 2;
		s->CS.Control = VIP_CONTROL_IMMEDIATE;
		s->CS.ImmediateData = length;
		s->DS[1].Local = s->DS[0].Local;
		s->DS[1].Local.Data.Address = buffer(&b, 1) + length / 2;
		s->DS[1].Local.Length = length - length / 2;
		post_recv(&a, 0, length);
		REQUIRE_VIP(VipPostSend(b.vi, s, b.handle), VIP_SUCCESS);
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
		CHECK_EQ_INT(s->CS.Length, length);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE);
		CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, length);
		CHECK_EQ_INT(descriptor(&a, 0)->CS.ImmediateData, length);
		CHECK_EQ_MEM(buffer(&a, 0), buffer(&b, 1), length);
	}
}

/* Messages as long as the receive, and shorter: nothing beyond the message is written. */
static void short_messages_stay_within_their_receive(void)
{
	for (uint32_t room = 1; room < 70; room++)
		for (uint32_t length = room > 2 ? room - 2 : 0; length <= room; length++) {
			memset(buffer(&a, 0), 'x', SLOT_SIZE);
			memset(buffer(&b, 1), (int)room, length + 1);
			post_recv(&a, 0, room);
			descriptor(&a, 0)->CS.ImmediateData = 7;
			post_send(&b, 1, length);
			expect_send(&b, 1, VIP_STATUS_OP_SEND);
			expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
			CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, length);
			CHECK_EQ_INT(descriptor(&a, 0)->CS.ImmediateData, 7);
			CHECK_EQ_MEM(buffer(&a, 0), buffer(&b, 1), length);
			CHECK_EQ_INT(buffer(&a, 0)[length], 'x');
		}
}

static void a_short_message_that_is_too_long_breaks_the_connection(void)
{
	memset(buffer(&a, 0), 'x', 32);
	post_recv(&a, 0, 8);
	post_send(&b, 1, 9);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_LENGTH_ERROR);
	CHECK_EQ_INT(buffer(&a, 0)[8], 'x');
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
}

/* Posts a receive of 64 bytes into memory that is registered for it alone. The descriptor is in a's block. */
static VIP_MEM_HANDLE post_recv_apart(uint8_t *memory)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	VIP_DESCRIPTOR *d = prepare(&a, 0, 8);
	VIP_MEM_HANDLE handle = 0;

	memset(memory, 'x', 64);
	CHECK_VIP(VipRegisterMem(a.nic, memory, 64, &mem, &handle), VIP_SUCCESS);
	d->DS[0].Local.Data.Address = memory;
	d->DS[0].Local.Handle = handle;
	CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
	return handle;
}

static void a_posted_receive_outlives_other_memory(void)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	static uint8_t memory[64], other[64];
	VIP_MEM_HANDLE handle = post_recv_apart(memory), gone;

	REQUIRE_VIP(VipRegisterMem(a.nic, other, sizeof(other), &mem, &gone), VIP_SUCCESS);
	REQUIRE_VIP(VipDeregisterMem(a.nic, other, gone), VIP_SUCCESS);
	memset(buffer(&b, 1), 'm', 8);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_MEM(memory, buffer(&b, 1), 8);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_CONNECTED);
	CHECK_VIP(VipDeregisterMem(a.nic, memory, handle), VIP_SUCCESS);
}

static bool over_device(void)
{
	return strncmp(adapter(), "ib-", 3) == 0 || strncmp(adapter(), "iwarp-", 6) == 0;
}

static void a_message_to_memory_that_is_gone_breaks_the_connection(void)
{
	static uint8_t memory[64];
	VIP_MEM_HANDLE handle = post_recv_apart(memory);
	VIP_DESCRIPTOR *got;

	REQUIRE_VIP(VipDeregisterMem(a.nic, memory, handle), VIP_SUCCESS);
	memset(buffer(&b, 1), 'm', 8);
	post_send(&b, 1, 8);
	CHECK_VIP(VipRecvWait(a.vi, check_patience_ms(), &got), VIP_DESCRIPTOR_ERROR);
	REQUIRE(got == descriptor(&a, 0));
	/* devices report other errors: rxe that the message is too long, siw a transport error */
	if (!over_device())
		CHECK_EQ_INT(got->CS.Status, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DONE |
						     VIP_STATUS_PROTECTION_ERROR);
	CHECK_EQ_INT(memory[0], 'x');
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
	/* the error does not outlast the connection */
	REQUIRE_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	side_drain(&a);
	side_drain(&b);
	sides_connect(&a, &b);
	post_recv(&a, 0, 8);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(state_of(&a), VIP_STATE_CONNECTED);
}

struct churn {
	_Atomic bool stop;
	_Atomic unsigned int rounds;
};

/* Registers and deregisters memory again and again. */
static void *churn_memory(void *arg)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	struct churn *churn = arg;
	VIP_MEM_HANDLE handle;
	uint8_t memory[64];

	while (!churn->stop) {
		if (VipRegisterMem(a.nic, memory, sizeof(memory), &mem, &handle) != VIP_SUCCESS ||
		    VipDeregisterMem(a.nic, memory, handle) != VIP_SUCCESS)
			break;
		churn->rounds++;
	}
	return NULL;
}

static void messages_arrive_while_a_thread_registers_memory(void)
{
	struct churn churn = { .stop = false };
	pthread_t thread;

	REQUIRE_EQ_INT(pthread_create(&thread, NULL, churn_memory, &churn), 0);
	REQUIRE_SOON(churn.rounds > 0);
	for (unsigned int i = 0; i < 300; i++) {
		memcpy(buffer(&b, 1), &i, sizeof(i));
		post_recv(&a, 0, 8);
		post_send(&b, 1, 8);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
		CHECK_EQ_MEM(buffer(&a, 0), &i, sizeof(i));
	}
	churn.stop = true;
	pthread_join(thread, NULL);
}

static void messages_complete_in_the_order_of_posting(void)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		post_recv(&a, i, SLOT_SIZE);
	for (unsigned int i = 0; i < SLOTS; i++) {
		buffer(&b, i)[0] = (uint8_t)i;
		post_send(&b, i, 1 + i * 100);
	}
	for (unsigned int i = 0; i < SLOTS; i++) {
		expect_recv(&a, i, VIP_STATUS_OP_RECEIVE);
		CHECK_EQ_INT(descriptor(&a, i)->CS.Length, 1 + i * 100);
		CHECK_EQ_INT(buffer(&a, i)[0], i);
		expect_send(&b, i, VIP_STATUS_OP_SEND);
	}
}

static void a_message_that_is_too_long_breaks_the_connection(void)
{
	post_recv(&a, 0, 100);
	post_send(&b, 1, 200);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_LENGTH_ERROR);
	REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
}

static void an_rdma_write_lands(void)
{
	VIP_DESCRIPTOR *d;

	memset(buffer(&b, 1), 'w', 500);
	d = prepare_rdma(&b, 1, 500, VIP_CONTROL_OP_RDMAWRITE, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE);
	CHECK_EQ_INT(d->CS.Length, 500);
	CHECK_EQ_MEM(buffer(&a, 3), buffer(&b, 1), 500);
}

static void an_rdma_write_with_immediate_data_takes_a_receive(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 16);
	post_recv(&a, 2, 16);
	memset(buffer(&b, 1), 'w', 500);
	d = prepare_rdma(&b, 1, 500, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE,
			 buffer(&a, 3), a.handle);
	d->CS.ImmediateData = 77;
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.ImmediateData, 77);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 500);
	CHECK_EQ_MEM(buffer(&a, 3), buffer(&b, 1), 500);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE);
	post_send(&b, 4, 16);
	expect_recv(&a, 2, VIP_STATUS_OP_RECEIVE);
}

static void an_rdma_read_brings(void)
{
	VIP_DESCRIPTOR *d;

	memset(buffer(&a, 3), 'r', 700);
	d = prepare_rdma(&b, 1, 700, VIP_CONTROL_OP_RDMAREAD, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_READ);
	CHECK_EQ_INT(d->CS.Length, 700);
	CHECK_EQ_MEM(buffer(&b, 1), buffer(&a, 3), 700);
}

/* Prepares an RDMA of two data segments. With the address segment these are three, one more than the struct declares. */
static VIP_DESCRIPTOR *prepare_pieces(unsigned int op)
{
	VIP_DESCRIPTOR *d = prepare_rdma(&b, 1, 300, op, buffer(&a, 3), a.handle);
	VIP_DESCRIPTOR_SEGMENT *ds = (void *)((char *)d + offsetof(VIP_DESCRIPTOR, DS));

	ds[2].Local = ds[1].Local;
	ds[2].Local.Data.Address = buffer(&b, 2);
	ds[2].Local.Length = 400;
	d->CS.SegCount = 3;
	d->CS.Length = 700;
	return d;
}

static void rdma_is_gathered_and_scattered_too(void)
{
	for (int i = 0; i < SLOT_SIZE; i++) {
		buffer(&a, 3)[i] = (uint8_t)i;
		buffer(&b, 1)[i] = buffer(&b, 2)[i] = 'x';
	}
	REQUIRE_VIP(VipPostSend(b.vi, prepare_pieces(VIP_CONTROL_OP_RDMAREAD), b.handle),
		    VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_READ);
	CHECK_EQ_INT(descriptor(&b, 1)->CS.Length, 700);
	CHECK_EQ_MEM(buffer(&b, 1), buffer(&a, 3), 300);
	CHECK_EQ_INT(buffer(&b, 1)[300], 'x');
	CHECK_EQ_MEM(buffer(&b, 2), buffer(&a, 3) + 300, 400);
	CHECK_EQ_INT(buffer(&b, 2)[400], 'x');

	memset(buffer(&a, 3), 0, SLOT_SIZE);
	post_recv(&a, 0, 8);
	post_send(&b, 5, 8);
	REQUIRE_VIP(VipPostSend(b.vi, prepare_pieces(VIP_CONTROL_OP_RDMAWRITE), b.handle),
		    VIP_SUCCESS);
	expect_send(&b, 5, VIP_STATUS_OP_SEND);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE);
	/* a message that is sent after a write arrives after it */
	post_recv(&a, 2, 8);
	post_send(&b, 6, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	expect_recv(&a, 2, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_MEM(buffer(&a, 3), buffer(&b, 1), 300);
	CHECK_EQ_MEM(buffer(&a, 3) + 300, buffer(&b, 2), 400);
	CHECK_EQ_INT(buffer(&a, 3)[700], 0);
}

/* Programs use such a write as a signal. */
static void a_write_of_nothing_brings_immediate_data(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 16);
	d = prepare_rdma(&b, 1, 0, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE,
			 buffer(&a, 3), a.handle);
	d->CS.ImmediateData = 0xFFFFFFFF;
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.ImmediateData, 0xFFFFFFFF);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 0);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE);
	CHECK_EQ_INT(d->CS.Length, 0);
}

static void read_and_send(uint32_t length)
{
	VIP_DESCRIPTOR *d;

	memset(buffer(&a, 3), (int)length, length);
	post_recv(&a, 0, SLOT_SIZE);
	d = prepare_rdma(&b, 1, length, VIP_CONTROL_OP_RDMAREAD, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	d = prepare(&b, 2, length);
	d->DS[0].Local.Data.Address = buffer(&b, 1);
	d->CS.Control = VIP_CONTROL_QFENCE;
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_MEM(buffer(&a, 0), buffer(&a, 3), length);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_READ);
	expect_send(&b, 2, VIP_STATUS_OP_SEND);
}

static void a_fenced_send_comes_after_the_read(void)
{
	read_and_send(700);
	read_and_send(60);
}

/*
 * Returns true if the completion of a write reports a refusal by the peer. Without reliable reception a write completes when
 * it has been sent, and a refusal is reported only by the end of the connection.
 */
static bool writes_tell_of_refusal(void)
{
	return b.nic_attr.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_RECEPTION;
}

static void rdma_outside_of_the_peers_memory_is_refused(void)
{
	VIP_DESCRIPTOR *d = prepare_rdma(&b, 1, 64, VIP_CONTROL_OP_RDMAWRITE,
					 a.block - 64, a.handle), *got;

	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	if (writes_tell_of_refusal())
		expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
	else
		CHECK(VipSendWait(b.vi, check_patience_ms(), &got) != VIP_TIMEOUT && got == d);
	REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
}

static void rdma_that_the_peers_vi_does_not_enable_is_refused(void)
{
	VIP_DESCRIPTOR *d;

	a.attr.EnableRdmaRead = VIP_FALSE;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_SUCCESS);
	sides_connect(&a, &b);
	CHECK_EQ_INT(b.remote.EnableRdmaRead, VIP_FALSE);
	d = prepare_rdma(&b, 1, 64, VIP_CONTROL_OP_RDMAREAD, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_READ | VIP_STATUS_RDMA_PROT_ERROR);
}

static void nor_is_a_write(void)
{
	VIP_DESCRIPTOR *d;

	a.attr.EnableRdmaWrite = VIP_FALSE;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_SUCCESS);
	sides_connect(&a, &b);
	buffer(&b, 1)[0] = 'w';
	d = prepare_rdma(&b, 1, 64, VIP_CONTROL_OP_RDMAWRITE, buffer(&a, 3), a.handle);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
	CHECK_EQ_INT(buffer(&a, 3)[0], 0);
}

static void open_unreliable(void)
{
	open_sides();
	a.attr.ReliabilityLevel = b.attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
	a.attr.EnableRdmaRead = b.attr.EnableRdmaRead = VIP_FALSE;
	REQUIRE_VIP(VipSetViAttributes(a.vi, &a.attr), VIP_SUCCESS);
	REQUIRE_VIP(VipSetViAttributes(b.vi, &b.attr), VIP_SUCCESS);
	sides_connect(&a, &b);
}

static void send_fails(VIP_DESCRIPTOR *d, unsigned int control, uint32_t status)
{
	d->CS.Control = (VIP_UINT16)control;
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	expect_send(&b, 1, status);
}

/* The peer is not affected either. */
static void a_bad_request_at_the_unreliable_level_breaks_nothing(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 8);
	send_fails(prepare(&b, 1, 8), VIP_CONTROL_OP_RESERVED, VIP_STATUS_FORMAT_ERROR);
	for (unsigned int bit = 0x10; bit <= 0x8000; bit *= 2)
		send_fails(prepare(&b, 1, 8), bit, VIP_STATUS_FORMAT_ERROR);
	send_fails(prepare_rdma(&b, 1, 8, 0, buffer(&a, 3), a.handle),
		   VIP_CONTROL_OP_RDMAREAD | VIP_CONTROL_IMMEDIATE,
		   VIP_STATUS_OP_RDMA_READ | VIP_STATUS_FORMAT_ERROR);
	/* without the address segment */
	send_fails(prepare(&b, 1, 0), VIP_CONTROL_OP_RDMAWRITE,
		   VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_FORMAT_ERROR);
	/* the unreliable level has no reads */
	send_fails(prepare_rdma(&b, 1, 8, 0, buffer(&a, 3), a.handle), VIP_CONTROL_OP_RDMAREAD,
		   VIP_STATUS_OP_RDMA_READ | VIP_STATUS_RDMA_PROT_ERROR);
	d = prepare(&b, 1, 8);
	d->DS[0].Local.Handle = 0;
	send_fails(d, 0, VIP_STATUS_PROTECTION_ERROR);
	d = prepare(&b, 1, 8);
	d->CS.SegCount = (VIP_UINT16)(b.nic_attr.MaxSegmentsPerDesc + 1);
	send_fails(d, 0, VIP_STATUS_FORMAT_ERROR);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_CONNECTED);
	buffer(&b, 1)[0] = 'g';
	post_send(&b, 1, 1);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(descriptor(&a, 0)->CS.Length, 1);
	CHECK_EQ_INT(buffer(&a, 0)[0], 'g');
}

static void a_failed_write_with_immediate_data_fails_once(void)
{
	VIP_DESCRIPTOR *d = prepare_rdma(&b, 1, 64,
					 VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE,
					 a.block - 64, a.handle);
	VIP_DESCRIPTOR *none;

	post_recv(&a, 0, 64);
	REQUIRE_VIP(VipPostSend(b.vi, d, b.handle), VIP_SUCCESS);
	if (writes_tell_of_refusal())
		expect_send(&b, 1, VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
	else
		CHECK(VipSendWait(b.vi, check_patience_ms(), &none) != VIP_TIMEOUT && none == d);
	/* the immediate data of a write that was not executed do not arrive */
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipSendDone(b.vi, &none), VIP_DESCRIPTOR_ERROR);
	CHECK(none == NULL);
}

static void a_large_message_arrives_whole(void)
{
	enum { SIZE = 3 << 20 };
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	VIP_MEM_HANDLE from, to;
	uint8_t *src = malloc(SIZE), *dst = calloc(1, SIZE);
	VIP_DESCRIPTOR *s = prepare(&b, 1, 1), *r = prepare(&a, 0, 1);

	for (int i = 0; i < SIZE; i++)
		src[i] = (uint8_t)(i * 7 + i / 4096);
	REQUIRE_VIP(VipRegisterMem(b.nic, src, SIZE, &mem, &from), VIP_SUCCESS);
	REQUIRE_VIP(VipRegisterMem(a.nic, dst, SIZE, &mem, &to), VIP_SUCCESS);
	s->DS[0].Local = (VIP_DATA_SEGMENT){ .Data.Address = src, .Handle = from, .Length = SIZE };
	r->DS[0].Local = (VIP_DATA_SEGMENT){ .Data.Address = dst, .Handle = to, .Length = SIZE };
	REQUIRE_VIP(VipPostRecv(a.vi, r, a.handle), VIP_SUCCESS);
	REQUIRE_VIP(VipPostSend(b.vi, s, b.handle), VIP_SUCCESS);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	expect_send(&b, 1, VIP_STATUS_OP_SEND);
	CHECK_EQ_INT(r->CS.Length, SIZE);
	CHECK_EQ_MEM(dst, src, SIZE);
	CHECK_VIP(VipDeregisterMem(b.nic, src, from), VIP_SUCCESS);
	CHECK_VIP(VipDeregisterMem(a.nic, dst, to), VIP_SUCCESS);
	free(src);
	free(dst);
}

static void ten_thousand_messages_go_both_ways(void)
{
	post_recv(&a, 0, 64);
	post_recv(&b, 0, 64);
	for (unsigned int i = 0; i < 10000; i++) {
		VIP_DESCRIPTOR *d;

		memcpy(buffer(&b, 1), &i, sizeof(i));
		post_send(&b, 1, 8);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
		REQUIRE(memcmp(buffer(&a, 0), &i, sizeof(i)) == 0);
		post_recv(&a, 0, 64);
		post_send(&a, 1, 8);
		expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
		post_recv(&b, 0, 64);
		while (VipSendDone(a.vi, &d) == VIP_NOT_DONE)
			;
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(a_message_arrives_whole),
	CHECK_TEST(an_empty_message_arrives),
	CHECK_TEST(immediate_data_come_with_a_send),
	CHECK_TEST(two_segments_are_gathered_and_scattered),
	CHECK_TEST(short_messages_arrive_whole),
	CHECK_TEST(short_messages_stay_within_their_receive),
	CHECK_TEST(a_short_message_that_is_too_long_breaks_the_connection),
	CHECK_TEST(a_posted_receive_outlives_other_memory),
	CHECK_TEST(a_message_to_memory_that_is_gone_breaks_the_connection),
	CHECK_TEST(messages_arrive_while_a_thread_registers_memory),
	CHECK_TEST(messages_complete_in_the_order_of_posting),
	CHECK_TEST(a_message_that_is_too_long_breaks_the_connection),
	CHECK_TEST(an_rdma_write_lands),
	CHECK_TEST(an_rdma_write_with_immediate_data_takes_a_receive),
	CHECK_TEST(an_rdma_read_brings),
	CHECK_TEST(rdma_is_gathered_and_scattered_too),
	CHECK_TEST(a_write_of_nothing_brings_immediate_data),
	CHECK_TEST(a_fenced_send_comes_after_the_read),
	CHECK_TEST(rdma_outside_of_the_peers_memory_is_refused),
	CHECK_TEST(a_failed_write_with_immediate_data_fails_once),
	CHECK_TEST(a_large_message_arrives_whole),
	CHECK_TEST(ten_thousand_messages_go_both_ways),
	CHECK_END,
};
static const struct check_suite connected = {
	.name = "data", .setup = open_connected, .teardown = close_sides, .tests = tests
};

static const struct check_test idle_tests[] = {
	CHECK_TEST(rdma_that_the_peers_vi_does_not_enable_is_refused),
	CHECK_TEST(nor_is_a_write),
	CHECK_END,
};
static const struct check_suite idle = {
	.name = "data", .setup = open_sides, .teardown = close_sides, .tests = idle_tests
};

static const struct check_test unreliable_tests[] = {
	CHECK_TEST(a_bad_request_at_the_unreliable_level_breaks_nothing),
	CHECK_END,
};
static const struct check_suite unreliable = {
	.name = "data", .setup = open_unreliable, .teardown = close_sides, .tests = unreliable_tests
};

CHECK_SUITES(&connected, &idle, &unreliable);
