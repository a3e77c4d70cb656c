/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker writes into the parts of the victim's arena that are not in use yet, and goes. The victim puts them to use for later
 * peers: queues, ports, mailboxes, regions and windows. All of these work. And what it has used of the victim's descriptors is
 * given back. A message that it sends over a connection that has ended is dropped.
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostile.h"
#include "victim.h"

enum { LEN = 300000, SHORT = 100, BEYOND = 8 << 20, ENTRIES = 4096, PAGE = 4096 };

/* ------------------------------------------------------------------ the attacker */

/* What it writes: all of these mean something to some word. */
static const uint32_t patterns[] = { SOFT_MAILBOX_ASKED, SOFT_MR_BINDING, UINT32_MAX };

static const uint32_t nobody = SOFT_PORT_MAX - 1; /* a sender ID that no peer has */

static bool is_within(off_t at, const struct soft_ref *ref)
{
	return (uint64_t)at >= ref->extent && (uint64_t)at - ref->extent < ref->extent_len;
}

/* Writes into the holes of the file, and behind the large tables. These themselves are left alone, which would take long. */
static void fill_holes(struct hostile *h, uint32_t pattern)
{
	const struct soft_header *header = hostile_header_of_victim(h);
	off_t top = (off_t)(header->mr.extent + header->mr.extent_len) + BEYOND; /* it was made last */
	uint32_t page[PAGE / 4];

	for (unsigned int i = 0; i < PAGE / 4; i++)
		page[i] = pattern;
	for (off_t at = 0; at < top; at += PAGE) {
		off_t data = lseek(h->their_fd, at, SEEK_DATA);

		if (data != at && !is_within(at, &header->mr) && !is_within(at, &header->slots))
			REQUIRE(pwrite(h->their_fd, page, PAGE, at) == PAGE);
	}
}

/* Writes into the unused entries of the table of regions that will be used next. */
static void fill_entries(struct hostile *h, uint32_t pattern)
{
	const struct soft_ref mr = hostile_header_of_victim(h)->mr;

	for (uint32_t i = 1; i < ENTRIES; i++) {
		off_t at = (off_t)(mr.extent + mr.offset + i * sizeof(struct soft_mr));
		uint32_t entry[sizeof(struct soft_mr) / 4];

		REQUIRE(pread(h->their_fd, entry, sizeof(entry), at) == (ssize_t)sizeof(entry));
		if (entry[0]) /* the context */
			continue;
		for (unsigned int word = 0; word < sizeof(entry) / 4; word++)
			entry[word] = pattern;
		REQUIRE(pwrite(h->their_fd, entry, sizeof(entry), at) == (ssize_t)sizeof(entry));
	}
}

static void fill_and_go(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	fill_holes(&h, *(uint32_t *)arg);
	fill_entries(&h, *(uint32_t *)arg);
	hostile_close(&h);
}

