/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's adapter: the open IA, its protection zone and, on the server, its service point.
 *
 * Invariant: perf_ia_close() closes everything, whatever was opened before it.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "datperf.h"

/*
 * Two processes that poll on one CPU have to yield it to each other all the time. If each has a CPU
 * of its own, they need not, and the checks should not add to a latency.
 */
#define LOOK_OFTEN 0x3fu
#define LOOK_SELDOM 0xfffu

/* Sets how often polls check, by the number of threads that poll in this process. */
void perf_ia_share_cpus(struct perf_ia *ia, uint32_t threads)
{
	ia->look_mask = threads > ia->cpus ? LOOK_OFTEN : LOOK_SELDOM;
}

int perf_ia_open(struct perf_ia *ia, const struct perf_options *opt)
{
	bool pair = !opt->server && opt->connect == NULL;
	const char *name = opt->ia;
	DAT_RETURN ret;

	ia->name = name;
	ia->timeout_s = opt->timeout_s;
	if (opt->one_cpu)
		ia->cpus = 0;
	else if (opt->cpu[0] >= 0)
		ia->cpus = 1;
	else
		ia->cpus = (uint32_t)(pair ? opt->cpus / 2 : opt->cpus);
	perf_ia_share_cpus(ia, 1);
	ia->async_evd = DAT_HANDLE_NULL;

	ret = dat_ia_open((DAT_NAME_PTR)name, 8, &ia->async_evd, &ia->ia);
	if (ret != DAT_SUCCESS) {
		ia->ia = DAT_HANDLE_NULL;
		cli_open_error(ret, name);
		return -1;
	}
	ret = dat_ia_query(ia->ia, &ia->async_evd, DAT_IA_FIELD_ALL, &ia->attr,
			   DAT_PROVIDER_FIELD_NONE, NULL);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ia_query(\"%s\")", name);
		return -1;
	}
	if (cli_stays_in_process(name, ia->attr.transport_attr, ia->attr.num_transport_attr))
		return -1;
	ret = dat_pz_create(ia->ia, &ia->pz);
	if (ret != DAT_SUCCESS) {
		ia->pz = DAT_HANDLE_NULL;
		cli_dat_error(ret, NULL, "dat_pz_create");
		return -1;
	}
	return 0;
}

/* Listens on `conn_qual`, or on any free one if it is 0, and stores it in ia->conn_qual. */
int perf_ia_listen(struct perf_ia *ia, DAT_CONN_QUAL conn_qual)
{
	DAT_RETURN ret;

	ia->server = true;
	ret = dat_evd_create(ia->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &ia->cr_evd);
	if (ret != DAT_SUCCESS) {
		ia->cr_evd = DAT_HANDLE_NULL;
		cli_dat_error(ret, NULL, "dat_evd_create(DAT_EVD_CR_FLAG)");
		return -1;
	}
	ia->conn_qual = conn_qual;
	if (conn_qual == 0)
		ret = dat_psp_create_any(ia->ia, &ia->conn_qual, ia->cr_evd,
					 DAT_PSP_CONSUMER_FLAG, &ia->psp);
	else
		ret = dat_psp_create(ia->ia, conn_qual, ia->cr_evd, DAT_PSP_CONSUMER_FLAG,
				     &ia->psp);
	if (ret != DAT_SUCCESS) {
		ia->psp = DAT_HANDLE_NULL;
		cli_dat_error(ret, DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE ?
			      "give another one with --qual, to the server and the client" : NULL,
			      "dat_psp_create(%" PRIu64 ")", (uint64_t)conn_qual);
		return -1;
	}
	return 0;
}

static int close_failed(DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "%s", call);
	return -1;
}

/* Rejects the requests that nobody has taken; there come no more, because the service point is gone. */
static void reject_left(const struct perf_ia *ia)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(ia->cr_evd, &event) == DAT_SUCCESS)
		perf_cr_reject(event.event_data.cr_arrival_event_data.cr_handle);
}

