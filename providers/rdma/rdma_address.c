/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of a peer, and the mark of packets to it. Invariant: an attempt is made only to an address that an adapter
 * can have, and from the address of this IA's device.
 */
#include "rdma_address.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void rdma_address_mark(const struct rdma_ia *ia, struct rdma_cm_id *id)
{
	uint8_t tos = (uint8_t)ia->opt.tos;

	if (ia->opt.marks && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)))
		datp_log(1,
			 "%s: the kernel does not set tos=%u for a connection (rdma_set_option): %s; its packets have the host's "
			 "default",
			 ia->base.name, tos, strerror(errno));
}

int rdma_address_resolve(struct rdma_conn *conn, struct sockaddr_in *to)
{
	struct sockaddr_in from = *(struct sockaddr_in *)&conn->ia->base.address;

	rdma_address_mark(conn->ia, conn->id);
	from.sin_port = 0;
	if (ntohl(to->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
		to->sin_addr = from.sin_addr;
	return rdma_resolve_addr(conn->id, (struct sockaddr *)&from,
				 (struct sockaddr *)to, conn->ia->opt.resolve_ms)
		       ? errno
		       : 0;
}

/*
 * Broadcast addresses of a network look like any other address, but the kernel knows its networks,
 * and does not connect a socket without SO_BROADCAST to one. Nothing is sent.
 */
static bool is_broadcast(const struct sockaddr_in *to)
{
	struct datp_fork_own own;
	bool refused = false;
	int fd;

	datp_fork_hold(&own);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		refused = connect(fd, (const struct sockaddr *)to, sizeof(*to)) && errno == EACCES;
		close(fd);
	}
	datp_fork_release(&own);
	return refused;
}

bool rdma_address_is_nobodys(const struct sockaddr_in *to)
{
	uint32_t address = ntohl(to->sin_addr.s_addr);

	return address == INADDR_ANY || address == INADDR_BROADCAST || IN_MULTICAST(address) ||
	       is_broadcast(to);
}
