/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search of the model checker (model.h), its coroutines, and its atomics.
 *
 * The search is depth first. Each run begins at the start, repeats the choices of the run before it up to the last one that has
 * an untried alternative, and takes that. A state is what each thread has done and seen so far, because everything else follows
 * from that. A run ends when it reaches a state that an earlier run has reached.
 *
 * A thread's view has, for each word, the oldest value that the thread may still load, and for each thread the number of its steps
 * that happen before the present step. A release store keeps the view of its thread with the value; an acquire load merges it
 * into its own. All sequentially consistent fences share one view; a sequentially consistent access merges its own word only.
 *
 * Invariant: outside a run the atomics are plain memory.
 */
#define MODEL_ITSELF
#include "tests/soft/model.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "check.h"
#include "tests/soft/model_states.h"

#define BRIEF_BUDGET 2	   /* the budget of every scenario if CHECK_DEPTH=brief */
#define WORDS	 96
#define VALUES	 64	   /* of a word in one run */
#define PAYLOADS 32
#define KEPT	 40
#define CHOICES	 4096	   /* in one run */
#define STEPS	 4096
#define STACK	 (64u << 10)
#define SHOWN	 160	   /* steps that are printed before an error */
#define ALIVE	 16384	   /* new states between two lines that show progress */

struct view {
	uint8_t seen[WORDS];
	uint16_t clock[MODEL_THREADS];
};

struct value {
	uint64_t is;
	struct view view;
};

struct word {
	const volatile void *at;
	size_t size;
	const char *name;
	unsigned int users; /* a bit for each thread that has accessed it; an access is a step only if another thread has, too */
	unsigned int count;
	struct value value[VALUES];
};

enum state { RUNS, WAITS, SLEEPS, BLOCKED, DIED, ENDED };

struct thread {
	jmp_buf begin, here; /* setjmp() and longjmp() make no system calls, as swapcontext() does */
	void *stack;
	enum state state;
	uint64_t since;		    /* in state WAITS: m.writes when it began to wait */
	const volatile void *on;    /* the address that it waits for, in states SLEEPS and BLOCKED */
	struct view view, acquired; /* acquired: what relaxed loads have read, which the next acquire fence merges */
	struct view released;	    /* the view at the last release fence, which relaxed stores publish */
	uint64_t history;
};

struct payload {
	const void *at;
	int writer;
	uint16_t written, read[MODEL_THREADS];
};

struct lock {
	const void *at;
	unsigned int users; /* as a word's */
	bool held;
	struct view view;
	unsigned int count;
};

static struct {
	const struct model_scenario *scenario;
	struct {
		void *at, *copy;
		size_t size;
	} kept[KEPT];
	unsigned int kept_count;
	struct word word[WORDS];
	unsigned int words;

	/* this run */
	jmp_buf scheduler;
	struct thread thread[MODEL_THREADS];
	int threads, self; /* self: -1 outside a run */
	struct view fences;
	struct payload payload[PAYLOADS];
	struct lock locks[PAYLOADS];
	uint64_t writes;
	bool died;
	int last;	     /* the thread of the last step */
	unsigned int budget; /* what is left of the scenario's budget */
	char error[256];
	struct {
		int thread;
		const char *what, *name;
		uint64_t value;
		unsigned int which;
	} step[STEPS];
	unsigned int steps;

	/* the search */
	struct {
		unsigned int of, taken;
	} choice[CHOICES];
	unsigned int choices, at;
	struct states seen; /* the states that have been reached */
	bool again; /* a word is shared that did not seem so: the search begins again, and accesses to it are steps */
} m = { .self = -1 };

void (*model_attacker)(const volatile void *word);
void (*model_copied)(const void *to, const void *from, uint64_t size);

/* ---- the search ---- */

static uint64_t mix(uint64_t hash, uint64_t with)
{
	hash ^= with + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
	hash *= 0xff51afd7ed558ccdu;
	return hash ^ hash >> 32;
}

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "model: no memory\n");
		abort();
	}
	return memory;
}

static bool can_run(const struct thread *t);

