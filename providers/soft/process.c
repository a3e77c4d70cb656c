/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process is at the other end of a socket. Only the kernel is asked, because a peer can say anything of itself. The
 * kernel notes the process when it connects, or calls listen(), so it does not matter who has inherited the socket or got it
 * passed. The number of a process may be given to another one after its end. Its handle (a pidfd) cannot, but since Linux 6.5
 * only. Since Linux 6.9 each process also has a number of the file system of these handles, which is never used again. The handle
 * also tells of the end of the process, whoever else has its sockets. A process whose first thread has ended lives as
 * long as it has others.
 */
#define _GNU_SOURCE
#include "process.h"
#include "log/limited.h"
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define PIDFS 0x50494446 /* the type of that file system */

/* Without the file system, the handles of all processes are one file with one number. */
static uint64_t serial_of(int handle)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(handle, &fs) < 0 || fs.f_type != PIDFS || fstat(handle, &st) < 0)
		return 0;
	return st.st_ino;
}

static bool lives(int handle)
{
	struct pollfd end = { .fd = handle, .events = POLLIN };

	/* a call that fails says nothing: a signal interrupts it although it does not wait */
	return poll(&end, 1, 0) <= 0;
}

bool soft_process_of(int fd, pid_t pid, struct soft_process *process)
{
	static struct log_limit full;
	socklen_t len = sizeof process->handle;

	*process = (struct soft_process){ .pid = pid, .handle = -1 };
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process->handle, &len) < 0) {
		process->handle = -1;
		if (errno == EMFILE || errno == ENFILE)
			log_limited(&full, 1,
				    "soft: no file descriptor to find out which process %d is; a connection with it "
				    "is refused; raise the limit (ulimit -n)",
				    (int)pid);
		return errno == ENOPROTOOPT;
	}
	process->serial = serial_of(process->handle);
	if (!lives(process->handle)) {
		soft_process_forget(process);
		return false;
	}
	return true;
}

void soft_process_forget(struct soft_process *process)
{
	if (process->handle >= 0)
		close(process->handle);
	process->handle = -1;
}

bool soft_process_has_ended(const struct soft_process *process)
{
	return process->handle >= 0 && !lives(process->handle);
}

bool soft_process_is(const struct soft_process *known, const struct soft_process *other)
{
	if (known->pid != other->pid)
		return false;
	if (known->serial && other->serial)
		return known->serial == other->serial;
	/* as long as a process lives, no other gets its number */
	return known->handle < 0 || lives(known->handle);
}
