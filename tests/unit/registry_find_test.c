/* SPDX-License-Identifier: BSD-2-Clause */
/* Which adapter serves a request, what is listed, and what is said when none does. */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "registry_env.h"

struct mock mock;

/* Which entry serves. */

TEST_WITH(a_dead_entry_falls_back_to_the_next_of_its_name,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", "") LINE("a", "no_init")
		  LINE("a", "nothing")
			  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("plain"), "fourth"))
{
	DAT_IA_HANDLE ia;

	check_stderr_begin();
	ia = open_or_fail("a");
	CHECK_EQ_STR(check_stderr_end(), "");
	CHECK_EQ_STR(mock.params, "fourth");
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(every_dead_entry_of_a_name_is_told_once,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", "") LINE("a", "no_init"))
{
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_DAT(open_plain("a", &ia), DAT_PROVIDER_NOT_FOUND);
	said = check_stderr_end();
	CHECK_EQ_INT(lines(said), 2);
	check_stderr_begin();
	CHECK_DAT(open_plain("a", &ia), DAT_PROVIDER_NOT_FOUND);
	CHECK_EQ_STR(check_stderr_end(), "");
}

TEST_WITH(the_exact_entry_goes_before_better_ones,
	  LINE_AS("a", "u1.4", "nonthreadsafe", MOCK_LIB("plain"), "1.4")
	  LINE_AS("a", "u1.3", "nonthreadsafe", MOCK_LIB("plain"), "1.3")
	  LINE_AS("a", "u1.2", "threadsafe", MOCK_LIB("plain"), "1.2ts")
	  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("plain"), "1.2"))
{
	static const struct {
		DAT_UINT32 minor;
		DAT_BOOLEAN safe;
		const char *params;
	} want[] = {
		{ 2, DAT_FALSE, "1.2" }, { 2, DAT_TRUE, "1.2ts" }, { 3, DAT_FALSE, "1.3" },
		{ 4, DAT_FALSE, "1.4" }, { 1, DAT_FALSE, "1.2" }, { 0, DAT_TRUE, "1.2ts" },
	};
	DAT_IA_HANDLE ia;
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		REQUIRE_EQ_INT(open_version("a", 1, want[i].minor, want[i].safe, &ia), DAT_SUCCESS);
		CHECK_EQ_STR(mock.params, want[i].params);
		CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	}
	CHECK_EQ_INT(open_version("a", 1, 3, DAT_TRUE, &ia),
		     NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND));
}

TEST_WITH(the_subtype_says_which_part_did_not_fit,
	  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("plain"), "")
	  LINE_AS("b", "u2.0", "nonthreadsafe", MOCK_LIB("plain"), ""))
{
	DAT_IA_HANDLE ia;

	CHECK_EQ_INT(open_version("x", 1, 2, DAT_FALSE, &ia), NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	CHECK_EQ_INT(open_version("a", 9, 0, DAT_FALSE, &ia), NOT_FOUND(DAT_MAJOR_NOT_FOUND));
	CHECK_EQ_INT(open_version("a", 1, 3, DAT_FALSE, &ia), NOT_FOUND(DAT_MINOR_NOT_FOUND));
	CHECK_EQ_INT(open_version("a", 1, 2, DAT_TRUE, &ia),
		     NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND));
	CHECK_EQ_INT(open_version("b", 1, 2, DAT_FALSE, &ia), NOT_FOUND(DAT_MAJOR_NOT_FOUND));
	CHECK_EQ_INT(open_version("b", 2, 0, DAT_FALSE, &ia), NOT_FOUND(DAT_MAJOR_NOT_FOUND));
	CHECK_EQ_INT(mock.inits, 0);
}

TEST_WITH(a_mismatch_is_told_with_what_there_is, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_DAT(open_version("a", 1, 3, DAT_TRUE, &ia), DAT_PROVIDER_NOT_FOUND);
	said = check_stderr_end();
	CHECK_EQ_INT(lines(said), 1);
	CHECK_HAS_STR(said, "offers u1.2 nonthreadsafe, the program asks for u1.3 threadsafe");
}

