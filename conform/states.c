/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates endpoints in each state in which they can stay. No call of the API keeps an endpoint in
 * COMPLETION_PENDING.
 */
#include <string.h>

#include "kit.h"

const DAT_EP_STATE kit_states[KIT_STATES] = {
	DAT_EP_STATE_UNCONNECTED,
	DAT_EP_STATE_RESERVED,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
	DAT_EP_STATE_CONNECTED,
	DAT_EP_STATE_DISCONNECT_PENDING,
	DAT_EP_STATE_DISCONNECTED,
};

/* Lets some endpoint connect to a service point, and returns the request. */
static DAT_CR_HANDLE request_arrives(DAT_EVD_HANDLE cr_evd, DAT_CONN_QUAL qual)
{
	struct kit_end active;

	kit_end_at(t.a_remote, &active, NULL);
	MUST_RET(kit_connect(active.ep, qual), DAT_SUCCESS);
	return kit_cr_at(cr_evd);
}

static void enter_reserved(struct kit_at *at, bool passive)
{
	DAT_CONN_QUAL qual = kit_unused_qual();
	DAT_RSP_HANDLE rsp;

	kit_end_at(false, &at->end, NULL);
	at->ep = at->end.ep;
	MUST_RET(dat_rsp_create(t.ia, qual, at->ep, at->cr_evd, &rsp), DAT_SUCCESS);
	if (passive)
		at->cr = request_arrives(at->cr_evd, qual);
}

static void enter_active(struct kit_at *at)
{
	DAT_CONN_QUAL qual;

	kit_end_at(false, &at->end, NULL);
	at->ep = at->end.ep;
	kit_psp_at(at->cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	MUST_RET(kit_connect(at->ep, qual), DAT_SUCCESS);
	at->cr = kit_cr_at(at->cr_evd);
}

static void enter_tentative(struct kit_at *at)
{
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;

	kit_psp_at(at->cr_evd, DAT_PSP_PROVIDER_FLAG, &qual);
	at->cr = request_arrives(at->cr_evd, qual);
	MUST_RET(dat_cr_query(at->cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
	at->ep = param.local_ep_handle;
}

static void enter_connected(struct kit_at *at, DAT_EP_STATE state)
{
	DAT_EP_ATTR attr = kit_attr_long();

	kit_pair_at(&at->pair, state == DAT_EP_STATE_DISCONNECT_PENDING ? &attr : NULL);
	at->end = at->pair.a;
	at->ep = at->end.ep;
	if (state == DAT_EP_STATE_DISCONNECTED)
		kit_disconnect_at(&at->pair);
	if (state != DAT_EP_STATE_DISCONNECT_PENDING)
		return;
	/* The peer has no receive for this message, so the graceful disconnect cannot finish. */
	at->buf = kit_buf_at(t.pz, attr.max_message_size, KIT_LOCAL);
	MUST_RET(kit_send(at->ep, &at->buf, 0, at->buf.size, 77, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	MUST_RET(dat_ep_disconnect(at->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

bool kit_enter_at(struct kit_at *at, DAT_EP_STATE state)
{
	DAT_EP_STATE now;

	MUST(!t.a_remote && !t.b_remote); /* all of it is in this process */
	memset(at, 0, sizeof(*at));
	if (state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING &&
	    t.prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		return false;
	at->cr_evd = kit_evd_at(t.ia, 8, DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	switch (state) {
	case DAT_EP_STATE_RESERVED: enter_reserved(at, false); break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING: enter_reserved(at, true); break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING: enter_active(at); break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING: enter_tentative(at); break;
	case DAT_EP_STATE_UNCONNECTED:
		kit_end_at(false, &at->end, NULL);
		at->ep = at->end.ep;
		break;
	default: enter_connected(at, state); break;
	}
	/*
	 * A provider may complete a message before the peer has a receive, and then has nothing to
	 * wait for. It may do so at any moment, so the state is read once.
	 */
	now = kit_state(at->ep);
	if (state == DAT_EP_STATE_DISCONNECT_PENDING && now != state)
		return false;
	MUST_NUM(now, state);
	return true;
}
