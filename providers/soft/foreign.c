/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign descriptors. Any process that can reach a listener, of whatever user, can send descriptors over a Unix socket. The
 * process that closes a file last may wait for as long as the sender likes: a TCP socket may linger (SO_LINGER), and a file system
 * that the sender serves may not answer. The kernel also closes the descriptors in messages that nobody has received, when their
 * socket is closed, and those for which a receiver has no room. So the service thread and the threads of the program close only a
 * memfd with little memory, or a socket without unread descriptors. Closers, threads that have no lock and that nobody waits for,
 * close all others.
 *
 * Invariant: only this file closes a descriptor that came over a socket, or the last descriptor of a socket that has been
 * connected to another process. Each of these is closed at some time, however many wait. The number of closers is limited, and so
 * is what is received while many wait. One case is left: see soft_foreign_end_listener().
 */
#define _GNU_SOURCE
#include "foreign.h"
#include "run.h"
#include "soft.h"
#include "log/limited.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLOSERS 16   /* threads, each of which a peer can hold up */
#define FULL	64   /* descriptors that wait to be closed, or are being closed */
#define FEW	4    /* unread messages that an honest process may leave behind */
#define MUCH	(FULL + SOFT_FOREIGN_MOST) /* honest processes do not send so many, one with each connection */
#define BITS	64u
#define WORDS	((1u << 20) / BITS) /* for as many descriptors as the kernel lets a process have, unless fs.nr_open is raised */
#define LIGHT	((64 << 20) / 512) /* the blocks of memory that are freed in a few milliseconds */
#define NAPS	20
#define NAP_NS	250000

static struct {
	_Atomic uint32_t lock; /* a leaf */
	uint64_t waiting[WORDS]; /* a bit for each descriptor */
	unsigned int top;	 /* no word behind this one is in use */
	unsigned int hint;	 /* the search begins at this descriptor, so that each comes in turn */
	unsigned int count, closers, closing;
} foreign;

/* ---- the threads ---- */

/* Takes one of the descriptors that wait, of which there are some. foreign.lock */
static unsigned int take(void)
{
	unsigned int at = foreign.hint / BITS % (foreign.top + 1);
	uint64_t some = foreign.waiting[at] & UINT64_MAX << foreign.hint % BITS;
	unsigned int fd;

	while (!some) {
		at = (at + 1) % (foreign.top + 1);
		some = foreign.waiting[at];
	}
	fd = at * BITS + (unsigned int)__builtin_ctzll(some);
	foreign.waiting[at] &= ~(UINT64_C(1) << fd % BITS);
	foreign.hint = fd + 1;
	return fd;
}

static int next(void)
{
	int fd = -1;

	datp_lock(&foreign.lock);
	if (foreign.count) {
		fd = (int)take();
		foreign.count--;
		foreign.closing++;
	} else {
		foreign.closers--;
	}
	datp_unlock(&foreign.lock);
	return fd;
}

static void *run(void *arg)
{
	int fd;

	(void)arg;
	while ((fd = next()) >= 0) {
		close(fd);
		datp_lock(&foreign.lock);
		foreign.closing--;
		datp_unlock(&foreign.lock);
	}
	return NULL;
}

/* Starts a thread unless there are enough. What waits is closed by one of them; if none can be started, by a later one. */
static void start(void)
{
	pthread_t thread;
	bool more;

	datp_lock(&foreign.lock);
	more = foreign.closers < CLOSERS && foreign.count;
	foreign.closers += more;
	datp_unlock(&foreign.lock);
	if (!more)
		return;
	if (soft_run(&thread, run, NULL) == 0) {
		pthread_detach(thread);
		return;
	}
	datp_lock(&foreign.lock);
	foreign.closers--;
	datp_unlock(&foreign.lock);
}

/* ---- what others call ---- */

/* Leaves it to one of the threads. If its number is beyond all that are noted, it stays open: that is better than to wait here. */
static void close_later(int fd)
{
	static struct log_limit left;
	unsigned int at = (unsigned int)fd / BITS;

	if (at >= WORDS) {
		log_limited(&left, 1, "soft: descriptor %d, which a process has sent, stays open: the number is too high", fd);
		return;
	}
	datp_lock(&foreign.lock);
	/* a program may have closed a descriptor that is not its own, so that its number came again */
	foreign.count += !(foreign.waiting[at] >> (unsigned int)fd % BITS & 1);
	foreign.waiting[at] |= UINT64_C(1) << (unsigned int)fd % BITS;
	foreign.top = at > foreign.top ? at : foreign.top;
	datp_unlock(&foreign.lock);
	start();
}

