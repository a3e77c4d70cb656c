/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that writes anything into any word that it shares with its victim, while the two exchange data and afterwards.
 * The victim does not crash, each of its calls returns, memory that it has not registered is not touched, and a new
 * peer is served when the hostile one has gone.
 *
 * SCRIBBLE_RUNS is the number of runs, each with a seed of its own; SCRIBBLE_SEED is the first seed, so that
 * SCRIBBLE_RUNS=1 repeats one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "hostile.h"

#define RUNS	 60
#define REGION	 ((size_t)512 << 10)
#define CANARY	 ((size_t)16 << 10)
#define TRAFFIC_MS 25
#define BOUND_S	 20 /* for everything that the victim does; it may wait for a second several times */
#define CANARY_BYTE 0xc5

/* What a sanitizer reports of the victim goes to the log of the test, with the messages that the attacker provokes. */
#define QUIET (!ADDRESS_SANITIZER && !THREAD_SANITIZER)

struct run {
	unsigned int seed;
	bool passive;	/* the victim connects, and the attacker listens */
	bool bounce;	/* copies go by the bounce threads */
};

/* ------------------------------------------------------------------ the attacker */

/* Writes in bursts with pauses between, so that the victim meets odd values at different places of its code. */
static void scribble(struct hostile *h, unsigned int *seed)
{
	int words = rand_r(seed) % 8 ? rand_r(seed) % 3 : 500;

	hostile_work(h, seed);
	for (int i = 0; i < words; i++)
		hostile_scribble(h, seed);
	usleep((useconds_t)(rand_r(seed) % 100));
}

static void attack(void *arg)
{
	const struct run *run = arg;
	unsigned int seed = run->seed * 2654435761u + 1;
	uint64_t qual;
	struct hostile h;

	check_get(CHECK_PARENT, &qual, sizeof(qual));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	if (run->passive) {
		hostile_listen(&h, qual);
		check_signal(CHECK_PARENT);
		hostile_await_request(&h);
		hostile_accept(&h);
	} else {
		hostile_connect(&h, qual);
	}
	while (!hostile_is_hung_up_on(h.fd, 0))
		scribble(&h, &seed);
	/* the victim's connection has ended, but some of its memory is still shared */
	for (int i = 0; i < 20; i++)
		scribble(&h, &seed);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static struct api_end end;
static struct api_pair pair;
static struct api_buf buf, aside;
static unsigned char *around;
static DAT_EVD_HANDLE cr_evd;

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void surround(void)
{
	around = api_memory(2 * CANARY + REGION);
	memset(around, CANARY_BYTE, 2 * CANARY + REGION);
	buf = api_buf_in(api.pz, around + CANARY, REGION, DAT_MEM_PRIV_ALL_FLAG);
}

static void want_canaries(void)
{
	for (size_t i = 0; i < CANARY; i++)
		if (around[i] != CANARY_BYTE || around[CANARY + REGION + i] != CANARY_BYTE)
			CHECK_FAIL("memory that is not registered has changed, %zu bytes from its begin", i);
}

/* Makes a random call. It may have any result, but it must return. */
static void operate(DAT_EP_HANDLE ep, unsigned int *seed)
{
	static const size_t lengths[] = { 0, 8, 88, 1000, 9000, 60000, 200000 };
	size_t length = lengths[(size_t)rand_r(seed) % (sizeof(lengths) / sizeof(*lengths))];
	/* mostly a region that the attacker has, or had before it wrote over it */
	DAT_RMR_TRIPLET remote = { .rmr_context = HOSTILE_CONTEXT(1 + (unsigned int)rand_r(seed) % (HOSTILE_REGIONS + 1)),
				   .target_address = (uintptr_t)hostile_data,
				   .segment_length = length };

	switch (rand_r(seed) % 5) {
	case 0:
	case 1:
		(void)api_recv(ep, &buf, 200000, length, 1);
		break;
	case 2:
	case 3:
		(void)api_send(ep, &buf, 0, length, 2, 0);
		break;
	default:
		if (rand_r(seed) % 2)
			(void)api_write(ep, api_seg(&buf, 0, length), remote, 3, 0);
		else
			(void)api_read(ep, api_seg(&buf, 0, length), remote, 3, 0);
	}
}

static void take_events(const struct api_end *of)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(of->recv, &event) == DAT_SUCCESS)
		;
	while (dat_evd_dequeue(of->request, &event) == DAT_SUCCESS)
		;
}

/* Exchanges data with the attacker, and over a connection within this process. */
static void exchange(unsigned int *seed)
{
	uint64_t until = now_ms() + TRAFFIC_MS;

	while (now_ms() < until) {
		operate(end.ep, seed);
		operate(pair.a.ep, seed);
		operate(pair.b.ep, seed);
		take_events(&end);
		take_events(&pair.a);
		take_events(&pair.b);
	}
}

static void meet_attacker(const struct run *run)
{
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	if (run->passive) {
		qual = api_free_qual(cr_evd);
		check_put(CHECK_PARENT, &qual, sizeof(qual));
		check_await(CHECK_PARENT);
		REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	} else {
		api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
		check_put(CHECK_PARENT, &qual, sizeof(qual));
		REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	}
	/* the attacker writes already, so the connection may fail */
	API_EVENT(end.connect, &event);
}

