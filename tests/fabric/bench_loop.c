/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ping-pong of 64 bytes with polling over one of three interfaces. This file is built as bench_verbs over verbs and rdma_cm, as
 * bench12 over our libdat, and as bench20 over OFED's libdat2. The loop and the messages on the wire are the same; only the few
 * functions under `#if` differ.
 *
 * `two` runs between two processes. It prints half the round trip in microseconds; the number of instructions that a post_recv, a
 * post_send and a successful poll execute in user space; how many of those are in the libraries of uDAPL (the rest are in this
 * program, the driver and libc); and how many of the instructions in the libraries of uDAPL are locked.
 *
 * `one` has both ends in one thread, so that no end waits for another processor. It is meant for a guest whose clock counts
 * instructions (lab --counted), and prints half a round trip in microseconds of that clock.
 */
#include <stdint.h>
#if defined(BENCH_DAT2)
#include <dat2/udat.h>
#elif defined(BENCH_DAT)
#include <dat/udat.h>
#else
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#endif
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE   64
#define DEPTH  16
#define BATCH  100 /* round trips that are timed together; the shortest batch is the result */
#define ROUNDS 9   /* how often the instructions of each call are counted; the lowest count is the result */

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

/* ------------------------------------------------------------------ the three interfaces */

#if defined(BENCH_DAT) || defined(BENCH_DAT2)

struct side {
	unsigned char memory[2 * SIZE] __attribute__((aligned(64))); /* the outgoing message, then the incoming one */
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, send_evd;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_TRIPLET sent, received;
};

static const DAT_DTO_COOKIE cookie;

#define OK(call) must((call) == DAT_SUCCESS, #call)

static void open_side(struct side *s, const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = s->memory };
	DAT_LMR_CONTEXT key;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_VLEN length;
	DAT_VADDR at;

	OK(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &s->async_evd, &s->ia));
	OK(dat_pz_create(s->ia, &pz));
	OK(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->cr_evd));
	OK(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &s->conn_evd));
	OK(dat_evd_create(s->ia, 2 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->recv_evd));
	OK(dat_evd_create(s->ia, 2 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->send_evd));
	OK(dat_ep_create(s->ia, pz, s->recv_evd, s->send_evd, s->conn_evd, NULL, &s->ep));
	OK(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(s->memory), pz,
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
#ifdef BENCH_DAT2
			  DAT_VA_TYPE_VA,
#endif
			  &lmr, &key, &remote, &length, &at));
	s->sent = (DAT_LMR_TRIPLET){ .lmr_context = key,
				     .virtual_address = (uintptr_t)s->memory,
				     .segment_length = SIZE };
	s->received = s->sent;
	s->received.virtual_address += SIZE;
}

static DAT_EVENT event_of(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd, 60000000, 1, &event, &more));
	return event;
}

static void established(struct side *s)
{
	must(event_of(s->conn_evd).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "connecting");
}

static void listen_at(struct side *s, const struct sockaddr_in *at)
{
	OK(dat_psp_create(s->ia, ntohs(at->sin_port), s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp));
}

static void accept_one(struct side *s)
{
	DAT_EVENT event = event_of(s->cr_evd);

	OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0, NULL));
	established(s);
}

static void connect_to(struct side *s, struct sockaddr_in *to)
{
	OK(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)to, ntohs(to->sin_port), 60000000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established(s);
}

