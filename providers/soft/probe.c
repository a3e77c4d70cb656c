/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out whether this process may copy to and from the memory of the process at the other end of a socket. Both have to be in
 * the same PID namespace, and the kernel has to allow it: this reads a word there that the peer has named. The peer can keep that
 * from ending: by a page fault that does not end, or by holding a lock of its address space. So an errand (errand.c) reads it,
 * while the service thread serves others, and the message that brought the introduction waits, with all that follow it on this
 * socket. If there is no answer within the bound, the peer is treated as one of which the kernel refuses copies.
 *
 * Invariant: at most one errand per process, among those that run and those that were left behind; so a process costs at most one
 * thread, however many sockets it makes.
 */
#define _GNU_SOURCE
#include "probe.h"
#include "bound.h"
#include "errand.h"
#include "peer.h"
#include "pending.h"
#include "xfer.h"
#include <datp/timer.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_MOST  32u	 /* so many run at the same time; the others wait for their turn */
#define LEFT_MOST 16u	 /* if so many were left behind, nothing is asked any more */
#define LOOK_US	  100000u /* how often the clock is looked at */

/* The errand's record. */
struct question {
	struct soft_errand errand;
	pid_t pid;
	uint64_t addr, expect;
	bool copies;
};

enum probe_state { PROBE_WAITS, PROBE_RUNS, PROBE_LEFT };

/* What is asked about one process. Service thread. */
struct soft_probe {
	struct soft_ia *ia;
	struct question *question;
	enum probe_state state;
	bool answers;		     /* its sockets are being resumed, so it is not freed */
	struct soft_socket *sockets; /* that wait for the answer, in the order in which they came; soft_socket.next_asking */
	struct datp_timer limit;
	uint64_t until, looked; /* the bound */
	struct soft_probe *next; /* soft_ia.probes, in the order in which they began */
};

/*
 * Returns true if the process is in the PID namespace of this one. A peer could stop a process of its own namespace by a signal,
 * but none of the namespace above; so it must not be able to hold up a thread there by memory in which a page fault does not end.
 * Where /proc does not tell, this returns false.
 */
static bool is_in_our_namespace(pid_t pid)
{
	struct stat ours, theirs;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) && ours.st_ino == theirs.st_ino &&
	       ours.st_dev == theirs.st_dev;
}

static void ask(struct soft_errand *errand)
{
	struct question *q = (struct question *)errand;

	q->copies = is_in_our_namespace(q->pid) && soft_xfer_probe(q->pid, q->addr, q->expect);
}

static void unlink_probe(struct soft_probe *probe)
{
	struct soft_probe **at = &probe->ia->probes;

	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
}

static unsigned int count(const struct soft_ia *ia, enum probe_state state)
{
	unsigned int n = 0;

	for (const struct soft_probe *probe = ia->probes; probe; probe = probe->next)
		n += probe->state == state;
	return n;
}

/* Gives the answer to the sockets that wait for it. One that is resumed may end others. */
static void answer(struct soft_probe *probe, bool copies)
{
	struct soft_socket *sock;

	while ((sock = probe->sockets)) {
		probe->sockets = sock->next_asking;
		sock->probe = NULL;
		sock->copies = copies;
		soft_socket_resume(sock);
	}
}

static void start_next(struct soft_ia *ia);

static void done(struct soft_probe *probe)
{
	struct soft_ia *ia = probe->ia;

	datp_timer_cancel(&ia->base, &probe->limit);
	unlink_probe(probe);
	answer(probe, probe->question->copies);
	soft_errand_end(&probe->question->errand);
	free(probe);
	start_next(ia);
}

static void left(struct soft_probe *probe)
{
	struct soft_ia *ia = probe->ia;

	probe->state = PROBE_LEFT;
	probe->answers = true;
	answer(probe, false);
	probe->answers = false;
	start_next(ia);
}

static void look(void *arg)
{
	struct soft_probe *probe = arg;

	if (soft_errand_is_done(&probe->question->errand)) {
		done(probe);
	} else if (soft_bound_over(&probe->until, &probe->looked) && soft_errand_leave(&probe->question->errand)) {
		left(probe);
	} else {
		datp_timer_set(&probe->ia->base, &probe->limit, datp_clock_us() + LOOK_US, look, probe);
	}
}

/* Returns false if there is no thread. */
static bool start(struct soft_probe *probe)
{
	if (!soft_errand_start(&probe->question->errand))
		return false;
	probe->state = PROBE_RUNS;
	probe->until = soft_bound(probe->ia);
	probe->looked = soft_now_ms();
	datp_timer_set(&probe->ia->base, &probe->limit, datp_clock_us() + LOOK_US, look, probe);
	return true;
}

