/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A front: the set of the tables of its providers, and the few inline functions that stand between
 * a consumer's call and the provider's. This folder is compiled once for each API: for libdat.so.1
 * with the headers of DAT 1.2, for libdat2.so.2 with those of DAT 2.0. api.h, of which dat12/ and
 * dat20/ have one each, says which headers these are; calls.c beside it has the calls whose arguments
 * differ.
 *
 * The library is compiled with hidden visibility, and exports only what the standard's headers
 * declare, and dats_get_ia_handle().
 */
#ifndef REGISTRY_FRONT_H
#define REGISTRY_FRONT_H

#include "api.h"
#include "registry/core.h"

#include <stdatomic.h>

#pragma GCC visibility push(default)
extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia_handle);
#pragma GCC visibility pop

#pragma GCC visibility push(hidden)

/* The set of vtables that objects may begin with: a list of chunks that only ever grows. */
#define REG_VTABLE_CHUNK 62
struct reg_vtables {
	_Atomic(const DAT_PROVIDER *) vtable[REG_VTABLE_CHUNK];
	_Atomic(struct reg_vtables *) next;
	unsigned int refs[REG_VTABLE_CHUNK];	/* reg.lock */
	bool whole[REG_VTABLE_CHUNK];		/* reg.lock: has all slots that a `hot` vtable needs, see is_whole() */
};

struct front {
	/*
	 * The vtable with which the object of the next handle most likely begins. A handle whose
	 * first word equals it is an object of a live provider that has the posts to endpoints and
	 * evd_dequeue_func, so the data path does not test for these slots. It is never NULL, so
	 * that there is no test for that either.
	 */
	_Atomic(const DAT_PROVIDER *) hot;
	struct reg_vtables vtables;
};

extern struct front front;

/* front.c */
extern const struct reg_front this_front;

/* vtables.c */
int vtables_add_locked(const void *vtable);
void vtables_remove_locked(const void *vtable);
void vtables_prefer_locked(const void *vtable);
void vtables_free_locked(void);
extern const DAT_PROVIDER vtables_none;
const DAT_PROVIDER *vtables_find(const DAT_PROVIDER *vtable);

/* probe.c */
const DAT_PROVIDER *probe_provider(DAT_HANDLE handle);
void probe_forget(void);

/*
 * Returns the provider behind any handle except an IA's, or NULL unless the first word of the
 * object is the vtable of a live provider. A value that is not a pointer is not read. A freed
 * handle, or the address of something else, is recognised by its first word. That word has to be
 * mapped, so this is for the data path, and probe_provider() for all other calls. Relaxed loads are
 * enough: the handle reached this thread from the thread that created the object, and so did the
 * contents of the vtable; the comparison itself needs no order.
 */
static inline const DAT_PROVIDER *reg_provider(DAT_HANDLE handle)
{
	const DAT_PROVIDER *p;

	if (!reg_handle_is_pointer(handle))
		return NULL;
	p = __atomic_load_n((const DAT_PROVIDER **)handle, __ATOMIC_RELAXED);
	return vtables_find(p);
}

/*
 * Returns whether a vtable is the likely one. Relaxed: as above. On x86-64 it is written in assembly, because compilers
 * do not merge an atomic load and a comparison into one instruction.
 */
static inline bool reg_is_hot(const DAT_PROVIDER *p)
{
#if defined(__x86_64__) && defined(__LP64__)
	bool is;

	__asm__("cmpq %2, %1" : "=@cce"(is) : "m"(front.hot), "r"(p));
	return is;
#else
	return p == atomic_load_explicit(&front.hot, memory_order_relaxed);
#endif
}

/*
 * Like reg_provider(), but returns NULL unless the provider is the likely one, and calls no function. It
 * does not check for a misaligned handle: the word that such a handle points at is not the likely vtable's
 * address, and reg_provider() refuses the handle then.
 */
REG_MISALIGNED static inline const DAT_PROVIDER *reg_hot_provider(DAT_HANDLE handle)
{
	const DAT_PROVIDER *p;

	if (REG_UNLIKELY((uintptr_t)handle < REG_POINTER_MIN))
		return NULL;
	p = __atomic_load_n((const DAT_PROVIDER **)handle, __ATOMIC_RELAXED);
	if (REG_UNLIKELY(!reg_is_hot(p)))
		return NULL;
	if (!p)
		__builtin_unreachable();
	return p;
}

