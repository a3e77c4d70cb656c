/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl explain CODE: what a number or a name of the standard means, and what to do about it.
 *
 * Invariant: a number with several meanings is explained with each of them, and with no others.
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
	"Usage: datctl explain [--json] CODE...\n"
	"Print what CODE means and what to do about it. CODE is a number as programs print it\n"
	"(hexadecimal with 0x, or decimal, also negative) or a name: of a DAT_RETURN or its\n"
	"subtype, an event, the completion status of a transfer, or the reason in an asynchronous\n"
	"event. Names may be joined, as in 'DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP'. A number\n"
	"with several meanings is explained with each of them.\n";

static const struct table {
	const char *kind;
	const struct meaning *rows;
} tables[] = {
	{ "return type", explain_types }, { "return subtype", explain_subtypes },
	{ "event", explain_events },	  { "completion status", explain_dto },
	{ "reason", explain_reasons },
};

enum { TYPES, SUBTYPES, TABLES = sizeof(tables) / sizeof(tables[0]) };

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
	uint64_t type = DAT_GET_TYPE(ret);

	if (type == DAT_TYPE_MASK || type == 0x0fff0000)
		return row_of(explain_types, (uint32_t)DAT_NOT_IMPLEMENTED);
	return row_of(explain_types, type);
}

static bool explain_return(uint32_t ret)
{
	const struct meaning *type = type_of(ret);
	const struct meaning *sub = row_of(explain_subtypes, DAT_GET_SUBTYPE(ret));

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
		for (const struct meaning *m = tables[t].rows; m->name != NULL; m++) {
			if (m->value != value)
				continue;
			print(tables[t].kind, m, NULL, value);
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
	const struct meaning *type = row_called(explain_types, text, length);
	const struct meaning *sub = NULL;

	if (*second != '\0')
		sub = row_called(explain_subtypes, second, strlen(second));
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
		sub = row_called(tables[t].rows, text, length);
		if (sub == NULL)
			continue;
		print(tables[t].kind, sub, NULL, sub->value);
		return true;
	}
	return false;
}

/*
 * Normalises a name, or two, as people type and paste them: in lower case, without DAT_, with a
 * colon after it. Malloced, with '|' between two.
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

int datctl_explain(int argc, char **argv)
{
	int status = CLI_OK, first = 1;

	as_json = argc > 1 && strcmp(argv[1], "--json") == 0;
	first += as_json;
	if (first < argc && strcmp(argv[first], "--") == 0)
		first++;
	if (first >= argc)
		return cli_usage("explain: a number or a name is missing");
	if (argv[first][0] == '-' && (argv[first][1] < '0' || argv[first][1] > '9'))
		return datctl_unknown_option("explain", argv[first]);
	if (as_json)
		json_array(NULL);
	for (int i = first; i < argc; i++) {
		/* 'TYPE SUBTYPE' as two words, as dat_strerror prints them */
		char *joined = i + 1 < argc ? cli_text("%s %s", argv[i], argv[i + 1]) : NULL;
		bool pair = joined != NULL && is_name(argv[i]) && explain(joined);

		free(joined);
		i += pair;
		if (!pair && !explain(argv[i])) {
			cli_error(
				"'%s' is not a code of uDAPL 1.2; give a number such as "
				"0x800a0062, or a name such as DAT_INVALID_HANDLE",
				argv[i]);
			status = CLI_FAILED;
		}
	}
	if (as_json)
		json_end();
	return status;
}
