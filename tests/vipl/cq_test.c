/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues, handlers, and threads that wait. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static struct side a, b;	/* a has a completion queue */

static void open_with_cq(void)
{
	sides_open_with_cq(&a, &b);
}

static void open_without_cq(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
	sides_connect(&a, &b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

static void cq_tells(VIP_BOOLEAN want_recv)
{
	VIP_BOOLEAN recv = -1;
	VIP_VI_HANDLE vi = NULL;

	REQUIRE_VIP(VipCQWait(a.cq, check_patience_ms(), &vi, &recv), VIP_SUCCESS);
	CHECK(vi == a.vi);
	CHECK_EQ_INT(recv, want_recv);
}

static void each_completion_is_told_once(void)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;
	VIP_DESCRIPTOR *d;

	CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
	post_recv(&a, 0, 64);
	post_send(&b, 1, 8);
	cq_tells(VIP_TRUE);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_SUCCESS);
	CHECK(d == descriptor(&a, 0));
	post_recv(&b, 0, 64);
	post_send(&a, 1, 8);
	cq_tells(VIP_FALSE);
	CHECK_VIP(VipSendDone(a.vi, &d), VIP_SUCCESS);
	CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
	CHECK_VIP(VipCQWait(a.cq, 10, &vi, &recv), VIP_TIMEOUT);
	CHECK_VIP(VipCQDone(NULL, &vi, &recv), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipCQDone(a.cq, NULL, &recv), VIP_INVALID_PARAMETER);
}

static void a_queue_with_a_cq_is_waited_for_there(void)
{
	VIP_DESCRIPTOR *d;

	CHECK_VIP(VipRecvWait(a.vi, 0, &d), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipSendWait(a.vi, 0, &d), VIP_INVALID_PARAMETER);
}

static void a_cq_in_use_is_not_destroyed(void)
{
	CHECK_VIP(VipDestroyCQ(a.cq), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDestroyCQ(NULL), VIP_INVALID_PARAMETER);
}

static void a_cq_is_resized_with_what_it_holds(void)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	for (unsigned int i = 0; i < 8; i++)
		post_recv(&a, i, 64);
	for (unsigned int i = 0; i < 8; i++)
		post_send(&b, i, 8);
	for (unsigned int i = 0; i < 8; i++)
		expect_send(&b, i, VIP_STATUS_OP_SEND);
	cq_tells(VIP_TRUE);
	CHECK_VIP(VipResizeCQ(a.cq, 0), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipResizeCQ(a.cq, 1000), VIP_SUCCESS);
	for (unsigned int i = 1; i < 8; i++)
		cq_tells(VIP_TRUE);
	CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
	CHECK_VIP(VipCreateCQ(a.nic, 0, &vi), VIP_INVALID_PARAMETER);
}

static void flushed_descriptors_are_told_too(void)
{
	VIP_DESCRIPTOR *d;

	post_recv(&a, 0, 64);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	cq_tells(VIP_TRUE);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK(d == descriptor(&a, 0));
}

/* The descriptors are taken from the VI's queues, and their entries stay in the completion queue. */
static void a_destroyed_vi_is_not_told_of(void)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi, gone = a.vi;
	VIP_DESCRIPTOR *d;

	for (unsigned int i = 0; i < 3; i++)
		post_recv(&a, i, 64);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	side_drain(&a);
	REQUIRE_VIP(VipCreateVi(a.nic, &a.attr, a.cq, a.cq, &a.vi), VIP_SUCCESS);
	post_recv(&a, 3, 64);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipDestroyVi(gone), VIP_SUCCESS);
	cq_tells(VIP_TRUE);
	CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
	CHECK(d == descriptor(&a, 3));
}

static atomic_int overruns, post_errors;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *what)
{
	(void)context;
	if (what->ErrorCode == VIP_ERROR_VI_OVERRUN && what->ResourceCode == VIP_RESOURCE_CQ &&
	    what->NicHandle == a.nic && what->CQHandle == a.cq)
		atomic_fetch_add(&overruns, 1);
	if (what->ErrorCode == VIP_ERROR_POST_DESC)
		atomic_fetch_add(&post_errors, 1);
}

