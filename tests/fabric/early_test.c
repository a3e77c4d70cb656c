/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages and data that arrive before the passive side's program gets ESTABLISHED. Runs in a guest of the lab, over the adapter
 * that OPENDAT_TEST_IA names.
 *
 * This program defines datp_cm_established() itself. The provider calls this one, which calls that of libdatp.
 */
#include <datp/provider.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "api.h"

static struct api_end active, passive;
static _Atomic(void *) held; /* for this endpoint the service thread goes on only after the program has polled */
static _Atomic bool looking, looked;
static pid_t program;
static _Atomic(void *) slow; /* for this endpoint the service thread queues ESTABLISHED only once the program posts */
static _Atomic bool telling, posting; /* the service thread is about to queue ESTABLISHED; the program is about to post */

enum { SLOW_MS = 5 };

/*
 * Called by the service thread. For `held`, queues ESTABLISHED and then waits until the program has polled the receive EVD or
 * sleeps in a call. For `slow`, waits before it queues ESTABLISHED.
 */
bool datp_cm_established(struct datp_ep *ep, const void *pdata, uint32_t pdata_len)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	bool (*real)(struct datp_ep *, const void *, uint32_t), fresh;

	if (atomic_load(&slow) == ep) {
		atomic_store(&telling, true);
		while (!atomic_load(&posting) && check_now_ms() < until)
			check_nap();
		usleep(SLOW_MS * 1000);
	}
	*(void **)&real = dlsym(dlopen("libdatp.so.0", RTLD_LAZY | RTLD_NOLOAD),
				"datp_cm_established");
	fresh = real(ep, pdata, pdata_len);
	while (atomic_load(&held) == ep && !atomic_load(&looked) &&
	       !(atomic_load(&looking) && check_sleeps(program)) && check_now_ms() < until)
		check_nap();
	return fresh;
}

static void message_is_there_as_soon_as_its_connection_is(void)
{
	struct api_buf buf;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	DAT_RETURN ret;

	api_open();
	if (api_declares("accept", "unconfirmed"))
		check_skip("the device's connections are not confirmed");
	program = gettid();
	api_end_make(&active, NULL);
	api_end_make(&passive, NULL);
	buf = api_buf(128, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	atomic_store(&held, passive.ep);
	REQUIRE_DAT(api_recv(passive.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(active.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), passive.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_send(active.ep, &buf, 64, 64, 2, 0), DAT_SUCCESS);
	/* When the send has completed, the message is in the passive side's device. */
	API_DTO(active.request, active.ep, 2, DAT_DTO_SUCCESS, 64);
	/* API_CONN() would also query the endpoint, which might wait, so the event is taken alone. */
	API_EVENT(passive.connect, &event);
	atomic_store(&looking, true);
	CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	ret = dat_evd_dequeue(passive.recv, &event);
	atomic_store(&looked, true);
	REQUIRE_DAT(ret, DAT_SUCCESS);
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
}

/*
 * The state as dat_ep_query() reads it. dat_ep_get_status() polls for completions first, for which it waits for the poll lock
 * of the receive EVD; the service thread holds that lock while it is about to report the connection.
 */
static DAT_EP_STATE state_unpolled(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
	return param.ep_state;
}

/*
 * A server that polls its memory sees what a client has written, and answers. The endpoint is connected by then, even if the
 * service thread has not queued ESTABLISHED yet, so the post must succeed.
 */
static struct api_buf upon; /* the peer writes the byte at 64 */

/* Connects until the program has seen the peer's byte while the service thread has not queued ESTABLISHED yet. */
static void data_comes_before_established(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	api_open();
	if (api_declares("accept", "unconfirmed"))
		check_skip("the device's connections are not confirmed");
	api_end_make(&active, NULL);
	api_end_make(&passive, NULL);
	upon = api_buf(256, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	atomic_store(&slow, passive.ep);
	REQUIRE_DAT(api_recv(active.ep, &upon, 128, 64, 1), DAT_SUCCESS);
	upon.mem[0] = 1;
	REQUIRE_DAT(api_connect(active.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), passive.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(active.connect, active.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_write(active.ep, api_seg(&upon, 0, 1), api_target(&upon, 64, 1), 2, 0),
		    DAT_SUCCESS);
	while (!(atomic_load((_Atomic unsigned char *)&upon.mem[64]) && atomic_load(&telling)) &&
	       check_now_ms() < until)
		check_nap();
	CHECK(atomic_load(&telling));
	CHECK_EQ_INT(state_unpolled(passive.ep), DAT_EP_STATE_COMPLETION_PENDING);
}

static void post_upon_data_of_the_peer_is_let_through(void)
{
	data_comes_before_established();
	atomic_store(&posting, true);
	CHECK_DAT(api_send(passive.ep, &upon, 192, 64, 3, 0), DAT_SUCCESS);
	API_DTO(active.recv, active.ep, 1, DAT_DTO_SUCCESS, 64);
	API_CONN(passive.connect, passive.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void bind_upon_data_of_the_peer_is_let_through(void)
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	data_comes_before_established();
	seg = api_seg(&upon, 192, 64);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	atomic_store(&posting, true);
	CHECK_DAT(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, passive.ep, api_cookie(4),
			       DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_SUCCESS);
	API_BIND(passive.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	API_CONN(passive.connect, passive.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void forget(void)
{
	atomic_store(&posting, true);
	atomic_store(&slow, NULL);
	atomic_store(&telling, false);
	api_close();
	atomic_store(&posting, false);
}

static const struct check_test tests[] = { CHECK_TEST(message_is_there_as_soon_as_its_connection_is),
					   CHECK_TEST(post_upon_data_of_the_peer_is_let_through),
					   CHECK_TEST(bind_upon_data_of_the_peer_is_let_through),
					   CHECK_END };

static const struct check_suite early = { .name = "early", .teardown = forget, .tests = tests };

CHECK_SUITES(&early);