static bool state_is_known(void)
{
	uint64_t key = m.scenario->budget ? mix(m.budget, (uint64_t)m.last) : 1;

	for (int t = 0; t < m.threads; t++)
		key = mix(mix(key, m.thread[t].history), can_run(&m.thread[t]) ? RUNS : m.thread[t].state);
	if (!states_add(&m.seen, key))
		return true;
	/* progress is measured in new states and not in time, so a busy machine does not end the search */
	if (!(m.seen.count % ALIVE))
		check_alive();
	return false;
}

static void error(const char *format, ...)
{
	va_list args;

	if (*m.error)
		return;
	va_start(args, format);
	vsnprintf(m.error, sizeof(m.error), format, args);
	va_end(args);
}

static unsigned int choose(unsigned int of)
{
	if (of < 2)
		return 0;
	if (m.at < m.choices)
		return m.choice[m.at++].taken;
	if (m.choices == CHOICES) {
		error("more than %d choices", CHOICES);
		return 0;
	}
	m.choice[m.choices].of = of;
	m.choice[m.choices++].taken = 0;
	m.at++;
	return 0;
}

/* Chooses the next path. Returns false if every path has been tried. */
static bool backtrack(void)
{
	while (m.choices && m.choice[m.choices - 1].taken + 1 == m.choice[m.choices - 1].of)
		m.choices--;
	if (!m.choices)
		return false;
	m.choice[m.choices - 1].taken++;
	return true;
}

/* ---- threads ---- */

int model_self(void)
{
	return m.self;
}

static struct thread *self(void)
{
	return &m.thread[m.self];
}

static void leave(void)
{
	int me = m.self;

	m.self = -1;
	if (!_setjmp(m.thread[me].here)) /* unlike swapcontext(), without a system call */
		_longjmp(m.scheduler, 1);
	m.self = me;
}

/* Called before an access to shared memory: the scheduler may run other threads first. */
static void before_step(unsigned int *users)
{
	unsigned int me = 1u << m.self;

	if (users && !(*users & me)) {
		m.again = *users != 0;
		*users |= me;
		if (m.again)
			leave(); /* ends this run for good, because an access that was no step so far has become one */
	}
	if (users && *users == me) {
		self()->view.clock[m.self]++;
		return;
	}
	self()->history = mix(self()->history, 1);
	leave();
	self()->view.clock[m.self]++;
}

static void note(const char *what, const char *name, uint64_t value, unsigned int which)
{
	struct thread *t = self();

	t->history = mix(mix(mix(t->history, (uintptr_t)what), (uintptr_t)name), mix(value, which));
	if (m.steps == STEPS) {
		error("more than %d steps", STEPS);
		leave();
	}
	m.step[m.steps].thread = m.self;
	m.step[m.steps].what = what;
	m.step[m.steps].name = name;
	m.step[m.steps].value = value;
	m.step[m.steps++].which = which;
}

static void wrote(void)
{
	m.writes++;
}

/* The body of a coroutine, which waits here between runs: a run begins with a jump to `begin`. */
static void body(int t)
{
	if (!_setjmp(m.thread[t].begin))
		_longjmp(m.scheduler, 1);
	m.scenario->run[m.self]();
	self()->state = ENDED;
	wrote(); /* threads that wait look again, because this one has ended */
	leave();
}

/* Returns true if some word has a value that is newer than the one the thread has seen. */
static bool behind(const struct thread *t)
{
	for (unsigned int w = 0; w < m.words; w++)
		if (t->view.seen[w] + 1u < m.word[w].count)
			return true;
	return false;
}

static bool can_run(const struct thread *t)
{
	return t->state == RUNS || (t->state == WAITS && (t->since != m.writes || behind(t)));
}

/* Lets time pass: threads that wait see the newest values now. */
static void look_up(struct thread *t)
{
	for (unsigned int w = 0; w < m.words; w++)
		t->view.seen[w] = (uint8_t)(m.word[w].count - 1);
}

static void resume(int n)
{
	struct thread *t = &m.thread[n];

	if (t->state == WAITS)
		look_up(t);
	t->state = RUNS;
	m.self = n;
	if (!_setjmp(m.scheduler))
		_longjmp(t->here, 1);
	m.self = -1;
}

static void spend(void)
{
	if (m.scenario->budget)
		m.budget--;
}

