/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance data of a soft adapter, and the address that it shows. */
#define _GNU_SOURCE
#include "param.h"
#include "bound.h"
#include "knock.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* how long the other side of an incoming connection may take; see pending.c */
#define HANDSHAKE_MS	 30000u
#define HANDSHAKE_MS_MAX 3600000u

/*
 * The address that stands for this host: of the first interface that is up and not the loopback,
 * since programs look for it among the interfaces and skip 127.0.0.1; else 127.0.0.1. name: only
 * that interface.
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

static enum datp_err param_address(struct soft_ia *ia, const char *word)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ia->base.address;

	if (inet_pton(AF_INET, word, &in->sin_addr) != 1 && !host_address(word, in)) {
		datp_log(
			1,
			"soft: adapter %s: \"%s\" is neither an IPv4 address nor an interface that is up; "
			"give one of `ip -br address`, or \"\" for any",
			ia->base.name, word);
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	in->sin_family = AF_INET;
	if (strcmp(ia->key, SOFT_KEY_ANY) != 0 ||
	    soft_address_key((struct sockaddr *)in, ia->key, sizeof ia->key)) {
		datp_log(1,
			 "soft: adapter %s: \"%s\" in dat.conf is a second address, or an address "
			 "that nobody can connect to; give one address",
			 ia->base.name, word);
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	return DATP_OK;
}

static bool param_switch(const char *value, bool *is)
{
	*is = !strcmp(value, "on");
	return *is || !strcmp(value, "off");
}

static bool param_number(const char *value, uint32_t least, uint32_t most, uint32_t *is)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (!isdigit((unsigned char)*value) || *end || number < least || number > most)
		return false;
	*is = (uint32_t)number;
	return true;
}

static enum datp_err param_word(struct soft_ia *ia, const char *word)
{
	if (!strncmp(word, "cma=", 4)) {
		if (param_switch(word + 4, &ia->want_cma))
			return DATP_OK;
	} else if (!strncmp(word, "share=", 6)) {
		ia->want_unsealed = !strcmp(word + 6, "unsealed");
		if (param_switch(ia->want_unsealed ? "on" : word + 6, &ia->want_share))
			return DATP_OK;
	} else if (!strncmp(word, "handshake_timeout=", 18)) {
		if (param_number(word + 18, 1, HANDSHAKE_MS_MAX, &ia->handshake_ms))
			return DATP_OK;
	} else if (!strncmp(word, "eager_limit=", 12)) {
		if (param_number(word + 12, SOFT_EAGER_MIN, SOFT_EAGER_MAX, &ia->eager_limit)) {
			ia->eager_sure = ia->eager_limit;
			return DATP_OK;
		}
	} else if (!strncmp(word, "peer_timeout=", 13)) {
		if (param_number(word + 13, 1, SOFT_PATIENCE_MS_MAX, &ia->patience_ms))
			return DATP_OK;
	} else if (!strchr(word, '=')) {
		return param_address(ia, word);
	}
	datp_log(1,
		 "soft: adapter %s: \"%s\" in dat.conf is not known or out of range; "
		 "known are ADDRESS, cma=on|off, share=on|off|unsealed, eager_limit=64..1048576, "
		 "peer_timeout=1..3600000, handshake_timeout=1..3600000",
		 ia->base.name, word);
	return DATP_ERR_PARAM;
}

enum datp_err soft_param_realm(struct soft_ia *ia)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const char *realm = secure_getenv("DAT_SOFT_REALM");

	if (!realm)
		realm = "";
	/* it becomes a part of names, which must not be equal to another listener's */
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
	char *copy = strdup(params ? params : ""), *rest = copy, *word;
	enum datp_err err = copy ? DATP_OK : DATP_ERR_MEMORY;

	ia->want_cma = true;
	ia->want_share = true;
	ia->patience_ms = SOFT_PATIENCE_MS;
	ia->want_unsealed = false;
	ia->handshake_ms = HANDSHAKE_MS;
	ia->eager_limit = SOFT_EAGER_DEFAULT;
	ia->eager_sure = SOFT_EAGER_SURE;
	snprintf(ia->key, sizeof ia->key, SOFT_KEY_ANY);
	in->sin_family = AF_INET;
	if (!host_address(NULL, in))
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (!err && (word = strtok_r(rest, " \t", &rest)))
		err = param_word(ia, word);
	free(copy);
	return err;
}
