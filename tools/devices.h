/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RDMA ports of this host, as sysfs shows them. This needs no RDMA library.
 *
 * Invariant: a port is listed whether it can be used or not; its fields show what prevents its use. A RoCE port is listed once
 * more for each further interface that has GIDs of it, such as a VLAN, right behind the one for its own interface.
 */
#ifndef TOOLS_DEVICES_H
#define TOOLS_DEVICES_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

enum port_kind { PORT_IB, PORT_ROCE, PORT_IWARP };

struct rdma_port {
	char device[64];	/* "mlx5_0", "rxe0" */
	unsigned int port;
	enum port_kind kind;
	char state[32];		/* "ACTIVE", "DOWN": the words of sysfs */
	bool active;
	char netdev[IF_NAMESIZE]; /* the network interface of the port; "" if there is none */
	bool further;		  /* `netdev` is a further interface of the port, such as a VLAN */
	char node[64];		/* "/dev/infiniband/uverbs0"; "" if the kernel has none */
	int node_errno;		/* why the node cannot be opened, or 0 */
};

/* The hardware and the software of a device; "" for what sysfs does not tell. */
struct rdma_about {
	char driver[64];	/* "mlx5_core"; "" for a software device, which has no card below it */
	char version[64];	/* of the driver's module, which modules within the kernel do not have */
	char firmware[64];	/* "16.35.2000" */
	char model[64];		/* "MT4119" */
	char board[64];		/* "MT_0000000010" */
	char revision[32];	/* of the hardware */
	char pci[32];		/* "0x15b3:0x1017", the ids of vendor and device */
};

struct rdma_gid {
	char gid[64];		/* "fe80:0000:...": the words of sysfs; "" for an entry of the table that is not used */
	char type[32];		/* "RoCE v2", "IB/RoCE v1" */
	char netdev[IF_NAMESIZE]; /* the interface whose address it is */
};

struct devices {
	struct rdma_port *port;
	size_t count;
	int cm_errno;		/* why /dev/infiniband/rdma_cm cannot be opened, or 0 */
};

/* root is put before /sys and /dev: "" for this host. Returns 0 or -ENOMEM. */
int devices_scan(struct devices *devices, const char *root);
void devices_free(struct devices *devices);
/* Reads an entry of the port's table of GIDs. Returns false if the table has no entry `index`. */
bool port_gid(const char *root, const struct rdma_port *port, unsigned int index, struct rdma_gid *gid);
void device_describe(const char *root, const char *device, struct rdma_about *about);

/* Returns the port that a line of dat.conf means by `name`, an interface or a device, or NULL. */
const struct rdma_port *devices_find(const struct devices *devices, const char *name,
				     unsigned int port);

/* Returns true if there is a network interface of this name. */
bool netdev_exists(const char *root, const char *name);
/* Writes the first address of the interface as text. Returns false if it has none. */
bool netdev_address(const char *name, char *text, size_t size);

/*
 * Finds the interface with this address, or, if name servers may be asked, with the address of this
 * name; "" if there is none. Returns false if no name server answers.
 */
bool netdev_of_address(const char *text, bool ask, char name[IF_NAMESIZE]);

const char *port_kind_name(enum port_kind kind);

#endif
