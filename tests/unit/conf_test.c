/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar of dat.conf: what is read, what is refused, and what is said about it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "registry/conf.h"

#define GOOD(name)	name " u1.2 nonthreadsafe default lib.so id.1.2 \"p q\" \"\"\n"

static struct conf conf;

static void empty(void)
{
	conf_init(&conf);
}

static void release(void)
{
	conf_free(&conf);
}

static void parse_bytes(const char *text, size_t len)
{
	/*
	 * A heap copy of the exact size, so that valgrind and the sanitizers see an access beyond
	 * its end.
	 */
	char *copy = malloc(len ? len : 1);

	REQUIRE(copy != NULL);
	memcpy(copy, text, len);
	CHECK_EQ_INT(conf_parse(&conf, "x.conf", copy, len), 0);
	free(copy);
}

static void parse(const char *text)
{
	parse_bytes(text, strlen(text));
}

static int entries(void)
{
	const struct conf_entry *e;
	int n = 0;

	for (e = conf.entries; e; e = e->next)
		n++;
	return n;
}

static const struct conf_entry *entry(int i)
{
	const struct conf_entry *e;

	for (e = conf.entries; e && i; i--)
		e = e->next;
	REQUIRE(e != NULL);
	return e;
}

/*
 * Parses text, and expects one refusal, in this line and column, for this field, with this word in
 * it.
 */
static void refuse(const char *text, unsigned int line, unsigned int column, enum conf_field field,
		   const char *word)
{
	conf_free(&conf);
	parse(text);
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_EQ_STR(conf.diags->file, "x.conf");
	CHECK_EQ_INT(conf.diags->line, line);
	CHECK_EQ_INT(conf.diags->column, column);
	CHECK_EQ_INT(conf.diags->field, field);
	CHECK_HAS_STR(conf.diags->text, word);
}

static void all_eight_fields_are_read(void)
{
	const struct conf_entry *e;

	parse("# a comment\n\n"
	      "soft0\tu1.2  threadsafe default /lib/x.so dapl.3.14 \"ib0 0\" \"plat\"\n");
	REQUIRE_EQ_INT(entries(), 1);
	e = entry(0);
	CHECK_EQ_STR(e->name, "soft0");
	CHECK_EQ_INT(e->major, 1);
	CHECK_EQ_INT(e->minor, 2);
	CHECK(e->thread_safe);
	CHECK_EQ_INT(e->skip, CONF_USED);
	CHECK_EQ_STR(e->library, "/lib/x.so");
	CHECK_EQ_STR(e->provider_version, "dapl.3.14");
	CHECK_EQ_STR(e->ia_params, "ib0 0");
	CHECK_EQ_STR(e->platform_params, "plat");
	CHECK_EQ_STR(e->file, "x.conf");
	CHECK_EQ_INT(e->line, 3);
	CHECK_EQ_INT(conf.ndiags, 0);
}

static void a_quoted_field_may_hold_anything_but_a_newline(void)
{
	parse("\"a \\\"b\\\" \\\\ # c\" \"u1.2\""
	      "\"nonthreadsafe\" \"default\" \"l x.so\" \"i.1.2\" \"\" \"\\n\"\n");
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "a \"b\" \\ # c");
	CHECK_EQ_STR(entry(0)->library, "l x.so");
	CHECK_EQ_STR(entry(0)->ia_params, "");
	CHECK_EQ_STR(entry(0)->platform_params, "n");
}

static void a_bare_field_keeps_hashes_backslashes_and_quotes_inside(void)
{
	parse("a#b\\c\"d u1.2 nonthreadsafe default lib#1.so i.1.2 p\"q\" \"\"\n");
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "a#b\\c\"d");
	CHECK_EQ_STR(entry(0)->library, "lib#1.so");
	CHECK_EQ_STR(entry(0)->ia_params, "p\"q\"");
}

static void a_comment_behind_a_record_costs_neither_it_nor_the_next(void)
{
	parse("a u1.2 nonthreadsafe default l.so i.1.2 \"\" \"\" # one\n" GOOD("b"));
	REQUIRE_EQ_INT(entries(), 2);
	CHECK_EQ_STR(entry(0)->name, "a");
	CHECK_EQ_STR(entry(1)->name, "b");
	CHECK_EQ_INT(entry(1)->line, 2);
}

