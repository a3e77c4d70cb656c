/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/provider.h>: the provider SDK, the one header a uDAPL provider plugin includes.
 *
 * A plugin supplies a `struct datp_ops` with the operations of its transport. On top of these ops libdatp
 * implements the standard's semantics, once for all transports: parameter and handle checks, state machines,
 * event queues, service points, connection requests, timers, contexts, flushes. A whole plugin:
 *
 *	#include <datp/provider.h>
 *	static enum datp_err my_ia_open(struct datp_ia *ia, const char *params) { ... }
 *	static const struct datp_ops my_ops = { .ia_open = my_ia_open, ... };
 *	DATP_PROVIDER("my", my_ops)
 *
 * THE GUARANTEE. A plugin built against this header loads in every later libdatp.so.0, also in one of a later major
 * version of the SDK. struct datp_ops is sized: libdatp zero-fills its own copy and takes the smaller size, so an
 * older plugin gets defaults, and the tail of a newer one is ignored. Slots are only appended, never moved. Public
 * heads do not change at all: your part begins where the head ends. What libdatp adds later goes into its own part.
 * The other structs do not grow either, unless they have a size: what a later SDK says more about an IA comes in
 * struct datp_ext_attr, and what it says more about a connection comes with a new op or upcall.
 *
 * OBJECTS. libdatp allocates every object in type-stable memory: [libdatp's part][public head][your
 * part]. The handle is the address of the public head, whose first word is the DAT_PROVIDER table.
 * You say in the ops how large your own object is, `sizeof(struct my_ep)`, whose first member is
 * the public head (`struct datp_ep base`); your part is zeroed at creation. Public fields are
 * read-only for plugins.
 *
 * LOCK ORDER, stated here once for the whole project (left is taken first):
 *
 *	catalogue > IA > poll lock of an EVD > service point > EP > SRQ > async of an IA > EVD > CNO
 *
 * The poll lock of an EVD serialises evd_poll, and with it the transport's own completion queue. A lock that
 * belongs to the transport comes after EP and before EVD, unless it is held only around the transport's own
 * data. One that no op takes with a lock of libdatp held may come before all of these, and only under such a lock
 * may a thread hold two EP locks. The comment of each upcall (datp_*) says which locks it takes: the caller must
 * not hold any that comes later in the order.
 *
 * TOOLBOX. Headers of their own have what most transports need: <datp/options.h> reads the instance data of a line in
 * dat.conf, <datp/lmr_table.h> finds LMRs by their contexts, <datp/timer.h> has timers, <datp/fork.h> keeps
 * descriptors from children, and <datp/bias.h> has locks for the data path.
 *
 * THREADS. Ops are called on consumers' threads, or on the IA's service thread where the comment of the op says
 * so. Each IA has one service thread (datp_loop_*). It does connection management and notification, and never
 * moves data.
 */
#ifndef DATP_PROVIDER_H
#define DATP_PROVIDER_H

#ifdef __cplusplus
/*
 * C++ before C++23 has no <stdatomic.h>. What follows declares the same as the header of C++23: the names of C,
 * defined by std::atomic, which the C++ libraries lay out as C does.
 */
#include <atomic>
#include <type_traits>
#ifndef _Atomic
#define _Atomic(type) std::atomic<type>
#endif
using std::atomic_compare_exchange_strong_explicit;
using std::atomic_compare_exchange_weak_explicit;
using std::atomic_exchange_explicit;
using std::atomic_fetch_add_explicit;
using std::atomic_load_explicit;
using std::atomic_signal_fence;
using std::atomic_store_explicit;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
#define DATP_STATIC_ASSERT(...) static_assert(__VA_ARGS__)
#else
#include <stdatomic.h>
#define DATP_STATIC_ASSERT(...) _Static_assert(__VA_ARGS__)
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <dat/udat.h>
#include <dat/dat_registry.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DATP_SDK_MAJOR 1
#define DATP_SDK_MINOR 0

#define DATP_API __attribute__((visibility("default")))

#include <datp/errors.h>
#include <datp/ext.h>

/* ------------------------------------------------------------------ objects */

/* Values of DAT_HANDLE_TYPE. */
enum datp_type {
	DATP_CR = DAT_HANDLE_TYPE_CR,
	DATP_EP = DAT_HANDLE_TYPE_EP,
	DATP_EVD = DAT_HANDLE_TYPE_EVD,
	DATP_IA = DAT_HANDLE_TYPE_IA,
	DATP_LMR = DAT_HANDLE_TYPE_LMR,
	DATP_PSP = DAT_HANDLE_TYPE_PSP,
	DATP_PZ = DAT_HANDLE_TYPE_PZ,
	DATP_RMR = DAT_HANDLE_TYPE_RMR,
	DATP_RSP = DAT_HANDLE_TYPE_RSP,
	DATP_CNO = DAT_HANDLE_TYPE_CNO,
	DATP_SRQ = DAT_HANDLE_TYPE_SRQ,
	DATP_TYPE_COUNT
};

/* The value of datp_obj.tag in a live object of each type. A freed object has 0 there. */
#define DATP_TAG(type) (0x0DA70000u | (uint32_t)(type))

struct datp_ia;
struct datp_ops;

