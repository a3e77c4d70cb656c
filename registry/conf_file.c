/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files make up the static registry, and reading them.
 *
 * Invariant: a file that cannot be read causes a diagnostic, and the other files are used. The
 * drop-ins of a file are in the directory of the same name with ".d" appended, so
 * DAT_OVERRIDE=/x/my reads /x/my.d and no other directory. Entries are kept in the order in which
 * the files are read, so the first file has precedence.
 */
#include "conf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A limit that no registry reaches; it keeps a wrong path (/dev/zero) from filling the memory. */
#define CONF_FILE_MAX ((size_t)64 << 20)

/* The number of files that DAT_CONF_PATH may name; more are probably a mistake. */
#define CONF_LIST_MAX 64u

/* The registry of an unconfigured machine: the one provider that needs no hardware. */
static const char builtin_text[] =
	"soft0 u1.2 nonthreadsafe default libdatsoft.so opendat.1.0 \"\" \"\"\n";

/* Reads fd to its end. Works for pipes too, because DAT_OVERRIDE=/dev/fd/N is useful. */
static int fd_read_all(int fd, char **text, size_t *len)
{
	size_t capacity = 0;
	ssize_t n;
	char *bigger;

	*text = NULL;
	*len = 0;
	for (;;) {
		if (*len == capacity) {
			capacity = capacity ? capacity * 2 : 16384;
			bigger = capacity > CONF_FILE_MAX ? NULL : realloc(*text, capacity);
			if (!bigger) {
				free(*text);
				return capacity > CONF_FILE_MAX ? -EFBIG : -ENOMEM;
			}
			*text = bigger;
		}
		n = read(fd, *text + *len, capacity - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			free(*text);
			return (int)n;
		}
		if (!n)
			return 0;
		*len += (size_t)n;
	}
}

/*
 * Reads a file. To open a FIFO would wait for a writer, perhaps for ever. So it is opened without
 * blocking, and then read, which waits only if there is a writer. Returns -EPIPE if there is no
 * writer and no text.
 */
static int file_read(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || fcntl(fd, F_SETFL, 0))
		err = -errno;
	if (!err)
		err = fd_read_all(fd, text, len);
	if (!err && !*len && S_ISFIFO(st.st_mode)) {
		free(*text);
		err = -EPIPE;
	}
	close(fd);
	return err;
}

static int unreadable_note(struct conf *conf, const char *path, int err)
{
	struct conf_where where = { .file = conf_source_add(conf, path) };

	if (!where.file || err == -ENOMEM)
		return -ENOMEM;
	if (err == -EPIPE)
		return conf_diag_add(conf, &where, "is a pipe that nobody writes to; name a file, "
				     "or start the writer first");
	return conf_diag_add(conf, &where, "cannot be read: %s", strerror(-err));
}

typedef int parse_fn(struct conf *conf, const char *file, const char *text, size_t len);

/*
 * Returns 0, -ENOMEM, or the errno of the read, negated, which is also recorded as a diagnostic
 * unless the file is missing.
 */
static int file_parse(struct conf *conf, const char *path, parse_fn *parse)
{
	char *text = NULL;
	size_t len = 0;
	int err;
	int rc = file_read(path, &text, &len);

	if (!rc) {
		rc = parse(conf, path, text, len);
		free(text);
	} else if (rc != -ENOENT) {
		err = unreadable_note(conf, path, rc);
		if (err)
			return err;
	}
	return rc;
}

static int ini_filter(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 4 && !strcmp(d->d_name + len - 4, ".ini");
}

/* Compares names by byte value, because the order of drop-ins must not depend on the locale. */
static int ini_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/*
 * Reads the drop-ins of path. A missing directory is not an error, because most files have no
 * drop-ins.
 */
static int dropins_read(struct conf *conf, const char *path)
{
	struct dirent **names;
	char *dir, *file;
	int err = 0;
	int i, n;

	if (asprintf(&dir, "%s.d", path) < 0)
		return -ENOMEM;
	n = scandir(dir, &names, ini_filter, ini_order);
	if (n < 0) {
		if (errno == ENOMEM)
			err = -ENOMEM;
		else if (errno != ENOENT && errno != ENOTDIR)
			err = unreadable_note(conf, dir, -errno);
		free(dir);
		return err;
	}
	for (i = 0; i < n; i++) {
		if (!err && asprintf(&file, "%s/%s", dir, names[i]->d_name) < 0)
			err = -ENOMEM;
		if (!err) {
			if (file_parse(conf, file, conf_parse_ini) == -ENOMEM)
				err = -ENOMEM;
			free(file);
		}
		free(names[i]);
	}
	free(names);
	free(dir);
	return err;
}

