/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of datctl share: one function for each command, each in its own file.
 *
 * A command gets its own arguments, its name first, and returns an enum cli_status.
 */
#ifndef TOOLS_DATCTL_H
#define TOOLS_DATCTL_H

#include <stdbool.h>

int datctl_certify(int argc, char **argv);
int datctl_check(int argc, char **argv);
int datctl_discover(int argc, char **argv);
int datctl_dump(int argc, char **argv);
int datctl_env(int argc, char **argv);
void datctl_env_set_print(void); /* those variables of `datctl env` that are set, a line each */
int datctl_explain(int argc, char **argv);
int datctl_list(int argc, char **argv);
int datctl_ping(int argc, char **argv);
int datctl_report(int argc, char **argv);
int datctl_show(int argc, char **argv);
int datctl_which(int argc, char **argv);

/*
 * Reports that a command (NULL: datctl itself) has no such option, and which option may have been
 * meant.
 */
int datctl_unknown_option(const char *command, const char *option);
/* The same for an argument of a command that takes none. */
int datctl_unwanted(const char *command, const char *argument);

/* Reads the value of --api, "1.2" or "2.0", as its major version. Returns false if it is neither. */
bool datctl_api(const char *text, unsigned int *major);
#define DATCTL_NO_API "'%s' is neither 1.2 nor 2.0"

/*
 * Updates the lines of a dat.conf that are for programs of uDAPL 1.2 or 2.0, by the major version,
 * so that they match the devices below root.
 */
int datctl_update(const char *path, const char *root, unsigned int major, bool dry);

/* The options of Solaris's datadm, in place of a command; argv begins with the option. */
bool datctl_is_datadm(const char *option);
int datctl_datadm(int argc, char **argv);

extern const char datctl_certify_help[];
extern const char datctl_check_help[];
extern const char datctl_discover_help[];
extern const char datctl_dump_help[];
extern const char datctl_env_help[];
extern const char datctl_explain_help[];
extern const char datctl_list_help[];
extern const char datctl_ping_help[];
extern const char datctl_report_help[];
extern const char datctl_show_help[];
extern const char datctl_which_help[];

#endif
