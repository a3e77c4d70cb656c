/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verbs providers send, and how they interpret what they receive, compared with what other
 * implementations do. No device is needed.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "providers/ib/ib.h"
#include "providers/iwarp/iwarp.h"
#include "providers/rdma/rdma_parts.h"
#include "providers/rdma/rdma_wire.h"

enum { REQUEST = 56, REPLY = 196, TRAILER = RDMA_TRAILER };

static struct rdma_conn_param param;
static unsigned char wire[RDMA_PDATA_MAX], data[RDMA_PDATA_MAX];

static void start(void)
{
	memset(&param, 0, sizeof(param));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + 1);
}

/* ------------------------------------------------------------------ ports */

/*
 * The values of the formula that other implementations use, calculated by hand. With another
 * formula, they could not connect.
 */
static void qualifier_stands_for_the_port_that_others_take_it_for(void)
{
	CHECK_EQ_INT(rdma_wire_port(0), 0);
	CHECK_EQ_INT(rdma_wire_port(1), 1);
	CHECK_EQ_INT(rdma_wire_port(1024), 1024);
	CHECK_EQ_INT(rdma_wire_port(65535), 65535);
	CHECK_EQ_INT(rdma_wire_port(65536), 33534 + 1534);
	CHECK_EQ_INT(rdma_wire_port(96003), 33534);
	CHECK_EQ_INT(rdma_wire_port(96002), 65534);
	CHECK_EQ_INT(rdma_wire_port(0x123456789), 33534 + 5640);
	CHECK_EQ_INT(rdma_wire_port(UINT64_MAX), 33534 + 11769);
}

/* Port 0 means any port, so only the qualifier 0 may become it. */
static void no_long_qualifier_stands_for_port_0(void)
{
	for (uint64_t qual = 0x10000; qual < 0x10000 + 2 * 32001; qual++)
		if (rdma_wire_port(qual) < 33534 || rdma_wire_port(qual) == 65535)
			CHECK_FAIL("%#llx: port %u", (unsigned long long)qual, rdma_wire_port(qual));
}

/* ------------------------------------------------------------------ private data */

/* Packs private data, and unpacks them as the receiver does. */
static uint32_t there_and_back(const struct rdma_kind *kind, enum rdma_message what, uint32_t len)
{
	rdma_wire_pack(kind, what, data, len, wire, &param);
	return rdma_wire_length(kind, what, &param);
}

static void every_length_arrives(void)
{
	for (uint32_t len = 0; len <= REQUEST; len++)
		CHECK_EQ_INT(there_and_back(&ib_kind, RDMA_REQUEST, len), len);
	for (uint32_t len = 0; len <= ib_kind.max_private_data; len++) {
		CHECK_EQ_INT(there_and_back(&ib_kind, RDMA_REPLY, len), len);
		CHECK_EQ_MEM(wire, data, len);
	}
	for (uint32_t len = 0; len <= iw_kind.max_private_data; len++) {
		CHECK_EQ_INT(there_and_back(&iw_kind, RDMA_REQUEST, len), len);
		CHECK_EQ_INT(there_and_back(&iw_kind, RDMA_REPLY, len), len);
	}
}

/* Zeros at the end are data as well. */
static void every_length_that_one_message_holds_arrives(void)
{
	every_length_arrives();
	memset(data, 0, sizeof(data));
	every_length_arrives();
}

/*
 * A consumer's own data may end with the bytes of a trailer or of a part, with any length after the mark.
 */
static void data_that_end_like_a_trailer_arrive_whole(void)
{
	uint32_t total;

	for (unsigned int last = 0; last < 3 * 256; last++) {
		for (uint32_t len = TRAILER; len <= REQUEST; len++) {
			unsigned char *end = data + len - TRAILER;

			memset(data, 0, sizeof(data));
			memcpy(end, "\xe7\x0d\xa7", 3);
			end[2] = (unsigned char)(end[2] + last / 256);
			end[3] = (unsigned char)last;
			if (there_and_back(&ib_kind, RDMA_REQUEST, len) != len || memcmp(wire, data, len))
				CHECK_FAIL("%u bytes that end in a mark and %#x", len, last);
			if (rdma_wire_part(&ib_kind, &param, &total))
				CHECK_FAIL("%u bytes that end in %#x are taken for a part", len, last);
		}
	}
}