/*
 * Checks how many overruns have been reported. Errors are reported in order, so the one that this causes comes after them. Its
 * descriptor makes one more entry, for which there must be no room.
 */
static void overruns_are(int want)
{
	VIP_DESCRIPTOR *off = (void *)((char *)descriptor(&a, 0) + 8);
	int before = atomic_load(&post_errors);

	REQUIRE_VIP(VipPostSend(a.vi, off, a.handle), VIP_SUCCESS);
	REQUIRE_SOON(atomic_load(&post_errors) > before);
	CHECK_EQ_INT(atomic_load(&overruns), want);
}

/* Fills the completion queue of `a`, which is 4 entries long then, and has it lose 2. */
static void overrun(void)
{
	REQUIRE_VIP(VipResizeCQ(a.cq, 4), VIP_SUCCESS);
	for (unsigned int i = 0; i < 6; i++)
		post_recv(&a, i, 64);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
}

/* The queue has lost entries, but all descriptors can be taken from the VI's queues. */
static void a_cq_that_is_too_short_says_so(void)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;
	VIP_DESCRIPTOR *d;

	atomic_store(&overruns, 0);
	REQUIRE_VIP(VipErrorCallback(a.nic, NULL, on_error), VIP_SUCCESS);
	overrun();
	REQUIRE_SOON(atomic_load(&overruns) > 0);
	CHECK_VIP(VipResizeCQ(a.cq, 3), VIP_ERROR_RESOURCE);
	for (unsigned int i = 0; i < 4; i++)
		cq_tells(VIP_TRUE);
	CHECK_VIP(VipCQDone(a.cq, &vi, &recv), VIP_NOT_DONE);
	for (unsigned int i = 0; i < 6; i++) {
		CHECK_VIP(VipRecvDone(a.vi, &d), VIP_DESCRIPTOR_ERROR);
		CHECK(d == descriptor(&a, i));
	}
}

/* Without this, a peer could have any number of errors queued. A request of an idle VI completes at once. */
static void a_cq_that_is_too_short_says_so_once_until_there_is_room(void)
{
	atomic_store(&overruns, 0);
	REQUIRE_VIP(VipErrorCallback(a.nic, NULL, on_error), VIP_SUCCESS);
	overrun();
	overruns_are(1);
	cq_tells(VIP_TRUE);
	post_send(&a, 6, 8);
	post_send(&a, 6, 8);
	overruns_are(2);
	/* there is no more room than before */
	REQUIRE_VIP(VipResizeCQ(a.cq, 4), VIP_SUCCESS);
	post_send(&a, 6, 8);
	overruns_are(2);
	REQUIRE_VIP(VipResizeCQ(a.cq, 5), VIP_SUCCESS);
	post_send(&a, 6, 8);
	post_send(&a, 6, 8);
	overruns_are(3);
	side_drain(&a);
}

static void a_cq_that_is_too_short_does_not_use_up_the_log(void)
{
	enum { TIMES = 10, LINES_MOST = 6 }; /* three in ten seconds; two such times may be touched */
	const char *text;
	int lines = 0;

	REQUIRE_VIP(VipErrorCallback(a.nic, NULL, NULL), VIP_SUCCESS);
	check_stderr_begin();
	overrun();
	for (int i = 0; i < TIMES; i++) {
		cq_tells(i < 4 ? VIP_TRUE : VIP_FALSE);
		post_send(&a, 6, 8);
		post_send(&a, 6, 8);
		side_drain(&a);
	}
	/* closing the NIC waits until all errors have been reported */
	close_sides();
	for (text = check_stderr_end(); (text = strstr(text, "a completion queue is too short")) != NULL; text++)
		lines++;
	CHECK(lines > 0 && lines <= LINES_MOST);
}

