/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The InfiniBand extensions of DAT 2.0 between two processes: RDMA Writes with immediate data, compare-and-swap and
 * fetch-and-add. The parent initiates; the child has the memory and the receives, and does what the parent asks for
 * over a socket. The adapter is that of OPENDAT_TEST_IA, or else soft0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "tests/dat20/pair20.h"

enum { SIZE = 4096, WORD = 2048, ADDS = 300, BUSY_ADDS = 300000 };

/* What a process has: one endpoint at a time, and memory with three kinds of rights. */
static struct side {
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr[3];
	DAT_LMR_CONTEXT local[3];
	DAT_RMR_CONTEXT remote[3];
	DAT_CONN_QUAL qual;
} me;
enum rights { ALL, NO_ATOMICS, READ_ONLY };

static union {
	char bytes[SIZE];
	_Atomic uint64_t words[SIZE / 8];
} memory __attribute__((aligned(SIZE)));

/* ------------------------------------------------------------------ both sides */

static void make_memory(int which, int privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory.bytes };

	SUCCEEDS(dat_lmr_create(my.ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, my.pz, (DAT_MEM_PRIV_FLAGS)privileges,
				DAT_VA_TYPE_VA, &me.lmr[which], &me.local[which], &me.remote[which], NULL, NULL));
}

static void open_side(void)
{
	pair_open(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_IB_EVD_EXTENSION_FLAG);
	make_memory(ALL, DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	make_memory(NO_ATOMICS, DAT_MEM_PRIV_ALL_FLAG);
	make_memory(READ_ONLY, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

static DAT_LMR_TRIPLET piece(enum rights rights, size_t at, size_t length)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)&memory.bytes[at],
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .lmr_context = me.local[rights] };
}

/* Waits for the next event of a DTO, which has to be one of the extension and of this kind. */
static const DAT_IB_EXTENSION_EVENT_DATA *extended(DAT_EVENT *event, DAT_IB_EXT_TYPE type, int operation,
						   DAT_DTO_COMPLETION_STATUS status, DAT_UINT64 cookie)
{
	const DAT_IB_EXTENSION_EVENT_DATA *data = (const void *)event->event_extension_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	wait_for(my.dto, event);
	expect((int)event->event_number == (int)DAT_IB_DTO_EVENT, "the event is not one of the extension");
	expect(event->evd_handle == my.dto && dto->ep_handle == me.ep, "the event names another EVD or endpoint");
	expect(dto->status == status && (int)data->status == (int)status, "the event has another status");
	expect((int)dto->operation == operation, "the event has another operation");
	expect(data->type == type, "the event has another type");
	expect(dto->user_cookie.as_64 == cookie, "the event has another cookie");
	if (differs)
		printf("# number 0x%x, status %d, operation %d, type %d, cookie %llu\n", event->event_number, dto->status,
		       dto->operation, data->type, (unsigned long long)dto->user_cookie.as_64);
	return data;
}

/* The other side, and where its memory is. */
static struct side peer;
static uintptr_t peer_memory;

static void tell_side(void)
{
	uintptr_t at = (uintptr_t)memory.bytes;

	put(&me, sizeof(me));
	put(&at, sizeof(at));
}

static void hear_side(void)
{
	get(&peer, sizeof(peer));
	get(&peer_memory, sizeof(peer_memory));
}

static DAT_RMR_TRIPLET target(enum rights rights, size_t at, size_t length)
{
	return (DAT_RMR_TRIPLET){ .virtual_address = (DAT_VADDR)(peer_memory + at),
				  .segment_length = (DAT_SEG_LENGTH)length,
				  .rmr_context = peer.remote[rights] };
}

/* Adds to the word of the other side; returns the old value. */
static uint64_t add(uint64_t value)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 8, 8);
	DAT_RMR_TRIPLET word = target(ALL, WORD, 8);
	DAT_EVENT event;

	SUCCEEDS(dat_ib_post_fetch_and_add(me.ep, value, &sink, cookie_of(22), &word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, DAT_DTO_SUCCESS, 22);
	return memory.words[1];
}

/* The process has memory that its peers can map, if OPENDAT_TEST_MEMORY is memfd. */
static int is_mapped(void)
{
	const char *kind = getenv("OPENDAT_TEST_MEMORY");

	return kind && strcmp(kind, "memfd") == 0;
}

