/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An SDK plugin that can only be opened and closed. It is built many times, with other macros each time.
 * The macros make the plugin odd, and its file is named for the oddity:
 *
 *	ODD_MAJOR	built with an SDK of another major version
 *	ODD_MINOR	built with an SDK of a much later minor version
 *	ODD_FUTURE	has an op that libdatp does not know
 *	ODD_SHORT	its ops end before some that are required
 *	ODD_NULL	a required op is NULL
 *	ODD_NEED	needs a feature bit that libdatp does not know
 *	ODD_TRAIT	sets a bit of its traits that is reserved
 *	ODD_SMALL	says that its endpoint is smaller than the public head
 *	ODD_SLOW	takes its time to initialise
 *
 * Built with each released SDK header it also shows that such a plugin still loads.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <datp/provider.h>

static enum datp_err odd_ia_open(struct datp_ia *ia, const char *params)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->address;

	(void)params;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return DATP_OK;
}

static void odd_ia_close(struct datp_ia *ia)
{
	(void)ia;
}

static void odd_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	(void)ia;
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->adapter_name, sizeof(attr->adapter_name), "odd");
	attr->max_evds = attr->max_pzs = attr->max_eps = attr->max_lmrs = 16;
	attr->max_evd_qlen = attr->max_dto_per_ep = 1024;
	attr->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_out = 1;
	attr->max_iov_per_dto = attr->max_iov_per_rdma_read = attr->max_iov_per_rdma_write = 1;
	attr->max_lmr_block = attr->max_lmr_address = UINT64_MAX;
	attr->max_message_size = attr->max_rdma_size = 4096;
	attr->max_private_data = attr->optimal_alignment = 64;
}

static enum datp_err odd_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	(void)lmr, (void)cookie;
	return DATP_ERR_REGION;
}

static void odd_lmr_free(struct datp_lmr *lmr)
{
	(void)lmr;
}

static struct datp_lmr *odd_lmr_find(struct datp_ia *ia, uint32_t context)
{
	(void)ia, (void)context;
	return NULL;
}

static int odd_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	(void)evd, (void)out, (void)n;
	return 0;
}

static enum datp_err odd_ep_create(struct datp_ep *ep)
{
	(void)ep;
	return DATP_ERR_TEP;
}

static void odd_ep_free(struct datp_ep *ep)
{
	(void)ep;
}

static enum datp_err odd_post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			      int n)
{
	(void)ep, (void)wqe, (void)iov, (void)n;
	return DATP_ERR_CREDITS;
}

static enum datp_err odd_rdma(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			      int n, const struct datp_rge *remote)
{
	(void)remote;
	return odd_post(ep, wqe, iov, n);
}

__attribute__((unused)) static enum datp_err odd_sp_listen(struct datp_sp *sp)
{
	(void)sp;
	return DATP_ERR_QUAL_UNAVAILABLE;
}

static void odd_sp_close(struct datp_sp *sp)
{
	(void)sp;
}

static enum datp_err odd_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param)
{
	(void)ep, (void)param;
	return DATP_ERR_ADDRESS_UNREACHABLE;
}

static enum datp_err odd_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				   uint32_t len)
{
	(void)cr, (void)ep, (void)pdata, (void)len;
	return DATP_ERR_ABORT;
}

static void odd_cr(struct datp_cr *cr)
{
	(void)cr;
}

static void odd_ep_disconnect(struct datp_ep *ep, enum datp_close how)
{
	(void)ep, (void)how;
}

#ifdef ODD_NULL
#define ODD_LISTEN  NULL
#define ODD_CR_FREE NULL
#else
#define ODD_LISTEN  odd_sp_listen
#define ODD_CR_FREE odd_cr
#endif

#define ODD_OPS                                                                                    \
	.ia_open = odd_ia_open, .ia_close = odd_ia_close, .ia_query = odd_ia_query,                \
	.lmr_create = odd_lmr_create, .lmr_free = odd_lmr_free, .lmr_find = odd_lmr_find,          \
	.evd_poll = odd_evd_poll, .ep_create = odd_ep_create, .ep_free = odd_ep_free,              \
	.post_send = odd_post, .post_recv = odd_post, .post_rdma_write = odd_rdma,                 \
	.post_rdma_read = odd_rdma, .sp_listen = ODD_LISTEN, .sp_close = odd_sp_close,             \
	.ep_connect = odd_ep_connect, .cr_accept = odd_cr_accept, .cr_reject = odd_cr,             \
	.cr_free = ODD_CR_FREE, .ep_disconnect = odd_ep_disconnect

/* The ops, followed by an op of a later SDK, which only the size of ODD_FUTURE includes. */
static const struct {
	struct datp_ops known;
	void (*unheard_of)(void);
} odd = {
	.known = {
		ODD_OPS,
#ifdef ODD_NEED
		.needs = 0x40000000,
#endif
#ifdef ODD_TRAIT
		.traits = 1u,
#endif
#ifdef ODD_SMALL
		.ep_size = sizeof(struct datp_ep) - 8,
#endif
	},
};

#if defined(ODD_SHORT)
#define ODD_SIZE offsetof(struct datp_ops, ep_connect)
#elif defined(ODD_FUTURE)
#define ODD_SIZE sizeof(odd)
#else
#define ODD_SIZE sizeof(odd.known)
#endif
#ifndef ODD_MAJOR
#define ODD_MAJOR DATP_SDK_MAJOR
#endif
#ifndef ODD_MINOR
#define ODD_MINOR DATP_SDK_MINOR
#endif

#define ODD_CALLS (odd.known)
DATP_FAST_PATH(ODD_CALLS)

static const struct datp_plugin odd_plugin = {
	.name = "odd",
	.ops = &odd.known,
	.ops_size = ODD_SIZE,
	.sdk_major = ODD_MAJOR,
	.sdk_minor = ODD_MINOR,
	.fast = DATP_FAST_INIT,
};

DATP_API void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
#ifdef ODD_SLOW
	struct timespec time = { .tv_nsec = 300000000 };

	nanosleep(&time, NULL);
#endif
	datp_plugin_init(&odd_plugin, info, params);
}

DATP_API void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	datp_plugin_fini(&odd_plugin, info);
}
