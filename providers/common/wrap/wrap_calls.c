/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a table for wrappers: from arguments to words (thunk_*), back (invoke), and what each
 * argument is. Invariant: every slot of the table is in all three; a thunk that does not fit its slot
 * does not compile. wrap_calls20.c compiles this once more, for the table of DAT 2.0.
 */
#include <string.h>

#include "wrap.h"

/* What differs between the APIs: types, the list of calls, and what is known of an event. */
#ifdef WRAP_API_20
#include "providers/common/dat20/dat20.h"
#include "providers/common/dat20/dat20_calls.h"
#define API	  wrap_api20
#define T(name)	  DAT20_##name
#define CALLS	  DAT20_CALLS
#define ALL_CALLS(X) DATP_CALLS(X) DATP_CALLS_20(X)
typedef struct dat20_provider provider;
typedef DAT20_EVENT event_type;
#define VA_PARAM  DAT20_VA_TYPE va_type,
#else
#include "providers/common/dat12/dat12_calls.h"
#define API	  wrap_api12
#define T(name)	  DAT_##name
#define CALLS	  WRAPPED_CALLS
#define ALL_CALLS(X) DATP_CALLS(X)
typedef DAT_PROVIDER provider;
typedef DAT_EVENT event_type;
#define VA_PARAM
#endif

/* clang-format off */

/*
 * Write and read an argument that begins at word i. The two structures below take two words each.
 */
#define PUT(i, value) memcpy(&w[i], &(value), sizeof(value))
#define GET(type, i)									\
	(((const struct { type v; } __attribute__((may_alias)) *)(const void *)&w[i])->v)
_Static_assert(sizeof(DAT_CONTEXT) == 8 && sizeof(DAT_VLEN) == 8, "they are words");
_Static_assert(sizeof(DAT_OS_WAIT_PROXY_AGENT) == 16 && sizeof(DAT_REGION_DESCRIPTION) == 16,
	       "they are two words");

/* What is generated from the ith argument of a call, by its type, its name, and its kind. */
#define STORE(i, type, name, kind)    PUT(i, name)
#define LOAD(i, type, name, kind)     GET(type, i)
#define DESCRIBE(i, type, name, kind) { #name, DATP_ARG_##kind }
#define FIRST(...)                    FIRST_OF(__VA_ARGS__, )
#define FIRST_OF(type, name, ...)     name

/* ------------------------------------------------------------------ thunks */

#define CALL(n, slot, ...) \
	static DAT_RETURN thunk_##slot(EACH##n(PARAM, 0, __VA_ARGS__)) \
	{ \
		uint64_t w[n] = { 0 }; \
		EACH##n(STORE, 0, __VA_ARGS__); \
		return wrap_enter(&API, FIRST(__VA_ARGS__), DATP_CALL_##slot, w); \
	}
CALLS
#undef CALL

static DAT_RETURN thunk_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	uint64_t w[2] = { 0 };

	PUT(0, ia); PUT(1, flags);
	return wrap_close(ia, w);
}

static DAT_RETURN thunk_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
				   DAT_CNO_HANDLE *cno)
{
	uint64_t w[4] = { 0 };

	PUT(0, ia); PUT(1, agent); PUT(3, cno);
	return wrap_enter(&API, ia, DATP_CALL_cno_create, w);
}

static DAT_RETURN thunk_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	uint64_t w[3] = { 0 };

	PUT(0, cno); PUT(1, agent);
	return wrap_enter(&API, cno, DATP_CALL_cno_modify_agent, w);
}

/* Where the words for results begin. */
#ifdef WRAP_API_20
#define LMR_OUT 8
#else
#define LMR_OUT 7
#endif

static DAT_RETURN thunk_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				   DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
				   T(MEM_PRIV_FLAGS) priv, VA_PARAM DAT_LMR_HANDLE *lmr,
				   DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context,
				   DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	uint64_t w[LMR_OUT + 5] = { 0 };

	PUT(0, ia); PUT(1, type); PUT(2, region); PUT(4, length); PUT(5, pz); PUT(6, priv);
	PUT(LMR_OUT, lmr); PUT(LMR_OUT + 1, context); PUT(LMR_OUT + 2, rmr_context);
	PUT(LMR_OUT + 3, registered_length); PUT(LMR_OUT + 4, registered_address);
#ifdef WRAP_API_20
	PUT(7, va_type);
#endif
	return wrap_enter(&API, ia, DATP_CALL_lmr_create, w);
}

#ifdef WRAP_API_20
/* The arguments after the number of the call, which are passed on as they are. */
struct rest {
	va_list list;
};

