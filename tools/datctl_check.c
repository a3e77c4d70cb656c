/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl check: whether the adapters of dat.conf can be opened, and if not, why not and what is to
 * be done.
 *
 * Invariant: the verdict on an adapter is one line, the remedy the next one. The exit status is 0
 * only if every adapter can be opened.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli.h"
#include "conffile.h"
#include "datctl.h"
#include "json.h"

const char datctl_check_help[] =
	"Usage: datctl check [OPTION...] [FILE]\n"
	"Test every adapter of dat.conf, each in a process of its own. For each adapter that\n"
	"cannot be used, print the reason and what to do. FILE is checked instead of the files\n"
	"that programs read.\n"
	"\n"
	"  --ia NAME           only this adapter\n"
	"  --listen QUAL       also test whether a program can listen at this qualifier\n"
	"  --peer HOST:QUAL    also test whether a peer can be reached there\n"
	"                      ([ADDRESS]:QUAL for IPv6)\n"
	"  --timeout SECONDS   for each adapter (default 10)\n"
	"  --root DIR          look for devices in DIR/sys and DIR/dev\n"
	"  --json              print JSON\n"
	"\n"
	"Exit status: 0 every adapter can be used (lines for other versions and warnings do not\n"
	"matter), 1 something cannot be used, 2 the command line is wrong.\n";

struct finding *check_add(struct check *c, enum verdict verdict, const char *code,
			  const struct conf_entry *e, char *cause, char *remedy)
{
	struct finding *f;

	if (c->count == c->room) {
		c->room = c->room > 0 ? 2 * c->room : 64;
		f = reallocarray(c->finding, c->room, sizeof(*f));
		if (f == NULL) {
			cli_error("out of memory");
			exit(CLI_FAILED);
		}
		c->finding = f;
	}
	f = &c->finding[c->count++];
	memset(f, 0, sizeof(*f));
	f->verdict = verdict;
	f->code = code;
	f->cause = cause;
	f->remedy = remedy;
	if (e != NULL) {
		f->name = cli_text("%s", e->name);
		f->file = cli_text("%s", e->file);
		f->line = e->line;
	}
	return f;
}

char *check_comment_out(const struct conf_entry *e)
{
	const char *dot = strrchr(e->file, '.');

	if (strcmp(e->file, "built-in") == 0)
		return cli_text("datctl discover >" SYSCONFDIR "/dat.conf");
	if (dot != NULL && strcmp(dot, ".ini") == 0)
		return cli_text("remove the section [%s] from %s", e->name, e->file);
	return cli_text("sed -i '%us/^/#/' '%s'", e->line, e->file);
}

static void findings_free(struct check *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->finding[i].name);
		free(c->finding[i].file);
		free(c->finding[i].cause);
		free(c->finding[i].remedy);
	}
	free(c->finding);
	if (c->shown != NULL)
		conffile_free(c->shown);
	free(c->shown);
	free(c->shown_path);
}

/* ---------------------------------------------------------------------------------- printing */

