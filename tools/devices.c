/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RDMA ports of this host; devices.h states the invariant.
 *
 * Depending on the kernel and the driver, the network interface of a port is found in several
 * places; they are tried in the order of reliability.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"

struct scan {
	struct devices *devices;
	const char *root;
};

/* Reads the first line of a file in sysfs, without its newline. */
__attribute__((format(printf, 3, 4))) static bool line_read(char *text, size_t size,
							    const char *fmt, ...)
{
	char path[512];
	va_list args;
	bool read_it = false;
	FILE *file;
	int n;

	va_start(args, fmt);
	n = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	text[0] = '\0';
	if (n < 0 || n >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(text, (int)size, file) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		read_it = text[0] != '\0';
	}
	fclose(file);
	return read_it;
}

typedef bool visit_fn(struct scan *scan, struct rdma_port *port, const char *name);

/* Calls visit for each entry of a folder, ordered by name, until it returns true. */
static bool folder_visit(struct scan *scan, struct rdma_port *port, const char *path,
			 visit_fn *visit)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, versionsort);
	bool found = false;

	for (int i = 0; i < n; i++) {
		if (!found && names[i]->d_name[0] != '.')
			found = visit(scan, port, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

static void netdev_set(struct rdma_port *port, const char *name)
{
	snprintf(port->netdev, sizeof(port->netdev), "%.*s", IF_NAMESIZE - 1, name);
}

static bool netdev_take(struct scan *scan, struct rdma_port *port, const char *name)
{
	(void)scan;
	netdev_set(port, name);
	return true;
}

/* Converts "fe80:0000:0000:..." to bytes; returns how many. */
static size_t hex_bytes(const char *text, unsigned char *bytes, size_t room)
{
	size_t n = 0;
	unsigned int byte;

	for (; *text != '\0' && n < room; text++) {
		if (*text == ':')
			continue;
		if (sscanf(text, "%2x", &byte) != 1)
			break;
		bytes[n++] = (unsigned char)byte;
		if (*++text == '\0')
			break;
	}
	return n;
}

/*
 * Returns true if the interface is that of the port. An iWARP port's first GID begins with the
 * hardware address of its interface; the hardware address of an IPoIB interface, 20 bytes, ends in
 * the GID of its port.
 */
static bool netdev_matches(struct scan *scan, struct rdma_port *port, const char *name)
{
	unsigned char gid[16], address[20];
	char text[128];
	size_t n;

	if (!line_read(text, sizeof(text), "%s/sys/class/infiniband/%s/ports/%u/gids/0", scan->root,
		       port->device, port->port) ||
	    hex_bytes(text, gid, sizeof(gid)) != sizeof(gid))
		return false;
	if (!line_read(text, sizeof(text), "%s/sys/class/net/%s/address", scan->root, name))
		return false;
	n = hex_bytes(text, address, sizeof(address));
	if (port->kind == PORT_IB ? n != 20 || memcmp(address + 4, gid, 16) != 0
				  : n != 6 || memcmp(address, gid, 6) != 0)
		return false;
	if (memcmp(address, "\0\0\0\0\0", 6) == 0)
		return false; /* many interfaces have this address */
	netdev_set(port, name);
	return true;
}

static void netdev_find(struct scan *scan, struct rdma_port *port)
{
	char path[512], name[64];

	if (line_read(name, sizeof(name), "%s/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0",
		      scan->root, port->device, port->port) ||
	    line_read(name, sizeof(name), "%s/sys/class/infiniband/%s/parent", scan->root,
		      port->device)) {
		netdev_set(port, name);
		return;
	}
	snprintf(path, sizeof(path), "%s/sys/class/net", scan->root);
	if (port->kind != PORT_ROCE && folder_visit(scan, port, path, netdev_matches))
		return;
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device/net", scan->root,
		 port->device);
	folder_visit(scan, port, path, netdev_take);
}

static int node_try(const char *root, const char *path)
{
	char whole[256];
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	fd = open(whole, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static bool node_take(struct scan *scan, struct rdma_port *port, const char *name)
{
	char device[64];

	if (strncmp(name, "uverbs", 6) != 0 || strlen(name) > 32 ||
	    !line_read(device, sizeof(device), "%s/sys/class/infiniband_verbs/%s/ibdev", scan->root,
		       name) ||
	    strcmp(device, port->device) != 0)
		return false;
	snprintf(port->node, sizeof(port->node), "/dev/infiniband/%.32s", name);
	port->node_errno = node_try(scan->root, port->node);
	return true;
}

static enum port_kind kind_read(const struct scan *scan, const struct rdma_port *port)
{
	char text[64];

	/* "1: CA", "4: RNIC" */
	if (line_read(text, sizeof(text), "%s/sys/class/infiniband/%s/node_type", scan->root,
		      port->device) &&
	    text[0] == '4')
		return PORT_IWARP;
	if (line_read(text, sizeof(text), "%s/sys/class/infiniband/%s/ports/%u/link_layer",
		      scan->root, port->device, port->port) &&
	    strcmp(text, "Ethernet") == 0)
		return PORT_ROCE;
	return PORT_IB;
}

/* Returns NULL if there is no memory. It moves the ports that are there. */
static struct rdma_port *port_new(struct devices *d, const struct rdma_port *like)
{
	struct rdma_port *more = realloc(d->port, (d->count + 1) * sizeof(*more));

	if (more == NULL)
		return NULL;
	d->port = more;
	more[d->count] = *like;
	return &more[d->count++];
}

/* Adds the port once more if the GID of this index belongs to an interface that is not listed with the port yet. */
static bool further_add(struct scan *scan, struct rdma_port *like, const char *index)
{
	struct devices *d = scan->devices;
	struct rdma_port *port;
	char netdev[64];

	if (!line_read(netdev, sizeof(netdev), "%s/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/%s", scan->root, like->device,
		       like->port, index))
		return false;
	for (size_t i = 0; i < d->count; i++)
		if (d->port[i].port == like->port && strcmp(d->port[i].device, like->device) == 0 &&
		    strcmp(d->port[i].netdev, netdev) == 0)
			return false;
	port = port_new(d, like);
	if (port == NULL)
		return true;
	netdev_set(port, netdev);
	port->further = true;
	return false;
}

/* Adds the further interfaces of the last port. Returns true if there is no memory. */
static bool further_find(struct scan *scan)
{
	const struct devices *d = scan->devices;
	struct rdma_port like = d->port[d->count - 1];
	char path[512];

	if (like.kind != PORT_ROCE || like.netdev[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs", scan->root, like.device, like.port);
	return folder_visit(scan, &like, path, further_add);
}

static bool port_add(struct scan *scan, struct rdma_port *device, const char *name)
{
	struct rdma_port *port = port_new(scan->devices, device);
	char text[64], path[512];
	const char *word;

	if (port == NULL)
		return true; /* ends the visit, and so devices_scan() */
	port->port = (unsigned int)strtoul(name, NULL, 10);
	port->kind = kind_read(scan, port);
	/* "4: ACTIVE" */
	line_read(text, sizeof(text), "%s/sys/class/infiniband/%s/ports/%u/state", scan->root,
		  port->device, port->port);
	word = strchr(text, ' ');
	snprintf(port->state, sizeof(port->state), "%.31s", word != NULL ? word + 1 : text);
	port->active = strcmp(port->state, "ACTIVE") == 0;
	netdev_find(scan, port);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs", scan->root);
	folder_visit(scan, port, path, node_take);
	return further_find(scan);
}

static bool device_add(struct scan *scan, struct rdma_port *unused, const char *name)
{
	struct rdma_port device;
	char path[512];

	(void)unused;
	memset(&device, 0, sizeof(device));
	snprintf(device.device, sizeof(device.device), "%.63s", name);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports", scan->root, device.device);
	return folder_visit(scan, &device, path, port_add);
}

int devices_scan(struct devices *devices, const char *root)
{
	struct scan scan = { devices, root };
	char path[512];

	memset(devices, 0, sizeof(*devices));
	snprintf(path, sizeof(path), "%s/sys/class/infiniband", root);
	if (folder_visit(&scan, NULL, path, device_add)) {
		devices_free(devices);
		return -ENOMEM;
	}
	devices->cm_errno = node_try(root, "/dev/infiniband/rdma_cm");
	return 0;
}

/* Reads a file of the device, and makes the text safe to print in a line. */
__attribute__((format(printf, 3, 4))) static void about_read(char *text, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	text[0] = '\0';
	if (n < 0 || n >= (int)sizeof(path) || !line_read(text, size, "%s", path))
		return;
	for (char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	/* mlx4 and others end the words with spaces */
	for (size_t i = strlen(text); i > 0 && text[i - 1] == ' '; i--)
		text[i - 1] = '\0';
}

/* The driver is where a link leads to: device/driver -> ../../../bus/pci/drivers/mlx5_core. */
static void driver_read(const char *root, const char *device, struct rdma_about *about)
{
	char path[512], target[512];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%.63s/device/driver", root, device);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	name = strrchr(target, '/');
	snprintf(about->driver, sizeof(about->driver), "%.63s", name != NULL ? name + 1 : target);
	about_read(about->version, sizeof(about->version),
		   "%s/sys/class/infiniband/%.63s/device/driver/module/version", root, device);
}

void device_describe(const char *root, const char *device, struct rdma_about *about)
{
	char vendor[16], part[16];

	memset(about, 0, sizeof(*about));
	driver_read(root, device, about);
	about_read(about->firmware, sizeof(about->firmware), "%s/sys/class/infiniband/%.63s/fw_ver", root, device);
	about_read(about->model, sizeof(about->model), "%s/sys/class/infiniband/%.63s/hca_type", root, device);
	about_read(about->board, sizeof(about->board), "%s/sys/class/infiniband/%.63s/board_id", root, device);
	about_read(about->revision, sizeof(about->revision), "%s/sys/class/infiniband/%.63s/hw_rev", root, device);
	about_read(vendor, sizeof(vendor), "%s/sys/class/infiniband/%.63s/device/vendor", root, device);
	about_read(part, sizeof(part), "%s/sys/class/infiniband/%.63s/device/device", root, device);
	if (vendor[0] != '\0' && part[0] != '\0')
		snprintf(about->pci, sizeof(about->pci), "%s:%s", vendor, part);
}

bool port_gid(const char *root, const struct rdma_port *port, unsigned int index, struct rdma_gid *gid)
{
	char name[64];

	memset(gid, 0, sizeof(*gid));
	if (!line_read(gid->gid, sizeof(gid->gid), "%s/sys/class/infiniband/%s/ports/%u/gids/%u", root, port->device, port->port,
		       index))
		return false;
	if (strspn(gid->gid, "0:") == strlen(gid->gid))
		gid->gid[0] = '\0';
	line_read(gid->type, sizeof(gid->type), "%s/sys/class/infiniband/%s/ports/%u/gid_attrs/types/%u", root, port->device,
		  port->port, index);
	if (line_read(name, sizeof(name), "%s/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/%u", root, port->device, port->port,
		      index))
		snprintf(gid->netdev, sizeof(gid->netdev), "%.*s", IF_NAMESIZE - 1, name);
	return true;
}

void devices_free(struct devices *devices)
{
	free(devices->port);
	devices->port = NULL;
	devices->count = 0;
}

const struct rdma_port *devices_find(const struct devices *devices, const char *name,
				     unsigned int port)
{
	for (size_t i = 0; i < devices->count; i++)
		if (strcmp(devices->port[i].netdev, name) == 0)
			return &devices->port[i];
	for (size_t i = 0; i < devices->count; i++)
		if (strcmp(devices->port[i].device, name) == 0 &&
		    (port == 0 || port == devices->port[i].port))
			return &devices->port[i];
	return NULL;
}

bool netdev_exists(const char *root, const char *name)
{
	char path[512];

	if (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0')
		return false;
	snprintf(path, sizeof(path), "%s/sys/class/net/%.64s", root, name);
	return access(path, F_OK) == 0;
}

/* Looks for an IPv4 address first, because nearly every line of dat.conf uses one. */
bool netdev_address(const char *name, char *text, size_t size)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (size_t f = 0; f < 2 && !found; f++) {
		for (struct ifaddrs *a = all; a != NULL && !found; a = a->ifa_next) {
			if (strcmp(a->ifa_name, name) != 0 || a->ifa_addr == NULL ||
			    a->ifa_addr->sa_family != families[f])
				continue;
			if (families[f] == AF_INET6 &&
			    IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr))
				continue;
			found = getnameinfo(a->ifa_addr,
					    families[f] == AF_INET ? sizeof(struct sockaddr_in)
								   : sizeof(struct sockaddr_in6),
					    text, (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;
		}
	}
	freeifaddrs(all);
	return found;
}

static bool address_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a == NULL || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		      &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool netdev_of_address(const char *text, bool ask, char name[IF_NAMESIZE])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = ask ? 0 : AI_NUMERICHOST };
	struct addrinfo *found;
	struct ifaddrs *all;
	int err;

	name[0] = '\0';
	err = getaddrinfo(text, NULL, &hints, &found);
	if (err != 0)
		return err != EAI_AGAIN;
	if (getifaddrs(&all) == 0) {
		for (struct ifaddrs *a = all; a != NULL && name[0] == '\0'; a = a->ifa_next)
			if (address_equal(a->ifa_addr, found->ai_addr))
				snprintf(name, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, a->ifa_name);
		freeifaddrs(all);
	}
	freeaddrinfo(found);
	return true;
}

const char *port_kind_name(enum port_kind kind)
{
	static const char *const names[] = { "InfiniBand", "RoCE", "iWARP" };

	return names[kind];
}
