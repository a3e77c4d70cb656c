/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the file of hosts that VIPL_HOSTS names. Its lines are "ADDRESS NAME...", as in /etc/hosts,
 * and `#` begins a comment. Invariant: an address of the file is returned unchanged, loopback or
 * not, so that the identities of one host can have names; lines with addresses of another family
 * than the NIC's are skipped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

enum { LINE_MAX_BYTES = 1024 };

static const char *path_of_hosts(void)
{
	const char *path = secure_getenv("VIPL_HOSTS");

	return path != NULL && *path != '\0' ? path : NULL;
}

/* Returns false, after a message, if VIPL_HOSTS names a file that cannot be read. */
bool hosts_check(const struct nic *nic)
{
	const char *path = path_of_hosts();
	FILE *file;

	if (path == NULL)
		return true;
	file = fopen(path, "re");
	if (file == NULL) {
		complain("%s: VIPL_HOSTS names %s, which cannot be read: %s; correct it, or "
			 "unset it for the host's own names",
			 nic->attr.Name, path, strerror(errno));
		return false;
	}
	fclose(file);
	return true;
}

/*
 * Reads the address of a line, and sets *names to what follows it. Returns false if there is no
 * address of the NIC's family.
 */
static bool line_read(const struct nic *nic, char *line, struct net_addr *addr, char **names)
{
	char *address;

	line[strcspn(line, "#\n")] = '\0';
	address = strtok_r(line, " \t", names);
	memset(addr, 0, sizeof(*addr));
	addr->host_len = (uint8_t)nic->attr.NicAddressLen;
	return address != NULL &&
	       inet_pton(addr->host_len == 4 ? AF_INET : AF_INET6, address, addr->host) == 1;
}

/* Returns whether the name is in the rest of a line. */
static bool line_names(char *names, const char *name)
{
	char *word;

	while ((word = strtok_r(NULL, " \t", &names)) != NULL)
		if (strcasecmp(word, name) == 0)
			return true;
	return false;
}

/*
 * Finds the address number *index of a name, counted from 0. If the file has fewer, returns false,
 * and reduces *index by the number that it has.
 */
bool hosts_by_name(const struct nic *nic, const char *name, VIP_ULONG *index, struct net_addr *addr)
{
	const char *path = path_of_hosts();
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	char line[LINE_MAX_BYTES], *names;
	bool found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
		if (line_read(nic, line, addr, &names) && line_names(names, name))
			found = (*index)-- == 0;
	fclose(file);
	return found;
}

/* Finds the first name of an address. */
bool hosts_by_address(const struct nic *nic, const struct net_addr *addr, char *name, size_t size)
{
	const char *path = path_of_hosts();
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	char line[LINE_MAX_BYTES], *names, *first = NULL;
	struct net_addr here;

	if (file == NULL)
		return false;
	while (first == NULL && fgets(line, sizeof(line), file) != NULL)
		if (line_read(nic, line, &here, &names) &&
		    memcmp(here.host, addr->host, here.host_len) == 0)
			first = strtok_r(NULL, " \t", &names);
	if (first != NULL)
		snprintf(name, size, "%s", first);
	fclose(file);
	return first != NULL;
}
