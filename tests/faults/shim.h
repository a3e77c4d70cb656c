/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program can ask of the shim (shim.c) that it has been started with by LD_PRELOAD. Look the
 * functions up with dlsym(RTLD_DEFAULT, ...): without the shim they are not there.
 */
#ifndef TESTS_FAULTS_SHIM_H
#define TESTS_FAULTS_SHIM_H

/* Counts from 0 again, and lets call number `nth` fail, or with `from` each call from there on; 0: none. */
typedef void faults_arm_fn(long nth, int from);
typedef long faults_count_fn(void);	/* calls since then */

#define FAULTS_ARM "faults_arm"
#define FAULTS_COUNT "faults_count"

#endif
