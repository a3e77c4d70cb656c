/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of Solaris's datadm: -v shows the registry, -u updates it, -a and -r add and remove
 * the lines of a file.
 *
 * Invariant: the file that is changed is the one that programs read.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "confedit.h"
#include "conffile.h"
#include "datctl.h"

/* Returns whether both entries are one adapter, as far as the registry distinguishes adapters. */
static bool is_same(const struct conf_entry *a, const struct conf_entry *b)
{
	return strcmp(a->name, b->name) == 0 && a->major == b->major && a->minor == b->minor &&
	       a->thread_safe == b->thread_safe;
}

/* Returns the line of the registry that has this adapter, or the number of lines. */
static size_t line_of(const struct confedit *edit, const struct conf_entry *e, bool same_library)
{
	size_t i;

	for (i = 0; i < edit->file.count; i++) {
		struct conf conf;
		bool hit = confedit_parse(&conf, edit->file.line[i]) && is_same(conf.entries, e) &&
			   (!same_library || strcmp(conf.entries->library, e->library) == 0);

		conf_free(&conf);
		if (hit && !edit->gone[i])
			break;
	}
	return i;
}

static void take(struct confedit *edit, const char *text, bool add)
{
	struct conf conf;

	if (confedit_parse(&conf, text)) {
		const struct conf_entry *e = conf.entries;
		size_t line = line_of(edit, e, !add);
		bool there = line < edit->file.count;

		if (add && there)
			cli_error("%s: is already in %s, in line %zu", e->name, edit->path,
				  line + 1);
		else if (add)
			confedit_add(edit, cli_strdup(text));
		else if (there)
			confedit_remove(edit, line);
		else
			cli_error("%s: is not in %s", e->name, edit->path);
	}
	conf_free(&conf);
}

/* Returns false if the file has an error: then the whole file is refused. */
static bool is_sound(const char *path)
{
	struct conf conf;
	bool sound;

	conf_init(&conf);
	sound = conf_read(&conf, path) == 0 && conf.ndiags == 0;
	if (!sound && conf.diags != NULL && conf.diags->line == 0)
		cli_error("%s: %s", path, conf.diags->text);
	else if (!sound && conf.diags != NULL)
		cli_error("%s:%u: %s; 'datctl check %s' shows where", path, conf.diags->line,
			  conf.diags->text, path);
	conf_free(&conf);
	return sound;
}

static int change(const char *path, bool add)
{
	struct conffile lines;
	struct confedit edit;
	int status = CLI_FAILED, err;

	if (!is_sound(path))
		return CLI_FAILED;
	err = conffile_read(&lines, path);
	if (err != 0) {
		cli_error("%s: cannot be read: %s", path, conffile_strerror(err));
		return CLI_FAILED;
	}
	err = confedit_open(&edit, conffile_path());
	if (err != 0) {
		cli_error("%s: cannot be read: %s", conffile_path(), conffile_strerror(err));
		confedit_close(&edit);
		conffile_free(&lines);
		return CLI_FAILED;
	}
	for (size_t i = 0; i < lines.count; i++)
		take(&edit, lines.line[i], add);
	if (!confedit_is_empty(&edit)) {
		confedit_print(&edit);
		status = confedit_write(&edit) ? CLI_OK : CLI_FAILED;
	}
	confedit_close(&edit);
	conffile_free(&lines);
	return status;
}

bool datctl_is_datadm(const char *option)
{
	return option[0] == '-' && option[1] != '\0' && strchr("vuar", option[1]) != NULL &&
	       option[2] == '\0';
}

int datctl_datadm(int argc, char **argv)
{
	char option = argv[0][1];
	bool takes_file = option == 'a' || option == 'r';

	if (argc != 1 + takes_file)
		return cli_usage(takes_file ? "-%c takes one file, with lines as in dat.conf"
					    : "-%c takes no argument",
				 option);
	if (option == 'v')
		return datctl_list(1, argv);
	if (option == 'u')
		return datctl_update(conffile_path(), "", 1, false);
	return change(argv[1], option == 'a');
}
