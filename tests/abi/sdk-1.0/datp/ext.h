/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What only DAT 2.0 has, for transports that have it: of the InfiniBand extensions atomic operations, and RDMA Writes
 * with immediate data; sends that invalidate an RMR of the peer, and RDMA Reads into an RMR. <datp/provider.h> includes
 * this file; its ops ext_query, post_write_imm, post_atomic, post_send_invalidate and post_read_rmr serve them. Since
 * SDK 0.7.
 */
#ifndef DATP_EXT_H
#define DATP_EXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In datp_lmr.priv: a peer may change the region by atomic operations. Only a transport that has them sees it, and
 * only for programs of DAT 2.0.
 */
#define DATP_MEM_PRIV_REMOTE_ATOMIC 0x40u

/*
 * Values of datp_wqe.op beside those of enum datp_op; they follow DATP_BIND. All are requests: RDMA Write with
 * immediate data, compare-and-swap, fetch-and-add, and since SDK 0.9 a send that invalidates, and an RDMA Read into an
 * RMR.
 */
enum datp_ext_op { DATP_WRITE_IMM = 5, DATP_CMP_SWAP, DATP_FETCH_ADD, DATP_SEND_INVALIDATE, DATP_READ_RMR };

/* In datp_wqe.post_flags of a receive: immediate data came with it. Only datp_recv_immediate() sets it. */
#define DATP_WQE_IMMEDIATE 0x80u
/*
 * Beside it: no immediate data came, but the sender has invalidated an RMR of this side. Only datp_recv_invalidate()
 * sets it. Since SDK 0.9
 */
#define DATP_WQE_INVALIDATED 0x40u

/*
 * What the transport can do beyond struct datp_ia_attr. ext_query() fills it in; all fields but the size and
 * program_has are 0 or false before.
 */
struct datp_ext_attr {
	uint32_t size;		/* of this struct in the libdatp that calls; do not write beyond it */
	bool write_imm, atomics; /* post_write_imm and post_atomic work */
	/* an RDMA Read tells the peer the context of its sink, because the peer writes to it (iWARP) */
	bool read_exposes_sink;
	/* the most bytes of private data in a rejection, for cr_reject_with; 0: none. Since SDK 0.8 */
	uint32_t max_reject_data;
	/*
	 * Since SDK 0.9. Set by libdatp: the program is one of DAT 2.0, so a peer may invalidate its RMRs. A program of 1.2
	 * would not be told.
	 */
	bool program_has;
	bool send_invalidate, read_rmr; /* post_send_invalidate and post_read_rmr work */
	bool reserved;			/* so that the next field makes the struct larger, which shows in `size` */
};

/* Whether the libdatp that calls ext_query() has the field, which a later SDK than 1.0 has added. Since SDK 1.0 */
#define DATP_EXT_HAS(attr, field) \
	((attr)->size >= offsetof(struct datp_ext_attr, field) + sizeof((attr)->field))

/* The operands of an atomic operation. The memory that it changes is an aligned word of 8 bytes in the host's byte order. */
struct datp_atomic {
	uint64_t operand; /* what the word is compared with, or what is added to it */
	uint64_t swap;	  /* DATP_CMP_SWAP: what the word becomes if it is equal */
};

#endif
