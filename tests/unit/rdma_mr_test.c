/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which key of the device a region gets. The functions of libibverbs that the provider calls are the test's own, so no device is
 * needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "providers/rdma/rdma_mr.h"

static const DAT_MEM_PRIV_FLAGS REMOTE = DAT_MEM_PRIV_ALL_FLAG, LOCAL = DAT_MEM_PRIV_LOCAL_READ_FLAG;

static struct rdma_ia ia;
static struct rdma_pz pz;
static struct rdma_lmr lmr;
static char memory[64];

/* The keys of the next registrations; after them the device has no memory. */
static const struct keys {
	uint32_t lkey, rkey;
} *given;
static int left, registered;

/* ------------------------------------------------------------------ the device */

static struct ibv_mr *one_more(void)
{
	struct ibv_mr *mr;

	if (!left) {
		errno = ENOMEM;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	REQUIRE(mr != NULL);
	mr->lkey = given->lkey;
	mr->rkey = given->rkey;
	given++;
	left--;
	registered++;
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd, (void)addr, (void)length, (void)access;
	return one_more();
}

/* The header of libibverbs calls this one if the rights are not a constant. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	(void)pd, (void)addr, (void)length, (void)iova, (void)access;
	return one_more();
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	registered--;
	return 0;
}

/* ------------------------------------------------------------------ tests */

static void begin(void)
{
	memset(&ia, 0, sizeof(ia));
	memset(&lmr, 0, sizeof(lmr));
	ia.base.name = "dev0";
	ia.lmrs.buckets = calloc(DATP_LMR_BUCKETS, sizeof(*ia.lmrs.buckets));
	REQUIRE(ia.lmrs.buckets != NULL);
	lmr.base.obj.ia = &ia.base;
	lmr.base.pz = &pz.base;
	lmr.base.addr = (uintptr_t)memory;
	lmr.base.len = sizeof(memory);
	registered = 0;
}

static void end(void)
{
	free((void *)ia.lmrs.buckets);
	CHECK_EQ_INT(registered, 0);
}

static enum datp_err create(DAT_MEM_PRIV_FLAGS priv, const struct keys *keys, int count)
{
	given = keys;
	left = count;
	lmr.base.priv = priv;
	return rdma_lmr_create(&lmr.base, NULL);
}

/* Checks the region's keys, and that a search by its lkey finds it. */
static void made_with(enum datp_err err, uint32_t lkey, uint32_t rkey)
{
	REQUIRE_EQ_INT(err, DATP_OK);
	CHECK_EQ_INT(registered, 1);
	CHECK_EQ_INT(lmr.base.lmr_context, lkey);
	CHECK_EQ_INT(lmr.base.rmr_context, rkey);
	CHECK(datp_lmr_get(&ia.lmrs, lkey) == &lmr.known);
	rdma_lmr_free(&lmr.base);
}

#define KEYS(...) (const struct keys[]){ __VA_ARGS__ }
/* Creates a region, and has the device draw these keys for it, one pair after the other. */
#define CREATE(priv, ...) create(priv, KEYS(__VA_ARGS__), (int)(sizeof(KEYS(__VA_ARGS__)) / sizeof(struct keys)))

static void keys_of_the_device_are_the_contexts(void)
{
	made_with(CREATE(REMOTE, { 0x101, 0x102 }), 0x101, 0x102);
}

static void key_of_0_is_drawn_again(void)
{
	made_with(CREATE(REMOTE, { 0, 0 }, { 0x101, 0x102 }), 0x101, 0x102);
	made_with(CREATE(REMOTE, { 0x100, 0 }, { 0x101, 0x102 }), 0x101, 0x102);
	made_with(CREATE(LOCAL, { 0, 0 }, { 0x101, 0 }), 0x101, 0);
}

static void region_that_peers_cannot_use_needs_no_rkey(void)
{
	made_with(CREATE(LOCAL, { 0x101, 0 }), 0x101, 0);
}

static void large_key_is_better_than_0_or_none(void)
{
	made_with(CREATE(REMOTE, { 0x80000001, 0x80000002 }, { 0x101, 0x102 }), 0x101, 0x102);
	made_with(CREATE(REMOTE, { 0x80000001, 0x80000002 }, { 0, 0 }), 0x80000001, 0x80000002);
	made_with(CREATE(REMOTE, { 0, 0 }, { 0x80000001, 0x80000002 }), 0x80000001, 0x80000002);
}

static void region_whose_only_key_is_0_is_refused(void)
{
	CHECK_EQ_INT(CREATE(REMOTE, { 0, 0 }), DATP_ERR_REGION);
	CHECK_EQ_INT(registered, 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(keys_of_the_device_are_the_contexts),
	CHECK_TEST(key_of_0_is_drawn_again),
	CHECK_TEST(region_that_peers_cannot_use_needs_no_rkey),
	CHECK_TEST(large_key_is_better_than_0_or_none),
	CHECK_TEST(region_whose_only_key_is_0_is_refused),
	CHECK_END
};

static const struct check_suite mr = { .name = "rdma_mr", .setup = begin, .teardown = end, .tests = tests };

CHECK_SUITES(&mr);
