/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of memory: protection zones, LMRs, RMRs.
 */
#include <string.h>

#include "dat12.h"

#define REMOTE_PRIVS                                                                               \
	((unsigned int)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))

/* ------------------------------------------------------------------ PZ */

DAT_RETURN dat12_pz_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE *pz_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_pz *pz;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!pz_handle)
		return dat12_arg(2);
	err = pz_create(ia, &pz);
	if (!err)
		*pz_handle = pz;
	return datp_ret(err);
}

DAT_RETURN dat12_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct datp_pz *pz = obj_get(NULL, handle, DATP_PZ);

	if (!pz)
		return datp_ret(DATP_ERR_HANDLE_PZ);
	if ((unsigned int)mask & ~(unsigned int)DAT_PZ_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param->ia_handle = ia_shown(pz->obj.ia);
	return DAT_SUCCESS;
}

DAT_RETURN dat12_pz_free(DAT_PZ_HANDLE handle)
{
	struct datp_pz *pz = obj_get(NULL, handle, DATP_PZ);

	return datp_ret(pz ? pz_free(pz) : DATP_ERR_HANDLE_PZ);
}

/* ------------------------------------------------------------------ LMR */

/* Returns 0 if the LMR gives no privileges to peers. */
static DAT_RMR_CONTEXT rmr_context_shown(const struct datp_lmr *lmr)
{
	return (unsigned int)lmr->priv & (REMOTE_PRIVS | DATP_MEM_PRIV_REMOTE_ATOMIC) ? lmr->rmr_context : 0;
}

static struct lmr_new lmr_new_of(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv)
{
	struct lmr_new what = { .mem_type = type, .len = length, .pz = pz, .priv = priv };

	if (type == DAT_MEM_TYPE_LMR) {
		what.source = region.for_lmr_handle;
	} else if (type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		what.addr = (uintptr_t)region.for_shared_memory.virtual_address;
		what.cookie = region.for_shared_memory.shared_memory_id;
	} else {
		what.addr = (uintptr_t)region.for_va;
	}
	return what;
}

DAT_RETURN dat12_lmr_create(DAT_IA_HANDLE handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			    DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct lmr_new what = lmr_new_of(type, region, length, pz, priv);
	struct datp_lmr *lmr;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!obj_get(ia, pz, DATP_PZ))
		return datp_ret(DATP_ERR_HANDLE_PZ);
	if (!lmr_handle)
		return dat12_arg(7);
	if (!lmr_context)
		return dat12_arg(8);
	err = lmr_create(ia, &what, &lmr);
	if (err)
		return DAT12_RET(err, { DATP_ERR_BAD_MEMORY, 3 }, { DATP_ERR_BAD_LENGTH, 4 },
				 { DATP_ERR_BAD_PRIV, 6 });
	*lmr_handle = lmr;
	*lmr_context = lmr->lmr_context;
	/* Programs pass NULL for values that they do not need. */
	if (rmr_context)
		*rmr_context = rmr_context_shown(lmr);
	if (size)
		*size = lmr->len;
	if (address)
		*address = lmr->addr;
	return DAT_SUCCESS;
}

static DAT_REGION_DESCRIPTION region_out(const struct datp_lmr *lmr, struct lmr_priv *priv)
{
	DAT_REGION_DESCRIPTION region = { 0 };

	if (lmr->mem_type == DAT_MEM_TYPE_LMR) {
		region.for_lmr_handle = priv->source;
	} else if (lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		region.for_shared_memory.virtual_address = (void *)(uintptr_t)priv->asked_addr;
		region.for_shared_memory.shared_memory_id = &priv->cookie;
	} else {
		region.for_va = (void *)(uintptr_t)priv->asked_addr;
	}
	return region;
}

