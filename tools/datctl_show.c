/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl show IA: everything that dat_ia_query() returns, by the standard's names.
 *
 * Invariant (for the text; JSON has the same pairs): one `name = value` per line; a line that
 * starts with '#' is a heading. Every field of DAT_IA_ATTR and DAT_PROVIDER_ATTR is printed, in the
 * order of the structure.
 */
#include "config.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli.h"
#include "dat20.h"
#include "datctl.h"
#include "json.h"
#include "names.h"

const char datctl_show_help[] =
	"Usage: datctl show [--json] IA\n"
	"Open the adapter IA (a name that 'datctl list' prints) and print every attribute of the\n"
	"adapter and of its provider, one 'name = value' per line, in the standard's names.\n"
	"Named attributes of the transport, the vendor and the provider follow their structure.\n"
	"The attributes are those of uDAPL 1.2: an adapter for 2.0 only is not opened.\n"
	"\n"
	"  --json   print JSON: the same names and values, with all values as strings\n";

static bool as_json;

#define NAME_WIDTH 40	/* the longest is evd_stream_merging_supported[CONNECTION] */

__attribute__((format(printf, 2, 3)))
static void show(const char *name, const char *fmt, ...)
{
	va_list args;
	char *shown = cli_escape(name), *value;

	va_start(args, fmt);
	value = cli_vtext(fmt, args);
	va_end(args);
	if (as_json)
		json_string(name, value);
	else
		printf("%-*s = %s\n", NAME_WIDTH, shown, value);
	free(shown);
	free(value);
}

static void heading(const char *structure)
{
	if (as_json)
		json_object(structure);
	else
		printf("# %s\n", structure);
}

/* Prints the end of a structure, between it and the next one. */
static void structure_end(const char *between)
{
	if (as_json)
		json_end();
	else
		fputs(between, stdout);
}

static void show_text(const char *name, const char *text, size_t size)
{
	show(name, "%.*s", (int)strnlen(text, size), text);
}

static void show_u32(const char *name, DAT_UINT32 value)
{
	show(name, "%" PRIu32, (uint32_t)value);
}

static void show_u64(const char *name, DAT_UINT64 value)
{
	show(name, "%" PRIu64, (uint64_t)value);
}

static void show_count(const char *name, DAT_COUNT value)
{
	if (value == DAT_VALUE_UNKNOWN)
		show(name, "DAT_VALUE_UNKNOWN");
	else
		show(name, "%d", (int)value);
}

static void show_enum(const char *name, const struct name *table, uint64_t value)
{
	char spare[24];

	show(name, "%s", name_of(table, value, spare, sizeof(spare)));
}

static void show_flags(const char *name, const struct name *table, uint64_t flags)
{
	char text[256];

	names_of_flags(table, flags, text, sizeof(text));
	show(name, "%s", text);
}

/*
 * The set of memory types is a union of 0, 1 and 2, so VIRTUAL has no bit: it is always supported.
 */
static void show_mem_types(const char *name, uint64_t types)
{
	char text[256];

	if (types == DAT_MEM_TYPE_VIRTUAL) {
		show_flags(name, names_mem_types, types);
		return;
	}
	names_of_flags(names_mem_types, types, text, sizeof(text));
	show(name, "DAT_MEM_TYPE_VIRTUAL | %s", text);
}

static void show_address(const char *name, DAT_IA_ADDRESS_PTR address)
{
	const struct sockaddr *sa = (const struct sockaddr *)address;
	char host[NI_MAXHOST];
	socklen_t size;

	if (sa == NULL) {
		show(name, "none");
		return;
	}
	size = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (getnameinfo(sa, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST) == 0)
		show(name, "%s", host);
	else
		show(name, "of the address family %d", sa->sa_family);
}

static void show_named(const char *prefix, const DAT_NAMED_ATTR *list, DAT_COUNT count)
{
	char name[256];

	for (DAT_COUNT i = 0; list != NULL && i < count; i++) {
		snprintf(name, sizeof(name), "%s.%s", prefix,
			 list[i].name != NULL ? list[i].name : "?");
		show(name, "%s", list[i].value != NULL ? list[i].value : "");
	}
}

/* Row R lists the event streams that may share an EVD with stream R. */
static void show_merging(const DAT_BOOLEAN table[6][6])
{
	static const char *const streams[6] = {
		"SOFTWARE", "CR", "DTO", "CONNECTION", "RMR_BIND", "ASYNC"
	};
	char name[64], text[96];

	for (int row = 0; row < 6; row++) {
		size_t used = 0;

		snprintf(text, sizeof(text), "none");
		for (int col = 0; col < 6; col++)
			if (table[row][col])
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
							 used ? " " : "", streams[col]);
		snprintf(name, sizeof(name), "evd_stream_merging_supported[%s]", streams[row]);
		show(name, "%s", text);
	}
}

#define TEXT(attr, field) show_text(#field, (attr)->field, sizeof((attr)->field))
#define U32(attr, field) show_u32(#field, (attr)->field)
#define U64(attr, field) show_u64(#field, (attr)->field)
#define COUNT(attr, field) show_count(#field, (attr)->field)
#define BOOLEAN(attr, field) show_enum(#field, names_boolean, (attr)->field)

