/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tick of an IA: a timer that runs while something waits for a peer, so that the service thread itself never waits. At
 * each tick it looks at teardowns of connections (teardown.c), binds that wait for accesses to the old window (recv.c), messages
 * that the kernel had no memory for (sock.c), rings whose next sender does not publish (held.c), and regions of peers that
 * have ended and were in use here (share.c). The timer runs slowly
 * while a message may wait for its receive (unready.c), and, if there are several peers, all the time, for what one of them
 * takes away from another (lost.c). Invariant: whoever adds something that waits sets the timer afterwards, and the timer is
 * set again as long as something is left.
 */
#include "tick.h"
#include "held.h"
#include "lost.h"
#include "port.h"
#include "recv.h"
#include "setup.h"
#include "share.h"
#include "sock.h"
#include "unready.h"
#include <string.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_NS 2000000L

static void timer_set(const struct soft_ia *ia, long ns)
{
	const struct itimerspec once = { .it_value = { 0, ns } };

	/* cannot fail for this kind of descriptor */
	(void)timerfd_settime(ia->tick_fd, 0, &once, NULL);
}

void soft_tick_set(struct soft_ia *ia)
{
	timer_set(ia, TICK_NS);
}

/* Looks at the binds that wait. Returns true if some are left. */
static bool binds_serve(struct soft_ia *ia)
{
	/* relaxed: whoever counts a bind sets the timer afterwards */
	if (!atomic_load_explicit(&ia->binds_wait, memory_order_relaxed))
		return false;
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);

		if (!ep)
			continue;
		datp_lock(&ep->base.lock);
		if (ep->open && ep->bind_until)
			soft_sq_reap(ep);
		datp_unlock(&ep->base.lock);
	}
	return atomic_load_explicit(&ia->binds_wait, memory_order_relaxed);
}

static void tick_event(void *arg, uint32_t events)
{
	struct soft_ia *ia = arg;
	uint64_t count;
	bool more, lost = soft_lost_watches(ia), unready = soft_unready_watches(ia);

	(void)events;
	(void)!read(ia->tick_fd, &count, sizeof count);
	/*
	 * This comes first, because it replaces the time that another thread has set: what that
	 * thread waits for is looked at below, and a time that it sets from now on is not replaced.
	 */
	if (lost || unready)
		timer_set(ia, (unready ? SOFT_UNREADY_LOOK_MS : SOFT_LOST_LOOK_MS) * 1000000L);
	if (lost)
		soft_lost_look(ia);
	if (unready)
		soft_unready_look(ia);
	more = soft_teardowns_serve(ia);
	more = binds_serve(ia) || more;
	more = soft_sockets_retry(ia) || more;
	more = soft_held_serve(ia) || more;
	more = soft_shares_again(ia) || more;
	more = soft_teardowns_put_off_serve(ia) || more;
	if (more)
		soft_tick_set(ia);
}

enum datp_err soft_tick_init(struct soft_ia *ia)
{
	ia->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ia->tick_fd < 0) {
		datp_log(1, "soft: no timer: %s; raise the limit of open files (ulimit -n)",
			 strerror(errno));
		return DATP_ERR_DEVICE;
	}
	return datp_loop_add(&ia->base, ia->tick_fd, EPOLLIN, tick_event, ia, &ia->tick_watch);
}

void soft_tick_fini(struct soft_ia *ia)
{
	if (ia->tick_watch)
		datp_loop_del(ia->tick_watch);
	if (ia->tick_fd >= 0)
		close(ia->tick_fd);
}
