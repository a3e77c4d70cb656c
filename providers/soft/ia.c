/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The soft IA: an adapter made of shared memory, for the processes of one user on one host. This
 * file owns its opening and closing, its attributes, the arming of its event queues, the eventfd that wakes its service thread,
 * and the table of ops.
 */
#define _GNU_SOURCE
#include "ia.h"
#include "arena.h"
#include "bounce.h"
#include "conn.h"
#include "convert.h"
#include "cq.h"
#include "fast.h"
#include "fast20.h"
#include "foreign.h"
#include "listener.h"
#include "skip.h"
#include "mr.h"
#include "owed.h"
#include "pages.h"
#include "param.h"
#include "peer.h"
#include "pending.h"
#include "port.h"
#include "probe.h"
#include "progress.h"
#include "polling.h"
#include "recv.h"
#include "send.h"
#include "share.h"
#include "sock.h"
#include "sparse.h"
#include "srq.h"
#include "tick.h"
#include "unmap.h"
#include "providers/common/base/notify.h"
#include "providers/common/base/pause.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* the service thread polls one queue this many times before it polls others */
#define SERVE_ROUNDS 64u

/* The soft IAs of this process. The lock is held for short times only. */
static struct {
	pthread_mutex_t lock;
	struct soft_ia *all;
} soft = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct soft_arena *soft_ia_arena(const uint64_t id[2], pid_t pid)
{
	struct soft_arena *arena = NULL;

	if (pid != getpid())
		return NULL;
	pthread_mutex_lock(&soft.lock);
	for (struct soft_ia *ia = soft.all; ia && !arena; ia = ia->next)
		if (ia->id[0] == id[0] && ia->id[1] == id[1]) {
			arena = ia->arena;
			atomic_fetch_add_explicit(&arena->refs, 1, memory_order_relaxed);
		}
	pthread_mutex_unlock(&soft.lock);
	return arena;
}

struct soft_ep *soft_ia_ep_of(const struct soft_arena *arena, uint32_t index)
{
	struct soft_ep *ep = NULL;

	pthread_mutex_lock(&soft.lock);
	for (struct soft_ia *ia = soft.all; ia && !ep; ia = ia->next)
		if (ia->arena == arena)
			ep = soft_port_ep(ia, index);
	pthread_mutex_unlock(&soft.lock);
	return ep;
}

bool soft_ia_regions_touch(uint64_t addr, uint64_t len)
{
	bool touch = false;

	pthread_mutex_lock(&soft.lock);
	for (struct soft_ia *ia = soft.all; ia && !touch; ia = ia->next)
		touch = soft_mr_touch(ia, addr, len);
	pthread_mutex_unlock(&soft.lock);
	return touch;
}

void soft_ia_regions_cover(const struct soft_cover *cover)
{
	pthread_mutex_lock(&soft.lock);
	for (struct soft_ia *ia = soft.all; ia; ia = ia->next)
		soft_mr_cover(ia, cover);
	pthread_mutex_unlock(&soft.lock);
}

/*
 * A child of fork() cannot use its parent's IAs, because it has none of their threads. The list of
 * <datp/fork.h> has the sockets that it must not keep.
 */
static void fork_child(void)
{
	soft.all = NULL;
	pthread_mutex_init(&soft.lock, NULL);
	soft_convert_forked();
	soft_foreign_forked();
	soft_unmap_forked();
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, fork_child);
}

/*
 * ---- service_fd: an eventfd by which threads of this process have the service thread look at all queues. Peers notify it
 * over their sockets, because a peer that had the eventfd could make it block, or take what was written to it ----
 */

/*
 * Returns true if a queue needs the service thread. relaxed, all: a thread that sets one of these
 * wakes the service thread afterwards.
 */
static bool cq_wants(const struct soft_cq *cq)
{
	return !cq->evd || atomic_load_explicit(&cq->again, memory_order_relaxed) ||
	       atomic_load_explicit(&cq->ia->watching, memory_order_relaxed) ||
	       atomic_load_explicit(&cq->armed, memory_order_relaxed) ||
	       /* for these, only a sender that waits for a buffer of an SRQ wakes it */
	       atomic_load_explicit(&cq->ring->service, memory_order_relaxed) ||
	       atomic_load_explicit(&cq->ring->ready_list, memory_order_relaxed);
}

