/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_extension_op(): the calls of the InfiniBand extensions of DAT 2.0. A call that is not served is
 * refused at once, before its arguments are looked at. The registry has turned an IA's number into its
 * object, and has checked that the handle is an object of a live provider; for a query, which needs no
 * open adapter, the handle is the adapter's name.
 */
#include "dat20.h"
#include "providers/common/dat12/dat12.h"

/* ------------------------------------------------------------------ queries */

/*
 * Reads the attributes of an adapter that the program has not opened. The adapter is open from here
 * to query_close(), because the attributes come from its device and the named ones stay valid so long.
 */
static DAT_RETURN query_open(uint32_t nth, const DAT_NAME_PTR name, va_list args)
{
	DAT_HANDLE *handle = va_arg(args, DAT_HANDLE *);
	DAT20_IA_ATTR_MASK ia_mask = va_arg(args, DAT20_IA_ATTR_MASK);
	DAT20_IA_ATTR *ia_attr = va_arg(args, DAT20_IA_ATTR *);
	DAT20_PROVIDER_ATTR_MASK provider_mask = va_arg(args, DAT20_PROVIDER_ATTR_MASK);
	DAT20_PROVIDER_ATTR *provider_attr = va_arg(args, DAT20_PROVIDER_ATTR *);
	DAT_EVD_HANDLE no_async = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!handle)
		return dat20_arg(4);
	ret = dat20_ia_open(nth, name, 0, &no_async, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat20_ia_query(ia, NULL, ia_mask, ia_attr, provider_mask, provider_attr);
	if (ret != DAT_SUCCESS) {
		(void)dat12_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		/* the arguments of dat_ia_query() are two places further on in this call */
		return DAT_GET_TYPE(ret) == DAT20_INVALID_PARAMETER ? ret + 2 : ret;
	}
	*handle = ia;
	return DAT_SUCCESS;
}

static DAT_RETURN query_close(DAT_HANDLE handle)
{
	return dat20_ret(dat12_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG));
}

/* ------------------------------------------------------------------ the slot */

/* `nth` is the number of the registration whose table the slot is in. */
static DAT_RETURN extended(uint32_t nth, DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)
{
	switch (op) {
	case DAT20_IB_OPEN_QUERY_OP:
		return query_open(nth, (DAT_NAME_PTR)handle, args);
	case DAT20_IB_CLOSE_QUERY_OP:
		return query_close(handle);
	default:
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	}
}

/* As for opening, each registration of a name has a function of its own. */
#define X(nth)											\
	static DAT_RETURN extended_##nth(DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)	\
	{											\
		return extended(nth, handle, op, args);						\
	}
DAT12_NTHS(X)
#undef X

DAT20_HANDLE_EXTENDEDOP_FUNC dat20_extender(struct plugin *plugin)
{
#define X(nth) extended_##nth,
	static const DAT20_HANDLE_EXTENDEDOP_FUNC functions[] = { DAT12_NTHS(X) };
#undef X
	_Static_assert(sizeof(functions) / sizeof(functions[0]) == PLUGIN_NTHS, "one for each");
	return functions[plugin->nth];
}
