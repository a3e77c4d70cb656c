/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between the two sides of a test, and the TCP connection between hosts that carries them.
 * Invariant: nothing in a received message is used before its length and its counts are checked.
 */
#define REMOTE_PLAIN
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"
#include "remote.h"

#define HEAD	 16	/* length of the rest, step, words, blobs: 4 bytes each */
#define LONGEST	 (REMOTE_BYTES + 8 * (REMOTE_WORDS + REMOTE_BLOBS))

static bool send_all(int fd, const void *data, size_t size, int more)
{
	const unsigned char *at = data;

	while (size) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | more);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		size -= (size_t)sent;
	}
	return true;
}

bool remote_put(int fd, const struct remote_message *message)
{
	unsigned char head[HEAD + 8 * (REMOTE_WORDS + REMOTE_BLOBS)];
	size_t fixed = 8 * (size_t)(message->word_count + message->blob_count), length = fixed;
	uint32_t counts[4];
	unsigned char *at = head + HEAD;
	uint64_t word;

	for (unsigned int i = 0; i < message->word_count; i++, at += 8) {
		word = htobe64(message->words[i]);
		memcpy(at, &word, 8);
	}
	for (unsigned int i = 0; i < message->blob_count; i++, at += 8) {
		word = htobe64(message->blobs[i].size);
		memcpy(at, &word, 8);
		length += message->blobs[i].size;
	}
	counts[0] = htobe32((uint32_t)length);
	counts[1] = htobe32(message->step);
	counts[2] = htobe32(message->word_count);
	counts[3] = htobe32(message->blob_count);
	memcpy(head, counts, sizeof(counts));
	length -= fixed;
	if (!send_all(fd, head, HEAD + fixed, length ? MSG_MORE : 0))
		return false;
	for (unsigned int i = 0; i < message->blob_count; i++) {
		length -= message->blobs[i].size;
		if (!send_all(fd, message->blobs[i].at, message->blobs[i].size,
			      length ? MSG_MORE : 0))
			return false;
	}
	return true;
}

static bool get_all(int fd, void *data, size_t size, uint64_t until)
{
	unsigned char *at = data;

	while (size) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		uint64_t now = judge_now_ms();
		ssize_t got;

		if (until && now >= until) {
			errno = ETIMEDOUT;
			return false;
		}
		if (poll(&one, 1, until ? (int)(until - now) : -1) <= 0)
			continue;
		got = recv(fd, at, size, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ECONNRESET;
			return false;
		}
		at += got;
		size -= (size_t)got;
	}
	return true;
}

bool remote_get(int fd, struct remote_message *message, unsigned char *bytes, int bound_ms)
{
	uint64_t until = bound_ms < 0 ? 0 : judge_now_ms() + (uint64_t)bound_ms;
	uint64_t fixed[REMOTE_WORDS + REMOTE_BLOBS];
	uint32_t head[4];
	size_t left, size;

	memset(message, 0, sizeof(*message));
	if (!get_all(fd, head, sizeof(head), until))
		return false;
	left = be32toh(head[0]);
	message->step = be32toh(head[1]);
	message->word_count = be32toh(head[2]);
	message->blob_count = be32toh(head[3]);
	errno = EPROTO;
	if (message->word_count > REMOTE_WORDS || message->blob_count > REMOTE_BLOBS || left > LONGEST)
		return false;
	size = 8 * (size_t)(message->word_count + message->blob_count);
	if (left < size || !get_all(fd, fixed, size, until))
		return false;
	left -= size;
	for (unsigned int i = 0; i < message->word_count; i++)
		message->words[i] = be64toh(fixed[i]);
	errno = EPROTO;
	if (left > REMOTE_BYTES)
		return false;
	for (unsigned int i = 0; i < message->blob_count; i++) {
		uint64_t blob = be64toh(fixed[message->word_count + i]);

		if (blob > left)
			return false;
		message->blobs[i].at = bytes;
		message->blobs[i].size = (size_t)blob;
		bytes += blob;
		left -= (size_t)blob;
	}
	if (left)
		return false;
	for (unsigned int i = 0; i < message->blob_count; i++)
		if (!get_all(fd, (void *)(uintptr_t)message->blobs[i].at, message->blobs[i].size,
			     until))
			return false;
	return true;
}

size_t remote_address_size(const void *address)
{
	const struct sockaddr *any = address;

	if (!any)
		return 0;
	return any->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
	       : any->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					    : 0;
}

/* Resolves HOST, HOST:PORT or [HOST]:PORT. A bare IPv6 address has more than one colon. */
bool remote_resolve(const char *text, struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	char host[256], standard[8];
	const char *port = standard, *name = host;
	char *colon;
	int error;

	snprintf(standard, sizeof(standard), "%d", REMOTE_PORT);
	if (snprintf(host, sizeof(host), "%s", text) >= (int)sizeof(host)) {
		fprintf(stderr, "datconform: --connect: the address is too long\n");
		return false;
	}
	if (host[0] == '[' && (colon = strchr(host, ']'))) {
		*colon = '\0';
		name = host + 1;
		if (colon[1] == ':')
			port = colon + 2;
	} else if ((colon = strchr(host, ':')) && !strchr(colon + 1, ':')) {
		*colon = '\0';
		port = colon + 1;
	}
	/* getaddrinfo() accepts any number for a port, and truncates it. */
	error = strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535
			? EAI_SERVICE
			: getaddrinfo(name, port, &hints, &list);
	if (error) {
		fprintf(stderr,
			"datconform: --connect: %s; give the address that the server printed\n",
			error == EAI_SERVICE ? "the port is not a number from 1 to 65535" :
					       gai_strerror(error));
		return false;
	}
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return true;
}

/*
 * Sends steps at once, because they are short and wait for their answers, and lets the kernel
 * detect a host that no longer answers.
 */
void remote_tune(int fd)
{
	static const int on = 1, idle = 10, between = 5, probes = 3;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof(between));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

int remote_dial(const struct sockaddr_storage *address, unsigned int bound_ms)
{
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd one = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)address, (socklen_t)remote_address_size(address)) &&
	    errno != EINPROGRESS)
		goto close_it;
	if (poll(&one, 1, (int)bound_ms) != 1) {
		errno = ETIMEDOUT;
		goto close_it;
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error) {
		errno = error;
		goto close_it;
	}
	fcntl(fd, F_SETFL, 0);
	remote_tune(fd);
	return fd;
close_it:
	error = errno;
	close(fd);
	errno = error;
	return -1;
}
