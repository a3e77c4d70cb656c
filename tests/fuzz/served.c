/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs datconform's remote_serve() on messages that are made of a fuzzer's bytes: each is well formed, and its step, its words and
 * its blobs are arbitrary. The DAT calls are replaced by functions that read all that a provider may read of their arguments.
 *
 * Invariants checked: what a call reads of a message lies within one blob of it; an answer is one that the other side accepts, and
 * all of it is memory of this process.
 */
#define REMOTE_PLAIN
#include "served.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conform.h"
#include "kit.h"
#include "remote.h"

static jmp_buf over;

static _Noreturn void leave(void)
{
	longjmp(over, 1);
}

static bool answer_check(int fd, const struct remote_message *message);

/* The end of the process ends the run of this input, and the alarm is the fuzzer's. */
#define _exit(status)	 leave()
#define exit(status)	 leave()
#define raise(signal)	 leave()
#define alarm(seconds)	 ((void)(seconds))
#define remote_put(...)	 answer_check(__VA_ARGS__)
#include "conform/remote_serve.c" /* NOLINT: the calls above are replaced in it, and its table is emptied after each input */
#undef _exit
#undef exit
#undef raise
#undef alarm
#undef remote_put

/* ------------------------------------------------------------------ the bytes of the input */

static struct {
	const uint8_t *at, *end, *begin;
} input;

static uint8_t byte(void)
{
	return input.at < input.end ? *input.at++ : 0;
}

/* What a provider chooses, such as a result: a byte of the input, each of which may be used again and again. */
static uint8_t choice(void)
{
	static size_t next;

	return input.end > input.begin ? input.begin[next++ % (size_t)(input.end - input.begin)] : 0;
}

/* A small number in one byte, or any number in nine. */
static uint64_t word(void)
{
	uint64_t value = byte();

	if (value < 0xf0)
		return value;
	if (value < 0xf8)
		return (uint64_t)1 << (value & 7) * 4;
	value = 0;
	for (int i = 0; i < 8; i++)
		value = value << 8 | byte();
	return value;
}

static size_t blob_size(const struct remote_message *m)
{
	uint8_t kind = byte();

	switch (kind) {
	case 0xff: return sizeof(DAT_EP_ATTR);
	case 0xfe: return (size_t)(m->words[1] & 63) * sizeof(DAT_LMR_TRIPLET);
	case 0xfd: return sizeof(struct sockaddr_in);
	case 0xfc: return 4096;
	default: return kind;
	}
}

/* ------------------------------------------------------------------ what a provider may do */

static unsigned int sum; /* of all bytes that a provider reads, so that the compiler keeps the reads */

static void read_all(const void *at, size_t size)
{
	const unsigned char *bytes = at;

	for (size_t i = 0; i < size; i++)
		sum += bytes[i];
}

/* Reads memory that a call is given. If it is in the message, it has to be of one blob. */
static void given(const void *at, size_t size)
{
	uintptr_t from = (uintptr_t)at;
	bool within = from < (uintptr_t)remote.bytes || from >= (uintptr_t)remote.bytes + REMOTE_BYTES;

	for (unsigned int i = 0; i < remote.in.blob_count; i++) {
		uintptr_t blob = (uintptr_t)remote.in.blobs[i].at;

		within = within || (from >= blob && from - blob <= remote.in.blobs[i].size &&
				    size <= remote.in.blobs[i].size - (from - blob));
	}
	DEMAND(within);
	read_all(at, size);
}

static DAT_RETURN result(void)
{
	uint8_t chosen = choice();

	return chosen < 0xc0 ? DAT_SUCCESS : (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(chosen & 15) << 16;
}

static DAT_RETURN make(DAT_HANDLE *handle)
{
	static uintptr_t last;
	DAT_RETURN ret = result();

	if (ret == DAT_SUCCESS)
		*handle = (DAT_HANDLE)((++last & 0xffff) * 64 + 64);
	return ret;
}

static unsigned char private_data[256];
static struct sockaddr_in address_of_a_peer = { .sin_family = AF_INET };

static DAT_RETURN next_event(DAT_EVENT *event)
{
	static const DAT_EVENT_NUMBER numbers[] = { DAT_DTO_COMPLETION_EVENT, DAT_RMR_BIND_COMPLETION_EVENT,
						    DAT_CONNECTION_REQUEST_EVENT, DAT_CONNECTION_EVENT_ESTABLISHED,
						    DAT_CONNECTION_EVENT_PEER_REJECTED, DAT_SOFTWARE_EVENT };
	DAT_CONNECTION_EVENT_DATA *connection = &event->event_data.connect_event_data;
	uint8_t chosen = choice();

	if (result() != DAT_SUCCESS)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_QUEUE_EMPTY;
	event->event_number = numbers[chosen % (sizeof(numbers) / sizeof(*numbers))];
	event->evd_handle = (DAT_EVD_HANDLE)(uintptr_t)((chosen & 7u) * 64);
	if (event->event_number & REMOTE_CONNECTION_EVENTS) {
		connection->private_data = private_data;
		connection->private_data_size = chosen;
	}
	return DAT_SUCCESS;
}

void kit_fill(void *mem, size_t size, unsigned int seed)
{
	unsigned char *bytes = mem;

	if (size)
		bytes[0] = bytes[size - 1] = (unsigned char)seed;
}

bool kit_filled(const void *mem, size_t size, unsigned int seed)
{
	const unsigned char *bytes = mem;

	return !size || (bytes[0] == (unsigned char)seed && bytes[size - 1] == (unsigned char)seed);
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia, DAT_UINT32 major,
			DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	DAT_RETURN ret = make(ia);

	(void)qlen, (void)major, (void)minor, (void)thread_safe;
	read_all(name, strlen(name));
	return ret == DAT_SUCCESS ? make(async) : ret;
}

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK mask, DAT_IA_ATTR *attr,
			DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider)
{
	(void)ia, (void)async, (void)mask, (void)provider_mask;
	memset(attr, 0, sizeof(*attr));
	memset(provider, 0, sizeof(*provider));
	attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&address_of_a_peer;
	return result();
}

