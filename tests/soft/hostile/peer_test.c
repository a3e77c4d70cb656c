/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a peer can do to a process with descriptors, with its arena, and with connections that it leaves half open:
 * one attack a test. The victim is the test itself. It loses the connection to that peer, and nothing else: its calls
 * return, and an honest peer is served afterwards.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api.h"
#include "hostile.h"
#include "victim.h"
#include "providers/soft/arena.h"
#include "providers/soft/peer.h"


static pid_t attacker;

/* ------------------------------------------------------------------ doorbells */

struct offer {
	enum hostile_bell bell;
	bool passive;
};

static void ring_me(void *arg)
{
	const struct offer *offer = arg;
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, offer->bell);
	if (offer->passive) {
		hostile_listen(&h, where);
		check_signal(CHECK_PARENT);
		hostile_await_request(&h);
		hostile_accept(&h);
		hostile_await_confirmation(&h);
	} else {
		hostile_connect(&h, where);
	}
	/* The attacker reads nothing from its bell, so that a write to it would block: the victim must not wait for that. */
	while (!hostile_is_hung_up_on(h.fd, 0))
		hostile_want_all(&h);
	hostile_close(&h);
	check_await(CHECK_PARENT);
}

static void connect_to_attacker(void)
{
	check_await(attacker);
	REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void doorbell(enum hostile_bell bell, bool passive)
{
	const struct offer offer = { bell, passive };

	attacker = check_fork(ring_me, (void *)(uintptr_t)&offer);
	victim_opens();
	if (passive)
		victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	if (passive)
		connect_to_attacker();
	else
		victim_accepts();
	for (uint64_t n = 0; n < 2000; n++) {
		REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, 8, n, 0), DAT_SUCCESS);
		API_DTO(victim.end.request, victim.end.ep, n, DAT_DTO_SUCCESS, 8);
		/* waits for credits: the attacker soon writes that it has received all messages */
		REQUIRE_SOON(atomic_load(&((struct soft_ep *)victim.end.ep)->rport->delivered) + 64 > n);
	}
	REQUIRE_DAT(dat_ep_disconnect(victim.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	victim_serves_others();
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	check_kill(attacker);
}

static void doorbell_that_is_a_broken_pipe_raises_no_signal(void)
{
	doorbell(HOSTILE_PIPE_WITHOUT_READER, false);
}

static void doorbell_that_is_a_full_pipe_blocks_nobody(void)
{
	doorbell(HOSTILE_FULL_PIPE, false);
}

static void doorbell_that_is_a_full_counter_blocks_nobody(void)
{
	doorbell(HOSTILE_FULL_COUNTER, false);
}

static void doorbell_of_the_passive_side_blocks_nobody(void)
{
	doorbell(HOSTILE_FULL_COUNTER, true);
}

static void peer_that_reads_no_doorbell_blocks_nobody(void)
{
	doorbell(HOSTILE_NO_BELL, false);
}

/* ------------------------------------------------------------------ arenas */

static void offer_huge_pages(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg answer;

	(void)arg;
	hostile_make(&h, HOSTILE_HUGE, HOSTILE_FULL_COUNTER);
	hostile_request(&h, where);
	if (hostile_hear(&h, &answer))
		CHECK_EQ_INT(answer.type, SOFT_MSG_REJ);
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

static void arena_of_huge_pages_that_are_not_there_is_refused(void)
{
	attacker = check_fork(offer_huge_pages, NULL);
	victim_opens();
	check_stderr_begin();
	victim_tells(attacker);
	check_await(attacker);
	check_stderr_end();
	victim_serves_others();
	check_join(attacker);
}

static void offer_odd_slots(void *arg)
{
	static const struct {
		uint32_t count, size;
	} odd[] = { { 256, 100 }, { 4, 1u << 21 }, { UINT32_MAX, UINT32_MAX }, { UINT32_MAX, 64 } };
	uint64_t where = victim_is_at();

	(void)arg;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct soft_msg answer;
		struct hostile h;

		hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
		h.own.header->slot_count = odd[i].count;
		h.own.header->slot_size = odd[i].size;
		hostile_request(&h, where);
		CHECK(hostile_hear(&h, &answer));
		CHECK_EQ_INT(answer.type, SOFT_MSG_REJ);
		hostile_close(&h);
	}
	check_signal(CHECK_PARENT);
}

/* Slots that share cache lines, are longer than any message, or whose total length overflows. */
static void slots_that_make_no_sense_are_refused(void)
{
	attacker = check_fork(offer_odd_slots, NULL);
	victim_opens();
	check_stderr_begin();
	victim_tells(attacker);
	check_await(attacker);
	check_stderr_end();
	victim_serves_others();
	check_join(attacker);
}

#define WHOLE_FILE (1ull << 40)

/* What the attacker claims to be in an extent that is as long as its whole file. */
enum claim { CLAIM_HEADER, CLAIM_REGIONS, CLAIM_SLOTS, CLAIM_PORT, CLAIM_RING, CLAIM_QUEUE, CLAIMS };

static void claim_much(struct hostile *h, struct soft_msg *msg, enum claim claim)
{
	struct soft_ref *refs[CLAIMS] = { &msg->intro.header, &h->own.header->mr, &h->own.header->slots,
					  &msg->port_ref, &msg->ring_ref, &msg->port_ref };
	struct soft_ref *ref = refs[claim];

	*ref = (struct soft_ref){ 0, WHOLE_FILE, ref->extent + ref->offset };
	if (claim == CLAIM_QUEUE)
		msg->layout.rq_mask = UINT32_MAX >> 1;
}

static void claim_the_whole_file(void *arg)
{
	uint64_t where = victim_is_at();

	(void)arg;
	for (enum claim i = 0; i < CLAIMS; i++) {
		struct soft_msg msg, answer;
		struct hostile h;

		hostile_make(&h, HOSTILE_ROOMY, HOSTILE_NO_BELL);
		hostile_begin_request(&h, where, &msg);
		claim_much(&h, &msg, i);
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
		if (i < CLAIM_PORT)
			CHECK(hostile_hear(&h, &answer) && answer.type == SOFT_MSG_REJ);
		else
			CHECK(!hostile_hear(&h, &answer) || answer.type != SOFT_MSG_REP);
		hostile_close(&h);
	}
	check_signal(CHECK_PARENT);
}

/* Returns the number of pages of address space that this process uses. */
static unsigned long address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	REQUIRE(file != NULL && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages;
}

/*
 * If a program locks all its future mappings (mlockall), mapping such an extent would use up the memory of the host. This test
 * only checks that it is not mapped.
 */
static void extents_that_are_longer_than_what_is_in_them_are_not_mapped(void)
{
	unsigned long before;

	attacker = check_fork(claim_the_whole_file, NULL);
	victim_opens();
	victim_serves_others();
	before = address_space();
	check_stderr_begin();
	victim_tells(attacker);
	for (enum claim i = CLAIM_PORT; i < CLAIMS; i++) {
		DAT_CR_HANDLE cr = api_cr(victim.cr_evd);

		CHECK(dat_cr_accept(cr, victim.end.ep, 0, NULL) != DAT_SUCCESS);
		(void)dat_cr_reject(cr);
		/* parts of the attacker's arena stay mapped until the attacker has gone */
		CHECK(address_space() - before < 16384);
	}
	check_await(attacker);
	check_stderr_end();
	victim_serves_others();
	check_join(attacker);
}

/* Does what every peer can do with the descriptor of an arena. */
static void seal_and_stretch(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_FULL_COUNTER);
	hostile_connect(&h, where);
	CHECK(fcntl(h.their_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0);
	CHECK(fcntl(h.their_fd, F_ADD_SEALS, F_SEAL_GROW) < 0);
	CHECK(ftruncate(h.their_fd, 1ll << 45) < 0);
	CHECK(ftruncate(h.their_fd, 4096) < 0);
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

static void arena_cannot_be_sealed_or_stretched_by_a_peer(void)
{
	pid_t later;

	attacker = check_fork(seal_and_stretch, NULL);
	later = check_fork(victim_later_peer, NULL);
	victim_opens();
	victim_tells(attacker);
	victim_accepts();
	check_await(attacker);
	check_join(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	victim_serves_later(later);
}

#define MANY_REQUESTS 60 /* fewer than the victim's queue of requests has room for */

/* Sends requests for large endpoints, which have no memory together, to a service point that creates endpoints. */
static void ask_for_everything(void *arg)
{
	struct pollfd answers[MANY_REQUESTS];
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg msg;

	(void)arg;
	/* no second descriptor: a sanitizer ends the program if a thread that closes it finds no memory */
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < MANY_REQUESTS; i++) {
		hostile_begin_request(&h, where, &msg);
		answers[i] = (struct pollfd){ .fd = h.fd, .events = POLLIN };
		msg.attr.max_message_size = msg.attr.max_rdma_size = 1ull << 40;
		msg.attr.max_recv_dtos = msg.attr.max_request_dtos = 1 << 17;
		msg.attr.max_recv_iov = msg.attr.max_request_iov = SOFT_MAX_IOV;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), true));
	}
	/* the program there answers none of them, so one is refused */
	CHECK(poll(answers, MANY_REQUESTS, (int)check_patience_ms()) > 0);
	for (int i = 0; i < MANY_REQUESTS; i++)
		close(answers[i].fd);
	h.fd = -1;
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

