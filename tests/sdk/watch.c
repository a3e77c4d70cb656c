/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wrapper that looks at its thread in its hooks: where the thread could be cancelled, the call
 * fails with DAT_INTERNAL_ERROR.
 */
#include <pthread.h>

#include <datp/wrap.h>

static bool can_be_cancelled(void)
{
	int state, type, ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_setcanceltype(type, &ignored);
	pthread_setcancelstate(state, &ignored);
	return state != PTHREAD_CANCEL_DISABLE || type != PTHREAD_CANCEL_DEFERRED;
}

static bool watch_before(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap;
	call->ret = DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
	return !can_be_cancelled();
}

static void watch_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
{
	(void)wrap;
	if (can_be_cancelled())
		call->ret = DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
}

static const struct datp_wrap_ops watch_ops = { .before = watch_before, .after = watch_after };

DATP_WRAPPER("watch", watch_ops)
