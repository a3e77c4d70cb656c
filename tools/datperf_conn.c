/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's connections: an endpoint with its queues and its memory, from creation to the end.
 *
 * Both sides tell each other where their memory is in the private data of the connection: the
 * client in its request, the server in its answer. A data connection belongs to a test, whose number
 * the server has drawn and told its client over the control connection, so that nobody else can take
 * the client's place.
 *
 * Invariant: `connected` is true exactly while an event on conn_evd would be unexpected, so the
 * loops that poll may take the end of a connection from there (link_look).
 */
#include "config.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli.h"
#include "datperf.h"
#include "log/limit.h"
#include "names.h"

/* The private data of a connection, in network byte order. 32 bytes: every transport carries it. */
struct hello {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;		/* enum link_kind */
	uint64_t base;
	uint32_t rmr_context;
	uint32_t reserved;
	uint64_t token;		/* of the test; 0 for the control connection */
};

#define HELLO_MAGIC 0x64707266u		/* "dprf" */
#define HELLO_VERSION 4u

_Static_assert(sizeof(struct hello) == 32, "the private data have a fixed layout");

static int evd_create(const struct perf_ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
		      const char *what, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret = dat_evd_create(ia->ia, qlen, DAT_HANDLE_NULL, flags, evd);

	if (ret == DAT_SUCCESS)
		return 0;
	*evd = DAT_HANDLE_NULL;
	cli_dat_error(ret, NULL, "dat_evd_create(%d events, for %s)", (int)qlen, what);
	return -1;
}

static DAT_COUNT read_depth(DAT_COUNT limit)
{
	if (limit < 1)
		return 1;
	return limit < 16 ? limit : 16;
}

static uint64_t shape_extent(const struct link_shape *shape)
{
	return shape->extent > 0 ? shape->extent : shape->size;
}

static int ep_create(struct perf_link *l, const struct link_shape *shape)
{
	const DAT_IA_ATTR *limits = &l->ia->attr;
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	attr.service_type = DAT_SERVICE_TYPE_RC;
	attr.max_message_size = shape->size > PERF_CREDIT_SIZE ? shape->size : PERF_CREDIT_SIZE;
	if (attr.max_message_size > limits->max_message_size)
		/* only RDMA messages are as long */
		attr.max_message_size = limits->max_message_size;
	attr.max_rdma_size = shape_extent(shape);
	attr.qos = DAT_QOS_BEST_EFFORT;
	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	attr.max_recv_dtos = (DAT_COUNT)shape->recvs;
	attr.max_request_dtos = (DAT_COUNT)shape->requests;
	attr.max_recv_iov = 1;
	attr.max_request_iov = 1;
	attr.max_rdma_read_in = read_depth(limits->max_rdma_read_per_ep_in);
	attr.max_rdma_read_out = read_depth(limits->max_rdma_read_per_ep_out);
	attr.max_rdma_read_iov = 1;
	attr.max_rdma_write_iov = 1;

	ret = dat_ep_create(l->ia->ia, l->ia->pz, l->recv_evd, l->request_evd, l->conn_evd, &attr,
			    &l->ep);
	if (ret == DAT_SUCCESS)
		return 0;
	l->ep = DAT_HANDLE_NULL;
	cli_dat_error(ret, NULL, "dat_ep_create(%u receives, %u requests)", shape->recvs,
		      shape->requests);
	return -1;
}

/* Creates a link. link_destroy() frees it, after a failure too. */
int link_create(struct perf_link *l, struct perf_ia *ia, struct perf_link *watch,
		const struct link_shape *shape)
{
	memset(l, 0, sizeof(*l));
	l->ia = ia;
	l->watch = watch;
	l->depth = shape->requests;
	l->signal_every = shape->signal_every;

	l->mem.size = shape->size;
	l->mem.extent = shape_extent(shape);
	l->mem.slots = shape->slots;
	l->mem.number = shape->number;
	l->mem.memory = shape->memory;

	if (region_create(&l->mem, ia) != 0)
		return -1;
	if (evd_create(ia, (DAT_COUNT)shape->recvs, DAT_EVD_DTO_FLAG, "receives",
		       &l->recv_evd) != 0)
		return -1;
	if (evd_create(ia, (DAT_COUNT)shape->requests, DAT_EVD_DTO_FLAG, "requests",
		       &l->request_evd) != 0)
		return -1;
	if (evd_create(ia, 8, DAT_EVD_CONNECTION_FLAG, "connections", &l->conn_evd) != 0)
		return -1;
	return ep_create(l, shape);
}

