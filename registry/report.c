/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages to the user about adapters that cannot be opened.
 *
 * Invariant: each cause is reported once per process, and only for an adapter that was asked for by
 * name. A program that got the name from dat_registry_list_providers and tries one after the other
 * is probing: for it nothing is printed, unless the user has raised the level of messages. Nothing
 * is printed under the lock.
 */
#include "loader_why.h"
#include "reg.h"
#include "log/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The number of names reported as unknown that are kept. Beyond that, further unknown names are not
 * distinguished.
 */
#define UNKNOWN_MAX 64

struct reg_unknown {
	struct reg_unknown *next;
	char name[];
};

/* A text that grows. It is NULL after an allocation has failed, and stays so. */
struct text {
	FILE *stream;
	char *buf;
	size_t len;
};

static bool text_open(struct text *t)
{
	t->stream = open_memstream(&t->buf, &t->len);
	return t->stream;
}

static void text_print(struct text *t, enum diag_type type, const char *adapter)
{
	char *line, *next;

	if (fclose(t->stream))
		return;
	for (line = t->buf; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		diag_print_about(type, adapter, "%s", line);
	}
	free(t->buf);
}

/* Returns true the first time that a name is unknown. */
static bool unknown_is_new_locked(const char *name)
{
	struct reg_unknown *u;
	size_t len = strlen(name);

	for (u = reg.unknown; u; u = u->next)
		if (!strcmp(u->name, name))
			return false;
	if (reg.nunknown == UNKNOWN_MAX)
		return false;
	u = malloc(sizeof(*u) + len + 1);
	if (!u)
		return true;
	memcpy(u->name, name, len + 1);
	u->next = reg.unknown;
	reg.unknown = u;
	reg.nunknown++;
	return true;
}

void report_free_locked(void)
{
	struct reg_unknown *u;

	while ((u = reg.unknown)) {
		reg.unknown = u->next;
		free(u);
	}
	reg.nunknown = 0;
}

/* Writes a diagnostic as FILE:LINE:COLUMN: field: text. */
static void diag_write(struct text *t, const struct conf_diag *d)
{
	fprintf(t->stream, "%s", d->file);
	if (d->line)
		fprintf(t->stream, ":%u", d->line);
	if (d->column)
		fprintf(t->stream, ":%u", d->column);
	fprintf(t->stream, ": ");
	if (d->field)
		fprintf(t->stream, "%s: ", conf_field_name(d->field));
	fprintf(t->stream, "%s", d->text);
}

static bool can_be_named(const struct reg_front *front, const struct reg_plugin *p)
{
	return p->info.dapl_version_major == front->major && p->entry->hidden == CONF_SHOWN;
}

/* Returns the adapter with a name so similar that it was probably mistyped, or NULL. */
static const char *name_nearest(const struct reg_front *front, const char *name)
{
	unsigned int distance = near_begin(name);
	const char *nearest = NULL;
	unsigned int i;

	for (i = 0; i < reg.nplugins; i++) {
		const struct reg_plugin *p = &reg.plugins[i];

		if (can_be_named(front, p) && near_closer(name, p->entry->name, &distance))
			nearest = p->entry->name;
	}
	return nearest;
}

static unsigned int names_count(const struct reg_front *front)
{
	unsigned int i, n = 0;

	for (i = 0; i < reg.nplugins; i++)
		n += can_be_named(front, &reg.plugins[i]);
	return n;
}

/* Writes the names that the user could have meant. */
static void names_write(struct text *t, const struct reg_front *front)
{
	unsigned int i, n = 0;

	for (i = 0; i < reg.nplugins; i++) {
		if (!can_be_named(front, &reg.plugins[i]))
			continue;
		if (n++ < 8)
			fprintf(t->stream, "%s%.80s", n > 1 ? ", " : "",
				reg.plugins[i].entry->name);
	}
	if (n > 8)
		fprintf(t->stream, " and %u more", n - 8);
	if (!n)
		fprintf(t->stream, "none");
}