/* Has the next arrival wake the service thread; returns true if something has arrived already. */
static bool cq_watch(struct soft_cq *cq)
{
	bool more;

	if (!soft_cq_try(cq)) {
		soft_owe_serve(cq->ia);
		return false;
	}
	more = soft_cq_arm(cq, SOFT_NOTIFY_SERVICE) || soft_skip_look(cq);
	datp_unlock(soft_cq_lock(cq));
	return more;
}

static bool poll_try(struct datp_evd *evd)
{
	return soft_cq_try(&soft_evd(evd)->cq);
}

/* Tells consumers what has arrived. Returns false if a peer holds up the thread that has the poll lock. */
static bool cq_notify(struct soft_cq *cq)
{
	if (cq->evd)
		return datp_evd_notify_by(cq->evd, poll_try);
	if (!soft_cq_try(cq))
		return false;
	datp_unlock(soft_cq_lock(cq));
	return true;
}

static void cq_serve(struct soft_cq *cq)
{
	struct soft_ia *ia = cq->ia;
	unsigned int rounds = SERVE_ROUNDS;

	atomic_store_explicit(&cq->again, false, memory_order_relaxed);
	do {
		/* the other queues do not wait for such a thread */
		if (!cq_notify(cq)) {
			soft_owe_serve(ia);
			break;
		}
		(void)soft_cq_drain(cq); /* the null queue, and queues that libdatp polls no more */
	} while ((!cq->evd || atomic_load_explicit(&ia->watching, memory_order_relaxed)) &&
		 cq_watch(cq) && --rounds);
	/* peers may fill this queue as fast as it is emptied, so the other queues come first */
	if (!rounds)
		soft_ia_wake(ia);
	soft_cq_release(cq);
}

/* Takes no lock of another endpoint: a peer may hold up the thread that has it. */
static void draining_serve(struct soft_ia *ia)
{
	for (uint32_t i = 0; i < ia->port_next; i++) {
		struct soft_ep *ep = soft_port_ep(ia, i);

		/* relaxed: acquired with the count of such endpoints */
		if (!ep || !__atomic_load_n(&ep->draining, __ATOMIC_RELAXED))
			continue;
		if (!soft_ep_try(ep)) {
			soft_owe_serve(ia);
			continue;
		}
		if (ep->open && ep->draining)
			soft_sq_reap(ep);
		datp_unlock(&ep->base.lock);
	}
}

void soft_ia_serve(struct soft_ia *ia)
{
	struct soft_cq *cq;

	ia->round++;
	while ((cq = soft_cq_hold_next(ia, cq_wants)))
		cq_serve(cq);
	/* acquire: an endpoint has been marked before it was counted */
	if (atomic_load_explicit(&ia->draining, memory_order_acquire))
		draining_serve(ia);
	if (atomic_load_explicit(&ia->shares, memory_order_relaxed))
		soft_shares_sweep(ia);
}

static void service_event(void *arg, uint32_t events)
{
	struct soft_ia *ia = arg;
	uint64_t count;

	(void)events;
	if (read(ia->service_fd, &count, sizeof count) < 0 && errno != EAGAIN)
		datp_log(1, "soft: cannot read the eventfd of the service thread of %s: %s", ia->base.name,
			 strerror(errno));
	soft_ia_serve(ia);
	soft_probes_look(ia);
}

void soft_ia_wake(struct soft_ia *ia)
{
	uint64_t one = 1;

	/*
	 * Posts and dequeues come here with locks, and write() is a cancellation point, which the system call is not. If it fails
	 * the counter is full, and the service thread is awake in any case.
	 */
	(void)syscall(SYS_write, ia->service_fd, &one, sizeof one);
}

void soft_ia_watch(struct soft_ia *ia)
{
	atomic_store_explicit(&ia->watching, true, memory_order_relaxed);
	soft_ia_wake(ia); /* it checks all queues, and arms those that need it */
}

/* ---- event queues ---- */

static enum datp_err soft_evd_create(struct datp_evd *base, int32_t qlen)
{
	struct soft_evd *evd = soft_evd(base);
	enum datp_err err;

