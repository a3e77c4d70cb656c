/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tick of an IA: a timer that runs while something waits for a peer, so that the service thread itself never waits. At
 * each tick it looks at teardowns of connections (teardown.c), binds and receives that wait for accesses to a window
 * (withheld.c), messages that the kernel had no memory for (sock.c), rings whose next sender does not publish (skip.c),
 * shares of regions that the peer has deregistered while this side still accessed them (share.c), and at what was put off
 * because a peer holds up a thread that has a lock (owed.c). The timer runs slowly while a message may wait for its receive
 * (unready.c), and, if there are several peers, all the time, for what one of them takes away from another (lost.c).
 * Invariant: whoever adds something that waits sets the timer afterwards, and the timer is set again as long as something is
 * left. A timer that is set stays as early as it is, so no thread puts off what another one waits for.
 */
#include "tick.h"
#include "skip.h"
#include "lost.h"
#include "owed.h"
#include "port.h"
#include "progress.h"
#include "recv.h"
#include "setup.h"
#include "share.h"
#include "sock.h"
#include "unready.h"
#include "withheld.h"

#define TICK_US 2000u

static void tick(void *arg);

static void set_within(struct soft_ia *ia, uint64_t us)
{
	datp_timer_set_by(&ia->base, &ia->tick, datp_clock_us() + us, tick, ia);
}

void soft_tick_set(struct soft_ia *ia)
{
	set_within(ia, TICK_US);
}

/* Looks at the binds and receives that wait for accesses. Returns true if some are left. */
static bool binds_serve(struct soft_ia *ia)
{
	/* A thread that increments the count sets the timer afterwards, so a later tick sees it. acquire: its wait had begun */
	if (!atomic_load_explicit(&ia->binds_wait, memory_order_acquire))
		return false;
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);

		/* the lock of an endpoint where nothing waits is not taken: a peer may hold up the thread that has it */
		if (!ep || !soft_withheld_is_any(ep))
			continue;
		if (!soft_ep_try(ep)) /* the next tick tries again */
			continue;
		if (ep->open && ep->bind_wait.until)
			soft_sq_reap(ep);
		if (ep->open)
			soft_recv_again(ep);
		datp_unlock(&ep->base.lock);
	}
	return atomic_load_explicit(&ia->binds_wait, memory_order_relaxed);
}

static void tick(void *arg)
{
	struct soft_ia *ia = arg;
	bool more, lost = soft_lost_watches(ia), unready = soft_unready_watches(ia);

	if (lost || unready)
		set_within(ia, (unready ? SOFT_UNREADY_LOOK_MS : SOFT_LOST_LOOK_MS) * 1000u);
	if (lost)
		soft_lost_look(ia);
	if (unready)
		soft_unready_look(ia);
	more = soft_teardowns_serve(ia);
	more = binds_serve(ia) || more;
	more = soft_sockets_retry(ia) || more;
	more = soft_skip_serve(ia) || more;
	more = soft_shares_again(ia) || more;
	more = soft_teardowns_put_off_serve(ia) || more;
	more = soft_owed_serve(ia) || more;
	more = soft_progress_serve(ia) || more;
	if (more)
		soft_tick_set(ia);
}

void soft_tick_fini(struct soft_ia *ia)
{
	datp_timer_cancel(&ia->base, &ia->tick);
}
