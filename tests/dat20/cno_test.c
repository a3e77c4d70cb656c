/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNOs with a descriptor, by programs of DAT 2.0: the descriptor is readable while there is a trigger to report, and
 * dat_cno_trigger() tells its EVD. The parent sleeps in poll(2) and epoll_wait(2) only; its peer is a process of its own. The
 * adapter is that of OPENDAT_TEST_IA, or else soft0.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>

#include "tests/dat20/adapter20.h"
#include "tests/dat20/report20.h"

enum { SIZE = 4096, SECONDS = 20000000, PATIENCE_MS = 20000, MESSAGES = 200, RECEIVES = 16 };

/* What a process has; `talk` is a socket to the other one. */
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async, dto, conn, requests;
static DAT_EP_HANDLE ep;
static DAT_LMR_CONTEXT local;
static char memory[SIZE];
static int talk;

/* Returns true if the descriptor is readable now, or becomes so in time. */
static int readable(int fd, int timeout_ms)
{
	struct pollfd look = { .fd = fd, .events = POLLIN };

	return poll(&look, 1, timeout_ms) == 1 && look.revents == POLLIN;
}

/* Checks that the next trigger is of this EVD. */
static void triggers(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE wanted)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&evd;

	SUCCEEDS(dat_cno_trigger(cno, &evd));
	expect(evd == wanted, "the trigger is of another EVD");
}

static void triggers_no_more(DAT_CNO_HANDLE cno, int fd)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&evd;

	returns(dat_cno_trigger(cno, &evd), DAT_QUEUE_EMPTY, "dat_cno_trigger() without a trigger");
	expect(evd == DAT_HANDLE_NULL, "there is an EVD without a trigger");
	expect(!readable(fd, 0), "the descriptor is readable without a trigger");
}

static void post(DAT_EVD_HANDLE evd)
{
	static DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	SUCCEEDS(dat_evd_post_se(evd, &event));
}

static void take(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted)
{
	DAT_EVENT event;

	SUCCEEDS(dat_evd_dequeue(evd, &event));
	expect(event.event_number == wanted, "the event is another one");
}

static DAT_EVD_HANDLE soft_evd(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	SUCCEEDS(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	return evd;
}

/* ------------------------------------------------------------------ one process */

static void is_made(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL, plain;
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = NULL, .proxy_agent_func = NULL };
	DAT_HANDLE_TYPE type;
	DAT_CNO_PARAM param;
	DAT_FD fd = -1;

	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	expect(fcntl(fd, F_GETFD) == FD_CLOEXEC, "the descriptor is not open, or stays open over exec()");
	SUCCEEDS(dat_get_handle_type(cno, &type));
	expect(type == DAT_HANDLE_TYPE_CNO, "it is no CNO");
	memset(&param, 0xa5, sizeof(param));
	SUCCEEDS(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	expect(param.proxy_type == DAT_PROXY_TYPE_FD && param.proxy.fd == fd, "the query tells another descriptor");
	expect(param.ia_handle == ia, "the query tells another IA");
	triggers_no_more(cno, fd);
	returns(dat_cno_modify_agent(cno, agent), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1), "an agent beside it");
	SUCCEEDS(dat_cno_free(cno));
	expect(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "the descriptor stays open");
	returns(dat_cno_trigger(cno, &async), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), "a CNO that was freed");

	SUCCEEDS(dat_cno_create(ia, agent, &plain));
	SUCCEEDS(dat_cno_query(plain, DAT_CNO_FIELD_ALL, &param));
	expect(param.proxy_type == DAT_PROXY_TYPE_AGENT && param.proxy.agent.proxy_agent_func == NULL,
	       "a CNO without a descriptor has one");
	SUCCEEDS(dat_cno_free(plain));
	report("a CNO with a descriptor is made, asked and freed");
}

