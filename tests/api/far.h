/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The far end of a connection: the passive side, which executes the calls of the test, in the test's
 * own process or in a peer. So one test body runs in both ways.
 *
 *	far_start(true) forks the peer, api_open() opens the IA of this side, far_open() that of the far side.
 */
#ifndef FAR_H
#define FAR_H

#include "api.h"

#define FAR_BUF_SIZE ((size_t)9 << 20)
#define FAR_DATA_MAX 1024

enum far_evd { FAR_EVD_RECV, FAR_EVD_REQUEST, FAR_EVD_CONNECT, FAR_EVD_CR };

/* What the far side has opened. This side can use the addresses and contexts for RDMA. */
struct far {
	bool forked;
	pid_t peer;
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	DAT_VADDR mem; /* its buffer of FAR_BUF_SIZE, all privileges */
	DAT_RMR_CONTEXT rmr_context;
};

extern struct far far;

/* The contents of a connection request on the far side. */
struct far_cr {
	DAT_COUNT private_data_size;
	unsigned char private_data[FAR_DATA_MAX];
	DAT_PORT_QUAL remote_port_qual;
	struct sockaddr_in remote_address;
	bool fields_ok; /* sp_handle, conn_qual, the EVD, the local EP */
};

/* Life */
void far_start(bool forked);		/* before api_open() */
void far_stop(void);			/* after api_close(); joins the peer */
void far_open(const DAT_EP_ATTR *attr); /* IA, endpoint, buffer, a PSP that listens */
void far_close_ia(void);		/* abruptly */
void far_exit(void);			/* the peer leaves its process without closing anything */

/* Connections */
DAT_RETURN far_connect(struct api_end *near, DAT_COUNT size, const void *data, DAT_TIMEOUT timeout);
struct far_cr far_cr(void); /* waits for a request, and keeps it */
DAT_RETURN far_accept(DAT_COUNT size, const void *data);
DAT_RETURN far_reject(void);
void far_pair(struct api_end *near); /* connect, accept, ESTABLISHED on both sides */
DAT_RETURN far_disconnect(DAT_CLOSE_FLAGS flags);
DAT_RETURN far_reset(void);
DAT_RETURN far_ep_free(void);
DAT_RETURN far_psp_free(void);
DAT_EP_STATE far_state(void);

/* Events; the far side itself checks that the handles in them are its own. */
DAT_RETURN far_wait(enum far_evd evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
		    DAT_COUNT *nmore);
DAT_RETURN far_dequeue(enum far_evd evd, DAT_EVENT *event);
#define FAR_CONN(number) far_conn_at(number, #number, __FILE__, __LINE__)
#define FAR_CONN_OVER()	 far_conn_over_at(__FILE__, __LINE__)
#define FAR_DTO(evd, cookie, status, length)                                                       \
	far_dto_at(evd, cookie, status, #status, length, __FILE__, __LINE__)
#define FAR_QUIET(evd) far_quiet_at(evd, __FILE__, __LINE__)
void far_conn_at(DAT_EVENT_NUMBER number, const char *name, const char *file, unsigned int line);
void far_conn_over_at(const char *file, unsigned int line);
void far_dto_at(enum far_evd evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status,
		const char *name, DAT_VLEN length, const char *file, unsigned int line);
void far_quiet_at(enum far_evd evd, const char *file, unsigned int line);

/* Transfers that the far side posts; offsets are into its buffer. */
DAT_RETURN far_recv(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN far_recv_many(int count, size_t length,
			 uint64_t first); /* receives into adjacent memory, with the cookies first, first + 1 and so on */
DAT_RETURN far_send(size_t offset, size_t length, uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN far_write(size_t offset, size_t length, DAT_RMR_TRIPLET to, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags);

/* Memory */
void far_fill(size_t offset, size_t length, uint64_t seed);
long far_mismatch(size_t offset, size_t length, uint64_t seed);
void far_clear(size_t offset, size_t length);
DAT_RMR_TRIPLET far_target(size_t offset, size_t length);
/*
 * Registers another region over a part of its buffer, in its PZ or, with other_pz, in another one
 */
DAT_RMR_CONTEXT far_lmr(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges, bool other_pz);
DAT_RETURN far_lmr_free(void); /* the last one of far_lmr() */
/* Binds an RMR on the far endpoint, and waits for the completion */
DAT_RETURN far_bind(size_t offset, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		    DAT_RMR_CONTEXT *context);
DAT_RETURN far_rmr_free(void);

#endif /* FAR_H */
