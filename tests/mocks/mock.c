/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider without a transport. Macros choose what is wrong or unusual about a build of it:
 *
 *	MOCK_NO_INIT		has no dat_provider_init
 *	MOCK_NO_FINI		has no dat_provider_fini
 *	MOCK_NOTHING		registers nothing
 *	MOCK_OTHER_NAME		registers "other" instead of what it was asked for
 *	MOCK_TWO_NAMES		registers the requested name, and the same with "-twin" appended
 *	MOCK_REENTER		opens the same adapter, and lists all adapters, within dat_provider_init
 *	MOCK_FLIP_SAFETY	registers the opposite of the thread safety in dat.conf
 *	MOCK_HIGHER_MINOR	registers a minor version one higher than in dat.conf
 *	MOCK_FOREIGN_MAJOR	registers as a DAT 2.0 provider
 *	MOCK_LEGACY11		registers as a DAT 1.1 provider
 *	MOCK_NO_REMOVE		does not remove its registration in dat_provider_fini
 *	MOCK_OPEN_FAILS		cannot open an IA, and leaves junk in the OUT parameters
 *	MOCK_OPEN_NOTHING	returns DAT_SUCCESS from an open, and no IA
 *	MOCK_NULL_SLOTS		has no calls except open and close
 *	MOCK_ONLY_DEQUEUE	of the data path it has dat_evd_dequeue, and no other call
 *	MOCK_OWN_VTABLE		its objects begin with another vtable than the one it registered
 *	MOCK_UNDEFINED		needs a symbol that no library has
 *	MOCK_CONSTRUCTOR	registers "constructed" when it is loaded, and nothing in init
 *
 * Invariant: like existing plugins, it is not linked with libdat.
 */
#include "mock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

/* A macro that a build does not define is 0. */
#ifndef MOCK_NO_INIT
#define MOCK_NO_INIT 0
#endif
#ifndef MOCK_NO_FINI
#define MOCK_NO_FINI 0
#endif
#ifndef MOCK_NOTHING
#define MOCK_NOTHING 0
#endif
#ifndef MOCK_OTHER_NAME
#define MOCK_OTHER_NAME 0
#endif
#ifndef MOCK_TWO_NAMES
#define MOCK_TWO_NAMES 0
#endif
#ifndef MOCK_REENTER
#define MOCK_REENTER 0
#endif
#ifndef MOCK_FLIP_SAFETY
#define MOCK_FLIP_SAFETY 0
#endif
#ifndef MOCK_HIGHER_MINOR
#define MOCK_HIGHER_MINOR 0
#endif
#ifndef MOCK_FOREIGN_MAJOR
#define MOCK_FOREIGN_MAJOR 0
#endif
#ifndef MOCK_LEGACY11
#define MOCK_LEGACY11 0
#endif
#ifndef MOCK_NO_REMOVE
#define MOCK_NO_REMOVE 0
#endif
#ifndef MOCK_OPEN_FAILS
#define MOCK_OPEN_FAILS 0
#endif
#ifndef MOCK_OPEN_NOTHING
#define MOCK_OPEN_NOTHING 0
#endif
#ifndef MOCK_NULL_SLOTS
#define MOCK_NULL_SLOTS 0
#endif
#ifndef MOCK_ONLY_DEQUEUE
#define MOCK_ONLY_DEQUEUE 0
#endif
#ifndef MOCK_OWN_VTABLE
#define MOCK_OWN_VTABLE 0
#endif
#ifndef MOCK_UNDEFINED
#define MOCK_UNDEFINED 0
#endif
#ifndef MOCK_CONSTRUCTOR
#define MOCK_CONSTRUCTOR 0
#endif

/* A build without dat_provider_init or dat_provider_fini has that function under a name which the registry does not look for. */
#if MOCK_NO_INIT
#define dat_provider_init mock_init_in_disguise
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
#endif
#if MOCK_NO_FINI
#define dat_provider_fini mock_fini_in_disguise
void dat_provider_fini(const DAT_PROVIDER_INFO *info);
#endif

static DAT_RETURN mock_note(int slot, const uint64_t *words, unsigned int n)
{
	if (!&mock)
		return DAT_SUCCESS;
	pthread_mutex_lock(&mock.lock);
	mock.slot = slot;
	mock.nwords = n;
	memcpy(mock.words, words, n * sizeof(*words));
	pthread_mutex_unlock(&mock.lock);
	return mock.answer;
}

#include "mock_slots.h"

static DAT_RETURN mock_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
				DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
				DAT_PROVIDER_ATTR *provider_attr)
{
	NOTE(3, WORD(ia), WORD(evd), WORD(ia_mask), WORD(ia_attr), WORD(provider_mask),
	     WORD(provider_attr));
}

static DAT_RETURN mock_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			       DAT_IA_HANDLE *ia);

/* Closes the IA. A graceful close fails while the test has set an answer. */
static DAT_RETURN mock_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	struct mock_object *o = ia;

	if (flags == DAT_CLOSE_GRACEFUL_FLAG && &mock && mock.answer)
		return mock.answer;
	if (&mock && mock.close_hook)
		mock.close_hook();
	o->vtable = NULL;
	free(o);
	if (&mock)
		mock.closes++;
	return DAT_SUCCESS;
}

/* A table with all slots, so that no build has static functions which it does not use, and of which compilers warn. */
__attribute__((unused))
static const DAT_PROVIDER all_slots = {
	.device_name = "mock",
	.ia_open_func = mock_ia_open,
	.ia_query_func = mock_ia_query,
	.ia_close_func = mock_ia_close,
	MOCK_SLOTS
};