int conf_read(struct conf *conf, const char *path)
{
	int rc = file_parse(conf, path, conf_parse);
	int err;

	if (rc == -ENOENT) {
		err = unreadable_note(conf, path, rc);
		if (err)
			return err;
	}
	if (rc)
		return rc;
	conf->origin = conf_source_main(conf, path);
	if (!conf->origin)
		return -ENOMEM;
	err = dropins_read(conf, path);
	return err ? err : conf_sort(conf);
}

static int builtin_read(struct conf *conf, const char *path)
{
	int err = conf_parse(conf, "built-in", builtin_text, sizeof(builtin_text) - 1);

	if (err)
		return err;
	conf->builtin = true;
	conf->origin = conf_source_add(conf, "built-in");
	if (!conf->origin)
		return -ENOMEM;
	return dropins_read(conf, path);
}

static int override_read(struct conf *conf, const char *path)
{
	int rc = conf_read(conf, path);

	if (rc == -ENOMEM)
		return rc;
	conf->origin = conf_source_add(conf, path);
	return conf->origin ? 0 : -ENOMEM;
}

static bool was_read(const struct conf *conf, const char *path)
{
	const struct conf_source *s;

	for (s = conf->sources; s; s = s->next)
		if (s->main && !strcmp(s->path, path))
			return true;
	return false;
}

/* Reads this host's dat.conf, or the built-in registry where the host has no dat.conf. */
static int host_read(struct conf *conf)
{
	static const char *const paths[] = { SYSCONFDIR "/dat.conf", "/etc/dat.conf" };
	size_t i;
	int rc;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (i && !strcmp(paths[i], paths[0]))
			continue;
		if (access(paths[i], F_OK) && errno == ENOENT)
			continue;
		if (was_read(conf, paths[i]))
			return 0;
		rc = conf_read(conf, paths[i]);
		if (!rc || rc == -ENOMEM)
			return rc;
	}
	return builtin_read(conf, paths[0]);
}

/* Reads one file of a list. It is not an error if the file is missing or is named twice. */
static int listed_read(struct conf *conf, const char *path)
{
	int rc;

	if (was_read(conf, path) || (access(path, F_OK) && errno == ENOENT))
		return 0;
	rc = conf_read(conf, path);
	return rc == -ENOMEM ? rc : 0;
}

static bool is_empty(const struct conf *conf)
{
	const struct conf_source *s;

	for (s = conf->sources; s; s = s->next)
		if (s->main)
			return false;
	return !conf->builtin;
}

/*
 * Reads all files of a list with colons between the names; an empty name stands for the file of
 * this host.
 */
static int list_read(struct conf *conf, const char *list)
{
	struct conf_where where = { 0 };
	unsigned int n = 0;
	bool host = false;
	const char *p, *end;
	char *path;
	int err = 0;

	conf->path_list = strdup(list);
	if (!conf->path_list)
		return -ENOMEM;
	where.file = conf->path_list;
	for (p = list; p && !err && n < CONF_LIST_MAX; p = *end ? end + 1 : NULL, n++) {
		end = strchrnul(p, ':');
		if (end == p) {
			if (!host)
				err = host_read(conf);
			host = true;
			continue;
		}
		path = strndup(p, (size_t)(end - p));
		err = path ? listed_read(conf, path) : -ENOMEM;
		free(path);
	}
	conf->origin = conf->path_list;
	if (!err && p)
		err = conf_diag_add(conf, &where, "names more than %u files; the rest is not read",
				    CONF_LIST_MAX);
	else if (!err && is_empty(conf) && !conf->ndiags)
		err = conf_diag_add(conf, &where,
				    "DAT_CONF_PATH names no file that exists; correct it, or unset "
				    "it");
	return err;
}

int conf_read_system(struct conf *conf)
{
	const char *path = secure_getenv("DAT_OVERRIDE");
	const char *list = secure_getenv("DAT_CONF_PATH");
	int err;

	if (path && *path)
		err = override_read(conf, path);
	else if (list && *list)
		err = list_read(conf, list);
	else
		err = host_read(conf);
	if (!err)
		err = conf_sort(conf);
	return err ? err : conf_filter_env(conf);
}
