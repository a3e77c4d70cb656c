/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds what prevents the use of an adapter on RDMA hardware: device, device node, port, address,
 * or the limit of registered memory.
 *
 * Invariant: the checks go from the device upwards and end at the first that fails, because those
 * above it depend on it.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "cli.h"

#define MEMLOCK_ENOUGH ((rlim_t)64 << 20)

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool is_library(const struct conf_entry *e, const char *name)
{
	return strncmp(base_name(e->library), name, strlen(name)) == 0;
}

bool check_is_rdma(const struct conf_entry *e)
{
	return is_library(e, "libdatib.so") || is_library(e, "libdatiwarp.so") ||
	       is_library(e, "libdapl");
}

/* Lists the interfaces and devices that a line could name here: "eth2, eth3". */
static void ports_list(const struct check *c, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < c->devices.count && used < size; i++) {
		const struct rdma_port *p = &c->devices.port[i];

		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
					 p->netdev[0] != '\0' ? p->netdev : p->device);
	}
}

static char *out_of_the_way(const struct conf_entry *e)
{
	if (e->line == 0)
		return cli_text("datctl discover");
	return check_comment_out(e);
}

static bool is_address(const char *name)
{
	struct in_addr address;

	return inet_pton(AF_INET, name, &address) == 1;
}

static void absent_add(struct check *c, const struct conf_entry *e, const char *name)
{
	char *drop = out_of_the_way(e);
	char ports[256];

	ports_list(c, ports, sizeof(ports));
	if (strcmp(name, "lo") == 0) {
		check_add(c, CHECK_FAIL, "device-absent", e,
			  cli_text("the loopback interface has no RDMA device"),
			  cli_text("use soft0 between the processes of this host: datctl discover"));
	} else if (netdev_exists(c->root, name)) {
		const char *type = is_library(e, "libdatiwarp.so") ? "siw" : "rxe";

		check_add(c, CHECK_FAIL, "device-absent", e,
			  cli_text("no RDMA device belongs to the network interface %s%s%s", name,
				   ports[0] != '\0' ? "; there are RDMA devices on " : "", ports),
			  cli_text("load the driver of its card, or add software RDMA to it: rdma "
				   "link add %s_%s type %s netdev %s",
				   type, name, type, name));
	} else if (c->devices.count == 0) {
		check_add(
			c, CHECK_FAIL, "device-absent", e,
			cli_text("%s \"%s\", and this host has no RDMA device at all",
				 is_address(name) ? "no network interface has the address" :
						    "there is no network interface",
				 name),
			cli_text("load the driver of its card, until 'rdma link' lists it, or "
				 "remove the line: %s",
				 drop));
	} else {
		check_add(c, CHECK_FAIL, "device-absent", e,
			  cli_text("%s \"%s\"; there are %s",
				   is_address(name) ? "no network interface has the address" :
						      "there is no network interface or RDMA device",
				   name, ports),
			  cli_text("name one of these in field 7 (admin/rdma-names.rules gives a device a "
				   "name that stays, see opendat-containers(7)), or remove the line: %s",
				   drop));
	}
	free(drop);
}

/* Adds that the device exists, but does not have the port. */
static void port_absent_add(struct check *c, const struct conf_entry *e, const char *device,
			    unsigned int port)
{
	check_add(c, CHECK_FAIL, "port-absent", e,
		  cli_text("verbs device %s has no port %u", device, port),
		  cli_text("write one of 'rdma link' in field 7 of %s:%u, or 0 for the first",
			   e->file, e->line));
}

/* Returns whether the provider serves this kind of port. If not, adds a finding. */
static bool kind_check(struct check *c, const struct conf_entry *e, const struct rdma_port *p)
{
	bool iwarp = p->kind == PORT_IWARP;

	if (!(iwarp && is_library(e, "libdatib.so")) &&
	    !(!iwarp && is_library(e, "libdatiwarp.so")))
		return true;
	check_add(c, CHECK_FAIL, "wrong-provider", e,
		  cli_text("%s port %u is %s, which %s does not serve", p->device, p->port,
			   port_kind_name(p->kind), base_name(e->library)),
		  cli_text("write %s in field 5 of %s:%u", iwarp ? "libdatiwarp.so" : "libdatib.so",
			   e->file, e->line));
	return false;
}

