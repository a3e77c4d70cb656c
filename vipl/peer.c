/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns connections between peers, where both sides ask. Invariant: of two peers the one with the
 * smaller discriminator (or, if these are equal, the smaller host address) dials, and the other
 * waits, so both know their roles without a message. Once a peering has begun, only the keeper and its helper
 * change it.
 *
 * The peer that dials may do so before the other waits: it tries again until its time expires.
 *
 * Any program of the peer's host can send a request in its name. So one whose attributes do not match is refused, and the side
 * that waits goes on; it reports the mismatch if no other request comes in time. The side that dials learns it at once.
 */
#include <string.h>

#include "impl.h"

enum { PAUSE_MS = 20 };

/* Returns less than 0 if the side at `a` dials. */
static int net_addr_compare(const struct net_addr *a, const struct net_addr *b)
{
	size_t length = a->disc_len < b->disc_len ? a->disc_len : b->disc_len;
	int order = memcmp(a->disc, b->disc, length);

	if (order == 0)
		order = (int)a->disc_len - (int)b->disc_len;
	if (order == 0)
		order = memcmp(a->host, b->host, a->host_len);
	return order;
}

static bool listen_for(struct vi *vi, const struct net_addr *local)
{
	struct nic *nic = vi->nic;
	int own = cancel_off();
	bool heard;

	pthread_mutex_lock(&nic->lock);
	heard = door_open_locked(nic, local->disc, local->disc_len) != NULL;
	pthread_mutex_unlock(&nic->lock);
	cancel_restore(own);
	return heard;
}

VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE handle, VIP_NET_ADDRESS *local_addr,
				 VIP_NET_ADDRESS *remote_addr, VIP_ULONG timeout)
{
	struct vi *vi = vi_get(handle);
	struct net_addr local, remote;
	VIP_RETURN ret;
	bool dials;

	if (vi == NULL || timeout == 0 || !net_addr_read(vi->nic, local_addr, &local) ||
	    !net_addr_is_here(vi->nic, &local) || !net_addr_read(vi->nic, remote_addr, &remote) ||
	    net_addr_compare(&local, &remote) == 0)
		return VIP_INVALID_PARAMETER;
	ret = vi_begin(vi);
	if (ret != VIP_SUCCESS)
		return ret;
	dials = net_addr_compare(&local, &remote) < 0;
	if (!dials && !listen_for(vi, &local)) {
		vi_give_up(vi);
		return VIP_ERROR_RESOURCE;
	}
	pthread_mutex_lock(&vi->lock);
	vi->peer = (struct peering){
		.step = dials ? PEER_PAUSES : PEER_WAITS,
		.local = local,
		.remote = remote,
		.until = deadline_ms(timeout),
		.dial_at = now_ms(),
	};
	/* release: pairs with is_peering() */
	atomic_store_explicit(&vi->peers, true, memory_order_release);
	vi->busy = false;
	pthread_mutex_unlock(&vi->lock);
	keeper_wake(vi->nic);
	return VIP_SUCCESS;
}

/* Ends the peering with this result. */
static void finish_locked(struct vi *vi, VIP_RETURN result)
{
	vi->peer.step = PEER_NONE;
	atomic_store_explicit(&vi->peers, false, memory_order_release);
	vi->peer.result = result;
	vi->peer.has_result = true;
	if (result == VIP_SUCCESS) {
		vi_stand_locked(vi);
	} else {
		queue_end_attempt(&vi->recvq, false);
		vi->state = VIP_STATE_IDLE;
	}
	pthread_cond_broadcast(&vi->changed);
}

/* Ends a peering whose time has expired. */
static void expire_locked(struct vi *vi)
{
	finish_locked(vi, vi->peer.mismatch != VIP_SUCCESS ? vi->peer.mismatch : VIP_TIMEOUT);
}

