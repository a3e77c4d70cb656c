/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The front of libdat.so.1: the calls of DAT 1.2 that open, close and register, the query of an IA,
 * and the calls that take a handle of any kind.
 */
#include "front.h"

#include <string.h>

static DAT_RETURN open_ia(const struct reg_record *record, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *object)
{
	return ((DAT_IA_OPEN_FUNC)record->open_func)((const DAT_NAME_PTR)name, qlen, evd, object);
}

static DAT_RETURN close_ia(const void *table, DAT_IA_HANDLE object, DAT_CLOSE_FLAGS flags)
{
	const DAT_PROVIDER *provider = table;

	return provider->ia_close_func ? provider->ia_close_func(object, flags)
				       : REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
}

static bool is_object(DAT_HANDLE handle)
{
	return probe_provider(handle) != NULL;
}

static const struct reg_front dat12 = {
	.major = 1,
	.table_add_locked = vtables_add_locked,
	.table_remove_locked = vtables_remove_locked,
	.table_prefer_locked = vtables_prefer_locked,
	.ia_open = open_ia,
	.ia_close = close_ia,
	.is_object = is_object,
	.names = dat_strerror,
	.ia_gone = probe_forget,
};

/* ------------------------------------------------------------------ the dynamic registry */

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	return catalog_add(&dat12, provider,
			   provider ? (void (*)(void))provider->ia_open_func : NULL, info);
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	return catalog_remove(provider, info);
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	return catalog_list(&dat12, max_to_return, entries_returned, dat_provider_list);
}

/* ------------------------------------------------------------------ IAs */

/*
 * Checks the arguments that can be checked without a provider. The async EVD is checked later:
 * programs that try one name after the other leave it uninitialised, and expect to get
 * DAT_PROVIDER_NOT_FOUND.
 */
static DAT_RETURN ia_open_check(const char *name, const DAT_EVD_HANDLE *evd,
				const DAT_IA_HANDLE *ia)
{
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return REG_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!evd)
		return REG_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia)
		return REG_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	const struct reg_request rq = {
		.front = &dat12,
		.name = name,
		.major = dat_major,
		.minor = dat_minor,
		.thread_safe = thread_safety != DAT_FALSE,
	};
	DAT_RETURN rc = ia_open_check(name, async_evd_handle, ia_handle);

	if (rc != DAT_SUCCESS)
		return rc;
	return ia_request(&rq, async_evd_min_qlen, async_evd_handle, ia_handle);
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	return ia_end(ia_handle, flags);
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	REG_DISPATCH_IA(ia_handle, ia_query_func, ia_object, async_evd_handle, ia_attr_mask,
			ia_attr, provider_attr_mask, provider_attr);
}

/* Calls on a handle of any kind: an integer is an IA, and any other value an object. */
#define REG_DISPATCH_ANY(handle, slot, ...) do {						\
	DAT_HANDLE any_object = (uintptr_t)(handle) < REG_POINTER_MIN ?				\
				reg_ia_object(handle) : (handle);				\
												\
	REG_DISPATCH(any_object, DAT_INVALID_HANDLE1, slot, __VA_ARGS__);			\
} while (0)

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	REG_DISPATCH_ANY(dat_handle, set_consumer_context_func, any_object, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	REG_DISPATCH_ANY(dat_handle, get_consumer_context_func, any_object, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	REG_DISPATCH_ANY(dat_handle, get_handle_type_func, any_object, handle_type);
}

__attribute__((destructor))
static void front_exit(void)
{
	ia_exit(vtables_free_locked);
}
