/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves bytes directly between the program's buffers here and those of a peer. */
#ifndef SOFT_XFER_H
#define SOFT_XFER_H

#include "soft.h"
#include <string.h>

/* A system call moves at most this many bytes, so that a copy whose right is taken away ends soon. */
#define SOFT_CMA_PIECE (1u << 20)

/*
 * The right to access a peer's memory, which lasts as long as the connection is open at the peer. `open` is the
 * word of the peer's port, which only the peer writes; as soon as it is not `gen`, the right is lost for ever.
 */
struct soft_right {
	const _Atomic uint32_t *open;
	uint32_t gen;
	/* What the peer's bounce thread finds the memory by: the index of the peer's port, and the number of the request. */
	uint32_t port, seq;
	bool initiator; /* this side is the initiator of that request */
	/* Where this side records a copy that the peer can hold up, and what the record says of a window; or NULL. */
	struct soft_copying *copying;
	uint32_t window;
};

/* A list of buffers, consumed from the front. */
struct soft_list {
	struct iovec iov[SOFT_MAX_IOV + 1];
	int n, at;
	const struct datp_sge *sge;	/* the segments, which name the regions; or NULL */
	const struct soft_right *right; /* of a peer's buffers: the right to check before each piece; or NULL */
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

/* Removes the first len bytes. */
void soft_list_skip(struct soft_list *list, uint64_t len);

/*
 * Moves len bytes between `local` and `remote`, the peer's memory; both lists hold at least that much. The direction is to the
 * peer if `write` is true. If `ordered` is true, the destination is one range, and its last aligned 8 bytes become visible
 * after all the rest, and after everything that this thread moved before. They become visible in one store, which is not
 * certain if the kernel copies them (xfer.c). Returns 0 or an errno: EFAULT if memory is not mapped, ESRCH
 * if the peer has died or has ended the connection (remote->right), ETIMEDOUT if its bounce thread does not answer. Blocks
 * while the bytes move, but waits for a bounce thread no longer than the bound (bound.h).
 */
int soft_xfer(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
	      struct soft_list *remote, uint64_t len);

/* The same by the kernel, to or from process `pid`, in pieces of SOFT_CMA_PIECE bytes. */
int soft_cma(pid_t pid, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
	     uint64_t len);

/*
 * The same between two ranges that this process can both access. If one of them is a peer's memory, `right` is the right to
 * access it; otherwise it is NULL. Returns 0, or ESRCH if the right is lost.
 */
int soft_copy_range(unsigned char *to, const unsigned char *from, uint64_t len, bool ordered,
		    const struct soft_right *right);
/* The same within this process. */
void soft_copy_list(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered);

#ifndef soft_copy_short
/* Copies `step` to 2 * `step` bytes, as two pieces of `step` bytes that may overlap. */
static inline __attribute__((always_inline)) void soft_copy_ends(void *to, const void *from,
								 uint64_t len, uint64_t step)
{
	unsigned char first[32], last[32];

	memcpy(first, from, step);
	memcpy(last, (const char *)from + len - step, step);
	memcpy(to, first, step);
	memcpy((char *)to + len - step, last, step);
}

/* Copies the payload of a short message; 8 to 64 bytes without a call. */
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

/* Copies len bytes from a buffer into the segments of a list, which have room for that many or more. */
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

/* Copies the first len bytes of the segments of a list into a buffer. */
static inline void soft_gather(unsigned char *to, const struct datp_sge *from, int n, uint64_t len)
{
	for (int i = 0; i < n && len; i++) {
		uint64_t step = from[i].len < len ? from[i].len : len;

		soft_copy_short(to, (const void *)(uintptr_t)from[i].addr, step);
		to += step;
		len -= step;
	}
}

/* Returns true if the kernel lets this process read `addr` of process `pid`, where `expect` stands. */
bool soft_xfer_probe(pid_t pid, uint64_t addr, uint64_t expect);
/* Returns true if the kernel lets this process call process_vm_readv() and process_vm_writev() on its own memory. */
bool soft_xfer_allowed(void);

#endif
