/* SPDX-License-Identifier: BSD-2-Clause */
/* Two identities on one host: adapters of the soft provider with addresses of their own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static struct side a, b;

static void close_sides(void)
{
	unsetenv("VIPL_HOSTS");
	side_close(&b);
	side_close(&a);
}

static void data_flow(void)
{
	post_recv(&a, 0, 64);
	post_recv(&b, 0, 64);
	post_send(&a, 1, 8);
	post_send(&b, 1, 8);
	expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
}

/* Opens the device VINIC, which VIPL_NIC_MAP maps to this adapter. */
static void open_mapped(struct side *s, const char *name)
{
	char map[40];

	snprintf(map, sizeof(map), "VINIC=%s", name);
	setenv("VIPL_NIC_MAP", map, 1);
	setenv("OPENDAT_TEST_IA", "VINIC", 1);
	side_open_vi(s);
}

/* Opens two adapters of the soft provider, which a program cannot tell from two hosts. */
static void open_two_identities(void)
{
	char path[PATH_MAX], conf[2 * PATH_MAX], libs[PATH_MAX];
	int length = 0;

	REQUIRE(getcwd(libs, sizeof(libs) - 1) != NULL);
	for (int i = 1; i <= 2; i++)
		length += snprintf(conf + length, sizeof(conf) - (size_t)length,
				   "soft-%c u1.2 nonthreadsafe default %.4000s/.libs/libdatsoft.so "
				   "opendat.1.0 \"127.0.0.%d\" \"\"\n", '0' + i, libs, i);
	snprintf(path, sizeof(path), "%s/dat.conf", check_tmpdir());
	check_write("dat.conf", conf);
	setenv("DAT_OVERRIDE", path, 1);
	open_mapped(&a, "soft-1");
	open_mapped(&b, "soft-2");
}

/* As on two hosts, each peer gives its own address and the other's, and both use the same discriminator. */
static void peers_of_one_discriminator_connect_on_one_host(void)
{
	union address of_a, of_b;

	CHECK(memcmp(a.nic_attr.LocalNicAddress, b.nic_attr.LocalNicAddress, 4) != 0);
	address_make(&a, "both", &of_a);
	address_make(&b, "both", &of_b);
	REQUIRE_VIP(VipConnectPeerRequest(a.vi, &of_a.net, &of_b.net, check_patience_ms()),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerRequest(b.vi, &of_b.net, &of_a.net, check_patience_ms()),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(a.vi, NULL), VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerWait(b.vi, NULL), VIP_SUCCESS);
	data_flow();
}

/* One side waits for a peer at a third address. The other side, which has that peer's discriminator, is another identity. */
static void another_identity_is_not_taken_for_the_peer(void)
{
	union address of_a, of_b, of_nobody;

	address_make(&a, "zz", &of_a);
	address_make(&b, "aa", &of_b);
	of_nobody = of_b;
	of_nobody.bytes[7] = 9;		/* 127.0.0.9 */
	REQUIRE_VIP(VipConnectPeerRequest(a.vi, &of_a.net, &of_nobody.net, VIP_INFINITE),
		    VIP_SUCCESS);
	REQUIRE_VIP(VipConnectPeerRequest(b.vi, &of_b.net, &of_a.net, 200), VIP_SUCCESS);
	CHECK_VIP(VipConnectPeerWait(b.vi, NULL), VIP_TIMEOUT);
	CHECK_VIP(VipConnectPeerDone(a.vi, NULL), VIP_NOT_DONE);
}

/* A name stands for the identity that the file says. Names that are not in the file are resolved by the host. */
static void the_file_of_hosts_names_identities(void)
{
	union address address = { .bytes = { 0 } };
	char path[PATH_MAX], name[64];
	VIP_ULONG length = sizeof(name);

	check_write("hosts", "# identities\n127.0.0.1\tone  # the first\n::1 two\n"
			     "127.0.0.2 alias two\n127.0.0.3 two\n");
	snprintf(path, sizeof(path), "%s/hosts", check_tmpdir());
	setenv("VIPL_HOSTS", path, 1);
	REQUIRE_VIP(VipNSInit(a.nic, NULL), VIP_SUCCESS);
	REQUIRE_VIP(VipNSGetHostByName(a.nic, "TWO", &address.net, 0), VIP_SUCCESS);
	CHECK_EQ_MEM(address.bytes + 4, b.nic_attr.LocalNicAddress, 4);
	length = sizeof(name);
	REQUIRE_VIP(VipNSGetHostByAddr(a.nic, &address.net, name, &length), VIP_SUCCESS);
	CHECK_EQ_STR(name, "alias");
	REQUIRE_VIP(VipNSGetHostByName(a.nic, "two", &address.net, 1), VIP_SUCCESS);
	CHECK_EQ_INT(address.bytes[7], 3);
	CHECK_VIP(VipNSGetHostByName(a.nic, "two", &address.net, 2), VIP_ERROR_NAMESERVICE);
	REQUIRE_VIP(VipNSGetHostByName(b.nic, "one", &address.net, 0), VIP_ERROR_NAMESERVICE);
	REQUIRE_VIP(VipNSInit(b.nic, NULL), VIP_SUCCESS);
	REQUIRE_VIP(VipNSGetHostByName(b.nic, "one", &address.net, 0), VIP_SUCCESS);
	CHECK_EQ_MEM(address.bytes + 4, a.nic_attr.LocalNicAddress, 4);
	CHECK_VIP(VipNSGetHostByName(b.nic, "localhost", &address.net, 0), VIP_SUCCESS);
	CHECK_EQ_MEM(address.bytes + 4, b.nic_attr.LocalNicAddress, 4);
}

static void a_file_of_hosts_that_is_not_there_is_named(void)
{
	setenv("VIPL_HOSTS", "/nowhere/hosts", 1);
	check_stderr_begin();
	CHECK_VIP(VipNSInit(a.nic, NULL), VIP_ERROR_NAMESERVICE);
	CHECK_HAS_STR(check_stderr_end(), "VIPL_HOSTS names /nowhere/hosts");
}

static const struct check_test identity_tests[] = {
	CHECK_TEST(the_file_of_hosts_names_identities),
	CHECK_TEST(a_file_of_hosts_that_is_not_there_is_named),
	CHECK_TEST(another_identity_is_not_taken_for_the_peer),
	CHECK_TEST(peers_of_one_discriminator_connect_on_one_host),
	CHECK_END,
};
static const struct check_suite identities = {
	.name = "identity", .setup = open_two_identities, .teardown = close_sides,
	.tests = identity_tests
};

CHECK_SUITES(&identities);
