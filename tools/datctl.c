/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl: looks after the adapters of this host. This file picks the command.
 *
 * Invariant: a command is one row of the table below and one file datctl_NAME.c.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "datctl.h"

static const struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
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
	{ "report", "report         everything that somebody who is to help would ask for, as text",
	  datctl_report, datctl_report_help },
	{ "show", "show IA        every attribute of one adapter and of its provider",
	  datctl_show, datctl_show_help },
	{ "which", "which [IA]     the files of the registry, and the library of an adapter",
	  datctl_which, datctl_which_help },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int help(void)
{
	cli_help("Usage: datctl COMMAND [ARGUMENT...]\n"
		 "Look after the uDAPL adapters of this host.\n"
		 "\n"
		 "Commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %s\n", commands[i].summary);
	return cli_help("\n"
			"Options:\n"
			"  --help      print this text; after a command, the text of that command\n"
			"  --version   print the version\n"
			"\n"
			"As with Solaris's datadm:\n"
			"  -v          as list\n"
			"  -u          as discover --update, of the file that programs read\n"
			"  -a FILE     add the lines of FILE to it\n"
			"  -r FILE     remove the adapters of FILE from it\n"
			"\n"
			"Environment:\n"
			"  DAT_OVERRIDE    the dat.conf to read instead of the system's\n"
			"  DAT_CONF_PATH   a list of them, to be read as one\n"
			"  DAT_PROVIDERS   which adapters programs get to see, as ib,^iwarp\n"
			"  'datctl env' prints all variables.\n"
			"\n"
			"Exit status: 0 it worked, 1 it failed, 2 the command line is wrong.\n");
}

static int run(const struct command *command, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return cli_help(command->help);
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
		return cli_usage("unknown option '%s'", argv[1]);
	return cli_usage("unknown command '%s'", argv[1]);
}

int main(int argc, char **argv)
{
	cli_begin("datctl");
	return cli_finish(choose(argc, argv));
}
