# SPDX-License-Identifier: BSD-2-Clause
# Tests of libdatp's internals. Those that need a transport run over core_null.c, whose endpoints have no peer.
CORE_TEST_CPPFLAGS = $(HARNESS_CPPFLAGS) -I$(top_srcdir) -D_GNU_SOURCE
CORE_TEST_LIBS = libdatp_core.la $(HARNESS_LIBS)
CORE_NULL_LIBS = libcore_null.la $(CORE_TEST_LIBS)
check_LTLIBRARIES += libcore_null.la
libcore_null_la_SOURCES = tests/unit/core_null.c tests/unit/core_null.h
libcore_null_la_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
CORE_NULL_TESTS = \
	tests/unit/core_bias_test \
	tests/unit/core_lock_test \
	tests/unit/core_fork_test \
	tests/unit/core_ia_test \
	tests/unit/core_lmr_table_test \
	tests/unit/core_loop_test \
	tests/unit/core_mem_test \
	tests/unit/core_obj_test \
	tests/unit/core_options_test \
	tests/unit/core_plugin_test \
	tests/unit/core_timer_test
check_PROGRAMS += $(CORE_NULL_TESTS)
TESTS += $(CORE_NULL_TESTS)
tests_unit_core_bias_test_SOURCES = tests/unit/core_bias_test.c
tests_unit_core_bias_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_bias_test_LDADD = $(CORE_TEST_LIBS)
tests_unit_core_lock_test_SOURCES = tests/unit/core_lock_test.c
tests_unit_core_lock_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_lock_test_LDADD = $(CORE_TEST_LIBS)
tests_unit_core_fork_test_SOURCES = tests/unit/core_fork_test.c
tests_unit_core_fork_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_fork_test_LDADD = $(CORE_TEST_LIBS)
tests_unit_core_ia_test_SOURCES = tests/unit/core_ia_test.c
tests_unit_core_ia_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_ia_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_lmr_table_test_SOURCES = tests/unit/core_lmr_table_test.c
tests_unit_core_lmr_table_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_lmr_table_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_loop_test_SOURCES = tests/unit/core_loop_test.c
tests_unit_core_loop_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_loop_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_timer_test_SOURCES = tests/unit/core_timer_test.c
tests_unit_core_timer_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_timer_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_mem_test_SOURCES = tests/unit/core_mem_test.c
tests_unit_core_mem_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_mem_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_obj_test_SOURCES = tests/unit/core_obj_test.c
tests_unit_core_obj_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_obj_test_LDADD = $(CORE_NULL_LIBS)
tests_unit_core_options_test_SOURCES = tests/unit/core_options_test.c
tests_unit_core_options_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_options_test_LDADD = $(CORE_TEST_LIBS)
tests_unit_core_plugin_test_SOURCES = tests/unit/core_plugin_test.c
tests_unit_core_plugin_test_CPPFLAGS = $(CORE_TEST_CPPFLAGS)
tests_unit_core_plugin_test_LDADD = $(CORE_NULL_LIBS)