static void refuses(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	struct rlimit limit, none;
	DAT_FD fd = -1;

	returns(dat_cno_fd_create(pz, &fd, &cno), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA), "a PZ for the IA");
	returns(dat_cno_fd_create(ia, NULL, &cno), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), "no place for the descriptor");
	returns(dat_cno_fd_create(ia, &fd, NULL), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3), "no place for the handle");
	returns(dat_cno_trigger(pz, &async), ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO), "a PZ for the CNO");
	getrlimit(RLIMIT_NOFILE, &limit);
	none = limit;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	returns(dat_cno_fd_create(ia, &fd, &cno), ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY), "no descriptor left");
	setrlimit(RLIMIT_NOFILE, &limit);
	expect(fd == -1 && cno == DAT_HANDLE_NULL, "a call that failed has written its results");
	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	returns(dat_cno_trigger(cno, NULL), ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2), "no place for the EVD");
	SUCCEEDS(dat_cno_free(cno));
	report("wrong arguments, and the limit of open files, are refused");
}

static void tells_of_events(void)
{
	DAT_EVD_HANDLE first, second, evd;
	DAT_CNO_HANDLE cno, other;
	DAT_FD fd, other_fd;

	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	SUCCEEDS(dat_cno_fd_create(ia, &other_fd, &other));
	first = soft_evd(cno);
	second = soft_evd(cno);
	post(first);
	expect(readable(fd, 0) && readable(fd, 0), "the descriptor is not readable after an event");
	post(second);
	post(second);
	triggers(cno, first);
	expect(readable(fd, 0), "the descriptor is not readable although there is another trigger");
	triggers(cno, second);
	triggers(cno, second);
	triggers_no_more(cno, fd);
	report("each event triggers once, and the descriptor is readable until the last one is told");

	take(first, DAT_SOFTWARE_EVENT);
	post(first);
	take(first, DAT_SOFTWARE_EVENT);
	triggers_no_more(cno, fd);
	post(first);
	SUCCEEDS(dat_cno_wait(cno, 0, &evd));
	expect(evd == first, "dat_cno_wait() returns another EVD");
	triggers_no_more(cno, fd);
	returns(dat_cno_wait(cno, 1000, &evd), DAT_QUEUE_EMPTY, "a wait for nothing");
	report("an event that was taken triggers no more, and dat_cno_wait() takes triggers, too");

	post(second);
	SUCCEEDS(dat_evd_modify_cno(second, other));
	expect(!readable(fd, 0) && readable(other_fd, 0), "the trigger has not gone to the other CNO with its EVD");
	triggers(other, second);
	triggers_no_more(other, other_fd);
	returns(dat_cno_free(other), ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE), "a CNO with an EVD");
	SUCCEEDS(dat_evd_free(second));
	expect(readable(other_fd, 0), "the descriptor does not tell that the last EVD was freed");
	triggers(other, DAT_HANDLE_NULL);
	triggers_no_more(other, other_fd);
	SUCCEEDS(dat_cno_free(other));
	SUCCEEDS(dat_evd_disable(first));
	post(first);
	expect(!readable(fd, 0), "an EVD triggers although it is disabled");
	SUCCEEDS(dat_evd_free(first));
	SUCCEEDS(dat_cno_free(cno));
	report("an EVD takes its triggers along, and its end is told");
}

/* ------------------------------------------------------------------ threads, fork and close */

enum { POSTS = 20000 };

static DAT_EVD_HANDLE shared_evd;

static void *posts_often(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

		while (dat_evd_post_se(shared_evd, &event) != DAT_SUCCESS)
			sched_yield(); /* the queue is full */
	}
	return arg;
}

/* Sleeps in poll(2) only. If a trigger were lost, the sleep would not end in time. */
static void wakes_for_each_thread(void)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	pthread_t threads[2];
	DAT_EVENT event;
	int taken = 0;
	DAT_FD fd;

	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	shared_evd = soft_evd(cno);
	for (int i = 0; i < 2; i++)
		expect(pthread_create(&threads[i], NULL, posts_often, NULL) == 0, "there is no thread");
	while (taken < 2 * POSTS && readable(fd, PATIENCE_MS)) {
		if (dat_cno_trigger(cno, &evd) == DAT_SUCCESS)
			expect(evd == shared_evd, "the trigger is of another EVD");
		while (dat_evd_dequeue(shared_evd, &event) == DAT_SUCCESS)
			taken++;
	}
	expect(taken == 2 * POSTS, "a thread slept although there was an event");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	triggers_no_more(cno, fd);
	SUCCEEDS(dat_evd_free(shared_evd));
	SUCCEEDS(dat_cno_free(cno));
	report("a thread that sleeps in poll() wakes for each event of other threads");
}

