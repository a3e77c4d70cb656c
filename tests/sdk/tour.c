/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and closes one adapter after the other, all in one process, and prints the result of each:
 * NAME RETURN on stdout. A name with ! behind it is asked for thread-safe; with + behind it, memory is
 * registered, too.
 */
#include <stdio.h>
#include <string.h>

#include <dat/udat.h>

/* Registers memory that peers may access, and frees the region at once. */
static DAT_RETURN register_memory(DAT_IA_HANDLE ia)
{
	static char memory[4096];
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret = dat_pz_create(ia, &pz);

	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
			     DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, &remote, &size, &address);
	if (ret == DAT_SUCCESS)
		dat_lmr_free(lmr);
	dat_pz_free(pz);
	return ret;
}

static DAT_RETURN visit(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	char plain[DAT_NAME_MAX_LENGTH];
	size_t len = strlen(name);
	char last = len ? name[len - 1] : ' ';
	DAT_BOOLEAN safe = last == '!' ? DAT_TRUE : DAT_FALSE;

	snprintf(plain, sizeof(plain), "%.*s", (int)(len - (safe || last == '+' ? 1 : 0)), name);
	ret = dat_ia_openv(plain, 8, &async, &ia, 1, 2, safe);
	if (ret != DAT_SUCCESS)
		return ret;
	if (last == '+')
		ret = register_memory(ia);
	if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
		return DAT_INVALID_STATE;
	return ret;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DAT_RETURN ret = visit(argv[i]);
		const char *type = "?", *subtype = "";

		dat_strerror(ret, &type, &subtype);
		printf("%s %s\n", argv[i], type);
		fflush(stdout);
	}
	return 0;
}
