/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the loopback transport share: its part of each object, and its one lock.
 * core_loopback.c has the plugin and the endpoints, core_loopback_evd.c the polls,
 * core_loopback_data.c the posts, core_loopback_cm.c the connections.
 */
#ifndef CORE_LOOPBACK_PRIV_H
#define CORE_LOOPBACK_PRIV_H

#include <pthread.h>

#include "core_loopback.h"

/* A message, or a completion, that waits to be polled. */
struct item {
	struct item *next;
	struct datp_wqe *wqe;		/* completion */
	uint8_t status;
	bool solicited;
	uint64_t len;
	unsigned char data[];
};

struct queue {
	struct item *first, **last;
};

/* A posted receive. */
struct lo_recv {
	struct lo_recv *next;
	struct datp_wqe *wqe;
	int n;
	struct datp_sge iov[8];
};

struct lo_recvs {
	struct lo_recv *first, **last;
};

/* A connection, from the request on. */
struct link {
	struct lo_ep *ep[2];		/* the active one first; NULL: not yet, or not any more */
	int refs;
	bool up, dead;
	uint32_t pdata_len;
	unsigned char pdata[256];
};

struct lo_ep {
	struct datp_ep base;
	struct lo_ep *next;
	struct link *link;
	int side, upcalls;
	bool over; /* one of libdatp and the transport has ended the connection: no operation completes any more */
	struct queue inbox;
	struct lo_recvs recvs;
};

struct lo_evd {
	struct datp_evd base;
	struct queue done;
	enum datp_arm armed;
	int jobs;
};

struct lo_sp {
	struct datp_sp base;
	struct lo_sp *next;
	int upcalls;
};

struct lo_cr {
	struct datp_cr base;
	struct link *link;
};

struct lo_srq {
	struct datp_srq base;
	struct lo_recvs recvs;		/* SRQ lock */
	int32_t count;
};

extern pthread_mutex_t lo_wire;	/* all of the above, and the list of endpoints */
extern pthread_cond_t lo_idle;
extern struct lo_ep *lo_eps;

void lo_put(struct queue *queue, struct item *item);
struct item *lo_take(struct queue *queue);
struct lo_recv *lo_recv_make(struct datp_wqe *wqe, const struct datp_sge *iov, int n);
void lo_recv_put(struct lo_recvs *recvs, struct lo_recv *recv);
struct lo_recv *lo_recv_take(struct lo_recvs *recvs);
void lo_queues_empty(struct queue *queue, struct lo_recvs *recvs);

/* Wakes a waiter, because there is something to poll. */
void lo_ring_locked(struct datp_evd *evd);

/* Delivers what waits in an endpoint's inbox. The poll lock of its EVD is held. */
void lo_pump(struct lo_ep *ep);

/* Posts a job for a service thread. Posts nothing if that side does not exist any more. */
enum job_kind { JOB_REQUEST, JOB_ESTABLISHED, JOB_FAILED, JOB_OVER };

struct job *lo_job_post_locked(enum job_kind kind, struct link *link, int side,
			       DAT_EVENT_NUMBER why, const void *pdata, uint32_t pdata_len,
			       uint64_t qual);
void lo_link_put_locked(struct link *link);

/* Each file puts its own ops into the table. */
void lo_evd_ops(struct datp_ops *ops);
void lo_data_ops(struct datp_ops *ops);
void lo_cm_ops(struct datp_ops *ops);

#endif
