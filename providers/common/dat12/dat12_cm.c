/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of connections: connect and disconnect, service points, connection requests.
 */
#include "dat12.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/ep.h"

/*
 * Checks the size of private data, and that there are data if it is not 0. The size is the argument
 * at `position`, and the pointer the one after it.
 */
static DAT_RETURN pdata_check(struct datp_ia *ia, DAT_COUNT size, const void *pdata,
			      unsigned int position)
{
	if (size < 0 || (uint32_t)size > ia_attr(ia)->max_private_data)
		return dat12_arg(position);
	return size && !pdata ? dat12_arg(position + 1) : DAT_SUCCESS;
}

/* Only best effort is supported. */
static enum datp_err qos_check(DAT_QOS qos)
{
	return qos == DAT_QOS_BEST_EFFORT ? DATP_OK : DATP_ERR_MODEL;
}

DAT_RETURN dat12_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
			    DAT_TIMEOUT timeout, DAT_COUNT pdata_size, const DAT_PVOID pdata,
			    DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	struct cm_connect how = {
		.address = address, .qual = qual, .timeout = timeout, .pdata = pdata
	};
	enum datp_err err;
	DAT_RETURN ret;

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (!address)
		return dat12_arg(2);
	if (!timeout)
		return dat12_arg(4);
	ret = pdata_check(ep->obj.ia, pdata_size, pdata, 5);
	if (ret != DAT_SUCCESS)
		return ret;
	if ((unsigned int)flags & ~(unsigned int)DAT_CONNECT_MULTIPATH_FLAG)
		return dat12_arg(8);
	err = flags & DAT_CONNECT_MULTIPATH_FLAG ? DATP_ERR_MODEL : qos_check(qos);
	if (err)
		return datp_ret(err);
	how.pdata_len = (uint32_t)pdata_size;
	return DAT12_RET(ep_connect(ep, &how), { DATP_ERR_BAD_QUAL, 3 });
}

DAT_RETURN dat12_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
				DAT_COUNT pdata_size, const DAT_PVOID pdata, DAT_QOS qos)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP), *like;
	struct cm_connect how = { .timeout = timeout, .pdata = pdata };
	enum datp_err err;
	DAT_RETURN ret;

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	like = obj_get(ep->obj.ia, dup_handle, DATP_EP);
	if (!like)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (!timeout)
		return dat12_arg(3);
	ret = pdata_check(ep->obj.ia, pdata_size, pdata, 4);
	if (ret != DAT_SUCCESS)
		return ret;
	err = qos_check(qos);
	if (err)
		return datp_ret(err);
	how.pdata_len = (uint32_t)pdata_size;
	return DAT12_RET(ep_dup_connect(ep, like, &how), { DATP_ERR_BAD_EP, 2 });
}

DAT_RETURN dat12_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return dat12_arg(2);
	return datp_ret(ep_disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG));
}

/* ------------------------------------------------------------------ service points */

DAT_RETURN dat12_psp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_sp *sp;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!obj_get(ia, evd, DATP_EVD))
		return datp_ret(DATP_ERR_HANDLE_EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return dat12_arg(4);
	if (!psp_handle)
		return dat12_arg(5);
	err = psp_create(ia, qual, evd, flags == DAT_PSP_PROVIDER_FLAG, &sp);
	if (!err)
		*psp_handle = sp;
	return DAT12_RET(err, { DATP_ERR_BAD_QUAL, 2 });
}

DAT_RETURN dat12_psp_create_any(DAT_IA_HANDLE handle, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_sp *sp;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!qual)
		return dat12_arg(2);
	if (!obj_get(ia, evd, DATP_EVD))
		return datp_ret(DATP_ERR_HANDLE_EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return dat12_arg(4);
	if (!psp_handle)
		return dat12_arg(5);
	err = psp_create_any(ia, evd, flags == DAT_PSP_PROVIDER_FLAG, &sp);
	if (!err) {
		*qual = sp->qual;
		*psp_handle = sp;
	}
	return datp_ret(err);
}