	if (!base->has_cq)
		return DATP_OK;
	datp_bias_init(&evd->poll_bias);
	err = soft_cq_init(&evd->cq, soft_ia(base->obj.ia), base, qlen > 0 ? (uint32_t)qlen : 1);
	if (err)
		return err;
	base->bell = &evd->cq.ring->bell;
	base->bell_shared = true;
	/* armed watermarks need all queues watched, this one too */
	if (atomic_load_explicit(&soft_ia(base->obj.ia)->watching, memory_order_relaxed))
		soft_ia_watch(soft_ia(base->obj.ia));
	return DATP_OK;
}

static enum datp_err soft_evd_resize(struct datp_evd *evd, int32_t qlen)
{
	/* a message that finds the ring full waits at its sender, so a small ring loses nothing */
	(void)evd;
	(void)qlen;
	return DATP_OK;
}

static void soft_evd_free(struct datp_evd *base)
{
	struct soft_cq *cq = &soft_evd(base)->cq;
	struct soft_ia *ia = soft_ia(base->obj.ia);
	bool busy = base->has_cq;

	/* the service thread may be polling it, unless this is that thread */
	for (unsigned int n = 0; busy; n++) {
		datp_lock(&ia->lock);
		cq->closing = true;
		busy = cq->busy && !datp_loop_inside(base->obj.ia);
		datp_unlock(&ia->lock);
		if (busy)
			pause_briefly(n);
	}
	if (!base->has_cq)
		return;
	/* under the poll lock, because soft_cq_drain() may still run for an endpoint that used this queue */
	datp_lock(&base->poll_lock);
	soft_cq_discard(cq);
	soft_cq_fini(cq);
	datp_unlock(&base->poll_lock);
	datp_bias_fini(&soft_evd(base)->poll_bias, &base->poll_lock);
}

/* Every poll of the program begins here. */
static bool soft_evd_pending(struct datp_evd *evd)
{
	struct soft_cq *cq = &soft_evd(evd)->cq;
	bool pending = soft_cq_pending(cq);

	/*
	 * relaxed: it only decides who takes the poll lock first. A thread that polls without pause sees what it has set itself;
	 * what it misses of another thread, it sees at a later poll
	 */
	if (__builtin_expect(pending && atomic_load_explicit(&cq->turn, memory_order_relaxed), 0))
		soft_cq_give_turn(cq);
	return pending;
}

static bool soft_evd_arm(struct datp_evd *base, enum datp_arm arm, bool solicited_only)
{
	struct soft_cq *cq = &soft_evd(base)->cq;
	bool more;

	/* any message wakes; libdatp sleeps again if it was not a solicited one */
	(void)solicited_only;
	if (!base->has_cq)
		return false;
	atomic_store_explicit(&cq->armed, arm == DATP_ARM_CNO, memory_order_relaxed);
	if (arm == DATP_ARM_NONE)
		return false;
	/* a sender that is stopped before it publishes wakes nobody: then the tick does */
	more = soft_cq_arm(cq, arm == DATP_ARM_CNO ? SOFT_NOTIFY_SERVICE : SOFT_NOTIFY_WAITER) || soft_skip_look(cq);
	/*
	 * If the service thread is to look at the queue again, for instance because a poll has done enough for peers, it notifies
	 * the CNO of what is there, and the caller has nothing left to do. relaxed: whoever sets this wakes the service thread
	 * afterwards, which clears it before it looks.
	 */
	return more && !(arm == DATP_ARM_CNO && atomic_load_explicit(&cq->again, memory_order_relaxed));
}

static enum datp_err soft_pz_create(struct datp_pz *base)
{
	struct soft_ia *ia = soft_ia(base->obj.ia);

	((struct soft_pz *)base)->id =
		atomic_fetch_add_explicit(&ia->next_pz, 1, memory_order_relaxed) + 1;
	return DATP_OK;
}

/* ---- opening and closing ---- */

