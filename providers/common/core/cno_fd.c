/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a CNO, by which a program waits for several CNOs and for other descriptors at
 * once. It is an eventfd. Invariant: it is readable exactly while the CNO has an EVD on its list, or
 * has to report that its last EVD was freed. So it is also readable for an event that another thread
 * has taken meanwhile, until cno_poll() drops that trigger.
 *
 * The descriptor takes the place of the agent (cno.agent), because a CNO has one or the other, and
 * so a trigger of a CNO that has neither costs nothing more. It is written and read under the CNO
 * lock, without sleeping, and through syscall(2), because that is no cancellation point.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evd.h"

/* It is never called. As the function of an agent, it marks a CNO with a descriptor. */
void cno_fd_proxy(void *data, DAT_HANDLE evd)
{
	(void)data, (void)evd;
}

int cno_fd(struct datp_cno *cno)
{
	int fd;

	datp_lock(&cno->lock);
	fd = cno_has_fd_locked(cno) ? cno->fd.fork_fd.fd : -1;
	datp_unlock(&cno->lock);
	return fd;
}

void cno_fd_raise_locked(struct datp_cno *cno, struct datp_evd *evd)
{
	const uint64_t one = 1;

	if (!evd)
		cno->fd.orphaned = true;
	if (!cno->fd.readable)
		(void)syscall(SYS_write, cno->fd.fork_fd.fd, &one, sizeof(one));
	cno->fd.readable = true;
}

void cno_fd_settle_locked(struct datp_cno *cno)
{
	uint64_t count;

	if (!cno->fd.readable || cno->first || cno->fd.orphaned)
		return;
	(void)syscall(SYS_read, cno->fd.fork_fd.fd, &count, sizeof(count));
	cno->fd.readable = false;
}

/* Opens the descriptor of a CNO that nobody can see yet. */
static enum datp_err open_fd(struct datp_cno *cno)
{
	struct datp_fork_own own;
	int fd, why;

	datp_fork_hold(&own);
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	why = errno;
	if (fd >= 0)
		datp_fork_list(&cno->fd.fork_fd, fd);
	datp_fork_release(&own);
	if (fd >= 0)
		return DATP_OK;
	core_log(1, "%s: dat_cno_fd_create: no eventfd: %s; raise the limit of open files (ulimit -n)",
		 cno->obj.ia->name, strerror(why));
	return DATP_ERR_MEMORY;
}

enum datp_err cno_fd_create(struct datp_ia *ia, int *fd, struct datp_cno **out)
{
	static const struct cno_agent proxy = { .call = cno_fd_proxy };
	struct datp_cno *cno;
	enum datp_err err;

	err = cno_new(ia, proxy, &cno);
	if (err)
		return err;
	err = open_fd(cno);
	if (err)
		goto release;
	*fd = cno->fd.fork_fd.fd;
	err = obj_publish(cno);
	if (err)
		goto close_fd;
	*out = cno;
	return DATP_OK;

close_fd:
	cno_fd_close(cno);
release:
	obj_release(cno);
	return err;
}

void cno_fd_close(struct datp_cno *cno)
{
	static const struct cno_agent none;
	struct datp_fork_own own;

	/* a thread that has looked at the handle before it became invalid may still poll */
	datp_lock(&cno->lock);
	cno->agent = none;
	datp_unlock(&cno->lock);
	datp_fork_hold(&own);
	datp_fork_unlist(&cno->fd.fork_fd);
	close(cno->fd.fork_fd.fd);
	datp_fork_release(&own);
}
