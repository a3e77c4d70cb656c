/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drop-ins: dat.conf.d/NAME.ini, one section an adapter.
 *
 * [soft0] ; named in dat.conf or an earlier drop-in: tunes it
 *	eager_limit = 8192	; goes to the provider as eager_limit=8192, after its ia_params
 *
 *	[soft1]			; not named yet: add it
 *	library = libdatsoft.so
 *
 * Keys with a meaning of their own: library, api_version, thread_safety, provider_version,
 * ia_params, platform_params. They replace the field; all other keys are appended to ia_params as
 * key=value.
 *
 * inih does the parsing, but it has fixed buffers and reports only the first bad line. So the text
 * passes line by line through line_next(), which refuses what inih would silently cut or drop.
 *
 * Invariant: a section takes effect as a whole or not at all.
 */
#include "conf.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* inih keeps a section's name in 50 bytes. */
#define SECTION_MAX 49

struct section {
	char *name;			/* NULL: none yet */
	unsigned int line;		/* the line of its header */
	struct conf_entry set; /* fields given; api and thread safety when the flags say so */
	bool has_api;
	bool has_thread_safety;
	char *tuning;			/* "key=value key=value", or NULL */
	bool refused;			/* it has an error, and takes no effect */
};

struct ini {
	struct conf *conf;
	const char *file;
	const char *p;
	const char *end;
	unsigned int line;		/* the line that was last passed to inih */
	unsigned int header_line;	/* the section header above that line */
	bool skipping;			/* below a header that was refused */
	int err;			/* -ENOMEM after an allocation has failed */
	struct section sec;
};

static void section_reset(struct section *sec)
{
	free(sec->name);
	free(sec->set.library);
	free(sec->set.provider_version);
	free(sec->set.ia_params);
	free(sec->set.platform_params);
	free(sec->tuning);
	memset(sec, 0, sizeof(*sec));
}

static void ini_refuse(struct ini *ini, unsigned int line, enum conf_field field, const char *name,
		       const char *what, const char *why)
{
	struct conf_where where = { .file = ini->file, .line = line, .field = field, .name = name };
	char clip[48];

	conf_clip(clip, what, strlen(what));
	if (conf_diag_add(ini->conf, &where, "\"%s\" %s", clip, why))
		ini->err = -ENOMEM;
}

/* Replace *s by a copy of value. */
static int string_set(char **s, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*s);
	*s = copy;
	return 0;
}

/* Append " more" to *s, without the blank where *s is empty. */
static int string_append(char **s, const char *more)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", *s ? *s : "", *s && **s ? " " : "", more) < 0)
		return -ENOMEM;
	free(*s);
	*s = joined;
	return 0;
}

/*
 * Returns key=value, with the value in quotes if it is empty or has a character that the parser of a tuning
 * string would not take as it is (a blank, a quote or a backslash), or NULL if the allocation fails.
 */
static char *tuning_format(const char *key, const char *value)
{
	size_t size = strlen(key) + 2 * strlen(value) + 4;
	bool quote = !*value || strpbrk(value, " \t\"\\");
	char *s = malloc(size);
	char *p;

	if (!s)
		return NULL;
	p = s + sprintf(s, "%s=%s", key, quote ? "\"" : "");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			*p++ = '\\';
		*p++ = *value;
	}
	strcpy(p, quote ? "\"" : "");
	return s;
}

/* Applies the section to e. If an allocation fails, nothing is changed. */
static int section_apply(const struct section *sec, struct conf_entry *e, const char *file)
{
	const struct conf_entry *set = &sec->set;
	struct conf_entry new = { 0 };

	if (string_set(&new.library, set->library ? set->library : e->library) ||
	    string_set(&new.provider_version,
		       set->provider_version ? set->provider_version : e->provider_version) ||
	    string_set(&new.ia_params, set->ia_params ? set->ia_params : e->ia_params) ||
	    string_set(&new.platform_params,
		       set->platform_params ? set->platform_params : e->platform_params) ||
	    (sec->tuning && string_append(&new.ia_params, sec->tuning))) {
		free(new.library);
		free(new.provider_version);
		free(new.ia_params);
		free(new.platform_params);
		return -ENOMEM;
	}
	free(e->library);
	free(e->provider_version);
	free(e->ia_params);
	free(e->platform_params);
	e->library = new.library;
	e->provider_version = new.provider_version;
	e->ia_params = new.ia_params;
	e->platform_params = new.platform_params;
	if (sec->has_api) {
		e->major = set->major;
		e->minor = set->minor;
		e->skip = set->skip;
	}
	if (sec->has_thread_safety)
		e->thread_safe = set->thread_safe;
	e->tuned_file = file;
	e->tuned_line = sec->line;
	return 0;
}