static void a_file_may_end_anywhere(void)
{
	static const char *const ends[] = {
		"", "#", "# x", "\n#", "\r", "   ", "\n\n", "\t\r\n",
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		conf_free(&conf);
		snprintf(text, sizeof(text), "a u1.2 nonthreadsafe default l.so i.1.2 \"\" \"\" %s",
			 ends[i]);
		parse(text);
		CHECK_EQ_INT(entries(), 1);
		CHECK_EQ_INT(conf.ndiags, 0);
		conf_free(&conf);
		parse(ends[i]);
		CHECK_EQ_INT(entries(), 0);
		CHECK_EQ_INT(conf.ndiags, 0);
	}
}

static void every_prefix_of_a_record_is_refused_or_whole(void)
{
	static const char text[] = "a u1.2 nonthreadsafe default l.so i.1.2 \"x\\\"\" \"\"";
	size_t len;

	for (len = 0; len < sizeof(text); len++) {
		conf_free(&conf);
		parse_bytes(text, len);
		CHECK_EQ_INT(entries(), len >= sizeof(text) - 1);
		if (len && len < sizeof(text) - 1)
			CHECK(conf.ndiags >= 1);
	}
}

static void dos_line_ends_and_a_byte_order_mark_do_no_harm(void)
{
	parse("\xef\xbb\xbf" "a u1.2 nonthreadsafe default l.so i.1.2 \"\" plat\r\n"
	      "\r\n# c\r\nb u1.2 nonthreadsafe default l.so i.1.2 \"\" \"\"\r\n");
	REQUIRE_EQ_INT(entries(), 2);
	CHECK_EQ_STR(entry(0)->name, "a");
	CHECK_EQ_STR(entry(0)->platform_params, "plat");
	CHECK_EQ_INT(entry(1)->line, 4);
	CHECK_EQ_INT(conf.ndiags, 0);
}

static void a_lone_quote_is_named_by_line_and_column(void)
{
	refuse("a u1.2 nonthreadsafe default l.so i.1.2 \"\n" GOOD("b"), 1, 41, CONF_IA_PARAMS,
	       "closing \"");
	CHECK_EQ_INT(entries(), 1);
	CHECK_EQ_STR(conf.diags->name, "a");
	refuse("\"", 1, 1, CONF_IA_NAME, "not closed");
	refuse("\"\\", 1, 1, CONF_IA_NAME, "not closed");
	refuse("\"x\\\n" GOOD("b"), 1, 1, CONF_IA_NAME, "not closed");
	refuse("\"x\r\n" GOOD("b"), 1, 1, CONF_IA_NAME, "not closed");
}

static void an_api_version_is_whole_or_refused(void)
{
	static const char *const bad[] = {
		"u1",
		"u1.",
		"u.2",
		"u",
		"1.2",
		"u1.2.3",
		"u1.x",
		"x1.2",
		"u-1.2",
		"\"\"",
		"u99999999999.0",
		"u1.99999999999999999999",
		"U1.2",
		"u1,2",
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "a %s nonthreadsafe default l.so i.1.2 \"\" \"\"\n",
			 bad[i]);
		refuse(text, 1, 3, CONF_API_VERSION, "u1.2");
		CHECK_EQ_INT(entries(), 0);
	}
}

static void keywords_are_taken_whole_and_in_their_case(void)
{
	refuse("a u1.2 nonthreadsafeX default l.so i.1.2 \"\" \"\"", 1, 8, CONF_THREAD_SAFETY,
	       "threadsafe");
	refuse("a u1.2 Threadsafe default l.so i.1.2 \"\" \"\"", 1, 8, CONF_THREAD_SAFETY,
	       "threadsafe");
	refuse("a u1.2 threadsafe defaults l.so i.1.2 \"\" \"\"", 1, 19, CONF_DEFAULT,
	       "nondefault");
}

static void provider_versions_are_checked(void)
{
	static const char *const bad[] = { "dapl",     "dapl.1",    "dapl.1.", ".1.2",
					   "dapl.x.2", "dapl.1.2x", "\"\"" };
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "a u1.2 threadsafe default l.so %s \"\" \"\"\n",
			 bad[i]);
		refuse(text, 1, 32, CONF_PROVIDER_VERSION, "dapl.1.2");
	}
}

