/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges the pages under a range of addresses while other threads may be using them. */
#ifndef SOFT_REMAP_H
#define SOFT_REMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns a userfaultfd(2) descriptor for the calls below, close-on-exec, or -1 with errno: EPERM if a
 * container or a security policy refuses the system call, EINVAL if the kernel is older than Linux 5.14.
 */
int soft_remap_open(void);

/*
 * Moves a range of private, anonymous, writable memory into an empty file, and a shared mapping of that file, `file`, of the same
 * length, into the place of the range, which is whole pages of one mapping. Nobody can shorten the file. Another thread's load or
 * store in the range waits until the move is over, and none is lost; a system call of another thread that reads or writes there
 * waits as well or, where an ordinary user may not hold up the kernel, fails with EFAULT. Returns 0, or an errno with the memory
 * as it was, and `file` where it was; EEXIST if the file is not empty. After 0, *kept is an empty mapping of the same length, which
 * the reverse needs; a caller that does not want that unmaps it.
 *
 * This call and soft_remap_private() touch no memory but the range, the calling thread's stack and
 * its errno, so none of these may lie in the range. The process must not fork meanwhile. It
 * must not make a page unreadable either, as MADV_GUARD_INSTALL does; one that is so before is refused with EFAULT.
 */
int soft_remap_shared(int uffd, void *addr, size_t len, void *file, void **kept);

/*
 * The reverse: moves what the file `fd` holds into private memory, where the file is mapped from `offset`. The range may be
 * a part of that of soft_remap_shared(), and `kept` the same part of what that call returned. This part of `kept` is gone
 * afterwards, also if this fails; then the range stays the file. If `divided`, the range may be several mappings, and this fails
 * with ENOENT if any of them is locked. Else it is one, and what takes the place of locked memory is locked as well.
 */
int soft_remap_private(int uffd, void *addr, size_t len, int fd, uint64_t offset, bool divided, void *kept);

/* Gives up a part of `kept`, of a range that does not become private again. */
void soft_remap_forget(void *kept, size_t len);

#endif