/* Returns why a line is not used, with the remedy. */
static const char *skip_name(enum conf_skip skip)
{
	return skip == CONF_SKIP_KDAPL ?
		       "is for the kernel's API, not for programs; name another adapter" :
		       "says nondefault in field 4 and is skipped; write default there";
}

/* Reports the lines of this name that cannot be used. Returns false if there are none. */
static bool unusable_write_locked(struct text *t, const char *name)
{
	const struct conf_entry *e;
	const struct conf_diag *d;
	bool known = false;

	for (d = reg.conf.diags; d; d = d->next) {
		if (!d->name || strcmp(d->name, name) != 0)
			continue;
		fprintf(t->stream, "%s: its line cannot be used: ", name);
		diag_write(t, d);
		fputc('\n', t->stream);
		known = true;
	}
	for (e = reg.conf.entries; e && !known; e = e->next) {
		if (e->skip == CONF_USED || strcmp(e->name, name) != 0)
			continue;
		fprintf(t->stream, "%s: its line %s:%u %s\n", name, e->file, e->line,
			skip_name(e->skip));
		known = true;
	}
	return known;
}

/* Returns the first diagnostic about a file as a whole, or about a line without a name. */
static const struct conf_diag *diag_general(void)
{
	const struct conf_diag *d;

	for (d = reg.conf.diags; d && d->line && d->name; d = d->next)
		;
	return d;
}

/*
 * Reports that no line and no provider has this name. Something that was refused in the files may
 * be the reason.
 */
static void unknown_write_locked(struct text *t, const struct reg_front *front,
				 const char *name)
{
	const struct conf_diag *d = diag_general();
	const char *nearest = name_nearest(front, name);
	char clip[48];

	if (unusable_write_locked(t, name))
		return;
	fprintf(t->stream, "%s: no such adapter in %s; ", conf_clip(clip, name, strlen(name)),
		reg.conf.builtin && !reg.conf.path_list ?
			"the built-in registry, used because there is no dat.conf" :
			reg.conf.origin);
	if (d && names_count(front) == 0) {
		diag_write(t, d);
		if (reg.conf.ndiags > 1)
			fprintf(t->stream, " (the first of %u such complaints)", reg.conf.ndiags);
		fprintf(t->stream, "; 'datctl check' says what to do\n");
		return;
	}
	fprintf(t->stream, "it has ");
	names_write(t, front);
	if (reg.conf.providers)
		fprintf(t->stream, " (with DAT_PROVIDERS=%s)",
			conf_clip(clip, reg.conf.providers, strlen(reg.conf.providers)));
	if (nearest)
		fprintf(t->stream, "; did you mean %.80s?\n", nearest);
	else if (names_count(front) > 0)
		fprintf(t->stream, "; name one of these, or add a line for it\n");
	else
		fprintf(t->stream, "; 'datctl discover' prints lines for the devices of this "
				   "host\n");
	if (d) {
		diag_write(t, d);
		if (reg.conf.ndiags > 1)
			fprintf(t->stream, " (the first of %u such complaints)", reg.conf.ndiags);
		fputc('\n', t->stream);
	}
}

/* Reports that the name exists, but not with a matching version and thread safety. */
static void mismatch_write_locked(struct text *t, struct reg_plugin *p,
				  const struct reg_open_request *rq)
{
	const struct conf_entry *e = p->entry;

	fprintf(t->stream, "%s:%u: %s: offers u%u.%u %s, the program asks for u%u.%u%s; ", e->file,
		e->line, e->name, p->info.dapl_version_major, p->info.dapl_version_minor,
		e->thread_safe ? "threadsafe" : "nonthreadsafe", rq->major, rq->minor,
		rq->thread_safe ? " threadsafe" : "");
	if (rq->thread_safe && library_is_nonthreadsafe(e->library)) {
		fprintf(t->stream,
			"its library does not promise thread safety: build the program with "
			"DAT_THREADSAFE as DAT_FALSE, and let only one thread at a time use each "
			"object\n");
		return;
	}
	fprintf(t->stream,
		"name another adapter, or add a line for this one that says u%u.%u%s, if its "
		"library is for that\n",
		rq->major, rq->minor, rq->thread_safe ? " threadsafe" : "");
}

