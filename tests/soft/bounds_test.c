/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops over words that a peer can write, in files that the model checker does not run: each has a bound. A macro takes the
 * place of the operation with which a peer can interfere, and always lets the peer win. bounds_serve.c has the other half of
 * the tests, since the two files that are included define the same names.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "providers/soft/soft.h"

#define LIMIT (100u * SOFT_TRIES) /* far beyond any bound */

static unsigned int beaten;

/* Plays a peer that has changed the word again since it was read. */
static bool peer_is_first(uint32_t *old)
{
	REQUIRE(++beaten < LIMIT);
	*old = 0;
	return false;
}

#undef atomic_compare_exchange_weak
#define atomic_compare_exchange_weak(word, old, next) ((void)(word), (void)(next), peer_is_first(old))
#include "providers/soft/mr.c"

void service_thread_leaves_a_queue_that_is_never_empty(void);

/* The bind gives up without binding, as if another bind were under way. */
static void bind_of_a_window_that_changes_all_the_time_is_given_up(void)
{
	struct soft_mr *table = calloc(2, sizeof(*table));
	struct soft_request request = { .remote = { .rmr_context = 1u << SOFT_MR_GEN_BITS | 1, .len = 8 } };

	REQUIRE(table != NULL);
	beaten = 0;
	CHECK_EQ_INT(SOFT_MR_INDEX(request.remote.rmr_context), 1);
	soft_mr_bind(table, &request, 0, 0);
	CHECK(beaten > 0);
	CHECK_EQ_INT(atomic_load(&table[1].context), 0);
	CHECK_EQ_INT(table[1].len, 0);
	free(table);
}

static const struct check_test tests[] = {
	CHECK_TEST(bind_of_a_window_that_changes_all_the_time_is_given_up),
	CHECK_TEST(service_thread_leaves_a_queue_that_is_never_empty),
	CHECK_END
};

static const struct check_suite bounds = { .name = "bounds", .tests = tests };

CHECK_SUITES(&bounds);
