/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of an event queue, without anything around it: many senders, in threads and in processes, one of which is
 * killed after it has reserved a cell; wake-ups; rings that are reused; the ready list.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/cq.h"

#define SENDERS	 4
#define MESSAGES 20000u
#define STEP	 1000u /* messages after which a test that sends one at a time restarts the watchdog */
#define PEERS	 8

static struct {
	struct soft_ia *ia;
	struct soft_cq cq;
	struct soft_peer peer[PEERS]; /* [n] has the name n + 1 */
	uint32_t next[SENDERS];	      /* the number in each sender's next message */
} t;

/* All peers have been told of the ring. */
static void tell_all(void)
{
	datp_lock(&t.ia->lock);
	for (uint32_t n = 0; n < PEERS; n++)
		REQUIRE(soft_cq_tell_locked(&t.cq, &t.peer[n]));
	datp_unlock(&t.ia->lock);
}

static void ring_open(void)
{
	memset(&t, 0, sizeof(t));
	t.ia = calloc(1, sizeof(*t.ia));
	REQUIRE(t.ia != NULL);
	t.ia->peer_of_sender_id = calloc(SOFT_PORT_MAX, sizeof(*t.ia->peer_of_sender_id));
	REQUIRE(t.ia->peer_of_sender_id != NULL);
	REQUIRE(soft_arena_new(&t.ia->arena) == DATP_OK);
	for (uint32_t n = 0; n < PEERS; n++) {
		t.peer[n].ia = t.ia;
		t.ia->peer_of_sender_id[n + 1] = &t.peer[n];
	}
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	tell_all();
}

static void ring_close(void)
{
	if (!t.ia)
		return;
	soft_cq_fini(&t.cq);
	soft_arena_put(t.ia->arena);
	for (uint32_t n = 0; n < PEERS; n++)
		free(t.peer[n].rings);
	free(t.ia->peer_of_sender_id);
	free(t.ia);
	t.ia = NULL;
}

/* ------------------------------------------------------------------ senders */

static void send_one(uint32_t sender, uint32_t number)
{
	struct soft_cell *cell;
	uint64_t position;

	while (!(cell = soft_ring_reserve(t.cq.ring, t.cq.mask, sender + 1, &position)))
		sched_yield();
	cell->kind = SOFT_CELL_MESSAGE;
	cell->port = sender;
	cell->len = number;
	memset(cell->data, (int)(number & 0xff), sizeof(cell->data));
	soft_ring_publish(cell, position);
	soft_ring_notify(t.cq.ring, NULL);
}

static void send_all(uint32_t sender)
{
	for (uint32_t n = 0; n < MESSAGES; n++)
		send_one(sender, n);
}

static void *sender_thread(void *arg)
{
	send_all((uint32_t)(uintptr_t)arg);
	return NULL;
}

static void sender_process(void *arg)
{
	send_all((uint32_t)(uintptr_t)arg);
}

/* Takes all cells, and checks that each has the next message of its sender. Returns how many there were. */
static unsigned int take(void)
{
	struct soft_cell *cell;
	unsigned int count = 0;

	while ((cell = soft_cq_peek(&t.cq))) {
		if (cell->kind == SOFT_CELL_MESSAGE) {
			REQUIRE(cell->port < SENDERS);
			REQUIRE_EQ_INT(cell->len, t.next[cell->port]++);
			REQUIRE_EQ_INT(cell->data[0], cell->len & 0xff);
			REQUIRE_EQ_INT(cell->data[SOFT_INLINE - 1], cell->len & 0xff);
			count++;
		}
		soft_cq_next(&t.cq);
	}
	return count;
}

static void take_all(unsigned int count)
{
	uint64_t until = check_now_ms() + check_patience_ms();

	for (unsigned int n = take(); n < count; n += take()) {
		REQUIRE(check_now_ms() < until);
		sched_yield();
	}
	REQUIRE(soft_cq_peek(&t.cq) == NULL);
}

static void messages_of_many_threads_arrive_once_and_in_order(void)
{
	pthread_t thread[SENDERS];

	for (uintptr_t i = 0; i < SENDERS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, sender_thread, (void *)i) == 0);
	take_all(SENDERS * MESSAGES);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(thread[i], NULL);
}

