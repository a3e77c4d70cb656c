/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs at level debug why a call that posts nothing was refused: the call, its error, the argument
 * or the object that is the cause, and a remedy. dat12_diag.c does so for posts and binds. Invariant:
 * results that programs provoke on purpose (a timeout, an empty queue) are not logged, and neither
 * is what another message explains already.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dat12_refused.h"
#include "providers/common/base/cancel.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/diag.h"
#include "providers/common/core/ep.h"
#include "providers/common/core/srq.h"

/* A refused call, and the text about it. */
struct refused {
	const struct dat12_call *call;
	const uint64_t *w; /* the arguments */
	enum datp_err err;
	struct datp_ia *ia; /* of the object that the call is made on; NULL if that is no object */
	char text[512];
};

static const char *const kinds[DATP_TYPE_COUNT] = {
	[DATP_CR] = "connection request", [DATP_EP] = "endpoint", [DATP_EVD] = "EVD",
	[DATP_IA] = "adapter",		  [DATP_LMR] = "LMR",	  [DATP_PSP] = "PSP",
	[DATP_PZ] = "protection zone",	  [DATP_RMR] = "RMR",	  [DATP_RSP] = "RSP",
	[DATP_CNO] = "CNO",		  [DATP_SRQ] = "SRQ",
};

#define SAY(r, ...) ((void)snprintf((r)->text, sizeof((r)->text), __VA_ARGS__), true)

static bool is_call(const struct refused *r, const char *name)
{
	return !strcmp(r->call->name, name);
}

static void append(struct refused *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void append(struct refused *r, const char *fmt, ...)
{
	size_t at = strlen(r->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->text + at, sizeof(r->text) - at, fmt, args);
	va_end(args);
}

/* ------------------------------------------------------------------ handles */

/* Returns the type of object that an argument of this name is a handle of. */
static enum datp_type type_of(const char *name)
{
	static const struct {
		const char *end;
		enum datp_type type;
	} types[] = {
		{ "ia_handle", DATP_IA },   { "pz_handle", DATP_PZ },	{ "evd_handle", DATP_EVD },
		{ "ep_handle", DATP_EP },   { "dup_handle", DATP_EP },	{ "cno_handle", DATP_CNO },
		{ "cr_handle", DATP_CR },   { "lmr_handle", DATP_LMR }, { "rmr_handle", DATP_RMR },
		{ "psp_handle", DATP_PSP }, { "rsp_handle", DATP_RSP }, { "srq_handle", DATP_SRQ },
	};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t end = strlen(types[i].end);

		if (length >= end && !strcmp(name + length - end, types[i].end))
			return types[i].type;
	}
	return DATP_TYPE_COUNT;
}

/* Returns the flag that an EVD needs for the use that this call makes of it, and the flag's name. */
static unsigned int flag_needed(const struct refused *r, const char **name)
{
	if (is_call(r, "psp_create") || is_call(r, "psp_create_any") || is_call(r, "rsp_create")) {
		*name = "DAT_EVD_CR_FLAG";
		return DAT_EVD_CR_FLAG;
	}
	return 0;
}

/* Returns true if the standard allows DAT_HANDLE_NULL for this argument. */
static bool may_be_null(const struct refused *r, enum datp_type type)
{
	if (is_call(r, "ep_create") || is_call(r, "ep_create_with_srq"))
		return type == DATP_PZ || type == DATP_EVD;
	if (is_call(r, "evd_create") || is_call(r, "evd_modify_cno"))
		return type == DATP_CNO;
	return is_call(r, "cr_accept") && type == DATP_EP;
}

/* Returns true for an EVD of another IA that an endpoint may have for its connections. */
static bool is_lent(const struct refused *r, const char *name, DAT_HANDLE handle)
{
	return !strcmp(name, "connect_evd_handle") && loan_possible(r->ia, handle);
}

