/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Converts return values of DAT 1.2 to those of 2.0. The types are the same, except that
 * DAT_NOT_IMPLEMENTED has another value. The subtypes from DAT_INVALID_HANDLE1 on are one higher,
 * because 2.0 has the handle of a CSP before them, and those from DAT_PRIVILEGES_READ on two
 * higher, because 2.0 also has one more state of an SRQ.
 */
#include "dat20.h"

_Static_assert(DAT20_INVALID_HANDLE1 == DAT_INVALID_HANDLE1 + 1 &&
		       DAT20_INVALID_STATE_SRQ_IN_USE == DAT_INVALID_STATE_SRQ_IN_USE + 1 &&
		       DAT20_PRIVILEGES_READ == DAT_PRIVILEGES_READ + 2 &&
		       DAT20_THREAD_SAFETY_NOT_FOUND == DAT_THREAD_SAFETY_NOT_FOUND + 2 &&
		       (int)DAT20_INVALID_HANDLE_SRQ == (int)DAT_INVALID_HANDLE_SRQ,
	       "the subtypes of 2.0 are those of 1.2, and two more");

DAT_RETURN dat20_ret(DAT_RETURN value)
{
	unsigned int subtype = DAT_GET_SUBTYPE(value);

	if (__builtin_expect(value == DAT_SUCCESS, 1))
		return DAT_SUCCESS;
	if (DAT_GET_TYPE(value) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED))
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	if (subtype >= DAT_PRIVILEGES_READ)
		subtype += 2;
	else if (subtype >= DAT_INVALID_HANDLE1)
		subtype += 1;
	return (value & ~(DAT_RETURN)DAT_SUBTYPE_MASK) | subtype;
}
