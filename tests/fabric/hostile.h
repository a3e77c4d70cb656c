/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that uses rdma_cm and verbs without the provider's code, on either side of a connection, and does what no provider does.
 * Its functions REQUIRE what the kernel must grant, and return what depends on the victim.
 */
#ifndef FABRIC_HOSTILE_H
#define FABRIC_HOSTILE_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

/* The message by which the victim, which is the test, tells the attacker where to connect. */
struct hostile_target {
	struct sockaddr_in address;
	uint64_t qual;
	/* the victim's memory that the attacker tries to access, and the key and length that it uses */
	uint64_t begin;
	uint32_t key;
	uint32_t length;
};

/* One connection of the attacker, or one attempt to connect. */
struct hostile {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* or NULL */
	struct rdma_cm_id *id;
	const struct ibv_mr *mr;
	unsigned char *mem; /* HOSTILE_ROOM bytes, registered with all rights, shared by all connections */
	struct ibv_qp *qp; /* unknown to librdmacm, which therefore does not confirm a connection by itself */
	struct rdma_conn_param param;
};

enum { HOSTILE_ROOM = 1 << 16, HOSTILE_DEPTH = 64 };

/* Returns the port that a connection qualifier stands for. */
uint16_t hostile_port(uint64_t qual);

/* Resolves the target's address and route, and creates a queue pair. */
void hostile_reach(struct hostile *h, const struct hostile_target *to);
/* Sends the connection request, and reads no event. Returns an errno, or 0. */
int hostile_ask(struct hostile *h, const void *pdata, size_t len);
/*
 * Reads events until one of this type arrives, or one that ends the attempt. Returns true for this type. While it waits for
 * ESTABLISHED, it confirms the victim's answer and returns true if that succeeds.
 */
bool hostile_awaits(struct hostile *h, enum rdma_cm_event_type type);
/* Connects its queue pair after the victim's answer, and confirms nothing. Returns false if that fails. */
bool hostile_joins(struct hostile *h);
/* Does all of the above, up to an established connection. Returns false if there is none. */
bool hostile_connect(struct hostile *h, const struct hostile_target *to);

/* The passive side: listens at the target's address and qualifier. */
void hostile_listen(struct hostile *h, const struct hostile_target *at);
/* Forgets the last request, waits for the next one and creates its queue pair. */
void hostile_hear(struct hostile *h);
int hostile_accept(struct hostile *h, const void *pdata, size_t len);
int hostile_reject(struct hostile *h, const void *pdata, size_t len);

/* Posts one request, and returns the status of its completion, or -1 if it does not complete within `ms` milliseconds. */
int hostile_do(struct hostile *h, enum ibv_wr_opcode op, uint32_t bytes, uint64_t remote, uint32_t key, unsigned int ms);
/* Posts `count` receives of `bytes` bytes each. */
void hostile_receive(struct hostile *h, int count, uint32_t bytes);

/* Destroys all objects of the connection without a disconnect. The peer gets only what the kernel sends then. */
void hostile_close(struct hostile *h);
/* Destroys only the id and its queue pair, so that a request is never answered. */
void hostile_forget(struct hostile *h);

/* Returns the next number of a reproducible pseudo-random sequence. */
uint64_t hostile_random(uint64_t *seed);

#endif
