/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out whether this process may copy to and from the memory of the process at the other end of a socket. Both have to be in
 * the same PID namespace, and the kernel has to allow it: this reads a word there that the peer has named. The peer can keep that
 * from ending: by a page fault that does not end, or by holding a lock of its address space. So an errand (errand.c) reads it,
 * while the service thread serves others, and the message that brought the introduction waits, with all that follow it on this
 * socket. If there is no answer within the bound, the peer is treated as one of which the kernel refuses copies.
 *
 * A process may have thousands of sockets that wait for its answer, each with a request in another name. Of all sockets whose
 * answer is there, some are resumed at a time, between the other events of the service thread. A process of which more is to be
 * asked waits behind the others for its turn.
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
#define RESUME_US 2000u	  /* for how long sockets are resumed before the service thread handles other events */

/* The errand's record. */
struct question {
	struct soft_errand errand;
	pid_t pid;
	uint64_t addr, expect;
	bool copies;
};

enum probe_state {
	PROBE_WAITS,
	PROBE_RUNS,
	PROBE_ANSWERS, /* there is an answer, and the sockets that waited for it are being resumed */
	PROBE_LEFT,    /* the errand may still run, and no socket waits for it */
};

/* What is asked about one process. Service thread. */
struct soft_probe {
	struct soft_ia *ia;
	pid_t pid;
	struct question *question; /* for the first of the sockets; NULL while they are being resumed */
	enum probe_state state;
	bool copies; /* the answer */
	bool left;   /* the errand was left behind, and the question with it */
	struct soft_socket *sockets;  /* that wait for the answer, in the order in which they came; soft_socket.next_asking */
	struct soft_socket **tail;    /* the link of the last of them */
	struct soft_socket *resuming; /* which may ask anew, because its message is of another adapter of the process */
	struct datp_timer limit;      /* looks at the clock */
	uint64_t until, looked;	      /* the bound */
	struct soft_probe *next;      /* soft_ia.probes, in the order in which they are asked, and then answered */
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

static void put_last(struct soft_probe *probe)
{
	struct soft_probe **at = &probe->ia->probes;

	while (*at)
		at = &(*at)->next;
	*at = probe;
	probe->next = NULL;
}

static void probe_free(struct soft_probe *probe)
{
	datp_timer_cancel(&probe->ia->base, &probe->limit);
	unlink_probe(probe);
	if (probe->state == PROBE_WAITS)
		free(probe->question);
	else if (probe->question)
		soft_errand_end(&probe->question->errand);
	free(probe);
}

static unsigned int count_running(const struct soft_ia *ia)
{
	unsigned int n = 0;

	for (const struct soft_probe *probe = ia->probes; probe; probe = probe->next)
		n += probe->state == PROBE_RUNS;
	return n;
}

static unsigned int count_left(const struct soft_ia *ia)
{
	unsigned int n = 0;

	for (const struct soft_probe *probe = ia->probes; probe; probe = probe->next)
		n += probe->left;
	return n;
}

/* Returns the probe whose sockets have waited longest to be resumed, or NULL. */
static struct soft_probe *first_answered(const struct soft_ia *ia)
{
	struct soft_probe *probe = ia->probes;

	while (probe && probe->state != PROBE_ANSWERS)
		probe = probe->next;
	return probe;
}

/* Takes the socket in this link off the list of those that wait. */
static void take_off(struct soft_probe *probe, struct soft_socket **at)
{
	struct soft_socket *sock = *at;

	*at = sock->next_asking;
	if (!*at)
		probe->tail = at;
	sock->probe = NULL;
}

/*
 * Gives the answer to sockets that wait for it, as many as there is time for, or until one asks anew. One that is resumed may end
 * others.
 */
static void resume_some(struct soft_probe *probe)
{
	uint64_t until = datp_clock_us() + RESUME_US;
	struct soft_socket *sock;

	while ((sock = probe->sockets) && probe->state == PROBE_ANSWERS && datp_clock_us() < until) {
		take_off(probe, &probe->sockets);
		sock->copies = probe->copies;
		probe->resuming = sock;
		soft_socket_resume(sock);
		probe->resuming = NULL;
	}
	if (probe->state != PROBE_ANSWERS || sock)
		return;
	if (probe->left)
		probe->state = PROBE_LEFT;
	else
		probe_free(probe);
}

/* One timer for all probes, because several that are due run without another event between them. */
static void resume(void *arg)
{
	struct soft_ia *ia = arg;
	struct soft_probe *probe = first_answered(ia);

	if (probe) {
		unlink_probe(probe);
		put_last(probe);
		resume_some(probe);
	}
	if (first_answered(ia))
		datp_timer_set(&ia->base, &ia->resume, datp_clock_us(), resume, ia);
}

/* There is an answer. The timer resumes the sockets, so this changes neither the list of probes nor that of sockets. */
static void answer(struct soft_probe *probe, bool copies)
{
	struct soft_ia *ia = probe->ia;

	datp_timer_cancel(&ia->base, &probe->limit);
	probe->state = PROBE_ANSWERS;
	probe->copies = copies;
	datp_timer_set_by(&ia->base, &ia->resume, datp_clock_us(), resume, ia);
}

/* The errand is done. */
static void done(struct soft_probe *probe)
{
	answer(probe, probe->question->copies);
	soft_errand_end(&probe->question->errand);
	probe->question = NULL;
}

static void start_next(struct soft_ia *ia);

static void look(void *arg)
{
	struct soft_probe *probe = arg;

	if (soft_errand_is_done(&probe->question->errand)) {
		done(probe);
	} else if (soft_bound_over(&probe->until, &probe->looked) && soft_errand_leave(&probe->question->errand)) {
		probe->left = true;
		answer(probe, false);
	} else {
		datp_timer_set(&probe->ia->base, &probe->limit, datp_clock_us() + LOOK_US, look, probe);
		return;
	}
	start_next(probe->ia);
}

/* Returns false if there is no thread, or if so many were left behind that nothing is asked any more. */
static bool start(struct soft_probe *probe)
{
	if (count_left(probe->ia) >= LEFT_MOST || !soft_errand_start(&probe->question->errand))
		return false;
	probe->state = PROBE_RUNS;
	probe->until = soft_bound(probe->ia);
	probe->looked = soft_now_ms();
	datp_timer_set(&probe->ia->base, &probe->limit, datp_clock_us() + LOOK_US, look, probe);
	return true;
}

/* Starts those whose turn it is. The answer about one that cannot be started is no. */
static void start_next(struct soft_ia *ia)
{
	unsigned int running = count_running(ia);

	for (struct soft_probe *probe = ia->probes; probe && running < RUN_MOST; probe = probe->next) {
		if (probe->state != PROBE_WAITS)
			continue;
		if (start(probe)) {
			running++;
		} else {
			free(probe->question);
			probe->question = NULL;
			answer(probe, false);
		}
	}
}

/* Returns the probe of a process, or NULL. Forgets those that were left behind and have ended. */
static struct soft_probe *probe_of(struct soft_ia *ia, pid_t pid)
{
	struct soft_probe *probe, *next, *found = NULL;