/* Marks all slots of the victim as in use, as if a peer still read them. */
static void take_slots_and_go(void *arg)
{
	uint64_t where = victim_is_at();
	const struct soft_header *header;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	header = hostile_header_of_victim(&h);
	for (uint32_t i = 0; i < header->slot_count; i++) {
		off_t at = (off_t)(header->slots.extent + header->slots.offset) +
			   (off_t)(i * (sizeof(struct soft_slot) + header->slot_size));

		REQUIRE(pwrite(h.their_fd, &nobody, sizeof(nobody), at) == (ssize_t)sizeof(nobody));
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* Connects and disconnects, and keeps the sockets. Comes as another adapter each time, or else always as one. */
static void come_many_times(int rounds, bool as_many)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	for (int i = 0; i < rounds; i++) {
		h.id[1] = as_many ? (uint64_t)i : h.id[1];
		h.fd = -1; /* it stays open */
		hostile_connect(&h, where);
		hostile_disconnect(&h);
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void come_as_many(void *arg)
{
	come_many_times(*(const int *)arg, true);
}

/* Says that each socket is to stay, whatever it has said before. */
static void come_often_as_one(void *arg)
{
	come_many_times(*(const int *)arg, false);
}

/* Accepts and disconnects, and keeps the sockets. */
static void accept_often(void *arg)
{
	const int *rounds = arg;
	uint64_t where = victim_is_at();
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_listen(&h, where);
	check_signal(CHECK_PARENT);
	for (int i = 0; i < *rounds; i++) {
		h.fd = -1; /* it stays open */
		hostile_await_request(&h);
		hostile_accept(&h);
		hostile_await_confirmation(&h);
		hostile_disconnect(&h);
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

static void confirm(struct hostile *h, bool named)
{
	struct soft_msg msg;

	hostile_message(h, &msg, SOFT_MSG_RTU);
	msg.liveness = named;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
}

/*
 * Makes two connections. As the RTU over the socket that stays is late, that over the other one is read first. Hangs up the other
 * one, which it does not need, and confirms the first one if the victim wants that, or else hangs up that, too.
 */
static void confirm_in_reverse(void *arg)
{
	const bool *lives = arg;
	uint64_t where = victim_is_at();
	struct hostile first, h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_request(&h, where);
	hostile_await_answer(&h);
	first = h;
	h.fd = h.their_fd = -1; /* they stay open */
	h.their_at = NULL;
	hostile_request(&h, where);
	hostile_await_answer(&h);
	confirm(&h, false);
	check_await(CHECK_PARENT);
	hostile_hangup(&h);
	check_await(CHECK_PARENT);
	if (*lives)
		confirm(&first, true);
	else
		hostile_hangup(&first);
	check_await(CHECK_PARENT);
	hostile_hangup(&first);
	check_await(CHECK_PARENT);
}

/* Sends a message over a connection that it has ended. */
static void send_late(void *arg)
{
	uint64_t where = victim_is_at();
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	hostile_hangup(&h);
	check_await(CHECK_PARENT);
	hostile_publish(&h, hostile_reserve(&h));
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the later peers */

/* Sends a short and a long message, receives a long one, and writes into the window that it is given. */
static void come_later(void *arg)
{
	struct api_offer offer;
	struct api_end own;
	struct api_buf buf;
	DAT_RMR_TRIPLET window;

	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open_as(arg);
	api_end_make(&own, NULL);
	buf = api_buf(2 * LEN, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(buf.mem, LEN, 7);
	REQUIRE_DAT(api_recv(own.ep, &buf, LEN, LEN, 1), DAT_SUCCESS);
	api_connect_to(&own, &offer.address, offer.qual);
	REQUIRE_DAT(api_send(own.ep, &buf, 0, SHORT, 2, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 2, DAT_DTO_SUCCESS, SHORT);
	REQUIRE_DAT(api_send(own.ep, &buf, 0, LEN, 3, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 3, DAT_DTO_SUCCESS, LEN);
	API_DTO(own.recv, own.ep, 1, DAT_DTO_SUCCESS, LEN);
	CHECK_EQ_INT(api_mismatch(buf.mem + LEN, LEN, 7), -1);
	check_get(CHECK_PARENT, &window, sizeof(window));
	REQUIRE_DAT(api_write(own.ep, api_seg(&buf, 0, LEN), window, 4, 0), DAT_SUCCESS);
	API_DTO(own.request, own.ep, 4, DAT_DTO_SUCCESS, LEN);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* Binds a window to the whole buffer, over the connection of this end. */
static DAT_RMR_TRIPLET window_onto(const struct api_buf *buf, const struct api_end *end)
{
	DAT_RMR_TRIPLET window = api_target(buf, 0, LEN);
	DAT_LMR_TRIPLET seg = api_seg(buf, 0, LEN);
	DAT_RMR_HANDLE rmr;

	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(rmr, &seg, DAT_MEM_PRIV_ALL_FLAG, end->ep, api_cookie(8), 0, &window.rmr_context), DAT_SUCCESS);
	API_BIND(end->request, rmr, 8, DAT_RMR_BIND_SUCCESS);
	return window;
}

/* Does the other part of what the later peer does, with an endpoint, queues and memory that are new. */
static void serve(pid_t later)
{
	DAT_EVD_HANDLE requests = api_evd(8, DAT_EVD_CR_FLAG);
	struct api_buf from = api_buf(LEN, DAT_MEM_PRIV_ALL_FLAG), into = api_buf(LEN, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_TRIPLET window;
	struct api_offer offer;
	struct api_end end;

	api_fill(from.mem, LEN, 7);
	api_end_make(&end, NULL);
	REQUIRE_DAT(api_recv(end.ep, &into, 0, SHORT, 5), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(end.ep, &into, 0, LEN, 6), DAT_SUCCESS);
	api_offer_make(&offer, requests, NULL);
	check_put(later, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(requests), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(end.recv, end.ep, 5, DAT_DTO_SUCCESS, SHORT);
	API_DTO(end.recv, end.ep, 6, DAT_DTO_SUCCESS, LEN);
	CHECK_EQ_INT(api_mismatch(into.mem, LEN, 7), -1);
	REQUIRE_DAT(api_send(end.ep, &from, 0, LEN, 7, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 7, DAT_DTO_SUCCESS, LEN);
	api_fill(into.mem, LEN, 0);
	window = window_onto(&into, &end);
	check_put(later, &window, sizeof(window));
	check_await(later);
	CHECK_EQ_INT(api_mismatch(into.mem, LEN, 7), -1);
}

/* ------------------------------------------------------------------ the victim */

enum { LATER = 2 }; /* the first one gets the mailbox that the attacker had, which has been cleared */

static void later_peers_are_served_over(char *adapter, uint32_t pattern)
{
	pid_t attacker = check_fork(fill_and_go, &pattern), later[LATER];

	for (int i = 0; i < LATER; i++)
		later[i] = check_fork(come_later, adapter);
	victim_opens_as(adapter, 65536);
	victim_tells(attacker);
	victim_accepts();
	check_signal(attacker);
	check_join(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	for (int i = 0; i < LATER; i++)
		serve(later[i]);
	victim_serves_others();
	for (int i = 0; i < LATER; i++) {
		check_signal(later[i]);
		check_join(later[i]);
	}
	api_close();
}

static void later_peers_are_served(void)
{
	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		later_peers_are_served_over("soft0", patterns[i]);
}

static void later_peers_are_served_by_mailboxes(void)
{
	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		later_peers_are_served_over("soft-bounce", patterns[i]);
}

static bool slots_are_free(void)
{
	const struct soft_ia *ia = soft_ia(((struct soft_ep *)victim.end.ep)->base.obj.ia);

	for (uint32_t i = 0; i < ia->slot_count; i++)
		if (atomic_load(&soft_slot_at(ia->slot_mem.addr, ia->slot_size, i)->busy))
			return false;
	return true;
}

/* A message that is longer than a cell, and has no receive, leaves its sender all the same, which takes a slot. */
static void slots_are_used_again(void)
{
	static struct api_pair pair;
	pid_t attacker = check_fork(take_slots_and_go, NULL);

	victim_opens_as("soft0", 65536);
	victim_tells(attacker);
	victim_accepts();
	check_signal(attacker);
	check_join(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
	REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	REQUIRE_SOON(slots_are_free());
	memset(&pair, 0, sizeof(pair));
	api_pair_make(&pair, NULL);
	REQUIRE_DAT(api_send(pair.a.ep, &victim.buf, 0, PAGE, 1, 0), DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 1, DAT_DTO_SUCCESS, PAGE);
}

static void serve_rounds(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		victim_accepts();
		API_CONN_OVER(victim.end.connect, victim.end.ep);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
}

enum { OFTEN = 5000 }; /* more connections than a peer may have sender IDs */

static void come_often(void *arg)
{
	struct api_offer offer;
	struct api_end own;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	api_end_make(&own, NULL);
	for (int i = 0; i < OFTEN; i++) {
		api_connect_to(&own, &offer.address, offer.qual);
		REQUIRE_DAT(dat_ep_disconnect(own.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		API_CONN_OVER(own.connect, own.ep);
		REQUIRE_DAT(dat_ep_reset(own.ep), DAT_SUCCESS);
	}
	api_close();
}

static void honest_peer_may_connect_as_often_as_it_likes(void)
{
	pid_t honest = check_fork(come_often, NULL);
	struct api_offer offer;

	victim_opens();
	api_offer_make(&offer, victim.cr_evd, NULL);
	check_put(honest, &offer, sizeof(offer));
	serve_rounds(OFTEN);
	check_join(honest);
}

/* Whatever a process pretends to be, it costs this one few descriptors when it has no connection. */
static void leave_few_descriptors(void (*come)(void *rounds), int first)
{
	int rounds = 200, before;
	pid_t attacker = check_fork(come, &rounds), later = check_fork(victim_later_peer, NULL);

	victim_opens();
	victim_tells(attacker);
	serve_rounds(first);
	before = api_descriptors();
	serve_rounds(rounds - first);
	CHECK(api_descriptors() < before + 10);
	victim_serves_later(later);
	check_signal(attacker);
	check_join(attacker);
}

static void connections_that_have_ended_leave_few_descriptors(void)
{
	leave_few_descriptors(come_as_many, 40);
}

static void connections_of_one_adapter_leave_few_descriptors(void)
{
	leave_few_descriptors(come_often_as_one, 10);
}

/* The victim gives the other side a second to hang up. */
static void connections_to_a_listener_leave_few_descriptors(void)
{
	int rounds = 50, before;
	pid_t attacker = check_fork(accept_often, &rounds), later = check_fork(victim_later_peer, NULL);

	victim_opens_as("soft-hasty", PAGE);
	victim.qual = api_free_qual(victim.cr_evd);
	victim_tells(attacker);
	check_await(attacker);
	before = api_descriptors();
	for (int i = 0; i < rounds; i++) {
		REQUIRE_DAT(api_connect(victim.end.ep, victim.qual), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		API_CONN_OVER(victim.end.connect, victim.end.ep);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	CHECK_SOON(api_descriptors() < before + 10);
	victim_serves_later(later);
	check_signal(attacker);
	check_join(attacker);
}

static void listen_and_stop(void *arg)
{
	DAT_EVD_HANDLE requests;
	struct api_offer offer;

	(void)arg;
	api_open();
	requests = api_evd(64, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, requests, NULL);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE(raise(SIGSTOP) == 0);
	check_await(CHECK_PARENT);
	api_close();
}

/* An honest server that is stopped answers nothing, and hangs up nothing. */
static void attempts_that_time_out_leave_few_descriptors(void)
{
	enum { ATTEMPTS = 50, TIMEOUT_US = 5000 };
	pid_t server = check_fork(listen_and_stop, NULL), later = check_fork(victim_later_peer, NULL);
	struct api_offer offer;
	int before;

	victim_opens();
	check_get(server, &offer, sizeof(offer));
	before = api_descriptors();
	for (int i = 0; i < ATTEMPTS; i++) {
		REQUIRE_DAT(api_offer_connect(victim.end.ep, &offer, TIMEOUT_US), DAT_SUCCESS);
		API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
	}
	CHECK_SOON(api_descriptors() < before + 10);
	victim_serves_later(later);
	REQUIRE(kill(server, SIGCONT) == 0);
	check_signal(server);
	check_join(server);
}

/* Accepts two requests of the attacker. When this returns, the attacker has confirmed the second, and has hung up its socket. */
static void accept_two(pid_t attacker, DAT_EP_HANDLE first)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), first, 0, NULL), DAT_SUCCESS);
	victim_accepts();
	check_signal(attacker);
	victim_serves_others(); /* the service thread has time to read the hang-up */
	usleep(100000);
	CHECK_EQ_INT(api_state(victim.end.ep), DAT_EP_STATE_CONNECTED);
}

static void hang_up_of_a_socket_that_is_not_needed_ends_no_connection(void)
{
	bool lives = true;
	pid_t attacker = check_fork(confirm_in_reverse, &lives);
	struct api_end first;

	victim_opens();
	api_end_make(&first, NULL);
	victim_tells(attacker);
	accept_two(attacker, first.ep);
	check_signal(attacker);
	API_CONN(first.connect, first.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK_EQ_INT(api_state(victim.end.ep), DAT_EP_STATE_CONNECTED);
	check_signal(attacker);
	API_CONN(first.connect, first.ep, DAT_CONNECTION_EVENT_BROKEN);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_signal(attacker);
	check_join(attacker);
}

/* The attacker's process goes on, so that only the sockets tell. */
static void hang_up_of_the_last_socket_ends_all_connections(void)
{
	bool lives = false;
	pid_t attacker = check_fork(confirm_in_reverse, &lives);
	struct api_end first;

	victim_opens();
	api_end_make(&first, NULL);
	victim_tells(attacker);
	accept_two(attacker, first.ep);
	check_signal(attacker);
	API_CONN(first.connect, first.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	check_signal(attacker);
	check_signal(attacker);
	check_join(attacker);
}

static bool is_mapped(const void *page)
{
	return !msync((void *)((uintptr_t)page & ~(uintptr_t)(PAGE - 1)), PAGE, MS_ASYNC);
}

/* The victim has sent to the attacker, and has unmapped the attacker's ring. */
static void message_of_a_connection_that_has_ended_is_dropped(void)
{
	pid_t attacker = check_fork(send_late, NULL);
	const struct soft_ring *ring;
	DAT_EVENT event;

	victim_opens();
	victim_tells(attacker);
	victim_accepts();
	ring = ((struct soft_ep *)victim.end.ep)->rring;
	REQUIRE_DAT(api_send(victim.end.ep, &victim.buf, 0, 8, 1, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, 1, DAT_DTO_SUCCESS, 8);
	check_signal(attacker);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_BROKEN);
	REQUIRE_SOON(!is_mapped(ring));
	check_signal(attacker);
	check_await(attacker);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(victim.end.recv, &event)) == DAT_QUEUE_EMPTY);
	victim_serves_others();
	check_signal(attacker);
	check_join(attacker);
}

static const struct check_test tests[] = {
	CHECK_TEST(later_peers_are_served),
	CHECK_TEST(later_peers_are_served_by_mailboxes),
	CHECK_TEST(slots_are_used_again),
	CHECK_TEST(honest_peer_may_connect_as_often_as_it_likes),
	CHECK_TEST(connections_that_have_ended_leave_few_descriptors),
	CHECK_TEST(connections_of_one_adapter_leave_few_descriptors),
	CHECK_TEST(connections_to_a_listener_leave_few_descriptors),
	CHECK_TEST(attempts_that_time_out_leave_few_descriptors),
	CHECK_TEST(hang_up_of_a_socket_that_is_not_needed_ends_no_connection),
	CHECK_TEST(hang_up_of_the_last_socket_ends_all_connections),
	CHECK_TEST(message_of_a_connection_that_has_ended_is_dropped),
	CHECK_END
};

static const struct check_suite leftover = { .name = "what an attacker leaves", .teardown = api_close, .tests = tests };

CHECK_SUITES(&leftover);
