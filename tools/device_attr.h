/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an RDMA device and of its ports, as libibverbs reports them, with the names that `ibv_devinfo -v` prints. */
#ifndef TOOLS_DEVICE_ATTR_H
#define TOOLS_DEVICE_ATTR_H

#include <stdbool.h>

/* Prints the attributes of a device, or of a port of it if `port` is not 0; nothing if there is no libibverbs or no device. */
void device_attr_print(const char *device, unsigned int port, bool json);

#endif
