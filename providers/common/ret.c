/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internal errors as DAT 1.2 values: one table, made of the list in the SDK header.
 */
#include "core.h"

static const DAT_RETURN values[DATP_ERR_COUNT] = { [DATP_OK] = DAT_SUCCESS,
#define X(name, type, sub)                                                                         \
	[DATP_ERR_##name] = (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(sub),
						   DATP_ERRORS(X)
#undef X
};

DAT_RETURN datp_ret(enum datp_err err)
{
	if ((unsigned int)err >= DATP_ERR_COUNT)
		err = DATP_ERR_INTERNAL;
	return values[err];
}
