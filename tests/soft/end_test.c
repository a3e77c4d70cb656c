/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection while another thread posts, accepts, gives up, frees or connects anew. Both sides are in one
 * process. Some tests use a second IA for the other side, so that they can block its service thread.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "api.h"
#include "providers/soft/sock.h"

#define ROUNDS 100

static struct api_pair pair;
static struct api_buf buf;
static uint64_t begin; /* when the test began, in ms */

/* Returns true if another round is to be made. On a very busy machine there are only as many as there is time for. */
static bool goes_on(int round, int rounds)
{
	return !round || (round < rounds && check_now_ms() < begin + check_patience_ms());
}

static void open_all(void)
{
	begin = check_now_ms();
	api_open();
	buf = api_buf(2 << 20, DAT_MEM_PRIV_ALL_FLAG);
}

/* ------------------------------------------------------------------ posts */

struct poster {
	DAT_EP_HANDLE ep;
	uint64_t accepted;
	_Atomic bool posting;
	DAT_RETURN wrong; /* a result other than success and "no room" */
};

static DAT_RETURN post_any(DAT_EP_HANDLE ep, unsigned int n)
{
	DAT_LMR_TRIPLET seg = api_seg(&buf, 0, n % 3 ? 64 : 100000);

	switch (n % 4) {
	case 0:
		return api_write(ep, seg, api_target(&buf, 200000, 100000), n, 0);
	case 1:
		return api_read(ep, seg, api_target(&buf, 400000, seg.segment_length), n, 0);
	default:
		return dat_ep_post_send(ep, 1, &seg, api_cookie(n), 0);
	}
}

static void *poster_thread(void *arg)
{
	struct poster *poster = arg;

	for (unsigned int n = 0; n < 100000; n++) {
		DAT_RETURN ret = post_any(poster->ep, n);

		atomic_store(&poster->posting, true);
		if (ret == DAT_SUCCESS)
			poster->accepted++;
		else if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			poster->wrong = ret;
		else if (api_state(poster->ep) == DAT_EP_STATE_DISCONNECTED)
			break;
	}
	return NULL;
}

static uint64_t events_taken(DAT_EVD_HANDLE evd)
{
	uint64_t count = 0;
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		count++;
	return count;
}

/* The peer ends the connection, so the posts of this thread race with its service thread. */
static void every_post_amid_the_end_completes_once(void)
{
	api_pair_make(&pair, NULL);
	for (int round = 0; goes_on(round, ROUNDS); round++) {
		struct poster poster = { .ep = pair.a.ep };
		pthread_t thread;

		for (uint64_t n = 0; n < 8; n++)
			REQUIRE_DAT(api_recv(pair.b.ep, &buf, (1 << 20) + n * 100000, 100000, n),
				    DAT_SUCCESS);
		REQUIRE(pthread_create(&thread, NULL, poster_thread, &poster) == 0);
		while (!atomic_load(&poster.posting))
			sched_yield();
		for (int i = 0; i < round % 7; i++)
			sched_yield();
		REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		pthread_join(thread, NULL);
		CHECK_DAT(poster.wrong, DAT_SUCCESS);
		API_CONN_OVER(pair.a.connect, pair.a.ep);
		API_CONN_OVER(pair.b.connect, pair.b.ep);
		REQUIRE_EQ_INT(events_taken(pair.a.request), poster.accepted);
		events_taken(pair.b.recv);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		api_pair_connect(&pair);
	}
}

/* ------------------------------------------------------------------ accept and disconnect */

static void *disconnect_thread(void *arg)
{
	/* the call is refused until the accept has begun */
	while (DAT_GET_TYPE(dat_ep_disconnect(arg, DAT_CLOSE_ABRUPT_FLAG)) == DAT_INVALID_STATE)
		;
	return NULL;
}

/* In whatever order the two calls come, both endpoints become disconnected. */
static void disconnect_amid_the_accept_is_told_to_the_other_side(void)
{
	api_end_make(&pair.a, NULL);
	api_end_make(&pair.b, NULL);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	for (int round = 0; goes_on(round, 3 * ROUNDS); round++) {
		DAT_CR_HANDLE cr;
		pthread_t thread;

		REQUIRE_DAT(api_connect(pair.a.ep, pair.qual), DAT_SUCCESS);
		cr = api_cr(pair.cr_evd);
		REQUIRE(pthread_create(&thread, NULL, disconnect_thread, pair.b.ep) == 0);
		REQUIRE_DAT(dat_cr_accept(cr, pair.b.ep, 0, NULL), DAT_SUCCESS);
		pthread_join(thread, NULL);
		REQUIRE_SOON(api_state(pair.a.ep) == DAT_EP_STATE_DISCONNECTED);
		REQUIRE_SOON(api_state(pair.b.ep) == DAT_EP_STATE_DISCONNECTED);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		events_taken(pair.a.connect);
		events_taken(pair.b.connect);
	}
}

