/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which data becomes visible in memory. Programs that poll on memory depend on it: an
 * error here is silent corruption.
 *
 * The target is a process of its own that polls its memory and makes no DAT call meanwhile. After
 * its post the initiator makes no DAT call either, until the target has told it by other means that
 * the data has arrived. Every round checks every byte. The initiator is the side that connected.
 */
#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "kit.h"

#define DEFAULT	 DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG
#define AREA	 ((size_t)1 << 20)
#define FIELD	 ((size_t)4096)		/* where the data of a round begins */
#define LONGEST	 ((size_t)300001)

struct card {
	struct sockaddr_in address;
	DAT_CONN_QUAL qual;
	DAT_RMR_TRIPLET mem;
};

/* This process's side: the initiator or its target. */
static struct {
	struct kit_end end;
	struct kit_buf buf;
	struct card card;
	int fd;			/* to the other process */
} o;

static DAT_EP_ATTR attributes(void)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.max_rdma_size = t.attr.max_rdma_size < AREA ? t.attr.max_rdma_size : AREA;
	attr.max_message_size = t.attr.max_message_size < AREA ? t.attr.max_message_size : AREA;
	attr.max_request_dtos = attr.max_recv_dtos =
		t.attr.max_dto_per_ep < 32 ? t.attr.max_dto_per_ep : 32;
	return attr;
}

