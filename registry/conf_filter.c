/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DAT_PROVIDERS: which lines of the static registry are visible to programs.
 *
 *	DAT_PROVIDERS=[WORD[,WORD...]][:strict|:fallback]
 *
 * A word names an adapter (field 1), a library (field 5, with or without its folder) or a provider:
 * the library's file name without "lib", "libdat", "libdat-" or "libdapl" in front, and without
 * ".so" and what follows. A word with a ^ in front hides the lines that it names, whatever the
 * other words say. If there are words without ^, all lines that none of these names are hidden as
 * well. The order of lines stays that of the files.
 *
 * Invariant: no library is loaded to decide it, and a wrong word is always explained in
 * conf->providers_wrong.
 */
#include "conf.h"
#include "log/near.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer value is probably a mistake, and would take long to compare with each line. */
#define VALUE_MAX 4096

struct word {
	const char *s;
	size_t len;
	bool out;			/* written with ^ */
	bool used;			/* it names a line, or a provider of OpenDAT */
};

struct words {
	struct word *word;
	size_t count;
	bool including;			/* there is a word without ^ */
};

/* A part of a string. */
struct part {
	const char *s;
	size_t len;
};

/*
 * Providers that a word may name even if no line has them, because the same value may be used on
 * many hosts.
 */
static const char *const known[] = { "soft", "ib", "iwarp", "cma", "trace", "fault" };

#define KNOWN (sizeof(known) / sizeof(known[0]))

static struct part file_part(const char *library)
{
	const char *slash = strrchr(library, '/');
	const char *file = slash ? slash + 1 : library;

	return (struct part){ file, strlen(file) };
}

static void prefix_drop(struct part *p, const char *prefix)
{
	size_t len = strlen(prefix);

	if (p->len > len && !memcmp(p->s, prefix, len)) {
		p->s += len;
		p->len -= len;
	}
}

/*
 * Returns the provider part of a library's name: "soft" of "libdatsoft.so", "cma" of
 * "libdaplcma.so.1".
 */
static struct part provider_part(const char *library)
{
	struct part p = file_part(library);
	const char *so = strstr(p.s, ".so");

	if (so)
		p.len = (size_t)(so - p.s);
	prefix_drop(&p, "lib");
	prefix_drop(&p, "dapl");
	prefix_drop(&p, "dat");
	prefix_drop(&p, "-");
	return p;
}

static bool word_is(const struct word *w, struct part p)
{
	return w->len == p.len && !memcmp(w->s, p.s, p.len);
}

static bool word_names(const struct word *w, const struct conf_entry *e)
{
	return word_is(w, (struct part){ e->name, strlen(e->name) }) ||
	       word_is(w, provider_part(e->library)) || word_is(w, file_part(e->library)) ||
	       word_is(w, (struct part){ e->library, strlen(e->library) });
}

/* Removes ":strict" or ":fallback" from the end of a value. */
static size_t mode_read(struct conf *conf, const char *value, size_t len)
{
	static const char strict[] = ":strict", fallback[] = ":fallback";

	conf->strict = false;
	if (len >= sizeof(strict) - 1 && !strcmp(value + len - (sizeof(strict) - 1), strict)) {
		conf->strict = true;
		return len - (sizeof(strict) - 1);
	}
	if (len >= sizeof(fallback) - 1 && !strcmp(value + len - (sizeof(fallback) - 1), fallback))
		return len - (sizeof(fallback) - 1);
	return len;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Splits a value into words, without the blanks around them. Empty words are ignored. */
static int words_read(struct words *words, const char *value, size_t len)
{
	const char *end = value + len, *p;
	size_t words_max = 1;

	for (p = value; p < end; p++)
		words_max += *p == ',';
	memset(words, 0, sizeof(*words));
	words->word = calloc(words_max, sizeof(*words->word));
	if (!words->word)
		return -ENOMEM;
	for (p = value; p <= end; p++) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		struct word w = { .s = p };

		p = comma ? comma : end;
		while (w.s < p && is_blank(*w.s))
			w.s++;
		if (w.s < p && *w.s == '^') {
			w.out = true;
			w.s++;
		}
		w.len = (size_t)(p - w.s);
		while (w.len && is_blank(w.s[w.len - 1]))
			w.len--;
		if (w.len || w.out)
			words->word[words->count++] = w;
		words->including |= w.len && !w.out;
	}
	return 0;
}

