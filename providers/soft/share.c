/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions of a peer that are shared memory: a memfd that is sealed against shrinking, which is the
 * program's own or, with memory=shared, one of convert.c for the whole pages of the region. The first
 * access to one finds the file behind it (find.c) and maps it; from then on loads and stores do what
 * otherwise takes a system call. The owner only says that a region is of this kind, and wakes the
 * peer's service thread when it frees a region that a peer has mapped (SOFT_MR_MAPPED), so that the
 * memory does not outlive the region here.
 *
 * What the peer writes about where a region lies is not trusted: an access stays within what was
 * mapped.
 */
#define _GNU_SOURCE
#include "share.h"
#include "convert.h"
#include "find.h"
#include "foreign.h"
#include "mr.h"
#include "tick.h"
#include "providers/common/base/cancel.h"
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* How much of one peer is mapped at most, and how many of its regions, so that address space and mappings are left for all else. */
#define SHARE_ROOM (1ull << 40)
#define SHARE_MOST 2048u
#define SHARE_ALL  16384u /* and how many of all peers */

#ifndef SWEEP_SPINS
#define SWEEP_SPINS 8 /* how often to yield to a thread that uses a share; after that the tick looks again */
#endif

/* ---- shares ---- */

static void room_give(struct soft_peer *peer, uint64_t len)
{
	/* relaxed: only the sum matters */
	atomic_fetch_sub_explicit(&peer->share_room, len, memory_order_relaxed);
}

/* Returns false if that would be too much of a peer. More than one thread may map something at a time, so this adds first. */
static bool room_take(struct soft_peer *peer, uint64_t len)
{
	/* relaxed: only the sum matters */
	if (len <= SHARE_ROOM && atomic_fetch_add_explicit(&peer->share_room, len, memory_order_relaxed) <= SHARE_ROOM - len)
		return true;
	if (len <= SHARE_ROOM)
		room_give(peer, len);
	return false;
}

/*
 * Maps a part of a file. If the program has its future mappings locked (mlockall), the kernel fills all of a mapping with memory at
 * once, however much that is: but not of one that nobody may access, and not after it has been unlocked.
 */
static void *map_unlocked(uint64_t len, int prot, int fd, off_t offset)
{
	void *map = mmap(NULL, len, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, offset);

	if (map == MAP_FAILED || (munlock(map, len) == 0 && mprotect(map, len, prot) == 0))
		return map;
	munmap(map, len);
	return MAP_FAILED;
}

static bool share_map(struct soft_peer *peer, struct soft_share *share, int fd, uint64_t offset)
{
	struct stat st;
	uint64_t block, before;

	if (fstat(fd, &st) < 0 || st.st_size < 0 || offset > (uint64_t)st.st_size ||
	    share->len > (uint64_t)st.st_size - offset)
		return false;
	block = st.st_blksize > 0 ? (uint64_t)st.st_blksize : 4096; /* huge pages are mapped whole */
	before = offset & (block - 1);
	share->map.len = (share->len + before + block - 1) & ~(block - 1);
	if (!room_take(peer, share->map.len))
		return false;
	share->map.at = map_unlocked(share->map.len, PROT_READ | (share->writable ? PROT_WRITE : 0), fd, (off_t)(offset - before));
	if (share->map.at == MAP_FAILED) {
		room_give(peer, share->map.len);
		return false;
	}
	share->at = (unsigned char *)share->map.at + before;
	return true;
}

/*
 * Finds the file of a region, and maps that. Returns false if it is not known yet where the file is. A post comes here with locks,
 * so the thread is not cancelled meanwhile; that costs nothing beside a search.
 */
static bool share_find(struct soft_peer *peer, struct soft_share *share)
{
	const struct soft_sought sought = { share->context, share->addr, share->len, share->writable ? O_RDWR : O_RDONLY };
	enum soft_find_end end;
	struct cancel own;
	uint64_t offset;
	int fd;

	cancel_off(&own);
	end = soft_find(peer, &sought, &fd, &offset);
	if (end == SOFT_FOUND) {
		/* the mapping keeps the file */
		if (share_map(peer, share, fd, offset))
			close(fd);
		else
			soft_foreign_close(fd);
	}
	cancel_restore(&own);
	return end != SOFT_FIND_LATER;
}

/* Returns the share of a region, or NULL if there is none yet. It is not mapped if it cannot be. */
static struct soft_share *share_new(struct soft_peer *peer, uint32_t context)
{
	struct soft_mr *mr = &peer->mr[SOFT_MR_INDEX(context)];
	struct soft_share *share = calloc(1, sizeof *share);
	uint32_t priv;

