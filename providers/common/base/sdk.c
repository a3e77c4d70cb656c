/* SPDX-License-Identifier: BSD-2-Clause */
/* Refuses plugins and wrappers that this libdatp cannot serve, with what has to be installed or built anew. */
#include "refuse.h"
#include "sdk.h"

bool sdk_version_ok(const struct sdk_built *what)
{
	if (sdk_is_served(what->major))
		return true;
	plugin_refuse("DUTY-03: %s \"%s\" was built with provider SDK %u.%u, and this libdatp serves SDKs up to %u.x; "
		      "install the libdatp of SDK %u, or rebuild the %s",
		      what->kind, what->name, what->major, what->minor, DATP_SDK_MAJOR, what->major, what->kind);
	return false;
}

/* Returns true for an SDK of which this libdatp may not know everything. */
static bool is_later(const struct sdk_built *what)
{
	return what->major > DATP_SDK_MAJOR || (what->major == DATP_SDK_MAJOR && what->minor > DATP_SDK_MINOR);
}

bool sdk_needs_ok(const struct sdk_built *what, uint32_t needs, uint32_t known)
{
	uint32_t unknown = needs & ~known;

	if (!unknown)
		return true;
	if (is_later(what))
		plugin_refuse("DUTY-07: %s \"%s\" needs feature bit 0x%x (of its needs 0x%x), which libdatp %u.%u does not "
			      "know; install a libdatp of SDK %u.%u or later",
			      what->kind, what->name, unknown & -unknown, needs, DATP_SDK_MAJOR, DATP_SDK_MINOR,
			      what->major, what->minor);
	else
		plugin_refuse("DUTY-07: %s \"%s\" needs feature bit 0x%x (of its needs 0x%x), which no SDK up to %u.%u has; "
			      "leave that bit out and build it again",
			      what->kind, what->name, unknown & -unknown, needs, DATP_SDK_MAJOR, DATP_SDK_MINOR);
	return false;
}
