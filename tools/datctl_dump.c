/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl dump: describes a provider plugin in KEY=VALUE lines. No adapter is opened.
 *
 * Invariant: every plugin of the SDK gets the same keys, in the same order. The libdatp that the
 * plugin is linked with prints them, so datctl does not need libdatp.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "cli.h"
#include "datctl.h"
#include "dump.h"
#include "registry/loader.h"

const char datctl_dump_help[] =
	"Usage: datctl dump PLUGIN.so\n"
	"Describe a provider plugin, in KEY=VALUE lines on stdout.\n"
	"\n"
	"  file      the plugin\n"
	"  init, fini  whether it has the functions that libdat calls: present or missing\n"
	"  name, version  the name and version that it reports\n"
	"  sdk       the provider SDK it was built with; none: it supplies its own DAT 1.2 table\n"
	"  host      the SDK of the libdatp that it would run with\n"
	"  loads     whether that libdatp accepts it; if not, `why` has the reason, with the duty of\n"
	"            datp(7)\n"
	"  needs, traits  its feature bits\n"
	"  size.X    the size of its own object X\n"
	"  op.X      present, default (libdatp's own is used) or missing (it is required)\n"
	"  apis      the versions of uDAPL whose programs it serves\n"
	"  ignored   how many of its ops this libdatp is too old to know; only if there are some\n"
	"\n"
	"Exit status: 0 the plugin loads, 1 it is not a plugin or is refused, 2 the command line\n"
	"is wrong.\n";

static void print_line(void *arg, const char *key, const char *value)
{
	bool *loads = arg;

	if (!strcmp(key, "loads"))
		*loads = !strcmp(value, "yes");
	printf("%s=%s\n", key, value);
}

/* The plugin's library. It is never unloaded, because a plugin that fails to load may crash when it is unloaded. */
static struct loader_lib *library;

static bool plugin_load(const char *file)
{
	char path[PATH_MAX];
	char *why;

	/* a file, and never a name to search for */
	if (!realpath(file, path)) {
		cli_error("%s: %m; name the plugin's file", file);
		return false;
	}
	library = loader_open(path, &why);
	if (!library) {
		cli_error("%s; install what it needs, or name another file",
			  why ? why : "out of memory");
		free(why);
		return false;
	}
	printf("file=%s\n", path);
	return true;
}

static bool print_plugin(void)
{
	DAT_PROVIDER_INIT_FUNC init = (DAT_PROVIDER_INIT_FUNC)(uintptr_t)loader_symbol(
		library, DAT_PROVIDER_INIT_FUNC_STR);
	void *fini = loader_symbol(library, DAT_PROVIDER_FINI_FUNC_STR);
	dump_fn *dump = (dump_fn *)(uintptr_t)loader_symbol(library, "datp_plugin_dump");
	bool loads = true;

	printf("init=%s\n", init ? "present" : "missing");
	printf("fini=%s\n", fini ? "present" : "missing");
	if (!init) {
		cli_error("it has no symbol %s, so it is not a DAT provider; name another file",
			  DAT_PROVIDER_INIT_FUNC_STR);
		return false;
	}
	/* Without libdatp behind the plugin, it can only be loaded. */
	if (!dump || !dump(init, print_line, &loads))
		printf("sdk=none\n");
	return loads;
}

int datctl_dump(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] == '-')
		return datctl_unknown_option("dump", argv[1]);
	if (argc != 2)
		return cli_usage("dump takes one PLUGIN.so");
	if (!plugin_load(argv[1]))
		return CLI_FAILED;
	return print_plugin() ? CLI_OK : CLI_FAILED;
}