	if (!share)
		return NULL;
	/* relaxed: the region exists, or else nobody asks for this context any more */
	share->context = context;
	share->addr = atomic_load_explicit(&mr->addr, memory_order_relaxed);
	share->len = atomic_load_explicit(&mr->len, memory_order_relaxed);
	priv = atomic_load_explicit(&mr->priv, memory_order_relaxed);
	share->writable = priv & SOFT_MR_WRITES;
	if (priv & SOFT_MR_CONVERTED) {
		soft_whole_pages(&share->addr, &share->len);
		share->writable = priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG; /* without that right the file is sealed against writing */
	}
	if (share->len && !share_find(peer, share)) {
		free(share);
		return NULL;
	}
	/* relaxed: the owner reads it after it has seen the end of the execution lock's holding by this thread */
	atomic_fetch_or_explicit(&mr->priv, SOFT_MR_MAPPED, memory_order_relaxed);
	return share;
}

static void share_delete(struct soft_ia *ia, struct soft_share *share)
{
	if (share->at)
		soft_unmap_later(&share->map);
	else
		free(share);
	atomic_fetch_sub_explicit(&ia->shares, 1, memory_order_relaxed);
}

static struct soft_share *_Atomic *share_bucket(struct soft_peer *peer, uint32_t context)
{
	return &peer->shares[SOFT_MR_INDEX(context) % SOFT_SHARE_BUCKETS];
}

/* Returns the region's share with a reference, or NULL. share_lock */
static struct soft_share *share_find_locked(struct soft_peer *peer, uint32_t context)
{
	/* relaxed, both: written under the lock */
	struct soft_share *share = atomic_load_explicit(share_bucket(peer, context), memory_order_relaxed);

	while (share && share->context != context)
		share = atomic_load_explicit(&share->next, memory_order_relaxed);
	if (share) /* relaxed: shares_take() looks under the lock */
		atomic_fetch_add_explicit(&share->users, 1, memory_order_relaxed);
	return share;
}

/* share_lock */
static void share_add_locked(struct soft_peer *peer, struct soft_share *share)
{
	struct soft_share *_Atomic *bucket = share_bucket(peer, share->context);

	/* relaxed: written under the lock. release: a thread may be at a share that comes back, and go on from there */
	atomic_store_explicit(&share->next, atomic_load_explicit(bucket, memory_order_relaxed), memory_order_release);
	/* release: publishes it to soft_share_known() */
	atomic_store_explicit(bucket, share, memory_order_release);
	peer->share_count++;
}

/* Returns true if one more region of the peer may be mapped. A few more may be if several threads ask. share_lock */
static bool share_may_be_added_locked(const struct soft_peer *peer)
{
	return peer->share_count < SHARE_MOST && atomic_load_explicit(&peer->ia->shares, memory_order_relaxed) < SHARE_ALL;
}

/* Returns the region's share, with a reference; creates it if there is none. Returns NULL if that is not possible, or not yet. */
static struct soft_share *share_get(struct soft_peer *peer, uint32_t context)
{
	struct soft_share *share, *other;
	bool may;

	datp_lock(&peer->share_lock);
	share = share_find_locked(peer, context);
	may = share_may_be_added_locked(peer);
	datp_unlock(&peer->share_lock);
	if (share || !may)
		return share;
	share = share_new(peer, context);
	if (!share)
		return NULL;
	atomic_fetch_add_explicit(&peer->ia->shares, 1, memory_order_relaxed);
	datp_lock(&peer->share_lock);
	other = share_find_locked(peer, context); /* another connection has mapped it meanwhile */
	if (!other) {
		atomic_init(&share->users, 1);
		share_add_locked(peer, share);
	}
	datp_unlock(&peer->share_lock);
	if (!other)
		return share;
	room_give(peer, share->at ? share->map.len : 0);
	share_delete(peer->ia, share);
	return other;
}

