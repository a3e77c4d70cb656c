/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the two halves of wrapping: wrap.c owns the layers, wrap_calls.c handles the calls. */
#ifndef WRAP_H
#define WRAP_H

#include <datp/wrap.h>

#include "providers/common/core/core.h"

/* wrap_calls.c */
DAT_RETURN wrap_invoke(const DAT_PROVIDER *to, enum datp_call id, const uint64_t *w);
void wrap_table_fill(DAT_PROVIDER *table, const DAT_PROVIDER *beneath);
bool wrap_is_ours(const DAT_PROVIDER *table);

/* wrap.c */
DAT_RETURN wrap_enter(DAT_HANDLE handle, enum datp_call id, const uint64_t *w);
DAT_RETURN wrap_close(DAT_IA_HANDLE ia, const uint64_t *w);
DAT_RETURN wrap_open(struct plugin *plugin, const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
		     DAT_IA_HANDLE *ia);
bool wrap_negotiate(const struct datp_wrapper *desc, struct datp_wrap_ops *ops);
/* Frees the lock of the layers in a forked child, in which its holder may not exist. */
void wrap_forget_all(void);

#endif