/*
 * A message of InfiniBand has a limited length, whatever the consumer sends, and librdmacm refuses
 * more.
 */
static void messages_are_as_long_as_the_wire_has_room_for(void)
{
	for (uint32_t len = 0; len <= ib_kind.max_private_data; len++) {
		rdma_wire_pack(&ib_kind, RDMA_REQUEST, data, len, wire, &param);
		CHECK_EQ_INT(param.private_data_len, REQUEST);
		CHECK_EQ_INT(rdma_wire_in_parts(&ib_kind, len), len > REQUEST);
		rdma_wire_pack(&ib_kind, RDMA_REPLY, data, len, wire, &param);
		CHECK_EQ_INT(param.private_data_len, REPLY);
	}
}

/* siw counts its own 4 bytes and the program's in 8 bits. */
static void no_length_over_iwarp_wraps_around_in_siw(void)
{
	CHECK(iw_kind.max_private_data + 4 <= 255);
	rdma_wire_pack(&iw_kind, RDMA_REPLY, data, iw_kind.max_private_data, wire, &param);
	CHECK_EQ_INT(param.private_data_len, iw_kind.max_private_data);
	CHECK(!rdma_wire_in_parts(&iw_kind, iw_kind.max_private_data));
}

/*
 * Makes the message of another implementation: its data, and zeros up to the size of the message.
 */
static uint32_t from_a_stranger(enum rdma_message what, uint32_t len)
{
	memset(wire, 0, sizeof(wire));
	memcpy(wire, data, len);
	param.private_data = wire;
	param.private_data_len = what == RDMA_REQUEST ? REQUEST : REPLY;
	param.retry_count = 7;
	return rdma_wire_length(&ib_kind, what, &param);
}

/*
 * Zeros may be data. A consumer can get as many bytes as the attribute of the adapter says, and a
 * message may have more.
 */
static void padding_of_a_stranger_counts_up_to_what_a_consumer_may_be_given(void)
{
	CHECK_EQ_INT(from_a_stranger(RDMA_REQUEST, 0), REQUEST);
	CHECK_EQ_INT(from_a_stranger(RDMA_REQUEST, 15), REQUEST);
	CHECK_EQ_INT(from_a_stranger(RDMA_REQUEST, REQUEST), REQUEST);
	CHECK_EQ_INT(from_a_stranger(RDMA_REPLY, 15), ib_kind.max_private_data);
	CHECK_EQ_INT(from_a_stranger(RDMA_REPLY, 160), ib_kind.max_private_data);
}

/*
 * Over iWARP, another implementation sends as much as librdmacm accepts, and none of that is
 * padding.
 */
static void stranger_over_iwarp_fills_no_more_than_a_consumer_has_room_for(void)
{
	param.private_data = data;
	param.private_data_len = (uint8_t)iw_kind.max_private_data;
	CHECK_EQ_INT(rdma_wire_length(&iw_kind, RDMA_REQUEST, &param), iw_kind.max_private_data);
	CHECK(!rdma_wire_is_cut(&iw_kind, RDMA_REQUEST, &param));
	param.private_data_len = 255;
	CHECK_EQ_INT(rdma_wire_length(&iw_kind, RDMA_REQUEST, &param), iw_kind.max_private_data);
	CHECK(rdma_wire_is_cut(&iw_kind, RDMA_REQUEST, &param));
	param.private_data = NULL;
	CHECK_EQ_INT(rdma_wire_length(&iw_kind, RDMA_REQUEST, &param), 0);
	CHECK(!rdma_wire_is_cut(&iw_kind, RDMA_REQUEST, &param));
}

static void what_a_consumer_is_not_given_is_noticed_if_it_is_no_padding(void)
{
	uint32_t most = ib_kind.max_private_data;

	for (uint32_t len = 0; len <= REPLY; len++) {
		from_a_stranger(RDMA_REPLY, len);
		CHECK_EQ_INT(rdma_wire_is_cut(&ib_kind, RDMA_REPLY, &param), len > most);
	}
	from_a_stranger(RDMA_REQUEST, REQUEST);
	CHECK(!rdma_wire_is_cut(&ib_kind, RDMA_REQUEST, &param));
	for (uint32_t len = 0; len <= most; len++) {
		there_and_back(&ib_kind, RDMA_REPLY, len);
		CHECK(!rdma_wire_is_cut(&ib_kind, RDMA_REPLY, &param));
	}
}

