/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker holds the kernel's lock of a memory file of the victim, for as long as it likes: it writes to the file out of memory
 * that is under userfaultfd(2). Whoever wants to change that file, or to know where it has data, waits in the kernel, and no signal
 * ends that. The victim does neither: it serves others, frees what it likes and closes its adapter.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

#define UNUSED ((off_t)1 << 38) /* a place in the arena */

enum { LEN = 65536, PAGE = 4096 };

/* ------------------------------------------------------------------ the attacker */

static struct hostile h;
static int target = -1;
static off_t where;

static void *write_to_target(void *arg)
{
	(void)arg;
	CHECK_EQ_INT(pwrite(target, trap_at(), PAGE, where), PAGE);
	return NULL;
}

/* Opens the last of the files into which the victim has moved the memory of regions. */
static int file_of_region(void)
{
	char name[64], link[64];

	for (int i = 200; i > 2; i--) {
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getppid(), i);
		n = readlink(name, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		if (strstr(link, "memfd:opendat-registered"))
			return open(name, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

static void attack(void *arg)
{
	bool of_region = *(const bool *)arg;
	uint64_t qual = victim_is_at();
	pthread_t writer;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	hostile_connect(&h, qual);
	check_await(CHECK_PARENT);
	if (!trap_set_and_tell())
		return;
	target = of_region ? file_of_region() : h.their_fd;
	REQUIRE(target >= 0);
	where = of_region ? LEN - PAGE : UNUSED;
	REQUIRE(pthread_create(&writer, NULL, write_to_target, NULL) == 0);
	trap_await();
	/* the victim has to free what it has for this peer; the descriptor is needed by the write */
	hostile_hangup(&h);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	trap_release();
	REQUIRE(pthread_join(writer, NULL) == 0);
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static _Atomic bool over;
static DAT_RETURN result;

static void victim_meets(const char *adapter, bool of_region)
{
	static bool arg;

	arg = of_region;
	atomic_store(&over, false);
	attacker = check_fork(attack, &arg);
	victim_opens_as(adapter, LEN);
	victim_tells(attacker);
	victim_accepts();
}

static void attacker_locks(void)
{
	check_signal(attacker);
	trap_need(attacker);
	check_await(attacker);
	API_CONN_OVER(victim.end.connect, victim.end.ep);
}

static void file_is_locked(const char *adapter, bool of_region)
{
	victim_meets(adapter, of_region);
	attacker_locks();
}

static void attacker_ends(void)
{
	check_signal(attacker);
	check_join(attacker);
}

static void others_are_served_while_the_arena_is_locked(void)
{
	pid_t later = check_fork(victim_later_peer, NULL);

	file_is_locked("soft-hasty-bounce", false);
	victim_serves_later(later);
	attacker_ends();
}

static void *close_adapter(void *arg)
{
	(void)arg;
	result = dat_ia_close(api.ia, DAT_CLOSE_ABRUPT_FLAG);
	atomic_store(&over, true);
	return NULL;
}

static void *free_region(void *arg)
{
	(void)arg;
	result = dat_lmr_free(victim.buf.lmr);
	atomic_store(&over, true);
	return NULL;
}

static bool is_over(void)
{
	return atomic_load(&over);
}

static pthread_t thread;

/* In a thread, so that a call that waits for the attacker fails the test and does not stop it. */
static void begin(void *(*call)(void *arg))
{
	REQUIRE(pthread_create(&thread, NULL, call, NULL) == 0);
}

static void returns(void)
{
	CHECK_SOON(is_over());
	attacker_ends();
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK_DAT(result, DAT_SUCCESS);
}

static void adapter_is_closed_while_its_arena_is_locked(void)
{
	file_is_locked("soft-hasty-bounce", false);
	begin(close_adapter);
	returns();
	api.ia = DAT_HANDLE_NULL;
}

static void region_is_freed_while_its_file_is_locked(void)
{
	file_is_locked("soft-memory", true);
	memset(victim.buf.mem, 0x55, LEN);
	begin(free_region);
	returns();
	for (size_t i = 0; i < LEN - PAGE; i++) /* the attacker writes to the last page */
		REQUIRE_EQ_INT(((unsigned char *)victim.buf.mem)[i], 0x55);
}

/* ------------------------------------------------------------------ a registration */

static _Atomic bool stops, stopped, goes_on;

/* Stands for the C library's, also for the plugin: the file is there now, and the memory is about to be moved. */
void *mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	void *at;
	va_list more;

	va_start(more, flags);
	at = va_arg(more, void *);
	va_end(more);
	if (atomic_exchange(&stops, false)) {
		atomic_store(&stopped, true);
		while (!atomic_load(&goes_on))
			usleep(1000);
	}
	return (void *)syscall(SYS_mremap, old, old_len, new_len, flags, at);
}

static unsigned char *memory;

static void *register_memory(void *arg)
{
	(void)arg;
	(void)api_buf_in(api.pz, memory, LEN, DAT_MEM_PRIV_ALL_FLAG);
	result = DAT_SUCCESS;
	atomic_store(&over, true);
	return NULL;
}

static bool has_stopped(void)
{
	return atomic_load(&stopped);
}

/* Tries the trap in this process, because the thread that registers memory could not be left waiting by a test that is skipped. */
static void needs_trap(void)
{
	if (!trap_set())
		check_skip(TRAP_NONE);
	trap_release();
}

static void memory_is_registered_while_its_file_is_locked(void)
{
	needs_trap();
	victim_meets("soft-memory", true);
	memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	memset(memory, 0x55, LEN - PAGE);
	atomic_store(&stops, true);
	begin(register_memory);
	REQUIRE_SOON(has_stopped());
	attacker_locks();
	atomic_store(&goes_on, true);
	returns();
	for (size_t i = 0; i < LEN - PAGE; i++)
		REQUIRE_EQ_INT(memory[i], 0x55);
}

static const struct check_test tests[] = { CHECK_TEST(others_are_served_while_the_arena_is_locked),
					   CHECK_TEST(adapter_is_closed_while_its_arena_is_locked),
					   CHECK_TEST(region_is_freed_while_its_file_is_locked),
					   CHECK_TEST(memory_is_registered_while_its_file_is_locked), CHECK_END };

static const struct check_suite suite = { .name = "attacker that locks a memory file", .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