/* If the ith argument, a handle, is the cause, writes that into the text and returns true. */
static bool handle_is_wrong(struct refused *r, int i)
{
	const char *name = r->call->args[i].name, *flag = "";
	enum datp_type want = type_of(name);
	DAT_HANDLE handle = (DAT_HANDLE)(uintptr_t)r->w[i];
	int is = obj_type(handle);
	struct datp_obj *obj;

	if (want == DATP_TYPE_COUNT)
		return false;
	if (handle == DAT_HANDLE_NULL)
		return !may_be_null(r, want) && SAY(r, "%s is DAT_HANDLE_NULL", name);
	if (is < 0)
		return SAY(r, "%s, %p, is no handle, or its object has been freed", name, handle);
	if (is != (int)want)
		return SAY(r, "%s, %p, is the handle of an object of another type (%s instead of %s)",
			   name, handle, kinds[is], kinds[want]);
	obj = obj_get(NULL, handle, want);
	if (obj && r->ia && obj->ia != r->ia && !is_lent(r, name, handle))
		return SAY(r, "%s, %p, belongs to another open adapter", name, handle);
	if (obj && want == DATP_EVD && flag_needed(r, &flag) &&
	    !(((struct datp_evd *)obj)->flags & flag_needed(r, &flag)))
		return SAY(r,
			   "%s, %p, is an EVD without %s (its evd_flags are 0x%x); give one that "
			   "was created with it",
			   name, handle, flag, (unsigned int)((struct datp_evd *)obj)->flags);
	return false;
}

static bool say_handle(struct refused *r)
{
	for (int i = 0; i < r->call->n; i++)
		if (r->call->args[i].kind == DATP_ARG_HANDLE && handle_is_wrong(r, i))
			return true;
	if (is_call(r, "cr_accept"))
		return SAY(r, "ep_handle is DAT_HANDLE_NULL, and the request has come without an "
			      "endpoint of its own; give an unconnected one");
	if (is_call(r, "lmr_create"))
		return SAY(r, "region_description.for_lmr_handle is no LMR of this adapter");
	if (is_call(r, "ep_modify"))
		return SAY(r, "a handle in ep_param is none of this adapter's, or is an EVD that "
			      "lacks the flag for this use (DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG)");
	return false;
}

/* ------------------------------------------------------------------ what is in use */

static bool ep_uses(struct datp_ep *ep, const void *what)
{
	bool uses;

	datp_lock(&ep->lock);
	uses = ep->pz == what || ep->recv_evd == what || ep->request_evd == what ||
	       ep->connect_evd == what || ep->srq == what;
	datp_unlock(&ep->lock);
	return uses;
}

static bool rmr_uses(struct datp_rmr *rmr, const void *what)
{
	const struct datp_lmr *lmr = obj_get(NULL, (DAT_HANDLE)what, DATP_LMR);
	DAT_MEM_PRIV_FLAGS priv;
	struct datp_sge where;
	uint32_t context;

	if (!lmr)
		return rmr->pz == what;
	return rmr_bound(rmr, &where, &priv, &context) && where.lmr_context == lmr->lmr_context;
}

static bool evd_uses(struct datp_evd *evd, const void *what)
{
	bool uses;

	datp_lock(&evd_priv(evd)->lock);
	uses = evd_priv(evd)->cno == what;
	datp_unlock(&evd_priv(evd)->lock);
	return uses;
}

/* Returns true if `user` uses `what`. The IA lock is held, which comes before those that are taken here. */
static bool uses_locked(struct datp_obj *user, enum datp_type type, const void *what)
{
	switch (type) {
	case DATP_EP:
		return ep_uses((struct datp_ep *)user, what);
	case DATP_LMR:
		return ((struct datp_lmr *)user)->pz == what;
	case DATP_SRQ:
		return ((struct datp_srq *)user)->pz == what;
	case DATP_RMR:
		return rmr_uses((struct datp_rmr *)user, what);
	case DATP_PSP:
	case DATP_RSP:
		return ((struct datp_sp *)user)->evd == what;
	case DATP_EVD:
		return evd_uses((struct datp_evd *)user, what);
	default:
		return false;
	}
}

