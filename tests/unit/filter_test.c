/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT_PROVIDERS and DAT_CONF_PATH: which files and lines make up the registry. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "registry/conf.h"
#include "registry_env.h"

struct mock mock;

static struct conf conf;

static void empty(void)
{
	conf_init(&conf);
	unsetenv("DAT_PROVIDERS");
	unsetenv("DAT_CONF_PATH");
}

static void release(void)
{
	conf_free(&conf);
}

/* ------------------------------------------------------------------------------ which lines */

#define SHORT(name, lib) name " u1.2 nonthreadsafe default " lib " id.1.0 \"\" \"\"\n"

static const char hosts[] =
	SHORT("soft0", "libdatsoft.so") SHORT("ib0", "/opt/lib/libdatib.so")
	SHORT("iw0", "libdatiwarp.so") SHORT("OpenIB-cma", "libdaplcma.so.1")
	SHORT("tr0", "libdat-trace.so") SHORT("x", "libother.so.2");

/*
 * Returns a letter for each line that is shown, '-' for one that is not named, and 'x' for one that
 * is excluded.
 */
static const char *shown_with(const char *value)
{
	static char text[16];
	const struct conf_entry *e;
	size_t n = 0;

	conf_free(&conf);
	REQUIRE_EQ_INT(conf_parse(&conf, "x.conf", hosts, sizeof(hosts) - 1), 0);
	conf.origin = "x.conf";
	CHECK_EQ_INT(conf_filter(&conf, value), 0);
	for (e = conf.entries; e; e = e->next, n++)
		text[n] = e->hidden == CONF_EXCLUDED	 ? 'x' :
			  e->hidden == CONF_NOT_INCLUDED ? '-' : "SBWCTX"[n];
	text[n] = '\0';
	return text;
}

static void without_a_word_all_lines_are_shown(void)
{
	CHECK_EQ_STR(shown_with(NULL), "SBWCTX");
	CHECK_EQ_STR(shown_with(""), "SBWCTX");
	CHECK(conf.providers == NULL);
	CHECK_EQ_STR(shown_with(" , ,"), "SBWCTX");
	CHECK(conf.providers_wrong == NULL);
}

static void a_word_names_a_provider_a_library_or_an_adapter(void)
{
	CHECK_EQ_STR(shown_with("soft"), "S-----");
	CHECK_EQ_STR(shown_with("ib"), "-B----");
	CHECK_EQ_STR(shown_with("cma,trace"), "---CT-");
	CHECK_EQ_STR(shown_with("libdatib.so"), "-B----");
	CHECK_EQ_STR(shown_with("/opt/lib/libdatib.so"), "-B----");
	CHECK_EQ_STR(shown_with("/usr/lib/libdatib.so,soft"), "S-----");
	CHECK_EQ_STR(shown_with("OpenIB-cma"), "---C--");
	CHECK_EQ_STR(shown_with("other"), "-----X");
	CHECK_EQ_STR(shown_with("x"), "-----X");
	CHECK_EQ_STR(shown_with(" iw0 , tr0\t"), "--W-T-");
}

static void a_word_with_a_caret_takes_out_wherever_it_stands(void)
{
	CHECK_EQ_STR(shown_with("^iwarp"), "SBxCTX");
	CHECK_EQ_STR(shown_with("^soft,^x"), "xBWCTx");
	CHECK_EQ_STR(shown_with("ib,^iwarp"), "-Bx---");
	CHECK_EQ_STR(shown_with("^ib0,ib,soft"), "Sx----");
	CHECK_EQ_STR(shown_with("ib,soft,^ib0"), "Sx----");
	CHECK(conf.providers_wrong == NULL);
}

static void the_mode_stands_behind_the_words(void)
{
	CHECK_EQ_STR(shown_with("ib:strict"), "-B----");
	CHECK(conf.strict);
	CHECK_EQ_STR(shown_with(":strict"), "SBWCTX");
	CHECK(conf.strict);
	CHECK_EQ_STR(shown_with("^ib:fallback"), "SxWCTX");
	CHECK(!conf.strict);
	CHECK(conf.providers_wrong == NULL);
}

