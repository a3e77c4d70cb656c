/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the RMRs of an IA are bound to. The table that peers check their accesses against says it as
 * well, but peers can write there; the bounce thread, which does not trust the peers that it copies
 * for, reads it here. Each bind has a record from its post on, because a peer may execute it at any
 * time, until a later bind of the same RMR has been reaped. Invariant: of the binds of an RMR that
 * have been reaped at most one has a record. A record that is not needed any more is kept for the
 * next bind, so posts stop allocating memory when there are as many as are needed at a time.
 */
#include "window.h"
#include "bounce.h"
#include "quiesce.h"
#include "sparse.h"
#include <stdlib.h>

struct soft_binding {
	struct soft_binding *next; /* the next bind of the same RMR */
	uint32_t context;
	struct soft_range range;
	/* how it was posted; the number counts the binds of the IA */
	struct soft_rmr *rmr;
	const struct datp_ep *ep;
	uint32_t seq;
	uint64_t number;
	/* the number of the last bind that had been posted when this one was reaped; 0: it has not been */
	uint64_t reaped;
	bool used; /* an access may have begun, of this process or of a peer */
	bool ended; /* the peer has invalidated it, or its bind fails: accesses that began before may still go on */
};

enum datp_err soft_windows_init(struct soft_ia *ia)
{
	ia->windows = soft_sparse_new(SOFT_MR_COUNT, sizeof *ia->windows);
	return ia->windows ? DATP_OK : DATP_ERR_MEMORY;
}

void soft_windows_fini(struct soft_ia *ia)
{
	/* the RMRs are freed, so all records are among the spare ones */
	while (ia->windows_spare) {
		struct soft_binding *binding = ia->windows_spare;

		ia->windows_spare = binding->next;
		free(binding);
	}
	soft_sparse_free(ia->windows, SOFT_MR_COUNT, sizeof *ia->windows);
	ia->windows = NULL;
}

static struct soft_binding **windows_of(struct soft_ia *ia, uint32_t context)
{
	return &ia->windows[SOFT_MR_INDEX(context)];
}

/* Returns the pointer to the record in its list; it points to NULL if no record has this context. windows_lock */
static struct soft_binding **binding_at(struct soft_ia *ia, uint32_t context)
{
	struct soft_binding **at = windows_of(ia, context);

	while (*at && (*at)->context != context)
		at = &(*at)->next;
	return at;
}

/* No access through the binding begins any more. windows_lock */
static void binding_end(struct soft_binding *binding)
{
	binding->range.len = 0;
	binding->ended = true;
}

/* windows_lock */
static void binding_free(struct soft_ia *ia, struct soft_binding **at)
{
	struct soft_binding *binding = *at;

	*at = binding->next;
	binding->next = ia->windows_spare;
	ia->windows_spare = binding;
}

/* Returns a record, or NULL if there is no memory. windows_lock */
static struct soft_binding *binding_get(struct soft_ia *ia)
{
	struct soft_binding *binding = ia->windows_spare;

	if (binding)
		ia->windows_spare = binding->next;
	return binding ? binding : malloc(sizeof *binding);
}

enum datp_err soft_window_post(struct soft_rmr *rmr, const struct datp_wqe *wqe, uint32_t context,
			       const struct soft_range *range)
{
	struct soft_ia *ia = soft_ia(rmr->base.obj.ia);
	struct soft_binding *binding;

	datp_lock(&ia->windows_lock);
	binding = binding_get(ia);
	if (binding) {
		*binding = (struct soft_binding){ .next = *windows_of(ia, context),
					      .context = context,
					      .range = *range,
					      .rmr = rmr,
					      .ep = wqe->ep,
					      .seq = wqe->seq,
					      .number = ++ia->binds };
		*windows_of(ia, context) = binding;
	}
	datp_unlock(&ia->windows_lock);
	return binding ? DATP_OK : DATP_ERR_MEMORY;
}

/* Returns true if a bind was executed after another one, as far as the order of their posts and reaps shows that. */
static bool binding_is_after(const struct soft_binding *binding, const struct soft_binding *other)
{
	return (binding->ep == other->ep && binding->number > other->number) ||
	       (other->reaped && other->reaped < binding->number);
}

