/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection zones and registered memory. Invariant: an LMR is in the table of contexts exactly while it
 * is registered, and once it is deregistered the device does not touch its memory any more.
 */
#include "rdma_mr.h"
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum datp_err rdma_pz_create(struct datp_pz *base)
{
	struct rdma_pz *pz = (struct rdma_pz *)base;

	pz->pd = ibv_alloc_pd(rdma_ia(base->obj.ia)->verbs);
	return pz->pd ? DATP_OK : DATP_ERR_DEVICE;
}

void rdma_pz_free(struct datp_pz *base)
{
	struct rdma_pz *pz = (struct rdma_pz *)base;

	if (ibv_dealloc_pd(pz->pd))
		datp_log(2, "%s: cannot free a protection domain: %s", base->obj.ia->name,
			 strerror(errno));
}

/* ------------------------------------------------------------------ rights */

int rdma_access(const struct rdma_ia *ia, DAT_MEM_PRIV_FLAGS flags)
{
	unsigned int priv = (unsigned int)flags;
	int access = 0;

	/* reading is always allowed; remote writing asks for local writing too */
	if (priv & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IBV_ACCESS_REMOTE_READ;
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if ((access & IBV_ACCESS_LOCAL_WRITE) && rdma_has(ia, RDMA_WRITE_SINKS))
		access |= IBV_ACCESS_REMOTE_WRITE;
	/* not every device takes the flag, so only those get it that have windows */
	return rdma_has_windows(ia) ? access | IBV_ACCESS_MW_BIND : access;
}

static void say_memlock(const struct rdma_ia *ia, uint64_t len)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY) {
		datp_log(1, "%s: cannot register %" PRIu64 " bytes: no memory", ia->base.name, len);
		return;
	}
	/* siw counts root's memory too, unlike other devices */
	datp_log(1,
		 "%s: cannot register %" PRIu64 " bytes: this process may lock %" PRIu64
		 " KiB in all; raise it with `ulimit -l`, or memlock in /etc/security/limits.conf",
		 ia->base.name, len, (uint64_t)limit.rlim_cur / 1024);
}

enum datp_err rdma_mr_error(const struct rdma_ia *ia, uint64_t len, int err)
{
	switch (err) {
	case ENOMEM:
	case EAGAIN:
		say_memlock(ia, len);
		return DATP_ERR_REGION;
	case EFAULT:
		datp_log(2, "%s: cannot register memory that is not mapped, or not writable",
			 ia->base.name);
		return DATP_ERR_BAD_MEMORY;
	case EINVAL:
		return DATP_ERR_BAD_LENGTH;
	default:
		datp_log(1, "%s: cannot register %" PRIu64 " bytes: %s", ia->base.name, len,
			 strerror(err));
		return DATP_ERR_DEVICE;
	}
}

/* ------------------------------------------------------------------ LMR */

enum { DRAWS = 32 };

static bool fits_signed(const struct ibv_mr *mr)
{
	return mr->lkey <= INT32_MAX && mr->rkey <= INT32_MAX;
}

/*
 * Programs keep contexts in signed variables. Some devices (siw) draw their keys by lot, and every
 * second is too large: such a one is asked again, until only one region in thousands of millions has
 * a large key, holding on to what did not fit so that it is not drawn once more. Better a large key
 * than none.
 */
static struct ibv_mr *register_region(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *tries[DRAWS];
	int n = 0, err;

	tries[0] = ibv_reg_mr(pd, addr, len, access);
	while (tries[n] && !fits_signed(tries[n]) && n < DRAWS - 1) {
		n++;
		tries[n] = ibv_reg_mr(pd, addr, len, access);
	}
	err = errno;
	if (n && !tries[n])
		n--;
	for (int i = 0; i < n; i++)
		ibv_dereg_mr(tries[i]);
	errno = err;
	return tries[n];
}

/*
 * A window may give the right to write, and so the kernel wants memory that can be written for one, whatever
 * rights the region has: memory that cannot be is registered without windows, where it is not to be written.
 */
static struct ibv_mr *register_lmr(struct rdma_lmr *lmr, struct ibv_pd *pd, int access)
{
	void *addr = (void *)(uintptr_t)lmr->base.addr;
	struct ibv_mr *mr = register_region(pd, addr, lmr->base.len, access);

	if (!mr && errno == EFAULT && (access & IBV_ACCESS_MW_BIND) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE)) {
		access &= ~IBV_ACCESS_MW_BIND;
		mr = register_region(pd, addr, lmr->base.len, access);
	}
	lmr->windows = (access & IBV_ACCESS_MW_BIND) != 0;
	return mr;
}

