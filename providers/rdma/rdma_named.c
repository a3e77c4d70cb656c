/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs of DAT 2.0 look for by name: the device, its port and its addresses, as they are when the
 * adapter is opened. The names and the forms of the values are those that such programs know.
 */
#include "rdma_named.h"

#include <stdio.h>
#include <string.h>

static char *name_add(struct rdma_ia *ia, struct datp_ia_attr *a, const char *name)
{
	int i = a->provider_attr_count++;

	ia->provider_attr[i] = (DAT_NAMED_ATTR){ .name = (char *)(uintptr_t)name, .value = ia->provider_text[i] };
	return ia->provider_text[i];
}

/* Writes bytes as groups of four hexadecimal digits. */
static void groups(char *text, const unsigned char *bytes, int n)
{
	for (int i = 0; i < n; i += 2)
		text += sprintf(text, "%s%02x%02x", i ? ":" : "", bytes[i], bytes[i + 1]);
}

/* Returns the GID that belongs to the adapter's address, or the port's first one if librdmacm names none. */
static union ibv_gid gid_of(const struct rdma_ia *ia)
{
	static const union ibv_gid none;
	union ibv_gid gid = ia->bound->route.addr.addr.ibaddr.sgid;

	if (!memcmp(&gid, &none, sizeof(gid)) && ibv_query_gid(ia->verbs, ia->port, 0, &gid))
		gid = none;
	return gid;
}

static const char *status_of(enum ibv_port_state state)
{
	switch (state) {
	case IBV_PORT_ACTIVE:
		return "ACTIVE";
	case IBV_PORT_ARMED:
		return "ARMED";
	case IBV_PORT_INIT:
		return "INIT";
	case IBV_PORT_ACTIVE_DEFER:
		return "ACTIVE_DEFER";
	default:
		return "DOWN";
	}
}

void rdma_named_fill(struct rdma_ia *ia, struct datp_ia_attr *a)
{
	const union ibv_gid gid = gid_of(ia);
	const size_t size = sizeof(ia->provider_text[0]);

	a->provider_attr = ia->provider_attr;
	a->provider_attr_count = 0;
	/* the name of the connection manager: connections are made by librdmacm */
	snprintf(name_add(ia, a, "DAT_IB_PROVIDER_NAME"), size, "CMA");
	snprintf(name_add(ia, a, "DAT_IB_DEVICE_NAME"), size, "%.40s", ibv_get_device_name(ia->verbs->device));
	groups(name_add(ia, a, "DAT_IB_NODE_GUID"), (const unsigned char *)&ia->dev.node_guid,
	       (int)sizeof(ia->dev.node_guid));
	groups(name_add(ia, a, "DAT_IB_GID"), gid.raw, (int)sizeof(gid.raw));
	/* the values of enum ibv_mtu double from 256 bytes, which is 1 */
	snprintf(name_add(ia, a, "DAT_IB_TRANSPORT_MTU"), size, "%u", 128u << ia->port_attr.active_mtu);
	snprintf(name_add(ia, a, "DAT_IB_PORT_STATUS"), size, "%s", status_of(ia->port_attr.state));
	snprintf(name_add(ia, a, "DAT_IB_PORT_NUMBER"), size, "%u", ia->port);
}
