/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends that invalidate an RMR of the peer, and RDMA Reads into an RMR, between two processes. The child has the RMRs and the
 * receives, and does what the parent orders over a socket; the parent sends, reads, and tries what it has no right to. The
 * adapter is that of OPENDAT_TEST_IA, or else soft0. One that does not have these operations has to refuse them.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/pair20.h"

enum { SIZE = 1 << 23, WINDOW = SIZE / 2, LONG = SIZE / 4, EPS = 2, ROUNDS = 50 };
#define RIGHTS (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define NONE   DAT_COMPLETION_DEFAULT_FLAG

static struct side {
	DAT_PZ_HANDLE other_pz;
	DAT_EP_HANDLE ep[EPS];
	DAT_LMR_HANDLE lmr, part;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_RMR_HANDLE rmr;
	DAT_CONN_QUAL qual;
	uintptr_t memory;
} me, peer;

static char memory[SIZE];
/* ------------------------------------------------------------------ both sides */

static DAT_LMR_HANDLE region(size_t at, size_t size, DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION place = { .for_va = memory + at };
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;

	SUCCEEDS(dat_lmr_create(my.ia, DAT_MEM_TYPE_VIRTUAL, place, size, my.pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr,
				local, remote, NULL, NULL));
	return lmr;
}

static void open_side(void)
{
	pair_open(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	SUCCEEDS(dat_pz_create(my.ia, &me.other_pz));
	me.lmr = region(0, SIZE, &me.local, &me.remote);
	SUCCEEDS(dat_rmr_create(my.pz, &me.rmr));
	me.memory = (uintptr_t)memory;
}

static DAT_LMR_TRIPLET piece(size_t at, size_t length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)&memory[at],
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .lmr_context = me.local };
}

static DAT_RMR_TRIPLET range(uintptr_t base, size_t at, size_t length, DAT_RMR_CONTEXT context)
{
	return (DAT_RMR_TRIPLET){ .virtual_address = (DAT_VADDR)(base + at),
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .rmr_context = context };
}

/* Waits for the next completion of this side, and looks at its status, operation, and cookie. */
static void completes(DAT_DTO_COMPLETION_STATUS status, DAT_DTOS operation, DAT_UINT64 cookie)
{
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	wait_for(my.dto, &event);
	expect(event.event_number == DAT_DTO_COMPLETION_EVENT, "the event is no completion of a DTO");
	expect(dto->status == status, "the status is another");
	expect(dto->operation == operation && dto->user_cookie.as_64 == cookie, "another operation has completed");
	expect(status != DAT_DTO_SUCCESS || !dto->rmr_context, "a request has invalidated something");
	if (differs)
		printf("# status %d, operation %d, cookie %llu, RMR 0x%x\n", dto->status, dto->operation,
		       (unsigned long long)dto->user_cookie.as_64, dto->rmr_context);
}

static DAT_RMR_CONTEXT bind_at(DAT_RMR_HANDLE rmr, int which, size_t at, size_t length, DAT_MEM_PRIV_FLAGS rights,
			       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET where = piece(at, length);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context = 0;
	DAT_EVENT event;

	SUCCEEDS(dat_rmr_bind(rmr, me.lmr, &where, rights, DAT_VA_TYPE_VA, me.ep[which], cookie, flags, &context));
	if (flags)
		return context;
	wait_for(my.dto, &event);
	expect(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT &&
		       event.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS,
	       "the RMR is not bound");
	return context;
}

/* ------------------------------------------------------------------ the child */

/*
 * What the parent orders the child to do, for the endpoint `which`:
 *
 *	a	accept a connection, after posting `rights` receives of `length` bytes, to a new SRQ if `flags` is not 0
 *	p	post a receive of `length` bytes
 *	s	post a send of `length` bytes
 *	x	exchange(), for `length` rounds
 *	b	bind the RMR to a range, with these rights and flags, and answer with the context
 *	e	wait for the next completion, and answer with a struct told
 *	w	answer with a struct told of the RMR
 *	m	answer with `length` bytes of the memory
 *	f	free the RMR, and create another
 *	d	wait for the end of the connection, and free the endpoint and the SRQ
 *	q	close the adapter, and exit
 */
