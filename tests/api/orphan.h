/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that forks, at a moment of the test's choice, and is killed: its child runs no other program, and lives on.
 * A program that looks for such a moment stands before the function of a library that it comes with.
 */
#ifndef ORPHAN_H
#define ORPHAN_H

#include "api.h"

/* In the peer. Moments are numbers from 1 on. */
void orphan_at(int moment);	   /* the next that has this number is the one to fork at, once */
void orphan_moment(int moment);	   /* another thread forks now, if this is the one */
void orphan_now(void);		   /* this thread does */
_Noreturn void orphan_await(void); /* tells the test of the child, and waits to be killed */

/* In the test. */
pid_t orphan_of(pid_t peer); /* of one that is in orphan_await() */
void orphan_end(void);	     /* for the teardown */

#endif /* ORPHAN_H */
