/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ends of connections that the service thread puts off, because another thread has the poll lock of a queue: what other
 * threads, and the program's own callbacks on the service thread, do with the endpoint meanwhile.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core_world.h"
#include "providers/common/core/cm.h"
#include "providers/common/core/ep.h"

static DAT_EP_HANDLE a, b;
static _Atomic bool reported, done, counted;

/* Connects two endpoints. */
static void open_world(void)
{
	setenv("DAT_LOG", "info", 1); /* read once, when the first message is written */
	world_open();
	a = world_ep();
	b = world_ep_on(w.dto2, NULL);
	world_pair(a, b);
	reported = done = counted = false;
}

static void poll_lock(void)
{
	datp_lock(&((struct datp_evd *)w.dto)->poll_lock);
}

static void poll_unlock(void)
{
	datp_unlock(&((struct datp_evd *)w.dto)->poll_lock);
}

/* Service thread. The transport says that the connection of `a` has broken. */
static void report(void *arg)
{
	(void)arg;
	CHECK(datp_cm_disconnected(a, DAT_CONNECTION_EVENT_BROKEN));
	CHECK_EQ_INT(ia_priv(w.ia)->put_off, 1);
	reported = true;
}

/* The poll lock is held, and the end of a's connection is put off. */
static void put_off(void)
{
	poll_lock();
	REQUIRE(!datp_loop_call(w.ia, report, NULL));
	REQUIRE_SOON(reported);
}

/* Takes the event of the end, of which there is one. */
static void ends_once(void)
{
	DAT_EVENT event = world_expect(w.conn, DAT_CONNECTION_EVENT_BROKEN);

	CHECK(event.event_data.connect_event_data.ep_handle == a);
	CHECK_EQ_INT(world_state(a), DAT_EP_STATE_DISCONNECTED);
}

/* Service thread. */
static void count_none(void *arg)
{
	(void)arg;
	CHECK_EQ_INT(ia_priv(w.ia)->put_off, 0);
	counted = true;
}

static void nothing_is_put_off(void)
{
	REQUIRE(!datp_loop_call(w.ia, count_none, NULL));
	REQUIRE_SOON(counted);
	CHECK_EMPTY(w.conn);
}

static void end_comes_when_the_lock_is_free(void)
{
	REQUIRE_DAT(world_recv(a, 0, 8, 1), DAT_SUCCESS);
	put_off();
	CHECK_EMPTY(w.conn);
	CHECK_EQ_INT(world_state(b), DAT_EP_STATE_CONNECTED);
	poll_unlock();
	ends_once();
	CHECK_DTO(w.dto, 1, DAT_DTO_ERR_FLUSHED);
	nothing_is_put_off();
}

/* The thread that has the queue may be taking the completion that says why. */
static void message_says_that_the_operation_is_not_known(void)
{
	check_stderr_begin();
	put_off();
	poll_unlock();
	ends_once();
	CHECK_HAS_STR(check_stderr_end(), "which operation failed is not known, because another thread is taking events");
}

static void later_report_is_ignored(void)
{
	put_off();
	CHECK(!datp_cm_disconnected(a, DAT_CONNECTION_EVENT_DISCONNECTED));
	poll_unlock();
	ends_once();
	nothing_is_put_off();
}

static void *call(void *arg)
{
	void (*fn)(void *) = *(void (**)(void *))arg;

	fn(NULL);
	return NULL;
}

static void disconnect(void *arg)
{
	(void)arg;
	CHECK_DAT(DAT->ep_disconnect_func(a, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(world_state(a), DAT_EP_STATE_DISCONNECTED);
	done = true;
}

static void free_it(void *arg)
{
	(void)arg;
	CHECK_DAT(DAT->ep_free_func(a), DAT_SUCCESS);
	done = true;
}

/* The endpoint that is freed takes its own event along. */
static void peer_hears_of_it(void)
{
	DAT_EVENT event = world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);

	CHECK(event.event_data.connect_event_data.ep_handle == b);
}

/* Another thread makes the call, which ends when the lock is free. */
static void other_thread_waits(void (*fn)(void *))
{
	pthread_t other;

	put_off();
	REQUIRE(!pthread_create(&other, NULL, call, &fn));
	usleep(5000);
	CHECK(!done);
	poll_unlock();
	REQUIRE(!pthread_join(other, NULL));
	CHECK(done);
}

static void disconnect_waits_for_the_end(void)
{
	other_thread_waits(disconnect);
	ends_once();
	nothing_is_put_off();
}

static void free_waits_for_the_end(void)
{
	other_thread_waits(free_it);
	peer_hears_of_it();
	nothing_is_put_off();
}

/* An agent of the program makes the call, on the service thread itself: nobody else would end the connection meanwhile. */
static void agent_ends_it(void (*fn)(void *))
{
	put_off();
	REQUIRE(!datp_loop_call(w.ia, fn, NULL));
	usleep(5000);
	poll_unlock();
	REQUIRE_SOON(done);
}

static void disconnect_in_an_agent_ends_what_was_put_off(void)
{
	agent_ends_it(disconnect);
	ends_once();
	nothing_is_put_off();
}

static void free_in_an_agent_ends_what_was_put_off(void)
{
	agent_ends_it(free_it);
	peer_hears_of_it();
	nothing_is_put_off();
}

/* The agent's own disconnect is the first to end the connection. */
static void disconnect_in_an_agent_waits_for_the_lock(void)
{
	poll_lock();
	REQUIRE(!datp_loop_call(w.ia, disconnect, NULL));
	usleep(5000);
	CHECK(!done);
	poll_unlock();
	REQUIRE_SOON(done);
	world_expect(w.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void unlock_later(void *arg)
{
	(void)arg;
	usleep(5000);
	poll_unlock();
}

static void close_waits_for_the_end(void)
{
	void (*fn)(void *) = unlock_later;
	pthread_t other;

	put_off();
	REQUIRE(!pthread_create(&other, NULL, call, &fn));
	CHECK_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
	REQUIRE(!pthread_join(other, NULL));
}

static const struct check_test tests[] = {
	CHECK_TEST(end_comes_when_the_lock_is_free),
	CHECK_TEST(message_says_that_the_operation_is_not_known),
	CHECK_TEST(later_report_is_ignored),
	CHECK_TEST(disconnect_waits_for_the_end),
	CHECK_TEST(free_waits_for_the_end),
	CHECK_TEST(disconnect_in_an_agent_ends_what_was_put_off),
	CHECK_TEST(free_in_an_agent_ends_what_was_put_off),
	CHECK_TEST(disconnect_in_an_agent_waits_for_the_lock),
	CHECK_TEST(close_waits_for_the_end),
	CHECK_END
};

static const struct check_suite suite = {
	.name = "ends that are put off", .setup = open_world, .teardown = world_close, .tests = tests
};

CHECK_SUITES(&suite);
