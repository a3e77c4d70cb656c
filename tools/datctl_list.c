/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl list: the adapters of the static registry, in its order.
 *
 * The files are read with the registry's own parser, so the list shows what a program gets. No
 * provider is loaded but wrappers, in a child process, which are asked whether they serve programs of 2.0.
 *
 * Invariant: one line for each adapter on stdout. The heading is printed on a terminal only, and
 * lines of the files that were skipped are reported on stderr.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "datctl.h"
#include "json.h"
#include "serves20.h"
#include "registry/conf.h"

#define DIAGS_SHOWN 8

const char datctl_list_help[] =
	"Usage: datctl list [--json]\n"
	"Print the adapters that programs of this host can open, one a line: name, version of the\n"
	"API (u1.2: uDAPL 1.2, u2.0: uDAPL 2.0), thread safety, the provider's library, and\n"
	"where the entry was read: a line of dat.conf, a drop-in of dat.conf.d, or built-in.\n"
	"No adapter is opened. Lines that programs of uDAPL 1.2 cannot open, those for 2.0 and\n"
	"for other versions, are marked, and so are lines that DAT_PROVIDERS hides, and lines for\n"
	"1.2 that programs of 2.0 can open as well.\n"
	"Lines of the files that cannot be used are reported on standard error.\n"
	"\n"
	"  --json   print JSON\n";

static bool as_json;

enum column { NAME, API, THREADS, LIBRARY, PLACE, COLUMNS };

struct row {
	char *cell[COLUMNS];
};

static const char *const heading[COLUMNS] = { "NAME", "API", "THREADS", "LIBRARY", "READ AT" };

/*
 * Lines for other versions are listed too, because a user may look for an adapter of such a line.
 */
static bool is_for_programs_of_12(const struct conf_entry *e)
{
	return e->major == 1;
}

/* libdat2.so.2 serves these. */
static bool is_for_programs_of_20(const struct conf_entry *e)
{
	return e->major == 2;
}

static char *place(const struct conf *conf, const struct conf_entry *e)
{
	char *where = conf->builtin && strcmp(e->file, "built-in") == 0 ?
		      cli_text("built-in") : cli_text("%s:%u", e->file, e->line);
	const char *also = serves_20(conf, e) ? ", also for uDAPL 2.0" : "";
	char *tuned;

	if (!is_for_programs_of_12(e) && !is_for_programs_of_20(e))
		tuned = cli_text("%s, neither for uDAPL 1.2 nor for 2.0", where);
	else if (e->hidden != CONF_SHOWN)
		tuned = cli_text("%s, hidden by DAT_PROVIDERS", where);
	else if (is_for_programs_of_20(e))
		tuned = cli_text("%s, for uDAPL 2.0", where);
	else if (e->tuned_file != NULL)
		tuned = cli_text("%s, tuned by %s:%u%s", where, e->tuned_file, e->tuned_line, also);
	else
		tuned = cli_text("%s%s", where, also);
	free(where);
	return tuned;
}

static void fill_row(struct row *row, const struct conf *conf, const struct conf_entry *e)
{
	char *where = place(conf, e);

	/* Names, libraries and paths come from the files and may contain anything. */
	row->cell[NAME] = cli_escape(e->name);
	row->cell[API] = cli_text("u%u.%u", e->major, e->minor);
	row->cell[THREADS] = cli_text("%s", e->thread_safe ? "threadsafe" : "nonthreadsafe");
	row->cell[LIBRARY] = cli_escape(e->library);
	row->cell[PLACE] = cli_escape(where);
	free(where);
}

static void print_row(const char *const cell[], const int width[])
{
	for (int i = 0; i < COLUMNS - 1; i++)
		printf("%-*s  ", width[i], cell[i]);
	printf("%s\n", cell[COLUMNS - 1]);	/* no blanks after the last cell */
}

