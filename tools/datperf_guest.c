/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts, for each address, the clients that connect to a datperf server and start no test.
 *
 * datperf has no authentication, so any client that reaches the server can occupy it, and it serves
 * one client at a time. A client that starts no test is disconnected after the server's patience;
 * an address that did so too often is rejected, so that clients of other addresses are served.
 *
 * Invariant: the table never grows; an address that does not fit replaces another one.
 */
#include "config.h"

#include <netinet/in.h>
#include <string.h>

#include "datperf.h"

#define GUESTS 64u
#define CHANCES 4u

struct guest {
	unsigned char host[16];
	unsigned int wasted;	/* 0: the entry is free */
};

static struct {
	struct guest guest[GUESTS];
	unsigned int next;	/* the next entry that is overwritten when the table is full */
} guests;

/*
 * Writes the host of an address. For IPv6 it is the network, because one host can have all of its
 * addresses.
 */
static void host_of(const struct sockaddr *address, unsigned char host[16])
{
	memset(host, 0, 16);
	if (address == NULL)
		return;
	if (address->sa_family == AF_INET6)
		memcpy(host, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
	else if (address->sa_family == AF_INET)
		memcpy(host, &((const struct sockaddr_in *)address)->sin_addr, 4);
}

static struct guest *guest_find(const unsigned char host[16])
{
	for (unsigned int i = 0; i < GUESTS; i++)
		if (guests.guest[i].wasted > 0 && memcmp(guests.guest[i].host, host, 16) == 0)
			return &guests.guest[i];
	return NULL;
}

/* Returns false if clients of this address have started no test too often. */
bool guest_welcome(const struct sockaddr *address)
{
	unsigned char host[16];
	const struct guest *guest;

	host_of(address, host);
	guest = guest_find(host);
	return guest == NULL || guest->wasted < CHANCES;
}

/* Counts a client of this address that occupied the server and started no test. */
void guest_wasted(const struct sockaddr *address)
{
	unsigned char host[16];
	struct guest *guest;

	host_of(address, host);
	guest = guest_find(host);
	if (guest == NULL) {
		guest = &guests.guest[guests.next++ % GUESTS];
		memcpy(guest->host, host, 16);
		guest->wasted = 0;
	}
	guest->wasted++;
}
