/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter of these tests: that of OPENDAT_TEST_IA, or else soft0 with a dat.conf of its own; and a process at its other end. */
#ifndef DAT20_ADAPTER20_H
#define DAT20_ADAPTER20_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *adapter = "soft0";
static char adapter_conf[] = "/tmp/opendat-dat20-XXXXXX";

/* Returns false if there is no dat.conf. adapter_chosen_end() removes it when each process has opened the adapter. */
static inline int adapter_choose(void)
{
	int fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("OPENDAT_TEST_IA")) {
		adapter = getenv("OPENDAT_TEST_IA");
		return 1;
	}
	fd = mkstemp(adapter_conf);
	if (fd < 0 || dprintf(fd, "soft0 u2.0 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n", SOFT_PLUGIN) < 0) {
		printf("Bail out! cannot write %s\n", adapter_conf);
		return 0;
	}
	close(fd);
	return setenv("DAT_OVERRIDE", adapter_conf, 1) == 0;
}

static inline void adapter_chosen_end(void)
{
	unlink(adapter_conf);
}

/* Forks. Returns as fork() does; *talk becomes a socket of this type to the other process. */
static inline pid_t adapter_fork(int type, int *talk)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, type, 0, pair))
		return -1;
	pid = fork();
	*talk = pair[pid == 0];
	close(pair[pid != 0]);
	return pid;
}

#endif
