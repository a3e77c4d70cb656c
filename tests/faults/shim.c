/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An LD_PRELOAD library that lets single allocations and system calls of this project's libraries
 * fail, as they do when memory or descriptors have run out. It counts the calls that come from an
 * object named libdat..., in all threads together; the calls of other objects pass.
 *
 * In the environment: FAULTS_AT=N lets call N fail, FAULTS_FROM=N each from N on, FAULTS_TALLY=FILE
 * appends the number of calls to FILE when the process exits, FAULTS_SAY=1 names what fails on
 * stderr, FAULTS_ALL=PROGRAM counts the calls of all objects, in a program of this name,
 * FAULTS_ALONE=1 spares forked processes, and FAULTS_SENDS=1 counts no calls but those that send.
 *
 * A send fails because the kernel has no memory for it at the moment. So where each call fails from
 * N on, no more than SENDS sends do: a connection cannot do without them for ever.
 *
 * Invariant: nothing here allocates, so that the count does not depend on the shim.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/shim.h"

#define SENDS 12

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

faults_arm_fn faults_arm;
faults_count_fn faults_count;

typedef int thread_create_fn(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			     void *arg);
typedef long syscall_fn(long number, ...);

/* relaxed throughout: the numbers order nothing else */
static struct {
	_Atomic long count, nth;
	_Atomic bool from;
	_Atomic int sends; /* the number of sends that have failed */
	bool say, sends_only;
	pid_t alone;	/* the only process whose calls count; 0: all processes */
	const char *all, *tally;
	thread_create_fn *thread_create;
	syscall_fn *_Atomic syscall;
} shim;

void faults_arm(long nth, int from)
{
	atomic_store_explicit(&shim.nth, 0, memory_order_relaxed);
	atomic_store_explicit(&shim.count, 0, memory_order_relaxed);
	atomic_store_explicit(&shim.sends, 0, memory_order_relaxed);
	atomic_store_explicit(&shim.from, from != 0, memory_order_relaxed);
	atomic_store_explicit(&shim.nth, nth, memory_order_relaxed);
}

long faults_count(void)
{
	return atomic_load_explicit(&shim.count, memory_order_relaxed);
}

__attribute__((constructor)) static void shim_begin(void)
{
	const char *at = getenv("FAULTS_AT"), *from = getenv("FAULTS_FROM");

	*(void **)&shim.thread_create = dlsym(RTLD_NEXT, "pthread_create");
	shim.say = getenv("FAULTS_SAY") != NULL;
	shim.sends_only = getenv("FAULTS_SENDS") != NULL;
	shim.all = getenv("FAULTS_ALL");
	shim.tally = getenv("FAULTS_TALLY");
	shim.alone = getenv("FAULTS_ALONE") ? getpid() : 0;
	if (shim.all && strcmp(shim.all, program_invocation_short_name) != 0)
		shim.all = NULL;
	if (at || from)
		faults_arm(atol(at ? at : from), from != NULL);
}

__attribute__((destructor)) static void shim_end(void)
{
	char line[32];
	bool counts = shim.tally && (!shim.alone || shim.alone == getpid());
	int fd = counts ? open(shim.tally, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	(void)!write(fd, line, (size_t)snprintf(line, sizeof(line), "%ld\n", faults_count()));
	close(fd);
}

/* The calls of these objects count. */
static bool ours(const char *object)
{
	const char *slash = strrchr(object, '/');

	return shim.all || strncmp(slash ? slash + 1 : object, "libdat", 6) == 0;
}

static void say(const char *call, const struct link_map *map, const void *caller, long n)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "faults: call %ld fails: %s in %s+0x%lx\n", n, call,
			      map->l_name, (unsigned long)((uintptr_t)caller - map->l_addr));

	(void)!write(STDERR_FILENO, line, (size_t)length);
}

/* Returns true if this call is to fail. */
static bool fails(const char *call, void *caller, bool sends)
{
	struct dl_find_object found;
	long n, nth;

	if ((shim.alone && shim.alone != getpid()) || (shim.sends_only && !sends))
		return false;
	if (_dl_find_object(caller, &found) != 0 || !ours(found.dlfo_link_map->l_name))
		return false;
	n = 1 + atomic_fetch_add_explicit(&shim.count, 1, memory_order_relaxed);
	nth = atomic_load_explicit(&shim.nth, memory_order_relaxed);
	if (!nth || n < nth ||
	    (n > nth && !atomic_load_explicit(&shim.from, memory_order_relaxed)))
		return false;
	if (sends && atomic_fetch_add_explicit(&shim.sends, 1, memory_order_relaxed) >= SENDS)
		return false;
	if (shim.say)
		say(call, found.dlfo_link_map, caller, n);
	return true;
}

