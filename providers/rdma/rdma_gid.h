/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID of an adapter over RoCE. */
#ifndef RDMA_GID_H
#define RDMA_GID_H

#include "rdma.h"
#include <netinet/in.h>

/* Words of roce= in dat.conf. */
enum rdma_roce { RDMA_ROCE_ANY, RDMA_ROCE_V1, RDMA_ROCE_V2 };

/*
 * Finds the address that gid= in dat.conf stands for. Returns an error, with a message, if connections cannot have this GID, or
 * not the version that roce= asks for. Without gid=, `in` stays as it is. The device is open, and its port has been queried.
 */
enum datp_err rdma_gid_address(const struct rdma_ia *ia, struct sockaddr_in *in);

/* Writes which GID the connections of the adapter have. Returns false if that is not known, or its port is not RoCE. */
bool rdma_gid_show(const struct rdma_ia *ia, char *text, size_t size);

#endif
