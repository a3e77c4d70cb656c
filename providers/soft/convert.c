/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of this process that are converted to shared memory. Each is the whole pages of a region and
 * has a memory file of its own, so that its memory is gone when the last of the mappings is. The bytes
 * beside the region on its first and last page stay in private memory: a peer maps whole pages, and
 * these bytes are not registered.
 *
 * A page becomes shared or private only while no other region of the process has a part of it, because
 * the copies of that region's peers would fail meanwhile (remap.h), or write to a page that the program does
 * not have any more. So when a region is freed, the pages that no other one has leave the file, and what is left of the range
 * may be several parts. Peers look for the file through this process's descriptors, as they do for a program's own (share.c).
 */
#define _GNU_SOURCE
#include "convert.h"
#include "ia.h"
#include "log/limited.h"
#include "mr.h"
#include "pages.h"
#include "remap.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Of the mappings that a process may have, each division of a range takes a few; and each part is looked up among all of them. */
#define DIVIDED_MOST 256u
/* The program may divide a part into several mappings, each of which is looked up among all of the process. */
#define MAPPINGS_MOST 64u

struct file {
	int fd;
	uint32_t parts; /* it is closed with the last one */
	struct datp_fork_fd fork_fd;
};

/* A part of a range that was converted: all of it at first. */
struct converted {
	struct converted *next;
	uint64_t addr, len;
	uint64_t offset; /* in the file */
	unsigned char *kept; /* see remap.h */
	struct file *file;
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
	uint32_t divided; /* how many parts there are more than files */
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
	convert.divided = 0;
}

/* ---- regions ---- */

static struct converted *converted_find(uint64_t addr, uint64_t len)
{
	struct converted *c = convert.all;

	while (c && !datp_range_holds(c->addr, c->len, addr, len))
		c = c->next;
	return c;
}

/*
 * Returns true if the file is open or mapped for writing elsewhere, or may be: the kernel refuses a read lease then. What
 * memfd_create() has opened does not count. With fs.leases-enable=0 it refuses each lease, but only after it has looked who has the
 * file open, and with another error, EINVAL. Any other failure says nothing of that, and so counts as if somebody had.
 *
 * The lease is given back at once. Whoever opens the file meanwhile waits for that, and the kernel announces it by a signal; this
 * one is ignored unless the program has a handler.
 */
static bool file_is_elsewhere(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0)
		return true;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno != EINVAL;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/*
 * Maps a new file so that no child inherits it, and seals it. Returns 0 or an errno: EBUSY if another process has opened the file
 * before it was sealed, because it may have another length or content then, and what is mapped for writing stays so.
 */
