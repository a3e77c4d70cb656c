/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library of libvipl's tests. A side is a NIC with a VI and one registered block of descriptors
 * and buffers. Two sides of one process, or of two, can be connected.
 *
 * Everything that blocks is bounded by check_patience_ms(). side_close() is for teardowns: it frees
 * all objects of the side that exist.
 */
#ifndef VIPL_WORLD_H
#define VIPL_WORLD_H

#include <pthread.h>

#include "check.h"
#include "vipl.h"

enum { SLOTS = 32, SLOT_SIZE = 4096 };

#define ADDRESS_ROOM (4 + 16 + 32)

/* Big enough for any address; the union aligns it. */
union address {
	VIP_NET_ADDRESS net;
	uint8_t bytes[ADDRESS_ROOM];
};

struct side {
	VIP_NIC_HANDLE nic;
	VIP_NIC_ATTRIBUTES nic_attr;
	VIP_VI_HANDLE vi;
	VIP_VI_ATTRIBUTES attr;		/* of vi */
	VIP_VI_ATTRIBUTES remote;	/* those of the other side's VI, which came with the connection */
	VIP_CQ_HANDLE cq;		/* of both queues, or NULL */
	uint8_t *block;			/* SLOTS descriptors of 128 bytes, then as many buffers */
	VIP_MEM_HANDLE handle;
	pthread_t thread;		/* of server_start() */
	bool serving;
	union address local;
	VIP_RETURN served;
};

const char *adapter(void);
void side_open(struct side *s);			/* NIC and memory */
void side_create_vi(struct side *s);		/* with the attributes s->attr and the completion queue s->cq */
void side_open_vi(struct side *s);		/* NIC, memory and a VI, with attributes that allow everything */
void sides_open_with_cq(struct side *a, struct side *b);	/* opens and connects both; a has a completion queue */
void side_close(struct side *s);
void side_drain(struct side *s);		/* takes all completed descriptors */

/* Makes a discriminator that differs from those of other programs that run at the same time. */
const char *disc_make(const char *name, char disc[32]);
void address_make(const struct side *s, const char *name, union address *address);

/* Waits for a client in a thread, and accepts it. */
void server_start(struct side *s, const char *disc);
void server_join(struct side *s);
void client_connect(struct side *s, const char *disc);
void sides_connect(struct side *server, struct side *client);
/* In a peer: sends a request when it is told to, and waits until it is killed. */
_Noreturn void client_ask_from_afar(const char *disc);

VIP_DESCRIPTOR *descriptor(struct side *s, unsigned int slot);
uint8_t *buffer(struct side *s, unsigned int slot);

/* Fills descriptor `slot` in: its buffer, or none if length is 0. */
VIP_DESCRIPTOR *prepare(struct side *s, unsigned int slot, uint32_t length);
VIP_DESCRIPTOR *prepare_rdma(struct side *s, unsigned int slot, uint32_t length, unsigned int op,
			     const void *remote, VIP_MEM_HANDLE handle);
void post_recv(struct side *s, unsigned int slot, uint32_t length);
void post_send(struct side *s, unsigned int slot, uint32_t length);

/* Waits for the first descriptor; it has to be this one, with this status but for the DONE bit. */
void expect_recv(struct side *s, unsigned int slot, uint32_t status);
void expect_send(struct side *s, unsigned int slot, uint32_t status);

VIP_VI_STATE state_of(const struct side *s);

#define CHECK_VIP(call, want)	CHECK_EQ_INT(call, want)
#define REQUIRE_VIP(call, want)	REQUIRE_EQ_INT(call, want)

#endif
