/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl which: the files that make up the registry, in the order in which they are searched, and
 * the library of one adapter.
 *
 * Invariant: a library is loaded only in a child process, because loading it runs its constructors.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "conffile.h"
#include "dat20.h"
#include "datctl.h"
#include "json.h"
#include "probe.h"
#include "serves20.h"
#include "registry/loader.h"

const char datctl_which_help[] =
	"Usage: datctl which [--json] [IA]\n"
	"Print which files make up the registry of adapters and why (those that are used are\n"
	"marked with *), and what DAT_PROVIDERS hides. With the name of an adapter: the line\n"
	"that it is read from, and its library; for an adapter of uDAPL 2.0 also the libdat2.so.2\n"
	"that it was loaded with.\n";

#define SECONDS 10

static const char *const candidates[] = { SYSCONFDIR "/dat.conf", "/etc/dat.conf" };

static const char *state_of(const char *path)
{
	if (access(path, R_OK) == 0)
		return "can be read";
	return errno == ENOENT ? "is not there" : strerror(errno);
}

/*
 * Returns whether the file is part of the registry. A file that is named alone is, even if it
 * cannot be read.
 */
static bool counts(const struct conf *conf, const char *path)
{
	if (strcmp(conf->origin, path) == 0)
		return true;
	for (const struct conf_source *s = conf->sources; s != NULL; s = s->next)
		if (s->main && strcmp(s->path, path) == 0)
			return true;
	return false;
}

static bool is_drop_in(const struct conf_source *s)
{
	const char *dot = strrchr(s->path, '.');

	return !s->main && dot != NULL && (strcmp(dot, ".ini") == 0 || strcmp(dot, ".d") == 0);
}

static void file_print(const struct conf *conf, const char *path, const char *what)
{
	char *shown = cli_escape(path);

	printf("%c %-32s  %s: %s\n", counts(conf, path) ? '*' : ' ', shown, what,
	       state_of(path));
	free(shown);
}

/*
 * Prints the files of DAT_CONF_PATH; an empty name means the system's file, which is printed below.
 */
static void listed_print(const struct conf *conf)
{
	char *list = cli_strdup(conf->path_list), *rest = list, *path;

	while ((path = strsep(&rest, ":")) != NULL)
		if (*path != '\0')
			file_print(conf, path, "DAT_CONF_PATH");
	free(list);
}

static void filter_print(const struct conf *conf)
{
	size_t lines, hidden = conffile_hidden(conf, &lines);
	char *text;

	if (conf->providers == NULL)
		return;
	text = cli_text("DAT_PROVIDERS=%s", conf->providers);
	printf("- %-32s  hides %zu of %zu adapters%s\n", text, hidden, lines,
	       conf->strict ? "; if several lines have one name, only the first is tried" : "");
	free(text);
}

static void files_print(const struct conf *conf)
{
	const char *override = getenv("DAT_OVERRIDE");

	if (override != NULL && *override != '\0')
		file_print(conf, override, "DAT_OVERRIDE, so no other file is read");
	else if (conf->path_list != NULL)
		listed_print(conf);
	for (size_t i = 0; i < 2; i++)
		if (i == 0 || strcmp(candidates[0], candidates[1]) != 0)
			file_print(conf, candidates[i],
				   i == 0 ? "the system's" : "the older place");
	printf("%c %-32s  because there is no file: "
	       "soft0\n", conf->builtin ? '*' : ' ', "built-in");
	for (const struct conf_source *s = conf->sources; s != NULL; s = s->next)
		if (is_drop_in(s))
			printf("+ %-32s  drop-in: %s\n", s->path, state_of(s->path));
	filter_print(conf);
}

static void files_json(const struct conf *conf)
{
	size_t lines, hidden = conffile_hidden(conf, &lines);

	json_string("registry", conf->origin);
	json_string("reason", conffile_why(conf));
	json_array("files");
	for (const struct conf_source *s = conf->sources; s != NULL; s = s->next)
		if (s->main)
			json_string(NULL, s->path);
	json_end();
	json_array("drop_ins");
	for (const struct conf_source *s = conf->sources; s != NULL; s = s->next)
		if (is_drop_in(s))
			json_string(NULL, s->path);
	json_end();
	json_string("providers", conf->providers);
	json_string("providers_wrong", conf->providers_wrong);
	json_bool("strict", conf->strict);
	json_number("adapters", lines);
	json_number("hidden", hidden);
}

