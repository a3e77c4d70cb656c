/* SPDX-License-Identifier: BSD-2-Clause */
/* The service thread: watches, calls and timers, and that a deleted one does not run any more. */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"

static struct datp_ia *ia;
static _Atomic int ran, gate, inside;
static int fd = -1;

static void open_ia(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;
	char name[] = "null0";

	ran = gate = inside = 0;
	REQUIRE(null_load() != NULL);
	REQUIRE_DAT(null_registry.table->ia_open_func(name, 8, &async, &handle), DAT_SUCCESS);
	ia = handle;
	fd = eventfd(0, EFD_NONBLOCK);
	REQUIRE(fd >= 0);
}

static void close_ia(void)
{
	if (ia)
		CHECK_EQ_INT(ia_close(ia, true), DATP_OK);
	ia = NULL;
	null_unload();
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static void signal_fd(void)
{
	uint64_t one = 1;

	REQUIRE_EQ_INT(write(fd, &one, sizeof(one)), sizeof(one));
}

static void drain_fd(void)
{
	uint64_t n;

	CHECK_EQ_INT(read(fd, &n, sizeof(n)), sizeof(n));
}

static void count(void *arg)
{
	(void)arg;
	if (datp_loop_inside(ia))
		inside++;
	ran++;
}

static void a_call_runs_once_on_the_service_thread(void)
{
	CHECK(!datp_loop_inside(ia));
	CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	REQUIRE_SOON(ran == 2);
	CHECK_EQ_INT(inside, 2);
}

static void calls_still_run_when_the_ia_closes(void)
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	CHECK_EQ_INT(ia_close(ia, true), DATP_OK);
	ia = NULL;
	CHECK_EQ_INT(ran, 100);
}

static void watch_fires(void *arg, uint32_t events)
{
	(void)arg;
	CHECK(events & EPOLLIN);
	drain_fd();
	ran++;
}

static void a_watch_fires_each_time(void)
{
	struct datp_watch *watch;

	REQUIRE_EQ_INT(datp_loop_add(ia, fd, EPOLLIN, watch_fires, NULL, &watch), DATP_OK);
	signal_fd();
	REQUIRE_SOON(ran == 1);
	signal_fd();
	REQUIRE_SOON(ran == 2);
	datp_loop_del(watch);
}

static void a_descriptor_that_cannot_be_watched_is_refused(void)
{
	struct datp_watch *watch = NULL;

	check_stderr_begin();
	CHECK_EQ_INT(datp_loop_add(ia, -1, EPOLLIN, watch_fires, NULL, &watch), DATP_ERR_DEVICE);
	CHECK_HAS_STR(check_stderr_end(), "cannot watch a descriptor (epoll_ctl): Bad file descriptor; raise ");
	CHECK(watch == NULL);
}

static void a_deleted_watch_is_silent(void)
{
	struct datp_watch *watch;

	REQUIRE_EQ_INT(datp_loop_add(ia, fd, EPOLLIN, watch_fires, NULL, &watch), DATP_OK);
	datp_loop_del(watch);
	signal_fd();
	/* The service thread makes this call after it has served all watches that are ready. */
	CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	REQUIRE_SOON(inside == 1);
	CHECK_EQ_INT(ran, 1);
}

static void watch_waits(void *arg, uint32_t events)
{
	(void)arg, (void)events;
	drain_fd();
	gate = 1;
	REQUIRE_SOON(gate == 2);
	ran++;
}

static void *open_gate(void *arg)
{
	(void)arg;
	check_nap();
	gate = 2;
	return NULL;
}

static void del_waits_for_a_running_callback(void)
{
	struct datp_watch *watch;
	pthread_t thread;

	REQUIRE_EQ_INT(datp_loop_add(ia, fd, EPOLLIN, watch_waits, NULL, &watch), DATP_OK);
	signal_fd();
	REQUIRE_SOON(gate == 1);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, open_gate, NULL), 0);
	datp_loop_del(watch);
	CHECK_EQ_INT(ran, 1);
	pthread_join(thread, NULL);
}

static struct datp_watch *own;

static void watch_deletes_itself(void *arg, uint32_t events)
{
	(void)arg, (void)events;
	datp_loop_del(own);
	ran++;
}

