/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a copy that the peer can hold up. */
#include "copying.h"
#include "xfer.h"

/* Writes a field of the record while none stands. */
#define KEEP(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)
/* Reads one. acquire: if it is of a later record, the second read of `count` finds that */
#define LOOK(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

void soft_copying_begin(struct soft_copying *copying, const struct soft_list *local, const struct soft_right *right)
{
	uint32_t n = (uint32_t)local->n;

	/* release, all: whoever finds one of these also finds that the record before has ended */
	for (uint32_t i = 0; i < n; i++) {
		KEEP(copying->sge[i].lmr_context, local->sge[i].lmr_context);
		KEEP(copying->sge[i].addr, local->sge[i].addr);
		KEEP(copying->sge[i].len, local->sge[i].len);
	}
	KEEP(copying->n, n);
	KEEP(copying->window, right->window);
	KEEP(copying->initiator, right->initiator);
	/* release: publishes the record, and comes after what this thread has accessed before */
	__atomic_store_n(&copying->count, copying->count + 1, __ATOMIC_RELEASE);
}

void soft_copying_end(struct soft_copying *copying)
{
	/* release: comes after all accesses of the copy */
	__atomic_store_n(&copying->count, copying->count + 1, __ATOMIC_RELEASE);
	/*
	 * Pairs with the fence of a thread that frees a region, between the end of its context and soft_copying_spares(). Either
	 * that function finds this end, or the checks that follow find the end of the context.
	 */
	soft_fence();
}

bool soft_copying_stands(const struct soft_copying *copying)
{
	/* relaxed: the answer may be out of date when it is used */
	return __atomic_load_n(&copying->count, __ATOMIC_RELAXED) & 1;
}

/* A window has an index of its own in the table of regions. */
static bool segment_touches(const struct datp_sge *sge, const struct soft_freed *freed)
{
	if (!freed->len)
		return SOFT_MR_INDEX(sge->lmr_context) == SOFT_MR_INDEX(freed->context);
	return sge->len && sge->addr < freed->addr + freed->len && freed->addr < sge->addr + sge->len;
}

bool soft_copying_spares(const struct soft_copying *copying, const struct soft_freed *freed, bool *initiator)
{
	/* acquire: makes visible what the thread had accessed before */
	uint32_t count = __atomic_load_n(&copying->count, __ATOMIC_ACQUIRE), n = LOOK(copying->n);

	if (!(count & 1))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct datp_sge sge = { .lmr_context = LOOK(copying->sge[i].lmr_context),
					      .addr = LOOK(copying->sge[i].addr),
					      .len = LOOK(copying->sge[i].len) };

		if (segment_touches(&sge, freed))
			return false;
	}
	if (!freed->len && SOFT_MR_INDEX(LOOK(copying->window)) == SOFT_MR_INDEX(freed->context))
		return false;
	*initiator = LOOK(copying->initiator);
	/* relaxed: comes after the loads above */
	return __atomic_load_n(&copying->count, __ATOMIC_RELAXED) == count;
}
