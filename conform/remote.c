/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a test, each sent to where its object is: to this process's libdat, or as a step to
 * the process on the other side. Invariant: if an answer is missing or invalid, the test ends with
 * a failure that says so.
 */
#define REMOTE_PLAIN
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"
#include "remote.h"

#define KEPT 1024

static struct {
	int fd;			/* -1: there is no other side, or it has ended */
	pid_t pid;		/* the forked process */
	struct remote_message answer;
	unsigned char bytes[REMOTE_BYTES];
	char stand_ins[REMOTE_HANDLES];
	void *kept[KEPT];	/* the targets of pointers in answers */
	int kept_count;
} remote = { .fd = -1 };

bool remote_is(DAT_HANDLE handle)
{
	return (char *)handle > remote.stand_ins && (char *)handle < remote.stand_ins + REMOTE_HANDLES;
}

static DAT_HANDLE stand_in(uint64_t place)
{
	return place && place < REMOTE_HANDLES ? &remote.stand_ins[place] : DAT_HANDLE_NULL;
}

static uint64_t place(DAT_HANDLE handle)
{
	return remote_is(handle) ? (uint64_t)((char *)handle - remote.stand_ins) : 0;
}

static _Noreturn void gone(const char *what)
{
	int status = 0;
	const char *how = "it is gone";

	if (remote.fd >= 0)
		close(remote.fd);
	remote.fd = -1;
	if (remote.pid > 0) {
		kill(remote.pid, SIGKILL);
		waitpid(remote.pid, &status, 0);
		remote.pid = 0;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			how = strsignal(WTERMSIG(status));
		else if (WIFEXITED(status))
			how = WEXITSTATUS(status) == REMOTE_GREEDY ? "it was asked for more than a test gets" : "it left";
	}
	judge_fail(true, __FILE__, __LINE__, what, "the process on the other side answers",
		   "%s (%s)", how, strerror(errno));
	abort();
}

/*
 * Sends one step and returns the first word of its answer, which is the return value of the call.
 */
static DAT_RETURN ask_for(enum step step, const uint64_t *words, size_t word_count,
			  const void *blobs[], const size_t sizes[], unsigned int blob_count,
			  unsigned int more_ms)
{
	struct remote_message message = { .step = step, .word_count = (unsigned int)word_count };

	memcpy(message.words, words, word_count * sizeof(*words));
	message.blob_count = blob_count;
	for (unsigned int i = 0; i < blob_count; i++) {
		message.blobs[i].at = blobs[i];
		message.blobs[i].size = blobs[i] ? sizes[i] : 0;
	}
	if (remote.fd < 0 || !remote_put(remote.fd, &message))
		gone("a step of the other side");
	if (!remote_get(remote.fd, &remote.answer, remote.bytes, (int)(4 * t.patience_ms + more_ms)))
		gone("a step of the other side");
	if (remote.answer.step != step || remote.answer.word_count < 1) {
		errno = EPROTO;
		gone("a step of the other side");
	}
	return (DAT_RETURN)remote.answer.words[0];
}

#define WORDS(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define ASK(step, ...) ask_for(step, WORDS(__VA_ARGS__), NULL, NULL, 0, 0)
#define ASK_BLOB(step, at, size, ...) \
	ask_for(step, WORDS(__VA_ARGS__), (const void *[]){ at }, (const size_t[]){ size }, 1, 0)
#define A(i) remote.answer.words[i]

static DAT_RETURN made(DAT_RETURN ret, DAT_HANDLE *handle)
{
	if (ret == DAT_SUCCESS)
		*handle = stand_in(A(1));
	return ret;
}

/* Keeps the data of a blob until the test ends; returns NULL if there are none. */
static void *keep(unsigned int i)
{
	size_t size = i < remote.answer.blob_count ? remote.answer.blobs[i].size : 0;
	void *own;

	if (!size)
		return NULL;
	own = malloc(size);
	if (!own || remote.kept_count == KEPT)
		judge_fail(true, __FILE__, __LINE__, "what the other side answers",
			   "memory to keep it", "%zu bytes, after %d answers", size,
			   remote.kept_count);
	remote.kept[remote.kept_count++] = own;
	return memcpy(own, remote.answer.blobs[i].at, size);
}

