/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internal errors as DAT 1.2 values: one table, made of the list in the SDK header.
 */
#include <string.h>

#include "providers/common/core/tell.h"

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

const char *err_name(enum datp_err err)
{
	static const char none[] = "DAT_NO_SUBTYPE";
	static const char *const names[DATP_ERR_COUNT][2] = {
		[DATP_OK] = { "DAT_SUCCESS", "DAT_SUCCESS" },
#define X(name, type, sub) [DATP_ERR_##name] = { #type, #type " " #sub },
		DATP_ERRORS(X)
#undef X
	};
	const char *whole;

	if ((unsigned int)err >= DATP_ERR_COUNT)
		err = DATP_ERR_INTERNAL;
	whole = names[err][1];
	return strstr(whole, none) ? names[err][0] : whole;
}
