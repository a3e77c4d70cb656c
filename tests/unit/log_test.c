/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message returns and raises no signal whatever standard error is: a pipe, a socket or a terminal that nobody reads, or a file
 * that may not grow. What could not be written is counted. The tests of pipes and terminals run three times: the second time the
 * kernel refuses a write that does not wait, as before Linux 6.4, and the third time the file cannot be opened again either.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"
#include "log/datlog.h"

enum { THREADS = 8, READ_END = 0, WRITE_END = 1 };

static bool refuses_nowait, refuses_open;
static int kept = -1;		 /* the real standard error */
static int ends[2] = { -1, -1 }; /* of the pipe, the pair of sockets, or the terminal: ends[1] is standard error */
static atomic_int returned;
static char text[1 << 20]; /* what has been read */
static size_t length;
static int syslogged; /* messages */

ssize_t __real_pwritev2(int fd, const struct iovec *iov, int n, off_t offset, int flags);
ssize_t __wrap_pwritev2(int fd, const struct iovec *iov, int n, off_t offset, int flags);
int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
void __wrap_syslog(int priority, const char *format, ...);
void __wrap___syslog_chk(int priority, int flag, const char *format, ...);

ssize_t __wrap_pwritev2(int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
	if (!refuses_nowait)
		return __real_pwritev2(fd, iov, n, offset, flags);
	errno = EOPNOTSUPP;
	return -1;
}

int __wrap_open(const char *name, int flags, ...)
{
	if (!refuses_open || strncmp(name, "/proc/", 6))
		return __real_open(name, flags, 0644);
	errno = EACCES;
	return -1;
}

/* Where the C library checks what is written, the function has another name. */
void __wrap_syslog(int priority, const char *format, ...)
{
	(void)priority, (void)format;
	pthread_testcancel();
	syslogged++;
}

void __wrap___syslog_chk(int priority, int flag, const char *format, ...)
{
	(void)flag;
	__wrap_syslog(priority, format);
}

static void end_close(int i)
{
	if (ends[i] >= 0)
		close(ends[i]);
	ends[i] = -1;
}

static void setup(void)
{
	unsetenv("DAT_LOG");
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	refuses_nowait = refuses_open = false;
	atomic_store(&returned, 0);
	length = 0;
	kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	REQUIRE(kept >= 0);
	/* nothing is lost yet */
	ends[WRITE_END] = __real_open("/dev/null", O_WRONLY | O_CLOEXEC);
	REQUIRE(ends[WRITE_END] >= 0 && dup2(ends[WRITE_END], STDERR_FILENO) >= 0);
	end_close(WRITE_END);
	datlog_write(DATLOG_WARNING, "lib", "a test begins");
}

static void setup_without_nowait(void)
{
	setup();
	refuses_nowait = true;
}

static void setup_without_both(void)
{
	setup_without_nowait();
	refuses_open = true;
}

static void teardown(void)
{
	if (kept >= 0)
		dup2(kept, STDERR_FILENO);
	close(kept);
	end_close(READ_END);
	end_close(WRITE_END);
}

/* ------------------------------------------------------------------ what standard error is */

static void becomes_stderr(void)
{
	REQUIRE(dup2(ends[WRITE_END], STDERR_FILENO) >= 0);
	end_close(WRITE_END);
}

static void becomes_pipe(void)
{
	REQUIRE(!pipe2(ends, O_CLOEXEC));
	becomes_stderr();
}

static void becomes_socket(int type)
{
	REQUIRE(!socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
	becomes_stderr();
}

static void becomes_terminal(void)
{
	char name[64];

	ends[READ_END] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[READ_END] < 0)
		check_skip("there are no terminals here");
	REQUIRE(!grantpt(ends[READ_END]) && !unlockpt(ends[READ_END]));
	REQUIRE(!ptsname_r(ends[READ_END], name, sizeof(name)));
	ends[WRITE_END] = __real_open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	REQUIRE(ends[WRITE_END] >= 0);
	becomes_stderr();
}

/* Writes until there is no room for another byte. */
static void fill(void)
{
	int flags = fcntl(STDERR_FILENO, F_GETFL);
	char full[1024];
	size_t size;
	int idle;

	memset(full, 'x', sizeof(full));
	REQUIRE(!fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK));
	/* the kernel moves what a terminal has been given, which makes room again a little later */
	for (idle = 0; idle < 5; idle++, usleep(20000))
		for (size = sizeof(full); size; size /= 2)
			while (write(STDERR_FILENO, full, size) > 0)
				idle = 0;
	REQUIRE(!fcntl(STDERR_FILENO, F_SETFL, flags));
}

/* Reads what is there, and returns all that has been read in this test, without the returns that a terminal adds. */
static const char *drain(void)
{
	struct pollfd ready = { .fd = ends[READ_END], .events = POLLIN };
	char part[4096];
	ssize_t got = 1, i;

	while (got > 0 && length < sizeof(text) - sizeof(part) && poll(&ready, 1, 100) == 1) {
		got = read(ends[READ_END], part, sizeof(part));
		for (i = 0; i < got; i++)
			if (part[i] != '\r')
				text[length++] = part[i];
	}
	text[length] = '\0';
	return text;
}