/*
 * Returns the provider behind an object from the table of IAs, which all fronts share, or NULL if
 * the IA belongs to another front, whose tables have another layout.
 */
static inline const DAT_PROVIDER *reg_ia_provider(DAT_IA_HANDLE object)
{
	return vtables_find(__atomic_load_n((const DAT_PROVIDER **)object, __ATOMIC_RELAXED));
}

/* Passes a call on by the object that it is about. `sub` is the subtype for a bad handle. */
#define REG_DISPATCH_BY(find, handle, sub, slot, ...) do {					\
	const DAT_PROVIDER *provider_ = find(handle);						\
												\
	if (REG_UNLIKELY(!provider_))								\
		return datreg_refused(__func__, handle, REG_ERROR(DAT_INVALID_HANDLE, sub));	\
	if (REG_UNLIKELY(!provider_->slot))							\
		return datreg_refused(__func__, handle, REG_ERROR(DAT_NOT_IMPLEMENTED, 0));	\
	return provider_->slot(__VA_ARGS__);							\
} while (0)
#define REG_DISPATCH(handle, ...)	REG_DISPATCH_BY(probe_provider, handle, __VA_ARGS__)

/*
 * Defines a whole call of the data path. It is passed on after a few comparisons. The unusual cases
 * (another provider than the likely one, a bad handle, a provider without the call) are in a
 * function of its own, so that the usual path needs no stack. `parameters` are written as they are
 * declared, the arguments after them as they are passed.
 */
#define REG_DISPATCH_FAST(call, ...)	REG_DISPATCH_IF(provider, call, __VA_ARGS__)
/* The same, where the likely provider may be one without the call. */
#define REG_DISPATCH_TESTED(call, handle, sub, slot, ...)					\
	REG_DISPATCH_IF(provider && provider->slot, call, handle, sub, slot, __VA_ARGS__)
#define REG_DISPATCH_IF(usual, call, handle, sub, slot, parameters, ...)			\
static REG_COLD DAT_RETURN call##_unusual parameters						\
{												\
	REG_DISPATCH_BY(reg_provider, handle, sub, slot, __VA_ARGS__);				\
}												\
DAT_RETURN call parameters									\
{												\
	const DAT_PROVIDER *provider = reg_hot_provider(handle);				\
												\
	if (REG_LIKELY(usual))									\
		return provider->slot(__VA_ARGS__);						\
	return call##_unusual(__VA_ARGS__);							\
}

/*
 * Passes a call on by its IA. The arguments after `slot` may use the provider's object as
 * ia_object.
 */
#define REG_DISPATCH_IA(handle, slot, ...) do {							\
	DAT_IA_HANDLE ia_object = datreg_ia_object(handle);					\
	const DAT_PROVIDER *provider_ = ia_object ? reg_ia_provider(ia_object) : NULL;		\
												\
	if (REG_UNLIKELY(!provider_))								\
		return datreg_refused(__func__, handle,						\
				      REG_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));	\
	if (REG_UNLIKELY(!provider_->slot))							\
		return datreg_refused(__func__, handle, REG_ERROR(DAT_NOT_IMPLEMENTED, 0));	\
	return provider_->slot(__VA_ARGS__);							\
} while (0)

/*
 * The same for a query whose result names the IA. Existing plugins put their own pointer there; the
 * consumer gets the handle that it knows.
 */
#define REG_DISPATCH_QUERY(handle, sub, slot, mask, field, param) do {				\
	const DAT_PROVIDER *provider_ = probe_provider(handle);					\
	DAT_RETURN rc_;										\
												\
	if (REG_UNLIKELY(!provider_))								\
		return datreg_refused(__func__, handle, REG_ERROR(DAT_INVALID_HANDLE, sub));	\
	if (REG_UNLIKELY(!provider_->slot))							\
		return datreg_refused(__func__, handle, REG_ERROR(DAT_NOT_IMPLEMENTED, 0));	\
	rc_ = provider_->slot(handle, mask, param);						\
	if (rc_ == DAT_SUCCESS && (param) && ((mask) & (field)))				\
		(param)->ia_handle = datreg_handle_shown((param)->ia_handle);			\
	return rc_;										\
} while (0)

#pragma GCC visibility pop

#endif
