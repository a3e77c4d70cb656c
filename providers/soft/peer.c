/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers. A peer is another soft IA (or this one, connected to itself) whose arena is mapped here.
 * It exists while something holds a reference to it: an endpoint, a socket, a wait. It is dead when
 * a socket that both sides meant to keep has hung up: only the end of the process or the close of
 * the IA does that. If another process still has that socket open when the process ends, this side hangs up.
 */
#define _GNU_SOURCE
#include "peer.h"
#include "arena.h"
#include "bounce.h"
#include "copier.h"
#include "cq.h"
#include "foreign.h"
#include "ia.h"
#include "lost.h"
#include "port.h"
#include "send.h"
#include "share.h"
#include "sock.h"
#include "tick.h"
#include "xfer.h"
#include "log/limited.h"
#include "providers/common/base/cancel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPARE_MAPS 16u /* of one size, that no connection uses and that stay as they are */
/*
 * A process may have so many IAs that this one knows and has no connection with. Each costs descriptors and mappings; the oldest is
 * forgotten if there are more, and gets to be known anew with the next connection.
 */
#define IDLE_MOST 16u
/* A peer gets one for each connection that is requested before the first is established; one that wants more is hostile. */
#define SENDER_IDS_MOST 4096u

/*
 * An extent of the peer's arena, mapped. One that no connection uses any more stays mapped, because the next connection is most
 * likely in the same extent. If there are many of its size, another extent is mapped over it, at the same address: a thread that
 * still reads a word of an ended connection finds memory there. soft_ia.lock
 */
struct soft_map {
	struct soft_map *next;
	uint64_t extent, len;
	uint64_t size; /* of the mapping: `len` if it stays, else the length of the extent that an arena makes for so much */
	void *addr;
	uint32_t users; /* connections, and the peer itself */
};

uint32_t soft_sender_id_new(struct soft_ia *ia)
{
	uint32_t sender_id = 0;

	datp_lock(&ia->lock);
	for (uint32_t i = 1; i < SOFT_PORT_MAX && !sender_id; i++) {
		uint32_t next = (ia->sender_id_hint + i) % SOFT_PORT_MAX;

		if (next && !ia->sender_id_used[next])
			sender_id = next;
	}
	if (sender_id) {
		ia->sender_id_used[sender_id] = 1;
		ia->sender_id_hint = sender_id;
	}
	datp_unlock(&ia->lock);
	return sender_id;
}

static bool peer_is(const struct soft_peer *peer, const uint64_t id[2], const struct soft_process *process)
{
	return peer->id[0] == id[0] && peer->id[1] == id[1] &&
	       /* relaxed: a peer that dies at this moment will be seen to be dead soon */
	       !atomic_load_explicit(&peer->dead, memory_order_relaxed) &&
	       soft_process_is(&peer->process, process);
}

bool soft_sender_id_is_of(struct soft_ia *ia, uint32_t sender_id, const uint64_t id[2],
			  const struct soft_process *process)
{
	struct soft_peer *peer;
	bool same;

	datp_lock(&ia->lock);
	peer = sender_id && sender_id < SOFT_PORT_MAX ? ia->peer_of_sender_id[sender_id] : NULL;
	same = peer && peer_is(peer, id, process);
	datp_unlock(&ia->lock);
	return same;
}

void soft_sender_id_free(struct soft_ia *ia, uint32_t sender_id)
{
	datp_lock(&ia->lock);
	if (!ia->peer_of_sender_id[sender_id])
		ia->sender_id_used[sender_id] = 0;
	datp_unlock(&ia->lock);
}

void soft_sender_id_forget(struct soft_ia *ia, uint32_t sender_id)
{
	datp_lock(&ia->lock);
	if (ia->peer_of_sender_id[sender_id])
		ia->peer_of_sender_id[sender_id]->sender_ids--;
	ia->peer_of_sender_id[sender_id] = NULL;
	ia->sender_id_used[sender_id] = 0;
	datp_unlock(&ia->lock);
}

struct soft_peer *soft_peer_by_sender_id(struct soft_ia *ia, uint32_t sender_id)
{
	return sender_id < SOFT_PORT_MAX ? ia->peer_of_sender_id[sender_id] : NULL;
}

/*
 * Returns true if the extent begins with a page, which the kernel requires, and the file has all of the extent that is mapped.
 * This may be longer than the extent that the peer names. An access beyond the file's end raises SIGBUS, and a mapping may take
 * the place of another one that a thread still reads. The file is sealed, so it cannot shrink.
 */
