/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of an address by which a server counts clients. Inlined into datctl and datperf.
 *
 * Invariant: all addresses among which one host can choose by itself have the same part, and an unknown address has one, too.
 */
#ifndef TOOLS_HOST_H
#define TOOLS_HOST_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define HOST_SIZE 16

/* For IPv6 it is the network, because one host can have all of its addresses. */
static inline void host_of(const struct sockaddr *address, unsigned char host[HOST_SIZE])
{
	memset(host, 0, HOST_SIZE);
	if (address == NULL)
		return;
	if (address->sa_family == AF_INET6)
		memcpy(host, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
	else if (address->sa_family == AF_INET)
		memcpy(host, &((const struct sockaddr_in *)address)->sin_addr, 4);
}

#endif
