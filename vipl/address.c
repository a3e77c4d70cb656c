/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns addresses: a host and a discriminator. Invariant: the lengths in a struct net_addr are within
 * bounds. The library keeps addresses in this form only; VIP_NET_ADDRESS is the program's form.
 */
#include <string.h>

#include "impl.h"

/*
 * Returns the bytes of an address. They reach beyond the end of a VIP_NET_ADDRESS, so they are
 * addressed from its beginning.
 */
static uint8_t *bytes_of(const VIP_NET_ADDRESS *address)
{
	return (uint8_t *)(uintptr_t)address + offsetof(VIP_NET_ADDRESS, HostAddress);
}

/*
 * Reads a program's address. Returns false if it is NULL, too long, or of another family than the
 * NIC's.
 */
bool net_addr_read(const struct nic *nic, const VIP_NET_ADDRESS *address, struct net_addr *addr)
{
	if (address == NULL || address->HostAddressLen != nic->attr.NicAddressLen ||
	    address->DiscriminatorLen > MAX_DISC)
		return false;
	memset(addr, 0, sizeof(*addr));
	addr->host_len = (uint8_t)address->HostAddressLen;
	addr->disc_len = (uint8_t)address->DiscriminatorLen;
	memcpy(addr->host, bytes_of(address), addr->host_len);
	memcpy(addr->disc, bytes_of(address) + addr->host_len, addr->disc_len);
	return true;
}

static uint16_t capped(uint16_t length, uint16_t size)
{
	return length < size ? length : size;
}

/*
 * Writes an address for the program. The lengths that the structure has on entry say how much room
 * there is. If they are 0, there is room for the longest address of the NIC, or, with `keep_short`,
 * only for the bytes of a bare VIP_NET_ADDRESS.
 */
void net_addr_write(const struct net_addr *addr, VIP_NET_ADDRESS *address, bool keep_short)
{
	uint16_t host = addr->host_len, disc = addr->disc_len;

	if (address->HostAddressLen || address->DiscriminatorLen) {
		host = capped(host, address->HostAddressLen);
		disc = capped(disc, address->DiscriminatorLen);
	} else if (keep_short) {
		host = capped(host, sizeof(VIP_NET_ADDRESS) -
					    offsetof(VIP_NET_ADDRESS, HostAddress));
		disc = 0;
	}
	address->HostAddressLen = host;
	address->DiscriminatorLen = disc;
	memcpy(bytes_of(address), addr->host, host);
	memcpy(bytes_of(address) + host, addr->disc, disc);
}

bool net_addr_is_here(const struct nic *nic, const struct net_addr *addr)
{
	return memcmp(addr->host, nic->address, addr->host_len) == 0;
}

void net_addr_of_sockaddr(const struct sockaddr *sa, struct net_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (sa != NULL && sa->sa_family == AF_INET) {
		addr->host_len = 4;
		memcpy(addr->host, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
	} else if (sa != NULL && sa->sa_family == AF_INET6) {
		addr->host_len = 16;
		memcpy(addr->host, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr,
		       16);
	}
}

void net_addr_to_sockaddr(const struct net_addr *addr, struct sockaddr_storage *sa)
{
	memset(sa, 0, sizeof(*sa));
	if (addr->host_len == 4) {
		sa->ss_family = AF_INET;
		memcpy(&((struct sockaddr_in *)sa)->sin_addr, addr->host, 4);
	} else {
		sa->ss_family = AF_INET6;
		memcpy(&((struct sockaddr_in6 *)sa)->sin6_addr, addr->host, 16);
	}
}

/*
 * Returns the host's address. A loopback address stands for the NIC's own address, unless the NIC
 * itself has a loopback address: then there are several identities on this host, and each loopback
 * address is one of them.
 */
static const uint8_t *host_of(const struct nic *nic, const struct net_addr *addr)
{
	if (addr->host_len == 4 && addr->host[0] == 127 && nic->address[0] != 127)
		return nic->address;
	return addr->host;
}

bool same_host(const struct nic *nic, const struct net_addr *a, const struct net_addr *b)
{
	return a->host_len == b->host_len &&
	       memcmp(host_of(nic, a), host_of(nic, b), a->host_len) == 0;
}
