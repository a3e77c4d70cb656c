/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device reports of itself, and what its driver allocates and refuses: this replaces functions of verbs, as twist.c
 * does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twist.h"

enum { KEYS = 1024 }; /* the most keys in a chain of work requests */

bool twist_means(const struct ibv_context *verbs)
{
	const char *only = getenv("TWIST_DEVICE");

	return !only || !strcmp(only, ibv_get_device_name(verbs->device));
}

void twist_trap(const char *what)
{
	fprintf(stderr, "twist: %s: a device that does not expect this may have written anywhere\n", what);
	abort();
}

int twist_says(int rc)
{
	if (rc <= 0)
		return rc;
	switch (atomic_load(&twist.says)) {
	case TWIST_MINUS:
		return -rc;
	case TWIST_MINUS_ONE:
		errno = rc;
		return -1;
	case TWIST_EINVAL_FULL:
		return rc == ENOMEM ? EINVAL : rc;
	default:
		return rc;
	}
}

/* ------------------------------------------------------------------ queue pairs and shared queues */

static bool refuse(int error)
{
	errno = error;
	return false;
}

static bool refuse_qp(int error)
{
	return refuse(atomic_load(&twist.no_errno) ? 0 : error);
}

/* The bytes of a send queue, whose requests are multiples of 64 bytes, with 16 bytes for each segment and 32 for the rest. */
static uint64_t send_bytes(const struct ibv_qp_cap *cap)
{
	return (uint64_t)cap->max_send_wr * ((32 + 16 * (uint64_t)cap->max_send_sge + 63) / 64 * 64);
}

bool twist_grants_qp(const struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	int sge = atomic_load(&twist.sge), inlines = atomic_load(&twist.inlines);
	uint64_t wide = atomic_load(&twist.wide);

	if (atomic_load(&twist.deepest) && cap->max_recv_wr > (uint32_t)atomic_load(&twist.deepest))
		return refuse_qp(E2BIG);
	if (wide && send_bytes(cap) > wide)
		return refuse_qp(ENOMEM);
	if (atomic_load(&twist.no_srq) && attr->srq)
		return refuse_qp(EOPNOTSUPP);
	if (atomic_load(&twist.needs_receives) && !attr->srq && !cap->max_recv_wr)
		return refuse_qp(EINVAL);
	if (inlines && cap->max_inline_data >= (uint32_t)inlines)
		return refuse_qp(EINVAL);
	if (sge && (cap->max_send_sge > (uint32_t)sge || cap->max_recv_sge > (uint32_t)sge))
		return refuse_qp(EINVAL);
	return true;
}

/* Creates a queue pair that inlines what `inlines_told` says. The real device has to inline as much. */
struct ibv_qp *twist_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
			       struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *))
{
	int told = atomic_load(&twist.inlines_told);
	struct ibv_qp *qp;

	if (told && attr->cap.max_inline_data < (uint32_t)told - 1)
		attr->cap.max_inline_data = (uint32_t)told - 1;
	qp = real(pd, attr);
	if (qp && told)
		attr->cap.max_inline_data = (uint32_t)told - 1;
	return qp;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *verbs)
{
	struct ibv_pd *(*real)(struct ibv_context *);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_alloc_pd");
	return twist_means(verbs) && atomic_load(&twist.no_pd) && !refuse(ENOMEM) ? NULL : real(verbs);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *(*real)(struct ibv_pd *, struct ibv_srq_init_attr *), *srq;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_srq");
	if (twist_means(pd->context) && atomic_load(&twist.no_srq) && !refuse(EOPNOTSUPP))
		return NULL;
	twist_bare_begin(pd->context, NULL);
	srq = real(pd, attr);
	twist_bare_end(pd->context, NULL);
	return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int (*real)(struct ibv_srq *, struct ibv_srq_attr *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_modify_srq");
	if (twist_means(srq->context) && atomic_load(&twist.no_srq_resize) && (mask & IBV_SRQ_MAX_WR))
		return EOPNOTSUPP;
	return real(srq, attr, mask);
}

int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
	int (*real)(struct ibv_cq *, int);
	int fails = twist_means(cq->context) ? atomic_load(&twist.resize_fails) : 0;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_resize_cq");
	return fails ? fails : real(cq, entries);
}

static struct ibv_mw *(*window_real)(struct ibv_pd *, enum ibv_mw_type);

/* Fails if the switch `windows_unmade` is on: the device reports windows, but its driver cannot allocate one. */
static struct ibv_mw *window_twisted(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = atomic_load(&twist.windows_unmade) && !refuse(EOPNOTSUPP) ? NULL : window_real(pd, type);

	if (mw)
		mw->rkey = twist_key_shown(mw->rkey);
	return mw;
}

static void hook_windows(struct ibv_context *verbs)
{
	if (verbs->ops.alloc_mw == window_twisted)
		return;
	window_real = verbs->ops.alloc_mw;
	verbs->ops.alloc_mw = window_twisted;
}

/* ------------------------------------------------------------------ attributes */

static int (*port_real)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);

