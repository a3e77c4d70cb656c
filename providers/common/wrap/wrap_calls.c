/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of the frozen table for wrappers: from arguments to words (thunk_*), back
 * (wrap_invoke), and what each argument is. Invariant: every slot of DAT_PROVIDER is in all three;
 * a thunk that does not fit its slot does not compile.
 */
#include <string.h>

#include "wrap.h"
#include "providers/common/dat12/dat12_calls.h"

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
		return wrap_enter(FIRST(__VA_ARGS__), DATP_CALL_##slot, w); \
	}
WRAPPED_CALLS
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
	return wrap_enter(ia, DATP_CALL_cno_create, w);
}

static DAT_RETURN thunk_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	uint64_t w[3] = { 0 };

	PUT(0, cno); PUT(1, agent);
	return wrap_enter(cno, DATP_CALL_cno_modify_agent, w);
}

static DAT_RETURN thunk_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				   DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
				   DAT_MEM_PRIV_FLAGS priv, DAT_LMR_HANDLE *lmr,
				   DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context,
				   DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	uint64_t w[12] = { 0 };

	PUT(0, ia); PUT(1, type); PUT(2, region); PUT(4, length); PUT(5, pz); PUT(6, priv);
	PUT(7, lmr); PUT(8, context); PUT(9, rmr_context); PUT(10, registered_length);
	PUT(11, registered_address);
	return wrap_enter(ia, DATP_CALL_lmr_create, w);
}

/* ------------------------------------------------------------------ and back */

#define CALL(n, slot, ...) \
	case DATP_CALL_##slot: \
		return to->slot##_func(EACH##n(LOAD, 0, __VA_ARGS__));

DAT_RETURN wrap_invoke(const DAT_PROVIDER *to, enum datp_call id, const uint64_t *w)
{
	switch (id) {
	WRAPPED_CALLS
	case DATP_CALL_cno_create:
		return to->cno_create_func(GET(DAT_IA_HANDLE, 0), GET(DAT_OS_WAIT_PROXY_AGENT, 1),
					   GET(DAT_CNO_HANDLE *, 3));
	case DATP_CALL_cno_modify_agent:
		return to->cno_modify_agent_func(GET(DAT_CNO_HANDLE, 0),
						 GET(DAT_OS_WAIT_PROXY_AGENT, 1));
	case DATP_CALL_lmr_create:
		return to->lmr_create_func(GET(DAT_IA_HANDLE, 0), GET(DAT_MEM_TYPE, 1),
					   GET(DAT_REGION_DESCRIPTION, 2), GET(DAT_VLEN, 4),
					   GET(DAT_PZ_HANDLE, 5), GET(DAT_MEM_PRIV_FLAGS, 6),
					   GET(DAT_LMR_HANDLE *, 7), GET(DAT_LMR_CONTEXT *, 8),
					   GET(DAT_RMR_CONTEXT *, 9), GET(DAT_VLEN *, 10),
					   GET(DAT_VADDR *, 11));
	default:
		return datp_ret(DATP_ERR_PARAM);
	}
}
#undef CALL

/* ------------------------------------------------------------------ descriptions */

#define CALL(n, slot, ...) \
	static const struct datp_arg args_##slot[] = { EACH##n(DESCRIBE, 0, __VA_ARGS__) };
WRAPPED_CALLS
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
	{ "lmr_handle", DATP_ARG_OUT_HANDLE }, { "lmr_context", DATP_ARG_OUT_HEX32 },
	{ "rmr_context", DATP_ARG_OUT_HEX32 }, { "registered_length", DATP_ARG_OUT_HEX64 },
	{ "registered_address", DATP_ARG_OUT_HEX64 },
};

#define CALL(n, slot, ...) [DATP_CALL_##slot] = { #slot, args_##slot, n },

static const struct {
	const char *name;
	const struct datp_arg *args;
	int n;
} calls[] = {
	WRAPPED_CALLS
	CALL(4, ia_open) CALL(2, ia_close) CALL(4, cno_create) CALL(3, cno_modify_agent)
	CALL(12, lmr_create)
};
#undef CALL

#define X(name) +1
_Static_assert(0 DATP_CALLS(X) == DATP_CALL_COUNT && DATP_CALL_COUNT * sizeof(void (*)(void)) +
	       offsetof(DAT_PROVIDER, ia_open_func) == sizeof(DAT_PROVIDER), "every slot is there");
#undef X

/* clang-format on */

DATP_API const char *datp_call_name(enum datp_call id)
{
	return (unsigned int)id < DATP_CALL_COUNT ? calls[id].name : "?";
}

DATP_API int datp_call_args(enum datp_call id, const struct datp_arg **args)
{
	if ((unsigned int)id >= DATP_CALL_COUNT)
		return 0;
	*args = calls[id].args;
	return calls[id].n;
}

/* ------------------------------------------------------------------ the table */

/* A call that the adapter beneath does not have is missing here too, and libdat reports that. */
void wrap_table_fill(DAT_PROVIDER *table, const DAT_PROVIDER *beneath)
{
#define FILL(slot)    table->slot##_func = beneath->slot##_func ? thunk_##slot : NULL;
#define CALL(n, slot, ...) FILL(slot)
	WRAPPED_CALLS
#undef CALL
	FILL(ia_close)
	FILL(cno_create)
	FILL(cno_modify_agent)
	FILL(lmr_create)
#undef FILL
}

bool wrap_is_ours(const DAT_PROVIDER *table)
{
	return table->ia_close_func == thunk_ia_close;
}
