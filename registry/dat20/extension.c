/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_extension_op(): the calls of extensions, which are passed on without examining the arguments.
 * Two ranges of them are about a provider that need not be open: those that open a query, which
 * name an adapter and load its provider, and those that close it.
 *
 * Invariant: the handle of a query is valid only for closing it. It counts as an open of its
 * provider's plugin until then.
 */
#include "registry/front/front.h"

#include <string.h>

#define OPEN_QUERY	0x1000
#define CLOSE_QUERY	0x2000

/* A call that opens or closes a query: its number, and the arguments that follow. */
struct query_opening {
	struct reg_opening how;
	DAT_EXTENDED_OP op;
	va_list args;
};

/* The provider's function is called with a copy of the arguments, because several may be tried. */
static DAT_RETURN extension_call(struct query_opening *query, const DAT_PROVIDER *provider,
				 DAT_HANDLE handle)
{
	DAT_RETURN rc;
	va_list args;

	if (!provider->handle_extendedop_func)
		return REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
	va_copy(args, query->args);
	rc = provider->handle_extendedop_func(handle, query->op, args);
	va_end(args);
	return rc;
}

/* The first of the arguments is where the provider stores its object; the name takes the place of a handle. */
static DAT_RETURN query_open_at(struct reg_opening *how, const void *table, void (*opener)(void),
				const char *name, DAT_IA_HANDLE *object)
{
	struct query_opening *query = (struct query_opening *)how;
	DAT_IA_HANDLE *stored;
	DAT_RETURN rc;
	va_list args;

	(void)opener;
	va_copy(args, query->args);
	stored = va_arg(args, DAT_IA_HANDLE *);
	va_end(args);
	if (!stored)
		return REG_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	rc = extension_call(query, table, (DAT_HANDLE)name);
	*object = rc == DAT_SUCCESS ? *stored : NULL;
	return rc;
}

static DAT_RETURN query_close_at(struct reg_opening *how, const void *table, DAT_IA_HANDLE object)
{
	return extension_call((struct query_opening *)how, table, object);
}

/* Requests the adapter like a program that needs no thread safety. */
static DAT_RETURN query_open(struct query_opening *query)
{
	const char *name = va_arg(query->args, const char *);
	const struct reg_open_request rq = {
		.front = &this_front,
		.how = &query->how,
		.name = name,
		.major = DAT_VERSION_MAJOR,
		.minor = DAT_VERSION_MINOR,
	};
	DAT_IA_HANDLE number;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return REG_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return datreg_ia_open(&rq, &number);
}

/* Passes on a call about an object. */
static DAT_RETURN extension_dispatch(struct query_opening *call, DAT_HANDLE handle)
{
	DAT_HANDLE object = (uintptr_t)handle < REG_POINTER_MIN ? datreg_ia_object(handle) : handle;
	const DAT_PROVIDER *provider = probe_provider(object);

	if (!provider)
		return REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	return extension_call(call, provider, object);
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP ext_op, ...)
{
	struct query_opening call = { .how = { query_open_at, query_close_at }, .op = ext_op };
	DAT_RETURN rc;

	va_start(call.args, ext_op);
	if (ext_op & OPEN_QUERY)
		rc = query_open(&call);
	else if (ext_op & CLOSE_QUERY)
		rc = datreg_ia_close(&this_front, &call.how, handle);
	else
		rc = extension_dispatch(&call, handle);
	va_end(call.args);
	return rc;
}
