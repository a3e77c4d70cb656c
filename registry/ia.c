/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface adapters: open, close and query, and the calls that take a handle of any kind.
 *
 * Invariant: each open IA counts once on its record and so on its plugin, whatever the provider
 * says about itself later; an open that failed counts nowhere. OUT parameters are written on
 * success only: providers work on copies.
 */
#include "reg.h"

#include <string.h>

/* Is there something in the shape of a DAT object? */
static const DAT_PROVIDER *object_vtable(DAT_HANDLE object)
{
	const DAT_PROVIDER *vtable;

	if ((uintptr_t)object < REG_POINTER_MIN || ((uintptr_t)object & (sizeof(void *) - 1)))
		return NULL;
	vtable = *(const DAT_PROVIDER **)object;
	return (uintptr_t)vtable < REG_POINTER_MIN ? NULL : vtable;
}

/* Call the provider's open, with what it registers meanwhile counted to its plugin. */
static DAT_RETURN provider_open(const struct reg_record *r, const char *name, DAT_COUNT qlen,
				DAT_EVD_HANDLE *evd, DAT_IA_HANDLE *object)
{
	struct reg_plugin *outer = reg_self.plugin;
	DAT_RETURN rc;

	if (!r->ia_open_func)
		return REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
	reg_self.plugin = r->plugin;
	rc = r->ia_open_func((const DAT_NAME_PTR)name, qlen, evd, object);
	reg_self.plugin = outer;
	return rc;
}

