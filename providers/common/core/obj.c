/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the memory of all objects. Invariant: a slot belongs to one pool, and so to one type, for
 * ever; its tag is non-zero exactly while its handle is valid.
 *
 * Chunks are aligned to their size and listed in a table without locks, so any number can be tested
 * for being a handle. Free slots go to the end of a queue and fresh ones are used first, so that a
 * handle is reused late.
 */
#include <string.h>
#include <sys/mman.h>

#include "core.h"

enum {
	CHUNK_SIZE = 1 << 20,
	CHUNK_SLOTS = 1 << 13, /* enough for 8 GB of objects */
	HEAD_ALIGN = 64,
	MAX_POOLS = 256,
};

/* At the start of every chunk. Never changes. */
struct chunk {
	struct obj_pool *pool;
};

struct obj_pool {
	enum datp_type type; /* this line and the next two never change */
	size_t priv, size;
	/* the offset of the first public head in a chunk, and the distance between two */
	size_t first, stride;
	struct datp_obj *free_first, *free_last; /* pool lock */
	char *fresh, *end; /* heads never used, of the newest chunk (pool lock) */
};

static struct {
	_Atomic uint32_t lock; /* one pool lock for all pools; no other lock is taken under it */
	struct obj_pool pools[MAX_POOLS];
	uint32_t pool_count;
	/* A hash set of chunk addresses; addresses are only added. */
	_Atomic uintptr_t chunks[CHUNK_SLOTS];
	uint32_t chunk_count;
} mem;

static struct obj_hdr *hdr_of(void *obj)
{
	return (struct obj_hdr *)obj - 1;
}

static size_t chunk_hash(uintptr_t chunk)
{
	return (size_t)(((uint64_t)chunk / CHUNK_SIZE * UINT64_C(0x9E3779B97F4A7C15)) >> 40) %
	       CHUNK_SLOTS;
}

static struct chunk *chunk_find(const void *address)
{
	uintptr_t chunk = (uintptr_t)address & ~(uintptr_t)(CHUNK_SIZE - 1);

	if (!chunk)
		return NULL;
	for (size_t i = chunk_hash(chunk);; i = (i + 1) % CHUNK_SLOTS) {
		/* acquire: the chunk's head was written before it was listed */
		uintptr_t entry = atomic_load_explicit(&mem.chunks[i], memory_order_acquire);

		if (entry == chunk)
			return (struct chunk *)chunk;
		if (!entry)
			return NULL;
	}
}

