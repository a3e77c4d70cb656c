/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and closes one adapter after the other, all in one process, and says what came of each:
 * NAME RETURN on stdout. A name with ! behind it is asked for thread-safe.
 */
#include <stdio.h>
#include <string.h>

#include <dat/udat.h>

static DAT_RETURN visit(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;
	char plain[DAT_NAME_MAX_LENGTH];
	size_t len = strlen(name);
	DAT_BOOLEAN safe = len && name[len - 1] == '!' ? DAT_TRUE : DAT_FALSE;

	snprintf(plain, sizeof(plain), "%.*s", (int)(len - (safe ? 1 : 0)), name);
	ret = dat_ia_openv(plain, 8, &async, &ia, 1, 2, safe);
	if (ret == DAT_SUCCESS)
		ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
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