DAT_RETURN dat12_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct datp_sp *sp = obj_get(NULL, handle, DATP_PSP);

	if (!sp)
		return datp_ret(DATP_ERR_HANDLE_PSP);
	if ((unsigned int)mask & ~(unsigned int)DAT_PSP_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param->ia_handle = ia_shown(sp->obj.ia);
	param->conn_qual = sp->qual;
	param->evd_handle = sp->evd;
	param->psp_flags = sp_priv(sp)->make_ep ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_psp_free(DAT_PSP_HANDLE handle)
{
	struct datp_sp *sp = obj_get(NULL, handle, DATP_PSP);

	return datp_ret(sp ? psp_free(sp) : DATP_ERR_HANDLE_PSP);
}

DAT_RETURN dat12_rsp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			    DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_sp *sp;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!obj_get(ia, ep, DATP_EP))
		return datp_ret(DATP_ERR_HANDLE_EP);
	if (!obj_get(ia, evd, DATP_EVD))
		return datp_ret(DATP_ERR_HANDLE_EVD_CR);
	if (!rsp_handle)
		return dat12_arg(5);
	err = rsp_create(ia, qual, ep, evd, &sp);
	if (!err)
		*rsp_handle = sp;
	return DAT12_RET(err, { DATP_ERR_BAD_QUAL, 2 });
}

DAT_RETURN dat12_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct datp_sp *sp = obj_get(NULL, handle, DATP_RSP);

	if (!sp)
		return datp_ret(DATP_ERR_HANDLE_RSP);
	if ((unsigned int)mask & ~(unsigned int)DAT_RSP_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param->ia_handle = ia_shown(sp->obj.ia);
	param->conn_qual = sp->qual;
	param->evd_handle = sp->evd;
	param->ep_handle = sp->ep;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_rsp_free(DAT_RSP_HANDLE handle)
{
	struct datp_sp *sp = obj_get(NULL, handle, DATP_RSP);

	return datp_ret(sp ? rsp_free(sp) : DATP_ERR_HANDLE_RSP);
}

/* ------------------------------------------------------------------ connection requests */

DAT_RETURN dat12_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct datp_cr *cr = obj_get(NULL, handle, DATP_CR);

	if (!cr)
		return datp_ret(DATP_ERR_HANDLE_CR);
	if ((unsigned int)mask & ~(unsigned int)DAT_CR_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote_address;
	param->remote_port_qual = cr->remote_port;
	param->private_data_size = (DAT_COUNT)cr->pdata_len;
	param->private_data = cr->pdata;
	param->local_ep_handle = cr->ep;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep, DAT_COUNT pdata_size,
			   const DAT_PVOID pdata)
{
	struct datp_cr *cr = obj_get(NULL, handle, DATP_CR);
	DAT_RETURN ret;

	if (!cr)
		return datp_ret(DATP_ERR_HANDLE_CR);
	/*
	 * the core decides whether a null handle is right: it is if the CR has an endpoint already
	 */
	if (ep != DAT_HANDLE_NULL && !obj_get(cr->obj.ia, ep, DATP_EP))
		return datp_ret(DATP_ERR_HANDLE_EP);
	ret = pdata_check(cr->obj.ia, pdata_size, pdata, 3);
	if (ret != DAT_SUCCESS)
		return ret;
	return DAT12_RET(cr_accept(cr, ep, pdata, (uint32_t)pdata_size), { DATP_ERR_BAD_EP, 2 });
}

DAT_RETURN dat12_cr_reject(DAT_CR_HANDLE handle)
{
	struct datp_cr *cr = obj_get(NULL, handle, DATP_CR);

	return datp_ret(cr ? cr_reject(cr, NULL, 0) : DATP_ERR_HANDLE_CR);
}

DAT_RETURN dat12_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct datp_cr *cr = obj_get(NULL, handle, DATP_CR);

	return DAT12_RET(cr ? cr_handoff(cr, qual) : DATP_ERR_HANDLE_CR, { DATP_ERR_BAD_QUAL, 2 });
}
