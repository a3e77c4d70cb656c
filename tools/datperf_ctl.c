/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's session: what client and server say to each other, and the course of a test.
 *
 * The client asks, the server answers, over the control connection: TEST announces a test, RUN a
 * phase of it, CHECK asks whether the data of that phase arrived well, END takes the test down,
 * BYE ends the session. Between the answer to RUN and the question CHECK both sides do what the
 * test's methods say, and the control connection is silent.
 *
 * Invariant: question and answer alternate, so a few posted receives are always enough.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli.h"
#include "datperf.h"

enum ctl_op { CTL_TEST = 1, CTL_RUN, CTL_CHECK, CTL_END, CTL_BYE, CTL_YES, CTL_NO };

/* A message. On the wire, it is eight 64-bit words in network byte order. */
struct ctl_msg {
	uint64_t op;
	uint64_t arg[7];
};

#define CTL_RECVS 4u

_Static_assert(sizeof(struct ctl_msg) == 64, "control messages have a fixed layout");

const struct perf_method perf_methods[PERF_TESTS] = {
	[PERF_SEND_LAT] = { "send-lat", lat_send_client, lat_send_server, NULL, true, true, true, 2 },
	[PERF_WRITE_LAT] = { "write-lat", lat_write_client, lat_write_server, NULL, true, true,
			     true, 2 },
	[PERF_READ_LAT] = { "read-lat", lat_read_client, NULL, NULL, false, true, true, 1 },
	[PERF_EAGER_LAT] = { "eager-lat", lat_eager_client, lat_eager_server, NULL, true, true,
			     true, 2 },
	[PERF_SEND_BW] = { "send-bw", bw_send_client, bw_send_server, bw_send_both, true, false,
			   false, 0 },
	[PERF_WRITE_BW] = { "write-bw", bw_write_client, NULL, bw_write_client, true, false, false,
			    0 },
	[PERF_READ_BW] = { "read-bw", bw_read_client, NULL, bw_read_client, false, true, false, 0 },
	[PERF_CONNECT_RATE] = { "connect-rate", rate_client, rate_server, NULL, false, false, false,
				0 },
};

bool perf_waits(enum perf_test test)
{
	return test != PERF_WRITE_LAT && test != PERF_EAGER_LAT && test != PERF_CONNECT_RATE;
}

/* The control connection */

static int ctl_create(struct perf_session *s)
{
	static const struct link_shape shape = {
		.size = sizeof(struct ctl_msg), .slots = CTL_RECVS, .recvs = CTL_RECVS,
		.requests = CTL_RECVS, .signal_every = 1,
	};

	if (link_create(&s->ctl, &s->ia, NULL, &shape) != 0)
		return -1;
	for (uint32_t i = 0; i < CTL_RECVS; i++)
		if (link_post_recv(&s->ctl, i) != 0)
			return -1;
	return 0;
}

/* Posts a message. Its completion is still to be taken, by link_drain(). */
static int ctl_post(struct perf_session *s, const struct ctl_msg *msg)
{
	const uint64_t *from = (const uint64_t *)msg;
	uint64_t wire[sizeof(*msg) / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof(wire) / sizeof(wire[0]); i++)
		wire[i] = htobe64(from[i]);
	memcpy(region_out(&s->ctl.mem, s->ctl_sent), wire, sizeof(wire));
	if (link_post(&s->ctl, PERF_SEND, s->ctl_sent, true) != 0)
		return -1;
	s->ctl_sent++;
	return 0;
}

static int ctl_say(struct perf_session *s, const struct ctl_msg *msg)
{
	return ctl_post(s, msg) != 0 ? -1 : link_drain(&s->ctl);
}

#define SLICE_S 1000u	/* the length of one sleep: DAT_TIMEOUT holds little more than an hour */

/*
 * Returns how long the other side may be silent. While the client measures, the server allows the
 * rest of the session, because some tests need nothing from the server. Before a test, the client
 * fills as much memory as the server allows. Until its first test has begun it has no more time than
 * that in all, whatever it says.
 */
