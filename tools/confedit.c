/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to a dat.conf; confedit.h states the invariant.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "confedit.h"

static void *grown(void *array, size_t size)
{
	void *more = realloc(array, size > 0 ? size : 1);

	if (more == NULL) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	return more;
}

int confedit_open(struct confedit *edit, const char *path)
{
	int err;

	memset(edit, 0, sizeof(*edit));
	edit->path = path;
	err = conffile_read(&edit->file, path);
	if (err == -ENOENT) {
		edit->is_new = true;
		err = 0;
	}
	edit->now = grown(NULL, edit->file.count * sizeof(*edit->now));
	edit->gone = grown(NULL, edit->file.count * sizeof(*edit->gone));
	for (size_t i = 0; i < edit->file.count; i++) {
		edit->now[i] = NULL;
		edit->gone[i] = false;
	}
	return err;
}

void confedit_close(struct confedit *edit)
{
	for (size_t i = 0; i < edit->file.count; i++)
		free(edit->now[i]);
	for (size_t i = 0; i < edit->nadded; i++)
		free(edit->added[i]);
	free(edit->now);
	free(edit->gone);
	free(edit->added);
	conffile_free(&edit->file);
}

void confedit_change(struct confedit *edit, size_t line, char *text)
{
	free(edit->now[line]);
	edit->now[line] = text;
}

void confedit_add(struct confedit *edit, char *text)
{
	edit->added = grown(edit->added, (edit->nadded + 1) * sizeof(*edit->added));
	edit->added[edit->nadded++] = text;
}

void confedit_remove(struct confedit *edit, size_t line)
{
	edit->gone[line] = true;
}

bool confedit_is_empty(const struct confedit *edit)
{
	for (size_t i = 0; i < edit->file.count; i++)
		if (edit->now[i] != NULL || edit->gone[i])
			return false;
	return edit->nadded == 0;
}

static void line_print(char sign, const char *text)
{
	char *shown = cli_escape(text);

	printf("%c%s\n", sign, shown);
	free(shown);
}

void confedit_print(const struct confedit *edit)
{
	printf("--- %s\n+++ %s\n", edit->is_new ? "/dev/null" : edit->path, edit->path);
	for (size_t i = 0; i < edit->file.count; i++) {
		if (edit->now[i] == NULL && !edit->gone[i])
			continue;
		printf("@@ line %zu @@\n", i + 1);
		line_print('-', edit->file.line[i]);
		if (!edit->gone[i])
			line_print('+', edit->now[i]);
	}
	if (edit->nadded > 0)
		printf("@@ at the end @@\n");
	for (size_t i = 0; i < edit->nadded; i++)
		line_print('+', edit->added[i]);
}

static bool text_write(const struct confedit *edit, FILE *file)
{
	for (size_t i = 0; i < edit->file.count; i++)
		if (!edit->gone[i])
			fprintf(file, "%s\n",
				edit->now[i] != NULL ? edit->now[i] : edit->file.line[i]);
	for (size_t i = 0; i < edit->nadded; i++)
		fprintf(file, "%s\n", edit->added[i]);
	return fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
}

/*
 * Gives the new file the owner and mode of the replaced one; if there was none, everybody may read
 * it.
 */
static bool rights_keep(const char *path, int fd)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return fchmod(fd, 0644) == 0;
	if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    fchown(fd, st.st_uid, st.st_gid) != 0)
		return false;
	return fchmod(fd, st.st_mode & 07777) == 0;
}

static void folder_sync(const char *path)
{
	char *copy = strdup(path);
	int fd = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/*
 * A device or a pipe is never replaced, even if the name has changed its meaning since it was read.
 */
static bool may_be_replaced(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT;
	if (S_ISREG(st.st_mode))
		return true;
	errno = EINVAL;
	return false;
}

/* Writes the text to a file beside the old one, and renames it to the old name. */
static bool file_replace(const struct confedit *edit, const char *path)
{
	char *beside = cli_raw("%s.XXXXXX", path);
	int fd = mkostemp(beside, O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool done = file != NULL && rights_keep(path, fd) && text_write(edit, file);

	if (file != NULL)
		done = fclose(file) == 0 && done;
	else if (fd >= 0)
		close(fd);
	done = done && may_be_replaced(path) && rename(beside, path) == 0;
	if (!done) {
		cli_error(
			"%s: cannot be replaced: %s; it is unchanged (are you its owner, or root?)",
			path, strerror(errno));
		if (fd >= 0)
			unlink(beside);
	} else {
		folder_sync(path);
	}
	free(beside);
	return done;
}

bool confedit_write(const struct confedit *edit)
{
	/* A link stays a link: the file that it names is replaced. */
	char *real = edit->is_new ? NULL : realpath(edit->path, NULL);
	bool done = file_replace(edit, real != NULL ? real : edit->path);

	free(real);
	return done;
}

bool confedit_parse(struct conf *conf, const char *line)
{
	conf_init(conf);
	return conf_parse(conf, "line", line, strlen(line)) == 0 && conf->entries != NULL &&
	       conf->ndiags == 0;
}
