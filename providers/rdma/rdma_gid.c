/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the GID of a RoCE port that an adapter uses, by gid= and roce= in dat.conf. Invariant: an adapter never opens with
 * another GID than its line asks for.
 *
 * rdma_cm has no call that chooses a GID. It takes the GID of the local address, in the version of RoCE that the administrator
 * has set for the port. So an index stands for the address of its GID, and what rdma_cm would not take is refused.
 */
#include "rdma_gid.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 64, LIST_MAX = 128 };

static const char *const versions[] = { [RDMA_ROCE_V1] = "RoCE v1", [RDMA_ROCE_V2] = "RoCE v2" };

/* What a port has at an index. */
struct gid {
	struct in6_addr value;
	enum rdma_roce version;
};

static bool line_read(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool good = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

/* The kernel has the words "IB/RoCE v1" and "RoCE v2". */
static enum rdma_roce version_of(const char *words)
{
	return strstr(words, "v2") ? RDMA_ROCE_V2 : RDMA_ROCE_V1;
}

/* Reads what sysfs has of the GID: its value, or its type. */
static bool entry_read(const struct rdma_ia *ia, const char *what, int index, char line[TEXT_MAX])
{
	char path[sizeof(ia->verbs->device->ibdev_path) + 64];

	snprintf(path, sizeof(path), "%s/ports/%d/%s/%d", ia->verbs->device->ibdev_path, ia->port, what, index);
	return line_read(path, line, TEXT_MAX);
}

/* Returns false if there is no GID at this index. */
static bool gid_read(const struct rdma_ia *ia, int index, struct gid *gid)
{
	char line[TEXT_MAX];

	if (index >= ia->port_attr.gid_tbl_len || !entry_read(ia, "gids", index, line) ||
	    inet_pton(AF_INET6, line, &gid->value) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid->value) ||
	    !entry_read(ia, "gid_attrs/types", index, line))
		return false;
	gid->version = version_of(line);
	return true;
}

/* Returns the IPv4 address in an IPv4-mapped GID (::ffff:10.0.0.1), or false if the GID is not one. */
static bool gid_is_ipv4(const struct gid *gid, struct in_addr *address)
{
	memcpy(address, &gid->value.s6_addr[12], sizeof(*address));
	return IN6_IS_ADDR_V4MAPPED(&gid->value);
}

static bool port_has(const struct rdma_ia *ia, enum rdma_roce version)
{
	struct gid gid;

	for (int i = 0; i < ia->port_attr.gid_tbl_len; i++)
		if (gid_read(ia, i, &gid) && gid.version == version)
			return true;
	return false;
}

/*
 * Returns the version in which rdma_cm connects at this port. If the administrator has not set it, the kernel has chosen v2 where
 * the device can.
 */
static enum rdma_roce version_of_port(const struct rdma_ia *ia)
{
	char path[256], mode[TEXT_MAX];

	snprintf(path, sizeof(path), "/sys/kernel/config/rdma_cm/%s/ports/%d/default_roce_mode",
		 ibv_get_device_name(ia->verbs->device), ia->port);
	if (line_read(path, mode, sizeof(mode)))
		return version_of(mode);
	return port_has(ia, RDMA_ROCE_V2) ? RDMA_ROCE_V2 : RDMA_ROCE_V1;
}

/* Returns the index of the GID that connections from this address have, or -1. */
static int index_of(const struct rdma_ia *ia, struct in_addr address)
{
	enum rdma_roce version = version_of_port(ia);
	struct in_addr its;
	struct gid gid;

	for (int i = 0; i < ia->port_attr.gid_tbl_len; i++)
		if (gid_read(ia, i, &gid) && gid.version == version && gid_is_ipv4(&gid, &its) &&
		    its.s_addr == address.s_addr)
			return i;
	return -1;
}

/* Lists the indices that gid= can have, such as "1, 3". */
static const char *possible(const struct rdma_ia *ia, char list[LIST_MAX])
{
	enum rdma_roce version = version_of_port(ia);
	struct in_addr address;
	size_t used = 0;
	struct gid gid;

	snprintf(list, LIST_MAX, "none");
	for (int i = 0; i < ia->port_attr.gid_tbl_len && used + 16 < LIST_MAX; i++)
		if (gid_read(ia, i, &gid) && gid.version == version && gid_is_ipv4(&gid, &address))
			used += (size_t)snprintf(list + used, LIST_MAX - used, "%s%d", used ? ", " : "", i);
	return list;
}

