/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bare limits of this machine, two processes on two CPUs: what no transport can beat.
 *
 *	bare pingpong [ITERS]		a cache line to and fro; ns one way
 *	bare futex [ITERS]		to sleep and be woken, to and fro; ns both ways
 *	bare memcpy SIZE		MB/s (10^6), between buffers as a transfer of that size has them
 *	bare writev SIZE, readv SIZE	process_vm_writev/readv, MB/s
 *
 * It prints one number, the best of several samples for the loops and of all for the copies.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 20

/* What the two processes share, each word on a line of its own. */
struct shared {
	_Alignas(128) _Atomic uint32_t ball;
	_Alignas(128) _Atomic(unsigned char *) target;
	_Alignas(128) _Atomic uint32_t done;
};

static struct shared *shared;

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The n-th CPU that this process may use, if there are so many. */
static void pin(int n)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static pid_t start(void (*run)(long), long arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(1);
	pin(1);
	run(arg);
	exit(0);
}

static void finish(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		die("the other process");
}

/* ------------------------------------------------------------------ loops */

static void await_ball(uint32_t want)
{
	while (atomic_load_explicit(&shared->ball, memory_order_acquire) != want)
		;
}

static void pong(long iters)
{
	for (uint32_t i = 0; i < (uint32_t)iters * SAMPLES; i++) {
		await_ball(2 * i + 1);
		atomic_store_explicit(&shared->ball, 2 * i + 2, memory_order_release);
	}
}

static void sleep_for_ball(uint32_t want)
{
	uint32_t seen;

	while ((seen = atomic_load(&shared->ball)) != want)
		syscall(SYS_futex, &shared->ball, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void throw_ball(uint32_t value)
{
	atomic_store(&shared->ball, value);
	syscall(SYS_futex, &shared->ball, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void futex_pong(long iters)
{
	for (uint32_t i = 0; i < (uint32_t)iters * SAMPLES; i++) {
		sleep_for_ball(2 * i + 1);
		throw_ball(2 * i + 2);
	}
}

static double round_trip_ns(long iters, bool sleeps)
{
	pid_t other = start(sleeps ? futex_pong : pong, iters);
	double best = 1e18;
	uint32_t i = 0;

	pin(0);
	for (int sample = 0; sample < SAMPLES; sample++) {
		double from = now_ns(), took;

		for (long n = 0; n < iters; n++, i++) {
			if (sleeps) {
				throw_ball(2 * i + 1);
				sleep_for_ball(2 * i + 2);
			} else {
				atomic_store_explicit(&shared->ball, 2 * i + 1,
						      memory_order_release);
				await_ball(2 * i + 2);
			}
		}
		took = (now_ns() - from) / (double)iters;
		best = took < best ? took : best;
	}
	finish(other);
	return best;
}

/* ------------------------------------------------------------------ copies */

static unsigned char *buffer(size_t size)
{
	unsigned char *memory = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	if (!memory)
		die("memory");
	memset(memory, 1, size);
	return memory;
}

/* As many buffers as fit into 8 MB, as a window of messages has them. */
static size_t window(size_t size)
{
	size_t n = ((size_t)8 << 20) / size;

	return n < 2 ? 2 : n > 64 ? 64 : n;
}

static void hold_target(long size)
{
	atomic_store(&shared->target, buffer((size_t)size * window((size_t)size)));
	while (!atomic_load(&shared->done))
		usleep(1000);
}

enum copy { COPY_MEMCPY, COPY_WRITEV, COPY_READV };

static void copy_one(enum copy how, pid_t pid, unsigned char *mine, unsigned char *theirs,
		     size_t size)
{
	struct iovec here = { mine, size }, there = { theirs, size };
	ssize_t n = (ssize_t)size;

	if (how == COPY_MEMCPY)
		memcpy(theirs, mine, size);
	else if (how == COPY_WRITEV)
		n = process_vm_writev(pid, &here, 1, &there, 1, 0);
	else
		n = process_vm_readv(pid, &here, 1, &there, 1, 0);
	if (n != (ssize_t)size)
		die("process_vm_readv/writev");
}

static double copy_mbps(enum copy how, size_t size)
{
	size_t n = window(size), iters = ((size_t)256 << 20) / size;
	unsigned char *mine = buffer(size * n), *theirs;
	double best = 0;
	pid_t pid = 0;

	if (how == COPY_MEMCPY) {
		theirs = buffer(size * n);
	} else {
		pid = start(hold_target, (long)size);
		while (!(theirs = atomic_load(&shared->target)))
			usleep(1000);
	}
	pin(0);
	for (int sample = 0; sample < 4; sample++) {
		double from = now_ns(), rate;

		for (size_t i = 0; i < iters; i++)
			copy_one(how, pid, mine + i % n * size, theirs + i % n * size, size);
		rate = (double)(iters * size) / (now_ns() - from) * 1e3;
		best = rate > best ? rate : best;
	}
	atomic_store(&shared->done, 1);
	if (pid)
		finish(pid);
	free(mine);
	return best;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (!strcmp(what, "pingpong"))
		printf("%.1f\n", round_trip_ns(number > 0 ? number : 100000, false) / 2);
	else if (!strcmp(what, "futex"))
		printf("%.1f\n", round_trip_ns(number > 0 ? number : 2000, true));
	else if (!strcmp(what, "memcpy") && number > 0)
		printf("%.1f\n", copy_mbps(COPY_MEMCPY, (size_t)number));
	else if (!strcmp(what, "writev") && number > 0)
		printf("%.1f\n", copy_mbps(COPY_WRITEV, (size_t)number));
	else if (!strcmp(what, "readv") && number > 0)
		printf("%.1f\n", copy_mbps(COPY_READV, (size_t)number));
	else {
		fprintf(stderr, "usage: bare pingpong|futex [ITERS] | memcpy|writev|readv SIZE\n");
		return 2;
	}
	return 0;
}
