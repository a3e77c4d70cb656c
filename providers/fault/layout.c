/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts of DAT 1.2; layout20.c compiles this for 2.0, whose headers have the same names. What else the fault plugin knows
 * of an event is the same in both: number, EVD, endpoint, cookie and status, and all of a connection event and of an asynchronous
 * error.
 */
#ifdef FAULT_API_20
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#define LAYOUT fault_layout20
#define EVENTS_STAY true
#define COMPLETIONS_BARE true
#else
#include <dat/udat.h>
#define LAYOUT fault_layout12
#define EVENTS_STAY false
#define COMPLETIONS_BARE false
#endif

#include "layout.h"

_Static_assert(offsetof(DAT_EVENT, event_number) == 0 && offsetof(DAT_EVENT, evd_handle) == 8 &&
		       offsetof(DAT_EVENT, event_data) == 16 && offsetof(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle) == 0 &&
		       offsetof(DAT_DTO_COMPLETION_EVENT_DATA, user_cookie) == 8 &&
		       offsetof(DAT_DTO_COMPLETION_EVENT_DATA, status) == 16 &&
		       sizeof(DAT_DTO_COMPLETION_STATUS) == 4,
	       "an event begins in the same way in both APIs");
_Static_assert(sizeof(DAT_EVD_PARAM) <= FAULT_PARAM_MAX, "it has room");

static void no_length(void *event)
{
	((DAT_EVENT *)event)->event_data.dto_completion_event_data.transfered_length = 0;
}

#ifdef FAULT_API_20
static bool is_recv(const void *event)
{
	switch ((unsigned int)((const DAT_EVENT *)event)->event_data.dto_completion_event_data.operation) {
	case DAT_DTO_RECEIVE:
	case DAT_DTO_RECEIVE_WITH_INVALIDATE:
	case DAT_IB_DTO_RECV_IMMED:
	case DAT_IB_DTO_RECV_MSG_IMMED:
	case DAT_IB_DTO_RECV_UD:
	case DAT_IB_DTO_RECV_UD_IMMED:
		return true;
	default:
		return false;
	}
}
#endif

static void *cno(const void *evd_param)
{
	return ((const DAT_EVD_PARAM *)evd_param)->cno_handle;
}

static bool has_completions(const void *evd_param)
{
	return ((const DAT_EVD_PARAM *)evd_param)->evd_flags & (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
}

const struct fault_layout LAYOUT = {
	.connected = DAT_EP_STATE_CONNECTED,
	.events_stay = EVENTS_STAY,
	.no_length = no_length,
#ifdef FAULT_API_20
	.is_recv = is_recv,
#endif
	.evd_cno = DAT_EVD_FIELD_CNO,
	.evd_flags = DAT_EVD_FIELD_EVD_FLAGS,
	.cno = cno,
	.has_completions = has_completions,
	.completions_bare = COMPLETIONS_BARE,
};