static DAT_RETURN thunk_extension_op(DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)
{
	struct rest rest;
	uint64_t w[3] = { 0 };
	const struct rest *at = &rest;
	DAT_RETURN ret;

	/* a query without an open, which did open the adapter */
	if (op == DAT20_IB_CLOSE_QUERY_OP)
		return dat20_query_close(handle);
	va_copy(rest.list, args);
	PUT(0, handle); PUT(1, op); PUT(2, at);
	ret = wrap_enter(&API, handle, DATP_CALL_extension_op, w);
	va_end(rest.list);
	return ret;
}

static DAT_RETURN invoke_extension_op(const provider *to, const uint64_t *w)
{
	struct rest *rest = GET(struct rest *, 2);
	DAT_RETURN ret;
	va_list args;

	if (!to->handle_extendedop_func)
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	va_copy(args, rest->list);
	ret = to->handle_extendedop_func(GET(DAT_HANDLE, 0), GET(DAT20_EXTENDED_OP, 1), args);
	va_end(args);
	return ret;
}
#endif

/* ------------------------------------------------------------------ and back */

#define CALL(n, slot, ...) \
	case DATP_CALL_##slot: \
		return to->slot##_func(EACH##n(LOAD, 0, __VA_ARGS__));

static DAT_RETURN invoke(const void *table, enum datp_call id, const uint64_t *w)
{
	const provider *to = table;

	switch (id) {
	CALLS
	case DATP_CALL_cno_create:
		return to->cno_create_func(GET(DAT_IA_HANDLE, 0), GET(DAT_OS_WAIT_PROXY_AGENT, 1),
					   GET(DAT_CNO_HANDLE *, 3));
	case DATP_CALL_cno_modify_agent:
		return to->cno_modify_agent_func(GET(DAT_CNO_HANDLE, 0),
						 GET(DAT_OS_WAIT_PROXY_AGENT, 1));
	case DATP_CALL_lmr_create:
		return to->lmr_create_func(GET(DAT_IA_HANDLE, 0), GET(DAT_MEM_TYPE, 1),
					   GET(DAT_REGION_DESCRIPTION, 2), GET(DAT_VLEN, 4),
					   GET(DAT_PZ_HANDLE, 5), GET(T(MEM_PRIV_FLAGS), 6),
#ifdef WRAP_API_20
					   GET(DAT20_VA_TYPE, 7),
#endif
					   GET(DAT_LMR_HANDLE *, LMR_OUT), GET(DAT_LMR_CONTEXT *, LMR_OUT + 1),
					   GET(DAT_RMR_CONTEXT *, LMR_OUT + 2), GET(DAT_VLEN *, LMR_OUT + 3),
					   GET(DAT_VADDR *, LMR_OUT + 4));
#ifdef WRAP_API_20
	case DATP_CALL_extension_op:
		return invoke_extension_op(to, w);
#endif
	default:
		return API.ret(datp_ret(DATP_ERR_PARAM));
	}
}
#undef CALL

/* ------------------------------------------------------------------ descriptions */

#define CALL(n, slot, ...) \
	static const struct datp_arg args_##slot[] = { EACH##n(DESCRIBE, 0, __VA_ARGS__) };
CALLS
#undef CALL

static const struct datp_arg args_ia_open[] = {
	{ "ia_name_ptr", DATP_ARG_STRING }, { "async_evd_min_qlen", DATP_ARG_INT },
	{ "async_evd_handle", DATP_ARG_OUT_HANDLE }, { "ia_handle", DATP_ARG_OUT_HANDLE },
};
static const struct datp_arg args_ia_close[] = {
	{ "ia_handle", DATP_ARG_HANDLE }, { "close_flags", DATP_ARG_FLAGS },
};
static const struct datp_arg args_cno_create[] = {
	{ "ia_handle", DATP_ARG_HANDLE }, { "agent.instance_data", DATP_ARG_POINTER },
	{ "agent.proxy_agent_func", DATP_ARG_POINTER }, { "cno_handle", DATP_ARG_OUT_HANDLE },
};
static const struct datp_arg args_cno_modify_agent[] = {
	{ "cno_handle", DATP_ARG_HANDLE }, { "agent.instance_data", DATP_ARG_POINTER },
	{ "agent.proxy_agent_func", DATP_ARG_POINTER },
};
static const struct datp_arg args_lmr_create[] = {
	{ "ia_handle", DATP_ARG_HANDLE }, { "mem_type", DATP_ARG_FLAGS },
	{ "region_description", DATP_ARG_POINTER },
	{ "region_description.shared_memory_id", DATP_ARG_POINTER }, { "length", DATP_ARG_U64 },
	{ "pz_handle", DATP_ARG_HANDLE }, { "mem_privileges", DATP_ARG_FLAGS },
#ifdef WRAP_API_20
	{ "va_type", DATP_ARG_FLAGS },
#endif
	{ "lmr_handle", DATP_ARG_OUT_HANDLE }, { "lmr_context", DATP_ARG_OUT_HEX32 },
	{ "rmr_context", DATP_ARG_OUT_HEX32 }, { "registered_length", DATP_ARG_OUT_HEX64 },
	{ "registered_address", DATP_ARG_OUT_HEX64 },
};

