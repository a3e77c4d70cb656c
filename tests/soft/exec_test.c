/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The execution lock of a port whose memory served another connection before. A peer of that one may
 * not have heard of its end: it neither gets the execution lock nor keeps it, and no request of the
 * owner is left unexecuted because of it. Other tests show what ends the wait for an executor, whatever
 * a peer has written into the shared words.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/bound.h"
#include "providers/soft/copying.h"
#include "providers/soft/exec.h"
#include "providers/soft/port.h"
#include "providers/soft/send.h"
#include "providers/soft/sock.h"
#include "providers/soft/xfer.h"

#define REQUESTS 200000u

static struct {
	struct soft_ia *ia;
	struct soft_peer peer;
	struct soft_ep owner;	/* of the port */
	struct soft_ep remote;	/* the endpoint that `owner` is connected to now */
	struct soft_ep old;	/* its peer before */
	struct soft_ring *ring; /* for the events of the peer, which nobody reads */
	_Atomic bool stop;
} t;

static void make(struct soft_ep *ep)
{
	ep->base.obj.ia = &t.ia->base;
	ep->base.attr.max_recv_dtos = ep->base.attr.max_request_dtos = 16;
	ep->base.attr.max_recv_iov = ep->base.attr.max_request_iov = 1;
	REQUIRE(soft_ep_create(&ep->base) == DATP_OK);
	REQUIRE(soft_posted_alloc(&ep->requests) == DATP_OK);
	soft_port_begin(ep);
}

/* Connects the endpoint to the other one: sets the fields that soft_ep_open() sets. */
static void join(struct soft_ep *ep, struct soft_ep *to)
{
	ep->peer = &t.peer;
	ep->rport = to->port;
	ep->rring = ep->rrequest = t.ring;
	ep->rlayout = to->layout;
	ep->rgen = to->gen;
	atomic_store(&ep->port->open, ep->gen);
}

static void exec_open(void)
{
	memset(&t, 0, sizeof(t));
	t.ia = calloc(1, sizeof(*t.ia));
	REQUIRE(t.ia != NULL);
	t.ring = aligned_alloc(SOFT_LINE, sizeof(*t.ring));
	REQUIRE(t.ring != NULL);
	memset(t.ring, 0, sizeof(*t.ring));
	REQUIRE(soft_ports_init(t.ia) == DATP_OK);
	REQUIRE(soft_arena_new(&t.ia->arena) == DATP_OK);
	t.peer.ia = t.ia;
	t.peer.self = true;
	make(&t.owner);
	make(&t.remote);
	make(&t.old);
	join(&t.old, &t.owner);
	soft_port_begin(&t.owner); /* the next connection */
	join(&t.owner, &t.remote);
	join(&t.remote, &t.owner);
}

static void exec_close(void)
{
	if (!t.ia)
		return;
	for (struct soft_ep *const *ep = (struct soft_ep *const[]){ &t.owner, &t.remote, &t.old, NULL }; *ep; ep++) {
		soft_posted_fini(&(*ep)->receives);
		soft_posted_fini(&(*ep)->requests);
	}
	soft_arena_put(t.ia->arena);
	soft_ports_fini(t.ia);
	free(t.ring);
	free(t.ia);
	t.ring = NULL;
	t.ia = NULL;
}

/* Posts an RDMA Write of length 0, which is executed at once and accesses no memory. */
static void post(struct soft_ep *ep)
{
	uint32_t posted = atomic_load(&ep->port->sq_posted);
	struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, posted);

	memset(e, 0, sizeof(*e));
	e->op = DATP_RDMA_WRITE;
	soft_request_keep(ep, posted, DATP_RDMA_WRITE, 0, NULL, 0);
	atomic_store_explicit(&ep->port->sq_posted, posted + 1, memory_order_release);
}

static void peer_of_now_gets_the_exec_lock(void)
{
	post(&t.owner);
	CHECK(soft_exec_run(&t.remote, false));
	CHECK_EQ_INT(t.owner.port->sq_done, 1);
	post(&t.owner);
	CHECK(soft_exec_run(&t.owner, true));
	CHECK_EQ_INT(t.owner.port->sq_done, 2);
}

static void peer_of_an_earlier_connection_does_not_get_the_exec_lock(void)
{
	uint64_t word = t.owner.port->exec_lock;

	post(&t.owner);
	CHECK(!soft_exec_run(&t.old, false));
	CHECK(t.owner.port->exec_lock == word);
	/* the former peer does not ask a holder to look at the requests again, either */
	word |= SOFT_EXEC_HELD;
	atomic_store(&t.owner.port->exec_lock, word);
	CHECK(!soft_exec_run(&t.old, false));
	CHECK(t.owner.port->exec_lock == word);
}