static void all_calls_return(void)
{
	struct api_end *ends[] = { &end, &pair.a, &pair.b };

	for (int i = 0; i < 3; i++) {
		(void)dat_ep_disconnect(ends[i]->ep, i % 2 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
		take_events(ends[i]);
		(void)dat_ep_reset(ends[i]->ep);
		CHECK_DAT(dat_ep_free(ends[i]->ep), DAT_SUCCESS);
		CHECK_DAT(dat_evd_free(ends[i]->recv), DAT_SUCCESS);
		CHECK_DAT(dat_evd_free(ends[i]->request), DAT_SUCCESS);
	}
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ a later peer */

#define LATE ((size_t)200000) /* longer than an eager message */

static void come_later(void *arg)
{
	struct api_offer offer;
	struct api_end own;
	struct api_buf mine;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	api_end_make(&own, NULL);
	mine = api_buf(2 * LATE, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(mine.mem, LATE, 7);
	api_connect_to(&own, &offer.address, offer.qual);
	REQUIRE_DAT(api_send(own.ep, &mine, 0, 100, 1, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 1, DAT_DTO_SUCCESS, 100);
	REQUIRE_DAT(api_send(own.ep, &mine, 0, LATE, 2, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 2, DAT_DTO_SUCCESS, LATE);
	REQUIRE_DAT(api_write(own.ep, api_seg(&mine, 0, LATE), api_offer_part(&offer, 0, LATE), 3, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 3, DAT_DTO_SUCCESS, LATE);
	REQUIRE_DAT(api_read(own.ep, api_seg(&mine, LATE, LATE), api_offer_part(&offer, 0, LATE), 4, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 4, DAT_DTO_SUCCESS, LATE);
	CHECK_EQ_INT(api_mismatch(mine.mem + LATE, LATE, 7), -1);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

static void serve_a_later_peer(void)
{
	struct api_offer offer;
	struct api_end other;
	struct api_buf target = api_buf(LATE, DAT_MEM_PRIV_ALL_FLAG), into = api_buf(2 * LATE, DAT_MEM_PRIV_ALL_FLAG);
	DAT_EVD_HANDLE requests = api_evd(8, DAT_EVD_CR_FLAG);

	api_end_make(&other, NULL);
	REQUIRE_DAT(api_recv(other.ep, &into, 0, LATE, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(other.ep, &into, LATE, LATE, 2), DAT_SUCCESS);
	api_offer_make(&offer, requests, &target);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(requests), other.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(other.recv, other.ep, 1, DAT_DTO_SUCCESS, 100);
	API_DTO(other.recv, other.ep, 2, DAT_DTO_SUCCESS, LATE);
	check_await(CHECK_PARENT);
	CHECK_EQ_INT(api_mismatch(target.mem, LATE, 7), -1);
}

/* ------------------------------------------------------------------ the life of a victim */

static void suffer(void *arg)
{
	const struct run *run = arg;
	unsigned int seed = run->seed;

	alarm(BOUND_S); /* this kills the victim if a call does not return */
	/* this adapter has a shorter bound, so that the victim waits less for the attacker */
	api_open_as((char *)(uintptr_t)(run->bounce ? "soft-hasty-bounce" : "soft-impatient"));
	if (QUIET)
		check_stderr_begin();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	surround();
	api_pair_make(&pair, NULL);
	meet_attacker(run);
	exchange(&seed);
	all_calls_return();
	want_canaries();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT); /* the attacker has gone */
	memset(&pair, 0, sizeof(pair));
	aside = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &aside);
	serve_a_later_peer();
	if (QUIET)
		check_stderr_end();
	api_close();
}

/* ------------------------------------------------------------------ runs */

static void run_one(const struct run *run)
{
	pid_t attacker = check_fork(attack, (void *)(uintptr_t)run);
	pid_t victim = check_fork(suffer, (void *)(uintptr_t)run);
	pid_t later = check_fork(come_later, NULL);
	struct api_offer offer;
	DAT_CONN_QUAL qual;

	check_get(victim, &qual, sizeof(qual));
	check_put(attacker, &qual, sizeof(qual));
	if (run->passive) {
		check_await(attacker);
		check_signal(victim);
	}
	check_await(victim);
	check_kill(attacker);
	check_signal(victim);
	check_get(victim, &offer, sizeof(offer));
	check_put(later, &offer, sizeof(offer));
	check_await(later);
	check_signal(later);
	check_signal(victim);
	check_join(later);
	check_join(victim);
}

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 10) : otherwise;
}

static void run_all(bool passive, bool bounce)
{
	unsigned int first = number("SCRIBBLE_SEED", 1), runs = number("SCRIBBLE_RUNS", RUNS);

	for (unsigned int i = 0; i < (runs + 3) / 4; i++) {
		const struct run run = { .seed = first + i, .passive = passive, .bounce = bounce };

		fprintf(stderr, "seed %u\n", run.seed);
		run_one(&run);
		check_alive();
	}
}

static void listener_survives_a_scribbler(void)
{
	run_all(false, false);
}

static void client_survives_a_scribbler(void)
{
	run_all(true, false);
}

static void listener_with_a_bounce_thread_survives_a_scribbler(void)
{
	run_all(false, true);
}

static void client_with_a_bounce_thread_survives_a_scribbler(void)
{
	run_all(true, true);
}

static const struct check_test tests[] = { CHECK_TEST(listener_survives_a_scribbler),
					   CHECK_TEST(client_survives_a_scribbler),
					   CHECK_TEST(listener_with_a_bounce_thread_survives_a_scribbler),
					   CHECK_TEST(client_with_a_bounce_thread_survives_a_scribbler),
					   CHECK_END };

static const struct check_suite scribbler = { .name = "scribbler", .tests = tests };

CHECK_SUITES(&scribbler);
