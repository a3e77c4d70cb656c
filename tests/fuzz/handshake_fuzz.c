/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for the handshake of the soft provider, on either side. The first byte of an input says which side
 * the attacker is on. The rest is messages. Each has a byte with its type, a byte with flags and the number of changes,
 * and the changes, which are made to a correct message: a place, a length and the bytes to write there.
 *
 * Invariant checked: whatever is said, an attempt and an accept end with an event once the attacker has hung up, and the
 * endpoint can be reset and used again.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "tests/soft/hostile/hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define DEMAND(x) do { if (!(x)) { fprintf(stderr, "demanded: %s\n", #x); abort(); } } while (0)

#define OTHER_QUAL  77
#define MESSAGES    4
#define PATIENCE_US 5000000 /* for an event that has to come */

enum { ACTIVE_VICTIM = 1, REJECT = 2 };		     /* bits of the first byte */
enum { WITH_MEMORY = 1, WAIT = 2, CHANGES_SHIFT = 2 }; /* bits of a message's second byte */

struct input {
	const uint8_t *at, *end;
};

static struct {
	DAT_IA_HANDLE ia;
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE cr, conn, dto;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	struct hostile h;
	bool accepted;
} fuzz;

/* ------------------------------------------------------------------ what the attacker asks of the harness */

void check_true(bool ok, bool fatal, const char *text, const char *file, unsigned int line)
{
	if (ok || !fatal)
		return;
	fprintf(stderr, "%s:%u: %s\n", file, line, text);
	abort();
}

void check_int(long long got, long long want, bool fatal, const char *text, const char *file, unsigned int line)
{
	check_true(got == want, fatal, text, file, line);
}

void check_skip(const char *reason)
{
	(void)reason;
	abort();
}

unsigned int check_patience_ms(void)
{
	return PATIENCE_US / 1000;
}

/* ------------------------------------------------------------------ input */

static unsigned int take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static void change(struct input *in, struct soft_msg *msg)
{
	size_t place = take(in) | (size_t)take(in) << 8, length = take(in) % 16 + 1;

	for (; length; length--)
		((unsigned char *)msg)[place++ % sizeof(*msg)] = (unsigned char)take(in);
}

/* ------------------------------------------------------------------ the attacker */

/* Accepts or rejects a connection request. Returns false if no request has come. */
static bool answer_request(bool reject)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (dat_evd_dequeue(fuzz.cr, &event) != DAT_SUCCESS)
		return false;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	if (reject || fuzz.accepted || dat_cr_accept(cr, fuzz.ep, 0, NULL) != DAT_SUCCESS)
		(void)dat_cr_reject(cr);
	else
		fuzz.accepted = true;
	return true;
}

/* Waits for a message of the victim, for 20 ms at most; the victim may have to answer a connection request first. */
static void await_answer(bool reject)
{
	struct soft_msg msg;

	for (int i = 0; i < 20; i++) {
		struct pollfd fd = { .fd = fuzz.h.fd, .events = POLLIN };

		(void)answer_request(reject);
		if (poll(&fd, 1, 1) <= 0)
			continue;
		if (hostile_hear(&fuzz.h, &msg) && msg.type == SOFT_MSG_REP)
			fuzz.h.theirs = msg;
		return;
	}
}

static void talk(struct input *in, bool reject)
{
	for (int n = 0; n < MESSAGES && in->at < in->end; n++) {
		unsigned int type = take(in) % 9, how = take(in);
		struct soft_msg msg;

		hostile_message(&fuzz.h, &msg, (enum soft_msg_type)type);
		msg.qual = fuzz.qual;
		for (unsigned int i = how >> CHANGES_SHIFT & 3; i; i--)
			change(in, &msg);
		if (!hostile_say(&fuzz.h, &msg, sizeof(msg), how & WITH_MEMORY))
			return;
		if (how & WAIT)
			await_answer(reject);
	}
}

/* ------------------------------------------------------------------ the victim */

static bool connection_event(DAT_TIMEOUT timeout, DAT_EVENT_NUMBER *number)
{
	DAT_EVENT event;
	DAT_RETURN rc;
	DAT_COUNT more;

	/* libFuzzer's alarm goes off every few seconds, and a signal ends a wait */
	do
		rc = dat_evd_wait(fuzz.conn, timeout, 1, &event, &more);
	while (DAT_GET_TYPE(rc) == DAT_INTERRUPTED_CALL);
	if (rc != DAT_SUCCESS)
		return false;
	*number = event.event_number;
	return true;
}

/* Checks that the attempt or connection ends, after the attacker has hung up, and that the endpoint can be reset. */
static void want_the_end(void)
{
	DAT_EVENT_NUMBER number;

	DEMAND(connection_event(PATIENCE_US, &number));
	if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		(void)dat_ep_disconnect(fuzz.ep, DAT_CLOSE_ABRUPT_FLAG);
		DEMAND(connection_event(PATIENCE_US, &number));
	}
	DEMAND(dat_ep_reset(fuzz.ep) == DAT_SUCCESS);
}

static void as_listener(struct input *in, bool reject)
{
	fuzz.accepted = false;
	memset(&fuzz.h.theirs, 0, sizeof(fuzz.h.theirs));
	fuzz.h.fd = hostile_reach(fuzz.qual);
	talk(in, reject);
	hostile_hangup(&fuzz.h);
	while (answer_request(reject))
		;
	if (fuzz.accepted)
		want_the_end();
}

static void as_client(struct input *in)
{
	DEMAND(dat_ep_connect(fuzz.ep, fuzz.attr.ia_address_ptr, OTHER_QUAL, PATIENCE_US / 5, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS);
	hostile_await_request(&fuzz.h);
	talk(in, false);
	hostile_hangup(&fuzz.h);
	want_the_end();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char name[] = "fuzz";
	const DAT_PROVIDER_INFO info = { .ia_name = "fuzz", .dapl_version_major = 1, .dapl_version_minor = 2 };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	char realm[24];

	(void)argc, (void)argv;
	snprintf(realm, sizeof(realm), "fuzz-%d", (int)getpid());
	setenv("DAT_SOFT_REALM", realm, 1);
	setenv("DAT_LOG", "none", 1);
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	dat_provider_init(&info, "handshake_timeout=1000 peer_timeout=100");
	DEMAND(dat_ia_open(name, 8, &async, &fuzz.ia) == DAT_SUCCESS);
	DEMAND(dat_ia_query(fuzz.ia, NULL, DAT_IA_FIELD_ALL, &fuzz.attr, 0, NULL) == DAT_SUCCESS);
	DEMAND(dat_pz_create(fuzz.ia, &pz) == DAT_SUCCESS);
	DEMAND(dat_evd_create(fuzz.ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &fuzz.cr) == DAT_SUCCESS);
	DEMAND(dat_evd_create(fuzz.ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &fuzz.conn) == DAT_SUCCESS);
	DEMAND(dat_evd_create(fuzz.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &fuzz.dto) == DAT_SUCCESS);
	DEMAND(dat_ep_create(fuzz.ia, pz, fuzz.dto, fuzz.dto, fuzz.conn, NULL, &fuzz.ep) == DAT_SUCCESS);
	fuzz.qual = 4711;
	DEMAND(dat_psp_create(fuzz.ia, fuzz.qual, fuzz.cr, DAT_PSP_CONSUMER_FLAG, &psp) == DAT_SUCCESS);
	hostile_make(&fuzz.h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_listen(&fuzz.h, OTHER_QUAL);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	unsigned int how = take(&in);

	if (how & ACTIVE_VICTIM)
		as_client(&in);
	else
		as_listener(&in, how & REJECT);
	return 0;
}