struct order {
	char what;
	int which;
	size_t at, length;
	int rights, flags;
};

/* What the child tells of its next completion, or of its RMR: then `number` is 1 if the RMR is bound, else 0. */
struct told {
	int number, operation, status;
	DAT_UINT32 length, context;
	DAT_UINT64 cookie;
};

static void tell_event(void)
{
	DAT_EVENT event;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	struct told told;

	wait_for(my.dto, &event);
	told = (struct told){ (int)event.event_number, (int)dto->operation, (int)dto->status, dto->transfered_length,
			      dto->rmr_context, dto->user_cookie.as_64 };
	put(&told, sizeof(told));
}

static void tell_rmr(void)
{
	DAT_RMR_PARAM param;
	struct told told;

	SUCCEEDS(dat_rmr_query(me.rmr, DAT_RMR_FIELD_ALL, &param));
	told = (struct told){ .number = param.lmr_triplet.lmr_context != 0, .context = param.rmr_context };
	put(&told, sizeof(told));
}

static DAT_SRQ_HANDLE srq;

static DAT_SRQ_HANDLE make_srq(int receives, size_t length)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES, .max_recv_iov = 1 };
	DAT_LMR_TRIPLET sink = piece(0, length);
	DAT_SRQ_HANDLE made = DAT_HANDLE_NULL;

	SUCCEEDS(dat_srq_create(my.ia, my.pz, &attr, &made));
	for (int i = 0; i < receives; i++)
		SUCCEEDS(dat_srq_post_recv(made, 1, &sink, cookie_of(700 + (DAT_UINT64)i)));
	return made;
}

/*
 * Both sides have SRQs and do this at the same time. Each sends a long message that invalidates the other's RMR, and posts a
 * bind of another RMR behind it; each executes the message of the other one.
 */
static void exchange(int rounds)
{
	DAT_LMR_TRIPLET message = piece(0, LONG), where = piece(WINDOW, 256);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT mine = bind_at(me.rmr, 0, WINDOW, 256, RIGHTS, NONE), theirs;
	DAT_RMR_HANDLE rmrs[2] = { DAT_HANDLE_NULL, me.rmr };
	DAT_EVENT event;

	SUCCEEDS(dat_rmr_create(my.pz, &rmrs[0]));
	for (int i = 0; i < rounds && !differs; i++) {
		put(&mine, sizeof(mine));
		get(&theirs, sizeof(theirs));
		SUCCEEDS(dat_ep_post_send_with_invalidate(me.ep[0], 1, &message, cookie_of(1), NONE, DAT_TRUE, theirs));
		SUCCEEDS(dat_rmr_bind(rmrs[i & 1], me.lmr, &where, RIGHTS, DAT_VA_TYPE_VA, me.ep[0], cookie, NONE, &mine));
		for (int n = 0; n < 3; n++) {
			wait_for(my.dto, &event);
			expect(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT
				       ? event.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS
				       : event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS,
			       "a message or a bind has failed");
		}
		SUCCEEDS(dat_srq_post_recv(srq, 1, &message, cookie_of(700)));
	}
	SUCCEEDS(dat_rmr_free(rmrs[0]));
}

static void accept_one(const struct order *order)
{
	DAT_LMR_TRIPLET sink = piece(0, order->length);

	if (order->flags)
		srq = make_srq(order->rights, order->length);
	me.ep[order->which] = pair_endpoint(my.pz, order->flags ? srq : DAT_HANDLE_NULL, SIZE);
	for (int i = 0; i < order->rights && !srq; i++)
		SUCCEEDS(dat_ep_post_recv(me.ep[order->which], 1, &sink, cookie_of(700 + (DAT_UINT64)i), NONE));
	put("r", 1);
	pair_accept(me.ep[order->which]);
}

