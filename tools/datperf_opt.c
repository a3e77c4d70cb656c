/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's command line: from words to struct perf_options.
 *
 * Invariant: options_read() returns CLI_OK only for a valid combination of options; what depends on
 * the adapter is checked later.
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
#define MAX_ITERS 100000000
#define MAX_REPEAT 1000
#define DEFAULT_LIMIT (UINT64_C(1) << 30)
#define MAX_LIMIT (UINT64_C(1) << 40)
#define DEFAULT_DEADLINE_S 14400
#define MAX_DEADLINE_S 604800

static const char help_text[] =
	"Usage: datperf --ia NAME [OPTION...]                      both ends on this host\n"
	"       datperf --ia NAME --server [OPTION...]             one end here,\n"
	"       datperf --ia NAME --connect ADDRESS [OPTION...]    and one there\n"
	"       datperf --plot FILE RESULTS...                     a picture of earlier results\n"
	"Measure the latency and the bandwidth of a uDAPL adapter between two processes, and\n"
	"verify the data. Without --test: a table of a few tests and sizes.\n"
	"\n"
	"What is measured:\n"
	"  --ia NAME          the adapter ('datctl list' prints them)\n"
	"  --api API          dat: as a program of uDAPL 1.2, which is the default; 2.0: as one of\n"
	"                     uDAPL 2.0; vipl: through libvipl, both ends on this host\n"
	"  --test TEST        send-lat, write-lat, read-lat: one message at a time;\n"
	"                     eager-lat: as an MPI sends: RDMA writes into a ring, with credits;\n"
	"                     send-bw, write-bw, read-bw: a window of outstanding messages;\n"
	"                     connect-rate: connections made and ended, one after the other\n"
	"  --size BYTES       of one message; 8 for latency and 1m for bandwidth by default;\n"
	"                     k, m and g stand for powers of 1024\n"
	"  --sweep[=MIN:MAX]  all powers of two from MIN to MAX (1:4m) as sizes\n"
	"  --window N         messages outstanding on each endpoint in send-bw, write-bw, read-bw\n"
	"  --eps N            endpoints on each side, which the messages use in turn\n"
	"  --threads N        threads on each side, which share the endpoints\n"
	"  --bidirectional    send-bw, write-bw and read-bw: both sides at once, and their sum\n"
	"  --memory KIND      of the messages: private, memfd (shareable pages), or shared (those,\n"
	"                     registered as DAT_MEM_TYPE_SHARED_VIRTUAL)\n"
	"  --iters N          the number of messages (or connections) to measure\n"
	"  --duration S       measure for about S seconds, as in 0.5\n"
	"  --warmup N         the number of messages before the measurement\n"
	"  --repeat N         measure each test N times: the one in the middle counts, and the\n"
	"                     lowest and the highest are shown with it\n"
	"  --wait             sleep in dat_evd_wait for each event instead of polling\n"
	"  --verify           verify as many messages as are measured, not only some hundred\n"
	"  --cpus A,B         run the client on CPU A and the server on CPU B;\n"
	"                     with --server or --connect: --cpus A\n"
	"\n"
	"How it is shown:\n"
	"  --histogram        the distribution of each latency too\n"
	"  --json, --csv      one JSON object, or one line of comma-separated values, a result\n"
	"  --plot FILE        latency and bandwidth over the size as a picture (.svg or .png),\n"
	"                     of this run and of the RESULTS, files that --json wrote\n"
	"\n"
	"The two ends:\n"
	"  --server           serve one client, which chooses the tests\n"
	"  --connect ADDRESS  be the client of the server on that host\n"
	"  --qual N           the connection qualifier of the server (default 19750)\n"
	"  --limit BYTES      with --server: the memory that a test may take (default 1g)\n"
	"  --deadline S       with --server: end a session after S seconds (default 14400)\n"
	"  --timeout S        give up after S seconds without progress (default 20)\n"
	"  --help, --version\n"
	"\n"
	"Latency is one way: half the median (and 99th percentile) of the round trips; for a read\n"
	"it is the time from the post to the completion. Loops poll. Data are verified byte by\n"
	"byte: what the measurement left in each buffer, and every message of a further round in\n"
	"which each differs from all others.\n"
	"\n"
	"JSON: test, ia, size, iters, lat_us_median, lat_us_p99, bw_MBps (1 MB = 10^6 bytes),\n"
	"rate_per_s, window, eps, threads, bidirectional, wait, memory, verified; null for what a\n"
	"test does not measure or verify. With --histogram also histogram: pairs of a latency and\n"
	"the number of messages with this latency. With --repeat also repeat, low and high.\n"
	"\n"
	"Exit status: 0 it succeeded and all data were correct, 1 it failed, 2 the command line\n"
	"is wrong.\n";

