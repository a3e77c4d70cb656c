/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry with many threads. These tests are run under the thread sanitizer as well. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry_env.h"

#define THREADS	8
#define ROUNDS	100

struct mock mock;

static void threads_run(void *(*run)(void *arg), int n)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < n; i++)
		REQUIRE_EQ_INT(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i), 0);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void *open_and_close(void *arg)
{
	DAT_IA_HANDLE ia;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ia = open_or_fail((uintptr_t)arg % 2 ? "b" : "a");
		CHECK_EQ_INT(dat_ia_query(ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
		CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	}
	return NULL;
}

TEST_WITH(one_adapter_is_opened_and_closed_by_many_threads, LINE("a", "plain") LINE("b", "plain"))
{
	threads_run(open_and_close, THREADS);
	CHECK_EQ_INT(mock.opens, THREADS * ROUNDS);
	CHECK_EQ_INT(mock.closes, THREADS * ROUNDS);
	CHECK_EQ_INT(mock.inits, mock.finis);
}

static void *open_a_once(void *arg)
{
	(void)arg;
	open_or_fail("a");
	return NULL;
}

TEST_WITH(many_threads_open_one_adapter_and_init_runs_once, LINE("a", "plain"))
{
	threads_run(open_a_once, THREADS);
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(mock.overlaps, 0);
	CHECK_EQ_INT(mock.opens, THREADS);
}

/* An init that takes long. */

static sem_t init_started, init_may_end;

static void slow_init(const char *name)
{
	if (strcmp(name, "slow"))
		return;
	sem_post(&init_started);
	sem_wait(&init_may_end);
}

static void *open_slow(void *arg)
{
	(void)arg;
	open_or_fail("slow");
	return NULL;
}

/* Returns the thread that waits in the init. */
static pthread_t begin_slow_init(void)
{
	pthread_t thread;

	sem_init(&init_started, 0, 0);
	sem_init(&init_may_end, 0, 0);
	mock.init_hook = slow_init;
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, open_slow, NULL), 0);
	sem_wait(&init_started);
	return thread;
}

static DAT_PROVIDER own = { .device_name = "own" };

TEST_WITH(a_slow_init_holds_up_nobody_else, LINE("slow", "plain") LINE("b", "plain"))
{
	DAT_PROVIDER_INFO own_info = { .ia_name = "own",
				       .dapl_version_major = 1,
				       .dapl_version_minor = 2 };
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO *list = &info;
	pthread_t first, second;
	DAT_IA_HANDLE b;
	DAT_COUNT n;

	first = begin_slow_init();
	REQUIRE_EQ_INT(pthread_create(&second, NULL, open_slow, NULL), 0);
	b = open_or_fail("b");
	CHECK_EQ_INT(dat_registry_list_providers(1, &n, &list), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_add_provider(&own, &own_info), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &own_info), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(b, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.opens, 1);
	sem_post(&init_may_end);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(mock.opens, 3);
}

TEST_WITH(a_thread_cancelled_while_it_waits_for_an_init_leaves_no_lock_behind,
	  LINE("slow", "plain"))
{
	pthread_t first, second;
	void *result;

	first = begin_slow_init();
	REQUIRE_EQ_INT(pthread_create(&second, NULL, open_slow, NULL), 0);
	pthread_cancel(second);
	pthread_cancel(first);
	sem_post(&init_may_end);
	pthread_join(first, &result);
	pthread_join(second, &result);
	mock.init_hook = NULL;
	open_or_fail("slow");
}

/* Two inits, each of which opens the other's adapter. */

static pthread_barrier_t both_in_init;
static DAT_RETURN crossing[2];

static void cross_init(const char *name)
{
	DAT_IA_HANDLE ia;
	int me = *name == 'b';

	pthread_barrier_wait(&both_in_init);
	crossing[me] = open_plain(me ? "a" : "b", &ia);
}

static void *open_crossing(void *arg)
{
	open_or_fail(arg ? "b" : "a");
	return NULL;
}

TEST_WITH(inits_that_open_each_other_s_adapter_do_not_wait_for_ever,
	  LINE("a", "plain") LINE("b", "plain"))
{
	int refused = 0;
	int i;

	pthread_barrier_init(&both_in_init, NULL, 2);
	mock.init_hook = cross_init;
	check_stderr_begin();
	threads_run(open_crossing, 2);
	CHECK_HAS_STR(check_stderr_end(), "from within a provider's initialisation");
	for (i = 0; i < 2; i++)
		refused += DAT_GET_TYPE(crossing[i]) == DAT_PROVIDER_NOT_FOUND;
	CHECK_EQ_INT(refused, 1);
	CHECK_EQ_INT(mock.inits, 2);
}

/* Calls on one adapter while others are opened and closed. */

static atomic_bool churning;
static DAT_HANDLE kept_object;	/* the object of the IA that stays open */

static void *churn(void *arg)
{
	if (arg) {
		open_and_close(arg);
		open_and_close((void *)2);
	} else {
		while (churning) {
			DAT_HANDLE object = kept_object;
			DAT_IA_HANDLE h;

			CHECK_EQ_INT(dat_pz_free(object), DAT_SUCCESS);
			CHECK_EQ_INT(dats_get_ia_handle((uintptr_t)object, &h), DAT_SUCCESS);
			CHECK_DAT(dat_pz_free((DAT_HANDLE)&h), DAT_INVALID_HANDLE);
		}
		return NULL;
	}
	churning = false;
	return NULL;
}

