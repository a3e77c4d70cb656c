/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of DAT 1.2: the contents of a DAT_EVENT, and the function that takes an event and
 * writes one.
 */
#include "dat12.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/evd_take.h"

static inline void completion_event(const struct datp_wqe *wqe, struct datp_evd *evd, void *event)
{
	datp_wqe_event(wqe, evd, event);
}

static void conn_event(const struct conn_note *note, DAT_EVENT *event)
{
	DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	data->ep_handle = note->ep;
	data->private_data_size = (DAT_COUNT)note->pdata_len;
	data->private_data = (DAT_PVOID)(uintptr_t)note->pdata;
}

static void cr_event(struct cr_note *note, DAT_EVENT *event)
{
	struct datp_cr *cr = cr_of_note(note);
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;

	data->sp_handle.psp_handle = note->sp_shown;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->obj.ia->address;
	data->conn_qual = cr->qual;
	data->cr_handle = cr;
}

static void note_event_locked(struct evd_priv *priv, struct evd_note *note, DAT_EVENT *event)
{
	if (note->node.kind == NODE_SOFT) {
		event->event_data.software_event_data.pointer = note->about;
	} else {
		event->event_data.asynch_error_event_data.dat_handle = note->about;
		event->event_data.asynch_error_event_data.reason = note->reason;
	}
	evd_note_give_locked(priv, note);
}

static void other_event(struct datp_evd *evd, struct datp_node *node, void *to)
{
	DAT_EVENT *event = to;

	event->event_number = (DAT_EVENT_NUMBER)node->number;
	event->evd_handle = evd;
	switch (node->kind) {
	case NODE_CONN:
		conn_event((struct conn_note *)node, event);
		break;
	case NODE_CR:
		cr_event((struct cr_note *)node, event);
		break;
	default:
		note_event_locked(evd_priv(evd), (struct evd_note *)node, event);
	}
}

static const struct evd_form dat12_form = { completion_event, other_event };

bool dat12_event_pop_locked(struct datp_evd *evd, void *event)
{
	return evd_pop_locked(evd, event, &dat12_form);
}

DATP_API enum datp_err datp_evd_take(struct datp_evd *evd, DAT_EVENT *event)
{
	return evd_take(evd, event, &dat12_form);
}
