/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's own conventions on the wire: which port a connection qualifier is mapped to, how
 * private data carry their length, and the word before the private data of a rejection. The
 * OpenFabrics uDAPL over rdma_cm and this provider understand each other's conventions.
 */
#include "rdma_wire.h"
#include <arpa/inet.h>
#include <string.h>

/* ------------------------------------------------------------------ ports */

#define PORT_MOD  32001
#define PORT_BASE (65535 - PORT_MOD)

/* The formula that existing providers use: two providers with different formulas cannot connect. */
uint16_t rdma_wire_port(uint64_t qual)
{
	return (uint16_t)(qual > 0xffff ? qual % PORT_MOD + PORT_BASE : qual);
}

/* ------------------------------------------------------------------ private data */

/*
 * InfiniBand pads private data with zeros to the size of the message, and programs need the size
 * that was sent. So the length follows in the last bytes of the padding, after a mark. A peer that
 * does not know the mark sees padding; private data without a mark count in full. If there is no
 * room for the mark, or if data of the full size end like a mark, the retry count of the connection request
 * carries the length.
 *
 * A connection request has no room for the 64 bytes that the standard promises. Longer private data go in two
 * requests: the first is rejected with a word that asks for the rest (rdma_parts.c). Only OpenDAT
 * peers understand that, and only they can receive so much.
 */
/* In the trailers of the parts 1 and 2 of longer data, the last byte is higher by the number of the part. */
static const unsigned char mark[3] = { 0xe7, 0x0d, 0xa7 };
static const unsigned char more_word[RDMA_REJECT_BYTES] = { 0xe7, 0x0d, 0xa7, 2 };

enum { TRAILER = RDMA_TRAILER, RETRIES = 7 };

_Static_assert(sizeof(mark) + 1 == TRAILER, "a mark and a length");

static uint32_t wire_bytes(const struct rdma_kind *kind, enum rdma_message what)
{
	switch (what) {
	case RDMA_REQUEST:
		return kind->request_bytes;
	case RDMA_REPLY:
		return kind->reply_bytes;
	default:
		return kind->reject_bytes;
	}
}

static void put_trailer(unsigned char *trailer, int part, uint32_t len)
{
	memcpy(trailer, mark, sizeof(mark));
	trailer[2] = (unsigned char)(trailer[2] + part);
	trailer[3] = (unsigned char)len;
}

/* Returns true if data that have no trailer end like one, of the whole or of a part. */
static bool ends_in_mark(const unsigned char *data, uint32_t size)
{
	return !memcmp(data + size - TRAILER, mark, sizeof(mark) - 1);
}

/*
 * If a connection request has no room for the trailer, its retry count, which the device carries to the peer,
 * gives the length: one retry less for each missing byte. TRAILER retries less mean that no byte is
 * missing, although the data end like a trailer.
 */
static uint8_t retries_that_tell(const unsigned char *data, uint32_t size, uint32_t len)
{
	if (len < size)
		return (uint8_t)(RETRIES - (size - len));
	return ends_in_mark(data, size) ? RETRIES - TRAILER : RETRIES;
}

void rdma_wire_pack(const struct rdma_kind *kind, enum rdma_message what, const void *data,
		    uint32_t len, unsigned char wire[RDMA_PDATA_MAX], struct rdma_conn_param *param)
{
	uint32_t size = wire_bytes(kind, what);

	memset(wire, 0, RDMA_PDATA_MAX);
	param->private_data = wire;
	param->private_data_len = (uint8_t)(size ? size : len);
	param->retry_count = RETRIES;
	if (size && len > size)
		return; /* in parts */
	if (len)
		memcpy(wire, data, len);
	if (!size)
		return;
	if (len <= size - TRAILER)
		put_trailer(wire + size - TRAILER, 0, len);
	else if (what == RDMA_REQUEST)
		param->retry_count = retries_that_tell(wire, size, len);
}

bool rdma_wire_in_parts(const struct rdma_kind *kind, uint32_t len)
{
	return kind->request_bytes && len > kind->request_bytes;
}

void rdma_wire_pack_part(const struct rdma_kind *kind, const unsigned char *data, uint32_t len,
			 int part, unsigned char wire[RDMA_PDATA_MAX])
{
	uint32_t each = kind->request_bytes - TRAILER, from = part == 1 ? 0 : each;

	memset(wire, 0, RDMA_PDATA_MAX);
	memcpy(wire, data + from, part == 1 ? each : len - each);
	put_trailer(wire + each, part, len);
}

int rdma_wire_part(const struct rdma_kind *kind, const struct rdma_conn_param *param, uint32_t *total)
{
	const unsigned char *data = param->private_data;
	uint32_t each = kind->request_bytes - TRAILER;
	int part;

	if (!kind->request_bytes || !data || param->private_data_len < kind->request_bytes ||
	    param->retry_count < RETRIES || !ends_in_mark(data, kind->request_bytes))
		return 0;
	part = data[each + 2] - mark[2];
	*total = data[each + 3];
	return (part == 1 || part == 2) && *total > kind->request_bytes && *total <= 2 * each ? part : 0;
}

