/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test and the peer forked off it, each with one end of a connection between them. What a process has of that is
 * in `my`. The test is the one that connects, the peer the one that accepts.
 */
#ifndef MEET_H
#define MEET_H

#include "api.h"

struct meet {
	struct api_end end;
	struct api_buf buf; /* all of it offered to the other side */
	DAT_EVD_HANDLE cr_evd;
	struct api_offer offer, theirs;
	pid_t peer; /* in the test */
};

extern struct meet my;

void meet_open(size_t size);   /* all but the connection; with so much memory */
void meet_accept(size_t size); /* in the peer: opens, swaps offers, and is connected to */
/* In the test: forks the peer that runs this, opens, swaps offers, and connects. */
void meet_start(void (*run)(void *), size_t size);

#endif /* MEET_H */
