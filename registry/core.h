/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the registry's core and its fronts know of each other. The core reads dat.conf, keeps the
 * catalogue, loads plugins and has the table of IA handles; a front is an API by which programs
 * reach it: that of DAT 1.2 in libdat.so.1, and that of DAT 2.0 in libdat2.so.2. The core is in
 * libdat.so.1, which exports the functions declared here for libdat2.so.2, at a version of their
 * own: they are no interface for programs or plugins.
 *
 * This file needs nothing of DAT that differs between 1.2 and 2.0.
 */
#ifndef REGISTRY_CORE_H
#define REGISTRY_CORE_H

#include <dat/dat_common.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define REG_LIKELY(x)	__builtin_expect(!!(x), 1)
#define REG_UNLIKELY(x)	__builtin_expect(!!(x), 0)
#define REG_COLD	__attribute__((noinline, cold))
/* For functions that read through a pointer that may be misaligned: the sanitizers accept that. */
#define REG_MISALIGNED	__attribute__((no_sanitize("alignment")))

/* A full return code from its parts. */
#define REG_ERROR(type, subtype)	((DAT_RETURN)(DAT_CLASS_ERROR | (type) | (subtype)))

/*
 * Values below this are never addresses, because the kernel maps nothing there: they are IA
 * handles, or invalid.
 */
#define REG_POINTER_MIN	((uintptr_t)65536)

/*
 * A front. Each open request and each record of a provider name theirs; the core does not know the
 * layout of a provider's table.
 */
struct reg_front {
	unsigned int major;		/* of the API */
	/*
	 * The subtypes that the core returns and that have other values in another API: that for
	 * the first argument of a call and that for an unknown name. Those for the arguments that
	 * follow, and for an unknown major version, minor version and thread safety, come after
	 * them in each API.
	 */
	DAT_RETURN first_argument;
	DAT_RETURN name_not_registered;
	/*
	 * Counts one more or one less user of a table, with which objects of live providers begin.
	 * table_add_locked() returns 0 or -ENOMEM. reg.lock is held.
	 */
	int (*table_add_locked)(const void *table);
	void (*table_remove_locked)(const void *table);
	/*
	 * Called when an IA has been opened whose objects begin with this table. reg.lock is held.
	 */
	void (*table_prefer_locked)(const void *table);
	void (*tables_free_locked)(void);
	/*
	 * Returns the table's function that opens an IA, whose type only the front knows; or NULL.
	 */
	void (*(*opener_of)(const void *table))(void);
	/* Converts an error to the names of its parts. */
	DAT_RETURN (*names)(DAT_RETURN value, const char **type, const char **subtype);
	/*
	 * Called when an IA has been closed: facts that were cached about its objects are no longer
	 * valid.
	 */
	void (*ia_gone)(void);
};

/*
 * The calls into a provider that open and close an IA. The front's struct begins with this one, and
 * has the arguments after it. An IA is closed by the same `close` as it was opened with. No lock is
 * held.
 */
struct reg_opening {
	DAT_RETURN (*open)(struct reg_opening *how, const void *table, void (*opener)(void),
			   const char *name, DAT_IA_HANDLE *object);
	DAT_RETURN (*close)(struct reg_opening *how, const void *table, DAT_IA_HANDLE object);
};

/* What a consumer asks for when it opens an IA. */
struct reg_open_request {
	const struct reg_front *front;
	struct reg_opening *how;
	const char *name;
	unsigned int major;
	unsigned int minor;
	bool thread_safe;
};

#pragma GCC visibility push(default)

/*
 * Called when a front's library has been loaded, and when it is about to be unloaded. When the last
 * front is removed, the registry frees all that it holds, unless something is still in use.
 */
void datreg_front_add(const struct reg_front *front);
void datreg_front_remove(const struct reg_front *front);

/*
 * The calls that plugins and programs make upon the dynamic registry, made through the front. A
 * provider belongs to the front of the major version that its info says, whichever front it came
 * through: a plugin that is not linked to either library finds the function of one of them.
 */
DAT_RETURN datreg_provider_add(const struct reg_front *front, const void *table,
			       const DAT_PROVIDER_INFO *info);
DAT_RETURN datreg_provider_remove(const struct reg_front *front, const void *table,
				  const DAT_PROVIDER_INFO *info);
DAT_RETURN datreg_provider_list(const struct reg_front *front, DAT_COUNT max, DAT_COUNT *returned,
				DAT_PROVIDER_INFO *list[]);

/* Opens and closes an IA. The handle is one that programs know: a small integer. */
DAT_RETURN datreg_ia_open(const struct reg_open_request *rq, DAT_IA_HANDLE *ia_handle);
DAT_RETURN datreg_ia_close(const struct reg_front *front, struct reg_opening *how,
			   DAT_IA_HANDLE ia_handle);

/* Returns the provider's object behind an IA handle of any front, or NULL. */
DAT_IA_HANDLE datreg_ia_object(DAT_IA_HANDLE handle);
/*
 * Returns a handle as the consumer knows it: the integer for an IA's object, any other handle
 * unchanged.
 */
DAT_HANDLE datreg_handle_shown(DAT_HANDLE handle);
/*
 * Returns `why`, and logs at level debug that a call has not been passed on: to an object that is
 * none of a live provider, or that a provider has no function for. `function` is the call's name, to
 * which "_unusual" may be appended.
 */
REG_COLD DAT_RETURN datreg_refused(const char *function, DAT_HANDLE handle, DAT_RETURN why);
/* Implements dats_get_ia_handle() of both libraries. */
DAT_RETURN datreg_ia_translate(const struct reg_front *front, unsigned long handle,
			       DAT_IA_HANDLE *ia_handle);

#pragma GCC visibility pop

/* NULL handles, small integers and misaligned values do not point to an object. */
static inline bool reg_handle_is_pointer(DAT_HANDLE handle)
{
	return REG_LIKELY((uintptr_t)handle >= REG_POINTER_MIN &&
			  !((uintptr_t)handle & (sizeof(void *) - 1)));
}

#endif
