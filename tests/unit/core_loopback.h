/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport inside one process: a message to an endpoint waits in its inbox until its EVD is polled,
 * and the service threads establish and end connections. It uses the null transport for everything
 * that is not about endpoints.
 */
#ifndef CORE_LOOPBACK_H
#define CORE_LOOPBACK_H

#include "core_null.h"

/* What a test may change. */
struct loopback_knobs {
	bool complete_in_post;		/* requests complete within the post, not by evd_poll */
	bool drop_requests;		/* connection requests get lost on the way */
	bool always_ready;		/* evd_arm says that there may be a completion */
	void (*in_connect)(struct datp_ep *ep); /* called when ep_connect is about to return success, with no lock held */
	void (*in_accept)(struct datp_cr *cr); /* called when cr_accept begins, with no lock held */
	void (*before_look)(struct datp_evd *evd);	/* called before evd_pending answers */
	void (*in_wake)(struct datp_evd *evd);	/* called when evd_wake begins */
	void (*in_poll)(struct datp_evd *evd);	/* called when a poll of the EVD is about to return */
	uint64_t srq_len;	/* the length that libdatp gave with the latest receive of an SRQ (SRQ lock) */
	enum datp_err connect_answer, accept_answer;	/* what the next op returns; later ones return DATP_OK */
	_Atomic int rejects, crs,
		upcalls; /* CRs that were rejected; CRs that exist; upcalls made */
};

extern struct loopback_knobs loopback;

/* DATP_TRAIT_* of what is registered next. */
extern uint32_t loopback_traits;

/* Registers it as "loop0" in the registry of core_null.h; and removes it. */
const DAT_PROVIDER *loopback_load(void);
void loopback_unload(void);

/* Breaks the connection of an endpoint, as seen from both sides. */
void loopback_break(DAT_EP_HANDLE ep);

#endif
