/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns attempts to connect, on either side, from vi_begin() to their end. Invariant: one thread, or
 * the keeper and its helper for a peer, owns the VI until the attempt has failed or its connection is over; an
 * attempt that fails leaves an idle VI with all its receives.
 *
 * uDAPL flushes the receives of an attempt that fails. While `survive` is set, a receive that is
 * flushed becomes staged again. It is cleared, under both locks, before any thread can see the VI
 * connected. At that moment the thread that made the attempt takes the connection; if it is
 * cancelled before, the connection is ended.
 *
 * A refusal comes over a connection, too, and the other side can send a message behind it; so can a client before the accept has
 * returned. So the receives that are completed while `holds` is set are held, and the program does not see them. If the
 * connection stands they are completed, in order. If not, they are staged again, for the next attempt, whatever their messages
 * were: one that was too long as well. What such a message has written may stay in the program's buffer, which belongs to the
 * library until the receive is completed.
 */
#include <string.h>

#include "impl.h"

enum { END_MS = 10000, DRAIN_MS = 5000 };	/* bounds, for providers that lose an event */

VIP_RETURN vi_begin(struct vi *vi)
{
	VIP_RETURN ret = VIP_INVALID_STATE;

	pthread_mutex_lock(&vi->lock);
	if (!vi_exists(vi)) {
		ret = VIP_INVALID_PARAMETER;
	} else if (vi->state == VIP_STATE_IDLE && !vi->busy) {
		vi->state = VIP_STATE_CONNECT_PENDING;
		vi->busy = true;
		vi->peer.has_result = false;
		memset(&vi->remote, 0, sizeof(vi->remote));
		vi->sendq.overrun = vi->recvq.overrun = false;
		queue_begin_attempt(&vi->recvq);
		ret = VIP_SUCCESS;
	}
	pthread_mutex_unlock(&vi->lock);
	return ret;
}

/* Ends an attempt that has failed. The endpoint is unconnected and empty again. */
void vi_give_up(struct vi *vi)
{
	pthread_mutex_lock(&vi->lock);
	queue_end_attempt(&vi->recvq, false);
	vi->state = VIP_STATE_IDLE;
	vi->busy = false;
	pthread_cond_broadcast(&vi->changed);
	pthread_mutex_unlock(&vi->lock);
}

void vi_feed_locked(struct vi *vi)
{
	vi->outcome = (DAT_EVENT_NUMBER)0;
	vi->feeding = true;
	post_staged_locked(vi);
}

static uint32_t timeout_ms_of(uint64_t until)
{
	uint64_t now = now_ms();

	if (until == UINT64_MAX)
		return UINT32_MAX;
	if (until <= now)
		return 1;
	return until - now >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)(until - now);
}

static DAT_TIMEOUT timeout_us_of(uint32_t ms)
{
	if (ms == UINT32_MAX)
		return DAT_TIMEOUT_INFINITE;
	return ms > 4000000 ? 4000000000u : ms * 1000;
}

/*
 * Sends a connection request to the server, or to the peer. The keeper reports the outcome. If this
 * fails, there is nothing to undo.
 */
DAT_RETURN vi_dial_locked(struct vi *vi, const struct net_addr *local, const struct net_addr *remote,
			  unsigned int probe, uint64_t until, bool peer)
{
	struct wire_hello hello = {
		.verdict = WIRE_ASKS,
		.peer = peer,
		.greets = vi->nic->greets,
		.attr = vi->attr,
		.timeout_ms = timeout_ms_of(until),
		.from_len = local->disc_len,
		.to_len = remote->disc_len,
	};
	uint8_t data[WIRE_HELLO_MAX];
	struct sockaddr_storage address;
	DAT_RETURN ret;
	size_t size;

	memcpy(hello.from, local->disc, local->disc_len);
	memcpy(hello.to, remote->disc, remote->disc_len);
	size = wire_pack(&hello, data);
	net_addr_to_sockaddr(remote, &address);
	if (vi_ready_ep_locked(vi))
		return DAT_INSUFFICIENT_RESOURCES;
	vi->verdict = WIRE_ASKS;
	vi_feed_locked(vi);
	ret = dat_ep_connect(vi->ep, (DAT_IA_ADDRESS_PTR)&address,
			     door_qual(remote->disc, remote->disc_len, probe),
			     timeout_us_of(hello.timeout_ms), (DAT_COUNT)size, data,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		vi->feeding = false;
		vi_renew_ep_locked(vi);
	}
	return ret;
}

