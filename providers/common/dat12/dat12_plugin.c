/* SPDX-License-Identifier: BSD-2-Clause */
/* The registrations of plugins with libdat.so.1, the registry of DAT 1.2. */
#include "dat12.h"
#include "providers/common/base/refuse.h"

/*
 * No header of the standard declares it: stores the integer by which programs know the IA at a
 * pointer.
 */
extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia);

DAT_IA_HANDLE dat12_shown(struct datp_ia *ia)
{
	DAT_IA_HANDLE shown;

	/*
	 * Another libdat may translate only from the integer to the pointer; then programs have the
	 * pointer.
	 */
	if (dats_get_ia_handle((unsigned long)ia, &shown) == DAT_SUCCESS)
		return shown;
	return ia;
}

DAT_RETURN dat12_announce(struct plugin *plugin)
{
	return dat_registry_add_provider(plugin->table, &plugin->info);
}

bool dat12_withdraw(struct plugin *plugin)
{
	return DAT_GET_TYPE(dat_registry_remove_provider(plugin->table, &plugin->info)) !=
	       DAT_PROVIDER_IN_USE;
}

/*
 * ia_open_nth() gets the registered structure, and casts it to the whole, whose first member it is.
 */
_Static_assert(offsetof(struct dat12_edge, edge) == 0, "an edge of DAT 1.2 begins as any edge");

static const struct dat12_edge transport_edge = {
	.edge = { .table_size = sizeof(DAT_PROVIDER),
		  .table_fill = dat12_table_fill,
		  .announce = dat12_announce,
		  .withdraw = dat12_withdraw,
		  .shown = dat12_shown },
	.open = dat12_open,
};

const struct edge *const dat12_edge = &transport_edge.edge;

