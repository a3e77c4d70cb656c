/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf: the performance of an adapter, measured between two processes through the public API.
 *
 * This file decides which tests to run, with which sizes, and how long. The command line is in
 * datperf_opt.c, the processes in datperf_proc.c, their control connection in datperf_ctl.c, the
 * tests in datperf_{lat,bw,rate}.c.
 *
 * Invariant: nothing is tried before the whole command line has been checked.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "datperf.h"
#include "other_api.h"

#define LARGE (UINT64_C(16) << 20)	/* so long that a few messages give a stable result */

struct row {
	enum perf_test test;
	uint64_t size;
};

/* The tests of a run without --test. */
static const struct row table[] = {
	{ PERF_SEND_LAT, 8 }, { PERF_SEND_LAT, 4096 },
	{ PERF_WRITE_LAT, 8 }, { PERF_WRITE_LAT, 4096 },
	{ PERF_READ_LAT, 8 }, { PERF_READ_LAT, 4096 },
	{ PERF_EAGER_LAT, 8 }, { PERF_EAGER_LAT, 4096 },
	{ PERF_SEND_BW, 65536 }, { PERF_SEND_BW, 1048576 },
	{ PERF_WRITE_BW, 65536 }, { PERF_WRITE_BW, 1048576 },
	{ PERF_READ_BW, 65536 }, { PERF_READ_BW, 1048576 },
	{ PERF_CONNECT_RATE, 0 },
};

#define TABLE_ROWS (sizeof(table) / sizeof(table[0]))
#define MAX_ROWS (PERF_TESTS * 32)

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

/*
 * Returns the default window: as many messages as fit into the caches of most machines, and at
 * least two.
 */
uint32_t perf_window(enum perf_test test, uint64_t size)
{
	if (perf_methods[test].latency || size == 0)
		return 1;
	return (uint32_t)clamp((UINT64_C(8) << 20) / size, 2, 64);
}

/* Fills in what the user has not given: enough messages for a stable result in about a second. */
static struct perf_spec complete(const struct perf_options *opt, enum perf_test test, uint64_t size)
{
	const struct perf_method *method = &perf_methods[test];
	struct perf_spec spec = opt->spec;

	spec.test = test;
	spec.size = size;
	spec.window = 1;
	if (spec.threads == 0)
		spec.threads = 1;
	if (spec.eps < spec.threads)
		spec.eps = spec.threads;
	if (test == PERF_CONNECT_RATE) {
		if (spec.iters == 0)
			spec.iters = 1000;
	} else if (method->latency) {
		if (spec.iters == 0)
			spec.iters = (uint32_t)clamp((UINT64_C(256) << 20) / size,
						     size > LARGE ? 3 : 100, 10000);
	} else {
		spec.window = opt->spec.window;
		if (spec.window == 0)
			spec.window = perf_window(test, size);
		if (spec.iters == 0)
			spec.iters = (uint32_t)clamp((UINT64_C(512) << 20) / size,
						     size > LARGE ? 4 : 64, 100000);
	}
	if (!opt->warmup_given)
		spec.warmup = spec.iters / 10;
	return spec;
}

/*
 * Returns false for a test to which an option does not apply. Without --test, such rows are left
 * out.
 */
static bool wanted(const struct perf_options *opt, enum perf_test test)
{
	if (!opt->table)
		return opt->spec.test == test;
	if (opt->spec.wait && !perf_waits(test))
		return false;
	if (opt->spec.both && perf_methods[test].both == NULL)
		return false;
	return test != PERF_CONNECT_RATE || (opt->spec.eps <= 1 && opt->spec.threads <= 1);
}

static size_t sweep(const struct perf_options *opt, struct row *rows)
{
	size_t n = 0;

	for (int test = 0; test < PERF_CONNECT_RATE; test++) {
		uint64_t size = opt->sweep_min, power = 1;

		if (!wanted(opt, (enum perf_test)test))
			continue;
		while (size <= opt->sweep_max) {
			rows[n++] = (struct row){ (enum perf_test)test, size };
			while (power <= size)
				power *= 2;
			size = power;
		}
	}
	return n;
}

static uint64_t default_size(enum perf_test test)
{
	if (test == PERF_CONNECT_RATE)
		return 0;
	return perf_methods[test].latency ? 8 : 1048576;
}

/* Lists what has to be measured, at most MAX_ROWS rows. */
static size_t plan(const struct perf_options *opt, struct row *rows)
{
	uint64_t size = opt->spec.size;
	size_t n = 0;

	if (opt->sweep_max > 0)
		return sweep(opt, rows);
	if (!opt->table) {
		rows[0] = (struct row){ opt->spec.test,
					size > 0 ? size : default_size(opt->spec.test) };
		return 1;
	}
	for (size_t i = 0; i < TABLE_ROWS; i++) {
		if (!wanted(opt, table[i].test))
			continue;
		if (size > 0 && n > 0 && rows[n - 1].test == table[i].test)
			continue;	/* with --size, both sizes of a test are the same */
		rows[n] = table[i];
		if (size > 0 && rows[n].size > 0)
			rows[n].size = size;
		n++;
	}
	return n;
}

