/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer offers memory in which a page fault does not end: it is under userfaultfd(2), and nobody serves the faults. A thread
 * that the kernel lets copy to such memory waits for as long as the peer likes (SECURITY.md), and with it what needs the memory
 * and the endpoint of that copy, but nothing else. With cma=off the peer's own thread copies: each call here returns within the
 * bound, and the connection ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define SIZE ((size_t)256 << 10)

#define SHORTS 100 /* so many posts in a row give a thread the bias of the EP lock */

enum what { WRITE, READ, SEND, TAKE };

/* What the peer does while a thread of the other side waits for it; `RELENT`: it ends the fault. */
enum order { DISCONNECT, CLOSE, SAY, RELENT };

static struct api_end end;
static struct api_buf buf, other;

/* ------------------------------------------------------------------ the peer */

static int faults;

/* Makes every fault in the region wait. Returns false if the system does not allow it for faults of the kernel. */
static bool stop_faults(void *mem)
{
	struct uffdio_api version = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)mem, SIZE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK); /* poll(2) knows no other */

	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		return false;
	REQUIRE(fd >= 0 && ioctl(fd, UFFDIO_API, &version) == 0);
	faults = fd;
	REQUIRE(madvise(mem, SIZE, MADV_DONTNEED) == 0 && ioctl(fd, UFFDIO_REGISTER, &all) == 0);
	return true;
}

struct role {
	char *adapter;
	enum what what; /* TAKE: the peer sends from the memory, and this side copies the message to a receive of its SRQ */
};