static void freed(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		cli_dat_error(ret, NULL, "%s", call);
}

void link_destroy(struct perf_link *l)
{
	DAT_EVD_HANDLE evds[] = { l->recv_evd, l->request_evd, l->conn_evd };

	if (l->ep != DAT_HANDLE_NULL)
		freed(dat_ep_free(l->ep), "dat_ep_free");
	for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
		if (evds[i] != DAT_HANDLE_NULL)
			freed(dat_evd_free(evds[i]), "dat_evd_free");
	region_destroy(&l->mem);
	memset(l, 0, sizeof(*l));
}

static void hello_fill(const struct perf_link *l, enum link_kind kind, struct hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->magic = htobe32(HELLO_MAGIC);
	hello->version = htobe16(HELLO_VERSION);
	hello->kind = htobe16((uint16_t)kind);
	hello->base = htobe64((uint64_t)(uintptr_t)l->mem.base);
	hello->rmr_context = htobe32(l->mem.rmr_context);
	hello->token = htobe64(kind == LINK_DATA ? l->ia->token : 0);
}

/* Returns false if these are not the private data of a link of this kind and, if it is for data, of this test. */
static bool hello_take(struct perf_link *l, enum link_kind kind, const void *data, DAT_COUNT size)
{
	struct hello hello;

	/* Transports that pad may return more than was sent, never less. */
	if (data == NULL || size < (DAT_COUNT)sizeof(hello))
		return false;
	memcpy(&hello, data, sizeof(hello));
	if (be32toh(hello.magic) != HELLO_MAGIC || be16toh(hello.kind) != kind ||
	    (kind == LINK_DATA && be64toh(hello.token) != l->ia->token))
		return false;
	l->remote_version = be16toh(hello.version);
	l->remote_base = be64toh(hello.base);
	l->remote_context = be32toh(hello.rmr_context);
	return true;
}

/* If fewer are free, a connection, which needs some, may have failed for that reason. */
#define FEW_DESCRIPTORS 16u

static const char *connect_remedy(void)
{
	static char text[128];
	struct rlimit limit;
	unsigned int used = 0, most;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		limit.rlim_cur = RLIM_INFINITY;
	/* a process with this many has not run out of descriptors */
	most = limit.rlim_cur < 65536 ? (unsigned int)limit.rlim_cur : 65536;
	for (unsigned int fd = 0; fd < most; fd++)
		used += fcntl((int)fd, F_GETFD) >= 0;
	if (most - used >= FEW_DESCRIPTORS)
		return "check that 'datperf --server' of this version runs at that address, with the "
		       "same adapter and --qual, and serves no other client; it says why it refuses one";
	snprintf(text, sizeof(text), "%u of the %u file descriptors of this process are in use: "
		 "raise the limit ('ulimit -n 1024')", used, most);
	return text;
}

int link_connect(struct perf_link *l, enum link_kind kind, const struct sockaddr *address)
{
	struct hello hello;
	DAT_EVENT event;
	DAT_RETURN ret;

	hello_fill(l, kind, &hello);
	ret = dat_ep_connect(l->ep, (DAT_IA_ADDRESS_PTR)address, l->ia->conn_qual,
			     l->ia->timeout_s * 1000000u, sizeof(hello), &hello,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_connect(qualifier %" PRIu64 ")",
			      (uint64_t)l->ia->conn_qual);
		return -1;
	}
	if (link_await_event(l, DAT_CONNECTION_EVENT_ESTABLISHED, connect_remedy, &event) != 0)
		return -1;
	if (!hello_take(l, kind, event.event_data.connect_event_data.private_data,
			event.event_data.connect_event_data.private_data_size) ||
	    l->remote_version != HELLO_VERSION) {
		cli_error("the peer is not a datperf of this version; start the same version "
			  "there");
		return -1;
	}
	l->connected = true;
	return 0;
}