static uint64_t ctl_patience_ns(const struct perf_session *s)
{
	uint64_t now = perf_now_ns(), patience_ns = link_patience_s(&s->ctl) * UINT64_C(1000000000);
	uint64_t rest_ns = s->ia.until_ns > now ? s->ia.until_ns - now : 0;

	if (!s->ia.server)
		return patience_ns;
	patience_ns = (s->ia.timeout_s + s->ia.limit / PERF_SLOWEST) * UINT64_C(1000000000);
	if (!s->met)
		patience_ns -= now - s->joined_ns < patience_ns ? now - s->joined_ns : patience_ns;
	return s->measuring || rest_ns < patience_ns ? rest_ns : patience_ns;
}

static DAT_RETURN ctl_wait(const struct perf_session *s, DAT_EVENT *event)
{
	uint64_t until = perf_now_ns() + ctl_patience_ns(s), now, left_us;
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		now = perf_now_ns();
		left_us = now < until ? (until - now) / 1000 : 0;
		if (left_us > SLICE_S * UINT64_C(1000000))
			left_us = SLICE_S * UINT64_C(1000000);
		ret = dat_evd_wait(s->ctl.recv_evd, (DAT_TIMEOUT)left_us, 1, event, &more);
	} while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL ||
		 (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED && perf_now_ns() < until));
	return ret;
}

/* Reports that the other side has been silent for too long. Always returns -1. */
static int ctl_silent(struct perf_session *s)
{
	if (!s->ia.server)
		return link_stuck(&s->ctl);
	if (perf_now_ns() >= s->ia.until_ns)
		return link_over();
	s->silent = true;
	cli_error("the client starts no test; it is disconnected, and the next one is served");
	return -1;
}

/*
 * Sleeps until a message of the other side arrives, but no longer than ctl_patience_ns(). The
 * server notices the client's end by a flushed receive.
 */
static int ctl_hear(struct perf_session *s, struct ctl_msg *msg)
{
	uint64_t wire[sizeof(*msg) / sizeof(uint64_t)], *to = (uint64_t *)msg;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (ctl_patience_ns(s) == 0)	/* however much it has said meanwhile */
		return ctl_silent(s);
	ret = ctl_wait(s, &event);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return ctl_silent(s);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "waiting for the peer's answer");
		return -1;
	}
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return link_dto_failed(&event, "the session");

	memcpy(wire, region_in(&s->ctl.mem, s->ctl_received), sizeof(wire));
	for (size_t i = 0; i < sizeof(wire) / sizeof(wire[0]); i++)
		to[i] = be64toh(wire[i]);
	if (link_post_recv(&s->ctl, s->ctl_received) != 0)
		return -1;
	s->ctl_received++;
	return 0;
}

/*
 * The completion is taken when the client's next message is here. After BYE it is not: the client
 * ends the connection then, and its end may be quicker than this completion, which is an error then
 * (siw) or flushed, although the answer has arrived.
 */
static int ctl_answer(struct perf_session *s, bool yes, uint64_t arg)
{
	struct ctl_msg msg = { .op = yes ? CTL_YES : CTL_NO, .arg = { arg } };

	return ctl_post(s, &msg);
}

/*
 * Sends a question and waits for the answer. Sets *arg to the second word of the answer, if arg is
 * not NULL.
 */
static int ctl_ask(struct perf_session *s, const struct ctl_msg *question, bool *yes,
		   uint64_t *arg)
{
	struct ctl_msg answer;

	if (ctl_say(s, question) != 0 || ctl_hear(s, &answer) != 0)
		return -1;
	if (answer.op != CTL_YES && answer.op != CTL_NO) {
		cli_error("the peer sent an invalid answer; start the same version of datperf on "
			  "both sides");
		return -1;
	}
	*yes = answer.op == CTL_YES;
	if (arg != NULL)
		*arg = answer.arg[0];
	return 0;
}

/* Asks a question that has to be answered with yes. */
static int ctl_order(struct perf_session *s, const struct ctl_msg *question)
{
	uint64_t arg;
	bool yes;

	if (ctl_ask(s, question, &yes, &arg) != 0)
		return -1;
	if (yes && question->op == CTL_TEST)
		s->ia.token = arg;
	if (yes)
		return 0;
	if (question->op == CTL_TEST && arg > 0) {
		cli_error("the server allows a test "
			  "%" PRIu64 " bytes of memory, and this one needs "
			  "%" PRIu64 "; give a smaller --size, --window or --eps, or start the "
			  "server with a larger --limit", arg, perf_need(&s->spec));
		return -1;
	}
	cli_error("the peer could not take part in the test; see its messages");
	return -1;
}

