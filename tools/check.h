/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `datctl check` finds: a list of findings, made by the check_*.c files and printed by
 * datctl_check.c.
 *
 * Invariant: every finding that is not CHECK_OK says what to do about it.
 */
#ifndef TOOLS_CHECK_H
#define TOOLS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "conffile.h"
#include "devices.h"
#include "registry/conf.h"

enum verdict { CHECK_OK, CHECK_SKIP, CHECK_WARN, CHECK_FAIL };

struct finding {
	enum verdict verdict;
	const char *code;	/* one word for scripts, constant from release to release */
	char *name;		/* of the adapter, or NULL */
	char *file;		/* where, or NULL */
	unsigned int line;	/* 0: the file as a whole */
	unsigned int column;	/* 0: the line as a whole */
	const char *field;	/* its name, or NULL */
	char *cause;
	char *remedy;		/* a command or an edit */
};

struct check {
	struct conf conf;
	const char *why_file;	/* why this file */
	struct devices devices;
	const char *root;	/* put before /sys and /dev */
	unsigned int seconds;	/* for each adapter */
	const char *only;	/* this adapter, or NULL for all */
	uint64_t listen;	/* a connection qualifier to listen at, or 0 */
	uint64_t peer_qual;	/* and of a peer to reach, or 0 */
	const char *peer_name;
	struct sockaddr_storage peer;
	struct finding *finding;
	bool unresolved;	/* no name server answers: it is not asked again */
	size_t entries;		/* in conf */
	struct missing *missing; /* libraries that were not found, see check_entry.c */
	size_t count;
	size_t room;		/* for findings, before they have to be moved */
	int width;		/* of names as they are printed */
	struct conffile *shown;	/* the file whose lines were shown last, or NULL */
	char *shown_path;	/* its name */
	size_t printed;		/* the number of findings already printed as text */
	bool headed;		/* the heading is printed */
};

/* Adds a finding. Takes ownership of cause and remedy, which are malloced. e may be NULL. */
struct finding *check_add(struct check *c, enum verdict verdict, const char *code,
			  const struct conf_entry *e, char *cause, char *remedy);

/* Returns the command that puts a # before an entry's line, malloced. */
char *check_comment_out(const struct conf_entry *e);

void check_file(struct check *c);	/* grammar, rights, duplicates */
void check_entry(struct check *c, const struct conf_entry *e);
void check_entry_end(struct check *c);	/* frees what it has kept */

/* Adds what prevents the use of an RDMA adapter. Adds nothing and returns false if nothing does. */
bool check_device(struct check *c, const struct conf_entry *e);
bool check_is_rdma(const struct conf_entry *e);
/* Checks the limit of registered memory, for any adapter. Adds a warning if it is low. */
void check_memlock(struct check *c, const struct conf_entry *e);
char *check_memlock_remedy(void);

/* The body of the child process that tries an adapter; see check_try.c for what it reports. */
struct check_try {
	const struct check *check;
	const struct conf_entry *entry;
};
void check_try(void *arg);
/*
 * Called in the child when the library is loaded: opens the adapter and uses it, by the calls of 1.2 or of 2.0. Returns false if it
 * was not opened.
 */
bool check_calls(const struct check *c, const struct conf_entry *e);
bool check_calls20(const struct check *c, const struct conf_entry *e);

#endif
