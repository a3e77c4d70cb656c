/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that does not use libvipl: it uses <dat/udat.h>, and knows libvipl's messages. It runs in a process of its own, which
 * has one adapter, `foe`, and one endpoint at a time, foe.ep.
 */
#ifndef VIPL_FOE_H
#define VIPL_FOE_H

#include <netinet/in.h>

#include <dat/udat.h>

#include "world.h"

enum {
	HELLO = 52,	/* the longest private data of libvipl */
	MEMORY = 8192,
};

struct foe {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, connect, dto, cr;
	DAT_EP_HANDLE ep;
	DAT_LMR_CONTEXT context;
	struct sockaddr_in address;
	DAT_COUNT room; /* for private data */
	unsigned char mem[MEMORY];
};

extern struct foe foe;
extern uint32_t mtu;	/* of the victim's VI, which a client's has to equal */

void foe_open(void);
void foe_close(void);

DAT_EP_HANDLE endpoint(void);

/* Returns the qualifier of a discriminator, as vipl/listen.c computes it. */
DAT_CONN_QUAL door_of(const char *disc, unsigned int probe);

/* Writes the private data of a client's request, as vipl/wire.c does. The client waits for `timeout_ms`. */
DAT_COUNT hello_to(const char *disc, uint32_t timeout_ms, unsigned char *hello);

/* Sends a request to the door of `disc`. */
void ask(const char *disc, DAT_COUNT size, const unsigned char *data);

/* Sends the request of a client that waits for ever to the door of `door`. It names `disc`, and has these flags of vipl/wire.h. */
void ask_as_client(const char *door, const char *disc, unsigned char flags);

DAT_EVENT next(DAT_EVD_HANDLE evd);

/* Returns the verdict of libvipl, or -1 if the adapter has rejected the request. */
int verdict(void);

#endif
