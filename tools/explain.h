/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meaning of the standard's numbers, and what to do about them.
 *
 * The tables are compiled twice, because uDAPL 2.0 has more numbers than 1.2, and some of the subtypes
 * differ: explain_returns.c and explain_events.c are about 1.2, explain_returns20.c and
 * explain_events20.c about 2.0.
 *
 * Invariant: every table is complete; a test compares the tables with the standard's names.
 */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

#include <stdint.h>

#ifdef EXPLAIN_API_20
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#define explain_types explain20_types
#define explain_subtypes explain20_subtypes
#define explain_events explain20_events
#define explain_dto explain20_dto
#define explain_reasons explain20_reasons
#else
#include <dat/udat.h>
#endif

struct meaning {
	uint64_t value;
	const char *name;
	const char *text;
	const char *remedy;	/* or NULL */
};

/* Each table ends with a row whose name is NULL. */
extern const struct meaning explain_types[];		/* of a DAT_RETURN */
extern const struct meaning explain_subtypes[];
extern const struct meaning explain_events[];
extern const struct meaning explain_dto[];
extern const struct meaning explain_reasons[];		/* several reasons have the same number */

/* The same of 2.0. */
extern const struct meaning explain20_types[], explain20_subtypes[], explain20_events[],
	explain20_dto[], explain20_reasons[];

#endif
