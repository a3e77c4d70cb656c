/* SPDX-License-Identifier: BSD-2-Clause */
/* The states that the model checker has come to: a set of numbers, which grows. */
#ifndef TESTS_SOFT_MODEL_STATES_H
#define TESTS_SOFT_MODEL_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table at most half full; 0: a free place. All zero: empty. */
struct states {
	uint64_t *table;
	size_t room, count;
};

/* False: it was there. */
bool states_add(struct states *states, uint64_t state);
void states_clear(struct states *states);

#endif
