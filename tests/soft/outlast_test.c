/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single requests of gigabytes, which take longer than peer_timeout. A peer that lives and copies for so long keeps its
 * connection; only if its memory is freed meanwhile, or the window unbound that it uses, the connection ends within the bound, and
 * nothing touches that memory any more.
 *
 * The memory is a file of a few MiB, mapped again and again side by side, so the test needs no more than that on either side. Such
 * a region is not within one mapping, so the kernel or the bounce thread copies.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define BALL	  64
#define ROUNDS	  3
#define CALM_MS	  20 /* a copy that is not over would be seen within this time */
#define THEIRS	  0x11
#define MINE	  0x4d

enum what { WRITE, READ, SEND };

/* The same in both processes. */
static struct plan {
	const char *adapter;
	uint64_t bound_ms; /* its peer_timeout */
	enum what what;
	size_t wide, file; /* the lengths of the region and of the file */
	bool is_fitted; /* the length of the request follows this machine's speed; else it is that of the region */
} plan;

static struct api_end end;
static struct api_buf wide, ball;
static struct api_offer here;

/* Returns the memory, mapped over and over. It is unmapped when the process of the test ends. */
static unsigned char *wide_memory(void)
{
	int fd = memfd_create("outlast", MFD_CLOEXEC);
	unsigned char *mem = mmap(NULL, plan.wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	REQUIRE(fd >= 0 && ftruncate(fd, (off_t)plan.file) == 0 && mem != MAP_FAILED);
	for (size_t at = 0; at < plan.wide; at += plan.file)
		REQUIRE(mmap(mem + at, plan.file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == mem + at);
	close(fd);
	return mem;
}

static void open_side(int byte)
{
	api_open_as((char *)(uintptr_t)plan.adapter);
	api_end_make(&end, NULL);
	wide = api_buf_in(api.pz, wide_memory(), plan.wide, DAT_MEM_PRIV_ALL_FLAG);
	memset(wide.mem, byte, plan.file);
	ball = api_buf(BALL, DAT_MEM_PRIV_ALL_FLAG);
}

static void close_side(void)
{
	api_close();
	if (wide.mem)
		munmap(wide.mem, plan.wide);
	wide.mem = NULL;
}

/* ------------------------------------------------------------------ the peer */

/* What the peer reports of its request. */
struct report {
	DAT_DTO_COMPLETION_STATUS status;
	size_t length;
	uint64_t took_ms;
};

static DAT_RETURN post(const struct api_offer *there, size_t at, size_t length, int cookie)
{
	DAT_LMR_TRIPLET mine = api_seg(&wide, at, length);
	DAT_RMR_TRIPLET theirs = api_offer_part(there, at, length);

	if (plan.what == SEND)
		return dat_ep_post_send(end.ep, 1, &mine, api_cookie(cookie), 0);
	return plan.what == WRITE ? api_write(end.ep, mine, theirs, cookie, 0) : api_read(end.ep, mine, theirs, cookie, 0);
}

/*
 * Short requests, for the time of the bound, tell how fast this machine copies: a single one would tell little, if the threads that
 * copy have a processor only now and then. Each is where nobody has touched the mappings yet, because the faults there take most of
 * the time on some machines. Returns the length of a request behind them, from *at on, that takes some three times the bound.
 */
static size_t long_enough(const struct api_offer *there, size_t *at)
{
	uint64_t began = check_now_ms(), took;
	size_t length;

	*at = 0;
	do {
		REQUIRE_DAT(post(there, *at, plan.file, 3), DAT_SUCCESS);
		API_DTO(end.request, end.ep, 3, DAT_DTO_SUCCESS, plan.file);
		took = check_now_ms() - began;
		*at += plan.file;
		/* the other side has one receive for these messages */
	} while (took < plan.bound_ms && *at < plan.wide / 2 && plan.what != SEND);
	for (length = plan.file; length < plan.wide - *at; length += plan.file)
		if (length * took >= 3 * plan.bound_ms * *at)
			break;
	return length;
}

static void peer(void *arg)
{
	struct api_offer there;
	struct report report = { .length = plan.wide };
	DAT_EVENT event;
	uint64_t began;
	size_t at = 0;

	(void)arg;
	check_get(CHECK_PARENT, &there, sizeof(there));
	open_side(THEIRS);
	api_connect_to(&end, &there.address, there.qual);
	check_get(CHECK_PARENT, &there.target, sizeof(there.target));
	if (plan.is_fitted)
		report.length = long_enough(&there, &at);
	began = check_now_ms();
	REQUIRE_DAT(post(&there, at, report.length, 1), DAT_SUCCESS);
	API_EVENT(end.request, &event);
	report.status = event.event_data.dto_completion_event_data.status;
	report.took_ms = check_now_ms() - began;
	check_put(CHECK_PARENT, &report, sizeof(report));
	if (report.status == DAT_DTO_SUCCESS) { /* the connection is as it was */
		REQUIRE_DAT(api_send(end.ep, &ball, 0, BALL, 2, 0), DAT_SUCCESS);
		API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, BALL);
	}
	check_await(CHECK_PARENT);
	close_side();
}

/* Connects with the peer, with receives for what it sends. */
static pid_t meet(void)
{
	pid_t other = check_fork(peer, NULL);
	DAT_EVD_HANDLE cr_evd;

	open_side(MINE);
	for (int cookie = 5; plan.what == SEND && cookie <= 6; cookie++)
		REQUIRE_DAT(api_recv(end.ep, &wide, 0, plan.wide, cookie), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(end.ep, &ball, 0, BALL, 7), DAT_SUCCESS);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&here, cr_evd, &wide);
	check_put(other, &here, sizeof(here));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	return other;
}