static void show_ia(const DAT_IA_ATTR *ia)
{
	heading("DAT_IA_ATTR");
	TEXT(ia, adapter_name);
	TEXT(ia, vendor_name);
	U32(ia, hardware_version_major);
	U32(ia, hardware_version_minor);
	U32(ia, firmware_version_major);
	U32(ia, firmware_version_minor);
	show_address("ia_address_ptr", ia->ia_address_ptr);
	COUNT(ia, max_eps);
	COUNT(ia, max_dto_per_ep);
	COUNT(ia, max_rdma_read_per_ep_in);
	COUNT(ia, max_rdma_read_per_ep_out);
	COUNT(ia, max_evds);
	COUNT(ia, max_evd_qlen);
	COUNT(ia, max_iov_segments_per_dto);
	COUNT(ia, max_lmrs);
	U64(ia, max_lmr_block_size);
	U64(ia, max_lmr_virtual_address);
	COUNT(ia, max_pzs);
	U64(ia, max_message_size);
	U64(ia, max_rdma_size);
	COUNT(ia, max_rmrs);
	U64(ia, max_rmr_target_address);
	COUNT(ia, max_srqs);
	COUNT(ia, max_ep_per_srq);
	COUNT(ia, max_recv_per_srq);
	COUNT(ia, max_iov_segments_per_rdma_read);
	COUNT(ia, max_iov_segments_per_rdma_write);
	COUNT(ia, max_rdma_read_in);
	COUNT(ia, max_rdma_read_out);
	BOOLEAN(ia, max_rdma_read_per_ep_in_guaranteed);
	BOOLEAN(ia, max_rdma_read_per_ep_out_guaranteed);
	COUNT(ia, num_transport_attr);
	show_named("transport_attr", ia->transport_attr, ia->num_transport_attr);
	COUNT(ia, num_vendor_attr);
	show_named("vendor_attr", ia->vendor_attr, ia->num_vendor_attr);
}

static void show_provider(const DAT_PROVIDER_ATTR *pr)
{
	heading("DAT_PROVIDER_ATTR");
	TEXT(pr, provider_name);
	U32(pr, provider_version_major);
	U32(pr, provider_version_minor);
	U32(pr, dapl_version_major);
	U32(pr, dapl_version_minor);
	show_mem_types("lmr_mem_types_supported", pr->lmr_mem_types_supported);
	show_enum("iov_ownership_on_return", names_iov_ownership, pr->iov_ownership_on_return);
	show_flags("dat_qos_supported", names_qos, pr->dat_qos_supported);
	show_flags("completion_flags_supported", names_completion_flags,
		   pr->completion_flags_supported);
	BOOLEAN(pr, is_thread_safe);
	COUNT(pr, max_private_data_size);
	BOOLEAN(pr, supports_multipath);
	show_enum("ep_creator", names_ep_creator, pr->ep_creator);
	show_enum("pz_support", names_pz_support, pr->pz_support);
	U32(pr, optimal_buffer_alignment);
	show_merging(pr->evd_stream_merging_supported);
	BOOLEAN(pr, srq_supported);
	COUNT(pr, srq_watermarks_supported);
	BOOLEAN(pr, srq_ep_pz_difference_supported);
	COUNT(pr, srq_info_supported);
	COUNT(pr, ep_recv_info_supported);
	BOOLEAN(pr, lmr_sync_req);
	BOOLEAN(pr, dto_async_return_guaranteed);
	BOOLEAN(pr, rdma_write_for_rdma_read_req);
	COUNT(pr, num_provider_specific_attr);
	show_named("provider_specific_attr", pr->provider_specific_attr,
		   pr->num_provider_specific_attr);
}

static int show_open(DAT_IA_HANDLE ia, const char *name)
{
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_EVD_HANDLE async_evd;
	DAT_RETURN ret;

	memset(&ia_attr, 0, sizeof(ia_attr));
	memset(&provider_attr, 0, sizeof(provider_attr));
	ret = dat_ia_query(ia, &async_evd, DAT_IA_FIELD_ALL, &ia_attr, DAT_PROVIDER_FIELD_ALL,
			   &provider_attr);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ia_query(\"%s\")", name);
		return CLI_FAILED;
	}
	if (as_json)
		json_object(NULL);
	show_ia(&ia_attr);
	structure_end("\n");
	show_provider(&provider_attr);
	structure_end("");
	if (as_json)
		json_end();
	return CLI_OK;
}

int datctl_show(int argc, char **argv)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	int status;

	if (argc > 1 && strcmp(argv[1], "--json") == 0) {
		as_json = true;
		argc--;
		argv++;
	}
	if (argc > 1 && strcmp(argv[1], "--") == 0) {
		argc--;
		argv++;
	} else if (argc > 1 && argv[1][0] == '-') {
		return datctl_unknown_option("show", argv[1]);
	}
	if (argc < 2)
		return cli_usage("show: the name of an adapter is missing");
	if (argc > 2)
		return cli_usage("show: one adapter at a time; '%s' is one too many", argv[2]);

	if (dat20_refused("show", argv[1]))
		return CLI_FAILED;
	ret = dat_ia_open(argv[1], 8, &async_evd, &ia);
	if (ret != DAT_SUCCESS) {
		cli_open_error(ret, argv[1]);
		return CLI_FAILED;
	}
	status = show_open(ia, argv[1]);
	ret = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "dat_ia_close(\"%s\")", argv[1]);
		status = CLI_FAILED;
	}
	return status;
}
