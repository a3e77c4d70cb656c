# SPDX-License-Identifier: BSD-2-Clause
# DAT 2.0: programs that are compiled with its headers and run on libdat2.
check_PROGRAMS += tests/dat20/edge_test
tests_dat20_edge_test_SOURCES = tests/dat20/edge_test.c
tests_dat20_edge_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_edge_test_LDADD = libdat2.la
EXTRA_tests_dat20_edge_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/edge_test

check_PROGRAMS += tests/dat20/cno_test
tests_dat20_cno_test_SOURCES = tests/dat20/cno_test.c
tests_dat20_cno_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_cno_test_LDADD = libdat2.la
EXTRA_tests_dat20_cno_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/cno_test

check_PROGRAMS += tests/dat20/extension_test
tests_dat20_extension_test_SOURCES = tests/dat20/extension_test.c
tests_dat20_extension_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_extension_test_LDADD = libdat2.la
EXTRA_tests_dat20_extension_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/extension_test tests/dat20/extension_mapped.sh
EXTRA_DIST += tests/dat20/extension_mapped.sh

check_PROGRAMS += tests/dat20/lines_test
tests_dat20_lines_test_SOURCES = tests/dat20/lines_test.c
tests_dat20_lines_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"' \
	-DTRACE_PLUGIN='"$(abs_builddir)/.libs/libdat-trace.so"' \
	-DFOREIGN12_PLUGIN='"$(abs_builddir)/tests/abi/.libs/foreign_plugin.so"'
tests_dat20_lines_test_LDADD = libdat2.la
EXTRA_tests_dat20_lines_test_DEPENDENCIES = libdatsoft.la libdat-trace.la tests/abi/foreign_plugin.la
TESTS += tests/dat20/lines_test

check_PROGRAMS += tests/dat20/rules_test
tests_dat20_rules_test_SOURCES = tests/dat20/rules_test.c
tests_dat20_rules_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOFT_PLUGIN='"$(abs_builddir)/.libs/libdatsoft.so"'
tests_dat20_rules_test_LDADD = libdat2.la
EXTRA_tests_dat20_rules_test_DEPENDENCIES = libdatsoft.la
TESTS += tests/dat20/rules_test

EXTRA_DIST += tests/dat20/programs.sh tests/dat20/pair.sh
if !SANITIZED
TESTS += tests/dat20/programs.sh
endif
