/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's processes: the server, the client, and the client that forks its own server.
 *
 * The forked server reports over a socket pair where it listens, and keeps its socket open until it
 * ends: the parent sees the socket close when the process has ended.
 *
 * Invariant: no process outlives the other. The child dies with its parent, and the parent leaves
 * only after it has collected the child.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "datperf.h"

#define CHILD_END_MS 5000
#define CHILD_LAST_WORDS_MS 500

/* What the forked server sends to its parent. */
struct listening {
	struct sockaddr_storage address;
	DAT_CONN_QUAL conn_qual;
};

struct peer {
	pid_t pid;
	int fd;
	bool met;	/* it has had a client, so it will end by itself */
	bool killed;	/* by this process */
};

/* CPUs */

/*
 * Chooses CPUs. Without --cpus, a forked pair gets two CPUs of its own, if there are two; the
 * scheduler chooses those of threads.
 */
int proc_pick_cpus(struct perf_options *opt)
{
	cpu_set_t cpus;
	int found = 0;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return 0;
	opt->cpus = CPU_COUNT(&cpus);
	opt->one_cpu = opt->cpus < 2 || (opt->cpu[0] >= 0 && opt->cpu[0] == opt->cpu[1]);
	for (int i = 0; i < 2; i++)
		if (opt->cpu[i] >= 0 && (opt->cpu[i] >= CPU_SETSIZE ||
					 !CPU_ISSET(opt->cpu[i], &cpus)))
			return cli_usage("--cpus: this process may not use CPU %d ('taskset -cp "
					 "$$' prints them)", opt->cpu[i]);
	if (opt->cpu[0] >= 0 || opt->server || opt->connect != NULL || opt->one_cpu ||
	    opt->spec.threads > 1)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			opt->cpu[found++] = cpu;
	return 0;
}

int proc_pin(int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0)
		return 0;
	cli_error("cannot run on CPU %d: %s; give others with --cpus", cpu, strerror(errno));
	return -1;
}

/* The server */

static socklen_t address_size(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						sizeof(struct sockaddr_in);
}

static int tell_parent(int fd, const struct perf_ia *ia)
{
	struct listening ready;

	memset(&ready, 0, sizeof(ready));
	if (ia->attr.ia_address_ptr == NULL) {
		cli_error("%s: the adapter reports no address (ia_address_ptr)", ia->name);
		return -1;
	}
	memcpy(&ready.address, ia->attr.ia_address_ptr,
	       address_size((const struct sockaddr *)ia->attr.ia_address_ptr));
	ready.conn_qual = ia->conn_qual;
	if (send(fd, &ready, sizeof(ready), MSG_NOSIGNAL) == (ssize_t)sizeof(ready))
		return 0;
	cli_error("the client process has ended");
	return -1;
}

static void tell_user(const struct perf_ia *ia)
{
	const struct sockaddr *address = (const struct sockaddr *)ia->attr.ia_address_ptr;
	char host[NI_MAXHOST] = "unknown";

	if (address != NULL)
		getnameinfo(address, address_size(address), host, sizeof(host), NULL, 0,
			    NI_NUMERICHOST);
	cli_error("%s listens: datperf --ia %s --connect %s --qual %" PRIu64, ia->name, ia->name,
		  host, (uint64_t)ia->conn_qual);
}

/*
 * Ends this process if the session was stuck: an adapter does not free memory that a peer may be
 * accessing, so it would wait for a peer that was stopped during an access. To end the process does
 * not wait.
 */
static void leave_if_stuck(const struct perf_ia *ia)
{
	if (atomic_load_explicit(&ia->stuck, memory_order_relaxed))	/* all threads are joined */
		_exit(cli_finish(CLI_FAILED));
}

/* Runs the server. `parent_fd` is -1 for a server that a user started. */
static int serve(const struct perf_options *opt, int parent_fd)
{
	struct perf_session s;
	int status;

	memset(&s, 0, sizeof(s));
	s.stay = parent_fd < 0;
	s.deadline_s = opt->deadline_s;
	s.ia.limit = opt->limit;
	status = perf_ia_open(&s.ia, opt);
	if (status == 0)
		status = perf_ia_listen(&s.ia, parent_fd < 0 ? opt->conn_qual : 0);
	if (status == 0 && parent_fd >= 0)
		status = tell_parent(parent_fd, &s.ia);
	if (status == 0 && parent_fd < 0)
		tell_user(&s.ia);
	if (status == 0)
		status = session_serve(&s);
	leave_if_stuck(&s.ia);
	session_free(&s);
	if (perf_ia_close(&s.ia) != 0)
		status = -1;
	return status == 0 ? CLI_OK : CLI_FAILED;
}

int proc_server(const struct perf_options *opt)
{
	if (proc_pin(opt->cpu[0]) != 0)
		return CLI_FAILED;
	return serve(opt, -1);
}