static void make_mappable(void)
{
	int fd = memfd_create("extension_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	expect(fd >= 0 && ftruncate(fd, SIZE) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0 &&
	       mmap(memory.bytes, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == memory.bytes,
	       "the memory cannot be made a file's");
	close(fd);
}

/* ------------------------------------------------------------------ the child */

static pthread_t adder;

static void *add_often(void *word)
{
	for (int i = 0; i < BUSY_ADDS; i++)
		atomic_fetch_add((_Atomic uint64_t *)word, 1);
	return NULL;
}

static void accept_one(DAT_SRQ_HANDLE srq, int receives)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 64);

	me.ep = pair_endpoint(my.pz, srq, SIZE);
	for (int i = 0; i < receives && srq; i++)
		SUCCEEDS(dat_srq_post_recv(srq, 1, &sink, cookie_of(700 + (DAT_UINT64)i)));
	for (int i = 0; i < receives && !srq; i++)
		SUCCEEDS(dat_ep_post_recv(me.ep, 1, &sink, cookie_of(700 + (DAT_UINT64)i), DAT_COMPLETION_DEFAULT_FLAG));
	put("r", 1);
	pair_accept(me.ep);
}

/* What the peer reports about the next event of its receives. */
struct told {
	int number, operation, type, status;
	DAT_UINT32 length, immediate;
	DAT_UINT64 cookie;
};

static void tell_event(void)
{
	DAT_EVENT event;
	const DAT_IB_EXTENSION_EVENT_DATA *data = (const void *)event.event_extension_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	struct told told;

	wait_for(my.dto, &event);
	told = (struct told){ (int)event.event_number, (int)dto->operation, (int)data->type, (int)dto->status,
			      dto->transfered_length,  data->val.immed.data, dto->user_cookie.as_64 };
	put(&told, sizeof(told));
}

/*
 * Reports the contents of the memory. It reads by atomic accesses: the library's own thread may have executed the
 * operations, and this thread is ordered after that by the parent process, which a sanitizer does not see.
 */
static void tell_memory(void)
{
	uint64_t now[SIZE / 8];

	for (int i = 0; i < SIZE / 8; i++)
		now[i] = atomic_load(&memory.words[i]);
	put(now, SIZE);
}

static void clear_memory(void)
{
	for (int i = 0; i < SIZE / 8; i++)
		atomic_store(&memory.words[i], 0);
}

/* Binds an RMR to the word, with these rights, and tells its context. */
static void bind_word(DAT_MEM_PRIV_FLAGS rights)
{
	DAT_LMR_TRIPLET word = piece(ALL, WORD, 8);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT event;

	SUCCEEDS(dat_rmr_create(my.pz, &rmr));
	SUCCEEDS(dat_rmr_bind(rmr, me.lmr[ALL], &word, rights, DAT_VA_TYPE_VA, me.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
			      &context));
	wait_for(my.dto, &event);
	expect(event.event_number == DAT_RMR_BIND_COMPLETION_EVENT, "the RMR is not bound");
	put(&context, sizeof(context));
}

static void serve(void)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 64);
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_EVENT event;
	char order;

	for (;;) {
		get(&order, 1);
		switch (order) {
		case 'a': /* accept, with receives */
			accept_one(DAT_HANDLE_NULL, RECEIVES);
			break;
		case '0': /* accept, without */
			accept_one(DAT_HANDLE_NULL, 0);
			break;
		case 's': /* accept, with an SRQ */
			SUCCEEDS(dat_srq_create(my.ia, my.pz, &attr, &srq));
			accept_one(srq, 2);
			break;
		case 'p': /* post one receive */
			SUCCEEDS(dat_ep_post_recv(me.ep, 1, &sink, cookie_of(900), DAT_COMPLETION_DEFAULT_FLAG));
			break;
		case 'e':
			tell_event();
			break;
		case 'm':
			tell_memory();
			break;
		case 'c':
			clear_memory();
			put("c", 1);
			break;
		case 'b': /* a thread begins to add to the word */
			if (pthread_create(&adder, NULL, add_often, &memory.words[WORD / 8]))
				exit(95);
			put("b", 1);
			break;
		case 'j':
			pthread_join(adder, NULL);
			put("j", 1);
			break;
		case 'w':
			bind_word(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
			break;
		case 'v':
			bind_word(DAT_MEM_PRIV_REMOTE_READ_FLAG);
			break;
		case 'x':
			put(&(uint64_t){ add(7) }, sizeof(uint64_t));
			break;
		case 'f': /* the connection ends */
			wait_for(my.conn, &event);
			pair_end(me.ep);
			if (srq)
				SUCCEEDS(dat_srq_free(srq));
			srq = DAT_HANDLE_NULL;
			put("f", 1);
			break;
		default:
			pair_leave();
		}
	}
}

