/* SPDX-License-Identifier: BSD-2-Clause */
/* The process at the other end of a socket, as the kernel names it. */
#ifndef SOFT_PROCESS_H
#define SOFT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct soft_process {
	pid_t pid;	 /* 0: this PID namespace has no number for it */
	int handle;	 /* a pidfd, or -1 if the kernel gives none, or for a process that is this one and has a serial number */
	uint64_t serial; /* a number that no other process ever has; 0: unknown */
};

/*
 * Finds out which process has connected the socket, or listened for it. Returns false if that process has ended, or there is no
 * descriptor for its handle. soft_process_forget() closes the handle.
 */
bool soft_process_of(int fd, pid_t pid, struct soft_process *process);
void soft_process_forget(struct soft_process *process);
/* Returns true if the process has ended, all of its threads. Returns false if there is no handle of it to tell. */
bool soft_process_has_ended(const struct soft_process *process);
bool soft_process_is(const struct soft_process *known, const struct soft_process *other);

#endif
