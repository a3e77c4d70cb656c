/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps, for each thread, the reason why a plugin is refused. datp_plugin_why() returns it. */
#ifndef DATP_REFUSE_H
#define DATP_REFUSE_H

/* Stores the reason why a plugin is not registered, or an adapter is not opened. */
void plugin_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void plugin_refuse_words(const char *words); /* the same, without a message of its own */
void plugin_refuse_begin(void);		     /* nothing is refused yet */

#endif
