/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that has reserved a cell of a ring and does not publish it, as if it were stopped at that moment. Another peer's
 * messages arrive by the same ring all the same, for several laps, whichever way the program takes its events. The connection
 * with the peer that holds the cell is broken. What that peer writes into the cell later does no harm. Nor do reservations that
 * no sender makes.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "hostile.h"
#include "providers/soft/cq.h"

#define MESSAGES 300u /* more than two laps */
#define LAST	 8u
#define LONG	 ((size_t)1 << 20)
#define HELD	 ((uint64_t)1 << 32)

/* How the victim takes its events. */
enum way { POLLS, WAITS, WAITS_ON_CNO };

static struct {
	DAT_CNO_HANDLE cno;
	DAT_SRQ_HANDLE srq; /* DAT_HANDLE_NULL: each endpoint has receives of its own */
	DAT_EVD_HANDLE recv, request, connect, cr;
	DAT_EP_HANDLE held, honest;
	struct api_buf buf;
	DAT_CONN_QUAL qual;
	enum way way;
	pid_t holder, peer;
} victim;

/* ------------------------------------------------------------------ the other two processes */

/* In an attacker: connects to the victim, and waits until it is told to begin. */
static void connect_and_await(struct hostile *h)
{
	uint64_t qual;

	check_get(CHECK_PARENT, &qual, sizeof(qual));
	hostile_make(h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(h, qual);
	check_await(CHECK_PARENT);
}

/* When it is told to, requests the victim's service thread, and does not wake it. */
static void ask_without_a_ring(void *arg)
{
	struct hostile h;

	(void)arg;
	connect_and_await(&h);
	hostile_ask(&h);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* Sends a long message, for which the service thread has to find a buffer, because nobody polls. */
static void send_long(void *arg)
{
	struct api_end end;
	struct api_buf buf;
	uint64_t qual;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	api_open_as((char *)"soft-hasty");
	api_end_make(&end, NULL);
	buf = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(CHECK_PARENT);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, LONG, 1, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, LONG);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

/* Reserves a cell, reports that, and publishes it when it is told to. */
static void hold_a_cell(void *arg)
{
	struct hostile h;
	uint64_t position;

	(void)arg;
	connect_and_await(&h);
	position = hostile_reserve(&h);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_publish(&h, position);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* What an attacker writes into the ring. */
struct forgery {
	uint32_t sender_id; /* of the reservations; OWN: that of the attacker; EACH: of each the next one, from 3 on */
	unsigned int cells; /* how many */
	int64_t laps;	    /* or by how many laps it moves the ring */
	bool stays;	    /* the attacker lives until all is over */
};
#define OWN    UINT32_MAX
#define EACH   (UINT32_MAX - 1)
#define NOBODY 60000u

static void forge(void *arg)
{
	const struct forgery *forgery = arg;
	struct hostile h;

	connect_and_await(&h);
	for (unsigned int i = 0; i < forgery->cells; i++) {
		uint32_t sender_id = forgery->sender_id == OWN  ? h.theirs.intro.sender_id :
				     forgery->sender_id == EACH ? i + 3 :
								  forgery->sender_id;

		(void)hostile_reserve_as(&h, sender_id);
	}
	if (forgery->laps)
		hostile_set_ring(&h, forgery->laps);
	check_signal(CHECK_PARENT);
	if (forgery->stays)
		check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ a peer that is late again and again */

enum { LATE_CELLS = 24, LATE_MS = 80, PAUSE_MS = 20 }; /* the bound is 100 ms */

static struct seen {
	_Atomic uint32_t cells; /* so many are done */
	_Atomic bool over;
} *seen; /* shared with the attacker */

/* Calls this for each cell, always shortly before the bound has passed, until it is told to end. */
static void late_each_time(struct hostile *h, const uint64_t *at, void (*do_one)(struct hostile *h, uint32_t i, uint64_t position))
{
	check_signal(CHECK_PARENT);
	for (uint32_t i = 0; i < LATE_CELLS && !atomic_load(&seen->over); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = LATE_MS * 1000000L }, NULL);
		do_one(h, i, at[i]);
		atomic_fetch_add(&seen->cells, 1);
	}
	check_await(CHECK_PARENT);
	hostile_close(h);
}

static void publish_void(struct hostile *h, uint32_t i, uint64_t position)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	struct soft_cell *cell = &ring->cell[position & ring->mask];

	(void)i;
	cell->kind = SOFT_CELL_VOID;
	soft_ring_publish(cell, position);
}

static void fill_receive(struct hostile *h, uint32_t i, uint64_t position)
{
	struct soft_desc *receive = hostile_receive_of_victim(h, i);

	(void)position;
	receive->len = 0;
	receive->status = 0;
	receive->extra = 0;
	atomic_store(&receive->state, SOFT_DESC_DONE);
}

/* Reserves many cells, and publishes each late. */
static void publish_late(void *arg)
{
	uint64_t at[LATE_CELLS];
	struct hostile h;

	(void)arg;
	connect_and_await(&h);
	for (uint32_t i = 0; i < LATE_CELLS; i++)
		at[i] = hostile_reserve(&h);
	late_each_time(&h, at, publish_void);
}

/* Reserves one cell at a time, publishes it late, and has nothing reserved for a moment before the next one. */
static void publish_late_with_pauses(void *arg)
{
	struct hostile h;

	(void)arg;
	connect_and_await(&h);
	check_signal(CHECK_PARENT);
	while (!atomic_load(&seen->over)) {
		uint64_t position = hostile_reserve(&h);

		nanosleep(&(struct timespec){ .tv_nsec = LATE_MS * 1000000L }, NULL);
		publish_void(&h, 0, position);
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_MS * 1000000L }, NULL);
		atomic_fetch_add(&seen->cells, 1);
	}
	check_await(CHECK_PARENT);
	hostile_close(&h);
}

