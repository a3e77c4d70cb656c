/* SPDX-License-Identifier: BSD-2-Clause */
/* The libdat2.so.2 of this installation; dat20.h states the invariant. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "dat20.h"
#include "registry/conf.h"

static void *library;
static char path[PATH_MAX];

/*
 * Its paths relative to the folder of libdat.so.1. It has a folder of its own if configure was told so.
 */
static const char *const places[] = { "opendat/dat2/libdat2.so.2", "libdat2.so.2" };

/* Sets `path` to the library. Returns false if it is at none of the places. */
static bool find(void)
{
	Dl_info info;
	char *real, *slash;
	bool found = false;

	if (!dladdr(dlsym(RTLD_DEFAULT, "dat_strerror"), &info))
		return false;
	real = realpath(info.dli_fname, NULL);
	slash = real != NULL ? strrchr(real, '/') : NULL;
	for (size_t i = 0; slash != NULL && !found && i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - real), real, places[i]);

		found = length < (int)sizeof(path) && access(path, F_OK) == 0;
	}
	if (!found)
		path[0] = '\0';
	free(real);
	return found;
}

bool dat20_load(char **why)
{
	const char *words;

	if (library != NULL)
		return true;
	if (!find()) {
		*why = cli_text("there is no libdat2.so.2 beside libdat.so.1");
		return false;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		words = dlerror();
		*why = cli_text("%s", words != NULL ? words : "the loader gave no reason");
	}
	return library != NULL;
}

bool dat20_only(const char *name)
{
	bool found = false, others = false;
	struct conf conf;

	conf_init(&conf);
	conf_read_system(&conf); /* errors are ignored, because the open of the adapter reports them */
	for (const struct conf_entry *e = conf.entries; e != NULL; e = e->next) {
		if (e->skip != CONF_USED || e->hidden != CONF_SHOWN || strcmp(e->name, name) != 0)
			continue;
		found = found || e->major == 2;
		others = others || e->major != 2;
	}
	conf_free(&conf);
	return found && !others;
}

const char *dat20_path(void)
{
	return library != NULL ? path : "";
}

void *dat20_symbol(const char *name)
{
	return dlsym(library, name);
}