static inline bool post_recv(struct side *s)
{
	return dat_ep_post_recv(s->ep, 1, &s->received, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
	       DAT_SUCCESS;
}

static inline bool post_send(struct side *s)
{
	return dat_ep_post_send(s->ep, 1, &s->sent, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
	       DAT_SUCCESS;
}

static inline bool poll_evd(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return dat_evd_dequeue(evd, &event) == DAT_SUCCESS &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static inline bool poll_send(struct side *s)
{
	return poll_evd(s->send_evd);
}

static inline bool poll_recv(struct side *s)
{
	return poll_evd(s->recv_evd);
}

#else

struct side {
	unsigned char memory[2 * SIZE] __attribute__((aligned(64))); /* the outgoing message, then the incoming one */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *listener;
	struct ibv_cq *recv_cq, *send_cq;
	struct ibv_pd *pd;
	struct ibv_sge sent, received;
	unsigned int send_flags;
};

static struct rdma_cm_id *event_of(struct side *s, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *of;

	must(rdma_get_cm_event(s->channel, &event) == 0 && event->event == type,
	     rdma_event_str(type));
	of = event->id;
	rdma_ack_cm_event(event);
	return of;
}

/* Creates the queue pair and registers the memory when the id has a device. Messages are inlined if the device can. */
static void open_device(struct side *s)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = SIZE },
					 .qp_type = IBV_QPT_RC };
	struct ibv_mr *mr;

	must((s->pd = ibv_alloc_pd(s->id->verbs)) != NULL, "ibv_alloc_pd");
	must((s->recv_cq = ibv_create_cq(s->id->verbs, 2 * DEPTH, NULL, NULL, 0)) != NULL,
	     "ibv_create_cq");
	must((s->send_cq = ibv_create_cq(s->id->verbs, 2 * DEPTH, NULL, NULL, 0)) != NULL,
	     "ibv_create_cq");
	attr.recv_cq = s->recv_cq;
	attr.send_cq = s->send_cq;
	must(rdma_create_qp(s->id, s->pd, &attr) == 0, "rdma_create_qp");
	if (attr.cap.max_inline_data >= SIZE)
		s->send_flags |= IBV_SEND_INLINE;
	mr = ibv_reg_mr(s->pd, s->memory, sizeof(s->memory), IBV_ACCESS_LOCAL_WRITE);
	must(mr != NULL, "ibv_reg_mr");
	s->sent =
		(struct ibv_sge){ .addr = (uintptr_t)s->memory, .length = SIZE, .lkey = mr->lkey };
	s->received = s->sent;
	s->received.addr += SIZE;
}

static void open_side(struct side *s, const char *name)
{
	(void)name;
	s->send_flags = IBV_SEND_SIGNALED;
	must((s->channel = rdma_create_event_channel()) != NULL, "rdma_create_event_channel");
}

static void listen_at(struct side *s, struct sockaddr_in *at)
{
	must(rdma_create_id(s->channel, &s->listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_bind_addr(s->listener, (struct sockaddr *)at) == 0, "rdma_bind_addr");
	must(rdma_listen(s->listener, 1) == 0, "rdma_listen");
}

static bool post_recv(struct side *s);

static void accept_one(struct side *s)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	s->id = event_of(s, RDMA_CM_EVENT_CONNECT_REQUEST);
	open_device(s);
	must(post_recv(s), "post_recv");
	must(rdma_accept(s->id, &param) == 0, "rdma_accept");
	event_of(s, RDMA_CM_EVENT_ESTABLISHED);
}

