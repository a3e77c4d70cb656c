/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider with nothing behind it. What is odd about a build of it is told by its macros:
 *
 *	MOCK_NO_INIT		has no dat_provider_init
 *	MOCK_NO_FINI		has no dat_provider_fini
 *	MOCK_NOTHING		registers nothing
 *	MOCK_OTHER_NAME		registers "other" instead of what it was asked for
 *	MOCK_TWO_NAMES		registers the name it was asked for, and the same with "-twin" behind
 *	MOCK_REENTER		opens the very adapter, and lists all, within dat_provider_init
 *	MOCK_FLIP_SAFETY	registers the opposite of the thread safety in dat.conf
 *	MOCK_HIGHER_MINOR	registers a minor version one higher than in dat.conf
 *	MOCK_FOREIGN_MAJOR	registers as a DAT 2.0 provider
 *	MOCK_NO_REMOVE		leaves its registration behind in dat_provider_fini
 *	MOCK_OPEN_FAILS		cannot open an IA, and leaves junk in the OUT parameters
 *	MOCK_OPEN_NOTHING	says that it opened an IA, and returns none
 *	MOCK_NULL_SLOTS		has no calls but open and close
 *	MOCK_OWN_VTABLE		its objects begin with another vtable than the one it registered
 *	MOCK_UNDEFINED		needs a symbol that nobody has
 *	MOCK_CONSTRUCTOR	registers "constructed" when it is loaded, and nothing in init
 *
 * Invariant: like the plugins of the field it is not linked with libdat.
 */
#include "mock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

/* What a build does not say of itself is not so. */
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