static void serve_one(const struct order *order)
{
	DAT_LMR_TRIPLET sink = piece(0, order->length);
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	switch (order->what) {
	case 'a':
		accept_one(order);
		break;
	case 'p':
		SUCCEEDS(dat_ep_post_recv(me.ep[order->which], 1, &sink, cookie_of(900), NONE));
		break;
	case 's':
		SUCCEEDS(dat_ep_post_send(me.ep[order->which], 1, &sink, cookie_of(800), DAT_COMPLETION_SUPPRESS_FLAG));
		put("s", 1);
		break;
	case 'x':
		exchange((int)order->length);
		put("x", 1);
		break;
	case 'b':
		context = bind_at(me.rmr, order->which, order->at, order->length, (DAT_MEM_PRIV_FLAGS)order->rights,
				  (DAT_COMPLETION_FLAGS)order->flags);
		put(&context, sizeof(context));
		break;
	case 'e':
		tell_event();
		break;
	case 'w':
		tell_rmr();
		break;
	case 'm':
		put(memory + order->at, order->length);
		break;
	case 'f': /* the RMR is freed, and another takes its place */
		SUCCEEDS(dat_rmr_free(me.rmr));
		SUCCEEDS(dat_rmr_create(my.pz, &me.rmr));
		put("f", 1);
		break;
	case 'd':
		wait_for(my.conn, &event);
		pair_end(me.ep[order->which]);
		if (srq)
			SUCCEEDS(dat_srq_free(srq));
		srq = DAT_HANDLE_NULL;
		put("d", 1);
		break;
	default:
		pair_leave();
	}
}

static void child(void)
{
	struct order order;

	is_child = 1;
	open_side();
	SUCCEEDS(dat_psp_create_any(my.ia, &me.qual, my.requests, DAT_PSP_CONSUMER_FLAG, &my.psp));
	put(&me, sizeof(me));
	get(&peer, sizeof(peer));
	for (;;) {
		get(&order, sizeof(order));
		serve_one(&order);
	}
}

/* ------------------------------------------------------------------ the parent */

static void ask(struct order order, void *answer, size_t size)
{
	put(&order, sizeof(order));
	if (size)
		get(answer, size);
}

/*
 * Creates an endpoint in this PZ and connects it. The peer first posts this number of receives of `length` bytes, to its endpoint,
 * or, if `with_srq` is not 0, to an SRQ that it creates.
 */
static void connect_in(DAT_PZ_HANDLE pz, int which, int receives, size_t length, int with_srq)
{
	char ready;

	me.ep[which] = pair_endpoint(pz, srq, SIZE);
	ask((struct order){ .what = 'a', .which = which, .length = length, .rights = receives, .flags = with_srq }, &ready, 1);
	pair_connect(me.ep[which], peer.qual);
}

static void connect_to(int which)
{
	connect_in(my.pz, which, RECEIVES, 64, 0);
}

static void disconnect(int which)
{
	char over;

	(void)dat_ep_disconnect(me.ep[which], DAT_CLOSE_ABRUPT_FLAG);
	ask((struct order){ .what = 'd', .which = which }, &over, 1);
	pair_end(me.ep[which]);
}

static DAT_RMR_CONTEXT bound_there(int which, DAT_MEM_PRIV_FLAGS rights)
{
	DAT_RMR_CONTEXT context;

	ask((struct order){ 'b', which, WINDOW, 256, (int)rights, 0 }, &context, sizeof(context));
	return context;
}

static DAT_RETURN invalidates(int which, size_t length, DAT_RMR_CONTEXT context, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET message = piece(0, length);

	return dat_ep_post_send_with_invalidate(me.ep[which], 1, &message, cookie_of(cookie), NONE, DAT_TRUE, context);
}

/* Writes through a context of the other side. */
static void write_through(int which, DAT_RMR_CONTEXT context, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET from = piece(64, 16);
	DAT_RMR_TRIPLET to = range(peer.memory, WINDOW + 8, 16, context);

	SUCCEEDS(dat_ep_post_rdma_write(me.ep[which], 1, &from, cookie_of(cookie), &to, NONE));
}

/*
 * Checks that the child's next event is the completion of a receive with this length and cookie. The receive has invalidated this
 * context; if the context is 0, it has invalidated nothing.
 */