static bool extent_exists(int fd, const struct soft_ref *ref, uint64_t size)
{
	struct stat st;
	uint64_t end;

	return ref->extent_len && ref->extent % (uint64_t)sysconf(_SC_PAGESIZE) == 0 &&
	       !__builtin_add_overflow(ref->extent, size, &end) && fstat(fd, &st) == 0 && end <= (uint64_t)st.st_size;
}

/* Takes the oldest spare mapping of this size out of the list, if there are many. Returns NULL if not. ia.lock */
static struct soft_map *map_take_spare(struct soft_peer *peer, uint64_t size)
{
	struct soft_map **oldest = NULL, *map;
	uint32_t spare = 0;

	for (struct soft_map **p = &peer->maps; *p; p = &(*p)->next)
		if (!(*p)->users && (*p)->size == size) {
			oldest = p;
			spare++;
		}
	if (spare < SPARE_MAPS)
		return NULL;
	map = *oldest;
	*oldest = map->next;
	return map;
}

/* ia.lock */
static struct soft_map *map_new(struct soft_peer *peer, const struct soft_ref *ref, bool stays)
{
	uint64_t size = stays ? ref->extent_len : soft_arena_extent(ref->extent_len);
	struct soft_map *spare, *map;

	if (!extent_exists(peer->arena_fd, ref, size))
		return NULL;
	spare = map_take_spare(peer, size);
	map = spare ? spare : malloc(sizeof *map);
	if (!map)
		return NULL;
	*map = (struct soft_map){ NULL, ref->extent, ref->extent_len, size, spare ? spare->addr : NULL, 0 };
	map->addr = mmap(map->addr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (spare ? MAP_FIXED : 0),
			 peer->arena_fd, (off_t)map->extent);
	if (map->addr == MAP_FAILED) { /* what was there may be gone, and is not unmapped, because others may map there */
		free(map);
		return NULL;
	}
	map->next = peer->maps;
	peer->maps = map;
	return map;
}

/*
 * As soft_peer_map(), in an extent that was made for a piece of at most `most` bytes. A longer extent
 * than an arena makes for such a piece is refused, because mapping it could use up memory: in a
 * process that locks its mappings (mlockall), the kernel allocates all of a mapping at once. `stays`: it is mapped as long as the
 * peer exists.
 */
static void *peer_map(struct soft_peer *peer, const struct soft_ref *ref, uint64_t size, uint64_t most,
		      bool stays)
{
	struct soft_map *map;

	if (ref->offset % SOFT_LINE)
		return NULL;
	if (peer->arena)
		return soft_arena_at(peer->arena, ref, size);
	if (size > ref->extent_len || ref->offset > ref->extent_len - size ||
	    ref->extent_len > soft_arena_extent(most))
		return NULL;
	datp_lock(&peer->ia->lock);
	for (map = peer->maps; map; map = map->next)
		if (map->extent == ref->extent && map->len == ref->extent_len)
			break;
	if (!map)
		map = map_new(peer, ref, stays);
	if (map)
		map->users++;
	datp_unlock(&peer->ia->lock);
	return map ? (char *)map->addr + ref->offset : NULL;
}

void *soft_peer_map(struct soft_peer *peer, const struct soft_ref *ref, uint64_t size)
{
	return peer_map(peer, ref, size, size, false);
}

/* As soft_peer_map(), for what is mapped as long as the peer exists. */
static void *peer_map_own(struct soft_peer *peer, const struct soft_ref *ref, uint64_t size)
{
	return peer_map(peer, ref, size, size, true);
}

void soft_peer_unmap_locked(struct soft_peer *peer, const void *at)
{
	for (struct soft_map *map = at ? peer->maps : NULL; map; map = map->next)
		if ((uintptr_t)at - (uintptr_t)map->addr < map->size) {
			map->users--;
			return;
		}
}

void soft_peer_unmap(struct soft_peer *peer, const void *at)
{
	datp_lock(&peer->ia->lock);
	soft_peer_unmap_locked(peer, at);
	datp_unlock(&peer->ia->lock);
}

const void *soft_peer_page(struct soft_peer *peer, const void *at, uint64_t size)
{
	void *page = MAP_FAILED;

	datp_lock(&peer->ia->lock);
	for (struct soft_map *map = peer->maps; map && page == MAP_FAILED; map = map->next) {
		uint64_t offset = (uintptr_t)at - (uintptr_t)map->addr;

		if (offset < map->size)
			page = mmap(NULL, size, PROT_READ, MAP_SHARED, peer->arena_fd,
				    (off_t)(map->extent + (offset & ~(size - 1))));
	}
	datp_unlock(&peer->ia->lock);
	return page == MAP_FAILED ? NULL : page;
}

