/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts, for each address, the clients that connect to a datperf server and are silent.
 *
 * datperf has no authentication, so any client that reaches the server can occupy it, and it serves
 * one client at a time. A client that starts no test within the server's patience is disconnected;
 * an address whose clients did so too often is rejected, so that clients of other addresses are
 * served. One of them is forgotten each minute, because honest clients may have the same address.
 *
 * Invariant: the table never grows; an address that does not fit replaces another one.
 */
#include "config.h"

#include <netdb.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"
#include "host.h"
#include "log/limit.h"

#define GUESTS 64u
#define CHANCES 4u
#define FORGET_NS UINT64_C(60000000000)

struct guest {
	unsigned char host[HOST_SIZE];
	unsigned int silent;	/* clients that count; 0: the entry is free */
	uint64_t since_ns;	/* the next one is forgotten FORGET_NS later */
};

static struct {
	struct guest guest[GUESTS];
	unsigned int next;	/* the next entry that is overwritten when the table is full */
} guests;

/* Returns the entry of a host of which some clients still count, or NULL. */
static struct guest *guest_find(const unsigned char host[HOST_SIZE])
{
	uint64_t now = perf_now_ns();
	struct guest *found = NULL;

	for (unsigned int i = 0; i < GUESTS; i++) {
		struct guest *guest = &guests.guest[i];

		for (; guest->silent > 0 && now - guest->since_ns >= FORGET_NS; guest->silent--)
			guest->since_ns += FORGET_NS;
		if (guest->silent > 0 && memcmp(guest->host, host, HOST_SIZE) == 0)
			found = guest;
	}
	return found;
}

/* Says why a client is rejected, a few times only, because it may ask again and again. */
static void say_rejected(const struct sockaddr *address)
{
	static struct log_limit told;
	socklen_t size = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	char name[NI_MAXHOST] = "unknown";
	uint32_t left_out;

	if (!log_limit_pass(&told, &left_out))
		return;
	getnameinfo(address, size, name, sizeof(name), NULL, 0, NI_NUMERICHOST);
	cli_error("a client of the address %s is rejected, because %u others of it have started no test; one of these is "
		  "forgotten each minute", name, CHANCES);
}

/* Returns false, and says why, if clients of this address were silent too often. */
bool guest_welcome(const struct sockaddr *address)
{
	unsigned char host[HOST_SIZE];
	const struct guest *guest;

	host_of(address, host);
	guest = guest_find(host);
	if (guest == NULL || guest->silent < CHANCES)
		return true;
	say_rejected(address);
	return false;
}

/* Counts a client of this address that occupied the server and started no test. */
void guest_silent(const struct sockaddr *address)
{
	unsigned char host[HOST_SIZE];
	struct guest *guest;

	host_of(address, host);
	guest = guest_find(host);
	if (guest == NULL) {
		guest = &guests.guest[guests.next++ % GUESTS];
		memcpy(guest->host, host, HOST_SIZE);
		guest->silent = 0;
		guest->since_ns = perf_now_ns();
	}
	guest->silent++;
}
