/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copier: a thread of an adapter that copies between the memory of a peer and a buffer of its own, by the kernel. A peer can
 * hold up such a copy for as long as it likes (userfaultfd(2), a file system that it serves), and no signal ends it. So the
 * progress thread (progress.c), which may not wait for a peer without a bound, leaves its copies to the copier and awaits them
 * within the bound. If the copier does not answer, it is left behind: it ends when the kernel lets it go, and the next copy gets
 * another one.
 *
 * Invariant: a copier accesses nothing but the memory of its peer, its buffer and a mapping of its own of the word that says
 * whether the right is valid; it has no lock. So nothing waits for one that was left behind, which may outlive the adapter. A peer
 * has at most one that was left behind: as long as that has not ended, the peer does not get another.
 */
#define _GNU_SOURCE
#include "copier.h"
#include "bound.h"
#include "peer.h"
#include "run.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPIER_SIZE    (256u << 10)
#define COPIER_LOOK_NS 50000000L /* how often the caller looks at the clock and the peer */
/* A long copy is awaited longer than the bound, by a millisecond for each 16 KiB. */
#define COPIER_MS(len) ((len) >> 14)

enum copier_state { COPIER_IDLE, COPIER_ASKED, COPIER_DONE, COPIER_LEFT, COPIER_STOP };

struct soft_copier {
	pthread_t thread;
	_Atomic uint32_t state; /* a futex. The fields below belong to the copier while it is ASKED or LEFT */
	_Atomic uint32_t refs;	/* the thread's, and that of the adapter or, when it is left behind, of the peer */
	_Atomic bool ended;
	struct soft_list remote;
	struct soft_right right;
	const void *page; /* the mapping of right.open */
	pid_t pid;
	bool write, ordered;
	int error;
	uint64_t len;
	unsigned char data[COPIER_SIZE];
};

