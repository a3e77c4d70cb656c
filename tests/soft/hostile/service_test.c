/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker leaves a request whose memory at the attacker is under userfaultfd(2), and no thread of the victim polls. So it falls
 * to the adapter's own threads to execute it. The fault does not end until the victim has closed its adapter: meanwhile other
 * connections are served and end, that of the attacker ends within the bound, and all calls return.
 */
#include <string.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

enum { LEN = TRAP_LEN };

/* ------------------------------------------------------------------ the attacker */

enum finder {
	BY_SRQ,	    /* the request is a message to the victim's SRQ, and the victim is notified */
	BY_NOTICE,  /* the victim is notified; it may have armed the queue */
	BY_NOTHING, /* the victim finds it when it looks for something else */
};

/* What the attacker is told. */
struct target {
	uint64_t qual, addr;
	uint32_t region;
	enum finder finder;
	bool read; /* the request reads, so that the victim writes to the trap */
};

static void leave_request(struct hostile *h, const struct target *target)
{
	struct soft_sqe *e = soft_port_sqe(h->own.port, &h->own.layout, 0);
	struct soft_msg notice;

	*e = (struct soft_sqe){ .op = target->read ? DATP_RDMA_READ : DATP_RDMA_WRITE, .n = 1, .len = LEN };
	if (target->finder == BY_SRQ)
		e->op = DATP_SEND;
	e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)trap_at(), LEN };
	e->remote = (struct datp_rge){ target->region, 0, target->addr, LEN };
	atomic_store(&h->own.port->sq_posted, 1);
	hostile_mark_ready(h);
	if (target->finder == BY_NOTHING)
		return;
	hostile_message(h, &notice, SOFT_MSG_NOTIFY);
	REQUIRE(hostile_say(h, &notice, sizeof(notice), false));
}

static void attack(void *arg)
{
	struct target target;
	struct hostile h;

	(void)arg;
	check_get(CHECK_PARENT, &target, sizeof(target));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, target.qual);
	check_await(CHECK_PARENT);
	if (!trap_set_and_tell())
		return;
	leave_request(&h, &target);
	check_signal(CHECK_PARENT);
	trap_await();
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	/* the fault was not over when the victim had closed its adapter */
	trap_release();
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static DAT_CNO_HANDLE cno;
static struct api_pair pair; /* its end a takes its messages from the victim's queue */

/* The victim's endpoint, with an SRQ, or with a CNO. */
static void end_make(enum finder finder)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR end_attr = { .recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };
	DAT_LMR_TRIPLET seg = api_seg(&victim.buf, 0, LEN);
	DAT_SRQ_HANDLE srq;

	if (finder == BY_SRQ) {
		REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &srq), DAT_SUCCESS);
		REQUIRE_DAT(dat_srq_post_recv(srq, 1, &seg, api_cookie(1)), DAT_SUCCESS);
		api_end_make_shared(&victim.end, srq, &end_attr);
	} else if (finder == BY_NOTICE) {
		cno = api_cno();
		REQUIRE_DAT(dat_evd_modify_cno(victim.end.recv, cno), DAT_SUCCESS);
	}
}

/* Connects two endpoints of the victim, one of which has the queue that the attacker's request is found in. */
static void pair_make(void)
{
	memset(&pair, 0, sizeof(pair));
	pair.a.recv = victim.end.recv;
	pair.a.request = api_evd(8, DAT_EVD_DTO_FLAG);
	pair.a.connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, pair.a.recv, pair.a.request, pair.a.connect, NULL, &pair.a.ep), DAT_SUCCESS);
	api_end_make(&pair.b, NULL);
	api_pair_meet(&pair);
}

/* The attacker's request waits for a thread of the victim. */
static void request_waits(enum finder finder, bool read)
{
	struct target target;

	attacker = check_fork(attack, NULL);
	victim_opens_as("soft-hasty", LEN);
	end_make(finder);
	pair_make();
	target = (struct target){ victim.qual, (uintptr_t)victim.buf.mem, victim.buf.rmr_context, finder, read };
	check_put(attacker, &target, sizeof(target));
	victim_accepts();
	check_signal(attacker);
	trap_need(attacker);
	check_await(attacker);
}

static void others_are_served_and_end(void)
{
	victim_serves_others();
	REQUIRE_DAT(dat_ep_disconnect(pair.b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	API_CONN(pair.b.connect, pair.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	API_CONN(pair.a.connect, pair.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void attackers_connection_ends(void)
{
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_DAT(dat_lmr_free(victim.buf.lmr), DAT_SUCCESS);
	api_close();
	check_signal(attacker);
	check_join(attacker);
}

/* A thread of the adapter executes the request when the victim is notified. */
static void goes_on(enum finder finder, bool read)
{
	request_waits(finder, read);
	check_await(attacker);
	others_are_served_and_end();
	attackers_connection_ends();
}

static void others_are_served_while_a_message_to_an_srq_is_copied(void)
{
	goes_on(BY_SRQ, false);
}

static void others_are_served_while_a_request_in_a_queue_with_a_cno_is_copied(void)
{
	goes_on(BY_NOTICE, false);
}

static void others_are_served_while_a_request_that_reads_is_copied(void)
{
	goes_on(BY_NOTICE, true);
}

/* The service thread drains the queue, and finds the request there, because another connection ends. */
static void connection_ends_whose_queue_has_the_request(void)
{
	request_waits(BY_NOTHING, false);
	others_are_served_and_end();
	check_await(attacker);
	attackers_connection_ends();
}

/* The attacker's memory holds up the adapter's thread no longer than the bound, so calls that need the same endpoint return. */
static void calls_return_that_need_the_endpoint(void)
{
	request_waits(BY_NOTICE, false);
	check_await(attacker);
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_free(victim.end.ep), DAT_SUCCESS);
	api_close();
	check_signal(attacker);
	check_join(attacker);
}

static const struct check_test tests[] = {
	CHECK_TEST(others_are_served_while_a_message_to_an_srq_is_copied),
	CHECK_TEST(others_are_served_while_a_request_in_a_queue_with_a_cno_is_copied),
	CHECK_TEST(others_are_served_while_a_request_that_reads_is_copied),
	CHECK_TEST(connection_ends_whose_queue_has_the_request),
	CHECK_TEST(calls_return_that_need_the_endpoint),
	CHECK_END
};

static const struct check_suite suite = { .name = "attacker whose memory holds up the adapter's threads",
					  .teardown = api_close,
					  .tests = tests };

CHECK_SUITES(&suite);
