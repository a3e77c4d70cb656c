/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment variables that OpenDAT reads: all of them for datctl env, those that are set for datctl report.
 *
 * Invariant: the table is complete; a test compares it with the variables that the libraries read.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datctl.h"
#include "json.h"

const char datctl_env_help[] =
	"Usage: datctl env [--json]\n"
	"Print every environment variable that OpenDAT reads, with its value, the default, and its\n"
	"meaning. Programs that run set-uid ignore all of them.\n";

static const struct variable {
	const char *name;
	const char *reader;
	const char *otherwise; /* the default */
	const char *meaning;
} variables[] = {
	{ "DAT_OVERRIDE", "libdat", "the system's file; see datctl which",
	  "the dat.conf to read. No other file is read, even if this one cannot be. Its drop-ins "
	  "are in the folder of the same name with .d appended" },
	{ "DAT_CONF_PATH", "libdat", "the system's file; see datctl which",
	  "files to read as one registry, FILE[:FILE...], in this order, each with its drop-ins. "
	  "An empty name means the system's file; names of missing files are skipped. DAT_OVERRIDE "
	  "takes precedence" },
	{ "DAT_PROVIDERS", "libdat", "all adapters, :fallback",
	  "[WORD[,WORD...]][:strict|:fallback]. A WORD is what datctl list prints: an adapter, its "
	  "library, or the provider in it (soft, ib, iwarp, cma, trace, fault). Programs see the "
	  "adapters that a word names, or all if every word begins with ^; ^WORD hides adapters. "
	  "With :strict, if a line cannot be opened, the next one of its name is not tried" },
	{ "DAT_ALLOW", "libdatp", "what allow= in dat.conf says",
	  "WORD[,WORD...]: what all adapters allow in addition to that although the standard "
	  "forbids it, for programs that cannot be changed. The only word is mixed_completions: "
	  "signalled and unsignalled completions share an event queue. See dat.conf(5)" },
	{ "DAT_SOFT_REALM", "soft", "the realm of all programs without a name",
	  "a name: soft adapters can connect only within the realm of this name, which has "
	  "connection qualifiers of its own" },
	{ "DAT_LOG", "libdat, libdatp, providers", "warning",
	  "LEVEL[,COMPONENT...][:WHERE]. LEVEL is none, error, warning, info or debug. COMPONENT "
	  "is registry, core, or the name of a provider (soft, ib, iwarp, cma, trace, fault) or of "
	  "an adapter; all of them unless some are named. WHERE is stderr, syslog, or a file that messages are "
	  "appended to" },
	{ "DAT_DBG_TYPE", "libdat, libdatp, providers", "as DAT_LOG says",
	  "the older form, a sum: 1 errors, 2 general, 4 static registry, 8 dynamic registry, 16 "
	  "calls of providers, 32 calls of programs. DAT_LOG takes precedence" },
	{ "DAT_DBG_DEST", "libdat, libdatp, providers", "1",
	  "the older form: 1 standard error (never standard output), 2 syslog, 3 both. DAT_LOG "
	  "takes precedence" },
	{ "DAPL_DBG_TYPE", "libdat, libdatp, providers", "as DAT_LOG says",
	  "OFED's form for providers, which is read as a level: with 1 errors, with 2 warnings, "
	  "with any other bit debug, with 0 none. DAT_LOG and DAT_DBG_TYPE take precedence" },
	{ "DAPL_DBG_DEST", "libdat, libdatp, providers", "1",
	  "OFED's form for providers, as DAT_DBG_DEST, which takes precedence" },
	{ "DAPL_MAX_INLINE", "ib, iwarp", "64",
	  "OFED's name for inline=: the length up to which sends are inline, 0 to 4096. A word in "
	  "dat.conf takes precedence" },
	{ "DAPL_CM_ARP_TIMEOUT_MS", "ib, iwarp", "4000",
	  "OFED's name for resolve_ms=: milliseconds for each attempt to resolve an address. A "
	  "word in dat.conf takes precedence" },
	{ "DAPL_CM_ARP_RETRY_COUNT", "ib, iwarp", "4",
	  "OFED's name for resolve_tries=: the number of these attempts. A word in dat.conf takes "
	  "precedence" },
	{ "DAPL_CM_ROUTE_TIMEOUT_MS", "ib, iwarp", "as for an address",
	  "OFED's name for route_ms=: milliseconds for each attempt to find the route. A word in dat.conf "
	  "takes precedence" },
	{ "DAPL_CM_ROUTE_RETRY_COUNT", "ib, iwarp", "as for an address",
	  "OFED's name for route_tries=: the number of these attempts. A word in dat.conf takes precedence" },
	{ "DAPL_CM_TOS", "ib, iwarp", "the host's",
	  "OFED's name for tos=: the type of service or traffic class of packets, 0 to 255. A word in "
	  "dat.conf takes precedence" },
};