/* What both sides do in the same way */

/* Returns the bytes of a slot that a request transfers. */
uint64_t session_extent(const struct perf_spec *spec)
{
	uint64_t size = spec->size > 0 ? spec->size : 1;

	return spec->test == PERF_EAGER_LAT ? eager_extent(size) : size;
}

/* Returns the number of slots, a power of two: 1, a ring, or a window of messages. */
uint32_t session_slots(const struct perf_spec *spec)
{
	uint32_t slots = 1;

	if (spec->test == PERF_EAGER_LAT)
		return PERF_RING;
	while (!perf_methods[spec->test].latency && slots < spec->window)
		slots *= 2;
	return slots;
}

/* Sets how many receives and requests each connection has. */
void session_queues(const struct perf_spec *spec, uint32_t *recvs, uint32_t *requests)
{
	*recvs = 16;
	*requests = 32;
	if (spec->test == PERF_EAGER_LAT) {
		*requests = PERF_RING / 2;
	} else if (!perf_methods[spec->test].latency && spec->window > 0) {
		*recvs = 2 * session_slots(spec) + PERF_CREDITS;
		*requests = spec->window > 2 ? spec->window : 2;
	}
}

/* Creates the data connections. After a failure, data_destroy() frees those that were created. */
static int data_create_links(struct perf_session *s, struct link_shape *shape)
{
	for (uint32_t k = 0; k < s->spec.eps; k++) {
		struct perf_link *l = &s->data[k];

		shape->number = k;
		if (link_create(l, &s->ia, &s->ctl, shape) != 0)
			return -1;
		l->wait = s->spec.wait && perf_waits(s->spec.test);
		if (s->spec.test == PERF_SEND_BW && bw_post_recvs(s, l) != 0)
			return -1;
		for (uint32_t i = 0; s->spec.test == PERF_SEND_LAT && i < shape->recvs / 2; i++)
			if (link_post_recv(l, i) != 0)
				return -1;
	}
	return 0;
}

static int data_create(struct perf_session *s)
{
	const struct perf_method *method = &perf_methods[s->spec.test];
	uint64_t size = s->spec.size > 0 ? s->spec.size : 1;
	struct link_shape shape = {
		.size = size, .extent = session_extent(&s->spec), .slots = session_slots(&s->spec), .memory = s->spec.memory,
		.signal_every = 16,
	};

	session_queues(&s->spec, &shape.recvs, &shape.requests);
	if (!method->latency && s->spec.window > 0)
		shape.signal_every = s->spec.window / 4 > 0 ? s->spec.window / 4 : 1;
	if (s->spec.test == PERF_EAGER_LAT)	/* a slot is used again when its request is complete */
		shape.signal_every = PERF_RING / 4;
	s->data = calloc(s->spec.eps, sizeof(*s->data));
	if (s->data == NULL) {
		cli_error("no memory for %u endpoints; give fewer --eps", s->spec.eps);
		return -1;
	}
	perf_ia_share_cpus(&s->ia, s->spec.threads);
	s->ia.memory = perf_need(&s->spec);
	lanes_lay_out(s);
	return data_create_links(s, &shape);
}

static void data_destroy(struct perf_session *s)
{
	for (uint32_t k = 0; s->data != NULL && k < s->spec.eps; k++)
		link_destroy(&s->data[k]);
	free(s->data);
	s->data = NULL;
	s->ia.memory = 0;
}

/* Frees whatever was created. */
void session_free(struct perf_session *s)
{
	data_destroy(s);
	link_destroy(&s->ctl);
	for (uint32_t i = 0; i < PERF_MAX_THREADS; i++) {
		free(s->lane[i].hist);
		s->lane[i].hist = NULL;
	}
}

static bool sends(const struct perf_session *s)
{
	const struct perf_method *method = &perf_methods[s->spec.test];

	return s->spec.both || (s->ia.server ? method->to_client : method->to_server);
}

