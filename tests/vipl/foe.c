/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the adapter of a peer that does not use libvipl. Invariant: what it sends lies in foe.mem. */
#include <string.h>

#include "foe.h"

struct foe foe;
uint32_t mtu;

static DAT_EVD_HANDLE queue(DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	REQUIRE_DAT(dat_evd_create(foe.ia, 256, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS);
	return evd;
}

void foe_open(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = foe.mem };
	DAT_PROVIDER_ATTR provider;
	DAT_LMR_HANDLE lmr;
	DAT_IA_ATTR attr;
	char name[64];

	strncpy(name, adapter(), sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	foe.async = DAT_HANDLE_NULL;
	REQUIRE_DAT(dat_ia_open(name, 8, &foe.async, &foe.ia), DAT_SUCCESS);
	REQUIRE_DAT(dat_ia_query(foe.ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider),
		    DAT_SUCCESS);
	memcpy(&foe.address, attr.ia_address_ptr, sizeof(foe.address));
	foe.room = provider.max_private_data_size;
	REQUIRE_DAT(dat_pz_create(foe.ia, &foe.pz), DAT_SUCCESS);
	foe.connect = queue(DAT_EVD_CONNECTION_FLAG);
	foe.dto = queue(DAT_EVD_DTO_FLAG);
	foe.cr = queue(DAT_EVD_CR_FLAG);
	REQUIRE_DAT(dat_lmr_create(foe.ia, DAT_MEM_TYPE_VIRTUAL, region, MEMORY, foe.pz, DAT_MEM_PRIV_ALL_FLAG,
				   &lmr, &foe.context, NULL, NULL, NULL),
		    DAT_SUCCESS);
}

void foe_close(void)
{
	REQUIRE_DAT(dat_ia_close(foe.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

DAT_EP_HANDLE endpoint(void)
{
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(foe.ia, foe.pz, foe.dto, foe.dto, foe.connect, NULL, &ep), DAT_SUCCESS);
	return ep;
}

DAT_CONN_QUAL door_of(const char *disc, unsigned int probe)
{
	uint32_t hash = 2166136261u;

	for (; *disc; disc++)
		hash = (hash ^ (uint8_t)*disc) * 16777619u;
	hash ^= hash >> 15;
	return UINT64_C(0x5649504C0000) + (hash % 65536 + probe * 47) % 65536;
}

DAT_COUNT hello_to(const char *disc, uint32_t timeout_ms, unsigned char *hello)
{
	size_t length = strlen(disc);

	memset(hello, 0, HELLO);
	memcpy(hello, "VI\2", 3);
	hello[4] = VIP_SERVICE_RELIABLE_DELIVERY;
	hello[7] = (unsigned char)length;
	for (int i = 0; i < 4; i++) {
		hello[8 + i] = (unsigned char)(mtu >> 8 * i);
		hello[16 + i] = (unsigned char)(timeout_ms >> 8 * i);
	}
	memcpy(hello + 20, disc, length);
	return (DAT_COUNT)(20 + length);
}

void ask(const char *disc, DAT_COUNT size, const unsigned char *data)
{
	foe.ep = endpoint();
	REQUIRE_DAT(dat_ep_connect(foe.ep, (DAT_IA_ADDRESS_PTR)&foe.address, door_of(disc, 0),
				   check_patience_ms() * 1000, size, (DAT_PVOID)(uintptr_t)data,
				   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
}

void ask_as_client(const char *door, const char *disc, unsigned char flags)
{
	unsigned char hello[HELLO];
	char at[32], named[32];
	DAT_COUNT size = hello_to(disc_make(disc, named), UINT32_MAX, hello);

	hello[3] = flags;
	ask(disc_make(door, at), size, hello);
}

DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	REQUIRE_DAT(dat_evd_wait(evd, check_patience_ms() * 1000, 1, &event, &more), DAT_SUCCESS);
	return event;
}

int verdict(void)
{
	DAT_EVENT event = next(foe.connect);
	const DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return -1;
	REQUIRE(data->private_data_size >= 20);
	return ((const unsigned char *)data->private_data)[5];
}
