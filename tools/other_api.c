/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the program for the other API by where this one's file is, and executes it. datconform and datperf have one each. */
#include "other_api.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *other_api_exec(const char *program, const char *api, char **argv)
{
	static const char *const places[] = { "", BIN_TO_LIB "/opendat/" };
	static char path[2 * PATH_MAX];
	char folder[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	folder[length > 0 ? length : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s%s-%s", folder, places[i], program, api);
		execv(path, argv);
	}
	return path;
}
