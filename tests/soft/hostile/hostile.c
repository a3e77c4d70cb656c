/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacker's memory, and its side of the handshake. What it says of itself is plausible, so that the victim accepts
 * it as a peer. What it does after that depends on the test.
 */
#include "hostile.h"

#include "providers/soft/cq.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CELLS	 1024u
#define ENTRIES	 64u
#define SLOTS	 64u
#define SLOT	 ((uint32_t)SOFT_EAGER_DEFAULT)
#define SEALS	 (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define HUGE_MIN (2u << 20)
#define BEHIND	 (4u << 20)

unsigned char hostile_data[HOSTILE_DATA];

static size_t align(size_t at)
{
	return (at + 4095) & ~(size_t)4095;
}

/* ------------------------------------------------------------------ memory */

static void file_make(struct hostile_memory *m, enum hostile_arena arena)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	uint64_t size;

	if (arena == HOSTILE_HUGE) {
		flags |= MFD_HUGETLB;
		m->size = (m->size + HUGE_MIN - 1) & ~(size_t)(HUGE_MIN - 1);
	}
	m->fd = memfd_create("hostile", flags);
	if (m->fd < 0 && arena == HOSTILE_HUGE)
		check_skip("this kernel has no huge pages");
	REQUIRE(m->fd >= 0);
	/* as much behind each part as an adapter makes for it at once */
	size = arena == HOSTILE_ROOMY ? HOSTILE_ROOM : m->size + BEHIND;
	REQUIRE(ftruncate(m->fd, (off_t)((size + HUGE_MIN - 1) & ~(uint64_t)(HUGE_MIN - 1))) == 0);
	REQUIRE(fcntl(m->fd, F_ADD_SEALS, arena == HOSTILE_ROOMY ? F_SEAL_SHRINK : SEALS) == 0);
}

/* Fills in regions, and posts receives for everything that may come. */
static void memory_fill(struct hostile_memory *m)
{
	for (uint32_t i = 1; i <= HOSTILE_REGIONS; i++) {
		atomic_store(&m->mr[i].addr, (uintptr_t)hostile_data);
		atomic_store(&m->mr[i].len, HOSTILE_DATA);
		atomic_store(&m->mr[i].priv, DAT_MEM_PRIV_ALL_FLAG);
		atomic_store(&m->mr[i].rmr_gen, 1);
		atomic_store(&m->mr[i].context, HOSTILE_CONTEXT(i));
	}
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct soft_desc *desc = soft_port_desc(m->port, &m->layout, i);

		desc->n = 1;
		desc->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1), 0, (uintptr_t)hostile_data, HOSTILE_DATA };
	}
}

/* Returns the reference to a part of the arena. Each part begins at a page, so it can be an extent of its own. */
static struct soft_ref ref_of(const struct hostile_memory *m, const void *at, size_t size)
{
	return (struct soft_ref){ (uint64_t)((const unsigned char *)at - m->at), align(size), 0 };
}

static void memory_lay_out(struct hostile_memory *m, size_t mr, size_t slots, size_t ring, size_t port)
{
	m->header = (struct soft_header *)(void *)m->at;
	m->mr = (struct soft_mr *)(void *)(m->at + mr);
	m->ring = (struct soft_ring *)(void *)(m->at + ring);
	m->port = (struct soft_port *)(void *)(m->at + port);
	m->header->version = SOFT_SHM_VERSION;
	m->header->slot_count = SLOTS;
	m->header->slot_size = SLOT;
	m->header->mr = ref_of(m, m->mr, SOFT_MR_COUNT * sizeof(struct soft_mr));
	m->header->slots = ref_of(m, m->at + slots, SLOTS * (sizeof(struct soft_slot) + SLOT));
	m->ring->mask = CELLS - 1;
	m->port->open = 1;
	m->port->exec_lock = SOFT_EXEC_NEXT(0, 1); /* the victim may execute requests */
	memory_fill(m);
}

