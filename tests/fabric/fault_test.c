/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults between two machines: a peer that is killed, a foreign peer ("stranger") that uses rdma_cm without a provider, a link
 * that goes down, and a device that is removed or reset. Each fault leads to the event that the standard names, and afterwards the
 * adapter works, or can be closed. Runs in a guest of the lab, over the adapter that OPENDAT_TEST_IA names.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meet.h"

#define AREA	((size_t)1 << 20)
#define STREAM	8
#define FOREIGN 7471 /* port of a foreign server */
#define SLEPT_MS 2000

static void wait_to_be_killed(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (;;)
		pause();
}

/* Takes `outstanding` completions. Returns how many of them are errors. */
static int drain(DAT_EVD_HANDLE evd, int outstanding)
{
	DAT_EVENT event;
	int errors = 0;

	while (outstanding-- > 0) {
		API_EVENT(evd, &event);
		errors += event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
	}
	return errors;
}

static void post_writes(int count)
{
	DAT_RMR_TRIPLET there = api_offer_part(&my.theirs, 0, AREA);

	for (int n = 0; n < count; n++)
		REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, 0, AREA), there, (uint64_t)n, 0),
			    DAT_SUCCESS);
}

/* Checks after a fault that the adapter still works: two endpoints of this process connect and exchange data. */
static void works_again(void)
{
	struct api_pair pair;

	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &my.buf);
	api_disconnect(&pair);
}

static void killed_peer_ends_the_connection_and_flushes_receives(void)
{
	meet_start(wait_to_be_killed, AREA);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, n), DAT_SUCCESS);
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	for (uint64_t n = 0; n < 4; n++)
		API_DTO(my.end.recv, my.end.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(my.end.connect);
	works_again();
}

static void writes_to_a_killed_peer_complete(void)
{
	meet_start(wait_to_be_killed, AREA);
	post_writes(STREAM);
	check_kill(my.peer);
	drain(my.end.request, STREAM);
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_EMPTY(my.end.request);
	works_again();
}

static void endpoint_connects_anew_after_a_reset(void)
{
	struct api_pair pair;

	api_open();
	my.buf = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	for (int n = 0; n < 4; n++) {
		api_disconnect(&pair);
		REQUIRE_DAT(dat_ep_reset(pair.a.ep), DAT_SUCCESS);
		REQUIRE_DAT(dat_ep_reset(pair.b.ep), DAT_SUCCESS);
		api_pair_connect(&pair);
		api_pair_works(&pair, &my.buf);
	}
}

/* The peer posts its receive only long after the send was posted. */
static void receives_late(void *arg)
{
	DAT_EVENT event;
	bool came;

	(void)arg;
	meet_accept(AREA);
	check_await(CHECK_PARENT);
	usleep(300000);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	API_EVENT(my.end.recv, &event);
	came = event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
	if (!came) {
		/* iWARP has no RNR NAK, so a message without a receive ends the connection. */
		CHECK(!strncmp(api_ia_name(), "iwarp", 5));
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.status,
			     DAT_DTO_ERR_FLUSHED);
	}
	check_signal(CHECK_PARENT);
	API_CONN_OVER(my.end.connect, my.end.ep);
}

static void message_before_the_first_receive_waits_or_ends_the_connection(void)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;

	meet_start(receives_late, AREA);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, 64, 7, 0), DAT_SUCCESS);
	check_signal(my.peer);
	API_EVENT(my.end.request, &event);
	status = event.event_data.dto_completion_event_data.status;
	/*
	 * Over iWARP the connection may end before the send completes. If siw finds the connection
	 * ended just after it has sent the last segment, the request fails; otherwise it is flushed.
	 */
	if (status != DAT_DTO_SUCCESS) {
		CHECK(!strncmp(api_ia_name(), "iwarp", 5));
		CHECK(status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT);
	}
	check_await(my.peer);
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	check_join(my.peer);
}

/* Posts its receives after ESTABLISHED, as MPI libraries do, which have other work first. */
static void receives_when_established(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	usleep(300000);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 64, 64, 2), DAT_SUCCESS);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_SUCCESS, 64);
	check_signal(CHECK_PARENT);
	API_CONN_OVER(my.end.connect, my.end.ep);
}