/* Reports that the name exists, but is hidden. */
static void hidden_write(struct text *t, const struct reg_plugin *p)
{
	const struct conf_entry *e = p->entry;
	char clip[48];

	fprintf(t->stream, "%s:%u: %s: DAT_PROVIDERS=%s hides it; ", e->file, e->line, e->name,
		conf_clip(clip, reg.conf.providers, strlen(reg.conf.providers)));
	if (e->hidden == CONF_EXCLUDED)
		fprintf(t->stream,
			"remove the word with ^ that names it, or its library %s, from the list\n",
			e->library);
	else
		fprintf(t->stream, "add %s to the list, or unset the variable\n", e->name);
}

/* Reports variables that are set and not read, with a name that is probably mistyped. */
static void report_variables(void)
{
	char typed[CONF_NAME_MAX];
	unsigned int at = 0;
	const char *meant;

	while ((meant = conf_variable_mistyped(&at, typed, sizeof(typed))))
		diag_warn("%s is set, but no such variable is read; did you mean %s? 'datctl env' lists all",
			  typed, meant);
}

/* Reports errors in the environment: once per process, and never for a program that is probing. */
void report_environment(void)
{
	bool speaks;

	if (reg_self.plugin)
		return;
	pthread_mutex_lock(&reg.lock);
	speaks = !reg.environment_told && (!reg.probed || diag_explicit());
	reg.environment_told |= speaks;
	pthread_mutex_unlock(&reg.lock);
	if (!speaks)
		return;
	report_variables();
	if (reg.conf.providers_wrong)
		diag_warn("DAT_PROVIDERS=%.80s: %s", reg.conf.providers, reg.conf.providers_wrong);
}

/* Returns true if a message is to be printed now, and marks it as printed. */
static bool plugin_speaks_locked(struct reg_plugin *p)
{
	if (p->reported || (p->listed && !diag_explicit()))
		return false;
	p->reported = true;
	return true;
}

void report_not_found(const struct reg_open_request *rq, DAT_RETURN rc)
{
	struct reg_plugin *p;
	bool mismatch = DAT_GET_SUBTYPE(rc) != rq->front->name_not_registered;
	const struct reg_plugin *hidden = NULL;
	bool known = false;
	struct text t;

	if (!diag_wanted_about(DIAG_ERROR, rq->name) || !text_open(&t))
		return;
	pthread_mutex_lock(&reg.lock);
	for (p = reg.plugins; p < reg.plugins + reg.nplugins; p++) {
		if (strcmp(p->entry->name, rq->name))
			continue;
		if (plugin_is_hidden(p)) {
			hidden = hidden ? hidden : p;
			continue;
		}
		known = true;
		if (!(p->why || mismatch) || !plugin_speaks_locked(p))
			continue;
		if (p->why)
			fprintf(t.stream, "%s\n", p->why);
		else
			mismatch_write_locked(&t, p, rq);
		mismatch = false;	/* one line is enough to show what exists */
	}
	if (!known && unknown_is_new_locked(rq->name)) {
		if (hidden)
			hidden_write(&t, hidden);
		else
			unknown_write_locked(&t, rq->front, rq->name);
	}
	pthread_mutex_unlock(&reg.lock);
	text_print(&t, DIAG_ERROR, rq->name);
}

/*
 * Reports, after several lines have been tried, why each of them failed. If a later one succeeded,
 * that is printed only at a raised level.
 */
