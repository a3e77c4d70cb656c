/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat.conf as text: one record of eight fields a line.
 *
 *	ia_name api_version thread_safety default library provider_version ia_params platform_params
 *
 * Blanks separate fields; "..." quotes, in which \x is x; # at the start of a field begins a
 * comment that ends with the line. A record never goes on in the next line. A carriage return
 * before the newline and a byte order mark at the start of the file belong to neither.
 *
 * Invariant: each line is parsed by itself. An error in one does not affect the next.
 */
#include "conf.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The position of the parser. p never passes end; the text need not be NUL-terminated. */
struct cursor {
	struct conf *conf;
	const char *file;
	const char *p;
	const char *end;
	const char *bol;		/* the beginning of the line that p is in */
	unsigned int line;
};

enum token_kind {
	TOKEN_FIELD,
	TOKEN_EOR,			/* end of line or file; a comment counts as the end */
	TOKEN_OPEN_QUOTE,		/* a quote that is not closed on its line */
	TOKEN_NUL,			/* a NUL byte within the field */
	TOKEN_NOMEM,
};

struct token {
	enum token_kind kind;
	unsigned int column;
	char *text;			/* TOKEN_FIELD: malloced; the reader frees it */
	size_t len;
};

static const char *const field_names[CONF_FIELDS + 1] = {
	[0] = "record",
	[CONF_IA_NAME] = "ia_name",
	[CONF_API_VERSION] = "api_version",
	[CONF_THREAD_SAFETY] = "thread_safety",
	[CONF_DEFAULT] = "default",
	[CONF_LIBRARY] = "library",
	[CONF_PROVIDER_VERSION] = "provider_version",
	[CONF_IA_PARAMS] = "ia_params",
	[CONF_PLATFORM_PARAMS] = "platform_params",
};

const char *conf_field_name(enum conf_field field)
{
	return field <= CONF_FIELDS ? field_names[field] : field_names[0];
}

void conf_init(struct conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->entries_tail = &conf->entries;
	conf->diags_tail = &conf->diags;
}

void conf_entry_free(struct conf_entry *e)
{
	if (!e)
		return;
	free(e->name);
	free(e->library);
	free(e->provider_version);
	free(e->ia_params);
	free(e->platform_params);
	free(e);
}

void conf_free(struct conf *conf)
{
	struct conf_entry *e;
	struct conf_diag *d;
	struct conf_source *s;

	while ((e = conf->entries)) {
		conf->entries = e->next;
		conf_entry_free(e);
	}
	while ((d = conf->diags)) {
		conf->diags = d->next;
		free(d->name);
		free(d->text);
		free(d);
	}
	while ((s = conf->sources)) {
		conf->sources = s->next;
		free(s);
	}
	free(conf->path_list);
	free(conf->providers);
	free(conf->providers_wrong);
	free(conf->named);
	conf_init(conf);
}

static struct conf_source *source_get(struct conf *conf, const char *path)
{
	struct conf_source **link = &conf->sources;
	size_t len = strlen(path);
	struct conf_source *s;

	for (; (s = *link); link = &s->next)
		if (!strcmp(s->path, path))
			return s;
	s = malloc(sizeof(*s) + len + 1);
	if (!s)
		return NULL;
	memcpy(s->path, path, len + 1);
	s->main = false;
	s->next = NULL;
	*link = s;
	return s;
}

/* Keeps a copy of a path until conf is freed. */
const char *conf_source_add(struct conf *conf, const char *path)
{
	struct conf_source *s = source_get(conf, path);

	return s ? s->path : NULL;
}

/* The same for a dat.conf that has been read, and not a drop-in. */
const char *conf_source_main(struct conf *conf, const char *path)
{
	struct conf_source *s = source_get(conf, path);

	if (!s)
		return NULL;
	s->main = true;
	return s->path;
}