static void a_callback_may_delete_its_own_watch(void)
{
	REQUIRE_EQ_INT(datp_loop_add(ia, fd, EPOLLIN, watch_deletes_itself, NULL, &own), DATP_OK);
	signal_fd(); /* the descriptor is never read, so its watch would be called for ever */
	REQUIRE_SOON(ran == 1);
	CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	REQUIRE_SOON(inside == 1);
	CHECK_EQ_INT(ran, 2);
}

static struct datp_watch *pair[2];

static void watch_deletes_the_other(void *arg, uint32_t events)
{
	struct datp_watch **other = arg;

	(void)events;
	datp_loop_del(*other);
	*other = NULL;
	drain_fd();
	ran++;
}

static void hold_the_thread(void *arg)
{
	(void)arg;
	gate = 1;
	REQUIRE_SOON(gate == 2);
}

static void a_callback_may_delete_a_watch_that_is_ready_too(void)
{
	int copy = dup(fd);

	REQUIRE(copy >= 0);
	REQUIRE_EQ_INT(datp_loop_call(ia, hold_the_thread, NULL), DATP_OK);
	REQUIRE_SOON(gate == 1);
	REQUIRE_EQ_INT(datp_loop_add(ia, fd, EPOLLIN, watch_deletes_the_other, &pair[1], &pair[0]),
		       DATP_OK);
	REQUIRE_EQ_INT(
		datp_loop_add(ia, copy, EPOLLIN, watch_deletes_the_other, &pair[0], &pair[1]),
		DATP_OK);
	signal_fd();
	gate = 2; /* both are ready in the thread's next round */
	REQUIRE_SOON(ran == 1);
	CHECK_EQ_INT(datp_loop_call(ia, count, NULL), DATP_OK);
	REQUIRE_SOON(inside == 1);
	CHECK_EQ_INT(ran, 2);
	datp_loop_del(pair[0] ? pair[0] : pair[1]);
	close(copy);
}

static _Atomic int order[4], order_count;

static void note(void *arg)
{
	order[order_count++] = (int)(intptr_t)arg;
}

static void timers_run_in_the_order_of_their_deadlines(void)
{
	static struct datp_timer timers[3];
	uint64_t now = datp_clock_us();

	order_count = 0;
	datp_timer_set(ia, &timers[0], now + 30000, note, (void *)3);
	datp_timer_set(ia, &timers[1], now + 10000, note, (void *)1);
	datp_timer_set(ia, &timers[2], now + 20000, note, (void *)2);
	REQUIRE_SOON(order_count == 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(order[i], i + 1);
	CHECK(datp_clock_us() >= now + 30000);
}

static void a_timer_that_is_set_again_moves(void)
{
	static struct datp_timer timer;

	datp_timer_set(ia, &timer, datp_clock_us() + 3600000000u, count, NULL);
	datp_timer_set(ia, &timer, datp_clock_us() + 1000, count, NULL);
	REQUIRE_SOON(ran == 1);
	CHECK(!datp_timer_cancel(ia, &timer));
}

static void a_cancelled_timer_does_not_run(void)
{
	static struct datp_timer timer, after;

	datp_timer_set(ia, &timer, datp_clock_us() + 20000, count, NULL);
	datp_timer_set(ia, &after, datp_clock_us() + 21000, note, NULL);
	order_count = 0;
	CHECK(datp_timer_cancel(ia, &timer));
	CHECK(!datp_timer_cancel(ia, &timer));
	REQUIRE_SOON(order_count == 1);
	CHECK_EQ_INT(ran, 0);
}

static void timer_waits(void *arg)
{
	(void)arg;
	gate = 1;
	REQUIRE_SOON(gate == 2);
	ran++;
}

static void cancel_waits_for_a_running_callback(void)
{
	static struct datp_timer timer;
	pthread_t thread;

	datp_timer_set(ia, &timer, datp_clock_us(), timer_waits, NULL);
	REQUIRE_SOON(gate == 1);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, open_gate, NULL), 0);
	CHECK(!datp_timer_cancel(ia, &timer));
	CHECK_EQ_INT(ran, 1);
	pthread_join(thread, NULL);
}

static struct datp_timer again;

