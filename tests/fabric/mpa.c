/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the formats of MPA and DDP as an attacker writes them. Invariant: only what `enum mpa_wrong` names is wrong with a segment,
 * so that the victim's device reads as far as the mistake.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bytes.h"
#include "check.h"
#include "hostile.h"
#include "mpa.h"

enum {
	KEY = 16, /* bytes of the text that a request or a reply begins with */
	/* the first 16 bits of a segment: whether it is tagged and the last one, the versions of DDP and RDMAP, and the opcode */
	TAGGED = 0x8000,
	LAST = 0x4000,
	VERSIONS = 0x0140,
	OTHER_VERSION = 0x0040 | 0x0300,
	WRITE = 0,
	READ = 1,
	ANSWER = 2,
	SEND = 3,
	TERMINATE = 7,
	NO_OPCODE = 13,
	UNTAGGED_HEAD = 18, /* bytes of the header of a segment, without its length */
	TAGGED_HEAD = 14,
	LONG_PAYLOAD = 8000,
};

/* ------------------------------------------------------------------ TCP */

int mpa_reach(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0);
	REQUIRE_EQ_INT(connect(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	return fd;
}

int mpa_listen(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	REQUIRE(fd >= 0);
	REQUIRE_EQ_INT(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	REQUIRE_EQ_INT(bind(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	REQUIRE_EQ_INT(listen(fd, 8), 0);
	return fd;
}

int mpa_take(int listener)
{
	int fd = accept(listener, NULL, NULL);

	REQUIRE(fd >= 0);
	return fd;
}

bool mpa_say(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Returns false if the connection ends before. */
static bool read_all(int fd, void *to, size_t size)
{
	unsigned char *at = to;
	ssize_t got;

	for (; size; size -= (size_t)got, at += got)
		if ((got = recv(fd, at, size, 0)) <= 0)
			return false;
	return true;
}

int mpa_hear(int fd)
{
	unsigned char head[MPA_HEAD], data[65536];

	if (!read_all(fd, head, sizeof(head)) || !read_all(fd, data, (size_t)(head[18] << 8 | head[19])))
		return -1;
	return head[KEY];
}

bool mpa_is_closed(int fd, unsigned int ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };
	unsigned char bytes[4096];
	ssize_t got;

	do {
		if (poll(&one, 1, (int)ms) != 1)
			return false;
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	} while (got > 0);
	return true;
}

void mpa_reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	REQUIRE_EQ_INT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	close(fd);
}

/* ------------------------------------------------------------------ MPA */

static size_t frame(unsigned char *out, const char *key, unsigned int flags, unsigned int revision, unsigned int claimed,
		    size_t carried)
{
	REQUIRE(carried <= MPA_ROOM - MPA_HEAD);
	memset(out, 0, MPA_HEAD + carried);
	memcpy(out, key, KEY);
	out[KEY] = (unsigned char)flags;
	out[KEY + 1] = (unsigned char)revision;
	put16(out + KEY + 2, claimed);
	return MPA_HEAD + carried;
}

size_t mpa_request(unsigned char *out, unsigned int flags, unsigned int revision, unsigned int claimed, size_t carried)
{
	return frame(out, "MPA ID Req Frame", flags, revision, claimed, carried);
}

size_t mpa_reply(unsigned char *out, unsigned int flags, unsigned int revision, unsigned int claimed, size_t carried)
{
	return frame(out, "MPA ID Rep Frame", flags, revision, claimed, carried);
}

/* ------------------------------------------------------------------ DDP */

struct untagged {
	unsigned int control;
	uint32_t queue, number, offset;
	size_t payload;
};

static void fill(unsigned char *at, size_t size, uint64_t *seed)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)hostile_random(seed);
}

/* Adds the padding and an empty checksum, at which siw looks only if its peer asks for checksums. Returns the length of all. */
static size_t end(const unsigned char *from, unsigned char *at)
{
	while ((at - from) % 4)
		*at++ = 0;
	return (size_t)(put32(at, 0) - from);
}

static size_t untagged(unsigned char *out, const struct untagged *what, uint64_t *seed)
{
	unsigned char *at = put16(put16(out, UNTAGGED_HEAD + (unsigned int)what->payload), what->control);

	at = put32(put32(put32(put32(at, 0), what->queue), what->number), what->offset);
	fill(at, what->payload, seed);
	return end(out, at + what->payload);
}

static size_t tagged(unsigned char *out, unsigned int opcode, uint64_t *seed)
{
	unsigned char *at = put16(put16(out, TAGGED_HEAD + MPA_PAYLOAD), TAGGED | LAST | VERSIONS | opcode);

	fill(at, 12 + MPA_PAYLOAD, seed); /* a random key and address */
	return end(out, at + 12 + MPA_PAYLOAD);
}

static size_t segment(unsigned char *out, enum mpa_wrong wrong, uint64_t *seed)
{
	struct untagged send = { LAST | VERSIONS | SEND, 0, 1, 0, MPA_PAYLOAD };

	switch (wrong) {
	case MPA_GARBAGE:
		fill(out, 256, seed);
		return 256;
	case MPA_VERSION:
		send.control = LAST | OTHER_VERSION | SEND;
		break;
	case MPA_OPCODE:
		send.control = LAST | VERSIONS | NO_OPCODE;
		break;
	case MPA_QUEUE:
		send.queue = 5;
		break;
	case MPA_NUMBER:
		send.number = 77;
		break;
	case MPA_OFFSET:
		send.offset = UINT32_MAX - 8;
		break;
	case MPA_KEY:
		return tagged(out, WRITE, seed);
	case MPA_ANSWER:
		return tagged(out, ANSWER, seed);
	case MPA_TERMINATE:
		send.control = LAST | VERSIONS | TERMINATE;
		send.queue = 2;
		break;
	case MPA_READ: /* its header goes on with 28 bytes: random keys, addresses and length */
		send.control = LAST | VERSIONS | READ;
		send.queue = 1;
		send.payload = 28;
		break;
	case MPA_LONG:
		send.payload = LONG_PAYLOAD;
		break;
	case MPA_HALF:
		return untagged(out, &send, seed) / 2;
	default:
		return 0;
	}
	return untagged(out, &send, seed);
}

/* CRC-32C, as in RFC 3720 */
static uint32_t checksum(const unsigned char *at, size_t size)
{
	uint32_t sum = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		sum ^= at[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 1 ? sum >> 1 ^ 0x82f63b78 : sum >> 1;
	}
	return ~sum;
}

void mpa_send_summed(int fd, uint32_t number, bool right, uint64_t *seed)
{
	const struct untagged send = { LAST | VERSIONS | SEND, 0, number, 0, MPA_PAYLOAD };
	unsigned char bytes[UNTAGGED_HEAD + MPA_PAYLOAD + 16];
	size_t size = untagged(bytes, &send, seed);
	uint32_t sum = checksum(bytes, size - sizeof(sum));

	if (!right)
		sum ^= 1;
	/* its low byte comes first */
	for (size_t i = 0; i < sizeof(sum); i++)
		bytes[size - sizeof(sum) + i] = (unsigned char)(sum >> 8 * i);
	mpa_say(fd, bytes, size);
}

void mpa_do(int fd, enum mpa_wrong wrong, uint64_t *seed)
{
	static unsigned char bytes[MPA_ROOM];
	size_t size = segment(bytes, wrong, seed);

	if (wrong == MPA_RESET) {
		mpa_reset(fd);
	} else if (wrong == MPA_FIN) {
		REQUIRE_EQ_INT(shutdown(fd, SHUT_WR), 0);
	} else if (size) {
		mpa_say(fd, bytes, size);
	}
}
