/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns helpers, threads that make calls of uDAPL for the keeper. A call for an endpoint can execute the copies of all endpoints
 * that share its EVD, and so be held up by a peer of any of them: not only a post or a poll, but also a connect that fails, a
 * disconnect or a reset. So the keeper makes no such call: for each it starts a helper, and goes on. Invariant: a VI has one helper
 * at most, while `helped` is set, and is not disconnected by the program before that is over.
 */
#include <stdlib.h>

#include "impl.h"

struct helper {
	struct helper *next;		/* nic->helpers */
	pthread_t thread;
	struct nic *nic;
	struct vi *vi;
	void (*act_locked)(struct vi *vi);
	_Atomic bool done;		/* the thread does not use the VI any more */
};

static void *helper_main(void *arg)
{
	struct helper *helper = arg;
	struct vi *vi = helper->vi;

	pthread_mutex_lock(&vi->lock);
	helper->act_locked(vi);
	/* relaxed: under vi->lock; the keeper, which is woken below, may also see it later */
	atomic_store_explicit(&vi->helped, false, memory_order_relaxed);
	pthread_cond_broadcast(&vi->changed);
	pthread_mutex_unlock(&vi->lock);
	/* there may be more to do; the NIC exists until this thread is joined, but the VI may not */
	keeper_wake(helper->nic);
	/* relaxed: the keeper joins the thread before it frees the helper */
	atomic_store_explicit(&helper->done, true, memory_order_relaxed);
	return NULL;
}

/*
 * Has a helper call act_locked(), with vi->lock held. The keeper calls this, and holds vi->lock. Returns false if the VI has a
 * helper, or there cannot be another thread now: the keeper tries again later.
 */
bool helper_start_locked(struct vi *vi, void (*act_locked)(struct vi *vi))
{
	struct nic *nic = vi->nic;
	struct helper *helper;

	if (is_helped(vi))
		return false;
	helper = malloc(sizeof(*helper));
	if (helper == NULL)
		return false;
	*helper = (struct helper){ .next = nic->helpers, .nic = nic, .vi = vi, .act_locked = act_locked };
	if (thread_start(&helper->thread, helper_main, helper)) {
		free(helper);
		return false;
	}
	nic->helpers = helper;
	/* relaxed: under vi->lock */
	atomic_store_explicit(&vi->helped, true, memory_order_relaxed);
	return true;
}

/* Frees the helpers that are done. The keeper calls this. */
void helpers_reap(struct nic *nic)
{
	struct helper **at = &nic->helpers, *helper;

	while ((helper = *at) != NULL) {
		if (!atomic_load_explicit(&helper->done, memory_order_relaxed)) {
			at = &helper->next;
			continue;
		}
		*at = helper->next;
		pthread_join(helper->thread, NULL);
		free(helper);
	}
}

/* Waits for all helpers. There is no VI any more, so each has done its work, and the keeper has ended. */
void helpers_end(struct nic *nic)
{
	struct helper *helper;

	while ((helper = nic->helpers) != NULL) {
		nic->helpers = helper->next;
		pthread_join(helper->thread, NULL);
		free(helper);
	}
}