struct datp_obj {
	/* the frozen table of an API. NULL after the object is freed, so that libdat refuses the handle */
	const void *vtable;
	_Atomic(uint32_t) tag; /* DATP_TAG(type) or 0 */
	uint32_t gen;	      /* counts how often this memory has been reused */
	struct datp_ia *ia;   /* the owner; in an IA, the IA itself */
	/* belongs to the consumer, which serialises access to it (the calls are "unsafe") */
	DAT_CONTEXT context;
	/* the number of objects that depend on this one. It cannot be freed unless this is 0 */
	_Atomic(uint32_t) users;
	uint32_t reserved;
};

struct datp_ia {
	struct datp_obj obj;
	const struct datp_ops *ops;	 /* libdatp's completed copy: no slot is NULL */
	const char *name;		 /* as in dat.conf; valid while open */
	struct sockaddr_storage address; /* set by ia_open: the IA's own address, port 0 */
};

struct datp_pz {
	struct datp_obj obj;
};

struct datp_lmr {
	struct datp_obj obj;
	struct datp_pz *pz;
	DAT_MEM_TYPE mem_type;
	DAT_MEM_PRIV_FLAGS priv;
	uint64_t addr, len;   /* the registered range */
	uint32_t lmr_context; /* set by lmr_create: 1 .. 2^31-1 */
	/* set by lmr_create. libdatp returns 0 to a program that requested no remote right */
	uint32_t rmr_context;
};

struct datp_rmr {
	struct datp_obj obj;
	struct datp_pz *pz;
	/* the LMR of the last successful bind, or NULL. A lock of libdatp guards this and the fields below */
	struct datp_lmr *lmr;
	uint64_t addr, len;
	DAT_MEM_PRIV_FLAGS priv;
	uint32_t rmr_context;
};

/*
 * A scatter/gather entry. It has the layout of DAT_LMR_TRIPLET, so that the 1.2 edge passes a program's list
 * without a copy.
 */
struct datp_sge {
	uint32_t lmr_context;
	uint32_t pad;
	uint64_t addr;
	uint64_t len;
};

/* The remote segment of an RDMA operation. It has the layout of DAT_RMR_TRIPLET. */
struct datp_rge {
	uint32_t rmr_context;
	uint32_t pad;
	uint64_t addr;
	uint64_t len;
};

enum datp_op { DATP_SEND, DATP_RECV, DATP_RDMA_WRITE, DATP_RDMA_READ, DATP_BIND };

/*
 * An element of an EVD's queue. It is embedded in the object that the event is about, so that queueing an event
 * never allocates.
 */
struct datp_node {
	struct datp_node *next; /* EVD lock */
	uint16_t kind;		/* libdatp's */
	uint16_t flags;		/* libdatp's */
	uint32_t number;	/* libdatp's: DAT_EVENT_NUMBER or op */
};

/* datp_wqe.done */
enum { DATP_WQE_OPEN, DATP_WQE_DONE, DATP_WQE_SILENT };

/*
 * A posted operation (DTO or bind), from its post until its slot is given back; also the storage of its
 * completion event. It lies in the ring of its EP or SRQ. A transport may keep its address while the operation
 * is outstanding, for example as wr_id, and hands it back in a completion.
 */
struct datp_wqe {
	struct datp_node node;
	struct datp_ep *ep; /* NULL in a receive of an SRQ that no EP has taken */
	DAT_CONTEXT cookie;
	uint64_t len;	    /* bytes transferred */
	uint32_t seq;	    /* its position in the ring; never reset */
	uint8_t op;	    /* enum datp_op, enum datp_ext_op */
	uint8_t post_flags; /* DAT_COMPLETION_FLAGS as posted */
	uint8_t status;	    /* DAT_DTO_COMPLETION_STATUS */
	/* outstanding, completed, or completed without an event (EP lock) */
	_Atomic(uint8_t) done;
	union {
		struct datp_rmr *rmr; /* DATP_BIND */
		uint32_t imm;	      /* a receive with DATP_WQE_IMMEDIATE (since SDK 0.7) */
		uint32_t rmr_context; /* one with DATP_WQE_INVALIDATED as well (since SDK 0.9) */
	};
};

/* A ring of posted operations. The EP lock (or the SRQ lock) guards all fields except `reaped`. */
struct datp_wq {
	struct datp_wqe *ring; /* `mask + 1` elements */
	uint32_t mask;
	/*
	 * The depth that the program asked for: the number of operations that can be outstanding. It is 0 until
	 * ep_create has returned, and again from ep_free on, so that posts are refused then. ep_create reads
	 * the depths from ep->attr.
	 */
	uint32_t max;
	uint32_t posted;   /* operations ever posted */
	uint32_t finished; /* operations ever completed, reaped or not */
	/*
	 * slots ever given back. Stored with release by the thread that reaps, loaded with acquire by the
	 * thread that posts
	 */
	_Atomic(uint32_t) reaped;
};

struct datp_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_QOS qos;
	uint64_t max_message_size, max_rdma_size;
	DAT_COMPLETION_FLAGS recv_flags, request_flags;
	int32_t max_recv_dtos, max_request_dtos, max_recv_iov, max_request_iov;
	/* From ESTABLISHED to ep_reset the transport may store the negotiated values in these two (EP lock). */
	int32_t max_rdma_read_in, max_rdma_read_out;
	int32_t srq_soft_hw, max_rdma_read_iov, max_rdma_write_iov;
};

