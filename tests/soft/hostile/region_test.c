/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker has regions in a memory file, which the victim finds and maps when it accesses them. What that could cost: the memory
 * of the host, and the address space of the victim.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

#define SIZE  (256ull << 20)
#define ROOM  (1ull << 40) /* how much of a peer is mapped at most */

/* ------------------------------------------------------------------ the attacker */

static int file;

/* Makes all regions of the attacker one file that has no page yet. Returns its address. */
static uint64_t regions_in_file(struct hostile *h, uint64_t size)
{
	void *at;

	file = memfd_create("opendat-region-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(file >= 0 && ftruncate(file, size) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	REQUIRE(at != MAP_FAILED);
	for (uint32_t i = 1; i <= HOSTILE_REGIONS; i++) {
		atomic_store(&h->own.mr[i].addr, (uintptr_t)at);
		atomic_store(&h->own.mr[i].len, size);
		atomic_store(&h->own.mr[i].priv, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	}
	return (uintptr_t)at;
}

static uint64_t pages_of_file(void)
{
	struct stat st;

	REQUIRE(fstat(file, &st) == 0);
	return (uint64_t)st.st_blocks * 512 / 4096;
}

static void attack(void *arg)
{
	uint64_t where = victim_is_at(), at, pages;
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	at = regions_in_file(&h, *(const uint64_t *)arg);
	hostile_connect(&h, where);
	check_put(CHECK_PARENT, &at, sizeof(at));
	check_await(CHECK_PARENT);
	pages = pages_of_file();
	check_put(CHECK_PARENT, &pages, sizeof(pages));
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static uint64_t theirs;

static void victim_meets(uint64_t size)
{
	static uint64_t arg;

	arg = size;
	attacker = check_fork(attack, &arg);
	victim_opens();
	victim_tells(attacker);
	victim_accepts();
	check_get(attacker, &theirs, sizeof(theirs));
}

static void attacker_ends(void)
{
	check_signal(attacker);
	check_join(attacker);
}

static void write_to_region(uint32_t i)
{
	DAT_RMR_TRIPLET remote = { .rmr_context = HOSTILE_CONTEXT(i), .target_address = theirs, .segment_length = 8 };

	REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, 0, 8), remote, i, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, i, DAT_DTO_SUCCESS, 8);
}

/* Returns how many of its pages the attacker's file has. */
static uint64_t pages_used(void)
{
	uint64_t pages;

	check_signal(attacker);
	check_get(attacker, &pages, sizeof(pages));
	return pages;
}

/* Returns how often the victim has mapped the file. */
static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	REQUIRE(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "opendat-region-test") != NULL;
	fclose(maps);
	return n;
}

static void region_is_not_filled_up_where_memory_is_locked(void)
{
	victim_meets(SIZE);
	if (mlockall(MCL_FUTURE) < 0)
		check_skip("mlockall() is not allowed");
	for (uint32_t i = 1; i <= 3; i++)
		write_to_region(i);
	CHECK_EQ_INT(mappings(), 3);
	CHECK(pages_used() < 64);
	attacker_ends();
}

static void regions_beyond_all_measure_are_not_mapped(void)
{
	victim_meets(ROOM / 2);
	for (uint32_t i = 1; i <= 4; i++)
		write_to_region(i);
	CHECK_EQ_INT(mappings(), 2);
	CHECK(pages_used() < 64);
	attacker_ends();
}

static void teardown(void)
{
	munlockall();
	api_close();
}

static const struct check_test tests[] = { CHECK_TEST(region_is_not_filled_up_where_memory_is_locked),
					   CHECK_TEST(regions_beyond_all_measure_are_not_mapped), CHECK_END };

static const struct check_suite suite = { .name = "attacker with regions in a file", .teardown = teardown, .tests = tests };

CHECK_SUITES(&suite);
