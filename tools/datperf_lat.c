/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's latency tests: round trips of one message.
 *
 * In the check round message i has a pattern of its own, and its receiver verifies it before it
 * answers. In a timed phase the messages stay the same, except the last byte of write-lat, on which
 * the other side polls.
 *
 * Invariant: a lane never has more than one outstanding message, so slot 0 of each of its links is
 * enough.
 */
#include "config.h"

#include "cli.h"
#include "datperf.h"

#define SLOT 0u

/*
 * Adds a sample. The time of one round trip ends when that of the next begins, so the clock is read
 * once for each.
 */
static void sample(struct perf_phase *phase, uint64_t *last)
{
	uint64_t now;

	if (phase->hist == NULL)
		return;
	now = clock_ticks();
	hist_add(phase->hist, clock_ns(now - *last));
	*last = now;
}

/*
 * Returns true for the last request on its link, which is signalled, so that the link can be
 * drained.
 */
static bool last_of(const struct perf_cursor *at)
{
	return at->index + 1 == at->link->end;
}

/*
 * Returns the generation of a message in the check round, in which each message of a link has the
 * next one.
 */
static uint64_t generation_of(const struct perf_phase *phase, const struct perf_cursor *at)
{
	return phase->generation + (at->index - at->link->first);
}

/* Checks a message in the check round. Wrong data are reported once, and the round continues. */
static void check(struct perf_phase *phase, const struct perf_cursor *at, bool from_server,
		  uint64_t generation)
{
	struct perf_link *l = at->link;

	if (phase->check && !phase->wrong)
		phase->wrong = !pattern_verify(&l->mem, from_server, generation, generation,
					       at->index - l->first);
}

/* send-lat: both sides keep receives posted, and post the next one while the message travels. */

static int ping_send(struct perf_lane *lane, const struct perf_phase *phase,
		     const struct perf_cursor *at)
{
	struct perf_link *l = at->link;

	if (phase->check)
		pattern_fill(&l->mem, lane->s->ia.server, generation_of(phase, at), SLOT);
	if (link_post(l, PERF_SEND, SLOT, last_of(at)) != 0)
		return -1;
	return link_post_recv(l, SLOT);
}

static int ping_recv(struct perf_lane *lane, struct perf_phase *phase,
		     const struct perf_cursor *at)
{
	struct perf_link *l = at->link;
	uint64_t number;

	if (link_poll_recv(l, l->mem.size, &number) != 0)
		return -1;
	check(phase, at, !lane->s->ia.server, generation_of(phase, at));
	return 0;
}

int lat_send_client(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);
	uint64_t last = clock_ticks();

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		if (ping_send(lane, phase, &at) != 0 || ping_recv(lane, phase, &at) != 0)
			return -1;
		sample(phase, &last);
		lane_next(lane, &at);
	}
	phase->to_ns = perf_now_ns();
	return lane_drain(lane);
}

int lat_send_server(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);

	for (uint64_t i = 0; i < phase->iters; i++) {
		if (ping_recv(lane, phase, &at) != 0 || ping_send(lane, phase, &at) != 0)
			return -1;
		lane_next(lane, &at);
	}
	return lane_drain(lane);
}

/* write-lat: the reader polls on the last byte, which shows that the whole message is there. */

static int flag_write(struct perf_lane *lane, const struct perf_phase *phase,
		      const struct perf_cursor *at)
{
	struct perf_link *l = at->link;
	uint64_t generation = generation_of(phase, at), last = l->mem.size - 1;
	bool server = lane->s->ia.server;

	if (phase->check)
		pattern_fill(&l->mem, server, generation, SLOT);
	else
		region_out(&l->mem, SLOT)[last] =
			pattern_byte(&l->mem, server, generation, SLOT, last);
	return link_post(l, PERF_WRITE, SLOT, last_of(at));
}

static int flag_await(struct perf_lane *lane, struct perf_phase *phase,
		      const struct perf_cursor *at)
{
	struct perf_link *l = at->link;
	uint64_t generation = generation_of(phase, at), last = l->mem.size - 1;
	const unsigned char *flag = region_in(&l->mem, SLOT) + last;
	bool from_server = !lane->s->ia.server;
	unsigned char want = pattern_byte(&l->mem, from_server, generation, SLOT, last);
	struct perf_idle idle = { 0, 0 };

	/* Acquire: what the adapter wrote before this byte is visible once the byte is. */
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != want)
		if (link_idle(l, &idle) != 0)
			return -1;
	check(phase, at, from_server, generation);
	return 0;
}

int lat_write_client(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);
	uint64_t last = clock_ticks();

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		if (flag_write(lane, phase, &at) != 0 || flag_await(lane, phase, &at) != 0)
			return -1;
		sample(phase, &last);
		lane_next(lane, &at);
	}
	phase->to_ns = perf_now_ns();
	return lane_drain(lane);
}

int lat_write_server(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);

	for (uint64_t i = 0; i < phase->iters; i++) {
		if (flag_await(lane, phase, &at) != 0 || flag_write(lane, phase, &at) != 0)
			return -1;
		lane_next(lane, &at);
	}
	return lane_drain(lane);
}

/* read-lat: measures from the post to the completion. The peer takes no part. */

int lat_read_client(struct perf_lane *lane, struct perf_phase *phase)
{
	struct perf_cursor at = lane_cursor(lane);
	uint64_t last = clock_ticks();

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		struct perf_link *l = at.link;

		if (phase->check)
			pattern_poison(&l->mem, true, phase->generation, SLOT);
		if (link_post(l, PERF_READ, SLOT, true) != 0 || link_drain(l) != 0)
			return -1;
		sample(phase, &last);
		check(phase, &at, true, phase->generation);
		lane_next(lane, &at);
	}
	phase->to_ns = perf_now_ns();
	return 0;
}
