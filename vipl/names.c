/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the names of devices. Invariant: the name of an adapter means that adapter, unless
 * VIPL_NIC_MAP has the name; a name of an old driver means the adapter of its number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/* The names that the drivers of VIA hardware gave to their devices; a number may follow. */
static const char *const old_names[] = {
	"VINIC", "vinic", "nic", "/dev/clanvi", "/dev/via_lo", "/dev/via_eth", "/dev/via_",
	"/dev/vipl", "via_lo", "via_eth", "clanvi",
};

/*
 * Copies the adapter that VIPL_NIC_MAP ("VINIC=ib-mlx5_0,/dev/via_lo=soft0") names for a device.
 * Returns false if it names none.
 */
static bool find_in_map(const char *device, char *name, size_t size)
{
	const char *at = secure_getenv("VIPL_NIC_MAP");
	size_t length = strlen(device);

	while (at != NULL && *at != '\0') {
		size_t whole = strcspn(at, ",");

		if (whole > length && at[length] == '=' && strncmp(at, device, length) == 0 &&
		    whole - length - 1 < size && whole > length + 1) {
			memcpy(name, at + length + 1, whole - length - 1);
			name[whole - length - 1] = '\0';
			return true;
		}
		at += whole;
		at += *at == ',';
	}
	return false;
}

/* Returns the number in the name of an old device, 0 if it has none, and -1 for any other name. */
static long old_number(const char *device)
{
	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++) {
		size_t length = strlen(old_names[i]);
		const char *digits = device + length;
		char *end;
		long number;

		if (strncmp(device, old_names[i], length) != 0)
			continue;
		if (*digits == '\0')
			return 0;
		number = strtol(digits, &end, 10);
		if (*end == '\0' && *digits >= '0' && *digits <= '9')
			return number;
	}
	return -1;
}

/* Lists all adapters of the registry. Returns their number. The caller frees both arrays. */
static DAT_COUNT list_adapters(DAT_PROVIDER_INFO ***list, DAT_PROVIDER_INFO **infos)
{
	DAT_COUNT count = 0;

	*list = NULL;
	*infos = NULL;
	dat_registry_list_providers(0, &count, NULL);
	if (count <= 0)
		return 0;
	*infos = calloc((size_t)count, sizeof(**infos));
	*list = calloc((size_t)count, sizeof(**list));
	if (*infos == NULL || *list == NULL)
		return 0;
	for (DAT_COUNT i = 0; i < count; i++)
		(*list)[i] = &(*infos)[i];
	if (dat_registry_list_providers(count, &count, *list) != DAT_SUCCESS)
		return 0;
	return count;
}

static const char *find_in_registry(const char *device, char *name, size_t size)
{
	DAT_PROVIDER_INFO **list, *infos;
	DAT_COUNT count = list_adapters(&list, &infos);
	const char *found = NULL;
	long number = old_number(device);

	for (DAT_COUNT i = 0; i < count && found == NULL; i++)
		if (strcmp(infos[i].ia_name, device) == 0)
			found = infos[i].ia_name;
	if (found == NULL && number >= 0 && number < count)
		found = infos[number].ia_name;
	if (found != NULL) {
		snprintf(name, size, "%s", found);
		found = name;
	}
	free(list);
	free(infos);
	return found;
}

/*
 * Writes the name of the device's adapter to `name`, and returns it, or NULL if the device is
 * unknown.
 */
const char *nic_find(const char *device, char *name, size_t size)
{
	if (find_in_map(device, name, size))
		return name;
	return find_in_registry(device, name, size);
}