/* Decides whether to try again after an attempt that has failed. The endpoint is reset. */
static void go_on_locked(struct vi *vi, VIP_RETURN meaning)
{
	struct peering *p = &vi->peer;

	if (p->cancelled || now_ms() >= p->until) {
		expire_locked(vi);
	} else if (p->step == PEER_ACCEPTS) {
		p->step = PEER_WAITS;	/* the peer has given up, and may dial again */
	} else if (meaning != VIP_NO_MATCH) {
		finish_locked(vi, meaning);
	} else {
		p->probe = (p->probe + 1) % PROBES;
		p->dial_at = now_ms() + (p->probe == 0 ? PAUSE_MS : 0);
		p->step = PEER_PAUSES;
	}
}

/*
 * Ends an attempt that is over. One that has failed is cleaned up after, without vi->lock; it may have a connection still, over
 * which the rejection came.
 */
static void conclude_locked(struct vi *vi)
{
	VIP_RETURN meaning = outcome_meaning(vi);

	if (meaning == VIP_SUCCESS) {
		finish_locked(vi, VIP_SUCCESS);
		return;
	}
	pthread_mutex_unlock(&vi->lock);
	vi_settle(vi);
	pthread_mutex_lock(&vi->lock);
	go_on_locked(vi, meaning);
}

/*
 * Returns whether the VI may have a peering. Without vi->lock, because a peer can hold up a thread that has it, and such a VI is
 * mostly one without a peering.
 */
static bool is_peering(const struct vi *vi)
{
	return atomic_load_explicit(&vi->peers, memory_order_acquire);
}

static bool is_expected(const struct vi *vi, const struct wire_hello *hello,
			const struct net_addr *remote)
{
	const struct peering *p = &vi->peer;

	return p->step == PEER_WAITS && !p->cancelled && p->local.disc_len == hello->to_len &&
	       memcmp(p->local.disc, hello->to, hello->to_len) == 0 &&
	       p->remote.disc_len == remote->disc_len &&
	       memcmp(p->remote.disc, remote->disc, remote->disc_len) == 0 &&
	       same_host(vi->nic, &p->remote, remote);
}

/* A helper accepts the request: see act_locked(). */
static void answer_locked(struct vi *vi, DAT_CR_HANDLE cr, const struct wire_hello *hello)
{
	VIP_RETURN ret = attr_compare(&vi->attr, &hello->attr);

	if (ret != VIP_SUCCESS) {
		listen_answer(vi->nic, cr, WIRE_REJECTS, &vi->attr);
		vi->peer.mismatch = ret;
		return;
	}
	vi->peer.step = PEER_ACCEPTS;
	vi->peer.cr = cr;
	vi->peer.hello = *hello;
}

/*
 * Handles a peer's connection request. Returns false if no VI waits for it, or the VI cannot be reached: the peer asks again.
 * nic->lock is held.
 */
bool peer_request(struct nic *nic, DAT_CR_HANDLE cr, const struct wire_hello *hello,
		  const struct net_addr *remote)
{
	bool found = false;

	for (struct vi *vi = nic->vis; vi != NULL && !found; vi = vi->next) {
		if (!is_peering(vi) || is_helped(vi) || !vi_reach(vi))
			continue;
		found = is_expected(vi, hello, remote);
		if (found)
			answer_locked(vi, cr, hello);
		pthread_mutex_unlock(&vi->lock);
	}
	return found;
}

static void dial_locked(struct vi *vi)
{
	struct peering *p = &vi->peer;

	p->step = PEER_DIALS;
	p->parts = false;
	if (vi_dial_locked(vi, &p->local, &p->remote, p->probe, p->until, true) != DAT_SUCCESS)
		finish_locked(vi, VIP_ERROR_RESOURCE);
}

static void accept_locked(struct vi *vi)
{
	struct peering *p = &vi->peer;
	DAT_CR_HANDLE cr = p->cr;

	p->cr = DAT_HANDLE_NULL;
	p->parts = false;
	if (vi_accept_locked(vi, cr, &p->hello) != DAT_SUCCESS) {
		dat_cr_reject(cr);
		finish_locked(vi, VIP_ERROR_RESOURCE);
	}
}

/*
 * Returns whether there is something to do for a peering now. If not, *at is when there is, unless an event or the program comes
 * before. A peer may never answer the acceptance; while this side dials, the timeout of the connection request is the bound.
 */