static void messages_of_many_processes_arrive_once_and_in_order(void)
{
	pid_t peer[SENDERS];

	for (uintptr_t i = 0; i < SENDERS; i++)
		peer[i] = check_fork(sender_process, (void *)i);
	take_all(SENDERS * MESSAGES);
	for (int i = 0; i < SENDERS; i++)
		check_join(peer[i]);
}

/* The owner tells the senders eight times per lap which cells are free. */
static void full_ring_refuses_until_cells_are_taken(void)
{
	uint64_t position;

	for (uint32_t n = 0; n <= t.cq.mask; n++)
		send_one(0, n);
	for (int i = 0; i < 3; i++)
		REQUIRE(soft_ring_reserve(t.cq.ring, t.cq.mask, 1, &position) == NULL);
	for (uint32_t n = 0; n <= t.cq.mask / 8; n++) {
		REQUIRE_EQ_INT(soft_cq_peek(&t.cq)->len, t.next[0]++);
		soft_cq_next(&t.cq);
	}
	for (uint32_t n = 0; n <= t.cq.mask / 8; n++)
		send_one(0, t.cq.mask + 1 + n);
	REQUIRE(soft_ring_reserve(t.cq.ring, t.cq.mask, 1, &position) == NULL);
	CHECK_EQ_INT(take(), t.cq.mask + 1);
}

/* Sets the ring's positions, as if it had been in use for long. */
static void ring_age(uint64_t position)
{
	soft_ring_init(t.cq.ring, t.cq.mask + 1, position);
	t.cq.ring->taken = position;
	t.cq.head = position;
}

static void positions_go_on_beyond_every_boundary(void)
{
	/* where a position overflows 32 bits, a signed number of 48, and the bits of a reservation */
	static const uint64_t boundaries[] = { 1ull << 32, 1ull << 47, 1ull << 48 };

	for (int i = 0; i < 3; i++) {
		memset(t.next, 0, sizeof(t.next));
		ring_age(boundaries[i] - 2 * (t.cq.mask + 1));
		for (uint32_t n = 0; n < 1024; n++) {
			send_one(0, n);
			REQUIRE_EQ_INT(take(), 1);
		}
		for (uint32_t n = 1024; n <= 1024 + t.cq.mask; n++)
			send_one(0, n);
		REQUIRE_EQ_INT(take(), t.cq.mask + 1);
	}
}

/* A peer can write to the beginning of the ring, where its length is, at any time. */
static void ring_is_as_long_as_it_was_made(void)
{
	struct soft_ring *ring = t.cq.ring;
	uint32_t mask = t.cq.mask;

	ring_age((1ull << 40) - 1); /* the last cell if the ring were longer */
	ring->mask = UINT32_MAX;
	for (uint32_t n = 0; n < 300; n++) {
		CHECK(!soft_cq_pending(&t.cq));
		soft_cq_expect(&t.cq);
		send_one(0, n);
		CHECK(soft_cq_pending(&t.cq));
		REQUIRE_EQ_INT(take(), 1);
	}
	datp_lock(&t.ia->lock);
	soft_cqs_reclaim(t.ia, &t.peer[3]);
	datp_unlock(&t.ia->lock);
	soft_cq_fini(&t.cq);
	datp_lock(&t.ia->lock);
	soft_cqs_reclaim(t.ia, &t.peer[3]); /* the rings that are kept for reuse as well */
	datp_unlock(&t.ia->lock);
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(t.cq.ring == ring);
	CHECK_EQ_INT(ring->mask, mask);
	send_one(0, 300);
	CHECK_EQ_INT(take(), 1);
}

/* ------------------------------------------------------------------ the dead */

static void reserve_and_stay(void *arg)
{
	uint64_t position;

	(void)arg;
	send_one(1, 0);
	REQUIRE(soft_ring_reserve(t.cq.ring, t.cq.mask, 2, &position) != NULL);
	check_signal(CHECK_PARENT);
	pause();
}

static void reclaim(uint32_t n)
{
	datp_lock(&t.ia->lock);
	soft_cqs_reclaim(t.ia, &t.peer[n]);
	datp_unlock(&t.ia->lock);
}

