/* SPDX-License-Identifier: BSD-2-Clause */
/* What dat.conf says of an adapter, and the device that it means. */
#ifndef RDMA_DEVICE_H
#define RDMA_DEVICE_H

#include "rdma.h"

/* The words of dat.conf. False: said what is wrong. */
bool rdma_options_parse(struct rdma_ia *ia, const char *params);
/* The address, verbs device and port that the options name; opens the device. */
enum datp_err rdma_device_open(struct rdma_ia *ia);
void rdma_device_close(struct rdma_ia *ia);

#endif