static void node_add(struct check *c, const struct conf_entry *e, const char *node, int error,
		     const char *module)
{
	char *remedy;

	if (error == EACCES || error == EPERM)
		remedy = cli_text("chmod a+rw %s    (as root; or join the group that owns it; in a "
				  "container allow the device)",
				  node);
	else if (error == ENOENT)
		remedy = cli_text("modprobe %s    (as root; for every boot copy admin/modules.conf, see "
				  "opendat-containers(7); start a container with --device=/dev/infiniband)",
				  module);
	else
		remedy = cli_text("rmmod %s; modprobe %s    (as root)", module, module);
	check_add(c, CHECK_FAIL, "node-unusable", e,
		  cli_text("the device node %s cannot be opened: %s", node, strerror(error)),
		  remedy);
}

static bool nodes_check(struct check *c, const struct conf_entry *e, const struct rdma_port *p)
{
	if (p->node[0] == '\0')
		node_add(c, e, "/dev/infiniband/uverbs*", ENOENT, "ib_uverbs");
	else if (p->node_errno != 0)
		node_add(c, e, p->node, p->node_errno, "ib_uverbs");
	else if (c->devices.cm_errno != 0)
		node_add(c, e, "/dev/infiniband/rdma_cm", c->devices.cm_errno, "rdma_ucm");
	else
		return true;
	return false;
}

static bool port_check(struct check *c, const struct conf_entry *e, const struct rdma_port *p)
{
	char *remedy;

	if (p->active)
		return true;
	if (p->kind == PORT_IB && strcmp(p->state, "INIT") == 0)
		remedy = cli_text("start a subnet manager on this fabric: "
				  "systemctl start opensm");
	else if (p->netdev[0] != '\0')
		remedy = cli_text("ip link set dev %s up    (as root; if it is up already, check "
				  "the cable and the switch)",
				  p->netdev);
	else
		remedy = cli_text("check the cable and the switch: rdma link show %s/%u",
				  p->device, p->port);
	check_add(c, CHECK_FAIL, "port-down", e,
		  cli_text("port %u of %s is %s", p->port, p->device,
			   p->state[0] != '\0' ? p->state : "not readable"),
		  remedy);
	return false;
}

static bool address_check(struct check *c, const struct conf_entry *e, const struct rdma_port *p)
{
	char address[128];

	if (p->netdev[0] == '\0' || netdev_address(p->netdev, address, sizeof(address)))
		return true;
	check_add(c, CHECK_FAIL, "no-address", e,
		  cli_text("the network interface %s has no IP address, which connections need",
			   p->netdev),
		  cli_text("ip address add ADDRESS/LENGTH dev %s    (as root; choose an address, "
			   "such as 192.168.100.1/24)",
			   p->netdev));
	return false;
}

bool check_device(struct check *c, const struct conf_entry *e)
{
	const struct rdma_port *p;
	unsigned int port = 0;
	char name[64], netdev[IF_NAMESIZE];

	if (!check_is_rdma(e))
		return false;
	if (sscanf(e->ia_params, "%63s %u", name, &port) < 1) {
		check_add(
			c, CHECK_FAIL, "no-device-named", e,
			cli_text("field 7 names no network interface"),
			cli_text("write it as \"eth0 0\"; 'datctl discover' prints lines for this "
				 "host"));
		return true;
	}
	p = devices_find(&c->devices, name, port);
	if (p == NULL && devices_find(&c->devices, name, 0) != NULL) {
		port_absent_add(c, e, name, port);
		return true;
	}
	if (p == NULL && !netdev_exists(c->root, name)) {
		/* without a device a query finds nothing, and it may take long */
		if (!netdev_of_address(name, c->devices.count > 0 && !c->unresolved, netdev))
			c->unresolved = true;
		p = netdev[0] != '\0' ? devices_find(&c->devices, netdev, 0) : NULL;
	}
	if (p == NULL) {
		absent_add(c, e, name);
		return true;
	}
	return !kind_check(c, e, p) || !nodes_check(c, e, p) || !port_check(c, e, p) ||
	       !address_check(c, e, p);
}

char *check_memlock_remedy(void)
{
	return cli_text(
		"ulimit -l unlimited; permanently: '* - memlock unlimited' in "
		"/etc/security/limits.d/opendat.conf and a new login (admin/limits.conf is this file, "
		"see opendat-containers(7)); LimitMEMLOCK=infinity for a service, --ulimit memlock=-1 "
		"for a container");
}

void check_memlock(struct check *c, const struct conf_entry *e)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= MEMLOCK_ENOUGH)
		return;
	check_add(c, CHECK_WARN, "memlock-low", e,
		  cli_text("only %llu KiB of memory may be registered here (RLIMIT_MEMLOCK)",
			   (unsigned long long)limit.rlim_cur >> 10),
		  check_memlock_remedy());
}
