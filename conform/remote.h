/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other side of a two-sided clause: a process of its own, forked by the test or by a server on
 * another host, which takes the steps that the test asks of it, one after the other.
 *
 * A step is a DAT call. An object that the other side creates has a stand-in here; kit.h sends each
 * call on a stand-in to the other side, so that a test is written in the same way wherever its
 * endpoints are. Invariant: a stand-in points into one array of this process, so that it is never
 * taken for a handle.
 *
 * A message is its length, a step, words and blobs, in network byte order; structures of the
 * standard are blobs as they lie in memory, which both sides have agreed on in the first step.
 */
#ifndef CONFORM_REMOTE_H
#define CONFORM_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "api.h"

enum step {
	STEP_HELLO = 1,	/* opens the IA; nothing else is answered before it */
	STEP_BYE,	/* closes it */
	STEP_DIE,	/* ends the process by SIGKILL; there is no answer */
	STEP_IA_CLOSE,
	STEP_PZ_CREATE,
	STEP_PZ_FREE,
	STEP_EVD_CREATE,
	STEP_EVD_FREE,
	STEP_EVD_QUERY,
	STEP_EVD_WAIT,
	STEP_EVD_DEQUEUE,
	STEP_EP_CREATE,
	STEP_EP_FREE,
	STEP_EP_RESET,
	STEP_EP_QUERY,
	STEP_EP_STATUS,
	STEP_EP_CONNECT,
	STEP_EP_DISCONNECT,
	STEP_PSP_CREATE,
	STEP_PSP_CREATE_ANY,
	STEP_PSP_FREE,
	STEP_RSP_CREATE,
	STEP_RSP_FREE,
	STEP_CR_QUERY,
	STEP_CR_ACCEPT,
	STEP_CR_REJECT,
	STEP_POST_RECV,
	STEP_POST_SEND,
	STEP_POST_WRITE,
	STEP_POST_READ,
	STEP_BUF_CREATE,	/* memory and a region over it */
	STEP_LMR_FREE,
	STEP_BUF_FILL,
	STEP_BUF_SET,
	STEP_BUF_FILLED,
	STEP_BUF_READ,
	STEP_END
};

#define REMOTE_WORDS   16
#define REMOTE_BLOBS   4
#define REMOTE_BYTES   (256 * 1024)	/* of all blobs of a message */
#define REMOTE_HANDLES 4096
#define REMOTE_CONNECTION_EVENTS 0x4000	/* the bit that the numbers of all connection events have */
#define REMOTE_HELLO_S 120 /* for the first step of a test that has forked its other side */
#define REMOTE_PORT    19751	/* of datconform --server */
/*
 * What a test may have the other side ask of its provider, including what it frees: bytes of memory, events that all EVDs
 * together can hold, and segments of all receives and requests that all endpoints together can have. The tests of datconform
 * need a sixth of it, or less. REMOTE_GREEDY is the exit status of a process whose test has asked for more.
 */
#define REMOTE_MEMORY	(128u << 20)
#define REMOTE_EVENTS	(64u << 10)
#define REMOTE_SEGMENTS (128u << 10)
#define REMOTE_GREEDY	4
#define REMOTE_MAGIC   0x64617463666d3031 /* "datcfm01" */

struct remote_message {
	uint32_t step;
	unsigned int word_count, blob_count;
	uint64_t words[REMOTE_WORDS];
	struct {
		const void *at;
		size_t size;
	} blobs[REMOTE_BLOBS];
};

/*
 * Send and receive a message. Both return false when the connection can no longer be used. With a
 * `bound_ms` of -1 there is no bound.
 */
bool remote_put(int fd, const struct remote_message *message);
/* The blobs are in `bytes`, which has REMOTE_BYTES and belongs to the caller. */
bool remote_get(int fd, struct remote_message *message, unsigned char *bytes, int bound_ms);
size_t remote_address_size(const void *address); /* of a struct sockaddr_in or _in6; 0: neither */

/*
 * Executes the steps of one test in this process, until the other side says good-bye or ends, or has
 * not sent the first step within `hello_s` seconds. Sets *greeted when it has, unless greeted is NULL.
 */
_Noreturn void remote_serve(int fd, const char *ia_name, unsigned int hello_s, _Atomic bool *greeted);

void remote_tune(int fd); /* sets options of the TCP connection: no delay, and keepalive */