#ifdef WRAP_API_20
static const struct datp_arg args_extension_op[] = {
	{ "handle", DATP_ARG_HANDLE }, { "ext_op", DATP_ARG_FLAGS }, { "arguments", DATP_ARG_POINTER },
};
#endif

#define CALL(n, slot, ...) [DATP_CALL_##slot] = { #slot, args_##slot, n },

static const struct {
	const char *name;
	const struct datp_arg *args;
	int n;
} calls[] = {
	CALLS
	CALL(4, ia_open) CALL(2, ia_close) CALL(4, cno_create) CALL(3, cno_modify_agent)
	CALL(LMR_OUT + 5, lmr_create)
#ifdef WRAP_API_20
	CALL(3, extension_op)
#endif
};
#undef CALL

#define X(name) +1
enum { CALL_COUNT = 0 ALL_CALLS(X) };
_Static_assert(sizeof(calls) / sizeof(calls[0]) == CALL_COUNT &&
	       CALL_COUNT * sizeof(void (*)(void)) + offsetof(provider, ia_open_func) == sizeof(provider),
	       "every slot is there");
#undef X

/* clang-format on */

static int call_args(enum datp_call id, const struct datp_arg **args)
{
	if ((unsigned int)id >= CALL_COUNT)
		return 0;
	*args = calls[id].args;
	return calls[id].n;
}

/* The calls of 2.0 are those of 1.2 and more. */
#ifdef WRAP_API_20
_Static_assert((int)CALL_COUNT == (int)DATP_CALL_COUNT && LMR_OUT + 5 == DATP_CALL_ARGS, "2.0 has all calls, and the longest");

DATP_API const char *datp_call_name(enum datp_call id)
{
	return (unsigned int)id < CALL_COUNT ? calls[id].name : "?";
}
#else
DATP_API int datp_call_args(enum datp_call id, const struct datp_arg **args)
{
	return call_args(id, args);
}
#endif

/* ------------------------------------------------------------------ the table */

static bool is_ours(const void *table)
{
	return ((const provider *)table)->ia_close_func == thunk_ia_close;
}

/* A call that the adapter beneath does not have is missing here too, and the registry reports that. */
static void table_fill(void *own, const void *other)
{
	const provider *beneath = other;
	provider *table = own;

#define FILL(slot)    table->slot##_func = beneath->slot##_func ? thunk_##slot : NULL;
#define CALL(n, slot, ...) FILL(slot)
	CALLS
#undef CALL
	FILL(ia_close)
	FILL(cno_create)
	FILL(cno_modify_agent)
	FILL(lmr_create)
#undef FILL
#ifdef WRAP_API_20
	table->handle_extendedop_func = thunk_extension_op;
	/* dat20_beneath() finds the table of 1.2 behind that of the object, which is this one from now on */
	if (dat20_made(other) || is_ours(other))
		((struct dat20_tables *)own)->beneath = ((const struct dat20_tables *)other)->beneath;
#endif
}

/*
 * Only requests are new to the program. The endpoint of a connection event is not: one that the provider has made for a request
 * gets its EVD by dat_ep_modify(), after dat_cr_query(). And it may have been freed, and its memory be another IA's object by now,
 * or nobody's.
 */
static DAT_HANDLE event_brings(const void *of)
{
	const event_type *event = of;

	if (event->event_number == T(CONNECTION_REQUEST_EVENT))
		return event->event_data.cr_arrival_event_data.cr_handle;
	return NULL;
}

#ifdef WRAP_API_20
_Static_assert(sizeof(struct dat20_tables) == WRAP_TABLE_MAX, "a layer has room for a table of 2.0, with that of 1.2 behind it");

const struct wrap_api wrap_api20 = {
	.major = 2, .minor = 0, .ret = dat20_ret,
	.open = wrap_open20, .close = wrap_close20, .object = wrap_object20, .strerror = wrap_strerror20,
#else
/* No header of the standard declares it: stores the pointer behind the integer of an IA. */
extern DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia);

static DAT_RETURN open12(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia, DAT_BOOLEAN safe)
{
	return dat_ia_openv((const DAT_NAME_PTR)name, qlen, async, ia, 1, 2, safe);
}

static DAT_RETURN object12(DAT_IA_HANDLE ia, DAT_IA_HANDLE *object)
{
	return dats_get_ia_handle((unsigned long)(uintptr_t)ia, object);
}

static DAT_RETURN same(DAT_RETURN ret)
{
	return ret;
}

const struct wrap_api wrap_api12 = {
	.major = 1, .minor = 2, .ret = same,
	.open = open12, .close = dat_ia_close, .object = object12, .strerror = dat_strerror,
#endif
	.invoke = invoke,
	.table_fill = table_fill,
	.is_ours = is_ours,
	.args = call_args,
	.event_brings = event_brings,
};
