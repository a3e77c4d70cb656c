/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Behaviour of devices that rxe and siw never show, imitated by the switches of twist.h. Each test fails if the provider does not
 * handle that behaviour. ended_test.c has the end of a queue pair. Runs in a guest of the lab, over the adapter that
 * OPENDAT_TEST_IA names.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"
#include "twist.h"

enum { BYTES = 64 };

static struct api_pair pair;
static struct api_buf buf;

static void pair_make(const DAT_EP_ATTR *attr)
{
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, attr);
}

static void forget(void)
{
	atomic_store(&twist.unknown, false);
	atomic_store(&twist.no_solicited, false);
	atomic_store(&twist.no_bind, false);
	atomic_store(&twist.reads_unsaid, false);
	atomic_store(&twist.message, 0);
	atomic_store(&twist.longest, 0);
	atomic_store(&twist.late_ms, 0);
	atomic_store(&twist.says, TWIST_ERRNO);
	atomic_store(&twist.inline_mtu, false);
	atomic_store(&twist.inlines_told, 0);
	atomic_store(&twist.no_inline_copy, false);
	atomic_store(&twist.vendor, 0);
	atomic_store(&twist.keys, TWIST_KEYS_OWN);
	atomic_store(&twist.old_kernel, false);
	atomic_store(&twist.needs_receives, false);
	atomic_store(&twist.no_query, false);
	atomic_store(&twist.tells, 0);
	atomic_store(&twist.no_pd, false);
	atomic_store(&twist.no_srq, false);
	atomic_store(&twist.no_srq_resize, false);
	atomic_store(&twist.windows_unmade, false);
	atomic_store(&twist.no_windows, false);
	atomic_store(&twist.inlines, 0);
	atomic_store(&twist.sge, 0);
	atomic_store(&twist.resize_fails, 0);
	unsetenv("DAPL_MAX_INLINE");
	unsetenv("DAPL_CM_TOS");
	unsetenv("DAT_LOG");
	twist_here.refuses = 0;
	api_close();
}

/* ------------------------------------------------------------------ what a device reports */

/* irdma, bnxt_re, hns and qedr report 0 RDMA Reads for all queue pairs together. A program that trusts a 0 would do no reads. */
static void number_of_reads_that_a_device_does_not_say_is_that_of_all_queue_pairs(void)
{
	int64_t all;

	atomic_store(&twist.reads_unsaid, true);
	api_open();
	all = (int64_t)api.attr.max_rdma_read_per_ep_in * api.attr.max_eps;
	CHECK(all > 0);
	CHECK_EQ_INT(api.attr.max_rdma_read_in, all < INT32_MAX ? all : INT32_MAX);
}

static void message_limit(uint64_t said, DAT_VLEN limit)
{
	atomic_store(&twist.message, said + 1);
	api_open();
	CHECK_EQ_INT(api.attr.max_message_size, limit);
	CHECK_EQ_INT(api.attr.max_rdma_size, limit);
	api_close();
}

/* Some devices treat a segment of 2^31 bytes as empty, so the longest message must be shorter than that. */
static void longest_message_is_one_that_a_segment_holds(void)
{
	message_limit(UINT32_MAX, INT32_MAX);
	message_limit(UINT64_C(1) << 31, INT32_MAX);
	message_limit(INT32_MAX, INT32_MAX);
	message_limit(1 << 23, 1 << 23);
	/* mana reports a longest message of 0 bytes. */
	message_limit(0, 1 << 30);
}

/* Checks that the output since check_stderr_begin() names the call that has failed, its error (0: none), and the remedy. */
static void named(const char *call, int err, const char *remedy)
{
	const char *said = check_stderr_end();

	CHECK_HAS_STR(said, call);
	if (err)
		CHECK_HAS_STR(said, strerror(err));
	CHECK_HAS_STR(said, remedy);
}

static DAT_RETURN opens(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_open(api_ia_name(), 8, &async, &ia);
}

/* The reason is printed once in a process, so each adapter is opened in a process of its own. */
static void open_without_a_domain(void *arg)
{
	(void)arg;
	atomic_store(&twist.no_pd, true);
	check_stderr_begin();
	CHECK_DAT(opens(), DAT_INSUFFICIENT_RESOURCES);
	/* librdmacm allocates a protection domain for itself when it first uses the device */
	named("rdma_bind_addr", ENOMEM, "end programs that use the device");
}

