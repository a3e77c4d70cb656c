/* SPDX-License-Identifier: BSD-2-Clause */
/* How libdatp's datp_plugin_dump() is called, which is looked up in the library of a plugin. */
#ifndef TOOLS_DUMP_H
#define TOOLS_DUMP_H

#include <stdbool.h>

#include <dat/dat_registry.h>

typedef bool dump_fn(void (*init)(const DAT_PROVIDER_INFO *info, const char *params),
		     void (*line)(void *arg, const char *key, const char *value), void *arg);

#endif
