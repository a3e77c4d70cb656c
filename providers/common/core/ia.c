/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns open IAs. Invariant: an IA is on core.ias from when its transport has been opened, before it is published, until after that
 * is closed, and once `closing` is set nothing is published on it any more.
 */
#include <stdlib.h>

#include "allow.h"
#include "cm.h"
#include "core.h"
#include "diag.h"
#include "duties.h"
#include "providers/common/base/lmr_table.h"
#include <datp/fork.h>

uint32_t ia_limit(struct datp_ia *ia, enum datp_type type, enum datp_err *err)
{
	const struct datp_ia_attr *attr = ia_attr(ia);
	int32_t max;

	*err = DATP_ERR_MEMORY;
	switch (type) {
	case DATP_EP:
		*err = DATP_ERR_TEP;
		max = attr->max_eps;
		break;
	case DATP_EVD:
		*err = DATP_ERR_TEVD;
		/* the IA's own EVD, which open created, does not count */
		max = attr->max_evds + (ia_priv(ia)->own_async ? 1 : 0);
		break;
	case DATP_LMR:
		*err = DATP_ERR_REGION;
		max = attr->max_lmrs;
		break;
	case DATP_PZ:
		max = attr->max_pzs;
		break;
	case DATP_RMR:
		if (attr->max_rmrs <= 0)
			*err = DATP_ERR_MODEL;
		max = attr->max_rmrs;
		break;
	case DATP_SRQ:
		*err = attr->srq_supported ? DATP_ERR_SRQ : DATP_ERR_MODEL;
		max = attr->srq_supported ? attr->max_srqs : 0;
		break;
	default:
		return UINT32_MAX;
	}
	return max > 0 ? (uint32_t)max : 0;
}

/* ------------------------------------------------------------------ open */

static void ia_list(struct ia_priv *priv)
{
	datp_lock(&core.lock);
	priv->next = core.ias;
	core.ias = priv;
	datp_unlock(&core.lock);
}

static void ia_unlist(struct ia_priv *priv)
{
	struct ia_priv **at;

	datp_lock(&core.lock);
	for (at = &core.ias; *at; at = &(*at)->next) {
		if (*at == priv) {
			*at = priv->next;
			break;
		}
	}
	datp_unlock(&core.lock);
}

static bool is_closing(struct datp_ia *ia)
{
	bool closing;

	datp_lock(&ia_priv(ia)->lock);
	closing = ia_priv(ia)->closing;
	datp_unlock(&ia_priv(ia)->lock);
	return closing;
}

/*
 * The async EVD of an IA that is being opened. It may be another IA's, which another thread closes abruptly meanwhile. That marks
 * its IA as closing, takes core.lock, and then frees the EVD, whoever holds it; so another EVD may have its place.
 */
struct async {
	struct datp_evd *evd; /* NULL: none */
	uint32_t gen;
};

/* Returns true if it is still there, and not about to be freed. core.lock */
static bool async_stays_locked(const struct async *async)
{
	/* the generation comes last: if it is as before, what was asked before was asked of this EVD */
	return obj_get(NULL, async->evd, DATP_EVD) && !is_closing(async->evd->obj.ia) && obj_gen(&async->evd->obj) == async->gen;
}

/* core.lock */
static bool async_hold_locked(DAT_EVD_HANDLE handle, struct async *async)
{
	async->evd = obj_get(NULL, handle, DATP_EVD);
	if (!async->evd)
		return false;
	async->gen = obj_gen(&async->evd->obj);
	/* the reference to an EVD that may be freed already is left to it */
	if (!obj_hold(NULL, handle, DATP_EVD) || !async_stays_locked(async))
		return false;
	if (async->evd->flags & DAT_EVD_ASYNC_FLAG)
		return true;
	obj_drop(async->evd);
	return false;
}

/* Holds the EVD that the consumer names for its asynchronous events, if it names one. */
static enum datp_err async_hold(DAT_EVD_HANDLE handle, struct async *async)
{
	*async = (struct async){ 0 };
	if (handle == DAT_HANDLE_NULL || handle == DAT_EVD_ASYNC_EXISTS)
		return DATP_OK;
	datp_lock(&core.lock);
	if (!async_hold_locked(handle, async))
		async->evd = NULL;
	datp_unlock(&core.lock);
	return async->evd ? DATP_OK : DATP_ERR_HANDLE_EVD_ASYNC;
}

static void async_drop(const struct async *async)
{
	datp_lock(&core.lock);
	if (async->evd && async_stays_locked(async))
		obj_drop(async->evd);
	datp_unlock(&core.lock);
}

/* Creates the IA's own async EVD, and holds it so that the consumer cannot free it. */
static enum datp_err async_make(struct datp_ia *ia, int32_t qlen, struct async *async)
{
	enum datp_err err;