static void open_another_without_a_domain(void *arg)
{
	(void)arg;
	api_open();
	atomic_store(&twist.no_pd, true);
	check_stderr_begin();
	CHECK_DAT(opens(), DAT_INSUFFICIENT_RESOURCES);
	named("ibv_alloc_pd", ENOMEM, "free protection zones, or end programs");
	api_close();
}

static void adapter_that_cannot_be_opened_is_refused_with_the_remedy(void)
{
	check_join(check_fork(open_without_a_domain, NULL));
	check_join(check_fork(open_another_without_a_domain, NULL));
}

static void protection_zone_that_the_device_has_not_is_refused_with_the_remedy(void)
{
	DAT_PZ_HANDLE pz;

	api_open();
	atomic_store(&twist.no_pd, true);
	check_stderr_begin();
	CHECK(dat_pz_create(api.ia, &pz) != DAT_SUCCESS);
	named("ibv_alloc_pd", ENOMEM, "free protection zones, or end programs");
}

static void shared_receive_queue_that_the_device_refuses_is_refused_with_the_remedy(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;

	api_open();
	atomic_store(&twist.no_srq, true);
	check_stderr_begin();
	CHECK_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_INSUFFICIENT_RESOURCES);
	named("(ibv_create_srq) of ", EOPNOTSUPP, "ask for fewer max_recv_dtos");
	atomic_store(&twist.no_srq, false);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	atomic_store(&twist.no_srq_resize, true);
	check_stderr_begin();
	CHECK_DAT(dat_srq_resize(srq, 2000), DAT_INSUFFICIENT_RESOURCES);
	/* the queues of siw cannot be resized in any case */
	named("cannot be resized to 2000", api_declares("transport", "iWARP") ? 0 : EOPNOTSUPP,
	      "create it with max_recv_dtos 2000");
}

/* Registers a region of `size` bytes. Returns how many registrations the device was asked for. */
static int registered(size_t size)
{
	DAT_VADDR registered_address;
	DAT_VLEN registered_size;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr;
	DAT_REGION_DESCRIPTION region = { .for_va = calloc(1, size) };

	REQUIRE(region.for_va != NULL);
	atomic_store(&twist.regions, 0);
	REQUIRE_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, size, api.pz,
				   DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context,
				   &registered_size, &registered_address),
		    DAT_SUCCESS);
	CHECK(lmr_context > INT32_MAX);
	CHECK_DAT(dat_lmr_free(lmr), DAT_SUCCESS);
	free(region.for_va);
	return atomic_load(&twist.regions);
}

/*
 * irdma and siw choose the high bits of a key at random. If the key does not fit into a DAT context, the provider registers the
 * region again, and each registration pins all its pages. So a large region is tried only a few times.
 */
static void large_region_is_not_registered_often_for_the_sake_of_its_key(void)
{
	enum { MIB = 1 << 20 };

	api_open();
	atomic_store(&twist.keys, TWIST_KEYS_LARGE);
	CHECK_EQ_INT(registered(4096), 32);
	CHECK_EQ_INT(registered(16 * MIB), 4);
	CHECK_EQ_INT(registered(48 * MIB), 3);
}

/* irdma and siw choose the highest bit of a key at random. Programs keep keys in signed variables, so the provider tries again. */
static void a_small_region_gets_a_key_that_a_signed_variable_holds(void)
{
	enum { REGIONS = 64 };
	DAT_LMR_CONTEXT highest = 0;

	atomic_store(&twist.keys, TWIST_KEYS_RANDOM);
	api_open();
	atomic_store(&twist.regions, 0);
	for (int i = 0; i < REGIONS; i++) {
		buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
		highest = buf.lmr_context > highest ? buf.lmr_context : highest;
		highest = buf.rmr_context > highest ? buf.rmr_context : highest;
	}
	CHECK(highest <= INT32_MAX);
	/* some registrations had another key, or this test shows nothing */
	CHECK(atomic_load(&twist.regions) > REGIONS + REGIONS / 4);
}

