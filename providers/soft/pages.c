/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the process has memory where it says. What is registered is copied to and from by plain
 * stores in this library, which end in a signal where there is no page; hardware refuses such
 * memory when it is registered, and so do we. The kernel tells what is mapped: one mapping after
 * another by an ioctl (Linux 6.11), else all of them as text; and where there is no /proc, msync()
 * tells at least what is not mapped at all.
 */
#define _GNU_SOURCE
#include "pages.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS "/proc/self/maps"

/* As in <linux/fs.h> since 6.11. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
#define QUERY	       _IOWR('f', 17, struct query)
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u

struct mapping {
	uint64_t start, end;
	bool readable, writable, file;
};

/* What of a range is still to be found. The last byte is named, as the end may have no address. */
struct range {
	uint64_t at, last;
	bool write;
};

enum verdict { GOOD, MORE, NOT_THERE, NOT_WRITABLE, UNKNOWN };

/*
 * A mapped file may end before its mapping does, and what lies behind is a signal too. The kernel
 * looks at a set of signals before it looks at what is to be done with it, which here is nothing.
 */
static bool byte_is_there(uint64_t addr)
{
	return syscall(SYS_rt_sigprocmask, ~0, addr & ~7ull, NULL, 8) == 0 || errno != EFAULT;
}

/* `map` is the first mapping that ends behind range->at. */
static enum verdict mapping_take(const struct mapping *map, struct range *range)
{
	uint64_t last = range->last < map->end - 1 ? range->last : map->end - 1;

	if (map->start > range->at || !(map->readable || map->writable))
		return NOT_THERE;
	if (range->write && !map->writable)
		return NOT_WRITABLE;
	if (!range->write && !map->readable)
		return NOT_THERE;
	if (map->file && !byte_is_there(last))
		return NOT_THERE;
	if (last == range->last)
		return GOOD;
	range->at = map->end;
	return MORE;
}

static enum verdict ask_ioctl(int fd, struct range *range)
{
	struct query q = { .size = sizeof q, .addr = range->at };
	struct mapping map;

	if (ioctl(fd, QUERY, &q) < 0)
		return errno == ENOENT ? NOT_THERE : UNKNOWN;
	map = (struct mapping){ q.start, q.end, q.vma_flags & QUERY_READABLE,
				q.vma_flags & QUERY_WRITABLE, q.inode != 0 };
	return mapping_take(&map, range);
}

/* "start-end rwxp offset major:minor inode path" */
static bool mapping_parse(const char *line, struct mapping *map)
{
	unsigned long long start, end, inode;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu", &start, &end, perms, &inode) != 4)
		return false;
	*map = (struct mapping){ start, end, perms[0] == 'r', perms[1] == 'w', inode != 0 };
	return true;
}

static enum verdict ask_text(struct range *range)
{
	FILE *maps = fopen(MAPS, "re");
	enum verdict verdict = maps ? MORE : UNKNOWN;
	struct mapping map;
	char *line = NULL;
	size_t size = 0;

	while (verdict == MORE) {
		if (getline(&line, &size, maps) < 0)
			verdict = NOT_THERE;
		else if (!mapping_parse(line, &map))
			verdict = UNKNOWN;
		else if (map.end - 1 >= range->at)
			verdict = mapping_take(&map, range);
	}
	free(line);
	if (maps)
		fclose(maps);
	return verdict;
}

static enum datp_err answer(enum verdict verdict, uint64_t addr, uint64_t len)
{
	if (verdict == GOOD)
		return DATP_OK;
	datp_log(3, "soft: of the %llu bytes at 0x%llx, which are to be registered, %s",
		 (unsigned long long)len, (unsigned long long)addr,
		 verdict == NOT_WRITABLE ? "some cannot be written: ask for no right to write"
					 : "some are not mapped, or cannot be read");
	return verdict == NOT_WRITABLE ? DATP_ERR_ARG6 : DATP_ERR_ARG3;
}

int soft_pages_open(void)
{
	return open(MAPS, O_RDONLY | O_CLOEXEC);
}

enum datp_err soft_pages_check_mapped(uint64_t addr, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = addr & ~(page - 1);
	bool there = len <= SIZE_MAX / 2; /* more would wrap in the kernel's sum */

	/* MS_ASYNC does nothing but to look */
	if (there && msync((void *)(uintptr_t)start, (size_t)(len + (addr - start)), MS_ASYNC) < 0)
		there = errno != ENOMEM;
	return answer(there ? GOOD : NOT_THERE, addr, len);
}

enum datp_err soft_pages_check_text(uint64_t addr, uint64_t len, bool write)
{
	struct range range = { addr, addr + len - 1, write };
	enum verdict verdict = ask_text(&range);

	return verdict == UNKNOWN ? soft_pages_check_mapped(addr, len) : answer(verdict, addr, len);
}

enum datp_err soft_pages_check(int fd, uint64_t addr, uint64_t len, bool write)
{
	struct range range = { addr, addr + len - 1, write };
	enum verdict verdict = fd < 0 ? UNKNOWN : MORE;

	while (verdict == MORE)
		verdict = ask_ioctl(fd, &range);
	return verdict == UNKNOWN ? soft_pages_check_text(addr, len, write)
				  : answer(verdict, addr, len);
}
