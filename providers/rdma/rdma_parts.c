/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private data that arrive in two connection requests: the list of first parts that wait for their second
 * part. Invariant: the list has at most one part for each queue pair of a peer and each service point, and at most PARTS_MAX in
 * all. So a peer that sends only first parts makes other peers lose theirs, but cannot use up memory. Service thread.
 *
 * The number of the queue pair is what the sender says, and any process of the peer's host may say it. So a first part that
 * differs from the one that is kept spoils that one: it stays on the list, no second part makes it a whole, and the sender of one
 * is rejected, as if nobody listened. That does not keep all strangers out: a stranger's second part may use up a first part, or
 * those of 256 other queue pairs may push it off the list, and then a stranger's first part is the one that is kept.
 */
#include "rdma_cm.h"
#include "rdma_parts.h"
#include "rdma_wire.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* PART_US: a peer sends its second part when it has been asked for it; its attempts take up to a minute (ANSWER_MS) */
enum { PARTS_MAX = 256, PART_US = 60000000 };

struct rdma_part {
	struct rdma_part *next;
	const struct rdma_cm_id *listener;
	struct in_addr address;
	uint32_t qpn, total;
	bool spoilt; /* another first part has come that differs from this one */
	uint64_t since_us;
	unsigned char data[RDMA_PDATA_MAX];
};

static struct in_addr peer_of(const struct rdma_cm_event *event)
{
	return ((struct sockaddr_in *)rdma_get_peer_addr(event->id))->sin_addr;
}

/* The first part from this queue pair to this service point. */
static bool is_of(const struct rdma_part *part, const struct rdma_cm_event *event)
{
	return part->qpn == event->param.conn.qp_num && part->address.s_addr == peer_of(event).s_addr &&
	       part->listener == event->listen_id;
}

/* Returns where the list has the first part from this queue pair. There is NULL if it has none. */
static struct rdma_part **find(struct rdma_ia *ia, const struct rdma_cm_event *event)
{
	struct rdma_part **at = &ia->parts;

	while (*at && !is_of(*at, event))
		at = &(*at)->next;
	return at;
}

/* Takes the part that is there off the list. */
static struct rdma_part *take(struct rdma_part **at)
{
	struct rdma_part *part = *at;

	*at = part->next;
	return part;
}

static void forget_from(struct rdma_part **at)
{
	while (*at)
		free(take(at));
}

/* Forgets the parts that are too old, and all but the newest ones. The list has the newest part first. */
static void forget_old(struct rdma_ia *ia, int newest)
{
	uint64_t now = datp_clock_us();
	struct rdma_part **at = &ia->parts;

	for (int n = 0; *at && n < newest && now - (*at)->since_us < PART_US; n++)
		at = &(*at)->next;
	forget_from(at);
}

static bool keep(struct rdma_ia *ia, const struct rdma_cm_event *event, uint32_t total)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct rdma_part **at = find(ia, event);
	bool known = *at != NULL;
	struct rdma_part *part = known ? take(at) : calloc(1, sizeof(*part));

	if (!part)
		return false;
	if (known)
		part->spoilt |= part->total != total || memcmp(part->data, param->private_data, param->private_data_len) != 0;
	forget_old(ia, PARTS_MAX - 1);
	part->listener = event->listen_id;
	part->address = peer_of(event);
	part->qpn = param->qp_num;
	part->total = total;
	part->since_us = datp_clock_us();
	memcpy(part->data, param->private_data, param->private_data_len);
	part->next = ia->parts;
	ia->parts = part;
	return true;
}

enum rdma_parts rdma_parts_join(struct rdma_ia *ia, const struct rdma_cm_event *event,
				unsigned char whole[RDMA_PDATA_MAX], uint32_t *len)
{
	const struct rdma_conn_param *param = &event->param.conn;
	uint32_t total, each;
	struct rdma_part **at, *part;
	bool good;

	forget_old(ia, PARTS_MAX);
	switch (rdma_wire_part(ia->kind, param, &total)) {
	case 0:
		return RDMA_PARTS_NONE;
	case 1:
		return keep(ia, event, total) ? RDMA_PARTS_MORE : RDMA_PARTS_BAD;
	default:
		break;
	}
	at = find(ia, event);
	if (!*at || (*at)->spoilt)
		return RDMA_PARTS_BAD;
	part = take(at);
	good = part->total == total;
	if (good) {
		each = ia->kind->request_bytes - RDMA_TRAILER;
		memcpy(whole, part->data, each);
		memcpy(whole + each, param->private_data, total - each);
		*len = total;
	}
	free(part);
	return good ? RDMA_PARTS_WHOLE : RDMA_PARTS_BAD;
}

void rdma_parts_fini(struct rdma_ia *ia)
{
	forget_from(&ia->parts);
}
