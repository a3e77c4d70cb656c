/* SPDX-License-Identifier: BSD-2-Clause */
/* Open, query and close of IAs; contexts and types of handles. */
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "core_null.h"
#include "providers/common/core/core.h"

static const DAT_PROVIDER *dat;
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async;
static char name[] = "null0";

static void open_ia(void)
{
	memset(&null_counts, 0, sizeof(null_counts));
	null_registry.shown = NULL;
	ia = DAT_HANDLE_NULL;
	async = DAT_HANDLE_NULL;
	dat = null_load();
	REQUIRE(dat != NULL);
	REQUIRE_DAT(dat->ia_open_func(name, 8, &async, &ia), DAT_SUCCESS);
}

static void close_ia(void)
{
	if (ia)
		CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(null_counts.ias, 0);
	CHECK_EQ_INT(null_counts.opens, null_counts.closes);
	null_unload();
}

/* ------------------------------------------------------------------ open */

static void open_makes_an_async_evd(void)
{
	DAT_EVD_PARAM param;

	REQUIRE(async != DAT_HANDLE_NULL);
	CHECK_DAT(dat->evd_query_func(async, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.evd_qlen >= 8);
	CHECK(param.cno_handle == DAT_HANDLE_NULL);
	CHECK_EQ_INT(param.evd_flags, DAT_EVD_ASYNC_FLAG);
	CHECK_EQ_STR(null_counts.params, "some params");
}

static void open_checks_its_arguments(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other = (DAT_IA_HANDLE)0x77;

	CHECK_DAT(dat->ia_open_func(NULL, 8, &evd, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_open_func(name, -1, &evd, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_open_func(name, 8, NULL, &other), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, NULL), DAT_INVALID_PARAMETER);
	CHECK(evd == DAT_HANDLE_NULL);
	CHECK(other == (DAT_IA_HANDLE)0x77);
}

static void open_of_an_unknown_name_is_provider_not_found(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char unknown[] = "null1";
	DAT_IA_HANDLE other;

	CHECK_DAT(dat->ia_open_func(unknown, 8, &evd, &other), DAT_PROVIDER_NOT_FOUND);
}

static void open_with_a_bad_async_handle_is_invalid_handle(void)
{
	DAT_EVD_HANDLE evd, stranger = &evd;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;

	evd = stranger;
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_INVALID_HANDLE);
	CHECK(evd == stranger);
	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	evd = pz;
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_INVALID_HANDLE);
	CHECK(evd == pz);
	CHECK_EQ_INT(null_counts.opens, 1);
}

static void open_with_an_evd_that_takes_no_async_events_is_invalid_handle(void)
{
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE other;

	REQUIRE_DAT(dat->evd_create_func(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
		    DAT_SUCCESS);
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->evd_free_func(evd), DAT_SUCCESS);
}

static void an_open_that_the_transport_refuses_leaves_nothing(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other = NULL;

	null_counts.ia_open_answer = DATP_ERR_DEVICE;
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_INSUFFICIENT_RESOURCES);
	CHECK(evd == DAT_HANDLE_NULL);
	CHECK(other == NULL);
	CHECK_EQ_INT(null_counts.ias, 1);
}

