/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving bytes. There are four ways with one result: memcpy within the process; memcpy where this
 * process maps the peer's memory (share.c); process_vm_readv() and process_vm_writev(); and the
 * peer's bounce thread (bounce.c), where the kernel refuses those.
 *
 * Programs that poll on memory rely on the order of an RDMA write: all but the last aligned 8 bytes
 * are copied first, then those with one store. On x86 stores become visible in program order, also
 * those of separate string operations, so one system call with two remote pieces is enough;
 * elsewhere the last piece is a call of its own after a fence.
 *
 * The kernel does not guarantee that its copy of the last 8 bytes is one store. Linux on x86 copies
 * 8 bytes with one move, and fewer byte by byte; on a processor with `fsrm` it copies any number by
 * `rep movsb`, which usually stores 8 at once, but may be interrupted between any two bytes (seen
 * once in some 100,000 words). It copies upwards, so the last byte is still the last to arrive.
 * There is no other way into the private memory of a process that does not cooperate.
 */
#define _GNU_SOURCE
#include "xfer.h"
#include "bounce.h"
#include "copier.h"
#include "copying.h"
#include "guard.h"
#include "share.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MIN ((uint64_t)16 << 10) /* a copy of so many bytes takes long enough to be recorded; copying.h */

/* Returns the address of a list's front; *len becomes at most the number of bytes there. */
static unsigned char *list_front(struct soft_list *list, uint64_t *len)
{
	while (list->at < list->n && !list->iov[list->at].iov_len)
		list->at++;
	if (list->at == list->n) {
		*len = 0;
		return NULL;
	}
	if (*len > list->iov[list->at].iov_len)
		*len = list->iov[list->at].iov_len;
	return list->iov[list->at].iov_base;
}

void soft_list_skip(struct soft_list *list, uint64_t len)
{
	/* a peer's list may be shorter than it says, which whoever copies finds out */
	while (len && list->at < list->n) {
		struct iovec *v = &list->iov[list->at];
		uint64_t step = len < v->iov_len ? len : v->iov_len;

		v->iov_base = (char *)v->iov_base + step;
		v->iov_len -= step;
		len -= step;
		if (!v->iov_len)
			list->at++;
	}
}

/* Takes `len` bytes off a list into a list of their own. */
static void list_split(struct soft_list *list, uint64_t len, struct soft_list *front)
{
	front->n = front->at = 0;
	front->sge = NULL;
	front->right = list->right;
	while (len) {
		uint64_t step = len;
		unsigned char *p = list_front(list, &step);

		if (!p)
			return;
		front->iov[front->n++] = (struct iovec){ p, step };
		soft_list_skip(list, step);
		len -= step;
	}
}

/*
 * Copies between lists. right: that to the peer's memory in one of the lists, or NULL. Returns 0,
 * or ESRCH if the right is lost.
 */
static int copy_plain(struct soft_list *to, struct soft_list *from, uint64_t len,
		      const struct soft_right *right)
{
	while (len) {
		uint64_t step = len;
		unsigned char *d = list_front(to, &step);
		unsigned char *s = list_front(from, &step);

		if (!d || !s)
			return 0;
		if (!right)
			memmove(d, s, step);
		else if (!soft_guard_move(right, d, s, step))
			return ESRCH;
		soft_list_skip(to, step);
		soft_list_skip(from, step);
		len -= step;
	}
	return 0;
}

/*
 * Returns how many of the last bytes of [addr, addr+len) the final store covers: those after the
 * last 8-byte boundary.
 */
static uint64_t tail_length(uint64_t addr, uint64_t len)
{
	uint64_t tail = len ? ((addr + len - 1) & 7) + 1 : 0;

	return tail < len ? tail : len;
}

/*
 * Stores up to 8 bytes that lie within one aligned word, in the largest pieces that their alignment
 * allows: one store for a whole word or a naturally aligned integer, else the last byte last.
 */
static int store_tail(unsigned char *to, const unsigned char *from, uint64_t len,
		      const struct soft_right *right)
{
	static const _Atomic uint32_t always;
	static const struct soft_right granted = { .open = &always };
	uint64_t size, v = 0;

	if (!right)
		right = &granted;
	if (len == sizeof v) { /* a whole word: most writes end with one */
		memcpy(&v, from, sizeof v);
		return soft_guard_store(right, to, v, sizeof v) ? 0 : ESRCH;
	}
	while (len) {
		size = 8;
		while (size > len || ((uintptr_t)to & (size - 1)))
			size >>= 1;
		memcpy(&v, from, size);
		if (!soft_guard_store(right, to, v, (unsigned int)size))
			return ESRCH;
		to += size;
		from += size;
		len -= size;
	}
	return 0;
}

