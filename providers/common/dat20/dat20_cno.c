/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 2.0 edge of CNOs, and of those with a descriptor, which DAT 1.2 does not have. A program
 * sleeps until the descriptor is readable, and dat_cno_trigger() then tells the EVD, as
 * dat_cno_wait() does, without sleeping.
 */
#include <string.h>

#include "dat20.h"
#include "providers/common/base/cancel.h"
#include "providers/common/core/evd.h"

DAT_RETURN dat20_cno_fd_create(DAT_IA_HANDLE handle, DAT20_FD *fd, DAT_CNO_HANDLE *cno_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct cancel cancel;
	struct datp_cno *cno;
	enum datp_err err;

	if (!ia)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_IA));
	if (!fd)
		return dat20_arg(2);
	if (!cno_handle)
		return dat20_arg(3);
	cancel_off(&cancel);
	err = cno_fd_create(ia, fd, &cno);
	if (!err)
		*cno_handle = cno;
	cancel_restore(&cancel);
	return dat20_ret(datp_ret(err));
}

DAT_RETURN dat20_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *evd_handle)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);
	struct cancel cancel;
	struct datp_evd *evd;
	enum datp_err err;

	if (!cno)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_CNO));
	if (!evd_handle)
		return dat20_arg(2);
	cancel_off(&cancel);
	err = cno_poll(cno, &evd);
	/* without a trigger the handle is NULL, as after a wait that has timed out */
	*evd_handle = evd;
	cancel_restore(&cancel);
	return dat20_ret(datp_ret(err));
}

/* A CNO has a descriptor or an agent, so one with a descriptor does not take an agent. */
DAT_RETURN dat20_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);

	if (!cno)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_CNO));
	if (cno_fd(cno) >= 0)
		return dat20_arg(1);
	return dat20_ret(dat20_beneath(handle)->cno_modify_agent_func(handle, agent));
}

/* The values of the mask are not single bits in 2.0, so all fields are returned for any mask. */
DAT_RETURN dat20_cno_query(DAT_CNO_HANDLE handle, DAT20_CNO_PARAM_MASK mask, DAT20_CNO_PARAM *param)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);
	struct cno_agent agent;
	int fd;

	(void)mask;
	if (!cno)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_CNO));
	if (!param)
		return dat20_arg(3);
	memset(param, 0, sizeof(*param));
	param->ia_handle = ia_shown(cno->obj.ia);
	fd = cno_fd(cno);
	if (fd >= 0) {
		param->proxy_type = DAT20_PROXY_TYPE_FD;
		param->proxy.fd = fd;
	} else {
		agent = cno_agent(cno);
		param->proxy_type = DAT20_PROXY_TYPE_AGENT;
		param->proxy.agent.instance_data = agent.data;
		param->proxy.agent.proxy_agent_func = agent.call;
	}
	return DAT_SUCCESS;
}