/* Keeps the private data of a blob, which a structure in the same answer says to be of this size. */
static void *keep_private_data(unsigned int i, DAT_COUNT size)
{
	void *own = keep(i);

	/* the tests read so many bytes */
	if (own && (size < 0 || (size_t)size != remote.answer.blobs[i].size)) {
		errno = EPROTO;
		gone("an answer of the other side");
	}
	return own;
}

static void *keep_address(unsigned int i)
{
	struct sockaddr_in6 *own = keep(i);

	return own && remote_address_size(own) <= remote.answer.blobs[i].size ? own : NULL;
}

static void want_struct(unsigned int i, void *to, size_t size)
{
	if (i >= remote.answer.blob_count || remote.answer.blobs[i].size != size) {
		errno = EPROTO;
		gone("an answer of the other side");
	}
	memcpy(to, remote.answer.blobs[i].at, size);
}

bool remote_hello(int fd, unsigned int bound_ms, struct remote_message *answer, unsigned char *bytes,
		  const char **wrong)
{
	struct remote_message hello = { .step = STEP_HELLO,
				     .word_count = 6,
				     .words = { REMOTE_MAGIC, sizeof(DAT_EVENT), sizeof(DAT_EP_PARAM),
						sizeof(DAT_CR_PARAM), STEP_END, t.patience_ms } };

	*wrong = "it is not a datconform of this version for uDAPL " API_NAME;
	if (!remote_put(fd, &hello) || !remote_get(fd, answer, bytes, (int)bound_ms) ||
	    answer->step != STEP_HELLO || answer->word_count < 1)
		return false;
	*wrong = "its adapter does not open";
	if (answer->words[0] != DAT_SUCCESS)
		return false;
	*wrong = "its adapter has no address (ia_address_ptr)";
	return answer->word_count == 4 && answer->blob_count == 2 && answer->blobs[0].size &&
	       answer->blobs[0].size <= sizeof(struct sockaddr_in6);
}

void remote_start(void)
{
	int pair[2];

	if (t.server.ss_family) {
		remote.fd = remote_dial(&t.server, 4 * t.patience_ms);
		if (remote.fd < 0)
			gone("a connection to the server");
		return;
	}
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	remote.pid = fork();
	MUST(remote.pid >= 0);
	if (remote.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		judge_leave_to_parent();
		remote_serve(pair[1], t.ia_name, REMOTE_HELLO_S, NULL);
	}
	close(pair[1]);
	remote.fd = pair[0];
}

void remote_meet(void)
{
	static struct sockaddr_in6 address;
	const char *wrong;

	if (!remote_hello(remote.fd, 4 * t.patience_ms, &remote.answer, remote.bytes, &wrong))
		gone(wrong);
	memcpy(&address, remote.answer.blobs[0].at, remote.answer.blobs[0].size);
	t.remote.ia = stand_in(A(1));
	t.remote.pz = stand_in(A(2));
	t.remote.async = stand_in(A(3));
	t.remote.address = (DAT_IA_ADDRESS_PTR)&address;
}

