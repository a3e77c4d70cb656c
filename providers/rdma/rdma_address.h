/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of peers. */
#ifndef RDMA_ADDRESS_H
#define RDMA_ADDRESS_H

#include "rdma.h"
#include <netinet/in.h>

/*
 * Has rdma_cm resolve the address; an event has the result. Returns an errno, or 0. No RDMA device has
 * a loopback address, but many hosts find one under their own name (127.0.1.1 in Debian's /etc/hosts).
 * It means this host, so it is replaced by the device's address, as peers know it.
 */
int rdma_address_resolve(struct rdma_conn *conn, struct sockaddr_in *to);
/*
 * Gives the packets of the id's connections the type of service of tos=, if there is one. Over RoCE it is the traffic class, for
 * both directions, because the request tells the peer.
 */
void rdma_address_mark(const struct rdma_ia *ia, struct rdma_cm_id *id);
/*
 * Returns true if no adapter can have this address. rdma_cm accepts such addresses, but there is no
 * answer: over rxe the attempt would last until its timeout.
 */
bool rdma_address_is_nobodys(const struct sockaddr_in *to);

#endif
