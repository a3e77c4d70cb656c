/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer of a RoCE adapter that uses neither rdma_cm nor verbs: it writes RoCEv2 packets, right or wrong, to the card beneath the
 * adapter. The card is a TAP device, so what is written to it arrives at the kernel as if it came from a network. hostile_test.sh
 * sets it up.
 */
#ifndef FABRIC_ROCE_H
#define FABRIC_ROCE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_CARD    "raw0"
#define ROCE_DEVICE  "rxe1"
#define ROCE_VICTIM  "10.9.7.1" /* has the MAC address that ends in 01 */
#define ROCE_ATTACKER "10.9.7.2" /* has the one that ends in 02 */

enum {
	ROCE_MAD = 256, /* bytes of a management datagram */
	ROCE_ROOM = 2048,
	ROCE_UD_SEND_ONLY = 0x64, /* the opcode of a packet: Send Only of an unreliable datagram */
	/* messages of connection management */
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_LAST = 0x1b, /* the first number that no message has */
};

/* The offsets of some fields in a message of connection management. */
enum {
	CM_LOCAL = 24, /* the sender's communication ID, 4 bytes */
	CM_REMOTE = 28, /* the receiver's communication ID, except in CM_REQ, where these 4 bytes are reserved */
	/* 3 bytes of the sender's queue pair number and one of its responder resources; its initiator depth is the 8th byte */
	CM_REQ_QP = 24 + 32,
	CM_REQ_PATH = 24 + 48, /* partition key, path MTU, RNR retries, and retries of the request: 4 bytes */
	CM_REQ_DATA = 24 + 140, /* private data: 36 bytes of librdmacm, then 56 of the program */
	CM_REQ_ROOM = 56,
	CM_REP_QP = 24 + 12,
	CM_REP_DATA = 24 + 36,
	CM_REJ_REASON = 24 + 10,
	CM_DREQ_QP = 24 + 8,
};

/* Attaches to the card, which then has a carrier. Returns false if there is no such card. */
bool roce_attach(int *card);

/*
 * Sends one packet to the queue pair, from the address `from`: ROCE_ATTACKER, or ROCE_VICTIM to pretend that it is the
 * victim's own. `rest` is what follows the base transport header: other headers and the payload.
 */
void roce_packet(int card, const char *from, unsigned int opcode, uint32_t qp, uint32_t psn, const void *rest, size_t size);
/* Sends bytes as the whole payload of a datagram to the port of RoCEv2, without a checksum. */
void roce_bytes(int card, const void *bytes, size_t size);
/* Sends a management datagram to queue pair 1. */
void roce_mad(int card, const unsigned char mad[ROCE_MAD]);

/* Writes the header of a message of connection management, and zeros behind it. */
void roce_cm(unsigned char mad[ROCE_MAD], unsigned int message, uint32_t local, uint32_t remote);
/* Writes a request for the port, as librdmacm would send it. */
void roce_request(unsigned char mad[ROCE_MAD], uint16_t port, uint32_t local);
/* Waits for a message of this kind, and drops all else that arrives. Returns false if none comes within `ms` milliseconds. */
bool roce_hear(int card, unsigned int message, unsigned char mad[ROCE_MAD], unsigned int ms);
uint32_t roce_get32(const unsigned char *at);

#endif
