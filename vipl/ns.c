/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the name service: the file of hosts.c, and after it the host's resolver, for addresses of
 * this NIC. Invariant: an address that it returns is of the NIC's family, and peers can use it: a
 * loopback address from the resolver is replaced by the NIC's.
 */
#include <netdb.h>
#include <string.h>

#include "impl.h"

VIP_RETURN VipNSInit(VIP_NIC_HANDLE handle, VIP_PVOID info)
{
	struct nic *nic = nic_get(handle);

	(void)info;
	if (nic == NULL)
		return VIP_INVALID_PARAMETER;
	if (!hosts_check(nic))
		return VIP_ERROR_NAMESERVICE;
	pthread_mutex_lock(&nic->lock);
	nic->ns_users++;
	pthread_mutex_unlock(&nic->lock);
	return VIP_SUCCESS;
}

VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE handle)
{
	struct nic *nic = nic_get(handle);
	VIP_RETURN ret = VIP_ERROR_NAMESERVICE;

	if (nic == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&nic->lock);
	if (nic->ns_users > 0) {
		nic->ns_users--;
		ret = VIP_SUCCESS;
	}
	pthread_mutex_unlock(&nic->lock);
	return ret;
}

static bool ns_is_on(struct nic *nic)
{
	bool on;

	pthread_mutex_lock(&nic->lock);
	on = nic->ns_users > 0;
	pthread_mutex_unlock(&nic->lock);
	return on;
}

static void replace_loopback(const struct nic *nic, struct net_addr *addr)
{
	if (addr->host_len == 4 && addr->host[0] == 127)
		memcpy(addr->host, nic->address, 4);
}

/* Asks the host's resolver. Returns false if it has no address of that number. */
static bool resolve(const struct nic *nic, const char *name, VIP_ULONG index, struct net_addr *addr)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *at;

	hints.ai_family = nic->attr.NicAddressLen == 4 ? AF_INET : AF_INET6;
	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return false;
	for (at = list; at != NULL && index > 0; at = at->ai_next)
		index--;
	net_addr_of_sockaddr(at != NULL ? at->ai_addr : NULL, addr);
	freeaddrinfo(list);
	replace_loopback(nic, addr);
	return addr->host_len != 0;
}

VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE handle, VIP_CHAR *name,
			      VIP_NET_ADDRESS *address, VIP_ULONG index)
{
	struct nic *nic = nic_get(handle);
	struct net_addr addr;

	if (nic == NULL || name == NULL || address == NULL)
		return VIP_INVALID_PARAMETER;
	if (!ns_is_on(nic) || (!hosts_by_name(nic, name, &index, &addr) &&
			       !resolve(nic, name, index, &addr)))
		return VIP_ERROR_NAMESERVICE;
	/* The caller has room for an address of the NIC's, whatever the structure held before. */
	address->HostAddressLen = addr.host_len;
	address->DiscriminatorLen = 0;
	net_addr_write(&addr, address, false);
	return VIP_SUCCESS;
}

VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE handle, VIP_NET_ADDRESS *address, VIP_CHAR *name,
			      VIP_ULONG *length)
{
	struct nic *nic = nic_get(handle);
	struct sockaddr_storage sa;
	char text[NI_MAXHOST];
	struct net_addr addr;
	VIP_ULONG need;

	if (nic == NULL || name == NULL || length == NULL || !net_addr_read(nic, address, &addr))
		return VIP_INVALID_PARAMETER;
	net_addr_to_sockaddr(&addr, &sa);
	if (!ns_is_on(nic) ||
	    (!hosts_by_address(nic, &addr, text, sizeof(text)) &&
	     getnameinfo((struct sockaddr *)&sa, sizeof(sa), text, sizeof(text), NULL, 0, 0) != 0))
		return VIP_ERROR_NAMESERVICE;
	need = strlen(text) + 1;
	if (need > *length) {
		*length = need;
		return VIP_ERROR_RESOURCE;
	}
	memcpy(name, text, need);
	*length = need;
	return VIP_SUCCESS;
}
