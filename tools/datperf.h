/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of datperf share.
 *
 * datperf is two processes: the client measures and reports, the server is its peer. They keep one
 * control connection for the whole session (datperf_ctl.c) and make data connections for each test
 * (datperf_conn.c), whose memory is described by struct perf_region (datperf_data.c). Each thread
 * has a lane of them (datperf_lane.c), which no other thread touches.
 *
 * Invariant: every function that can fail prints its own error, once, where it happens, and
 * returns -1; its callers only pass that on.
 */
#ifndef TOOLS_DATPERF_H
#define TOOLS_DATPERF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "datperf_api.h"

enum perf_test {
	PERF_SEND_LAT,
	PERF_WRITE_LAT,
	PERF_READ_LAT,
	PERF_EAGER_LAT,
	PERF_SEND_BW,
	PERF_WRITE_BW,
	PERF_READ_BW,
	PERF_CONNECT_RATE,
	PERF_TESTS
};

enum perf_memory { PERF_PRIVATE, PERF_MEMFD, PERF_SHARED, PERF_MEMORIES };
extern const char *const perf_memory_names[PERF_MEMORIES];

/* What to measure. Both sides have the same one, because the client sends it to the server. */
struct perf_spec {
	enum perf_test test;
	uint64_t size;		/* bytes of one message; 0 for connect-rate */
	uint32_t iters;
	uint32_t warmup;
	uint32_t window;	/* messages under way at once on an endpoint; 1 for latency */
	uint32_t eps;		/* endpoints on each side, at least as many as threads */
	uint32_t threads;	/* on each side */
	enum perf_memory memory;	/* what is registered */
	bool both;		/* bandwidth: both sides send, write or read at once */
	bool verify;		/* as many messages are verified as are measured */
	double duration_s;	/* iters are chosen to take so long; 0: they are given */
	bool wait;		/* sleep for events */
};

/* Samples, counted in bins (datperf_hist.c). */
struct perf_hist {
	uint64_t count;
	uint32_t min_ns, max_ns;
	uint32_t bin[];
};

/* What was measured. NAN stands for "this test does not measure it". */
struct perf_result {
	uint32_t iters;
	double lat_us_median;
	double lat_us_p99;
	double bw_MBps;
	double rate_per_s;
	double low, high;	/* with --repeat, the lowest and the highest perf_value() */
	bool verified;
	/* round trips, or what `one_way` of the method says; the session's, or NULL */
	const struct perf_hist *hist;
};

/* An open adapter and, on the server, its service point. */
struct perf_ia {
	const char *name;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE cr_evd;		/* server only */
	DAT_PSP_HANDLE psp;		/* server only */
	DAT_CONN_QUAL conn_qual;
	DAT_IA_ATTR attr;
	unsigned int timeout_s;		/* how long nothing may move before the test is given up */
	uint32_t look_mask;		/* empty polls between two calls of link_look(), minus 1 */
	uint32_t cpus;			/* CPUs that only this process uses; 0: less than one */
	uint64_t memory;		/* bytes of all data connections of the test */
	_Atomic bool failed;		/* a thread has given up, and reported why, so the others give up too */
	_Atomic bool stuck;		/* because nothing moved; to free objects may then take for ever */
	uint64_t limit;			/* server only: bytes that a client's test may take of memory */
	uint64_t until_ns;		/* the session ends at this time; 0: when the client ends it */
	bool server;
	uint64_t token;			/* of the test: its connections have to know it */
};

/*
 * Registered memory of one link: `slots` outgoing and as many incoming messages, then the credits
 * (datperf_bw.c). Both sides use the same layout, so one address describes the peer's memory.
 */
