/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/wrap.h>: the SDK for wrappers. A wrapper is a plugin that stands between a program and
 * another adapter and sees each call that passes. Since SDK 0.2. A whole wrapper:
 *
 *	#include <datp/wrap.h>
 *	static void my_after(struct datp_wrap *wrap, struct datp_wrap_call *call)
 *	{
 *		fprintf(stderr, "dat_%s = %x\n", datp_call_name(call->id), call->ret);
 *	}
 *	static const struct datp_wrap_ops my_ops = { .after = my_after };
 *	DATP_WRAPPER("my", my_ops)
 *
 * Its instance data in dat.conf begins with the name of the adapter beneath; the rest are the
 * wrapper's own parameters:
 *
 *	my0 u1.2 nonthreadsafe default libmy.so mine.1.0 "soft0 verbose" ""
 *
 * HOW IT WORKS. Every object of DAT 1.2 begins with the address of its provider's table. libdatp
 * opens the adapter beneath and puts the address of a table of its own there, in the objects of
 * that one IA. So handles, events and queries are those of the adapter beneath, which may be any
 * provider or another wrapper. An IA that is not wrapped costs nothing more. A wrapper that would
 * be beneath itself is refused (DUTY-16).
 *
 * DAT 2.0. Since SDK 0.8 a wrapper that says so in `apis` serves programs of DAT 2.0 as well, over an adapter that does. Then
 * the arguments are those of 2.0, whose calls, segments and events differ; datp_wrap_major() tells which API it is. Their
 * types are in <dat2/udat.h>, which has the names of <dat/udat.h>: a file that includes it cannot include this header.
 *
 * THREADS. Hooks run on the thread that makes the call, on many threads at a time, with no lock
 * held. close is called when the last hook has returned. A thread is not cancelled while it is in a
 * hook. If a thread is cancelled in the wait that it has called, `after` is not called for that
 * wait.
 */
#ifndef DATP_WRAP_H
#define DATP_WRAP_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calls, in the order of their slots in DAT_PROVIDER, which never changes. */
/* clang-format off */
#define DATP_CALLS(X) \
	X(ia_open) X(ia_query) X(ia_close) X(set_consumer_context) \
	X(get_consumer_context) X(get_handle_type) X(cno_create) X(cno_modify_agent) \
	X(cno_query) X(cno_free) X(cno_wait) X(cr_query) X(cr_accept) X(cr_reject) \
	X(cr_handoff) X(evd_create) X(evd_query) X(evd_modify_cno) X(evd_enable) \
	X(evd_disable) X(evd_wait) X(evd_resize) X(evd_post_se) X(evd_dequeue) \
	X(evd_free) X(ep_create) X(ep_query) X(ep_modify) X(ep_connect) \
	X(ep_dup_connect) X(ep_disconnect) X(ep_post_send) X(ep_post_recv) \
	X(ep_post_rdma_read) X(ep_post_rdma_write) X(ep_get_status) X(ep_free) \
	X(lmr_create) X(lmr_query) X(lmr_free) X(rmr_create) X(rmr_query) X(rmr_bind) \
	X(rmr_free) X(psp_create) X(psp_query) X(psp_free) X(rsp_create) X(rsp_query) \
	X(rsp_free) X(pz_create) X(pz_query) X(pz_free) X(psp_create_any) X(ep_reset) \
	X(evd_set_unwaitable) X(evd_clear_unwaitable) X(lmr_sync_rdma_read) \
	X(lmr_sync_rdma_write) X(ep_create_with_srq) X(ep_recv_query) \
	X(ep_set_watermark) X(srq_create) X(srq_free) X(srq_post_recv) X(srq_query) \
	X(srq_resize) X(srq_set_lw)
/* Those that only DAT 2.0 has, as they follow in its table. Since SDK 0.8. */
#define DATP_CALLS_20(X) \
	X(csp_create) X(csp_query) X(csp_free) X(ep_common_connect) X(rmr_create_for_ep) \
	X(ep_post_send_with_invalidate) X(ep_post_rdma_read_to_rmr) X(cno_fd_create) \
	X(cno_trigger) X(ia_ha_related) X(extension_op)
/* clang-format on */

enum datp_call {
#define X(name) DATP_CALL_##name,
	DATP_CALLS(X) DATP_CALLS_20(X)
#undef X
		DATP_CALL_COUNT
};

/*
 * The kind of an argument. A kind that begins with OUT is a pointer to what the call fills in if it
 * succeeds.
 */
enum datp_arg_kind {
	DATP_ARG_HANDLE,
	DATP_ARG_INT, /* a signed number of 32 bits */
	DATP_ARG_U64,
	DATP_ARG_HEX64,	  /* a context or cookie */
	DATP_ARG_FLAGS,	  /* flags, a mask or an enumeration */
	DATP_ARG_TIMEOUT, /* microseconds; DAT_TIMEOUT_INFINITE */
	DATP_ARG_POINTER,
	DATP_ARG_ADDRESS, /* struct sockaddr * */
	/* DAT_LMR_TRIPLET *, of the API. If the argument before is an INT, it is the number of segments */
	DATP_ARG_IOV,
	DATP_ARG_TARGET,   /* DAT_RMR_TRIPLET * */
	DATP_ARG_EVENT_IN, /* const DAT_EVENT * */
	DATP_ARG_STRING,
	DATP_ARG_OUT_HANDLE,
	DATP_ARG_OUT_INT, /* of 32 bits */
	DATP_ARG_OUT_HEX32,
	DATP_ARG_OUT_U64,
	DATP_ARG_OUT_HEX64,
	DATP_ARG_EVENT, /* DAT_EVENT *, filled in */
};

