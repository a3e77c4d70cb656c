/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider plugin by somebody who has never heard of this project: not linked to libdat, with the
 * table of the standard and nothing else. It moves no data; it notes every call and gives the answer
 * it is told to give. foreign_dat.h says for which API it is: the one for uDAPL 1.2 is generated, and
 * for DAT 2.0 it is the headers of the standard.
 */
#include <stdio.h>
#include <string.h>

#include <foreign_dat.h>
#include "foreign_log.h"

_Static_assert(sizeof(struct dat_provider) == (DAT_VERSION_MAJOR == 1 ? 560 : 648),
	       "the table has 70 slots, or 81 in DAT 2.0");

extern const struct dat_provider foreign_table;
extern struct foreign_log foreign_log;

/* Every handle the plugin gives out: its first word is the table, as the standard has it. */
static const struct dat_provider *foreign_object = &foreign_table;

struct foreign_log foreign_log = { .object = &foreign_object };

static void foreign_note(int slot)
{
	foreign_log.calls++;
	foreign_log.slot = slot;
	foreign_log.arguments = 0;
}

static void foreign_note_argument(const void *value, size_t size)
{
	int i = foreign_log.arguments++;

	foreign_log.size[i] = size;
	memcpy(foreign_log.bytes[i], value, size);
}

static DAT_RETURN foreign_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen,
				  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	foreign_note(2);
	foreign_note_argument(&name, sizeof(name));
	foreign_note_argument(&qlen, sizeof(qlen));
	if (foreign_log.answer == DAT_SUCCESS) {
		*async_evd = &foreign_object;
		*ia = &foreign_object;
	}
	return foreign_log.answer;
}

static DAT_RETURN foreign_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd,
				   DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
				   DAT_PROVIDER_ATTR_MASK provider_mask,
				   DAT_PROVIDER_ATTR *provider_attr)
{
	foreign_note(3);
	foreign_note_argument(&ia, sizeof(ia));
	foreign_note_argument(&async_evd, sizeof(async_evd));
	foreign_note_argument(&ia_mask, sizeof(ia_mask));
	foreign_note_argument(&ia_attr, sizeof(ia_attr));
	foreign_note_argument(&provider_mask, sizeof(provider_mask));
	foreign_note_argument(&provider_attr, sizeof(provider_attr));
	if (foreign_log.answer != DAT_SUCCESS)
		return foreign_log.answer;
	if (async_evd)
		*async_evd = &foreign_object;
	if (ia_attr)
		snprintf(ia_attr->adapter_name, sizeof(ia_attr->adapter_name), "foreign0");
	if (provider_attr) {
		snprintf(provider_attr->provider_name, sizeof(provider_attr->provider_name),
			 "foreign");
		provider_attr->dapl_version_major = DAT_VERSION_MAJOR;
		provider_attr->dapl_version_minor = DAT_VERSION_MINOR;
		provider_attr->is_thread_safe = DAT_FALSE;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN foreign_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	foreign_note(4);
	foreign_note_argument(&ia, sizeof(ia));
	foreign_note_argument(&flags, sizeof(flags));
	return foreign_log.answer;
}

#include <foreign_slots.h>

#if DAT_VERSION_MAJOR >= 2
/*
 * A call of an extension of this plugin has one argument, a number. A call that opens a query (bit 0x1000) takes
 * a name instead of a handle, and before the number the address at which it stores the handle that it makes.
 */
static DAT_RETURN foreign_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_HANDLE *made = (op & 0x1000) ? va_arg(args, DAT_HANDLE *) : NULL;
	int number = va_arg(args, int);

	foreign_note(80);
	foreign_note_argument(&handle, sizeof(handle));
	foreign_note_argument(&op, sizeof(op));
	foreign_note_argument(&number, sizeof(number));
	if (made && foreign_log.answer == DAT_SUCCESS)
		*made = &foreign_object;
	return foreign_log.answer;
}
#endif

const struct dat_provider foreign_table = {
	.device_name = "foreign0",
	.extension = NULL,
	FOREIGN_SLOTS,
#if DAT_VERSION_MAJOR >= 2
	.handle_extendedop_func = foreign_extendedop,
#endif
};

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance)
{
	foreign_log.inits++;
	foreign_log.instance_right = instance && strcmp(instance, FOREIGN_INSTANCE) == 0;
	dat_registry_add_provider(&foreign_table, info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	dat_registry_remove_provider(&foreign_table, info);
	if (foreign_log.finished)
		++*foreign_log.finished;
}
