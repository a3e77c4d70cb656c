/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacker of the model checker: model_attack.h. For each call it chooses how often it writes, which values it prefers, and
 * where it writes: anywhere, or, in most calls, only to one word, each time the call accesses it. In the latter case all other
 * words are right, so that the call reaches each loop over this word, and a compare-exchange of it may fail each time.
 */
#define MODEL_ITSELF
#include "tests/soft/model_attack.h"
#include "tests/soft/model.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define AREAS 16
#define PAST  64 /* how many earlier values of words are remembered */

struct memory {
	unsigned char *at, *copy;
	size_t size;
	bool reached;
};

static struct {
	struct memory memory[AREAS];
	unsigned int count;
	const struct model_attack *attack;
	jmp_buf out;
	bool paused;
	uint64_t state; /* the state of the random number generator */
	unsigned int steps, most;
	const char *wrong;
	/* how this attacker behaves */
	unsigned int often;   /* it writes at this many of 16 accesses */
	unsigned int aside;   /* this many of 16 writes go to any word instead of the one that is accessed */
	unsigned int likes;   /* the kind of value that it prefers */
	bool sure;	      /* it writes no other kind */
	uint64_t bit, also;   /* kind BIT: the bit to change each time, and a bit to set each time; kind MORE: a bit to set */
	unsigned int every;   /* how many accesses it skips after each write */
	unsigned int let;     /* how many accesses it is still to skip */
	unsigned int first;   /* it writes only to the word of the access with this number; 0: to any word */
	const void *only;     /* that word, once it is known */
	struct {
		uintptr_t at;
		uint64_t value;
	} past[PAST];
} a;

static uint64_t next_number(void)
{
	/* splitmix64 */
	uint64_t z = a.state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t model_attack_random(uint32_t below)
{
	return (uint32_t)((next_number() >> 32) * below >> 32);
}

void model_attack_pause(bool on)
{
	a.paused = on;
}

void model_attack_wrong(const char *what)
{
	a.wrong = what;
	longjmp(a.out, 1);
}

bool model_attack_reaches(const void *memory, uint64_t size)
{
	const unsigned char *at = memory;

	for (unsigned int i = 0; i < a.count; i++)
		if (a.memory[i].reached && at >= a.memory[i].at && at <= a.memory[i].at + a.memory[i].size &&
		    size <= (uint64_t)(a.memory[i].at + a.memory[i].size - at))
			return true;
	return false;
}

/* Returns a word of 4 or 8 bytes to which the attacker can write. */
static unsigned char *any_place(void)
{
	unsigned int i;

	do
		i = model_attack_random(a.count);
	while (!a.memory[i].reached);
	return a.memory[i].at + 4 * (size_t)model_attack_random((uint32_t)(a.memory[i].size / 4 - 1));
}

enum sort { BIT, MORE, BITS, NEXT, NEAR, PAST_VALUE, ODD, RANDOM, SORTS };

static uint64_t odd_value(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 3, 4, 5, 17, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff,
					UINT64_MAX, (uint64_t)1 << 63 };

	return odd[model_attack_random(sizeof(odd) / sizeof(*odd))];
}

static uint64_t value_for(uintptr_t at, uint64_t is)
{
	unsigned int sort = a.sure || model_attack_random(4) ? a.likes : model_attack_random(SORTS), i;

	switch (sort) {
	case BIT:
		return (is ^ a.bit) | a.also;
	case MORE:
		return is | a.bit;
	case NEXT:
		return is + 1;
	case BITS:
		return is ^ (uint64_t)1 << model_attack_random(model_attack_random(2) ? 5 : 64);
	case NEAR:
		return is + model_attack_random(9) - 4;
	case PAST_VALUE:
		i = model_attack_random(PAST);
		for (unsigned int n = 0; n < PAST; n++, i++)
			if (a.past[i % PAST].at == at && a.past[i % PAST].value != is)
				return a.past[i % PAST].value;
		return is;
	case ODD:
		return odd_value();
	default:
		return next_number();
	}
}