/* If every registration has got a large key, the region is used with that key. */
static void data_go_by_large_keys(void)
{
	atomic_store(&twist.keys, TWIST_KEYS_LARGE);
	pair_make(NULL);
	CHECK(buf.lmr_context > INT32_MAX && buf.rmr_context > INT32_MAX);
	memset(buf.mem, 1, BYTES);
	memset(buf.mem + 4096, 2, 2 * BYTES);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 2, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	CHECK(!memcmp(buf.mem, buf.mem + 4096, BYTES));
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 1024, 2 * BYTES), api_target(&buf, 4096, 2 * BYTES), 3, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, 2 * BYTES);
	CHECK(!memcmp(buf.mem + 1024, buf.mem + 4096, 2 * BYTES));
	REQUIRE_DAT(api_write(pair.b.ep, api_seg(&buf, 4096, 2 * BYTES), api_target(&buf, 2048, 2 * BYTES), 4, 0), DAT_SUCCESS);
	API_DTO(pair.b.request, pair.b.ep, 4, DAT_DTO_SUCCESS, 2 * BYTES);
	CHECK(!memcmp(buf.mem + 2048, buf.mem + 4096, 2 * BYTES));
}

/* Before Linux 5.12, the parent may get a copy of a registered page after a fork(), while the device still uses the old page. */
static void fork_that_takes_registered_memory_away_is_warned_of_once(void)
{
	if (!HAVE_DECL_IBV_IS_FORK_INITIALIZED)
		check_skip("this rdma-core does not tell");
	check_stderr_begin();
	api_open();
	CHECK(!strstr(check_stderr_end(), "fork"));
	api_close();
	atomic_store(&twist.old_kernel, true);
	check_stderr_begin();
	api_open();
	CHECK_HAS_STR(check_stderr_end(), "set RDMAV_FORK_SAFE=1");
	api_close();
	check_stderr_begin();
	api_open();
	CHECK(!strstr(check_stderr_end(), "fork"));
}

/*
 * A Chelsio T5 reports that a region can have any length, and refuses 8 GiB. The adapter, which has quirk=region_limit here, shows
 * the length that the device takes, and the device is not asked for a longer region.
 */