static void exec_lock_that_an_earlier_peer_holds_is_taken_from_it(void)
{
	uint64_t before = t.owner.port->exec_lock | SOFT_EXEC_HELD | SOFT_EXEC_TARGET;

	atomic_store(&t.owner.port->exec_lock, before);
	soft_port_begin(&t.owner);
	CHECK(!(t.owner.port->exec_lock & SOFT_EXEC_HELD));
	CHECK_EQ_INT(SOFT_EXEC_GEN(t.owner.port->exec_lock), t.owner.gen);
	CHECK((uint32_t)t.owner.port->exec_lock != (uint32_t)before);
}

static void count_of_holdings_does_not_run_into_the_generation(void)
{
	t.owner.port->exec_lock |= UINT32_MAX & ~(SOFT_EXEC_STEP - 1);
	post(&t.owner);
	CHECK(soft_exec_run(&t.owner, true));
	CHECK_EQ_INT(SOFT_EXEC_GEN(t.owner.port->exec_lock), t.owner.gen);
	CHECK_EQ_INT((uint32_t)t.owner.port->exec_lock, 0);
}

/* The service thread was to end the connection, and its calls were cancelled before it did. */
static void reset_ends_what_is_still_open(void)
{
	t.peer.users = 2;
	t.owner.open = true;
	CHECK_EQ_INT(soft_ep_reset(&t.owner.base), DATP_OK);
	CHECK(!t.owner.open && !t.owner.peer && !t.owner.rport);
	CHECK_EQ_INT(t.owner.port->open, 0);
	CHECK_EQ_INT(t.peer.users, 1);
}

/* The peer has died, and left any values in the shared words. The hang-up of its socket shows the death. */
static void death_is_found_whatever_the_word_says(void)
{
	static const uint64_t words[] = { SOFT_EXEC_HELD, SOFT_EXEC_HELD | SOFT_EXEC_TARGET,
					  SOFT_EXEC_HELD | SOFT_EXEC_HELPED,
					  SOFT_EXEC_HELD | SOFT_EXEC_TARGET | SOFT_EXEC_HELPED };

	for (unsigned int i = 0; i < 4; i++) {
		atomic_store(&t.peer.dead, 0);
		atomic_store(&t.owner.port->exec_lock, words[i]);
		CHECK(soft_exec_wait(&t.owner, t.owner.port, &t.peer, NULL, UINT64_MAX));
		atomic_store(&t.peer.dead, 0);
		atomic_store(&t.owner.rport->exec_lock, words[i]);
		CHECK(soft_exec_wait(&t.owner, t.owner.rport, &t.peer, NULL, UINT64_MAX));
		CHECK_EQ_INT(atomic_load(&t.peer.dead), 1);
	}
}

/* The peer lives and holds the execution lock. Only a completed request ends the wait before the bound. */
static void peer_that_lives_is_waited_for_until_the_bound(void)
{
	uint32_t past = atomic_load(&t.owner.port->sq_done);
	struct soft_socket link = { .peer = &t.peer };
	int fds[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	link.fd = fds[0];
	t.ia->sockets = &link;
	t.ia->patience_ms = 30;
	atomic_store(&t.owner.port->exec_lock, SOFT_EXEC_HELD | SOFT_EXEC_TARGET);
	CHECK(!soft_exec_wait(&t.owner, t.owner.port, &t.peer, NULL, soft_bound(t.ia)));
	CHECK(soft_exec_wait(&t.owner, t.owner.port, &t.peer, &past, UINT64_MAX));
	past++;
	CHECK(!soft_exec_wait(&t.owner, t.owner.port, &t.peer, &past, soft_bound(t.ia)));
	t.ia->sockets = NULL;
	close(fds[0]);
	close(fds[1]);
}

static void *work(void *arg)
{
	_Atomic bool *worked = arg;

	check_nap();
	check_nap();
	atomic_store(worked, true);
	__atomic_store_n(&t.owner.at_work, t.owner.at_work + 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The peer has written that nobody holds the execution lock, but a thread of this process does. */
static void own_thread_is_waited_for_whatever_the_word_says(void)
{
	_Atomic bool worked = false;
	pthread_t thread;

	t.owner.at_work = 1;
	atomic_store(&t.owner.port->exec_lock, 0);
	atomic_store(&t.peer.dead, 1);
	REQUIRE(pthread_create(&thread, NULL, work, &worked) == 0);
	CHECK(soft_exec_wait(&t.owner, t.owner.port, &t.peer, NULL, 1));
	CHECK(atomic_load(&worked));
	pthread_join(thread, NULL);
}

static void *press(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&t.stop, memory_order_relaxed))
		soft_exec_run(&t.old, false);
	return NULL;
}

static void request_is_not_left_lying_by_an_earlier_peer(void)
{
	uint32_t left = 0;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, press, NULL) == 0);
	for (uint32_t i = 0; i < REQUESTS && !left; i++) {
		post(&t.owner);
		soft_exec_run(&t.owner, true);
		left = atomic_load(&t.owner.port->sq_posted) - atomic_load(&t.owner.port->sq_done);
	}
	atomic_store(&t.stop, true);
	pthread_join(thread, NULL);
	CHECK_EQ_INT(left, 0);
}

