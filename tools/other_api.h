/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that is compiled for each API, and takes the name of the API as an option. */
#ifndef TOOLS_OTHER_API_H
#define TOOLS_OTHER_API_H

/*
 * Executes PROGRAM-API in place of this process. That file is beside this program's own in a build tree, and among the plugins
 * once it is installed. If it fails, it returns the path that it tried last, with the reason in errno.
 */
const char *other_api_exec(const char *program, const char *api, char **argv);

#endif
