/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages about failures. A message is written in the call, so the caller may hold no lock except
 * an IA's or an SRQ's. (A comment says where an EP lock may be held, for messages that are printed
 * only at a raised level.)
 */
#ifndef DATP_DIAG_H
#define DATP_DIAG_H

#include "core.h"
#include "evd.h"
#include "providers/common/base/log.h"

/* Returns the names of the type and subtype of an error: "DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY". */
const char *err_name(enum datp_err err);

/* A connection attempt, or an accept, has ended with this event; the transport has reported `cause`. */
void diag_connect(struct datp_ep *ep, DAT_EVENT_NUMBER why, DAT_EVENT_NUMBER cause);
/* A connection attempt could not even begin, because of this error. */
void diag_connect_refused(struct datp_ep *ep, const struct sockaddr *address, uint64_t qual,
			  enum datp_err err);
/* An EP lock may be held. */
void diag_connected(struct datp_ep *ep);
/*
 * broken.c: the operation that broke a connection, the meaning of its status, and what to do about
 * it.
 */
struct broken {
	/* all NULL if none has failed on this side */
	const char *operation, *status, *cause, *remedy;
	bool by_peer_gone; /* it failed because the peer does not answer */
	bool unseen;	   /* the operations could not be looked at, because another thread has their queues */
};

/* No lock may be held; completed operations of the transport are put on the endpoint's EVDs. */
void broken_by(struct datp_ep *ep, struct broken *by);
/* Returns true if the operation has completed with an error of its own. EP lock held. */
bool wqe_failed(const struct datp_wqe *wqe);

/* An established connection has ended, in order or not. No lock may be held. */
void diag_ended(struct datp_ep *ep, DAT_EVENT_NUMBER why);
/* A watermark that the program has set is reached. EP lock or SRQ lock may be held. */
void diag_ep_high(struct datp_ep *ep, bool hard);
void diag_srq_low(struct datp_srq *srq);
void diag_listen(struct datp_ia *ia, uint64_t qual, enum datp_err err);
void diag_memory(struct datp_ia *ia, uint64_t length, enum datp_err err);
/* A registration is refused, because the region is longer than any that the adapter registers. */
void diag_block(struct datp_ia *ia, uint64_t length);
/* An attribute of an object, and the attribute of its IA that limits it, by the names that both have in the standard. */
struct limited {
	const char *object;	/* the kind of the object, as in "no endpoint with" */
	const char *name, *limit_name;
	uint64_t limit;
};

/* A call is refused, because the program asks for more than its adapter has. */
void diag_too_much(struct datp_ia *ia, const struct limited *what, uint64_t asked);
/*
 * An endpoint's stream to an EVD, named by the argument, is refused because that EVD has another
 * stream with other notification flags. This is the standard's rule; the administrator can lift it.
 */
void diag_mixed(struct datp_evd *evd, const char *part, enum evd_stream stream,
		enum evd_stream clash);
void diag_async(struct datp_ia *ia, DAT_EVENT_NUMBER number);

#endif