static bool is_due(const struct vi *vi, uint64_t *at)
{
	const struct peering *p = &vi->peer;
	bool due = p->cancelled && !p->parts;

	*at = UINT64_MAX;
	switch (p->step) {
	case PEER_WAITS:
		*at = p->until;
		break;
	case PEER_PAUSES:
		*at = p->dial_at < p->until ? p->dial_at : p->until;
		break;
	case PEER_ACCEPTS:
		if (!p->parts)
			*at = p->until;
		due |= p->cr != DAT_HANDLE_NULL || vi->outcome != 0;
		break;
	case PEER_DIALS:
		due |= vi->outcome != 0;
		break;
	default:
		return false;
	}
	return due || now_ms() >= *at;
}

/* Does what is due for a peering. A helper calls it, because a peer can hold up each of these calls. */
static void act_locked(struct vi *vi)
{
	struct peering *p = &vi->peer;
	uint64_t at;

	while (is_due(vi, &at)) {
		if (p->step == PEER_WAITS || p->step == PEER_PAUSES) {
			if (p->cancelled || now_ms() >= p->until)
				expire_locked(vi);
			else
				dial_locked(vi);
		} else if (p->cr != DAT_HANDLE_NULL) {
			accept_locked(vi);
		} else if (vi->outcome != 0) {
			conclude_locked(vi);
		} else {
			p->parts = true;
			vi_part_locked(vi);
		}
	}
}

/* Returns when to look at a peering again, which has no helper now; a helper wakes the keeper. */
static uint64_t look_locked(struct vi *vi)
{
	uint64_t at;

	if (!is_due(vi, &at))
		return at;
	return helper_start_locked(vi, act_locked) ? UINT64_MAX : now_ms() + RETRY_MS;
}

/* The keeper calls this for all peerings. Returns when to call it again. */
uint64_t peer_run(struct nic *nic)
{
	uint64_t next = UINT64_MAX, at;

	pthread_mutex_lock(&nic->lock);
	for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next) {
		/* a helper that is held up has the lock, and each attempt to reach it would take time from all others */
		if (!is_peering(vi) || is_helped(vi))
			continue;
		at = now_ms() + RETRY_MS;
		if (vi_reach(vi)) {
			at = look_locked(vi);
			pthread_mutex_unlock(&vi->lock);
		}
		next = at < next ? at : next;
	}
	pthread_mutex_unlock(&nic->lock);
	return next;
}

static VIP_RETURN result_locked(const struct vi *vi, VIP_VI_ATTRIBUTES *remote_attr)
{
	if (vi->peer.step != PEER_NONE)
		return VIP_NOT_DONE;
	if (!vi->peer.has_result)
		return VIP_INVALID_STATE;
	if (vi->peer.result == VIP_SUCCESS && remote_attr != NULL)
		*remote_attr = vi->remote;
	return vi->peer.result;
}

VIP_RETURN VipConnectPeerDone(VIP_VI_HANDLE handle, VIP_VI_ATTRIBUTES *remote_attr)
{
	struct vi *vi = vi_get(handle);
	VIP_RETURN ret;

	if (vi == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vi->lock);
	ret = result_locked(vi, remote_attr);
	pthread_mutex_unlock(&vi->lock);
	return ret;
}

/* The peering continues if the thread that waits for it is cancelled. */
static void peer_wait_cancelled(void *arg)
{
	struct vi *vi = arg;

	pthread_mutex_unlock(&vi->lock);
}

VIP_RETURN VipConnectPeerWait(VIP_VI_HANDLE handle, VIP_VI_ATTRIBUTES *remote_attr)
{
	struct vi *vi = vi_get(handle);
	const struct undo undo = { peer_wait_cancelled, vi };
	VIP_RETURN ret;
	int own;

	if (vi == NULL)
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	pthread_mutex_lock(&vi->lock);
	while ((ret = result_locked(vi, remote_attr)) == VIP_NOT_DONE)
		cond_nap(&vi->changed, &vi->lock, UINT64_MAX, own, &undo);
	pthread_mutex_unlock(&vi->lock);
	cancel_restore(own);
	return ret;
}
