/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the instance data of an adapter by a plugin's table of options. Invariant: a word is taken
 * as a whole or not at all, and one that is not taken is named in the message, with what can stand
 * there.
 */
#include <datp/options.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/near.h"

#define BLANKS " \t"

/* A message that grows; what does not fit is left out. */
struct text {
	char *at;
	size_t left;
};

static void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void text_add(struct text *text, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->at, text->left, fmt, args);
	va_end(args);
	if (n < 0 || !text->left)
		return;
	if ((size_t)n >= text->left)
		n = (int)text->left - 1;
	text->at += n;
	text->left -= (size_t)n;
}

/* The plugin's headers may be older than libdatp, and its options shorter than libdatp's. */
static struct datp_option option_at(const struct datp_options *options, uint32_t i)
{
	const char *at = (const char *)options->table + (size_t)i * options->option_size;
	struct datp_option option = { .name = NULL };
	size_t size = options->option_size;

	memcpy(&option, at, size < sizeof(option) ? size : sizeof(option));
	return option;
}

static void field_set(const struct datp_option *option, void *to, uint64_t value)
{
	char *field = (char *)to + option->offset;
	uint32_t half = (uint32_t)value;
	bool is = value != 0;

	if (option->kind == DATP_OPTION_IS_OTHER)
		return;
	if (option->kind == DATP_OPTION_IS_BOOL)
		memcpy(field, &is, sizeof(is));
	else if (option->size == sizeof(half))
		memcpy(field, &half, sizeof(half));
	else
		memcpy(field, &value, sizeof(value));
}

void datp_options_preset(const struct datp_options *options, void *to)
{
	for (uint32_t i = 0; i < options->count; i++) {
		struct datp_option option = option_at(options, i);

		field_set(&option, to, option.preset);
	}
}

/* ------------------------------------------------------------------ values */

static const char *const switches[] = { "on", "off", NULL };

static bool has_words(const struct datp_option *option)
{
	return option->kind == DATP_OPTION_IS_BOOL || option->kind == DATP_OPTION_IS_ENUM;
}

static const char *const *words_of(const struct datp_option *option)
{
	return option->kind == DATP_OPTION_IS_BOOL ? switches : option->words;
}

/* Returns what a number with this unit is multiplied by; 0 if there is no such unit. */
static uint64_t unit(enum datp_option_kind kind, const char *name)
{
	if (!*name)
		return 1;
	if (kind == DATP_OPTION_IS_TIME)
		return !strcmp(name, "ms") ? 1 : !strcmp(name, "s") ? 1000 : 0;
	if (kind != DATP_OPTION_IS_BYTES || name[1])
		return 0;
	switch (*name) {
	case 'k':
	case 'K':
		return UINT64_C(1) << 10;
	case 'm':
	case 'M':
		return UINT64_C(1) << 20;
	case 'g':
	case 'G':
		return UINT64_C(1) << 30;
	default:
		return 0;
	}
}

enum reading { READ, NO_NUMBER, OUT_OF_RANGE };

static enum reading number_read(const struct datp_option *option, const char *text, uint64_t *value)
{
	uint64_t times;
	char *end;

	/* strtoull() would accept signs and blanks */
	if (*text < '0' || *text > '9')
		return NO_NUMBER;
	errno = 0;
	*value = strtoull(text, &end, 10);
	times = unit(option->kind, end);
	if (!times)
		return NO_NUMBER;
	if (errno || __builtin_mul_overflow(*value, times, value))
		return OUT_OF_RANGE;
	return *value < option->least || *value > option->most ? OUT_OF_RANGE : READ;
}

static bool word_read(const struct datp_option *option, const char *text, uint64_t *value)
{
	const char *const *words = words_of(option);

	uint64_t at = 0;

	while (words[at] && strcmp(words[at], text) != 0)
		at++;
	*value = option->kind == DATP_OPTION_IS_BOOL ? at == 0 : at;
	return words[at] != NULL;
}

/* ------------------------------------------------------------------ messages */

/* "on|off", "64..1048576": the values of an option in the list of all. */
static void values_list(struct text *text, const struct datp_option *option)
{
	const char *const *words = has_words(option) ? words_of(option) : NULL;

	if (option->kind == DATP_OPTION_IS_OTHER)
		text_add(text, "%s", option->form);
	else if (!words)
		text_add(text, "%" PRIu64 "..%" PRIu64, option->least, option->most);
	for (int i = 0; words && words[i]; i++)
		text_add(text, "%s%s", i ? "|" : "", words[i]);
}

