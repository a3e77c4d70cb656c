/* SPDX-License-Identifier: BSD-2-Clause */
/* How a plugin is described without being registered: datp_plugin_dump(). */
#ifndef DUMP_H
#define DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct dump_output {
	void (*line)(void *arg, const char *key, const char *value);
	void *arg;
};

/*
 * Returns true if the plugin that is being initialised on this thread shall only be described; then
 * `describe` is called later.
 */
bool plugin_dump_takes(void (*describe)(const struct dump_output *output, const void *desc),
		       const void *desc);
void dump_say(const struct dump_output *output, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints the keys that a plugin and a wrapper have in common. */
void dump_head(const struct dump_output *output, const char *name, const char *version, uint32_t major,
	       uint32_t minor, bool loads);
/* Describes a plugin; `desc` is its struct datp_plugin. */
void dump_plugin(const struct dump_output *output, const void *desc);

#endif
