/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON on stdout, one document for each run.
 *
 * Invariant: json_end() closes objects and arrays in order, so the text is well formed whatever the
 * strings contain; members have the order of the calls. The key is NULL within an array.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_object(const char *key);
void json_array(const char *key);
void json_end(void);	/* ends the innermost one; a newline follows the outermost */

/* A NULL value is written as null. */
void json_string(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_bool(const char *key, bool value);

#endif
