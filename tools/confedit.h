/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to a dat.conf, line by line, that leave everything else as it is.
 *
 * Invariant: the file holds either its old text or all of the new one, whatever happens on the way;
 * its owner and its mode stay.
 */
#ifndef TOOLS_CONFEDIT_H
#define TOOLS_CONFEDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "conffile.h"

struct confedit {
	const char *path;
	bool is_new;		/* there is no such file yet */
	struct conffile file;
	char **now;		/* for each line: what it becomes; NULL: it stays */
	bool *gone;		/* for each line: it is taken out */
	char **added;		/* at the end */
	size_t nadded;
};

/* Returns 0, or -errno if a file that is there cannot be read. */
int confedit_open(struct confedit *edit, const char *path);
void confedit_close(struct confedit *edit);

/* These take over `text`, which is malloced. */
void confedit_change(struct confedit *edit, size_t line, char *text);
void confedit_add(struct confedit *edit, char *text);
void confedit_remove(struct confedit *edit, size_t line);

bool confedit_is_empty(const struct confedit *edit);
/* What is changed, on stdout, in the manner of diff -u. */
void confedit_print(const struct confedit *edit);
/* Says on stderr why it failed. */
bool confedit_write(const struct confedit *edit);

/* Does this line, by itself, hold a record? Fills entry, which is freed with conf_free(). */
bool confedit_parse(struct conf *conf, const char *line);

#endif
