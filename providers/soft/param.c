/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance data of a soft adapter, and the address that it shows. */
#define _GNU_SOURCE
#include "param.h"
#include "bound.h"
#include "connect.h"
#include <arpa/inet.h>
#include <datp/options.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* how long the other side of an incoming connection may take for each step; see pending.c */
#define HANDSHAKE_MS	 30000u
#define HANDSHAKE_MS_MAX 3600000u

/*
 * Finds the address of the interface `name`, or, if that is NULL, of the first interface that is up
 * and not the loopback, because programs look for the address among the interfaces and skip
 * 127.0.0.1. Returns false if there is none.
 */
static bool host_address(const char *name, struct sockaddr_in *in)
{
	struct ifaddrs *all, *a;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return false;
	for (a = all; a && !found; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP))
			continue;
		if (name ? strcmp(a->ifa_name, name) != 0 : (a->ifa_flags & IFF_LOOPBACK) != 0)
			continue;
		memcpy(in, a->ifa_addr, sizeof *in);
		found = true;
	}
	freeifaddrs(all);
	in->sin_port = 0;
	return found;
}

static enum datp_err take_address(void *to, const char *word, char *why, size_t size)
{
	struct soft_ia *ia = to;
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->base.address;

	if (inet_pton(AF_INET, word, &in->sin_addr) != 1 && !host_address(word, in)) {
		snprintf(why, size,
			 "\"%s\" is neither an IPv4 address nor an interface that is up; "
			 "give one of `ip -br address`, or \"\" for any",
			 word);
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	in->sin_family = AF_INET;
	if (strcmp(ia->key, SOFT_KEY_ANY) != 0 ||
	    soft_address_key((struct sockaddr *)in, ia->key, sizeof ia->key)) {
		snprintf(why, size,
			 "\"%s\" in dat.conf is a second address, or an address that nobody can "
			 "connect to; give one address",
			 word);
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	return DATP_OK;
}

static const char *const shares[] = {
	[SOFT_SHARE_OFF] = "off",
	[SOFT_SHARE_ON] = "on",
	[SOFT_SHARE_UNSEALED] = "unsealed",
	[SOFT_SHARE_UNSEALED + 1] = NULL,
};

static const char *const memories[] = {
	[SOFT_MEMORY_PRIVATE] = "private",
	[SOFT_MEMORY_SHARED] = "shared",
	[SOFT_MEMORY_SHARED + 1] = NULL,
};

/* eager_limit is 0 if it is not given; soft_param_parse() replaces that. */
static const struct datp_option table[] = {
	DATP_OPTION_BOOL("cma", struct soft_ia, want_cma, true,
			 "whether the kernel is asked to copy between processes"),
	DATP_OPTION_ENUM("share", struct soft_ia, want_share, SOFT_SHARE_ON, shares,
			 "which memory of peers is mapped"),
	DATP_OPTION_ENUM("memory", struct soft_ia, want_memory, SOFT_MEMORY_PRIVATE, memories,
			 "what registered memory is while it is registered"),
	DATP_OPTION_BOOL("strict", struct soft_ia, strict, false,
			 "whether what fails on RDMA hardware fails here, too"),
	DATP_OPTION_BYTES("eager_limit", struct soft_ia, eager_limit, 0, SOFT_EAGER_MIN,
			  SOFT_EAGER_MAX, "the longest message that goes through the ring"),
	DATP_OPTION_TIME("peer_timeout", struct soft_ia, patience_ms, SOFT_PATIENCE_MS, 1,
			 SOFT_PATIENCE_MS_MAX, "how long a peer that does not answer is waited for"),
	DATP_OPTION_TIME("handshake_timeout", struct soft_ia, handshake_ms, HANDSHAKE_MS, 1,
			 HANDSHAKE_MS_MAX, "how long the handshake of a connection may take"),
};
static const struct datp_options options = DATP_OPTIONS(table, "ADDRESS", take_address);

enum datp_err soft_param_realm(struct soft_ia *ia)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *realm = secure_getenv("DAT_SOFT_REALM");

	if (!realm)
		realm = "";
	/* the realm is a part of a listener's name; another character in it could make two listeners' names equal */
	if (strlen(realm) > SOFT_REALM_MAX || realm[strspn(realm, good)]) {
		datp_log(1,
			 "soft: adapter %s: DAT_SOFT_REALM=%s is not a valid name; use up to %d "
			 "letters, digits, and . _ -",
			 ia->base.name, realm, SOFT_REALM_MAX);
		return DATP_ERR_PARAM;
	}
	snprintf(ia->realm, sizeof ia->realm, "%s", realm);
	return DATP_OK;
}

enum datp_err soft_param_parse(struct soft_ia *ia, const char *params)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->base.address;
	char why[DATP_WHY_MAX];
	enum datp_err err;

	snprintf(ia->key, sizeof ia->key, SOFT_KEY_ANY);
	in->sin_family = AF_INET;
	if (!host_address(NULL, in))
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	datp_options_preset(&options, ia);
	err = datp_options_take(&options, params, ia, why, sizeof why);
	if (err)
		datp_log(1, "soft: adapter %s: %s", ia->base.name, why);
	ia->eager_sure = ia->eager_limit ? ia->eager_limit : SOFT_EAGER_SURE;
	if (!ia->eager_limit)
		ia->eager_limit = SOFT_EAGER_DEFAULT;
	return err;
}