struct soft_ring *soft_peer_ring(struct soft_peer *peer, const struct soft_ref *ref, uint32_t *mask)
{
	const uint64_t most = soft_ring_size(SOFT_CQ_CELLS_MAX);
	struct soft_ring *head = peer_map(peer, ref, sizeof *head, most, false), *ring = NULL;

	*mask = head ? SOFT_ONCE(head->mask) : 0;
	if (head && !((*mask + 1) & *mask) && *mask != UINT32_MAX)
		ring = peer_map(peer, ref, soft_ring_size(*mask + 1), most, false);
	soft_peer_unmap(peer, head);
	return ring;
}

/* Returns the length of a queue in bytes, or 0 if no endpoint has such a long queue. */
static uint64_t queue_bytes(uint32_t mask, uint32_t stride, size_t least)
{
	if (mask >= SOFT_DTOS_MAX || stride > least + SOFT_MAX_IOV * sizeof(struct datp_sge))
		return 0;
	return ((uint64_t)mask + 1) * stride;
}

/* Returns true if a queue lies within the rest of the extent. Its entries have at least `least` bytes. */
static bool queue_fits(const struct soft_ref *ref, uint64_t offset, uint32_t mask, uint32_t stride,
		       size_t least)
{
	uint64_t bytes = ((uint64_t)mask + 1) * stride, left = ref->extent_len - ref->offset;

	return !((mask + 1) & mask) && stride >= least && !((stride | offset) & 7) &&
	       bytes <= left && offset <= left - bytes;
}

struct soft_port *soft_peer_port(struct soft_peer *peer, const struct soft_ref *ref,
				 const struct soft_layout *layout)
{
	uint64_t rq = queue_bytes(layout->rq_mask, layout->rq_stride, sizeof(struct soft_desc));
	uint64_t sq = queue_bytes(layout->sq_mask, layout->sq_stride, sizeof(struct soft_sqe));
	struct soft_port *port = rq && sq ? peer_map(peer, ref, sizeof *port, sizeof *port + rq + sq, false) : NULL;

	if (!port || !queue_fits(ref, layout->rq_offset, layout->rq_mask, layout->rq_stride,
			sizeof(struct soft_desc)) ||
	    !queue_fits(ref, layout->sq_offset, layout->sq_mask, layout->sq_stride,
			sizeof(struct soft_sqe))) {
		soft_peer_unmap(peer, port);
		return NULL;
	}
	return port;
}

static void peer_delete(struct soft_peer *peer)
{
	if (peer->end_watch)
		datp_loop_del(peer->end_watch);
	for (struct soft_map *map = peer->maps, *next; map; map = next) {
		next = map->next;
		munmap(map->addr, map->size);
		free(map);
	}
	soft_shares_drop(peer);
	soft_ports_reclaim(peer);
	soft_arena_put(peer->arena);
	/*
	 * If a live peer's bounce thread has not answered yet, it may still write its answer (its
	 * process may be stopped, for instance), so that mailbox is never freed.
	 */
	if (atomic_load(&peer->dead) || !soft_bounce_owes(peer))
		soft_arena_free(peer->ia, &peer->mailbox_mem);
	if (peer->arena_fd >= 0)
		soft_foreign_close(peer->arena_fd);
	soft_process_forget(&peer->process);
	soft_copier_forget(peer);
	free(peer->rings);
	free(peer);
}

/*
 * Maps the peer's slots. Their number and size are read once from the peer's header, and refused if
 * soft_slots_init() would not write them: then each slot begins at a cache line, and the total length
 * does not overflow.
 */
static bool peer_slots(struct soft_peer *peer)
{
	struct soft_ref slots = SOFT_ONCE(peer->header->slots);

	peer->slot_count = SOFT_ONCE(peer->header->slot_count);
	peer->slot_size = SOFT_ONCE(peer->header->slot_size);
	if (peer->slot_count > SOFT_SLOTS || peer->slot_size % SOFT_LINE || peer->slot_size > SOFT_EAGER_MAX)
		return false;
	peer->slots = peer_map_own(peer, &slots,
				    (uint64_t)peer->slot_count *
					    (sizeof(struct soft_slot) + peer->slot_size));
	return peer->slots != NULL;
}

