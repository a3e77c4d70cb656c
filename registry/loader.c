/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loading provider libraries, through libltdl.
 *
 * Existing plugins were linked without -ldat and find dat_registry_add_provider only in the global
 * scope. So libdat puts itself there before it loads a plugin, however libdat was loaded itself.
 *
 * Invariant: a library is either loaded with every symbol bound or not loaded.
 *
 * libltdl is used only to hold the reference to a library that is loaded, and to find symbols in
 * it. The rest of what it offers is not used, for these reasons. It would bind lazily, so that a
 * plugin that lacks a symbol would end the program at some later call: dlopen is called first, with
 * RTLD_NOW. It reports every error as "file not found", but the message about a refused plugin, and
 * the decision whether the search goes on, depend on the words of the dynamic linker. Its search
 * path goes on to the next folder where a library was found and is broken, can be prepended to by a
 * variable, and follows .la files, which may be stale. Preloaded modules are for programs without a
 * dynamic linker; dat.conf names files, plugins find dat_registry_add_provider by that linker, and
 * so there is no libdat for such programs.
 *
 * libltdl is not thread-safe, so loader_lock is held around each of its calls. The lock is
 * recursive, because the constructor of a library may call this code again. dlopen holds a
 * recursive lock of its own around constructors, so loader_lock adds no way to deadlock: it is
 * taken only where the dynamic linker's lock is taken as well.
 */
#include "loader.h"
#include "loader_why.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <ltdl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct loader_lib {
	lt_dlhandle handle;
	char *path;
};

static pthread_mutex_t loader_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool loader_ready;		/* loader_lock: lt_dlinit has been called */

/*
 * Returns an address within libdat. The tools compile this file too, and search where libdat would.
 */
static void *self_address(void)
{
#ifdef LOADER_OUTSIDE
	return dlsym(RTLD_DEFAULT, "dat_strerror");
#else
	return (void *)(uintptr_t)loader_exit;
#endif
}

/* Returns the link map of libdat, or NULL. */
static struct link_map *self_map(void)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(self_address(), &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	return map;
}

/*
 * Put libdat into the global scope. The promotion outlives the handle: it ends when libdat is
 * unloaded, and that cannot be before the plugins that are bound to it.
 */
static void self_promote(void)
{
	struct link_map *map = self_map();
	void *self;

	if (!map || !map->l_name || !*map->l_name)
		return;		/* linked into the program itself */
	self = dlopen(map->l_name, RTLD_NOLOAD | RTLD_NOW | RTLD_GLOBAL);
	if (self)
		dlclose(self);
}

/* Returns the folder that libdat was loaded from, malloced, or NULL. */
static char *self_dir(void)
{
	struct link_map *map = self_map();
	char *path, *slash;

	if (!map || !map->l_name || !*map->l_name)
		return NULL;
	path = realpath(map->l_name, NULL);
	if (!path)
		return NULL;
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return path;
}

/*
 * Load the libdatp that lies beside libdat, so that a plugin that needs one gets this one, wherever
 * the tree was installed or moved to: the dynamic linker looks for the name libdatp.so.0 among the
 * loaded libraries before it searches its folders, and a plugin has no path to a tree that it is not
 * a part of. If a libdatp is loaded already, it stays the only one. A failure is ignored here: a
 * plugin that needs libdatp, and finds none elsewhere either, fails by itself with a message.
 * libdatp is never unloaded (-z nodelete), so the reference is released at once.
 */
static void sibling_load(void)
{
	static const char sibling[] = "libdatp.so.0";
	void *dl = dlopen(sibling, RTLD_NOLOAD | RTLD_NOW);
	char path[PATH_MAX];
	char *dir = NULL;

	if (!dl) {
		dir = self_dir();
		if (dir && snprintf(path, sizeof(path), "%s/%s", dir, sibling) < (int)sizeof(path))
			dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (dl)
		dlclose(dl);
	free(dir);
}

static void *bind_now(const char *name, char **why)
{
	void *dl = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	const char *words;

	if (!dl && !*why) {
		words = dlerror();
		*why = strdup(words ? words : "the loader gave no reason");
	}
	return dl;
}

/*
 * Returns true if `why` says that the library itself was not found, rather than one that it needs.
 */
static bool says_missing(const char *why, const char *name)
{
	size_t file;

	return why && loader_why(name, why, &file) == LOADER_WHY_MISSING;
}

/* Returns whether two paths are the same directory, even under two names. */
static bool is_same_dir(const char *a, const char *b)
{
	struct stat sa, sb;

	return !strcmp(a, b) || (!stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev &&
				 sa.st_ino == sb.st_ino);
}

/*
 * Looks for a bare name in the folders of providers: beside libdat first, so that a tree that was
 * staged or moved uses its own providers and not those of another installation.
 */
static void *bind_installed(const char *name, char **why)
{
	char *self = self_dir();
	char dirs[3][PATH_MAX];
	char path[PATH_MAX];
	struct stat st;
	void *dl = NULL;
	char *where;
	bool also;
	int i;

	snprintf(dirs[0], sizeof(dirs[0]), "%s/opendat", self ? self : "");
	snprintf(dirs[1], sizeof(dirs[1]), "%s", PLUGINDIR);
	snprintf(dirs[2], sizeof(dirs[2]), "%s/../lib/opendat", self ? self : "");
	for (i = 0; i < 3 && !dl; i++) {
		if (!self && i != 1)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dirs[i], name) >= (int)sizeof(path))
			continue;
		if (stat(path, &st))
			continue;
		free(*why);
		*why = NULL;
		dl = bind_now(path, why);
		if (!dl)
			/* the file exists and is broken, which is the reason to report */
			goto done;
	}
	also = self && !is_same_dir(dirs[0], dirs[1]);
	if (!dl && *why && asprintf(&where, "%s; nor is it in %s%s%s", *why,
				    also ? dirs[0] : dirs[1], also ? " or " : "",
				    also ? dirs[1] : "") >= 0) {
		free(*why);
		*why = where;
	}
