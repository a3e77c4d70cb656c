/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf --api vipl: the same tests through libvipl, to compare it with uDAPL alone. Two processes
 * on this host; what they post is in datperf_vipl_run.c.
 *
 * Invariant: what end_close() finds set exists, and end_close() frees all of it.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "datperf_vipl.h"

int end_failed(const char *call, VIP_RETURN ret)
{
	cli_error("%s: VIP_RETURN %d; see vipl.h for its name, and VIPL's own message", call,
		  (int)ret);
	return -1;
}

/*
 * Ignores an error: the other side disconnects at the end, which need not be reported, and other
 * errors are reported where they occur.
 */
static void hush(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	(void)what;
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 4095) / 4096 * 4096;
}

static uint64_t control_bytes(void)
{
	return rounded((END_CREDITS + 1) * END_CONTROL);
}

/* Determines how long the parts of the registered region are, which datperf_vipl.h describes. Returns its length. */
static uint64_t end_divide(struct end *e)
{
	e->slots = e->spec.window > 1 ? e->spec.window : 2;
	e->recvs = 2 * e->slots > END_CREDITS ? 2 * e->slots : END_CREDITS;
	e->recvs++;	/* for the peer's first message */
	e->stride = rounded(e->spec.size);
	e->descriptors = rounded((e->recvs + e->slots + 1) * sizeof(VIP_DESCRIPTOR));
	return e->descriptors + control_bytes() + 2 * e->slots * e->stride;
}

/* Allocates the registered region. */
static int end_lay_out(struct end *e)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_TRUE, .EnableRdmaRead = VIP_TRUE };
	uint64_t size = end_divide(e);
	unsigned char *base;

	base = aligned_alloc(4096, size);
	if (base == NULL) {
		cli_error("no memory for messages of %llu bytes; give a smaller --size",
			  (unsigned long long)e->spec.size);
		return -1;
	}
	memset(base, 0, size);
	e->recv = (VIP_DESCRIPTOR *)(void *)base;
	e->send = e->recv + e->recvs;
	e->control = base + e->descriptors;
	e->in = e->control + control_bytes();
	e->out = e->in + e->slots * e->stride;
	TRY(VipRegisterMem(e->nic, base, size, &mem, &e->handle));
	return 0;
}

static int end_open(struct end *e)
{
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.EnableRdmaWrite = VIP_TRUE,
		.EnableRdmaRead = VIP_TRUE,
	};

	TRY(VipOpenNic(e->opt->ia, &e->nic));
	TRY(VipErrorCallback(e->nic, NULL, hush));
	TRY(VipQueryNic(e->nic, &e->nic_attr));
	if (end_lay_out(e) != 0)
		return -1;
	TRY(VipCreateVi(e->nic, &attr, NULL, NULL, &e->vi));
	return end_post_recvs(e);
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
	free(e->recv);
}

/* The connection. Both processes know the client's number, which makes the name unique. */

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

/*
 * Connects both sides as peers. The client waits until the server can receive its request, and then
 * connects.
 */
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
		return -1;	/* the client has ended */
	TRY(VipConnectPeerWait(e->vi, &attr));
	return 0;
}

/* The processes */

static int run_end(struct end *e, pid_t client, struct perf_hist *hist, double *seconds)
{
	int status = proc_pin(e->opt->cpu[e->server ? 1 : 0]);

	if (status == 0)
		status = end_open(e);
	if (status == 0)
		status = meet(e, client);
	if (status == 0)
		status = end_run(e, hist, seconds);
	/* The client disconnects when it has everything it needs; the server waits for that. */
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
	double seconds;
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
	if (getppid() != client)	/* the client died before the line above */
		exit(CLI_FAILED);
	e.server = true;
	exit(run_end(&e, client, NULL, &seconds) == 0 ? CLI_OK : CLI_FAILED);
}

/* Collects the server. Kills it after a failure. */
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
		   const struct perf_hist *hist, double seconds)
{
	const struct perf_method *method = &perf_methods[spec->test];
	struct perf_result result = {
		.iters = spec->iters,
		.lat_us_median = NAN,
		.lat_us_p99 = NAN,
		.bw_MBps = NAN,
		.rate_per_s = NAN,
		.verified = true,
	};

	if (method->latency) {
		result.hist = hist;
		result.lat_us_median = hist_quantile(hist, 0.5) / 1e3 / method->one_way;
		result.lat_us_p99 = hist_quantile(hist, 0.99) / 1e3 / method->one_way;
	} else if (seconds > 0) {
		result.rate_per_s = spec->iters / seconds;
		result.bw_MBps = result.rate_per_s * (double)spec->size / 1e6;
	}
	report_head(opt);
	report_result(opt, spec, &result);
}

/*
 * Checks the size that --size gives, before there are two processes, so that one message names what it exceeds: the limit of the
 * adapter, or the memory of this host.
 */
static int size_check(const struct end *e)
{
	struct end shape = *e;
	VIP_NIC_ATTRIBUTES attr;
	VIP_NIC_HANDLE nic;

	if (e->opt->spec.size == 0)
		return CLI_OK;
	TRY(VipOpenNic(e->opt->ia, &nic));
	TRY(VipQueryNic(nic, &attr));
	TRY(VipCloseNic(nic));
	if (e->spec.size > attr.MaxTransferSize)
		return cli_usage("--size: %s takes no message of %llu bytes; its MaxTransferSize is %llu", e->opt->ia,
				 (unsigned long long)e->spec.size, (unsigned long long)attr.MaxTransferSize);
	return perf_memory_takes(&e->spec, 2 * end_divide(&shape), "--size");
}

int vipl_measure(const struct perf_options *opt, const struct perf_spec *spec)
{
	struct end e = { .opt = opt, .spec = *spec };
	struct perf_hist *hist;
	double seconds = 0;
	pid_t child;
	int status = size_check(&e);

	if (status != CLI_OK)
		return status < 0 ? CLI_FAILED : status;
	hist = hist_create();
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
	status = finish(child, run_end(&e, getpid(), hist, &seconds));
	close(e.ready_fd);
	if (status == 0)
		report(opt, spec, hist, seconds);
	free(hist);
	return status == 0 ? CLI_OK : CLI_FAILED;
}