/*
 * The data of another implementation may end with the bytes of the mark; the length after it then has to fit
 * the data before it.
 */
static void mark_in_a_strangers_data_is_data(void)
{
	unsigned char *trailer = wire + REQUEST - TRAILER;

	from_a_stranger(RDMA_REQUEST, REQUEST);
	memcpy(trailer, "\xe7\x0d\xa7\x05", TRAILER);
	CHECK_EQ_INT(rdma_wire_length(&ib_kind, RDMA_REQUEST, &param), REQUEST);
	from_a_stranger(RDMA_REQUEST, 5);
	memcpy(trailer, "\xe7\x0d\xa7\x35", TRAILER);
	CHECK_EQ_INT(rdma_wire_length(&ib_kind, RDMA_REQUEST, &param), REQUEST);
}

/*
 * Data that do not fit into a request are sent in two parts, each with its number and the length of
 * the whole.
 */
static void parts_make_the_whole(void)
{
	enum { EACH = REQUEST - TRAILER };
	unsigned char whole[2 * EACH];
	uint32_t total;

	for (uint32_t len = REQUEST + 1; len <= 2 * EACH; len++) {
		for (int part = 1; part <= 2; part++) {
			rdma_wire_pack(&ib_kind, RDMA_REQUEST, data, len, wire, &param);
			rdma_wire_pack_part(&ib_kind, data, len, part, wire);
			REQUIRE_EQ_INT(rdma_wire_part(&ib_kind, &param, &total), part);
			CHECK_EQ_INT(total, len);
			memcpy(whole + (part == 1 ? 0 : EACH), wire, EACH);
		}
		CHECK_EQ_MEM(whole, data, len);
	}
	there_and_back(&ib_kind, RDMA_REQUEST, 20);
	CHECK_EQ_INT(rdma_wire_part(&ib_kind, &param, &total), 0);
}

static struct rdma_ia *listening;
static struct rdma_cm_id listener, other_listener;
static uint64_t clock_us;

enum { MINUTE_US = 60000000 };

/* Takes the place of libdatp's, for rdma_parts.c. */
uint64_t datp_clock_us(void)
{
	return clock_us;
}

static void listen_begin(void)
{
	listening = calloc(1, sizeof(*listening));
	REQUIRE(listening != NULL);
	listening->kind = &ib_kind;
}

static void listen_end(void)
{
	rdma_parts_fini(listening);
	free(listening);
}

/* The request of a peer's queue pair arrives, with one part of data that have this length. */
static enum rdma_parts part_comes_to(struct rdma_cm_id *to, uint32_t qpn, int part, uint32_t length)
{
	struct rdma_cm_id id = { 0 };
	struct rdma_cm_event event = { .id = &id, .listen_id = to };
	unsigned char whole[RDMA_PDATA_MAX];
	enum rdma_parts parts;
	uint32_t len;

	rdma_wire_pack(&ib_kind, RDMA_REQUEST, data, length, wire, &param);
	rdma_wire_pack_part(&ib_kind, data, length, part, wire);
	event.param.conn = param;
	event.param.conn.qp_num = qpn;
	parts = rdma_parts_join(listening, &event, whole, &len);
	if (parts == RDMA_PARTS_WHOLE)
		CHECK_EQ_MEM(whole, data, length);
	return parts;
}

static enum rdma_parts part_comes(uint32_t qpn, int part)
{
	return part_comes_to(&listener, qpn, part, 60);
}

/* Of the peers that send only first parts the newest 256 are remembered, as SECURITY.md says. */
static void first_parts_are_kept_of_a_limited_number_of_peers(void)
{
	enum { PEERS = 300, KEPT = 256 };

	listen_begin();
	for (uint32_t qpn = 0; qpn < PEERS; qpn++)
		REQUIRE_EQ_INT(part_comes(qpn, 1), RDMA_PARTS_MORE);
	for (uint32_t qpn = 0; qpn < PEERS; qpn++)
		CHECK_EQ_INT(part_comes(qpn, 2), qpn < PEERS - KEPT ? RDMA_PARTS_BAD : RDMA_PARTS_WHOLE);
	listen_end();
}

static void parts_to_different_service_points_are_not_joined(void)
{
	listen_begin();
	REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes_to(&other_listener, 7, 2, 60), RDMA_PARTS_BAD);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_WHOLE);
	listen_end();
}