static void async_exists_opens_without_an_evd(void)
{
	DAT_EVD_HANDLE evd = DAT_EVD_ASYNC_EXISTS, asked;
	int evds = null_counts.evds;
	DAT_IA_HANDLE other;

	REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_SUCCESS);
	CHECK(evd == DAT_EVD_OUT_OF_SCOPE);
	CHECK_EQ_INT(null_counts.evds, evds);
	CHECK_DAT(dat->ia_query_func(other, &asked, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK(asked == DAT_EVD_OUT_OF_SCOPE);
	datp_ia_error(other, DAT_ASYNC_ERROR_IA_CATASTROPHIC); /* no EVD gets it */
	CHECK_DAT(dat->ia_close_func(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

static void a_shared_async_evd_gets_the_events_of_both_ias(void)
{
	DAT_EVD_HANDLE evd = async;
	DAT_IA_HANDLE other;
	DAT_EVENT event;

	REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_SUCCESS);
	CHECK(evd == async);
	CHECK(other != ia);
	datp_ia_error(other, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	datp_ia_error(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	REQUIRE_DAT(dat->evd_dequeue_func(async, &event), DAT_SUCCESS);
	CHECK_EQ_INT(event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == other);
	CHECK(event.evd_handle == async);
	REQUIRE_DAT(dat->evd_dequeue_func(async, &event), DAT_SUCCESS);
	CHECK(event.event_data.asynch_error_event_data.dat_handle == ia);
	CHECK_DAT(dat->ia_close_func(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat->evd_dequeue_func(async, &event), DAT_QUEUE_EMPTY);
}

static void closing_the_owner_of_a_shared_async_evd_leaves_the_other_ia_without(void)
{
	DAT_EVD_HANDLE evd = async, asked;
	DAT_IA_HANDLE other;

	REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ia = other;
	CHECK_DAT(dat->ia_query_func(other, &asked, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK(asked == DAT_EVD_OUT_OF_SCOPE);
	datp_ia_error(other, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
}

static void close_the_owner(void)
{
	null_in_ia_open = NULL;
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ia = DAT_HANDLE_NULL;
}

/* An IA is opened with the async EVD, and `meanwhile` is called when this thread has looked at that, as another one may call it. */
static void open_fails_if(void (*meanwhile)(void))
{
	DAT_IA_HANDLE other = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd = async;

	null_in_ia_open = meanwhile;
	CHECK_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_INVALID_HANDLE);
	CHECK(other == DAT_HANDLE_NULL);
}

static void closing_the_owner_of_an_async_evd_while_another_ia_opens_with_it_ends_the_open(void)
{
	open_fails_if(close_the_owner);
	CHECK_EQ_INT(null_counts.ias, 0);
}

/* And another IA has an async EVD in its place. */
static void close_the_owner_and_use_its_place(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	close_the_owner();
	for (int i = 0; i < 100000 && evd != async; i++) {
		if (ia != DAT_HANDLE_NULL)
			REQUIRE_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		evd = DAT_HANDLE_NULL;
		REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &ia), DAT_SUCCESS);
	}
	REQUIRE(evd == async);
}

static void an_async_evd_in_the_place_of_one_that_was_freed_is_another_one(void)
{
	open_fails_if(close_the_owner_and_use_its_place);
	CHECK_EQ_INT(null_counts.ias, 1);
	CHECK_EQ_INT(((struct datp_obj *)async)->users, 1);
}

static void the_async_evd_of_an_open_ia_cannot_be_freed(void)
{
	CHECK_DAT(dat->evd_free_func(async), DAT_INVALID_STATE);
}

static void *open_and_close(void *shared)
{
	for (int i = 0; i < 20; i++) {
		DAT_EVD_HANDLE evd = i % 2 ? DAT_HANDLE_NULL : *(DAT_EVD_HANDLE *)shared;
		DAT_IA_HANDLE own;
		DAT_PZ_HANDLE pz;

		if (dat->ia_open_func(name, 8, &evd, &own) != DAT_SUCCESS ||
		    dat->pz_create_func(own, &pz) != DAT_SUCCESS)
			return shared;
		datp_ia_error(own, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
		if (dat->ia_close_func(own, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
			return shared;
	}
	return NULL;
}

static void ias_open_and_close_side_by_side(void)
{
	pthread_t threads[4];
	void *bad;

	for (int i = 0; i < 4; i++)
		REQUIRE_EQ_INT(pthread_create(&threads[i], NULL, open_and_close, &async), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		CHECK(bad == NULL);
	}
	CHECK_EQ_INT(null_counts.ias, 1);
	CHECK_EQ_INT(null_counts.opens, 81);
	CHECK_EQ_INT(((struct datp_obj *)async)->users, 1);
}

/* ------------------------------------------------------------------ query */

static void query_fills_what_is_asked_for(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE evd;
	DAT_IA_ATTR attr;

	REQUIRE_DAT(dat->ia_query_func(ia, &evd, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
				       &provider),
		    DAT_SUCCESS);
	CHECK(evd == async);
	CHECK_EQ_STR(attr.adapter_name, "null0");
	CHECK_EQ_STR(attr.vendor_name, "nobody");
	CHECK_EQ_INT(attr.max_eps, 64);
	CHECK_EQ_INT(attr.firmware_version_minor, 4);
	CHECK_EQ_INT(attr.ia_address_ptr->sa_family, AF_INET);
	CHECK_EQ_STR(provider.provider_name, "null");
	CHECK_EQ_INT(provider.dapl_version_major, 1);
	CHECK_EQ_INT(provider.dapl_version_minor, 2);
	CHECK_EQ_INT(provider.is_thread_safe, DAT_FALSE);
	CHECK_EQ_INT(provider.max_private_data_size, 256);
	CHECK_EQ_INT(DAT_OPTIMAL_ALIGNMENT % provider.optimal_buffer_alignment, 0);
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++)
			CHECK_EQ_INT(provider.evd_stream_merging_supported[i][j], DAT_TRUE);
}

static void query_checks_masks_and_pointers(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	CHECK_DAT(dat->ia_query_func(ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(dat->ia_query_func(ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, NULL, 0, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_EP_CREATOR, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_query_func(ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_query_func(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &provider),
		  DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_query_func(async, NULL, 0, NULL, 0, NULL),
		  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
}

static void parameters_show_the_ia_as_the_consumer_knows_it(void)
{
	DAT_PZ_PARAM param;
	DAT_PZ_HANDLE pz;

	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	CHECK_DAT(dat->pz_query_func(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == ia);
	null_registry.shown = (DAT_IA_HANDLE)3;
	CHECK_DAT(dat->pz_query_func(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.ia_handle == (DAT_IA_HANDLE)3);
}

/* ------------------------------------------------------------------ close */

static void graceful_close_with_only_the_async_evd_succeeds(void)
{
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(null_counts.evds, 0);
	ia = DAT_HANDLE_NULL;
}

static void graceful_close_with_objects_is_refused_and_changes_nothing(void)
{
	DAT_PZ_PARAM param;
	DAT_PZ_HANDLE pz, pz2;

	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG),
		  DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE);
	CHECK_DAT(dat->pz_query_func(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_DAT(dat->pz_create_func(ia, &pz2), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz2), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	ia = DAT_HANDLE_NULL;
}

static void close_with_other_flags_is_invalid_parameter(void)
{
	CHECK_DAT(dat->ia_close_func(ia, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->ia_close_func(async, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
}

static void make_one_of_everything(DAT_HANDLE made[8])
{
	const DAT_OS_WAIT_PROXY_AGENT no_agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_REGION_DESCRIPTION region;
	static char memory[64];
	DAT_LMR_CONTEXT context;

	region.for_va = memory;
	REQUIRE_DAT(dat->pz_create_func(ia, &made[0]), DAT_SUCCESS);
	REQUIRE_DAT(dat->lmr_create_func(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), made[0],
					 DAT_MEM_PRIV_ALL_FLAG, &made[1], &context, NULL, NULL,
					 NULL),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->rmr_create_func(made[0], &made[2]), DAT_SUCCESS);
	REQUIRE_DAT(dat->cno_create_func(ia, no_agent, &made[3]), DAT_SUCCESS);
	REQUIRE_DAT(dat->evd_create_func(ia, 8, made[3], DAT_EVD_DEFAULT_FLAG, &made[4]),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->ep_create_func(ia, made[0], made[4], made[4], made[4], NULL, &made[5]),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->psp_create_func(ia, 7, made[4], DAT_PSP_CONSUMER_FLAG, &made[6]),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->ep_create_func(ia, made[0], made[4], made[4], made[4], NULL, &made[7]),
		    DAT_SUCCESS);
}

static void abrupt_close_destroys_everything(void)
{
	DAT_HANDLE made[8];
	DAT_HANDLE_TYPE type;

	make_one_of_everything(made);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ia = DAT_HANDLE_NULL;
	for (int i = 0; i < 8; i++)
		CHECK_DAT(dat->get_handle_type_func(made[i], &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->lmr_free_func(made[1]), DAT_INVALID_HANDLE);
	CHECK_EQ_INT(null_counts.pzs, 0);
	CHECK_EQ_INT(null_counts.lmrs, 0);
	CHECK_EQ_INT(null_counts.rmrs, 0);
	CHECK_EQ_INT(null_counts.evds, 0);
	CHECK_EQ_INT(null_counts.eps, 0);
	CHECK_EQ_INT(null_counts.sps, 0);
	CHECK_EQ_INT(null_counts.ias, 0);
}

struct wait {
	DAT_HANDLE on;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
};

static void *evd_waiter(void *arg)
{
	struct wait *wait = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	wait->ret = dat->evd_wait_func(wait->on, check_patience_ms() * 1000, 1, &event, &more);
	return NULL;
}

static void *cno_waiter(void *arg)
{
	struct wait *wait = arg;

	wait->evd = (DAT_EVD_HANDLE)1;
	wait->ret = dat->cno_wait_func(wait->on, check_patience_ms() * 1000, &wait->evd);
	return NULL;
}

static void abrupt_close_ends_every_wait(void)
{
	const DAT_OS_WAIT_PROXY_AGENT no_agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	struct wait evd = { 0 }, cno = { 0 };
	DAT_EVD_HANDLE triggers;
	pthread_t threads[2];

	REQUIRE_DAT(dat->cno_create_func(ia, no_agent, &cno.on), DAT_SUCCESS);
	REQUIRE_DAT(dat->evd_create_func(ia, 8, cno.on, DAT_EVD_SOFTWARE_FLAG, &triggers),
		    DAT_SUCCESS);
	REQUIRE_DAT(dat->evd_create_func(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd.on),
		    DAT_SUCCESS);
	REQUIRE_EQ_INT(pthread_create(&threads[0], NULL, evd_waiter, &evd), 0);
	REQUIRE_EQ_INT(pthread_create(&threads[1], NULL, cno_waiter, &cno), 0);
	REQUIRE_SOON(atomic_load(&((struct datp_evd *)evd.on)->waiter) == 1);
	REQUIRE_SOON(atomic_load(&((struct datp_obj *)cno.on)->users) == 2);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ia = DAT_HANDLE_NULL;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK_DAT(evd.ret, DAT_ABORT);
	CHECK(cno.evd == DAT_HANDLE_NULL);
}

static void other_instances_are_not_touched_by_a_close(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;
	DAT_PZ_HANDLE pz;

	REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &other), DAT_SUCCESS);
	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ contexts and types */

static void a_context_is_kept_for_every_type_of_handle(void)
{
	static const DAT_HANDLE_TYPE types[] = {
		DAT_HANDLE_TYPE_PZ,  DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_RMR,
		DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_EP,
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_EP,  DAT_HANDLE_TYPE_IA,
	};
	DAT_HANDLE made[9];
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;

	make_one_of_everything(made);
	made[8] = ia;
	for (int i = 0; i < 9; i++) {
		CHECK_DAT(dat->get_handle_type_func(made[i], &type), DAT_SUCCESS);
		CHECK_EQ_INT(type, types[i]);
		CHECK_DAT(dat->get_consumer_context_func(made[i], &context), DAT_SUCCESS);
		CHECK(context.as_ptr == NULL);
		context.as_64 = 0x1122334455667788u + (unsigned int)i;
		CHECK_DAT(dat->set_consumer_context_func(made[i], context), DAT_SUCCESS);
	}
	for (int i = 0; i < 9; i++) {
		CHECK_DAT(dat->get_consumer_context_func(made[i], &context), DAT_SUCCESS);
		CHECK(context.as_64 == 0x1122334455667788u + (unsigned int)i);
	}
}

static void contexts_and_types_of_bad_handles_are_invalid_handle(void)
{
	DAT_CONTEXT context = { .as_64 = 1 };
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;
	int local = 0;

	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	REQUIRE_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
	CHECK_DAT(dat->set_consumer_context_func(pz, context), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_consumer_context_func(pz, &context), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_handle_type_func(pz, &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_handle_type_func(&local, &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_handle_type_func(NULL, &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_handle_type_func(ia, NULL), DAT_INVALID_PARAMETER);
	CHECK_DAT(dat->get_consumer_context_func(ia, NULL), DAT_INVALID_PARAMETER);
}

/* ------------------------------------------------------------------ fork */

static void forked(void *arg)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE own;
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;

	CHECK_DAT(dat->get_handle_type_func(ia, &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->get_handle_type_func(arg, &type), DAT_INVALID_HANDLE);
	CHECK_DAT(dat->ia_close_func(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
	REQUIRE_DAT(dat->ia_open_func(name, 8, &evd, &own), DAT_SUCCESS);
	CHECK_DAT(dat->pz_create_func(own, &pz), DAT_SUCCESS);
	CHECK_DAT(dat->ia_close_func(own, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void in_a_forked_child_old_handles_are_dead_and_new_ones_work(void)
{
	DAT_PZ_HANDLE pz;

	if (THREAD_SANITIZER)
		check_skip("the thread sanitizer starts no threads in a forked child");
	REQUIRE_DAT(dat->pz_create_func(ia, &pz), DAT_SUCCESS);
	check_join(check_fork(forked, pz));
	CHECK_DAT(dat->pz_free_func(pz), DAT_SUCCESS);
}

/* ------------------------------------------------------------------ a fork meanwhile */

static sem_t close_begun, may_close;

static void in_close(void)
{
	sem_post(&close_begun);
	sem_wait(&may_close);
}

static void *closer(void *arg)
{
	CHECK_DAT(dat->ia_close_func(arg, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	return NULL;
}

/* The thread that closes the IA has closed its transport, and waits for the lock of the list that the IA is still on. */
static void process_may_fork_while_an_ia_is_closed(void)
{
	int status = -1;
	pthread_t thread;
	pid_t child;

	sem_init(&close_begun, 0, 0);
	sem_init(&may_close, 0, 0);
	null_in_ia_close = in_close;
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, closer, ia), 0);
	sem_wait(&close_begun);
	datp_lock(&core.lock);
	sem_post(&may_close);
	REQUIRE_SOON(null_counts.closes == 1);
	usleep(20000);
	child = fork();
	if (child == 0)
		_exit(0);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ_INT(status, 0);
	datp_unlock(&core.lock);
	pthread_join(thread, NULL);
	null_in_ia_close = NULL;
	ia = DAT_HANDLE_NULL;
}

static const struct check_test open_tests[] = {
	CHECK_TEST(open_makes_an_async_evd),
	CHECK_TEST(open_checks_its_arguments),
	CHECK_TEST(open_of_an_unknown_name_is_provider_not_found),
	CHECK_TEST(open_with_a_bad_async_handle_is_invalid_handle),
	CHECK_TEST(open_with_an_evd_that_takes_no_async_events_is_invalid_handle),
	CHECK_TEST(an_open_that_the_transport_refuses_leaves_nothing),
	CHECK_TEST(async_exists_opens_without_an_evd),
	CHECK_TEST(a_shared_async_evd_gets_the_events_of_both_ias),
	CHECK_TEST(closing_the_owner_of_a_shared_async_evd_leaves_the_other_ia_without),
	CHECK_TEST(closing_the_owner_of_an_async_evd_while_another_ia_opens_with_it_ends_the_open),
	CHECK_TEST(an_async_evd_in_the_place_of_one_that_was_freed_is_another_one),
	CHECK_TEST(the_async_evd_of_an_open_ia_cannot_be_freed),
	CHECK_TEST(ias_open_and_close_side_by_side),
	CHECK_TEST(query_fills_what_is_asked_for),
	CHECK_TEST(query_checks_masks_and_pointers),
	CHECK_TEST(parameters_show_the_ia_as_the_consumer_knows_it),
	CHECK_END
};

static const struct check_test close_tests[] = {
	CHECK_TEST(graceful_close_with_only_the_async_evd_succeeds),
	CHECK_TEST(graceful_close_with_objects_is_refused_and_changes_nothing),
	CHECK_TEST(close_with_other_flags_is_invalid_parameter),
	CHECK_TEST(abrupt_close_destroys_everything),
	CHECK_TEST(abrupt_close_ends_every_wait),
	CHECK_TEST(other_instances_are_not_touched_by_a_close),
	CHECK_TEST(a_context_is_kept_for_every_type_of_handle),
	CHECK_TEST(contexts_and_types_of_bad_handles_are_invalid_handle),
	CHECK_TEST(in_a_forked_child_old_handles_are_dead_and_new_ones_work),
	CHECK_TEST(process_may_fork_while_an_ia_is_closed),
	CHECK_END
};

static const struct check_suite opening = {
	.name = "libdatp ia open", .setup = open_ia, .teardown = close_ia, .tests = open_tests
};
static const struct check_suite closing = {
	.name = "libdatp ia close", .setup = open_ia, .teardown = close_ia, .tests = close_tests
};

CHECK_SUITES(&opening, &closing);
