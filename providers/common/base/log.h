/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libdatp itself and of providers: which of them are kept, and which are printed once.
 * A message is written in the call, so the caller may hold no lock except an IA's or an SRQ's.
 */
#ifndef DATP_LOG_H
#define DATP_LOG_H

#include <datp/provider.h>

/* Whose adapter it is, for who selects messages by the provider's name or by the adapter's. */
struct log_name {
	struct log_name *next; /* the lock in log.c */
	const char *adapter, *provider;
};

void log_name_add(struct log_name *name);
void log_name_remove(struct log_name *name);

/*
 * From here on errors and warnings of a provider on this thread are kept. At the end they are
 * printed if the adapter has opened; else the first of the gravest is what datp_plugin_why() tells.
 */
void log_hold(void);
void log_hold_end(const struct log_name *name, bool opened);

/* Level 1 error .. 4 debug. Begin with the adapter's name where there is one. */
void core_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Does anybody want to see messages of this level, of whatever component? */
bool log_wanted(int level);

/* Is this cause new in this process? The detail may be NULL with size 0. Any thread. */
bool log_once(const char *what, const void *detail, size_t size);
/*
 * The same of a cause that a peer can make up, as by its address: such causes have a table of their
 * own, in which a new one takes the place of the oldest. So each of them is new, and the message
 * needs a limit besides (log/limit.h).
 */
bool log_once_of_peer(const char *what, const void *detail, size_t size);
void log_forget(void);		/* in a forked child */

#endif
