/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The remote end of a connection: the passive side, which executes the calls of the test, in the test's
 * own process or in a peer. So one test body runs in both ways.
 *
 *	remote_start(true) forks the peer, api_open() opens the IA of this side, remote_open() that of the remote side.
 */
#ifndef REMOTE_H
#define REMOTE_H

#include "api.h"

#define REMOTE_BUF_SIZE ((size_t)9 << 20)
#define REMOTE_DATA_MAX 1024

enum remote_evd { REMOTE_EVD_RECV, REMOTE_EVD_REQUEST, REMOTE_EVD_CONNECT, REMOTE_EVD_CR };

/* What the remote side has opened. This side can use the addresses and contexts for RDMA. */
struct remote {
	bool forked;
	pid_t peer;
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	DAT_VADDR mem; /* its buffer of REMOTE_BUF_SIZE, all privileges */
	DAT_RMR_CONTEXT rmr_context;
};

extern struct remote remote;

/* The contents of a connection request on the remote side. */
struct remote_cr {
	DAT_COUNT private_data_size;
	unsigned char private_data[REMOTE_DATA_MAX];
	DAT_PORT_QUAL remote_port_qual;
	struct sockaddr_in remote_address;
	bool fields_ok; /* sp_handle, conn_qual, the EVD, the local EP */
};

/* Life */
void remote_start(bool forked);		/* before api_open() */
void remote_stop(void);			/* after api_close(); joins the peer */
void remote_open(const DAT_EP_ATTR *attr); /* IA, endpoint, buffer, a PSP that listens */
void remote_close_ia(void);		/* abruptly */
void remote_exit(void);			/* the peer leaves its process without closing anything */

/* Connections */
DAT_RETURN remote_connect(struct api_end *local, DAT_COUNT size, const void *data, DAT_TIMEOUT timeout);
struct remote_cr remote_cr(void); /* waits for a request, and keeps it */
DAT_RETURN remote_accept(DAT_COUNT size, const void *data);
DAT_RETURN remote_reject(void);
void remote_pair(struct api_end *local); /* connect, accept, ESTABLISHED on both sides */
DAT_RETURN remote_disconnect(DAT_CLOSE_FLAGS flags);
DAT_RETURN remote_reset(void);
DAT_RETURN remote_ep_free(void);
DAT_RETURN remote_psp_free(void);
DAT_EP_STATE remote_state(void);

/* Events; the remote side itself checks that the handles in them are its own. */
DAT_RETURN remote_wait(enum remote_evd evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
		       DAT_COUNT *nmore);
DAT_RETURN remote_dequeue(enum remote_evd evd, DAT_EVENT *event);
#define REMOTE_CONN(number) remote_conn_at(number, #number, __FILE__, __LINE__)
#define REMOTE_CONN_OVER()	 remote_conn_over_at(__FILE__, __LINE__)
#define REMOTE_DTO(evd, cookie, status, length)                                                    \
	remote_dto_at(evd, cookie, status, #status, length, __FILE__, __LINE__)
#define REMOTE_QUIET(evd) remote_quiet_at(evd, __FILE__, __LINE__)
void remote_conn_at(DAT_EVENT_NUMBER number, const char *name, const char *file, unsigned int line);
void remote_conn_over_at(const char *file, unsigned int line);
void remote_dto_at(enum remote_evd evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status,
		   const char *name, DAT_VLEN length, const char *file, unsigned int line);
void remote_quiet_at(enum remote_evd evd, const char *file, unsigned int line);

/* Transfers that the remote side posts; offsets are into its buffer. */
DAT_RETURN remote_recv(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_recv_many(int count, size_t length,
			    uint64_t first); /* receives into adjacent memory, with the cookies first, first + 1 and so on */
DAT_RETURN remote_send(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN remote_write(size_t offset, size_t length, DAT_RMR_TRIPLET to, uint64_t cookie,
			DAT_COMPLETION_FLAGS flags);

/* Memory */
void remote_fill(size_t offset, size_t length, uint64_t seed);
long remote_mismatch(size_t offset, size_t length, uint64_t seed);
void remote_clear(size_t offset, size_t length);
DAT_RMR_TRIPLET remote_target(size_t offset, size_t length);
/*
 * Registers another region over a part of its buffer, in its PZ or, with other_pz, in another one
 */
DAT_RMR_CONTEXT remote_lmr(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges, bool other_pz);
DAT_RETURN remote_lmr_free(void); /* the last one of remote_lmr() */
/* Binds an RMR on the remote endpoint, and waits for the completion */
DAT_RETURN remote_bind(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		       DAT_RMR_CONTEXT *context);
DAT_RETURN remote_rmr_free(void);

#endif /* REMOTE_H */
