/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registrations of plugins with libdat2.so.2, the registry of DAT 2.0, which may be another
 * project's. libdatp is linked to libdat.so.1, so it looks up the functions in the libdat2 that the
 * program has loaded, even if that was loaded with RTLD_LOCAL.
 */
#include <dlfcn.h>

#include "dat20.h"
#include "providers/common/base/refuse.h"
#include "providers/common/dat12/dat12.h"

typedef DAT_RETURN (*registration)(const struct dat20_provider *, const DAT_PROVIDER_INFO *);

/* Returns a function of libdat2, or NULL if no libdat2 is loaded. */
void *dat20_registry_function(const char *name)
{
	void *found = dlvsym(RTLD_DEFAULT, name, "DAT_2.0");
	void *library;

	if (found)
		return found;
	library = dlopen("libdat2.so.2", RTLD_NOLOAD | RTLD_NOW);
	if (!library)
		return NULL;
	found = dlvsym(library, name, "DAT_2.0");
	/* the registry that initialises a plugin stays while that plugin is loaded */
	dlclose(library);
	return found;
}

DAT_RETURN dat20_announce(struct plugin *plugin)
{
	registration add = (registration)(uintptr_t)dat20_registry_function("dat_registry_add_provider");

	if (!add)
		return dat20_error(DAT20_PROVIDER_NOT_FOUND);
	return add(plugin->table, &plugin->info);
}

bool dat20_withdraw(struct plugin *plugin)
{
	registration take = (registration)(uintptr_t)dat20_registry_function("dat_registry_remove_provider");

	return !take || DAT_GET_TYPE(take(plugin->table, &plugin->info)) != DAT20_PROVIDER_IN_USE;
}

DAT_IA_HANDLE dat20_shown(struct datp_ia *ia)
{
	DAT_RETURN (*translate)(unsigned long, DAT_IA_HANDLE *);
	DAT_IA_HANDLE number;

	translate = (DAT_RETURN(*)(unsigned long, DAT_IA_HANDLE *))(uintptr_t)
		dat20_registry_function("dats_get_ia_handle");
	return translate && translate((unsigned long)ia, &number) == DAT_SUCCESS ? number : ia;
}

/*
 * The open function is that of DAT 1.2, whose edge finds it after the first member, which is the
 * structure that is registered.
 */
static const struct dat12_edge edge = {
	.edge = { .table_size = sizeof(struct dat20_tables),
		  .table_fill = dat20_table_fill,
		  .announce = dat20_announce,
		  .withdraw = dat20_withdraw,
		  .shown = dat20_shown,
		  .srq_end_is_error = true,
		  .keeps_events = true,
		  .borrows_evds = true,
		  .has_extensions = true },
	.open = dat12_open,
};

const struct edge *const dat20_edge = &edge.edge;
