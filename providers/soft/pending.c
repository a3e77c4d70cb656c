/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incoming connections that are not established yet, and the limits on them. Each uses a descriptor, and any process that
 * knows the name of a listener can open as many as it likes. So the other side has a time limit for each step: to send its
 * connection request, to send the RTU after an accept, and to hang up after a refusal. A connection that exceeds it is closed.
 * The number of connections without a request is limited, too: beyond it the oldest one is closed, since an honest peer sends
 * its request at once, or soon if its processor is busy; if a process has many of them, it is the oldest one of that process.
 * A connection that waits until the program here accepts or rejects it has no time limit. So when few descriptors are left, a
 * connection that comes in displaces the oldest ones of the process that has most of all these connections, if that is another
 * process with more; otherwise it is closed itself. If each process has only one, the connections that have waited for a long
 * time give way. A connection that has been accepted is not displaced, because it has a time limit. All processes of other PID
 * namespaces count as one.
 * The same time limit holds for a connection that this side has opened, when it has been answered and its socket is not needed
 * any more: the other side hangs up, and this side does if that is stopped or keeps the socket.
 *
 * Invariant: the timer runs while there is a connection that has a time limit.
 */
#define _GNU_SOURCE
#include "pending.h"
#include "log/limited.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SILENT_MIN  16u
#define SILENT_MAX  1024u
#define RESERVE	    16u /* few descriptors are left when one is in the last sixteenth */
#define PER_PEER    3u	/* descriptors that a new peer needs at most: for a socket, its arena, and its process */
#define ALONE	    64u /* connections that a process may have if no other process has any */
#define NOTABLE	    8u	/* a process is a crowd if it has more than this part of the connections that may be silent */
#define LOOKS	    4 /* checks within the time limit */

/* The incoming connections of a process that are not established. soft_ia.lock */
struct soft_crowd {
	struct soft_crowd *next; /* soft_ia.crowds */
	pid_t pid;
	uint32_t count;
	uint32_t silent; /* of these, connections on which nothing has been received */
};

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
 * Returns true if the socket has a time limit: it is no liveness socket, and waits for the other side. One that was opened by
 * this side waits for the answer as long as the attempt lasts, and then for the hang-up. ia.lock
 */
static bool has_time_limit(const struct soft_socket *sock)
{
	return !sock->liveness && (sock->active ? sock->confirmed : !sock->cr);
}

/*
 * Returns the oldest socket on which nothing has been received, of the processes that have the most of these if they have a
 * notable part of the `limit`, or else of all processes: many processes that have one each must not displace one that connects
 * twice at the same time. ia.lock
 */
static struct soft_socket *oldest_silent(struct soft_ia *ia, uint32_t limit)
{
	struct soft_socket *oldest = NULL;
	uint32_t most = 0;

	for (const struct soft_crowd *crowd = ia->crowds; crowd; crowd = crowd->next)
		most = crowd->silent > most ? crowd->silent : most;
	/* new ones are inserted at the front */
	for (struct soft_socket *s = ia->sockets; s; s = s->next)
		if (s->silent && (s->crowd->silent == most || most <= limit / NOTABLE))
			oldest = s;
	return oldest;
}

/* ia.lock */
static bool is_overdue(const struct soft_socket *sock)
{
	/* the clock is read under the lock, so that it is not before any socket's `since` */
	return has_time_limit(sock) && now_ms() - sock->since >= sock->ia->handshake_ms;
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

	datp_lock(&ia->lock);
	for (struct soft_socket *s = ia->sockets; s && !overdue; s = s->next) {
		if (is_overdue(s))
			overdue = s;
		more = more || has_time_limit(s);
	}
	if (!overdue && more)
		look_later(ia);
	datp_unlock(&ia->lock);
	return overdue;
}

/* Has the service thread end it when it has read what is there: that may be the end of a connection. */
static void end_active(struct soft_socket *sock)
{
	datp_lock(&sock->ia->lock);
	sock->confirmed = false; /* no time limit any more */
	shutdown(sock->fd, SHUT_RDWR);
	datp_unlock(&sock->ia->lock);
}

/*
 * Returns true if the socket is still there and overdue when what has arrived is handled: it was this process that was stopped, if
 * the other side has taken its step in time.
 */
static bool stays_overdue(struct soft_socket *sock)
{
	bool overdue;

	if (!soft_socket_catch_up(sock))
		return false;
	datp_lock(&sock->ia->lock);
	overdue = is_overdue(sock);
	datp_unlock(&sock->ia->lock);
	return overdue;
}