static void missing_and_surplus_fields_are_told_apart(void)
{
	refuse("a u1.2 threadsafe default l.so i.1.2 \"\"\n", 1, 40, CONF_PLATFORM_PARAMS,
	       "write \"\"");
	refuse("a u1.2 # x\n", 1, 8, CONF_THREAD_SAFETY, "after 2 of 8");
	refuse("a u1.2 threadsafe default l.so i.1.2 p q r\n", 1, 42, 0, "eighth");
	refuse("\"\" u1.2 threadsafe default l.so i.1.2 p q\n", 1, 1, CONF_IA_NAME, "empty");
	refuse("a u1.2 threadsafe default \"\" i.1.2 p q\n", 1, 27, CONF_LIBRARY, "empty");
}

static void a_line_never_goes_on_in_the_next(void)
{
	parse("a u1.2 threadsafe default \\\nl.so i.1.2 \"\" \"\"\n" GOOD("b"));
	CHECK_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "b");
	CHECK(conf.ndiags >= 2);
}

static void several_bad_fields_of_a_line_are_all_named(void)
{
	parse("a u1 maybe default l.so i \"\" \"\"\n");
	REQUIRE_EQ_INT(conf.ndiags, 3);
	CHECK_EQ_INT(conf.diags->field, CONF_API_VERSION);
	CHECK_EQ_INT(conf.diags->next->field, CONF_THREAD_SAFETY);
	CHECK_EQ_INT(conf.diags->next->next->field, CONF_PROVIDER_VERSION);
	CHECK_EQ_INT(entries(), 0);
}

static void one_bad_record_never_voids_the_others(void)
{
	parse(GOOD("a") "rubbish\n" GOOD("b") "\"\n" GOOD("c"));
	REQUIRE_EQ_INT(entries(), 3);
	CHECK_EQ_STR(entry(2)->name, "c");
	CHECK_EQ_INT(conf.ndiags, 2);
}

static void kernel_and_nondefault_entries_are_kept_out_of_use(void)
{
	parse("a k1.2 threadsafe default l.so i.1.2 \"\" \"\"\n"
	      "b u1.2 threadsafe nondefault l.so i.1.2 \"\" \"\"\n" GOOD(
		"c"));
	REQUIRE_EQ_INT(entries(), 3);
	CHECK_EQ_INT(entry(0)->skip, CONF_SKIP_KDAPL);
	CHECK_EQ_INT(entry(1)->skip, CONF_SKIP_NONDEFAULT);
	CHECK_EQ_INT(entry(2)->skip, CONF_USED);
	CHECK_EQ_INT(conf.ndiags, 0);
}

static void a_name_of_255_bytes_fits_and_256_do_not(void)
{
	char name[257];
	char text[400];

	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	snprintf(text, sizeof(text), "%s u1.2 threadsafe default l.so i.1.2 \"\" \"\"\n", name);
	parse(text);
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, name);
	name[255] = 'n';
	name[256] = '\0';
	snprintf(text, sizeof(text), "%s u1.2 threadsafe default l.so i.1.2 \"\" \"\"\n", name);
	refuse(text, 1, 1, CONF_IA_NAME, "255");
}

static void a_line_of_a_mebibyte_is_read_like_any_other(void)
{
	size_t big = 1 << 20;
	char *text = malloc(2 * big + 512);
	size_t at;

	REQUIRE(text != NULL);
	at = (size_t)sprintf(text, "a u1.2 threadsafe default l.so i.1.2 \"");
	memset(text + at, 'x', big);
	at += big;
	at += (size_t)sprintf(text + at, "\" \"\"\n");
	memset(text + at, 'y', big);
	at += big;
	at += (size_t)sprintf(text + at, "\n" GOOD("b"));
	parse_bytes(text, at);
	free(text);
	REQUIRE_EQ_INT(entries(), 2);
	CHECK_EQ_INT(strlen(entry(0)->ia_params), big);
	CHECK_EQ_STR(entry(1)->name, "b");
	REQUIRE(conf.ndiags >= 1);
	CHECK(strlen(conf.diags->text) < 256);
}

static void a_nul_byte_is_refused_where_it_stands(void)
{
	static const char text[] = "a\0b u1.2 threadsafe default l.so i.1.2 \"\" \"\"\n" GOOD("b");

	parse_bytes(text, sizeof(text) - 1);
	CHECK_EQ_INT(entries(), 1);
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_HAS_STR(conf.diags->text, "NUL");
}

static void messages_hold_no_control_characters(void)
{
	const char *p;

	parse("a \x1b[2J\x7f threadsafe default l.so i.1.2 \"\" \"\"\n");
	REQUIRE_EQ_INT(conf.ndiags, 1);
	for (p = conf.diags->text; *p; p++)
		CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
}

