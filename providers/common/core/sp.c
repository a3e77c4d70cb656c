/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns service points. Invariant: a connection request is accepted under the service point lock and only while
 * the point is not `closed`; so a free either comes first, or finds the request with its CR
 * created, and an RSP creates at most one. An RSP that has had its request is used up: from then on
 * it has no qualifier and no EVD, but its handle stays valid until rsp_free().
 */
#include <stdlib.h>
#include <unistd.h>

#include "cm.h"
#include "diag.h"
#include "ep.h"
#include "providers/common/base/pause.h"

enum {
	ANY_FIRST = 1024,	/* lower ones are privileged */
	ANY_LAST = 65535,
};

/*
 * The RSPs that are used up, and whose part in the transport is not closed yet. None of them is
 * released before that is closed.
 */
static struct {
	_Atomic uint32_t lock;
	struct datp_sp *first;	/* linked by sp_priv.next */
	uint32_t closed;	/* the number of those closed so far */
} used_up;

bool sp_is_rsp(const struct datp_sp *sp)
{
	return sp->ep != NULL;
}

static bool sp_is_closed(struct datp_sp *sp)
{
	bool closed;

	datp_lock(&sp_priv(sp)->lock);
	closed = sp_priv(sp)->closed;
	datp_unlock(&sp_priv(sp)->lock);
	return closed;
}

uint32_t rsp_count_used_up_locked(struct ia_priv *priv)
{
	uint32_t count = 0;

	for (struct datp_obj *obj = priv->live[DATP_RSP].first; obj; obj = obj_next(obj))
		count += sp_is_closed((struct datp_sp *)obj);
	return count;
}

struct datp_sp *sp_find(struct datp_ia *ia, uint64_t qual)
{
	static const enum datp_type types[] = { DATP_PSP, DATP_RSP };
	struct ia_priv *priv = ia_priv(ia);
	struct datp_sp *found = NULL;

	datp_lock(&priv->lock);
	for (int i = 0; i < 2 && !found; i++)
		for (struct datp_obj *obj = priv->live[types[i]].first; obj; obj = obj_next(obj)) {
			struct datp_sp *sp = (struct datp_sp *)obj;

			/* By now the qualifier of a used up RSP may belong to another point. */
			if (sp->qual == qual && !sp_is_closed(sp))
				found = sp;
		}
	datp_unlock(&priv->lock);
	return found;
}

/* relaxed: this only clears a pointer to `sp`, and the thread that creates the CR of another point writes another value */
static void forget_in(struct datp_sp **where, struct datp_sp *sp)
{
	if (__atomic_load_n(where, __ATOMIC_RELAXED) == sp)
		__atomic_store_n(where, NULL, __ATOMIC_RELAXED);
}

/* Requests that have arrived stay when the point is freed. */
static void forget_in_requests(struct datp_sp *sp)
{
	struct ia_priv *priv = ia_priv(sp->obj.ia);

	datp_lock(&priv->lock);
	for (struct datp_obj *obj = priv->live[DATP_CR].first; obj; obj = obj_next(obj))
		forget_in(&((struct datp_cr *)obj)->sp, sp);
	datp_unlock(&priv->lock);
}

/* ------------------------------------------------------------------ the end */

void sp_forget_all(void)
{
	atomic_store_explicit(&used_up.lock, 0, memory_order_relaxed);
	used_up.first = NULL;
}

static void sp_leave_evd(struct datp_sp *sp)
{
	evd_detach(sp->evd, STREAM_OTHER);
	obj_drop(sp->evd);
}

/* Returns the pointer to an RSP in the list, or to the NULL at its end. The list's lock is held. */
static struct datp_sp **used_up_at_locked(const struct datp_sp *sp)
{
	struct datp_sp **at = &used_up.first;

	while (*at && *at != sp)
		at = &sp_priv(*at)->next;
	return at;
}