/* "64 to 1048576 bytes": the same in a sentence about that option. */
static void values_tell(struct text *text, const struct datp_option *option)
{
	const char *const *words = has_words(option) ? words_of(option) : NULL;

	if (option->kind == DATP_OPTION_IS_OTHER)
		text_add(text, "%s", option->form);
	else if (!words)
		text_add(text, "%" PRIu64 " to %" PRIu64 "%s", option->least, option->most,
			 option->kind == DATP_OPTION_IS_BYTES  ? " bytes" :
			 option->kind == DATP_OPTION_IS_TIME ? " milliseconds" :
							       "");
	for (int i = 0; words && words[i]; i++)
		text_add(text, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

static void say_bad(struct text *text, const char *word, const char *why,
		    const struct datp_option *option)
{
	text_add(text, "\"%s\" in dat.conf is %s; %s, %s, is ", word, why, option->name, option->help);
	values_tell(text, option);
}

static void say_unknown(struct text *text, const struct datp_options *options, const char *word)
{
	unsigned int distance;
	struct datp_option option;
	const char *between = "", *near = NULL;
	char *name = strndup(word, strcspn(word, "="));

	distance = name ? near_begin(name) : 0;
	for (uint32_t i = 0; name && i < options->count; i++) {
		option = option_at(options, i);
		if (near_closer(name, option.name, &distance))
			near = option.name;
	}
	free(name);
	text_add(text, "\"%s\" in dat.conf is not known", word);
	if (near)
		text_add(text, "; did you mean %s? Known are ", near);
	else
		text_add(text, "; known are ");
	if (options->form) {
		text_add(text, "%s", options->form);
		between = ", ";
	}
	for (uint32_t i = 0; i < options->count; i++) {
		option = option_at(options, i);
		text_add(text, "%s%s=", between, option.name);
		values_list(text, &option);
		between = ", ";
	}
}

const char *datp_nearest(const char *typed, const char *const *names)
{
	unsigned int distance = near_begin(typed);
	const char *near = NULL;

	for (; *names; names++)
		if (near_closer(typed, *names, &distance))
			near = *names;
	return near;
}

/* ------------------------------------------------------------------ words */

/* Passes a word to a function of the plugin, which finds an empty message, and writes one if it fails. */
static enum datp_err hand_over(enum datp_err (*take)(void *, const char *, char *, size_t), void *to,
			       const char *value, struct text *why)
{
	if (why->left)
		*why->at = '\0';
	return take(to, value, why->at, why->left);
}

static enum datp_err value_take(const struct datp_option *option, const char *word,
				const char *value, void *to, struct text *why)
{
	enum reading read = READ;
	uint64_t number = 0;
	enum datp_err err;

	if (option->kind == DATP_OPTION_IS_OTHER) {
		err = hand_over(option->take, to, value, why);
		if (err && why->left && !*why->at)
			say_bad(why, word, "not possible", option);
		return err;
	}
	if (has_words(option)) {
		if (word_read(option, value, &number))
			goto set_field;
		say_bad(why, word, "not possible", option);
		return DATP_ERR_PARAM;
	}
	read = number_read(option, value, &number);
	if (read != READ) {
		say_bad(why, word, read == NO_NUMBER ? "not a number" : "out of range", option);
		return DATP_ERR_PARAM;
	}
set_field:
	field_set(option, to, number);
	return DATP_OK;
}

static enum datp_err word_take(const struct datp_options *options, const char *word, void *to,
			       struct text *why)
{
	size_t length = strcspn(word, "=");
	enum datp_err err = DATP_ERR_PARAM;

	if (!word[length] && options->take) {
		err = hand_over(options->take, to, word, why);
		if (err && why->left && !*why->at)
			say_unknown(why, options, word);
		return err;
	}
	for (uint32_t i = 0; word[length] && i < options->count; i++) {
		struct datp_option option = option_at(options, i);

		if (strlen(option.name) == length && !strncmp(option.name, word, length))
			return value_take(&option, word, word + length + 1, to, why);
	}
	say_unknown(why, options, word);
	return err;
}

enum datp_err datp_options_take(const struct datp_options *options, const char *params, void *to,
				char *why, size_t size)
{
	char *copy = strdup(params ? params : ""), *rest = copy, *word;
	struct text text = { .at = why, .left = size };
	enum datp_err err = DATP_OK;

	if (!copy) {
		text_add(&text, "there is no memory to read the instance data; free some");
		return DATP_ERR_MEMORY;
	}
	while (!err && (word = strtok_r(rest, BLANKS, &rest)))
		err = word_take(options, word, to, &text);
	free(copy);
	return err;
}