enum option_id {
	OPT_IA = 256, OPT_TEST, OPT_SIZE, OPT_SWEEP, OPT_WINDOW, OPT_ITERS, OPT_DURATION,
	OPT_WARMUP, OPT_WAIT, OPT_CPUS, OPT_HISTOGRAM, OPT_JSON, OPT_CSV, OPT_PLOT, OPT_SERVER,
	OPT_CONNECT, OPT_QUAL, OPT_TIMEOUT, OPT_API, OPT_EPS, OPT_THREADS, OPT_BOTH, OPT_VERIFY,
	OPT_MEMORY, OPT_LIMIT, OPT_DEADLINE, OPT_REPEAT, OPT_HELP, OPT_VERSION
};

static const struct option options[] = {
	{ "ia", required_argument, NULL, OPT_IA },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "sweep", optional_argument, NULL, OPT_SWEEP },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "duration", required_argument, NULL, OPT_DURATION },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "wait", no_argument, NULL, OPT_WAIT },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "histogram", no_argument, NULL, OPT_HISTOGRAM },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "connect", required_argument, NULL, OPT_CONNECT },
	{ "qual", required_argument, NULL, OPT_QUAL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "api", required_argument, NULL, OPT_API },
	{ "eps", required_argument, NULL, OPT_EPS },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "bidirectional", no_argument, NULL, OPT_BOTH },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "deadline", required_argument, NULL, OPT_DEADLINE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

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

/* Parses "FIRST" or "FIRST<by>SECOND". Without a second part *second stays unchanged. */
static bool parse_pair(const char *text, char by, uint64_t min, uint64_t max, uint64_t *first,
		       uint64_t *second)
{
	char head[24];
	const char *mark = strchr(text, by);
	size_t length = mark != NULL ? (size_t)(mark - text) : strlen(text);

	if (length >= sizeof(head))
		return false;
	snprintf(head, sizeof(head), "%.*s", (int)length, text);
	return cli_number(head, min, max, first) &&
	       (mark == NULL || cli_number(mark + 1, min, max, second));
}

static int parse_cpus(const char *text, struct perf_options *opt)
{
	uint64_t first, second = UINT64_MAX;

	if (!parse_pair(text, ',', 0, 65535, &first, &second))
		return cli_usage("--cpus: '%s' is neither a CPU number nor A,B", text);
	opt->cpu[0] = (int)first;
	if (second != UINT64_MAX)
		opt->cpu[1] = (int)second;
	return CLI_OK;
}

static int parse_sweep(const char *text, struct perf_options *opt)
{
	opt->sweep_min = 1;
	opt->sweep_max = UINT64_C(4) << 20;
	if (text == NULL)
		return CLI_OK;
	if (!parse_pair(text, ':', 1, PERF_MAX_SIZE, &opt->sweep_min, &opt->sweep_max))
		return cli_usage("--sweep: '%s' is not MIN:MAX, as in --sweep=8:1m", text);
	if (opt->sweep_min > opt->sweep_max)
		return cli_usage("--sweep: '%s' begins above its end", text);
	return CLI_OK;
}

static int parse_plot(const char *text, struct perf_options *opt)
{
	const char *dot = strrchr(text, '.');

	opt->plot = text;
	if (dot != NULL && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0))
		return CLI_OK;
	return cli_usage("--plot: '%s' ends neither in .svg nor in .png", text);
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t max,
			uint64_t *value)
{
	if (cli_number(text, min, max, value))
		return CLI_OK;
	return cli_usage("%s: '%s' is not a number from %llu to %llu", name, text,
			 (unsigned long long)min, (unsigned long long)max);
}

static int parse_u32(const char *name, const char *text, uint64_t min, uint64_t max,
		     uint32_t *value)
{
	uint64_t wide = 0;
	int status = parse_number(name, text, min, max, &wide);

	*value = (uint32_t)wide;
	return status;
}