static void sender_killed_with_a_cell_reserved_is_passed_over(void)
{
	pid_t peer = check_fork(reserve_and_stay, NULL);

	check_await(peer);
	for (uint32_t n = 0; n < 10; n++)
		send_one(0, n);
	CHECK_EQ_INT(take(), 1);
	check_kill(peer);
	reclaim(0); /* the bell is for another peer, so nothing changes here */
	CHECK_EQ_INT(take(), 0);
	reclaim(1);
	CHECK_EQ_INT(take(), 10);
	CHECK_EQ_INT(t.next[0], 10);
}

static void reservation_in_a_ring_at_rest_does_not_block_its_next_user(void)
{
	struct soft_ring *ring = t.cq.ring;
	uint64_t position;

	send_one(0, 0);
	REQUIRE(soft_ring_reserve(ring, t.cq.mask, 2, &position) != NULL);
	send_one(0, 1);
	CHECK_EQ_INT(take(), 1);
	soft_cq_fini(&t.cq);
	reclaim(1);
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(t.cq.ring == ring);
	send_one(0, 2);
	CHECK_EQ_INT(take(), 2);
}

/* The peer has not heard of the end of its connection, and the next user of the ring has no connection with it. */
static void reservation_of_one_who_knew_the_ring_before_does_not_block_it(void)
{
	struct soft_ring *ring = t.cq.ring;
	uint64_t position;

	soft_cq_fini(&t.cq);
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(t.cq.ring == ring);
	REQUIRE(soft_ring_reserve(ring, t.cq.mask, 2, &position) != NULL);
	send_one(0, 0);
	CHECK_EQ_INT(take(), 0);
	reclaim(1);
	CHECK_EQ_INT(take(), 1);
}

/* Else the deaths of many peers, each with a queue of its own, would take time that grows with the square of their number. */
static void death_of_a_peer_is_no_matter_of_rings_that_it_was_not_told_of(void)
{
	struct soft_cq other = { 0 };
	uint64_t position;
	uint32_t bell;

	REQUIRE(soft_cq_init(&other, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(soft_ring_reserve(other.ring, other.mask, 2, &position) != NULL);
	bell = other.ring->bell;
	reclaim(1);
	CHECK(soft_cq_peek(&other) == NULL);
	CHECK_EQ_INT(other.ring->bell, bell);
	datp_lock(&t.ia->lock);
	for (int i = 0; i < 3; i++)
		REQUIRE(soft_cq_tell_locked(&other, &t.peer[1]));
	datp_unlock(&t.ia->lock);
	CHECK_EQ_INT(t.peer[1].ring_count, 2);
	reclaim(1);
	CHECK(soft_cq_peek(&other) != NULL);
	CHECK_EQ_INT(other.ring->bell, bell + 1);
	soft_cq_fini(&other);
}

/* Each cell has a reservation in the owner's name, less than a lap ahead, as the owner never writes. A sender gets no cell. */
static void reservations_that_make_no_sense_keep_no_sender(void)
{
	for (uint64_t ahead = 1; ahead <= t.cq.mask; ahead++) {
		uint64_t position, tail = t.cq.ring->tail;

		for (uint64_t at = 0; at <= t.cq.mask; at++)
			soft_ring_reservations(t.cq.ring, t.cq.mask)[(tail + at) & t.cq.mask] =
				SOFT_RESERVED(tail + at + ahead, 0);
		CHECK(soft_ring_reserve(t.cq.ring, t.cq.mask, 1, &position) == NULL);
		ring_age(tail);
	}
}

/* A peer that has not heard of the end of its connection writes to a ring that another EVD uses by then. */
static void ring_that_is_used_again_goes_on_where_it_was(void)
{
	struct soft_ring *ring = t.cq.ring;
	uint32_t n = 0;

	for (int life = 0; life < 5; life++) {
		for (uint32_t i = 0; i < 100; i++)
			send_one(0, n++);
		CHECK_EQ_INT(take(), 100);
		soft_cq_fini(&t.cq);
		REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
		REQUIRE(t.cq.ring == ring);
		CHECK_EQ_INT(take(), 0);
	}
}

/* ------------------------------------------------------------------ wake-ups */

/* Sleeps until the bell is not `seen` any more. Returns false if that takes too long. */
static bool sleep_on(struct soft_ring *ring, uint32_t seen)
{
	const struct timespec step = { 0, 100000000 };
	uint64_t until = check_now_ms() + check_patience_ms();

	while (atomic_load(&ring->bell) == seen && check_now_ms() < until)
		syscall(SYS_futex, &ring->bell, FUTEX_WAIT, seen, &step, NULL, 0);
	return atomic_load(&ring->bell) != seen;
}

/* Sends each message when the one before has been taken, so each of them may have to wake the owner. */
static void *answering_thread(void *arg)
{
	_Atomic uint32_t *taken = arg;

	for (uint32_t n = 0; n < MESSAGES; n++) {
		while (atomic_load(taken) != n)
			sched_yield();
		send_one(0, n);
	}
	return NULL;
}

static void sleep_and_wake(bool polls)
{
	_Atomic uint32_t taken = 0;
	bool awake = true;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, answering_thread, (void *)&taken) == 0);
	while (atomic_load(&taken) < MESSAGES && awake) {
		uint32_t seen = atomic_load(&t.cq.ring->bell);
		unsigned int got = take();

		if (got) {
			if ((atomic_fetch_add(&taken, got) + got) % STEP == 0)
				check_alive();
		} else if (polls && !t.cq.polled) {
			soft_cq_set_polled(&t.cq);
		} else if (!soft_cq_arm(&t.cq, SOFT_NOTIFY_WAITER)) {
			awake = sleep_on(t.cq.ring, seen);
		}
	}
	CHECK(awake);
	atomic_store(&taken, MESSAGES);
	if (awake)
		pthread_join(thread, NULL);
}