static void duplicates_are_all_kept_in_file_order(void)
{
	parse("a u1.2 threadsafe default 1.so i.1.2 \"\" \"\"\n"
	      "a u1.2 threadsafe default 2.so i.1.2 \"\" \"\"\n");
	REQUIRE_EQ_INT(entries(), 2);
	CHECK_EQ_STR(entry(0)->library, "1.so");
	CHECK_EQ_STR(entry(1)->library, "2.so");
}

static void complaints_about_rubbish_are_bounded(void)
{
	char *text = malloc(200000);
	const struct conf_diag *d;
	int n = 0;

	REQUIRE(text != NULL);
	memset(text, 'x', 200000);
	for (int i = 1; i < 200000; i += 2)
		text[i] = '\n';
	parse_bytes(text, 200000);
	free(text);
	CHECK_EQ_INT(conf.ndiags, 100000);
	for (d = conf.diags; d; d = d->next)
		n++;
	CHECK_EQ_INT(n, CONF_DIAGS_MAX);
}

/* Reads a real file that programs use. */

static void fixture(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[1024];

	snprintf(path, sizeof(path), "%s/tests/fixtures/%s", top ? top : ".", name);
	REQUIRE_EQ_INT(conf_read(&conf, path), 0);
	CHECK_EQ_INT(conf.ndiags, 0);
	CHECK_EQ_STR(conf.origin, path);
}

static void the_62_entries_of_an_ofed_2_file_are_read(void)
{
	const struct conf_entry *e;

	fixture("ofed2.conf");
	CHECK_EQ_INT(entries(), 62);
	for (e = conf.entries; e; e = e->next)
		CHECK_EQ_INT(e->major, 2);
	CHECK_EQ_STR(entry(0)->name, "ofa-v2-ib0");
	CHECK_EQ_STR(entry(0)->ia_params, "ib0 0");
}

static void an_ofed_12_file_gives_its_openib_adapters(void)
{
	fixture("ofed12.conf");
	CHECK_EQ_INT(entries(), 15);
	CHECK_EQ_STR(entry(0)->name, "OpenIB-cma");
	CHECK_EQ_STR(entry(0)->library, "libdaplcma.so.1");
	CHECK_EQ_STR(entry(0)->ia_params, "ib0 0");
	CHECK_EQ_STR(entry(14)->name, "OpenIB-cma-roe-eth2");
}

static void a_file_may_hold_adapters_of_both_apis(void)
{
	fixture("both.conf");
	CHECK_EQ_INT(entries(), 6);
	CHECK_EQ_INT(entry(2)->major, 1);
	CHECK_EQ_INT(entry(3)->major, 2);
}

/* Adds n lines that are alike but for the number in their names, if `format` has one. */
static void add_lines(const char *format, int n)
{
	size_t size = 256 * (size_t)n, at = 0;
	char *text = malloc(size);

	REQUIRE(text != NULL);
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, size - at, format, i);
	parse(text);
	free(text);
}

static bool serves_20(int i)
{
	return conf_serves_20(&conf, entry(i));
}

static void a_wrapper_serves_what_the_lines_beneath_serve(void)
{
	parse("own u1.2 nonthreadsafe default libdatsoft.so id.1.2 \"\" \"\"\n"
	      "said u1.2 nonthreadsafe default libdatsoft.so id.1.2 \"\" \"\"\n"
	      "said u2.0 nonthreadsafe default other.so id.2.0 \"\" \"\"\n"
	      "other u1.2 nonthreadsafe default other.so id.1.2 \"\" \"\"\n"
	      "w1 u1.2 nonthreadsafe default libdat-trace.so id.1.2 own \"\"\n"
	      "w2 u1.2 nonthreadsafe default libdat-trace.so id.1.2 said \"\"\n"
	      "w3 u1.2 nonthreadsafe default libdat-trace.so id.1.2 \"other level=2\" \"\"\n"
	      "w4 u1.2 nonthreadsafe default libdat-trace.so id.1.2 othe \"\"\n"
	      "w5 u1.2 nonthreadsafe default libdat-trace.so id.1.2 \"\" \"\"\n"
	      "other u1.2 nonthreadsafe nondefault libdatsoft.so id.1.2 \"\" \"\"\n"
	      "w6 u1.2 nonthreadsafe default libdat-trace.so id.1.2 w6 \"\"\n");
	REQUIRE_EQ_INT(conf_sort(&conf), 0);
	CHECK(serves_20(0));
	CHECK(!serves_20(1));
	CHECK(!serves_20(2));
	CHECK(!serves_20(3));
	CHECK(serves_20(4));
	CHECK(serves_20(5));
	CHECK(!serves_20(6));
	CHECK(serves_20(7)); /* no line has that name, and only the wrapper can say so */
	CHECK(serves_20(8));
	CHECK(serves_20(10)); /* it leads back to itself, and only its opening can say so */
}

