/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which name a mistyped one stands for: the "did you mean" of messages. Invariant: a name is
 * suggested only if few enough letters differ for the length of the one that was typed. A part of
 * libdat, of libdatp and of datctl.
 */
#ifndef LOG_NEAR_H
#define LOG_NEAR_H

#include <stdbool.h>

/*
 * The nearest of many names is found by near_closer() for each of them, with one `distance`, which
 * begins with what near_begin() returns.
 */
unsigned int near_begin(const char *typed);
/*
 * Returns true if `name` is nearer to `typed` than *distance letters, and stores its distance
 * there. A name of more than 255 bytes is near to none.
 */
bool near_closer(const char *typed, const char *name, unsigned int *distance);

#endif