/*
 * Drops the records that a bind which has just been reaped makes obsolete. Of two binds that were
 * under way at once over several endpoints either may be the later one: the peers' table decides,
 * and both regions are the program's. Returns true if a record was dropped. windows_lock
 */
static bool settle_locked(struct soft_ia *ia, struct soft_binding **list,
			  const struct soft_binding *binding)
{
	const struct soft_mr *mr = &ia->mr[SOFT_MR_INDEX(binding->context)];
	/* relaxed: either answer is right */
	bool last = atomic_load_explicit(&mr->context, memory_order_relaxed) ==
		    (binding->range.len ? binding->context : 0);
	bool dropped = false, void_now = !binding->range.len;

	for (struct soft_binding **at = list; *at;) {
		const struct soft_binding *other = *at;

		if (other != binding &&
		    (binding_is_after(binding, other) || (other->reaped && last))) {
			binding_free(ia, at);
			dropped = true;
			continue;
		}
		void_now = void_now || (other != binding && other->reaped);
		at = &(*at)->next;
	}
	for (struct soft_binding **at = list; *at && void_now; at = &(*at)->next)
		if (*at == binding) {
			binding_free(ia, at);
			return true;
		}
	return dropped;
}

/* Returns the list of the binds of an RMR. If the RMR has been freed, another one may have its index. */
static struct soft_binding **windows_of_bind(struct soft_ia *ia, const struct datp_wqe *wqe)
{
	return &ia->windows[((const struct soft_rmr *)wqe->rmr)->index % SOFT_MR_COUNT];
}

/* Finds the record of a bind in that list; a later RMR with this index has no such bind. windows_lock */
static struct soft_binding *binding_find(struct soft_binding *list, const struct datp_wqe *wqe)
{
	while (list && (list->ep != wqe->ep || list->seq != wqe->seq))
		list = list->next;
	return list;
}

/*
 * Returns true if accesses through `other` are over when `binding` has completed. A record without a length is that of an unbind,
 * or void. windows_lock
 */
static bool binding_ends(struct soft_ia *ia, const struct soft_binding *binding, const struct soft_binding *other)
{
	const struct soft_mr *mr = &ia->mr[SOFT_MR_INDEX(other->context)];

	if (other == binding || (!other->range.len && !other->ended))
		return false;
	/* relaxed: if another endpoint's bind may be the later one, the table says whether it is, and either answer is right */
	return binding_is_after(binding, other) ||
	       atomic_load_explicit(&mr->context, memory_order_relaxed) != other->context;
}

uint32_t soft_window_ended_by(struct soft_ia *ia, const struct datp_wqe *wqe, uint64_t *before)
{
	const struct soft_binding *binding, *other;
	uint32_t context = 0;

	datp_lock(&ia->windows_lock);
	other = *windows_of_bind(ia, wqe);
	binding = binding_find(*windows_of_bind(ia, wqe), wqe);
	/* the newest comes first */
	while (other && binding && (other->number >= *before || !binding_ends(ia, binding, other)))
		other = other->next;
	if (other && binding) {
		context = other->context;
		*before = other->number;
	}
	datp_unlock(&ia->windows_lock);
	return context;
}

void soft_window_settle(struct soft_ia *ia, const struct datp_wqe *wqe)
{
	struct soft_binding **list = windows_of_bind(ia, wqe), *binding;
	bool dropped = false;

	datp_lock(&ia->windows_lock);
	binding = binding_find(*list, wqe);
	if (binding) {
		binding->reaped = ia->binds;
		dropped = settle_locked(ia, list, binding);
	}
	datp_unlock(&ia->windows_lock);
	/* the bounce thread may have found a dropped record before; it copies one more piece at most */
	if (dropped)
		soft_bounce_quiesce(ia);
}

/* Finds the record of a bind that has not completed. windows_lock */
static struct soft_binding *binding_pending(struct soft_ia *ia, const struct datp_wqe *wqe)
{
	struct soft_binding *binding = binding_find(*windows_of_bind(ia, wqe), wqe);

	/* one that has been reaped is that of an endpoint which had this place before */
	return binding && !binding->reaped ? binding : NULL;
}