void remote_end(void)
{
	int status = 0;
	uint64_t until = judge_now_ms() + 4 * t.patience_ms;

	if (remote.fd >= 0) {
		ASK(STEP_BYE, 0);
		close(remote.fd);
		remote.fd = -1;
	}
	while (remote.pid > 0) {
		pid_t pid = waitpid(remote.pid, &status, WNOHANG);

		if (pid == 0 && judge_now_ms() < until) {
			judge_nap();
			continue;
		}
		if (pid == 0)
			gone("the end of the process on the other side");
		remote.pid = 0;
		if (WIFSIGNALED(status) || WEXITSTATUS(status))
			judge_fail(false, __FILE__, __LINE__,
				   "the end of the process on the other side", "status 0",
				   "signal %d, status %d",
				   WIFSIGNALED(status) ? WTERMSIG(status) : 0,
				   WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	}
	while (remote.kept_count)
		free(remote.kept[--remote.kept_count]);
}

void remote_die(void)
{
	struct remote_message message = { .step = STEP_DIE };

	if (remote.fd < 0 || !remote_put(remote.fd, &message))
		gone("the step to die");
	/* The end of the connection shows that the process has ended. */
	if (remote_get(remote.fd, &remote.answer, remote.bytes, (int)(4 * t.patience_ms)) ||
	    errno == ETIMEDOUT)
		gone("the step to die");
	close(remote.fd);
	remote.fd = -1;
	if (remote.pid > 0)
		waitpid(remote.pid, NULL, 0);
	remote.pid = 0;
}

DAT_LMR_HANDLE remote_buf_create(DAT_PZ_HANDLE pz, size_t size, DAT_MEM_PRIV_FLAGS priv,
				 DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context,
				 DAT_VADDR *address)
{
	MUST_RET(ASK(STEP_BUF_CREATE, place(pz), size, (uint64_t)priv), DAT_SUCCESS);
	*context = (DAT_LMR_CONTEXT)A(2);
	*rmr_context = (DAT_RMR_CONTEXT)A(3);
	*address = A(4);
	return stand_in(A(1));
}

void remote_buf_fill(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned int seed)
{
	ASK(STEP_BUF_FILL, place(lmr), offset, size, seed);
}

void remote_buf_set(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned char byte)
{
	ASK(STEP_BUF_SET, place(lmr), offset, size, byte);
}

bool remote_buf_filled(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned int seed)
{
	ASK(STEP_BUF_FILLED, place(lmr), offset, size, seed);
	return A(1);
}

void remote_buf_read(DAT_LMR_HANDLE lmr, size_t offset, size_t size, void *data)
{
	ASK(STEP_BUF_READ, place(lmr), offset, size);
	want_struct(0, data, size);
}

DAT_RETURN remote_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	return remote_is(ia) ? ASK(STEP_IA_CLOSE, place(ia), (uint64_t)flags)
			  : dat_ia_close(ia, flags);
}

DAT_RETURN remote_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	return remote_is(ia) ? made(ASK(STEP_PZ_CREATE, place(ia)), pz) : dat_pz_create(ia, pz);
}

/* The calls whose only argument is an object. */
#define ON_ONE(function, step, type) \
	DAT_RETURN remote_##function(type object) \
	{ \
		return remote_is(object) ? ASK(step, place(object)) : dat_##function(object); \
	}

ON_ONE(pz_free, STEP_PZ_FREE, DAT_PZ_HANDLE)
ON_ONE(evd_free, STEP_EVD_FREE, DAT_EVD_HANDLE)
ON_ONE(ep_free, STEP_EP_FREE, DAT_EP_HANDLE)
ON_ONE(ep_reset, STEP_EP_RESET, DAT_EP_HANDLE)
ON_ONE(psp_free, STEP_PSP_FREE, DAT_PSP_HANDLE)
ON_ONE(rsp_free, STEP_RSP_FREE, DAT_RSP_HANDLE)
ON_ONE(lmr_free, STEP_LMR_FREE, DAT_LMR_HANDLE)

DAT_RETURN remote_cr_reject(DAT_CR_HANDLE cr)
{
	return remote_is(cr) ? ASK(STEP_CR_REJECT, place(cr)) : api_cr_reject(cr);
}

DAT_RETURN remote_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			     DAT_EVD_HANDLE *evd)
{
	return remote_is(ia) ? made(ASK(STEP_EVD_CREATE, place(ia), (uint64_t)qlen, (uint64_t)flags),
				    evd)
			  : dat_evd_create(ia, qlen, cno, flags, evd);
}

