/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attributes of an RDMA device; see device_attr.h. libibverbs is loaded when it is needed, because datctl also has to work on
 * hosts that do not have it. Invariant: nothing is printed that identifies the card, such as its GUIDs.
 */
#include "config.h"

#include "device_attr.h"

#ifndef HAVE_RDMA

void device_attr_print(const char *device, unsigned int port, bool json)
{
	(void)device;
	(void)port;
	(void)json;
}

#else

#include <dlfcn.h>
#include <inttypes.h>
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

struct field {
	const char *name;
	size_t at, size;
	bool hex;
};

#define FIELD(type, name, hex)	{ #name, offsetof(struct type, name), sizeof(((struct type *)0)->name), hex }
#define DEVICE(name)		FIELD(ibv_device_attr, name, false)
#define DEVICE_HEX(name)	FIELD(ibv_device_attr, name, true)
#define MORE(name)		FIELD(ibv_device_attr_ex, name, false)
#define MORE_HEX(name)		FIELD(ibv_device_attr_ex, name, true)
#define PORT(name)		FIELD(ibv_port_attr, name, false)
#define PORT_HEX(name)		FIELD(ibv_port_attr, name, true)

static const struct field device_fields[] = {
	DEVICE_HEX(vendor_id),	DEVICE(vendor_part_id),	    DEVICE_HEX(hw_ver),
	DEVICE(phys_port_cnt),	DEVICE_HEX(max_mr_size),    DEVICE_HEX(page_size_cap),
	DEVICE(max_qp),		DEVICE(max_qp_wr),	    DEVICE_HEX(device_cap_flags),
	DEVICE(max_sge),	DEVICE(max_sge_rd),	    DEVICE(max_cq),
	DEVICE(max_cqe),	DEVICE(max_mr),		    DEVICE(max_pd),
	DEVICE(max_qp_rd_atom), DEVICE(max_res_rd_atom),    DEVICE(max_qp_init_rd_atom),
	DEVICE(atomic_cap),	DEVICE(max_mw),		    DEVICE(max_ah),
	DEVICE(max_srq),	DEVICE(max_srq_wr),	    DEVICE(max_srq_sge),
	DEVICE(max_pkeys),	DEVICE(local_ca_ack_delay),
};

static const struct field more_fields[] = {
	MORE_HEX(device_cap_flags_ex),
	MORE_HEX(odp_caps.general_caps),
	MORE_HEX(odp_caps.per_transport_caps.rc_odp_caps),
	MORE_HEX(completion_timestamp_mask),
	MORE(hca_core_clock),
};

static const struct field port_fields[] = {
	PORT(state),	    PORT(max_mtu),	   PORT(active_mtu),   PORT(gid_tbl_len),  PORT_HEX(port_cap_flags),
	PORT(max_msg_sz),   PORT(pkey_tbl_len),	   PORT(lid),	       PORT(lmc),	   PORT(active_width),
	PORT(active_speed), PORT(phys_state),	   PORT(link_layer),   PORT_HEX(flags),	   PORT_HEX(port_cap_flags2),
};

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* What is called of libibverbs. */
static struct {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *verbs);
	int (*query_device)(struct ibv_context *verbs, struct ibv_device_attr *attr);
} lib;

/* The library stays loaded, as its drivers require. */
static bool library_load(void)
{
	static void *handle;
	const struct {
		void *to;
		const char *name;
	} calls[] = {
		{ &lib.get_device_list, "ibv_get_device_list" }, { &lib.free_device_list, "ibv_free_device_list" },
		{ &lib.get_device_name, "ibv_get_device_name" }, { &lib.open_device, "ibv_open_device" },
		{ &lib.close_device, "ibv_close_device" },	 { &lib.query_device, "ibv_query_device" },
	};

	if (handle == NULL)
		handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; handle != NULL && i < COUNT(calls); i++) {
		void *call = dlsym(handle, calls[i].name);

		if (call == NULL)
			return false;
		memcpy(calls[i].to, &call, sizeof(call));
	}
	return handle != NULL;
}

static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = lib.get_device_list(NULL);
	struct ibv_context *verbs = NULL;

	for (size_t i = 0; list != NULL && list[i] != NULL && verbs == NULL; i++)
		if (strcmp(lib.get_device_name(list[i]), name) == 0)
			verbs = lib.open_device(list[i]);
	if (list != NULL)
		lib.free_device_list(list);
	return verbs;
}

static uint64_t value_of(const struct field *field, const void *of)
{
	const unsigned char *at = (const unsigned char *)of + field->at;
	uint64_t wide = 0;
	uint32_t word = 0;
	uint16_t half = 0;

	switch (field->size) {
	case 8:
		memcpy(&wide, at, sizeof(wide));
		return wide;
	case 4:
		memcpy(&word, at, sizeof(word));
		return word;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	default:
		return *at;
	}
}

static void fields_print(const struct field *fields, size_t count, const void *of, bool json)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = value_of(&fields[i], of);

		if (json)
			json_number(fields[i].name, value);
		else if (fields[i].hex)
			printf("    %s 0x%" PRIx64 "\n", fields[i].name, value);
		else
			printf("    %s %" PRIu64 "\n", fields[i].name, value);
	}
}

static void of_device(struct ibv_context *verbs, bool json)
{
	const struct verbs_context *more = verbs_get_ctx_op(verbs, query_device_ex);
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	memset(&attr, 0, sizeof(attr));
	memset(&ex, 0, sizeof(ex));
	if (lib.query_device(verbs, &attr) == 0)
		fields_print(device_fields, COUNT(device_fields), &attr, json);
	if (more != NULL && more->query_device_ex(verbs, NULL, &ex, sizeof(ex)) == 0)
		fields_print(more_fields, COUNT(more_fields), &ex, json);
}

static void of_port(struct ibv_context *verbs, unsigned int port, bool json)
{
	const struct verbs_context *more = verbs_get_ctx_op(verbs, query_port);
	struct ibv_port_attr attr;

	memset(&attr, 0, sizeof(attr));
	if (more != NULL && more->query_port(verbs, (uint8_t)port, &attr, sizeof(attr)) == 0)
		fields_print(port_fields, COUNT(port_fields), &attr, json);
}

void device_attr_print(const char *device, unsigned int port, bool json)
{
	struct ibv_context *verbs = library_load() ? device_open(device) : NULL;

	if (verbs == NULL)
		return;
	if (port != 0)
		of_port(verbs, port, json);
	else
		of_device(verbs, json);
	lib.close_device(verbs);
}

#endif