/* This tests allocations that fail, for which the address sanitizer would end the program. */
#if ADDRESS_SANITIZER
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}
#endif

static void no_more_address_space(struct rlimit *before)
{
	struct rlimit little;
	char line[64];
	int fd = open("/proc/self/statm", O_RDONLY);

	REQUIRE(fd >= 0);
	REQUIRE(read(fd, line, sizeof(line)) > 0);
	close(fd);
	REQUIRE(getrlimit(RLIMIT_AS, before) == 0);
	little = *before;
	little.rlim_cur = strtoull(line, NULL, 10) * 4096 + (64 << 20);
	REQUIRE(setrlimit(RLIMIT_AS, &little) == 0);
}

static void refuse_all(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(victim.cr_evd, &event) == DAT_SUCCESS)
		CHECK_DAT(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle), DAT_SUCCESS);
}

static void request_for_too_much_leaves_the_adapter_whole(void)
{
	struct rlimit before;

	attacker = check_fork(ask_for_everything, NULL);
	api_open();
	victim.buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	victim.cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	api_listen(victim.cr_evd, DAT_PSP_PROVIDER_FLAG, &victim.qual);
	no_more_address_space(&before);
	check_stderr_begin();
	victim_tells(attacker);
	check_await(attacker);
	check_stderr_end();
	REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
	refuse_all();
	api_evd(1 << 17, DAT_EVD_DTO_FLAG); /* a larger piece than any that the arena has had */
	victim_serves_others();
	check_join(attacker);
}

