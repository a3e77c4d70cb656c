/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loans. In DAT 2.0 an endpoint may have an EVD of another open IA for the events of its connections. Such an EVD is on loan
 * to the endpoint. The plugin does not see it: datp_ep.connect_evd is NULL.
 *
 * LOCKS. The loans lock comes after core.lock and before those of IAs. An endpoint's loan is read under the EP lock: while that
 * is held, the EVD is not freed. A pin does not keep it, because an abrupt close of the EVD's IA ends the loan.
 */
#ifndef LOAN_H
#define LOAN_H

#include "core.h"

struct loan {
	struct loan *next, **at; /* of the same EVD (loans lock) */
	struct datp_ep *ep;	 /* set once */
	/* with a reference and a stream; NULL when the loan has ended (the loans lock, and the EP lock of `ep`) */
	struct datp_evd *evd;
};

/* Returns true if an endpoint of the IA may have the EVD of this handle, which is not the IA's own, on loan. No lock. */
bool loan_possible(struct datp_ia *ia, DAT_EVD_HANDLE handle);
/*
 * Makes a loan, which the endpoint gets by loan_set(). Returns DATP_ERR_HANDLE_EVD_CONN if it is not possible, or for the reasons
 * that an endpoint does not get an EVD of its own IA. No lock.
 */
enum datp_err loan_take(struct datp_ep *ep, DAT_EVD_HANDLE handle, struct loan **out);
/* Gives the endpoint this loan, or with NULL none, and ends the one that it had, on whose EVD it has no event. No lock. */
void loan_set(struct datp_ep *ep, struct loan *loan);
/* Ends a loan that was given to no endpoint, or NULL. No lock. */
void loan_drop(struct loan *loan);
/* Ends all loans of an EVD that has been retired, and removes their events from it. No lock. */
void loans_end(struct datp_evd *evd);
/* Writes the first endpoints that have the EVD on loan, `most` at most, and returns how many have it. No lock. */
unsigned int loans_list(struct datp_evd *evd, DAT_HANDLE *first, unsigned int most);
/* In a forked child. Takes no lock. */
void loan_forget_all(void);

#endif
