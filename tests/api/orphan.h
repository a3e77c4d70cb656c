/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that forks, at a moment that the test chooses, and is killed. Its child executes no other program, and goes on
 * running. If the moment is in the middle of a library's call, the test program defines a function that the library calls
 * there, such as connect(), and calls orphan_moment() in it.
 */
#ifndef ORPHAN_H
#define ORPHAN_H

#include "api.h"

/* In the peer. Moments are numbers from 1 on. */
void orphan_at(int moment);	   /* forks once, at the next moment with this number */
void orphan_moment(int moment);	   /* another thread forks now, if this is the chosen moment */
void orphan_now(void);		   /* this thread forks now */
_Noreturn void orphan_await(void); /* sends the child's number to the test, and waits to be killed */

/* In the test. */
pid_t orphan_of(pid_t peer); /* the child of a peer that is in orphan_await() */
void orphan_end(void);	     /* for the teardown */

#endif /* ORPHAN_H */