struct datp_arg {
	const char *name; /* as in the standard */
	enum datp_arg_kind kind;
};

#define DATP_CALL_ARGS 13

/* Returns the standard's name of a call, without dat_; "?" for an id that is no call. */
DATP_API const char *datp_call_name(enum datp_call id);
/*
 * Returns the number of a call's arguments in DAT 1.2, and sets *args to their names and kinds. Returns
 * 0 for an id that is no call of 1.2; then *args is not set.
 */
DATP_API int datp_call_args(enum datp_call id, const struct datp_arg **args);

/*
 * One call that passes the wrapper. An argument is a word: a pointer, or a value in its low bytes.
 * A structure that is passed by value (a region description, a proxy agent) takes two arguments.
 */
struct datp_wrap_call {
	enum datp_call id;
	bool made;	     /* set before `after`: the call was passed on */
	DAT_RETURN ret;	     /* the value that the program's call returns */
	const uint64_t *arg; /* arg[0] is the handle that the call is made on */
	/*
	 * For the wrapper's own use, kept from `before` to `after`. ia_open has no `before`: there
	 * scratch[0] is the time at which it began, in nanoseconds of CLOCK_MONOTONIC.
	 */
	uint64_t scratch[4];
};

/*
 * One open IA that is wrapped. The wrapper's own struct begins with this one, which is read-only.
 */
struct datp_wrap {
	const char *name;     /* of the adapter, as in dat.conf */
	const char *beneath;  /* of the one beneath */
	DAT_IA_HANDLE ia;     /* arg[0] of the calls that take the IA */
	DAT_EVD_HANDLE async; /* the EVD for asynchronous errors, if ia_open made one */
};

struct datp_wrap_ops {
	uint32_t needs;	    /* 0, since no feature bit is defined yet */
	/*
	 * the size of the wrapper's own struct, which is zeroed at creation; 0 if it adds no fields
	 */
	uint32_t wrap_size;
	/*
	 * Called when the adapter beneath is open. `params` is the rest of the instance data, after
	 * the name of that adapter. If it does not return DATP_OK, the adapter is closed again, and
	 * the program's open fails; give the reason with datp_wrap_refuse(). Default: does nothing.
	 */
	enum datp_err (*open)(struct datp_wrap *wrap, const char *params);
	/* Called when the adapter beneath is closed. Default: does nothing. */
	void (*close)(struct datp_wrap *wrap);
	/*
	 * Called before a call is passed on. If it returns false, the call is not passed on, and
	 * the hook has to have set call->ret. Default: returns true.
	 */
	bool (*before)(struct datp_wrap *wrap, struct datp_wrap_call *call);
	/*
	 * Called when the call is over, whether it was passed on or not. It may change call->ret
	 * and what the OUT arguments point to. Default: does nothing.
	 */
	void (*after)(struct datp_wrap *wrap, struct datp_wrap_call *call);
	/* DATP_WRAP_API_20, if the wrapper serves programs of DAT 2.0 as well. Since SDK 0.8 */
	uint32_t apis;

	/* Append here, nowhere else: released slots never move. */
};

#define DATP_WRAP_API_20 2u

/* Returns the major version of the program's API, 1 or 2. Since SDK 0.8. */
DATP_API unsigned int datp_wrap_major(const struct datp_wrap *wrap);
/* As datp_call_args(), in that API. The arguments of extension_op are one, a va_list *. Since SDK 0.8. */
DATP_API int datp_wrap_args(const struct datp_wrap *wrap, enum datp_call id, const struct datp_arg **args);
/* As dat_strerror() of that API. Since SDK 0.8. */
DATP_API DAT_RETURN datp_wrap_strerror(const struct datp_wrap *wrap, DAT_RETURN ret, const char **major,
				       const char **minor);

/* Makes a call on the adapter beneath. The wrapper's hooks are not called for it. */
DATP_API DAT_RETURN datp_wrap_beneath(struct datp_wrap *wrap, enum datp_call id,
				      const uint64_t *arg);
/*
 * Gives the reason why `open` fails: the cause and the remedy, for the author of the line in
 * dat.conf.
 */
DATP_API void datp_wrap_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct datp_wrapper {
	const char *name;
	const struct datp_wrap_ops *ops;
	uint32_t ops_size, sdk_major, sdk_minor;
	const char *version;
};

DATP_API void datp_wrapper_init(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info,
				const char *params);
DATP_API void datp_wrapper_fini(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info);

#define DATP_WRAPPER(wrapper_name, wrapper_ops)                                                    \
	static const struct datp_wrapper datp_wrapper_ = {                                         \
		wrapper_name,                                                                      \
		&(wrapper_ops),                                                                    \
		sizeof(wrapper_ops),                                                               \
		DATP_SDK_MAJOR,                                                                    \
		DATP_SDK_MINOR,                                                                    \
		DATP_PLUGIN_VERSION,                                                               \
	};                                                                                         \
	DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)         \
	{                                                                                          \
		datp_wrapper_init(&datp_wrapper_, info, params);                                   \
	}                                                                                          \
	DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)                             \
	{                                                                                          \
		datp_wrapper_fini(&datp_wrapper_, info);                                           \
	}

#ifdef __cplusplus
}
#endif

#endif