/* A child of fork() has no part in the descriptor: what it reads there is not the parent's. */
static void stays_the_parents(void)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct stat is;
	int status = 1;
	char byte[8];
	DAT_FD fd;
	pid_t pid;

	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	evd = soft_evd(cno);
	post(evd);
	pid = fork();
	if (pid == 0) {
		if (fstat(fd, &is) || !S_ISCHR(is.st_mode) || read(fd, byte, sizeof(byte)) != 0)
			_exit(1);
		_exit(dat_cno_trigger(cno, &evd) != ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO));
	}
	waitpid(pid, &status, 0);
	expect(status == 0, "a child of fork() has the parent's descriptor, or its CNO");
	expect(readable(fd, 0), "the child has taken the parent's trigger");
	triggers(cno, evd);
	triggers_no_more(cno, fd);
	SUCCEEDS(dat_evd_free(evd));
	SUCCEEDS(dat_cno_free(cno));
	report("a child of fork() does not share the descriptor");
}

static void *polls(void *fd)
{
	return readable(*(int *)fd, PATIENCE_MS) ? fd : NULL;
}

static void closes_with_the_ia(void)
{
	DAT_EVD_HANDLE own_async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE second;
	DAT_CNO_HANDLE cno;
	pthread_t thread;
	void *woken;
	int copy;
	DAT_FD fd;

	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &own_async, &second));
	SUCCEEDS(dat_cno_fd_create(second, &fd, &cno));
	copy = dup(fd); /* the thread may come late, and find another descriptor of that number */
	expect(pthread_create(&thread, NULL, polls, &copy) == 0, "there is no thread");
	SUCCEEDS(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	expect(pthread_join(thread, &woken) == 0 && woken, "the thread has not been woken");
	expect(fcntl(fd, F_GETFD) < 0 && errno == EBADF, "the descriptor stays open after the IA");
	close(copy);
	report("the descriptor goes with its IA, and a sleeping thread wakes");
}

/* ------------------------------------------------------------------ two processes */

static void open_side(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;

	async = DAT_HANDLE_NULL;
	SUCCEEDS(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia));
	if (differs)
		exit(96);
	SUCCEEDS(dat_pz_create(ia, &pz));
	SUCCEEDS(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &local,
				NULL, NULL, NULL));
}

static void make_ep(DAT_CNO_HANDLE cno)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_message_size = SIZE,
			     .max_recv_dtos = RECEIVES,
			     .max_request_dtos = RECEIVES,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };

	SUCCEEDS(dat_evd_create(ia, 2 * RECEIVES, cno, DAT_EVD_DTO_FLAG, &dto));
	SUCCEEDS(dat_evd_create(ia, 8, cno, DAT_EVD_CONNECTION_FLAG, &conn));
	SUCCEEDS(dat_ep_create(ia, pz, dto, dto, conn, &attr, &ep));
}

static DAT_LMR_TRIPLET piece(size_t at)
{
	return (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)&memory[at],
				  .segment_length = 64,
				  .lmr_context = local };
}

