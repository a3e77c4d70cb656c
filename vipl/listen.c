/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns listening: doors, which are service points at connection qualifiers, and listeners, which
 * are discriminators. Invariant: every discriminator that this NIC answers for has a door among
 * its PROBES qualifiers, and no other program on this host holds that qualifier.
 *
 * A discriminator is a string of bytes, and a qualifier is a port on some transports. So the hash
 * of a discriminator selects PROBES qualifiers. The listener takes the first that is free, and a
 * client asks at one after the other. The program that answers may not know the discriminator, and
 * uDAPL 1.2 cannot say why a connection request is rejected. So a rejection is taken for that of a program
 * without libvipl, as if nobody listened; "no match" and VipConnectReject() are sent in the private
 * data of an acceptance that leads to no VI.
 */
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/*
 * The first of the qualifiers. They are far from those that programs choose. The verbs providers
 * map them to ports, and libdatp knows them as well (diag.c).
 */
#define FIRST_QUAL UINT64_C(0x5649504C0000)

enum { QUALS = 65536, QUAL_STEP = 47 };

DAT_CONN_QUAL door_qual(const uint8_t *disc, size_t length, unsigned int probe)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ disc[i]) * 16777619u;
	hash ^= hash >> 15;
	return FIRST_QUAL + (hash % QUALS + probe * QUAL_STEP) % QUALS;
}

static struct door *door_at(struct nic *nic, DAT_CONN_QUAL qual)
{
	struct door *door;

	for (door = nic->doors; door != NULL && door->qual != qual; door = door->next)
		;
	return door;
}

/*
 * Listens at a qualifier. Returns NULL if another program holds it, or the door cannot be created.
 */
static struct door *door_create(struct nic *nic, DAT_CONN_QUAL qual)
{
	struct door *door = calloc(1, sizeof(*door));

	if (door == NULL)
		return NULL;
	door->qual = qual;
	if (dat_psp_create(nic->ia, qual, nic->cm_evd, DAT_PSP_CONSUMER_FLAG, &door->psp) !=
	    DAT_SUCCESS) {
		free(door);
		return NULL;
	}
	door->next = nic->doors;
	nic->doors = door;
	return door;
}

struct door *door_open_locked(struct nic *nic, const uint8_t *disc, size_t length)
{
	struct door *door = NULL;

	for (unsigned int probe = 0; probe < PROBES && door == NULL; probe++) {
		DAT_CONN_QUAL qual = door_qual(disc, length, probe);

		door = door_at(nic, qual);
		if (door == NULL)
			door = door_create(nic, qual);
	}
	return door;
}

static struct listener *listener_find(struct nic *nic, const uint8_t *disc, size_t length)
{
	struct listener *l;

	for (l = nic->listeners; l != NULL; l = l->next)
		if (l->disc_len == length && memcmp(l->disc, disc, length) == 0)
			break;
	return l;
}

static struct listener *listener_get_locked(struct nic *nic, const struct net_addr *local)
{
	struct listener *l = listener_find(nic, local->disc, local->disc_len);

	if (l != NULL)
		return l;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	if (door_open_locked(nic, local->disc, local->disc_len) == NULL) {
		free(l);
		return NULL;
	}
	memcpy(l->disc, local->disc, local->disc_len);
	l->disc_len = local->disc_len;
	cond_init(&l->arrived);
	l->next = nic->listeners;
	nic->listeners = l;
	return l;
}

/*
 * Takes the connection request of the first client that has not given up yet, and rejects those before it.
 * Returns NULL if there is none.
 */
static struct conn *listener_take(struct listener *l)
{
	uint64_t now = now_ms();
	struct conn *conn;

	while ((conn = l->conns) != NULL) {
		l->conns = conn->next;
		l->count--;
		if (conn->stale_at > now)
			return conn;
		dat_cr_reject(conn->cr);
		free(conn);
	}
	return NULL;
}

struct listening {
	struct nic *nic;
	struct listener *listener;
};

/* The cancelled thread may have been the one that was woken, so it wakes another. */
static void wait_cancelled(void *arg)
{
	struct listening *l = arg;

	l->listener->waiters--;
	pthread_cond_signal(&l->listener->arrived);
	pthread_mutex_unlock(&l->nic->lock);
}

