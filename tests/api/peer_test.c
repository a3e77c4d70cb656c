/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that dies, at any point: the survivor gets one event, its requests complete, its waiters
 * wake, and nothing of the dead process is left on the machine. And a peer of another user, which
 * cannot connect.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "meet.h"

#define MB    ((size_t)1 << 20)
#define AREA  (4 * MB)
#define DEPTH 16

static void wait_to_be_killed(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	for (;;)
		pause();
}

/*
 * Checks that the connection is over, that one event reports it, and that the endpoint can be
 * connected again.
 */
static void want_the_end(void)
{
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_QUIET(my.end.connect);
	CHECK_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(dat_ep_reset(my.end.ep), DAT_SUCCESS);
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void idle_connection_ends_when_the_peer_is_killed(void)
{
	meet_start(wait_to_be_killed, AREA);
	for (uint64_t n = 0; n < 4; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, n), DAT_SUCCESS);
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	for (uint64_t n = 0; n < 4; n++)
		API_DTO(my.end.recv, my.end.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(my.end.connect);
	API_EMPTY(my.end.recv);
}

static void waiters_on_evds_and_cno_wake_when_the_peer_is_killed(void)
{
	struct api_waiter connect, recv, notified;
	DAT_CNO_HANDLE cno;

	meet_start(wait_to_be_killed, AREA);
	cno = api_cno();
	REQUIRE_DAT(dat_evd_modify_cno(my.end.request, cno), DAT_SUCCESS);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, MB, 2, 0), DAT_SUCCESS); /* the peer has no receive for it */
	api_wait_start(&connect, my.end.connect, 1);
	api_wait_start(&recv, my.end.recv, 1);
	api_cno_wait_start(&notified, cno);
	check_kill(my.peer);
	api_wait_end(&connect);
	api_wait_end(&recv);
	api_wait_end(&notified);
	CHECK_DAT(connect.ret, DAT_SUCCESS);
	CHECK_DAT(recv.ret, DAT_SUCCESS);
	CHECK_EQ_INT(recv.event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	CHECK_DAT(notified.ret, DAT_SUCCESS);
	API_STATE(my.end.ep, DAT_EP_STATE_DISCONNECTED);
}

static void pending_graceful_disconnect_ends_when_the_peer_is_killed(void)
{
	meet_start(wait_to_be_killed, AREA);
	REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, MB, 2, 0), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_disconnect(my.end.ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	check_kill(my.peer);
	want_the_end();
}

static void listen_only(void *arg)
{
	(void)arg;
	meet_open(AREA);
	check_put(CHECK_PARENT, &my.offer, sizeof(my.offer));
	api_cr(my.cr_evd);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void connect_fails_when_the_peer_is_killed_before_it_accepts(void)
{
	DAT_EVENT event;

	my.peer = check_fork(listen_only, NULL);
	meet_open(AREA);
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	check_await(my.peer);
	check_kill(my.peer);
	API_EVENT(my.end.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	API_STATE(my.end.ep, DAT_EP_STATE_DISCONNECTED);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(my.end.connect);
}

static void connect_only(void *arg)
{
	(void)arg;
	meet_open(AREA);
	check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	for (;;)
		pause();
}

static void accept_fails_when_the_peer_was_killed(void)
{
	DAT_CR_HANDLE cr;

	my.peer = check_fork(connect_only, NULL);
	meet_open(AREA);
	check_put(my.peer, &my.offer, sizeof(my.offer));
	cr = api_cr(my.cr_evd);
	check_kill(my.peer);
	REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, 64, 1), DAT_SUCCESS);
	REQUIRE_DAT(dat_cr_accept(cr, my.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	API_DTO(my.end.recv, my.end.ep, 1, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	API_QUIET(my.end.connect);
}

/* The peers below work until they die. */
static void take_for_ever(void *arg)
{
	uint64_t n;

	(void)arg;
	meet_accept(AREA);
	for (n = 0; n < DEPTH; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, MB, n), DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	for (n = 0;; n++) {
		API_EVENT(my.end.recv, &(DAT_EVENT){ 0 });
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, MB, n), DAT_SUCCESS);
	}
}

static void write_for_ever(void *arg)
{
	DAT_RMR_TRIPLET to;

	(void)arg;
	meet_accept(AREA);
	to = api_offer_part(&my.theirs, 0, MB);
	check_signal(CHECK_PARENT);
	for (uint64_t n = 0;; n++) {
		REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, 0, MB), to, n, 0), DAT_SUCCESS);
		API_DTO(my.end.request, my.end.ep, n, DAT_DTO_SUCCESS, MB);
	}
}