/* Parses "2" or "0.5": digits, independent of the locale; to the nanosecond. */
static bool decimal(const char *text, double *value)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	double scale = 1;

	if (text[whole] == '.')
		part = strspn(text + whole + 1, "0123456789");
	if (whole == 0 || whole > 9 || part > 9 || text[whole + (part > 0 ? part + 1 : 0)] != '\0')
		return false;
	*value = 0;
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '.')
			continue;
		*value = *value * 10 + (*c - '0');
		if (c > text + whole)
			scale *= 10;
	}
	*value /= scale;
	return true;
}

static int parse_duration(const char *text, double *seconds)
{
	if (decimal(text, seconds) && *seconds >= 0.001 && *seconds <= 3600)
		return CLI_OK;
	return cli_usage("--duration: '%s' is not a number of seconds from 0.001 to 3600", text);
}

/* Takes an option that has no value. */
static bool parse_flag(int id, struct perf_options *opt)
{
	switch (id) {
	case OPT_WAIT:
		opt->spec.wait = true;
		return true;
	case OPT_BOTH:
		opt->spec.both = true;
		return true;
	case OPT_VERIFY:
		opt->spec.verify = true;
		return true;
	case OPT_HISTOGRAM:
		opt->histogram = true;
		return true;
	case OPT_JSON:
		opt->form = PERF_JSON;
		return true;
	case OPT_CSV:
		opt->form = PERF_CSV;
		return true;
	case OPT_SERVER:
		opt->server = true;
		return true;
	default:
		return false;
	}
}

static int parse_api(const char *text, struct perf_options *opt)
{
	opt->vipl = strcmp(text, "vipl") == 0;
	opt->api = strcmp(text, "2.0") == 0 ? "2.0" : "1.2";
	if (opt->vipl || strcmp(text, opt->api) == 0 || strcmp(text, "dat") == 0)
		return CLI_OK;
	return cli_usage("--api: '%s' is none of dat, 2.0 and vipl", text);
}

static int parse_memory(const char *text, struct perf_options *opt)
{
	for (int i = 0; i < PERF_MEMORIES; i++) {
		if (strcmp(text, perf_memory_names[i]) == 0) {
			opt->spec.memory = (enum perf_memory)i;
			return CLI_OK;
		}
	}
	return cli_usage("--memory: '%s' is none of private, memfd and shared", text);
}

static int parse_option(int id, const char *text, struct perf_options *opt)
{
	switch (id) {
	case OPT_IA:
		opt->ia = text;
		return CLI_OK;
	case OPT_TEST:
		return parse_test(text, opt);
	case OPT_SIZE:
		return parse_number("--size", text, 1, PERF_MAX_SIZE, &opt->spec.size);
	case OPT_SWEEP:
		return parse_sweep(text, opt);
	case OPT_WINDOW:
		return parse_u32("--window", text, 1, PERF_MAX_WINDOW, &opt->spec.window);
	case OPT_ITERS:
		return parse_u32("--iters", text, 1, MAX_ITERS, &opt->spec.iters);
	case OPT_DURATION:
		return parse_duration(text, &opt->spec.duration_s);
	case OPT_WARMUP:
		opt->warmup_given = true;
		return parse_u32("--warmup", text, 0, MAX_ITERS, &opt->spec.warmup);
	case OPT_REPEAT:
		return parse_u32("--repeat", text, 1, MAX_REPEAT, &opt->repeat);
	case OPT_CPUS:
		return parse_cpus(text, opt);
	case OPT_PLOT:
		return parse_plot(text, opt);
	case OPT_API:
		return parse_api(text, opt);
	case OPT_EPS:
		return parse_u32("--eps", text, 1, PERF_MAX_EPS, &opt->spec.eps);
	case OPT_THREADS:
		return parse_u32("--threads", text, 1, PERF_MAX_THREADS, &opt->spec.threads);
	case OPT_MEMORY:
		return parse_memory(text, opt);
	case OPT_LIMIT:
		return parse_number("--limit", text, 1, MAX_LIMIT, &opt->limit);
	case OPT_DEADLINE:
		return parse_u32("--deadline", text, 1, MAX_DEADLINE_S, &opt->deadline_s);
	case OPT_CONNECT:
		opt->connect = text;
		return CLI_OK;
	case OPT_QUAL:
		return parse_number("--qual", text, 1, UINT64_MAX, &opt->conn_qual);
	default:
		return parse_u32("--timeout", text, 1, 3600, &opt->timeout_s);
	}
}

