/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the list of the DAT_ variables that OpenDAT reads, and recognises a mistyped one. */
#include "conf.h"
#include "log/near.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "DAT_"

/* Every variable that a library of this project reads and whose name begins with DAT_. */
static const char *const variables[] = {
	"DAT_ALLOW", "DAT_CONF_PATH", "DAT_DBG_DEST",	 "DAT_DBG_TYPE",
	"DAT_LOG",   "DAT_OVERRIDE",  "DAT_PROVIDERS", "DAT_SOFT_REALM",
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/*
 * Returns the variable that `name` is probably meant to be, or NULL if `name` is one of them or
 * resembles none. Only the part after the prefix is compared, because the prefix would make any two
 * names similar.
 */
static const char *variable_meant(const char *name)
{
	const char *typed = name + strlen(PREFIX), *meant = NULL;
	unsigned int distance = near_begin(typed);

	for (size_t i = 0; i < VARIABLES; i++) {
		if (!strcmp(name, variables[i]))
			return NULL;
		if (near_closer(typed, variables[i] + strlen(PREFIX), &distance))
			meant = variables[i];
	}
	return meant;
}

const char *conf_variable_mistyped(unsigned int *at, char *name, size_t size)
{
	/* A set-uid program ignores all these variables, so none is checked. */
	if (!environ || getauxval(AT_SECURE))
		return NULL;
	while (environ[*at]) {
		const char *entry = environ[(*at)++];
		size_t length = strcspn(entry, "=");
		const char *meant;

		if (strncmp(entry, PREFIX, strlen(PREFIX)) || length >= size)
			continue;
		memcpy(name, entry, length);
		name[length] = '\0';
		meant = variable_meant(name);
		if (meant)
			return meant;
	}
	return NULL;
}
