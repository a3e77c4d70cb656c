/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that does not use the provider's code: it talks rdma_cm and verbs by itself, on either side of a connection,
 * and then does what no provider does. Its functions REQUIRE what the kernel has to grant, and return what the victim
 * decides.
 */
#ifndef FABRIC_HOSTILE_H
#define FABRIC_HOSTILE_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

/* What the victim, which is the test, says to the attacker. */
struct hostile_target {
	struct sockaddr_in address;
	uint64_t qual;
	/* memory that the attacker is to reach for, and what it is to know of it */
	uint64_t begin;
	uint32_t key;
	uint32_t length;
};

/* One connection of the attacker's, or one attempt to make one. */
struct hostile {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* or NULL */
	struct rdma_cm_id *id;
	const struct ibv_mr *mr;
	unsigned char *mem; /* HOSTILE_ROOM bytes, registered with all rights; all connections have the same */
	struct ibv_qp *qp; /* librdmacm does not know it, so it does not confirm by itself */
	struct rdma_conn_param param;
};

enum { HOSTILE_ROOM = 1 << 16, HOSTILE_DEPTH = 64 };

/* The port that a connection qualifier stands for. */
uint16_t hostile_port(uint64_t qual);

/* Up to the resolved route, with a queue pair. */
void hostile_reach(struct hostile *h, const struct hostile_target *to);
/* Sends the request, and reads no event. Returns an errno, or 0. */
int hostile_ask(struct hostile *h, const void *pdata, size_t len);
/*
 * Reads events until this one, or another that ends the attempt. Returns whether it was this one. If it is
 * ESTABLISHED, confirms the victim's answer.
 */
bool hostile_awaits(struct hostile *h, enum rdma_cm_event_type type);
/* All of the above, up to an established connection. */
bool hostile_connect(struct hostile *h, const struct hostile_target *to);

/* The passive side: listens at the target's address and qualifier. */
void hostile_listen(struct hostile *h, const struct hostile_target *at);
/* Waits for the next request. */
void hostile_hear(struct hostile *h);
int hostile_accept(struct hostile *h, const void *pdata, size_t len);
int hostile_reject(struct hostile *h, const void *pdata, size_t len);

/* Posts one request, and returns the status of its completion, or -1 if it does not complete within `ms` milliseconds. */
int hostile_do(struct hostile *h, enum ibv_wr_opcode op, uint32_t bytes, uint64_t remote, uint32_t key, unsigned int ms);
/* Posts receives of that length. */
void hostile_receive(struct hostile *h, int count, uint32_t bytes);

/* Destroys what there is of it, without a word to the peer beyond what the kernel says. */
void hostile_close(struct hostile *h);
/* The same of the id alone, where a request is to be forgotten. */
void hostile_forget(struct hostile *h);

/* A reproducible number. */
uint64_t hostile_random(uint64_t *seed);

#endif
