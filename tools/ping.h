/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test that `datctl ping` makes: what is asked for, one end of it, and its steps.
 *
 * All but the order is compiled twice: for uDAPL 1.2, whose library this program is linked with, and
 * by ping_run20.c and ping_end20.c for 2.0, whose calls have the same names and are looked up in
 * libdat2.so.2. Both send the same bytes, so the peer may be a program of either.
 *
 * Invariant: a function that returns false has printed the reason on stderr, or left it out because of
 * cli_limit(); every wait has a bound.
 */
#ifndef TOOLS_PING_H
#define TOOLS_PING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

#ifdef PING_API_20
#include <dat2/udat.h>

#include "dat20.h"
#define API(call) ((__typeof__(&(call)))(uintptr_t)dat20_symbol(#call))
#define PING_REJECT(cr) API(dat_cr_reject)(cr, 0, NULL)
#else
#include <dat/udat.h>

#define API(call) call
#define PING_REJECT(cr) dat_cr_reject(cr)
#endif

struct ping_order {
	const char *adapter;
	const char *address;	/* of a server, or NULL: the peer is a second process of this host */
	uint64_t qual;		/* where the server listens */
	uint32_t patience;	/* for each wait, in microseconds */
	bool server;
	bool json;
};

/* Make the test as a program of 1.2, or of 2.0 if dat20_load() has returned true. Return an enum cli_status. */
int ping_run(const struct ping_order *order);
int ping_run20(const struct ping_order *order);

#ifdef PING_API_20
#define ping_run ping_run20
#define ping_open ping_open20
#define ping_prepare ping_prepare20
#define ping_endpoint ping_endpoint20
#define ping_hang_up ping_hang_up20
#define ping_close ping_close20
#define ping_event ping_event20
#define ping_tell ping_tell20
#define ping_say ping_say20
#define ping_hear ping_hear20
#define ping_post_receive ping_post_receive20
#define ping_write ping_write20
#define ping_read ping_read20
#define ping_bind ping_bind20
#define ping_fill ping_fill20
#define ping_check ping_check20
#define ping_cr_good ping_cr_good20
#define ping_queue_add ping_queue_add20
#define ping_queue_take ping_queue_take20
#define ping_queue_next ping_queue_next20
#define ping_queue_await ping_queue_await20
#define ping_place_pack ping_place_pack20
#define ping_place_unpack ping_place_unpack20
#endif

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

#define PING_WAITING 64		/* clients that may wait */
#define PING_WAITING_OF_ONE 16	/* ... of one address */
#define PING_LATEST 64		/* turns that are remembered */
#define PING_TURN_US 2000000u	/* how long clients may be silent, all together, while others wait */
#define PING_SLICE_US 50000u

/* The clients of a server (ping_queue.c). */
struct ping_queue {
	struct ping_waiting {
		DAT_CR_HANDLE cr;
		unsigned char host[HOST_SIZE];
	} waiting[PING_WAITING + 1];	/* in the order in which they came; the last place is for one that is looked at */
	unsigned int count;
	unsigned char latest[PING_LATEST][HOST_SIZE];	/* whose turns the last ones were: turn n is at n % PING_LATEST */
	uint64_t turns;
	uint32_t silent_us;	/* of the client whose turn it is */
};

struct ping_end {
	const char *adapter;
	DAT_TIMEOUT patience;		/* microseconds */
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, request_evd;
	struct ping_queue *queue;	/* of a server, or NULL */
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

bool ping_cr_good(DAT_CR_HANDLE cr, unsigned char host[HOST_SIZE]);
void ping_queue_add(struct ping_queue *q, DAT_CR_HANDLE cr);
void ping_queue_take(struct ping_end *end);
bool ping_queue_next(struct ping_queue *q, DAT_CR_HANDLE *cr);
DAT_RETURN ping_queue_await(struct ping_end *end, DAT_EVD_HANDLE evd, DAT_EVENT *event, bool *lost);

bool ping_event(struct ping_end *end, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected,
		const char *what, DAT_EVENT *event);

/*
 * ping_tell() sends a message, and waits for its completion; ping_say() does not wait. ping_hear()
 * receives a message, and checks it.
 */
bool ping_say(struct ping_end *end, enum ping_step step, struct ping_place place);
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