static void receive(DAT_UINT64 number)
{
	DAT_LMR_TRIPLET sink = piece(number % RECEIVES * 64);
	DAT_DTO_COOKIE cookie = { .as_64 = number };

	SUCCEEDS(dat_ep_post_recv(ep, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The peer connects to the qualifier that it is told, and sends a message for each byte that it reads, until the socket ends. */
static void child(void)
{
	DAT_LMR_TRIPLET source;
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;
	char order;

	open_side();
	make_ep(DAT_HANDLE_NULL);
	source = piece(0);
	SUCCEEDS(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	if (read(talk, &qual, sizeof(qual)) != (ssize_t)sizeof(qual))
		exit(95);
	SUCCEEDS(dat_ep_connect(ep, attr.ia_address_ptr, qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	SUCCEEDS(dat_evd_wait(conn, SECONDS, 1, &event, &more));
	while (read(talk, &order, 1) == 1) {
		SUCCEEDS(dat_ep_post_send(ep, 1, &source, cookie, DAT_COMPLETION_DEFAULT_FLAG));
		SUCCEEDS(dat_evd_wait(dto, SECONDS, 1, &event, &more));
		expect(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "the child's send has failed");
	}
	SUCCEEDS(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	SUCCEEDS(dat_evd_wait(conn, SECONDS, 1, &event, &more));
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	exit(differs);
}

/* Sleeps until the CNO triggers; returns the next event of the EVD that it names, which is then looked at until it is empty. */
static int next_event(int epoll, DAT_CNO_HANDLE cno, DAT_EVENT *event)
{
	static DAT_EVD_HANDLE at;
	struct epoll_event ready;

	for (;;) {
		if (at != DAT_HANDLE_NULL && dat_evd_dequeue(at, event) == DAT_SUCCESS)
			return 1;
		at = DAT_HANDLE_NULL;
		if (dat_cno_trigger(cno, &at) == DAT_SUCCESS)
			continue;
		if (epoll_wait(epoll, &ready, 1, PATIENCE_MS) != 1)
			return 0;
		expect(ready.data.u32 == 7 && ready.events == EPOLLIN, "another descriptor is ready");
	}
}

/* The parent is a server with one loop: requests, connections, messages and the end come through one descriptor. */
static void serves(void)
{
	struct epoll_event watch = { .events = EPOLLIN, .data.u32 = 7 };
	int epoll = epoll_create1(EPOLL_CLOEXEC), got = 0, connected = 0, ended = 0;
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;
	DAT_FD fd;

	SUCCEEDS(dat_cno_fd_create(ia, &fd, &cno));
	expect(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &watch) == 0, "epoll does not take the descriptor");
	make_ep(cno);
	for (DAT_UINT64 i = 0; i < RECEIVES; i++)
		receive(i);
	SUCCEEDS(dat_evd_create(ia, 8, cno, DAT_EVD_CR_FLAG, &requests));
	SUCCEEDS(dat_psp_create_any(ia, &qual, requests, DAT_PSP_CONSUMER_FLAG, &psp));
	expect(write(talk, &qual, sizeof(qual)) == (ssize_t)sizeof(qual), "the child does not listen");
	while (!differs && !ended && next_event(epoll, cno, &event)) {
		DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;

		if (event.evd_handle == requests) {
			SUCCEEDS(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
		} else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			connected = 1;
		} else if (event.evd_handle == conn) {
			ended = 1;
			continue;
		} else if (done->status == DAT_DTO_SUCCESS) {
			expect(done->user_cookie.as_64 == (DAT_UINT64)got, "the messages come in another order");
			receive((DAT_UINT64)got++ + RECEIVES);
		}
		if (connected && event.evd_handle != requests && got < MESSAGES)
			expect(write(talk, "m", 1) == 1, "the child does not listen");
		else if (got == MESSAGES)
			shutdown(talk, SHUT_WR);
	}
	shutdown(talk, SHUT_WR);
	expect(got == MESSAGES && ended, "not all has come through the descriptor");
	SUCCEEDS(dat_ep_free(ep));
	close(epoll);
	report("requests, messages and the end of a connection come through one descriptor");
}

int main(void)
{
	int status = 1;
	pid_t pid;

	if (!adapter_choose())
		return 99;
	pid = adapter_fork(SOCK_STREAM, &talk);
	if (pid < 0)
		return 99;
	if (pid == 0)
		child();
	open_side();
	is_made();
	refuses();
	tells_of_events();
	wakes_for_each_thread();
	stays_the_parents();
	closes_with_the_ia();
	serves();
	adapter_chosen_end();
	SUCCEEDS(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	waitpid(pid, &status, 0);
	expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child has found differences");
	report("both sides close their adapters");
	printf("1..%d\n", tests);
	return failed != 0;
}
