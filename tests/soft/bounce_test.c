/* SPDX-License-Identifier: BSD-2-Clause */
/* The bounce path between two processes: what is asked of a bounce thread, its answers, and a peer that is dead and gives none. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "providers/soft/arena.h"
#include "providers/soft/bounce.h"
#include "providers/soft/mr.h"
#include "providers/soft/peer.h"
#include "providers/soft/port.h"
#include "providers/soft/recv.h"
#include "providers/soft/request.h"
#include "providers/soft/send.h"
#include "providers/soft/sock.h"
#include "providers/soft/window.h"

#define ROOM  (1u << 20)
#define SLOTS 16
#define FAILED_BINDS 500u

/* Two IAs over one arena. The one in the test asks, and the bounce thread of the one in a forked peer answers. */
static struct {
	struct soft_ia *here, *there;
	struct soft_peer peer; /* `there`, as seen from here */
	struct soft_peer back; /* `here`, as seen from there */
	struct soft_socket link;
	struct soft_mem header;
	struct soft_ref mailbox;
	struct soft_pz pz, other_pz;
	struct soft_lmr lmr; /* the region of all of `memory`, registered at `there` */
	struct soft_ep asker, owner; /* a connection between the two */
	int far_end;	       /* of the link */
	unsigned char *memory; /* each process has a copy after the fork; the peer's copy is the one that is accessed */
	unsigned char *local;
	pid_t pid;
} t;

static void register_at_there(struct soft_lmr *lmr, unsigned char *at, size_t len,
			      DAT_MEM_PRIV_FLAGS priv)
{
	memset(lmr, 0, sizeof(*lmr));
	lmr->base.obj.ia = &t.there->base;
	lmr->base.pz = &t.pz.base;
	lmr->base.addr = (uintptr_t)at;
	lmr->base.len = len;
	lmr->base.priv = priv;
	REQUIRE(soft_lmr_add(&lmr->base, 0) == DATP_OK);
}

static void make(struct soft_ep *ep, struct soft_ia *ia)
{
	ep->base.obj.ia = &ia->base;
	ep->base.pz = &t.pz.base;
	ep->base.attr.max_recv_dtos = ep->base.attr.max_request_dtos = SLOTS;
	ep->base.attr.max_recv_iov = ep->base.attr.max_request_iov = 2;
	REQUIRE(soft_ep_create(&ep->base) == DATP_OK);
	REQUIRE(soft_posted_alloc(&ep->requests) == DATP_OK);
	soft_port_begin(ep);
}

static void unmake(struct soft_ep *ep)
{
	soft_posted_fini(&ep->receives);
	soft_posted_fini(&ep->requests);
}

/* Connects the endpoint to the other one: sets the fields that soft_ep_open() sets. */
static void join(struct soft_ep *ep, struct soft_ep *to, struct soft_peer *peer)
{
	ep->peer = peer;
	ep->rport = to->port;
	ep->rlayout = to->layout;
	ep->rindex = to->index;
	ep->rgen = to->gen;
	ep->open = true;
	atomic_store(&ep->bounce_gen, ep->gen);
	atomic_store(&ep->port->open, ep->gen);
}

/* Marks all requests of the queues as posted. Each question writes the request that it is about. */
static void connect_both(void)
{
	t.pz.id = 7;
	t.other_pz.id = 8;
	make(&t.asker, t.here);
	make(&t.owner, t.there);
	t.asker.gen += 100; /* each side has generations of its own */
	join(&t.asker, &t.owner, &t.peer);
	join(&t.owner, &t.asker, &t.back);
	atomic_store(&t.asker.port->sq_posted, SLOTS);
}

static void ask_open(void)
{
	int fds[2];

	memset(&t, 0, sizeof(t));
	t.here = calloc(1, sizeof(*t.here));
	t.there = calloc(1, sizeof(*t.there));
	REQUIRE(t.here && t.there);
	REQUIRE(soft_arena_new(&t.here->arena) == DATP_OK);
	t.there->arena = t.here->arena;
	t.here->patience_ms = t.there->patience_ms = 20000;
	REQUIRE(soft_arena_alloc(t.there, SOFT_KIND_OTHER, sizeof(*t.there->header), &t.header) == DATP_OK);
	t.there->header = t.header.addr;
	t.there->id[0] = 42;
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
	t.far_end = fds[1];
	t.link.fd = fds[0];
	t.link.peer = &t.peer;
	t.here->sockets = &t.link;
	t.peer.ia = t.here;
	t.peer.header = t.there->header;
	t.back.ia = t.there;
	t.back.arena = t.here->arena;
	REQUIRE(soft_peer_mailbox(&t.peer, &t.mailbox) == DATP_OK);
	t.memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.local = malloc(ROOM);
	REQUIRE(t.memory != MAP_FAILED && t.local);
	REQUIRE(soft_ports_init(t.there) == DATP_OK && soft_ports_init(t.here) == DATP_OK);
	REQUIRE(soft_mr_init(t.there) == DATP_OK);
	connect_both();
	register_at_there(&t.lmr, t.memory, ROOM, DAT_MEM_PRIV_ALL_FLAG);
}

