/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker has the victim execute a request whose memory at the attacker is under userfaultfd(2), so that the thread of the
 * victim that copies waits in the kernel until the attacker ends the fault. Meanwhile a window that this copy does not use is
 * freed, other connections are served, and a bind that ends the window through which the thread writes does not complete, nor does
 * the window's free return, also if the attacker says that nobody executes its request. An
 * attacker in a PID namespace below that of the victim holds up no thread.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

enum { LEN = TRAP_LEN, QUIET_MS = 500 }; /* five times the bound of the adapter */

/* ------------------------------------------------------------------ the attacker */

/* What the attacker is told. */
struct target {
	uint64_t qual, addr;
	uint32_t region, window; /* the victim's */
	int op;			 /* what the attacker requests */
	bool polls;		 /* the victim finds the request when it polls, or else when it posts a receive */
};

/* Leaves a request for the victim: to read its region into a window of the attacker, or to write through its own window. */
static void leave_request(struct hostile *h, const struct target *target)
{
	struct soft_sqe *e = soft_port_sqe(h->own.port, &h->own.layout, 0);
	uint32_t index = SOFT_MR_INDEX(target->window), posted = 1;
	struct soft_mr *window = &h->own.mr[index];

	*e = (struct soft_sqe){ .op = (uint8_t)target->op, .n = 1, .len = LEN };
	e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)trap_at(), LEN };
	e->remote = (struct datp_rge){ target->window, 0, target->addr, LEN };
	if (target->op == DATP_READ_RMR) {
		REQUIRE(index > 1);
		atomic_store(&window->addr, (uintptr_t)trap_at());
		atomic_store(&window->len, LEN);
		atomic_store(&window->priv, DAT_MEM_PRIV_ALL_FLAG);
		atomic_store(&window->lmr, HOSTILE_CONTEXT(1));
		atomic_store(&window->context, HOSTILE_CONTEXT(index));
		e->rmr = HOSTILE_CONTEXT(index);
		e->remote.rmr_context = target->region;
		/* a bind behind it counts as a request that may touch any region, so whoever frees one looks at the thread */
		*soft_port_sqe(h->own.port, &h->own.layout, 1) = (struct soft_sqe){ .op = DATP_BIND };
		posted = 2;
	}
	atomic_store(&h->own.port->sq_posted, posted);
	if (target->polls)
		hostile_mark_ready(h);
	else
		atomic_store(&h->own.port->waits, 1);
}

/* Goes on in the first process of a new PID namespace. Returns false if the system does not allow that. */
static bool goes_below(void)
{
	bool there = !unshare(CLONE_NEWPID);
	int status;
	pid_t pid;

	check_put(CHECK_PARENT, &there, sizeof(there));
	if (!there)
		return false;
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid) /* this process waits only; it cannot fork any more, as a sanitizer would at its end */
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	return true;
}