static void strike(unsigned char *at)
{
	size_t size = (uintptr_t)at % 8 || model_attack_random(2) || !model_attack_reaches(at, 8) ? 4 : 8;
	uint64_t is = 0, value;

	memcpy(&is, at, size);
	value = value_for((uintptr_t)at, is);
	memcpy(at, &value, size);
}

static void before_access(const volatile void *word)
{
	unsigned char *at = (unsigned char *)(uintptr_t)word;
	unsigned int slot;

	if (a.paused)
		return;
	if (a.steps++ == a.attack->steps)
		model_attack_wrong("a call does not end");
	if (!model_attack_reaches(at, 4)) {
		if (!a.first && model_attack_random(16) < a.often)
			strike(any_place());
		return;
	}
	if (a.first && !--a.first) {
		a.only = at;
		a.first = UINT_MAX;
	}
	slot = model_attack_random(PAST);
	a.past[slot].at = (uintptr_t)at;
	a.past[slot].value = 0;
	memcpy(&a.past[slot].value, at, model_attack_reaches(at, 8) ? 8 : 4);
	if (a.first ? at != a.only : model_attack_random(16) < a.aside)
		at = a.first ? NULL : any_place();
	if (!at || model_attack_random(16) >= a.often)
		return;
	if (a.let) {
		a.let--;
		return;
	}
	a.let = a.every;
	strike(at);
}

static void choose_manner(void)
{
	static const unsigned int often[] = { 1, 4, 8, 15, 16, 16 };

	a.often = often[model_attack_random(sizeof(often) / sizeof(*often))];
	a.aside = model_attack_random(17);
	a.likes = model_attack_random(SORTS);
	a.sure = model_attack_random(2);
	a.bit = (uint64_t)1 << model_attack_random(model_attack_random(4) ? 8 : 64);
	a.also = model_attack_random(2) ? (uint64_t)1 << model_attack_random(8) : 0;
	a.every = model_attack_random(2) ? model_attack_random(5) : 0;
	a.let = model_attack_random(a.every + 1);
	a.first = model_attack_random(4) ? 1 + model_attack_random(model_attack_random(2) ? 12 : 60) : 0;
	a.only = NULL;
}

void model_attack_reset(void)
{
	for (unsigned int i = 0; i < a.count; i++)
		free(a.memory[i].copy);
	memset(&a, 0, sizeof(a));
}

static void add(void *memory, size_t size, bool reached)
{
	unsigned char *copy = malloc(size);

	if (a.count == AREAS || !copy)
		abort();
	memcpy(copy, memory, size);
	a.memory[a.count++] = (struct memory){ memory, copy, size, reached };
}

void model_attack_area(void *memory, size_t size)
{
	add(memory, size, true);
}

void model_attack_keep(void *memory, size_t size)
{
	add(memory, size, false);
}

static void begin(uint64_t seed)
{
	for (unsigned int i = 0; i < a.count; i++)
		memcpy(a.memory[i].at, a.memory[i].copy, a.memory[i].size);
	a.state = seed * 0xd1342543de82ef95u;
	memset(a.past, 0, sizeof(a.past));
	a.paused = false;
	a.wrong = NULL;
}

/* A function of its own, because the variables of a function that calls setjmp() may be lost. */
static void run(void)
{
	for (unsigned int i = 0; i < a.attack->calls; i++) {
		a.steps = 0;
		choose_manner();
		a.attack->call();
		if (a.steps > a.most)
			a.most = a.steps;
	}
	a.paused = true;
	a.attack->end();
}

static bool attack_once(uint64_t seed)
{
	begin(seed);
	if (!setjmp(a.out))
		run();
	return !a.wrong;
}

bool model_attack(const struct model_attack *attack, uint64_t seed, unsigned int runs)
{
	uint64_t last = seed + runs;
	bool right = true;

	a.attack = attack;
	a.most = 0;
	model_attacker = before_access;
	for (; seed != last && right; seed++) {
		if (!(seed % 256))
			check_alive();
		right = attack_once(seed);
		if (!right)
			fprintf(stderr, "# %s: seed %llu: %s\n", attack->name, (unsigned long long)seed, a.wrong);
	}
	model_attacker = NULL;
	fprintf(stderr, "# %s: %u steps in a call at most\n", attack->name, a.most);
	return right;
}
