/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for the static registry as a process finds it: which files there are
 * (conf_file.c), what DAT_PROVIDERS hides (conf_filter.c), and the name that was meant
 * (near.c). The first line is DAT_CONF_PATH, the second DAT_PROVIDERS; what follows is the file
 * "a", and behind a line "%%" the drop-in "a.d/x.ini".
 *
 * Invariant checked: reading succeeds, an entry that is shown is complete, and a nearer name is
 * indeed nearer. Slashes in the list become underscores, so that no file of the host is read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/near.h"
#include "registry/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define DEMAND(x) do { if (!(x)) abort(); } while (0)

static char folder[] = "/tmp/opendat-files-XXXXXX";

static void folder_remove(void)
{
	(void)!unlink("a.d/x.ini");
	(void)!rmdir("a.d");
	(void)!unlink("a");
	(void)!rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	DEMAND(mkdtemp(folder) && chdir(folder) == 0 && mkdir("a.d", 0700) == 0);
	atexit(folder_remove);
	return 0;
}

static void file_write(const char *name, const uint8_t *data, size_t size)
{
	FILE *file = fopen(name, "we");

	DEMAND(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Returns the first line without its newline, and advances *data and *size past it. */
static char *line_take(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size;
	char *line = malloc(length + 1);

	DEMAND(line);
	memcpy(line, *data, length);
	line[length] = '\0';
	*data += length + (end != NULL);
	*size -= length + (end != NULL);
	return line;
}

static void near_check(const char *typed, const struct conf *conf)
{
	unsigned int distance = near_begin(typed), before;

	for (const struct conf_entry *e = conf->entries; e; e = e->next) {
		before = distance;
		DEMAND(near_closer(typed, e->name, &distance) ? distance < before :
							      distance == before);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *list = line_take(&data, &size), *providers = line_take(&data, &size);
	const uint8_t *next = size ? memmem(data, size, "\n%%\n", 4) : NULL;
	size_t first = next ? (size_t)(next - data) : size;
	struct conf conf;

	for (char *c = list; *c; c++)
		if (*c == '/')
			*c = '_';
	DEMAND(setenv("DAT_CONF_PATH", *list ? list : "a", 1) == 0);
	DEMAND(setenv("DAT_PROVIDERS", providers, 1) == 0);
	file_write("a", data, first);
	file_write("a.d/x.ini", next ? next + 4 : data, next ? size - first - 4 : 0);
	conf_init(&conf);
	DEMAND(conf_read_system(&conf) == 0);
	for (const struct conf_entry *e = conf.entries; e; e = e->next)
		DEMAND(e->name && *e->name && e->library && *e->library && e->file && e->line);
	DEMAND(!conf.providers_wrong || *conf.providers_wrong);
	near_check(providers, &conf);
	conf_free(&conf);
	free(list);
	free(providers);
	return 0;
}