enum datp_err rdma_lmr_create(struct datp_lmr *base, const void *cookie)
{
	struct rdma_lmr *lmr = (struct rdma_lmr *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	_Atomic(struct rdma_lmr *) *bucket;

	/* Memory that processes share is registered by each of them, and is the same to peers. */
	(void)cookie;
	lmr->mr = register_lmr(lmr, ((struct rdma_pz *)base->pz)->pd, rdma_access(ia, base->priv));
	if (!lmr->mr)
		return rdma_mr_error(ia, base->len, errno);
	base->lmr_context = lmr->mr->lkey;
	base->rmr_context = lmr->mr->rkey;
	bucket = rdma_lmr_bucket(ia, base->lmr_context);
	datp_lock(&ia->mr_lock);
	/* relaxed, then release: who finds it finds it whole */
	atomic_store_explicit(&lmr->next, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&lmr->life, (uint64_t)base->obj.gen << 32 | base->lmr_context,
			      memory_order_release);
	atomic_store_explicit(bucket, lmr, memory_order_release);
	datp_unlock(&ia->mr_lock);
	return DATP_OK;
}

/* ------------------------------------------------------------------ the last of a region */

/*
 * Whether a queue pair may be receiving: that of an endpoint with a connection, or with one that is just being
 * taken from it. Who gives a connection up halts its queue pair first, and that waits for what is written.
 */
static bool receives(struct rdma_ia *ia)
{
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	for (conn = ia->conns; conn && !conn->ep && !conn->held;)
		conn = conn->next;
	pthread_mutex_unlock(&ia->lock);
	return conn != NULL;
}

/*
 * siw looks whether a region is valid for each piece of a message that arrives, and then copies that, up to
 * 64 KiB. Deregistering makes the region invalid, but does not wait for a copy that has begun, and the
 * program would find the peer's bytes in memory that is its own again.
 *
 * The copy is made with a spinning lock held, that of the socket's callbacks, whether in a softirq or in
 * a thread that lets go of the socket. So preemption is off, and the kernel's RCU has that for a
 * reader, as its synchronize_rcu() is documented since Linux 5.0; with PREEMPT_RT those locks are readers by
 * themselves. membarrier()'s oldest command is synchronize_rcu(), or nothing on a machine of one
 * processor, where no copy is under way while this thread runs. Its newer ones do not do: they interrupt
 * a copy, and leave it to go on. Nor does a change of the queue pair's state, which waits for the
 * copy, too: messages that come meanwhile stay unseen in the socket.
 *
 * That takes some milliseconds, so not without need: nobody receives without a connection. What arrives on one
 * that begins later finds no region.
 */
void rdma_mr_settle(struct rdma_ia *ia)
{
	if (!rdma_has(ia, RDMA_WRITES_LINGER) || !receives(ia))
		return;
	/* relaxed: it is said once, by whomever */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) &&
	    !atomic_exchange_explicit(&ia->lingers, true, memory_order_relaxed))
		datp_log(1,
			 "%s: the system refuses membarrier(MEMBARRIER_CMD_GLOBAL): %s; data that "
			 "siw is receiving may be written to memory that has been freed: end the "
			 "connections before dat_lmr_free, or allow the call (a seccomp filter, "
			 "the kernel's nohz_full)",
			 ia->base.name, strerror(errno));
}

void rdma_lmr_free(struct datp_lmr *base)
{
	unsigned int written = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	struct rdma_lmr *lmr = (struct rdma_lmr *)base, *here;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	_Atomic(struct rdma_lmr *) *at = rdma_lmr_bucket(ia, base->lmr_context);

	datp_lock(&ia->mr_lock);
	/* relaxed: written under the lock; release: who goes on from there finds what that points to */
	atomic_store_explicit(&lmr->life, 0, memory_order_relaxed);
	while ((here = atomic_load_explicit(at, memory_order_relaxed)) != NULL && here != lmr)
		at = &here->next;
	if (here)
		atomic_store_explicit(at, atomic_load_explicit(&lmr->next, memory_order_relaxed),
				      memory_order_release);
	datp_unlock(&ia->mr_lock);
	if (ibv_dereg_mr(lmr->mr))
		datp_log(1, "%s: cannot deregister memory: %s", base->obj.ia->name, strerror(errno));
	/* by peers' writes, by messages into receives */
	if ((unsigned int)base->priv & written)
		rdma_mr_settle(ia);
}

struct rdma_lmr *rdma_lmr_find_locked(struct rdma_ia *ia, uint32_t context)
{
	struct rdma_lmr *lmr;

	datp_lock(&ia->mr_lock);
	/* relaxed: written under the lock */
	lmr = atomic_load_explicit(rdma_lmr_bucket(ia, context), memory_order_relaxed);
	while (lmr && (uint32_t)atomic_load_explicit(&lmr->life, memory_order_relaxed) != context)
		lmr = atomic_load_explicit(&lmr->next, memory_order_relaxed);
	datp_unlock(&ia->mr_lock);
	return lmr;
}

struct datp_lmr *rdma_lmr_find(struct datp_ia *ia, uint32_t context)
{
	struct rdma_lmr *lmr = rdma_lmr_find_locked(rdma_ia(ia), context);

	return lmr ? &lmr->base : NULL;
}
