/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many completion queues an EVD gets over a device that cannot resize one, as endpoints are created and connected. The
 * functions of libibverbs that the provider calls are the test's own, so no device is needed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "providers/rdma/rdma_cq.h"

enum { LARGEST = 1 << 20, DEEP = 1024, SMALL = 8, SETS = 500 };

static struct ibv_context verbs;
static struct rdma_ia ia;
static struct datp_evd evd;
static struct rdma_cqset sets[SETS], *set = &sets[0];
static _Atomic uint32_t poll_lock;
static bool resizes; /* the device can resize a completion queue */
static int refusal;  /* what it returns if it cannot */
static int most;     /* entries of the largest queue for which it has memory */
static int queues;   /* completion queues that exist */

/* ------------------------------------------------------------------ the device */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return NULL;
	channel->context = context;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel, (void)cq, (void)context;
	return -1;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)cq_context, (void)channel, (void)vector;
	if (!cq)
		return NULL;
	cq->context = context;
	cq->cqe = cqe;
	queues++;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	queues--;
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (!resizes)
		return refusal;
	/* as the library of bnxt does, without errno */
	if (cqe > most)
		return -ENOMEM;
	cq->cqe = cqe;
	return 0;
}

/* ------------------------------------------------------------------ endpoints */

static void begin(void)
{
	memset(&ia, 0, sizeof(ia));
	memset(sets, 0, sizeof(sets));
	ia.base.name = "dev0";
	ia.verbs = &verbs;
	ia.dev.max_cqe = LARGEST;
	ia.cq_spare = RDMA_CQ_SPARE;
	pthread_mutex_init(&ia.cq_lock, NULL);
	resizes = false;
	refusal = EOPNOTSUPP;
	most = LARGEST;
	queues = 0;
}

static void end(void)
{
	for (int i = 0; i < SETS; i++)
		rdma_cqset_fini(&sets[i]);
	CHECK_EQ_INT(queues, 0);
	CHECK_EQ_INT(ia.cq_spare, RDMA_CQ_SPARE);
	unsetenv("DAT_LOG");
}

static void evd_made(struct rdma_cqset *of)
{
	REQUIRE_EQ_INT(rdma_cqset_init(of, &ia, &evd, &poll_lock, 8), DATP_OK);
}

/*
 * Makes an endpoint with that many receives and requests, which complete on the EVD, and connects it. Returns the completion
 * queue of its receives.
 */
static struct rdma_cq *connected(struct rdma_cqset *on, uint32_t depth)
{
	struct rdma_cq *receives, *requests;

	REQUIRE_EQ_INT(rdma_cqset_reserve(on, RDMA_RECEIVES, depth, 2 * depth, &receives), DATP_OK);
	REQUIRE_EQ_INT(rdma_cqset_reserve(on, RDMA_REQUESTS, depth, 2 * depth, &requests), DATP_OK);
	rdma_cqset_settle(on, receives);
	return receives;
}

/* ------------------------------------------------------------------ tests */

static void endpoints_of_1024_receives_share_a_queue(void)
{
	struct rdma_cq *first;

	evd_made(set);
	first = connected(set, DEEP);
	for (int i = 1; i < 4; i++)
		CHECK(connected(set, DEEP) == first);
	CHECK_EQ_INT(queues, 1);
}

static void receives_share_a_queue_longer_than_requests(void)
{
	struct rdma_cq *first;
	int more = 0;

	evd_made(set);
	first = connected(set, DEEP);
	while (connected(set, DEEP) == first)
		more++;
	CHECK(more >= 16);
}

/* Without the least number of spare entries, each of the deep endpoints has a queue of its own, or nearly so. */
static void deep_endpoints_behind_a_small_one_share_its_queue(void)
{
	struct rdma_cq *first;

	evd_made(set);
	first = connected(set, SMALL);
	for (int i = 0; i < 4; i++)
		CHECK(connected(set, DEEP) == first);
}

/* Each of many EVDs has spare entries for endpoints like its first, because the least number gets smaller with each of them. */
static void least_number_does_not_use_up_the_spare_entries(void)
{
	for (int i = 0; i < SETS; i++) {
		const struct rdma_cq *cq;

		evd_made(&sets[i]);
		cq = connected(&sets[i], SMALL);
		CHECK(cq->size >= 16 * 2 * SMALL);
	}
	CHECK(ia.cq_spare > 0);
}

/* The adapter's spare entries are for first queues, so a queue beside the first one leaves them to other EVDs. */
static void second_queue_of_an_evd_takes_no_spare_entries(void)
{
	struct rdma_cq *first;
	uint32_t left;

	ia.dev.max_cqe = 40000; /* so the second queue, longer than the first, has no place for as many as the first has */
	evd_made(set);
	first = connected(set, DEEP);
	CHECK(first->spare > 0);
	left = ia.cq_spare;
	CHECK_EQ_INT(left, RDMA_CQ_SPARE - first->spare);
	while (set->live == 1)
		connected(set, DEEP);
	CHECK_EQ_INT(ia.cq_spare, left);
	while (set->live == 2)
		connected(set, DEEP);
	CHECK_EQ_INT(ia.cq_spare, left);
}

