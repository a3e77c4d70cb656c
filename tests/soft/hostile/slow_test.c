/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that copies for the victim, because the kernel does not, and answers each of its questions late, but within the bound.
 * What the victim waits for it is limited all the same: a long request, which is asked for in pieces, has one bound, and a call
 * that executes many short requests makes an end when it has waited for a part of the bound. The attacker counts what it is asked.
 * And while a thread of the program waits for the answer, further connections with the same peer are made.
 *
 * The program defines epoll_wait() in place of that of the C library, which it calls, so that it can hold the service thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

#include "hostile.h"
#include "victim.h"

enum {
	PIECES = 16,
	LONG = PIECES * SOFT_MAILBOX_SIZE,
	BOUND_MS = 200,	   /* for a long request, which has a bound of 457 ms in all */
	LATE_MS = 150,	   /* how long the attacker takes for a piece of it */
	REQUESTS = 16,
	SHORT = 8,
	A_LITTLE_MS = 100, /* and for a short one, so that a call makes an end with the third, as the bound is one second then */
	MOST = REQUESTS / 2
};

static struct seen {
	_Atomic uint32_t answers;
	_Atomic unsigned int late_ms;
	_Atomic bool may_answer, over;
} *seen; /* shared with the attacker */

/* The victim's memory. */
struct target {
	uint64_t addr;
	uint32_t region;
};

static pid_t attacker;
static _Atomic bool frozen; /* the service thread does nothing, so no other thread executes what the program leaves */

static void sleep_ms(unsigned int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 }, NULL);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	int (*real)(int, struct epoll_event *, int, int);
	int n;

	*(void **)&real = dlsym(RTLD_NEXT, "epoll_wait");
	n = real(fd, events, most, ms);
	while (atomic_load(&frozen))
		sleep_ms(1);
	return n;
}

/* ------------------------------------------------------------------ the attacker */

static void answer_late(struct soft_mailbox *asks)
{
	while (!atomic_load(&seen->over)) {
		if (atomic_load(&asks->state) != SOFT_MAILBOX_ASKED) {
			sched_yield();
			continue;
		}
		sleep_ms(atomic_load(&seen->late_ms));
		atomic_fetch_add(&seen->answers, 1);
		hostile_answer(asks);
	}
}

/* Leaves RDMA Writes of a few bytes to the victim. */
static void leave_requests(struct hostile *h)
{
	struct target target;

	check_get(CHECK_PARENT, &target, sizeof(target));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct soft_sqe *e = soft_port_sqe(h->own.port, &h->own.layout, i);

		*e = (struct soft_sqe){ .op = DATP_RDMA_WRITE, .n = 1, .len = SHORT };
		e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, SHORT };
		e->remote = (struct datp_rge){ target.region, 0, target.addr, SHORT };
	}
	atomic_store(&h->own.port->sq_posted, REQUESTS);
	hostile_mark_ready(h);
	check_signal(CHECK_PARENT);
}

static void copy_slowly(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	h.own.mr[1].len = LONG; /* more than there is: nobody but the attacker would copy it */
	hostile_connect(&h, where);
	if (*(const bool *)arg)
		leave_requests(&h);
	answer_late(hostile_mailbox_of_victim(&h, &h.theirs.mailbox));
	hostile_close(&h);
}

/* Answers nothing before it may; meanwhile it has a second connection with the victim. */
static void connect_twice(void *arg)
{
	bool passive = *(const bool *)arg;
	uint64_t where = victim_is_at();
	struct soft_mailbox *asks;
	struct soft_msg rtu;
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	if (passive) {
		hostile_listen(&h, where);
		check_signal(CHECK_PARENT);
		hostile_await_request(&h);
		hostile_accept(&h);
		REQUIRE(hostile_hear(&h, &rtu));
		asks = hostile_mailbox_of_victim(&h, &rtu.mailbox);
	} else {
		hostile_connect(&h, where);
		asks = hostile_mailbox_of_victim(&h, &h.theirs.mailbox);
	}
	while (atomic_load(&asks->state) != SOFT_MAILBOX_ASKED && !atomic_load(&seen->over))
		sched_yield();
	h.fd = -1; /* the first socket stays as it is */
	if (passive) {
		hostile_await_request(&h);
		hostile_accept(&h);
	} else {
		hostile_connect(&h, where);
	}
	while (!atomic_load(&seen->may_answer) && !atomic_load(&seen->over))
		sched_yield();
	answer_late(asks);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static void share_what_is_seen(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(seen != MAP_FAILED);
}

static void connect_to_it(bool requests, unsigned int late_ms)
{
	share_what_is_seen();
	atomic_store(&seen->late_ms, late_ms);
	attacker = check_fork(copy_slowly, &requests);
	victim_opens_as("soft-bounce", LONG);
	victim_tells(attacker);
	victim_accepts();
}

static void others_are_served(void)
{
	victim_serves_others();
	atomic_store(&seen->over, true);
	check_join(attacker);
}

static struct soft_ep *soft_ep_of_victim(void)
{
	return (struct soft_ep *)victim.end.ep;
}

static DAT_RMR_TRIPLET there(uint64_t len)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = HOSTILE_CONTEXT(1),
				  .target_address = (uintptr_t)hostile_data,
				  .segment_length = len };
}

