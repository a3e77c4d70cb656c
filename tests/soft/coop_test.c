/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy in pieces, step by step: which side takes which piece, and which one holds the execution lock afterwards. The model
 * checker runs the steps of both sides in every order; long_test.c moves whole messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/coop.h"

#define GEN   7u
#define SEQ   3u
#define LEN   ((uint64_t)SOFT_COOP_QUARTERS)
#define PIECE (LEN / 4)
#define ALL   0xfu /* of copied() */

static struct {
	struct soft_port *port; /* of the initiator, which holds its execution lock */
	struct soft_peer peer;
	unsigned char *from, *to;
} t;

static void coop_begin(void)
{
	memset(&t, 0, sizeof(t));
	t.port = aligned_alloc(SOFT_LINE, sizeof(*t.port));
	t.from = malloc(LEN);
	t.to = calloc(1, LEN);
	REQUIRE(t.port && t.from && t.to);
	memset(t.port, 0, sizeof(*t.port));
	memset(t.from, 5, LEN);
	t.peer.self = true;
	t.peer.process.pid = getpid();
	atomic_store(&t.port->exec_lock, (uint64_t)GEN << 32 | SOFT_EXEC_HELD);
}

static void coop_finish(void)
{
	free(t.port);
	free(t.from);
	free(t.to);
}

static int copy(bool initiator, const void *from, unsigned int limit)
{
	struct soft_list ilist, tlist;

	soft_list_one(&ilist, (uintptr_t)from, LEN);
	soft_list_one(&tlist, (uintptr_t)t.to, LEN);
	return soft_coop_copy(t.port, SEQ, LEN, &t.peer, initiator, initiator ? &ilist : &tlist,
			      initiator ? &tlist : &ilist, limit);
}

/* Returns a bit for each piece that has been copied. Checks that each has been copied as a whole or not at all. */
static unsigned int copied(void)
{
	unsigned int set = 0;

	for (unsigned int piece = 0; piece < 4; piece++) {
		const unsigned char *to = t.to + piece * PIECE;
		unsigned char want = *to ? 5 : 0;

		set |= (unsigned int)(want != 0) << piece;
		for (size_t i = 0; i < PIECE; i++)
			REQUIRE(to[i] == want);
	}
	return set;
}

static uint64_t exec_lock(void)
{
	return atomic_load(&t.port->exec_lock);
}

static void holder_copies_all_when_nobody_comes(void)
{
	soft_coop_open(t.port, SEQ, LEN);
	CHECK(soft_coop_wanted(t.port));
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK(!soft_coop_wanted(t.port));
	CHECK_EQ_INT(copied(), ALL);
	CHECK_EQ_INT(soft_coop_settle(t.port, 0), SOFT_COOP_DONE);
	CHECK(!soft_coop_failed(t.port));
	CHECK(exec_lock() == ((uint64_t)GEN << 32 | SOFT_EXEC_HELD));
}

/* The initiator takes pieces from the front, the target from the back. */
static void each_piece_is_copied_by_one_side(void)
{
	soft_coop_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(copy(true, t.from, 1), 0);
	CHECK_EQ_INT(copied(), 0x1);
	REQUIRE(soft_coop_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(false, t.from, 2), 0);
	CHECK_EQ_INT(copied(), 0xd);
	CHECK(!soft_coop_leave(t.port, GEN, false));
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK_EQ_INT(copied(), ALL);
	CHECK_EQ_INT(soft_coop_settle(t.port, 0), SOFT_COOP_DONE);
}

/* A message of any length is copied whole if both sides copy pieces of it. */
static void lengths_are_cut_without_rest(void)
{
	static const uint64_t lengths[] = { SOFT_COOP_MIN, SOFT_COOP_MIN + 1, SOFT_COOP_QUARTERS - 1,
					    SOFT_COOP_QUARTERS + 1, 4 * (uint64_t)SOFT_COOP_PIECE_MAX + 1 };
	uint64_t most = lengths[sizeof(lengths) / sizeof(*lengths) - 1];
	unsigned char *from = malloc(most), *to = malloc(most);

	REQUIRE(from && to);
	for (uint64_t i = 0; i < most; i++)
		from[i] = (unsigned char)(i * 31 + (i >> 8));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct soft_list ilist, tlist;
		uint64_t len = lengths[i];

		memset(to, 0, most);
		soft_list_one(&ilist, (uintptr_t)from, len);
		soft_list_one(&tlist, (uintptr_t)to, len);
		soft_coop_open(t.port, SEQ, len);
		CHECK_EQ_INT(soft_coop_copy(t.port, SEQ, len, &t.peer, false, &tlist, &ilist, 1), 0);
		CHECK(soft_coop_wanted(t.port));
		CHECK_EQ_INT(soft_coop_copy(t.port, SEQ, len, &t.peer, true, &ilist, &tlist, 100), 0);
		CHECK(!soft_coop_wanted(t.port));
		CHECK(memcmp(from, to, len) == 0);
	}
	free(from);
	free(to);
}

