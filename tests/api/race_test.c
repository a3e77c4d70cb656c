/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread posts on an endpoint or a shared receive queue, or reads an event queue, while another
 * thread frees it, alone or with the whole IA. That is an error of the program, and the return value
 * of such a call is not specified; but the call returns, and no other object is damaged.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

#define SLICE  64
#define FREES  2000
#define BREAKS 150
#define CLOSES 60
#define WAIT_EVERY 16 /* once in this many rounds, the test waits until the racer has made calls that began in the round */

static struct api_buf buf;

static struct {
	DAT_EP_HANDLE _Atomic ep;   /* the object that the racer uses and the test frees */
	DAT_EVD_HANDLE _Atomic evd;
	DAT_SRQ_HANDLE _Atomic srq;
	_Atomic bool over;
	_Atomic unsigned long calls; /* calls that have returned */
	pthread_t thread;
} racer;

static void setup(void)
{
	/* the thread sanitizer would report an object that is freed while it is in use */
	if (THREAD_SANITIZER)
		check_skip("the race is wanted here");
	api_open();
	buf = api_buf(1 << 20, DAT_MEM_PRIV_ALL_FLAG);
	memset(&racer, 0, sizeof(racer));
}

/* Checks the return value of a post, which may come before or after the free. */
static void want_answer(DAT_RETURN ret)
{
	static const DAT_RETURN good[] = { DAT_SUCCESS,
					   DAT_INVALID_HANDLE,
					   DAT_INVALID_STATE,
					   DAT_INSUFFICIENT_RESOURCES,
					   DAT_QUEUE_EMPTY,
					   /*
					    * the memory may belong to another IA than the endpoint
					    * now
					    */
					   DAT_PRIVILEGES_VIOLATION,
					   DAT_PROTECTION_VIOLATION };
	bool known = false;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		known |= DAT_GET_TYPE(ret) == good[i];
	if (!known)
		CHECK_FAIL("a call on what is being freed answers 0x%x", (unsigned int)ret);
	atomic_fetch_add(&racer.calls, 1);
}

static void *post_receives(void *arg)
{
	(void)arg;
	while (!atomic_load(&racer.over))
		want_answer(api_recv(atomic_load(&racer.ep), &buf, 0, SLICE, 1));
	return NULL;
}

static void *post_requests(void *arg)
{
	DAT_LMR_TRIPLET local = api_seg(&buf, 0, SLICE);

	(void)arg;
	for (unsigned int i = 0; !atomic_load(&racer.over); i++) {
		DAT_EP_HANDLE ep = atomic_load(&racer.ep);

		if (i % 3)
			want_answer(api_send(ep, &buf, 0, i % 2 ? SLICE : 4096, 1,
					     DAT_COMPLETION_SUPPRESS_FLAG));
		else
			want_answer(api_write(ep, local, api_target(&buf, 8192, SLICE), 1,
					      DAT_COMPLETION_SUPPRESS_FLAG));
	}
	return NULL;
}

static void *dequeue(void *arg)
{
	DAT_EVENT event;

	(void)arg;
	while (!atomic_load(&racer.over))
		want_answer(dat_evd_dequeue(atomic_load(&racer.evd), &event));
	return NULL;
}

static void *post_shared(void *arg)
{
	DAT_LMR_TRIPLET local = api_seg(&buf, 0, SLICE);

	(void)arg;
	while (!atomic_load(&racer.over))
		want_answer(dat_srq_post_recv(atomic_load(&racer.srq), 1, &local, api_cookie(1)));
	return NULL;
}

static void *use_all(void *arg)
{
	DAT_LMR_TRIPLET local = api_seg(&buf, 0, SLICE);
	DAT_EVENT event;

	(void)arg;
	while (!atomic_load(&racer.over)) {
		want_answer(api_recv(atomic_load(&racer.ep), &buf, 0, SLICE, 1));
		want_answer(api_send(atomic_load(&racer.ep), &buf, 0, SLICE, 1,
				     DAT_COMPLETION_SUPPRESS_FLAG));
		want_answer(dat_srq_post_recv(atomic_load(&racer.srq), 1, &local, api_cookie(1)));
		want_answer(dat_evd_dequeue(atomic_load(&racer.evd), &event));
	}
	return NULL;
}

static void race_begin(void *(*run)(void *))
{
	REQUIRE(pthread_create(&racer.thread, NULL, run, NULL) == 0);
}

/*
 * Waits until the racer has made some more calls. On a busy machine, this takes as long as other
 * processes have the processors.
 */
