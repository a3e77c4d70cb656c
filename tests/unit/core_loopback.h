/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport inside one process: what is sent to an endpoint waits in its inbox until its EVD is
 * polled, connections are made and ended by the service threads. It stands on the null transport
 * for all that is not about endpoints.
 */
#ifndef CORE_LOOPBACK_H
#define CORE_LOOPBACK_H

#include "core_null.h"

/* What a test may bend. */
struct loopback_knobs {
	bool complete_in_post;		/* requests complete within the post, not by evd_poll */
	bool drop_requests;		/* connection requests get lost on the way */
	void (*before_look)(struct datp_evd *evd);	/* called when it is asked whether there is anything to poll */
	void (*in_poll)(struct datp_evd *evd);	/* called with what a poll is about to return */
	uint64_t srq_len;	/* what libdatp said of the latest receive of an SRQ; SRQ lock */
	enum datp_err connect_answer, accept_answer;	/* of the next op; then again DATP_OK */
	_Atomic int rejects, crs,
		upcalls; /* CRs the peer was told no for; CRs alive; upcalls made */
};

extern struct loopback_knobs loopback;

/* DATP_TRAIT_* of what is registered next. */
extern uint32_t loopback_traits;

/* Registers it as "loop0" in the registry of core_null.h; and the opposite. */
const DAT_PROVIDER *loopback_load(void);
void loopback_unload(void);

/* Breaks the connection of an endpoint, as seen from both sides. */
void loopback_break(DAT_EP_HANDLE ep);

#endif
