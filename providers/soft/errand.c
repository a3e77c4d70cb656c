/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An errand is a few system calls about the process of a peer, which the peer can keep from ending for as long as it likes, so that
 * no signal ends them either: it may hold a lock of the kernel, or keep a page fault from ending. So a thread of its own makes
 * them, and is awaited within a bound. If it does not answer it is left behind: it ends when the kernel lets it go.
 *
 * Invariant: the thread of an errand accesses nothing but its record, and has no lock. It may outlive the adapter.
 */
#define _GNU_SOURCE
#include "errand.h"
#include "run.h"
#include <datp/timer.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum errand_state { ERRAND_RUNS, ERRAND_DONE, ERRAND_LEFT, ERRAND_ENDED };

static void put(struct soft_errand *errand)
{
	/* acq_rel: the last one frees it after all that the other has done */
	if (atomic_fetch_sub_explicit(&errand->refs, 1, memory_order_acq_rel) == 1)
		free(errand);
}

/* The caller has to learn of it by a wait or by the descriptor, which it closes only after soft_errand_end(). */
static void tell(struct soft_errand *errand)
{
	uint64_t one = 1;

	syscall(SYS_futex, &errand->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	if (errand->done_fd >= 0 && write(errand->done_fd, &one, sizeof one) < 0)
		return; /* its counter is full, so it is readable */
}

static void *run(void *arg)
{
	struct soft_errand *errand = arg;
	uint32_t runs = ERRAND_RUNS;

	errand->run(errand);
	/* release: publishes the answer */
	if (atomic_compare_exchange_strong_explicit(&errand->state, &runs, ERRAND_DONE, memory_order_release,
						    memory_order_relaxed)) {
		tell(errand);
	} else {
		if (errand->undo)
			errand->undo(errand);
		atomic_store_explicit(&errand->state, ERRAND_ENDED, memory_order_release);
	}
	put(errand);
	return NULL;
}

bool soft_errand_start(struct soft_errand *errand)
{
	/* relaxed: the start of the thread publishes them */
	atomic_store_explicit(&errand->state, ERRAND_RUNS, memory_order_relaxed);
	atomic_store_explicit(&errand->refs, 2, memory_order_relaxed);
	return soft_run(&errand->thread, run, errand) == 0;
}

bool soft_errand_is_done(struct soft_errand *errand)
{
	/* acquire: makes the answer visible */
	return atomic_load_explicit(&errand->state, memory_order_acquire) == ERRAND_DONE;
}

bool soft_errand_has_ended(struct soft_errand *errand)
{
	return atomic_load_explicit(&errand->state, memory_order_acquire) == ERRAND_ENDED;
}

bool soft_errand_leave(struct soft_errand *errand)
{
	uint32_t runs = ERRAND_RUNS;

	if (!atomic_compare_exchange_strong_explicit(&errand->state, &runs, ERRAND_LEFT, memory_order_acq_rel,
						     memory_order_acquire))
		return false;
	pthread_detach(errand->thread);
	return true;
}

void soft_errand_wait(struct soft_errand *errand, uint64_t us)
{
	uint64_t now = datp_clock_us(), until = now + us;

	for (; !soft_errand_is_done(errand) && now < until; now = datp_clock_us()) {
		const struct timespec rest = { .tv_sec = (time_t)((until - now) / 1000000),
					       .tv_nsec = (long)((until - now) % 1000000) * 1000 };

		syscall(SYS_futex, &errand->state, FUTEX_WAIT_PRIVATE, ERRAND_RUNS, &rest, NULL, 0);
	}
}

void soft_errand_end(struct soft_errand *errand)
{
	if (soft_errand_is_done(errand)) /* its thread is about to end */
		pthread_join(errand->thread, NULL);
	put(errand);
}
