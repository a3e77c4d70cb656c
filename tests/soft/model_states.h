/* SPDX-License-Identifier: BSD-2-Clause */
/* The states that the model checker has visited: a set of numbers, which grows. */
#ifndef TESTS_SOFT_MODEL_STATES_H
#define TESTS_SOFT_MODEL_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table that is at most half full. 0 marks a free place. A struct of zeros is an empty set. */
struct states {
	uint64_t *table;
	size_t room, count;
};

/* Returns false if the state was in the set already. */
bool states_add(struct states *states, uint64_t state);
void states_clear(struct states *states);

#endif