static void child(void)
{
	is_child = 1;
	open_side();
	SUCCEEDS(dat_psp_create_any(my.ia, &me.qual, my.requests, DAT_PSP_CONSUMER_FLAG, &my.psp));
	tell_side();
	hear_side();
	serve();
}

/* ------------------------------------------------------------------ the parent */

static void ask(char order, void *answer, size_t size)
{
	put(&order, 1);
	if (size)
		get(answer, size);
}

static void connect_by(char order)
{
	char ready;

	me.ep = pair_endpoint(my.pz, DAT_HANDLE_NULL, SIZE);
	ask(order, &ready, 1);
	pair_connect(me.ep, peer.qual);
}

static void disconnect(void)
{
	char over;

	(void)dat_ep_disconnect(me.ep, DAT_CLOSE_ABRUPT_FLAG);
	ask('f', &over, 1);
	pair_end(me.ep);
}

/* The child's next event is of a receive with immediate data. */
static void told_immediate(DAT_UINT32 immediate, DAT_UINT32 length, DAT_UINT64 cookie)
{
	struct told told;

	ask('e', &told, sizeof(told));
	expect(told.number == (int)DAT_IB_DTO_EVENT && told.operation == DAT_IB_DTO_RECV_IMMED &&
		       told.type == DAT_IB_RDMA_WRITE_IMMED_DATA && told.status == DAT_DTO_SUCCESS,
	       "the receive is not told as one with immediate data");
	expect(told.immediate == immediate, "the immediate data are others");
	expect(told.length == length, "the length is not that of the write");
	expect(told.cookie == cookie, "another receive was taken");
	if (differs)
		printf("# number 0x%x operation %d type %d status %d length %u data 0x%x cookie %llu\n", told.number,
		       told.operation, told.type, told.status, told.length, told.immediate,
		       (unsigned long long)told.cookie);
}

static int is_soft(void)
{
	return strcmp(adapter, "soft0") == 0;
}

static int is_iwarp(void)
{
	return strncmp(adapter, "iwarp", 5) == 0;
}

static int attributes(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	int served = 0;

	SUCCEEDS(dat_ia_query(my.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	expect((attr.extension_supported == DAT_EXTENSION_IB) == !is_iwarp(), "other extensions are supported");
	expect(attr.extension_version == 209, "the extensions have another version");
	for (int i = 0; i < provider.num_provider_specific_attr; i++) {
		const char *name = provider.provider_specific_attr[i].name;

		served += (!strcmp(name, "DAT_EXTENSION_INTERFACE") || !strcmp(name, DAT_IB_ATTR_FETCH_AND_ADD) ||
			   !strcmp(name, DAT_IB_ATTR_CMP_AND_SWAP) || !strcmp(name, DAT_IB_ATTR_IMMED_DATA)) &&
			  !strcmp(provider.provider_specific_attr[i].value, "TRUE");
	}
	expect(provider.rdma_read_lmr_rmr_context_exposure == (is_iwarp() ? DAT_TRUE : DAT_FALSE),
	       "the attribute of what an RDMA Read makes known is another");
	expect(served == (is_iwarp() ? 0 : 4), "the named attributes say something else of the extensions");
	report("the attributes say whether the extensions are there");
	return served == 4;
}

/* iWARP has none of these operations. */
static void refuses_all(void)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 8);
	DAT_RMR_TRIPLET word = target(ALL, WORD, 8);
	DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;

	connect_by('a');
	returns(dat_ib_post_cmp_and_swap(me.ep, 1, 2, &sink, cookie_of(1), &word, none), ERROR(DAT_NOT_IMPLEMENTED, 0),
		"compare-and-swap");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(1), &word, none), ERROR(DAT_NOT_IMPLEMENTED, 0),
		"fetch-and-add");
	returns(dat_ib_post_rdma_write_immed(me.ep, 1, &sink, cookie_of(1), &word, 1, none),
		ERROR(DAT_NOT_IMPLEMENTED, 0), "a write with immediate data");
	disconnect();
	report("an adapter without the extensions refuses them at once");
}

