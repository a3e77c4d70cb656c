/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of these tests report their results by these functions. If an expectation has failed since the last report, the
 * next one is "not ok". The expectations of a forked child name the child.
 */
#ifndef DAT20_REPORT20_H
#define DAT20_REPORT20_H

#include <stdio.h>

#include <dat2/udat.h>

static int tests, failed, differs, is_child;

static inline void report(const char *name)
{
	printf("%sok %d - %s\n", differs ? "not " : "", ++tests, name);
	failed += differs;
	differs = 0;
}

static inline void expect(int holds, const char *what)
{
	if (holds)
		return;
	printf("# %s%s\n", is_child ? "the child: " : "", what);
	differs = 1;
}

static inline void returns(DAT_RETURN got, DAT_RETURN wanted, const char *what)
{
	if (got == wanted)
		return;
	printf("# %s%s returned 0x%08x, not 0x%08x\n", is_child ? "the child: " : "", what, got, wanted);
	differs = 1;
}

#define ERROR(type, subtype) ((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype))
#define SUCCEEDS(call)	     returns(call, DAT_SUCCESS, #call)

#endif