void conf_entry_append(struct conf *conf, struct conf_entry *e)
{
	if (!conf->entries_tail)
		conf->entries_tail = &conf->entries;
	e->next = NULL;
	*conf->entries_tail = e;
	conf->entries_tail = &e->next;
}

/*
 * Records a diagnostic. Only the first CONF_DIAGS_MAX are kept, so that a file that is not a
 * dat.conf does not fill the memory.
 */
int conf_diag_add(struct conf *conf, const struct conf_where *where, const char *fmt, ...)
{
	struct conf_diag *d;
	va_list ap;
	int n;

	if (conf->ndiags++ >= CONF_DIAGS_MAX)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->file = where->file;
	d->line = where->line;
	d->column = where->column;
	d->field = where->field;
	if (where->name) {
		d->name = strdup(where->name);
		if (!d->name)
			goto free_diag;
	}
	va_start(ap, fmt);
	n = vasprintf(&d->text, fmt, ap);
	va_end(ap);
	if (n < 0)
		goto free_name;
	if (!conf->diags_tail)
		conf->diags_tail = &conf->diags;
	*conf->diags_tail = d;
	conf->diags_tail = &d->next;
	return 0;

free_name:
	free(d->name);
free_diag:
	free(d);
	return -ENOMEM;
}

/*
 * Returns s in a form that is safe in a message: 40 bytes at most, without terminal control
 * characters.
 */
const char *conf_clip(char buf[static 48], const char *s, size_t len)
{
	size_t n = len > 40 ? 40 : len;
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i];
	strcpy(buf + n, len > n ? "..." : "");
	return buf;
}

static bool cursor_at_eol(const struct cursor *c)
{
	if (c->p == c->end || *c->p == '\n')
		return true;
	return *c->p == '\r' && (c->p + 1 == c->end || c->p[1] == '\n');
}

static unsigned int cursor_column(const struct cursor *c, const char *at)
{
	return (unsigned int)(at - c->bol) + 1;
}

static void cursor_next_line(struct cursor *c)
{
	const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

	c->p = nl ? nl + 1 : c->end;
	c->bol = c->p;
	c->line++;
}

/*
 * Reads a quoted field; c->p is after the opening quote. No blank is needed after the closing
 * quote.
 */
static enum token_kind quoted_read(struct cursor *c, struct token *t)
{
	bool nul = false;

	for (; !cursor_at_eol(c); c->p++) {
		if (*c->p == '"') {
			c->p++;
			t->text[t->len] = '\0';
			return nul ? TOKEN_NUL : TOKEN_FIELD;
		}
		if (*c->p == '\\') {
			c->p++;
			if (cursor_at_eol(c))
				break;
		}
		nul |= !*c->p;
		t->text[t->len++] = *c->p;
	}
	return TOKEN_OPEN_QUOTE;
}

/*
 * Reads an unquoted field, up to a blank or the end of the line. '#', '\' and '"' inside it are
 * ordinary characters.
 */
static enum token_kind bare_read(struct cursor *c, struct token *t)
{
	bool nul = false;

	for (; !cursor_at_eol(c) && *c->p != ' ' && *c->p != '\t'; c->p++) {
		nul |= !*c->p;
		t->text[t->len++] = *c->p;
	}
	t->text[t->len] = '\0';
	return nul ? TOKEN_NUL : TOKEN_FIELD;
}

/* Returns the size of a field's buffer: no field is longer than the rest of its line. */
static size_t field_size(const struct cursor *c)
{
	const char *p;

	if (*c->p == '"') {
		const char *nl = memchr(c->p, '\n', (size_t)(c->end - c->p));

		return (size_t)((nl ? nl : c->end) - c->p) + 1;
	}
	for (p = c->p; p < c->end && *p != ' ' && *p != '\t' && *p != '\n'; p++)
		;
	return (size_t)(p - c->p) + 1;
}

