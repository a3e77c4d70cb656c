/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the processes of one host see of each other: the layout of everything in a soft IA's shared
 * arena. Peers of another build refuse each other by SOFT_SHM_VERSION, so this may change freely
 * with it.
 *
 * Every word has one kind of writer, said beside it. "Owner" is the IA whose arena it is.
 */
#ifndef SOFT_SHM_H
#define SOFT_SHM_H

#include <datp/provider.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#define SOFT_SHM_VERSION 13u
#define SOFT_MAX_IOV	 16
#define SOFT_LINE	 64

/* A place in an arena: the extent to map, and where in it. */
struct soft_ref {
	uint64_t extent, extent_len, offset;
};

/* ---- the receive ring: one for each EVD, shared by all senders ---- */

enum soft_cell_kind { SOFT_CELL_VOID, SOFT_CELL_MESSAGE, SOFT_CELL_DONE };

#define SOFT_CELL_SOLICITED 1u
#define SOFT_CELL_SLOT	    2u /* the payload is in the sender's slot `slot`, not inline */

#define SOFT_INLINE 88

/*
 * A cell is written by the sender that claimed its position, once, and read by the ring's owner:
 * its lines go one way. What else the senders have to agree on is kept apart, in the claims.
 */
struct soft_cell {
	_Atomic uint64_t ready; /* its position + 1, once the rest is there */
	uint32_t port, gen; /* the receiving endpoint */
	uint32_t msg;	    /* SOFT_CELL_DONE: the number of the message behind those whose turn it keeps */
	uint32_t len;
	uint32_t slot;
	uint16_t kind, flags;
	unsigned char data[SOFT_INLINE];
	uint32_t from; /* the sender's name in this ring: whose slot it is */
	uint32_t pad;
};
_Static_assert(sizeof(struct soft_cell) == 2 * SOFT_LINE,
	       "a short message touches one line, the longest two");

#define SOFT_NOTIFY_WAITER   1u /* somebody sleeps on `bell` */
#define SOFT_NOTIFY_DOORBELL 2u /* the owner's service thread wants to be rung: soft_peer_wake() */
/*
 * The owner polls; before it asks for something again it takes this away and has all who hear of it pass a full fence.
 * So who finds this, and nothing asked for, needs none of his own.
 */
#define SOFT_NOTIFY_POLLED 4u
#define SOFT_NOTIFY_WAKE   (SOFT_NOTIFY_WAITER | SOFT_NOTIFY_DOORBELL)
/* A sender has taken what was asked for, and has not woken anybody yet: it may be stopped, so whoever has news does it, too. */
#define SOFT_NOTIFY_TAKEN(wake)	  ((wake) << 4)
#define SOFT_NOTIFY_WANTED(notify) (((notify) | (notify) >> 4) & SOFT_NOTIFY_WAKE)
#define SOFT_NOTIFY_ANY		   (SOFT_NOTIFY_WAKE | SOFT_NOTIFY_TAKEN(SOFT_NOTIFY_WAKE))

/*
 * A claim: position << 16 | peer. That of a position p stands at p & mask, over the one of a lap
 * ago; the name is what lets the owner void the claim of a sender that died.
 */
#define SOFT_CLAIM(pos, peer)  ((uint64_t)(pos) << 16 | (uint64_t)(peer))
#define SOFT_CLAIM_POS(claim)  ((claim) >> 16)
#define SOFT_CLAIM_PEER(claim) ((uint32_t)(claim)&0xffffu)
/* By how much it is beyond a position: the 48 bits that it has, with their sign. */
#define SOFT_CLAIM_AHEAD(claim, pos)                                                               \
	((int64_t)((SOFT_CLAIM_POS(claim) - (uint64_t)(pos)) << 16) >> 16)

#define SOFT_ASKED_SET	1u
#define SOFT_ASKED_RUNG 2u /* and the doorbell was rung behind that: without it the sender may be stopped before it rings */

/* In the place of a list: it is lost, and the owner looks which ports say that they are on it. No port's entry. */
#define SOFT_ATTENTION_ALL UINT32_MAX