static void used_up_remove(struct datp_sp *sp)
{
	struct datp_sp **at;

	datp_lock(&used_up.lock);
	at = used_up_at_locked(sp);
	if (*at)
		*at = sp_priv(sp)->next;
	used_up.closed++;
	datp_unlock(&used_up.lock);
}

static bool used_up_has(const struct datp_sp *sp)
{
	bool has;

	datp_lock(&used_up.lock);
	has = *used_up_at_locked(sp) != NULL;
	datp_unlock(&used_up.lock);
	return has;
}

static uint32_t used_up_count(void)
{
	uint32_t closed;

	datp_lock(&used_up.lock);
	closed = used_up.closed;
	datp_unlock(&used_up.lock);
	return closed;
}

/*
 * Closes the transport's part, which needs no EVD, unless another thread closes or has closed it.
 * The point may have been released by then, so only the list is accessed.
 */
static void close_used_up(void *arg)
{
	struct datp_sp *sp = arg;
	bool mine;

	datp_lock(&used_up.lock);
	mine = *used_up_at_locked(sp) && !sp_priv(sp)->closing;
	if (mine)
		sp_priv(sp)->closing = true;
	datp_unlock(&used_up.lock);
	if (!mine)
		return;
	sp->obj.ia->ops->sp_close(sp);
	used_up_remove(sp);
}

/* Waits until the upcall that used the RSP up, which is about to return, has finished. */
static void await_arrived(struct datp_sp *sp)
{
	bool arriving;

	for (unsigned int n = 0;; n++) {
		datp_lock(&sp_priv(sp)->lock);
		arriving = sp_priv(sp)->arriving;
		datp_unlock(&sp_priv(sp)->lock);
		if (!arriving)
			return;
		pause_briefly(n);
	}
}

static struct datp_sp *used_up_find(struct datp_ia *ia, uint64_t qual)
{
	struct datp_sp *sp;

	datp_lock(&used_up.lock);
	for (sp = used_up.first; sp && (sp->obj.ia != ia || sp->qual != qual);)
		sp = sp_priv(sp)->next;
	datp_unlock(&used_up.lock);
	return sp;
}

/* Returns true if an RSP at the qualifier has had its connection request, and is not on the list yet. */
static bool about_to_be_used_up(struct datp_ia *ia, uint64_t qual)
{
	struct ia_priv *priv = ia_priv(ia);
	bool used = false;

	datp_lock(&priv->lock);
	/* the new one is among them, and has the same qualifier */
	for (struct datp_obj *obj = priv->live[DATP_RSP].first; obj && !used; obj = obj_next(obj)) {
		struct datp_sp *sp = (struct datp_sp *)obj;

		if (sp->qual != qual)
			continue;
		datp_lock(&sp_priv(sp)->lock);
		used = sp_priv(sp)->arriving;
		datp_unlock(&sp_priv(sp)->lock);
	}
	datp_unlock(&priv->lock);
	return used;
}

/*
 * Closes a used up RSP that occupies the qualifier of a new service point. Returns true if there was
 * one, and it has been closed, here or by the service thread. An RSP is put on the list before it
 * ceases to be `arriving`, so `arriving` is checked first.
 */
static bool close_used_up_at(struct datp_ia *ia, uint64_t qual)
{
	for (unsigned int n = 0;; n++) {
		bool coming = about_to_be_used_up(ia, qual);
		struct datp_sp *sp = used_up_find(ia, qual);

		if (sp) {
			await_arrived(sp);
			close_used_up(sp);
			for (n = 0; used_up_find(ia, qual) == sp; n++)
				pause_briefly(n);
			return true;
		}
		if (!coming)
			return false;
		pause_briefly(n);
	}
}

/*
 * Called when the CR of an RSP's connection request exists: puts the RSP on the list of used up ones. So from the time that a
 * program can see the CR, a thread that wants the qualifier finds the RSP either on the list, or `arriving` among the live ones.
 */
