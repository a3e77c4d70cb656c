/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incoming connections that are not established yet, and the limits on them. Each uses a descriptor, and any process that
 * knows the name of a listener can open as many as it likes. So the other side has a time limit for each step: to send its
 * connection request, to send the RTU after an accept, and to hang up after a refusal. A connection that exceeds it is
 * closed. The number of connections without a request is limited, too: beyond it the oldest is closed, since an honest peer
 * sends its request at once. A connection that waits until the program here accepts or rejects it has no time limit, but one
 * process cannot use up the last descriptors with those.
 *
 * Invariant: the timer runs while there is a connection that has a time limit.
 */
#define _GNU_SOURCE
#include "pending.h"
#include "log_limited.h"
#include <sys/resource.h>

#define SILENT_MIN  16u
#define SILENT_MAX  1024u
#define REQUEST_MIN 64u
#define RESERVE	    16u /* the last sixteenth of the descriptors is not for a process whose connection requests hold half of all */
#define LOOKS	    4 /* checks within the time limit */

static uint64_t now_ms(void)
{
	return datp_clock_us() / 1000;
}

/* Returns how many descriptors the process may have. */
static uint32_t descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 1u << 20)
		return 1u << 20;
	return (uint32_t)limit.rlim_cur;
}

/*
 * Returns true if the socket has a time limit: it is no liveness socket, was not opened by this side, and does
 * not wait for the program. ia.lock
 */
static bool has_time_limit(const struct soft_socket *sock)
{
	return !sock->active && !sock->liveness && !sock->cr;
}

/* Returns the oldest socket on which nothing has been received. ia.lock */
static struct soft_socket *oldest_silent(struct soft_ia *ia)
{
	struct soft_socket *oldest = NULL;

	/* new ones are inserted at the front */
	for (struct soft_socket *s = ia->sockets; s; s = s->next)
		if (s->silent)
			oldest = s;
	return oldest;
}

static void look(void *arg);

static void look_later(struct soft_ia *ia)
{
	datp_timer_set_by(&ia->base, &ia->pending, datp_clock_us() + (uint64_t)ia->handshake_ms * 1000 / LOOKS, look, ia);
}

/* Returns a socket that is overdue. If no socket is overdue, sets the timer for those that are left, and returns NULL. */
static struct soft_socket *next_overdue(struct soft_ia *ia)
{
	struct soft_socket *overdue = NULL;
	bool more = false;
	uint64_t now;

	datp_lock(&ia->lock);
	now = now_ms(); /* read under the lock, so that it is not before any socket's `since` */
	for (struct soft_socket *s = ia->sockets; s && !overdue; s = s->next) {
		if (!has_time_limit(s))
			continue;
		if (now - s->since >= ia->handshake_ms)
			overdue = s;
		more = true;
	}
	if (!overdue && more)
		look_later(ia);
	datp_unlock(&ia->lock);
	return overdue;
}

static void look(void *arg)
{
	static struct log_limit overdue;
	struct soft_ia *ia = arg;
	struct soft_socket *sock;

	while ((sock = next_overdue(ia))) {
		soft_log_limited(&overdue, 2,
				 "soft: process %d has not completed the handshake of a "
				 "connection within %u ms; the connection is closed",
				 (int)sock->pid, (unsigned int)ia->handshake_ms);
		soft_conn_hangup(sock);
	}
}

void soft_pending_renew(struct soft_socket *sock)
{
	sock->since = now_ms();
	look_later(sock->ia);
}

void soft_pending_arrived(struct soft_socket *sock)
{
	static struct log_limit crowd;
	struct soft_ia *ia = sock->ia;
	uint32_t most = descriptors() / 8;
	struct soft_socket *oldest = NULL;

	most = most < SILENT_MIN ? SILENT_MIN : most > SILENT_MAX ? SILENT_MAX : most;
	datp_lock(&ia->lock);
	sock->silent = true;
	ia->silent++;
	soft_pending_renew(sock);
	if (ia->silent > most)
		oldest = oldest_silent(ia);
	datp_unlock(&ia->lock);
	if (!oldest)
		return;
	soft_log_limited(&crowd, 1,
			 "soft: on more than %u connections nothing has been received; the "
			 "oldest, of process %d, is closed",
			 most, (int)oldest->pid);
	soft_conn_hangup(oldest);
}

void soft_pending_spoke(struct soft_socket *sock)
{
	if (sock->silent)
		sock->ia->silent--;
	sock->silent = false;
}

bool soft_pending_may_ask(const struct soft_socket *sock)
{
	uint32_t limit = descriptors(), most = limit / 2, count = 0;

	/* a new descriptor gets the lowest free number, so all below were in use */
	if ((uint32_t)sock->fd < limit - limit / RESERVE)
		return true;
	if (most < REQUEST_MIN)
		most = REQUEST_MIN;
	for (const struct soft_socket *s = sock->ia->sockets; s && count < most; s = s->next)
		count += s->pid == sock->pid && !s->active && !s->liveness && s->peer;
	return count < most;
}

void soft_pending_fini(struct soft_ia *ia)
{
	datp_timer_cancel(&ia->base, &ia->pending);
}
