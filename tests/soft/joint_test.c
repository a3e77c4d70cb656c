/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy in pieces, step by step: who takes what, and who has the engine afterwards. The steps of both sides in every
 * order are the model checker's; whole messages are long_test.c's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/joint.h"

#define GEN   7u
#define SEQ   3u
#define LEN   ((uint64_t)SOFT_JOINT_PIECE_MIN * 4)
#define PIECE SOFT_JOINT_PIECE_MIN

static struct {
	struct soft_port *port; /* of the initiator, which holds its engine */
	struct soft_peer peer;
	unsigned char *from, *to;
} t;

static void joint_begin(void)
{
	memset(&t, 0, sizeof(t));
	t.port = aligned_alloc(SOFT_LINE, sizeof(*t.port));
	t.from = malloc(LEN);
	t.to = calloc(1, LEN);
	REQUIRE(t.port && t.from && t.to);
	memset(t.port, 0, sizeof(*t.port));
	memset(t.from, 5, LEN);
	t.peer.self = true;
	t.peer.pid = getpid();
	atomic_store(&t.port->engine, (uint64_t)GEN << 32 | SOFT_ENGINE_HELD);
}

static void joint_finish(void)
{
	free(t.port);
	free(t.from);
	free(t.to);
}

static int copy(const void *from, void *to, unsigned int limit)
{
	struct soft_list local, remote;

	soft_list_one(&local, (uintptr_t)from, LEN);
	soft_list_one(&remote, (uintptr_t)to, LEN);
	return soft_joint_copy(t.port, SEQ, LEN, &t.peer, true, &local, &remote, limit);
}

/* How many pieces have been copied; all of a piece or nothing, and the first ones first. */
static int copied(void)
{
	int n = 0;

	while (n < 4 && t.to[(size_t)n * PIECE])
		n++;
	CHECK(memcmp(t.from, t.to, (size_t)n * PIECE) == 0);
	for (size_t i = (size_t)n * PIECE; i < LEN; i++)
		REQUIRE(t.to[i] == 0);
	return n;
}

static uint64_t engine(void)
{
	return atomic_load(&t.port->engine);
}

static void holder_copies_all_when_nobody_comes(void)
{
	soft_joint_open(t.port, SEQ, LEN);
	CHECK(soft_joint_wanted(t.port));
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK(!soft_joint_wanted(t.port));
	CHECK_EQ_INT(copied(), 4);
	CHECK_EQ_INT(soft_joint_settle(t.port, 0), SOFT_JOINT_DONE);
	CHECK(!soft_joint_failed(t.port));
	CHECK(engine() == ((uint64_t)GEN << 32 | SOFT_ENGINE_HELD));
}

static void each_piece_is_copied_by_one_side(void)
{
	soft_joint_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(copy(t.from, t.to, 1), 0);
	CHECK_EQ_INT(copied(), 1);
	REQUIRE(soft_joint_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(t.from, t.to, 2), 0);
	CHECK_EQ_INT(copied(), 3);
	CHECK(!soft_joint_leave(t.port, GEN, false));
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(copied(), 4);
	CHECK_EQ_INT(soft_joint_settle(t.port, 0), SOFT_JOINT_DONE);
}

