/* SPDX-License-Identifier: BSD-2-Clause */
/* How the tests are run: each in a child with a bound, several at a time. */
#ifndef CONFORM_RUN_H
#define CONFORM_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

struct run_options {
	const char *ia_name;
	unsigned int jobs;		/* children at a time */
	unsigned int bound_s;		/* of one test; beyond it is a hang */
	unsigned int patience_ms;
	struct sockaddr_storage server;	/* where the other side is; AF_UNSPEC: it is forked */
	bool verbose;			/* show what the provider wrote on stderr */
	void (*progress)(int done, int total, const char *id);	/* NULL: none */
};

/* Opens the IA once in a child; false, with a word on stderr, if that fails or crashes. */
bool run_probe(const struct run_options *options);
/* What the adapter of the last probe said of its provider: "soft 1.0", or "" if it said nothing. */
const char *run_provider(void);
/*
 * Runs every test that names a selected clause, and fills in the clauses' verdicts. False: the
 * server went meanwhile, and what it was needed for is untested.
 */
bool run_all(const struct run_options *options);

/* Says that there is no memory, and ends the process with status 3. */
_Noreturn void run_no_memory(void);

#endif /* CONFORM_RUN_H */
