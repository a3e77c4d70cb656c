/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The listeners of service points. No connection can be accepted while too many descriptors wait to be closed, or while none is
 * left. Then a listener at which connections wait is not watched: it rests, and a timer looks whether it can go on.
 *
 * Invariant: a listener is watched, or it rests, or it is being closed, under soft_ia.lock; and the timer is set while some rest.
 */
#define _GNU_SOURCE
#include "listener.h"
#include "conn.h"
#include "foreign.h"
#include "ia.h"
#include "pending.h"
#include "setup.h"
#include "sock.h"
#include "providers/common/base/pause.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#define REST_US 5000u

/*
 * Accepts the next connection of a listener, or returns -1. Without a free file descriptor the
 * connection would stay in the queue and wake the thread for ever, so it is accepted with the spare
 * descriptor; soft_pending_arrived() decides whether it or another connection is closed. *all says whether no other descriptor was
 * left.
 */
static int listener_accept(struct soft_ia *ia, int listener, bool *all)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	*all = fd < 0 && (errno == EMFILE || errno == ENFILE);
	if (!*all)
		return fd;
	if (ia->spare_fd >= 0)
		close(ia->spare_fd);
	ia->spare_fd = -1;
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static void listener_event(void *arg, uint32_t events);
static void listeners_resume(void *arg);

/* soft_ia.lock */
static void resume_later_locked(struct soft_ia *ia)
{
	datp_timer_set_by(&ia->base, &ia->rest, datp_clock_us() + REST_US, listeners_resume, ia);
}

/* Watches those again that rest, if there is room. One may be closed meanwhile, which takes it off the list. */
static void listeners_resume(void *arg)
{
	struct soft_ia *ia = arg;
	const bool full = soft_foreign_is_full();

	datp_lock(&ia->lock);
	while (ia->resting && !full) {
		struct soft_sp *sp = ia->resting;

		if (datp_loop_add(&ia->base, sp->fd, EPOLLIN, listener_event, sp, &sp->watch) != DATP_OK)
			break;
		ia->resting = sp->next_resting;
	}
	if (ia->resting)
		resume_later_locked(ia);
	datp_unlock(&ia->lock);
}

/* The connections wait in the kernel. The service thread does not, nor does it look at them all the time. */
static void listener_rest(struct soft_sp *sp)
{
	struct soft_ia *ia = soft_ia(sp->base.obj.ia);
	struct datp_watch *watch;

	datp_lock(&ia->lock);
	watch = sp->watch;
	sp->watch = NULL;
	if (watch) { /* else it is being closed */
		sp->next_resting = ia->resting;
		ia->resting = sp;
		resume_later_locked(ia);
		/* with the lock: whoever closes the listener does not wait any more, and its descriptor may soon be another */
		datp_loop_del(watch);
	}
	datp_unlock(&ia->lock);
}

/* From here on no callback of the listener runs. */
static void listener_unwatch(struct soft_sp *sp)
{
	struct soft_ia *ia = soft_ia(sp->base.obj.ia);
	struct datp_watch *watch;

	datp_lock(&ia->lock);
	for (struct soft_sp **p = &ia->resting; *p; p = &(*p)->next_resting)
		if (*p == sp) {
			*p = sp->next_resting;
			break;
		}
	watch = sp->watch;
	sp->watch = NULL;
	datp_unlock(&ia->lock);
	if (watch)
		datp_loop_del(watch);
}

void soft_listeners_fini(struct soft_ia *ia)
{
	datp_timer_cancel(&ia->base, &ia->rest);
}

/* A connection that was closed with its request unread frees its descriptor a moment later. */
static void spare_open(struct soft_ia *ia)
{
	if (ia->spare_fd >= 0)
		return;
	soft_foreign_nap();
	ia->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * One connection at a time. The service point is not accessed once its connection request may have been read,
 * because that may be the last one that it wanted.
 */
static void listener_event(void *arg, uint32_t events)
{
	struct soft_sp *sp = arg;
	struct soft_ia *ia = soft_ia(sp->base.obj.ia);
	struct soft_socket *sock = NULL;
	struct datp_fork_own own;
	bool welcome, all;
	pid_t pid;
	int fd;

	(void)events;
	/* connections wait in the kernel until some of the descriptors have been closed that peers hold up */
	if (soft_foreign_is_full()) {
		listener_rest(sp);
		return;
	}
	datp_fork_hold(&own);
	fd = listener_accept(ia, sp->fd, &all);
	if (fd >= 0 && soft_same_user(fd, &pid))
		sock = soft_socket_new(ia, fd, pid, false);
	else if (fd >= 0)
		soft_foreign_hangup(fd);
	datp_fork_release(&own);
	welcome = sock && soft_pending_arrived(sock, all);
	spare_open(ia);
	if (fd < 0 && all)
		listener_rest(sp); /* another thread has used the spare descriptor first */
	if (!welcome)
		return;
	datp_lock(&ia->lock);
	sock->sp = sp;
	datp_unlock(&ia->lock);
	if (soft_socket_watch(sock))
		soft_socket_end(sock);
	else
		soft_socket_read(sock); /* mostly the connection request has arrived by now */
}

static enum datp_err listener_open(struct soft_sp *sp, const struct sockaddr_storage *sa,
				   socklen_t len)
{
	struct soft_ia *ia = soft_ia(sp->base.obj.ia);
	enum datp_err err = DATP_ERR_DEVICE;

	sp->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sp->fd < 0)
		return err;
	if (bind(sp->fd, (const struct sockaddr *)sa, len) < 0) {
		if (errno == EADDRINUSE)
			err = DATP_ERR_QUAL_IN_USE;
		goto close_fd;
	}
	if (listen(sp->fd, SOMAXCONN) < 0)
		goto close_fd;
	err = datp_loop_add(&ia->base, sp->fd, EPOLLIN, listener_event, sp, &sp->watch);
	if (err)
		goto close_fd;
	datp_fork_list(&sp->fork_fd, sp->fd);
	return DATP_OK;
close_fd:
	close(sp->fd);
	return err;
}

enum datp_err soft_sp_listen(struct datp_sp *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct sockaddr_storage sa;
	socklen_t len = soft_listener_name(&sa, ia->realm, ia->key, base->qual);
	struct datp_fork_own own;
	enum datp_err err;

	datp_fork_hold(&own);
	err = listener_open((struct soft_sp *)base, &sa, len);
	datp_fork_release(&own);
	return err;
}

void soft_sp_close(struct datp_sp *base)
{
	struct soft_sp *sp = (struct soft_sp *)base;
	struct soft_ia *ia = soft_ia(base->obj.ia);
	struct datp_fork_own own;
	bool busy = true;

	listener_unwatch(sp);
	datp_fork_hold(&own);
	datp_fork_unlist(&sp->fork_fd);
	soft_foreign_end_listener(sp->fd);
	datp_fork_release(&own);
	/* connection requests over connections that were accepted before are refused, as if no program listened */
	for (unsigned int n = 0; busy; n++) {
		datp_lock(&ia->lock);
		for (struct soft_socket *s = ia->sockets; s; s = s->next)
			if (s->sp == sp)
				s->sp = NULL;
		busy = ia->requesting == sp && !datp_loop_inside(base->obj.ia);
		datp_unlock(&ia->lock);
		if (busy)
			pause_briefly(n);
	}
}
