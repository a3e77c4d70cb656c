/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cooperative copies. A long message is cut into pieces. The holder of the execution lock and a
 * peer that happens to poll take one piece after the other, each by its own means, until none is
 * left. Nobody waits for a helper to come, and the holder waits only a moment for a helper that is
 * at its last piece: it leaves the execution lock to the helper, which finishes the request as if
 * it had held the execution lock all the time. So a helper that is stopped or dies in its piece is
 * the same case as a holder that is stopped or dies.
 *
 * SOFT_EXEC_HELPED in the execution lock says that there is a helper. The execution lock is not
 * released while this flag is set, so it protects the helper's accesses as it does the holder's.
 * Invariant: a piece is taken only by a side that holds the execution lock or has set the flag.
 *
 * `pieces` is the request's position and the range of its pieces that are not taken yet, so a taker
 * with an old view, of another request, takes nothing. The initiator takes the first piece of the
 * range and the target the last: if buffers are used again, each side mostly finds its part in its
 * own cache.
 */
#include "coop.h"
#include <errno.h>

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The pieces from `first` to before `end` are not taken. */
#define PIECES(seq, first, end) ((uint64_t)(seq) << 32 | (uint64_t)(end) << 16 | (first))
#define PIECES_SEQ(word)	((uint32_t)((word) >> 32))
#define PIECES_END(word)	((uint32_t)(word) >> 16)
#define PIECES_FIRST(word)	((uint32_t)(word)&0xffffu)
#define PIECES_MAX		0xffffu

#define PIECE_NONE UINT32_MAX

static bool pieces_left(uint64_t word)
{
	return PIECES_FIRST(word) < PIECES_END(word);
}

static uint64_t whole_lines(uint64_t len)
{
	return (len + SOFT_LINE - 1) & ~(uint64_t)(SOFT_LINE - 1);
}

/*
 * Returns the size of a piece. Both sides compute the same size. A message is cut into few pieces.
 * If there are two, each side mostly copies the same half of a buffer again and again. A longer
 * message has four or more, so that a helper that comes late still finds a piece.
 */
static uint64_t piece_size(uint64_t len)
{
	uint64_t size = whole_lines(len / 4);

	if (len < SOFT_COOP_QUARTERS)
		return whole_lines(len / 2 + SOFT_COOP_START);
	if (size < SOFT_COOP_PIECE_MAX)
		return size;
	size = whole_lines(len / PIECES_MAX + 1);
	return size < SOFT_COOP_PIECE_MAX ? SOFT_COOP_PIECE_MAX : size;
}

static uint64_t piece_count(uint64_t len)
{
	return (len + piece_size(len) - 1) / piece_size(len);
}

bool soft_coop_wanted(const struct soft_port *ip)
{
	/* relaxed: a hint */
	return pieces_left(atomic_load_explicit(&ip->pieces, memory_order_relaxed));
}

bool soft_coop_offered(const struct soft_port *ip, uint32_t *seq)
{
	/* acquire: makes the request visible, see soft_coop_open(); sequentially consistent: see piece_take() */
	uint64_t word = atomic_load(&ip->pieces);

	*seq = PIECES_SEQ(word);
	return pieces_left(word);
}

void soft_coop_open(struct soft_port *ip, uint32_t seq, uint64_t len)
{
	/* relaxed: the release below publishes this to the other side, which may set it to 1 */
	atomic_store_explicit(&ip->pieces_failed, 0, memory_order_relaxed);
	/* release: publishes the request, which has been checked */
	atomic_store_explicit(&ip->pieces, PIECES(seq, 0, piece_count(len)), memory_order_release);
}

/*
 * Takes a piece. Returns its number, or PIECE_NONE. There are `count` pieces; memory that the peer
 * has corrupted may say otherwise.
 */
static uint32_t piece_take(struct soft_port *ip, uint32_t seq, uint32_t count, bool initiator)
{
	uint64_t word = atomic_load(&ip->pieces);

	for (unsigned int tries = SOFT_TRIES; tries && PIECES_SEQ(word) == seq && pieces_left(word) &&
					      PIECES_END(word) <= count;
	     tries--) {
		uint32_t first = PIECES_FIRST(word), end = PIECES_END(word);
		uint64_t rest = initiator ? PIECES(seq, first + 1, end) : PIECES(seq, first, end - 1);

		/*
		 * Sequentially consistent, as all accesses to `pieces` once the flag may be set:
		 * either the holder that finds no piece left also finds the helper's flag, or the
		 * helper finds no piece left. The execution lock passes on what was copied.
		 */
		if (atomic_compare_exchange_weak(&ip->pieces, &word, rest))
			return initiator ? first : end - 1;
	}
	return PIECE_NONE;
}

/* Copies one piece. The lists are those of the whole message. */
static int piece_copy(uint64_t from, uint64_t len, struct soft_peer *peer, bool initiator,
		      const struct soft_list *local, const struct soft_list *remote)
{
	struct soft_list here = *local, there = *remote;

	soft_list_skip(&here, from);
	soft_list_skip(&there, from);
	return soft_xfer(peer, initiator, false, &here, &there, len);
}

