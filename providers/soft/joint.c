/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joint copies. A long message is cut into pieces, and who holds the engine and a peer that happens
 * to poll take one after the other, each by its own means, until none is left. Nobody is waited for
 * to come, and who is at its last piece is not waited for for long: the engine is left to it, and
 * it finishes the request as if it had held it all the time. So a helper that is stopped or dies in
 * the middle of its piece is what a holder that is stopped or dies has always been.
 *
 * The helper is known by SOFT_ENGINE_HELPED in the engine word, and what it touches it touches
 * within the holding: there is no end of it while the flag is set. Invariant: a piece is taken only
 * by a side that holds the engine or has set the flag.
 *
 * `pieces` is the request's position and how many pieces have not been taken yet, the last ones
 * first; so a taker whose view is old, of another request, takes nothing.
 */
#include "joint.h"
#include <errno.h>

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#define PIECES(seq, left) ((uint64_t)(seq) << 32 | (uint32_t)(left))

/* A few pieces, so that both sides are done at about the same time; both compute the same. */
static uint64_t piece_size(uint64_t len)
{
	uint64_t size = (len / 4 + SOFT_LINE - 1) & ~(uint64_t)(SOFT_LINE - 1);

	if (size < SOFT_JOINT_PIECE_MIN)
		return SOFT_JOINT_PIECE_MIN;
	return size < SOFT_JOINT_PIECE_MAX ? size : SOFT_JOINT_PIECE_MAX;
}

static uint64_t piece_count(uint64_t len)
{
	return (len + piece_size(len) - 1) / piece_size(len);
}

void soft_joint_open(struct soft_port *ip, uint32_t seq, uint64_t len)
{
	/* relaxed: before the pieces, which who fails has acquired */
	atomic_store_explicit(&ip->pieces_failed, 0, memory_order_relaxed);
	/* release: the request, and that it has been found good */
	atomic_store_explicit(&ip->pieces, PIECES(seq, piece_count(len)), memory_order_release);
}

/*
 * The number of pieces there were, with the one that is ours now; 0: there is none. More than
 * `count` there never are, but in memory that the peer has spoiled.
 */
static uint32_t piece_take(struct soft_port *ip, uint32_t seq, uint64_t count)
{
	uint64_t word = atomic_load(&ip->pieces);

	while (word >> 32 == seq && (uint32_t)word && (uint32_t)word <= count)
		/*
		 * Sequentially consistent, as all that is said of `pieces` once the flag may be
		 * set: the holder that finds that none is left finds the helper's flag, too, or the
		 * helper finds none left. What was done to the pieces is passed on by the engine
		 * word.
		 */
		if (atomic_compare_exchange_weak(&ip->pieces, &word, word - 1))
			return (uint32_t)word;
	return 0;
}

int soft_joint_copy(struct soft_port *ip, uint32_t seq, uint64_t len, struct soft_peer *peer,
		    bool write, struct soft_list *local, struct soft_list *remote,
		    unsigned int limit)
{
	uint64_t size = piece_size(len), count = piece_count(len), at = 0;
	uint32_t left;
	int error = 0;

	while (limit-- && !error && (left = piece_take(ip, seq, count))) {
		uint64_t from = (count - left) * size;
		uint64_t step = len - from < size ? len - from : size;

		soft_list_skip(local, from - at);
		soft_list_skip(remote, from - at);
		error = soft_xfer(peer, write, false, local, remote, step);
		at = from + step;
	}
	if (error)
		/* relaxed: passed on by the engine word, as the pieces */
		atomic_store_explicit(&ip->pieces_failed, 1, memory_order_relaxed);
	return error;
}

bool soft_joint_failed(const struct soft_port *ip)
{
	/* relaxed: the end of the other side's part has been acquired */
	return atomic_load_explicit(&ip->pieces_failed, memory_order_relaxed);
}

/* ---- the holder ---- */

/* The other side is in it: false if it has gone meanwhile. */
static bool engine_hand_over(struct soft_port *ip, uint64_t word)
{
	while (word & SOFT_ENGINE_HELPED)
		/* release: our pieces, and all else of this holding; soft_joint_leave() acquires */
		if (atomic_compare_exchange_weak_explicit(
			    &ip->engine, &word,
			    (word & ~(uint64_t)SOFT_ENGINE_HELPED) ^ SOFT_ENGINE_TARGET,
			    memory_order_acq_rel, memory_order_acquire))
			return true;
	return false;
}

enum soft_joint_end soft_joint_settle(struct soft_port *ip, int error)
{
	uint64_t word;

	if (error)
		/* nobody takes one from now on; sequentially consistent, see piece_take() */
		atomic_fetch_and_explicit(&ip->pieces, ~(uint64_t)UINT32_MAX, memory_order_seq_cst);
	for (unsigned int i = 0; i < SOFT_JOINT_PATIENCE; i++) {
		/* acquires the helper's pieces; sequentially consistent, see piece_take() */
		word = atomic_load(&ip->engine);
		if (!(word & SOFT_ENGINE_HELPED))
			break;
		relax();
	}
	if (engine_hand_over(ip, word))
		return SOFT_JOINT_LEFT;
	return error == ESRCH ? SOFT_JOINT_LOST : SOFT_JOINT_DONE;
}

/* ---- the helper ---- */

/* Whether the other side holds it, for this connection. */
static bool held_by_other(uint64_t word, uint32_t gen, bool initiator)
{
	return SOFT_ENGINE_GEN(word) == gen && (word & SOFT_ENGINE_HELD) &&
	       !(word & SOFT_ENGINE_TARGET) != initiator;
}

bool soft_joint_enter(struct soft_port *ip, uint32_t gen, bool initiator)
{
	uint64_t word = atomic_load_explicit(&ip->engine, memory_order_relaxed);

	while (soft_joint_wanted(ip) && held_by_other(word, gen, initiator))
		/*
		 * Sequentially consistent, as engine_try(): whoever closed a port or killed a
		 * region before, and did not find the engine held, is seen by the checks that
		 * follow.
		 */
		if (atomic_compare_exchange_weak(&ip->engine, &word, word | SOFT_ENGINE_HELPED))
			return true;
	return false;
}

bool soft_joint_leave(struct soft_port *ip, uint32_t gen, bool initiator)
{
	uint64_t word = atomic_load_explicit(&ip->engine, memory_order_relaxed);

	/*
	 * of another generation: it was taken from the holder, who had died; see soft_port_begin()
	 */
	while (SOFT_ENGINE_GEN(word) == gen) {
		/*
		 * acquire: what the holder did that has left it to us. Without the flag and not
		 * ours it was taken from a holder who had died: soft_engine_take_back().
		 */
		if (!(word & SOFT_ENGINE_HELPED)) {
			atomic_thread_fence(memory_order_acquire);
			return (word & SOFT_ENGINE_HELD) && !(word & SOFT_ENGINE_TARGET) == initiator;
		}
		/* release: our pieces; soft_joint_settle() acquires */
		if (atomic_compare_exchange_weak_explicit(
			    &ip->engine, &word, word & ~(uint64_t)SOFT_ENGINE_HELPED,
			    memory_order_release, memory_order_relaxed))
			return false;
	}
	return false;
}
