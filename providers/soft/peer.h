/* SPDX-License-Identifier: BSD-2-Clause */
/* Other IAs that we share memory with. */
#ifndef SOFT_PEER_H
#define SOFT_PEER_H

#include "bounce.h"
#include "soft.h"

/* How an IA describes itself in its first message to another. */
struct soft_intro {
	uint64_t id[2];
	uint64_t probe; /* the address of `id[0]` in its memory */
	struct soft_ref header;
	uint32_t sender_id;    /* the sender ID that it gives the other in its own rings */
	uint32_t my_sender_id; /* its own sender ID in the other's rings; 0: none yet */
};

void soft_peers_fini(struct soft_ia *ia);

uint32_t soft_sender_id_new(struct soft_ia *ia); /* returns a free sender ID, or 0 */
/* Returns true if the sender ID is that of the live peer with this id and process. */
bool soft_sender_id_is_of(struct soft_ia *ia, uint32_t sender_id, const uint64_t id[2],
			  const struct soft_process *process);
void soft_sender_id_free(struct soft_ia *ia, uint32_t sender_id); /* of a connection attempt that failed */

void soft_sender_id_forget(struct soft_ia *ia, uint32_t sender_id); /* for the second one of two sender IDs of a peer */

/* Returns true if there is a peer with this id in a process with this number. *copies: the kernel lets us copy to and from it. */
bool soft_peer_known(struct soft_ia *ia, const uint64_t id[2], pid_t pid, bool *copies);

/*
 * Returns the peer that has introduced itself over the socket, with a reference; creates it if it is new. `sender_id` is
 * its sender ID in our rings; a peer that is known already gets this one in addition. A peer is known by its id and its
 * process together: every peer of an IA learns its id, and could introduce itself with that. arena_fd is the descriptor of
 * its arena, and process->handle that of its process; this call takes over or closes both. Returns NULL if there is no
 * memory or the peer's cannot be mapped. Service thread.
 */
struct soft_peer *soft_peer_get(struct soft_socket *sock, const struct soft_intro *intro,
				struct soft_process *process, int arena_fd, uint32_t sender_id);
void soft_peer_hold(struct soft_peer *peer);
void soft_peer_put(struct soft_peer *peer);  /* the last reference unmaps the peer's memory */
/*
 * Makes a peer's service thread serve all its queues, by a message over a socket to it. It never waits
 * and raises no signal, whatever the peer does. Takes soft_ia.lock.
 */
void soft_peer_wake(struct soft_peer *peer);
void soft_peers_wake(struct soft_ia *ia);    /* all peers */
void soft_peer_died(struct soft_peer *peer); /* its sockets have hung up; service thread */
/*
 * Returns true if the peer has died, which it finds out by itself: a thread that waits for the peer
 * calls this, because the service thread may be waiting, too. Takes soft_ia.lock.
 */
bool soft_peer_lost(struct soft_peer *peer);

/* Returns the peer without a reference, or NULL. ia.lock held. */
struct soft_peer *soft_peer_by_sender_id(struct soft_ia *ia, uint32_t sender_id);

/*
 * Returns the address of at least `size` bytes in the peer's arena, which is mapped when it is first
 * asked for. Returns NULL if it cannot be mapped, does not exist, or lies in an extent that is
 * longer than an arena makes one for such a piece. soft_peer_ring() and soft_peer_port() check that
 * the queues fit as well; *mask is what the ring said when it was checked, because it may say
 * something else later. soft_peer_unmap() takes back one such call, with the address that it returned, or NULL: afterwards
 * another part of the arena may be mapped there.
 */
void *soft_peer_map(struct soft_peer *peer, const struct soft_ref *ref, uint64_t size);
struct soft_ring *soft_peer_ring(struct soft_peer *peer, const struct soft_ref *ref, uint32_t *mask);
struct soft_port *soft_peer_port(struct soft_peer *peer, const struct soft_ref *ref,
				 const struct soft_layout *layout);
void soft_peer_unmap(struct soft_peer *peer, const void *at);
void soft_peer_unmap_locked(struct soft_peer *peer, const void *at); /* ia.lock held */
/*
 * Maps the page, of `size` bytes, in which `at` lies once more, to read it. `at` is in memory of the peer that is mapped. The
 * caller unmaps the page. Returns NULL if it cannot be mapped.
 */
const void *soft_peer_page(struct soft_peer *peer, const void *at, uint64_t size);

/*
 * Returns how long threads of this process have waited for requests with the peer, in milliseconds: for its bounce thread, and for
 * searches for its regions. Whoever executes several requests one after the other makes an end when that has grown too much.
 */
static inline uint64_t soft_peer_waited(const struct soft_peer *peer)
{
	/* relaxed: as in soft_bounce_waited() */
	return soft_bounce_waited(peer) + __atomic_load_n(&peer->search.waited_us, __ATOMIC_RELAXED) / 1000;
}

/* Writes our introduction; sender_id and my_sender_id are its fields. */
void soft_peer_introduce(struct soft_ia *ia, uint32_t sender_id, uint32_t my_sender_id,
			 struct soft_intro *intro);

/* Tells where our mailbox to this peer is, if we need its bounce thread; ref->extent_len is 0 if we do not. */
enum datp_err soft_peer_mailbox(struct soft_peer *peer, struct soft_ref *ref);

#endif
