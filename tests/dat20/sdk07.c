/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The template, built with the headers of SDK 0.7, whose struct datp_plugin ends before the functions for DAT 2.0. Behind this
 * plugin's struct, where later ones have the pointer to them, is a pointer to functions that end the process: libdatp may not
 * look there. Invariant: the program under test never reaches trap().
 */
#include <datp/provider.h>
#include <stdio.h>
#include <stdlib.h>

#if DATP_SDK_MAJOR != 0 || DATP_SDK_MINOR != 7
#error "compile it with the headers of SDK 0.7"
#endif

static DAT_RETURN trap(void)
{
	fputs("libdatp calls what is behind the struct datp_plugin of SDK 0.7\n", stderr);
	abort();
}

static DAT_RETURN (*const traps[])(void) = { trap, trap, trap, trap, trap };

#undef DATP_PROVIDER
#define DATP_PROVIDER(plugin_name, plugin_ops)									\
	DATP_FAST_PATH(plugin_ops)										\
	static const struct {											\
		struct datp_plugin plugin;									\
		DAT_RETURN (*const *behind)(void);								\
	} trapped = {												\
		{ plugin_name, &(plugin_ops), sizeof(plugin_ops), DATP_SDK_MAJOR, DATP_SDK_MINOR,		\
		  { DATP_FAST_GENERATED }, DATP_PLUGIN_VERSION },						\
		traps,												\
	};													\
	DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)			\
	{													\
		datp_plugin_init(&trapped.plugin, info, params);						\
	}													\
	DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)						\
	{													\
		datp_plugin_fini(&trapped.plugin, info);							\
	}

#include "template07.h"
