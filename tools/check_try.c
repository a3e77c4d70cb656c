/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One adapter tried in a child process: its library is loaded, it is opened, and memory is
 * registered, as a program would do it.
 *
 * What is reported: "stage" before each step, so that the step that crashes or hangs is known; "why" with
 * the loader's words, "ret" with the name of the DAT_RETURN of a step that failed, "event" with the
 * number of an event that came in place of a connection, "path" and "address" when they are known.
 * The last stage of an adapter that works is "done".
 *
 * Invariant: exactly this entry is tried, and no other of its name: in the registry of the child
 * the name is there once.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dat/dat_registry.h>

#include "check.h"
#include "dat20.h"
#include "probe.h"
#include "registry/loader.h"

static struct loader_lib *library; /* the library of this child; it stays loaded */

/* Loads libdat2.so.2 before the plugin, because a plugin for uDAPL 2.0 registers with it. */
static bool registry20_try(void)
{
	char *why = NULL;

	probe_say("stage", "registry");
	if (dat20_load(&why))
		return true;
	probe_say("why", "%s", why);
	free(why);
	return false;
}

static bool library_try(const struct conf_entry *e)
{
	char *why;

	probe_say("stage", "library");
	library = loader_open(e->library, &why);
	if (library == NULL) {
		probe_say("why", "%s", why != NULL ? why : "out of memory");
		return false;
	}
	probe_say("path", "%s", loader_path(library));
	probe_say("stage", "symbol");
	return loader_symbol(library, DAT_PROVIDER_INIT_FUNC_STR) != NULL;
}

/* Reports the provider's own reason why it did not register or open, if it has one. */
static void own_reason_report(void)
{
	const char *(*why)(void) =
		(const char *(*)(void))(uintptr_t)loader_symbol(library, "datp_plugin_why");
	const char *words = why != NULL ? why() : NULL;

	if (words != NULL)
		probe_say("why", "%s", words);
}

static void field_write(FILE *file, const char *text)
{
	fputs(" \"", file);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void entry_write(FILE *file, const struct conf_entry *e)
{
	field_write(file, e->name);
	fprintf(file, " u%u.%u %s default", e->major, e->minor,
		e->thread_safe ? "threadsafe" : "nonthreadsafe");
	field_write(file, e->library);
	field_write(file, e->provider_version);
	field_write(file, e->ia_params);
	fprintf(file, " \"\"\n");
}

#define LARGE 1000 /* a number of lines that nobody writes by hand */
#define CHAIN 4	   /* wrappers on top of each other */

/*
 * Writes the lines that may be beneath e: all other adapters. From a large registry, which each
 * child has to read, it writes only those that e's parameters name, those that the first of these
 * names, and so on.
 */
static void others_write(FILE *file, const struct check *c, const struct conf_entry *e)
{
	const struct conf_entry *above = e;

	for (int depth = 0; depth < CHAIN && above != NULL; depth++) {
		const struct conf_entry *next = NULL;

		for (const struct conf_entry *other = c->conf.entries; other != NULL;
		     other = other->next) {
			if (other->skip != CONF_USED || strcmp(other->name, e->name) == 0 ||
			    (c->entries > LARGE && strstr(above->ia_params, other->name) == NULL))
				continue;
			entry_write(file, other);
			if (next == NULL && *other->ia_params != '\0')
				next = other;
		}
		above = c->entries > LARGE ? next : NULL;
	}
}

/*
 * Makes a registry for libdat to read: this entry, and those with other names, because a wrapper
 * opens the adapter beneath it.
 */
static bool registry_make(const struct check *c, const struct conf_entry *e)
{
	char path[64];
	int fd = memfd_create("dat.conf", 0);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (file == NULL)
		return false;
	entry_write(file, e);
	if (c->entries <= LARGE || *e->ia_params != '\0')
		others_write(file, c, e);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fflush(file) == 0 && setenv("DAT_OVERRIDE", path, 1) == 0 &&
	       unsetenv("DAT_DBG_TYPE") == 0 && unsetenv("DAT_DBG_DEST") == 0 &&
	       setenv("DAT_LOG", "warning", 1) == 0;
}

void check_try(void *arg)
{
	const struct check_try *try = arg;
	const struct conf_entry *e = try->entry;
	bool opened;

	if ((e->major == 2 && !registry20_try()) || !library_try(e))
		return;
	probe_say("stage", "open");
	if (!registry_make(try->check, e)) {
		probe_say("why", "cannot create a registry for its test: %s", strerror(errno));
		return;
	}
	opened = e->major == 2 ? check_calls20(try->check, e) : check_calls(try->check, e);
	if (!opened)
		own_reason_report();
}
