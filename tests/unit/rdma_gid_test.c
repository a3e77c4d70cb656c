/* SPDX-License-Identifier: BSD-2-Clause */
/* Which GIDs a line of dat.conf can choose. The tables of GIDs are in a folder of the test's own, so no device is needed. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "providers/rdma/rdma_gid.h"

enum { ENTRIES = 6, V1 = 1, V2 = 2, BOTH = V1 | V2 };

static struct ibv_device device = { .name = "no_such_dev", .transport_type = IBV_TRANSPORT_IB };
static struct ibv_context verbs = { .device = &device };
static struct rdma_ia ia;
static char root[] = "/tmp/rdma_gid_test.XXXXXX";

static void file_make(const char *folder, int index, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/ports/1/%s/%d", root, folder, index);
	REQUIRE((file = fopen(path, "w")) != NULL);
	fprintf(file, "%s\n", text);
	fclose(file);
}

static void folder_make(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s", root, name);
	REQUIRE_EQ_INT(mkdir(path, 0755), 0);
}

/* A port of a device that can do these versions has a link-local address and two IPv4 ones, the second of them last. */
static void table_make(int can)
{
	static const char *const values[] = { "fe80:0000:0000:0000:0202:03ff:fe04:0506", "0000:0000:0000:0000:0000:ffff:0a09:0001",
					      "0000:0000:0000:0000:0000:ffff:0a09:0002" };
	int index = 0;

	strcpy(root + strlen(root) - 6, "XXXXXX");
	REQUIRE(mkdtemp(root) != NULL);
	folder_make("/ports");
	folder_make("/ports/1");
	folder_make("/ports/1/gids");
	folder_make("/ports/1/gid_attrs");
	folder_make("/ports/1/gid_attrs/types");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (int version = V1; version <= V2; version++)
			if (can & version) {
				file_make("gids", index, values[i]);
				file_make("gid_attrs/types", index++, version == V1 ? "IB/RoCE v1" : "RoCE v2");
			}
	for (; index < ENTRIES; index++)
		file_make("gids", index, "0000:0000:0000:0000:0000:0000:0000:0000");
	snprintf(device.ibdev_path, sizeof(device.ibdev_path), "%s", root);
	ia = (struct rdma_ia){ .base.name = "roce0", .verbs = &verbs, .port = 1, .opt.gid = -1 };
	ia.port_attr.gid_tbl_len = ENTRIES;
	ia.port_attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	inet_pton(AF_INET, "10.9.0.1", &((struct sockaddr_in *)&ia.base.address)->sin_addr);
}

static void table_drop(void)
{
	static const char *const folders[] = { "/ports/1/gid_attrs/types", "/ports/1/gid_attrs", "/ports/1/gids", "/ports/1",
					       "/ports", "" };
	char path[512];

	for (int i = 0; i < ENTRIES; i++) {
		snprintf(path, sizeof(path), "%s/ports/1/gids/%d", root, i);
		unlink(path);
		snprintf(path, sizeof(path), "%s/ports/1/gid_attrs/types/%d", root, i);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		rmdir(path);
	}
}

/* Returns the address that the adapter gets, or the message of the refusal. */
static const char *chosen(int gid, enum rdma_roce roce)
{
	struct sockaddr_in in = *(struct sockaddr_in *)&ia.base.address;
	static char text[INET_ADDRSTRLEN];
	const char *said;
	enum datp_err err;

	ia.opt.gid = gid;
	ia.opt.roce = roce;
	check_stderr_begin();
	err = rdma_gid_address(&ia, &in);
	said = check_stderr_end();
	inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	return err ? said : text;
}

static const char *shown(void)
{
	static char text[64];

	return rdma_gid_show(&ia, text, sizeof(text)) ? text : "nothing";
}

static void index_stands_for_the_address_of_its_gid(void)
{
	table_make(BOTH);
	CHECK_EQ_STR(chosen(-1, RDMA_ROCE_ANY), "10.9.0.1");
	CHECK_EQ_STR(chosen(-1, RDMA_ROCE_V2), "10.9.0.1");
	CHECK_EQ_STR(chosen(3, RDMA_ROCE_ANY), "10.9.0.1");
	CHECK_EQ_STR(chosen(5, RDMA_ROCE_V2), "10.9.0.2");
	CHECK_EQ_STR(shown(), "3, RoCE v2");
}

static void gid_of_the_version_that_is_not_used_is_refused(void)
{
	table_make(BOTH);
	CHECK_HAS_STR(chosen(4, RDMA_ROCE_ANY),
		      "roce0: gid=4 in dat.conf is RoCE v1, but rdma_cm connects by RoCE v2 at port 1 of verbs device no_such_dev, "
		      "where gid= can be 3, 5; ");
	CHECK_HAS_STR(chosen(4, RDMA_ROCE_ANY),
		      "echo 'IB/RoCE v1' >/sys/kernel/config/rdma_cm/no_such_dev/ports/1/default_roce_mode");
	CHECK_HAS_STR(chosen(-1, RDMA_ROCE_V1), "roce0: roce= in dat.conf is RoCE v1, but rdma_cm connects by RoCE v2");
}

static void device_of_one_version_has_that_one(void)
{
	table_make(V1);
	CHECK_EQ_STR(chosen(2, RDMA_ROCE_V1), "10.9.0.2");
	CHECK_EQ_STR(shown(), "1, RoCE v1");
	CHECK_HAS_STR(chosen(-1, RDMA_ROCE_V2), "is RoCE v2, of which port 1 of verbs device no_such_dev has no GID");
}

static void gid_that_is_no_ipv4_address_is_refused_with_those_that_are(void)
{
	table_make(V2);
	CHECK_HAS_STR(chosen(0, RDMA_ROCE_ANY),
		      "is fe80::202:3ff:fe04:506, and connections are made from IPv4 addresses: the GIDs of these are 1, 2");
	CHECK_HAS_STR(chosen(3, RDMA_ROCE_ANY), "GID 3 at port 1 of verbs device no_such_dev is empty");
	CHECK_HAS_STR(chosen(ENTRIES, RDMA_ROCE_ANY), "is empty");
}

static void port_that_is_not_roce_has_no_choice(void)
{
	table_make(V2);
	ia.port_attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
	CHECK_HAS_STR(chosen(1, RDMA_ROCE_ANY), "are for RoCE, and port 1 of verbs device no_such_dev is InfiniBand");
	CHECK_EQ_STR(chosen(-1, RDMA_ROCE_ANY), "10.9.0.1");
	CHECK_EQ_STR(shown(), "nothing");
}

static const struct check_test tests[] = {
	CHECK_TEST(index_stands_for_the_address_of_its_gid),
	CHECK_TEST(gid_of_the_version_that_is_not_used_is_refused),
	CHECK_TEST(device_of_one_version_has_that_one),
	CHECK_TEST(gid_that_is_no_ipv4_address_is_refused_with_those_that_are),
	CHECK_TEST(port_that_is_not_roce_has_no_choice),
	CHECK_END
};

static const struct check_suite suite = { .name = "rdma gid", .teardown = table_drop, .tests = tests };

CHECK_SUITES(&suite);