static void connect_to(struct side *s, struct sockaddr_in *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	must(rdma_create_id(s->channel, &s->id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_resolve_addr(s->id, NULL, (struct sockaddr *)to, 4000) == 0, "rdma_resolve_addr");
	event_of(s, RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(s->id, 4000) == 0, "rdma_resolve_route");
	event_of(s, RDMA_CM_EVENT_ROUTE_RESOLVED);
	open_device(s);
	must(post_recv(s), "post_recv");
	must(rdma_connect(s->id, &param) == 0, "rdma_connect");
	event_of(s, RDMA_CM_EVENT_ESTABLISHED);
}

static inline bool post_recv(struct side *s)
{
	struct ibv_recv_wr wr = { .sg_list = &s->received, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->id->qp, &wr, &bad) == 0;
}

static inline bool post_send(struct side *s)
{
	struct ibv_send_wr wr = { .sg_list = &s->sent,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = s->send_flags },
			   *bad;

	return ibv_post_send(s->id->qp, &wr, &bad) == 0;
}

static inline bool poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	return ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

static inline bool poll_send(struct side *s)
{
	return poll_cq(s->send_cq);
}

static inline bool poll_recv(struct side *s)
{
	return poll_cq(s->recv_cq);
}

#endif

/* ------------------------------------------------------------------ counting instructions */

/*
 * The processor traps after each instruction while its trap flag is set, and a handler counts the traps. A system call counts as
 * one instruction. The instructions that set and clear the flag are measured and subtracted.
 */
static volatile sig_atomic_t traps;
/* a ring of the addresses of the last instructions; an imitated device executes many thousands in one call */
static void *trail[1 << 17];

enum { TRAIL = sizeof(trail) / sizeof(*trail) };

static void trapped(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *at = context;

	(void)sig, (void)info;
	trail[traps++ % TRAIL] = (void *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP];
}

static bool in_udapl(void *at)
{
	const char *name;
	Dl_info info;

	if (!dladdr(at, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	/* The libraries are libdat, libdatp, libdatib and so on, and OFED's libdat2 and libdaplofa. */
	return strncmp(name ? name : info.dli_fname, "/libda", 6) == 0;
}

/* Returns true if the instruction is locked: it has a lock prefix, or is an exchange with memory, which always locks. */
static bool is_locked(const unsigned char *at)
{
	static const char prefixes[] = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3";

	for (; *at != 0xf0; at++)
		if (!*at || !strchr(prefixes, *at))
			break;
	if ((*at & 0xf0) == 0x40) /* REX */
		at++;
	return *at == 0xf0 || ((*at == 0x86 || *at == 0x87) && at[1] < 0xc0);
}

struct count {
	long all, udapl, locked;
};

static void count_lower(struct count *lowest, long from)
{
	struct count c = { .all = traps - from };

	if (c.all >= lowest->all)
		return;
	for (long i = from; i < from + c.all && c.all < TRAIL; i++) {
		if (!in_udapl(trail[i % TRAIL]))
			continue;
		c.udapl++;
		c.locked += is_locked(trail[i % TRAIL]);
	}
	*lowest = c;
}

#define FLAG_SET                                                                                   \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "            \
			 "lea 128(%%rsp), %%rsp" ::                                                \
				 : "memory", "cc")
#define FLAG_CLEAR                                                                                 \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; "          \
			 "lea 128(%%rsp), %%rsp" ::                                                \
				 : "memory", "cc")

#define COUNT(lowest, call)                                                                        \
	do {                                                                                       \
		bool good_;                                                                        \
		long from_ = traps;                                                                \
		FLAG_SET;                                                                          \
		good_ = (call);                                                                    \
		FLAG_CLEAR;                                                                        \
		must(good_, #call);                                                                \
		count_lower(lowest, from_);                                                        \
	} while (0)

/* ------------------------------------------------------------------ the work */

/* One round trip: the receive for the answer is posted before the send that the peer answers. */
static void ping(struct side *s)
{
	must(post_recv(s), "post_recv");
	must(post_send(s), "post_send");
	while (!poll_recv(s))
		;
	while (!poll_send(s))
		;
}

static void pong(struct side *s)
{
	while (!poll_recv(s))
		;
	must(post_recv(s), "post_recv");
	must(post_send(s), "post_send");
	while (!poll_send(s))
		;
}

/*
 * One round trip with both ends in one thread. The kernel does its part before a call returns, or in threads of its own. An end
 * that waits yields the processor to those, so that it waits no longer than they take.
 */
static void ping_pong(struct side *from, struct side *to)
{
	must(post_recv(from), "post_recv");
	must(post_send(from), "post_send");
	while (!poll_recv(to))
		sched_yield();
	must(post_recv(to), "post_recv");
	must(post_send(to), "post_send");
	while (!poll_send(to))
		sched_yield();
	while (!poll_recv(from))
		sched_yield();
	while (!poll_send(from))
		sched_yield();
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns half the round trip of the shortest batch in microseconds. `to` is the other end if it is in this thread, or NULL. */
static double best_batch(unsigned batches, struct side *from, struct side *to)
{
	double best = 1e12;

	for (unsigned b = 0; b < batches; b++) {
		double begin = now_us(), took;

		for (unsigned i = 0; i < BATCH; i++)
			if (to)
				ping_pong(from, to);
			else
				ping(from);
		took = (now_us() - begin) / BATCH / 2;
		best = took < best ? took : best;
	}
	return best;
}

struct counts {
	struct count nothing, recv, send, look;
};

/* The same round trip as ping(), but counts the instructions of each call. The poll for the send finds a completion at once. */
static void count_round(struct side *s, struct counts *c)
{
	COUNT(&c->nothing, true);
	COUNT(&c->recv, post_recv(s));
	COUNT(&c->send, post_send(s));
	while (!poll_recv(s))
		;
	usleep(20000);
	COUNT(&c->look, poll_send(s));
}

/* ------------------------------------------------------------------ the two ends */

static struct {
	const char *name;
	struct sockaddr_in at;
	int ready[2]; /* a pipe with a byte in it once the passive end listens */
} where;

/* Posts the first receive of a side before it is connected, so that no message arrives before a receive. */
static void first_recv(struct side *s)
{
#if defined(BENCH_DAT) || defined(BENCH_DAT2)
	must(post_recv(s), "post_recv");
#else
	(void)s; /* There is no queue pair yet; accept_one() and connect_to() post this receive. */
#endif
}

static void *serve(void *side)
{
	struct side *s = side;

	open_side(s, where.name);
	listen_at(s, &where.at);
	must(write(where.ready[1], "", 1) == 1, "write");
	first_recv(s);
	accept_one(s);
	return NULL;
}

static void reach(struct side *s)
{
	char byte;

	must(read(where.ready[0], &byte, 1) == 1, "the server's start");
	open_side(s, where.name);
	first_recv(s);
	connect_to(s, &where.at);
}

static void one_thread(unsigned batches)
{
	static struct side from, to;
	pthread_t server;

	must(pthread_create(&server, NULL, serve, &to) == 0, "pthread_create");
	reach(&from);
	must(pthread_join(server, NULL) == 0, "pthread_join");
	usleep(200000);
	printf("%.3f\n", best_batch(batches, &from, &to));
}

static void pong_all(unsigned rounds)
{
	static struct side s;

	serve(&s);
	for (unsigned i = 0; i < rounds; i++)
		pong(&s);
	usleep(200000);
	_exit(0);
}

static void two_processes(unsigned batches)
{
	static const struct count most = { .all = 1 << 30 };
	struct counts c = { most, most, most, most };
	struct sigaction trap = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	static struct side s;
	pid_t child = fork();
	double us;

	must(child >= 0, "fork");
	if (child == 0)
		pong_all(batches * BATCH + ROUNDS);
	close(where.ready[1]);
	sigaction(SIGTRAP, &trap, NULL);
	reach(&s);
	us = best_batch(batches, &s, NULL);
	for (unsigned i = 0; i < ROUNDS; i++)
		count_round(&s, &c);
	waitpid(child, NULL, 0);
	printf("%.2f %ld %ld %ld %ld %ld %ld %ld %ld %ld\n", us, c.recv.all - c.nothing.all,
	       c.send.all - c.nothing.all, c.look.all - c.nothing.all, c.recv.udapl, c.send.udapl,
	       c.look.udapl, c.recv.locked, c.send.locked, c.look.locked);
}

int main(int argc, char **argv)
{
	must(argc == 6 && inet_pton(AF_INET, argv[3], &where.at.sin_addr) == 1,
	     "bench one|two ADAPTER ADDRESS PORT BATCHES: its command line");
	where.name = argv[2];
	where.at.sin_family = AF_INET;
	where.at.sin_port = htons((uint16_t)atoi(argv[4]));
	must(pipe(where.ready) == 0, "pipe");
	(strcmp(argv[1], "one") == 0 ? one_thread : two_processes)((unsigned)atoi(argv[5]));
	fflush(stdout);
	_exit(0);
}
