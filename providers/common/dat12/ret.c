/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internal errors as DAT 1.2 values: one table, made from the list in the SDK header. Its
 * argument positions are those of the data path, where all calls agree: segments are the third
 * argument of every post. Other calls give their own positions (dat12_ret).
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

/*
 * DAT_QUEUE_EMPTY goes without the class bit. The standard calls the value of an empty queue by that name,
 * the public headers have no macro that adds a class to a type, and DAT_GET_TYPE() works with both. The
 * library that existing programs were written for returns the bare value for queues of completions and
 * from dat_cno_wait(), and their loops compare the whole of it: while (dat_evd_dequeue(...) ==
 * DAT_QUEUE_EMPTY). With the class bit such a loop ends at once, with an event that has not come.
 */
#define CLASS_OF(err) ((err) == DATP_ERR_QUEUE_EMPTY ? 0u : (unsigned int)DAT_CLASS_ERROR)

static const DAT_RETURN values[DATP_ERR_COUNT] = { [DATP_OK] = DAT_SUCCESS,
#define X(name, type, sub)                                                                         \
	[DATP_ERR_##name] = (DAT_RETURN)CLASS_OF(DATP_ERR_##name) | (DAT_RETURN)(type) |           \
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
