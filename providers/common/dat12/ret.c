/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internal errors as DAT 1.2 values: one table, made of the list in the SDK header. The
 * positions in it are those of the data path, whose calls agree: segments are the third argument of
 * every post. Other calls say their own (dat12_ret).
 */
#include "dat12.h"

/* The subtype in dat_ep_post_..., dat_srq_post_recv and dat_evd_dequeue. */
#define POST_SUB(err, sub)                                                                         \
	((err) == DATP_ERR_BAD_EP	  ? (unsigned int)DAT_INVALID_ARG1                         \
	 : (err) == DATP_ERR_BAD_COUNT	  ? (unsigned int)DAT_INVALID_ARG2                         \
	 : (err) == DATP_ERR_BAD_OUT	  ? (unsigned int)DAT_INVALID_ARG2                         \
	 : (err) == DATP_ERR_BAD_SEGMENTS ? (unsigned int)DAT_INVALID_ARG3                         \
	 : (err) == DATP_ERR_BAD_TARGET	  ? (unsigned int)DAT_INVALID_ARG5                         \
					  : (unsigned int)(sub))

static const DAT_RETURN values[DATP_ERR_COUNT] = { [DATP_OK] = DAT_SUCCESS,
#define X(name, type, sub)                                                                         \
	[DATP_ERR_##name] = (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type) |                     \
			    (DAT_RETURN)POST_SUB(DATP_ERR_##name, sub),
						   DATP_ERRORS(X)
#undef X
};

DAT_RETURN datp_ret(enum datp_err err)
{
	if ((unsigned int)err >= DATP_ERR_COUNT)
		err = DATP_ERR_INTERNAL;
	return values[err];
}

DAT_RETURN dat12_ret(enum datp_err err, const struct dat12_arg args[])
{
	if (err < DATP_ERR_BAD_MEMORY || err > DATP_ERR_BAD_OUT)
		return datp_ret(err);
	while (args->err != DATP_OK && args->err != err)
		args++;
	return dat12_arg(args->position);
}