struct soft_ring {
	alignas(SOFT_LINE) _Atomic uint64_t
		tail; /* senders: the next position (a hint; the claims decide) */
	/* owner: how many cells it has read, told now and then; the senders may go a lap beyond */
	alignas(SOFT_LINE) _Atomic uint64_t taken;
	alignas(SOFT_LINE) _Atomic uint32_t
		attention; /* list of ports: (index << 1 | side) + 1; 0: empty; or SOFT_ATTENTION_ALL */
	_Atomic uint32_t
		notify; /* SOFT_NOTIFY_*: set by the owner; what is asked for is taken by the sender that acts on it */
	_Atomic uint32_t bell; /* the futex of evd_wait */
	/*
	 * Senders set it: a cell waits that the service thread takes if nobody polls, since its message can only leave
	 * its sender by a buffer of an SRQ. SOFT_ASKED_*. The owner clears it before it looks at the cells.
	 */
	_Atomic uint32_t asked;
	uint32_t mask; /* owner, for who maps it; each side keeps it to itself, as a port's layout */
	alignas(SOFT_LINE) struct soft_cell cell[]; /* and behind the last one the claims */
};

static inline size_t soft_ring_size(uint32_t cells)
{
	return sizeof(struct soft_ring) +
	       cells * (sizeof(struct soft_cell) + sizeof(_Atomic uint64_t));
}

/* Senders. */
static inline _Atomic uint64_t *soft_ring_claims(struct soft_ring *ring, uint32_t mask)
{
	return (_Atomic uint64_t *)(void *)&ring->cell[mask + 1];
}

/* ---- a port: one endpoint as its peer sees it ---- */

enum soft_side { SOFT_SIDE_RECV, SOFT_SIDE_REQUEST };

/* A posted receive. Written by the owner; `state`, `len`, `status` by who completes it. */
enum soft_desc_state { SOFT_DESC_POSTED, SOFT_DESC_DONE };

struct soft_desc {
	_Atomic uint32_t state;
	uint32_t n;
	uint64_t len;
	uint8_t status, solicited;
	uint8_t pad[6];
	struct datp_sge sge[];
};

/*
 * A request that could not be executed at once. Written by the owner, `status` by who executes it.
 */
struct soft_sqe {
	uint8_t op, status, solicited;
	/*
	 * DATP_SEND to an endpoint with an SRQ: 1 if a cell keeps the turn of this message. The target takes a buffer for
	 * it when it has taken that cell, and the initiator leaves the request to it.
	 */
	uint8_t turn;
	uint32_t n;
	uint32_t msg; /* DATP_SEND: number of the message */
	uint64_t len;
	struct datp_rge remote; /* RDMA; DATP_BIND: new context, address, length */
	uint32_t bind_priv, bind_lmr, bind_life;
	uint32_t bind_old; /* executor: not 0: the bind ended another */
	struct datp_sge sge[];
};

/*
 * The engine word of a direction: who executes the initiator's requests. Holding it is the right to
 * touch the other side's memory, while both ports are open for this connection. AGAIN: somebody
 * added work or a receive while it was held; the holder goes round again. TARGET: the holder is the
 * target, else the initiator; it matters when one of them has died. HELPED: the other side has come
 * to take part in a long copy (joint.c); a holder that has one may leave it the engine. The bits
 * above count the holdings, so that a waiter sees one end although the next has begun. The upper
 * half is the generation of the connection that the engine works for: a peer that has not heard of
 * the end of an earlier one does not get it, or else it could hold it at the moment when its owner
 * wants it, and go round for a request that it cannot see.
 */
#define SOFT_ENGINE_HELD      1u
#define SOFT_ENGINE_AGAIN     2u
#define SOFT_ENGINE_TARGET    4u
#define SOFT_ENGINE_HELPED    8u
#define SOFT_ENGINE_STEP      16u
#define SOFT_ENGINE_GEN(word) ((uint32_t)((word) >> 32))
/* Not held, for this generation, and another word than any lately. */
#define SOFT_ENGINE_NEXT(word, gen)                                                                \
	((uint64_t)(gen) << 32 | (((uint32_t)(word) & ~(SOFT_ENGINE_STEP - 1)) + SOFT_ENGINE_STEP))

