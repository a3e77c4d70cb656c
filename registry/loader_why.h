/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interprets the dynamic linker's refusal of a provider library, and knows the remedy.
 *
 * Invariant: the words are read only; the file that they name is a part of them.
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
 * What `why`, the words of loader_open() about `library`, say. *file is the length of the name of
 * a file or library that the words begin with, or 0.
 */
enum loader_why loader_why(const char *library, const char *why, size_t *file);

/* Is it one of the providers that come with this library? */
bool library_is_ours(const char *library);

/* Is it one of ours, and one that promises no thread safety? What a wrapper promises the adapter
 * beneath it decides. */
bool library_is_nonthreadsafe(const char *library);

#define LOADER_WHY_PACKAGE "install OpenDAT's providers (package opendat-providers)"

#pragma GCC visibility pop
#endif