/* Says that it executes its messages, which keep their places in the ring, and fills each receive late. */
static void execute_late(void *arg)
{
	uint64_t at[LATE_CELLS];
	struct hostile h;

	(void)arg;
	connect_and_await(&h);
	atomic_fetch_or(&h.own.port->exec_lock, SOFT_EXEC_HELD);
	for (uint32_t i = 0; i < LATE_CELLS; i++) {
		struct soft_ring *ring = hostile_ring_of_victim(&h);

		at[i] = hostile_reserve(&h);
		soft_ring_publish_done(&ring->cell[at[i] & ring->mask], at[i], h.theirs.my_port, h.theirs.my_gen, i + 1);
	}
	late_each_time(&h, at, fill_receive);
}

/* ------------------------------------------------------------------ the honest peer */

static void send_and_hear(const struct api_end *end, const struct api_buf *buf, uint64_t n)
{
	REQUIRE_DAT(api_recv(end->ep, buf, 0, 8, n), DAT_SUCCESS);
	memcpy(buf->mem, &n, 8);
	REQUIRE_DAT(api_send(end->ep, buf, 0, 8, n, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	API_DTO(end->recv, end->ep, n, DAT_DTO_SUCCESS, 8);
}

/* Sends, and disconnects at once. */
static void send_and_go(const struct api_end *end, const struct api_buf *buf)
{
	for (uint64_t n = 0; n < LAST; n++)
		REQUIRE_DAT(api_send(end->ep, buf, 0, 8, n, DAT_COMPLETION_SUPPRESS_FLAG),
			    DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	API_CONN_OVER(end->connect, end->ep);
}

/* Sends as many messages as the parent asks for, each after the answer to the one before. For 0 it sends a few and ends. */
static void talk(void *arg)
{
	struct api_end end;
	struct api_buf buf;
	uint64_t qual;
	uint32_t count;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	api_open_as((char *)"soft-hasty");
	api_end_make(&end, NULL);
	buf = api_buf(64, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_connect(end.ep, qual), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	do {
		check_get(CHECK_PARENT, &count, sizeof(count));
		for (uint32_t n = 0; n < count; n++)
			send_and_hear(&end, &buf, n);
	} while (count);
	send_and_go(&end, &buf);
	api_close();
}

/* ------------------------------------------------------------------ the victim */

static void make_queues(void)
{
	if (victim.way == WAITS_ON_CNO) {
		victim.cno = api_cno();
		victim.recv = api_evd_cno(64, DAT_EVD_DTO_FLAG, victim.cno);
	} else {
		victim.recv = api_evd(64, DAT_EVD_DTO_FLAG);
	}
}

static DAT_EP_HANDLE make_endpoint(void)
{
	DAT_EP_ATTR attr = { 0 };
	DAT_EP_HANDLE ep;

	if (victim.srq)
		REQUIRE_DAT(dat_ep_create_with_srq(api.ia, api.pz, victim.recv, victim.request,
						   victim.connect, victim.srq, &attr, &ep),
			    DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, victim.recv, victim.request,
					  victim.connect, &attr, &ep),
			    DAT_SUCCESS);
	return ep;
}

static DAT_EP_HANDLE accept_one(pid_t pid)
{
	DAT_EP_HANDLE ep = make_endpoint();

	check_put(pid, &victim.qual, sizeof(victim.qual));
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr), ep, 0, NULL), DAT_SUCCESS);
	API_CONN(victim.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	return ep;
}

static void open_victim(enum way way)
{
	api_open_as((char *)"soft-hasty");
	victim.way = way;
	victim.request = api_evd(64, DAT_EVD_DTO_FLAG);
	victim.connect = api_evd(64, DAT_EVD_CONNECTION_FLAG);
	victim.cr = api_evd(8, DAT_EVD_CR_FLAG);
	victim.buf = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	make_queues();
	api_listen(victim.cr, DAT_PSP_CONSUMER_FLAG, &victim.qual);
}

static void suffer_from(void (*attack)(void *arg), const struct forgery *forgery, enum way way)
{
	memset(&victim, 0, sizeof(victim));
	victim.holder = check_fork(attack, (void *)(uintptr_t)forgery);
	victim.peer = check_fork(talk, NULL);
	open_victim(way);
	victim.held = accept_one(victim.holder);
	victim.honest = accept_one(victim.peer);
	REQUIRE_DAT(api_recv(victim.held, &victim.buf, 32, 8, HELD), DAT_SUCCESS);
	check_signal(victim.holder);
	check_await(victim.holder);
}

static void suffer(enum way way)
{
	suffer_from(hold_a_cell, NULL, way);
}

/* Returns the next event of the queue, taken in the victim's way. */
static DAT_EVENT next_event(void)
{
	uint64_t until = check_now_ms() + check_patience_ms();
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_RETURN ret;
	DAT_COUNT more;

	if (victim.way == WAITS) {
		REQUIRE_DAT(dat_evd_wait(victim.recv, api_patience(), 1, &event, &more),
			    DAT_SUCCESS);
		return event;
	}
	while ((ret = dat_evd_dequeue(victim.recv, &event)) != DAT_SUCCESS &&
	       check_now_ms() < until)
		if (victim.way == WAITS_ON_CNO)
			REQUIRE_DAT(dat_cno_wait(victim.cno, api_patience(), &evd), DAT_SUCCESS);
	REQUIRE_DAT(ret, DAT_SUCCESS);
	return event;
}

/* Takes the next message of the honest peer. If the other peer's receive completes, checks its result. */
static void next_message(uint32_t n)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event = next_event();

	dto = &event.event_data.dto_completion_event_data;
	if (dto->user_cookie.as_64 == HELD) {
		CHECK_EQ_INT(dto->status, DAT_DTO_ERR_FLUSHED);
		event = next_event();
	}
	CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
	CHECK_EQ_INT(dto->user_cookie.as_64, n);
	CHECK(!memcmp(victim.buf.mem, &(uint64_t){ n }, 8));
}

