/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts, for each address, the clients that connect to a datperf server and are silent.
 *
 * datperf has no authentication, so any client that reaches the server can occupy it, and it serves
 * one client at a time. A client that starts no test within the server's patience is disconnected;
 * an address whose clients did so too often is rejected, so that clients of other addresses are
 * served. One of them is forgotten each minute, because honest clients may have the same address.
 * A client that starts no test either, but leaves sooner, counts by the time that it has taken.
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
	unsigned int silent;	/* clients that count */
	uint64_t spent_ns;	/* the time that other clients have taken; 0, if there are no silent ones: the entry is free */
	uint64_t since_ns;	/* the next one is forgotten FORGET_NS later */
};

static struct {
	struct guest guest[GUESTS];
	unsigned int next;	/* the next entry that is overwritten when the table is full */
} guests;

static bool counts(const struct guest *guest)
{
	return guest->silent > 0 || guest->spent_ns > 0;
}

/* Forgets a client, or the time of those that are not counted yet. */
static void forget_one(struct guest *guest)
{
	if (guest->silent > 0)
		guest->silent--;
	else
		guest->spent_ns = 0;
}

/* Returns the entry of a host of which something still counts, or NULL. */
static struct guest *guest_find(const unsigned char host[HOST_SIZE])
{
	uint64_t now = perf_now_ns();
	struct guest *found = NULL;

	for (unsigned int i = 0; i < GUESTS; i++) {
		struct guest *guest = &guests.guest[i];

		for (; counts(guest) && now - guest->since_ns >= FORGET_NS; guest->since_ns += FORGET_NS)
			forget_one(guest);
		if (counts(guest) && memcmp(guest->host, host, HOST_SIZE) == 0)
			found = guest;
	}
	return found;
}

/* As guest_find(), but there is an entry for each host. */
static struct guest *guest_entry(const struct sockaddr *address)
{
	unsigned char host[HOST_SIZE];
	struct guest *guest;

	host_of(address, host);
	guest = guest_find(host);
	if (guest != NULL)
		return guest;
	guest = &guests.guest[guests.next++ % GUESTS];
	*guest = (struct guest){ .since_ns = perf_now_ns() };
	memcpy(guest->host, host, HOST_SIZE);
	return guest;
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
	guest_entry(address)->silent++;
}

/*
 * Counts a client of this address that left before it had to, and started no test, by the time that it has taken: all such
 * clients together count as one for each `patience_ns`.
 */
void guest_spent(const struct sockaddr *address, uint64_t ns, uint64_t patience_ns)
{
	struct guest *guest = guest_entry(address);

	guest->spent_ns += ns;
	for (; guest->spent_ns >= patience_ns; guest->spent_ns -= patience_ns)
		guest->silent++;
}
