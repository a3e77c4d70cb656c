/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection zones. obj.users counts the EPs, LMRs, RMRs and SRQs in it; it cannot be freed before
 * them.
 */
#include "core.h"

enum datp_err pz_create(struct datp_ia *ia, struct datp_pz **out)
{
	struct datp_obj *obj;
	struct datp_pz *pz;
	enum datp_err err;

	err = obj_alloc(ia, DATP_PZ, 0, ia->ops->pz_size, &obj);
	if (err)
		return err;
	pz = (struct datp_pz *)obj;
	err = ia->ops->pz_create(pz);
	if (err)
		goto release;
	err = obj_publish(pz);
	if (err)
		goto free_transport;
	*out = pz;
	return DATP_OK;

free_transport:
	ia->ops->pz_free(pz);
release:
	obj_release(pz);
	return err;
}

static enum datp_err pz_end(struct datp_pz *pz, bool force)
{
	enum datp_err err = obj_retire(pz, force, DATP_ERR_STATE_PZ_IN_USE, DATP_ERR_HANDLE_PZ);

	if (err)
		return err;
	pz->obj.ia->ops->pz_free(pz);
	obj_release(pz);
	return DATP_OK;
}

enum datp_err pz_free(struct datp_pz *pz)
{
	return pz_end(pz, false);
}

void pz_destroy(struct datp_pz *pz)
{
	pz_end(pz, true);
}
