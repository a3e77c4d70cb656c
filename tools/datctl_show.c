/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl show IA: everything that dat_ia_query() returns, by the standard's names.
 *
 * Invariant (for the text; JSON has the same pairs): one `name = value` per line; a line that
 * starts with '#' is a heading. show_attr.c knows the attributes.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "dat20.h"
#include "datctl.h"
#include "json.h"
#include "names.h"
#include "show.h"

const char datctl_show_help[] =
	"Usage: datctl show [--api VERSION] [--json] IA\n"
	"Open the adapter IA (a name that 'datctl list' prints) and print every attribute of the\n"
	"adapter and of its provider, one 'name = value' per line, in the standard's names.\n"
	"Named attributes of the transport, the vendor and the provider follow their structure.\n"
	"\n"
	"  --api VERSION   open it as programs of uDAPL 1.2 or 2.0 do (default 1.2, and 2.0 for an\n"
	"                  adapter that has lines for 2.0 only)\n"
	"  --json          print JSON: the same names and values, with all values as strings\n";

static bool as_json;

#define NAME_WIDTH 40	/* the longest is evd_stream_merging_supported[CONNECTION] */

void show(const char *name, const char *fmt, ...)
{
	va_list args;
	char *shown = cli_escape(name), *value;

	va_start(args, fmt);
	value = cli_vtext(fmt, args);
	va_end(args);
	if (as_json)
		json_string(name, value);
	else
		printf("%-*s = %s\n", NAME_WIDTH, shown, value);
	free(shown);
	free(value);
}

void show_heading(const char *structure)
{
	if (as_json)
		json_object(structure);
	else
		printf("# %s\n", structure);
}

void show_structure_end(const char *between)
{
	if (as_json)
		json_end();
	else
		fputs(between, stdout);
}

void show_text(const char *name, const char *text, size_t size)
{
	show(name, "%.*s", (int)strnlen(text, size), text);
}

void show_u32(const char *name, uint32_t value)
{
	show(name, "%" PRIu32, value);
}

void show_u64(const char *name, uint64_t value)
{
	show(name, "%" PRIu64, value);
}

void show_count(const char *name, int value)
{
	if (value == DAT_VALUE_UNKNOWN)
		show(name, "DAT_VALUE_UNKNOWN");
	else
		show(name, "%d", value);
}

void show_enum(const char *name, const struct name *table, uint64_t value)
{
	char spare[24];

	show(name, "%s", name_of(table, value, spare, sizeof(spare)));
}

void show_flags(const char *name, const struct name *table, uint64_t flags)
{
	char text[256];

	names_of_flags(table, flags, text, sizeof(text));
	show(name, "%s", text);
}

void show_begin(void)
{
	if (as_json)
		json_object(NULL);
}

void show_end(void)
{
	if (as_json)
		json_end();
}

void show_failed(const char *call, const char *adapter, uint32_t ret)
{
	if (strcmp(call, "dat_ia_open") == 0)
		cli_open_error(ret, adapter);
	else
		cli_dat_error(ret, NULL, "%s(\"%s\")", call, adapter);
}

void show_failed20(const char *call, const char *adapter, uint32_t ret, const char *type,
		   const char *subtype)
{
	cli_error("%s(\"%s\") of uDAPL 2.0: 0x%08x %s %s; 'datctl check --ia %s' prints the reason, and "
		  "what to do", call, adapter, (unsigned int)ret, type, subtype, adapter);
}

static bool show_by_20(const char *adapter)
{
	char *why = NULL;

	if (dat20_load(&why))
		return show_attributes20(adapter);
	cli_error("programs of uDAPL 2.0 need libdat2.so.2: %s; " DAT20_PACKAGE, why);
	free(why);
	return false;
}

int datctl_show(int argc, char **argv)
{
	const char *api = NULL;
	unsigned int major;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (strcmp(argv[i], "--api") == 0) {
			api = i + 1 < argc ? argv[++i] : "";
		} else if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		} else {
			return datctl_unknown_option("show", argv[i]);
		}
	}
	if (i == argc)
		return cli_usage("show: the name of an adapter is missing");
	if (i + 1 < argc)
		return cli_usage("show: one adapter at a time; '%s' is one too many", argv[i + 1]);
	if (api == NULL)
		api = dat20_only(argv[i]) ? "2.0" : "1.2";
	if (!datctl_api(api, &major))
		return cli_usage("show: --api: " DATCTL_NO_API, api);
	if (major == 2)
		return show_by_20(argv[i]) ? CLI_OK : CLI_FAILED;
	return show_attributes(argv[i]) ? CLI_OK : CLI_FAILED;
}
