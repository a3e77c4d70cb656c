/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds errors in dat.conf as a file: its grammar, who may write it, lines that repeat others.
 *
 * Invariant: nothing is loaded, and each error is found once.
 */
#include "config.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "cli.h"
#include "conffile.h"

/* Splits the parser's "cause; remedy". Each half is malloced; the second may be missing. */
static void halves(const char *text, char **cause, char **remedy)
{
	const char *semicolon = strrchr(text, ';');

	*remedy = NULL;
	if (semicolon == NULL) {
		*cause = cli_text("%s", text);
		return;
	}
	*cause = cli_text("%.*s", (int)(semicolon - text), text);
	*remedy = cli_text("%s", semicolon + 1 + strspn(semicolon + 1, " "));
}

static void unreadable_add(struct check *c, const struct conf_diag *d)
{
	char *cause, *remedy;

	halves(d->text, &cause, &remedy);
	if (remedy != NULL)
		; /* the parser has given the remedy */
	else if (strstr(d->text, strerror(ENOENT)) != NULL)
		remedy = cli_text("datctl discover >'%s'", d->file);
	else if (strstr(d->text, strerror(EACCES)) != NULL)
		remedy = cli_text("chmod a+r '%s'    (as its owner or root)", d->file);
	else
		remedy = cli_text("name a text file in the format of dat.conf; "
				  "'datctl discover' prints one");
	check_add(c, CHECK_FAIL, "file-unreadable", NULL, cause, remedy);
	c->finding[c->count - 1].file = cli_text("%s", d->file);
}

static void diag_add(struct check *c, const struct conf_diag *d)
{
	struct finding *f;
	char *cause, *remedy;

	if (d->line == 0) {
		unreadable_add(c, d);
		return;
	}
	halves(d->text, &cause, &remedy);
	if (remedy == NULL)
		remedy = cli_text("correct line %u", d->line);
	f = check_add(c, CHECK_FAIL, "grammar", NULL, cause, remedy);
	if (d->name != NULL)
		f->name = cli_text("%s", d->name);
	f->file = cli_text("%s", d->file);
	f->line = d->line;
	f->column = d->column;
	f->field = d->field != 0 ? conf_field_name(d->field) : NULL;
}

/*
 * A user who may write the file, or put a file into the folder of drop-ins, can have any library
 * loaded into the programs of all other users.
 */
static void rights_check(struct check *c, const char *path)
{
	struct stat st;
	char *cause;

	if (stat(path, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
	    (st.st_mode & S_IWOTH) == 0)
		return;
	cause = cli_text("every user of this host may %s, and so can load any library into the "
			 "programs of others",
			 S_ISDIR(st.st_mode) ? "put files into it" : "write it");
	check_add(c, CHECK_WARN, "world-writable", NULL, cause, cli_text("chmod o-w '%s'", path))
		->file = cli_text("%s", path);
}

static void drop_in_folder_check(struct check *c, const char *file)
{
	char *path = cli_raw("%s.d", file);

	rights_check(c, path);
	free(path);
}

/* Returns 0 if both are one adapter, as far as libdat distinguishes them. */
static int entry_compare(const void *one, const void *other)
{
	const struct conf_entry *a = one, *b = other;
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = a->major != b->major ? (a->major < b->major ? -1 : 1) :
			a->minor != b->minor ? (a->minor < b->minor ? -1 : 1) :
					       (int)a->thread_safe - (int)b->thread_safe;
	return order;
}

static void nothing(void *node)
{
	(void)node;
}

static void duplicates_check(struct check *c)
{
	void *seen = NULL;

	for (const struct conf_entry *e = c->conf.entries; e != NULL; e = e->next) {
		const struct conf_entry **node, *first;

		if (e->skip != CONF_USED || e->hidden != CONF_SHOWN)
			continue;
		node = tsearch(e, &seen, entry_compare);
		first = node != NULL ? *node : e;
		if (first != e)
			check_add(c, CHECK_WARN, "duplicate", e,
				  cli_text("repeats the adapter of %s:%u, and is %s", first->file,
					   first->line,
					   c->conf.strict ?
						   "never tried, because DAT_PROVIDERS says "
						   ":strict" :
						   "tried only when that one cannot be opened"),
				  cli_text("give it a name of its own, or: "
					   "sed -i '%us/^/#/' '%s'",
					   e->line, e->file));
	}
	tdestroy(seen, nothing);
}

static void filter_check(struct check *c)
{
	char *cause, *remedy;

	halves(c->conf.providers_wrong, &cause, &remedy);
	check_add(c, CHECK_WARN, "filter", NULL, cli_text("DAT_PROVIDERS: %s", cause),
		  remedy != NULL ? remedy : cli_text("correct DAT_PROVIDERS, or unset it"));
	free(cause);
}

void check_file(struct check *c)
{
	unsigned int shown = 0;

	for (const struct conf_diag *d = c->conf.diags; d != NULL; d = d->next, shown++)
		if (c->only == NULL || d->name == NULL || strcmp(d->name, c->only) == 0)
			diag_add(c, d);
	if (c->conf.ndiags > shown)
		check_add(c, CHECK_FAIL, "grammar", NULL,
			  cli_text("%u more %s of this kind", c->conf.ndiags - shown,
				   c->conf.ndiags - shown == 1 ? "complaint" : "complaints"),
			  cli_text("check that this file is a dat.conf: %s", c->conf.origin));
	for (const struct conf_source *s = c->conf.sources; s != NULL; s = s->next)
		rights_check(c, s->path);
	for (const struct conf_source *s = c->conf.sources; s != NULL; s = s->next)
		if (s->main)
			drop_in_folder_check(c, s->path);
	if (c->conf.builtin)
		drop_in_folder_check(c, SYSCONFDIR "/dat.conf");
	if (c->conf.providers_wrong != NULL)
		filter_check(c);
	duplicates_check(c);
}
