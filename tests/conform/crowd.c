/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A crowd of TCP connections that say nothing: crowd FROM HOST PORT COUNT [EACH]. They come from the IPv4
 * address FROM, which is one of this host's; if EACH is given, so many come from FROM, and as many from each address after it.
 * It prints a line when all are there, and holds them until its standard input ends.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int one_more(const char *from, unsigned int further, const char *host, unsigned int port)
{
	struct sockaddr_in ours = { .sin_family = AF_INET }, theirs = ours;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	theirs.sin_port = htons((uint16_t)port);
	if (fd < 0 || inet_pton(AF_INET, from, &ours.sin_addr) != 1 ||
	    inet_pton(AF_INET, host, &theirs.sin_addr) != 1)
		return -1;
	ours.sin_addr.s_addr = htonl(ntohl(ours.sin_addr.s_addr) + further);
	if (bind(fd, (struct sockaddr *)&ours, sizeof(ours)) != 0 ||
	    connect(fd, (struct sockaddr *)&theirs, sizeof(theirs)) != 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	int each = argc == 6 ? atoi(argv[5]) : 0;
	char byte;

	if (argc != 5 && argc != 6)
		return 2;
	for (int i = 0; i < atoi(argv[4]); i++) {
		if (one_more(argv[1], each > 0 ? (unsigned int)(i / each) : 0, argv[2], (unsigned int)atoi(argv[3])) != 0) {
			perror("crowd");
			return 1;
		}
	}
	puts("all are there");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