/* ------------------------------------------------------------------ messages of the wrong side */

/* Returns true if the victim hangs up, and has said nothing before that but that the connection is over. */
static bool hears_the_end(struct hostile *h)
{
	struct soft_msg msg;

	while (hostile_hear(h, &msg))
		if (msg.type != SOFT_MSG_DISC)
			return false;
	return true;
}

static void answer_wrongly(void *arg)
{
	uint64_t where = victim_is_at();
	const struct soft_msg *how = arg;
	struct hostile h;
	struct soft_msg msg;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_FULL_COUNTER);
	for (int i = 0; i < 20; i++) {
		hostile_request(&h, where);
		hostile_await_answer(&h);
		hostile_message(&h, &msg, (enum soft_msg_type)how->type);
		msg.why = DAT_CONNECTION_EVENT_PEER_REJECTED;
		msg.gen += how->gen;
		msg.liveness = how->liveness;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), how->type == SOFT_MSG_REP));
		CHECK(hears_the_end(&h));
	}
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

/* The attack makes twenty accepts fail. `before_it`: it is made before each accept, and the attacker signals that it is. */
static void want_the_end_of_accepts(void (*attack)(void *how), const struct soft_msg *how, bool before_it)
{
	int before = 0;

	attacker = check_fork(attack, (void *)(uintptr_t)how);
	victim_opens();
	victim_serves_others();
	before = api_descriptors();
	victim_tells(attacker);
	for (int i = 0; i < 20; i++) {
		if (before_it)
			check_await(attacker);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), victim.end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	check_await(attacker);
	check_join(attacker);
	REQUIRE_SOON(api_descriptors() <= before);
}

