/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors in memory with EnableRdmaWrite: a peer can write to them while they are posted. So a post reads each field once;
 * what it has checked is then what takes effect. The test counts the reads: it protects the page of the descriptor, and steps
 * over each instruction that accesses it.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "world.h"

static struct side a, b; /* a posts the descriptors, and b is its peer */

static void open_sides(void)
{
	side_open_vi(&a);
	side_open_vi(&b);
	sides_connect(&a, &b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

#if defined(__x86_64__)

enum { LENGTH = 32, PAGE = 4096, TRAP_FLAG = 0x100, WRITE_ERROR = 2 };

/* A page that is protected, so that each access traps. */
static struct {
	uint8_t *page;
	unsigned int reads[PAGE]; /* of each byte: the loads that began there */
} watched;

static void on_access(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)watched.page;
	ucontext_t *u = context;

	if (watched.page == NULL || at >= PAGE) {
		signal(sig, SIG_DFL);
		return;
	}
	if (!(u->uc_mcontext.gregs[REG_ERR] & WRITE_ERROR))
		watched.reads[at]++;
	mprotect(watched.page, PAGE, PROT_READ | PROT_WRITE);
	u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* The instruction is over. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	mprotect(watched.page, PAGE, PROT_NONE);
	u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void watch(void)
{
	struct sigaction access = { .sa_sigaction = on_access, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	memset(watched.reads, 0, sizeof(watched.reads));
	REQUIRE(sigaction(SIGSEGV, &access, NULL) == 0 && sigaction(SIGTRAP, &step, NULL) == 0);
	REQUIRE(mprotect(watched.page, PAGE, PROT_NONE) == 0);
}

static void unwatch(void)
{
	REQUIRE(mprotect(watched.page, PAGE, PROT_READ | PROT_WRITE) == 0);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
}

static void watch_a_page(void)
{
	const volatile uint8_t *page;

	watched.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(watched.page != MAP_FAILED);
	page = watched.page;
	watch();
	(void)page[7];
	(void)page[7];
	unwatch();
	if (watched.reads[7] != 2)
		check_skip("no instruction can be stepped, as under valgrind");
}

/* Posts a copy of the descriptor in the page. Checks that something was read, and nothing twice. */
static void post_in_page(VIP_RETURN (*post)(VIP_VI_HANDLE, VIP_DESCRIPTOR *, VIP_MEM_HANDLE),
			 const VIP_DESCRIPTOR *d, VIP_MEM_HANDLE handle)
{
	size_t control = offsetof(VIP_DESCRIPTOR, CS.Control);
	VIP_RETURN ret;

	memcpy(watched.page, d, sizeof(*d));
	watch();
	ret = post(a.vi, (VIP_DESCRIPTOR *)watched.page, handle);
	unwatch();
	REQUIRE_VIP(ret, VIP_SUCCESS);
	CHECK_EQ_INT(watched.reads[control], 1);
	for (size_t i = 0; i < sizeof(*d); i++)
		if (watched.reads[i] > 1)
			CHECK_FAIL("what is at byte %zu was read %u times", i, watched.reads[i]);
}

static void sent_from_page(void)
{
	VIP_DESCRIPTOR *d = NULL;

	REQUIRE_VIP(VipSendWait(a.vi, check_patience_ms(), &d), VIP_SUCCESS);
}

static void each_field_of_a_descriptor_is_read_once(void)
{
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_TRUE };
	VIP_DESCRIPTOR *d = prepare(&a, 0, LENGTH);
	VIP_MEM_HANDLE handle;

	watch_a_page();
	REQUIRE_VIP(VipRegisterMem(a.nic, watched.page, PAGE, &mem, &handle), VIP_SUCCESS);
	post_in_page(VipPostRecv, d, handle);
	d->CS.Control = VIP_CONTROL_IMMEDIATE;
	d->DS[1] = d->DS[0];
	d->CS.SegCount = 2;
	post_recv(&b, 1, SLOT_SIZE);
	post_in_page(VipPostSend, d, handle);
	sent_from_page();
	post_in_page(VipPostSend, prepare_rdma(&a, 0, LENGTH, VIP_CONTROL_OP_RDMAWRITE, buffer(&b, 0), b.handle), handle);
	sent_from_page();
}

#else

static void each_field_of_a_descriptor_is_read_once(void)
{
	check_skip("instructions are stepped on x86-64 only");
}

#endif

static const struct check_test tests[] = {
	CHECK_TEST(each_field_of_a_descriptor_is_read_once),
	CHECK_END,
};
static const struct check_suite fetch = {
	.name = "fetch", .setup = open_sides, .teardown = close_sides, .tests = tests
};

CHECK_SUITES(&fetch);
