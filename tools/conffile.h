/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind the static registry: which one it is, why, and its text as it stands.
 */
#ifndef TOOLS_CONFFILE_H
#define TOOLS_CONFFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "registry/conf.h"

/* A file as lines. */
struct conffile {
	char **line;		/* without their newlines */
	size_t count;
	size_t room;		/* for lines, before they have to be moved */
	bool ends_in_newline;
};

/* Why conf_read_system() has taken the file, or files, it has, for people. */
const char *conffile_why(const struct conf *conf);

/*
 * The file that programs read, the first of several, or where one would have to be made; never
 * NULL, not malloced.
 */
const char *conffile_path(void);

/* How many adapters DAT_PROVIDERS hides from programs, and of how many. */
size_t conffile_hidden(const struct conf *conf, size_t *lines);

/* Could the file itself not be read? */
bool conffile_unreadable(const struct conf *conf);

/* Returns 0 or -errno; -EINVAL: no regular file. A failure leaves an empty file. */
int conffile_read(struct conffile *file, const char *path);
const char *conffile_strerror(int err);
void conffile_free(struct conffile *file);

#endif