bool soft_window_fail(struct soft_ia *ia, const struct datp_wqe *wqe, bool executed)
{
	struct soft_binding *binding;
	bool now;

	datp_lock(&ia->windows_lock);
	binding = binding_pending(ia, wqe);
	now = binding && !binding->ended;
	if (binding) {
		binding_end(binding);
		if (soft_mr_bind_undo(ia->mr, binding->context) || executed)
			binding->used = true;
	}
	datp_unlock(&ia->windows_lock);
	return now;
}

uint32_t soft_window_failed(struct soft_ia *ia, const struct datp_wqe *wqe)
{
	const struct soft_binding *binding;
	uint32_t context;

	datp_lock(&ia->windows_lock);
	binding = binding_pending(ia, wqe);
	context = binding && binding->used ? binding->context : 0;
	datp_unlock(&ia->windows_lock);
	return context;
}

void soft_window_forget(struct soft_ia *ia, uint32_t context)
{
	struct soft_binding **at;
	bool dropped;

	datp_lock(&ia->windows_lock);
	at = binding_at(ia, context);
	dropped = *at;
	if (dropped)
		binding_free(ia, at);
	datp_unlock(&ia->windows_lock);
	/* as in soft_window_settle(), but a connection that ends may have many such binds, and the service thread fails them */
	if (dropped)
		soft_bounce_await_window(ia, context);
}

void soft_window_close(struct soft_rmr *rmr)
{
	struct soft_ia *ia = soft_ia(rmr->base.obj.ia);

	datp_lock(&ia->windows_lock);
	while (ia->windows[rmr->index])
		binding_free(ia, &ia->windows[rmr->index]);
	datp_unlock(&ia->windows_lock);
}

/*
 * Looks for the bind, and voids its record if the peer may do that. The record stays until the program has been told, so that
 * a later bind of the RMR waits for the accesses, too. Returns false if the peer may not. windows_lock
 */
static bool invalidate_locked(struct soft_ia *ia, const struct soft_ep *ep, uint32_t context, struct datp_rmr **rmr)
{
	struct soft_binding **at = binding_at(ia, context);

	if (*at && (*at)->ended)
		return false;
	if (!*at || !(*at)->range.len)
		return true;
	/* relaxed: written under the EP lock */
	if (!ia->invalidable || (*at)->ep != &ep->base ||
	    (*at)->range.conn != atomic_load_explicit(&ep->gen, memory_order_relaxed))
		return false;
	*rmr = &(*at)->rmr->base;
	binding_end(*at);
	return true;
}

/*
 * The peer can write to the request, and to the table that says that the window is gone: so this looks whether it was
 * the peer's to invalidate, and ends the binding in that table as well. If there is no record, a later bind has ended the
 * binding, or the RMR has been freed.
 */
bool soft_window_invalidate(struct soft_ep *ep, uint32_t context, struct datp_rmr **rmr)
{
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);
	struct soft_range own;
	uint32_t now = context;
	bool good;

	*rmr = NULL;
	if (!context || SOFT_MR_INDEX(context) >= SOFT_MR_COUNT || soft_mr_get(ia->own, context, &own))
		return false;
	datp_lock(&ia->windows_lock);
	good = invalidate_locked(ia, ep, context, rmr);
	datp_unlock(&ia->windows_lock);
	if (*rmr)
		(void)atomic_compare_exchange_strong(&ia->mr[SOFT_MR_INDEX(context)].context, &now, 0);
	return good;
}

void soft_window_quiesced(struct soft_ia *ia, uint32_t context)
{
	struct soft_binding **at;

	datp_lock(&ia->windows_lock);
	at = binding_at(ia, context);
	if (*at) {
		(*at)->ended = false;
		/* before that it stays, because the reap of the bind has the records of earlier binds dropped */
		if ((*at)->reaped)
			binding_free(ia, at);
	}
	datp_unlock(&ia->windows_lock);
}

bool soft_window_get(struct soft_ia *ia, uint32_t context, struct soft_range *range)
{
	struct soft_binding *binding = NULL;

	if (!context || SOFT_MR_INDEX(context) >= SOFT_MR_COUNT)
		return false;
	datp_lock(&ia->windows_lock);
	binding = *binding_at(ia, context);
	if (binding) {
		*range = binding->range;
		binding->used = binding->used || range->len;
	}
	datp_unlock(&ia->windows_lock);
	return binding && range->len;
}