/*
 * Appends how many objects of one type use `what`, and the handles of the first two. With a NULL
 * `what` all objects count, except the EVD `own`. Returns the number. The IA lock is held.
 */
static unsigned int users_append_locked(struct refused *r, enum datp_type type, const void *what, const void *own)
{
	const char *between = r->text[0] ? ", " : "";
	DAT_HANDLE first[2];
	unsigned int n = 0;

	for (struct datp_obj *obj = ia_priv(r->ia)->live[type].first; obj; obj = obj_next(obj)) {
		if (what ? !uses_locked(obj, type, what) : obj == own)
			continue;
		if (n < 2)
			first[n] = obj;
		n++;
	}
	if (n == 1)
		append(r, "%s1 %s (%p)", between, kinds[type], first[0]);
	else if (n)
		append(r, "%s%u %ss (%p, %p%s)", between, n, kinds[type], first[0], first[1],
		       n > 2 ? ", ..." : "");
	return n;
}

/* The same for endpoints of other IAs, which may use an EVD. No lock. */
static unsigned int borrowers_append(struct refused *r, const void *what)
{
	struct datp_evd *evd = what ? obj_get(NULL, (DAT_HANDLE)(uintptr_t)what, DATP_EVD) : NULL;
	DAT_HANDLE first[2] = { 0 };
	unsigned int n = evd ? loans_list(evd, first, 2) : 0;

	if (n == 1)
		append(r, "1 endpoint of another open adapter (%p)", first[0]);
	else if (n)
		append(r, "%u endpoints of other open adapters (%p, %p%s)", n, first[0], first[1], n > 2 ? ", ..." : "");
	return n;
}

/* Returns whether an EVD gets the asynchronous errors of any open adapter. */
static bool is_async_evd(const void *evd)
{
	bool is = false;

	datp_lock(&core.lock);
	for (struct ia_priv *ia = core.ias; ia && !is; ia = ia->next) {
		datp_lock(&ia->async_lock);
		is = ia->async_evd == evd;
		datp_unlock(&ia->async_lock);
	}
	datp_unlock(&core.lock);
	return is;
}

/* Writes which objects use `what`, or are open at all if it is NULL, and what to do about them. */
static bool say_users(struct refused *r, const void *what, const char *remedy)
{
	struct ia_priv *ia = ia_priv(r->ia);
	bool async = what && is_async_evd(what);
	const void *own = NULL;
	unsigned int n = 0;

	datp_lock(&ia->async_lock);
	if (ia->own_async)
		own = ia->async_evd;
	datp_unlock(&ia->async_lock);
	n = borrowers_append(r, what);
	datp_lock(&ia->lock);
	for (int type = 0; type < DATP_TYPE_COUNT; type++)
		n += users_append_locked(r, (enum datp_type)type, what, own);
	datp_unlock(&ia->lock);
	if (!n && async)
		return SAY(r, "it gets the asynchronous errors of an open adapter, which frees it when it is closed");
	if (!n)
		return SAY(r, "another thread uses it still: %s", remedy);
	append(r, " %s: %s", what ? (n == 1 ? "uses it" : "use it") : (n == 1 ? "is open" : "are open"), remedy);
	return true;
}

