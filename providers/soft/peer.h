/* SPDX-License-Identifier: BSD-2-Clause */
/* Other IAs that we share memory with. */
#ifndef SOFT_PEER_H
#define SOFT_PEER_H

#include "soft.h"

/* What an IA tells of itself when it first writes to another. */
struct soft_intro {
	uint64_t id[2];
	uint64_t probe; /* where `id[0]` stands in its memory */
	struct soft_ref shared;
	uint32_t slot;	  /* the name it gives the other in its rings */
	uint32_t my_slot; /* the name that it has in the other's; 0: none yet */
};

void soft_peers_fini(struct soft_ia *ia);

uint32_t soft_slot_name(struct soft_ia *ia); /* a free name, 0: none */
bool soft_slot_is_of(struct soft_ia *ia, uint32_t slot, const uint64_t id[2]);
void soft_slot_unname(struct soft_ia *ia, uint32_t slot); /* of an attempt that came to nothing */

void soft_slot_forget(struct soft_ia *ia, uint32_t slot); /* a second name of a peer that has one */

/*
 * The peer with this introduction, made if it is new; counted. `name`: what it is called in our
 * rings; it keeps that name too if it is known already. arena_fd: its arena, taken or closed.
 * Service thread.
 */
struct soft_peer *soft_peer_get(struct soft_ia *ia, const struct soft_intro *intro, pid_t pid,
				int arena_fd, uint32_t name);
void soft_peer_hold(struct soft_peer *peer);
void soft_peer_put(struct soft_peer *peer);  /* the last one unmaps it */
/*
 * Has a peer's service thread go round its queues: a ring over a socket to it. Never waits, raises no
 * signal, and nothing that the peer does or leaves undone changes that. Takes soft_ia.lock.
 */
void soft_peer_wake(struct soft_peer *peer);
void soft_peers_wake(struct soft_ia *ia);    /* all of them */
void soft_peer_died(struct soft_peer *peer); /* service thread: all its sockets hung up */
/*
 * Whether it has died, found out here and now: for who waits for it, as the service thread may be
 * waiting too. Takes soft_ia.lock.
 */
bool soft_peer_lost(struct soft_peer *peer);

/* ia.lock held; not counted. */
struct soft_peer *soft_peer_by_slot(struct soft_ia *ia, uint32_t slot);

/*
 * A place of at least `size` bytes in the peer's arena, mapped when first asked for; NULL: it
 * cannot be mapped, is none, or lies in an extent that is longer than the arena makes one for such
 * a piece. A ring and a port with their queues: what is said of them fits as well; *mask is what
 * the ring said when it was looked at, which it may not say again.
 */
void *soft_peer_map(struct soft_peer *peer, const struct soft_ref *ref, uint64_t size);
struct soft_ring *soft_peer_ring(struct soft_peer *peer, const struct soft_ref *ref, uint32_t *mask);
struct soft_port *soft_peer_port(struct soft_peer *peer, const struct soft_ref *ref,
				 const struct soft_layout *layout);

/* slot, my_slot: as in the introduction. */
void soft_peer_introduce(struct soft_ia *ia, uint32_t slot, uint32_t my_slot,
			 struct soft_intro *intro);

/* Where our mailbox to this peer is, if we need its mover (extent_len is 0 if not). */
enum datp_err soft_peer_bounce(struct soft_peer *peer, struct soft_ref *ref);

#endif
