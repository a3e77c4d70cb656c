/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The properties of InfiniBand and RoCE: connection messages of fixed sizes, which pad private
 * data; a third message, the RTU; and RNR NAKs, by which a receiver has a sender
 * retry.
 */
#include "ib.h"

enum {
	REQUEST_BYTES = 56,   /* 92 of the message, less 36 of rdma_cm's own header */
	REPLY_BYTES = 196,
	REJECT_BYTES = 148 - RDMA_REJECT_BYTES, /* behind the word of versions */
	CONSUMER_DEFINED = 28, /* the reason in a rejection that a consumer has sent */
	/*
	 * 0.64 ms. librdmacm leaves the RNR timer at 0, which means 655 ms: a message that came
	 * just before its receive was posted would wait so long.
	 */
	MIN_RNR_TIMER = 12,
	FOR_EVER = 7, /* the RNR retry count that means unlimited retries */
	/*
	 * The retry count for a peer that does not answer at all. 7 would be allowed, but rxe
	 * (Linux 6.1) retries for ever with 7 here, too, and so the loss of the peer's host would
	 * not be reported.
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
	/* not the numbers of the peer's request, because its retry count may carry the length of its private data */
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
	.reject_bytes = REJECT_BYTES,
	.has_rtu = true,
	.rejected_by_consumer = ib_rejected_by_consumer,
	.tune = ib_tune,
};