static bool say_in_use(struct refused *r)
{
	const void *what = (const void *)(uintptr_t)r->w[0];

	switch (r->err) {
	case DATP_ERR_STATE_PZ_IN_USE:
	case DATP_ERR_STATE_SRQ_IN_USE:
		return say_users(r, what, "free what uses it first");
	case DATP_ERR_STATE_EVD_IN_USE:
		return say_users(r, what, "free what uses it first, or give an endpoint another EVD by dat_ep_modify()");
	case DATP_ERR_STATE_CNO_IN_USE:
		return say_users(r, what, "free the EVDs or take the CNO from them by dat_evd_modify_cno(), and let no "
					  "thread wait for it");
	case DATP_ERR_STATE_LMR_IN_USE:
		return say_users(r, what, "unbind or free the RMRs that are bound to it first");
	case DATP_ERR_STATE_IA_IN_USE:
		return say_users(r, NULL, "free them first, or close with DAT_CLOSE_ABRUPT_FLAG, which frees all of them");
	default:
		return false;
	}
}

/* ------------------------------------------------------------------ states */

/* Returns the name of the endpoint state that an error stands for, or NULL. */
static const char *state_name(enum datp_err err)
{
	switch (err) {
#define X(of, name)                                                                                \
	case DATP_ERR_STATE_EP_##of:                                                               \
		return "DAT_EP_STATE_" #name;
	X(UNCONNECTED, UNCONNECTED)
	X(ACTCONNPENDING, ACTIVE_CONNECTION_PENDING)
	X(PASSCONNPENDING, PASSIVE_CONNECTION_PENDING)
	X(TENTCONNPENDING, TENTATIVE_CONNECTION_PENDING)
	X(CONNECTED, CONNECTED)
	X(DISCONNECTED, DISCONNECTED)
	X(RESERVED, RESERVED)
	X(COMPLPENDING, COMPLETION_PENDING)
	X(DISCPENDING, DISCONNECT_PENDING)
#undef X
	default:
		return NULL;
	}
}

/* Returns how an endpoint in this state gets to DAT_EP_STATE_UNCONNECTED. */
static const char *way_to_unconnected(enum datp_err state)
{
	switch (state) {
	case DATP_ERR_STATE_EP_RESERVED:
		return "free the RSP that has reserved it, or take another endpoint";
	case DATP_ERR_STATE_EP_PASSCONNPENDING:
	case DATP_ERR_STATE_EP_TENTCONNPENDING:
		return "reject the request that has it, or take another endpoint";
	case DATP_ERR_STATE_EP_DISCONNECTED:
		return "call dat_ep_reset() first";
	default:
		return "end the connection, wait for the event of its end, and call dat_ep_reset()";
	}
}

/* Writes what state the call needs, and how to get there. Returns true. */
static bool say_state_needed(struct refused *r, const char *state)
{
	if (is_call(r, "ep_connect") || is_call(r, "cr_accept") || is_call(r, "rsp_create"))
		return SAY(r, "the endpoint is in %s, and DAT_EP_STATE_UNCONNECTED is needed: %s", state,
			   way_to_unconnected(r->err));
	if (is_call(r, "ep_dup_connect"))
		return SAY(r, "one of the endpoints is in %s; ep_handle has to be in DAT_EP_STATE_UNCONNECTED, and "
			      "ep_dup_handle in DAT_EP_STATE_CONNECTED", state);
	if (is_call(r, "ep_reset"))
		return SAY(r, "the endpoint is in %s, and DAT_EP_STATE_DISCONNECTED is needed: call "
			      "dat_ep_disconnect(), and wait for the event of the connection's end", state);
	if (is_call(r, "ep_free"))
		return SAY(r, "the endpoint is in %s: free the RSP that has reserved it, or accept or reject the "
			      "request that it belongs to", state);
	if (is_call(r, "ep_disconnect"))
		return SAY(r, "the endpoint is in %s, in which there is no connection to end", state);
	return SAY(r, "the endpoint is in %s, which does not allow this; see dat_%s(3)", state, r->call->name);
}

