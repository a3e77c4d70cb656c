/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conventions of the command line that all tools share.
 *
 * Invariant: results go to stdout, everything else to stderr, and the exit status is one of the
 * three below. A tool ends through cli_finish(), so a result that could not be written is a
 * failure and never passes unnoticed. Nothing here differs between uDAPL 1.2 and 2.0.
 */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/dat_common.h>

enum cli_status {
	CLI_OK = 0,	/* it did what was asked */
	CLI_FAILED = 1,	/* it tried and failed; stderr says why */
	CLI_USAGE = 2,	/* the command line is wrong; nothing was tried */
};

/* Sets the program's name for every message. Call it first. `name` is kept, not copied. */
void cli_begin(const char *name);

/* Changes the name in messages, for the second process of a tool. */
void cli_rename(const char *name);
/* From here on cli_usage() names the help of this command of the tool. */
void cli_subcommand(const char *command);

/* Prints the help text, or name and version, on stdout. Returns CLI_OK. */
int cli_help(const char *text);
int cli_version(void);

/* Prints what is wrong with the command line and where help is. Returns CLI_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "name: ..." on stderr, after it has flushed stdout. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * While true, cli_error() and cli_dat_error() print nothing, because a hostile client could fill a
 * log.
 */
void cli_quiet(bool quiet);

/* While true, they print no more than a few lines in ten seconds, because clients can provoke them. */
void cli_limit(bool limited);

/*
 * As cli_error(), for a DAT call that failed: its name, the standard's names of the return value
 * and, last, what to do. With a NULL remedy, the general one for that return type is printed.
 */
void cli_dat_error(DAT_RETURN ret, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Sets the dat_strerror() by which return values are named from now on: that of uDAPL 2.0 numbers the
 * subtypes differently. At first it is that of 1.2.
 */
typedef DAT_RETURN cli_strerror_fn(DAT_RETURN ret, const char **type, const char **subtype);
void cli_names_of(cli_strerror_fn *names);

/* Reports that dat_ia_open failed. libdat has printed the cause, unless DAT_LOG forbids it. */
void cli_open_error(DAT_RETURN ret, const char *adapter);

/*
 * Returns true, and reports it, if the adapter's transport attributes declare that it connects endpoints of one process only, so
 * that a tool with two processes can do nothing with it.
 */
bool cli_stays_in_process(const char *adapter, const DAT_NAMED_ATTR *attr, DAT_COUNT count);

/* Returns the general remedy for a return value, or NULL if there is no useful one. */
const char *cli_remedy(DAT_RETURN ret);

/*
 * Returns a copy of the text with control characters, and bytes that are not UTF-8, written as
 * \xNN; never NULL. All text from files, libraries and the command line is shown only in this form,
 * because names of adapters may contain anything. Messages are escaped already.
 */
char *cli_escape(const char *text);
char *cli_vtext(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

/* Flushes stdout. Returns `status`, or CLI_FAILED if the results could not be written. */
int cli_finish(int status);

/* Reads a whole number from min to max; the suffixes k, m and g multiply by powers of 1024. */
bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Prints `text` as a JSON string, quotes included. */
void cli_json_string(const char *text);

/* Returns a malloced copy, never NULL. */
char *cli_strdup(const char *text);

/* Returns a malloced text, escaped in the same way; never NULL. */
char *cli_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns a malloced text that is not escaped, for what is written into a file or is a file's name; never NULL. */
char *cli_raw(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