static int file_map(int fd, uint64_t len, int seals, void **file)
{
	struct stat st;
	int error;

	*file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*file == MAP_FAILED)
		return errno;
	error = madvise(*file, len, MADV_DONTFORK) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0 ? errno : 0;
	if (!error && seals & F_SEAL_FUTURE_WRITE && file_is_elsewhere(fd))
		error = EBUSY;
	if (!error && fstat(fd, &st) < 0)
		error = errno;
	if (!error && ((uint64_t)st.st_size != len || st.st_blocks))
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
	struct file *file = calloc(1, sizeof *file);
	int error, seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *map = NULL, *kept;

	if (!c || !file) {
		free(c);
		free(file);
		return NULL;
	}
	/* what peers may not write they cannot map for writing either, from Linux 5.1 on; this process has its mapping already */
	if (!(lmr->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		seals |= F_SEAL_FUTURE_WRITE;
	file->fd = file_new(len, seals, &map);
	file->parts = 1;
	error = file->fd < 0 ? errno : soft_remap_shared(convert.uffd, (void *)(uintptr_t)addr, len, map, &kept);
	if (!error) {
		*c = (struct converted){ .addr = addr, .len = len, .kept = kept, .file = file };
		datp_fork_list(&file->fork_fd, file->fd);
		return c;
	}
	datp_log(4, "soft: %llu bytes at 0x%llx stay private memory: %s", (unsigned long long)len, (unsigned long long)addr,
		 error == EFAULT ? "a page of them cannot be read; is it a guard page (MADV_GUARD_INSTALL)?" : strerror(error));
	if (file->fd >= 0) {
		munmap(map, len);
		close(file->fd);
	}
	free(file);
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

/* Returns the end of the mapping at `at` if that is as this file made it; else 0, with errno: see as_converted(). */
static uint64_t mapping_end(const struct converted *c, const struct stat *st, uint64_t at)
{
	struct soft_backing backing;

	if (!soft_pages_backing(getpid(), at, 1, &backing))
		return 0;
	errno = ENOENT;
	return backing.writable && !backing.executable && backing.dev == st->st_dev && backing.ino == st->st_ino &&
			       backing.offset + (at - backing.start) == c->offset + (at - c->addr)
		       ? backing.end
		       : 0;
}

/*
 * Returns 0 if the part is mapped as this file made it, ENOENT if the program has changed that, or why this cannot be told. It may
 * be several mappings, because what the program says of some of its pages, as by madvise(2), divides one; but not of so many
 * that looking them up would take long. *divided says whether it is.
 */
static int as_converted(const struct converted *c, bool *divided)
{
	uint64_t at = c->addr;
	unsigned int n = 0;
	struct stat st;

	if (fstat(c->file->fd, &st) < 0)
		return errno;
	while (at && at - c->addr < c->len && n++ < MAPPINGS_MOST)
		at = mapping_end(c, &st, at);
	*divided = n > 1;
	if (at && at - c->addr < c->len)
		return ENOENT;
	return at ? 0 : errno;
}

/* Makes a part private again. If that fails it stays shared, which the program does not notice before it forks. */
static void converted_undo(struct converted *c)
{
	static struct log_limit stays;
	bool divided = false;
	int error = as_converted(c, &divided);

	if (error)
		soft_remap_forget(c->kept, c->len);
	else
		error = soft_remap_private(convert.uffd, (void *)(uintptr_t)c->addr, c->len, c->file->fd, c->offset, divided,
					   c->kept);
	if (error && error != ENOENT)
		log_limited(&stays, 2,
			    "soft: %llu bytes at 0x%llx stay shared memory after their registration, and a child of "
			    "fork() has no memory there: %s",
			    (unsigned long long)c->len, (unsigned long long)c->addr, strerror(error));
	if (--c->file->parts) {
		convert.divided--;
	} else {
		datp_fork_unlist(&c->file->fork_fd);
		close(c->file->fd);
		free(c->file);
	}
	free(c);
}

/* Divides a part in two, of which the first has `len` bytes. Returns false if there are too many, or if there is no memory. */
static bool converted_divide(struct converted *c, uint64_t len)
{
	struct converted *second = convert.divided < DIVIDED_MOST ? malloc(sizeof *second) : NULL;

	if (!second)
		return false;
	*second = (struct converted){ c->next, c->addr + len, c->len - len, c->offset + len, c->kept + len, c->file };
	c->next = second;
	c->len = len;
	c->file->parts++;
	convert.divided++;
	return true;
}

/* Leaves a part as it is, or takes it out and makes it private. Returns where the next one is. */
static struct converted **converted_pass(struct converted **at, bool stays)
{
	struct converted *c = *at;

	if (stays)
		return &c->next;
	*at = c->next;
	converted_undo(c);
	return at;
}

/*
 * Makes those pages of a part private that no region has any more. Returns where the next part is. If there are too many parts, or
 * no memory, such pages may stay until another region there is freed; to make all of them private takes no memory.
 */
static struct converted **converted_reduce(struct converted **at)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = (*at)->len / page, first = 0, i = 0;
	struct soft_cover cover = { (*at)->addr, (*at)->len, page, calloc(pages + 1, sizeof *cover.change) };
	int32_t regions = 0; /* how many have page `i` */
	bool stays;

	if (!cover.change)
		return converted_pass(at, soft_ia_regions_touch(cover.addr, cover.len));
	soft_ia_regions_cover(&cover);
	for (; i < pages; first = i) {
		regions += cover.change[i];
		stays = regions;
		for (i++; i < pages && (regions + cover.change[i] != 0) == stays; i++)
			regions += cover.change[i];
		if (i < pages && !converted_divide(*at, (i - first) * page)) {
			stays = true;
			i = pages; /* all that is left is one part */
		}
		at = converted_pass(at, stays);
	}
	free(cover.change);
	return at;
}

void soft_convert_back(const struct datp_lmr *lmr)
{
	struct datp_fork_own own;
	struct converted **at = &convert.all;

	if (!soft_convert_lock(&own))
		return;
	while (*at)
		if ((*at)->addr < lmr->addr + lmr->len && lmr->addr < (*at)->addr + (*at)->len)
			at = converted_reduce(at);
		else
			at = &(*at)->next;
	uffd_drop();
	datp_fork_release(&own);
}
