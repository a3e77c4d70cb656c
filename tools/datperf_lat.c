/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's latency tests: round trips of one message.
 *
 * In the check round message i has a pattern of its own, and its receiver verifies it before it
 * answers. In a timed phase the messages stay the same, except what the other side polls on: the
 * last byte of write-lat, and what follows the message in eager-lat.
 *
 * Invariant: a lane never has more than one outstanding message, so slot 0 of each of its links is
 * enough; only eager-lat uses the slots in turn.
 */
#include "config.h"

#include <endian.h>
#include <inttypes.h>

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
		  uint64_t generation, uint64_t slot)
{
	if (phase->check && !phase->wrong)
		phase->wrong = !pattern_verify(&at->link->mem, from_server, generation, generation, slot);
}

/*
 * The same for a message whose end has been polled on. Where the kernel executes the RDMA Write, on an x86 processor without fast
 * short string operations Linux from 6.4 on copies backwards by chance of the addresses. That is reported once.
 */
static void check_polled(struct perf_phase *phase, const struct perf_cursor *at, bool from_server,
			 uint64_t generation, uint64_t slot)
{
	const struct perf_region *mem = &at->link->mem;
	uint64_t late;

	if (!phase->check || phase->wrong)
		return;
	phase->wrong = !pattern_verify_polled(mem, from_server, generation, slot, &late);
	if (phase->wrong || phase->late || late == mem->size)
		return;
	phase->late = true;
	cli_error("byte %" PRIu64 " of %" PRIu64 " of message %" PRIu64 " came after the last byte: the device does not write a "
		  "message in order, so a program that polls on the end of an RDMA Write can take old data for new; let it "
		  "wait for a message that follows, see opendat-ib(7)", late, mem->size, slot);
}

/* What one side does with a message: posts it, or waits for it. */
typedef int put_fn(struct perf_lane *lane, const struct perf_phase *phase,
		   const struct perf_cursor *at);
typedef int take_fn(struct perf_lane *lane, struct perf_phase *phase,
		    const struct perf_cursor *at);

/* The client's side of round trips. It is inlined, so that each test has a loop without indirect calls. */
static inline __attribute__((always_inline)) int ask(struct perf_lane *lane,
						     struct perf_phase *phase, put_fn *put,
						     take_fn *take)
{
	struct perf_cursor at = lane_cursor(lane);
	uint64_t last = clock_ticks();

	phase->from_ns = perf_now_ns();
	for (uint64_t i = 0; i < phase->iters; i++) {
		if (put(lane, phase, &at) != 0 || take(lane, phase, &at) != 0)
			return -1;
		sample(phase, &last);
		lane_next(lane, &at);
	}
	phase->to_ns = perf_now_ns();
	return lane_drain(lane);
}

/* The server's side of round trips. */
static inline __attribute__((always_inline)) int answer(struct perf_lane *lane,
							struct perf_phase *phase, put_fn *put,
							take_fn *take)
{
	struct perf_cursor at = lane_cursor(lane);

	for (uint64_t i = 0; i < phase->iters; i++) {
		if (take(lane, phase, &at) != 0 || put(lane, phase, &at) != 0)
			return -1;
		lane_next(lane, &at);
	}
	return lane_drain(lane);
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
	check(phase, at, !lane->s->ia.server, generation_of(phase, at), SLOT);
	return 0;
}

int lat_send_client(struct perf_lane *lane, struct perf_phase *phase)
{
	return ask(lane, phase, ping_send, ping_recv);
}

int lat_send_server(struct perf_lane *lane, struct perf_phase *phase)
{
	return answer(lane, phase, ping_send, ping_recv);
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
	check_polled(phase, at, from_server, generation, SLOT);
	return 0;
}

int lat_write_client(struct perf_lane *lane, struct perf_phase *phase)
{
	return ask(lane, phase, flag_write, flag_await);
}

int lat_write_server(struct perf_lane *lane, struct perf_phase *phase)
{
	return answer(lane, phase, flag_write, flag_await);
}

