/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interface adapters: which provider opens one, and how it is closed.
 *
 * Invariant: each open IA counts once on its record, and so on its plugin, whatever the provider
 * registers or removes later; a failed open does not count.
 */
#include "reg.h"

#include <string.h>

/* Returns the first word of an object, or NULL if the pointer cannot be that of a DAT object. */
static const void *object_vtable(DAT_HANDLE object)
{
	const void *vtable;

	if ((uintptr_t)object < REG_POINTER_MIN || ((uintptr_t)object & (sizeof(void *) - 1)))
		return NULL;
	vtable = *(const void **)object;
	return (uintptr_t)vtable < REG_POINTER_MIN ? NULL : vtable;
}

/* Calls the provider's open. Whatever it registers meanwhile belongs to its plugin. */
static DAT_RETURN provider_open(struct reg_opening *how, const struct reg_record *r,
				const char *name, DAT_IA_HANDLE *object)
{
	struct reg_plugin *outer = reg_self.plugin;
	DAT_RETURN rc;

	reg_self.plugin = r->plugin;
	rc = how->open(how, r->table, r->opener, name, object);
	reg_self.plugin = outer;
	return rc;
}

/* Publishes the provider's object as an IA under the handle that was reserved. */
static DAT_RETURN ia_publish(const struct reg_open_request *rq, unsigned int handle,
			     DAT_IA_HANDLE object)
{
	const void *vtable = object_vtable(object);
	int err;

	if (!vtable)
		return REG_ERROR(DAT_INTERNAL_ERROR, 0);
	pthread_mutex_lock(&reg.lock);
	err = rq->front->table_add_locked(vtable);
	if (!err)
		ia_publish_locked(handle, object, vtable, rq->how->close);
	pthread_mutex_unlock(&reg.lock);
	if (!err)
		return DAT_SUCCESS;
	rq->how->close(rq->how, vtable, object);
	return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/*
 * Opens an IA through a record. The caller has counted this open on the record, and takes that back
 * if it fails. `several`: other lines match as well.
 */
static DAT_RETURN ia_open(const struct reg_open_request *rq, struct reg_record *r, bool several,
			  DAT_IA_HANDLE *ia_handle)
{
	DAT_IA_HANDLE object = NULL;
	unsigned int handle;
	DAT_RETURN rc;

	pthread_mutex_lock(&reg.lock);
	handle = ia_reserve_locked(r);
	pthread_mutex_unlock(&reg.lock);
	if (!handle)
		return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rc = provider_open(rq->how, r, rq->name, &object);
	if (rc == DAT_SUCCESS)
		rc = ia_publish(rq, handle, object);
	if (rc != DAT_SUCCESS) {
		report_open(r, rq->name, rc, several);
		pthread_mutex_lock(&reg.lock);
		ia_drop_locked(handle);
		pthread_mutex_unlock(&reg.lock);
		return rc;
	}
	*ia_handle = (DAT_IA_HANDLE)(uintptr_t)handle;
	return DAT_SUCCESS;
}

/*
 * Finds the first provider that can open the IA. If none can, returns the error of the first one
 * that was called.
 */
static DAT_RETURN request_open(const struct reg_open_request *rq, DAT_IA_HANDLE *ia_handle)
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
		more = search_goes_on(rq, &search, record);
		rc = ia_open(rq, record, several, ia_handle);
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

DAT_RETURN datreg_ia_open(const struct reg_open_request *rq, DAT_IA_HANDLE *ia_handle)
{
	struct cancel own = cancel_off();
	DAT_RETURN rc = catalog_ready(rq->front);

	if (rc == DAT_SUCCESS)
		rc = request_open(rq, ia_handle);
	cancel_restore(own);
	return rc;
}

/*
 * Claims an IA for closing, by its handle or by the provider's pointer. Returns 0 if the front has
 * no such IA, or has opened it in another way.
 */
static unsigned int ia_claim(const struct reg_front *front, const struct reg_opening *how,
			     DAT_IA_HANDLE ia_handle, struct reg_ia **ia)
{
	unsigned int handle;

	handle = (uintptr_t)ia_handle < REG_POINTER_MIN ? (unsigned int)(uintptr_t)ia_handle
							: ia_handle_of(ia_handle);
	pthread_mutex_lock(&reg.lock);
	*ia = ia_slot(handle);
	if (!*ia || !atomic_load_explicit(&(*ia)->object, memory_order_relaxed) ||
	    (*ia)->closing || (*ia)->close != how->close || (*ia)->record->front != front)
		handle = 0;
	else
		(*ia)->closing = true;
	pthread_mutex_unlock(&reg.lock);
	return handle;
}

/* Has the provider close an IA that has been claimed, and removes it if that succeeds. */
static DAT_RETURN ia_close(struct reg_opening *how, unsigned int handle, struct reg_ia *ia)
{
	DAT_IA_HANDLE object = atomic_load_explicit(&ia->object, memory_order_relaxed);
	const struct reg_front *front;
	struct reg_record *record;
	DAT_RETURN rc;

	/*
	 * the record stays while the IA is open, and this thread may read it, because it has claimed the
	 * IA
	 */
	front = ia->record->front;
	rc = how->close(how, ia->vtable, object);
	pthread_mutex_lock(&reg.lock);
	if (rc != DAT_SUCCESS) {
		ia->closing = false;
		pthread_mutex_unlock(&reg.lock);
		return rc;
	}
	record = ia->record;
	front->table_remove_locked(ia->vtable);
	ia_drop_locked(handle);
	pthread_mutex_unlock(&reg.lock);
	front->ia_gone();
	record_release(record);
	return DAT_SUCCESS;
}

/*
 * Closes an IA. Until the provider's close has succeeded, the IA does not change, because a close
 * that fails must have no effect. A second close meanwhile finds the IA claimed.
 */
DAT_RETURN datreg_ia_close(const struct reg_front *front, struct reg_opening *how,
			   DAT_IA_HANDLE ia_handle)
{
	unsigned int handle;
	struct reg_ia *ia;
	DAT_RETURN rc;
	struct cancel own;

	own = cancel_off();
	handle = ia_claim(front, how, ia_handle, &ia);
	rc = handle ? ia_close(how, handle, ia)
		    : datreg_refused("dat_ia_close", ia_handle, REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	cancel_restore(own);
	return rc;
}

/*
 * A child of fork() may open adapters of its own, and calls the destructors when it exits. A thread that the child does not have
 * may hold the locks.
 */
static void fork_child(void)
{
	pthread_mutex_init(&reg.lock, NULL);
	pthread_cond_init(&reg.changed, NULL);
	pthread_mutex_lock(&reg.lock);
	catalog_forked_locked();
	pthread_mutex_unlock(&reg.lock);
	loader_forked();
}

void datreg_front_add(const struct reg_front *front)
{
	static bool watched;	/* reg.lock */
	int i = 0;

	pthread_mutex_lock(&reg.lock);
	if (!watched)
		watched = pthread_atfork(NULL, NULL, fork_child) == 0;
	while (i < REG_FRONTS_MAX - 1 && reg.fronts[i])
		i++;
	reg.fronts[i] = front;
	pthread_mutex_unlock(&reg.lock);
}

/* Returns true if no IA is open, and no thread is loading or unloading a plugin. */
static bool is_idle_locked(void)
{
	bool idle = !reg.ia_open;
	unsigned int i;

	for (i = 0; i < reg.nplugins; i++)
		idle = idle && reg.plugins[i].state == PLUGIN_IDLE;
	return idle;
}

static void tear_down_locked(void)
{
	report_free_locked();
	catalog_free_locked();
	ia_free_locked();
	reg.gone = true;
}

/*
 * Called at exit or by the last dlclose. If something is still in use, everything stays. Later
 * calls, from destructors of plugins, see that the front or the registry has been removed.
 */
void datreg_front_remove(const struct reg_front *front)
{
	bool last = true;
	bool idle;
	int i;

	pthread_mutex_lock(&reg.lock);
	idle = is_idle_locked();
	for (i = 0; idle && i < REG_FRONTS_MAX; i++) {
		if (reg.fronts[i] == front)
			reg.fronts[i] = NULL;
		last = last && !reg.fronts[i];
	}
	if (idle && last)
		tear_down_locked();
	if (idle)
		front->tables_free_locked();
	pthread_mutex_unlock(&reg.lock);
	if (idle && last)
		loader_exit();
}
