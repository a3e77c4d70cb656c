/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model checker for the shared memory protocol of the soft provider. It runs the provider's own sources: they are
 * compiled with this header in front of them, which puts other definitions behind the names of C11's atomics. The
 * "processes" of a scenario are coroutines of one thread, and each of their atomic accesses to a watched word is a step.
 * Every order of steps is tried, and at each load every value that C11 allows: words have histories, and a relaxed
 * access may still see an older value until an acquire, a fence or a later access to the same word forbids it.
 * Payload is watched as well: two accesses to it of which neither happens before the other are an error.
 *
 * Not tried: a store that comes, in the order of a word's values, before one that was executed earlier; a compare-exchange
 * that fails spuriously, or because it saw an older value. Consume counts as acquire.
 *
 * A scenario in which a thread sleeps for ever is an error as well, so lost wake-ups are found.
 */
#ifndef TESTS_SOFT_MODEL_H
#define TESTS_SOFT_MODEL_H

/*
 * A checked longjmp() takes the jump to another coroutine's stack for an error and aborts. This header comes first in
 * each file (-include), and so before the C library's headers look at the macro, whatever the builder's flags define.
 */
#undef _FORTIFY_SOURCE

#include <datp/provider.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MODEL_THREADS 4

struct model_scenario {
	const char *name;
	void (*begin)(void); /* before each run; not checked. The memory has been reset to its contents at the start */
	void (*run[MODEL_THREADS])(void);
	void (*end)(void); /* after each run: checks the results by model_require() */
	int mortal;	   /* 1 + the thread that may die before any of its steps; 0: none */
	/*
	 * How often in a run a thread that could go on is interrupted, or a load sees a value that is not the latest one: at
	 * most so often, or, if it is 0, any number of times. Hardly any error that was found needed more than a few.
	 * With CHECK_DEPTH=brief it is two at most.
	 */
	unsigned int budget;
};

/* ---- what a scenario consists of ---- */

/* Called once, before all runs. Each run begins with this memory as it is now. Each access to a watched word is a step. */
void model_reset(void);
void model_keep(void *memory, size_t size);
void model_watch(const volatile void *word, size_t size, const char *name);

/* Tries every order of steps. Returns false if one is wrong; then the fault and the steps to it have been printed to stderr. */
bool model_explore(const struct model_scenario *scenario);
uint64_t model_states(void); /* how many states the last exploration has visited */

/* ---- within a run ---- */

void model_require_(bool condition, const char *text, int line);
#define model_require(condition) model_require_((condition), #condition, __LINE__)
void model_read(const void *payload);  /* an access to payload, which is identified by any one address */
void model_write(const void *payload);

/*
 * Set outside a run, by model_attack.c, or NULL: functions that are called before each access to a word, and before each copy.
 */
extern void (*model_attacker)(const volatile void *word);
extern void (*model_copied)(const void *to, const void *from, uint64_t size);

/* Copies, and counts as one read and one write of payload at the first byte. */
static inline void model_copy(void *to, const void *from, uint64_t size)
{
	if (!size)
		return;
	if (model_copied)
		model_copied(to, from, size);
	model_read(from);
	model_write(to);
	memcpy(to, from, size);
}

void model_pause(void);		       /* other threads may run here, as in the middle of a copy */
void model_yield(void);		       /* waits until another thread has made a step */
bool model_dead(int thread);	       /* returns true if the thread has died; then this thread sees all that it had written */
void model_see_all(void);	       /* this thread sees all that others have written until now, as after a long time */
void model_futex_wait(_Atomic uint32_t *word, uint32_t seen);
void model_futex_wake(_Atomic uint32_t *word, bool all); /* wakes all threads that sleep on the word, or the first */
int model_self(void);

/* ---- behind the names ---- */

uint64_t model_load(const volatile void *word, size_t size, memory_order order);
void model_store(volatile void *word, size_t size, uint64_t value, memory_order order);
enum model_rmw { MODEL_SET, MODEL_ADD, MODEL_SUB, MODEL_OR, MODEL_AND };
uint64_t model_change(volatile void *word, size_t size, enum model_rmw how, uint64_t value, memory_order order);
bool model_compare(volatile void *word, size_t size, void *expected, uint64_t value, memory_order good,
		   memory_order bad);
void model_fence(memory_order order);
void model_fence_everybody(void); /* membarrier() */
void model_lock(_Atomic uint32_t *lock);
void model_unlock(_Atomic uint32_t *lock);
void model_wqe_done(struct datp_wqe *wqe, uint8_t status, uint64_t len, bool solicited);

#ifndef MODEL_ITSELF

/* The type without its qualifiers, as <stdatomic.h> gets it. */
#define MODEL_TYPE(p)	 __typeof__((void)0, *(p))
#define MODEL_WORD(p, v) ({ MODEL_TYPE(p) in_ = (v); uint64_t word_ = 0; memcpy(&word_, &in_, sizeof in_); word_; })
#define MODEL_VALUE(p, call)                                                                                           \
	({                                                                                                             \
		MODEL_TYPE(p) out_;                                                                                    \
		uint64_t got_ = (call);                                                                                \
		memcpy(&out_, &got_, sizeof out_);                                                                     \
		out_;                                                                                                  \
	})
#define MODEL_RMW(p, how, v, order) MODEL_VALUE(p, model_change((p), sizeof *(p), how, MODEL_WORD(p, v), order))