static void rejection_by_the_active_side_ends_the_accept(void)
{
	want_the_end_of_accepts(answer_wrongly, &(struct soft_msg){ .type = SOFT_MSG_REJ }, false);
}

static void confirmation_of_another_connection_ends_the_accept(void)
{
	want_the_end_of_accepts(answer_wrongly, &(struct soft_msg){ .type = SOFT_MSG_RTU, .gen = 1 }, false);
}

static void answer_by_the_active_side_ends_the_accept(void)
{
	want_the_end_of_accepts(answer_wrongly, &(struct soft_msg){ .type = SOFT_MSG_REP }, false);
}

static void request_after_the_answer_ends_the_accept(void)
{
	want_the_end_of_accepts(answer_wrongly, &(struct soft_msg){ .type = SOFT_MSG_REQ }, false);
}

/* Says before the answer that the connection, which it cannot know yet, is the one to tell about all others. */
static void cancel_too_early(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg msg;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_FULL_COUNTER);
	for (int i = 0; i < 20; i++) {
		hostile_request(&h, where);
		hostile_message(&h, &msg, SOFT_MSG_CANCEL);
		msg.gen = (uint32_t)i;
		msg.liveness = 1;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), false));
		CHECK(!hostile_hear(&h, &msg));
		check_signal(CHECK_PARENT);
	}
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

static void cancellation_before_the_answer_ends_the_request(void)
{
	want_the_end_of_accepts(cancel_too_early, NULL, true);
}

static void cancel_for_good(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg msg;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_FULL_COUNTER);
	hostile_listen(&h, where);
	check_signal(CHECK_PARENT);
	for (int i = 0; i < 20; i++) {
		hostile_await_request(&h);
		hostile_message(&h, &msg, SOFT_MSG_CANCEL);
		msg.liveness = i % 2;
		REQUIRE(hostile_say(&h, &msg, sizeof(msg), false));
		CHECK(!hostile_hear(&h, &msg));
	}
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

static void cancellation_by_the_passive_side_ends_the_attempt(void)
{
	int before;

	attacker = check_fork(cancel_for_good, NULL);
	victim_opens();
	victim.qual = api_free_qual(victim.cr_evd);
	before = api_descriptors();
	victim_tells(attacker);
	check_await(attacker);
	for (int i = 0; i < 20; i++) {
		REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	check_await(attacker);
	check_join(attacker);
	REQUIRE_SOON(api_descriptors() <= before);
}

/* ------------------------------------------------------------------ one who is another */

/* Where the honest process listens, whose id the attacker gets to know there as any peer does, and where the victim does. */
struct quals {
	DAT_CONN_QUAL honest, victim;
};

enum pose { POSE_TO_DISCONNECT, POSE_TO_HANG_UP, POSE_FIRST };

/* Is connected to by the attacker, connects to the victim when that says where, and receives a message. */
static void be_honest(void *arg)
{
	static struct api_end own, other;
	struct api_offer offer;
	DAT_CONN_QUAL mine;

	(void)arg;
	api_open();
	victim.buf = api_buf(65536, DAT_MEM_PRIV_ALL_FLAG);
	api_end_make(&own, NULL);
	api_end_make(&other, NULL);
	victim.cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	api_listen(victim.cr_evd, DAT_PSP_CONSUMER_FLAG, &mine);
	check_put(CHECK_PARENT, &mine, sizeof(mine));
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), other.ep, 0, NULL), DAT_SUCCESS);
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_recv(own.ep, &victim.buf, 0, 100, 1);
	api_connect_to(&own, &offer.address, offer.qual);
	API_DTO(own.recv, own.ep, 1, DAT_DTO_SUCCESS, 100);
	api_close();
}

