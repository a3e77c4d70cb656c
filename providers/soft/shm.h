/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the processes of one host see of each other: the layout of everything in a soft IA's shared
 * arena. Peers of another SOFT_SHM_VERSION refuse each other, so the layout may change freely with
 * that number.
 *
 * Every word has one kind of writer, which its comment names. "Owner" is the IA whose arena it is.
 */
#ifndef SOFT_SHM_H
#define SOFT_SHM_H

#include <datp/provider.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define SOFT_SHM_VERSION 15u
#define SOFT_MAX_IOV	 16
#define SOFT_LINE	 64

/* A reference to memory in an arena: the extent to map, and where in it. */
struct soft_ref {
	uint64_t extent, extent_len, offset;
};

/* ---- the receive ring: one for each EVD, shared by all senders ---- */

enum soft_cell_kind { SOFT_CELL_VOID, SOFT_CELL_MESSAGE, SOFT_CELL_DONE };

#define SOFT_CELL_SOLICITED 1u
#define SOFT_CELL_SLOT	    2u /* the payload is in the sender's slot `slot`, not inline */

#define SOFT_INLINE 88

/*
 * A cell is written once by the sender that reserved its position, and read by the ring's owner, so
 * its lines move one way only. The reservations, which the senders have to agree on, are kept
 * apart.
 */
struct soft_cell {
	_Atomic uint64_t ready; /* its position + 1, when the rest is written */
	uint32_t port, gen; /* the receiving endpoint */
	uint32_t msg;	    /* SOFT_CELL_DONE: the cell keeps the place of the messages before this number */
	uint32_t len;
	uint32_t slot;
	uint16_t kind, flags;
	unsigned char data[SOFT_INLINE];
	uint32_t from; /* the sender's ID in this ring: whose slot it is */
	uint32_t pad;
};
_Static_assert(sizeof(struct soft_cell) == 2 * SOFT_LINE,
	       "a short message touches one line, the longest two");

#define SOFT_NOTIFY_WAITER   1u /* somebody sleeps on `bell` */
#define SOFT_NOTIFY_SERVICE 2u /* the owner's service thread is to be woken: soft_peer_wake() */
/*
 * The owner polls. Before it asks to be woken again it clears this flag and makes all processes
 * that receive fences pass one (fence.h). So a sender that finds this flag alone needs no fence of
 * its own.
 */
#define SOFT_NOTIFY_POLLED 4u
#define SOFT_NOTIFY_WAKE   (SOFT_NOTIFY_WAITER | SOFT_NOTIFY_SERVICE)
/*
 * A sender has taken the request and woken nobody yet. It may be stopped, so whoever publishes
 * meanwhile wakes the owner, too.
 */
#define SOFT_NOTIFY_TAKEN(wake)	  ((wake) << 4)
#define SOFT_NOTIFY_WANTED(notify) (((notify) | (notify) >> 4) & SOFT_NOTIFY_WAKE)
#define SOFT_NOTIFY_ANY		   (SOFT_NOTIFY_WAKE | SOFT_NOTIFY_TAKEN(SOFT_NOTIFY_WAKE))

/*
 * A reservation: position << 16 | peer. The reservation of position p is at p & mask, and
 * overwrites that of the lap before. The sender ID lets the owner void the reservations of a
 * sender that has died.
 */
#define SOFT_RESERVED(pos, peer) ((uint64_t)(pos) << 16 | (uint64_t)(peer))
#define SOFT_RESERVED_POS(word)	 ((word) >> 16)
#define SOFT_RESERVED_PEER(word) ((uint32_t)(word)&0xffffu)
/* How far a reservation is ahead of a position: the signed difference of the 48 bits that it has. */
#define SOFT_RESERVED_AHEAD(word, pos)                                                             \
	((int64_t)((SOFT_RESERVED_POS(word) - (uint64_t)(pos)) << 16) >> 16)

#define SOFT_SERVICE_WANTED 1u
#define SOFT_SERVICE_WOKEN   2u /* the service thread was woken after that; else the sender may have stopped before */

/*
 * Stands in for a list that is lost: the owner looks which ports say that they are on it.
 * No port has this entry.
 */
#define SOFT_READY_ALL UINT32_MAX