/* The arguments with which handlers were called. */
static struct {
	pthread_mutex_t lock;
	unsigned int calls;
	void *context[16];
	VIP_DESCRIPTOR *descriptor[16];
	VIP_BOOLEAN recv;
} heard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note(void *context, VIP_DESCRIPTOR *d)
{
	pthread_mutex_lock(&heard.lock);
	if (heard.calls < 16) {
		heard.context[heard.calls] = context;
		heard.descriptor[heard.calls] = d;
	}
	heard.calls++;
	pthread_mutex_unlock(&heard.lock);
}

static unsigned int calls(void)
{
	unsigned int n;

	pthread_mutex_lock(&heard.lock);
	n = heard.calls;
	pthread_mutex_unlock(&heard.lock);
	return n;
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
			  VIP_DESCRIPTOR *d)
{
	CHECK(nic == a.nic);
	CHECK(vi == a.vi);
	note(context, d);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
	CHECK(nic == a.nic);
	CHECK(vi == a.vi);
	heard.recv = recv;
	note(context, NULL);
}

static void handlers_are_called_in_order_once_each(void)
{
	int context[3];

	heard.calls = 0;
	for (unsigned int i = 0; i < 4; i++)
		post_recv(&a, i, 64);
	for (unsigned int i = 0; i < 3; i++)
		REQUIRE_VIP(VipRecvNotify(a.vi, &context[i], on_descriptor), VIP_SUCCESS);
	CHECK_EQ_INT(calls(), 0);
	for (unsigned int i = 0; i < 4; i++)
		post_send(&b, i, 8);
	REQUIRE_SOON(calls() == 3);
	for (unsigned int i = 0; i < 3; i++) {
		CHECK(heard.context[i] == &context[i]);
		CHECK(heard.descriptor[i] == descriptor(&a, i));
	}
	expect_recv(&a, 3, VIP_STATUS_OP_RECEIVE);
	CHECK_EQ_INT(calls(), 3);
	CHECK_VIP(VipRecvNotify(a.vi, NULL, NULL), VIP_INVALID_PARAMETER);
}

static void a_handler_gets_what_is_there_already(void)
{
	heard.calls = 0;
	post_recv(&b, 0, 64);
	post_send(&a, 1, 8);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
	REQUIRE_VIP(VipSendNotify(a.vi, NULL, on_descriptor), VIP_SUCCESS);
	REQUIRE_SOON(calls() == 1);
	CHECK(heard.descriptor[0] == descriptor(&a, 1));
}

static void a_handler_is_called_while_another_thread_waits(void)
{
	VIP_DESCRIPTOR *d;

	heard.calls = 0;
	post_recv(&a, 0, 64);
	post_recv(&a, 1, 64);
	REQUIRE_VIP(VipRecvNotify(a.vi, NULL, on_descriptor), VIP_SUCCESS);
	CHECK_VIP(VipRecvWait(a.vi, 20, &d), VIP_TIMEOUT);
	post_send(&b, 0, 8);
	post_send(&b, 1, 8);
	CHECK_VIP(VipRecvWait(a.vi, check_patience_ms(), &d), VIP_SUCCESS);
	REQUIRE_SOON(calls() == 1);
	CHECK(heard.descriptor[0] != d);
}

static void cq_handlers_get_the_entry(void)
{
	VIP_DESCRIPTOR *d;

	heard.calls = 0;
	post_recv(&a, 0, 64);
	REQUIRE_VIP(VipCQNotify(a.cq, &a, on_entry), VIP_SUCCESS);
	CHECK_VIP(VipRecvNotify(a.vi, &a, on_descriptor), VIP_INVALID_PARAMETER);
	post_send(&b, 1, 8);
	REQUIRE_SOON(calls() == 1);
	CHECK(heard.context[0] == &a);
	CHECK_EQ_INT(heard.recv, VIP_TRUE);
	CHECK_VIP(VipRecvDone(a.vi, &d), VIP_SUCCESS);
	/* This notice is dropped when the completion queue is destroyed. */
	REQUIRE_VIP(VipCQNotify(a.cq, &a, on_entry), VIP_SUCCESS);
}

