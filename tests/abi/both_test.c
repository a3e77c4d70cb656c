/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libdat.so.1 and libdat2.so.2 in one process, loaded one after the other in both orders, as
 * programs do that try one API and then the other: one registry behind both, each with the foreign
 * plugin of its own API. The plugins find the registry's functions in the global scope, and it does
 * not matter in which of the two libraries.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <foreign_dat.h>

#define OTHERS	"a handle of the other API is refused"

/* A library and its functions, whose types are the same in both APIs. */
struct side {
	const char *library;
	const char *adapter;
	DAT_UINT32 major, minor;
	__typeof__(dat_ia_openv) *open_ia;
	__typeof__(dat_ia_close) *close_ia;
	__typeof__(dat_pz_create) *pz_create;
	__typeof__(dat_pz_free) *pz_free;
	__typeof__(dat_registry_list_providers) *list;
	DAT_IA_HANDLE ia;
};

static struct side dat12 = { .library = LIBDAT12, .adapter = "foreign0", .major = 1, .minor = 2 };
static struct side dat20 = { .library = LIBDAT, .adapter = "foreign0", .major = 2, .minor = 0 };
static int failed;

static void report(int number, int holds, const char *order, const char *name)
{
	printf("%sok %d - %s: %s\n", holds ? "" : "not ", number, order, name);
	failed += !holds;
}

static int write_conf(char *path)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		return -1;
	fprintf(f, "foreign0 u1.2 nonthreadsafe default %s foreign.1.0 \"x\" \"\"\n", FOREIGN12_PLUGIN);
	fprintf(f, "foreign0 u2.0 nonthreadsafe default %s foreign.1.0 \"x\" \"\"\n", FOREIGN_PLUGIN);
	fprintf(f, "only12 u1.2 nonthreadsafe default %s foreign.1.0 \"x\" \"\"\n", FOREIGN12_PLUGIN);
	fprintf(f, "soft u1.2 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n", SOFT_PLUGIN);
	fprintf(f, "soft u2.0 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n", SOFT_PLUGIN);
	fprintf(f, "shared u1.2 nonthreadsafe default %s opendat.1.0 \"\" \"\"\n", SOFT_PLUGIN);
	return fclose(f);
}

static int load(struct side *side)
{
	void *library = dlopen(side->library, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		printf("# %s\n", dlerror());
		return 0;
	}
	*(void **)&side->open_ia = dlsym(library, "dat_ia_openv");
	*(void **)&side->close_ia = dlsym(library, "dat_ia_close");
	*(void **)&side->pz_create = dlsym(library, "dat_pz_create");
	*(void **)&side->pz_free = dlsym(library, "dat_pz_free");
	*(void **)&side->list = dlsym(library, "dat_registry_list_providers");
	return 1;
}

static DAT_RETURN open_ia(struct side *side, const char *adapter)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return side->open_ia((DAT_NAME_PTR)adapter, 8, &evd, &side->ia, side->major, side->minor,
			     DAT_FALSE);
}

/* Each library lists the adapters of its own API. */
static int lists(struct side *side, int wanted)
{
	DAT_PROVIDER_INFO info[4];
	DAT_PROVIDER_INFO *list[4] = { &info[0], &info[1], &info[2], &info[3] };
	DAT_COUNT n = -1, i;

	if (side->list(4, &n, list) != DAT_SUCCESS || n != wanted)
		return 0;
	for (i = 0; i < n; i++)
		if (info[i].dapl_version_major != side->major)
			return 0;
	return 1;
}

static int is_refused(DAT_RETURN status, const char *what)
{
	if (DAT_GET_TYPE(status) == DAT_INVALID_HANDLE)
		return 1;
	printf("# %s is not refused: 0x%08x\n", what, status);
	return 0;
}

/* The library of the other API refuses the handles of this one. */
static int stays_apart(struct side *side, struct side *other)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL, none = DAT_HANDLE_NULL;

	if (side->pz_create(side->ia, &pz) != DAT_SUCCESS)
		return 0;
	return is_refused(other->pz_create(side->ia, &none), "the IA") && is_refused(other->pz_free(pz), "the PZ") &&
	       is_refused(other->close_ia(side->ia, DAT_CLOSE_ABRUPT_FLAG), "the close of the IA") &&
	       side->pz_free(pz) == DAT_SUCCESS;
}

/* Opens an adapter by both APIs at once, and closes it. */
static int both_open(const char *adapter)
{
	return open_ia(&dat12, adapter) == DAT_SUCCESS && open_ia(&dat20, adapter) == DAT_SUCCESS &&
	       stays_apart(&dat12, &dat20) && stays_apart(&dat20, &dat12) &&
	       dat12.close_ia(dat12.ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
	       dat20.close_ia(dat20.ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
}

/* The whole, in a process of its own. */
static int run(struct side *first, struct side *second, int number, const char *order)
{
	int loaded = load(first) && load(second);

	report(number++, loaded, order, "both libraries load");
	if (!loaded)
		return 1;
	report(number++, lists(&dat12, 4) && lists(&dat20, 3), order, "each lists the adapters of its API");
	report(number++, open_ia(first, first->adapter) == DAT_SUCCESS, order, "the first opens its adapter");
	report(number++, open_ia(second, second->adapter) == DAT_SUCCESS, order,
	       "the second opens the adapter of the same name");
	report(number++, first->ia != second->ia, order, "the two IAs have handles of their own");
	report(number++, stays_apart(first, second) && stays_apart(second, first), order, OTHERS);
	report(number++, first->close_ia(first->ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS &&
	       second->close_ia(second->ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, order, "each closes its own");
	report(number++, DAT_GET_TYPE(open_ia(&dat20, "only12")) == DAT_PROVIDER_NOT_FOUND, order,
	       "a line of 1.2 with a foreign library does not serve 2.0");
	report(number++, both_open("soft"), order, "an SDK plugin serves both at once");
	report(number++, both_open("shared"), order, "so does one with a line for 1.2 alone");
	return failed != 0;
}

#define EACH	10

static int in_child(struct side *first, struct side *second, int number, const char *order)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		int result = run(first, second, number, order);

		exit(result);	/* the libraries' destructors run */
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
		printf("# %s: the process ended with status 0x%x\n", order, (unsigned int)status);
		return 1;
	}
	return WEXITSTATUS(status);
}

int main(void)
{
	char conf[] = "/tmp/opendat-both-XXXXXX";
	int bad;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (write_conf(conf) != 0) {
		printf("Bail out! cannot write %s\n", conf);
		return 99;
	}
	setenv("DAT_OVERRIDE", conf, 1);
	printf("1..%d\n", 2 * EACH);
	bad = in_child(&dat12, &dat20, 1, "1.2 first");
	bad |= in_child(&dat20, &dat12, 1 + EACH, "2.0 first");
	unlink(conf);
	return bad;
}
