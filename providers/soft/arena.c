/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena: the memory of an IA that its peers map. It is one memfd, which has its full length from the beginning and
 * is sealed against a change of that, and against further seals. So a mapping stays valid whatever another holder of the
 * descriptor does, and the file never has to grow. Untouched pages use no memory. The sizes of pieces are powers of two;
 * a small piece is cut from an extent, a large one is an extent of its own.
 *
 * Once the file has its length and its seals, nothing here changes it or asks where it has data. A peer may write to it with
 * write(2), out of memory in which it keeps a page fault from ending; the kernel then holds the file's lock, and whoever else wants
 * that waits for the peer in the kernel, where no signal reaches it. So a piece that has been freed keeps its pages until the arena
 * is closed, unless it is used again: fallocate(FALLOC_FL_PUNCH_HOLE) would take that lock.
 */
#define _GNU_SOURCE
#include "arena.h"
#include "sparse.h"
#include "log/limited.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ARENA_ROOM   (1ull << 40) /* the file's length; only touched pages use memory */
#define ARENA_EXTENT (2u << 20) /* small pieces are cut from extents of this size */
#define ARENA_MIN    256u
#define ARENA_PAGE   4096u

struct soft_extent {
	struct soft_extent *next;
	void *addr;
	uint64_t offset, len;
};

struct soft_block {
	struct soft_block *next;
	struct soft_mem mem;
};

bool soft_file_stays(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	/*
	 * only a memfd of ordinary pages has this type and seals; huge pages are excluded because
	 * an access fails if one was not reserved and none is free
	 */
	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/*
 * Returns the length of the file. It respects the limit on a file's length, because the kernel
 * sends SIGXFSZ beyond that, which ends the program.
 */
static uint64_t file_len(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= ARENA_ROOM)
		return ARENA_ROOM;
	return limit.rlim_cur & ~(uint64_t)(ARENA_PAGE - 1);
}

enum datp_err soft_arena_new(struct soft_arena **out)
{
	struct soft_arena *arena = calloc(1, sizeof *arena);

