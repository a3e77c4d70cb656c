/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An SRQ and up to three connections to endpoints that take from it, with which the clauses of SRQs
 * and of their endpoints are tested. srq_setup() makes one set for each test.
 */
#ifndef CONFORM_T_SRQ_H
#define CONFORM_T_SRQ_H

#include "kit.h"

#define SRQ_DEPTH 10

extern struct srq_kit {
	DAT_SRQ_HANDLE srq;
	struct kit_buf recv, send;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	struct {
		struct kit_end from, to;	/* `from` has no SRQ, `to` takes from the SRQ */
	} link[3];
} s;

void srq_setup(void);	/* ends the test on a provider without SRQs */
DAT_SRQ_HANDLE srq_make(DAT_PZ_HANDLE pz);
DAT_RETURN srq_end_create(struct kit_end *end, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr);
void srq_end_make(struct kit_end *end, DAT_COMPLETION_FLAGS recv_flags);
void srq_join(int i);
void srq_links(int count);	/* creates and connects the first `count` pairs */
DAT_SRQ_PARAM srq_query(void);
bool srq_counts(DAT_COUNT available, DAT_COUNT outstanding);	/* a number that the provider does not know counts as right */

/* Buffers have the cookies 1 to 120, which identify them, and 1024 bytes each. */
DAT_RETURN srq_post(uint64_t cookie, size_t size);
void srq_post_many(uint64_t first, uint64_t last);
void srq_send(int i, size_t size, uint64_t seed);	/* sends, and reaps the completion of the send */
void srq_want(int i, uint64_t cookie, size_t size, unsigned int seed);	/* checks that a message arrives in that buffer */
void srq_message(int i, uint64_t cookie);	/* srq_send() and srq_want(), one after the other */

#endif /* CONFORM_T_SRQ_H */