static void memory_make(struct hostile_memory *m, enum hostile_arena arena)
{
	const uint32_t rq = sizeof(struct soft_desc) + SOFT_MAX_IOV * sizeof(struct datp_sge);
	const uint32_t sq = sizeof(struct soft_sqe) + SOFT_MAX_IOV * sizeof(struct datp_sge);
	size_t mr = 4096, slots = mr + SOFT_MR_COUNT * sizeof(struct soft_mr);
	size_t ring = align(slots + SLOTS * (sizeof(struct soft_slot) + SLOT));
	size_t port = align(ring + soft_ring_size(CELLS)), queues = align(port + sizeof(struct soft_port));

	m->size = align(queues + (rq + sq) * ENTRIES);
	m->layout = (struct soft_layout){ .rq_mask = ENTRIES - 1,
					  .rq_stride = rq,
					  .sq_mask = ENTRIES - 1,
					  .sq_stride = sq,
					  .rq_offset = queues - port,
					  .sq_offset = queues - port + rq * ENTRIES };
	file_make(m, arena);
	/* there may be no huge pages, so the attacker does not write to the file of those, but to other memory */
	m->at = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
		     arena == HOSTILE_HUGE ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
		     arena == HOSTILE_HUGE ? -1 : m->fd, 0);
	REQUIRE(m->at != MAP_FAILED);
	memory_lay_out(m, mr, slots, ring, port);
}

static int bell_make(enum hostile_bell bell)
{
	static const char full[65536];
	uint64_t most = UINT64_MAX - 1;
	int fds[2] = { -1, -1 };

	if (bell == HOSTILE_FULL_COUNTER) {
		fds[1] = eventfd(0, EFD_CLOEXEC);
		REQUIRE(write(fds[1], &most, sizeof(most)) == (ssize_t)sizeof(most));
	} else if (bell != HOSTILE_NO_BELL) {
		REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
	}
	if (bell == HOSTILE_PIPE_WITHOUT_READER)
		close(fds[0]);
	if (bell == HOSTILE_FULL_PIPE) {
		REQUIRE(fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
		while (write(fds[1], full, sizeof(full)) > 0)
			;
		REQUIRE(fcntl(fds[1], F_SETFL, 0) == 0);
	}
	return fds[1];
}

void hostile_make(struct hostile *h, enum hostile_arena arena, enum hostile_bell bell)
{
	memset(h, 0, sizeof(*h));
	h->listener = h->fd = h->their_fd = -1;
	memory_make(&h->own, arena);
	h->bell = bell_make(bell);
	REQUIRE(getrandom(h->id, sizeof(h->id), 0) == (ssize_t)sizeof(h->id));
	h->probe = (uintptr_t)h->id;
}

static void forget_victim(struct hostile *h)
{
	if (h->their_at)
		munmap(h->their_at, h->their_size);
	if (h->their_fd >= 0)
		close(h->their_fd);
	h->their_at = NULL;
	h->their_fd = -1;
}

void hostile_close(struct hostile *h)
{
	hostile_hangup(h);
	forget_victim(h);
	munmap(h->own.at, h->own.size);
	close(h->own.fd);
	if (h->bell >= 0)
		close(h->bell);
	if (h->listener >= 0)
		close(h->listener);
}

/* ------------------------------------------------------------------ the socket */

static socklen_t listener_name(struct sockaddr_storage *sa, uint64_t qual)
{
	const char *realm = getenv("DAT_SOFT_REALM");

	return soft_listener_name(sa, realm ? realm : "", "*", qual);
}

static int reach(uint64_t qual, int flags)
{
	struct sockaddr_storage sa;
	socklen_t len = listener_name(&sa, qual);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, len) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int hostile_reach(uint64_t qual)
{
	int fd = reach(qual, 0);

	REQUIRE(fd >= 0);
	return fd;
}

bool hostile_say(struct hostile *h, const void *bytes, size_t size, bool memory)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };
	int fds[2] = { h->own.fd, h->bell };
	size_t n = h->bell < 0 ? 1 : 2;
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (memory) {
		hdr.msg_control = &control;
		hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	return sendmsg(h->fd, &hdr, MSG_NOSIGNAL) == (ssize_t)size;
}

static void take_descriptors(struct hostile *h, struct msghdr *hdr)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(hdr);
	int fds[4];
	size_t n;

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	forget_victim(h);
	h->their_fd = fds[0];
	while (n > 1)
		close(fds[--n]);
}

