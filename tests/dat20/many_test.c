/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that has adapters of both APIs open at once, as an MPI library with a list of providers has, exchanges over all of
 * them with another such process. MANY_ADAPTERS names the adapters ("1.2:soft0 2.0:soft0"); without it they are three of soft.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many.h"

enum { MOST = 8, ROUNDS = 12 };

static struct one {
	const struct many_calls *calls;
	struct many *many;
	char name[64];
} all[MOST];
static int n, tests, failed, talk;

static void report(const char *why, const char *adapter, const char *name)
{
	if (why)
		printf("# %s: %s\n", adapter, why);
	printf("%sok %d - %s\n", why ? "not " : "", ++tests, name);
	failed += why != NULL;
	if (why)
		exit(1); /* the other side would wait for this one for ever */
}

static const struct many_calls *side(const char *library)
{
	void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!loaded)
		printf("# %s\n", dlerror());
	return loaded ? dlsym(loaded, "many_calls") : NULL;
}

static void parse(char *list)
{
	const struct many_calls *calls[2] = { side(SIDE12_LIBRARY), side(SIDE20_LIBRARY) };

	if (!calls[0] || !calls[1])
		exit(99);
	for (char *word = strtok(list, " "); word && n < MOST; word = strtok(NULL, " ")) {
		all[n].calls = calls[strncmp(word, "2.0:", 4) == 0];
		snprintf(all[n++].name, sizeof(all[0].name), "%s", word);
	}
}

/* Does one thing on every adapter before the next thing is done on any. */
#define EACH(what, does) do {							\
	const char *why = NULL;							\
	int at;									\
										\
	for (at = 0; at < n && !why; at++) {					\
		const struct many_calls *calls = all[at].calls;			\
		struct many *many = all[at].many;				\
										\
		(void)many;							\
		why = calls->does;						\
	}									\
	if (why || (what)[0])							\
		report(why, all[at - 1].name, (what)[0] ? (what) : "a round");	\
} while (0)

/* Rank 0 listens, and rank 1 connects and sends first. */
static void meets(int rank)
{
	struct many_place place[MOST];
	size_t size = sizeof(place[0]) * (size_t)n;

	memset(place, 0, sizeof(place));
	if (rank == 0) {
		EACH("", listen(many, &place[at]));
		if (write(talk, place, size) != (ssize_t)size)
			exit(98);
		EACH("", accept(many));
	} else {
		if (read(talk, place, size) != (ssize_t)size)
			exit(97);
		EACH("", connect(many, &place[at]));
	}
	EACH("", established(many));
}

static void exchanges(int rank)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		if (rank == 1)
			EACH("", send(many, round));
		EACH("", receive(many, round));
		EACH("", write(many, round));
		if (rank == 0)
			EACH("", send(many, round));
	}
}

/* Nobody closes before the other one has finished. */
static void waits(void)
{
	char byte = 'x';

	if (write(talk, &byte, 1) != 1 || read(talk, &byte, 1) != 1)
		exit(96);
}

static void runs(int rank)
{
	EACH(rank ? "" : "each adapter opens, of both APIs, in one process", open(all[at].name + 4, &all[at].many));
	meets(rank);
	exchanges(rank);
	if (rank == 0)
		report(NULL, "", "the process exchanges over all of them");
	waits();
	EACH(rank ? "" : "they close", close(many));
}

/* The first line serves both APIs, the second and the third one each. */
static void write_conf(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0 || dprintf(fd, "soft0 u1.2 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n"
				  "soft1 u1.2 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n"
				  "soft2 u2.0 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n",
			      SOFT_PLUGIN, SOFT_PLUGIN, SOFT_PLUGIN) < 0)
		exit(99);
	close(fd);
	setenv("DAT_OVERRIDE", path, 1);
}

int main(void)
{
	char conf[] = "/tmp/opendat-many-XXXXXX", soft[] = "1.2:soft0 2.0:soft0 1.2:soft1 2.0:soft2";
	int pair[2], status = 1;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!getenv("MANY_ADAPTERS"))
		write_conf(conf);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 99;
	pid = fork();
	talk = pair[pid == 0];
	close(pair[pid != 0]);
	parse(getenv("MANY_ADAPTERS") ? getenv("MANY_ADAPTERS") : soft);
	runs(pid == 0);
	if (pid == 0)
		_exit(failed);
	unlink(conf);
	waitpid(pid, &status, 0);
	report(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "the other process has failed", "both",
	       "and so does the other process");
	printf("1..%d\n", tests);
	return failed != 0;
}