/* Returns the processor time that it takes to judge n lines of each kind, and some more. */
static clock_t time_of_judging(int n)
{
	const struct conf_entry *e;
	clock_t began;
	int serve = 0;

	release();
	add_lines("a%d u1.2 nonthreadsafe default libdatsoft.so id.1.2 \"\" \"\"\n", n);
	add_lines("w%d u1.2 nonthreadsafe default libdat-trace.so id.1.2 other \"\"\n", n);
	add_lines("other u1.2 nonthreadsafe default other.so id.1.2 \"\" \"\"\n", n);
	began = clock();
	REQUIRE_EQ_INT(conf_sort(&conf), 0);
	for (e = conf.entries; e; e = e->next)
		serve += conf_serves_20(&conf, e);
	/* there are more lines beneath than are looked at */
	CHECK_EQ_INT(serve, 2 * n);
	return clock() - began + 1;
}

static void many_lines_take_no_longer_than_their_number_explains(void)
{
	clock_t some = time_of_judging(1000), more = time_of_judging(4000);

	if (more > 10 * some)
		CHECK_FAIL("four times as many lines take %g times as long", (double)more / (double)some);
}

static void a_file_with_every_field_quoted_is_read(void)
{
	fixture("quoted.conf");
	CHECK_EQ_INT(entries(), 3);
	CHECK_EQ_INT(entry(0)->skip, CONF_USED);
	CHECK_EQ_INT(entry(1)->skip, CONF_SKIP_NONDEFAULT);
	CHECK_EQ_INT(entry(2)->skip, CONF_SKIP_KDAPL);
}

static void the_shipped_file_has_soft0_only(void)
{
	const char *top = getenv("top_srcdir");
	char path[1024];

	snprintf(path, sizeof(path), "%s/etc/dat.conf", top ? top : ".");
	REQUIRE_EQ_INT(conf_read(&conf, path), 0);
	CHECK_EQ_INT(conf.ndiags, 0);
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "soft0");
}

/* Drop-ins. */

static void ini(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);

	REQUIRE(copy != NULL);
	memcpy(copy, text, len);
	CHECK_EQ_INT(conf_parse_ini(&conf, "x.ini", copy, len), 0);
	free(copy);
}

static void a_section_tunes_the_adapter_of_its_name(void)
{
	parse(GOOD("a") GOOD("b"));
	ini("; c\n[a]\neager_limit = 8192\nspin=on\n\n[nobody]\nlibrary = n.so\n");
	CHECK_EQ_INT(conf.ndiags, 0);
	CHECK_EQ_STR(entry(0)->ia_params, "p q eager_limit=8192 spin=on");
	CHECK_EQ_STR(entry(0)->tuned_file, "x.ini");
	CHECK_EQ_INT(entry(0)->tuned_line, 2);
	CHECK_EQ_STR(entry(0)->file, "x.conf");
	CHECK_EQ_STR(entry(1)->ia_params, "p q");
}

static void a_section_adds_an_adapter_that_is_not_named_yet(void)
{
	ini("[a]\nlibrary = l.so\nia_params = ib0 0\nthread_safety = threadsafe\n"
	    "api_version = u1.3\nx = 1\n"
	    "[a]\nx = 2\n");
	CHECK_EQ_INT(conf.ndiags, 0);
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "a");
	CHECK_EQ_STR(entry(0)->library, "l.so");
	CHECK_EQ_STR(entry(0)->ia_params, "ib0 0 x=1 x=2");
	CHECK_EQ_STR(entry(0)->file, "x.ini");
	CHECK_EQ_INT(entry(0)->line, 1);
	CHECK_EQ_INT(entry(0)->minor, 3);
	CHECK(entry(0)->thread_safe);
}

static void the_fields_of_a_section_have_defaults(void)
{
	ini("[a]\nlibrary=l.so\n");
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_INT(entry(0)->major, 1);
	CHECK_EQ_INT(entry(0)->minor, 2);
	CHECK(!entry(0)->thread_safe);
	CHECK_EQ_STR(entry(0)->ia_params, "");
	CHECK_EQ_STR(entry(0)->platform_params, "");
}

