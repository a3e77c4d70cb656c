/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are stopped (SIGSTOP) in the middle of an operation that only programs of DAT 2.0 have, or in a bind, at any
 * instruction; tests/soft/stop_test.c does so with the operations of 1.2. The victim accesses the memory of this side, whose
 * receives are the endpoint's or an SRQ's, in turn. Every call that must return returns, the connection ends with its event,
 * everything that was posted completes, and other connections are not affected. When the victim goes on, it writes to no memory
 * that it may not access any more, and a new peer is served.
 *
 * STOP_ROUNDS is how often each kind of traffic meets each call, each time in the next of the three ways to copy: 1 if it is not
 * set.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "check.h"

#define DEPTH	4u
#define EVENTS	128
#define SIZE	((size_t)1 << 20)
#define OLD	SIZE	      /* where my.out takes the old values of atomic operations, */
#define PONG	(SIZE + 64)   /* and answers: neither is sent at the same time */
#define ROOM	(SIZE + 4096) /* of each piece of memory */
#define PATTERN 77
#define STEADY	((uint64_t)1 << 32) /* the cookies of operations over the other connections */
#define BIND	((uint64_t)2 << 32) /* the cookies of binds */
#define RIGHTS	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
#define NONE	DAT_COMPLETION_DEFAULT_FLAG

/* What a victim does until it is stopped. */
enum traffic {
	ADDS,	    /* fetch-and-add to a word of this side */
	SWAPS,	    /* compare-and-swap of it */
	IMMEDIATE,  /* RDMA writes with immediate data */
	SENDS,	    /* messages; this side binds its RMR again and again meanwhile, and the victim binds one of its own */
	INVALIDATE, /* messages that invalidate the RMR of this side, which binds it anew each time */
	TO_RMR,	    /* RDMA reads from this side into an RMR of the victim */
	THROUGH,    /* RDMA writes through the RMR of this side */
	TRAFFICS
};

/* What must return. */
enum call {
	ABRUPT,	  /* dat_ep_disconnect */
	GRACEFUL, /* dat_ep_disconnect, graceful and then abrupt */
	USED,	  /* dat_lmr_free of the memory that the victim accesses */
	UNBIND,	  /* a bind of the RMR to nothing, over another connection */
	RMR,	  /* dat_rmr_free */
	POST,	  /* posts of each kind, as many as there is room for */
	FREE,	  /* dat_ep_free, and with an SRQ dat_srq_free */
	RESET,	  /* dat_ep_disconnect, dat_ep_reset */
	CLOSE,	  /* dat_ia_close, abrupt */
	CALLS
};
static const char *const names[CALLS] = { "disconnect abruptly", "disconnect gracefully", "free memory", "unbind", "free an RMR",
					  "post", "free the endpoint", "reset", "close" };

/* What a side lets the other one access. */
struct place {
	DAT_CONN_QUAL qual;
	DAT_RMR_CONTEXT region, rmr;
	DAT_VADDR address;
};

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, recv, request, connect, requests;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_HANDLE lmr, source;
	DAT_LMR_CONTEXT local, source_local;
	DAT_RMR_HANDLE rmr;
	unsigned char *mem, *out; /* what the other side may access; what this side sends */
	struct place place;
	/* of the connection with the victim: operations that have not completed */
	DAT_EP_HANDLE ep;
	uint32_t posted, received, pongs, bound;
	bool rebind; /* a peer has invalidated the RMR */
	bool told;   /* a message has been received and not looked at */
} my;

static unsigned int seed = 1;
static const char *adapter;
static enum { BY_SYSTEM_CALLS, BY_BOUNCE, BY_MAPPINGS, WAYS } way; /* how the sides copy */

/* ------------------------------------------------------------------ both sides */

static DAT_DTO_COOKIE cookie_of(uint64_t number)
{
	return (DAT_DTO_COOKIE){ .as_64 = number };
}

static DAT_TIMEOUT patience(void)
{
	return check_patience_ms() * 1000;
}

static DAT_EVD_HANDLE evd(DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE made = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_evd_create(my.ia, EVENTS, DAT_HANDLE_NULL, flags, &made), DAT_SUCCESS);
	return made;
}

