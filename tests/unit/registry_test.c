/* SPDX-License-Identifier: BSD-2-Clause */
/* Open and close of adapters, and plugins with faults. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "registry_env.h"

struct mock mock;

/* When a plugin is loaded and unloaded. */

TEST_WITH(the_first_open_loads_and_the_last_close_unloads,
	  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("plain"), "p q"))
{
	DAT_IA_HANDLE first, second;

	first = open_or_fail("a");
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_STR(mock.params, "p q");
	CHECK_EQ_STR(mock.name, "a");
	CHECK_EQ_INT(mock.add, DAT_SUCCESS);
	second = open_or_fail("a");
	CHECK(first != second);
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 0);
	CHECK_EQ_INT(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
	CHECK_EQ_INT(mock.remove, DAT_SUCCESS);
	first = open_or_fail("a");
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(handles_are_small_numbers_from_one_on, LINE("a", "plain"))
{
	CHECK_EQ_INT((uintptr_t)open_or_fail("a"), 1);
	CHECK_EQ_INT((uintptr_t)open_or_fail("a"), 2);
	CHECK_EQ_INT((uintptr_t)open_or_fail("a"), 3);
}

TEST_WITH(an_open_that_fails_uses_up_no_number, LINE("dead", "open_fails") LINE("a", "plain"))
{
	DAT_IA_HANDLE ia;

	check_stderr_begin();
	CHECK(open_plain("dead", &ia) != DAT_SUCCESS);
	check_stderr_end();
	CHECK_EQ_INT((uintptr_t)open_or_fail("a"), 1);
}

TEST_WITH(a_closed_handle_stays_invalid_for_a_thousand_opens, LINE("a", "plain"))
{
	DAT_IA_HANDLE keep = open_or_fail("a");
	DAT_IA_HANDLE first = open_or_fail("a");
	DAT_IA_HANDLE ia;
	int i;

	CHECK_EQ_INT(dat_ia_close(first, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	for (i = 0; i < 1000; i++) {
		ia = open_or_fail("a");
		CHECK((uintptr_t)ia < 1024);
		REQUIRE_DAT(dat_ia_close(first, DAT_CLOSE_DEFAULT),
			    DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
		CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	}
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(dat_ia_close(keep, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(three_thousand_adapters_can_be_open_at_once, LINE("a", "plain"))
{
	static DAT_IA_HANDLE ia[3000];
	int i;

	for (i = 0; i < 3000; i++)
		ia[i] = open_or_fail("a");
	for (i = 0; i < 3000; i++)
		CHECK_EQ_INT(dat_ia_close(ia[i], DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.closes, 3000);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_refused_close_changes_nothing, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	mock.answer = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG),
		  DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE);
	CHECK_EQ_INT(mock.finis, 0);
	mock.answer = DAT_SUCCESS;
	CHECK_EQ_INT(dat_ia_query(ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
	CHECK_DAT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
}

static DAT_IA_HANDLE closing;
static DAT_RETURN closed_again;

static void close_again(void)
{
	mock.close_hook = NULL;
	closed_again = dat_ia_close(closing, DAT_CLOSE_ABRUPT_FLAG);
}

TEST_WITH(a_second_close_while_the_first_is_under_way_is_refused, LINE("a", "plain"))
{
	closing = open_or_fail("a");
	mock.close_hook = close_again;
	CHECK_EQ_INT(dat_ia_close(closing, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_DAT(closed_again, DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
	CHECK_EQ_INT(mock.closes, 1);
}

TEST_WITH(a_close_does_not_ask_the_provider_who_it_is, LINE("a", "plain"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	mock.answer = DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_EQ_INT(mock.slot, 0);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(one_library_may_serve_several_lines, LINE("a", "plain") LINE("b", "plain"))
{
	DAT_IA_HANDLE a = open_or_fail("a");
	DAT_IA_HANDLE b = open_or_fail("b");

	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(dat_ia_close(a, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
	CHECK_EQ_INT(dat_ia_query(b, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(b, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(a_drop_in_tunes_what_the_plugin_is_given,
	  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("plain"), "p q"))
{
	char path[1100];
	FILE *f;

	snprintf(path, sizeof(path), "%s.d", getenv("DAT_OVERRIDE"));
	REQUIRE_EQ_INT(mkdir(path, 0700), 0);
	strcat(path, "/a.ini");
	f = fopen(path, "w");
	REQUIRE(f != NULL);
	fputs("[a]\neager_limit = 8192\n[b]\nlibrary = " MOCK_LIB("plain") "\n", f);
	fclose(f);
	open_or_fail("a");
	CHECK_EQ_STR(mock.params, "p q eager_limit=8192");
	open_or_fail("b");
	CHECK_EQ_STR(mock.params, "");
}

/* Plugins with faults. */

TEST_WITH(a_missing_library_is_named_with_its_line,
	  "\n\n" LINE_AS("a", "u1.2", "nonthreadsafe", "libnowhere.so.7", ""))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		     "dat.conf:3: a: library libnowhere.so.7: "
		     "cannot open shared object file: No such file or directory");
}

TEST_WITH(a_library_that_is_no_elf_file_is_named,
	  LINE_AS("a", "u1.2", "nonthreadsafe", "./Makefile", ""))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "invalid ELF header");
}

TEST_WITH(a_library_without_init_is_named, LINE("a", "no_init"))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "no symbol dat_provider_init");
	CHECK_EQ_INT(mock.inits, 0);
	CHECK_EQ_INT(mock.finis, 0);
}

TEST_WITH(a_library_with_an_undefined_symbol_fails_at_open, LINE("a", "undefined"))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		     "undefined symbol: nobody_defines_this");
	CHECK_EQ_INT(mock.inits, 0);
}

TEST_WITH(a_library_that_registers_nothing_is_named,
	  LINE_AS("a", "u1.2", "nonthreadsafe", MOCK_LIB("nothing"), "mlx9 1"))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		     "registered no adapter for the parameters \"mlx9 1\"");
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(a_library_that_registers_another_name_is_named, LINE("a", "other_name"))
{
	DAT_IA_HANDLE ia;

	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED),
		     "registered other u1.2 nonthreadsafe");
	CHECK_EQ_INT(mock.finis, 2);
	CHECK_DAT(open_plain("other", &ia), DAT_PROVIDER_NOT_FOUND);
}

TEST_WITH(a_library_of_dat_20_is_refused, LINE("a", "foreign_major"))
{
	fails_saying("a", NOT_FOUND(DAT_NAME_NOT_REGISTERED), "registered no adapter");
	CHECK_DAT(mock.add, DAT_INVALID_PARAMETER);
}

TEST_WITH(an_adapter_that_cannot_open_leaves_no_trace, LINE("a", "open_fails"))
{
	fails_saying("a", DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE,
		     "could not open it: DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_DEVICE");
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(mock.finis, 2);
	CHECK_EQ_INT(mock.remove, DAT_SUCCESS);
}

TEST_WITH(an_open_that_returns_no_object_is_an_internal_error, LINE("a", "open_nothing"))
{
	fails_saying("a", DAT_CLASS_ERROR | DAT_INTERNAL_ERROR, "DAT_INTERNAL_ERROR");
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(an_init_may_call_back_into_the_registry, LINE("a", "reenter"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	CHECK_EQ_INT(mock.init_open, NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	CHECK_EQ_INT(mock.init_list, DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_provider_that_is_thread_safe_after_all_serves, LINE("a", "flip_safety"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_provider_that_is_not_as_thread_safe_as_its_line_is_named,
	  LINE_AS("a", "u1.2", "threadsafe", MOCK_LIB("flip_safety"), ""))
{
	DAT_IA_HANDLE ia;
	const char *said;

	check_stderr_begin();
	CHECK_EQ_INT(open_version("a", 1, 2, DAT_TRUE, &ia),
		     NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND));
	said = check_stderr_end();
	CHECK_HAS_STR(said, "registered a u1.2 nonthreadsafe instead");
	CHECK_EQ_INT(mock.finis, 1);
	ia = open_or_fail("a");
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 2);
}

TEST_WITH(a_provider_with_a_higher_minor_than_its_line_serves, LINE("a", "higher_minor"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_provider_without_fini_is_unloaded_all_the_same, LINE("a", "no_fini"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	ia = open_or_fail("a");
	CHECK_EQ_INT(mock.add, DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

TEST_WITH(a_registration_left_behind_is_swept_away, LINE("a", "no_remove"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");

	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	ia = open_or_fail("a");
	CHECK_EQ_INT(mock.add, DAT_SUCCESS);
	CHECK_EQ_INT(mock.inits, 2);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

TEST_WITH(a_second_name_works_while_the_first_is_open, LINE("a", "two_names"))
{
	DAT_IA_HANDLE a, twin;

	CHECK_DAT(open_plain("a-twin", &twin), DAT_PROVIDER_NOT_FOUND);
	a = open_or_fail("a");
	twin = open_or_fail("a-twin");
	CHECK_EQ_INT(mock.inits, 1);
	CHECK_EQ_INT(dat_ia_close(a, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 0);
	CHECK_EQ_INT(dat_ia_close(twin, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	CHECK_EQ_INT(mock.finis, 1);
}

TEST_WITH(a_library_may_register_in_its_constructor, LINE("constructed", "constructor"))
{
	DAT_IA_HANDLE ia = open_or_fail("constructed");

	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
	ia = open_or_fail("constructed");
	CHECK_EQ_INT(mock.add, DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

TEST_WITH(objects_may_begin_with_another_vtable_than_the_registered_one, LINE("a", "own_vtable"))
{
	DAT_IA_HANDLE ia = open_or_fail("a");
	DAT_PVOID object = mock.object;

	CHECK_EQ_INT(dat_pz_free(object), DAT_SUCCESS);
	CHECK_EQ_INT(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_SUCCESS);
}

/*
 * Each write to a datagram socket is a datagram. The message names the library twice, and is longer
 * than what any C library gathers in a buffer for an unbuffered stream.
 */
TEST_WITH(a_message_is_one_write_however_long_it_is, "")
{
	char list[12000] = "/none/", said[32768];
	int pair[2], real = dup(STDERR_FILENO);
	DAT_IA_HANDLE ia;
	ssize_t n;

	memset(list + 6, 'x', sizeof(list) - 7);
	unsetenv("DAT_OVERRIDE");
	setenv("DAT_CONF_PATH", list, 1);
	REQUIRE(real >= 0 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	REQUIRE(dup2(pair[1], STDERR_FILENO) >= 0);
	CHECK_EQ_INT(open_plain("a", &ia), NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	dup2(real, STDERR_FILENO);
	n = recv(pair[0], said, sizeof(said) - 1, MSG_DONTWAIT);
	REQUIRE(n > (ssize_t)sizeof(list));
	said[n] = '\0';
	CHECK_EQ_INT(lines(said), 1);
	CHECK_EQ_INT(said[n - 1], '\n');
	CHECK_HAS_STR(said, "libdat: a: no such adapter in ");
	CHECK_EQ_INT(recv(pair[0], said, sizeof(said), MSG_DONTWAIT), -1);
}

static const struct check_test life_tests[] = {
	CHECK_TEST(the_first_open_loads_and_the_last_close_unloads),
	CHECK_TEST(handles_are_small_numbers_from_one_on),
	CHECK_TEST(an_open_that_fails_uses_up_no_number),
	CHECK_TEST(a_closed_handle_stays_invalid_for_a_thousand_opens),
	CHECK_TEST(three_thousand_adapters_can_be_open_at_once),
	CHECK_TEST(a_refused_close_changes_nothing),
	CHECK_TEST(a_second_close_while_the_first_is_under_way_is_refused),
	CHECK_TEST(a_close_does_not_ask_the_provider_who_it_is),
	CHECK_TEST(one_library_may_serve_several_lines),
	CHECK_TEST(a_drop_in_tunes_what_the_plugin_is_given),
	CHECK_END
};

static const struct check_test odd_tests[] = {
	CHECK_TEST(a_missing_library_is_named_with_its_line),
	CHECK_TEST(a_library_that_is_no_elf_file_is_named),
	CHECK_TEST(a_library_without_init_is_named),
	CHECK_TEST(a_library_with_an_undefined_symbol_fails_at_open),
	CHECK_TEST(a_library_that_registers_nothing_is_named),
	CHECK_TEST(a_library_that_registers_another_name_is_named),
	CHECK_TEST(a_library_of_dat_20_is_refused),
	CHECK_TEST(an_adapter_that_cannot_open_leaves_no_trace),
	CHECK_TEST(an_open_that_returns_no_object_is_an_internal_error),
	CHECK_TEST(an_init_may_call_back_into_the_registry),
	CHECK_TEST(a_provider_that_is_thread_safe_after_all_serves),
	CHECK_TEST(a_provider_that_is_not_as_thread_safe_as_its_line_is_named),
	CHECK_TEST(a_provider_with_a_higher_minor_than_its_line_serves),
	CHECK_TEST(a_provider_without_fini_is_unloaded_all_the_same),
	CHECK_TEST(a_registration_left_behind_is_swept_away),
	CHECK_TEST(a_second_name_works_while_the_first_is_open),
	CHECK_TEST(a_library_may_register_in_its_constructor),
	CHECK_TEST(objects_may_begin_with_another_vtable_than_the_registered_one),
	CHECK_TEST(a_message_is_one_write_however_long_it_is),
	CHECK_END
};

static const struct check_suite life = { .name = "life of a plugin", .tests = life_tests };
static const struct check_suite odd = { .name = "odd plugins", .tests = odd_tests };
CHECK_SUITES(&life, &odd);
