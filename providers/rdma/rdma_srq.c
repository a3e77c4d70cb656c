/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues of the device. libdatp counts; the device matches, and tells with the completion
 * which endpoint took a receive.
 */
#include "rdma.h"
#include <errno.h>

/* A queue that cannot be resized later is made larger at once. */
static uint32_t size_to_ask(const struct rdma_ia *ia, uint32_t asked)
{
	uint32_t room = asked;

	if (!(ia->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		room = asked > 512 ? asked * 2 : 1024;
	return room < (uint32_t)ia->dev.max_srq_wr ? room : (uint32_t)ia->dev.max_srq_wr;
}

enum datp_err rdma_srq_create(struct datp_srq *base)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	struct rdma_ia *ia = rdma_ia(base->obj.ia);
	struct ibv_srq_init_attr init = { .srq_context = srq };

	init.attr.max_wr = size_to_ask(ia, (uint32_t)base->max_recv_dtos);
	init.attr.max_sge = base->max_recv_iov > 0 ? (uint32_t)base->max_recv_iov : 1;
	srq->srq = ibv_create_srq(((struct rdma_pz *)base->pz)->pd, &init);
	if (!srq->srq)
		return errno == EINVAL ? DATP_ERR_ARG3 : DATP_ERR_RES_SRQ;
	srq->size = init.attr.max_wr;
	return DATP_OK;
}

enum datp_err rdma_srq_resize(struct datp_srq *base, int32_t max_recv_dtos)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;
	struct ibv_srq_attr attr = { .max_wr = (uint32_t)max_recv_dtos };

	/* libdatp keeps to the asked size; the device may have more room than that. */
	if ((uint32_t)max_recv_dtos <= srq->size)
		return DATP_OK;
	if (!(rdma_ia(base->obj.ia)->dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE) ||
	    ibv_modify_srq(srq->srq, &attr, IBV_SRQ_MAX_WR))
		return DATP_ERR_RES_SRQ;
	srq->size = (uint32_t)max_recv_dtos;
	return DATP_OK;
}

void rdma_srq_free(struct datp_srq *base)
{
	struct rdma_srq *srq = (struct rdma_srq *)base;

	if (ibv_destroy_srq(srq->srq))
		datp_log(1, "%s: cannot free a shared receive queue: errno %d", base->obj.ia->name,
			 errno);
}