void rdma_wire_more(unsigned char word[RDMA_REJECT_BYTES])
{
	memcpy(word, more_word, sizeof(more_word));
}

bool rdma_wire_is_more(const struct rdma_conn_param *param)
{
	return param->private_data && param->private_data_len >= RDMA_REJECT_BYTES &&
	       !memcmp(param->private_data, more_word, sizeof(more_word));
}

static bool zero(const unsigned char *data, uint32_t from, uint32_t to)
{
	while (from < to)
		if (data[from++])
			return false;
	return true;
}

/*
 * Returns the length that a connection request's retry count gives: the reverse of retries_that_tell().
 * Another implementation may set a low retry count for reasons of its own. Then bytes are cut off its private data only if
 * they are zero.
 */
static uint32_t length_by_retries(const unsigned char *data, uint32_t size, uint8_t retries)
{
	uint32_t missing = RETRIES - retries;

	return missing < TRAILER && zero(data, size - missing, size) ? size - missing : size;
}

/*
 * Returns the length that the peer has sent; it includes the padding if the peer does not give the
 * length.
 */
static uint32_t sent_length(const struct rdma_kind *kind, enum rdma_message what,
			    const struct rdma_conn_param *param)
{
	const unsigned char *data = param->private_data;
	uint32_t size = wire_bytes(kind, what), len = data ? param->private_data_len : 0;
	const unsigned char *trailer;

	if (!size || len < size)
		return len;
	if (what == RDMA_REQUEST && param->retry_count < RETRIES)
		return length_by_retries(data, size, param->retry_count);
	trailer = data + size - TRAILER;
	if (!memcmp(trailer, mark, sizeof(mark)) && trailer[3] <= size - TRAILER &&
	    zero(data, trailer[3], size - TRAILER))
		return trailer[3];
	return size;
}

/* Programs have room for the size that the adapter reports, and other implementations send more. */
uint32_t rdma_wire_length(const struct rdma_kind *kind, enum rdma_message what,
			  const struct rdma_conn_param *param)
{
	uint32_t len = sent_length(kind, what, param);

	return len < kind->max_private_data ? len : kind->max_private_data;
}

bool rdma_wire_is_cut(const struct rdma_kind *kind, enum rdma_message what,
		      const struct rdma_conn_param *param)
{
	uint32_t len = sent_length(kind, what, param);

	return len > kind->max_private_data && !zero(param->private_data, kind->max_private_data, len);
}

/* ------------------------------------------------------------------ rejections */

/*
 * A consumer's rejection begins with a word of versions, DAT's and the provider's, and the
 * transport's own rejection does not. The status of the event would distinguish the two on
 * InfiniBand, but not on iWARP.
 */
void rdma_wire_reject(unsigned char word[RDMA_REJECT_BYTES])
{
	word[0] = 1; /* uDAPL 1.2 */
	word[1] = 2;
	word[2] = 1; /* this provider */
	word[3] = 0;
}

bool rdma_wire_is_reject(const struct rdma_conn_param *param)
{
	const unsigned char *word = param->private_data;

	return word && param->private_data_len >= RDMA_REJECT_BYTES && (word[0] == 1 || word[0] == 2);
}

uint32_t rdma_wire_reject_max(const struct rdma_kind *kind)
{
	uint32_t max = kind->reject_bytes ? kind->reject_bytes - TRAILER : kind->max_private_data - RDMA_REJECT_BYTES;

	return max < kind->max_private_data ? max : kind->max_private_data;
}

/*
 * With private data the rejection has the full size, so that its last bytes tell their length, as
 * those of a reply do.
 */
uint8_t rdma_wire_pack_reject(const struct rdma_kind *kind, const void *data, uint32_t len,
			      unsigned char wire[RDMA_PDATA_MAX])
{
	uint32_t size = kind->reject_bytes;
	unsigned char *behind = wire + RDMA_REJECT_BYTES;

	memset(wire, 0, RDMA_PDATA_MAX);
	rdma_wire_reject(wire);
	memcpy(behind, data, len);
	if (!size)
		return (uint8_t)(RDMA_REJECT_BYTES + len);
	put_trailer(behind + size - TRAILER, 0, len);
	return (uint8_t)(RDMA_REJECT_BYTES + size);
}

/*
 * A rejection without private data is padded with zeros, and so are private data whose length the
 * peer does not tell. Those are told in full, unless all of them are zero.
 */
uint32_t rdma_wire_reject_length(const struct rdma_kind *kind, const struct rdma_conn_param *param,
				 const unsigned char **data)
{
	struct rdma_conn_param behind = *param;
	uint32_t len;

	*data = (const unsigned char *)param->private_data + RDMA_REJECT_BYTES;
	behind.private_data = *data;
	behind.private_data_len = (uint8_t)(param->private_data_len - RDMA_REJECT_BYTES);
	len = sent_length(kind, RDMA_REJECTION, &behind);
	if (kind->reject_bytes && len >= kind->reject_bytes && zero(*data, 0, len))
		return 0;
	return len < kind->max_private_data ? len : kind->max_private_data;
}