static void sets_itself_again(void *arg)
{
	if (++ran < 5)
		datp_timer_set(ia, &again, datp_clock_us() + 100, sets_itself_again, arg);
	else
		CHECK(!datp_timer_cancel(ia, &again));
}

static void a_timer_may_set_and_cancel_itself(void)
{
	datp_timer_set(ia, &again, datp_clock_us(), sets_itself_again, NULL);
	REQUIRE_SOON(ran == 5);
}

static void calls_again(void *arg)
{
	count(arg);
	CHECK_EQ_INT(datp_loop_call(ia, count, arg), DATP_OK);
}

static void sets_a_timer(void *arg)
{
	datp_timer_set(ia, arg, datp_clock_us(), count, NULL);
}

/*
 * The thread is woken only if it sleeps, and not for a timer that is later than the one for which
 * it will wake anyway.
 */
static void what_is_queued_while_the_thread_sleeps_or_works_runs(void)
{
	static struct datp_timer far, near;

	datp_timer_set(ia, &far, datp_clock_us() + 3600000000u, count, NULL);
	for (int i = 0; i < 500; i++) {
		int before = ran;

		CHECK_EQ_INT(datp_loop_call(ia, calls_again, NULL), DATP_OK);
		datp_timer_set(ia, &near, datp_clock_us(), count, NULL);
		REQUIRE_SOON(ran == before + 3);
		CHECK_EQ_INT(datp_loop_call(ia, sets_a_timer, &near), DATP_OK);
		REQUIRE_SOON(ran == before + 4);
		datp_timer_set(ia, &far, datp_clock_us() + 3600000000u, count, NULL);
		datp_timer_set(ia, &near, datp_clock_us() + 500, count, NULL);
		REQUIRE_SOON(ran == before + 5);
	}
	CHECK(datp_timer_cancel(ia, &far));
}

static void look_at_mask(void *arg)
{
	sigset_t *set = arg;

	pthread_sigmask(SIG_SETMASK, NULL, set);
	ran++;
}

static void the_service_thread_takes_no_signals(void)
{
	static sigset_t set;

	CHECK_EQ_INT(datp_loop_call(ia, look_at_mask, &set), DATP_OK);
	REQUIRE_SOON(ran == 1);
	CHECK(sigismember(&set, SIGINT) && sigismember(&set, SIGUSR1) &&
	      sigismember(&set, SIGALRM));
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	CHECK(!sigismember(&set, SIGUSR1));
}

static void close_from_inside(void *arg)
{
	*(enum datp_err *)arg = ia_close(ia, false);
	ran++;
}

static void an_ia_is_not_closed_from_its_own_service_thread(void)
{
	static enum datp_err err;

	CHECK_EQ_INT(datp_loop_call(ia, close_from_inside, &err), DATP_OK);
	REQUIRE_SOON(ran == 1);
	CHECK_EQ_INT(err, DATP_ERR_STATE);
	CHECK(obj_get(NULL, ia, DATP_IA) == ia);
}

static const struct check_test tests[] = {
	CHECK_TEST(a_call_runs_once_on_the_service_thread),
	CHECK_TEST(calls_still_run_when_the_ia_closes),
	CHECK_TEST(a_watch_fires_each_time),
	CHECK_TEST(a_descriptor_that_cannot_be_watched_is_refused),
	CHECK_TEST(a_deleted_watch_is_silent),
	CHECK_TEST(del_waits_for_a_running_callback),
	CHECK_TEST(a_callback_may_delete_its_own_watch),
	CHECK_TEST(a_callback_may_delete_a_watch_that_is_ready_too),
	CHECK_TEST(timers_run_in_the_order_of_their_deadlines),
	CHECK_TEST(a_timer_that_is_set_again_moves),
	CHECK_TEST(a_cancelled_timer_does_not_run),
	CHECK_TEST(cancel_waits_for_a_running_callback),
	CHECK_TEST(a_timer_may_set_and_cancel_itself),
	CHECK_TEST(what_is_queued_while_the_thread_sleeps_or_works_runs),
	CHECK_TEST(the_service_thread_takes_no_signals),
	CHECK_TEST(an_ia_is_not_closed_from_its_own_service_thread),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "libdatp service thread", .setup = open_ia, .teardown = close_ia, .tests = tests
};

CHECK_SUITES(&suite);
