/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of level debug about refused calls, except posts and binds, which dat12_diag.c explains. */
#ifndef DAT12_REFUSED_H
#define DAT12_REFUSED_H

#include <datp/wrap.h>

#include "dat12.h"

/* A call: its name without dat_, and its arguments. */
struct dat12_call {
	const char *name;
	int n;
	const struct datp_arg *args;
};

/*
 * Logs why `call` was refused with `ret`. w[i] is its ith argument, a pointer or a value in the low
 * bytes. No lock may be held.
 */
void dat12_refused(const struct dat12_call *call, const uint64_t *w, DAT_RETURN ret);
/* The same for a refused dat_ia_close(). */
void dat12_close_refused(struct datp_ia *ia, DAT_CLOSE_FLAGS flags, DAT_RETURN ret);
/* At level debug, puts functions that log a refusal in front of the calls that wait and of dat_evd_dequeue(). */
void dat12_refused_fill(DAT_PROVIDER *table);

#endif