/* Returns true if an option was given that chooses what to measure. */
static bool measures(const struct perf_options *opt)
{
	return !opt->table || opt->histogram || opt->sweep_max > 0 || opt->spec.size > 0 ||
	       opt->spec.iters > 0 || opt->spec.duration_s > 0 || opt->spec.window > 0 ||
	       opt->spec.wait || opt->warmup_given || opt->repeat > 0 || opt->spec.eps > 0 || opt->spec.threads > 0 ||
	       opt->spec.both || opt->spec.verify || opt->spec.memory != PERF_PRIVATE;
}

static int check_ends(const struct perf_options *opt)
{
	bool pair = !opt->server && opt->connect == NULL;

	if (opt->server && opt->connect != NULL)
		return cli_usage("--server and --connect cannot be combined; give one of them");
	if (opt->server && (measures(opt) || opt->form != PERF_TABLE || opt->plot != NULL))
		return cli_usage("--server: the client chooses what to measure and prints it; give "
				 "the client all options but --ia, --cpus, --qual, --timeout, "
				 "--limit and --deadline");
	if (!opt->server && (opt->limit > 0 || opt->deadline_s > 0))
		return cli_usage("%s is for --server: it limits what a client may ask for",
				 opt->limit > 0 ? "--limit" : "--deadline");
	if (pair && opt->cpu[0] >= 0 && opt->cpu[1] < 0)
		return cli_usage("--cpus: give two, one for each process: --cpus A,B");
	if (!pair && opt->cpu[1] >= 0)
		return cli_usage("--cpus: give one; the other process is started elsewhere");
	if (pair && opt->conn_qual > 0)
		return cli_usage("--qual is for --server and --connect; without them, datperf "
				 "chooses the qualifier itself");
	return CLI_OK;
}

/*
 * Checks the options that are valid only with some tests. Without --test, the other tests are left
 * out.
 */
static int check_one_test(const struct perf_options *opt)
{
	const struct perf_method *method = &perf_methods[opt->spec.test];
	bool connects = opt->spec.test == PERF_CONNECT_RATE;

	if ((opt->spec.size > 0 || opt->sweep_max > 0) && connects)
		return cli_usage("%s: connect-rate sends no messages",
				 opt->sweep_max > 0 ? "--sweep" : "--size");
	if (opt->spec.window > 0 && (method->latency || connects))
		return cli_usage("--window: %s has one message outstanding at a "
				 "time", method->name);
	if (opt->spec.wait && !perf_waits(opt->spec.test))
		return cli_usage("--wait: %s polls always", method->name);
	if (opt->histogram && method->one_way == 0)
		return cli_usage("--histogram: %s measures no latency", method->name);
	if ((opt->spec.eps > 1 || opt->spec.threads > 1) && connects)
		return cli_usage("%s: connect-rate makes one connection after the other",
				 opt->spec.eps > 1 ? "--eps" : "--threads");
	if (opt->spec.both && method->both == NULL)
		return cli_usage("--bidirectional: %s measures no bandwidth", method->name);
	return CLI_OK;
}

static int check_test(const struct perf_options *opt)
{
	if (opt->histogram && opt->form == PERF_CSV)
		return cli_usage("--histogram: a line of values has no room for a distribution; "
				 "use --json, or the table");
	if (opt->spec.iters > 0 && opt->spec.duration_s > 0)
		return cli_usage("--iters and --duration both give the length of the measurement; "
				 "give one of them");
	if (opt->spec.size > 0 && opt->sweep_max > 0)
		return cli_usage("--size gives one size and --sweep several; give one of them");
	if (opt->spec.eps > 0 && opt->spec.eps < opt->spec.threads)
		return cli_usage("--threads: each of %u threads needs an endpoint, and --eps gives "
				 "%u", opt->spec.threads, opt->spec.eps);
	return opt->table ? CLI_OK : check_one_test(opt);
}

