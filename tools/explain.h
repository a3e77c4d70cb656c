/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The meaning of the standard's numbers, and what to do about them.
 *
 * Invariant: every table is complete; a test compares the tables with the standard's names.
 */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

#include <stdint.h>

#include <dat/udat.h>

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

#endif
