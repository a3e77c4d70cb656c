/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of datperf --api vipl: what each test posts and waits for, on either side.
 *
 * Invariant: each side has a receive posted before the other can send into it. A latency test never
 * has more than one outstanding message; in send-bw the server reports in control messages how many
 * it has taken.
 */
#include "config.h"

#include <sched.h>
#include <string.h>

#include "cli.h"
#include "datperf_vipl.h"

static unsigned char *slot_of(const struct end *e, unsigned char *base, uint64_t number)
{
	return base + number % e->slots * e->stride;
}

static unsigned char pattern(bool from_server, uint64_t message, uint64_t i)
{
	return (unsigned char)(message * 31 + i * 7 + (i >> 8) + (from_server ? 128 : 0));
}

static void fill(const struct end *e, unsigned char *at, bool from_server, uint64_t message)
{
	for (uint64_t i = 0; i < e->spec.size; i++)
		at[i] = pattern(from_server, message, i);
}

static int verify(const struct end *e, const unsigned char *at, bool from_server, uint64_t message)
{
	for (uint64_t i = 0; i < e->spec.size; i++)
		if (at[i] != pattern(from_server, message, i)) {
			cli_error("message %llu: byte %llu is wrong", (unsigned long long)message,
				  (unsigned long long)i);
			return -1;
		}
	return 0;
}

/* ------------------------------------------------------------------ waiting */

static int nothing_moves(const struct end *e)
{
	cli_error("no progress for %u s; see the peer's messages", e->opt->timeout_s);
	return -1;
}

struct patience {
	uint64_t since;
	uint32_t polls;
};

/*
 * Called after a poll that found nothing. If the polls have found nothing for too long, prints an error and returns -1.
 */
static int be_patient(const struct end *e, struct patience *p)
{
	if (e->opt->one_cpu)
		sched_yield();
	if (++p->polls & 0xFFFF)
		return 0;
	if (p->since == 0)
		p->since = perf_now_ns();
	if (perf_now_ns() - p->since < e->opt->timeout_s * UINT64_C(1000000000))
		return 0;
	return nothing_moves(e);
}

/* Takes the next completion of a queue: polls, or sleeps with --wait. */
static int take(struct end *e, bool recv, VIP_DESCRIPTOR **d)
{
	VIP_ULONG ms = e->opt->timeout_s * 1000ul;
	struct patience p = { 0, 0 };
	VIP_RETURN ret;

	if (e->spec.wait) {
		ret = recv ? VipRecvWait(e->vi, ms, d) : VipSendWait(e->vi, ms, d);
		if (ret == VIP_TIMEOUT)
			return nothing_moves(e);
	} else {
		while ((ret = recv ? VipRecvDone(e->vi, d) : VipSendDone(e->vi, d)) ==
		       VIP_NOT_DONE)
			if (be_patient(e, &p) != 0)
				return -1;
	}
	return ret == VIP_SUCCESS ? 0 : end_failed(recv ? "a receive" : "a request", ret);
}

/* ------------------------------------------------------------------ posting */

static void describe(const struct end *e, VIP_DESCRIPTOR *d, void *at, uint64_t length)
{
	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = (VIP_UINT32)length;
	d->DS[0].Local.Data.Address = at;
	d->DS[0].Local.Handle = e->handle;
	d->DS[0].Local.Length = (VIP_UINT32)length;
}

static int post_recv(struct end *e, void *at, uint64_t length)
{
	VIP_DESCRIPTOR *d = &e->recv[e->recv_posted % e->recvs];

	describe(e, d, at, length);
	e->recv_posted++;
	TRY(VipPostRecv(e->vi, d, e->handle));
	return 0;
}

/* Posts a receive for the next message of the peer's that carries data. */
static int post_data_recv(struct end *e)
{
	return post_recv(e, slot_of(e, e->in, e->recv_posted), e->spec.size);
}