static void no_wake_up_is_lost(void)
{
	sleep_and_wake(false);
}

/* The owner declares again and again that it only polls, and sleeps all the same. */
static void no_wake_up_is_lost_after_polling(void)
{
	soft_fence_init();
	if (!soft_fence_reaches())
		check_skip("the kernel lets nobody have other processes pass a fence");
	sleep_and_wake(true);
	CHECK(t.cq.polled_after > 1000);
}

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void be_refused(void *arg)
{
	int error = check_forbid((const int[]){ SYS_membarrier, SYS_nanosleep, SYS_clock_nanosleep }, 3);
	int64_t from = clock_ns();
	bool filtered = !error;

	(void)arg;
	REQUIRE(!error || error == EINVAL);
	check_put(CHECK_PARENT, &filtered, sizeof(filtered));
	if (!filtered)
		return;
	soft_fence_everybody();
	CHECK(clock_ns() - from >= 1000000); /* without membarrier() it waits, longer than a store takes to become visible */
	CHECK(!soft_fence_reaches());
	soft_cq_set_polled(&t.cq);
	CHECK(!t.cq.polled);
}

static void where_fences_are_forbidden_later_on_time_passes_instead(void)
{
	bool filtered;
	pid_t peer;

	soft_fence_init();
	if (!soft_fence_reaches())
		check_skip("the kernel lets nobody have other processes pass a fence");
	peer = check_fork(be_refused, NULL);
	check_get(peer, &filtered, sizeof(filtered));
	check_join(peer);
	if (!filtered)
		check_skip("whoever runs this has no filters of system calls");
}

/*
 * A sender may have seen that the last owner of the ring only polls, and publish its message when the next owner sleeps. So
 * the next owner takes back that declaration before it sleeps, as the last one would have.
 */
static void ring_of_one_that_polled_is_its_next_users_to_take_back(void)
{
	struct soft_ring *ring = t.cq.ring;

	soft_fence_init();
	if (!soft_fence_reaches())
		check_skip("the kernel lets nobody have other processes pass a fence");
	soft_cq_set_polled(&t.cq);
	atomic_fetch_or(&ring->notify, SOFT_NOTIFY_WAITER);
	soft_cq_fini(&t.cq);
	memset(&t.cq, 0, sizeof(t.cq));
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(t.cq.ring == ring);
	CHECK(t.cq.polled);
	CHECK_EQ_INT(atomic_load(&ring->notify), SOFT_NOTIFY_POLLED);
	CHECK(!soft_cq_arm(&t.cq, SOFT_NOTIFY_SERVICE));
	CHECK(!t.cq.polled);
	CHECK_EQ_INT(atomic_load(&ring->notify), SOFT_NOTIFY_SERVICE);
	soft_cq_fini(&t.cq);
	memset(&t.cq, 0, sizeof(t.cq));
	REQUIRE(soft_cq_init(&t.cq, t.ia, NULL, 1) == DATP_OK);
	REQUIRE(t.cq.ring == ring);
	CHECK(!t.cq.polled);
	CHECK_EQ_INT(atomic_load(&ring->notify), 0);
}

