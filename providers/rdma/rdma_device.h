/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of an adapter in dat.conf, and its device. */
#ifndef RDMA_DEVICE_H
#define RDMA_DEVICE_H

#include "rdma.h"

/* Parses the parameters. Returns false if one is wrong, after a message. */
bool rdma_options_parse(struct rdma_ia *ia, const char *params);
/* Finds the address, verbs device and port that the options name, and opens the device. */
enum datp_err rdma_device_open(struct rdma_ia *ia);
void rdma_device_close(struct rdma_ia *ia);

#endif