static void a_long_request_has_one_bound(bool write)
{
	DAT_RMR_TRIPLET their = there(LONG);
	DAT_LMR_TRIPLET own;

	connect_to_it(false, LATE_MS);
	soft_ia(soft_ep_of_victim()->base.obj.ia)->patience_ms = BOUND_MS;
	own = api_seg(&victim.buf, 0, LONG);
	if (write)
		REQUIRE_DAT(api_write(victim.end.ep, own, their, 1, 0), DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_post_rdma_read(victim.end.ep, 1, &own, api_cookie(1), &their, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_SUCCESS);
	CHECK(atomic_load(&seen->answers) <= PIECES / 2);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	others_are_served();
}

static void a_long_write_has_one_bound(void)
{
	a_long_request_has_one_bound(true);
}

static void a_long_read_has_one_bound(void)
{
	a_long_request_has_one_bound(false);
}

static void call_ends_when_it_has_waited_for_requests_of_the_peer(void)
{
	struct target target;
	uint32_t before = 0, now;
	DAT_EVENT event;

	connect_to_it(true, A_LITTLE_MS);
	target = (struct target){ (uintptr_t)victim.buf.mem, victim.buf.rmr_context };
	atomic_store(&frozen, true);
	check_put(attacker, &target, sizeof(target));
	check_await(attacker);
	for (;; before = now) {
		CHECK(DAT_GET_TYPE(dat_evd_dequeue(victim.end.recv, &event)) == DAT_QUEUE_EMPTY);
		now = atomic_load(&soft_ep_of_victim()->rport->sq_done);
		CHECK(now - before <= MOST);
		if (now == before)
			break;
	}
	CHECK_EQ_INT(now, REQUESTS);
	atomic_store(&frozen, false);
	others_are_served();
}

static void call_ends_when_it_has_waited_for_own_requests(void)
{
	const uint64_t held = SOFT_EXEC_HELD | SOFT_EXEC_TARGET;
	uint32_t before = 0, now;

	connect_to_it(false, A_LITTLE_MS);
	/* as if the attacker executed, so that all of them wait */
	atomic_store(&frozen, true);
	atomic_fetch_or(&soft_ep_of_victim()->port->exec_lock, held);
	for (uint64_t i = 0; i < REQUESTS - 1; i++)
		REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, 0, SHORT), there(SHORT), i, 0), DAT_SUCCESS);
	CHECK_EQ_INT(atomic_load(&seen->answers), 0);
	atomic_fetch_and(&soft_ep_of_victim()->port->exec_lock, ~held);
	REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, 0, SHORT), there(SHORT), REQUESTS - 1, 0), DAT_SUCCESS);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		now = atomic_load(&seen->answers);
		CHECK(now - before <= MOST);
		before = now;
		API_DTO(victim.end.request, victim.end.ep, i, DAT_DTO_SUCCESS, SHORT);
	}
	CHECK_EQ_INT(atomic_load(&seen->answers), REQUESTS);
	atomic_store(&frozen, false);
	others_are_served();
}

static _Atomic bool has_waited;

static void *write_a_little(void *arg)
{
	/* others are served out of the first bytes */
	REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, LONG / 2, SHORT), there(SHORT), 1, 0), DAT_SUCCESS);
	atomic_store(&has_waited, true);
	return arg;
}

static void connect_to_the_listener(struct api_end *end)
{
	REQUIRE_DAT(api_connect(end->ep, victim.qual), DAT_SUCCESS);
	API_CONN(end->connect, end->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void accept_at(struct api_end *end)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), end->ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end->connect, end->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void connection_is_made_while_a_thread_waits_for_the_peer(bool passive)
{
	void (*connect)(struct api_end *) = passive ? connect_to_the_listener : accept_at;
	struct api_end second;
	pthread_t thread;

	atomic_store(&has_waited, false);
	share_what_is_seen();
	attacker = check_fork(connect_twice, &passive);
	victim_opens_as("soft-bounce", LONG);
	if (passive)
		victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	if (passive)
		check_await(attacker);
	connect(&victim.end);
	/* longer than all else here */
	soft_ia(soft_ep_of_victim()->base.obj.ia)->patience_ms = (uint32_t)check_patience_ms();
	api_end_make(&second, NULL);
	REQUIRE(pthread_create(&thread, NULL, write_a_little, NULL) == 0);
	connect(&second);
	victim_serves_others();
	CHECK(!atomic_load(&has_waited));
	atomic_store(&seen->may_answer, true);
	pthread_join(thread, NULL);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, SHORT);
	atomic_store(&seen->over, true);
	check_join(attacker);
}

static void answer_of_the_peer_is_taken_while_a_thread_waits_for_it(void)
{
	connection_is_made_while_a_thread_waits_for_the_peer(true);
}

static void request_of_the_peer_is_accepted_while_a_thread_waits_for_it(void)
{
	connection_is_made_while_a_thread_waits_for_the_peer(false);
}

static void close_all(void)
{
	atomic_store(&frozen, false);
	api_close();
	if (seen)
		munmap(seen, sizeof(*seen));
	seen = NULL;
}

static const struct check_test tests[] = {
	CHECK_TEST(a_long_write_has_one_bound),
	CHECK_TEST(a_long_read_has_one_bound),
	CHECK_TEST(call_ends_when_it_has_waited_for_requests_of_the_peer),
	CHECK_TEST(call_ends_when_it_has_waited_for_own_requests),
	CHECK_TEST(answer_of_the_peer_is_taken_while_a_thread_waits_for_it),
	CHECK_TEST(request_of_the_peer_is_accepted_while_a_thread_waits_for_it),
	CHECK_END
};

static const struct check_suite suite = { .name = "slow answers", .teardown = close_all, .tests = tests };

CHECK_SUITES(&suite);
