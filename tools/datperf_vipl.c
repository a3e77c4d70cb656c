/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf --api vipl: the latency of a message through libvipl, to hold against the same through
 * uDAPL alone. Two processes of this host; the test is send-lat.
 *
 * Invariant: never more than one message is under way, and each side has a receive posted before
 * the other one can send: receive i uses buffer i modulo 2.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vipl.h>

#include "cli.h"
#include "datperf.h"

enum { PATTERN_ROUND = 1000 };	/* messages whose every byte is looked at */

/* Descriptors, two buffers to receive into, and one to send from. */
struct end {
	const struct perf_options *opt;
	struct perf_spec spec;
	bool server;
	VIP_NIC_HANDLE nic;
	VIP_NIC_ATTRIBUTES nic_attr;
	VIP_VI_HANDLE vi;
	VIP_MEM_HANDLE handle;
	VIP_DESCRIPTOR *descriptor;	/* [0], [1]: receives, [2]: the send */
	unsigned char *buffer[3];
	int ready_fd;			/* the server says that it may be asked for, the client hears it */
	uint32_t posted;		/* receives so far */
	uint32_t received;
};

static int failed(const char *call, VIP_RETURN ret)
{
	cli_error("%s: VIP_RETURN %d; see vipl.h for its name, and VIPL's own message", call,
		  (int)ret);
	return -1;
}

#define TRY(call) do { VIP_RETURN r_ = (call); if (r_ != VIP_SUCCESS) return failed(#call, r_); } \
	while (0)

static void describe(struct end *e, unsigned int i)
{
	VIP_DESCRIPTOR *d = &e->descriptor[i];

	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = (VIP_UINT32)e->spec.size;
	d->DS[0].Local.Data.Address = e->buffer[i];
	d->DS[0].Local.Handle = e->handle;
	d->DS[0].Local.Length = (VIP_UINT32)e->spec.size;
}

static int post_recv(struct end *e)
{
	unsigned int i = e->posted++ % 2;

	describe(e, i);
	TRY(VipPostRecv(e->vi, &e->descriptor[i], e->handle));
	return 0;
}

/* The other side hangs up in the end: no news. What else goes wrong is said where it matters. */
static void hush(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	(void)what;
}

static int end_open(struct end *e)
{
	VIP_VI_ATTRIBUTES attr = { .ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY };
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_FALSE };
	size_t stride = (e->spec.size + 4095) / 4096 * 4096, size = 4096 + 3 * stride;

	TRY(VipOpenNic(e->opt->ia, &e->nic));
	TRY(VipErrorCallback(e->nic, NULL, hush));
	TRY(VipQueryNic(e->nic, &e->nic_attr));
	e->descriptor = aligned_alloc(4096, size);
	if (e->descriptor == NULL) {
		cli_error("no memory for messages of %zu bytes; give a smaller --size", stride);
		return -1;
	}
	memset(e->descriptor, 0, size);
	for (int i = 0; i < 3; i++)
		e->buffer[i] = (unsigned char *)e->descriptor + 4096 + (size_t)i * stride;
	TRY(VipRegisterMem(e->nic, e->descriptor, size, &mem, &e->handle));
	TRY(VipCreateVi(e->nic, &attr, NULL, NULL, &e->vi));
	return post_recv(e);
}

static void end_close(struct end *e)
{
	VIP_DESCRIPTOR *d;

	if (e->vi != NULL) {
		VipDisconnect(e->vi);
		while (VipSendDone(e->vi, &d) != VIP_NOT_DONE && d != NULL)
			;
		while (VipRecvDone(e->vi, &d) != VIP_NOT_DONE && d != NULL)
			;
		VipDestroyVi(e->vi);
	}
	if (e->nic != NULL)
		VipCloseNic(e->nic);
	free(e->descriptor);
}

/* The connection. Both processes know the client's number, which makes the name theirs alone. */

union address {
	VIP_NET_ADDRESS net;
	unsigned char bytes[64];
};

static void address_make(const struct end *e, const char *what, pid_t client, union address *a)
{
	char name[17];
	int length = snprintf(name, sizeof(name), "%s%x", what, (unsigned int)client);

	a->net.HostAddressLen = e->nic_attr.NicAddressLen;
	a->net.DiscriminatorLen = (VIP_UINT16)length;
	memcpy(a->bytes + 4, e->nic_attr.LocalNicAddress, e->nic_attr.NicAddressLen);
	memcpy(a->bytes + 4 + e->nic_attr.NicAddressLen, name, (size_t)length);
}

/* As peers, of which the client is the one that dials: it waits until it would be heard. */
static int meet(struct end *e, pid_t client)
{
	VIP_VI_ATTRIBUTES attr;
	union address mine, other;
	char byte = 0;

	address_make(e, e->server ? "perf-s" : "perf-c", client, &mine);
	address_make(e, e->server ? "perf-c" : "perf-s", client, &other);
	if (!e->server && read(e->ready_fd, &byte, 1) != 1) {
		cli_error("the forked server ended before it listened; its own message says why");
		return -1;
	}
	TRY(VipConnectPeerRequest(e->vi, &mine.net, &other.net, e->opt->timeout_s * 1000ul));
	if (e->server && write(e->ready_fd, &byte, 1) != 1)
		return -1;	/* the client is gone */
	TRY(VipConnectPeerWait(e->vi, &attr));
	return 0;
}

/* The messages */

