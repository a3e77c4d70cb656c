/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process on the other side: it executes one step after the other, each of which is a DAT call,
 * and answers with the result. Invariant: a message names objects by their place in the table of
 * this process, never by an address.
 */
#define REMOTE_PLAIN
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"
#include "kit.h"
#include "remote.h"

#define BUFS	1024
#define LONGEST (16u << 20)	/* the most bytes of memory in one request */
/* Where a client lets the provider choose how many receives or requests an endpoint has, or segments each, it counts so many. */
#define USUAL_DTOS 1024
#define USUAL_IOV  8
#define LEAST_QLEN 16	/* an EVD counts as so long, because a short one takes memory as well */
#define IDLE_S	600		/* a test that requests nothing for this time has ended */
#define TEST_S	3600		/* no test takes longer */
/* The bound of a step: STEP_S seconds, or STEPS times the patience of the test if that is longer. */
#define STEP_S	120
#define STEPS	8

static struct {
	DAT_HANDLE handles[REMOTE_HANDLES];	/* place 0 is DAT_HANDLE_NULL */
	unsigned int handle_count;
	struct {
		DAT_LMR_HANDLE lmr;
		unsigned char *mem;
		size_t size;
	} bufs[BUFS];
	unsigned int buf_count;
	/* what the test has asked for so far, including what it has freed: see take() */
	uint64_t bytes_taken, events_taken, segments_taken;
	DAT_IA_HANDLE ia;
	unsigned int step_s;	/* the bound of one step */
	_Atomic bool *greeted;	/* set when the client has said HELLO, or NULL */
	struct remote_message in, out;
	unsigned char bytes[REMOTE_BYTES];
	unsigned char scratch[REMOTE_BYTES];	/* a copy of a post's segments */
} remote = { .handle_count = 1, .step_s = STEP_S };

/* Ends the process after an invalid step: the other side is not a datconform of this version. */
static _Noreturn void garbage(void)
{
	_exit(1);
}

/*
 * Adds what a step asks for to what the test has had, in *sum. If that is more than a test may have, the test ends before the
 * provider hears of it. There is no limit of the kernel's besides: of the memory that matters, a provider's shared memory counts
 * only for RLIMIT_AS, where the soft provider's reservation of 1 TiB for each peer and a device's mapped pages count, too.
 */
static void take(uint64_t *sum, uint64_t more, uint64_t most)
{
	if (more > most - *sum)
		_exit(REMOTE_GREEDY);
	*sum += more;
}

static uint64_t place_of(DAT_HANDLE handle)
{
	if (!handle)
		return 0;
	for (unsigned int i = 1; i < remote.handle_count; i++)
		if (remote.handles[i] == handle)
			return i;
	if (remote.handle_count == REMOTE_HANDLES)
		garbage();
	remote.handles[remote.handle_count] = handle;
	return remote.handle_count++;
}

static DAT_HANDLE handle_at(uint64_t place)
{
	if (place >= remote.handle_count)
		garbage();
	return remote.handles[place];
}

#define H(i) handle_at(remote.in.words[i])
#define W(i) remote.in.words[i]

static void answer(uint64_t word)
{
	remote.out.words[remote.out.word_count++] = word;
}

static void answer_blob(const void *at, size_t size)
{
	remote.out.blobs[remote.out.blob_count].at = at;
	remote.out.blobs[remote.out.blob_count++].size = at ? size : 0;
}

/* Returns blob i of the message, which has to be of this size. */
static const void *want_blob(unsigned int i, size_t size)
{
	if (i >= remote.in.blob_count || remote.in.blobs[i].size != size)
		garbage();
	return remote.in.blobs[i].at;
}

/* Returns the private data of the message, which are blob i, or NULL if it is empty. A provider reads `size` bytes of them. */
static DAT_PVOID want_private_data(unsigned int i, DAT_COUNT size)
{
	if (i >= remote.in.blob_count)
		garbage();
	return remote.in.blobs[i].size ? (DAT_PVOID)(uintptr_t)want_blob(i, size > 0 ? (size_t)size : 0) : NULL;
}

