/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the file behind a region of a peer, by the peer's entries in /proc.
 *
 * A peer can have these very long, and it can hold the kernel's lock of one of its directories there, as that of any directory: by
 * reading it into memory in which it keeps a page fault from ending, while another of its threads tries to make a name in it.
 * Whoever then opens a name there waits in the kernel, and no signal ends that. So an errand (errand.c) does that, the finder.
 * A peer has one at a time. Whoever has started it waits for it only for a while, because that thread has the EP lock, and
 * maybe the poll lock of a queue; a later access to the region finds the answer.
 *
 * Invariant: the searches for one process, which may pass as many peers, take a quarter of the bound at most, and a
 * SEARCH_SHARE-th of the time in the long run, and calls wait no longer than that for them, whatever the process does. While
 * nothing is left of this budget, its regions are not looked for. A search takes some 100 us where the peer is an ordinary program.
 * For a process one finder runs at a time, with those that were left behind, and for all of them FINDERS_MOST. All of that holds
 * for each adapter that is opened here. A poll ends when it has waited for the searches for many processes: soft_peer_waited().
 */
#define _GNU_SOURCE
#include "find.h"
#include "arena.h"
#include "bound.h"
#include "errand.h"
#include "pages.h"
#include "peer.h"
#include "soft.h"
#include <datp/timer.h>
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

#define SEARCH_MS	30u	 /* of processor time, for the search among the peer's descriptors; enough for thousands of them */
#define SEARCH_SHARE	10u
#define SEARCH_MOST_US	1000000u
#define FINDERS_MOST	16u	 /* so many run at the same time, with those that were left behind */
#define SEARCH_KEPT_US	1000000u /* an answer that nobody has taken for so long is forgotten */

struct soft_finder {
	struct soft_errand errand;
	pid_t pid;
	struct soft_sought sought;
	uint64_t took_us;
	/* whether a call waits for it, how long one has waited, and whether its time has been counted. finders.lock */
	bool awaited, counted;
	uint64_t waited_us;
	bool unsealed;
	dev_t device; /* where else than there a file is looked for only if `unsealed` */
	int fd;
	uint64_t offset;
	struct soft_finder *next; /* soft_ia.finders */
};

/* What the searches for a process have taken lately. It is forgotten when that does not count any more. */
struct soft_search_spent {
	pid_t pid;
	uint64_t used_us; /* how much of the budget has been used */
	uint64_t at_us;	  /* when that was so */
	struct soft_search_spent *next;
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

static void find(struct soft_finder *f)
{
	struct soft_backing backing;

	if (!soft_pages_backing(f->pid, f->sought.addr, f->sought.len, &backing))
		return;
	backing.unsealed = f->unsealed;
	/*
	 * A file that its owner cannot shorten is a memfd, and all memfds, as this adapter's arena, are of one device. Any other
	 * device may be that of a file system which the peer itself serves, so that each access would wait for the peer.
	 */
	if (!f->unsealed && backing.dev != f->device)
		return;
	f->fd = open_backing(f->pid, f->sought.flags, &backing);
	f->offset = backing.offset + (f->sought.addr - backing.start);
}

static void run(struct soft_errand *errand)
{
	struct soft_finder *f = (struct soft_finder *)errand;
	uint64_t began = datp_clock_us();

	find(f);
	f->took_us = datp_clock_us() - began;
}

static void close_found(struct soft_errand *errand)
{
	struct soft_finder *f = (struct soft_finder *)errand;

	if (f->fd >= 0)
		close(f->fd);
}

/* ---- the budgets of the processes ---- */

/* Gives back what the time that has passed makes up for. */
static void spent_settle(struct soft_search_spent *spent)
{
	uint64_t now = datp_clock_us(), back = (now - spent->at_us) / SEARCH_SHARE;

	spent->at_us = back < spent->used_us ? spent->at_us + back * SEARCH_SHARE : now;
	spent->used_us -= back < spent->used_us ? back : spent->used_us;
}

/* Returns the record of a process, or NULL if there is no memory for one. Forgets those that do not count. finders.lock */
static struct soft_search_spent *spent_locked(struct soft_finders *finders, pid_t pid)
{
	struct soft_search_spent **at = &finders->spent, *spent, *found = NULL;