static void attack_leaves_request(struct hostile *h, const struct target *target)
{
	hostile_make(h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(h, target->qual);
	check_await(CHECK_PARENT);
	if (!trap_set_and_tell())
		_exit(0);
	leave_request(h, target);
	check_signal(CHECK_PARENT);
}

static void attack(void *arg)
{
	struct target target;
	struct hostile h;

	(void)arg;
	check_get(CHECK_PARENT, &target, sizeof(target));
	attack_leaves_request(&h, &target);
	trap_await();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	if (target.polls) {
		hostile_hangup(&h);
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
	}
	trap_release();
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void attack_from_below(void *arg)
{
	struct target target;
	struct hostile h;

	(void)arg;
	if (!goes_below())
		return;
	check_get(CHECK_PARENT, &target, sizeof(target));
	attack_leaves_request(&h, &target);
	check_await(CHECK_PARENT);
	trap_release(); /* a sanitizer reads all memory at the end of the process */
	hostile_close(&h);
}

static void hang_up(void *arg)
{
	uint64_t qual = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, qual);
	check_await(CHECK_PARENT);
	hostile_hangup(&h);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static struct api_pair pair;
static struct api_buf buf;
static DAT_RMR_HANDLE rmr;
static DAT_RMR_CONTEXT window;
static pthread_t stuck;
static _Atomic bool over;

static void bind_to(const struct api_buf *to, uint64_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET where = api_seg(to, 0, len);

	REQUIRE_DAT(dat_rmr_bind(rmr, &where, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, pair.a.ep, api_cookie(cookie), 0, &window),
		    DAT_SUCCESS);
}

/* Executes what the attacker has left. */
static void *execute(void *arg)
{
	const struct target *target = arg;
	DAT_EVENT event;

	if (target->polls)
		CHECK(DAT_GET_TYPE(dat_evd_dequeue(victim.end.recv, &event)) == DAT_QUEUE_EMPTY);
	else
		CHECK_DAT(api_recv(victim.end.ep, &victim.buf, 0, 8, 1), DAT_SUCCESS);
	atomic_store(&over, true);
	return NULL;
}

static void attacker_begins(void (*run)(void *))
{
	atomic_store(&over, false);
	attacker = check_fork(run, NULL);
}

/* A thread of the victim executes the request of the attacker. */
static void thread_executes(int op, bool polls)
{
	static struct target target;

	victim_opens_as("soft-hasty", LEN);
	memset(&pair, 0, sizeof(pair));
	api_pair_make(&pair, NULL);
	buf = api_buf(LEN, DAT_MEM_PRIV_ALL_FLAG);
	memset(buf.mem, 0x55, LEN);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	bind_to(&buf, LEN, 5);
	API_BIND(pair.a.request, rmr, 5, DAT_RMR_BIND_SUCCESS);
	target = (struct target){ victim.qual, (uintptr_t)buf.mem, buf.rmr_context, window, op, polls };
	check_put(attacker, &target, sizeof(target));
	victim_accepts();
	check_signal(attacker);
	trap_need(attacker);
	check_await(attacker);
	REQUIRE(pthread_create(&stuck, NULL, execute, &target) == 0);
}

/* Has that thread wait for the attacker. */
static void thread_waits(int op, bool polls)
{
	attacker_begins(attack);
	thread_executes(op, polls);
	check_await(attacker);
}

static void thread_goes_on(void)
{
	CHECK(!atomic_load(&over));
	check_signal(attacker);
	REQUIRE(pthread_join(stuck, NULL) == 0);
}

static void attacker_ends(void)
{
	check_signal(attacker);
	check_join(attacker);
	api_close();
}

/* The attacker's window has the index of ours, which the copy has nothing to do with. */
static void window_of_the_index_of_the_attackers_window_is_freed(void)
{
	thread_waits(DATP_READ_RMR, false);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	thread_goes_on();
	attacker_ends();
}

/* The thread has the poll lock of the queue. The end of the connection is put off until it has released that. */
static void others_are_served_when_the_attacker_of_a_thread_that_polls_hangs_up(void)
{
	thread_waits(DATP_RDMA_WRITE, true);
	check_signal(attacker);
	check_await(attacker);
	victim_serves_others();
	API_EMPTY(victim.end.connect);
	thread_goes_on();
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	attacker_ends();
}

/* The thread need not copy for that: a peer can leave very much to execute where its memory is mapped. */
static void others_are_served_when_an_attacker_hangs_up_whose_endpoint_is_locked(void)
{
	_Atomic uint32_t *lock;

	attacker_begins(hang_up);
	victim_opens();
	victim_tells(attacker);
	victim_accepts();
	lock = &((struct datp_ep *)victim.end.ep)->lock;
	datp_lock(lock);
	check_signal(attacker);
	victim_serves_others();
	datp_unlock(lock);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_signal(attacker);
	check_join(attacker);
}

/* An endpoint of the victim that has the queue whose poll lock the thread has. */
static struct api_end sharer_make(void)
{
	struct api_end end = { .recv = victim.end.recv,
			       .request = api_evd(8, DAT_EVD_DTO_FLAG),
			       .connect = api_evd(8, DAT_EVD_CONNECTION_FLAG) };

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, NULL, &end.ep), DAT_SUCCESS);
	return end;
}

/* The attempts of two endpoints that share the queue end meanwhile. Each is reported when the thread has released the lock. */
static void others_are_served_when_attempts_end_that_share_the_queue_of_a_thread(void)
{
	struct api_end refused, late;

	thread_waits(DATP_RDMA_WRITE, true);
	check_signal(attacker);
	check_await(attacker);
	refused = sharer_make();
	late = sharer_make();
	REQUIRE_DAT(dat_ep_connect(late.ep, api_address(), victim.qual, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, 0), DAT_SUCCESS);
	(void)api_cr(victim.cr_evd);
	REQUIRE_DAT(dat_ep_connect(refused.ep, api_address(), victim.qual, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT, 0),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(victim.cr_evd)), DAT_SUCCESS);
	victim_serves_others();
	API_EMPTY(refused.connect);
	API_EMPTY(late.connect);
	thread_goes_on();
	API_CONN(refused.connect, refused.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	API_CONN(late.connect, late.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	attacker_ends();
}

/* The thread writes through the window, and no right that the attacker loses ends that. */
static void bind_waits_for_a_thread_that_writes_through_the_window(void)
{
	thread_waits(DATP_RDMA_WRITE, false);
	bind_to(&victim.buf, 8, 6);
	for (uint64_t until = check_now_ms() + QUIET_MS; check_now_ms() < until; check_nap())
		API_EMPTY(pair.a.request);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0x55);
	/* the attacker has lost its right: the service thread was asked to end that connection */
	victim_serves_others();
	thread_goes_on();
	API_BIND(pair.a.request, rmr, 6, DAT_RMR_BIND_SUCCESS);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0);
	attacker_ends();
}