static DAT_RETURN made(DAT_RETURN ret, const DAT_HANDLE *handle)
{
	answer(ret == DAT_SUCCESS ? place_of(*handle) : 0);
	return ret;
}

static DAT_RETURN hello(const char *ia_name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static DAT_IA_ATTR attr;
	static DAT_PROVIDER_ATTR prov;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;

	if (remote.ia || W(0) != REMOTE_MAGIC || W(1) != sizeof(DAT_EVENT) ||
	    W(2) != sizeof(DAT_EP_PARAM) || W(3) != sizeof(DAT_CR_PARAM) || W(4) != STEP_END)
		garbage();
	if (remote.greeted)
		atomic_store(remote.greeted, true);
	if (W(5) / 1000 > STEP_S / STEPS && W(5) / 1000 <= 600)
		remote.step_s = (unsigned int)(W(5) / 1000 * STEPS);
	ret = dat_ia_open((char *)ia_name, 8, &async, &remote.ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_ia_query(remote.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_pz_create(remote.ia, &pz);
	if (ret != DAT_SUCCESS)
		return ret;
	answer(place_of(remote.ia));
	answer(place_of(pz));
	answer(place_of(async));
	answer_blob(attr.ia_address_ptr, remote_address_size(attr.ia_address_ptr));
	answer_blob(ia_name, strlen(ia_name));
	return DAT_SUCCESS;
}

/* Puts an event into the answer: the places of its handles, the event itself, and its private data. */
static void answer_event(DAT_EVENT *event)
{
	DAT_EVENT_DATA *data = &event->event_data;
	DAT_HANDLE first = DAT_HANDLE_NULL, second = DAT_HANDLE_NULL;
	const void *private_data = NULL;
	size_t size = 0;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT) {
		first = data->dto_completion_event_data.ep_handle;
	} else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		first = data->rmr_completion_event_data.rmr_handle;
	} else if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		first = data->cr_arrival_event_data.cr_handle;
		second = data->cr_arrival_event_data.sp_handle.psp_handle;
	} else if (event->event_number & REMOTE_CONNECTION_EVENTS) {
		first = data->connect_event_data.ep_handle;
		private_data = data->connect_event_data.private_data;
		size = (size_t)data->connect_event_data.private_data_size;
	}
	if (size > REMOTE_BYTES / 2)	/* no provider reports this size, unless it is broken */
		size = 0;
	answer(place_of(event->evd_handle));
	answer(place_of(first));
	answer(place_of(second));
	answer_blob(event, sizeof(*event));
	answer_blob(private_data, size);
}

static DAT_RETURN evd_step(void)
{
	static DAT_EVENT event;
	static DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	DAT_COUNT nmore = 0;
	DAT_RETURN ret;

	memset(&event, 0, sizeof(event));
	memset(&param, 0, sizeof(param));
	switch (remote.in.step) {
	case STEP_EVD_CREATE:
		take(&remote.events_taken, (DAT_COUNT)W(1) > LEAST_QLEN ? (uint64_t)(DAT_COUNT)W(1) : LEAST_QLEN, REMOTE_EVENTS);
		ret = dat_evd_create(H(0), (DAT_COUNT)W(1), DAT_HANDLE_NULL, (DAT_EVD_FLAGS)W(2),
				     &evd);
		return made(ret, &evd);
	case STEP_EVD_FREE: return dat_evd_free(H(0));
	case STEP_EVD_QUERY:
		ret = dat_evd_query(H(0), (DAT_EVD_PARAM_MASK)W(1), &param);
		answer((uint64_t)param.evd_qlen);
		answer((uint64_t)param.evd_state);
		answer((uint64_t)param.evd_flags);
		return ret;
	case STEP_EVD_WAIT:
		ret = dat_evd_wait(H(0), (DAT_TIMEOUT)W(1), (DAT_COUNT)W(2), &event, &nmore);
		break;
	default: ret = dat_evd_dequeue(H(0), &event); break;
	}
	answer((uint64_t)nmore);
	if (ret == DAT_SUCCESS)
		answer_event(&event);
	return ret;
}