/* Returns the context of the region that a context opens, or 0 if that cannot be mapped. */
static uint32_t region_of(const struct soft_peer *peer, uint32_t context)
{
	const struct soft_mr *mr;
	uint32_t region;

	if (SOFT_MR_INDEX(context) >= SOFT_MR_COUNT)
		return 0;
	mr = &peer->mr[SOFT_MR_INDEX(context)];
	/* relaxed, here and below: the check of the access acquired the entry */
	region = atomic_load_explicit(&mr->lmr, memory_order_relaxed);
	if (!region)
		region = context;
	if (SOFT_MR_INDEX(region) >= SOFT_MR_COUNT)
		return 0;
	mr = &peer->mr[SOFT_MR_INDEX(region)];
	return atomic_load_explicit(&mr->priv, memory_order_relaxed) & SOFT_MR_FILE ? region : 0;
}

void soft_share_leave_one(struct soft_share *share)
{
	/* release: comes after the copy; shares_take() acquires it */
	atomic_fetch_sub_explicit(&share->users, 1, memory_order_release);
}

unsigned char *soft_share_one(struct soft_peer *peer, const struct datp_rge *buffer, bool write, struct soft_share **used)
{
	uint32_t region = region_of(peer, buffer->rmr_context);
	struct soft_share *share = region ? share_get(peer, region) : NULL;
	unsigned char *at;

	if (!share)
		return NULL;
	at = soft_share_at(share, buffer->addr, buffer->len, write);
	if (!at)
		soft_share_leave_one(share);
	*used = share;
	return at;
}

bool soft_share_reach(struct soft_peer *peer, const struct soft_list *remote, bool write,
		      struct soft_reach *reach)
{
	if (!remote->sge || peer->ia->want_share == SOFT_SHARE_OFF)
		return false;
	reach->n = reach->list.n = reach->list.at = 0;
	reach->list.sge = NULL;
	reach->list.right = NULL;
	for (int i = 0; i < remote->n; i++) {
		const struct iovec *v = &remote->iov[i];
		const struct datp_rge buffer = { remote->sge[i].lmr_context, 0, (uintptr_t)v->iov_base, v->iov_len };
		unsigned char *at;

		if (!v->iov_len)
			continue;
		at = soft_share_one(peer, &buffer, write, &reach->used[reach->n]);
		if (!at) {
			soft_share_leave(reach);
			return false;
		}
		reach->n++;
		reach->list.iov[reach->list.n++] = (struct iovec){ at, v->iov_len };
	}
	return true;
}

void soft_share_leave(struct soft_reach *reach)
{
	while (reach->n)
		soft_share_leave_one(reach->used[--reach->n]);
}

/* Returns the part of a peer's range that lies in a mapping; its length is 0 if none does. The peer may have made up the range. */
static struct soft_range range_mapped(const struct soft_range *range, const struct soft_share *share)
{
	uint64_t before = share->addr > range->addr ? share->addr - range->addr : 0;
	uint64_t after = share->addr > range->addr ? 0 : range->addr - share->addr;
	struct soft_range part = { .addr = share->addr + after };

	if (before < range->len && after < share->len)
		part.len = range->len - before < share->len - after ? range->len - before : share->len - after;
	return part;
}