static bool receives(const struct perf_session *s)
{
	const struct perf_method *method = &perf_methods[s->spec.test];

	return s->spec.both || (s->ia.server ? method->to_server : method->to_client);
}

/*
 * Prepares a phase: makes the outgoing data right, and every byte of the memory for incoming data
 * wrong.
 */
static void phase_prepare(struct perf_session *s, const struct perf_phase *phase)
{
	lanes_begin(s, phase);
	for (uint32_t k = 0; k < s->spec.eps; k++) {
		const struct perf_region *mem = &s->data[k].mem;

		for (uint32_t slot = 0; slot < mem->slots; slot++) {
			if (sends(s))
				pattern_fill(mem, s->ia.server, phase->generation, slot);
			if (receives(s))
				pattern_poison(mem, !s->ia.server, phase->generation, slot);
		}
	}
}

/* Runs this side's part of a phase. */
static int phase_run(struct perf_session *s, struct perf_phase *phase)
{
	const struct perf_method *method = &perf_methods[s->spec.test];
	int (*run)(struct perf_lane *lane, struct perf_phase *phase) =
		s->spec.both ? method->both : s->ia.server ? method->server : method->client;

	return run != NULL ? lanes_run(s, phase, run) : 0;
}

static bool link_verify(const struct perf_session *s, const struct perf_link *l,
			const struct perf_phase *phase)
{
	uint64_t first = l->first, last_generation = phase->generation;

	if (s->spec.test == PERF_WRITE_LAT)
		last_generation += l->end - l->first - 1;
	if (l->end - l->first > l->mem.slots)
		first = l->end - l->mem.slots;
	for (; first < l->end; first++)
		if (!pattern_verify(&l->mem, !s->ia.server, phase->generation, last_generation,
				    first))
			return false;
	return true;
}

/* Checks, after a phase, every slot into which a message of the phase came. */
static bool phase_verify(const struct perf_session *s, const struct perf_phase *phase)
{
	if (!receives(s))
		return true;
	if (perf_methods[s->spec.test].latency && phase->check) {	/* message by message */
		for (uint32_t i = 0; i < s->spec.threads; i++)
			if (s->lane[i].phase.wrong)
				return false;
		return true;
	}
	for (uint32_t k = 0; k < s->spec.eps; k++)
		if (!link_verify(s, &s->data[k], phase))
			return false;
	return true;
}

/* The server */

static bool spec_known(const struct ctl_msg *msg)
{
	return msg->arg[0] < PERF_TESTS && msg->arg[1] <= PERF_MAX_SIZE &&
	       msg->arg[2] <= PERF_MAX_WINDOW &&
	       msg->arg[4] >= 1 && msg->arg[4] <= PERF_MAX_EPS && msg->arg[5] >= 1 &&
	       msg->arg[5] <= PERF_MAX_THREADS && msg->arg[5] <= msg->arg[4] &&
	       msg->arg[6] < 2 * PERF_MEMORIES;
}

/* Draws the number that the connections of the test have to know. */
static int draw_token(struct perf_session *s)
{
	ssize_t got;

	do {
		got = getrandom(&s->ia.token, sizeof(s->ia.token), 0);
	} while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof(s->ia.token))
		return 0;
	cli_error("getrandom: %s", strerror(errno));
	return -1;
}

static int serve_test(struct perf_session *s, const struct ctl_msg *msg)
{
	if (!spec_known(msg)) {
		cli_error("the client asks for a test that this server does not know; start the "
			  "same version of datperf on both sides");
		return -1;
	}
	s->spec.test = (enum perf_test)msg->arg[0];
	s->spec.size = msg->arg[1];
	s->spec.window = (uint32_t)msg->arg[2];
	s->spec.wait = msg->arg[3] != 0;
	s->spec.eps = (uint32_t)msg->arg[4];
	s->spec.threads = (uint32_t)msg->arg[5];
	s->spec.both = msg->arg[6] & 1 && perf_methods[s->spec.test].both != NULL;
	s->spec.memory = (enum perf_memory)(msg->arg[6] >> 1);
	if (perf_need(&s->spec) > s->ia.limit) {
		cli_error("a client asks for %" PRIu64 " bytes of memory and is refused: --limit "
			  "gives a test %" PRIu64, perf_need(&s->spec), s->ia.limit);
		return ctl_answer(s, false, s->ia.limit);
	}
	if (perf_ia_fits(&s->ia, &s->spec) != 0 || data_create(s) != 0 || draw_token(s) != 0 ||
	    ctl_answer(s, true, s->ia.token) != 0)
		return -1;
	s->met = true;
	cli_quiet(false);
	for (uint32_t k = 0; s->spec.test != PERF_CONNECT_RATE && k < s->spec.eps; k++)
		if (link_accept(&s->data[k], LINK_DATA) != 0)
			return -1;
	return 0;
}

