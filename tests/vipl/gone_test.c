/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls for a VI, or a completion queue, that another thread destroys meanwhile: after they have looked at its handle, and
 * before they have its lock. They refuse the handle, as if they had begun later.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "world.h"

static struct side s;
static VIP_VI_HANDLE vi; /* this, or cq, is destroyed */
static VIP_CQ_HANDLE cq;
static pthread_t thread;
static bool calling;
static VIP_RETURN returned;

static __thread unsigned int late; /* this thread waits before this one of the locks that it takes while it holds none */
static __thread unsigned int held;
static atomic_bool arrived, gone;

static void wait_until_it_is_gone(void)
{
	atomic_store(&arrived, true);
	while (!atomic_load(&gone))
		check_nap();
}

/* These two replace the C library's, also for libvipl. */
int pthread_mutex_lock(pthread_mutex_t *lock)
{
	static _Atomic(int (*)(pthread_mutex_t *)) real;

	if (!atomic_load(&real))
		atomic_store(&real, (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock"));
	if (held == 0 && late > 0 && --late == 0)
		wait_until_it_is_gone();
	held++;
	return atomic_load(&real)(lock);
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static _Atomic(int (*)(pthread_mutex_t *)) real;

	if (!atomic_load(&real))
		atomic_store(&real, (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
	held--;
	return atomic_load(&real)(lock);
}

static void open_side(void)
{
	side_open_vi(&s);
	REQUIRE_VIP(VipCreateVi(s.nic, &s.attr, NULL, NULL, &vi), VIP_SUCCESS);
}

static void open_side_for_cqs(void)
{
	side_open_vi(&s);
	REQUIRE_VIP(VipCreateCQ(s.nic, 64, &cq), VIP_SUCCESS);
}

static void close_side(void)
{
	atomic_store(&gone, true);
	if (calling)
		pthread_join(thread, NULL);
	calling = false;
	side_close(&s);
}

static struct {
	VIP_RETURN (*make)(void);
	unsigned int lock; /* the one before which the call waits */
} call;

static void *call_late(void *arg)
{
	(void)arg;
	held = 0;
	late = call.lock;
	returned = call.make();
	return NULL;
}

/* Has another thread make the call, and destroys the object meanwhile. Returns what the latter has returned. */
static VIP_RETURN destroy_during(VIP_RETURN (*make)(void), unsigned int lock, VIP_RETURN (*destroy)(void))
{
	VIP_RETURN ret;

	atomic_store(&arrived, false);
	atomic_store(&gone, false);
	call.make = make;
	call.lock = lock;
	REQUIRE(pthread_create(&thread, NULL, call_late, NULL) == 0);
	calling = true;
	REQUIRE_SOON(atomic_load(&arrived));
	ret = destroy();
	atomic_store(&gone, true);
	pthread_join(thread, NULL);
	calling = false;
	return ret;
}

static VIP_RETURN destroy_vi(void)
{
	return VipDestroyVi(vi);
}

static VIP_RETURN destroy_cq(void)
{
	return VipDestroyCQ(cq);
}

static void call_refuses_a_vi_that_goes(VIP_RETURN (*make)(void))
{
	REQUIRE_VIP(destroy_during(make, 1, destroy_vi), VIP_SUCCESS);
	CHECK_VIP(returned, VIP_INVALID_PARAMETER);
}

static void call_refuses_a_cq_that_goes(VIP_RETURN (*make)(void))
{
	REQUIRE_VIP(destroy_during(make, 1, destroy_cq), VIP_SUCCESS);
	CHECK_VIP(returned, VIP_INVALID_PARAMETER);
}

static VIP_RETURN post_a_receive(void)
{
	return VipPostRecv(vi, prepare(&s, 0, 64), s.handle);
}

static VIP_RETURN post_a_request(void)
{
	return VipPostSend(vi, prepare(&s, 0, 64), s.handle);
}

static VIP_RETURN connect_to_a_server(void)
{
	union address local, remote;

	address_make(&s, "aa", &local);
	address_make(&s, "bb", &remote);
	return VipConnectRequest(vi, &local.net, &remote.net, check_patience_ms(), NULL);
}

static VIP_RETURN connect_to_a_peer(void)
{
	union address local, remote;

	address_make(&s, "aa", &local);
	address_make(&s, "bb", &remote);
	return VipConnectPeerRequest(vi, &local.net, &remote.net, check_patience_ms());
}

static VIP_RETURN change_attributes(void)
{
	VIP_VI_ATTRIBUTES attr = s.attr;

	attr.EnableRdmaRead = VIP_FALSE;
	return VipSetViAttributes(vi, &attr);
}

static VIP_RETURN query(void)
{
	VIP_VI_STATE state;

	return VipQueryVi(vi, &state, NULL, NULL, NULL);
}

static VIP_RETURN disconnect(void)
{
	return VipDisconnect(vi);
}

static VIP_RETURN take_a_request(void)
{
	VIP_DESCRIPTOR *d;

	return VipSendDone(vi, &d);
}

static VIP_RETURN wait_for_a_receive(void)
{
	VIP_DESCRIPTOR *d;

	return VipRecvWait(vi, VIP_INFINITE, &d);
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE handle, VIP_DESCRIPTOR *d)
{
	(void)context, (void)nic, (void)handle, (void)d;
	CHECK_FAIL("a handler was called");
}

static VIP_RETURN ask_for_a_handler(void)
{
	return VipRecvNotify(vi, NULL, on_descriptor);
}

static void receive_is_not_posted_to_a_vi_that_goes(void)
{
	call_refuses_a_vi_that_goes(post_a_receive);
}

static void request_is_not_posted_to_a_vi_that_goes(void)
{
	call_refuses_a_vi_that_goes(post_a_request);
}

static void vi_that_goes_is_not_connected_to_a_server(void)
{
	call_refuses_a_vi_that_goes(connect_to_a_server);
}

static void vi_that_goes_is_not_connected_to_a_peer(void)
{
	call_refuses_a_vi_that_goes(connect_to_a_peer);
}

static void vi_that_goes_gets_no_attributes(void)
{
	call_refuses_a_vi_that_goes(change_attributes);
}

static void vi_that_goes_has_no_state(void)
{
	call_refuses_a_vi_that_goes(query);
}

static void vi_that_goes_is_not_disconnected(void)
{
	call_refuses_a_vi_that_goes(disconnect);
}

static void descriptor_of_a_vi_that_goes_is_not_taken(void)
{
	call_refuses_a_vi_that_goes(take_a_request);
}

static void descriptor_of_a_vi_that_goes_is_not_awaited(void)
{
	call_refuses_a_vi_that_goes(wait_for_a_receive);
}

static void handler_for_a_vi_that_goes_is_refused(void)
{
	call_refuses_a_vi_that_goes(ask_for_a_handler);
}

static void vi_is_destroyed_once(void)
{
	call_refuses_a_vi_that_goes(destroy_vi);
}

static const struct check_test tests[] = {
	CHECK_TEST(receive_is_not_posted_to_a_vi_that_goes),
	CHECK_TEST(request_is_not_posted_to_a_vi_that_goes),
	CHECK_TEST(vi_that_goes_is_not_connected_to_a_server),
	CHECK_TEST(vi_that_goes_is_not_connected_to_a_peer),
	CHECK_TEST(vi_that_goes_gets_no_attributes),
	CHECK_TEST(vi_that_goes_has_no_state),
	CHECK_TEST(vi_that_goes_is_not_disconnected),
	CHECK_TEST(descriptor_of_a_vi_that_goes_is_not_taken),
	CHECK_TEST(descriptor_of_a_vi_that_goes_is_not_awaited),
	CHECK_TEST(handler_for_a_vi_that_goes_is_refused),
	CHECK_TEST(vi_is_destroyed_once),
	CHECK_END,
};
static const struct check_suite suite = { .name = "gone", .setup = open_side, .teardown = close_side, .tests = tests };

/* ------------------------------------------------------------------ completion queues */

static VIP_RETURN take_an_entry(void)
{
	VIP_VI_HANDLE of;
	VIP_BOOLEAN recv;

	return VipCQDone(cq, &of, &recv);
}

static VIP_RETURN wait_for_an_entry(void)
{
	VIP_VI_HANDLE of;
	VIP_BOOLEAN recv;

	return VipCQWait(cq, VIP_INFINITE, &of, &recv);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE handle, VIP_BOOLEAN recv)
{
	(void)context, (void)nic, (void)handle, (void)recv;
	CHECK_FAIL("a handler was called");
}

static VIP_RETURN ask_for_a_handler_of_entries(void)
{
	return VipCQNotify(cq, NULL, on_entry);
}

static VIP_RETURN make_longer(void)
{
	return VipResizeCQ(cq, 128);
}

static VIP_RETURN create_a_vi(void)
{
	return VipCreateVi(s.nic, &s.attr, cq, cq, &vi);
}

static void entry_of_a_cq_that_goes_is_not_taken(void)
{
	call_refuses_a_cq_that_goes(take_an_entry);
}

static void entry_of_a_cq_that_goes_is_not_awaited(void)
{
	call_refuses_a_cq_that_goes(wait_for_an_entry);
}

static void handler_for_a_cq_that_goes_is_refused(void)
{
	call_refuses_a_cq_that_goes(ask_for_a_handler_of_entries);
}

static void cq_that_goes_is_not_made_longer(void)
{
	call_refuses_a_cq_that_goes(make_longer);
}

static void cq_is_destroyed_once(void)
{
	call_refuses_a_cq_that_goes(destroy_cq);
}

/* The call waits before its first lock, then another one before its second lock, and so on, until the queue is in use. */
static void cq_that_goes_gets_no_vi(void)
{
	VIP_RETURN destroyed = VIP_SUCCESS;

	for (unsigned int lock = 1; destroyed == VIP_SUCCESS; lock++) {
		if (lock > 1)
			REQUIRE_VIP(VipCreateCQ(s.nic, 64, &cq), VIP_SUCCESS);
		destroyed = destroy_during(create_a_vi, lock, destroy_cq);
		CHECK_VIP(returned, destroyed == VIP_SUCCESS ? VIP_INVALID_PARAMETER : VIP_SUCCESS);
		if (returned == VIP_SUCCESS)
			CHECK_VIP(VipDestroyVi(vi), VIP_SUCCESS);
	}
	CHECK_VIP(destroyed, VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDestroyCQ(cq), VIP_SUCCESS);
}

static const struct check_test cq_tests[] = {
	CHECK_TEST(entry_of_a_cq_that_goes_is_not_taken),
	CHECK_TEST(entry_of_a_cq_that_goes_is_not_awaited),
	CHECK_TEST(handler_for_a_cq_that_goes_is_refused),
	CHECK_TEST(cq_that_goes_is_not_made_longer),
	CHECK_TEST(cq_is_destroyed_once),
	CHECK_TEST(cq_that_goes_gets_no_vi),
	CHECK_END,
};
static const struct check_suite cq_suite = {
	.name = "gone_cq", .setup = open_side_for_cqs, .teardown = close_side, .tests = cq_tests
};

CHECK_SUITES(&suite, &cq_suite);