/* Tells the victim to end all connections that the honest process may have, and waits until it has read that. */
static void disconnect_for_another(struct hostile *h)
{
	struct soft_msg msg;

	for (uint32_t port = 0; port < 16; port++)
		for (uint32_t gen = 1; gen < 16; gen++) {
			hostile_message(h, &msg, SOFT_MSG_DISC);
			msg.port = port;
			msg.gen = gen;
			msg.why = DAT_CONNECTION_EVENT_BROKEN;
			REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
		}
	hostile_message(h, &msg, SOFT_MSG_REJ);
	REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
	CHECK(!hostile_hear(h, &msg));
}

static void come_as_another(void *arg)
{
	const enum pose pose = *(const enum pose *)arg;
	struct hostile known, h;
	struct quals quals;

	check_get(CHECK_PARENT, &quals, sizeof(quals));
	hostile_make(&known, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&known, quals.honest);
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	memcpy(h.id, known.theirs.intro.id, sizeof(h.id));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	if (pose == POSE_TO_DISCONNECT) {
		hostile_request(&h, quals.victim);
		disconnect_for_another(&h);
	} else {
		hostile_connect(&h, quals.victim);
	}
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
	hostile_close(&known);
	check_signal(CHECK_PARENT);
}

static void serve_honest(pid_t honest, const struct api_offer *offer)
{
	check_put(honest, offer, sizeof(*offer));
	victim_accepts();
}

static void pose(enum pose pose)
{
	pid_t honest = check_fork(be_honest, NULL);
	struct api_end other;
	struct api_offer offer;
	struct quals quals;

	attacker = check_fork(come_as_another, &pose);
	victim_opens();
	api_end_make(&other, NULL);
	api_offer_make(&offer, victim.cr_evd, NULL);
	check_get(honest, &quals.honest, sizeof(quals.honest));
	quals.victim = offer.qual;
	check_put(attacker, &quals, sizeof(quals));
	check_await(attacker);
	if (pose != POSE_FIRST)
		serve_honest(honest, &offer);
	check_signal(attacker);
	if (pose != POSE_TO_DISCONNECT) {
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), other.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	check_await(attacker);
	if (pose == POSE_FIRST)
		serve_honest(honest, &offer);
	check_signal(attacker);
	check_await(attacker);
	if (pose != POSE_TO_DISCONNECT)
		API_CONN_OVER(other.connect, other.ep);
	REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, 100, 1, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, 100);
	check_join(attacker);
	check_join(honest);
}

static void peer_that_comes_as_another_cannot_end_the_connections_of_that(void)
{
	pose(POSE_TO_DISCONNECT);
}

static void death_of_a_peer_that_came_as_another_is_not_the_death_of_that(void)
{
	pose(POSE_TO_HANG_UP);
}

static void peer_that_comes_as_another_first_does_not_lock_that_out(void)
{
	pose(POSE_FIRST);
}

/* ------------------------------------------------------------------ the log */

#define ODD_PEERS 80 /* more than the causes that the log remembers */

static void come_as(struct hostile *h, uint64_t where, uint32_t number)
{
	struct soft_msg msg;

	hostile_hangup(h);
	hostile_begin_request(h, where, &msg);
	((struct sockaddr_in *)&msg.address)->sin_addr.s_addr = htonl(0x0a000001 + number);
	msg.attr.max_recv_dtos = (int32_t)(1u << 30 | number);
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
}

/* Sends requests, each from another address and for another number of receives. Gives up those that are accepted. */
static void come_from_everywhere(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;
	struct soft_msg msg;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_FULL_COUNTER);
	for (uint32_t i = 0; i < ODD_PEERS; i++) {
		come_as(&h, where, i);
		if (*(DAT_PSP_FLAGS *)arg == DAT_PSP_CONSUMER_FLAG) {
			hostile_await_answer(&h);
			hostile_message(&h, &msg, SOFT_MSG_REJ);
			msg.why = DAT_CONNECTION_EVENT_PEER_REJECTED;
			REQUIRE(hostile_say(&h, &msg, sizeof(msg), false));
			CHECK(hears_the_end(&h));
		} else {
			CHECK(hostile_hear(&h, &msg) && msg.type == SOFT_MSG_REJ);
		}
	}
	hostile_close(&h);
	check_signal(CHECK_PARENT);
}

