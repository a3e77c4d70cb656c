/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Liveness sockets: those of a connection set-up that stay open, by which two IAs tell each other of ends of connections, and by
 * whose hang-up each notices the death of the other. The active side names one in its RTU if it has none. An RTU over another
 * socket may be read before that; then its socket is an interim one until the named one is known.
 *
 * An interim socket may hang up before the named one is known. Then the peer lives as long as another socket of it is open, of
 * whatever state: its connections have no liveness socket, so the hang-up of the last of all tells of its death.
 *
 * Invariant: the passive side keeps LIVENESS_MOST named sockets of a peer at most, whatever the peer says, and no interim one
 * beside a named one.
 */
#include "liveness.h"
#include "ia.h"
#include "pending.h"
#include <sys/socket.h>

#define LIVENESS_MOST 2u /* an honest peer names another one only if it has forgotten this IA */

/*
 * Returns a liveness socket of the peer that is not needed, or NULL: an interim one, if the peer has named another; or the oldest
 * one that it has named, if these are too many. ia.lock
 */
static struct soft_socket *needless_locked(const struct soft_peer *peer)
{
	struct soft_socket *oldest = NULL, *interim = NULL;
	uint32_t named = 0;

	/* new ones are inserted at the front */
	for (struct soft_socket *s = peer->sockets; s; s = s->next_of_peer) {
		if (s->interim && !s->out)
			interim = s;
		if (s->active || s->interim)
			continue;
		oldest = s;
		named++;
	}
	if (named && interim)
		return interim;
	return named > LIVENESS_MOST ? oldest : NULL;
}

void soft_liveness_trim(struct soft_ia *ia, const struct soft_peer *peer)
{
	struct soft_socket *needless;

	do {
		datp_lock(&ia->lock);
		needless = needless_locked(peer);
		datp_unlock(&ia->lock);
		if (needless)
			soft_socket_end(needless);
	} while (needless);
}

bool soft_liveness_begin(struct soft_socket *sock, bool named)
{
	struct soft_peer *peer = sock->peer;

	datp_lock(&sock->ia->lock);
	if (!sock->liveness && (named || !peer->sockets)) {
		sock->liveness = true;
		sock->interim = !sock->active && !named;
		soft_pending_established(sock);
		soft_socket_list(&peer->sockets, sock);
		if (!peer->my_sender_id)
			peer->my_sender_id = sock->my_sender_id;
	}
	datp_unlock(&sock->ia->lock);
	return sock->liveness;
}

bool soft_liveness_tells(struct soft_socket *sock)
{
	struct soft_peer *peer = sock->peer;
	bool asks;

	if (!peer || (sock->liveness && !sock->interim))
		return peer;
	datp_lock(&sock->ia->lock);
	asks = sock->liveness || (peer->orphaned && !peer->sockets);
	datp_unlock(&sock->ia->lock);
	if (!asks)
		return false;
	/* the peer lives if it has another socket here, over which it may have named that one, and this has not been read yet */
	shutdown(sock->fd, SHUT_RDWR);
	if (soft_peer_lost(peer))
		return true;
	datp_lock(&sock->ia->lock);
	peer->orphaned = true;
	datp_unlock(&sock->ia->lock);
	return false;
}
