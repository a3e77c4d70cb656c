/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory files of regions: what is mapped of them, and a process that opens one before it is sealed. */
#ifndef CONVERT_FILE_H
#define CONVERT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define FILE_NAME "opendat-registered" /* as /proc/PID/maps shows it */

/* Whether the byte at `at` is in memory that the provider has made shared. */
bool shared(const void *at);

/* What it does, any process of the user can do by way of /proc. */
struct intruder {
	enum { AWAY, MAPS, WRITES } does;
	size_t at, len;	    /* where it writes, and how much it maps */
	unsigned char *map; /* its mapping, or NULL */
	int lease_error;    /* what a request for a lease of a file fails with; 0: the kernel decides */
};

extern struct intruder intruder;

#endif