/* Returns what runs next: a thread, the death of one (threads + n), or -1 at the end. */
static int next_thread(void)
{
	int list[MODEL_THREADS + 1], n = 0, mortal = m.scenario->mortal - 1, next;
	bool goes_on = m.last >= 0 && can_run(&m.thread[m.last]), waiting = false, all = true;

	if (goes_on)
		list[n++] = m.last;
	for (int t = 0; t < m.threads; t++) {
		if (can_run(&m.thread[t]) && t != m.last && (!goes_on || m.budget))
			list[n++] = t;
		waiting = waiting || m.thread[t].state == WAITS;
		all = all && m.thread[t].state >= DIED;
	}
	if (all)
		return -1;
	if (mortal >= 0 && !m.died && m.thread[mortal].state < DIED)
		list[n++] = m.threads + mortal;
	if (n) {
		next = list[choose((unsigned int)n)];
		if (goes_on && next != m.last && next < m.threads)
			spend();
		return next;
	}
	/* No thread can run. After a death, a thread that only waits goes on, because its timeout expires. */
	for (int t = 0; waiting && m.died && t < m.threads; t++)
		if (m.thread[t].state == WAITS)
			return t;
	error("nobody goes on: a wake-up is lost");
	return -1;
}

/* Creates a coroutine, which all runs use. */
static void make_thread(int t, void *stack)
{
	ucontext_t context, back;

	getcontext(&context);
	m.thread[t].stack = stack;
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = STACK;
	context.uc_link = NULL; /* it never returns */
	makecontext(&context, (void (*)(void))body, 1, t);
	if (!_setjmp(m.scheduler))
		swapcontext(&back, &context);
}

static void start_thread(struct thread *t)
{
	memcpy(t->here, t->begin, sizeof(t->here));
	t->state = RUNS;
	t->history = 0;
	t->on = NULL;
	memset(&t->view, 0, sizeof(t->view));
	memset(&t->acquired, 0, sizeof(t->acquired));
	memset(&t->released, 0, sizeof(t->released));
}

static void start_run(void)
{
	for (unsigned int i = 0; i < m.kept_count; i++)
		memcpy(m.kept[i].at, m.kept[i].copy, m.kept[i].size);
	if (m.scenario->begin)
		m.scenario->begin();
	for (unsigned int w = 0; w < m.words; w++) {
		struct word *word = &m.word[w];

		word->count = 1;
		memset(&word->value[0], 0, sizeof(word->value[0]));
		memcpy(&word->value[0].is, (const void *)word->at, word->size);
	}
	memset(&m.fences, 0, sizeof(m.fences));
	memset(m.payload, 0, sizeof(m.payload));
	for (int i = 0; i < PAYLOADS; i++) {
		m.locks[i].held = false;
		m.locks[i].count = 0;
		memset(&m.locks[i].view, 0, sizeof(m.locks[i].view));
	}
	m.steps = m.at = 0;
	m.writes = 1;
	m.died = false;
	m.last = -1;
	m.budget = m.scenario->budget ? m.scenario->budget : UINT_MAX;
	*m.error = 0;
	for (int t = 0; t < m.threads; t++)
		start_thread(&m.thread[t]);
}

/* Returns false after an error. */
static bool run(void)
{
	start_run();
	while (!*m.error && !m.again) {
		int next;

		if (m.at == m.choices && state_is_known())
			return true;
		next = next_thread();
		if (next < 0)
			break;
		if (next < m.threads) {
			m.last = next;
			resume(next);
			continue;
		}
		m.died = true;
		m.thread[next - m.threads].state = DIED;
		wrote();
	}
	if (!*m.error && !m.again && m.scenario->end)
		m.scenario->end();
	return !*m.error;
}

static void show(void)
{
	unsigned int from = m.steps > SHOWN ? m.steps - SHOWN : 0;

	fprintf(stderr, "# %s: %s\n", m.scenario->name, m.error);
	for (unsigned int i = from; i < m.steps; i++)
		fprintf(stderr, "#   %d  %-10s %-14s %#llx (%u)\n", m.step[i].thread, m.step[i].what, m.step[i].name,
			(unsigned long long)m.step[i].value, m.step[i].which);
}

/* Searches all orders of the steps that are known so far. */
static bool search(void)
{
	bool right;

	m.again = false;
	m.choices = 0;
	states_clear(&m.seen);
	do
		right = run();
	while (right && !m.again && backtrack());
	return right;
}