void rsp_used(struct datp_sp *sp)
{
	struct datp_ia *ia = sp->obj.ia;

	datp_lock(&used_up.lock);
	sp_priv(sp)->next = used_up.first;
	used_up.first = sp;
	datp_unlock(&used_up.lock);
	forget_in_requests(sp);
	sp_leave_evd(sp);
	datp_lock(&sp_priv(sp)->lock);
	sp_priv(sp)->arriving = false;
	datp_unlock(&sp_priv(sp)->lock);
	/*
	 * This is an upcall of the transport about this very point, so the point cannot be closed
	 * here. A thread that waits in rsp_free() may close and release it from here on.
	 */
	datp_loop_call(ia, close_used_up, sp);
}

/* Ends an RSP that has been retired after its one connection request arrived; the endpoint now belongs to that request. */
static void used_up_end(struct datp_sp *sp)
{
	await_arrived(sp);
	close_used_up(sp);
	for (unsigned int n = 0; used_up_has(sp); n++)
		pause_briefly(n);	/* the service thread is closing it */
	obj_release(sp);
}

/* Closes and releases a service point that has been retired (obj_retire). */
static void sp_end(struct datp_sp *sp)
{
	bool used;

	datp_lock(&sp_priv(sp)->lock);
	used = sp_priv(sp)->closed;
	sp_priv(sp)->closed = true;
	datp_unlock(&sp_priv(sp)->lock);
	if (used) {
		used_up_end(sp);
		return;
	}
	sp->obj.ia->ops->sp_close(sp);
	/* A reserved endpoint is returned to the consumer. */
	if (sp_is_rsp(sp)) {
		datp_lock(&sp->ep->lock);
		ep_move_locked(sp->ep, EP_UNRESERVE);
		datp_unlock(&sp->ep->lock);
	}
	forget_in_requests(sp);
	sp_leave_evd(sp);
	obj_release(sp);
}

enum datp_err psp_free(struct datp_sp *sp)
{
	enum datp_err err = obj_retire(sp, true, DATP_OK, DATP_ERR_HANDLE_PSP);

	if (err)
		return err;
	ia_count(sp->obj.ia, COUNT_PSP_FREED);
	sp_end(sp);
	return DATP_OK;
}

enum datp_err rsp_free(struct datp_sp *sp)
{
	enum datp_err err = obj_retire(sp, true, DATP_OK, DATP_ERR_HANDLE_RSP);

	if (err)
		return err;
	ia_count(sp->obj.ia, COUNT_RSP_FREED);
	sp_end(sp);
	return DATP_OK;
}

void sp_destroy(struct datp_sp *sp)
{
	if (!obj_retire(sp, true, DATP_OK, DATP_ERR_HANDLE_PSP))
		sp_end(sp);
}

/* ------------------------------------------------------------------ creation */

static enum datp_err hold_evd(struct datp_ia *ia, DAT_EVD_HANDLE handle, struct datp_evd **evd)
{
	*evd = obj_hold(ia, handle, DATP_EVD);
	if (!*evd)
		return DATP_ERR_HANDLE_EVD_CR;
	if (!((*evd)->flags & DAT_EVD_CR_FLAG)) {
		obj_drop(*evd);
		return DATP_ERR_HANDLE_EVD_CR;
	}
	if (!evd_attach(*evd, STREAM_OTHER, false, NULL)) {
		obj_drop(*evd);
		return DATP_ERR_PARAM;
	}
	return DATP_OK;
}

static enum datp_err listen_at(struct datp_sp *sp)
{
	enum datp_err err;
	uint32_t closed;

	do {
		closed = used_up_count();
		err = sp->obj.ia->ops->sp_listen(sp);
		/* tries again if a used up RSP occupied the qualifier and has been closed, even if only after the attempt */
	} while (err == DATP_ERR_QUAL_IN_USE && (close_used_up_at(sp->obj.ia, sp->qual) ||
						 closed != used_up_count()));
	if (err)
		diag_listen(sp->obj.ia, sp->qual, err);
	return err;
}

