/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 64 bytes there and back between two processes, polled, over one of three interfaces: built as
 * bench_verbs over verbs and rdma_cm, as bench12 over our libdat, as bench20 over OFED's libdat2. The
 * loop is one and the same, and so is the work on the wire; only the few functions under `#if`
 * differ. Prints one line: half the round trip in microseconds; the instructions that a post_recv, a
 * post_send and a successful look for a completion execute in user space; and how many of those are in
 * the libraries of uDAPL, the rest being this program's, the driver's and libc's.
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
#define BATCH  100 /* round trips that are timed as one; the best batch counts */
#define ROUNDS 9   /* counts of instructions; the lowest counts */

static unsigned char memory[2 * SIZE] __attribute__((aligned(64))); /* what is sent, what comes */

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

/* ------------------------------------------------------------------ the three interfaces */

#if defined(BENCH_DAT) || defined(BENCH_DAT2)

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, recv_evd, send_evd;
static DAT_EP_HANDLE ep;
static DAT_LMR_TRIPLET sent, received;
static const DAT_DTO_COOKIE cookie;

#define OK(call) must((call) == DAT_SUCCESS, #call)

static void open_side(const char *name)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_CONTEXT key;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz;
	DAT_VLEN length;
	DAT_VADDR at;

	OK(dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async_evd, &ia));
	OK(dat_pz_create(ia, &pz));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
	OK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	OK(dat_evd_create(ia, 2 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &recv_evd));
	OK(dat_evd_create(ia, 2 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &send_evd));
	OK(dat_ep_create(ia, pz, recv_evd, send_evd, conn_evd, NULL, &ep));
	OK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
#ifdef BENCH_DAT2
			  DAT_VA_TYPE_VA,
#endif
			  &lmr, &key, &remote, &length, &at));
	sent = (DAT_LMR_TRIPLET){ .lmr_context = key,
				  .virtual_address = (uintptr_t)memory,
				  .segment_length = SIZE };
	received = sent;
	received.virtual_address += SIZE;
}

static DAT_EVENT event_of(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	OK(dat_evd_wait(evd, 60000000, 1, &event, &more));
	return event;
}

static void established(void)
{
	must(event_of(conn_evd).event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "connecting");
}

static DAT_PSP_HANDLE psp;

static void listen_at(const struct sockaddr_in *at)
{
	OK(dat_psp_create(ia, ntohs(at->sin_port), cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void accept_one(void)
{
	DAT_EVENT event = event_of(cr_evd);

	OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
	established();
}

static void connect_to(struct sockaddr_in *to)
{
	OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)to, ntohs(to->sin_port), 60000000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	established();
}

static inline bool post_recv(void)
{
	return dat_ep_post_recv(ep, 1, &received, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
	       DAT_SUCCESS;
}

static inline bool post_send(void)
{
	return dat_ep_post_send(ep, 1, &sent, cookie, DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
}

static inline bool poll_evd(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	return dat_evd_dequeue(evd, &event) == DAT_SUCCESS &&
	       event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static inline bool poll_send(void)
{
	return poll_evd(send_evd);
}

static inline bool poll_recv(void)
{
	return poll_evd(recv_evd);
}

#else

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id, *listener;
static struct ibv_cq *recv_cq, *send_cq;
static struct ibv_pd *pd;
static struct ibv_sge sent, received;
static unsigned send_flags = IBV_SEND_SIGNALED;

static struct rdma_cm_id *event_of(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *of;

	must(rdma_get_cm_event(channel, &event) == 0 && event->event == type,
	     rdma_event_str(type));
	of = event->id;
	rdma_ack_cm_event(event);
	return of;
}

/* The queue pair and the memory, once the id has a device. Small messages go inline where they can. */
static void open_device(void)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = DEPTH,
						  .max_recv_wr = DEPTH,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = SIZE },
					 .qp_type = IBV_QPT_RC };
	struct ibv_mr *mr;

	must((pd = ibv_alloc_pd(id->verbs)) != NULL, "ibv_alloc_pd");
	must((recv_cq = ibv_create_cq(id->verbs, 2 * DEPTH, NULL, NULL, 0)) != NULL, "ibv_create_cq");
	must((send_cq = ibv_create_cq(id->verbs, 2 * DEPTH, NULL, NULL, 0)) != NULL, "ibv_create_cq");
	attr.recv_cq = recv_cq;
	attr.send_cq = send_cq;
	must(rdma_create_qp(id, pd, &attr) == 0, "rdma_create_qp");
	if (attr.cap.max_inline_data >= SIZE)
		send_flags |= IBV_SEND_INLINE;
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	must(mr != NULL, "ibv_reg_mr");
	sent = (struct ibv_sge){ .addr = (uintptr_t)memory, .length = SIZE, .lkey = mr->lkey };
	received = sent;
	received.addr += SIZE;
}

static void open_side(const char *name)
{
	(void)name;
	must((channel = rdma_create_event_channel()) != NULL, "rdma_create_event_channel");
}

static void listen_at(struct sockaddr_in *at)
{
	must(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_bind_addr(listener, (struct sockaddr *)at) == 0, "rdma_bind_addr");
	must(rdma_listen(listener, 1) == 0, "rdma_listen");
}

static bool post_recv(void);

static void accept_one(void)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	id = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);
	open_device();
	must(post_recv(), "post_recv");
	must(rdma_accept(id, &param) == 0, "rdma_accept");
	event_of(RDMA_CM_EVENT_ESTABLISHED);
}