struct datp_evd {
	struct datp_obj obj;
	DAT_EVD_FLAGS flags;
	/* the poll lock: held around evd_poll and while the completions that it found are delivered */
	_Atomic(uint32_t) poll_lock;
	_Atomic(uint32_t) queued; /* nodes on libdatp's list; a hint outside the EVD lock */
	_Atomic(uint32_t) waiter; /* 1: a consumer is inside evd_wait */
	/*
	 * Waiters sleep on this word, which is incremented before each wake. By default it is a word of
	 * libdatp's. In evd_create a transport may point it into memory that it shares with its peers, and then
	 * sets bell_shared.
	 */
	_Atomic(uint32_t) *bell;
	bool bell_shared;
	/* true if the transport has to be polled for completions (DTO or RMR_BIND flag) */
	bool has_cq;
	/* without it, the first fields of a C++ class derived from this head would lie in the head's padding */
	uint8_t reserved[6];
};

struct datp_srq {
	struct datp_obj obj;
	struct datp_pz *pz;
	_Atomic(uint32_t) lock; /* the SRQ lock */
	int32_t max_recv_dtos, max_recv_iov, low_watermark;
	uint32_t outstanding;  /* receives posted and not yet reaped (SRQ lock) */
	struct datp_wqe *free; /* unused elements, through node.next (SRQ lock) */
};

struct datp_ep {
	struct datp_obj obj;
	/* DAT_EP_STATE; written by libdatp only, under the EP lock */
	_Atomic(int) state;
	_Atomic(uint32_t) lock; /* the EP lock: datp_lock()/datp_unlock() */
	struct datp_pz *pz;
	struct datp_evd *recv_evd, *request_evd, *connect_evd;
	struct datp_srq *srq;
	struct datp_ep_attr attr;
	struct datp_wq rq, sq;
	struct sockaddr_storage remote_address; /* EP lock */
	/* port qualifiers. The transport sets them: in ep_create, or later under the EP lock */
	uint64_t local_port, remote_port;
	/* receives taken from the SRQ (datp_srq_take) and not yet reaped */
	_Atomic(uint32_t) held;
	uint32_t reserved; /* as in struct datp_evd */
};

struct datp_sp { /* a PSP or RSP */
	struct datp_obj obj;
	uint64_t qual;
	struct datp_evd *evd;
	struct datp_ep *ep; /* RSP: the reserved endpoint */
};

struct datp_cr {
	struct datp_obj obj;
	struct datp_sp *sp; /* the service point that it arrived at; NULL once that is freed */
	uint64_t qual;
	struct sockaddr_storage remote_address;
	uint64_t remote_port;
	uint32_t pdata_len;
	unsigned char *pdata;
	struct datp_ep *ep; /* PSP_PROVIDER's new or RSP's reserved endpoint, or NULL */
};

/* ------------------------------------------------------------------ attributes */

/*
 * The transport's capabilities. ia_query() fills them in from the device; use constants only where there is no
 * device.
 */
struct datp_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH], vendor_name[DAT_NAME_MAX_LENGTH];
	uint32_t hw_major, hw_minor, fw_major, fw_minor;
	int32_t max_eps, max_dto_per_ep, max_rdma_read_per_ep_in, max_rdma_read_per_ep_out;
	int32_t max_evds, max_evd_qlen, max_iov_per_dto, max_lmrs, max_pzs, max_rmrs, max_srqs;
	int32_t max_ep_per_srq, max_recv_per_srq, max_iov_per_rdma_read, max_iov_per_rdma_write;
	int32_t max_rdma_read_in, max_rdma_read_out;
	bool read_in_guaranteed, read_out_guaranteed;
	uint64_t max_lmr_block, max_lmr_address, max_message_size, max_rdma_size, max_rmr_address;
	uint32_t max_private_data;
	uint32_t optimal_alignment;
	bool srq_supported, srq_watermarks, srq_pz_difference, srq_info, ep_recv_info;
	bool lmr_sync_required, async_return_guaranteed, write_for_read_required;
	const DAT_NAMED_ATTR *transport_attr, *provider_attr; /* valid while the IA is open */
	int32_t transport_attr_count, provider_attr_count;
};

/* ------------------------------------------------------------------ connections */

struct datp_conn_param {
	/* ep_connect: the address of the remote IA. Its port is ignored */
	const struct sockaddr *address;
	uint64_t qual;
	const void *pdata; /* valid during the call */
	uint32_t pdata_len; /* at most max_private_data, here and in cr_accept */
};

/* An incoming connection request, for datp_cm_request(), which copies everything in it. */
struct datp_cm_arrival {
	const struct sockaddr *address;
	uint64_t remote_port;
	const void *pdata;
	uint32_t pdata_len;
	/* attributes of the active endpoint, used for PSP_PROVIDER endpoints. May be NULL */
	const struct datp_ep_attr *attr;
	/*
	 * Fills in the transport's part of the new CR. libdatp calls it before the program can see the event,
	 * and so before cr_accept or cr_reject can be called. Locks held: service point. May be NULL.
	 */
	void (*prepare)(struct datp_cr *cr, void *arg);
	void *arg;
};

enum datp_close {
	DATP_CLOSE_GRACEFUL, /* finish the posted requests, then call datp_cm_disconnected() */
	DATP_CLOSE_ABRUPT,   /* at once: libdatp flushes when the op returns */
	DATP_CLOSE_ABORT     /* give up an establishment (disconnect, timeout, free) */
};

enum datp_arm {
	DATP_ARM_NONE, /* no notification */
	/* a thread is about to sleep on `bell`: wake it upon the next completion */
	DATP_ARM_WAITER,
	DATP_ARM_CNO /* call datp_evd_notify() upon the next completion */
};

/* A polled completion. */
struct datp_completion {
	struct datp_wqe *wqe;
	uint64_t len;
	uint8_t status; /* DAT_DTO_COMPLETION_STATUS */
	bool solicited; /* a receive whose send asked for SOLICITED_WAIT */
};

