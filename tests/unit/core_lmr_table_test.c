/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of LMRs: what is found and what is not, also while other threads add and remove LMRs of the same bucket; the
 * contexts that it gives; the checks of segments; and plugins that say something wrong about it.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/base/lmr_table.h"
#include "providers/common/core/core.h"

#define STAY   100 /* longer than a search goes without the lock */
#define COME   60
#define ROUNDS 300

static struct datp_lmr_table table;
static struct datp_known_lmr lmrs[STAY + COME];
static struct datp_pz zones[2];

static void setup(void)
{
	memset(lmrs, 0, sizeof(lmrs));
	memset(&table, 0, sizeof(table));
	REQUIRE(lmr_table_init(&table));
}

static void teardown(void)
{
	lmr_table_fini(&table);
}

static void lmr_is_found_while_it_is_in_the_table(void)
{
	lmrs[0].base.lmr_context = 77; /* chosen by the device */
	CHECK(!datp_lmr_get(&table, 77));
	datp_lmr_add(&table, &lmrs[0]);
	CHECK(datp_lmr_get(&table, 77) == &lmrs[0]);
	CHECK(!datp_lmr_get(&table, 78));
	CHECK(!datp_lmr_get(&table, 0));
	CHECK_EQ_INT(lmrs[0].base.rmr_context, 0); /* the table sets it only with lmr_context */
	datp_lmr_remove(&table, &lmrs[0]);
	CHECK(!datp_lmr_get(&table, 77));
	CHECK_EQ_INT(lmrs[0].base.lmr_context, 77);
}

/* The same memory with the same context is another registration, because it has another generation. */
static void registrations_are_told_apart(void)
{
	uint64_t first;

	lmrs[0].base.lmr_context = 5;
	lmrs[0].base.obj.gen = 1;
	datp_lmr_add(&table, &lmrs[0]);
	first = lmrs[0].registration;
	CHECK_EQ_INT((uint32_t)first, 5);
	datp_lmr_remove(&table, &lmrs[0]);
	CHECK(lmrs[0].registration == 0);
	lmrs[0].base.obj.gen = 2;
	datp_lmr_add(&table, &lmrs[0]);
	CHECK(lmrs[0].registration != first);
	CHECK_EQ_INT((uint32_t)lmrs[0].registration, 5);
}

static void table_gives_contexts_that_nobody_has_had(void)
{
	uint32_t before = 0;

	lmrs[1].base.lmr_context = 3; /* one of the device's own among them */
	datp_lmr_add(&table, &lmrs[1]);
	for (int i = 0; i < 5; i++) {
		lmrs[0].base.lmr_context = 0;
		datp_lmr_add(&table, &lmrs[0]);
		CHECK(lmrs[0].base.lmr_context > before && lmrs[0].base.lmr_context != 3);
		CHECK_EQ_INT(lmrs[0].base.lmr_context, lmrs[0].base.rmr_context);
		before = lmrs[0].base.lmr_context;
		datp_lmr_remove(&table, &lmrs[0]);
	}
	/* a context is positive as a signed number, because programs keep it in one, and 0 is never a context */
	table.last = INT32_MAX - 1;
	for (uint32_t i = 2; i < 5; i++)
		datp_lmr_add(&table, &lmrs[i]);
	CHECK_EQ_INT(lmrs[2].base.lmr_context, INT32_MAX);
	CHECK_EQ_INT(lmrs[3].base.lmr_context, 1);
	CHECK_EQ_INT(lmrs[4].base.lmr_context, 2);
}

/* ------------------------------------------------------------------ threads */

static _Atomic bool over;
static _Atomic int lost, wrong;

/* These are all in one bucket, which is longer than a search without the lock goes. */
static uint32_t same_bucket(int i)
{
	return (uint32_t)i << 24 | 0x10000;
}

static void *comes_and_goes(void *arg)
{
	int half = (int)(intptr_t)arg;

	while (!over)
		for (int i = STAY + half; i < STAY + COME; i += 2) {
			datp_lmr_add(&table, &lmrs[i]);
			datp_lmr_remove(&table, &lmrs[i]);
			/* now and then in another bucket, to which a search on its way is led */
			lmrs[i].base.obj.gen++;
			lmrs[i].base.lmr_context = lmrs[i].base.obj.gen % 3 ? same_bucket(i) : (uint32_t)i;
		}
	return NULL;
}

