/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the API share. They include <dat/udat.h> and nothing else of the project, and test
 * the adapter that OPENDAT_TEST_IA names (soft0 if it is not set).
 *
 * A test works on one open IA, held in `api`: a suite's setup opens it, its teardown closes it
 * abruptly, which frees whatever the test left. Peers are forked before the IA is opened, and open
 * one of their own.
 */
#ifndef API_H
#define API_H

#include <pthread.h>

#include <dat/udat.h>

#include "check.h"

struct api {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR prov;
};

extern struct api api;

/* An endpoint and the three EVDs that it feeds. */
struct api_end {
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep;
};

/* Memory and the region over it. The memory is freed when the IA is closed. */
struct api_buf {
	unsigned char *mem;
	size_t size;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
};

/* What a side sends to the other side, so that it can connect and use the memory. */
struct api_offer {
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET target; /* memory that the other may use */
};

/* Two connected endpoints of one process: a connected to b. */
struct api_pair {
	struct api_end a, b;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

#define API_QUIET_MS   25 /* how long a test checks that no event comes */
#define API_ANY_LENGTH ((DAT_VLEN)-1)

char *api_ia_name(void);
void api_open(void);
void api_open_as(char *name); /* an adapter that the tests' dat.conf has for a purpose */
void api_close(void);
DAT_IA_HANDLE api_open_another(void); /* a second instance; closed with the first */
DAT_TIMEOUT api_patience(void);	      /* the bound of a wait, in microseconds */
DAT_IA_ADDRESS_PTR api_address(void); /* this IA's own */
int api_descriptors(void);	      /* how many files this process has open */

/*
 * Returns what the adapter declares about its transport, by the attribute `name`, or NULL if there is
 * none. Its provider's manual, and datconform(1), say what the attributes mean.
 */
const char *api_transport(const char *name);
bool api_declares(const char *name, const char *value);
bool api_over_verbs(void); /* a device and its driver execute the operations, and choose the status of a failure */
bool api_nothing_waits(void); /* a message without a receive ends the connection */
void api_skip_where_nothing_waits(void); /* ends the test for such an adapter */
/* Ends the test if any message wakes a thread that waits for solicited ones. */
void api_skip_where_any_message_wakes(void);

/* Objects; each REQUIREs success. */
DAT_EVD_HANDLE api_evd(DAT_COUNT qlen, DAT_EVD_FLAGS flags);
DAT_EVD_HANDLE api_evd_cno(DAT_COUNT qlen, DAT_EVD_FLAGS flags, DAT_CNO_HANDLE cno);
DAT_CNO_HANDLE api_cno(void);
DAT_PZ_HANDLE api_pz(void);
void api_end_make(struct api_end *end, const DAT_EP_ATTR *attr); /* NULL: the provider's defaults */
/* The same with the receives of `srq`. */
void api_end_make_shared(struct api_end *end, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr);
void api_end_free(struct api_end *end);
struct api_buf api_buf(size_t size, DAT_MEM_PRIV_FLAGS privileges);
struct api_buf api_buf_in(DAT_PZ_HANDLE pz, void *mem, size_t size, DAT_MEM_PRIV_FLAGS privileges);
void *api_memory(size_t size); /* zeroed, page aligned, freed with the IA */
void *api_mappable_memory(size_t size); /* the same, in a file that a peer may map */
DAT_PSP_HANDLE api_listen(DAT_EVD_HANDLE cr_evd, DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual);
DAT_CONN_QUAL api_free_qual(DAT_EVD_HANDLE cr_evd); /* no program listens there, or will by chance */

/* Connections within this process. */
void api_pair_make(struct api_pair *pair, const DAT_EP_ATTR *attr);
void api_pair_meet(struct api_pair *pair); /* connects ends that exist already */
void api_pair_connect(struct api_pair *pair); /* again, after a reset of both ends */
DAT_RETURN api_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual); /* to this IA, with a bound */
void api_connect_to(struct api_end *end, const struct sockaddr_in *address, DAT_CONN_QUAL qual);
void api_offer_make(struct api_offer *offer, DAT_EVD_HANDLE cr_evd,
		    const struct api_buf *buf); /* listens; offers the whole buffer, or none if it is NULL */
DAT_RETURN api_offer_connect(DAT_EP_HANDLE ep, const struct api_offer *offer, DAT_TIMEOUT timeout);
DAT_RMR_TRIPLET api_offer_part(const struct api_offer *offer, size_t offset, size_t length);
DAT_CR_HANDLE api_cr(DAT_EVD_HANDLE cr_evd);		      /* the next connection request */
void api_disconnect(struct api_pair *pair);		      /* and take the events of both ends */
/*
 * Sends a message of 100 bytes from a to b, with no other operation outstanding. The buffer has 300
 * bytes.
 */
void api_pair_works(const struct api_pair *pair, const struct api_buf *buf);