static void ask_close(void)
{
	munmap(t.memory, ROOM);
	free(t.local);
	close(t.link.fd);
	soft_mr_fini(t.there);
	unmake(&t.asker);
	unmake(&t.owner);
	soft_ports_fini(t.there);
	soft_ports_fini(t.here);
	soft_arena_put(t.here->arena);
	free(t.there);
	free(t.here);
}

/* ------------------------------------------------------------------ the peer */

static void answer(void *arg)
{
	(void)arg;
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

static void be_silent(void *arg)
{
	(void)arg;
	check_signal(CHECK_PARENT);
	pause();
}

/* As answer(), and polls the last byte of the data: when that has arrived, all of them must be there. */
static void answer_and_poll(void *arg)
{
	size_t len = *(size_t *)arg;

	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	check_signal(CHECK_PARENT);
	for (unsigned char n = 1; n < 100; n++) {
		while (__atomic_load_n(&t.memory[len - 1], __ATOMIC_ACQUIRE) != n)
			sched_yield();
		for (size_t i = 0; i < len; i++)
			REQUIRE_EQ_INT(t.memory[i], n);
		check_signal(CHECK_PARENT);
	}
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/* From now on the kernel refuses to write to memory of processes: to this thread and those that it starts, or to all. */
static void refuse_writev(bool all_threads)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (all_threads)
		REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
	else
		REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* `*arg` says whether the filter comes before the bounce thread exists. */
static void answer_when_writev_is_refused(void *arg)
{
	bool before = *(bool *)arg;

	if (before) {
		refuse_writev(false);
		CHECK(!soft_xfer_allowed());
	}
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	if (!before)
		refuse_writev(true);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

static void start(void (*run)(void *arg), void *arg)
{
	t.pid = check_fork(run, arg);
	close(t.far_end);
	check_await(t.pid);
}

static void finish(void)
{
	check_signal(t.pid);
	check_join(t.pid);
}

/* ------------------------------------------------------------------ questions */

/* The request in a slot of the asker's queue. */
static struct soft_sqe *request(uint32_t slot, enum datp_op op, unsigned char *remote, size_t len)
{
	struct soft_sqe *e = soft_port_sqe(t.asker.port, &t.asker.layout, slot);

	memset(e, 0, sizeof(*e));
	e->op = op;
	e->len = len;
	e->remote = (struct datp_rge){ .rmr_context = t.lmr.base.rmr_context,
				       .addr = (uintptr_t)remote };
	return e;
}

static struct soft_right right_of(uint32_t slot, bool initiator)
{
	return (struct soft_right){ .open = &t.owner.port->open,
				    .gen = t.owner.gen,
				    .port = t.owner.index,
				    .seq = slot,
				    .initiator = initiator };
}

/* Asks for the memory of the request in that slot, which is used as it is. */
static int ask_for(uint32_t slot, bool write, unsigned char *local, size_t len)
{
	struct soft_right right = right_of(slot, true);
	struct soft_list l;

	soft_list_one(&l, (uintptr_t)local, len);
	return soft_bounce_ask(&t.peer, write, write, &l, &right, len);
}

static int ask_from(uint32_t slot, bool write, unsigned char *local, unsigned char *remote, size_t len)
{
	(void)request(slot, write ? DATP_RDMA_WRITE : DATP_RDMA_READ, remote, len);
	return ask_for(slot, write, local, len);
}

static int ask(bool write, unsigned char *local, unsigned char *remote, size_t len)
{
	return ask_from(0, write, local, remote, len);
}

static void fill(unsigned char *at, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)(i * 31 + i / 256 + seed);
}

static void bytes_travel_both_ways_in_every_length(void)
{
	static const size_t lengths[] = {
		1, 7, 8, 9, 4095, SOFT_MAILBOX_SIZE - 1, SOFT_MAILBOX_SIZE, SOFT_MAILBOX_SIZE + 1, 3 * SOFT_MAILBOX_SIZE + 5,
	};
	unsigned char *back = malloc(ROOM);

	start(answer, NULL);
	for (unsigned int i = 0; i < 9; i++) {
		fill(t.local, lengths[i], i);
		CHECK_EQ_INT(ask(true, t.local, t.memory + i, lengths[i]), 0);
		memset(back, 0, lengths[i]);
		CHECK_EQ_INT(ask(false, back, t.memory + i, lengths[i]), 0);
		CHECK_EQ_MEM(back, t.local, lengths[i]);
	}
	/* the peer's copy of the memory was written, not this one */
	CHECK_EQ_INT(t.memory[0], 0);
	free(back);
	finish();
}

/* Posts a receive of two segments at the side that answers. The peer overwrites what is in the port. */
static void post_receive(unsigned char *first, unsigned char *second, size_t len)
{
	const struct datp_sge list[] = {
		{ .lmr_context = t.lmr.base.lmr_context, .addr = (uintptr_t)first, .len = len },
		{ .lmr_context = t.lmr.base.lmr_context, .addr = (uintptr_t)second, .len = len },
	};

	soft_desc_post(&t.owner, t.owner.layout.rq_base, list, 2);
	soft_port_desc(t.owner.port, &t.owner.layout, t.owner.layout.rq_base)->sge[0].addr = (uintptr_t)t.memory + 9000;
}

static void lists_on_both_sides_are_walked(void)
{
	struct soft_right right = right_of(0, true);
	unsigned char back[3000];
	struct soft_list l;

	post_receive(t.memory, t.memory + 5000, 1500);
	start(answer, NULL);
	fill(t.local, 3000, 5);
	l = (struct soft_list){ .n = 3 };
	l.iov[0] = (struct iovec){ t.local, 1 };
	l.iov[1] = (struct iovec){ t.local + 1, 0 };
	l.iov[2] = (struct iovec){ t.local + 1, 2999 };
	(void)request(0, DATP_SEND, NULL, 3000);
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, true, false, &l, &right, 3000), 0);
	CHECK_EQ_INT(ask(false, back, t.memory, 1500), 0);
	CHECK_EQ_INT(ask(false, back + 1500, t.memory + 5000, 1500), 0);
	CHECK_EQ_MEM(back, t.local, 3000);
	/* a receive that is not posted, and one that is too short */
	request(0, DATP_SEND, NULL, 3000)->msg = 1;
	CHECK_EQ_INT(ask_for(0, true, t.local, 3000), EFAULT);
	(void)request(0, DATP_SEND, NULL, 3001);
	CHECK_EQ_INT(ask_for(0, true, t.local, 3001), EFAULT);
	finish();
}

