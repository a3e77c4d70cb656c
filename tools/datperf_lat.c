/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's latency tests: one message to and fro, again and again.
 *
 * In the check round message i carries a pattern of its own and is verified by whoever gets it,
 * before it answers. In a timed phase the messages stay the same, but for the last byte of
 * write-lat, which is what the other side polls on.
 *
 * Invariant: never more than one message is under way, so slot 0 is enough.
 */
#include "config.h"

#include "cli.h"
#include "datperf.h"

#define SLOT 0u

/* The time of one round trip ends where that of the next begins: one reading of the clock each. */
static void sample(struct perf_phase *phase, uint64_t *last)
{
	uint64_t now;

	if (phase->hist == NULL)
		return;
	now = perf_now_ns();
	hist_add(phase->hist, now - *last);
	*last = now;
}

static bool last_of(const struct perf_phase *phase, uint32_t i)
{
	return i + 1 == phase->iters;
}

/* send-lat: both sides keep receives posted, and post the next one while the message travels. */

static int ping_send(struct perf_session *s, const struct perf_phase *phase, uint32_t i)
{
	struct perf_link *l = &s->data;

	if (phase->check)
		pattern_fill(&l->mem, s->ia.server, phase->generation + i, SLOT);
	if (link_post(l, PERF_SEND, SLOT, last_of(phase, i)) != 0)
		return -1;
	return link_post_recv(l, SLOT);
}

static int ping_recv(struct perf_session *s, const struct perf_phase *phase, uint32_t i)
{
	struct perf_link *l = &s->data;
	uint64_t generation = phase->generation + i, number;

	if (link_poll_recv(l, l->mem.size, &number) != 0)
		return -1;
	if (phase->check &&
	    !pattern_verify(&l->mem, !s->ia.server, generation, generation, SLOT))
		return -1;
	return 0;
}

int lat_send_client(struct perf_session *s, struct perf_phase *phase)
{
	uint64_t start = perf_now_ns(), last = start;

	for (uint32_t i = 0; i < phase->iters; i++) {
		if (ping_send(s, phase, i) != 0 || ping_recv(s, phase, i) != 0)
			return -1;
		sample(phase, &last);
	}
	phase->elapsed_ns = perf_now_ns() - start;
	return link_drain(&s->data);
}

int lat_send_server(struct perf_session *s, struct perf_phase *phase)
{
	for (uint32_t i = 0; i < phase->iters; i++)
		if (ping_recv(s, phase, i) != 0 || ping_send(s, phase, i) != 0)
			return -1;
	return link_drain(&s->data);
}

/* write-lat: the reader polls on the last byte, which tells that all of the message is there. */

static int flag_write(struct perf_session *s, const struct perf_phase *phase, uint32_t i)
{
	struct perf_link *l = &s->data;
	uint64_t generation = phase->generation + i, last = l->mem.size - 1;

	if (phase->check)
		pattern_fill(&l->mem, s->ia.server, generation, SLOT);
	else
		region_out(&l->mem, SLOT)[last] =
			pattern_byte(s->ia.server, generation, SLOT, last);
	return link_post(l, PERF_WRITE, SLOT, last_of(phase, i));
}

static int flag_await(struct perf_session *s, const struct perf_phase *phase, uint32_t i)
{
	struct perf_link *l = &s->data;
	uint64_t generation = phase->generation + i, last = l->mem.size - 1;
	const unsigned char *flag = region_in(&l->mem, SLOT) + last;
	unsigned char want = pattern_byte(!s->ia.server, generation, SLOT, last);
	struct perf_idle idle = { 0, 0 };

	/* Acquire: what the adapter wrote before this byte is visible once the byte is. */
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != want)
		if (link_idle(l, &idle) != 0)
			return -1;
	if (phase->check &&
	    !pattern_verify(&l->mem, !s->ia.server, generation, generation, SLOT))
		return -1;
	return 0;
}

int lat_write_client(struct perf_session *s, struct perf_phase *phase)
{
	uint64_t start = perf_now_ns(), last = start;

	for (uint32_t i = 0; i < phase->iters; i++) {
		if (flag_write(s, phase, i) != 0 || flag_await(s, phase, i) != 0)
			return -1;
		sample(phase, &last);
	}
	phase->elapsed_ns = perf_now_ns() - start;
	return link_drain(&s->data);
}

int lat_write_server(struct perf_session *s, struct perf_phase *phase)
{
	for (uint32_t i = 0; i < phase->iters; i++)
		if (flag_await(s, phase, i) != 0 || flag_write(s, phase, i) != 0)
			return -1;
	return link_drain(&s->data);
}

/* read-lat: from the post to the completion. The peer takes no part. */

int lat_read_client(struct perf_session *s, struct perf_phase *phase)
{
	uint64_t start = perf_now_ns(), last = start;
	struct perf_link *l = &s->data;

	for (uint32_t i = 0; i < phase->iters; i++) {
		if (phase->check)
			pattern_poison(&l->mem, true, phase->generation, SLOT);
		if (link_post(l, PERF_READ, SLOT, true) != 0 || link_drain(l) != 0)
			return -1;
		sample(phase, &last);
		if (phase->check && !pattern_verify(&l->mem, true, phase->generation,
						    phase->generation, SLOT))
			return -1;
	}
	phase->elapsed_ns = perf_now_ns() - start;
	return 0;
}