void soft_ia_describe(struct soft_ia *ia)
{
	struct soft_header now = { .version = SOFT_SHM_VERSION,
				   .slot_count = ia->slot_count,
				   .slot_size = ia->slot_size,
				   .mr = ia->mr_mem.ref,
				   .slots = ia->slot_mem.ref,
				   .probe = ia->id[0] };

	/* relaxed: it only counts how often the bounce thread was woken */
	now.bounce_bell = atomic_load_explicit(&ia->header->bounce_bell, memory_order_relaxed);
	/* if no peer has changed it, as is usual, it is not written, because other peers may be reading it */
	if (!memcmp(ia->header, &now, offsetof(struct soft_header, bounce_bell)) &&
	    !memcmp(&ia->header->mr, &now.mr, sizeof now - offsetof(struct soft_header, mr)))
		return;
	ia->header->version = now.version;
	ia->header->slot_count = now.slot_count;
	ia->header->slot_size = now.slot_size;
	ia->header->mr = now.mr;
	ia->header->slots = now.slots;
	ia->header->probe = now.probe;
}

static enum datp_err header_init(struct soft_ia *ia)
{
	enum datp_err err =
		soft_arena_alloc(ia, SOFT_KIND_OTHER, sizeof *ia->header, &ia->header_mem);

	if (err)
		return err;
	ia->header = ia->header_mem.addr;
	err = soft_slots_init(ia);
	if (!err)
		err = soft_mr_init(ia);
	if (!err)
		soft_ia_describe(ia);
	return err;
}

static enum datp_err tables_init(struct soft_ia *ia)
{
	enum datp_err err = soft_ports_init(ia);

	ia->peer_of_sender_id = soft_sparse_new(SOFT_PORT_MAX, sizeof *ia->peer_of_sender_id);
	ia->sender_id_used = soft_sparse_new(SOFT_PORT_MAX, sizeof *ia->sender_id_used);
	return !ia->peer_of_sender_id || !ia->sender_id_used ? DATP_ERR_MEMORY : err;
}

static enum datp_err service_fd_init(struct soft_ia *ia)
{
	ia->service_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ia->service_fd < 0) {
		datp_log(1, "soft: no eventfd: %s; raise the limit of open files (ulimit -n)",
			 strerror(errno));
		return DATP_ERR_DEVICE;
	}
	return datp_loop_add(&ia->base, ia->service_fd, EPOLLIN, service_event, ia,
			     &ia->service_watch);
}

static void soft_ia_close(struct datp_ia *base)
{
	struct soft_ia *ia = soft_ia(base);
	struct soft_ia **p = &soft.all;

	pthread_mutex_lock(&soft.lock);
	while (*p && *p != ia)
		p = &(*p)->next;
	if (*p)
		*p = ia->next;
	pthread_mutex_unlock(&soft.lock);
	soft_convert_close(ia);
	if (ia->service_watch)
		datp_loop_del(ia->service_watch);
	soft_progress_stop(ia);
	soft_tick_fini(ia);
	soft_sockets_fini(ia);
	soft_probes_fini(ia);
	soft_listeners_fini(ia);
	soft_pending_fini(ia);
	soft_bounce_stop(ia);
	if (ia->null_cq.ring) {
		soft_cq_discard(&ia->null_cq);
		soft_cq_fini(&ia->null_cq); /* before the peers, to which its skipped cells have references */
	}
	soft_peers_fini(ia);
	soft_finders_fini(ia);
	soft_mr_fini(ia);
	soft_ports_fini(ia);
	soft_sparse_free(ia->peer_of_sender_id, SOFT_PORT_MAX, sizeof *ia->peer_of_sender_id);
	soft_sparse_free(ia->sender_id_used, SOFT_PORT_MAX, sizeof *ia->sender_id_used);
	if (ia->service_fd >= 0)
		close(ia->service_fd);
	if (ia->spare_fd >= 0)
		close(ia->spare_fd);
	if (ia->maps_fd >= 0)
		close(ia->maps_fd);
	soft_arena_put(ia->arena);
}

