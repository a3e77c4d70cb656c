/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The standard's identifiers for the standard's numbers; names.h states the invariant.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include <dat/udat.h>

#include "names.h"

#define NAME(id) { (uint64_t)(id), #id }
#define END { 0, NULL }

const struct name names_boolean[] = { NAME(DAT_FALSE), NAME(DAT_TRUE), END };

const struct name names_iov_ownership[] = {
	NAME(DAT_IOV_CONSUMER), NAME(DAT_IOV_PROVIDER_NOMOD), NAME(DAT_IOV_PROVIDER_MOD), END
};

const struct name names_qos[] = {
	NAME(DAT_QOS_BEST_EFFORT), NAME(DAT_QOS_HIGH_THROUGHPUT), NAME(DAT_QOS_LOW_LATENCY),
	NAME(DAT_QOS_ECONOMY), NAME(DAT_QOS_PREMIUM), END
};

const struct name names_completion_flags[] = {
	NAME(DAT_COMPLETION_DEFAULT_FLAG), NAME(DAT_COMPLETION_SUPPRESS_FLAG),
	NAME(DAT_COMPLETION_SOLICITED_WAIT_FLAG), NAME(DAT_COMPLETION_UNSIGNALLED_FLAG),
	NAME(DAT_COMPLETION_BARRIER_FENCE_FLAG), NAME(DAT_COMPLETION_EVD_THRESHOLD_FLAG), END
};

const struct name names_ep_creator[] = {
	NAME(DAT_PSP_CREATES_EP_NEVER), NAME(DAT_PSP_CREATES_EP_IFASKED),
	NAME(DAT_PSP_CREATES_EP_ALWAYS), END
};

const struct name names_pz_support[] = { NAME(DAT_PZ_UNIQUE), NAME(DAT_PZ_SHAREABLE), END };

/* A union of enumerators; VIRTUAL is 0, and every provider supports it. */
const struct name names_mem_types[] = {
	NAME(DAT_MEM_TYPE_VIRTUAL), NAME(DAT_MEM_TYPE_LMR), NAME(DAT_MEM_TYPE_SHARED_VIRTUAL), END
};

const struct name names_event[] = {
	NAME(DAT_DTO_COMPLETION_EVENT), NAME(DAT_RMR_BIND_COMPLETION_EVENT),
	NAME(DAT_CONNECTION_REQUEST_EVENT), NAME(DAT_CONNECTION_EVENT_ESTABLISHED),
	NAME(DAT_CONNECTION_EVENT_PEER_REJECTED), NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
	NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
	NAME(DAT_CONNECTION_EVENT_DISCONNECTED), NAME(DAT_CONNECTION_EVENT_BROKEN),
	NAME(DAT_CONNECTION_EVENT_TIMED_OUT), NAME(DAT_CONNECTION_EVENT_UNREACHABLE),
	NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW), NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
	NAME(DAT_ASYNC_ERROR_EP_BROKEN), NAME(DAT_ASYNC_ERROR_TIMED_OUT),
	NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR), NAME(DAT_SOFTWARE_EVENT), END
};

const struct name names_dto_status[] = {
	NAME(DAT_DTO_SUCCESS), NAME(DAT_DTO_ERR_FLUSHED), NAME(DAT_DTO_ERR_LOCAL_LENGTH),
	NAME(DAT_DTO_ERR_LOCAL_EP), NAME(DAT_DTO_ERR_LOCAL_PROTECTION),
	NAME(DAT_DTO_ERR_BAD_RESPONSE), NAME(DAT_DTO_ERR_REMOTE_ACCESS),
	NAME(DAT_DTO_ERR_REMOTE_RESPONDER), NAME(DAT_DTO_ERR_TRANSPORT),
	NAME(DAT_DTO_ERR_RECEIVER_NOT_READY), NAME(DAT_DTO_ERR_PARTIAL_PACKET),
	NAME(DAT_RMR_OPERATION_FAILED), END
};

static const struct name *find(const struct name *table, uint64_t value)
{
	for (; table->name != NULL; table++)
		if (table->value == value)
			return table;
	return NULL;
}

const char *name_of(const struct name *table, uint64_t value, char *spare, size_t spare_size)
{
	const struct name *row = find(table, value);

	if (row != NULL)
		return row->name;
	snprintf(spare, spare_size, "0x%" PRIx64, value);
	return spare;
}

void names_of_flags(const struct name *table, uint64_t flags, char *text, size_t size)
{
	const struct name *empty = find(table, 0);
	uint64_t left = flags;
	size_t used = 0;

	if (flags == 0) {
		snprintf(text, size, "%s", empty != NULL ? empty->name : "0");
		return;
	}
	text[0] = '\0';
	for (const struct name *row = table; row->name != NULL && used < size; row++) {
		if (row->value == 0 || (left & row->value) != row->value)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " | " : "",
					 row->name);
		left &= ~row->value;
	}
	if (left != 0 && used < size)
		snprintf(text + used, size - used, "%s0x%" PRIx64, used ? " | " : "", left);
}

const char *event_name(unsigned int number)
{
	const struct name *row = find(names_event, number);

	return row != NULL ? row->name : "an event the standard does not know";
}

const char *dto_status_name(unsigned int status)
{
	const struct name *row = find(names_dto_status, status);

	return row != NULL ? row->name : "a status the standard does not know";
}
