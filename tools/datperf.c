/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf: how fast an adapter is, measured between two processes through the public API.
 *
 * This file reads the command line and decides which tests to run. The processes are in
 * datperf_proc.c, their conversation in datperf_ctl.c, the tests in datperf_{lat,bw,rate}.c.
 *
 * Invariant: nothing is tried before the whole command line is known to be right.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

#define DEFAULT_QUAL 19750
#define DEFAULT_TIMEOUT_S 20
#define MAX_ITERS 10000000
#define MAX_SIZE (UINT64_C(1) << 30)
#define LARGE (UINT64_C(16) << 20)	/* so long that a few messages give a steady figure */

static const char help_text[] =
	"Usage: datperf --ia NAME [OPTION...]                      both ends on this host\n"
	"       datperf --ia NAME --server [OPTION...]             one end here,\n"
	"       datperf --ia NAME --connect ADDRESS [OPTION...]    and one there\n"
	"Measure the latency and the bandwidth of a uDAPL adapter between two processes, and\n"
	"verify the data. Without --test: a table of a few tests and sizes.\n"
	"\n"
	"  --ia NAME          the adapter ('datctl list' prints them)\n"
	"  --test TEST        send-lat, write-lat, read-lat: one message at a time;\n"
	"                     send-bw, write-bw, read-bw: a window of messages under way;\n"
	"                     connect-rate: connections made and ended, one after the other\n"
	"  --size BYTES       of one message; 8 for latency and 1m for bandwidth by default;\n"
	"                     k, m and g stand for powers of 1024\n"
	"  --iters N          messages (or connections) to measure\n"
	"  --warmup N         messages before the clock starts\n"
	"  --cpus A,B         run the client on CPU A and the server on CPU B;\n"
	"                     with --server or --connect: --cpus A\n"
	"  --json             one JSON object a line instead of a table\n"
	"  --server           serve one client, which chooses the tests\n"
	"  --connect ADDRESS  be the client of the server on that host\n"
	"  --qual N           the connection qualifier of the server (default 19750)\n"
	"  --timeout S        give up when nothing moves for S seconds (default 20)\n"
	"  --help, --version\n"
	"\n"
	"Latency is one way: half the median (and 99th percentile) of the round trips. A read has\n"
	"no way back of its own: its latency is the time from the post to the completion. Loops\n"
	"poll. Data are verified byte by byte: what the timed part left in each buffer, and every\n"
	"message of a further round in which each differs from all others.\n"
	"\n"
	"JSON: test, ia, size, iters, lat_us_median, lat_us_p99, bw_MBps (1 MB = 10^6 bytes),\n"
	"rate_per_s, verified; null for what a test does not measure.\n"
	"\n"
	"Exit status: 0 it worked and all data were right, 1 it failed, 2 the command line is\n"
	"wrong.\n";

enum option_id {
	OPT_IA = 256, OPT_TEST, OPT_SIZE, OPT_ITERS, OPT_WARMUP, OPT_CPUS, OPT_JSON, OPT_SERVER,
	OPT_CONNECT, OPT_QUAL, OPT_TIMEOUT, OPT_HELP, OPT_VERSION
};