/* A call without memory: a handle is a place of the table, which remote_serve.c has checked. */
#define CALL(name, ...) DAT_RETURN name(__VA_ARGS__) { return result(); }
#define UNUSED __attribute__((unused))
CALL(dat_ia_close, DAT_IA_HANDLE ia UNUSED, DAT_CLOSE_FLAGS flags UNUSED)
CALL(dat_pz_free, DAT_PZ_HANDLE pz UNUSED)
CALL(dat_evd_free, DAT_EVD_HANDLE evd UNUSED)
CALL(dat_ep_free, DAT_EP_HANDLE ep UNUSED)
CALL(dat_ep_reset, DAT_EP_HANDLE ep UNUSED)
CALL(dat_ep_disconnect, DAT_EP_HANDLE ep UNUSED, DAT_CLOSE_FLAGS flags UNUSED)
CALL(dat_psp_free, DAT_PSP_HANDLE psp UNUSED)
CALL(dat_rsp_free, DAT_RSP_HANDLE rsp UNUSED)
CALL(dat_cr_reject, DAT_CR_HANDLE cr UNUSED)
CALL(dat_lmr_free, DAT_LMR_HANDLE lmr UNUSED)

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia UNUSED, DAT_PZ_HANDLE *pz)
{
	return make(pz);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia UNUSED, DAT_COUNT qlen UNUSED, DAT_CNO_HANDLE cno UNUSED, DAT_EVD_FLAGS flags UNUSED,
			  DAT_EVD_HANDLE *evd)
{
	return make(evd);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd UNUSED, DAT_EVD_PARAM_MASK mask UNUSED, DAT_EVD_PARAM *param)
{
	memset(param, choice(), sizeof(*param));
	return result();
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd UNUSED, DAT_TIMEOUT timeout UNUSED, DAT_COUNT threshold UNUSED, DAT_EVENT *event,
			DAT_COUNT *more)
{
	*more = choice();
	return next_event(event);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd UNUSED, DAT_EVENT *event)
{
	return next_event(event);
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia UNUSED, DAT_PZ_HANDLE pz UNUSED, DAT_EVD_HANDLE recv UNUSED,
			 DAT_EVD_HANDLE request UNUSED, DAT_EVD_HANDLE connect UNUSED, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	given(attr, sizeof(*attr));
	/* a provider follows these pointers */
	DEMAND(!attr->ep_transport_specific_count && !attr->ep_provider_specific_count);
	DEMAND(!attr->ep_transport_specific && !attr->ep_provider_specific);
	return make(ep);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep UNUSED, DAT_EP_PARAM_MASK mask UNUSED, DAT_EP_PARAM *param)
{
	param->ep_state = choice() % 2 ? DAT_EP_STATE_CONNECTED : DAT_EP_STATE_UNCONNECTED;
	param->local_ia_address_ptr = choice() % 2 ? (DAT_IA_ADDRESS_PTR)&address_of_a_peer : NULL;
	param->remote_ia_address_ptr = choice() % 2 ? (DAT_IA_ADDRESS_PTR)&address_of_a_peer : NULL;
	return result();
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep UNUSED, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	*state = DAT_EP_STATE_CONNECTED;
	*recv_idle = *request_idle = DAT_TRUE;
	return result();
}

static void given_private_data(DAT_COUNT size, const void *data)
{
	if (data && size > 0)
		given(data, (size_t)size);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep UNUSED, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual UNUSED,
			  DAT_TIMEOUT timeout UNUSED, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos UNUSED,
			  DAT_CONNECT_FLAGS flags UNUSED)
{
	given(address, sizeof(struct sockaddr_in6));
	given_private_data(size, data);
	return result();
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia UNUSED, DAT_CONN_QUAL qual UNUSED, DAT_EVD_HANDLE evd UNUSED,
			  DAT_PSP_FLAGS flags UNUSED, DAT_PSP_HANDLE *psp)
{
	return make(psp);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia UNUSED, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd UNUSED,
			      DAT_PSP_FLAGS flags UNUSED, DAT_PSP_HANDLE *psp)
{
	*qual = choice();
	return make(psp);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia UNUSED, DAT_CONN_QUAL qual UNUSED, DAT_EP_HANDLE ep UNUSED, DAT_EVD_HANDLE evd UNUSED,
			  DAT_RSP_HANDLE *rsp)
{
	return make(rsp);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr UNUSED, DAT_CR_PARAM_MASK mask UNUSED, DAT_CR_PARAM *param)
{
	param->private_data = private_data;
	param->private_data_size = choice();
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&address_of_a_peer;
	return result();
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr UNUSED, DAT_EP_HANDLE ep UNUSED, DAT_COUNT size, const DAT_PVOID data)
{
	given_private_data(size, data);
	return result();
}

