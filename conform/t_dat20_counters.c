/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of the extensions of DAT 2.0. A provider may have been built without them, as Debian's OFED is: the named attribute
 * DAT_COUNTERS promises them. Only counters of calls and connections are checked, because a provider may leave out those of posts
 * for speed.
 */
#define API_PLAIN
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

#include <dat2/dat_ib_extensions.h>

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

static void lay(void)
{
	NEEDS(judge_promises(DAT_IB_ATTR_COUNTERS), DAT_IB_ATTR_COUNTERS);
}

static uint64_t count_of(DAT_HANDLE object, int counter)
{
	DAT_UINT64 value = UNTOUCHED;

	MUST_RET(dat_ib_query_counters(object, counter, &value, 0), DAT_SUCCESS);
	return value;
}

static void make_pzs(int n)
{
	for (int i = 0; i < n; i++) {
		DAT_PZ_HANDLE pz;

		MUST_RET(dat_pz_create(t.ia, &pz), DAT_SUCCESS);
		MUST_RET(dat_pz_free(pz), DAT_SUCCESS);
	}
}

CLAUSE("D20-56")
{
	uint64_t made, freed, evds;

	lay();
	made = count_of(t.ia, DCNT_IA_PZ_CREATE);
	freed = count_of(t.ia, DCNT_IA_PZ_FREE);
	evds = count_of(t.ia, DCNT_IA_EVD_CREATE);
	make_pzs(3);
	(void)kit_evd(8, DAT_EVD_DTO_FLAG);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_CREATE), made + 3);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_FREE), freed + 3);
	CHECK_NUM(count_of(t.ia, DCNT_IA_EVD_CREATE), evds + 1);
}

CLAUSE("D20-57")
{
	struct kit_pair p;

	lay();
	kit_pair(&p, NULL);
	CHECK_NUM(count_of(p.a.ep, DCNT_EP_CONNECT), 1);
	CHECK_NUM(count_of(p.b.ep, DCNT_EP_CONNECT), 0);
	CHECK_NUM(count_of(p.a.ep, DCNT_EP_DISCONNECT), 0);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	MUST_NUM(kit_event(p.a.connect).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_NUM(count_of(p.a.ep, DCNT_EP_DISCONNECT), 1);
}

/* All of one object's: the array has as many as the last enumerator says, and the program's memory behind it is left alone. */
static void check_array(DAT_HANDLE object, int count, const int *known, int n)
{
	DAT_UINT64 all[DCNT_IA_ALL_COUNTERS + 1];
	int filled = 0;

	memset(all, 0xa5, sizeof(all));
	MUST_RET(dat_ib_query_counters(object, count, all, 0), DAT_SUCCESS);
	while (filled <= DCNT_IA_ALL_COUNTERS && all[filled] != UNTOUCHED)
		filled++;
	CHECK_NUM(filled, count);
	for (int i = 0; i < n; i++)
		CHECK_NUM(all[known[i]], count_of(object, known[i]));
}

CLAUSE("D20-58")
{
	static const int of_ia[] = { DCNT_IA_PZ_CREATE, DCNT_IA_EVD_CREATE, DCNT_IA_EP_CREATE, DCNT_IA_CM_ERR };
	static const int of_ep[] = { DCNT_EP_CONNECT, DCNT_EP_DISCONNECT };
	static const int of_evd[] = { DCNT_EVD_CONN_CALLBACK };
	struct kit_pair p;

	lay();
	kit_pair(&p, NULL);
	check_array(t.ia, DCNT_IA_ALL_COUNTERS, of_ia, 4);
	check_array(p.a.ep, DCNT_EP_ALL_COUNTERS, of_ep, 2);
	check_array(p.a.connect, DCNT_EVD_ALL_COUNTERS, of_evd, 1);
}

CLAUSE("D20-59")
{
	DAT_UINT64 value = 0, all[DCNT_IA_ALL_COUNTERS];
	uint64_t before;

	lay();
	make_pzs(2);
	before = count_of(t.ia, DCNT_IA_PZ_CREATE);
	CHECK_THAT(before >= 2);
	MUST_RET(dat_ib_query_counters(t.ia, DCNT_IA_PZ_CREATE, &value, 1), DAT_SUCCESS);
	CHECK_NUM(value, before);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_CREATE), 0);
	CHECK_THAT(count_of(t.ia, DCNT_IA_PZ_FREE) >= 2);
	make_pzs(1);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_CREATE), 1);
	MUST_RET(dat_ib_query_counters(t.ia, DCNT_IA_ALL_COUNTERS, all, 1), DAT_SUCCESS);
	CHECK_NUM(all[DCNT_IA_PZ_CREATE], 1);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_CREATE), 0);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_FREE), 0);
}

CLAUSE("D20-60")
{
	DAT_UINT64 value = UNTOUCHED;
	DAT_RETURN ret;

	lay();
	ret = dat_ib_query_counters(t.ia, DCNT_IA_ALL_COUNTERS + 1, &value, 0);
	CHECK_NUM(DAT_GET_TYPE(ret), DAT_GET_TYPE(DAT_INVALID_PARAMETER));
	ret = dat_ib_query_counters(t.pz, 0, &value, 0);
	CHECK_NUM(DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_INVALID_HANDLE) ||
		  DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_INVALID_PARAMETER), true);
	CHECK_THAT(value == UNTOUCHED);
}

/* How the text is laid out is the provider's own matter. */
CLAUSE("D20-61")
{
	char text[4096] = "", value[32];
	int said, own;

	lay();
	said = memfd_create("said", 0);
	own = dup(STDOUT_FILENO);
	make_pzs(17);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)count_of(t.ia, DCNT_IA_PZ_CREATE));
	fflush(stdout);
	MUST(said >= 0 && own >= 0 && dup2(said, STDOUT_FILENO) >= 0);
	CHECK_RET(dat_ib_print_counters(t.ia, DCNT_IA_PZ_CREATE, 1), DAT_SUCCESS);
	fflush(stdout);
	dup2(own, STDOUT_FILENO);
	close(own);
	CHECK_THAT(pread(said, text, sizeof(text) - 1, 0) > 0);
	close(said);
	CHECK_THAT(strstr(text, value) != NULL);
	CHECK_NUM(count_of(t.ia, DCNT_IA_PZ_CREATE), 0);
}

static void check_absent(DAT_RETURN ret)
{
	CHECK_NUM(DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED) ||
		  DAT_GET_TYPE(ret) == DAT_GET_TYPE(DAT_MODEL_NOT_SUPPORTED), true);
}

CLAUSE("D20-62")
{
	DAT_UINT64 value = UNTOUCHED;

	NEEDS(!judge_promises(DAT_IB_ATTR_COUNTERS), "no " DAT_IB_ATTR_COUNTERS);
	check_absent(dat_ib_query_counters(t.ia, DCNT_IA_PZ_CREATE, &value, 0));
	CHECK_THAT(value == UNTOUCHED);
	check_absent(dat_ib_print_counters(t.ia, DCNT_IA_PZ_CREATE, 0));
}
