/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out why the dynamic linker refuses a provider library; see loader_why.h. */
#include "loader_why.h"

#include <string.h>

static const char cannot_open[] = ": cannot open shared object file: ";

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

/* glibc says "FILE: undefined symbol: NAME" or "LIBRARY: version `NAME' not found (required ...)". */
static bool says_misfit(const char *why)
{
	return strstr(why, ": undefined symbol: ") || strstr(why, ": symbol lookup error: ") ||
	       (strstr(why, ": version `") && strstr(why, "not found"));
}

enum loader_why loader_why(const char *library, const char *why, size_t *file)
{
	const char *where = strstr(why, cannot_open);
	const char *words;

	*file = 0;
	if (!where)
		return says_misfit(why) ? LOADER_WHY_MISFIT : LOADER_WHY_BROKEN;
	words = where + strlen(cannot_open);
	*file = (size_t)(where - why);
	if (begins_with(words, "Permission denied"))
		return LOADER_WHY_DENIED;
	if (!begins_with(words, "No such file"))
		return LOADER_WHY_BROKEN;
	return strlen(library) == *file && !strncmp(why, library, *file) ? LOADER_WHY_MISSING :
									    LOADER_WHY_NEEDS;
}

static bool is_one_of(const char *library, const char *const *names)
{
	const char *slash = strrchr(library, '/');
	const char *base = slash ? slash + 1 : library;

	while (*names && strcmp(base, *names) != 0)
		names++;
	return *names;
}

bool library_is_ours(const char *library)
{
	static const char *const wrappers[] = { "libdat-trace.so", "libdat-fault.so", NULL };

	return library_is_nonthreadsafe(library) || is_one_of(library, wrappers);
}

bool library_is_nonthreadsafe(const char *library)
{
	static const char *const names[] = { "libdatsoft.so", "libdatib.so", "libdatiwarp.so",
					     "libdaplcma.so.1", NULL };

	return is_one_of(library, names);
}