/* Pieces are counted in 16 bits. */
static void greatest_message_has_few_enough_pieces(void)
{
	uint64_t len = 1ull << 40;
	struct soft_list none = { .n = 0 };

	soft_coop_open(t.port, SEQ, len);
	CHECK(soft_coop_wanted(t.port));
	for (int i = 0; i < 65535; i++)
		(void)soft_coop_copy(t.port, SEQ, len, &t.peer, i % 2, &none, &none, 1);
	CHECK(!soft_coop_wanted(t.port));
}

/* The helper may be stopped at its piece, or dead. */
static void exec_lock_is_left_to_a_helper_at_its_piece(void)
{
	soft_coop_open(t.port, SEQ, LEN);
	REQUIRE(soft_coop_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(false, t.from, 100), 0);
	CHECK_EQ_INT(soft_coop_settle(t.port, 0), SOFT_COOP_LEFT);
	CHECK(exec_lock() == ((uint64_t)GEN << 32 | SOFT_EXEC_HELD | SOFT_EXEC_TARGET));
	CHECK(soft_coop_leave(t.port, GEN, false));
	CHECK(exec_lock() == ((uint64_t)GEN << 32 | SOFT_EXEC_HELD | SOFT_EXEC_TARGET));
}

static void exec_lock_is_left_to_the_initiator_as_well(void)
{
	atomic_fetch_or(&t.port->exec_lock, SOFT_EXEC_TARGET);
	soft_coop_open(t.port, SEQ, LEN);
	CHECK(!soft_coop_enter(t.port, GEN, false));
	REQUIRE(soft_coop_enter(t.port, GEN, true));
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK_EQ_INT(soft_coop_settle(t.port, 0), SOFT_COOP_LEFT);
	CHECK(soft_coop_leave(t.port, GEN, true));
	CHECK(exec_lock() == ((uint64_t)GEN << 32 | SOFT_EXEC_HELD));
}

static void an_unwanted_helper_is_not_let_in(void)
{
	CHECK(!soft_coop_enter(t.port, GEN, false));
	soft_coop_open(t.port, SEQ, LEN);
	CHECK(!soft_coop_enter(t.port, GEN, true));
	CHECK(!soft_coop_enter(t.port, GEN + 1, false));
	atomic_store(&t.port->exec_lock, (uint64_t)GEN << 32);
	CHECK(!soft_coop_enter(t.port, GEN, false));
	CHECK(exec_lock() == (uint64_t)GEN << 32);
}

static void pieces_of_another_request_are_not_taken(void)
{
	soft_coop_open(t.port, SEQ + 1, LEN);
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK_EQ_INT(copied(), 0);
	CHECK(soft_coop_wanted(t.port));
}

/* The holder has died, and its execution lock is used for the next connection now. */
static void helper_of_an_earlier_connection_leaves_nothing(void)
{
	uint64_t next = (uint64_t)(GEN + 1) << 32 | SOFT_EXEC_HELD | SOFT_EXEC_TARGET;

	soft_coop_open(t.port, SEQ, LEN);
	REQUIRE(soft_coop_enter(t.port, GEN, false));
	atomic_store(&t.port->exec_lock, next);
	CHECK(!soft_coop_leave(t.port, GEN, false));
	CHECK(exec_lock() == next);
}

static void piece_that_fails_fails_the_copy(void)
{
	if (!soft_xfer_allowed())
		check_skip("the kernel does not copy between processes here");
	t.peer.self = false;
	t.peer.cma = true;
	soft_coop_open(t.port, SEQ, LEN);
	REQUIRE(soft_coop_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(false, (const void *)8, 100), EFAULT);
	CHECK(!soft_coop_leave(t.port, GEN, false));
	t.peer.self = true;
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK_EQ_INT(soft_coop_settle(t.port, 0), SOFT_COOP_DONE);
	CHECK(soft_coop_failed(t.port));
	soft_coop_open(t.port, SEQ + 1, LEN);
	CHECK(!soft_coop_failed(t.port));
}

static void nobody_goes_on_after_the_holder_has_failed(void)
{
	soft_coop_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(soft_coop_settle(t.port, EFAULT), SOFT_COOP_DONE);
	CHECK(!soft_coop_wanted(t.port));
	soft_coop_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(soft_coop_settle(t.port, ESRCH), SOFT_COOP_LOST);
	CHECK_EQ_INT(copy(true, t.from, 100), 0);
	CHECK_EQ_INT(copied(), 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(holder_copies_all_when_nobody_comes),
	CHECK_TEST(each_piece_is_copied_by_one_side),
	CHECK_TEST(lengths_are_cut_without_rest),
	CHECK_TEST(greatest_message_has_few_enough_pieces),
	CHECK_TEST(exec_lock_is_left_to_a_helper_at_its_piece),
	CHECK_TEST(exec_lock_is_left_to_the_initiator_as_well),
	CHECK_TEST(an_unwanted_helper_is_not_let_in),
	CHECK_TEST(pieces_of_another_request_are_not_taken),
	CHECK_TEST(helper_of_an_earlier_connection_leaves_nothing),
	CHECK_TEST(piece_that_fails_fails_the_copy),
	CHECK_TEST(nobody_goes_on_after_the_holder_has_failed),
	CHECK_END
};

static const struct check_suite coop = {
	.name = "cooperative copy", .setup = coop_begin, .teardown = coop_finish, .tests = tests
};

CHECK_SUITES(&coop);