/* OFED's variables that scripts may set, and that have no effect here. */
static const struct ignored {
	const char *names;
	const char *why;
} ignored[] = {
	{ "DAPL_RNR_RETRY, DAPL_RNR_TIMER", "a message waits for its receive, as the standard "
					    "requires" },
	{ "DAPL_ACK_RETRY, DAPL_ACK_TIMER, DAPL_MAX_CM_RESPONSE_TIME, DAPL_MAX_CM_RETRIES",
	  "chosen by the kernel's connection manager for the route" },
	{ "DAPL_GLOBAL_ROUTING, DAPL_HOP_LIMIT, DAPL_TCLASS, DAPL_IB_MTU, DAPL_IB_PKEY, DAPL_IB_SL",
	  "they come with the route, which the kernel looks up" },
	{ "DAPL_LOOPBACK", "connections within a host need nothing" },
	{ "DAPL_DBG_LEVEL, DAPL_DBG_SYS_MEM", "use DAT_LOG" },
	{ "DAPL_WR_MAX", "the attributes of an endpoint say how much it holds" },
	{ "DAPL_SCM_*, DAPL_UCM_*, DAPL_MCM_*, DAPL_NETWORK_*",
	  "for providers that make connections in other ways" },
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))
#define IGNORED	  (sizeof(ignored) / sizeof(ignored[0]))

/* Prints the text of a paragraph, folded between words. */
static void paragraph(const char *text, int indent, int width)
{
	int column = 0;

	while (*text != '\0') {
		int word = (int)strcspn(text, " ");

		if (column > 0 && column + 1 + word > width) {
			putchar('\n');
			column = 0;
		}
		column += column == 0 ? printf("%*s%.*s", indent, "", word, text)
				      : printf(" %.*s", word, text);
		text += word + strspn(text + word, " ");
	}
	putchar('\n');
}

static void text_print(void)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];
		const char *value = getenv(v->name);
		char *shown = cli_text("%s", value != NULL ? value : "");

		if (value != NULL)
			printf("%s=%s\n", v->name, shown);
		else
			printf("%s  (not set: %s)\n", v->name, v->otherwise);
		paragraph(v->meaning, 4, 92);
		printf("    read by: %s\n", v->reader);
		free(shown);
	}
	puts("\nOFED's variables that have no effect here:");
	for (size_t i = 0; i < IGNORED; i++) {
		paragraph(ignored[i].names, 2, 94);
		paragraph(ignored[i].why, 6, 90);
	}
}

void datctl_env_set_print(void)
{
	bool any = false;

	for (size_t i = 0; i < VARIABLES; i++) {
		const char *value = getenv(variables[i].name);
		char *shown;

		if (value == NULL)
			continue;
		shown = cli_text("%s", value);
		printf("%s=%s\n", variables[i].name, shown);
		free(shown);
		any = true;
	}
	if (!any)
		puts("none of the variables of 'datctl env' is set");
}

static void json_print(void)
{
	json_array(NULL);
	for (size_t i = 0; i < VARIABLES; i++) {
		json_object(NULL);
		json_string("name", variables[i].name);
		json_string("value", getenv(variables[i].name));
		json_string("otherwise", variables[i].otherwise);
		json_string("meaning", variables[i].meaning);
		json_string("read_by", variables[i].reader);
		json_end();
	}
	for (size_t i = 0; i < IGNORED; i++) {
		json_object(NULL);
		json_string("ignored", ignored[i].names);
		json_string("meaning", ignored[i].why);
		json_end();
	}
	json_end();
}

int datctl_env(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;

	if (argc > 1 + json)
		return datctl_unwanted("env", argv[1 + json]);
	if (json)
		json_print();
	else
		text_print();
	return CLI_OK;
}
