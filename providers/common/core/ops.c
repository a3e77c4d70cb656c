/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completes a plugin's ops: checks them, requires those that are mandatory, and fills the other
 * slots with defaults. After plugin_negotiate() no slot is NULL, so no caller tests for NULL.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "evd.h"
#include "ops_list.h"
#include "providers/common/base/lmr_table.h"
#include "providers/common/base/refuse.h"
#include "providers/common/base/sdk.h"

/* The bits of DATP_NEED_* that this libdatp supports. */
#define NEEDS_KNOWN DATP_NEED_NONE

/* ------------------------------------------------------------------ defaults */

static enum datp_err default_pz_create(struct datp_pz *pz)
{
	(void)pz;
	return DATP_OK;
}

static void default_pz_free(struct datp_pz *pz)
{
	(void)pz;
}

static enum datp_err default_rmr_create(struct datp_rmr *rmr)
{
	(void)rmr;
	return DATP_ERR_MODEL;
}

static void default_rmr_free(struct datp_rmr *rmr)
{
	(void)rmr;
}

static enum datp_err default_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe,
				      struct datp_rmr *rmr, struct datp_lmr *lmr, uint64_t addr,
				      uint64_t len, DAT_MEM_PRIV_FLAGS priv, uint32_t *context)
{
	(void)ep, (void)wqe, (void)rmr, (void)lmr, (void)addr, (void)len, (void)priv, (void)context;
	return DATP_ERR_MODEL;
}

static bool default_rmr_done(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good)
{
	(void)rmr, (void)context, (void)len;
	return good;
}

static enum datp_err default_evd_create(struct datp_evd *evd, int32_t qlen)
{
	(void)evd, (void)qlen;
	return DATP_OK;
}

static void default_evd_free(struct datp_evd *evd)
{
	(void)evd;
}

static bool default_evd_pending(struct datp_evd *evd)
{
	(void)evd;
	return true;
}

/*
 * Nothing has to be armed: such a transport completes everything with datp_wqe_done(), which wakes
 * waiters itself.
 */
static bool default_evd_arm(struct datp_evd *evd, enum datp_arm arm, bool solicited_only)
{
	(void)evd, (void)arm, (void)solicited_only;
	return false;
}

/*
 * A process that maps a word can move the threads that sleep on it to a word of its own (FUTEX_CMP_REQUEUE), where no wake-up
 * reaches them, and it can keep the kernel from waking some (FUTEX_LOCK_PI). So where peers map the bell, a thread sleeps no longer
 * than this before it looks by itself. To the caller such an end of the sleep is a wake-up like any other.
 */
#define SHARED_SLEEP_US 500000u

/* Sets *look to the time at which the thread has to look. Returns false if the deadline comes before that. */
static bool must_look(struct timespec *look, const struct timespec *deadline)
{
	*look = deadline_of(datp_clock_us() + SHARED_SLEEP_US);
	return !deadline || look->tv_sec < deadline->tv_sec ||
	       (look->tv_sec == deadline->tv_sec && look->tv_nsec < deadline->tv_nsec);
}

#ifndef SYS_futex_waitv /* since Linux 5.16 */
#define SYS_futex_waitv 449
#endif

/* As struct futex_waitv of <linux/futex.h>, which older systems do not have. */
struct bell_wait {
	uint64_t value, address;
	uint32_t flags, reserved;
};

#define BELL_WAIT_32 2u /* FUTEX_32, and not private */

/* Sleeps on the bell until that time, or for ever if it is NULL. Returns 0 or an errno, for instance if the bell has changed. */
static int bell_sleep(const struct datp_evd *evd, uint32_t seen, const struct timespec *until)
{
	int op = FUTEX_WAIT_BITSET | (evd->bell_shared ? 0 : FUTEX_PRIVATE_FLAG);

	return syscall(SYS_futex, evd->bell, op, seen, until, NULL, FUTEX_BITSET_MATCH_ANY) ? errno : 0;
}

/*
 * The same for a sleep that has an end only to look: a signal handler that was set with SA_RESTART does not end it, as it does not
 * end one that has none. Linux before 5.16 has no such sleep.
 */
static int bell_sleep_restarted(const struct datp_evd *evd, uint32_t seen, const struct timespec *until)
{
	const struct bell_wait bell = { .value = seen, .address = (uintptr_t)evd->bell, .flags = BELL_WAIT_32 };

	if (syscall(SYS_futex_waitv, &bell, 1, 0, until, CLOCK_MONOTONIC) >= 0)
		return 0;
	return errno == ENOSYS || errno == EPERM ? bell_sleep(evd, seen, until) : errno;
}

