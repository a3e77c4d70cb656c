/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that its peers may not trace, because it is not dumpable (prctl(2)). The kernel refuses the copies that a peer would
 * make by itself, so the process's own thread makes them: transfers work as ever, and no memory beside the region is in reach.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api.h"

#define SIZE   ((size_t)256 << 10)
#define SECRET 64

struct victim {
	struct api_offer offer;
	DAT_VADDR secret;
	pid_t pid;
};

static unsigned char secret[SECRET];
static struct api_end end;
static struct api_buf buf;

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
	CHECK_EQ_INT(errno, EPERM);
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

static void process_that_is_not_dumpable_is_reached_in_its_regions_only(void)
{
	pid_t other = check_fork(peer, NULL);
	struct victim me = { .pid = getpid() };
	struct api_buf in;
	DAT_EVD_HANDLE cr_evd;

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
	check_put(other, &me, sizeof(me));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	API_DTO(end.recv, end.ep, 5, DAT_DTO_SUCCESS, SIZE);
	check_await(other);
	for (size_t i = 0; i < SIZE; i++)
		if (buf.mem[i] != (unsigned char)(i * 7) || in.mem[i] != buf.mem[i]) {
			CHECK_FAIL("byte %zu has not come", i);
			break;
		}
	for (size_t i = 0; i < SECRET; i++)
		CHECK_EQ_INT(secret[i], 0x5a);
	API_CONN_OVER(end.connect, end.ep);
	check_join(other);
}

/* Without capabilities, as most programs are: a process with CAP_SYS_PTRACE may trace all others. */
static int be_anybody(void)
{
	const struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return unsetenv("OPENDAT_TEST_IA") || syscall(SYS_capset, &head, none);
}

static const struct check_test tests[] = {
	CHECK_TEST(process_that_is_not_dumpable_is_reached_in_its_regions_only),
	CHECK_END
};
static const struct check_suite suite = { .name = "secrets", .init = be_anybody, .teardown = api_close, .tests = tests };

CHECK_SUITES(&suite);
