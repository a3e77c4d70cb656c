/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that a range to be registered is mapped. This library copies to and from registered memory
 * by ordinary loads and stores, which raise a signal if there is no page. Hardware refuses such
 * memory when it is registered, and so does this file. The kernel tells what is mapped: by an ioctl
 * for each mapping (Linux 6.11), else by the list of all mappings as text. Without /proc, msync()
 * at least tells what is not mapped at all. Of another process, the list tells which file it has mapped.
 */
#define _GNU_SOURCE
#include "pages.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAPS "/proc/self/maps"

/* The same structure is in <linux/fs.h> since Linux 6.11. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
#define QUERY	       _IOWR('f', 17, struct query)
#define QUERY_READABLE 1u
#define QUERY_WRITABLE 2u
#define QUERY_SHARED   8u

struct mapping {
	uint64_t start, end;
	bool readable, writable, shared, file;
	/* Only set if the list of mappings was read as text, as all fields below. */
	bool stack; /* it is the main thread's stack, which grows by itself */
	struct soft_backing backing;
};

/* The part of a range that is not checked yet. It has the last byte, because the address after that may overflow. */
struct range {
	uint64_t at, last;
	bool write;
	bool shared; /* out: all of it is one shared mapping of a file */
};

enum verdict { GOOD, MORE, NOT_THERE, NOT_WRITABLE, UNKNOWN };

/* Returns true if the kernel can read the byte. It cannot if a container forbids the call, or if the memory is a device's. */
static bool byte_is_read(uint64_t addr)
{
	unsigned char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)(uintptr_t)addr, 1 };

	/* by syscall(), because the thread sanitizer would take process_vm_readv() for a read by the program */
	return syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0) == 1;
}

/*
 * Returns true if the byte has a page. A mapped file may end before its mapping does, and an access beyond its end raises a
 * signal, too. If the kernel does not read the byte, rt_sigprocmask() decides: it copies the set of signals, which fails only
 * without a page, before it rejects the invalid operation. That comes second because valgrind complains about it.
 */
static bool byte_is_there(uint64_t addr)
{
	return byte_is_read(addr) || syscall(SYS_rt_sigprocmask, ~0, addr & ~7ull, NULL, 8) == 0 || errno != EFAULT;
}

/* Takes the part of a range that is in `map`, the first mapping that ends after range->at. Returns MORE if a part is left. */
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
	range->shared = range->shared && map->shared && map->file && last == range->last;
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
	map = (struct mapping){ .start = q.start,
				.end = q.end,
				.readable = q.vma_flags & QUERY_READABLE,
				.writable = q.vma_flags & QUERY_WRITABLE,
				.shared = q.vma_flags & QUERY_SHARED,
				.file = q.inode != 0 };
	return mapping_take(&map, range);
}

/* Parses "start-end rwxp offset major:minor inode path". */
static bool mapping_parse(const char *line, struct mapping *map)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &start, &end, perms, &offset, &major,
		   &minor, &inode) != 7)
		return false;
	*map = (struct mapping){ .start = start,
				 .end = end,
				 .readable = perms[0] == 'r',
				 .writable = perms[1] == 'w',
				 .shared = perms[3] == 's',
				 .file = inode != 0,
				 .stack = strstr(line, "[stack]") != NULL,
				 .backing = { .start = start,
					      .end = end,
					      .writable = perms[1] == 'w',
					      .executable = perms[2] == 'x',
					      .offset = offset,
					      .dev = makedev(major, minor),
					      .ino = inode } };
	return true;
}

/* Reads mappings, in the order of addresses, up to one that ends after `at`. Returns MORE if it has found that. */
static enum verdict mapping_find(FILE *maps, uint64_t at, struct mapping *map)
{
	enum verdict verdict = NOT_THERE;
	char *line = NULL;
	size_t size = 0;

	while (verdict == NOT_THERE && getline(&line, &size, maps) >= 0) {
		if (!mapping_parse(line, map))
			verdict = UNKNOWN;
		else if (map->end - 1 >= at)
			verdict = MORE;
	}
	free(line);
	return verdict;
}

static enum verdict ask_text(struct range *range)
{
	FILE *maps = fopen(MAPS, "re");
	enum verdict verdict = maps ? MORE : UNKNOWN;
	struct mapping map;

	while (verdict == MORE) {
		verdict = mapping_find(maps, range->at, &map);
		if (verdict == MORE)
			verdict = mapping_take(&map, range);
	}
	if (maps)
		fclose(maps);
	return verdict;
}