static void token_read(struct cursor *c, struct token *t)
{
	memset(t, 0, sizeof(*t));
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
	t->column = cursor_column(c, c->p);
	if (cursor_at_eol(c) || *c->p == '#') {
		t->kind = TOKEN_EOR;
		return;
	}
	t->text = malloc(field_size(c));
	if (!t->text) {
		t->kind = TOKEN_NOMEM;
		return;
	}
	if (*c->p == '"') {
		c->p++;
		t->kind = quoted_read(c, t);
	} else {
		t->kind = bare_read(c, t);
	}
	if (t->kind != TOKEN_FIELD) {
		free(t->text);
		t->text = NULL;
	}
}

/*
 * Parses decimal digits at *s into *value. Fails if there is no digit, or if the number does not
 * fit.
 */
static bool number_parse(const char **s, unsigned int *value)
{
	unsigned long long v = 0;
	const char *p = *s;

	while (*p >= '0' && *p <= '9' && v <= UINT_MAX)
		v = v * 10 + (unsigned int)(*p++ - '0');
	if (p == *s || v > UINT_MAX)
		return false;
	*s = p;
	*value = (unsigned int)v;
	return true;
}

/* Parses [uk]MAJOR.MINOR. Returns NULL, or what is wrong with it. */
const char *conf_api_parse(struct conf_entry *e, const char *s)
{
	if (*s != 'u' && *s != 'k')
		return "must start with u (uDAPL) or k (kDAPL), as in u1.2";
	if (*s++ == 'k')
		e->skip = CONF_SKIP_KDAPL;
	if (!number_parse(&s, &e->major))
		return "has no valid major version; write it as in u1.2";
	if (*s++ != '.')
		return "has no minor version; write it as in u1.2";
	if (!number_parse(&s, &e->minor))
		return "has no valid minor version; write it as in u1.2";
	return *s ? "has more text after the minor version; write it as in u1.2" : NULL;
}

/* Checks ID.MAJOR.MINOR. Returns NULL, or what is wrong with it. */
const char *conf_provider_version_check(const char *s)
{
	const char *dot = strchr(s, '.');
	unsigned int n;

	if (!dot || dot == s)
		return "has no provider id before a dot; write it as in dapl.1.2";
	s = dot + 1;
	if (!number_parse(&s, &n) || *s++ != '.' || !number_parse(&s, &n) || *s)
		return "needs a major and a minor number after the id, as in dapl.1.2";
	return NULL;
}

/*
 * Checks one field and stores it in the entry. Takes ownership of t->text. Returns what is wrong,
 * or NULL.
 */
static const char *field_store(struct conf_entry *e, enum conf_field field, struct token *t)
{
	const char *wrong = NULL;

	switch (field) {
	case CONF_IA_NAME:
		e->name = t->text;
		t->text = NULL;
		if (!t->len)
			wrong = "is empty; an adapter needs a name";
		else if (t->len > CONF_NAME_MAX)
			wrong = "is longer than 255 bytes; shorten it";
		break;
	case CONF_API_VERSION:
		wrong = conf_api_parse(e, t->text);
		break;
	case CONF_THREAD_SAFETY:
		e->thread_safe = !strcmp(t->text, "threadsafe");
		if (!e->thread_safe && strcmp(t->text, "nonthreadsafe"))
			wrong = "must be threadsafe or nonthreadsafe";
		break;
	case CONF_DEFAULT:
		if (!strcmp(t->text, "nondefault")) {
			if (e->skip == CONF_USED)
				e->skip = CONF_SKIP_NONDEFAULT;
		} else if (strcmp(t->text, "default")) {
			wrong = "must be default or nondefault";
		}
		break;
	case CONF_LIBRARY:
		e->library = t->text;
		t->text = NULL;
		if (!t->len)
			wrong = "is empty; name the provider's shared library";
		break;
	case CONF_PROVIDER_VERSION:
		wrong = conf_provider_version_check(t->text);
		e->provider_version = t->text;
		t->text = NULL;
		break;
	case CONF_IA_PARAMS:
		e->ia_params = t->text;
		t->text = NULL;
		break;
	case CONF_PLATFORM_PARAMS:
		e->platform_params = t->text;
		t->text = NULL;
		break;
	}
	return wrong;
}

