/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that runs out: each allocation of an open fails once, the first in one round, the second in
 * the next, until a round succeeds. registry_nomem.sh runs it, because the allocator below cannot be
 * used together with valgrind's or a sanitizer's. Allocations within libltdl do not fail, because it
 * would not survive that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry_env.h"
#include "tests/harness/allocator.h"

struct mock mock;

static int countdown = -1;		/* allocations until one fails; negative: none fails */
static int failures;

#if OWN_ALLOCATOR
static bool fails(void)
{
	if (countdown < 0 || countdown--)
		return false;
	failures++;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

static void *next(const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	if (!address)
		abort();
	return address;
}

extern int lt_dlinit(void);
extern void *lt_dlopenadvise(const char *name, void *advise);

int lt_dlinit(void)
{
	int kept = countdown;
	int rc;

	countdown = -1;
	rc = ((int (*)(void))(uintptr_t)next(__func__))();
	countdown = kept;
	return rc;
}

void *lt_dlopenadvise(const char *name, void *advise)
{
	int kept = countdown;
	void *handle;

	countdown = -1;
	handle = ((void *(*)(const char *, void *))(uintptr_t)next(__func__))(name, advise);
	countdown = kept;
	return handle;
}
#endif

static bool may_be(DAT_RETURN rc)
{
	/* If the dynamic linker lacks memory, the error is the same as for its other reasons. */
	return DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES ||
	       DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND;
}

/*
 * Runs a round in a process of its own, because the registry is read once. Returns whether the open
 * succeeded.
 */
static bool round_runs(int n)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	countdown = n;
	rc = dat_ia_openv((DAT_NAME_PTR)"a", 8, &evd, &ia, 1, 2, DAT_FALSE);
	countdown = -1;
	if (rc == DAT_SUCCESS) {
		if (dat_ia_close(ia, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
			_exit(3);
		return !failures;
	}
	if (!may_be(rc) || !failures || ia || evd) {
		printf("# round %d gave %#x after %d failures\n", n, rc, failures);
		_exit(3);
	}
	/* When there is memory again, the open works. */
	if (dat_ia_openv((DAT_NAME_PTR)"a", 8, &evd, &ia, 1, 2, DAT_FALSE) != DAT_SUCCESS) {
		printf("# round %d spoilt the next open\n", n);
		_exit(3);
	}
	if (dat_ia_close(ia, DAT_CLOSE_DEFAULT) != DAT_SUCCESS || mock.inits != mock.finis)
		_exit(3);
	return false;
}

int main(void)
{
	const char *what = "an open that runs out of memory fails cleanly, at every allocation";
	int status, n;
	pid_t pid;

	if (!OWN_ALLOCATOR) {
		printf("1..1\nok 1 - libdat: %s # SKIP the sanitizer has an allocator of its own\n",
		       what);
		return 0;
	}
	for (n = 0; n < 5000; n++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			bool through = round_runs(n);

			fflush(stdout);
			_exit(through ? 1 : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) > 1) {
			printf("# round %d ended with status %#x\n", n, status);
			break;
		}
		if (WEXITSTATUS(status) == 1) {
			printf("# %d allocations\n1..1\nok 1 - libdat: %s\n", n, what);
			return 0;
		}
	}
	printf("1..1\nnot ok 1 - libdat: %s\n", what);
	return 1;
}
