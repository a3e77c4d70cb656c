/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IA handles: small integers, and what is behind them.
 *
 * Invariant: looking a handle up takes no lock and never reads freed memory, because slots are in
 * chunks that stay until the library is unloaded. A number is reused only after all other numbers
 * below the table's size, so a handle that is kept after dat_ia_close stays invalid for long.
 */
#include "reg.h"

#include <stdlib.h>
#include <string.h>

/* Returns the slot of a number below REG_POINTER_MIN, or NULL if there is no such handle yet. */
struct reg_ia *ia_slot(unsigned int handle)
{
	struct reg_ia *chunk = atomic_load_explicit(&reg.ias[handle / REG_IA_CHUNK],
						    memory_order_acquire);

	return chunk ? &chunk[handle % REG_IA_CHUNK] : NULL;
}

/* Returns the number of handles that the chunks hold. Handle 0 is never used. */
static unsigned int ia_capacity_locked(void)
{
	unsigned int i = 0;

	while (i < REG_IA_CHUNKS && atomic_load_explicit(&reg.ias[i], memory_order_relaxed))
		i++;
	return i * REG_IA_CHUNK;
}

/*
 * Adds a chunk when three quarters are in use. It ignores a failure, because the search notices a
 * full table.
 */
static void ia_grow_locked(unsigned int capacity)
{
	struct reg_ia *chunk;

	if (capacity == REG_IA_CHUNK * REG_IA_CHUNKS || reg.ia_open + 1 < capacity / 4 * 3)
		return;
	chunk = calloc(REG_IA_CHUNK, sizeof(*chunk));
	if (chunk)
		/* Release: a thread that finds the chunk finds it zeroed. */
		atomic_store_explicit(&reg.ias[capacity / REG_IA_CHUNK], chunk, memory_order_release);
}

/*
 * Reserves a handle for an IA that is about to be opened, or returns 0 if there is no memory.
 * Lookups do not see it yet.
 */
unsigned int ia_reserve_locked(struct reg_record *record)
{
	unsigned int capacity, i, h;
	struct reg_ia *ia;

	ia_grow_locked(ia_capacity_locked());
	capacity = ia_capacity_locked();
	for (i = 0; i < capacity; i++) {
		h = (reg.ia_next + i) % capacity;
		ia = ia_slot(h);
		if (!h || ia->record)
			continue;
		ia->record = record;
		ia->closing = false;
		reg.ia_next = h + 1;
		reg.ia_open++;
		if (h >= atomic_load_explicit(&reg.ia_top, memory_order_relaxed))
			atomic_store_explicit(&reg.ia_top, h + 1, memory_order_release);
		return h;
	}
	return 0;
}

/*
 * Makes a reserved handle valid. Release: a thread that finds the object finds what its provider
 * has put into it.
 */
void ia_publish_locked(unsigned int handle, DAT_IA_HANDLE object, const void *vtable,
		       DAT_RETURN (*close)(struct reg_opening *, const void *, DAT_IA_HANDLE))
{
	struct reg_ia *ia = ia_slot(handle);

	ia->close = close;
	ia->vtable = vtable;
	atomic_store_explicit(&ia->object, object, memory_order_release);
	ia->record->front->table_prefer_locked(vtable);
}

/*
 * Gives a handle back. A handle that was never published may be reused at once, because no program
 * has it.
 */
void ia_drop_locked(unsigned int handle)
{
	struct reg_ia *ia = ia_slot(handle);

	if (!ia->vtable && reg.ia_next == handle + 1)
		reg.ia_next = handle;
	atomic_store_explicit(&ia->object, NULL, memory_order_relaxed);
	ia->record = NULL;
	ia->vtable = NULL;
	reg.ia_open--;
}

/*
 * Returns which of two handles of one object programs know: the one whose table the object begins
 * with now. A wrapper returns the object of the IA beneath with the wrapper's own table in its
 * first word; only the wrapper uses the handle of the IA beneath. If a provider returned the same
 * object twice, it is the first argument.
 */
