/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that short messages are inlined. The test overwrites the source buffer after the request is in the send queue and before
 * the doorbell. Invariant: the peer must receive the bytes that were there when the program posted.
 */
#include <string.h>

#include "api.h"
#include "twist.h"

#define SHORT  64
#define BESIDE 2048 /* offset in `to` that RDMA Writes go to; messages go to 0 */

static struct api_buf from, to;

static void overwrite(void)
{
	memset(from.mem, 0xee, from.size);
}

/* Is called several times, because the first post looks up the memory region, and later ones take the fast path. */
static void send_short(struct api_pair *pair, uint64_t round)
{
	REQUIRE_DAT(api_recv(pair->b.ep, &to, 0, SHORT, round), DAT_SUCCESS);
	api_fill(from.mem, SHORT, round);
	twist_here.before_bell = overwrite;
	REQUIRE_DAT(api_send(pair->a.ep, &from, 0, SHORT, round, 0), DAT_SUCCESS);
	CHECK(!twist_here.before_bell);
	API_DTO(pair->a.request, pair->a.ep, round, DAT_DTO_SUCCESS, SHORT);
	API_DTO(pair->b.recv, pair->b.ep, round, DAT_DTO_SUCCESS, SHORT);
	CHECK_EQ_INT(api_mismatch(to.mem, SHORT, round), -1);
}

static void write_short(struct api_pair *pair, uint64_t round)
{
	api_fill(from.mem, SHORT, round);
	twist_here.before_bell = overwrite;
	REQUIRE_DAT(api_write(pair->a.ep, api_seg(&from, 0, SHORT), api_target(&to, BESIDE, SHORT),
			      round, 0),
		    DAT_SUCCESS);
	CHECK(!twist_here.before_bell);
	API_DTO(pair->a.request, pair->a.ep, round, DAT_DTO_SUCCESS, SHORT);
	/* The write has been placed when a message behind it has been received. */
	send_short(pair, round + 100);
	CHECK_EQ_INT(api_mismatch(to.mem + BESIDE, SHORT, round), -1);
}

/* Inline data saves the device, or its driver, the lookup of the memory region for each message. */
static void short_messages_go_along_with_their_requests(void)
{
	struct api_pair pair;

	api_open();
	from = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	to = api_buf(4096, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	for (uint64_t round = 1; round <= 3; round++)
		send_short(&pair, round);
	for (uint64_t round = 4; round <= 6; round++)
		write_short(&pair, round);
}

static const struct check_test tests[] = { CHECK_TEST(short_messages_go_along_with_their_requests),
					   CHECK_END };

static const struct check_suite posts = { .name = "post", .teardown = api_close, .tests = tests };

CHECK_SUITES(&posts);