/* Lets the peer begin. */
static void go(pid_t other)
{
	check_put(other, &here.target, sizeof(here.target));
}

/* ------------------------------------------------------------------ a peer that lives and copies */

static void request_of_a_peer_that_copies_is_not_cut_short(void)
{
	pid_t other = meet();
	struct report report;

	go(other);
	check_get(other, &report, sizeof(report));
	CHECK_EQ_INT(report.status, DAT_DTO_SUCCESS);
	CHECK_EQ_INT(api_state(end.ep), DAT_EP_STATE_CONNECTED);
	if (plan.what == SEND) {
		API_DTO(end.recv, end.ep, 5, DAT_DTO_SUCCESS, plan.file);
		API_DTO(end.recv, end.ep, 6, DAT_DTO_SUCCESS, report.length);
	}
	API_DTO(end.recv, end.ep, 7, DAT_DTO_SUCCESS, BALL);
	CHECK_EQ_INT(wide.mem[report.length - 1], plan.what == READ ? MINE : THEIRS);
	check_signal(other);
	check_join(other);
	if (report.took_ms <= plan.bound_ms)
		check_skip("this machine copies gigabytes within the bound");
}

/* ------------------------------------------------------------------ memory that is freed meanwhile */

static bool has_begun(void)
{
	return __atomic_load_n(wide.mem, __ATOMIC_RELAXED) == THEIRS;
}

/* Checks that nothing is written to the memory any more. */
static void is_left_alone(void)
{
	memset(wide.mem, MINE, plan.file);
	usleep(CALM_MS * 1000);
	for (size_t i = 0; i < plan.file; i++)
		if (wide.mem[i] != MINE) {
			CHECK_FAIL("byte %zu of memory that is free has been written to", i);
			break;
		}
}

/* The request was ended by this side. */
static void was_ended(pid_t other)
{
	struct report report;

	is_left_alone();
	API_CONN_OVER(end.connect, end.ep);
	check_get(other, &report, sizeof(report));
	CHECK(report.status != DAT_DTO_SUCCESS);
	check_signal(other);
	check_join(other);
}

static void memory_that_is_freed_meanwhile_is_not_touched_afterwards(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pid_t other = meet();

		go(other);
		CHECK_SOON(has_begun());
		CHECK_DAT(dat_lmr_free(wide.lmr), DAT_SUCCESS);
		was_ended(other);
		close_side();
	}
}