static int default_evd_sleep(struct datp_evd *evd, uint32_t seen, const struct timespec *deadline)
{
	struct timespec look;
	bool looks = evd->bell_shared && must_look(&look, deadline);
	int type, err;

	/*
	 * The raw system call is not a cancellation point; asynchronous cancellation around it
	 * makes it one. No lock is held here, and the caller's clean-up handler ends the wait.
	 */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	err = looks && !deadline ? bell_sleep_restarted(evd, seen, &look) : bell_sleep(evd, seen, looks ? &look : deadline);
	pthread_setcanceltype(type, NULL);
	if (looks && err == ETIMEDOUT)
		return 0;
	return err == ETIMEDOUT || err == EINTR ? err : 0;
}

static void default_evd_wake(struct datp_evd *evd)
{
	int op = FUTEX_WAKE | (evd->bell_shared ? 0 : FUTEX_PRIVATE_FLAG);

	syscall(SYS_futex, evd->bell, op, INT_MAX, NULL, NULL, 0);
}

static enum datp_err default_srq_create(struct datp_srq *srq)
{
	(void)srq;
	return DATP_ERR_MODEL;
}

static void default_srq_free(struct datp_srq *srq)
{
	(void)srq;
}

static enum datp_err default_srq_number(struct datp_srq *srq, int32_t number)
{
	(void)srq, (void)number;
	return DATP_ERR_MODEL;
}

static enum datp_err default_srq_post_recv(struct datp_srq *srq, struct datp_wqe *wqe,
					   const struct datp_sge *iov, int n)
{
	(void)srq, (void)wqe, (void)iov, (void)n;
	return DATP_ERR_MODEL;
}

static enum datp_err default_srq_query(struct datp_srq *srq, int32_t *available)
{
	(void)srq;
	*available = -1;
	return DATP_OK;
}

static enum datp_err default_ep_fit(struct datp_ia *ia, struct datp_ep_attr *attr,
				    const struct datp_ep_attr *asked)
{
	(void)ia, (void)attr, (void)asked;
	return DATP_OK;
}

static enum datp_err default_ep_modify(struct datp_ep *ep, const struct datp_ep *next)
{
	(void)ep, (void)next;
	return DATP_OK;
}

static enum datp_err default_ep_reset(struct datp_ep *ep)
{
	(void)ep;
	return DATP_OK;
}

static enum datp_err default_ep_recv_query(struct datp_ep *ep, int32_t *allocated, int32_t *span)
{
	(void)ep, (void)allocated, (void)span;
	return DATP_ERR_MODEL;
}

static enum datp_err default_ep_set_watermark(struct datp_ep *ep, int32_t soft, int32_t hard)
{
	(void)ep, (void)soft, (void)hard;
	return DATP_ERR_MODEL;
}

static enum datp_err default_cr_move(struct datp_cr *from, struct datp_cr *to)
{
	(void)from, (void)to;
	return DATP_ERR_MODEL;
}

static void default_ext_query(struct datp_ia *ia, struct datp_ext_attr *attr)
{
	(void)ia, (void)attr;
}

static enum datp_err default_post_write_imm(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
					    int n, const struct datp_rge *remote, uint32_t imm)
{
	(void)ep, (void)wqe, (void)iov, (void)n, (void)remote, (void)imm;
	return DATP_ERR_MODEL;
}

static enum datp_err default_post_atomic(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *sink,
					 const struct datp_rge *remote, const struct datp_atomic *what)
{
	(void)ep, (void)wqe, (void)sink, (void)remote, (void)what;
	return DATP_ERR_MODEL;
}

static enum datp_err default_post_send_invalidate(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
						  int n, uint32_t rmr_context)
{
	(void)ep, (void)wqe, (void)iov, (void)n, (void)rmr_context;
	return DATP_ERR_MODEL;
}

static enum datp_err default_post_read_rmr(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_rge *sink,
					   const struct datp_rge *remote)
{
	(void)ep, (void)wqe, (void)sink, (void)remote;
	return DATP_ERR_MODEL;
}

static void default_cr_reject_with(struct datp_cr *cr, const void *pdata, uint32_t len)
{
	(void)pdata, (void)len;
	cr->obj.ia->ops->cr_reject(cr);
}

/* The default where the plugin has a table. */
static struct datp_lmr *table_lmr_find(struct datp_ia *ia, uint32_t context)
{
	struct datp_known_lmr *lmr = datp_lmr_get(lmr_table_of(ia), context);

	return lmr ? &lmr->base : NULL;
}

/* Every slot is named in ops_list.h, but lmr_table, which is a number as long as a slot. */
#define COUNT(...) +1
_Static_assert(offsetof(struct datp_ops, ia_open) + (1 REQUIRED_OPS(COUNT) OPTIONAL_OPS(COUNT)) *
							    sizeof(void (*)(void)) ==
		       sizeof(struct datp_ops),
	       "a slot of struct datp_ops is missing in ops_list.h");