	ia_priv(ia)->own_async = true;
	err = evd_create(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, &async->evd);
	if (err)
		return err;
	async->gen = obj_gen(&async->evd->obj);
	return obj_hold(ia, async->evd, DATP_EVD) ? DATP_OK : DATP_ERR_INTERNAL;
}

/* Gives the IA its async EVD. The IA is listed, so a thread that frees the EVD from now on takes it away again. */
static enum datp_err async_set(struct datp_ia *ia, const struct async *async)
{
	enum datp_err err = DATP_OK;

	datp_lock(&core.lock);
	if (async->evd && !async_stays_locked(async))
		err = DATP_ERR_HANDLE_EVD_ASYNC;
	datp_lock(&ia_priv(ia)->async_lock);
	ia_priv(ia)->async_evd = err ? NULL : async->evd;
	datp_unlock(&ia_priv(ia)->async_lock);
	datp_unlock(&core.lock);
	return err;
}

static void transport_close(struct datp_ia *ia)
{
	struct ia_priv *priv = ia_priv(ia);
	struct loop *loop = priv->loop;
	struct datp_fork_own own;

	loop_stop(loop);
	ia->ops->ia_close(ia);
	if (lmr_table_of(ia))
		lmr_table_fini(lmr_table_of(ia));
	allow_hide(ia);
	free(priv->edge_part);
	priv->edge_part = NULL;
	/* The process does not fork in between: a child closes the descriptors of the loops that it finds. */
	datp_fork_hold(&own);
	priv->loop = NULL;
	loop_forget(loop);
	datp_fork_release(&own);
	loop_destroy(loop);
	rmr_spares_free(ia);
}

/* Asks for the extensions. A program of DAT 1.2 knows none of them, so its regions give no right to atomics. */
static void ext_ask(struct datp_ia *ia, const struct plugin *plugin)
{
	struct datp_ext_attr *ext = &ia_priv(ia)->ext;

	*ext = (struct datp_ext_attr){ .size = sizeof(*ext), .program_has = plugin->edge->has_extensions };
	ia->ops->ext_query(ia, ext);
	ext->write_imm = ext->write_imm && plugin->edge->has_extensions;
	ext->atomics = ext->atomics && plugin->edge->has_extensions;
}

/* Makes the table of LMRs in the plugin's IA, if it has one. */
static enum datp_err table_make(struct datp_ia *ia)
{
	if (!lmr_table_of(ia) || lmr_table_init(lmr_table_of(ia)))
		return DATP_OK;
	datp_log(1, "%s: no memory for the table of registered memory; raise the limit of memory (ulimit -v)", ia->name);
	return DATP_ERR_MEMORY;
}

/* The transport's part of an open; `ia` has its loop. */
static enum datp_err transport_open(struct datp_ia *ia, struct plugin *plugin)
{
	struct ia_priv *priv = ia_priv(ia);
	enum datp_err err;
	char *params;

	err = loop_create(&priv->loop);
	if (err)
		return err;
	log_buffer();
	err = table_make(ia);
	if (err)
		goto stop_loop;
	err = allow_take(ia, plugin->params, &params);
	if (!err)
		err = ia->ops->ia_open(ia, params);
	free(params);
	if (err)
		goto free_table;
	ia->ops->ia_query(ia, &priv->attr);
	ext_ask(ia, plugin);
	err = duties_at_open(ia, plugin);
	if (!err)
		err = allow_show(ia);
	if (err)
		goto close_transport;
	log_buffer_end(&plugin->log_name, true);
	return DATP_OK;

close_transport:
	transport_close(ia);
	log_buffer_end(&plugin->log_name, false);
	return err;
free_table:
	if (lmr_table_of(ia))
		lmr_table_fini(lmr_table_of(ia));
stop_loop:
	loop_stop(priv->loop);
	loop_destroy(priv->loop);
	log_buffer_end(&plugin->log_name, false);
	return err;
}

static enum datp_err ia_alloc(struct plugin *plugin, struct datp_ia **out)
{
	struct datp_obj *obj;
	enum datp_err err;

	err = obj_alloc(NULL, DATP_IA, sizeof(struct ia_priv), plugin->ops.ia_size, &obj);
	if (err)
		return err;
	*out = (struct datp_ia *)obj;
	(*out)->ops = &plugin->ops;
	(*out)->name = plugin->info.ia_name;
	ia_priv(*out)->plugin = plugin;
	ia_priv(*out)->ia = *out;
	return DATP_OK;
}

enum datp_err ia_open(struct plugin *plugin, int32_t qlen, DAT_EVD_HANDLE *async,
		      struct datp_ia **out)
{
	struct async events;
	struct datp_ia *ia;
	enum datp_err err;

