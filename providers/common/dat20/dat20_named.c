/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The named provider attributes of DAT 2.0. Existing programs look for thirteen names, compare the
 * values as strings, and choose by them what they use. So each adapter has all of them, in the order
 * that those programs know, and no value is NULL. One more says that there are counters, and two of this
 * project name posts that the standard has no attribute for. A plugin's own attributes follow; if one of
 * them has one of these names, its value counts.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dat20.h"

enum { GID_BYTES = 16, GID_GROUPS = GID_BYTES / 2, GID_TEXT = GID_GROUPS * 5 };

/* The attributes of an adapter, in one piece of memory. */
struct dat20_named {
	char gid[GID_TEXT];
	int count;
	DAT_NAMED_ATTR attr[];
};

/* Writes the IA's address as a GID: an IPv4 address is mapped into one of IPv6, as RoCE does. */
static void gid_text(const struct sockaddr_storage *address, char text[GID_TEXT])
{
	unsigned char gid[GID_BYTES] = { 0 };
	int at = 0;

	if (address->ss_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	} else if (address->ss_family == AF_INET6) {
		memcpy(gid, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(gid));
	}
	for (int i = 0; i < GID_BYTES; i += 2)
		at += snprintf(text + at, (size_t)(GID_TEXT - at), "%s%02x%02x", i ? ":" : "", gid[i], gid[i + 1]);
}

/* Returns the value that the plugin gives an attribute, or `otherwise`. */
static const char *value_of(const struct datp_ia_attr *attr, const char *name, const char *otherwise)
{
	for (int i = 0; i < attr->provider_attr_count; i++)
		if (!strcmp(attr->provider_attr[i].name, name) && attr->provider_attr[i].value)
			return attr->provider_attr[i].value;
	return otherwise;
}

static bool is_listed(const struct dat20_named *named, const char *name)
{
	for (int i = 0; i < named->count; i++)
		if (!strcmp(named->attr[i].name, name))
			return true;
	return false;
}

/* Programs compare the values without a look, so a plugin's NULL becomes an empty text. */
static void add(struct dat20_named *named, const char *name, const char *value)
{
	named->attr[named->count++] = (DAT_NAMED_ATTR){ .name = (char *)(uintptr_t)name,
							.value = (char *)(uintptr_t)(value ? value : "") };
}

static const char *truth(bool is)
{
	return is ? "TRUE" : "FALSE";
}

bool dat20_named_make(struct datp_ia *ia)
{
	const struct datp_ia_attr *attr = ia_attr(ia);
	const struct datp_ext_attr *ext = &ia_priv(ia)->ext;
	const struct plugin *plugin = ia_priv(ia)->plugin;
	/* A transport without InfiniBand ports has the values of a port that works. */
	const struct {
		const char *name, *value;
	} known[] = {
		{ "DAT_IB_PROVIDER_NAME", plugin->desc->name },
		{ "DAT_IB_DEVICE_NAME", attr->adapter_name },
		{ "DAT_IB_CONNECTIVITY_MODE", "DIRECT" },
		{ "DAT_IB_RDMA_READ", "TRUE" },
		{ "DAT_IB_NODE_GUID", "0000:0000:0000:0000" },
		{ "DAT_IB_GID", NULL }, /* from the address */
		{ "DAT_IB_TRANSPORT_MTU", "4096" },
		{ "DAT_IB_PORT_STATUS", "ACTIVE" },
		{ "DAT_IB_PORT_NUMBER", "1" },
		{ "DAT_EXTENSION_INTERFACE", truth(ext->write_imm || ext->atomics) },
		{ "DAT_IB_FETCH_AND_ADD", truth(ext->atomics) },
		{ "DAT_IB_CMP_AND_SWAP", truth(ext->atomics) },
		{ "DAT_IB_IMMED_DATA", truth(ext->write_imm) },
		{ "DAT_COUNTERS", "TRUE" },
		/* the standard has no attribute for these two */
		{ "OPENDAT_SEND_WITH_INVALIDATE", truth(ext->send_invalidate) },
		{ "OPENDAT_RDMA_READ_TO_RMR", truth(ext->read_rmr) },
	};
	size_t count = sizeof(known) / sizeof(known[0]);
	struct dat20_named *named;

	named = malloc(sizeof(*named) + (count + (size_t)attr->provider_attr_count) * sizeof(named->attr[0]));
	if (!named)
		return false;
	named->count = 0;
	gid_text(&ia->address, named->gid);
	for (size_t i = 0; i < count; i++)
		add(named, known[i].name,
		    value_of(attr, known[i].name, known[i].value ? known[i].value : named->gid));
	for (int i = 0; i < attr->provider_attr_count; i++)
		if (!is_listed(named, attr->provider_attr[i].name))
			add(named, attr->provider_attr[i].name, attr->provider_attr[i].value);
	ia_priv(ia)->edge_part = named;
	return true;
}

void dat20_named_show(struct datp_ia *ia, DAT20_PROVIDER_ATTR *to)
{
	struct dat20_named *named = ia_priv(ia)->edge_part;

	to->num_provider_specific_attr = named->count;
	to->provider_specific_attr = named->attr;
}
