/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datconform --server: a process for each test that connects, so that one that crashes, hangs or
 * sends invalid messages does not affect the others. An address gets only some of the places, and a
 * connection that says nothing makes room for a new one, so that nobody can keep others out.
 * Invariant: this process itself calls no provider.
 */
#define REMOTE_PLAIN
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"
#include "remote.h"

#define MOST 320	/* tests at a time */
/* places for clients of one address: as many as --jobs allows, and some for clients that are just ending */
#define MOST_OF_ONE 80
#define QUIET_MS 10000	/* between two messages that a client can provoke */
#define REST_MS 100	/* after a connection that could not be accepted */

struct place {
	pid_t pid;		/* 0: a free place */
	uint64_t number;	/* of the connection; an older one has a smaller number */
	unsigned char host[16];	/* of the client */
};

static struct {
	struct place places[MOST];
	_Atomic bool *greeted;	/* for each place, in memory shared with the tests' processes: the client has said HELLO */
	uint64_t connections;	/* accepted so far */
	uint64_t said_ms;	/* the time of the latest message about a refused connection; 0: none so far */
	uint64_t greed_said_ms;	/* ... about a test that asked for too much */
	sigset_t before;	/* the mask that children start with */
} host;

/* Finds the adapter's address in a process of its own, because that may crash or hang. */
static bool adapter_address(const char *ia_name, struct sockaddr_storage *address)
{
	int fds[2], status = 0;
	ssize_t got;
	pid_t pid;

	if (pipe(fds))
		return false;
	pid = fork();
	if (pid == 0) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_IA_ATTR attr;
		DAT_RETURN ret;

		alarm(60);
		ret = dat_ia_open((char *)ia_name, 8, &async, &ia);
		if (ret != DAT_SUCCESS) {
			fprintf(stderr, "datconform: dat_ia_open(\"%s\"): %s (0x%08x); 'datctl check --ia %s' prints the "
				"reason, and what to do\n", ia_name, judge_ret_name(ret), ret, ia_name);
			_exit(1);
		}
		ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
		if (ret == DAT_SUCCESS && remote_address_size(attr.ia_address_ptr))
			got = write(fds[1], attr.ia_address_ptr,
				    remote_address_size(attr.ia_address_ptr));
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		_exit(0);
	}
	close(fds[1]);
	memset(address, 0, sizeof(*address));
	got = pid < 0 ? -1 : read(fds[0], address, sizeof(*address));
	close(fds[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (got <= 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		fprintf(stderr, "datconform: %s reports no address (ia_address_ptr)\n", ia_name);
	if (WIFSIGNALED(status))
		fprintf(stderr, "datconform: opening \"%s\" ended with signal %d\n", ia_name,
			WTERMSIG(status));
	return got > 0;
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

/* Sets the port of the address, which the kernel may have chosen. */
static void find_port(int fd, struct sockaddr_storage *address)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		set_port(address, ntohs(((struct sockaddr_in *)&bound)->sin_port));
}

/*
 * Listens at the adapter's own address if the host has it, so that a test reaches this server and the
 * adapter at one address. Afterwards *address has the port.
 */
static int listen_at(struct sockaddr_storage *address)
{
	static const int on = 1;
	socklen_t size = (socklen_t)remote_address_size(address);
	int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)address, size)) {
		struct sockaddr_storage any = { .ss_family = address->ss_family };

		set_port(&any, ntohs(((struct sockaddr_in *)address)->sin_port));
		if (errno != EADDRNOTAVAIL || bind(fd, (struct sockaddr *)&any, size))
			goto close_it;
	}
	if (listen(fd, 16) == 0) {
		find_port(fd, address);
		return fd;
	}
close_it:
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/*
 * Writes the part of an address by which the places of a client are counted: all of an IPv4 address,
 * but only the network of an IPv6 address, because one host can use every address of its network.
 * For the same reason all loopback addresses are one.
 */
static void host_of(const struct sockaddr_storage *address, unsigned char name[16])
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;

	memset(name, 0, 16);
	if (address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(six)) {
		name[0] = IN_LOOPBACKNET;
		return;
	}
	if (address->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(six)) {
		memcpy(name, six, 8);
		return;
	}
	if (address->ss_family == AF_INET6)
		memcpy(name, &six->s6_addr[12], 4);
	else if (address->ss_family == AF_INET)
		memcpy(name, &((const struct sockaddr_in *)address)->sin_addr, 4);
	if (name[0] == IN_LOOPBACKNET)
		memset(&name[1], 0, 3);
}

/*
 * Returns a place for a client of this host. If the host has MOST_OF_ONE places, it is that of the host's oldest connection
 * that has not said HELLO; else it is a free place, or, if no place is free, that of the oldest such connection of any host.
 * Returns NULL if every connection that could make room has said HELLO.
 */
static struct place *find_place(const unsigned char name[16])
{
	struct place *free_place = NULL, *oldest = NULL, *oldest_here = NULL;
	int taken = 0;

	for (int i = 0; i < MOST; i++) {
		struct place *place = &host.places[i];
		bool here = place->pid && !memcmp(place->host, name, 16);

		taken += here;
		if (!place->pid)
			free_place = place;
		/* relaxed: nothing else is read that the process has written */
		else if (atomic_load_explicit(&host.greeted[i], memory_order_relaxed))
			continue;
		else if (!oldest || place->number < oldest->number)
			oldest = place;
		if (here && (!oldest_here || place->number < oldest_here->number))
			oldest_here = place;
	}
	if (taken >= MOST_OF_ONE)
		return oldest_here;
	return free_place ? free_place : oldest;
}

