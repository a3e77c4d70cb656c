/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of an attacker under userfaultfd(2): a thread of the victim that copies to or from there waits in the kernel until the
 * attacker ends the fault.
 */
#ifndef TRAP_H
#define TRAP_H

#include <stdbool.h>
#include <sys/types.h>

enum { TRAP_LEN = 131072 };
#define TRAP_NONE "userfaultfd(2) for faults of the kernel is not allowed (vm.unprivileged_userfaultfd)"

unsigned char *trap_at(void);  /* within hostile_data */
bool trap_set(void);	       /* returns false if the system does not allow it for faults of the kernel */
bool trap_set_and_tell(void);  /* in an attacker: the same, and tells the parent */
void trap_need(pid_t attacker); /* in the parent: hears that, and skips the test if there is no trap */
void trap_await(void);	       /* waits until a thread is in it */
void trap_release(void);       /* ends the fault, and all to come */

#endif
