/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's lanes: how the connections and the messages of a test are distributed over the threads
 * of a side.
 *
 * Both sides distribute them in the same way, so a thread here has one thread there as its peer.
 * The first lane is the calling thread's.
 *
 * Invariant: while lanes_run() runs, only its own thread accesses a lane and its links; the threads
 * take turns to check the adapter and the session (link_look).
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

/*
 * Returns how much the first n of this many equal parts have together. The first parts get the
 * remainder.
 */
static uint64_t shares(uint64_t all, uint32_t parts, uint32_t n)
{
	return all / parts * n + (n < all % parts ? n : all % parts);
}

/* Distributes the links in `data`, which exist, over spec.threads lanes. */
void lanes_lay_out(struct perf_session *s)
{
	const struct perf_spec *spec = &s->spec;

	for (uint32_t i = 0; i < spec->threads; i++) {
		struct perf_lane *lane = &s->lane[i];
		uint64_t first = shares(spec->eps, spec->threads, i);

		lane->s = s;
		lane->link = s->data + first;
		lane->count = (uint32_t)(shares(spec->eps, spec->threads, i + 1) - first);
		lane->done = 0;
	}
}

/* Returns how many of a lane's first n messages go over its link k. */
static uint64_t of_link(const struct perf_lane *lane, uint64_t n, uint32_t k)
{
	return (n + lane->count - 1 - k) / lane->count;
}

/*
 * Determines which messages of which link a phase has: the same number for each link, whatever its
 * lane.
 */
void lanes_begin(struct perf_session *s, const struct perf_phase *phase)
{
	for (uint32_t i = 0; i < s->spec.threads; i++) {
		struct perf_lane *lane = &s->lane[i];
		uint32_t at = (uint32_t)(lane->link - s->data);

		lane->phase = *phase;
		lane->phase.iters = shares(phase->iters, s->spec.eps, at + lane->count) -
				    shares(phase->iters, s->spec.eps, at);
		lane->phase.hist = phase->hist != NULL ? lane->hist : NULL;
		for (uint32_t k = 0; k < lane->count; k++) {
			lane->link[k].first = of_link(lane, lane->done, k);
			lane->link[k].end = of_link(lane, lane->done + lane->phase.iters, k);
			lane->link[k].taken = lane->link[k].first;
		}
	}
}

void lanes_end(struct perf_session *s)
{
	for (uint32_t i = 0; i < s->spec.threads; i++)
		s->lane[i].done += s->lane[i].phase.iters;
}

/* Waits until everything that a lane has posted is complete. */
int lane_drain(struct perf_lane *lane)
{
	for (uint32_t i = 0; i < lane->count; i++)
		if (link_drain(&lane->link[i]) != 0)
			return -1;
	return 0;
}

/* A barrier at which threads wait until all of them have arrived. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum { GATE_CLOSED, GATE_OPEN, GATE_OFF } state;
};

struct runner {
	struct perf_lane *lane;
	int (*run)(struct perf_lane *lane, struct perf_phase *phase);
	struct gate *gate;
	pthread_t thread;
};

static bool gate_pass(struct gate *gate)
{
	bool pass;

	pthread_mutex_lock(&gate->lock);
	while (gate->state == GATE_CLOSED)
		pthread_cond_wait(&gate->changed, &gate->lock);
	pass = gate->state == GATE_OPEN;
	pthread_mutex_unlock(&gate->lock);
	return pass;
}

static void gate_set(struct gate *gate, bool open)
{
	pthread_mutex_lock(&gate->lock);
	gate->state = open ? GATE_OPEN : GATE_OFF;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->lock);
}

static void *run_lane(void *arg)
{
	struct runner *r = arg;
	struct perf_lane *lane = r->lane;

	if (!gate_pass(r->gate))
		return NULL;
	lane->status = r->run(lane, &lane->phase);
	if (lane->status != 0)	/* relaxed: see link_look */
		atomic_store_explicit(&lane->s->ia.failed, true, memory_order_relaxed);
	return NULL;
}

/* Runs the lanes. The first one is this thread's. */
static int run_threads(struct runner *runner, uint32_t n)
{
	struct gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_CLOSED };
	int status = 0, error = 0;
	uint32_t threads = 1;

	for (; threads < n; threads++) {
		runner[threads].gate = &gate;
		error = pthread_create(&runner[threads].thread, NULL, run_lane, &runner[threads]);
		if (error != 0)
			break;
	}
	if (error != 0) {
		cli_error("cannot start thread %u: %s; give fewer --threads", threads,
			  strerror(error));
		status = -1;
	}
	gate_set(&gate, error == 0);
	runner[0].gate = &gate;
	run_lane(&runner[0]);
	for (uint32_t i = 1; i < threads; i++)
		pthread_join(runner[i].thread, NULL);
	for (uint32_t i = 0; i < threads && error == 0; i++)
		if (runner[i].lane->status != 0)
			status = -1;
	return status;
}

/*
 * Runs what lanes_begin() has laid out; the phase begins with its first lane and ends with its
 * last.
 */
int lanes_run(struct perf_session *s, struct perf_phase *phase,
	      int (*run)(struct perf_lane *lane, struct perf_phase *phase))
{
	struct runner runner[PERF_MAX_THREADS];

	for (uint32_t i = 0; i < s->spec.threads; i++)
		runner[i] = (struct runner){ .lane = &s->lane[i], .run = run };
	if (s->spec.threads == 1 ? run(&s->lane[0], &s->lane[0].phase) != 0 :
				   run_threads(runner, s->spec.threads) != 0)
		return -1;
	phase->from_ns = UINT64_MAX;
	phase->to_ns = 0;
	for (uint32_t i = 0; i < s->spec.threads; i++) {
		const struct perf_phase *part = &s->lane[i].phase;

		if (part->from_ns < phase->from_ns)
			phase->from_ns = part->from_ns;
		if (part->to_ns > phase->to_ns)
			phase->to_ns = part->to_ns;
	}
	return 0;
}