/* ------------------------------------------------------------------ those who log */

static void *say_in_thread(void *arg)
{
	datlog_write(DATLOG_WARNING, "lib", arg);
	atomic_fetch_add(&returned, 1);
	return NULL;
}

/* In threads, since one that does not return must not hold up the test. */
static void say(const char *what, int times)
{
	int before = atomic_load(&returned);
	pthread_t thread;
	int i;

	for (i = 0; i < times; i++) {
		REQUIRE(!pthread_create(&thread, NULL, say_in_thread, (void *)(uintptr_t)what));
		pthread_detach(thread);
	}
	REQUIRE_SOON(atomic_load(&returned) == before + times);
}

static void flags_are_untouched(void)
{
	CHECK_EQ_INT(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
}

static unsigned int times_in_text(const char *what)
{
	const char *at;
	unsigned int n = 0;

	for (at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/*
 * Makes room, and logs until a line is written. That line says how many were lost: of the lines of the threads all that have not
 * been read, and the lines of this thread before it.
 */
static void the_next_line_says_how_many_were_lost(void)
{
	unsigned int tries, said = 0;
	const char *at;

	drain();
	for (tries = 0; tries < 100 && !strstr(drain(), "room again\n"); tries++)
		say("there is room again", 1);
	REQUIRE_HAS_STR(text, "lib: there is room again\n");
	at = strstr(text, " before this one could not be written");
	REQUIRE(at != NULL);
	while (at > text && at[-1] != '\n' && at[-1] != 'x')
		at--;
	REQUIRE_EQ_INT(sscanf(at, "lib: %u line", &said), 1);
	CHECK_EQ_INT(said + times_in_text("nobody reads this\n") + times_in_text("room again\n"), THREADS + tries);
	say("and one more", 1);
	drain();
	CHECK_EQ_INT(times_in_text(" before this one could not be written"), 1);
	CHECK_HAS_STR(text, "lib: and one more\n");
}

/* ------------------------------------------------------------------ tests */

static void full_pipe_holds_nobody_up(void)
{
	becomes_pipe();
	fill();
	say("nobody reads this", THREADS);
	flags_are_untouched();
	the_next_line_says_how_many_were_lost();
}

static void terminal_that_is_stopped_holds_nobody_up(void)
{
	becomes_terminal();
	REQUIRE(!tcflow(STDERR_FILENO, TCOOFF));
	say("nobody reads this", THREADS);
	flags_are_untouched();
	REQUIRE(!tcflow(STDERR_FILENO, TCOON));
	the_next_line_says_how_many_were_lost();
}

static void full_terminal_holds_nobody_up(void)
{
	becomes_terminal();
	fill();
	say("nobody reads this", THREADS);
	flags_are_untouched();
	the_next_line_says_how_many_were_lost();
}

static void full_socket_holds_nobody_up(void)
{
	becomes_socket(SOCK_STREAM);
	fill();
	say("nobody reads this", THREADS);
	flags_are_untouched();
	the_next_line_says_how_many_were_lost();
}

static void full_socket_of_messages_holds_nobody_up(void)
{
	becomes_socket(SOCK_DGRAM);
	fill();
	say("nobody reads this", THREADS);
	the_next_line_says_how_many_were_lost();
}

/* A signal that is raised ends this process. */
static void pipe_without_reader_raises_no_signal(void)
{
	becomes_pipe();
	end_close(READ_END);
	say("nobody reads this", THREADS);
	datlog_write(DATLOG_WARNING, "lib", "nobody reads this either");
}

static void socket_without_reader_raises_no_signal(void)
{
	becomes_socket(SOCK_STREAM);
	end_close(READ_END);
	say("nobody reads this", THREADS);
}

static void file_that_may_not_grow_raises_no_signal(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct rlimit before;

	ends[WRITE_END] = __real_open(check_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	REQUIRE(ends[WRITE_END] >= 0 && !getrlimit(RLIMIT_FSIZE, &before));
	becomes_stderr();
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &none));
	say("there is no room for this", 1);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &before));
}

static bool sigpipe_is_pending(void)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, SIGPIPE);
}

static void signals_of_the_program_stay_as_they_are(void)
{
	sigset_t set, after;

	becomes_pipe();
	end_close(READ_END);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	datlog_write(DATLOG_WARNING, "lib", "nobody reads this");
	CHECK(!sigpipe_is_pending());
	raise(SIGPIPE);
	datlog_write(DATLOG_WARNING, "lib", "nobody reads this");
	CHECK(sigpipe_is_pending());
	signal(SIGPIPE, SIG_IGN); /* drops it */
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	CHECK(sigismember(&after, SIGPIPE) && !sigismember(&after, SIGXFSZ) && !sigismember(&after, SIGTTOU));
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* The program's thread prints to a pipe that is full, say. */
static void lock_of_stdio_is_not_waited_for(void)
{
	becomes_pipe();
	flockfile(stderr);
	say("beside stdio", THREADS);
	funlockfile(stderr);
	CHECK_HAS_STR(drain(), "lib: beside stdio\n");
}

static void *cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	return say_in_thread(arg);
}