static int serve_run(struct perf_session *s, struct perf_phase *phase, const struct ctl_msg *msg)
{
	memset(phase, 0, sizeof(*phase));
	phase->iters = msg->arg[0];
	phase->generation = msg->arg[1];
	phase->check = msg->arg[2] != 0;
	phase_prepare(s, phase);
	s->measuring = true;
	return ctl_answer(s, true, 0) == 0 && link_drain(&s->ctl) == 0 ? phase_run(s, phase) : -1;
}

static int serve_check(struct perf_session *s, const struct perf_phase *phase)
{
	bool right = phase_verify(s, phase);

	s->measuring = false;
	lanes_end(s);
	return ctl_answer(s, right, phase->to_ns - phase->from_ns);
}

/* Waits for the end of each connection, which the client ends. */
static int serve_end(struct perf_session *s)
{
	DAT_EVENT event;

	for (uint32_t k = 0; k < s->spec.eps; k++) {
		struct perf_link *l = &s->data[k];

		if (!l->connected)
			continue;
		l->connected = false;
		if (link_await_event(l, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, &event) != 0)
			return -1;
	}
	s->measuring = false;
	data_destroy(s);
	return ctl_answer(s, true, 0);
}

/* Serves one client until it says BYE. */
static int serve_client(struct perf_session *s)
{
	struct perf_phase phase;
	struct ctl_msg msg;
	DAT_EVENT event;
	int status = 0;

	memset(&phase, 0, sizeof(phase));
	if (ctl_create(s) != 0)
		return -1;
	if (link_accept(&s->ctl, LINK_CONTROL) != 0) {
		/* A client that never confirmed cannot access memory. relaxed: no other threads */
		s->silent = atomic_exchange_explicit(&s->ia.stuck, false, memory_order_relaxed);
		return -1;
	}
	s->joined_ns = perf_now_ns();
	s->ia.until_ns = s->joined_ns + s->deadline_s * UINT64_C(1000000000);
	while (status == 0) {
		if (ctl_hear(s, &msg) != 0 || (msg.op != CTL_BYE && link_drain(&s->ctl) != 0))
			return -1;
		if (s->data == NULL && msg.op == CTL_TEST)
			status = serve_test(s, &msg);
		else if (s->data != NULL && msg.op == CTL_RUN)
			status = serve_run(s, &phase, &msg);
		else if (s->data != NULL && msg.op == CTL_CHECK)
			status = serve_check(s, &phase);
		else if (s->data != NULL && msg.op == CTL_END)
			status = serve_end(s);
		else if (msg.op == CTL_BYE)
			break;
		else
			status = ctl_answer(s, false, 0);
	}
	s->ctl.connected = false;	/* from here on the end is expected */
	if (status != 0 || (s->stay && !s->met))
		return -1;
	return link_await_event(&s->ctl, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, &event);
}

#define STRANGERS_TOLD 8u

/* Makes room for another client after one that started no test. */
static void session_forget(struct perf_session *s)
{
	const struct sockaddr *address = (const struct sockaddr *)&s->ctl.address;

	if (s->silent)
		guest_silent(address);
	else if (s->ctl.came_ns > 0)
		guest_spent(address, perf_now_ns() - s->ctl.came_ns, s->ia.timeout_s * UINT64_C(1000000000));
	s->silent = false;
	session_free(s);
	s->ctl_sent = s->ctl_received = 0;
	s->ia.until_ns = 0;
	/* relaxed: there are no other threads now */
	atomic_store_explicit(&s->ia.failed, false, memory_order_relaxed);
	if (++s->strangers == STRANGERS_TOLD) {
		cli_error("%u clients in a row have started no test; further ones are not "
			  "reported", STRANGERS_TOLD);
		cli_quiet(true);
	}
}

