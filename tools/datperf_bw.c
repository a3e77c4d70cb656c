/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's bandwidth tests: a window of messages kept under way.
 *
 * Not every transport makes a send wait for a receive, so send-bw counts: the server tells from
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

static uint32_t recvs(const struct perf_session *s)
{
	return 2 * s->data.mem.slots;
}

/* Credits come this many messages apart, so that four are enough for all receives. */
static uint32_t credit_step(const struct perf_session *s)
{
	uint32_t step = recvs(s) / 4;

	return step > 0 ? step : 1;
}

/* Before the connection is made, so that the first message finds its receive. */
int bw_post_recvs(struct perf_session *s)
{
	if (!s->ia.server) {
		for (uint32_t i = 0; i < PERF_CREDITS; i++)
			if (link_post_credit_recv(&s->data, i) != 0)
				return -1;
		return 0;
	}
	for (uint32_t i = 0; i < recvs(s); i++)
		if (link_post_recv(&s->data, i) != 0)
			return -1;
	return 0;
}

/* Takes one credit and returns in `taken` how many messages the server has had. */
static int take_credit(struct perf_session *s, uint64_t *taken)
{
	uint64_t number, value;

	if (link_poll_recv(&s->data, PERF_CREDIT_SIZE, &number) != 0)
		return -1;
	memcpy(&value, region_credit(&s->data.mem, number), sizeof(value));
	*taken = be64toh(value);
	return link_post_credit_recv(&s->data, number);
}

static int give_credit(struct perf_session *s, uint64_t taken)
{
	uint64_t number = s->data.posted, value = htobe64(taken);

	memcpy(region_credit(&s->data.mem, number), &value, sizeof(value));
	return link_post_credit(&s->data, number);
}

int bw_send_client(struct perf_session *s, struct perf_phase *phase)
{
	uint64_t start = perf_now_ns(), next = s->done, end = s->done + phase->iters;
	uint64_t taken = s->done;	/* a phase ends when the server has had all of it */

	while (next < end) {
		while (next - taken >= recvs(s))
			if (take_credit(s, &taken) != 0)
				return -1;
		if (link_post(&s->data, PERF_SEND, next, next + 1 == end) != 0)
			return -1;
		next++;
	}
	while (taken < end)
		if (take_credit(s, &taken) != 0)
			return -1;
	phase->elapsed_ns = perf_now_ns() - start;
	return link_drain(&s->data);
}

int bw_send_server(struct perf_session *s, struct perf_phase *phase)
{
	uint64_t next = s->done, end = s->done + phase->iters, number;

	while (next < end) {
		if (link_poll_recv(&s->data, s->spec.size, &number) != 0)
			return -1;
		if (number != next) {
			cli_error("receives complete out of order: number %llu before %llu",
				  (unsigned long long)number, (unsigned long long)next);
			return -1;
		}
		if (link_post_recv(&s->data, number + recvs(s)) != 0)
			return -1;
		next++;
		if ((next % credit_step(s) == 0 || next == end) && give_credit(s, next) != 0)
			return -1;
	}
	return link_drain(&s->data);
}

static int stream(struct perf_session *s, struct perf_phase *phase, enum perf_request what)
{
	uint64_t start = perf_now_ns();

	for (uint32_t i = 0; i < phase->iters; i++)
		if (link_post(&s->data, what, s->done + i, i + 1 == phase->iters) != 0)
			return -1;
	if (link_drain(&s->data) != 0)
		return -1;
	phase->elapsed_ns = perf_now_ns() - start;
	return 0;
}

int bw_write_client(struct perf_session *s, struct perf_phase *phase)
{
	return stream(s, phase, PERF_WRITE);
}

int bw_read_client(struct perf_session *s, struct perf_phase *phase)
{
	return stream(s, phase, PERF_READ);
}