static void print_table(const struct row *rows, size_t count)
{
	int width[COLUMNS] = { 0 };
	bool headed = isatty(STDOUT_FILENO);

	for (int col = 0; col < COLUMNS; col++) {
		if (headed)
			width[col] = (int)strlen(heading[col]);
		for (size_t i = 0; i < count; i++)
			if ((int)strlen(rows[i].cell[col]) > width[col])
				width[col] = (int)strlen(rows[i].cell[col]);
	}
	if (headed && count > 0)
		print_row(heading, width);
	for (size_t i = 0; i < count; i++)
		print_row((const char *const *)rows[i].cell, width);
}

static void print_diags(const struct conf *conf)
{
	unsigned int shown = 0;

	for (const struct conf_diag *d = conf->diags; d != NULL; d = d->next) {
		char *where = d->line == 0 ? cli_text("%s", d->file) :
			      d->column == 0 ? cli_text("%s:%u", d->file, d->line) :
			      cli_text("%s:%u:%u", d->file, d->line, d->column);

		if (d->field != 0)
			cli_error("%s: %s: %s", where, conf_field_name(d->field), d->text);
		else
			cli_error("%s: %s", where, d->text);
		free(where);
		if (++shown == DIAGS_SHOWN)
			break;
	}
	if (conf->ndiags > shown)
		cli_error("... and %u more of this kind", conf->ndiags - shown);
}

static void print_json(const struct conf *conf)
{
	json_array(NULL);
	for (const struct conf_entry *e = conf->entries; e != NULL; e = e->next) {
		char *api;

		if (e->skip != CONF_USED)
			continue;
		api = cli_text("u%u.%u", e->major, e->minor);
		json_object(NULL);
		json_string("name", e->name);
		json_string("api", api);
		json_bool("for_udapl_12", is_for_programs_of_12(e));
		json_bool("for_udapl_20", is_for_programs_of_20(e) || serves_20(conf, e));
		json_bool("hidden", e->hidden != CONF_SHOWN);
		json_bool("thread_safe", e->thread_safe);
		json_string("library", e->library);
		json_string("provider_version", e->provider_version);
		json_string("ia_params", e->ia_params);
		json_string("file", e->file);
		json_number("line", e->line);
		json_string("tuned_file", e->tuned_file);
		json_number("tuned_line", e->tuned_line);
		json_end();
		free(api);
	}
	json_end();
}

/*
 * Returns true if nothing is listed because the file could not be read, which is not an empty list.
 */
static bool unreadable(const struct conf *conf)
{
	for (const struct conf_diag *d = conf->diags; d != NULL; d = d->next)
		if (d->line == 0 && strcmp(d->file, conf->origin) == 0)
			return true;
	return false;
}

static int list(const struct conf *conf)
{
	struct row *rows;
	size_t count = 0;

	for (const struct conf_entry *e = conf->entries; e != NULL; e = e->next)
		count += e->skip == CONF_USED;
	rows = calloc(count + 1, sizeof(*rows));
	if (rows == NULL) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	count = 0;
	for (const struct conf_entry *e = conf->entries; e != NULL; e = e->next)
		if (e->skip == CONF_USED)
			fill_row(&rows[count++], conf, e);
	if (as_json)
		print_json(conf);
	else
		print_table(rows, count);
	for (size_t i = 0; i < count; i++)
		for (int col = 0; col < COLUMNS; col++)
			free(rows[i].cell[col]);
	free(rows);
	print_diags(conf);
	if (conf->providers_wrong != NULL)
		cli_error("DAT_PROVIDERS: %s", conf->providers_wrong);
	if (count == 0 && unreadable(conf))
		return CLI_FAILED;
	if (count == 0)
		cli_error("%s names no adapter; a line like 'soft0 u1.2 nonthreadsafe default "
			  "libdatsoft.so opendat.1.0 \"\" \"\"' adds the soft provider",
			  conf->origin);
	return CLI_OK;
}

int datctl_list(int argc, char **argv)
{
	struct conf conf;
	int status = CLI_FAILED;

	as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
	if (argc > 1 + as_json)
		return datctl_unwanted("list", argv[1 + as_json]);
	conf_init(&conf);
	if (conf_read_system(&conf) == 0)
		status = list(&conf);
	else
		cli_error("out of memory");
	conf_free(&conf);
	return status;
}
