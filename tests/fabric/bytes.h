/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes numbers as packets carry them, the highest byte first. Each function returns the address behind the number. */
#ifndef TESTS_FABRIC_BYTES_H
#define TESTS_FABRIC_BYTES_H

#include <stdint.h>

static inline unsigned char *put16(unsigned char *at, unsigned int value)
{
	at[0] = (unsigned char)(value >> 8);
	at[1] = (unsigned char)value;
	return at + 2;
}

static inline unsigned char *put32(unsigned char *at, uint32_t value)
{
	return put16(put16(at, value >> 16), value & 0xffff);
}

#endif