int soft_coop_copy(struct soft_port *ip, uint32_t seq, uint64_t len, struct soft_peer *peer,
		   bool initiator, const struct soft_list *local, const struct soft_list *remote,
		   unsigned int limit)
{
	uint64_t size = piece_size(len), count = piece_count(len);
	uint32_t piece;
	int error = 0;

	/* a peer may add pieces as fast as they are taken */
	if (limit > count)
		limit = (unsigned int)count;
	while (limit-- && !error &&
	       (piece = piece_take(ip, seq, (uint32_t)count, initiator)) != PIECE_NONE) {
		uint64_t from = piece * size;

		error = piece_copy(from, len - from < size ? len - from : size, peer, initiator,
				   local, remote);
	}
	if (error)
		/* relaxed: the execution lock releases it, as it does the pieces */
		atomic_store_explicit(&ip->pieces_failed, 1, memory_order_relaxed);
	return error;
}

bool soft_coop_failed(const struct soft_port *ip)
{
	/* relaxed: the end of the other side's part was acquired before */
	return atomic_load_explicit(&ip->pieces_failed, memory_order_relaxed);
}

/* ---- the holder ---- */

/* Leaves the execution lock to the helper. Returns false if no helper is left. */
static bool exec_hand_over(struct soft_port *ip, uint64_t word)
{
	for (unsigned int tries = SOFT_TRIES; tries && word & SOFT_EXEC_HELPED; tries--)
		/* release: publishes our pieces, and all that was done under this lock; soft_coop_leave() acquires them */
		if (atomic_compare_exchange_weak_explicit(
			    &ip->exec_lock, &word,
			    (word & ~(uint64_t)SOFT_EXEC_HELPED) ^ SOFT_EXEC_TARGET,
			    memory_order_acq_rel, memory_order_acquire))
			return true;
	return false;
}

enum soft_coop_end soft_coop_settle(struct soft_port *ip, int error)
{
	uint64_t word;

	if (error)
		/* nobody takes a piece from now on; sequentially consistent, see piece_take() */
		atomic_fetch_and_explicit(&ip->pieces, ~(uint64_t)UINT32_MAX, memory_order_seq_cst);
	for (unsigned int i = 0; i < SOFT_COOP_PATIENCE; i++) {
		/* acquire: makes the helper's pieces visible; sequentially consistent: see piece_take() */
		word = atomic_load(&ip->exec_lock);
		if (!(word & SOFT_EXEC_HELPED))
			break;
		relax();
	}
	if (exec_hand_over(ip, word))
		return SOFT_COOP_LEFT;
	return error == ESRCH ? SOFT_COOP_LOST : SOFT_COOP_DONE;
}

/* ---- the helper ---- */

/* Returns true if the other side holds the execution lock for this connection. */
static bool held_by_other(uint64_t word, uint32_t gen, bool initiator)
{
	return SOFT_EXEC_GEN(word) == gen && (word & SOFT_EXEC_HELD) &&
	       !(word & SOFT_EXEC_TARGET) != initiator;
}

bool soft_coop_enter(struct soft_port *ip, uint32_t gen, bool initiator)
{
	uint64_t word = atomic_load_explicit(&ip->exec_lock, memory_order_relaxed);

	for (unsigned int tries = SOFT_TRIES;
	     tries && soft_coop_wanted(ip) && held_by_other(word, gen, initiator); tries--)
		/*
		 * Sequentially consistent, as exec_try(): a thread that closes a port or frees a
		 * region either finds the execution lock held, or has done so early enough that
		 * the checks after this see it.
		 */
		if (atomic_compare_exchange_weak(&ip->exec_lock, &word, word | SOFT_EXEC_HELPED))
			return true;
	return false;
}

bool soft_coop_leave(struct soft_port *ip, uint32_t gen, bool initiator)
{
	uint64_t word = atomic_load_explicit(&ip->exec_lock, memory_order_relaxed);

	/* after soft_port_begin(), for another connection, the generation is another one */
	for (unsigned int tries = SOFT_TRIES; tries && SOFT_EXEC_GEN(word) == gen; tries--) {
		/*
		 * acquire: makes visible what the holder did before it left the execution lock to us. If the flag
		 * is clear and the execution lock is not ours, it was taken from a holder that had
		 * died: soft_exec_take_back().
		 */
		if (!(word & SOFT_EXEC_HELPED)) {
			atomic_thread_fence(memory_order_acquire);
			return (word & SOFT_EXEC_HELD) && !(word & SOFT_EXEC_TARGET) == initiator;
		}
		/* release: publishes our pieces; soft_coop_settle() acquires them */
		if (atomic_compare_exchange_weak_explicit(
			    &ip->exec_lock, &word, word & ~(uint64_t)SOFT_EXEC_HELPED,
			    memory_order_release, memory_order_relaxed))
			return false;
	}
	return false;
}
