/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/timer.h>: timers of an IA, for time limits of connections and for work that is done later. Since SDK 0.9.
 *
 *	struct my_conn { ...; struct datp_timer limit; };
 *
 *	datp_timer_set(ia, &conn->limit, datp_clock_us() + 2000000, too_late, conn);
 *	...
 *	datp_timer_cancel(ia, &conn->limit);
 *	free(conn);
 *
 * The service thread of the IA runs the callbacks, one at a time, each once. They run at the time that was set
 * or up to a millisecond later, and later still if another callback is running. A timer needs no descriptor and
 * no memory but its own, and setting it cannot fail. An IA can have any number of timers: to set one that is not
 * set takes the same time however many there are, and to move or to cancel one takes logarithmic time on average.
 *
 * A child of fork() has no service thread, so timers of its parent's IAs do not fire there (DUTY-19).
 */
#ifndef DATP_TIMER_H
#define DATP_TIMER_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A timer; a member of the object that it is about. Zeroed memory is a timer that is not set. Only libdatp
 * writes it.
 */
struct datp_timer {
	_Atomic(uint64_t) when; /* 0 while it is not set */
	struct datp_timer *child, *next, *prev;
	void (*fn)(void *arg);
	void *arg;
};

/* Returns the microseconds of CLOCK_MONOTONIC, the clock of the timers. */
DATP_API uint64_t datp_clock_us(void);

/*
 * Sets a timer: the service thread calls fn(arg) when datp_clock_us() has reached `when`. A timer that is set
 * already gets the new time, callback and argument. Never blocks, and may be called with any lock held, and in
 * the timer's own callback.
 */
DATP_API void datp_timer_set(struct datp_ia *ia, struct datp_timer *timer, uint64_t when,
			     void (*fn)(void *arg), void *arg);

/*
 * The same, but a timer that is set for that time or an earlier one stays as it is. So a timer that serves many
 * objects is set by this with the deadline of each of them, and fires at the earliest.
 */
DATP_API void datp_timer_set_by(struct datp_ia *ia, struct datp_timer *timer, uint64_t when,
				void (*fn)(void *arg), void *arg);

/*
 * Cancels a timer. When this has returned, the callback is not running and will not run, so the timer's memory
 * can be freed. On the service thread of the IA it does not wait: there no other callback is running, and a callback
 * may cancel its own timer and free its memory. A callback cancels only timers of its own IA, because two service
 * threads would wait for each other. Returns true if the timer was set. The caller holds no lock that the
 * callback takes. It may also be called in ia_close.
 */
DATP_API bool datp_timer_cancel(struct datp_ia *ia, struct datp_timer *timer);

#ifdef __cplusplus
}
#endif

#endif