static void target_open(int fd)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_EP_ATTR attr;

	o.fd = fd;
	kit_open();
	attr = attributes();
	kit_end(&o.end, &attr);
	o.buf = kit_buf(AREA, KIT_REMOTE);
	cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	kit_psp(cr_evd, &o.card.qual);
	memcpy(&o.card.address, t.attr.ia_address_ptr, sizeof(o.card.address));
	o.card.mem = kit_target(&o.buf, 0, AREA);
	peer_tell(fd, &o.card, sizeof(o.card));
	MUST_RET(dat_cr_accept(kit_cr(cr_evd), o.end.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(o.end.connect, o.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void initiator_open(void (*target)(int fd))
{
	DAT_EP_ATTR attr;

	o.fd = peer_start(target);
	kit_open();
	NEEDS_REACH();
	attr = attributes();
	kit_end(&o.end, &attr);
	o.buf = kit_buf(AREA, KIT_REMOTE);
	peer_hear(o.fd, &o.card, sizeof(o.card));
	MUST_RET(dat_ep_connect(o.end.ep, (DAT_IA_ADDRESS_PTR)&o.card.address, o.card.qual,
				4 * kit_patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_conn(o.end.connect, o.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void say(void)
{
	peer_tell(o.fd, "x", 1);
}

static void hear(void)
{
	char word;

	peer_hear(o.fd, &word, 1);
}

/* Runs the initiator's rounds. It waits for the target before each, so the target has checked all of the last round. */
static void initiate(int rounds, void (*post)(int k), int completions)
{
	for (int k = 0; k <= rounds; k++) {
		hear();
		for (int i = 0; k && i < completions; i++)
			kit_dto(o.end.request, o.end.ep, (uint64_t)k - 1, DAT_DTO_SUCCESS);
		if (k < rounds)
			post(k);
		/* No DAT call follows until the target answers. */
	}
	say();
}

static void target_done(void)
{
	say();
	hear();
	kit_close();
}

static DAT_RMR_TRIPLET there(size_t offset, size_t length)
{
	DAT_RMR_TRIPLET mem = o.card.mem;

	mem.API_TARGET_ADDRESS += offset;
	mem.segment_length = length;
	return mem;
}

static void post_write(size_t from, size_t to, size_t size, int k, DAT_COMPLETION_FLAGS flags)
{
	MUST_RET(kit_write(o.end.ep, kit_seg(&o.buf, from, size), there(to, size), (uint64_t)k,
			   flags),
		 DAT_SUCCESS);
}

/*
 * Polls by plain loads, as programs do, with no fence after them; the compiler has to load each
 * time. Both sides may share a processor, so the poll gives it up now and then.
 */
#define POLL(expr)							\
	do {								\
		uint64_t until_ = judge_now_ms() + 2 * t.patience_ms;	\
		for (unsigned int n_ = 1; !(expr); n_++)		\
			if (n_ % 256 == 0)				\
				poll_nap(until_);			\
	} while (0)

static void poll_nap(uint64_t until)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
	if (judge_now_ms() > until)
		MUST_NOT_COME_HERE("polling on memory", "the data lands", "it does not");
}

static unsigned char byte_at(size_t offset)
{
	return kit_buf_peek(&o.buf, offset);
}

static uint64_t word_at(size_t offset)
{
	return kit_buf_peek_word(&o.buf, offset);
}

static size_t within(size_t size)
{
	size_t most = t.attr.max_rdma_size < LONGEST ? t.attr.max_rdma_size : LONGEST;

	return size < most ? size : most;
}

/* ------------------------------------------------------------------ the last byte */

static const size_t sizes[] = { 1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000, 1024, 1025, 4096,
				4097, 8195, 65543, LONGEST };
#define ALIGNMENTS 3
#define WRITES	   ((int)(sizeof(sizes) / sizeof(*sizes)) * ALIGNMENTS)

static size_t size_of(int k)
{
	return within(sizes[k / ALIGNMENTS]);
}

static size_t place_of(int k)
{
	return FIELD + (size_t)(k % ALIGNMENTS) * 3;
}

/* The target polls the last byte, which is never 0, the value before. */
static void make_data(unsigned char *mem, int k)
{
	kit_fill(mem, size_of(k), (unsigned int)k);
	mem[size_of(k) - 1] = (unsigned char)(k % 255 + 1);
}

static void poll_last_byte(int fd)
{
	static unsigned char want[LONGEST];

	target_open(fd);
	for (int k = 0; k < WRITES; k++) {
		size_t at = place_of(k), size = size_of(k);

		memset(o.buf.mem + at - 8, 0, size + 16);
		make_data(want, k);
		say();
		POLL(byte_at(at + size - 1) == want[size - 1]);
		/* This follows at once, without anything in between. */
		CHECK_THAT(!memcmp(o.buf.mem + at, want, size));
		CHECK_THAT(byte_at(at - 1) == 0 && byte_at(at + size) == 0);
	}
	target_done();
}

static void post_data(int k)
{
	size_t from = (size_t)(k % 2) * (AREA / 2);

	make_data(o.buf.mem + from, k);
	post_write(from, place_of(k), size_of(k), k, DEFAULT);
}

CLAUSE_BARE("CONSUMER-52")
{
	initiator_open(poll_last_byte);
	initiate(WRITES, post_data, 1);
}

/* ------------------------------------------------------------------ the last 8 bytes */

#define WORDS 120

static size_t word_size(int k)
{
	static const size_t some[] = { 8, 16, 24, 64, 128, 1024, 4096, 8192, 65536, 262144 };
	size_t size = within(some[k % (int)(sizeof(some) / sizeof(*some))]);

	return size & ~(size_t)7;
}

/* Returns a word whose bytes differ from 0 and from those of the round before. */
static uint64_t word_of(int k)
{
	return UINT64_C(0x0101010101010101) * (uint64_t)(k % 255 + 1);
}

/*
 * If the kernel or a driver copies without hardware, the word may arrive byte by byte, upwards:
 * `rep movsb` may be interrupted between any two bytes. So only the whole word tells that the data
 * is there; before that, nothing but a beginning of it may be seen.
 */
static bool is_beginning(uint64_t word, uint64_t whole)
{
	for (int bits = 0; bits < 64; bits += 8)
		if (word == (whole & ~(UINT64_MAX << bits)))
			return true;
	return false;
}

static void poll_last_word(int fd)
{
	uint64_t word;

	target_open(fd);
	for (int k = 0; k < WORDS; k++) {
		size_t size = word_size(k), good = 0;

		memset(o.buf.mem, 0, size);
		say();
		POLL(!is_beginning(word = word_at(size - 8), word_of(k)));
		CHECK_THAT(word == word_of(k));
		/* Checks backwards, because the words just before the last would be the last to arrive. */
		for (size_t at = size; at; at -= 8)
			good += word_at(at - 8) == word_of(k);
		CHECK_NUM(good, size / 8);
	}
	target_done();
}

static void post_words(int k)
{
	size_t size = word_size(k), from = (size_t)(k % 2) * (AREA / 2);

	memset(o.buf.mem + from, k % 255 + 1, size);
	post_write(from, 0, size, k, DEFAULT);
}

CLAUSE_BARE("CONSUMER-53")
{
	initiator_open(poll_last_word);
	initiate(WORDS, post_words, 1);
}

/* ------------------------------------------------------------------ what came before */

#define BURSTS 12
#define BURST  20

static size_t burst_size(int k, int i)
{
	return within(i % 8 == 3 ? 20000 + (size_t)k : 1 + (size_t)((k * 7 + i * 13) % 300));
}

static size_t burst_place(int i)
{
	return FIELD + (size_t)i * 32768 + (size_t)i % 7;
}

/* Every fifth transfer is a send, which goes where the receive says. */
static bool is_send(int i)
{
	return i % 5 == 2;
}

static void poll_flag(int fd)
{
	target_open(fd);
	for (int k = 0; k < BURSTS; k++) {
		size_t good = 0;

		for (int i = 0; i < BURST; i++) {
			memset(o.buf.mem + burst_place(i), 0, burst_size(k, i));
			if (is_send(i))
				MUST_RET(kit_recv(o.end.ep, &o.buf, burst_place(i),
						  burst_size(k, i), (uint64_t)i),
					 DAT_SUCCESS);
		}
		say();
		POLL(word_at(0) == (uint64_t)k + 1);
		for (int i = 0; i < BURST; i++)
			if (!is_send(i))
				good += kit_filled(o.buf.mem + burst_place(i), burst_size(k, i),
						   (unsigned int)(k * BURST + i));
		for (int i = 0; i < BURST; i++)
			if (is_send(i)) {
				kit_dto(o.end.recv, o.end.ep, (uint64_t)i, DAT_DTO_SUCCESS);
				good += kit_filled(o.buf.mem + burst_place(i), burst_size(k, i),
						   (unsigned int)(k * BURST + i));
			}
		CHECK_NUM(good, BURST);
	}
	target_done();
}

static void post_burst(int k)
{
	uint64_t flag = (uint64_t)k + 1;
	size_t at = (size_t)(k % 2) * 8;

	for (int i = 0; i < BURST; i++) {
		size_t size = burst_size(k, i), from = burst_place(i);

		kit_fill(o.buf.mem + from, size, (unsigned int)(k * BURST + i));
		if (is_send(i))
			MUST_RET(kit_send(o.end.ep, &o.buf, from, size, 1000, SUPPRESS),
				 DAT_SUCCESS);
		else
			post_write(from, from, size, 1000, SUPPRESS);
	}
	memcpy(o.buf.mem + at, &flag, 8);
	post_write(at, 0, 8, k, DEFAULT);
}

CLAUSE_BARE("CONSUMER-54")
{
	initiator_open(poll_flag);
	NEEDS(t.attr.max_dto_per_ep > BURST, "max_dto_per_ep");
	initiate(BURSTS, post_burst, 1);
}

/* ------------------------------------------------------------------ nobody helps */

#define SILENT 6

static void poll_in_silence(int fd)
{
	target_open(fd);
	for (int k = 0; k < SILENT; k++) {
		size_t size = within(k % 2 ? LONGEST : 24);

		memset(o.buf.mem + FIELD, 0, size);
		say();
		kit_sleep_ms(t.quiet_ms);	/* during which this process polls nothing */
		POLL(byte_at(FIELD + size - 1) == k + 1);
		CHECK_NUM(byte_at(FIELD), k + 1);
	}
	target_done();
}

/* The process sleeps after its post, so only the transport can make progress. */
static void post_and_sleep(int k)
{
	size_t size = within(k % 2 ? LONGEST : 24);

	memset(o.buf.mem, k + 1, size);
	post_write(0, FIELD, size, k, DEFAULT);
	kit_sleep_ms(4 * t.quiet_ms);
}

CLAUSE_BARE("CONSUMER-55")
{
	initiator_open(poll_in_silence);
	initiate(SILENT, post_and_sleep, 1);
}

/* ------------------------------------------------------------------ messages and writes */

#define SENDS 40

static size_t send_size(int k)
{
	static const size_t some[] = { 8, 64, 1000, 4096, 20000, 262144 };
	size_t most = t.attr.max_message_size < LONGEST ? t.attr.max_message_size : LONGEST;
	size_t size = within(some[k % 6]);

	return size < most ? size : most;
}

static void poll_flag_after_send(int fd)
{
	target_open(fd);
	for (int k = 0; k < SENDS; k++) {
		DAT_EVENT event;
		DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

		MUST_RET(kit_recv(o.end.ep, &o.buf, FIELD, LONGEST, (uint64_t)k), DAT_SUCCESS);
		say();
		POLL(word_at(0) == (uint64_t)k + 1);
		/* The first dequeue finds the completion. */
		MUST_RET(dat_evd_dequeue(o.end.recv, &event), DAT_SUCCESS);
		CHECK_NUM(dto->user_cookie.as_64, k);
		CHECK_NUM(dto->status, DAT_DTO_SUCCESS);
		CHECK_NUM(dto->transfered_length, send_size(k));
		CHECK_THAT(kit_filled(o.buf.mem + FIELD, send_size(k), (unsigned int)k));
	}
	target_done();
}

static void post_send_and_flag(int k)
{
	uint64_t flag = (uint64_t)k + 1;

	kit_fill(o.buf.mem + FIELD, send_size(k), (unsigned int)k);
	memcpy(o.buf.mem, &flag, 8);
	MUST_RET(kit_send(o.end.ep, &o.buf, FIELD, send_size(k), 1000, SUPPRESS), DAT_SUCCESS);
	post_write(0, 0, 8, k, DEFAULT);
}

CLAUSE_BARE("CONSUMER-56")
{
	initiator_open(poll_flag_after_send);
	initiate(SENDS, post_send_and_flag, 1);
}

static void wait_for_send_after_write(int fd)
{
	target_open(fd);
	for (int k = 0; k < SENDS; k++) {
		memset(o.buf.mem + FIELD, 0, send_size(k));
		MUST_RET(kit_recv(o.end.ep, &o.buf, 0, 64, (uint64_t)k), DAT_SUCCESS);
		say();
		kit_dto(o.end.recv, o.end.ep, (uint64_t)k, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_filled(o.buf.mem + FIELD, send_size(k), (unsigned int)k));
	}
	target_done();
}

static void post_write_and_send(int k)
{
	kit_fill(o.buf.mem + FIELD, send_size(k), (unsigned int)k);
	post_write(FIELD, FIELD, send_size(k), 1000, SUPPRESS);
	MUST_RET(kit_send(o.end.ep, &o.buf, 0, 8, (uint64_t)k, DEFAULT), DAT_SUCCESS);
}

CLAUSE_BARE("CONSUMER-57")
{
	initiator_open(wait_for_send_after_write);
	initiate(SENDS, post_write_and_send, 1);
}

/* ------------------------------------------------------------------ the sender's buffer */

#define REUSES 60
#define SLOTS  8
#define SLOT   ((size_t)65536)

static size_t reuse_size(int k)
{
	size_t size = 8 + (size_t)k * 331 % 40000;

	return size < t.attr.max_message_size ? size : (size_t)t.attr.max_message_size;
}

/* Messages go to slots that are reused in turn; each write goes to a place of its own in the other half. */
static void collect_reused(int fd)
{
	target_open(fd);
	for (int k = 0; k < SLOTS; k++)
		MUST_RET(kit_recv(o.end.ep, &o.buf, (size_t)k * SLOT, SLOT, (uint64_t)k),
			 DAT_SUCCESS);
	say();
	for (int k = 0; k < REUSES; k++) {
		size_t at = (size_t)(k % SLOTS) * SLOT;

		kit_dto(o.end.recv, o.end.ep, (uint64_t)k, DAT_DTO_SUCCESS);
		CHECK_THAT(kit_filled(o.buf.mem + at, reuse_size(k), (unsigned int)k));
		/* the write of this message was posted before it, so it has arrived */
		CHECK_THAT(kit_filled(o.buf.mem + AREA / 2 + (size_t)k * 64, 64,
				      (unsigned int)k + 1000));
		MUST_RET(kit_recv(o.end.ep, &o.buf, at, SLOT, (uint64_t)(k + SLOTS)), DAT_SUCCESS);
		say();	/* one more receive is posted */
	}
	target_done();
}

/* All transfers use one buffer, which is filled anew as soon as its completion has come. */
CLAUSE_BARE("CONSUMER-58")
{
	initiator_open(collect_reused);
	for (int k = 0; k < REUSES; k++) {
		if (!k || k >= SLOTS)
			hear();
		kit_fill(o.buf.mem, 64, (unsigned int)k + 1000);
		post_write(0, AREA / 2 + (size_t)k * 64, 64, k, DEFAULT);
		kit_dto(o.end.request, o.end.ep, (uint64_t)k, DAT_DTO_SUCCESS);
		kit_fill(o.buf.mem, reuse_size(k), (unsigned int)k);
		MUST_RET(kit_send(o.end.ep, &o.buf, 0, reuse_size(k), (uint64_t)k, DEFAULT),
			 DAT_SUCCESS);
		kit_dto(o.end.request, o.end.ep, (uint64_t)k, DAT_DTO_SUCCESS);
		memset(o.buf.mem, 0xee, reuse_size(k));
	}
	for (int k = 0; k < SLOTS; k++)
		hear();
	hear();
	say();
}