static int post_control_recv(struct end *e)
{
	return post_recv(e, e->control + e->recv_posted % END_CREDITS * END_CONTROL, END_CONTROL);
}

/* Takes the next message, of this length; *at points to its data. */
static int take_recv(struct end *e, uint64_t length, unsigned char **at)
{
	VIP_DESCRIPTOR *d;

	if (take(e, true, &d) != 0)
		return -1;
	e->recv_taken++;
	if (d->CS.Length != length) {
		cli_error("a message of %llu bytes arrived with %u; libvipl lost or added some",
			  (unsigned long long)length, (unsigned int)d->CS.Length);
		return -1;
	}
	*at = d->DS[0].Local.Data.Address;
	return 0;
}

static int reap(struct end *e)
{
	VIP_DESCRIPTOR *d;

	if (take(e, false, &d) != 0)
		return -1;
	e->completed++;
	return 0;
}

static int reap_all(struct end *e)
{
	while (e->completed < e->posted)
		if (reap(e) != 0)
			return -1;
	return 0;
}

/* Posts a send, or RDMA between a slot here and that of the same number there. */
static int post_request(struct end *e, unsigned int op, uint64_t number)
{
	VIP_DESCRIPTOR *d = &e->send[number % e->slots];
	bool reads = op == VIP_CONTROL_OP_RDMAREAD;

	describe(e, d, slot_of(e, reads ? e->in : e->out, number), e->spec.size);
	if (op != VIP_CONTROL_OP_SENDRECV) {
		d->CS.Control = (VIP_UINT16)op;
		d->CS.SegCount = 2;
		d->DS[1] = d->DS[0];
		d->DS[0].Remote.Data.AddressBits = (reads ? e->there.out : e->there.in) +
						   number % e->slots * e->stride;
		d->DS[0].Remote.Handle = (VIP_MEM_HANDLE)e->there.handle;
	}
	e->posted++;
	TRY(VipPostSend(e->vi, d, e->handle));
	return 0;
}

/*
 * Sends a control message. It reaps all outstanding requests first, so that the next completion is that of this message.
 */
static int send_control(struct end *e, const void *data, size_t length)
{
	unsigned char *at = e->control + END_CREDITS * END_CONTROL;
	VIP_DESCRIPTOR *d = &e->send[e->slots];

	if (reap_all(e) != 0)
		return -1;
	memcpy(at, data, length);
	describe(e, d, at, length);
	TRY(VipPostSend(e->vi, d, e->handle));
	return take(e, false, &d);
}

static bool takes_data(const struct end *e)
{
	return e->spec.test == PERF_SEND_LAT || (e->spec.test == PERF_SEND_BW && e->server);
}

/* Posts the receives. The first one is for the message that says where the peer's memory is. */
int end_post_recvs(struct end *e)
{
	uint32_t data = e->spec.test == PERF_SEND_LAT ? 1 : 2 * e->slots;

	if (post_control_recv(e) != 0)
		return -1;
	for (uint32_t i = 0; takes_data(e) && i < data; i++)
		if (post_data_recv(e) != 0)
			return -1;
	for (uint32_t i = 1; !takes_data(e) && i < END_CREDITS; i++)
		if (post_control_recv(e) != 0)
			return -1;
	return 0;
}

static int exchange_places(struct end *e)
{
	struct end_place here = { (uintptr_t)e->in, (uintptr_t)e->out, e->handle };
	unsigned char *at;

	if (send_control(e, &here, sizeof(here)) != 0 ||
	    take_recv(e, sizeof(here), &at) != 0)
		return -1;
	memcpy(&e->there, at, sizeof(e->there));
	return takes_data(e) ? 0 : post_control_recv(e);
}

/* ------------------------------------------------------------------ one message at a time */

/*
 * Sends or writes the next message of this side. While the message is under way, it posts the next receive, if the test is
 * send-lat, and reaps the request.
 */