/* ------------------------------------------------------------------ another IA */

/* A second IA, with objects of its own, whose two endpoints connect to `api`. */
static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep[2];
	struct api_buf buf;
} other;

static void other_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE mine = api.ia;

	REQUIRE_DAT(dat_ia_open(api_ia_name(), 8, &async, &other.ia), DAT_SUCCESS);
	api.ia = other.ia; /* so that the helpers of the API tests create their objects on it */
	other.pz = api_pz();
	other.dto = api_evd(64, DAT_EVD_DTO_FLAG);
	other.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	for (int i = 0; i < 2; i++)
		REQUIRE_DAT(dat_ep_create(other.ia, other.pz, other.dto, other.dto, other.connect,
					  NULL, &other.ep[i]),
			    DAT_SUCCESS);
	other.buf = api_buf_in(other.pz, buf.mem + (512 << 10), 256 << 10, DAT_MEM_PRIV_ALL_FLAG);
	api.ia = mine;
}

static void other_close(void)
{
	if (other.ia)
		CHECK_DAT(dat_ia_close(other.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	other.ia = DAT_HANDLE_NULL;
}

static void close_all(void)
{
	other_close();
	api_close();
}

/* Waits for the outcome of a connect. Returns true if the endpoint is connected. */
static bool settled(DAT_EP_HANDLE ep)
{
	REQUIRE_SOON(api_state(ep) == DAT_EP_STATE_CONNECTED ||
		     api_state(ep) == DAT_EP_STATE_DISCONNECTED);
	return api_state(ep) == DAT_EP_STATE_CONNECTED;
}

/* Two connects between two IAs that have no liveness socket yet. If one is given up, the other must succeed. */
static void one_given_up_amid_its_answer_does_not_end_the_other(void)
{
	api_end_make(&pair.a, NULL);
	api_end_make(&pair.b, NULL);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	for (int round = 0; goes_on(round, ROUNDS); round++) {
		DAT_EP_HANDLE here[2] = { pair.a.ep, pair.b.ep };

		other_open();
		for (int i = 0; i < 2; i++)
			REQUIRE_DAT(api_connect(other.ep[i], pair.qual), DAT_SUCCESS);
		for (int i = 0; i < 2; i++)
			REQUIRE_DAT(dat_cr_accept(api_cr(pair.cr_evd), here[i], 0, NULL),
				    DAT_SUCCESS);
		/*
		 * The disconnect comes after a delay that differs from round to round. The delay is made of short calls, because
		 * sched_yield() would last much longer on a busy machine.
		 */
		for (int i = 0; i < 20 * (round % 11); i++)
			(void)api_state(other.ep[0]);
		REQUIRE_DAT(dat_ep_disconnect(other.ep[0], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		REQUIRE(settled(other.ep[1]));
		REQUIRE_SOON(api_state(here[0]) == DAT_EP_STATE_DISCONNECTED ||
			     api_state(here[1]) == DAT_EP_STATE_DISCONNECTED);
		/* The other connection accepts a post, and both of its ends stay connected. */
		REQUIRE_DAT(dat_ep_post_send(other.ep[1], 0, NULL, api_cookie(1), 0), DAT_SUCCESS);
		REQUIRE_SOON(api_state(here[0]) == DAT_EP_STATE_CONNECTED ||
			     api_state(here[1]) == DAT_EP_STATE_CONNECTED);
		REQUIRE_EQ_INT(api_state(other.ep[1]), DAT_EP_STATE_CONNECTED);
		other_close();
		for (int i = 0; i < 2; i++) {
			REQUIRE_SOON(api_state(here[i]) == DAT_EP_STATE_DISCONNECTED);
			REQUIRE_DAT(dat_ep_reset(here[i]), DAT_SUCCESS);
		}
		events_taken(pair.a.connect);
		events_taken(pair.b.connect);
	}
}

/* Shuts down the liveness socket. If this process died, the other side would see no more than that. */
static void hang_up(DAT_EP_HANDLE handle)
{
	struct soft_ep *ep = soft_ep((struct datp_ep *)handle);
	struct soft_ia *ia = soft_ia(ep->base.obj.ia);

	datp_lock(&ia->lock);
	REQUIRE(ep->socket && shutdown(ep->socket->fd, SHUT_RDWR) == 0);
	datp_unlock(&ia->lock);
}

/* If the active side dies while its request is accepted, the endpoint gets an event, and does not wait for ever. */
static void accept_amid_the_hang_up_fails_with_an_event(void)
{
	api_end_make(&pair.b, NULL);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	other_open();
	for (int round = 0; goes_on(round, 4 * ROUNDS); round++) {
		DAT_CR_HANDLE cr;

		REQUIRE_DAT(api_connect(other.ep[0], pair.qual), DAT_SUCCESS);
		cr = api_cr(pair.cr_evd);
		hang_up(other.ep[0]);
		/* a delay that differs from round to round */
		for (int i = 0; i < 40 * (round % 23); i++)
			(void)api_state(other.ep[0]);
		REQUIRE_DAT(dat_cr_accept(cr, pair.b.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		REQUIRE_SOON(api_state(other.ep[0]) == DAT_EP_STATE_DISCONNECTED);
		REQUIRE_DAT(dat_ep_reset(other.ep[0]), DAT_SUCCESS);
		events_taken(other.connect);
	}
}

/*
 * This thread takes the first message while the service thread is told that the peer has connected.
 * When the message has completed, the endpoint must be connected, and the event of that must be in its
 * queue.
 */
static void first_message_comes_behind_established(void)
{
	DAT_EVENT event;

	api_end_make(&pair.b, NULL);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	other_open();
	for (int round = 0; goes_on(round, 4 * ROUNDS); round++) {
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_connect(other.ep[0], pair.qual), DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(pair.cr_evd), pair.b.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(other.connect, other.ep[0], DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_DAT(api_send(other.ep[0], &other.buf, 0, 64, 1, 0), DAT_SUCCESS);
		for (int i = 0; i < 20 * (round % 23); i++)
			(void)api_state(other.ep[0]);
		REQUIRE_SOON(dat_evd_dequeue(pair.b.recv, &event) == DAT_SUCCESS);
		REQUIRE_DAT(dat_evd_dequeue(pair.b.connect, &event), DAT_SUCCESS);
		REQUIRE_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_EQ_INT(api_state(pair.b.ep), DAT_EP_STATE_CONNECTED);
		REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		API_CONN(other.connect, other.ep[0], DAT_CONNECTION_EVENT_DISCONNECTED);
		events_taken(other.dto);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(other.ep[0]), DAT_SUCCESS);
	}
}

/* ------------------------------------------------------------------ a service thread that is held up */

static sem_t held, release;

static void hold_up(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	sem_post(&held);
	sem_wait(&release);
}

/* Blocks the service thread of the other IA: the agent of a CNO, which is called on it, waits for `release`. */
static void other_hold_up(void)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = NULL, .proxy_agent_func = hold_up };
	DAT_IA_HANDLE mine = api.ia;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	sem_init(&held, 0, 0);
	sem_init(&release, 0, 0);
	api.ia = other.ia;
	REQUIRE_DAT(dat_cno_create(other.ia, agent, &cno), DAT_SUCCESS);
	evd = api_evd_cno(8, DAT_EVD_CONNECTION_FLAG, cno);
	REQUIRE_DAT(
		dat_ep_create(other.ia, other.pz, other.dto, other.dto, evd, NULL, &other.ep[1]),
		DAT_SUCCESS);
	api.ia = mine;
	/* The request is rejected below, and the event of that triggers the agent. */
	REQUIRE_DAT(dat_ep_connect(other.ep[1], api_address(), pair.qual, api_patience(), 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_reject(api_cr(pair.cr_evd)), DAT_SUCCESS);
	sem_wait(&held);
}

/*
 * A former peer, which has not heard of the end of its connection, posts a receive. The endpoint is connected to another one
 * meanwhile, and has a message that waits for a receive. The former peer must not get it.
 */
static void former_peer_gets_nothing_of_the_next_connection(void)
{
	struct api_end end;
	DAT_EVENT event;

	api_end_make(&end, NULL);
	api_end_make(&pair.b, NULL);
	pair.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	pair.psp = api_listen(pair.cr_evd, DAT_PSP_CONSUMER_FLAG, &pair.qual);
	other_open();
	REQUIRE_DAT(dat_ep_connect(other.ep[0], api_address(), pair.qual, api_patience(), 0, NULL,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(pair.cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(other.connect, other.ep[0], DAT_CONNECTION_EVENT_ESTABLISHED);
	other_hold_up();

	REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	REQUIRE_DAT(dat_ep_reset(end.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_connect(end.ep, pair.qual), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(pair.cr_evd), pair.b.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	api_fill(buf.mem, 100000, 1);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, 100000, 1, 0), DAT_SUCCESS);

	CHECK_EQ_INT(api_state(other.ep[0]), DAT_EP_STATE_CONNECTED);
	REQUIRE_DAT(api_recv(other.ep[0], &other.buf, 0, 100000, 2), DAT_SUCCESS);
	CHECK_DAT(dat_evd_dequeue(other.dto, &event), DAT_QUEUE_EMPTY);
	CHECK_EQ_INT(other.buf.mem[0], 0);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 200000, 100000, 3), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 3, DAT_DTO_SUCCESS, 100000);
	CHECK_EQ_INT(api_mismatch(buf.mem + 200000, 100000, 1), -1);
	sem_post(&release);
	API_DTO(other.dto, other.ep[0], 2, DAT_DTO_ERR_FLUSHED, 0);
}

/* ------------------------------------------------------------------ memory */

#define LONG_COPY (1u << 20)

/* Reads memory while it is written, on purpose. */
__attribute__((no_sanitize_thread)) static bool touched(const volatile unsigned char *at)
{
	return *at != 0;
}

static void *sender_thread(void *arg)
{
	(void)arg;
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, LONG_COPY, 0, 0), DAT_SUCCESS);
	return NULL;
}

/*
 * Because of the CNO the service thread receives the message. The region is freed in the middle of the copy, and after that the
 * memory may be unmapped. The adapter is one over which the receiver copies even long messages.
 */
static void freed_region_is_not_touched_by_a_receive(void)
{
	DAT_CNO_HANDLE cno = api_cno();

	for (int round = 0; goes_on(round, ROUNDS / 2); round++) {
		void *mem = mmap(NULL, LONG_COPY, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unsigned char *reached = (unsigned char *)mem + round * 16384;
		struct api_buf into;
		pthread_t thread;

		REQUIRE(mem != MAP_FAILED);
		into = api_buf_in(api.pz, mem, LONG_COPY, DAT_MEM_PRIV_ALL_FLAG);
		memset(buf.mem, 1, LONG_COPY);
		api_pair_make(&pair, NULL);
		REQUIRE_DAT(dat_evd_modify_cno(pair.b.recv, cno), DAT_SUCCESS);
		REQUIRE_DAT(api_recv(pair.b.ep, &into, 0, LONG_COPY, 0), DAT_SUCCESS);
		REQUIRE(pthread_create(&thread, NULL, sender_thread, NULL) == 0);
		while (!touched(reached))
			;
		/* the copy is under way */
		CHECK_DAT(dat_lmr_free(into.lmr), DAT_SUCCESS);
		munmap(mem, LONG_COPY);
		pthread_join(thread, NULL);
		CHECK_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
		api_end_free(&pair.a);
		api_end_free(&pair.b);
		CHECK_DAT(dat_evd_free(pair.cr_evd), DAT_SUCCESS);
	}
}

static void open_eager(void)
{
	begin = check_now_ms();
	api_open_as("soft-eager");
	buf = api_buf(2 << 20, DAT_MEM_PRIV_ALL_FLAG);
}

/* max_recv_iov of an endpoint cannot be lowered below the number of segments of a posted receive. */
static void modify_does_not_cut_posted_receives(void)
{
	DAT_EP_ATTR attr = { .max_recv_iov = 8, .max_recv_dtos = 4 };
	DAT_LMR_TRIPLET segs[8];
	DAT_EP_PARAM param;
	struct api_end end;

	api_end_make(&end, &attr);
	for (size_t i = 0; i < 8; i++)
		segs[i] = api_seg(&buf, i * 100, 100);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(dat_ep_post_recv(end.ep, 8, segs, api_cookie(n), 0), DAT_SUCCESS);
	memset(&param, 0, sizeof(param));
	param.ep_attr.max_recv_iov = 1;
	CHECK_DAT(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
		  DAT_INVALID_STATE);
}

static const struct check_test tests[] = {
	CHECK_TEST(every_post_amid_the_end_completes_once),
	CHECK_TEST(disconnect_amid_the_accept_is_told_to_the_other_side),
	CHECK_TEST(one_given_up_amid_its_answer_does_not_end_the_other),
	CHECK_TEST(accept_amid_the_hang_up_fails_with_an_event),
	CHECK_TEST(first_message_comes_behind_established),
	CHECK_TEST(former_peer_gets_nothing_of_the_next_connection),
	CHECK_TEST(modify_does_not_cut_posted_receives),
	CHECK_END
};

static const struct check_suite end = {
	.name = "end", .setup = open_all, .teardown = close_all, .tests = tests
};

static const struct check_test eager_tests[] = {
	CHECK_TEST(freed_region_is_not_touched_by_a_receive), CHECK_END
};

static const struct check_suite eager = {
	.name = "eager", .setup = open_eager, .teardown = close_all, .tests = eager_tests
};

CHECK_SUITES(&end, &eager);
