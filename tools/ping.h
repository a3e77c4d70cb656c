/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of the test that `datctl ping` makes, and its steps.
 *
 * Invariant: a function that returns false has printed the reason on stderr; every wait has a
 * bound.
 */
#ifndef TOOLS_PING_H
#define TOOLS_PING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

#define PING_MESSAGE 4096	/* bytes of a send */
#define PING_REGION 65536	/* bytes of an RDMA transfer */
#define PING_PRIVATE 32		/* bytes of private data, each way */

/* What fills the memory in each step; no two steps have the same contents. */
enum ping_step {
	PING_NONE,
	PING_SEND,
	PING_REPLY,
	PING_WRITE,
	PING_READ,
	PING_WINDOW,
	PING_DONE,
	/*
	 * from the side that ends the connection: the end may be quicker than the peer's completion
	 */
	PING_BYE,
};

struct ping_memory {
	unsigned char *byte;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
};

/* Where the peer's memory is. A key of 0 with address 0 means that there is none. */
struct ping_place {
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
};

struct ping_end {
	const char *adapter;
	DAT_TIMEOUT patience;		/* microseconds */
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, request_evd;
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;
	struct ping_memory out, in;	/* messages */
	struct ping_memory shared;	/* memory that the peer may write and read */
	struct ping_memory window;	/* the same, through an RMR only */
	struct ping_memory local;	/* the local side of RDMA transfers */
};

bool ping_open(struct ping_end *end);		/* the adapter and its attributes */
bool ping_prepare(struct ping_end *end);	/* memory */
bool ping_endpoint(struct ping_end *end);	/* a fresh endpoint with a receive posted */
void ping_hang_up(struct ping_end *end);	/* frees the endpoint */
void ping_close(struct ping_end *end);		/* closes everything that is open */

bool ping_event(struct ping_end *end, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected,
		const char *what, DAT_EVENT *event);

/* Sends a message; receives a message, and checks it. */
bool ping_tell(struct ping_end *end, enum ping_step step, struct ping_place place);
bool ping_hear(struct ping_end *end, enum ping_step expected, struct ping_place *place);
bool ping_post_receive(struct ping_end *end);

bool ping_write(struct ping_end *end, struct ping_place place);
bool ping_read(struct ping_end *end, struct ping_place place);
/* Opens the window memory to the peer; place->address is 0 where the adapter has no windows. */
bool ping_bind(struct ping_end *end, struct ping_place *place);

void ping_fill(struct ping_memory *m, size_t from, enum ping_step step);
bool ping_check(const struct ping_memory *m, size_t from, enum ping_step step, const char *what);

/* Packs the place as private data, in a byte order that does not depend on the host. */
void ping_place_pack(unsigned char data[PING_PRIVATE], struct ping_place place);
bool ping_place_unpack(const void *data, DAT_COUNT size, struct ping_place *place);

#endif
