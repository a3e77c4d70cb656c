/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bounds of datconform's other side against a client that asks for too much: the memory of a request and of a test, the
 * lengths of all its queues, the duration of a step, and that of a test. The test is the client, and the other side is a child, as
 * in datconform --server. Time stands still there: this program has its own judge_now_ms(), which the test sets, and its own
 * alarm(), of which the test learns the bound, and which it can have expire at once.
 */
#define REMOTE_PLAIN
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "remote.h"

/* conform.h and kit.h, which declare them, have macros of the same names as check.h. */
uint64_t judge_now_ms(void);
void kit_fill(void *mem, size_t size, unsigned int seed);
bool kit_filled(const void *mem, size_t size, unsigned int seed);

#define MIB	(UINT64_C(1) << 20)
#define HOUR_S	3600u
#define STEP_S	120u /* the bound of a step for clients with little patience */
#define WAIT_S	600u /* that of a wait for the next request; no step that these tests have expire has the same */

/*
 * Shared with the child. The test writes it before it sends a request, and the child handles that request afterwards. But
 * after its answer to the request before, the child may read it as well, for the bound of its wait for the next one.
 */
struct clock {
	_Atomic(uint64_t) now_ms;
	_Atomic(unsigned int) alarm_s; /* the bound that alarm() has got last */
	_Atomic(bool) expires;	       /* the bound of the next step does so at once */
};

static struct clock *now;
static pid_t child;
static uint64_t ia, pz; /* by their places in the child's table */
static int client = -1;
static struct remote_message answer;
static unsigned char bytes[REMOTE_BYTES];

/* ------------------------------------------------------------------ what the other side calls */

uint64_t judge_now_ms(void)
{
	return now->now_ms;
}

unsigned int alarm(unsigned int seconds)
{
	struct itimerval timer = { .it_value = { .tv_usec = now->expires && seconds != WAIT_S ? 1000 : 0 } };

	now->alarm_s = seconds;
	return (unsigned int)setitimer(ITIMER_REAL, &timer, NULL);
}

void kit_fill(void *mem, size_t size, unsigned int seed)
{
	memset(mem, (int)seed, size);
}

bool kit_filled(const void *mem, size_t size, unsigned int seed)
{
	return !size || ((const unsigned char *)mem)[0] == (unsigned char)seed;
}

/* ------------------------------------------------------------------ the client */

static void server_starts(void)
{
	int pair[2];

	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(now != MAP_FAILED);
	now->now_ms = 1000;
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	client = pair[0];
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		remote_serve(pair[1], "soft0", 60, NULL);
	}
	close(pair[1]);
}

/* Takes a step. Returns false if the other side ends instead of an answer. */
static bool step(enum step what, unsigned int n, const uint64_t *words)
{
	struct remote_message ask = { .step = what, .word_count = n };

	memcpy(ask.words, words, n * sizeof(*words));
	return remote_put(client, &ask) && remote_get(client, &answer, bytes, -1);
}

/* The first step, of a client with this patience. */
static void server_opens(uint64_t patience_ms)
{
	const uint64_t hello[] = { REMOTE_MAGIC, sizeof(DAT_EVENT), sizeof(DAT_EP_PARAM), sizeof(DAT_CR_PARAM), STEP_END,
				   patience_ms };

	server_starts();
	REQUIRE(step(STEP_HELLO, 6, hello));
	REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	ia = answer.words[1];
	pz = answer.words[2];
}

static bool memory_step(uint64_t size)
{
	const uint64_t words[] = { pz, size, DAT_MEM_PRIV_ALL_FLAG };

	return step(STEP_BUF_CREATE, 3, words);
}

/* Waits until the other side has ended, and returns how. */
static int status_of_end(void)
{
	int status = 0;

	REQUIRE(waitpid(child, &status, 0) == child);
	child = 0;
	return status;
}

static void ended_for_garbage(void)
{
	int status = status_of_end();

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static void ended_for_greed(void)
{
	int status = status_of_end();

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == REMOTE_GREEDY);
}

static bool evd_step(DAT_COUNT qlen)
{
	const uint64_t words[] = { ia, (uint64_t)qlen, DAT_EVD_SOFTWARE_FLAG };

	return step(STEP_EVD_CREATE, 3, words);
}

/* An endpoint without EVDs, whose receives and requests have so many segments each. */
static bool ep_step(DAT_COUNT recvs, DAT_COUNT recv_iov, DAT_COUNT requests, DAT_COUNT request_iov)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC, .max_recv_dtos = recvs, .max_recv_iov = recv_iov,
			     .max_request_dtos = requests, .max_request_iov = request_iov };
	struct remote_message ask = { .step = STEP_EP_CREATE, .word_count = 5, .words = { ia, pz }, .blob_count = 1,
				      .blobs = { { &attr, sizeof(attr) } } };

	return remote_put(client, &ask) && remote_get(client, &answer, bytes, -1);
}

static void stop_server(void)
{
	if (child > 0) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	child = 0;
	if (client >= 0)
		close(client);
	client = -1;
}

/* ------------------------------------------------------------------ tests */

static void request_of_16_mib_is_granted(void)
{
	server_opens(5000);
	REQUIRE(memory_step(16 * MIB));
	CHECK_EQ_INT(answer.words[0], DAT_SUCCESS);
}

static void request_of_more_than_16_mib_ends_the_test(void)
{
	server_opens(5000);
	CHECK(!memory_step(16 * MIB + 1));
	ended_for_greed();
}

static void request_of_all_memory_ends_the_test(void)
{
	server_opens(5000);
	CHECK(!memory_step(UINT64_MAX));
	ended_for_greed();
}

