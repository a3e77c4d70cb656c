/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libdatp itself and of providers: which of them are kept, and which are printed once.
 * A message is written before the function that logs it returns, which may take long, so the caller may hold no lock except that
 * of loans, an IA's, an SRQ's, or that of an endpoint which is being freed.
 */
#ifndef DATP_LOG_H
#define DATP_LOG_H

#include <datp/provider.h>

/* An adapter and its provider, because users select messages by the name of either. */
struct log_name {
	struct log_name *next; /* the lock in log.c */
	const char *adapter, *provider;
};

void log_name_add(struct log_name *name);
void log_name_remove(struct log_name *name);

/*
 * Keeps the errors and warnings of a provider on this thread, from here to log_buffer_end(). That function prints them if the
 * adapter has opened. Otherwise datp_plugin_why() returns the first error, or the first warning if no error was written.
 */
void log_buffer(void);
void log_buffer_end(const struct log_name *name, bool opened);

/* Logs a message at level 1 (error) to 4 (debug). It begins with the adapter's name if it is about one. */
void core_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns true if messages of this level are printed for any component. */
bool log_wanted(int level);

/*
 * Returns true if this cause is new in this process; `level` is that of its message. The detail may be NULL with size 0. Any
 * thread. Causes of messages at level info and debug do not use up the capacity for errors and warnings.
 */
bool log_once(int level, const char *what, const void *detail, size_t size);
/*
 * The same for a cause that a peer can invent, such as an address. These causes have a small table of their own, where a new one
 * replaces the oldest. A peer that invents many causes displaces all others, so that each is reported again when it recurs.
 * Therefore the message needs a limit, too (log/limit.h).
 */
bool log_once_of_peer(const char *what, const void *detail, size_t size);
void log_forget(void);		/* in a forked child */

#endif