/* Returns about how many columns a text without control characters takes. */
static size_t columns(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/*
 * Returns the text of the file that a finding is about. It is kept, because the next finding is
 * mostly about the same file.
 */
static const struct conffile *file_of(struct check *c, const struct finding *f)
{
	if (c->shown != NULL && strcmp(c->shown_path, f->file) == 0)
		return c->shown;
	if (c->shown != NULL)
		conffile_free(c->shown);
	else
		c->shown = calloc(1, sizeof(*c->shown));
	free(c->shown_path);
	c->shown_path = cli_strdup(f->file);
	if (c->shown != NULL)
		conffile_read(c->shown, f->file); /* a file that cannot be read has no lines */
	return c->shown;
}

/* Prints the line that a finding is about, with a caret under the beginning of its field. */
static void line_print(struct check *c, const struct finding *f)
{
	const struct conffile *file;

	if (f->line == 0 || f->column == 0 || f->file == NULL)
		return;
	file = file_of(c, f);
	if (file != NULL && f->line <= file->count) {
		char *line = file->line[f->line - 1], *before, *rest;
		size_t at = strnlen(line, f->column - 1), from;

		for (char *p = line; *p != '\0'; p++)
			if (*p == '\t')
				*p = ' ';
		from = at > 90 ? at - 90 : 0; /* text far to the left does not help */
		rest = cli_text("%.100s", line + at);
		before = cli_text("%.*s", (int)(at - from), line + from);
		printf("        %s%s\n        %*s^\n", before, rest, (int)columns(before), "");
		free(before);
		free(rest);
	}
}

static void finding_print(struct check *c, const struct finding *f)
{
	static const char *const words[] = { "ok", "skip", "warn", "FAIL" };

	printf("%-4s  %-*s  ", words[f->verdict], c->width, f->name != NULL ? f->name : "-");
	if (f->file != NULL && f->verdict != CHECK_OK) {
		fputs(f->file, stdout);
		if (f->line != 0)
			printf(":%u", f->line);
		if (f->column != 0)
			printf(":%u", f->column);
		fputs(": ", stdout);
	}
	if (f->field != NULL)
		printf("%s: ", f->field);
	puts(f->cause);
	line_print(c, f);
	if (f->remedy != NULL)
		printf("      to do: %s\n", f->remedy);
}

static size_t count_of(const struct check *c, enum verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->finding[i].verdict == verdict;
	return n;
}

static bool is_hidden(const struct finding *f)
{
	return strcmp(f->code, "hidden") == 0;
}

/*
 * A distribution's file has dozens of lines for other libraries: one message covers all of these,
 * and one all that DAT_PROVIDERS hides.
 */
static void skips_print(struct check *c, bool hidden)
{
	const struct finding *first = NULL;
	bool alike = true;
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct finding *f = &c->finding[i];

		if (f->verdict != CHECK_SKIP || is_hidden(f) != hidden)
			continue;
		n++;
		first = first != NULL ? first : f;
		alike = alike && strcmp(f->cause, first->cause) == 0;
	}
	if (n == 1)
		finding_print(c, first);
	else if (n > 1)
		printf("skip  %-*s  and %zu more are %s%s\n      to do: %s\n", c->width,
		       first->name, n - 1, alike ? "" : "not for programs of uDAPL 1.2; about the "
							"first: ",
		       first->cause, first->remedy);
}

/*
 * Returns true if the adapter can never be opened on this host, so that its line may be removed
 * from this file.
 */
static bool may_go(const struct finding *f, const char *file)
{
	return f->verdict == CHECK_FAIL && f->line != 0 && f->file != NULL &&
	       strcmp(f->file, file) == 0 &&
	       (strcmp(f->code, "device-absent") == 0 || strcmp(f->code, "port-absent") == 0 ||
		strcmp(f->code, "library-missing") == 0);
}

/* If several lines of a file may be removed, prints one command for all of them. */
static void sweep_print(const struct check *c, const char *file)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += may_go(&c->finding[i], file);
	if (n < 2)
		return;
	printf("\nTo remove all %zu lines for what this host does not have: sed -i '", n);
	n = 0;
	for (size_t i = 0, next; i < c->count; i = next) {
		const struct finding *f = &c->finding[i];
		unsigned int last = f->line;

		next = i + 1;
		if (!may_go(f, file))
			continue;
		for (; next < c->count && may_go(&c->finding[next], file) &&
		       c->finding[next].line == last + 1;
		     next++)
			last++;
		printf("%s%u", n++ > 0 ? ";" : "", f->line);
		if (last > f->line)
			printf(",%u", last);
		printf("s/^/#/");
	}
	printf("' '%s'\n", file);
}

#define WIDTH_MAX 24

