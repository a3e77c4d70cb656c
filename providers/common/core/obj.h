/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of objects. One slot holds [private part][obj_hdr][public head][plugin's part]; the
 * handle is the address of the public head. Slots are type-stable: their memory is never unmapped,
 * and never holds an object of another type, so a stale handle is always safe to look at.
 */
#ifndef OBJ_H
#define OBJ_H

#include <datp/provider.h>

struct obj_pool;

/*
 * Directly in front of the public head. A multiple of 16 bytes, so that private parts stay aligned.
 */
struct obj_hdr {
	/* Live: the IA's list (IA lock); free: the pool's (pool lock). */
	struct datp_obj *next, *prev;
	struct obj_pool *pool; /* set once */
	bool counted;	       /* takes part in its IA's limits */
};

struct obj_list {
	struct datp_obj *first, *last;
	uint32_t count; /* allocated, on the list or not yet (or no longer) */
};

/* The private part of an object; `type` is at most 16-aligned. */
#define OBJ_PRIV(type, obj) ((type *)((char *)(obj) - sizeof(struct obj_hdr)) - 1)

/*
 * A new object, all zero but for the head, which knows its IA. Nobody can see it before
 * obj_publish(). Fails beyond the IA's limit for the type. `size`: of the public head and the
 * plugin's part. Pair with obj_release(). Takes the IA lock.
 */
enum datp_err obj_alloc(struct datp_ia *ia, enum datp_type type, size_t priv, size_t size,
			struct datp_obj **out);

/*
 * Makes the handle valid and puts the object on its IA's list. Fails if the IA is being closed. IA
 * lock inside.
 */
enum datp_err obj_publish(void *obj);

/*
 * The end of a handle: takes tag and vtable away and the object off its IA's list, unless something
 * depends on it (`busy` is returned then) or another thread was faster (`gone`). `force`: whoever
 * depends on it. IA lock inside.
 */
enum datp_err obj_retire(void *obj, bool force, enum datp_err busy, enum datp_err gone);

/* Gives the memory back; of a retired object or one never published. IA lock inside. */
void obj_release(void *obj);

/*
 * The live object behind a handle, or NULL. For handles that libdat has not looked at: safe for any
 * value whatsoever. `ia`: it must belong to that IA; NULL: any.
 */
void *obj_get(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type);

/* obj_get(), and a count in obj.users that keeps the object from being freed. IA lock inside. */
void *obj_hold(struct datp_ia *ia, DAT_HANDLE handle, enum datp_type type);
void obj_drop(void *obj); /* NULL is fine */

/* The type of a live object, or -1. Safe for any value. */
int obj_type(DAT_HANDLE handle);

/* The first on the IA's list of a type, or NULL. IA lock inside. */
void *obj_first(struct datp_ia *ia, enum datp_type type);

/* The next on the same list. IA lock held. */
static inline struct datp_obj *obj_next(struct datp_obj *obj)
{
	return ((struct obj_hdr *)obj - 1)->next;
}

/* In a forked child: every handle dies, and no slot is used again. No locks. */
void obj_forget_all(void);

#endif