static void those_that_stay_are_always_found(void)
{
	pthread_t threads[2];

	over = false;
	lost = wrong = 0;
	for (int i = 0; i < STAY + COME; i++)
		lmrs[i].base.lmr_context = same_bucket(i);
	for (int i = 1; i < STAY; i++)
		datp_lmr_add(&table, &lmrs[i]);
	for (int i = 0; i < 2; i++)
		REQUIRE(pthread_create(&threads[i], NULL, comes_and_goes, (void *)(intptr_t)i) == 0);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 1; i < STAY + COME; i++) {
			const struct datp_known_lmr *found = datp_lmr_get(&table, same_bucket(i));

			lost += i < STAY && !found;
			wrong += found && found != &lmrs[i];
			wrong += datp_lmr_get(&table, same_bucket(STAY + COME)) != NULL;
		}
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ_INT(lost, 0);
	CHECK_EQ_INT(wrong, 0);
	for (int i = STAY; i < STAY + COME; i++)
		CHECK(!datp_lmr_get(&table, same_bucket(i)));
}

/* A context in the bucket of 0, which no LMR has as its context. */
#define BESIDE_0 0x01000000u

static void *comes_and_goes_beside_0(void *arg)
{
	(void)arg;
	lmrs[1].base.lmr_context = BESIDE_0;
	while (!over) {
		datp_lmr_add(&table, &lmrs[1]);
		datp_lmr_remove(&table, &lmrs[1]);
	}
	return NULL;
}

/* An LMR that is being removed has no context any more, and it is not the LMR of context 0. */
static void nothing_has_the_context_0(void)
{
	pthread_t thread;

	CHECK(datp_lmr_bucket(&table, BESIDE_0) == datp_lmr_bucket(&table, 0));
	over = false;
	wrong = 0;
	REQUIRE(pthread_create(&thread, NULL, comes_and_goes_beside_0, NULL) == 0);
	for (int i = 0; i < 1000000; i++)
		wrong += datp_lmr_get(&table, 0) != NULL;
	over = true;
	pthread_join(thread, NULL);
	CHECK_EQ_INT(wrong, 0);
}

/* ------------------------------------------------------------------ checks */

static void region(uint64_t addr, uint64_t len, unsigned int priv)
{
	lmrs[0].base.addr = addr;
	lmrs[0].base.len = len;
	lmrs[0].base.priv = (DAT_MEM_PRIV_FLAGS)priv;
	lmrs[0].base.pz = &zones[0];
	datp_lmr_add(&table, &lmrs[0]);
}

static enum datp_err checked(uint64_t addr, uint64_t len, bool sink)
{
	struct datp_sge iov[2] = { { .lmr_context = 9999, .len = 0 },
				   { .lmr_context = lmrs[0].base.lmr_context, .addr = addr, .len = len } };

	return datp_lmr_check_list(&table, &zones[0], iov, 2, sink);
}