void soft_share_note(struct soft_ep *ep)
{
	struct soft_near *near = &ep->near;
	struct soft_peer *peer = ep->peer;
	/*
	 * acquire, both: the second finds no share whose removal the first has counted, so that the note does not hold any more
	 * when a share that it finds has been taken out; and it finds what share_add_locked() has published
	 */
	uint64_t ends = atomic_load_explicit(&peer->share_ends, memory_order_acquire);
	const struct soft_share *share = atomic_load_explicit(share_bucket(peer, near->context), memory_order_acquire);
	struct soft_range range, part;

	while (share && share->context != near->context)
		share = atomic_load_explicit(&share->next, memory_order_acquire);
	near->rights = 0;
	near->ends = ends;
	/* `range.lmr`: the region is dead, and its context is that of a window now */
	if (!share || !share->at || !soft_mr_get(peer->mr, near->context, &range) || range.lmr ||
	    range.pz != SOFT_ONCE(ep->rport->pz))
		return;
	part = range_mapped(&range, share);
	near->mr = &peer->mr[SOFT_MR_INDEX(near->context)];
	near->addr = part.addr;
	near->len = part.len;
	near->here = (uintptr_t)share->at - share->addr;
	near->rights = range.priv & (share->writable ? DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG :
						       DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

/*
 * Takes out of a peer's shares those of dead regions, or all of them, and puts them into a list. Returns false if one of a dead
 * region is in use, and stays. share_lock
 */
static bool shares_take_locked(struct soft_peer *peer, bool all, struct soft_share **taken)
{
	bool whole = true;

	for (size_t i = 0; i < SOFT_SHARE_BUCKETS; i++) {
		struct soft_share *_Atomic *p = &peer->shares[i];
		struct soft_share *share;

		/* relaxed, all: written under the lock */
		while ((share = atomic_load_explicit(p, memory_order_relaxed))) {
			const struct soft_mr *mr = &peer->mr[SOFT_MR_INDEX(share->context)];

			/* relaxed, both: this thread was woken after the end of the region. A window may have got its context */
			bool dead = all || atomic_load_explicit(&mr->context, memory_order_relaxed) != share->context ||
				    atomic_load_explicit(&mr->lmr, memory_order_relaxed);

			/* acquire: the copies have ended */
			if (!dead || (!all && atomic_load_explicit(&share->users, memory_order_acquire))) {
				whole = whole && !dead;
				p = &share->next;
				continue;
			}
			/* a thread in soft_share_known() may be here, so `next` stays as it is until none is */
			atomic_store_explicit(p, atomic_load_explicit(&share->next, memory_order_relaxed),
					      memory_order_relaxed);
			peer->share_count--;
			share->out = *taken;
			*taken = share;
		}
	}
	return whole;
}

/*
 * Returns true if every thread that was executing requests of this peer's connections is done with what it
 * was executing. ia.lock
 */
static bool works_have_ended(const struct soft_ia *ia, const struct soft_peer *peer)
{
	for (uint32_t i = 0; i < ia->port_next; i++) {
		const struct soft_ep *ep = atomic_load_explicit(&ia->ports[i], memory_order_relaxed);
		/* sequentially consistent: see soft_share_known() */
		uint32_t work = ep && ep->peer == peer ? __atomic_load_n(&ep->at_work, __ATOMIC_SEQ_CST) : 0;

		if (!(work & 1))
			continue;
		/* acquire: makes its last accesses come before what the caller does next */
		for (unsigned int n = 0; __atomic_load_n(&ep->at_work, __ATOMIC_ACQUIRE) == work; n++) {
			if (n == SWEEP_SPINS)
				return false;
			sched_yield();
		}
	}
	return true;
}

/*
 * The same for the shares of dead regions, after everybody has finished who may still use one of them without a reference.
 * Otherwise leaves them where they were. Returns false if some are left. ia.lock
 */
static bool shares_take_dead(struct soft_ia *ia, struct soft_peer *peer, struct soft_share **taken)
{
	struct soft_share *dead = NULL, *share;
	bool ended, whole;

	datp_lock(&peer->share_lock);
	whole = shares_take_locked(peer, false, &dead);
	if (dead) /* release: whoever finds this number does not find those shares any more; see soft_share_note() */
		atomic_fetch_add_explicit(&peer->share_ends, 1, memory_order_release);
	datp_unlock(&peer->share_lock);
	if (!dead)
		return whole;
	datp_bias_fence(); /* see soft_work_begin_with_lock() */
	ended = works_have_ended(ia, peer);
	datp_lock(&peer->share_lock);
	while ((share = dead)) {
		dead = share->out;
		if (ended) {
			room_give(peer, share->at ? share->map.len : 0);
			share->out = *taken;
			*taken = share;
		} else {
			share_add_locked(peer, share);
		}
	}
	datp_unlock(&peer->share_lock);
	return ended && whole;
}

static void shares_delete(struct soft_ia *ia, struct soft_share *share)
{
	while (share) {
		struct soft_share *out = share->out;

		share_delete(ia, share);
		share = out;
	}
}

bool soft_shares_again(struct soft_ia *ia)
{
	if (ia->shares_wait)
		soft_shares_sweep(ia);
	return ia->shares_wait;
}

void soft_shares_sweep(struct soft_ia *ia)
{
	struct soft_share *taken = NULL;

	datp_lock(&ia->lock);
	ia->shares_wait = false;
	for (struct soft_peer *peer = ia->peers; peer; peer = peer->next)
		if (!shares_take_dead(ia, peer, &taken))
			ia->shares_wait = true;
	datp_unlock(&ia->lock);
	shares_delete(ia, taken);
	if (ia->shares_wait)
		soft_tick_set(ia);
}

void soft_shares_drop(struct soft_peer *peer)
{
	struct soft_share *taken = NULL;

	/* no connection has this peer any more, so nobody executes its requests */
	datp_lock(&peer->share_lock);
	(void)shares_take_locked(peer, true, &taken);
	datp_unlock(&peer->share_lock);
	shares_delete(peer->ia, taken);
	soft_find_fini(peer);
}
