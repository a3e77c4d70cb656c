/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the file behind a region of a peer, by the peer's entries in /proc.
 *
 * A peer can have these very long, and it can hold the kernel's lock of one of its directories there, as that of any directory: by
 * reading it into memory in which it keeps a page fault from ending, while another of its threads tries to make a name in it.
 * Whoever then opens a name there waits in the kernel, and no signal ends that. So an errand (errand.c) does that, the finder. If
 * it has to be left behind, no region of that peer is looked for any more.
 */
#define _GNU_SOURCE
#include "find.h"
#include "arena.h"
#include "errand.h"
#include "pages.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SEARCH_MS 30u /* of processor time, for the search among the peer's descriptors; enough for thousands of them */

struct soft_finder {
	struct soft_errand errand;
	pid_t pid;
	uint64_t addr, len;
	int flags;
	bool unsealed;
	dev_t device; /* where else than there a file is looked for only if `unsealed` */
	int fd;
	uint64_t offset;
};

/* ---- finding the file ---- */

/*
 * Returns true if this is the file that is looked for and it may be mapped. If the file can lose
 * pages, its owner's mistake raises SIGBUS here. `unsealed` allows that, but only for files in
 * memory, because too many programs can change the size of any other file.
 */
static bool file_is(int fd, const struct soft_backing *backing)
{
	struct stat st;
	struct statfs fs;

	return fstat(fd, &st) == 0 && st.st_dev == backing->dev && st.st_ino == backing->ino &&
	       (soft_file_stays(fd) || (backing->unsealed && fstatfs(fd, &fs) == 0 &&
					(fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC)));
}

/*
 * Returns true if a name in a directory stands for this file or, if the name is empty, a descriptor, which may be one of O_PATH.
 * Asks nobody who serves a file system.
 */
static bool place_is(int place, const char *name, const struct soft_backing *backing)
{
	struct statx st;

	return statx(place, name, AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) == 0 &&
	       S_ISREG(st.stx_mode) && makedev(st.stx_dev_major, st.stx_dev_minor) == backing->dev && st.stx_ino == backing->ino;
}

/*
 * Opens a name, and closes it again if it is another file. The peer may at any time put something else there, and to open a
 * pipe or a device may wait for ever or have an effect. So this finds out what it is by a descriptor that does not open it, and
 * opens what that stands for. O_NONBLOCK: not even then does this wait, for a peer that has a lease on the file (fcntl(2)).
 */
static int open_checked(const char *name, int flags, const struct soft_backing *backing)
{
	int place = open(name, O_PATH | O_CLOEXEC), fd = -1;
	char self[32];

	if (place < 0)
		return -1;
	if (place_is(place, "", backing)) {
		snprintf(self, sizeof self, "/proc/self/fd/%d", place);
		fd = open(self, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	}
	close(place);
	if (fd >= 0 && !file_is(fd, backing)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Opens the file by the peer's mapping: by the link to the mapping itself, which takes a capability
 * that few have, or by the name that the file has. Returns -1 if neither works.
 */
static int open_mapping(pid_t pid, int flags, const struct soft_backing *backing)
{
	char name[64], path[PATH_MAX];
	ssize_t len;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)backing->start, (unsigned long long)backing->end);
	fd = open_checked(name, flags, backing);
	/* a memfd has no name, and what the peer calls it may look like one */
	if (fd >= 0 || !backing->unsealed)
		return fd;
	len = readlink(name, path, sizeof path - 1);
	if (len <= 0 || path[0] != '/')
		return -1;
	path[len] = '\0';
	return open_checked(path, flags, backing);
}

/* The processor time that this thread has used, in milliseconds: on a busy machine the search does not get shorter. */
static uint64_t used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* Opens it by one of the peer's descriptors, because a memfd has no name. The peer may have very many. */
static int open_descriptor(pid_t pid, int flags, const struct soft_backing *backing)
{
	uint64_t until = used_ms() + SEARCH_MS;
	char name[64];
	struct dirent *entry;
	int fd = -1;
	DIR *dir;

	snprintf(name, sizeof name, "/proc/%d/fd", (int)pid);
	dir = opendir(name);
	while (dir && fd < 0 && (entry = readdir(dir)) && used_ms() < until) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (*end || !place_is(dirfd(dir), entry->d_name, backing))
			continue;
		snprintf(name, sizeof name, "/proc/%d/fd/%lu", (int)pid, number);
		fd = open_checked(name, flags, backing);
	}
	if (dir)
		closedir(dir);
	return fd;
}

static int open_backing(pid_t pid, int flags, const struct soft_backing *backing)
{
	int fd = open_mapping(pid, flags, backing);

	return fd >= 0 ? fd : open_descriptor(pid, flags, backing);
}

/* ---- the finder ---- */

static void find(struct soft_errand *errand)
{
	struct soft_finder *f = (struct soft_finder *)errand;
	struct soft_backing backing;

	if (!soft_pages_backing(f->pid, f->addr, f->len, &backing))
		return;
	backing.unsealed = f->unsealed;
	/*
	 * A file that its owner cannot shorten is a memfd, and all memfds, as this adapter's arena, are of one device. Any other
	 * device may be that of a file system which the peer itself serves, so that each access would wait for the peer.
	 */
	if (!f->unsealed && backing.dev != f->device)
		return;
	f->fd = open_backing(f->pid, f->flags, &backing);
	f->offset = backing.offset + (f->addr - backing.start);
}

static void close_found(struct soft_errand *errand)
{
	struct soft_finder *f = (struct soft_finder *)errand;

	if (f->fd >= 0)
		close(f->fd);
}

int soft_find(struct soft_peer *peer, uint64_t addr, uint64_t len, int flags, uint64_t *offset)
{
	struct soft_finder *f = atomic_load_explicit(&peer->hides, memory_order_relaxed) ? NULL : calloc(1, sizeof *f);
	struct stat st;
	int fd = -1;

	if (!f)
		return -1;
	*f = (struct soft_finder){ .errand = { .run = find, .undo = close_found, .done_fd = -1 }, .pid = peer->process.pid,
				   .addr = addr, .len = len, .flags = flags, .fd = -1,
				   .unsealed = peer->ia->want_share == SOFT_SHARE_UNSEALED };
	f->device = fstat(peer->ia->arena->fd, &st) == 0 ? st.st_dev : 0;
	if (!soft_errand_start(&f->errand)) {
		free(f);
		return -1;
	}
	if (soft_errand_await(&f->errand, peer->ia)) {
		fd = f->fd;
		*offset = f->offset;
	} else {
		/* one for each of our threads that looks at this moment; relaxed: whoever does not see it waits as well */
		atomic_store_explicit(&peer->hides, true, memory_order_relaxed);
	}
	soft_errand_end(&f->errand);
	return fd;
}
