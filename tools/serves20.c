/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a line for uDAPL 1.2 serves programs of 2.0 as well. Of the lines that do by their libraries' names, those of wrappers
 * are looked at: a library of that name may have been built before wrappers served 2.0.
 *
 * Invariant: a library is loaded only in a child process, because loading it runs its constructors; and once.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "cli.h"
#include "dump.h"
#include "probe.h"
#include "registry/loader.h"
#include "serves20.h"

#define SECONDS 10

/* A library that has been looked at. */
struct known {
	struct known *next;
	char *library;
	bool has_20;
};

static struct known *all_known;

static void take_line(void *arg, const char *key, const char *value)
{
	(void)arg;
	if (!strcmp(key, "apis"))
		probe_say("apis", "%s", value);
}

static void look(void *arg)
{
	const struct conf_entry *e = arg;
	char *why = NULL;
	struct loader_lib *library = loader_open(e->library, &why);
	DAT_PROVIDER_INIT_FUNC init;
	dump_fn *dump;

	if (!library)
		return;
	init = (DAT_PROVIDER_INIT_FUNC)(uintptr_t)loader_symbol(library, DAT_PROVIDER_INIT_FUNC_STR);
	dump = (dump_fn *)(uintptr_t)loader_symbol(library, "datp_plugin_dump");
	if (init && dump)
		dump(init, take_line, NULL);
}

/* A library that says nothing, because it cannot be loaded or is not a wrapper, is left to its name. */
static bool wrapper_has_20(const struct conf_entry *e)
{
	struct probe_result result;
	struct known *known;
	char *apis = NULL;
	bool has_20;

	for (known = all_known; known != NULL; known = known->next)
		if (!strcmp(known->library, e->library))
			return known->has_20;
	if (probe_run(look, (void *)(uintptr_t)e, SECONDS, &result) == 0)
		apis = probe_get(&result, "apis");
	probe_free(&result);
	has_20 = !apis || strstr(apis, "2.0");
	free(apis);
	known = calloc(1, sizeof(*known));
	if (known == NULL)
		return has_20; /* it is looked at again */
	known->library = cli_strdup(e->library);
	known->has_20 = has_20;
	known->next = all_known;
	all_known = known;
	return has_20;
}

bool serves_20(const struct conf *conf, const struct conf_entry *e)
{
	return conf_serves_20_with(conf, e, wrapper_has_20);
}