/*
 * eager-lat: the short messages of an MPI. Each is one RDMA Write into the next slot of a ring in the
 * receiver's memory: the message, its length, and a flag. The receiver polls on the flag of the slot
 * that is next. After each half of the ring it writes into the sender's memory how many messages it
 * has taken, and the sender waits for that before it uses a slot again.
 */

/* What follows a message in its slot. Both words are in network byte order. */
struct eager_tail {
	uint32_t length;	/* of the message, in bytes */
	uint32_t lap;		/* the flag: how often the ring has come to this slot, from 1 on */
};

static uint64_t tail_offset(uint64_t size)
{
	return (size + sizeof(struct eager_tail) - 1) / sizeof(struct eager_tail) *
	       sizeof(struct eager_tail);
}

/* Returns the bytes of a message of this size and of what follows it. */
uint64_t eager_extent(uint64_t size)
{
	return tail_offset(size) + sizeof(struct eager_tail);
}

/* Returns the longest message whose slot one RDMA Write of at most `length` bytes can carry. */
uint64_t eager_longest(uint64_t length)
{
	uint64_t tails = length / sizeof(struct eager_tail);

	return tails > 0 ? (tails - 1) * sizeof(struct eager_tail) : 0;
}

static uint32_t lap_of(const struct perf_cursor *at)
{
	return htobe32((uint32_t)(at->index / PERF_RING + 1));
}

/* Waits until the peer has taken the message that was in this slot before. */
static int eager_await_slot(const struct perf_cursor *at)
{
	struct perf_idle idle = { 0, 0 };

	while (at->index - link_taken(at->link) >= PERF_RING)
		if (link_idle(at->link, &idle) != 0)
			return -1;
	return 0;
}

static int eager_write(struct perf_lane *lane, const struct perf_phase *phase,
		       const struct perf_cursor *at)
{
	struct perf_link *l = at->link;
	unsigned char *slot = region_out(&l->mem, at->index);
	struct eager_tail *tail = (struct eager_tail *)(slot + tail_offset(l->mem.size));

	if (eager_await_slot(at) != 0)
		return -1;
	if (phase->check)
		pattern_fill(&l->mem, lane->s->ia.server, generation_of(phase, at), at->index);
	*tail = (struct eager_tail){ htobe32((uint32_t)l->mem.size), lap_of(at) };
	return link_post(l, PERF_WRITE, at->index, last_of(at));
}

static int eager_await(struct perf_lane *lane, struct perf_phase *phase,
		       const struct perf_cursor *at)
{
	struct perf_link *l = at->link;
	const unsigned char *slot = region_in(&l->mem, at->index);
	const struct eager_tail *tail = (const struct eager_tail *)(slot + tail_offset(l->mem.size));
	struct perf_idle idle = { 0, 0 };
	uint64_t taken = at->index + 1;
	uint32_t lap = lap_of(at);

	/* acquire: what the adapter wrote before the flag is visible once the flag is */
	while (__atomic_load_n(&tail->lap, __ATOMIC_ACQUIRE) != lap)
		if (link_idle(l, &idle) != 0)
			return -1;
	if (be32toh(tail->length) != l->mem.size) {
		cli_error("wrong data: message %" PRIu64 " says that it has %" PRIu32 " bytes, and it has "
			  "%" PRIu64 "; the adapter damaged it", at->index, be32toh(tail->length),
			  l->mem.size);
		return -1;
	}
	check_polled(phase, at, !lane->s->ia.server, generation_of(phase, at), at->index);
	return taken % (PERF_RING / 2) == 0 ? link_post_taken(l, taken) : 0;
}

int lat_eager_client(struct perf_lane *lane, struct perf_phase *phase)
{
	return ask(lane, phase, eager_write, eager_await);
}

int lat_eager_server(struct perf_lane *lane, struct perf_phase *phase)
{
	return answer(lane, phase, eager_write, eager_await);
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
		check(phase, &at, true, phase->generation, SLOT);
		lane_next(lane, &at);
	}
	phase->to_ns = perf_now_ns();
	return 0;
}
