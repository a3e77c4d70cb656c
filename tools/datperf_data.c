/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's memory: the registered region of a link and the pattern in its messages.
 *
 * Invariant: two patterns that differ in one of side, slot and generation differ in every byte
 * (for slots and generations less than 256 apart; the slots of all connections are counted on), so
 * a message that did not arrive, or arrived in the wrong place, cannot be taken for the right one.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "datperf.h"

const char *const perf_memory_names[PERF_MEMORIES] = { "private", "memfd", "shared" };

#define PAGE 4096u
#define CACHE_LINE 64u
#define LATE_NS UINT64_C(1000000000) /* within which all of a message is there whose last byte is */

static size_t stride_of(uint64_t extent)
{
	return (extent + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Returns the bytes of a region: outgoing and incoming messages, and the credits. */
uint64_t region_length(uint64_t extent, uint32_t slots)
{
	uint64_t length = 2 * slots * stride_of(extent) + PERF_CREDITS * PERF_CREDIT_SIZE;

	return (length + PAGE - 1) / PAGE * PAGE;
}

/*
 * Maps pages of a file without a name, whose length is fixed. The descriptor stays open, because an
 * adapter may find the file by it, and let the peer map it.
 */
static void *map_memfd(int *fd, size_t length)
{
	void *base = MAP_FAILED;

	*fd = memfd_create("datperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd >= 0 && ftruncate(*fd, (off_t)length) == 0 &&
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
		base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (base != MAP_FAILED)
		return base;
	if (*fd >= 0)
		close(*fd);
	return NULL;
}

static void region_unmap(struct perf_region *mem)
{
	if (mem->memory == PERF_PRIVATE) {
		free(mem->base);
	} else {
		munmap(mem->base, mem->length);
		close(mem->fd);
	}
	mem->base = NULL;
}

static DAT_RETURN region_register(struct perf_region *mem, const struct perf_ia *ia)
{
	DAT_REGION_DESCRIPTION where;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
	char id[sizeof(*(DAT_LMR_COOKIE)NULL)] = { 0 };
	uint64_t name[2] = { (uint64_t)getpid(), (uint64_t)(uintptr_t)mem->base };

	memset(&where, 0, sizeof(where));
	where.for_va = mem->base;
	if (mem->memory == PERF_SHARED) {
		/* unique, because no other process registers these pages */
		memcpy(id, name, sizeof(name));
		where.for_shared_memory.virtual_address = mem->base;
		where.for_shared_memory.shared_memory_id = &id;
	}
	return dat_lmr_create(ia->ia, mem->memory == PERF_SHARED ? DAT_MEM_TYPE_SHARED_VIRTUAL :
				      DAT_MEM_TYPE_VIRTUAL, where, mem->length, ia->pz,
			      DAT_MEM_PRIV_ALL_FLAG, PERF_ADDRESSES &mem->lmr, &mem->lmr_context,
			      &mem->rmr_context, &registered_size, &registered_address);
}

/* Creates a region. Its size, extent, slots, number and memory have been set. */
int region_create(struct perf_region *mem, const struct perf_ia *ia)
{
	DAT_RETURN ret;

	mem->stride = stride_of(mem->extent);
	mem->length = region_length(mem->extent, mem->slots);
	mem->base = mem->memory == PERF_PRIVATE ? aligned_alloc(PAGE, mem->length) :
						  map_memfd(&mem->fd, mem->length);
	if (mem->base == NULL) {
		cli_error("no memory for %zu bytes of messages (%s); give a smaller --size",
			  mem->length, strerror(errno));
		return -1;
	}
	memset(mem->base, 0, mem->length);
	ret = region_register(mem, ia);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_lmr_create(%zu bytes)", mem->length);
		region_unmap(mem);
		return -1;
	}
	return 0;
}

void region_destroy(struct perf_region *mem)
{
	DAT_RETURN ret;

	if (mem->base == NULL)
		return;
	ret = dat_lmr_free(mem->lmr);
	if (ret != DAT_SUCCESS)
		cli_dat_error(ret, NULL, "dat_lmr_free");
	region_unmap(mem);
}

static uint32_t slot_of(const struct perf_region *mem, uint64_t index)
{
	return (uint32_t)index & (mem->slots - 1);
}

unsigned char *region_out(const struct perf_region *mem, uint64_t index)
{
	return mem->base + slot_of(mem, index) * mem->stride;
}

unsigned char *region_in(const struct perf_region *mem, uint64_t index)
{
	return mem->base + (mem->slots + slot_of(mem, index)) * mem->stride;
}

unsigned char *region_credit(const struct perf_region *mem, uint64_t index)
{
	return mem->base + 2 * mem->slots * mem->stride +
	       index % PERF_CREDITS * PERF_CREDIT_SIZE;
}

static unsigned char byte_at(bool from_server, uint64_t generation, uint64_t slot, uint64_t offset)
{
	uint64_t place = offset * 167 + (offset >> 8) * 13 + (offset >> 16) * 7;

	return (unsigned char)(place + slot * 29 + generation * 61 + (from_server ? 128 : 0));
}

/* Returns the number of a slot, counted over all connections. */
static uint64_t pattern_slot(const struct perf_region *mem, uint64_t index)
{
	return (uint64_t)mem->number * mem->slots + slot_of(mem, index);
}

unsigned char pattern_byte(const struct perf_region *mem, bool from_server, uint64_t generation,
			   uint64_t index, uint64_t offset)
{
	return byte_at(from_server, generation, pattern_slot(mem, index), offset);
}

void pattern_fill(const struct perf_region *mem, bool from_server, uint64_t generation,
		  uint64_t index)
{
	unsigned char *slot = region_out(mem, index);
	uint64_t number = pattern_slot(mem, index);

	for (uint64_t i = 0; i < mem->size; i++)
		slot[i] = byte_at(from_server, generation, number, i);
}

void pattern_poison(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t index)
{
	unsigned char *slot = region_in(mem, index);
	uint64_t number = pattern_slot(mem, index);

	for (uint64_t i = 0; i < mem->size; i++)
		slot[i] = (unsigned char)~byte_at(from_server, generation, number, i);
}

/* What a message is expected to be. The last byte has a generation of its own, because write-lat counts in it. */
struct pattern {
	bool from_server;
	uint64_t generation, last_generation, index;
};

static unsigned char pattern_want(const struct perf_region *mem, const struct pattern *of, uint64_t offset)
{
	return pattern_byte(mem, of->from_server, offset == mem->size - 1 ? of->last_generation : of->generation,
			    of->index, offset);
}

/* Returns the offset of the first byte that is wrong, or the size if none is. */
static uint64_t pattern_first_wrong(const struct perf_region *mem, const struct pattern *of)
{
	const unsigned char *slot = region_in(mem, of->index);
	uint64_t i = 0;

	while (i < mem->size && slot[i] == pattern_want(mem, of, i))
		i++;
	return i;
}

static bool pattern_judge(const struct perf_region *mem, const struct pattern *of)
{
	uint64_t i = pattern_first_wrong(mem, of);

	if (i == mem->size)
		return true;
	cli_error("wrong data: byte %" PRIu64 " of %" PRIu64 " of message %" PRIu64
		  " is 0x%02x and should be 0x%02x; the adapter damaged or lost it",
		  i, mem->size, of->index, region_in(mem, of->index)[i], pattern_want(mem, of, i));
	return false;
}

bool pattern_verify(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t last_generation, uint64_t index)
{
	return pattern_judge(mem, &(struct pattern){ from_server, generation, last_generation, index });
}

bool pattern_verify_polled(const struct perf_region *mem, bool from_server, uint64_t generation,
			   uint64_t index, uint64_t *late)
{
	struct pattern of = { from_server, generation, generation, index };
	uint64_t until;

	*late = pattern_first_wrong(mem, &of);
	if (*late == mem->size)
		return true;
	until = perf_now_ns() + LATE_NS;
	while (pattern_first_wrong(mem, &of) < mem->size && perf_now_ns() < until)
		/* acquire: the next look reads the memory again */
		atomic_thread_fence(memory_order_acquire);
	return pattern_judge(mem, &of);
}
