/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for what comes with connection requests and answers over verbs: the length of
 * private data, rejections, and data in two parts (rdma_wire.c, rdma_parts.c). An input is a
 * sequence of messages: a byte for the kind of transport and of request or reply, one for the retry count, whether the message is
 * a rejection, and the peer, one for the length, and the bytes.
 *
 * It checks that a consumer gets no more private data than have arrived and than it has room for, and that private data
 * which were packed have the same length and bytes when they are unpacked.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "providers/rdma/rdma_parts.h"
#include "providers/rdma/rdma_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEMAND(x) do { if (!(x)) abort(); } while (0)

/* The values of ib.c and iwarp.c. */
static const struct rdma_kind kinds[] = {
	{ .max_private_data = 2 * (56 - RDMA_TRAILER), .request_bytes = 56, .reply_bytes = 196, .reject_bytes = 144 },
	{ .max_private_data = 128 },
};

struct message {
	const struct rdma_kind *kind;
	enum rdma_message what;
	struct rdma_cm_event event;
	struct rdma_cm_id id;
};

/* Calls the functions by which the receiver of a message finds out what it is, and checks the length that they find. */
static void lengths_check(const struct message *m)
{
	const struct rdma_conn_param *param = &m->event.param.conn;
	uint32_t length;

	(void)rdma_wire_is_more(param);
	if (m->what == RDMA_REJECTION)
		return;
	length = rdma_wire_length(m->kind, m->what, param);
	DEMAND(length <= m->kind->max_private_data);
	DEMAND(length <= param->private_data_len);
	(void)rdma_wire_is_cut(m->kind, m->what, param);
}

/* Checks that the private data of a rejection are within what has arrived. */
static void reject_check(const struct message *m)
{
	const struct rdma_conn_param *param = &m->event.param.conn;
	const unsigned char *all = param->private_data, *data;
	unsigned char copy[RDMA_PDATA_MAX];
	uint32_t length;

	if (m->what != RDMA_REJECTION || !rdma_wire_is_reject(param))
		return;
	length = rdma_wire_reject_length(m->kind, param, &data);
	DEMAND(length <= m->kind->max_private_data);
	DEMAND(data >= all && length <= param->private_data_len - (size_t)(data - all));
	memcpy(copy, data, length);
}

/* Takes the place of libdatp's: a third of a minute for each call, so that first parts grow too old. */
uint64_t datp_clock_us(void)
{
	static uint64_t now;

	return now += 20000000;
}

static void parts_check(struct rdma_ia *ia, const struct message *m)
{
	unsigned char *whole = malloc(RDMA_PDATA_MAX);
	uint32_t length = 0;

	DEMAND(whole);
	if (m->what == RDMA_REQUEST &&
	    rdma_parts_join(ia, &m->event, whole, &length) == RDMA_PARTS_WHOLE)
		DEMAND(length <= m->kind->max_private_data);
	free(whole);
}

/* The same as pack_check() for a rejection. */
static void pack_reject_check(const struct message *m, const unsigned char *data, uint32_t length)
{
	unsigned char wire[RDMA_PDATA_MAX];
	struct rdma_conn_param param = { .private_data = wire };
	const unsigned char *back;

	if (length > rdma_wire_reject_max(m->kind))
		return;
	param.private_data_len = rdma_wire_pack_reject(m->kind, data, length, wire);
	DEMAND(rdma_wire_is_reject(&param) && !rdma_wire_is_more(&param));
	DEMAND(rdma_wire_reject_length(m->kind, &param, &back) == length);
	DEMAND(!memcmp(back, data, length));
}

/* Packs the bytes as if they were a consumer's private data, and checks that the same bytes are unpacked. */
static void pack_check(const struct message *m, const unsigned char *data, uint32_t length)
{
	struct rdma_conn_param param = { 0 };
	unsigned char wire[RDMA_PDATA_MAX];
	uint32_t room = m->what == RDMA_REQUEST ? m->kind->request_bytes : m->kind->reply_bytes;

	if (length > m->kind->max_private_data || (room && length > room))
		return;
	if (m->what == RDMA_REJECTION) {
		pack_reject_check(m, data, length);
		return;
	}
	rdma_wire_pack(m->kind, m->what, data, length, wire, &param);
	/* A reply with so much data has no room for a trailer, so the receiver takes its padding for data. */
	if (m->what == RDMA_REPLY && room && length > room - RDMA_TRAILER)
		return;
	DEMAND(rdma_wire_length(m->kind, m->what, &param) == length);
	DEMAND(!length || !memcmp(wire, data, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rdma_ia *ia = calloc(1, sizeof(*ia));

	DEMAND(ia);
	while (size >= 3) {
		struct message m = { .kind = &kinds[data[0] & 1], .what = data[1] & 8 ? RDMA_REJECTION : data[0] >> 1 & 1 };
		size_t length = data[2] < size - 3 ? data[2] : size - 3;
		unsigned char *exact = malloc(length ? length : 1);	/* of this size, so that a read beyond it is detected */
		struct sockaddr_in *peer = (struct sockaddr_in *)&m.id.route.addr.dst_addr;

		DEMAND(exact);
		memcpy(exact, data + 3, length);
		ia->kind = &kinds[0];
		peer->sin_family = AF_INET;
		peer->sin_addr.s_addr = data[1] >> 4;
		m.event.id = &m.id;
		m.event.param.conn = (struct rdma_conn_param){
			.private_data = length ? exact : NULL,
			.private_data_len = (uint8_t)length,
			.retry_count = data[1] & 7,
			.qp_num = data[0] >> 2,
		};
		lengths_check(&m);
		reject_check(&m);
		parts_check(ia, &m);
		pack_check(&m, exact, (uint32_t)length);
		free(exact);
		data += 3 + length;
		size -= 3 + length;
	}
	rdma_parts_fini(ia);
	free(ia);
	return 0;
}