static bool say_state(struct refused *r)
{
	const char *state = state_name(r->err);

	if (state)
		return say_state_needed(r, state);
	switch (r->err) {
	case DATP_ERR_STATE_EVD_UNWAITABLE:
		return SAY(r, "dat_evd_set_unwaitable() was called for this EVD: call dat_evd_clear_unwaitable(), or take "
			      "the events by dat_evd_dequeue()");
	case DATP_ERR_STATE_EVD_WAITER:
		if (is_call(r, "evd_dequeue"))
			return SAY(r, "another thread waits at this EVD, and only that thread takes its events meanwhile: "
				      "dequeue when it has returned, or give the threads EVDs of their own");
		return SAY(r, "another thread waits at this EVD already, and only one may: give the threads EVDs of their own");
	case DATP_ERR_STATE_EVD_CONFIG_THRESHOLD:
		return SAY(r, "the EVD has completions that do not all wake a waiter (DAT_COMPLETION_UNSIGNALLED_FLAG or "
			      "DAT_COMPLETION_SOLICITED_WAIT_FLAG), so the threshold has to be 1");
	default:
		break;
	}
	if (is_call(r, "srq_resize"))
		return SAY(r, "the SRQ holds more receives than that, or its low watermark is higher");
	if (is_call(r, "ep_modify"))
		return SAY(r, "more operations are outstanding than the new values allow: take their completions first");
	return false;
}

/* ------------------------------------------------------------------ arguments and resources */

/* Returns the position of the argument that the error is about, from 1, or 0 if it names none. */
static int position_of(const struct refused *r)
{
	return r->err >= DATP_ERR_OLD_ARG1 && r->err <= DATP_ERR_OLD_ARG10 ? (int)(r->err - DATP_ERR_OLD_ARG1) + 1 : 0;
}

/* Appends the limit of this adapter on an argument, if there is one. */
static void limit_append(struct refused *r, const char *name)
{
	const struct datp_ia_attr *attr = r->ia ? ia_attr(r->ia) : NULL;
	const struct datp_obj *first = (const struct datp_obj *)(uintptr_t)r->w[0];

	if (!attr)
		return;
	if (is_call(r, "lmr_create"))
		append(r, "%s", !strcmp(name, "region_description") ?
			       "; the address may be NULL, a part of the memory not mapped, or (for "
			       "DAT_MEM_TYPE_SHARED_VIRTUAL) "
			       "the shared_memory_id NULL" :
			       !strcmp(name, "mem_privileges") ?
			       "; it has an unknown flag, or a right to write to memory that is read-only" : "");
	else if (!strcmp(name, "evd_min_qlen"))
		append(r, "; it has to be 1 to %d (the adapter's max_evd_qlen)", (int)attr->max_evd_qlen);
	else if (!strcmp(name, "private_data_size"))
		append(r, "; it has to be 0 to %u (the adapter's max_private_data_size)", attr->max_private_data);
	else if (!strcmp(name, "srq_max_recv_dto"))
		append(r, "; it has to be 1 to %d (the adapter's max_recv_per_srq)", (int)attr->max_recv_per_srq);
	else if (!strcmp(name, "threshold"))
		append(r, "; it has to be 1 to %u (the EVD's evd_qlen)", evd_priv((struct datp_evd *)first)->qlen);
	else if (!strcmp(name, "handoff"))
		append(r, "; no service point of this adapter takes a request there");
	else if (!strcmp(name, "srq_attr"))
		append(r, "; max_recv_dtos has to be 1 to %d, max_recv_iov 0 to %d, low_watermark DAT_SRQ_LW_DEFAULT",
		       (int)attr->max_recv_per_srq, (int)attr->max_iov_per_dto);
}

/* An endpoint is refused that is one of this adapter. */
static bool say_wrong_ep(struct refused *r, const char *name)
{
	if (is_call(r, "cr_accept"))
		return SAY(r, "the request has come with an endpoint of its own, so %s has to be DAT_HANDLE_NULL", name);
	return SAY(r, "%s got its connection by an accept, so the address at which its peer listens is not known; use "
		      "dat_ep_connect()", name);
}

