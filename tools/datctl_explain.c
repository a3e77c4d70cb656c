/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl explain CODE: what a number or a name of the standard means, and what to do about it.
 *
 * Invariant: a number with several meanings in an API is explained with each of them, and with no
 * others.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datctl.h"
#include "explain.h"
#include "json.h"

const char datctl_explain_help[] =
	"Usage: datctl explain [--api VERSION] [--json] CODE...\n"
	"Print what CODE means and what to do about it. CODE is a number as programs print it\n"
	"(hexadecimal with 0x, or decimal, also negative) or a name: of a DAT_RETURN or its\n"
	"subtype, an event, the completion status of a transfer, or the reason in an asynchronous\n"
	"event. Names may be joined, as in 'DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP'. A number\n"
	"with several meanings is explained with each of them.\n"
	"\n"
	"  --api VERSION   CODE comes from a program of uDAPL 1.2 (the default) or 2.0, which numbers\n"
	"                  subtypes differently\n"
	"  --json          print JSON\n";

enum { TYPES, SUBTYPES, EVENTS, STATUSES, REASONS, TABLES };

static const char *const kinds[TABLES] = { "return type", "return subtype", "event",
					   "completion status", "reason" };

static const struct api {
	const char *name;
	const struct meaning *rows[TABLES];
} api12 = { "1.2",
	    { explain_types, explain_subtypes, explain_events, explain_dto, explain_reasons } },
  api20 = { "2.0",
	    { explain20_types, explain20_subtypes, explain20_events, explain20_dto,
	      explain20_reasons } };

static const struct api *api = &api12;
static bool as_json;

static void print(const char *kind, const struct meaning *m, const struct meaning *detail,
		  uint64_t value)
{
	const char *remedy = m->remedy;
	bool detailed = detail != NULL && detail->value != 0;

	if (as_json) {
		json_object(NULL);
		json_string("kind", kind);
		json_string("name", m->name);
		json_number("value", value);
		json_string("meaning", m->text);
		json_string("subtype", detailed ? detail->name : NULL);
		json_string("subtype_meaning", detailed ? detail->text : NULL);
		json_string("remedy", remedy);
		json_end();
		return;
	}
	printf("%s%s%s  (%s, 0x%" PRIx64 ")\n", m->name, detailed ? " " : "",
	       detailed ? detail->name : "", kind, value);
	printf("  %s\n", m->text);
	if (detailed)
		printf("  here: %s\n", detail->text);
	if (remedy != NULL)
		printf("  to do: %s\n", remedy);
}

static const struct meaning *row_of(const struct meaning *rows, uint64_t value)
{
	for (; rows->name != NULL; rows++)
		if (rows->value == value)
			return rows;
	return NULL;
}

static const struct meaning *row_called(const struct meaning *rows, const char *name, size_t length)
{
	for (; rows->name != NULL; rows++)
		if (strlen(rows->name) == length && strncmp(rows->name, name, length) == 0)
			return rows;
	return NULL;
}

/*
 * Returns the meaning of a type. DAT_NOT_IMPLEMENTED sets more bits of the type in some releases
 * than in others.
 */
static const struct meaning *type_of(DAT_RETURN ret)
{
	static const char name[] = "DAT_NOT_IMPLEMENTED";
	uint64_t type = DAT_GET_TYPE(ret);

	if (type == DAT_TYPE_MASK || type == 0x0fff0000)
		return row_called(api->rows[TYPES], name, sizeof(name) - 1);
	return row_of(api->rows[TYPES], type);
}

static bool explain_return(uint32_t ret)
{
	const struct meaning *type = type_of(ret);
	const struct meaning *sub = row_of(api->rows[SUBTYPES], DAT_GET_SUBTYPE(ret));

	if (type == NULL || sub == NULL)
		return false;
	print("DAT_RETURN", type, sub, ret);
	return true;
}

static bool explain_number(uint32_t value)
{
	bool known = false;

	if (value == 0 || DAT_GET_TYPE(value) != 0)
		known = explain_return(value);
	for (size_t t = SUBTYPES; t < TABLES && value != 0; t++) {
		for (const struct meaning *m = api->rows[t]; m->name != NULL; m++) {
			if (m->value != value)
				continue;
			print(kinds[t], m, NULL, value);
			known = true;
		}
	}
	return known;
}