struct soft_ring {
	alignas(SOFT_LINE) _Atomic uint64_t
		tail; /* senders: the next position (a hint; the reservations decide) */
	/* owner: the number of cells that it has read, updated now and then; senders reserve at most a lap beyond it */
	alignas(SOFT_LINE) _Atomic uint64_t taken;
	alignas(SOFT_LINE) _Atomic uint32_t
		ready_list; /* of ports: (index << 1 | side) + 1; 0: empty; or SOFT_READY_ALL */
	_Atomic uint32_t
		notify; /* SOFT_NOTIFY_*: set by the owner; a sender takes the request that it acts on */
	_Atomic uint32_t bell; /* the futex of evd_wait */
	/*
	 * SOFT_SERVICE_*, set by senders: the service thread has to take a cell if nobody polls. Such a cell
	 * is for a message that can leave its sender only into a receive of an SRQ. The owner clears the
	 * word before it looks at the cells.
	 */
	_Atomic uint32_t service;
	uint32_t mask; /* owner, for peers that map the ring; each side keeps a copy, as of a port's layout */
	alignas(SOFT_LINE) struct soft_cell cell[]; /* the reservations follow the last cell */
};

static inline size_t soft_ring_size(uint32_t cells)
{
	return sizeof(struct soft_ring) +
	       cells * (sizeof(struct soft_cell) + sizeof(_Atomic uint64_t));
}

/* Senders. */
static inline _Atomic uint64_t *soft_ring_reservations(struct soft_ring *ring, uint32_t mask)
{
	return (_Atomic uint64_t *)(void *)&ring->cell[mask + 1];
}

/* ---- a port: one endpoint as its peer sees it ---- */

enum soft_side { SOFT_SIDE_RECV, SOFT_SIDE_REQUEST };

/*
 * A posted receive. Written by the owner; all fields but `n` and `sge` by the executor that fills it.
 */
enum soft_desc_state { SOFT_DESC_POSTED, SOFT_DESC_DONE };

/* What came with the message of a receive. */
enum soft_extra {
	SOFT_EXTRA_NONE,
	SOFT_EXTRA_IMMEDIATE, /* an RDMA Write has taken the receive; `len` is the length of that write */
	SOFT_EXTRA_INVALIDATED /* the message has ended the binding of a window of the receive's owner */
};

struct soft_desc {
	_Atomic uint32_t state;
	uint32_t n;
	uint64_t len;
	uint8_t status, solicited;
	uint8_t extra; /* enum soft_extra */
	uint8_t pad;
	union {
		uint32_t imm; /* SOFT_EXTRA_IMMEDIATE */
		uint32_t rmr; /* SOFT_EXTRA_INVALIDATED: the context that the window had */
	};
	struct datp_sge sge[];
};

/* A queued request. Written by the owner; `status` and `old` by the executor that executes it. */
struct soft_sqe {
	uint8_t op, status, solicited;
	/*
	 * A message to an endpoint with an SRQ: 1 if a cell keeps the place of this message. The
	 * target takes a buffer for it when it has taken that cell; the initiator does not ask for
	 * one.
	 */
	uint8_t has_place;
	uint32_t n;
	uint32_t msg; /* the operations of soft_is_message(): number of the message */
	uint64_t len;
	struct datp_rge remote; /* RDMA and atomic operations; DATP_BIND: new context, address, length */
	union {
		struct { /* DATP_BIND */
			uint32_t bind_priv, bind_lmr, bind_gen;
		};
		struct { /* DATP_CMP_SWAP, DATP_FETCH_ADD */
			union {
				uint64_t operand;
				uint64_t old; /* executor: what the word was before; the owner stores it in its memory */
			};
			uint64_t swap;
		};
		uint32_t imm; /* DATP_WRITE_IMM */
		uint32_t rmr; /* DATP_SEND_INVALIDATE: the context of the target's window; DATP_READ_RMR: that of the sink */
	};
	struct datp_sge sge[];
};

/* Returns true for the operations that write to memory of their initiator. */
static inline bool soft_is_read(uint8_t op)
{
	return op == DATP_RDMA_READ || op == DATP_READ_RMR;
}

/* Returns true for the operations that take a receive of the target: they count as messages. */
static inline bool soft_is_message(uint8_t op)
{
	return op == DATP_SEND || op == DATP_WRITE_IMM || op == DATP_SEND_INVALIDATE;
}