/* Here the target executes a request of the initiator, so the bounce thread of the initiator copies. */
static void target_asks_for_the_initiators_part(void)
{
	struct soft_right right = right_of(0, false);
	const struct datp_sge part = { .lmr_context = t.lmr.base.lmr_context, .addr = (uintptr_t)t.memory, .len = 100 };
	struct soft_list l;

	atomic_store(&t.owner.port->sq_posted, 1);
	soft_request_keep(&t.owner, 0, DATP_SEND, 100, &part, 1);
	fill(t.memory, 100, 3);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	soft_list_one(&l, (uintptr_t)t.local, 100);
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, false, false, &l, &right, 100), 0);
	CHECK_EQ_MEM(t.local, t.memory, 100);
	soft_request_keep(&t.owner, 0, DATP_RDMA_READ, 100, &part, 1);
	fill(t.local, 100, 4);
	soft_list_one(&l, (uintptr_t)t.local, 100);
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, true, false, &l, &right, 100), 0);
	CHECK_EQ_MEM(t.local, t.memory, 100);
	/* the request is done, so its memory must not be accessed any more */
	atomic_store(&t.owner.port->sq_done, 1);
	soft_list_one(&l, (uintptr_t)t.local, 100);
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, true, false, &l, &right, 100), EFAULT);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

static void last_byte_is_seen_last(void)
{
	size_t len = SOFT_MAILBOX_SIZE + 4099;

	start(answer_and_poll, &len);
	for (unsigned char n = 1; n < 100; n++) {
		memset(t.local, n, len);
		REQUIRE_EQ_INT(ask(true, t.local, t.memory, len), 0);
		check_await(t.pid);
	}
	check_join(t.pid);
}