static DAT_RETURN ep_query(void)
{
	static DAT_EP_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_ep_query(H(0), (DAT_EP_PARAM_MASK)W(1), &param);
	answer(place_of(param.ia_handle));
	answer(place_of(param.pz_handle));
	answer(place_of(param.recv_evd_handle));
	answer(place_of(param.request_evd_handle));
	answer(place_of(param.connect_evd_handle));
	answer_blob(&param, sizeof(param));
	answer_blob(param.local_ia_address_ptr, remote_address_size(param.local_ia_address_ptr));
	/* the address is valid only while there is a peer */
	if (param.ep_state == DAT_EP_STATE_CONNECTED)
		answer_blob(param.remote_ia_address_ptr,
			    remote_address_size(param.remote_ia_address_ptr));
	return ret;
}

static uint64_t count_or(DAT_COUNT count, uint64_t usual)
{
	return count > 0 ? (uint64_t)count : usual;
}

/* Counts the segments of all receives and requests that an endpoint can have. */
static void take_segments(const DAT_EP_ATTR *attr)
{
	uint64_t iov = count_or(attr->max_request_iov, USUAL_IOV);

	if ((uint64_t)attr->max_rdma_read_iov > iov && attr->max_rdma_read_iov > 0)
		iov = (uint64_t)attr->max_rdma_read_iov;
	if ((uint64_t)attr->max_rdma_write_iov > iov && attr->max_rdma_write_iov > 0)
		iov = (uint64_t)attr->max_rdma_write_iov;
	take(&remote.segments_taken, count_or(attr->max_request_dtos, USUAL_DTOS) * iov, REMOTE_SEGMENTS);
	take(&remote.segments_taken,
	     count_or(attr->max_recv_dtos, USUAL_DTOS) * count_or(attr->max_recv_iov, USUAL_IOV), REMOTE_SEGMENTS);
}

static DAT_RETURN ep_step(void)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;
	static DAT_EP_ATTR attr;
	static struct sockaddr_in6 address;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	switch (remote.in.step) {
	case STEP_EP_CREATE:
		memcpy(&attr, want_blob(0, sizeof(attr)), sizeof(attr));
		attr.ep_transport_specific = attr.ep_provider_specific = NULL;
		attr.ep_transport_specific_count = attr.ep_provider_specific_count = 0;
		take_segments(&attr);
		ret = dat_ep_create(H(0), H(1), H(2), H(3), H(4), &attr, &ep);
		return made(ret, &ep);
	case STEP_EP_FREE: return dat_ep_free(H(0));
	case STEP_EP_RESET: return dat_ep_reset(H(0));
	case STEP_EP_QUERY: return ep_query();
	case STEP_EP_STATUS:
		ret = dat_ep_get_status(H(0), &state, &recv_idle, &request_idle);
		answer(state);
		answer(recv_idle);
		answer(request_idle);
		return ret;
	case STEP_EP_DISCONNECT: return dat_ep_disconnect(H(0), (DAT_CLOSE_FLAGS)W(1));
	default: break;
	}
	if (remote.in.blob_count != 2 || remote.in.blobs[0].size > sizeof(address))
		garbage();
	memset(&address, 0, sizeof(address));
	memcpy(&address, remote.in.blobs[0].at, remote.in.blobs[0].size);
	return dat_ep_connect(H(0), (DAT_IA_ADDRESS_PTR)&address, W(1), (DAT_TIMEOUT)W(2),
			      (DAT_COUNT)W(3), want_private_data(1, (DAT_COUNT)W(3)), (DAT_QOS)W(4), (DAT_CONNECT_FLAGS)W(5));
}

static DAT_RETURN cr_query(void)
{
	static DAT_CR_PARAM param;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	ret = dat_cr_query(H(0), (DAT_CR_PARAM_MASK)W(1), &param);
	answer(place_of(param.local_ep_handle));
	answer_blob(&param, sizeof(param));
	answer_blob(param.private_data, (size_t)param.private_data_size);
	answer_blob(param.remote_ia_address_ptr, remote_address_size(param.remote_ia_address_ptr));
	return ret;
}