/*
 * Has uDAPL end a connection, or an attempt; an event reports the end. An endpoint that cannot be
 * disconnected is replaced by another, and then there is no event to wait for.
 */
void vi_part_locked(struct vi *vi)
{
	DAT_RETURN ret = dat_ep_disconnect(vi->ep, DAT_CLOSE_ABRUPT_FLAG);

	/* in another state the connection has ended by itself, and its event follows */
	if (ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
		return;
	vi->feeding = false;
	vi_renew_ep_locked(vi);
	queue_restage(&vi->sendq);
	vi->up = false;
	if (vi->outcome == 0)
		vi->outcome = DAT_CONNECTION_EVENT_DISCONNECTED;
	pthread_cond_broadcast(&vi->changed);
}

/* Ends the connection, if there is one, and waits for the event of its end. vi->lock is held. */
static void hang_up_locked(struct vi *vi, uint64_t until)
{
	vi->feeding = false;
	if (vi->up)
		vi_part_locked(vi);
	while (vi->up && cond_wait_until(&vi->changed, &vi->lock, until))
		;
	vi->up = false;
}

/*
 * Cleans up after an attempt that has failed: ends the connection over which a rejection came,
 * stages the receives again and resets the endpoint. The keeper does not call it, because it takes the event that is waited for.
 */
void vi_settle(struct vi *vi)
{
	uint64_t until = now_ms() + END_MS;

	pthread_mutex_lock(&vi->lock);
	hang_up_locked(vi, until);
	pthread_mutex_unlock(&vi->lock);

	queue_drain(&vi->recvq, now_ms() + DRAIN_MS);

	pthread_mutex_lock(&vi->lock);
	vi_refresh_ep_locked(vi);
	pthread_mutex_unlock(&vi->lock);
}

/*
 * Returns why the peer has rejected the attempt. A peer that rejects because of its attributes
 * sends them, so that both sides report the same error.
 */
static VIP_RETURN why_rejected(const struct vi *vi)
{
	VIP_RETURN ret = VIP_SUCCESS;

	if (vi->remote.ReliabilityLevel != 0)
		ret = attr_compare(&vi->attr, &vi->remote);
	return ret != VIP_SUCCESS ? ret : VIP_REJECT;
}

VIP_RETURN outcome_meaning(const struct vi *vi)
{
	switch ((unsigned int)vi->outcome) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		if (vi->verdict == WIRE_REJECTS)
			return why_rejected(vi);
		return vi->verdict == WIRE_ACCEPTS ? VIP_SUCCESS : VIP_NO_MATCH;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:	/* the listener is not libvipl */
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_DISCONNECTED:	/* the listener has ended without an answer */
	case DAT_CONNECTION_EVENT_BROKEN:
		return VIP_NO_MATCH;
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return vi->nic->extended_returns ? VIP_NOT_REACHABLE : VIP_TIMEOUT;
	default:
		return VIP_TIMEOUT;
	}
}

/*
 * Handles an established connection. The active side learns the verdict from the private data; the
 * passive side has sent the verdict.
 */
static void established_locked(struct vi *vi, const void *data, size_t size)
{
	struct wire_hello hello;

	vi->up = true;
	vi->outcome = DAT_CONNECTION_EVENT_ESTABLISHED;
	if (vi->verdict != WIRE_ASKS)
		return;
	vi->verdict = WIRE_NO_MATCH;
	if (wire_unpack(data, size, &hello) && hello.verdict != WIRE_ASKS) {
		vi->verdict = hello.verdict;
		vi->remote = hello.attr;
	}
	if (vi->verdict == WIRE_ACCEPTS && vi->nic->greets)
		greeting_send_locked(vi);
}

/*
 * Handles the end of a connection. Receives that were flushed and staged again before the VI was
 * seen connected are completed now.
 */
static void ended_locked(struct vi *vi)
{
	vi->up = false;
	if (vi->state == VIP_STATE_CONNECT_PENDING)
		return;
	if (vi->state == VIP_STATE_CONNECTED && !vi->closing)
		herald_end(vi, !vi->broken);
	vi->state = VIP_STATE_ERROR;
	vi->feeding = false;
	if (queue_has_staged(&vi->recvq))
		queue_flush(&vi->recvq, false);
}

/*
 * Makes the VI connected after an attempt that has succeeded. The connection may be over already.
 */