void report_lines(const struct reg_open_request *rq, bool served)
{
	enum diag_type type = served ? DIAG_GENERIC : DIAG_ERROR;
	struct reg_plugin *p;
	struct text t;

	if (!diag_wanted_about(type, rq->name) || !text_open(&t))
		return;
	pthread_mutex_lock(&reg.lock);
	for (p = reg.plugins; p < reg.plugins + reg.nplugins; p++) {
		if (strcmp(p->entry->name, rq->name) || !p->why || plugin_is_hidden(p))
			continue;
		if (served)
			fprintf(t.stream, "%s (another line of this name serves)\n", p->why);
		else if (plugin_speaks_locked(p))
			fprintf(t.stream, "%s\n", p->why);
	}
	pthread_mutex_unlock(&reg.lock);
	text_print(&t, type, rq->name);
}

/* The arguments of dat_ia_open() and dat_ia_openv(), by the names of the subtypes, whose values differ between APIs. */
static const struct {
	const char *subtype, *remedy;
} arguments[] = {
	{ "DAT_INVALID_ARG1", "ia_name_ptr of the call is the argument that is wrong" },
	{ "DAT_INVALID_ARG2",
	  "async_evd_min_qlen of the call is the argument that is wrong: pass 1 or more" },
	{ "DAT_INVALID_ARG3", "async_evd_handle of the call is the argument that is wrong" },
	{ "DAT_INVALID_ARG4", "ia_handle of the call is the argument that is wrong" },
	{ "DAT_INVALID_HANDLE_EVD_ASYNC",
	  "async_evd_handle of the call is the argument that is wrong: the variable that it points at is read, so set it to "
	  "DAT_HANDLE_NULL, or to an EVD with DAT_EVD_ASYNC_FLAG" },
};

static const char *open_remedy(DAT_RETURN rc, const char *subtype)
{
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		if (!strcmp(subtype, arguments[i].subtype))
			return arguments[i].remedy;
	if (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES &&
	    DAT_GET_SUBTYPE(rc) != DAT_RESOURCE_DEVICE)
		return "raise the limits of this process ('ulimit -n' for open files, 'ulimit -l' "
		       "for registered memory), or close what is not used";
	return "check that its device exists and that the line's parameters are correct, as "
	       "'datctl check' does";
}

/*
 * Reports that a provider was loaded and refused to open the adapter. The programmer sees an
 * invalid argument in the return code; other causes are reported to the user, at once or, if
 * several lines match, when the outcome of all is known.
 */
void report_open(const struct reg_record *r, const char *name, DAT_RETURN rc, bool several)
{
	const struct conf_entry *e = r->plugin ? r->plugin->entry : NULL;
	const char *type, *subtype;
	char *words = r->plugin ? plugin_words(r->plugin) : NULL;
	bool speaks = true;
	char *text;

	r->front->names(rc, &type, &subtype);
	if (asprintf(&text, "%s:%u: %s: library %s could not open it: %s%s%s%s%s",
		     e ? e->file : "registered by the program", e ? e->line : 0, name,
		     e ? e->library : "-", type, *subtype ? " " : "", subtype, words ? ": " : "; ",
		     words ? words : open_remedy(rc, subtype)) < 0)
		text = NULL;
	pthread_mutex_lock(&reg.lock);
	if (r->plugin) {
		/*
		 * An adapter that a wrapper opens beneath its own has the same reason, and a line
		 * of its own.
		 */
		speaks = !(words && reg_self.plugin) &&
			 (words || (DAT_GET_TYPE(rc) != DAT_INVALID_PARAMETER &&
				    DAT_GET_TYPE(rc) != DAT_INVALID_HANDLE));
		if (speaks && several) {
			plugin_why_locked(r->plugin, text);
			text = NULL;
		}
		speaks = speaks && !several && plugin_speaks_locked(r->plugin);
	}
	pthread_mutex_unlock(&reg.lock);
	if (text)
		diag_print_about(speaks ? DIAG_ERROR : DIAG_CONSUMER, name, "%s", text);
	free(text);
	free(words);
}
