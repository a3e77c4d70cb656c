/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is not linked with libdat: it loads the library that its arguments name, with local
 * symbols, as MPI modules do, and opens and closes the adapters that its arguments name.
 *
 *	registry_probe LIBDAT NAME...
 *
 * Prints "secure 0|1", "listed N", and "NAME RETURN" for each name. Without names it opens each
 * adapter that the registry lists, as programs do that look for an adapter they can use.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

typedef DAT_RETURN list_fn(DAT_COUNT max, DAT_COUNT *n, DAT_PROVIDER_INFO **list);
typedef DAT_RETURN close_fn(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

static void *symbol(void *lib, const char *name)
{
	void *address = dlsym(lib, name);

	if (!address) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return address;
}

static DAT_IA_OPENV_FUNC open_ia;
static close_fn *close_ia;

/* Opens and closes an adapter. Returns 0 if it was opened and cannot be closed. */
static int try(char *name)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc = open_ia(name, 8, &evd, &ia, 1, 2, DAT_FALSE);

	printf("%s %#x\n", name, rc);
	return rc != DAT_SUCCESS || close_ia(ia, DAT_CLOSE_DEFAULT) == DAT_SUCCESS;
}

int main(int argc, char **argv)
{
	DAT_PROVIDER_INFO infos[16], *list_of[16];
	DAT_COUNT n = 0;
	list_fn *list;
	void *lib;
	int i;

	if (argc < 2)
		return 2;
	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	open_ia = (DAT_IA_OPENV_FUNC)(uintptr_t)symbol(lib, "dat_ia_openv");
	close_ia = (close_fn *)(uintptr_t)symbol(lib, "dat_ia_close");
	list = (list_fn *)(uintptr_t)symbol(lib, "dat_registry_list_providers");
	printf("secure %d\n", (int)getauxval(AT_SECURE));
	for (i = 0; i < 16; i++)
		list_of[i] = &infos[i];
	list(argc > 2 ? 0 : 16, &n, argc > 2 ? NULL : list_of);
	printf("listed %d\n", n);
	for (i = 0; argc == 2 && i < n && i < 16; i++)
		if (!try(infos[i].ia_name))
			return 1;
	for (i = 2; i < argc; i++)
		if (!try(argv[i]))
			return 1;
	return dlclose(lib) ? 1 : 0;
}