static int ping(struct end *e, bool check)
{
	bool writes = e->spec.test == PERF_WRITE_LAT;
	unsigned char *out = slot_of(e, e->out, e->posted);
	uint64_t last = e->spec.size - 1;

	if (check)
		fill(e, out, e->server, e->posted);
	else if (writes)
		out[last] = pattern(e->server, e->posted, last);
	if (post_request(e, writes ? VIP_CONTROL_OP_RDMAWRITE : VIP_CONTROL_OP_SENDRECV,
			 e->posted) != 0 ||
	    (!writes && post_data_recv(e) != 0))
		return -1;
	return reap(e);
}

/* write-lat: the last byte shows that the whole message is there. */
static int await_write(struct end *e, unsigned char **at)
{
	uint64_t last = e->spec.size - 1;
	unsigned char want = pattern(!e->server, e->got, last);
	struct patience p = { 0, 0 };

	*at = slot_of(e, e->in, e->got);
	/* acquire: what was written before this byte is visible once the byte is */
	while (__atomic_load_n(*at + last, __ATOMIC_ACQUIRE) != want)
		if (be_patient(e, &p) != 0)
			return -1;
	return 0;
}

static int pong(struct end *e, bool check)
{
	unsigned char *at;
	int status = e->spec.test == PERF_WRITE_LAT ? await_write(e, &at) :
						       take_recv(e, e->spec.size, &at);

	if (status == 0 && check)
		status = verify(e, at, !e->server, e->got);
	e->got++;
	return status;
}

/* Reads one message. The peer has filled its slots before it sent their address. */
static int read_one(struct end *e, bool check)
{
	uint64_t number = e->posted;

	if (check)
		memset(slot_of(e, e->in, number), 0, e->spec.size);
	if (post_request(e, VIP_CONTROL_OP_RDMAREAD, number) != 0 || reap(e) != 0)
		return -1;
	return check ? verify(e, slot_of(e, e->in, number), true, number % e->slots) : 0;
}

static int trip(struct end *e, bool check)
{
	if (e->spec.test == PERF_READ_LAT)
		return e->server ? 0 : read_one(e, check);
	return e->server ? pong(e, check) || ping(e, check) : ping(e, check) || pong(e, check);
}

static int lat_phase(struct end *e, uint32_t count, bool check, struct perf_hist *hist)
{
	uint64_t last = clock_ticks(), now;

	for (uint32_t i = 0; i < count; i++) {
		if (trip(e, check) != 0)
			return -1;
		if (hist == NULL)
			continue;
		now = clock_ticks();
		hist_add(hist, clock_ns(now - last));
		last = now;
	}
	return 0;
}

/* ------------------------------------------------------------------ a window of messages */

static int take_credit(struct end *e)
{
	unsigned char *at;

	if (take_recv(e, sizeof(e->credited), &at) != 0)
		return -1;
	memcpy(&e->credited, at, sizeof(e->credited));
	return post_control_recv(e);
}

static int stream_sends(struct end *e, uint32_t count, bool check)
{
	/*
	 * The server has two receives posted in each of its slots. A message that it checks must not be overwritten by the one
	 * that uses the same slot next, so only one of the two receives may be in use.
	 */
	uint32_t ahead = check ? e->slots : 2 * e->slots;

	for (uint32_t i = 0; i < count; i++) {
		while (e->posted - e->credited >= ahead)
			if (take_credit(e) != 0)
				return -1;
		if (e->posted - e->completed >= e->slots && reap(e) != 0)
			return -1;
		if (check)
			fill(e, slot_of(e, e->out, e->posted), false, e->posted);
		if (post_request(e, VIP_CONTROL_OP_SENDRECV, e->posted) != 0)
			return -1;
	}
	while (e->credited < e->posted)
		if (take_credit(e) != 0)
			return -1;
	return reap_all(e);
}

