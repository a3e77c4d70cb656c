/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The front as the core knows it (struct reg_front); the calls that open, close and register; the
 * query of an IA; and the calls that take a handle of any kind.
 */
#include "front.h"

#include <string.h>

static void (*opener_of(const void *table))(void)
{
	return (void (*)(void))((const DAT_PROVIDER *)table)->ia_open_func;
}

const struct reg_front this_front = {
	.major = DAT_VERSION_MAJOR,
	.first_argument = DAT_INVALID_ARG1,
	.name_not_registered = DAT_NAME_NOT_REGISTERED,
	.table_add_locked = vtables_add_locked,
	.table_remove_locked = vtables_remove_locked,
	.table_prefer_locked = vtables_prefer_locked,
	.tables_free_locked = vtables_free_locked,
	.opener_of = opener_of,
	.names = dat_strerror,
	.ia_gone = probe_forget,
};

/* ------------------------------------------------------------------ the dynamic registry */

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	return datreg_provider_add(&this_front, provider, info);
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	return datreg_provider_remove(&this_front, provider, info);
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	return datreg_provider_list(&this_front, max_to_return, entries_returned,
				    dat_provider_list);
}

/* ------------------------------------------------------------------ IAs */

/* An IA that a program opens or closes. */
struct ia_opening {
	struct reg_opening how;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE evd;		/* the program's argument, then what the provider returned */
	DAT_CLOSE_FLAGS flags;
};

/*
 * Returns whether the async EVD argument is valid: no EVD, one that exists elsewhere, or an object
 * of a live provider.
 */
static bool async_evd_is_valid(DAT_EVD_HANDLE evd)
{
	return evd == DAT_HANDLE_NULL || evd == DAT_EVD_ASYNC_EXISTS || probe_provider(evd);
}

static DAT_RETURN ia_open_at(struct reg_opening *how, const void *table, void (*opener)(void),
			     const char *name, DAT_IA_HANDLE *object)
{
	struct ia_opening *opening = (struct ia_opening *)how;
	DAT_EVD_HANDLE evd = opening->evd;
	DAT_RETURN rc;

	(void)table;
	if (!async_evd_is_valid(evd))
		return REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	if (!opener)
		return REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
	rc = ((DAT_IA_OPEN_FUNC)opener)((const DAT_NAME_PTR)name, opening->qlen, &evd, object);
	if (rc == DAT_SUCCESS)
		opening->evd = evd;
	return rc;
}

static DAT_RETURN ia_close_at(struct reg_opening *how, const void *table, DAT_IA_HANDLE object)
{
	const struct ia_opening *opening = (const struct ia_opening *)how;
	const DAT_PROVIDER *provider = table;

	return provider->ia_close_func ? provider->ia_close_func(object, opening->flags) :
					 REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
}

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
	struct ia_opening opening = {
		.how = { ia_open_at, ia_close_at },
		.qlen = async_evd_min_qlen,
		.flags = DAT_CLOSE_ABRUPT_FLAG,
	};
	const struct reg_open_request rq = {
		.front = &this_front,
		.how = &opening.how,
		.name = name,
		.major = dat_major,
		.minor = dat_minor,
		.thread_safe = thread_safety != DAT_FALSE,
	};
	DAT_RETURN rc = ia_open_check(name, async_evd_handle, ia_handle);

	if (rc != DAT_SUCCESS)
		return rc;
	opening.evd = *async_evd_handle;
	rc = datreg_ia_open(&rq, ia_handle);
	if (rc == DAT_SUCCESS)
		*async_evd_handle = opening.evd;
	return rc;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	struct ia_opening opening = { .how = { ia_open_at, ia_close_at }, .flags = flags };

	return datreg_ia_close(&this_front, &opening.how, ia_handle);
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
				datreg_ia_object(handle) : (handle);				\
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

/* For plugins: converts an IA handle to the pointer to the provider's object, and vice versa. */
DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia_handle)
{
	return datreg_ia_translate(&this_front, handle, ia_handle);
}

__attribute__((constructor))
static void front_enter(void)
{
	datreg_front_add(&this_front);
}

__attribute__((destructor))
static void front_exit(void)
{
	datreg_front_remove(&this_front);
}
