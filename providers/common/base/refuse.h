/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a plugin is refused: kept for this thread, and told by datp_plugin_why(). */
#ifndef DATP_REFUSE_H
#define DATP_REFUSE_H

/* Keeps why a plugin is not registered, or an adapter not opened. */
void plugin_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void plugin_refuse_words(const char *words); /* the same, without a message of its own */
void plugin_refuse_begin(void);		     /* nothing is refused yet */

#endif
