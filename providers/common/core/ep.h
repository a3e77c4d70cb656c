/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints, seen from inside libdatp.
 *
 * LOCKS. The state and the work queues are guarded by the EP lock. Ops except posts and rmr_done
 * are called without it, because a transport may take long. Code that works on an endpoint without
 * the lock, and is not the consumer's own call on it (an upcall, a timer), pins the endpoint.
 * ep_free, ep_reset and ep_modify first wait until the endpoint is not pinned, so a pinned endpoint
 * keeps its memory, its work queues, and its EVDs, except one of another IA (loan.h).
 */
#ifndef EP_H
#define EP_H

#include "core.h"
#include "evd.h"
#include "loan.h"

/* What makes an endpoint change its state. */
enum ep_cause {
	EP_CONNECT, EP_CONNECT_REFUSED,		/* dat_ep_connect; the op refused */
	EP_RESERVE, EP_UNRESERVE,		/* an RSP reserves it; gives it back */
	EP_REQUEST,				/* a connection request has arrived at its RSP */
	EP_REJECT,				/* the connection request at its RSP was rejected */
	EP_ACCEPT,				/* dat_cr_accept */
	EP_ACCEPT_REFUSED_UNC, EP_ACCEPT_REFUSED_PAS, EP_ACCEPT_REFUSED_TEN,	/* the op refused */
	EP_ESTABLISHED,
	EP_FAILED,				/* an attempt has failed, or was given up */
	EP_DRAIN,				/* graceful disconnect */
	EP_ENDED,				/* a connection has ended */
	EP_RESET,
	EP_CAUSE_COUNT
};

struct ep_priv {
	_Atomic uint64_t connects, disconnects; /* calls that have begun an attempt, and ended a connection */
	/* the events of a connection, at most one of each kind (EVD lock once queued) */
	struct conn_note established, ended;
	/* the asynchronous error about its end, queued while the endpoint is DISCONNECTED only (EVD lock once queued) */
	struct evd_note srq_end;
	struct datp_timer timer; /* of the attempt to connect, and then of an end that is put off */
	struct {
		enum ep_cause cause;
		DAT_EVENT_NUMBER number;
		bool counted; /* in ia_priv.put_off */
	} put_off;		 /* an end that waits for poll locks (service thread) */
	uint64_t give_up; /* when the attempt times out; NO_DEADLINE: never (EP lock) */
	uint64_t began;	  /* when the attempt began; constant while it lasts */
	uint32_t sq_from, rq_from;	/* the first operations since the last reset (EP lock) */
	_Atomic uint32_t pins; /* threads that work on it without the lock; counted up under the EP or the calls' lock */
	bool ending; /* a thread is ending the connection, and later reports about it are ignored (EP lock) */
	bool dying;			/* it is being freed (EP lock) */
	bool by_provider;	/* made for a PSP_PROVIDER connection request, not accepted yet (EP lock) */
	/*
	 * the sizes of messages and RDMA transfers that the program asked for, if its API does not limit
	 * posts to them; 0: none (EP lock)
	 */
	uint64_t asked_message, asked_rdma;
	/* how it was connected, for dat_ep_dup_connect() (EP lock) */
	bool active;
	struct sockaddr_storage target;
	uint64_t target_qual; /* on the passive side, the qualifier at which the connection request arrived */
	struct loop_call *calls;	/* calls that the service thread still has to make (the calls' lock) */
	/*
	 * The loan of its EVD for connections, if that is another IA's; or NULL. EP lock. Calls that create, modify or free the
	 * endpoint alone write it, and read it without the lock.
	 */
	struct loan *loan;
	bool no_calls;		/* no further call is accepted (the calls' lock) */
	/* the private data of the peer's accept, or of its rejection; valid until reset or free */
	unsigned char *pdata;
	/* during an attempt: room for max_private_data bytes of them (EP lock) */
	unsigned char *pdata_buf;
};

static inline struct ep_priv *ep_priv(struct datp_ep *ep)
{
	return OBJ_PRIV(struct ep_priv, ep);
}