DAT_RETURN remote_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	DAT_RETURN ret;

	if (!remote_is(evd))
		return dat_evd_query(evd, mask, param);
	ret = ASK(STEP_EVD_QUERY, place(evd), (uint64_t)mask);
	memset(param, 0, sizeof(*param));
	param->ia_handle = t.remote.ia;
	param->evd_qlen = (DAT_COUNT)A(1);
	param->evd_state = (DAT_EVD_STATE)A(2);
	param->evd_flags = (DAT_EVD_FLAGS)A(3);
	return ret;
}

/* Takes the event out of an answer, and puts stand-ins and copies in the place of its handles and pointers. */
static void take_event(DAT_EVENT *event)
{
	DAT_EVENT_DATA *data = &event->event_data;

	want_struct(0, event, sizeof(*event));
	event->evd_handle = stand_in(A(2));
	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		data->dto_completion_event_data.ep_handle = stand_in(A(3));
	} else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		data->rmr_completion_event_data.rmr_handle = stand_in(A(3));
	} else if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		data->cr_arrival_event_data.cr_handle = stand_in(A(3));
		data->cr_arrival_event_data.sp_handle.psp_handle = stand_in(A(4));
		if (data->cr_arrival_event_data.local_ia_address_ptr)
			data->cr_arrival_event_data.local_ia_address_ptr = t.remote.address;
	} else if (event->event_number & REMOTE_CONNECTION_EVENTS) {
		data->connect_event_data.ep_handle = stand_in(A(3));
		data->connect_event_data.private_data =
			keep_private_data(1, data->connect_event_data.private_data_size);
	}
}

DAT_RETURN remote_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			   DAT_EVENT *event, DAT_COUNT *nmore)
{
	DAT_RETURN ret;

	if (!remote_is(evd))
		return dat_evd_wait(evd, timeout, threshold, event, nmore);
	ret = ask_for(STEP_EVD_WAIT, WORDS(place(evd), timeout, (uint64_t)threshold), NULL, NULL, 0,
		      timeout / 1000);
	*nmore = (DAT_COUNT)A(1);
	if (ret == DAT_SUCCESS)
		take_event(event);
	return ret;
}

DAT_RETURN remote_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret;

	if (!remote_is(evd))
		return dat_evd_dequeue(evd, event);
	ret = ASK(STEP_EVD_DEQUEUE, place(evd));
	if (ret == DAT_SUCCESS)
		take_event(event);
	return ret;
}

DAT_RETURN remote_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			    DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			    DAT_EP_HANDLE *ep)
{
	if (!remote_is(ia))
		return dat_ep_create(ia, pz, recv, request, connect, attr, ep);
	return made(ASK_BLOB(STEP_EP_CREATE, attr, sizeof(*attr), place(ia), place(pz), place(recv),
			     place(request), place(connect)),
		    ep);
}

DAT_RETURN remote_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	DAT_RETURN ret;

	if (!remote_is(ep))
		return dat_ep_query(ep, mask, param);
	ret = ASK(STEP_EP_QUERY, place(ep), (uint64_t)mask);
	if (ret != DAT_SUCCESS)
		return ret;
	want_struct(0, param, sizeof(*param));
	param->ia_handle = stand_in(A(1));
	param->pz_handle = stand_in(A(2));
	param->recv_evd_handle = stand_in(A(3));
	param->request_evd_handle = stand_in(A(4));
	param->connect_evd_handle = stand_in(A(5));
	param->srq_handle = DAT_HANDLE_NULL;
	param->local_ia_address_ptr = keep_address(1);
	param->remote_ia_address_ptr = keep_address(2);
	return ret;
}

DAT_RETURN remote_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
				DAT_BOOLEAN *request_idle)
{
	DAT_RETURN ret;

	if (!remote_is(ep))
		return dat_ep_get_status(ep, state, recv_idle, request_idle);
	ret = ASK(STEP_EP_STATUS, place(ep));
	if (ret != DAT_SUCCESS)
		return ret;
	*state = (DAT_EP_STATE)A(1);
	*recv_idle = (DAT_BOOLEAN)A(2);
	*request_idle = (DAT_BOOLEAN)A(3);
	return ret;
}