#undef COUNT

static void fill_defaults(struct datp_ops *ops)
{
#define X(slot, fn) ops->slot = ops->slot ? ops->slot : (fn);
	OPTIONAL_OPS(X)
#undef X
#define X(type, head)                                                                              \
	ops->type##_size = ops->type##_size ? ops->type##_size : (uint32_t)sizeof(head);
	SIZED_OBJECTS(X)
#undef X
}

/* ------------------------------------------------------------------ checks */

static bool traits_ok(const struct datp_plugin *desc, uint32_t traits)
{
	if (!(traits & DATP_TRAIT_RESERVED))
		return true;
	plugin_refuse("DUTY-20: plugin \"%s\" sets bit 0x%x of its traits, which is reserved (up to SDK "
		      "0.4 it was DATP_TRAIT_HW_FLUSH); leave that bit out and build it again",
		      desc->name, DATP_TRAIT_RESERVED);
	return false;
}

static bool ops_ok(const struct datp_plugin *desc, const struct datp_ops *ops)
{
	const char *missing[sizeof(*ops) / sizeof(void (*)(void))];
	char list[512] = "";
	int n = 0;

#define X(op)                                                                                      \
	if (!ops->op)                                                                              \
		missing[n++] = #op;
	REQUIRED_OPS(X)
#undef X
	if (!n)
		return true;
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list);

		snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", missing[i]);
	}
	plugin_refuse("DUTY-04: plugin \"%s\" lacks the required op%s %s; set %s in its struct "
		      "datp_ops",
		      desc->name, n > 1 ? "s" : "", list, n > 1 ? "them" : "it");
	return false;
}

static bool size_ok(const struct datp_plugin *desc, const char *object, uint32_t size, size_t head)
{
	if (!size || size >= head)
		return true;
	plugin_refuse("DUTY-06: plugin \"%s\" says %s_size = %u, less than the public head of %zu; "
		      "use the sizeof a struct that starts with struct datp_%s, or 0",
		      desc->name, object, size, head, object);
	return false;
}

/* The table lies within the IA, and each LMR has an entry for it. */
static bool table_ok(const struct datp_plugin *desc, const struct datp_ops *ops)
{
	size_t bytes = ops->ia_size > sizeof(struct datp_ia) ? ops->ia_size : 0;

	if (!ops->lmr_table)
		return true;
	if (ops->lmr_table < sizeof(struct datp_ia) || bytes < sizeof(struct datp_lmr_table) ||
	    ops->lmr_table > bytes - sizeof(struct datp_lmr_table)) {
		plugin_refuse("DUTY-06: plugin \"%s\" says lmr_table = %zu, where its IA of %u bytes has no struct "
			      "datp_lmr_table; use offsetof(struct my_ia, lmrs), or 0",
			      desc->name, ops->lmr_table, ops->ia_size);
		return false;
	}
	if (ops->lmr_size >= sizeof(struct datp_known_lmr))
		return true;
	plugin_refuse("DUTY-06: plugin \"%s\" has an lmr_table, and says lmr_size = %u, less than the %zu of struct "
		      "datp_known_lmr; begin its LMRs with that",
		      desc->name, ops->lmr_size, sizeof(struct datp_known_lmr));
	return false;
}

bool plugin_negotiate_as(const struct datp_plugin *desc, size_t known, struct datp_ops *ops)
{
	const struct sdk_built built = { "plugin", desc->name, desc->sdk_major, desc->sdk_minor };
	size_t size = desc->ops_size < known ? desc->ops_size : known;
	bool ok;

	if (!sdk_version_ok(&built))
		return false;
	memset(ops, 0, sizeof(*ops));
	memcpy(ops, desc->ops, size);
	if (!sdk_needs_ok(&built, ops->needs, NEEDS_KNOWN) || !traits_ok(desc, ops->traits))
		return false;
	if (ops->lmr_table && !ops->lmr_find)
		ops->lmr_find = table_lmr_find;
	if (ops->lmr_table && !ops->lmr_size)
		ops->lmr_size = sizeof(struct datp_known_lmr);
	ok = ops_ok(desc, ops) && table_ok(desc, ops);
#define X(type, head) ok = ok && size_ok(desc, #type, ops->type##_size, sizeof(head));
	SIZED_OBJECTS(X)
#undef X
	if (ok)
		fill_defaults(ops);
	return ok;
}

bool plugin_negotiate(const struct datp_plugin *desc, struct datp_ops *ops)
{
	return plugin_negotiate_as(desc, sizeof(*ops), ops);
}
