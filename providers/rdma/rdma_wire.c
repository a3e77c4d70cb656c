/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is particular on the wire: which port stands for a connection qualifier, how private data tells
 * its length, and the word in front of a rejection. All three understood by, and understanding, the
 * OpenFabrics uDAPL over rdma_cm.
 */
#include "rdma.h"
#include <arpa/inet.h>
#include <string.h>

/* ------------------------------------------------------------------ ports */

#define PORT_MOD  32001
#define PORT_BASE (65535 - PORT_MOD)

/* The field's formula: what two providers disagree on here, they cannot talk over. */
uint16_t rdma_wire_port(uint64_t qual)
{
	return (uint16_t)(qual > 0xffff ? qual % PORT_MOD + PORT_BASE : qual);
}

/* ------------------------------------------------------------------ private data */

/*
 * InfiniBand pads private data with zeros to the size of the message, and programs need the size that
 * was sent. So its length follows in the last bytes of the padding, behind a mark. A peer that does
 * not know of it sees padding; a peer's data without it count in full.
 */
static const unsigned char mark[3] = { 0xe7, 0x0d, 0xa7 };

enum { TRAILER = sizeof(mark) + 1, RETRIES = 7 };

static uint32_t wire_bytes(const struct rdma_kind *kind, enum rdma_message what)
{
	return what == RDMA_REQUEST ? kind->request_bytes : kind->reply_bytes;
}

void rdma_wire_pack(const struct rdma_kind *kind, enum rdma_message what, const void *data,
		    uint32_t len, unsigned char wire[RDMA_PDATA_MAX], struct rdma_conn_param *param)
{
	uint32_t size = wire_bytes(kind, what);

	memset(wire, 0, RDMA_PDATA_MAX);
	if (len)
		memcpy(wire, data, len);
	param->private_data = wire;
	param->private_data_len = (uint8_t)(size ? size : len);
	param->retry_count = RETRIES;
	if (!size)
		return;
	if (len <= size - TRAILER) {
		memcpy(wire + size - TRAILER, mark, sizeof(mark));
		wire[size - 1] = (unsigned char)len;
	} else if (what == RDMA_REQUEST) {
		/*
		 * No room for the trailer. The retry count is carried to the peer's consumer; a
		 * few retries less say how many bytes are missing.
		 */
		param->retry_count = (uint8_t)(RETRIES - (size - len));
	}
}

static bool zero(const unsigned char *data, uint32_t from, uint32_t to)
{
	while (from < to)
		if (data[from++])
			return false;
	return true;
}

uint32_t rdma_wire_length(const struct rdma_kind *kind, enum rdma_message what,
			  const struct rdma_conn_param *param)
{
	const unsigned char *data = param->private_data;
	uint32_t size = wire_bytes(kind, what), len = data ? param->private_data_len : 0;
	const unsigned char *trailer = data + size - TRAILER;

	if (!size || len < size)
		return len;
	if (!memcmp(trailer, mark, sizeof(mark)) && trailer[3] <= size - TRAILER &&
	    zero(data, trailer[3], size - TRAILER))
		len = trailer[3];
	else if (what == RDMA_REQUEST && param->retry_count < RETRIES &&
		 RETRIES - param->retry_count < TRAILER &&
		 zero(data, size - (uint32_t)(RETRIES - param->retry_count), size))
		len = size - (uint32_t)(RETRIES - param->retry_count);
	else
		len = size;
	return len < kind->max_private_data ? len : kind->max_private_data;
}

/* ------------------------------------------------------------------ rejections */

/*
 * A consumer's rejection begins with a word of versions, DAT's and the provider's, and a transport's
 * own does not. The status of the event would tell the two apart on InfiniBand, but not on iWARP.
 */
void rdma_wire_reject(unsigned char word[RDMA_REJECT_BYTES])
{
	word[0] = 1; /* uDAPL 1.2 */
	word[1] = 2;
	word[2] = 1; /* ours */
	word[3] = 0;
}

bool rdma_wire_is_reject(const struct rdma_conn_param *param)
{
	const unsigned char *word = param->private_data;

	return word && param->private_data_len >= RDMA_REJECT_BYTES && (word[0] == 1 || word[0] == 2);
}
