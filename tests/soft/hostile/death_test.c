/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the death of a peer does to the rings of its victim. Cells that it had reserved are voided, also in a ring that it knew by
 * an earlier connection, whoever has that ring now. The rings of others are left alone: many may die together.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"
#include "providers/soft/cq.h"
#include "victim.h"

enum { OTHERS = 3, SOCKETS = 8 };

/* What has become of the EVD of the earlier connection when the peer reserves a cell there. */
enum life { KEPT, FREED, USED_AGAIN };

static pid_t peer;

/* ------------------------------------------------------------------ the peer */

/* Has two connections, one after the other, reserves a cell of the first one's ring then, and says which. */
static void reserve_in_the_earlier_ring(void *arg)
{
	uint64_t where = victim_is_at(), position;
	struct hostile first, h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	first = h;
	h.fd = h.their_fd = -1; /* they stay open */
	h.their_at = NULL;
	check_await(CHECK_PARENT);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	position = hostile_reserve(&first);
	check_put(CHECK_PARENT, &position, sizeof(position));
	pause();
}

static void connect_and_stay(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	pause();
}

/* Says of each of its sockets that it is the one which stays. */
static void connect_over_many_and_stay(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < SOCKETS; i++) {
		h.fd = -1; /* it stays open */
		hostile_connect(&h, where);
	}
	pause();
}

/* ------------------------------------------------------------------ the victim */

static struct soft_ring *ring_of(DAT_EVD_HANDLE evd)
{
	return soft_evd((struct datp_evd *)evd)->cq.ring;
}

/* Connects an endpoint that has an EVD of its own for its receives. */
static DAT_EP_HANDLE accept_with(DAT_EVD_HANDLE recv)
{
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, recv, victim.end.request, victim.end.connect, NULL, &ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), ep, 0, NULL), DAT_SUCCESS);
	API_CONN(victim.end.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	return ep;
}

static void end_first_connection(DAT_EP_HANDLE ep, DAT_EVD_HANDLE recv, enum life life)
{
	struct soft_ring *ring = ring_of(recv);

	REQUIRE_DAT(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN_OVER(victim.end.connect, ep);
	REQUIRE_DAT(dat_ep_free(ep), DAT_SUCCESS);
	if (life != KEPT)
		REQUIRE_DAT(dat_evd_free(recv), DAT_SUCCESS);
	if (life == USED_AGAIN)
		REQUIRE(ring_of(api_evd(100, DAT_EVD_DTO_FLAG)) == ring);
}

static void cell_in_the_earlier_ring_is_voided(enum life life)
{
	DAT_EVD_HANDLE first, second;
	struct soft_ring *ring;
	struct soft_cell *cell;
	uint64_t position;
	DAT_EP_HANDLE ep;

	peer = check_fork(reserve_in_the_earlier_ring, NULL);
	victim_opens();
	first = api_evd(100, DAT_EVD_DTO_FLAG);
	second = api_evd(100, DAT_EVD_DTO_FLAG);
	ring = ring_of(first);
	victim_tells(peer);
	ep = accept_with(first);
	check_signal(peer);
	(void)accept_with(second);
	end_first_connection(ep, first, life);
	check_signal(peer);
	check_get(peer, &position, sizeof(position));
	cell = &ring->cell[position & ring->mask];
	CHECK(atomic_load(&cell->ready) != position + 1);
	check_kill(peer);
	/* acquire, by atomic_load(): the kind is that which was published */
	CHECK_SOON(atomic_load(&cell->ready) == position + 1);
	CHECK_EQ_INT(cell->kind, SOFT_CELL_VOID);
	victim_serves_others();
}

static void cell_that_was_reserved_after_the_connection_is_voided(void)
{
	cell_in_the_earlier_ring_is_voided(KEPT);
}

static void cell_of_a_ring_that_rests_is_voided(void)
{
	cell_in_the_earlier_ring_is_voided(FREED);
}

static void cell_of_a_ring_that_is_used_again_is_voided(void)
{
	cell_in_the_earlier_ring_is_voided(USED_AGAIN);
}

/* A bell is rung for each ring that is looked at. Nobody else rings it, because nobody waits. */
static void death_is_no_matter_of_rings_of_others(void)
{
	struct soft_ring *ring, *others[OTHERS];
	uint32_t bell, bells[OTHERS];
	DAT_EVD_HANDLE recv;
	DAT_EP_HANDLE ep;

	peer = check_fork(connect_and_stay, NULL);
	victim_opens();
	recv = api_evd(100, DAT_EVD_DTO_FLAG);
	ring = ring_of(recv);
	bell = atomic_load(&ring->bell);
	for (int i = 0; i < OTHERS; i++) {
		others[i] = ring_of(api_evd(100, DAT_EVD_DTO_FLAG));
		bells[i] = atomic_load(&others[i]->bell);
	}
	victim_tells(peer);
	ep = accept_with(recv);
	check_kill(peer);
	API_CONN(victim.end.connect, ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK(atomic_load(&ring->bell) != bell);
	for (int i = 0; i < OTHERS; i++)
		CHECK_EQ_INT(atomic_load(&others[i]->bell), bells[i]);
}

/* The bell of a ring is rung each time that it is looked at. */
static void rings_are_looked_at_once_for_a_peer(void)
{
	struct soft_ring *ring;
	DAT_EVD_HANDLE recv;
	uint32_t bell;

	peer = check_fork(connect_over_many_and_stay, NULL);
	victim_opens();
	recv = api_evd(100, DAT_EVD_DTO_FLAG);
	ring = ring_of(recv);
	victim_tells(peer);
	for (int i = 0; i < SOCKETS; i++)
		(void)accept_with(recv);
	bell = atomic_load(&ring->bell);
	check_kill(peer);
	for (int i = 0; i < SOCKETS; i++)
		API_CONN(victim.end.connect, DAT_HANDLE_NULL, DAT_CONNECTION_EVENT_BROKEN);
	victim_serves_others(); /* the service thread has read the other hang-ups then */
	CHECK_EQ_INT(atomic_load(&ring->bell) - bell, 1);
}

static const struct check_test tests[] = { CHECK_TEST(cell_that_was_reserved_after_the_connection_is_voided),
					   CHECK_TEST(cell_of_a_ring_that_rests_is_voided),
					   CHECK_TEST(cell_of_a_ring_that_is_used_again_is_voided),
					   CHECK_TEST(death_is_no_matter_of_rings_of_others),
					   CHECK_TEST(rings_are_looked_at_once_for_a_peer),
					   CHECK_END };

static const struct check_suite suite = { .name = "death of a peer", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