static unsigned char *memory(void)
{
	bool shared = way == BY_MAPPINGS;
	int fd = shared ? memfd_create("stop", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	void *mem;

	REQUIRE(!shared || (ftruncate(fd, (off_t)ROOM) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0));
	mem = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	REQUIRE(mem != MAP_FAILED); /* the descriptor stays open, because a peer finds the file by it */
	return mem;
}

static DAT_LMR_HANDLE region(unsigned char *mem, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION place = { .for_va = mem };
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;

	REQUIRE_DAT(dat_lmr_create(my.ia, DAT_MEM_TYPE_VIRTUAL, place, ROOM, my.pz,
				   (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC), DAT_VA_TYPE_VA,
				   &lmr, local, remote, NULL, NULL),
		    DAT_SUCCESS);
	return lmr;
}

static void open_side(void)
{
	DAT_RMR_CONTEXT unused;

	memset(&my, 0, sizeof(my));
	REQUIRE_DAT(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &my.async, &my.ia), DAT_SUCCESS);
	REQUIRE_DAT(dat_pz_create(my.ia, &my.pz), DAT_SUCCESS);
	my.recv = evd((DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | (int)DAT_IB_EVD_EXTENSION_FLAG));
	my.request = evd((DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | (int)DAT_IB_EVD_EXTENSION_FLAG));
	my.connect = evd(DAT_EVD_CONNECTION_FLAG);
	my.requests = evd(DAT_EVD_CR_FLAG);
	my.mem = memory();
	my.out = memory();
	my.lmr = region(my.mem, &my.local, &my.place.region);
	my.source = region(my.out, &my.source_local, &unused);
	my.place.address = (DAT_VADDR)(uintptr_t)my.mem;
	REQUIRE_DAT(dat_rmr_create(my.pz, &my.rmr), DAT_SUCCESS);
}

static void close_side(void)
{
	if (my.ia)
		CHECK_DAT(dat_ia_close(my.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	my.ia = DAT_HANDLE_NULL;
	if (my.mem)
		munmap(my.mem, ROOM);
	if (my.out)
		munmap(my.out, ROOM);
	my.mem = my.out = NULL;
}

static DAT_EP_HANDLE endpoint(DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = SIZE,
			     .max_rdma_size = SIZE,
			     .max_recv_dtos = srq ? 0 : DEPTH,
			     .max_request_dtos = 2 * DEPTH,
			     .max_recv_iov = 1,
			     .max_request_iov = 1,
			     .max_rdma_read_in = DEPTH,
			     .max_rdma_read_out = DEPTH,
			     .max_rdma_read_iov = 1,
			     .max_rdma_write_iov = 1 };
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	if (srq)
		REQUIRE_DAT(dat_ep_create_with_srq(my.ia, my.pz, my.recv, my.request, my.connect, srq, &attr, &ep), DAT_SUCCESS);
	else
		REQUIRE_DAT(dat_ep_create(my.ia, my.pz, my.recv, my.request, my.connect, &attr, &ep), DAT_SUCCESS);
	return ep;
}

static DAT_EVENT_NUMBER next_connection_event(DAT_EP_HANDLE ep)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	REQUIRE_DAT(dat_evd_wait(my.connect, patience(), 1, &event, &more), DAT_SUCCESS);
	CHECK(event.event_data.connect_event_data.ep_handle == ep);
	return event.event_number;
}