/* ------------------------------------------------------------------ ep_state.c */

#define EP_IN(state) (1u << (state))

static inline int ep_state(struct datp_ep *ep)
{
	/* relaxed: a snapshot, or the EP lock is held */
	return atomic_load_explicit(&ep->state, memory_order_relaxed);
}

/* Changes the state. Returns false, and changes nothing, if the table has no such transition. EP lock held. */
bool ep_move_locked(struct datp_ep *ep, enum ep_cause cause);
/* Sets the state of a new endpoint. */
void ep_born(struct datp_ep *ep, int state);
/* Returns DAT_INVALID_STATE with the subtype that names the state. */
enum datp_err ep_state_error(int state);

/* ------------------------------------------------------------------ ep.c */

/* Returns its EVD for connections, of whichever IA, or NULL. That EVD is not freed while the lock is held. EP lock. */
static inline struct datp_evd *ep_conn_evd_locked(struct datp_ep *ep)
{
	const struct loan *loan = ep_priv(ep)->loan;

	return loan ? loan->evd : ep->connect_evd;
}

struct ep_new {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
	DAT_SRQ_HANDLE srq;
	bool with_srq;
	struct datp_ep_attr attr;	/* resolved */
	int state; /* UNCONNECTED, or TENTATIVE_CONNECTION_PENDING if the provider creates it */
};

enum datp_err ep_create(struct datp_ia *ia, const struct ep_new *what, struct datp_ep **out);
enum datp_err ep_free(struct datp_ep *ep);
enum datp_err ep_reset(struct datp_ep *ep);
void ep_status(struct datp_ep *ep, int *state, bool *recv_idle, bool *request_idle);

/* Pins the endpoint, if ep_may_be_pinned_locked() is true of it. Returns false otherwise. */
bool ep_pin(struct datp_ep *ep, unsigned int states);
/* Pins the endpoint without a check. EP lock or the calls' lock held. */
void ep_pin_locked(struct datp_ep *ep);
void ep_unpin(struct datp_ep *ep);
void ep_await_unpinned(struct datp_ep *ep);
/*
 * Cancels the calls of datp_ep_call() that have not begun; one that runs has the endpoint pinned.
 * for_ever: later ones are ignored, too.
 */
void ep_cancel_calls(struct datp_ep *ep, bool for_ever);
/* Returns true if it is live, in one of the states, and no thread is ending its connection. EP lock held. */
bool ep_may_be_pinned_locked(struct datp_ep *ep, unsigned int states);

/* ------------------------------------------------------------------ ep_attr.c */

/*
 * Replaces attributes that the program leaves to the provider (0) by defaults, and checks the others
 * against the limits of the IA, each by itself and all together. srq: the endpoint has one.
 */
enum datp_err ep_attr_resolve(struct datp_ia *ia, struct datp_ep_attr *attr, bool srq);
/* The same for the attributes of a peer's connection request; their errors are not logged. */
enum datp_err ep_attr_resolve_like(struct datp_ia *ia, struct datp_ep_attr *attr);
enum evd_stream ep_recv_stream(const struct datp_ep_attr *attr);
enum evd_stream ep_request_stream(const struct datp_ep_attr *attr);

/* Attaches the streams of an endpoint to its EVDs and holds these: all, or on an error none. A loan has its own. */
enum datp_err ep_streams_attach(const struct datp_ep *ep);
void ep_streams_detach(const struct datp_ep *ep);
/* The same for the stream of connection events alone, from whatever endpoint, to an EVD of this IA. */
enum datp_err ep_conn_attach(struct datp_ia *ia, struct datp_evd *evd);
void ep_conn_detach(struct datp_evd *evd);

/* ------------------------------------------------------------------ ep_modify.c */