/* The server's side of send-bw: sends a credit message whenever half a window of messages is taken, and one after the last. */
static int take_stream(struct end *e, uint32_t count, bool check)
{
	uint32_t step = e->slots / 2 > 0 ? e->slots / 2 : 1;
	unsigned char *at;

	for (uint32_t i = 0; i < count; i++) {
		if (take_recv(e, e->spec.size, &at) != 0)
			return -1;
		if (check && verify(e, at, false, e->got) != 0)
			return -1;
		e->got++;
		if (post_data_recv(e) != 0)
			return -1;
		if ((e->got % step == 0 || i + 1 == count) &&
		    send_control(e, &e->got, sizeof(e->got)) != 0)
			return -1;
	}
	return 0;
}

static int stream_rdma(struct end *e, uint32_t count)
{
	unsigned int op = e->spec.test == PERF_READ_BW ? VIP_CONTROL_OP_RDMAREAD :
							  VIP_CONTROL_OP_RDMAWRITE;

	for (uint32_t i = 0; i < count; i++) {
		if (e->posted - e->completed >= e->slots && reap(e) != 0)
			return -1;
		if (post_request(e, op, e->posted) != 0)
			return -1;
	}
	return reap_all(e);
}

/*
 * The client writes one window, and then sends a control message with the number of its first message. The server checks the
 * window when that has come, and answers with a control message.
 */
static int check_writes(struct end *e)
{
	uint64_t first = e->posted;
	unsigned char *at;

	if (!e->server) {
		for (uint32_t i = 0; i < e->slots; i++)
			fill(e, slot_of(e, e->out, first + i), false, first + i);
		if (stream_rdma(e, e->slots) != 0 ||
		    send_control(e, &first, sizeof(first)) != 0)
			return -1;
		return take_recv(e, sizeof(first), &at);
	}
	if (take_recv(e, sizeof(first), &at) != 0)
		return -1;
	memcpy(&first, at, sizeof(first));
	for (uint32_t i = 0; i < e->slots; i++)
		if (verify(e, slot_of(e, e->in, first + i), false, first + i) != 0)
			return -1;
	return send_control(e, &first, sizeof(first));
}

static int check_reads(struct end *e)
{
	if (e->server)
		return 0;
	memset(e->in, 0, e->slots * e->stride);
	if (stream_rdma(e, e->slots) != 0)
		return -1;
	for (uint32_t i = 0; i < e->slots; i++)
		if (verify(e, slot_of(e, e->in, i), true, i) != 0)
			return -1;
	return 0;
}

static int bw_phase(struct end *e, uint32_t count)
{
	if (e->spec.test != PERF_SEND_BW)
		return e->server ? 0 : stream_rdma(e, count);
	return e->server ? take_stream(e, count, false) : stream_sends(e, count, false);
}

static int bw_check(struct end *e)
{
	if (e->spec.test == PERF_WRITE_BW)
		return check_writes(e);
	if (e->spec.test == PERF_READ_BW)
		return check_reads(e);
	return e->server ? take_stream(e, 2 * e->slots, true) : stream_sends(e, 2 * e->slots, true);
}

static int all_bw_phases(struct end *e, double *seconds)
{
	uint64_t from;

	if (bw_phase(e, e->spec.warmup) != 0)
		return -1;
	from = perf_now_ns();
	if (bw_phase(e, e->spec.iters) != 0)
		return -1;
	*seconds = (double)(perf_now_ns() - from) / 1e9;
	return bw_check(e);
}

/* Runs warm-up, measurement, and check; *seconds is the time of a bandwidth test. */
int end_run(struct end *e, struct perf_hist *hist, double *seconds)
{
	for (uint32_t i = 0; i < e->slots && e->server; i++)
		fill(e, slot_of(e, e->out, i), true, i);
	if (exchange_places(e) != 0)
		return -1;
	if (!perf_methods[e->spec.test].latency)
		return all_bw_phases(e, seconds);
	if (lat_phase(e, e->spec.warmup, false, NULL) != 0 ||
	    lat_phase(e, e->spec.iters, false, hist) != 0)
		return -1;
	return lat_phase(e, (uint32_t)pattern_messages(e->spec.size), true, NULL);
}
