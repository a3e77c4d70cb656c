/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns sides. Invariant: a member of a side is not 0 exactly while its object exists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

enum { DESCRIPTOR_ROOM = 128 };

const char *adapter(void)
{
	const char *name = getenv("OPENDAT_TEST_IA");

	return name != NULL && *name != '\0' ? name : "soft0";
}

void side_open(struct side *s)
{
	size_t size = SLOTS * (DESCRIPTOR_ROOM + SLOT_SIZE);
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_TRUE, .EnableRdmaRead = VIP_TRUE };

	REQUIRE_VIP(VipOpenNic(adapter(), &s->nic), VIP_SUCCESS);
	REQUIRE_VIP(VipQueryNic(s->nic, &s->nic_attr), VIP_SUCCESS);
	s->block = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	REQUIRE(s->block != NULL);
	memset(s->block, 0, size);
	REQUIRE_VIP(VipRegisterMem(s->nic, s->block, size, &mem, &s->handle), VIP_SUCCESS);
}

void side_create_vi(struct side *s)
{
	REQUIRE_VIP(VipCreateVi(s->nic, &s->attr, s->cq, s->cq, &s->vi), VIP_SUCCESS);
}

void side_open_vi(struct side *s)
{
	side_open(s);
	s->attr = (VIP_VI_ATTRIBUTES){
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.EnableRdmaWrite = VIP_TRUE,
		.EnableRdmaRead = VIP_TRUE,
	};
	side_create_vi(s);
}