/*
 * Where a port's queues are, and where in them a connection begins. It is told along with the port,
 * and each side keeps it to itself: by the time that a peer hears of the end of a connection the
 * memory may be another endpoint's port, laid out in another way.
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
	 * else 0. No other connection over this memory has the same, so a peer that has not heard
	 * of the end does no harm.
	 */
	_Atomic uint32_t open;
	/*
	 * The peer's service thread: the generation of the connection, once it has opened its side and before its program
	 * can post. So who sees data of the peer finds it here, though the message that says so may not have been read.
	 */
	_Atomic uint32_t confirmed;
	/*
	 * Engine's holder: the send at sq_done had to wait for its receive, and is not done. Whoever posts
	 * one looks here each time; so the word is in a line that hardly ever changes.
	 */
	_Atomic uint32_t waits;

	/* Owner, as receiver. */
	alignas(SOFT_LINE) _Atomic uint32_t rq_posted;
	_Atomic uint32_t
		delivered; /* messages taken off the ring and completed: the sender's credit */

	/* Owner as initiator; sq_done by the engine's holder. */
	alignas(SOFT_LINE) _Atomic uint32_t sq_posted;
	_Atomic uint32_t sq_done;
	_Atomic uint64_t engine; /* goes on from life to life of this memory */
	_Atomic uint32_t failed; /* engine's holder: a request failed, none after it is executed */
	_Atomic uint32_t want_bell; /* owner: ring when a request is done */
	/* a copy in pieces: opened by the engine's holder, taken from by both sides; joint.c */
	_Atomic uint64_t pieces;
	_Atomic uint32_t pieces_failed; /* holder, helper */

	/* Anybody: the attention lists of the owner's rings. */
	struct {
		_Atomic uint32_t next, queued;
	} attention[2];
	/* Engine's holder as initiator: as soft_cell.msg, of what no cell could tell, since there was none. */
	_Atomic uint32_t told;
};

/* ---- memory regions ---- */

/* Contexts: index << 11 | generation: 20 + 11 bits, never 0. */
#define SOFT_MR_GEN_BITS       11
#define SOFT_MR_COUNT	       (1u << 20)
#define SOFT_MR_INDEX(context) ((context) >> SOFT_MR_GEN_BITS)
/* With a context: of a window that is just being bound so. It is found by nobody. */
#define SOFT_MR_BINDING (1u << 31)

/* Beside the rights: the region is within one shared mapping of a file; and a peer maps it, too. */
#define SOFT_MR_SHARED 0x10000u
#define SOFT_MR_MAPPED 0x20000u
#define SOFT_MR_RIGHTS 0xffffu

/*
 * The fields change only while the context is none, by one at a time, and their reader looks at the context again when
 * it has them: so a rebind in the middle of a check gives no mixture of two ranges.
 */
struct soft_mr {
	/*
	 * owner, binds: the executor; 0 while dead, SOFT_MR_BINDING while it is bound; set last,
	 * cleared first
	 */
	_Atomic uint32_t context;
	_Atomic uint32_t priv, pz; /* priv: with SOFT_MR_*, MAPPED by a peer */
	_Atomic uint32_t
		lmr; /* of a window: the context of the region that it opens; of a region 0 */
	/*
	 * Owner. In the table that peers see: counts the RMRs that had this index. In soft_ia.own: 1
	 * from the registration of a region until dat_lmr_free has waited for the peers, 2 for an RMR from
	 * its creation until dat_rmr_free, else 0.
	 */
	_Atomic uint32_t life;
	_Atomic uint64_t addr, len;
};

/* ---- slots: where a sender puts the payload of a message that is too long for a cell ---- */

struct soft_slot {
	/* owner: its name of who reads it; the reader: 0 when it has copied */
	_Atomic uint32_t busy;
	uint8_t pad[SOFT_LINE - 4];
	unsigned char data[];
};

/* Of a row of them, with `size` bytes of payload each. */
static inline struct soft_slot *soft_slot_at(void *slots, uint32_t size, uint32_t index)
{
	return (struct soft_slot *)(void *)((char *)slots +
					    (size_t)index * (sizeof(struct soft_slot) + size));
}

/* ---- the bounce mailbox: where the kernel refuses to copy between processes ---- */

#define SOFT_BOUNCE_SIZE (256u << 10)
enum soft_bounce_state { SOFT_BOUNCE_IDLE, SOFT_BOUNCE_ASKED, SOFT_BOUNCE_DONE };

/*
 * A question names a piece of a posted request, and no address: the owner of the memory finds that out by itself. All but
 * state, error and data by the asker.
 */
struct soft_bounce {
	_Atomic uint32_t state; /* the asker: IDLE -> ASKED; the peer's mover: ASKED -> DONE */
	int32_t error;		/* mover: 0 or an errno */
	uint32_t port, gen;	/* the endpoint of the mover's side, and its connection */
	uint32_t seq;		/* the request, by its position in the initiator's queue */
	uint32_t initiator;	/* 1: the asker is */
	uint64_t offset, len;	/* the piece of the request's bytes */
	alignas(SOFT_LINE) unsigned char data[SOFT_BOUNCE_SIZE];
};

/* ---- the IA ---- */

struct soft_shared {
	uint32_t version;
	uint32_t slot_count, slot_size;
	_Atomic uint32_t mover_bell; /* askers: the mover of this IA sleeps on it */
	struct soft_ref mr, slots;
	uint64_t probe; /* a peer reads it through the kernel to see whether it may */
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