	while ((spent = *at)) {
		spent_settle(spent);
		if (spent->pid == pid) {
			found = spent;
		} else if (!spent->used_us) {
			*at = spent->next;
			free(spent);
			continue;
		}
		at = &spent->next;
	}
	if (found)
		return found;
	found = malloc(sizeof *found);
	if (found) {
		*found = (struct soft_search_spent){ pid, 0, datp_clock_us(), finders->spent };
		finders->spent = found;
	}
	return found;
}

static void spend_locked(struct soft_finders *finders, pid_t pid, uint64_t us)
{
	struct soft_search_spent *spent = spent_locked(finders, pid);

	if (spent)
		spent->used_us += us;
}

/* Counts what a finder that has ended has taken beyond the time that a call has waited for it, if it has not been. finders.lock */
static void finder_count_locked(struct soft_finders *finders, struct soft_finder *f)
{
	/* not all of it, because this process may have been stopped meanwhile */
	uint64_t took_us = f->took_us < SEARCH_MOST_US ? f->took_us : SEARCH_MOST_US;

	if (!f->counted && took_us > f->waited_us)
		spend_locked(finders, f->pid, took_us - f->waited_us);
	f->counted = true;
}

/* Returns how long the next search for the peer may be waited for; 0: none may begin. */
static uint64_t left_us(const struct soft_peer *peer)
{
	const uint64_t most = (uint64_t)soft_bound_call(peer->ia) * 1000;
	struct soft_finders *finders = &peer->ia->finders;
	const struct soft_search_spent *spent;
	uint64_t left = 0;

	datp_lock(&finders->lock);
	/* another peer of the process may never take its answer */
	for (struct soft_finder *f = finders->first; f; f = f->next)
		if (!f->awaited && (soft_errand_is_done(&f->errand) || soft_errand_has_ended(&f->errand)))
			finder_count_locked(finders, f);
	spent = spent_locked(finders, peer->process.pid);
	if (spent && spent->used_us < most)
		left = most - spent->used_us;
	datp_unlock(&finders->lock);
	return left;
}

/* A call has waited so long for the finder. */
static void finder_waited(struct soft_finders *finders, struct soft_finder *f, uint64_t us)
{
	datp_lock(&finders->lock);
	f->awaited = false;
	f->waited_us = us;
	spend_locked(finders, f->pid, us);
	datp_unlock(&finders->lock);
}

/* ---- all finders of an adapter ---- */

/*
 * Adds a finder that is about to run. Returns false if its process has one that runs, maybe one that was left behind, or if too
 * many run. Forgets those that were left behind and have ended.
 */
static bool enlist(struct soft_ia *ia, struct soft_finder *finder)
{
	struct soft_finder **at = &ia->finders.first, *f;
	unsigned int n = 0;
	bool may = true;

	datp_lock(&ia->finders.lock);
	while ((f = *at)) {
		if (soft_errand_has_ended(&f->errand)) {
			finder_count_locked(&ia->finders, f); /* it may have ended since the budget was reckoned */
			*at = f->next;
			soft_errand_end(&f->errand);
			continue;
		}
		/* one that is done, but has been awaited until now, is not counted yet */
		if (f->awaited || !soft_errand_is_done(&f->errand)) {
			n++;
			may = may && f->pid != finder->pid;
		}
		at = &f->next;
	}
	may = may && n < FINDERS_MOST;
	if (may) {
		finder->next = ia->finders.first;
		ia->finders.first = finder;
	}
	datp_unlock(&ia->finders.lock);
	return may;
}

static void delist(struct soft_ia *ia, struct soft_finder *finder)
{
	struct soft_finder **at = &ia->finders.first;

	datp_lock(&ia->finders.lock);
	finder_count_locked(&ia->finders, finder);
	while (*at != finder)
		at = &(*at)->next;
	*at = finder->next;
	datp_unlock(&ia->finders.lock);
}

/* Those that are there now were left behind. */
void soft_finders_fini(struct soft_ia *ia)
{
	struct soft_search_spent *spent;
	struct soft_finder *f;

	while ((f = ia->finders.first)) {
		ia->finders.first = f->next;
		soft_errand_end(&f->errand);
	}
	while ((spent = ia->finders.spent)) {
		ia->finders.spent = spent->next;
		free(spent);
	}
}

static struct soft_finder *finder_new(struct soft_peer *peer, const struct soft_sought *sought)
{
	struct soft_finder *f = calloc(1, sizeof *f);
	struct stat st;