int perf_ia_close(struct perf_ia *ia)
{
	int status = 0;

	if (ia->ia == DAT_HANDLE_NULL)
		return 0;
	if (ia->psp != DAT_HANDLE_NULL)
		status |= close_failed(dat_psp_free(ia->psp), "dat_psp_free");
	if (ia->cr_evd != DAT_HANDLE_NULL)
		reject_left(ia);
	if (ia->cr_evd != DAT_HANDLE_NULL)
		status |= close_failed(dat_evd_free(ia->cr_evd), "dat_evd_free");
	if (ia->pz != DAT_HANDLE_NULL)
		status |= close_failed(dat_pz_free(ia->pz), "dat_pz_free");
	if (status == 0)
		status = close_failed(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG),
				      "dat_ia_close");
	if (status != 0)
		dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG);
	memset(ia, 0, sizeof(*ia));
	return status;
}

static uint64_t size_limit(const struct perf_ia *ia, enum perf_test test, const char **name)
{
	bool send = test == PERF_SEND_LAT || test == PERF_SEND_BW;

	if (test == PERF_EAGER_LAT) {
		*name = "max_rdma_size, without what goes with each message,";
		return eager_longest(ia->attr.max_rdma_size);
	}
	*name = send ? "max_message_size" : "max_rdma_size";
	return send ? ia->attr.max_message_size : ia->attr.max_rdma_size;
}

/*
 * Checks a test before it begins, so that the message names the limit that it exceeds, and not a
 * call that fails.
 */
int perf_ia_fits(const struct perf_ia *ia, const struct perf_spec *spec)
{
	const char *name;
	uint64_t limit = size_limit(ia, spec->test, &name);

	if (spec->size <= limit)
		return 0;
	cli_error("%s: a message of %" PRIu64 " bytes is too long; the adapter's %s is %" PRIu64
		  ", so give a smaller --size", ia->name, spec->size, name, limit);
	return -1;
}

/*
 * What an endpoint with its queues takes, and each receive and request that it can have, in bytes. soft0 takes 50 KiB, and 380
 * bytes; adapters differ, so this is somewhat more.
 */
#define LINK_BYTES UINT64_C(65536)
#define ENTRY_BYTES UINT64_C(512)

/* Returns the memory of a test, in bytes, on each of its two sides. */
uint64_t perf_need(const struct perf_spec *spec)
{
	uint32_t recvs, requests;

	session_queues(spec, &recvs, &requests);
	return spec->eps * (region_length(session_extent(spec), session_slots(spec)) + LINK_BYTES +
			    ((uint64_t)recvs + requests) * ENTRY_BYTES);
}

/*
 * Returns how much memory can be filled without displacing other processes: half of what the kernel
 * could provide.
 */
static uint64_t memory_limit(void)
{
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) *
			      (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	struct rlimit limit;
	char line[128];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			free_bytes = (uint64_t)kib * 1024;
	if (file != NULL)
		fclose(file);
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < free_bytes)
		free_bytes = limit.rlim_cur;
	return free_bytes / 2;
}

/* Checks that the memory of this host has `need` bytes for a test, whose size `option` gives. */
int perf_memory_takes(const struct perf_spec *spec, uint64_t need, const char *option)
{
	uint64_t have = memory_limit();

	if (need <= have)
		return CLI_OK;
	return cli_usage("%s: messages of %" PRIu64 " bytes need %" PRIu64 " MiB of "
			 "memory for %s, and %" PRIu64 " MiB can be spared; give a smaller "
			 "one", option, spec->size, need >> 20,
			 perf_methods[spec->test].name, have >> 20);
}

/*
 * Checks the sizes that `option` gives, before anything is measured: what the adapter supports, and
 * what fits into the memory of this host, on which `processes` processes of the test run.
 */
int perf_ia_takes(const struct perf_ia *ia, const struct perf_spec *spec, unsigned int processes,
		  const char *option)
{
	const char *name;
	uint64_t limit;

	limit = size_limit(ia, spec->test, &name);
	if (spec->size > limit)
		return cli_usage("%s: %s takes no message of %" PRIu64 " bytes; its %s is %"
				 PRIu64, option, ia->name, spec->size, name, limit);
	return perf_memory_takes(spec, processes * perf_need(spec), option);
}
