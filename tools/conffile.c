/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind the static registry; conffile.h describes the functions.
 *
 * Invariant: the order of look-up here is that of registry/conf_file.c, which reads the files.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conffile.h"

static const char system_file[] = SYSCONFDIR "/dat.conf";
static const char etc_file[] = "/etc/dat.conf";

static const char *override_file(void)
{
	const char *path = secure_getenv("DAT_OVERRIDE");

	return path != NULL && *path != '\0' ? path : NULL;
}

const char *conffile_why(const struct conf *conf)
{
	if (override_file() != NULL)
		return "DAT_OVERRIDE names it, and no other file is read";
	if (conf->path_list != NULL)
		return strchr(conf->path_list, ':') != NULL ? "DAT_CONF_PATH lists these"
							    : "DAT_CONF_PATH lists it";
	if (conf->builtin)
		return strcmp(system_file, etc_file) == 0 ?
		       "there is no " SYSCONFDIR "/dat.conf" :
		       "there is neither " SYSCONFDIR "/dat.conf nor /etc/dat.conf";
	if (strcmp(conf->origin, system_file) == 0)
		return "the system's; DAT_OVERRIDE is not set";
	return "DAT_OVERRIDE is not set, and there is no readable " SYSCONFDIR "/dat.conf";
}

const char *conffile_path(void)
{
	static char first[PATH_MAX];
	const char *path = override_file(), *list = secure_getenv("DAT_CONF_PATH");
	size_t length = list != NULL ? strcspn(list, ":") : 0;

	if (path != NULL)
		return path;
	if (length > 0 && length < sizeof(first)) {
		memcpy(first, list, length);
		first[length] = '\0';
		return first;
	}
	if (access(system_file, R_OK) != 0 && access(etc_file, R_OK) == 0)
		return etc_file;
	return system_file;
}

size_t conffile_hidden(const struct conf *conf, size_t *lines)
{
	size_t hidden = 0;

	*lines = 0;
	for (const struct conf_entry *e = conf->entries; e != NULL; e = e->next) {
		if (e->skip != CONF_USED || (e->major != 1 && e->major != 2))
			continue;
		++*lines;
		hidden += e->hidden != CONF_SHOWN;
	}
	return hidden;
}

bool conffile_unreadable(const struct conf *conf)
{
	for (const struct conf_diag *d = conf->diags; d != NULL; d = d->next)
		if (d->line == 0 && conf->origin != NULL && strcmp(d->file, conf->origin) == 0)
			return true;
	return false;
}

static int line_append(struct conffile *file, char *line)
{
	if (file->count == file->room) {
		size_t room = file->room > 0 ? 2 * file->room : 64;
		char **more = reallocarray(file->line, room, sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		file->line = more;
		file->room = room;
	}
	file->line[file->count++] = line;
	return 0;
}

/*
 * Opens the file without waiting for the other end of a pipe, or for a device. Returns NULL with a
 * negative errno in *err.
 */
static FILE *regular_open(const char *path, int *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *stream = NULL;
	struct stat st;

	if (fd < 0) {
		*err = -errno;
		return NULL;
	}
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else
		stream = fdopen(fd, "r");
	*err = -errno;
	if (stream == NULL)
		close(fd);
	return stream;
}

const char *conffile_strerror(int err)
{
	return err == -EINVAL ? "it is not a regular file" : strerror(-err);
}

int conffile_read(struct conffile *file, const char *path)
{
	size_t room = 0;
	ssize_t length;
	int err;
	FILE *stream = regular_open(path, &err);

	memset(file, 0, sizeof(*file));
	if (stream == NULL)
		return err;
	err = 0;
	while (err == 0) {
		char *line = NULL;

		room = 0;
		errno = 0;
		length = getline(&line, &room, stream);
		if (length < 0) {
			err = errno != 0 ? -errno : 1;
			free(line);
			break;
		}
		file->ends_in_newline = line[length - 1] == '\n';
		if (file->ends_in_newline)
			line[length - 1] = '\0';
		err = line_append(file, line);
		if (err != 0)
			free(line);
	}
	fclose(stream);
	if (err < 0) {
		conffile_free(file);
		return err;
	}
	return 0;
}

void conffile_free(struct conffile *file)
{
	for (size_t i = 0; i < file->count; i++)
		free(file->line[i]);
	free(file->line);
	memset(file, 0, sizeof(*file));
}
