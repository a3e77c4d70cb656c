/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of libdatp itself, and sentences about what has failed. No lock but an IA's or an SRQ's
 * may be held: a message is written at once. (An EP's may where it says so, for messages that nobody
 * gets who has not asked for them.)
 */
#ifndef DATP_TELL_H
#define DATP_TELL_H

#include "core.h"

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
void log_forget(void);		/* in a forked child */

/* "DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY" */
const char *err_name(enum datp_err err);

/* An attempt to connect, or an accept, has ended with this event. */
void tell_connect(struct datp_ep *ep, DAT_EVENT_NUMBER why);
/* ... or did not even begin. */
void tell_connect_refused(struct datp_ep *ep, const struct sockaddr *address, uint64_t qual,
			  enum datp_err err);
/* An EP lock may be held. */
void tell_connected(struct datp_ep *ep);
/* A connection that was there has ended, in order or not. */
void tell_ended(struct datp_ep *ep, DAT_EVENT_NUMBER why);
/* The watermarks that programs set: EP lock or SRQ lock may be held. */
void tell_ep_high(struct datp_ep *ep, bool hard);
void tell_srq_low(struct datp_srq *srq);
void tell_listen(struct datp_ia *ia, uint64_t qual, enum datp_err err);
void tell_memory(struct datp_ia *ia, uint64_t length, enum datp_err err);
/* A region longer than any that the adapter registers. */
void tell_block(struct datp_ia *ia, uint64_t length);
void tell_async(struct datp_ia *ia, DAT_EVENT_NUMBER number);

#endif