static void region_is_no_longer_than_the_device_takes(void)
{
	const size_t size = (size_t)8 << 30;
	DAT_REGION_DESCRIPTION region = { .for_va = mmap(NULL, size, PROT_READ | PROT_WRITE,
							 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
	DAT_VADDR registered_address;
	DAT_VLEN registered_size;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_HANDLE lmr;

	REQUIRE(region.for_va != MAP_FAILED);
	atomic_store(&twist.longest, size - 1);
	pair_make(NULL);
	CHECK_EQ_INT(api.attr.max_lmr_block_size, size - 1);
	api_pair_works(&pair, &buf);
	atomic_store(&twist.regions, 0);
	check_stderr_begin();
	CHECK_DAT(dat_lmr_create(api.ia, DAT_MEM_TYPE_VIRTUAL, region, size, api.pz, DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context,
				 &rmr_context, &registered_size, &registered_address),
		  DAT_INVALID_PARAMETER);
	CHECK_HAS_STR(check_stderr_end(), "register them in parts");
	CHECK_EQ_INT(atomic_load(&twist.regions), 0);
	munmap(region.for_va, size);
}

/* ------------------------------------------------------------------ notification and asynchronous events */

/* mana can notify of all completions or of none, so each completion wakes a thread that waits for a solicited one. */
static void solicited_message_wakes_where_the_device_cannot_tell_it_from_others(void)
{
	DAT_EP_ATTR attr = { .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG };
	struct api_waiter waiter;

	atomic_store(&twist.no_solicited, true);
	pair_make(&attr);
	CHECK(api_declares("solicited", "unknown"));
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	api_wait_start(&waiter, pair.b.recv, 1);
	while (!check_sleeps(waiter.tid))
		check_nap();
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		    DAT_SUCCESS);
	api_wait_end(&waiter);
	CHECK_DAT(waiter.ret, DAT_SUCCESS);
}

/* Delivers the asynchronous event `what` to the provider, which polls the device for one when a peer disconnects. */
static void deliver_event(const struct api_pair *one, int what)
{
	atomic_store(&twist.tells, what + 1);
	REQUIRE_DAT(dat_ep_disconnect(one->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(one->a.connect, one->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* mana cannot be queried for the state of a queue pair, but reports a failed queue pair by an asynchronous event. */
static void failure_that_the_device_reports_by_itself_breaks_the_connection(void)
{
	pair_make(NULL);
	atomic_store(&twist.no_query, true);
	deliver_event(&pair, IBV_EVENT_QP_FATAL);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_EQ_INT(atomic_load(&twist.tells), 0);
	api_pair_make(&pair, NULL);
	REQUIRE_DAT(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * A thread destroys a queue pair of which the service thread is about to handle an event. The kernel may have given the handle of
 * that queue pair to the next one, which would be stopped by it.
 */
static void queue_pair_that_is_being_destroyed_is_not_stopped(void)
{
	struct api_pair other;

	REQUIRE(!sem_init(&twist.reached, 0, 0) && !sem_init(&twist.open, 0, 0));
	pair_make(NULL);
	api_pair_make(&other, NULL);
	atomic_store(&twist.told_late, true);
	deliver_event(&pair, IBV_EVENT_QP_FATAL); /* about the endpoint that has accepted last */
	sem_wait(&twist.reached);
	CHECK_DAT(dat_ep_free(other.b.ep), DAT_SUCCESS);
	CHECK_EQ_INT(atomic_load(&twist.late_stops), 0);
	API_CONN_OVER(other.a.connect, other.a.ep);
}

/* ------------------------------------------------------------------ lists of no segments */

/*
 * Posts transfers of 0 bytes, with segments and without. Some drivers read the first entry of a list even if it has no segments, so
 * the provider must pass an empty entry there.
 */
static void nothing_is_read_through_an_empty_list(void)
{
	DAT_LMR_TRIPLET whole;
	DAT_RMR_TRIPLET none;

	pair_make(NULL);
	whole = api_seg(&buf, 1024, BYTES);
	none = api_target(&buf, 0, 0);
	api_fill(buf.mem, buf.size, 1);
	atomic_store(&twist.first_segments, 0);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 0, i), DAT_SUCCESS);
	REQUIRE_DAT(api_read(pair.a.ep, whole, none, 10, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 10, DAT_DTO_SUCCESS, 0);
	REQUIRE_DAT(dat_ep_post_rdma_read(pair.a.ep, 0, NULL, api_cookie(11), &none,
					  DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 11, DAT_DTO_SUCCESS, 0);
	REQUIRE_DAT(dat_ep_post_rdma_write(pair.a.ep, 0, NULL, api_cookie(12), &none,
					   DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 12, DAT_DTO_SUCCESS, 0);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, 0, 13, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 13, DAT_DTO_SUCCESS, 0);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, 0);
	CHECK_EQ_INT(atomic_load(&twist.first_segments), 0);
	CHECK_EQ_INT(api_mismatch(buf.mem, buf.size, 1), -1);
}

/* ------------------------------------------------------------------ what a driver returns */

/* Checks that the driver has refused the post, and that the post leaves no completion behind. */
static void full(DAT_RETURN ret)
{
	CHECK_DAT(ret, DAT_INSUFFICIENT_RESOURCES);
	CHECK_EQ_INT(twist_here.refuses, 0);
	API_EMPTY(pair.a.request);
	API_EMPTY(pair.b.recv);
}

/*
 * mthca returns -1 if a queue is full, and mlx4 if an SRQ is. siw returns -1 for a request that it has accepted, so over siw this
 * value is left out.
 */
static void post_that_a_driver_refuses_by_a_number_of_its_own_is_refused(void)
{
	static const int says[] = { -1, ENOMEM, -ENOMEM };

	pair_make(NULL);
	for (unsigned int i = api_declares("transport", "iWARP"); i < 3; i++) {
		twist_here.refuses = says[i];
		full(api_send(pair.a.ep, &buf, 0, BYTES, 1, 0));
		twist_here.refuses = says[i];
		full(api_send(pair.a.ep, &buf, 0, BYTES, 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
		twist_here.refuses = says[i];
		full(api_recv(pair.b.ep, &buf, 0, BYTES, 1));
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 2), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 0, BYTES, 3, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, BYTES);
		API_DTO(pair.b.recv, pair.b.ep, 2, DAT_DTO_SUCCESS, BYTES);
	}
}

/* mana returns EINVAL for a full queue, as others do for a wrong request, and cannot be asked for the state of a queue pair. */
static void queue_that_a_driver_calls_wrong_is_full(void)
{
	enum { FOR_EVER_MS = 1000000000 };

	pair_make(NULL);
	/* the queues have something in them, whoever polls */
	atomic_store(&twist.late_ms, FOR_EVER_MS);
	atomic_store(&twist.says, TWIST_EINVAL_FULL);
	atomic_store(&twist.no_query, true);
	for (uint64_t i = 0; i < 2; i++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, i), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 2, 0), DAT_SUCCESS);
	twist_here.refuses = ENOMEM;
	CHECK_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 3, 0), DAT_INSUFFICIENT_RESOURCES);
	twist_here.refuses = ENOMEM;
	CHECK_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 4), DAT_INSUFFICIENT_RESOURCES);
	atomic_store(&twist.late_ms, 0);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 0, DAT_DTO_SUCCESS, BYTES);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 5, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 5, DAT_DTO_SUCCESS, BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	API_EMPTY(pair.a.request);
}

