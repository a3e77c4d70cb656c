/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer whose messages are sound in all but one thing, which it says of itself or of what it has done, and which the victim's
 * program is told. The program is told nothing that no adapter can say.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile.h"
#include "victim.h"

enum {
	LIKE_DTOS = 4096,  /* what a peer can ask for */
	USUAL_DTOS = 1024, /* what nobody has asked for */
	USUAL_IOV = 8,
};

static pid_t attacker;

/* ------------------------------------------------------------------ the address */

/* All adapters have an address of IPv4. Programs have room for one, and take what they are shown for one. */
static const sa_family_t families[] = { AF_INET6, AF_UNSPEC, AF_UNIX, UINT16_MAX };

enum { FAMILIES = sizeof(families) / sizeof(*families) };

static void come_from_elsewhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < FAMILIES; i++) {
		hostile_begin_request(&h, where, &msg);
		memset(&msg.address, 'F', sizeof(msg.address));
		msg.address.ss_family = families[i];
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		CHECK(hostile_is_hung_up_on(h.fd, (int)check_patience_ms()));
		hostile_hangup(&h);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void request_from_another_address_family_is_refused(void)
{
	DAT_EVENT event;

	attacker = check_fork(come_from_elsewhere, NULL);
	victim_opens();
	victim_tells(attacker);
	check_await(attacker);
	CHECK_DAT(dat_evd_dequeue(victim.cr_evd, &event), DAT_QUEUE_EMPTY);
	check_signal(attacker);
	victim_accepts();
	check_signal(attacker);
	check_join(attacker);
	victim_serves_others();
}

static void answer_from_elsewhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_listen(&h, where);
	check_signal(CHECK_PARENT);
	for (int i = 0; i < FAMILIES; i++) {
		hostile_await_request(&h);
		hostile_message(&h, &msg, SOFT_MSG_REP);
		memset(&msg.address, 'F', sizeof(msg.address));
		msg.address.ss_family = families[i];
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		CHECK(hostile_is_hung_up_on(h.fd, (int)check_patience_ms()));
	}
	hostile_close(&h);
}

