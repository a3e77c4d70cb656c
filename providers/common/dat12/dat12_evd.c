/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT 1.2 edge of event queues and CNOs. There is no subtype for an EVD as such: libdat returns
 * DAT_INVALID_HANDLE_EVD_REQUEST for a bad one in these calls, and so does this file.
 */
#include "dat12.h"
#include "providers/common/core/evd.h"

/* ------------------------------------------------------------------ EVD */

DAT_RETURN dat12_evd_create(DAT_IA_HANDLE handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
			    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_cno *cno = NULL;
	struct datp_evd *evd;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (qlen <= 0)
		return dat12_arg(2);
	if (cno_handle != DAT_HANDLE_NULL) {
		cno = obj_get(ia, cno_handle, DATP_CNO);
		if (!cno)
			return datp_ret(DATP_ERR_HANDLE_CNO);
	}
	if (!evd_handle)
		return dat12_arg(5);
	err = evd_create(ia, qlen, cno, flags, &evd);
	if (!err)
		*evd_handle = evd;
	return DAT12_RET(err, { DATP_ERR_BAD_QLEN, 2 }, { DATP_ERR_BAD_FLAGS, 4 });
}

DAT_RETURN dat12_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);
	struct evd_priv *priv;

	if (!evd)
		return datp_ret(DATP_ERR_HANDLE_EVD_REQUEST);
	if ((unsigned int)mask & ~(unsigned int)DAT_EVD_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	priv = evd_priv(evd);
	param->ia_handle = ia_shown(evd->obj.ia);
	param->evd_state = (DAT_EVD_STATE)evd_state(evd);
	param->evd_flags = evd->flags;
	datp_lock(&priv->lock);
	param->evd_qlen = (DAT_COUNT)priv->qlen;
	param->cno_handle = priv->cno;
	datp_unlock(&priv->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dat12_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_modify_cno(evd, cno) : DATP_ERR_HANDLE_EVD_REQUEST);
}

DAT_RETURN dat12_evd_enable(DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_enable(evd, true) : DATP_ERR_HANDLE_EVD_REQUEST);
}

DAT_RETURN dat12_evd_disable(DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_enable(evd, false) : DATP_ERR_HANDLE_EVD_REQUEST);
}

DAT_RETURN dat12_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);
	const struct evd_want want = { dat12_event_pop_locked, event };

	if (!evd)
		return datp_ret(DATP_ERR_HANDLE_EVD_REQUEST);
	if (!event)
		return dat12_arg(4);
	if (!nmore)
		return dat12_arg(5);
	return DAT12_RET(evd_wait(evd, timeout, threshold, &want, nmore),
			 { DATP_ERR_BAD_THRESHOLD, 3 });
}

DAT_RETURN dat12_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return DAT12_RET(evd ? evd_resize(evd, qlen) : DATP_ERR_HANDLE_EVD_REQUEST,
			 { DATP_ERR_BAD_QLEN, 2 });
}

DAT_RETURN dat12_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	if (!evd)
		return datp_ret(DATP_ERR_HANDLE_EVD_REQUEST);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return dat12_arg(2);
	return datp_ret(evd_post_soft(evd, event->event_data.software_event_data.pointer));
}

DAT_RETURN dat12_evd_free(DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_free(evd) : DATP_ERR_HANDLE_EVD_REQUEST);
}

DAT_RETURN dat12_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_set_waitable(evd, false) : DATP_ERR_HANDLE_EVD_REQUEST);
}

DAT_RETURN dat12_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
	struct datp_evd *evd = obj_get(NULL, handle, DATP_EVD);

	return datp_ret(evd ? evd_set_waitable(evd, true) : DATP_ERR_HANDLE_EVD_REQUEST);
}

/* ------------------------------------------------------------------ CNO */

static struct cno_agent agent_in(DAT_OS_WAIT_PROXY_AGENT agent)
{
	return (struct cno_agent){ .data = agent.instance_data, .call = agent.proxy_agent_func };
}

/* Returns false, and logs why, if an agent without a function, which stands for no agent, has instance data. */
static bool agent_ok(const struct datp_ia *ia, const char *call, DAT_OS_WAIT_PROXY_AGENT agent)
{
	const int debug = 4;

	if (agent.proxy_agent_func || !agent.instance_data)
		return true;
	core_log(debug,
		 "%s: %s is refused: the agent has instance_data and no proxy_agent_func; initialize both, to "
		 "DAT_OS_WAIT_PROXY_AGENT_NULL if there is no agent", ia->name, call);
	return false;
}

DAT_RETURN dat12_cno_create(DAT_IA_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent,
			    DAT_CNO_HANDLE *cno_handle)
{
	struct datp_ia *ia = obj_get(NULL, handle, DATP_IA);
	struct datp_cno *cno;
	enum datp_err err;

	if (!ia)
		return datp_ret(DATP_ERR_HANDLE_IA);
	if (!agent_ok(ia, "dat_cno_create", agent))
		return dat12_arg(2);
	if (!cno_handle)
		return dat12_arg(3);
	err = cno_create(ia, agent_in(agent), &cno);
	if (!err)
		*cno_handle = cno;
	return datp_ret(err);
}

DAT_RETURN dat12_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);

	if (!cno)
		return datp_ret(DATP_ERR_HANDLE_CNO);
	if (!agent_ok(cno->obj.ia, "dat_cno_modify_agent", agent))
		return dat12_arg(2);
	cno_set_agent(cno, agent_in(agent));
	return DAT_SUCCESS;
}

DAT_RETURN dat12_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);
	struct cno_agent agent;

	if (!cno)
		return datp_ret(DATP_ERR_HANDLE_CNO);
	if ((unsigned int)mask & ~(unsigned int)DAT_CNO_FIELD_ALL)
		return dat12_arg(2);
	if (!param)
		return dat12_arg(3);
	param->ia_handle = ia_shown(cno->obj.ia);
	agent = cno_agent(cno);
	param->agent.instance_data = agent.data;
	param->agent.proxy_agent_func = agent.call;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_cno_free(DAT_CNO_HANDLE handle)
{
	struct datp_cno *cno = obj_get(NULL, handle, DATP_CNO);

	return datp_ret(cno ? cno_free(cno) : DATP_ERR_HANDLE_CNO);
}

DAT_RETURN dat12_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	struct datp_evd *evd = NULL;
	enum datp_err err;

	if (!obj_get(NULL, handle, DATP_CNO))
		return datp_ret(DATP_ERR_HANDLE_CNO);
	if (!evd_handle)
		return dat12_arg(3);
	err = cno_wait(handle, timeout, &evd);
	/* After a timeout the handle is set too, to NULL. */
	if (!err || err == DATP_ERR_QUEUE_EMPTY)
		*evd_handle = evd;
	return datp_ret(err);
}