static const struct option options[] = {
	{ "ia", required_argument, NULL, OPT_IA },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "connect", required_argument, NULL, OPT_CONNECT },
	{ "qual", required_argument, NULL, OPT_QUAL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* The tests of a run without --test. */
static const struct {
	enum perf_test test;
	uint64_t size;
} table[] = {
	{ PERF_SEND_LAT, 8 }, { PERF_SEND_LAT, 4096 },
	{ PERF_WRITE_LAT, 8 }, { PERF_WRITE_LAT, 4096 },
	{ PERF_READ_LAT, 8 }, { PERF_READ_LAT, 4096 },
	{ PERF_SEND_BW, 65536 }, { PERF_SEND_BW, 1048576 },
	{ PERF_WRITE_BW, 65536 }, { PERF_WRITE_BW, 1048576 },
	{ PERF_READ_BW, 65536 }, { PERF_READ_BW, 1048576 },
	{ PERF_CONNECT_RATE, 0 },
};

#define TABLE_ROWS (sizeof(table) / sizeof(table[0]))

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

/* Fills in what the user left open: enough messages for a steady figure in about a second. */
static struct perf_spec complete(const struct perf_options *opt, enum perf_test test, uint64_t size)
{
	const struct perf_method *method = &perf_methods[test];
	struct perf_spec spec = opt->spec;

	spec.test = test;
	spec.size = size;
	spec.window = 1;
	if (test == PERF_CONNECT_RATE) {
		if (spec.iters == 0)
			spec.iters = 1000;
	} else if (method->latency) {
		if (spec.iters == 0)
			spec.iters = (uint32_t)clamp((UINT64_C(256) << 20) / size,
						     size > LARGE ? 3 : 100, 10000);
	} else {
		/* As many as fit into the caches of most machines, and at least two. */
		spec.window = (uint32_t)clamp((UINT64_C(8) << 20) / size, 2, 64);
		if (spec.iters == 0)
			spec.iters = (uint32_t)clamp((UINT64_C(512) << 20) / size,
						     size > LARGE ? 4 : 64, 100000);
	}
	if (!opt->warmup_given)
		spec.warmup = spec.iters / 10;
	return spec;
}

static int measure_one(struct perf_session *s, const struct perf_options *opt, enum perf_test test,
		       uint64_t size)
{
	struct perf_spec spec = complete(opt, test, size);
	struct perf_result result;

	if (session_test(s, &spec, &result) != 0)
		return -1;
	if (opt->json)
		report_json(opt->ia, &spec, &result);
	else
		report_line(&spec, &result);
	return result.verified ? 0 : 1;
}

static uint64_t default_size(enum perf_test test)
{
	if (test == PERF_CONNECT_RATE)
		return 0;
	return perf_methods[test].latency ? 8 : 1048576;
}

/* A --size that this adapter or this host cannot take is a wrong command line. */
static int check_size(const struct perf_ia *ia, const struct perf_options *opt)
{
	unsigned int processes = opt->connect == NULL ? 2 : 1;

	for (int test = 0; opt->spec.size > 0 && test < PERF_CONNECT_RATE; test++) {
		struct perf_spec spec = complete(opt, (enum perf_test)test, opt->spec.size);
		int status;

		if (!opt->table && opt->spec.test != (enum perf_test)test)
			continue;
		status = perf_ia_takes(ia, &spec, processes);
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

/* Wrong data do not end a table: the other lines tell whether it is one test or all. */
static int measure(struct perf_session *s, const struct perf_options *opt)
{
	int status, worst = 0;
	uint64_t size;

	if (!opt->json)
		report_head(opt->ia);
	if (!opt->table) {
		size = opt->spec.size > 0 ? opt->spec.size : default_size(opt->spec.test);
		return measure_one(s, opt, opt->spec.test, size);
	}
	for (size_t i = 0; i < TABLE_ROWS; i++) {
		size = table[i].size;
		if (opt->spec.size > 0 && table[i].test != PERF_CONNECT_RATE) {
			if (i > 0 && table[i - 1].test == table[i].test)
				continue;	/* --size makes its two sizes one */
			size = opt->spec.size;
		}
		status = measure_one(s, opt, table[i].test, size);
		if (status < 0)
			return -1;
		if (status > worst)
			worst = status;
	}
	return worst;
}

static int parse_test(const char *text, struct perf_options *opt)
{
	for (int i = 0; i < PERF_TESTS; i++) {
		if (strcmp(text, perf_methods[i].name) == 0) {
			opt->spec.test = (enum perf_test)i;
			opt->table = false;
			return CLI_OK;
		}
	}
	return cli_usage("--test: there is no test '%s'", text);
}

static int parse_cpus(const char *text, struct perf_options *opt)
{
	char first[16];
	const char *comma = strchr(text, ',');
	size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
	uint64_t cpu[2] = { 0, 0 };

	snprintf(first, sizeof(first), "%.*s", (int)(length < 15 ? length : 15), text);
	if (!cli_number(first, 0, 65535, &cpu[0]) ||
	    (comma != NULL && !cli_number(comma + 1, 0, 65535, &cpu[1])))
		return cli_usage("--cpus: '%s' is no CPU number and no A,B", text);
	opt->cpu[0] = (int)cpu[0];
	if (comma != NULL)
		opt->cpu[1] = (int)cpu[1];
	return CLI_OK;
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t max,
			uint64_t *value)
{
	if (cli_number(text, min, max, value))
		return CLI_OK;
	return cli_usage("%s: '%s' is not a number from %llu to %llu", name, text,
			 (unsigned long long)min, (unsigned long long)max);
}

static int parse_option(int id, const char *text, struct perf_options *opt)
{
	uint64_t value = 0;
	int status = CLI_OK;

	switch (id) {
	case OPT_IA:
		opt->ia = text;
		break;
	case OPT_TEST:
		status = parse_test(text, opt);
		break;
	case OPT_SIZE:
		status = parse_number("--size", text, 1, MAX_SIZE, &opt->spec.size);
		break;
	case OPT_ITERS:
		status = parse_number("--iters", text, 1, MAX_ITERS, &value);
		opt->spec.iters = (uint32_t)value;
		break;
	case OPT_WARMUP:
		status = parse_number("--warmup", text, 0, MAX_ITERS, &value);
		opt->spec.warmup = (uint32_t)value;
		opt->warmup_given = true;
		break;
	case OPT_CPUS:
		status = parse_cpus(text, opt);
		break;
	case OPT_JSON:
		opt->json = true;
		break;
	case OPT_SERVER:
		opt->server = true;
		break;
	case OPT_CONNECT:
		opt->connect = text;
		break;
	case OPT_QUAL:
		status = parse_number("--qual", text, 1, UINT64_MAX, &value);
		opt->conn_qual = value;
		break;
	default:
		status = parse_number("--timeout", text, 1, 3600, &value);
		opt->timeout_s = (unsigned int)value;
		break;
	}
	return status;
}

/* What is wrong only in company. */
static int check_options(const struct perf_options *opt)
{
	bool pair = !opt->server && opt->connect == NULL;

	if (opt->ia == NULL)
		return cli_usage("--ia is missing: which adapter? ('datctl list' prints them)");
	if (opt->server && opt->connect != NULL)
		return cli_usage("--server and --connect are the two ends; give one of them");
	if (opt->server && (!opt->table || opt->json || opt->spec.size > 0 ||
			    opt->spec.iters > 0 || opt->warmup_given))
		return cli_usage("--server: the client chooses what to measure; give --test, "
				 "--size, --iters, --warmup and --json to it");
	if (opt->spec.size > 0 && !opt->table && opt->spec.test == PERF_CONNECT_RATE)
		return cli_usage("--size: connect-rate sends no messages");
	if (pair && opt->cpu[0] >= 0 && opt->cpu[1] < 0)
		return cli_usage("--cpus: give two, one for each process: --cpus A,B");
	if (!pair && opt->cpu[1] >= 0)
		return cli_usage("--cpus: give one; the other process is started elsewhere");
	return CLI_OK;
}

static int run(int argc, char **argv)
{
	struct perf_options opt = {
		.table = true, .conn_qual = DEFAULT_QUAL, .timeout_s = DEFAULT_TIMEOUT_S,
		.cpu = { -1, -1 },
	};
	int id, status;

	opterr = 0;
	while ((id = getopt_long(argc, argv, ":hV", options, NULL)) != -1) {
		if (id == OPT_HELP || id == 'h')
			return cli_help(help_text);
		if (id == OPT_VERSION || id == 'V')
			return cli_version();
		if (id == ':')
			return cli_usage("%s needs a value", argv[optind - 1]);
		if (id == '?')
			return cli_usage("unknown option '%s'", argv[optind - 1]);
		status = parse_option(id, optarg, &opt);
		if (status != CLI_OK)
			return status;
	}
	if (optind < argc)
		return cli_usage("'%s' is no option", argv[optind]);
	status = check_options(&opt);
	if (status == CLI_OK)
		status = proc_pick_cpus(&opt);
	if (status != CLI_OK)
		return status;
	return opt.server ? proc_server(&opt) : proc_client(&opt, check_size, measure);
}

int main(int argc, char **argv)
{
	cli_begin("datperf");
	return cli_finish(run(argc, argv));
}
