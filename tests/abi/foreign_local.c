/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A uDAPL program that is not linked to libdat, or to libdat2, but loads it with local symbols, as
 * the modules of MPI libraries do. The foreign plugin finds the registry's functions only in the global scope,
 * so libdat has to put itself there before it loads the plugin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <foreign_dat.h>

static int report(int number, int holds, const char *name)
{
	printf("%sok %d - %s\n", holds ? "" : "not ", number, name);
	return !holds;
}

/* dat.conf for this run alone. */
static int write_conf(char *path)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return -1;
	fprintf(f, "foreign0 u%d.%d nonthreadsafe default %s foreign.1.0 \"x\" \"\"\n",
		DAT_VERSION_MAJOR, DAT_VERSION_MINOR, FOREIGN_PLUGIN);
	return fclose(f);
}

int main(void)
{
	static char name[] = "foreign0";
	char conf[] = "/tmp/opendat-foreign-XXXXXX";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	__typeof__(dat_ia_openv) *open_ia;
	__typeof__(dat_ia_close) *close_ia;
	DAT_RETURN status;
	void *libdat;
	int failed = 0;

	printf("1..3\n");
	libdat = dlopen(LIBDAT, RTLD_NOW | RTLD_LOCAL);
	if (!libdat || write_conf(conf) != 0) {
		printf("Bail out! %s\n", libdat ? "cannot write to /tmp" : dlerror());
		return 99;
	}
	setenv("DAT_OVERRIDE", conf, 1);
	*(void **)&open_ia = dlsym(libdat, "dat_ia_openv");
	*(void **)&close_ia = dlsym(libdat, "dat_ia_close");
	failed += report(1, dlsym(RTLD_DEFAULT, "dat_registry_add_provider") == NULL,
			 "libdat's symbols are local to begin with");
	status = open_ia(name, 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	unlink(conf);
	if (status != DAT_SUCCESS)
		printf("# dat_ia_openv returned 0x%08x\n", status);
	failed += report(2, status == DAT_SUCCESS,
			 "a plugin that is not linked to libdat loads all the same");
	status = status == DAT_SUCCESS ? close_ia(ia, DAT_CLOSE_ABRUPT_FLAG) : status;
	failed += report(3, status == DAT_SUCCESS, "and closes");
	return failed != 0;
}
