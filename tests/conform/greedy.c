/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of datconform --server that asks for very long EVDs, greedy HOST PORT, until the server ends the connection. It
 * prints how many it has got then.
 */
#define REMOTE_PLAIN
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "remote.h"

#define PATIENCE_MS 30000

/* Replaces the function of judge.c, which is not linked here. */
uint64_t judge_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	static unsigned char bytes[REMOTE_BYTES];
	struct remote_message ask = { .step = STEP_HELLO, .word_count = 6,
				      .words = { REMOTE_MAGIC, sizeof(DAT_EVENT), sizeof(DAT_EP_PARAM), sizeof(DAT_CR_PARAM),
						 STEP_END, PATIENCE_MS } }, answer;
	struct sockaddr_in server = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), got = 0;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1)
		return 2;
	server.sin_port = htons((uint16_t)atoi(argv[2]));
	if (connect(fd, (struct sockaddr *)&server, sizeof(server)) != 0 || !remote_put(fd, &ask) ||
	    !remote_get(fd, &answer, bytes, PATIENCE_MS) || answer.words[0] != DAT_SUCCESS)
		return 1;
	ask = (struct remote_message){ .step = STEP_EVD_CREATE, .word_count = 3,
				       .words = { answer.words[1], 1 << 24, DAT_EVD_SOFTWARE_FLAG } };
	while (got < 8 && remote_put(fd, &ask) && remote_get(fd, &answer, bytes, PATIENCE_MS))
		got++;
	printf("%d\n", got);
	close(fd);
	return 0;
}
