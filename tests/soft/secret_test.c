/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that its peer may not trace: because it is not dumpable (prctl(2)), because the peer is in another user namespace or
 * in a PID namespace in which the process has no number, or because Yama forbids it. The kernel refuses the copies that the peer
 * would make by itself, so the process's own thread makes them: transfers work as ever, and no memory beside the region is in
 * reach.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define SIZE   ((size_t)256 << 10)
#define SECRET 64

struct victim {
	struct api_offer offer;
	DAT_VADDR secret;
	pid_t pid;
};

/* What stands between the two. The same in both processes. */
static struct way {
	bool hidden;	/* the process is not dumpable */
	int namespaces; /* new ones of the peer */
} way;

static unsigned char secret[SECRET];
static struct api_end end;
static struct api_buf buf;

/* Gives up all capabilities, as most programs have none: a process with CAP_SYS_PTRACE may trace all others. */
static void be_anybody(void)
{
	const struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	REQUIRE(syscall(SYS_capset, &head, none) == 0);
}

/* Enters the namespaces. A PID namespace has its first process only after the next fork(). */
static bool enter_namespaces(void)
{
	return !way.namespaces || !unshare(way.namespaces);
}

static void peer(void *arg);

/* Does what the peer does, in the first process of the PID namespace if there is one. */
static void be_peer(void *arg)
{
	bool there = enter_namespaces();
	int status;
	pid_t pid;

	check_put(CHECK_PARENT, &there, sizeof(there));
	if (!there)
		return;
	be_anybody();
	pid = way.namespaces & CLONE_NEWPID ? fork() : 0;
	if (!pid)
		peer(arg);
	else /* this process waits only; it cannot fork any more, as a sanitizer would at its end */
		_exit(waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1);
}

static void peer(void *arg)
{
	unsigned char stolen[SECRET];
	const struct iovec local = { stolen, SECRET };
	struct victim victim;
	DAT_RMR_TRIPLET beside;
	struct iovec remote;

	(void)arg;
	check_get(CHECK_PARENT, &victim, sizeof(victim));
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(2 * SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_connect_to(&end, &victim.offer.address, victim.offer.qual);
	remote = (struct iovec){ (void *)(uintptr_t)victim.secret, SECRET };
	CHECK(process_vm_readv(victim.pid, &local, 1, &remote, 1, 0) == -1);
	CHECK_EQ_INT(errno, way.namespaces & CLONE_NEWPID ? ESRCH : EPERM);
	for (size_t i = 0; i < SIZE; i++)
		buf.mem[i] = (unsigned char)(i * 7);
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, SIZE), api_offer_part(&victim.offer, 0, SIZE), 1, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, SIZE);
	REQUIRE_DAT(api_read(end.ep, api_seg(&buf, SIZE, SIZE), api_offer_part(&victim.offer, 0, SIZE), 2, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	CHECK(!memcmp(buf.mem, buf.mem + SIZE, SIZE));
	REQUIRE_DAT(api_send(end.ep, &buf, 0, SIZE, 3, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 3, DAT_DTO_SUCCESS, SIZE);
	beside = api_offer_part(&victim.offer, 0, SECRET);
	beside.target_address = victim.secret;
	REQUIRE_DAT(api_write(end.ep, api_seg(&buf, 0, SECRET), beside, 4, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 4, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	check_signal(CHECK_PARENT);
	api_close();
}

static void be_victim(void *arg)
{
	struct victim me = { .pid = getpid() };
	struct api_buf in;
	DAT_EVD_HANDLE cr_evd;

	(void)arg;
	be_anybody();
	if (way.hidden)
		REQUIRE(prctl(PR_SET_DUMPABLE, 0) == 0);
	memset(secret, 0x5a, SECRET);
	api_open();
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	in = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&me.offer, cr_evd, &buf);
	me.secret = (DAT_VADDR)(uintptr_t)secret;
	REQUIRE_DAT(api_recv(end.ep, &in, 0, SIZE, 5), DAT_SUCCESS);
	check_put(CHECK_PARENT, &me, sizeof(me));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(end.recv, end.ep, 5, DAT_DTO_SUCCESS, SIZE);
	check_await(CHECK_PARENT);
	for (size_t i = 0; i < SIZE; i++)
		if (buf.mem[i] != (unsigned char)(i * 7) || in.mem[i] != buf.mem[i]) {
			CHECK_FAIL("byte %zu has not come", i);
			break;
		}
	for (size_t i = 0; i < SECRET; i++)
		CHECK_EQ_INT(secret[i], 0x5a);
	API_CONN_OVER(end.connect, end.ep);
	api_close();
}

/* Neither process is this one, because none of them gets back what it gives up. */
static void is_reached_in_its_regions_only(void)
{
	pid_t other = check_fork(be_peer, NULL), victim;
	struct victim it;
	bool there;

	check_get(other, &there, sizeof(there));
	if (!there) {
		check_join(other);
		check_skip("the system does not let this process make a namespace");
	}
	victim = check_fork(be_victim, NULL);
	check_get(victim, &it, sizeof(it));
	check_put(other, &it, sizeof(it));
	check_await(other);
	check_signal(victim);
	check_join(victim);
	check_join(other);
}

static void process_that_is_not_dumpable_is_reached_in_its_regions_only(void)
{
	way = (struct way){ .hidden = true };
	is_reached_in_its_regions_only();
}

static void peer_in_a_user_namespace_reaches_the_regions_only(void)
{
	way = (struct way){ .namespaces = CLONE_NEWUSER };
	is_reached_in_its_regions_only();
}

static void peer_in_a_pid_namespace_reaches_the_regions_only(void)
{
	way = (struct way){ .namespaces = CLONE_NEWPID };
	is_reached_in_its_regions_only();
}

/* Returns what Yama allows: 0 is everything, which holds for a kernel without it as well. */
static int yama(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file) {
		(void)!fscanf(file, "%d", &scope);
		fclose(file);
	}
	return scope;
}

static void peer_that_yama_restrains_reaches_the_regions_only(void)
{
	if (!yama())
		check_skip("Yama does not restrain processes here (kernel.yama.ptrace_scope)");
	way = (struct way){ 0 };
	is_reached_in_its_regions_only();
}

static int over_soft(void)
{
	return unsetenv("OPENDAT_TEST_IA");
}

static const struct check_test tests[] = {
	CHECK_TEST(process_that_is_not_dumpable_is_reached_in_its_regions_only),
	CHECK_TEST(peer_in_a_user_namespace_reaches_the_regions_only),
	CHECK_TEST(peer_in_a_pid_namespace_reaches_the_regions_only),
	CHECK_TEST(peer_that_yama_restrains_reaches_the_regions_only),
	CHECK_END
};
static const struct check_suite suite = { .name = "secrets", .init = over_soft, .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