static DAT_RETURN posted(DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	DEMAND(n >= 0);
	if (!n)
		return result();
	/* the segments are a copy of the message's only blob */
	DEMAND(remote.in.blob_count == 1 && (size_t)n * sizeof(*iov) == remote.in.blobs[0].size);
	given(iov, (size_t)n * sizeof(*iov));
	return result();
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep UNUSED, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie UNUSED,
			    DAT_COMPLETION_FLAGS flags UNUSED)
{
	return posted(n, iov);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep UNUSED, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie UNUSED,
			    DAT_COMPLETION_FLAGS flags UNUSED)
{
	return posted(n, iov);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep UNUSED, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie UNUSED,
				  const DAT_RMR_TRIPLET *there, DAT_COMPLETION_FLAGS flags UNUSED)
{
	given(there, sizeof(*there));
	return posted(n, iov);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep UNUSED, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie UNUSED,
				 const DAT_RMR_TRIPLET *there, DAT_COMPLETION_FLAGS flags UNUSED)
{
	given(there, sizeof(*there));
	return posted(n, iov);
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia UNUSED, DAT_MEM_TYPE type UNUSED, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			  DAT_PZ_HANDLE pz UNUSED, DAT_MEM_PRIV_FLAGS priv UNUSED, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered, DAT_VADDR *address)
{
	read_all(region.for_va, 1);
	read_all((const char *)region.for_va + length - 1, 1);
	*context = *rmr_context = choice();
	*registered = length;
	*address = (DAT_VADDR)(uintptr_t)region.for_va;
	return make(lmr);
}

/* ------------------------------------------------------------------ messages and answers */

/* The other side has room for as many words, blobs and bytes. */
static bool answer_check(int fd, const struct remote_message *m)
{
	size_t size = 0;

	(void)fd;
	DEMAND(m->word_count <= REMOTE_WORDS && m->blob_count <= REMOTE_BLOBS);
	for (unsigned int i = 0; i < m->blob_count; i++) {
		read_all(m->blobs[i].at, m->blobs[i].size);
		size += m->blobs[i].size;
	}
	DEMAND(size <= REMOTE_BYTES);
	return true;
}

static bool send_one(int fd)
{
	static unsigned char content[REMOTE_BLOBS][4096];
	struct remote_message m = { .step = byte() % (STEP_END + 1) };

	m.word_count = byte() % (REMOTE_WORDS + 1);
	for (unsigned int i = 0; i < m.word_count; i++)
		m.words[i] = word();
	m.blob_count = byte() % (REMOTE_BLOBS + 1);
	for (unsigned int i = 0; i < m.blob_count; i++) {
		m.blobs[i].at = content[i];
		m.blobs[i].size = blob_size(&m);
		for (size_t n = 0; n < m.blobs[i].size && n < 64; n++)
			content[i][n] = byte();
	}
	return remote_put(fd, &m);
}

static void send_hello(int fd)
{
	const struct remote_message hello = { .step = STEP_HELLO,
					      .word_count = 6,
					      .words = { REMOTE_MAGIC, sizeof(DAT_EVENT), sizeof(DAT_EP_PARAM),
							 sizeof(DAT_CR_PARAM), STEP_END, word() } };

	DEMAND(remote_put(fd, &hello));
}

static void forget_all(void)
{
	for (unsigned int i = 0; i < remote.buf_count; i++)
		munmap(remote.bufs[i].mem, remote.bufs[i].size);
	remote.buf_count = 0;
	remote.bytes_taken = remote.events_taken = remote.segments_taken = 0;
	memset(remote.handles, 0, sizeof(remote.handles));
	remote.handle_count = 1;
	remote.ia = DAT_HANDLE_NULL;
	remote.step_s = STEP_S;
}

static void serve(int fd)
{
	if (!setjmp(over))
		remote_serve(fd, "an adapter", 10, NULL);
}

void served(const uint8_t *data, size_t size)
{
	int fds[2];

	input.begin = input.at = data;
	input.end = data + size;
	DEMAND(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	if (byte() % 8)
		send_hello(fds[0]);
	/* a message that does not fit into the socket's buffer is cut off, and the rest is not sent */
	while (input.at < input.end && send_one(fds[0]))
		;
	close(fds[0]);
	serve(fds[1]);
	close(fds[1]);
	forget_all();
}