	if (!arena)
		return DATP_ERR_MEMORY;
	arena->refs = 1;
	arena->fd = memfd_create("opendat-soft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (arena->fd < 0) {
		datp_log(
			1,
			"soft: no shared memory (memfd_create: %s); needs Linux 3.17 and free file descriptors",
			strerror(errno));
		free(arena);
		return DATP_ERR_DEVICE;
	}
	arena->file_len = file_len();
	/*
	 * a page that a peer has mapped must never disappear, and no peer may change the length or the seals for all
	 * others
	 */
	if (ftruncate(arena->fd, (off_t)arena->file_len) < 0 ||
	    fcntl(arena->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		datp_log(1, "soft: no shared memory: %s", strerror(errno));
		close(arena->fd);
		free(arena);
		return DATP_ERR_DEVICE;
	}
	*out = arena;
	return DATP_OK;
}

static void extents_unmap(struct soft_extent *e)
{
	while (e) {
		struct soft_extent *next = e->next;

		munmap(e->addr, e->len);
		free(e);
		e = next;
	}
}

/*
 * The addresses of the last arena that was closed. A thread that looks without a lock whether a
 * queue has something may still read there after its IA was closed. It finds zeros, which mean that
 * there is nothing. The addresses are unmapped when the next arena is closed, long after that read.
 */
static struct {
	_Atomic uint32_t lock;
	struct soft_extent *extents;
} last;

static void extents_retire(struct soft_extent *extents)
{
	struct soft_extent *before;

	for (struct soft_extent *e = extents; e; e = e->next)
		/* if this fails, the extent stays mapped as it is until then */
		(void)mmap(e->addr, e->len, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	datp_lock(&last.lock);
	before = last.extents;
	last.extents = extents;
	datp_unlock(&last.lock);
	extents_unmap(before);
}

void soft_arena_put(struct soft_arena *arena)
{
	/* release: comes after this user's accesses; acquire: the last user unmaps it after the accesses of all */
	if (!arena || atomic_fetch_sub_explicit(&arena->refs, 1, memory_order_acq_rel) != 1)
		return;
	extents_retire(arena->extents);
	for (size_t kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < 48; i++)
			for (struct soft_block *b = arena->free[kind][i], *next; b; b = next) {
				next = b->next;
				free(b);
			}
	for (struct soft_ring_record *r = arena->rings, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	soft_sparse_free(arena->own, SOFT_MR_COUNT, sizeof *arena->own);
	close(arena->fd);
	free(arena);
}

void *soft_arena_at(struct soft_arena *arena, const struct soft_ref *ref, uint64_t size)
{
	void *addr = NULL;

	datp_lock(&arena->lock);
	for (struct soft_extent *e = arena->extents; e && !addr; e = e->next)
		if (e->offset == ref->extent && size <= e->len && ref->offset <= e->len - size)
			addr = (char *)e->addr + ref->offset;
	datp_unlock(&arena->lock);
	return addr;
}

/* Maps the next extent of the file. */
static void *arena_extend(struct soft_arena *arena, uint64_t len, struct soft_ref *ref)
{
	struct soft_extent *extent = malloc(sizeof *extent);
	void *addr;

	if (!extent)
		return NULL;
	if (len > arena->file_len - arena->size) {
		errno = EFBIG;
		goto free_extent;
	}
	addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena->fd,
		    (off_t)arena->size);
	if (addr == MAP_FAILED)
		goto free_extent;
	*extent = (struct soft_extent){ arena->extents, addr, arena->size, len };
	arena->extents = extent;
	*ref = (struct soft_ref){ arena->size, len, 0 };
	arena->size += len;
	return addr;

free_extent:
	free(extent);
	return NULL;
}

static unsigned int arena_class(uint64_t size)
{
	return 64u - (unsigned int)__builtin_clzll(size - 1);
}

uint64_t soft_arena_extent(uint64_t size)
{
	if (size <= ARENA_EXTENT)
		return ARENA_EXTENT;
	return size > ARENA_ROOM ? ARENA_ROOM : 1ull << arena_class(size);
}

/* Cuts a fresh piece: an extent of its own, or the next part of the current one. */
static bool arena_cut(struct soft_arena *arena, struct soft_mem *mem)
{
	if (mem->size >= ARENA_EXTENT) {
		mem->addr = arena_extend(arena, mem->size, &mem->ref);
		return mem->addr != NULL;
	}
	/* naturally aligned; the skipped bytes are never touched, so they use no memory */
	arena->cut.offset = (arena->cut.offset + mem->size - 1) & ~(mem->size - 1);
	if (!arena->mapped || arena->cut.offset + mem->size > arena->cut.extent_len) {
		void *addr = arena_extend(arena, ARENA_EXTENT, &arena->cut);

		if (!addr)
			return false;
		arena->mapped = addr;
	}
	mem->addr = (char *)arena->mapped + arena->cut.offset;
	mem->ref = arena->cut;
	arena->cut.offset += mem->size;
	return true;
}

enum datp_err soft_arena_alloc(struct soft_ia *ia, enum soft_kind kind, uint64_t size,
			       struct soft_mem *mem)
{
	struct soft_arena *arena = ia->arena;
	unsigned int class = arena_class(size < ARENA_MIN ? ARENA_MIN : size);
	static struct log_limit none;
	struct soft_block *block;
	bool ok = true;

	memset(mem, 0, sizeof *mem);
	mem->kind = kind;
	mem->size = 1ull << class;
	datp_lock(&ia->arena->lock);
	block = arena->free[kind][class];
	if (block) {
		arena->free[kind][class] = block->next;
		*mem = block->mem;
		mem->used_before = true;
	} else {
		ok = arena_cut(arena, mem);
	}
	datp_unlock(&ia->arena->lock);
	free(block);
	if (!ok) {
		log_limited(&none, 1,
			    "soft: cannot get %llu bytes of shared memory: %s; raise the limit of %s",
			    (unsigned long long)size, strerror(errno),
			    errno == EFBIG ? "a file's length (ulimit -f), and start the program again" :
					  "memory (ulimit -v)");
		return DATP_ERR_MEMORY;
	}
	if (mem->used_before && kind == SOFT_KIND_OTHER) {
		memset(mem->addr, 0, size); /* no more, for the last user may not have touched the rest */
		mem->used_before = false;
	}
	return DATP_OK;
}

void soft_arena_free(struct soft_ia *ia, struct soft_mem *mem)
{
	struct soft_block *block;

	if (!mem->addr)
		return;
	block = malloc(sizeof *block);
	/*
	 * without memory for this record the piece is lost until the IA is closed, which does no
	 * other harm
	 */
	if (block) {
		unsigned int class = arena_class(mem->size);

		block->mem = *mem;
		datp_lock(&ia->arena->lock);
		block->next = ia->arena->free[mem->kind][class];
		ia->arena->free[mem->kind][class] = block;
		datp_unlock(&ia->arena->lock);
	}
	mem->addr = NULL;
}