static void receive_of_an_srq_that_a_driver_refuses_is_refused(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8,
			      .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET seg;
	DAT_SRQ_HANDLE srq;

	api_open();
	if (api_declares("transport", "iWARP"))
		check_skip("siw says so of what it has taken");
	buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	seg = api_seg(&buf, 0, BYTES);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
	twist_here.refuses = -1;
	CHECK_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(1)), DAT_INSUFFICIENT_RESOURCES);
	for (uint64_t i = 0; i < 8; i++)
		CHECK_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(i)), DAT_SUCCESS);
}

/* Checks that the output since check_stderr_begin() names the device, the post that it refuses, and the driver's error. */
static void told(const char *what, int err)
{
	const char *said = check_stderr_end();

	CHECK(strstr(said, "verbs device ") && strstr(said, what) && strstr(said, strerror(err)));
}

static void reason_of_a_driver_that_refuses_a_post_is_told_at_level_debug(void)
{
	setenv("DAT_LOG", "debug", 1);
	pair_make(NULL);
	check_stderr_begin();
	twist_here.refuses = ENOMEM;
	full(api_send(pair.a.ep, &buf, 0, BYTES, 1, 0));
	told("refuses a request", ENOMEM);
	check_stderr_begin();
	twist_here.refuses = -ENOMEM;
	full(api_recv(pair.b.ep, &buf, 0, BYTES, 1));
	told("refuses a receive", ENOMEM);
	/* From siw, any other error may mean that the connection has ended and its event is still to come. */
	if (api_declares("transport", "iWARP"))
		return;
	check_stderr_begin();
	twist_here.refuses = EOPNOTSUPP;
	full(api_send(pair.a.ep, &buf, 0, BYTES, 1, 0));
	told("refuses a request", EOPNOTSUPP);
}

/* ------------------------------------------------------------------ what a driver cannot do */