/* ------------------------------------------------------------------ the ops */

/*
 * Bits of datp_ops.needs: features of libdatp that the plugin cannot work without. If libdatp does not know one
 * of the bits, it refuses to load the plugin, and names the bit.
 */
#define DATP_NEED_NONE 0u

/* Bits of datp_ops.traits: how the transport behaves. */
/*
 * The bit 1u is reserved: up to SDK 0.4 it was DATP_TRAIT_HW_FLUSH, under which posts took no EP lock.
 * libdatp refuses a plugin that sets it, because the code that its headers have inlined still takes no lock.
 */
#define DATP_TRAIT_RESERVED 1u
/*
 * The transport does not take the SRQ lock when messages arrive, so libdatp biases it to the thread
 * that posts receives; see <datp/bias.h>. Since SDK 0.3.
 */
#define DATP_TRAIT_SRQ_BIASED 2u

struct datp_ops {
	uint32_t needs;	 /* DATP_NEED_* */
	uint32_t traits; /* DATP_TRAIT_* */
	/* the sizes of the objects, by DATP_SIZE(); 0 if the transport adds no fields */
	uint32_t ia_size, pz_size, evd_size, ep_size, lmr_size, rmr_size, srq_size, sp_size,
		cr_size;

	/*
	 * IA. REQUIRED: ia_open, ia_close, ia_query. ia_open gets the instance data of the line in dat.conf,
	 * without the words that begin with allow= or counters=, which libdatp handles (dat.conf(5)). A later
	 * libdatp takes no others, unless they begin with dat_. ia_open sets ia->address and may add watches with
	 * datp_loop_add(). ia_close is called when every object has been freed and the service thread has been
	 * joined; it cannot fail.
	 */
	enum datp_err (*ia_open)(struct datp_ia *ia, const char *params);
	void (*ia_close)(struct datp_ia *ia);
	void (*ia_query)(struct datp_ia *ia, struct datp_ia_attr *attr);

	/* Protection zones. Default: nothing to do. */
	enum datp_err (*pz_create)(struct datp_pz *pz);
	void (*pz_free)(struct datp_pz *pz);

	/*
	 * Memory. REQUIRED: lmr_create, lmr_free. libdatp sets addr, len, priv, pz and mem_type before it calls
	 * lmr_create. lmr_create registers the memory and sets both contexts; it may widen addr and len to the
	 * range that is really registered. `cookie` points to the 40 bytes of DAT_LMR_COOKIE for
	 * SHARED_VIRTUAL, else it is NULL. After lmr_free has returned, no peer accesses the memory.
	 */
	enum datp_err (*lmr_create)(struct datp_lmr *lmr, const void *cookie);
	void (*lmr_free)(struct datp_lmr *lmr);
	/* Returns the LMR with this context, or NULL. REQUIRED, unless lmr_table is set (<datp/lmr_table.h>). */
	struct datp_lmr *(*lmr_find)(struct datp_ia *ia, uint32_t lmr_context);

	/* RMRs (memory windows). Default: DATP_ERR_MODEL. rmr_free unbinds first. */
	enum datp_err (*rmr_create)(struct datp_rmr *rmr);
	void (*rmr_free)(struct datp_rmr *rmr);

	/*
	 * Event queues. evd_create is called for every EVD; an EVD with has_cq gets completions.
	 * Default of evd_create, evd_resize and evd_free: they do nothing.
	 *
	 * evd_poll (REQUIRED) is called only for EVDs with has_cq, with the poll lock held and no other. It
	 * takes up to n completions and returns how many it took. Each of them has been passed to
	 * datp_wqe_finish() under its EP lock. It may also complete operations with datp_wqe_done() and return
	 * 0. This is where the transport makes progress.
	 *
	 * evd_pending returns false if evd_poll would find nothing. It takes no lock and must be cheap, because
	 * programs poll in loops. Default: always true.
	 *
	 * evd_arm is called with the poll lock held; see enum datp_arm. It returns true if a completion may
	 * already be there; libdatp then polls again. An EVD stays armed until the next call of evd_arm;
	 * libdatp arms it again after each wake-up or notification.
	 *
	 * evd_sleep blocks until *bell differs from `seen`, until a completion may be there, or
	 * until the deadline, an absolute time of CLOCK_MONOTONIC (NULL: there is none). It returns
	 * 0, ETIMEDOUT or EINTR. It is a cancellation point, for threads with asynchronous
	 * cancellation too, so it holds no lock and allocates nothing. Default: a futex on *bell.
	 *
	 * evd_wake wakes the sleepers after libdatp has incremented *bell. Default: a futex.
	 */
	enum datp_err (*evd_create)(struct datp_evd *evd, int32_t qlen);
	enum datp_err (*evd_resize)(struct datp_evd *evd, int32_t qlen);
	void (*evd_free)(struct datp_evd *evd);
	int (*evd_poll)(struct datp_evd *evd, struct datp_completion *out, int n);
	bool (*evd_pending)(struct datp_evd *evd);
	bool (*evd_arm)(struct datp_evd *evd, enum datp_arm arm, bool solicited_only);
	int (*evd_sleep)(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline);
	void (*evd_wake)(struct datp_evd *evd);