/* The client's side of the forked server */

static int peer_start(const struct perf_options *opt, struct peer *peer)
{
	pid_t parent = getpid();
	int fds[2];

	*peer = (struct peer){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
		cli_error("socketpair: %s", strerror(errno));
		return -1;
	}
	fflush(NULL);
	peer->pid = fork();
	if (peer->pid < 0) {
		cli_error("fork: %s", strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	if (peer->pid == 0) {
		close(fds[0]);
		cli_rename("datperf (server)");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)	/* the parent died before the line above */
			exit(CLI_FAILED);
		exit(proc_pin(opt->cpu[1]) == 0 ? serve(opt, fds[1]) : CLI_FAILED);
	}
	close(fds[1]);
	peer->fd = fds[0];
	return 0;
}

static int peer_await(const struct perf_options *opt, const struct peer *peer,
		      struct listening *ready)
{
	struct pollfd pfd = { .fd = peer->fd, .events = POLLIN };
	ssize_t got;
	int n;

	do {
		n = poll(&pfd, 1, (int)(opt->timeout_s * 1000));
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		cli_error("the forked server does not start within %u s", opt->timeout_s);
		return -1;
	}
	got = recv(peer->fd, ready, sizeof(*ready), MSG_WAITALL);
	if (got == (ssize_t)sizeof(*ready))
		return 0;
	cli_error("the forked server ended before it listened; its own message says why");
	return -1;
}

static void peer_kill(struct peer *peer)
{
	kill(peer->pid, SIGKILL);
	peer->killed = true;
}

/*
 * Collects the child, and kills it if it does not end by itself. A server that never had a client
 * listens for ever: it gets only the time to print its error. Returns 0 if it ended successfully.
 */
static int peer_finish(struct peer *peer)
{
	struct pollfd pfd = { .fd = peer->fd, .events = 0 };
	int n, status;

	do {
		n = poll(&pfd, 1, peer->met ? CHILD_END_MS : CHILD_LAST_WORDS_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		if (peer->met)
			cli_error("the forked server does not end; killing it");
		peer_kill(peer);
	}
	while (waitpid(peer->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	close(peer->fd);
	if (WIFSIGNALED(status) && !peer->killed)
		cli_error("the forked server was killed by signal %d (%s)", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* The client */

static int resolve(const char *host, struct sockaddr_storage *address)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	int error = getaddrinfo(host, NULL, &hints, &list);

	if (error != 0) {
		cli_error("--connect %s: %s; give the address that the server printed", host,
			  gai_strerror(error));
		return -1;
	}
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

/*
 * Runs the client. Returns 0, a positive status of `check` or `measure`, or -1. `peer` is the
 * forked server, or NULL.
 */
static int client(const struct perf_options *opt, const struct listening *server, struct peer *peer,
		  int (*check)(const struct perf_ia *ia, const struct perf_options *opt),
		  int (*measure)(struct perf_session *s, const struct perf_options *opt))
{
	struct perf_session s;
	int status;

	memset(&s, 0, sizeof(s));
	s.address = server->address;
	s.ia.conn_qual = server->conn_qual;
	status = proc_pin(opt->cpu[0]);
	if (status == 0)
		status = perf_ia_open(&s.ia, opt);
	if (status == 0)
		status = check(&s.ia, opt);
	if (status == 0)
		status = session_connect(&s);
	if (status == 0) {
		if (peer != NULL)
			peer->met = true;
		status = measure(&s, opt);
		if (status >= 0 && session_end(&s) != 0)	/* also after wrong data */
			status = -1;
	}
	if (peer == NULL)
		leave_if_stuck(&s.ia);
	else if (atomic_load_explicit(&s.ia.stuck, memory_order_relaxed)) /* threads are joined */
		peer_kill(peer);
	session_free(&s);
	if (perf_ia_close(&s.ia) != 0)
		status = -1;
	return status;
}

static int exit_status(int status)
{
	if (status == 0 || status == CLI_USAGE)
		return status;
	return CLI_FAILED;
}

int proc_client(const struct perf_options *opt,
		int (*check)(const struct perf_ia *ia, const struct perf_options *opt),
		int (*measure)(struct perf_session *s, const struct perf_options *opt))
{
	struct listening server;
	struct peer peer;
	int status;

	memset(&server, 0, sizeof(server));
	if (opt->connect != NULL) {
		server.conn_qual = opt->conn_qual;
		status = resolve(opt->connect, &server.address);
		if (status == 0)
			status = client(opt, &server, NULL, check, measure);
		return exit_status(status);
	}
	if (peer_start(opt, &peer) != 0)
		return CLI_FAILED;
	status = peer_await(opt, &peer, &server);
	if (status == 0)
		status = client(opt, &server, &peer, check, measure);
	if (peer_finish(&peer) != 0 && status == 0)
		status = -1;
	return exit_status(status);
}
