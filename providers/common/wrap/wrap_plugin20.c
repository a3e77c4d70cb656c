/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registrations of wrappers for programs of DAT 2.0. The registry is that of dat20_plugin.c, and its calls by which the
 * adapter beneath is opened are looked up in it, too.
 */
#include "providers/common/dat12/dat12.h"
#include "providers/common/dat20/dat20.h"
#include "wrap.h"

/* ------------------------------------------------------------------ the registry */

static DAT_RETURN no_registry(void)
{
	return dat20_error(DAT20_PROVIDER_NOT_FOUND);
}

DAT_RETURN wrap_open20(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia, DAT_BOOLEAN safe)
{
	DAT_RETURN (*open)(const char *, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *, DAT_UINT32, DAT_UINT32, DAT_BOOLEAN);

	open = (__typeof__(open))(uintptr_t)dat20_registry_function("dat_ia_openv");
	return open ? open(name, qlen, async, ia, DAT20_VERSION_MAJOR, DAT20_VERSION_MINOR, safe) : no_registry();
}

DAT_RETURN wrap_close20(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	DAT_RETURN (*close)(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);

	close = (__typeof__(close))(uintptr_t)dat20_registry_function("dat_ia_close");
	return close ? close(ia, flags) : no_registry();
}

DAT_RETURN wrap_object20(DAT_IA_HANDLE ia, DAT_IA_HANDLE *object)
{
	DAT_RETURN (*translate)(unsigned long, DAT_IA_HANDLE *);

	translate = (__typeof__(translate))(uintptr_t)dat20_registry_function("dats_get_ia_handle");
	return translate ? translate((unsigned long)(uintptr_t)ia, object) : no_registry();
}

DAT_RETURN wrap_strerror20(DAT_RETURN ret, const char **major, const char **minor)
{
	DAT_RETURN (*names)(DAT_RETURN, const char **, const char **);

	names = (__typeof__(names))(uintptr_t)dat20_registry_function("dat_strerror");
	return names ? names(ret, major, minor) : no_registry();
}

/* ------------------------------------------------------------------ the edge */

/* The arguments are checked here, because the positions in an error of 1.2 have other numbers. */
static DAT_RETURN open_nth(uint32_t nth, const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	if (!name)
		return dat20_arg(1);
	if (!async)
		return dat20_arg(3);
	if (qlen < 0 || (!qlen && *async == DAT_HANDLE_NULL))
		return dat20_arg(2);
	if (!ia)
		return dat20_arg(4);
	return dat12_ia_opener(nth)(name, qlen, async, ia);
}

/* As in dat12_ia.c, each registration of a name has a function of its own. */
#define X(nth)											\
	static DAT_RETURN open_##nth(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,	\
				     DAT_IA_HANDLE *ia)						\
	{											\
		return open_nth(nth, name, qlen, async, ia);					\
	}
DAT12_NTHS(X)
#undef X

/* A query opens the adapter as a program would, so the wrapper sees that, the query itself, and its end. */
static DAT_RETURN extended(DAT20_IA_OPEN_FUNC open, DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)
{
	if (op != DAT20_IB_OPEN_QUERY_OP)
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	return dat20_query_open(open, (DAT_NAME_PTR)handle, args);
}

#define X(nth)											\
	static DAT_RETURN extended_##nth(DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)	\
	{											\
		return extended(open_##nth, handle, op, args);					\
	}
DAT12_NTHS(X)
#undef X

/* The registry reads only the name and the two functions that take a name. */
static void table_name(struct plugin *plugin)
{
#define X(nth) open_##nth,
	static const DAT20_IA_OPEN_FUNC openers[] = { DAT12_NTHS(X) };
#undef X
#define X(nth) extended_##nth,
	static const DAT20_HANDLE_EXTENDEDOP_FUNC extenders[] = { DAT12_NTHS(X) };
#undef X
	struct dat20_provider *table = plugin->table;

	_Static_assert(sizeof(openers) / sizeof(openers[0]) == PLUGIN_NTHS, "one for each");
	table->device_name = plugin->info.ia_name;
	table->ia_open_func = openers[plugin->nth];
	table->handle_extendedop_func = extenders[plugin->nth];
}

static const struct dat12_edge edge20 = {
	.edge = { .table_size = sizeof(struct dat20_provider),
		  .table_fill = table_name,
		  .announce = dat20_announce,
		  .withdraw = dat20_withdraw,
		  .shown = dat20_shown },
	.open = wrap_open,
};

const struct edge *const wrap_edge20 = &edge20.edge;
