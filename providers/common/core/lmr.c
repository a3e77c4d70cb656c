/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory. obj.users counts the RMRs bound to it; it cannot be freed before they are
 * unbound.
 */
#include <string.h>

#include "core.h"
#include "diag.h"
#include "duties.h"

static enum datp_err range_check(struct datp_ia *ia, const struct lmr_new *what)
{
	uint64_t end;

	/* Programs that register an empty buffer may have no address for it either. */
	if (!what->len)
		return DATP_ERR_LENGTH;
	if (!what->addr)
		return DATP_ERR_BAD_MEMORY;
	/* The last byte must have an address; the byte after it need not. */
	if (__builtin_add_overflow(what->addr, what->len - 1, &end))
		return DATP_ERR_BAD_LENGTH;
	if (what->len <= ia_attr(ia)->max_lmr_block)
		return DATP_OK;
	diag_block(ia, what->len);
	return DATP_ERR_BAD_LENGTH;
}

static enum datp_err what_check(struct datp_ia *ia, const struct lmr_new *what)
{
	if ((unsigned int)what->priv & ~ia_privs(ia))
		return DATP_ERR_BAD_PRIV;
	switch (what->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return range_check(ia, what);
	case DAT_MEM_TYPE_LMR:
		return DATP_OK;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		return what->cookie ? range_check(ia, what) : DATP_ERR_BAD_MEMORY;
	default:
		return DATP_ERR_MODEL;
	}
}

static void asked_set(struct datp_lmr *lmr, const struct lmr_new *what)
{
	struct lmr_priv *priv = OBJ_PRIV(struct lmr_priv, lmr);

	priv->asked_addr = what->addr;
	priv->asked_len = what->len;
	priv->source = what->source;
	if (what->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL)
		memcpy(priv->cookie, what->cookie, sizeof(priv->cookie));
}

/* For MEM_TYPE_LMR, `source` is held; its memory is registered once more, independently. */
static enum datp_err lmr_make(struct datp_ia *ia, const struct lmr_new *what, struct datp_pz *pz,
			      const struct datp_lmr *source, struct datp_lmr **out)
{
	struct datp_obj *obj;
	struct datp_lmr *lmr;
	enum datp_err err;

	err = obj_alloc(ia, DATP_LMR, sizeof(struct lmr_priv), ia->ops->lmr_size, &obj);
	if (err)
		return err;
	lmr = (struct datp_lmr *)obj;
	lmr->pz = pz;
	lmr->mem_type = what->mem_type;
	lmr->priv = what->priv;
	lmr->addr = source ? source->addr : what->addr;
	lmr->len = source ? source->len : what->len;
	asked_set(lmr, what);
	err = ia->ops->lmr_create(lmr, what->cookie);
	if (err)
		goto release;
	err = duties_of_lmr(lmr);
	if (err)
		goto free_transport;
	err = obj_publish(lmr);
	if (err)
		goto free_transport;
	*out = lmr;
	return DATP_OK;

free_transport:
	ia->ops->lmr_free(lmr);
release:
	obj_release(lmr);
	return err;
}

enum datp_err lmr_create(struct datp_ia *ia, const struct lmr_new *what, struct datp_lmr **out)
{
	struct datp_lmr *source = NULL;
	struct datp_pz *pz;
	enum datp_err err;

	err = what_check(ia, what);
	if (err)
		return err;
	pz = obj_hold(ia, what->pz, DATP_PZ);
	if (!pz)
		return DATP_ERR_HANDLE_PZ;
	if (what->mem_type == DAT_MEM_TYPE_LMR) {
		source = obj_hold(ia, what->source, DATP_LMR);
		err = DATP_ERR_HANDLE_LMR;
		if (!source)
			goto drop_pz;
	}
	err = lmr_make(ia, what, pz, source, out);
	if (err)
		diag_memory(ia, what->len, err);
	obj_drop(source);
	if (!err)
		return DATP_OK; /* the LMR keeps its reference to the PZ */
drop_pz:
	obj_drop(pz);
	return err;
}

static enum datp_err lmr_end(struct datp_lmr *lmr, bool force)
{
	enum datp_err err = obj_retire(lmr, force, DATP_ERR_STATE_LMR_IN_USE, DATP_ERR_HANDLE_LMR);

	if (err)
		return err;
	lmr->obj.ia->ops->lmr_free(lmr);
	obj_drop(lmr->pz);
	obj_release(lmr);
	return DATP_OK;
}

enum datp_err lmr_free(struct datp_lmr *lmr)
{
	return lmr_end(lmr, false);
}

void lmr_destroy(struct datp_lmr *lmr)
{
	lmr_end(lmr, true);
}

/* Returns true if [addr, addr + len) lies in the LMR. */
bool lmr_covers(const struct datp_lmr *lmr, uint64_t addr, uint64_t len)
{
	return addr >= lmr->addr && len <= lmr->len && addr - lmr->addr <= lmr->len - len;
}

enum datp_err lmr_sync(struct datp_ia *ia, const struct datp_sge *segments, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		const struct datp_lmr *lmr = ia->ops->lmr_find(ia, segments[i].lmr_context);

		if (!lmr || !lmr_covers(lmr, segments[i].addr, segments[i].len))
			return DATP_ERR_BAD_SEGMENTS;
	}
	/* Memory is coherent with every existing transport, so nothing has to be done. */
	return DATP_OK;
}