/* Make the provider's object an IA of ours under the handle that was reserved. */
static DAT_RETURN ia_publish(unsigned int handle, DAT_IA_HANDLE object)
{
	const DAT_PROVIDER *vtable = object_vtable(object);
	int err;

	if (!vtable)
		return REG_ERROR(DAT_INTERNAL_ERROR, 0);
	pthread_mutex_lock(&reg.lock);
	err = vtables_add_locked(vtable);
	if (!err)
		ia_publish_locked(handle, object, vtable);
	pthread_mutex_unlock(&reg.lock);
	if (!err)
		return DAT_SUCCESS;
	if (vtable->ia_close_func)
		vtable->ia_close_func(object, DAT_CLOSE_ABRUPT_FLAG);
	return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* The record is the caller's, kept on success only. several: other lines may serve as well. */
static DAT_RETURN ia_open(struct reg_record *r, const char *name, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle, bool several)
{
	DAT_EVD_HANDLE evd = *async_evd_handle;
	DAT_IA_HANDLE object = NULL;
	unsigned int handle;
	DAT_RETURN rc;

	pthread_mutex_lock(&reg.lock);
	handle = ia_reserve_locked(r);
	pthread_mutex_unlock(&reg.lock);
	if (!handle)
		return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rc = provider_open(r, name, qlen, &evd, &object);
	if (rc == DAT_SUCCESS)
		rc = ia_publish(handle, object);
	if (rc != DAT_SUCCESS) {
		report_open(r, name, rc, several);
		pthread_mutex_lock(&reg.lock);
		ia_drop_locked(handle);
		pthread_mutex_unlock(&reg.lock);
		return rc;
	}
	*async_evd_handle = evd;
	*ia_handle = (DAT_IA_HANDLE)(uintptr_t)handle;
	return DAT_SUCCESS;
}

/*
 * What can be said about the arguments without a provider. The async EVD comes later: programs that
 * try one name after the other leave it unwritten, and count on hearing that there is no provider.
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

/* None, one that is elsewhere, or an object of some provider. */
static bool async_evd_is_valid(DAT_EVD_HANDLE evd)
{
	return evd == DAT_HANDLE_NULL || evd == DAT_EVD_ASYNC_EXISTS || probe_provider(evd);
}

/*
 * Find the first provider that can open the IA. If none can, the program gets what the first one
 * said that was asked.
 */
static DAT_RETURN request_open(const struct reg_request *rq, DAT_COUNT qlen,
			       DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle)
{
	DAT_RETURN first = DAT_SUCCESS, rc;
	struct reg_search search = { 0 };
	struct reg_record *record;
	bool several = search_is_choice(rq);
	bool more = true;

	report_environment();
	while (more) {
		rc = record_acquire(rq, &search, &record);
		if (rc != DAT_SUCCESS) {
			if (!search.again && DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND)
				report_not_found(rq, rc);
			break;
		}
		if (!async_evd_is_valid(*async_evd_handle)) {
			record_release(record);
			return REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
		}
		more = search_goes_on(rq, &search, record);
		rc = ia_open(record, rq->name, qlen, async_evd_handle, ia_handle, several);
		if (rc == DAT_SUCCESS)
			break;
		record_release(record);
		first = first != DAT_SUCCESS ? first : rc;
		search.again = true;
	}
	if (several && (rc == DAT_SUCCESS || search.again))
		report_lines(rq, rc == DAT_SUCCESS);
	return rc == DAT_SUCCESS || first == DAT_SUCCESS ? rc : first;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety)
{
	struct reg_request rq = {
		.name = name,
		.major = dat_major,
		.minor = dat_minor,
		.thread_safe = thread_safety != DAT_FALSE,
	};
	DAT_RETURN rc;
	struct cancel own;

	rc = ia_open_check(name, async_evd_handle, ia_handle);
	if (rc != DAT_SUCCESS)
		return rc;
	own = cancel_off();
	rc = catalog_ready();
	if (rc == DAT_SUCCESS)
		rc = request_open(&rq, async_evd_min_qlen, async_evd_handle, ia_handle);
	cancel_restore(own);
	return rc;
}

/* Claim an IA for closing, by handle or by the provider's pointer; 0: there is no such IA. */
static unsigned int ia_claim(DAT_IA_HANDLE ia_handle, struct reg_ia **ia)
{
	unsigned int handle;

	handle = (uintptr_t)ia_handle < REG_POINTER_MIN ? (unsigned int)(uintptr_t)ia_handle
							: ia_handle_of(ia_handle);
	pthread_mutex_lock(&reg.lock);
	*ia = ia_slot(handle);
	if (!*ia || !atomic_load_explicit(&(*ia)->object, memory_order_relaxed) || (*ia)->closing)
		handle = 0;
	else
		(*ia)->closing = true;
	pthread_mutex_unlock(&reg.lock);
	return handle;
}

/* Ask the provider to close an IA that has been claimed, and forget it when it agrees. */
static DAT_RETURN ia_close(unsigned int handle, struct reg_ia *ia, DAT_CLOSE_FLAGS flags)
{
	DAT_IA_HANDLE object = atomic_load_explicit(&ia->object, memory_order_relaxed);
	struct reg_record *record;
	DAT_RETURN rc;

	if (ia->vtable->ia_close_func)
		rc = ia->vtable->ia_close_func(object, flags);
	else
		rc = REG_ERROR(DAT_NOT_IMPLEMENTED, 0);
	pthread_mutex_lock(&reg.lock);
	if (rc != DAT_SUCCESS) {
		ia->closing = false;
		pthread_mutex_unlock(&reg.lock);
		return rc;
	}
	record = ia->record;
	vtables_remove_locked(ia->vtable);
	ia_drop_locked(handle);
	pthread_mutex_unlock(&reg.lock);
	probe_forget();
	record_release(record);
	return DAT_SUCCESS;
}

/*
 * Until the provider has agreed the IA stays what it is, for a refused close must change nothing. A
 * second close meanwhile finds it claimed.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	unsigned int handle;
	struct reg_ia *ia;
	DAT_RETURN rc;
	struct cancel own;

	own = cancel_off();
	handle = ia_claim(ia_handle, &ia);
	rc = handle ? ia_close(handle, ia, flags)
		    : REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	cancel_restore(own);
	return rc;
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	REG_DISPATCH_IA(ia_handle, ia_query_func, ia_object, async_evd_handle, ia_attr_mask,
			ia_attr, provider_attr_mask, provider_attr);
}

/* Calls on a handle of any kind: an integer is an IA, all else an object. */
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

/*
 * The library goes, at exit or with the last dlclose. With an IA open, or a plugin in the hands of
 * another thread, everything stays: somebody may still use it. Calls that come later, from the
 * destructors of plugins, find it gone.
 */
__attribute__((destructor))
static void reg_exit(void)
{
	bool idle;
	unsigned int i;

	pthread_mutex_lock(&reg.lock);
	idle = !reg.ia_open;
	for (i = 0; i < reg.nplugins; i++)
		idle = idle && reg.plugins[i].state == PLUGIN_IDLE;
	if (idle) {
		report_free_locked();
		catalog_free_locked();
		vtables_free_locked();
		ia_free_locked();
		reg.gone = true;
	}
	pthread_mutex_unlock(&reg.lock);
	if (idle)
		loader_exit();
}
