/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of objects. One slot holds [private part][obj_hdr][public head][plugin's part]; the
 * handle is the address of the public head. Slots are type-stable: their memory is never unmapped,
 * and never holds an object of another type, so a stale handle can always be read safely.
 */
#ifndef OBJ_H
#define OBJ_H

#include <datp/provider.h>

struct obj_pool;

/* Directly before the public head. A multiple of 16 bytes, so that private parts stay aligned. */
struct obj_hdr {
	/* Live: the IA's list (IA lock); free: the pool's (pool lock). */
	struct datp_obj *next, *prev;
	struct obj_pool *pool; /* set once */
	bool counted;	       /* counts against its IA's limit */
};

struct obj_list {
	struct datp_obj *first, *last;
	uint32_t count; /* allocated, whether on the list or not */
	uint64_t made, ended; /* published and retired so far */
};

/* The private part of an object; `type` is at most 16-aligned. */
#define OBJ_PRIV(type, obj) ((type *)((char *)(obj) - sizeof(struct obj_hdr)) - 1)

/*
 * Creates an object, all zero except the head, which has its IA. Nobody can see it before
 * obj_publish(). Fails beyond the IA's limit for the type. `size` is that of the public head and
 * the plugin's part. Pair with obj_release(). Takes the IA lock.
 */
enum datp_err obj_alloc(struct datp_ia *ia, enum datp_type type, size_t priv, size_t size,
			struct datp_obj **out);

/*
 * Makes the handle valid and puts the object on its IA's list. Fails if the IA is being closed. IA
 * lock inside.
 */
enum datp_err obj_publish(void *obj);

/*
 * Ends a handle: removes tag and vtable, and takes the object off its IA's list, unless something
 * depends on it (returns `busy`) or another thread was first (returns `gone`). `force`: whatever
 * depends on it. IA lock inside.
 */
enum datp_err obj_retire(void *obj, bool force, enum datp_err busy, enum datp_err gone);

/* Frees the memory of an object that was retired or never published. IA lock inside. */
void obj_release(void *obj);

/*
 * Returns the live object of a handle, or NULL. For handles that libdat has not checked: safe for
 * any value. `ia`: it must belong to that IA; NULL: any.
 */
void *obj_get(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type);

/*
 * As obj_get(), and adds a reference in obj.users that keeps the object from being freed. IA lock
 * inside.
 */
void *obj_hold(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type);
void obj_drop(void *obj); /* NULL is allowed */

/*
 * Returns how often the memory of the object has been reused, which tells an object from a later one in its place. relaxed: the
 * caller excludes a free meanwhile, or finds another value afterwards.
 */
static inline uint32_t obj_gen(const struct datp_obj *obj)
{
	return __atomic_load_n(&obj->gen, __ATOMIC_RELAXED);
}

/* Returns the type of a live object, or -1. Safe for any value. */
int obj_type(DAT_HANDLE handle);

/* Returns the first object on the IA's list of a type, or NULL. IA lock inside. */
void *obj_first(struct datp_ia *ia, enum datp_type type);

/* Returns the next one on the same list. IA lock held. */
static inline struct datp_obj *obj_next(struct datp_obj *obj)
{
	return ((struct obj_hdr *)obj - 1)->next;
}

/* In a forked child: every handle becomes invalid, and no slot is used again. No locks. */
void obj_forget_all(void);

#endif