static void answer_messages(void)
{
	uint32_t count = MESSAGES;

	check_put(victim.peer, &count, sizeof(count));
	for (uint32_t n = 0; n < count; n++) {
		REQUIRE_DAT(api_recv(victim.honest, &victim.buf, 0, 8, n), DAT_SUCCESS);
		next_message(n);
		REQUIRE_DAT(
			api_send(victim.honest, &victim.buf, 0, 8, n, DAT_COMPLETION_SUPPRESS_FLAG),
			DAT_SUCCESS);
	}
}

static uint32_t cells_skipped(void)
{
	return ((struct soft_evd *)victim.recv)->cq.skipped_count;
}

static void end_all(void)
{
	uint32_t none = 0;

	check_put(victim.peer, &none, sizeof(none));
	check_join(victim.peer);
	api_close();
}

static void holder_goes_on(enum way way)
{
	suffer(way);
	answer_messages();
	API_CONN_OVER(victim.connect, victim.held);
	CHECK_EQ_INT(cells_skipped(), 1);
	memset(victim.buf.mem + 32, 0x11, 8);
	check_signal(victim.holder);
	check_await(victim.holder);
	answer_messages();
	CHECK_EQ_INT(cells_skipped(), 0);
	for (int i = 32; i < 40; i++)
		CHECK_EQ_INT(victim.buf.mem[i], 0x11);
	answer_messages();
	API_EMPTY(victim.recv);
	check_signal(victim.holder);
	check_join(victim.holder);
	end_all();
}

