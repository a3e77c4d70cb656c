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
	unsigned int bound_s;		/* the bound of one test; a test that takes longer counts as a hang */
	unsigned int deadline_s;	/* the tests are ended after this time; 0: no limit */
	unsigned int patience_ms;
	struct sockaddr_storage server;	/* where the other side is; AF_UNSPEC: it is forked */
	bool verbose;			/* show what the provider wrote on stderr */
	void (*progress)(int done, int total, const char *id);	/* NULL: none */
};

/*
 * Opens the IA once in a child; returns false after a message on stderr if that fails or crashes.
 */
bool run_probe(const struct run_options *options);
/* The provider of the last probed adapter, as "soft 1.0", or "" if it is unknown. */
const char *run_provider(void);
/*
 * Runs every test that names a selected clause, and fills in the clauses' verdicts. Returns NULL, or
 * why some have no result: the server ended meanwhile, or there was no time left. Their clauses are
 * untested.
 */
const char *run_all(const struct run_options *options);

/* Reports that there is no memory, and ends the process with status 3. */
_Noreturn void run_no_memory(void);

#endif /* CONFORM_RUN_H */
