/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is particular to InfiniBand and RoCE: messages of fixed sizes, which pad private data; a third
 * message that confirms the second; and a receiver that may ask a sender to try again later.
 */
#include "ib.h"

enum {
	REQUEST_BYTES = 56,   /* 92 of the message, less 36 of rdma_cm's own header */
	REPLY_BYTES = 196,
	CONSUMER_DEFINED = 28, /* the reason in a rejection that a consumer has sent */
	/*
	 * 0.64 ms. librdmacm leaves it at 0, which means 655 ms: so long a message would wait that came
	 * a moment before its receive was posted.
	 */
	MIN_RNR_TIMER = 12,
	FOR_EVER = 7, /* of the tries to reach a receive that is not there yet */
	/*
	 * Of those to reach a peer that does not answer at all. There may be one more, but rxe (Linux 6.1)
	 * takes 7 for ever here, too: nobody would hear that the peer's host has gone.
	 */
	RETRIES = 6,
};

static bool ib_rejected_by_consumer(int status)
{
	return status == CONSUMER_DEFINED;
}

static void ib_tune(struct ibv_qp_attr *attr, int *mask)
{
	if (*mask & IBV_QP_MIN_RNR_TIMER)
		attr->min_rnr_timer = MIN_RNR_TIMER;
	/* whatever the peer asked for, whose number may tell the length of its private data */
	if (*mask & IBV_QP_RNR_RETRY)
		attr->rnr_retry = FOR_EVER;
	if (*mask & IBV_QP_RETRY_CNT)
		attr->retry_cnt = RETRIES;
}

const struct rdma_kind ib_kind = {
	.name = "ib",
	.transport = IBV_TRANSPORT_IB,
	.shown = "InfiniBand or RoCE",
	.max_private_data = 2 * (REQUEST_BYTES - RDMA_TRAILER), /* in two requests */
	.request_bytes = REQUEST_BYTES,
	.reply_bytes = REPLY_BYTES,
	.three_way = true,
	.rejected_by_consumer = ib_rejected_by_consumer,
	.tune = ib_tune,
};