static DAT_RETURN sp_step(void)
{
	DAT_CONN_QUAL qual;
	DAT_HANDLE sp;
	DAT_RETURN ret;

	switch (remote.in.step) {
	case STEP_PSP_CREATE:
		ret = dat_psp_create(H(0), W(1), H(2), (DAT_PSP_FLAGS)W(3), &sp);
		return made(ret, &sp);
	case STEP_PSP_CREATE_ANY:
		ret = made(dat_psp_create_any(H(0), &qual, H(1), (DAT_PSP_FLAGS)W(2), &sp), &sp);
		answer(ret == DAT_SUCCESS ? qual : 0);
		return ret;
	case STEP_PSP_FREE: return dat_psp_free(H(0));
	case STEP_RSP_CREATE:
		ret = dat_rsp_create(H(0), W(1), H(2), H(3), &sp);
		return made(ret, &sp);
	case STEP_RSP_FREE: return dat_rsp_free(H(0));
	case STEP_CR_QUERY: return cr_query();
	case STEP_CR_ACCEPT: return dat_cr_accept(H(0), H(1), (DAT_COUNT)W(2), want_private_data(0, (DAT_COUNT)W(2)));
	default: return api_cr_reject(H(0));
	}
}

static DAT_RETURN post_step(void)
{
	DAT_DTO_COOKIE cookie = { .as_64 = W(2) };
	DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)W(3);
	DAT_COUNT n = (DAT_COUNT)W(1);
	DAT_LMR_TRIPLET *iov = NULL;
	DAT_RMR_TRIPLET target = { .rmr_context = (DAT_RMR_CONTEXT)W(4),
				   .API_TARGET_ADDRESS = W(5),
				   .segment_length = W(6) };

	/* The provider may read each of the n segments, so the message has to have as many. */
	if (remote.in.blob_count != 1 || n < 0 ||
	    remote.in.blobs[0].size != (size_t)n * sizeof(DAT_LMR_TRIPLET))
		garbage();
	if (n)
		iov = memcpy(remote.scratch, remote.in.blobs[0].at, remote.in.blobs[0].size);
	switch (remote.in.step) {
	case STEP_POST_RECV: return dat_ep_post_recv(H(0), n, iov, cookie, flags);
	case STEP_POST_SEND: return dat_ep_post_send(H(0), n, iov, cookie, flags);
	case STEP_POST_WRITE:
		return dat_ep_post_rdma_write(H(0), n, iov, cookie, &target, flags);
	default: return dat_ep_post_rdma_read(H(0), n, iov, cookie, &target, flags);
	}
}

static DAT_RETURN buf_create(void)
{
	size_t size = (size_t)W(1);
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context = 0;
	DAT_RMR_CONTEXT rmr_context = 0;
	DAT_VLEN registered;
	DAT_VADDR address;
	DAT_RETURN ret;
	void *mem;

	if (!size)
		garbage();
	if (size > LONGEST || remote.buf_count == BUFS)
		_exit(REMOTE_GREEDY);
	take(&remote.bytes_taken, size, REMOTE_MEMORY);
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES;
	region.for_va = mem;
	ret = dat_lmr_create(remote.ia, DAT_MEM_TYPE_VIRTUAL, region, size, H(0),
			     (DAT_MEM_PRIV_FLAGS)W(2), &lmr, &context, &rmr_context, &registered,
			     &address);
	if (ret == DAT_SUCCESS) {
		remote.bufs[remote.buf_count].lmr = lmr;
		remote.bufs[remote.buf_count].mem = mem;
		remote.bufs[remote.buf_count++].size = size;
	} else {
		munmap(mem, size);
	}
	made(ret, &lmr);
	answer(context);
	answer(rmr_context);
	answer((uint64_t)(uintptr_t)mem);
	return ret;
}

/*
 * Returns the address of a range of a region: words 0 to 2 are the handle, the offset and the length. If an earlier
 * region had the same handle, the newest one is meant.
 */
