/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of this process that are converted to shared memory. Each is the whole pages of a region and
 * has a memory file of its own, so that its memory is gone when the last of the mappings is. The bytes
 * beside the region on its first and last page stay in private memory: a peer maps whole pages, and
 * these bytes are not registered.
 *
 * A range becomes shared or private only while no other region of the process has a part of it, because
 * the copies of that region's peers would fail meanwhile (remap.h). Peers look for the file through this
 * process's descriptors, as they do for a program's own (share.c).
 */
#define _GNU_SOURCE
#include "convert.h"
#include "ia.h"
#include "pages.h"
#include "remap.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct converted {
	struct converted *next;
	uint64_t addr, len;
	void *kept; /* see remap.h */
	int fd;
	struct datp_fork_fd fork_fd;
};

/*
 * datp_fork_hold() guards all of it: a child that was forked during a conversion would find the range
 * empty. `on` never changes back in this process.
 */
static struct {
	_Atomic bool on; /* an adapter with memory=shared was opened */
	uint32_t users;	 /* such adapters that are open */
	int uffd;
	struct datp_fork_fd fork_fd;
	struct converted *all;
} convert = { .uffd = -1 };

void soft_whole_pages(uint64_t *addr, uint64_t *len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = *addr + *len;
	uint64_t first = (*addr + page - 1) & ~(page - 1), last = end & ~(page - 1);

	*len = first >= *addr && last > first ? last - first : 0;
	*addr = first;
}

static bool touches(uint64_t addr, uint64_t len, const void *what)
{
	return (uint64_t)(uintptr_t)what - addr < len;
}

/* ---- adapters ---- */

/* Regions of other adapters may have kept a range shared after the last adapter with memory=shared was closed. */
static void uffd_drop(void)
{
	if (convert.users || convert.all || convert.uffd < 0)
		return;
	datp_fork_unlist(&convert.fork_fd);
	close(convert.uffd);
	convert.uffd = -1;
}

void soft_convert_open(struct soft_ia *ia)
{
	struct datp_fork_own own;
	int error = 0;

	datp_fork_hold(&own);
	convert.users++;
	ia->converts = true;
	if (convert.uffd < 0) {
		convert.uffd = soft_remap_open();
		error = convert.uffd < 0 ? errno : 0;
		if (!error)
			datp_fork_list(&convert.fork_fd, convert.uffd);
	}
	/* sequentially consistent: see soft_convert_added() */
	atomic_store(&convert.on, true);
	datp_fork_release(&own);
	if (error)
		datp_log(2, "soft: adapter %s: memory=shared has no effect: userfaultfd() fails: %s; %s", ia->base.name,
			 strerror(error),
			 error == EPERM ? "allow this system call to the container or the service"
					: "it takes Linux 5.14 with CONFIG_USERFAULTFD");
}

void soft_convert_close(struct soft_ia *ia)
{
	struct datp_fork_own own;

	if (!ia->converts)
		return;
	datp_fork_hold(&own);
	convert.users--;
	uffd_drop();
	datp_fork_release(&own);
}

/* The list of <datp/fork.h> has closed the descriptors. The records are lost, as all of the parent's IAs. */
void soft_convert_forked(void)
{
	convert.users = 0;
	convert.uffd = -1;
	convert.all = NULL;
}

/* ---- regions ---- */

static struct converted *converted_find(uint64_t addr, uint64_t len)
{
	struct converted *c = convert.all;

	while (c && !datp_range_holds(c->addr, c->len, addr, len))
		c = c->next;
	return c;
}

/* Maps a new file so that no child inherits it, and seals it. Returns 0 or an errno. */
static int file_map(int fd, uint64_t len, int seals, void **file)
{
	struct stat st;
	int error;

	*file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*file == MAP_FAILED)
		return errno;
	error = madvise(*file, len, MADV_DONTFORK) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0 || fstat(fd, &st) < 0 ? errno : 0;
	/* another process may have opened it before it was sealed */
	if (!error && (uint64_t)st.st_size != len)
		error = EBUSY;
	if (error)
		munmap(*file, len);
	return error;
}

/*
 * Returns the new file of a range, or -1. All that takes the kernel's lock of the file is done here, before the file has any
 * content: who may look into /proc can open the file from now on, and hold that lock.
 */