DAT_RETURN dat12_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct datp_lmr *lmr = obj_get(NULL, handle, DATP_LMR);
	struct lmr_priv *priv;

	if (!lmr)
		return datp_ret(DATP_ERR_HANDLE_LMR);
	if ((unsigned int)mask & ~(unsigned int)DAT_LMR_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	priv = OBJ_PRIV(struct lmr_priv, lmr);
	param->ia_handle = ia_shown(lmr->obj.ia);
	param->mem_type = lmr->mem_type;
	param->region_desc = region_out(lmr, priv);
	param->length = priv->asked_len;
	param->pz_handle = lmr->pz;
	param->mem_priv = lmr->priv;
	param->lmr_context = lmr->lmr_context;
	param->rmr_context = rmr_context_shown(lmr);
	param->registered_size = lmr->len;
	param->registered_address = lmr->addr;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_lmr_free(DAT_LMR_HANDLE handle)
{
	struct datp_lmr *lmr = obj_get(NULL, handle, DATP_LMR);

	return datp_ret(lmr ? lmr_free(lmr) : DATP_ERR_HANDLE_LMR);
}

static DAT_RETURN sync_segments(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (n && !segments)
		return dat12_arg(2);
	return DAT12_RET(lmr_sync(ia, (const struct datp_sge *)segments, n),
			 { DATP_ERR_BAD_SEGMENTS, 2 });
}

DAT_RETURN dat12_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync_segments(ia, segments, n);
}

DAT_RETURN dat12_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync_segments(ia, segments, n);
}

/* ------------------------------------------------------------------ RMR */

DAT_RETURN dat12_rmr_create(DAT_PZ_HANDLE handle, DAT_RMR_HANDLE *rmr_handle)
{
	struct datp_pz *pz = obj_get(NULL, handle, DATP_PZ);
	struct datp_rmr *rmr;
	enum datp_err err;

	if (!pz)
		return datp_ret(DATP_ERR_HANDLE_PZ);
	if (!rmr_handle)
		return dat12_arg(2);
	err = rmr_create(pz, &rmr);
	if (!err)
		*rmr_handle = rmr;
	return datp_ret(err);
}

DAT_RETURN dat12_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct datp_rmr *rmr = obj_get(NULL, handle, DATP_RMR);
	struct datp_sge where;

	if (!rmr)
		return datp_ret(DATP_ERR_HANDLE_RMR);
	if ((unsigned int)mask & ~(unsigned int)DAT_RMR_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	memset(param, 0, sizeof(*param));
	param->ia_handle = ia_shown(rmr->obj.ia);
	param->pz_handle = rmr->pz;
	if (rmr_bound(rmr, &where, &param->mem_priv, &param->rmr_context)) {
		param->lmr_triplet.lmr_context = where.lmr_context;
		param->lmr_triplet.virtual_address = where.addr;
		param->lmr_triplet.segment_length = where.len;
	}
	return DAT_SUCCESS;
}

DAT_RETURN dat12_rmr_bind(DAT_RMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct datp_rmr *rmr = obj_get(NULL, handle, DATP_RMR);
	uint32_t made = 0;
	enum datp_err err;

	if (!rmr)
		return datp_ret(DATP_ERR_HANDLE_RMR);
	if (!triplet)
		return dat12_arg(2);
	if (!context)
		return dat12_arg(7);
	err = rmr_bind(rmr, (const struct datp_sge *)triplet, priv, ep, cookie, (unsigned int)flags,
		       &made);
	if (!err)
		*context = made;
	/* a transport without windows registers the memory for the bind, which may fail */
	return DAT12_RET(err, { DATP_ERR_BAD_SEGMENTS, 2 }, { DATP_ERR_BAD_MEMORY, 2 },
			 { DATP_ERR_BAD_LENGTH, 2 }, { DATP_ERR_BAD_PRIV, 3 },
			 { DATP_ERR_BAD_EP, 4 });
}

DAT_RETURN dat12_rmr_free(DAT_RMR_HANDLE handle)
{
	struct datp_rmr *rmr = obj_get(NULL, handle, DATP_RMR);

	return datp_ret(rmr ? rmr_free(rmr) : DATP_ERR_HANDLE_RMR);
}