static int copy_list(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered,
		     const struct soft_right *right)
{
	uint64_t tail = 0, one = UINT64_MAX;
	unsigned char last[8];
	struct soft_list bounce;
	unsigned char *d;
	int error;

	if (ordered && len) {
		d = list_front(to, &one);
		tail = tail_length((uintptr_t)d, len);
	}
	error = copy_plain(to, from, len - tail, right);
	if (!tail || error)
		return error;
	soft_list_one(&bounce, (uintptr_t)last, tail);
	error = copy_plain(&bounce, from, tail, right);
	if (error)
		return error;
	one = tail;
	d = list_front(to, &one);
	return store_tail(d, last, tail, right);
}

void soft_copy_list(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered)
{
	(void)copy_list(to, from, len, ordered, NULL);
}

/* Copies between processes by the kernel. It continues after a partial transfer, and fails when nothing more moves. */
static int cma_move(pid_t pid, bool write, struct soft_list *local, struct soft_list *remote,
		    uint64_t len)
{
	while (len) {
		struct iovec *l = &local->iov[local->at], *r = &remote->iov[remote->at];
		unsigned long nl = (unsigned long)(local->n - local->at),
			      nr = (unsigned long)(remote->n - remote->at);
		ssize_t moved;

		if (remote->right)
			moved = soft_guard_copy(remote->right, pid, write, l, nl, r, nr);
		else
			moved = write ? process_vm_writev(pid, l, nl, r, nr, 0)
				      : process_vm_readv(pid, l, nl, r, nr, 0);
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return errno == ECANCELED ? ESRCH : errno;
		if (moved == 0)
			return EFAULT;
		soft_list_skip(local, (uint64_t)moved);
		soft_list_skip(remote, (uint64_t)moved);
		len -= (uint64_t)moved;
	}
	return 0;
}

/* Cuts both lists to exactly len bytes, as the kernel requires, and copies them in pieces. */
static int cma_exact(pid_t pid, bool write, struct soft_list *local, struct soft_list *remote,
		     uint64_t len)
{
	struct soft_list l, r;
	int error;

	do {
		uint64_t step = len < SOFT_CMA_PIECE ? len : SOFT_CMA_PIECE;

		list_split(local, step, &l);
		list_split(remote, step, &r);
		error = cma_move(pid, write, &l, &r, step);
		len -= step;
	} while (len && !error);
	return error;
}

static int cma_write_ordered(pid_t pid, struct soft_list *local, struct soft_list *remote,
			     uint64_t len)
{
	uint64_t one = UINT64_MAX;
	uint64_t tail = tail_length((uintptr_t)list_front(remote, &one), len);
#if defined(__x86_64__)
	struct soft_list l, two, last;
	uint64_t end = len < SOFT_CMA_PIECE ? len : SOFT_CMA_PIECE;

	if (len > end) {
		int error = cma_exact(pid, true, local, remote, len - end);

		if (error)
			return error;
	}
	list_split(local, end, &l);
	list_split(remote, end - tail, &two);
	list_split(remote, tail, &last);
	two.iov[two.n++] = last.iov[0];
	return cma_move(pid, true, &l, &two, end);
#else
	int error = cma_exact(pid, true, local, remote, len - tail);

	if (error)
		return error;
	/* the kernel's copy orders nothing here */
	atomic_thread_fence(memory_order_seq_cst);
	return cma_exact(pid, true, local, remote, tail);
#endif
}

/* Reads on behalf of the writer: the destination is in this process, so the last store is made here, too. */
static int cma_read_ordered(pid_t pid, struct soft_list *local, struct soft_list *remote,
			    uint64_t len)
{
	uint64_t one = UINT64_MAX;
	uint64_t tail = tail_length((uintptr_t)list_front(local, &one), len);
	unsigned char last[8];
	struct soft_list bounce;
	int error = cma_exact(pid, false, local, remote, len - tail);

	if (error)
		return error;
	soft_list_one(&bounce, (uintptr_t)last, tail);
	error = cma_exact(pid, false, &bounce, remote, tail);
	if (error)
		return error;
	one = tail;
	return store_tail(list_front(local, &one), last, tail, NULL);
}

int soft_copy_range(unsigned char *to, const unsigned char *from, uint64_t len, bool ordered,
		    const struct soft_right *right)
{
	uint64_t tail, word;

	if (ordered && right && len == sizeof word && !((uintptr_t)to & (sizeof word - 1))) {
		memcpy(&word, from, sizeof word);
		return soft_guard_store(right, to, word, sizeof word) ? 0 : ESRCH;
	}
	tail = ordered ? tail_length((uintptr_t)to, len) : 0;
	if (len > tail && !right)
		memmove(to, from, len - tail);
	else if (len > tail && !soft_guard_move(right, to, from, len - tail))
		return ESRCH;
	return store_tail(to + len - tail, from + len - tail, tail, right);
}