static void look(void *arg)
{
	static struct log_limit overdue;
	struct soft_ia *ia = arg;
	struct soft_socket *sock;

	while ((sock = next_overdue(ia))) {
		if (sock->active) {
			end_active(sock);
			continue;
		}
		if (!stays_overdue(sock))
			continue;
		log_limited(&overdue, 2,
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

/* Counts the socket among those of its process. Returns false if there is no memory. ia.lock */
static bool crowd_join(struct soft_socket *sock)
{
	struct soft_crowd *crowd = sock->ia->crowds;

	while (crowd && crowd->pid != sock->pid)
		crowd = crowd->next;
	if (!crowd) {
		crowd = calloc(1, sizeof *crowd);
		if (!crowd)
			return false;
		crowd->pid = sock->pid;
		crowd->next = sock->ia->crowds;
		sock->ia->crowds = crowd;
	}
	crowd->count++;
	sock->ia->crowded++;
	sock->crowd = crowd;
	return true;
}

void soft_pending_established(struct soft_socket *sock)
{
	struct soft_crowd *crowd = sock->crowd, **p = &sock->ia->crowds;

	sock->crowd = NULL;
	if (!crowd)
		return;
	sock->ia->crowded--;
	if (--crowd->count)
		return;
	while (*p != crowd)
		p = &(*p)->next;
	*p = crowd->next;
	free(crowd);
}

/* Returns the largest number of these connections of any process but that of `sock`, or 0 if no other has any. ia.lock */
static uint32_t most_of_another(const struct soft_socket *sock)
{
	uint32_t most = 0;

	for (const struct soft_crowd *crowd = sock->ia->crowds; crowd; crowd = crowd->next)
		if (crowd != sock->crowd && crowd->count > most)
			most = crowd->count;
	return most;
}

/*
 * Returns the socket that is to make room for this one, or NULL. A process that has only this one displaces others that have
 * only one, too, because those may be the many processes of an attacker; but only where they have waited for the program here
 * for longer than a step of the handshake may take: processes that all start at the same time do not displace each other. ia.lock
 */
static struct soft_socket *displaced(const struct soft_socket *sock)
{
	const struct soft_ia *ia = sock->ia;
	const uint32_t mine = sock->crowd->count, most = most_of_another(sock);
	const uint64_t now = now_ms();
	struct soft_socket *oldest = NULL;

	if (!most || most < mine || (most == mine && mine > 1))
		return NULL;
	/* new ones are inserted at the front */
	for (struct soft_socket *s = ia->sockets; s; s = s->next)
		if (s->crowd && s->crowd != sock->crowd && s->crowd->count == most && !s->ep &&
		    (most > mine || now - s->since >= ia->handshake_ms))
			oldest = s;
	return oldest;
}

/* Closes one socket to make room for this one. Returns false if displaced() finds no socket to close. */
static bool displace(struct soft_socket *sock)
{
	static struct log_limit full;
	struct soft_socket *oldest;

	datp_lock(&sock->ia->lock);
	oldest = displaced(sock);
	datp_unlock(&sock->ia->lock);
	if (!oldest)
		return false;
	log_limited(&full, 1,
		    "soft: few file descriptors are left, and process %d has most of the connections that are not "
		    "established; the oldest is closed",
		    (int)oldest->pid);
	soft_conn_hangup(oldest);
	return true;
}

/* Gives the socket a lower descriptor, because the last ones are to be in use only while few are left. It is not watched yet. */
static void move_down(struct soft_socket *sock)
{
	struct datp_fork_own own;
	int fd;

	datp_fork_hold(&own);
	fd = fcntl(sock->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		close(fd < sock->fd ? soft_socket_exchange(sock, fd) : fd);
	datp_fork_release(&own);
}

/*
 * Returns true if the connection may stay, and makes room for it if few descriptors are left. `all`: none was left, and it has
 * the spare one. Each that is closed gives back one descriptor, that of its socket, so as many are closed as a new peer needs; the
 * other ones of its peer are closed when the program here has answered its request. A process that is the only one with such
 * connections may have ALONE of them however few descriptors are left: another one that comes displaces some.
 */
static bool room_for(struct soft_socket *sock, bool all)
{
	const uint32_t limit = descriptors(), reserve = limit / RESERVE;
	const struct soft_ia *ia = sock->ia;
	uint32_t closed = 0, mine, total;

	datp_lock(&sock->ia->lock);
	mine = sock->crowd->count;
	total = ia->crowded;
	datp_unlock(&sock->ia->lock);
	/* a new descriptor gets the lowest free number, so all below were in use */
	if (!all && ((uint32_t)sock->fd < limit - reserve || total <= reserve / 2))
		return true;
	while (closed < PER_PEER && displace(sock))
		closed++;
	if (closed)
		move_down(sock);
	return closed || (!all && (mine <= reserve / 4 || (mine == total && mine <= ALONE)));
}

/* Returns how many connections may be silent. */
static uint32_t silent_most(void)
{
	const uint32_t most = descriptors() / 8;

	return most < SILENT_MIN ? SILENT_MIN : most > SILENT_MAX ? SILENT_MAX : most;
}

void soft_pending_silent(struct soft_socket *sock)
{
	static struct log_limit crowd;
	const uint32_t most = silent_most();
	struct soft_ia *ia = sock->ia;
	struct soft_socket *oldest = NULL;

	datp_lock(&ia->lock);
	sock->silent = true;
	sock->crowd->silent++;
	ia->silent++;
	if (ia->silent > most)
		oldest = oldest_silent(ia, most);
	datp_unlock(&ia->lock);
	if (!oldest)
		return;
	log_limited(&crowd, 1, "soft: on more than %u connections nothing has been received; one of process %d is closed", most,
		    (int)oldest->pid);
	soft_conn_hangup(oldest);
}

bool soft_pending_arrived(struct soft_socket *sock, bool all)
{
	static struct log_limit full;
	bool counted;

	datp_lock(&sock->ia->lock);
	counted = crowd_join(sock);
	datp_unlock(&sock->ia->lock);
	if (!counted || !room_for(sock, all)) {
		if (counted)
			log_limited(&full, 1, "soft: no file descriptor for a connection of process %d, which is refused; "
				   "raise the limit (ulimit -n)", (int)sock->pid);
		soft_conn_hangup(sock);
		return false;
	}
	datp_lock(&sock->ia->lock);
	soft_pending_renew(sock);
	datp_unlock(&sock->ia->lock);
	soft_pending_silent(sock);
	return true;
}

void soft_pending_spoke(struct soft_socket *sock)
{
	if (!sock->silent)
		return;
	sock->silent = false;
	sock->crowd->silent--;
	sock->ia->silent--;
}

void soft_pending_fini(struct soft_ia *ia)
{
	datp_timer_cancel(&ia->base, &ia->pending);
}
