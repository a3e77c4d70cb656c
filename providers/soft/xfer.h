/* SPDX-License-Identifier: BSD-2-Clause */
/* Moving bytes between our memory and a peer's, straight between the two users' buffers. */
#ifndef SOFT_XFER_H
#define SOFT_XFER_H

#include "soft.h"
#include <string.h>

/* A system call moves no more than this, so that a copy whose right is taken away ends soon. */
#define SOFT_CMA_PIECE (1u << 20)

/*
 * By what right memory of a peer is touched: the connection is open at the peer. `open` is the word of the
 * peer's port, which only the peer writes; the right is gone for good once it is not `gen`.
 */
struct soft_right {
	const _Atomic uint32_t *open;
	uint32_t gen;
	/* for the peer's mover: its endpoint, and the request that the memory is that of */
	uint32_t port, seq;
	bool initiator; /* we are, of that request */
};

/* A list of buffers, consumed from the front. */
struct soft_list {
	struct iovec iov[SOFT_MAX_IOV + 1];
	int n, at;
	const struct datp_sge *sge;	/* of what regions they are, or NULL */
	const struct soft_right *right; /* of a peer's: what is asked before each piece, or NULL */
};

static inline void soft_list_sge(struct soft_list *list, const struct datp_sge *sge, int n)
{
	list->n = list->at = 0;
	list->sge = sge;
	list->right = NULL;
	for (int i = 0; i < n; i++)
		list->iov[list->n++] = (struct iovec){ (void *)(uintptr_t)sge[i].addr, sge[i].len };
}

static inline void soft_list_one(struct soft_list *list, uint64_t addr, uint64_t len)
{
	list->iov[0] = (struct iovec){ (void *)(uintptr_t)addr, len };
	list->n = 1;
	list->at = 0;
	list->sge = NULL;
	list->right = NULL;
}

/* Takes the first len bytes off. */
void soft_list_skip(struct soft_list *list, uint64_t len);

/*
 * Moves len bytes between `local` and `remote` (of the peer); both lists hold at least that much.
 * write: to the peer. ordered: the destination is one range, and its last aligned 8 bytes become
 * visible after all the rest (and after everything that this thread moved before), in one store. 0
 * or an errno: EFAULT for memory that is not there, ESRCH for a peer that is no more or has ended the
 * connection (remote->right), ETIMEDOUT for one whose mover does not answer. Blocks while the bytes move, and
 * for a mover as long as the bound of bound.h.
 */
int soft_xfer(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
	      struct soft_list *remote, uint64_t len);

/* The same by the kernel, to or from process `pid`; a piece of SOFT_CMA_PIECE bytes at a time. */
int soft_cma(pid_t pid, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
	     uint64_t len);

/* Within this process. */
void soft_copy_list(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered);

#ifndef soft_copy_short
/* From `step` to 2 * `step` bytes, by two copies that overlap as they have to. */
static inline __attribute__((always_inline)) void soft_copy_ends(void *to, const void *from,
								 uint64_t len, uint64_t step)
{
	unsigned char first[32], last[32];

	memcpy(first, from, step);
	memcpy(last, (const char *)from + len - step, step);
	memcpy(to, first, step);
	memcpy((char *)to + len - step, last, step);
}

/* The payload of a short message; that of a few words without a call. */
static inline __attribute__((always_inline)) void soft_copy_short(void *to, const void *from,
								  uint64_t len)
{
	if (len - 8 <= 8)
		soft_copy_ends(to, from, len, 8);
	else if (len - 16 <= 16)
		soft_copy_ends(to, from, len, 16);
	else if (len - 32 <= 32)
		soft_copy_ends(to, from, len, 32);
	else
		memcpy(to, from, len);
}
#endif

/* From one buffer into a list, and the reverse; len bytes, which the list has. */
static inline void soft_scatter(const struct datp_sge *to, int n, const unsigned char *from,
				uint64_t len)
{
	for (int i = 0; i < n && len; i++) {
		uint64_t step = to[i].len < len ? to[i].len : len;

		soft_copy_short((void *)(uintptr_t)to[i].addr, from, step);
		from += step;
		len -= step;
	}
}

static inline void soft_gather(unsigned char *to, const struct datp_sge *from, int n, uint64_t len)
{
	for (int i = 0; i < n && len; i++) {
		uint64_t step = from[i].len < len ? from[i].len : len;

		soft_copy_short(to, (const void *)(uintptr_t)from[i].addr, step);
		to += step;
		len -= step;
	}
}

/* Whether the kernel lets us read `addr` of process `pid`, where `expect` stands. */
bool soft_xfer_probe(pid_t pid, uint64_t addr, uint64_t expect);
bool soft_xfer_allowed(void); /* whether it lets us at all */

#endif
