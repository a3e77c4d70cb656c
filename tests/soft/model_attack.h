/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that writes any value into any word that it can reach, at any step: the counterpart of the model checker for what
 * is not a protocol any more. One thread runs the provider's sources, as model.h says; before each of its accesses to
 * memory the attacker may write, and mostly does so just where that access goes, so a word may have another value each
 * time it is looked at, and a compare-exchange may fail each time. What the attacker writes follows from a seed.
 *
 * A call that takes more than a number of steps is an error, and so is whatever the scenario calls one.
 */
#ifndef TESTS_SOFT_MODEL_ATTACK_H
#define TESTS_SOFT_MODEL_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_attack {
	const char *name;
	void (*call)(void); /* one call of ours: model_attack_random() says which */
	void (*end)(void);  /* after the last call of a run, which are `calls`; nobody attacks any more */
	unsigned int calls;
	unsigned int steps; /* that a call may take */
};

/* Set up first: memory that the attacker can write to, and memory that it cannot; each run begins with both as they are now. */
void model_attack_reset(void);
void model_attack_area(void *memory, size_t size);
void model_attack_keep(void *memory, size_t size);
bool model_attack_reaches(const void *memory, uint64_t size); /* all of it lies in such an area */

/* So many runs, by the seeds from `seed` on. False: something was wrong, and has been said on stderr with its seed. */
bool model_attack(const struct model_attack *attack, uint64_t seed, unsigned int runs);

/* ---- within a run ---- */

uint32_t model_attack_random(uint32_t below);
void model_attack_pause(bool on); /* the attacker looks on for a while */
void model_attack_wrong(const char *what) __attribute__((noreturn)); /* ends the run */

#endif