static int port_twisted(struct ibv_context *verbs, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	int rc = port_real(verbs, port, attr, size);

	if (atomic_load(&twist.message))
		attr->max_msg_sz = (uint32_t)(atomic_load(&twist.message) - 1);
	return rc;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	struct verbs_context *more = verbs_get_ctx_op(verbs, query_port);
	int (*real)(struct ibv_context *, struct ibv_device_attr *);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_query_device");
	if (!twist_means(verbs))
		return real(verbs, attr);
	hook_windows(verbs);
	if (more && more->query_port != port_twisted) {
		port_real = more->query_port;
		more->query_port = port_twisted;
	}
	rc = real(verbs, attr);
	if (atomic_load(&twist.vendor))
		attr->vendor_id = (uint32_t)atomic_load(&twist.vendor);
	if (atomic_load(&twist.no_srq))
		attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = 0;
	if (atomic_load(&twist.no_srq_resize))
		attr->device_cap_flags &= ~(unsigned int)IBV_DEVICE_SRQ_RESIZE;
	if (atomic_load(&twist.no_windows))
		attr->max_mw = 0;
	if (atomic_load(&twist.sge))
		attr->max_sge = atomic_load(&twist.sge);
	if (atomic_load(&twist.reads_unsaid))
		attr->max_res_rd_atom = 0;
	if (atomic_load(&twist.unknown)) {
		attr->vendor_id = 1;
		attr->max_mw = 1000;
	}
	if (atomic_load(&twist.reads))
		attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = atomic_load(&twist.reads);
	if (atomic_load(&twist.max_cqe))
		attr->max_cqe = atomic_load(&twist.max_cqe);
	if (atomic_load(&twist.places))
		attr->max_qp_wr = atomic_load(&twist.places);
	if (atomic_load(&twist.read_sge))
		attr->max_sge_rd = atomic_load(&twist.read_sge);
	return rc;
}

/* A device that refuses posts to a queue pair in the error state reports that state, also where siw reports none. */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
	int rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_query_qp");
	if (!twist_means(qp->context))
		return real(qp, attr, mask, init);
	if (atomic_load(&twist.no_query))
		return EOPNOTSUPP;
	if (twist_is_reset(qp->context))
		return EIO;
	rc = real(qp, attr, mask, init);
	if (!rc && atomic_load(&twist.dead_post) && twist_is_dead(qp))
		attr->qp_state = IBV_QPS_ERR;
	return rc;
}

/* ------------------------------------------------------------------ keys */

#define HIGH (UINT32_C(1) << 31) /* rxe sets this bit in no key */

/*
 * The low eight bits of a key of the device vary, and the others are the number of the region. Returns true if `keys` has this key
 * shown with its highest bit set.
 */
static bool is_high(uint32_t key)
{
	switch (atomic_load(&twist.keys)) {
	case TWIST_KEYS_RANDOM:
		return (key >> 8) * UINT32_C(0x9e3779b1) >> 31;
	case TWIST_KEYS_LARGE:
		return true;
	default:
		return false;
	}
}

uint32_t twist_key_shown(uint32_t key)
{
	return is_high(key) ? key | HIGH : key;
}

uint32_t twist_key_real(uint32_t key)
{
	if (!atomic_load(&twist.keys))
		return key;
	/* what no key is shown as gets the highest bit, so that it is no key of the device either */
	return twist_key_shown(key & ~HIGH) == key ? key & ~HIGH : key | HIGH;
}

/* The keys that have been replaced for the time of a post. */
static __thread struct {
	uint32_t *at, key;
} replaced[KEYS];
static __thread int replaced_count;

static void replace(uint32_t *key)
{
	if (replaced_count == KEYS)
		twist_trap("a chain has more segments than this library expects");
	replaced[replaced_count].at = key;
	replaced[replaced_count++].key = *key;
	*key = twist_key_real(*key);
}

void twist_keys_replace(struct ibv_sge *list, int n, uint32_t *rkey)
{
	if (!atomic_load(&twist.keys))
		return;
	for (int i = 0; i < n; i++)
		replace(&list[i].lkey);
	if (rkey)
		replace(rkey);
}

void twist_keys_restore(void)
{
	while (replaced_count) {
		replaced_count--;
		*replaced[replaced_count].at = replaced[replaced_count].key;
	}
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int), *mr;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
	if (twist_is_reset(pd->context)) {
		errno = EIO;
		return NULL;
	}
	if (twist_means(pd->context) && atomic_load(&twist.longest) && len > atomic_load(&twist.longest)) {
		errno = EINVAL;
		return NULL;
	}
	atomic_store(&twist.rights, access);
	atomic_fetch_add(&twist.regions, 1);
	mr = real(pd, addr, len, iova, access);
	if (mr) {
		mr->lkey = twist_key_shown(mr->lkey);
		mr->rkey = twist_key_shown(mr->rkey);
	}
	return mr;
}

#if HAVE_DECL_IBV_IS_FORK_INITIALIZED
enum ibv_fork_status ibv_is_fork_initialized(void)
{
	enum ibv_fork_status (*real)(void);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_is_fork_initialized");
	return atomic_load(&twist.old_kernel) ? IBV_FORK_DISABLED : real();
}
#endif