	err = async_hold(*async, &events);
	if (err)
		return err;
	err = ia_alloc(plugin, &ia);
	if (err)
		goto drop_async;
	err = transport_open(ia, plugin);
	if (err)
		goto release_ia;
	ia_list(ia_priv(ia));
	if (*async == DAT_HANDLE_NULL) {
		err = async_make(ia, qlen, &events);
		if (err)
			goto close_transport;
	}
	err = async_set(ia, &events);
	if (err)
		goto close_transport;
	err = obj_publish(ia);
	if (err)
		goto destroy_async;
	*async = events.evd ? (DAT_EVD_HANDLE)events.evd : DAT_EVD_OUT_OF_SCOPE;
	*out = ia;
	return DATP_OK;

destroy_async:
	if (ia_priv(ia)->own_async) {
		evd_destroy(events.evd);
		events.evd = NULL;
	}
close_transport:
	ia_unlist(ia_priv(ia));
	transport_close(ia);
release_ia:
	obj_release(ia);
drop_async:
	async_drop(&events);
	return err;
}

/* ------------------------------------------------------------------ close */

/* Objects that the IA created itself, or that are being freed, do not count. */
static bool in_use_locked(struct ia_priv *priv)
{
	for (int type = 0; type < DATP_TYPE_COUNT; type++) {
		uint32_t free = 0;

		if (type == DATP_EVD)
			free = priv->own_async ? 1 : 0;
		else if (type == DATP_RSP)
			free = rsp_count_used_up_locked(priv);
		if (priv->live[type].count > free)
			return true;
	}
	return false;
}

static enum datp_err close_begin(struct datp_ia *ia, bool graceful)
{
	struct ia_priv *priv = ia_priv(ia);
	enum datp_err err = DATP_OK;

	datp_lock(&priv->lock);
	if (priv->closing)
		err = DATP_ERR_HANDLE_IA;
	else if (graceful && in_use_locked(priv))
		err = DATP_ERR_STATE_IA_IN_USE;
	else
		priv->closing = true;
	datp_unlock(&priv->lock);
	return err;
}

static void async_detach_locked(struct ia_priv *priv)
{
	/* Endpoints of this IA may be freed before the EVD is emptied, and would not remove their errors any more. */
	evd_purge_srq_ends(priv->async_evd, priv->ia);
	obj_drop(priv->async_evd);
	priv->async_evd = NULL;
}

/*
 * Detaches the IA's async EVD, and those of other IAs that feed an EVD which is freed with this
 * one.
 */
static void async_detach_all(struct datp_ia *ia)
{
	datp_lock(&core.lock);
	for (struct ia_priv *priv = core.ias; priv; priv = priv->next) {
		datp_lock(&priv->async_lock);
		if (priv->async_evd && (priv->ia == ia || priv->async_evd->obj.ia == ia))
			async_detach_locked(priv);
		datp_unlock(&priv->async_lock);
	}
	datp_unlock(&core.lock);
}

/*
 * Destroys all objects, users before what they use. Listeners go first, so that nothing new
 * arrives. EVDs go late, so that the events of the others still have a queue to go to, and their waiters
 * learn that the IA is closed.
 */
static void destroy_objects(struct datp_ia *ia)
{
	void *obj;

	while ((obj = obj_first(ia, DATP_PSP)) || (obj = obj_first(ia, DATP_RSP)))
		sp_destroy(obj);
	while ((obj = obj_first(ia, DATP_CR)))
		cr_destroy(obj);
	while ((obj = obj_first(ia, DATP_EP)))
		ep_destroy(obj);
	while ((obj = obj_first(ia, DATP_SRQ)))
		srq_destroy(obj);
	while ((obj = obj_first(ia, DATP_RMR)))
		rmr_destroy(obj);
	while ((obj = obj_first(ia, DATP_LMR)))
		lmr_destroy(obj);
	while ((obj = obj_first(ia, DATP_PZ)))
		pz_destroy(obj);
	async_detach_all(ia);
	while ((obj = obj_first(ia, DATP_EVD)))
		evd_destroy(obj);
	while ((obj = obj_first(ia, DATP_CNO)))
		cno_destroy(obj);
}

enum datp_err ia_close(struct datp_ia *ia, bool graceful)
{
	struct plugin *plugin = ia_priv(ia)->plugin;
	enum datp_err err;

	if (datp_loop_inside(ia)) {
		core_log(1,
			 "%s: dat_ia_close in a CNO agent would wait for that agent: close the "
			 "adapter on another thread",
			 ia->name);
		return DATP_ERR_STATE;
	}
	err = close_begin(ia, graceful);
	if (err)
		return err;
	obj_retire(ia, true, DATP_OK, DATP_OK);
	destroy_objects(ia);
	transport_close(ia);
	ia_unlist(ia_priv(ia));
	obj_release(ia);
	plugin_put(plugin);
	return DATP_OK;
}

void datp_ia_error(struct datp_ia *ia, DAT_EVENT_NUMBER number)
{
	diag_async(ia, number);
	evd_post_async(ia, number, &ia->obj,
		       number == DAT_ASYNC_ERROR_IA_CATASTROPHIC ? DAT_IA_CATASTROPHIC_ERROR
								 : DAT_IA_OTHER_ERROR);
}