#define FAILS(call) fails(call, __builtin_return_address(0), false)
/* Ends the function with this error and value if the call shall fail. */
#define MAY_FAIL(call, error, value) do { if (FAILS(call)) { errno = (error); return value; } } while (0)

void *malloc(size_t size)
{
	MAY_FAIL("malloc", ENOMEM, NULL);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	MAY_FAIL("calloc", ENOMEM, NULL);
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	MAY_FAIL("realloc", ENOMEM, NULL);
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	MAY_FAIL("aligned_alloc", ENOMEM, NULL);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	if (FAILS("posix_memalign"))
		return ENOMEM;
	*memory = __libc_memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy;

	MAY_FAIL("strdup", ENOMEM, NULL);
	copy = __libc_malloc(size);
	return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy;

	MAY_FAIL("strndup", ENOMEM, NULL);
	copy = __libc_malloc(size + 1);
	if (!copy)
		return NULL;
	copy[size] = '\0';
	return memcpy(copy, text, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	MAY_FAIL("mmap", ENOMEM, MAP_FAILED);
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

int memfd_create(const char *name, unsigned int flags)
{
	MAY_FAIL("memfd_create", EMFILE, -1);
	return (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate(int fd, off_t size)
{
	MAY_FAIL("ftruncate", ENOSPC, -1);
	return (int)syscall(SYS_ftruncate, fd, size);
}

int socket(int domain, int type, int protocol)
{
	MAY_FAIL("socket", EMFILE, -1);
	return (int)syscall(SYS_socket, domain, type, protocol);
}

int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
	MAY_FAIL("bind", ENOMEM, -1);
	return (int)syscall(SYS_bind, fd, address.__sockaddr__, size);
}

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
	MAY_FAIL("connect", ENOMEM, -1);
	return (int)syscall(SYS_connect, fd, address.__sockaddr__, size);
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	MAY_FAIL("getsockopt", ENOBUFS, -1);
	return (int)syscall(SYS_getsockopt, fd, level, option, value, size);
}

int open(const char *name, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	MAY_FAIL("open", EMFILE, -1);
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}

int eventfd(unsigned int count, int flags)
{
	MAY_FAIL("eventfd", EMFILE, -1);
	return (int)syscall(SYS_eventfd2, count, flags);
}

int epoll_create1(int flags)
{
	MAY_FAIL("epoll_create1", EMFILE, -1);
	return (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int epoll, int how, int fd, struct epoll_event *event)
{
	if (how != EPOLL_CTL_DEL)	/* the kernel needs no memory for it */
		MAY_FAIL("epoll_ctl", ENOMEM, -1);
	return (int)syscall(SYS_epoll_ctl, epoll, how, fd, event);
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *size, int flags)
{
	MAY_FAIL("accept4", EMFILE, -1);
	return (int)syscall(SYS_accept4, fd, address.__sockaddr__, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	MAY_FAIL("recvmsg", ENOBUFS, -1);
	return syscall(SYS_recvmsg, fd, message, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (FAILS("pthread_create"))
		return EAGAIN;
	return shim.thread_create(thread, attr, run, arg);
}

/* Returns the next syscall(), the C library's or a sanitizer's. It is looked up when it is first needed, which is before main(). */
static syscall_fn *real_syscall(void)
{
	syscall_fn *real = atomic_load_explicit(&shim.syscall, memory_order_relaxed);

	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
		atomic_store_explicit(&shim.syscall, real, memory_order_relaxed);
	}
	return real;
}

/* The library sends its shortest messages by syscall(), not by the C library's send functions. */
long syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_sendto && fails("sendto", __builtin_return_address(0), true)) {
		errno = ENOBUFS;
		return -1;
	}
	return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (fails("sendmsg", __builtin_return_address(0), true)) {
		errno = ENOBUFS;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, message, flags);
}
