/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clients that wait for `datctl ping --server`, which serves one at a time.
 *
 * Anybody can connect. So a client that is silent while others wait loses its turn, and the addresses take turns; a request that
 * is not of a ping is rejected when it comes.
 *
 * Invariant: a request that is taken from the EVD waits here, or has been answered.
 */
#include "config.h"

#include <string.h>

#include "cli.h"
#include "ping.h"

/* Returns whether the request comes from a datctl ping, which its private data show, and sets its host. */
bool ping_cr_good(DAT_CR_HANDLE cr, unsigned char host[HOST_SIZE])
{
	struct ping_place place;
	DAT_CR_PARAM param;

	memset(&param, 0, sizeof(param));
	if (API(dat_cr_query)(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS)
		return false;
	host_of((const struct sockaddr *)param.remote_ia_address_ptr, host);
	return ping_place_unpack(param.private_data, param.private_data_size, &place);
}

static unsigned int waiting_of(const struct ping_queue *q, const unsigned char host[HOST_SIZE])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < q->count; i++)
		n += memcmp(q->waiting[i].host, host, HOST_SIZE) == 0;
	return n;
}

/* Has a request wait, or rejects it. */
void ping_queue_add(struct ping_queue *q, DAT_CR_HANDLE cr)
{
	struct ping_waiting *last = &q->waiting[q->count];

	if (q->count == PING_WAITING) {
		PING_REJECT(cr);
	} else if (!ping_cr_good(cr, last->host)) {
		cli_error("a request that does not come from 'datctl ping' is rejected");
		PING_REJECT(cr);
	} else if (waiting_of(q, last->host) == PING_WAITING_OF_ONE) {
		PING_REJECT(cr);
	} else {
		last->cr = cr;
		q->count++;
	}
}

/* Takes all requests that have come. */
void ping_queue_take(struct ping_end *end)
{
	DAT_EVENT event;

	while (API(dat_evd_dequeue)(end->cr_evd, &event) == DAT_SUCCESS)
		ping_queue_add(end->queue, event.event_data.cr_arrival_event_data.cr_handle);
}

/* Returns how many turns of others there were since the last one of this host, as far as that is known. */
static unsigned int turns_since(const struct ping_queue *q, const unsigned char host[HOST_SIZE])
{
	unsigned int n = 0;

	while (n < PING_LATEST && n < q->turns &&
	       memcmp(q->latest[(q->turns - 1 - n) % PING_LATEST], host, HOST_SIZE) != 0)
		n++;
	return n < q->turns ? n : PING_LATEST;
}

/* Returns the request whose turn it is: the first one of the host whose last turn is longest ago. Returns false if none waits. */
bool ping_queue_next(struct ping_queue *q, DAT_CR_HANDLE *cr)
{
	unsigned int next = 0;

	if (q->count == 0)
		return false;
	for (unsigned int i = 1; i < q->count; i++)
		if (turns_since(q, q->waiting[i].host) > turns_since(q, q->waiting[next].host))
			next = i;
	*cr = q->waiting[next].cr;
	memcpy(q->latest[q->turns++ % PING_LATEST], q->waiting[next].host, HOST_SIZE);
	q->count--;
	memmove(&q->waiting[next], &q->waiting[next + 1], (q->count - next) * sizeof(q->waiting[0]));
	q->silent_us = 0;
	return true;
}

/*
 * Waits for an event of the client whose turn it is. While others wait, it may be silent for PING_TURN_US divided by their number
 * in all. Otherwise only end->patience bounds the wait. *lost says that the turn is over.
 */
DAT_RETURN ping_queue_await(struct ping_end *end, DAT_EVD_HANDLE evd, DAT_EVENT *event, bool *lost)
{
	struct ping_queue *q = end->queue;
	DAT_TIMEOUT waited = 0;
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = API(dat_evd_wait)(evd, PING_SLICE_US, 1, event, &more);
		if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
			return ret;
		waited += PING_SLICE_US;
		q->silent_us += PING_SLICE_US;
		ping_queue_take(end);
		*lost = q->count > 0 && q->silent_us >= PING_TURN_US / q->count;
	} while (!*lost && waited < end->patience);
	return ret;
}