static void told_receive(DAT_RMR_CONTEXT context, size_t length, DAT_UINT64 cookie)
{
	struct told told;

	ask((struct order){ .what = 'e' }, &told, sizeof(told));
	expect(told.number == DAT_DTO_COMPLETION_EVENT && told.status == DAT_DTO_SUCCESS, "the message has not arrived");
	expect(told.operation == (int)(context ? DAT_DTO_RECEIVE_WITH_INVALIDATE : DAT_DTO_RECEIVE),
	       "the receive is told as another operation");
	expect(told.context == context, "another context is told");
	expect(told.length == length && told.cookie == cookie, "another message has arrived");
	if (differs)
		printf("# number 0x%x operation %d status %d length %u context 0x%x cookie %llu\n", told.number,
		       told.operation, told.status, told.length, told.context, (unsigned long long)told.cookie);
}

static void told_bound(DAT_RMR_CONTEXT context)
{
	struct told told;

	ask((struct order){ .what = 'w' }, &told, sizeof(told));
	expect(told.context == context && told.number == (context != 0), "the RMR is bound to something else");
}

static int attribute(const char *name)
{
	DAT_PROVIDER_ATTR provider;

	SUCCEEDS(dat_ia_query(my.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
	for (int i = 0; i < provider.num_provider_specific_attr; i++)
		if (!strcmp(provider.provider_specific_attr[i].name, name))
			return !strcmp(provider.provider_specific_attr[i].value, "TRUE");
	expect(0, "there is no such attribute");
	return 0;
}

static void invalidates_once(void)
{
	DAT_RMR_CONTEXT context;

	connect_to(0);
	context = bound_there(0, RIGHTS);
	told_bound(context);
	write_through(0, context, 1);
	completes(DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 1);
	SUCCEEDS(invalidates(0, 32, context, 2));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 2);
	told_receive(context, 32, 700);
	told_bound(0);
	report("a send unbinds an RMR of the peer, whose receive says which");

	context = bound_there(0, RIGHTS);
	write_through(0, context, 3);
	completes(DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 3);
	report("the RMR can be bound anew");

	SUCCEEDS(invalidates(0, 8, context, 4));
	write_through(0, context, 5);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 4);
	completes(DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_RDMA_WRITE, 5);
	disconnect(0);
	report("a write behind such a send does not get through the RMR");
}

/*
 * Messages of lengths that a provider may transfer in different ways, from 0 bytes to a quarter of the memory. Then one that comes
 * before its receive, and one to an RMR whose bind is suppressed.
 */
static void messages_of_each_length(void)
{
	static const size_t lengths[] = { 0, 1, 200, 4096, 70000, SIZE / 4 };
	DAT_RMR_CONTEXT context;
	char there[4096];

	connect_in(my.pz, 0, 6, SIZE / 4, 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t seen = lengths[i] < sizeof(there) ? lengths[i] : sizeof(there);

		for (size_t k = 0; k < lengths[i]; k++)
			memory[k] = (char)(k + i + 1);
		context = bound_there(0, RIGHTS);
		SUCCEEDS(invalidates(0, lengths[i], context, 10 + i));
		told_receive(context, lengths[i], 700 + i);
		completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 10 + i);
		if (seen)
			ask((struct order){ .what = 'm', .at = lengths[i] - seen, .length = seen }, there, seen);
		expect(!memcmp(there, memory + lengths[i] - seen, seen), "the bytes are others");
		told_bound(0);
	}
	report("messages of all lengths invalidate");

	context = bound_there(0, RIGHTS);
	SUCCEEDS(invalidates(0, 16, context, 20));
	ask((struct order){ .what = 'p', .length = 64 }, NULL, 0);
	told_receive(context, 16, 900);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 20);
	told_bound(0);
	report("a message that comes before its receive invalidates when it is received");

	ask((struct order){ .what = 'p', .length = 64 }, NULL, 0);
	ask((struct order){ 'b', 0, WINDOW, 256, RIGHTS, DAT_COMPLETION_SUPPRESS_FLAG }, &context, sizeof(context));
	SUCCEEDS(invalidates(0, 16, context, 21));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 21);
	told_receive(context, 16, 900);
	told_bound(0);
	disconnect(0);
	report("so does one to an RMR whose bind has no event");
}