/* Loads libdat2.so.2 before a plugin for uDAPL 2.0, because the plugin registers with it. */
static bool look_for_20(void)
{
	char *why = NULL;
	bool found = dat20_load(&why);

	if (found)
		probe_say("libdat2", "%s", dat20_path());
	else
		probe_say("why", "programs of uDAPL 2.0 need libdat2.so.2: %s; " DAT20_PACKAGE, why);
	free(why);
	return found;
}

static void look(void *arg)
{
	const struct conf_entry *e = arg;
	struct loader_lib *library;
	char *why;

	if (e->major == 2 && !look_for_20())
		return;
	library = loader_open(e->library, &why);
	if (library != NULL)
		probe_say("path", "%s", loader_path(library));
	else
		probe_say("why", "%s", why != NULL ? why : "out of memory");
}

static int entry_print(const struct conf *conf, struct conf_entry *e, bool json)
{
	struct probe_result result;
	char *path = NULL, *why = NULL, *libdat2 = NULL;
	int err = probe_run(look, e, SECONDS, &result);

	if (err == 0) {
		path = probe_get(&result, "path");
		libdat2 = probe_get(&result, "libdat2");
		why = probe_get(&result, "why");
	}
	if (json) {
		json_object(NULL);
		json_string("adapter", e->name);
		json_string("libdat2", libdat2);
		json_string("file", e->file);
		json_number("line", e->line);
		json_string("library", e->library);
		json_string("path", path);
		json_string("why_not", path != NULL ? NULL : why);
		json_bool("hidden", e->hidden != CONF_SHOWN);
		json_bool("also_for_udapl_20", serves_20(conf, e));
		json_end();
	} else {
		printf("%s  u%u.%u %s  %s:%u\n", e->name, e->major, e->minor,
		       e->thread_safe ? "threadsafe" : "nonthreadsafe", e->file, e->line);
		if (e->tuned_file != NULL)
			printf("  tuned by %s:%u\n", e->tuned_file, e->tuned_line);
		printf("  %s -> %s\n", e->library, path != NULL ? path : "not found");
		if (libdat2 != NULL)
			printf("  libdat2.so.2 -> %s\n", libdat2);
		if (serves_20(conf, e))
			printf("  also for programs of uDAPL 2.0\n");
		if (e->hidden != CONF_SHOWN)
			printf("  hidden from programs by DAT_PROVIDERS\n");
	}
	if (path == NULL)
		cli_error("%s: %s; 'datctl check --ia %s' prints what to do", e->name,
			  why != NULL ? why : "the library cannot be loaded", e->name);
	probe_free(&result);
	free(why);
	free(libdat2);
	err = path != NULL ? CLI_OK : CLI_FAILED;
	free(path);
	return err;
}

static int which(const struct conf *conf, const char *name, bool json)
{
	int status = CLI_OK;
	bool known = false;

	if (name == NULL) {
		if (json) {
			json_object(NULL);
			files_json(conf);
			json_end();
		} else {
			files_print(conf);
		}
		if (conf->providers_wrong != NULL)
			cli_error("DAT_PROVIDERS: %s", conf->providers_wrong);
		return CLI_OK;
	}
	if (json)
		json_array(NULL);
	for (struct conf_entry *e = conf->entries; e != NULL; e = e->next) {
		if (e->skip != CONF_USED || strcmp(e->name, name) != 0)
			continue;
		known = true;
		if (entry_print(conf, e, json) != CLI_OK)
			status = CLI_FAILED;
	}
	if (json)
		json_end();
	if (known)
		return status;
	cli_error("no adapter is called '%s' in %s; 'datctl list' prints their names", name,
		  conf->origin);
	return CLI_FAILED;
}

int datctl_which(int argc, char **argv)
{
	int status = CLI_FAILED, first = 1;
	struct conf conf;
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

	first += json;
	if (first < argc && strcmp(argv[first], "--") == 0)
		first++;
	else if (first < argc && argv[first][0] == '-')
		return datctl_unknown_option("which", argv[first]);
	if (argc > first + 1)
		return cli_usage("which: one adapter at a time; '%s' is one too many",
				 argv[first + 1]);
	conf_init(&conf);
	if (conf_read_system(&conf) == 0)
		status = which(&conf, first < argc ? argv[first] : NULL, json);
	else
		cli_error("out of memory");
	conf_free(&conf);
	return status;
}
