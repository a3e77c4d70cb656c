/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of shared receive queues.
 */
#include "dat12.h"
#include "providers/common/core/srq.h"

DAT_RETURN dat12_srq_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *srq_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_srq *srq;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!obj_get(ia, pz, DATP_PZ))
		return datp_ret(DATP_ERR_HANDLE_PZ);
	if (!attr)
		return dat12_arg(3);
	if (!srq_handle)
		return dat12_arg(4);
	err = srq_create(ia, pz, attr->max_recv_dtos, attr->max_recv_iov, attr->low_watermark,
			 &srq);
	if (!err)
		*srq_handle = srq;
	return DAT12_RET(err, { DATP_ERR_BAD_ATTR, 3 });
}

DAT_RETURN dat12_srq_free(DAT_SRQ_HANDLE handle)
{
	struct datp_srq *srq = obj_get(NULL, handle, DATP_SRQ);

	return datp_ret(srq ? srq_free(srq) : DATP_ERR_HANDLE_SRQ);
}

DAT_RETURN dat12_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie)
{
	struct datp_srq *srq = obj_get(NULL, handle, DATP_SRQ);

	if (!srq)
		return datp_ret(DATP_ERR_HANDLE_SRQ);
	return datp_ret(srq_post_recv(srq, (const struct datp_sge *)iov, n, cookie));
}

DAT_RETURN dat12_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct datp_srq *srq = obj_get(NULL, handle, DATP_SRQ);
	struct srq_counts counts;
	enum datp_err err;

	if (!srq)
		return datp_ret(DATP_ERR_HANDLE_SRQ);
	if ((unsigned int)mask & ~(unsigned int)DAT_SRQ_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	err = srq_count(srq, &counts);
	if (err)
		return datp_ret(err);
	param->ia_handle = ia_shown(srq->obj.ia);
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = srq->pz;
	param->max_recv_dtos = srq->max_recv_dtos;
	param->max_recv_iov = srq->max_recv_iov;
	param->low_watermark = srq->low_watermark;
	param->available_dto_count = counts.available < 0 ? DAT_VALUE_UNKNOWN : counts.available;
	/* one attribute covers both counts */
	param->outstanding_dto_count =
		ia_attr(srq->obj.ia)->srq_info ? counts.outstanding : DAT_VALUE_UNKNOWN;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos)
{
	struct datp_srq *srq = obj_get(NULL, handle, DATP_SRQ);

	return DAT12_RET(srq ? srq_resize(srq, max_recv_dtos) : DATP_ERR_HANDLE_SRQ,
			 { DATP_ERR_BAD_QLEN, 2 });
}

DAT_RETURN dat12_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct datp_srq *srq = obj_get(NULL, handle, DATP_SRQ);

	return DAT12_RET(srq ? srq_set_lw(srq, low_watermark) : DATP_ERR_HANDLE_SRQ,
			 { DATP_ERR_BAD_WATERMARK, 2 });
}
