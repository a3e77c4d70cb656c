/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private data that arrive in two connection requests: the list of first parts that wait for their second
 * part. Invariant: the list has at most one part for each queue pair of a peer, and at most PARTS_MAX in all. So a peer that
 * sends only first parts makes other peers lose theirs, but cannot use up memory. Service thread.
 */
#include "rdma_cm.h"
#include "rdma_parts.h"
#include "rdma_wire.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 256 };

struct rdma_part {
	struct rdma_part *next;
	struct in_addr address;
	uint32_t qpn, total;
	unsigned char data[RDMA_PDATA_MAX];
};

static struct in_addr peer_of(const struct rdma_cm_event *event)
{
	return ((struct sockaddr_in *)rdma_get_peer_addr(event->id))->sin_addr;
}

/* Takes the first part from this queue pair off the list. Returns NULL if the list has no part from it. */
static struct rdma_part *take(struct rdma_ia *ia, const struct rdma_cm_event *event)
{
	struct in_addr address = peer_of(event);
	struct rdma_part **at = &ia->parts, *part;

	while (*at && ((*at)->qpn != event->param.conn.qp_num ||
		       (*at)->address.s_addr != address.s_addr))
		at = &(*at)->next;
	part = *at;
	if (part)
		*at = part->next;
	return part;
}

static void forget_oldest(struct rdma_ia *ia)
{
	struct rdma_part **at = &ia->parts;
	int n = 0;

	for (; *at; at = &(*at)->next)
		if (++n == PARTS_MAX) {
			free(*at);
			*at = NULL;
			return;
		}
}

static bool keep(struct rdma_ia *ia, const struct rdma_cm_event *event, uint32_t total)
{
	struct rdma_part *part = take(ia, event);

	if (!part)
		part = calloc(1, sizeof(*part));
	if (!part)
		return false;
	forget_oldest(ia);
	part->address = peer_of(event);
	part->qpn = event->param.conn.qp_num;
	part->total = total;
	memcpy(part->data, event->param.conn.private_data, event->param.conn.private_data_len);
	part->next = ia->parts;
	ia->parts = part;
	return true;
}

enum rdma_parts rdma_parts_join(struct rdma_ia *ia, const struct rdma_cm_event *event,
				unsigned char whole[RDMA_PDATA_MAX], uint32_t *len)
{
	const struct rdma_conn_param *param = &event->param.conn;
	uint32_t total, each;
	struct rdma_part *part;
	bool good;

	switch (rdma_wire_part(ia->kind, param, &total)) {
	case 0:
		return RDMA_PARTS_NONE;
	case 1:
		return keep(ia, event, total) ? RDMA_PARTS_MORE : RDMA_PARTS_BAD;
	default:
		break;
	}
	part = take(ia, event);
	good = part && part->total == total;
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
	while (ia->parts) {
		struct rdma_part *part = ia->parts;

		ia->parts = part->next;
		free(part);
	}
}