static void values_with_blanks_are_quoted_for_the_provider(void)
{
	parse(GOOD("a"));
	ini("[a]\nk = x \"y\" \\\ne =\n");
	CHECK_EQ_STR(entry(0)->ia_params, "p q k=\"x \\\"y\\\" \\\\\" e=\"\"");
}

static void an_indented_key_is_a_key(void)
{
	parse(GOOD("a"));
	ini("[a]\n\tk = 1\n\tl = 2\r\n");
	CHECK_EQ_STR(entry(0)->ia_params, "p q k=1 l=2");
}

static void a_section_with_a_mistake_has_no_effect_at_all(void)
{
	static const char *const bad[] = {
		"[a]\nk = 1\napi_version = u1\n",
		"[a]\nrubbish\nk = 1\n",
		"[a]\nk = 1\nthread_safety = no\n",
		"[a]\nk = 1\nlibrary =\n",
		"[a]\nk l = 1\n",
		"[a\nk = 1\n",
		"[]\nk = 1\n",
		"k = 1\n[a]\n",
		"[a ;b]\nk = 1\n",
		"[a]\nk ;l = 1\n",
		"[a]\nprovider_version = 1\nk = 1\n",
		"[unknown]\nk = 1\n",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		conf_free(&conf);
		parse(GOOD("a"));
		ini(bad[i]);
		CHECK_EQ_STR(entry(0)->ia_params, "p q");
		if (conf.ndiags != 1)
			CHECK_FAIL("%u complaints about %s", conf.ndiags, bad[i]);
	}
}

static void what_the_ini_parser_would_cut_is_refused(void)
{
	char text[1024];
	char word[400];

	memset(word, 'x', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	parse(GOOD("a"));
	snprintf(text, sizeof(text), "[a]\nk = %s\n[%.50s]\nlibrary = l.so\n[a]\nl = 1\n", word,
		 word);
	ini(text);
	CHECK_EQ_INT(conf.ndiags, 2);
	CHECK_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->ia_params, "p q l=1");
	CHECK_EQ_INT(conf.diags->line, 2);
	CHECK_EQ_INT(conf.diags->next->line, 3);
}

/* Files. */

static const char *tmp_path(const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", check_tmpdir(), name);
	return path;
}

static void drop_ins_beside_the_file_are_read_in_the_order_of_their_names(void)
{
	check_write("my.conf", GOOD("a"));
	REQUIRE_EQ_INT(mkdir(tmp_path("my.conf.d"), 0700), 0);
	check_write("my.conf.d/20.ini", "[b]\nlibrary = 20.so\n[a]\nk = 20\n");
	check_write("my.conf.d/10.ini", "[a]\nk = 10\n");
	check_write("my.conf.d/.hidden.ini", "[a]\nk = 0\n");
	check_write("my.conf.d/30.ini~", "[a]\nk = 0\n");
	check_write("my.conf.d/.ini", "[a]\nk = 0\n");
	REQUIRE_EQ_INT(conf_read(&conf, tmp_path("my.conf")), 0);
	CHECK_EQ_INT(conf.ndiags, 0);
	REQUIRE_EQ_INT(entries(), 2);
	CHECK_EQ_STR(entry(0)->ia_params, "p q k=10 k=20");
	CHECK_EQ_STR(entry(1)->library, "20.so");
}

static void a_missing_file_is_a_complaint_about_the_file(void)
{
	CHECK_EQ_INT(conf_read(&conf, tmp_path("none.conf")), -ENOENT);
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_EQ_STR(conf.diags->file, tmp_path("none.conf"));
	CHECK_EQ_INT(conf.diags->line, 0);
	CHECK_HAS_STR(conf.diags->text, "No such file");
}

static void a_directory_in_the_file_s_place_is_a_complaint(void)
{
	CHECK_EQ_INT(conf_read(&conf, check_tmpdir()), -EISDIR);
	CHECK_EQ_INT(conf.ndiags, 1);
}

/* Reads the file as another user if this is root, which can read every file. */
static void unreadable_peer(void *arg)
{
	bool root = !geteuid();

	(void)arg;
	if (root)
		REQUIRE_EQ_INT(seteuid(65534), 0);
	CHECK_EQ_INT(conf_read(&conf, tmp_path("no.conf")), -EACCES);
	if (root)
		REQUIRE_EQ_INT(seteuid(0), 0);
	prctl(PR_SET_DUMPABLE, 1);	/* otherwise the leak sanitizer cannot examine this process */
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_HAS_STR(conf.diags->text, "Permission denied");
	conf_free(&conf);
}