/* Starts those whose turn it is. Where there is no thread, the answer is no. */
static void start_next(struct soft_ia *ia)
{
	struct soft_probe *probe = ia->probes;

	while (probe && count(ia, PROBE_RUNS) < RUN_MOST) {
		if (probe->state != PROBE_WAITS || start(probe)) {
			probe = probe->next;
			continue;
		}
		unlink_probe(probe);
		answer(probe, false);
		free(probe->question);
		free(probe);
		probe = ia->probes; /* the list may be another one */
	}
}

/* Frees what belongs to a probe that was left behind. */
static void forget_left(struct soft_probe *probe)
{
	unlink_probe(probe);
	soft_errand_end(&probe->question->errand);
	free(probe);
}

/* Returns the probe of a process, or NULL. Forgets those that were left behind and have ended. */
static struct soft_probe *probe_of(struct soft_ia *ia, pid_t pid)
{
	struct soft_probe *probe, *next, *found = NULL;

	for (probe = ia->probes; probe; probe = next) {
		next = probe->next;
		if (probe->state == PROBE_LEFT && !probe->answers && soft_errand_has_ended(&probe->question->errand))
			forget_left(probe);
		else if (probe->question->pid == pid)
			found = probe;
	}
	return found;
}

/* Returns a new probe, or NULL if there is no memory or thread for it. */
static struct soft_probe *probe_new(struct soft_ia *ia, pid_t pid, const struct soft_intro *intro)
{
	struct soft_probe *probe = calloc(1, sizeof *probe), **at = &ia->probes;
	struct question *question = calloc(1, sizeof *question);

	if (!probe || !question) {
		free(probe);
		free(question);
		return NULL;
	}
	*question = (struct question){ .errand = { .run = ask, .done_fd = ia->service_fd }, .pid = pid, .addr = intro->probe,
				       .expect = intro->id[0] };
	*probe = (struct soft_probe){ .ia = ia, .question = question };
	if (count(ia, PROBE_RUNS) < RUN_MOST && !start(probe)) {
		free(probe);
		free(question);
		return NULL;
	}
	while (*at)
		at = &(*at)->next;
	*at = probe;
	return probe;
}

static void append(struct soft_probe *probe, struct soft_socket *sock)
{
	struct soft_socket **at = &probe->sockets;

	while (*at)
		at = &(*at)->next_asking;
	*at = sock;
	sock->next_asking = NULL;
	sock->probe = probe;
	/* it is not the other side that is silent now */
	datp_lock(&sock->ia->lock);
	soft_pending_spoke(sock);
	datp_unlock(&sock->ia->lock);
}

bool soft_probe_join(struct soft_socket *sock)
{
	struct soft_probe *probe = sock->ia->probes ? probe_of(sock->ia, sock->pid) : NULL;

	if (!probe || probe->state == PROBE_LEFT)
		return false;
	append(probe, sock);
	return true;
}

bool soft_probe_begin(struct soft_socket *sock, const struct soft_intro *intro)
{
	struct soft_ia *ia = sock->ia;
	struct soft_probe *probe;

	sock->copies = false;
	if (!ia->want_cma || sock->pid <= 0 || soft_peer_known(ia, intro->id, sock->pid, &sock->copies))
		return false;
	if (sock->pid == getpid()) {
		sock->copies = soft_xfer_allowed();
		return false;
	}
	if (probe_of(ia, sock->pid) || count(ia, PROBE_LEFT) >= LEFT_MOST)
		return false;
	probe = probe_new(ia, sock->pid, intro);
	if (probe)
		append(probe, sock);
	return probe != NULL;
}

void soft_probe_forget(struct soft_socket *sock)
{
	struct soft_socket **at = sock->probe ? &sock->probe->sockets : NULL;

	while (at && *at != sock)
		at = &(*at)->next_asking;
	if (at)
		*at = sock->next_asking;
	sock->probe = NULL;
}

void soft_probes_look(struct soft_ia *ia)
{
	struct soft_probe *probe = ia->probes;

	while (probe) {
		if (probe->state != PROBE_RUNS || !soft_errand_is_done(&probe->question->errand)) {
			probe = probe->next;
			continue;
		}
		done(probe);
		probe = ia->probes; /* the list may be another one */
	}
}

void soft_probes_fini(struct soft_ia *ia)
{
	struct soft_probe *probe;

	while ((probe = ia->probes)) {
		struct soft_errand *errand = &probe->question->errand;

		if (probe->state == PROBE_WAITS) {
			ia->probes = probe->next;
			free(probe->question);
			free(probe);
			continue;
		}
		datp_timer_cancel(&ia->base, &probe->limit);
		if (probe->state == PROBE_RUNS && !soft_errand_leave(errand) && !soft_errand_is_done(errand))
			(void)soft_errand_await(errand, ia);
		forget_left(probe);
	}
}