void sides_open_with_cq(struct side *a, struct side *b)
{
	side_open(a);
	a->attr = (VIP_VI_ATTRIBUTES){ .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	REQUIRE_VIP(VipCreateCQ(a->nic, 64, &a->cq), VIP_SUCCESS);
	side_create_vi(a);
	side_open_vi(b);
	sides_connect(a, b);
}

void side_drain(struct side *s)
{
	VIP_DESCRIPTOR *d;

	while (VipSendDone(s->vi, &d) != VIP_NOT_DONE && d != NULL)
		;
	while (VipRecvDone(s->vi, &d) != VIP_NOT_DONE && d != NULL)
		;
}

void side_close(struct side *s)
{
	if (s->serving)
		pthread_join(s->thread, NULL);
	if (s->vi != NULL) {
		VipDisconnect(s->vi);
		side_drain(s);
		CHECK_VIP(VipDestroyVi(s->vi), VIP_SUCCESS);
	}
	if (s->cq != NULL)
		CHECK_VIP(VipDestroyCQ(s->cq), VIP_SUCCESS);
	if (s->handle != 0)
		CHECK_VIP(VipDeregisterMem(s->nic, s->block, s->handle), VIP_SUCCESS);
	if (s->nic != NULL)
		CHECK_VIP(VipCloseNic(s->nic), VIP_SUCCESS);
	free(s->block);
	memset(s, 0, sizeof(*s));
}

static pid_t program;	/* the process from which all processes of a test are forked */

static __attribute__((constructor)) void learn_program(void)
{
	program = getpid();
}

const char *disc_make(const char *name, char disc[32])
{
	snprintf(disc, 32, "%.20s%x", name, (unsigned int)program);
	return disc;
}

void address_make(const struct side *s, const char *name, union address *address)
{
	uint8_t *bytes = address->bytes + 4;
	char disc[32];

	disc_make(name, disc);
	address->net.HostAddressLen = s->nic_attr.NicAddressLen;
	address->net.DiscriminatorLen = (VIP_UINT16)strlen(disc);
	memcpy(bytes, s->nic_attr.LocalNicAddress, s->nic_attr.NicAddressLen);
	memcpy(bytes + s->nic_attr.NicAddressLen, disc, strlen(disc));
}

static void *serve(void *arg)
{
	struct side *s = arg;
	union address remote = { .bytes = { 0 } };
	VIP_CONN_HANDLE conn;

	s->served = VipConnectWait(s->nic, &s->local.net, check_patience_ms(), &remote.net,
				   &s->remote, &conn);
	if (s->served == VIP_SUCCESS)
		s->served = VipConnectAccept(conn, s->vi);
	return NULL;
}

void server_start(struct side *s, const char *disc)
{
	union address remote = { .bytes = { 0 } };
	VIP_CONN_HANDLE conn;

	address_make(s, disc, &s->local);
	/* after the first VipConnectWait() the library listens */
	REQUIRE_VIP(VipConnectWait(s->nic, &s->local.net, 0, &remote.net, &s->remote, &conn),
		    VIP_TIMEOUT);
	REQUIRE(pthread_create(&s->thread, NULL, serve, s) == 0);
	s->serving = true;
}

void server_join(struct side *s)
{
	REQUIRE(s->serving);
	pthread_join(s->thread, NULL);
	s->serving = false;
	REQUIRE_VIP(s->served, VIP_SUCCESS);
}

void client_connect(struct side *s, const char *disc)
{
	union address local, remote;

	address_make(s, "client", &local);
	address_make(s, disc, &remote);
	REQUIRE_VIP(VipConnectRequest(s->vi, &local.net, &remote.net, check_patience_ms(),
				      &s->remote), VIP_SUCCESS);
}

void sides_connect(struct side *server, struct side *client)
{
	server_start(server, "server");
	client_connect(client, "server");
	server_join(server);
}

_Noreturn void client_ask_from_afar(const char *disc)
{
	struct side client = { .nic = NULL };
	union address local, remote;

	side_open_vi(&client);
	check_await(CHECK_PARENT);
	address_make(&client, "me", &local);
	address_make(&client, disc, &remote);
	VipConnectRequest(client.vi, &local.net, &remote.net, VIP_INFINITE, NULL);
	for (;;)
		pause();
}

VIP_DESCRIPTOR *descriptor(struct side *s, unsigned int slot)
{
	return (void *)(s->block + (size_t)slot * DESCRIPTOR_ROOM);
}

uint8_t *buffer(struct side *s, unsigned int slot)
{
	return s->block + SLOTS * DESCRIPTOR_ROOM + (size_t)slot * SLOT_SIZE;
}

VIP_DESCRIPTOR *prepare(struct side *s, unsigned int slot, uint32_t length)
{
	VIP_DESCRIPTOR *d = descriptor(s, slot);

	memset(d, 0, sizeof(*d));
	d->CS.Length = length;
	if (length > 0) {
		d->CS.SegCount = 1;
		d->DS[0].Local.Data.Address = buffer(s, slot);
		d->DS[0].Local.Handle = s->handle;
		d->DS[0].Local.Length = length;
	}
	return d;
}

VIP_DESCRIPTOR *prepare_rdma(struct side *s, unsigned int slot, uint32_t length, unsigned int op,
			     const void *remote, VIP_MEM_HANDLE handle)
{
	VIP_DESCRIPTOR *d = prepare(s, slot, length);

	d->CS.Control = (VIP_UINT16)op;
	d->DS[1] = d->DS[0];
	d->DS[0].Remote.Data.Address = (void *)(uintptr_t)remote;
	d->DS[0].Remote.Handle = handle;
	d->CS.SegCount = length > 0 ? 2 : 1;
	return d;
}

void post_recv(struct side *s, unsigned int slot, uint32_t length)
{
	REQUIRE_VIP(VipPostRecv(s->vi, prepare(s, slot, length), s->handle), VIP_SUCCESS);
}

void post_send(struct side *s, unsigned int slot, uint32_t length)
{
	REQUIRE_VIP(VipPostSend(s->vi, prepare(s, slot, length), s->handle), VIP_SUCCESS);
}

static void expect(struct side *s, VIP_RETURN got, const VIP_DESCRIPTOR *d, unsigned int slot,
		   uint32_t status)
{
	REQUIRE_VIP(got, status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
	REQUIRE(d == descriptor(s, slot));
	CHECK_EQ_INT(d->CS.Status, status | VIP_STATUS_DONE);
}

void expect_recv(struct side *s, unsigned int slot, uint32_t status)
{
	VIP_DESCRIPTOR *d = NULL;
	VIP_RETURN ret = VipRecvWait(s->vi, check_patience_ms(), &d);

	expect(s, ret, d, slot, status);
}

void expect_send(struct side *s, unsigned int slot, uint32_t status)
{
	VIP_DESCRIPTOR *d = NULL;
	VIP_RETURN ret = VipSendWait(s->vi, check_patience_ms(), &d);

	expect(s, ret, d, slot, status);
}

VIP_VI_STATE state_of(const struct side *s)
{
	VIP_VI_STATE state = VIP_STATE_ERROR;

	CHECK_VIP(VipQueryVi(s->vi, &state, NULL, NULL, NULL), VIP_SUCCESS);
	return state;
}