static void fill(size_t at, size_t length, int first)
{
	for (size_t i = 0; i < length; i++)
		memory.bytes[at + i] = (char)(first + (int)i);
}

static void writes(void)
{
	DAT_LMR_TRIPLET two[2] = { piece(ALL, 0, 100), piece(ALL, 512, 156) };
	DAT_RMR_TRIPLET there = target(ALL, 1024, 256);
	char now[SIZE], cleared;
	DAT_EVENT event;

	connect_by('a');
	ask('c', &cleared, 1);
	fill(0, 100, 3);
	fill(512, 156, 103);
	SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 2, two, cookie_of(0x9999), &there, 0x1234abcd, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_SUCCESS, 0x9999);
	expect(event.event_data.dto_completion_event_data.transfered_length == 256, "the write has another length");
	told_immediate(0x1234abcd, 256, 700);
	ask('m', now, SIZE);
	fill(1024, 256, 3);
	expect(!memcmp(now + 1024, &memory.bytes[1024], 256), "the bytes are others");
	expect(!now[1023] && !now[1280] && !now[0], "bytes beside the range have changed");
	report("an RDMA write with immediate data arrives, and takes a receive");

	SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 0, NULL, cookie_of(1), NULL, 7, DAT_COMPLETION_SUPPRESS_FLAG));
	told_immediate(7, 0, 701);
	SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 0, NULL, cookie_of(2), NULL, 8, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_SUCCESS, 2);
	told_immediate(8, 0, 702);
	report("immediate data without bytes; a suppressed completion has no event");
}

/* Messages and writes take the receives in the order in which they were posted. */
static void keeps_order(void)
{
	DAT_LMR_TRIPLET one = piece(ALL, 0, 16);
	DAT_RMR_TRIPLET there = target(ALL, 1024, 16);
	struct told told;
	DAT_EVENT event;

	for (int i = 0; i < 4; i++) {
		if (i % 2)
			SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 1, &one, cookie_of(1), &there, 50 + i,
							      DAT_COMPLETION_SUPPRESS_FLAG));
		else
			SUCCEEDS(dat_ep_post_send(me.ep, 1, &one, cookie_of(1), DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (int i = 0; i < 4; i++) {
		if (i % 2) {
			told_immediate(50 + (DAT_UINT32)i, 16, 703 + (DAT_UINT64)i);
			continue;
		}
		ask('e', &told, sizeof(told));
		expect(told.number == DAT_DTO_COMPLETION_EVENT && told.operation == DAT_DTO_RECEIVE && told.length == 16 &&
			       told.cookie == 703 + (DAT_UINT64)i,
		       "a message is told as something else");
	}
	report("messages and immediate data take the receives in their order");
	disconnect();

	connect_by('0');
	SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 1, &one, cookie_of(5), &there, 77, DAT_COMPLETION_DEFAULT_FLAG));
	ask('p', NULL, 0);
	told_immediate(77, 16, 900);
	extended(&event, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_SUCCESS, 5);
	report("a write with immediate data waits for its receive");
	disconnect();
}

static void uses_an_srq(void)
{
	DAT_LMR_TRIPLET one = piece(ALL, 0, 32);
	DAT_RMR_TRIPLET there = target(ALL, 1024, 32);
	char now[SIZE];
	DAT_EVENT event;

	connect_by('s');
	fill(0, 32, 44);
	for (DAT_UINT32 i = 0; i < 2; i++) {
		SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 1, &one, cookie_of(i), &there, 60 + i, DAT_COMPLETION_DEFAULT_FLAG));
		told_immediate(60 + i, 32, 700 + i);
		extended(&event, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_SUCCESS, i);
	}
	ask('m', now, SIZE);
	expect(!memcmp(now + 1024, &memory.bytes[0], 32), "the bytes are others");
	report("immediate data take a receive of an SRQ");
	disconnect();
}

static uint64_t swap(uint64_t compare, uint64_t with)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 8);
	DAT_RMR_TRIPLET word = target(ALL, WORD, 8);
	DAT_EVENT event;

	SUCCEEDS(dat_ib_post_cmp_and_swap(me.ep, compare, with, &sink, cookie_of(21), &word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_CMP_AND_SWAP, DAT_IB_DTO_CMP_SWAP, DAT_DTO_SUCCESS, 21);
	expect(event.event_data.dto_completion_event_data.transfered_length == 8, "an atomic operation is not 8 bytes");
	return memory.words[0];
}

