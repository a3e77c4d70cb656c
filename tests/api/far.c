/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The near half of the far side: converts each call to a message, and passes it to far_execute()
 * directly or through the peer's socket.
 */
#include <string.h>
#include <unistd.h>

#include "far_call.h"

struct far far;

static void serve(void *arg)
{
	struct far_call call;
	struct far_reply reply;

	(void)arg;
	do {
		check_get(CHECK_PARENT, &call, sizeof(call));
		far_execute(&call, &reply);
		check_put(CHECK_PARENT, &reply, sizeof(reply));
	} while (call.op != FAR_QUIT);
}

/*
 * Returns the bound of a wait on the far side, which has to end earlier than check_get() gives up.
 */
static DAT_TIMEOUT far_patience(void)
{
	return api_patience() / 10 * 9;
}

static struct far_reply ask(const struct far_call *call)
{
	struct far_reply reply = { 0 };

	if (far.forked) {
		check_put(far.peer, call, sizeof(*call));
		check_get(far.peer, &reply, sizeof(reply));
	} else {
		far_execute(call, &reply);
	}
	return reply;
}

void far_start(bool forked)
{
	memset(&far, 0, sizeof(far));
	far_forget();
	far.forked = forked;
	if (forked)
		far.peer = check_fork(serve, NULL);
}

void far_stop(void)
{
	pid_t peer = far.peer;

	if (!peer)
		return;
	far.peer = 0;
	check_put(peer, &(struct far_call){ .op = FAR_QUIT }, sizeof(struct far_call));
	check_join(peer);
}

void far_open(const DAT_EP_ATTR *attr)
{
	struct far_call call = { .op = FAR_OPEN, .has_attr = attr != NULL, .own_ia = far.forked };
	struct far_reply reply;

	if (attr)
		call.attr = *attr;
	reply = ask(&call);
	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	far.address = reply.address;
	far.qual = reply.value[0];
	far.mem = reply.value[1];
	far.rmr_context = (DAT_RMR_CONTEXT)reply.value[2];
}

void far_close_ia(void)
{
	CHECK_DAT(ask(&(struct far_call){ .op = FAR_CLOSE_IA }).ret, DAT_SUCCESS);
}

void far_exit(void)
{
	REQUIRE(far.forked);
	check_put(far.peer, &(struct far_call){ .op = FAR_EXIT }, sizeof(struct far_call));
	check_join(far.peer);
	far.peer = 0;
}