/* Maps what every connection to the peer needs. `copies`: the kernel lets us copy. */
static bool peer_setup(struct soft_peer *peer, const struct soft_intro *intro, bool copies)
{
	struct soft_ref mr;

	peer->arena = soft_ia_arena(intro->id, peer->process.pid);
	peer->self = peer->arena != NULL;
	if (!peer->self && !soft_file_stays(peer->arena_fd))
		return false; /* the peer could remove pages that are mapped here */
	peer->header = peer_map_own(peer, &intro->header, sizeof *peer->header);
	if (!peer->header || peer->header->version != SOFT_SHM_VERSION)
		return false;
	/* read once: what has been checked is what is used */
	mr = SOFT_ONCE(peer->header->mr);
	peer->mr = peer_map_own(peer, &mr, SOFT_MR_COUNT * sizeof *peer->mr);
	peer->regions = peer->self ? peer->arena->own : peer->mr;
	peer->cma = copies;
	return peer->mr && peer_slots(peer);
}

/* ia.lock */
static struct soft_peer *peer_find(struct soft_ia *ia, const uint64_t id[2],
				   const struct soft_process *process)
{
	struct soft_peer *peer = ia->peers;

	while (peer && !peer_is(peer, id, process))
		peer = peer->next;
	return peer;
}

/*
 * The process has ended. The kernel closes its sockets only when no other process has them open, such as a child of it. So this
 * shuts our ends down: the service thread finds them hung up, as if the kernel had closed them, after it has read what has
 * arrived before. The loop watches the handle once, and the peer stays until this returns. Service thread.
 */
static void process_ended(void *arg, uint32_t events)
{
	struct soft_peer *peer = arg;

	(void)events;
	datp_lock(&peer->ia->lock);
	for (struct soft_socket *s = peer->ia->sockets; s; s = s->next)
		if (s->peer == peer)
			shutdown(s->fd, SHUT_RDWR);
	datp_unlock(&peer->ia->lock);
}

/* Watches the peer's process, if there is a handle of it. Returns false if the loop cannot watch it. */
static bool peer_watch(struct soft_peer *peer)
{
	/* the serial number identifies it, and it need not be watched: descriptors are scarce where there are many peers */
	if (peer->self && peer->process.serial)
		soft_process_forget(&peer->process);
	return peer->self || peer->process.handle < 0 ||
	       datp_loop_add(&peer->ia->base, peer->process.handle, EPOLLIN | EPOLLONESHOT, process_ended, peer,
			     &peer->end_watch) == DATP_OK;
}

/* Gives a known peer a further reference, and this sender ID if it has another one. Returns false if it has too many. ia.lock */
static bool peer_again(struct soft_peer *peer, uint32_t sender_id)
{
	struct soft_ia *ia = peer->ia;

	if (ia->peer_of_sender_id[sender_id] != peer) {
		if (peer->sender_ids >= SENDER_IDS_MOST)
			return false;
		peer->sender_ids++;
		ia->peer_of_sender_id[sender_id] = peer;
		ia->sender_id_used[sender_id] = 1;
	}
	peer->users++;
	return true;
}

/* Returns true if only liveness sockets refer to the peer: it has no connection, and none is being made. ia.lock */
static bool peer_is_idle(const struct soft_peer *peer)
{
	uint32_t sockets = 0;

	for (const struct soft_socket *sock = peer->sockets; sock; sock = sock->next_of_peer) {
		if (sock->ep || sock->cr || sock->out)
			return false;
		sockets++;
	}
	return peer->users == sockets;
}

/* Returns a socket of the peer that has been idle longest if the process of `newest` has too many of these, or NULL. */
static struct soft_socket *idle_socket(const struct soft_peer *newest)
{
	struct soft_ia *ia = newest->ia;
	struct soft_socket *socket = NULL;
	unsigned int idle = 0;

	datp_lock(&ia->lock);
	for (struct soft_peer *peer = ia->peers; peer; peer = peer->next)
		if (peer != newest && !peer->self && soft_process_is(&peer->process, &newest->process) && peer_is_idle(peer)) {
			socket = peer->sockets; /* the newest peer is the first */
			idle++;
		}
	datp_unlock(&ia->lock);
	return idle > IDLE_MOST ? socket : NULL;
}

bool soft_peer_known(struct soft_ia *ia, const uint64_t id[2], pid_t pid, bool *copies)
{
	struct soft_peer *peer;

	datp_lock(&ia->lock);
	for (peer = ia->peers; peer; peer = peer->next)
		if (peer->id[0] == id[0] && peer->id[1] == id[1] && peer->process.pid == pid)
			break;
	if (peer)
		*copies = peer->cma;
	datp_unlock(&ia->lock);
	return peer != NULL;
}

