/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the state of endpoints. Invariant: only this file writes it, by transitions of the table
 * below, and before the event that reports the change is queued.
 */
#include "ep.h"

#define UNC EP_IN(DAT_EP_STATE_UNCONNECTED)
#define RES EP_IN(DAT_EP_STATE_RESERVED)
#define PAS EP_IN(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
#define ACT EP_IN(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
#define TEN EP_IN(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
#define CON EP_IN(DAT_EP_STATE_CONNECTED)
#define DPN EP_IN(DAT_EP_STATE_DISCONNECT_PENDING)
#define DIS EP_IN(DAT_EP_STATE_DISCONNECTED)
#define CMP EP_IN(DAT_EP_STATE_COMPLETION_PENDING)

static const struct {
	unsigned int from;
	int to;
} steps[EP_CAUSE_COUNT] = {
	[EP_CONNECT]		= { UNC,		DAT_EP_STATE_ACTIVE_CONNECTION_PENDING },
	[EP_CONNECT_REFUSED]	= { ACT,		DAT_EP_STATE_UNCONNECTED },
	[EP_RESERVE]		= { UNC,		DAT_EP_STATE_RESERVED },
	[EP_UNRESERVE]		= { RES,		DAT_EP_STATE_UNCONNECTED },
	[EP_REQUEST]		= { RES,		DAT_EP_STATE_PASSIVE_CONNECTION_PENDING },
	[EP_REJECT]		= { PAS,		DAT_EP_STATE_UNCONNECTED },
	[EP_ACCEPT]		= { UNC | PAS | TEN,	DAT_EP_STATE_COMPLETION_PENDING },
	[EP_ACCEPT_REFUSED_UNC]	= { CMP,		DAT_EP_STATE_UNCONNECTED },
	[EP_ACCEPT_REFUSED_PAS]	= { CMP,		DAT_EP_STATE_PASSIVE_CONNECTION_PENDING },
	[EP_ACCEPT_REFUSED_TEN]	= { CMP,		DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING },
	[EP_ESTABLISHED]	= { ACT | CMP,		DAT_EP_STATE_CONNECTED },
	[EP_FAILED]		= { ACT | CMP,		DAT_EP_STATE_DISCONNECTED },
	[EP_DRAIN]		= { CON,		DAT_EP_STATE_DISCONNECT_PENDING },
	[EP_ENDED]		= { CON | DPN,		DAT_EP_STATE_DISCONNECTED },
	[EP_RESET]		= { DIS,		DAT_EP_STATE_UNCONNECTED },
};

bool ep_move_locked(struct datp_ep *ep, enum ep_cause cause)
{
	if (!(steps[cause].from & EP_IN(ep_state(ep))))
		return false;
	/* release: dat_ep_get_status, which takes no lock, sees what was done before the step */
	atomic_store_explicit(&ep->state, steps[cause].to, memory_order_release);
	return true;
}

void ep_born(struct datp_ep *ep, int state)
{
	atomic_store_explicit(&ep->state, state, memory_order_relaxed);
}

enum datp_err ep_state_error(int state)
{
	static const enum datp_err errors[] = {
		[DAT_EP_STATE_UNCONNECTED] = DATP_ERR_STATE_EP_UNCONNECTED,
		[DAT_EP_STATE_RESERVED] = DATP_ERR_STATE_EP_RESERVED,
		[DAT_EP_STATE_PASSIVE_CONNECTION_PENDING] = DATP_ERR_STATE_EP_PASSCONNPENDING,
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = DATP_ERR_STATE_EP_ACTCONNPENDING,
		[DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING] = DATP_ERR_STATE_EP_TENTCONNPENDING,
		[DAT_EP_STATE_CONNECTED] = DATP_ERR_STATE_EP_CONNECTED,
		[DAT_EP_STATE_DISCONNECT_PENDING] = DATP_ERR_STATE_EP_DISCPENDING,
		[DAT_EP_STATE_DISCONNECTED] = DATP_ERR_STATE_EP_DISCONNECTED,
		[DAT_EP_STATE_COMPLETION_PENDING] = DATP_ERR_STATE_EP_COMPLPENDING,
	};

	return errors[state] ? errors[state] : DATP_ERR_STATE;
}