	/*
	 * Shared receive queues. Default: DATP_ERR_MODEL. srq_post_recv is called with the SRQ lock held. When
	 * an endpoint takes a receive, the transport calls datp_srq_take() (EP lock). srq_query may make
	 * progress first, so that messages that have arrived count; it sets *available to -1 if the number is
	 * not known. srq_set_lw and ep_set_watermark arm events, which the transport reports with
	 * datp_srq_low() and datp_ep_high(). libdatp has checked the counts before it calls srq_resize.
	 */
	enum datp_err (*srq_create)(struct datp_srq *srq);
	enum datp_err (*srq_resize)(struct datp_srq *srq, int32_t max_recv_dtos);
	void (*srq_free)(struct datp_srq *srq);
	enum datp_err (*srq_post_recv)(struct datp_srq *srq, struct datp_wqe *wqe,
				       const struct datp_sge *iov, int n);
	enum datp_err (*srq_query)(struct datp_srq *srq, int32_t *available);
	enum datp_err (*srq_set_lw)(struct datp_srq *srq, int32_t low_watermark);

	/*
	 * Endpoints. REQUIRED: ep_create, ep_free. libdatp sets ep->attr, pz, EVDs and srq before
	 * ep_create.
	 *
	 * ep_modify is called before attributes, PZ or EVDs change to those of `next`. The endpoint is not
	 * connected. If it succeeds, libdatp stores them. Default: does nothing.
	 *
	 * ep_reset takes an endpoint from DISCONNECTED to UNCONNECTED: it forgets the old
	 * connection, and the endpoint can be connected again.
	 *
	 * ep_free is called in any state. If there is a connection, it ends it so that the peer is told.
	 */
	enum datp_err (*ep_create)(struct datp_ep *ep);
	enum datp_err (*ep_modify)(struct datp_ep *ep, const struct datp_ep *next);
	enum datp_err (*ep_reset)(struct datp_ep *ep);
	void (*ep_free)(struct datp_ep *ep);
	enum datp_err (*ep_recv_query)(struct datp_ep *ep, int32_t *allocated, int32_t *span);
	enum datp_err (*ep_set_watermark)(struct datp_ep *ep, int32_t soft, int32_t hard);

	/*
	 * The data path. REQUIRED: post_send, post_recv, post_rdma_write, post_rdma_read. The
	 * default of rmr_bind is DATP_ERR_MODEL. They are called with the EP lock held, after
	 * libdatp has checked handle, state, flags, counts and queue depth; `wqe` is filled in. A
	 * return value other than DATP_OK says that nothing was posted and no completion comes.
	 *
	 * The transport checks local segments. It returns DATP_ERR_PROTECTION for another PZ,
	 * DATP_ERR_BAD_SEGMENTS for memory outside the LMR, and DATP_ERR_PRIV_READ or DATP_ERR_PRIV_WRITE for a
	 * missing right; or it completes the operation with an error later. datp(7) has the order of these
	 * checks.
	 *
	 * The transport may complete the operation within the call, by datp_wqe_done(), or later through
	 * evd_poll. Requests of an EP complete in order, and so do its receives. An operation with
	 * BARRIER_FENCE starts after all earlier RDMA reads have completed.
	 *
	 * rmr_bind with length 0 unbinds. It sets *context to the new context before the bind can
	 * complete; *context stays valid until then. What the RMR was bound to before stays valid
	 * until rmr_done.
	 */
	enum datp_err (*post_send)(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n);
	enum datp_err (*post_recv)(struct datp_ep *ep, struct datp_wqe *wqe,
				   const struct datp_sge *iov, int n);
	enum datp_err (*post_rdma_write)(struct datp_ep *ep, struct datp_wqe *wqe,
					 const struct datp_sge *iov, int n,
					 const struct datp_rge *remote);
	enum datp_err (*post_rdma_read)(struct datp_ep *ep, struct datp_wqe *wqe,
					const struct datp_sge *iov, int n,
					const struct datp_rge *remote);
	enum datp_err (*rmr_bind)(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
				  struct datp_lmr *lmr, uint64_t addr, uint64_t len,
				  DAT_MEM_PRIV_FLAGS priv, uint32_t *context);

	/*
	 * Connections. REQUIRED: all but cr_move. They are called with no lock held.
	 *
	 * sp_listen makes the IA reachable at sp->qual. It returns DATP_ERR_QUAL_IN_USE if the
	 * qualifier is taken. The transport reports each request by datp_cm_request().
	 *
	 * sp_close stops listening. After it has returned, the transport does not call datp_cm_request() for
	 * this service point.
	 *
	 * ep_connect starts an attempt and does not block on the network. The transport reports the outcome by
	 * datp_cm_established() or datp_cm_failed(), possibly before the op returns. libdatp runs the timer for
	 * the timeout. For an address that can never be reached the op returns DATP_ERR_ADDRESS_*.
	 *
	 * cr_accept starts the passive half of the set-up; the outcome for `ep` is reported in the same way. A
	 * return value other than DATP_OK means that nothing has been started. libdatp frees the CR.
	 *
	 * cr_reject tells the peer. cr_free is called when the CR is freed: after an accept or a
	 * reject, or with the IA.
	 *
	 * ep_disconnect: see enum datp_close. After the op has returned for ABRUPT or ABORT, no peer accesses a
	 * posted buffer, and messages that had arrived before have been completed. GRACEFUL returns at once.
	 *
	 * A connection is over when ABRUPT or ABORT has returned, or when the transport has called
	 * datp_cm_failed() or datp_cm_disconnected(). libdatp then completes every outstanding operation as
	 * flushed, and the transport must not complete any of them. A post may still arrive before the state of
	 * the endpoint shows the end: the transport returns DATP_OK and ignores it.
	 *
	 * cr_move serves dat_cr_handoff() and is called with the SP lock held. `to` is a new CR of the same
	 * request, whose public head is filled in; the op moves the transport's part there. `from` is freed
	 * without cr_free. Default: DATP_ERR_MODEL, which means that handoff is not supported.
	 */
	enum datp_err (*sp_listen)(struct datp_sp *sp);
	void (*sp_close)(struct datp_sp *sp);
	enum datp_err (*ep_connect)(struct datp_ep *ep, const struct datp_conn_param *param);
	enum datp_err (*cr_accept)(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				   uint32_t len);
	void (*cr_reject)(struct datp_cr *cr);
	void (*cr_free)(struct datp_cr *cr);
	void (*ep_disconnect)(struct datp_ep *ep, enum datp_close how);