/* Returns whether a message may be written again, of which the latest was written at *said_ms. */
static bool may_say(uint64_t *said_ms)
{
	uint64_t now = judge_now_ms();

	if (*said_ms && now - *said_ms < QUIET_MS)
		return false;
	*said_ms = now;
	return true;
}

/* Says what has become of a connection because there are so many. */
static void say_full(const char *before, const struct sockaddr_storage *address, const char *after)
{
	char name[NI_MAXHOST] = "a client";

	if (!may_say(&host.said_ms))
		return;
	getnameinfo((const struct sockaddr *)address, (socklen_t)remote_address_size(address), name,
		    sizeof(name), NULL, 0, NI_NUMERICHOST);
	fprintf(stderr, "datconform: a connection %s %s%s: an address gets %d of %d "
		"places; give a smaller --jobs there\n", before, name, after, MOST_OF_ONE, MOST);
}

/* Ends the connection that has this place; its client has not said HELLO, so its process has no adapter to close. */
static void make_room(struct place *place, const struct sockaddr_storage *comer)
{
	say_full("that has said nothing makes room for one from", comer, "");
	kill(place->pid, SIGKILL);
	while (waitpid(place->pid, NULL, 0) < 0 && errno == EINTR)
		;
	place->pid = 0;
}

static void serve_one(int listener, int signals, const char *ia_name, unsigned int hello_s)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	socklen_t size = sizeof(address);
	int fd = accept(listener, (struct sockaddr *)&address, &size);
	unsigned char name[16];
	struct place *place;

	if (fd < 0) {
		/* if there is no descriptor for it, the connection stays where it is, and the next poll() finds it at once */
		poll(NULL, 0, REST_MS);
		return;
	}
	host_of(&address, name);
	place = find_place(name);
	if (!place) {
		say_full("from", &address, " is refused");
		close(fd);
		return;
	}
	if (place->pid)
		make_room(place, &address);
	place->number = ++host.connections;
	atomic_store(&host.greeted[place - host.places], false);
	memcpy(place->host, name, sizeof(place->host));
	place->pid = fork();
	if (place->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &host.before, NULL);
		close(listener);
		close(signals);
		remote_tune(fd);
		remote_serve(fd, ia_name, hello_s, &host.greeted[place - host.places]);
	}
	if (place->pid < 0)
		place->pid = 0;
	close(fd);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			fprintf(stderr, "datconform: a test's process ended with signal %d (%s)\n",
				WTERMSIG(status), strsignal(WTERMSIG(status)));
		if (WIFEXITED(status) && WEXITSTATUS(status) == REMOTE_GREEDY && may_say(&host.greed_said_ms))
			fprintf(stderr, "datconform: a test is ended, because it asked for more than a test gets: %u MiB "
				"of memory, EVDs for %u events, endpoints for %u segments\n", REMOTE_MEMORY >> 20,
				REMOTE_EVENTS, REMOTE_SEGMENTS);
		for (int i = 0; i < MOST; i++)
			if (host.places[i].pid == pid)
				host.places[i].pid = 0;
	}
}

/* Serves until a signal asks for the end. */
static void serve_all(int listener, int signals, const char *ia_name, unsigned int hello_s)
{
	struct pollfd polls[] = { { .fd = listener, .events = POLLIN },
				  { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(polls, 2, -1) < 0)
			continue;
		if (polls[1].revents & POLLIN && read(signals, &info, sizeof(info)) > 0) {
			if (info.ssi_signo != SIGCHLD)
				return;
			reap();
		}
		if (polls[0].revents & POLLIN)
			serve_one(listener, signals, ia_name, hello_s);
	}
}

int remote_host(const char *ia_name, unsigned int port, unsigned int hello_s)
{
	struct sockaddr_storage address;
	char name[NI_MAXHOST] = "unknown", number[NI_MAXSERV] = "";
	sigset_t set;
	int listener, signals;

	host.greeted = mmap(NULL, MOST * sizeof(*host.greeted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (host.greeted == MAP_FAILED) {
		fprintf(stderr, "datconform: no memory: %s\n", strerror(errno));
		return 3;
	}
	if (!adapter_address(ia_name, &address))
		return 3;
	set_port(&address, (uint16_t)port);
	listener = listen_at(&address);
	if (listener < 0) {
		fprintf(stderr, "datconform: port %u: %s; name another port with --port\n", port,
			strerror(errno));
		return 3;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &host.before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	getnameinfo((struct sockaddr *)&address, (socklen_t)remote_address_size(&address), name,
		    sizeof(name), number, sizeof(number), NI_NUMERICHOST | NI_NUMERICSERV);
	fprintf(stderr, "datconform: %s serves: datconform%s --ia %s --connect %s%s%s:%s\n", ia_name,
		API_MAJOR == 1 ? "" : " --api " API_NAME, ia_name, address.ss_family == AF_INET6 ? "[" : "", name,
		address.ss_family == AF_INET6 ? "]" : "", number);
	if (signals >= 0)
		serve_all(listener, signals, ia_name, hello_s);
	for (int i = 0; i < MOST; i++)
		if (host.places[i].pid)
			kill(host.places[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(listener);
	return 0;
}