static bool say_argument(struct refused *r)
{
	int i = position_of(r) - 1;
	const struct datp_arg *arg;
	uint64_t w;

	if (i < 0 || i >= r->call->n)
		return false;
	arg = &r->call->args[i];
	w = r->w[i];
	if (arg->kind == DATP_ARG_INT)
		(void)SAY(r, "%s is %d", arg->name, (int)w);
	else if (arg->kind == DATP_ARG_U64)
		(void)SAY(r, "%s is %llu", arg->name, (unsigned long long)w);
	else if (arg->kind == DATP_ARG_FLAGS || arg->kind == DATP_ARG_TIMEOUT)
		(void)SAY(r, "%s is 0x%x", arg->name, (unsigned int)w);
	else if (!w && arg->kind != DATP_ARG_HEX64)
		return SAY(r, "%s is NULL", arg->name);
	else if (arg->kind == DATP_ARG_HANDLE)
		return say_wrong_ep(r, arg->name);
	else
		(void)SAY(r, "%s is not what the call takes", arg->name);
	limit_append(r, arg->name);
	append(r, "; see dat_%s(3)", r->call->name);
	return true;
}

static bool say_other_parameter(struct refused *r)
{
	if (is_call(r, "evd_post_se"))
		return SAY(r, "the EVD was created without DAT_EVD_SOFTWARE_FLAG");
	if (is_call(r, "psp_create") || is_call(r, "psp_create_any") || is_call(r, "rsp_create"))
		return SAY(r, "the EVD has completions of endpoints with DAT_COMPLETION_UNSIGNALLED_FLAG or "
			      "DAT_COMPLETION_SOLICITED_WAIT_FLAG, and requests cannot share it with these: give the "
			      "service point an EVD of its own");
	return false;
}

/* Returns the type of object that the call creates, or DATP_TYPE_COUNT. */
static enum datp_type type_made(const struct refused *r)
{
	static const struct {
		const char *call;
		enum datp_type type;
	} made[] = {
		{ "ep_create", DATP_EP },   { "ep_create_with_srq", DATP_EP }, { "evd_create", DATP_EVD },
		{ "lmr_create", DATP_LMR }, { "pz_create", DATP_PZ },	       { "rmr_create", DATP_RMR },
		{ "srq_create", DATP_SRQ },
	};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (is_call(r, made[i].call))
			return made[i].type;
	return DATP_TYPE_COUNT;
}

static bool say_resources(struct refused *r)
{
	enum datp_type type = type_made(r);
	enum datp_err err = DATP_OK;
	uint32_t limit, count;

	if (type == DATP_TYPE_COUNT || !r->ia)
		return false;
	limit = ia_limit(r->ia, type, &err);
	datp_lock(&ia_priv(r->ia)->lock);
	count = ia_priv(r->ia)->live[type].count;
	datp_unlock(&ia_priv(r->ia)->lock);
	if (count >= limit)
		return SAY(r, "%u %ss exist, and the adapter allows no more (dat_ia_query(3): max_%s): free some first",
			   count, kinds[type],
			   type == DATP_EP    ? "eps"
			   : type == DATP_EVD ? "evds"
			   : type == DATP_LMR ? "lmrs"
			   : type == DATP_PZ  ? "pzs"
			   : type == DATP_RMR ? "rmrs"
					      : "srqs");
	return SAY(r, "%u of at most %u %ss exist, but the device or this host has no room for another: free some, "
		      "or make them smaller", count, limit, kinds[type]);
}

static bool say_unsupported(struct refused *r)
{
	if (is_call(r, "ep_connect") || is_call(r, "ep_dup_connect"))
		return SAY(r, "only DAT_QOS_BEST_EFFORT without DAT_CONNECT_MULTIPATH_FLAG is supported");
	if (is_call(r, "lmr_create"))
		return SAY(r, "mem_type, 0x%x, is none of DAT_MEM_TYPE_VIRTUAL, DAT_MEM_TYPE_LMR and "
			      "DAT_MEM_TYPE_SHARED_VIRTUAL", (unsigned int)r->w[1]);
	return SAY(r, "this adapter does not support it; its attributes say so before (dat_ia_query(3), 'datctl show')");
}

