/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the closed list of what an administrator may allow. Invariant: what an IA allows is fixed
 * when it is opened. With a word that is not on the list the IA does not open, so no misspelt word
 * is ignored.
 */
#include <datp/options.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allow.h"
#include "diag.h"

#define KEY    "allow="
#define NONE   "none"
#define BLANKS " \t"

/* A new word is also named in dat.conf(5), with its clause. */
static const struct known {
	const char *word;
	uint32_t bit;
} known[] = {
	{ "mixed_completions", ALLOW_MIXED_COMPLETIONS },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* Space for all words with commas between them, and for one of them. */
enum { LIST_MAX = 64, WORD_MAX = 32 };

/* Writes the words of `bits`, or "none". */
static void list_words(uint32_t bits, char *list)
{
	const char *between = "";

	strcpy(list, bits ? "" : NONE);
	for (size_t i = 0; i < KNOWN; i++) {
		if (!(bits & known[i].bit))
			continue;
		strncat(list, between, LIST_MAX - strlen(list) - 1);
		strncat(list, known[i].word, LIST_MAX - strlen(list) - 1);
		between = ",";
	}
}

static void say_unknown(struct datp_ia *ia, const char *typed, size_t length, const char *key)
{
	const char *names[KNOWN + 1] = { NULL }, *near;
	char list[LIST_MAX], word[WORD_MAX];

	for (size_t i = 0; i < KNOWN; i++)
		names[i] = known[i].word;
	snprintf(word, sizeof(word), "%.*s", (int)length, typed);
	near = datp_nearest(word, names);
	list_words(~0u, list);
	core_log(1, "%s: \"%.*s\" in %s cannot be allowed; %s%s%s words are: %s (see dat.conf(5))",
		 ia->name, (int)length, typed, key, near ? "did you mean " : "", near ? near : "",
		 near ? "? The" : "the", list);
}

/*
 * Takes words with commas between them, as after `key`. No word at all, or the word "none", allows
 * nothing.
 */
static enum datp_err take_words(struct datp_ia *ia, const char *key, const char *words)
{
	struct ia_priv *priv = ia_priv(ia);

	if (!*words || !strcmp(words, NONE))
		return DATP_OK;
	for (;;) {
		size_t length = strcspn(words, ","), i = 0;

		while (i < KNOWN &&
		       (strncmp(words, known[i].word, length) != 0 || known[i].word[length]))
			i++;
		if (i == KNOWN) {
			say_unknown(ia, words, length, key);
			return DATP_ERR_PARAM;
		}
		priv->allow |= known[i].bit;
		words += length;
		if (!*words)
			return DATP_OK;
		words++;
	}
}

/* Copies `params` to `rest` without the allow= words, and takes those. */
static enum datp_err take_params(struct datp_ia *ia, const char *params, char *rest)
{
	enum datp_err err = DATP_OK;

	while (!err && *params) {
		size_t blanks = strspn(params, BLANKS), length = strcspn(params + blanks, BLANKS);
		const char *word = params + blanks;
		char *mine;

		params = word + length;
		if (strncmp(word, KEY, strlen(KEY)) != 0) {
			rest = mempcpy(rest, word - blanks, blanks + length);
			continue;
		}
		mine = strndup(word + strlen(KEY), length - strlen(KEY));
		err = mine ? take_words(ia, KEY, mine) : DATP_ERR_MEMORY;
		free(mine);
	}
	*rest = '\0';
	return err;
}

enum datp_err allow_take(struct datp_ia *ia, const char *params, char **rest)
{
	const char *variable = secure_getenv("DAT_ALLOW");
	enum datp_err err = DATP_OK;

	*rest = malloc(strlen(params) + 1);
	if (!*rest)
		return DATP_ERR_MEMORY;
	if (variable && *variable)
		err = take_words(ia, "DAT_ALLOW", variable);
	if (!err)
		err = take_params(ia, params, *rest);
	if (err) {
		free(*rest);
		*rest = NULL;
	}
	return err;
}

enum datp_err allow_show(struct datp_ia *ia)
{
	struct ia_priv *priv = ia_priv(ia);
	struct datp_ia_attr *attr = &priv->attr;
	size_t own = (size_t)attr->provider_attr_count;
	DAT_NAMED_ATTR *all = malloc((own + 1) * sizeof(*all) + LIST_MAX);
	char *list;

	if (!all)
		return DATP_ERR_MEMORY;
	if (own)
		memcpy(all, attr->provider_attr, own * sizeof(*all));
	list = (char *)(all + own + 1);
	list_words(priv->allow, list);
	all[own] = (DAT_NAMED_ATTR){ .name = (char *)(uintptr_t) "allow", .value = list };
	priv->named = all;
	attr->provider_attr = all;
	attr->provider_attr_count++;
	return DATP_OK;
}

void allow_hide(struct datp_ia *ia)
{
	free(ia_priv(ia)->named);
	ia_priv(ia)->named = NULL;
}
