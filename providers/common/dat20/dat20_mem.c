/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge of memory: LMRs and RMRs. Addresses are virtual. Zero-based addresses, which
 * count from the start of a region, are not implemented, and the attribute zb_supported says so.
 */
#include "dat20.h"

/*
 * Drops the right to atomic operations, which an extension adds. A window never gives it, and a region only
 * if the adapter has such operations; else the right is accepted, and has no effect.
 */
static DAT_MEM_PRIV_FLAGS without_atomics(DAT20_MEM_PRIV_FLAGS priv)
{
	return (DAT_MEM_PRIV_FLAGS)((unsigned int)priv & ~(unsigned int)DAT20_MEM_PRIV_EXTENSION_BASE);
}

static DAT_MEM_PRIV_FLAGS priv_in(DAT_IA_HANDLE handle, DAT20_MEM_PRIV_FLAGS priv)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);

	return ia && ia_priv(ia)->ext.atomics ? (DAT_MEM_PRIV_FLAGS)priv : without_atomics(priv);
}

_Static_assert(DATP_MEM_PRIV_REMOTE_ATOMIC == DAT20_MEM_PRIV_EXTENSION_BASE, "the plugin sees the program's flag");

static bool is_virtual(DAT20_VA_TYPE type)
{
	return type == DAT20_VA_TYPE_VA;
}

DAT_RETURN dat20_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			    DAT_PZ_HANDLE pz, DAT20_MEM_PRIV_FLAGS priv, DAT20_VA_TYPE va_type,
			    DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *rmr_context,
			    DAT_VLEN *size, DAT_VADDR *address)
{
	DAT_LMR_CONTEXT unwanted;
	DAT_RETURN ret;

	if (va_type != DAT20_VA_TYPE_VA && va_type != DAT20_VA_TYPE_ZB)
		return dat20_arg(7);
	if (!is_virtual(va_type))
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	if (!lmr)
		return dat20_arg(8);
	/* programs pass NULL for any of the values that they do not need */
	ret = dat20_beneath(ia)->lmr_create_func(ia, type, region, length, pz, priv_in(ia, priv), lmr,
						 context ? context : &unwanted, rmr_context, size, address);
	return dat20_ret(ret);
}

DAT_RETURN dat20_lmr_query(DAT_LMR_HANDLE lmr, DAT20_LMR_PARAM_MASK mask, DAT20_LMR_PARAM *param)
{
	DAT_LMR_PARAM found;
	DAT_RETURN ret;

	if ((unsigned int)mask & ~(unsigned int)DAT20_LMR_FIELD_ALL)
		return dat20_arg(2);
	if (!param)
		return dat20_arg(3);
	ret = dat20_beneath(lmr)->lmr_query_func(lmr, DAT_LMR_FIELD_ALL, &found);
	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	param->ia_handle = found.ia_handle;
	param->mem_type = found.mem_type;
	param->region_desc = found.region_desc;
	param->length = found.length;
	param->pz_handle = found.pz_handle;
	param->mem_priv = (DAT20_MEM_PRIV_FLAGS)found.mem_priv;
	param->va_type = DAT20_VA_TYPE_VA;
	param->lmr_context = found.lmr_context;
	param->rmr_context = found.rmr_context;
	param->registered_size = found.registered_size;
	param->registered_address = found.registered_address;
	return DAT_SUCCESS;
}

/* Passes on one segment after the other, because their number has no limit. */
static DAT_RETURN sync(DAT_RETURN (*slot)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN), DAT_IA_HANDLE ia,
		       const DAT20_LMR_TRIPLET *segments, DAT_VLEN n)
{
	DAT_LMR_TRIPLET segment;
	DAT_RETURN ret;

	if (!n || !segments)
		return dat20_ret(slot(ia, NULL, n));
	for (DAT_VLEN i = 0; i < n; i++) {
		segment = dat20_segment(&segments[i]);
		ret = slot(ia, &segment, 1);
		if (ret != DAT_SUCCESS)
			return dat20_ret(ret);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dat20_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT20_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync(dat20_beneath(ia)->lmr_sync_rdma_read_func, ia, segments, n);
}

DAT_RETURN dat20_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT20_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync(dat20_beneath(ia)->lmr_sync_rdma_write_func, ia, segments, n);
}

DAT_RETURN dat20_rmr_query(DAT_RMR_HANDLE rmr, DAT20_RMR_PARAM_MASK mask, DAT20_RMR_PARAM *param)
{
	DAT_RMR_PARAM found;
	DAT_RETURN ret;

	if ((unsigned int)mask & ~(unsigned int)DAT20_RMR_FIELD_ALL)
		return dat20_arg(2);
	if (!param)
		return dat20_arg(3);
	ret = dat20_beneath(rmr)->rmr_query_func(rmr, DAT_RMR_FIELD_ALL, &found);
	if (ret != DAT_SUCCESS)
		return dat20_ret(ret);
	param->ia_handle = found.ia_handle;
	param->pz_handle = found.pz_handle;
	param->lmr_triplet.virtual_address = found.lmr_triplet.virtual_address;
	param->lmr_triplet.segment_length = dat20_length(found.lmr_triplet.segment_length);
	param->lmr_triplet.lmr_context = found.lmr_triplet.lmr_context;
	param->mem_priv = (DAT20_MEM_PRIV_FLAGS)found.mem_priv;
	param->rmr_context = found.rmr_context;
	param->rmr_scope = DAT20_RMR_SCOPE_PZ;
	param->va_type = DAT20_VA_TYPE_VA;
	return DAT_SUCCESS;
}

/*
 * Converts the value of the bind of 1.2, which has two arguments fewer, so the argument that an error
 * is about has another position in 2.0.
 */
static DAT_RETURN bind_ret(DAT_RETURN value)
{
	static const unsigned char position[] = { 0, 1, 3, 4, 6, 7, 8, 9 };
	unsigned int at = (unsigned int)DAT_GET_SUBTYPE(value) - DAT_INVALID_ARG1 + 1;

	if (DAT_GET_TYPE(value) != DAT_INVALID_PARAMETER || at < 1 || at >= sizeof(position))
		return dat20_ret(value);
	return dat20_arg(position[at]);
}

/*
 * The LMR is named twice, by its handle and by the context in the segment, and both have to name the
 * same LMR. A segment of length 0 unbinds the RMR; then the handle of the LMR is not checked.
 */
DAT_RETURN dat20_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT20_LMR_TRIPLET *triplet,
			  DAT20_MEM_PRIV_FLAGS priv, DAT20_VA_TYPE va_type, DAT_EP_HANDLE ep,
			  DAT_RMR_COOKIE cookie, DAT20_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct datp_lmr *named;
	DAT_LMR_TRIPLET segment;

	if (!triplet)
		return dat20_arg(3);
	if (va_type != DAT20_VA_TYPE_VA && va_type != DAT20_VA_TYPE_ZB)
		return dat20_arg(5);
	if (!is_virtual(va_type))
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	segment = dat20_segment(triplet);
	if (segment.segment_length) {
		named = obj_get(NULL, lmr, DATP_LMR);
		if (!named)
			return dat20_ret(datp_ret(DATP_ERR_HANDLE_LMR));
		if (named->lmr_context != segment.lmr_context)
			return dat20_arg(3);
	}
	return bind_ret(dat20_beneath(rmr)->rmr_bind_func(rmr, &segment, without_atomics(priv), ep, cookie,
							  (DAT_COMPLETION_FLAGS)flags, context));
}