	enum datp_err (*cr_move)(struct datp_cr *from, struct datp_cr *to);

	/*
	 * Since SDK 0.3. rmr_done is called when a bind that rmr_bind accepted is over: it has completed,
	 * successfully (`good` is true) or not, or its endpoint is being freed. It is not called for an RMR
	 * that has been freed. `context` and `len` are those of the bind. If `good` is true, the op revokes the
	 * previous binding of the RMR, so that no peer can use it. If `good` is false, the op revokes this
	 * bind, if it was begun, and keeps the previous binding. It returns true if the RMR is bound as this
	 * bind says; it returns false also if a later bind of the same RMR, on another endpoint, has been
	 * executed. Locks held: EP, and a lock that serialises the calls for one RMR. Default: returns `good`.
	 */
	bool (*rmr_done)(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good);

	/*
	 * Since SDK 0.3. ep_fit checks whether the device supports the combination of attributes of a new or
	 * modified endpoint; each attribute by itself is within the limits of ia_query. `asked` has the
	 * attributes as the program gave them: a field that is 0 there has its default in `attr`, which the op
	 * may lower. If the op returns an error, the program's call returns it. Locks held: none. Default:
	 * DATP_OK.
	 */
	enum datp_err (*ep_fit)(struct datp_ia *ia, struct datp_ep_attr *attr,
				const struct datp_ep_attr *asked);

	/*
	 * Since SDK 0.7: the extensions of <datp/ext.h>. ext_query is called at open, after ia_query. Default: there
	 * are none. The posts are as those of the data path; libdatp calls them only if ext_query has declared them.
	 *
	 * post_write_imm is an RDMA Write that then takes a receive of the peer, whose transport completes it after
	 * datp_recv_immediate(). With n = 0 nothing is written, and `remote` is all zeros.
	 *
	 * post_atomic has checked that the remote word is aligned. `sink` gets the old value; its length is 8. The
	 * change is atomic in respect of other such operations over this transport. wqe->op says which it is.
	 *
	 * post_lock and post_unlock take and release the EP lock around these posts, as the functions that a plugin
	 * passes to DATP_FAST_PATH_LOCKED(). Default: datp_post_lock() and datp_post_unlock().
	 */
	void (*ext_query)(struct datp_ia *ia, struct datp_ext_attr *attr);
	enum datp_err (*post_write_imm)(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
					int n, const struct datp_rge *remote, uint32_t imm);
	enum datp_err (*post_atomic)(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *sink,
				     const struct datp_rge *remote, const struct datp_atomic *what);
	bool (*post_lock)(struct datp_ep *ep);
	void (*post_unlock)(struct datp_ep *ep, enum datp_op op, bool biased);

	/*
	 * Since SDK 0.8. cr_reject_with is as cr_reject, and gives the peer private data, which its transport passes
	 * to datp_cm_rejected(). It is called only if ext_query has declared max_reject_data, which `len` does not
	 * exceed; for programs of DAT 2.0. Default: cr_reject without the data.
	 */
	void (*cr_reject_with)(struct datp_cr *cr, const void *pdata, uint32_t len);

	/*
	 * Since SDK 0.9. Where the plugin's IA has a struct datp_lmr_table: offsetof(struct my_ia, lmrs); 0 if it has
	 * none. See <datp/lmr_table.h>. With a table lmr_find has a default, which looks there.
	 */
	size_t lmr_table;

	/*
	 * Since SDK 0.9, for programs of DAT 2.0; as the extensions above, these posts are called only if ext_query has
	 * declared them.
	 *
	 * post_send_invalidate is a send whose message ends the binding of an RMR of the peer. It may only be an RMR that was
	 * bound over the same connection, by a program of 2.0 (program_has): otherwise the operation fails, and changes
	 * nothing. When the send has been executed no operation that this side posts later gets through that RMR. The peer's
	 * transport calls datp_recv_invalidate().
	 *
	 * post_read_rmr is an RDMA Read whose sink is a range of an RMR of this side. The RMR has to be bound, when the read
	 * is executed, to memory that includes the range, in the PZ of the endpoint, and with the right to remote writes.
	 */
	enum datp_err (*post_send_invalidate)(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
					      int n, uint32_t rmr_context);
	enum datp_err (*post_read_rmr)(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_rge *sink,
				       const struct datp_rge *remote);

	/* Append here, nowhere else: released slots never move. */
};

/* ------------------------------------------------------------------ what libdatp offers */

/*
 * Calls rmr_done for a bind that has completed, or that will never complete. datp_wqe_finish() calls this. EP
 * lock held.
 */
DATP_API void datp_bind_done(struct datp_wqe *wqe, uint8_t status);