/* ------------------------------------------------------------------ the message */

/* Returns true if the second argument of the call is the agent of a CNO. */
static bool is_cno_agent(const struct refused *r)
{
	return is_call(r, "cno_create") || is_call(r, "cno_modify_agent");
}

/* Returns true if the program expects this result, or if another message explains it. */
static bool is_known(const struct refused *r)
{
	switch (r->err) {
	case DATP_OK:
	case DATP_ERR_TIMEOUT:
	case DATP_ERR_INTERRUPTED:
	case DATP_ERR_QUEUE_EMPTY:
	case DATP_ERR_ABORT:
	case DATP_ERR_QUAL_IN_USE: /* diag_listen() explains it */
	case DATP_ERR_ADDRESS:	   /* diag_connect_refused() explains this and the next one */
	case DATP_ERR_ADDRESS_UNREACHABLE:
		return true;
	case DATP_ERR_ADDRESS_UNSUPPORTED:
		return false;
	default:
		/*
		 * dat12_diag.c explains binds, agent_ok() explains agents, and ep.c and ep_attr.c name the
		 * attribute of an endpoint. An agent may have called ia_close(), which says so itself.
		 */
		return is_call(r, "rmr_bind") || (is_cno_agent(r) && position_of(r) == 2) ||
		       (is_call(r, "ia_close") && r->err == DATP_ERR_STATE) ||
		       (is_call(r, "ep_modify") && r->err == DATP_ERR_PARAM) ||
		       ((is_call(r, "ep_create") || is_call(r, "ep_create_with_srq")) &&
			(r->err == DATP_ERR_PARAM || position_of(r)));
	}
}

static bool say_cause(struct refused *r)
{
	if (r->err >= DATP_ERR_HANDLE && r->err <= DATP_ERR_HANDLE_SRQ)
		return say_handle(r);
	if (r->err >= DATP_ERR_PARAM && r->err <= DATP_ERR_OLD_ARG10)
		return say_argument(r) || say_other_parameter(r);
	if (r->err >= DATP_ERR_STATE && r->err <= DATP_ERR_STATE_SRQ_IN_USE)
		return say_in_use(r) || say_state(r);
	if (r->err >= DATP_ERR_MEMORY && r->err <= DATP_ERR_SRQ)
		return say_resources(r);
	switch (r->err) {
	case DATP_ERR_MODEL:
		return say_unsupported(r);
	case DATP_ERR_QUEUE_FULL:
		return SAY(r, "the EVD holds as many events as its evd_qlen: take some, or create it with a larger evd_min_qlen");
	case DATP_ERR_ADDRESS_UNSUPPORTED:
		return SAY(r, "the address is neither an IPv4 nor an IPv6 address that this adapter can use: see its sa_family");
	case DATP_ERR_LENGTH:
		return SAY(r, "the length is 0");
	default:
		return false;
	}
}

/* Returns the error that a return value stands for. */
static enum datp_err err_of(DAT_RETURN ret)
{
	int err = DATP_OK;

	while (err < DATP_ERR_COUNT && datp_ret((enum datp_err)err) != ret)
		err++;
	return err < DATP_ERR_COUNT ? (enum datp_err)err : DATP_ERR_INTERNAL;
}

void dat12_refused(const struct dat12_call *call, const uint64_t *w, DAT_RETURN ret)
{
	struct refused r = { .call = call, .w = w, .err = err_of(ret) };
	DAT_HANDLE first = (DAT_HANDLE)(uintptr_t)w[0];
	const int debug = 4;
	int type;

	if (!log_wanted(debug) || is_known(&r))
		return;
	type = obj_type(first);
	if (type >= 0)
		r.ia = ((struct datp_obj *)first)->ia;
	if (!say_cause(&r))
		(void)SAY(&r, "see dat_%s(3)", call->name);
	core_log(debug, "%s: dat_%s is refused (0x%x %s): %s", r.ia ? r.ia->name : "core", call->name, ret,
		 err_name(r.err), r.text);
}