DAT_RETURN remote_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			     DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			     DAT_CONNECT_FLAGS flags)
{
	if (!remote_is(ep))
		return dat_ep_connect(ep, address, qual, timeout, size, data, qos, flags);
	return ask_for(STEP_EP_CONNECT,
		       WORDS(place(ep), qual, timeout, (uint64_t)size, (uint64_t)qos,
			     (uint64_t)flags),
		       (const void *[]){ address, data },
		       (const size_t[]){ remote_address_size(address), size > 0 ? (size_t)size : 0 },
		       2, 0);
}

DAT_RETURN remote_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	return remote_is(ep) ? ASK(STEP_EP_DISCONNECT, place(ep), (uint64_t)flags)
			  : dat_ep_disconnect(ep, flags);
}

DAT_RETURN remote_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			     DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return remote_is(ia) ? made(ASK(STEP_PSP_CREATE, place(ia), qual, place(evd),
					(uint64_t)flags),
				    psp)
			  : dat_psp_create(ia, qual, evd, flags, psp);
}

DAT_RETURN remote_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				 DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	DAT_RETURN ret;

	if (!remote_is(ia))
		return dat_psp_create_any(ia, qual, evd, flags, psp);
	ret = made(ASK(STEP_PSP_CREATE_ANY, place(ia), place(evd), (uint64_t)flags), psp);
	if (ret == DAT_SUCCESS)
		*qual = A(2);
	return ret;
}

DAT_RETURN remote_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			     DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
	return remote_is(ia) ? made(ASK(STEP_RSP_CREATE, place(ia), qual, place(ep), place(evd)), rsp)
			  : dat_rsp_create(ia, qual, ep, evd, rsp);
}

DAT_RETURN remote_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	DAT_RETURN ret;

	if (!remote_is(cr))
		return dat_cr_query(cr, mask, param);
	ret = ASK(STEP_CR_QUERY, place(cr), (uint64_t)mask);
	if (ret != DAT_SUCCESS)
		return ret;
	want_struct(0, param, sizeof(*param));
	param->local_ep_handle = stand_in(A(1));
	param->private_data = keep_private_data(1, param->private_data_size);
	param->remote_ia_address_ptr = keep_address(2);
	return ret;
}

DAT_RETURN remote_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data)
{
	if (!remote_is(cr))
		return dat_cr_accept(cr, ep, size, data);
	return ASK_BLOB(STEP_CR_ACCEPT, data, size > 0 ? (size_t)size : 0, place(cr), place(ep),
			(uint64_t)size);
}

static DAT_RETURN post(enum step step, DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *target,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET at = { .segment_length = 0 };

	if (target)
		at = *target;
	return ASK_BLOB(step, iov, (size_t)n * sizeof(*iov), place(ep), (uint64_t)n, cookie.as_64,
			(uint64_t)flags, at.rmr_context, at.API_TARGET_ADDRESS, at.segment_length);
}

DAT_RETURN remote_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return remote_is(ep) ? post(STEP_POST_RECV, ep, n, iov, cookie, NULL, flags)
			  : dat_ep_post_recv(ep, n, iov, cookie, flags);
}

DAT_RETURN remote_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return remote_is(ep) ? post(STEP_POST_SEND, ep, n, iov, cookie, NULL, flags)
			  : dat_ep_post_send(ep, n, iov, cookie, flags);
}

DAT_RETURN remote_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *target,
				     DAT_COMPLETION_FLAGS flags)
{
	return remote_is(ep) ? post(STEP_POST_WRITE, ep, n, iov, cookie, target, flags)
			  : dat_ep_post_rdma_write(ep, n, iov, cookie, target, flags);
}

DAT_RETURN remote_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *source,
				    DAT_COMPLETION_FLAGS flags)
{
	return remote_is(ep) ? post(STEP_POST_READ, ep, n, iov, cookie, source, flags)
			  : dat_ep_post_rdma_read(ep, n, iov, cookie, source, flags);
}
