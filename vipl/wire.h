/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two instances of libvipl send each other: the header of every message, and the private data
 * of a connection. All numbers are little-endian; a change here needs another WIRE_VERSION.
 */
#ifndef VIPL_WIRE_H
#define VIPL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vipl.h"

#define MAX_DISC		16	/* bytes of a discriminator; a request holds two */
#define WIRE_VERSION		2

/* Precedes the data of each send. For an RDMA write with immediate data, it is a whole message. */
struct wire_head {
	uint8_t kind;			/* WIRE_SEND or WIRE_WRITTEN */
	uint8_t flags;			/* WIRE_IMMEDIATE */
	uint16_t zero;
	uint32_t immediate;
	uint32_t length;		/* bytes that follow, or were written */
	uint32_t zero2;
};

#define WIRE_SEND		1
#define WIRE_WRITTEN		2
#define WIRE_GREETING		3	/* a greeting: see greeting.c */
#define WIRE_IMMEDIATE		1

/* The last two are sent in an acceptance, because a rejection carries no data: see listen.c. */
enum wire_verdict { WIRE_ASKS = 0, WIRE_ACCEPTS = 1, WIRE_NO_MATCH = 2, WIRE_REJECTS = 3 };

#define WIRE_PEER		1	/* flags of a hello */
#define WIRE_RDMA_WRITE		2	/* the sender's VI enables it */
#define WIRE_RDMA_READ		4
#define WIRE_WILL_GREET		8

/* The fields of a request's or an acceptance's private data. */
struct wire_hello {
	enum wire_verdict verdict;
	bool peer;
	bool greets;			/* the requesting side will send a greeting */
	VIP_VI_ATTRIBUTES attr;		/* MaxTransferSize saturated, QoS cut to 32 bits */
	uint32_t timeout_ms;		/* 0xFFFFFFFF: for ever */
	uint8_t from_len;
	uint8_t to_len;
	uint8_t from[MAX_DISC];		/* discriminators */
	uint8_t to[MAX_DISC];
};

#define WIRE_HELLO_MAX		(20 + 2 * MAX_DISC)

size_t wire_pack(const struct wire_hello *hello, uint8_t *out);
bool wire_unpack(const void *data, size_t size, struct wire_hello *hello);
uint32_t wire_mtu(VIP_ULONG max_transfer_size);
uint32_t wire_qos(VIP_QOS qos);

#endif