/* A peer sends its first part once more if its request was taken for a stale one. */
static void first_part_may_come_twice(void)
{
	listen_begin();
	for (int i = 0; i < 2; i++)
		REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_WHOLE);
	listen_end();
}

/* Another process of the peer's host may name the queue pair of this peer, before the peer sends its first part, or after that. */
static void first_parts_that_differ_make_no_whole(void)
{
	listen_begin();
	REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	data[0] ^= 1;
	CHECK_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_BAD);
	REQUIRE_EQ_INT(part_comes_to(&listener, 8, 1, 62), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(8, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(8, 2), RDMA_PARTS_BAD);
	listen_end();
}

/* Otherwise a stranger could send a second part as well, and then have its own first part joined to the peer's second one. */
static void first_part_stays_spoilt_for_a_minute(void)
{
	listen_begin();
	REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	data[0] ^= 1;
	CHECK_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_BAD);
	CHECK_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_BAD);
	clock_us += MINUTE_US;
	REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_WHOLE);
	listen_end();
}

static void first_part_is_forgotten_after_a_minute(void)
{
	listen_begin();
	REQUIRE_EQ_INT(part_comes(7, 1), RDMA_PARTS_MORE);
	REQUIRE_EQ_INT(part_comes(8, 1), RDMA_PARTS_MORE);
	clock_us += MINUTE_US - 1;
	CHECK_EQ_INT(part_comes(7, 2), RDMA_PARTS_WHOLE);
	clock_us++;
	CHECK_EQ_INT(part_comes(8, 2), RDMA_PARTS_BAD);
	listen_end();
}

/* ------------------------------------------------------------------ rejections */

/* The word has 4 bytes of versions, as other implementations send and skip them. */
static void word_of_a_rejection_tells_it_from_the_networks(void)
{
	unsigned char word[RDMA_REJECT_BYTES];
	static const unsigned char theirs[RDMA_REJECT_BYTES] = { 2, 0, 2, 1 };

	rdma_wire_reject(word);
	CHECK_EQ_MEM(word, ((unsigned char[]){ 1, 2, 1, 0 }), 4);
	param.private_data = word;
	param.private_data_len = sizeof(word);
	CHECK(rdma_wire_is_reject(&param));
	CHECK(!rdma_wire_is_more(&param));
	param.private_data = theirs;
	CHECK(rdma_wire_is_reject(&param));
	rdma_wire_more(word);
	param.private_data = word;
	CHECK(rdma_wire_is_more(&param));
	CHECK(!rdma_wire_is_reject(&param));
	param.private_data_len = 3;
	CHECK(!rdma_wire_is_reject(&param));
	param.private_data = NULL;
	CHECK(!rdma_wire_is_reject(&param));
}

static const struct check_test tests[] = {
	CHECK_TEST(qualifier_stands_for_the_port_that_others_take_it_for),
	CHECK_TEST(no_long_qualifier_stands_for_port_0),
	CHECK_TEST(every_length_that_one_message_holds_arrives),
	CHECK_TEST(data_that_end_like_a_trailer_arrive_whole),
	CHECK_TEST(messages_are_as_long_as_the_wire_has_room_for),
	CHECK_TEST(no_length_over_iwarp_wraps_around_in_siw),
	CHECK_TEST(padding_of_a_stranger_counts_up_to_what_a_consumer_may_be_given),
	CHECK_TEST(stranger_over_iwarp_fills_no_more_than_a_consumer_has_room_for),
	CHECK_TEST(what_a_consumer_is_not_given_is_noticed_if_it_is_no_padding),
	CHECK_TEST(mark_in_a_strangers_data_is_data),
	CHECK_TEST(parts_make_the_whole),
	CHECK_TEST(first_parts_are_kept_of_a_limited_number_of_peers),
	CHECK_TEST(parts_to_different_service_points_are_not_joined),
	CHECK_TEST(first_part_may_come_twice),
	CHECK_TEST(first_parts_that_differ_make_no_whole),
	CHECK_TEST(first_part_stays_spoilt_for_a_minute),
	CHECK_TEST(first_part_is_forgotten_after_a_minute),
	CHECK_TEST(word_of_a_rejection_tells_it_from_the_networks),
	CHECK_END
};

static const struct check_suite wire_suite = { .name = "wire", .setup = start, .tests = tests };

CHECK_SUITES(&wire_suite);