static void answer_from_another_address_family_ends_the_attempt(void)
{
	attacker = check_fork(answer_from_elsewhere, NULL);
	victim_opens();
	victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	check_await(attacker);
	for (int i = 0; i < FAMILIES; i++) {
		REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	check_join(attacker);
	victim_serves_others();
}

static const struct check_test address_tests[] = {
	CHECK_TEST(request_from_another_address_family_is_refused),
	CHECK_TEST(answer_from_another_address_family_ends_the_attempt),
	CHECK_END,
};

/* ------------------------------------------------------------------ the length of a write */

/* The victim's regions are that long at most in the zone of its endpoint, and longer in another one. */
enum { LONGEST = 65536, ELSEWHERE = 2 * LONGEST };

/*
 * Says that an RDMA Write with immediate data has taken the victim's receive, and sends a message, behind which the victim finds
 * that. The receive has a length of its own, which says nothing of that of the write.
 */
static void claim_length(void *arg)
{
	const uint64_t *len = arg;
	uint64_t where = victim_is_at();
	struct soft_desc *desc;
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	desc = hostile_receive_of_victim(&h, 0);
	desc->len = *len;
	desc->status = DAT_DTO_SUCCESS;
	desc->solicited = 0;
	desc->extra = SOFT_EXTRA_IMMEDIATE;
	desc->imm = 7;
	atomic_store(&desc->state, SOFT_DESC_DONE);
	hostile_publish(&h, hostile_reserve(&h));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void victim_is_told_length(uint64_t len)
{
	static unsigned char memory[ELSEWHERE];
	DAT_PZ_HANDLE other;

	attacker = check_fork(claim_length, &len);
	victim_opens_as(api_ia_name(), LONGEST);
	REQUIRE_DAT(dat_pz_create(api.ia, &other), DAT_SUCCESS);
	(void)api_buf_in(other, memory, sizeof(memory), DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_recv(victim.end.ep, &victim.buf, 0, 8, 1), DAT_SUCCESS);
	victim_tells(attacker);
	victim_accepts();
	check_signal(attacker);
	check_await(attacker);
}

static void victim_goes_on(void)
{
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

/* A program of DAT 1.2 is told of an empty message. */
static void write_may_be_as_long_as_the_longest_region(void)
{
	victim_is_told_length(LONGEST);
	API_DTO(victim.end.recv, victim.end.ep, 1, DAT_DTO_SUCCESS, 0);
	victim_goes_on();
}

static void connection_ends_whose_write_is_longer(uint64_t len)
{
	victim_is_told_length(len);
	API_DTO(victim.end.recv, victim.end.ep, 1, DAT_DTO_ERR_TRANSPORT, 0);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	victim_goes_on();
}

static void write_that_is_longer_than_any_region_ends_the_connection(void)
{
	connection_ends_whose_write_is_longer(LONGEST + 1);
}

static void write_that_is_as_long_as_can_be_ends_the_connection(void)
{
	connection_ends_whose_write_is_longer(UINT64_MAX);
}

static const struct check_test length_tests[] = {
	CHECK_TEST(write_may_be_as_long_as_the_longest_region),
	CHECK_TEST(write_that_is_longer_than_any_region_ends_the_connection),
	CHECK_TEST(write_that_is_as_long_as_can_be_ends_the_connection),
	CHECK_END,
};

/* ------------------------------------------------------------------ the attributes of an endpoint */

/*
 * What peers say that their endpoints have, for the service point that creates an endpoint like it, and what that gets: no longer
 * queues than that, because the memory for them is the victim's, and nothing of what is beyond the limits of the adapter.
 */
static const struct wish {
	int32_t dtos, iov, gets_dtos, gets_iov;
} wishes[] = {
	{ 100, 3, 100, 3 },
	{ LIKE_DTOS, SOFT_MAX_IOV, LIKE_DTOS, SOFT_MAX_IOV },
	{ LIKE_DTOS + 1, SOFT_MAX_IOV, LIKE_DTOS, SOFT_MAX_IOV },
	{ SOFT_DTOS_MAX, SOFT_MAX_IOV, LIKE_DTOS, SOFT_MAX_IOV },
	{ INT32_MAX, 1, LIKE_DTOS, 1 },
	{ SOFT_DTOS_MAX, SOFT_MAX_IOV + 1, USUAL_DTOS, USUAL_IOV },
	{ INT32_MIN, INT32_MIN, USUAL_DTOS, USUAL_IOV },
};

enum { WISHES = sizeof(wishes) / sizeof(*wishes) };

static void wish(void *arg)
{
	uint64_t where = victim_is_at();
	struct soft_msg msg;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < WISHES; i++) {
		hostile_begin_request(&h, where, &msg);
		msg.attr.max_recv_dtos = msg.attr.max_request_dtos = wishes[i].dtos;
		msg.attr.max_recv_iov = msg.attr.max_request_iov = wishes[i].iov;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		check_await(CHECK_PARENT);
		hostile_hangup(&h);
	}
	hostile_close(&h);
}

/* Checks the endpoint that has been made for a request. The program may have longer queues. */
static void endpoint_is_within(DAT_EP_HANDLE ep, const struct wish *wish)
{
	DAT_EP_PARAM param;

	REQUIRE_DAT(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_EQ_INT(param.ep_attr.max_recv_dtos, wish->gets_dtos);
	CHECK_EQ_INT(param.ep_attr.max_request_dtos, wish->gets_dtos);
	CHECK_EQ_INT(param.ep_attr.max_recv_iov, wish->gets_iov);
	CHECK_EQ_INT(param.ep_attr.max_request_iov, wish->gets_iov);
	param.ep_attr.max_recv_dtos = param.ep_attr.max_request_dtos = 2 * LIKE_DTOS;
	CHECK_DAT(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param),
		  DAT_SUCCESS);
}

static void endpoint_for_a_request_has_queues_within_bounds(void)
{
	attacker = check_fork(wish, NULL);
	victim_opens();
	api_listen(victim.cr_evd, DAT_PSP_PROVIDER_FLAG, &victim.qual);
	victim_tells(attacker);
	for (int i = 0; i < WISHES; i++) {
		DAT_CR_HANDLE cr = api_cr(victim.cr_evd);
		DAT_CR_PARAM param;

		REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
		endpoint_is_within(param.local_ep_handle, &wishes[i]);
		REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
		check_signal(attacker);
	}
	check_join(attacker);
	victim_serves_others();
}

static const struct check_test attribute_tests[] = {
	CHECK_TEST(endpoint_for_a_request_has_queues_within_bounds),
	CHECK_END,
};

static const struct check_suite address = { .name = "peer's address", .teardown = api_close, .tests = address_tests };
static const struct check_suite length = { .name = "length of a write", .teardown = api_close, .tests = length_tests };
static const struct check_suite attributes = { .name = "attributes", .teardown = api_close, .tests = attribute_tests };

CHECK_SUITES(&address, &length, &attributes);
