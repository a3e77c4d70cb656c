/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_strerror: every name of the binary contract's table, and values that are no codes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>

#include "check.h"

static const char *const not_me = "not me";

static void names(DAT_RETURN value, const char *want_type, const char *want_subtype)
{
	const char *type = not_me, *subtype = not_me;

	CHECK_EQ_INT(dat_strerror(value, &type, &subtype), DAT_SUCCESS);
	CHECK_EQ_STR(type, want_type);
	CHECK_EQ_STR(subtype, want_subtype);
}

/* Calls each() for every enumerator of one enum in the table. Returns how many there were. */
static int for_each_enumerator(const char *of, void (*each)(const char *name, DAT_RETURN value))
{
	const char *top = getenv("top_srcdir");
	char path[1024], line[4096], name[256], parent[256];
	unsigned long value;
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/abi/abi12.tsv", top ? top : ".");
	f = fopen(path, "r");
	REQUIRE(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "enumerator\tenum %255[^\t]\t%255[^\t]\t%lu", parent, name,
			   &value) != 3 &&
		    sscanf(line, "enumerator\tenum %255[^\t]\t%255[^\t]\t\t%lu", parent, name,
			   &value) != 3)
			continue;
		if (strcmp(parent, of))
			continue;
		each(name, (DAT_RETURN)value);
		n++;
	}
	fclose(f);
	return n;
}

static void check_type(const char *name, DAT_RETURN value)
{
	names(value, name, "");
	names(DAT_CLASS_ERROR | value, name, "");
	names(DAT_CLASS_WARNING | value, name, "");
	names(DAT_CLASS_ERROR | value | DAT_INVALID_ARG1, name, "DAT_INVALID_ARG1");
}

static void every_type_of_the_table_has_its_name(void)
{
	CHECK_EQ_INT(for_each_enumerator("dat_return_type", check_type), 22);
}

static void check_subtype(const char *name, DAT_RETURN value)
{
	names(DAT_CLASS_ERROR | DAT_INVALID_STATE | value, "DAT_INVALID_STATE", value ? name : "");
}

static void every_subtype_of_the_table_has_its_name(void)
{
	CHECK_EQ_INT(for_each_enumerator("dat_return_subtype", check_subtype), 102);
}

static void not_implemented_is_known_in_every_encoding(void)
{
	names(0xFFFF0000, "DAT_NOT_IMPLEMENTED", "");
	names(0xBFFF0000, "DAT_NOT_IMPLEMENTED", "");
	names(0x3FFF0000, "DAT_NOT_IMPLEMENTED", "");
	names(0x8FFF0000, "DAT_NOT_IMPLEMENTED", "");
	names(0x0FFF0000, "DAT_NOT_IMPLEMENTED", "");
}

static void a_type_without_name_is_an_invalid_parameter_without_class(void)
{
	static const DAT_RETURN bad[] = { 0x80150000, 0x00150000, 0x9FFF0000, 0x10000000,
					  0x80FF0001 };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *type = not_me, *subtype = not_me;

		CHECK_EQ_INT(dat_strerror(bad[i], &type, &subtype), DAT_INVALID_PARAMETER);
		CHECK_EQ_STR(type, "unknown error");
		CHECK_EQ_STR(subtype, "");
	}
}

static void a_subtype_without_name_spoils_nothing(void)
{
	names(DAT_CLASS_ERROR | DAT_INVALID_STATE | 102, "DAT_INVALID_STATE",
	      "unknown minor error");
	names(DAT_CLASS_ERROR | DAT_INVALID_STATE | 0xFFFF, "DAT_INVALID_STATE",
	      "unknown minor error");
}

static void the_minor_message_may_be_left_out(void)
{
	const char *type = not_me;

	CHECK_EQ_INT(dat_strerror(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY, &type, NULL), DAT_SUCCESS);
	CHECK_EQ_STR(type, "DAT_QUEUE_EMPTY");
	CHECK_EQ_INT(dat_strerror(0x80150000, &type, NULL), DAT_INVALID_PARAMETER);
	CHECK_EQ_INT(dat_strerror(DAT_SUCCESS, NULL, NULL), DAT_INVALID_PARAMETER);
}

static void any_number_gives_strings_that_can_be_printed(void)
{
	const char *type, *subtype;
	uint64_t v;

	for (v = 0; v <= 0xFFFFFFFF; v += 0x3fff) {
		type = subtype = NULL;
		dat_strerror((DAT_RETURN)v, &type, &subtype);
		REQUIRE(type != NULL && subtype != NULL);
		REQUIRE(strlen(type) > 0);
	}
}

static const struct check_test strerror_tests[] = {
	CHECK_TEST(every_type_of_the_table_has_its_name),
	CHECK_TEST(every_subtype_of_the_table_has_its_name),
	CHECK_TEST(not_implemented_is_known_in_every_encoding),
	CHECK_TEST(a_type_without_name_is_an_invalid_parameter_without_class),
	CHECK_TEST(a_subtype_without_name_spoils_nothing),
	CHECK_TEST(the_minor_message_may_be_left_out),
	CHECK_TEST(any_number_gives_strings_that_can_be_printed),
	CHECK_END
};

static const struct check_suite suite = { .name = "dat_strerror", .tests = strerror_tests };
CHECK_SUITES(&suite);
