/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection zones and registered memory. Invariant: an LMR is in the table of contexts exactly
 * while it is registered, and after it is deregistered the device does not access its memory any
 * more.
 */
#include "rdma_mr.h"
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ibv_pd *rdma_pd_new(const struct rdma_ia *ia)
{
	struct ibv_pd *pd = ibv_alloc_pd(ia->verbs);

	if (!pd)
		datp_log(1,
			 "%s: cannot allocate a protection domain (ibv_alloc_pd) of verbs device %s: %s; all programs "
			 "together may have %d: free protection zones, or end programs that use the device",
			 ia->base.name, ibv_get_device_name(ia->verbs->device), strerror(errno), ia->dev.max_pd);
	return pd;
}

enum datp_err rdma_pz_create(struct datp_pz *base)
{
	struct rdma_pz *pz = (struct rdma_pz *)base;

	pz->pd = rdma_pd_new(rdma_ia(base->obj.ia));
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

	/* reading is always allowed; the right to remote writes needs that to local writes */
	if (priv & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IBV_ACCESS_REMOTE_READ;
	/* libdatp passes this right on only if the device has atomic operations */
	if (priv & DATP_MEM_PRIV_REMOTE_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if ((access & IBV_ACCESS_LOCAL_WRITE) && rdma_has(ia, RDMA_WRITE_SINKS))
		access |= IBV_ACCESS_REMOTE_WRITE;
	/* not every device accepts this flag, so only devices with windows get it */
	return rdma_has_windows(ia) ? access | IBV_ACCESS_MW_BIND : access;
}

static void say_memlock(const struct rdma_ia *ia, uint64_t len)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY) {
		datp_log(1, "%s: cannot register %" PRIu64 " bytes: no memory", ia->base.name, len);
		return;
	}
	/* siw counts the memory of root too, unlike other devices */
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
		datp_log(4, "%s: the device refuses a region of %" PRIu64 " bytes with these rights (it takes up to %" PRIu64 ")",
			 ia->base.name, len, (uint64_t)ia->dev.max_mr_size);
		return DATP_ERR_BAD_LENGTH;
	default:
		datp_log(1, "%s: cannot register %" PRIu64 " bytes: %s", ia->base.name, len,
			 strerror(err));
		return DATP_ERR_DEVICE;
	}
}

/* ------------------------------------------------------------------ LMR */

/*
 * DRAWS is how often a region is registered at most, as long as this is no more than DRAWN_BYTES in
 * all; but LEAST_DRAWS times in any case.
 */
enum { DRAWS = 32, LEAST_DRAWS = 3, DRAWN_BYTES = 64 << 20 };

static bool fits_signed(const struct ibv_mr *mr)
{
	return mr->lkey <= INT32_MAX && mr->rkey <= INT32_MAX;
}

/*
 * libdatp's table of LMRs takes a context of 0 for one that is not set, and would give the region one that the device does not
 * know. The rkey is used only if peers have a right; some devices leave it at 0 otherwise.
 */
static bool has_contexts(const struct ibv_mr *mr, int access)
{
	const int remote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	return mr->lkey && (mr->rkey || !(access & remote));
}

/*
 * Returns how often a region is registered at most. Each registration pins the whole region, and
 * counts against the memory that the process may lock. So a large region is registered a few times
 * only: one of 32 MiB or more has a large key in one case of eight.
 */
static int draws_of(size_t len)
{
	size_t draws = len ? DRAWN_BYTES / len : DRAWS;

	return draws > DRAWS ? DRAWS : draws < LEAST_DRAWS ? LEAST_DRAWS : (int)draws;
}

/*
 * Programs keep contexts in signed variables. Some devices (siw) choose random keys, and every
 * second one is too large. In this case, and if a key is 0, the region is registered again, until only one region in
 * thousands of millions has a large key; the unsuitable registrations are kept meanwhile, so that
 * their keys are not chosen again. A large key is better than none, and no region has the key 0.
 */
static struct ibv_mr *register_region(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *tries[DRAWS], *best = NULL;
	int most = draws_of(len), n = 0, err = ENOKEY;

	while (n < most && !(best && fits_signed(best))) {
		struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

		if (!mr) {
			err = errno;
			break;
		}
		if (has_contexts(mr, access))
			best = mr;
		tries[n++] = mr;
	}
	for (int i = 0; i < n; i++)
		if (tries[i] != best)
			ibv_dereg_mr(tries[i]);
	errno = err;
	return best;
}

/*
 * A window may give the right to write, so the kernel requires writable memory for a region with
 * windows, whatever rights the region has. Memory that is not writable is registered without
 * windows if the region has no right to write.
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

	/* each process registers shared memory by itself, and for peers it is the same */
	(void)cookie;
	lmr->mr = register_lmr(lmr, ((struct rdma_pz *)base->pz)->pd, rdma_access(ia, base->priv));
	if (!lmr->mr)
		return rdma_mr_error(ia, base->len, errno);
	base->lmr_context = lmr->mr->lkey;
	base->rmr_context = lmr->mr->rkey;
	datp_lmr_add(&ia->lmrs, &lmr->known);
	return DATP_OK;
}

/* ------------------------------------------------------------------ the end of a region */

/*
 * Returns whether a queue pair may be receiving: that of an endpoint with a connection, or with one
 * that is being detached. A thread that gives up a connection halts its queue pair first, and that
 * waits until data have been written.
 */
static bool receives(struct rdma_ia *ia)
{
	struct rdma_conn *conn;

	pthread_mutex_lock(&ia->lock);
	for (conn = ia->conns; conn && !conn->ep && !conn->detached;)
		conn = conn->next;
	pthread_mutex_unlock(&ia->lock);
	return conn != NULL;
}

/*
 * siw checks for each part of a message that arrives whether the region is valid, and then copies
 * the part, up to 64 KiB. Deregistering makes the region invalid, but does not wait for a copy that
 * has begun, so the program would find the peer's bytes in memory that is its own again.
 *
 * The copy is made with a spin lock held, that of the socket's callbacks, in a softirq or in a
 * thread that releases the socket. So preemption is disabled, and the kernel's RCU counts it as a
 * reader, as the documentation of synchronize_rcu() says since Linux 5.0; with PREEMPT_RT these
 * locks count as readers themselves. The oldest command of membarrier() is synchronize_rcu(); on a
 * machine with one processor it does nothing, but there no copy runs while this thread runs. The
 * newer commands are not sufficient: they interrupt a copy, and let it continue. Nor is a change of
 * the queue pair's state, which also waits for the copy, because messages that come meanwhile stay
 * unread in the socket.
 *
 * This takes some milliseconds, so it is done only if needed: without a connection nothing is
 * received. Data that arrive on a connection that begins later find no region.
 */
void rdma_mr_settle(struct rdma_ia *ia)
{
	if (!rdma_has(ia, RDMA_WRITES_LINGER) || !receives(ia))
		return;
	/* relaxed: it only decides which thread prints the message */
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
	struct rdma_lmr *lmr = (struct rdma_lmr *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);

	datp_lmr_remove(&ia->lmrs, &lmr->known);
	if (ibv_dereg_mr(lmr->mr))
		datp_log(1, "%s: cannot deregister memory: %s", base->obj.ia->name, strerror(errno));
	/* peers' writes and messages may have been written to the region until now */
	if ((unsigned int)base->priv & written)
		rdma_mr_settle(ia);
}