/* The attributes that can be changed, as datp_ep_attr names them. */
#define EP_ATTR_FIELDS(X)                                                                          \
	X(SERVICE_TYPE, service_type)                                                              \
	X(MAX_MESSAGE_SIZE, max_message_size)                                                      \
	X(MAX_RDMA_SIZE, max_rdma_size)                                                            \
	X(QOS, qos)                                                                                \
	X(RECV_COMPLETION_FLAGS, recv_flags)                                                       \
	X(REQUEST_COMPLETION_FLAGS, request_flags)                                                 \
	X(MAX_RECV_DTOS, max_recv_dtos)                                                            \
	X(MAX_REQUEST_DTOS, max_request_dtos)                                                      \
	X(MAX_RECV_IOV, max_recv_iov)                                                              \
	X(MAX_REQUEST_IOV, max_request_iov)                                                        \
	X(MAX_RDMA_READ_IN, max_rdma_read_in)                                                      \
	X(MAX_RDMA_READ_OUT, max_rdma_read_out)                                                    \
	X(SRQ_SOFT_HW, srq_soft_hw)                                                                \
	X(MAX_RDMA_READ_IOV, max_rdma_read_iov)                                                    \
	X(MAX_RDMA_WRITE_IOV, max_rdma_write_iov)

/* One bit for each thing that can be changed: 1u << EP_FIELD_... An edge has masks of its own. */
enum ep_field {
	EP_FIELD_PZ,
	EP_FIELD_RECV_EVD,
	EP_FIELD_REQUEST_EVD,
	EP_FIELD_CONNECT_EVD,
#define X(FIELD, name) EP_FIELD_##FIELD,
	EP_ATTR_FIELDS(X)
#undef X
};

struct ep_change {
	uint32_t fields;	/* bits of enum ep_field */
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
	struct datp_ep_attr attr;
};

enum datp_err ep_modify(struct datp_ep *ep, const struct ep_change *change);

/* ------------------------------------------------------------------ ep_flush.c */

/* Allocates a ring for `max` operations; none can be posted yet. Returns false if there is no memory. */
bool wq_init(struct datp_wq *wq, int32_t max);
void wq_free(struct datp_wq *wq);

/*
 * Operations can be posted only between these two. A thread that checked the handle before finds no
 * room, neither in an endpoint that is freed meanwhile, nor in another that is being created in its
 * memory.
 */
void ep_queues_open(struct datp_ep *ep);
void ep_queues_close_locked(struct datp_ep *ep);
/* Frees queues that are closed and empty. */
void ep_queues_free(struct datp_ep *ep);

/* Completes all outstanding operations as flushed, in order. EP lock held. */
void ep_flush_locked(struct datp_ep *ep);
/* Takes the poll locks of its EVDs, and moves what the transport has completed to their lists. */
void ep_poll_lock(struct datp_ep *ep);
/*
 * The same, but the service thread waits for a moment only, and then this returns false. A thread that has a poll lock may be in
 * the transport, and there a peer may hold it up, while the service thread serves all connections.
 */
bool ep_poll_try(struct datp_ep *ep);
void ep_poll_unlock(struct datp_ep *ep);
/* Removes all its queued events, asynchronous errors too, and forgets all its operations. Poll locks held. */
void ep_purge(struct datp_ep *ep);

/* ------------------------------------------------------------------ post.c */

/* Returns true if the event of a completed operation wakes a waiter. */
bool wqe_notifies(const struct datp_wqe *wqe, bool solicited);

/* ------------------------------------------------------------------ cm.c */

/*
 * Ends a connection or an attempt, which nothing else does: changes the state, flushes, queues the event `number` (0: none), and
 * unpins the endpoint. The caller has claimed the end, has it pinned, and holds no lock. On the service thread this may return
 * before the end, which then follows when the poll locks are free.
 */
void ep_end(struct datp_ep *ep, enum ep_cause cause, DAT_EVENT_NUMBER number);
/*
 * Makes the end that was put off, if there is one and this is the service thread: it is about to wait for that end in a call of an
 * agent, and nobody else would make it. Takes the poll locks.
 */
void ep_end_put_off(struct datp_ep *ep);

#endif
