/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tests/fabric/twist_end.c: a process that forks while messages are held back, and the number of a queue pair that is given to
 * another. The queue pairs and their doorbells are the test's own, so no device is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "tests/fabric/twist.h"

enum { PIPE_BYTES = 4096, BLOCKED_MS = 200, MESSAGES = 3, ENDS = 200000 };

static struct ibv_qp pairs[2];
static int full[2], parents[2], childs[2]; /* pipes, into which the doorbells are written */
static int bell;

static struct rdma_cm_id id;
static _Atomic bool heard_enough;

/* The doorbell of a queue pair is one byte. */
static int ring(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp, (void)wr, (void)bad;
	return write(bell, "b", 1) == 1 ? 0 : EIO;
}

static int send_on(struct ibv_qp *qp, int fd)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE }, *bad;

	bell = fd;
	return twist_post_held(qp, &wr, &bad, ring);
}

/* Waits for the next doorbell in this pipe. */
static bool has_arrived(int fd)
{
	struct pollfd told = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&told, 1, (int)check_patience_ms()) == 1 && read(fd, &byte, 1) == 1;
}

static void skip_where_threads_are_lost(void)
{
	if (THREAD_SANITIZER)
		check_skip("the sanitizer does not follow a thread of a child of a process with threads");
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void pipe_fill(int fd)
{
	REQUIRE(fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES) > 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	while (write(fd, "f", 1) == 1)
		;
	REQUIRE(errno == EAGAIN && fcntl(fd, F_SETFL, 0) == 0);
}

static _Atomic bool drains;

static void *drain(void *arg)
{
	char bytes[PIPE_BYTES];

	atomic_store(&drains, true);
	pause_ms(BLOCKED_MS);
	CHECK(read(full[0], bytes, sizeof(bytes)) > 0);
	return arg;
}

/* The thread that sends blocks in the write, with its lock, when the process forks. */
static void child_that_is_forked_while_a_message_is_sent_can_send(void)
{
	pthread_t drainer;
	pid_t child;

	skip_where_threads_are_lost();
	atomic_store(&twist.held_ms, 5);
	REQUIRE(pipe2(full, O_CLOEXEC) == 0 && pipe2(childs, O_CLOEXEC) == 0);
	pipe_fill(full[1]);
	CHECK_EQ_INT(send_on(&pairs[0], full[1]), 0);
	pause_ms(BLOCKED_MS);
	REQUIRE(pthread_create(&drainer, NULL, drain, NULL) == 0);
	/* a thread that begins may hold a lock of the address sanitizer, without which the child can make no thread */
	REQUIRE_SOON(atomic_load(&drains));
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		send_on(&pairs[1], childs[1]);
		for (;;)
			pause();
	}
	CHECK(has_arrived(childs[0]));
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
	pthread_join(drainer, NULL);
}

/*
 * The parent's thread that sends waits for the next message when the process forks. The child has not got that thread, and must not
 * wait for it to wake up when it signals for a second time.
 */
static void child_that_is_forked_between_messages_can_send_again(void)
{
	pid_t child;

	skip_where_threads_are_lost();
	atomic_store(&twist.held_ms, 5);
	REQUIRE(pipe2(parents, O_CLOEXEC) == 0 && pipe2(childs, O_CLOEXEC) == 0);
	CHECK_EQ_INT(send_on(&pairs[0], parents[1]), 0);
	CHECK(has_arrived(parents[0]));
	pause_ms(BLOCKED_MS);
	child = fork();
	REQUIRE(child >= 0);
	/* sends one message, and each further one when the parent says so */
	if (child == 0) {
		do {
			send_on(&pairs[1], childs[1]);
		} while (has_arrived(parents[0]));
		_exit(0);
	}
	for (int i = 0; i < MESSAGES; i++) {
		CHECK(has_arrived(childs[0]));
		pause_ms(BLOCKED_MS);
		CHECK(write(parents[1], "n", 1) == 1);
	}
	kill(child, SIGKILL);
	CHECK(waitpid(child, NULL, 0) == child);
}

/* A thread that is told of the end of the connection `id` again and again. */
static void *hear_of_the_end(void *arg)
{
	while (!atomic_load(&heard_enough))
		twist_id_ends(&id);
	return arg;
}

static void new_queue_pair_with_the_number_of_an_old_one_is_alive(void)
{
	struct ibv_qp qp = { .qp_num = 7 };
	pthread_t hearer;
	int dead = 0;

	REQUIRE(pthread_create(&hearer, NULL, hear_of_the_end, NULL) == 0);
	for (int i = 0; i < ENDS; i++) {
		twist_id_has(&id, qp.qp_num);
		twist_qp_goes(&qp);
		twist_qp_begins(&qp);
		dead += twist_has_ended(qp.qp_num);
	}
	atomic_store(&heard_enough, true);
	pthread_join(hearer, NULL);
	CHECK_EQ_INT(dead, 0);
}

static const struct check_test tests[] = {
	CHECK_TEST(child_that_is_forked_while_a_message_is_sent_can_send),
	CHECK_TEST(child_that_is_forked_between_messages_can_send_again),
	CHECK_TEST(new_queue_pair_with_the_number_of_an_old_one_is_alive),
	CHECK_END
};

static const struct check_suite suite = { .name = "twist_fork", .tests = tests };

CHECK_SUITES(&suite);