/* LeakSanitizer searches for pointers in malloc's memory only, but objects have pointers too. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define REGISTER_ROOT(start, size) __lsan_register_root_region(start, size)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define REGISTER_ROOT(start, size) __lsan_register_root_region(start, size)
#endif
#endif
#ifndef REGISTER_ROOT
#define REGISTER_ROOT(start, size) ((void)0)
#endif

/* Maps an aligned piece of fresh, zeroed address space. */
static void *chunk_map(void)
{
	char *base = mmap(NULL, 2 * CHUNK_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *chunk;
	size_t before;

	if (base == MAP_FAILED)
		return NULL;
	chunk = (char *)(((uintptr_t)base + CHUNK_SIZE - 1) & ~(uintptr_t)(CHUNK_SIZE - 1));
	before = (size_t)(chunk - base);
	if (before)
		munmap(base, before);
	if (before < CHUNK_SIZE)
		munmap(chunk + CHUNK_SIZE, CHUNK_SIZE - before);
	return chunk;
}

static bool pool_grow_locked(struct obj_pool *pool)
{
	struct chunk *chunk;
	size_t i;

	if (mem.chunk_count >= CHUNK_SLOTS / 2)
		return false; /* the limit keeps the look-up short */
	chunk = chunk_map();
	if (!chunk)
		return false;
	REGISTER_ROOT(chunk, CHUNK_SIZE);
	chunk->pool = pool;
	for (i = chunk_hash((uintptr_t)chunk);
	     atomic_load_explicit(&mem.chunks[i], memory_order_relaxed);)
		i = (i + 1) % CHUNK_SLOTS;
	/* release: pairs with chunk_find() */
	atomic_store_explicit(&mem.chunks[i], (uintptr_t)chunk, memory_order_release);
	mem.chunk_count++;
	pool->fresh = (char *)chunk + pool->first;
	pool->end = (char *)chunk + CHUNK_SIZE;
	return true;
}

static size_t align_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static struct obj_pool *pool_get_locked(enum datp_type type, size_t priv, size_t size)
{
	struct obj_pool *pool;
	size_t first = align_up(sizeof(struct chunk) + priv + sizeof(struct obj_hdr), HEAD_ALIGN);
	size_t stride = align_up(size + priv + sizeof(struct obj_hdr), HEAD_ALIGN);

	for (pool = mem.pools; pool < mem.pools + mem.pool_count; pool++)
		if (pool->type == type && pool->priv == priv && pool->size == size)
			return pool;
	if (first + size > CHUNK_SIZE || mem.pool_count == MAX_POOLS)
		return NULL;
	pool->type = type;
	pool->priv = priv;
	pool->size = size;
	pool->first = first;
	pool->stride = stride;
	mem.pool_count++;
	return pool;
}

static struct datp_obj *pool_take(enum datp_type type, size_t priv, size_t size)
{
	struct obj_pool *pool;
	struct datp_obj *obj = NULL;

	datp_lock(&mem.lock);
	pool = pool_get_locked(type, priv, size);
	if (!pool)
		goto unlock;
	if (pool->fresh && pool->fresh + size <= pool->end) {
		obj = (struct datp_obj *)(void *)pool->fresh;
		pool->fresh += pool->stride;
	} else if (pool->free_first) {
		obj = pool->free_first;
		pool->free_first = hdr_of(obj)->next;
		if (!pool->free_first)
			pool->free_last = NULL;
	} else if (pool_grow_locked(pool)) {
		obj = (struct datp_obj *)(void *)pool->fresh;
		pool->fresh += pool->stride;
	}
	if (obj)
		hdr_of(obj)->pool = pool;
unlock:
	datp_unlock(&mem.lock);
	return obj;
}

static void pool_give(struct datp_obj *obj)
{
	struct obj_hdr *hdr = hdr_of(obj);
	struct obj_pool *pool = hdr->pool;

	datp_lock(&mem.lock);
	__atomic_store_n(&obj->gen, obj->gen + 1, __ATOMIC_RELAXED); /* relaxed: see obj_gen() */
	hdr->next = NULL;
	if (pool->free_last)
		hdr_of(pool->free_last)->next = obj;
	else
		pool->free_first = obj;
	pool->free_last = obj;
	datp_unlock(&mem.lock);
}

/* Counts an object against its IA's limit. */
static enum datp_err limit_take(struct datp_ia *ia, enum datp_type type)
{
	struct ia_priv *priv = ia_priv(ia);
	enum datp_err err = DATP_OK;
	uint32_t limit;

	limit = ia_limit(ia, type, &err);
	datp_lock(&priv->lock);
	if (priv->live[type].count < limit) {
		priv->live[type].count++;
		err = DATP_OK;
	}
	datp_unlock(&priv->lock);
	return err;
}

static void limit_give(struct datp_ia *ia, enum datp_type type)
{
	struct ia_priv *priv = ia_priv(ia);

	datp_lock(&priv->lock);
	priv->live[type].count--;
	datp_unlock(&priv->lock);
}

enum datp_err obj_alloc(struct datp_ia *ia, enum datp_type type, size_t priv, size_t size,
			struct datp_obj **out)
{
	struct datp_obj *obj;
	enum datp_err err;

	if (ia) {
		err = limit_take(ia, type);
		if (err)
			return err;
	}
	obj = pool_take(type, priv, size);
	if (!obj)
		goto give_limit;
	/* The head is left alone, because a stale handle may be read at the same time. */
	memset((char *)hdr_of(obj) - priv, 0, priv);
	memset(obj + 1, 0, size - sizeof(*obj));
	hdr_of(obj)->next = hdr_of(obj)->prev = NULL;
	hdr_of(obj)->counted = ia != NULL;
	obj->ia = ia ? ia : (struct datp_ia *)obj;
	obj->context.as_64 = 0;
	atomic_store_explicit(&obj->users, 0, memory_order_relaxed);
	*out = obj;
	return DATP_OK;

give_limit:
	if (ia)
		limit_give(ia, type);
	return DATP_ERR_MEMORY;
}

/*
 * relaxed: libdat reads this word of a stale handle at any time, and finds a live table or none;
 * the contents of a fresh handle's table were there when its plugin registered.
 */
static void vtable_set(struct datp_obj *obj, const void *table)
{
	__atomic_store_n(&obj->vtable, table, __ATOMIC_RELAXED);
}

enum datp_err obj_publish(void *object)
{
	struct datp_obj *obj = object;
	struct ia_priv *priv = ia_priv(obj->ia);
	enum datp_type type = hdr_of(obj)->pool->type;
	struct obj_list *list = &priv->live[type];
	enum datp_err err = DATP_ERR_HANDLE_IA;

	datp_lock(&priv->lock);
	if (!priv->closing) {
		list->made++;
		if (obj != &obj->ia->obj) { /* an IA is on no list of its own */
			hdr_of(obj)->prev = list->last;
			if (list->last)
				hdr_of(list->last)->next = obj;
			else
				list->first = obj;
			list->last = obj;
		}
		vtable_set(obj, priv->plugin->table);
		/* release: a thread that sees the tag sees the object */
		atomic_store_explicit(&obj->tag, DATP_TAG(type), memory_order_release);
		err = DATP_OK;
	}
	datp_unlock(&priv->lock);
	return err;
}

static void unlink_locked(struct obj_list *list, struct datp_obj *obj)
{
	struct obj_hdr *hdr = hdr_of(obj);

	if (hdr->prev)
		hdr_of(hdr->prev)->next = hdr->next;
	else if (list->first == obj)
		list->first = hdr->next;
	if (hdr->next)
		hdr_of(hdr->next)->prev = hdr->prev;
	else if (list->last == obj)
		list->last = hdr->prev;
	hdr->next = hdr->prev = NULL;
}

enum datp_err obj_retire(void *object, bool force, enum datp_err busy, enum datp_err gone)
{
	struct datp_obj *obj = object;
	struct ia_priv *priv = ia_priv(obj->ia);
	enum datp_type type = hdr_of(obj)->pool->type;
	enum datp_err err = DATP_OK;

	datp_lock(&priv->lock);
	/*
	 * relaxed: it changes under the lock. users, acquire: everything before obj_drop() is done.
	 */
	if (atomic_load_explicit(&obj->tag, memory_order_relaxed) != DATP_TAG(type)) {
		err = gone;
	} else if (atomic_load_explicit(&obj->users, memory_order_acquire) && !force) {
		err = busy;
	} else {
		atomic_store_explicit(&obj->tag, 0, memory_order_relaxed);
		vtable_set(obj, NULL);
		unlink_locked(&priv->live[type], obj);
		priv->live[type].ended++;
	}
	datp_unlock(&priv->lock);
	return err;
}

void obj_release(void *object)
{
	struct datp_obj *obj = object;

	if (hdr_of(obj)->counted)
		limit_give(obj->ia, hdr_of(obj)->pool->type);
	pool_give(obj);
}

/* Returns the slot that any number points at, or NULL if the number points at none. */
static struct datp_obj *slot_of(DAT_HANDLE handle)
{
	struct chunk *chunk = chunk_find(handle);
	size_t offset;

	if (!chunk)
		return NULL;
	offset = (size_t)((char *)handle - (char *)chunk);
	if (offset < chunk->pool->first || (offset - chunk->pool->first) % chunk->pool->stride ||
	    offset + chunk->pool->size > CHUNK_SIZE)
		return NULL;
	return handle;
}

void *obj_get(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type)
{
	struct datp_obj *obj = slot_of(handle);

	/* acquire: pairs with obj_publish() */
	if (!obj || atomic_load_explicit(&obj->tag, memory_order_acquire) != DATP_TAG(type))
		return NULL;
	return !ia || obj->ia == ia ? obj : NULL;
}

void *obj_hold(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type)
{
	struct datp_obj *obj = obj_get(ia, handle, type);
	struct ia_priv *priv;

	if (!obj)
		return NULL;
	priv = ia_priv(obj->ia);
	datp_lock(&priv->lock);
	/* relaxed: it changes under the lock */
	if (atomic_load_explicit(&obj->tag, memory_order_relaxed) == DATP_TAG(type))
		atomic_fetch_add_explicit(&obj->users, 1, memory_order_relaxed);
	else
		obj = NULL;
	datp_unlock(&priv->lock);
	return obj;
}

void obj_drop(void *object)
{
	struct datp_obj *obj = object;

	/* release: the actions of this user come before the free that it now allows */
	if (obj)
		atomic_fetch_sub_explicit(&obj->users, 1, memory_order_release);
}

int obj_type(DAT_HANDLE handle)
{
	struct datp_obj *obj = slot_of(handle);
	uint32_t tag = obj ? atomic_load_explicit(&obj->tag, memory_order_acquire) : 0;

	return tag ? (int)(tag - DATP_TAG(0)) : -1;
}

void *obj_first(struct datp_ia *ia, enum datp_type type)
{
	struct ia_priv *priv = ia_priv(ia);
	void *obj;

	datp_lock(&priv->lock);
	obj = priv->live[type].first;
	datp_unlock(&priv->lock);
	return obj;
}

static void chunk_kill(struct chunk *chunk)
{
	const struct obj_pool *pool = chunk->pool;

	for (size_t at = pool->first; at + pool->size <= CHUNK_SIZE; at += pool->stride) {
		struct datp_obj *obj = (struct datp_obj *)(void *)((char *)chunk + at);

		if (!hdr_of(obj)->pool)
			break; /* this slot was never used, nor were those after it */
		if (!atomic_load_explicit(&obj->tag, memory_order_relaxed))
			continue; /* no write, so that the kernel need not copy the page */
		atomic_store_explicit(&obj->tag, 0, memory_order_relaxed);
		vtable_set(obj, NULL);
	}
}

void obj_forget_all(void)
{
	for (size_t i = 0; i < CHUNK_SLOTS; i++) {
		uintptr_t chunk = atomic_load_explicit(&mem.chunks[i], memory_order_relaxed);

		if (chunk)
			chunk_kill((struct chunk *)chunk);
	}
	/*
	 * A thread that the child does not have may have been changing it, so nothing of it is used
	 * again.
	 */
	atomic_store_explicit(&mem.lock, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < mem.pool_count; i++) {
		mem.pools[i].free_first = mem.pools[i].free_last = NULL;
		mem.pools[i].fresh = mem.pools[i].end = NULL;
	}
}
