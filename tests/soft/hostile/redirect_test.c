/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that writes other segments, or another operation, into the requests and receives of the victim that are in the memory
 * they share. The victim accesses the memory that its program has posted, and no other, although the program may access that
 * itself: a region without remote rights is neither read nor written for the peer.
 */
#include <string.h>

#include "hostile.h"
#include "victim.h"

enum { SIZE = 200000, SHORT = 8, OWN = 0x11, SECRET = 0x77, SENT = 0xee };

static struct api_buf posted, secret;
static pid_t attacker;

/* What the attacker is told. */
struct target {
	uint64_t qual, secret;
	uint32_t context;
};

/* What an attacker writes while an operation of the victim waits. */
typedef void attack_fn(struct hostile *h, const struct target *target);

/* Connects, makes that attack, and counts the bytes of the secret that have come. */
static void attack(void *arg)
{
	struct target target;
	uint32_t stolen = 0;
	struct hostile h;

	check_get(CHECK_PARENT, &target, sizeof(target));
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, target.qual);
	check_await(CHECK_PARENT);
	memset(hostile_data, 0, sizeof(hostile_data));
	((attack_fn *)arg)(&h, &target);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	for (uint32_t i = 0; i < HOSTILE_DATA; i++)
		stolen += hostile_data[i] == SECRET;
	check_put(CHECK_PARENT, &stolen, sizeof(stolen));
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void connect_to(attack_fn *what)
{
	struct target target;

	attacker = check_fork(attack, (void *)what);
	victim_opens_as("soft0", SIZE);
	posted = api_buf(SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	secret = api_buf(SIZE, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	memset(posted.mem, OWN, SIZE);
	memset(secret.mem, SECRET, SIZE);
	target = (struct target){ victim.qual, (uintptr_t)secret.mem, secret.lmr_context };
	check_put(attacker, &target, sizeof(target));
}

static void let_it_attack(void)
{
	check_signal(attacker);
	check_await(attacker);
}

static void nothing_is_stolen(void)
{
	uint32_t stolen;

	check_signal(attacker);
	check_get(attacker, &stolen, sizeof(stolen));
	CHECK_EQ_INT(stolen, 0);
	for (uint32_t i = 0; i < SIZE; i++)
		REQUIRE_EQ_INT(((unsigned char *)secret.mem)[i], SECRET);
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

/* ------------------------------------------------------------------ requests that wait */

static void redirect_request(struct hostile *h, const struct target *target, uint32_t seq)
{
	struct soft_sqe *e = hostile_request_of_victim(h, seq);

	e->sge[0].addr = target->secret;
	e->sge[0].lmr_context = target->context;
	atomic_store(&h->own.port->rq_posted, 2); /* so that the victim executes what waits */
}

static void redirect_first(struct hostile *h, const struct target *target)
{
	redirect_request(h, target, 0);
}

static void redirect_second(struct hostile *h, const struct target *target)
{
	redirect_request(h, target, 1);
}

/* The send becomes an RDMA Read into its own source. */
static void turn_round(struct hostile *h, const struct target *target)
{
	struct soft_sqe *e = hostile_request_of_victim(h, 0);

	(void)target;
	memset(hostile_data, SENT, sizeof(hostile_data));
	e->op = DATP_RDMA_READ;
	e->remote = (struct datp_rge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, SIZE };
	atomic_store(&h->own.port->rq_posted, 2);
}

static void send_that_waits(void)
{
	victim_accepts();
	REQUIRE_DAT(api_send(victim.end.ep, &posted, 0, SIZE, 1, 0), DAT_SUCCESS);
}

/* The send is executed when the next one is posted. */
static void send_under(attack_fn *what)
{
	connect_to(what);
	send_that_waits();
	let_it_attack();
	REQUIRE_DAT(api_send(victim.end.ep, &posted, 0, SHORT, 2, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, SIZE);
}

static void send_reads_what_was_posted(void)
{
	send_under(redirect_first);
	nothing_is_stolen();
}

static void read_writes_where_it_was_posted(void)
{
	DAT_RMR_TRIPLET from = { .rmr_context = HOSTILE_CONTEXT(1),
				 .target_address = (uintptr_t)hostile_data,
				 .segment_length = SIZE };
	DAT_LMR_TRIPLET into;

	connect_to(redirect_second);
	send_that_waits();
	into = api_seg(&posted, 0, SIZE);
	REQUIRE_DAT(dat_ep_post_rdma_read(victim.end.ep, 1, &into, api_cookie(2), &from, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	let_it_attack();
	REQUIRE_DAT(api_send(victim.end.ep, &secret, 0, 0, 3, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, SIZE);
	API_DTO(victim.end.request, victim.end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	nothing_is_stolen();
}

static void send_does_not_become_a_read(void)
{
	send_under(turn_round);
	for (uint32_t i = 0; i < SIZE; i++)
		REQUIRE_EQ_INT(((unsigned char *)posted.mem)[i], OWN);
	nothing_is_stolen();
}

/* ------------------------------------------------------------------ receives */

static void redirect_receive(struct hostile *h, const struct target *target)
{
	struct soft_desc *desc = hostile_receive_of_victim(h, 0);

	desc->sge[0].addr = target->secret;
	desc->sge[0].lmr_context = target->context;
	hostile_publish(h, hostile_reserve(h));
}

/* It sends a long message, which the victim fetches when it posts another receive. */
static void redirect_fetch(struct hostile *h, const struct target *target)
{
	struct soft_sqe *e = soft_port_sqe(h->own.port, &h->own.layout, 0);
	struct soft_desc *desc = hostile_receive_of_victim(h, 0);

	desc->sge[0].addr = target->secret;
	desc->sge[0].lmr_context = target->context;
	memset(hostile_data, SENT, sizeof(hostile_data));
	*e = (struct soft_sqe){ .op = DATP_SEND, .n = 1, .len = SIZE };
	e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, SIZE };
	atomic_store(&h->own.port->waits, 1);
	atomic_store(&h->own.port->sq_posted, 1);
}

static void message_is_fetched_to_where_it_was_posted(void)
{
	connect_to(redirect_fetch);
	REQUIRE_DAT(api_recv(victim.end.ep, &posted, 0, SIZE, 1), DAT_SUCCESS);
	victim_accepts();
	let_it_attack();
	REQUIRE_DAT(api_recv(victim.end.ep, &posted, 0, SHORT, 2), DAT_SUCCESS);
	API_DTO(victim.end.recv, victim.end.ep, 1, DAT_DTO_SUCCESS, SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		REQUIRE_EQ_INT(((unsigned char *)posted.mem)[i], SENT);
	nothing_is_stolen();
}

static void message_arrives_where_it_was_posted(void)
{
	connect_to(redirect_receive);
	REQUIRE_DAT(api_recv(victim.end.ep, &posted, 0, SIZE, 1), DAT_SUCCESS);
	victim_accepts();
	let_it_attack();
	API_DTO(victim.end.recv, victim.end.ep, 1, DAT_DTO_SUCCESS, SHORT);
	CHECK_EQ_INT(((unsigned char *)posted.mem)[0], SENT);
	nothing_is_stolen();
}

static const struct check_test tests[] = {
	CHECK_TEST(send_reads_what_was_posted),
	CHECK_TEST(read_writes_where_it_was_posted),
	CHECK_TEST(send_does_not_become_a_read),
	CHECK_TEST(message_arrives_where_it_was_posted),
	CHECK_TEST(message_is_fetched_to_where_it_was_posted),
	CHECK_END
};

static const struct check_suite suite = { .name = "redirected segments", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
