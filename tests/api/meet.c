/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two halves of a meeting. Invariant: the peer is forked before its test has an adapter open.
 */
#include "meet.h"

struct meet my;

void meet_open(size_t size)
{
	api_open();
	api_end_make(&my.end, NULL);
	my.buf = api_buf(size, DAT_MEM_PRIV_ALL_FLAG);
	my.cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&my.offer, my.cr_evd, &my.buf);
}

void meet_accept(size_t size)
{
	meet_open(size);
	check_put(CHECK_PARENT, &my.offer, sizeof(my.offer));
	check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
	REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void meet_start(void (*run)(void *), size_t size)
{
	my.peer = check_fork(run, NULL);
	meet_open(size);
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	check_put(my.peer, &my.offer, sizeof(my.offer));
	api_connect_to(&my.end, &my.theirs.address, my.theirs.qual);
}
