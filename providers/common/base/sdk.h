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

/* What was built with an SDK. */
struct sdk_built {
	const char *kind, *name; /* as in: plugin "soft" */
	uint32_t major, minor;
};

/* Returns whether the version is served (DUTY-03); otherwise after plugin_refuse(). */
bool sdk_version_ok(const struct sdk_built *what);
/* Returns whether each bit of `needs` is among the known ones (DUTY-07); otherwise after plugin_refuse(). */
bool sdk_needs_ok(const struct sdk_built *what, uint32_t needs, uint32_t known);

#endif
