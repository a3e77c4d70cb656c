/* SPDX-License-Identifier: BSD-2-Clause */
/* The victim: see victim.h. */
#include "victim.h"
#include <dirent.h>
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

void victim_later_peer(void *arg)
{
	struct api_offer offer;
	struct api_end own;

	(void)arg;
	check_get(CHECK_PARENT, &offer, sizeof(offer));
	api_open();
	api_end_make(&own, NULL);
	api_connect_to(&own, &offer.address, offer.qual);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	api_close();
}

void victim_serves_later(pid_t peer)
{
	struct api_offer offer;
	struct api_end other;

	api_end_make(&other, NULL);
	api_offer_make(&offer, victim.cr_evd, NULL);
	check_put(peer, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), other.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check_await(peer);
	check_signal(peer);
	check_join(peer);
}

unsigned int victim_said_lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

unsigned int victim_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int n = 0;

	REQUIRE(tasks != NULL);
	for (struct dirent *entry; (entry = readdir(tasks));)
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}