/* Two segments, and a window into which the copy goes. */
static void a_record_says_what_a_copy_accesses(void)
{
	const struct datp_sge sge[] = { { .lmr_context = 1u << SOFT_MR_GEN_BITS, .addr = 1000, .len = 100 },
					{ .lmr_context = 2u << SOFT_MR_GEN_BITS, .addr = 2000, .len = 100 } };
	const struct soft_right right = { .window = 3u << SOFT_MR_GEN_BITS | 7, .initiator = true };
	const struct soft_freed before = { .addr = 900, .len = 100 }, first = { .addr = 1099, .len = 1 },
				between = { .addr = 1100, .len = 900 }, second = { .addr = 1500, .len = 501 },
				window = { .context = 3u << SOFT_MR_GEN_BITS }, named = { .context = 2u << SOFT_MR_GEN_BITS },
				other = { .context = 4u << SOFT_MR_GEN_BITS };
	struct soft_copying *copying = &t.owner.copying;
	struct soft_list local;
	bool initiator = false;

	soft_list_sge(&local, sge, 2);
	CHECK(!soft_copying_spares(copying, &before, &initiator));
	soft_copying_begin(copying, &local, &right);
	CHECK(soft_copying_spares(copying, &before, &initiator) && initiator);
	CHECK(!soft_copying_spares(copying, &first, &initiator));
	CHECK(soft_copying_spares(copying, &between, &initiator));
	CHECK(!soft_copying_spares(copying, &second, &initiator));
	CHECK(!soft_copying_spares(copying, &window, &initiator));
	CHECK(!soft_copying_spares(copying, &named, &initiator));
	CHECK(soft_copying_spares(copying, &other, &initiator));
	soft_copying_end(copying);
	CHECK(!soft_copying_spares(copying, &before, &initiator));
}

/* Nor does it matter that it holds the execution lock. */
static void own_thread_that_copies_something_else_is_not_waited_for(void)
{
	const struct datp_sge sge = { .lmr_context = 1u << SOFT_MR_GEN_BITS, .addr = 1000, .len = 100 };
	const struct soft_right right = { .initiator = true };
	const struct soft_freed freed = { .addr = 2000, .len = 100 };
	const struct soft_exec_for mine = { .freed = &freed, .initiator = true }, theirs = { .freed = &freed };
	struct soft_list local;

	soft_list_sge(&local, &sge, 1);
	soft_work_begin(&t.owner);
	atomic_fetch_or(&t.owner.port->exec_lock, SOFT_EXEC_HELD);
	soft_copying_begin(&t.owner.copying, &local, &right);
	CHECK(soft_exec_wait_for(&t.owner, t.owner.port, &t.peer, &mine, UINT64_MAX));
	CHECK(soft_exec_wait_for(&t.owner, t.owner.rport, &t.peer, &theirs, UINT64_MAX));
	soft_copying_end(&t.owner.copying);
	soft_work_end(&t.owner);
}

static const struct check_test tests[] = {
	CHECK_TEST(peer_of_now_gets_the_exec_lock),
	CHECK_TEST(peer_of_an_earlier_connection_does_not_get_the_exec_lock),
	CHECK_TEST(exec_lock_that_an_earlier_peer_holds_is_taken_from_it),
	CHECK_TEST(count_of_holdings_does_not_run_into_the_generation),
	CHECK_TEST(reset_ends_what_is_still_open),
	CHECK_TEST(death_is_found_whatever_the_word_says),
	CHECK_TEST(peer_that_lives_is_waited_for_until_the_bound),
	CHECK_TEST(own_thread_is_waited_for_whatever_the_word_says),
	CHECK_TEST(a_record_says_what_a_copy_accesses),
	CHECK_TEST(own_thread_that_copies_something_else_is_not_waited_for),
	CHECK_TEST(request_is_not_left_lying_by_an_earlier_peer),
	CHECK_END
};

static const struct check_suite exec = {
	.name = "soft executor", .setup = exec_open, .teardown = exec_close, .tests = tests
};

CHECK_SUITES(&exec);
