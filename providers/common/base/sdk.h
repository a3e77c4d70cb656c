/* SPDX-License-Identifier: BSD-2-Clause */
/* Which plugins this libdatp serves, by the version of the SDK that they were built with. */
#ifndef SDK_H
#define SDK_H

#include <datp/provider.h>

/* A major version serves the plugins of the earlier ones as well: see VERSIONING in datp(7). */
static inline bool sdk_is_served(uint32_t major)
{
	return major <= DATP_SDK_MAJOR;
}

/* Returns true for SDK 0.`since` and all later ones. */
static inline bool sdk_since(uint32_t major, uint32_t minor, uint32_t since)
{
	return major > 0 || minor >= since;
}

#endif