static void *asking_thread(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg;
	unsigned char *remote = t.memory + number * 65536;
	unsigned char *mine = malloc(10000), *back = malloc(10000);
	uintptr_t wrong = 0;

	for (unsigned int n = 0; n < 200; n++) {
		fill(mine, 10000, number * 1000 + n);
		wrong += ask_from(number, true, mine, remote, 10000) != 0;
		wrong += ask_from(number, false, back, remote, 10000) != 0;
		wrong += memcmp(mine, back, 10000) != 0;
	}
	free(mine);
	free(back);
	return (void *)wrong;
}

static void threads_ask_one_after_the_other(void)
{
	pthread_t thread[4];
	void *wrong;

	start(answer, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		REQUIRE(pthread_create(&thread[i], NULL, asking_thread, (void *)i) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &wrong);
		CHECK_EQ_INT((uintptr_t)wrong, 0);
	}
	finish();
}

static void memory_that_is_not_there_is_a_fault(void)
{
	if (!soft_xfer_allowed())
		check_skip("the kernel refuses what the bounce thread would find out with");
	/* the peer, which is forked below, has no memory there either */
	munmap(t.memory + ROOM / 2, ROOM / 2);
	start(answer, NULL);
	CHECK_EQ_INT(ask(true, t.local, t.memory + ROOM / 2 - 100, 300), EFAULT);
	CHECK_EQ_INT(ask(false, t.local, t.memory + ROOM / 2, 8), EFAULT);
	CHECK_EQ_INT(ask(false, t.local, t.memory, 8), 0);
	finish();
}

static void travel_where_writev_is_refused(bool before)
{
	unsigned char *back = malloc(10000);

	if (!soft_xfer_allowed())
		check_skip("the kernel refuses both");
	start(answer_when_writev_is_refused, &before);
	fill(t.local, 10000, 9);
	CHECK_EQ_INT(ask(true, t.local, t.memory, 10000), 0);
	memset(back, 0, 10000);
	CHECK_EQ_INT(ask(false, back, t.memory, 10000), 0);
	CHECK_EQ_MEM(back, t.local, 10000);
	finish();
	free(back);
}

/* A filter of system calls can refuse one of the two calls that copy, and allow the other. */
static void bytes_travel_where_only_writev_is_refused(void)
{
	travel_where_writev_is_refused(true);
}

static void bytes_travel_where_a_filter_comes_late(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0)
		check_skip("seccomp(2), by which a filter reaches threads that run already, is not there");
	travel_where_writev_is_refused(false);
}

static int ask_with(DAT_RMR_CONTEXT context, bool write, unsigned char *remote, size_t len)
{
	request(0, write ? DATP_RDMA_WRITE : DATP_RDMA_READ, remote, len)->remote.rmr_context = context;
	return ask_for(0, write, t.local, len);
}

