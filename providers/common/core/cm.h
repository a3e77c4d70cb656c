/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections, service points and connection requests, seen from inside libdatp.
 */
#ifndef CM_H
#define CM_H

#include "core.h"
#include "evd.h"

/* ------------------------------------------------------------------ cm.c */

struct cm_connect {
	const struct sockaddr *address;
	uint64_t qual;
	uint32_t timeout;
	const void *pdata;
	uint32_t pdata_len;
};

enum datp_err ep_connect(struct datp_ep *ep, const struct cm_connect *how);
/* Connects to the peer of `like`; the address and qualifier in `how` are ignored. */
enum datp_err ep_dup_connect(struct datp_ep *ep, struct datp_ep *like, struct cm_connect *how);
enum datp_err ep_disconnect(struct datp_ep *ep, bool graceful);

/* ------------------------------------------------------------------ sp.c */

/*
 * A service point. An RSP is used up by its first connection request: then it gives up its EVD, and the
 * service thread closes the transport's part a little later. Its handle stays valid until
 * rsp_free(), because programs compare it with the one in the event, and then free it.
 */
struct sp_priv {
	_Atomic uint32_t lock;	/* the service point lock; guards all below */
	bool arriving;		/* an RSP whose connection request has just arrived: see rsp_used() */
	bool closed;		/* accepts no more connection requests */
	bool make_ep;		/* DAT_PSP_PROVIDER_FLAG; set once */
	struct datp_sp *next;	/* on the list of used up RSPs (its own lock) */
	bool closing;		/* a thread is closing the transport's part (the same lock) */
};

static inline struct sp_priv *sp_priv(struct datp_sp *sp)
{
	return OBJ_PRIV(struct sp_priv, sp);
}

enum datp_err psp_create(struct datp_ia *ia, uint64_t qual, DAT_EVD_HANDLE evd, bool make_ep,
			 struct datp_sp **out);
enum datp_err psp_create_any(struct datp_ia *ia, DAT_EVD_HANDLE evd, bool make_ep,
			     struct datp_sp **out);
enum datp_err rsp_create(struct datp_ia *ia, uint64_t qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
			 struct datp_sp **out);
enum datp_err psp_free(struct datp_sp *sp);
enum datp_err rsp_free(struct datp_sp *sp);
/*
 * Returns the service point at a qualifier, or NULL. It may be freed meanwhile: lock it, and check
 * again.
 */
struct datp_sp *sp_find(struct datp_ia *ia, uint64_t qual);
/* A connection request has arrived at an RSP, which is used up by it. No lock held. */
void rsp_used(struct datp_sp *sp);
bool sp_is_rsp(const struct datp_sp *sp);
/*
 * Returns how many live RSPs have had their connection request. They do not keep an IA from being closed,
 * because programs may believe that such an RSP has freed itself. IA lock held.
 */
uint32_t rsp_count_used_up_locked(struct ia_priv *priv);

/* ------------------------------------------------------------------ cr.c */

/* The event of a connection request; embedded in it. */
struct cr_note {
	struct datp_node node;
	DAT_HANDLE sp_shown;	/* the service point's handle; the point may have been freed */
};

struct cr_priv {
	struct cr_note note;
	struct datp_evd *evd;	/* where the event was queued; may have been freed, see cr_end() */
	bool answering;		/* a thread answers it (IA lock) */
};

static inline struct cr_priv *cr_priv(struct datp_cr *cr)
{
	return OBJ_PRIV(struct cr_priv, cr);
}

struct datp_cr *cr_of_note(struct cr_note *note);

/* Accepts a connection request. `ep` is DAT_HANDLE_NULL if the request has an endpoint already. */
enum datp_err cr_accept(struct datp_cr *cr, DAT_EP_HANDLE ep, const void *pdata,
			uint32_t pdata_len);
/* Rejects a connection request with private data, which are at most as long as datp_ext_attr.max_reject_data. */
enum datp_err cr_reject(struct datp_cr *cr, const void *pdata, uint32_t pdata_len);
enum datp_err cr_handoff(struct datp_cr *cr, uint64_t qual);

#endif