static uint64_t word_there(void)
{
	uint64_t now[SIZE / 8];

	ask('m', now, SIZE);
	return now[WORD / 8];
}

static void swaps_and_adds(void)
{
	uint64_t old;
	char done;

	connect_by('a');
	ask('c', &done, 1);
	expect(swap(0, 0x123456789abcdef0) == 0, "the old value is another");
	expect(word_there() == 0x123456789abcdef0, "an equal word was not replaced");
	expect(swap(5, 6) == 0x123456789abcdef0 && word_there() == 0x123456789abcdef0, "another word was replaced");
	report("compare-and-swap replaces the word that is equal, and no other");

	expect(add(0x10) == 0x123456789abcdef0 && word_there() == 0x123456789abcdf00, "the sum is another");
	expect(add(UINT64_MAX) == 0x123456789abcdf00 && word_there() == 0x123456789abcdeff, "the sum does not wrap");
	report("fetch-and-add adds in 64 bits");

	atomic_store(&memory.words[WORD / 8], 1000);
	ask('x', &old, sizeof(old));
	expect(old == 1000 && atomic_load(&memory.words[WORD / 8]) == 1007, "the side that accepted cannot add");
	report("the side that accepted adds to the memory of the other");
}

/* The device of a network card may not be atomic in respect of the processor; soft0 is. */
static void adds_beside_the_processor(void)
{
	char done;

	if (!is_soft()) {
		printf("ok %d - fetch-and-add loses no addition of the target's processor # SKIP of soft0 only\n", ++tests);
		return;
	}
	ask('c', &done, 1);
	ask('b', &done, 1);
	for (int i = 0; i < ADDS; i++)
		(void)add(1);
	ask('j', &done, 1);
	expect(word_there() == ADDS + BUSY_ADDS, "an addition was lost");
	report("fetch-and-add loses no addition of the target's processor");
}

static void refuses(void)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 8), small = piece(ALL, 0, 4), three[3] = { sink, sink, sink };
	DAT_RMR_TRIPLET word = target(ALL, WORD, 8), odd = target(ALL, WORD + 4, 8), narrow = target(ALL, WORD, 4);
	DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_EVENT event;

	returns(dat_ib_post_cmp_and_swap(me.ep, 1, 2, NULL, cookie_of(1), &word, none),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5), "no local segment");
	returns(dat_ib_post_cmp_and_swap(me.ep, 1, 2, &sink, cookie_of(1), &odd, none),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7), "a word that is not aligned");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(1), NULL, none),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6), "no remote segment");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(1), &word, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7), "a solicited addition");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &small, cookie_of(1), &word, none), ERROR(DAT_LENGTH_ERROR, 0),
		"a short local segment");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(1), &narrow, none), ERROR(DAT_LENGTH_ERROR, 0),
		"a short remote segment");
	returns(dat_ib_post_rdma_write_immed(me.ep, 3, three, cookie_of(1), &word, 1, none),
		ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), "too many segments");
	returns(dat_ib_post_rdma_write_immed(me.ep, 1, &sink, cookie_of(1), &narrow, 1, none), ERROR(DAT_LENGTH_ERROR, 0),
		"a write beyond its target");
	returns(dat_ib_post_rdma_write_immed(my.pz, 1, &sink, cookie_of(1), &word, 1, none),
		ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP), "a handle of another kind");
	report("a wrong argument is refused, and named");
	disconnect();

	me.ep = pair_endpoint(my.pz, DAT_HANDLE_NULL, SIZE);
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(1), &word, none),
		ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED), "an endpoint without a connection");
	expect(dat_evd_dequeue(my.dto, &event) == DAT_QUEUE_EMPTY, "a refused operation has an event");
	SUCCEEDS(dat_ep_free(me.ep));
	report("an endpoint without a connection refuses");
}