static void on_descriptor_again(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
				VIP_DESCRIPTOR *d)
{
	on_descriptor(context, nic, vi, d);
	if (calls() < 10) {
		VipRecvNotify(vi, context, on_descriptor_again);
		VipPostRecv(vi, d, a.handle);
	}
}

static void a_handler_may_post_and_ask_for_more(void)
{
	heard.calls = 0;
	post_recv(&a, 0, 64);
	REQUIRE_VIP(VipRecvNotify(a.vi, NULL, on_descriptor_again), VIP_SUCCESS);
	for (unsigned int i = 0; i < 10; i++) {
		post_send(&b, 1, 8);
		REQUIRE_SOON(calls() == i + 1);
		expect_send(&b, 1, VIP_STATUS_OP_SEND);
	}
}

enum { FLOOD = 1000 };

static struct {
	atomic_bool begun; /* both VIs have a completion */
	atomic_int calls;
	atomic_int before; /* the calls that came before that of the other VI's handler; -1: it has not been called */
} flood;

static void on_other(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
	(void)context, (void)nic, (void)vi, (void)d;
	atomic_store(&flood.before, atomic_load(&flood.calls));
}

/* The next completion is there before the handler returns. */
static void on_flood(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
	(void)nic;
	while (!atomic_load(&flood.begun))
		check_nap();
	if (atomic_fetch_add(&flood.calls, 1) == FLOOD - 1)
		return;
	VipPostSend(vi, d, a.handle);
	VipSendNotify(vi, context, on_flood);
}

/* Requests of idle VIs, which complete at once, stand for the messages of two peers. */
static void a_flood_of_completions_does_not_keep_other_handlers(void)
{
	VIP_VI_HANDLE other;

	atomic_store(&flood.begun, false);
	atomic_store(&flood.calls, 0);
	atomic_store(&flood.before, -1);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	REQUIRE_VIP(VipCreateVi(a.nic, &a.attr, NULL, NULL, &other), VIP_SUCCESS);
	/* the other VI's notice is the older one */
	REQUIRE_VIP(VipSendNotify(other, NULL, on_other), VIP_SUCCESS);
	REQUIRE_VIP(VipSendNotify(a.vi, NULL, on_flood), VIP_SUCCESS);
	post_send(&a, 0, 8);
	REQUIRE_VIP(VipPostSend(other, prepare(&a, 1, 8), a.handle), VIP_SUCCESS);
	atomic_store(&flood.begun, true);
	REQUIRE_SOON(atomic_load(&flood.before) >= 0 && atomic_load(&flood.calls) == FLOOD);
	CHECK(atomic_load(&flood.before) < FLOOD / 2);
	CHECK_VIP(VipDestroyVi(other), VIP_SUCCESS);
}

/* Threads that wait for one queue: each message wakes one. */
enum { THREADS = 4, MESSAGES = 400, POSTED = 16 };

static atomic_uint taken;

static void *waiter(void *arg)
{
	VIP_DESCRIPTOR *d;

	(void)arg;
	while (atomic_load(&taken) < MESSAGES) {
		VIP_RETURN ret = VipRecvWait(a.vi, 20, &d);

		if (ret == VIP_SUCCESS) {
			CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
			atomic_fetch_add(&taken, 1);
		} else if (ret != VIP_TIMEOUT) {
			CHECK_VIP(ret, VIP_TIMEOUT);
			break;
		}
	}
	return NULL;
}

static void threads_wait_for_one_queue_while_another_polls(void)
{
	pthread_t thread[THREADS];
	uint64_t until = check_now_ms() + check_patience_ms();
	VIP_DESCRIPTOR *d;

	atomic_store(&taken, 0);
	for (unsigned int i = 0; i < POSTED; i++)
		post_recv(&a, i, 64);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, waiter, NULL) == 0);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		/* never more messages than posted receives, because not every transport lets messages wait */
		REQUIRE_SOON(i - atomic_load(&taken) < POSTED);
		post_send(&b, 0, 8);
		expect_send(&b, 0, VIP_STATUS_OP_SEND);
		if (VipRecvDone(a.vi, &d) == VIP_SUCCESS) {
			CHECK_VIP(VipPostRecv(a.vi, d, a.handle), VIP_SUCCESS);
			atomic_fetch_add(&taken, 1);
		}
	}
	while (atomic_load(&taken) < MESSAGES && check_now_ms() < until)
		check_nap();
	CHECK_EQ_INT(atomic_load(&taken), MESSAGES);
	atomic_store(&taken, MESSAGES); /* ends the threads if messages are missing */
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void *wait_for_ever(void *arg)
{
	VIP_DESCRIPTOR *d = NULL;

	*(VIP_RETURN *)arg = VipRecvWait(a.vi, VIP_INFINITE, &d);
	return NULL;
}