static void race_on(unsigned long calls)
{
	unsigned long from = atomic_load(&racer.calls);

	check_alive();
	while (atomic_load(&racer.calls) - from < calls)
		sched_yield();
}

static void race_end(void)
{
	atomic_store(&racer.over, true);
	REQUIRE(pthread_join(racer.thread, NULL) == 0);
}

static DAT_EP_HANDLE new_ep(const struct api_end *end)
{
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, end->recv, end->request, end->connect, NULL, &ep),
		    DAT_SUCCESS);
	return ep;
}

static void receives_are_posted_while_the_endpoint_is_freed(void)
{
	struct api_end end;

	api_end_make(&end, NULL);
	atomic_store(&racer.ep, end.ep);
	race_begin(post_receives);
	for (int i = 0; i < FREES; i++) {
		DAT_EP_HANDLE next = new_ep(&end), old = atomic_exchange(&racer.ep, next);

		CHECK_DAT(dat_ep_free(old), DAT_SUCCESS);
		if (i % WAIT_EVERY == 0)
			race_on(3);
	}
	race_end();
	API_EMPTY(end.recv);
}

static void requests_are_posted_while_the_endpoint_is_freed(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	atomic_store(&racer.ep, pair.a.ep);
	race_begin(post_requests);
	for (int i = 0; i < BREAKS; i++) {
		race_on(20);
		api_end_free(&pair.a);
		api_end_free(&pair.b);
		REQUIRE_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
		REQUIRE_DAT(dat_evd_free(pair.cr_evd), DAT_SUCCESS);
		api_pair_make(&pair, NULL);
		atomic_store(&racer.ep, pair.a.ep);
	}
	race_end();
}

static void queue_is_read_while_it_is_freed(void)
{
	DAT_EVD_HANDLE evd = api_evd(64, DAT_EVD_DTO_FLAG);

	atomic_store(&racer.evd, evd);
	race_begin(dequeue);
	for (int i = 0; i < FREES; i++) {
		DAT_EVD_HANDLE next = api_evd(64, DAT_EVD_DTO_FLAG);

		evd = atomic_exchange(&racer.evd, next);
		CHECK_DAT(dat_evd_free(evd), DAT_SUCCESS);
		if (i % WAIT_EVERY == 0)
			race_on(3);
	}
	race_end();
}

static DAT_SRQ_HANDLE new_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;

	REQUIRE_DAT(dat_srq_create(ia, pz, &attr, &srq), DAT_SUCCESS);
	return srq;
}

static void receives_are_posted_while_their_shared_queue_is_freed(void)
{
	if (!api.prov.srq_supported)
		check_skip("no shared receive queues");
	atomic_store(&racer.srq, new_srq(api.ia, api.pz));
	race_begin(post_shared);
	for (int i = 0; i < FREES; i++) {
		DAT_SRQ_HANDLE next = new_srq(api.ia, api.pz),
			       old = atomic_exchange(&racer.srq, next);

		if (i % WAIT_EVERY == 0)
			race_on(3);
		CHECK_DAT(dat_srq_free(old), DAT_SUCCESS);
	}
	race_end();
}

/* Opens another IA, and creates in it the objects that the racer uses from now on. */
static DAT_IA_HANDLE open_another(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &ia), DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_create(ia, &pz), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_create(ia, 64, DAT_HANDLE_NULL,
				   DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep), DAT_SUCCESS);
	if (api.prov.srq_supported)
		atomic_store(&racer.srq, new_srq(ia, pz));
	atomic_store(&racer.ep, ep);
	atomic_store(&racer.evd, evd);
	return ia;
}

static void all_is_used_while_its_ia_is_closed(void)
{
	for (int i = 0; i < CLOSES; i++) {
		DAT_IA_HANDLE ia = open_another();

		if (!i)
			race_begin(use_all);
		if (i % 2)
			race_on(8);
		CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		race_on(8);
	}
	race_end();
}

static const struct check_test tests[] = {
	CHECK_TEST(receives_are_posted_while_the_endpoint_is_freed),
	CHECK_TEST(requests_are_posted_while_the_endpoint_is_freed),
	CHECK_TEST(queue_is_read_while_it_is_freed),
	CHECK_TEST(receives_are_posted_while_their_shared_queue_is_freed),
	CHECK_TEST(all_is_used_while_its_ia_is_closed), CHECK_END
};

static const struct check_suite race = {
	.name = "race with a free", .setup = setup, .teardown = api_close, .tests = tests
};

CHECK_SUITES(&race);