static void bind_works(DAT_RMR_HANDLE rmr, uint64_t cookie)
{
	DAT_LMR_TRIPLET bound = api_seg(&buf, 1024, BYTES);
	DAT_RMR_TRIPLET target = { .target_address = (DAT_VADDR)(uintptr_t)buf.mem + 1024,
				   .segment_length = BYTES };

	REQUIRE_DAT(dat_rmr_bind(rmr, &bound, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep, api_cookie(cookie),
				 DAT_COMPLETION_DEFAULT_FLAG, &target.rmr_context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, cookie, DAT_RMR_BIND_SUCCESS);
	REQUIRE_DAT(api_read(pair.a.ep, api_seg(&buf, 4096, BYTES), target, cookie, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, cookie, DAT_DTO_SUCCESS, BYTES);
	CHECK_EQ_INT(memcmp(buf.mem + 1024, buf.mem + 4096, BYTES), 0);
}

/* mana allocates memory windows, but its library cannot bind one. RMRs are emulated from the first bind that fails. */
static void windows_that_cannot_be_bound_are_emulated(void)
{
	DAT_LMR_TRIPLET nothing = { 0 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	atomic_store(&twist.unknown, true);
	pair_make(NULL);
	CHECK(api_declares("rmr", "memory windows"));
	api_fill(buf.mem, buf.size, 1);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	/* The first bind uses a memory window. */
	bind_works(rmr, 1);
	atomic_store(&twist.no_bind, true);
	bind_works(rmr, 2);
	memset(buf.mem + 1024, 7, BYTES);
	bind_works(rmr, 3);
	REQUIRE_DAT(dat_rmr_bind(rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, pair.b.ep, api_cookie(4),
				 DAT_COMPLETION_DEFAULT_FLAG, &context),
		    DAT_SUCCESS);
	API_BIND(pair.b.request, rmr, 4, DAT_RMR_BIND_SUCCESS);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

/*
 * mthca, ocrdma and qib report no windows, so RMRs are emulated from the beginning. The device has another vendor here, because the
 * provider uses rxe's windows in no case.
 */
static void windows_that_a_device_does_not_have_are_emulated(void)
{
	DAT_RMR_HANDLE rmr;

	atomic_store(&twist.vendor, 0x15b3);
	atomic_store(&twist.no_windows, true);
	pair_make(NULL);
	CHECK(!api_declares("rmr", "memory windows"));
	api_fill(buf.mem, buf.size, 1);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	bind_works(rmr, 1);
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

/* cxgb4 and qedr take four segments in a request or a receive, and refuse a queue pair of more. */
static void request_has_no_more_segments_than_the_device_takes(void)
{
	DAT_LMR_TRIPLET from[4], to[4];
	struct api_end end;
	DAT_EP_PARAM param;

	atomic_store(&twist.sge, 4);
	pair_make(NULL);
	CHECK_EQ_INT(api.attr.max_iov_segments_per_dto, 4);
	for (int i = 0; i < 4; i++) {
		from[i] = api_seg(&buf, 4096 + (size_t)i * BYTES, BYTES);
		to[i] = api_seg(&buf, (size_t)i * BYTES, BYTES);
	}
	api_fill(buf.mem, buf.size, 1);
	REQUIRE_DAT(dat_ep_post_recv(pair.b.ep, 4, to, api_cookie(1), DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_post_send(pair.a.ep, 4, from, api_cookie(2), DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 2, DAT_DTO_SUCCESS, 4 * BYTES);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, 4 * BYTES);
	CHECK_EQ_INT(memcmp(buf.mem, buf.mem + 4096, 4 * BYTES), 0);
	REQUIRE_DAT(dat_ep_query(pair.a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_attr.max_recv_iov, 4);
	param.ep_attr.max_recv_iov = 5;
	end = pair.a;
	CHECK_DAT(dat_ep_create(api.ia, api.pz, end.recv, end.request, end.connect, &param.ep_attr, &end.ep),
		  DAT_INVALID_PARAMETER);
}

/* Connects endpoints whose receives complete on one EVD, more than one completion queue of its first size has room for. */
static void endpoints_share_an_evd_where_a_resize_fails_with(int err)
{
	enum { MANY = 6 };
	static struct api_pair pairs[MANY];
	DAT_EVD_HANDLE shared;

	atomic_store(&twist.resize_fails, err);
	api_open();
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	shared = api_evd(8, DAT_EVD_DTO_FLAG);
	for (int i = 0; i < MANY; i++) {
		struct api_end *b = &pairs[i].b;

		api_end_make(&pairs[i].a, NULL);
		*b = (struct api_end){ .recv = shared, .request = api_evd(64, DAT_EVD_DTO_FLAG),
				       .connect = api_evd(8, DAT_EVD_CONNECTION_FLAG) };
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, b->recv, b->request, b->connect, NULL, &b->ep), DAT_SUCCESS);
		api_pair_meet(&pairs[i]);
	}
	for (int i = 0; i < MANY; i++)
		api_pair_works(&pairs[i], &buf);
	API_EMPTY(api.async);
	api_close();
}

/* The drivers of hns, mana and cxgb4 cannot resize a completion queue, and that of bnxt_re cannot while the queue is in use. */
static void endpoints_share_an_evd_where_no_completion_queue_can_be_resized(void)
{
	endpoints_share_an_evd_where_a_resize_fails_with(EOPNOTSUPP);
	endpoints_share_an_evd_where_a_resize_fails_with(EBUSY);
}

/* erdma refuses a queue pair that has no receives. A program that only writes may ask for none. */
static void endpoint_that_asks_for_no_receives_has_a_queue_for_them(void)
{
	struct api_end usual;
	DAT_EP_PARAM param;

	atomic_store(&twist.needs_receives, true);
	api_open();
	api_end_make(&usual, NULL);
	REQUIRE_DAT(dat_ep_query(usual.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	param.ep_attr.max_recv_dtos = 0;
	buf = api_buf(8192, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, &param.ep_attr);
	api_pair_works(&pair, &buf);
}

/* Connects a pair, and sends a message of each size, one after the other. Each has bytes of its own. */
static void messages_of(const size_t *sizes, size_t n)
{
	pair_make(NULL);
	for (uint64_t i = 0; i < n; i++) {
		memset(buf.mem + 4096, (int)i + 1, sizes[i]);
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, 4096, i), DAT_SUCCESS);
		REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, sizes[i], i, 0), DAT_SUCCESS);
		API_DTO(pair.a.request, pair.a.ep, i, DAT_DTO_SUCCESS, sizes[i]);
		API_DTO(pair.b.recv, pair.b.ep, i, DAT_DTO_SUCCESS, sizes[i]);
		CHECK(memcmp(buf.mem, buf.mem + 4096, sizes[i]) == 0);
	}
}

/* The device has windows when the adapter is opened, and none left when an RMR is bound. */
static void bind_that_gets_no_window_is_refused_with_the_remedy(void)
{
	DAT_LMR_TRIPLET bound;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	atomic_store(&twist.unknown, true);
	pair_make(NULL);
	bound = api_seg(&buf, 1024, BYTES);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	atomic_store(&twist.windows_unmade, true);
	check_stderr_begin();
	CHECK_DAT(dat_rmr_bind(rmr, &bound, DAT_MEM_PRIV_REMOTE_READ_FLAG, pair.b.ep, api_cookie(1),
			       DAT_COMPLETION_DEFAULT_FLAG, &context),
		  DAT_INSUFFICIENT_RESOURCES);
	named("ibv_alloc_mw", EOPNOTSUPP, "free RMRs");
	CHECK_DAT(dat_rmr_free(rmr), DAT_SUCCESS);
}

/* hns refuses to inline more than the path MTU. */
static void no_message_is_inlined_that_is_longer_than_the_path_has_it(void)
{
	static const size_t sizes[] = { 64, 256, 257, 300, 256, 3000 };

	setenv("DAPL_MAX_INLINE", "4096", 1);
	atomic_store(&twist.vendor, 0x19e5);
	atomic_store(&twist.inline_mtu, true);
	messages_of(sizes, sizeof(sizes) / sizeof(*sizes));
}

/* qib accepts a queue pair that is to inline messages, and says that it inlines none. */
static void nothing_is_inlined_where_the_queue_pair_says_so(void)
{
	static const size_t sizes[] = { 1, 8, 64, 65, 3000 };

	setenv("DAPL_MAX_INLINE", "64", 1);
	atomic_store(&twist.inlines_told, 1);
	messages_of(sizes, sizeof(sizes) / sizeof(*sizes));
}

/* mlx5 rounds the length up: the queue pair inlines more than was asked for. */
static void no_message_is_inlined_that_is_longer_than_the_queue_pair_says(void)
{
	static const size_t sizes[] = { 64, 65, 124, 125, 3000 };

	setenv("DAPL_MAX_INLINE", "64", 1);
	atomic_store(&twist.inlines_told, 124 + 1);
	messages_of(sizes, sizeof(sizes) / sizeof(*sizes));
}

/* irdma, bnxt_re and erdma refuse a queue pair that is to inline more than they can. What they can is found by trials. */
static void message_arrives_where_a_queue_pair_that_inlines_much_is_refused(void)
{
	static const size_t sizes[] = { 1, 64, 65, 96, 97, 3000 };

	setenv("DAPL_MAX_INLINE", "256", 1);
	atomic_store(&twist.inlines, 96 + 1);
	messages_of(sizes, sizeof(sizes) / sizeof(*sizes));
}

/* mana ignores the flag, and the device reads the memory by its key, so the key of a message to be inlined must be right, too. */
static void message_arrives_although_the_driver_does_not_inline_it(void)
{
	static const size_t sizes[] = { 1, 8, 64, 3000 };

	setenv("DAPL_MAX_INLINE", "64", 1);
	atomic_store(&twist.uncopied, 0);
	atomic_store(&twist.no_inline_copy, true);
	messages_of(sizes, sizeof(sizes) / sizeof(*sizes));
	CHECK_EQ_INT(atomic_load(&twist.uncopied), 3);
}

/* Connects with this value of DAPL_CM_TOS, or without it. Returns the traffic class that the kernel reports for a queue pair. */
static int traffic_with(const char *tos)
{
	if (tos)
		setenv("DAPL_CM_TOS", tos, 1);
	atomic_store(&twist.traffic, 0);
	pair_make(NULL);
	REQUIRE_DAT(api_recv(pair.b.ep, &buf, 0, BYTES, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(pair.a.ep, &buf, 4096, BYTES, 2, 0), DAT_SUCCESS);
	API_DTO(pair.b.recv, pair.b.ep, 1, DAT_DTO_SUCCESS, BYTES);
	unsetenv("DAPL_CM_TOS");
	api_close();
	return atomic_load(&twist.traffic) - 1;
}

static void packets_get_the_traffic_class_that_is_asked_for(void)
{
	int usual = traffic_with(NULL);

	CHECK_EQ_INT(traffic_with("104"), 104);
	CHECK_EQ_INT(traffic_with("0x20"), 0x20);
	CHECK_EQ_INT(traffic_with("300"), usual);
}

/* adapters_test.sh runs this over adapters that a line of dat.conf has given a GID. */
static void connections_have_the_gid_that_the_adapter_shows(void)
{
	const char *gid = NULL;

	atomic_store(&twist.gid, 0);
	pair_make(NULL);
	for (DAT_COUNT i = 0; i < api.attr.num_transport_attr; i++)
		if (!strcmp(api.attr.transport_attr[i].name, "gid"))
			gid = api.attr.transport_attr[i].value;
	REQUIRE(gid != NULL);
	CHECK_HAS_STR(gid, ", RoCE v2");
	CHECK_EQ_INT(atomic_load(&twist.gid) - 1, atoi(gid));
}

static const struct check_test ib_tests[] = {
	CHECK_TEST(connections_have_the_gid_that_the_adapter_shows),
	CHECK_TEST(packets_get_the_traffic_class_that_is_asked_for),
	CHECK_TEST(solicited_message_wakes_where_the_device_cannot_tell_it_from_others),
	CHECK_TEST(failure_that_the_device_reports_by_itself_breaks_the_connection),
	CHECK_TEST(queue_pair_that_is_being_destroyed_is_not_stopped),
	CHECK_TEST(a_small_region_gets_a_key_that_a_signed_variable_holds),
	CHECK_TEST(data_go_by_large_keys),
	CHECK_TEST(windows_that_cannot_be_bound_are_emulated),
	CHECK_TEST(windows_that_a_device_does_not_have_are_emulated),
	CHECK_TEST(bind_that_gets_no_window_is_refused_with_the_remedy),
	CHECK_TEST(no_message_is_inlined_that_is_longer_than_the_path_has_it),
	CHECK_TEST(nothing_is_inlined_where_the_queue_pair_says_so),
	CHECK_TEST(no_message_is_inlined_that_is_longer_than_the_queue_pair_says),
	CHECK_TEST(message_arrives_where_a_queue_pair_that_inlines_much_is_refused),
	CHECK_TEST(message_arrives_although_the_driver_does_not_inline_it),
	CHECK_END
};

static const struct check_test all_tests[] = {
	CHECK_TEST(number_of_reads_that_a_device_does_not_say_is_that_of_all_queue_pairs),
	CHECK_TEST(longest_message_is_one_that_a_segment_holds),
	CHECK_TEST(adapter_that_cannot_be_opened_is_refused_with_the_remedy),
	CHECK_TEST(protection_zone_that_the_device_has_not_is_refused_with_the_remedy),
	CHECK_TEST(shared_receive_queue_that_the_device_refuses_is_refused_with_the_remedy),
	CHECK_TEST(large_region_is_not_registered_often_for_the_sake_of_its_key),
	CHECK_TEST(fork_that_takes_registered_memory_away_is_warned_of_once),
	CHECK_TEST(nothing_is_read_through_an_empty_list),
	CHECK_TEST(endpoint_that_asks_for_no_receives_has_a_queue_for_them),
	CHECK_TEST(request_has_no_more_segments_than_the_device_takes),
	CHECK_TEST(endpoints_share_an_evd_where_no_completion_queue_can_be_resized),
	CHECK_TEST(post_that_a_driver_refuses_by_a_number_of_its_own_is_refused),
	CHECK_TEST(queue_that_a_driver_calls_wrong_is_full),
	CHECK_TEST(receive_of_an_srq_that_a_driver_refuses_is_refused),
	CHECK_END
};

/* fault_test.sh runs this over adapters with quirk=region_limit. */
static const struct check_test limited_tests[] = {
	CHECK_TEST(region_is_no_longer_than_the_device_takes),
	CHECK_END
};

/* A process reads DAT_LOG once, before its first message, so this suite runs in a process of its own. */
static const struct check_test debug_tests[] = {
	CHECK_TEST(reason_of_a_driver_that_refuses_a_post_is_told_at_level_debug),
	CHECK_END
};

static const struct check_suite ib_devices = {
	.name = "ib device",
	.teardown = forget,
	.tests = ib_tests,
};

static const struct check_suite all_devices = {
	.name = "any device",
	.teardown = forget,
	.tests = all_tests,
};

static const struct check_suite debug_devices = {
	.name = "device at level debug",
	.teardown = forget,
	.tests = debug_tests,
};

static const struct check_suite limited_devices = {
	.name = "limited device",
	.teardown = forget,
	.tests = limited_tests,
};

CHECK_SUITES(&ib_devices, &all_devices, &debug_devices, &limited_devices);