/*
 * copy_list() of one range to one range: most short transfers. Each list has at least `len` bytes in its
 * first buffer.
 */
static int copy_one(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered,
		    const struct soft_right *right)
{
	unsigned char *d = to->iov[0].iov_base, *s = from->iov[0].iov_base;

	to->iov[0] = (struct iovec){ d + len, to->iov[0].iov_len - len };
	from->iov[0] = (struct iovec){ s + len, from->iov[0].iov_len - len };
	return soft_copy_range(d, s, len, ordered, right);
}

static bool is_one(const struct soft_list *list, uint64_t len)
{
	return list->n == 1 && list->at == 0 && list->iov[0].iov_len >= len;
}

static int copy(struct soft_list *to, struct soft_list *from, uint64_t len, bool ordered,
		const struct soft_right *right)
{
	return is_one(to, len) && is_one(from, len) ? copy_one(to, from, len, ordered, right) :
						      copy_list(to, from, len, ordered, right);
}

static int xfer_here(bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
		     uint64_t len, const struct soft_right *right)
{
	return write ? copy(remote, local, len, ordered, right) : copy(local, remote, len, ordered, right);
}

/* The same for memory of a peer that is mapped here. A copy that takes a while has a record. */
static int xfer_mapped(bool write, bool ordered, struct soft_list *local, struct soft_list *remote, uint64_t len,
		       const struct soft_right *right, struct soft_copying *copying)
{
	int error;

	if (!copying || len < RECORD_MIN)
		return xfer_here(write, ordered, local, remote, len, right);
	soft_copying_begin(copying, local, right);
	error = xfer_here(write, ordered, local, remote, len, right);
	soft_copying_end(copying);
	return error;
}

/* Copies in a way that soft_copying does not know, or that is not SOFT_COPY_KERNEL. */
static int xfer_otherwise(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
			  uint64_t len, enum soft_copy_way way)
{
	if (!peer->cma)
		return soft_bounce_ask(peer, write, ordered, local, remote->right, len);
	if (way == SOFT_COPY_BOUNDED)
		return soft_copier_move(peer, write, ordered, local, remote, len);
	return soft_cma(peer->process.pid, write, ordered, local, remote, len);
}

int soft_xfer(struct soft_peer *peer, bool write, bool ordered, struct soft_list *local,
	      struct soft_list *remote, uint64_t len)
{
	struct soft_copying *copying;
	struct soft_reach reach;
	int error;

	if (!len)
		return 0;
	if (peer->self) /* it is stopped when we are */
		return xfer_here(write, ordered, local, remote, len, NULL);
	/* the flag is set before the pid can belong to another process */
	if (atomic_load_explicit(&peer->dead, memory_order_acquire))
		return ESRCH;
	copying = remote->right && local->sge ? remote->right->copying : NULL;
	if (soft_share_reach(peer, remote, write, &reach)) {
		error = xfer_mapped(write, ordered, local, &reach.list, len, remote->right, copying);
		soft_share_leave(&reach);
		soft_list_skip(remote, len); /* as every other way does */
		return error;
	}
	if (!copying)
		return xfer_otherwise(peer, write, ordered, local, remote, len, SOFT_COPY_AS_CAN);
	soft_copying_begin(copying, local, remote->right);
	error = copying->way == SOFT_COPY_KERNEL ?
			soft_cma(peer->process.pid, write, ordered, local, remote, len) :
			xfer_otherwise(peer, write, ordered, local, remote, len, copying->way);
	soft_copying_end(copying);
	return error;
}

int soft_cma(pid_t pid, bool write, bool ordered, struct soft_list *local, struct soft_list *remote,
	     uint64_t len)
{
	if (!ordered)
		return cma_exact(pid, write, local, remote, len);
	return write ? cma_write_ordered(pid, local, remote, len)
		     : cma_read_ordered(pid, local, remote, len);
}

bool soft_xfer_probe(pid_t pid, uint64_t addr, uint64_t expect)
{
	uint64_t got = 0;
	struct iovec local = { &got, sizeof got }, remote = { (void *)(uintptr_t)addr, sizeof got };

	/* The write has no bytes: the kernel asks for the same rights for both calls, but a system call filter may refuse one. */
	return pid > 0 && process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof got &&
	       got == expect && process_vm_writev(pid, NULL, 0, NULL, 0, 0) == 0;
}

bool soft_xfer_allowed(void)
{
	uint64_t here = 0x0da70da7;

	return soft_xfer_probe(getpid(), (uintptr_t)&here, here);
}
