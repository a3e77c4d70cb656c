/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libdat2.so.2 of this installation, the registry of uDAPL 2.0. datctl is linked with that of 1.2, whose
 * calls have the same names; so it loads the other one when it needs it, and looks its calls up.
 *
 * Invariant: the library is the one that belongs to the libdat.so.1 of this program, wherever the
 * tree has been moved to, and never another project's. It stays loaded.
 */
#ifndef TOOLS_DAT20_H
#define TOOLS_DAT20_H

#include <stdbool.h>

/*
 * Loads the library. Returns false with *why malloced if it cannot be loaded. A provider for uDAPL 2.0 that is loaded
 * afterwards finds it by its name, libdat2.so.2. One thread at a time.
 */
bool dat20_load(char **why);

/* Returns the path of the loaded library, which is not malloced, or "" before it is loaded. */
const char *dat20_path(void);

/* Returns the address of a call. dat20_load() has returned true. */
void *dat20_symbol(const char *name);

/*
 * Returns true if the registry has lines for uDAPL 2.0 with this name, and no other lines with it.
 */
bool dat20_only(const char *name);

#define DAT20_PACKAGE "install OpenDAT's library for uDAPL 2.0 (package libdat2-2-opendat)"

#endif
