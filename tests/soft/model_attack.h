/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that writes any value into any word that it can reach, at any step. The model checker tries peers that keep to the
 * protocol, and this one tries those that do not. One thread runs the provider's sources, as model.h says. Before each of
 * its accesses to memory the attacker may write, mostly to the word that is about to be accessed. So a word may have another
 * value at each access, and a compare-exchange may fail each time. What the attacker writes depends on a seed.
 *
 * It is an error if a call takes more than a number of steps, or if the scenario reports one.
 */
#ifndef TESTS_SOFT_MODEL_ATTACK_H
#define TESTS_SOFT_MODEL_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_attack {
	const char *name;
	void (*call)(void); /* makes one call, which it chooses by model_attack_random() */
	void (*end)(void);  /* checks the results after the last of `calls` calls, without an attacker */
	unsigned int calls;
	unsigned int steps; /* the most that a call may take */
};

/* Called before all runs: memory that the attacker can write to, and memory that it cannot. Both are reset before each run. */
void model_attack_reset(void);
void model_attack_area(void *memory, size_t size);
void model_attack_keep(void *memory, size_t size);
bool model_attack_reaches(const void *memory, uint64_t size); /* returns true if the attacker can write to all of it */

/* Makes `runs` runs, with the seeds from `seed` on. Returns false after an error, which is printed to stderr with its seed. */
bool model_attack(const struct model_attack *attack, uint64_t seed, unsigned int runs);

/* ---- within a run ---- */

uint32_t model_attack_random(uint32_t below);
void model_attack_pause(bool on); /* true: the attacker does nothing until it is called with false */
void model_attack_wrong(const char *what) __attribute__((noreturn)); /* reports an error, and ends the run */

#endif