static void connect_to(struct sockaddr_in *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	must(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 4000) == 0, "rdma_resolve_addr");
	event_of(RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(id, 4000) == 0, "rdma_resolve_route");
	event_of(RDMA_CM_EVENT_ROUTE_RESOLVED);
	open_device();
	must(post_recv(), "post_recv");
	must(rdma_connect(id, &param) == 0, "rdma_connect");
	event_of(RDMA_CM_EVENT_ESTABLISHED);
}

static inline bool post_recv(void)
{
	struct ibv_recv_wr wr = { .sg_list = &received, .num_sge = 1 }, *bad;

	return ibv_post_recv(id->qp, &wr, &bad) == 0;
}

static inline bool post_send(void)
{
	struct ibv_send_wr wr = { .sg_list = &sent,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = send_flags },
			   *bad;

	return ibv_post_send(id->qp, &wr, &bad) == 0;
}

static inline bool poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	return ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS;
}

static inline bool poll_send(void)
{
	return poll_cq(send_cq);
}

static inline bool poll_recv(void)
{
	return poll_cq(recv_cq);
}

#endif

/* ------------------------------------------------------------------ counting instructions */

/*
 * The processor traps after each instruction while its trap flag is set, and a handler counts. A
 * system call is one instruction. What setting and clearing the flag costs is measured and taken off.
 */
static volatile sig_atomic_t traps;
static void *trail[4096]; /* where they were, over and over */

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
	/* libdat, libdatp, libdatib and the like; libdat2 and libdaplofa */
	return strncmp(name ? name : info.dli_fname, "/libda", 6) == 0;
}

struct count {
	long all, udapl;
};

static void count_lower(struct count *lowest, long from)
{
	struct count c = { .all = traps - from };

	if (c.all >= lowest->all)
		return;
	for (long i = from; i < from + c.all && c.all < TRAIL; i++)
		c.udapl += in_udapl(trail[i % TRAIL]);
	*lowest = c;
}

#define FLAG_SET   __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; " \
				    "lea 128(%%rsp), %%rsp" ::: "memory", "cc")
#define FLAG_CLEAR __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; " \
				    "lea 128(%%rsp), %%rsp" ::: "memory", "cc")

#define COUNT(lowest, call)                                 \
	do {                                                \
		bool good_;                                 \
		long from_ = traps;                         \
		FLAG_SET;                                   \
		good_ = (call);                             \
		FLAG_CLEAR;                                 \
		must(good_, #call);                         \
		count_lower(lowest, from_);                 \
	} while (0)

/* ------------------------------------------------------------------ the work */

/* Every round the receive for the next answer is posted before the send that brings it about. */
static void ping(void)
{
	must(post_recv(), "post_recv");
	must(post_send(), "post_send");
	while (!poll_recv())
		;
	while (!poll_send())
		;
}

static void pong(void)
{
	while (!poll_recv())
		;
	must(post_recv(), "post_recv");
	must(post_send(), "post_send");
	while (!poll_send())
		;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double best_batch(unsigned batches)
{
	double best = 1e12;

	for (unsigned b = 0; b < batches; b++) {
		double begin = now_us(), took;

		for (unsigned i = 0; i < BATCH; i++)
			ping();
		took = (now_us() - begin) / BATCH / 2;
		best = took < best ? took : best;
	}
	return best;
}

struct counts {
	struct count nothing, recv, send, look;
};

/* The same round as ping(), but one piece of it counted, when all it waits for has long happened. */
static void count_round(struct counts *c)
{
	COUNT(&c->nothing, true);
	COUNT(&c->recv, post_recv());
	COUNT(&c->send, post_send());
	while (!poll_recv())
		;
	usleep(20000);
	COUNT(&c->look, poll_send());
}

/* The first receive of a side is posted before the connection, where no message can be too early. */
static void serve(const char *name, struct sockaddr_in *at, unsigned rounds, int ready)
{
	open_side(name);
	listen_at(at);
	must(write(ready, "", 1) == 1, "write");
#if defined(BENCH_DAT) || defined(BENCH_DAT2)
	must(post_recv(), "post_recv");
#endif
	accept_one();
	for (unsigned i = 0; i < rounds; i++)
		pong();
	usleep(200000);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const struct count most = { .all = 1 << 30 };
	struct counts c = { most, most, most, most };
	struct sigaction trap = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	unsigned batches;
	double us;
	int ready[2];
	char byte;
	pid_t child = -1;

	must(argc == 5 && inet_pton(AF_INET, argv[2], &at.sin_addr) == 1,
	     "bench ADAPTER ADDRESS PORT BATCHES: its command line");
	at.sin_port = htons((uint16_t)atoi(argv[3]));
	batches = (unsigned)atoi(argv[4]);
	sigaction(SIGTRAP, &trap, NULL);
	must(pipe(ready) == 0 && (child = fork()) >= 0, "fork");
	if (child == 0)
		serve(argv[1], &at, batches * BATCH + ROUNDS, ready[1]);
	close(ready[1]);
	must(read(ready[0], &byte, 1) == 1, "the server's start");
	open_side(argv[1]);
#if defined(BENCH_DAT) || defined(BENCH_DAT2)
	must(post_recv(), "post_recv");
#endif
	connect_to(&at);
	us = best_batch(batches);
	for (unsigned i = 0; i < ROUNDS; i++)
		count_round(&c);
	waitpid(child, NULL, 0);
	printf("%.2f %ld %ld %ld %ld %ld %ld\n", us, c.recv.all - c.nothing.all,
	       c.send.all - c.nothing.all, c.look.all - c.nothing.all, c.recv.udapl, c.send.udapl,
	       c.look.udapl);
	fflush(stdout);
	_exit(0);
}
