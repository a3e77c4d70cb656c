/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the formats of RoCEv2 and of connection management as an attacker writes them. Invariant: whatever the payload, the headers
 * before it and the checksum behind it are right, so that the victim's device takes the packet. Only roce_bytes() writes a payload
 * without a checksum.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bytes.h"
#include "check.h"
#include "roce.h"

enum {
	ETHERNET = 14,
	IP = 20,
	UDP = 8,
	HEADERS = ETHERNET + IP + UDP,
	BASE = 12, /* the base transport header (BTH) */
	DATAGRAM = 8, /* the header of an unreliable datagram (DETH) */
	CHECKSUM = 4, /* the invariant CRC */
	PORT = 4791,
	MASKED = 8, /* bytes of ones, which the checksum covers in place of InfiniBand's local route header */
};

bool roce_attach(int *card)
{
	struct ifreq request;

	memset(&request, 0, sizeof(request));
	strcpy(request.ifr_name, ROCE_CARD);
	request.ifr_flags = IFF_TAP | IFF_NO_PI;
	*card = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	return *card >= 0 && ioctl(*card, TUNSETIFF, &request) == 0;
}

uint32_t roce_get32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* ------------------------------------------------------------------ packets */

static uint32_t crc(uint32_t sum, const unsigned char *at, size_t size)
{
	for (; size--; at++) {
		sum ^= *at;
		for (int i = 0; i < 8; i++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	}
	return sum;
}

static unsigned int ip_sum(const unsigned char *at)
{
	unsigned int sum = 0;

	for (int i = 0; i < IP; i += 2)
		sum += (unsigned int)(at[i] << 8 | at[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

static void head(unsigned char *frame, const char *from, size_t payload)
{
	static const unsigned char macs[12] = { 0x52, 0x54, 0, 9, 7, 1, 0x52, 0x54, 0, 9, 7, 2 };
	unsigned char *ip = frame + ETHERNET, *udp = ip + IP;
	const struct in_addr own = { inet_addr(from) }, to = { inet_addr(ROCE_VICTIM) };

	memset(frame, 0, HEADERS);
	memcpy(frame, macs, sizeof(macs));
	put16(frame + 12, 0x0800);
	ip[0] = 0x45;
	put16(ip + 2, (unsigned int)(IP + UDP + payload));
	put16(ip + 4, 21);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, &own, 4);
	memcpy(ip + 16, &to, 4);
	put16(ip + 10, ip_sum(ip));
	put16(put16(put16(udp, 50000), PORT), (unsigned int)(UDP + payload));
}

/* Appends the checksum of the headers and the payload. Fields that routers change count as ones in it. */
static void seal(const unsigned char *frame, unsigned char *end)
{
	unsigned char copy[MASKED + ROCE_ROOM], *ip = copy + MASKED, *base = ip + IP + UDP;
	size_t size = (size_t)(end - frame) - ETHERNET;
	uint32_t sum;

	memset(copy, 0xff, MASKED);
	memcpy(ip, frame + ETHERNET, size);
	ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	ip[IP + 6] = ip[IP + 7] = 0xff;
	base[4] = 0xff;
	sum = ~crc(UINT32_MAX, copy, MASKED + size);
	for (int i = 0; i < CHECKSUM; i++)
		end[i] = (unsigned char)(sum >> 8 * i);
}

void roce_packet(int card, const char *from, unsigned int opcode, uint32_t qp, uint32_t psn, const void *rest, size_t size)
{
	unsigned char frame[ROCE_ROOM], *base = frame + HEADERS;
	size_t pad = -size & 3, all = HEADERS + BASE + size + pad + CHECKSUM;

	REQUIRE(all <= sizeof(frame));
	memset(frame, 0, sizeof(frame));
	head(frame, from, all - HEADERS);
	base[0] = (unsigned char)opcode;
	base[1] = (unsigned char)(pad << 4);
	put32(put32(put16(base + 2, 0xffff), qp & 0xffffff), psn);
	memcpy(base + BASE, rest, size);
	seal(frame, frame + all - CHECKSUM);
	REQUIRE_EQ_INT(write(card, frame, all), (long)all);
}

void roce_bytes(int card, const void *bytes, size_t size)
{
	unsigned char frame[ROCE_ROOM];

	head(frame, ROCE_ATTACKER, size);
	memcpy(frame + HEADERS, bytes, size);
	REQUIRE_EQ_INT(write(card, frame, HEADERS + size), (long)(HEADERS + size));
}

void roce_mad(int card, const unsigned char mad[ROCE_MAD])
{
	unsigned char rest[DATAGRAM + ROCE_MAD];
	static uint32_t psn;

	/* the well-known Q_Key of queue pair 1, and 1 as the number of the sender's queue pair */
	put32(put32(rest, 0x80010000u), 1);
	memcpy(rest + DATAGRAM, mad, ROCE_MAD);
	roce_packet(card, ROCE_ATTACKER, ROCE_UD_SEND_ONLY, 1, psn++ & 0xffffff, rest, sizeof(rest));
}

/* ------------------------------------------------------------------ connection management */

void roce_cm(unsigned char mad[ROCE_MAD], unsigned int message, uint32_t local, uint32_t remote)
{
	memset(mad, 0, ROCE_MAD);
	mad[0] = 1; /* the version of management datagrams */
	mad[1] = 7; /* the class of connection management */
	mad[2] = 2; /* the version of that class */
	mad[3] = 3; /* the method Send */
	put32(mad + 12, local); /* any transaction ID */
	put16(mad + 16, message);
	put32(put32(mad + CM_LOCAL, local), remote);
}

static unsigned char *put_address(unsigned char *at, const char *address)
{
	const struct in_addr in = { inet_addr(address) };

	at[10] = at[11] = 0xff;
	memcpy(at + 12, &in, 4);
	return at + 16;
}

void roce_request(unsigned char mad[ROCE_MAD], uint16_t port, uint32_t local)
{
	unsigned char *data = mad + CM_REQ_DATA;

	roce_cm(mad, CM_REQ, local, 0);
	/* the service ID that librdmacm makes of a port of RDMA_PS_TCP */
	put32(put32(mad + 24 + 8, 0), 0x01060000u | port);
	mad[24 + 16] = 1; /* the GUID of the attacker's channel adapter */
	put32(mad + CM_REQ_QP, 0x21 << 8 | 4);
	put32(mad + CM_REQ_QP + 4, 4);
	put32(mad + CM_REQ_QP + 8, 20 << 3); /* the victim has 4 s to answer (4.096 us << 20); 0: a reliable connection */
	put32(mad + CM_REQ_QP + 12, 7 << 8 | 20 << 3 | 7);
	put32(mad + CM_REQ_PATH, 0xffff0000u | 3 << 12 | 7 << 8 | 15 << 4);
	put_address(put_address(mad + 24 + 56, ROCE_ATTACKER), ROCE_VICTIM);
	mad[24 + 91] = 3; /* rate */
	mad[24 + 93] = 64; /* hops */
	mad[24 + 94] = 0x08; /* on this subnet */
	mad[24 + 95] = 12 << 3; /* the ACK timeout: 17 ms, so that the victim soon gives up, since nobody acknowledges */
	data[1] = 0x40; /* addresses of IPv4 */
	put16(data + 2, 40000);
	put_address(put_address(data + 4, ROCE_ATTACKER), ROCE_VICTIM);
	memset(data + 4, 0, 12);
	memset(data + 20, 0, 12);
}

static bool is_message(const unsigned char *frame, ssize_t size, unsigned int message)
{
	const unsigned char *base = frame + HEADERS, *mad = base + BASE + DATAGRAM;

	return size >= HEADERS + BASE + DATAGRAM + ROCE_MAD && frame[12] == 8 && frame[13] == 0 && frame[ETHERNET + 9] == 17 &&
	       base[0] == ROCE_UD_SEND_ONLY && (roce_get32(base + 4) & 0xffffff) == 1 && mad[1] == 7 &&
	       (unsigned int)(mad[16] << 8 | mad[17]) == message;
}

bool roce_hear(int card, unsigned int message, unsigned char mad[ROCE_MAD], unsigned int ms)
{
	struct pollfd one = { .fd = card, .events = POLLIN };
	uint64_t until = check_now_ms() + ms, now;
	unsigned char frame[9000];
	ssize_t size;

	while ((now = check_now_ms()) < until) {
		if (poll(&one, 1, (int)(until - now)) != 1)
			continue;
		size = read(card, frame, sizeof(frame));
		if (is_message(frame, size, message)) {
			memcpy(mad, frame + HEADERS + BASE + DATAGRAM, ROCE_MAD);
			return true;
		}
	}
	return false;
}