static void an_unreadable_file_is_a_complaint(void)
{
	check_write("no.conf", GOOD("a"));
	REQUIRE_EQ_INT(chmod(check_tmpdir(), 0755), 0);
	REQUIRE_EQ_INT(chmod(tmp_path("no.conf"), 0), 0);
	check_join(check_fork(unreadable_peer, NULL));
}

static void a_pipe_can_be_read(void)
{
	char path[64];
	int fd[2];

	REQUIRE_EQ_INT(pipe(fd), 0);
	CHECK_EQ_INT(write(fd[1], GOOD("a"), sizeof(GOOD("a")) - 1), sizeof(GOOD("a")) - 1);
	close(fd[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd[0]);
	CHECK_EQ_INT(conf_read(&conf, path), 0);
	close(fd[0]);
	CHECK_EQ_INT(entries(), 1);
}

/* A usual open would wait for a writer for ever. */
static void a_pipe_that_nobody_writes_to_is_a_complaint(void)
{
	REQUIRE_EQ_INT(mkfifo(tmp_path("fifo"), 0600), 0);
	CHECK_EQ_INT(conf_read(&conf, tmp_path("fifo")), -EPIPE);
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_EQ_STR(conf.diags->file, tmp_path("fifo"));
	CHECK_HAS_STR(conf.diags->text, "a pipe that nobody writes to");
}

static void write_to_fifo(void *arg)
{
	int fd = open(arg, O_WRONLY);

	REQUIRE(fd >= 0);
	check_await(CHECK_PARENT);
	REQUIRE_EQ_INT(write(fd, GOOD("a"), sizeof(GOOD("a")) - 1), sizeof(GOOD("a")) - 1);
	REQUIRE_EQ_INT(write(fd, GOOD("b"), sizeof(GOOD("b")) - 1), sizeof(GOOD("b")) - 1);
	close(fd);
}

static void *signal_writer(void *arg)
{
	check_signal(*(pid_t *)arg);
	return NULL;
}

/* There is a writer, which writes after the read has begun. */
static void a_pipe_with_a_writer_is_read_to_its_end(void)
{
	pthread_t thread;
	pid_t peer;
	int fd;

	REQUIRE_EQ_INT(mkfifo(tmp_path("fifo"), 0600), 0);
	peer = check_fork(write_to_fifo, (void *)tmp_path("fifo"));
	fd = open(tmp_path("fifo"), O_RDONLY);	/* when this returns, there is a writer */
	REQUIRE(fd >= 0);
	REQUIRE_EQ_INT(pthread_create(&thread, NULL, signal_writer, &peer), 0);
	CHECK_EQ_INT(conf_read(&conf, tmp_path("fifo")), 0);
	close(fd);
	pthread_join(thread, NULL);
	check_join(peer);
	CHECK_EQ_INT(entries(), 2);
}

static void a_device_without_end_is_refused(void)
{
	CHECK_EQ_INT(conf_read(&conf, "/dev/zero"), -EFBIG);
	CHECK_EQ_INT(conf.ndiags, 1);
}

static void dat_override_stands_alone(void)
{
	setenv("DAT_OVERRIDE", tmp_path("none.conf"), 1);
	REQUIRE_EQ_INT(conf_read_system(&conf), 0);
	CHECK_EQ_INT(entries(), 0);
	CHECK(!conf.builtin);
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_EQ_STR(conf.origin, tmp_path("none.conf"));
	conf_free(&conf);
	check_write("my.conf", GOOD("a"));
	setenv("DAT_OVERRIDE", tmp_path("my.conf"), 1);
	REQUIRE_EQ_INT(conf_read_system(&conf), 0);
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "a");
}

static void an_unconfigured_machine_has_soft0(void)
{
	unsetenv("DAT_OVERRIDE");
	if (!access(SYSCONFDIR "/dat.conf", F_OK) || !access("/etc/dat.conf", F_OK))
		check_skip("this machine has a dat.conf");
	REQUIRE_EQ_INT(conf_read_system(&conf), 0);
	CHECK(conf.builtin);
	REQUIRE_EQ_INT(entries(), 1);
	CHECK_EQ_STR(entry(0)->name, "soft0");
	CHECK_EQ_STR(entry(0)->library, "libdatsoft.so");
}