static void receive_may_be_posted_when_the_connection_is_established(void)
{
	if (!strncmp(api_ia_name(), "iwarp", 5) && !getenv("FABRIC_LATE_MS"))
		check_skip("the peer's program takes longer than late_ms is by default: fault_test.sh gives the adapter more");
	meet_start(receives_when_established, AREA);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, 64, 7, 0), DAT_SUCCESS);
	API_DTO(my.end.request, my.end.ep, 7, DAT_DTO_SUCCESS, 64);
	check_await(my.peer);
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	check_join(my.peer);
}

/* A read into more segments than the device supports is refused or transfers all bytes, but never only a part. */
static void read_into_two_segments_is_refused_or_right(void)
{
	DAT_LMR_TRIPLET into[2];
	DAT_RMR_TRIPLET from;
	struct api_pair pair;
	DAT_RETURN ret;

	api_open();
	my.buf = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_make(&pair, NULL);
	api_fill(my.buf.mem, 8192, 5);
	into[0] = api_seg(&my.buf, 65536, 4096);
	into[1] = api_seg(&my.buf, 131072, 4096);
	from = api_target(&my.buf, 0, 8192);
	ret = dat_ep_post_rdma_read(pair.a.ep, 2, into, api_cookie(3), &from,
				    DAT_COMPLETION_DEFAULT_FLAG);
	if (api.attr.max_iov_segments_per_rdma_read < 2) {
		CHECK(ret != DAT_SUCCESS);
		return;
	}
	REQUIRE_DAT(ret, DAT_SUCCESS);
	API_DTO(pair.a.request, pair.a.ep, 3, DAT_DTO_SUCCESS, 8192);
	CHECK_EQ_MEM(my.buf.mem + 65536, my.buf.mem, 4096);
	CHECK_EQ_MEM(my.buf.mem + 131072, my.buf.mem + 4096, 4096);
}

/* ------------------------------------------------------------------ strangers */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *stranger;

static struct rdma_cm_id *foreign_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	REQUIRE_EQ_INT(rdma_get_cm_event(channel, &event), 0);
	REQUIRE_EQ_STR(rdma_event_str(event->event), rdma_event_str(type));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

/* A client of rdma_cm with a queue pair sends a connection request with garbage as private data. */
static void foreign_connect(void)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 4,
						  .max_recv_wr = 4,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	unsigned char garbage[56];
	struct rdma_conn_param param = { .private_data = garbage,
					 .private_data_len = sizeof(garbage),
					 .retry_count = 7 };

	memset(garbage, 0xff, sizeof(garbage));
	check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
	my.theirs.address.sin_port = htons((uint16_t)my.theirs.qual);
	REQUIRE((channel = rdma_create_event_channel()) != NULL);
	REQUIRE_EQ_INT(rdma_create_id(channel, &stranger, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(
		rdma_resolve_addr(stranger, NULL, (struct sockaddr *)&my.theirs.address, 4000), 0);
	foreign_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	REQUIRE_EQ_INT(rdma_resolve_route(stranger, 4000), 0);
	foreign_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	REQUIRE_EQ_INT(rdma_create_qp(stranger, NULL, &attr), 0);
	REQUIRE_EQ_INT(rdma_connect(stranger, &param), 0);
}

static void foreign_client_is_rejected(void *arg)
{
	(void)arg;
	foreign_connect();
	foreign_event(RDMA_CM_EVENT_REJECTED);
}

static void foreign_client_goes_silent(void *arg)
{
	(void)arg;
	foreign_connect();
	for (;;)
		pause();
}

static void invite(void (*run)(void *))
{
	my.peer = check_fork(run, NULL);
	meet_open(AREA);
	check_put(my.peer, &my.offer, sizeof(my.offer));
}

static void garbage_in_a_request_is_the_consumers_to_judge(void)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	invite(foreign_client_is_rejected);
	cr = api_cr(my.cr_evd);
	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	REQUIRE(param.private_data_size >= 56 && param.private_data_size <= 512);
	for (int i = 0; i < 56; i++)
		CHECK_EQ_INT(((unsigned char *)param.private_data)[i], 0xff);
	REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
	check_join(my.peer);
	works_again();
}

