/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the libraries: which of them, and where they go. libdat and libdatp each hold a copy.
 *
 *	DAT_LOG=LEVEL[,COMPONENT...][:WHERE]
 *
 * LEVEL is none, error, warning (the default), info or debug; COMPONENT is registry, core, or the
 * name of a provider or an adapter (a message may be of several: one that is named is enough;
 * errors of all components are written, unless LEVEL is none);
 * WHERE is stderr (the default), syslog or the name of a file.
 * Without DAT_LOG the older DAT_DBG_TYPE, a mask, and DAT_DBG_DEST count; without these OFED's
 * DAPL_DBG_TYPE, of which a level is made, and DAPL_DBG_DEST.
 *
 * Invariant: a message is one line and one write, and what a file or a library has put into it
 * cannot steer the terminal; standard output is never touched; set-uid programs heed none of the
 * variables. No message waits for its reader or raises a signal (line.h). Only syslog(3) may wait: while
 * the system's log is full.
 */
#ifndef LOG_DATLOG_H
#define LOG_DATLOG_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

enum datlog_level {
	DATLOG_NONE,
	DATLOG_ERROR,		/* something does not work */
	DATLOG_WARNING,		/* it works, or will be tried again, but a user should look at it */
	DATLOG_INFO,		/* what is being done */
	DATLOG_DEBUG,		/* each step of it */
};

/* The bits of DAT_DBG_TYPE. */
#define DATLOG_TYPE_ERROR	0x01
#define DATLOG_TYPE_GENERIC	0x02
#define DATLOG_TYPE_SR		0x04	/* static registry */
#define DATLOG_TYPE_DR		0x08	/* dynamic registry */
#define DATLOG_TYPE_PROVIDER	0x10	/* the calls providers make */
#define DATLOG_TYPE_CONSUMER	0x20	/* the calls consumers make */

/*
 * Returns whether a message is written: by its level and component, or, if the older mask is set,
 * by whether that has one of the bits in `types`. With a NULL component, only the level counts.
 */
bool datlog_wanted(enum datlog_level level, unsigned int types, const char *component);

/*
 * Returns whether the user has requested more than the default, by level info or debug, or by the
 * mask.
 */
bool datlog_curious(void);

/*
 * Writes "library: text" at any level, so ask datlog_wanted() first. Keeps errno. If the user has
 * requested level info or more, or with the mask, the process and the seconds since it began stand
 * behind the library's name.
 */
void datlog_write(enum datlog_level level, const char *library, const char *text);

/*
 * Returns what is wrong with DAT_LOG, as malloced text, or NULL if nothing is. A DAT_LOG that is
 * wrong is ignored.
 */
char *datlog_complaint(void);

#pragma GCC visibility pop
#endif