static void entry_judge(struct conf_entry *e, struct words *words)
{
	enum conf_hidden hidden = words->including ? CONF_NOT_INCLUDED : CONF_SHOWN;
	size_t i;

	for (i = 0; i < words->count; i++) {
		struct word *w = &words->word[i];

		if (!word_names(w, e))
			continue;
		w->used = true;
		if (w->out)
			hidden = CONF_EXCLUDED;
		else if (hidden == CONF_NOT_INCLUDED)
			hidden = CONF_SHOWN;
	}
	e->hidden = hidden;
}

/* Returns a word that is similar to one that names nothing, malloced, or NULL. */
static char *word_nearest(const struct conf *conf, const char *typed)
{
	unsigned int distance = near_begin(typed);
	char *nearest = NULL, *copy;
	const struct conf_entry *e;
	struct part p;
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (near_closer(typed, known[i], &distance)) {
			free(nearest);
			nearest = strdup(known[i]);
		}
	for (e = conf->entries; e; e = e->next) {
		p = provider_part(e->library);
		if (e->skip != CONF_USED || p.len > CONF_NAME_MAX)
			continue;
		copy = strndup(p.s, p.len);
		if (near_closer(typed, e->name, &distance)) {
			free(nearest);
			nearest = strdup(e->name);
		}
		if (copy && near_closer(typed, copy, &distance)) {
			free(nearest);
			nearest = copy;
			copy = NULL;
		}
		free(copy);
	}
	return nearest;
}

/* Explains the first word that names nothing. */
static int word_complain(struct conf *conf, const struct word *w)
{
	char *typed = strndup(w->s, w->len), *nearest = NULL;
	char clip[48];
	int n;

	if (!typed)
		return -ENOMEM;
	conf_clip(clip, typed, w->len);
	if (!w->len)
		n = asprintf(&conf->providers_wrong, "a ^ without a name hides nothing; write a "
						     "name directly after it");
	else if (!strcmp(typed, "strict") || !strcmp(typed, "fallback"))
		n = asprintf(&conf->providers_wrong,
			     "\"%s\" names no adapter, provider or library; did you mean :%s, at "
			     "the end?",
			     clip, clip);
	else if ((nearest = word_nearest(conf, typed)))
		n = asprintf(&conf->providers_wrong,
			     "\"%s\" names no adapter, provider or library of %s; did you mean "
			     "%s%.80s?",
			     clip, conf->origin, w->out ? "^" : "", nearest);
	else
		n = asprintf(&conf->providers_wrong,
			     "\"%s\" names no adapter, provider or library of %s; use one that "
			     "'datctl list' prints",
			     clip, conf->origin);
	if (n < 0)
		conf->providers_wrong = NULL;
	free(nearest);
	free(typed);
	return n < 0 ? -ENOMEM : 0;
}

static bool word_is_known(const struct word *w)
{
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (word_is(w, (struct part){ known[i], strlen(known[i]) }))
			return true;
	return false;
}

int conf_filter(struct conf *conf, const char *value)
{
	size_t len = value ? strlen(value) : 0;
	struct conf_entry *e;
	struct words words;
	int err = 0;
	size_t i;

	if (!len)
		return 0;
	conf->providers = strdup(value);
	if (!conf->providers)
		return -ENOMEM;
	if (len > VALUE_MAX) {
		conf->providers_wrong = strdup("is longer than 4096 bytes, and is ignored; shorten "
					       "it");
		return conf->providers_wrong ? 0 : -ENOMEM;
	}
	if (words_read(&words, value, mode_read(conf, value, len)))
		return -ENOMEM;
	for (e = conf->entries; e; e = e->next)
		if (e->skip == CONF_USED)
			entry_judge(e, &words);
	for (i = 0; i < words.count && !err && !conf->providers_wrong; i++)
		if (!words.word[i].used && !word_is_known(&words.word[i]))
			err = word_complain(conf, &words.word[i]);
	free(words.word);
	return err;
}

int conf_filter_env(struct conf *conf)
{
	return conf_filter(conf, secure_getenv("DAT_PROVIDERS"));
}