/*
 * Completes one posted operation and queues its event, unless the event is suppressed. The operations of a ring
 * are completed in the order in which they were posted. The caller holds the EP lock, which is already held in
 * the post ops. Takes the EVD lock, and may wake a waiter or trigger a CNO.
 */
DATP_API void datp_wqe_done(struct datp_wqe *wqe, uint8_t status, uint64_t len, bool solicited);

/*
 * Notes that a receive takes immediate data, before the transport completes that receive. Returns the length to pass to
 * datp_wqe_done(): `len`, the write's, or 0 for a program of DAT 1.2, which would look for the data in the receive's
 * buffer. EP lock held. Since SDK 0.7.
 */
DATP_API uint64_t datp_recv_immediate(struct datp_wqe *wqe, uint32_t imm, uint64_t len);

/*
 * Notes that the message of a receive has invalidated the RMR with this context, before the transport completes the
 * receive. The transport has ended the binding: no peer gets through it any more, and no access through it is under way.
 * The RMR is unbound when this returns, and does not hold its LMR. `rmr` may have been freed or bound anew meanwhile, and
 * is NULL if the transport does not know it any more. EP lock held; takes the lock under which rmr_done is called. Since
 * SDK 0.9.
 */
DATP_API void datp_recv_invalidate(struct datp_wqe *wqe, struct datp_rmr *rmr, uint32_t context);

/*
 * Reports that new completions are ready in the transport, after DATP_ARM_CNO. Called on the service thread
 * with no lock held.
 */
DATP_API void datp_evd_notify(struct datp_evd *evd);

/*
 * Report asynchronous errors. The caller may hold an EP lock and an SRQ lock, and no lock that comes later in
 * the order.
 */
DATP_API void datp_srq_low(struct datp_srq *srq);
DATP_API void datp_ep_high(struct datp_ep *ep, bool hard);
DATP_API void datp_ia_error(struct datp_ia *ia, DAT_EVENT_NUMBER number);

/*
 * By these a transport reports connection events. It may call them on any thread with no lock held;
 * datp_cm_established() also with a poll lock held. If the state of the endpoint shows that a report is out of
 * date, the call does nothing and returns false. So a transport need not reason about races with disconnect or
 * free: a report may run while ep_free (or sp_close) runs, but none may begin after that op has returned. If
 * datp_cm_request() does not return DATP_OK, the transport refuses the request, as if no program listened.
 * For a service point with DAT_PSP_PROVIDER_FLAG it calls the op ep_create, and ep_free if it then fails: the
 * caller holds no lock that these ops take.
 */
DATP_API enum datp_err datp_cm_request(struct datp_sp *sp, const struct datp_cm_arrival *arrival,
				       struct datp_cr **cr);
DATP_API bool datp_cm_established(struct datp_ep *ep, const void *pdata, uint32_t pdata_len);
/* PEER_REJECTED .. UNREACHABLE, ACCEPT_COMPLETION_ERROR; DISCONNECTED: the peer gave no answer, seen as NON_PEER_REJECTED */
DATP_API bool datp_cm_failed(struct datp_ep *ep, DAT_EVENT_NUMBER why);
/* PEER_REJECTED, with the private data of cr_reject_with, of which it takes at most max_private_data bytes. Since SDK 0.8 */
DATP_API bool datp_cm_rejected(struct datp_ep *ep, const void *pdata, uint32_t pdata_len);
/* DISCONNECTED or BROKEN; before the connection is established it is a failed attempt, as by datp_cm_failed() */
DATP_API bool datp_cm_disconnected(struct datp_ep *ep, DAT_EVENT_NUMBER why);

/*
 * The IA's service thread runs the callbacks, one at a time. After datp_loop_del() has returned, the callback
 * does not run again. A callback may delete its own watch.
 */
struct datp_watch;
DATP_API enum datp_err datp_loop_add(struct datp_ia *ia, int fd, uint32_t epoll_events,
				     void (*fn)(void *arg, uint32_t events), void *arg,
				     struct datp_watch **watch);
DATP_API void datp_loop_del(struct datp_watch *watch);
/* Has the service thread run fn(arg) once, soon. Never blocks. */
DATP_API enum datp_err datp_loop_call(struct datp_ia *ia, void (*fn)(void *arg), void *arg);
DATP_API bool datp_loop_inside(struct datp_ia *ia); /* returns true on the service thread */
/*
 * Has the service thread run fn(ep) once, soon. Never blocks, and may be called with any lock held. Before
 * libdatp calls the op ep_reset or ep_free, it cancels the call or waits until it is over.
 */
DATP_API enum datp_err datp_ep_call(struct datp_ep *ep, void (*fn)(struct datp_ep *ep));

/*
 * Writes a message for the administrator to where DAT_LOG (or the older DAT_DBG_TYPE and DAT_DBG_DEST) sends
 * it. Level 1 is error, 2 warning, 3 info, 4 debug. Begin the message with the name of the provider or the
 * adapter and a colon ("soft: ..."), because users select messages by that; name the cause, then what to do. A
 * message is one line without a newline. If ia_open fails, the errors and warnings that it wrote on its own
 * thread are not printed: libdat prints one message made of the first error, the adapter's name and its line of
 * dat.conf.
 */
DATP_API void datp_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A lock of one word with three states; a thread that has to wait sleeps on a futex. Not recursive. */
DATP_API void datp_lock_slow(_Atomic(uint32_t) *lock);
DATP_API void datp_unlock_slow(_Atomic(uint32_t) *lock);

