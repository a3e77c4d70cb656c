/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of `datctl show` share: a function that prints one attribute, and those that print all of them.
 *
 * Invariant: nothing here has a type of DAT, because the files are about two APIs whose types have the
 * same names.
 */
#ifndef TOOLS_SHOW_H
#define TOOLS_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

/* Opens the adapter and prints its attributes. Returns false if a call has failed, which it has printed. */
bool show_attributes(const char *adapter);
bool show_attributes20(const char *adapter);	/* dat20_load() has returned true */

void show(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void show_text(const char *name, const char *text, size_t size);
void show_u32(const char *name, uint32_t value);
void show_u64(const char *name, uint64_t value);
void show_count(const char *name, int value);
void show_enum(const char *name, const struct name *table, uint64_t value);
void show_flags(const char *name, const struct name *table, uint64_t flags);

void show_begin(void);
void show_heading(const char *structure);
/* Ends a structure; `between` is printed between it and the next one. */
void show_structure_end(const char *between);
void show_end(void);

/* Report that a call has failed: one of 1.2, or one of 2.0, with the names of its return value. */
void show_failed(const char *call, const char *adapter, uint32_t ret);
void show_failed20(const char *call, const char *adapter, uint32_t ret, const char *type,
		   const char *subtype);

#endif
