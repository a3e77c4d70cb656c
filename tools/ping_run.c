/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run of `datctl ping`: a test of one adapter with two processes, through the public API.
 *
 * Invariant: a step is printed when the side that got the data has verified all of it, and not
 * earlier. The child process is ended in any case.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"
#include "ping.h"

#define GRACE (5 * 1000000u)	/* microseconds that an expected event may take */

struct ping {
	struct ping_end end;
	const char *address;
	DAT_CONN_QUAL qual;
	bool server;
	bool json;
	struct timespec began; /* when the present step began */
};

/* ------------------------------------------------------------------------------------- peer */

/*
 * Says that all is done, and waits for the end. The client ends the connection as soon as it has
 * heard that, and its end may be quicker than the completion of this message, which is an error
 * then (siw) or flushed. So the completion is not looked at: the answer shows that the message has
 * arrived.
 */
static bool last_words(struct ping_end *end)
{
	const struct ping_place nowhere = { 0, 0 };
	DAT_EVENT event;

	return ping_say(end, PING_DONE, nowhere) && ping_hear(end, PING_BYE, NULL) &&
	       ping_event(end, end->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnect",
			  &event);
}

/* Serves one client. If a client ends early, the server does not fail. */
static bool serve(struct ping_end *end)
{
	const struct ping_place nowhere = { 0, 0 };
	struct ping_place window;
	DAT_EVENT event;

	if (!ping_event(end, end->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "accept", &event) ||
	    !ping_hear(end, PING_SEND, NULL) || !ping_tell(end, PING_REPLY, nowhere) ||
	    !ping_hear(end, PING_WRITE, NULL) ||
	    !ping_check(&end->shared, 0, PING_WRITE, "what was written by RDMA"))
		return false;
	ping_fill(&end->shared, 0, PING_READ);
	if (!ping_bind(end, &window) || !ping_tell(end, PING_READ, window) ||
	    !ping_hear(end, PING_WINDOW, NULL))
		return false;
	if (window.address != 0 &&
	    !ping_check(&end->window, 0, PING_WINDOW, "what was written through the window"))
		return false;
	return last_words(end);
}

static bool answer(struct ping_end *end, DAT_CR_HANDLE cr)
{
	struct ping_place place = { end->shared.remote, (DAT_VADDR)(uintptr_t)end->shared.byte };
	unsigned char data[PING_PRIVATE];
	DAT_RETURN ret;
	bool served;

	ping_place_pack(data, place);
	if (!ping_endpoint(end)) {
		PING_REJECT(cr);
		ping_hang_up(end);
		return false;
	}
	ret = API(dat_cr_accept)(cr, end->ep, sizeof(data), data);
	if (ret != DAT_SUCCESS) {	/* then the request is still there; its sender can bring that about */
		cli_dat_error(ret, NULL, "dat_cr_accept");
		PING_REJECT(cr);
	}
	served = ret == DAT_SUCCESS && serve(end);
	ping_hang_up(end);
	return served;
}

static bool await_request(struct ping_end *end, DAT_TIMEOUT patience, DAT_CR_HANDLE *cr)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret = API(dat_evd_wait)(end->cr_evd, patience, 1, &event, &more);

	if (ret == DAT_SUCCESS) {
		*cr = event.event_data.cr_arrival_event_data.cr_handle;
		return true;
	}
	cli_limit(false);	/* this is the end, and no client's doing */
	cli_dat_error(ret, NULL, "waiting for a connection");
	return false;
}

/* Serves clients until an error of the adapter ends that. */
static void serve_all(struct ping_end *end)
{
	DAT_CR_HANDLE cr;

	for (;;) {
		ping_queue_take(end);
		if (ping_queue_next(end->queue, &cr))
			answer(end, cr);
		else if (await_request(end, DAT_TIMEOUT_INFINITE, &cr))
			ping_queue_add(end->queue, cr);
		else
			return;
	}
}