#undef atomic_load_explicit
#undef atomic_load
#undef atomic_store_explicit
#undef atomic_store
#undef atomic_exchange_explicit
#undef atomic_exchange
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_weak
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_thread_fence
#define atomic_load_explicit(p, order)	      MODEL_VALUE(p, model_load((p), sizeof *(p), order))
#define atomic_load(p)			      atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store_explicit(p, v, order)    model_store((p), sizeof *(p), MODEL_WORD(p, v), order)
#define atomic_store(p, v)		      atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange_explicit(p, v, order) MODEL_RMW(p, MODEL_SET, v, order)
#define atomic_exchange(p, v)		      atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_compare_exchange_strong_explicit(p, e, v, good, bad)                                                    \
	model_compare((p), sizeof *(p), (e), MODEL_WORD(p, v), good, bad)
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit
#define atomic_compare_exchange_strong(p, e, v)                                                                        \
	model_compare((p), sizeof *(p), (e), MODEL_WORD(p, v), memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_weak	       atomic_compare_exchange_strong
#define atomic_fetch_add_explicit(p, v, order) MODEL_RMW(p, MODEL_ADD, v, order)
#define atomic_fetch_sub_explicit(p, v, order) MODEL_RMW(p, MODEL_SUB, v, order)
#define atomic_fetch_or_explicit(p, v, order)  MODEL_RMW(p, MODEL_OR, v, order)
#define atomic_fetch_and_explicit(p, v, order) MODEL_RMW(p, MODEL_AND, v, order)
#define atomic_thread_fence(order)	       model_fence(order)

#define datp_lock(lock)			   model_lock(lock)
#define datp_trylock(lock)		   (model_lock(lock), true) /* as soft_ep_try() but on the service thread */
#define datp_unlock(lock)		   model_unlock(lock)
#define datp_wqe_done(wqe, status, len, s) model_wqe_done(wqe, status, len, s)
#define sched_yield()			   model_yield()
#define nanosleep(time, left)		   ({ (void)(time); (void)(left); model_yield(); 0; })
#define syscall(number, word, ...)	   model_futex_wake(word, true) /* no other system call is made */

/* For the provider's files that are checked: functions of its other files are replaced by those of model_world.c. */
#define SOFT_TRIES		  8u
#define SOFT_COOP_MIN		  8192u /* in two pieces */
#define SOFT_COOP_QUARTERS	  16384u
#define SOFT_COOP_PIECE_MAX	  4096u
#define SOFT_COOP_START		  0u
#define SOFT_COOP_PATIENCE	  1
#define soft_copy_short(...)	  model_copy(__VA_ARGS__)
#define soft_xfer(...)		  model_xfer(__VA_ARGS__)
#define soft_copy_range(...)	  model_copy_range(__VA_ARGS__)
#ifdef MODEL_SHARES /* the provider's own share.c runs, by model_share.c; soft_ep.at_work is shared with the thread that sweeps */
#define __atomic_load_n(p, order)     ((__typeof__(*(p)))model_load((p), sizeof *(p), order))
#define __atomic_store_n(p, v, order) model_store((p), sizeof *(p), (v), order)
#else
#define soft_share_one(...)	  model_share_one(__VA_ARGS__)
#define soft_share_known(...)	  model_share_known(__VA_ARGS__)
#define soft_share_note(ep)	  model_share_note(ep)
#define soft_share_leave_one(...) model_share_leave_one(__VA_ARGS__)
#endif
#define soft_guard_word(...)	  model_guard_word(__VA_ARGS__)
#define soft_guard_fetch_add(...)  model_guard_fetch_add(__VA_ARGS__)
#define soft_guard_cmp_swap(...)  model_guard_cmp_swap(__VA_ARGS__)
#define soft_mr_check_list(...)	  model_check_list(__VA_ARGS__)
#define soft_mr_check_remote(...) model_check_remote(__VA_ARGS__)
#define soft_request_atomic(r)	  model_atomic(r)
struct soft_request;
uint64_t model_atomic(const struct soft_request *r);
#define datp_recv_immediate(wqe, imm, len) ((void)(wqe), (void)(imm), (uint64_t)(len))
#define soft_peer_lost(peer)	  model_peer_lost(peer)
#define soft_bound_over(until, looked) ((void)(until), (void)(looked), model_bound_over())
#define soft_now_ms()		  0u
#define soft_bound(ia)		  1u
#define EXEC_LOOK		  1
#define EXEC_MOST		  16u
#define SKIP_SPINS		  1
#define soft_tick_set(ia)	  model_tick_set(ia)
#define soft_progress_puts_off(ep, initiator) ((void)(ep), (void)(initiator), false) /* as but on the service thread */
#define soft_unready_watch(ep)	  ((void)(ep)) /* messages to the user */
bool model_bound_over(void);
#define skip_bound_over(cq, bounds) ((void)(cq), (bounds) == 1 && model_bound_over())
#define soft_ep_unanswered(ep)	  model_ep_fail(ep)
#define soft_peer_wake(peer)	  model_peer_wake(peer)
#define datp_srq_take(wqe, ep)	  model_srq_take(wqe, ep)
#define datp_loop_call(ia, f, arg) model_loop_call(f, arg)
enum datp_err model_loop_call(void (*fn)(void *arg), void *arg);
void model_srq_take(struct datp_wqe *wqe, struct datp_ep *ep);
#define soft_ep_established(ep, gen) model_ep_established(ep, gen)
#define soft_ep_fail(ep)	  model_ep_fail(ep)
#define soft_ep_corrupted(ep)	  model_ep_fail(ep)
#define soft_ep_revoke_locked(ep, peer, gen) model_ep_revoke_locked(ep, peer, gen)

#endif
#endif