static enum datp_err soft_ia_open(struct datp_ia *base, const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct soft_ia *ia = soft_ia(base);
	enum datp_err err;

	soft_fence_init();
	ia->service_fd = -1;
	ia->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ia->maps_fd = soft_pages_open();
	err = soft_param_parse(ia, params);
	if (!err)
		err = soft_param_realm(ia);
	if (!err && getrandom(ia->id, sizeof ia->id, 0) != (ssize_t)sizeof ia->id)
		err = DATP_ERR_DEVICE;
	if (!err)
		err = soft_arena_new(&ia->arena);
	if (!err)
		err = header_init(ia);
	if (!err)
		err = tables_init(ia);
	if (!err)
		err = soft_cq_init(&ia->null_cq, ia, NULL, 1);
	if (!err) {
		/* without the poll lock, because the service thread does not know the adapter yet */
		(void)soft_cq_arm(&ia->null_cq, SOFT_NOTIFY_SERVICE);
		err = service_fd_init(ia);
	}
	if (err) {
		soft_ia_close(base);
		return err;
	}
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&soft.lock);
	ia->next = soft.all;
	soft.all = ia;
	pthread_mutex_unlock(&soft.lock);
	if (ia->want_memory == SOFT_MEMORY_SHARED)
		soft_convert_open(ia);
	return DATP_OK;
}

/* ---- attributes ---- */

/* Attributes of adapters with strict=on only, so they come last in the table. */
#define STRICT_ATTRS									\
	{ "strict", "on: what fails on RDMA hardware fails here, too" },		\
	{ "receiver_not_ready", "a message waits one second for its receive" },

enum { PLAIN_ATTRS = 2, ALL_ATTRS = 4 };

static const DAT_NAMED_ATTR attr_cma[] = {
	{ "transport", "shared memory" },
	{ "copy", "process_vm_readv/writev" },
	STRICT_ATTRS
};
static const DAT_NAMED_ATTR attr_bounce[] = {
	{ "transport", "shared memory" },
	{ "copy",
	  "through the peer's bounce thread (the kernel refuses process_vm_readv, or cma=off): slower" },
	STRICT_ATTRS
};

static void soft_ia_query(struct datp_ia *base, struct datp_ia_attr *a)
{
	struct soft_ia *ia = soft_ia(base);
	bool cma = ia->want_cma && soft_xfer_allowed();

	memset(a, 0, sizeof *a);
	snprintf(a->adapter_name, sizeof a->adapter_name, "soft");
	snprintf(a->vendor_name, sizeof a->vendor_name, "OpenDAT");
	a->hw_major = 1;
	a->fw_major = SOFT_SHM_VERSION;
	a->max_eps = SOFT_PORT_MAX;
	a->max_dto_per_ep = SOFT_DTOS_MAX;
	a->max_rdma_read_per_ep_in = a->max_rdma_read_per_ep_out = 1 << 20;
	a->max_evds = 1 << 20;
	a->max_evd_qlen = 1 << 24;
	a->max_iov_per_dto = a->max_iov_per_rdma_read = a->max_iov_per_rdma_write = SOFT_MAX_IOV;
	a->max_lmrs = a->max_rmrs = (int32_t)SOFT_MR_COUNT - 1;
	a->max_pzs = a->max_srqs = 1 << 20;
	a->max_ep_per_srq = SOFT_PORT_MAX;
	a->max_recv_per_srq = 1 << 20;
	a->max_rdma_read_in = a->max_rdma_read_out = INT32_MAX;
	a->read_in_guaranteed = a->read_out_guaranteed = true;
	a->max_lmr_block = a->max_lmr_address = UINT64_MAX;
	a->max_message_size = a->max_rdma_size = 1ull << 40;
	a->max_rmr_address = UINT64_MAX;
	a->max_private_data = SOFT_PDATA_MAX;
	a->optimal_alignment = SOFT_LINE;
	a->srq_supported = a->srq_watermarks = a->srq_pz_difference = a->srq_info =
		a->ep_recv_info = true;
	a->transport_attr = cma ? attr_cma : attr_bounce;
	a->transport_attr_count = ia->strict ? ALL_ATTRS : PLAIN_ATTRS;
	a->write_for_read_required = ia->strict;
}

static void soft_ext_query(struct datp_ia *ia, struct datp_ext_attr *attr)
{
	attr->write_imm = attr->atomics = true;
	attr->max_reject_data = SOFT_PDATA_MAX;
	attr->send_invalidate = attr->read_rmr = attr->program_has;
	soft_ia(ia)->invalidable = attr->program_has;
}