static void connect_to(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	DAT_IA_ATTR attr;

	REQUIRE_DAT(dat_ia_query(my.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_connect(ep, attr.ia_address_ptr, qual, patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	REQUIRE_EQ_INT(next_connection_event(ep), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void accept_on(DAT_EP_HANDLE ep)
{
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	REQUIRE_DAT(dat_evd_wait(my.requests, patience(), 1, &event, &more), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL), DAT_SUCCESS);
	REQUIRE_EQ_INT(next_connection_event(ep), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	CHECK_DAT(dat_ep_get_status(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
	return state;
}

/* ------------------------------------------------------------------ operations */

static DAT_LMR_TRIPLET piece(size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)my.out + offset,
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .lmr_context = my.source_local };
}

static DAT_LMR_TRIPLET sink(size_t length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = my.place.address,
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .lmr_context = my.local };
}

static DAT_RMR_TRIPLET range(const struct place *there, DAT_RMR_CONTEXT context, size_t length)
{
	return (DAT_RMR_TRIPLET){ .virtual_address = there->address,
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .rmr_context = context };
}

static DAT_RETURN bind_rmr(DAT_EP_HANDLE over, size_t length)
{
	DAT_LMR_TRIPLET where = sink(length);
	DAT_RMR_COOKIE cookie = { .as_64 = BIND };

	return dat_rmr_bind(my.rmr, my.lmr, &where, RIGHTS, DAT_VA_TYPE_VA, over, cookie, NONE, &my.place.rmr);
}

static DAT_RETURN post(enum traffic traffic, const struct place *there)
{
	DAT_LMR_TRIPLET word = piece(OLD, 8), all = piece(0, SIZE);
	DAT_RMR_TRIPLET far_word = range(there, there->region, 8), far = range(there, there->region, SIZE);
	DAT_RMR_TRIPLET through = range(there, there->rmr, SIZE), near = range(&my.place, my.place.rmr, SIZE);

	switch (traffic) {
	case ADDS:
		return dat_ib_post_fetch_and_add(my.ep, 1, &word, cookie_of(0), &far_word, NONE);
	case SWAPS:
		return dat_ib_post_cmp_and_swap(my.ep, 1, 2, &word, cookie_of(0), &far_word, NONE);
	case IMMEDIATE:
		return dat_ib_post_rdma_write_immed(my.ep, 1, &all, cookie_of(0), &far, 7, NONE);
	case INVALIDATE:
		return dat_ep_post_send_with_invalidate(my.ep, 1, &all, cookie_of(0), NONE, DAT_TRUE, there->rmr);
	case TO_RMR:
		return dat_ep_post_rdma_read_to_rmr(my.ep, &near, cookie_of(0), &far, NONE);
	case THROUGH:
		return dat_ep_post_rdma_write(my.ep, 1, &all, cookie_of(0), &through, NONE);
	default:
		return dat_ep_post_send(my.ep, 1, &all, cookie_of(0), NONE);
	}
}

static void post_if_room(enum traffic traffic, const struct place *there)
{
	if (my.posted < DEPTH && post(traffic, there) == DAT_SUCCESS)
		my.posted++;
}

/* With an SRQ, the receives that are left when the connection ends stay there. */
static void receive_if_room(void)
{
	DAT_LMR_TRIPLET into = sink(SIZE);

	if (my.received < DEPTH && (my.srq ? dat_srq_post_recv(my.srq, 1, &into, cookie_of(0))
					   : dat_ep_post_recv(my.ep, 1, &into, cookie_of(0), NONE)) == DAT_SUCCESS)
		my.received++;
}

static void took_request(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		my.bound--;
	else if (dto->user_cookie.as_64 == 0)
		my.posted--;
	else if (dto->status == DAT_DTO_SUCCESS)
		my.pongs++;
}

static void took_receive(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (dto->user_cookie.as_64 == 0)
		my.received--;
	else if (dto->status == DAT_DTO_SUCCESS)
		my.pongs++;
	my.told = my.told || (dto->user_cookie.as_64 == 0 && dto->status == DAT_DTO_SUCCESS);
	if (dto->status == DAT_DTO_SUCCESS && event->event_number == DAT_DTO_COMPLETION_EVENT && dto->rmr_context)
		my.rebind = true;
}

static void take(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(my.request, &event) == DAT_SUCCESS)
		took_request(&event);
	while (dat_evd_dequeue(my.recv, &event) == DAT_SUCCESS)
		took_receive(&event);
}

static bool bind_completes(void)
{
	take();
	return my.bound == 0;
}

/* ------------------------------------------------------------------ the peers */

/*
 * Makes traffic until the connection is over, and reports that. The RMR of the other side gets a new context with each bind: each
 * message of the other side begins with the context that is to be invalidated next, and the other side sends the next one when this
 * has been done.
 */
static void attack_once(enum traffic traffic, struct place *there)
{
	if (traffic == INVALIDATE && (!my.told || my.posted == DEPTH))
		return;
	if (traffic == INVALIDATE)
		memcpy(&there->rmr, my.mem, sizeof(there->rmr));
	my.told = false;
	if (traffic == SENDS && !my.bound && bind_rmr(my.ep, SIZE) == DAT_SUCCESS)
		my.bound++;
	post_if_room(traffic, there);
}

static void victim(void *arg)
{
	enum traffic traffic = *(const enum traffic *)arg;
	struct place there;
	DAT_CONN_QUAL qual;

	check_get(CHECK_PARENT, &qual, sizeof(qual));
	open_side();
	check_put(CHECK_PARENT, &my.place, sizeof(my.place));
	my.ep = endpoint(DAT_HANDLE_NULL);
	receive_if_room();
	connect_to(my.ep, qual);
	if (traffic == TO_RMR) {
		REQUIRE_DAT(bind_rmr(my.ep, SIZE), DAT_SUCCESS);
		my.bound++;
		REQUIRE_SOON(bind_completes());
	}
	check_get(CHECK_PARENT, &there, sizeof(there));
	while (state_of(my.ep) == DAT_EP_STATE_CONNECTED) {
		attack_once(traffic, &there);
		receive_if_room();
		take();
	}
	check_signal(CHECK_PARENT);
	close_side();
}

/* Answers each message, and lets the other side add to a word. */
static void answer(void *arg)
{
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep;
	DAT_EVENT event = { 0 };
	DAT_COUNT more;

	(void)arg;
	check_get(CHECK_PARENT, &qual, sizeof(qual));
	open_side();
	check_put(CHECK_PARENT, &my.place, sizeof(my.place));
	ep = endpoint(DAT_HANDLE_NULL);
	for (unsigned int i = 0; i < DEPTH; i++) {
		DAT_LMR_TRIPLET into = sink(64);

		REQUIRE_DAT(dat_ep_post_recv(ep, 1, &into, cookie_of(1), NONE), DAT_SUCCESS);
	}
	connect_to(ep, qual);
	while (dat_evd_wait(my.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more) == DAT_SUCCESS &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
		DAT_LMR_TRIPLET into = sink(64), pong = piece(0, 64);

		REQUIRE_DAT(dat_ep_post_recv(ep, 1, &into, cookie_of(1), NONE), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_post_send(ep, 1, &pong, cookie_of(1), DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	}
	close_side();
}

/* ------------------------------------------------------------------ this side */

/* A peer that is never stopped. */
struct friendly {
	pid_t pid;
	DAT_EP_HANDLE ep;
	struct place there;
};

static bool has_ponged(uint32_t many)
{
	take();
	return my.pongs == many;
}

/* A message is answered, and an atomic operation made, whatever the victim does. */
static void ping(const struct friendly *with)
{
	DAT_LMR_TRIPLET from = piece(0, 64), into = piece(PONG, 64), word = piece(OLD, 8);
	DAT_RMR_TRIPLET there = range(&with->there, with->there.region, 8);
	uint32_t before = my.pongs;

	there.virtual_address += 512;
	REQUIRE_DAT(dat_ep_post_recv(with->ep, 1, &into, cookie_of(STEADY), NONE), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_post_send(with->ep, 1, &from, cookie_of(STEADY), DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	REQUIRE_DAT(dat_ib_post_fetch_and_add(with->ep, 3, &word, cookie_of(STEADY), &there, NONE), DAT_SUCCESS);
	CHECK_SOON(has_ponged(before + 2));
}

static void meet(struct friendly *one)
{
	check_put(one->pid, &my.place.qual, sizeof(my.place.qual));
	check_get(one->pid, &one->there, sizeof(one->there));
	one->ep = endpoint(DAT_HANDLE_NULL);
	accept_on(one->ep);
	ping(one);
}

struct round {
	enum traffic traffic;
	enum call call;
	pid_t pid;
	struct friendly steady, late;
	struct place there; /* the victim's */
};

/* Opens this side, and connects with the steady peer and with the victim. */
static void round_open(struct round *r, bool with_srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = DEPTH, .max_recv_iov = 1 };

	open_side();
	REQUIRE_DAT(dat_psp_create_any(my.ia, &my.place.qual, my.requests, DAT_PSP_CONSUMER_FLAG, &my.psp), DAT_SUCCESS);
	meet(&r->steady);
	if (with_srq)
		REQUIRE_DAT(dat_srq_create(my.ia, my.pz, &attr, &my.srq), DAT_SUCCESS);
	my.ep = endpoint(my.srq);
	for (unsigned int i = 0; i < DEPTH; i++)
		receive_if_room();
	check_put(r->pid, &my.place.qual, sizeof(my.place.qual));
	check_get(r->pid, &r->there, sizeof(r->there));
	accept_on(my.ep);
	REQUIRE_DAT(bind_rmr(my.ep, SIZE), DAT_SUCCESS);
	my.bound++;
	REQUIRE_SOON(bind_completes());
	check_put(r->pid, &my.place, sizeof(my.place));
	my.rebind = r->traffic == INVALIDATE;
}

/* Tells the victim the context of the RMR, in a message. */
static void tell_context(void)
{
	DAT_LMR_TRIPLET from = piece(0, sizeof(my.place.rmr));

	memcpy(my.out, &my.place.rmr, sizeof(my.place.rmr));
	if (my.posted < DEPTH && dat_ep_post_send(my.ep, 1, &from, cookie_of(0), NONE) == DAT_SUCCESS)
		my.posted++;
}

static void go_on(struct round *r)
{
	receive_if_room();
	if (r->traffic == INVALIDATE) {
		if (my.rebind && my.posted < DEPTH && !my.bound && bind_rmr(my.ep, SIZE) == DAT_SUCCESS) {
			my.bound++;
			my.rebind = false;
			tell_context();
		}
	} else if (r->traffic == SENDS) {
		if (!my.bound && bind_rmr(my.ep, SIZE) == DAT_SUCCESS)
			my.bound++;
	} else {
		post_if_room(rand_r(&seed) % 2 ? ADDS : SWAPS, &r->there);
	}
	take();
}

/* Exchanges data with the victim for up to 60 ms, and then stops it. */
static void live(struct round *r)
{
	uint64_t until = check_now_ms() + rand_r(&seed) % 60;

	do
		go_on(r);
	while (check_now_ms() < until);
	check_stop(r->pid);
}

static void post_all(struct round *r)
{
	for (unsigned int i = 0; i < 3 * DEPTH; i++) {
		post_if_room((enum traffic)(i % 3), &r->there);
		receive_if_room();
		take();
	}
}

/* Waits for the event of the end, and for the completions of everything that was posted. */
static bool all_completed(void)
{
	take();
	return my.posted == 0 && my.bound == 0 && (my.srq || my.received == 0);
}

static void over(void)
{
	DAT_EVENT_NUMBER number = next_connection_event(my.ep);

	CHECK(number == DAT_CONNECTION_EVENT_DISCONNECTED || number == DAT_CONNECTION_EVENT_BROKEN);
	CHECK_SOON(all_completed());
	CHECK_EQ_INT(my.posted, 0);
	CHECK_EQ_INT(my.bound, 0);
	CHECK(my.srq || my.received == 0);
}

/* Makes the call. The connection may have ended afterwards. */
static void make_call(struct round *r)
{
	switch (r->call) {
	case GRACEFUL:
		CHECK_DAT(dat_ep_disconnect(my.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
		break;
	case USED:
		CHECK_DAT(dat_rmr_free(my.rmr), DAT_SUCCESS); /* the memory is bound */
		CHECK_DAT(dat_lmr_free(my.lmr), DAT_SUCCESS);
		break;
	case UNBIND:
		REQUIRE_DAT(bind_rmr(r->steady.ep, 0), DAT_SUCCESS);
		my.bound++;
		CHECK_SOON(bind_completes() || state_of(my.ep) != DAT_EP_STATE_CONNECTED);
		break;
	case RMR:
		CHECK_DAT(dat_rmr_free(my.rmr), DAT_SUCCESS);
		break;
	case POST:
		post_all(r);
		break;
	default:
		break;
	}
}

/* The end of its connection may have an event, as programs of 2.0 expect. */
static void free_endpoint(void)
{
	DAT_EVENT event;

	CHECK_DAT(dat_ep_free(my.ep), DAT_SUCCESS);
	while (dat_evd_dequeue(my.connect, &event) == DAT_SUCCESS)
		CHECK(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED || event.event_number == DAT_CONNECTION_EVENT_BROKEN);
	if (my.srq)
		CHECK_DAT(dat_srq_free(my.srq), DAT_SUCCESS);
}

/* The memory belongs to this side alone: the victim goes on, and does not write there. */
static void goes_on(struct round *r)
{
	memset(my.mem, PATTERN, SIZE);
	REQUIRE(kill(r->pid, SIGCONT) == 0);
	check_await(r->pid);
	for (size_t i = 0; i < SIZE; i++)
		if (my.mem[i] != PATTERN) {
			CHECK_FAIL("byte %zu has been written to after the end", i);
			break;
		}
	check_join(r->pid);
}

static void finish(struct round *r, bool cont)
{
	if (r->call == CLOSE)
		return;
	if (r->call == FREE) {
		free_endpoint();
	} else {
		make_call(r);
		ping(&r->steady);
		(void)dat_ep_disconnect(my.ep, DAT_CLOSE_ABRUPT_FLAG);
		over();
	}
	if (r->call == RESET)
		CHECK_DAT(dat_ep_reset(my.ep), DAT_SUCCESS);
	ping(&r->steady);
	if (cont)
		goes_on(r);
	else
		check_kill(r->pid);
	ping(&r->steady);
	meet(&r->late);
}

static void one_round(enum traffic traffic, enum call call, bool with_srq, bool cont)
{
	struct round r = { .traffic = traffic, .call = call };
	uint64_t began;

	r.steady.pid = check_fork(answer, NULL);
	r.late.pid = check_fork(answer, NULL);
	r.pid = check_fork(victim, &traffic);
	round_open(&r, with_srq);
	live(&r);
	began = check_now_ms();
	finish(&r, cont);
	close_side();
	if (check_now_ms() - began >= check_patience_ms())
		CHECK_FAIL("traffic %d: it took %llu ms to %s", (int)traffic, (unsigned long long)(check_now_ms() - began),
			   names[call]);
	if (call == CLOSE) {
		check_kill(r.pid);
		check_kill(r.late.pid);
	} else {
		check_join(r.late.pid);
	}
	check_join(r.steady.pid);
}

static void campaign(enum traffic traffic)
{
	const char *text = getenv("STOP_ROUNDS");
	int rounds = text ? atoi(text) : 1;

	for (int i = 0; i < rounds; i++)
		for (int call = 0; call < CALLS; call++) {
			if (((unsigned int)i + traffic + (unsigned int)call) % WAYS != way)
				continue;
			one_round(traffic, (enum call)call, (i / 3 + (int)traffic) % 2, (i + call / 3) % 2 == 0);
			check_alive();
		}
}

static void adder_that_is_stopped_holds_up_nobody(void)
{
	campaign(ADDS);
}

static void swapper_that_is_stopped_holds_up_nobody(void)
{
	campaign(SWAPS);
}

static void writer_of_immediate_data_that_is_stopped_holds_up_nobody(void)
{
	campaign(IMMEDIATE);
}

static void sender_that_binds_and_is_stopped_holds_up_nobody(void)
{
	campaign(SENDS);
}

static void sender_that_invalidates_and_is_stopped_holds_up_nobody(void)
{
	campaign(INVALIDATE);
}

static void reader_into_an_rmr_that_is_stopped_holds_up_nobody(void)
{
	campaign(TO_RMR);
}

static void writer_through_an_rmr_that_is_stopped_holds_up_nobody(void)
{
	campaign(THROUGH);
}

static void by_system_calls(void)
{
	adapter = "soft-hasty";
	way = BY_SYSTEM_CALLS;
}

static void by_bounce(void)
{
	adapter = "soft-hasty-bounce";
	way = BY_BOUNCE;
}

/* The memory is a file that the other side maps. */
static void by_mappings(void)
{
	adapter = "soft-hasty";
	way = BY_MAPPINGS;
}

static const struct check_test tests[] = {
	CHECK_TEST(adder_that_is_stopped_holds_up_nobody),
	CHECK_TEST(swapper_that_is_stopped_holds_up_nobody),
	CHECK_TEST(writer_of_immediate_data_that_is_stopped_holds_up_nobody),
	CHECK_TEST(sender_that_binds_and_is_stopped_holds_up_nobody),
	CHECK_TEST(sender_that_invalidates_and_is_stopped_holds_up_nobody),
	CHECK_TEST(reader_into_an_rmr_that_is_stopped_holds_up_nobody),
	CHECK_TEST(writer_through_an_rmr_that_is_stopped_holds_up_nobody),
	CHECK_END
};
static const struct check_suite calls = {
	.name = "stop 2.0, system calls", .setup = by_system_calls, .teardown = close_side, .tests = tests
};
static const struct check_suite bounced = {
	.name = "stop 2.0, bounce path", .setup = by_bounce, .teardown = close_side, .tests = tests
};
static const struct check_suite mappings = {
	.name = "stop 2.0, mappings", .setup = by_mappings, .teardown = close_side, .tests = tests
};

CHECK_SUITES(&calls, &bounced, &mappings);