/*
 * Returns true if /proc knows the processes by the numbers that this process knows them by. That of another PID namespace, such as
 * one around a container, shows other processes under these numbers.
 */
static bool proc_is_ours(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	int own = 0, inner, n = 0;
	char *line = NULL;
	size_t size = 0;

	/*
	 * One number for each PID namespace of this process, from that of /proc inwards. A kernel without PID namespaces has no
	 * such line, and nothing is found.
	 */
	while (status && n <= 0 && getline(&line, &size, status) >= 0)
		n = sscanf(line, "NSpid: %d %d", &own, &inner);
	free(line);
	if (status)
		fclose(status);
	return n == 1 && own == getpid();
}

bool soft_pages_backing(pid_t pid, uint64_t addr, uint64_t len, struct soft_backing *backing)
{
	const bool own = pid == getpid(); /* every /proc shows the process that looks as "self" */
	enum verdict verdict;
	struct mapping map;
	char name[32];
	FILE *maps;
	bool found;

	if (!own && !proc_is_ours())
		return false;
	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	maps = fopen(own ? MAPS : name, "re");
	if (!maps)
		return false;
	errno = 0;
	verdict = mapping_find(maps, addr, &map);
	found = verdict == MORE && map.shared && map.file && map.start <= addr && len <= map.end - addr;
	if (found)
		*backing = map.backing;
	else if (!errno) /* there was memory for the lines */
		errno = verdict == UNKNOWN ? EPROTO : ENOENT;
	fclose(maps);
	return found;
}

/* Returns true if the process has locked memory: mlock(2). */
static bool memory_is_locked(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long locked = 0;
	char *line = NULL;
	size_t size = 0;

	while (status && getline(&line, &size, status) >= 0)
		if (sscanf(line, "VmLck: %lu", &locked) == 1)
			break;
	free(line);
	if (status)
		fclose(status);
	return locked != 0;
}

bool soft_pages_movable(uint64_t addr, uint64_t len)
{
	FILE *maps = memory_is_locked() ? NULL : fopen(MAPS, "re");
	struct mapping map;
	bool movable;

	if (!maps)
		return false;
	movable = mapping_find(maps, addr, &map) == MORE && map.readable && map.writable && !map.backing.executable &&
		  !map.shared && !map.file && !map.stack && map.start <= addr && len <= map.end - addr;
	fclose(maps);
	return movable;
}

static enum datp_err answer(enum verdict verdict, uint64_t addr, uint64_t len)
{
	if (verdict == GOOD)
		return DATP_OK;
	datp_log(3, "soft: cannot register %llu bytes at 0x%llx: %s",
		 (unsigned long long)len, (unsigned long long)addr,
		 verdict == NOT_WRITABLE ? "a part of them is read-only; register them without a "
					   "right to write"
					 : "a part of them is not mapped, or cannot be read");
	return verdict == NOT_WRITABLE ? DATP_ERR_BAD_PRIV : DATP_ERR_BAD_MEMORY;
}

int soft_pages_open(void)
{
	return open(MAPS, O_RDONLY | O_CLOEXEC);
}

enum datp_err soft_pages_check_mapped(uint64_t addr, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = addr & ~(page - 1);
	bool there = len <= SIZE_MAX / 2; /* a longer range would overflow in the kernel */

	/* MS_ASYNC only checks */
	if (there && msync((void *)(uintptr_t)start, (size_t)(len + (addr - start)), MS_ASYNC) < 0)
		there = errno != ENOMEM;
	return answer(there ? GOOD : NOT_THERE, addr, len);
}

enum datp_err soft_pages_check_text(uint64_t addr, uint64_t len, bool write, bool *shared)
{
	struct range range = { addr, addr + len - 1, write, true };
	enum verdict verdict = ask_text(&range);

	*shared = verdict == GOOD && range.shared;
	return verdict == UNKNOWN ? soft_pages_check_mapped(addr, len) : answer(verdict, addr, len);
}

enum datp_err soft_pages_check(int fd, uint64_t addr, uint64_t len, bool write, bool *shared)
{
	struct range range = { addr, addr + len - 1, write, true };
	enum verdict verdict = fd < 0 ? UNKNOWN : MORE;

	while (verdict == MORE)
		verdict = ask_ioctl(fd, &range);
	if (verdict == UNKNOWN)
		return soft_pages_check_text(addr, len, write, shared);
	*shared = verdict == GOOD && range.shared;
	return answer(verdict, addr, len);
}
