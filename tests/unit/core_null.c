/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport and the registry that core_null.h describes. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "core_null.h"

enum { CONTEXTS = 256 };

struct null_registry null_registry;
struct null_counts null_counts;

static struct datp_lmr *contexts[CONTEXTS];
static _Atomic uint32_t table_lock;
static uint32_t next_rmr_context = 1000;

/* ------------------------------------------------------------------ the registry */

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	DAT_RETURN answer = null_registry.answer;

	null_registry.answer = DAT_SUCCESS;
	if (answer != DAT_SUCCESS)
		return answer;
	null_registry.table = provider;
	null_registry.info = *info;
	null_registry.adds++;
	return DAT_SUCCESS;
}

/* The open of an adapter that a wrapper would wrap. */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN safe)
{
	(void)name, (void)qlen, (void)async, (void)ia, (void)major, (void)minor, (void)safe;
	return datp_ret(DATP_ERR_NOT_FOUND);
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	return datp_ret(DATP_ERR_HANDLE);
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	DAT_RETURN answer = null_registry.remove_answer;

	(void)info;
	null_registry.remove_answer = DAT_SUCCESS;
	if (answer != DAT_SUCCESS)
		return answer;
	if (provider != null_registry.table)
		return (DAT_RETURN)DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
	null_registry.table = NULL;
	null_registry.removes++;
	return DAT_SUCCESS;
}

DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia);
DAT_RETURN dats_get_ia_handle(unsigned long handle, DAT_IA_HANDLE *ia)
{
	(void)handle;
	if (!null_registry.shown)
		return (DAT_RETURN)DAT_CLASS_ERROR | DAT_INVALID_HANDLE;
	*ia = null_registry.shown;
	return DAT_SUCCESS;
}

/* ------------------------------------------------------------------ the transport */

struct null_saying null_open_says[3];

static enum datp_err answer_once(_Atomic int *answer)
{
	return (enum datp_err)atomic_exchange(answer, DATP_OK);
}

void (*null_in_ia_open)(void);

static enum datp_err null_ia_open(struct datp_ia *ia, const char *params)
{
	struct sockaddr_in *address = (struct sockaddr_in *)&ia->address;
	enum datp_err err = answer_once(&null_counts.ia_open_answer);

	for (int i = 0; i < 3 && null_open_says[i].text; i++)
		datp_log(null_open_says[i].level, "%s", null_open_says[i].text);
	if (err)
		return err;
	if (null_in_ia_open)
		null_in_ia_open();
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	datp_lock(&table_lock);
	snprintf(null_counts.params, sizeof(null_counts.params), "%s", params);
	datp_unlock(&table_lock);
	null_counts.ias++;
	null_counts.opens++;
	return DATP_OK;
}

void (*null_in_ia_close)(void);

static void null_ia_close(struct datp_ia *ia)
{
	(void)ia;
	if (null_in_ia_close)
		null_in_ia_close();
	null_counts.ias--;
	null_counts.closes++;
}

static void null_ia_query(struct datp_ia *ia, struct datp_ia_attr *attr)
{
	(void)ia;
	*attr = (struct datp_ia_attr){
		.vendor_name = "nobody",
		.hw_major = 1,
		.hw_minor = 2,
		.fw_major = 3,
		.fw_minor = 4,
		.max_eps = 64,
		.max_dto_per_ep = 1024,
		.max_rdma_read_per_ep_in = 16,
		.max_rdma_read_per_ep_out = 16,
		.max_evds = 64,
		.max_evd_qlen = 65536,
		.max_iov_per_dto = 8,
		.max_lmrs = 100,
		.max_pzs = 8,
		.max_rmrs = 8,
		.max_iov_per_rdma_read = 8,
		.max_iov_per_rdma_write = 8,
		.max_rdma_read_in = 16,
		.max_rdma_read_out = 16,
		.max_lmr_block = UINT64_C(1) << 40,
		.max_lmr_address = UINT64_MAX,
		.max_message_size = 1 << 20,
		.max_rdma_size = 1 << 30,
		.max_rmr_address = UINT64_MAX,
		.max_private_data = 256,
		.optimal_alignment = 64,
	};
}