static int file_new(uint64_t len, int seals, void **file)
{
	struct rlimit limit;
	int fd, error;

	/* beyond it the kernel sends SIGXFSZ, which ends the program */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && len > limit.rlim_cur) {
		errno = EFBIG;
		return -1;
	}
	fd = memfd_create("opendat-registered", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	error = ftruncate(fd, (off_t)len) < 0 ? errno : file_map(fd, len, seals, file);
	/* the other half of the descriptors is the program's */
	if (!error && getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd >= limit.rlim_cur / 2) {
		munmap(*file, len);
		error = EMFILE;
	}
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

/* Returns true if the calling thread would stop itself, see remap.h. */
static bool is_our_own(uint64_t addr, uint64_t len)
{
	int here = 0;

	return touches(addr, len, &here) || touches(addr, len, &errno) || touches(addr, len, &convert);
}

static struct converted *converted_new(const struct datp_lmr *lmr, uint64_t addr, uint64_t len)
{
	struct converted *c = calloc(1, sizeof *c);
	int error, seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *file = NULL;

	if (!c)
		return NULL;
	/* what peers may not write they cannot map for writing either, from Linux 5.1 on; this process has its mapping already */
	if (!(lmr->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		seals |= F_SEAL_FUTURE_WRITE;
	*c = (struct converted){ .addr = addr, .len = len, .fd = file_new(len, seals, &file) };
	error = c->fd < 0 ? errno : soft_remap_shared(convert.uffd, (void *)(uintptr_t)addr, len, file, &c->kept);
	if (!error) {
		datp_fork_list(&c->fork_fd, c->fd);
		return c;
	}
	datp_log(4, "soft: %llu bytes at 0x%llx stay private memory: %s", (unsigned long long)len, (unsigned long long)addr,
		 error == EFAULT ? "a page of them cannot be read; is it a guard page (MADV_GUARD_INSTALL)?" : strerror(error));
	if (c->fd >= 0) {
		munmap(file, len);
		close(c->fd);
	}
	free(c);
	return NULL;
}

bool soft_convert_lock(struct datp_fork_own *own)
{
	if (!atomic_load(&convert.on))
		return false;
	datp_fork_hold(own);
	return true;
}

bool soft_convert(const struct soft_ia *ia, const struct datp_lmr *lmr)
{
	uint64_t addr = lmr->addr, len = lmr->len;
	struct converted *c;

	soft_whole_pages(&addr, &len);
	if (ia->want_memory != SOFT_MEMORY_SHARED || !len || len > SOFT_CONVERT_MAX ||
	    !(lmr->priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)))
		return false;
	c = converted_find(addr, len);
	if (!c && convert.uffd >= 0 && !is_our_own(addr, len) && soft_pages_movable(addr, len) &&
	    !soft_ia_regions_touch(addr, len)) {
		c = converted_new(lmr, addr, len);
		if (c) {
			c->next = convert.all;
			convert.all = c;
		}
	}
	return c;
}

/*
 * A conversion looks at all regions under the locks of their IAs. Either it finds this one, or this one was
 * added later and finds `on`; then the program, and so its peers, hear of the region only after the
 * conversion.
 */
void soft_convert_added(void)
{
	struct datp_fork_own own;

	if (soft_convert_lock(&own))
		datp_fork_release(&own);
}

/* Returns true if the range is mapped as this file made it; the program may have changed that. */
static bool is_as_converted(const struct converted *c)
{
	struct soft_backing backing;
	struct stat st;

	return fstat(c->fd, &st) == 0 && soft_pages_backing(getpid(), c->addr, c->len, &backing) &&
	       backing.writable && !backing.executable && backing.dev == st.st_dev && backing.ino == st.st_ino &&
	       backing.offset + (c->addr - backing.start) == 0;
}

/* Makes a range private again. If that fails it stays shared, which the program does not notice before it forks. */
static void converted_undo(struct converted *c)
{
	int error = 0;

	if (is_as_converted(c))
		error = soft_remap_private(convert.uffd, (void *)(uintptr_t)c->addr, c->len, c->fd, c->kept);
	else
		munmap(c->kept, c->len);
	if (error)
		datp_log(2,
			 "soft: %llu bytes at 0x%llx stay shared memory after their registration, and a child of "
			 "fork() has no memory there: %s",
			 (unsigned long long)c->len, (unsigned long long)c->addr, strerror(error));
	datp_fork_unlist(&c->fork_fd);
	close(c->fd);
	free(c);
}

void soft_convert_back(const struct datp_lmr *lmr)
{
	struct datp_fork_own own;

	if (!soft_convert_lock(&own))
		return;
	for (struct converted **p = &convert.all, *c; (c = *p);) {
		if (c->addr >= lmr->addr + lmr->len || lmr->addr >= c->addr + c->len ||
		    soft_ia_regions_touch(c->addr, c->len)) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		converted_undo(c);
	}
	uffd_drop();
	datp_fork_release(&own);
}