static int await(struct end *e, bool recv, VIP_DESCRIPTOR **d)
{
	uint64_t since = 0;
	uint32_t polls = 0;
	VIP_RETURN ret;

	while ((ret = recv ? VipRecvDone(e->vi, d) : VipSendDone(e->vi, d)) == VIP_NOT_DONE) {
		if (e->opt->one_cpu)
			sched_yield();
		if (++polls & 0xFFFF)
			continue;
		if (since == 0)
			since = perf_now_ns();
		if (perf_now_ns() - since < e->opt->timeout_s * UINT64_C(1000000000))
			continue;
		cli_error("nothing has moved for %u s; see what the peer said", e->opt->timeout_s);
		return -1;
	}
	return ret == VIP_SUCCESS ? 0 : failed(recv ? "VipRecvDone" : "VipSendDone", ret);
}

static unsigned char pattern(bool from_server, uint32_t message, uint64_t i)
{
	return (unsigned char)(message * 31 + i * 7 + (i >> 8) + (from_server ? 128 : 0));
}

/* Sends, and has the next receive ready and the send taken back while the message travels. */
static int ping(struct end *e, bool check, uint32_t message)
{
	VIP_DESCRIPTOR *d;

	for (uint64_t i = 0; check && i < e->spec.size; i++)
		e->buffer[2][i] = pattern(e->server, message, i);
	describe(e, 2);
	TRY(VipPostSend(e->vi, &e->descriptor[2], e->handle));
	if (post_recv(e) != 0)
		return -1;
	return await(e, false, &d);
}

static int pong(struct end *e, bool check, uint32_t message)
{
	unsigned int slot = e->received % 2;
	VIP_DESCRIPTOR *d;

	if (await(e, true, &d) != 0)
		return -1;
	if (d->CS.Length != e->spec.size) {
		cli_error("a message of %llu bytes arrived with %u; libvipl lost or added some",
			  (unsigned long long)e->spec.size, (unsigned int)d->CS.Length);
		return -1;
	}
	for (uint64_t i = 0; check && i < e->spec.size; i++)
		if (e->buffer[slot][i] != pattern(!e->server, message, i)) {
			cli_error("message %u: byte %llu is wrong", message, (unsigned long long)i);
			return -1;
		}
	e->received++;
	return 0;
}

static int phase(struct end *e, uint32_t count, bool check, struct perf_hist *hist)
{
	uint64_t last = clock_ticks(), now;

	for (uint32_t i = 0; i < count; i++) {
		if (e->server ? pong(e, check, i) || ping(e, check, i) :
				ping(e, check, i) || pong(e, check, i))
			return -1;
		if (hist == NULL)
			continue;
		now = clock_ticks();
		hist_add(hist, clock_ns(now - last));
		last = now;
	}
	return 0;
}

static int all_phases(struct end *e, struct perf_hist *hist)
{
	if (phase(e, e->spec.warmup, false, NULL) || phase(e, e->spec.iters, false, hist) ||
	    phase(e, PATTERN_ROUND, true, NULL))
		return -1;
	return 0;
}

/* The processes */

static int run_end(struct end *e, pid_t client, struct perf_hist *hist)
{
	int status = proc_pin(e->opt->cpu[e->server ? 1 : 0]);

	if (status == 0)
		status = end_open(e);
	if (status == 0)
		status = meet(e, client);
	if (status == 0)
		status = all_phases(e, hist);
	/* The client hangs up when it has all it wants; the server waits for that. */
	while (status == 0 && e->server) {
		VIP_VI_STATE state = VIP_STATE_ERROR;

		VipQueryVi(e->vi, &state, NULL, NULL, NULL);
		if (state != VIP_STATE_CONNECTED)
			break;
		usleep(1000);
	}
	end_close(e);
	return status;
}

static pid_t start_server(struct end *like)
{
	struct end e = *like;
	pid_t client = getpid(), child;
	int fds[2];

	if (pipe(fds) != 0)
		return -1;
	fflush(NULL);
	child = fork();
	if (child != 0) {
		close(fds[1]);
		like->ready_fd = fds[0];
		return child;
	}
	close(fds[0]);
	e.ready_fd = fds[1];
	cli_rename("datperf (server)");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != client)	/* it died before the line above */
		exit(CLI_FAILED);
	e.server = true;
	exit(run_end(&e, client, NULL) == 0 ? CLI_OK : CLI_FAILED);
}

/* Collects the server, by force after a failure. */
static int finish(pid_t child, int status)
{
	int child_status;

	if (status != 0)
		kill(child, SIGKILL);
	while (waitpid(child, &child_status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status == 0 && child_status == 0 ? 0 : -1;
}

static void report(const struct perf_options *opt, const struct perf_spec *spec,
		   const struct perf_hist *hist)
{
	struct perf_result result = {
		.iters = spec->iters,
		.lat_us_median = hist_quantile(hist, 0.5) / 1e3 / 2,
		.lat_us_p99 = hist_quantile(hist, 0.99) / 1e3 / 2,
		.bw_MBps = NAN,
		.rate_per_s = NAN,
		.verified = true,
		.hist = hist,
	};

	report_head(opt);
	report_result(opt, spec, &result);
}

int vipl_measure(const struct perf_options *opt, const struct perf_spec *spec)
{
	struct end e = { .opt = opt, .spec = *spec };
	struct perf_hist *hist = hist_create();
	pid_t child;
	int status;

	if (hist == NULL) {
		cli_error("no memory for the samples; end other programs");
		return CLI_FAILED;
	}
	child = start_server(&e);
	if (child < 0) {
		cli_error("cannot start the server: %s", strerror(errno));
		free(hist);
		return CLI_FAILED;
	}
	status = finish(child, run_end(&e, getpid(), hist));
	close(e.ready_fd);
	if (status == 0)
		report(opt, spec, hist);
	free(hist);
	return status == 0 ? CLI_OK : CLI_FAILED;
}
