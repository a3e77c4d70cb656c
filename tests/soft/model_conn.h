/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The beginning and the end of a connection under the model checker: the provider's teardown.c and established.c, with what they
 * do outside of shared memory replaced.
 */
#ifndef TESTS_SOFT_MODEL_CONN_H
#define TESTS_SOFT_MODEL_CONN_H

#include <stdbool.h>
#include <stdint.h>

/* What has happened. A scenario sets it to zero, and says which thread calls. */
struct model_conn {
	bool service;		  /* the calls are those of the service thread */
	unsigned int established; /* connections that were reported */
	unsigned int ended;	  /* ends that were reported, failed accepts included */
	unsigned int left;	  /* ports that were left to a peer */
	uint64_t clock;		  /* looks at the clock */
};
extern struct model_conn model_conn;

#endif