static void takes_a_receive_of_an_srq(void)
{
	DAT_RMR_CONTEXT context;

	connect_in(my.pz, 0, 3, 4096, 1);
	context = bound_there(0, RIGHTS);
	SUCCEEDS(invalidates(0, 48, context, 1));
	write_through(0, context, 2);
	told_receive(context, 48, 700);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 1);
	completes(DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_RDMA_WRITE, 2);
	told_bound(0);
	disconnect(0);
	report("a message to an SRQ invalidates");
}

/*
 * Each side executes the message of the other one, and waits in it until nobody accesses the memory of the window. It must not
 * wait for the bind behind its own message: the other side executes that, and would wait for this side in the same way.
 */
static void both_sides_have_srqs(void)
{
	char over;

	srq = make_srq(2, LONG);
	connect_in(my.pz, 0, 2, LONG, 1);
	ask((struct order){ .what = 'x', .length = ROUNDS }, NULL, 0);
	exchange(ROUNDS);
	get(&over, 1);
	disconnect(0);
	SUCCEEDS(dat_srq_free(srq));
	srq = DAT_HANDLE_NULL;
	report("two sides with SRQs invalidate at the same time");
}

/* When the message comes, the other side has not reaped the bind of its context. An earlier bind gave the RMR another context. */
static void bind_that_has_not_been_reaped(void)
{
	DAT_LMR_TRIPLET sink = piece(0, LONG);
	DAT_RMR_CONTEXT context;
	char sent;

	connect_to(0);
	bound_there(0, RIGHTS);
	ask((struct order){ .what = 's', .length = LONG }, &sent, 1);
	ask((struct order){ 'b', 0, WINDOW, 256, RIGHTS, DAT_COMPLETION_SUPPRESS_FLAG }, &context, sizeof(context));
	SUCCEEDS(dat_ep_post_recv(me.ep[0], 1, &sink, cookie_of(1), NONE));
	completes(DAT_DTO_SUCCESS, DAT_DTO_RECEIVE, 1);
	SUCCEEDS(invalidates(0, 16, context, 2));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 2);
	/* the child's post reaps the completion of the bind */
	ask((struct order){ .what = 's', .length = 8 }, &sent, 1);
	told_receive(context, 16, 700);
	told_bound(0);
	disconnect(0);
	report("a message to an RMR whose bind is not known to be done");
}

/*
 * Checks that the message with this context fails, and leaves the RMR as it is: bound with the context `bound` over the connection
 * of endpoint 1, or unbound if that is 0.
 */
static void fails_with(DAT_RMR_CONTEXT context, DAT_RMR_CONTEXT bound, const char *name)
{
	SUCCEEDS(invalidates(0, 8, context, 1));
	completes(DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_SEND, 1);
	disconnect(0);
	told_bound(bound);
	if (bound) {
		write_through(1, bound, 2);
		completes(DAT_DTO_SUCCESS, DAT_DTO_RDMA_WRITE, 2);
	}
	report(name);
}

/* Over a connection a side can invalidate only what the peer has bound over that connection. */
static void invalidates_no_more_than_it_was_given(void)
{
	DAT_RMR_CONTEXT context, stale;
	char answer;

	connect_to(1);
	context = bound_there(1, RIGHTS);
	connect_to(0);
	fails_with(context, context, "an RMR that was bound over another connection cannot be invalidated");
	connect_to(0);
	fails_with(peer.remote, context, "a region cannot");
	connect_to(0);
	fails_with(0x7fffffff, context, "a context that never was cannot");
	connect_to(0);
	fails_with(context + 1, context, "nor one that will be");
	connect_to(0);
	stale = bound_there(0, RIGHTS);
	context = bound_there(1, RIGHTS);
	fails_with(stale, context, "nor that of an earlier bind");
	connect_to(0);
	context = bound_there(0, RIGHTS);
	SUCCEEDS(invalidates(0, 8, context, 3));
	told_receive(context, 8, 700);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 3);
	fails_with(context, 0, "nor one a second time");
	connect_to(0);
	context = bound_there(0, RIGHTS);
	ask((struct order){ .what = 'f' }, &answer, 1);
	fails_with(context, 0, "nor that of an RMR which was freed");
	connect_to(0);
	context = bound_there(0, RIGHTS);
	disconnect(0);
	connect_to(0);
	SUCCEEDS(invalidates(0, 8, context, 1));
	completes(DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_SEND, 1);
	disconnect(0);
	told_bound(context);
	disconnect(1);
	report("nor one that was bound over an earlier connection of the endpoint");
}