/* Explains "TYPE", "TYPE SUBTYPE", "TYPE|SUBTYPE", or the name of anything else. */
static bool explain_name(const char *text)
{
	static const char between[] = " |,+\t";
	size_t length = strcspn(text, between);
	const char *second = text + length + strspn(text + length, between);
	const struct meaning *type = row_called(api->rows[TYPES], text, length);
	const struct meaning *sub = NULL;

	if (*second != '\0')
		sub = row_called(api->rows[SUBTYPES], second, strlen(second));
	if (*second != '\0' && (type == NULL || sub == NULL))
		return false;
	if (type != NULL) {
		print("DAT_RETURN", type, sub,
		      (type->value | (type->value != 0 ? DAT_CLASS_ERROR : 0) |
		       (sub != NULL ? sub->value : 0)) &
			      UINT32_MAX);
		return true;
	}
	for (size_t t = SUBTYPES; t < TABLES; t++) {
		sub = row_called(api->rows[t], text, length);
		if (sub == NULL)
			continue;
		print(kinds[t], sub, NULL, sub->value);
		return true;
	}
	return false;
}

/*
 * Returns a name, or two, in the standard's spelling, with '|' between two; the caller frees the
 * text. People type and paste names in lower case, without DAT_, or with a colon behind them.
 */
static char *name_proper(const char *text)
{
	static const char apart[] = " |,+\t:;.";
	char *name = cli_text("%s", ""), *more;

	for (text += strspn(text, apart); *text != '\0'; text += strspn(text, apart)) {
		int length = (int)strcspn(text, apart);

		more = cli_text("%s%s%s%.*s", name, *name != '\0' ? "|" : "",
				strncasecmp(text, "DAT_", 4) == 0 ? "" : "DAT_", length, text);
		free(name);
		name = more;
		text += length;
	}
	for (char *p = name; *p != '\0'; p++)
		if (*p >= 'a' && *p <= 'z') /* independent of the locale */
			*p = (char)(*p - 'a' + 'A');
	return name;
}

static bool is_name(const char *text)
{
	return (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z');
}

static bool explain(const char *text)
{
	long long value;
	char *end;

	if (is_name(text)) {
		char *name = name_proper(text);
		bool known = explain_name(name);

		free(name);
		return known;
	}
	errno = 0;
	value = strtoll(text, &end, 0);
	if (errno != 0 || *end != '\0' || end == text || value < INT32_MIN || value > UINT32_MAX)
		return false;
	return explain_number((uint32_t)value);
}

/* Explains one word, or the two words of a type and a subtype, as dat_strerror() prints them. Returns how many words it took. */
static int explain_next(char **argv, int left, int *status)
{
	char *joined = left > 1 ? cli_text("%s %s", argv[0], argv[1]) : NULL;
	bool pair = joined != NULL && is_name(argv[0]) && explain(joined);

	free(joined);
	if (!pair && !explain(argv[0])) {
		cli_error("'%s' is not a code of uDAPL %s; give a number such as 0x800a0062, or a "
			  "name such as DAT_INVALID_HANDLE",
			  argv[0], api->name);
		*status = CLI_FAILED;
	}
	return 1 + pair;
}

int datctl_explain(int argc, char **argv)
{
	int status = CLI_OK, i = 1;
	unsigned int major = 1;

	for (; i < argc && argv[i][0] == '-' && (argv[i][1] < '0' || argv[i][1] > '9'); i++) {
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (strcmp(argv[i], "--api") == 0) {
			const char *version = i + 1 < argc ? argv[++i] : "";

			if (!datctl_api(version, &major))
				return cli_usage("explain: --api: " DATCTL_NO_API, version);
		} else if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		} else {
			return datctl_unknown_option("explain", argv[i]);
		}
	}
	if (i >= argc)
		return cli_usage("explain: a number or a name is missing");
	api = major == 2 ? &api20 : &api12;
	if (as_json)
		json_array(NULL);
	while (i < argc)
		i += explain_next(argv + i, argc - i, &status);
	if (as_json)
		json_end();
	return status;
}