static void cell_that_is_skipped_stops_no_poller(void)
{
	holder_goes_on(POLLS);
}

static void cell_that_is_skipped_stops_no_waiter(void)
{
	holder_goes_on(WAITS);
}

static void cell_that_is_skipped_stops_no_waiter_on_a_cno(void)
{
	holder_goes_on(WAITS_ON_CNO);
}

static bool ring_is_right(void)
{
	const struct soft_cq *cq = &((struct soft_evd *)victim.recv)->cq;

	return cq->ring->tail == cq->head;
}

/*
 * A queue that is found to be empty is looked at more closely after a while, and if nobody polls, the service thread looks at it.
 * What is sent before that may be lost.
 */
static void ring_gets_right(void)
{
	DAT_EVENT event;

	if (victim.way == WAITS_ON_CNO) {
		REQUIRE_SOON(ring_is_right());
		return;
	}
	for (unsigned int i = 0; i < 2 * SOFT_CQ_EMPTY_LOOKS; i++)
		if (dat_evd_dequeue(victim.recv, &event) == DAT_SUCCESS) /* the attacker's connection has ended */
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, HELD);
}

/* Messages arrive, whichever way they are taken. */
static void forgery_stops_nobody(const struct forgery *forgery)
{
	for (enum way way = POLLS; way <= WAITS_ON_CNO; way++) {
		suffer_from(forge, forgery, way);
		if (!forgery->stays)
			check_join(victim.holder);
		if (forgery->laps)
			ring_gets_right();
		answer_messages();
		if (forgery->cells)
			API_CONN_OVER(victim.connect, victim.held);
		answer_messages();
		if (forgery->stays) {
			check_signal(victim.holder);
			check_join(victim.holder);
		}
		if (!forgery->cells)
			API_CONN_OVER(victim.connect, victim.held);
		end_all();
	}
}

static void reservation_of_nobody_stops_nobody(void)
{
	forgery_stops_nobody(&(struct forgery){ .sender_id = 0, .cells = 1 });
	forgery_stops_nobody(&(struct forgery){ .sender_id = 0, .cells = 100 });
	forgery_stops_nobody(&(struct forgery){ .sender_id = NOBODY, .cells = 100 });
}

/* One of these sender IDs is that of the victim's adapter in its own rings; the attacker and the honest peer have 1 and 2. */
static void reservation_of_the_victim_itself_stops_nobody(void)
{
	const struct forgery forgery = { .sender_id = EACH, .cells = 8 };
	struct api_pair pair = { 0 };

	suffer_from(forge, &forgery, POLLS);
	api_pair_make(&pair, NULL);
	check_join(victim.holder);
	answer_messages();
	api_pair_works(&pair, &victim.buf);
	end_all();
}

static void many_reservations_of_one_stop_nobody(void)
{
	forgery_stops_nobody(&(struct forgery){ .sender_id = OWN, .cells = 100, .stays = true });
	forgery_stops_nobody(&(struct forgery){ .sender_id = OWN, .cells = 100 });
}

static void ring_that_was_moved_stops_nobody(void)
{
	forgery_stops_nobody(&(struct forgery){ .laps = -(1 << 23), .stays = true });
	forgery_stops_nobody(&(struct forgery){ .laps = 1 << 23, .stays = true });
}

