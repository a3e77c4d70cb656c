/* SPDX-License-Identifier: BSD-2-Clause */
/* The victim of the tests of attacks: the process over the provider that victim.h describes. */
#include "victim.h"

#include <string.h>

void victim_listens(DAT_EVD_HANDLE cr_evd, struct hostile_target *where)
{
	memset(where, 0, sizeof(*where));
	memcpy(&where->address, api_address(), sizeof(where->address));
	api_listen(cr_evd, DAT_PSP_CONSUMER_FLAG, &where->qual);
}

void victim_begins_pair(struct api_pair *pair, const struct api_buf *buf)
{
	memset(pair, 0, sizeof(*pair));
	api_pair_make(pair, NULL);
	api_pair_works(pair, buf);
}

void victim_serves(const struct api_buf *buf)
{
	struct api_pair pair;

	victim_begins_pair(&pair, buf);
	api_disconnect(&pair);
	REQUIRE_DAT(dat_psp_free(pair.psp), DAT_SUCCESS);
	api_end_free(&pair.a);
	api_end_free(&pair.b);
	REQUIRE_DAT(dat_evd_free(pair.cr_evd), DAT_SUCCESS);
}

void victim_turns_down(DAT_CR_HANDLE cr)
{
	unsigned int sum = 0;
	DAT_CR_PARAM param;

	REQUIRE_DAT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK(param.private_data_size <= api.prov.max_private_data_size);
	for (DAT_COUNT i = 0; i < param.private_data_size; i++)
		sum += ((const unsigned char *)param.private_data)[i];
	CHECK(sum <= 255u * (unsigned int)param.private_data_size);
	REQUIRE_DAT(dat_cr_reject(cr), DAT_SUCCESS);
}

int victim_lines(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}
