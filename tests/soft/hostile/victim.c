/* SPDX-License-Identifier: BSD-2-Clause */
/* The victim: see victim.h. */
#include "victim.h"
#include <string.h>

struct victim victim;

void victim_opens_as(const char *adapter, size_t size)
{
	api_open_as((char *)(uintptr_t)adapter);
	api_end_make(&victim.end, NULL);
	victim.buf = api_buf(size, DAT_MEM_PRIV_ALL_FLAG);
	victim.cr_evd = api_evd(64, DAT_EVD_CR_FLAG);
	api_listen(victim.cr_evd, DAT_PSP_CONSUMER_FLAG, &victim.qual);
}

void victim_opens(void)
{
	victim_opens_as(api_ia_name(), 65536);
}

void victim_tells(pid_t attacker)
{
	check_put(attacker, &victim.qual, sizeof(victim.qual));
}

void victim_accepts(void)
{
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), victim.end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(victim.end.connect, victim.end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

void victim_serves_others(void)
{
	static struct api_pair pair;

	memset(&pair, 0, sizeof(pair));
	api_pair_make(&pair, NULL);
	api_pair_works(&pair, &victim.buf);
}

uint64_t victim_is_at(void)
{
	DAT_CONN_QUAL qual;

	check_get(CHECK_PARENT, &qual, sizeof(qual));
	return qual;
}