static const struct check_test grammar_tests[] = {
	CHECK_TEST(all_eight_fields_are_read),
	CHECK_TEST(a_quoted_field_may_hold_anything_but_a_newline),
	CHECK_TEST(a_bare_field_keeps_hashes_backslashes_and_quotes_inside),
	CHECK_TEST(a_comment_behind_a_record_costs_neither_it_nor_the_next),
	CHECK_TEST(a_file_may_end_anywhere),
	CHECK_TEST(every_prefix_of_a_record_is_refused_or_whole),
	CHECK_TEST(dos_line_ends_and_a_byte_order_mark_do_no_harm),
	CHECK_TEST(a_lone_quote_is_named_by_line_and_column),
	CHECK_TEST(an_api_version_is_whole_or_refused),
	CHECK_TEST(keywords_are_taken_whole_and_in_their_case),
	CHECK_TEST(provider_versions_are_checked),
	CHECK_TEST(missing_and_surplus_fields_are_told_apart),
	CHECK_TEST(a_line_never_goes_on_in_the_next),
	CHECK_TEST(several_bad_fields_of_a_line_are_all_named),
	CHECK_TEST(one_bad_record_never_voids_the_others),
	CHECK_TEST(kernel_and_nondefault_entries_are_kept_out_of_use),
	CHECK_TEST(a_name_of_255_bytes_fits_and_256_do_not),
	CHECK_TEST(a_line_of_a_mebibyte_is_read_like_any_other),
	CHECK_TEST(a_nul_byte_is_refused_where_it_stands),
	CHECK_TEST(messages_hold_no_control_characters),
	CHECK_TEST(duplicates_are_all_kept_in_file_order),
	CHECK_TEST(complaints_about_rubbish_are_bounded),
	CHECK_END
};

static const struct check_test field_tests[] = {
	CHECK_TEST(the_62_entries_of_an_ofed_2_file_are_read),
	CHECK_TEST(an_ofed_12_file_gives_its_openib_adapters),
	CHECK_TEST(a_file_may_hold_adapters_of_both_apis),
	CHECK_TEST(a_wrapper_serves_what_the_lines_beneath_serve),
	CHECK_TEST(many_lines_take_no_longer_than_their_number_explains),
	CHECK_TEST(a_file_with_every_field_quoted_is_read),
	CHECK_TEST(the_shipped_file_has_soft0_only),
	CHECK_END
};

static const struct check_test ini_tests[] = {
	CHECK_TEST(a_section_tunes_the_adapter_of_its_name),
	CHECK_TEST(a_section_adds_an_adapter_that_is_not_named_yet),
	CHECK_TEST(the_fields_of_a_section_have_defaults),
	CHECK_TEST(values_with_blanks_are_quoted_for_the_provider),
	CHECK_TEST(an_indented_key_is_a_key),
	CHECK_TEST(a_section_with_a_mistake_has_no_effect_at_all),
	CHECK_TEST(what_the_ini_parser_would_cut_is_refused),
	CHECK_END
};

static const struct check_test file_tests[] = {
	CHECK_TEST(drop_ins_beside_the_file_are_read_in_the_order_of_their_names),
	CHECK_TEST(a_missing_file_is_a_complaint_about_the_file),
	CHECK_TEST(a_directory_in_the_file_s_place_is_a_complaint),
	CHECK_TEST(an_unreadable_file_is_a_complaint),
	CHECK_TEST(a_pipe_can_be_read),
	CHECK_TEST(a_pipe_that_nobody_writes_to_is_a_complaint),
	CHECK_TEST(a_pipe_with_a_writer_is_read_to_its_end),
	CHECK_TEST(a_device_without_end_is_refused),
	CHECK_TEST(dat_override_stands_alone),
	CHECK_TEST(an_unconfigured_machine_has_soft0),
	CHECK_END
};

static const struct check_suite grammar = {
	.name = "dat.conf", .setup = empty, .teardown = release, .tests = grammar_tests };
static const struct check_suite field = {
	.name = "dat.conf in the field", .setup = empty, .teardown = release, .tests = field_tests
};
static const struct check_suite drop_ins = {
	.name = "drop-ins", .setup = empty, .teardown = release, .tests = ini_tests };
static const struct check_suite files = {
	.name = "registry files", .setup = empty, .teardown = release, .tests = file_tests };
CHECK_SUITES(&grammar, &field, &drop_ins, &files);
