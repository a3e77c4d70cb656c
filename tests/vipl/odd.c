/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wrapper for the tests of libvipl, which makes the adapter beneath misbehave. Its instance data
 * say how:
 *
 *	report=FD		writes a byte to FD when it comes to a call: 'p' for dat_psp_create(),
 *			'q' for dat_cr_query(), 'w' for dat_evd_wait()
 *	key0		the first registration that asks for an RMR context is given 0
 *	active-first	as iWARP: an endpoint that was accepted and posts a request before it has
 *			received anything is disconnected
 *	other-family	the addresses from which connection requests come are of IPv6
 *
 * Invariant: the endpoints in `quiet` are those that were accepted and have received nothing.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <datp/wrap.h>

enum { QUIET = 16 };

struct odd {
	struct datp_wrap base;
	int fd;				/* where calls are reported; -1: nowhere */
	bool key0;
	bool active_first;
	bool other_family;
	pthread_mutex_t lock;
	uint64_t quiet[QUIET];		/* lock; 0: free */
};

static enum datp_err odd_open(struct datp_wrap *wrap, const char *params)
{
	struct odd *odd = (struct odd *)wrap;
	const char *report = strstr(params, "report=");

	odd->fd = report ? atoi(report + strlen("report=")) : -1;
	odd->key0 = strstr(params, "key0") != NULL;
	odd->active_first = strstr(params, "active-first") != NULL;
	odd->other_family = strstr(params, "other-family") != NULL;
	pthread_mutex_init(&odd->lock, NULL);
	return DATP_OK;
}

static void odd_close(struct datp_wrap *wrap)
{
	pthread_mutex_destroy(&((struct odd *)wrap)->lock);
}

/* Replaces `from` by `to` in `quiet`. Returns false if `from` is not there. */
static bool quiet_change(struct odd *odd, uint64_t from, uint64_t to)
{
	bool found = false;

	pthread_mutex_lock(&odd->lock);
	for (int i = 0; i < QUIET && !found; i++) {
		found = odd->quiet[i] == from;
		if (found)
			odd->quiet[i] = to;
	}
	pthread_mutex_unlock(&odd->lock);
	return found;
}

static void report_call(const struct odd *odd, enum datp_call id)
{
	char what = id == DATP_CALL_psp_create ? 'p' :
		    id == DATP_CALL_cr_query   ? 'q' :
		    id == DATP_CALL_evd_wait   ? 'w' :
						 0;

	if (what && odd->fd >= 0 && write(odd->fd, &what, 1) != 1)
		abort();
}

static bool odd_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct odd *odd = (struct odd *)wrap;
	uint64_t end[2] = { call->arg[0], DAT_CLOSE_ABRUPT_FLAG };

	report_call(odd, call->id);
	if (!odd->active_first)
		return true;
	switch (call->id) {
	case DATP_CALL_cr_accept:
		quiet_change(odd, 0, call->arg[1]);
		break;
	case DATP_CALL_ep_post_send:
	case DATP_CALL_ep_post_rdma_read:
	case DATP_CALL_ep_post_rdma_write:
		if (quiet_change(odd, call->arg[0], 0))
			datp_wrap_beneath(wrap, DATP_CALL_ep_disconnect, end);
		break;
	case DATP_CALL_ep_reset:
	case DATP_CALL_ep_free:
		quiet_change(odd, call->arg[0], 0);
		break;
	default:
		break;
	}
	return true;
}

static void look_at_event(struct odd *odd, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT && dto->status == DAT_DTO_SUCCESS)
		quiet_change(odd, (uintptr_t)dto->ep_handle, 0);
}

static void show_other_family(DAT_CR_PARAM *param)
{
	static struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&address;
}

static void odd_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	struct odd *odd = (struct odd *)wrap;

	if (call->ret != DAT_SUCCESS)
		return;
	if (call->id == DATP_CALL_lmr_create && odd->key0 && call->arg[9]) {
		*(DAT_RMR_CONTEXT *)(uintptr_t)call->arg[9] = 0;
		odd->key0 = false;
	}
	if (call->id == DATP_CALL_cr_query && odd->other_family)
		show_other_family((DAT_CR_PARAM *)(uintptr_t)call->arg[2]);
	if (!odd->active_first)
		return;
	if (call->id == DATP_CALL_ia_query && call->arg[5])
		((DAT_PROVIDER_ATTR *)(uintptr_t)call->arg[5])->rdma_write_for_rdma_read_req =
			DAT_TRUE;
	else if (call->id == DATP_CALL_evd_dequeue)
		look_at_event(odd, (const DAT_EVENT *)(uintptr_t)call->arg[1]);
	else if (call->id == DATP_CALL_evd_wait)
		look_at_event(odd, (const DAT_EVENT *)(uintptr_t)call->arg[3]);
}

static const struct datp_wrap_ops odd_ops = {
	.wrap_size = sizeof(struct odd),
	.open = odd_open,
	.close = odd_close,
	.before = odd_before,
	.after = odd_after,
};

DATP_WRAPPER("odd", odd_ops)
