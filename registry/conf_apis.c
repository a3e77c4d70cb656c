/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which lines for uDAPL 1.2 serve programs of uDAPL 2.0 as well.
 *
 * Invariant: a line that says u2.0 alone decides what its name means for programs of 2.0, and a library
 * that is not OpenDAT's is used for the version that its line says, and for no other.
 */
#include "conf.h"

#include <string.h>

/*
 * The providers that have a table of 2.0. The wrappers are missing, because what is beneath decides whom they serve, and so is
 * libdaplcma.so.1, whose lines may mean OFED's library of this name.
 */
static const char *const libraries[] = { "libdatsoft.so", "libdatib.so", "libdatiwarp.so" };

static bool has_both(const char *library)
{
	const char *slash = strrchr(library, '/');
	const char *file = slash ? slash + 1 : library;
	size_t i;

	for (i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!strcmp(file, libraries[i]))
			return true;
	return false;
}

bool conf_serves_20(const struct conf *conf, const struct conf_entry *e)
{
	const struct conf_entry *other;

	if (e->skip != CONF_USED || e->major != 1 || !has_both(e->library))
		return false;
	for (other = conf->entries; other; other = other->next)
		if (other->skip == CONF_USED && other->major == 2 && !strcmp(other->name, e->name))
			return false;
	return true;
}