static enum datp_err null_pz_create(struct datp_pz *pz)
{
	(void)pz;
	null_counts.pzs++;
	return DATP_OK;
}

static void null_pz_free(struct datp_pz *pz)
{
	(void)pz;
	null_counts.pzs--;
}

static enum datp_err null_lmr_create(struct datp_lmr *lmr, const void *cookie)
{
	enum datp_err err = answer_once(&null_counts.lmr_answer);

	(void)cookie;
	if (err)
		return err;
	err = DATP_ERR_REGION;
	datp_lock(&table_lock);
	for (uint32_t i = 1; i < CONTEXTS; i++) {
		if (contexts[i])
			continue;
		contexts[i] = lmr;
		lmr->lmr_context = i;
		lmr->rmr_context = i + CONTEXTS;
		null_counts.lmrs++;
		err = DATP_OK;
		break;
	}
	datp_unlock(&table_lock);
	return err;
}

static void null_lmr_free(struct datp_lmr *lmr)
{
	datp_lock(&table_lock);
	contexts[lmr->lmr_context] = NULL;
	datp_unlock(&table_lock);
	null_counts.lmrs--;
}

static struct datp_lmr *null_lmr_find(struct datp_ia *ia, uint32_t context)
{
	struct datp_lmr *lmr = NULL;

	datp_lock(&table_lock);
	if (context < CONTEXTS)
		lmr = contexts[context];
	datp_unlock(&table_lock);
	return lmr && lmr->obj.ia == ia ? lmr : NULL;
}

static enum datp_err null_rmr_create(struct datp_rmr *rmr)
{
	(void)rmr;
	null_counts.rmrs++;
	return DATP_OK;
}

static void null_rmr_free(struct datp_rmr *rmr)
{
	(void)rmr;
	null_counts.rmrs--;
}

static enum datp_err null_rmr_bind(struct datp_ep *ep, struct datp_wqe *wqe, struct datp_rmr *rmr,
				   struct datp_lmr *lmr, uint64_t addr, uint64_t len,
				   DAT_MEM_PRIV_FLAGS priv, uint32_t *context)
{
	enum datp_err err = answer_once(&null_counts.bind_answer);

	(void)lmr, (void)addr, (void)len, (void)priv;
	if (err)
		return err;
	*context = next_rmr_context++;
	if (null_counts.bind_invalidated)
		datp_recv_invalidate(&(struct datp_wqe){ .ep = ep, .op = DATP_RECV }, rmr, *context);
	datp_wqe_done(wqe, DAT_DTO_SUCCESS, 0, false);
	return DATP_OK;
}

static bool null_rmr_done(struct datp_rmr *rmr, uint32_t context, uint64_t len, bool good)
{
	(void)rmr, (void)context, (void)len;
	return good && !null_counts.bind_ended;
}

static enum datp_err null_evd_create(struct datp_evd *evd, int32_t qlen)
{
	(void)evd, (void)qlen;
	null_counts.evds++;
	return DATP_OK;
}

static void null_evd_free(struct datp_evd *evd)
{
	(void)evd;
	null_counts.evds--;
}

static int null_evd_poll(struct datp_evd *evd, struct datp_completion *out, int n)
{
	(void)evd, (void)out, (void)n;
	return 0;
}

static enum datp_err null_ep_create(struct datp_ep *ep)
{
	(void)ep;
	null_counts.eps++;
	return DATP_OK;
}

enum datp_err (*null_in_ep_fit)(struct datp_ep_attr *attr, const struct datp_ep_attr *asked);

static enum datp_err null_ep_fit(struct datp_ia *ia, struct datp_ep_attr *attr,
				 const struct datp_ep_attr *asked)
{
	(void)ia;
	return null_in_ep_fit ? null_in_ep_fit(attr, asked) : DATP_OK;
}