/* ------------------------------------------------------------------ what is refused */

static enum datp_err say_not_roce(const struct rdma_ia *ia)
{
	bool iwarp = ia->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	datp_log(1,
		 "%s: gid= and roce= in dat.conf are for RoCE, and port %d of verbs device %s is %s: leave them out; the address "
		 "or the interface of the line chooses",
		 ia->base.name, ia->port, ibv_get_device_name(ia->verbs->device), iwarp ? "iWARP" : "InfiniBand");
	return DATP_ERR_PARAM;
}

static enum datp_err say_other_version(const struct rdma_ia *ia, const char *what, enum rdma_roce version)
{
	const char *name = ibv_get_device_name(ia->verbs->device);
	char list[LIST_MAX];

	if (!port_has(ia, version)) {
		datp_log(1, "%s: %s is %s, of which port %d of verbs device %s has no GID: leave roce= out, or write roce=v%d",
			 ia->base.name, what, versions[version], ia->port, name, version == RDMA_ROCE_V1 ? 2 : 1);
		return DATP_ERR_PARAM;
	}
	datp_log(1,
		 "%s: %s is %s, but rdma_cm connects by %s at port %d of verbs device %s, where gid= can be %s; this can be "
		 "changed for all programs: `mkdir -p /sys/kernel/config/rdma_cm/%s; "
		 "echo '%s' >/sys/kernel/config/rdma_cm/%s/ports/%d/default_roce_mode`",
		 ia->base.name, what, versions[version], versions[version_of_port(ia)], ia->port, name, possible(ia, list), name,
		 version == RDMA_ROCE_V1 ? "IB/RoCE v1" : "RoCE v2", name, ia->port);
	return DATP_ERR_PARAM;
}

/* `value` is the GID at the index, or NULL if the table has no GID there. */
static enum datp_err say_no_address(const struct rdma_ia *ia, const struct in6_addr *value)
{
	char text[INET6_ADDRSTRLEN] = "empty", list[LIST_MAX];

	if (value)
		inet_ntop(AF_INET6, value, text, sizeof(text));
	datp_log(1,
		 "%s: gid=%d in dat.conf: GID %d at port %d of verbs device %s is %s, and connections are made from IPv4 "
		 "addresses: the GIDs of these are %s",
		 ia->base.name, ia->opt.gid, ia->opt.gid, ia->port, ibv_get_device_name(ia->verbs->device), text,
		 possible(ia, list));
	return DATP_ERR_PARAM;
}

/* ------------------------------------------------------------------ the choice */

static bool is_roce(const struct rdma_ia *ia)
{
	return ia->verbs->device->transport_type == IBV_TRANSPORT_IB &&
	       ia->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static enum datp_err address_of_index(const struct rdma_ia *ia, struct in_addr *address)
{
	char what[32];
	struct gid gid;

	if (!gid_read(ia, ia->opt.gid, &gid))
		return say_no_address(ia, NULL);
	if (!gid_is_ipv4(&gid, address))
		return say_no_address(ia, &gid.value);
	if (gid.version == version_of_port(ia))
		return DATP_OK;
	snprintf(what, sizeof(what), "gid=%d in dat.conf", ia->opt.gid);
	return say_other_version(ia, what, gid.version);
}

enum datp_err rdma_gid_address(const struct rdma_ia *ia, struct sockaddr_in *in)
{
	if (ia->opt.gid < 0 && ia->opt.roce == RDMA_ROCE_ANY)
		return DATP_OK;
	if (!is_roce(ia))
		return say_not_roce(ia);
	if (ia->opt.roce != RDMA_ROCE_ANY && ia->opt.roce != version_of_port(ia))
		return say_other_version(ia, "roce= in dat.conf", ia->opt.roce);
	return ia->opt.gid < 0 ? DATP_OK : address_of_index(ia, &in->sin_addr);
}

bool rdma_gid_show(const struct rdma_ia *ia, char *text, size_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&ia->base.address;
	int index = is_roce(ia) ? index_of(ia, in->sin_addr) : -1;

	if (index < 0)
		return false;
	snprintf(text, size, "%d, %s", index, versions[version_of_port(ia)]);
	return true;
}