/* A hostile peer writes any request into its queue, and any values into the table of regions. */
static void memory_without_the_right_is_neither_read_nor_written(void)
{
	static const unsigned char canary[8] = "canary!";
	unsigned char *secret = malloc(64);
	struct soft_lmr page, local;
	DAT_RMR_CONTEXT c;

	memset(secret, 's', 64);
	memset(t.local, 0, ROOM);
	/* the region shrinks to its first page, which can only be read; the rest is a canary's */
	memcpy(t.memory + 4096, canary, 8);
	soft_lmr_free(&t.lmr.base);
	register_at_there(&page, t.memory, 4096, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	register_at_there(&local, t.memory + 4096, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	c = page.base.rmr_context;
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	CHECK_EQ_INT(ask_with(c, false, secret, 64), EFAULT);
	CHECK_EQ_INT(ask_with(c, true, secret, 64), EFAULT);
	CHECK_EQ_INT(ask_with(c, false, t.memory + 4090, 16), EFAULT);
	CHECK_EQ_INT(ask_with(c, true, t.memory, 16), EFAULT);
	CHECK_EQ_INT(ask_with(c, true, (unsigned char *)16, 64), EFAULT);
	CHECK_EQ_INT(ask_with(c, false, (unsigned char *)UINTPTR_MAX - 8, 64), EFAULT);
	/* registered without a remote right */
	CHECK_EQ_INT(ask_with(local.base.rmr_context, false, t.memory + 4096, 8), EFAULT);
	CHECK_EQ_INT(ask_with(local.base.rmr_context, true, t.memory + 4096, 8), EFAULT);
	/* nor can a window grant it that was never created, or that has another generation */
	t.there->mr[77] = t.there->mr[SOFT_MR_INDEX(c)];
	atomic_store(&t.there->mr[77].context, 77 << SOFT_MR_GEN_BITS | 1);
	atomic_store(&t.there->mr[77].lmr, local.base.lmr_context);
	atomic_store(&t.there->mr[77].addr, (uintptr_t)t.memory + 4096);
	CHECK_EQ_INT(ask_with(77 << SOFT_MR_GEN_BITS | 1, false, t.memory + 4096, 8), EFAULT);
	CHECK_EQ_INT(ask_with(c + 1, false, t.memory, 8), EFAULT);
	for (int i = 0; i < 64; i++)
		CHECK_EQ_INT(secret[i], 's');
	CHECK_EQ_INT(t.local[0], 0);
	CHECK_EQ_MEM(t.memory + 4096, canary, 8);
	CHECK_EQ_INT(ask_with(c, false, t.memory, 4096), 0);
	soft_lmr_free(&page.base);
	CHECK_EQ_INT(ask_with(c, false, t.memory, 4096), EFAULT);
	soft_lmr_free(&local.base);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
	free(secret);
}

/* ------------------------------------------------------------------ windows */

/* The entry of a bind of this process in its request queue, from which either side may execute it. */
struct bind {
	struct datp_wqe wqe;
	struct soft_request r;
};

static void window_make(struct soft_rmr *rmr)
{
	memset(rmr, 0, sizeof(*rmr));
	rmr->base.obj.ia = &t.there->base;
	rmr->base.pz = &t.pz.base;
	REQUIRE(soft_rmr_create(&rmr->base) == DATP_OK);
}

/* Posts a bind at its owner; with a NULL `lmr`, an unbind. */
static void window_post(struct bind *bind, struct soft_rmr *rmr, struct soft_ep *ep, uint32_t seq,
			struct soft_lmr *lmr, unsigned char *at, uint64_t len, DAT_MEM_PRIV_FLAGS priv)
{
	struct soft_sqe e = { .remote = { .addr = (uintptr_t)at, .len = len }, .bind_priv = priv };

	memset(bind, 0, sizeof(*bind));
	bind->wqe.ep = &ep->base;
	bind->wqe.seq = seq;
	bind->wqe.op = DATP_BIND;
	bind->wqe.rmr = &rmr->base;
	REQUIRE(soft_rmr_prepare(t.there, rmr, &bind->wqe, lmr ? &lmr->base : NULL, &e) == DATP_OK);
	bind->r = (struct soft_request){ .op = DATP_BIND,
					 .remote = e.remote,
					 .bind_priv = e.bind_priv,
					 .bind_lmr = e.bind_lmr,
					 .bind_gen = e.bind_gen };
}

static void window_execute(const struct bind *bind)
{
	soft_mr_bind(t.there->mr, &bind->r, t.pz.id, 0);
}

/* Completes a bind at its owner. */
static void window_reap(struct bind *bind, bool good)
{
	struct datp_rmr *rmr = bind->wqe.rmr;

	if (good)
		soft_window_settle(t.there, &bind->wqe);
	(void)soft_rmr_done(rmr, bind->r.remote.rmr_context, bind->r.remote.len, good);
}

/* Writes this bind into the table of regions with any range and rights, as a peer can. */
static void window_forge(const struct bind *bind, unsigned char *at, uint64_t len, uint32_t priv)
{
	struct soft_mr *mr = &t.there->mr[SOFT_MR_INDEX(bind->r.remote.rmr_context)];

	atomic_store(&mr->addr, (uintptr_t)at);
	atomic_store(&mr->len, len);
	atomic_store(&mr->priv, priv);
	atomic_store(&mr->pz, t.pz.id);
	atomic_store(&mr->lmr, t.lmr.base.lmr_context);
	atomic_store(&mr->context, bind->r.remote.rmr_context);
}

static int read_by(const struct bind *bind, unsigned char *at, size_t len)
{
	return ask_with(bind->r.remote.rmr_context, false, at, len);
}

static void window_that_a_peer_has_forged_opens_nothing(void)
{
	struct soft_rmr rmr;
	struct bind first;

	window_make(&rmr);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	window_post(&first, &rmr, &t.owner, 0, &t.lmr, t.memory + 4096, 4096, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	window_execute(&first);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 4096), 0);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 4097), EFAULT);
	/* a forged range, the whole region, and a forged right to write */
	window_forge(&first, t.memory, ROOM, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ_INT(read_by(&first, t.memory, 4096), EFAULT);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 4097), EFAULT);
	CHECK_EQ_INT(ask_with(first.r.remote.rmr_context, true, t.memory + 4096, 8), EFAULT);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 4096), 0);
	window_reap(&first, true);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 4096), 0);
	soft_rmr_free(&rmr.base);
	window_forge(&first, t.memory + 4096, 4096, DAT_MEM_PRIV_ALL_FLAG);
	CHECK_EQ_INT(read_by(&first, t.memory + 4096, 8), EFAULT);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/*
 * The old place is closed when the later bind has been completed at its owner. Until then both places are open, because the
 * peer may not have executed the later bind yet.
 */