static int width_of(const struct check *c)
{
	size_t width = c->only != NULL ? strlen(c->only) : 1;

	for (const struct conf_entry *e = c->conf.entries; e != NULL && c->only == NULL;
	     e = e->next)
		width = strlen(e->name) > width ? strlen(e->name) : width;
	return width < WIDTH_MAX ? (int)width : WIDTH_MAX;
}

/* Prints the findings since the last call, at once, because a provider may take long. */
static void text_print(struct check *c)
{
	if (!c->headed)
		printf("Registry: %s (%s)\n\n", c->conf.origin, c->why_file);
	if (c->width == 0)
		c->width = width_of(c);
	c->headed = true;
	for (; c->printed < c->count; c->printed++)
		if (c->finding[c->printed].verdict != CHECK_SKIP)
			finding_print(c, &c->finding[c->printed]);
	fflush(stdout);
}

static void text_end(struct check *c)
{
	size_t ok = count_of(c, CHECK_OK), bad = count_of(c, CHECK_FAIL);

	text_print(c);
	skips_print(c, false);
	skips_print(c, true);
	for (const struct conf_source *s = c->conf.sources; s != NULL; s = s->next)
		if (s->main)
			sweep_print(c, s->path);
	if (c->count > 0)
		printf("\n");
	if (ok > 0)
		printf("%zu %s can be used", ok, ok == 1 ? "adapter" : "adapters");
	else
		printf("No adapter can be used");
	if (bad > 0)
		printf("; %zu %s", bad, bad == 1 ? "thing is wrong" : "things are wrong");
	printf(".\n");
}

static void json_print(const struct check *c)
{
	static const char *const words[] = { "ok", "skip", "warn", "fail" };

	json_object(NULL);
	json_string("registry", c->conf.origin);
	json_string("reason", c->why_file);
	json_string("providers", c->conf.providers);
	json_number("usable", count_of(c, CHECK_OK));
	json_number("failed", count_of(c, CHECK_FAIL));
	json_array("findings");
	for (size_t i = 0; i < c->count; i++) {
		const struct finding *f = &c->finding[i];

		json_object(NULL);
		json_string("verdict", words[f->verdict]);
		json_string("code", f->code);
		json_string("adapter", f->name);
		json_string("file", f->file);
		json_number("line", f->line);
		json_number("column", f->column);
		json_string("field", f->field);
		json_string("cause", f->cause);
		json_string("remedy", f->remedy);
		json_end();
	}
	json_end();
	json_end();
}

/* ----------------------------------------------------------------------------------- running */

/* Returns true if a finding is about the adapter that --ia names. */
static bool only_is_known(const struct check *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->finding[i].code, "file-unreadable") == 0 ||
		    (c->finding[i].name != NULL && strcmp(c->finding[i].name, c->only) == 0))
			return true;
	return false;
}

/* Adds a finding if no adapter has failed, but none works either: that is not a success. */
static void nothing_add(struct check *c, const char *file)
{
	size_t lines, hidden = conffile_hidden(&c->conf, &lines);

	if (hidden > 0)
		check_add(c, CHECK_FAIL, "no-adapter", NULL,
			  cli_text("DAT_PROVIDERS=%s hides everything in %s", c->conf.providers,
				   c->conf.origin),
			  cli_text("unset DAT_PROVIDERS, or set it to names that 'datctl list' "
				   "prints"));
	else
		check_add(c, CHECK_FAIL, "no-adapter", NULL,
			  cli_text("%s contains no adapter for programs of uDAPL "
				   "1.2", c->conf.origin),
			  cli_text("datctl discover --update '%s'",
				   file != NULL ? file : conffile_path()));
}

