/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that the shim (shim.c) offers to a program that was started with it in LD_PRELOAD. Look
 * them up with dlsym(RTLD_DEFAULT, ...), because without the shim they do not exist.
 */
#ifndef TESTS_FAULTS_SHIM_H
#define TESTS_FAULTS_SHIM_H

/* Starts counting at 0, and lets call number `nth` fail; with `from`, all later calls too. If `nth` is 0, none fails. */
typedef void faults_arm_fn(long nth, int from);
typedef long faults_count_fn(void);	/* returns the number of calls since then */

#define FAULTS_ARM "faults_arm"
#define FAULTS_COUNT "faults_count"

#endif