static unsigned int ia_uppermost(unsigned int a, unsigned int b, DAT_IA_HANDLE object)
{
	const void *vtable;
	bool is_b;

	/* The object is open, or a thread has claimed it for closing; so it can be read. */
	vtable = __atomic_load_n((const void **)object, __ATOMIC_RELAXED);
	pthread_mutex_lock(&reg.lock);
	is_b = ia_slot(a)->vtable != vtable && ia_slot(b)->vtable == vtable;
	pthread_mutex_unlock(&reg.lock);
	return is_b ? b : a;
}

/* Returns the handle of a provider's object, or 0 if it has none. */
unsigned int ia_handle_of(DAT_IA_HANDLE object)
{
	unsigned int h = atomic_load_explicit(&reg.ia_top, memory_order_acquire);
	unsigned int found = 0;
	struct reg_ia *ia;

	if ((uintptr_t)object < REG_POINTER_MIN)
		return 0;
	while (h-- > 1) {
		ia = ia_slot(h);
		if (ia && atomic_load_explicit(&ia->object, memory_order_acquire) == object)
			found = found ? ia_uppermost(found, h, object) : h;
	}
	return found;
}

/*
 * Returns the object of a handle, or NULL. Acquire pairs with the release in ia_publish_locked: a
 * thread that sees the object sees what the provider put into it. A value that is not a small
 * integer is taken for the provider's pointer, which is valid only while that IA is open, and is
 * not dereferenced.
 */
DAT_IA_HANDLE datreg_ia_object(DAT_IA_HANDLE handle)
{
	uintptr_t h = (uintptr_t)handle;
	struct reg_ia *ia;

	if (REG_UNLIKELY(h >= REG_POINTER_MIN))
		return ia_handle_of(handle) ? handle : NULL;
	ia = ia_slot((unsigned int)h);
	return ia ? atomic_load_explicit(&ia->object, memory_order_acquire) : NULL;
}

DAT_HANDLE datreg_handle_shown(DAT_HANDLE handle)
{
	unsigned int h = ia_handle_of(handle);

	return h ? (DAT_HANDLE)(uintptr_t)h : handle;
}

/*
 * Translates between the handle and the object of an IA: 1.2 plugins pass a handle, 2.0 plugins a
 * pointer, and the value itself shows which of them it is. Handles are unique across the APIs, so
 * it does not matter whose plugin calls.
 */
DAT_RETURN datreg_ia_translate(const struct reg_front *front, unsigned long handle,
			       DAT_IA_HANDLE *ia_handle)
{
	DAT_IA_HANDLE result;

	if (!ia_handle)
		return reg_argument(front, 2);
	if (handle >= REG_POINTER_MIN)
		result = (DAT_IA_HANDLE)(uintptr_t)ia_handle_of((DAT_IA_HANDLE)handle);
	else
		result = datreg_ia_object((DAT_IA_HANDLE)handle);
	if (!result)
		return REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	*ia_handle = result;
	return DAT_SUCCESS;
}

void ia_free_locked(void)
{
	int i;

	for (i = 0; i < REG_IA_CHUNKS; i++)
		free(atomic_exchange(&reg.ias[i], NULL));
	atomic_store(&reg.ia_top, 0);
}

DAT_RETURN datreg_refused(const char *function, DAT_HANDLE handle, DAT_RETURN why)
{
	const char *end = strstr(function, "_unusual");
	int length = end ? (int)(end - function) : (int)strlen(function);
	struct cancel own;

	if (!diag_wanted(DIAG_CONSUMER))
		return why;
	own = cancel_off();
	if (DAT_GET_TYPE(why) == DAT_NOT_IMPLEMENTED)
		diag_print(DIAG_CONSUMER, "%.*s: the provider of %p does not have this call", length, function, handle);
	else if (handle == DAT_HANDLE_NULL)
		diag_print(DIAG_CONSUMER, "%.*s: the handle is DAT_HANDLE_NULL", length, function);
	else
		diag_print(DIAG_CONSUMER,
			   "%.*s: %p is no handle of an open adapter or its objects; it may have been freed or "
			   "closed, or be of the process from which this one was forked", length, function, handle);
	cancel_restore(own);
	return why;
}
