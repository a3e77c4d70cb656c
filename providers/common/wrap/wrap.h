/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the parts of wrapping: wrap.c owns the layers, wrap_calls.c handles the calls, compiled once for each API, and
 * wrap_plugin.c and wrap_plugin20.c register wrappers.
 */
#ifndef WRAP_H
#define WRAP_H

#include <datp/wrap.h>

#include "providers/common/core/core.h"

/* An API as the layers see it. They know of a table only that its first word is a name, and nothing of an event. */
struct wrap_api {
	unsigned int major, minor;
	DAT_RETURN (*invoke)(const void *to, enum datp_call id, const uint64_t *w);
	void (*table_fill)(void *table, const void *beneath);
	bool (*is_ours)(const void *table);
	int (*args)(enum datp_call id, const struct datp_arg **args);
	/* Returns the connection request that an event brings, or NULL. */
	DAT_HANDLE (*event_brings)(const void *event);
	/* Converts a value of 1.2 to one of this API. */
	DAT_RETURN (*ret)(DAT_RETURN ret);
	/* Calls of the registry: open and close the IA beneath, and store the pointer behind its number. */
	DAT_RETURN (*open)(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia, DAT_BOOLEAN safe);
	DAT_RETURN (*close)(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
	DAT_RETURN (*object)(DAT_IA_HANDLE ia, DAT_IA_HANDLE *object);
	DAT_RETURN (*strerror)(DAT_RETURN ret, const char **major, const char **minor);
};

extern const struct wrap_api wrap_api12, wrap_api20;

enum { WRAP_TABLE_MAX = 648 + 560 }; /* a table of 2.0 and one of 1.2 */

/* wrap_plugin20.c: the registry of DAT 2.0, and the edge of wrappers for it. */
DAT_RETURN wrap_open20(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia, DAT_BOOLEAN safe);
DAT_RETURN wrap_close20(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_RETURN wrap_object20(DAT_IA_HANDLE ia, DAT_IA_HANDLE *object);
DAT_RETURN wrap_strerror20(DAT_RETURN ret, const char **major, const char **minor);
extern const struct edge *const wrap_edge20;

/* wrap.c */
DAT_RETURN wrap_enter(const struct wrap_api *api, DAT_HANDLE handle, enum datp_call id, const uint64_t *w);
DAT_RETURN wrap_close(DAT_IA_HANDLE ia, const uint64_t *w);
DAT_RETURN wrap_open(struct plugin *plugin, const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
		     DAT_IA_HANDLE *ia);
bool wrap_negotiate(const struct datp_wrapper *desc, struct datp_wrap_ops *ops);
/* Frees the lock of the layers in a forked child, in which its holder may not exist. */
void wrap_forget_all(void);

#endif
