/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl: manages the adapters of this host. This file selects the command.
 *
 * Invariant: a command is one row of the table below and one file datctl_NAME.c.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datctl.h"
#include "log/near.h"
#include "registry/conf.h"

static const struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "certify", "certify IA     what works on an adapter, in one file that can be sent",
	  datctl_certify, datctl_certify_help },
	{ "check", "check          why adapters cannot be used, and what to do about it",
	  datctl_check, datctl_check_help },
	{ "discover", "discover       lines of dat.conf for the adapters that this host has",
	  datctl_discover, datctl_discover_help },
	{ "dump", "dump FILE      what a provider plugin is made of",
	  datctl_dump, datctl_dump_help },
	{ "env", "env            the environment variables that are read",
	  datctl_env, datctl_env_help },
	{ "explain", "explain CODE   what a return value, event or status means, and what to do",
	  datctl_explain, datctl_explain_help },
	{ "list", "list           the adapters (IAs) that programs of this host can open",
	  datctl_list, datctl_list_help },
	{ "ping", "ping IA        two processes talk over an adapter, each byte verified",
	  datctl_ping, datctl_ping_help },
	{ "report", "report         what is needed to investigate a problem, as text",
	  datctl_report, datctl_report_help },
	{ "show", "show IA        every attribute of one adapter and of its provider",
	  datctl_show, datctl_show_help },
	{ "which", "which [IA]     the files of the registry, and the library of an adapter",
	  datctl_which, datctl_which_help },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Returns the help text with the options of a command; NULL means datctl itself. */
static const char *help_of(const char *command)
{
	for (size_t i = 0; command != NULL && i < COMMANDS; i++)
		if (strcmp(command, commands[i].name) == 0)
			return commands[i].help;
	return "--help --version";
}

/* Returns true if `typed` is the beginning of the word, and long enough. */
static bool begins_with(const char *word, const char *typed, size_t enough)
{
	size_t length = strlen(typed);

	return length >= enough && strncmp(word, typed, length) == 0;
}

/*
 * Returns the option in a help text that begins with the mistyped one, or is nearest to it;
 * malloced.
 */
static char *option_nearest(const char *typed, const char *text)
{
	unsigned int distance = near_begin(typed);
	char *nearest = near_closer(typed, "--help", &distance) ? cli_strdup("--help") : NULL;
	bool begins = false;

	while (!begins && (text = strstr(text, "--")) != NULL) {
		size_t length = 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");
		char *word = cli_text("%.*s", (int)length, text);

		text += length;
		begins = begins_with(word, typed, 4);
		if (begins || near_closer(typed, word, &distance)) {
			free(nearest);
			nearest = word;
		} else {
			free(word);
		}
	}
	return nearest;
}

int datctl_unknown_option(const char *command, const char *option)
{
	size_t length = strcspn(option, "=");
	char *typed = cli_text("%.*s", (int)length, option);
	char *nearest = option_nearest(typed, help_of(command));
	const char *colon = command != NULL ? ": " : "";
	int status;

	command = command != NULL ? command : "";
	if (nearest != NULL && option[length] == '=')
		status = cli_usage("%s%sunknown option '%s'; did you mean '%s %s'?", command, colon,
				   option, nearest, option + length + 1);
	else if (nearest != NULL)
		status = cli_usage("%s%sunknown option '%s'; did you mean '%s'?", command, colon,
				   option, nearest);
	else
		status = cli_usage("%s%sunknown option '%s'", command, colon, option);
	free(nearest);
	free(typed);
	return status;
}

int datctl_unwanted(const char *command, const char *argument)
{
	if (argument[0] == '-')
		return datctl_unknown_option(command, argument);
	return cli_usage("%s: takes no argument, but '%s' is given", command, argument);
}

bool datctl_api(const char *text, unsigned int *major)
{
	if (strcmp(text, "1.2") != 0 && strcmp(text, "2.0") != 0)
		return false;
	*major = (unsigned int)(text[0] - '0');
	return true;
}

static int unknown_command(const char *typed)
{
	unsigned int distance = near_begin(typed);
	const char *nearest = NULL;

	for (size_t i = 0; i < COMMANDS; i++)
		if (begins_with(commands[i].name, typed, 2))
			return cli_usage("unknown command '%s'; did you mean '%s'?", typed,
					 commands[i].name);
	for (size_t i = 0; i < COMMANDS; i++)
		if (near_closer(typed, commands[i].name, &distance))
			nearest = commands[i].name;
	if (nearest != NULL)
		return cli_usage("unknown command '%s'; did you mean '%s'?", typed, nearest);
	return cli_usage("unknown command '%s'", typed);
}

static int help(void)
{
	cli_help("Usage: datctl COMMAND [ARGUMENT...]\n"
		 "Manage the uDAPL adapters of this host.\n"
		 "\n"
		 "Commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %s\n", commands[i].summary);
	return cli_help("\n"
			"Options:\n"
			"  --help      print this text; after a command, the help for that command\n"
			"  --version   print the version\n"
			"\n"
			"As with Solaris's datadm:\n"
			"  -v          the same as list\n"
			"  -u          the same as discover --update, for the file that programs read\n"
			"  -a FILE     add the lines of FILE to that file\n"
			"  -r FILE     remove the adapters of FILE from that file\n"
			"\n"
			"Environment:\n"
			"  DAT_OVERRIDE    the dat.conf to read instead of the system's\n"
			"  DAT_CONF_PATH   a list of such files, which are read as one\n"
			"  DAT_PROVIDERS   the adapters that programs can see, such as ib,^iwarp\n"
			"  'datctl env' prints all variables.\n"
			"\n"
			"The page dat.conf(5) has the format of the file. Where 'man dat.conf' shows that of\n"
			"uDAPL 2.0 (dapl2-utils), ours is 'man 5dat dat.conf', or that of the folder\n"
			"share/man beside this program: man -M FOLDER dat.conf\n"
			"\n"
			"Exit status: 0 the command succeeded, 1 it failed, 2 the command line is wrong.\n");
}

/*
 * Moves --json before the arguments: it may be written after them too, but commands look for it
 * before them.
 */
static void json_first(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *json = argv[i];

		if (i == 1 || strcmp(json, "--json") != 0)
			continue;
		memmove(argv + 2, argv + 1, (size_t)(i - 1) * sizeof(*argv));
		argv[1] = json;
	}
}

static int run(const struct command *command, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return cli_help(command->help);
	json_first(argc, argv);
	cli_subcommand(command->name);
	return command->run(argc, argv);
}

static int choose(int argc, char **argv)
{
	if (argc < 2)
		return cli_usage("a command is missing");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return cli_version();
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	if (datctl_is_datadm(argv[1]))
		return datctl_datadm(argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return datctl_unknown_option(NULL, argv[1]);
	return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	cli_begin("datctl");
	return cli_finish(choose(argc, argv));
}