/* Serves the client that has forked this process. */
static bool serve_parent(struct ping_end *end)
{
	unsigned char host[HOST_SIZE];
	DAT_CR_HANDLE cr;

	if (!await_request(end, end->patience, &cr))
		return false;
	if (ping_cr_good(cr, host))
		return answer(end, cr);
	cli_error("a request that does not come from 'datctl ping' is rejected");
	PING_REJECT(cr);
	return false;
}

static void address_print(const struct ping_end *end, char *text, socklen_t size)
{
	const struct sockaddr *sa = (const struct sockaddr *)end->ia_attr.ia_address_ptr;
	socklen_t length = sa != NULL && sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								   : sizeof(struct sockaddr_in);

	if (sa == NULL || getnameinfo(sa, length, text, size, NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(text, size, "ADDRESS");
}

/* For --server: listens at a qualifier that clients know. */
static int serve_others(struct ping *p)
{
	static struct ping_queue queue;
	struct ping_end *end = &p->end;
	char address[NI_MAXHOST];
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	end->queue = &queue;
	if (!ping_open(end) || !ping_prepare(end))
		return CLI_FAILED;
	ret = API(dat_psp_create)(end->ia, p->qual, end->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_psp_create(%" PRIu64 ")", (uint64_t)p->qual);
		return CLI_FAILED;
	}
	address_print(end, address, sizeof(address));
	cli_error("%s listens: datctl ping --qual %" PRIu64 " %s %s", end->adapter,
		  (uint64_t)p->qual, end->adapter, address);
	cli_limit(true);
	serve_all(end);
	return CLI_FAILED;
}

/*
 * The second process of a ping on one host: it uses any free qualifier, which it reports through
 * the pipe.
 */
__attribute__((noreturn)) static void peer_process(struct ping *p, int to_client, pid_t parent)
{
	struct ping_end *end = &p->end;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;
	bool served;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CLI_FAILED);
	cli_rename("datctl (peer)");
	if (!ping_open(end) || !ping_prepare(end))
		_exit(CLI_FAILED);
	ret = API(dat_psp_create_any)(end->ia, &qual, end->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_psp_create_any");
		_exit(CLI_FAILED);
	}
	if (write(to_client, &qual, sizeof(qual)) != sizeof(qual))
		_exit(CLI_FAILED);
	served = serve_parent(end);
	ping_close(end);
	_exit(served ? CLI_OK : CLI_FAILED);
}

/* ---------------------------------------------------------------------------------- printing */

static void step_begin(struct ping *p)
{
	clock_gettime(CLOCK_MONOTONIC, &p->began);
}

__attribute__((format(printf, 3, 4))) static void step_done(struct ping *p, const char *name,
							    const char *fmt, ...)
{
	struct timespec now;
	char detail[256];
	va_list args;
	double us;

	clock_gettime(CLOCK_MONOTONIC, &now);
	us = p->began.tv_sec == 0 ? -1
				  : (double)(now.tv_sec - p->began.tv_sec) * 1e6 +
					    (double)(now.tv_nsec - p->began.tv_nsec) / 1e3;
	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	if (p->json) {
		json_object(NULL);
		json_string("step", name);
		json_number("microseconds", us < 0 ? 0 : (uint64_t)us);
		json_string("detail", detail);
		json_end();
	} else {
		char *shown = cli_escape(detail);

		if (us < 0)
			printf("ok  %-14s %13s  %s\n", name, "", shown);
		else
			printf("ok  %-14s %10.1f us  %s\n", name, us, shown);
		free(shown);
		fflush(stdout);
	}
	step_begin(p);
}

/* Prints the values that the two sides have negotiated, as the endpoint shows them. */
static void agreed_print(struct ping *p)
{
	struct ping_end *end = &p->end;
	DAT_EP_PARAM param;
	const DAT_EP_ATTR *a = &param.ep_attr;

	memset(&param, 0, sizeof(param));
	if (API(dat_ep_query)(end->ep, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return;
	p->began.tv_sec = 0; /* this step takes no time */
	step_done(p, "agreed",
		  "messages to %" PRIu64 " bytes, RDMA to %" PRIu64 "; RDMA Reads at a "
		  "time: %d in, %d out; %d receives, %d requests outstanding",
		  (uint64_t)a->max_message_size, (uint64_t)a->max_rdma_size,
		  (int)a->max_rdma_read_in, (int)a->max_rdma_read_out, (int)a->max_recv_dtos,
		  (int)a->max_request_dtos);
}

/* ------------------------------------------------------------------------------------ client */

static bool peer_address(struct ping *p, struct sockaddr_storage *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const struct sockaddr *own = (const struct sockaddr *)p->end.ia_attr.ia_address_ptr;
	struct addrinfo *found;
	int err;

	memset(address, 0, sizeof(*address));
	if (p->address == NULL) {
		memcpy(address, own,
		       own->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in));
		return true;
	}
	err = getaddrinfo(p->address, NULL, &hints, &found);
	if (err != 0) {
		cli_error("%s: %s; give the IP address of the peer's adapter", p->address,
			  gai_strerror(err));
		return false;
	}
	memcpy(address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return true;
}

static bool connect_peer(struct ping *p, struct ping_place *shared)
{
	struct ping_end *end = &p->end;
	const DAT_CONNECTION_EVENT_DATA *data;
	unsigned char hello[PING_PRIVATE];
	struct sockaddr_storage address;
	DAT_EVENT event;
	DAT_RETURN ret;
	bool came;

	if (!peer_address(p, &address) || !ping_endpoint(end))
		return false;
	ping_place_pack(hello, (struct ping_place){ 0, 0 });
	step_begin(p);
	ret = API(dat_ep_connect)(end->ep, (DAT_IA_ADDRESS_PTR)&address, p->qual, end->patience,
			     sizeof(hello), hello, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_connect");
		return false;
	}
	/* The attempt ends by its own timeout, and its event gives the reason. */
	end->patience += GRACE;
	came = ping_event(end, end->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, "connect", &event);
	end->patience -= GRACE;
	if (!came)
		return false;
	data = &event.event_data.connect_event_data;
	if (!ping_place_unpack(data->private_data, data->private_data_size, shared)) {
		cli_error("connect: the server is not a 'datctl ping', or its private data were "
			  "lost; start 'datctl ping --server' there");
		return false;
	}
	step_done(p, "connect", "qualifier %" PRIu64 ", %d bytes of private data each way",
		  (uint64_t)p->qual, PING_PRIVATE);
	return true;
}

static bool exchange(struct ping *p, struct ping_place shared)
{
	const struct ping_place nowhere = { 0, 0 };
	struct ping_end *end = &p->end;
	struct ping_place window;

	step_begin(p);
	if (!ping_tell(end, PING_SEND, nowhere) || !ping_hear(end, PING_REPLY, NULL))
		return false;
	step_done(p, "send, receive", "%d bytes there and back", PING_MESSAGE);
	ping_fill(&end->local, 0, PING_WRITE);
	step_begin(p);
	if (!ping_write(end, shared) || !ping_tell(end, PING_WRITE, nowhere) ||
	    !ping_hear(end, PING_READ, &window))
		return false;
	step_done(p, "RDMA write", "%d bytes, verified by the peer", PING_REGION);
	if (!ping_read(end, shared) ||
	    !ping_check(&end->local, 0, PING_READ, "what was read by RDMA"))
		return false;
	step_done(p, "RDMA read", "%d bytes, verified", PING_REGION);
	ping_fill(&end->local, 0, PING_WINDOW);
	step_begin(p);
	if (window.address != 0 && !ping_write(end, window))
		return false;
	if (!ping_tell(end, PING_WINDOW, nowhere) || !ping_hear(end, PING_DONE, NULL))
		return false;
	if (window.address != 0)
		step_done(p, "RMR", "%d bytes written through a memory window", PING_REGION);
	else
		step_done(p, "RMR", "not tried: the peer's adapter offers no memory windows");
	return ping_tell(end, PING_BYE, nowhere);
}

static bool client(struct ping *p)
{
	struct ping_end *end = &p->end;
	struct ping_place shared;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (!connect_peer(p, &shared))
		return false;
	agreed_print(p);
	if (!exchange(p, shared))
		return false;
	ret = API(dat_ep_disconnect)(end->ep, DAT_CLOSE_GRACEFUL_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ep_disconnect");
		return false;
	}
	if (!ping_event(end, end->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnect",
			&event))
		return false;
	step_done(p, "disconnect", "in order");
	return true;
}

/* ----------------------------------------------------------------------------------- running */

static bool run_client(struct ping *p)
{
	struct ping_end *end = &p->end;
	char address[NI_MAXHOST];
	bool done;

	step_begin(p);
	if (!ping_open(end))
		return false;
	address_print(end, address, sizeof(address));
	step_done(p, "open", "%s: %.64s, provider %.64s %d.%d, address %s", end->adapter,
		  end->ia_attr.adapter_name, end->provider_attr.provider_name,
		  (int)end->provider_attr.provider_version_major,
		  (int)end->provider_attr.provider_version_minor, address);
	if (!ping_prepare(end))
		return false;
	step_done(p, "memory", "%d bytes registered", 3 * PING_REGION + 2 * PING_MESSAGE);
	done = client(p);
	ping_hang_up(end);
	return done;
}

/*
 * Waits for the end of the peer. It has a time limit for each step; the limit here is for a peer
 * that hangs elsewhere.
 */
static bool peer_end(struct ping *p, pid_t pid, bool kill_it)
{
	int left = kill_it ? 0 : (int)(p->end.patience / 1000) + 1000;
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && left > 0) {
		poll(NULL, 0, 5);
		left -= 5;
	}
	if (ended == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		if (!kill_it)
			cli_error(
				"the peer did not end and was killed; DAT_LOG=debug may show why");
		return false;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == CLI_OK;
}

static bool ping_forked(struct ping *p)
{
	struct pollfd polled = { .events = POLLIN };
	pid_t self = getpid(), pid;
	bool done = false;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
		cli_error("cannot create a second process: %s; end some programs, or raise 'ulimit "
			  "-u'",
			  strerror(errno));
		return false;
	}
	if (pid == 0) {
		close(fds[0]);
		peer_process(p, fds[1], self);
	}
	close(fds[1]);
	polled.fd = fds[0];
	if (poll(&polled, 1, (int)(p->end.patience / 1000)) == 0)
		cli_error("the peer does not start; 'datctl check --ia %s' may show why",
			  p->end.adapter);
	else if (read(fds[0], &p->qual, sizeof(p->qual)) == sizeof(p->qual))
		done = run_client(p);
	close(fds[0]);
	return peer_end(p, pid, !done) && done;
}

static int ping(struct ping *p)
{
	bool done;

	if (p->server)
		return serve_others(p);
	if (p->json) {
		json_object(NULL);
		json_string("adapter", p->end.adapter);
		json_array("steps");
	}
	/* Fork first, because a child cannot use what its parent has opened through uDAPL. */
	fflush(NULL);
	done = p->address != NULL ? run_client(p) : ping_forked(p);
	ping_close(&p->end);
	if (p->json) {
		json_end();
		json_bool("ok", done);
		json_end();
	} else if (done) {
		printf("%s works.\n", p->end.adapter);
	}
	return done ? CLI_OK : CLI_FAILED;
}

int ping_run(const struct ping_order *order)
{
	struct ping p = {
		.end = { .adapter = order->adapter, .patience = order->patience },
		.address = order->address,
		.qual = order->qual,
		.server = order->server,
		.json = order->json,
	};

	return ping(&p);
}