static void cell_comes_back_when_its_holder_dies(void)
{
	suffer(WAITS);
	answer_messages();
	API_CONN_OVER(victim.connect, victim.held);
	CHECK_EQ_INT(cells_skipped(), 1);
	check_kill(victim.holder);
	answer_messages();
	/* the service thread learns of the death, and frees the cell */
	for (int i = 0; i < 20 && cells_skipped(); i++)
		answer_messages();
	CHECK_EQ_INT(cells_skipped(), 0);
	end_all();
}

static void queue_may_be_freed_while_a_cell_is_skipped(void)
{
	struct api_pair pair = { 0 };

	suffer(POLLS);
	answer_messages();
	API_CONN_OVER(victim.connect, victim.held);
	REQUIRE_DAT(dat_ep_free(victim.held), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_free(victim.honest), DAT_SUCCESS);
	REQUIRE_DAT(dat_evd_free(victim.recv), DAT_SUCCESS);
	api_pair_make(&pair, NULL);
	check_signal(victim.holder);
	check_await(victim.holder);
	for (int i = 0; i < 300; i++)
		api_pair_works(&pair, &victim.buf);
	check_signal(victim.holder);
	check_join(victim.holder);
	api_close();
	check_kill(victim.peer);
}

/* What a peer has sent before it disconnects is received, although it is behind a skipped cell. */
static void last_messages_are_taken_before_the_end(void)
{
	uint32_t none = 0;

	suffer(WAITS);
	for (uint32_t n = 0; n < LAST; n++)
		REQUIRE_DAT(api_recv(victim.honest, &victim.buf, 0, 8, n), DAT_SUCCESS);
	check_put(victim.peer, &none, sizeof(none));
	for (uint32_t n = 0; n < LAST; n++) {
		DAT_EVENT event = next_event();

		if (event.event_data.dto_completion_event_data.user_cookie.as_64 == HELD)
			event = next_event();
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	}
	check_join(victim.peer);
	check_kill(victim.holder);
	api_close();
}

/* A sender that was stopped between the request and the waking does not keep others from waking the service thread. */
static void the_next_request_rings_for_the_service_thread(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET segment;

	memset(&victim, 0, sizeof(victim));
	victim.holder = check_fork(ask_without_a_ring, NULL);
	victim.peer = check_fork(send_long, NULL);
	open_victim(POLLS);
	REQUIRE_DAT(dat_srq_create(api.ia, api.pz, &attr, &victim.srq), DAT_SUCCESS);
	victim.buf = api_buf(LONG, DAT_MEM_PRIV_ALL_FLAG);
	segment = api_seg(&victim.buf, 0, LONG);
	victim.held = accept_one(victim.holder);
	victim.honest = accept_one(victim.peer);
	REQUIRE_DAT(dat_srq_post_recv(victim.srq, 1, &segment, api_cookie(1)), DAT_SUCCESS);
	check_signal(victim.holder);
	check_await(victim.holder);
	check_signal(victim.peer);
	check_await(victim.peer);
	API_DTO(victim.recv, victim.honest, 1, DAT_DTO_SUCCESS, LONG);
	check_signal(victim.peer);
	check_join(victim.peer);
	check_signal(victim.holder);
	check_join(victim.holder);
	api_close();
}

/* The honest peer has sent its messages and gone: they are taken, and not after all that the other one holds up. */
static void last_messages_do_not_wait_for(void (*attack)(void *arg))
{
	uint32_t none = 0;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(seen != MAP_FAILED);
	memset(&victim, 0, sizeof(victim));
	victim.holder = check_fork(attack, NULL);
	victim.peer = check_fork(talk, NULL);
	open_victim(WAITS);
	victim.held = accept_one(victim.holder);
	victim.honest = accept_one(victim.peer);
	for (uint64_t i = 0; i < LATE_CELLS; i++)
		REQUIRE_DAT(api_recv(victim.held, &victim.buf, 32, 8, HELD), DAT_SUCCESS);
	for (uint64_t n = 0; n < LAST; n++)
		REQUIRE_DAT(api_recv(victim.honest, &victim.buf, 0, 8, n), DAT_SUCCESS);
	check_signal(victim.holder);
	check_await(victim.holder);
	check_put(victim.peer, &none, sizeof(none));
	for (uint64_t n = 0; n < LAST;) {
		DAT_EVENT event = next_event();
		const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

		if (dto->user_cookie.as_64 == HELD)
			continue;
		CHECK_EQ_INT(dto->status, DAT_DTO_SUCCESS);
		CHECK_EQ_INT(dto->user_cookie.as_64, n);
		n++;
	}
	CHECK(atomic_load(&seen->cells) < LATE_CELLS / 2);
	atomic_store(&seen->over, true);
	check_signal(victim.holder);
	check_join(victim.holder);
	check_join(victim.peer);
	api_close();
}

