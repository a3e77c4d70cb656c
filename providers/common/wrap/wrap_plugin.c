/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registrations of wrappers. The objects of a wrapper's adapter are those of the adapter beneath: only
 * the open is the wrapper's. wrap_plugin20.c has the edge for programs of DAT 2.0.
 */
#include <pthread.h>

#include "providers/common/base/refuse.h"
#include "providers/common/core/dump.h"
#include "providers/common/core/ops_list.h"
#include "providers/common/dat12/dat12.h"
#include "wrap.h"
#include "providers/common/base/sdk.h"

static const struct dat12_edge wrap_edge = {
	.edge = { .table_size = sizeof(DAT_PROVIDER),
		  .table_fill = dat12_table_name,
		  .announce = dat12_announce,
		  .withdraw = dat12_withdraw,
		  .shown = dat12_shown },
	.open = wrap_open,
};

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, wrap_forget_all);
}

/* Objects and ops are those of the adapter beneath. */
static void dump_wrapper(const struct dump_output *output, const void *what)
{
	const struct datp_wrapper *wrapper = what;
	struct datp_wrap_ops total;

	plugin_refuse_begin();
	dump_head(output, wrapper->name, wrapper->version, wrapper->sdk_major, wrapper->sdk_minor,
		 wrap_negotiate(wrapper, &total));
	if (!sdk_is_served(wrapper->sdk_major))
		return;
	dump_say(output, "needs", "0x%x", wrapper->ops->needs);
	dump_say(output, "traits", "0x%x", 0);
#define X(type, head) dump_say(output, "size." #type, "beneath");
	SIZED_OBJECTS(X)
#undef X
#define X(op, ...) dump_say(output, "op." #op, "beneath");
	REQUIRED_OPS(X)
	OPTIONAL_OPS(X)
#undef X
	dump_say(output, "apis", total.apis & DATP_WRAP_API_20 ? "1.2 2.0" : "1.2");
}

/* Returns the edge for programs of the line's version, or NULL, after plugin_refuse(), if the wrapper does not serve them. */
static const struct edge *edge_of(const struct datp_wrapper *wrapper, const struct datp_wrap_ops *ops,
				  const DAT_PROVIDER_INFO *info)
{
	if (info->dapl_version_major == 1)
		return &wrap_edge.edge;
	if (info->dapl_version_major == 2 && (ops->apis & DATP_WRAP_API_20))
		return wrap_edge20;
	if (info->dapl_version_major == 2)
		plugin_refuse("wrapper \"%s\", built with provider SDK %u.%u, has no part for programs of DAT 2.0; have the "
			      "program open the adapter beneath, or install the wrapper in a version that sets "
			      "DATP_WRAP_API_20 (SDK 0.8 or later)",
			      wrapper->name, wrapper->sdk_major, wrapper->sdk_minor);
	else
		plugin_refuse("wrappers serve programs of DAT 1.2 and 2.0, not of %u.%u; write one of them in field 2 of that "
			      "line",
			      info->dapl_version_major, info->dapl_version_minor);
	return NULL;
}

DATP_API void datp_wrapper_init(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info,
				const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct plugin what = { .wrapper = wrapper, .info = *info };
	const struct edge *edge;
	struct datp_wrap_ops ops;

	if (plugin_dump_takes(dump_wrapper, wrapper))
		return;
	pthread_once(&once, watch_forks);
	plugin_refuse_begin();
	if (!wrap_negotiate(wrapper, &ops))
		return;
	edge = edge_of(wrapper, &ops, info);
	if (edge)
		plugin_add(edge, &what, wrapper->name, params);
}

DATP_API void datp_wrapper_fini(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info)
{
	plugin_remove(NULL, wrapper, info);
}
