/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared libraries by the name that dat.conf gives. */
#ifndef REGISTRY_LOADER_H
#define REGISTRY_LOADER_H

struct loader_lib;

/*
 * Load a library with all its symbols bound and globally visible. A name with a slash is used
 * unchanged; a bare name is searched for in the loader's search path first, then in the folders
 * that providers are installed in. A library that needs libdatp.so.0 gets the one that lies beside
 * libdat. Returns NULL with *why malloced (NULL when memory ran out): the loader's own words.
 */
struct loader_lib *loader_open(const char *name, char **why);
void *loader_symbol(struct loader_lib *lib, const char *symbol);
const char *loader_path(const struct loader_lib *lib);
void loader_close(struct loader_lib *lib);

/* Free what the loader itself holds. No library may be open. */
void loader_exit(void);
/* In a forked child: releases the lock that a thread of the parent may have held. */
void loader_forked(void);

#endif