/* A missing right ends the connection, as with any RDMA. */
static void needs_rights(void)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 8);
	DAT_RMR_TRIPLET word = target(NO_ATOMICS, WORD, 8), constant = target(READ_ONLY, WORD, 8);
	uint64_t before;
	DAT_EVENT event;
	struct told told;

	connect_by('a');
	before = word_there();
	SUCCEEDS(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(31), &word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, DAT_DTO_ERR_REMOTE_ACCESS, 31);
	disconnect();
	expect(word_there() == before, "the word has changed");
	report("a region without the right to atomics is left alone");

	connect_by('a');
	SUCCEEDS(dat_ib_post_cmp_and_swap(me.ep, before, 1, &sink, cookie_of(32), &constant, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_CMP_AND_SWAP, DAT_IB_DTO_CMP_SWAP, DAT_DTO_ERR_REMOTE_ACCESS, 32);
	disconnect();
	connect_by('a');
	SUCCEEDS(dat_ib_post_rdma_write_immed(me.ep, 1, &sink, cookie_of(33), &constant, 9, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_RDMA_WRITE_IMMED, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS, 33);
	ask('e', &told, sizeof(told));
	/* a device may take the receive for the write, and report the refusal with it */
	expect(told.cookie == 700 && (is_soft() ? told.status == DAT_DTO_ERR_FLUSHED : told.status != DAT_DTO_SUCCESS),
	       "the receive of a refused write has succeeded");
	expect(word_there() == before, "the word has changed");
	returns(dat_ib_post_fetch_and_add(me.ep, 1, &sink, cookie_of(34), &word, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS,
		"a post after the end");
	extended(&event, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, DAT_DTO_ERR_FLUSHED, 34);
	disconnect();
	report("a region that can only be read is left alone, and takes no receive");
}

/* An RMR with the rights to read and to write gives that to atomic operations, if its region does; of a device it gives none. */
static void goes_through_an_rmr(void)
{
	DAT_LMR_TRIPLET sink = piece(ALL, 0, 8);
	DAT_RMR_TRIPLET word = target(ALL, WORD, 8);
	DAT_EVENT event;
	uint64_t before;

	if (!is_soft()) {
		printf("ok %d - an RMR with both rights lets a peer add, and no other # SKIP of soft0 only\n", ++tests);
		return;
	}
	connect_by('a');
	before = word_there();
	ask('w', &word.rmr_context, sizeof(word.rmr_context));
	SUCCEEDS(dat_ib_post_fetch_and_add(me.ep, 4, &sink, cookie_of(41), &word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, DAT_DTO_SUCCESS, 41);
	expect(memory.words[0] == before && word_there() == before + 4, "the RMR does not lead to the word");
	ask('v', &word.rmr_context, sizeof(word.rmr_context));
	SUCCEEDS(dat_ib_post_fetch_and_add(me.ep, 4, &sink, cookie_of(42), &word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(&event, DAT_IB_FETCH_AND_ADD, DAT_IB_DTO_FETCH_ADD, DAT_DTO_ERR_REMOTE_ACCESS, 42);
	disconnect();
	expect(word_there() == before + 4, "the word has changed");
	report("an RMR with both rights lets a peer add, and no other");
}

/* Nobody in the target has to be awake for an operation on a word that is mapped here. */
static void adds_while_the_target_is_stopped(pid_t pid)
{
	static const char stopped[] = "a target that is stopped holds up no operation on mapped memory";
	uint64_t before;
	int status = 0;
	char done;

	if (!is_mapped()) {
		printf("ok %d - %s # SKIP of OPENDAT_TEST_MEMORY=memfd only\n", ++tests, stopped);
		return;
	}
	ask('c', &done, 1);
	before = add(1);
	kill(pid, SIGSTOP);
	expect(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "the target has ended");
	for (uint64_t i = 1; i <= ADDS && !differs; i++)
		expect(add(1) == before + i, "an addition has not been made");
	expect(swap(before + ADDS + 1, 7) == before + ADDS + 1 && swap(8, 9) == 7, "a swap has not been made");
	kill(pid, SIGCONT);
	expect(word_there() == 7, "the target finds another word");
	report(stopped);
}

int main(void)
{
	pid_t pid;

	if (!adapter_choose())
		return 99;
	pid = adapter_fork(SOCK_SEQPACKET, &talk);
	if (pid < 0)
		return 99;
	if (is_mapped())
		make_mappable();
	if (pid == 0)
		child();
	open_side();
	hear_side();
	tell_side();
	adapter_chosen_end();
	if (attributes()) {
		writes();
		keeps_order();
		uses_an_srq();
		swaps_and_adds();
		adds_beside_the_processor();
		adds_while_the_target_is_stopped(pid);
		refuses();
		needs_rights();
		goes_through_an_rmr();
	} else if (is_iwarp()) {
		refuses_all();
	}
	ask('q', NULL, 0);
	return pair_over(pid);
}