static void a_queue_that_can_be_resized_is_the_only_one(void)
{
	struct rdma_cq *first;

	resizes = true;
	evd_made(set);
	first = connected(set, SMALL);
	CHECK(first->size < DEEP);
	for (int i = 0; i < 16; i++)
		CHECK(connected(set, DEEP) == first);
	CHECK_EQ_INT(queues, 1);
}

/* Whatever the driver's reason is, and however it returns it: a driver that refuses to resize a queue that is not used cannot. */
static void device_that_refuses_at_first_gets_one_queue_with_spare_entries(void)
{
	static const int refusals[] = { EOPNOTSUPP, -EOPNOTSUPP, -ENOSYS, EBUSY, -EBUSY, EINVAL };
	struct rdma_cq *first;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (i > 0) {
			end();
			begin();
		}
		refusal = refusals[i];
		errno = 0;
		evd_made(set);
		first = connected(set, SMALL);
		CHECK(ia.rigid);
		for (int n = 0; n < 16; n++)
			CHECK(connected(set, SMALL) == first);
		CHECK_EQ_INT(queues, 1);
	}
}

/* A negative number is an error, too, if errno is 0; memory that is short now may be there later. */
static void queue_that_could_not_be_resized_has_no_more_entries_than_before(void)
{
	struct rdma_cq *cq[2];

	resizes = true;
	evd_made(set);
	cq[0] = connected(set, SMALL);
	most = (int)cq[0]->size;
	errno = 0;
	cq[1] = connected(set, DEEP);
	CHECK(cq[1] != cq[0]);
	CHECK(!ia.rigid);
	for (int i = 0; i < 2; i++)
		CHECK((int)cq[i]->size <= cq[i]->cq->cqe);
}

/* Endpoints that are not connected yet move to a larger queue, so there is only one when they are. */
static void second_queue_is_told_of_at_level_debug(void)
{
	struct rdma_cq *first;
	const char *said;

	setenv("DAT_LOG", "debug", 1);
	evd_made(set);
	check_stderr_begin();
	first = connected(set, SMALL);
	while (set->live == 1)
		connected(set, DEEP);
	CHECK(connected(set, SMALL) == first);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "dev0: an EVD needs another completion queue, its number 2, for requests only, because the device "
			    "cannot resize one: see opendat-ib(7)");
	CHECK(!strstr(said, "for receives"));
	check_stderr_begin();
	while (connected(set, DEEP) == first)
		;
	CHECK_HAS_STR(check_stderr_end(), "for receives as well");
}

static atomic_bool woken;

static void *wake_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	rdma_evd_wake(arg);
	atomic_store(&woken, true);
	pthread_testcancel();
	return NULL;
}

/* A post that queues an event wakes the waiter, and has locks then. */
static void thread_is_not_cancelled_when_it_wakes_a_waiter(void)
{
	static struct rdma_evd waited;
	uint64_t count = 0;
	pthread_t thread;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	REQUIRE(fd >= 0);
	waited.base.has_cq = true;
	atomic_init(&waited.wake_fd, fd);
	REQUIRE(pthread_create(&thread, NULL, wake_cancelled, &waited.base) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK(atomic_load(&woken));
	CHECK(read(fd, &count, sizeof(count)) == sizeof(count) && count == 1);
	close(fd);
}

static const struct check_test tests[] = {
	CHECK_TEST(thread_is_not_cancelled_when_it_wakes_a_waiter),
	CHECK_TEST(endpoints_of_1024_receives_share_a_queue),
	CHECK_TEST(receives_share_a_queue_longer_than_requests),
	CHECK_TEST(deep_endpoints_behind_a_small_one_share_its_queue),
	CHECK_TEST(least_number_does_not_use_up_the_spare_entries),
	CHECK_TEST(second_queue_of_an_evd_takes_no_spare_entries),
	CHECK_TEST(a_queue_that_can_be_resized_is_the_only_one),
	CHECK_TEST(device_that_refuses_at_first_gets_one_queue_with_spare_entries),
	CHECK_TEST(queue_that_could_not_be_resized_has_no_more_entries_than_before),
	CHECK_END
};

/* The process reads DAT_LOG once, before its first message, so this suite is the first. */
static const struct check_test debug_tests[] = {
	CHECK_TEST(second_queue_is_told_of_at_level_debug),
	CHECK_END
};

static const struct check_suite cq = { .name = "rdma_cq", .setup = begin, .teardown = end, .tests = tests };
static const struct check_suite debug = { .name = "rdma_cq at level debug", .setup = begin, .teardown = end, .tests = debug_tests };

CHECK_SUITES(&debug, &cq);