bool model_explore(const struct model_scenario *scenario)
{
	struct model_scenario brief = *scenario;
	void *stack[MODEL_THREADS];
	bool right;

	if (check_is_brief() && (!brief.budget || brief.budget > BRIEF_BUDGET)) {
		brief.budget = BRIEF_BUDGET;
		scenario = &brief;
	}
	for (unsigned int i = 0; i < m.kept_count; i++) {
		m.kept[i].copy = must(malloc(m.kept[i].size));
		memcpy(m.kept[i].copy, m.kept[i].at, m.kept[i].size);
	}
	memset(m.locks, 0, sizeof(m.locks));
	for (unsigned int w = 0; w < m.words; w++)
		m.word[w].users = 0;
	m.scenario = scenario;
	for (m.threads = 0; m.threads < MODEL_THREADS && scenario->run[m.threads]; m.threads++)
		make_thread(m.threads, stack[m.threads] = must(malloc(STACK)));
	do
		right = search();
	while (right && m.again);
	if (!right)
		show();
	for (unsigned int i = 0; i < m.kept_count; i++)
		free(m.kept[i].copy);
	for (int t = 0; t < m.threads; t++)
		free(stack[t]);
	return right;
}

uint64_t model_states(void)
{
	return m.seen.count;
}

void model_reset(void)
{
	m.kept_count = m.words = 0;
}

void model_keep(void *memory, size_t size)
{
	if (m.kept_count == KEPT)
		abort();
	m.kept[m.kept_count].at = memory;
	m.kept[m.kept_count++].size = size;
}

void model_watch(const volatile void *at, size_t size, const char *name)
{
	struct word *word = &m.word[m.words++];

	if (m.words > WORDS)
		abort();
	word->at = at;
	word->size = size;
	word->name = name;
}

/* ---- what threads do ---- */

void model_require_(bool condition, const char *text, int line)
{
	if (condition)
		return;
	error("line %d: %s is not so", line, text);
	if (m.self >= 0)
		leave();
}

void model_yield(void)
{
	if (m.self < 0)
		return;
	note("waits", "", 0, 0);
	self()->state = WAITS;
	self()->since = m.writes;
	leave();
	for (unsigned int w = 0; w < m.words; w++)
		self()->history = mix(self()->history, self()->view.seen[w]);
}

void model_pause(void)
{
	if (m.self < 0)
		return;
	before_step(NULL);
	note("goes on", "", 0, 0);
}

static void view_join(struct view *view, const struct view *with)
{
	for (unsigned int w = 0; w < m.words; w++)
		if (with->seen[w] > view->seen[w])
			view->seen[w] = with->seen[w];
	for (int t = 0; t < m.threads; t++)
		if (with->clock[t] > view->clock[t])
			view->clock[t] = with->clock[t];
}

bool model_dead(int thread)
{
	bool dead;

	before_step(NULL);
	dead = m.thread[thread].state == DIED;
	if (dead)
		view_join(&self()->view, &m.thread[thread].view);
	note(dead ? "is dead" : "is alive", "", (uint64_t)thread, 0);
	return dead;
}

void model_see_all(void)
{
	for (int t = 0; t < m.threads; t++)
		view_join(&self()->view, &m.thread[t].view);
}

static struct payload *payload_of(const void *at)
{
	unsigned int i = 0;

	while (i < PAYLOADS && m.payload[i].at && m.payload[i].at != at)
		i++;
	if (i == PAYLOADS)
		abort();
	m.payload[i].at = at;
	return &m.payload[i];
}

void model_read(const void *at)
{
	struct payload *p;

	if (m.self < 0)
		return;
	self()->view.clock[m.self]++;
	p = payload_of(at);
	if (p->written > self()->view.clock[p->writer] && p->writer != m.self) {
		error("thread %d reads what thread %d may be writing", m.self, p->writer);
		leave();
	}
	p->read[m.self] = self()->view.clock[m.self];
}

void model_write(const void *at)
{
	struct payload *p;

	if (m.self < 0)
		return;
	self()->view.clock[m.self]++;
	p = payload_of(at);
	for (int t = 0; t < m.threads; t++)
		if (t != m.self && ((p->writer == t && p->written > self()->view.clock[t]) ||
				    p->read[t] > self()->view.clock[t])) {
			error("thread %d writes what thread %d may be using", m.self, t);
			leave();
		}
	p->writer = m.self;
	p->written = self()->view.clock[m.self];
}

