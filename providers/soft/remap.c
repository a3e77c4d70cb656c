/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exchanges the pages under a range of addresses while other threads may be using them. The kernel has
 * no call that does this in one step: between the copy of the pages and the change of the mapping, a
 * store of another thread would be lost. So the range is first made to fault, in one step, and
 * userfaultfd(2) keeps the faulting threads waiting until the new pages are there:
 *
 *  - Private memory: its pages move elsewhere by MREMAP_DONTUNMAP, and what stays is empty (a fault of
 *    kind MISSING).
 *  - A file: MADV_DONTNEED removes the entries of the page table, and the data stays in the file (a
 *    fault of kind MINOR).
 *
 * Nobody reads the descriptor: a thread that waits is woken when the range has its new mapping, and
 * repeats its access there. No signal handler runs in the calling thread meanwhile: if it touched the
 * range, the thread would wait for itself.
 *
 * Peers may have the file open, and may hold the kernel's lock of it for as long as they like (arena.c). So the file gets its
 * content through a mapping, by userfaultfd(2), and is read by pread(2), neither of which takes that lock. pwrite(2) takes it, and
 * so does lseek(2), which could tell where the file has no data.
 *
 * The mapping of the private pages is kept elsewhere, empty, while the file is mapped in its place. It
 * knows which addresses it comes from, so that the kernel joins it to its neighbours again when it is
 * back. A new mapping would stay apart for ever, and the kernel limits the number of mappings of a process.
 */
#define _GNU_SOURCE
#include "remap.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

#define CHUNK 4096u /* a page of most machines, and a part of one of the others */

int soft_remap_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_MINOR_SHMEM };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), error;

	if (fd < 0 && errno == EPERM)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int faults_begin(int uffd, void *addr, size_t len, uint64_t mode)
{
	struct uffdio_register reg = { .range = { (uintptr_t)addr, len }, .mode = mode };

	return ioctl(uffd, UFFDIO_REGISTER, &reg) < 0 ? errno : 0;
}

/* Also wakes the threads that wait. */
static void faults_end(int uffd, void *addr, size_t len)
{
	struct uffdio_range range = { (uintptr_t)addr, len };

	(void)ioctl(uffd, UFFDIO_UNREGISTER, &range);
}

/* The range has a new mapping, which is not registered with userfaultfd(2). */
static void faults_wake(int uffd, void *addr, size_t len)
{
	struct uffdio_range range = { (uintptr_t)addr, len };

	(void)ioctl(uffd, UFFDIO_WAKE, &range);
}

static int is_zero(const unsigned char *from, size_t len)
{
	const uint64_t *word = (const uint64_t *)(const void *)from;

	for (size_t i = 0; i < len / sizeof *word; i++)
		if (word[i])
			return 0;
	return 1;
}

/* Copies to whole pages of a mapping of a file, which the file does not have yet, and which fault. */
static int file_put(int uffd, unsigned char *file, const unsigned char *from, size_t at, size_t end)
{
	while (at < end) {
		struct uffdio_copy copy = { .dst = (uintptr_t)file + at, .src = (uintptr_t)from + at, .len = end - at };
		int error = ioctl(uffd, UFFDIO_COPY, &copy) < 0 ? errno : 0;

		if (copy.copy > 0)
			at += (size_t)copy.copy;
		else if (error != EAGAIN)
			return error;
	}
	return 0;
}

/* Writes memory to a mapping of an empty file. What is zero stays a hole, because a program may register far more than it uses. */
static int file_fill(int uffd, unsigned char *file, const unsigned char *from, size_t len)
{
	size_t at = 0, end, page = (size_t)sysconf(_SC_PAGESIZE);
	int error = faults_begin(uffd, file, len, UFFDIO_REGISTER_MODE_MISSING);

	while (at < len && !error) {
		for (; at < len && is_zero(from + at, page); at += page)
			;
		for (end = at; end < len && !is_zero(from + end, page); end += page)
			;
		error = file_put(uffd, file, from, at, end);
		at = end;
	}
	faults_end(uffd, file, len);
	return error;
}

/* A part of a file, and a mapping of it. */
struct part {
	int fd;
	uint64_t offset; /* in the file */
	unsigned char *map;
	size_t len;
	bool divided; /* into several mappings */
};

/* Reads the bytes of the part from `at` to `end`. */
static int part_get(const struct part *part, unsigned char *to, size_t at, size_t end)
{
	while (at < end) {
		ssize_t n = pread(part->fd, to, end - at, (off_t)(part->offset + at));

		if (n > 0) {
			at += (size_t)n;
			to += n;
		} else if (n == 0 || errno != EINTR) {
			return n == 0 ? EIO : errno;
		}
	}
	return 0;
}

/*
 * Reads the pages of a file that are in memory, by what mincore(2) says of a mapping of it. Sets *whole if the file has no others,
 * such as those of another part, or in swap, and if mincore(2) works. A page that a peer adds meanwhile does not hide one: the file
 * has more then than were found.
 */
