/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local half of the remote side: converts each call to a message, and passes it to remote_execute()
 * directly or through the peer's socket.
 */
#include <string.h>
#include <unistd.h>

#include "remote_call.h"

struct remote remote;

static void serve(void *arg)
{
	struct remote_call call;
	struct remote_reply reply;

	(void)arg;
	do {
		check_get(CHECK_PARENT, &call, sizeof(call));
		remote_execute(&call, &reply);
		check_put(CHECK_PARENT, &reply, sizeof(reply));
	} while (call.op != REMOTE_QUIT);
}

/*
 * Returns the bound of a wait on the remote side, which has to end earlier than check_get() gives up.
 */
static DAT_TIMEOUT remote_patience(void)
{
	return api_patience() / 10 * 9;
}

static struct remote_reply ask(const struct remote_call *call)
{
	struct remote_reply reply = { 0 };

	if (remote.forked) {
		check_put(remote.peer, call, sizeof(*call));
		check_get(remote.peer, &reply, sizeof(reply));
	} else {
		remote_execute(call, &reply);
	}
	return reply;
}

void remote_start(bool forked)
{
	memset(&remote, 0, sizeof(remote));
	remote_forget();
	remote.forked = forked;
	if (forked)
		remote.peer = check_fork(serve, NULL);
}

void remote_stop(void)
{
	pid_t peer = remote.peer;

	if (!peer)
		return;
	remote.peer = 0;
	check_put(peer, &(struct remote_call){ .op = REMOTE_QUIT }, sizeof(struct remote_call));
	check_join(peer);
}

void remote_open(const DAT_EP_ATTR *attr)
{
	struct remote_call call = { .op = REMOTE_OPEN, .has_attr = attr != NULL, .own_ia = remote.forked };
	struct remote_reply reply;

	if (attr)
		call.attr = *attr;
	reply = ask(&call);
	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	remote.address = reply.address;
	remote.qual = reply.value[0];
	remote.mem = reply.value[1];
	remote.rmr_context = (DAT_RMR_CONTEXT)reply.value[2];
}

void remote_close_ia(void)
{
	CHECK_DAT(ask(&(struct remote_call){ .op = REMOTE_CLOSE_IA }).ret, DAT_SUCCESS);
}

void remote_exit(void)
{
	REQUIRE(remote.forked);
	check_put(remote.peer, &(struct remote_call){ .op = REMOTE_EXIT }, sizeof(struct remote_call));
	check_join(remote.peer);
	remote.peer = 0;
}

DAT_RETURN remote_connect(struct api_end *local, DAT_COUNT size, const void *data, DAT_TIMEOUT timeout)
{
	return dat_ep_connect(local->ep, (DAT_IA_ADDRESS_PTR)&remote.address, remote.qual, timeout, size,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

struct remote_cr remote_cr(void)
{
	struct remote_reply reply = ask(&(struct remote_call){ .op = REMOTE_CR, .timeout = remote_patience() });

	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	return reply.cr;
}

DAT_RETURN remote_accept(DAT_COUNT size, const void *data)
{
	struct remote_call call = { .op = REMOTE_ACCEPT, .size = size };

	REQUIRE(size <= REMOTE_DATA_MAX);
	if (size > 0)
		memcpy(call.data, data, (size_t)size);
	return ask(&call).ret;
}

DAT_RETURN remote_reject(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_REJECT }).ret;
}

void remote_pair(struct api_end *local)
{
	REQUIRE_DAT(remote_connect(local, 0, NULL, api_patience()), DAT_SUCCESS);
	remote_cr();
	REQUIRE_DAT(remote_accept(0, NULL), DAT_SUCCESS);
	API_CONN(local->connect, local->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REMOTE_CONN(DAT_CONNECTION_EVENT_ESTABLISHED);
}

DAT_RETURN remote_disconnect(DAT_CLOSE_FLAGS flags)
{
	return ask(&(struct remote_call){ .op = REMOTE_DISCONNECT, .flags = (int)flags }).ret;
}

DAT_RETURN remote_reset(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_RESET }).ret;
}

DAT_RETURN remote_ep_free(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_EP_FREE }).ret;
}

DAT_RETURN remote_psp_free(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_PSP_FREE }).ret;
}

DAT_EP_STATE remote_state(void)
{
	return (DAT_EP_STATE)ask(&(struct remote_call){ .op = REMOTE_STATE }).value[0];
}

DAT_RETURN remote_wait(enum remote_evd evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
		       DAT_COUNT *nmore)
{
	struct remote_call call = {
		.op = REMOTE_WAIT, .evd = evd, .timeout = timeout, .size = threshold
	};
	struct remote_reply reply = ask(&call);

	*event = reply.event;
	*nmore = (DAT_COUNT)reply.value[0];
	return reply.ret;
}

DAT_RETURN remote_dequeue(enum remote_evd evd, DAT_EVENT *event)
{
	struct remote_reply reply = ask(&(struct remote_call){ .op = REMOTE_DEQUEUE, .evd = evd });

	*event = reply.event;
	return reply.ret;
}