static struct lock *lock_of(const void *at)
{
	unsigned int i = 0;

	while (i < PAYLOADS && m.locks[i].at && m.locks[i].at != at)
		i++;
	if (i == PAYLOADS)
		abort();
	m.locks[i].at = at;
	return &m.locks[i];
}

void model_lock(_Atomic uint32_t *at)
{
	struct lock *lock;

	if (m.self < 0)
		return;
	lock = lock_of((const void *)at);
	before_step(&lock->users);
	while (lock->held) {
		self()->state = BLOCKED;
		self()->on = lock;
		leave();
	}
	lock->held = true;
	view_join(&self()->view, &lock->view);
	note("locks", "", (uintptr_t)at, lock->count++);
}

void model_unlock(_Atomic uint32_t *at)
{
	struct lock *lock;

	if (m.self < 0)
		return;
	lock = lock_of((const void *)at);
	lock->held = false;
	lock->view = self()->view;
	for (int t = 0; t < m.threads; t++)
		if (m.thread[t].state == BLOCKED && m.thread[t].on == lock)
			m.thread[t].state = RUNS;
	note("unlocks", "", (uintptr_t)at, 0);
}

/* ---- atomics ---- */

static bool acquires(memory_order order)
{
	return order == memory_order_acquire || order == memory_order_consume || order == memory_order_acq_rel ||
	       order == memory_order_seq_cst;
}

