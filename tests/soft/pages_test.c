/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory the process has, asked in each of the ways: they say the same. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/pages.h"

#define PAGES 10u

static uint64_t page;
static unsigned char *memory; /* PAGES of it, see setup() */
static int fd = -1;

/* Pages 2 and 8 cannot be written, page 4 not be touched, and page 6 is not there. */
static void setup(void)
{
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(mprotect(memory + 2 * page, page, PROT_READ) == 0);
	REQUIRE(mprotect(memory + 4 * page, page, PROT_NONE) == 0);
	REQUIRE(munmap(memory + 6 * page, page) == 0);
	REQUIRE(mprotect(memory + 8 * page, page, PROT_READ) == 0);
	fd = soft_pages_open();
}

static void teardown(void)
{
	munmap(memory, PAGES * page);
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static enum datp_err by_ioctl(uint64_t addr, uint64_t len, bool write)
{
	return soft_pages_check(fd, addr, len, write);
}

static enum datp_err without_descriptor(uint64_t addr, uint64_t len, bool write)
{
	return soft_pages_check(-1, addr, len, write);
}

static void hold(enum datp_err (*check)(uint64_t addr, uint64_t len, bool write))
{
	const struct {
		uint64_t from, len; /* in bytes */
		enum datp_err read, write;
	} rows[] = {
		{ 0, 1, DATP_OK, DATP_OK },
		{ 0, 2 * page, DATP_OK, DATP_OK },
		{ 3, 2 * page - 3, DATP_OK, DATP_OK },
		{ 3, 2 * page - 2, DATP_OK, DATP_ERR_ARG6 }, /* one byte of page 2 */
		{ 2 * page, 1, DATP_OK, DATP_ERR_ARG6 },
		{ 3 * page - 1, 1, DATP_OK, DATP_ERR_ARG6 },
		{ 3 * page - 1, 2, DATP_OK, DATP_ERR_ARG6 },
		{ 3 * page, page, DATP_OK, DATP_OK },
		{ 0, 4 * page, DATP_OK, DATP_ERR_ARG6 },
		{ 3 * page, page + 1, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 4 * page, 1, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 4 * page + 5, page, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 5 * page, page, DATP_OK, DATP_OK },
		{ 5 * page, page + 1, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 6 * page, 1, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 7 * page - 1, 2, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 7 * page, page, DATP_OK, DATP_OK },
		{ 5 * page, 3 * page, DATP_ERR_ARG3, DATP_ERR_ARG3 },
		{ 7 * page, 2 * page, DATP_OK, DATP_ERR_ARG6 },
		{ 9 * page, page, DATP_OK, DATP_OK },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int write = 0; write < 2; write++) {
			enum datp_err want = write ? rows[i].write : rows[i].read;
			enum datp_err got =
				check((uintptr_t)memory + rows[i].from, rows[i].len, write);

			if (got != want)
				CHECK_FAIL("row %zu, write %d: %d, wanted %d", i, write, got, want);
		}
	CHECK_EQ_INT(check(UINT64_MAX - 1, 1, false), DATP_ERR_ARG3);
	CHECK_EQ_INT(check(UINT64_MAX, 1, false), DATP_ERR_ARG3);
	CHECK_EQ_INT(check(1, 1, false), DATP_ERR_ARG3);
	CHECK_EQ_INT(check(1, UINT64_MAX - 1, true), DATP_ERR_ARG3);
	CHECK_EQ_INT(check((uintptr_t)&fd, sizeof(fd), true), DATP_OK);
	CHECK_EQ_INT(check((uintptr_t)&rows, sizeof(rows), false), DATP_OK);
	CHECK_EQ_INT(check((uintptr_t) "constant", 8, true), DATP_ERR_ARG6);
	CHECK_EQ_INT(check((uintptr_t) "constant", 8, false), DATP_OK);
}

static void kernel_is_asked_for_each_mapping(void)
{
	if (fd < 0)
		check_skip("no /proc here");
	hold(by_ioctl);
}

static void list_of_mappings_says_the_same(void)
{
	if (fd < 0)
		check_skip("no /proc here");
	hold(soft_pages_check_text);
	hold(without_descriptor);
}

static void what_is_not_mapped_is_found_without_proc(void)
{
	uint64_t at = (uintptr_t)memory;

	CHECK_EQ_INT(soft_pages_check_mapped(at + 1, 6 * page - 1), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 1, 6 * page), DATP_ERR_ARG3);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 7 * page - 1, 2), DATP_ERR_ARG3);
	CHECK_EQ_INT(soft_pages_check_mapped(at + 7 * page, 3 * page), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped(1, UINT64_MAX - 1), DATP_ERR_ARG3);
}

/* How many pages of it there are by now. */
static size_t present(const void *at, size_t pages)
{
	unsigned char vec[4096];
	size_t count = 0;

	REQUIRE(pages <= sizeof(vec));
	REQUIRE(mincore((void *)(uintptr_t)at, pages * page, vec) == 0);
	for (size_t i = 0; i < pages; i++)
		count += vec[i] & 1;
	return count;
}

static void asking_brings_no_page_in(void)
{
	size_t size = 4096 * page;
	void *large = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	REQUIRE(large != MAP_FAILED);
	CHECK_EQ_INT(soft_pages_check(fd, (uintptr_t)large, size, true), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_text((uintptr_t)large, size, true), DATP_OK);
	CHECK_EQ_INT(soft_pages_check_mapped((uintptr_t)large, size), DATP_OK);
	CHECK_EQ_INT(present(large, 4096), 0);
	munmap(large, size);
}

static const struct check_test tests[] = { CHECK_TEST(kernel_is_asked_for_each_mapping),
					   CHECK_TEST(list_of_mappings_says_the_same),
					   CHECK_TEST(what_is_not_mapped_is_found_without_proc),
					   CHECK_TEST(asking_brings_no_page_in), CHECK_END };

static const struct check_suite pages = {
	.name = "soft pages", .setup = setup, .teardown = teardown, .tests = tests
};

CHECK_SUITES(&pages);
