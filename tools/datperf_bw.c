/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's bandwidth tests: a window of messages kept under way.
 *
 * Not every transport makes a send wait for a receive, so send-bw counts: the server reports from
 * time to time, in a credit message, how many messages it has taken and posted receives for again.
 *
 * Invariant: a send is posted only while fewer than `recvs` messages lie between it and the last
 * one that the server is known to have taken; so it always finds a receive.
 */
#include "config.h"

#include <endian.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

static uint32_t recvs(const struct perf_link *l)
{
	return 2 * l->mem.slots;
}

/* Returns after how many messages a credit is sent: four credits cover all receives. */
static uint32_t credit_step(const struct perf_link *l)
{
	uint32_t step = recvs(l) / 4;

	return step > 0 ? step : 1;
}

/* Posts the receives before the connection is made, so that the first message finds its receive. */
int bw_post_recvs(const struct perf_session *s, struct perf_link *l)
{
	bool credits = !s->ia.server && !s->spec.both;
	uint32_t n = credits ? PERF_CREDITS : recvs(l);

	for (uint32_t i = 0; i < n; i++)
		if ((credits ? link_post_credit_recv(l, i) : link_post_recv(l, i)) != 0)
			return -1;
	return 0;
}

/* Takes one credit: the number of messages that the server has taken. */
static int take_credit(struct perf_link *l)
{
	uint64_t number, value;

	if (link_poll_recv(l, PERF_CREDIT_SIZE, &number) != 0)
		return -1;
	memcpy(&value, region_credit(&l->mem, number), sizeof(value));
	l->taken = be64toh(value);
	return link_post_credit_recv(l, number);
}

static int give_credit(struct perf_link *l, uint64_t taken)
{
	uint64_t number = l->posted, value = htobe64(taken);

	memcpy(region_credit(&l->mem, number), &value, sizeof(value));
	return link_post_credit(l, number);
}

/* Sends the messages of a phase, which ends when the server has taken all of them. */
int bw_send_client(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		struct perf_link *l = at.link;

		while (at.index - l->taken >= recvs(l))
			if (take_credit(l) != 0)
				return -1;
		if (link_post(l, PERF_SEND, at.index, at.index + 1 == l->end) != 0)
			return -1;
		lane_next(lane, &at);
	}
	for (uint32_t i = 0; i < lane->count; i++)
		while (lane->link[i].taken < lane->link[i].end)
			if (take_credit(&lane->link[i]) != 0)
				return -1;
	phase->to_ns = perf_now_ns();
	return lane_drain(lane);
}

/* Takes the next message of a link, and posts its receive again. */
static int take_message(struct perf_link *l, uint64_t index)
{
	uint64_t number;

	if (link_poll_recv(l, l->mem.size, &number) != 0)
		return -1;
	if (number != index) {
		cli_error("receives complete out of order: number %llu before %llu",
			  (unsigned long long)number, (unsigned long long)index);
		return -1;
	}
	return link_post_recv(l, number + recvs(l));
}

int bw_send_server(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);

	for (uint64_t i = 0; i < phase->iters; i++) {
		struct perf_link *l = at.link;
		uint64_t taken = at.index + 1;

		if (take_message(l, at.index) != 0)
			return -1;
		if ((taken % credit_step(l) == 0 || taken == l->end) && give_credit(l, taken) != 0)
			return -1;
		lane_next(lane, &at);
	}
	return lane_drain(lane);
}

/*
 * Sends in both directions at once, without credits. A side that sends message i of a link has
 * taken message i - slots of it. So when its message i arrives, it had taken i - slots of this
 * side's messages, and with two windows of receives there is always one for the next. The two sides
 * never both wait, because a side that waits has a window of outstanding messages.
 */
int bw_send_both(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor out = lane_cursor(lane), in = out;
	uint64_t sent = 0, had = 0;

	phase->from_ns = perf_now_ns();
	while (had < phase->iters) {
		if (sent < phase->iters && sent - had < (uint64_t)lane->link[0].mem.slots * lane->count) {
			if (link_post(out.link, PERF_SEND, out.index,
				      out.index + 1 == out.link->end) != 0)
				return -1;
			lane_next(lane, &out);
			sent++;
		} else {
			if (take_message(in.link, in.index) != 0)
				return -1;
			lane_next(lane, &in);
			had++;
		}
	}
	if (lane_drain(lane) != 0)
		return -1;
	phase->to_ns = perf_now_ns();
	return 0;
}

static int stream(struct perf_lane *lane, struct perf_phase *phase, enum perf_request what)
{
	struct perf_cursor at = lane_cursor(lane);

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		if (link_post(at.link, what, at.index, at.index + 1 == at.link->end) != 0)
			return -1;
		lane_next(lane, &at);
	}
	if (lane_drain(lane) != 0)
		return -1;
	phase->to_ns = perf_now_ns();
	return 0;
}

int bw_write_client(struct perf_lane *lane, struct perf_phase *phase)
{
	return stream(lane, phase, PERF_WRITE);
}

int bw_read_client(struct perf_lane *lane, struct perf_phase *phase)
{
	return stream(lane, phase, PERF_READ);
}
