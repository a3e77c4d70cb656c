/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts of DAT 1.2; layout20.c compiles this for 2.0, whose headers have the same names. What else the fault plugin knows
 * of an event is the same in both: number, EVD, endpoint, cookie and status, and all of a connection event and of an asynchronous
 * error.
 */
#ifdef FAULT_API_20
#include <dat2/udat.h>
#define LAYOUT fault_layout20
#define EVENTS_STAY true
#else
#include <dat/udat.h>
#define LAYOUT fault_layout12
#define EVENTS_STAY false
#endif

#include "layout.h"

_Static_assert(offsetof(DAT_EVENT, event_number) == 0 && offsetof(DAT_EVENT, evd_handle) == 8 &&
		       offsetof(DAT_EVENT, event_data) == 16 && offsetof(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle) == 0 &&
		       offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) == 8 &&
		       offsetof(DAT_DTO_COMPLETION_EVENT_DATA, status) == 16 &&
		       sizeof(DAT_DTO_COMPLETION_STATUS) == 4,
	       "an event begins in the same way in both APIs");
_Static_assert(sizeof(DAT_EVENT) <= FAULT_PARAM_MAX && sizeof(DAT_EP_PARAM) <= FAULT_PARAM_MAX &&
		       sizeof(DAT_EVD_PARAM) <= FAULT_PARAM_MAX,
	       "they have room");

static void no_length(void *event)
{
	((DAT_EVENT *)event)->event_data.dto_completion_event_data.transfered_length = 0;
}

static void evds(const void *ep_param, void **recv, void **request)
{
	const DAT_EP_PARAM *param = ep_param;

	*recv = param->recv_evd_handle;
	*request = param->request_evd_handle;
}

static void *cno(const void *evd_param)
{
	return ((const DAT_EVD_PARAM *)evd_param)->cno_handle;
}

const struct fault_layout LAYOUT = {
	.connected = DAT_EP_STATE_CONNECTED,
	.events_stay = EVENTS_STAY,
	.no_length = no_length,
	.ep_evds = DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE,
	.evd_cno = DAT_EVD_FIELD_CNO,
	.evds = evds,
	.cno = cno,
};