static void wrong_with(const char *value, const char *part)
{
	shown_with(value);
	REQUIRE(conf.providers_wrong != NULL);
	CHECK_HAS_STR(conf.providers_wrong, part);
	CHECK(strchr(conf.providers_wrong, '\n') == NULL);
}

static void a_word_that_names_nothing_is_told_with_what_was_meant(void)
{
	wrong_with("iib",
		   "\"iib\" names no adapter, provider or library of x.conf; did you mean ib?");
	wrong_with("soft,^iwrap", "\"iwrap\" names no adapter, provider or library of x.conf; "
				  "did you mean ^iwarp?");
	wrong_with("OpenIBcma", "did you mean OpenIB-cma?");
	wrong_with("ib:strickt", "\"ib:strickt\" names no");
	wrong_with("strict", "did you mean :strict, at the end?");
	wrong_with("somethingquiteelse", "; use one that 'datctl list' prints");
	wrong_with("^,soft", "a ^ without a name");
}

static void a_hostile_value_is_told_in_one_sentence(void)
{
	static char flood[6000];

	wrong_with("\033[2J\a\n\nib", "\"?[2J???ib\"");
	memset(flood, 'a', 4000);
	wrong_with(flood, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" names no");
	memset(flood, ',', 4000);
	CHECK_EQ_STR(shown_with(flood), "SBWCTX");
	memset(flood, '^', 4000);
	wrong_with(flood, "names no");
	memset(flood, 'a', sizeof(flood) - 1);
	CHECK_EQ_STR(shown_with(flood), "SBWCTX");
	CHECK_HAS_STR(conf.providers_wrong, "longer than 4096 bytes");
}

/* One value may be used on many hosts, which have different adapters. */
static void a_provider_of_ours_may_be_named_where_no_line_is_for_it(void)
{
	static const char one[] = SHORT("soft0", "libdatsoft.so");

	REQUIRE_EQ_INT(conf_parse(&conf, "x.conf", one, sizeof(one) - 1), 0);
	conf.origin = "x.conf";
	CHECK_EQ_INT(conf_filter(&conf, "soft,ib,^iwarp,^trace,^fault,cma"), 0);
	CHECK(conf.providers_wrong == NULL);
}

/* ------------------------------------------------------------------------------ which files */

/* Reads the registry with this list, in the folder of the test. Returns "name name ..." */
static const char *names_of(const char *list)
{
	static char text[256];
	const struct conf_entry *e;

	conf_free(&conf);
	unsetenv("DAT_OVERRIDE");
	setenv("DAT_CONF_PATH", list, 1);
	REQUIRE_EQ_INT(conf_read_system(&conf), 0);
	text[0] = '\0';
	for (e = conf.entries; e; e = e->next)
		if (e->major == 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? " " : "", e->name);
	return text;
}

static void files_peer(void *arg)
{
	(void)arg;
	REQUIRE_EQ_INT(chdir(check_tmpdir()), 0);
	check_write("a", SHORT("a1", "liba.so") SHORT("both", "liba.so"));
	check_write("b", SHORT("b1", "libb.so") SHORT("both", "libb.so"));
	REQUIRE_EQ_INT(mkdir("b.d", 0700), 0);
	check_write("b.d/x.ini", "[both]\nk = 1\n[b2]\nlibrary = libb.so\n");

	CHECK_EQ_STR(names_of("a:b"), "a1 both b1 both b2");
	CHECK_EQ_STR(conf.origin, "a:b");
	CHECK_EQ_INT(conf.ndiags, 0);
	CHECK_EQ_STR(names_of("b:./a"), "b1 both b2 a1 both");
	CHECK_EQ_STR(names_of("a:none:a:b:b"), "a1 both b1 both b2");
	CHECK_EQ_INT(conf.ndiags, 0);
	CHECK_EQ_STR(names_of("b"), "b1 both b2");
	CHECK_EQ_STR(conf.origin, "b");
	REQUIRE(conf.sources != NULL);
	CHECK(conf.sources->main);
	CHECK_EQ_STR(conf.sources->path, "b");
	REQUIRE(conf.sources->next != NULL);
	CHECK(!conf.sources->next->main);

	CHECK_EQ_STR(names_of("none:nor-this"), "");
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_HAS_STR(conf.diags->text, "DAT_CONF_PATH names no file that exists");
	CHECK(!conf.builtin);

	setenv("DAT_OVERRIDE", "a", 1);
	conf_free(&conf);
	REQUIRE_EQ_INT(conf_read_system(&conf), 0);
	CHECK_EQ_STR(conf.origin, "a");
	CHECK(conf.path_list == NULL);
	conf_free(&conf);
}

