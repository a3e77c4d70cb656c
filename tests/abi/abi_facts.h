/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words in which the generated ABI test speaks: each FACT_ compares one property of the headers
 * with the table and reports a difference as a TAP diagnostic. A test is a run of facts between
 * facts_begin and facts_end, and is ok when none of them differed.
 */
#ifndef ABI_FACTS_H
#define ABI_FACTS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What the stub in a vtable slot returns, so that a macro that drops the result is caught. */
#define FACT_STUB_RETURN	0x5afe0001U

static int facts_checked;
static int facts_differing;
static int facts_failed_tests;

static inline void facts_begin(void)
{
	facts_checked = 0;
	facts_differing = 0;
}

static inline void facts_end(int number, const char *name)
{
	int ok = facts_checked > 0 && facts_differing == 0;

	if (!ok)
		facts_failed_tests++;
	printf("%sok %d - %s\n", ok ? "" : "not ", number, name);
}

static inline void fact_number(const char *what, long long found, long long wanted)
{
	facts_checked++;
	if (found == wanted)
		return;
	facts_differing++;
	printf("# %s: found %lld (0x%llx), the table has %lld (0x%llx)\n", what, found,
	       (unsigned long long)found, wanted, (unsigned long long)wanted);
}

static inline void fact_true(const char *what, int holds)
{
	facts_checked++;
	if (holds)
		return;
	facts_differing++;
	printf("# %s: differs from the table\n", what);
}

/* Returns whether two texts are equal apart from blanks. */
static inline int fact_same_text(const char *a, const char *b)
{
	for (;;) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return 0;
		if (*a == '\0')
			return 1;
		a++;
		b++;
	}
}

#define FACT_STRING_(...)	#__VA_ARGS__
#define FACT_STRING(...)	FACT_STRING_(__VA_ARGS__)

#define FACT_VALUE(expr, wanted) \
	fact_number(#expr, (long long)(expr), (long long)(wanted))
#define FACT_WIDTH(expr, wanted) \
	fact_number("sizeof " #expr, (long long)sizeof(expr), wanted)
#define FACT_TYPE_SIZE(type, wanted) \
	fact_number("sizeof(" #type ")", (long long)sizeof(type), wanted)
#define FACT_ALIGN(type, wanted) \
	fact_number("_Alignof(" #type ")", (long long)_Alignof(type), wanted)
#define FACT_FIELD(type, field, at, size) \
	do { \
		fact_number("offset of " #type "." #field, (long long)offsetof(type, field), at); \
		fact_number("size of " #type "." #field, (long long)sizeof(((type *)0)->field), \
			    size); \
	} while (0)
#define FACT_TYPE(found, ...) \
	fact_true(#found " is " #__VA_ARGS__, __builtin_types_compatible_p(found, __VA_ARGS__))
#define FACT_TEXT(found, ...) \
	fact_true(#found " expands to " #__VA_ARGS__, \
		  fact_same_text(FACT_STRING(found), FACT_STRING(__VA_ARGS__)))
#define FACT_SAME(what, found, wanted) \
	fact_true(what, memcmp(&(found), &(wanted), sizeof(wanted)) == 0)

#endif /* ABI_FACTS_H */
