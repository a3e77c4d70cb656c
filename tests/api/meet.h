/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test and the peer that it forks, each with one end of a connection between them. Each process has its part in
 * `my`. The test connects, and the peer accepts.
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

void meet_open(size_t size);   /* opens everything except the connection, with so much memory */
void meet_accept(size_t size); /* in the peer: opens, exchanges offers, and accepts */
/* In the test: forks the peer, which calls `run`; opens, exchanges offers, and connects. */
void meet_start(void (*run)(void *), size_t size);

#endif /* MEET_H */
