/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of plugins, which choose the edge by the version of DAT that a line is for. */
#include "dat20.h"
#include "providers/common/base/refuse.h"
#include "providers/common/core/dump.h"
#include "providers/common/dat12/dat12.h"

static const struct edge *edge_of(const DAT_PROVIDER_INFO *info)
{
	return info->dapl_version_major == DAT20_VERSION_MAJOR ? dat20_edge : dat12_edge;
}

DATP_API void datp_plugin_init(const struct datp_plugin *desc, const DAT_PROVIDER_INFO *info,
			       const char *params)
{
	struct plugin what = { .desc = desc, .info = *info };

	if (plugin_dump_takes(dump_plugin, desc))
		return;
	plugin_refuse_begin();
	if (info->dapl_version_major > DAT20_VERSION_MAJOR)
		plugin_refuse("it serves programs of DAT 1.2 and 2.0, not of %u.%u; write one of them in field 2 of "
			      "that line", info->dapl_version_major, info->dapl_version_minor);
	else if (plugin_negotiate(desc, &what.ops))
		plugin_add(edge_of(info), &what, desc->name, params);
}

DATP_API void datp_plugin_fini(const struct datp_plugin *desc, const DAT_PROVIDER_INFO *info)
{
	plugin_remove(desc, NULL, info);
}