static DAT_EVENT remote_event_at(enum remote_evd evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	check_dat(remote_wait(evd, remote_patience(), 1, &event, &nmore), DAT_SUCCESS, true,
		  "the remote side's next event", "DAT_SUCCESS", file, line);
	return event;
}

void remote_conn_at(DAT_EVENT_NUMBER number, const char *name, const char *file, unsigned int line)
{
	DAT_EVENT event = remote_event_at(REMOTE_EVD_CONNECT, file, line);

	if (event.event_number != number)
		check_fail(true, file, line, "the remote side got event 0x%x, wanted %s (0x%x)",
			   (unsigned int)event.event_number, name, (unsigned int)number);
}

void remote_conn_over_at(const char *file, unsigned int line)
{
	DAT_EVENT event = remote_event_at(REMOTE_EVD_CONNECT, file, line);

	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		check_fail(true, file, line,
			   "the remote side got event 0x%x, wanted DISCONNECTED or BROKEN",
			   (unsigned int)event.event_number);
}

void remote_dto_at(enum remote_evd evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status,
		   const char *name, DAT_VLEN length, const char *file, unsigned int line)
{
	DAT_EVENT event = remote_event_at(evd, file, line);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (event.event_number != DAT_DTO_COMPLETION_EVENT || dto->user_cookie.as_64 != cookie ||
	    dto->status != status ||
	    (status == DAT_DTO_SUCCESS && length != API_ANY_LENGTH &&
	     dto->transfered_length != length))
		check_fail(
			false, file, line,
			"the remote side got event 0x%x, cookie %llu, status %d, length %llu, wanted a "
			"completion of %llu, %s, length %llu",
			(unsigned int)event.event_number,
			(unsigned long long)dto->user_cookie.as_64, (int)dto->status,
			(unsigned long long)dto->transfered_length, (unsigned long long)cookie,
			name, (unsigned long long)length);
}

void remote_quiet_at(enum remote_evd evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret = remote_wait(evd, API_QUIET_MS * 1000, 1, &event, &nmore);

	if (ret == DAT_SUCCESS)
		check_fail(false, file, line, "the remote side got event 0x%x, wanted none",
			   (unsigned int)event.event_number);
	else
		check_dat(ret, DAT_TIMEOUT_EXPIRED, false, "the remote side's quiet wait",
			  "DAT_TIMEOUT_EXPIRED", file, line);
}

DAT_RETURN remote_recv(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct remote_call){ .op = REMOTE_RECV,
				       .offset = offset,
				       .length = length,
				       .cookie = cookie,
				       .flags = (int)flags,
				       .count = 1 })
		.ret;
}

DAT_RETURN remote_recv_many(int count, size_t length, uint64_t first)
{
	return ask(&(struct remote_call){
			   .op = REMOTE_RECV, .length = length, .cookie = first, .count = count })
		.ret;
}

DAT_RETURN remote_send(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct remote_call){ .op = REMOTE_SEND,
				       .offset = offset,
				       .length = length,
				       .cookie = cookie,
				       .flags = (int)flags })
		.ret;
}

DAT_RETURN remote_write(size_t offset, size_t length, DAT_RMR_TRIPLET to, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags)
{
	return ask(&(struct remote_call){ .op = REMOTE_WRITE,
				       .offset = offset,
				       .length = length,
				       .remote = to,
				       .cookie = cookie,
				       .flags = (int)flags })
		.ret;
}

void remote_fill(size_t offset, size_t length, uint64_t seed)
{
	ask(&(struct remote_call){
		.op = REMOTE_FILL, .offset = offset, .length = length, .cookie = seed });
}

long remote_mismatch(size_t offset, size_t length, uint64_t seed)
{
	return (long)ask(&(struct remote_call){ .op = REMOTE_MISMATCH,
					     .offset = offset,
					     .length = length,
					     .cookie = seed })
		.value[0];
}

void remote_clear(size_t offset, size_t length)
{
	ask(&(struct remote_call){ .op = REMOTE_CLEAR, .offset = offset, .length = length });
}

DAT_RMR_TRIPLET remote_target(size_t offset, size_t length)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = remote.rmr_context,
				  .target_address = remote.mem + offset,
				  .segment_length = length };
}

DAT_RMR_CONTEXT remote_lmr(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges, bool other_pz)
{
	struct remote_reply reply = ask(&(struct remote_call){ .op = REMOTE_LMR,
							 .offset = offset,
							 .length = length,
							 .flags = (int)privileges,
							 .own_pz = other_pz });

	REQUIRE_DAT(reply.ret, DAT_SUCCESS);
	return (DAT_RMR_CONTEXT)reply.value[0];
}

DAT_RETURN remote_lmr_free(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_LMR_FREE }).ret;
}

DAT_RETURN remote_bind(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		       DAT_RMR_CONTEXT *context)
{
	struct remote_reply reply = ask(&(struct remote_call){
		.op = REMOTE_BIND, .offset = offset, .length = length, .flags = (int)privileges });

	*context = (DAT_RMR_CONTEXT)reply.value[0];
	return reply.ret;
}

DAT_RETURN remote_rmr_free(void)
{
	return ask(&(struct remote_call){ .op = REMOTE_RMR_FREE }).ret;
}