/* Only a memfd has seals, and nothing can hold up its close. The question is answered without its file system. */
static bool is_memfd(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

/* The close of a memfd takes long if it frees much memory. */
static bool closes_at_once(int fd)
{
	struct stat st;

	return is_memfd(fd) && fstat(fd, &st) == 0 && st.st_blocks <= LIGHT;
}

void soft_foreign_close(int fd)
{
	if (closes_at_once(fd))
		close(fd);
	else
		close_later(fd);
}

int soft_foreign_take(struct msghdr *hdr)
{
	int first = -1, fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
		size_t count = c->cmsg_len < CMSG_LEN(0) ? 0 : (c->cmsg_len - CMSG_LEN(0)) / sizeof fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (first < 0)
				first = fd;
			else
				soft_foreign_close(fd);
		}
	}
	return first;
}

enum unread { UNREAD_NOTHING, UNREAD_BYTES, UNREAD_FILES };

/*
 * Says what is next on a socket that has been shut down, without receiving it. With SO_PASSCRED each message has the sender's
 * credentials, so an empty one can be told from the end; there is no room for descriptors, which the kernel says by MSG_CTRUNC.
 */
static enum unread look(int fd)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	ssize_t got = recvmsg(fd, &hdr, MSG_PEEK | MSG_DONTWAIT);

	/* the kernel reports a reset once, before the messages that precede it */
	if (got < 0 && errno == ECONNRESET)
		got = recvmsg(fd, &hdr, MSG_PEEK | MSG_DONTWAIT);
	if (got < 0)
		return UNREAD_NOTHING;
	if (hdr.msg_flags & MSG_CTRUNC)
		return UNREAD_FILES;
	return hdr.msg_controllen ? UNREAD_BYTES : UNREAD_NOTHING;
}

/*
 * To throw away a queue of unread messages takes the kernel much less time than to receive them one by one, so after a look at a
 * few of them a closer does that.
 */
void soft_foreign_hangup(int fd)
{
	int on = 1;
	enum unread unread = UNREAD_BYTES;
	char byte;

	/* from here on nothing more arrives; and a child process may have it open, too, and then close() alone would not hang up */
	shutdown(fd, SHUT_RDWR);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		unread = UNREAD_FILES;
	for (int i = 0; unread == UNREAD_BYTES && i < FEW; i++) {
		unread = look(fd);
		if (unread == UNREAD_BYTES)
			(void)recv(fd, &byte, 1, MSG_DONTWAIT);
	}
	if (unread == UNREAD_NOTHING)
		close(fd);
	else
		close_later(fd);
}

void soft_foreign_end_listener(int fd)
{
	int queued;

	/* from here on the kernel refuses new connections; those that have been made are in the queue of the listener */
	shutdown(fd, SHUT_RDWR);
	while ((queued = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		soft_foreign_hangup(queued);
	/*
	 * If descriptors have run out, connections may wait there still, and the kernel closes them here. A thread that does that
	 * later would keep the name in use, and the next service point from being made.
	 */
	close(fd);
}

static unsigned int open_still(void)
{
	unsigned int n;

	datp_lock(&foreign.lock);
	n = foreign.count + foreign.closing;
	datp_unlock(&foreign.lock);
	return n;
}

bool soft_foreign_is_full(void)
{
	bool full = open_still() >= FULL;

	/* none may have been startable when the last one came */
	if (full)
		start();
	return full;
}

bool soft_foreign_is_too_much(int fd)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(sizeof(int))];
	} control;
	/* there is room for one descriptor, so the kernel makes no more, and says that the message has some */
	struct msghdr hdr = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))
	};
	bool honest;
	int one;

	if (open_still() < MUCH || recvmsg(fd, &hdr, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return false;
	one = soft_foreign_take(&hdr);
	if (one < 0)
		return hdr.msg_flags & MSG_CTRUNC;
	honest = is_memfd(one) && !(hdr.msg_flags & MSG_CTRUNC); /* an honest process sends one memfd */
	soft_foreign_close(one);
	return !honest;
}

void soft_foreign_nap(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (int i = 0; i < NAPS && open_still(); i++)
		nanosleep(&nap, NULL);
}

void soft_foreign_forked(void)
{
	/* if another thread had the lock when this one forked, that thread does not exist here, and `top` may be behind */
	bool held = !datp_trylock(&foreign.lock);

	memset(foreign.waiting, 0, held ? sizeof foreign.waiting : (foreign.top + 1) * sizeof *foreign.waiting);
	foreign.top = foreign.hint = foreign.count = foreign.closers = foreign.closing = 0;
	datp_unlock(&foreign.lock);
}
