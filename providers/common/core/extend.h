/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts of the extensions, seen from an edge. */
#ifndef EXTEND_H
#define EXTEND_H

#include "core.h"

/* An operation of enum datp_ext_op. An atomic operation has one segment; so has a read into an RMR, and it lies in the RMR. */
struct ext_post {
	enum datp_ext_op op;
	int n;
	const struct datp_sge *iov;
	const struct datp_rge *remote; /* may be NULL for a write of no segments */
	DAT_CONTEXT cookie;
	unsigned int flags;
	uint32_t imm;		  /* DATP_WRITE_IMM */
	uint32_t rmr_context;	  /* DATP_SEND_INVALIDATE */
	struct datp_atomic atomic; /* DATP_CMP_SWAP, DATP_FETCH_ADD */
};

/* Posts an operation that ia_priv.ext says is supported. Takes the EP lock. */
enum datp_err ext_post(struct datp_ep *ep, const struct ext_post *post);

#endif
