/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of this machine, which no transport can beat: two processes on two CPUs.
 *
 *	bare pingpong [ITERS]		a cache line both ways; ns one way, the median of the samples
 *	bare message SIZE [ITERS]	the same for SIZE bytes, copied into shared memory and out of it
 *	bare futex [ITERS]		sleep and wake-up, both ways; ns for the round trip, the median
 *	bare memcpy SIZE BUFFERS	MB/s (10^6), between BUFFERS buffers, one after the other
 *	bare shared SIZE BUFFERS	the same into a memory file that the other process has filled
 *	bare writev|readv SIZE BUFFERS	process_vm_writev/readv, MB/s
 *
 * Figures are computed as datperf does, to be compared with its results: after a warm-up, the mean of as
 * many copies, and the median of single waits. The copies print a second number, the best of several
 * samples, for comparison with programs that take the best.
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
#define BYTES ((size_t)512 << 20) /* of each measurement, as in datperf */

/* The memory that the two processes share. Each word has a cache line of its own. */
struct shared {
	_Alignas(128) _Atomic uint32_t ball;
	_Alignas(128) _Atomic(unsigned char *) target;
	_Alignas(128) _Atomic uint32_t done;
};

static struct shared *shared;

/*
 * One direction of the messages. Each message has a cell, which holds its data if they are short. Longer
 * data are in one of several pieces of memory, which are used one after the other.
 */
#define CELLS	128u
#define IN_CELL 88u
#define PIECES	256u

struct cell {
	_Alignas(128) _Atomic uint32_t number; /* the number of the message, from 1; written after the rest */
	uint32_t len;
	unsigned char data[IN_CELL];
};

struct way {
	struct cell cell[CELLS];
	unsigned char pieces[];
};

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

/* Pins this process to the n-th of the CPUs that it may use, counted from 0, if there is one. */
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

static unsigned char *buffer(size_t size)
{
	unsigned char *memory = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);

	if (!memory)
		die("memory");
	memset(memory, 1, size);
	return memory;
}

/* Returns memory of a file, which the other process maps as well. */
static void *file_buffer(size_t length)
{
	int fd = memfd_create("bare", MFD_CLOEXEC);
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)length) == 0)
		memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die("a memory file");
	close(fd);
	return memory;
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
	for (uint32_t i = 0; i < (uint32_t)iters; i++) {
		sleep_for_ball(2 * i + 1);
		throw_ball(2 * i + 2);
	}
}

static int longer(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *took, size_t n)
{
	qsort(took, n, sizeof(*took), longer);
	return took[n / 2];
}

/* Returns the median of several samples of half a round trip. `trip` is a constant, so it is inlined. */
static inline __attribute__((always_inline)) double one_way_ns(void (*trip)(uint32_t i), long iters)
{
	double took[SAMPLES];
	uint32_t i = 0;

	for (int sample = 0; sample < SAMPLES; sample++) {
		double from = now_ns();

		for (long n = 0; n < iters; n++, i++)
			trip(i);
		took[sample] = (now_ns() - from) / (double)iters / 2;
	}
	return median(took, SAMPLES);
}

static void ball_trip(uint32_t i)
{
	atomic_store_explicit(&shared->ball, 2 * i + 1, memory_order_release);
	await_ball(2 * i + 2);
}

static double ball_ns(long iters)
{
	pid_t other = start(pong, iters);
	double ns;

	pin(0);
	ns = one_way_ns(ball_trip, iters);
	finish(other);
	return ns;
}

static unsigned char *message_data(struct way *way, uint32_t i, uint32_t len)
{
	return len <= IN_CELL ? way->cell[i % CELLS].data : way->pieces + (size_t)(i % PIECES) * len;
}

/* Sends the i-th message of a direction. */
static void message_send(struct way *way, uint32_t i, const unsigned char *from, uint32_t len)
{
	struct cell *cell = &way->cell[i % CELLS];

	memcpy(message_data(way, i, len), from, len);
	cell->len = len;
	atomic_store_explicit(&cell->number, i + 1, memory_order_release);
}

static void message_take(struct way *way, uint32_t i, unsigned char *to)
{
	struct cell *cell = &way->cell[i % CELLS];

	while (atomic_load_explicit(&cell->number, memory_order_acquire) != i + 1)
		;
	memcpy(to, message_data(way, i, cell->len), cell->len);
}

/* The directions are mapped before the fork. After it each side has buffers of its own. */
static struct way *way_there, *way_back;
static uint32_t message_size;
static unsigned char *message_out, *message_in;

static void message_buffers(void)
{
	message_out = buffer(message_size);
	message_in = buffer(message_size);
}

static void message_pong(long iters)
{
	message_buffers();
	for (uint32_t i = 0; i < (uint32_t)iters * SAMPLES; i++) {
		message_take(way_there, i, message_in);
		message_send(way_back, i, message_out, message_size);
	}
}

static void message_trip(uint32_t i)
{
	message_send(way_there, i, message_out, message_size);
	message_take(way_back, i, message_in);
}

