/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_loop: uDAPL in a program that waits in epoll, in C++17. An agent of a CNO writes to an eventfd
 * when an event has come; the loop waits for the eventfd and for whatever else it has, here a timer.
 *
 *	./event_loop soft0 server
 *	./event_loop soft0 client
 */
#include "tutorial.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace {
constexpr int messages = 5;
DAT_DTO_COOKIE no_cookie{};

/* Runs on a thread of the provider: it only wakes the loop. */
void ring(DAT_PVOID fd, DAT_EVD_HANDLE)
{
	eventfd_write(*static_cast<int *>(fd), 1);
}

/* An agent is called once, so it is armed again first; events that came before that are seen here. */
int take_all(side &s, DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	int taken = 0;
	DAT_EVENT event;

	MUST(dat_cno_modify_agent(cno, agent));
	while (dat_evd_dequeue(s.recv_evd, &event) == DAT_SUCCESS) {
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			exit(1);
		taken++;
	}
	return taken;
}

int timer_every_ms(long ms)
{
	itimerspec when{{0, ms * 1000000}, {0, ms * 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	timerfd_settime(fd, 0, &when, nullptr);
	return fd;
}

void watch(int epoll, int fd)
{
	epoll_event what{EPOLLIN, {}};

	what.data.fd = fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &what);
}

void serve(side &s, DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent, int bell)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timer_every_ms(5), ticks = 0;
	int received = take_all(s, cno, agent);	/* arms the agent */

	watch(epoll, bell);
	watch(epoll, timer);
	while (received < messages || ticks < 3) {
		epoll_event what{};
		uint64_t count;

		if (epoll_wait(epoll, &what, 1, -1) != 1 || read(what.data.fd, &count, sizeof(count)) < 0)
			continue;
		if (what.data.fd == timer)
			ticks++;
		else
			received += take_all(s, cno, agent);
	}
	printf("%d messages and a timer, in one loop\n", received);
	close(timer);
	close(epoll);
}

void send_slowly(side &s)
{
	for (int i = 0; i < messages; i++) {
		auto what = segment(&s, 0, 64);

		usleep(20000);
		MUST(dat_ep_post_send(s.ep, 1, &what, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
		complete(s.request_evd, "waiting for a send");
	}
	MUST(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG));
}
} // namespace

int main(int argc, char **argv)
{
	bool server = is_server(argc, argv);
	int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	DAT_OS_WAIT_PROXY_AGENT agent{&bell, ring}, no_agent{};
	static side s;
	DAT_CNO_HANDLE cno;

	open_side(&s, argv[1]);
	MUST(dat_cno_create(s.ia, no_agent, &cno));
	MUST(dat_evd_modify_cno(s.recv_evd, cno));
	for (int i = 0; i < messages; i++) {
		auto where = segment(&s, i * 64u, 64);

		MUST(dat_ep_post_recv(s.ep, 1, &where, no_cookie, DAT_COMPLETION_DEFAULT_FLAG));
	}
	establish(&s, server, argc > 3 ? argv[3] : nullptr);
	if (server)
		serve(s, cno, agent, bell);
	else
		send_slowly(s);
	expect(s.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, "waiting for the end");
	MUST(dat_evd_modify_cno(s.recv_evd, DAT_HANDLE_NULL));
	MUST(dat_cno_free(cno));
	close_side(&s);
	close(bell);
}