/* Rejects or accepts all these requests. With DAT_PSP_PROVIDER_FLAG the provider creates the endpoints that they ask for. */
static void answer_what_comes_from_everywhere(DAT_PSP_FLAGS flags)
{
	attacker = check_fork(come_from_everywhere, &flags);
	victim_opens();
	api_listen(victim.cr_evd, flags, &victim.qual);
	victim_tells(attacker);
	for (int i = 0; i < ODD_PEERS; i++) {
		DAT_CR_HANDLE cr = api_cr(victim.cr_evd);

		if (flags == DAT_PSP_PROVIDER_FLAG) {
			REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
			continue;
		}
		REQUIRE_DAT(dat_cr_accept(cr, victim.end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	check_await(attacker);
	check_join(attacker);
}

/* An error of this program is logged, whatever peers have provoked before. */
static void own_mistake_is_told(void)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC, .max_recv_dtos = INT32_MAX };
	DAT_EP_HANDLE ep;

	CHECK(dat_ep_create(api.ia, api.pz, victim.end.recv, victim.end.request, victim.end.connect, &attr, &ep) !=
	      DAT_SUCCESS);
}

static void peers_do_not_use_up_the_log(DAT_PSP_FLAGS flags)
{
	const char *said;

	check_stderr_begin();
	answer_what_comes_from_everywhere(flags);
	own_mistake_is_told();
	said = check_stderr_end();
	CHECK(strstr(said, "no endpoint with max_recv_dtos 2147483647") != NULL);
	CHECK(!strstr(said, "no endpoint with max_recv_dtos 10737418"));
	CHECK(victim_said_lines(said) < 20);
}

static void peers_of_many_names_do_not_use_up_the_log(void)
{
	peers_do_not_use_up_the_log(DAT_PSP_CONSUMER_FLAG);
}

static void wishes_of_peers_do_not_use_up_the_log(void)
{
	peers_do_not_use_up_the_log(DAT_PSP_PROVIDER_FLAG);
}

static const struct check_test tests[] = {
	CHECK_TEST(doorbell_that_is_a_broken_pipe_raises_no_signal),
	CHECK_TEST(doorbell_that_is_a_full_pipe_blocks_nobody),
	CHECK_TEST(doorbell_that_is_a_full_counter_blocks_nobody),
	CHECK_TEST(doorbell_of_the_passive_side_blocks_nobody),
	CHECK_TEST(peer_that_reads_no_doorbell_blocks_nobody),
	CHECK_TEST(arena_of_huge_pages_that_are_not_there_is_refused),
	CHECK_TEST(slots_that_make_no_sense_are_refused),
	CHECK_TEST(extents_that_are_longer_than_what_is_in_them_are_not_mapped),
	CHECK_TEST(arena_cannot_be_sealed_or_stretched_by_a_peer),
	CHECK_TEST(request_for_too_much_leaves_the_adapter_whole),
	CHECK_TEST(rejection_by_the_active_side_ends_the_accept),
	CHECK_TEST(confirmation_of_another_connection_ends_the_accept),
	CHECK_TEST(answer_by_the_active_side_ends_the_accept),
	CHECK_TEST(request_after_the_answer_ends_the_accept),
	CHECK_TEST(cancellation_before_the_answer_ends_the_request),
	CHECK_TEST(cancellation_by_the_passive_side_ends_the_attempt),
	CHECK_TEST(peer_that_comes_as_another_cannot_end_the_connections_of_that),
	CHECK_TEST(death_of_a_peer_that_came_as_another_is_not_the_death_of_that),
	CHECK_TEST(peer_that_comes_as_another_first_does_not_lock_that_out),
	CHECK_TEST(peers_of_many_names_do_not_use_up_the_log),
	CHECK_TEST(wishes_of_peers_do_not_use_up_the_log),
	CHECK_END
};

static const struct check_suite hostile_peer = { .name = "hostile peer", .teardown = api_close, .tests = tests };

CHECK_SUITES(&hostile_peer);