/*
 * The execution lock of a direction says who executes the initiator's requests. Its holder, the
 * executor, may touch the other side's memory while both ports are open for this connection. AGAIN:
 * somebody added a request or a receive while the lock was held, so the holder goes round again.
 * TARGET: the holder is the target, else the initiator; it matters when one of them has died.
 * HELPED: the other side takes part in a long copy (coop.c), and the holder may leave the lock to
 * it. The bits above count the holdings, so that a waiter sees the end of one even if the next has
 * begun.
 *
 * The upper half is the generation of the connection that the lock is for. So a peer that has not
 * heard of the end of an earlier connection does not get the lock; it could hold it at the moment
 * when the owner wants it, and look for a request that it cannot see.
 */
#define SOFT_EXEC_HELD	      1u
#define SOFT_EXEC_AGAIN	      2u
#define SOFT_EXEC_TARGET      4u
#define SOFT_EXEC_HELPED      8u
#define SOFT_EXEC_STEP	      16u
#define SOFT_EXEC_GEN(word) ((uint32_t)((word) >> 32))
/* The next value of a lock word: not held, of this generation, and different from all recent values. */
#define SOFT_EXEC_NEXT(word, gen)                                                                  \
	((uint64_t)(gen) << 32 | (((uint32_t)(word) & ~(SOFT_EXEC_STEP - 1)) + SOFT_EXEC_STEP))

/*
 * Where a port's queues are, and where in them a connection begins. It is sent along with the port,
 * and each side keeps its copy: when a peer hears of the end of a connection, the memory may
 * already be another endpoint's port, with another layout.
 */
struct soft_layout {
	uint32_t rq_mask, rq_stride, sq_mask, sq_stride;
	uint64_t rq_offset, sq_offset; /* from the port */
	uint32_t rq_base;	       /* message 0 goes to the receive at this position */
	uint32_t srq;		       /* receives come from an SRQ: only the owner can match */
};

struct soft_port {
	/* Owner, before the connection: constant while it lasts. */
	uint32_t pz;
	/*
	 * Owner: the generation of the connection while its peer may touch the buffers posted here,
	 * else 0. No other connection over this memory has the same generation, so a peer that has
	 * not heard of the end does no harm.
	 */
	_Atomic uint32_t open;
	/*
	 * Peer's service thread: the generation of the connection, written after the peer has
	 * opened its side and before its program can post. So a thread that sees data of the peer finds
	 * it here, even if the peer's RTU has not been read.
	 */
	_Atomic uint32_t rtu_gen;
	/*
	 * Executor: the send at sq_done waits for its receive. Every post of a receive reads
	 * this word, so it is in a line that hardly ever changes.
	 */
	_Atomic uint32_t waits;

	/* Owner, as receiver. */
	alignas(SOFT_LINE) _Atomic uint32_t rq_posted;
	_Atomic uint32_t
		delivered; /* messages taken from the ring and completed: the sender's credit */

	/* Owner as initiator; sq_done by the executor. */
	alignas(SOFT_LINE) _Atomic uint32_t sq_posted;
	_Atomic uint32_t sq_done;
	_Atomic uint64_t exec_lock; /* it is not reset when the memory becomes another port */
	_Atomic uint32_t failed; /* executor: a request has failed; none after it is executed */
	_Atomic uint32_t want_wake; /* owner: wake the service thread when a request is done */
	/* A cooperative copy: the executor offers the pieces, both sides take them; coop.c */
	_Atomic uint64_t pieces;
	_Atomic uint32_t pieces_failed; /* holder, helper */

	/* Any process: the links of the ready lists of the owner's rings. */
	struct {
		_Atomic uint32_t next, queued;
	} ready_link[2];
	/* Executor, if it is the initiator: as soft_cell.msg, written if the ring had no cell to say it. */
	_Atomic uint32_t announced;
};

/* ---- memory regions ---- */

/* Contexts: index << 11 | generation: 20 + 11 bits, never 0. */
#define SOFT_MR_GEN_BITS       11
#define SOFT_MR_COUNT	       (1u << 20)
#define SOFT_MR_INDEX(context) ((context) >> SOFT_MR_GEN_BITS)
/* Part of the context of a window while a bind changes it: no access finds it. */
#define SOFT_MR_BINDING (1u << 31)

/*
 * In `priv` beside the rights. SHARED: the region is within one shared mapping of a file. MAPPED: a
 * peer maps it, too. CONVERTED: not the whole region is, but its whole pages are (convert.h).
 */