/* Does what the attacker can do: says that nobody executes its request. The thread still does. */
static void attacker_denies(void)
{
	_Atomic uint64_t *lock = &((struct soft_ep *)victim.end.ep)->rport->exec_lock;
	uint64_t word = atomic_load(lock);

	CHECK(word & SOFT_EXEC_HELD);
	atomic_store(lock, SOFT_EXEC_NEXT(word, SOFT_EXEC_GEN(word)));
}

static void bind_waits_for_the_thread_whatever_the_attacker_says(void)
{
	thread_waits(DATP_RDMA_WRITE, false);
	attacker_denies();
	bind_to(&victim.buf, 8, 6);
	for (uint64_t until = check_now_ms() + QUIET_MS; check_now_ms() < until; check_nap())
		API_EMPTY(pair.a.request);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0x55);
	thread_goes_on();
	API_BIND(pair.a.request, rmr, 6, DAT_RMR_BIND_SUCCESS);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0);
	attacker_ends();
}

static void *free_window(void *arg)
{
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	atomic_store((_Atomic bool *)arg, true);
	return NULL;
}

static void free_of_the_window_waits_for_the_thread_whatever_the_attacker_says(void)
{
	static _Atomic bool freed;
	pthread_t frees;

	atomic_store(&freed, false);
	thread_waits(DATP_RDMA_WRITE, false);
	attacker_denies();
	REQUIRE(pthread_create(&frees, NULL, free_window, (void *)(uintptr_t)&freed) == 0);
	for (uint64_t until = check_now_ms() + QUIET_MS; check_now_ms() < until; check_nap())
		CHECK(!atomic_load(&freed));
	thread_goes_on();
	REQUIRE(pthread_join(frees, NULL) == 0);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0);
	attacker_ends();
}

/* The attacker does not copy for the victim either, so its connection ends. */
static void does_not_wait_for_an_attacker_below(int op, bool polls)
{
	struct timespec until;
	bool there;

	attacker_begins(attack_from_below);
	check_get(attacker, &there, sizeof(there));
	if (!there) {
		check_join(attacker);
		check_skip("the system does not let this process make a PID namespace");
	}
	thread_executes(op, polls);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(check_patience_ms() / 1000);
	REQUIRE(pthread_timedjoin_np(stuck, NULL, &until) == 0);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_EQ_INT(((unsigned char *)buf.mem)[LEN - 1], 0x55);
	victim_serves_others();
	attacker_ends();
}

static void thread_that_posts_does_not_wait_for_an_attacker_in_a_pid_namespace_below(void)
{
	does_not_wait_for_an_attacker_below(DATP_RDMA_WRITE, false);
}

static void thread_that_polls_does_not_wait_for_an_attacker_in_a_pid_namespace_below(void)
{
	does_not_wait_for_an_attacker_below(DATP_RDMA_WRITE, true);
}

static void thread_that_reads_does_not_wait_for_an_attacker_in_a_pid_namespace_below(void)
{
	does_not_wait_for_an_attacker_below(DATP_READ_RMR, false);
}

static const struct check_test tests[] = {
	CHECK_TEST(window_of_the_index_of_the_attackers_window_is_freed),
	CHECK_TEST(others_are_served_when_the_attacker_of_a_thread_that_polls_hangs_up),
	CHECK_TEST(others_are_served_when_attempts_end_that_share_the_queue_of_a_thread),
	CHECK_TEST(others_are_served_when_an_attacker_hangs_up_whose_endpoint_is_locked),
	CHECK_TEST(bind_waits_for_a_thread_that_writes_through_the_window),
	CHECK_TEST(bind_waits_for_the_thread_whatever_the_attacker_says),
	CHECK_TEST(free_of_the_window_waits_for_the_thread_whatever_the_attacker_says),
	CHECK_TEST(thread_that_posts_does_not_wait_for_an_attacker_in_a_pid_namespace_below),
	CHECK_TEST(thread_that_polls_does_not_wait_for_an_attacker_in_a_pid_namespace_below),
	CHECK_TEST(thread_that_reads_does_not_wait_for_an_attacker_in_a_pid_namespace_below),
	CHECK_END
};

static const struct check_suite suite = { .name = "attacker whose memory holds up a thread",
					  .teardown = api_close,
					  .tests = tests };

CHECK_SUITES(&suite);
