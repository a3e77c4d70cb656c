/* SPDX-License-Identifier: BSD-2-Clause */
/* What the remote side executes, in whichever process it is: one function for each call, on the remote side's own objects. */
#include <string.h>
#include <unistd.h>

#include "remote_call.h"

static struct {
	bool own_ia; /* in a peer: this side has opened the IA, and closes it */
	struct api_end end;
	struct api_buf buf;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_LMR_HANDLE lmr; /* of REMOTE_LMR */
	DAT_RMR_HANDLE rmr; /* of REMOTE_BIND */
} side;

void remote_forget(void)
{
	memset(&side, 0, sizeof(side));
}

static void run_open(const struct remote_call *call, struct remote_reply *reply)
{
	side.own_ia = call->own_ia;
	if (side.own_ia)
		api_open();
	api_end_make(&side.end, call->has_attr ? &call->attr : NULL);
	side.buf = api_buf(REMOTE_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	side.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	side.psp = api_listen(side.cr_evd, DAT_PSP_CONSUMER_FLAG, &side.qual);
	memcpy(&reply->address, api_address(), sizeof(reply->address));
	reply->value[0] = side.qual;
	reply->value[1] = (uintptr_t)side.buf.mem;
	reply->value[2] = side.buf.rmr_context;
}

static void run_close_ia(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	(void)reply;
	REQUIRE(side.own_ia);
	api_close();
	side.own_ia = false;
}

static void run_exit(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	(void)reply;
	_exit(0);
}

static void run_quit(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	(void)reply;
	if (side.own_ia)
		api_close();
}

static void describe_cr(const DAT_CR_ARRIVAL_EVENT_DATA *arrival, struct remote_cr *cr)
{
	DAT_CR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	REQUIRE_DAT(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	cr->private_data_size = param.private_data_size;
	if (param.private_data_size > 0 && param.private_data_size <= REMOTE_DATA_MAX)
		memcpy(cr->private_data, param.private_data, (size_t)param.private_data_size);
	cr->remote_port_qual = param.remote_port_qual;
	memcpy(&cr->remote_address, param.remote_ia_address_ptr, sizeof(cr->remote_address));
	cr->fields_ok = arrival->sp_handle.psp_handle == side.psp &&
			arrival->conn_qual == side.qual && arrival->local_ia_address_ptr &&
			param.local_ep_handle == DAT_HANDLE_NULL;
}

static void run_cr(const struct remote_call *call, struct remote_reply *reply)
{
	DAT_COUNT nmore;

	reply->ret = dat_evd_wait(side.cr_evd, call->timeout, 1, &reply->event, &nmore);
	if (reply->ret != DAT_SUCCESS)
		return;
	REQUIRE_EQ_INT(reply->event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	CHECK(reply->event.evd_handle == side.cr_evd);
	side.cr = reply->event.event_data.cr_arrival_event_data.cr_handle;
	describe_cr(&reply->event.event_data.cr_arrival_event_data, &reply->cr);
}

static void run_accept(const struct remote_call *call, struct remote_reply *reply)
{
	unsigned char data[REMOTE_DATA_MAX];

	memcpy(data, call->data, sizeof(data));
	reply->ret = dat_cr_accept(side.cr, side.end.ep, call->size, call->size ? data : NULL);
	memset(data, 0xa5, sizeof(data)); /* a program may reuse its private data as soon as the call has returned */
}

static void run_reject(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_cr_reject(side.cr);
}

static void run_disconnect(const struct remote_call *call, struct remote_reply *reply)
{
	reply->ret = dat_ep_disconnect(side.end.ep, (DAT_CLOSE_FLAGS)call->flags);
}

static void run_reset(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_ep_reset(side.end.ep);
}

static void run_ep_free(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_ep_free(side.end.ep);
}

static void run_psp_free(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_psp_free(side.psp);
}

static void run_state(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->value[0] = (uint64_t)api_state(side.end.ep);
}

static DAT_EVD_HANDLE evd_of(enum remote_evd which)
{
	return which == REMOTE_EVD_RECV	  ? side.end.recv
	       : which == REMOTE_EVD_REQUEST ? side.end.request
	       : which == REMOTE_EVD_CONNECT ? side.end.connect
					  : side.cr_evd;
}

static void judge_event(enum remote_evd which, const DAT_EVENT *event)
{
	CHECK(event->evd_handle == evd_of(which));
	if (event->event_number == DAT_DTO_COMPLETION_EVENT || (event->event_number & 0x4000))
		CHECK(event->event_data.connect_event_data.ep_handle == side.end.ep);
	/* The passive side's ESTABLISHED carries no private data. */
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		CHECK_EQ_INT(event->event_data.connect_event_data.private_data_size, 0);
}

static void run_wait(const struct remote_call *call, struct remote_reply *reply)
{
	DAT_COUNT nmore = -1;

	reply->ret =
		dat_evd_wait(evd_of(call->evd), call->timeout, call->size, &reply->event, &nmore);
	if (reply->ret == DAT_SUCCESS)
		judge_event(call->evd, &reply->event);
	reply->value[0] = (uint64_t)nmore;
}

static void run_dequeue(const struct remote_call *call, struct remote_reply *reply)
{
	reply->ret = dat_evd_dequeue(evd_of(call->evd), &reply->event);
	if (reply->ret == DAT_SUCCESS)
		judge_event(call->evd, &reply->event);
}

static void run_recv(const struct remote_call *call, struct remote_reply *reply)
{
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)call->flags;

	for (int i = 0; i < call->count && reply->ret == DAT_SUCCESS; i++) {
		DAT_LMR_TRIPLET seg =
			api_seg(&side.buf, call->offset + (size_t)i * call->length, call->length);

		reply->ret = dat_ep_post_recv(side.end.ep, call->length ? 1 : 0,
					      call->length ? &seg : NULL,
					      api_cookie(call->cookie + (uint64_t)i), flags);
	}
}

static void run_send(const struct remote_call *call, struct remote_reply *reply)
{
	reply->ret = api_send(side.end.ep, &side.buf, call->offset, call->length, call->cookie,
			      (DAT_COMPLETION_FLAGS)call->flags);
}

static void run_write(const struct remote_call *call, struct remote_reply *reply)
{
	reply->ret = api_write(side.end.ep, api_seg(&side.buf, call->offset, call->length),
			       call->remote, call->cookie, (DAT_COMPLETION_FLAGS)call->flags);
}

static void run_fill(const struct remote_call *call, struct remote_reply *reply)
{
	(void)reply;
	api_fill(side.buf.mem + call->offset, call->length, call->cookie);
}

static void run_mismatch(const struct remote_call *call, struct remote_reply *reply)
{
	reply->value[0] =
		(uint64_t)api_mismatch(side.buf.mem + call->offset, call->length, call->cookie);
}

static void run_clear(const struct remote_call *call, struct remote_reply *reply)
{
	(void)reply;
	memset(side.buf.mem + call->offset, 0, call->length);
}

static void run_lmr(const struct remote_call *call, struct remote_reply *reply)
{
	DAT_PZ_HANDLE pz = call->own_pz ? api_pz() : api.pz;
	struct api_buf buf = api_buf_in(pz, side.buf.mem + call->offset, call->length,
					(DAT_MEM_PRIV_FLAGS)call->flags);

	side.lmr = buf.lmr;
	reply->value[0] = buf.rmr_context;
}

static void run_lmr_free(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_lmr_free(side.lmr);
}

static void run_bind(const struct remote_call *call, struct remote_reply *reply)
{
	DAT_LMR_TRIPLET seg = api_seg(&side.buf, call->offset, call->length);
	DAT_RMR_CONTEXT context = 0;

	if (!side.rmr)
		REQUIRE_DAT(dat_rmr_create(api.pz, &side.rmr), DAT_SUCCESS);
	reply->ret = dat_rmr_bind(side.rmr, &seg, (DAT_MEM_PRIV_FLAGS)call->flags, side.end.ep,
				  api_cookie(call->cookie), DAT_COMPLETION_DEFAULT_FLAG, &context);
	reply->value[0] = context;
	if (reply->ret == DAT_SUCCESS)
		API_BIND(side.end.request, side.rmr, call->cookie, DAT_RMR_BIND_SUCCESS);
}

static void run_rmr_free(const struct remote_call *call, struct remote_reply *reply)
{
	(void)call;
	reply->ret = dat_rmr_free(side.rmr);
	side.rmr = DAT_HANDLE_NULL;
}

static void (*const run[REMOTE_OPS])(const struct remote_call *, struct remote_reply *) = {
	[REMOTE_OPEN] = run_open,
	[REMOTE_CLOSE_IA] = run_close_ia,
	[REMOTE_EXIT] = run_exit,
	[REMOTE_QUIT] = run_quit,
	[REMOTE_CR] = run_cr,
	[REMOTE_ACCEPT] = run_accept,
	[REMOTE_REJECT] = run_reject,
	[REMOTE_DISCONNECT] = run_disconnect,
	[REMOTE_RESET] = run_reset,
	[REMOTE_EP_FREE] = run_ep_free,
	[REMOTE_PSP_FREE] = run_psp_free,
	[REMOTE_STATE] = run_state,
	[REMOTE_WAIT] = run_wait,
	[REMOTE_DEQUEUE] = run_dequeue,
	[REMOTE_RECV] = run_recv,
	[REMOTE_SEND] = run_send,
	[REMOTE_WRITE] = run_write,
	[REMOTE_FILL] = run_fill,
	[REMOTE_MISMATCH] = run_mismatch,
	[REMOTE_CLEAR] = run_clear,
	[REMOTE_LMR] = run_lmr,
	[REMOTE_LMR_FREE] = run_lmr_free,
	[REMOTE_BIND] = run_bind,
	[REMOTE_RMR_FREE] = run_rmr_free,
};

void remote_execute(const struct remote_call *call, struct remote_reply *reply)
{
	memset(reply, 0, sizeof(*reply));
	run[call->op](call, reply);
}