static void wake(struct soft_copier *c)
{
	syscall(SYS_futex, &c->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wait_while(struct soft_copier *c, uint32_t state, const struct timespec *timeout)
{
	syscall(SYS_futex, &c->state, FUTEX_WAIT_PRIVATE, state, timeout, NULL, 0);
}

static void put(struct soft_copier *c)
{
	/* acq_rel: the last one frees it after all that the other has done */
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- the copier's thread ---- */

static void copy_piece(struct soft_copier *c)
{
	struct soft_list data;

	soft_list_one(&data, (uintptr_t)c->data, c->len);
	c->error = soft_cma(c->pid, c->write, c->ordered, &data, &c->remote, c->len);
	munmap((void *)(uintptr_t)c->page, page_size());
}

static void *run(void *arg)
{
	struct soft_copier *c = arg;
	uint32_t state, asked;

	/* acquire: makes the question visible */
	while ((state = atomic_load_explicit(&c->state, memory_order_acquire)) != COPIER_STOP) {
		if (state != COPIER_ASKED) {
			wait_while(c, state, NULL);
			continue;
		}
		copy_piece(c);
		asked = COPIER_ASKED;
		/* release: publishes the answer */
		if (!atomic_compare_exchange_strong_explicit(&c->state, &asked, COPIER_DONE, memory_order_release,
							     memory_order_relaxed))
			break; /* it was left behind */
		wake(c);
	}
	atomic_store_explicit(&c->ended, true, memory_order_release);
	put(c);
	return NULL;
}

/* ---- the caller's side ---- */

static struct soft_copier *start(void)
{
	struct soft_copier *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	atomic_store_explicit(&c->refs, 2, memory_order_relaxed);
	if (soft_run(&c->thread, run, c) == 0)
		return c;
	free(c);
	return NULL;
}

/* Returns true if a copier that was left behind still copies for the peer. */
static bool is_held_up(struct soft_peer *peer)
{
	struct soft_copier *c = peer->copier_left;

	if (c && !atomic_load_explicit(&c->ended, memory_order_acquire))
		return true;
	soft_copier_forget(peer);
	return false;
}

/* Gives the copier a mapping of its own of the word that says whether the right is valid. */
static bool own_right(struct soft_peer *peer, struct soft_copier *c, const struct soft_right *right)
{
	const char *page = soft_peer_page(peer, (const void *)right->open, page_size());

	if (!page)
		return false;
	c->page = page;
	c->right = (struct soft_right){ .open = (const void *)(page + ((uintptr_t)right->open & (page_size() - 1))),
					.gen = right->gen };
	c->remote.right = &c->right;
	return true;
}

/* Leaves the copier behind, unless it has just answered. */
static bool leave(struct soft_peer *peer, struct soft_copier *c)
{
	uint32_t asked = COPIER_ASKED;

	if (!atomic_compare_exchange_strong_explicit(&c->state, &asked, COPIER_LEFT, memory_order_acq_rel,
						     memory_order_acquire))
		return false;
	pthread_detach(c->thread);
	peer->copier_left = c;
	peer->ia->copier = NULL;
	return true;
}

/* Waits for the answer. Returns 0, ESRCH if the peer has died, or ETIMEDOUT. */
static int await(struct soft_peer *peer, struct soft_copier *c, uint64_t *until, uint64_t *looked)
{
	const struct timespec look = { .tv_nsec = COPIER_LOOK_NS };

	for (;;) {
		/* acquire: makes the answer visible */
		if (atomic_load_explicit(&c->state, memory_order_acquire) == COPIER_DONE)
			return 0;
		wait_while(c, COPIER_ASKED, &look);
		if (soft_bound_over(until, looked) && leave(peer, c))
			return soft_peer_lost(peer) ? ESRCH : ETIMEDOUT;
	}
}

/* Copies between the program's memory and the buffer by the kernel, too: the program may have unmapped its memory. */
static int copy_here(struct soft_copier *c, bool to_buffer, bool ordered, struct soft_list *local, uint64_t len)
{
	struct soft_list data;

	soft_list_one(&data, (uintptr_t)c->data, len);
	return soft_cma(getpid(), !to_buffer, ordered, &data, local, len);
}

static int move_piece(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
		      uint64_t len, uint64_t *until, uint64_t *looked)
{
	struct soft_copier *c = peer->ia->copier;
	int error = write ? copy_here(c, true, false, local, len) : 0;

	if (error)
		return error;
	c->remote = *remote;
	c->pid = peer->process.pid;
	c->write = write;
	c->ordered = write && ordered;
	c->len = len;
	if (!own_right(peer, c, remote->right))
		return EAGAIN;
	/* release: publishes the question */
	atomic_store_explicit(&c->state, COPIER_ASKED, memory_order_release);
	wake(c);
	error = await(peer, c, until, looked);
	if (error)
		return error;
	error = c->error;
	atomic_store_explicit(&c->state, COPIER_IDLE, memory_order_relaxed);
	if (!error && !write)
		error = copy_here(c, false, ordered, local, len);
	soft_list_skip(remote, len);
	return error;
}

bool soft_copier_ready(struct soft_ia *ia)
{
	if (!ia->copier)
		ia->copier = start();
	return ia->copier != NULL;
}

int soft_copier_move(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
		     uint64_t len)
{
	uint64_t until = soft_bound(peer->ia) + COPIER_MS(len), looked = soft_now_ms();
	int error = 0;

	if (is_held_up(peer))
		return ETIMEDOUT;
	if (!soft_copier_ready(peer->ia))
		return EAGAIN;
	while (len && !error) {
		uint64_t step = len < COPIER_SIZE ? len : COPIER_SIZE;

		error = move_piece(peer, write, ordered && step == len, local, remote, step, &until, &looked);
		len -= step;
	}
	return error;
}

void soft_copier_forget(struct soft_peer *peer)
{
	if (peer->copier_left)
		put(peer->copier_left);
	peer->copier_left = NULL;
}

void soft_copier_stop(struct soft_ia *ia)
{
	struct soft_copier *c = ia->copier;

	if (!c)
		return;
	atomic_store_explicit(&c->state, COPIER_STOP, memory_order_release);
	wake(c);
	pthread_join(c->thread, NULL);
	put(c);
	ia->copier = NULL;
}