static const struct datp_ops soft_ops = {
	.ia_size = sizeof(struct soft_ia),
	.pz_size = sizeof(struct soft_pz),
	.evd_size = sizeof(struct soft_evd),
	.ep_size = sizeof(struct soft_ep),
	.lmr_size = sizeof(struct soft_lmr),
	.rmr_size = sizeof(struct soft_rmr),
	.srq_size = sizeof(struct soft_srq),
	.sp_size = sizeof(struct soft_sp),
	.cr_size = sizeof(struct soft_cr),
	.ia_open = soft_ia_open,
	.ia_close = soft_ia_close,
	.ia_query = soft_ia_query,
	.pz_create = soft_pz_create,
	.lmr_create = soft_lmr_create,
	.lmr_free = soft_lmr_free,
	.lmr_find = soft_lmr_find,
	.rmr_create = soft_rmr_create,
	.rmr_free = soft_rmr_free,
	.evd_create = soft_evd_create,
	.evd_resize = soft_evd_resize,
	.evd_free = soft_evd_free,
	.evd_poll = soft_evd_poll,
	.evd_pending = soft_evd_pending,
	.evd_arm = soft_evd_arm,
	.srq_create = soft_srq_create,
	.srq_resize = soft_srq_resize,
	.srq_free = soft_srq_free,
	.srq_post_recv = soft_srq_post_recv,
	.srq_query = soft_srq_query,
	.srq_set_lw = soft_srq_set_lw,
	.ep_create = soft_ep_create,
	.ep_modify = soft_ep_modify,
	.ep_reset = soft_ep_reset,
	.ep_free = soft_ep_free,
	.ep_recv_query = soft_ep_recv_query,
	.ep_set_watermark = soft_ep_set_watermark,
	.post_send = soft_post_send,
	.post_recv = soft_post_recv,
	.post_rdma_write = soft_post_rdma_write,
	.post_rdma_read = soft_post_rdma_read,
	.rmr_bind = soft_rmr_bind,
	.rmr_done = soft_rmr_done,
	.sp_listen = soft_sp_listen,
	.sp_close = soft_sp_close,
	.ep_connect = soft_ep_connect,
	.cr_accept = soft_cr_accept,
	.cr_reject = soft_cr_reject,
	.cr_reject_with = soft_cr_reject_with,
	.cr_free = soft_cr_free,
	.cr_move = soft_cr_move,
	.ep_disconnect = soft_ep_disconnect,
	.ext_query = soft_ext_query,
	.post_write_imm = soft_post_write_imm,
	.post_atomic = soft_post_atomic,
	.post_send_invalidate = soft_post_send_invalidate,
	.post_read_rmr = soft_post_read_rmr,
	.post_lock = soft_post_lock_established,
	.post_unlock = soft_post_unlock,
};

/* The SDK's data path, for operations that are not on the fast path. */
DATP_FAST_PATH_LOCKED(soft_ops, soft_post_lock_established, soft_post_unlock)

static DAT_RETURN soft_fast_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (soft_plain_send(ep, n, iov, cookie, (unsigned int)flags))
		return DAT_SUCCESS;
	return datp_fast_send(ep, n, iov, cookie, flags);
}

static DAT_RETURN soft_fast_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (soft_plain_recv(ep, n, iov, cookie, (unsigned int)flags))
		return DAT_SUCCESS;
	return datp_fast_recv(ep, n, iov, cookie, flags);
}

static DAT_RETURN soft_fast_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	if (soft_plain_rdma(ep, n, iov, cookie, remote, (unsigned int)flags, DATP_RDMA_READ))
		return DAT_SUCCESS;
	return datp_fast_read(ep, n, iov, cookie, remote, flags);
}

static DAT_RETURN soft_fast_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	if (soft_plain_rdma(ep, n, iov, cookie, remote, (unsigned int)flags, DATP_RDMA_WRITE))
		return DAT_SUCCESS;
	return datp_fast_write(ep, n, iov, cookie, remote, flags);
}

static inline DAT_RETURN rest_of_dequeue(DAT_EVD_HANDLE evd, void *event)
{
	return datp_fast_dequeue(evd, event);
}

static DAT_RETURN soft_fast_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return soft_plain_dequeue(evd, event, rest_of_dequeue, SOFT_API_12);
}

DATP_PROVIDER_FAST20("soft", soft_ops, &soft_fast20, soft_fast_send, soft_fast_recv, soft_fast_read, soft_fast_write,
		     soft_fast_dequeue)