static double message_ns(uint32_t size, long iters)
{
	double ns;
	pid_t other;

	way_there = file_buffer(sizeof(*way_there) + (size_t)size * PIECES);
	way_back = file_buffer(sizeof(*way_back) + (size_t)size * PIECES);
	message_size = size;
	other = start(message_pong, iters);
	pin(0);
	message_buffers();
	ns = one_way_ns(message_trip, iters);
	finish(other);
	return ns;
}

static double sleep_trip_ns(long iters)
{
	double *took = calloc((size_t)iters, sizeof(*took)), from, typical;
	long warmup = iters / 10;
	pid_t other;

	if (!took)
		die("memory");
	other = start(futex_pong, iters + warmup);
	pin(0);
	from = now_ns();
	for (long n = 0; n < iters + warmup; n++) {
		double now;

		throw_ball(2 * (uint32_t)n + 1);
		sleep_for_ball(2 * (uint32_t)n + 2);
		now = now_ns();
		if (n >= warmup)
			took[n - warmup] = now - from;
		from = now;
	}
	finish(other);
	typical = median(took, (size_t)iters);
	free(took);
	return typical;
}

/* ------------------------------------------------------------------ copies */

/* How many buffers are used one after the other, as in a window of messages. With fewer, the caches matter less. */
static size_t buffers;

/* The owner of the memory polls while the other process copies, as datperf does. */
static void hold_target(long size)
{
	atomic_store(&shared->target, buffer((size_t)size * buffers));
	while (!atomic_load(&shared->done))
		;
}

/* Mapped before the fork. Its owner fills it. */
static unsigned char *file_memory;

static void hold_file(long size)
{
	memset(file_memory, 1, (size_t)size * buffers);
	atomic_store(&shared->target, file_memory);
	while (!atomic_load(&shared->done))
		;
}

enum copy { COPY_MEMCPY, COPY_SHARED, COPY_WRITEV, COPY_READV };

/* A kind of copy, with its source and destination. */
struct job {
	enum copy how;
	pid_t pid;
	unsigned char *mine, *theirs;
	size_t size;
};

static void copy_one(const struct job *job, size_t at)
{
	struct iovec here = { job->mine + at % buffers * job->size, job->size };
	struct iovec there = { job->theirs + at % buffers * job->size, job->size };
	ssize_t n = (ssize_t)job->size;

	if (job->how == COPY_WRITEV)
		n = process_vm_writev(job->pid, &here, 1, &there, 1, 0);
	else if (job->how == COPY_READV)
		n = process_vm_readv(job->pid, &here, 1, &there, 1, 0);
	else
		memcpy(there.iov_base, here.iov_base, job->size);
	if (n != (ssize_t)job->size)
		die("process_vm_readv/writev");
}

static double sample_mbps(const struct job *job, size_t bytes)
{
	size_t iters = bytes / job->size;
	double from = now_ns();

	for (size_t i = 0; i < iters; i++)
		copy_one(job, i);
	return (double)(iters * job->size) / (now_ns() - from) * 1e3;
}

static void job_begin(struct job *job)
{
	size_t length = job->size * buffers;

	if (job->how == COPY_SHARED) {
		job->mine = file_buffer(length);
		memset(job->mine, 1, length);
		file_memory = file_buffer(length);
		job->pid = start(hold_file, (long)job->size);
	} else {
		job->mine = buffer(length);
		if (job->how == COPY_MEMCPY)
			job->theirs = buffer(length);
		else
			job->pid = start(hold_target, (long)job->size);
	}
	pin(0);
	while (job->pid && !(job->theirs = atomic_load(&shared->target)))
		usleep(1000);
}

static void copies(enum copy how, size_t size)
{
	struct job job = { .how = how, .size = size };
	double mean, best = 0;

	job_begin(&job);
	sample_mbps(&job, BYTES / 10);
	mean = sample_mbps(&job, BYTES);
	for (int sample = 0; sample < 4; sample++) {
		double mbps = sample_mbps(&job, BYTES / 2);

		best = mbps > best ? mbps : best;
	}
	atomic_store(&shared->done, 1);
	if (job.pid)
		finish(job.pid);
	printf("%.1f %.1f\n", mean, best);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0, more = argc > 3 ? atol(argv[3]) : 0;

	buffers = (size_t)more;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (!strcmp(what, "pingpong"))
		printf("%.1f\n", ball_ns(number > 0 ? number : 100000));
	else if (!strcmp(what, "message") && number > 0)
		printf("%.1f\n", message_ns((uint32_t)number, more > 0 ? more : 20000));
	else if (!strcmp(what, "futex"))
		printf("%.1f\n", sleep_trip_ns(number > 0 ? number : 5000));
	else if (!strcmp(what, "memcpy") && number > 0 && more > 0)
		copies(COPY_MEMCPY, (size_t)number);
	else if (!strcmp(what, "shared") && number > 0 && more > 0)
		copies(COPY_SHARED, (size_t)number);
	else if (!strcmp(what, "writev") && number > 0 && more > 0)
		copies(COPY_WRITEV, (size_t)number);
	else if (!strcmp(what, "readv") && number > 0 && more > 0)
		copies(COPY_READV, (size_t)number);
	else {
		fprintf(stderr,
			"usage: bare pingpong|futex [ITERS] | message SIZE [ITERS] | "
			"memcpy|shared|writev|readv SIZE BUFFERS\n");
		return 2;
	}
	return 0;
}
