/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The standard's identifiers for the standard's numbers.
 *
 * Invariant: every table is written with the identifiers of <dat/udat.h>, so a name here cannot
 * drift from its value. Those of uDAPL 2.0 have the same values. Nothing here has a type of DAT, so
 * that files for 2.0 can include it.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct name {
	uint64_t value;
	const char *name;
};

/* All tables end with a NULL name. In those of flags, a first row of 0 names the empty set. */
extern const struct name names_boolean[];
extern const struct name names_iov_ownership[];
extern const struct name names_qos[];
extern const struct name names_completion_flags[];
extern const struct name names_ep_creator[];
extern const struct name names_pz_support[];
extern const struct name names_mem_types[];
extern const struct name names_event[];
extern const struct name names_dto_status[];

/*
 * Returns the name of one value, or its number, which is written into `spare` (at least 24 bytes).
 */
const char *name_of(const struct name *table, uint64_t value, char *spare, size_t spare_size);

/*
 * Writes all names of a set of flags as "A | B"; flags without a name are added as a hexadecimal
 * number.
 */
void names_of_flags(const struct name *table, uint64_t flags, char *text, size_t size);

/* For messages: the same, with words for an unknown number. Never NULL. */
const char *event_name(unsigned int number);
const char *dto_status_name(unsigned int status);

#endif