/* Waits for a client. Returns its connection request, or NULL if the time expires. nic->lock is held. */
static struct conn *listener_wait_locked(struct nic *nic, struct listener *l, uint64_t until,
					 int own)
{
	struct listening here = { nic, l };
	const struct undo undo = { wait_cancelled, &here };
	struct conn *conn;

	l->waiters++;
	while ((conn = listener_take(l)) == NULL && now_ms() < until)
		cond_nap(&l->arrived, &nic->lock, until, own, &undo);
	l->waiters--;
	if (conn != NULL) {
		conn->next = nic->conns;
		nic->conns = conn;
	}
	return conn;
}

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE handle, VIP_NET_ADDRESS *local_addr, VIP_ULONG timeout,
			  VIP_NET_ADDRESS *remote_addr, VIP_VI_ATTRIBUTES *remote_attr,
			  VIP_CONN_HANDLE *out)
{
	struct nic *nic = nic_get(handle);
	VIP_RETURN ret = VIP_ERROR_RESOURCE;
	struct conn *conn = NULL;
	struct listener *l;
	struct net_addr local;
	int own;

	if (nic == NULL || remote_addr == NULL || remote_attr == NULL || out == NULL ||
	    !net_addr_read(nic, local_addr, &local) || !net_addr_is_here(nic, &local))
		return VIP_INVALID_PARAMETER;
	own = cancel_off();
	pthread_mutex_lock(&nic->lock);
	l = listener_get_locked(nic, &local);
	if (l != NULL) {
		conn = listener_wait_locked(nic, l, deadline_ms(timeout), own);
		ret = conn != NULL ? VIP_SUCCESS : VIP_TIMEOUT;
	}
	pthread_mutex_unlock(&nic->lock);
	cancel_restore(own);
	if (ret != VIP_SUCCESS)
		return ret;
	net_addr_write(&conn->remote, remote_addr, nic->short_addresses);
	*remote_attr = conn->hello.attr;
	*out = conn;
	return VIP_SUCCESS;
}

/*
 * Answers a connection request with a verdict other than WIRE_ACCEPTS. If that is not possible, the request is
 * rejected, which means to the client that nobody listens. `attr` is the attributes that the client's
 * VI does not match, or NULL.
 */
void listen_answer(struct nic *nic, DAT_CR_HANDLE cr, enum wire_verdict verdict,
		   const VIP_VI_ATTRIBUTES *attr)
{
	struct wire_hello hello = { .verdict = verdict };
	uint8_t data[WIRE_HELLO_MAX];
	size_t size;

	if (attr != NULL)
		hello.attr = *attr;
	size = wire_pack(&hello, data);
	if (!answer_begin(nic, cr, data, size))
		dat_cr_reject(cr);
}

/*
 * Queues a client's connection request at its listener. Returns false if no listener matches, if its queue is full, or if
 * there is no memory.
 */
static bool enqueue(struct nic *nic, DAT_CR_HANDLE cr, const struct wire_hello *hello,
		    const struct net_addr *remote)
{
	struct listener *l = listener_find(nic, hello->to, hello->to_len);
	struct conn *conn, **at;

	if (l == NULL || l->count >= MAX_WAITING)
		return false;
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return false;
	conn->cr = cr;
	conn->hello = *hello;
	conn->remote = *remote;
	conn->stale_at = deadline_ms(hello->timeout_ms);
	for (at = &l->conns; *at != NULL; at = &(*at)->next)
		;
	*at = conn;
	l->count++;
	pthread_cond_signal(&l->arrived);
	return true;
}

/* Handles a connection request that has come to one of the NIC's doors. */
void listen_request(struct nic *nic, DAT_CR_HANDLE cr)
{
	struct wire_hello hello;
	struct net_addr remote;
	DAT_CR_PARAM param;
	bool known;

	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) != DAT_SUCCESS ||
	    !wire_unpack(param.private_data, (size_t)param.private_data_size, &hello) ||
	    hello.verdict != WIRE_ASKS) {
		dat_cr_reject(cr);	/* not from this version of libvipl */
		return;
	}
	net_addr_of_sockaddr(param.remote_ia_address_ptr, &remote);
	if (remote.host_len != nic->attr.NicAddressLen) {
		dat_cr_reject(cr);	/* a program has room for an address of the NIC's family only */
		return;
	}
	remote.disc_len = hello.from_len;
	memcpy(remote.disc, hello.from, hello.from_len);
	pthread_mutex_lock(&nic->lock);
	known = hello.peer ? peer_request(nic, cr, &hello, &remote) :
			     enqueue(nic, cr, &hello, &remote);
	pthread_mutex_unlock(&nic->lock);
	if (!known)
		listen_answer(nic, cr, WIRE_NO_MATCH, NULL);
}

static void free_conns(struct conn *conn)
{
	struct conn *next;

	for (; conn != NULL; conn = next) {
		next = conn->next;
		free(conn);
	}
}

/* Frees listeners, doors and connection requests. The IA is closed, which has freed its objects. */
void listen_free_all(struct nic *nic)
{
	struct listener *l;
	struct door *door;

	while ((l = nic->listeners) != NULL) {
		nic->listeners = l->next;
		free_conns(l->conns);
		pthread_cond_destroy(&l->arrived);
		free(l);
	}
	while ((door = nic->doors) != NULL) {
		nic->doors = door->next;
		free(door);
	}
	free_conns(nic->conns);
}
