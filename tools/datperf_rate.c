/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's connect-rate: one endpoint on each side, connected, disconnected and reset, again and
 * again. The private data carry the number of the connection and that of the test both ways, and both
 * sides check them.
 *
 * Invariant: `connected` stays false, so the events of these connections are taken here and
 * nowhere else; the control link shows whether the peer still runs.
 */
#include "config.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

static const char *peer_gone(void)
{
	return "see the peer's messages, or whether it was killed";
}

/* The private data, in network byte order. */
struct rate_data {
	uint64_t number;	/* of the connection */
	uint64_t token;		/* of the test */
};

static void data_fill(const struct perf_session *s, uint64_t number, struct rate_data *data)
{
	data->number = htobe64(number);
	data->token = htobe64(s->ia.token);
}

static bool data_right(const struct perf_session *s, uint64_t number, const void *data, DAT_COUNT size)
{
	struct rate_data right;

	data_fill(s, number, &right);
	return data != NULL && size >= (DAT_COUNT)sizeof(right) && memcmp(data, &right, sizeof(right)) == 0;
}

static int check_answer(const struct perf_session *s, uint64_t number, const DAT_CONNECTION_EVENT_DATA *answer)
{
	if (data_right(s, number, answer->private_data, answer->private_data_size))
		return 0;
	cli_error("wrong private data in the answer to connection %" PRIu64 " (%d bytes); the adapter damaged or lost them",
		  number, (int)answer->private_data_size);
	return -1;
}

static int await_end(struct perf_link *l)
{
	DAT_EVENT event;

	return link_await_event(l, DAT_CONNECTION_EVENT_DISCONNECTED, peer_gone, &event);
}

static int reset(struct perf_link *l)
{
	DAT_RETURN ret = dat_ep_reset(l->ep);

	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "dat_ep_reset");
	return -1;
}

static int connect_once(struct perf_session *s, uint64_t number)
{
	struct perf_link *l = &s->data[0];
	struct rate_data wire;
	DAT_EVENT event;
	DAT_RETURN ret;

	data_fill(s, number, &wire);
	ret = dat_ep_connect(l->ep, (DAT_IA_ADDRESS_PTR)&s->address, s->ia.conn_qual,
			     s->ia.timeout_s * 1000000u, sizeof(wire), &wire,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_connect(connection %" PRIu64 ")", number);
		return -1;
	}
	if (link_await_event(l, DAT_CONNECTION_EVENT_ESTABLISHED, peer_gone, &event) != 0)
		return -1;
	if (check_answer(s, number, &event.event_data.connect_event_data) != 0)
		return -1;
	ret = dat_ep_disconnect(l->ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_disconnect(connection %" PRIu64 ")", number);
		return -1;
	}
	return await_end(l) != 0 ? -1 : reset(l);
}

/*
 * If a Receive is posted, the reply leaves at once. If no Receive is posted, the provider holds the reply back for a while over
 * iWARP, because the peer's first message could find no Receive; then this test would measure that wait.
 */
static int await_flush(struct perf_link *l)
{
	DAT_EVENT event;

	if (link_next_event(l, l->recv_evd, "the flushed receive", &event) != 0)
		return -1;
	if (event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED)
		return 0;
	return link_dto_failed(&event, "the receive of a connection without messages");
}

/* Waits for the client's request for this connection, and rejects all others. */
static int await_request(struct perf_session *s, uint64_t number, DAT_CR_HANDLE *cr)
{
	struct perf_idle idle = { 0, 0 };
	DAT_CR_PARAM param;

	for (;;) {
		if (link_await_cr(&s->ia, &s->ctl, &idle, cr, &param) != 0)
			return -1;
		if (data_right(s, number, param.private_data, param.private_data_size))
			return 0;
		link_reject_stranger(*cr);
	}
}

static int accept_once(struct perf_session *s, uint64_t number)
{
	struct perf_link *l = &s->data[0];
	struct rate_data wire;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (link_post_recv(l, 0) != 0 || await_request(s, number, &cr) != 0)
		return -1;
	data_fill(s, number, &wire);
	ret = dat_cr_accept(cr, l->ep, sizeof(wire), &wire);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_cr_accept(connection %" PRIu64 ")", number);
		perf_cr_reject(cr);
		return -1;
	}
	if (link_await_event(l, DAT_CONNECTION_EVENT_ESTABLISHED, peer_gone, &event) != 0)
		return -1;
	return await_end(l) != 0 || await_flush(l) != 0 ? -1 : reset(l);
}

int rate_client(struct perf_lane *lane, struct perf_phase *phase)
{
	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++)
		if (connect_once(lane->s, lane->done + i) != 0)
			return -1;
	phase->to_ns = perf_now_ns();
	return 0;
}

int rate_server(struct perf_lane *lane, struct perf_phase *phase)
{
	for (uint64_t i = 0; i < phase->iters; i++)
		if (accept_once(lane->s, lane->done + i) != 0)
			return -1;
	return 0;
}