/*
 * Serves one client. If the server stays for others, a client that starts no test does not count.
 */
int session_serve(struct perf_session *s)
{
	int status = serve_client(s);

	while (s->stay && !s->met && s->ctl.ep != DAT_HANDLE_NULL &&
	       !atomic_load_explicit(&s->ia.stuck, memory_order_relaxed)) {	/* no other threads */
		session_forget(s);
		status = serve_client(s);
	}
	return status;
}

/* The client */

int session_connect(struct perf_session *s)
{
	if (ctl_create(s) != 0)
		return -1;
	return link_connect(&s->ctl, LINK_CONTROL, (const struct sockaddr *)&s->address);
}

/*
 * Ends the session. The side that has sent the last message ends the connection when that message
 * is complete, because there is no answer to it. Otherwise the end could come between a message's
 * arrival and its completion, which is then an error (siw).
 */
int session_end(struct perf_session *s)
{
	struct ctl_msg bye = { .op = CTL_BYE };

	if (ctl_say(s, &bye) != 0)
		return -1;
	return link_disconnect(&s->ctl);
}

static int test_begin(struct perf_session *s)
{
	struct ctl_msg msg = {
		.op = CTL_TEST,
		.arg = { s->spec.test, s->spec.size, s->spec.window, s->spec.wait, s->spec.eps,
			 s->spec.threads, s->spec.both | (uint64_t)s->spec.memory << 1 },
	};

	if (perf_ia_fits(&s->ia, &s->spec) != 0 || data_create(s) != 0 || ctl_order(s, &msg) != 0)
		return -1;
	for (uint32_t k = 0; s->spec.test != PERF_CONNECT_RATE && k < s->spec.eps; k++)
		if (link_connect(&s->data[k], LINK_DATA,
				 (const struct sockaddr *)&s->address) != 0)
			return -1;
	return 0;
}

/*
 * Runs one phase on both sides. Sets *right to false if one side found wrong data, and *took_ns to
 * the time of the side that took longer.
 */
static int test_phase(struct perf_session *s, struct perf_phase *phase, bool *right,
		      uint64_t *took_ns)
{
	struct ctl_msg run = {
		.op = CTL_RUN, .arg = { phase->iters, phase->generation, phase->check },
	};
	struct ctl_msg check = { .op = CTL_CHECK };
	uint64_t theirs_ns;
	bool theirs;

	if (phase->iters == 0)
		return 0;
	phase_prepare(s, phase);
	if (ctl_order(s, &run) != 0 || phase_run(s, phase) != 0 ||
	    ctl_ask(s, &check, &theirs, &theirs_ns) != 0)
		return -1;
	if (!phase_verify(s, phase) || !theirs)
		*right = false;
	lanes_end(s);
	*took_ns = phase->to_ns - phase->from_ns;
	if (s->spec.both && theirs_ns > *took_ns)
		*took_ns = theirs_ns;
	return 0;
}

static int test_end(struct perf_session *s)
{
	struct ctl_msg msg = { .op = CTL_END };

	for (uint32_t k = 0; k < s->spec.eps; k++)
		if (s->data[k].connected && link_disconnect(&s->data[k]) != 0)
			return -1;
	if (ctl_order(s, &msg) != 0)
		return -1;
	data_destroy(s);
	return 0;
}

/* Returns the number of messages that are verified; with --verify that is as many as are measured. */
static uint64_t test_check_count(const struct perf_session *s)
{
	/* the size 0 is for connections */
	uint64_t messages = pattern_messages(s->spec.size > 0 ? s->spec.size : 65536);

	if (messages < 2 * s->spec.eps && s->spec.test != PERF_CONNECT_RATE)
		messages = 2 * s->spec.eps;
	return s->spec.verify && s->spec.iters > messages ? s->spec.iters : messages;
}

/*
 * Sends messages that are all different, and verifies all of them. It does so in phases of one window,
 * because a bandwidth test checks its slots only after a phase.
 */
