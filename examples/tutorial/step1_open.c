/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step 1 of opendat-tutorial(7): open an adapter, ask what it can do, and close it.
 *
 *	./step1_open soft0
 */
#include "tutorial.h"

int main(int argc, char **argv)
{
	const char *adapter = argc > 1 ? argv[1] : "soft0";
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;	/* NULL: the adapter makes the queue itself */
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	MUST(dat_ia_open((DAT_NAME_PTR)adapter, 8, &async_evd, &ia));
	MUST(dat_ia_query(ia, &async_evd, DAT_IA_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider));
	printf("adapter           %s\n", attr.adapter_name);
	printf("vendor            %s\n", attr.vendor_name);
	printf("provider          %s, uDAPL %u.%u\n", provider.provider_name,
	       provider.dapl_version_major, provider.dapl_version_minor);
	printf("endpoints         %d at most\n", attr.max_eps);
	printf("largest message   %llu bytes\n", (unsigned long long)attr.max_message_size);
	MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}