static int part_get_present(const struct part *part, unsigned char *to, bool *whole)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), found = 0, pages = part->len / page, n;
	unsigned char present[CHUNK];
	struct stat st;
	int error = 0;

	for (size_t first = 0; first < pages && !error; first += n) {
		n = pages - first < CHUNK ? pages - first : CHUNK;
		if (mincore(part->map + first * page, n * page, present) < 0)
			return 0;
		for (size_t i = 0, end; i < n && !error; i = end) {
			for (end = i + 1; end < n && !((present[end] ^ present[i]) & 1); end++)
				;
			if (!(present[i] & 1))
				continue;
			found += end - i;
			error = part_get(part, to + (first + i) * page, (first + i) * page, (first + end) * page);
		}
	}
	*whole = fstat(part->fd, &st) == 0 && (uint64_t)st.st_blocks * 512 == (uint64_t)found * page;
	return error;
}

/* Reads it into memory that is zero. Pages that the file does not have use no memory there. */
static int part_drain(const struct part *part, unsigned char *to)
{
	_Alignas(uint64_t) unsigned char chunk[CHUNK];
	bool whole = false;
	int error = part_get_present(part, to, &whole);

	for (size_t at = 0; at < part->len && !error && !whole; at += CHUNK) {
		error = part_get(part, chunk, at, at + CHUNK);
		if (!error && !is_zero(chunk, CHUNK))
			memcpy(to + at, chunk, CHUNK);
	}
	return error;
}

/*
 * Puts the pages of another mapping in the place of the range, in one step. The other mapping is gone
 * afterwards; if this fails, both are as they were.
 */
static int range_replace(void *addr, void *pages, size_t len)
{
	return mremap(pages, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == MAP_FAILED ? errno : 0;
}

/*
 * Puts private pages back in their place without a new mapping: the kernel refuses even an exchange of mappings to a
 * process that has almost as many as it may have. The pages are copied instead, and those of zeros appear by themselves.
 */
static void pages_return(int uffd, unsigned char *addr, unsigned char *pages, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (range_replace(addr, pages, len) == 0) {
		faults_wake(uffd, addr, len);
		return;
	}
	for (size_t at = 0; at < len; at += page) {
		struct uffdio_copy copy = { .dst = (uintptr_t)addr + at, .src = (uintptr_t)pages + at, .len = page };

		if (is_zero(pages + at, page))
			continue;
		while (ioctl(uffd, UFFDIO_COPY, &copy) < 0)
			if (errno != EAGAIN)
				abort();
		(void)madvise(pages + at, page, MADV_DONTNEED); /* it is not needed twice */
	}
	faults_end(uffd, addr, len);
	munmap(pages, len);
}

static int to_shared(int uffd, void *addr, size_t len, void *file, void **kept)
{
	void *pages;
	int error;

	/* a page that cannot be read, as after MADV_GUARD_INSTALL, would raise a signal in file_fill() */
	if (madvise(addr, len, MADV_POPULATE_READ) < 0)
		return errno;
	/* only a mapping that has had a page knows its addresses after it was moved */
	(void)madvise(addr, (size_t)sysconf(_SC_PAGESIZE), MADV_POPULATE_WRITE);
	error = faults_begin(uffd, addr, len, UFFDIO_REGISTER_MODE_MISSING);
	if (error)
		return error;
	/* with this flag the kernel reads the fifth argument, too, as a hint */
	pages = mremap(addr, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (pages == MAP_FAILED) {
		error = errno;
		faults_end(uffd, addr, len);
		return error;
	}
	error = file_fill(uffd, file, pages, len);
	if (!error)
		error = range_replace(addr, file, len);
	if (error) {
		pages_return(uffd, addr, pages, len);
		return error;
	}
	faults_wake(uffd, addr, len);
	(void)madvise(pages, len, MADV_DONTNEED);
	*kept = pages;
	return 0;
}

/*
 * Removes the file's pages from the page table. If the program has locked them, what takes their place is locked as well. If it has
 * locked a part of them, the lock would spread to the others, so all stay: an access brings those back that are removed by then.
 */
static int file_hide(void *addr, void *kept, size_t len, bool divided)
{
	if (madvise(addr, len, MADV_DONTNEED) == 0)
		return 0;
	if (errno == EINVAL && divided)
		return ENOENT;
	return errno != EINVAL || mlock(kept, len) < 0 || madvise(addr, len, MADV_DONTNEED_LOCKED) < 0 ? errno : 0;
}

static int to_private(int uffd, const struct part *part, void *kept)
{
	void *addr = part->map;
	size_t len = part->len;
	/* MISSING, too: a store to a hole of the file would otherwise make a page of it, behind the back of part_drain() */
	int error = faults_begin(uffd, addr, len, UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_MISSING);

	if (error)
		return error;
	error = file_hide(addr, kept, len, part->divided);
	if (!error)
		error = part_drain(part, kept);
	if (!error)
		error = range_replace(addr, kept, len);
	if (error)
		faults_end(uffd, addr, len);
	else
		faults_wake(uffd, addr, len);
	return error;
}

int soft_remap_shared(int uffd, void *addr, size_t len, void *file, void **kept)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = to_shared(uffd, addr, len, file, kept);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int soft_remap_private(int uffd, void *addr, size_t len, int fd, uint64_t offset, bool divided, void *kept)
{
	const struct part part = { fd, offset, addr, len, divided };
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = to_private(uffd, &part, kept);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		soft_remap_forget(kept, len);
	return error;
}

void soft_remap_forget(void *kept, size_t len)
{
	/* a process that has as many mappings as it may have cannot divide one, but its pages can go */
	if (munmap(kept, len) < 0)
		(void)madvise(kept, len, MADV_DONTNEED);
}