static inline void datp_lock(_Atomic(uint32_t) *lock)
{
	uint32_t zero = 0;

	/* acquire: what the last holder wrote is visible */
	if (!atomic_compare_exchange_strong_explicit(lock, &zero, 1, memory_order_acquire,
						     memory_order_relaxed))
		datp_lock_slow(lock);
}

static inline bool datp_trylock(_Atomic(uint32_t) *lock)
{
	uint32_t zero = 0;

	return atomic_compare_exchange_strong_explicit(lock, &zero, 1, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void datp_unlock(_Atomic(uint32_t) *lock)
{
	/* release: pairs with the acquire above. 2 means that a thread sleeps on the lock */
	if (atomic_exchange_explicit(lock, 0, memory_order_release) == 2)
		datp_unlock_slow(lock);
}

/*
 * Returns the object behind a handle, or NULL if the handle is NULL, freed, of another type, or of another
 * provider's IA.
 */
static inline void *datp_object(DAT_HANDLE handle, enum datp_type type)
{
	struct datp_obj *obj = (struct datp_obj *)handle;

	/*
	 * relaxed: a race with a free on another thread is the consumer's error, and harmless because the
	 * memory stays mapped
	 */
	if (!obj || ((uintptr_t)obj & 7) ||
	    atomic_load_explicit(&obj->tag, memory_order_relaxed) != DATP_TAG(type))
		return NULL;
	return obj;
}

#include <datp/provider_post.h>
#include <datp/fast20.h>

/*
 * The plugin's entry points. Emits dat_provider_init and dat_provider_fini, and the data path of
 * the frozen table with the plugin's own post ops inlined into libdatp's checks.
 */
struct datp_plugin {
	const char *name;
	const struct datp_ops *ops;
	uint32_t ops_size, sdk_major, sdk_minor;
	struct datp_fast fast;
	const char *version; /* since SDK 0.2 */
	/* the data path for programs of DAT 2.0, or NULL: libdatp converts for them. Since SDK 0.8 */
	const struct datp_fast20 *fast20;
};

/* The plugin's version, for `datctl dump`. Define it before including this header. */
#ifndef DATP_PLUGIN_VERSION
#define DATP_PLUGIN_VERSION "unknown"
#endif

DATP_API void datp_plugin_init(const struct datp_plugin *plugin, const DAT_PROVIDER_INFO *info,
			       const char *params);
DATP_API void datp_plugin_fini(const struct datp_plugin *plugin, const DAT_PROVIDER_INFO *info);

/*
 * For programs that load plugins. Returns the reason why the latest dat_provider_init of an SDK plugin on this
 * thread registered nothing, with the duty that the plugin broke and the remedy; or the provider's reason why
 * the latest attempt to open an adapter failed. Returns NULL if the plugin registered or the adapter opened, or
 * if there is no reason. Since SDK 0.2.
 */
DATP_API const char *datp_plugin_why(void);
/*
 * Calls a plugin's dat_provider_init so that an SDK plugin registers nothing, and calls `line` with each key
 * that describes the plugin. Returns false if it is not a plugin of this SDK; in that case it may have
 * registered its adapters. Since SDK 0.2.
 */
DATP_API bool datp_plugin_dump(void (*init)(const DAT_PROVIDER_INFO *info, const char *params),
			       void (*line)(void *arg, const char *key, const char *value),
			       void *arg);

/*
 * As DATP_PROVIDER(), with data path functions of the plugin's own. The remaining arguments initialise a struct
 * datp_fast, in the order of its fields or by their names; C++17 accepts the order only. Such a function may be
 * faster than the generated one. It has to do what the standard and datp(7) ask of a post or a dequeue; for
 * what it does not handle, it calls the generated function, which DATP_FAST_PATH_LOCKED() emits, before it has
 * changed anything. <datp/provider_post.h> has the building blocks. Since SDK 0.5.
 */
#define DATP_PROVIDER_FAST(plugin_name, plugin_ops, ...)                                           \
	DATP_PROVIDER_FAST20(plugin_name, plugin_ops, NULL, __VA_ARGS__)

/* The same with a pointer to a struct datp_fast20, the functions for programs of DAT 2.0, or NULL. Since SDK 0.8. */
#define DATP_PROVIDER_FAST20(plugin_name, plugin_ops, plugin_fast20, ...)                          \
	static const struct datp_plugin datp_plugin_ = {                                           \
		plugin_name,                                                                       \
		&(plugin_ops),                                                                     \
		sizeof(plugin_ops),                                                                \
		DATP_SDK_MAJOR,                                                                    \
		DATP_SDK_MINOR,                                                                    \
		{ __VA_ARGS__ },                                                                   \
		DATP_PLUGIN_VERSION,                                                               \
		plugin_fast20,                                                                     \
	};                                                                                         \
	DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)         \
	{                                                                                          \
		datp_plugin_init(&datp_plugin_, info, params);                                     \
	}                                                                                          \
	DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)                             \
	{                                                                                          \
		datp_plugin_fini(&datp_plugin_, info);                                             \
	}

#define DATP_PROVIDER(plugin_name, plugin_ops)                                                     \
	DATP_FAST_PATH(plugin_ops)                                                                 \
	DATP_FAST20_PATH(plugin_ops)                                                               \
	static const struct datp_fast20 datp_fast20_ = { DATP_FAST20_GENERATED };                  \
	DATP_PROVIDER_FAST20(plugin_name, plugin_ops, &datp_fast20_, DATP_FAST_GENERATED)

#ifdef __cplusplus
}
#endif

#endif
