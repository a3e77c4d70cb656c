/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns both sides of a client's connection. Invariant: a connection request that VipConnectWait() has returned
 * is on nic->conns until it is accepted, rejected, or known to be dead; if an acceptance fails
 * because of attributes, nothing has been sent to the client.
 */
#include <stdlib.h>
#include <string.h>

#include "impl.h"

enum { ESTABLISH_MS = 10000 };	/* how long a client may take to answer the acceptance */

static void ask_cancelled(void *arg)
{
	vi_call_off(arg);
}

/*
 * Sends a connection request to one of the discriminator's connection qualifiers, and waits for the outcome.
 */
static VIP_RETURN ask(struct vi *vi, const struct net_addr *local, const struct net_addr *remote,
		      unsigned int probe, uint64_t until, int own)
{
	const struct undo undo = { ask_cancelled, vi };
	VIP_RETURN ret;

	pthread_mutex_lock(&vi->lock);
	if (vi_dial_locked(vi, local, remote, probe, until, false) != DAT_SUCCESS) {
		pthread_mutex_unlock(&vi->lock);
		return VIP_ERROR_RESOURCE;
	}
	while (vi->outcome == 0)
		cond_nap(&vi->changed, &vi->lock, UINT64_MAX, own, &undo);
	ret = outcome_meaning(vi);
	if (ret == VIP_SUCCESS)
		vi_stand_locked(vi);
	pthread_mutex_unlock(&vi->lock);
	if (ret != VIP_SUCCESS)
		vi_settle(vi);
	return ret;
}

static VIP_RETURN ask_all(struct vi *vi, const struct net_addr *local, const struct net_addr *remote,
			  uint64_t until, int own)
{
	VIP_RETURN ret = VIP_NO_MATCH;

	for (unsigned int probe = 0; probe < PROBES && ret == VIP_NO_MATCH; probe++) {
		if (now_ms() >= until)
			return VIP_TIMEOUT;
		ret = ask(vi, local, remote, probe, until, own);
	}
	return ret;
}

static VIP_RETURN connect_to(struct vi *vi, const struct net_addr *local, const struct net_addr *remote,
			     uint64_t until, VIP_VI_ATTRIBUTES *remote_attr, int own)
{
	VIP_RETURN ret = vi_begin(vi);

	if (ret != VIP_SUCCESS)
		return ret;
	ret = ask_all(vi, local, remote, until, own);
	if (ret != VIP_SUCCESS) {
		vi_give_up(vi);
		return ret;
	}
	pthread_mutex_lock(&vi->lock);
	vi->busy = false;
	if (remote_attr != NULL)
		*remote_attr = vi->remote;
	pthread_mutex_unlock(&vi->lock);
	return VIP_SUCCESS;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE handle, VIP_NET_ADDRESS *local_addr,
			     VIP_NET_ADDRESS *remote_addr, VIP_ULONG timeout,
			     VIP_VI_ATTRIBUTES *remote_attr)
{
	struct vi *vi = vi_get(handle);
	struct net_addr local, remote;
	VIP_RETURN ret;
	int own;

	if (vi == NULL || timeout == 0 || !net_addr_read(vi->nic, local_addr, &local) ||
	    !net_addr_is_here(vi->nic, &local) || !net_addr_read(vi->nic, remote_addr, &remote))
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	ret = connect_to(vi, &local, &remote, deadline_ms(timeout), remote_attr, own);
	cancel_restore(own);
	return ret;
}

/*
 * Reserves a connection request for this call. Returns NULL if the handle is not a request's, or another call
 * has reserved it.
 */
static struct conn *conn_take(struct nic *nic, VIP_CONN_HANDLE handle)
{
	struct conn *conn;

	pthread_mutex_lock(&nic->lock);
	for (conn = nic->conns; conn != NULL && conn != handle; conn = conn->next)
		;
	if (conn != NULL && conn->busy)
		conn = NULL;
	if (conn != NULL)
		conn->busy = true;
	pthread_mutex_unlock(&nic->lock);
	return conn;
}

static void conn_give_back(struct nic *nic, struct conn *conn)
{
	pthread_mutex_lock(&nic->lock);
	conn->busy = false;
	pthread_mutex_unlock(&nic->lock);
}

static void conn_end(struct nic *nic, struct conn *conn)
{
	struct conn **at;

	pthread_mutex_lock(&nic->lock);
	for (at = &nic->conns; *at != conn; at = &(*at)->next)
		;
	*at = conn->next;
	pthread_mutex_unlock(&nic->lock);
	free(conn);
}

/*
 * Compares the attributes that have to be equal. vi->lock is held, or `busy` reserves the VI for
 * the caller.
 */
VIP_RETURN attr_compare(const VIP_VI_ATTRIBUTES *mine, const VIP_VI_ATTRIBUTES *theirs)
{
	if (mine->ReliabilityLevel != theirs->ReliabilityLevel)
		return VIP_INVALID_RELIABILITY_LEVEL;
	if (wire_mtu(mine->MaxTransferSize) != wire_mtu(theirs->MaxTransferSize))
		return VIP_INVALID_MTU;
	if (wire_qos(mine->QoS) != wire_qos(theirs->QoS))
		return VIP_INVALID_QOS;
	return VIP_SUCCESS;
}

