/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread of an IA, as seen from inside libdatp: its start and end, and calls that cannot fail.
 * Watches, timers and other calls are public.
 */
#ifndef LOOP_H
#define LOOP_H

#include <datp/provider.h>
#include <datp/timer.h>

struct loop;

/*
 * A pending call. The loop owns it from loop_call_queue() on, and disposes of it after it has run.
 */
struct loop_call {
	struct loop_call *next;
	void (*fn)(void *arg);
	void *arg;
	/* For datp_ep_call(), under calls_lock: see ep.c. */
	struct loop_call *ep_next;
	struct datp_ep *ep;
	void (*ep_fn)(struct datp_ep *ep);
	bool cancelled;
};

/*
 * The end of a connection must not fail for lack of memory, and it needs a call. So each object
 * that needs calls reserves some when it is created, which fails if there is no memory; after that,
 * loop_call_get() uses the reserve when malloc() fails.
 */
bool loop_reserve(struct datp_ia *ia, unsigned int n);
void loop_unreserve(struct datp_ia *ia, unsigned int n);

/* Returns NULL if there is no memory, and the reserve is in use. */
struct loop_call *loop_call_get(struct datp_ia *ia);
void loop_call_put(struct datp_ia *ia, struct loop_call *call);	/* for a call that was not queued */
/* Queues a call whose `fn` and `arg` are set. Never blocks. */
void loop_call_queue(struct datp_ia *ia, struct loop_call *call);

enum datp_err loop_create(struct loop **loop);
/* Joins the thread; watches may still be deleted afterwards. */
void loop_stop(struct loop *loop);
/* After loop_stop(). */
void loop_destroy(struct loop *loop);
/* In a forked child: only closes the loop's own descriptors. */
void loop_forget(struct loop *loop);

#endif