static void the_files_of_a_list_are_one_registry(void)
{
	check_tmpdir();
	check_join(check_fork(files_peer, NULL));
}

static void host_peer(void *arg)
{
	const struct conf_source *s;
	char before[256];

	(void)arg;
	REQUIRE_EQ_INT(chdir(check_tmpdir()), 0);
	check_write("a", SHORT("a1", "liba.so"));
	snprintf(before, sizeof(before), "%s", names_of(":"));
	for (s = conf.sources; s; s = s->next)
		CHECK(strcmp(s->path, "a") != 0);
	CHECK(conf.sources != NULL);
	CHECK_HAS_STR(names_of("a:"), before);
	CHECK_HAS_STR(names_of("a:"), "a1");
	CHECK_EQ_STR(conf.entries->name, "a1");
	CHECK_HAS_STR(names_of(":a:"), before);
	conf_free(&conf);
}

static void an_empty_name_in_the_list_is_the_host_s_own_file(void)
{
	check_tmpdir();
	check_join(check_fork(host_peer, NULL));
}

static void flood_peer(void *arg)
{
	char list[1024] = "";
	int i;

	(void)arg;
	REQUIRE_EQ_INT(chdir(check_tmpdir()), 0);
	check_write("a", SHORT("a1", "liba.so"));
	for (i = 0; i < 100; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ":" : "",
			 i == 99 ? "a" : "n");
	CHECK_EQ_STR(names_of(list), "");
	REQUIRE_EQ_INT(conf.ndiags, 1);
	CHECK_HAS_STR(conf.diags->text, "more than 64 files");
	conf_free(&conf);
}

static void a_list_without_end_is_refused(void)
{
	check_tmpdir();
	check_join(check_fork(flood_peer, NULL));
}

/* ---------------------------------------------------------------------------- within libdat */

TEST_WITH(an_adapter_that_is_hidden_is_told_as_such_and_not_loaded,
	  LINE("a", "plain") LINE("b", "two_names"))
{
	setenv("DAT_PROVIDERS", "mock_two_names", 1);
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		     "DAT_PROVIDERS=mock_two_names hides it; add a to the list");
	CHECK_EQ_INT(mock.inits, 0);
	open_or_fail("b");
}

TEST_WITH(an_adapter_that_is_taken_out_is_told_as_such, LINE("a", "plain"))
{
	setenv("DAT_PROVIDERS", "a,^mock_plain", 1);
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "remove the word with ^ that names it");
	CHECK_EQ_INT(mock.inits, 0);
}

TEST_WITH(programs_do_not_get_hidden_adapters_listed,
	  LINE("a", "plain") LINE("b", "open_fails") LINE("a", "open_fails"))
{
	DAT_PROVIDER_INFO info[3], *list[3] = { &info[0], &info[1], &info[2] };
	DAT_COUNT n = 0;

	setenv("DAT_PROVIDERS", "^mock_plain", 1);
	REQUIRE_EQ_INT(dat_registry_list_providers(3, &n, list), DAT_SUCCESS);
	REQUIRE_EQ_INT(n, 2);
	CHECK_EQ_STR(info[0].ia_name, "b");
	CHECK_EQ_STR(info[1].ia_name, "a");
}

static DAT_RETURN inner_rc;
static DAT_IA_HANDLE inner;

static void inner_open(const char *name)
{
	if (!strcmp(name, "outer"))
		inner_rc = open_plain("inner", &inner);
}