static DAT_PROVIDER provider = {
	.device_name = "mock",
	.ia_open_func = mock_ia_open,
	.ia_close_func = mock_ia_close,
#if MOCK_ONLY_DEQUEUE
	.evd_dequeue_func = mock_evd_dequeue,
#elif !MOCK_NULL_SLOTS
	.ia_query_func = mock_ia_query,
	MOCK_SLOTS
#endif
};

static DAT_PROVIDER own_vtable;

static DAT_RETURN mock_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			       DAT_IA_HANDLE *ia)
{
	struct mock_object *o;

	(void)name;
	(void)qlen;
	if (MOCK_OPEN_FAILS) {
		*evd = (DAT_EVD_HANDLE)(uintptr_t)0xbad0;
		*ia = (DAT_IA_HANDLE)(uintptr_t)0xbad8;
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE;
	}
	if (MOCK_OPEN_NOTHING) {
		*ia = NULL;
		return DAT_SUCCESS;
	}
	o = calloc(1, sizeof(*o));
	if (!o)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	if (MOCK_OWN_VTABLE)
		own_vtable = provider;
	o->vtable = MOCK_OWN_VTABLE ? &own_vtable : &provider;
	o->async_evd = *evd ? *evd : o;
	*evd = o->async_evd;
	*ia = o;
	if (&mock) {
		mock.opens++;
		pthread_mutex_lock(&mock.lock);
		mock.object = o;
		mock.vtable = o->vtable;
		pthread_mutex_unlock(&mock.lock);
	}
	return DAT_SUCCESS;
}

static void note_return(DAT_RETURN *where, DAT_RETURN rc)
{
	if (!&mock)
		return;
	pthread_mutex_lock(&mock.lock);
	*where = rc;
	pthread_mutex_unlock(&mock.lock);
}

static void provider_add(const DAT_PROVIDER_INFO *info, const char *suffix)
{
	DAT_PROVIDER_INFO mine = *info;
	DAT_RETURN rc;

	strncat(mine.ia_name, suffix, sizeof(mine.ia_name) - strlen(mine.ia_name) - 1);
	if (MOCK_OTHER_NAME)
		strcpy(mine.ia_name, "other");
	if (MOCK_FLIP_SAFETY)
		mine.is_thread_safe = mine.is_thread_safe ? DAT_FALSE : DAT_TRUE;
	if (MOCK_HIGHER_MINOR)
		mine.dapl_version_minor++;
	if (MOCK_FOREIGN_MAJOR) {
		mine.dapl_version_major = 2;
		mine.dapl_version_minor = 0;
	}
	if (MOCK_LEGACY11)
		mine.dapl_version_minor = 1;
	rc = dat_registry_add_provider(&provider, &mine);
	note_return(&mock.add, rc);
	/* Overwrites the info, because the registry has to have made a copy. */
	memset(&mine, 0x5a, sizeof(mine));
}

static void provider_remove(const DAT_PROVIDER_INFO *info, const char *suffix)
{
	DAT_PROVIDER_INFO mine = *info;
	DAT_RETURN rc;

	strncat(mine.ia_name, suffix, sizeof(mine.ia_name) - strlen(mine.ia_name) - 1);
	rc = dat_registry_remove_provider(&provider, &mine);
	note_return(&mock.remove, rc);
}

#if MOCK_UNDEFINED
extern int nobody_defines_this(void);
#endif

#if MOCK_CONSTRUCTOR
__attribute__((constructor))
static void constructed(void)
{
	static const DAT_PROVIDER_INFO info = {
		.ia_name = "constructed",
		.dapl_version_major = 1,
		.dapl_version_minor = 2,
		.is_thread_safe = DAT_FALSE,
	};

	provider_add(&info, "");
}
#endif

static void reenter(const DAT_PROVIDER_INFO *info)
{
	DAT_PROVIDER_INFO entry;
	DAT_PROVIDER_INFO *list = &entry;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN opened;
	DAT_COUNT n;

	opened = dat_ia_openv((const DAT_NAME_PTR)info->ia_name, 8, &evd, &ia, 1, 2, DAT_FALSE);
	if (&mock) {
		mock.init_open = opened;
		mock.init_list = dat_registry_list_providers(1, &n, &list);
	}
}

static void init_note(const DAT_PROVIDER_INFO *info, const char *params)
{
	void (*hook)(const char *);

	if (!&mock)
		return;
	if (mock.running++)
		mock.overlaps++;
	mock.inits++;
	pthread_mutex_lock(&mock.lock);
	snprintf(mock.params, sizeof(mock.params), "%s", params);
	snprintf(mock.name, sizeof(mock.name), "%s", info->ia_name);
	pthread_mutex_unlock(&mock.lock);
	hook = mock.init_hook;
	if (hook)
		hook(info->ia_name);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	init_note(info, params);
#if MOCK_UNDEFINED
	nobody_defines_this();
#endif
	if (MOCK_REENTER)
		reenter(info);
	if (!MOCK_NOTHING && !MOCK_CONSTRUCTOR)
		provider_add(info, "");
	if (MOCK_TWO_NAMES)
		provider_add(info, "-twin");
	if (&mock)
		mock.running--;
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	if (&mock) {
		if (mock.running++)
			mock.overlaps++;
		mock.finis++;
	}
	if (!MOCK_NO_REMOVE)
		provider_remove(info, "");
	if (MOCK_TWO_NAMES)
		provider_remove(info, "-twin");
	if (&mock)
		mock.running--;
}
