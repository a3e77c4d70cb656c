/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl ping IA: the command line of the test that ping_run.c makes.
 *
 * Invariant: without --api the API is 1.2, or 2.0 for an adapter that has lines for 2.0 only.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "dat20.h"
#include "datctl.h"
#include "ping.h"

#define QUAL	4520 /* where --server listens by default */
#define SECONDS 10

const char datctl_ping_help[] =
	"Usage: datctl ping [OPTION...] IA [ADDRESS]\n"
	"       datctl ping --server [OPTION...] IA\n"
	"Test the adapter IA with two processes: connect with private data, send and receive,\n"
	"RDMA write and read, the same through a memory window (RMR), disconnect. Each byte is\n"
	"verified. The peer is a second process on this host; with ADDRESS it is a 'datctl ping\n"
	"--server' at that address.\n"
	"\n"
	"  --api VERSION       open it as programs of uDAPL 1.2 or 2.0 do (default 1.2, and 2.0 for\n"
	"                      an adapter that has lines for 2.0 only)\n"
	"  --server            serve clients, one after the other, until the process is ended\n"
	"  --qual QUAL         the connection qualifier of the server (default 4520)\n"
	"  --timeout SECONDS   for each wait (default 10)\n"
	"  --json              print JSON\n";

static int ping_by_20(const struct ping_order *order)
{
	char *why = NULL;

	if (!dat20_load(&why)) {
		cli_error("programs of uDAPL 2.0 need libdat2.so.2: %s; " DAT20_PACKAGE, why);
		free(why);
		return CLI_FAILED;
	}
	cli_names_of((cli_strerror_fn *)(uintptr_t)dat20_symbol("dat_strerror"));
	return ping_run20(order);
}

int datctl_ping(int argc, char **argv)
{
	struct ping_order p = { .qual = QUAL, .patience = SECONDS * 1000000u };
	const char *api = NULL;
	unsigned int major;
	uint64_t number;
	bool options = true;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (options && strcmp(argv[i], "--") == 0) {
			options = false;
		} else if (options && strcmp(argv[i], "--server") == 0) {
			p.server = true;
		} else if (options && strcmp(argv[i], "--json") == 0) {
			p.json = true;
		} else if (options && strcmp(argv[i], "--api") == 0) {
			api = value;
			i++;
		} else if (options && strcmp(argv[i], "--qual") == 0) {
			if (!cli_number(value, 1, UINT64_MAX, &number))
				return cli_usage("ping: --qual: '%s' is not a qualifier", value);
			p.qual = number;
			i++;
		} else if (options && strcmp(argv[i], "--timeout") == 0) {
			if (!cli_number(value, 1, 3600, &number))
				return cli_usage("ping: --timeout: '%s' is not a number of seconds",
						 value);
			p.patience = (uint32_t)(number * 1000000u);
			i++;
		} else if (options && argv[i][0] == '-') {
			return datctl_unknown_option("ping", argv[i]);
		} else if (p.adapter == NULL) {
			p.adapter = argv[i];
		} else if (p.address == NULL && !p.server) {
			p.address = argv[i];
		} else {
			return cli_usage("ping: '%s' is one argument too many", argv[i]);
		}
	}
	if (p.adapter == NULL)
		return cli_usage("ping: the name of an adapter is missing");
	if (api == NULL)
		api = dat20_only(p.adapter) ? "2.0" : "1.2";
	if (!datctl_api(api, &major))
		return cli_usage("ping: --api: " DATCTL_NO_API, api);
	return major == 2 ? ping_by_20(&p) : ping_run(&p);
}