/* Obeys one order of the other side. */
static void obey(const struct api_offer *here, struct api_buf *words)
{
	struct uffdio_zeropage all = { .range = { here->target.target_address, SIZE } };
	enum order order;

	check_get(CHECK_PARENT, &order, sizeof order);
	switch (order) {
	case DISCONNECT:
		REQUIRE_DAT(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		break;
	case CLOSE:
		api_close();
		break;
	case SAY:
		REQUIRE_DAT(api_send(end.ep, words, 0, 8, 7, 0), DAT_SUCCESS);
		break;
	case RELENT:
		REQUIRE(ioctl(faults, UFFDIO_ZEROPAGE, &all) == 0);
	}
	check_signal(CHECK_PARENT);
}

static void offer(void *arg)
{
	const struct role *role = arg;
	struct pollfd fault = { .events = POLLIN };
	struct api_offer here;
	struct api_buf trap, words;
	DAT_EVD_HANDLE cr_evd;
	void *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool stopped;

	REQUIRE(mem != MAP_FAILED);
	api_open_as(role->adapter);
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	words = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	trap = api_buf_in(api.pz, mem, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_offer_make(&here, cr_evd, &trap);
	if (role->what == SEND) /* otherwise this side would fault itself when it takes a short message */
		REQUIRE_DAT(api_recv(end.ep, &trap, 0, SIZE, 1), DAT_SUCCESS);
	stopped = stop_faults(mem);
	check_put(CHECK_PARENT, &stopped, sizeof stopped);
	check_put(CHECK_PARENT, &here, sizeof here);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	if (role->what == TAKE) {
		API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		check_await(CHECK_PARENT);
		REQUIRE_DAT(api_send(end.ep, &trap, 0, SIZE, 1, 0), DAT_SUCCESS);
	}
	fault.fd = faults;
	REQUIRE(poll(&fault, 1, (int)check_patience_ms()) == 1 && fault.revents == POLLIN);
	check_signal(CHECK_PARENT);
	for (;;)
		obey(&here, &words);
}

/* ------------------------------------------------------------------ the tests */

struct post {
	enum what what;
	struct api_offer there;
	bool biased;
	DAT_RETURN result;
	_Atomic bool done;
};

static void *post_it(void *arg)
{
	struct post *post = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	for (int i = 0; post->biased && i < SHORTS; i++)
		CHECK_DAT(api_send(end.ep, &other, 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	if (post->what == TAKE)
		post->result = dat_evd_wait(end.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	else if (post->what == SEND)
		post->result = api_send(end.ep, &buf, 0, SIZE, 2, 0);
	else if (post->what == WRITE)
		post->result = api_write(end.ep, api_seg(&buf, 0, SIZE), post->there.target, 2, 0);
	else
		post->result = api_read(end.ep, api_seg(&buf, 0, SIZE), post->there.target, 2, 0);
	atomic_store(&post->done, true);
	return NULL;
}

/* Makes an endpoint, one with an SRQ to take a message. */
static void end_make(enum what what)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1 };
	DAT_EP_ATTR end_attr = { .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };
	DAT_LMR_TRIPLET seg;
	DAT_SRQ_HANDLE srq;

	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	other = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	if (what != TAKE) {
		api_end_make(&end, NULL);
		REQUIRE_DAT(api_recv(end.ep, &other, 0, 8, 4), DAT_SUCCESS);
		return;
	}
	seg = api_seg(&buf, 0, SIZE);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(2)), DAT_SUCCESS);
	api_end_make_shared(&end, srq, &end_attr);
}

/* Starts a peer with this adapter, and connects to it. */
static pid_t peer_meet(char *adapter, struct post *post)
{
	struct role role = { adapter, post->what };
	pid_t peer = check_fork(offer, &role);
	bool stopped;

	check_get(peer, &stopped, sizeof stopped);
	if (!stopped) {
		check_kill(peer);
		check_skip("userfaultfd(2) for faults of the kernel is not allowed (vm.unprivileged_userfaultfd)");
	}
	check_get(peer, &post->there, sizeof post->there);
	api_open_as(adapter);
	end_make(post->what);
	api_connect_to(&end, &post->there.address, post->there.qual);
	return peer;
}

static void calls_return(enum what what)
{
	struct post post = { .what = what };
	pid_t peer = peer_meet((char *)(uintptr_t)"soft-bounce", &post);
	pthread_t thread;
	DAT_EVENT event;

	REQUIRE(pthread_create(&thread, NULL, post_it, &post) == 0);
	CHECK_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	REQUIRE(pthread_join(thread, NULL) == 0);
	REQUIRE_DAT(post.result, DAT_SUCCESS);
	API_EVENT(end.request, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	api_close();
	check_kill(peer);
}

static void a_write_there_fails(void)
{
	calls_return(WRITE);
}

static void a_read_there_fails(void)
{
	calls_return(READ);
}

static void a_send_there_fails(void)
{
	calls_return(SEND);
}

/* ---- the kernel copies, and a thread here waits for the peer */

static pthread_t stuck;
static struct post post;

/* Has a thread here wait in the kernel until the peer dies. */
static pid_t thread_waits(enum what what, bool biased)
{
	pid_t peer;

	post = (struct post){ .what = what, .biased = biased };
	peer = peer_meet((char *)(uintptr_t)"soft0", &post);
	REQUIRE(pthread_create(&stuck, NULL, post_it, &post) == 0);
	if (what == TAKE)
		check_signal(peer);
	check_await(peer);
	return peer;
}

/* Ends that wait. */
static void thread_goes_on(pid_t peer)
{
	CHECK(!atomic_load(&post.done));
	check_kill(peer);
	REQUIRE(pthread_join(stuck, NULL) == 0);
	CHECK_DAT(post.result, DAT_SUCCESS);
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	api_close();
}

static void order(pid_t peer, enum order what)
{
	check_put(peer, &what, sizeof what);
	check_await(peer);
}

static void others_are_freed(enum what what, bool biased)
{
	pid_t peer = thread_waits(what, biased);
	DAT_RMR_HANDLE rmr;

	CHECK_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
	thread_goes_on(peer);
}

static void a_stuck_write_holds_no_other_region(void)
{
	others_are_freed(WRITE, false);
}

static void a_stuck_write_of_a_thread_with_a_bias_holds_no_other_region(void)
{
	others_are_freed(WRITE, true);
}

static void a_stuck_read_holds_no_other_region(void)
{
	others_are_freed(READ, false);
}

static void a_stuck_send_holds_no_other_region(void)
{
	others_are_freed(SEND, false);
}

static void a_stuck_receive_holds_no_other_region(void)
{
	others_are_freed(TAKE, false);
}

/* The service thread serves all other connections. */
static void others_are_served(void)
{
	struct api_offer offer;
	struct api_pair pair;
	struct api_end third;
	struct api_buf data = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);

	memset(&pair, 0, sizeof pair);
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &data);
	/* a graceful disconnect waits for a message, which the other end takes only now */
	REQUIRE_DAT(api_send(pair.a.ep, &data, 0, SIZE / 2, 5, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(pair.b.ep, &data, SIZE / 2, SIZE / 2, 6), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 5, DAT_DTO_SUCCESS, SIZE / 2);
	API_DTO(pair.b.recv, pair.b.ep, 6, DAT_DTO_SUCCESS, SIZE / 2);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* nobody answers this request */
	api_end_make(&third, NULL);
	api_offer_make(&offer, api_evd(8, DAT_EVD_CR_FLAG), NULL);
	REQUIRE_DAT(api_offer_connect(third.ep, &offer, 50000), DAT_SUCCESS);
	API_CONN(third.connect, third.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
}

static void other_connections_begin_and_end(void)
{
	pid_t peer = thread_waits(WRITE, false);

	others_are_served();
	thread_goes_on(peer);
}

/* The service thread cannot end the connection while a thread is in the middle of a post. */
static void others_are_served_when_the_peer(enum order what, bool biased)
{
	pid_t peer = thread_waits(WRITE, biased);

	order(peer, what);
	others_are_served();
	CHECK(!atomic_load(&post.done));
	API_EMPTY(end.connect);
	check_kill(peer);
	REQUIRE(pthread_join(stuck, NULL) == 0);
	API_CONN_OVER(end.connect, end.ep);
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	api_close();
}

static void others_are_served_when_the_peer_disconnects(void)
{
	others_are_served_when_the_peer(DISCONNECT, false);
}

static void others_are_served_when_it_disconnects_and_the_lock_is_biased(void)
{
	others_are_served_when_the_peer(DISCONNECT, true);
}

static void others_are_served_when_the_peer_hangs_up(void)
{
	others_are_served_when_the_peer(CLOSE, false);
}

/* The service thread takes the messages of a queue with a CNO. What it finds is not lost, even if the peer goes. */
static void others_are_served_when_the_peer_sends(bool goes)
{
	pid_t peer = thread_waits(WRITE, false);
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE from;

	REQUIRE_DAT(dat_cno_create(api.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_modify_cno(end.recv, cno), DAT_SUCCESS);
	order(peer, SAY);
	others_are_served();
	if (goes) {
		order(peer, CLOSE);
		others_are_served();
	}
	order(peer, RELENT);
	REQUIRE(pthread_join(stuck, NULL) == 0);
	if (!goes)
		API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	CHECK_DAT(dat_cno_wait(cno, api_patience(), &from), DAT_SUCCESS);
	API_DTO(end.recv, end.ep, 4, DAT_DTO_SUCCESS, 8);
	check_kill(peer);
	api_close();
}

static void others_are_served_when_the_peer_sends_and_stays(void)
{
	others_are_served_when_the_peer_sends(false);
}

static void others_are_served_when_the_peer_sends_and_goes(void)
{
	others_are_served_when_the_peer_sends(true);
}

static void *free_it(void *arg)
{
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	atomic_store((_Atomic bool *)arg, true);
	return NULL;
}

/* The kernel may write to it at any time. */
static void a_region_is_not_freed_while_it_is_written_to(void)
{
	pid_t peer = thread_waits(READ, false);
	_Atomic bool freed = false;
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, free_it, (void *)(uintptr_t)&freed) == 0);
	for (uint64_t until = check_now_ms() + API_QUIET_MS; check_now_ms() < until; check_nap())
		CHECK(!atomic_load(&freed));
	CHECK(!atomic_load(&post.done));
	check_kill(peer);
	REQUIRE(pthread_join(stuck, NULL) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(atomic_load(&freed));
	api_close();
}

static const struct check_test tests[] = {
	CHECK_TEST(a_write_there_fails),
	CHECK_TEST(a_read_there_fails),
	CHECK_TEST(a_send_there_fails),
	CHECK_TEST(a_stuck_write_holds_no_other_region),
	CHECK_TEST(a_stuck_write_of_a_thread_with_a_bias_holds_no_other_region),
	CHECK_TEST(a_stuck_read_holds_no_other_region),
	CHECK_TEST(a_stuck_send_holds_no_other_region),
	CHECK_TEST(a_stuck_receive_holds_no_other_region),
	CHECK_TEST(other_connections_begin_and_end),
	CHECK_TEST(others_are_served_when_the_peer_disconnects),
	CHECK_TEST(others_are_served_when_it_disconnects_and_the_lock_is_biased),
	CHECK_TEST(others_are_served_when_the_peer_hangs_up),
	CHECK_TEST(others_are_served_when_the_peer_sends_and_stays),
	CHECK_TEST(others_are_served_when_the_peer_sends_and_goes),
	CHECK_TEST(a_region_is_not_freed_while_it_is_written_to),
	CHECK_END
};

static const struct check_suite suite = { .name = "memory in which faults do not end",
					  .teardown = api_close,
					  .tests = tests };

CHECK_SUITES(&suite);
