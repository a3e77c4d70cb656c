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
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

#define CHUNK 4096u /* looked at for zeros at once; a page of most machines */

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

static size_t chunk_at(size_t at, size_t len)
{
	return len - at < CHUNK ? len - at : CHUNK;
}

static int is_zero(const unsigned char *from, size_t len)
{
	const uint64_t *word = (const uint64_t *)(const void *)from;

	for (size_t i = 0; i < len / sizeof *word; i++)
		if (word[i])
			return 0;
	return 1;
}

static int file_put(int fd, const unsigned char *from, size_t at, size_t end)
{
	while (at < end) {
		ssize_t n = pwrite(fd, from + at, end - at, (off_t)at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return n == 0 ? ENOSPC : errno;
	}
	return 0;
}

/* Writes memory to an empty file. What is zero stays a hole, because a program may register far more memory than it uses. */
static int file_fill(int fd, const unsigned char *from, size_t len)
{
	size_t at = 0, end;
	int error = 0;

	while (at < len && !error) {
		for (; at < len && is_zero(from + at, chunk_at(at, len)); at += chunk_at(at, len))
			;
		for (end = at; end < len && !is_zero(from + end, chunk_at(end, len));)
			end += chunk_at(end, len);
		error = file_put(fd, from, at, end);
		at = end;
	}
	return error;
}

static int file_get(int fd, unsigned char *to, size_t at, size_t end)
{
	while (at < end) {
		ssize_t n = pread(fd, to + at, end - at, (off_t)at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return n == 0 ? EIO : errno;
	}
	return 0;
}

/* Reads a file into memory that is zero. */
static int file_drain(int fd, unsigned char *to, size_t len)
{
	int error = 0;
	off_t at, end = 0;

	while (!error && (at = lseek(fd, end, SEEK_DATA)) >= 0 && (size_t)at < len) {
		end = lseek(fd, at, SEEK_HOLE);
		if (end < at)
			return errno;
		if ((size_t)end > len)
			end = (off_t)len;
		error = file_get(fd, to, (size_t)at, (size_t)end);
	}
	/* ENXIO: there is no more data */
	return error ? error : at < 0 && errno != ENXIO ? errno : 0;
}

/*
 * Puts the pages of another mapping in the place of the range, in one step. The other mapping is gone
 * afterwards; if this fails, both are as they were.
 */
static int range_replace(void *addr, void *pages, size_t len)
{
	return mremap(pages, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == MAP_FAILED ? errno : 0;
}

/* Maps the file in the place of the range, so that no child inherits it. */
static int range_map(void *addr, size_t len, int fd)
{
	void *file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error;

	if (file == MAP_FAILED)
		return errno;
	error = madvise(file, len, MADV_DONTFORK) < 0 ? errno : range_replace(addr, file, len);
	if (error)
		munmap(file, len);
	return error;
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

static int to_shared(int uffd, void *addr, size_t len, int fd, void **kept)
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
	error = file_fill(fd, pages, len);
	if (!error)
		error = range_map(addr, len, fd);
	if (error) {
		pages_return(uffd, addr, pages, len);
		return error;
	}
	faults_wake(uffd, addr, len);
	(void)madvise(pages, len, MADV_DONTNEED);
	*kept = pages;
	return 0;
}

/* Removes the file's pages from the page table. If the program has locked them, what takes their place is locked as well. */
static int file_hide(void *addr, void *kept, size_t len)
{
	if (madvise(addr, len, MADV_DONTNEED) == 0)
		return 0;
	return errno != EINVAL || mlock(kept, len) < 0 || madvise(addr, len, MADV_DONTNEED_LOCKED) < 0 ? errno : 0;
}

static int to_private(int uffd, void *addr, size_t len, int fd, void *kept)
{
	/* MISSING, too: a store to a hole of the file would otherwise make a page of it, behind the back of file_drain() */
	int error = faults_begin(uffd, addr, len, UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_MISSING);

	if (error)
		return error;
	error = file_hide(addr, kept, len);
	if (!error)
		error = file_drain(fd, kept, len);
	if (!error)
		error = range_replace(addr, kept, len);
	if (error)
		faults_end(uffd, addr, len);
	else
		faults_wake(uffd, addr, len);
	return error;
}

int soft_remap_shared(int uffd, void *addr, size_t len, int fd, void **kept)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = to_shared(uffd, addr, len, fd, kept);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int soft_remap_private(int uffd, void *addr, size_t len, int fd, void *kept)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = to_private(uffd, addr, len, fd, kept);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		munmap(kept, len);
	return error;
}