static int test_check(struct perf_session *s, bool *right)
{
	bool latency = perf_methods[s->spec.test].latency;
	uint64_t messages = test_check_count(s), took_ns;
	uint64_t each = latency ? messages : (uint64_t)s->data[0].mem.slots * s->spec.eps;
	struct perf_phase phase = { .check = true };

	for (uint64_t i = 0; i * each < messages; i++) {
		phase.iters = each;
		phase.generation = 3 + i;
		if (test_phase(s, &phase, right, &took_ns) != 0)
			return -1;
	}
	return 0;
}

#define TRIAL_NS 50000000u	/* a phase of this length gives the number of messages per second */

/*
 * Doubles the length of the phases until one gives the number of messages for the wanted time.
 * These phases warm up as well.
 */
static int test_trial(struct perf_session *s, bool *right)
{
	struct perf_phase phase = { .iters = (uint64_t)s->spec.window * s->spec.eps,
				    .generation = 1 };
	uint64_t took_ns;
	double per_ns;

	for (;;) {
		if (test_phase(s, &phase, right, &took_ns) != 0)
			return -1;
		if (took_ns >= TRIAL_NS || phase.iters > UINT32_MAX / 2)
			break;
		phase.iters *= 2;
	}
	per_ns = (double)phase.iters / (double)(took_ns + 1);
	s->spec.iters = (uint32_t)fmin(fmax(per_ns * 1e9 * s->spec.duration_s, 1), UINT32_MAX);
	return 0;
}

static void latencies(struct perf_session *s, struct perf_result *result)
{
	unsigned int one_way = perf_methods[s->spec.test].one_way;
	struct perf_hist *hist = s->lane[0].hist;

	for (uint32_t i = 1; i < s->spec.threads; i++)
		hist_join(hist, s->lane[i].hist);
	result->hist = hist;
	result->lat_us_median = hist_quantile(hist, 0.5) / 1e3 / one_way;
	result->lat_us_p99 = hist_quantile(hist, 0.99) / 1e3 / one_way;
}

/* Runs the warm-up, the timed phase, and the check. */
static int test_phases(struct perf_session *s, struct perf_result *result)
{
	const struct perf_method *method = &perf_methods[s->spec.test];
	struct perf_phase warmup = { .iters = s->spec.warmup, .generation = 1 };
	struct perf_phase timed = { .generation = 2 };
	uint64_t took_ns;
	double seconds;

	result->verified = true;
	if ((s->spec.duration_s > 0 && test_trial(s, &result->verified) != 0) ||
	    test_phase(s, &warmup, &result->verified, &took_ns) != 0)
		return -1;
	timed.iters = result->iters = s->spec.iters;
	timed.hist = method->one_way > 0 ? s->lane[0].hist : NULL;
	if (test_phase(s, &timed, &result->verified, &took_ns) != 0 ||
	    test_check(s, &result->verified) != 0)
		return -1;

	if (timed.hist != NULL)
		latencies(s, result);
	seconds = (double)took_ns / 1e9;
	result->rate_per_s = seconds > 0 ? (double)timed.iters / seconds : NAN;
	if (s->spec.both)
		result->rate_per_s *= 2;
	if (method->one_way == 0 && s->spec.size > 0)
		result->bw_MBps = result->rate_per_s * (double)s->spec.size / 1e6;
	return 0;
}

/* Runs a test. The session owns what result->hist points at, and reuses it in its next test. */
int session_test(struct perf_session *s, const struct perf_spec *spec, struct perf_result *result)
{
	*result = (struct perf_result){ .lat_us_median = NAN, .lat_us_p99 = NAN, .bw_MBps = NAN,
					.rate_per_s = NAN, .low = NAN, .high = NAN };
	s->spec = *spec;
	for (uint32_t i = 0; i < spec->threads; i++) {
		struct perf_lane *lane = &s->lane[i];

		if (lane->hist == NULL && (lane->hist = hist_create()) == NULL)
			return -1;
		hist_clear(lane->hist);
	}
	if (test_begin(s) != 0 || test_phases(s, result) != 0)
		return -1;
	return test_end(s);
}
