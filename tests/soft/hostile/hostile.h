/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker for tests: a process that speaks the soft provider's handshake on either side without the provider's
 * code, and then does what no provider does. It has an arena of its own, laid out as a real one is, and maps the whole
 * arena of its victim, as every real peer could.
 *
 * The attacker runs in a process of its own (check_fork), so that its victim is the test, or another fork of it. What
 * fails here fails the test: every function REQUIREs that the attack itself works.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>

#include "check.h"
#include "providers/soft/sock.h"

/* The attacker's own arena. */
struct hostile_memory {
	int fd;
	size_t size;
	unsigned char *at;
	struct soft_header *header;
	struct soft_mr *mr;
	struct soft_ring *ring; /* for receives and requests */
	struct soft_port *port;
	struct soft_layout layout;
};

/* How the attacker's arena is made. */
#define HOSTILE_ROOM (1ull << 40) /* the length of the file of HOSTILE_ROOMY, in bytes */
enum hostile_arena {
	HOSTILE_GOOD,	/* as the provider makes its own */
	HOSTILE_HUGE,	/* sealed, but of huge pages, of which there may be none */
	HOSTILE_ROOMY,	/* it has room for all that an arena may hold, and can grow */
};

/* The second descriptor that comes with a message that carries the arena. */
enum hostile_bell {
	HOSTILE_NO_BELL,
	HOSTILE_PIPE_WITHOUT_READER,
	HOSTILE_FULL_PIPE, /* a write to it blocks */
	HOSTILE_FULL_COUNTER, /* an eventfd to which a write blocks */
	HOSTILE_BELLS,
};

struct hostile {
	struct hostile_memory own;
	uint64_t id[2];
	uint64_t probe; /* where the victim is told to read a word: the address of `id`, unless that is changed */
	int bell;
	int listener, fd;
	struct soft_msg theirs; /* the victim's REQ or REP */
	int their_fd;		/* its arena */
	unsigned char *their_at;
	size_t their_size;
	uint32_t pages[4096]; /* the pages of the arena that are in use */
	uint32_t page_count, page_age;
	uint32_t messages; /* sent by hostile_work() */
};

void hostile_make(struct hostile *h, enum hostile_arena arena, enum hostile_bell bell);
void hostile_close(struct hostile *h); /* hangs up, too */

/* The active side. The victim listens at the qualifier. */
int hostile_reach(uint64_t qual); /* a socket that is connected to the listener, and has said nothing */
void hostile_request(struct hostile *h, uint64_t qual);
/* Reaches the listener, and makes the request, for the caller to change and to say. */
void hostile_begin_request(struct hostile *h, uint64_t qual, struct soft_msg *msg);
void hostile_await_answer(struct hostile *h); /* REP, which brings the victim's arena */
void hostile_confirm(struct hostile *h);
void hostile_connect(struct hostile *h, uint64_t qual); /* the three above */
/*
 * The same, for an arena that is HOSTILE_ROOMY: the confirmation names a mailbox in it, whose questions the victim's bounce thread
 * answers from then on. Returns the mailbox.
 */
struct soft_mailbox *hostile_connect_with_mailbox(struct hostile *h, uint64_t qual);

/* The mailbox in which the victim asks the attacker to copy, if the kernel does not: the victim's REP or RTU says where it is. */
struct soft_mailbox *hostile_mailbox_of_victim(const struct hostile *h, const struct soft_ref *ref);
void hostile_answer(struct soft_mailbox *asks); /* says that the victim's question has been done, and wakes the victim */

/* The passive side. The victim connects to the qualifier. */
void hostile_listen(struct hostile *h, uint64_t qual);
void hostile_await_request(struct hostile *h); /* REQ, which brings the victim's arena */
void hostile_accept(struct hostile *h);
void hostile_await_confirmation(struct hostile *h);

/* Sends the message or the bytes unchanged; if `memory` is set, with the descriptors of the attacker's arena and bell. */
void hostile_message(const struct hostile *h, struct soft_msg *msg, enum soft_msg_type type);
bool hostile_say(struct hostile *h, const void *bytes, size_t size, bool memory);
bool hostile_hear(struct hostile *h, struct soft_msg *msg); /* false: the victim has hung up */
void hostile_disconnect(struct hostile *h); /* says so; the socket stays open */
void hostile_hangup(struct hostile *h);
bool hostile_is_hung_up_on(int fd, int ms); /* within that time */

/*
 * The attacker's regions, 1 to HOSTILE_REGIONS, all of the same memory, which has one address in every process that
 * was forked off the test.
 */
#define HOSTILE_REGIONS	   16u
#define HOSTILE_CONTEXT(i) ((uint32_t)(i) << SOFT_MR_GEN_BITS | 1u)
#define HOSTILE_DATA	   262144u
extern unsigned char hostile_data[HOSTILE_DATA];

/*
 * Does what a real peer might do next: posts receives, and writes a message into the victim's ring or leaves a request for the
 * victim to execute. All values are plausible, because they are found in the victim's arena, but they may be wrong.
 */
void hostile_work(struct hostile *h, unsigned int *seed);

/*
 * hostile_reserve() reserves a cell of the victim's ring, as a sender does, and returns the cell's position. hostile_publish()
 * writes a message of 8 bytes there and publishes it, at any later time.
 */
uint64_t hostile_reserve(struct hostile *h);
uint64_t hostile_reserve_as(struct hostile *h, uint32_t sender_id); /* as if another sender did */
/* Moves the tail of the victim's ring and all reservations in it forward by so many laps, or back. */
void hostile_set_ring(struct hostile *h, int64_t laps);
void hostile_publish(struct hostile *h, uint64_t position);

/* Requests the victim's service thread in the victim's ring, as a sender to an SRQ does, but does not wake it. */
void hostile_ask(struct hostile *h);

/* Puts the victim's port on the ready list, as a sender does, so that the victim's next poll looks for requests; wakes nobody. */
void hostile_mark_ready(struct hostile *h);

/* Adds to the count of requests that the victim has posted to the connection: it finds more of them there, or fewer. */
void hostile_miscount(struct hostile *h, uint32_t more);

/* Says that the requests of the victim before the position `done` have been executed. */
void hostile_claim(struct hostile *h, uint32_t done);

/* Parts of the victim's arena: its header, and the ring of its receives. */
struct soft_header *hostile_header_of_victim(struct hostile *h);
struct soft_ring *hostile_ring_of_victim(struct hostile *h);

/* What the victim has posted over the connection, at that position from the begin of the connection on. */
struct soft_sqe *hostile_request_of_victim(struct hostile *h, uint32_t seq);
struct soft_desc *hostile_receive_of_victim(struct hostile *h, uint32_t msg);

/* Writes over one word of what the two share, or a few of them, as the seed says. */
void hostile_scribble(struct hostile *h, unsigned int *seed);

/* Requests all wake-ups, and marks all that has been sent as received, so that the victim never has to wait. */
void hostile_want_all(struct hostile *h);

#endif