static int check_all(struct check *c, const char *file, bool json)
{
	int err = file != NULL ? conf_read(&c->conf, file) : conf_read_system(&c->conf);
	int status;

	if (c->conf.origin == NULL)
		c->conf.origin = file;
	if (file != NULL && err != -ENOMEM)
		err = conf_filter_env(&c->conf);
	if (err == -ENOMEM || devices_scan(&c->devices, c->root) != 0) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	c->why_file = file != NULL ? "named on the command line" : conffile_why(&c->conf);
	for (const struct conf_entry *e = c->conf.entries; e != NULL; e = e->next)
		c->entries++;
	check_file(c);
	for (const struct conf_entry *e = c->conf.entries; e != NULL; e = e->next) {
		if (c->only != NULL && strcmp(e->name, c->only) != 0)
			continue;
		if (!json)
			text_print(c);
		check_entry(c, e);
	}
	if (c->only != NULL && !only_is_known(c))
		check_add(c, CHECK_FAIL, "unknown-adapter", NULL,
			  cli_text("no line names the adapter \"%s\"", c->only),
			  cli_text("choose one that 'datctl list' prints, or add a line: "
				   "datctl discover"));
	if (count_of(c, CHECK_OK) == 0 && count_of(c, CHECK_FAIL) == 0)
		nothing_add(c, file);
	if (json)
		json_print(c);
	else
		text_end(c);
	status = count_of(c, CHECK_FAIL) > 0 ? CLI_FAILED : CLI_OK;
	devices_free(&c->devices);
	return status;
}

/* Parses HOST:QUAL or [ADDRESS]:QUAL. Returns false if the text is wrong. */
static bool peer_parse(struct check *c, char *text)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char *colon = strrchr(text, ':');
	struct addrinfo *found;
	bool bracketed;

	if (colon == NULL || !cli_number(colon + 1, 1, UINT64_MAX, &c->peer_qual))
		return false;
	bracketed = text[0] == '[' && colon > text && colon[-1] == ']';
	*colon = '\0';
	if (bracketed) {
		colon[-1] = '\0';
		text++;
	}
	c->peer_name = text;
	if (getaddrinfo(text, NULL, &hints, &found) != 0)
		return false;
	memcpy(&c->peer, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return true;
}

/* Takes an option with a value. Returns false if the value is wrong or missing. */
static bool option_take(struct check *c, const char *option, char *value)
{
	uint64_t number;

	if (value == NULL)
		return false;
	if (strcmp(option, "--ia") == 0)
		c->only = value;
	else if (strcmp(option, "--root") == 0)
		c->root = value;
	else if (strcmp(option, "--listen") == 0)
		return cli_number(value, 1, UINT64_MAX, &c->listen);
	else if (strcmp(option, "--peer") == 0)
		return peer_parse(c, value);
	else if (cli_number(value, 1, 3600, &number))
		c->seconds = (unsigned int)number;
	else
		return false;
	return true;
}

int datctl_check(int argc, char **argv)
{
	static const char *const valued[] = { "--ia",	"--root",    "--listen",
					      "--peer", "--timeout", NULL };
	struct check c = { .root = "", .seconds = 10 };
	const char *file = NULL;
	bool json = false;
	int status, i;

	for (i = 1; i < argc; i++) {
		size_t v = 0;

		while (valued[v] != NULL && strcmp(valued[v], argv[i]) != 0)
			v++;
		if (valued[v] != NULL) {
			if (!option_take(&c, valued[v], i + 1 < argc ? argv[i + 1] : NULL))
				return cli_usage("check: %s: \"%s\" is not what this option takes",
						 argv[i], i + 1 < argc ? argv[i + 1] : "");
			i++;
		} else if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--") == 0 && i + 2 == argc && file == NULL) {
			file = argv[++i];
		} else if (argv[i][0] == '-' && argv[i][1] != '\0') {
			return datctl_unknown_option("check", argv[i]);
		} else if (file != NULL) {
			return cli_usage("check: one file at a time; '%s' is one too many",
					 argv[i]);
		} else {
			file = argv[i];
		}
	}
	conf_init(&c.conf);
	status = check_all(&c, file, json);
	check_entry_end(&c);
	findings_free(&c);
	conf_free(&c.conf);
	return status;
}