static struct {
	atomic_int tid;
	atomic_bool over;
	VIP_RETURN ret;
} patient;

static void *wait_for_very_long(void *arg)
{
	VIP_DESCRIPTOR *d = NULL;

	(void)arg;
	atomic_store(&patient.tid, (int)gettid());
	patient.ret = VipRecvWait(a.vi, VIP_INFINITE - 1, &d);
	atomic_store(&patient.over, true);
	return NULL;
}

/* The time at which such a wait would end is beyond what the clock's type holds. */
static void a_wait_with_the_longest_timeout_does_not_end_at_once(void)
{
	pthread_t thread;

	atomic_store(&patient.tid, 0);
	atomic_store(&patient.over, false);
	post_recv(&a, 0, 64);
	REQUIRE(pthread_create(&thread, NULL, wait_for_very_long, NULL) == 0);
	REQUIRE_SOON(atomic_load(&patient.over) ||
		     (atomic_load(&patient.tid) != 0 && check_sleeps(atomic_load(&patient.tid))));
	post_send(&b, 1, 8);
	pthread_join(thread, NULL);
	CHECK_VIP(patient.ret, VIP_SUCCESS);
}

static void a_disconnect_ends_a_wait(void)
{
	VIP_RETURN ret = VIP_SUCCESS;
	pthread_t thread;

	post_recv(&a, 0, 64);
	REQUIRE(pthread_create(&thread, NULL, wait_for_ever, &ret) == 0);
	CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	pthread_join(thread, NULL);
	CHECK_VIP(ret, VIP_DESCRIPTOR_ERROR);
}

static const struct check_test cq_tests[] = {
	CHECK_TEST(each_completion_is_told_once),
	CHECK_TEST(a_queue_with_a_cq_is_waited_for_there),
	CHECK_TEST(a_cq_in_use_is_not_destroyed),
	CHECK_TEST(a_cq_is_resized_with_what_it_holds),
	CHECK_TEST(flushed_descriptors_are_told_too),
	CHECK_TEST(a_destroyed_vi_is_not_told_of),
	CHECK_TEST(a_cq_that_is_too_short_says_so),
	CHECK_TEST(a_cq_that_is_too_short_says_so_once_until_there_is_room),
	CHECK_TEST(a_cq_that_is_too_short_does_not_use_up_the_log),
	CHECK_TEST(cq_handlers_get_the_entry),
	CHECK_END,
};
static const struct check_suite cq = {
	.name = "cq", .setup = open_with_cq, .teardown = close_sides, .tests = cq_tests
};

static const struct check_test notify_tests[] = {
	CHECK_TEST(handlers_are_called_in_order_once_each),
	CHECK_TEST(a_handler_gets_what_is_there_already),
	CHECK_TEST(a_handler_is_called_while_another_thread_waits),
	CHECK_TEST(a_handler_may_post_and_ask_for_more),
	CHECK_TEST(a_flood_of_completions_does_not_keep_other_handlers),
	CHECK_TEST(threads_wait_for_one_queue_while_another_polls),
	CHECK_TEST(a_wait_with_the_longest_timeout_does_not_end_at_once),
	CHECK_TEST(a_disconnect_ends_a_wait),
	CHECK_END,
};
static const struct check_suite notify = {
	.name = "notify", .setup = open_without_cq, .teardown = close_sides, .tests = notify_tests
};

CHECK_SUITES(&cq, &notify);