static void test_gets_128_mib_in_all(void)
{
	uint64_t lmr;

	server_opens(5000);
	for (int i = 0; i < 8; i++) {
		REQUIRE(memory_step(16 * MIB));
		REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	}
	/* memory that has been registered no longer counts as well, because it is kept */
	lmr = answer.words[1];
	REQUIRE(step(STEP_LMR_FREE, 1, &lmr));
	REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	CHECK(!memory_step(1));
	ended_for_greed();
}

static void evd_of_all_lengths_ends_the_test(void)
{
	server_opens(5000);
	CHECK(!evd_step(REMOTE_EVENTS + 1));
	ended_for_greed();
}

static void test_gets_evds_for_so_many_events_in_all(void)
{
	uint64_t evd;

	server_opens(5000);
	for (int i = 0; i < 2; i++) {
		REQUIRE(evd_step(REMOTE_EVENTS / 2));
		REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	}
	evd = answer.words[1];
	REQUIRE(step(STEP_EVD_FREE, 1, &evd));
	REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	CHECK(!evd_step(1));
	ended_for_greed();
}

/* The provider refuses a negative length, but the server counts it: otherwise a client could go around the sum. */
static void many_short_evds_are_as_much_as_a_long_one(void)
{
	int asked = 0;

	server_opens(5000);
	while (evd_step(asked % 2 ? 1 : -1))
		asked++;
	CHECK(asked > 1000 && asked <= (int)REMOTE_EVENTS / 16);
	ended_for_greed();
}

static void endpoint_of_all_requests_ends_the_test(void)
{
	server_opens(5000);
	CHECK(!ep_step(16, 4, INT32_MAX, INT32_MAX));
	ended_for_greed();
}

static void test_gets_so_many_segments_in_all(void)
{
	server_opens(5000);
	for (int i = 0; i < 2; i++) {
		REQUIRE(ep_step(REMOTE_SEGMENTS / 16, 4, REMOTE_SEGMENTS / 16, 4));
		REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	}
	CHECK(!ep_step(1, 1, 1, 1));
	ended_for_greed();
}

/* Where the provider chooses, it is not for nothing. */
static void endpoints_of_no_particular_size_count(void)
{
	int made = 0;

	server_opens(5000);
	while (ep_step(0, 0, 0, 0))
		made++;
	CHECK(made > 1 && made < 32);
	ended_for_greed();
}

/* A step that never ends: a wait for an event without a timeout. Returns the bound at which it was ended. */
static unsigned int bound_of_a_step(uint64_t patience_ms)
{
	uint64_t evd[] = { 0, 8, DAT_EVD_SOFTWARE_FLAG };
	uint64_t wait[] = { 0, (uint64_t)DAT_TIMEOUT_INFINITE, 1 };
	int status;

	server_opens(patience_ms);
	evd[0] = ia;
	REQUIRE(step(STEP_EVD_CREATE, 3, evd));
	REQUIRE_EQ_INT(answer.words[0], DAT_SUCCESS);
	wait[0] = answer.words[1];
	now->expires = true;
	CHECK(!step(STEP_EVD_WAIT, 3, wait));
	status = status_of_end();
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	return now->alarm_s;
}

static void step_ends_at_its_bound(void)
{
	CHECK_EQ_INT(bound_of_a_step(5000), STEP_S);
}

static void step_of_a_patient_client_has_more_time(void)
{
	CHECK_EQ_INT(bound_of_a_step(60000), 8 * 60);
}

static void patience_beyond_reason_counts_for_nothing(void)
{
	CHECK_EQ_INT(bound_of_a_step(601000), STEP_S);
	stop_server();
	CHECK_EQ_INT(bound_of_a_step(UINT64_MAX), STEP_S);
}

/* Eight times the most patience is more than an hour. */
static void step_does_not_outlast_the_hour_of_its_test(void)
{
	CHECK_EQ_INT(bound_of_a_step(600000), HOUR_S);
}

static void test_ends_after_an_hour(void)
{
	server_opens(5000);
	now->now_ms += HOUR_S * 1000 - 1;
	REQUIRE(memory_step(4096));
	REQUIRE(memory_step(4096));
	/* it does not wait for a request beyond the hour either */
	CHECK_EQ_INT(now->alarm_s, 1);
	now->now_ms++;
	(void)memory_step(4096); /* it may have been waiting for this one */
	CHECK(!memory_step(4096));
	ended_for_garbage();
}

static const struct check_test tests[] = {
	CHECK_TEST(request_of_16_mib_is_granted),
	CHECK_TEST(request_of_more_than_16_mib_ends_the_test),
	CHECK_TEST(request_of_all_memory_ends_the_test),
	CHECK_TEST(test_gets_128_mib_in_all),
	CHECK_TEST(evd_of_all_lengths_ends_the_test),
	CHECK_TEST(test_gets_evds_for_so_many_events_in_all),
	CHECK_TEST(many_short_evds_are_as_much_as_a_long_one),
	CHECK_TEST(endpoint_of_all_requests_ends_the_test),
	CHECK_TEST(test_gets_so_many_segments_in_all),
	CHECK_TEST(endpoints_of_no_particular_size_count),
	CHECK_TEST(step_ends_at_its_bound),
	CHECK_TEST(step_of_a_patient_client_has_more_time),
	CHECK_TEST(patience_beyond_reason_counts_for_nothing),
	CHECK_TEST(step_does_not_outlast_the_hour_of_its_test),
	CHECK_TEST(test_ends_after_an_hour),
	CHECK_END
};
static const struct check_suite suite = { .name = "bounds of datconform's other side", .teardown = stop_server, .tests = tests };

CHECK_SUITES(&suite);