void vi_stand_locked(struct vi *vi)
{
	queue_end_attempt(&vi->recvq, true);
	vi->state = VIP_STATE_CONNECTED;
	if (!vi->up)
		ended_locked(vi);
}

static void outcome_locked(struct vi *vi, DAT_EVENT_NUMBER number, const void *data, size_t size)
{
	vi->broken = number == DAT_CONNECTION_EVENT_BROKEN;
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED)
		established_locked(vi, data, size);
	else if (vi->up)
		ended_locked(vi);
	else
		vi->outcome = number;
	pthread_cond_broadcast(&vi->changed);
}

/*
 * Flushes the receives that ended_locked() would flush, if there are any. Returns false if a thread that takes completions off
 * their queue does not release its lock soon, because a peer holds it up.
 */
static bool flush_staged_locked(struct vi *vi)
{
	return vi->state == VIP_STATE_CONNECT_PENDING || !queue_has_staged(&vi->recvq) ||
	       queue_flush_within(&vi->recvq, REACH_MS);
}

/*
 * Handles a connection event of an endpoint of the VI; one that the VI does not have any more is ignored. The keeper calls it.
 * Returns false if the VI cannot be reached now.
 */
bool vi_outcome(struct vi *vi, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number, const void *data, size_t size)
{
	bool reached;

	if (!vi_reach(vi))
		return false;
	reached = vi->ep != ep || number == DAT_CONNECTION_EVENT_ESTABLISHED || !vi->up || flush_staged_locked(vi);
	if (vi->ep == ep && reached)
		outcome_locked(vi, number, data, size);
	pthread_mutex_unlock(&vi->lock);
	return reached;
}

/* Cleans up after a connection: resets the endpoint, and flushes what is left in the queues. */
static void clean_up(struct vi *vi)
{
	uint64_t until = now_ms() + DRAIN_MS;

	queue_drain(&vi->sendq, until);
	queue_drain(&vi->recvq, until);
	pthread_mutex_lock(&vi->lock);
	/* first: a late completion must not be taken for one of an operation that is flushed here */
	vi_refresh_ep_locked(vi);
	queue_flush(&vi->sendq, true);
	queue_flush(&vi->recvq, true);
	/* relaxed: all completions are taken */
	atomic_store_explicit(&vi->violated, false, memory_order_relaxed);
	vi->state = VIP_STATE_IDLE;
	vi->busy = vi->closing = false;
	pthread_cond_broadcast(&vi->changed);
	pthread_mutex_unlock(&vi->lock);
}

/* Ends the attempt of a thread that is cancelled. vi->lock is held, and is released here. */
void vi_call_off(struct vi *vi)
{
	if (vi->outcome == 0)
		vi_part_locked(vi);
	while (vi->outcome == 0)
		cond_wait_until(&vi->changed, &vi->lock, UINT64_MAX);
	pthread_mutex_unlock(&vi->lock);
	/* if a connection was established, no thread takes it */
	vi_settle(vi);
	vi_give_up(vi);
}

/* Ends a peering, and waits for the helper of the VI. */
static void cancel_peering_locked(struct vi *vi)
{
	while (vi->peer.step != PEER_NONE || is_helped(vi)) {
		vi->peer.cancelled = true;
		keeper_wake(vi->nic);
		cond_wait_until(&vi->changed, &vi->lock, UINT64_MAX);
	}
	vi->peer.has_result = false;
}

static VIP_RETURN disconnect(struct vi *vi)
{
	uint64_t until = now_ms() + END_MS;
	VIP_RETURN ret;

	pthread_mutex_lock(&vi->lock);
	cancel_peering_locked(vi);
	if (vi->busy || !vi_exists(vi)) {
		ret = vi_exists(vi) ? VIP_INVALID_STATE : VIP_INVALID_PARAMETER;
		pthread_mutex_unlock(&vi->lock);
		return ret;
	}
	if (vi->state == VIP_STATE_IDLE) {
		queue_flush(&vi->recvq, false);
		pthread_mutex_unlock(&vi->lock);
		return RULE_IDLE_DISCONNECT;
	}
	vi->busy = vi->closing = true;
	hang_up_locked(vi, until);
	pthread_mutex_unlock(&vi->lock);
	clean_up(vi);
	return VIP_SUCCESS;
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE handle)
{
	struct vi *vi = vi_get(handle);
	VIP_RETURN ret;
	int own;

	if (vi == NULL)
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	ret = disconnect(vi);
	cancel_restore(own);
	return ret;
}