static bool releases(memory_order order)
{
	return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

/* Returns the number of the watched word at this address, or WORDS if it is not watched or no run is under way. */
static unsigned int word_of(const volatile void *at)
{
	unsigned int w = 0;

	if (m.self < 0 && model_attacker)
		model_attacker(at);
	if (m.self < 0)
		return WORDS;
	while (w < m.words && m.word[w].at != at)
		w++;
	return w < m.words ? w : WORDS;
}

static void see(unsigned int w, unsigned int which, memory_order order)
{
	struct thread *t = self();
	const struct view *view = &m.word[w].value[which].view;

	if (which > t->view.seen[w])
		t->view.seen[w] = (uint8_t)which;
	view_join(acquires(order) ? &t->view : &t->acquired, view);
	if (order == memory_order_seq_cst && which > m.fences.seen[w])
		m.fences.seen[w] = (uint8_t)which;
}

uint64_t model_load(const volatile void *at, size_t size, memory_order order)
{
	unsigned int w = word_of(at), oldest, which;
	uint64_t value = 0;
	struct word *word;

	if (w == WORDS) {
		memcpy(&value, (const void *)at, size);
		return value;
	}
	before_step(&m.word[w].users);
	word = &m.word[w];
	oldest = self()->view.seen[w];
	if (order == memory_order_seq_cst && m.fences.seen[w] > oldest)
		oldest = m.fences.seen[w];
	which = word->count - 1 - choose(m.budget ? word->count - oldest : 1);
	if (which + 1 < word->count)
		spend();
	see(w, which, order);
	note("loads", word->name, word->value[which].is, which);
	return word->value[which].is;
}

/* Stores a value. `after`: what the value before released, and this one of a read-modify-write releases as well; or NULL. */
static void put(unsigned int w, uint64_t value, memory_order order, const struct view *after)
{
	struct word *word = &m.word[w];
	struct thread *t = self();
	struct value *new = &word->value[word->count];

	if (word->count == VALUES) {
		error("more than %d values of %s", VALUES, word->name);
		leave();
	}
	t->view.seen[w] = (uint8_t)word->count;
	if (order == memory_order_seq_cst)
		m.fences.seen[w] = (uint8_t)word->count;
	new->is = value;
	new->view = releases(order) ? t->view : t->released;
	new->view.seen[w] = (uint8_t)word->count;
	if (after)
		view_join(&new->view, after);
	word->count++;
	memcpy((void *)(uintptr_t)word->at, &value, word->size);
	wrote();
}

void model_store(volatile void *at, size_t size, uint64_t value, memory_order order)
{
	unsigned int w = word_of(at);

	if (w == WORDS) {
		memcpy((void *)(uintptr_t)at, &value, size);
		return;
	}
	before_step(&m.word[w].users);
	put(w, value, order, NULL);
	note("stores", m.word[w].name, value, m.word[w].count - 1);
}

static uint64_t changed(enum model_rmw how, uint64_t old, uint64_t value)
{
	switch (how) {
	case MODEL_SET:
		return value;
	case MODEL_ADD:
		return old + value;
	case MODEL_SUB:
		return old - value;
	case MODEL_OR:
		return old | value;
	default:
		return old & value;
	}
}

static uint64_t cut(uint64_t value, size_t size)
{
	return size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

uint64_t model_change(volatile void *at, size_t size, enum model_rmw how, uint64_t value, memory_order order)
{
	unsigned int w = word_of(at), last;
	uint64_t old = 0, new;

	if (w == WORDS) {
		memcpy(&old, (const void *)(uintptr_t)at, size);
		new = cut(changed(how, old, value), size);
		memcpy((void *)(uintptr_t)at, &new, size);
		return old;
	}
	before_step(&m.word[w].users);
	last = m.word[w].count - 1;
	old = m.word[w].value[last].is;
	see(w, last, order);
	put(w, cut(changed(how, old, value), size), order, &m.word[w].value[last].view);
	note("changes", m.word[w].name, m.word[w].value[last + 1].is, last + 1);
	return old;
}

bool model_compare(volatile void *at, size_t size, void *expected, uint64_t value, memory_order good,
		   memory_order bad)
{
	unsigned int w = word_of(at), last;
	uint64_t old = 0, want = 0;

	memcpy(&want, expected, size);
	if (w == WORDS) {
		memcpy(&old, (const void *)(uintptr_t)at, size);
		if (old == want)
			memcpy((void *)(uintptr_t)at, &value, size);
		else
			memcpy(expected, &old, size);
		return old == want;
	}
	before_step(&m.word[w].users);
	last = m.word[w].count - 1;
	old = m.word[w].value[last].is;
	see(w, last, old == want ? good : bad);
	if (old != want) {
		note("finds", m.word[w].name, old, last);
		memcpy(expected, &old, size);
		return false;
	}
	put(w, value, good, &m.word[w].value[last].view);
	note("swaps", m.word[w].name, value, last + 1);
	return true;
}

void model_fence(memory_order order)
{
	struct thread *t;

	if (m.self < 0)
		return;
	before_step(NULL);
	t = self();
	if (acquires(order))
		view_join(&t->view, &t->acquired);
	if (order == memory_order_seq_cst)
		for (unsigned int w = 0; w < m.words; w++) {
			if (m.fences.seen[w] > t->view.seen[w])
				t->view.seen[w] = m.fences.seen[w];
			m.fences.seen[w] = t->view.seen[w];
			t->history = mix(t->history, t->view.seen[w]);
		}
	if (releases(order))
		t->released = t->view;
	note("fence", "", (uint64_t)order, 0);
}

void model_fence_everybody(void)
{
	if (m.self < 0)
		return;
	before_step(NULL);
	for (int t = 0; t < m.threads; t++)
		view_join(&self()->view, &m.thread[t].view);
	for (int t = 0; t < m.threads; t++) {
		view_join(&m.thread[t].view, &self()->view);
		m.thread[t].history = mix(m.thread[t].history, mix(self()->history, 1));
	}
	note("fences", "everybody", 0, 0);
}

/* ---- the kernel ---- */

void model_futex_wait(_Atomic uint32_t *at, uint32_t seen)
{
	unsigned int w = word_of((const volatile void *)at);
	uint32_t is;

	before_step(NULL);
	memcpy(&is, (const void *)at, sizeof(is)); /* the kernel holds a lock that wakers take, so it sees the newest value */
	note(is == seen ? "sleeps" : "stays up", m.word[w].name, is, m.word[w].count - 1);
	if (is == seen) {
		self()->state = SLEEPS;
		self()->on = (const volatile void *)at;
		leave();
	}
	look_up(self());
	for (w = 0; w < m.words; w++)
		self()->history = mix(self()->history, self()->view.seen[w]);
}

void model_futex_wake(_Atomic uint32_t *at, bool all)
{
	bool more = true;

	if (m.self < 0)
		return;
	before_step(NULL);
	for (int t = 0; t < m.threads && more; t++)
		if (m.thread[t].state == SLEEPS && m.thread[t].on == (const volatile void *)at) {
			m.thread[t].state = RUNS;
			more = all;
		}
	wrote();
	note(all ? "wakes" : "wakes one", "", 0, 0);
}