void dat12_close_refused(struct datp_ia *ia, DAT_CLOSE_FLAGS flags, DAT_RETURN ret)
{
	static const struct datp_arg args[] = {
		{ "ia_handle", DATP_ARG_HANDLE },
		{ "close_flags", DATP_ARG_FLAGS },
	};
	static const struct dat12_call call = { "ia_close", 2, args };
	const uint64_t w[] = { (uintptr_t)ia, flags };

	dat12_refused(&call, w, ret);
}

/* ------------------------------------------------------------------ calls that wait */

/* Logs a call that was refused, and returns what it returned. The thread cannot be cancelled while this logs. */
static DAT_RETURN waited(const struct dat12_call *call, const uint64_t *w, DAT_RETURN ret)
{
	struct cancel own;

	if (ret == DAT_SUCCESS)
		return ret;
	cancel_off(&own);
	dat12_refused(call, w, ret);
	cancel_restore(&own);
	return ret;
}

static DAT_RETURN refused_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
				   DAT_EVENT *event, DAT_COUNT *nmore)
{
	static const struct datp_arg args[] = {
		{ "evd_handle", DATP_ARG_HANDLE }, { "timeout", DATP_ARG_TIMEOUT },
		{ "threshold", DATP_ARG_INT },	   { "event", DATP_ARG_EVENT },
		{ "n_more_events", DATP_ARG_OUT_INT },
	};
	static const struct dat12_call call = { "evd_wait", 5, args };
	const uint64_t w[] = { (uintptr_t)evd, timeout, (uint32_t)threshold, (uintptr_t)event, (uintptr_t)nmore };

	return waited(&call, w, dat12_evd_wait(evd, timeout, threshold, event, nmore));
}

static DAT_RETURN refused_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	static const struct datp_arg args[] = {
		{ "cno_handle", DATP_ARG_HANDLE },
		{ "timeout", DATP_ARG_TIMEOUT },
		{ "evd_handle", DATP_ARG_OUT_HANDLE },
	};
	static const struct dat12_call call = { "cno_wait", 3, args };
	const uint64_t w[] = { (uintptr_t)cno, timeout, (uintptr_t)evd };

	return waited(&call, w, dat12_cno_wait(cno, timeout, evd));
}

/* ------------------------------------------------------------------ dequeue */

/*
 * Logs a dequeue that was refused. A program may poll an EVD in a loop, so each cause is logged once for
 * an EVD. The table has this function at level debug only, so otherwise a dequeue does not pay for it.
 */
static DAT_RETURN refused_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	static const struct datp_arg args[] = { { "evd_handle", DATP_ARG_HANDLE }, { "event", DATP_ARG_EVENT } };
	static const struct dat12_call call = { "evd_dequeue", 2, args };
	const uint64_t w[] = { (uintptr_t)handle, (uintptr_t)event };
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);
	DAT_RETURN ret = evd ? ia_priv(evd->obj.ia)->plugin->desc->fast.evd_dequeue(handle, event) :
			       datp_ret(DATP_ERR_HANDLE_EVD_REQUEST);
	const uintptr_t cause[] = { (uintptr_t)handle, ret };

	if (ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY || !log_once(4, "dequeue", cause, sizeof(cause)))
		return ret;
	return waited(&call, w, ret);
}

void dat12_refused_fill(DAT_PROVIDER *table)
{
	const int debug = 4;

	if (!log_wanted(debug))
		return;
	table->evd_wait_func = refused_evd_wait;
	table->cno_wait_func = refused_cno_wait;
	table->evd_dequeue_func = refused_evd_dequeue;
}