/* The peer writes through a window, which is bound and unbound over a connection within this process. */
static void window_that_is_unbound_meanwhile_is_not_touched_afterwards(void)
{
	DAT_LMR_TRIPLET nothing = { .segment_length = 0 }, all;
	DAT_RMR_CONTEXT context;
	struct api_pair pair;
	DAT_RMR_HANDLE rmr;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t other = meet();

		memset(&pair, 0, sizeof(pair));
		api_pair_make(&pair, NULL);
		all = api_seg(&wide, 0, plan.wide);
		REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
		REQUIRE_DAT(dat_rmr_bind(rmr, &all, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, pair.a.ep, api_cookie(3), 0, &context),
			    DAT_SUCCESS);
		API_BIND(pair.a.request, rmr, 3, DAT_RMR_BIND_SUCCESS);
		here.target.rmr_context = context;
		go(other);
		CHECK_SOON(has_begun());
		REQUIRE_DAT(dat_rmr_bind(rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, pair.a.ep, api_cookie(4), 0, &context),
			    DAT_SUCCESS);
		API_BIND(pair.a.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
		was_ended(other);
		close_side();
	}
}

static void memory_that_is_freed_beside_a_stopped_peer_is_not_touched_afterwards(void)
{
	pid_t other = meet();
	struct report report;

	go(other);
	CHECK_SOON(has_begun());
	check_stop(other);
	CHECK_DAT(dat_lmr_free(wide.lmr), DAT_SUCCESS);
	API_CONN_OVER(end.connect, end.ep);
	is_left_alone();
	REQUIRE(kill(other, SIGCONT) == 0);
	check_get(other, &report, sizeof(report));
	CHECK(report.status != DAT_DTO_SUCCESS);
	is_left_alone();
	check_signal(other);
	check_join(other);
}

/* ------------------------------------------------------------------ the ways */

#define MIB ((size_t)1 << 20)

/* By system calls */
static void copies(enum what what)
{
	plan = (struct plan){
		"soft-hasty", .bound_ms = 100, .what = what, .wide = 4096 * MIB, .file = 64 * MIB, .is_fitted = true
	};
}

static void writes(void)
{
	copies(WRITE);
}

static void reads(void)
{
	copies(READ);
}

static void sends(void)
{
	copies(SEND);
}

/* A bounce thread that is not scheduled for so long would be one that does not answer, so the bound is longer. */
static void by_bounce(void)
{
	if (THREAD_SANITIZER)
		check_skip("the sanitizer would keep shadows of all the memory that the bounce thread copies");
	plan = (struct plan){
		"soft-bounce", .bound_ms = 1000, .what = WRITE, .wide = 4096 * MIB, .file = 64 * MIB, .is_fitted = true
	};
}

/*
 * The file is so short that the peer is soon where this side has cleared the memory. No machine copies so much within the bound:
 * that is 50 GiB a second.
 */
static void freed(void)
{
	plan = (struct plan){ "soft-brisk", .bound_ms = 600, .what = WRITE, .wide = 32768 * MIB, .file = 2 * MIB };
}

static const struct check_test lives[] = { CHECK_TEST(request_of_a_peer_that_copies_is_not_cut_short), CHECK_END };
static const struct check_test frees[] = {
	CHECK_TEST(memory_that_is_freed_meanwhile_is_not_touched_afterwards),
	CHECK_TEST(window_that_is_unbound_meanwhile_is_not_touched_afterwards),
	CHECK_TEST(memory_that_is_freed_beside_a_stopped_peer_is_not_touched_afterwards),
	CHECK_END
};
static const struct check_suite write_suite = {
	.name = "outlast, writes", .setup = writes, .teardown = close_side, .tests = lives
};
static const struct check_suite read_suite = {
	.name = "outlast, reads", .setup = reads, .teardown = close_side, .tests = lives
};
static const struct check_suite send_suite = {
	.name = "outlast, sends", .setup = sends, .teardown = close_side, .tests = lives
};
static const struct check_suite bounce_suite = {
	.name = "outlast, bounce path", .setup = by_bounce, .teardown = close_side, .tests = lives
};
static const struct check_suite free_suite = {
	.name = "outlast, freed", .setup = freed, .teardown = close_side, .tests = frees
};

CHECK_SUITES(&write_suite, &read_suite, &send_suite, &bounce_suite, &free_suite);