struct soft_peer *soft_peer_get(struct soft_socket *sock, const struct soft_intro *intro,
				struct soft_process *process, int arena_fd, uint32_t sender_id)
{
	static struct log_limit unmapped;
	struct soft_ia *ia = sock->ia;
	struct soft_socket *idle;
	struct soft_peer *peer;

	datp_lock(&ia->lock);
	peer = peer_find(ia, intro->id, process);
	if (peer) {
		bool more = peer_again(peer, sender_id);

		datp_unlock(&ia->lock);
		soft_foreign_close(arena_fd);
		soft_process_forget(process);
		return more ? peer : NULL;
	}
	datp_unlock(&ia->lock);
	peer = calloc(1, sizeof *peer);
	if (!peer) {
		soft_foreign_close(arena_fd);
		soft_process_forget(process);
		return NULL;
	}
	peer->ia = ia;
	peer->id[0] = intro->id[0];
	peer->id[1] = intro->id[1];
	peer->process = *process;
	peer->arena_fd = arena_fd;
	peer->sender_id = sender_id;
	peer->users = peer->sender_ids = 1;
	errno = 0;
	if (!peer_setup(peer, intro, sock->copies)) {
		log_limited(&unmapped, 1, "soft: cannot share memory with process %d: %s",
			    (int)peer->process.pid,
			    errno == ENOMEM ?
				 "no room to map it; raise the limit of memory (ulimit -v)" :
				 "is it of another OpenDAT version?");
		peer_delete(peer);
		return NULL;
	}
	if (!peer_watch(peer)) {
		peer_delete(peer);
		return NULL;
	}
	datp_lock(&ia->lock);
	peer->next = ia->peers;
	ia->peers = peer;
	ia->peer_of_sender_id[sender_id] = peer;
	soft_lost_begin_locked(ia);
	datp_unlock(&ia->lock);
	soft_tick_set(ia); /* starts the timer by which lost.c looks at the queues, if there are several peers */
	while ((idle = idle_socket(peer)))
		soft_conn_hangup(idle);
	return peer;
}

void soft_peer_hold(struct soft_peer *peer)
{
	datp_lock(&peer->ia->lock);
	peer->users++;
	datp_unlock(&peer->ia->lock);
}

void soft_peer_put(struct soft_peer *peer)
{
	struct soft_ia *ia = peer->ia;
	struct cancel own;
	bool last;

	datp_lock(&ia->lock);
	last = --peer->users == 0;
	if (last) {
		struct soft_peer **p = &ia->peers;

		while (*p != peer)
			p = &(*p)->next;
		*p = peer->next;
		soft_slots_reclaim(ia, peer); /* before another peer can get its sender IDs */
		for (uint32_t i = 0; i < SOFT_PORT_MAX; i++)
			if (ia->sender_id_used[i] && ia->peer_of_sender_id[i] == peer) {
				ia->peer_of_sender_id[i] = NULL;
				ia->sender_id_used[i] = 0;
			}
	}
	datp_unlock(&ia->lock);
	if (!last)
		return;
	/* a dequeue comes here with the poll lock, and this closes files and awaits threads */
	cancel_off(&own);
	soft_bounce_leave(ia, peer);
	peer_delete(peer);
	cancel_restore(&own);
}

/*
 * Rings the peer through a socket that both sides keep. Before there is one, it takes any socket to
 * the peer, whose service thread watches all of them. ia.lock
 */
static void peer_wake_locked(struct soft_peer *peer)
{
	struct soft_ia *ia = peer->ia;

	/* the arena and not the id tells: a peer could say that it has ours */
	if (peer->self && peer->arena == ia->arena) {
		soft_ia_wake(ia);
		return;
	}
	for (struct soft_socket *s = peer->sockets; s; s = s->next_of_peer)
		if (soft_socket_notify(s))
			return;
	for (struct soft_socket *s = ia->sockets; s; s = s->next)
		if (s->peer == peer && !s->liveness && soft_socket_notify(s))
			return;
}

void soft_peer_wake(struct soft_peer *peer)
{
	datp_lock(&peer->ia->lock);
	peer_wake_locked(peer);
	datp_unlock(&peer->ia->lock);
}

void soft_peers_wake(struct soft_ia *ia)
{
	datp_lock(&ia->lock);
	for (struct soft_peer *peer = ia->peers; peer; peer = peer->next)
		if (!peer->self)
			peer_wake_locked(peer);
	datp_unlock(&ia->lock);
}

