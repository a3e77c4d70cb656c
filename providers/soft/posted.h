/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The segment lists of what an endpoint has posted, in private memory. The port has them too, because the other side executes by
 * them; but a peer can write there. Invariant: a thread that works for this endpoint accesses its segments only by the lists here.
 *
 * A slot is written under the EP lock and read with or without it: then soft_posted_get() finds out whether the slot has been
 * used again meanwhile. The functions use the compiler's builtins, because the model checker replaces C11's atomics in the files
 * that use them, and this memory is not shared between processes.
 */
#ifndef SOFT_POSTED_H
#define SOFT_POSTED_H

#include <datp/provider.h>
#include <stdbool.h>
#include <stdint.h>

struct soft_posted {
	uint64_t tag; /* says which operation this is: SOFT_POSTED_TAG(); 0: none yet */
	uint64_t len; /* of a request: the bytes that it moves */
	uint32_t n;
	uint8_t op; /* of a request: enum datp_op, enum datp_ext_op */
	struct datp_sge sge[];
};

/* A power of two of slots. The operation at position p is in slot p & mask. */
struct soft_posted_ring {
	void *slots; /* NULL until soft_posted_alloc(), which may be called after other threads have begun to look */
	uint32_t mask, stride; /* bytes from one slot to the next */
};

/*
 * Positions of requests begin anew with each connection, whose generation is not 0; those of receives do not, and they are
 * posted before there is a connection: `gen` is 0.
 */
#define SOFT_POSTED_TAG(gen, seq) ((uint64_t)(gen) << 32 | (uint32_t)((seq) + 1))

/* Sets the sizes: `count` slots, a power of two, of up to `most` segments each. */
void soft_posted_init(struct soft_posted_ring *ring, uint32_t count, uint32_t most);
/* Allocates the slots. Returns DATP_ERR_MEMORY if there is no memory. EP lock, or nobody else knows the ring. */
enum datp_err soft_posted_alloc(struct soft_posted_ring *ring);
void soft_posted_fini(struct soft_posted_ring *ring);

static inline struct soft_posted *soft_posted_at(const struct soft_posted_ring *ring, uint32_t seq)
{
	return (struct soft_posted *)(void *)((char *)ring->slots + (size_t)(seq & ring->mask) * ring->stride);
}

/* The same without the EP lock. Returns NULL if there are no slots. */
static inline const struct soft_posted *soft_posted_find(const struct soft_posted_ring *ring, uint32_t seq)
{
	void *slots;

	/* acquire: see soft_posted_alloc() */
	__atomic_load(&ring->slots, &slots, __ATOMIC_ACQUIRE);
	return slots ? soft_posted_at(ring, seq) : NULL;
}

/*
 * Writes a slot whose former operation has completed, which soft_ep.in_msg or soft_ep.sq_reaped says already, or which was flushed
 * at the end of a connection, when nobody else looks any more. Each store is a release: a reader that finds one of them also finds
 * that the former operation has completed. EP lock
 */
static inline __attribute__((always_inline)) void soft_posted_put(struct soft_posted *p, uint64_t tag, const struct datp_sge *iov,
								  uint32_t n)
{
	__atomic_store_n(&p->n, n, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < n; i++) {
		__atomic_store_n(&p->sge[i].lmr_context, iov[i].lmr_context, __ATOMIC_RELEASE);
		__atomic_store_n(&p->sge[i].addr, iov[i].addr, __ATOMIC_RELEASE);
		__atomic_store_n(&p->sge[i].len, iov[i].len, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&p->tag, tag, __ATOMIC_RELEASE);
}

/*
 * Copies the list, of at most `most` segments. Returns false if the slot has another operation. Without the EP lock the caller
 * looks afterwards whether the operation has completed; if so, the copy may be of two operations.
 */
static inline bool soft_posted_get(const struct soft_posted *p, uint64_t tag, struct datp_sge *sge, uint32_t most, uint32_t *n)
{
	/* acquire, all: see soft_posted_put() */
	if (__atomic_load_n(&p->tag, __ATOMIC_ACQUIRE) != tag)
		return false;
	*n = __atomic_load_n(&p->n, __ATOMIC_ACQUIRE);
	if (*n > most)
		return false;
	for (uint32_t i = 0; i < *n; i++) {
		sge[i].lmr_context = __atomic_load_n(&p->sge[i].lmr_context, __ATOMIC_ACQUIRE);
		sge[i].addr = __atomic_load_n(&p->sge[i].addr, __ATOMIC_ACQUIRE);
		sge[i].len = __atomic_load_n(&p->sge[i].len, __ATOMIC_ACQUIRE);
	}
	return true;
}

#endif