TEST_WITH(calls_go_on_while_other_adapters_come_and_go,
	  LINE("k", "own_vtable") LINE("a", "plain") LINE("b", "plain"))
{
	DAT_IA_HANDLE keep = open_or_fail("k");

	kept_object = mock.object;
	churning = true;
	threads_run(churn, 4);
	CHECK_EQ_INT(dat_ia_close(keep, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, mock.finis);
}

static void *list_them(void *arg)
{
	DAT_PROVIDER_INFO info[2];
	DAT_PROVIDER_INFO *list[] = { &info[0], &info[1] };
	DAT_COUNT n;

	(void)arg;
	CHECK_EQ_INT(dat_registry_list_providers(2, &n, list), DAT_SUCCESS);
	CHECK_EQ_INT(n, 2);
	return NULL;
}

TEST_WITH(many_threads_may_be_the_first_to_list, LINE("a", "plain") LINE("b", "plain"))
{
	threads_run(list_them, THREADS);
}

static void *add_and_remove(void *arg)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = 1, .dapl_version_minor = 2 };
	int i;

	snprintf(info.ia_name, sizeof(info.ia_name), "own%d", (int)(uintptr_t)arg);
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ_INT(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
		CHECK_DAT(dat_registry_add_provider(&own, &info), DAT_PROVIDER_ALREADY_REGISTERED);
		CHECK_EQ_INT(dat_registry_remove_provider(&own, &info), DAT_SUCCESS);
	}
	return NULL;
}

TEST_WITH(many_threads_register_and_remove, "")
{
	threads_run(add_and_remove, THREADS);
}

/* One IA, closed by all threads at once. */

static DAT_IA_HANDLE shared;
static atomic_int closed;

static void *close_shared(void *arg)
{
	DAT_RETURN rc = dat_ia_close(shared, DAT_CLOSE_DEFAULT);

	(void)arg;
	if (rc == DAT_SUCCESS)
		closed++;
	else
		CHECK_DAT(rc, DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	return NULL;
}

TEST_WITH(an_adapter_closed_by_many_threads_is_closed_once, LINE("a", "plain"))
{
	int i;

	for (i = 0; i < 20; i++) {
		shared = open_or_fail("a");
		closed = 0;
		threads_run(close_shared, THREADS);
		CHECK_EQ_INT(closed, 1);
	}
	CHECK_EQ_INT(mock.closes, 20);
	CHECK_EQ_INT(mock.finis, 20);
}

/* A process forks while another of its threads is in the registry: the child opens an adapter itself, and exits. */

static void opens_in_a_child(const char *name)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		alarm(check_patience_ms() / 1000);
		mock.init_hook = NULL;
		open_or_fail(name);
		exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ_INT(status, 0);
}

/*
 * The thread sanitizer takes a lock that was made anew in the child for one that a thread of the parent still holds. The child has
 * memory of such threads, which the address sanitizer reports when it exits.
 */
static void needs_no_sanitizer(void)
{
	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer knows no locks of a child");
	if (ADDRESS_SANITIZER)
		check_skip("a child has memory of its parent's other threads");
}

static void open_in_child_of_loader(void)
{
	pthread_t thread = begin_slow_init();

	opens_in_a_child("slow");
	sem_post(&init_may_end);
	pthread_join(thread, NULL);
}

static void a_child_opens_an_adapter_that_its_parent_was_loading(void)
{
	needs_no_sanitizer();
	env_run(LINE("slow", "plain"), open_in_child_of_loader);
}

static void *list_one(void *arg)
{
	DAT_COUNT n;

	dat_registry_list_providers(0, &n, NULL);
	CHECK_EQ_INT(n, 1);
	return arg;
}

/* The parent reads its dat.conf from a pipe, and holds the lock of the registry meanwhile. */
static void open_in_child_of_reader(void)
{
	char good[1024], variable[64];
	pthread_t thread;
	int fds[2];

	REQUIRE_EQ_INT(pipe(fds), 0);
	snprintf(good, sizeof(good), "%s", getenv("DAT_OVERRIDE"));
	snprintf(variable, sizeof(variable), "/dev/fd/%d", fds[0]);
	setenv("DAT_OVERRIDE", variable, 1);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, list_one, NULL), 0);
	usleep(100000);
	setenv("DAT_OVERRIDE", good, 1);
	opens_in_a_child("a");
	dprintf(fds[1], LINE("b", "plain"));
	close(fds[1]);
	pthread_join(thread, NULL);
}

static void a_child_reads_what_its_parent_was_reading(void)
{
	needs_no_sanitizer();
	env_run(LINE("a", "plain"), open_in_child_of_reader);
}

static const struct check_test thread_tests[] = {
	CHECK_TEST(one_adapter_is_opened_and_closed_by_many_threads),
	CHECK_TEST(many_threads_open_one_adapter_and_init_runs_once),
	CHECK_TEST(a_slow_init_holds_up_nobody_else),
	CHECK_TEST(a_thread_cancelled_while_it_waits_for_an_init_leaves_no_lock_behind),
	CHECK_TEST(inits_that_open_each_other_s_adapter_do_not_wait_for_ever),
	CHECK_TEST(calls_go_on_while_other_adapters_come_and_go),
	CHECK_TEST(many_threads_may_be_the_first_to_list),
	CHECK_TEST(many_threads_register_and_remove),
	CHECK_TEST(an_adapter_closed_by_many_threads_is_closed_once),
	CHECK_TEST(a_child_opens_an_adapter_that_its_parent_was_loading),
	CHECK_TEST(a_child_reads_what_its_parent_was_reading),
	CHECK_END
};

static const struct check_suite threads = { .name = "registry threads", .tests = thread_tests };
CHECK_SUITES(&threads);