static void *asks_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	(void)datlog_wanted(DATLOG_ERROR, 0, NULL);
	atomic_fetch_add(&returned, 1);
	return arg;
}

static void thread_is_not_cancelled_in_a_message(void)
{
	pthread_t thread;
	char line[] = "from a thread that is to be cancelled";

	becomes_pipe();
	REQUIRE(!pthread_create(&thread, NULL, cancelled, line));
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_EQ_INT(atomic_load(&returned), 1);
	CHECK_HAS_STR(drain(), "lib: from a thread that is to be cancelled\n");
}

/*
 * The way to the log of the system is a cancellation point, and so is that to the time when the process began, for which the first
 * message asks.
 */
static void log_first(void *arg)
{
	char line[] = "from a thread that is to be cancelled";
	pthread_t thread;

	(void)arg;
	unsetenv("DAT_LOG");
	setenv("DAT_DBG_DEST", "2", 1);
	REQUIRE(!pthread_create(&thread, NULL, cancelled, line));
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_EQ_INT(atomic_load(&returned), 1);
	CHECK_EQ_INT(syslogged, 1);
}

static void thread_is_not_cancelled_in_the_first_message_to_the_system_log(void)
{
	check_join(check_fork(log_first, NULL));
}

static void ask_first(void *arg)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, asks_cancelled, arg));
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_EQ_INT(atomic_load(&returned), 1);
}

static void thread_is_not_cancelled_when_it_asks_whether_to_log(void)
{
	check_join(check_fork(ask_first, NULL));
}

static void long_line_is_cut(void)
{
	static char lengthy[3 * PIPE_BUF];
	size_t i;

	for (i = 0; i < sizeof(lengthy) - 1; i += 2)
		memcpy(lengthy + i, "\xc3\xa4", 2);
	lengthy[sizeof(lengthy) - 2] = '\0';
	becomes_pipe();
	say(lengthy, 1);
	drain();
	CHECK(strlen(text) <= PIPE_BUF && strlen(text) > PIPE_BUF - 4);
	CHECK_HAS_STR(text, "\xc3\xa4...\n");
}

/* The program has closed its standard error, and has a pipe of its own there now. */
static void pipe_that_the_program_reads_gets_nothing(void)
{
	int own[2];

	REQUIRE(!pipe2(own, O_CLOEXEC));
	ends[READ_END] = own[0];
	REQUIRE(dup2(own[0], STDERR_FILENO) >= 0);
	say("not for this pipe", 1);
	CHECK_EQ_STR(drain(), "");
	close(own[1]);
}

static const struct check_test any_tests[] = {
	CHECK_TEST(full_socket_holds_nobody_up),
	CHECK_TEST(full_socket_of_messages_holds_nobody_up),
	CHECK_TEST(socket_without_reader_raises_no_signal),
	CHECK_TEST(file_that_may_not_grow_raises_no_signal),
	CHECK_TEST(lock_of_stdio_is_not_waited_for),
	CHECK_TEST(thread_is_not_cancelled_in_a_message),
	CHECK_TEST(long_line_is_cut),
	CHECK_END
};

static const struct check_test tests[] = {
	CHECK_TEST(full_pipe_holds_nobody_up),
	CHECK_TEST(terminal_that_is_stopped_holds_nobody_up),
	CHECK_TEST(full_terminal_holds_nobody_up),
	CHECK_TEST(pipe_without_reader_raises_no_signal),
	CHECK_TEST(signals_of_the_program_stay_as_they_are),
	CHECK_TEST(pipe_that_the_program_reads_gets_nothing),
	CHECK_END
};

/* Without opening it again, a terminal that has room for a part of the line only is not told from one that has room. */
static const struct check_test last_tests[] = {
	CHECK_TEST(full_pipe_holds_nobody_up),
	CHECK_TEST(terminal_that_is_stopped_holds_nobody_up),
	CHECK_TEST(pipe_without_reader_raises_no_signal),
	CHECK_TEST(signals_of_the_program_stay_as_they_are),
	CHECK_TEST(pipe_that_the_program_reads_gets_nothing),
	CHECK_END
};

static const struct check_suite any = { .name = "message", .setup = setup, .teardown = teardown, .tests = any_tests };
static const struct check_suite nowait = { .name = "message by RWF_NOWAIT", .setup = setup, .teardown = teardown, .tests = tests };
static const struct check_suite opened = {
	.name = "message through /proc", .setup = setup_without_nowait, .teardown = teardown, .tests = tests,
};
static const struct check_suite polled = {
	.name = "message after poll", .setup = setup_without_both, .teardown = teardown, .tests = last_tests,
};

/* Nothing has been logged before these, and each is in a process of its own. */
static const struct check_test first_tests[] = {
	CHECK_TEST(thread_is_not_cancelled_in_the_first_message_to_the_system_log),
	CHECK_TEST(thread_is_not_cancelled_when_it_asks_whether_to_log),
	CHECK_END
};

static const struct check_suite first = { .name = "first message", .tests = first_tests };

CHECK_SUITES(&first, &any, &nowait, &opened, &polled);