TEST_WITH(what_a_provider_opens_beneath_its_own_need_not_be_named,
	  LINE("outer", "plain") LINE("inner", "two_names"))
{
	DAT_IA_HANDLE ia;

	setenv("DAT_PROVIDERS", "outer", 1);
	mock.init_hook = inner_open;
	open_or_fail("outer");
	CHECK_EQ_INT(inner_rc, DAT_SUCCESS);
	/* The adapter is loaded now, and the program still cannot open it. */
	check_stderr_begin();
	CHECK_EQ_INT(open_plain("inner", &ia), NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	CHECK_HAS_STR(check_stderr_end(), "hides it");
}

TEST_WITH(what_is_taken_out_is_not_had_by_a_provider_either,
	  LINE("outer", "plain") LINE("inner", "two_names"))
{
	setenv("DAT_PROVIDERS", "^inner", 1);
	mock.init_hook = inner_open;
	check_stderr_begin();
	open_or_fail("outer");
	check_stderr_end();
	CHECK_EQ_INT(inner_rc, NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	CHECK_EQ_INT(mock.inits, 1);
}

TEST_WITH(a_misspelt_word_is_told_once_and_to_nobody_who_is_probing, LINE("a", "plain"))
{
	const char *said;

	setenv("DAT_PROVIDERS", "a,^mock_plan", 1);
	check_stderr_begin();
	open_or_fail("a");
	open_or_fail("a");
	said = check_stderr_end();
	CHECK_EQ_INT(lines(said), 1);
	CHECK_HAS_STR(said, "DAT_PROVIDERS=a,^mock_plan: ");
	CHECK_HAS_STR(said, "did you mean ^mock_plain?");
}

TEST_WITH(who_lists_the_adapters_first_hears_nothing_of_a_misspelt_word, LINE("a", "plain"))
{
	DAT_PROVIDER_INFO info, *list[1] = { &info };
	DAT_COUNT n;

	setenv("DAT_PROVIDERS", "a,^mock_plan", 1);
	check_stderr_begin();
	CHECK_EQ_INT(dat_registry_list_providers(1, &n, list), DAT_SUCCESS);
	open_or_fail("a");
	CHECK_EQ_STR(check_stderr_end(), "");
}

/* Which line of a name serves. */

TEST_WITH(a_line_that_cannot_be_opened_is_followed_by_the_next,
	  LINE("a", "open_fails") LINE("a", "no_init") LINE_AS("a", "u1.2", "nonthreadsafe",
							      MOCK_LIB("plain"), "third"))
{
	check_stderr_begin();
	open_or_fail("a");
	CHECK_EQ_STR(check_stderr_end(), "");
	CHECK_EQ_STR(mock.params, "third");
	/* the first one does not stay loaded */
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_request_by_name_reports_which_lines_were_passed_over, LINE("a", "open_fails") LINE("a", "plain"))
{
	const char *said;

	setenv("DAT_LOG", "info", 1);
	check_stderr_begin();
	open_or_fail("a");
	said = check_stderr_end();
	CHECK_HAS_STR(said, "dat.conf:1: a: library ./.libs/mock_open_fails.so could not open it");
	CHECK_HAS_STR(said, "another line of this name serves");
}

TEST_WITH(when_no_line_opens_the_first_one_s_value_is_returned_and_each_is_told,
	  LINE("a", "no_init") LINE("a", "open_fails") LINE("a", "nothing"))
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)0x77;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN alone, rc;
	const char *said;

	check_stderr_begin();
	rc = dat_ia_open((const DAT_NAME_PTR)"a", 8, &evd, &ia);
	said = check_stderr_end();
	CHECK(DAT_GET_TYPE(rc) != DAT_PROVIDER_NOT_FOUND);
	CHECK(ia == (DAT_IA_HANDLE)0x77);
	CHECK(evd == DAT_HANDLE_NULL);
	CHECK_EQ_INT(lines(said), 3);
	CHECK_HAS_STR(said, "dat.conf:1: a: library ./.libs/mock_no_init.so");
	CHECK_HAS_STR(said, "dat.conf:2: a: library ./.libs/mock_open_fails.so could not open it");
	CHECK_HAS_STR(said, "dat.conf:3: a: library ./.libs/mock_nothing.so");
	CHECK_EQ_INT(mock.inits, mock.finis);
	check_stderr_begin();
	alone = open_plain("a", &ia);
	CHECK_EQ_STR(check_stderr_end(), "");
	CHECK_EQ_INT(alone, rc);
}

