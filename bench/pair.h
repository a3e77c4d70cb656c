/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The open adapter, and connected pairs of endpoints, whose completions all go to two EVDs, for the programs here that
 * have both ends of their connections in one process. Each function ends the program when it fails. A program that is
 * compiled with BENCH_API_20 is one of uDAPL 2.0.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <stddef.h>

#ifdef BENCH_API_20
#include <dat2/udat.h>
#else
#include <dat/udat.h>
#endif

struct pair_ia {
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, cr, recv, request;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_LMR_CONTEXT context; /* of `memory`; the next one is the peer's */
	DAT_RMR_CONTEXT target;
	char *memory;
};

extern struct pair_ia it;

/* Opens the adapter with room for n pairs, and `size` bytes of registered memory. */
void pair_open(const char *name, int n, size_t size);
void pair_close(void);
/* A part of the memory, as a local segment and as the target of an RDMA operation. */
DAT_LMR_TRIPLET pair_segment(size_t offset, size_t size);
DAT_RMR_TRIPLET pair_target(size_t offset, size_t size);
/* Each endpoint may have `depth` receives and as many requests under way, of messages up to `size`. */
void pair_connect(DAT_EP_HANDLE *active, DAT_EP_HANDLE *passive, size_t size, int depth);
/* Polls until there is a completion, and takes it. It has to be a success. */
void pair_take(DAT_EVD_HANDLE from);
void pair_ok(DAT_RETURN ret, const char *what);
double now_ns(void);

#endif