/* A client that does not confirm may count as connected or not. When it dies, its connection ends. */
static void client_that_goes_silent_and_dies_leaves_nothing(void)
{
	DAT_EVENT event;

	invite(foreign_client_goes_silent);
	REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
	check_kill(my.peer);
	API_EVENT(my.end.connect, &event);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		API_CONN_OVER(my.end.connect, my.end.ep);
	else
		CHECK(event.event_number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
		      event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	works_again();
}

static void adapter_closes_while_a_client_is_silent(void)
{
	invite(foreign_client_goes_silent);
	REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = DAT_HANDLE_NULL;
	check_kill(my.peer);
}

static void request_of_a_client_that_died_cannot_be_accepted(void)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	invite(foreign_client_goes_silent);
	cr = api_cr(my.cr_evd);
	check_kill(my.peer);
	REQUIRE_DAT(dat_cr_accept(cr, my.end.ep, 0, NULL), DAT_SUCCESS);
	API_EVENT(my.end.connect, &event);
	/* If the transport does not confirm an accept, the endpoint may first get ESTABLISHED. */
	if (api_declares("accept", "unconfirmed") &&
	    event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		API_CONN_OVER(my.end.connect, my.end.ep);
	else
		CHECK_EQ_INT(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	works_again();
}

/* The stranger listens and never answers a request. */
static void foreign_server_is_silent(void *arg)
{
	struct sockaddr_in at;

	(void)arg;
	check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
	at = my.theirs.address;
	at.sin_port = htons(FOREIGN);
	REQUIRE((channel = rdma_create_event_channel()) != NULL);
	REQUIRE_EQ_INT(rdma_create_id(channel, &stranger, NULL, RDMA_PS_TCP), 0);
	REQUIRE_EQ_INT(rdma_bind_addr(stranger, (struct sockaddr *)&at), 0);
	REQUIRE_EQ_INT(rdma_listen(stranger, 4), 0);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void connect_to_a_silent_server_times_out(void)
{
	invite(foreign_server_is_silent);
	check_await(my.peer);
	my.theirs = my.offer;
	my.theirs.qual = FOREIGN;
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, 2000000), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	check_kill(my.peer);
	works_again();
}

/* siw listens on a TCP socket, so any program can send bytes to it. rxe has no such socket. */
static void bytes_that_are_no_request_disturb_nobody(void)
{
	struct sockaddr_in to;
	char garbage[600];
	int fd;

	meet_open(AREA);
	to = my.offer.address;
	to.sin_port = htons((uint16_t)my.offer.qual);
	REQUIRE((fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
	memset(garbage, 0xa5, sizeof(garbage));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		CHECK(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL) > 0);
	works_again();
	close(fd);
	API_QUIET(my.cr_evd);
}

/* siw must not take the end of a TCP connection that it has not accepted yet for the end of its listener. */
static void clients_that_go_at_once_leave_the_listener(void)
{
	struct sockaddr_in to;
	struct api_end other;

	meet_open(AREA);
	to = my.offer.address;
	to.sin_port = htons((uint16_t)my.offer.qual);
	for (int i = 0; i < 20; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		REQUIRE(fd >= 0);
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
			CHECK(strncmp(api_ia_name(), "iwarp", 5) != 0);
		close(fd);
	}
	api_end_make(&other, NULL);
	REQUIRE_DAT(api_offer_connect(other.ep, &my.offer, api_patience()), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_QUIET(my.cr_evd);
}

/* ------------------------------------------------------------------ what ended connections leave behind */

/* Returns how many rdma_cm_ids all processes have on the adapter's device, whose name follows the dash in the adapter's name. */
static int ids(void)
{
	const char *dash = strrchr(api_ia_name(), '-');
	char command[80];
	FILE *list;
	int count = -1;

	REQUIRE(dash != NULL);
	snprintf(command, sizeof(command), "rdma resource show cm_id link %s/1 | wc -l", dash + 1);
	list = popen(command, "r");
	REQUIRE(list != NULL);
	CHECK_EQ_INT(fscanf(list, "%d", &count), 1);
	pclose(list);
	return count;
}

static void connections_that_have_ended_leave_no_id_behind(void)
{
	struct api_pair pair;
	int before = -1;

	api_open();
	for (int i = 0; i < 20; i++) {
		api_pair_make(&pair, NULL);
		if (before < 0)
			before = ids();
		REQUIRE(before > 0);
		api_disconnect(&pair);
		api_end_free(&pair.a);
		api_end_free(&pair.b);
		REQUIRE_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
	}
	CHECK_SOON(ids() < before);
}

/* ------------------------------------------------------------------ the device */

/*
 * Each of these tests leaves a device that has to be created anew, so fault_test.sh runs them one by one and does that between
 * them. They take the machine's link down, so they run only in a guest of the lab.
 */
static void only_in_the_lab(void)
{
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "re");

	if (file && !fgets(line, sizeof(line), file))
		line[0] = 0;
	if (file)
		fclose(file);
	if (!strstr(line, "lab.host="))
		check_skip("it changes the links of the machine it runs on: run it in the lab "
			   "(make check-fabric)");
}

static bool over_siw(void)
{
	return !strncmp(api_ia_name(), "iwarp", 5);
}

static void do_command(const char *rxe, const char *siw)
{
	CHECK_EQ_INT(system(over_siw() ? siw : rxe), 0);
}

/* Writes until a write fails or `ms` milliseconds have passed. Returns true if one has failed. */
static bool a_write_fails(uint64_t ms)
{
	uint64_t until = check_now_ms() + ms;
	DAT_EVENT event;

	do {
		post_writes(1);
		API_EVENT(my.end.request, &event);
	} while (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS &&
		 check_now_ms() < until);
	return event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
}

/*
 * Returns true if a link that goes down ends a connection of the host with itself. siw of Linux 6.12 does nothing when a link goes
 * down, and TCP reaches an address of the own host through the loopback device. siw of 6.1 ends its connections.
 */
static bool link_matters(void)
{
	struct utsname kernel;

	return !over_siw() || uname(&kernel) || strverscmp(kernel.release, "6.12") < 0;
}

static void link_that_goes_down_amid_a_transfer_ends_the_connection(void)
{
	meet_start(wait_to_be_killed, AREA);
	post_writes(STREAM);
	do_command("ip link set eth0 down", "ip link set eth1 down");
	drain(my.end.request, STREAM);
	if (link_matters()) {
		if (api_state(my.end.ep) == DAT_EP_STATE_CONNECTED)
			CHECK(a_write_fails(check_patience_ms()));
		API_CONN_OVER(my.end.connect, my.end.ep);
	} else {
		CHECK(!a_write_fails(2000));
		CHECK_EQ_INT(api_state(my.end.ep), DAT_EP_STATE_CONNECTED);
	}
	check_kill(my.peer);
}

/*
 * The peer's hardware address changes while the active side waits for its answer. Over siw, Linux does not end the attempt. Over
 * rxe, Linux reports "unreachable" and the provider sends the request again, so the peer's program gets two connection requests,
 * and the first one is obsolete.
 */
static void neighbour_that_changes_its_address_fails_no_attempt(void)
{
	struct api_end other;
	DAT_CR_HANDLE cr;

	meet_open(AREA);
	api_end_make(&other, NULL);
	REQUIRE_DAT(api_offer_connect(other.ep, &my.offer, api_patience()), DAT_SUCCESS);
	cr = api_cr(my.cr_evd);
	do_command("ip neigh replace $LAB_IB lladdr 52:54:00:09:00:99 dev eth0",
		   "ip neigh replace $LAB_IW lladdr 52:54:00:09:01:99 dev eth1");
	if (!over_siw()) {
		DAT_CR_HANDLE again = api_cr(my.cr_evd);

		CHECK_DAT(dat_cr_reject(cr), DAT_SUCCESS);
		cr = again;
	}
	API_QUIET(other.connect);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(cr, my.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_QUIET(my.cr_evd);
	works_again();
	do_command("ip neigh del $LAB_IB dev eth0", "ip neigh del $LAB_IW dev eth1");
}

/* Deletes the device in the background, because the kernel waits until all processes have closed it, and this one has it open. */
static pid_t begin_to_delete_the_device(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("rdma", "rdma", "link", "delete", over_siw() ? "siw0" : "rxe0", (char *)NULL);
		_exit(127);
	}
	REQUIRE(pid > 0);
	return pid;
}

static bool has_ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == pid && status == 0;
}

static void close_what_is_gone(void)
{
	DAT_EVENT event;

	API_EVENT(api.async, &event);
	CHECK_EQ_INT(event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	api.ia = DAT_HANDLE_NULL;
}

static void deleted_device_ends_its_connections_and_is_told_of(void)
{
	pid_t deletes;

	meet_start(wait_to_be_killed, AREA);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	deletes = begin_to_delete_the_device();
	/* The peer uses the same device, so its disconnect may arrive before the loss of this side is noticed. */
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	close_what_is_gone();
	check_kill(my.peer);
	/* The deletion completes while this process goes on, because it keeps nothing of the device open. */
	CHECK_SOON(has_ended_well(deletes));
}

/* There is no connection and no listener, so the adapter must notice the loss by itself. */
static void device_gone_under_an_idle_adapter_is_told_of(void)
{
	pid_t deletes;

	api_open();
	deletes = begin_to_delete_the_device();
	close_what_is_gone();
	CHECK_SOON(has_ended_well(deletes));
}

/* ------------------------------------------------------------------ a device that is reset */

static char fifo[] = "/tmp/opendat-reset-XXXXXX";

static void forget_reset(void)
{
	unsetenv("TWIST_RESET");
	api_close();
	unlink(fifo);
}

/* Opens the devices of this process, and of those that it forks, so that reset() resets them. */
static void make_resettable(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!preloaded || !strstr(preloaded, "libtwist"))
		check_skip("no device can be reset here: run it by `lab run --as`");
	close(mkstemp(fifo));
	unlink(fifo);
	REQUIRE_EQ_INT(mkfifo(fifo, 0600), 0);
	setenv("TWIST_RESET", fifo, 1);
}

static void reset(void)
{
	int fd = open(fifo, O_WRONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE_EQ_INT(write(fd, "", 1), 1);
	close(fd);
}

/*
 * A driver that resets its device after an error of the firmware reports that by an event. From then on nothing completes, and most
 * calls fail. The program hears of the end of each connection, gets back what it has posted, and can close the adapter.
 */
static void device_that_is_reset_ends_its_connections_and_is_told_of(void)
{
	make_resettable();
	meet_start(wait_to_be_killed, AREA);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, n), DAT_SUCCESS);
	reset();
	/* The peer uses the same device, so its disconnect may arrive before the loss of this side is noticed. */
	API_CONN_OVER(my.end.connect, my.end.ep);
	for (uint64_t n = 0; n < 4; n++)
		API_DTO(my.end.recv, my.end.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_EMPTY(my.end.recv);
	close_what_is_gone();
	check_kill(my.peer);
	unsetenv("TWIST_RESET");
	meet_open(AREA);
	works_again();
}

/* Requests of an endpoint that never complete do not keep the program from ending it. */
static void writes_to_a_device_that_is_reset_are_flushed(void)
{
	DAT_EVENT event;

	make_resettable();
	meet_start(wait_to_be_killed, AREA);
	post_writes(STREAM);
	reset();
	API_CONN_OVER(my.end.connect, my.end.ep);
	drain(my.end.request, STREAM);
	CHECK_DAT(DAT_GET_TYPE(dat_evd_dequeue(my.end.request, &event)), DAT_QUEUE_EMPTY);
	CHECK_DAT(dat_ep_free(my.end.ep), DAT_SUCCESS);
	close_what_is_gone();
	check_kill(my.peer);
}

static __thread int naps;

/* Replaces the C library's, and counts the calls of each thread. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
	int (*real)(const struct timespec *, struct timespec *);

	*(void **)&real = dlsym(RTLD_NEXT, "nanosleep");
	naps++;
	return real(time, rest);
}

/* With many endpoints it would take long to wait for each of them. */
static void nothing_is_waited_for_that_a_device_that_is_reset_owes(void)
{
	struct api_pair pair[4];
	struct api_buf buf;
	DAT_EVENT event;

	make_resettable();
	api_open();
	buf = api_buf(AREA, DAT_MEM_PRIV_ALL_FLAG);
	for (int i = 0; i < 4; i++) {
		api_pair_make(&pair[i], NULL);
		REQUIRE_DAT(api_recv(pair[i].a.ep, &buf, 0, 64, 1), DAT_SUCCESS);
		REQUIRE_DAT(api_recv(pair[i].b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	}
	reset();
	API_EVENT(api.async, &event);
	CHECK_EQ_INT(event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	naps = 0;
	CHECK_DAT(dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(naps, 0);
	api.ia = DAT_HANDLE_NULL;
}

static void device_that_is_back_works(void)
{
	meet_open(AREA);
	works_again();
}

/* ------------------------------------------------------------------ a device that the kernel takes away */

static int last_channel = -1; /* the descriptor of the completion channel that was created last */

/* Replaces the function of libibverbs. */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	static struct ibv_comp_channel *(*real)(struct ibv_context *);
	struct ibv_comp_channel *made;

	if (!real)
		real = (struct ibv_comp_channel *(*)(struct ibv_context *))dlsym(RTLD_NEXT, "ibv_create_comp_channel");
	made = real(context);
	if (made)
		last_channel = made->fd;
	return made;
}

/* Makes the descriptor what it is after Linux has taken the device from the program: it has an error for good, and no event. */
static void take_channel_away(void)
{
	int ends[2];

	REQUIRE(last_channel >= 0);
	REQUIRE_EQ_INT(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	close(ends[0]);
	REQUIRE(dup2(ends[1], last_channel) == last_channel);
	close(ends[1]);
}

/* The processor time that a thread or this process has used, in milliseconds. */
static long used_ms(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000L + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void wait_sleeps_when_the_device_is_gone(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	long before;

	api_open();
	evd = api_evd(64, DAT_EVD_DTO_FLAG);
	take_channel_away();
	before = used_ms(RUSAGE_THREAD);
	CHECK_DAT(dat_evd_wait(evd, SLEPT_MS * 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	CHECK(used_ms(RUSAGE_THREAD) - before < SLEPT_MS / 2);
}

static void service_thread_sleeps_when_the_device_is_gone(void)
{
	DAT_EVD_HANDLE evd;
	long before;

	api_open();
	evd = api_evd(64, DAT_EVD_DTO_FLAG);
	take_channel_away();
	REQUIRE_DAT(dat_evd_modify_cno(evd, api_cno()), DAT_SUCCESS);
	before = used_ms(RUSAGE_SELF);
	usleep(SLEPT_MS * 1000);
	CHECK(used_ms(RUSAGE_SELF) - before < SLEPT_MS / 2);
}

static const struct check_test device_tests[] = {
	CHECK_TEST(neighbour_that_changes_its_address_fails_no_attempt),
	CHECK_TEST(link_that_goes_down_amid_a_transfer_ends_the_connection),
	CHECK_TEST(deleted_device_ends_its_connections_and_is_told_of),
	CHECK_TEST(device_gone_under_an_idle_adapter_is_told_of),
	CHECK_TEST(device_that_is_back_works),
	CHECK_END
};

static const struct check_test reset_tests[] = {
	CHECK_TEST(device_that_is_reset_ends_its_connections_and_is_told_of),
	CHECK_TEST(writes_to_a_device_that_is_reset_are_flushed),
	CHECK_TEST(nothing_is_waited_for_that_a_device_that_is_reset_owes),
	CHECK_END
};

static const struct check_test fault_tests[] = {
	CHECK_TEST(wait_sleeps_when_the_device_is_gone),
	CHECK_TEST(service_thread_sleeps_when_the_device_is_gone),
	CHECK_TEST(endpoint_connects_anew_after_a_reset),
	CHECK_TEST(message_before_the_first_receive_waits_or_ends_the_connection),
	CHECK_TEST(receive_may_be_posted_when_the_connection_is_established),
	CHECK_TEST(read_into_two_segments_is_refused_or_right),
	CHECK_TEST(killed_peer_ends_the_connection_and_flushes_receives),
	CHECK_TEST(writes_to_a_killed_peer_complete),
	CHECK_TEST(garbage_in_a_request_is_the_consumers_to_judge),
	CHECK_TEST(client_that_goes_silent_and_dies_leaves_nothing),
	CHECK_TEST(adapter_closes_while_a_client_is_silent),
	CHECK_TEST(request_of_a_client_that_died_cannot_be_accepted),
	CHECK_TEST(connect_to_a_silent_server_times_out),
	CHECK_TEST(bytes_that_are_no_request_disturb_nobody),
	CHECK_TEST(clients_that_go_at_once_leave_the_listener),
	CHECK_TEST(connections_that_have_ended_leave_no_id_behind),
	CHECK_END
};

static const struct check_suite faults = {
	.name = "fault",
	.teardown = api_close,
	.tests = fault_tests,
};

static const struct check_suite device_faults = {
	.name = "device",
	.setup = only_in_the_lab,
	.teardown = api_close,
	.tests = device_tests,
};

static const struct check_suite resets = {
	.name = "reset",
	.teardown = forget_reset,
	.tests = reset_tests,
};

CHECK_SUITES(&faults, &device_faults, &resets);