void (*null_in_ep_free)(struct datp_ep *ep);

static void null_ep_free(struct datp_ep *ep)
{
	if (null_in_ep_free)
		null_in_ep_free(ep);
	null_counts.eps--;
}

static enum datp_err null_post(struct datp_ep *ep, struct datp_wqe *wqe, const struct datp_sge *iov,
			       int n)
{
	(void)ep, (void)iov, (void)n;
	datp_wqe_done(wqe, DAT_DTO_SUCCESS, wqe->len, false);
	return DATP_OK;
}

static enum datp_err null_post_recv(struct datp_ep *ep, struct datp_wqe *wqe,
				    const struct datp_sge *iov, int n)
{
	(void)ep, (void)wqe, (void)iov, (void)n;
	return DATP_OK;
}

static enum datp_err null_post_rdma(struct datp_ep *ep, struct datp_wqe *wqe,
				    const struct datp_sge *iov, int n,
				    const struct datp_rge *remote)
{
	(void)remote;
	return null_post(ep, wqe, iov, n);
}

static enum datp_err null_sp_listen(struct datp_sp *sp)
{
	(void)sp;
	null_counts.sps++;
	return DATP_OK;
}

static void null_sp_close(struct datp_sp *sp)
{
	(void)sp;
	null_counts.sps--;
}

static enum datp_err null_ep_connect(struct datp_ep *ep, const struct datp_conn_param *param)
{
	(void)param;
	datp_cm_established(ep, NULL, 0);
	return DATP_OK;
}

static enum datp_err null_cr_accept(struct datp_cr *cr, struct datp_ep *ep, const void *pdata,
				    uint32_t len)
{
	(void)cr, (void)pdata, (void)len;
	datp_cm_established(ep, NULL, 0);
	return DATP_OK;
}

static void null_cr(struct datp_cr *cr)
{
	(void)cr;
}

static void null_ep_disconnect(struct datp_ep *ep, enum datp_close how)
{
	if (how == DATP_CLOSE_GRACEFUL)
		datp_cm_disconnected(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

const struct datp_ops null_ops = {
	.ia_open = null_ia_open,
	.ia_close = null_ia_close,
	.ia_query = null_ia_query,
	.pz_create = null_pz_create,
	.pz_free = null_pz_free,
	.lmr_create = null_lmr_create,
	.lmr_free = null_lmr_free,
	.lmr_find = null_lmr_find,
	.rmr_create = null_rmr_create,
	.rmr_free = null_rmr_free,
	.rmr_bind = null_rmr_bind,
	.rmr_done = null_rmr_done,
	.evd_create = null_evd_create,
	.evd_free = null_evd_free,
	.evd_poll = null_evd_poll,
	.ep_create = null_ep_create,
	.ep_free = null_ep_free,
	.ep_fit = null_ep_fit,
	.post_send = null_post,
	.post_recv = null_post_recv,
	.post_rdma_write = null_post_rdma,
	.post_rdma_read = null_post_rdma,
	.sp_listen = null_sp_listen,
	.sp_close = null_sp_close,
	.ep_connect = null_ep_connect,
	.cr_accept = null_cr_accept,
	.cr_reject = null_cr,
	.cr_free = null_cr,
	.ep_disconnect = null_ep_disconnect,
};

DATP_PROVIDER("null", null_ops)

const struct datp_plugin null_plugin = {
	.name = "null",
	.ops = &null_ops,
	.ops_size = sizeof(null_ops),
	.sdk_major = DATP_SDK_MAJOR,
	.sdk_minor = DATP_SDK_MINOR,
	.fast = DATP_FAST_INIT,
};

static const DAT_PROVIDER_INFO null_info = { "null0", 1, 2, DAT_FALSE };

const DAT_PROVIDER *null_load(void)
{
	dat_provider_init(&null_info, "some params");
	return null_registry.table;
}

void null_unload(void)
{
	dat_provider_fini(&null_info);
}