static void too_long_for_its_receive(void)
{
	DAT_RMR_CONTEXT context;
	struct told told;

	connect_to(0);
	context = bound_there(0, RIGHTS);
	SUCCEEDS(invalidates(0, 65, context, 1));
	completes(DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_SEND, 1);
	ask((struct order){ .what = 'e' }, &told, sizeof(told));
	expect(told.status == DAT_DTO_ERR_LOCAL_LENGTH, "the receive has another status");
	disconnect(0);
	told_bound(context);
	report("a message that is too long for its receive invalidates nothing");
}

/* The RMR is freed before the program takes the receive. */
static void freed_before_it_is_told(void)
{
	DAT_RMR_CONTEXT context;
	char answer;

	connect_to(0);
	context = bound_there(0, RIGHTS);
	SUCCEEDS(invalidates(0, 8, context, 1));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 1);
	ask((struct order){ .what = 'f' }, &answer, 1);
	bound_there(0, RIGHTS);
	told_receive(context, 8, 700);
	disconnect(0);
	report("an RMR that was freed meanwhile");
}

#define REFUSES(call, type, subtype) returns(call, ERROR(type, subtype), #call)

static void refuses_sends(void)
{
	DAT_LMR_TRIPLET three[3] = { piece(0, 1), piece(1, 1), piece(2, 1) }, outside = piece(SIZE - 1, 2);
	DAT_RMR_CONTEXT context;

	connect_to(0);
	context = bound_there(0, RIGHTS);
	REFUSES(dat_ep_post_send_with_invalidate(my.pz, 1, three, cookie_of(1), NONE, DAT_TRUE, context), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 3, three, cookie_of(1), NONE, DAT_TRUE, context),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], -1, three, cookie_of(1), NONE, DAT_TRUE, context),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, NULL, cookie_of(1), NONE, DAT_TRUE, context),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, &outside, cookie_of(1), NONE, DAT_TRUE, context),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, three, cookie_of(1), (DAT_COMPLETION_FLAGS)0x40, DAT_TRUE,
						 context),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, three, cookie_of(1), NONE, DAT_TRUE, 0), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG7);
	told_bound(context);
	report("arguments that are wrong are refused, and nothing is invalidated");

	SUCCEEDS(dat_ep_post_send_with_invalidate(me.ep[0], 2, three, cookie_of(2), NONE, DAT_FALSE, context));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 2);
	told_receive(0, 2, 700);
	told_bound(context);
	report("without the flag it is a send");

	SUCCEEDS(dat_ep_post_send_with_invalidate(me.ep[0], 2, three, cookie_of(3), DAT_COMPLETION_SUPPRESS_FLAG, DAT_TRUE,
						  context));
	told_receive(context, 2, 701);
	SUCCEEDS(dat_ep_post_send(me.ep[0], 1, three, cookie_of(4), NONE));
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 4);
	told_receive(0, 1, 702);
	report("one that succeeds and is suppressed has no event; messages beside it are as ever");
	disconnect(0);
	me.ep[0] = pair_endpoint(my.pz, DAT_HANDLE_NULL, SIZE);
	REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, three, cookie_of(1), NONE, DAT_TRUE, context), DAT_INVALID_STATE,
		DAT_INVALID_STATE_EP_UNCONNECTED);
	pair_end(me.ep[0]);
	report("there has to be a connection");
}

/* ------------------------------------------------------------------ reads into an RMR */