/*
 * Waits for a connection request; if `watch` is given, the end of that link ends the wait. `idle` begins anew when something
 * has moved, which a request that is rejected is not.
 */
int link_await_cr(struct perf_ia *ia, struct perf_link *watch, struct perf_idle *idle, DAT_CR_HANDLE *cr,
		  DAT_CR_PARAM *param)
{
	DAT_COUNT more;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (watch != NULL && link_idle(watch, idle) != 0)
		return -1;
	for (;;) {
		if (watch == NULL)
			ret = dat_evd_wait(ia->cr_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
		else
			ret = dat_evd_dequeue(ia->cr_evd, &event);
		if (ret == DAT_SUCCESS)
			break;
		if (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
			continue;
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY) {
			cli_dat_error(ret, NULL, "waiting for a connection request");
			return -1;
		}
		if (link_idle(watch, idle) != 0)
			return -1;
	}
	*cr = event.event_data.cr_arrival_event_data.cr_handle;
	ret = dat_cr_query(*cr, DAT_CR_FIELD_ALL, param);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_cr_query");
		return -1;
	}
	return 0;
}

static const char *accept_remedy(void)
{
	return "see the client's messages; it gave up";
}

/* Keeps the address of a client, because the request is freed when it is accepted. */
static void take_address(struct perf_link *l, const struct sockaddr *address)
{
	memset(&l->address, 0, sizeof(l->address));
	if (address == NULL)
		return;
	memcpy(&l->address, address, address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
								      sizeof(struct sockaddr_in));
}

/* Rejects a request of somebody else during a test. That is said a few times only, because anybody can send such requests. */
void link_reject_stranger(DAT_CR_HANDLE cr)
{
	static struct log_limit told;
	uint32_t left_out;

	if (log_limit_pass(&told, &left_out))
		cli_error("a connection request that does not belong to the test is rejected: its sender is another client, or "
			  "the adapter has damaged its private data");
	perf_cr_reject(cr);
}

/* Ends the connection to a client of another version, which has been accepted so that it learns the reason from the answer. */
static int other_version(const struct perf_link *l)
{
	cli_error("a client of another version of datperf is refused: it speaks version %u of the protocol, and this one %u; "
		  "start the same version on both sides", l->remote_version, HELLO_VERSION);
	return -1;
}

/* Takes the next request of a datperf for this kind of link and rejects all others. */
int link_accept(struct perf_link *l, enum link_kind kind)
{
	struct perf_idle idle = { 0, 0 };
	struct hello hello;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_RETURN ret;

	for (;;) {
		if (link_await_cr(l->ia, l->watch, &idle, &cr, &param) != 0)
			return -1;
		if (kind == LINK_CONTROL)
			take_address(l, param.remote_ia_address_ptr);
		if (hello_take(l, kind, param.private_data, param.private_data_size) &&
		    (kind != LINK_CONTROL || guest_welcome((const struct sockaddr *)&l->address)))
			break;
		if (kind == LINK_DATA)
			link_reject_stranger(cr);
		else
			perf_cr_reject(cr);
	}
	l->came_ns = perf_now_ns();
	hello_fill(l, kind, &hello);
	ret = dat_cr_accept(cr, l->ep, sizeof(hello), &hello);
	if (ret != DAT_SUCCESS) {	/* then the request is still there; its sender can bring that about */
		cli_dat_error(ret, NULL, "dat_cr_accept");
		perf_cr_reject(cr);
		return -1;
	}
	if (link_await_event(l, DAT_CONNECTION_EVENT_ESTABLISHED, accept_remedy, &event) != 0)
		return -1;
	if (l->remote_version != HELLO_VERSION)
		return other_version(l);
	l->connected = true;
	return 0;
}

/* Disconnects after everything that was posted, and waits for the end. */
int link_disconnect(struct perf_link *l)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_ep_disconnect(l->ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_disconnect");
		return -1;
	}
	l->connected = false;
	return link_await_event(l, DAT_CONNECTION_EVENT_DISCONNECTED, NULL, &event);
}

#define SLICE_US 100000		/* the length of one sleep; after it the connection is checked */