bool hostile_hear(struct hostile *h, struct soft_msg *msg)
{
	struct iovec iov = { msg, sizeof(*msg) };
	union {
		struct cmsghdr header;
		unsigned char space[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct pollfd patience = { .fd = h->fd, .events = POLLIN };
	ssize_t got;

	do {
		struct msghdr hdr = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = &control,
				      .msg_controllen = sizeof(control) };

		REQUIRE(poll(&patience, 1, (int)check_patience_ms()) > 0);
		got = recvmsg(h->fd, &hdr, MSG_CMSG_CLOEXEC);
		if (got == (ssize_t)sizeof(*msg))
			take_descriptors(h, &hdr);
	} while (got > 0 && got != (ssize_t)sizeof(*msg)); /* a shorter message only rings the bell */
	return got > 0;
}

void hostile_hangup(struct hostile *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

bool hostile_is_hung_up_on(int fd, int ms)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };

	return poll(&end, 1, ms) > 0 && (end.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

/* ------------------------------------------------------------------ the handshake */

void hostile_message(const struct hostile *h, struct soft_msg *msg, enum soft_msg_type type)
{
	const struct hostile_memory *m = &h->own;

	memset(msg, 0, sizeof(*msg));
	msg->magic = SOFT_MSG_MAGIC;
	msg->version = SOFT_SHM_VERSION;
	msg->type = (uint16_t)type;
	msg->port = h->theirs.my_port;
	msg->gen = h->theirs.my_gen;
	msg->my_port = 0;
	msg->my_gen = 1;
	msg->intro.id[0] = h->id[0];
	msg->intro.id[1] = h->id[1];
	msg->intro.probe = h->probe;
	msg->intro.header = ref_of(m, m->at, 4096);
	msg->intro.sender_id = 1;
	msg->intro.my_sender_id = h->theirs.intro.sender_id;
	msg->port_ref = ref_of(m, m->port, m->size - (size_t)((unsigned char *)m->port - m->at));
	msg->ring_ref = msg->request_ref = ref_of(m, m->ring, soft_ring_size(CELLS));
	msg->layout = m->layout;
	msg->address.ss_family = AF_INET;
}

/* Finds the pages of the victim's arena that are in use, to write to them. */
static void find_pages(struct hostile *h)
{
	off_t data, end = 0;

	h->page_count = 0;
	while ((data = lseek(h->their_fd, end, SEEK_DATA)) >= 0) {
		end = lseek(h->their_fd, data, SEEK_HOLE);
		for (; data < end && (size_t)data < h->their_size; data += 4096)
			if (h->page_count < sizeof(h->pages) / sizeof(*h->pages))
				h->pages[h->page_count++] = (uint32_t)(data / 4096);
	}
}

/* Maps the arena that the victim has just sent, up to its last page in use. */
static void map_victim(struct hostile *h)
{
	off_t data = 0, end = 0;

	REQUIRE(h->their_fd >= 0);
	while ((data = lseek(h->their_fd, end, SEEK_DATA)) >= 0)
		end = lseek(h->their_fd, data, SEEK_HOLE);
	REQUIRE(end > 0);
	h->their_size = (size_t)end;
	h->their_at = mmap(NULL, h->their_size, PROT_READ | PROT_WRITE, MAP_SHARED, h->their_fd, 0);
	REQUIRE(h->their_at != MAP_FAILED);
	find_pages(h);
}

void hostile_begin_request(struct hostile *h, uint64_t qual, struct soft_msg *msg)
{
	h->fd = hostile_reach(qual);
	hostile_message(h, msg, SOFT_MSG_REQ);
	msg->qual = qual;
}

void hostile_disconnect(struct hostile *h)
{
	struct soft_msg msg;

	hostile_message(h, &msg, SOFT_MSG_DISC);
	msg.why = DAT_CONNECTION_EVENT_DISCONNECTED;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
}

void hostile_request(struct hostile *h, uint64_t qual)
{
	struct soft_msg msg;

	hostile_hangup(h);
	memset(&h->theirs, 0, sizeof(h->theirs));
	hostile_begin_request(h, qual, &msg);
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
}

void hostile_await_answer(struct hostile *h)
{
	REQUIRE(hostile_hear(h, &h->theirs));
	REQUIRE_EQ_INT(h->theirs.type, SOFT_MSG_REP);
	map_victim(h);
}

void hostile_confirm(struct hostile *h)
{
	struct soft_msg msg;

	hostile_message(h, &msg, SOFT_MSG_RTU);
	msg.liveness = 1;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
}

void hostile_connect(struct hostile *h, uint64_t qual)
{
	hostile_request(h, qual);
	hostile_await_answer(h);
	hostile_confirm(h);
}

struct soft_mailbox *hostile_connect_with_mailbox(struct hostile *h, uint64_t qual)
{
	const struct soft_ref ref = { 1ull << 33, 1u << 20, 0 };
	struct soft_mailbox *mailbox;
	struct soft_msg msg;

	mailbox = mmap(NULL, ref.extent_len, PROT_READ | PROT_WRITE, MAP_SHARED, h->own.fd, (off_t)ref.extent);
	REQUIRE(mailbox != MAP_FAILED);
	hostile_request(h, qual);
	hostile_await_answer(h);
	hostile_message(h, &msg, SOFT_MSG_RTU);
	msg.liveness = 1;
	msg.mailbox = ref;
	REQUIRE(hostile_say(h, &msg, sizeof(msg), false));
	return mailbox;
}

struct soft_mailbox *hostile_mailbox_of_victim(const struct hostile *h, const struct soft_ref *ref)
{
	unsigned char *at;

	REQUIRE(ref->extent_len != 0);
	at = mmap(NULL, ref->extent_len, PROT_READ | PROT_WRITE, MAP_SHARED, h->their_fd, (off_t)ref->extent);
	REQUIRE(at != MAP_FAILED);
	return (struct soft_mailbox *)(void *)(at + ref->offset);
}

void hostile_answer(struct soft_mailbox *asks)
{
	asks->error = 0;
	atomic_store(&asks->state, SOFT_MAILBOX_DONE);
	syscall(SYS_futex, &asks->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void hostile_listen(struct hostile *h, uint64_t qual)
{
	struct sockaddr_storage sa;
	socklen_t len = listener_name(&sa, qual);

	h->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	REQUIRE(h->listener >= 0);
	REQUIRE(bind(h->listener, (struct sockaddr *)&sa, len) == 0);
	REQUIRE(listen(h->listener, 16) == 0);
}

void hostile_await_request(struct hostile *h)
{
	struct pollfd patience = { .fd = h->listener, .events = POLLIN };

	hostile_hangup(h);
	REQUIRE(poll(&patience, 1, (int)check_patience_ms()) > 0);
	h->fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
	REQUIRE(h->fd >= 0);
	REQUIRE(hostile_hear(h, &h->theirs));
	REQUIRE_EQ_INT(h->theirs.type, SOFT_MSG_REQ);
	map_victim(h);
}

void hostile_accept(struct hostile *h)
{
	struct soft_msg msg;

	hostile_message(h, &msg, SOFT_MSG_REP);
	REQUIRE(hostile_say(h, &msg, sizeof(msg), true));
}

void hostile_await_confirmation(struct hostile *h)
{
	struct soft_msg msg;

	REQUIRE(hostile_hear(h, &msg));
	REQUIRE_EQ_INT(msg.type, SOFT_MSG_RTU);
}

/* ------------------------------------------------------------------ what it writes */

void hostile_want_all(struct hostile *h)
{
	struct hostile_memory *m = &h->own;

	uint64_t sent = atomic_load(&m->ring->tail);

	atomic_store(&m->ring->taken, sent);
	atomic_store(&m->port->delivered, (uint32_t)sent);
	atomic_store(&m->port->rq_posted, (uint32_t)sent + ENTRIES);
	atomic_store(&m->port->want_wake, 1);
	atomic_store(&m->ring->notify, SOFT_NOTIFY_WAKE);
}

/* Returns a place in the victim's arena, or NULL if it is not mapped here. */
static void *their_place(const struct hostile *h, const struct soft_ref *ref, size_t size)
{
	uint64_t at = ref->extent + ref->offset;

	return !(at % SOFT_LINE) && at < h->their_size && size <= h->their_size - at ? h->their_at + at : NULL;
}

static uint64_t some_length(unsigned int *seed)
{
	static const uint64_t lengths[] = { 0, 8, 88, 4000, 70000, 200000, HOSTILE_DATA + 1, UINT64_MAX - 8 };

	return lengths[(size_t)rand_r(seed) % (sizeof(lengths) / sizeof(*lengths))];
}

/* Returns a region of the victim, as its table of regions has it. */
static struct datp_rge their_region(const struct hostile *h, unsigned int *seed)
{
	const struct soft_header *header = their_place(h, &h->theirs.intro.header, sizeof(*header));
	const struct soft_mr *mr = header ? their_place(h, &header->mr, 64 * sizeof(*mr)) : NULL;
	uint32_t i = 1 + (uint32_t)rand_r(seed) % 4;

	if (!mr)
		return (struct datp_rge){ 0, 0, 0, 0 };
	return (struct datp_rge){ mr[i].context, 0, mr[i].addr + (uint64_t)rand_r(seed) % 3 * 4096,
				  some_length(seed) };
}

#define THEIR_MASK 127u /* of the smallest ring */

struct soft_header *hostile_header_of_victim(struct hostile *h)
{
	return their_place(h, &h->theirs.intro.header, sizeof(struct soft_header));
}

struct soft_ring *hostile_ring_of_victim(struct hostile *h)
{
	return their_place(h, &h->theirs.ring_ref, soft_ring_size(THEIR_MASK + 1));
}

uint64_t hostile_reserve_as(struct hostile *h, uint32_t sender_id)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	uint64_t position = 0;

	REQUIRE(ring && ring->mask == THEIR_MASK);
	REQUIRE(soft_ring_reserve(ring, THEIR_MASK, sender_id, &position) != NULL);
	return position;
}

uint64_t hostile_reserve(struct hostile *h)
{
	return hostile_reserve_as(h, h->theirs.intro.sender_id);
}

void hostile_set_ring(struct hostile *h, int64_t laps)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	uint64_t by = (uint64_t)laps * (THEIR_MASK + 1);

	REQUIRE(ring && ring->mask == THEIR_MASK);
	for (uint32_t i = 0; i <= THEIR_MASK; i++)
		atomic_fetch_add(&soft_ring_reservations(ring, THEIR_MASK)[i], SOFT_RESERVED(by, 0));
	atomic_fetch_add(&ring->tail, by);
}

void hostile_publish(struct hostile *h, uint64_t position)
{
	struct soft_cell *cell = &hostile_ring_of_victim(h)->cell[position & THEIR_MASK];

	memset(cell->data, 0xee, 8);
	cell->port = h->theirs.my_port;
	cell->gen = h->theirs.my_gen;
	cell->len = 8;
	cell->kind = SOFT_CELL_MESSAGE;
	cell->flags = 0;
	soft_ring_publish(cell, position);
}

void hostile_ask(struct hostile *h)
{
	atomic_store(&hostile_ring_of_victim(h)->service, SOFT_SERVICE_WANTED);
}

static struct soft_port *their_port(struct hostile *h)
{
	struct soft_port *their = their_place(h, &h->theirs.port_ref, sizeof(*their));

	REQUIRE(their != NULL);
	return their;
}

void hostile_miscount(struct hostile *h, uint32_t more)
{
	atomic_fetch_add(&their_port(h)->sq_posted, more);
}

void hostile_claim(struct hostile *h, uint32_t done)
{
	atomic_store(&their_port(h)->sq_done, done);
}

/* Puts the victim's port on the ready list of its ring. */
static void mark_ready(const struct hostile *h, struct soft_ring *ring, struct soft_port *their)
{
	uint32_t head = atomic_load(&ring->ready_list);

	if (atomic_exchange(&their->ready_link[SOFT_SIDE_RECV].queued, 1))
		return;
	do
		atomic_store(&their->ready_link[SOFT_SIDE_RECV].next, head);
	while (!atomic_compare_exchange_weak(&ring->ready_list, &head, (h->theirs.my_port << 1) + 1));
}

void hostile_mark_ready(struct hostile *h)
{
	mark_ready(h, hostile_ring_of_victim(h), their_port(h));
}

struct soft_sqe *hostile_request_of_victim(struct hostile *h, uint32_t seq)
{
	return soft_port_sqe(their_port(h), &h->theirs.layout, seq);
}

struct soft_desc *hostile_receive_of_victim(struct hostile *h, uint32_t msg)
{
	return soft_port_desc(their_port(h), &h->theirs.layout, h->theirs.layout.rq_base + msg);
}

static void work_message(struct hostile *h, unsigned int *seed)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	struct soft_cell *cell;
	uint64_t at;

	if (!ring)
		return;
	at = atomic_load(&ring->tail);
	cell = &ring->cell[at & THEIR_MASK];
	cell->port = h->theirs.my_port;
	cell->gen = h->theirs.my_gen;
	cell->msg = h->messages++;
	cell->len = (uint32_t)some_length(seed);
	cell->kind = (uint16_t)(rand_r(seed) % 8 ? SOFT_CELL_MESSAGE : rand_r(seed));
	cell->flags = (uint16_t)(rand_r(seed) % 4);
	cell->slot = (uint32_t)rand_r(seed) % (2 * SLOTS);
	cell->from = h->theirs.intro.sender_id;
	atomic_store(&soft_ring_reservations(ring, THEIR_MASK)[at & THEIR_MASK], SOFT_RESERVED(at, h->theirs.intro.sender_id));
	atomic_store(&ring->tail, at + 1);
	atomic_store(&cell->ready, at + 1);
}

static void work_request(struct hostile *h, unsigned int *seed)
{
	struct soft_ring *ring = hostile_ring_of_victim(h);
	struct soft_port *their = their_place(h, &h->theirs.port_ref, sizeof(*their)), *port = h->own.port;
	uint32_t seq = atomic_load(&port->sq_posted);
	struct soft_sqe *e = soft_port_sqe(port, &h->own.layout, seq);

	if (!ring || !their)
		return;
	e->op = (uint8_t)(rand_r(seed) % 6);
	e->n = rand_r(seed) % 16 ? 1 : (uint32_t)rand_r(seed);
	e->msg = h->messages;
	e->remote = their_region(h, seed);
	e->len = rand_r(seed) % 4 ? e->remote.len : some_length(seed);
	e->sge[0] = (struct datp_sge){ HOSTILE_CONTEXT(1 + rand_r(seed) % 20), 0, (uintptr_t)hostile_data, e->len };
	h->messages += e->op == DATP_SEND;
	atomic_store(&port->sq_posted, seq + 1);
	atomic_store(&port->waits, 1);
	mark_ready(h, ring, their);
}

void hostile_work(struct hostile *h, unsigned int *seed)
{
	hostile_want_all(h);
	if (rand_r(seed) % 2)
		work_message(h, seed);
	else
		work_request(h, seed);
}

/* Returns a number that is near to the present one, or at an end of some range. */
static uint64_t odd_number(uint64_t was, unsigned int *seed)
{
	switch (rand_r(seed) % 6) {
	case 0:
		return was + (uint64_t)(rand_r(seed) % 5) - 2;
	case 1:
		return was ^ 1ull << rand_r(seed) % 64;
	case 2:
		return 0;
	case 3:
		return UINT64_MAX;
	case 4:
		return (uint64_t)rand_r(seed);
	default:
		return (uint64_t)rand_r(seed) << 33 | (uint64_t)rand_r(seed);
	}
}

/* Writes over a word, mostly one that is in use, that is, not zero. */
static void scribble_at(unsigned char *at, size_t size, unsigned int *seed)
{
	_Atomic uint64_t *word;
	size_t where = 0;

	for (int tries = 0; tries < 64; tries++) {
		where = ((size_t)rand_r(seed) << 12 ^ (size_t)rand_r(seed)) % (size / 8);
		word = (_Atomic uint64_t *)(void *)(at + where * 8);
		if (atomic_load_explicit(word, memory_order_relaxed))
			break;
	}
	word = (_Atomic uint64_t *)(void *)(at + where * 8);
	if (rand_r(seed) % 2)
		atomic_store_explicit(word, odd_number(*word, seed), memory_order_relaxed);
	else /* one half */
		atomic_store_explicit((_Atomic uint32_t *)(void *)word + rand_r(seed) % 2,
				      (uint32_t)odd_number(*word, seed), memory_order_relaxed);
}

/* Writes into a part of the attacker's arena, of which most is unused. */
static void scribble_own(struct hostile_memory *m, unsigned int *seed)
{
	size_t ring = (size_t)((unsigned char *)m->ring - m->at);

	switch (rand_r(seed) % 4) {
	case 0:
		scribble_at(m->at, sizeof(*m->header), seed);
		break;
	case 1:
		scribble_at((unsigned char *)m->mr, 64 * sizeof(*m->mr), seed);
		break;
	case 2:
		scribble_at((unsigned char *)m->ring, sizeof(*m->ring) + 4 * sizeof(m->ring->cell[0]), seed);
		break;
	default:
		scribble_at(m->at + ring, m->size - ring, seed);
	}
}

void hostile_scribble(struct hostile *h, unsigned int *seed)
{
	if (h->page_age++ % 64 == 63)
		find_pages(h);
	if (rand_r(seed) % 3 && h->page_count)
		scribble_at(h->their_at + (size_t)h->pages[(uint32_t)rand_r(seed) % h->page_count] * 4096,
			    4096, seed);
	else
		scribble_own(&h->own, seed);
}