static void send_for_ever(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	check_signal(CHECK_PARENT);
	for (uint64_t n = 0;; n++) {
		REQUIRE_DAT(api_send(my.end.ep, &my.buf, 0, n % 3 ? 100 : MB, n, 0), DAT_SUCCESS);
		API_DTO(my.end.request, my.end.ep, n, DAT_DTO_SUCCESS, API_ANY_LENGTH);
	}
}

static void nap_us(long us)
{
	nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 },
		  NULL);
}

enum stream { SENDS, WRITES, READS };

static DAT_RETURN post_one(enum stream stream, uint64_t n)
{
	size_t size = n % 3 ? 200 : MB;
	DAT_RMR_TRIPLET to = api_offer_part(&my.theirs, 2 * MB, size);

	return stream == SENDS	  ? api_send(my.end.ep, &my.buf, 0, size, n, 0)
	       : stream == WRITES ? api_write(my.end.ep, api_seg(&my.buf, 0, size), to, n, 0)
				  : api_read(my.end.ep, api_seg(&my.buf, 2 * MB, size), to, n, 0);
}

/* Takes one completion: they come in order, and no success comes after a failure. */
static void reap_one(uint64_t n, bool *failed)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	API_EVENT(my.end.request, &event);
	REQUIRE_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	dto = &event.event_data.dto_completion_event_data;
	CHECK_EQ_INT(dto->user_cookie.as_64, n);
	if (dto->status != DAT_DTO_SUCCESS)
		*failed = true;
	else
		CHECK(!*failed);
}

/* Kills the peer from a thread, so that it dies at any point of the stream. */
static void *kill_later(void *arg)
{
	nap_us(*(long *)arg);
	kill(my.peer, SIGKILL);
	return NULL;
}

static void stream_at_a_peer_that_is_killed(enum stream stream, long after_us)
{
	uint64_t posted = 0, reaped = 0;
	bool failed = false;
	pthread_t killer;

	meet_start(take_for_ever, AREA);
	check_await(my.peer);
	REQUIRE(pthread_create(&killer, NULL, kill_later, &after_us) == 0);
	while (!failed) {
		while (posted < reaped + DEPTH / 2 && post_one(stream, posted) == DAT_SUCCESS)
			posted++;
		reap_one(reaped++, &failed);
	}
	while (reaped < posted)
		reap_one(reaped++, &failed);
	REQUIRE(pthread_join(killer, NULL) == 0);
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_QUIET(my.end.request);
	API_EMPTY(my.end.connect);
	api_close();
}

static void stream_of_sends_ends_when_the_peer_is_killed(void)
{
	for (int i = 0; i < 6; i++)
		stream_at_a_peer_that_is_killed(SENDS, 1000 + 2700 * i);
}

static void stream_of_writes_ends_when_the_peer_is_killed(void)
{
	for (int i = 0; i < 6; i++)
		stream_at_a_peer_that_is_killed(WRITES, 1000 + 2300 * i);
}

static void stream_of_reads_ends_when_the_peer_is_killed(void)
{
	for (int i = 0; i < 6; i++)
		stream_at_a_peer_that_is_killed(READS, 1000 + 2500 * i);
}

static void survivor_of_a_sender_keeps_what_it_got(long after_us)
{
	DAT_EVENT event;
	bool over = false;
	uint64_t n;

	meet_start(send_for_ever, AREA);
	for (n = 0; n < DEPTH; n++)
		REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, MB, n), DAT_SUCCESS);
	check_await(my.peer);
	for (n = 0; !over; n++) {
		API_EVENT(my.end.recv, &event);
		over = event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
		CHECK_EQ_INT(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
		if (!over)
			REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, MB, n + DEPTH), DAT_SUCCESS);
		if (n == 5) {
			nap_us(after_us);
			kill(my.peer, SIGKILL);
		}
	}
	for (uint64_t last = n + DEPTH - 1; n < last; n++)
		API_DTO(my.end.recv, my.end.ep, n, DAT_DTO_ERR_FLUSHED, API_ANY_LENGTH);
	check_kill(my.peer);
	want_the_end();
	api_close();
}

static void receiver_is_told_when_the_sender_is_killed(void)
{
	for (int i = 0; i < 6; i++)
		survivor_of_a_sender_keeps_what_it_got(i * 700);
}

