/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traps of rdma_cm and verbs that the providers avoid. The tests observe the providers' verbs calls, imitate events that the
 * kernel sends rarely, and connect to a foreign peer (stranger.h). The program runs in a guest of the lab, over the adapter that
 * OPENDAT_TEST_IA names.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "stranger.h"
#include "twist.h"

static struct api_buf buf;

/* ------------------------------------------------------------------ the passive side */

/* The passive side: an endpoint, and the address of the service point that the stranger connects to. */
struct host {
	struct api_end end;
	DAT_EVD_HANDLE cr_evd;
	struct sockaddr_in at;
};

static void host_make(struct host *h, pid_t guest)
{
	DAT_CONN_QUAL qual;

	api_end_make(&h->end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_recv(h->end.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	h->cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(h->cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	memcpy(&h->at, api_address(), sizeof(h->at));
	h->at.sin_port = htons((uint16_t)qual);
	check_put(guest, &h->at, sizeof(h->at));
	REQUIRE_DAT(dat_cr_accept(api_cr(h->cr_evd), h->end.ep, 0, NULL), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ InfiniBand and RoCE */

/*
 * librdmacm leaves the RNR timer at 0, which means 655 ms. A message that arrives before its receive is posted is sent again only
 * after that time.
 */
static void queue_pairs_get_a_short_time_for_receiver_not_ready(void)
{
	struct api_pair pair;

	api_open();
	atomic_store(&twist.timers, 0);
	atomic_store(&twist.idle_timers, 0);
	api_pair_make(&pair, NULL);
	CHECK(atomic_load(&twist.timers) >= 2);
	CHECK_EQ_INT(atomic_load(&twist.idle_timers), 0);
}

static void sends_without_confirming(void *arg)
{
	(void)arg;
	raw_connect();
	raw_send();
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

/* A message that arrives before the peer's confirmation establishes the connection. ESTABLISHED is queued before its completion. */
static void message_before_the_confirmation_comes_after_established(void)
{
	pid_t stranger = check_fork(sends_without_confirming, NULL);
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVENT event;
	struct host h;

	api_open();
	host_make(&h, stranger);
	check_await(stranger);
	while (dat_evd_dequeue(h.end.recv, &event) != DAT_SUCCESS && check_now_ms() < until)
		check_nap();
	CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	/* No wait: ESTABLISHED must be there when the message's completion is. */
	REQUIRE_DAT(dat_evd_dequeue(h.end.connect, &event), DAT_SUCCESS);
	CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_kill(stranger); /* No event follows, because the stranger's kernel never had a confirmed connection. */
}

static void wants_an_answer_to_its_disconnect(void *arg)
{
	(void)arg;
	raw_connect();
	REQUIRE_EQ_INT(rdma_establish(raw.id), 0);
	check_await(CHECK_PARENT);
	REQUIRE_EQ_INT(rdma_disconnect(raw.id), 0);
	/* If the peer does not answer, the event comes after a minute, with an error as its status. */
	CHECK_EQ_INT(raw_event(RDMA_CM_EVENT_DISCONNECTED, NULL), 0);
}

static void peer_that_disconnects_is_answered(void)
{
	pid_t stranger = check_fork(wants_an_answer_to_its_disconnect, NULL);
	struct host h;

	api_open();
	host_make(&h, stranger);
	API_CONN(h.end.connect, h.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_signal(stranger);
	API_CONN(h.end.connect, h.end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	check_join(stranger);
}

static void confirms_after_the_end(void *arg)
{
	(void)arg;
	raw_connect();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	REQUIRE_EQ_INT(rdma_establish(raw.id), 0);
	CHECK_EQ_INT(raw_event(RDMA_CM_EVENT_DISCONNECTED, NULL), 0);
	REQUIRE_EQ_INT(rdma_disconnect(raw.id), 0);
}

/*
 * The peer has received the answer and has not confirmed it. The accept is taken back by a disconnect request, which the kernel
 * repeats until it is answered, and not by a rejection, which the kernel sends only once.
 */
static void accept_that_is_taken_back_is_told_once_it_is_confirmed(void)
{
	pid_t stranger = check_fork(confirms_after_the_end, NULL);
	struct host h;

	api_open();
	host_make(&h, stranger);
	check_await(stranger);
	REQUIRE_DAT(dat_ep_disconnect(h.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(h.end.connect, h.end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(dat_ep_free(h.end.ep), DAT_SUCCESS);
	check_signal(stranger);
	check_join(stranger);
}

/*
 * The peer's kernel takes the queue pair number for that of a connection it still has. It rejects the request as stale and drops
 * that old connection, so the same request succeeds the next time.
 */
static void request_that_is_taken_for_a_stale_connection_is_repeated(void)
{
	struct api_end a, b;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	api_open();
	api_end_make(&a, NULL);
	api_end_make(&b, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	atomic_store(&twist.stale, 1);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(cr_evd)), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_EQ_INT(atomic_load(&twist.stale), 0);
}

static void read_unasked(void)
{
	unsigned char want[sizeof(raw.mem)];

	CHECK_EQ_INT(raw_read(), IBV_WC_SUCCESS);
	api_fill(want, sizeof(want), 3);
	CHECK_EQ_MEM(raw.mem, want, sizeof(want));
}

static void connects_for_no_reads_and_reads(void *arg)
{
	(void)arg;
	raw.reads = true;
	raw_connect();
	REQUIRE_EQ_INT(rdma_establish(raw.id), 0);
	read_unasked();
}

/* The stranger offers to serve one read and asks for none. The answer takes no more than that one, and grants one nevertheless. */
static void connects_for_one_read(void *arg)
{
	(void)arg;
	raw_connect();
	CHECK_EQ_INT(raw.told.responder_resources, 1);
	CHECK_EQ_INT(raw.told.initiator_depth, 1);
	REQUIRE_EQ_INT(rdma_establish(raw.id), 0);
}

static void accepts_for_no_reads_and_reads(void *arg)
{
	(void)arg;
	raw.reads = true;
	raw_accept();
	read_unasked();
}

static void let_read(pid_t stranger)
{
	DAT_RMR_TRIPLET from = api_target(&buf, 0, sizeof(raw.mem));

	api_fill(buf.mem, sizeof(raw.mem), 3);
	check_put(stranger, &from, sizeof(from));
	check_join(stranger);
}

/*
 * For a peer that asks for no reads, the kernel sets up the queue pair without remote read access and without resources for reads.
 * The provider allows one anyway, because uDAPL programs read without asking: the memory's privileges say what is allowed.
 */
static void client_that_asked_for_no_reads_can_read(void)
{
	pid_t stranger = check_fork(connects_for_no_reads_and_reads, NULL);
	struct host h;

	api_open();
	host_make(&h, stranger);
	API_CONN(h.end.connect, h.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	let_read(stranger);
}

static void server_that_asked_for_no_reads_can_read(void)
{
	pid_t stranger = check_fork(accepts_for_no_reads_and_reads, NULL);
	struct api_end end;

	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	check_put(stranger, api_address(), sizeof(struct sockaddr_in));
	check_await(stranger);
	REQUIRE_DAT(api_connect(end.ep, STRANGER_PORT), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	let_read(stranger);
}

/* A device that receives more reads at a time than it is set up to serve may refuse them, which ends the connection. */
static void nobody_is_answered_with_more_reads_than_it_has_offered(void)
{
	pid_t stranger = check_fork(connects_for_one_read, NULL);
	struct host h;

	api_open();
	host_make(&h, stranger);
	API_CONN(h.end.connect, h.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_join(stranger);
}

/* ------------------------------------------------------------------ iWARP */

static pid_t sender;
static struct api_end ended;

static void sends_when_established(void *arg)
{
	struct api_end end;
	DAT_CONN_QUAL qual;

	(void)arg;
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, 64, 2, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, 64);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
}

/* Called when dat_ep_disconnect() is about to stop the queue pair: the message has arrived by then, and nobody has polled. */
static void message_comes(void)
{
	check_await(sender);
}

/*
 * An iWARP accept is answered late, possibly only by dat_ep_disconnect(). A message that the peer sends upon that answer meets a
 * receive that the disconnect flushes. The late ESTABLISHED event is dropped, and must not make that receive complete again.
 */
static void accepted_connection_that_is_ended_at_once_shows_each_receive_once(void)
{
	DAT_EVD_HANDLE cr_evd;
	struct api_end other;
	DAT_CONN_QUAL qual;

	sender = check_fork(sends_when_established, NULL);
	sem_init(&twist.gate, 0, 0);
	api_open();
	api_end_make(&ended, NULL);
	api_end_make(&other, NULL);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	atomic_store(&twist.shuts, true);
	check_put(sender, &qual, sizeof(qual));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), ended.ep, 0, NULL), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(ended.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	atomic_store(&twist.at_halt, message_comes);
	CHECK_DAT(dat_ep_disconnect(ended.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_DTO(ended.recv, ended.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	sem_post(&twist.gate);
	/* The service thread handles its events in order, so the held-up event has been handled before this rejection arrives. */
	REQUIRE_DAT(api_connect(other.ep, STRANGER_PORT), DAT_SUCCESS);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	API_EMPTY(ended.recv);
	check_signal(sender);
	check_join(sender);
}

static void reads_asked(struct api_end *end, int in, int out)
{
	struct api_end plain;
	DAT_EP_PARAM param;

	api_end_make(&plain, NULL);
	REQUIRE_DAT(dat_ep_query(plain.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	param.ep_attr.max_rdma_read_in = in;
	param.ep_attr.max_rdma_read_out = out;
	api_end_make(end, &param.ep_attr);
}

static void reads_shown(const struct api_end *end, int in, int out)
{
	DAT_EP_PARAM param;

	REQUIRE_DAT(dat_ep_query(end->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_attr.max_rdma_read_in, in);
	CHECK_EQ_INT(param.ep_attr.max_rdma_read_out, out);
}

/* `a` asks to have three reads at a time, and `b` offers to serve two. After the connection is made, `a` shows `served`. */
static void reads_agreed(int served, bool receives)
{
	struct api_end a, b;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;

	reads_asked(&a, 4, 3);
	reads_asked(&b, 2, 1);
	if (receives)
		REQUIRE_DAT(api_recv(b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &qual);
	REQUIRE_DAT(api_connect(a.ep, qual), DAT_SUCCESS);
	reads_shown(&a, 4, 3);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	reads_shown(&a, 1, served);
	reads_shown(&b, 2, 1);
	REQUIRE_DAT(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(b.connect, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(dat_ep_reset(a.ep), DAT_SUCCESS);
	reads_shown(&a, 4, 3);
}

static void reads_that_are_agreed_are_shown_until_the_endpoint_is_reset(void)
{
	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	reads_agreed(2, true);
}

/*
 * siw serves as many reads as the peer asks for, even if its own program offers fewer, and it reports the two numbers to the
 * active side in the wrong order. If no receive is posted, the accept is answered late, so both ways are tested.
 */
static void reads_that_siw_agrees_to_are_shown_until_the_endpoint_is_reset(void)
{
	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	reads_agreed(3, true);
	reads_agreed(3, false);
}

/* ------------------------------------------------------------------ all */

/* Since Linux 6.0, the UNREACHABLE event of rdma_cm comes whenever the neighbour's hardware address changes. */
static void unreachable_on_a_connection_is_its_end_and_no_failed_attempt(void)
{
	struct api_pair pair;

	api_open();
	api_pair_make(&pair, NULL);
	atomic_store(&twist.twisted, true);
	REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	atomic_store(&twist.twisted, false);
}

/* Rejects the first request with garbage as private data, and the second with none. */
static void rejects_in_another_language(void *arg)
{
	struct rdma_cm_id *request;
	unsigned char garbage[56];

	(void)arg;
	memset(garbage, 0xff, sizeof(garbage));
	raw_listen();
	for (int n = 0; n < 2; n++) {
		raw_event(RDMA_CM_EVENT_CONNECT_REQUEST, &request);
		REQUIRE_EQ_INT(rdma_reject(request, n ? NULL : garbage, n ? 0 : sizeof(garbage)),
			       0);
		rdma_destroy_id(request);
	}
}

static void rejection_in_another_language_is_the_networks(void)
{
	pid_t stranger = check_fork(rejects_in_another_language, NULL);
	struct sockaddr_in at;

	api_open();
	memcpy(&at, api_address(), sizeof(at));
	check_put(stranger, &at, sizeof(at));
	check_await(stranger);
	for (int n = 0; n < 2; n++) {
		struct api_end end;

		api_end_make(&end, NULL);
		REQUIRE_DAT(api_connect(end.ep, STRANGER_PORT), DAT_SUCCESS);
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	check_join(stranger);
}

/*
 * siw blocks in the kernel's connect for two minutes if the host does not answer. Neither the program nor its other connections
 * may block with it.
 */
static void host_that_is_not_there_holds_up_nobody(void)
{
	struct sockaddr_in nowhere;
	struct api_pair pair;
	struct api_end end;
	DAT_EVENT event;

	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	memcpy(&nowhere, api_address(), sizeof(nowhere));
	nowhere.sin_addr.s_addr = htonl((ntohl(nowhere.sin_addr.s_addr) & ~0xffu) | 77);
	api_end_make(&end, NULL);
	REQUIRE_DAT(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&nowhere, 4711, 5000000, 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 64, 64, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 64);
	api_disconnect(&pair);
	API_EVENT(end.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
	      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = DAT_HANDLE_NULL;
}

/* dat_ep_recv_query() counts receives that have not completed. One whose completion is still in the EVD is not counted. */
static void receives_are_counted_until_they_complete(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_COUNT count, span;
	struct api_pair pair;

	api_open();
	CHECK(api.prov.ep_recv_info_supported);
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	for (uint64_t i = 0; i < 3; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 512 + 64 * i, 64, i), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_recv_query(pair.b.ep, &count, &span), DAT_SUCCESS);
	CHECK_EQ_INT(count, 3);
	CHECK_EQ_INT(span, 3);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 9, 0), DAT_SUCCESS);
	do {
		check_nap();
		REQUIRE_DAT(dat_ep_recv_query(pair.b.ep, &count, &span), DAT_SUCCESS);
	} while (count == 3 && check_now_ms() < until);
	CHECK_EQ_INT(count, 2);
	CHECK_EQ_INT(span, 2);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, 64);
	REQUIRE_DAT(dat_ep_recv_query(pair.b.ep, &count, NULL), DAT_SUCCESS);
	CHECK_EQ_INT(count, 2);
}

/* A thread that waits on an EVD with completions watches two descriptors: the completion channel, and an eventfd. */
static void waiter_that_gets_no_descriptor_is_woken_all_the_same(void)
{
	struct api_waiter waiter;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	uint64_t since;

	api_open();
	evd = api_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	atomic_store(&twist.full, true);
	api_wait_start(&waiter, evd, 1);
	since = check_now_ms();
	CHECK_DAT(api_post_se(evd, 7), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
	/* A waiter that is not woken finds the event only when its timeout expires. */
	CHECK(check_now_ms() - since < check_patience_ms() / 2);
	CHECK_DAT(dat_evd_wait(evd, 25000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	atomic_store(&twist.full, false);
	api_wait_start(&waiter, evd, 1);
	CHECK_DAT(api_post_se(evd, 8), DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
}

static struct {
	DAT_EVD_HANDLE evd;
	pthread_t thread;
	DAT_RETURN ret;
} ringer;

static void *rings_late(void *arg)
{
	twist_here.late_bell = true;
	ringer.ret = api_post_se(ringer.evd, 9);
	twist_here.late_bell = false;
	return arg;
}

static void ring_late(void)
{
	REQUIRE_EQ_INT(pthread_create(&ringer.thread, NULL, rings_late, NULL), 0);
	sem_wait(&twist.reached);
}

static void let_ring(void)
{
	sem_post(&twist.open);
	pthread_join(ringer.thread, NULL);
}

/* A wake-up that arrives after its event has been dequeued ends the next sleep early, once. */
static void late_bell_keeps_nobody_awake(void)
{
	DAT_EVENT event;
	DAT_COUNT more;

	api_open();
	REQUIRE(!sem_init(&twist.reached, 0, 0) && !sem_init(&twist.open, 0, 0));
	ringer.evd = api_evd(8, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	twist_here.before_sleep = ring_late;
	CHECK_DAT(dat_evd_wait(ringer.evd, 200000, 1, &event, &more), DAT_SUCCESS);
	twist_here.before_sleep = let_ring;
	twist_here.sleeps = 0;
	CHECK_DAT(dat_evd_wait(ringer.evd, 500000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	CHECK_DAT(ringer.ret, DAT_SUCCESS);
	CHECK_EQ_INT(twist_here.sleeps, 2);
}

static void forget_switches(void)
{
	atomic_store(&twist.fails, 0);
	atomic_store(&twist.unknown, false);
	atomic_store(&twist.full, false);
	api_close();
}

static const struct check_test ib_tests[] = {
	CHECK_TEST(queue_pairs_get_a_short_time_for_receiver_not_ready),
	CHECK_TEST(message_before_the_confirmation_comes_after_established),
	CHECK_TEST(peer_that_disconnects_is_answered),
	CHECK_TEST(accept_that_is_taken_back_is_told_once_it_is_confirmed),
	CHECK_TEST(request_that_is_taken_for_a_stale_connection_is_repeated),
	CHECK_TEST(client_that_asked_for_no_reads_can_read),
	CHECK_TEST(server_that_asked_for_no_reads_can_read),
	CHECK_TEST(nobody_is_answered_with_more_reads_than_it_has_offered),
	CHECK_TEST(reads_that_are_agreed_are_shown_until_the_endpoint_is_reset),
	CHECK_END
};

/*
 * From when a connection begins to end until the program learns of that, the kernel refuses the doorbell with ENOTCONN. The request
 * is already in the send queue then.
 */
static void request_that_the_kernel_refuses_as_the_connection_ends_is_flushed(void)
{
	struct api_pair pair;

	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	twist_here.doorbell_fails = true;
	CHECK_DAT(api_send(pair.a.ep, &buf, 0, 64, 7, 0), DAT_SUCCESS);
	CHECK(!twist_here.doorbell_fails);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(pair.a.request);
}

/* siw reports every failure of a request by one status, IBV_WC_LOC_QP_OP_ERR. The likeliest cause is the connection. */
static void request_that_fails_on_its_way_is_the_transports(void)
{
	struct api_pair pair;

	api_open();
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 512, 64, 1), DAT_SUCCESS);
	atomic_store(&twist.fails, IBV_WC_LOC_QP_OP_ERR);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 64, 7, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 7, DAT_DTO_ERR_TRANSPORT, API_ANY_LENGTH);
	CHECK_EQ_INT(atomic_load(&twist.fails), 0);
	API_CONN_OVER(pair.a.connect, pair.a.ep);
}

/*
 * A queue's key is the offset that it is mapped from. libsiw takes a queue whose key is that of the 145th page for missing, and
 * the kernel would give the same offset to each further attempt.
 */
static void queues_can_be_made_whatever_place_the_kernel_gives_them(void)
{
	enum { PAGES = 160 }; /* a small queue takes one page, so this many queues go past the 145th */
	struct api_end end;

	api_open();
	for (int i = 0; i < PAGES; i++)
		api_evd(8, DAT_EVD_DTO_FLAG);
	api_end_make(&end, NULL);
}

/* Over iWARP, the response to a read is a write by the peer. Some devices therefore require remote write access for its sink. */
static void read_sink_may_be_written_where_the_device_may_want_it(void)
{
	api_open();
	api_buf(4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	CHECK(atomic_load(&twist.rights) & IBV_ACCESS_LOCAL_WRITE);
	CHECK(!(atomic_load(&twist.rights) & IBV_ACCESS_REMOTE_WRITE));
	api_close();
	atomic_store(&twist.unknown, true);
	api_open();
	api_buf(4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	CHECK(atomic_load(&twist.rights) & IBV_ACCESS_REMOTE_WRITE);
	api_buf(4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	CHECK(!(atomic_load(&twist.rights) & IBV_ACCESS_REMOTE_WRITE));
}

/* siw has no memory windows. Here the device reports some, as other devices do that have none either. */
static void windows_that_are_only_claimed_are_not_used(void)
{
	const char *how = "not told";
	DAT_RMR_HANDLE rmr;

	atomic_store(&twist.unknown, true);
	api_open();
	for (DAT_COUNT i = 0; i < api.attr.num_transport_attr; i++)
		if (!strcmp(api.attr.transport_attr[i].name, "rmr"))
			how = api.attr.transport_attr[i].value;
	CHECK(!strncmp(how, "emulated", strlen("emulated")));
	api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	CHECK(!(atomic_load(&twist.rights) & IBV_ACCESS_MW_BIND));
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

/* siw counts pages in an int, so for a region of 2^44 bytes it would succeed and register no page at all. */
static void region_of_more_pages_than_siw_counts_is_refused(void)
{
	DAT_VLEN page = (DAT_VLEN)sysconf(_SC_PAGESIZE), size;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_VADDR address;

	api_open();
	CHECK(api.attr.max_lmr_block_size <= (DAT_VLEN)(INT32_MAX - 1) * page);
	region.for_va = api_memory(page);
	CHECK_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, page << 32, api.pz,
				 DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &size,
				 &address),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG4);
}

static const struct check_test iw_tests[] = {
	CHECK_TEST(region_of_more_pages_than_siw_counts_is_refused),
	CHECK_TEST(queues_can_be_made_whatever_place_the_kernel_gives_them),
	CHECK_TEST(request_that_the_kernel_refuses_as_the_connection_ends_is_flushed),
	CHECK_TEST(accepted_connection_that_is_ended_at_once_shows_each_receive_once),
	CHECK_TEST(reads_that_siw_agrees_to_are_shown_until_the_endpoint_is_reset),
	CHECK_TEST(request_that_fails_on_its_way_is_the_transports),
	CHECK_TEST(read_sink_may_be_written_where_the_device_may_want_it),
	CHECK_TEST(windows_that_are_only_claimed_are_not_used),
	CHECK_END
};

static const struct check_test all_tests[] = {
	CHECK_TEST(unreachable_on_a_connection_is_its_end_and_no_failed_attempt),
	CHECK_TEST(rejection_in_another_language_is_the_networks),
	CHECK_TEST(host_that_is_not_there_holds_up_nobody),
	CHECK_TEST(receives_are_counted_until_they_complete),
	CHECK_TEST(waiter_that_gets_no_descriptor_is_woken_all_the_same),
	CHECK_TEST(late_bell_keeps_nobody_awake),
	CHECK_END
};

static const struct check_suite ib_traps = {
	.name = "ib trap",
	.teardown = api_close,
	.tests = ib_tests,
};

static const struct check_suite iw_traps = {
	.name = "iw trap",
	.teardown = forget_switches,
	.tests = iw_tests,
};

static const struct check_suite all_traps = {
	.name = "any trap",
	.teardown = forget_switches,
	.tests = all_tests,
};

CHECK_SUITES(&ib_traps, &iw_traps, &all_traps);
