/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns loans. Invariant: a loan whose `evd` is not NULL is on the list of that EVD, which is alive: when an EVD is freed with its
 * IA, its loans end first, and there are no new ones of an EVD whose handle has been retired.
 */
#include <stdlib.h>

#include "ep.h"

static _Atomic uint32_t loans_lock;

/*
 * Both IAs are of one plugin, and were opened through the same API: programs of 1.2 and 2.0 take events in different forms, and no
 * program is known that shares an EVD between plugins.
 */
static bool lends(struct datp_ia *from, struct datp_ia *to)
{
	const struct plugin *lender = ia_priv(from)->plugin, *borrower = ia_priv(to)->plugin;

	return lender->edge == borrower->edge && lender->desc == borrower->desc;
}

/*
 * Holds the EVD if the IA can have it on loan; returns NULL if not. While the EVD is held,
 * its IA can be closed abruptly only, and that takes this lock. Loans lock.
 */
static struct datp_evd *hold_locked(struct datp_ia *ia, DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd;

	if (!ia_priv(ia)->plugin->edge->borrows_evds)
		return NULL;
	evd = obj_hold(NULL, handle, DATP_EVD);
	if (evd && lends(evd->obj.ia, ia))
		return evd;
	obj_drop(evd);
	return NULL;
}

bool loan_possible(struct datp_ia *ia, DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd;

	datp_lock(&loans_lock);
	evd = hold_locked(ia, handle);
	obj_drop(evd);
	datp_unlock(&loans_lock);
	return evd != NULL;
}

static void link_locked(struct loan *loan, struct datp_evd *evd)
{
	struct loan **first = &evd_priv(evd)->loans;

	loan->evd = evd;
	loan->next = *first;
	loan->at = first;
	if (loan->next)
		loan->next->at = &loan->next;
	*first = loan;
}

/* Ends a loan, if it has not ended. Loans lock; and the EP lock, unless the endpoint has it no more. */
static void end_locked(struct loan *loan)
{
	struct datp_evd *evd = loan->evd;

	if (!evd)
		return;
	*loan->at = loan->next;
	if (loan->next)
		loan->next->at = loan->at;
	loan->evd = NULL;
	ep_conn_detach(evd);
}

enum datp_err loan_take(struct datp_ep *ep, DAT_EVD_HANDLE handle, struct loan **out)
{
	struct loan *loan = calloc(1, sizeof(*loan));
	enum datp_err err = DATP_ERR_HANDLE_EVD_CONN;
	struct datp_evd *evd;

	if (!loan)
		return DATP_ERR_MEMORY;
	loan->ep = ep;
	datp_lock(&loans_lock);
	evd = hold_locked(ep->obj.ia, handle);
	if (evd)
		err = ep_conn_attach(evd->obj.ia, evd);
	if (!err)
		link_locked(loan, evd);
	obj_drop(evd); /* if it is attached, that holds it */
	datp_unlock(&loans_lock);
	if (err)
		free(loan);
	else
		*out = loan;
	return err;
}

void loan_set(struct datp_ep *ep, struct loan *loan)
{
	struct loan *old;

	datp_lock(&loans_lock);
	datp_lock(&ep->lock);
	old = ep_priv(ep)->loan;
	ep_priv(ep)->loan = loan;
	datp_unlock(&ep->lock);
	if (old)
		end_locked(old);
	datp_unlock(&loans_lock);
	free(old);
}

void loan_drop(struct loan *loan)
{
	if (!loan)
		return;
	datp_lock(&loans_lock);
	end_locked(loan);
	datp_unlock(&loans_lock);
	free(loan);
}

void loans_end(struct datp_evd *evd)
{
	unsigned int n = 0;
	struct loan *loan;

	/* The lock is taken even if there is no loan: a thread may be making one, whose EVD this thread is about to free. */
	datp_lock(&loans_lock);
	while ((loan = evd_priv(evd)->loans) != NULL) {
		struct datp_ep *ep = loan->ep;

		datp_lock(&ep->lock);
		/* The events are in the endpoint's memory, and from now on nothing would remove them when that is freed. */
		evd_purge_ep(evd, ep);
		end_locked(loan);
		datp_unlock(&ep->lock);
		n++;
	}
	datp_unlock(&loans_lock);
	if (n && log_once(2, "loan", NULL, 0))
		core_log(2, "%s: this adapter is closed with its EVD %p, which %u endpoint%s of another open adapter had for "
			 "connection events; these events are lost from now on: close this adapter last",
			 evd->obj.ia->name, (void *)evd, n, n == 1 ? "" : "s");
}

unsigned int loans_list(struct datp_evd *evd, DAT_HANDLE *first, unsigned int most)
{
	unsigned int n = 0;

	datp_lock(&loans_lock);
	for (struct loan *loan = evd_priv(evd)->loans; loan; loan = loan->next) {
		if (n < most)
			first[n] = loan->ep;
		n++;
	}
	datp_unlock(&loans_lock);
	return n;
}

void loan_forget_all(void)
{
	/* The lists are never read again: no handle of the parent is valid in the child. */
	atomic_store_explicit(&loans_lock, 0, memory_order_relaxed);
}
