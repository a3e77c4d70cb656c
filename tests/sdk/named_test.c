/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint that an event names, over a wrapper: it may have been freed, so the wrapper does not look there.
 * Usage: named_test LINE, a line of a wrapper over tests/abi/foreign_plugin, whose dat_evd_dequeue() leaves the program's event as
 * it is.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <dat/udat.h>

static int tests, bad;

static void must(DAT_RETURN ret, const char *what)
{
	if (ret == DAT_SUCCESS)
		return;
	printf("# %s returned 0x%08x\nBail out!\n", what, ret);
	exit(1);
}

#define MUST(call) must(call, #call)

static void is(bool right, const char *what)
{
	printf("%sok %d - named: %s\n", right ? "" : "not ", ++tests, what);
	bad += !right;
}

static void freed_endpoint(const char *name)
{
	void *freed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_EVENT event = { .event_number = DAT_CONNECTION_EVENT_DISCONNECTED };
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	MUST(dat_ia_open((DAT_NAME_PTR)(unsigned long)name, 8, &async, &ia));
	event.event_data.connect_event_data.ep_handle = freed;
	MUST(dat_evd_dequeue(async, &event));
	is(event.event_data.connect_event_data.ep_handle == freed, "an event of an endpoint whose memory is gone");
	MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	freed_endpoint(argv[1]);
	printf("1..%d\n", tests);
	return bad != 0;
}