TEST_WITH(no_line_is_proposed_that_promises_more_than_its_library,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libdatsoft.so", ""))
{
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_DAT(open_version("a", 1, 2, DAT_TRUE, &ia), DAT_PROVIDER_NOT_FOUND);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "its library does not promise thread safety: build the program with "
			    "DAT_THREADSAFE as DAT_FALSE");
	CHECK(strstr(said, "add a line") == NULL);
}

/* The messages if the name is not known, or there is no registry. */

TEST_WITH(an_unknown_name_is_told_with_the_known_ones, LINE("a", "plain") LINE("bc", "plain"))
{
	fails_saying("b", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "it has a, bc");
	fails_saying("c", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "no such adapter");
}

TEST_WITH(an_unknown_name_brings_up_the_line_that_was_refused,
	  LINE("a", "plain") "b u1 x default l.so i.1.2 \"\" \"\"\n")
{
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_DAT(open_plain("b", &ia), DAT_PROVIDER_NOT_FOUND);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "dat.conf:2:3: api_version: \"u1\" has no minor version");
	CHECK_HAS_STR(said, "dat.conf:2:6: thread_safety: \"x\" must be");
}

TEST_WITH(an_empty_registry_knows_nobody, "")
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "it has none");
}

static void no_registry_peer(void *arg)
{
	DAT_IA_HANDLE ia;
	DAT_COUNT n = 77;
	const char *said;

	(void)arg;
	setenv("DAT_OVERRIDE", "/nowhere/dat.conf", 1);
	CHECK_EQ_INT(dat_registry_list_providers(0, &n, NULL),
		     DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_EQ_INT(n, 0);
	check_stderr_begin();
	CHECK_EQ_INT(open_plain("soft0", &ia), NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	said = check_stderr_end();
	CHECK_HAS_STR(said, "/nowhere/dat.conf: cannot be read: No such file or directory");
}

static void a_missing_override_has_no_fallback(void)
{
	check_join(check_fork(no_registry_peer, NULL));
}

TEST_WITH(a_program_that_tries_what_it_was_listed_hears_nothing,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", "") LINE("b", "open_fails")
		  LINE("c", "nothing"))
{
	DAT_PROVIDER_INFO info[3];
	DAT_PROVIDER_INFO *list[] = { &info[0], &info[1], &info[2] };
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_COUNT n, i;

	CHECK_EQ_INT(dat_registry_list_providers(3, &n, list), DAT_SUCCESS);
	REQUIRE_EQ_INT(n, 3);
	check_stderr_begin();
	for (i = 0; i < n; i++)
		CHECK(dat_ia_open(info[i].ia_name, 8, &evd, &ia) != DAT_SUCCESS);
	CHECK_EQ_STR(check_stderr_end(), "");
	CHECK(evd == DAT_HANDLE_NULL);
}

TEST_WITH(dat_dbg_type_1_speaks_to_those_who_probe_too,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", ""))
{
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO *list = &info;
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	setenv("DAT_DBG_TYPE", "0x1", 1);
	dat_registry_list_providers(1, &n, &list);
	check_stderr_begin();
	CHECK_DAT(open_plain("a", &ia), DAT_PROVIDER_NOT_FOUND);
	CHECK_HAS_STR(check_stderr_end(), "libnowhere.so");
}

TEST_WITH(dat_dbg_type_0_silences, LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", ""))
{
	DAT_IA_HANDLE ia;

	setenv("DAT_DBG_TYPE", "0", 1);
	check_stderr_begin();
	CHECK_DAT(open_plain("a", &ia), DAT_PROVIDER_NOT_FOUND);
	CHECK_DAT(open_plain("x", &ia), DAT_PROVIDER_NOT_FOUND);
	CHECK_EQ_STR(check_stderr_end(), "");
}

/*
 * Writes to `buf` what is on standard output after the open of an adapter without a library, with
 * this DAT_DBG_DEST.
 */
static void stdout_after(const char *dest, char *buf, size_t size)
{
	DAT_IA_HANDLE ia;
	char path[1024];
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/stdout", check_tmpdir());
	f = fopen(path, "w+");
	REQUIRE(f != NULL);
	if (dest)
		setenv("DAT_DBG_DEST", dest, 1);
	fflush(stdout);
	REQUIRE(dup2(fileno(f), 1) == 1);
	check_stderr_begin();
	open_plain("a", &ia);
	fflush(stdout);
	check_stderr_end();
	n = pread(fileno(f), buf, size - 1, 0);
	REQUIRE(n >= 0);
	buf[n] = '\0';
	fclose(f);
}

TEST_WITH(nothing_is_ever_printed_on_stdout,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", ""))
{
	char buf[4096];

	stdout_after(NULL, buf, sizeof(buf));
	CHECK_EQ_STR(buf, "");
}

TEST_WITH(dat_dbg_dest_1_is_stderr,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so", ""))
{
	char buf[4096];

	stdout_after("1", buf, sizeof(buf));
	CHECK_EQ_STR(buf, "");
}

/*
 * Text from a file must not control the terminal: ESC, DEL, a C1 control, a byte that is not UTF-8.
 */
TEST_WITH(control_characters_of_a_file_are_escaped,
	  "\"a\33[31m\177\302\233\233\303\204\" u1.2 nonthreadsafe default "
	  "\"./no\33]0;x\7.so\" i.1.2 \"\" \"\"\n")
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_DAT(dat_ia_open((DAT_NAME_PTR)"a\33[31m\177\302\233\233\303\204", 8, &evd, &ia),
		  DAT_PROVIDER_NOT_FOUND);
	CHECK_DAT(dat_ia_open((DAT_NAME_PTR)"\33c", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND);
	said = check_stderr_end();
	CHECK_EQ_INT(lines(said), 2);
	CHECK_HAS_STR(said, ": a\\x1b[31m\\x7f\\xc2\\x9b\\x9b\303\204: library "
		      "./no\\x1b]0;x\\x07.so");
	for (; *said; said++)
		if (*said != '\n' && ((unsigned char)*said < 0x20 || *said == 0x7f))
			CHECK_FAIL("byte 0x%02x came through", *said);
}

/* Arguments. */

TEST_WITH(bad_arguments_to_open_are_refused_before_anything_is_loaded, LINE("a", "plain"))
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)0x77;
	char name[300];

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	CHECK_DAT(dat_ia_open(NULL, 8, &evd, &ia), DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_DAT(dat_ia_open(name, 8, &evd, &ia), DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_DAT(dat_ia_open((DAT_NAME_PTR) "a", 8, NULL, &ia),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	CHECK_DAT(dat_ia_open((DAT_NAME_PTR) "a", 8, &evd, NULL),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG4);
	CHECK(ia == (DAT_IA_HANDLE)0x77);
	CHECK_EQ_INT(mock.inits, 0);
	name[255] = '\0';
	evd = DAT_HANDLE_NULL;
	check_stderr_begin();
	CHECK_DAT(dat_ia_open(name, 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND);
	check_stderr_end();
}

/* an address that is not mapped */
#define NOWHERE ((DAT_EVD_HANDLE)0xdeadbeefdeadbee8)

TEST_WITH(an_async_evd_that_is_none_is_refused_without_a_look_at_it, LINE("a", "plain"))
{
	DAT_EVD_HANDLE evd, bad[] = { DAT_EVD_OUT_OF_SCOPE, &evd, NOWHERE };
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)0x77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		evd = bad[i];
		CHECK_DAT(dat_ia_open((DAT_NAME_PTR)"a", 8, &evd, &ia),
			  DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_ASYNC);
		CHECK(evd == bad[i]);
	}
	CHECK(ia == (DAT_IA_HANDLE)0x77);
	CHECK_EQ_INT(mock.opens, 0);
	CHECK_EQ_INT(mock.inits, mock.finis);
}

/* Programs that try one name after the other may pass a handle variable that nobody has written to yet. */
TEST_WITH(an_unknown_name_is_not_found_whatever_the_async_evd_holds,
	  LINE_AS("dead", "u1.2", "nonthreadsafe", "./nowhere.so", ""))
{
	DAT_EVD_HANDLE evd, bad[] = { DAT_EVD_OUT_OF_SCOPE, &evd, NOWHERE };
	DAT_IA_HANDLE ia;

	check_stderr_begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		evd = bad[i];
		CHECK_DAT(dat_ia_open((DAT_NAME_PTR)"none", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND);
		CHECK_DAT(dat_ia_open((DAT_NAME_PTR)"dead", 8, &evd, &ia), DAT_PROVIDER_NOT_FOUND);
		CHECK(evd == bad[i]);
	}
	check_stderr_end();
}

TEST_WITH(an_async_evd_may_be_shared_or_exist_elsewhere, LINE("a", "plain"))
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE shared;
	DAT_IA_HANDLE ia;

	CHECK_EQ_INT(dat_ia_open((DAT_NAME_PTR)"a", 8, &evd, &ia), DAT_SUCCESS);
	CHECK(evd == mock.object);
	shared = evd;
	CHECK_EQ_INT(dat_ia_open((DAT_NAME_PTR)"a", 8, &shared, &ia), DAT_SUCCESS);
	CHECK(shared == evd);
	shared = DAT_EVD_ASYNC_EXISTS;
	CHECK_EQ_INT(dat_ia_open((DAT_NAME_PTR)"a", 8, &shared, &ia), DAT_SUCCESS);
	CHECK(shared == DAT_EVD_ASYNC_EXISTS);
}

/* Listing. */

#define FOUR_LINES                                                                                 \
	LINE("a", "plain")                                                                         \
	LINE("b", "plain")                                                                         \
	LINE("a", "plain")                                                                         \
	LINE_AS("c", "u2.0", "nonthreadsafe", "x.so", "")                                          \
	LINE_AS("a", "u1.2", "threadsafe", "x.so", "")                                             \
	"k k1.2 threadsafe default x.so i.1.2 \"\" \"\"\n"                                     \
	"n u1.2 threadsafe nondefault x.so i.1.2 \"\" \"\"\nrubbish\n"

TEST_WITH(what_can_be_opened_is_listed_in_file_order_and_once, FOUR_LINES)
{
	DAT_PROVIDER_INFO info[8];
	DAT_PROVIDER_INFO *list[8];
	DAT_COUNT n, i;

	for (i = 0; i < 8; i++)
		list[i] = &info[i];
	check_stderr_begin();
	CHECK_EQ_INT(dat_registry_list_providers(8, &n, list), DAT_SUCCESS);
	CHECK_EQ_STR(check_stderr_end(), "");
	REQUIRE_EQ_INT(n, 3);
	CHECK_EQ_STR(info[0].ia_name, "a");
	CHECK_EQ_INT(info[0].dapl_version_major, 1);
	CHECK_EQ_INT(info[0].dapl_version_minor, 2);
	CHECK_EQ_INT(info[0].is_thread_safe, DAT_FALSE);
	CHECK_EQ_STR(info[1].ia_name, "b");
	CHECK_EQ_STR(info[2].ia_name, "a");
	CHECK_EQ_INT(info[2].is_thread_safe, DAT_TRUE);
	CHECK_EQ_INT(mock.inits, 0);
}

TEST_WITH(a_list_is_filled_as_far_as_it_goes_and_not_touched_beyond, FOUR_LINES)
{
	DAT_PROVIDER_INFO info[2];
	DAT_PROVIDER_INFO *list[3] = { &info[0], &info[1], NULL };
	DAT_COUNT n;

	memset(info, 0x5a, sizeof(info));
	CHECK_EQ_INT(dat_registry_list_providers(1, &n, list), DAT_SUCCESS);
	CHECK_EQ_INT(n, 1);
	CHECK_EQ_STR(info[0].ia_name, "a");
	CHECK_EQ_INT((unsigned char)info[1].ia_name[0], 0x5a);
	CHECK_EQ_INT(dat_registry_list_providers(2, &n, list), DAT_SUCCESS);
	CHECK_EQ_INT(n, 2);
}

TEST_WITH(one_pointer_is_enough_for_one_entry_whatever_the_maximum, LINE("a", "plain"))
{
	struct { DAT_PROVIDER_INFO *first; uintptr_t guard; } list;
	DAT_PROVIDER_INFO info;
	DAT_COUNT n;

	list.first = &info;
	list.guard = 1;
	CHECK_EQ_INT(dat_registry_list_providers(10, &n, &list.first), DAT_SUCCESS);
	CHECK_EQ_INT(n, 1);
	CHECK_EQ_INT(list.guard, 1);
}

TEST_WITH(a_maximum_of_0_asks_for_the_number, FOUR_LINES)
{
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO *list[] = { &info, NULL, &info };
	DAT_COUNT n = 77;

	CHECK_DAT(dat_registry_list_providers(0, &n, NULL),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_EQ_INT(n, 3);
	CHECK_DAT(dat_registry_list_providers(8, NULL, list),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	CHECK_DAT(dat_registry_list_providers(8, &n, NULL),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	CHECK_EQ_INT(n, 3);
	memset(&info, 0x5a, sizeof(info));
	CHECK_DAT(dat_registry_list_providers(8, &n, list),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG3);
	CHECK_EQ_INT(n, 0);
	CHECK_EQ_INT((unsigned char)info.ia_name[0], 0x5a);
	CHECK_DAT(dat_registry_list_providers(-1, &n, list),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
}

/*
 * Copies a real registry, so that its libraries do not exist: the build tree has one of the names
 * in it, and the machine may have others.
 */
static const char *fixture_copy(const char *name)
{
	const char *top = getenv("top_srcdir");
	static char path[1024];
	char line[512], *library;
	FILE *from, *to;

	snprintf(path, sizeof(path), "%s/tests/fixtures/%s", top ? top : ".", name);
	from = fopen(path, "r");
	snprintf(path, sizeof(path), "%s/%s", check_tmpdir(), name);
	to = fopen(path, "w");
	REQUIRE(from != NULL && to != NULL);
	while (fgets(line, sizeof(line), from)) {
		library = strstr(line, "libdapl");
		if (library)
			memcpy(library, "nowhere", 7);
		fputs(line, to);
	}
	fclose(from);
	fclose(to);
	return path;
}

static void fixture_peer(void *arg)
{
	DAT_PROVIDER_INFO info[64];
	DAT_PROVIDER_INFO *list[64];
	DAT_COUNT n, i;

	setenv("DAT_OVERRIDE", fixture_copy(arg), 1);
	for (i = 0; i < 64; i++)
		list[i] = &info[i];
	REQUIRE_EQ_INT(dat_registry_list_providers(64, &n, list), DAT_SUCCESS);
	check_put(CHECK_PARENT, &n, sizeof(n));
	for (i = 0; i < n; i++) {
		DAT_IA_HANDLE ia;

		check_stderr_begin();
		CHECK_EQ_INT(open_plain(info[i].ia_name, &ia), NOT_FOUND(DAT_NAME_NOT_REGISTERED));
		CHECK_EQ_STR(check_stderr_end(), "");
	}
}

/* Returns how many adapters of a real registry a program gets. */
static int listed_of(const char *fixture)
{
	pid_t peer = check_fork(fixture_peer, (void *)(uintptr_t)fixture);
	DAT_COUNT n = -1;

	check_get(peer, &n, sizeof(n));
	check_join(peer);
	return n;
}

static void registries_in_the_field_list_what_this_library_can_open(void)
{
	CHECK_EQ_INT(listed_of("ofed12.conf"), 15);
	CHECK_EQ_INT(listed_of("ofed2.conf"), 0);
	CHECK_EQ_INT(listed_of("both.conf"), 3);
	CHECK_EQ_INT(listed_of("quoted.conf"), 1);
}

/* The dynamic registry, from within the program. */

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			   DAT_IA_HANDLE *ia);
static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

static DAT_PROVIDER own = { .device_name = "own",
			    .ia_open_func = own_open,
			    .ia_close_func = own_close };
static struct mock_object own_object = { .vtable = &own };

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			   DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	*evd = *ia = &own_object;
	return DAT_SUCCESS;
}

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	return DAT_SUCCESS;
}

static DAT_PROVIDER_INFO info_of(const char *name)
{
	DAT_PROVIDER_INFO info = { .dapl_version_major = 1, .dapl_version_minor = 2 };

	strcpy(info.ia_name, name);
	return info;
}

TEST_WITH(a_provider_may_register_itself, "")
{
	DAT_PROVIDER_INFO info = info_of("own");
	DAT_IA_HANDLE ia;

	CHECK_EQ_INT(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	CHECK_DAT(dat_registry_add_provider(&own, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	ia = open_or_fail("own");
	CHECK_DAT(dat_registry_remove_provider(&own, &info), DAT_PROVIDER_IN_USE);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &info), DAT_SUCCESS);
	CHECK_DAT(dat_registry_remove_provider(&own, &info), DAT_INVALID_PARAMETER);
	check_stderr_begin();
	CHECK_DAT(open_plain("own", &ia), DAT_PROVIDER_NOT_FOUND);
	check_stderr_end();
}

TEST_WITH(a_provider_may_register_many_names_and_remove_them_in_any_order, "")
{
	DAT_PROVIDER_INFO x = info_of("x"), y = info_of("y"), z = info_of("z"), w = info_of("w");

	CHECK_EQ_INT(dat_registry_add_provider(&own, &x), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_add_provider(&own, &y), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_add_provider(&own, &z), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &z), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_add_provider(&own, &w), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &x), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(open_or_fail("w"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &y), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &w), DAT_SUCCESS);
}

TEST_WITH(what_registers_itself_goes_before_the_line_of_its_name, LINE("own", "plain"))
{
	DAT_PROVIDER_INFO info = info_of("own");
	DAT_IA_HANDLE ia;

	CHECK_EQ_INT(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	ia = open_or_fail("own");
	CHECK_EQ_INT(mock.inits, 0);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(dat_registry_remove_provider(&own, &info), DAT_SUCCESS);
	ia = open_or_fail("own");
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

TEST_WITH(bad_registrations_are_refused, "")
{
	DAT_PROVIDER_INFO info = info_of("own");
	DAT_PROVIDER other = own;

	CHECK_DAT(dat_registry_add_provider(NULL, &info), DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_DAT(dat_registry_add_provider(&own, NULL), DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	CHECK_DAT(dat_registry_remove_provider(NULL, &info),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_DAT(dat_registry_remove_provider(&own, NULL),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	info.ia_name[0] = '\0';
	CHECK_DAT(dat_registry_add_provider(&own, &info), DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	CHECK_DAT(dat_registry_add_provider(&own, &info), DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	info = info_of("own");
	info.dapl_version_major = 2;
	check_stderr_begin();
	CHECK_DAT(dat_registry_add_provider(&own, &info), DAT_INVALID_PARAMETER | DAT_INVALID_ARG2);
	CHECK_EQ_STR(check_stderr_end(), "");
	info = info_of("own");
	CHECK_EQ_INT(dat_registry_add_provider(&own, &info), DAT_SUCCESS);
	CHECK_DAT(dat_registry_remove_provider(&other, &info),
		  DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
}

TEST_WITH(the_dynamic_registry_is_full_at_some_time, "")
{
	DAT_PROVIDER_INFO info = info_of("x");
	DAT_RETURN rc = DAT_SUCCESS;
	int i;

	for (i = 0; i < 100000 && rc == DAT_SUCCESS; i++) {
		snprintf(info.ia_name, sizeof(info.ia_name), "x%d", i);
		rc = dat_registry_add_provider(&own, &info);
	}
	CHECK_DAT(rc, DAT_INSUFFICIENT_RESOURCES);
	CHECK_EQ_INT(dat_ia_close(open_or_fail("x0"), DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/* A dat.conf with very many lines: each is read, judged and listed in a time that does not grow with their number. */

static clock_t *took;	/* the processor time of the peer, in memory shared with it */
static int many;

static void list_many(void)
{
	clock_t began = clock();
	DAT_COUNT n = 0;

	CHECK_DAT(dat_registry_list_providers(0, &n, NULL), DAT_INVALID_PARAMETER | DAT_INVALID_ARG1);
	CHECK_EQ_INT(n, many);
	*took = clock() - began + 1;
}

/* Returns the processor time for a dat.conf with n adapters, each of which has two lines. */
static clock_t time_of_listing(int n)
{
	size_t size = 2 * 128 * (size_t)n, at = 0;
	char *text = malloc(size);

	REQUIRE(text != NULL);
	for (int i = 0; i < 2 * n; i++)
		at += (size_t)snprintf(text + at, size - at, LINE("a%d", "plain"), i % n);
	many = n;
	env_run(text, list_many);
	free(text);
	return *took;
}

static void many_lines_take_no_longer_than_their_number_explains(void)
{
	clock_t some, more;

	took = mmap(NULL, sizeof(*took), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(took != MAP_FAILED);
	some = time_of_listing(4000);
	more = time_of_listing(16000);
	if (more > 10 * some)
		CHECK_FAIL("four times as many lines take %g times as long", (double)more / (double)some);
	munmap(took, sizeof(*took));
}

static const struct check_test match_tests[] = {
	CHECK_TEST(a_dead_entry_falls_back_to_the_next_of_its_name),
	CHECK_TEST(every_dead_entry_of_a_name_is_told_once),
	CHECK_TEST(the_exact_entry_goes_before_better_ones),
	CHECK_TEST(the_subtype_says_which_part_did_not_fit),
	CHECK_TEST(a_mismatch_is_told_with_what_there_is),
	CHECK_TEST(no_line_is_proposed_that_promises_more_than_its_library),
	CHECK_TEST(an_unknown_name_is_told_with_the_known_ones),
	CHECK_TEST(an_unknown_name_brings_up_the_line_that_was_refused),
	CHECK_TEST(an_empty_registry_knows_nobody),
	CHECK_TEST(a_missing_override_has_no_fallback),
	CHECK_TEST(a_program_that_tries_what_it_was_listed_hears_nothing),
	CHECK_TEST(dat_dbg_type_1_speaks_to_those_who_probe_too),
	CHECK_TEST(dat_dbg_type_0_silences),
	CHECK_TEST(nothing_is_ever_printed_on_stdout),
	CHECK_TEST(dat_dbg_dest_1_is_stderr),
	CHECK_TEST(control_characters_of_a_file_are_escaped),
	CHECK_TEST(bad_arguments_to_open_are_refused_before_anything_is_loaded),
	CHECK_TEST(an_async_evd_that_is_none_is_refused_without_a_look_at_it),
	CHECK_TEST(an_unknown_name_is_not_found_whatever_the_async_evd_holds),
	CHECK_TEST(an_async_evd_may_be_shared_or_exist_elsewhere),
	CHECK_END
};

static const struct check_test list_tests[] = {
	CHECK_TEST(what_can_be_opened_is_listed_in_file_order_and_once),
	CHECK_TEST(a_list_is_filled_as_far_as_it_goes_and_not_touched_beyond),
	CHECK_TEST(one_pointer_is_enough_for_one_entry_whatever_the_maximum),
	CHECK_TEST(a_maximum_of_0_asks_for_the_number),
	CHECK_TEST(registries_in_the_field_list_what_this_library_can_open),
	CHECK_TEST(many_lines_take_no_longer_than_their_number_explains),
	CHECK_END
};

static const struct check_test dynamic_tests[] = {
	CHECK_TEST(a_provider_may_register_itself),
	CHECK_TEST(a_provider_may_register_many_names_and_remove_them_in_any_order),
	CHECK_TEST(what_registers_itself_goes_before_the_line_of_its_name),
	CHECK_TEST(bad_registrations_are_refused),
	CHECK_TEST(the_dynamic_registry_is_full_at_some_time),
	CHECK_END
};

static const struct check_suite match = { .name = "finding an adapter", .tests = match_tests };
static const struct check_suite list = { .name = "listing", .tests = list_tests };
static const struct check_suite dynamic = { .name = "dynamic registry", .tests = dynamic_tests };
CHECK_SUITES(&match, &list, &dynamic);