#define SOFT_MR_SHARED	  0x10000u
#define SOFT_MR_MAPPED	  0x20000u
#define SOFT_MR_CONVERTED 0x40000u
/* of a window: a peer may invalidate it, over the connection that it was bound over */
#define SOFT_MR_INVALIDABLE 0x80000u
#define SOFT_MR_FILE	  (SOFT_MR_SHARED | SOFT_MR_CONVERTED)
#define SOFT_MR_RIGHTS	  0xffffu

/*
 * What an index stands for: a region from its registration until dat_lmr_free has waited for the
 * peers, or a window from the creation of its RMR until dat_rmr_free.
 */
enum soft_mr_use { SOFT_MR_UNUSED, SOFT_MR_REGION, SOFT_MR_WINDOW };

/*
 * The fields change only while the context is 0 or has SOFT_MR_BINDING, by one writer at a time,
 * and a reader checks the context again after reading them. So a rebind in the middle of a check
 * gives no mixture of two ranges.
 */
struct soft_mr {
	/*
	 * Written by the owner, by a bind's executor; 0 while dead, with SOFT_MR_BINDING during a
	 * bind; set last, cleared first.
	 */
	_Atomic uint32_t context;
	_Atomic uint32_t priv, pz; /* priv: with SOFT_MR_*, MAPPED by a peer */
	_Atomic uint32_t
		lmr; /* of a window: the context of its region; of a region 0 */
	/* Owner. In the table that peers see: counts the RMRs that had this index. In soft_ia.own: enum soft_mr_use. */
	union {
		_Atomic uint32_t rmr_gen;
		_Atomic uint32_t use;
	};
	_Atomic uint32_t conn; /* of a window: the connection that it was bound over, as its owner numbers it */
	_Atomic uint64_t addr, len;
};

/* ---- slots: where a sender puts the payload of a message that is too long for a cell ---- */

struct soft_slot {
	/* owner: the reader's sender ID; reader: 0 when it has copied the payload */
	_Atomic uint32_t busy;
	uint8_t pad[SOFT_LINE - 4];
	unsigned char data[];
};

/* Returns one of a row of slots with `size` bytes of payload each. */
static inline struct soft_slot *soft_slot_at(void *slots, uint32_t size, uint32_t index)
{
	return (struct soft_slot *)(void *)((char *)slots +
					    (size_t)index * (sizeof(struct soft_slot) + size));
}

/* ---- the bounce mailbox: where the kernel refuses to copy between processes ---- */

#define SOFT_MAILBOX_SIZE (256u << 10)
enum soft_mailbox_state { SOFT_MAILBOX_IDLE, SOFT_MAILBOX_ASKED, SOFT_MAILBOX_DONE };

/*
 * A question names a piece of a posted request and no address: the owner of the memory finds that
 * out itself. The asker writes all fields but `error`, which the bounce thread writes; both write
 * `state` and `data`.
 */
struct soft_mailbox {
	_Atomic uint32_t state; /* the asker: IDLE -> ASKED; the peer's bounce thread: ASKED -> DONE */
	int32_t error;		/* bounce thread: 0 or an errno; ESRCH: there is no such connection any more */
	uint32_t port, gen;	/* the endpoint of the bounce thread's side, and its connection */
	uint32_t seq;		/* the request, by its position in the initiator's queue */
	uint32_t initiator;	/* 1: the asker is */
	uint64_t offset, len;	/* the piece of the request's bytes */
	alignas(SOFT_LINE) unsigned char data[SOFT_MAILBOX_SIZE];
};

/* ---- the header of an IA: where a peer finds the rest ---- */

struct soft_header {
	uint32_t version;
	uint32_t slot_count, slot_size;
	_Atomic uint32_t bounce_bell; /* peers count it up; the bounce thread of this IA sleeps on it */
	struct soft_ref mr, slots;
	uint64_t probe; /* a peer reads it through the kernel, to find out whether the kernel allows such reads */
};

static inline struct soft_desc *soft_port_desc(struct soft_port *port,
					       const struct soft_layout *layout, uint32_t seq)
{
	return (struct soft_desc *)((char *)port + layout->rq_offset +
				    (uint64_t)(seq & layout->rq_mask) * layout->rq_stride);
}

static inline struct soft_sqe *soft_port_sqe(struct soft_port *port,
					     const struct soft_layout *layout, uint32_t seq)
{
	return (struct soft_sqe *)((char *)port + layout->sq_offset +
				   (uint64_t)(seq & layout->sq_mask) * layout->sq_stride);
}

#endif