/* Transfers; a length of 0 is posted as no segments at all. */
DAT_LMR_TRIPLET api_seg(const struct api_buf *buf, size_t offset, size_t length);
DAT_RMR_TRIPLET api_target(const struct api_buf *buf, size_t offset, size_t length);
DAT_DTO_COOKIE api_cookie(uint64_t number);
DAT_RETURN api_recv(DAT_EP_HANDLE ep, const struct api_buf *buf, size_t offset, size_t length,
		    uint64_t cookie);
DAT_RETURN api_send(DAT_EP_HANDLE ep, const struct api_buf *buf, size_t offset, size_t length,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN api_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote,
		     uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN api_read(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET local, DAT_RMR_TRIPLET remote,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags);
void api_fill(void *mem, size_t size, uint64_t seed);
long api_mismatch(const void *mem, size_t size, uint64_t seed); /* first wrong byte, or -1 */

/*
 * From here on, the kernel refuses to copy between processes, as it does in many containers; this
 * cannot be undone. It is meant as the initialiser of a program's last suite. A thread of the
 * target then moves the data, and the notification of the test goes through the other process,
 * where the thread sanitizer cannot follow it, so the suite's setup skips its tests under that
 * sanitizer. It skips them over a device as well.
 */
int api_forbid_copies(void);
void api_skip_where_threads_copy(void);

/* Posts a software event, the simplest event to make. */
DAT_RETURN api_post_se(DAT_EVD_HANDLE evd, uint64_t number);

/* Takes the next event of an EVD; waits for it with a bound. */
#define API_EVENT(evd, event)	  api_event_at(evd, event, __FILE__, __LINE__)
/* Takes the next event, which has to be this connection event of this endpoint (DAT_HANDLE_NULL: of any). */
#define API_CONN(evd, ep, number) api_conn_at(evd, ep, number, #number, __FILE__, __LINE__)
/* Takes the next event, which has to be this completion. The length is checked only if the status is DAT_DTO_SUCCESS. */
#define API_DTO(evd, ep, cookie, status, length)                                                   \
	api_dto_at(evd, ep, cookie, status, #status, length, __FILE__, __LINE__)
#define API_BIND(evd, rmr, cookie, status)                                                         \
	api_bind_at(evd, rmr, cookie, status, #status, __FILE__, __LINE__)
/* Takes the completion of an RDMA operation that the other side has refused, which breaks the connection of this end. */
#define API_REFUSED(end, cookie) api_refused_at(end, cookie, __FILE__, __LINE__)
#define API_SE(evd, number)    api_se_at(evd, number, __FILE__, __LINE__)
/* Takes the next event, which has to be DISCONNECTED or BROKEN: the connection is over, whatever ended it. */
#define API_CONN_OVER(evd, ep) api_conn_over_at(evd, ep, __FILE__, __LINE__)
/* Checks that no event is queued now. */
#define API_EMPTY(evd)	       api_empty_at(evd, __FILE__, __LINE__)
/* Checks that no event is queued, and that none comes for a while. */
#define API_QUIET(evd)	       api_quiet_at(evd, __FILE__, __LINE__)
/* Checks the state that dat_ep_get_status and dat_ep_query report. */
#define API_STATE(ep, state)   api_state_at(ep, state, #state, __FILE__, __LINE__)

void api_event_at(DAT_EVD_HANDLE evd, DAT_EVENT *event, const char *file, unsigned int line);
DAT_EVENT api_conn_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number,
		      const char *name, const char *file, unsigned int line);
void api_dto_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		DAT_DTO_COMPLETION_STATUS status, const char *name, DAT_VLEN length,
		const char *file, unsigned int line);
void api_bind_at(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		 DAT_DTO_COMPLETION_STATUS status, const char *name, const char *file,
		 unsigned int line);
void api_refused_at(const struct api_end *end, uint64_t cookie, const char *file, unsigned int line);
void api_se_at(DAT_EVD_HANDLE evd, uint64_t number, const char *file, unsigned int line);
void api_conn_over_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, const char *file, unsigned int line);
void api_empty_at(DAT_EVD_HANDLE evd, const char *file, unsigned int line);
void api_quiet_at(DAT_EVD_HANDLE evd, const char *file, unsigned int line);
void api_state_at(DAT_EP_HANDLE ep, DAT_EP_STATE state, const char *name, const char *file,
		  unsigned int line);
DAT_EP_STATE api_state(DAT_EP_HANDLE ep);

/* A thread that waits on an EVD or a CNO. */
struct api_waiter {
	pthread_t thread;
	pid_t tid; /* set when the thread runs */
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno; /* waits on this one when it is set */
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret; /* from here on: valid after api_wait_end() */
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_EVD_HANDLE hint;
	bool done; /* the wait returned; atomic */
};

void api_wait_start(struct api_waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold);
void api_cno_wait_start(struct api_waiter *waiter, DAT_CNO_HANDLE cno);
bool api_wait_done(struct api_waiter *waiter);
void api_wait_end(struct api_waiter *waiter); /* joins with a bound */

#endif /* API_H */