	for (probe = ia->probes; probe; probe = next) {
		next = probe->next;
		if (probe->state == PROBE_LEFT && soft_errand_has_ended(&probe->question->errand))
			probe_free(probe);
		else if (probe->pid == pid)
			found = probe;
	}
	return found;
}

/* Has a socket wait, at this place of the list. */
static void join(struct soft_probe *probe, struct soft_socket **at, struct soft_socket *sock)
{
	sock->next_asking = *at;
	*at = sock;
	if (!sock->next_asking)
		probe->tail = &sock->next_asking;
	sock->probe = probe;
	/* it is not the other side that is silent now; soft_socket_resume() counts the socket again */
	datp_lock(&sock->ia->lock);
	soft_pending_spoke(sock);
	datp_unlock(&sock->ia->lock);
}

/* Asks for a socket, which waits before all others of its process. Returns false if there is no memory or thread for it. */
static bool begin(struct soft_probe *probe, struct soft_socket *sock, const struct soft_intro *intro)
{
	struct question *question = calloc(1, sizeof *question);

	if (!question)
		return false;
	*question = (struct question){ .errand = { .run = ask, .done_fd = probe->ia->service_fd }, .pid = probe->pid,
				       .addr = intro->probe, .expect = intro->id[0] };
	probe->question = question;
	if (count_running(probe->ia) >= RUN_MOST) {
		probe->state = PROBE_WAITS;
	} else if (!start(probe)) {
		free(question);
		probe->question = NULL;
		return false;
	}
	join(probe, &probe->sockets, sock);
	return true;
}

/* Makes a probe that asks for this socket. Returns false if there is no memory or thread for it. */
static bool probe_new(struct soft_socket *sock, const struct soft_intro *intro)
{
	struct soft_probe *probe = calloc(1, sizeof *probe);

	if (!probe)
		return false;
	*probe = (struct soft_probe){ .ia = sock->ia, .pid = sock->pid, .tail = &probe->sockets };
	if (!begin(probe, sock, intro)) {
		free(probe);
		return false;
	}
	put_last(probe);
	return true;
}

bool soft_probe_join(struct soft_socket *sock)
{
	struct soft_probe *probe = sock->ia->probes ? probe_of(sock->ia, sock->pid) : NULL;

	if (!probe || probe->state == PROBE_LEFT || probe->resuming == sock)
		return false;
	join(probe, probe->tail, sock);
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
	probe = probe_of(ia, sock->pid);
	if (probe)
		return probe->resuming == sock && !probe->left && begin(probe, sock, intro);
	return probe_new(sock, intro);
}

void soft_probe_forget(struct soft_socket *sock)
{
	struct soft_probe *probe = sock->probe;
	struct soft_socket **at;

	if (!probe)
		return;
	at = &probe->sockets;
	while (*at != sock)
		at = &(*at)->next_asking;
	take_off(probe, at);
}

void soft_probes_look(struct soft_ia *ia)
{
	bool any = false;

	for (struct soft_probe *probe = ia->probes; probe; probe = probe->next)
		if (probe->state == PROBE_RUNS && soft_errand_is_done(&probe->question->errand)) {
			done(probe);
			any = true;
		}
	if (any)
		start_next(ia);
}

void soft_probes_fini(struct soft_ia *ia)
{
	struct soft_probe *probe;

	datp_timer_cancel(&ia->base, &ia->resume);
	while ((probe = ia->probes)) {
		datp_timer_cancel(&ia->base, &probe->limit);
		if (probe->state == PROBE_RUNS)
			(void)soft_errand_leave(&probe->question->errand);
		probe_free(probe);
	}
}