static void local_segments_are_checked(void)
{
	struct datp_sge one = { .lmr_context = 1, .addr = 1000, .len = 1 };

	region(1000, 100, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	CHECK_EQ_INT(checked(1000, 100, false), DATP_OK);
	CHECK_EQ_INT(checked(1001, 100, false), DATP_ERR_BAD_SEGMENTS);
	CHECK_EQ_INT(checked(999, 1, false), DATP_ERR_BAD_SEGMENTS);
	CHECK_EQ_INT(checked(1000, UINT64_MAX, false), DATP_ERR_BAD_SEGMENTS);
	CHECK_EQ_INT(checked(1000, 1, true), DATP_ERR_PRIV_WRITE);
	CHECK_EQ_INT(datp_lmr_check_list(&table, &zones[1], &one, 1, false), DATP_ERR_PROTECTION);
	datp_lmr_remove(&table, &lmrs[0]);
	CHECK_EQ_INT(checked(1000, 1, false), DATP_ERR_PRIV_READ);
	CHECK_EQ_INT(checked(1000, 1, true), DATP_ERR_PRIV_WRITE);
	CHECK_EQ_INT(checked(1000, 0, true), DATP_OK);
}

static bool remote(const struct datp_pz *pz, uint64_t addr, uint64_t len, unsigned int need)
{
	struct datp_rge to = { .rmr_context = lmrs[0].base.rmr_context, .addr = addr, .len = len };

	return datp_lmr_check_remote(&table, pz, &to, len, need);
}

static void remote_ranges_are_checked(void)
{
	unsigned int write = DAT_MEM_PRIV_REMOTE_WRITE_FLAG, both = write | DAT_MEM_PRIV_REMOTE_READ_FLAG;

	region(1000, 100, write);
	CHECK(remote(&zones[0], 1000, 100, write));
	CHECK(!remote(&zones[0], 1000, 101, write));
	CHECK(!remote(&zones[0], 999, 1, write));
	CHECK(!remote(&zones[0], 1000, 1, both));
	CHECK(!remote(&zones[1], 1000, 1, write));
	CHECK(remote(&zones[1], 0, 0, both)); /* nothing is accessed */
	datp_lmr_remove(&table, &lmrs[0]);
	CHECK(!remote(&zones[0], 1000, 1, write));
}

/* ------------------------------------------------------------------ plugins */

struct ia_with_table {
	struct datp_ia base;
	struct datp_lmr_table lmrs;
};

static bool accepted(const struct datp_ops *ops, struct datp_ops *total)
{
	struct datp_plugin plugin = null_plugin;

	plugin.ops = ops;
	plugin.ops_size = sizeof(*ops);
	return plugin_negotiate(&plugin, total);
}

static void plugin_with_a_table_needs_no_lmr_find(void)
{
	struct datp_ops ops = null_ops, total;
	struct ia_with_table ia;

	ops.lmr_find = NULL;
	CHECK(!accepted(&ops, &total));
	CHECK_HAS_STR(datp_plugin_why(), "DUTY-04");
	ops.ia_size = sizeof(struct ia_with_table);
	ops.lmr_table = offsetof(struct ia_with_table, lmrs);
	ops.lmr_size = 0;
	REQUIRE(accepted(&ops, &total));
	CHECK_EQ_INT(total.lmr_size, sizeof(struct datp_known_lmr));
	memset(&ia, 0, sizeof(ia));
	ia.base.ops = &total;
	ia.lmrs = table;
	datp_lmr_add(&table, &lmrs[0]);
	REQUIRE(total.lmr_find != NULL);
	CHECK(total.lmr_find(&ia.base, lmrs[0].base.lmr_context) == &lmrs[0].base);
	CHECK(total.lmr_find(&ia.base, lmrs[0].base.lmr_context + 1) == NULL);
}

static void table_that_does_not_fit_is_refused(void)
{
	struct datp_ops good = null_ops, ops, total;

	good.ia_size = sizeof(struct ia_with_table);
	good.lmr_table = offsetof(struct ia_with_table, lmrs);
	good.lmr_size = sizeof(struct datp_known_lmr);
	CHECK(accepted(&good, &total));
	ops = good;
	ops.lmr_table = 8; /* within the head */
	CHECK(!accepted(&ops, &total));
	CHECK_HAS_STR(datp_plugin_why(), "DUTY-06");
	ops = good;
	ops.lmr_table += 8;
	CHECK(!accepted(&ops, &total));
	ops = good;
	ops.ia_size = 0;
	CHECK(!accepted(&ops, &total));
	ops = good;
	ops.lmr_size = sizeof(struct datp_lmr);
	CHECK(!accepted(&ops, &total));
	CHECK_HAS_STR(datp_plugin_why(), "datp_known_lmr");
}

static const struct check_test tests[] = {
	CHECK_TEST(lmr_is_found_while_it_is_in_the_table),
	CHECK_TEST(registrations_are_told_apart),
	CHECK_TEST(table_gives_contexts_that_nobody_has_had),
	CHECK_TEST(those_that_stay_are_always_found),
	CHECK_TEST(nothing_has_the_context_0),
	CHECK_TEST(local_segments_are_checked),
	CHECK_TEST(remote_ranges_are_checked),
	CHECK_TEST(plugin_with_a_table_needs_no_lmr_find),
	CHECK_TEST(table_that_does_not_fit_is_refused),
	CHECK_END
};

static const struct check_suite suite = { .name = "libdatp table of LMRs", .setup = setup, .teardown = teardown, .tests = tests };

CHECK_SUITES(&suite);
