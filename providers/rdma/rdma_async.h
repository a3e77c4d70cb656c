/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of the device. */
#ifndef RDMA_ASYNC_H
#define RDMA_ASYNC_H

#include "rdma.h"

void rdma_async_event(void *arg, uint32_t events);
/* Handles the removal of the device: reports it once to all objects of the IA. Service thread. */
void rdma_device_lost(struct rdma_ia *ia);

#endif
