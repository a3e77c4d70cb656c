/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind the static registry: which one it is, why, and its text.
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
	size_t room;		/* allocated for lines */
	bool ends_in_newline;
};

/* Returns a text that says why conf_read_system() has used the file, or files. */
const char *conffile_why(const struct conf *conf);

/*
 * Returns the file that programs read, the first of several, or where one would have to be created;
 * never NULL, not malloced.
 */
const char *conffile_path(void);

/* Returns how many adapters DAT_PROVIDERS hides from programs, and sets the total number. */
size_t conffile_hidden(const struct conf *conf, size_t *lines);

/* Returns true if the file itself could not be read. */
bool conffile_unreadable(const struct conf *conf);

/*
 * Returns 0 or -errno, or -EINVAL for a file that is not regular. After a failure `file` is empty.
 */
int conffile_read(struct conffile *file, const char *path);
const char *conffile_strerror(int err);
void conffile_free(struct conffile *file);

#endif