static DAT_RETURN reads(DAT_RMR_CONTEXT context, size_t at, size_t room, size_t length, DAT_UINT64 cookie)
{
	DAT_RMR_TRIPLET sink = range(me.memory, at, room, context), from = range(peer.memory, 0, length, peer.remote);

	return dat_ep_post_rdma_read_to_rmr(me.ep[0], &sink, cookie_of(cookie), &from, NONE);
}

static void reads_into_an_rmr(void)
{
	static const size_t lengths[] = { 0, 1, 300, 70000 };
	DAT_RMR_CONTEXT context;
	static char there[70000];

	connect_to(0);
	context = bind_at(me.rmr, 0, WINDOW, 80000, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NONE);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t length = lengths[i];

		memset(memory + WINDOW, 0x5a, 80000);
		SUCCEEDS(reads(context, WINDOW + 5, length + 3, length, 30 + i));
		completes(DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 30 + i);
		for (size_t k = 0; k < length; k += 10000) {
			size_t step = length - k < 10000 ? length - k : 10000;

			ask((struct order){ .what = 'm', .at = k, .length = step }, there + k, step);
		}
		expect(!memcmp(there, memory + WINDOW + 5, length), "the bytes are others");
		expect(memory[WINDOW + 4] == 0x5a && memory[WINDOW + 5 + length] == 0x5a, "bytes beside them have changed");
	}
	report("a read into an RMR");
}

