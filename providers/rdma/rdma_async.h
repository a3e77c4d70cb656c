/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of the device. */
#ifndef RDMA_ASYNC_H
#define RDMA_ASYNC_H

#include "rdma.h"
#include <poll.h>

/*
 * Returns true if these events of poll(2) or epoll(7) say that the kernel has taken the device away: then the descriptor has an
 * error for good, and whoever waits for it is woken again and again.
 */
static inline bool rdma_is_gone(uint32_t events)
{
	return (events & (POLLERR | POLLHUP)) && !(events & POLLIN);
}

void rdma_async_event(void *arg, uint32_t events);
/* Handles the removal of the device: reports it once to all objects of the IA. Service thread. */
void rdma_device_lost(struct rdma_ia *ia);

#endif