static void cells_that_are_each_late_stop_nobody_for_long(void)
{
	last_messages_do_not_wait_for(publish_late);
}

/* The pauses do not make up for what comes before and after them: the attacker's connection ends. */
static void cells_that_are_late_with_pauses_between_cost_the_connection(void)
{
	DAT_EVENT event;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(seen != MAP_FAILED);
	suffer_from(publish_late_with_pauses, NULL, POLLS);
	while (api_state(victim.held) == DAT_EP_STATE_CONNECTED && atomic_load(&seen->cells) < LATE_CELLS)
		if (dat_evd_dequeue(victim.recv, &event) == DAT_SUCCESS) /* the attacker's connection has ended */
			CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, HELD);
	CHECK(atomic_load(&seen->cells) < LATE_CELLS);
	API_CONN_OVER(victim.connect, victim.held);
	answer_messages();
	atomic_store(&seen->over, true);
	check_signal(victim.holder);
	check_join(victim.holder);
	end_all();
}

static void messages_that_are_each_late_stop_nobody_for_long(void)
{
	last_messages_do_not_wait_for(execute_late);
}

/* Returns true if a cell of the queue is skipped that the adapter has for endpoints without a queue for receives. */
static bool own_queue_skips(void)
{
	struct soft_cq *cq = &soft_ia(((struct soft_ep *)victim.held)->base.obj.ia)->null_cq;
	bool skips;

	datp_lock(&cq->lock);
	skips = cq->skipped_count == 1;
	datp_unlock(&cq->lock);
	return skips;
}

static void adapter_may_be_closed_while_a_cell_of_its_own_queue_is_skipped(void)
{
	memset(&victim, 0, sizeof(victim));
	victim.holder = check_fork(hold_a_cell, NULL);
	open_victim(POLLS);
	victim.recv = DAT_HANDLE_NULL;
	victim.held = accept_one(victim.holder);
	check_signal(victim.holder);
	check_await(victim.holder);
	REQUIRE_DAT(dat_ep_disconnect(victim.held, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	/* the adapter's thread has looked at the queue, and again after the bound */
	REQUIRE_SOON(own_queue_skips());
	api_close();
	check_signal(victim.holder);
	check_await(victim.holder);
	check_signal(victim.holder);
	check_join(victim.holder);
}

static const struct check_test tests[] = {
	CHECK_TEST(cell_that_is_skipped_stops_no_poller),
	CHECK_TEST(cell_that_is_skipped_stops_no_waiter),
	CHECK_TEST(cell_that_is_skipped_stops_no_waiter_on_a_cno),
	CHECK_TEST(reservation_of_nobody_stops_nobody),
	CHECK_TEST(reservation_of_the_victim_itself_stops_nobody),
	CHECK_TEST(many_reservations_of_one_stop_nobody),
	CHECK_TEST(ring_that_was_moved_stops_nobody),
	CHECK_TEST(cells_that_are_each_late_stop_nobody_for_long),
	CHECK_TEST(cells_that_are_late_with_pauses_between_cost_the_connection),
	CHECK_TEST(messages_that_are_each_late_stop_nobody_for_long),
	CHECK_TEST(cell_comes_back_when_its_holder_dies),
	CHECK_TEST(queue_may_be_freed_while_a_cell_is_skipped),
	CHECK_TEST(adapter_may_be_closed_while_a_cell_of_its_own_queue_is_skipped),
	CHECK_TEST(last_messages_are_taken_before_the_end),
	CHECK_TEST(the_next_request_rings_for_the_service_thread),
	CHECK_END
};

static const struct check_suite skipped = { .name = "soft skip",
					 .teardown = api_close,
					 .tests = tests };

CHECK_SUITES(&skipped);