/* datconform --server, and the connection to one. */
int remote_host(const char *ia_name, unsigned int port, unsigned int hello_s);	/* -> exit status */
bool remote_resolve(const char *text, struct sockaddr_storage *address);
int remote_dial(const struct sockaddr_storage *address, unsigned int bound_ms);	/* -1: errno */
/* Sends the first step and takes its answer. Returns false, with *wrong, if there is none. */
bool remote_hello(int fd, unsigned int bound_ms, struct remote_message *answer, unsigned char *bytes,
		  const char **wrong);

/*
 * The test's side. Each of these functions ends the test if the other process is gone or does not
 * answer.
 */
void remote_start(void); /* call it before this process opens its IA, because it may fork */
void remote_meet(void);	/* the other side opens its IA */
void remote_end(void);	/* says good-bye; the other side's crash at this point is a failure too */
void remote_die(void);	/* kills the other process, whatever it is doing */

bool remote_is(DAT_HANDLE handle); /* a stand-in */
DAT_LMR_HANDLE remote_buf_create(DAT_PZ_HANDLE pz, size_t size, DAT_MEM_PRIV_FLAGS priv,
				 DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context,
				 DAT_VADDR *address);
void remote_buf_fill(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned int seed);
void remote_buf_set(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned char byte);
bool remote_buf_filled(DAT_LMR_HANDLE lmr, size_t offset, size_t size, unsigned int seed);
void remote_buf_read(DAT_LMR_HANDLE lmr, size_t offset, size_t size, void *data);

DAT_RETURN remote_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
DAT_RETURN remote_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN remote_pz_free(DAT_PZ_HANDLE pz);
DAT_RETURN remote_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			     DAT_EVD_HANDLE *evd);
DAT_RETURN remote_evd_free(DAT_EVD_HANDLE evd);
DAT_RETURN remote_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN remote_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			   DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN remote_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN remote_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			    DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			    DAT_EP_HANDLE *ep);
DAT_RETURN remote_ep_free(DAT_EP_HANDLE ep);
DAT_RETURN remote_ep_reset(DAT_EP_HANDLE ep);
DAT_RETURN remote_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
DAT_RETURN remote_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
				DAT_BOOLEAN *request_idle);
DAT_RETURN remote_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			     DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			     DAT_CONNECT_FLAGS flags);
DAT_RETURN remote_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
DAT_RETURN remote_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			     DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN remote_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				 DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN remote_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN remote_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			     DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN remote_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN remote_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN remote_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN remote_cr_reject(DAT_CR_HANDLE cr);
DAT_RETURN remote_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *target,
				     DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *source,
				    DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_lmr_free(DAT_LMR_HANDLE lmr);

/* In the tests and in the kit a call goes to wherever its object is. */
#ifndef REMOTE_PLAIN
#define dat_ia_close		remote_ia_close
#define dat_pz_create		remote_pz_create
#define dat_pz_free		remote_pz_free
#define dat_evd_create		remote_evd_create
#define dat_evd_free		remote_evd_free
#define dat_evd_query		remote_evd_query
#define dat_evd_wait		remote_evd_wait
#define dat_evd_dequeue		remote_evd_dequeue
#define dat_ep_create		remote_ep_create
#define dat_ep_free		remote_ep_free
#define dat_ep_reset		remote_ep_reset
#define dat_ep_query		remote_ep_query
#define dat_ep_get_status	remote_ep_get_status
#define dat_ep_connect		remote_ep_connect
#define dat_ep_disconnect	remote_ep_disconnect
#define dat_psp_create		remote_psp_create
#define dat_psp_create_any	remote_psp_create_any
#define dat_psp_free		remote_psp_free
#define dat_rsp_create		remote_rsp_create
#define dat_rsp_free		remote_rsp_free
#define dat_cr_query		remote_cr_query
#define dat_cr_accept		remote_cr_accept
#define dat_cr_reject		remote_cr_reject
#define dat_ep_post_recv	remote_ep_post_recv
#define dat_ep_post_send	remote_ep_post_send
#define dat_ep_post_rdma_write	remote_ep_post_rdma_write
#define dat_ep_post_rdma_read	remote_ep_post_rdma_read
#define dat_lmr_free		remote_lmr_free
#endif

#endif /* CONFORM_REMOTE_H */