static void *sleeping_thread(void *arg)
{
	uint32_t seen = *(uint32_t *)arg;

	return (void *)(uintptr_t)sleep_on(t.cq.ring, seen);
}

/* The peer had cleared the request to wake the owner, and died before it did so. */
static void sleeper_is_woken_when_a_peer_dies(void)
{
	uint32_t seen = atomic_load(&t.cq.ring->bell);
	pthread_t thread;
	void *woken;

	CHECK(!soft_cq_arm(&t.cq, SOFT_NOTIFY_WAITER));
	CHECK_EQ_INT(atomic_exchange(&t.cq.ring->notify, 0), SOFT_NOTIFY_WAITER);
	REQUIRE(pthread_create(&thread, NULL, sleeping_thread, &seen) == 0);
	reclaim(1);
	pthread_join(thread, &woken);
	CHECK(woken != NULL);
}

/* ------------------------------------------------------------------ the ready list */

#define PORTS 16

static struct soft_port ports[PORTS];
static _Atomic uint32_t todo[PORTS][2], marking;

static void *marking_thread(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (unsigned int n = 0; n < MESSAGES; n++) {
		uint32_t i = (uint32_t)rand_r(&seed) % PORTS, side = (uint32_t)rand_r(&seed) & 1;

		atomic_fetch_add(&todo[i][side], 1);
		soft_ring_mark_ready(t.cq.ring, &ports[i], i, (enum soft_side)side);
	}
	atomic_fetch_sub(&marking, 1);
	return NULL;
}

static uint32_t ready_taken(void)
{
	uint32_t done = 0;

	for (uint32_t entry = soft_cq_take_ready_list(&t.cq); entry;) {
		uint32_t i = (entry - 1) >> 1, side = (entry - 1) & 1;

		REQUIRE(i < PORTS);
		entry = atomic_load(&ports[i].ready_link[side].next);
		atomic_store(&ports[i].ready_link[side].queued, 0);
		done += atomic_exchange(&todo[i][side], 0);
	}
	return done;
}

static void every_port_that_is_marked_ready_is_found(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	pthread_t thread[SENDERS];
	uint32_t done = 0;

	memset(ports, 0, sizeof(ports));
	atomic_store(&marking, SENDERS);
	for (uintptr_t i = 0; i < SENDERS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, marking_thread, (void *)(i + 1)) == 0);
	while (atomic_load(&marking) && check_now_ms() < until)
		done += ready_taken();
	for (int i = 0; i < SENDERS; i++)
		pthread_join(thread[i], NULL);
	done += ready_taken();
	CHECK_EQ_INT(done, SENDERS * MESSAGES);
}

static const struct check_test tests[] = {
	CHECK_TEST(messages_of_many_threads_arrive_once_and_in_order),
	CHECK_TEST(messages_of_many_processes_arrive_once_and_in_order),
	CHECK_TEST(full_ring_refuses_until_cells_are_taken),
	CHECK_TEST(positions_go_on_beyond_every_boundary),
	CHECK_TEST(ring_is_as_long_as_it_was_made),
	CHECK_TEST(sender_killed_with_a_cell_reserved_is_passed_over),
	CHECK_TEST(reservation_in_a_ring_at_rest_does_not_block_its_next_user),
	CHECK_TEST(reservation_of_one_who_knew_the_ring_before_does_not_block_it),
	CHECK_TEST(death_of_a_peer_is_no_matter_of_rings_that_it_was_not_told_of),
	CHECK_TEST(reservations_that_make_no_sense_keep_no_sender),
	CHECK_TEST(ring_that_is_used_again_goes_on_where_it_was),
	CHECK_TEST(no_wake_up_is_lost),
	CHECK_TEST(no_wake_up_is_lost_after_polling),
	CHECK_TEST(where_fences_are_forbidden_later_on_time_passes_instead),
	CHECK_TEST(ring_of_one_that_polled_is_its_next_users_to_take_back),
	CHECK_TEST(sleeper_is_woken_when_a_peer_dies),
	CHECK_TEST(every_port_that_is_marked_ready_is_found),
	CHECK_END
};

static const struct check_suite ring = {
	.name = "ring", .setup = ring_open, .teardown = ring_close, .tests = tests
};

CHECK_SUITES(&ring);
