/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a connection over one adapter, in either API: many_side.c is compiled as a program of each, into two libraries of
 * these functions. Each returns NULL, or what has failed.
 */
#ifndef MANY_H
#define MANY_H

#include <netinet/in.h>
#include <stdint.h>

struct many;

/* Where rank 0 listens. */
struct many_place {
	uint64_t qual;
	struct sockaddr_in6 address; /* of either family */
};

struct many_calls {
	const char *(*open)(const char *adapter, struct many **out);
	const char *(*listen)(struct many *many, struct many_place *place);
	const char *(*connect)(struct many *many, const struct many_place *place);
	const char *(*accept)(struct many *many);
	const char *(*established)(struct many *many);
	/* Sends a message of this round; the first one tells the peer where it may write. */
	const char *(*send)(struct many *many, unsigned int round);
	/* Awaits the peer's message of this round. */
	const char *(*receive)(struct many *many, unsigned int round);
	/* Writes to the peer's memory, and reads that back. */
	const char *(*write)(struct many *many, unsigned int round);
	const char *(*close)(struct many *many);
};

#endif