/* Accepts a connection request. The keeper reports the outcome. If this fails, there is nothing to undo. */
DAT_RETURN vi_accept_locked(struct vi *vi, DAT_CR_HANDLE cr, const struct wire_hello *theirs)
{
	struct wire_hello hello = { .verdict = WIRE_ACCEPTS, .attr = vi->attr };
	uint8_t data[WIRE_HELLO_MAX];
	DAT_RETURN ret;
	size_t size = wire_pack(&hello, data);

	if (vi_ready_ep_locked(vi))
		return DAT_INSUFFICIENT_RESOURCES;
	vi->verdict = WIRE_ACCEPTS;
	vi->remote = theirs->attr;
	/*
	 * A peer that can be reached from an adapter without greetings sends none either, so a
	 * connection request that announces one is wrong; the queues of such an adapter have no slot for it.
	 */
	ret = theirs->greets && vi->nic->greets ? greeting_expect_locked(vi) : DAT_SUCCESS;
	if (ret == DAT_SUCCESS) {
		vi_feed_locked(vi);
		ret = dat_cr_accept(cr, vi->ep, (DAT_COUNT)size, data);
	}
	if (ret != DAT_SUCCESS) {
		vi->feeding = false;
		vi_renew_ep_locked(vi);
	}
	return ret;
}

struct accepting {
	struct vi *vi;
	struct conn *conn;
};

static void accept_cancelled(void *arg)
{
	struct accepting *a = arg;

	vi_call_off(a->vi);
	conn_end(a->vi->nic, a->conn);
}

/*
 * Waits until the connection is established; the client's library answers the acceptance by itself. Gives up the attempt if
 * that takes too long, because a client may have stopped, or may never answer. vi->lock is held.
 */
static void await_established_locked(struct vi *vi, struct conn *conn, int own)
{
	uint64_t until = now_ms() + ESTABLISH_MS;
	struct accepting here = { vi, conn };
	const struct undo undo = { accept_cancelled, &here };

	if (conn->stale_at < until)
		until = conn->stale_at;
	while (vi->outcome == 0 && now_ms() < until)
		cond_nap(&vi->changed, &vi->lock, until, own, &undo);
	if (vi->outcome == 0)
		vi_part_locked(vi);
	while (vi->outcome == 0)
		cond_nap(&vi->changed, &vi->lock, UINT64_MAX, own, &undo);
}

/*
 * Accepts a connection request on a VI. Sets *over if the request is used up, so that it cannot be accepted
 * again.
 */
static VIP_RETURN accept_on(struct vi *vi, struct conn *conn, bool *over, int own)
{
	VIP_RETURN ret;

	*over = false;
	pthread_mutex_lock(&vi->lock);
	if (vi_accept_locked(vi, conn->cr, &conn->hello) != DAT_SUCCESS) {
		pthread_mutex_unlock(&vi->lock);
		vi_give_up(vi);
		return VIP_ERROR_RESOURCE;
	}
	*over = true;
	await_established_locked(vi, conn, own);
	ret = outcome_meaning(vi);
	if (ret == VIP_SUCCESS) {
		vi_stand_locked(vi);
		vi->busy = false;
	}
	pthread_mutex_unlock(&vi->lock);
	if (ret == VIP_SUCCESS)
		return VIP_SUCCESS;
	vi_settle(vi);
	vi_give_up(vi);
	return VIP_TIMEOUT;
}

static VIP_RETURN accept_taken(struct vi *vi, struct conn *conn, int own)
{
	VIP_RETURN ret = vi_begin(vi);
	bool over = false;

	if (ret == VIP_SUCCESS) {
		ret = attr_compare(&vi->attr, &conn->hello.attr);
		if (ret == VIP_SUCCESS)
			ret = accept_on(vi, conn, &over, own);
		else
			vi_give_up(vi);
	}
	if (over)
		conn_end(vi->nic, conn);
	else
		conn_give_back(vi->nic, conn);
	return ret;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE conn_handle, VIP_VI_HANDLE handle)
{
	struct vi *vi = vi_get(handle);
	struct conn *conn;
	VIP_RETURN ret;
	int own;

	if (vi == NULL || conn_handle == NULL)
		return VIP_INVALID_PARAMETER;
	conn = conn_take(vi->nic, conn_handle);
	if (conn == NULL)
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	ret = accept_taken(vi, conn, own);
	cancel_restore(own);
	return ret;
}

struct search {
	VIP_CONN_HANDLE handle;
	struct nic *nic;
	struct conn *conn;
};

static bool find_conn(struct nic *nic, void *arg)
{
	struct search *s = arg;

	s->nic = nic;
	s->conn = conn_take(nic, s->handle);
	return s->conn != NULL;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE handle)
{
	struct search s = { .handle = handle };
	int own;

	if (handle == NULL)
		return VIP_INVALID_PARAMETER;
	nic_visit(find_conn, &s);
	if (s.conn == NULL)
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	listen_answer(s.nic, s.conn->cr, WIRE_REJECTS, NULL);
	conn_end(s.nic, s.conn);
	cancel_restore(own);
	return VIP_SUCCESS;
}