static int check_vipl(const struct perf_options *opt)
{
	if (opt->server || opt->connect != NULL)
		return cli_usage("--api vipl: both ends run on this host");
	if (!opt->table && (opt->spec.test == PERF_CONNECT_RATE || opt->spec.test == PERF_EAGER_LAT))
		return cli_usage("--api vipl: %s is not supported", perf_methods[opt->spec.test].name);
	if (opt->sweep_max > 0 || opt->spec.duration_s > 0 || opt->spec.window > 0 ||
	    opt->plot != NULL || opt->repeat > 0)
		return cli_usage("--api vipl cannot be combined with --sweep, --duration, --window, "
				 "--repeat and --plot");
	if (opt->spec.eps > 1 || opt->spec.threads > 1 || opt->spec.both || opt->spec.verify ||
	    opt->spec.memory != PERF_PRIVATE)
		return cli_usage("--api vipl cannot be combined with --eps, --threads, "
				 "--bidirectional, --verify and --memory");
	return CLI_OK;
}

/* Checks combinations of options. */
static int check_options(const struct perf_options *opt)
{
	int status;

	if (opt->ia == NULL && opt->results == NULL)
		return cli_usage("--ia is missing: name an adapter ('datctl list' prints them)");
	if (opt->ia == NULL && (measures(opt) || opt->form != PERF_TABLE || opt->server ||
				opt->connect != NULL || opt->cpu[0] >= 0))
		return cli_usage("--ia is missing: without it RESULTS are drawn, and nothing is "
				 "measured");
	status = opt->vipl ? check_vipl(opt) : CLI_OK;
	if (status == CLI_OK)
		status = check_ends(opt);
	return status == CLI_OK ? check_test(opt) : status;
}

/* Reports what getopt has refused: `id` is ':' or '?'. */
static int refuse(int id, const char *word)
{
	if (id == ':')
		return cli_usage("%s needs a value", word);
	if (optopt >= OPT_IA)
		return cli_usage("'%s': this option takes no value", word);
	if (optopt > 0)	/* a letter, perhaps one of several */
		return cli_usage("unknown option '-%c'", optopt);
	return cli_usage("unknown option '%s'", word);
}

/* Takes words that are not options: RESULTS, or a value that was not joined to --sweep. */
static int take_operands(char **operands, struct perf_options *opt)
{
	uint64_t min, max;

	if (operands[0] == NULL)
		return CLI_OK;
	if (opt->sweep_max > 0 && strchr(operands[0], ':') != NULL &&
	    parse_pair(operands[0], ':', 0, UINT64_MAX, &min, &max))
		return cli_usage("--sweep takes its value after a '=': --sweep=%s", operands[0]);
	if (opt->plot == NULL)
		return cli_usage("'%s' is not an option; the host of the server follows --connect, and results "
				 "follow --plot FILE", operands[0]);
	opt->results = operands;
	return CLI_OK;
}

int options_read(int argc, char **argv, struct perf_options *opt)
{
	int id, status;

	*opt = (struct perf_options){
		.table = true, .timeout_s = DEFAULT_TIMEOUT_S, .api = PERF_API_NAME,
		.cpu = { -1, -1 },
	};
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":hV", options, NULL)) != -1) {
		if (id == OPT_HELP || id == 'h' || id == OPT_VERSION || id == 'V') {
			opt->done = true;
			return id == OPT_HELP || id == 'h' ? cli_help(help_text) : cli_version();
		}
		if (id == ':' || id == '?')
			return refuse(id, argv[optind - 1]);
		if ((id == OPT_JSON && opt->form == PERF_CSV) ||
		    (id == OPT_CSV && opt->form == PERF_JSON))
			return cli_usage("--json and --csv cannot be combined; give one of them");
		if (parse_flag(id, opt))
			continue;
		status = parse_option(id, optarg, opt);
		if (status != CLI_OK)
			return status;
	}
	status = take_operands(argv + optind, opt);
	if (status == CLI_OK)
		status = check_options(opt);
	if (opt->conn_qual == 0)
		opt->conn_qual = DEFAULT_QUAL;
	if (opt->limit == 0)
		opt->limit = DEFAULT_LIMIT;
	if (opt->deadline_s == 0)
		opt->deadline_s = DEFAULT_DEADLINE_S;
	return status == CLI_OK ? proc_pick_cpus(opt) : status;
}