done:
	free(self);
	return dl;
}

static lt_dlhandle ltdl_open(const char *path)
{
	lt_dlhandle handle = NULL;
	lt_dladvise advise;

	if (!loader_ready && lt_dlinit())
		return NULL;
	loader_ready = true;
	if (lt_dladvise_init(&advise))
		return NULL;
	if (!lt_dladvise_global(&advise))
		handle = lt_dlopenadvise(path, advise);
	lt_dladvise_destroy(&advise);
	return handle;
}

/*
 * Returns the path of the library behind dl, malloced. Its link map does not change while it is
 * loaded, and was made under a lock of the dynamic linker that the thread sanitizer does not know.
 * That is the reason for the attribute, and for a copy without memcpy().
 */
__attribute__((no_sanitize("thread")))
static char *lib_path(void *dl, const char *name)
{
	const volatile char *found = name;	/* volatile, so that the compiler does not call memcpy */
	struct link_map *map = NULL;
	size_t len = 0, i;
	char *path;

	if (!dlinfo(dl, RTLD_DI_LINKMAP, &map) && map->l_name && *map->l_name)
		found = map->l_name;
	while (found[len])
		len++;
	path = malloc(len + 1);
	for (i = 0; path && i <= len; i++)
		path[i] = found[i];
	return path;
}

/* Passes the loaded library dl to libltdl. */
static struct loader_lib *lib_new(void *dl, const char *name, char **why)
{
	struct loader_lib *lib = calloc(1, sizeof(*lib));
	const char *words;

	if (!lib)
		return NULL;
	lib->path = lib_path(dl, name);
	if (!lib->path)
		goto free_lib;
	pthread_mutex_lock(&loader_lock);
	lib->handle = ltdl_open(lib->path);
	if (!lib->handle) {
		words = lt_dlerror();
		*why = strdup(words ? words : "libltdl gave no reason");
	}
	pthread_mutex_unlock(&loader_lock);
	if (!lib->handle)
		goto free_path;
	return lib;

free_path:
	free(lib->path);
free_lib:
	free(lib);
	return NULL;
}

struct loader_lib *loader_open(const char *name, char **why)
{
	struct loader_lib *lib;
	void *dl;

	*why = NULL;
	self_promote();
	sibling_load();
	dl = bind_now(name, why);
	if (!dl && !strchr(name, '/') && says_missing(*why, name))
		dl = bind_installed(name, why);
	if (!dl)
		return NULL;
	free(*why);
	*why = NULL;
	lib = lib_new(dl, name, why);
	dlclose(dl);
	return lib;
}

void *loader_symbol(struct loader_lib *lib, const char *symbol)
{
	void *address;

	pthread_mutex_lock(&loader_lock);
	address = lt_dlsym(lib->handle, symbol);
	pthread_mutex_unlock(&loader_lock);
	return address;
}

const char *loader_path(const struct loader_lib *lib)
{
	return lib->path;
}

void loader_close(struct loader_lib *lib)
{
	pthread_mutex_lock(&loader_lock);
	lt_dlclose(lib->handle);
	pthread_mutex_unlock(&loader_lock);
	free(lib->path);
	free(lib);
}

void loader_exit(void)
{
	pthread_mutex_lock(&loader_lock);
	if (loader_ready)
		lt_dlexit();
	loader_ready = false;
	pthread_mutex_unlock(&loader_lock);
}

void loader_forked(void)
{
	static const pthread_mutex_t anew = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	loader_lock = anew;
}