TEST_WITH(strict_means_that_the_first_line_decides, LINE("a", "open_fails") LINE("a", "plain"))
{
	DAT_IA_HANDLE ia;

	setenv("DAT_PROVIDERS", ":strict", 1);
	check_stderr_begin();
	CHECK(open_plain("a", &ia) != DAT_SUCCESS);
	CHECK_EQ_INT(lines(check_stderr_end()), 1);
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(strict_goes_for_a_missing_library_too, LINE("a", "nowhere") LINE("a", "plain"))
{
	setenv("DAT_PROVIDERS", ":strict", 1);
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "mock_nowhere.so");
	CHECK_EQ_INT(mock.inits, 0);
}

TEST_WITH(a_hidden_line_is_no_line_to_fall_back_on, LINE("a", "open_fails") LINE("a", "plain"))
{
	DAT_IA_HANDLE ia;

	setenv("DAT_PROVIDERS", "^mock_plain", 1);
	check_stderr_begin();
	CHECK(open_plain("a", &ia) != DAT_SUCCESS);
	check_stderr_end();
	CHECK_EQ_INT(mock.inits, 1);
}

static const struct check_test line_tests[] = {
	CHECK_TEST(without_a_word_all_lines_are_shown),
	CHECK_TEST(a_word_names_a_provider_a_library_or_an_adapter),
	CHECK_TEST(a_word_with_a_caret_takes_out_wherever_it_stands),
	CHECK_TEST(the_mode_stands_behind_the_words),
	CHECK_TEST(a_word_that_names_nothing_is_told_with_what_was_meant),
	CHECK_TEST(a_hostile_value_is_told_in_one_sentence),
	CHECK_TEST(a_provider_of_ours_may_be_named_where_no_line_is_for_it),
	CHECK_END
};

static const struct check_test file_tests[] = {
	CHECK_TEST(the_files_of_a_list_are_one_registry),
	CHECK_TEST(an_empty_name_in_the_list_is_the_host_s_own_file),
	CHECK_TEST(a_list_without_end_is_refused),
	CHECK_END
};

static const struct check_test libdat_tests[] = {
	CHECK_TEST(an_adapter_that_is_hidden_is_told_as_such_and_not_loaded),
	CHECK_TEST(an_adapter_that_is_taken_out_is_told_as_such),
	CHECK_TEST(programs_do_not_get_hidden_adapters_listed),
	CHECK_TEST(what_a_provider_opens_beneath_its_own_need_not_be_named),
	CHECK_TEST(what_is_taken_out_is_not_had_by_a_provider_either),
	CHECK_TEST(a_misspelt_word_is_told_once_and_to_nobody_who_is_probing),
	CHECK_TEST(who_lists_the_adapters_first_hears_nothing_of_a_misspelt_word),
	CHECK_TEST(a_line_that_cannot_be_opened_is_followed_by_the_next),
	CHECK_TEST(a_request_by_name_reports_which_lines_were_passed_over),
	CHECK_TEST(when_no_line_opens_the_first_one_s_value_is_returned_and_each_is_told),
	CHECK_TEST(strict_means_that_the_first_line_decides),
	CHECK_TEST(strict_goes_for_a_missing_library_too),
	CHECK_TEST(a_hidden_line_is_no_line_to_fall_back_on),
	CHECK_END
};

static const struct check_suite which_lines = {
	.name = "DAT_PROVIDERS", .setup = empty, .teardown = release, .tests = line_tests };
static const struct check_suite which_files = {
	.name = "DAT_CONF_PATH", .setup = empty, .teardown = release, .tests = file_tests };
static const struct check_suite in_libdat = { .name = "which line serves", .tests = libdat_tests };
CHECK_SUITES(&which_lines, &which_files, &in_libdat);
