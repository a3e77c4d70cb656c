/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call of the data path costs from the program's call to its return, for a program of uDAPL 1.2, or, if compiled
 * with BENCH_API_20, of 2.0: makes N rounds of one kind between two endpoints of this process.
 *
 *	cost IA send|recv|write|taken|sent|empty N
 *
 * In a round of send, recv, taken and sent a receive is posted, a message is sent, and both completions are taken. In one of
 * write an RDMA Write is posted, and its completion is taken; in one of empty an empty queue is polled. The call that
 * gives the kind its name (taken: the dequeue of the receive, sent: that of the send) is made by a function of its own,
 * call_KIND(). To count its instructions, run this twice under `valgrind --tool=callgrind --toggle-collect=call_KIND`, with two
 * values of N: the difference of the two counts, divided by that of the two N, is the number. It prints nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pair.h"

#define SIZE 64

static struct {
	DAT_EP_HANDLE active, passive;
	DAT_LMR_TRIPLET out, in;
	DAT_RMR_TRIPLET target;
	DAT_EVENT event;
} at;

static const DAT_DTO_COOKIE cookie = { .as_64 = 7 };

/* Nothing of it is inlined or merged with another one, so that each is found by its name. */
#define CALL(name) static __attribute__((noinline, noclone, noipa)) DAT_RETURN call_##name(void)

CALL(recv) { return dat_ep_post_recv(at.passive, 1, &at.in, cookie, DAT_COMPLETION_DEFAULT_FLAG); }
CALL(send) { return dat_ep_post_send(at.active, 1, &at.out, cookie, DAT_COMPLETION_DEFAULT_FLAG); }
CALL(write)
{
	return dat_ep_post_rdma_write(at.active, 1, &at.out, cookie, &at.target, DAT_COMPLETION_DEFAULT_FLAG);
}
CALL(taken) { return dat_evd_dequeue(it.recv, &at.event); }
CALL(sent) { return dat_evd_dequeue(it.request, &at.event); }
CALL(empty) { return dat_evd_dequeue(it.recv, &at.event); }

static void done(DAT_RETURN ret, const char *what)
{
	pair_ok(ret, what);
	if (at.event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		pair_ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, what);
}

static void message(void)
{
	pair_ok(call_recv(), "dat_ep_post_recv");
	pair_ok(call_send(), "dat_ep_post_send");
	done(call_taken(), "the receive");
	done(call_sent(), "the send");
}

static void rdma_write(void)
{
	pair_ok(call_write(), "dat_ep_post_rdma_write");
	done(call_sent(), "the write");
}

static void poll_empty(void)
{
	if (DAT_GET_TYPE(call_empty()) != DAT_QUEUE_EMPTY)
		pair_ok(DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "an empty queue");
}

int main(int argc, char **argv)
{
	const char *kind = argc == 4 ? argv[2] : "";
	bool writes = strcmp(kind, "write") == 0, empty = strcmp(kind, "empty") == 0;
	bool messages = strcmp(kind, "send") == 0 || strcmp(kind, "recv") == 0 || strcmp(kind, "taken") == 0 ||
			strcmp(kind, "sent") == 0;

	if (!messages && !writes && !empty) {
		fprintf(stderr, "usage: cost IA send|recv|write|taken|sent|empty N\n");
		return 2;
	}
	pair_open(argv[1], 1, 4096);
	pair_connect(&at.active, &at.passive, SIZE, 4);
	at.out = pair_segment(0, SIZE);
	at.in = pair_segment(SIZE, SIZE);
	at.target = pair_target(SIZE, SIZE);
	for (long i = atol(argv[3]); i > 0; i--)
		(empty ? poll_empty : writes ? rdma_write : message)();
	pair_close();
	return 0;
}