static void refuses_reads(void)
{
	DAT_RMR_TRIPLET from = range(peer.memory, 0, 16, peer.remote), sink;
	DAT_RMR_CONTEXT context, read_only;
	DAT_RMR_HANDLE other;

	SUCCEEDS(dat_rmr_create(my.pz, &other));
	context = bind_at(me.rmr, 0, WINDOW, 256, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NONE);
	read_only = bind_at(other, 0, WINDOW, 256, DAT_MEM_PRIV_REMOTE_READ_FLAG, NONE);
	sink = range(me.memory, WINDOW, 16, context);
	REFUSES(reads(context, WINDOW + 250, 7, 7, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(reads(context, WINDOW - 1, 8, 8, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(reads(0, WINDOW, 8, 8, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(reads(me.remote, WINDOW, 8, 8, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(reads(context + 1, WINDOW, 8, 8, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	REFUSES(reads(context, WINDOW, 8, 9, 1), DAT_LENGTH_ERROR, 0);
	REFUSES(reads(read_only, WINDOW, 8, 8, 1), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	REFUSES(dat_ep_post_rdma_read_to_rmr(me.ep[0], NULL, cookie_of(1), &from, NONE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG2);
	REFUSES(dat_ep_post_rdma_read_to_rmr(me.ep[0], &sink, cookie_of(1), NULL, NONE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG4);
	REFUSES(dat_ep_post_rdma_read_to_rmr(me.ep[0], &sink, cookie_of(1), &from, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	REFUSES(dat_ep_post_rdma_read_to_rmr(me.rmr, &sink, cookie_of(1), &from, NONE), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_EP);
	report("reads that do not fit are refused: bounds, right, length, arguments");

	connect_in(me.other_pz, 1, 0, 64, 0);
	REFUSES(dat_ep_post_rdma_read_to_rmr(me.ep[1], &sink, cookie_of(1), &from, NONE), DAT_PROTECTION_VIOLATION, 0);
	disconnect(1);
	SUCCEEDS(dat_rmr_free(other));
	report("an RMR of another PZ is refused");

	SUCCEEDS(dat_rmr_bind(me.rmr, DAT_HANDLE_NULL, &(DAT_LMR_TRIPLET){ .segment_length = 0 }, RIGHTS, DAT_VA_TYPE_VA,
			      me.ep[0], (DAT_RMR_COOKIE){ .as_64 = 1 }, DAT_COMPLETION_SUPPRESS_FLAG, &context));
	REFUSES(reads(sink.rmr_context, WINDOW, 8, 8, 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	report("an RMR that was unbound is refused");

	context = bind_at(me.rmr, 0, WINDOW, 256, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NONE);
	sink = range(me.memory, WINDOW, 16, context);
	from.rmr_context = 0x7fffffff;
	SUCCEEDS(dat_ep_post_rdma_read_to_rmr(me.ep[0], &sink, cookie_of(7), &from, NONE));
	completes(DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_RDMA_READ, 7);
	disconnect(0);
	report("the peer's memory is checked as for any read");
}

/*
 * A send waits for its receive. A bind that has been posted waits behind it, and two reads behind the bind. When the reads are
 * executed, the context of the new bind is valid, and that of the earlier one, with which the second read was posted, is not.
 */
static void read_behind_a_bind(void)
{
	DAT_LMR_TRIPLET message = piece(0, SIZE / 4);
	DAT_RMR_CONTEXT first, second;

	connect_in(my.pz, 0, 0, 64, 0);
	first = bind_at(me.rmr, 0, WINDOW, 256, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, NONE);
	SUCCEEDS(dat_ep_post_send(me.ep[0], 1, &message, cookie_of(40), NONE));
	second = bind_at(me.rmr, 0, WINDOW, 128, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_COMPLETION_SUPPRESS_FLAG);
	memset(memory + WINDOW, 0x5a, 16);
	SUCCEEDS(reads(second, WINDOW, 8, 8, 41));
	SUCCEEDS(reads(first, WINDOW + 8, 8, 8, 42));
	ask((struct order){ .what = 'p', .length = SIZE / 4 }, NULL, 0);
	told_receive(0, SIZE / 4, 900);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 40);
	completes(DAT_DTO_SUCCESS, DAT_DTO_RDMA_READ, 41);
	completes(DAT_DTO_ERR_LOCAL_PROTECTION, DAT_DTO_RDMA_READ, 42);
	expect(memory[WINDOW + 8] == 0x5a && memory[WINDOW + 15] == 0x5a, "the failed read has written");
	disconnect(0);
	report("a read is held to what its RMR is bound to when it is executed");
}

static void refuses_all(void)
{
	DAT_LMR_TRIPLET one = piece(0, 8);

	connect_to(0);
	if (!attribute("OPENDAT_SEND_WITH_INVALIDATE")) {
		REFUSES(invalidates(0, 8, 1, 1), DAT_MODEL_NOT_SUPPORTED, 0);
		REFUSES(dat_ep_post_send_with_invalidate(me.ep[0], 1, &one, cookie_of(1), NONE, DAT_FALSE, 0),
			DAT_MODEL_NOT_SUPPORTED, 0);
	}
	if (!attribute("OPENDAT_RDMA_READ_TO_RMR"))
		REFUSES(reads(1, WINDOW, 8, 8, 1), DAT_MODEL_NOT_SUPPORTED, 0);
	SUCCEEDS(dat_ep_post_send(me.ep[0], 1, &one, cookie_of(2), NONE));
	told_receive(0, 8, 700);
	completes(DAT_DTO_SUCCESS, DAT_DTO_SEND, 2);
	disconnect(0);
	report("what the attributes do not promise is refused, and the connection goes on");
}

int main(void)
{
	pid_t pid;

	if (!adapter_choose())
		return 99;
	pid = adapter_fork(SOCK_SEQPACKET, &talk);
	if (pid < 0)
		return 99;
	if (pid == 0)
		child();
	open_side();
	get(&peer, sizeof(peer));
	put(&me, sizeof(me));
	adapter_chosen_end();
	refuses_all();
	if (attribute("OPENDAT_SEND_WITH_INVALIDATE")) {
		invalidates_once();
		messages_of_each_length();
		takes_a_receive_of_an_srq();
		both_sides_have_srqs();
		bind_that_has_not_been_reaped();
		invalidates_no_more_than_it_was_given();
		too_long_for_its_receive();
		freed_before_it_is_told();
		refuses_sends();
	}
	if (attribute("OPENDAT_RDMA_READ_TO_RMR")) {
		reads_into_an_rmr();
		refuses_reads();
		read_behind_a_bind();
	}
	ask((struct order){ .what = 'q' }, NULL, 0);
	return pair_over(pid);
}
