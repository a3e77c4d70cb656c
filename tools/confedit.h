/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to a dat.conf, line by line, that leave everything else unchanged.
 *
 * Invariant: at any time the file contains either its old text or all of the new one; its owner and
 * its mode stay.
 */
#ifndef TOOLS_CONFEDIT_H
#define TOOLS_CONFEDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "conffile.h"

struct confedit {
	const char *path;
	bool is_new;		/* the file does not exist yet */
	struct conffile file;
	char **now;		/* for each line: the new text, or NULL if it stays */
	bool *gone;		/* for each line: whether it is removed */
	char **added;		/* lines added at the end */
	size_t nadded;
};

/* Returns 0, or -errno if an existing file cannot be read. */
int confedit_open(struct confedit *edit, const char *path);
void confedit_close(struct confedit *edit);

/* These take ownership of `text`, which is malloced. */
void confedit_change(struct confedit *edit, size_t line, char *text);
void confedit_add(struct confedit *edit, char *text);
void confedit_remove(struct confedit *edit, size_t line);

bool confedit_is_empty(const struct confedit *edit);
/* Prints the changes on stdout, as diff -u does. */
void confedit_print(const struct confedit *edit);
/* Returns false after a message on stderr if it fails. */
bool confedit_write(const struct confedit *edit);

/*
 * Returns whether this line, by itself, is a record. Fills in conf, which is freed with
 * conf_free().
 */
bool confedit_parse(struct conf *conf, const char *line);

#endif
