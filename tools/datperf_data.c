/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's memory: the registered region of a link and the pattern in its messages.
 *
 * Invariant: two patterns that differ in one of side, slot and generation differ in every byte
 * (for slots and generations less than 256 apart), so a message that did not arrive, or arrived in
 * the wrong place, cannot be taken for the right one.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "datperf.h"

#define PAGE 4096u
#define CACHE_LINE 64u

static size_t stride_of(uint64_t size)
{
	return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* The bytes of a region: what goes out, what comes in, and the credits. */
uint64_t region_length(uint64_t size, uint32_t slots)
{
	uint64_t length = 2 * slots * stride_of(size) + PERF_CREDITS * PERF_CREDIT_SIZE;

	return (length + PAGE - 1) / PAGE * PAGE;
}

int region_create(struct perf_region *mem, const struct perf_ia *ia, uint64_t size, uint32_t slots)
{
	DAT_REGION_DESCRIPTION where;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
	DAT_RETURN ret;

	mem->size = size;
	mem->slots = slots;
	mem->stride = stride_of(size);
	mem->length = region_length(size, slots);

	mem->base = aligned_alloc(PAGE, mem->length);
	if (mem->base == NULL) {
		cli_error("no memory for %zu bytes of messages; take a smaller --size",
			  mem->length);
		return -1;
	}
	memset(mem->base, 0, mem->length);

	where.for_va = mem->base;
	ret = dat_lmr_create(ia->ia, DAT_MEM_TYPE_VIRTUAL, where, mem->length, ia->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &mem->lmr, &mem->lmr_context,
			     &mem->rmr_context, &registered_size, &registered_address);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_lmr_create(%zu bytes)", mem->length);
		free(mem->base);
		mem->base = NULL;
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
	free(mem->base);
	mem->base = NULL;
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

unsigned char pattern_byte(bool from_server, uint64_t generation, uint32_t slot, uint64_t offset)
{
	uint64_t place = offset * 167 + (offset >> 8) * 13 + (offset >> 16) * 7;

	return (unsigned char)(place + slot * 29 + generation * 61 + (from_server ? 128 : 0));
}

void pattern_fill(const struct perf_region *mem, bool from_server, uint64_t generation,
		  uint64_t index)
{
	unsigned char *slot = region_out(mem, index);

	for (uint64_t i = 0; i < mem->size; i++)
		slot[i] = pattern_byte(from_server, generation, slot_of(mem, index), i);
}

void pattern_poison(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t index)
{
	unsigned char *slot = region_in(mem, index);

	for (uint64_t i = 0; i < mem->size; i++)
		slot[i] = (unsigned char)~pattern_byte(from_server, generation,
						       slot_of(mem, index), i);
}

/* The last byte has a generation of its own: write-lat counts in it. */
bool pattern_verify(const struct perf_region *mem, bool from_server, uint64_t generation,
		    uint64_t last_generation, uint64_t index)
{
	const unsigned char *slot = region_in(mem, index);
	uint64_t last = mem->size - 1;
	unsigned char want;

	for (uint64_t i = 0; i <= last; i++) {
		want = pattern_byte(from_server, i == last ? last_generation : generation,
				    slot_of(mem, index), i);
		if (slot[i] == want)
			continue;
		cli_error("wrong data: byte %" PRIu64 " of %" PRIu64 " of message %" PRIu64
			  " is 0x%02x and should be 0x%02x; the adapter damaged or lost it",
			  i, mem->size, index, slot[i], want);
		return false;
	}
	return true;
}
