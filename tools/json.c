/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON on stdout; json.h states the invariant.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"

#define DEPTH 8

static struct {
	char close[DEPTH];  /* the character that ends each open object or array */
	bool filled[DEPTH]; /* it has a member already */
	int depth;
} json;

static void line(void)
{
	printf("\n%*s", json.depth * 2, "");
}

static void member(const char *key)
{
	if (json.depth > 0) {
		if (json.filled[json.depth - 1])
			putchar(',');
		json.filled[json.depth - 1] = true;
		line();
	}
	if (key != NULL) {
		cli_json_string(key);
		fputs(": ", stdout);
	}
}

static void open_level(const char *key, const char *brackets)
{
	member(key);
	if (json.depth == DEPTH)
		abort(); /* the program decides about the depth, never the data */
	putchar(brackets[0]);
	json.close[json.depth] = brackets[1];
	json.filled[json.depth++] = false;
}

void json_object(const char *key)
{
	open_level(key, "{}");
}

void json_array(const char *key)
{
	open_level(key, "[]");
}

void json_end(void)
{
	bool filled = json.filled[--json.depth];

	if (filled)
		line();
	putchar(json.close[json.depth]);
	if (json.depth == 0)
		putchar('\n');
}

void json_string(const char *key, const char *value)
{
	member(key);
	if (value != NULL)
		cli_json_string(value);
	else
		fputs("null", stdout);
}

void json_number(const char *key, uint64_t value)
{
	member(key);
	printf("%" PRIu64, value);
}

void json_bool(const char *key, bool value)
{
	member(key);
	fputs(value ? "true" : "false", stdout);
}