/* Adds an adapter: the section's fields, and defaults for the others. */
static int section_add(struct ini *ini, const struct section *sec)
{
	struct conf_entry *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->major = 1;
	e->minor = 2;
	if (string_set(&e->name, sec->name) || string_set(&e->library, "") ||
	    string_set(&e->provider_version, "opendat.1.0") || string_set(&e->ia_params, "") ||
	    string_set(&e->platform_params, "") || section_apply(sec, e, NULL)) {
		conf_entry_free(e);
		return -ENOMEM;
	}
	e->file = ini->file;
	e->line = sec->line;
	e->tuned_line = 0;
	conf_entry_append(ini->conf, e);
	return 0;
}

/* Ends a section: tunes every entry of its name, or adds one. */
static void section_end(struct ini *ini)
{
	struct section *sec = &ini->sec;
	struct conf_entry *e;
	bool known = false;

	if (!sec->name || sec->refused || ini->err)
		goto done;
	for (e = ini->conf->entries; e; e = e->next) {
		if (strcmp(e->name, sec->name))
			continue;
		known = true;
		if (section_apply(sec, e, ini->file))
			ini->err = -ENOMEM;
	}
	if (known)
		goto done;
	if (!sec->set.library)
		ini_refuse(
			ini, sec->line, CONF_LIBRARY, sec->name, sec->name,
			"is not an adapter of dat.conf, and the section has no library = to add "
			"it");
	else if (section_add(ini, sec))
		ini->err = -ENOMEM;
done:
	section_reset(sec);
}

/*
 * Sets a field by its key. Returns false if the key is not a field; sets *wrong if the value is
 * bad.
 */
static bool section_field(struct ini *ini, const char *key, const char *value,
			  enum conf_field *field, const char **wrong)
{
	struct section *sec = &ini->sec;
	char **string = NULL;
	int i;

	for (i = CONF_API_VERSION; i <= CONF_FIELDS; i++)
		if (i != CONF_DEFAULT && !strcmp(key, conf_field_name((enum conf_field)i)))
			break;
	if (i > CONF_FIELDS)
		return false;
	*field = (enum conf_field)i;
	switch (*field) {
	case CONF_API_VERSION:
		sec->set.skip = CONF_USED;
		*wrong = conf_api_parse(&sec->set, value);
		sec->has_api = true;
		break;
	case CONF_THREAD_SAFETY:
		sec->set.thread_safe = !strcmp(value, "threadsafe");
		if (!sec->set.thread_safe && strcmp(value, "nonthreadsafe"))
			*wrong = "must be threadsafe or nonthreadsafe";
		sec->has_thread_safety = true;
		break;
	case CONF_LIBRARY:
		string = &sec->set.library;
		if (!*value)
			*wrong = "is empty; name the provider's shared library";
		break;
	case CONF_PROVIDER_VERSION:
		string = &sec->set.provider_version;
		*wrong = conf_provider_version_check(value);
		break;
	case CONF_IA_PARAMS:
		string = &sec->set.ia_params;
		break;
	default:
		string = &sec->set.platform_params;
		break;
	}
	if (string && string_set(string, value))
		ini->err = -ENOMEM;
	return true;
}

static bool key_is_word(const char *key)
{
	return *key && !key[strcspn(key, " \t\"\\=")];
}