static void window_that_was_bound_anew_opens_the_old_place_no_more(void)
{
	const DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	struct bind first, second, failed, none;
	struct soft_rmr rmr;

	window_make(&rmr);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	window_post(&first, &rmr, &t.owner, 0, &t.lmr, t.memory, 4096, priv);
	window_execute(&first);
	window_reap(&first, true);
	window_post(&second, &rmr, &t.owner, 1, &t.lmr, t.memory + 8192, 4096, priv);
	CHECK_EQ_INT(read_by(&first, t.memory, 8), 0);
	window_execute(&second);
	window_reap(&second, true);
	CHECK_EQ_INT(read_by(&second, t.memory + 8192, 8), 0);
	window_forge(&first, t.memory, 4096, priv);
	CHECK_EQ_INT(read_by(&first, t.memory, 8), EFAULT);
	/* a bind that fails changes nothing, and opens no place later */
	window_post(&failed, &rmr, &t.owner, 2, &t.lmr, t.memory + 16384, 4096, priv);
	window_reap(&failed, false);
	window_forge(&failed, t.memory + 16384, 4096, priv);
	CHECK_EQ_INT(read_by(&failed, t.memory + 16384, 8), EFAULT);
	CHECK_EQ_INT(read_by(&second, t.memory + 8192, 8), 0);
	/* the window is closed */
	window_post(&none, &rmr, &t.owner, 3, NULL, NULL, 0, 0);
	window_execute(&none);
	window_reap(&none, true);
	window_forge(&second, t.memory + 8192, 4096, priv);
	CHECK_EQ_INT(read_by(&second, t.memory + 8192, 8), EFAULT);
	CHECK(t.there->windows[rmr.index] == NULL);
	soft_rmr_free(&rmr.base);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/* Writes through a window, again and again, until that is refused. */
static void *writer(void *arg)
{
	const struct bind *bind = arg;

	while (ask_with(bind->r.remote.rmr_context, true, t.memory, SOFT_MAILBOX_SIZE) == 0)
		;
	return NULL;
}

/* A peer writes by the context of a bind that it does not execute, and the connection of the bind ends. */
static void window_is_not_written_to_when_its_bind_has_failed(void)
{
	struct soft_rmr rmr;
	struct bind bind;
	pthread_t thread;

	window_make(&rmr);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	memset(t.local, 1, SOFT_MAILBOX_SIZE);
	for (uint32_t i = 0; i < FAILED_BINDS; i++) {
		window_post(&bind, &rmr, &t.owner, i, &t.lmr, t.memory, SOFT_MAILBOX_SIZE, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
		REQUIRE(pthread_create(&thread, NULL, writer, &bind) == 0);
		while (!__atomic_load_n(t.memory, __ATOMIC_RELAXED))
			sched_yield();
		window_reap(&bind, false);
		memset(t.memory, 0, SOFT_MAILBOX_SIZE);
		pthread_join(thread, NULL);
		for (size_t at = 0; at < SOFT_MAILBOX_SIZE; at++)
			if (t.memory[at])
				REQUIRE_FAIL("byte %zu has been written to, at bind %u", at, i);
	}
	soft_rmr_free(&rmr.base);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

enum { PASSES, TO_BE_HELD, HELD };
static _Atomic int copies; /* what becomes of the next piece that the bounce thread copies */

/* The C library's, but a piece may be held for up to two seconds. */
ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_n, const struct iovec *remote,
			  unsigned long remote_n, unsigned long flags)
{
	int expected = TO_BE_HELD;

	if (local_n && atomic_compare_exchange_strong(&copies, &expected, HELD)) {
		for (unsigned int ms = 0; ms < 2000 && atomic_load(&copies) == HELD; ms++)
			usleep(1000);
		atomic_store(&copies, PASSES);
	}
	return syscall(SYS_process_vm_writev, pid, local, local_n, remote, remote_n, flags);
}

/* A connection that ends with many binds does not wait, for each of them, for what is copied for another connection. */
static void bind_that_fails_does_not_wait_for_other_pieces(void)
{
	struct bind bind, other;
	struct soft_rmr rmr;
	pthread_t thread;

	if (!soft_xfer_allowed())
		check_skip("the kernel does not copy within this process");
	window_make(&rmr);
	window_post(&bind, &rmr, &t.owner, 0, &t.lmr, t.memory, 4096, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	window_post(&other, &rmr, &t.owner, 1, &t.lmr, t.memory, SOFT_MAILBOX_SIZE, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	memset(t.local, 1, SOFT_MAILBOX_SIZE);
	atomic_store(&copies, TO_BE_HELD);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	REQUIRE(pthread_create(&thread, NULL, writer, &other) == 0);
	while (atomic_load(&copies) == TO_BE_HELD)
		sched_yield();
	window_reap(&bind, false);
	CHECK_EQ_INT(atomic_load(&copies), HELD);
	atomic_store(&copies, PASSES);
	window_reap(&other, false);
	pthread_join(thread, NULL);
	soft_rmr_free(&rmr.base);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/*
 * If a window is bound over two endpoints, either bind may be executed last. The table of regions says
 * which it was.
 */
static void of_two_binds_at_once_one_counts(void)
{
	const DAT_MEM_PRIV_FLAGS priv = DAT_MEM_PRIV_REMOTE_READ_FLAG;
	struct soft_ep other = { .open = true };
	struct bind first, second, third;
	struct soft_rmr rmr;

	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	for (int later = 0; later < 2; later++) {
		window_make(&rmr);
		window_post(&first, &rmr, &t.owner, 0, &t.lmr, t.memory, 4096, priv);
		window_post(&second, &rmr, &other, 0, &t.lmr, t.memory + 8192, 4096, priv);
		window_execute(later ? &first : &second);
		window_execute(later ? &second : &first);
		window_reap(&first, true);
		CHECK_EQ_INT(read_by(&first, t.memory, 8), 0);
		window_reap(&second, true);
		CHECK_EQ_INT(read_by(&first, t.memory, 8), later ? EFAULT : 0);
		CHECK_EQ_INT(read_by(&second, t.memory + 8192, 8), later ? 0 : EFAULT);
		/* this bind is posted after both had completed, so it is the latest */
		window_post(&third, &rmr, &other, 1, &t.lmr, t.memory + 16384, 4096, priv);
		window_reap(&third, true);
		CHECK_EQ_INT(read_by(later ? &second : &first, later ? t.memory + 8192 : t.memory, 8), EFAULT);
		CHECK_EQ_INT(read_by(&third, t.memory + 16384, 8), 0);
		soft_rmr_free(&rmr.base);
	}
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/* The request and its memory are valid, but not the connection. */
static void nothing_is_moved_without_a_connection(void)
{
	struct soft_right right = right_of(0, true);
	struct soft_list l;

	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	CHECK_EQ_INT(ask(false, t.local, t.memory, 8), 0);
	/* another zone */
	t.owner.base.pz = &t.other_pz.base;
	CHECK_EQ_INT(ask(false, t.local, t.memory, 8), EFAULT);
	t.owner.base.pz = &t.pz.base;
	/* wrong in turn: the generation, the endpoint (none, and a number beyond the last), the request (not posted) */
	soft_list_one(&l, (uintptr_t)t.local, 8);
	right.gen++;
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, false, false, &l, &right, 8), ESRCH);
	right = right_of(0, true);
	right.port++;
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, false, false, &l, &right, 8), ESRCH);
	right.port = UINT32_MAX;
	CHECK_EQ_INT(soft_bounce_ask(&t.peer, false, false, &l, &right, 8), ESRCH);
	CHECK_EQ_INT(ask_from(SLOTS, false, t.local, t.memory, 8), EFAULT);
	/* another peer's */
	t.owner.peer = &t.peer;
	CHECK_EQ_INT(ask(false, t.local, t.memory, 8), ESRCH);
	t.owner.peer = &t.back;
	/* it has ended, whatever the peer writes into the port */
	atomic_store(&t.owner.bounce_gen, 0);
	CHECK_EQ_INT(ask(false, t.local, t.memory, 8), ESRCH);
	soft_bounce_leave(t.there, &t.back);
	soft_bounce_stop(t.there);
}

/* If the peer is stopped, only the first question waits for it. */
static void bounce_thread_that_does_not_answer_is_waited_for_once(void)
{
	struct soft_mailbox *b = t.peer.mailbox;

	t.here->patience_ms = 50;
	start(be_silent, NULL);
	CHECK_EQ_INT(ask(true, t.local, t.memory, 8), ETIMEDOUT);
	t.here->patience_ms = 3600000;
	CHECK_EQ_INT(ask(true, t.local, t.memory, 8), ETIMEDOUT);
	/* the peer has gone on */
	b->error = 0;
	atomic_store(&b->state, SOFT_MAILBOX_DONE);
	t.here->patience_ms = 50;
	CHECK_EQ_INT(ask(true, t.local, t.memory, 8), ETIMEDOUT);
	CHECK_EQ_INT(atomic_load(&b->state), SOFT_MAILBOX_ASKED);
	check_kill(t.pid);
}

static void *killing_thread(void *arg)
{
	(void)arg;
	check_nap();
	kill(t.pid, SIGKILL);
	return NULL;
}

/* No other thread has noticed the death, so the thread that waits has to notice it. */
static void peer_that_dies_with_the_question_in_hand_is_found_out(void)
{
	pthread_t thread;

	start(be_silent, NULL);
	REQUIRE(pthread_create(&thread, NULL, killing_thread, NULL) == 0);
	CHECK_EQ_INT(ask(true, t.local, t.memory, 100), ESRCH);
	pthread_join(thread, NULL);
	CHECK_EQ_INT(atomic_load(&t.peer.dead), 1);
	CHECK_EQ_INT(ask(false, t.local, t.memory, 100), ESRCH);
	check_kill(t.pid);
}

/* A peer may ask just before it dies. When its death has been handled, the memory belongs to the program again. */
static void question_of_a_dead_peer_is_not_answered(void)
{
	struct soft_peer witness = { .ia = t.here, .header = t.there->header };
	struct soft_peer back = { .ia = t.there, .arena = t.here->arena };
	struct soft_mailbox *question = t.peer.mailbox;
	struct soft_ref mailbox;

	t.there->service_fd = -1;
	REQUIRE(soft_peer_mailbox(&witness, &mailbox) == DATP_OK);
	REQUIRE(soft_bounce_serve(t.there, &t.back, &t.mailbox) == DATP_OK);
	REQUIRE(soft_bounce_serve(t.there, &back, &mailbox) == DATP_OK);
	fill(t.local, 100, 1);
	CHECK_EQ_INT(ask(true, t.local, t.memory, 100), 0);
	CHECK_EQ_MEM(t.memory, t.local, 100);
	soft_peer_died(&t.back);
	CHECK(soft_bounce_serve(t.there, &t.back, &t.mailbox) != DATP_OK);
	memset(t.memory, 0, 100);
	atomic_store(&question->state, SOFT_MAILBOX_ASKED);
	/* a second peer asks; the bounce thread looks at this question after the dead peer's */
	t.peer = witness;
	t.owner.peer = &back;
	CHECK_EQ_INT(ask(true, t.local, t.memory + 4096, 100), 0);
	CHECK_EQ_INT(atomic_load(&question->state), SOFT_MAILBOX_ASKED);
	CHECK_EQ_INT(t.memory[99], 0);
	soft_bounce_stop(t.there);
}

static const struct check_test tests[] = {
	CHECK_TEST(bytes_travel_both_ways_in_every_length),
	CHECK_TEST(lists_on_both_sides_are_walked),
	CHECK_TEST(target_asks_for_the_initiators_part),
	CHECK_TEST(last_byte_is_seen_last),
	CHECK_TEST(threads_ask_one_after_the_other),
	CHECK_TEST(memory_that_is_not_there_is_a_fault),
	CHECK_TEST(bytes_travel_where_only_writev_is_refused),
	CHECK_TEST(bytes_travel_where_a_filter_comes_late),
	CHECK_TEST(memory_without_the_right_is_neither_read_nor_written),
	CHECK_TEST(window_that_a_peer_has_forged_opens_nothing),
	CHECK_TEST(window_that_was_bound_anew_opens_the_old_place_no_more),
	CHECK_TEST(window_is_not_written_to_when_its_bind_has_failed),
	CHECK_TEST(bind_that_fails_does_not_wait_for_other_pieces),
	CHECK_TEST(of_two_binds_at_once_one_counts),
	CHECK_TEST(nothing_is_moved_without_a_connection),
	CHECK_TEST(bounce_thread_that_does_not_answer_is_waited_for_once),
	CHECK_TEST(peer_that_dies_with_the_question_in_hand_is_found_out),
	CHECK_TEST(question_of_a_dead_peer_is_not_answered),
	CHECK_END
};

static const struct check_suite bounce = {
	.name = "bounce path", .setup = ask_open, .teardown = ask_close, .tests = tests
};

CHECK_SUITES(&bounce);
