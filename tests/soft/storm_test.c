/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many processes that are all honest start at once, and each connects to one listener, which accepts all. With the usual limit
 * of descriptors every one of them gets connected. With a low limit some are refused; but each attempt has a result, and a
 * process that has been told that it is connected stays so.
 *
 * The processes wait at a pipe until the test closes its other end, so that they all begin at the same moment.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api.h"

#define STORM	    40
#define DESCRIPTORS 64 /* not enough for all: each peer needs three, and the listener has some of its own */

static struct api_end ends[STORM];
static DAT_EVD_HANDLE cr_evd;
static struct api_offer offer;
static struct api_buf buf;
static int gate[2];
static pid_t comers[STORM];
/* In memory that the processes share: how many attempts have had a result, and how many of these were ESTABLISHED. */
static struct tally {
	_Atomic int ended, connected;
} *tally;

/* Writes to the listener's memory, and hears that it has arrived. */
static void comer_works(struct api_end *end, int number)
{
	struct api_buf ours = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);

	ours.mem[0] = 1;
	REQUIRE_DAT(api_write(end->ep, api_seg(&ours, 0, 1), api_offer_part(&offer, (size_t)number, 1), 7, 0), DAT_SUCCESS);
	API_DTO(end->request, end->ep, 7, DAT_DTO_SUCCESS, 1);
	API_STATE(end->ep, DAT_EP_STATE_CONNECTED);
}

static void comer(void *arg)
{
	struct api_end end;
	DAT_EVENT event;
	char end_of_file;
	bool connected;

	close(gate[1]);
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	api_end_make(&end, NULL);
	check_signal(CHECK_PARENT);
	REQUIRE(read(gate[0], &end_of_file, 1) == 0);
	check_stderr_begin(); /* the library says why a connection is refused */
	REQUIRE_DAT(api_offer_connect(end.ep, &offer, api_patience()), DAT_SUCCESS);
	API_EVENT(end.connect, &event);
	check_stderr_end();
	connected = event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	CHECK(connected || event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	tally->connected += connected;
	tally->ended++;
	check_await(CHECK_PARENT);
	if (connected)
		comer_works(&end, *(const int *)arg);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/*
 * Accepts whoever comes until each attempt has had a result; if `late`, only from when each attempt has either come here or had
 * its result. Returns how many were accepted.
 */
static int accept_all(bool late)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_CR_HANDLE crs[STORM];
	int come = 0, accepted = 0;
	DAT_EVENT event;
	DAT_COUNT n;

	while (tally->ended < STORM && check_now_ms() < until) {
		if (dat_evd_wait(cr_evd, 20000, 1, &event, &n) == DAT_SUCCESS) {
			REQUIRE(come < STORM);
			crs[come++] = event.event_data.cr_arrival_event_data.cr_handle;
		}
		if (late && come + tally->ended < STORM)
			continue;
		for (; accepted < come; accepted++)
			REQUIRE_DAT(dat_cr_accept(crs[accepted], ends[accepted].ep, 0, NULL), DAT_SUCCESS);
	}
	REQUIRE(tally->ended == STORM);
	return accepted;
}

/* Returns the number of connections here that are established and stay so. */
static int established(int accepted)
{
	int n = 0;

	for (int i = 0; i < accepted; i++) {
		DAT_EVENT event;

		API_EVENT(ends[i].connect, &event);
		n += event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
		API_EMPTY(ends[i].connect);
	}
	return n;
}

static void storm_comes(void)
{
	static int numbers[STORM];

	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(tally != MAP_FAILED && pipe(gate) == 0);
	for (int i = 0; i < STORM; i++) {
		numbers[i] = i;
		comers[i] = check_fork(comer, &numbers[i]);
	}
	close(gate[0]);
}

static void storm_breaks(void)
{
	api_open();
	for (int i = 0; i < STORM; i++)
		api_end_make(&ends[i], NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(STORM, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, &buf);
	for (int i = 0; i < STORM; i++)
		check_put(comers[i], &offer, sizeof(offer));
	for (int i = 0; i < STORM; i++)
		check_await(comers[i]);
	close(gate[1]);
}

/* Each process that was connected writes one byte. */
static void storm_is_over(int connected)
{
	int written = 0;

	for (int i = 0; i < STORM; i++)
		check_signal(comers[i]);
	for (int i = 0; i < STORM; i++)
		check_await(comers[i]);
	for (int i = 0; i < STORM; i++)
		written += buf.mem[i];
	CHECK_EQ_INT(written, connected);
	for (int i = 0; i < STORM; i++)
		check_signal(comers[i]);
	for (int i = 0; i < STORM; i++)
		check_join(comers[i]);
	api_close();
	munmap(tally, sizeof(*tally));
}

static void processes_that_all_come_at_once_are_all_connected(void)
{
	int accepted;

	storm_comes();
	storm_breaks();
	accepted = accept_all(false);
	CHECK_EQ_INT(accepted, STORM);
	CHECK_EQ_INT(established(accepted), STORM);
	CHECK_EQ_INT(tally->connected, STORM);
	storm_is_over(STORM);
}

static void too_many_come(bool late)
{
	struct rlimit limit, few;
	int accepted, connected;

	storm_comes();
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	few = limit;
	few.rlim_cur = (rlim_t)api_descriptors() + DESCRIPTORS; /* the harness has some for each process */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	check_stderr_begin();
	storm_breaks();
	accepted = accept_all(late);
	check_stderr_end();
	connected = established(accepted);
	printf("# of %d processes %d were accepted and %d connected\n", STORM, accepted, connected);
	CHECK(connected > 0 && connected < STORM);
	CHECK_EQ_INT(connected, accepted);
	CHECK_EQ_INT(tally->connected, connected);
	storm_is_over(connected);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void of_too_many_some_are_refused_and_the_others_stay_connected(void)
{
	too_many_come(false);
}

/* What waits for a busy program is not displaced by what comes later. */
static void of_too_many_those_that_wait_for_the_program_stay(void)
{
	too_many_come(true);
}

static const struct check_test tests[] = { CHECK_TEST(processes_that_all_come_at_once_are_all_connected),
	CHECK_TEST(of_too_many_some_are_refused_and_the_others_stay_connected),
	CHECK_TEST(of_too_many_those_that_wait_for_the_program_stay), CHECK_END };

static const struct check_suite storm = {
	.name = "processes that connect at once",
	.teardown = api_close,
	.tests = tests,
};

CHECK_SUITES(&storm);