/*
 * Marks the peer as dead. When this returns, our bounce thread does not access the consumer's memory
 * for the peer any more: it has finished a copy that the peer asked for, and begins no other.
 * Whoever learns of the death calls this before the consumer gets the memory back, because no other
 * wait covers such a copy: nobody waits for an execution lock whose holder is dead.
 */
static void peer_mark_dead(struct soft_peer *peer)
{
	/* sequentially consistent: see soft_bounce_leave(). It is also the release for soft_peer_lost() */
	atomic_store(&peer->dead, 1);
	soft_bounce_leave(peer->ia, peer);
}

void soft_peer_died(struct soft_peer *peer)
{
	struct soft_ia *ia = peer->ia;

	/*
	 * Whoever waits for an execution lock or a bounce thread of the peer checks `dead`. All
	 * threads of the peer have ended, or it has closed the IA and touches nothing.
	 */
	peer_mark_dead(peer);
	datp_lock(&ia->lock);
	/* once, though several of its sockets may hang up: cells that are reserved later are passed (skip.c) */
	if (!peer->reclaimed)
		soft_cqs_reclaim(ia, peer);
	peer->reclaimed = true;
	datp_unlock(&ia->lock);
	/* The threads that sleep at queues have been woken; the service thread notifies the other consumers. */
	soft_ia_wake(ia);
}

/* Asks the kernel. */
static bool peer_lives(struct soft_peer *peer)
{
	struct soft_ia *ia = peer->ia;
	bool lives = false, ended;

	datp_lock(&ia->lock);
	ended = peer->end_watch && soft_process_has_ended(&peer->process);
	/*
	 * A live peer has at least one socket here; only the end of its process, or of its IA, closes the last. If another process
	 * has that open, the handle of the process tells.
	 */
	for (struct soft_socket *s = ia->sockets; s && !lives && !ended; s = s->next) {
		struct pollfd fd = { .fd = s->fd };

		/* a call that fails says nothing: a signal interrupts it although it does not wait */
		lives = s->peer == peer && (poll(&fd, 1, 0) <= 0 || !(fd.revents & (POLLHUP | POLLERR | POLLNVAL)));
	}
	datp_unlock(&ia->lock);
	return lives;
}

bool soft_peer_lost(struct soft_peer *peer)
{
	struct cancel own;
	bool lives;

	/* acquire: see peer_mark_dead() */
	if (atomic_load_explicit(&peer->dead, memory_order_acquire)) {
		soft_bounce_leave(peer->ia, peer); /* whoever marked it as dead may not have finished this yet */
		return true;
	}
	/* a post that waits for the peer comes here with locks, and poll() is a cancellation point */
	cancel_off(&own);
	lives = peer_lives(peer);
	if (!lives)
		peer_mark_dead(peer);
	cancel_restore(&own);
	return !lives;
}

void soft_peers_fini(struct soft_ia *ia)
{
	while (ia->peers) {
		struct soft_peer *peer = ia->peers;

		ia->peers = peer->next;
		soft_bounce_leave(ia, peer);
		peer_delete(peer);
	}
}

void soft_peer_introduce(struct soft_ia *ia, uint32_t sender_id, uint32_t my_sender_id,
			 struct soft_intro *intro)
{
	soft_ia_describe(ia);
	*intro = (struct soft_intro){ .id = { ia->id[0], ia->id[1] },
				      .probe = (uintptr_t)&ia->header->probe,
				      .header = ia->header_mem.ref,
				      .sender_id = sender_id,
				      .my_sender_id = my_sender_id };
}

enum datp_err soft_peer_mailbox(struct soft_peer *peer, struct soft_ref *ref)
{
	enum datp_err err = DATP_OK;

	memset(ref, 0, sizeof *ref);
	if (peer->self || peer->cma)
		return DATP_OK;
	/* Two endpoints may need it for the first time at once. mailbox_lock would not do: its holder may wait for the peer */
	datp_lock(&peer->mailbox_making);
	if (!peer->mailbox) {
		err = soft_arena_alloc(peer->ia, SOFT_KIND_OTHER, sizeof *peer->mailbox,
				       &peer->mailbox_mem);
		if (!err)
			peer->mailbox = peer->mailbox_mem.addr;
	}
	if (!err)
		*ref = peer->mailbox_mem.ref;
	datp_unlock(&peer->mailbox_making);
	return err;
}
