/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim of tests with an attacker (hostile.h): the test's own adapter, with an endpoint that is for the attacker, and a
 * listener. A test that needs more of these makes them itself.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include "api.h"

extern struct victim {
	struct api_end end;
	struct api_buf buf;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual; /* where it listens, or where the attacker is to listen */
} victim;

void victim_opens(void);
void victim_opens_as(const char *adapter, size_t size); /* an adapter of the tests' dat.conf, and the size of the buffer */
void victim_tells(pid_t attacker);			/* the qualifier */
void victim_accepts(void);				/* the attacker's request, and is connected */
void victim_serves_others(void);			/* checks that two other endpoints of the adapter can connect and send */

/* An honest peer, for check_fork(), that connects when victim_serves_later() tells it where, which checks that it is served. */
void victim_later_peer(void *arg);
void victim_serves_later(pid_t peer);

/* Returns the number of lines in what the victim has written to stderr. */
unsigned int victim_said_lines(const char *text);

/* Returns the number of threads of this process. */
unsigned int victim_threads(void);

/* In the attacker: waits until it is told the qualifier. */
uint64_t victim_is_at(void);

#endif