static DAT_RETURN next_event(const struct perf_link *l, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret;
	DAT_COUNT more;

	if (!l->wait)
		return dat_evd_dequeue(evd, event);
	ret = dat_evd_wait(evd, SLICE_US, 1, event, &more);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	return ret;
}

/* Takes the next event of one of the link's EVDs, whose events are `what`. */
int link_next_event(struct perf_link *l, DAT_EVD_HANDLE evd, const char *what, DAT_EVENT *event)
{
	struct perf_idle idle = { 0, 0 };
	DAT_RETURN ret;

	while ((ret = next_event(l, evd, event)) != DAT_SUCCESS) {
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY) {
			cli_dat_error(ret, NULL, "dat_evd_%s(%s)", l->wait ? "wait" : "dequeue",
				      what);
			return -1;
		}
		if ((l->wait ? link_look(l, &idle) : link_idle(l, &idle)) != 0)
			return -1;
	}
	return 0;
}

/*
 * Takes the next connection event, which has to be the expected one. `remedy`, which may be NULL,
 * says what to do otherwise.
 */
int link_await_event(struct perf_link *l, DAT_EVENT_NUMBER expected, const char *(*remedy)(void),
		     DAT_EVENT *event)
{
	if (link_next_event(l, l->conn_evd, "connection events", event) != 0)
		return -1;
	if (event->event_number == expected)
		return 0;
	cli_error("the connection failed: %s instead of %s%s%s", event_name(event->event_number),
		  event_name(expected), remedy != NULL ? "; " : "",
		  remedy != NULL ? remedy() : "");
	return -1;
}

static int look_at(struct perf_link *l)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(l->ia->async_evd, &event) == DAT_SUCCESS) {
		cli_error("%s reports %s; close what uses the adapter and try again", l->ia->name,
			  event_name(event.event_number));
		return -1;
	}
	if (!l->connected || dat_evd_dequeue(l->conn_evd, &event) != DAT_SUCCESS)
		return 0;
	l->connected = false;
	cli_error("the peer ended in the middle of the session (%s); see its messages",
		  event_name(event.event_number));
	return -1;
}

/*
 * Returns how long there may be no progress. Memory has to be filled, moved and compared before
 * there is progress, so more memory gets more time.
 */
unsigned int link_patience_s(const struct perf_link *l)
{
	return l->ia->timeout_s + (unsigned int)(l->ia->memory / PERF_SLOWEST);
}

/* Reports that there has been no progress for too long. Always returns -1. */
int link_stuck(struct perf_link *l)
{
	cli_error("no progress for %u s; check whether the peer hangs, or give more time with "
		  "--timeout", link_patience_s(l));
	/* relaxed: read when the threads have been joined */
	atomic_store_explicit(&l->ia->stuck, true, memory_order_relaxed);
	return -1;
}

/* Reports that the session has reached its --deadline. Always returns -1. */
int link_over(void)
{
	cli_error("the session has reached its --deadline; start the server with a longer one");
	return -1;
}

/*
 * Checks the adapter and the session. All threads share them, and an adapter may require that only
 * one thread calls at a time, so a lock serialises the threads.
 */
static int look_around(struct perf_link *l)
{
	static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
	int status;

	pthread_mutex_lock(&looking);
	/* relaxed: it only says that continuing is useless */
	status = atomic_load_explicit(&l->ia->failed, memory_order_relaxed) ? -1 : look_at(l);
	if (status == 0 && l->watch != NULL)
		status = look_at(l->watch);
	if (status != 0)
		atomic_store_explicit(&l->ia->failed, true, memory_order_relaxed);
	pthread_mutex_unlock(&looking);
	return status;
}

/* The rare part of link_idle(): lets other threads run, and checks for reasons to stop waiting. */
int link_look(struct perf_link *l, struct perf_idle *idle)
{
	uint64_t now;

	sched_yield();
	if (look_around(l) != 0)
		return -1;

	now = perf_now_ns();
	if (l->ia->until_ns > 0 && now >= l->ia->until_ns)
		return link_over();
	if (idle->since_ns == 0)
		idle->since_ns = now;
	if (now - idle->since_ns < (uint64_t)link_patience_s(l) * 1000000000u)
		return 0;
	return link_stuck(l);
}