/* `ep` is for an RSP. `listen` may choose the qualifier. */
static enum datp_err sp_create(struct datp_ia *ia, enum datp_type type, DAT_EVD_HANDLE evd,
			       struct datp_ep *ep, bool make_ep,
			       enum datp_err (*listen)(struct datp_sp *sp), uint64_t qual,
			       struct datp_sp **out)
{
	struct datp_obj *obj;
	struct datp_sp *sp;
	enum datp_err err = obj_alloc(ia, type, sizeof(struct sp_priv), ia->ops->sp_size, &obj);

	if (err)
		return err;
	sp = (struct datp_sp *)obj;
	sp->qual = qual;
	sp->ep = ep;
	sp_priv(sp)->make_ep = make_ep;
	err = hold_evd(ia, evd, &sp->evd);
	if (err)
		goto release;
	/*
	 * The first connection request may arrive before sp_listen returns, and its event contains the handle.
	 */
	err = obj_publish(sp);
	if (err)
		goto leave_evd;
	*out = sp;
	err = listen(sp);
	if (!err)
		return DATP_OK;

	obj_retire(sp, true, DATP_OK, DATP_OK);
leave_evd:
	sp_leave_evd(sp);
release:
	obj_release(sp);
	return err;
}

enum datp_err psp_create(struct datp_ia *ia, uint64_t qual, DAT_EVD_HANDLE evd, bool make_ep,
			 struct datp_sp **out)
{
	enum datp_err err = sp_create(ia, DATP_PSP, evd, NULL, make_ep, listen_at, qual, out);

	if (!err)
		ia_count(ia, COUNT_PSP);
	return err;
}

/*
 * Listens at the next free qualifier, starting where other processes are not likely to look first.
 */
static enum datp_err listen_anywhere(struct datp_sp *sp)
{
	static _Atomic uint32_t last;
	const uint32_t count = ANY_LAST - ANY_FIRST + 1;
	uint32_t start = (uint32_t)getpid() * 61;

	for (uint32_t i = 0; i < count; i++) {
		/* relaxed: any number is suitable */
		uint32_t n = start + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
		enum datp_err err;

		sp->qual = ANY_FIRST + n % count;
		err = sp->obj.ia->ops->sp_listen(sp);
		if (err != DATP_ERR_QUAL_IN_USE)
			return err;
	}
	return DATP_ERR_QUAL_UNAVAILABLE;
}

enum datp_err psp_create_any(struct datp_ia *ia, DAT_EVD_HANDLE evd, bool make_ep,
			     struct datp_sp **out)
{
	enum datp_err err = sp_create(ia, DATP_PSP, evd, NULL, make_ep, listen_anywhere, 0, out);

	if (!err)
		ia_count(ia, COUNT_PSP_ANY);
	return err;
}

enum datp_err rsp_create(struct datp_ia *ia, uint64_t qual, DAT_EP_HANDLE ep_handle,
			 DAT_EVD_HANDLE evd, struct datp_sp **out)
{
	struct datp_ep *ep = obj_get(ia, ep_handle, DATP_EP);
	enum datp_err err = DATP_OK;

	if (!ep)
		return DATP_ERR_HANDLE_EP;
	datp_lock(&ep->lock);
	if (!ep_move_locked(ep, EP_RESERVE))
		err = ep_state_error(ep_state(ep));
	datp_unlock(&ep->lock);
	if (err)
		return err;
	err = sp_create(ia, DATP_RSP, evd, ep, false, listen_at, qual, out);
	if (!err) {
		ia_count(ia, COUNT_RSP);
		return DATP_OK;
	}
	datp_lock(&ep->lock);
	ep_move_locked(ep, EP_UNRESERVE);
	datp_unlock(&ep->lock);
	return err;
}