static unsigned char *mem_at(void)
{
	DAT_LMR_HANDLE lmr = H(0);

	for (unsigned int i = remote.buf_count; i-- > 0;)
		if (remote.bufs[i].lmr == lmr && W(1) <= remote.bufs[i].size &&
		    W(2) <= remote.bufs[i].size - W(1))
			return remote.bufs[i].mem + W(1);
	garbage();
}

static DAT_RETURN buf_step(void)
{
	unsigned char *mem;

	if (remote.in.step == STEP_BUF_CREATE)
		return buf_create();
	if (remote.in.step == STEP_LMR_FREE)
		return dat_lmr_free(H(0));
	mem = mem_at();
	switch (remote.in.step) {
	case STEP_BUF_FILL: kit_fill(mem, (size_t)W(2), (unsigned int)W(3)); break;
	case STEP_BUF_SET: memset(mem, (int)(W(3) & 0xff), (size_t)W(2)); break;
	case STEP_BUF_FILLED: answer(kit_filled(mem, (size_t)W(2), (unsigned int)W(3))); break;
	default:
		if (W(2) > REMOTE_BYTES)
			garbage();
		answer_blob(mem, (size_t)W(2));
	}
	return DAT_SUCCESS;
}

static DAT_RETURN take_step(const char *ia_name)
{
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;

	if (!remote.ia && remote.in.step != STEP_HELLO)
		garbage();
	switch (remote.in.step) {
	case STEP_HELLO: return hello(ia_name);
	case STEP_BYE: return dat_ia_close(remote.ia, DAT_CLOSE_ABRUPT_FLAG);
	case STEP_DIE:
		raise(SIGKILL);
		_exit(1);
	case STEP_IA_CLOSE: return dat_ia_close(H(0), (DAT_CLOSE_FLAGS)W(1));
	case STEP_PZ_CREATE:
		ret = dat_pz_create(H(0), &pz);
		return made(ret, &pz);
	case STEP_PZ_FREE: return dat_pz_free(H(0));
	default: break;
	}
	if (remote.in.step >= STEP_EVD_CREATE && remote.in.step <= STEP_EVD_DEQUEUE)
		return evd_step();
	if (remote.in.step >= STEP_EP_CREATE && remote.in.step <= STEP_EP_DISCONNECT)
		return ep_step();
	if (remote.in.step >= STEP_PSP_CREATE && remote.in.step <= STEP_CR_REJECT)
		return sp_step();
	if (remote.in.step >= STEP_POST_RECV && remote.in.step <= STEP_POST_READ)
		return post_step();
	if (remote.in.step >= STEP_BUF_CREATE && remote.in.step < STEP_END)
		return buf_step();
	garbage();
}

/* Sets a bound to what comes next, which does not outlast the test. A process that hangs, here or there, ends then. */
static void bound(unsigned int seconds, uint64_t until_ms)
{
	uint64_t now_ms = judge_now_ms(), left_s;

	if (now_ms >= until_ms)
		_exit(1);
	left_s = (until_ms - now_ms + 999) / 1000;
	alarm(seconds < left_s ? seconds : (unsigned int)left_s);
}

void remote_serve(int fd, const char *ia_name, unsigned int hello_s, _Atomic bool *greeted)
{
	uint64_t until_ms = judge_now_ms() + TEST_S * UINT64_C(1000);
	bool bye = false;

	remote.greeted = greeted;

	for (;;) {
		bound(remote.ia ? IDLE_S : hello_s + IDLE_S, until_ms);
		if (!remote_get(fd, &remote.in, remote.bytes, remote.ia ? -1 : (int)hello_s * 1000))
			_exit(errno == EPROTO);
		bound(remote.step_s, until_ms);
		memset(&remote.out, 0, sizeof(remote.out));
		remote.out.step = remote.in.step;
		remote.out.word_count = 1;
		remote.out.words[0] = take_step(ia_name);
		bye = remote.in.step == STEP_BYE;
		if (!remote_put(fd, &remote.out) || bye)
			break;
	}
	alarm(0);
	exit(bye ? 0 : 1);
}