	if (!f)
		return NULL;
	*f = (struct soft_finder){ .errand = { .run = run, .undo = close_found, .done_fd = -1 }, .pid = peer->process.pid,
				   .awaited = true, .sought = *sought, .fd = -1,
				   .unsealed = peer->ia->want_share == SOFT_SHARE_UNSEALED };
	f->device = fstat(peer->ia->arena->fd, &st) == 0 ? st.st_dev : 0;
	if (enlist(peer->ia, f)) {
		if (soft_errand_start(&f->errand))
			return f;
		delist(peer->ia, f);
	}
	free(f);
	return NULL;
}

/* ---- the search ---- */

/* Takes the answer from the finder, which is done. search.lock */
static struct soft_finder *answer_take_locked(struct soft_peer *peer)
{
	struct soft_search *search = &peer->search;
	struct soft_finder *f = search->finder;

	delist(peer->ia, f);
	search->finder = NULL;
	search->answered_us = 0;
	return f;
}

/* Returns true if an answer has waited for too long, which was given for a region that is not accessed any more. search.lock */
static bool is_forgotten_locked(struct soft_search *search)
{
	if (!search->answered_us)
		search->answered_us = datp_clock_us();
	return datp_clock_us() - search->answered_us > SEARCH_KEPT_US;
}

static bool is_same(const struct soft_sought *a, const struct soft_sought *b)
{
	return a->context == b->context && a->addr == b->addr && a->len == b->len && a->flags == b->flags;
}

/*
 * Returns the finder if it has the answer for this region. *wait_us: a finder has been started, which is to be awaited for so long.
 * *old is one whose answer is to be dropped. search.lock
 */
static struct soft_finder *search_locked(struct soft_peer *peer, const struct soft_sought *sought, uint64_t *wait_us,
					 struct soft_finder **old)
{
	struct soft_search *search = &peer->search;

	if (search->finder) {
		if (search->awaited || !soft_errand_is_done(&search->finder->errand))
			return NULL;
		if (is_same(&search->finder->sought, sought))
			return answer_take_locked(peer);
		if (!is_forgotten_locked(search))
			return NULL;
		*old = answer_take_locked(peer);
	}
	*wait_us = left_us(peer);
	search->finder = *wait_us ? finder_new(peer, sought) : NULL;
	search->awaited = search->finder;
	if (!search->finder)
		*wait_us = 0;
	return NULL;
}

/* Waits for the finder that this thread has started. Returns it if it has the answer. */
static struct soft_finder *search_await(struct soft_peer *peer, uint64_t wait_us)
{
	struct soft_search *search = &peer->search;
	struct soft_finder *f;
	uint64_t began = datp_clock_us(), waited;

	soft_errand_wait(&search->finder->errand, wait_us); /* nobody else takes it meanwhile */
	waited = datp_clock_us() - began;
	waited = waited < wait_us ? waited : wait_us;
	finder_waited(&peer->ia->finders, search->finder, waited);
	datp_lock(&search->lock);
	search->awaited = false;
	/* relaxed: see soft_peer_waited() */
	__atomic_store_n(&search->waited_us, search->waited_us + waited, __ATOMIC_RELAXED);
	f = soft_errand_is_done(&search->finder->errand) ? answer_take_locked(peer) : NULL;
	datp_unlock(&search->lock);
	return f;
}

/* Drops the answer of a finder that is done. */
static void drop(struct soft_finder *f)
{
	close_found(&f->errand);
	soft_errand_end(&f->errand);
}

enum soft_find_end soft_find(struct soft_peer *peer, const struct soft_sought *sought, int *fd, uint64_t *offset)
{
	struct soft_finder *f, *old = NULL;
	uint64_t wait_us = 0;

	datp_lock(&peer->search.lock);
	f = search_locked(peer, sought, &wait_us, &old);
	datp_unlock(&peer->search.lock);
	if (old)
		drop(old);
	if (wait_us)
		f = search_await(peer, wait_us);
	if (!f)
		return SOFT_FIND_LATER;
	*fd = f->fd;
	*offset = f->offset;
	soft_errand_end(&f->errand);
	return *fd >= 0 ? SOFT_FOUND : SOFT_FOUND_NONE;
}

void soft_find_fini(struct soft_peer *peer)
{
	struct soft_finder *f = peer->search.finder;

	if (!f)
		return;
	if (soft_errand_leave(&f->errand))
		peer->search.finder = NULL; /* it stays in the adapter's list */
	else
		drop(answer_take_locked(peer));
}