struct perf_region {
	unsigned char *base;
	size_t length;
	size_t stride;			/* from one slot to the next */
	uint32_t slots;			/* a power of two; message i uses slot i modulo slots */
	uint64_t size;			/* bytes of a message, at the beginning of its slot */
	uint64_t extent;		/* bytes of a slot that a request transfers; more than size in eager-lat */
	uint32_t number;		/* of the connection; the pattern contains it */
	enum perf_memory memory;
	int fd;				/* of PERF_MEMFD and PERF_SHARED */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* One connection: an endpoint, its queues, its memory and the peer's. */
struct perf_link {
	struct perf_ia *ia;
	struct perf_link *watch;	/* another link whose end also ends this one, or NULL */
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE recv_evd;
	DAT_EVD_HANDLE request_evd;
	DAT_EVD_HANDLE conn_evd;
	struct perf_region mem;
	unsigned int remote_version;	/* of the peer's private data */
	DAT_VADDR remote_base;
	DAT_RMR_CONTEXT remote_context;
	uint64_t posted;		/* requests posted since the link exists */
	uint64_t completed;		/* requests known to be complete */
	uint64_t first, end;		/* messages of this connection in the present phase */
	uint64_t taken;			/* messages that the peer is known to have taken (send-bw) */
	uint64_t look_at;		/* so many have been posted when this side next looks around, whether it waits or not */
	uint32_t depth;			/* requests that may be outstanding */
	uint32_t signal_every;		/* one request in this number reports its completion */
	bool connected;
	bool wait;			/* for events, instead of polling */
	struct sockaddr_storage address;	/* of the client; server only */
	uint64_t came_ns;		/* when this side took the client's request; server only */
};

#define PERF_CREDITS 32u		/* credit messages that may be under way (datperf_bw.c) */
#define PERF_CREDIT_SIZE 64u
#define PERF_RING 32u			/* slots of a ring of eager-lat */

/* datperf_data.c: memory and its contents */
int region_create(struct perf_region *mem, const struct perf_ia *ia);
uint64_t region_length(uint64_t extent, uint32_t slots);
void region_destroy(struct perf_region *mem);
unsigned char *region_out(const struct perf_region *mem, uint64_t index);
unsigned char *region_in(const struct perf_region *mem, uint64_t index);
unsigned char *region_credit(const struct perf_region *mem, uint64_t index);
unsigned char pattern_byte(const struct perf_region *mem, bool from_server, uint64_t generation,
			   uint64_t index, uint64_t offset);
void pattern_fill(const struct perf_region *mem, bool from_server, uint64_t generation,
		  uint64_t index);
void pattern_poison(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t index);
/* Verifies a message that has completed, and reports the first byte that is wrong. */
bool pattern_verify(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t last_generation, uint64_t index);
/* How many messages of this size are verified in each test: up to 8 MiB, so that long ones do not take long, but at least two. */
static inline uint64_t pattern_messages(uint64_t size)
{
	uint64_t messages = (UINT64_C(8) << 20) / size;

	return messages < 2 ? 2 : messages > 256 ? 256 : messages;
}
/*
 * Verifies a message of which only the end has been seen. A device may write other bytes after it, so this waits for them, for a
 * second at most. *late becomes the offset of the first byte that was not there at once, or the size if all were.
 */
bool pattern_verify_polled(const struct perf_region *mem, bool from_server, uint64_t generation,
			   uint64_t index, uint64_t *late);

/* datperf_ia.c: the adapter and the service point */
struct perf_options;
int perf_ia_open(struct perf_ia *ia, const struct perf_options *opt);
void perf_ia_share_cpus(struct perf_ia *ia, uint32_t threads);
int perf_ia_listen(struct perf_ia *ia, DAT_CONN_QUAL conn_qual);
int perf_ia_close(struct perf_ia *ia);
uint64_t perf_need(const struct perf_spec *spec);	/* bytes of one side's memory */
int perf_ia_fits(const struct perf_ia *ia, const struct perf_spec *spec);
int perf_memory_takes(const struct perf_spec *spec, uint64_t need, const char *option);
int perf_ia_takes(const struct perf_ia *ia, const struct perf_spec *spec, unsigned int processes,
		  const char *option);

/* datperf_guest.c: clients that are silent */
bool guest_welcome(const struct sockaddr *address);
void guest_silent(const struct sockaddr *address);
void guest_spent(const struct sockaddr *address, uint64_t ns, uint64_t patience_ns);

/* datperf_conn.c: connections */
enum link_kind { LINK_CONTROL = 1, LINK_DATA = 2 };

struct link_shape {
	uint64_t size;			/* of the largest message */
	uint64_t extent;		/* of a slot; 0: size */
	uint32_t slots;
	uint32_t number;
	enum perf_memory memory;
	uint32_t recvs;
	uint32_t requests;
	uint32_t signal_every;
};

int link_create(struct perf_link *l, struct perf_ia *ia, struct perf_link *watch,
		const struct link_shape *shape);
void link_destroy(struct perf_link *l);
int link_connect(struct perf_link *l, enum link_kind kind, const struct sockaddr *address);
int link_accept(struct perf_link *l, enum link_kind kind);
int link_disconnect(struct perf_link *l);
struct perf_idle;
int link_await_cr(struct perf_ia *ia, struct perf_link *watch, struct perf_idle *idle, DAT_CR_HANDLE *cr,
		  DAT_CR_PARAM *param);
void link_reject_stranger(DAT_CR_HANDLE cr);
int link_await_event(struct perf_link *l, DAT_EVENT_NUMBER expected, const char *(*remedy)(void),
		     DAT_EVENT *event);
#define PERF_SLOWEST (32u << 20)	/* bytes of memory that a side fills in a second, at least */
unsigned int link_patience_s(const struct perf_link *l);
int link_stuck(struct perf_link *l);
int link_over(void);

/*
 * Every loop that polls calls link_idle() after each poll that found nothing: it returns -1, with
 * the reason printed, when the connection has ended or nothing has moved for too long. `polls`
 * starts at 0.
 */
struct perf_idle {
	uint32_t polls;
	uint64_t since_ns;
};

int link_look(struct perf_link *l, struct perf_idle *idle);

static inline int link_idle(struct perf_link *l, struct perf_idle *idle)
{
	if ((++idle->polls & l->ia->look_mask) != 0)
		return 0;
	return link_look(l, idle);
}

int link_next_event(struct perf_link *l, DAT_EVD_HANDLE evd, const char *what, DAT_EVENT *event);

/* datperf_clock.c: the time */
void clock_begin(void);			/* before the rest; no thread but the caller's */
uint64_t perf_now_ns(void);
uint64_t clock_ticks(void);		/* quicker; convert differences with clock_ns() */
uint64_t clock_ns(uint64_t ticks);

/* datperf_hist.c: samples */
struct perf_hist *hist_create(void);
void hist_clear(struct perf_hist *hist);
void hist_join(struct perf_hist *hist, const struct perf_hist *with);
void hist_add(struct perf_hist *hist, uint64_t took);
double hist_quantile(const struct perf_hist *hist, double part);
uint64_t hist_between(const struct perf_hist *hist, double from, double to);

/* datperf_post.c: the data path */
enum perf_request { PERF_SEND, PERF_WRITE, PERF_READ };

int link_post(struct perf_link *l, enum perf_request what, uint64_t index, bool signal);
int link_post_recv(struct perf_link *l, uint64_t index);
int link_post_credit(struct perf_link *l, uint64_t index);
int link_post_taken(struct perf_link *l, uint64_t count);
uint64_t link_taken(const struct perf_link *l);
int link_post_credit_recv(struct perf_link *l, uint64_t index);
int link_poll_recv(struct perf_link *l, uint64_t size, uint64_t *cookie);
int link_drain(struct perf_link *l);
int link_dto_failed(const DAT_EVENT *event, const char *what);

struct perf_session;

/* One phase of a test. */
struct perf_phase {
	uint64_t iters;
	uint64_t generation;	/* of the pattern in the messages */
	bool check;		/* the round in which every byte of every message is verified */
	struct perf_hist *hist;	/* gets a sample for each message, or NULL */
	uint64_t from_ns, to_ns;	/* out: the first post and the last completion */
	bool wrong;		/* out: a message of the check round was wrong, and that has been reported */
	bool late;		/* out: bytes of a message came after its end, and that has been reported */
};

/*
 * What one thread does: some connections, over which its messages go in turn. Message n of a lane is
 * message n / count of its link n % count.
 */
struct perf_lane {
	struct perf_session *s;
	struct perf_link *link;
	uint32_t count;
	uint64_t done;			/* messages of the present test so far */
	struct perf_hist *hist;		/* of the timed phase; client only; kept from test to test */
	struct perf_phase phase;
	int status;
};

#define PERF_MAX_EPS 1024u
#define PERF_MAX_THREADS 64u
#define PERF_MAX_SIZE (UINT64_C(1) << 30)
#define PERF_MAX_WINDOW 1024u

/* datperf_ctl.c: the session */
struct perf_session {
	struct perf_ia ia;
	struct perf_link ctl;
	struct perf_link *data;			/* spec.eps of them, or NULL */
	struct perf_spec spec;
	struct sockaddr_storage address;	/* of the server; client only */
	uint64_t ctl_sent;
	uint64_t ctl_received;
	unsigned int deadline_s;		/* of a session; server only */
	unsigned int strangers;			/* clients in a row that started no test */
	bool stay;				/* a client that starts no test is not the last one */
	bool met;				/* a test has begun; server only */
	bool silent;				/* the client started no test in time; server only */
	uint64_t joined_ns;			/* when the client had connected; server only */
	bool measuring;				/* the client is in a phase; server only */
	struct perf_lane lane[PERF_MAX_THREADS];	/* spec.threads of them */
};

uint32_t session_slots(const struct perf_spec *spec);
uint64_t session_extent(const struct perf_spec *spec);
void session_queues(const struct perf_spec *spec, uint32_t *recvs, uint32_t *requests);
void session_free(struct perf_session *s);
int session_serve(struct perf_session *s);
int session_connect(struct perf_session *s);
int session_test(struct perf_session *s, const struct perf_spec *spec,
		 struct perf_result *result);
int session_end(struct perf_session *s);

/* datperf_lane.c: the threads of one side */
int lane_drain(struct perf_lane *lane);
void lanes_lay_out(struct perf_session *s);
void lanes_begin(struct perf_session *s, const struct perf_phase *phase);
int lanes_run(struct perf_session *s, struct perf_phase *phase,
	      int (*run)(struct perf_lane *lane, struct perf_phase *phase));
void lanes_end(struct perf_session *s);

/* The position of a message among the links of a lane, from the lane's next message on. */
struct perf_cursor {
	struct perf_link *link;
	uint64_t index;		/* of the message on this link */
};

static inline struct perf_cursor lane_cursor(const struct perf_lane *lane)
{
	return (struct perf_cursor){ lane->link + lane->done % lane->count,
				     lane->done / lane->count };
}

static inline void lane_next(const struct perf_lane *lane, struct perf_cursor *at)
{
	if (++at->link < lane->link + lane->count)
		return;
	at->link = lane->link;
	at->index++;
}

/* A test: what client and server do in a phase, and where data flow. */
struct perf_method {
	const char *name;
	int (*client)(struct perf_lane *lane, struct perf_phase *phase);
	int (*server)(struct perf_lane *lane, struct perf_phase *phase);	/* NULL: nothing */
	int (*both)(struct perf_lane *lane, struct perf_phase *phase);	/* both sides; or NULL */
	bool to_server;
	bool to_client;
	bool latency;		/* one message at a time, each checked in the check round */
	unsigned int one_way;	/* a sample is this many one-way trips; 0: no latency figure */
};

extern const struct perf_method perf_methods[PERF_TESTS];
uint32_t perf_window(enum perf_test test, uint64_t size);	/* the default (datperf.c) */
bool perf_waits(enum perf_test test);	/* it can sleep for its events */

/* datperf_lat.c, datperf_bw.c, datperf_rate.c: the methods */
int lat_send_client(struct perf_lane *lane, struct perf_phase *phase);
int lat_send_server(struct perf_lane *lane, struct perf_phase *phase);
int lat_write_client(struct perf_lane *lane, struct perf_phase *phase);
int lat_write_server(struct perf_lane *lane, struct perf_phase *phase);
int lat_read_client(struct perf_lane *lane, struct perf_phase *phase);
uint64_t eager_extent(uint64_t size);
uint64_t eager_longest(uint64_t length);
int lat_eager_client(struct perf_lane *lane, struct perf_phase *phase);
int lat_eager_server(struct perf_lane *lane, struct perf_phase *phase);
int bw_post_recvs(const struct perf_session *s, struct perf_link *l);
int bw_send_client(struct perf_lane *lane, struct perf_phase *phase);
int bw_send_server(struct perf_lane *lane, struct perf_phase *phase);
int bw_send_both(struct perf_lane *lane, struct perf_phase *phase);
int bw_write_client(struct perf_lane *lane, struct perf_phase *phase);
int bw_read_client(struct perf_lane *lane, struct perf_phase *phase);
int rate_client(struct perf_lane *lane, struct perf_phase *phase);
int rate_server(struct perf_lane *lane, struct perf_phase *phase);

/* datperf_opt.c: the command line */
enum perf_form { PERF_TABLE, PERF_JSON, PERF_CSV };

struct perf_options {
	const char *ia;			/* NULL: only a picture of earlier results */
	const char *connect;		/* the server's host; NULL unless --connect */
	bool done;			/* help has been printed: there is nothing to do */
	bool server;
	enum perf_form form;
	bool histogram;
	uint32_t repeat;		/* measurements of each row; 0 without --repeat */
	bool table;			/* no --test: a few of each */
	const char *plot;		/* the picture, or NULL */
	char **results;			/* files of earlier results; NULL, or ends with NULL */
	bool vipl;			/* --api vipl */
	const char *api;		/* otherwise: PERF_API_NAME, or that of the other program */
	DAT_CONN_QUAL conn_qual;
	unsigned int timeout_s;
	uint64_t limit;			/* bytes of memory that a server gives a test */
	unsigned int deadline_s;	/* of a session of a server */
	int cpu[2];			/* the client's and the server's; -1: not pinned */
	bool one_cpu;			/* client and server have to share one */
	int cpus;			/* that this process may use */
	uint64_t sweep_min, sweep_max;	/* sizes; sweep_max is 0 without --sweep */
	struct perf_spec spec;		/* of --test; a field that is 0 gets the default */
	bool warmup_given;
};

int options_read(int argc, char **argv, struct perf_options *opt);

/* datperf_proc.c: the two processes */
int proc_server(const struct perf_options *opt);
/*
 * `check` may refuse, with CLI_USAGE, what the adapter does not support, before anything is
 * measured.
 */
int proc_client(const struct perf_options *opt,
		int (*check)(const struct perf_ia *ia, const struct perf_options *opt),
		int (*measure)(struct perf_session *s, const struct perf_options *opt));
int proc_pick_cpus(struct perf_options *opt);
int proc_pin(int cpu);

/* datperf_vipl.c: --api vipl */
int vipl_measure(const struct perf_options *opt, const struct perf_spec *spec);

/* datperf_repeat.c: one result from several measurements */
struct perf_repeat {
	uint32_t times;			/* at least 1 */
	struct perf_result *result;	/* an array of `times`; NULL if `times` is 1 */
	struct perf_hist *hist;		/* of all of them together, or NULL */
};

double perf_value(enum perf_test test, const struct perf_result *result);	/* us, MB/s or 1/s: what the test is about */
int repeat_begin(struct perf_repeat *repeat, const struct perf_options *opt);
int repeat_test(struct perf_repeat *repeat, struct perf_session *s, const struct perf_spec *spec,
		struct perf_result *result);
void repeat_end(struct perf_repeat *repeat);	/* also if it could not begin */

/* datperf_report.c: how results are printed */
void report_head(const struct perf_options *opt);
void report_result(const struct perf_options *opt, const struct perf_spec *spec,
		   const struct perf_result *result);

/* datperf_plot.c: the picture */
int plot_begin(const struct perf_options *opt);
int plot_add(const char *ia, const char *api, const struct perf_spec *spec, const struct perf_result *result);
int plot_end(const struct perf_options *opt);

#endif