/* It may be stopped there, or dead. */
static void engine_is_left_to_a_helper_at_its_piece(void)
{
	soft_joint_open(t.port, SEQ, LEN);
	REQUIRE(soft_joint_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(soft_joint_settle(t.port, 0), SOFT_JOINT_LEFT);
	CHECK(engine() == ((uint64_t)GEN << 32 | SOFT_ENGINE_HELD | SOFT_ENGINE_TARGET));
	CHECK(soft_joint_leave(t.port, GEN, false));
	CHECK(engine() == ((uint64_t)GEN << 32 | SOFT_ENGINE_HELD | SOFT_ENGINE_TARGET));
}

static void engine_is_left_to_the_initiator_as_well(void)
{
	atomic_fetch_or(&t.port->engine, SOFT_ENGINE_TARGET);
	soft_joint_open(t.port, SEQ, LEN);
	CHECK(!soft_joint_enter(t.port, GEN, false));
	REQUIRE(soft_joint_enter(t.port, GEN, true));
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(soft_joint_settle(t.port, 0), SOFT_JOINT_LEFT);
	CHECK(soft_joint_leave(t.port, GEN, true));
	CHECK(engine() == ((uint64_t)GEN << 32 | SOFT_ENGINE_HELD));
}

static void nobody_is_let_in_who_is_not_wanted(void)
{
	CHECK(!soft_joint_enter(t.port, GEN, false));
	soft_joint_open(t.port, SEQ, LEN);
	CHECK(!soft_joint_enter(t.port, GEN, true));
	CHECK(!soft_joint_enter(t.port, GEN + 1, false));
	atomic_store(&t.port->engine, (uint64_t)GEN << 32);
	CHECK(!soft_joint_enter(t.port, GEN, false));
	CHECK(engine() == (uint64_t)GEN << 32);
}

static void pieces_of_another_request_are_not_taken(void)
{
	soft_joint_open(t.port, SEQ + 1, LEN);
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(copied(), 0);
	CHECK(soft_joint_wanted(t.port));
}

/* The engine of its holder, who died, has been taken for the next connection meanwhile. */
static void helper_of_an_earlier_connection_leaves_nothing(void)
{
	uint64_t next = (uint64_t)(GEN + 1) << 32 | SOFT_ENGINE_HELD | SOFT_ENGINE_TARGET;

	soft_joint_open(t.port, SEQ, LEN);
	REQUIRE(soft_joint_enter(t.port, GEN, false));
	atomic_store(&t.port->engine, next);
	CHECK(!soft_joint_leave(t.port, GEN, false));
	CHECK(engine() == next);
}

static void piece_that_fails_fails_the_copy(void)
{
	if (!soft_xfer_allowed())
		check_skip("the kernel does not copy between processes here");
	t.peer.self = false;
	t.peer.cma = true;
	soft_joint_open(t.port, SEQ, LEN);
	REQUIRE(soft_joint_enter(t.port, GEN, false));
	CHECK_EQ_INT(copy(t.from, (void *)8, 100), EFAULT);
	CHECK(!soft_joint_leave(t.port, GEN, false));
	t.peer.self = true;
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(soft_joint_settle(t.port, 0), SOFT_JOINT_DONE);
	CHECK(soft_joint_failed(t.port));
	soft_joint_open(t.port, SEQ + 1, LEN);
	CHECK(!soft_joint_failed(t.port));
}

static void nobody_goes_on_after_the_holder_has_failed(void)
{
	soft_joint_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(soft_joint_settle(t.port, EFAULT), SOFT_JOINT_DONE);
	CHECK(!soft_joint_wanted(t.port));
	soft_joint_open(t.port, SEQ, LEN);
	CHECK_EQ_INT(soft_joint_settle(t.port, ESRCH), SOFT_JOINT_LOST);
	CHECK_EQ_INT(copy(t.from, t.to, 100), 0);
	CHECK_EQ_INT(copied(), 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(holder_copies_all_when_nobody_comes),
	CHECK_TEST(each_piece_is_copied_by_one_side),
	CHECK_TEST(engine_is_left_to_a_helper_at_its_piece),
	CHECK_TEST(engine_is_left_to_the_initiator_as_well),
	CHECK_TEST(nobody_is_let_in_who_is_not_wanted),
	CHECK_TEST(pieces_of_another_request_are_not_taken),
	CHECK_TEST(helper_of_an_earlier_connection_leaves_nothing),
	CHECK_TEST(piece_that_fails_fails_the_copy),
	CHECK_TEST(nobody_goes_on_after_the_holder_has_failed),
	CHECK_END
};

static const struct check_suite joint = {
	.name = "joint copy", .setup = joint_begin, .teardown = joint_finish, .tests = tests
};

CHECK_SUITES(&joint);