DAT_RETURN far_connect(struct api_end *near, DAT_COUNT size, const void *data, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(near->ep, (DAT_IA_ADDRESS_PTR)&far.address, far.qual, timeout, size,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

struct far_cr far_cr(void)
{
	struct far_reply reply = ask(&(struct far_call){ .op = FAR_CR, .timeout = far_patience() });

	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	return reply.cr;
}

DAT_RETURN far_accept(DAT_COUNT size, const void *data)
{
	struct far_call call = { .op = FAR_ACCEPT, .size = size };

	REQUIRE(size <= FAR_DATA_MAX);
	if (size > 0)
		memcpy(call.data, data, (size_t)size);
	return ask(&call).ret;
}

DAT_RETURN far_reject(void)
{
	return ask(&(struct far_call){ .op = FAR_REJECT }).ret;
}

void far_pair(struct api_end *near)
{
	REQUIRE_DAT(far_connect(near, 0, NULL, api_patience()), DAT_SUCCESS);
	far_cr();
	REQUIRE_DAT(far_accept(0, NULL), DAT_SUCCESS);
	API_CONN(near->connect, near->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	FAR_CONN(DAT_CONNECTION_EVENT_ESTABLISHED);
}

DAT_RETURN far_disconnect(DAT_CLOSE_FLAGS flags)
{
	return ask(&(struct far_call){ .op = FAR_DISCONNECT, .flags = (int)flags }).ret;
}

DAT_RETURN far_reset(void)
{
	return ask(&(struct far_call){ .op = FAR_RESET }).ret;
}

DAT_RETURN far_ep_free(void)
{
	return ask(&(struct far_call){ .op = FAR_EP_FREE }).ret;
}

DAT_RETURN far_psp_free(void)
{
	return ask(&(struct far_call){ .op = FAR_PSP_FREE }).ret;
}

DAT_EP_STATE far_state(void)
{
	return (DAT_EP_STATE)ask(&(struct far_call){ .op = FAR_STATE }).value[0];
}

DAT_RETURN far_wait(enum far_evd evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
		    DAT_COUNT *nmore)
{
	struct far_call call = {
		.op = FAR_WAIT, .evd = evd, .timeout = timeout, .size = threshold
	};
	struct far_reply reply = ask(&call);

	*event = reply.event;
	*nmore = (DAT_COUNT)reply.value[0];
	return reply.ret;
}

DAT_RETURN far_dequeue(enum far_evd evd, DAT_EVENT *event)
{
	struct far_reply reply = ask(&(struct far_call){ .op = FAR_DEQUEUE, .evd = evd });

	*event = reply.event;
	return reply.ret;
}

static DAT_EVENT far_event_at(enum far_evd evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	check_dat(far_wait(evd, far_patience(), 1, &event, &nmore), DAT_SUCCESS, true,
		  "the far side's next event", "DAT_SUCCESS", file, line);
	return event;
}

void far_conn_at(DAT_EVENT_NUMBER number, const char *name, const char *file, unsigned int line)
{
	DAT_EVENT event = far_event_at(FAR_EVD_CONNECT, file, line);

	if (event.event_number != number)
		check_fail(true, file, line, "the far side got event 0x%x, wanted %s (0x%x)",
			   (unsigned int)event.event_number, name, (unsigned int)number);
}

void far_conn_over_at(const char *file, unsigned int line)
{
	DAT_EVENT event = far_event_at(FAR_EVD_CONNECT, file, line);

	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		check_fail(true, file, line,
			   "the far side got event 0x%x, wanted DISCONNECTED or BROKEN",
			   (unsigned int)event.event_number);
}

void far_dto_at(enum far_evd evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status,
		const char *name, DAT_VLEN length, const char *file, unsigned int line)
{
	DAT_EVENT event = far_event_at(evd, file, line);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (event.event_number != DAT_DTO_COMPLETION_EVENT || dto->user_cookie.as_64 != cookie ||
	    dto->status != status ||
	    (status == DAT_DTO_SUCCESS && length != API_ANY_LENGTH &&
	     dto->transfered_length != length))
		check_fail(
			false, file, line,
			"the far side got event 0x%x, cookie %llu, status %d, length %llu, wanted a "
			"completion of %llu, %s, length %llu",
			(unsigned int)event.event_number,
			(unsigned long long)dto->user_cookie.as_64, (int)dto->status,
			(unsigned long long)dto->transfered_length, (unsigned long long)cookie,
			name, (unsigned long long)length);
}

void far_quiet_at(enum far_evd evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret = far_wait(evd, API_QUIET_MS * 1000, 1, &event, &nmore);

	if (ret == DAT_SUCCESS)
		check_fail(false, file, line, "the far side got event 0x%x, wanted none",
			   (unsigned int)event.event_number);
	else
		check_dat(ret, DAT_TIMEOUT_EXPIRED, false, "the far side's quiet wait",
			  "DAT_TIMEOUT_EXPIRED", file, line);
}

DAT_RETURN far_recv(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct far_call){ .op = FAR_RECV,
				       .offset = offset,
				       .length = length,
				       .cookie = cookie,
				       .flags = (int)flags,
				       .count = 1 })
		.ret;
}

DAT_RETURN far_recv_many(int count, size_t length, uint64_t first)
{
	return ask(&(struct far_call){
			   .op = FAR_RECV, .length = length, .cookie = first, .count = count })
		.ret;
}

DAT_RETURN far_send(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct far_call){ .op = FAR_SEND,
				       .offset = offset,
				       .length = length,
				       .cookie = cookie,
				       .flags = (int)flags })
		.ret;
}

DAT_RETURN far_write(size_t offset, size_t length, DAT_RMR_TRIPLET to, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct far_call){ .op = FAR_WRITE,
				       .offset = offset,
				       .length = length,
				       .remote = to,
				       .cookie = cookie,
				       .flags = (int)flags })
		.ret;
}

void far_fill(size_t offset, size_t length, uint64_t seed)
{
	ask(&(struct far_call){
		.op = FAR_FILL, .offset = offset, .length = length, .cookie = seed });
}

long far_mismatch(size_t offset, size_t length, uint64_t seed)
{
	return (long)ask(&(struct far_call){ .op = FAR_MISMATCH,
					     .offset = offset,
					     .length = length,
					     .cookie = seed })
		.value[0];
}

void far_clear(size_t offset, size_t length)
{
	ask(&(struct far_call){ .op = FAR_CLEAR, .offset = offset, .length = length });
}

DAT_RMR_TRIPLET far_target(size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = far.rmr_context,
				  .target_address = far.mem + offset,
				  .segment_length = length };
}

DAT_RMR_CONTEXT far_lmr(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges, bool other_pz)
{
	struct far_reply reply = ask(&(struct far_call){ .op = FAR_LMR,
							 .offset = offset,
							 .length = length,
							 .flags = (int)privileges,
							 .own_pz = other_pz });

	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	return (DAT_RMR_CONTEXT)reply.value[0];
}

DAT_RETURN far_lmr_free(void)
{
	return ask(&(struct far_call){ .op = FAR_LMR_FREE }).ret;
}

DAT_RETURN far_bind(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		    DAT_RMR_CONTEXT *context)
{
	struct far_reply reply = ask(&(struct far_call){
		.op = FAR_BIND, .offset = offset, .length = length, .flags = (int)privileges });

	*context = (DAT_RMR_CONTEXT)reply.value[0];
	return reply.ret;
}

DAT_RETURN far_rmr_free(void)
{
	return ask(&(struct far_call){ .op = FAR_RMR_FREE }).ret;
}