static void progress(const struct row *row, size_t i, size_t n)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (row == NULL)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[K%s, %" PRIu64 " bytes (%zu of %zu)",
			perf_methods[row->test].name, row->size, i + 1, n);
	fflush(stderr);
}

/* Checks the sizes. One that this adapter or this host does not support is a usage error. */
static int check_sizes(const struct perf_ia *ia, const struct perf_options *opt)
{
	unsigned int processes = opt->connect == NULL ? 2 : 1;
	struct row rows[MAX_ROWS];
	size_t n = plan(opt, rows);

	if (opt->spec.size == 0 && opt->sweep_max == 0)
		return CLI_OK;
	for (size_t i = 0; i < n; i++) {
		struct perf_spec spec = complete(opt, rows[i].test, rows[i].size);
		int status = CLI_OK;

		if (rows[i].test != PERF_CONNECT_RATE)
			status = perf_ia_takes(ia, &spec, processes,
					       opt->sweep_max > 0 ? "--sweep" : "--size");
		if (status != CLI_OK)
			return status;
	}
	return CLI_OK;
}

/*
 * Measures all rows. Wrong data do not end a table, because the other lines show whether one test
 * fails or all.
 */
static int measure_rows(struct perf_session *s, const struct perf_options *opt,
			struct perf_repeat *repeat)
{
	struct row rows[MAX_ROWS];
	size_t n = plan(opt, rows);
	int worst = 0;

	report_head(opt);
	for (size_t i = 0; i < n; i++) {
		struct perf_spec spec = complete(opt, rows[i].test, rows[i].size);
		struct perf_result result;

		progress(&rows[i], i, n);
		if (repeat_test(repeat, s, &spec, &result) != 0)
			return -1;
		progress(NULL, 0, 0);
		report_result(opt, &spec, &result);
		if (opt->plot != NULL && plot_add(opt->ia, opt->api, &spec, &result) != 0)
			return -1;
		if (!result.verified)
			worst = 1;
		if (ferror(stdout))
			break;	/* the output is lost; cli_finish() reports that */
	}
	return worst;
}

static int measure(struct perf_session *s, const struct perf_options *opt)
{
	struct perf_repeat repeat;
	int status = repeat_begin(&repeat, opt);

	if (status == 0)
		status = measure_rows(s, opt, &repeat);
	repeat_end(&repeat);
	return status;
}

#if PERF_API == 1
static int run_vipl(const struct perf_options *opt)
{
	enum perf_test test = opt->table ? PERF_SEND_LAT : opt->spec.test;
	struct perf_spec spec = complete(opt, test,
					 opt->spec.size ? opt->spec.size : default_size(test));

	return vipl_measure(opt, &spec);
}
#else
/* datperf itself runs these tests. */
static int run_vipl(const struct perf_options *opt)
{
	(void)opt;
	return cli_usage("--api vipl: call datperf");
}
#endif

/* Returns the memory limit of a forked server: as much as the tests of its own client need. */
static uint64_t limit_of_pair(const struct perf_options *opt)
{
	struct row rows[MAX_ROWS];
	size_t n = plan(opt, rows);
	uint64_t limit = 0;

	for (size_t i = 0; i < n; i++) {
		struct perf_spec spec = complete(opt, rows[i].test, rows[i].size);

		if (perf_need(&spec) > limit)
			limit = perf_need(&spec);
	}
	return limit;
}

static int run(struct perf_options *opt)
{
	int status = CLI_OK;

	if (opt->vipl)
		return run_vipl(opt);
	if (opt->server)
		return proc_server(opt);
	opt->limit = limit_of_pair(opt);
	if (opt->plot != NULL)
		status = plot_begin(opt);
	if (status == CLI_OK && opt->ia != NULL)
		status = proc_client(opt, check_sizes, measure);
	if (status == CLI_OK && opt->plot != NULL)
		status = plot_end(opt);
	return status;
}

/* Becomes the program that is compiled for the other API, or says why it cannot. */
static int become_other(const struct perf_options *opt, char **argv)
{
	const char *path = other_api_exec("datperf", opt->api, argv);

	cli_error("--api %s needs the program %s: %s; install the package that datperf is from again", opt->api, path,
		  strerror(errno));
	return CLI_FAILED;
}

int main(int argc, char **argv)
{
	struct perf_options opt;
	int status;

	cli_begin("datperf");
	status = options_read(argc, argv, &opt);
	if (status == CLI_OK && !opt.done && strcmp(opt.api, PERF_API_NAME) != 0)
		return cli_finish(become_other(&opt, argv));
	if (status == CLI_OK && !opt.done) {
		clock_begin();
		status = run(&opt);
	}
	return cli_finish(status);
}