/* inih's callback: one key of a section. */
static int key_handle(void *user, const char *section, const char *key, const char *value)
{
	struct ini *ini = user;
	struct section *sec = &ini->sec;
	enum conf_field field = 0;
	const char *wrong = NULL;
	char *tuning;

	if (ini->err)
		return 1;
	if (!*section) {
		ini_refuse(ini, ini->line, 0, NULL, key,
			   "comes before any [adapter]; move it below one");
		return 1;
	}
	if (!sec->name && string_set(&sec->name, section)) {
		ini->err = -ENOMEM;
		return 1;
	}
	sec->line = ini->header_line;
	if (section_field(ini, key, value, &field, &wrong)) {
		if (wrong) {
			ini_refuse(ini, ini->line, field, section, value, wrong);
			sec->refused = true;
		}
		return 1;
	}
	if (!key_is_word(key)) {
		ini_refuse(ini, ini->line, 0, section, key,
			   "cannot be a key; use one word without quotes");
		sec->refused = true;
		return 1;
	}
	tuning = tuning_format(key, value);
	if (!tuning || string_append(&sec->tuning, tuning))
		ini->err = -ENOMEM;
	free(tuning);
	return 1;
}

/* Returns the first of the characters in set, unless a comment begins before it, as inih does. */
static const char *find_plain(const char *s, size_t len, const char *set)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (s[i] && strchr(set, s[i]))
			return s + i;
		if (i && s[i] == ';' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
			return NULL;
	}
	return NULL;
}

/* Marks the current section as wrong because of the line just read. */
static void line_refuse(struct ini *ini, const char *s, size_t len, const char *why)
{
	struct conf_where where = { .file = ini->file, .line = ini->line };
	char clip[48];

	ini->sec.refused = true;
	conf_clip(clip, s, len);
	if (conf_diag_add(ini->conf, &where, "\"%s\" %s", clip, why))
		ini->err = -ENOMEM;
}

/*
 * Returns true if inih reads this line without cutting it. If not, the line is refused here and
 * inih gets an empty one.
 */
static bool line_check(struct ini *ini, const char *s, size_t len, int size)
{
	const char *close;

	if (!len || *s == ';' || *s == '#')
		return false;
	if (*s == '[') {
		section_end(ini);
		ini->header_line = ini->line;
		close = find_plain(s, len, "]");
		ini->skipping = true;
		if (!close)
			line_refuse(ini, s, len, "lacks the closing ]; the section is not read");
		else if (close == s + 1)
			line_refuse(ini, s, len, "names no adapter; the section is not read");
		else if (close - s - 1 > SECTION_MAX)
			line_refuse(ini, s, len,
				    "is longer than 49 bytes; name such an adapter in dat.conf");
		else
			ini->skipping = false;
	}
	if (ini->skipping)
		return false;
	if (memchr(s, '\0', len)) {
		line_refuse(ini, s, len, "contains a NUL byte; remove it");
		return false;
	}
	if (len + 3 > (size_t)size) {
		line_refuse(ini, s, len,
			    "is longer than a drop-in allows; put the adapter in dat.conf");
		return false;
	}
	if (*s != '[' && !find_plain(s, len, "=:")) {
		line_refuse(ini, s, len, "is neither [adapter] nor key = value");
		return false;
	}
	return true;
}

/*
 * inih's reader. It removes leading blanks, because inih would take an indented key for the
 * continuation of a value.
 */
static char *line_next(char *buf, int size, void *stream)
{
	struct ini *ini = stream;
	const char *s = ini->p;
	const char *nl;
	size_t len;

	if (s == ini->end || ini->err)
		return NULL;
	nl = memchr(s, '\n', (size_t)(ini->end - s));
	ini->p = nl ? nl + 1 : ini->end;
	ini->line++;
	len = (size_t)((nl ? nl : ini->end) - s);
	while (len && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\v' || *s == '\f'))
		s++, len--;
	while (len && (s[len - 1] == '\r' || s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	if (!line_check(ini, s, len, size))
		len = 0;
	memcpy(buf, s, len);
	strcpy(buf + len, "\n");
	return buf;
}

int conf_parse_ini(struct conf *conf, const char *file, const char *text, size_t len)
{
	struct ini ini = { .conf = conf, .p = text, .end = text + len };

	ini.file = conf_source_add(conf, file);
	if (!ini.file)
		return -ENOMEM;
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		ini.p += 3;
	if (ini_parse_stream(line_next, &ini, key_handle, &ini) == -2)
		ini.err = -ENOMEM;
	section_end(&ini);
	return ini.err;
}
