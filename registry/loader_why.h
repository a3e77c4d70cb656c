/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interprets the dynamic linker's refusal of a provider library, and knows the remedy.
 *
 * Invariant: only the linker's words are examined, and no file is opened; the name of the file is a
 * part of the words.
 */
#ifndef REGISTRY_LOADER_WHY_H
#define REGISTRY_LOADER_WHY_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

enum loader_why {
	LOADER_WHY_MISSING,	/* the library itself was not found */
	LOADER_WHY_NEEDS,	/* another library, which it needs, was not found */
	LOADER_WHY_DENIED,	/* the file is not readable */
	LOADER_WHY_MISFIT,	/* a symbol, or a version of a symbol, is missing */
	LOADER_WHY_BROKEN,	/* anything else: truncated, or made for another machine */
};

/*
 * Returns what `why`, the words of loader_open() about `library`, mean. *file becomes the length of
 * the name of a file or library with which the words begin, or 0.
 */
enum loader_why loader_why(const char *library, const char *why, size_t *file);

/* Returns true for a provider that comes with this library. */
bool library_is_ours(const char *library);

/*
 * Returns true for a provider that comes with this library and does not promise thread safety. It
 * returns false for a wrapper, which promises what the adapter beneath it does.
 */
bool library_is_nonthreadsafe(const char *library);

#define LOADER_WHY_PACKAGE "install OpenDAT's providers (package opendat-providers)"

#pragma GCC visibility pop
#endif