/* Records that a field could not be read. Returns -EINVAL, or -ENOMEM. */
static int token_refuse(struct cursor *c, const struct conf_where *where, const struct token *t)
{
	int err = 0;

	switch (t->kind) {
	case TOKEN_EOR:
		if (where->field == CONF_PLATFORM_PARAMS)
			err = conf_diag_add(c->conf, where,
					    "field 8 of 8 is missing; if it is empty, write \"\"");
		else
			err = conf_diag_add(c->conf, where,
					    "the line ends after %d of 8 fields; each record "
					    "needs all eight on one line",
					    (int)where->field - 1);
		break;
	case TOKEN_OPEN_QUOTE:
		err = conf_diag_add(c->conf, where,
				    "the quote opened here is not closed on this line; "
				    "add the closing \"");
		break;
	case TOKEN_NUL:
		err = conf_diag_add(c->conf, where, "the field contains a NUL byte; remove it");
		break;
	case TOKEN_NOMEM:
		return -ENOMEM;
	case TOKEN_FIELD:
		break;
	}
	return err ? err : -EINVAL;
}

/*
 * Read the fields of one record into e. Each bad field is noted; a field that cannot be read ends
 * the record. Returns 0, -ENOENT for a line without a record, -EINVAL for a refused one, -ENOMEM.
 */
static int fields_read(struct cursor *c, struct conf_entry *e)
{
	struct conf_where where = { .file = c->file, .line = c->line };
	const char *wrong;
	struct token t;
	char clip[48];
	int bad = 0;
	int err;
	int i;

	for (i = CONF_IA_NAME; i <= CONF_FIELDS; i++) {
		token_read(c, &t);
		where.field = (enum conf_field)i;
		where.column = t.column;
		if (t.kind == TOKEN_EOR && i == CONF_IA_NAME)
			return -ENOENT;
		if (t.kind != TOKEN_FIELD)
			return token_refuse(c, &where, &t);
		conf_clip(clip, t.text, t.len);
		wrong = field_store(e, where.field, &t);
		free(t.text);
		if (i == CONF_IA_NAME && t.len && t.len <= CONF_NAME_MAX)
			where.name = e->name;
		if (!wrong)
			continue;
		bad = -EINVAL;
		err = conf_diag_add(c->conf, &where, "\"%s\" %s", clip, wrong);
		if (err)
			return err;
	}
	token_read(c, &t);
	free(t.text);
	if (t.kind == TOKEN_NOMEM)
		return -ENOMEM;
	if (t.kind != TOKEN_EOR) {
		where.field = 0;
		where.column = t.column;
		err = conf_diag_add(c->conf, &where,
				    "the line has more text after its eighth field; quote values "
				    "that contain blanks");
		return err ? err : -EINVAL;
	}
	return bad;
}

static int record_read(struct cursor *c)
{
	struct conf_entry *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->file = c->file;
	e->line = c->line;
	err = fields_read(c, e);
	if (err) {
		conf_entry_free(e);
		return err == -ENOMEM ? err : 0;
	}
	conf_entry_append(c->conf, e);
	return 0;
}

int conf_parse(struct conf *conf, const char *file, const char *text, size_t len)
{
	struct cursor c = { .conf = conf, .p = text, .end = text + len, .line = 1 };
	int err;

	c.file = conf_source_add(conf, file);
	if (!c.file)
		return -ENOMEM;
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		c.p += 3;
	c.bol = c.p;
	while (c.p < c.end) {
		err = record_read(&c);
		if (err)
			return err;
		cursor_next_line(&c);
	}
	return 0;
}
