/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the format of a connection's private data. Invariant: the lengths that wire_unpack() returns
 * are within bounds, whatever the data are.
 *
 *	0 "VI"  2 version  3 flags  4 level  5 verdict  6 length of from  7 length of to
 *	8 MaxTransferSize  12 QoS  16 timeout  20 from, to
 */
#include <endian.h>
#include <string.h>

#include "wire.h"

static void put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

uint32_t wire_mtu(VIP_ULONG max_transfer_size)
{
	return max_transfer_size > UINT32_MAX ? UINT32_MAX : (uint32_t)max_transfer_size;
}

uint32_t wire_qos(VIP_QOS qos)
{
	return (uint32_t)(uintptr_t)qos;
}

size_t wire_pack(const struct wire_hello *hello, uint8_t *out)
{
	memset(out, 0, WIRE_HELLO_MAX);
	out[0] = 'V';
	out[1] = 'I';
	out[2] = WIRE_VERSION;
	out[3] = (hello->peer ? WIRE_PEER : 0) | (hello->greets ? WIRE_WILL_GREET : 0) |
		 (hello->attr.EnableRdmaWrite ? WIRE_RDMA_WRITE : 0) |
		 (hello->attr.EnableRdmaRead ? WIRE_RDMA_READ : 0);
	out[4] = (uint8_t)hello->attr.ReliabilityLevel;
	out[5] = (uint8_t)hello->verdict;
	out[6] = hello->from_len;
	out[7] = hello->to_len;
	put32(out + 8, wire_mtu(hello->attr.MaxTransferSize));
	put32(out + 12, wire_qos(hello->attr.QoS));
	put32(out + 16, hello->timeout_ms);
	memcpy(out + 20, hello->from, hello->from_len);
	memcpy(out + 20 + hello->from_len, hello->to, hello->to_len);
	return 20u + hello->from_len + hello->to_len;
}

/* Returns whether this is exactly one level. */
static bool is_level(uint8_t level)
{
	return level == VIP_SERVICE_UNRELIABLE || level == VIP_SERVICE_RELIABLE_DELIVERY ||
	       level == VIP_SERVICE_RELIABLE_RECEPTION;
}

bool wire_unpack(const void *data, size_t size, struct wire_hello *hello)
{
	const uint8_t *in = data;

	memset(hello, 0, sizeof(*hello));
	if (size < 20 || in[0] != 'V' || in[1] != 'I' || in[2] != WIRE_VERSION)
		return false;
	if (in[6] > MAX_DISC || in[7] > MAX_DISC || size < 20u + in[6] + in[7] ||
	    in[5] > WIRE_REJECTS)
		return false;
	hello->peer = in[3] & WIRE_PEER;
	hello->greets = in[3] & WIRE_WILL_GREET;
	hello->attr.EnableRdmaWrite = in[3] & WIRE_RDMA_WRITE ? VIP_TRUE : VIP_FALSE;
	hello->attr.EnableRdmaRead = in[3] & WIRE_RDMA_READ ? VIP_TRUE : VIP_FALSE;
	hello->attr.ReliabilityLevel = in[4];
	hello->verdict = (enum wire_verdict)in[5];
	hello->from_len = in[6];
	hello->to_len = in[7];
	hello->attr.MaxTransferSize = get32(in + 8);
	hello->attr.QoS = (VIP_QOS)(uintptr_t)get32(in + 12);
	hello->timeout_ms = get32(in + 16);
	memcpy(hello->from, in + 20, hello->from_len);
	memcpy(hello->to, in + 20 + hello->from_len, hello->to_len);
	/* only a request always has attributes */
	return hello->verdict != WIRE_ASKS || is_level(in[4]);
}
