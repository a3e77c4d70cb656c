/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for what datconform hears from another one. An input whose first byte is 0, as of each message that is not too
 * long, comes over a connection that then ends (remote_wire.c). Of any other input messages are made that are well formed, and the
 * process on the other side takes them (served.c).
 *
 * Invariant checked here: a message that is taken lies in the buffer it was given, and goes out as it
 * came in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REMOTE_PLAIN
#include "conform.h"
#include "remote.h"
#include "served.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replaces the function of judge.c, which is not linked here. */
uint64_t judge_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void message_check(const struct remote_message *m, const unsigned char *bytes)
{
	DEMAND(m->word_count <= REMOTE_WORDS && m->blob_count <= REMOTE_BLOBS);
	for (unsigned int i = 0; i < m->blob_count; i++) {
		const unsigned char *at = m->blobs[i].at;

		DEMAND(at >= bytes && at <= bytes + REMOTE_BYTES);
		DEMAND(m->blobs[i].size <= (size_t)(bytes + REMOTE_BYTES - at));
	}
}

/* Sent again, it is the same message. */
static void again_check(const struct remote_message *m)
{
	static unsigned char bytes[REMOTE_BYTES];
	struct remote_message again;
	int fds[2];

	DEMAND(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	DEMAND(remote_put(fds[0], m) && remote_get(fds[1], &again, bytes, 10000));
	DEMAND(again.step == m->step && again.word_count == m->word_count &&
	       again.blob_count == m->blob_count);
	DEMAND(!memcmp(again.words, m->words, sizeof(m->words)));
	for (unsigned int i = 0; i < m->blob_count; i++)
		DEMAND(again.blobs[i].size == m->blobs[i].size &&
		       !memcmp(again.blobs[i].at, m->blobs[i].at, m->blobs[i].size));
	close(fds[0]);
	close(fds[1]);
}

static void wire(const uint8_t *data, size_t size)
{
	unsigned char *bytes = malloc(REMOTE_BYTES);
	struct remote_message message;
	int fds[2];

	DEMAND(bytes && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	/* A longer input may not fit into the socket's buffer, where the write would block, so nothing of it is sent. */
	DEMAND(size > 65536 || write(fds[0], data, size) == (ssize_t)size);
	close(fds[0]);
	while (remote_get(fds[1], &message, bytes, 10000)) {
		message_check(&message, bytes);
		again_check(&message);
	}
	close(fds[1]);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0])
		served(data, size);
	else
		wire(data, size);
	return 0;
}