static void target_of_writes_is_told_when_the_writer_is_killed(void)
{
	for (int i = 0; i < 6; i++) {
		meet_start(write_for_ever, AREA);
		check_await(my.peer);
		nap_us(500 + 900 * i);
		check_kill(my.peer);
		want_the_end();
		/* The peer does not write here any more, so the memory can be freed. */
		CHECK_DAT(dat_lmr_free(my.buf.lmr), DAT_SUCCESS);
		api_close();
	}
}

static void want_refusal(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (api_declares("refused_access", "ends")) {
		API_CONN_OVER(my.end.connect, my.end.ep);
		return;
	}
	CHECK_EQ_INT(dto->status, DAT_DTO_ERR_REMOTE_ACCESS);
	API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_BROKEN);
}

/*
 * Writes to a region of the test's, which the test names in each round, until the region is freed.
 */
#define FREES 12

static void write_until_refused(void *arg)
{
	(void)arg;
	meet_open(AREA);
	check_put(CHECK_PARENT, &my.offer, sizeof(my.offer));
	for (int round = 0; round < FREES; round++) {
		DAT_EVENT event;
		DAT_RMR_TRIPLET to;

		check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
		to = api_offer_part(&my.theirs, 0, AREA);
		REQUIRE_DAT(dat_cr_accept(api_cr(my.cr_evd), my.end.ep, 0, NULL), DAT_SUCCESS);
		API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		memset(my.buf.mem, 0x77, AREA);
		do {
			REQUIRE_DAT(api_write(my.end.ep, api_seg(&my.buf, 0, AREA), to, 1, 0),
				    DAT_SUCCESS);
			API_EVENT(my.end.request, &event);
		} while (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
		want_refusal(&event.event_data.dto_completion_event_data);
		REQUIRE_DAT(dat_ep_reset(my.end.ep), DAT_SUCCESS);
	}
	api_close();
}

static void freed_region_is_touched_no_more(void)
{
	unsigned char *area;

	my.peer = check_fork(write_until_refused, NULL);
	meet_open(AREA);
	area = api_memory(AREA);
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	for (int round = 0; round < FREES; round++) {
		struct api_buf target = api_buf_in(api.pz, area, AREA, DAT_MEM_PRIV_ALL_FLAG);
		struct api_offer offer = { .target = api_target(&target, 0, AREA) };

		memset(area, 0, AREA);
		check_put(my.peer, &offer, sizeof(offer));
		REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
		API_CONN(my.end.connect, my.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		REQUIRE_SOON(*(volatile unsigned char *)area == 0x77);
		nap_us(300 * round);
		REQUIRE_DAT(dat_lmr_free(target.lmr), DAT_SUCCESS);
		memset(area, 0x11, AREA);
		API_CONN_OVER(my.end.connect, my.end.ep);
		/* each byte equals the one before it */
		REQUIRE_EQ_INT(area[0], 0x11);
		REQUIRE(memcmp(area + 1, area, AREA - 1) == 0);
		REQUIRE_DAT(dat_ep_reset(my.end.ep), DAT_SUCCESS);
	}
	check_join(my.peer);
}

static void leave(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	check_await(CHECK_PARENT);
	_exit(0);
}

static void peer_that_just_exits_ends_the_connection(void)
{
	meet_start(leave, AREA);
	check_signal(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	API_QUIET(my.end.connect);
	check_join(my.peer);
}

static void leave_properly(void *arg)
{
	(void)arg;
	meet_accept(AREA);
	check_await(CHECK_PARENT);
	/* The harness calls exit() with the IA open. */
}

static void peer_that_returns_from_main_ends_the_connection(void)
{
	meet_start(leave_properly, AREA);
	check_signal(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	check_join(my.peer);
}

/*
 * A program that the peer has started does not keep its connections, because descriptors are closed
 * on exec.
 */
static void leave_a_child_behind(void *arg)
{
	pid_t child;

	(void)arg;
	meet_accept(AREA);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	check_put(CHECK_PARENT, &child, sizeof(child));
	for (;;)
		pause();
}

static bool runs_sleep(pid_t pid)
{
	char path[64], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, "sleep\n");
}

static void program_that_the_peer_started_does_not_hold_the_connection(void)
{
	pid_t child;

	meet_start(leave_a_child_behind, AREA);
	check_get(my.peer, &child, sizeof(child));
	REQUIRE_SOON(runs_sleep(child));
	check_kill(my.peer);
	API_CONN_OVER(my.end.connect, my.end.ep);
	kill(child, SIGKILL);
}

static void hold_qual(void *arg)
{
	DAT_PSP_HANDLE psp;

	(void)arg;
	meet_open(AREA);
	REQUIRE_DAT(dat_psp_create(api.ia, UINT64_C(0x7a7a7a7a00000000) + (DAT_CONN_QUAL)getppid(),
				   my.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_SUCCESS);
	check_signal(CHECK_PARENT);
	for (;;)
		pause();
}

static void qualifier_of_another_process_is_in_use_until_it_dies(void)
{
	DAT_CONN_QUAL qual = UINT64_C(0x7a7a7a7a00000000) + (DAT_CONN_QUAL)getpid();
	DAT_PSP_HANDLE psp;

	my.peer = check_fork(hold_qual, NULL);
	meet_open(AREA);
	check_await(my.peer);
	CHECK_DAT(dat_psp_create(api.ia, qual, my.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	check_kill(my.peer);
	REQUIRE_SOON(dat_psp_create(api.ia, qual, my.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp) ==
		     DAT_SUCCESS);
}

/*
 * Returns whether a path is in a folder in which programs may leave files behind. Files of the build tree and of
 * the tests are excluded, because the library did not make them.
 */
static bool could_be_left(const char *path)
{
	static const char *const folders[] = { "/dev/shm/", "/tmp/", "/run/", "/var/", "/home/" };
	char *tree = getcwd(NULL, 0);
	bool ours = tree && !strncmp(path, tree, strlen(tree));

	free(tree);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return !ours && !strstr(path, "/opendat-") && !strstr(path, "/lib");
	return false;
}

static int named_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	REQUIRE(dir != NULL);
	while ((entry = readdir(dir))) {
		struct sockaddr_un name = { .sun_family = AF_UNSPEC };
		socklen_t size = sizeof(name);
		char path[4096] = "";

		if (readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1) < 0)
			continue;
		if (!getsockname(atoi(entry->d_name), (struct sockaddr *)&name, &size) &&
		    name.sun_family == AF_UNIX && size > sizeof(sa_family_t) && name.sun_path[0])
			count++;
		else
			count += could_be_left(path);
	}
	closedir(dir);
	return count;
}

static int named_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096 + 128];
	int count = 0;

	REQUIRE(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		count += strchr(line, '/') && could_be_left(strchr(line, '/'));
	fclose(maps);
	return count;
}

/* A file without a name in the file system is not left there by a process that is killed. */
static void nothing_is_left_of_either_process(void)
{
	int descriptors = named_descriptors(), mappings = named_mappings(), files = 0;

	for (int i = 0; i < 8; i++) {
		meet_start(i % 2 ? send_for_ever : wait_to_be_killed, AREA);
		if (i % 2)
			check_await(my.peer);
		for (uint64_t n = 0; n < 4; n++)
			REQUIRE_DAT(api_recv(my.end.ep, &my.buf, 0, MB, n), DAT_SUCCESS);
		nap_us(1000 * i);
		CHECK_EQ_INT(named_descriptors(), descriptors);
		CHECK_EQ_INT(named_mappings(), mappings);
		check_kill(my.peer);
		API_CONN_OVER(my.end.connect, my.end.ep);
		api_close();
		if (i == 1)
			files = api_descriptors(); /* everything that is loaded once has been loaded by now */
	}
	CHECK_EQ_INT(api_descriptors(), files);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* A process of another user. */
#define NOBODY 65534

static void become_nobody(void)
{
	REQUIRE(setgroups(0, NULL) == 0);
	REQUIRE(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static bool can_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (dat_ia_open(api_ia_name(), 8, &async, &ia) != DAT_SUCCESS)
		return false;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
}

static void connect_as_nobody(void *arg)
{
	DAT_EVENT event;
	char able;

	(void)arg;
	become_nobody();
	able = can_open();
	check_put(CHECK_PARENT, &able, 1);
	if (!able)
		return;
	meet_open(AREA);
	check_get(CHECK_PARENT, &my.theirs, sizeof(my.theirs));
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	API_EVENT(my.end.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	API_STATE(my.end.ep, DAT_EP_STATE_DISCONNECTED);
	check_signal(CHECK_PARENT);
	api_close();
}

static void listen_as_nobody(void *arg)
{
	char able;

	(void)arg;
	become_nobody();
	able = can_open();
	check_put(CHECK_PARENT, &able, 1);
	if (!able)
		return;
	meet_open(AREA);
	check_put(CHECK_PARENT, &my.offer, sizeof(my.offer));
	check_await(CHECK_PARENT);
	API_QUIET(my.cr_evd);
	api_close();
}

/* Skips the test over a device: soft0 belongs to one user, but a device's network has no users. */
static void skip_where_anybody_connects(void)
{
	bool anybody;

	api_open();
	anybody = api_over_verbs();
	api_close();
	if (anybody)
		check_skip("a device takes requests to connect from anybody on its network");
}

static void start_nobody(void (*run)(void *))
{
	char able;

	if (geteuid() != 0)
		check_skip("only root can become another user");
	skip_where_anybody_connects();
	my.peer = check_fork(run, NULL);
	check_get(my.peer, &able, 1);
	if (!able) {
		check_join(my.peer);
		check_skip("the other user cannot read the build tree");
	}
	meet_open(AREA);
}

/*
 * Opens files in a forked child, which may get the numbers of descriptors that it does not keep,
 * and forks a child of its own.
 */
static void fork_with_files(void *arg)
{
	int files[32], status;
	pid_t child;

	(void)arg;
	for (int i = 0; i < 32; i++)
		files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	child = fork();
	if (!child) {
		for (int i = 0; i < 32; i++)
			if (fcntl(files[i], F_GETFD) < 0)
				_exit(1);
		_exit(0);
	}
	REQUIRE(child > 0);
	REQUIRE_EQ_INT(waitpid(child, &status, 0), child);
	CHECK_EQ_INT(status, 0);
}

static void forked_child_forks_and_both_keep_their_files(void)
{
	DAT_CONN_QUAL qual;

	api_open();
	api_listen(api_evd(8, DAT_EVD_CR_FLAG), DAT_PSP_CONSUMER_FLAG, &qual);
	check_join(check_fork(fork_with_files, NULL));
	api_close();
}

static void request_of_another_user_is_refused(void)
{
	start_nobody(connect_as_nobody);
	check_put(my.peer, &my.offer, sizeof(my.offer));
	check_await(my.peer);
	API_QUIET(my.cr_evd);
	check_join(my.peer);
}

static void listener_of_another_user_is_not_reached(void)
{
	DAT_EVENT event;

	start_nobody(listen_as_nobody);
	check_get(my.peer, &my.theirs, sizeof(my.theirs));
	REQUIRE_DAT(api_offer_connect(my.end.ep, &my.theirs, api_patience()), DAT_SUCCESS);
	API_EVENT(my.end.connect, &event);
	CHECK(event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
	      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
	check_signal(my.peer);
	check_join(my.peer);
}

static const struct check_test tests[] = {
	CHECK_TEST(idle_connection_ends_when_the_peer_is_killed),
	CHECK_TEST(waiters_on_evds_and_cno_wake_when_the_peer_is_killed),
	CHECK_TEST(pending_graceful_disconnect_ends_when_the_peer_is_killed),
	CHECK_TEST(connect_fails_when_the_peer_is_killed_before_it_accepts),
	CHECK_TEST(accept_fails_when_the_peer_was_killed),
	CHECK_TEST(stream_of_sends_ends_when_the_peer_is_killed),
	CHECK_TEST(stream_of_writes_ends_when_the_peer_is_killed),
	CHECK_TEST(stream_of_reads_ends_when_the_peer_is_killed),
	CHECK_TEST(receiver_is_told_when_the_sender_is_killed),
	CHECK_TEST(target_of_writes_is_told_when_the_writer_is_killed),
	CHECK_TEST(freed_region_is_touched_no_more),
	CHECK_TEST(peer_that_just_exits_ends_the_connection),
	CHECK_TEST(peer_that_returns_from_main_ends_the_connection),
	CHECK_TEST(program_that_the_peer_started_does_not_hold_the_connection),
	CHECK_TEST(qualifier_of_another_process_is_in_use_until_it_dies),
	CHECK_TEST(nothing_is_left_of_either_process),
	CHECK_TEST(forked_child_forks_and_both_keep_their_files),
	CHECK_TEST(request_of_another_user_is_refused),
	CHECK_TEST(listener_of_another_user_is_not_reached),
	CHECK_END
};

static const struct check_suite peers = {
	.name = "peer",
	.teardown = api_close,
	.tests = tests,
};

/* This suite is the last one, because the effect of its initialiser cannot be undone. */
static const struct check_suite apart = {
	.name = "peer where the kernel does not copy",
	.setup = api_skip_where_threads_copy,
	.teardown = api_close,
	.tests = tests,
	.init = api_forbid_copies,
};

CHECK_SUITES(&peers, &apart);
